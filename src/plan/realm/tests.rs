//! Pure. What is done about the objects of a Keycloak, as text.

use serde_json::{Value, json};

use super::*;
use crate::model::{
    ClusterName, DriftPolicy, Grants, REALM_API, RealmKind, Record, RecordState, Suspension, realm_object,
};
use crate::plan::tests::world::World;
use crate::plan::{Correct, display};

fn id(kind: RealmKind, name: &str) -> ObjectId {
    realm_object(kind, "shop", name)
}

fn wanted(kind: RealmKind, name: &str, spec: Value) -> RealmWanted {
    let spec = spec.as_object().cloned().unwrap();
    let hash = format!("{kind:?} {name} {spec:?}");
    RealmWanted {
        id: id(kind, name),
        spec,
        hash,
        has_secret: false,
        source: format!("apps/blog/keycloak/{name}.yaml:1"),
    }
}

/// An app that wants a realm, a role, two users with equal bodies and a client, of which nothing is there.
fn fresh() -> RealmSnapshot {
    let world = World::new().snapshot;
    let user = json!({"enabled": true});
    let all = [
        wanted(RealmKind::Realm, "shop", json!({"displayName": "Shop"})),
        wanted(RealmKind::Role, "editor", json!({"description": "edits"})),
        wanted(RealmKind::Client, "web", json!({"attributes": {"a": "1"}, "redirectUris": ["b", "a"]})),
        wanted(RealmKind::User, "ann", user.clone()),
        wanted(RealmKind::User, "bob", user),
    ];
    RealmSnapshot {
        app: world.app,
        commit: world.commit,
        presence: Presence::Kept,
        desired: Ok(all.into()),
        inventory: Inventory::default(),
        standing: None,
        live: BTreeMap::new(),
        unseen: BTreeMap::new(),
        absent: BTreeSet::from(["shop".to_owned()]),
        server: RealmServer::Answers,
        owners: BTreeMap::new(),
        missing_secrets: BTreeMap::new(),
        policy: Policy { grants: Grants { realms: vec!["shop".to_owned()], ..Grants::default() }, ..world.policy },
        ask: Ask::default(),
        is_held: false,
        awaits_word: false,
        waited: None,
        now: world.now,
    }
}

/// The same after it was applied.
fn applied() -> RealmSnapshot {
    let mut snapshot = fresh();
    snapshot.absent.clear();
    for wanted in snapshot.desired.clone().unwrap() {
        let uid = format!("uid of {}", wanted.id.name);
        let record = Record {
            id: wanted.id.clone(),
            cluster: ClusterName::default(),
            api_version: REALM_API.into(),
            state: RecordState::Applied,
            uid: uid.clone(),
            hash: wanted.hash.clone(),
            fields: String::new(),
            time: String::new(),
            generation: 0,
            created: true,
            commit: None,
            audited: String::new(),
        };
        snapshot.inventory.insert(record);
        let live = RealmLive { uid, body: Value::Object(wanted.spec), same_secret: true };
        snapshot.live.insert(wanted.id, live);
    }
    snapshot
}

fn with(mut snapshot: RealmSnapshot, change: impl FnOnce(&mut RealmSnapshot)) -> RealmSnapshot {
    change(&mut snapshot);
    snapshot
}

fn forget(snapshot: &mut RealmSnapshot, names: &[&str]) {
    let Ok(desired) = &mut snapshot.desired else { return };
    desired.retain(|wanted| !names.contains(&wanted.id.name.as_str()));
}

