//! Pure. What time makes of health: what is on its way for too long fails, and so does a workload whose pods do not get up.
//!
//! What is remembered of an object begins anew with its content and its incarnation. A process that begins takes up what the cluster says: an object
//! has been on its way at least since it was changed last. Hooks have a deadline of their own.
//! Not here: what an object says of itself (`health`), listing pods (`observe`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::hook;
use super::snapshot::{Desired, Snapshot};
use super::wellness;
use crate::base::Timestamp;
use crate::health::{self, Health, HealthState};
use crate::model::{Object, ObjectId, Record, RecordState};

/// Time until the pods of a workload are looked at, and between two looks: most workloads are up before that.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Looks at the pods of one app; what they showed last stays true until the workload itself says something else.
const MAX_LOOKS: u32 = 20;
/// Time that a load balancer, or the controller of a custom kind, has to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5 * 60);

/// What is remembered of the objects of an app that are on their way.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Underway {
    objects: BTreeMap<ObjectId, Way>,
    looks: u32,
    looked: Option<Timestamp>,
    /// Whether this process looked at the app before.
    known: bool,
}

/// One object on its way.
#[derive(Clone, PartialEq, Debug)]
struct Way {
    uid: String,
    hash: String,
    since: Timestamp,
    /// What its pods showed when they were looked at last, if they do not get up.
    stuck: Option<String>,
}

impl Underway {
    /// Returns what is to be remembered now that the target was looked at.
    pub fn of(snapshot: &Snapshot) -> Self {
        let before = &snapshot.underway;
        let mut objects = BTreeMap::new();
        let mut has_news = false;
        for record in snapshot.inventory.records().filter(|record| is_on_its_way(snapshot, record)) {
            let is_same = |way: &&Way| way.uid == record.uid && way.hash == record.hash;
            let known = before.objects.get(&record.id).filter(is_same).cloned();
            has_news |= known.is_none() && runs_pods(&record.id);
            let since = if before.known { snapshot.now } else { begin(snapshot, &record.id) };
            let begun = || Way { uid: record.uid.clone(), hash: record.hash.clone(), since, stuck: None };
            objects.insert(record.id.clone(), known.unwrap_or_else(begun));
        }
        Self { objects, looks: if has_news { 0 } else { before.looks }, looked: before.looked, known: true }
    }

    /// Returns whether the pods of the app are to be looked at now.
    pub fn is_look_due(&self, now: Timestamp) -> bool {
        self.next_look().is_some_and(|at| at <= now)
    }

    /// Takes in what a look at the pods showed; nothing if they could not be seen.
    pub fn look(&mut self, pods: Option<&[Object]>, now: Timestamp) {
        self.looks = self.looks.saturating_add(1);
        self.looked = Some(now);
        let Some(pods) = pods else { return };
        for (id, way) in self.objects.iter_mut().filter(|(id, _)| runs_pods(id)) {
            way.stuck = health::stuck_pod(id, &way.uid, pods, now);
        }
    }

    fn next_look(&self) -> Option<Timestamp> {
        let since = self.objects.iter().filter(|(id, _)| runs_pods(id)).map(|(_, way)| way.since).min()?;
        let due = since.plus(LOOK_EVERY).max(self.looked.map_or(since, |looked| looked.plus(LOOK_EVERY)));
        (self.looks < MAX_LOOKS).then_some(due)
    }
}

/// Returns since when an object is on its way at least that nobody watched. Clocks may differ, so it is never in the future.
fn begin(snapshot: &Snapshot, id: &ObjectId) -> Timestamp {
    let changed = snapshot.live.get(id).and_then(|live| live.changed);
    changed.map_or(snapshot.now, |changed| changed.min(snapshot.now))
}

/// Returns what becomes of the health of an object by what is known of it for a while.
pub(super) fn judge(snapshot: &Snapshot, id: &ObjectId, health: Health) -> Health {
    let way = snapshot.underway.objects.get(id).filter(|_| health.state == HealthState::Progressing);
    let Some(way) = way else { return health };
    if let Some(stuck) = &way.stuck {
        return Health::degraded(stuck.clone());
    }
    let Some((limit, why)) = limit(snapshot, id) else { return health };
    if snapshot.now < way.since.plus(limit) {
        return health;
    }
    Health::degraded(why.unwrap_or_else(|| format!("it is not ready after {}: {}", written(limit), health.reason)))
}

