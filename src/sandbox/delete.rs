//! Deletion: preconditions, finalizers, grace, and when an object is really gone.
//!
//! Not here: what happens to dependents (`controllers/garbage.rs`) and to a namespace's content (`controllers/namespace.rs`).

use serde_json::{Value, json};

use crate::sandbox::call::{Call, Persistence};
use crate::sandbox::canon::seconds;
use crate::sandbox::failure::{Cause, Failure};
use crate::sandbox::read::shown;
use crate::sandbox::rules::bump_generation;
use crate::sandbox::selector::Selector;
use crate::sandbox::server::Answer;
use crate::sandbox::store::{Key, Sort, Store, child_mut, metadata_mut};
use crate::sandbox::write::{metadata_text, order_metadata};
use crate::schema::Kind;

/// Finalizer of an object that goes after its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an object whose dependents stay.
pub(crate) const ORPHAN: &str = "orphan";
/// Namespaces that cannot be deleted.
const KEPT_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What a deletion asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    uid: Option<String>,
    version: Option<String>,
    policy: String,
    grace: Option<i64>,
    dry_run: bool,
}

impl Wish {
    /// Returns the wish of a deletion by a controller.
    pub(crate) fn background() -> Self {
        Self { policy: "Background".to_owned(), ..Self::default() }
    }

    /// Returns the wish of a deletion that waits for dependents.
    pub(crate) fn foreground() -> Self {
        Self { policy: "Foreground".to_owned(), ..Self::default() }
    }

    /// Returns the wish of a deletion that waits for nothing but finalizers.
    pub(crate) fn at_once() -> Self {
        Self { grace: Some(0), ..Self::background() }
    }

    fn read(call: &Call, body: &[u8]) -> Result<Self, Failure> {
        let sent: Value = if body.is_empty() {
            json!({})
        } else {
            serde_json::from_slice(body).map_err(|error| {
                Failure::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
            })?
        };
        let text = |pointer: &str| sent.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let query = &call.query;
        let policy = text("/propagationPolicy").unwrap_or_else(|| query.text("propagationPolicy").to_owned());
        if !["", "Foreground", "Background", "Orphan"].contains(&policy.as_str()) {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            let cause = Cause::unsupported("propagationPolicy", &json!(policy), &known);
            return Err(Failure::invalid_options("DeleteOptions", &cause));
        }
        let dry_run = sent.get("dryRun").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        Ok(Self {
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
            policy,
            grace: sent
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .or_else(|| query.text("gracePeriodSeconds").parse().ok()),
            dry_run: dry_run || call.persistence("DeleteOptions")? == Persistence::DryRun,
        })
    }
}

/// What a deletion led to.
pub(crate) enum Deleted {
    /// The object is gone.
    Gone(Value),
    /// The object waits for finalizers or its grace period.
    Waiting(Value),
}

/// Answers a DELETE of one object.
pub(crate) fn delete(store: &mut Store, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let wish = Wish::read(call, body)?;
    let key = Key::of(call.kind, &call.namespace, &call.name);
    match delete_object(store, call.kind, &key, &wish)? {
        Deleted::Gone(object) if returns_object(call.kind) => Ok(Answer::Json(200, shown(&object, call.form))),
        Deleted::Gone(object) => {
            let mut details = json!({"name": call.name});
            if let Value::Object(map) = &mut details {
                if !call.kind.group.is_empty() {
                    map.insert("group".to_owned(), json!(call.kind.group));
                }
                map.insert("kind".to_owned(), json!(call.kind.plural));
                map.insert("uid".to_owned(), json!(metadata_text(&object, "uid")));
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": details});
            Ok(Answer::Json(200, status))
        }
        Deleted::Waiting(object) => Ok(Answer::Json(200, shown(&object, call.form))),
    }
}

/// Answers a DELETE of a whole kind.
pub(crate) fn delete_many(store: &mut Store, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let wish = Wish::read(call, body)?;
    let query = &call.query;
    let selector = Selector::parse(query.text("labelSelector"), query.text("fieldSelector"), call.kind)?;
    let list = super::read::list(store, call)?;
    let keys: Vec<Key> = store
        .list(Sort::of(call.kind), &call.namespace)
        .filter(|(_, object)| selector.matches(object))
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        delete_object(store, call.kind, &key, &wish)?;
    }
    Ok(Answer::Json(200, list))
}

/// Kinds whose deletion answers with the object.
fn returns_object(kind: &Kind) -> bool {
    matches!(
        kind.kind,
        "Pod"
            | "Service"
            | "ServiceAccount"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "PodTemplate"
            | "ResourceQuota"
            | "StorageClass"
            | "CSIDriver"
            | "CSINode"
            | "VolumeAttachment"
            | "VolumeAttributesClass"
    )
}

