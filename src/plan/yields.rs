//! Pure. Fields that somebody else may hold: an autoscaler by a fixed list, anybody by a rule that a person wrote.
//!
//! Such a field is no drift while another manager holds it, and is left out of what is sent. One that nobody else holds is sent: leaving it
//! out would make the server remove it. Not here: what else is done about drift (`drift`).

use serde_json::Value;

use super::drift;
use super::fields::{self, LostLeaf};
use super::marks::MANAGER;
use super::snapshot::{Live, Snapshot};
use crate::base::Timestamp;
use crate::model::{ConflictPolicy, Editors, IgnoreRule, Object, ObjectId};

/// Annotation by which an author leaves fields of one object to others: JSON pointers, separated by blanks or commas.
const IGNORE: &str = "rewild.dev/ignore";

/// What an autoscaler or an injector is wanted to change: kinds, path, managers, and the subresource it must write through.
const HANDOVER: [(&[&str], &str, &[&str], &str); 6] = [
    (&["Deployment", "StatefulSet", "ReplicaSet"], "/spec/replicas", &["kube-controller-manager"], "scale"),
    (&["Deployment", "StatefulSet", "ReplicaSet"], "/spec/replicas", &["keda-operator"], ""),
    (
        &["Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"],
        "/spec/template/spec/containers/*/resources",
        &["vpa-updater", "vpa-admission-controller"],
        "",
    ),
    (
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        "/webhooks/*/clientConfig/caBundle",
        &INJECTORS,
        "",
    ),
    (&["CustomResourceDefinition"], "/spec/conversion/webhook/clientConfig/caBundle", &INJECTORS, ""),
    (&["APIService"], "/spec/caBundle", &INJECTORS, ""),
];
/// Controllers that put certificate authorities into other objects.
const INJECTORS: [&str; 2] = ["cert-manager-cainjector", "service-ca-operator"];

/// The rules that hold for one object.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Yields {
    rules: Vec<Rule>,
    /// What becomes of fields that others hold and no rule is about.
    conflicts: ConflictPolicy,
    /// Through which managers people edit, to whom nothing is left.
    editors: Editors,
    /// Whether what is sent lacks fields that others hold.
    is_partial: bool,
}

#[derive(Clone, PartialEq, Debug)]
struct Rule {
    path: Vec<String>,
    /// Managers it is about; empty for all.
    managers: Vec<String>,
    /// Subresource that the manager must have written through; empty for any.
    subresource: String,
    until: Option<Timestamp>,
    /// What a person reads after "is".
    why: String,
}

/// A field that is left to somebody else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Yielded {
    /// Keys from the top, as `LostLeaf` has them.
    pub(super) keys: Vec<String>,
    /// The sentence that a person reads.
    pub(super) note: String,
    /// When the rule ends.
    pub(super) until: Option<Timestamp>,
    /// The field itself, if no rule is about it and the settings let who holds it keep it.
    pub(super) contested: Option<LostLeaf>,
}

impl Yields {
    /// Returns the rules for an object: the fixed ones, those of the settings, those of its own annotation.
    pub(super) fn of(object: &Object, snapshot: &Snapshot) -> Self {
        let policy = &snapshot.policy;
        let handover = policy.handover.iter().map(|rule| Rule {
            path: steps(&rule.path),
            managers: vec![rule.manager.clone()],
            subresource: rule.subresource.clone(),
            until: None,
            why: "left to it".to_owned(),
        });
        let mut yields = Self::by(object, &policy.ignore, snapshot.now);
        yields.rules.extend(handover.filter(|rule| !rule.path.is_empty()));
        // A person who asks for the committed values means also these.
        let conflicts =
            if snapshot.ask.correct.is_about(&object.id()) { ConflictPolicy::Force } else { policy.conflicts };
        Self { editors: policy.editors.clone(), ..yields.with_conflicts(conflicts) }
    }

    /// Returns through which managers people edit.
    pub fn editors(&self) -> &Editors {
        &self.editors
    }

