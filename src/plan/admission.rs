//! Pure. What a cluster stored of an object otherwise than it was sent: admission may change a field that nobody else holds.
//!
//! That is no drift, because every apply ends in it; but who wrote the field wants to know. Not here: fields that others hold (`conflict`),
//! what a value is filled in with that nobody sent (the server).

use serde_json::Value;

use super::audit::Place;
use crate::model::{Object, ObjectId};
use crate::schema::{self, ListKind, Shape, quantity};

/// Depth at which the comparison stops.
const MAX_DEPTH: usize = 128;

/// A field that was stored otherwise than it was sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Altered {
    /// Where it is, such as `spec.containers[name=web].image`.
    pub path: String,
    /// The value that was sent.
    pub sent: Value,
    /// What was made of it; nothing if it was left out.
    pub stored: Option<Value>,
}

/// Returns the fields of an apply that the cluster stored with another value or left out. Two ways to write one value are one, and values of
/// a Secret are nobody's to compare.
pub fn altered(id: &ObjectId, sent: &Value, stored: &Object) -> Vec<Altered> {
    let mut found = Vec::new();
    if id.group.is_empty() && id.kind == "Secret" {
        return found;
    }
    let mut walk = Walk { id, way: Vec::new(), found: &mut found };
    for (key, value) in sent.as_object().into_iter().flatten() {
        walk.way.push(key.clone());
        walk.walk(&Place::default().field(key), value, stored.0.get(key));
        walk.way.pop();
    }
    found
}

struct Walk<'a> {
    id: &'a ObjectId,
    /// Names of the fields on the way, without items of lists.
    way: Vec<String>,
    found: &'a mut Vec<Altered>,
}

impl Walk<'_> {
    fn walk(&mut self, place: &Place, sent: &Value, stored: Option<&Value>) {
        match (sent, stored) {
            (sent, Some(stored)) if sent == stored => {}
            (Value::Object(sent), Some(Value::Object(stored))) if self.way.len() < MAX_DEPTH => {
                for (key, value) in sent {
                    self.way.push(key.clone());
                    self.walk(&place.field(key), value, stored.get(key));
                    self.way.pop();
                }
            }
            (Value::Array(items), Some(Value::Array(others))) => self.list(place, (items, others), sent, stored),
            (sent, None) if is_nothing(sent) => {}
            (sent, Some(stored)) if self.is_one_value(sent, stored) => {}
            (sent, stored) => self.add(place, sent, stored),
        }
    }

    fn list(&mut self, place: &Place, (items, others): (&[Value], &[Value]), sent: &Value, stored: Option<&Value>) {
        let way: Vec<&str> = self.way.iter().map(String::as_str).collect();
        match schema::list_kind(&self.id.group, &self.id.kind, &way) {
            ListKind::Keyed(keys) => {
                for item in items {
                    let of = |value: &Value| keys.iter().map(|key| key_of(value, key)).collect::<Vec<_>>();
                    let wanted = of(item);
                    let label: Vec<String> = keys.iter().zip(&wanted).map(|(key, it)| format!("{key}={it}")).collect();
                    let other = others.iter().find(|other| of(other) == wanted);
                    self.walk(&place.item(&label.join(",")), item, other);
                }
            }
            ListKind::Set if items.iter().all(|item| others.contains(item)) => {}
            ListKind::Atomic if items.len() == others.len() => {
                for (position, (item, other)) in items.iter().zip(others).enumerate() {
                    self.walk(&place.item(&position.to_string()), item, Some(other));
                }
            }
            ListKind::Set | ListKind::Atomic => self.add(place, sent, stored),
        }
    }

    /// Returns whether the server writes the same value in another way.
    fn is_one_value(&self, sent: &Value, stored: &Value) -> bool {
        let way: Vec<&str> = self.way.iter().map(String::as_str).collect();
        let (sent, stored) = (plain(sent), plain(stored));
        match schema::shape_at(&self.id.group, &self.id.kind, &way) {
            Some(Shape::Quantity) => quantity::amount(&sent) == quantity::amount(&stored),
            Some(Shape::Time | Shape::MicroTime) => true,
            _ => sent == stored,
        }
    }

    fn add(&mut self, place: &Place, sent: &Value, stored: Option<&Value>) {
        self.found.push(Altered { path: place.text.clone(), sent: sent.clone(), stored: stored.cloned() });
    }
}

