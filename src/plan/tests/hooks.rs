//! Pure. Hooks of updates, of failures and of the end of an app, and what becomes of their Jobs.
//!
//! Not here: hooks as waves around a deployment (`waves`).

use super::check;
use super::world::{World, config, deployment, job};
use crate::health::{Health, HealthState};
use crate::model::{Object, RecordState};
use crate::plan::{Presence, plan};

fn hook(name: &str, moment: &str) -> Object {
    with(job(name), "hook", moment)
}

fn with(mut object: Object, key: &str, value: &str) -> Object {
    object.set_annotation(&format!("rewild.dev/{key}"), value);
    object
}

/// Carries out what the plan says about the records of a hook and nothing else.
fn settled(world: World) -> World {
    let recovered = plan(&world.snapshot).recovered;
    world.with(|snapshot| recovered.into_iter().for_each(|record| snapshot.inventory.insert(record)))
}

/// Lets a hook run as the plan says, with this end.
fn runs(world: World, hook: &Object, health: Health) -> World {
    let actions = plan(&world.snapshot).actions;
    let bound = actions.iter().find(|action| action.object == hook.id()).unwrap().hash.clone();
    let short = hook.id().short();
    let world = world.has(hook).record(&short, |record| record.hash = bound.clone());
    world.live(&short, |live| (live.hash, live.health) = (bound, Some(health)))
}

fn failed() -> Health {
    Health::degraded("no pod succeeded")
}

fn removed(world: World) -> World {
    world.with(|snapshot| snapshot.presence = Presence::RemovedKeepingData)
}

#[test]
fn a_hook_of_updates_is_passed_over_by_the_first_deployment_and_by_no_other() {
    for moment in ["pre-update", "post-update"] {
        let hook = hook("check", moment);
        let first = World::new().wants(&config("files", "1")).wants(&hook);
        check(&first, &["+ Namespace blog new in ccccccc", "+ ConfigMap files new in ccccccc", "= 1 recovered"]);
        let first = settled(first).has_namespace(true).has(&config("files", "1"));
        check(&first, &["= 3 unchanged"]);
        let second = first.drops("ConfigMap/files").wants(&config("files", "2"));
        let actions: Vec<_> = plan(&second.snapshot).actions.iter().map(|action| action.object.short()).collect();
        assert_eq!(actions[0], if moment == "pre-update" { "Job/check" } else { "ConfigMap/files" });
        let ran = runs(
            if moment == "pre-update" { second } else { second.has(&config("files", "2")) },
            &hook,
            Health::healthy(),
        );
        let expected: &[&str] = if moment == "pre-update" {
            &["~ ConfigMap files changed in ccccccc", "= 2 unchanged"]
        } else {
            &["= 3 unchanged"]
        };
        check(&ran, expected);
    }
}

#[test]
fn a_hook_of_updates_that_a_deployed_app_gets_runs() {
    let world = World::deployed(&[config("files", "1")]).wants(&hook("check", "pre-update"));
    check(&world, &["+ Job check new in ccccccc", "= 2 unchanged"]);
    // A lost store does not make it a first deployment.
    let lost = World::new()
        .wants(&config("files", "1"))
        .exists_as_ours(&config("files", "1"), &[])
        .wants(&hook("check", "pre-update"));
    assert!(plan(&lost.snapshot).actions.iter().any(|action| action.object.short() == "Job/check"));
}

#[test]
fn a_failed_hook_before_the_app_holds_it_back_and_one_after_it_is_told() {
    let before = hook("check", "pre-deploy");
    let world = World::deployed(&[]).wants(&before).wants(&config("files", "1"));
    let hint = "(try: wild app reconcile blog --rerun-job check)";
    check(
        &runs(world, &before, failed()),
        &[
            &format!("! HookFailed: Job/check failed: no pod succeeded {hint}"),
            "… ConfigMap/files waits until Job/check is healthy",
            "= 2 unchanged",
        ],
    );
    let after = hook("check", "post-deploy");
    let world = World::deployed(&[config("files", "1")]).wants(&after);
    check(
        &runs(world, &after, failed()),
        &[&format!("! HookFailed: Job/check failed: no pod succeeded {hint}"), "= 3 unchanged"],
    );
}

