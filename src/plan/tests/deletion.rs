//! Pure. What goes, what stays, and what waits for a person: pruning, whole apps, the budget.

use serde_json::json;

use super::world::{World, claim, config, custom, definition, deployment, id, object, secret};
use super::{check, check_health};
use crate::model::{AppName, Inventory, Object, Prune, RecordState};
use crate::plan::{
    ClaimedVolume, Desired, Elsewhere, Freshness, Going, Owner, Presence, Snapshot, TargetState, Verb, WakeOn, plan,
};

fn configs(count: usize) -> Vec<Object> {
    (0..count).map(|number| config(&format!("c{number}"), "1")).collect()
}

fn many(count: usize) -> World {
    World::deployed(&configs(count))
}

/// Drops the first objects from the revision.
fn dropping(count: usize, dropped: usize) -> World {
    (0..dropped).fold(many(count), |world, number| world.drops(&format!("ConfigMap/c{number}")))
}

fn presence(world: World, presence: Presence) -> World {
    world.with(|snapshot| snapshot.presence = presence)
}

fn app() -> World {
    World::deployed(&[config("files", "1"), claim("data"), deployment("web", "web:1")])
}

#[test]
fn what_the_revision_no_longer_holds_is_deleted_in_its_incarnation() {
    let world = dropping(3, 1);
    check(&world, &["- ConfigMap c0 no longer in ccccccc", "= 3 unchanged"]);
    assert_eq!(plan(&world.snapshot).actions[0].uid.as_deref(), Some("uid-c0"));
}

#[test]
fn what_cannot_be_looked_at_is_not_forgotten() {
    let world = dropping(3, 1).with(|snapshot| {
        snapshot.live.remove(&id("ConfigMap/c0"));
        snapshot.unseen.insert(id("ConfigMap/c0"), "reading it is forbidden".into());
    });
    let stays = "! DiscoveryPartial: ConfigMap/c0 is no longer wanted and stays: reading it is forbidden";
    check(&world, &[stays, "= 3 unchanged"]);
}

#[test]
fn a_deletion_waits_for_every_write() {
    let world = dropping(3, 1).wants(&config("x", "1")).wants(&config("y", "1"));
    check(
        &world,
        &[
            "+ ConfigMap x new in ccccccc",
            "+ ConfigMap y new in ccccccc",
            "- ConfigMap c0 no longer in ccccccc",
            "= 3 unchanged",
        ],
    );
    assert_eq!(plan(&world.snapshot).actions[2].after, [0, 1]);
}

#[test]
fn deletions_run_the_stages_backwards() {
    let world = World::deployed(&[config("a", "1"), deployment("web", "web:1"), config("b", "1"), config("c", "1")])
        .drops("ConfigMap/a")
        .drops("Deployment/web");
    check(&world, &["- Deployment web no longer in ccccccc", "- ConfigMap a no longer in ccccccc", "= 3 unchanged"]);
}

