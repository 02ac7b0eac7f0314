//! Pure. What is there without a record: whose it is, and what becomes of it.

use super::check;
use super::world::{World, claim, config, deployment, id};
use crate::model::{AdoptPolicy, AppName, DriftPolicy};
use crate::plan::{Claim, Desired, Force, Owner, Presence, Snapshot, Verb, WakeOn, dropped, plan, unowned};

fn files(owner: Owner) -> World {
    World::deployed(&[]).wants(&config("files", "1")).exists("ConfigMap/files", owner)
}

fn us(hash: &str, fields: &str) -> Owner {
    Owner::Us { hash: hash.into(), fields: fields.into(), time: "t".into(), generation: 1 }
}

#[test]
fn what_nobody_owns_is_taken_over_only_with_consent() {
    let blocked = "! AdoptionNeedsConsent: ConfigMap/files is there already and nobody owns it (try: wild app deploy blog --adopt)";
    check(&files(Owner::Nobody), &[blocked, "= 1 unchanged"]);
    let taken = ["~ ConfigMap files takes over what nobody owns", "= 1 unchanged"];
    check(&files(Owner::Nobody).with(|snapshot| snapshot.ask.adopt = true), &taken);
    let world = files(Owner::Nobody).with(|snapshot| snapshot.policy.adopt = AdoptPolicy::Unowned);
    check(&world, &taken);
    let action = &plan(&world.snapshot).actions[0];
    assert_eq!(action.uid.as_deref(), Some("uid-files"));
    assert!(matches!(action.verb, Verb::Apply { force: Force::Yes, .. }));
}

