//! Pure. What `metadata.managedFields` says about our fields: which we still own, which we lost, and to whom.
//!
//! When anyone changes, removes or scales a field of ours, our entry shrinks; when someone applies under our name, its
//! time changes. So drift is read from metadata alone, without a copy of any live object. The shape of lists (keyed, set,
//! atomic) is read from the entries themselves, because the server wrote there what its schema says, custom kinds
//! included. Not here: what a loss means (`drift`), the digest of our entry (`model::OwnEntry`).

use serde_json::{Map, Value};

use crate::model::{Addition, Object};

/// Depth at which the walk stops; deeper objects are refused before they get here.
const MAX_DEPTH: usize = 128;
/// Metadata that no manager owns.
const UNOWNED_METADATA: [&str; 8] =
    ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"];

/// Who holds a field now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Holder {
    /// Field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Subresource it wrote through, such as `scale`; empty for the object itself.
    pub subresource: String,
    /// Time of its entry as the server wrote it; empty if it wrote none.
    pub time: String,
}

/// A leaf of the payload that our entry no longer holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LostLeaf {
    /// Readable path, such as `spec.template.spec.containers[name=web].image`.
    pub path: String,
    /// Keys from the top, for rules that look at single keys.
    pub keys: Vec<String>,
    /// Who holds it now; nobody if it was removed.
    pub holder: Option<Holder>,
}

/// Returns the leaves of a payload that the `Apply` entry of a manager does not hold, in order of path.
pub fn lost_leaves(payload: &Object, managed_fields: &Value, manager: &str) -> Vec<LostLeaf> {
    let own = applied_entry(managed_fields, manager);
    let others: Vec<Entry<'_>> = managed_fields
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| own.is_none_or(|own| !std::ptr::eq(own, *entry)))
        .filter_map(|entry| Some(Entry { holder: holder(entry), node: entry.get("fieldsV1")?.as_object()? }))
        .collect();
    let empty = Map::new();
    let node = own.and_then(|entry| entry.get("fieldsV1")).and_then(Value::as_object).unwrap_or(&empty);
    let mut walk = Walk { lost: Vec::new() };
    let top = Value::Object(owned_part(payload));
    walk.map(&Path::default(), &top, node, &others);
    walk.lost.sort();
    walk.lost
}

/// Returns what somebody added as a leaf that is held by somebody else.
pub(super) fn leaf_of(addition: &Addition<'_>) -> LostLeaf {
    let step = |path: Path, name: &&str| match name.split_once(':') {
        Some(("f", key)) => path.key(key),
        Some(("k", _)) => path.item(&key_label(name)),
        Some(("v", value)) => {
            path.item(&format!("={}", serde_json::from_str(value).map_or_else(|_| value.to_owned(), |it| plain(&it))))
        }
        Some((_, place)) => path.item(place),
        None => path.item(name),
    };
    let Path { text, keys } = addition.names.iter().fold(Path::default(), step);
    LostLeaf { path: text, keys, holder: Some(holder(addition.entry)) }
}

/// Returns the holders of fields, those of the subresource `status` excepted, newest last.
pub fn holders(managed_fields: &Value) -> Vec<Holder> {
    let mut holders: Vec<Holder> = managed_fields.as_array().into_iter().flatten().map(holder).collect();
    holders.retain(|holder| holder.subresource != "status");
    holders.sort_by(|a, b| a.time.cmp(&b.time));
    holders
}

/// Returns the `Apply` entry of a manager; the server keeps at most one.
pub(super) fn applied_entry<'a>(managed_fields: &'a Value, manager: &str) -> Option<&'a Value> {
    managed_fields.as_array()?.iter().find(|entry| {
        text(entry, "manager") == manager
            && text(entry, "operation") == "Apply"
            && text(entry, "subresource").is_empty()
    })
}

fn holder(entry: &Value) -> Holder {
    let part = |key| text(entry, key).to_owned();
    Holder {
        manager: part("manager"),
        operation: part("operation"),
        subresource: part("subresource"),
        time: part("time"),
    }
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or("")
}