#[track_caller]
fn check(snapshot: &RealmSnapshot, expected: &[&str]) {
    let planned = plan(snapshot, 0);
    assert_eq!(planned, plan(snapshot, 0));
    let text = display(&planned);
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn a_fresh_app_is_made_in_order_and_equal_bodies_are_actions_of_their_own() {
    let there = "it is not there";
    check(
        &fresh(),
        &[
            &format!("+ Realm shop {there}"),
            &format!("+ Role editor {there}"),
            &format!("+ Client web {there}"),
            &format!("+ User ann {there}"),
            &format!("+ User bob {there}"),
        ],
    );
    let planned = plan(&fresh(), 7);
    let ids: Vec<_> = planned.actions.iter().map(|action| (action.id, action.after.clone())).collect();
    assert_eq!(ids, [(7, vec![]), (8, vec![7]), (9, vec![7]), (10, vec![7]), (11, vec![7])]);
    assert_eq!(planned.wake_at, Some(fresh().now.plus(DRIFT_LOOK)));
}

#[test]
fn what_was_applied_is_left_and_what_is_not_declared_is_nobodys() {
    check(&applied(), &["= 5 unchanged"]);
    let others = with(applied(), |it| {
        it.live.get_mut(&id(RealmKind::Client, "web")).unwrap().body =
            json!({"attributes": {"a": "1", "b": "2"}, "redirectUris": ["a", "b"], "enabled": false});
    });
    check(&others, &["= 5 unchanged"]);
    // A store that was lost costs no write, and says no longer that we made the objects.
    let lost = with(applied(), |it| it.inventory = Inventory::default());
    check(&lost, &["= 5 recovered"]);
    assert!(plan(&lost, 0).recovered.iter().all(|record| !record.created));
}

#[test]
fn drift_is_put_back_told_or_left_by_the_policy_of_the_app() {
    let edited = with(applied(), |it| {
        it.live.get_mut(&id(RealmKind::Role, "editor")).unwrap().body = json!({"description": "x"});
        it.live.remove(&id(RealmKind::User, "bob"));
    });
    let reverted = ["~ Role editor spec.description differs from git", "+ User bob it is gone"];
    let told = ["* Role/editor changed spec.description", "* User/bob is gone", "= 3 unchanged"];
    check(&edited, &[reverted.as_slice(), &told].concat());
    let reported = with(edited.clone(), |it| it.policy.drift = DriftPolicy::Report);
    let left = ["* Role/editor changed spec.description, left as it is", "* User/bob is gone, left as it is"];
    check(&reported, &[left.as_slice(), &["= 3 unchanged"]].concat());
    check(&with(edited.clone(), |it| it.policy.drift = DriftPolicy::Off), &["= 3 unchanged"]);
    let suspended = with(edited, |it| it.policy.suspend = Some(Suspension::default()));
    check(&suspended, &[left.as_slice(), &["= 3 unchanged"]].concat());
    let rotated = with(applied(), |it| {
        let client = id(RealmKind::Client, "web");
        it.live.get_mut(&client).unwrap().same_secret = false;
        it.desired.as_mut().unwrap()[2].has_secret = true;
    });
    check(&rotated, &["~ Client web secret differs from git", "* Client/web changed secret", "= 4 unchanged"]);
}

#[test]
fn a_server_or_a_realm_that_is_not_there_holds_back_and_wakes_later() {
    let silent = with(fresh(), |it| it.server = RealmServer::Silent("it is away".into()));
    check(&silent, &["! KeycloakUnreachable: it is away"]);
    assert_eq!(plan(&silent, 0).wake_at, Some(silent.now.plus(pause(1))));
    let missing = with(fresh(), |it| forget(it, &["shop"]));
    check(&missing, &["! RealmMissing: the realm shop is not there, and no object of blog makes it"]);
    let until = missing.now;
    let commit = missing.commit.clone();
    let again = with(missing, |it| it.waited = Some(Waited { tries: 3, until, commit, silence: String::new() }));
    assert_eq!(plan(&again, 0).wake_at, Some(again.now.plus(pause(4))));
    let unknown = with(fresh(), |it| it.server = RealmServer::Unknown);
    assert_eq!(plan(&unknown, 0).wake_at, None);
}

#[test]
fn what_is_no_longer_wanted_goes_backwards_if_we_made_it_and_nothing_is_held_back() {
    let fewer = with(applied(), |it| forget(it, &["bob", "editor"]));
    let commit = fewer.commit.short().to_owned();
    let gone = [format!("- User bob no longer in {commit}"), format!("- Role editor no longer in {commit}")];
    check(&fewer, &[&gone[0], &gone[1], "= 3 unchanged"]);
    let deletes: Vec<_> = plan(&fewer, 0).actions.into_iter().map(|action| action.uid).collect();
    assert_eq!(deletes, [Some("uid of bob".to_owned()), Some("uid of editor".to_owned())]);
    let held = with(fewer.clone(), |it| {
        it.missing_secrets.insert(id(RealmKind::Client, "web"), "apps.blog.web".into());
    });
    let planned = plan(&held, 0);
    assert!(planned.actions.is_empty() && planned.notes == ["deletions that wait until the rest is applied: 2"]);
    let foreign = with(fewer, |it| {
        let mut record = it.inventory.get(&id(RealmKind::Role, "editor")).unwrap().clone();
        record.created = false;
        it.inventory.insert(record);
        it.live.get_mut(&id(RealmKind::User, "bob")).unwrap().uid = "another".into();
    });
    check(&foreign, &["i Role/editor stays: it is not known that this app made it", "= 3 unchanged 2 forgotten"]);
}

#[test]
fn a_realm_goes_only_if_a_person_agrees_and_stays_with_the_data_of_its_app() {
    let none = with(applied(), |it| forget(it, &["shop", "editor", "web", "ann", "bob"]));
    let planned = plan(&none, 0);
    assert_eq!(planned.blocked[0].reason, "DeletionNeedsApproval");
    assert!(planned.actions.is_empty() && planned.blocked[0].hint.ends_with(&planned.digest));
    let agreed = with(none, |it| it.ask.approve = Some(planned.digest.clone()));
    let kinds: Vec<_> = plan(&agreed, 0).actions.into_iter().map(|action| action.object.kind.clone()).collect();
    assert_eq!(kinds, ["User", "User", "Client", "Role", "Realm"]);
    let removed = |presence| plan(&with(applied(), |it| it.presence = presence), 0);
    assert_eq!(removed(Presence::RemovedWithData).actions.len(), 5);
    let kept = removed(Presence::RemovedKeepingData);
    assert_eq!((kept.actions.len(), kept.forgotten.len()), (2, 3));
    assert_eq!(removed(Presence::Vanished).blocked[0].reason, "DeletionNeedsApproval");
    assert_eq!(removed(Presence::Moves).actions.len(), 0);
}

#[test]
fn the_rest_of_what_a_person_ended_waits_for_a_person() {
    let held = with(fresh(), |it| it.is_held = true);
    assert!(plan(&held, 0).actions.is_empty());
    assert_eq!(plan(&with(held, |it| it.ask.correct = Correct::All), 0).actions.len(), 5);
}

#[test]
fn nothing_is_written_before_a_word_about_grants_that_came_with_their_use() {
    let waiting = with(fresh(), |it| it.awaits_word = true);
    assert!(plan(&waiting, 0).actions.is_empty());
    assert!(plan(&with(waiting, |it| it.ask.correct = Correct::All), 0).actions.is_empty());
}

#[test]
fn an_object_of_another_app_is_left_to_it() {
    let owned = with(fresh(), |it| {
        it.owners.insert(id(RealmKind::Role, "editor"), crate::model::AppName::parse("wiki").unwrap());
    });
    let planned = plan(&owned, 0);
    assert_eq!((planned.actions.len(), planned.blocked[0].reason.as_str()), (4, "OwnedByApp"));
}

#[test]
fn an_app_reaches_into_other_realms_only_where_that_is_granted() {
    let says = |snapshot: &RealmSnapshot| -> Vec<(String, String)> {
        let plan = plan(snapshot, 0);
        assert!(plan.actions.is_empty());
        plan.blocked.into_iter().map(|blocked| (blocked.reason, blocked.hint)).collect()
    };
    let mut ungranted = fresh();
    ungranted.policy.grants = Grants::default();
    let hint = |app: &str, realm: &str| format!("add {realm} to apps.{app}.grants.realms in .wild/config.yaml");
    assert_eq!(says(&ungranted), [("GrantMissing".to_owned(), hint("blog", "shop"))]);
    // Its own is the one that is called like it, and nobody's is the one that governs all others.
    let own = RealmSnapshot { app: AppName::parse("shop").unwrap(), ..ungranted.clone() };
    assert!(plan(&own, 0).blocked.is_empty());
    let mut governing = RealmSnapshot { app: AppName::parse("master").unwrap(), ..ungranted };
    governing.desired.iter_mut().flatten().for_each(|wanted| {
        wanted.id = ObjectId::new(&wanted.id.group, &wanted.id.kind, "master", &wanted.id.name);
    });
    assert_eq!(says(&governing), [("GrantMissing".to_owned(), hint("master", "master"))]);
}
