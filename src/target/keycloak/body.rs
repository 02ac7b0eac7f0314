//! Brings declared fields and what a server gave back together for a write.
//!
//! Keycloak takes a realm or a client without fields as "leave them", and every other kind as "take them away"; inside of a field that is a
//! map it always takes away. Not here: whether they differ (`plan::realm`).

use serde_json::{Map, Value};

use crate::model::{CLIENT_SECRET, Purpose, RealmKind, SecretValue};

/// What a representation tells and nobody can write.
const TOLD: [&str; 2] = ["access", "userProfileMetadata"];

/// Returns the body of a change: the declared fields over what is there, with as much of that as the server would take away otherwise.
pub(super) fn merged(kind: RealmKind, live: &Value, declared: &Map<String, Value>) -> Value {
    let none = Map::new();
    let live = live.as_object().unwrap_or(&none);
    let mut body = match kind {
        // Not the rest: a realm or client as it was a moment ago would undo what others change at the same moment.
        RealmKind::Realm | RealmKind::Client => Map::new(),
        _ => {
            live.iter().filter(|(key, _)| !TOLD.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect()
        }
    };
    if kind == RealmKind::Client
        && let Some(name) = live.get("clientId")
    {
        body.insert("clientId".to_owned(), name.clone());
    }
    for (key, value) in declared {
        body.insert(key.clone(), over(live.get(key), value));
    }
    Value::Object(body)
}

/// Returns a declared value with what else is in a live map.
fn over(live: Option<&Value>, declared: &Value) -> Value {
    match (live, declared) {
        (Some(Value::Object(live)), Value::Object(declared)) => {
            let mut both = live.clone();
            for (key, value) in declared {
                both.insert(key.clone(), over(live.get(key), value));
            }
            Value::Object(both)
        }
        (_, declared) => declared.clone(),
    }
}

/// Returns the declared fields with the secret in clear, for a request alone.
pub(super) fn with_secret(spec: &Map<String, Value>, secret: Option<&SecretValue>) -> Map<String, Value> {
    let mut declared = spec.clone();
    if let Some(secret) = secret {
        declared.insert(CLIENT_SECRET.to_owned(), Value::from(secret.expose(Purpose::RequestBody)));
    }
    declared
}

/// Returns whether all declared fields are there exactly as declared.
pub(super) fn covers(live: &Value, declared: &Map<String, Value>) -> bool {
    declared.iter().all(|(key, value)| live.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_declared_is_sent_only_where_it_would_be_taken_away() {
        let live = json!({"id": "1", "clientId": "web", "description": "x", "access": {"view": true},
            "attributes": {"a": "1", "b": "2"}});
        let declared = json!({"enabled": true, "attributes": {"b": "3"}});
        let merged = |kind| merged(kind, &live, declared.as_object().unwrap());
        let attributes = json!({"a": "1", "b": "3"});
        let expected = json!({"clientId": "web", "enabled": true, "attributes": attributes});
        assert_eq!(merged(RealmKind::Client), expected);
        let expected =
            json!({"id": "1", "clientId": "web", "description": "x", "attributes": attributes, "enabled": true});
        assert_eq!(merged(RealmKind::Role), expected);
    }
}
