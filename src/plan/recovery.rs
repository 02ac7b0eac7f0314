//! Pure. A namespace that is being deleted: a stop for everything, and let go when its deletion does not end by itself.
//!
//! Taking the last finalizer off a namespace that still holds something leaves that in the store for ever, out of everybody's reach. So it is
//! done only where every kind of every group was listed and nothing was found: a namespace that is being deleted takes no new content, so
//! what was true stays true. What is found is let go one by one: a finalizer that a person put there, or that the settings name, is taken off;
//! any other stands for work that a program has still to do, so a person has to agree. Not here: the calls (`target`).

use std::time::Duration;

use super::action::{Action, Blocked, Plan, Verb, WakeOn};
use super::prune::Victim;
use super::snapshot::{Ending, NamespaceState, Presence, Remnant, Snapshot};
use super::{namespace, order, volume};
use crate::base::{Encoder, Timestamp};
use crate::model::{Finalizer, RecordState, RecoveryMode, RecoverySettings};

/// Time between the first looks, as seed S3 has it.
const SOON: Duration = Duration::from_secs(5);
/// Looks that follow each other soon.
const SOON_LOOKS: u32 = 3;
/// Time between later looks; it grows with the time that has gone by.
const LATER: Duration = Duration::from_secs(60);
const LATEST: Duration = Duration::from_secs(600);
/// Reason of a stop by a namespace that has its time to go.
pub const GOING: &str = "NamespaceTerminating";
/// Reason of a stop by a namespace that had its time and is still there.
pub const STUCK: &str = "NamespaceStuck";
/// Contents that are named in a sentence.
const MAX_NAMED: usize = 3;
/// Characters of a digest, as for the deletions of a plan.
const DIGEST_CHARS: usize = 16;

/// Something that is let go.
struct Step {
    victim: Victim,
    finalizers: Vec<String>,
    reason: &'static str,
    /// Whether no person has to agree.
    is_plain: bool,
}

/// Returns when the cluster has had its time to end the deletion of a namespace by itself.
pub fn due(since: Timestamp, settings: &RecoverySettings) -> Timestamp {
    since.plus(settings.after)
}

/// Adds what lets the namespace go, as far as nobody has to agree or somebody did, and looks again later.
pub(super) fn recover(snapshot: &Snapshot, plan: &mut Plan) {
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else { return };
    let at = next_look(due(ending.since, &snapshot.policy.recovery), snapshot.now);
    plan.wake_at = plan.wake_at.into_iter().chain([at]).min();
    let (plain, asked) = steps(snapshot, ending);
    // Other deletions have a name already: these get theirs when those are over.
    let digest = if plan.digest.is_empty() { digest(&asked) } else { String::new() };
    let is_agreed = !digest.is_empty() && snapshot.ask.approve.as_deref() == Some(digest.as_str());
    if !digest.is_empty() {
        plan.digest = digest;
    }
    let first = plan.actions.len();
    let steps = plain.into_iter().chain(if is_agreed { asked } else { Vec::new() });
    plan.actions.extend(steps.enumerate().map(|(position, step)| action(first.saturating_add(position), step)));
}

/// Returns what a person is told of a namespace whose deletion does not end; nothing while the cluster has its time.
pub(super) fn told(snapshot: &Snapshot, plan: &Plan) -> Option<(Blocked, WakeOn)> {
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else { return None };
    let is_due = due(ending.since, &snapshot.policy.recovery) <= snapshot.now;
    is_due.then(|| terminating(snapshot, plan)).flatten()
}