#[test]
fn nothing_is_pruned_while_something_is_held_back() {
    let world = dropping(3, 1).wants(&config("x", "1")).exists("ConfigMap/x", Owner::App("shop".into()));
    check(
        &world,
        &[
            "! OwnedByApp: ConfigMap/x belongs to app shop (try: remove it from one of the apps: wild app diff shop)",
            "i deletions that wait until the rest is applied: 1",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn nothing_is_pruned_before_the_requirements_are_ready() {
    let world = dropping(3, 1).requires("db", Some("db"), Some("is degraded"));
    check(
        &world,
        &[
            "! RequirementNotReady: it requires db, which is degraded (try: wild app status db)",
            "i deletions that wait until the rest is applied: 1",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn what_holds_data_is_not_pruned_without_a_word_of_its_author() {
    let world = app().drops("PersistentVolumeClaim/data");
    check(
        &world,
        &[
            "i PersistentVolumeClaim/data is no longer wanted and stays: its kind is only pruned where rewild.dev/prune: allow stood on it before",
            "= 3 unchanged",
        ],
    );
}

/// An app that no longer wants what its author let go.
fn let_go(world: World, short: &str) -> World {
    world.live(short, |live| live.prune = Prune::Allow).drops(short)
}

fn approved(world: World) -> World {
    let digest = plan(&world.snapshot).digest;
    world.with(|snapshot| snapshot.ask.approve = Some(digest))
}

#[test]
fn a_claim_that_its_author_let_go_waits_for_a_person_and_its_volume_is_held() {
    let volume = ClaimedVolume {
        name: "pv-1".into(),
        uid: "uid-pv".into(),
        policy: "Delete".into(),
        stays: false,
        claim: claim("data"),
    };
    let world = let_go(app().wants(&config("new", "1")), "PersistentVolumeClaim/data")
        .with(|snapshot| _ = snapshot.volumes.insert(id("PersistentVolumeClaim/data"), Some(volume)));
    check(
        &world,
        &[
            "+ ConfigMap new new in ccccccc",
            "! DeletionNeedsApproval: 1 of 4 objects would be deleted, and PersistentVolumeClaim/data takes content with it that git does not hold; the plan is d9fa0a6258018852 (try: wild app deploy blog --prune --plan d9fa0a6258018852)",
            "= 3 unchanged",
        ],
    );
    let world = approved(world);
    check(
        &world,
        &[
            "+ ConfigMap new new in ccccccc",
            "~ PersistentVolume pv-1 it is held until 2026-11-28",
            "- PersistentVolumeClaim data no longer in ccccccc",
            "= 3 unchanged",
        ],
    );
    let actions = plan(&world.snapshot).actions;
    assert_eq!(actions.iter().map(|action| action.after.as_slice()).collect::<Vec<_>>(), [&[][..], &[0], &[0, 1]]);
    check(
        &world.with(|snapshot| snapshot.volumes.clear()),
        &[
            "+ ConfigMap new new in ccccccc",
            "! VolumeUnseen: PersistentVolumeClaim/data stays, because its volume could not be seen and held: nobody looked",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn a_namespace_that_its_author_let_go_goes_only_empty_and_made_by_us() {
    let other = object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}}));
    let inside =
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "in", "namespace": "extra"}}));
    let world = |created: bool, neighbours: Option<&[&str]>, objects: &[&Object]| {
        let world = objects.iter().fold(World::deployed(&[config("files", "1")]), |world, object| world.has(object));
        let world = world.has(&other).record("Namespace/extra", |record| record.created = created);
        let world = world.with(|snapshot| {
            let seen = neighbours.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            snapshot.neighbours.extend(seen.map(|seen| ("extra".to_owned(), seen)));
        });
        let_go(world, "Namespace/extra")
    };
    let stays = |world: &World, why: &str| {
        let said = format!("i Namespace/extra is no longer wanted and stays: {why}");
        assert!(crate::plan::display(&plan(&world.snapshot)).contains(&said), "{:#?}", plan(&world.snapshot));
    };
    stays(&world(false, Some(&[]), &[]), "it was there before us");
    stays(&world(true, None, &[]), "what it holds could not be seen");
    stays(&world(true, Some(&["Pod/other"]), &[]), "it holds Pod/other");
    stays(&world(true, Some(&[]), &[&inside]), "it holds ConfigMap/in");
    check(&approved(world(true, Some(&[]), &[])), &["- Namespace extra no longer in ccccccc", "= 2 unchanged"]);
}

#[test]
fn a_kind_whose_watch_is_not_fresh_is_not_pruned() {
    let world = dropping(3, 1).watch("", "ConfigMap", Freshness::Stale);
    check(
        &world,
        &[
            "! DiscoveryPartial: ConfigMap/c0 is no longer wanted and stays: the watch of its kind is not fresh",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn a_kind_that_discovery_hides_is_not_pruned_and_an_object_whose_kind_is_gone_is() {
    let world = World::deployed(&[config("files", "1")]).has(&custom("Widget", "a"));
    let seen = |freshness| world.clone().watch("widgets.example", "Widget", freshness);
    check(
        &seen(Freshness::Unwatched),
        &[
            "! DiscoveryPartial: Widget/a is no longer wanted and stays: the watch of its kind is not fresh",
            "= 2 unchanged",
        ],
    );
    let gone = seen(Freshness::UnknownKind);
    check(&gone, &["i Widget/a went with its kind, which the cluster no longer knows", "= 2 unchanged 1 forgotten"]);
    let going = gone.record("Widget/a", |record| record.state = RecordState::Deleting);
    check(&going, &["= 2 unchanged 1 forgotten"]);
}

#[test]
fn a_record_whose_object_is_gone_is_forgotten() {
    check(&dropping(3, 1).loses("ConfigMap/c0"), &["= 3 unchanged 1 forgotten"]);
}

#[test]
fn another_incarnation_is_left_alone() {
    let world = dropping(3, 1).live("ConfigMap/c0", |live| live.uid = "other".into());
    check(&world, &["i ConfigMap/c0 was made anew by somebody else and is left alone", "= 3 unchanged 1 forgotten"]);
}

#[test]
fn a_write_that_was_never_confirmed_is_deleted_only_if_our_entry_is_there() {
    let world = dropping(3, 1).record("ConfigMap/c0", |record| {
        record.state = RecordState::Intended;
        record.uid.clear();
    });
    check(&world, &["- ConfigMap c0 no longer in ccccccc", "= 3 unchanged"]);
    let other = world.live("ConfigMap/c0", |live| live.fields.clear());
    check(&other, &["i ConfigMap/c0 was made anew by somebody else and is left alone", "= 3 unchanged 1 forgotten"]);
}

#[test]
fn a_deletion_that_has_begun_is_awaited() {
    let world = dropping(3, 1)
        .record("ConfigMap/c0", |record| record.state = RecordState::Deleting)
        .live("ConfigMap/c0", |live| live.terminating = true);
    check(&world, &["… ConfigMap/c0 is being deleted", "= 3 unchanged"]);
    assert_eq!(plan(&world.snapshot).wake_on, [WakeOn::Gone(id("ConfigMap/c0"))]);
}

#[test]
fn a_few_objects_may_always_go() {
    assert_eq!(plan(&dropping(8, 5).snapshot).actions.len(), 5);
}

#[test]
fn many_objects_wait_for_a_person() {
    let world = dropping(8, 6);
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 6 of 9 objects would be deleted, and the limit is 5; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &[&text, "= 3 unchanged"]);
    let approved = world.with(|snapshot| snapshot.ask.approve = Some(digest));
    assert_eq!(plan(&approved.snapshot).actions.len(), 6);
}

#[test]
fn what_came_with_the_same_revision_does_not_make_a_loss_small() {
    let deletes = |snapshot: &Snapshot| {
        plan(snapshot).actions.iter().filter(|action| matches!(action.verb, Verb::Delete { .. })).count()
    };
    // The brakes hold as they held before anything of the revision came, however much of it has come by now.
    for (stood, dropped, came) in [(3, 3, 1), (5, 5, 4), (8, 8, 80), (30, 10, 200), (49, 11, 500)] {
        let after = dropping(stood + came, dropped);
        let new = || (stood..stood + came).map(|number| format!("ConfigMap/c{number}"));
        let before = new().fold(after.clone(), |world, name| world.forgets(&name).loses(&name)).snapshot;
        let standing = before.inventory.records().map(|record| record.uid.clone()).collect();
        assert_eq!(deletes(&before), 0, "{stood} {dropped} {came}");
        assert_eq!(deletes(&after.snapshot), dropped, "{stood} {dropped} {came}");
        let after = after.with(|snapshot| snapshot.standing = Some(standing));
        assert_eq!(deletes(&after.snapshot), 0, "{stood} {dropped} {came}");
        // The same word of a person serves before and after.
        let digest = plan(&after.snapshot).digest;
        assert_eq!(digest, plan(&before).digest);
        assert_eq!(deletes(&after.with(|snapshot| snapshot.ask.approve = Some(digest)).snapshot), dropped);
    }
}

#[test]
fn that_nothing_goes_is_said_by_who_looked() {
    let going = |world: World| plan(&world.snapshot).going;
    let away = TargetState::Unreachable { since: World::new().snapshot.now, why: String::new() };
    assert_eq!(going(many(3)), Going::Nothing);
    assert_eq!(going(dropping(3, 1)), Going::Something);
    assert_eq!(going(dropping(8, 6)), Going::Something, "it waits for a person");
    assert_eq!(going(dropping(3, 1).watch("", "ConfigMap", Freshness::Stale)), Going::Something, "it may be there");
    assert_eq!(going(dropping(8, 6).with(|it| it.target = away)), Going::Unknown);
    assert_eq!(going(dropping(8, 6).with(|it| it.desired = Desired::Unreadable(Vec::new()))), Going::Unknown);
    assert_eq!(going(presence(dropping(8, 6), Presence::Vanished)), Going::Unknown);
    let removed = dropping(2, 2).drops("ConfigMap/c0").with(|it| it.inventory = Inventory::default());
    assert_ne!(going(removed), Going::Something);
}

#[test]
fn what_is_only_called_otherwise_is_not_lost() {
    let renamed =
        |objects: &[Object]| objects.iter().fold(dropping(2, 2), |world, object| world.wants(object)).snapshot;
    let deletes = |snapshot: &Snapshot| {
        plan(snapshot).actions.iter().filter(|action| matches!(action.verb, Verb::Delete { .. })).count()
    };
    assert_eq!(deletes(&renamed(&[config("a", "1"), config("b", "1")])), 2);
    assert_eq!(deletes(&renamed(&[config("a", "1")])), 0, "one comes for two");
    assert_eq!(deletes(&renamed(&[config("a", "1"), deployment("web", "web:1")])), 0, "another kind");
}

#[test]
fn a_large_app_may_lose_a_fifth() {
    assert_eq!(plan(&dropping(49, 10).snapshot).actions.len(), 10);
    assert_eq!(plan(&dropping(49, 11).snapshot).actions.len(), 0);
}

#[test]
fn what_other_apps_lose_in_the_same_revision_counts() {
    let elsewhere = |deleted: usize, objects: usize| {
        dropping(8, 4).with(|snapshot| snapshot.elsewhere = Elsewhere { deleted, objects, removed: 0 })
    };
    assert_eq!(plan(&elsewhere(16, 100).snapshot).actions.len(), 4);
    let world = elsewhere(17, 100);
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 4 of 9 objects would be deleted, and the limit for all apps in one revision is 20, of which others take 17; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &[&text, "= 5 unchanged"]);
    // A large instance may lose a twentieth.
    assert_eq!(plan(&elsewhere(46, 1_000).snapshot).actions.len(), 4);
    assert_eq!(plan(&elsewhere(47, 1_000).snapshot).actions.len(), 0);
    let approved = world.with(|snapshot| snapshot.ask.approve = Some(digest));
    assert_eq!(plan(&approved.snapshot).actions.len(), 4);
}

#[test]
fn half_of_two_namespaces_at_once_waits_for_a_person() {
    let other = |name: &str| {
        let mut object = config(name, "1");
        object.metadata_mut().insert("namespace".into(), "shop".into());
        object
    };
    let objects = [config("a", "1"), config("b", "1"), other("c"), other("d"), other("e")];
    let dropping = |names: &[&str]| {
        let world = World::deployed(&objects);
        world.with(|snapshot| {
            snapshot.policy.grants.namespaces = vec!["shop".to_owned()];
            let Desired::Objects(objects) = &mut snapshot.desired else { return };
            objects.retain(|desired| !names.contains(&desired.object.name()));
        })
    };
    let text =
        |names: &[&str]| plan(&dropping(names).snapshot).blocked.into_iter().map(|it| it.message).collect::<String>();
    assert_eq!(text(&["a", "c"]), "");
    assert!(
        text(&["a", "c", "d"]).contains("2 namespaces lose half of their objects or more"),
        "{}",
        text(&["a", "c", "d"])
    );
}

#[test]
fn every_object_at_once_waits_for_a_person_however_few_they_are() {
    let world = dropping(2, 2).wants(&secret("keys", "s3cret"));
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 2 of 3 objects would be deleted, and it is every object of the app; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &["+ Secret keys new in ccccccc", &text, "= 1 unchanged"]);
}

#[test]
fn an_approval_counts_for_that_plan_only() {
    let digest = plan(&dropping(8, 6).snapshot).digest;
    let other = dropping(8, 7).with(|snapshot| snapshot.ask.approve = Some(digest));
    assert_eq!(plan(&other.snapshot).actions.len(), 0);
}

#[test]
fn the_digest_names_incarnations_and_nothing_else() {
    let digest = |world: World| plan(&world.snapshot).digest;
    assert_eq!(digest(dropping(3, 1)), digest(dropping(4, 1)));
    let other = dropping(3, 1)
        .live("ConfigMap/c0", |live| live.uid = "other".into())
        .record("ConfigMap/c0", |record| record.uid = "other".into());
    assert_ne!(digest(dropping(3, 1)), digest(other));
    assert_eq!(digest(dropping(3, 0)), "");
    assert_eq!(digest(dropping(3, 1)).len(), 16);
}

#[test]
fn a_deleted_app_keeps_volumes_and_namespace() {
    let world = presence(app(), Presence::RemovedKeepingData);
    check(
        &world,
        &[
            "- Deployment web its app was deleted",
            "- ConfigMap files its app was deleted",
            "o PersistentVolumeClaim data it stays without us",
            "o Namespace blog it stays without us",
        ],
    );
}

#[test]
fn a_commit_that_removes_three_apps_waits_for_a_person_at_each_and_asks_once() {
    let along = |removed: usize, world: World| {
        presence(world, Presence::RemovedKeepingData).with(|snapshot| snapshot.elsewhere.removed = removed)
    };
    assert_eq!(plan(&along(1, app()).snapshot).actions.len(), 4);
    let world = along(2, app());
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 4 of 4 objects would be deleted, and one commit removes 3 apps, where the limit is 2; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &[&text]);
    let allowed = world.clone().with(|snapshot| snapshot.policy.deletion_of_all.apps = 3);
    assert_eq!(plan(&allowed.snapshot).actions.len(), 4);
    assert_eq!(plan(&world.with(|snapshot| snapshot.ask.approve = Some(digest)).snapshot).actions.len(), 4);
    let begun = app().record("Deployment/web", |record| record.state = RecordState::Deleting);
    assert_ne!(plan(&along(2, begun).snapshot).actions.len(), 0);
    assert_eq!(plan(&along(2, World::new().has_namespace(true)).snapshot).blocked, []);
}

