//! Pure. Readable paths such as `spec.containers[name=web].image`, which managed fields and drift are told with.
//!
//! Not here: finding the paths (`plan::fields`).

use serde_json::Value;

use super::Object;

/// Returns the value at a readable path such as `spec.containers[name=web].image`; nothing if it is not there.
pub fn value_at(object: &Object, path: &str) -> Option<Value> {
    let whole = object.to_value();
    at(&whole, &locate(&whole, path)?).cloned()
}

/// Returns the way to what a readable path means in a value: keys, and the numbers of list items. The last key need not be there.
pub fn locate(value: &Value, path: &str) -> Option<Vec<String>> {
    let steps = steps(path);
    let mut found = Vec::with_capacity(steps.len());
    let mut value = Some(value);
    for step in steps {
        let place = match step {
            Step::Key(key) => value?.is_object().then_some(key)?,
            Step::Item(pairs) => {
                let fits = |item: &Value| {
                    pairs.iter().all(|(key, wanted)| match item.get(key) {
                        Some(found) => text(found) == *wanted,
                        // The server names the protocol of every port; a file may leave it to its default.
                        None => key == "protocol" && wanted == "TCP",
                    })
                };
                value?.as_array()?.iter().position(fits)?.to_string()
            }
        };
        value = value.and_then(|value| child(value, &place));
        found.push(place);
    }
    Some(found)
}

/// Returns the value at the end of a way that [`locate`] found.
pub fn at<'a>(value: &'a Value, way: &[String]) -> Option<&'a Value> {
    way.iter().try_fold(value, |value, place| child(value, place))
}

fn child<'a>(value: &'a Value, place: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(place.parse::<usize>().ok()?),
        Value::Object(map) => map.get(place),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

enum Step {
    Key(String),
    Item(Vec<(String, String)>),
}

/// Splits a path at dots outside brackets; a bracket selects a list item by its keys, or a key that holds dots.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut key = String::new();
    let mut inside = false;
    for c in path.chars() {
        match (inside, c) {
            (false, '.') => push_key(&mut steps, &mut key),
            (false, '[') => {
                push_key(&mut steps, &mut key);
                inside = true;
            }
            (true, ']') => {
                let pairs: Option<Vec<_>> = key
                    .split(',')
                    .map(|pair| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())))
                    .collect();
                steps.push(match pairs {
                    Some(pairs) => Step::Item(pairs),
                    None => Step::Key(key.clone()),
                });
                key.clear();
                inside = false;
            }
            (_, c) => key.push(c),
        }
    }
    push_key(&mut steps, &mut key);
    steps
}

fn push_key(steps: &mut Vec<Step>, key: &mut String) {
    if !key.is_empty() {
        steps.push(Step::Key(std::mem::take(key)));
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at, locate, value_at};
    use crate::model::Object;

    #[test]
    fn a_way_leads_through_list_items_and_ends_at_a_key_that_need_not_be_there() {
        let value = json!({"spec": {"containers": [{"name": "db"}, {"name": "web", "env": []}]}});
        let way = locate(&value, "spec.containers[name=web].image").unwrap();
        assert_eq!(way, ["spec", "containers", "1", "image"]);
        assert_eq!(at(&value, &way), None);
        assert_eq!(at(&value, &way[..3]).unwrap()["name"], "web");
        assert_eq!(locate(&value, "spec.containers[name=no].image"), None);
        assert_eq!(locate(&value, "spec.nothing.image"), None);
    }

    #[test]
    fn readable_paths_find_values() {
        let object = Object::from_value(json!({
            "metadata": {"labels": {"a.b/c": "x"}},
            "spec": {"replicas": 3, "ports": [{"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "left", "port": 53}], "containers": [{"name": "web", "image": "w:1", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}}))
        .unwrap();
        assert_eq!(value_at(&object, "spec.replicas"), Some(json!(3)));
        assert_eq!(value_at(&object, "spec.containers[name=web].image"), Some(json!("w:1")));
        assert_eq!(
            value_at(&object, "spec.containers[name=web].ports[containerPort=80,protocol=TCP].containerPort"),
            Some(json!(80))
        );
        assert_eq!(value_at(&object, "metadata.labels[a.b/c]"), Some(json!("x")));
        assert_eq!(value_at(&object, "spec.ports[port=53,protocol=TCP].name"), Some(json!("left")));
        assert_eq!(value_at(&object, "spec.ports[port=53,protocol=UDP].name"), Some(json!("udp")));
        assert_eq!(value_at(&object, "spec.ports[port=54,protocol=UDP].name"), None);
        assert_eq!(value_at(&object, "spec.containers[name=db].image"), None);
    }
}