/// Returns when time alone changes the health of an object, or the pods are to be looked at again.
pub(super) fn next(snapshot: &Snapshot) -> Option<Timestamp> {
    let open = snapshot.underway.objects.iter().filter(|(_, way)| way.stuck.is_none());
    let ends = open.filter_map(|(id, way)| Some(way.since.plus(limit(snapshot, id)?.0)));
    ends.chain(snapshot.underway.next_look()).filter(|at| *at > snapshot.now).min()
}

/// Returns how long an object may be on its way, and what is said then, if that is not what it says of itself.
fn limit(snapshot: &Snapshot, id: &ObjectId) -> Option<(Duration, Option<String>)> {
    if id.group.is_empty() && id.kind == "Service" {
        return Some((ANSWER_LIMIT, Some("no load balancer answered".into())));
    }
    if snapshot.unspoken.contains(id) {
        let why = format!("its controller has said nothing about it for {}", written(ANSWER_LIMIT));
        return Some((ANSWER_LIMIT, Some(why)));
    }
    let timeout = snapshot.policy.health_timeout;
    (!timeout.is_zero()).then_some((timeout, None))
}

fn is_on_its_way(snapshot: &Snapshot, record: &Record) -> bool {
    let live = snapshot.live.get(&record.id).filter(|live| live.uid == record.uid && !live.terminating);
    let progresses =
        live.is_some_and(|live| wellness::said(snapshot, &record.id, live).state == HealthState::Progressing);
    progresses && record.state == RecordState::Applied && !is_hook(snapshot, &record.id)
}

fn is_hook(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    id.kind == "Job" && objects.iter().any(|it| it.object.annotation(hook::HOOK).is_some() && it.object.id() == *id)
}

fn runs_pods(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") | ("", "Pod")
    )
}

