//! Pure. Managers through which people edit: what they hold beside us of our fields is ours alone.
//!
//! A field that two managers hold lives on when one of them no longer names it. So a field that git once took over from an editor, or that an
//! editor wrote with our value, would stay when git takes it away. What an editor holds and we do not is left to it. Not here: when somebody
//! holds a field of ours with another value (`drift`, `conflict`).

use serde_json::{Map, Value, json};

use super::action::Extras;
use super::fields;
use super::marks::MANAGER;
use crate::model::{Addition, Editors, additions, leftovers};

/// Beginning of the names under which editors go on to hold what they held before an object was taken over.
const ADOPTED: &str = "adopted-";
/// Note of kubectl about what it applied last, by which it would take fields away from us.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Depth at which the walk stops; deeper objects are refused before they get here.
const MAX_DEPTH: usize = 128;

/// Returns the steps of a JSON patch that leave to us alone what editors hold of our fields; nothing if they hold none. Where an object is
/// taken over, the rest of what they hold becomes something that was there before.
pub fn sole_ownership(metadata: &Map<String, Value>, extras: Extras, editors: &Editors) -> Option<Value> {
    let managed = metadata.get("managedFields")?;
    let ours = fields::applied_entry(managed, MANAGER)?.get("fieldsV1")?.as_object()?;
    let mut entries = managed.as_array()?.clone();
    for entry in entries.iter_mut().filter(|entry| is_of_editor(entry, editors)) {
        if let Some(theirs) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) {
            subtract(theirs, ours, 0);
        }
        let manager = entry.get("manager").and_then(Value::as_str).unwrap_or("");
        if extras == Extras::Keep && editors.include(manager) {
            entry["manager"] = json!(format!("{ADOPTED}{manager}"));
        }
    }
    let mut steps = exchange(metadata, &entries)?;
    if metadata.get("annotations").is_some_and(|annotations| annotations.get(LAST_APPLIED).is_some()) {
        let path = format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1"));
        steps.push(json!({"op": "remove", "path": path}));
    }
    Some(Value::Array(steps))
}

/// Returns the steps of a JSON patch that make ours what editors added, so that our next apply takes it away; nothing if they added nothing.
pub fn taken_additions(metadata: &Map<String, Value>, editors: &Editors) -> Option<Value> {
    taken(metadata, &additions(metadata.get("managedFields"), editors), editors)
}

/// Returns the steps of a JSON patch that make ours what only an update under our name holds, so that our next apply takes it away; nothing if
/// there is no such thing.
pub fn taken_leftovers(metadata: &Map<String, Value>, editors: &Editors) -> Option<Value> {
    taken(metadata, &leftovers(metadata.get("managedFields")), editors)
}

fn taken(metadata: &Map<String, Value>, added: &[Addition<'_>], editors: &Editors) -> Option<Value> {
    if added.is_empty() {
        return None;
    }
    let managed = metadata.get("managedFields")?;
    let position =
        managed.as_array()?.iter().position(|entry| Some(entry) == fields::applied_entry(managed, MANAGER))?;
    let mut entries = managed.as_array()?.clone();
    let ours = entries.get_mut(position)?.get_mut("fieldsV1")?.as_object_mut()?;
    for addition in added {
        take(ours, addition.entry.get("fieldsV1")?.as_object()?, &addition.names);
    }
    let ours = ours.clone();
    for entry in entries.iter_mut().filter(|entry| is_of_editor(entry, editors)) {
        if let Some(theirs) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) {
            subtract(theirs, &ours, 0);
        }
    }
    exchange(metadata, &entries).map(Value::Array)
}

