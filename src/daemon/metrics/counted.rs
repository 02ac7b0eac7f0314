//! What was counted of clusters and of passes, under the names that dashboards know. The counts are kept where things happen; here they are
//! only shown.
//!
//! Not here: counting (`target`, `pipeline`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::InstanceLabels;
use crate::pipeline::Counts;
use crate::target::{Reachability, TargetCounts};

type Level = Gauge<i64, AtomicI64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    target: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    target: String,
    method: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    target: String,
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    controller: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    controller: String,
    effect: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PrunedLabels {
    controller: String,
    result: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    controller: String,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RestartLabels {
    controller: String,
    kind: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    controller: String,
    r#type: String,
    result: String,
}

/// What was counted.
#[derive(Clone)]
pub(super) struct Counted {
    up: Family<TargetLabels, Level>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<MethodLabels, Histogram, fn() -> Histogram>,
    limit: Family<InstanceLabels, Level>,
    inflight: Family<InstanceLabels, Level>,
    dry_runs: Family<ReasonLabels, Counter>,
    reads: Family<ReasonLabels, Counter>,
    fresh: Family<KindLabels, Level>,
    /// By instance, the kinds that are shown as watched.
    watched: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    restarts: Family<RestartLabels, Counter>,
    missed: Family<InstanceLabels, Counter>,
    malformed: Family<InstanceLabels, Counter>,
    effects: Family<EffectLabels, Counter>,
    pruned: Family<PrunedLabels, Counter>,
    drift: Family<KindLabels, Counter>,
    operations: Family<OperationLabels, Counter>,
}

impl Counted {
    /// Registers the series.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let all = Self {
            durations: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 16))),
            up: Family::default(),
            requests: Family::default(),
            limit: Family::default(),
            inflight: Family::default(),
            dry_runs: Family::default(),
            reads: Family::default(),
            fresh: Family::default(),
            watched: Arc::default(),
            restarts: Family::default(),
            missed: Family::default(),
            malformed: Family::default(),
            effects: Family::default(),
            pruned: Family::default(),
            drift: Family::default(),
            operations: Family::default(),
        };
        registry.register("wild_target_up", "Whether the cluster answers", all.up.clone());
        registry.register("rest_client_requests", "Requests to the cluster by method and answer", all.requests.clone());
        registry.register("rest_client_request_duration_seconds", "Duration of requests", all.durations.clone());
        registry.register("wild_apply_limit", "Most writes that may be in flight", all.limit.clone());
        registry.register("wild_apply_inflight", "Writes in flight", all.inflight.clone());
        registry.register("wild_apply_dry_runs", "Writes that were only tried", all.dry_runs.clone());
        registry.register("wild_observe_requests", "Reads beside the watches", all.reads.clone());
        registry.register("wild_watch_fresh", "Whether the watch of a kind can be trusted", all.fresh.clone());
        registry.register("wild_watch_restarts", "Watches that ended", all.restarts.clone());
        registry.register("wild_watch_missed", "Deletions that only a list told of", all.missed.clone());
        registry.register("wild_watch_malformed", "What watches told and nobody could read", all.malformed.clone());
        registry.register("wild_apply_objects", "Objects by what happened to them", all.effects.clone());
        registry.register("wild_prune", "Deletions by how they ended", all.pruned.clone());
        registry.register("wild_drift_detected", "Differences by their sort", all.drift.clone());
        registry.register("wild_operation", "Operations that ended", all.operations.clone());
        all
    }

    /// Shows what was counted of a cluster.
    pub(super) fn target(&self, instance: &str, reachability: &Reachability, counts: TargetCounts) {
        let TargetCounts {
            requests,
            durations,
            reads,
            dry_runs,
            restarts,
            missed,
            malformed,
            write_limit,
            writes,
            watches,
        } = counts;
        let controller = || instance.to_owned();
        // Of one that nobody asked it is not known.
        if *reachability != Reachability::Unasked {
            let up = self.up.get_or_create_owned(&TargetLabels { target: controller() });
            up.set(i64::from(*reachability == Reachability::Reachable));
        }
        for ((method, code), count) in requests {
            let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
            let labels = RequestLabels { target: controller(), method, code };
            raise(&self.requests.get_or_create_owned(&labels), count);
        }
        for (method, took) in durations {
            let labels = MethodLabels { target: controller(), method };
            self.durations.get_or_create_owned(&labels).observe(took.as_secs_f64());
        }
        let labels = InstanceLabels { controller: controller() };
        self.limit.get_or_create_owned(&labels).set(number(write_limit));
        self.inflight.get_or_create_owned(&labels).set(number(writes));
        raise(&self.missed.get_or_create_owned(&labels), missed);
        raise(&self.malformed.get_or_create_owned(&labels), malformed);
        for (family, counts) in [(&self.dry_runs, dry_runs), (&self.reads, reads)] {
            for (reason, count) in counts {
                let labels = ReasonLabels { controller: controller(), reason: reason.to_owned() };
                raise(&family.get_or_create_owned(&labels), count);
            }
        }
        let shown = watches.keys().cloned().collect();
        let before = self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(controller(), shown);
        for kind in before.into_iter().flatten().filter(|kind| !watches.contains_key(kind)) {
            self.fresh.remove(&KindLabels { controller: controller(), kind });
        }
        for (kind, fresh) in watches {
            let labels = KindLabels { controller: controller(), kind };
            self.fresh.get_or_create_owned(&labels).set(i64::from(fresh));
        }
        for ((kind, reason), count) in restarts {
            let labels = RestartLabels { controller: controller(), kind, reason: reason.to_owned() };
            raise(&self.restarts.get_or_create_owned(&labels), count);
        }
    }

    /// Shows no more whether a cluster answers and what is watched there.
    pub(super) fn forget_target(&self, name: &str) {
        self.up.remove(&TargetLabels { target: name.to_owned() });
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        for kind in watched.into_iter().flatten() {
            self.fresh.remove(&KindLabels { controller: name.to_owned(), kind });
        }
    }

    /// Shows what the passes of an instance did.
    pub(super) fn passes(&self, instance: &str, counts: Counts) {
        let Counts { effects, pruned, drift, operations } = counts;
        let controller = || instance.to_owned();
        for (effect, count) in effects {
            let labels = EffectLabels { controller: controller(), effect: effect.to_owned() };
            raise(&self.effects.get_or_create_owned(&labels), count);
        }
        for (result, count) in pruned {
            let labels = PrunedLabels { controller: controller(), result: result.to_owned() };
            raise(&self.pruned.get_or_create_owned(&labels), count);
        }
        for (kind, count) in drift {
            let labels = KindLabels { controller: controller(), kind: kind.to_owned() };
            raise(&self.drift.get_or_create_owned(&labels), count);
        }
        for ((verb, result), count) in operations {
            let labels = OperationLabels { controller: controller(), r#type: verb, result: result.to_owned() };
            raise(&self.operations.get_or_create_owned(&labels), count);
        }
    }
}

/// Brings a counter to what was counted elsewhere.
fn raise(counter: &Counter, count: u64) {
    counter.inner().store(count, Ordering::Relaxed);
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