fn written(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds.is_multiple_of(60) { format!("{} min", seconds / 60) } else { format!("{seconds} s") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::world::{World, claim, custom, deployment, id, job, object};

    fn starting(objects: &[Object]) -> World {
        let world = World::deployed(objects);
        objects
            .iter()
            .fold(world, |world, object| world.health(&object.id().short(), Health::progressing("0 of 2 pods ready")))
    }

    /// Lets time pass, with looks at these pods where they are due; returns how many looks there were.
    fn pass(world: &mut World, seconds: u64, pods: &[Object]) -> usize {
        let end = world.snapshot.now.plus(Duration::from_secs(seconds));
        let mut looks = 0;
        loop {
            let snapshot = &mut world.snapshot;
            let mut underway = Underway::of(snapshot);
            if underway.is_look_due(snapshot.now) {
                underway.look(Some(pods), snapshot.now);
                looks += 1;
            }
            snapshot.underway = underway;
            let Some(at) = plan(snapshot).wake_at.filter(|at| *at <= end) else { break };
            assert!(at > snapshot.now, "it wakes at once again and again");
            snapshot.now = at;
        }
        world.snapshot.now = end;
        looks
    }

    #[track_caller]
    fn check(world: &World, expected: &str) {
        let Health { state, reason } = plan(&world.snapshot).health;
        assert_eq!(format!("{state:?} {reason}"), expected);
    }

    fn pod(owner: Value, labels: Value, status: Value) -> Object {
        object(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-a", "namespace": "blog", "labels": labels,
            "creationTimestamp": "2026-11-21T10:00:00Z", "ownerReferences": [owner]}, "status": status}),
        )
    }

    fn of_web(status: Value) -> Object {
        pod(json!({"kind": "ReplicaSet", "name": "web-1", "uid": "r"}), json!({"pod-template-hash": "1"}), status)
    }

    fn pulling(reason: &str) -> Value {
        json!({"containerStatuses": [{"name": "web", "state": {"waiting": {"reason": reason}}}]})
    }

    #[test]
    fn what_is_on_its_way_for_too_long_fails_by_the_clock_alone() {
        let mut world = starting(&[deployment("web", "web:1")]);
        pass(&mut world, 599, &[]);
        check(&world, "Progressing Deployment/web: 0 of 2 pods ready");
        pass(&mut world, 1, &[]);
        check(&world, "Degraded Deployment/web: it is not ready after 10 min: 0 of 2 pods ready");
        pass(&mut world, 3_600, &[]);
        assert_eq!(plan(&world.snapshot).wake_at, None);
        let mut well = world.clone().health("Deployment/web", Health::healthy());
        pass(&mut well, 0, &[]);
        check(&well, "Healthy ");
        let mut again = well.health("Deployment/web", Health::progressing("1 of 2 pods ready"));
        pass(&mut again, 599, &[]);
        check(&again, "Progressing Deployment/web: 1 of 2 pods ready");
    }

    #[test]
    fn a_process_that_begins_goes_on_counting_from_the_last_change() {
        let begun = |seconds: u64| {
            let world = starting(&[deployment("web", "web:1")]);
            let at = world.snapshot.now;
            let mut world = world.live("Deployment/web", |live| live.changed = Some(at));
            world.snapshot.now = at.plus(Duration::from_secs(seconds));
            world
        };
        let mut world = begun(540);
        assert_eq!(pass(&mut world, 59, &[]), 2, "at once and half a minute later");
        check(&world, "Progressing Deployment/web: 0 of 2 pods ready");
        pass(&mut world, 1, &[]);
        check(&world, "Degraded Deployment/web: it is not ready after 10 min: 0 of 2 pods ready");
        // What begins to be on its way while we look has all of its time, whatever the clock of the cluster says.
        let mut known = begun(540).health("Deployment/web", Health::healthy());
        pass(&mut known, 0, &[]);
        let mut known = known.health("Deployment/web", Health::progressing("0 of 2 pods ready"));
        pass(&mut known, 599, &[]);
        check(&known, "Progressing Deployment/web: 0 of 2 pods ready");
    }

    #[test]
    fn other_content_has_its_own_time_and_so_has_an_instance() {
        let mut world = starting(&[deployment("web", "web:1")]);
        pass(&mut world, 500, &[]);
        let mut other = world.clone().record("Deployment/web", |record| record.hash = "other".into());
        pass(&mut other, 500, &[]);
        assert_eq!(other.snapshot.underway.objects[&id("Deployment/web")].hash, "other");
        assert_eq!(plan(&other.snapshot).health.state, HealthState::Progressing);
        let mut hurried = starting(&[deployment("web", "web:1")])
            .with(|snapshot| snapshot.policy.health_timeout = Duration::from_secs(90));
        pass(&mut hurried, 90, &[]);
        check(&hurried, "Degraded Deployment/web: it is not ready after 90 s: 0 of 2 pods ready");
        let mut patient = world.with(|snapshot| snapshot.policy.health_timeout = Duration::ZERO);
        pass(&mut patient, 36_000, &[]);
        check(&patient, "Progressing Deployment/web: 0 of 2 pods ready");
    }

    #[test]
    fn pods_are_looked_at_after_half_a_minute_and_twenty_times_at_most() {
        let mut world = starting(&[deployment("web", "web:1"), claim("data")]);
        assert_eq!(pass(&mut world, 29, &[]), 0);
        assert_eq!(pass(&mut world, 1, &[]), 1);
        assert_eq!(pass(&mut world, 60, &[]), 2);
        assert_eq!(pass(&mut world, 7_200, &[]), 17);
        let mut data = starting(&[claim("data")]);
        assert_eq!(pass(&mut data, 7_200, &[]), 0);
    }

    #[test]
    fn a_workload_whose_pods_do_not_get_up_fails_with_pod_container_and_reason() {
        for reason in ["CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError"] {
            let mut world = starting(&[deployment("web", "web:1")]);
            pass(&mut world, 30, &[of_web(pulling(reason))]);
            check(&world, &format!("Degraded Deployment/web: pod web-1-a, container web: {reason}"));
            // They got up, and the workload has not said so yet.
            pass(&mut world, 30, &[of_web(json!({"phase": "Running"}))]);
            check(&world, "Progressing Deployment/web: 0 of 2 pods ready");
        }
        let mut world = starting(&[deployment("web", "web:1")]);
        pass(&mut world, 30, &[of_web(pulling("ContainerCreating"))]);
        check(&world, "Progressing Deployment/web: 0 of 2 pods ready");
        let mut set = starting(&[job("once")]);
        let own = pod(json!({"kind": "Job", "name": "once", "uid": "uid-once"}), json!({}), pulling("ErrImagePull"));
        pass(&mut set, 30, &[of_web(pulling("ErrImagePull"))]);
        check(&set, "Progressing Job/once: 0 of 2 pods ready");
        pass(&mut set, 30, &[own]);
        check(&set, "Degraded Job/once: pod web-1-a, container web: ErrImagePull");
    }

    #[test]
    fn a_pod_that_no_node_takes_counts_once_that_lasts() {
        let no_node = |since: Timestamp| {
            of_web(json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "lastTransitionTime": since.to_string(), "message": "0/1 nodes are available."}]}))
        };
        let mut world = starting(&[deployment("web", "web:1")]);
        let now = world.snapshot.now;
        pass(&mut world, 30, &[no_node(now.plus(Duration::from_secs(20)))]);
        check(&world, "Progressing Deployment/web: 0 of 2 pods ready");
        pass(&mut world, 30, &[no_node(now.plus(Duration::from_secs(20)))]);
        check(&world, "Degraded Deployment/web: pod web-1-a is not scheduled: 0/1 nodes are available");
    }

    #[test]
    fn a_hook_has_its_own_deadline() {
        let mut hook = job("setup");
        hook.set_annotation(hook::HOOK, "pre-deploy");
        let mut world = starting(&[hook]);
        pass(&mut world, 3_600, &[]);
        assert!(world.snapshot.underway.objects.is_empty());
    }

    #[test]
    fn a_load_balancer_has_five_minutes() {
        let service =
            object(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "out", "namespace": "blog"},
            "spec": {"type": "LoadBalancer"}}));
        let mut world = starting(&[service]);
        pass(&mut world, 299, &[]);
        assert_eq!(plan(&world.snapshot).health.state, HealthState::Progressing);
        pass(&mut world, 1, &[]);
        check(&world, "Degraded Service/out: no load balancer answered");
    }

    #[test]
    fn a_controller_that_says_nothing_has_five_minutes() {
        let mut world = World::deployed(&[custom("Widget", "one")]);
        check(&world, "Healthy ");
        world = world.with(|snapshot| _ = snapshot.unspoken.insert(id("Widget/one")));
        pass(&mut world, 299, &[]);
        check(&world, "Progressing Widget/one: its controller has said nothing about it yet");
        pass(&mut world, 1, &[]);
        check(&world, "Degraded Widget/one: its controller has said nothing about it for 5 min");
    }

    #[test]
    fn a_claim_that_waits_for_its_first_consumer_is_well() {
        let mut world = starting(&[claim("data")]);
        assert!(super::super::unused_claims(&world.snapshot) == [id("PersistentVolumeClaim/data")].into());
        world = world.with(|snapshot| _ = snapshot.unclaimed.insert(id("PersistentVolumeClaim/data")));
        pass(&mut world, 3_600, &[]);
        check(&world, "Healthy ");
        // A workload of the app that runs uses it; one that is scaled to nothing does not.
        let mut used = starting(&[claim("data")]).wants(&deployment("web", "web:1"));
        assert!(super::super::unused_claims(&used.snapshot).is_empty());
        let mut still = deployment("web", "web:1");
        still.0["spec"]["replicas"] = json!(0);
        used = used.drops("Deployment/web").wants(&still);
        assert_eq!(super::super::unused_claims(&used.snapshot).len(), 1);
    }
}