/// Returns why nothing can be written while the namespace is going, with what a person can do about it beside the plan.
///
/// A namespace that is being deleted takes no new content, and what is in it is lost; so the app starts anew under the
/// namespace's next incarnation.
pub(super) fn terminating(snapshot: &Snapshot, plan: &Plan) -> Option<(Blocked, WakeOn)> {
    let NamespaceState::Terminating(ending) = &snapshot.namespace_state else { return None };
    let (_, asked) = steps(snapshot, ending);
    let is_open =
        !asked.is_empty() && digest(&asked) == plan.digest && plan.actions.iter().all(|it| !is_of(it, &asked));
    let (plan_name, hint) = if is_open {
        let hint = format!("wild app deploy {} --prune --plan {}", snapshot.app, plan.digest);
        (format!("letting go of it is plan {}", plan.digest), hint)
    } else {
        (String::new(), String::new())
    };
    let (reason, next) = standing(snapshot, ending);
    let parts = [held_by(ending), ending.why.clone(), plan_name, next].into_iter().filter(|part| !part.is_empty());
    let because = parts.collect::<Vec<_>>().join("; ");
    let blocked = Blocked {
        object: Some(namespace::id(&snapshot.namespace)),
        reason: reason.into(),
        message: format!("namespace {} is being deleted since {}: {because}", snapshot.namespace, ending.since),
        hint,
    };
    Some((blocked, WakeOn::NamespaceGone(snapshot.namespace.clone())))
}

/// Returns the reason of the stop and what follows by itself, in words that stay the same from one look to the next: each other text is an event.
fn standing(snapshot: &Snapshot, ending: &Ending) -> (&'static str, String) {
    let due = due(ending.since, &snapshot.policy.recovery);
    if due > snapshot.now {
        return (GOING, format!("what holds it is looked into at {due}"));
    }
    (STUCK, format!("it is looked at again within {} min", LATEST.as_secs() / 60))
}

fn is_of(action: &Action, steps: &[Step]) -> bool {
    steps.iter().any(|step| step.victim.id == action.object)
}

/// Looks again soon at first, then less and less often.
fn next_look(due: Timestamp, now: Timestamp) -> Timestamp {
    if due > now {
        return due;
    }
    let waited = now.since(due);
    let pause = if waited < SOON.saturating_mul(SOON_LOOKS - 1) { SOON } else { waited.clamp(LATER, LATEST) };
    now.plus(pause)
}

/// Returns what is let go at once, and what waits for a person.
fn steps(snapshot: &Snapshot, ending: &Ending) -> (Vec<Step>, Vec<Step>) {
    let settings = &snapshot.policy.recovery;
    let Some(rest) = ending.rest.as_ref().filter(|_| settings.mode != RecoveryMode::Never) else {
        return (Vec::new(), Vec::new());
    };
    let is_plain = |finalizers: &[Finalizer]| finalizers.iter().all(|it| is_loose(snapshot, it));
    let steps = if rest.is_empty() {
        let victim =
            Victim { id: namespace::id(&snapshot.namespace), api_version: "v1".to_owned(), uid: ending.uid.clone() };
        let (finalizers, is_plain) = (names(&ending.finalizers), is_plain(&ending.finalizers));
        vec![Step { victim, finalizers, is_plain, reason: "it is empty, and its deletion does not end" }]
    } else {
        let step = |remnant: &Remnant| {
            let Remnant { id, api_version, uid, is_leaving, finalizers } = remnant;
            let victim = Victim { id: id.clone(), api_version: api_version.clone(), uid: uid.clone() };
            match (is_leaving, finalizers.is_empty()) {
                (true, true) => None,
                (true, false) => Some(Step {
                    victim,
                    finalizers: names(finalizers),
                    is_plain: is_plain(finalizers),
                    reason: "it keeps its namespace from going",
                }),
                (false, _) if !is_condemned(snapshot) => None,
                (false, _) => Some(Step {
                    victim,
                    finalizers: Vec::new(),
                    is_plain: !volume::is_claim(id) || is_held(snapshot, remnant),
                    reason: "its namespace goes, and nothing deletes it",
                }),
            }
        };
        rest.iter().filter_map(step).collect()
    };
    steps.into_iter().partition(|step| step.is_plain && settings.mode == RecoveryMode::Auto)
}

