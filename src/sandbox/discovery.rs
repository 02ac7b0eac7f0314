//! What the cluster says about itself: its version, groups and kinds.
//!
//! Not here: objects.

use serde_json::{Map, Value, json};

use crate::sandbox::call::served_kinds;
use crate::schema::{Kind, Scope};

/// Version that the sandbox calls itself: that of the API server its behaviour was recorded on.
const GIT_VERSION: &str = "v1.36.3";

/// Returns `/version`.
pub(crate) fn version() -> Value {
    json!({"major": "1", "minor": "36", "gitVersion": GIT_VERSION, "gitCommit": "sandbox", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64"})
}

/// Returns `/api`.
pub(crate) fn core_versions(address: &str) -> Value {
    json!({"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]})
}

/// Returns `/apis`.
pub(crate) fn groups() -> Value {
    let mut names: Vec<&str> = Vec::new();
    for kind in served_kinds().filter(|kind| !kind.group.is_empty()) {
        if !names.contains(&kind.group) {
            names.push(kind.group);
        }
    }
    let groups: Vec<Value> = names.into_iter().map(|name| Value::Object(group_entry(name))).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns `/apis/<group>`.
pub(crate) fn group(name: &str) -> Value {
    let mut map = Map::new();
    map.insert("kind".to_owned(), json!("APIGroup"));
    map.insert("apiVersion".to_owned(), json!("v1"));
    map.extend(group_entry(name));
    Value::Object(map)
}

fn group_entry(name: &str) -> Map<String, Value> {
    let mut versions: Vec<Value> = Vec::new();
    for kind in served_kinds().filter(|kind| kind.group == name) {
        let entry = json!({"groupVersion": kind.api_version(), "version": kind.version});
        if !versions.contains(&entry) {
            versions.push(entry);
        }
    }
    let preferred = versions.first().cloned().unwrap_or(Value::Null);
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(name));
    map.insert("versions".to_owned(), Value::Array(versions));
    map.insert("preferredVersion".to_owned(), preferred);
    map
}

/// Returns the kinds of a group version.
pub(crate) fn kinds(group: &str, version: &str) -> Value {
    let served = served_kinds().filter(|kind| kind.group == group && kind.version == version);
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let kinds: Vec<Value> = served.flat_map(entries).collect();
    let mut list =
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": kinds});
    // The core list does not say of which version it is itself.
    if let (true, Value::Object(map)) = (group.is_empty(), &mut list) {
        map.shift_remove("apiVersion");
    }
    list
}

fn entries(kind: &'static Kind) -> Vec<Value> {
    let namespaced = kind.scope == Scope::Namespaced;
    let mut verbs = vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    if kind.plural == "namespaces" {
        verbs.retain(|verb| *verb != "deletecollection");
    }
    let mut own = json!({"name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": namespaced,
        "kind": kind.kind, "verbs": verbs});
    if let Some(map) = own.as_object_mut() {
        if !kind.short_names.is_empty() {
            map.insert("shortNames".to_owned(), json!(kind.short_names));
        }
        if !kind.categories.is_empty() {
            map.insert("categories".to_owned(), json!(kind.categories));
        }
    }
    let mut entries = vec![own];
    for sub in &kind.subresources {
        entries.extend(match *sub {
            "status" => Some(subresource(kind, "status", &["get", "patch", "update"])),
            "finalize" => Some(subresource(kind, "finalize", &["update"])),
            "scale" => {
                let mut entry = subresource(kind, "scale", &["get", "patch", "update"]);
                if let Some(map) = entry.as_object_mut() {
                    map.insert("group".to_owned(), json!("autoscaling"));
                    map.insert("version".to_owned(), json!("v1"));
                    map.insert("kind".to_owned(), json!("Scale"));
                }
                Some(entry)
            }
            _ => None,
        });
    }
    entries
}

fn subresource(kind: &Kind, name: &str, verbs: &[&str]) -> Value {
    json!({"name": format!("{}/{name}", kind.plural), "singularName": "", "namespaced": kind.scope == Scope::Namespaced,
        "kind": kind.kind, "verbs": verbs})
}
