//! Counters of the loop under the names that dashboards know. No global registry; labels are bounded.
//!
//! Not here: the listener (`http`).

mod apps;
mod counted;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::model::{AppState, ClusterName};
use crate::pipeline::{Audited, Instance};
use apps::Apps;
use counted::Counted;

/// Result of passes of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: String,
    result: String,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InstanceLabels {
    controller: String,
}

/// The metrics of a daemon. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    passes: Family<ResultLabels, Counter>,
    errors: Family<InstanceLabels, Counter>,
    retries: Family<InstanceLabels, Counter>,
    seconds: Histogram,
    waited: Histogram,
    drift_told: Histogram,
    drift_healed: Histogram,
    active: Family<InstanceLabels, Gauge<i64, AtomicI64>>,
    depth: Family<InstanceLabels, Gauge<i64, AtomicI64>>,
    audited: Family<InstanceLabels, Counter>,
    mismatches: Family<InstanceLabels, Counter>,
    apps: Arc<Apps>,
    counted: Counted,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Returns metrics that count from zero.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let passes = Family::default();
        let errors = Family::default();
        let retries = Family::default();
        let seconds = Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let waited = Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let drift_told = Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let drift_healed = Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let active = Family::default();
        let depth = Family::default();
        let audited = Family::default();
        let mismatches = Family::default();
        registry.register("controller_runtime_reconcile", "Passes by result", passes.clone());
        registry.register("controller_runtime_reconcile_errors", "Passes that failed", errors.clone());
        registry.register("workqueue_retries", "Passes that a clock asked for again", retries.clone());
        registry.register("controller_runtime_reconcile_time_seconds", "Duration of passes", seconds.clone());
        registry.register("controller_runtime_active_workers", "Passes that run", active.clone());
        registry.register("workqueue_queue_duration_seconds", "How long apps wait that are due", waited.clone());
        registry.register("workqueue_depth", "Apps that wait for a pass", depth.clone());
        registry.register("wild_drift_report_seconds", "From a change to its report", drift_told.clone());
        registry.register("wild_drift_heal_seconds", "From a change to its correction", drift_healed.clone());
        registry.register("wild_audited_objects", "Objects that were compared value by value", audited.clone());
        registry.register("wild_audit_mismatch", "Objects whose values differed unnoticed", mismatches.clone());
        let apps = Arc::new(Apps::register(&mut registry));
        let counted = Counted::register(&mut registry);
        let registry = Arc::new(registry);
        Self {
            registry,
            passes,
            errors,
            retries,
            seconds,
            waited,
            drift_told,
            drift_healed,
            active,
            depth,
            audited,
            mismatches,
            apps,
            counted,
        }
    }

    /// Returns all metrics as OpenMetrics text.
    pub fn encode(&self) -> String {
        self.apps.fill();
        let mut encoded = String::new();
        // Writing to a text cannot fail.
        let _ = text::encode(&mut encoded, &self.registry);
        encoded
    }

    /// Counts a pass.
    pub(super) fn passed(&self, instance: &str, result: &str, took: Duration) {
        self.passes.get_or_create(&ResultLabels { controller: instance.to_owned(), result: result.to_owned() }).inc();
        self.seconds.observe(took.as_secs_f64());
        let errors = self.errors.get_or_create_owned(&InstanceLabels { controller: instance.to_owned() });
        if result != "success" {
            errors.inc();
        }
    }

    /// Notes how long an app had waited whose pass begins.
    pub(super) fn waited(&self, wait: Duration) {
        self.waited.observe(wait.as_secs_f64());
    }

    /// Notes how long after the cluster showed a difference it was told, and put back, if it was.
    pub(super) fn drifted(&self, told: Duration, healed: Option<Duration>) {
        self.drift_told.observe(told.as_secs_f64());
        if let Some(healed) = healed {
            self.drift_healed.observe(healed.as_secs_f64());
        }
    }

    /// Counts a pass that a clock asked for again.
    pub(super) fn retried(&self, instance: &str) {
        self.retries.get_or_create(&InstanceLabels { controller: instance.to_owned() }).inc();
    }

    /// Notes what a pass found of an app, or that it is gone.
    pub(super) fn saw(&self, instance: &str, app: &str, state: Option<&AppState>) {
        self.apps.saw(instance, app, state);
    }

    /// Shows what an instance and its cluster counted.
    pub(super) fn count(&self, instance: &Instance) {
        let name = instance.name.as_str();
        self.counted.passes(name, instance.counts());
        for (cluster, target) in instance.targets().all() {
            let name = name_of(instance, cluster);
            self.counted.target(&name, &target.reachability(), target.counted());
        }
    }

    /// Shows no more what was counted of a cluster that is not known any more, or is another one.
    pub(super) fn forget_target(&self, instance: &Instance, cluster: &ClusterName) {
        self.counted.forget_target(&name_of(instance, cluster));
    }

    /// Counts what a pass compared value by value.
    pub(super) fn audited(&self, instance: &str, audited: Audited) {
        let labels = InstanceLabels { controller: instance.to_owned() };
        self.audited.get_or_create(&labels).inc_by(audited.objects);
        self.mismatches.get_or_create(&labels).inc_by(audited.mismatches);
    }

    /// Notes how many apps run and wait.
    pub(super) fn queue(&self, instance: &str, running: usize, waiting: usize) {
        let labels = InstanceLabels { controller: instance.to_owned() };
        self.active.get_or_create(&labels).set(i64::try_from(running).unwrap_or(i64::MAX));
        self.depth.get_or_create(&labels).set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }
}

/// Returns what a cluster of an instance is called in metrics.
fn name_of(instance: &Instance, cluster: &ClusterName) -> String {
    let name = instance.name.as_str();
    if cluster.is_first() { name.to_owned() } else { format!("{name}/{}", cluster.as_str()) }
}