/// Deletes an object, or marks it as being deleted if something has to happen first.
pub(crate) fn delete_object(
    store: &mut Store,
    kind: &'static Kind,
    key: &Key,
    wish: &Wish,
) -> Result<Deleted, Failure> {
    let sort = Sort::of(kind);
    let live = store.get(sort, key).ok_or_else(|| Failure::not_found(kind, &key.name))?;
    let live = (**live).clone();
    check_preconditions(kind, key, &live, wish)?;
    let namespace = kind.group.is_empty() && kind.kind == "Namespace";
    if namespace && KEPT_NAMESPACES.contains(&key.name.as_str()) {
        return Err(Failure::forbidden(kind, &key.name, "this namespace may not be deleted"));
    }
    let deleting = !metadata_text(&live, "deletionTimestamp").is_empty();
    if namespace && deleting {
        return Ok(Deleted::Waiting(live));
    }
    let mut object = live.clone();
    set_finalizers(&mut object, kind, &wish.policy);
    let grace = grace_of(&live, kind, wish);
    if grace == 0 && is_free(&object) {
        if wish.dry_run {
            return Ok(Deleted::Gone(object));
        }
        let mut gone = store.delete(sort, key).map_or(live, |gone| (*gone).clone());
        if kind.kind == "Pod" && kind.group.is_empty() && !deleting {
            // A Pod is marked first, also where nothing is waited for.
            let time = json!(seconds(store.now()));
            let metadata = metadata_mut(&mut gone);
            metadata.insert("deletionTimestamp".to_owned(), time);
            metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
            bump_generation(&mut gone);
            gone = order_metadata(gone, kind);
        }
        return Ok(Deleted::Gone(gone));
    }
    let time = store.now().plus(std::time::Duration::from_secs(u64::try_from(grace).unwrap_or(0)));
    let metadata = metadata_mut(&mut object);
    let shorter = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|it| grace < it);
    if !deleting || shorter {
        metadata.insert("deletionTimestamp".to_owned(), json!(seconds(time)));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
    }
    if !deleting {
        bump_generation(&mut object);
    }
    if namespace {
        metadata_mut(&mut object).shift_remove("deletionGracePeriodSeconds");
        child_mut(&mut object, "status").insert("phase".to_owned(), json!("Terminating"));
    }
    let object = order_metadata(object, kind);
    if wish.dry_run || object == live {
        return Ok(Deleted::Waiting(object));
    }
    Ok(Deleted::Waiting((*store.put(sort, key, object)).clone()))
}

fn check_preconditions(kind: &Kind, key: &Key, live: &Value, wish: &Wish) -> Result<(), Failure> {
    let refuse = |why: String| {
        let mut failure = Failure::conflict(kind, &key.name, &why);
        // These two name the kind, not its plural.
        failure.message = format!("Operation cannot be fulfilled on {} {:?}: {why}", named(kind), key.name);
        failure.details = Some(json!({"name": key.name, "kind": kind.kind}));
        if let (false, Some(Value::Object(details))) = (kind.group.is_empty(), &mut failure.details) {
            details.insert("group".to_owned(), json!(kind.group));
        }
        Err(failure)
    };
    let (uid, version) = (metadata_text(live, "uid"), metadata_text(live, "resourceVersion"));
    if let Some(asked) = wish.uid.as_deref().filter(|asked| *asked != uid) {
        return refuse(format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        ));
    }
    if let Some(asked) = wish.version.as_deref().filter(|asked| *asked != version) {
        return refuse(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        ));
    }
    Ok(())
}

fn named(kind: &Kind) -> String {
    if kind.group.is_empty() { kind.kind.to_owned() } else { format!("{}.{}", kind.kind, kind.group) }
}

fn set_finalizers(object: &mut Value, kind: &Kind, policy: &str) {
    // Jobs were once made without owner references and still leave their pods unless told otherwise.
    let policy = match policy {
        "" if kind.group == "batch" && kind.kind == "Job" => "Orphan",
        policy => policy,
    };
    if policy.is_empty() {
        return;
    }
    let metadata = metadata_mut(object);
    let mut list: Vec<Value> = metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    list.retain(|name| name != FOREGROUND && name != ORPHAN);
    match policy {
        "Foreground" => list.push(json!(FOREGROUND)),
        "Orphan" => list.push(json!(ORPHAN)),
        _ => {}
    }
    if list.is_empty() {
        metadata.shift_remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), Value::Array(list));
    }
}

/// Returns how many seconds an object has before it is removed. Only pods that run somewhere have any.
fn grace_of(object: &Value, kind: &Kind, wish: &Wish) -> i64 {
    if kind.kind != "Pod" || !kind.group.is_empty() {
        return 0;
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded") {
        return 0;
    }
    let own = object.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    wish.grace.or(own).unwrap_or(30)
}

/// Returns whether nothing holds back the removal of an object.
fn is_free(object: &Value) -> bool {
    let empty = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let namespace = object.get("kind") == Some(&json!("Namespace"));
    empty("/metadata/finalizers") && (!namespace || empty("/spec/finalizers"))
}

/// Returns whether a change leaves nothing that holds back the removal of an object being deleted.
pub(crate) fn is_last_hold(live: &Value, object: &Value) -> bool {
    let grace = live.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    !metadata_text(live, "deletionTimestamp").is_empty() && grace == 0 && is_free(object)
}
