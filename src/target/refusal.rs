//! Refusals of an API server, told apart by what can be done about them.
//!
//! Not here: the decision what to do (`plan`).

use std::time::Duration;

use serde_json::Value;

use super::told::{self, Guard};

use crate::model::ErrorClass;

/// Wait before a request is repeated that made the server fail.
const SERVER_PAUSE: Duration = Duration::from_millis(500);
/// Wait before a request is repeated that the server was too busy for, where it does not say how long.
const BUSY_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait that a server may ask for inside a call.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A call that was not answered as wished.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What was attempted on what and what the server said; never a secret value.
    pub message: String,
    /// How long the server asks to wait, if it does.
    pub retry_after: Option<Duration>,
    /// The service behind a webhook that did not answer, if that is why.
    pub unanswered: Option<Guard>,
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
    /// The server knows an API group and cannot serve it now, such as one that another server stands behind.
    Unserved,
    /// The server finds the content wrong (400, 413, 422); the field paths it named.
    Invalid(Vec<String>),
    /// A field cannot be changed once the object exists (422); the field paths it named.
    Immutable(Vec<String>),
    /// An entry of the managed fields is of a version of the kind that the server no longer knows.
    OldEntries,
    /// The object, its namespace or its path is not there.
    NotFound,
    /// The server does not know the kind.
    UnknownKind,
    /// The version from which was asked is too old (410).
    Expired,
    /// The server is busy (429, 503).
    Busy,
    /// The server failed (5xx), or answers others while it did not carry this one out.
    Server,
    /// No answer came in time; a write may have happened.
    Timeout,
    /// No connection could be made.
    Unreachable,
    /// What we were given to connect with is not usable.
    Settings,
    /// What we were given to connect with leads to another target than the one that is known.
    Elsewhere,
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
        Self { kind, message: message.into(), retry_after: None, unanswered: None }
    }

    /// Returns whose turn it is (seed S1).
    pub fn class(&self) -> ErrorClass {
        match self.kind {
            RefusalKind::Conflict(_)
            | RefusalKind::Forbidden
            | RefusalKind::Invalid(_)
            | RefusalKind::Immutable(_)
            | RefusalKind::UnknownKind
            | RefusalKind::Settings => ErrorClass::User,
            RefusalKind::UidMismatch
            | RefusalKind::Changed
            | RefusalKind::NamespaceTerminating
            | RefusalKind::Unauthorized
            | RefusalKind::Unserved
            | RefusalKind::OldEntries
            | RefusalKind::NotFound
            | RefusalKind::Expired
            | RefusalKind::Busy
            | RefusalKind::Server
            | RefusalKind::Timeout
            | RefusalKind::Unreachable
            | RefusalKind::Elsewhere => ErrorClass::System,
        }
    }

    /// Returns whether the target as a whole did not answer.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self.kind,
            RefusalKind::Timeout | RefusalKind::Unreachable | RefusalKind::Unauthorized | RefusalKind::Elsewhere
        )
    }

    /// Returns whether the server was too busy for a request or did not answer it. One that fails is not busy, nor one that knows us no more.
    pub(super) fn is_overload(&self) -> bool {
        matches!(self.kind, RefusalKind::Busy | RefusalKind::Timeout | RefusalKind::Unreachable)
    }

    /// Returns how long to wait before a request that was sent so often before is sent once more; nothing if that would not help.
    ///
    /// A server that asks for a longer wait than a call may take ends the pass instead, and the app is tried again later.
    pub(super) fn pause(&self, tries: usize) -> Option<Duration> {
        match (&self.kind, tries) {
            (RefusalKind::Timeout, 0) => Some(Duration::ZERO),
            (RefusalKind::Server, 0) => Some(SERVER_PAUSE),
            (RefusalKind::Busy, 0 | 1) => {
                Some(self.retry_after.unwrap_or(BUSY_PAUSE)).filter(|wait| *wait <= MAX_PAUSE)
            }
            _ => None,
        }
    }

    /// Reads a `Status` answer.
    ///
    /// `attempt` says what was attempted on what. Of a Secret only such words are kept as hold no value, because a server quotes values.
    pub(super) fn from_status(attempt: &str, code: u16, status: &Value, quoting: Quoting) -> Self {
        let text = |key: &str| status.get(key).and_then(Value::as_str).unwrap_or("");
        let (reason, message) = (text("reason"), text("message"));
        let causes: Vec<&Value> = status
            .get("details")
            .and_then(|details| details.get("causes"))
            .and_then(Value::as_array)
            .map(|causes| causes.iter().collect())
            .unwrap_or_default();
        let kind = kind_of(code, message, &causes);
        let is_forbidden = kind == RefusalKind::Forbidden;
        let rule = if is_forbidden { told::missing_rule(message) } else { None };
        let webhook = told::webhook(message);
        let shown = match (quoting, rule, told::quota(message), &webhook) {
            (Quoting::Allowed, None, _, _) => message.to_owned(),
            (Quoting::Allowed, Some(rule), _, _) => format!("{message}; {rule}"),
            (Quoting::Forbidden, Some(rule), _, _) => rule,
            (Quoting::Forbidden, None, Some(quota), _) if is_forbidden => quota.to_owned(),
            (Quoting::Forbidden, None, _, Some((name, _))) => format!("failed calling webhook {name}"),
            (Quoting::Forbidden, None, _, None) => format!("{reason} {}", told::faults(message, &causes).join(", ")),
        };
        let refusal = Self::new(kind, format!("{attempt}: the server answered {code}: {}", shown.trim()));
        Self { unanswered: webhook.and_then(|(_, service)| service), ..refusal }
    }
}

