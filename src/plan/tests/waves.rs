//! Pure. Waves and hooks: what comes later waits until what comes before is healthy.

use super::check;
use super::world::{World, config, deployment, job};
use crate::health::{Health, HealthState};
use crate::model::Object;
use crate::plan::{Correct, Propagation, Recreate, WakeOn, plan};

fn with(mut object: Object, key: &str, value: &str) -> Object {
    object.set_annotation(&format!("rewild.dev/{key}"), value);
    object
}

fn wave(object: Object, wave: &str) -> Object {
    with(object, "wave", wave)
}

fn early() -> Object {
    wave(deployment("early", "web:1"), "-1")
}

fn late() -> Object {
    wave(config("late", "1"), "1")
}

/// Returns the app with its first wave applied and in this state.
fn begun(state: HealthState) -> World {
    let world = World::deployed(&[early()]).wants(&late()).wants(&config("other", "1"));
    world.health("Deployment/early", Health::new(state, "it says so"))
}

#[test]
fn only_the_first_wave_goes_out_at_first() {
    let world = World::deployed(&[]).wants(&late()).wants(&early()).wants(&config("other", "1"));
    check(
        &world,
        &[
            "+ Deployment early new in ccccccc",
            "… ConfigMap/late waits until Deployment/early is healthy",
            "… ConfigMap/other waits until Deployment/early is healthy",
            "= 1 unchanged",
        ],
    );
    assert!(plan(&world.snapshot).wake_on.contains(&WakeOn::Health));
}

#[test]
fn the_namespace_is_no_wave_of_its_own() {
    let world = World::new().wants(&early());
    check(&world, &["+ Namespace blog new in ccccccc", "+ Deployment early new in ccccccc"]);
}

#[test]
fn the_next_wave_begins_when_the_one_before_is_healthy_and_no_other() {
    for state in [HealthState::Progressing, HealthState::Degraded, HealthState::Unknown] {
        check(
            &begun(state),
            &[
                "… ConfigMap/late waits until Deployment/early is healthy",
                "… ConfigMap/other waits until Deployment/early is healthy",
                "= 2 unchanged",
            ],
        );
    }
    check(
        &begun(HealthState::Healthy),
        &[
            "+ ConfigMap other new in ccccccc",
            "… ConfigMap/late waits until ConfigMap/other is healthy",
            "= 2 unchanged",
        ],
    );
}

#[test]
fn what_was_applied_before_is_put_back_in_any_wave() {
    let world = World::deployed(&[early(), late()])
        .health("Deployment/early", Health::progressing("it says so"))
        .loses("ConfigMap/late");
    check(&world, &["+ ConfigMap late puts back what differs", "* ConfigMap/late is gone", "= 2 unchanged"]);
}

#[test]
fn nothing_is_deleted_while_a_wave_waits() {
    let world = World::deployed(&[early(), config("old", "1")])
        .drops("ConfigMap/old")
        .wants(&late())
        .health("Deployment/early", Health::progressing("it says so"));
    check(
        &world,
        &[
            "… ConfigMap/late waits until Deployment/early is healthy",
            "i deletions that wait until the rest is applied: 1",
            "= 2 unchanged",
        ],
    );
}

#[test]
fn a_hook_stands_before_or_after_the_app_and_one_of_another_moment_is_not_applied() {
    let hook = |name: &str, moment: &str| with(job(name), "hook", moment);
    let world = World::deployed(&[])
        .wants(&hook("check", "pre-deploy"))
        .wants(&early())
        .wants(&hook("tell", "post-deploy"))
        .wants(&hook("export", "pre-delete"));
    check(
        &world,
        &[
            "+ Job check new in ccccccc",
            "… Deployment/early waits until Job/check is healthy",
            "… Job/tell waits until Job/check is healthy",
            "i Job/export is a hook of another moment and is not run now",
            "= 1 unchanged",
        ],
    );
}

/// Lets a hook run for the app as it is wanted now.
fn runs(world: World, hook: &Object, health: Health) -> World {
    let actions = plan(&world.snapshot).actions;
    let bound = actions.iter().find(|action| action.object == hook.id()).unwrap().hash.clone();
    let short = hook.id().short();
    let world = world.has(hook).record(&short, |record| record.hash = bound.clone());
    world.live(&short, |live| (live.hash, live.health) = (bound, Some(health)))
}