/// Returns the part of a payload that a manager can own.
fn owned_part(payload: &Object) -> Map<String, Value> {
    let mut top = payload.0.clone();
    for key in ["apiVersion", "kind", "status"] {
        top.shift_remove(key);
    }
    if let Some(Value::Object(metadata)) = top.get_mut("metadata") {
        for key in UNOWNED_METADATA {
            metadata.shift_remove(key);
        }
    }
    top
}

/// Another manager's fields below the present path.
#[derive(Clone)]
struct Entry<'a> {
    holder: Holder,
    node: &'a Map<String, Value>,
}

/// A path, both for people and as keys.
#[derive(Clone, Default)]
struct Path {
    text: String,
    keys: Vec<String>,
}

impl Path {
    fn key(&self, key: &str) -> Self {
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let text = match (plain, self.text.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.text),
            (false, _) => format!("{}[{key}]", self.text),
        };
        self.with(text, key)
    }

    /// Returns whether marks lie right below; each lost label and annotation is named, however many went at once.
    fn is_mark_place(&self) -> bool {
        match self.keys.as_slice() {
            [top] => top == "metadata",
            [top, section] => top == "metadata" && (section == "labels" || section == "annotations"),
            _ => false,
        }
    }

    fn item(&self, label: &str) -> Self {
        self.with(format!("{}[{label}]", self.text), label)
    }

    fn with(&self, text: String, key: &str) -> Self {
        let mut keys = self.keys.clone();
        keys.push(key.to_owned());
        Self { text, keys }
    }
}

struct Walk {
    lost: Vec<LostLeaf>,
}