fn kind_of(code: u16, message: &str, causes: &[&Value]) -> RefusalKind {
    let cause_reason =
        |wanted: &str| causes.iter().any(|cause| cause.get("reason").and_then(Value::as_str) == Some(wanted));
    let cause_field =
        |wanted: &str| causes.iter().any(|cause| cause.get("field").and_then(Value::as_str) == Some(wanted));
    match code {
        401 => RefusalKind::Unauthorized,
        403 if cause_reason("NamespaceTerminating") => RefusalKind::NamespaceTerminating,
        // Nobody's right lacks: its objects go with it, and then the kind is unknown.
        403 | 405 if message.contains("while custom resource definition is terminating") => RefusalKind::Server,
        403 => RefusalKind::Forbidden,
        404 => RefusalKind::NotFound,
        409 if cause_reason("FieldManagerConflict") => RefusalKind::Conflict(conflicts(causes)),
        409 if message.contains("uid mismatch") || message.contains("Precondition failed: UID") => {
            RefusalKind::UidMismatch
        }
        409 => RefusalKind::Changed,
        410 => RefusalKind::Expired,
        422 if cause_field("metadata.uid") => RefusalKind::UidMismatch,
        422 if causes.iter().any(|cause| is_immutable(cause)) => RefusalKind::Immutable(fields(causes)),
        400 | 413 | 422 => RefusalKind::Invalid(fields(causes)),
        429 | 503 => RefusalKind::Busy,
        // A field that the server does not know, a value of another type, two items with one key: not the server's fault.
        500 if message.contains("failed to create typed patch object") => RefusalKind::Invalid(fields(causes)),
        500 if is_of_old_entries(message) => RefusalKind::OldEntries,
        // The store takes no more in one request; the same object is as large the next time.
        500 if message.contains("request is too large") => RefusalKind::Invalid(fields(causes)),
        _ if code >= 500 => RefusalKind::Server,
        _ => RefusalKind::Invalid(fields(causes)),
    }
}