#[test]
fn a_hook_runs_once_for_each_state_of_its_app() {
    let hook = with(job("check"), "hook", "pre-deploy");
    let world = World::deployed(&[config("files", "1")]).wants(&hook);
    check(&world, &["+ Job check new in ccccccc", "= 2 unchanged"]);
    let ran = runs(world, &hook, Health::healthy());
    check(&ran, &["= 3 unchanged"]);
    check(&ran.clone().loses("Job/check"), &["= 3 unchanged"]);
    let other = |world: World| world.drops("ConfigMap/files").wants(&config("files", "2"));
    let waits = "… ConfigMap/files waits until Job/check is healthy";
    let changed = other(ran.clone());
    check(&changed, &["~ Job check changed in ccccccc", waits, "= 1 unchanged"]);
    let again = plan(&changed.snapshot).actions.remove(0).recreate;
    assert_eq!(again, Recreate::Now(Propagation::Background));
    check(&other(ran.clone().loses("Job/check")), &["+ Job check new in ccccccc", waits, "= 1 unchanged"]);
    // Back to the first state it runs again: what it left is that of the second.
    check(&runs(changed, &hook, Health::healthy()), &["~ ConfigMap files changed in ccccccc", "= 2 unchanged"]);
}

#[test]
fn a_hook_that_still_runs_for_an_earlier_state_ends_first() {
    let hook = with(job("check"), "hook", "pre-deploy");
    let world = World::deployed(&[config("files", "1")]).wants(&hook);
    let running = runs(world, &hook, Health::progressing("1 pod runs"));
    let changed = running.drops("ConfigMap/files").wants(&config("files", "2"));
    check(
        &changed,
        &[
            "! HookRunning: Job/check runs for an earlier revision and runs again when it has ended",
            "… ConfigMap/files waits until Job/check is healthy",
            "= 1 unchanged",
        ],
    );
}

#[test]
fn a_job_that_has_run_is_noted_and_does_not_run_again_when_all_memory_is_lost() {
    let jobs = |world: &World| -> Vec<String> {
        let noted = plan(&world.snapshot).jobs.into_iter();
        let word = |note: Option<String>| match note {
            Some(note) if note.starts_with("failed ") => "failed",
            Some(_) => "done",
            None => "goes",
        };
        noted.map(|(id, note)| format!("{} {}", id.short(), word(note))).collect()
    };
    let world = World::deployed(&[job("check"), config("files", "1")]);
    let done = world.clone().health("Job/check", Health::healthy());
    assert_eq!(jobs(&done), ["Job/check done"]);
    assert_eq!(jobs(&world.clone().health("Job/check", Health::progressing("it runs"))), Vec::<String>::new());
    assert_eq!(jobs(&done.clone().loses("Job/check")), ["Job/check done"]);
    assert_eq!(jobs(&done.clone().drops("Job/check")), ["Job/check goes"]);
    let (id, hash) = plan(&done.loses("Job/check").snapshot).jobs.remove(0);
    let lost = world.loses("Job/check").forgets("Job/check");
    check(&lost, &["+ Job check new in ccccccc", "= 2 unchanged"]);
    let known = lost.with(|snapshot| _ = snapshot.done.insert(id, hash.unwrap()));
    assert!(plan(&known.snapshot).actions.is_empty());
    assert_eq!(plan(&known.snapshot).recovered.len(), 1);
}

#[test]
fn a_job_that_has_run_runs_again_when_a_person_asks() {
    let again = |world: &World| world.clone().with(|snapshot| snapshot.ask.rerun = Some("check".into()));
    let world = World::deployed(&[job("check"), config("files", "1")]);
    let ran = world.clone().health("Job/check", Health::healthy());
    check(&again(&ran), &["~ Job check it runs again, as a person asked", "= 2 unchanged"]);
    let action = &plan(&again(&ran).snapshot).actions[0];
    assert!(matches!(action.recreate, Recreate::Now(_)) && action.uid.is_some(), "{action:?}");
    check(&again(&ran.loses("Job/check")), &["+ Job check it runs again, as a person asked", "= 2 unchanged"]);
    let runs = world.health("Job/check", Health::progressing("it runs"));
    let told = "! HookRunning: Job/check runs now and is not run again before it has ended (try: wild app wait blog)";
    check(&again(&runs), &[told, "= 2 unchanged"]);
    let other = runs.with(|snapshot| snapshot.ask.rerun = Some("files".into()));
    check(&other, &["= 3 unchanged"]);
    let hook = with(job("check"), "hook", "pre-deploy");
    let failed = World::deployed(&[hook, config("files", "1")]).health("Job/check", Health::degraded("no"));
    check(&again(&failed), &["~ Job check it runs again, as a person asked", "= 2 unchanged"]);
}

