//! How ownership changes: by server-side apply, and by any other write.
//!
//! Not here: defaults, storage and versions of objects (`write.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::sandbox::fields::managers::{ManagerKey, Managers, Operation, Owned, decode, encode};
use crate::sandbox::fields::set::{Element, FieldSet, path_text};
use crate::sandbox::fields::typed::{Comparison, check, compare, merge, owned, remove, with_named_fields};
use crate::schema::Shape;

/// Most managers by update that an object lists; older ones are folded into one.
const MAX_UPDATE_MANAGERS: usize = 10;
/// Manager that gets the fields of an object written before anybody was tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// Manager of folded entries.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// One field that somebody else owns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    /// Who owns it, in words.
    pub(crate) owner: String,
    /// The field.
    pub(crate) path: String,
}

/// Why an apply was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// Others own fields, and force was not asked for.
    Owned(Vec<Conflict>),
    /// The applied object does not fit its type.
    Mistyped(Vec<String>),
}

/// What happens to fields that others own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflicts {
    /// The apply is refused.
    Refuse,
    /// They are taken.
    Force,
}

/// The write that ownership is computed for.
#[derive(Clone, Copy)]
pub(crate) struct Applied<'a> {
    pub(crate) manager: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) shape: &'a Shape,
    /// Paths that this endpoint never writes.
    pub(crate) reset: &'a FieldSet,
    /// An object of this kind without any content.
    pub(crate) blank: &'a Value,
    pub(crate) now: &'a str,
}

/// Applies a configuration to the live object and returns the new one, with `managedFields`.
///
/// An empty live object stands for one that is to be created. The result may hold nulls and lack defaults.
pub(crate) fn apply(live: &Value, config: &Value, write: Applied<'_>, conflicts: Conflicts) -> Result<Value, Refused> {
    let wrong = check(config, write.shape);
    if !wrong.is_empty() {
        return Err(Refused::Mistyped(wrong));
    }
    let mut managers = managers_of(live).unwrap_or_default();
    drop_other_versions(&mut managers, write.api_version);
    let live = untracked(live);
    if managers.is_empty() && is_stored(&live) {
        let first = Applied { manager: BEFORE_FIRST_APPLY, subresource: "", ..write };
        update_managers(write.blank, &live, &mut managers, first);
    }
    let key = ManagerKey::new(write.manager, Operation::Apply, write.api_version, write.subresource);
    let last = managers.get(&key).cloned();
    let set = owned(config, write.shape).without(write.reset);
    let time = last.as_ref().and_then(|last| last.time.clone());
    managers.insert(key.clone(), Owned { set, api_version: write.api_version.to_owned(), time });
    let merged = merge(&live, config, write.shape);
    let new = match &last {
        Some(last) => prune(&merged, &managers, &last.set, write.shape),
        None => merged,
    };
    take_over(&live, &new, &mut managers, (&key, write), conflicts)?;
    strip(&mut managers, &key);
    let mut result = if new == live {
        live
    } else {
        if let Some(own) = managers.get_mut(&key) {
            own.time = Some(write.now.to_owned());
        }
        new
    };
    track(&mut result, &managers);
    Ok(result)
}

/// Writes the ownership of an update, patch or creation into the new object.
pub(crate) fn track_update(live: Option<&Value>, new: &mut Value, write: Applied<'_>) {
    let managers = if write.subresource.is_empty() { sent_managers(new) } else { None };
    let from_live = || live.and_then(managers_of).unwrap_or_default();
    let mut managers = match managers {
        Some(Sent::Reset) => Managers::new(),
        Some(Sent::List(list)) => list,
        None => from_live(),
    };
    drop_other_versions(&mut managers, write.api_version);
    let bare = untracked(new);
    if !(managers.is_empty() && live.is_some()) {
        let before = live.map_or_else(|| write.blank.clone(), untracked);
        update_managers(&before, &bare, &mut managers, write);
        cap(&mut managers);
    }
    *new = bare;
    track(new, &managers);
}

enum Sent {
    Reset,
    List(Managers),
}

/// Returns the managers that a request brings along: it may rewrite them, and clears them with one empty entry.
fn sent_managers(object: &Value) -> Option<Sent> {
    let list = object.get("metadata")?.get("managedFields")?;
    let items = list.as_array()?;
    if items.is_empty() || matches!(items.as_slice(), [Value::Object(map)] if map.is_empty()) {
        return Some(Sent::Reset);
    }
    decode(list).filter(|managers| !managers.is_empty()).map(Sent::List)
}

fn managers_of(object: &Value) -> Option<Managers> {
    decode(object.get("metadata")?.get("managedFields")?)
}

fn is_stored(object: &Value) -> bool {
    object.get("metadata").and_then(|metadata| metadata.get("uid")).is_some_and(|uid| uid != "")
}

fn untracked(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    object
}

fn track(object: &mut Value, managers: &Managers) {
    let Value::Object(map) = object else { return };
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let (Some(metadata), false) = (metadata.as_object_mut(), managers.is_empty()) {
        metadata.insert("managedFields".to_owned(), encode(managers));
    }
}

fn drop_other_versions(managers: &mut Managers, api_version: &str) {
    managers.retain(|_, owned| owned.api_version == api_version);
}

