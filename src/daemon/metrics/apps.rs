//! What is known of apps, as numbers. The series are made anew from the newest states each time they are read, so that none outlives its app.
//!
//! Not here: what is counted (`counted.rs`, the parent).

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::InstanceLabels;
use crate::model::AppState;

/// Apps that have series of their own; what is beyond is summed under no name.
const MAX_APPS: usize = 2_000;

type Level = Gauge<i64, AtomicI64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InfoLabels {
    instance: String,
    app: String,
    version: String,
    available: String,
    sync: String,
    health: String,
    suspended: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AppLabels {
    instance: String,
    app: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BlockedLabels {
    instance: String,
    app: String,
    reason: String,
}

/// What counts of one app.
struct Facts {
    version: String,
    available: String,
    sync: String,
    health: String,
    reason: String,
    drifted: usize,
    objects: usize,
}

/// The apps of a daemon.
#[derive(Default)]
pub(super) struct Apps {
    known: Mutex<BTreeMap<(String, String), Facts>>,
    info: Family<InfoLabels, Level>,
    drifted: Family<AppLabels, Level>,
    blocked: Family<BlockedLabels, Level>,
    objects: Family<InstanceLabels, Level>,
    fights: Family<InstanceLabels, Level>,
    stuck: Family<InstanceLabels, Level>,
    deletions: Family<InstanceLabels, Counter>,
}

impl Apps {
    /// Registers the series.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let apps = Self::default();
        registry.register("wild_app_info", "Apps with what is known of them", apps.info.clone());
        registry.register("wild_app_drifted_fields", "Fields that differ from git", apps.drifted.clone());
        registry.register("wild_app_blocked", "Apps that are held back, by reason", apps.blocked.clone());
        registry.register("wild_inventory_objects", "Objects of all apps", apps.objects.clone());
        registry.register("wild_drift_fights", "Apps in a fight with another controller", apps.fights.clone());
        registry.register("wild_namespace_stuck", "Apps whose namespace does not end", apps.stuck.clone());
        registry.register("wild_deletion_blocked", "Deletions that were held back", apps.deletions.clone());
        apps
    }

    /// Takes in what a pass found of an app, or that it is gone.
    pub(super) fn saw(&self, instance: &str, app: &str, state: Option<&AppState>) {
        let key = (instance.to_owned(), app.to_owned());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state else { return drop(known.remove(&key)) };
        let facts = Facts {
            version: state.version.clone(),
            available: state.available.clone(),
            sync: state.intent.clone(),
            health: state.health.clone(),
            reason: state.reason.clone(),
            drifted: state.drift.len(),
            objects: state.objects.len(),
        };
        let is_held = |facts: &Facts| facts.reason == "DeletionNeedsApproval";
        let is_new = is_held(&facts) && !known.get(&key).is_some_and(is_held);
        known.insert(key, facts);
        let deletions = self.deletions.get_or_create(&labels(instance)).clone();
        if is_new {
            deletions.inc();
        }
    }

    /// Makes the series anew.
    pub(super) fn fill(&self) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.info.clear();
        self.drifted.clear();
        self.blocked.clear();
        for gauges in [&self.objects, &self.fights, &self.stuck] {
            gauges.clear();
        }
        for (at, ((instance, app), facts)) in known.iter().enumerate() {
            let has_own = at < MAX_APPS;
            let own = |text: &str| if has_own { text.to_owned() } else { String::new() };
            let Facts { version, available, sync, health, reason, drifted, objects } = facts;
            let info = InfoLabels {
                instance: instance.clone(),
                app: own(app),
                version: own(version),
                available: own(available),
                sync: sync.clone(),
                health: health.clone(),
                suspended: (reason == "Suspended").to_string(),
            };
            self.info.get_or_create(&info).inc();
            let name = AppLabels { instance: instance.clone(), app: own(app) };
            self.drifted.get_or_create(&name).inc_by(number(*drifted));
            if !reason.is_empty() {
                let blocked = BlockedLabels { instance: instance.clone(), app: own(app), reason: reason.clone() };
                self.blocked.get_or_create(&blocked).inc();
            }
            let instance = labels(instance);
            self.objects.get_or_create(&instance).inc_by(number(*objects));
            self.fights.get_or_create(&instance).inc_by(i64::from(reason == "Fighting"));
            self.stuck.get_or_create(&instance).inc_by(i64::from(reason == crate::plan::recovery::STUCK));
        }
    }
}

fn labels(instance: &str) -> InstanceLabels {
    InstanceLabels { controller: instance.to_owned() }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;
    use crate::base::Timestamp;
    use crate::model::AppName;

    fn state(app: &str, reason: &str) -> AppState {
        let text = |text: &str| text.to_owned();
        AppState {
            name: AppName::parse(app).unwrap(),
            package: text("p"),
            version: text("1.0"),
            available: String::new(),
            update: None,
            namespace: text(app),
            cluster: Default::default(),
            health: text("healthy"),
            health_reason: String::new(),
            intent: text("applied"),
            reason: text(reason),
            needs_you: String::new(),
            hint: String::new(),
            log: Vec::new(),
            notices: Vec::new(),
            lifecycle: text("deployed"),
            drift: Vec::new(),
            conflicts: 0,
            commit: None,
            applied: None,
            objects: Vec::new(),
            observed_at: Timestamp(0),
        }
    }

    fn shown(apps: &Apps, registry: &Registry) -> Vec<String> {
        apps.fill();
        let mut encoded = String::new();
        text::encode(&mut encoded, registry).unwrap();
        encoded.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn a_series_goes_with_its_app_and_changes_with_its_state() {
        let mut registry = Registry::default();
        let apps = Apps::register(&mut registry);
        apps.saw("home", "blog", Some(&state("blog", "")));
        apps.saw("home", "blog", Some(&state("blog", "Suspended")));
        let lines = shown(&apps, &registry);
        let info = "wild_app_info{instance=\"home\",app=\"blog\",version=\"1.0\",available=\"\",sync=\"applied\",health=\"healthy\",suspended=\"true\"} 1";
        assert!(lines.contains(&info.to_owned()), "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("wild_app_info")).count(), 1);
        apps.saw("home", "blog", None);
        assert!(shown(&apps, &registry).iter().all(|line| !line.contains("blog")));
    }

    #[test]
    fn a_deletion_that_is_held_back_counts_once() {
        let mut registry = Registry::default();
        let apps = Apps::register(&mut registry);
        for reason in ["", "DeletionNeedsApproval", "DeletionNeedsApproval"] {
            apps.saw("home", "blog", Some(&state("blog", reason)));
        }
        let lines = shown(&apps, &registry);
        assert!(lines.contains(&"wild_deletion_blocked_total{controller=\"home\"} 1".to_owned()), "{lines:#?}");
    }

    #[test]
    fn apps_beyond_the_bound_are_summed() {
        let mut registry = Registry::default();
        let apps = Apps::register(&mut registry);
        for app in 0..MAX_APPS + 5 {
            let name = format!("app-{app:05}");
            apps.saw("home", &name, Some(&state(&name, "")));
        }
        let lines = shown(&apps, &registry);
        let infos: Vec<&String> = lines.iter().filter(|line| line.starts_with("wild_app_info")).collect();
        assert_eq!(infos.len(), MAX_APPS + 1);
        assert!(infos.iter().any(|line| line.contains("app=\"\"") && line.ends_with(" 5")));
    }
}