    /// Returns the rules for an object without what the settings say about other fields.
    pub(super) fn by(object: &Object, rules: &[IgnoreRule], now: Timestamp) -> Self {
        let id = object.id();
        let fixed = HANDOVER.iter().filter(|(kinds, ..)| kinds.contains(&id.kind.as_str())).map(
            |(_, path, managers, subresource)| Rule {
                path: steps(path),
                managers: managers.iter().map(|manager| (*manager).to_owned()).collect(),
                subresource: (*subresource).to_owned(),
                until: None,
                why: "left to it".to_owned(),
            },
        );
        let written = rules.iter().filter(|rule| is_about(rule, &id)).flat_map(|rule| {
            let until = Timestamp::parse(&rule.until).ok();
            let why = if rule.reason.is_empty() { "ignored".to_owned() } else { format!("ignored: {}", rule.reason) };
            rule.paths.iter().map(move |path| Rule {
                path: steps(path),
                managers: rule.managers.clone(),
                subresource: String::new(),
                until,
                why: why.clone(),
            })
        });
        let own = object.annotation(IGNORE).unwrap_or_default().split([',', ' ', '\n']).filter(|path| !path.is_empty());
        let own = own.map(|path| Rule {
            path: steps(path),
            managers: Vec::new(),
            subresource: String::new(),
            until: None,
            why: "ignored".to_owned(),
        });
        let rules = fixed.chain(written).chain(own).filter(|rule| rule.until.is_none_or(|until| until > now));
        Self { rules: rules.filter(|rule| !rule.path.is_empty()).collect(), ..Self::default() }
    }

    /// Splits lost fields into those that are left to who holds them, and the others.
    pub(super) fn split(&self, lost: Vec<LostLeaf>) -> (Vec<Yielded>, Vec<LostLeaf>) {
        let mut yielded = Vec::new();
        let mut others = Vec::new();
        for leaf in lost {
            let manager = leaf.holder.as_ref().map_or("", |holder| holder.manager.as_str());
            let subresource = leaf.holder.as_ref().map_or("", |holder| holder.subresource.as_str());
            match self.rules.iter().find(|rule| rule.covers(&leaf.keys, manager, Some(subresource))) {
                Some(rule) => yielded.push(rule.yielded(&leaf)),
                None if self.is_contested(&leaf.keys, manager) => yielded.push(Yielded {
                    keys: leaf.keys.clone(),
                    note: String::new(),
                    until: None,
                    contested: Some(leaf),
                }),
                None => others.push(leaf),
            }
        }
        (yielded, others)
    }

    /// Returns these rules under another policy about other fields.
    pub fn with_conflicts(self, conflicts: ConflictPolicy) -> Self {
        Self { conflicts, ..self }
    }

    /// Returns what becomes of fields that others hold and no rule is about.
    pub(super) fn conflicts(&self) -> ConflictPolicy {
        self.conflicts
    }

    /// Returns whether the settings let a manager keep what it holds of ours, though no rule gives it that.
    pub(super) fn is_contested(&self, keys: &[String], manager: &str) -> bool {
        let is_program = !manager.is_empty() && manager != MANAGER && !self.editors.include(manager);
        // Our own marks are nobody's choice, and other rules stand on them.
        self.conflicts != ConflictPolicy::Force && is_program && !drift::is_mark(keys)
    }

    /// Returns these rules with the word that what is sent lacks these fields, if any.
    pub fn without_some(self, leaves_out: &[Vec<String>]) -> Self {
        Self { is_partial: self.is_partial || !leaves_out.is_empty(), ..self }
    }

    /// Returns whether what is sent lacks fields that others hold, so that it never looks as git says.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns whether a rule leaves a field to anybody, whoever holds it.
    pub(super) fn ignores(&self, keys: &[String]) -> bool {
        self.rules.iter().any(|rule| rule.covers(keys, "", None))
    }

    /// Returns the keys of a field that a server named in a conflict, if it is left to the manager that holds it.
    pub(super) fn leaves(&self, payload: &Object, field: &str, manager: &str) -> Option<Vec<String>> {
        let keys = keys_of(&payload.to_value(), field)?;
        // A conflict names no subresource in a field of its own; the managers of the fixed rules write through one only.
        self.rules.iter().any(|rule| rule.covers(&keys, manager, None)).then_some(keys)
    }
}

impl Rule {
    fn covers(&self, keys: &[String], manager: &str, subresource: Option<&str>) -> bool {
        let by = self.managers.is_empty() || self.managers.iter().any(|known| glob(known, manager));
        let through = self.subresource.is_empty() || subresource.is_none_or(|written| written == self.subresource);
        by && through
            && self.path.len() <= keys.len()
            && self.path.iter().zip(keys).all(|(step, key)| step == "*" || step_fits(step, key))
    }

    fn yielded(&self, leaf: &LostLeaf) -> Yielded {
        let holder = match &leaf.holder {
            Some(holder) if holder.time.is_empty() => format!(" is held by {}", holder.manager),
            Some(holder) => format!(" is held by {} since {}", holder.manager, holder.time),
            None => " was removed".to_owned(),
        };
        let note = format!("{}{holder} and is {}", leaf.path, self.why);
        Yielded { keys: leaf.keys.clone(), note, until: self.until, contested: None }
    }
}

