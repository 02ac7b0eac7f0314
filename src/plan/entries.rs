//! Pure. Entries of managed fields in versions of a kind that the server no longer knows.
//!
//! A server that cannot convert one entry refuses every apply, whoever made the entry. Not here: telling that refusal from others (`target`),
//! sending the object again (`apply`).

use serde_json::{Map, Value, json};

use super::editors;

/// Returns the steps of a JSON patch that give all entries of an object this version of its kind; nothing if all have it.
pub fn in_one_version(metadata: &Map<String, Value>, api_version: &str) -> Option<Value> {
    let mut entries = metadata.get("managedFields")?.as_array()?.clone();
    let mut is_changed = false;
    for entry in &mut entries {
        if entry.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
            entry["apiVersion"] = json!(api_version);
            is_changed = true;
        }
    }
    let mut steps = editors::same(metadata)?;
    steps.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    is_changed.then_some(Value::Array(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_of_another_version_are_written_anew() {
        let entry = |manager: &str, version: &str| json!({"manager": manager, "apiVersion": version, "fieldsV1": {"f:spec": {}}});
        let steps = |entries: Value| {
            let metadata = json!({"uid": "u", "resourceVersion": "5", "managedFields": entries});
            in_one_version(metadata.as_object().unwrap(), "example.org/v1")
        };
        let old = json!([entry("other", "example.org/v1alpha1"), entry("wild", "example.org/v1")]);
        let new = json!([entry("other", "example.org/v1"), entry("wild", "example.org/v1")]);
        assert_eq!(steps(old).unwrap()[2]["value"], new);
        assert_eq!(steps(new), None);
        assert_eq!(steps(Value::Null), None);
    }
}
