//! Every sentence that statuses say on forges and in git notes, in one place.
//!
//! Not here: sentences of the command line (`cli`) and of pages (`http`).

use crate::model::AppName;

/// Returns the context under which the state of a commit is shown.
pub fn deploy_context(instance: &str) -> String {
    format!("wild/deploy ({instance})")
}

/// Returns the context under which differences of the cluster from a commit are shown.
pub fn drift_context(instance: &str) -> String {
    format!("wild/drift ({instance})")
}

/// Returns the sentence for a commit that was just seen.
pub fn seen() -> String {
    "Seen; waiting for its apps.".to_owned()
}

/// Returns the sentence for a commit whose settings do not read, where the last that did stay in force.
pub fn unreadable(why: &str) -> String {
    format!("These settings are not in force: {why}.")
}

/// Returns the sentence for a commit that holds a secret in clear.
pub fn leaking(what: &str) -> String {
    format!("A secret is in git: {what}.")
}

/// Returns the sentence for a commit all of whose apps are healthy.
pub fn healthy(apps: usize) -> String {
    match apps {
        0 => "Nothing to deploy.".to_owned(),
        1 => "1 app is applied and healthy.".to_owned(),
        _ => format!("{apps} apps are applied and healthy."),
    }
}

/// Returns the sentence for a commit with an app that is not there yet.
pub fn waiting(app: &AppName, reason: &str) -> String {
    if reason.is_empty() { format!("{app} is starting.") } else { format!("{app} is starting: {reason}.") }
}

/// Returns the sentence for an app that is held back.
pub fn blocked(app: &AppName, why: &str) -> String {
    format!("{app} is blocked: {why}.")
}

/// Returns the sentence for an app that failed.
pub fn failed(app: &AppName, why: &str) -> String {
    format!("{app} failed: {why}.")
}

/// Returns the sentence for a commit that another took over from when some of it may have been written.
pub fn superseded_later(by: &str) -> String {
    format!("Superseded by {by} after it had begun to be applied.")
}

/// Returns the sentence for a commit that another took over from before anything of it was written.
pub fn superseded(by: &str) -> String {
    format!("Superseded by {by} before it was applied.")
}

/// Returns the sentence for a commit whose apps are as the cluster has them.
pub fn no_drift() -> String {
    "The cluster is as this commit says.".to_owned()
}

/// Returns the sentence for drift.
pub fn drift(fields: usize, first: &str) -> String {
    match fields {
        1 => format!("1 field differs in the cluster: {first}."),
        _ => format!("{fields} fields differ in the cluster, the first: {first}."),
    }
}
