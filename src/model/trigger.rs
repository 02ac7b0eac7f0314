//! Pure. Why we woke. A trigger never carries data: the pass reads state.
//!
//! Not here: the queue that coalesces them (`daemon::queue`).

use super::AppName;

/// Why a pass begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A stored request waits.
    Request,
    /// A branch moved.
    Push,
    /// An upstream moved, or the merge bot's time has come.
    Upstream,
    /// A file of ours was edited.
    File,
    /// What an app waited for has happened.
    Released,
    /// A live object differs from what we wrote.
    Drift,
    /// Health of an object changed.
    Health,
    /// The time a pass asked to be woken at.
    Retry,
    /// The periodic reconcile, and the first pass after start.
    Scheduled,
    /// Objects of the app are compared value by value.
    Audit,
}

impl Reason {
    /// Returns the word for logs and operations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Push => "push",
            Self::Upstream => "upstream",
            Self::File => "file",
            Self::Released => "released",
            Self::Drift => "drift",
            Self::Health => "health",
            Self::Retry => "retry",
            Self::Scheduled => "scheduled",
            Self::Audit => "audit",
        }
    }

    /// Returns whether a pass for this reason compiles: what it is made of may have changed.
    pub fn compiles(self) -> bool {
        matches!(self, Self::Push | Self::Upstream | Self::File | Self::Scheduled)
    }
}

/// A wake-up of one app, or of the instance as a whole.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Trigger {
    /// The app; nothing for the instance.
    pub app: Option<AppName>,
    /// Why.
    pub reason: Reason,
}
