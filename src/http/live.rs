//! The value that the cluster has where an update is in conflict.
//!
//! Not here: the three sides of a conflict (`merge`).

use serde_json::Value;

use crate::merge::{self, Conflict, ConflictKind};
use crate::model::{AppState, ObjectId, Veil};
use crate::pipeline::Instance;
use crate::yaml::{self, Dialect};

/// Returns the live value of the field that a conflict is about; nothing if it is about no field, or the cluster has none or
/// cannot say.
pub(super) async fn value(instance: &Instance, state: &AppState, conflict: &Conflict, veil: &Veil) -> Option<String> {
    if conflict.kind != ConflictKind::Value || conflict.is_redacted() {
        return None;
    }
    let target = instance.targets().get(&state.cluster).cloned()?;
    let named = |id: &&ObjectId| names(id).contains(&conflict.object) && id.kind != "Secret";
    let id = state.objects.iter().map(|known| &known.object).find(named)?;
    let head = instance.repository.head(&instance.branch).await.ok()??;
    let files = instance.tree.read_tree(&head, &[conflict.path.as_str()]).await.ok()?;
    let version = api_version(files.text(conflict.path.as_str())?, id)?;
    let object = target.get(id, &version).await.ok()??.to_value();
    at(&object, &conflict.key).map(|value| merge::shown(&veil.value(&conflict.key, value)))
}

/// Returns how a merge may name an object: with its namespace if its file says it.
fn names(id: &ObjectId) -> [String; 2] {
    let kind = if id.group.is_empty() { id.kind.clone() } else { format!("{}.{}", id.kind, id.group) };
    [format!("{kind}/{}", id.name), format!("{kind} {}/{}", id.namespace, id.name)]
}

/// Returns the API version that a file has of an object.
fn api_version(text: &str, id: &ObjectId) -> Option<String> {
    let documents = yaml::load("", text, Dialect::Kube).ok()?.documents;
    let is_it = |value: &Value| {
        value.get("kind").and_then(Value::as_str) == Some(&id.kind)
            && value.pointer("/metadata/name").and_then(Value::as_str) == Some(&id.name)
    };
    let value = documents.into_iter().map(|document| document.value).find(is_it)?;
    value.get("apiVersion").and_then(Value::as_str).map(str::to_owned)
}

/// Returns the value at a path such as `spec.containers[name=web].image`.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = inner.split_once(']')?;
            value = match (value, step.split_once('=')) {
                (Value::Array(items), Some(_)) => items.iter().find(|item| fits(item, step))?,
                (value, _) => value.get(step)?,
            };
            rest = after;
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            let (step, after) = plain.split_at_checked(end)?;
            value = value.get(step)?;
            rest = after;
        }
    }
    Some(value)
}

/// Returns whether an item of a list has the keys that a step names.
fn fits(item: &Value, step: &str) -> bool {
    step.split(',').all(|pair| {
        let Some((key, wanted)) = pair.split_once('=') else { return false };
        let found = key.split('.').try_fold(item, |value, key| value.get(key));
        found.is_some_and(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned) == wanted)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_found_by_the_path_of_its_conflict() {
        let object = json!({
            "metadata": {"annotations": {"example.org/a": "b"}},
            "spec": {"containers": [{"name": "side"}, {"name": "web", "resources": {"limits": {"cpu": "2"}}}]},
        });
        let check = |path: &str, expected: Option<Value>| assert_eq!(at(&object, path), expected.as_ref(), "{path}");
        check("spec.containers[name=web].resources.limits.cpu", Some(json!("2")));
        check("metadata.annotations[example.org/a]", Some(json!("b")));
        check("spec.containers[name=web].image", None);
        check("spec.containers[0].name", None);
        check("spec.containers[name", None);
    }

    #[test]
    fn an_object_is_known_by_both_of_its_names_and_its_version_by_its_file() {
        let id = ObjectId::new("apps", "Deployment", "ghost", "web");
        assert_eq!(names(&id), ["Deployment.apps/web", "Deployment.apps ghost/web"]);
        let text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
        assert_eq!(api_version(text, &id).as_deref(), Some("apps/v1"));
        assert_eq!(api_version("a: [", &id), None);
    }
}
