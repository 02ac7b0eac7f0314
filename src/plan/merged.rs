//! Pure. What to take out of a live object with which the server does not take our fields: it checks what we send together with what others
//! and its own defaults have put beside that.
//!
//! An explicit null in an apply does not take out what nobody holds, as a default does not. So one JSON patch takes it out and sets our fields
//! beside it, as the server would refuse or default again either alone; then the apply is repeated. Not here: fields of ours that are
//! wrong by themselves, or that cannot be changed (`recreate`).

use serde_json::{Value, json};

use super::editors::same;
use crate::model::Object;

/// Steps of one patch, at most.
const MAX_STEPS: usize = 256;
/// Depth at which the walk stops; deeper objects are refused before they get here.
const MAX_DEPTH: usize = 128;

/// Returns the steps of a JSON patch that makes room for our fields; nothing if one of the fields that the server named is ours.
pub fn make_room(live: &Object, payload: &Value, named: &[String]) -> Option<Value> {
    let live_value = live.to_value();
    let mut steps = same(live.metadata()?)?;
    let before = steps.len();
    for field in named {
        let place = Place::of(&live_value, payload, field)?;
        place.clear(&mut steps)?;
    }
    (steps.len() > before && steps.len() <= MAX_STEPS).then(|| Value::Array(steps))
}

/// What stands around a field, live and as we want it.
struct Place<'a> {
    pointer: String,
    live: &'a Value,
    ours: &'a Value,
    key: String,
}

impl<'a> Place<'a> {
    /// Finds a field as a server names it, such as `spec.template.spec.containers[0].resources.requests`.
    fn of(live: &'a Value, payload: &'a Value, field: &str) -> Option<Self> {
        let steps = field.replace('[', ".").replace(']', "");
        let mut steps: Vec<&str> = steps.split('.').collect();
        let key = steps.pop()?.to_owned();
        let (mut live, mut ours, mut pointer) = (live, payload, String::new());
        for step in steps {
            (live, ours) = match live {
                Value::Array(items) => {
                    let item = items.get(step.parse::<usize>().ok()?)?;
                    // Of a list whose items have names, ours is the one of the same name, wherever it stands.
                    let name = item.get("name")?;
                    (item, ours.as_array()?.iter().find(|one| one.get("name") == Some(name))?)
                }
                live => (live.get(step)?, ours.get(step)?),
            };
            pointer = below(&pointer, step);
        }
        (live.is_object() && ours.is_object()).then_some(Self { pointer, live, ours, key })
    }

    /// Adds the steps that take out what is not ours of the field and set what is ours beside it.
    fn clear(&self, steps: &mut Vec<Value>) -> Option<()> {
        let field = below(&self.pointer, &self.key);
        match (self.live.get(&self.key)?, self.ours.get(&self.key)) {
            (_, None) => steps.push(json!({"op": "remove", "path": field})),
            (Value::Object(live), Some(Value::Object(ours))) => {
                let foreign: Vec<&String> = live.keys().filter(|key| !ours.contains_key(*key)).collect();
                if foreign.is_empty() {
                    return None;
                }
                steps.extend(foreign.into_iter().map(|key| json!({"op": "remove", "path": below(&field, key)})));
            }
            (_, Some(_)) => return None,
        }
        set(&self.pointer, self.live, self.ours, steps, 0);
        Some(())
    }
}

/// Adds steps that set our values; what others have beside them stays, and lists are left to the apply.
fn set(pointer: &str, live: &Value, ours: &Value, steps: &mut Vec<Value>, depth: usize) {
    let (Some(live), Some(ours), true) = (live.as_object(), ours.as_object(), depth < MAX_DEPTH) else { return };
    for (key, wanted) in ours {
        let path = below(pointer, key);
        match (live.get(key), wanted) {
            (Some(there), _) if there == wanted => {}
            (Some(there @ Value::Object(_)), Value::Object(_)) => set(&path, there, wanted, steps, depth + 1),
            (Some(_), Value::Array(_)) => {}
            (_, wanted) => steps.push(json!({"op": "add", "path": path, "value": wanted})),
        }
    }
}

fn below(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(live: Value, ours: Value, field: &str, expected: Option<Value>) {
        let live = json!({"metadata": {"uid": "u", "resourceVersion": "5"}, "spec": live});
        let steps = make_room(&Object::from_value(live).unwrap(), &json!({"spec": ours}), &[field.to_owned()]);
        let steps = steps.map(|steps| Value::Array(steps.as_array().unwrap().iter().skip(2).cloned().collect()));
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_default_beside_our_field_is_taken_out_together_with_what_brought_it() {
        let live = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}});
        let ours = json!({"strategy": {"type": "Recreate"}});
        let steps = json!([
            {"op": "remove", "path": "/spec/strategy/rollingUpdate"},
            {"op": "add", "path": "/spec/strategy/type", "value": "Recreate"},
        ]);
        check(live, ours, "spec.strategy.rollingUpdate", Some(steps));
    }

    #[test]
    fn of_a_map_only_what_somebody_else_put_in_is_taken_out() {
        let live = json!({"containers": [{"name": "side"}, {"name": "web", "resources": {
            "limits": {"memory": "1Gi", "cpu": "2"}, "requests": {"memory": "500Mi", "cpu": "1"}}}]});
        let web = |resources: Value| json!({"containers": [{"name": "web", "resources": resources}]});
        let field = "spec.containers[1].resources.requests";
        let steps = json!([
            {"op": "remove", "path": "/spec/containers/1/resources/requests/memory"},
            {"op": "add", "path": "/spec/containers/1/resources/limits/memory", "value": "200Mi"},
        ]);
        let ours = web(json!({"limits": {"memory": "200Mi"}, "requests": {"cpu": "1"}}));
        check(live.clone(), ours, field, Some(steps));
        let wrong = web(json!({"limits": {"memory": "200Mi"}, "requests": {"cpu": "1", "memory": "500Mi"}}));
        check(live, wrong, field, None);
    }

    #[test]
    fn a_field_of_ours_or_one_that_is_not_there_is_no_matter_of_room() {
        check(json!({"replicas": 1}), json!({"replicas": -1}), "spec.replicas", None);
        check(json!({}), json!({"replicas": -1}), "spec.replicas", None);
        check(json!({"ports": [{"port": 1}]}), json!({"ports": [{"port": 0}]}), "spec.ports[0].port", None);
    }
}