#[test]
fn a_job_that_is_gone_has_run_only_if_somebody_saw_it_end_well() {
    let world = World::deployed(&[job("check"), config("files", "1")]);
    let note = |world: &World| plan(&world.snapshot).jobs.first().and_then(|(_, note)| note.clone());
    let state = |world: &World| plan(&world.snapshot).health.state;
    let killed = world.clone().health("Job/check", Health::progressing("0 of 1 completions")).loses("Job/check");
    check(&killed, &["+ Job check puts back what differs", "* Job/check is gone", "= 2 unchanged"]);
    assert_eq!((note(&killed), state(&killed)), (None, HealthState::Missing));
    let failed = world.health("Job/check", Health::degraded("no pod succeeded")).loses("Job/check");
    assert!(plan(&failed.snapshot).actions.is_empty());
    assert_eq!(state(&failed), HealthState::Degraded);
    let noted = note(&failed).unwrap();
    assert!(noted.starts_with("failed "), "{noted}");
    // The process that saw it is gone, and the note is left.
    let id = job("check").id();
    let later = failed.clone().with(|snapshot| snapshot.ended.clear());
    assert_eq!(plan(&later.snapshot).actions.len(), 1);
    let later = later.with(|snapshot| _ = snapshot.done.insert(id, noted));
    assert!(plan(&later.snapshot).actions.is_empty());
    assert_eq!(state(&later), HealthState::Degraded);
    // A person who deploys it wants another run.
    assert_eq!(plan(&failed.with(|snapshot| snapshot.ask.correct = Correct::All).snapshot).actions.len(), 1);
}

#[test]
fn a_job_that_expired_while_nobody_looked_runs_again_only_when_a_person_asks() {
    let mut expiring = job("check");
    expiring.0["spec"]["ttlSecondsAfterFinished"] = 60.into();
    let gone = World::deployed(&[expiring.clone(), config("files", "1")]).loses("Job/check");
    let told = "! JobEndUnknown: Job/check is gone as its spec.ttlSecondsAfterFinished says, and nobody saw how it ended; \
                it is not run a second time unasked (try: wild app reconcile blog --rerun-job check)";
    check(&gone, &[told, "= 2 unchanged"]);
    let asked = gone.clone().with(|snapshot| snapshot.ask.rerun = Some("check".into()));
    check(&asked, &["+ Job check it runs again, as a person asked", "= 2 unchanged"]);
    // Another revision of it is another Job.
    expiring.0["spec"]["template"]["spec"]["containers"][0]["image"] = "run:2".into();
    check(&gone.drops("Job/check").wants(&expiring), &["+ Job check new in ccccccc", "= 2 unchanged"]);
}

#[test]
fn a_failed_hook_holds_its_app_back_when_its_job_is_gone() {
    let hook = with(job("check"), "hook", "pre-deploy");
    let world = World::deployed(&[config("files", "1")]).wants(&hook);
    let gone = runs(world, &hook, Health::degraded("no pod succeeded")).loses("Job/check");
    let plan = plan(&gone.drops("ConfigMap/files").wants(&config("files", "1")).snapshot);
    assert_eq!(plan.blocked[0].reason, "HookFailed");
    assert!(plan.actions.is_empty());
}

#[test]
fn what_a_hook_needs_goes_out_with_it() {
    let mut hook = with(job("check"), "hook", "pre-deploy");
    hook.0["spec"]["template"]["spec"]["volumes"] = serde_json::json!([{"name": "v", "configMap": {"name": "files"}}]);
    let world = World::deployed(&[]).wants(&hook).wants(&config("files", "1")).wants(&config("other", "1"));
    check(
        &world,
        &[
            "+ ConfigMap files new in ccccccc",
            "+ Job check new in ccccccc",
            "… ConfigMap/other waits until Job/check, ConfigMap/files is healthy",
            "= 1 unchanged",
        ],
    );
}
