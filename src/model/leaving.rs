//! Pure. What is known of the deletion of an object that has begun: since when, and which finalizers hold it.
//!
//! Not here: what follows from it (`plan`).

use serde_json::{Map, Value};

use super::Object;

/// A deletion that has begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// Since when, as the server writes times.
    pub since: String,
    /// What has to go before the object does.
    pub finalizers: Vec<Finalizer>,
}

/// A finalizer of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finalizer {
    /// Its name.
    pub name: String,
    /// The field manager that holds it; empty if none does.
    pub placer: String,
}

impl Leaving {
    /// Returns what an object says of its deletion; nothing if it is not being deleted.
    pub fn of(object: &Object) -> Option<Self> {
        let since = object.at(&["metadata", "deletionTimestamp"]).and_then(Value::as_str)?.to_owned();
        Some(Self { since, finalizers: Finalizer::all(object) })
    }
}

impl Finalizer {
    /// Returns the finalizers of an object, each with the manager that holds it.
    pub fn all(object: &Object) -> Vec<Self> {
        let names = object.at(&["metadata", "finalizers"]).and_then(Value::as_array).into_iter().flatten();
        names
            .filter_map(Value::as_str)
            .map(|name| Self { name: name.to_owned(), placer: placer(object, name) })
            .collect()
    }
}

/// Returns the manager that holds a finalizer.
fn placer(object: &Object, name: &str) -> String {
    let key = format!("v:{}", Value::from(name));
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).into_iter().flatten();
    let holds = |entry: &&Value| {
        let held = entry.pointer("/fieldsV1/f:metadata/f:finalizers").and_then(Value::as_object);
        held.is_some_and(|held: &Map<String, Value>| held.contains_key(&key))
    };
    let manager = entries.filter(holds).find_map(|entry| entry.get("manager").and_then(Value::as_str));
    manager.unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deletion_names_what_holds_it_and_who_placed_that() {
        let held = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"example.org/hold\"": {}}}});
        let metadata = json!({"name": "a", "deletionTimestamp": "2026-11-21T10:00:00Z", "finalizers": ["example.org/hold", "b/c"],
            "managedFields": [{"manager": "wild", "fieldsV1": {"f:data": {}}}, {"manager": "operator", "fieldsV1": held}]});
        let mut object = Object::from_value(json!({"kind": "ConfigMap", "metadata": metadata})).unwrap();
        let found = Leaving::of(&object).unwrap();
        let named: Vec<String> = found.finalizers.iter().map(|it| format!("{} {}", it.name, it.placer)).collect();
        assert_eq!(
            (found.since.as_str(), named.join(", ").as_str()),
            ("2026-11-21T10:00:00Z", "example.org/hold operator, b/c ")
        );
        object.metadata_mut().shift_remove("deletionTimestamp");
        assert_eq!(Leaving::of(&object), None);
    }
}