#[test]
fn what_taking_an_object_over_would_change_is_told() {
    let told = |changes: &[&str], says: &str| {
        let changes: Vec<String> = changes.iter().map(|&path| path.to_owned()).collect();
        let world = files(Owner::Nobody).with(|snapshot| _ = snapshot.contact.insert(id("ConfigMap/files"), changes));
        assert_eq!(unowned(&world.snapshot), [id("ConfigMap/files")]);
        let message = plan(&world.snapshot).blocked.remove(0).message;
        assert_eq!(
            message,
            format!("ConfigMap/files is there already and nobody owns it; taking it over would change {says}")
        );
    };
    told(&[], "nothing");
    told(&["data.k", "metadata.labels.app"], "data.k, metadata.labels.app");
    let many: Vec<String> = (0..12).map(|n| format!("data.k{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    told(&many, &format!("{} and 2 more", many[..10].join(", ")));
    for owner in [Owner::Released, Owner::App("other".into()), us("hash", "fields")] {
        assert_eq!(unowned(&files(owner).snapshot), []);
    }
    assert_eq!(unowned(&files(us("other", "")).snapshot), [id("ConfigMap/files")]);
    assert_eq!(unowned(&files(Owner::Nobody).with(|snapshot| snapshot.ask.adopt = true).snapshot), []);
}

#[test]
fn what_another_tool_owns_is_refused_even_with_consent() {
    let flux = || Owner::Tool { tool: "Flux".into(), mark: "label kustomize.toolkit.fluxcd.io/name".into() };
    let world = files(flux()).with(|snapshot| snapshot.ask.adopt = true);
    check(
        &world,
        &[
            "! ForeignOwner: ConfigMap/files belongs to Flux, by its label kustomize.toolkit.fluxcd.io/name (try: remove it from Flux, or its mark from the object)",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn what_another_app_owns_is_refused() {
    check(
        &files(Owner::App("shop".into())),
        &[
            "! OwnedByApp: ConfigMap/files belongs to app shop (try: remove it from one of the apps: wild app diff shop)",
            "= 1 unchanged",
        ],
    );
}

fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

#[test]
fn what_two_apps_want_stays_with_the_one_that_has_it() {
    for (rival, says, hint) in [("shop", "which wants it too", "shop"), ("wiki", "and app wiki wants it too", "wiki")] {
        let world = files(Owner::App("shop".into()))
            .with(|snapshot| _ = snapshot.claims.insert(id("ConfigMap/files"), Claim::Wanted(app(rival))));
        let blocked = format!(
            "! OwnedByApp: ConfigMap/files belongs to app shop, {says} (try: remove it from one of the apps: wild app diff {hint})"
        );
        check(&world, &[&blocked, "= 1 unchanged"]);
    }
}

#[test]
fn what_another_app_gave_up_moves_here_in_its_incarnation() {
    let given_up = |snapshot: &mut Snapshot| {
        snapshot.claims.insert(id("ConfigMap/files"), Claim::GivenUp(app("shop")));
    };
    let moves = ["~ ConfigMap files moves here from app shop", "= 1 unchanged"];
    let world = files(Owner::App("shop".into())).with(given_up);
    check(&world, &moves);
    assert_eq!(plan(&world.snapshot).actions[0].uid.as_deref(), Some("uid-files"));
    // With what the other app remembered of it; whose content is the same, its marks are not.
    let world = World::deployed(&[config("files", "1")]).with(given_up);
    check(&world, &moves);
    assert_eq!(plan(&world.snapshot).actions[0].uid.as_deref(), Some("uid-files"));
    let edited = world.edits(&config("files", "1"), None, &[&["f:data", "f:k"]]);
    assert!(matches!(plan(&edited.snapshot).actions[0].verb, Verb::Apply { force: Force::Yes, .. }));
}

#[test]
fn other_apps_are_asked_only_about_what_an_app_drops() {
    // The namespace stands in no file and is wanted all the same: to ask for it would read every app in every pass.
    let world = World::deployed(&[config("files", "1"), config("rest", "1")]);
    assert_eq!(dropped(&world.snapshot), []);
    let dropping = world.drops("ConfigMap/files");
    assert_eq!(dropped(&dropping.snapshot), [id("ConfigMap/files")]);
    let gone = dropping.with(|snapshot| snapshot.presence = Presence::RemovedWithData);
    assert_eq!(dropped(&gone.snapshot).len(), 3);
}

#[test]
fn what_another_app_wants_stays_for_it() {
    let wanted = |snapshot: &mut Snapshot| {
        snapshot.claims.insert(id("ConfigMap/files"), Claim::Wanted(app("shop")));
    };
    let world = World::deployed(&[config("files", "1"), config("rest", "1")]).drops("ConfigMap/files").with(wanted);
    check(&world, &["i ConfigMap/files moves to app shop", "= 2 unchanged"]);
    let wakes = plan(&world.snapshot);
    assert_eq!((wakes.wake_on, wakes.digest.as_str()), (vec![WakeOn::App(app("shop"))], ""));
    // The whole app goes: its namespace waits for that.
    let gone = world.with(|snapshot| {
        snapshot.presence = Presence::RemovedWithData;
        _ = snapshot.neighbours.insert("blog".into(), Vec::new());
        snapshot.desired = Desired::Objects(Vec::new());
    });
    check(
        &gone,
        &[
            "- ConfigMap rest its app was deleted",
            "! MovesToApp: ConfigMap/files waits until app shop has taken it over (try: wild app show shop)",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
}

#[test]
fn what_an_app_that_does_not_build_may_want_stays_until_it_builds() {
    let named = |snapshot: &mut Snapshot| {
        snapshot.claims.insert(id("ConfigMap/files"), Claim::Possible(app("shop")));
    };
    let world = World::deployed(&[config("files", "1"), config("rest", "1")]).drops("ConfigMap/files").with(named);
    check(&world, &["i ConfigMap/files stays until app shop builds, whose files name it", "= 2 unchanged"]);
    assert_eq!(plan(&world.snapshot).wake_on, [WakeOn::App(app("shop"))]);
    let gone = world.with(|snapshot| {
        snapshot.presence = Presence::RemovedWithData;
        snapshot.desired = Desired::Objects(Vec::new());
    });
    let blocked = &plan(&gone.snapshot).blocked;
    let says = blocked.iter().map(|it| it.message.as_str()).collect::<Vec<_>>();
    assert_eq!(says, ["ConfigMap/files waits until app shop builds, whose files name it"]);
}

#[test]
fn what_a_controller_owns_is_refused() {
    check(
        &files(Owner::Controller("CronJob/backup".into())),
        &["! ForeignOwner: ConfigMap/files belongs to CronJob/backup, which would make it anew", "= 1 unchanged"],
    );
}

#[test]
fn what_we_gave_up_is_taken_back() {
    let world = World::deployed(&[]).wants(&claim("data")).exists("PersistentVolumeClaim/data", Owner::Released);
    check(&world, &["~ PersistentVolumeClaim data takes back what was kept", "= 1 unchanged"]);
}

#[test]
fn a_lost_record_is_rebuilt_without_a_write() {
    let world = World::deployed(&[]).wants(&config("files", "1")).exists_as_ours(&config("files", "1"), &[]);
    check(&world, &["= 1 unchanged 1 recovered"]);
    let record = &plan(&world.snapshot).recovered[0];
    assert_eq!((record.id.clone(), record.uid.as_str(), record.generation), (id("ConfigMap/files"), "uid-live", 3));
    assert!(!record.created, "nobody knows who made it");
}

#[test]
fn a_lost_record_is_rebuilt_from_what_the_watch_shows() {
    let world = World::deployed(&[config("files", "1")]).forgets("ConfigMap/files");
    check(&world, &["~ ConfigMap files its record was lost", "= 1 unchanged"]);
}

#[test]
fn with_the_record_lost_fields_that_others_took_are_still_seen() {
    let lost: &[&[&str]] = &[&["f:data", "f:k"]];
    let world = World::deployed(&[]).wants(&config("files", "1")).exists_as_ours(&config("files", "1"), lost);
    check(&world, &["~ ConfigMap files puts back what differs", "* ConfigMap/files removed data", "= 1 unchanged"]);
    check(
        &world.clone().with(|snapshot| snapshot.policy.drift = DriftPolicy::Report),
        &["* ConfigMap/files removed data, left as it is", "= 1 unchanged"],
    );
    check(&world.with(|snapshot| snapshot.policy.drift = DriftPolicy::Off), &["= 1 unchanged 1 recovered"]);
}

#[test]
fn with_the_record_lost_and_a_new_revision_our_own_entry_is_proof_enough() {
    check(&files(us("v1.old", "f")), &["~ ConfigMap files changed in ccccccc", "= 1 unchanged"]);
}

#[test]
fn copied_labels_prove_nothing() {
    check(
        &files(us("v1.old", "")),
        &[
            "! AdoptionNeedsConsent: ConfigMap/files is there already and nobody owns it (try: wild app deploy blog --adopt)",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn one_foreign_object_does_not_stop_the_app() {
    let world = World::deployed(&[])
        .wants(&config("a", "1"))
        .wants(&config("b", "1"))
        .wants(&deployment("web", "web:1"))
        .exists("ConfigMap/a", Owner::App("shop".into()));
    check(
        &world,
        &[
            "+ ConfigMap b new in ccccccc",
            "+ Deployment web new in ccccccc",
            "! OwnedByApp: ConfigMap/a belongs to app shop (try: remove it from one of the apps: wild app diff shop)",
            "= 1 unchanged",
        ],
    );
}
