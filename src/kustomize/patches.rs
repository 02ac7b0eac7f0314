//! Pure. Finds the objects that patches change, and changes them.
//!
//! Not here: how a patch changes an object (`strategic.rs`, `json_patch.rs`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::item::{Item, with_plain_numbers};
use super::json_patch::{self, Operation};
use super::kustomization::{Allowed, Kustomization, Patch, Target};
use super::layer::Builder;
use super::selector::{Selector, Site};
use super::strategic::{Misfit, merge};
use super::weight::of_object;
use super::{Refusal, refuse};
use crate::model::{Diagnostic, Object};
use crate::yaml::{Dialect, LoadedObject, load, load_patches, objects_of};

/// Applies `patchesStrategicMerge`: each entry is a patch if it parses as objects, else the path of one.
pub(super) fn apply_strategic(
    builder: &mut Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    items: &mut Vec<Item>,
) -> Result<(), Refusal> {
    let file = &kustomization.file;
    for (entry, line) in &kustomization.strategic_patches {
        let patches = match objects(file, entry) {
            Ok(patches) if !patches.is_empty() => patches,
            Ok(_) | Err(_) => {
                let (path, text) = builder.named_text(directory, file, (entry, *line))?;
                objects(&path, text)?
            }
        };
        for patch in &patches {
            apply_to_named(builder, &Site { file, line: *line }, patch, Allowed::default(), items)?;
        }
    }
    Ok(())
}

/// Applies `patches`.
pub(super) fn apply(
    builder: &mut Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    items: &mut Vec<Item>,
) -> Result<(), Refusal> {
    for patch in &kustomization.patches {
        let site = Site { file: &kustomization.file, line: patch.line };
        let (path, text) = content(builder, directory, kustomization, patch)?;
        match operations(&site, &path, &text)? {
            Some(operations) => {
                let Some(target) = &patch.target else {
                    return refuse("K142", site.file, site.line, "a JSON patch wants a target");
                };
                for position in selected(builder, &site, target, items)? {
                    if let Some(item) = items.get_mut(position) {
                        builder.meter.spend(item.remember(), site.file, site.line)?;
                        apply_operations(builder, &site, item, &operations)?;
                    }
                }
            }
            None => apply_objects(builder, &site, patch, &objects(&path, &text)?, items)?,
        }
    }
    Ok(())
}

/// Applies `patchesJson6902`.
pub(super) fn apply_json(
    builder: &mut Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    items: &mut [Item],
) -> Result<(), Refusal> {
    for patch in &kustomization.json_patches {
        let site = Site { file: &kustomization.file, line: patch.line };
        let Some(target) = patch.target.as_ref().filter(|target| !target.name.is_empty()) else {
            return refuse("K142", site.file, site.line, "a JSON patch wants a target with a name");
        };
        let (path, text) = content(builder, directory, kustomization, patch)?;
        let Some(operations) = operations(&site, &path, &text)? else {
            return refuse("K141", site.file, site.line, "a JSON patch is a list of operations");
        };
        for position in selected(builder, &site, target, items)? {
            if let Some(item) = items.get_mut(position) {
                apply_operations(builder, &site, item, &operations)?;
            }
        }
    }
    Ok(())
}

fn content(
    builder: &Builder<'_>,
    directory: &str,
    kustomization: &Kustomization,
    patch: &Patch,
) -> Result<(String, String), Refusal> {
    if patch.path.is_empty() {
        return Ok((kustomization.file.clone(), patch.patch.clone()));
    }
    let (path, text) = builder.named_text(directory, &kustomization.file, (&patch.path, patch.line))?;
    Ok((path, text.to_owned()))
}

/// Returns the operations of a JSON patch, or nothing if the text holds objects.
fn operations(site: &Site<'_>, path: &str, text: &str) -> Result<Option<Vec<Operation>>, Refusal> {
    let documents = load(path, text, Dialect::Kube)?.documents;
    let Some(first) = documents.first() else {
        return refuse("K141", site.file, site.line, "the patch is empty");
    };
    if !json_patch::is_patch(&first.value) {
        return match first.value {
            Value::Object(_) => Ok(None),
            _ => refuse("K141", site.file, site.line, "a patch is an object, or a list of operations with op"),
        };
    }
    if let Some(second) = documents.get(1) {
        return refuse("Y108", path, second.line, "the JSON patch holds a second document");
    }
    match json_patch::read(&first.value) {
        Ok(operations) => Ok(Some(operations)),
        Err(message) => refuse("K141", site.file, site.line, format!("the JSON patch is refused: {message}")),
    }
}

fn objects(path: &str, text: &str) -> Result<Vec<LoadedObject>, Refusal> {
    objects_of(path, load_patches(path, text)?.documents)
}

fn apply_objects(
    builder: &mut Builder<'_>,
    site: &Site<'_>,
    patch: &Patch,
    objects: &[LoadedObject],
    items: &mut Vec<Item>,
) -> Result<(), Refusal> {
    let Some(target) = &patch.target else {
        return objects.iter().try_for_each(|object| apply_to_named(builder, site, object, patch.allowed, items));
    };
    let [object] = objects else {
        return refuse("K141", site.file, site.line, "a strategic patch with a target is one document");
    };
    let positions = selected(builder, site, target, items)?;
    let object = with_plain_metadata(builder, site, &object.object);
    let mut gone = BTreeSet::new();
    for position in positions {
        let Some(item) = items.get_mut(position) else { continue };
        if patch_item(builder, site, item, &object, patch.allowed)? == Fate::Deleted {
            gone.insert(position);
        }
    }
    if !gone.is_empty() {
        let mut position = 0..;
        items.retain(|_| position.next().is_none_or(|position| !gone.contains(&position)));
    }
    Ok(())
}