#[test]
fn a_deleted_app_with_its_data_leaves_the_namespace_for_last() {
    let world = presence(app(), Presence::RemovedWithData)
        .with(|snapshot| _ = snapshot.neighbours.insert("blog".into(), Vec::new()));
    check(
        &world,
        &[
            "- Deployment web its app was deleted",
            "- ConfigMap files its app was deleted",
            "- PersistentVolumeClaim data its app was deleted",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
    let rest = presence(World::deployed(&[]), Presence::RemovedWithData)
        .with(|snapshot| _ = snapshot.neighbours.insert("blog".into(), Vec::new()));
    check(&rest, &["- Namespace blog its app was deleted"]);
}

#[test]
fn a_namespace_with_something_else_in_it_stays() {
    let alone = presence(World::deployed(&[]), Presence::RemovedWithData);
    let released = ["o Namespace blog it stays without us"];
    check(
        &alone.clone().with(|snapshot| _ = snapshot.neighbours.insert("blog".into(), vec!["Deployment/other".into()])),
        &released,
    );
    check(&alone.with(|snapshot| snapshot.neighbours.clear()), &released);
}

#[test]
fn a_namespace_of_which_it_cannot_be_seen_for_now_what_it_holds_is_not_let_go_of() {
    let unseen = |world: World| {
        let why = "the server cannot serve a group".to_owned();
        presence(world, Presence::RemovedWithData)
            .with(|snapshot| _ = snapshot.unseen.insert(id("Namespace/blog"), why))
    };
    let stays = "! DiscoveryPartial: Namespace/blog stays for now, because it could not be seen what it holds: the server cannot serve a group";
    let world = unseen(World::deployed(&[]));
    check(&world, &[stays]);
    assert!(plan(&world.snapshot).wake_at.is_some(), "nothing else would tell when it can be seen");
    check(&unseen(World::deployed(&[config("files", "1")])), &["- ConfigMap files its app was deleted", stays]);
    check(&unseen(World::new().has_namespace(false)), &["o Namespace blog it stays without us"]);
    let keeping = unseen(World::deployed(&[])).with(|snapshot| snapshot.presence = Presence::RemovedKeepingData);
    check(&keeping, &["o Namespace blog it stays without us"]);
}

#[test]
fn a_namespace_that_was_there_before_us_stays() {
    let world = presence(World::new().has_namespace(false), Presence::RemovedWithData)
        .with(|snapshot| _ = snapshot.neighbours.insert("blog".into(), Vec::new()));
    check(&world, &["o Namespace blog it stays without us"]);
}

#[test]
fn custom_resources_go_before_the_workloads_that_serve_them() {
    let world = presence(
        World::deployed(&[deployment("operator", "op:1"), definition("Widget"), custom("Widget", "a")]),
        Presence::RemovedKeepingData,
    );
    check(
        &world,
        &[
            "- Widget a its app was deleted",
            "o Namespace blog it stays without us",
            "i CustomResourceDefinition/widgets.widgets.example waits until what needs it is gone",
            "i Deployment/operator waits until what needs it is gone",
        ],
    );
    let later = world.loses("Widget/a");
    check(
        &later,
        &[
            "- Deployment operator its app was deleted",
            "o Namespace blog it stays without us",
            "- CustomResourceDefinition widgets.widgets.example its app was deleted",
            "i CustomResourceDefinition/widgets.widgets.example takes every object of its kind with it",
            "= 1 forgotten",
        ],
    );
}

#[test]
fn one_object_under_two_groups_is_not_deleted_while_it_is_wanted_by_one_name() {
    let mut old = custom("Widget", "a");
    old.0.insert("apiVersion".into(), "extensions/v1".into());
    let world = World::deployed(&[custom("Widget", "a")]).has(&old).watch("extensions", "Widget", Freshness::Fresh);
    check(&world, &["i Widget/a is left alone: it is Widget/a by another name", "= 2 unchanged 1 forgotten"]);
    // Neither name is wanted: it goes.
    let gone = world.drops("Widget/a").wants(&config("files", "1"));
    assert_eq!(plan(&gone.snapshot).forgotten.len(), 0);
}

#[test]
fn custom_resources_with_the_name_of_a_built_in_kind_go_first_too() {
    for (group, kind) in
        [("widgets.example", "Service"), ("widgets.example", "Route"), ("widgets.example", "SizeClass")]
    {
        let mut guest = custom(kind, "a");
        guest.0.insert("apiVersion".into(), format!("{group}/v1").into());
        let world = presence(
            World::deployed(&[deployment("operator", "op:1"), guest]).watch(group, kind, Freshness::Fresh),
            Presence::RemovedKeepingData,
        );
        check(
            &world,
            &[
                &format!("- {kind} a its app was deleted"),
                "o Namespace blog it stays without us",
                "i Deployment/operator waits until what needs it is gone",
            ],
        );
    }
}

#[test]
fn an_app_that_vanished_without_a_word_is_not_deleted() {
    let world = presence(app(), Presence::Vanished);
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 4 of 4 objects would be deleted, and no commit says that blog was to be deleted; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &[&text]);
    let approved = world.with(|snapshot| snapshot.ask.approve = Some(digest));
    assert_eq!(plan(&approved.snapshot).actions.len(), 4);
}

#[test]
fn a_person_agrees_once_to_all_stages_of_a_farewell() {
    let deployed = World::deployed(&[custom("Widget", "a"), config("files", "1")]);
    let world = presence(deployed, Presence::Vanished);
    let asked = plan(&world.snapshot);
    assert!(asked.blocked[0].message.starts_with("3 of 3 objects would be deleted"), "{:?}", asked.blocked);
    let approved = world.with(|snapshot| snapshot.ask.approve = Some(asked.digest.clone()));
    let begun = plan(&approved.snapshot);
    assert_eq!(begun.actions.iter().map(|it| it.object.short()).collect::<Vec<_>>(), ["Widget/a", "Namespace/blog"]);
    let later = approved.loses("Widget/a").with(|snapshot| {
        snapshot.ask.approve = None;
        snapshot.agreed = begun.agreed;
    });
    let rest = plan(&later.snapshot);
    assert_eq!((rest.blocked.len(), rest.actions.len()), (0, 2), "{:?}", rest.blocked);
    assert_eq!(rest.agreed, later.snapshot.agreed);
    // What nobody agreed to is asked about.
    let another = later.clone().with(|snapshot| _ = snapshot.agreed.pop_first());
    assert_eq!(plan(&another.snapshot).blocked.len(), 1);
    // An app that is there again goes by no word of before.
    let again = later.with(|snapshot| snapshot.presence = Presence::Kept);
    assert!(plan(&again.snapshot).agreed.is_empty());
}

#[test]
fn an_app_that_moves_to_another_cluster_goes_from_this_one_when_a_person_agrees_and_leaves_its_data() {
    let world = presence(app(), Presence::Moves);
    let digest = plan(&world.snapshot).digest;
    let text = format!(
        "! DeletionNeedsApproval: 4 of 4 objects would be deleted, and blog moves to another cluster, which its data does not; the plan is {digest} (try: wild app deploy blog --prune --plan {digest})"
    );
    check(&world, &[&text]);
    let approved = world.with(|snapshot| snapshot.ask.approve = Some(digest));
    let removed = presence(app(), Presence::RemovedKeepingData);
    assert_eq!(plan(&approved.snapshot).actions, plan(&removed.snapshot).actions);
    // When the last of it is known to be gone nothing is left here that would wake it to go on there.
    let gone = presence(World::new().has(&config("files", "1")).loses("ConfigMap/files"), Presence::Moves);
    let last = plan(&gone.snapshot);
    assert_eq!((last.forgotten.len(), last.wake_at), (1, Some(gone.snapshot.now)));
}

#[test]
fn a_vanished_app_with_nothing_but_volumes_is_not_even_released() {
    let world = presence(World::deployed(&[claim("data")]), Presence::Vanished);
    assert_eq!(plan(&world.snapshot).actions, []);
}

#[test]
fn an_app_that_others_require_is_not_deleted() {
    let world = presence(app(), Presence::RemovedKeepingData)
        .with(|snapshot| snapshot.dependents.push(AppName::parse("shop").unwrap()));
    check(&world, &["! RequiredByApp: blog is required by shop (try: wild app delete shop)"]);
}

#[test]
fn deleting_what_is_not_there_is_done_at_once() {
    check(&presence(World::new(), Presence::RemovedWithData), &[]);
    check_health(&presence(World::new(), Presence::RemovedWithData), "unknown: nothing was seen yet");
}

#[test]
fn a_deleted_app_whose_kind_is_gone_is_forgotten() {
    let world = presence(World::new().has(&custom("Widget", "a")), Presence::RemovedKeepingData).watch(
        "widgets.example",
        "Widget",
        Freshness::UnknownKind,
    );
    check(&world, &["i Widget/a went with its kind, which the cluster no longer knows", "= 1 forgotten"]);
}

#[test]
fn a_deleted_app_waits_for_what_is_going() {
    let world = presence(World::new().has(&config("files", "1")), Presence::RemovedKeepingData)
        .live("ConfigMap/files", |live| live.terminating = true);
    check(&world, &["… ConfigMap/files is being deleted"]);
}

#[test]
fn nothing_is_deleted_while_the_target_does_not_answer() {
    for presence in [Presence::Kept, Presence::RemovedKeepingData, Presence::RemovedWithData, Presence::Vanished] {
        let world = dropping(3, 1).with(|snapshot| {
            snapshot.presence = presence;
            snapshot.target = TargetState::Unreachable { since: snapshot.now, why: String::new() };
        });
        let deletes = plan(&world.snapshot).actions.iter().filter(|it| matches!(it.verb, Verb::Delete { .. })).count();
        assert_eq!(deletes, 0, "{presence:?}");
    }
}

#[test]
fn what_its_author_keeps_stays_when_nobody_wants_it_and_without_us_when_its_app_goes() {
    let kept = |world: World| world.live("ConfigMap/c0", |live| live.prune = Prune::Keep);
    let pruned = kept(dropping(3, 1));
    check(
        &pruned,
        &["i ConfigMap/c0 is no longer wanted and stays: rewild.dev/prune: keep stands on it", "= 3 unchanged"],
    );
    let removed = kept(presence(many(2).has_namespace(true), Presence::RemovedWithData));
    let removed = removed.with(|snapshot| _ = snapshot.neighbours.insert("blog".into(), Vec::new()));
    let verbs: Vec<String> = plan(&removed.snapshot)
        .actions
        .iter()
        .map(|action| {
            format!("{} {}", action.object.short(), if action.verb == Verb::Release { "stays" } else { "goes" })
        })
        .collect();
    assert!(
        verbs.contains(&"ConfigMap/c0 stays".to_owned()) && verbs.contains(&"ConfigMap/c1 goes".to_owned()),
        "{verbs:?}"
    );
    assert!(!verbs.iter().any(|verb| verb.starts_with("Namespace/") && verb.ends_with("goes")), "{verbs:?}");
}
