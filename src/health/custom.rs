//! Pure. Health of kinds by what `.wild/config.yaml` says about their status, instead of a rule of ours.
//!
//! Not here: the format of such a rule (`model::settings`), finding mistakes in it (`compile`).

use serde_json::Value;

use super::{Health, HealthState};
use crate::model::{HealthRule, HealthTest, Object};

/// Returns the rule about a kind; the first that names it counts.
pub fn rule_of<'a>(rules: &'a [HealthRule], group: &str, kind: &str) -> Option<&'a HealthRule> {
    rules.iter().find(|rule| rule.kind == kind && (rule.group.is_empty() || rule.group == group))
}

/// Judges an object by a rule. The worst that holds counts; where none holds, what is asked for health has not happened yet.
pub(super) fn judge(rule: &HealthRule, object: &Object) -> Health {
    let HealthRule { group: _, kind: _, healthy, progressing, suspended, degraded } = rule;
    let tests = [
        (HealthState::Degraded, degraded),
        (HealthState::Progressing, progressing),
        (HealthState::Suspended, suspended),
    ];
    for (state, test) in tests {
        if let Some(test) = test.as_ref().filter(|test| holds(test, object)) {
            return Health::new(state, found(test, object));
        }
    }
    match healthy {
        Some(test) if !holds(test, object) => {
            Health::progressing(format!("{}, which is not yet {}", found(test, object), test.equals.join(" or ")))
        }
        Some(_) | None => Health::healthy(),
    }
}

fn holds(test: &HealthTest, object: &Object) -> bool {
    value(object, &test.path).is_some_and(|value| test.equals.contains(&text(value)))
}

fn found(test: &HealthTest, object: &Object) -> String {
    let value = value(object, &test.path).map_or_else(|| "absent".to_owned(), text);
    format!("{} is {value}", test.path.trim_start_matches('/').replace('/', "."))
}

/// Returns a value as people write it; `true` and `"true"` are the same.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns what a JSON pointer leads to; `[type=Ready]` is the item of a list with that key.
fn value<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    let mut steps = path.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut value = object.0.get(&steps.next()?)?;
    for step in steps {
        value = match (value, step.strip_prefix('[').and_then(|step| step.strip_suffix(']')?.split_once('='))) {
            (Value::Array(items), Some((key, wanted))) => {
                items.iter().find(|item| item.get(key).is_some_and(|value| text(value) == wanted))?
            }
            (Value::Array(items), None) => items.get(step.parse::<usize>().ok()?)?,
            (value, _) => value.get(&step)?,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: Value, expected: &str) {
        let test = |path: &str, equals: &[&str]| {
            Some(HealthTest { path: path.to_owned(), equals: equals.iter().map(|&text| text.to_owned()).collect() })
        };
        let rule = HealthRule {
            kind: "Gadget".to_owned(),
            healthy: test("/status/phase", &["Ready", "3"]),
            progressing: None,
            suspended: test("/spec/paused", &["true"]),
            degraded: test("/status/conditions/[type=Broken]/status", &["True"]),
            ..HealthRule::default()
        };
        let object = Object::from_value(status).unwrap();
        let Health { state, reason } = judge(&rule, &object);
        assert_eq!(format!("{state:?} {reason}").trim_end(), expected);
    }

    #[test]
    fn the_value_at_a_path_tells_the_health() {
        check(json!({"status": {"phase": "Ready"}}), "Healthy");
        check(json!({"status": {"phase": 3}}), "Healthy");
        check(json!({"status": {"phase": "New"}}), "Progressing status.phase is New, which is not yet Ready or 3");
        check(json!({"kind": "Gadget"}), "Progressing status.phase is absent, which is not yet Ready or 3");
        check(json!({"spec": {"paused": true}}), "Suspended spec.paused is true");
    }

    #[test]
    fn the_worst_that_holds_counts() {
        let broken = json!([{"type": "Ready", "status": "True"}, {"type": "Broken", "status": "True"}]);
        let said = "Degraded status.conditions.[type=Broken].status is True";
        check(json!({"status": {"phase": "Ready", "conditions": broken}, "spec": {"paused": true}}), said);
    }

    #[test]
    fn a_rule_is_about_a_kind_of_one_group_or_of_any() {
        let rule =
            |group: &str| HealthRule { group: group.to_owned(), kind: "Gadget".to_owned(), ..Default::default() };
        let (any, one) = ([rule("")], [rule("example.org")]);
        assert!(rule_of(&any, "example.com", "Gadget").is_some());
        assert!(rule_of(&one, "example.org", "Gadget").is_some());
        assert!(rule_of(&one, "example.com", "Gadget").is_none());
        assert!(rule_of(&any, "example.com", "Widget").is_none());
    }
}
