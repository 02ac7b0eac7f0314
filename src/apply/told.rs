//! What is told of fields that are taken over: from whom, what they were and since when, and how they would be left; and of fields that the
//! cluster stored otherwise than they were sent.
//!
//! One read for an object whose fields somebody else holds. Of a Secret no value is read. Not here: whether they are taken (`settle.rs`).

use serde_json::Value;

use crate::model::{Object, Secrets, Veil, value_at};
use crate::plan::{Action, Altered, altered, archive, marks};
use crate::target::{FieldConflict, Target};

/// Fields that are named in a sentence.
const MAX_NAMED: usize = 3;
/// Characters of a value in a sentence.
const MAX_VALUE: usize = 40;

/// Returns the sentence about the fields of an object that are taken over. What cannot be read is left out of it.
pub(super) async fn taken(
    action: &Action,
    ours: &Object,
    fields: &[FieldConflict],
    (target, hidden): (&dyn Target, &Secrets),
) -> String {
    let is_secret = action.object.group.is_empty() && action.object.kind == "Secret";
    let (id, api_version) = (&action.object, action.api_version.as_str());
    let read = if is_secret { target.metadata(id, api_version).await } else { target.get(id, api_version).await };
    let theirs = read.ok().flatten();
    let told = |field: &FieldConflict| {
        let path = field.field.trim_start_matches('.');
        let value = |object: &Object| value_at(object, path).filter(|_| !is_secret);
        let (before, after) = (theirs.as_ref().and_then(value), value(ours));
        let shown = Veil::default().pair(path, before.as_ref(), after.as_ref());
        let values = match shown.map(|value| value.map(|value| short(&archive::mask(&value, hidden)))) {
            [Some(theirs), Some(ours)] => format!(" ({theirs} → {ours})"),
            _ => String::new(),
        };
        let since = theirs.as_ref().and_then(|object| since(object, &field.manager));
        let since = since.map(|time| format!(", which took it at {time}")).unwrap_or_default();
        format!("{path} over from {}{values}{since}", field.manager)
    };
    let named: Vec<String> = fields.iter().take(MAX_NAMED).map(told).collect();
    let more = fields.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let left = fields.first().zip(ours.label(marks::APP)).map(|(field, app)| {
        let path = field.field.trim_start_matches('.');
        format!("; to leave it: wild drift ignore {app} {} {path}", action.object.short())
    });
    format!("takes {}{more}{}", named.join(", "), left.unwrap_or_default())
}

/// Returns the sentence about fields that admission changed; empty if all are as they were sent.
pub(super) fn admitted(action: &Action, sent: &Value, stored: &Object, hidden: &Secrets) -> String {
    let found = altered(&action.object, sent, stored);
    let told = |it: &Altered| {
        let shown = Veil::default().pair(&it.path, Some(&it.sent), it.stored.as_ref());
        match shown.map(|value| value.map(|value| short(&archive::mask(&value, hidden)))) {
            [Some(sent), Some(stored)] => format!("{} ({sent} → {stored})", it.path),
            [sent, _] => format!("{} ({} is left out)", it.path, sent.unwrap_or_default()),
        }
    };
    let named: Vec<String> = found.iter().take(MAX_NAMED).map(told).collect();
    match (named.is_empty(), found.len().saturating_sub(named.len())) {
        (true, _) => String::new(),
        (false, 0) => format!("admission changed {}", named.join(", ")),
        (false, more) => format!("admission changed {} and {more} more", named.join(", ")),
    }
}

/// Returns when a manager changed an object last, as the server wrote it.
fn since(object: &Object, manager: &str) -> Option<String> {
    let entries = object.at(&["metadata", "managedFields"])?.as_array()?;
    let of = |entry: &&Value| entry.get("manager").and_then(Value::as_str) == Some(manager);
    let times = entries.iter().filter(of).filter_map(|entry| entry.get("time")?.as_str());
    times.max().map(str::to_owned)
}

fn short(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut shown: String = text.chars().take(MAX_VALUE).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::action;
    use super::*;
    use crate::model::SecretValue;
    use crate::plan::Force;
    use crate::target::scripted::Scripted;

    #[tokio::test]
    async fn fields_are_told_with_both_values_the_time_and_how_to_leave_them() {
        let action = action(Force::No);
        let ours = json!({"metadata": {"name": "a", "labels": {"rewild.dev/app": "blog"}}, "spec": {"replicas": 2}});
        let entry = |time: &str| json!({"manager": "tuner", "time": time, "fieldsV1": {}});
        let live = json!({"spec": {"replicas": 5}, "metadata": {"managedFields": [entry("2026-11-21T11:00:00Z"), entry("2026-11-21T10:00:00Z")]}});
        let objects = [(action.object.clone(), Ok(Object::from_value(live).unwrap()))].into();
        let target = Scripted { objects, ..Scripted::default() };
        let field = |path: &str| FieldConflict { field: path.into(), manager: "tuner".into() };
        let ours = Object::from_value(ours).unwrap();
        let end = "; to leave it: wild drift ignore blog Deployment/a spec.replicas";
        assert_eq!(
            taken(&action, &ours, &[field(".spec.replicas")], (&target, &Secrets::new())).await,
            format!("takes spec.replicas over from tuner (5 → 2), which took it at 2026-11-21T11:00:00Z{end}")
        );
        let many = [".spec.replicas", ".a", ".b", ".c", ".d"].map(field);
        let told = taken(&action, &ours, &many, (&Scripted::default(), &Secrets::new())).await;
        assert_eq!(
            told,
            format!("takes spec.replicas over from tuner, a over from tuner, b over from tuner and 2 more{end}")
        );
    }

    #[test]
    fn what_admission_changed_is_told_and_no_value_of_a_secret() {
        let mut hidden = Secrets::new();
        hidden.insert("apps.blog.token", SecretValue::new("a-value-of-a-secret".to_owned()));
        let stored = |value: Value| Object::from_value(value).unwrap();
        let sent = json!({"spec": {"a": 1, "b": "x", "c": "a-value-of-a-secret", "d": 1, "e": 1}});
        let told = |stored: &Object| admitted(&action(Force::No), &sent, stored, &hidden);
        assert_eq!(told(&stored(sent.clone())), "");
        assert_eq!(
            told(&stored(json!({"spec": {"a": 2, "c": "other", "d": 1, "e": 1}}))),
            "admission changed spec.a (1 → 2), spec.b (x is left out), spec.c ((hidden) → other)"
        );
        let all = told(&stored(json!({"spec": {}})));
        assert!(all.starts_with("admission changed spec.a (1 is left out), ") && all.ends_with(" and 2 more"), "{all}");
    }

    #[tokio::test]
    async fn a_value_of_a_secret_is_hidden_before_it_is_cut() {
        let action = action(Force::No);
        let value = "a-value-that-is-much-longer-than-what-is-shown-of-one";
        let ours = json!({"metadata": {"name": "a"}, "spec": {"note": "plain"}});
        let live = json!({"spec": {"note": format!("it is {value}")}});
        let objects = [(action.object.clone(), Ok(Object::from_value(live).unwrap()))].into();
        let (target, ours) = (Scripted { objects, ..Scripted::default() }, Object::from_value(ours).unwrap());
        let field = FieldConflict { field: ".spec.note".into(), manager: "tuner".into() };
        let mut hidden = Secrets::new();
        hidden.insert("apps.blog.token", SecretValue::new(value.to_owned()));
        let told = taken(&action, &ours, &[field], (&target, &hidden)).await;
        assert_eq!(told, "takes spec.note over from tuner (it is (hidden) → plain)");
    }
}