/// Returns whether a server says that it cannot read what an object's managers hold of it, which stays so however often it is asked.
fn is_of_old_entries(message: &str) -> bool {
    const WORDS: [&str; 2] = ["request to convert CR to an invalid group/version", "field not declared in schema"];
    WORDS.iter().any(|words| message.contains(words))
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

/// Returns whether a cause says that the field cannot be changed, in the words that API servers use for it.
fn is_immutable(cause: &Value) -> bool {
    const WORDS: [&str; 7] = [
        "field is immutable",
        "may not change once set",
        "may not be changed in an update",
        "cannot change roleRef",
        "updates to statefulset spec for fields other than",
        "pod updates may not change fields other than",
        "is immutable after creation",
    ];
    let reason = cause.get("reason").and_then(Value::as_str).unwrap_or("");
    let message = cause.get("message").and_then(Value::as_str).unwrap_or("");
    matches!(reason, "FieldValueInvalid" | "FieldValueForbidden") && WORDS.iter().any(|words| message.contains(words))
}

fn fields(causes: &[&Value]) -> Vec<String> {
    causes.iter().filter_map(|cause| cause.get("field").and_then(Value::as_str)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Duration, FieldConflict, Quoting, Refusal, RefusalKind};

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
    fn a_field_that_cannot_be_changed_is_told_from_one_that_is_wrong() {
        let status = |reason: &str, field: &str, message: &str| json!({"reason": "Invalid", "details": {"causes": [{"reason": reason, "field": field, "message": message}]}});
        let fixed = |field: &str| RefusalKind::Immutable(vec![field.into()]);
        let template = status("FieldValueInvalid", "spec.template", "Invalid value: {}: field is immutable");
        check(422, &template, &fixed("spec.template"));
        let set = "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden";
        check(422, &status("FieldValueForbidden", "spec", set), &fixed("spec"));
        let pod = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`";
        check(422, &status("FieldValueForbidden", "spec", pod), &fixed("spec"));
        let wrong = status("FieldValueInvalid", "spec.replicas", "must be greater than or equal to 0");
        check(422, &wrong, &RefusalKind::Invalid(vec!["spec.replicas".into()]));
        check(409, &template, &RefusalKind::Changed);
    }

    #[test]
    fn content_that_the_server_fails_to_read_is_the_authors_fault() {
        let message = "failed to create typed patch object (blog/web; apps/v1, Kind=Deployment): .spec.replcias: field not declared in schema";
        check(500, &json!({"message": message}), &RefusalKind::Invalid(Vec::new()));
        check(500, &json!({"message": "etcdserver: request timed out"}), &RefusalKind::Server);
        // It answered: what took too long may be a webhook of this kind alone.
        check(504, &json!({"reason": "Timeout", "message": "the request did not complete"}), &RefusalKind::Server);
        let old = "request to convert CR to an invalid group/version: example.org/v1alpha1";
        for message in [old, ".spec.old: field not declared in schema"] {
            check(500, &json!({"message": message}), &RefusalKind::OldEntries);
        }
        // What is stored is of a version that is gone: nobody can read it.
        let stored = "request to convert CR from an invalid group/version: example.org/v1alpha1";
        check(500, &json!({"message": stored}), &RefusalKind::Server);
    }

    #[test]
    fn a_version_that_is_too_old_is_not_wrong() {
        check(410, &json!({"reason": "Expired", "message": "too old resource version"}), &RefusalKind::Expired);
    }

    #[test]
    fn only_what_can_help_is_sent_again() {
        let pauses = |kind: RefusalKind, retry_after: Option<u64>| {
            let refusal = Refusal { retry_after: retry_after.map(Duration::from_secs), ..Refusal::new(kind, "x") };
            [0, 1, 2].map(|tries| refusal.pause(tries).map(|wait| wait.as_millis()))
        };
        assert_eq!(pauses(RefusalKind::Busy, None), [Some(1_000), Some(1_000), None]);
        assert_eq!(pauses(RefusalKind::Busy, Some(2)), [Some(2_000), Some(2_000), None]);
        assert_eq!(pauses(RefusalKind::Busy, Some(3_600)), [None; 3]);
        assert_eq!(pauses(RefusalKind::Server, None), [Some(500), None, None]);
        assert_eq!(pauses(RefusalKind::Timeout, None), [Some(0), None, None]);
        for kind in [RefusalKind::Forbidden, RefusalKind::Unreachable, RefusalKind::Changed, RefusalKind::OldEntries] {
            assert_eq!(pauses(kind, None), [None; 3]);
        }
    }

    #[test]
    fn a_terminating_namespace_is_not_forbidden() {
        let status = json!({"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}});
        check(403, &status, &RefusalKind::NamespaceTerminating);
        check(403, &json!({"reason": "Forbidden"}), &RefusalKind::Forbidden);
    }

    #[test]
    fn a_kind_that_is_going_is_not_forbidden() {
        let message = "spokes.spokes.example.org \"one\" is forbidden: create not allowed while custom resource definition is terminating";
        check(403, &json!({"reason": "Forbidden", "message": message}), &RefusalKind::Server);
    }

    #[test]
    fn what_helps_and_holds_no_value_is_told_of_a_secret_as_well() {
        let told = |code: u16, message: &str| {
            Refusal::from_status("apply Secret/x", code, &json!({"message": message}), Quoting::Forbidden)
        };
        let may_not = "secrets \"x\" is forbidden: User \"u\" cannot patch resource \"secrets\" in API group \"\" in the namespace \"blog\"";
        assert!(told(403, may_not).message.ends_with("verbs: [\"patch\"]}"));
        let full = "secrets \"x\" is forbidden: exceeded quota: small, used: count/secrets=1, limited: count/secrets=1";
        assert!(told(403, full).message.ends_with("limited: count/secrets=1"));
        let dead = "failed calling webhook \"g.example.org\": Post \"https://g.system.svc:443/x\": \"hunter2\"";
        let refusal = told(500, dead);
        assert!(refusal.message.ends_with("failed calling webhook g.example.org"), "{refusal}");
        assert_eq!((refusal.unanswered.unwrap().name.as_str(), refusal.kind), ("g", RefusalKind::Server));
    }

    #[test]
    fn an_object_that_the_store_does_not_take_is_the_authors_fault() {
        check(500, &json!({"message": "etcdserver: request is too large"}), &RefusalKind::Invalid(Vec::new()));
        check(
            413,
            &json!({"message": "Request entity too large: limit is 3145728"}),
            &RefusalKind::Invalid(Vec::new()),
        );
    }

    #[test]
    fn what_a_server_says_about_a_secret_is_not_quoted() {
        let status = json!({"reason": "Invalid", "message": "data: Invalid value: \"hunter2\"", "details": {"causes": [{"field": "data"}]}});
        let refusal = Refusal::from_status("apply Secret/x", 422, &status, Quoting::Forbidden);
        assert!(!refusal.message.contains("hunter2") && refusal.message.contains("data"), "{refusal}");
    }

    #[test]
    fn of_a_secret_key_and_reason_are_told_and_never_the_value() {
        let check = |code: u16, status: serde_json::Value, expected: &str| {
            let refusal = Refusal::from_status("apply Secret/x", code, &status, Quoting::Forbidden);
            assert_eq!(refusal.message, format!("apply Secret/x: the server answered {code}: {expected}"));
        };
        let typed = |rest: &str| json!({"message": format!("failed to create typed patch object (blog/x; /v1, Kind=Secret): {rest}")});
        check(500, typed(".stringdata: field not declared in schema"), ".stringdata: field not declared in schema");
        check(
            500,
            typed(
                "errors:\n  .stringdata: field not declared in schema\n  .data.port: expected string, got &value.valueUnstructured{Value:5432123}",
            ),
            ".stringdata: field not declared in schema, .data.port: expected string",
        );
        check(500, typed(".data: expected map, got &{hunter2}"), ".data: expected map");
        let base64 = "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 4";
        check(
            400,
            json!({"reason": "BadRequest", "message": base64}),
            "BadRequest illegal base64 data at input byte 4",
        );
        let go = "json: cannot unmarshal number into Go struct field Secret.stringData of type string";
        check(
            400,
            json!({"reason": "BadRequest", "message": go}),
            "BadRequest cannot unmarshal number into Go struct field Secret.stringData of type string",
        );
        let cause = |field: &str, message: &str| {
            json!({"reason": "Invalid", "message": message, "details": {"causes": [
            {"reason": "FieldValueInvalid", "field": field, "message": message}]}})
        };
        let key =
            "Invalid value: \"hunter2 x\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        check(
            422,
            cause("data[my key]", key),
            "Invalid data[my key]: a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        );
        check(
            422,
            cause("data", "Forbidden: field is immutable when `immutable` is set"),
            "Invalid data: field is immutable when `immutable` is set",
        );
        let lie = "Invalid value: \"hunter2: field is immutable\": hunter2";
        check(422, cause("data[.dockerconfigjson]", lie), "Invalid data[.dockerconfigjson]: field is immutable");
        check(
            422,
            cause(
                "data[.dockerconfigjson]",
                "Invalid value: \"<secret contents redacted>\": invalid character 'h' looking for beginning of value",
            ),
            "Invalid data[.dockerconfigjson]: no JSON",
        );
        check(422, cause("data[tls.crt]", "Required value"), "Invalid data[tls.crt]: Required value");
        check(422, cause("data[hunter2\nb]", "hunter2"), "Invalid a field");
    }
}