/// Returns whether a server leaves a value out where it stores nothing else.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_so) => !is_so,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_nothing),
    }
}

fn key_of(item: &Value, key: &str) -> String {
    item.get(key).map(plain).or_else(|| schema::default_key(key).map(str::to_owned)).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: (&str, &str), sent: Value, stored: Value, expected: &[&str]) {
        let id = ObjectId::new(kind.0, kind.1, "blog", "a");
        let stored = Object::from_value(stored).unwrap();
        let told = |it: Altered| match it.stored {
            Some(stored) => format!("{} {} {}", it.path, plain(&it.sent), plain(&stored)),
            None => it.path,
        };
        assert_eq!(altered(&id, &sent, &stored).into_iter().map(told).collect::<Vec<_>>(), expected);
    }

    fn pod(container: Value) -> Value {
        json!({"spec": {"template": {"spec": {"containers": [container]}}}})
    }

    #[test]
    fn what_was_stored_otherwise_is_named_with_both_values() {
        let sent = pod(json!({"name": "web", "image": "web:1", "args": ["-a"], "ports": [{"containerPort": 80}]}));
        let mut stored = pod(json!({"name": "web", "image": "mirror/web:1", "args": ["-a", "-b"]}));
        let expected = [
            "spec.template.spec.containers[name=web].image web:1 mirror/web:1",
            "spec.template.spec.containers[name=web].args [\"-a\"] [\"-a\",\"-b\"]",
            "spec.template.spec.containers[name=web].ports",
        ];
        check(("apps", "Deployment"), sent.clone(), stored.clone(), &expected);
        stored["spec"]["template"]["spec"]["containers"] = json!([{"name": "proxy"}]);
        check(("apps", "Deployment"), sent, stored, &["spec.template.spec.containers[name=web]"]);
        let labels = |labels: Value| json!({"metadata": {"labels": labels}});
        check(("", "ConfigMap"), labels(json!({"a.b/c": "x"})), labels(json!({})), &["metadata.labels[a.b/c]"]);
        check(
            ("example.org", "Widget"),
            json!({"spec": {"size": 3, "parts": [{"a": 1}]}}),
            json!({"spec": {"size": 4, "parts": [{"a": 2}]}}),
            &["spec.size 3 4", "spec.parts[0].a 1 2"],
        );
    }

    #[test]
    fn what_was_added_and_what_is_the_same_in_other_words_is_as_it_was_sent() {
        let sent = pod(json!({
            "name": "web", "resources": {"limits": {"cpu": "1000m", "memory": "1.5Gi"}}, "env": [], "tty": false, "workingDir": "",
            "ports": [{"containerPort": 80}], "readinessProbe": {"httpGet": {"port": "80"}}, "securityContext": {},
            "envFrom": [{"configMapRef": {"name": "config"}}],
        }));
        let mut stored = pod(json!({
            "name": "web", "resources": {"limits": {"cpu": "1", "memory": "1536Mi"}, "requests": {"cpu": "1"}}, "image": "web:1",
            "ports": [{"containerPort": 90, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"port": 80, "scheme": "HTTP"}}, "envFrom": [{"configMapRef": {"name": "config"}}],
        }));
        stored["status"] = json!({"replicas": 1});
        stored["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().insert(0, json!({"name": "proxy"}));
        check(("apps", "Deployment"), sent, stored, &[]);
        let secret = |value: &str| json!({"data": {"key": value}});
        check(("", "Secret"), secret("digest"), secret("value"), &[]);
    }
}
