//! Pure. What is written, in which order, and what holds it back.

use serde_json::{Value, json};

use super::world::{World, claim, config, custom, definition, deployment, desired, ending, id, job, object, secret};
use super::{check, check_health};
use crate::health::{Health, HealthState};
use crate::model::{AppName, ClusterName, CommitId, Diagnostic, DriftPolicy, RecordState};
use crate::package::{Consent, SecretCopy};
use crate::plan::{
    Desired, Force, Freshness, Ground, NamespaceState, Owner, Plan, Presence, TargetState, UnapprovedGrants, Verb,
    WakeOn, marks, notices, plan, strayed,
};

fn web() -> World {
    World::deployed(&[config("files", "1"), claim("data"), deployment("web", "web:1")])
}

#[test]
fn an_app_that_is_as_wanted_gives_an_empty_plan() {
    check(&web(), &["= 4 unchanged"]);
}

#[test]
fn a_first_deploy_makes_the_namespace_and_everything_in_it() {
    let world = World::new()
        .wants(&deployment("web", "web:1"))
        .wants(&secret("keys", "s3cret"))
        .wants(&claim("data"))
        .wants(&config("files", "1"));
    check(
        &world,
        &[
            "+ Namespace blog new in ccccccc",
            "+ ConfigMap files new in ccccccc",
            "+ PersistentVolumeClaim data new in ccccccc",
            "+ Secret keys new in ccccccc",
            "+ Deployment web new in ccccccc",
        ],
    );
}

#[test]
fn who_brings_a_kind_that_the_cluster_does_not_know_is_named_unless_the_app_does() {
    let kind = || ("widgets.example".to_owned(), "Widget".to_owned());
    let shipper = |snapshot: &mut crate::plan::Snapshot| {
        snapshot.shippers.insert(kind(), crate::model::PackageName::parse("gadgetry").unwrap());
    };
    let world =
        World::deployed(&[]).wants(&custom("Widget", "a")).watch("widgets.example", "Widget", Freshness::UnknownKind);
    let told = "! CrdNotEstablished: the cluster does not know the kind Widget of widgets.example/v1; the package gadgetry brings it";
    check(&world.clone().with(shipper), &[&format!("{told} (try: wild app add gadgetry)"), "= 1 unchanged"]);
    let own = world.wants(&definition("Widget")).with(shipper);
    let blocked = plan(&own.snapshot).blocked.into_iter().find(|it| it.reason == "CrdNotEstablished").unwrap();
    assert!(!blocked.message.contains("gadgetry") && blocked.hint.is_empty(), "{blocked:?}");
}

#[test]
fn each_write_waits_for_what_it_needs() {
    let world = World::new()
        .wants(&deployment("web", "web:1"))
        .wants(&secret("keys", "s3cret"))
        .wants(&claim("data"))
        .wants(&config("files", "1"));
    let afters: Vec<Vec<usize>> = plan(&world.snapshot).actions.into_iter().map(|action| action.after).collect();
    assert_eq!(afters, [vec![], vec![0], vec![0], vec![0], vec![0, 1, 2]]);
}

#[test]
fn a_namespace_that_the_package_renders_is_not_derived_again() {
    let own =
        object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blog", "labels": {"a": "b"}}}));
    let world = World::new().wants(&own).wants(&config("files", "1"));
    check(&world, &["+ Namespace blog new in ccccccc", "+ ConfigMap files new in ccccccc"]);
}

#[test]
fn a_definition_comes_before_its_objects() {
    let world = World::deployed(&[])
        .wants(&custom("Widget", "a"))
        .wants(&definition("Widget"))
        .with(|snapshot| snapshot.policy.grants.kinds.push("CustomResourceDefinition".into()));
    check(
        &world,
        &[
            "+ CustomResourceDefinition widgets.widgets.example new in ccccccc",
            "+ Widget a new in ccccccc",
            "= 1 unchanged",
        ],
    );
    assert_eq!(plan(&world.snapshot).actions[1].after, [0]);
}