/// Returns the steps that put entries in the place of those that are there, and take out those that hold nothing any more; nothing if all stay.
///
/// The patch fails where our entry or one that changes is another one by then. It does not test the version of the whole object, as `same`
/// does: a controller that reports a status meanwhile, which it does several times a second while pods start, stands in nobody's way.
fn exchange(metadata: &Map<String, Value>, entries: &[Value]) -> Option<Vec<Value>> {
    let managed = metadata.get("managedFields")?;
    let ours = fields::applied_entry(managed, MANAGER)?;
    let mut steps = vec![json!({"op": "test", "path": "/metadata/uid", "value": metadata.get("uid")?})];
    let mut changes = Vec::new();
    for (position, (was, is)) in managed.as_array()?.iter().zip(entries).enumerate() {
        let path = format!("/metadata/managedFields/{position}");
        if was != is || was == ours {
            steps.push(json!({"op": "test", "path": path, "value": was}));
        }
        if was != is {
            let is_empty = is.get("fieldsV1").and_then(Value::as_object).is_some_and(Map::is_empty);
            changes.push(match is_empty {
                true => json!({"op": "remove", "path": path}),
                false => json!({"op": "replace", "path": path, "value": is}),
            });
        }
    }
    // From the last one on, as what is removed moves what stands behind it.
    steps.extend(changes.iter().rev().cloned());
    (!changes.is_empty()).then_some(steps)
}

/// Puts what lies at a place of somebody's fields at the same place of ours. A map that we do not hold comes with the mark that it is held.
fn take(ours: &mut Map<String, Value>, theirs: &Map<String, Value>, names: &[&str]) {
    let Some((first, rest)) = names.split_first() else { return };
    let Some(node) = theirs.get(*first) else { return };
    let (Some(below), false) = (node.as_object(), rest.is_empty()) else {
        ours.insert((*first).to_owned(), node.clone());
        return;
    };
    let is_held = ours.contains_key(*first);
    let Some(own) = ours.entry(*first).or_insert_with(|| json!({})).as_object_mut() else { return };
    if !is_held && below.contains_key(".") {
        own.insert(".".to_owned(), json!({}));
    }
    take(own, below, rest);
}

/// Returns the steps that let a patch fail on any other version of an object.
pub(super) fn same(metadata: &Map<String, Value>) -> Option<Vec<Value>> {
    let step = |key: &str| {
        let value = metadata.get(key)?.as_str()?;
        Some(json!({"op": "test", "path": format!("/metadata/{key}"), "value": value}))
    };
    Some(vec![step("uid")?, step("resourceVersion")?])
}

/// An update under our name is a patch that clears the way for an apply (`merged`), or an impostor's.
fn is_of_editor(entry: &Value, editors: &Editors) -> bool {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("");
    let is_ours = text("manager") == MANAGER;
    let is_update = text("operation") == "Update";
    let manager = text("manager");
    let is_editor = editors.include(manager) || manager.starts_with(ADOPTED);
    text("subresource").is_empty() && ((is_ours && is_update) || (!is_ours && is_editor))
}