/// Removes what only the applying manager owned and no longer applies.
fn prune(merged: &Value, managers: &Managers, last: &FieldSet, shape: &Shape) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let named = |set: &FieldSet| with_named_fields(set, shape);
    let last = named(last);
    let pruned = remove(merged, &last, shape);
    let managed = managers.values().fold(FieldSet::default(), |all, owned| all.union(&owned.set));
    let all = named(&owned(merged, shape));
    let left = named(&owned(&pruned, shape));
    let pruned = remove(merged, &all.difference(&left.union(&named(&managed))), shape);
    let left = named(&owned(&pruned, shape));
    remove(merged, &all.difference(&left).intersection(&last), shape)
}

/// Takes changed fields from their owners, or refuses if there are any and force was not asked for.
fn take_over(
    live: &Value,
    new: &Value,
    managers: &mut Managers,
    by: (&ManagerKey, Applied<'_>),
    policy: Conflicts,
) -> Result<Comparison, Refused> {
    let (key, write) = by;
    let mut found = compare(live, new, write.shape);
    found.added = found.added.without(write.reset);
    found.removed = found.removed.without(write.reset);
    found.modified = found.modified.without(write.reset);
    let changed = found.modified.union(&found.added);
    let mut conflicts = BTreeMap::new();
    for (other, owned) in managers.iter().filter(|(other, _)| *other != key) {
        let both = owned.set.intersection(&changed);
        if !both.is_empty() {
            conflicts.insert(other.clone(), both);
        }
    }
    if policy == Conflicts::Refuse && !conflicts.is_empty() {
        return Err(Refused::Owned(name_conflicts(&conflicts)));
    }
    for (other, owned) in managers.iter_mut().filter(|(other, _)| *other != key) {
        if let Some(lost) = conflicts.get(other) {
            owned.set = owned.set.difference(lost);
        }
        owned.set = owned.set.difference(&found.removed);
    }
    managers.retain(|_, owned| !owned.set.is_empty());
    Ok(found)
}

fn name_conflicts(conflicts: &BTreeMap<ManagerKey, FieldSet>) -> Vec<Conflict> {
    let mut result = Vec::new();
    for (key, set) in conflicts {
        let mut owner = format!("{:?}", key.manager);
        if !key.subresource.is_empty() {
            owner.push_str(&format!(" with subresource {:?}", key.subresource));
        }
        if key.operation == Operation::Update {
            owner.push_str(&format!(" using {}", key.api_version));
        }
        result.extend(set.paths().iter().map(|path| Conflict { owner: owner.clone(), path: path_text(path) }));
    }
    result
}

/// Moves ownership of all that changed to the writing manager.
fn update_managers(before: &Value, after: &Value, managers: &mut Managers, write: Applied<'_>) {
    // The write owns its changes under a key of its own first, so that it also takes them from its own older entry.
    let current = ManagerKey::new("", Operation::Update, "", "current-operation");
    let Ok(found) = take_over(before, after, managers, (&current, write), Conflicts::Force) else { return };
    let set = found.modified.union(&found.added).without(write.reset);
    let key = ManagerKey::new(write.manager, Operation::Update, write.api_version, write.subresource);
    let mut own = Managers::new();
    own.insert(key.clone(), Owned { set, api_version: write.api_version.to_owned(), time: None });
    strip(&mut own, &key);
    let Some(mut mine) = own.remove(&key) else { return };
    if let Some(previous) = managers.get(&key) {
        mine.set = mine.set.union(&previous.set);
    }
    mine.time = Some(write.now.to_owned());
    managers.insert(key, mine);
}

/// Drops what nobody owns: the identity of an object and what only the server writes.
fn strip(managers: &mut Managers, key: &ManagerKey) {
    const METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let Some(owned) = managers.get_mut(key) else { return };
    let mut nobody = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]);
    for name in METADATA {
        nobody.insert(&[Element::field("metadata"), Element::field(name)]);
    }
    owned.set = owned.set.difference(&nobody);
    if owned.set.is_empty() {
        managers.remove(key);
    }
}

/// Folds the oldest updaters into one entry while there are too many.
fn cap(managers: &mut Managers) {
    let mut updaters: Vec<(Option<String>, ManagerKey)> = managers
        .iter()
        .filter(|(key, _)| key.operation == Operation::Update)
        .map(|(key, owned)| (owned.time.clone(), key.clone()))
        .collect();
    updaters.sort();
    let mut count = updaters.len();
    let mut bucket: Option<ManagerKey> = None;
    let mut first: Option<ManagerKey> = None;
    for (_, key) in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(older) = first.clone() else {
            first = Some(key);
            continue;
        };
        let target = bucket
            .get_or_insert_with(|| ManagerKey::new(ANCIENT_CHANGES, Operation::Update, &key.api_version, ""))
            .clone();
        if let Some(owned) = managers.remove(&older) {
            managers.insert(target.clone(), owned);
        }
        if let (Some(newer), Some(folded)) = (managers.remove(&key), managers.get_mut(&target)) {
            folded.set = folded.set.union(&newer.set);
            folded.time = newer.time;
        }
        count -= 1;
    }
}
