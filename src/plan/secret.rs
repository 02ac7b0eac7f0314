//! Pure. A secret that is needed and absent holds the app back: a Secret object without it would break the app quietly.
//!
//! Not here: making secrets (`package`), their values, which no plan ever holds.

use super::action::{Blocked, WakeOn};
use super::snapshot::Snapshot;

/// Returns the secrets that are not set.
pub(super) fn missing(snapshot: &Snapshot) -> Vec<(Blocked, WakeOn)> {
    snapshot.missing_secrets.iter().map(|path| (blocked(path), WakeOn::Secret(path.clone()))).collect()
}

fn blocked(path: &str) -> Blocked {
    Blocked {
        object: None,
        reason: "SecretMissing".into(),
        message: format!("secret {path} is not set"),
        hint: format!("add {path} to secrets.yaml"),
    }
}
