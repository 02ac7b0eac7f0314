//! A namespace that was not there when the plan was made, and was when it was written: whoever made it meanwhile owns it.
//!
//! Server-side apply cannot be told to make only what is not there, so the answer is asked, and our marks are taken off again before anything is
//! written into the namespace. Not here: whether the app may enter it (`plan::grant`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::{MANAGER, Object};
use crate::plan::{Action, ground, namespace};
use crate::target::{ApplyRequest, Mode, Ownership, Refusal, RefusalKind, Target, Written};

/// Returns whether an answer is about a namespace that was to be made and that somebody else has made.
///
/// An answer that was lost is asked for again, and then what we made is there too: only what others hold says that they made it.
pub(super) fn is_somebodys(action: &Action, answer: &Written) -> bool {
    let was_to_be_made = namespace::is_one(&action.object) && action.uid.is_none();
    was_to_be_made && !answer.created && !(answer.again && ground::is_made_by_us(&answer.object))
}

/// Takes off what we have just put on a namespace of somebody else; returns why nothing is written into it.
pub(super) async fn hand_back(action: &Action, answer: &Written, target: &dyn Target) -> Refusal {
    // An apply that says nothing gives up all that only we hold.
    let body = json!({
        "apiVersion": action.api_version,
        "kind": action.object.kind,
        "metadata": {"name": action.object.name, "uid": answer.observed.uid},
    });
    let request = ApplyRequest {
        id: action.object.clone(),
        api_version: action.api_version.clone(),
        body,
        ownership: Ownership::Respect,
        mode: Mode::Write,
        hash: String::new(),
        is_partial: false,
    };
    let left = match target.apply(&request).await {
        Ok(_) => String::new(),
        Err(refusal) => format!("; our marks could not be taken off it again: {}", refusal.message),
    };
    let makers = makers(&answer.object);
    let message = format!("apply {}: it was not there, and {makers} made it meanwhile{left}", action.object);
    Refusal::new(RefusalKind::Changed, message)
}

/// Returns the names of the others who hold something of an object.
fn makers(object: &Object) -> String {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).into_iter().flatten();
    let managers = entries.filter_map(|entry| entry.get("manager").and_then(Value::as_str));
    let others: BTreeSet<&str> = managers.filter(|manager| *manager != MANAGER).collect();
    if others.is_empty() { "somebody".to_owned() } else { others.into_iter().collect::<Vec<_>>().join(", ") }
}
