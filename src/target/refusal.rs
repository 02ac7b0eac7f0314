//! Refusals of an API server, told apart by what can be done about them.
//!
//! Not here: the decision what to do (`plan`).

use serde_json::Value;

use crate::model::ErrorClass;

/// A call that was not answered as wished.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What was attempted on what and what the server said; never a secret value.
    pub message: String,
}

/// Kinds of refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// Fields are owned by others (409 with causes).
    Conflict(Vec<FieldConflict>),
    /// The object is another incarnation, or not there although a uid was given.
    UidMismatch,
    /// The object changed meanwhile.
    Changed,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// We may not (403).
    Forbidden,
    /// Our credentials are not known (401).
    Unauthorized,
    /// The server finds the content wrong (400, 413, 422); the field paths it named.
    Invalid(Vec<String>),
    /// The object, its namespace or its path is not there.
    NotFound,
    /// The server does not know the kind.
    UnknownKind,
    /// The server is busy (429, 503).
    Busy,
    /// The server failed (5xx).
    Server,
    /// No answer came in time; a write may have happened.
    Timeout,
    /// No connection could be made.
    Unreachable,
    /// What we were given to connect with is not usable.
    Settings,
}

/// Whether an answer may be quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoting {
    /// It may.
    Allowed,
    /// It is about a Secret, and servers quote values.
    Forbidden,
}

/// A field that another manager owns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldConflict {
    /// Path as the server wrote it, such as `.spec.replicas`.
    pub field: String,
    /// The manager.
    pub manager: String,
}

impl Refusal {
    /// Returns a refusal with a message.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns whose turn it is (seed S1).
    pub fn class(&self) -> ErrorClass {
        match self.kind {
            RefusalKind::Conflict(_)
            | RefusalKind::Forbidden
            | RefusalKind::Invalid(_)
            | RefusalKind::UnknownKind
            | RefusalKind::Settings => ErrorClass::User,
            RefusalKind::UidMismatch
            | RefusalKind::Changed
            | RefusalKind::NamespaceTerminating
            | RefusalKind::Unauthorized
            | RefusalKind::NotFound
            | RefusalKind::Busy
            | RefusalKind::Server
            | RefusalKind::Timeout
            | RefusalKind::Unreachable => ErrorClass::System,
        }
    }

    /// Returns whether the target as a whole did not answer.
    pub fn is_unreachable(&self) -> bool {
        matches!(self.kind, RefusalKind::Timeout | RefusalKind::Unreachable | RefusalKind::Unauthorized)
    }

    /// Reads a `Status` answer.
    ///
    /// `attempt` says what was attempted on what. Of a Secret only status, reason and field paths are kept, because a server quotes values.
    pub(super) fn from_status(attempt: &str, code: u16, status: &Value, quoting: Quoting) -> Self {
        let text = |key: &str| status.get(key).and_then(Value::as_str).unwrap_or("");
        let (reason, message) = (text("reason"), text("message"));
        let causes: Vec<&Value> = status
            .get("details")
            .and_then(|details| details.get("causes"))
            .and_then(Value::as_array)
            .map(|causes| causes.iter().collect())
            .unwrap_or_default();
        let kind = kind_of(code, reason, message, &causes);
        let shown = if quoting == Quoting::Forbidden {
            format!("{reason} {}", fields(&causes).join(", "))
        } else {
            message.to_owned()
        };
        Self::new(kind, format!("{attempt}: the server answered {code}: {}", shown.trim()))
    }
}

fn kind_of(code: u16, reason: &str, message: &str, causes: &[&Value]) -> RefusalKind {
    let cause_reason =
        |wanted: &str| causes.iter().any(|cause| cause.get("reason").and_then(Value::as_str) == Some(wanted));
    let cause_field =
        |wanted: &str| causes.iter().any(|cause| cause.get("field").and_then(Value::as_str) == Some(wanted));
    match code {
        401 => RefusalKind::Unauthorized,
        403 if cause_reason("NamespaceTerminating") => RefusalKind::NamespaceTerminating,
        403 => RefusalKind::Forbidden,
        404 => RefusalKind::NotFound,
        409 if cause_reason("FieldManagerConflict") => RefusalKind::Conflict(conflicts(causes)),
        409 if message.contains("uid mismatch") || message.contains("Precondition failed: UID") => {
            RefusalKind::UidMismatch
        }
        409 => RefusalKind::Changed,
        422 if cause_field("metadata.uid") => RefusalKind::UidMismatch,
        400 | 413 | 422 => RefusalKind::Invalid(fields(causes)),
        429 | 503 => RefusalKind::Busy,
        504 if reason == "Timeout" => RefusalKind::Timeout,
        _ if code >= 500 => RefusalKind::Server,
        _ => RefusalKind::Invalid(fields(causes)),
    }
}

fn conflicts(causes: &[&Value]) -> Vec<FieldConflict> {
    causes
        .iter()
        .map(|cause| {
            let text = |key: &str| cause.get(key).and_then(Value::as_str).unwrap_or("");
            // The message reads: conflict with "kubectl-edit" using apps/v1.
            let manager = text("message").split('"').nth(1).unwrap_or("").to_owned();
            FieldConflict { field: text("field").to_owned(), manager }
        })
        .collect()
}

fn fields(causes: &[&Value]) -> Vec<String> {
    causes.iter().filter_map(|cause| cause.get("field").and_then(Value::as_str)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FieldConflict, Quoting, Refusal, RefusalKind};

    fn check(code: u16, status: &serde_json::Value, expected: &RefusalKind) {
        assert_eq!(&Refusal::from_status("apply x", code, status, Quoting::Allowed).kind, expected);
    }

    #[test]
    fn a_field_conflict_names_field_and_manager() {
        let status = json!({"reason": "Conflict", "message": "Apply failed with 1 conflict", "details": {"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl-edit\" using apps/v1", "field": ".spec.replicas"}]}});
        let conflict = FieldConflict { field: ".spec.replicas".into(), manager: "kubectl-edit".into() };
        check(409, &status, &RefusalKind::Conflict(vec![conflict]));
    }

    #[test]
    fn a_uid_that_does_not_fit_is_no_immutable_field() {
        check(
            409,
            &json!({"message": "uid mismatch: the provided object specified uid x, and no existing object was found"}),
            &RefusalKind::UidMismatch,
        );
        check(
            422,
            &json!({"details": {"causes": [{"field": "metadata.uid", "message": "field is immutable"}]}}),
            &RefusalKind::UidMismatch,
        );
    }

    #[test]
    fn a_terminating_namespace_is_not_forbidden() {
        let status = json!({"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}});
        check(403, &status, &RefusalKind::NamespaceTerminating);
        check(403, &json!({"reason": "Forbidden"}), &RefusalKind::Forbidden);
    }

    #[test]
    fn what_a_server_says_about_a_secret_is_not_quoted() {
        let status = json!({"reason": "Invalid", "message": "data: Invalid value: \"hunter2\"", "details": {"causes": [{"field": "data"}]}});
        let refusal = Refusal::from_status("apply Secret/x", 422, &status, Quoting::Forbidden);
        assert!(!refusal.message.contains("hunter2") && refusal.message.contains("data"), "{refusal}");
    }
}