#[test]
fn objects_of_a_kind_that_the_cluster_does_not_know_wait_for_it() {
    let world = World::deployed(&[config("files", "1")]).wants(&custom("Widget", "a")).watch(
        "widgets.example",
        "Widget",
        Freshness::UnknownKind,
    );
    check(
        &world,
        &["! CrdNotEstablished: the cluster does not know the kind Widget of widgets.example/v1", "= 2 unchanged"],
    );
    let wake_on = plan(&world.snapshot).wake_on;
    assert!(wake_on.contains(&WakeOn::Kind { group: "widgets.example".into(), kind: "Widget".into() }));
    let pause = |world: &World| plan(&world.snapshot).wake_at.map(|at| at.since(world.snapshot.now).as_secs());
    assert_eq!(pause(&world), Some(10));
    assert_eq!(pause(&world.wants(&definition("Widget"))), Some(1), "its own definition is served soon");
}

#[test]
fn only_what_changed_is_written() {
    let world = web().drops("ConfigMap/files").wants(&config("files", "2"));
    check(&world, &["~ ConfigMap files changed in ccccccc", "= 3 unchanged"]);
}

#[test]
fn a_change_names_the_incarnation_and_asks_before_it_takes_fields() {
    let world = web().drops("ConfigMap/files").wants(&config("files", "2"));
    let actions = plan(&world.snapshot).actions;
    assert_eq!(actions[0].uid.as_deref(), Some("uid-files"));
    assert_eq!(actions[0].source, "apps/blog/configmap-files.yaml:3");
    assert!(matches!(actions[0].verb, Verb::Apply { force: Force::No, .. }));
}

#[test]
fn a_payload_carries_our_marks_and_no_secret_value() {
    let actions = plan(&World::deployed(&[]).wants(&secret("keys", "s3cret")).snapshot).actions;
    let Verb::Apply { payload, .. } = &actions[0].verb else { panic!("no apply") };
    assert_eq!(payload.label(marks::APP), Some("blog"));
    assert_eq!(payload.annotation(marks::PATH), Some("apps/blog/secret-keys.yaml"));
    assert_eq!(payload.annotation(marks::HASH), Some(actions[0].hash.as_str()));
    let text = payload.to_value().to_string();
    assert!(text.contains("sealed.v1.") && !text.contains("s3cret"), "{text}");
}

#[test]
fn a_commit_that_changes_nothing_writes_nothing() {
    let world = web().with(|snapshot| snapshot.commit = crate::model::CommitId::parse(&"d".repeat(40)).unwrap());
    check(&world, &["= 4 unchanged"]);
}

#[test]
fn a_watch_that_is_not_fresh_proves_nothing_and_sends_nothing() {
    for freshness in [Freshness::Stale, Freshness::Unwatched] {
        let world = web().watch("apps", "Deployment", freshness);
        check(&world, &["= 4 unchanged"]);
        check_health(&world, "unknown: Deployment/web: its watch is not fresh");
    }
}

#[test]
fn a_change_is_written_also_while_the_watch_is_not_fresh() {
    let world = World::deployed(&[config("files", "1")])
        .drops("ConfigMap/files")
        .wants(&config("files", "2"))
        .loses("ConfigMap/files")
        .watch("", "ConfigMap", Freshness::Stale);
    check(&world, &["~ ConfigMap files changed in ccccccc", "= 1 unchanged"]);
}

#[test]
fn a_changed_object_that_is_gone_is_made() {
    let world = web().drops("ConfigMap/files").wants(&config("files", "2")).loses("ConfigMap/files");
    check(&world, &["+ ConfigMap files new in ccccccc", "= 3 unchanged"]);
}

#[test]
fn a_write_that_was_never_confirmed_is_sent_again() {
    let world = web().record("ConfigMap/files", |record| {
        record.state = RecordState::Intended;
        record.uid.clear();
    });
    check(&world, &["~ ConfigMap files its first write was not confirmed", "= 3 unchanged"]);
    check(&world.loses("ConfigMap/files"), &["+ ConfigMap files new in ccccccc", "= 3 unchanged"]);
}

#[test]
fn an_object_that_is_wanted_again_while_it_goes_is_waited_for() {
    let world = web()
        .record("ConfigMap/files", |record| record.state = RecordState::Deleting)
        .live("ConfigMap/files", |live| live.terminating = true);
    check(
        &world,
        &["! ObjectTerminating: ConfigMap/files is being deleted and is made anew when it is gone", "= 3 unchanged"],
    );
    assert!(plan(&world.snapshot).wake_on.contains(&WakeOn::Gone(id("ConfigMap/files"))));
    let gone = world.loses("ConfigMap/files");
    check(&gone, &["+ ConfigMap files it is wanted again", "= 3 unchanged"]);
}

