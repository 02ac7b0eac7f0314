//! Pure. What a person is told of metadata that is not for authors: what is left out of their files, and what keeps their objects.
//!
//! Not here: what is refused (`refusal`, `grant`), which fields these are (`schema`).

use super::snapshot::{Desired, DesiredObject, Snapshot};
use super::wanted::Wanted;
use crate::schema;

/// Returns what of an object's file is left out, because only the cluster sets it.
pub(super) fn left_out(desired: &DesiredObject) -> Option<String> {
    let fields = schema::of_server(&desired.object);
    if fields.is_empty() {
        return None;
    }
    let DesiredObject { object, file, line, hash: _ } = desired;
    Some(format!(
        "{file}:{line}: {} holds {}, which only the cluster sets: left out",
        object.id().short(),
        fields.join(", ")
    ))
}

/// Returns what keeps an object in the cluster when it is to go, which a grant allows.
pub(super) fn held(wanted: &Wanted) -> Option<String> {
    let names = schema::finalizers(&wanted.payload);
    let told = || format!("{} goes only when what serves {} lets it go", wanted.id.short(), names.join(", "));
    (!names.is_empty() && wanted.refused.is_none()).then(told)
}

/// Returns what is left out of the files of an app, for people who look at it.
pub fn notices(snapshot: &Snapshot) -> Vec<String> {
    match &snapshot.desired {
        Desired::Objects(objects) => objects.iter().filter_map(left_out).collect(),
        Desired::Unreadable(_) | Desired::Leaking(_) => Vec::new(),
    }
}
