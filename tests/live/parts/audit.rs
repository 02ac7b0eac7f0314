//! The API server's own list of the requests that it was sent.
//!
//! A request is written down before it is answered, by whoever it came from; the users are told apart by their certificates. The log
//! tells no content type. Of the patches that `wild` sends all but its release of an object are applies, and the field manager tells
//! which is which.
//!
//! Not here: what the requests should be (`story.rs`).

use std::path::Path;

use serde_json::Value;

use crate::scripts_api::shape::shape;

/// Name of the user whose requests are listed.
pub(super) const USER: &str = "wild";
/// Name of the file that says what is written down.
pub(super) const POLICY_FILE: &str = "audit-policy.yaml";
/// Name of the list.
pub(super) const LOG_FILE: &str = "audit.log";
/// Every request of that user once, when it comes, without its body.
pub(super) const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete, Panic]
rules:
- level: Metadata
  users: [wild]
- level: None
";

/// Returns the shapes of all requests of the user, oldest first.
pub(super) fn shapes(log: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(log).map_err(|error| format!("read {}: {error}", log.display()))?;
    text.lines().map(line).collect()
}

fn line(line: &str) -> Result<String, String> {
    let event: Value = serde_json::from_str(line).map_err(|error| format!("read the audit log: {error}: {line}"))?;
    let (verb, target) = (event["verb"].as_str().unwrap_or(""), event["requestURI"].as_str().unwrap_or(""));
    let method = match verb {
        "get" | "list" | "watch" => "GET",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        other => return Err(format!("read the audit log: the verb {other:?} is not known")),
    };
    let sort = if target.contains("fieldManager=wild-released") { "merge-patch" } else { "apply-patch" };
    Ok(shape(method, target, sort))
}
