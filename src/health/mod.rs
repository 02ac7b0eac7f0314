//! Pure. Health of one object, and of an app from its objects.
//!
//! Not here: watching (`target`), what a health state means for a plan (`plan`).

use serde::{Deserialize, Serialize};

/// Health of an object or app, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthState {
    /// It will not get well without somebody acting.
    Degraded,
    /// It was applied and is not there.
    Missing,
    /// It is being deleted.
    Terminating,
    /// It is on its way.
    Progressing,
    /// It is stopped on purpose.
    Suspended,
    /// Nobody could look.
    Unknown,
    /// It does what it should.
    Healthy,
}

/// A state with its reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Health {
    /// The state.
    pub state: HealthState,
    /// One sentence without a full stop, such as `1 of 2 pods ready`; empty where the state says all.
    pub reason: String,
}

impl Health {
    /// Returns a health with a reason.
    pub fn new(state: HealthState, reason: impl Into<String>) -> Self {
        Self { state, reason: reason.into() }
    }
}