#[test]
fn what_a_server_sets_is_left_out_of_what_is_applied_with_a_note() {
    let mut files = config("files", "1");
    files.0.insert("status".into(), json!({"phase": "Active"}));
    files.metadata_mut().insert("resourceVersion".into(), json!("7"));
    files.metadata_mut().insert("creationTimestamp".into(), Value::Null);
    let world = World::deployed(&[]).wants(&files);
    let note = "apps/blog/configmap-files.yaml:3: ConfigMap/files holds metadata.resourceVersion, status, which only the cluster sets: left out";
    check(&world, &["+ ConfigMap files new in ccccccc", &format!("i {note}"), "= 1 unchanged"]);
    let planned = plan(&world.snapshot);
    assert_eq!(planned.actions[0].notice.as_deref(), Some(note));
    assert_eq!(notices(&world.snapshot), [note]);
    // What is applied already is told by who asks, and not with what becomes of it.
    let applied = World::deployed(&[files.clone()]).edits(&files, None, &[&["f:data", "f:k"]]);
    assert_eq!(plan(&applied.snapshot).actions[0].notice, None);
}

#[test]
fn an_object_that_names_its_owner_is_refused_wherever_that_stands() {
    let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]);
    let mut files = config("files", "1");
    files.metadata_mut().insert("ownerReferences".into(), owner.clone());
    let mut web = deployment("web", "web:1");
    web.0["spec"]["template"]["metadata"] = json!({"ownerReferences": owner});
    let rest = "what owns an object only its cluster knows, which would delete it with that; take it out";
    for (object, place, at) in [
        (files, "metadata", "apps/blog/configmap-files.yaml:3: ConfigMap/files"),
        (web, "spec.template.metadata", "apps/blog/deployment-web.yaml:3: Deployment/web"),
    ] {
        let told = format!("! OwnerReference: {at} holds {place}.ownerReferences: {rest}");
        check(&World::deployed(&[]).wants(&object), &[&told, "= 1 unchanged"]);
    }
}

#[test]
fn a_finalizer_needs_a_grant_and_is_named_with_what_it_keeps() {
    const HOLD: &str = "example.org/hold";
    let mut files = config("files", "1");
    files.metadata_mut().insert("finalizers".into(), json!([HOLD, "foregroundDeletion"]));
    let world = World::deployed(&[]).wants(&files);
    let told = |name: &str| {
        format!(
            "! GrantMissing: apps/blog/configmap-files.yaml:3: ConfigMap/files holds the finalizer {name}, by which blog could not be \
             deleted until that is served (try: take it out, or add {name} to apps.blog.grants.finalizers in .wild/config.yaml)"
        )
    };
    check(&world, &[&told(HOLD), "= 1 unchanged"]);
    let grant = |world: World, name: &str| world.with(|snapshot| snapshot.policy.grants.finalizers.push(name.into()));
    let world = grant(world, HOLD);
    check(&world, &[&told("foregroundDeletion"), "= 1 unchanged"]);
    let note = format!("i ConfigMap/files goes only when what serves {HOLD}, foregroundDeletion lets it go");
    check(&grant(world, "foregroundDeletion"), &["+ ConfigMap files new in ccccccc", &note, "= 1 unchanged"]);
    // An update that brings one holds its object back and leaves what is applied as it is.
    let updated = World::deployed(&[config("files", "0")]).drops("ConfigMap/files").wants(&files);
    assert!(plan(&updated.snapshot).actions.is_empty());
}

#[test]
fn an_added_app_is_left_alone() {
    let world = World::new().wants(&config("files", "1")).with(|snapshot| snapshot.presence = Presence::Added);
    check(&world, &["i blog is added and not deployed"]);
}

#[test]
fn a_target_that_does_not_answer_stops_everything() {
    let world = web().drops("ConfigMap/files").with(|snapshot| {
        snapshot.target = TargetState::Unreachable { since: snapshot.now, why: "connection refused".into() };
    });
    let message = "the cluster has not answered since 2026-11-21T12:00:00Z: connection refused; it is asked again every few seconds";
    check(&world, &[&format!("! TargetUnreachable: {message} (try: wild app wait blog)")]);
    check_health(&world, &format!("unknown: {message}"));
    assert_eq!(plan(&world.snapshot).wake_on, [WakeOn::Target(ClusterName::default())]);
}