#[test]
fn a_hook_has_a_deadline() {
    let seconds = |hook: &Object| {
        let plan = plan(&World::deployed(&[]).wants(hook).snapshot);
        let crate::plan::Verb::Apply { payload, .. } = &plan.actions[0].verb else { panic!("no apply") };
        payload.0["spec"]["activeDeadlineSeconds"].clone()
    };
    let hook = hook("check", "pre-deploy");
    assert_eq!(seconds(&hook), 600);
    assert_eq!(seconds(&with(hook.clone(), "hook-timeout", "90s")), 90);
    assert_eq!(seconds(&with(hook.clone(), "hook-timeout", "2h")), 3_600);
    let mut own = hook.clone();
    own.0["spec"]["activeDeadlineSeconds"] = 30.into();
    assert_eq!(seconds(&own), 30);
    assert!(seconds(&job("check")).is_null());
}

#[test]
fn what_an_author_wrote_about_a_hook_and_means_nothing_is_refused() {
    for (hook, text) in [
        (
            hook("check", "doctor"),
            "is a hook of the moment doctor, which is not run: make it a CronJob, or a Job that is no hook",
        ),
        (hook("check", "pre-lunch"), "is a hook of a moment \"pre-lunch\" that does not exist"),
        (
            with(hook("check", "pre-deploy"), "hook-timeout", "soon"),
            "has a hook-timeout \"soon\" that is no duration such as 90s or 10m",
        ),
        (
            with(hook("check", "pre-deploy"), "hook-delete", "always"),
            "has a hook-delete that is none of before-creation, on-success, on-failure and never",
        ),
    ] {
        let planned = plan(&World::deployed(&[]).wants(&hook).snapshot);
        let found: Vec<&str> = planned.blocked.iter().map(|blocked| blocked.message.as_str()).collect();
        let expected = format!("apps/blog/job-check.yaml:3: Job/check {text}");
        assert_eq!(found, [expected.as_str()]);
        assert!(planned.actions.is_empty());
    }
}

#[test]
fn a_hook_that_is_to_go_when_it_has_run_goes_and_does_not_run_again() {
    let hook = with(hook("check", "pre-deploy"), "hook-delete", "on-success");
    let world = World::deployed(&[config("files", "1")]).wants(&hook);
    let ran = runs(world, &hook, Health::healthy());
    check(&ran, &["- Job check its run is over", "= 2 unchanged"]);
    let going = ran.record("Job/check", |record| record.state = RecordState::Deleting);
    check(
        &going.clone().live("Job/check", |live| live.terminating = true),
        &["… Job/check is being deleted", "= 2 unchanged"],
    );
    let gone = going.loses("Job/check");
    check(&gone, &["= 2 unchanged 1 recovered"]);
    check(&settled(gone), &["= 3 unchanged"]);
}

#[test]
fn a_hook_that_is_to_go_when_it_failed_goes_and_still_holds_the_app_back() {
    let hook = with(hook("check", "pre-deploy"), "hook-delete", "on-failure");
    let world = World::deployed(&[]).wants(&hook).wants(&config("files", "1"));
    let ran = runs(world, &hook, failed());
    let hint = "(try: wild app reconcile blog --rerun-job check)";
    let waits = "… ConfigMap/files waits until Job/check is healthy";
    check(
        &ran,
        &[
            "- Job check its run is over",
            &format!("! HookFailed: Job/check failed: no pod succeeded {hint}"),
            waits,
            "= 1 unchanged",
        ],
    );
    let gone = ran.record("Job/check", |record| record.state = RecordState::Deleting).loses("Job/check");
    check(&gone, &[&format!("! HookFailed: Job/check failed: its Job was deleted {hint}"), waits, "= 2 unchanged"]);
    // Another state of the app is another run.
    let other = gone.drops("ConfigMap/files").wants(&config("files", "2"));
    assert_eq!(plan(&other.snapshot).actions[0].object.short(), "Job/check");
}

#[test]
fn a_hook_that_never_goes_does_not_run_again_while_it_is_there() {
    let hook = with(hook("check", "pre-deploy"), "hook-delete", "never");
    let world = World::deployed(&[config("files", "1")]).wants(&hook);
    let ran = runs(world, &hook, Health::healthy()).drops("ConfigMap/files").wants(&config("files", "2"));
    check(&ran, &["~ ConfigMap files changed in ccccccc", "= 2 unchanged"]);
    let gone = ran.loses("Job/check");
    assert_eq!(plan(&gone.snapshot).actions[0].object.short(), "Job/check");
}