/// Returns whether a finalizer may go without asking anybody: a person put it there, or the settings name it.
pub(super) fn is_loose(snapshot: &Snapshot, finalizer: &Finalizer) -> bool {
    snapshot.policy.recovery.finalizers.contains(&finalizer.name)
        || (!finalizer.is_of_cluster() && finalizer.is_of_people(&snapshot.policy.editors))
}

/// Returns whether a commit deletes the app with its data and its namespace, which we made.
pub(super) fn is_condemned(snapshot: &Snapshot) -> bool {
    let record = snapshot.inventory.get(&namespace::id(&snapshot.namespace));
    let goes = record.is_some_and(|record| record.created && record.state == RecordState::Deleting);
    goes && snapshot.presence == Presence::RemovedWithData
}

/// Returns whether what a claim stores outlives it, or need not.
fn is_held(snapshot: &Snapshot, claim: &Remnant) -> bool {
    let is_of = |held: &super::Held| volume::claim_of(&held.volume) == claim.id;
    snapshot.policy.data_grace.is_zero() || snapshot.held.iter().any(is_of)
}

fn names(finalizers: &[Finalizer]) -> Vec<String> {
    finalizers.iter().map(|it| it.name.clone()).collect()
}

/// Returns the name by which a person agrees to these steps; empty for none.
fn digest(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut steps: Vec<&Step> = steps.iter().collect();
    steps.sort_by(|a, b| a.victim.cmp(&b.victim));
    let mut encoder = Encoder::new();
    encoder.list(steps.len());
    for Step { victim: Victim { id, api_version: _, uid }, finalizers, .. } in steps {
        encoder.text(&id.group).text(&id.kind).text(&id.namespace).text(&id.name).text(uid).list(finalizers.len());
        for name in finalizers {
            encoder.text(name);
        }
    }
    encoder.digest().to_hex().chars().take(DIGEST_CHARS).collect()
}

fn action(id: usize, step: Step) -> Action {
    let Step { victim, finalizers, reason, is_plain: _ } = step;
    let mut action = order::farewell(id, Vec::new(), (victim, Verb::Free { finalizers }, reason.to_owned()));
    action.stage = 0;
    action
}

/// Returns what was found to hold a namespace; empty if nobody looked or nothing does.
fn held_by(ending: &Ending) -> String {
    match &ending.rest {
        None => String::new(),
        Some(rest) if rest.is_empty() => {
            let placed: Vec<String> = ending.finalizers.iter().map(ToString::to_string).collect();
            placed.join(" and ")
        }
        Some(rest) => {
            let named: Vec<String> = rest.iter().take(MAX_NAMED).map(written).collect();
            let more = rest.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("it still holds {}{more}", named.join(", "))
        }
    }
}