/// Returns a patch with a target as kustomize takes it: its labels and annotations are texts, also a null, and none of
/// them is the same as no field. So such a patch deletes no label.
fn with_plain_metadata(builder: &mut Builder<'_>, site: &Site<'_>, patch: &Object) -> Object {
    let mut patch = patch.clone();
    for field in ["labels", "annotations"] {
        let texts: Option<Map<String, Value>> = patch.at(&["metadata", field]).and_then(Value::as_object).map(|map| {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            map.iter().map(|(key, value)| (key.clone(), Value::from(text(value)))).collect()
        });
        let had_null = patch
            .at(&["metadata", field])
            .and_then(Value::as_object)
            .is_some_and(|map| map.values().any(Value::is_null));
        if had_null {
            let message = format!("null in {field} of a patch with a target writes the text null");
            let warning = Diagnostic::warning("K147", site.file, site.line, message);
            builder.diagnostics.push(warning.with_hint("remove it with a JSON patch, or with a patch without target"));
        }
        let metadata = patch.metadata_mut();
        match texts.filter(|texts| !texts.is_empty()) {
            Some(texts) => metadata.insert(field.to_owned(), Value::Object(texts)),
            None => metadata.shift_remove(field),
        };
    }
    patch
}

/// Applies a strategic patch to the one object that is or was called as the patch says.
fn apply_to_named(
    builder: &Builder<'_>,
    site: &Site<'_>,
    patch: &LoadedObject,
    allowed: Allowed,
    items: &mut Vec<Item>,
) -> Result<(), Refusal> {
    let wanted = Item::new(patch.object.clone(), &patch.file, patch.line);
    let id = wanted.id();
    let positions: Vec<usize> =
        items.iter().enumerate().filter(|(_, item)| item.is_or_was_called(&id)).map(|(at, _)| at).collect();
    let [position] = positions.as_slice() else {
        let message = if positions.is_empty() {
            format!("the patch changes {id}, and no object is called so")
        } else {
            format!("the patch changes {id}, and {} objects are called so", positions.len())
        };
        return refuse("K142", site.file, site.line, message);
    };
    let Some(item) = items.get_mut(*position) else { return Ok(()) };
    if patch.object.at(&["metadata", "annotations"]).is_some_and(Value::is_null) {
        item.forget();
    }
    if patch_item(builder, site, item, &patch.object, allowed)? == Fate::Deleted {
        items.remove(*position);
    }
    Ok(())
}

/// What a patch leaves of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Deleted,
}

/// Merges a patch into an object, whose kind, name and namespace stay unless the patch may change them.
fn patch_item(
    builder: &Builder<'_>,
    site: &Site<'_>,
    item: &mut Item,
    patch: &Object,
    allowed: Allowed,
) -> Result<Fate, Refusal> {
    let former = if allowed.name || allowed.kind { item.remember() } else { 0 };
    builder.meter.spend(former + of_object(patch), site.file, site.line)?;
    let (kind, name) = (item.object.kind().to_owned(), item.object.name().to_owned());
    let namespace = item.object.at(&["metadata", "namespace"]).cloned();
    let mut patch = patch.clone();
    patch.0.insert("apiVersion".to_owned(), Value::from(item.object.api_version()));
    let merged = match merge(std::mem::take(&mut item.object), &patch) {
        Ok(merged) => merged,
        Err(Misfit::Directive(name)) => {
            return refuse("K144", site.file, site.line, format!("the directive {name} is not supported"));
        }
        Err(Misfit::Shape(path)) => {
            return refuse("K146", site.file, site.line, format!("the patch does not fit {kind}/{name} at {path}"));
        }
        Err(Misfit::Length(path)) => {
            let message = format!(
                "the list {path} of {kind}/{name} is too long to be merged item by item: at most 4,000 items are"
            );
            return refuse("K120", site.file, site.line, message);
        }
    };
    let Some(object) = merged else { return Ok(Fate::Deleted) };
    item.object = with_plain_numbers(object);
    if !allowed.kind {
        item.object.0.insert("kind".to_owned(), Value::from(kind));
    }
    if !allowed.name {
        item.set_name(&name);
    }
    let metadata = item.object.metadata_mut();
    match namespace {
        Some(namespace) => metadata.insert("namespace".to_owned(), namespace),
        None => metadata.shift_remove("namespace"),
    };
    item.make_annotations_texts();
    item.drop_empty_annotations();
    Ok(Fate::Kept)
}

fn apply_operations(
    builder: &Builder<'_>,
    site: &Site<'_>,
    item: &mut Item,
    operations: &[Operation],
) -> Result<(), Refusal> {
    let mut root = Value::Object(std::mem::take(&mut item.object.0));
    let applied = json_patch::apply(&mut root, operations, &builder.meter);
    builder.meter.check(site.file, site.line)?;
    let id = root.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
    let object = Object::from_value(root).unwrap_or_default();
    match applied {
        Ok(()) => {
            item.object = object;
            item.make_annotations_texts();
            item.drop_empty_annotations();
            Ok(())
        }
        Err(message) => refuse("K145", site.file, site.line, format!("patch {id}/{}: {message}", object.name())),
    }
}

/// Returns the positions of the objects that a target selects, with a warning if there are none.
fn selected(
    builder: &mut Builder<'_>,
    site: &Site<'_>,
    target: &Target,
    items: &[Item],
) -> Result<Vec<usize>, Refusal> {
    let selector = Selector::read(site, target)?;
    let positions: Vec<usize> =
        items.iter().enumerate().filter(|(_, item)| selector.selects(item)).map(|(at, _)| at).collect();
    if positions.is_empty() {
        let message = "the target of the patch selects no object";
        builder.diagnostics.push(Diagnostic::warning("K143", site.file, site.line, message));
    }
    Ok(positions)
}