#[test]
fn a_namespace_that_is_going_stops_everything() {
    let world = web().drops("ConfigMap/files").wants(&config("files", "2")).with(|snapshot| {
        snapshot.namespace_state = NamespaceState::Terminating(ending(None));
    });
    let since = "namespace blog is being deleted since 2026-11-21T11:00:00Z";
    let told = format!("! NamespaceStuck: {since}: content remains; it is looked at again within 10 min");
    check(&world, &[&told]);
    assert_eq!(plan(&world.snapshot).wake_on, [WakeOn::NamespaceGone("blog".into())]);
}

#[test]
fn new_content_waits_for_a_required_app() {
    let world = web().drops("ConfigMap/files").wants(&config("files", "2")).requires(
        "db",
        Some("postgres"),
        Some("is progressing: 0 of 1 pods ready"),
    );
    check(
        &world,
        &[
            "! RequirementNotReady: it requires db → postgres, which is progressing: 0 of 1 pods ready (try: wild app status postgres)",
            "= 3 unchanged",
        ],
    );
    assert!(plan(&world.snapshot).wake_on.contains(&WakeOn::App("postgres".to_owned().try_into().unwrap())));
}

#[test]
fn an_app_that_is_as_wanted_is_not_held_back_by_its_requirements() {
    check(&web().requires("db", Some("db"), Some("is degraded")), &["= 4 unchanged"]);
}

#[test]
fn drift_is_corrected_also_while_a_requirement_is_not_ready() {
    let world = web().loses("ConfigMap/files").requires("db", Some("db"), Some("is degraded"));
    check(&world, &["+ ConfigMap files puts back what differs", "* ConfigMap/files is gone", "= 3 unchanged"]);
}

/// The app waits to bring other files, which somebody deleted meanwhile, as they were brought before.
fn waiting() -> World {
    let old = config("files", "1");
    let world = web().drops("ConfigMap/files").wants(&config("files", "2")).loses("ConfigMap/files");
    let brought = CommitId::parse(&"b".repeat(40)).ok();
    world
        .record("ConfigMap/files", |record| record.commit = brought)
        .requires("db", Some("db"), Some("is degraded"))
        .with(|snapshot| _ = snapshot.before.insert(old.id(), desired(&old)))
}

#[test]
fn what_was_applied_is_put_back_while_what_is_new_waits() {
    let requirement = "! RequirementNotReady: it requires db, which is degraded (try: wild app status db)";
    let back = ["+ ConfigMap files puts back what differs", "* ConfigMap/files is gone"];
    check(&waiting(), &[back[0], back[1], requirement, "= 3 unchanged"]);
    let action = plan(&waiting().snapshot).actions.remove(0);
    let Verb::Apply { payload, .. } = &action.verb else { panic!("{action:?}") };
    assert_eq!(action.hash, desired(&config("files", "1")).hash);
    assert_eq!(payload.at(&["data", "k"]), Some(&json!("1")));
    assert_eq!(payload.annotation("rewild.dev/commit"), Some("b".repeat(40).as_str()));
    assert_eq!(strayed(&waiting().snapshot).len(), 1);
    // Of what cannot be built again nothing is said.
    let unknown = waiting().with(|snapshot| snapshot.before.clear());
    check(&unknown, &[requirement, "= 3 unchanged"]);
    // Nobody changed it, so no commit need be read.
    let calm = web().drops("ConfigMap/files").wants(&config("files", "2"));
    assert!(
        strayed(&calm.record("ConfigMap/files", |it| it.commit = CommitId::parse(&"b".repeat(40)).ok()).snapshot)
            .is_empty()
    );
}

#[test]
fn what_was_applied_is_put_back_while_git_says_nothing_of_it() {
    let empty = waiting().with(|snapshot| snapshot.desired = Desired::Objects(Vec::new()));
    check(
        &empty,
        &[
            "+ ConfigMap files puts back what differs",
            "* ConfigMap/files is gone",
            "! EmptyRender: apps/blog at ccccccc holds no object and would delete 4 of 4",
        ],
    );
    assert_eq!(strayed(&empty.snapshot).len(), 1);
}

