//! Refusals in the words and codes of the API server.
//!
//! Not here: when a request is refused.

use serde_json::{Map, Value, json};

use crate::schema::Kind;

/// A refusal, written as a `Status` object.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

/// One cause of a refusal, bound to a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl Cause {
    /// Returns the cause of a value that is not allowed.
    pub(crate) fn invalid(field: &str, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {}: {why}", shown(value));
        Self { reason: "FieldValueInvalid", message, field: field.to_owned() }
    }

    /// Returns the cause of a value that is missing.
    pub(crate) fn required(field: &str, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.to_owned() }
    }

    /// Returns the cause of a value that must not be there.
    pub(crate) fn forbidden(field: &str, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.to_owned() }
    }

    /// Returns the cause of a value that occurs twice.
    pub(crate) fn duplicate(field: &str, value: &Value) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        Self { reason: "FieldValueDuplicate", message, field: field.to_owned() }
    }

    /// Returns the cause of a value with too many bytes.
    pub(crate) fn too_long(field: &str, limit: usize) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self { reason: "FieldValueTooLong", message, field: field.to_owned() }
    }

    /// Returns the cause of a value that is none of those known.
    pub(crate) fn unsupported(field: &str, value: &Value, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|it| format!("{it:?}")).collect();
        let message = format!("Unsupported value: {}: supported values: {}", shown(value), known.join(", "));
        Self { reason: "FieldValueNotSupported", message, field: field.to_owned() }
    }

    fn encode(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

/// Writes a value as messages show it: keys sorted, no spaces.
fn shown(value: &Value) -> String {
    sorted(value).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let entries = keys.into_iter().filter_map(|key| Some((key.clone(), sorted(map.get(key)?))));
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Returns `deployments.apps`, as messages name a kind.
pub(crate) fn qualified(kind: &Kind) -> String {
    if kind.group.is_empty() { kind.plural.to_owned() } else { format!("{}.{}", kind.plural, kind.group) }
}

fn details(kind: &Kind, sort: &str, name: &str) -> Map<String, Value> {
    let mut map = Map::new();
    if !name.is_empty() {
        map.insert("name".to_owned(), json!(name));
    }
    if !kind.group.is_empty() {
        map.insert("group".to_owned(), json!(kind.group));
    }
    map.insert("kind".to_owned(), json!(sort));
    map
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: String, details: Option<Value>) -> Self {
        Self { code, reason, message, details }
    }

    fn about(code: u16, reason: &'static str, kind: &Kind, name: &str, message: String) -> Self {
        Self::new(code, reason, message, Some(Value::Object(details(kind, kind.plural, name))))
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::about(404, "NotFound", kind, name, format!("{} {name:?} not found", qualified(kind)))
    }

    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource".to_owned();
        Self::new(404, "NotFound", message, Some(json!({})))
    }

    pub(crate) fn no_such_method() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        Self::about(409, "AlreadyExists", kind, name, format!("{} {name:?} already exists", qualified(kind)))
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(kind));
        Self::about(409, "Conflict", kind, name, message)
    }

    /// Returns the refusal of a write that was based on an old version.
    pub(crate) fn stale(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        // The message says a thing once that is a cause twice.
        let mut listed: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !listed.contains(&text) {
                listed.push(text);
            }
        }
        let listed = match listed.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
        let message = format!("{}{group} {name:?} is invalid: {listed}", kind.kind);
        let mut map = details(kind, kind.kind, name);
        map.insert("causes".to_owned(), causes.iter().map(Cause::encode).collect());
        Self::new(422, "Invalid", message, Some(Value::Object(map)))
    }

    /// Returns the refusal of list or delete options.
    pub(crate) fn invalid_options(sort: &str, cause: &Cause) -> Self {
        let message = format!("{sort}.meta.k8s.io \"\" is invalid: {}: {}", cause.field, cause.message);
        let details = json!({"group": "meta.k8s.io", "kind": sort, "causes": [cause.encode()]});
        Self::new(422, "Invalid", message, Some(details))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message.into(), None)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message.into(), None)
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", qualified(kind));
        Self::about(403, "Forbidden", kind, name, message)
    }

    /// Returns the refusal of a new object in a namespace that is being deleted.
    pub(crate) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut failure = Self::forbidden(kind, name, &why);
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        if let Some(Value::Object(details)) = &mut failure.details {
            details.insert("causes".to_owned(), json!([cause.encode()]));
        }
        failure
    }

    /// Returns the refusal of an apply that would take fields from others.
    pub(crate) fn apply_conflict(conflicts: &[crate::sandbox::fields::Conflict]) -> Self {
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|it| {
                let message = format!("conflict with {}", it.owner);
                Cause { reason: "FieldManagerConflict", message, field: it.path.clone() }.encode()
            })
            .collect();
        let message = match conflicts {
            [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.owner, one.path),
            many => {
                let mut owners: Vec<&str> = many.iter().map(|it| it.owner.as_str()).collect();
                owners.sort_unstable();
                owners.dedup();
                let mut lines = Vec::new();
                for owner in owners {
                    lines.push(format!("conflicts with {owner}:"));
                    lines.extend(many.iter().filter(|it| it.owner == owner).map(|it| format!("- {}", it.path)));
                }
                format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
            }
        };
        Self::new(409, "Conflict", message, Some(json!({"causes": causes})))
    }

    pub(crate) fn unsupported_media(known: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            known.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message, None)
    }

    /// Returns the refusal to go on from a version that is no longer kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message.into(), None)
    }

    /// Returns the refusal of a version that does not exist yet.
    pub(crate) fn version_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        Self::new(504, "Timeout", message, Some(json!({"causes": [cause], "retryAfterSeconds": 1})))
    }

    /// Returns the refusal of a form that does not fit what is asked for.
    pub(crate) fn not_acceptable(kind: &Kind, asked: &str, list: &str, negation: &str) -> Self {
        let group = if kind.group.is_empty() { "core" } else { kind.group.split('.').next().unwrap_or("") };
        let message = format!(
            "you requested {asked}, but the requested object is {negation}a list (*{group}.{}{list})",
            kind.kind
        );
        Self::new(406, "NotAcceptable", message, None)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"), None)
    }

    /// Returns the `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".to_owned(), json!("Status"));
        map.insert("apiVersion".to_owned(), json!("v1"));
        map.insert("metadata".to_owned(), json!({}));
        map.insert("status".to_owned(), json!("Failure"));
        map.insert("message".to_owned(), json!(self.message));
        if !self.reason.is_empty() {
            map.insert("reason".to_owned(), json!(self.reason));
        }
        if let Some(details) = &self.details {
            map.insert("details".to_owned(), details.clone());
        }
        map.insert("code".to_owned(), json!(self.code));
        Value::Object(map)
    }
}