/// Returns the fields of a live object that are left to others, if the watch shows that it differs.
pub(super) fn of_live(live: Option<&Live>, payload: &Object, yields: &Yields) -> Vec<Yielded> {
    let Some(managed) = live.and_then(|live| live.managed.as_ref()) else { return Vec::new() };
    yields.split(fields::lost_leaves(payload, managed, MANAGER)).0
}

/// Takes fields out of an object, and the maps that are empty then.
pub fn without(object: &mut Object, fields: &[Vec<String>]) {
    let mut value = object.to_value();
    for keys in fields {
        remove(&mut value, keys);
    }
    if let Some(reduced) = Object::from_value(value) {
        *object = reduced;
    }
}

fn remove(value: &mut Value, keys: &[String]) {
    let Some((first, rest)) = keys.split_first() else { return };
    match value {
        Value::Object(map) => {
            if let Some(below) = map.get_mut(first).filter(|_| !rest.is_empty()) {
                remove(below, rest);
                if !matches!(below, Value::Object(map) if map.is_empty()) {
                    return;
                }
            }
            map.shift_remove(first);
        }
        Value::Array(items) => {
            let Some(position) = items.iter().position(|item| is_item(item, first)) else { return };
            match items.get_mut(position).filter(|_| !rest.is_empty()) {
                Some(item) => remove(item, rest),
                None => _ = items.remove(position),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns whether a list item is the one that a label such as `name=web` or `=value` names.
fn is_item(item: &Value, label: &str) -> bool {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(value) = label.strip_prefix('=') {
        return text(item) == value;
    }
    let pairs: Vec<(&str, &str)> = label.split(',').filter_map(|pair| pair.split_once('=')).collect();
    !pairs.is_empty()
        && pairs.iter().any(|(key, _)| item.get(key).is_some())
        && pairs.iter().all(|(key, wanted)| item.get(key).is_none_or(|found| text(found) == *wanted))
}

/// Splits a JSON pointer; `*` stands for any key or item, `[name=web]` for an item.
fn steps(pointer: &str) -> Vec<String> {
    let Some(rest) = pointer.strip_prefix('/') else { return Vec::new() };
    rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

fn step_fits(step: &str, key: &str) -> bool {
    match step.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
        // A rule may name fewer keys than the server does, such as a port without its protocol.
        Some(wanted) => wanted.split(',').all(|pair| key.split(',').any(|known| known == pair)),
        None => step == key,
    }
}

/// Reads a field as a server writes it in a conflict, such as `.spec.template.spec.containers[name="web"].image`. Keys may hold dots, so
/// the object says where one ends.
pub(super) fn keys_of(object: &Value, field: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let (mut value, mut rest) = (object, field);
    while !rest.is_empty() {
        match value {
            Value::Object(map) => {
                let text = rest.strip_prefix('.')?;
                let fits = |key: &&String| {
                    text.strip_prefix(key.as_str())
                        .is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
                };
                let key = map.keys().filter(fits).max_by_key(|key| key.len())?;
                (value, rest) = (map.get(key)?, text.strip_prefix(key.as_str())?);
                keys.push(key.clone());
            }
            Value::Array(items) => {
                let (label, after) = rest.strip_prefix('[')?.split_once(']')?;
                let label = label.replace('"', "");
                (value, rest) = (items.iter().find(|item| is_item(item, &label))?, after);
                keys.push(label);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        }
    }
    Some(keys)
}

fn is_about(rule: &IgnoreRule, id: &ObjectId) -> bool {
    let IgnoreRule { group, kind, namespace, name, paths: _, managers: _, until: _, reason: _ } = rule;
    let fits = |pattern: &str, text: &str| pattern.is_empty() || glob(pattern, text);
    fits(group, &id.group) && fits(kind, &id.kind) && fits(namespace, &id.namespace) && fits(name, &id.name)
}

/// Returns whether a text fits a pattern in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            let Some(rest) = text.strip_prefix(before) else { return false };
            let mut tails = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            tails.any(|at| rest.get(at..).is_some_and(|tail| glob(after, tail)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::fields::Holder;

    fn web() -> Object {
        Object::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "blog", "annotations": {"a.b/c": "x"}},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [
                {"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]},
            ]}}},
        }))
        .unwrap()
    }

    fn lost(keys: &[&str], manager: &str, subresource: &str) -> LostLeaf {
        let holder = Holder { manager: manager.into(), subresource: subresource.into(), ..Holder::default() };
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        LostLeaf { path: keys.join("."), keys, holder: (!manager.is_empty()).then_some(holder) }
    }

    fn rule(name: &str, path: &str, managers: &[&str], until: &str) -> IgnoreRule {
        IgnoreRule {
            name: name.into(),
            paths: vec![path.into()],
            managers: managers.iter().map(|manager| (*manager).to_owned()).collect(),
            until: until.into(),
            ..IgnoreRule::default()
        }
    }

    fn check(rules: &[IgnoreRule], leaf: LostLeaf, expected: bool) {
        let now = Timestamp::parse("2026-11-21T12:00:00Z").unwrap();
        let (yielded, others) = Yields::by(&web(), rules, now).split(vec![leaf.clone()]);
        assert_eq!((yielded.len(), others.len()), if expected { (1, 0) } else { (0, 1) }, "{leaf:?}");
    }

    #[test]
    fn an_autoscaler_may_scale_and_a_person_may_not() {
        let replicas = ["spec", "replicas"];
        check(&[], lost(&replicas, "kube-controller-manager", "scale"), true);
        check(&[], lost(&replicas, "keda-operator", ""), true);
        check(&[], lost(&replicas, "kubectl", "scale"), false);
        check(&[], lost(&replicas, "kube-controller-manager", ""), false);
        check(&[], lost(&replicas, "", ""), false);
        let limits = ["spec", "template", "spec", "containers", "name=web", "resources", "limits", "cpu"];
        check(&[], lost(&limits, "vpa-updater", ""), true);
        check(&[], lost(&limits, "kubectl-edit", ""), false);
    }

    #[test]
    fn a_rule_of_a_person_is_about_objects_paths_managers_and_a_time() {
        let image = ["spec", "template", "spec", "containers", "name=web", "image"];
        let path = "/spec/template/spec/containers/[name=web]/image";
        check(&[rule("web", path, &[], "")], lost(&image, "kubectl-edit", ""), true);
        check(&[rule("w*", path, &["kubectl*"], "")], lost(&image, "kubectl-edit", ""), true);
        check(&[rule("w*b*", "/spec/template", &[], "")], lost(&image, "", ""), true);
        check(&[rule("other", path, &[], "")], lost(&image, "kubectl-edit", ""), false);
        check(&[rule("web", path, &["k9s"], "")], lost(&image, "kubectl-edit", ""), false);
        check(&[rule("web", path, &[], "2026-11-21T13:00:00Z")], lost(&image, "kubectl-edit", ""), true);
        check(&[rule("web", path, &[], "2026-11-21T11:00:00Z")], lost(&image, "kubectl-edit", ""), false);
        check(&[rule("web", "spec", &[], "")], lost(&image, "kubectl-edit", ""), false);
        check(
            &[rule("web", "/metadata/annotations/a.b~1c", &[], "")],
            lost(&["metadata", "annotations", "a.b/c"], "", ""),
            true,
        );
    }

    #[test]
    fn the_annotation_of_an_author_names_paths() {
        let mut object = web();
        object.set_annotation("rewild.dev/ignore", "/spec/replicas, /spec/paused");
        let (yielded, _) =
            Yields::by(&object, &[], Timestamp(0)).split(vec![lost(&["spec", "replicas"], "kubectl", "scale")]);
        assert_eq!(yielded[0].note, "spec.replicas is held by kubectl and is ignored");
    }

    #[test]
    fn a_field_of_a_conflict_is_found_in_the_object() {
        let value = web().to_value();
        let found = |field: &str| keys_of(&value, field).map(|keys| keys.join("|"));
        assert_eq!(found(".spec.replicas").as_deref(), Some("spec|replicas"));
        assert_eq!(found(".metadata.annotations.a.b/c").as_deref(), Some("metadata|annotations|a.b/c"));
        let image = ".spec.template.spec.containers[name=\"web\"].image";
        assert_eq!(found(image).as_deref(), Some("spec|template|spec|containers|name=web|image"));
        let port =
            ".spec.template.spec.containers[name=\"web\"].ports[containerPort=80,protocol=\"TCP\"].containerPort";
        assert!(found(port).is_some());
        assert_eq!(found(".spec.nothing"), None);
    }

    #[test]
    fn what_is_left_out_takes_empty_maps_with_it() {
        let mut object = web();
        let keys = |path: &str| path.split('|').map(str::to_owned).collect::<Vec<_>>();
        without(
            &mut object,
            &[keys("spec|replicas"), keys("spec|template|spec|containers|name=web|resources|limits|cpu")],
        );
        assert_eq!(
            object.at(&["spec"]),
            Some(&json!({"template": {"spec": {"containers": [
            {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]}}}))
        );
    }
}
