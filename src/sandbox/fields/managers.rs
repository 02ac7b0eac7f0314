//! The managers of an object's fields, as `metadata.managedFields` lists them.
//!
//! Not here: how ownership changes (`apply.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::sandbox::fields::set::FieldSet;

/// How a manager wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// Identity of a manager on one object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ManagerKey {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    /// Empty for appliers, who keep their entry when they change versions.
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// What a manager owns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Owned {
    pub(crate) set: FieldSet,
    pub(crate) api_version: String,
    pub(crate) time: Option<String>,
}

/// All managers of an object.
pub(crate) type Managers = BTreeMap<ManagerKey, Owned>;

impl ManagerKey {
    /// Returns the key of a manager who writes in a version.
    pub(crate) fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }
}

/// Reads `managedFields`; nothing if an entry is not understood.
pub(crate) fn decode(list: &Value) -> Option<Managers> {
    let mut managers = Managers::new();
    for entry in list.as_array()? {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("");
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
            return None;
        }
        let set = entry.get("fieldsV1").map_or_else(|| Some(FieldSet::default()), FieldSet::decode)?;
        let key = ManagerKey::new(text("manager"), operation, api_version, text("subresource"));
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        managers.insert(key, Owned { set, api_version: api_version.to_owned(), time });
    }
    Some(managers)
}

/// Writes `managedFields`: appliers first, then by time and name.
pub(crate) fn encode(managers: &Managers) -> Value {
    let mut entries: Vec<(&ManagerKey, &Owned)> = managers.iter().collect();
    entries.sort_by(|(a, x), (b, y)| {
        let rank = |key: &ManagerKey| key.operation;
        rank(a)
            .cmp(&rank(b))
            .then_with(|| x.time.cmp(&y.time))
            .then_with(|| a.manager.cmp(&b.manager))
            .then_with(|| x.api_version.cmp(&y.api_version))
            .then_with(|| a.subresource.cmp(&b.subresource))
    });
    entries.into_iter().map(|(key, owned)| encode_entry(key, owned)).collect()
}

fn encode_entry(key: &ManagerKey, owned: &Owned) -> Value {
    let mut entry = Map::new();
    if !key.manager.is_empty() {
        entry.insert("manager".to_owned(), json!(key.manager));
    }
    let operation = match key.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    entry.insert("operation".to_owned(), json!(operation));
    entry.insert("apiVersion".to_owned(), json!(owned.api_version));
    if let Some(time) = &owned.time {
        entry.insert("time".to_owned(), json!(time));
    }
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), owned.set.encode());
    if !key.subresource.is_empty() {
        entry.insert("subresource".to_owned(), json!(key.subresource));
    }
    Value::Object(entry)
}

/// Returns whether two lists of managers differ in nothing but times.
pub(crate) fn same_but_for_times(before: &Value, after: &Value) -> bool {
    let bare = |list: &Value| {
        let mut managers = decode(list)?;
        managers.values_mut().for_each(|owned| owned.time = None);
        Some(managers)
    };
    bare(before) == bare(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{decode, encode};

    #[test]
    fn appliers_come_first_and_keep_one_entry_over_versions() {
        let entry = |operation: &str, manager: &str, version: &str| {
            json!({"manager": manager, "operation": operation, "apiVersion": version, "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}})
        };
        let list = json!([entry("Update", "a", "v1"), entry("Apply", "z", "v1"), entry("Apply", "b", "v1")]);
        let managers = decode(&list).unwrap();
        assert_eq!(
            encode(&managers),
            json!([entry("Apply", "b", "v1"), entry("Apply", "z", "v1"), entry("Update", "a", "v1")])
        );
    }

    #[test]
    fn an_entry_without_operation_is_not_understood() {
        assert_eq!(decode(&json!([{}])), None);
    }
}