#[test]
fn a_requirement_that_nobody_satisfies_names_the_command() {
    let world = World::new().wants(&config("files", "1")).requires("cache", None, None);
    check(&world, &["! RequirementNotReady: it requires cache, which no app satisfies (try: wild app add cache)"]);
}

#[test]
fn a_requirement_that_is_ready_holds_nothing_back() {
    let world = World::deployed(&[]).wants(&config("files", "1")).requires("db", Some("db"), None);
    check(&world, &["+ ConfigMap files new in ccccccc", "= 1 unchanged"]);
}

#[test]
fn a_missing_secret_holds_the_app_back_and_prunes_nothing() {
    let world =
        web().drops("ConfigMap/files").with(|snapshot| snapshot.missing_secrets.push("apps.blog.password".into()));
    check(
        &world,
        &[
            "! SecretMissing: secret apps.blog.password is not set (try: add apps.blog.password to secrets.yaml)",
            "i deletions that wait until the rest is applied: 1",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn grants_that_came_along_with_their_use_hold_back_all_that_is_new() {
    let unapproved = UnapprovedGrants { grants: vec!["kinds: Role".into()], digest: "a1b2".into() };
    let told = "! GrantNeedsApproval: a push grants blog kinds: Role, and brings what that is for along; the plan is a1b2 (try: wild operation \
                approve --app blog --plan a1b2)";
    check(
        &web()
            .drops("ConfigMap/files")
            .wants(&config("more", "1"))
            .with(|snapshot| snapshot.unapproved = Some(unapproved.clone())),
        &[
            told,
            "i apps/blog/configmap-more.yaml:3: ConfigMap/more waits for a word",
            "i deletions that wait until the rest is applied: 1",
            "= 3 unchanged",
        ],
    );
}

#[test]
fn a_secret_of_another_app_needs_a_grant() {
    let rows = AppName::parse("rows").unwrap();
    let copy = SecretCopy::new("db", "password", rows);
    let reading = |consent: Option<Consent>| {
        let withheld = consent.map(|consent| SecretCopy { consent, ..copy.clone() });
        web().drops("ConfigMap/files").with(|snapshot| snapshot.withheld.extend(withheld))
    };
    check(
        &reading(Some(Consent::Missing(vec![copy.grant()]))),
        &[
            "! GrantMissing: blog may not read the secret password of rows, which nobody granted (try: wild app deploy blog --grant rows.password)",
            "i deletions that wait until the rest is applied: 1",
            "= 3 unchanged",
        ],
    );
    check(&reading(None), &["- ConfigMap files no longer in ccccccc", "= 3 unchanged"]);
}

#[test]
fn a_source_that_cannot_be_read_changes_nothing() {
    let broken = Diagnostic::error("K110", "apps/blog/web.yaml", 4, "a key occurs twice");
    let world = web().with(|snapshot| snapshot.desired = Desired::Unreadable(vec![broken.clone(), broken]));
    check(&world, &["! Unreadable: apps/blog/web.yaml:4: K110: a key occurs twice, and 1 more"]);
}

#[test]
fn an_empty_source_never_means_delete_all() {
    let world = web().with(|snapshot| snapshot.desired = Desired::Objects(Vec::new()));
    check(&world, &["! EmptyRender: apps/blog at ccccccc holds no object and would delete 4 of 4"]);
}

#[test]
fn an_object_without_its_namespace_is_the_users_error() {
    let stray = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray"}}));
    check(
        &World::deployed(&[config("files", "1")]).wants(&stray),
        &[
            "! InvalidObject: apps/blog/configmap-stray.yaml:3: ConfigMap/stray names no namespace; set one in kustomization.yaml",
            "= 2 unchanged",
        ],
    );
}

#[test]
fn what_must_not_be_sent_is_refused_with_file_and_line() {
    let at = "apps/blog/configmap-a.yaml:3: ConfigMap/a";
    let with = |change: fn(&mut crate::model::Object)| {
        let mut object = config("a", "1");
        change(&mut object);
        World::deployed(&[]).wants(&object)
    };
    for (world, expected) in [
        (
            with(|object| object.set_annotation("rewild.dev/hash", "v1.x")),
            format!("! ReservedKey: {at} holds rewild.dev/hash, which is not for authors"),
        ),
        (
            with(|object| object.set_annotation("rewild.dev/wafe", "1")),
            format!("! ReservedKey: {at} holds rewild.dev/wafe, which is not for authors"),
        ),
        (
            with(|object| object.set_label("rewild.dev/app", "blog")),
            format!("! ReservedKey: {at} holds rewild.dev/app, which is not for authors"),
        ),
        (
            with(|object| object.set_annotation("rewild.dev/wave", "soon")),
            format!("! InvalidObject: {at} has a wave that is no whole number from -100 to 100"),
        ),
        (
            with(|object| object.set_annotation("big", &"x".repeat(262_144))),
            format!("! InvalidObject: {at} has 262147 bytes of annotations and the limit is 262144"),
        ),
    ] {
        check(&world, &[&expected, "= 1 unchanged"]);
    }
    let mut big = config("a", "1");
    big.0.insert("data".into(), json!({"k": "x".repeat(1_600_000)}));
    let text = plan(&World::deployed(&[]).wants(&big).snapshot).blocked[0].message.clone();
    assert!(text.ends_with("bytes long, 1600002 of them in data.k; the limit is 1536000"), "{text}");
}

#[test]
fn an_app_reaches_beyond_its_namespace_only_by_grant() {
    let role =
        object(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}));
    let mut away = config("away", "1");
    away.metadata_mut().insert("namespace".into(), json!("other"));
    let world = World::deployed(&[]).wants(&role).wants(&away);
    let world = world.with(|snapshot| _ = snapshot.grounds.insert("other".into(), Ground::Missing));
    check(
        &world,
        &[
            "! GrantMissing: ClusterRole/r lies outside namespaces, and blog may write only into its own (try: add ClusterRole to apps.blog.grants.kinds in .wild/config.yaml)",
            "! GrantMissing: ConfigMap/away lies in namespace other, and blog may write only into its own (try: add other to apps.blog.grants.namespaces in .wild/config.yaml)",
            "= 1 unchanged",
        ],
    );
    let granted = world.with(|snapshot| {
        snapshot.policy.grants.kinds.push("ClusterRole.rbac.authorization.k8s.io".into());
        snapshot.policy.grants.namespaces.push("other".into());
    });
    check(&granted, &["+ ClusterRole r new in ccccccc", "+ ConfigMap away new in ccccccc", "= 1 unchanged"]);
}

#[test]
fn what_needs_an_object_that_is_held_back_is_held_back_too() {
    let world = World::deployed(&[claim("data")])
        .wants(&config("files", "1"))
        .wants(&config("other", "1"))
        .wants(&deployment("web", "web:1"))
        .exists("ConfigMap/files", Owner::Nobody);
    check(
        &world,
        &[
            "+ ConfigMap other new in ccccccc",
            "! AdoptionNeedsConsent: ConfigMap/files is there already and nobody owns it (try: wild app deploy blog --adopt)",
            "! DependencyBlocked: Deployment/web needs ConfigMap/files, which is held back",
            "= 2 unchanged",
        ],
    );
}

#[test]
fn an_app_is_healthy_when_all_its_objects_are() {
    check_health(&web(), "healthy");
    check_health(
        &web().health("Deployment/web", Health::progressing("1 of 2 pods ready")),
        "progressing: Deployment/web: 1 of 2 pods ready",
    );
    check_health(&web().loses("ConfigMap/files"), "missing: ConfigMap/files: it is not there");
    check_health(
        &web().live("ConfigMap/files", |live| live.terminating = true),
        "terminating: ConfigMap/files: it is being deleted",
    );
}

#[test]
fn health_from_before_our_own_write_does_not_count() {
    let world = web().record("Deployment/web", |record| record.generation = 2);
    check_health(&world, "progressing: Deployment/web: its newest version was not seen yet");
}

#[test]
fn what_another_made_in_place_of_an_object_does_not_count() {
    let world = web().live("Deployment/web", |live| live.uid = "another".into());
    let reported = world.with(|snapshot| snapshot.policy.drift = DriftPolicy::Report);
    check_health(&reported, "missing: Deployment/web: another object stands in its place");
}

#[test]
fn an_author_may_leave_an_object_out_of_the_health() {
    let mut web = deployment("web", "web:1");
    web.set_annotation("rewild.dev/health", "ignore");
    let world = World::deployed(&[web]).health("Deployment/web", Health::degraded("too late"));
    check_health(&world, "healthy");
}

#[test]
fn an_app_that_is_not_healthy_is_woken_by_health() {
    let world = web().health("Deployment/web", Health::new(HealthState::Degraded, "too late"));
    assert_eq!(plan(&world.snapshot).wake_on, [WakeOn::Health]);
    assert_eq!(plan(&web().snapshot).wake_on, []);
}

#[test]
fn a_job_that_is_gone_after_its_run_is_not_made_again() {
    let world = World::deployed(&[job("setup")]).health("Job/setup", Health::healthy()).loses("Job/setup");
    check(&world, &["= 2 unchanged"]);
    check_health(&world, "healthy");
}

#[test]
fn rights_beyond_those_that_an_app_brings_need_a_grant() {
    let object = |kind: &str, name: &str, more: serde_json::Value| {
        let mut object = serde_json::json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "blog"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::model::Object::from_value(object).unwrap()
    };
    let bind = |kind: &str, name: &str| {
        let role = serde_json::json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        object("RoleBinding", "b", serde_json::json!({"roleRef": role}))
    };
    let role = |groups: &[&str], resources: &[&str], verbs: &[&str]| {
        let rules = serde_json::json!([{"apiGroups": groups, "resources": resources, "verbs": verbs}]);
        object("Role", "r", serde_json::json!({"rules": rules}))
    };
    let says = |object: &crate::model::Object| -> String {
        let plan = plan(&World::deployed(&[]).wants(object).snapshot);
        plan.blocked.first().map(|blocked| format!("{} {}", blocked.reason, blocked.message)).unwrap_or_default()
    };
    assert_eq!(says(&bind("Role", "r")), "");
    let admin = bind("ClusterRole", "cluster-admin");
    let text = "GrantMissing RoleBinding/b gives the rights of ClusterRole/cluster-admin, which blog does not bring";
    assert_eq!(says(&admin), text);
    let granted = World::deployed(&[]).wants(&admin);
    let granted = granted.with(|snapshot| snapshot.policy.grants.kinds = vec!["RoleBinding".into()]);
    assert_eq!(plan(&granted.snapshot).blocked, []);
    // A role that the app only names as its own gives nothing: it may not write it, or it is somebody else's.
    let named = crate::model::Object::from_value(serde_json::json!({"apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole", "metadata": {"name": "cluster-admin"}, "rules": []}));
    let decoy = World::deployed(&[]).wants(&named.unwrap()).wants(&admin);
    let may = |kinds: &[&str], world: &World| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        plan(&world.clone().with(|snapshot| snapshot.policy.grants.kinds = kinds).snapshot)
    };
    let binds = |plan: &Plan| plan.actions.iter().any(|action| action.object.kind == "RoleBinding");
    assert!(!binds(&may(&[], &decoy)));
    assert!(binds(&may(&["ClusterRole"], &decoy)), "what it may bring and brings, it binds");
    let theirs = decoy.exists("ClusterRole/cluster-admin", Owner::Nobody);
    assert!(!binds(&may(&["ClusterRole"], &theirs)) && binds(&may(&["ClusterRole", "RoleBinding"], &theirs)));
    assert_eq!(says(&role(&[""], &["configmaps"], &["*"])), "");
    assert_eq!(says(&role(&["rbac.authorization.k8s.io"], &["roles"], &["get", "list"])), "");
    for (groups, resources, verbs, word) in [
        (["*"], ["*"], ["*"], "do everything to roles"),
        (["rbac.authorization.k8s.io"], ["rolebindings"], ["*"], "do everything to roles"),
        (["rbac.authorization.k8s.io"], ["roles"], ["bind"], "bind"),
        (["rbac.authorization.k8s.io"], ["roles"], ["escalate"], "escalate"),
        ([""], ["serviceaccounts"], ["impersonate"], "impersonate"),
    ] {
        let text = format!("GrantMissing Role/r lets who has it {word}, which gives other rights than its own");
        assert_eq!(says(&role(&groups, &resources, &verbs)), text);
    }
}
