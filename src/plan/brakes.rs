//! Format. Pure. The settings that hold deletions back: what they say before a push bounds what the push may take.
//!
//! A budget that grows in the very push whose deletions it lets through is none. So what a push loosens does not hold for what comes with it.
//! Kept as JSON in the store, version by field names: what does not read is not kept. Not here: for which apps and how long (`pipeline`).

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{DeletionBudget, DeletionPolicy, InstanceBudget, RecoveryMode, RecoverySettings, Settings};

/// The settings that hold deletions back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brakes {
    app_min: usize,
    app_percent: usize,
    all_min: usize,
    all_percent: usize,
    all_apps: usize,
    data_grace: Duration,
    recovery: RecoveryMode,
    recovery_after: Duration,
    recovery_finalizers: BTreeSet<String>,
}

impl Brakes {
    /// Returns the brakes that settings set. A setting that comes later is decided here, or this does not compile.
    pub fn of(settings: &Settings) -> Self {
        let Settings {
            deletion,
            recovery,
            // Who the instance is, which no push changes, and what a person hears of it.
            api_version: _,
            instance_id: _,
            statuses: _,
            history: _,
            kubernetes_events: _,
            // Where packages come from, and when they are merged: each merge is a commit of its own, with deletions that these brakes hold.
            directories: _,
            updates: _,
            // Where objects are written and as whom. An app leaves a cluster as it leaves the instance, which these brakes hold; rights that it
            // gets wait for a person where they come with what they are for, as all grants in `apps` do.
            cluster: _,
            identity: _,
            // How fields of live objects are brought back: none takes an object away.
            drift: _,
            extra: _,
            conflicts: _,
            editors: _,
            handover: _,
            ignore: _,
            // When things are looked at, and what counts as healthy.
            reconcile: _,
            audit: _,
            health: _,
            health_timeout: _,
            // What is taken over is written over and stays there.
            adopt: _,
            tls: _,
            // Searched by the hook with what was said before.
            no_secrets: _,
            // `suspend` says that nothing is written. Its end lets what git says be written again, and these brakes hold for that.
            apps: _,
        } = settings;
        let DeletionPolicy { app, instance, data_grace } = deletion;
        let DeletionBudget { min: app_min, percent: app_percent } = *app;
        let InstanceBudget { min: all_min, percent: all_percent, apps: all_apps } = *instance;
        let RecoverySettings { mode, after, finalizers } = recovery;
        Self {
            app_min,
            app_percent,
            all_min,
            all_percent,
            all_apps,
            data_grace: *data_grace,
            recovery: *mode,
            recovery_after: *after,
            recovery_finalizers: finalizers.clone(),
        }
    }

    /// Returns the stricter of both in each point.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let asks = |mode: RecoveryMode| match mode {
            RecoveryMode::Never => 0,
            RecoveryMode::Ask => 1,
            RecoveryMode::Auto => 2,
        };
        Self {
            app_min: self.app_min.min(other.app_min),
            app_percent: self.app_percent.min(other.app_percent),
            all_min: self.all_min.min(other.all_min),
            all_percent: self.all_percent.min(other.all_percent),
            all_apps: self.all_apps.min(other.all_apps),
            data_grace: self.data_grace.max(other.data_grace),
            recovery: if asks(self.recovery) <= asks(other.recovery) { self.recovery } else { other.recovery },
            recovery_after: self.recovery_after.max(other.recovery_after),
            recovery_finalizers: self.recovery_finalizers.intersection(&other.recovery_finalizers).cloned().collect(),
        }
    }

    /// Returns whether these let something through that others hold.
    pub fn is_looser_than(&self, other: &Self) -> bool {
        self.and(other) != *self
    }

    /// Returns settings with these brakes as well.
    pub fn put_on(&self, settings: &Settings) -> Settings {
        let Self {
            app_min,
            app_percent,
            all_min,
            all_percent,
            all_apps,
            data_grace,
            recovery,
            recovery_after,
            recovery_finalizers,
        } = self.and(&Self::of(settings));
        Settings {
            deletion: DeletionPolicy {
                app: DeletionBudget { min: app_min, percent: app_percent },
                instance: InstanceBudget { min: all_min, percent: all_percent, apps: all_apps },
                data_grace,
            },
            recovery: RecoverySettings { mode: recovery, after: recovery_after, finalizers: recovery_finalizers },
            ..settings.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::read_typed;

    fn settings(lines: &str) -> Settings {
        let head = "apiVersion: rewild.dev/v1\ninstanceId: k3f7q2m5xd\n";
        read_typed("f", &format!("{head}{lines}\n")).unwrap()
    }

    /// Expects that the second is looser than the first, and that the first holds where both are put on.
    fn loosens(strict: &str, loose: &str) {
        let (strict, loose) = (settings(strict), settings(loose));
        let brakes = [Brakes::of(&strict), Brakes::of(&loose)];
        assert!(brakes[1].is_looser_than(&brakes[0]), "{loose:?}");
        assert!(!brakes[0].is_looser_than(&brakes[1]), "{strict:?}");
        let held = brakes[0].put_on(&loose);
        assert_eq!((&held.deletion, &held.recovery), (&strict.deletion, &strict.recovery));
        let tightened = brakes[1].put_on(&strict);
        assert_eq!(Brakes::of(&tightened), brakes[0], "what is stricter holds at once");
    }

    #[test]
    fn every_brake_that_is_let_go_is_known_and_the_stricter_holds() {
        loosens("deletion: {app: {min: 1}}", "deletion: {app: {min: 2}}");
        loosens("", "deletion: {app: {min: 500}}");
        loosens("", "deletion: {app: {percent: 100}}");
        loosens("", "deletion: {instance: {min: 1000}}");
        loosens("", "deletion: {instance: {percent: 100}}");
        loosens("", "deletion: {instance: {apps: 50}}");
        loosens("", "deletion: {dataGrace: 0s}");
        loosens("deletion: {dataGrace: 30d}", "");
        loosens("recovery: {mode: never}", "recovery: {mode: ask}");
        loosens("recovery: {mode: ask}", "");
        loosens("", "recovery: {after: 1s}");
        loosens("", "recovery: {finalizers: [example.com/hold]}");
    }

    #[test]
    fn what_holds_no_deletion_back_is_no_brake() {
        for lines in
            ["drift: off", "adopt: unowned", "apps: {ghost: {suspend: {reason: x}}}", "audit: {percentPerHour: 0}"]
        {
            assert!(!Brakes::of(&settings(lines)).is_looser_than(&Brakes::of(&settings(""))), "{lines}");
        }
    }

    #[test]
    fn they_are_kept_as_they_are() {
        let brakes = Brakes::of(&settings("recovery: {finalizers: [a/b]}"));
        let text = serde_json::to_string(&brakes).unwrap();
        let expected = r#"{"appMin":5,"appPercent":20,"allMin":20,"allPercent":5,"allApps":2,"dataGrace":{"secs":604800,"nanos":0},"recovery":"auto","recoveryAfter":{"secs":30,"nanos":0},"recoveryFinalizers":["a/b"]}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Brakes>(&text).unwrap(), brakes);
    }
}