fn written(remnant: &Remnant) -> String {
    let placed: Vec<String> = remnant.finalizers.iter().map(ToString::to_string).collect();
    let held = if placed.is_empty() { String::new() } else { format!(" ({})", placed.join(" and ")) };
    format!("{}{held}", remnant.id.short())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;
    use crate::plan::plan;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, config, ending, id};

    const FREED: &str = "- Namespace blog it is empty, and its deletion does not end";
    const LOOSENED: &str = "- ConfigMap left it keeps its namespace from going";

    fn finalizer(name: &str, placers: &[&str]) -> Finalizer {
        Finalizer { name: name.into(), placers: placers.iter().map(|&placer| placer.into()).collect() }
    }

    fn remnant(id: ObjectId, finalizers: &[Finalizer]) -> Remnant {
        let (uid, finalizers) = (format!("uid-{}", id.name), finalizers.to_vec());
        Remnant { id, api_version: "v1".into(), uid, is_leaving: true, finalizers }
    }

    fn left(finalizers: &[Finalizer]) -> Ending {
        ending(Some(vec![remnant(id("ConfigMap/left"), finalizers)]))
    }

    fn wanted(ending: Ending) -> World {
        World::deployed(&[config("config", "1")])
            .with(|snapshot| snapshot.namespace_state = NamespaceState::Terminating(ending))
    }

    fn agreed(world: &World) -> World {
        let digest = plan(&world.snapshot).digest;
        assert_eq!(digest.len(), DIGEST_CHARS);
        world.clone().with(|snapshot| snapshot.ask.approve = Some(digest))
    }

    fn told(why: &str) -> String {
        let since = "namespace blog is being deleted since 2026-11-21T11:00:00Z";
        format!("! {STUCK}: {since}: {why}; it is looked at again within 10 min")
    }

    fn asks(world: &World, why: &str) -> String {
        let digest = plan(&world.snapshot).digest;
        let name = format!("letting go of it is plan {digest}");
        let stop = told(&format!("{why}; content remains; {name}"));
        format!("{stop} (try: wild app deploy blog --prune --plan {digest})")
    }

    #[test]
    fn a_namespace_is_freed_only_when_it_is_proven_empty() {
        check(&wanted(ending(None)), &[&told("content remains")]);
        check(&wanted(ending(Some(Vec::new()))), &[FREED, &told("content remains")]);
        check(&wanted(left(&[])), &[&told("it still holds ConfigMap/left; content remains")]);
    }

    #[test]
    fn one_that_has_its_time_to_go_is_not_stuck() {
        let since = Timestamp::parse("2026-11-21T11:59:31Z").unwrap();
        let at = |after: u64| {
            let world = wanted(Ending { since, ..ending(None) });
            let world = world.with(|snapshot| snapshot.policy.recovery.after = Duration::from_secs(after));
            let blocked = plan(&world.snapshot).blocked.remove(0);
            (blocked.reason.to_string(), blocked.message)
        };
        let begun = "namespace blog is being deleted since 2026-11-21T11:59:31Z: content remains";
        let early = format!("{begun}; what holds it is looked into at 2026-11-21T12:00:01Z");
        assert_eq!(at(30), (GOING.to_owned(), early));
        assert_eq!(at(29), (STUCK.to_owned(), format!("{begun}; it is looked at again within 10 min")));
    }

    #[test]
    fn a_finalizer_that_people_placed_goes_and_that_of_a_program_waits_for_a_person() {
        let by_hand = [finalizer("a.b/c", &["kubectl-edit"])];
        let by_program = [finalizer("a.b/c", &["kubectl-edit", "operator"])];
        let of_namespace =
            |finalizers: &[Finalizer]| Ending { finalizers: finalizers.to_vec(), ..ending(Some(Vec::new())) };
        let placed = "finalizer a.b/c, placed by kubectl-edit";
        check(&wanted(of_namespace(&by_hand)), &[FREED, &told(&format!("{placed}; content remains"))]);
        check(
            &wanted(left(&by_hand)),
            &[LOOSENED, &told(&format!("it still holds ConfigMap/left ({placed}); content remains"))],
        );
        let placed = "finalizer a.b/c, placed by kubectl-edit and operator";
        let world = wanted(of_namespace(&by_program));
        check(&world, &[&asks(&world, placed)]);
        check(&agreed(&world), &[FREED, &told(&format!("{placed}; content remains"))]);
        let world = wanted(left(&by_program));
        let held = format!("it still holds ConfigMap/left ({placed})");
        check(&world, &[&asks(&world, &held)]);
        check(&agreed(&world), &[LOOSENED, &told(&format!("{held}; content remains"))]);
        // What a person agreed to is this finalizer of this object, not the next one.
        let other = [by_program[0].clone(), finalizer("d.e/f", &["operator"])];
        let asked =
            agreed(&world).with(|snapshot| snapshot.namespace_state = NamespaceState::Terminating(left(&other)));
        assert!(plan(&asked.snapshot).actions.is_empty());
    }

    #[test]
    fn a_finalizer_of_the_cluster_is_no_persons_even_if_it_came_with_their_create() {
        let protected = left(&[finalizer("kubernetes.io/pvc-protection", &["kubectl-create"])]);
        assert!(plan(&wanted(protected).snapshot).actions.is_empty());
    }

    #[test]
    fn the_settings_say_what_goes_without_asking() {
        let by_hand = || left(&[finalizer("a.b/c", &["kubectl-edit"])]);
        let by_program = || left(&[finalizer("a.b/c", &["operator"])]);
        let with = |ending: Ending, text: &str| {
            let settings: RecoverySettings = serde_json::from_str(text).unwrap();
            let world = wanted(ending).with(|snapshot| snapshot.policy.recovery = settings);
            let planned = plan(&world.snapshot);
            (planned.actions.len(), !planned.digest.is_empty())
        };
        assert_eq!(with(by_program(), r#"{"finalizers": ["a.b/c"]}"#), (1, false));
        assert_eq!(with(by_program(), r#"{"finalizers": ["d.e/f"]}"#), (0, true));
        assert_eq!(with(by_hand(), r#"{"mode": "ask"}"#), (0, true));
        assert_eq!(with(ending(Some(Vec::new())), r#"{"mode": "ask"}"#), (0, true));
        assert_eq!(with(by_hand(), r#"{"mode": "never"}"#), (0, false));
        assert_eq!(with(ending(Some(Vec::new())), r#"{"mode": "never"}"#), (0, false));
    }

    #[test]
    fn what_nothing_deletes_is_deleted_where_a_commit_deletes_the_app_with_its_namespace() {
        let remnants = ["ConfigMap/left", "PersistentVolumeClaim/data"]
            .map(|short| Remnant { is_leaving: false, ..remnant(id(short), &[finalizer("a.b/c", &["operator"])]) });
        let left = ending(Some(remnants.to_vec()));
        assert!(plan(&wanted(left.clone()).snapshot).actions.is_empty(), "nobody deleted the app");
        let gone = |created: bool| {
            let world = World::deployed(&[])
                .live("Namespace/blog", |live| live.terminating = true)
                .record("Namespace/blog", |record| (record.created, record.state) = (created, RecordState::Deleting))
                .with(|snapshot| snapshot.presence = Presence::RemovedWithData);
            world.with(|snapshot| snapshot.namespace_state = NamespaceState::Terminating(left.clone()))
        };
        assert!(plan(&gone(false).snapshot).actions.is_empty(), "it was there before us");
        // What a claim stores is not held, so that waits for a person.
        let objects = |world: &World| {
            let actions = plan(&world.snapshot).actions;
            actions.into_iter().map(|action| action.object.short()).collect::<Vec<_>>()
        };
        assert_eq!(objects(&gone(true)), ["ConfigMap/left"]);
        assert_eq!(objects(&agreed(&gone(true))), ["ConfigMap/left", "PersistentVolumeClaim/data"]);
        let now = gone(true).with(|snapshot| snapshot.policy.data_grace = Duration::ZERO);
        assert_eq!(objects(&now), ["ConfigMap/left", "PersistentVolumeClaim/data"]);
        let blocked = plan(&now.snapshot).blocked;
        assert_eq!(blocked[0].reason, STUCK);
    }

    #[test]
    fn it_is_looked_at_soon_at_first_and_less_and_less_often() {
        let next = |seconds: u64| {
            let world = wanted(ending(None));
            let Timestamp(now) = world.snapshot.now;
            let since = Timestamp(now - i64::try_from(seconds).unwrap() * 1_000_000);
            let ending = Ending { since, ..ending(None) };
            plan(&wanted(ending).snapshot).wake_at.unwrap().since(world.snapshot.now).as_secs()
        };
        assert_eq!([0, 10, 29].map(next), [30, 20, 1]);
        assert_eq!([30, 35, 39, 40, 89, 100, 600, 10_000].map(next), [5, 5, 5, 60, 60, 70, 570, 600]);
    }
}