impl Walk {
    /// Compares a value of the payload with our node at the same path.
    fn value(&mut self, path: &Path, value: &Value, own: Option<&Map<String, Value>>, others: &[Entry<'_>]) {
        if path.keys.len() >= MAX_DEPTH || value.is_null() {
            return;
        }
        let below: Vec<Entry<'_>> = others.iter().filter(|entry| has_children(entry.node)).cloned().collect();
        match own {
            // Of a map without a schema the server leaves us the map itself and gives what is in it to somebody else.
            Some(node) if node.is_empty() && !is_empty_or_scalar(value) && !below.is_empty() => self.lose(path, &below),
            // An empty node is a leaf: all below it is ours.
            Some(node) if node.is_empty() => {}
            Some(node) => self.children(path, value, node, others),
            None if is_empty_or_scalar(value) || (!path.is_mark_place() && below.is_empty()) => self.lose(path, others),
            None => self.children(path, value, &Map::new(), others),
        }
    }

    fn lose(&mut self, path: &Path, holders: &[Entry<'_>]) {
        let holder = newest(holders).map(|entry| entry.holder.clone());
        self.lost.push(LostLeaf { path: path.text.clone(), keys: path.keys.clone(), holder });
    }

    fn children(&mut self, path: &Path, value: &Value, node: &Map<String, Value>, others: &[Entry<'_>]) {
        match value {
            Value::Object(_) => self.map(path, value, node, others),
            Value::Array(items) => self.list(path, items, node, others),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn map(&mut self, path: &Path, value: &Value, node: &Map<String, Value>, others: &[Entry<'_>]) {
        for (key, item) in value.as_object().into_iter().flatten() {
            self.element(&path.key(key), &format!("f:{key}"), item, (node, others));
        }
    }

    /// Compares the items of a list: by key, by value or by position, whichever the entries use.
    fn list(&mut self, path: &Path, items: &[Value], node: &Map<String, Value>, others: &[Entry<'_>]) {
        let names: Vec<&String> = node.keys().chain(others.iter().flat_map(|entry| entry.node.keys())).collect();
        let uses = |prefix: &str| names.iter().any(|name| name.starts_with(prefix));
        let (keyed, set, positions) = (uses("k:"), uses("v:"), uses("i:"));
        for (position, item) in items.iter().enumerate() {
            if keyed {
                let name = names.iter().find(|name| key_matches(name, item));
                match name {
                    Some(name) => self.element(&path.item(&key_label(name)), name, item, (node, others)),
                    None => self.element(&path.item(&guessed_label(&names, item, position)), "", item, (node, others)),
                }
            } else if set {
                let label = format!("={}", plain(item));
                self.element(&path.item(&label), &format!("v:{item}"), item, (node, others));
            } else if positions {
                self.element(&path.item(&position.to_string()), &format!("i:{position}"), item, (node, others));
            }
        }
    }

    /// Goes down one element, in our node and in everybody else's.
    fn element(&mut self, path: &Path, name: &str, value: &Value, (node, others): (&Map<String, Value>, &[Entry<'_>])) {
        let below: Vec<Entry<'_>> = others
            .iter()
            .filter_map(|entry| Some(Entry { holder: entry.holder.clone(), node: entry.node.get(name)?.as_object()? }))
            .collect();
        self.value(path, value, node.get(name).and_then(Value::as_object), &below);
    }
}

fn is_empty_or_scalar(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns whether a node holds more than the mark that its owner holds the item itself.
fn has_children(node: &Map<String, Value>) -> bool {
    node.keys().any(|name| name != ".")
}

fn newest<'a, 'b>(others: &'a [Entry<'b>]) -> Option<&'a Entry<'b>> {
    others.iter().max_by(|a, b| a.holder.time.cmp(&b.holder.time))
}

/// Returns the keys in a name such as `k:{"name":"web"}`.
fn keys_of(name: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(name.strip_prefix("k:")?).ok()
}

/// Returns whether a list item has the keys of a name; a key that the item leaves to its default matches.
fn key_matches(name: &str, item: &Value) -> bool {
    keys_of(name).is_some_and(|keys| {
        keys.iter().all(|(key, wanted)| item.get(key).is_none_or(|value| value == wanted))
            && keys.keys().any(|key| item.get(key).is_some())
    })
}

fn key_label(name: &str) -> String {
    let keys = keys_of(name).unwrap_or_default();
    keys.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(",")
}

/// Returns a label for an item that no entry holds, with the keys that its siblings have.
fn guessed_label(names: &[&String], item: &Value, position: usize) -> String {
    let keys = names.iter().find_map(|name| keys_of(name)).unwrap_or_default();
    let parts: Vec<String> = keys.keys().filter_map(|key| Some(format!("{key}={}", plain(item.get(key)?)))).collect();
    if parts.is_empty() { position.to_string() } else { parts.join(",") }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload() -> Object {
        Object::from_value(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "blog", "creationTimestamp": null,
                "labels": {"app": "blog"},
                "annotations": {"rewild.dev/hash": "v1.h", "note": "x"},
            },
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "blog"}},
                "template": {"spec": {"containers": [
                    {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                     "ports": [{"containerPort": 80}]},
                ]}},
            },
        }))
        .unwrap()
    }

    /// Our entry as a server writes it after the payload was applied.
    fn ours() -> Value {
        json!({
            "f:metadata": {"f:labels": {"f:app": {}}, "f:annotations": {"f:rewild.dev/hash": {}, "f:note": {}}},
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                    ".": {}, "f:name": {}, "f:image": {},
                    "f:env": {
                        "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}},
                        "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}},
                    },
                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }}}},
            },
        })
    }

    fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1",
            "time": "2026-11-21T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    /// Removes the node at a path of names.
    fn without(mut fields: Value, path: &[&str]) -> Value {
        let (last, parents) = path.split_last().unwrap();
        let mut node = &mut fields;
        for name in parents {
            node = &mut node[*name];
        }
        node.as_object_mut().unwrap().shift_remove(*last).unwrap();
        fields
    }

    #[track_caller]
    fn check(managed: Value, expected: &[&str]) {
        let lost: Vec<String> = lost_leaves(&payload(), &managed, "wild")
            .into_iter()
            .map(|leaf| match leaf.holder {
                Some(h) if h.subresource.is_empty() => format!("{} to {}", leaf.path, h.manager),
                Some(h) => format!("{} to {} by {}", leaf.path, h.manager, h.subresource),
                None => leaf.path,
            })
            .collect();
        assert_eq!(lost, expected);
    }

    const WEB: [&str; 5] = ["f:spec", "f:template", "f:spec", "f:containers", "k:{\"name\":\"web\"}"];

    fn at_web(rest: &[&'static str]) -> Vec<&'static str> {
        WEB.iter().chain(rest).copied().collect()
    }

    #[test]
    fn an_untouched_object_has_lost_nothing() {
        check(json!([entry("wild", "Apply", "", ours())]), &[]);
    }

    #[test]
    fn a_scaled_workload_names_the_subresource() {
        let other = entry("kubectl", "Update", "scale", json!({"f:spec": {"f:replicas": {}}}));
        check(
            json!([entry("wild", "Apply", "", without(ours(), &["f:spec", "f:replicas"])), other]),
            &["spec.replicas to kubectl by scale"],
        );
    }

    #[test]
    fn a_changed_image_is_named_by_its_container() {
        let fields =
            json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}});
        check(
            json!([
                entry("wild", "Apply", "", without(ours(), &at_web(&["f:image"]))),
                entry("kubectl-edit", "Update", "", fields)
            ]),
            &["spec.template.spec.containers[name=web].image to kubectl-edit"],
        );
    }

    #[test]
    fn a_removed_list_item_is_named_once() {
        let fields = without(ours(), &at_web(&["f:env", "k:{\"name\":\"B\"}"]));
        check(json!([entry("wild", "Apply", "", fields)]), &["spec.template.spec.containers[name=web].env[name=B]"]);
    }

    #[test]
    fn a_removed_list_is_named_as_a_whole() {
        let fields = without(ours(), &at_web(&["f:env"]));
        check(json!([entry("wild", "Apply", "", fields)]), &["spec.template.spec.containers[name=web].env"]);
    }

    #[test]
    fn a_key_that_the_payload_leaves_to_its_default_is_found() {
        let fields =
            without(ours(), &at_web(&["f:ports", "k:{\"containerPort\":80,\"protocol\":\"TCP\"}", "f:containerPort"]));
        check(
            json!([entry("wild", "Apply", "", fields)]),
            &["spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP].containerPort"],
        );
    }

    #[test]
    fn a_lost_atomic_map_is_one_leaf() {
        let other = entry("dashboard", "Update", "", json!({"f:spec": {"f:selector": {}}}));
        check(
            json!([entry("wild", "Apply", "", without(ours(), &["f:spec", "f:selector"])), other]),
            &["spec.selector to dashboard"],
        );
    }

    #[test]
    fn keys_with_dots_stand_in_brackets() {
        let fields = without(ours(), &["f:metadata", "f:annotations", "f:rewild.dev/hash"]);
        check(json!([entry("wild", "Apply", "", fields)]), &["metadata.annotations[rewild.dev/hash]"]);
    }

    #[test]
    fn an_update_under_our_name_is_somebody_else() {
        let impostor = entry("wild", "Update", "", json!({"f:spec": {"f:replicas": {}}}));
        check(
            json!([impostor, entry("wild", "Apply", "", without(ours(), &["f:spec", "f:replicas"]))]),
            &["spec.replicas to wild"],
        );
    }

    #[test]
    fn without_an_entry_of_ours_everything_is_lost() {
        let all = ["metadata.annotations.note", "metadata.annotations[rewild.dev/hash]", "metadata.labels.app", "spec"];
        check(json!([]), &all);
        check(json!(null), &all);
    }

    #[test]
    fn a_null_in_the_payload_is_never_lost() {
        let mut object = payload();
        object.0.insert("spec".into(), json!({"replicas": null}));
        let managed =
            json!([entry("wild", "Apply", "", json!({"f:metadata": ours()["f:metadata"], "f:spec": {"f:x": {}}}))]);
        assert_eq!(lost_leaves(&object, &managed, "wild"), []);
    }

    #[test]
    fn the_item_of_a_set_is_named_by_its_value() {
        let object = Object::from_value(json!({"metadata": {"finalizers": ["a/b", "c/d"]}})).unwrap();
        let managed = json!([entry("wild", "Apply", "", json!({"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}}}))]);
        let lost = lost_leaves(&object, &managed, "wild");
        assert_eq!(lost[0].path, "metadata.finalizers[=c/d]");
    }

    #[test]
    fn holders_leave_the_status_out() {
        let managed = json!([
            entry("kube-controller-manager", "Update", "status", json!({})),
            entry("kubectl-edit", "Update", "", json!({})),
        ]);
        let managers: Vec<String> = holders(&managed).into_iter().map(|holder| holder.manager).collect();
        assert_eq!(managers, ["kubectl-edit"]);
    }
}
