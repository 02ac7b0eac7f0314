//! Pure. Values at the readable paths that managed fields are told with.
//!
//! Not here: the paths (`fields`).

use serde_json::Value;

use crate::model::Object;

/// Returns the value at a readable path such as `spec.containers[name=web].image`; nothing if it is not there.
pub fn value_at(object: &Object, path: &str) -> Option<Value> {
    let mut value = object.to_value();
    for step in steps(path) {
        value = match step {
            Step::Key(key) => value.get(&key)?.clone(),
            Step::Item(pairs) => {
                let fits = |item: &&Value| {
                    pairs.iter().all(|(key, wanted)| match item.get(key) {
                        Some(found) => text(found) == *wanted,
                        // The server names the protocol of every port; a file may leave it to its default.
                        None => key == "protocol" && wanted == "TCP",
                    })
                };
                value.as_array()?.iter().find(fits)?.clone()
            }
        };
    }
    Some(value)
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

    use super::value_at;
    use crate::model::Object;

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
