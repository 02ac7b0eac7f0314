//! Pure. Absent is not empty: what the committed revision must be before anything is concluded from it.
//!
//! "No longer desired" has one form: the app's directory is absent from a readable commit whose parent had it, and that
//! commit says so. Not here: how many objects may go (`budget`).

use super::action::{Blocked, WakeOn};
use super::snapshot::{Desired, Snapshot};
use crate::model::Diagnostic;

/// Returns why nothing is known about what is wanted.
pub(super) fn unusable(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let first_hint = |found: &[Diagnostic]| found.first().map(|found| found.hint.clone()).unwrap_or_default();
    let (reason, message, hint) = match &snapshot.desired {
        Desired::Unreadable(diagnostics) => ("Unreadable", unreadable(snapshot, diagnostics), String::new()),
        Desired::Leaking(diagnostics) => ("SecretInGit", unreadable(snapshot, diagnostics), first_hint(diagnostics)),
        Desired::Objects(objects) if objects.is_empty() => ("EmptyRender", empty(snapshot), String::new()),
        Desired::Objects(_) => return None,
    };
    let blocked = Blocked { object: None, reason: reason.into(), message, hint };
    Some((blocked, WakeOn::Revision))
}

fn unreadable(snapshot: &Snapshot, diagnostics: &[Diagnostic]) -> String {
    let first = diagnostics.iter().find(|diagnostic| diagnostic.is_error()).or_else(|| diagnostics.first());
    let more = diagnostics.len().saturating_sub(1);
    match first {
        Some(diagnostic) if more > 0 => format!("{diagnostic}, and {more} more"),
        Some(diagnostic) => diagnostic.to_string(),
        None => format!("apps/{} at {} could not be read", snapshot.app, snapshot.commit.short()),
    }
}

fn empty(snapshot: &Snapshot) -> String {
    let count = snapshot.inventory.len();
    format!("apps/{} at {} holds no object and would delete {count} of {count}", snapshot.app, snapshot.commit.short())
}