/// Takes out of somebody's fields those that are ours as well.
fn subtract(theirs: &mut Map<String, Value>, ours: &Map<String, Value>, depth: usize) {
    if depth >= MAX_DEPTH {
        return;
    }
    theirs.retain(|name, node| {
        let (Some(below), Some(own)) = (node.as_object_mut(), ours.get(name).and_then(Value::as_object)) else {
            return true;
        };
        match (below.is_empty(), own.is_empty()) {
            (true, true) => false,
            (false, false) => {
                subtract(below, own, depth + 1);
                !below.is_empty()
            }
            (true, false) | (false, true) => true,
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn metadata(entries: &[Value]) -> Map<String, Value> {
        json!({"uid": "u", "resourceVersion": "5", "managedFields": entries}).as_object().unwrap().clone()
    }

    /// Returns the entries as a patch leaves them; nothing where one is another one than was read.
    fn patched(entries: &[Value], steps: &Value) -> Option<Vec<Value>> {
        let mut entries = entries.to_vec();
        for step in steps.as_array().unwrap() {
            let place = step["path"].as_str().unwrap().strip_prefix("/metadata/managedFields/");
            let Some(place) = place.map(|place| place.parse::<usize>().unwrap()) else { continue };
            match step["op"].as_str().unwrap() {
                "test" if entries.get(place) == Some(&step["value"]) => {}
                "replace" => entries[place] = step["value"].clone(),
                "remove" => drop(entries.remove(place)),
                _ => return None,
            }
        }
        Some(entries)
    }

    fn left(entries: &[Value]) -> Option<Vec<Value>> {
        let steps = sole_ownership(&metadata(entries), Extras::Leave, &Editors::default())?;
        assert_eq!(steps[0], json!({"op": "test", "path": "/metadata/uid", "value": "u"}));
        patched(entries, &steps)
    }

    #[test]
    fn what_an_editor_holds_of_ours_is_ours_alone_and_the_rest_is_left_to_it() {
        let ours = entry("wild", "Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        let theirs = entry("kubectl-edit", "Update", json!({"f:data": {".": {}, "f:b": {}, "f:c": {}}}));
        let expected = entry("kubectl-edit", "Update", json!({"f:data": {".": {}, "f:c": {}}}));
        assert_eq!(left(&[ours.clone(), theirs]), Some(vec![ours.clone(), expected]));
        let alone = entry("kubectl-create", "Update", json!({"f:data": {"f:a": {}}}));
        assert_eq!(left(&[alone, ours.clone()]), Some(vec![ours]));
    }

    #[test]
    fn items_of_lists_are_told_apart_by_their_keys() {
        let item = |image: Value| json!({"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": image}}});
        let ours = entry("wild", "Apply", item(json!({".": {}, "f:image": {}, "f:name": {}})));
        let theirs = entry("kubectl-client-side-apply", "Update", item(json!({".": {}, "f:image": {}, "f:tty": {}})));
        let expected = entry("kubectl-client-side-apply", "Update", item(json!({"f:tty": {}})));
        assert_eq!(left(&[ours.clone(), theirs]), Some(vec![ours, expected]));
    }

    #[test]
    fn an_update_under_our_name_is_no_claim_of_its_own() {
        let ours = entry("wild", "Apply", json!({"f:data": {"f:a": {}}}));
        let update = entry("wild", "Update", json!({"f:data": {"f:a": {}}}));
        assert_eq!(left(&[ours.clone(), update]), Some(vec![ours]));
    }

    #[test]
    fn nothing_is_written_where_no_editor_holds_a_field_of_ours() {
        let ours = entry("wild", "Apply", json!({"f:data": {"f:a": {}}}));
        assert_eq!(left(&[ours.clone(), entry("kubectl-edit", "Update", json!({"f:data": {"f:b": {}}}))]), None);
        assert_eq!(left(&[ours.clone(), entry("keda-operator", "Update", json!({"f:data": {"f:a": {}}}))]), None);
        let mut scaled = entry("kubectl", "Update", json!({"f:data": {"f:a": {}}}));
        scaled["subresource"] = json!("scale");
        assert_eq!(left(&[ours, scaled]), None);
        assert_eq!(left(&[entry("kubectl-edit", "Update", json!({"f:data": {"f:a": {}}}))]), None, "nothing is ours");
    }

    #[test]
    fn what_an_editor_held_before_an_object_was_taken_over_is_no_addition_to_it() {
        let ours = entry("wild", "Apply", json!({"f:data": {"f:a": {}}}));
        let entries =
            [ours.clone(), entry("kubectl-create", "Update", json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}))];
        let steps = sole_ownership(&metadata(&entries), Extras::Keep, &Editors::default()).unwrap();
        let kept = entry("adopted-kubectl-create", "Update", json!({"f:data": {".": {}, "f:b": {}}}));
        let after = patched(&entries, &steps).unwrap();
        assert_eq!(after, [ours.clone(), kept.clone()]);
        assert_eq!(additions(Some(&json!(after)), &Editors::default()), Vec::new());
        // A field that git gets later is ours alone all the same.
        let later = entry("wild", "Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        let left = left(&[later.clone(), kept]).unwrap();
        assert_eq!(left, [later, entry("adopted-kubectl-create", "Update", json!({"f:data": {".": {}}}))]);
    }

    #[test]
    fn what_was_added_becomes_ours_before_it_goes() {
        let item = json!({".": {}, "f:name": {}, "f:value": {}});
        let ours = entry("wild", "Apply", json!({"f:spec": {"f:env": {"k:{\"name\":\"A\"}": item}}}));
        let limits = json!({".": {}, "f:limits": {".": {}, "f:cpu": {}}});
        let theirs = json!({"f:spec": {"f:env": {"k:{\"name\":\"B\"}": item}, "f:resources": limits}});
        let entries = [ours, entry("kubectl-edit", "Update", theirs)];
        let steps = taken_additions(&metadata(&entries), &Editors::default()).unwrap();
        let all = json!({"f:spec": {
            "f:env": {"k:{\"name\":\"A\"}": item, "k:{\"name\":\"B\"}": item}, "f:resources": limits,
        }});
        let after = patched(&entries, &steps).unwrap();
        assert_eq!(after, [entry("wild", "Apply", all)]);
        assert_eq!(taken_additions(&metadata(&after), &Editors::default()), None);
    }

    #[test]
    fn what_only_an_update_under_our_name_holds_becomes_ours_before_it_goes() {
        let ours = entry("wild", "Apply", json!({"f:spec": {"f:replicas": {}}}));
        let theirs = entry("kubectl-edit", "Update", json!({"f:spec": {"f:paused": {}}}));
        let passing = entry("wild", "Update", json!({"f:spec": {"f:replicas": {}, "f:strategy": {"f:type": {}}}}));
        let mut status = entry("wild", "Update", json!({"f:status": {"f:replicas": {}}}));
        status["subresource"] = json!("status");
        let entries = [passing, ours, theirs.clone(), status.clone()];
        let steps = taken_leftovers(&metadata(&entries), &Editors::default()).unwrap();
        let all = entry("wild", "Apply", json!({"f:spec": {"f:replicas": {}, "f:strategy": {"f:type": {}}}}));
        let after = patched(&entries, &steps).unwrap();
        assert_eq!(after, [all, theirs, status]);
        assert_eq!(taken_leftovers(&metadata(&after), &Editors::default()), None);
    }

    #[test]
    fn a_status_that_is_written_meanwhile_stands_in_the_way_of_nothing_and_a_field_does() {
        let ours = entry("wild", "Apply", json!({"f:spec": {"f:replicas": {}}}));
        let theirs = entry("kubectl-edit", "Update", json!({"f:spec": {"f:replicas": {}}}));
        let mut status = entry("controller", "Update", json!({"f:status": {"f:replicas": {}}}));
        status["subresource"] = json!("status");
        let steps =
            sole_ownership(&metadata(&[ours.clone(), theirs.clone()]), Extras::Leave, &Editors::default()).unwrap();
        let with_status = [ours.clone(), theirs.clone(), status.clone()];
        assert_eq!(patched(&with_status, &steps), Some(vec![ours, status]));
        let other = entry("wild", "Apply", json!({"f:spec": {"f:paused": {}}}));
        assert_eq!(patched(&[other, theirs], &steps), None, "what is ours is another thing by now");
    }

    #[test]
    fn the_note_of_kubectl_goes_with_its_claim() {
        let entries = [
            entry("wild", "Apply", json!({"f:data": {"f:a": {}}})),
            entry("kubectl-client-side-apply", "Update", json!({"f:data": {"f:a": {}}})),
        ];
        let mut metadata = metadata(&entries);
        metadata.insert("annotations".into(), json!({LAST_APPLIED: "{}"}));
        let steps = sole_ownership(&metadata, Extras::Leave, &Editors::default()).unwrap();
        let path = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        assert_eq!(steps.as_array().unwrap().last(), Some(&json!({"op": "remove", "path": path})));
    }
}