#[test]
fn a_failed_app_brings_its_hook_for_that_once() {
    let hook = hook("tell", "on-failure");
    let world = World::deployed(&[deployment("web", "web:1")]).wants(&hook);
    check(&world.clone().health("Deployment/web", Health::healthy()), &["= 2 unchanged"]);
    let failed = world.health("Deployment/web", failed());
    check(&failed, &["+ Job tell new in ccccccc", "= 2 unchanged"]);
    let told = runs(failed, &hook, Health::healthy());
    check(&told, &["= 2 unchanged"]);
    check(&told.clone().loses("Job/tell"), &["= 2 unchanged"]);
    let well = told.health("Deployment/web", Health::healthy());
    check(&well, &["= 2 unchanged"]);
    // That the hook itself fails says nothing of the app.
    assert_eq!(plan(&well.health("Job/tell", Health::degraded("x")).snapshot).health.state, HealthState::Healthy);
}

#[test]
fn an_object_that_the_target_refused_brings_the_hook_for_failures() {
    let hook = hook("tell", "on-failure");
    let mut world = World::deployed(&[config("files", "1")]).wants(&hook);
    check(&world, &["= 2 unchanged"]);
    world.snapshot.refused = true;
    check(&world, &["+ Job tell new in ccccccc", "= 2 unchanged"]);
    check(&runs(world, &hook, Health::healthy()), &["= 2 unchanged"]);
}

#[test]
fn no_hook_for_failures_runs_while_grants_of_its_app_wait_for_a_word() {
    let mut world = World::deployed(&[config("files", "1")]).wants(&hook("tell", "on-failure"));
    world.snapshot.refused = true;
    let grants = vec!["pod: privileged".to_owned()];
    world.snapshot.unapproved = Some(crate::plan::UnapprovedGrants { grants, digest: "a1b2".to_owned() });
    assert_eq!(plan(&world.snapshot).actions, []);
    world.snapshot.unapproved = None;
    assert_eq!(plan(&world.snapshot).actions[0].object.short(), "Job/tell");
}

#[test]
fn a_failed_hook_brings_the_hook_for_that() {
    let (before, rescue) = (hook("check", "pre-deploy"), hook("tell", "on-failure"));
    let world = World::deployed(&[]).wants(&before).wants(&rescue).wants(&config("files", "1"));
    let world = runs(world, &before, failed());
    assert_eq!(plan(&world.snapshot).actions[0].object.short(), "Job/tell");
    assert_eq!(plan(&world.snapshot).actions.len(), 1);
}

#[test]
fn an_app_goes_between_its_last_hooks() {
    let (first, last) = (hook("export", "pre-delete"), hook("tell", "post-delete"));
    let deployed = World::deployed(&[config("files", "1")]).wants(&first).wants(&last);
    let notes = |name: &str| format!("i Job/{name} is a hook of another moment and is not run now");
    check(&deployed, &[&notes("export"), &notes("tell"), "= 2 unchanged"]);
    let world = removed(deployed.drops("ConfigMap/files"));
    check(&world, &["+ Job export new in ccccccc", "= 1 recovered"]);
    let world = settled(world);
    check(&world, &["+ Job export new in ccccccc"]);
    let running = runs(world.clone(), &first, Health::progressing("1 pod runs"));
    check(&running, &["! HookRunning: the rest waits until Job/export has ended"]);
    let ran = runs(world, &first, Health::healthy());
    check(&ran, &["- ConfigMap files its app was deleted", "o Namespace blog it stays without us"]);
    let empty = ran.loses("ConfigMap/files").forgets("ConfigMap/files").forgets("Namespace/blog");
    check(&empty, &["+ Job tell new in ccccccc"]);
    let told = runs(empty, &last, Health::healthy());
    check(&told, &["- Job export its app was deleted", "- Job tell its app was deleted"]);
}

#[test]
fn a_failed_hook_before_the_end_stops_it_until_a_person_names_what_goes() {
    let first = hook("export", "pre-delete");
    let world = removed(World::deployed(&[config("files", "1")]).wants(&first).drops("ConfigMap/files"));
    let failed = runs(world, &first, failed());
    let digest = plan(&failed.snapshot).digest;
    check(
        &failed,
        &[&format!(
            "! HookFailed: Job/export failed: no pod succeeded (try: wild app deploy blog --prune --plan {digest})"
        )],
    );
    let approved = failed.with(|snapshot| snapshot.ask.approve = Some(digest));
    check(&approved, &["- ConfigMap files its app was deleted", "o Namespace blog it stays without us"]);
}

#[test]
fn an_app_whose_namespace_is_gone_goes_without_its_hooks() {
    let first = hook("export", "pre-delete");
    let world = removed(World::new().has(&config("files", "1")).wants(&first));
    check(&world, &["- ConfigMap files its app was deleted"]);
}
