//! Owners and dependents: what goes when its owners are gone, and what an owner waits for.
//!
//! Not here: how a deletion is asked for (`delete.rs`).

use serde_json::{Value, json};

use crate::sandbox::controllers::{change, is_deleting, owner_place, owners};
use crate::sandbox::delete::{FOREGROUND, ORPHAN, Wish, delete_object};
use crate::sandbox::failure::Failure;
use crate::sandbox::store::{Key, Sort, Store, metadata_mut};
use crate::sandbox::write::metadata_text;
use crate::schema::{Kind, kinds};

/// Looks at one object as an owner and as a dependent.
pub(super) fn collect(store: &mut Store, sort: Sort, key: &Key, object: &Value) {
    let Some(kind) = kinds().iter().find(|kind| Sort::of(kind) == sort) else { return };
    let done =
        if is_deleting(object) { release(store, kind, key, object) } else { drop_orphan(store, kind, key, object) };
    if let Err(failure) = done {
        tracing::debug!(kind = kind.kind, name = key.name, error = failure.message, "garbage collection was refused");
    }
}

/// Deletes an object all of whose owners are gone.
fn drop_orphan(store: &mut Store, kind: &'static Kind, key: &Key, object: &Value) -> Result<(), Failure> {
    let mut owners = owners(object).peekable();
    if owners.peek().is_none() {
        return Ok(());
    }
    for owner in owners {
        let Some((owner_kind, place)) = owner_place(owner, &key.namespace) else { return Ok(()) };
        let Some(found) = store.get(Sort::of(owner_kind), &place) else { continue };
        if owner.get("uid") != Some(&json!(metadata_text(found, "uid"))) {
            continue;
        }
        // An owner that waits for its dependents is as good as gone.
        if !(has_finalizer(found, FOREGROUND) && is_deleting(found)) {
            return Ok(());
        }
    }
    delete_object(store, kind, key, &Wish::background()).map(|_| ())
}

/// Ends the waiting of an object for its dependents, when there is nothing left to wait for.
fn release(store: &mut Store, kind: &'static Kind, key: &Key, object: &Value) -> Result<(), Failure> {
    let dependents = store.dependents(metadata_text(object, "uid"));
    if has_finalizer(object, ORPHAN) {
        for (sort, dependent) in dependents {
            let Some(kind) = kinds().iter().find(|kind| Sort::of(kind) == sort) else { continue };
            change(store, (kind, ""), &dependent, |it| disown(it, metadata_text(object, "uid")))?;
        }
        return change(store, (kind, ""), key, |it| remove_finalizer(it, ORPHAN));
    }
    if !has_finalizer(object, FOREGROUND) {
        return Ok(());
    }
    let mut blocked = false;
    for (sort, dependent) in dependents {
        let Some(found) = store.get(sort, &dependent).cloned() else { continue };
        let Some(kind) = kinds().iter().find(|kind| Sort::of(kind) == sort) else { continue };
        if !is_deleting(&found) {
            let has_own = !store.dependents(metadata_text(&found, "uid")).is_empty();
            let wish = if has_own { Wish::foreground() } else { Wish::background() };
            delete_object(store, kind, &dependent, &wish)?;
        }
        let uid = metadata_text(object, "uid");
        let blocks = owners(&found)
            .any(|it| it.get("uid") == Some(&json!(uid)) && it.get("blockOwnerDeletion") == Some(&json!(true)));
        blocked |= blocks && store.get(sort, &dependent).is_some();
    }
    if blocked {
        return Ok(());
    }
    change(store, (kind, ""), key, |it| remove_finalizer(it, FOREGROUND))
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.is_some_and(|list| list.contains(&json!(name)))
}

fn remove_finalizer(object: &mut Value, name: &str) {
    if let Some(list) = metadata_mut(object).get_mut("finalizers").and_then(Value::as_array_mut) {
        list.retain(|it| it != name);
    }
}

fn disown(object: &mut Value, uid: &str) {
    if let Some(list) = metadata_mut(object).get_mut("ownerReferences").and_then(Value::as_array_mut) {
        list.retain(|it| it.get("uid") != Some(&json!(uid)));
    }
}
