//! Writes of whole requests: create, update, and the patches.
//!
//! Not here: deletion (`delete.rs`), how a patch changes an object (`patch.rs`), rules of single kinds (`rules.rs`).

use serde_json::{Map, Value, json};

use crate::sandbox::call::{Call, Persistence, Strictness};
use crate::sandbox::canon::{blank, canonical};
use crate::sandbox::defaults::set_defaults;
use crate::sandbox::failure::{Cause, Failure};
use crate::sandbox::fields::{self, Applied, Conflicts, FieldSet, Refused, same_but_for_times};
use crate::sandbox::read::shown;
use crate::sandbox::rules::{self, TEMPLATE_COUNT};
use crate::sandbox::server::Answer;
use crate::sandbox::store::{Key, Sort, Store, metadata_child_mut, metadata_mut};
use crate::sandbox::{admission, delete, patch, validate};
use crate::schema::{Kind, Scope, Shape};

/// Suffix of a generated name, in letters.
const GENERATED_LETTERS: usize = 5;

/// One write with everything that it needs to know beside the object.
pub(crate) struct Write<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) manager: String,
    pub(crate) persistence: Persistence,
    shape: Shape,
    reset: FieldSet,
    blank: Value,
    api_version: String,
    now: String,
}

impl<'a> Write<'a> {
    /// Returns the write of a request; a refusal names the options of this sort of request.
    pub(crate) fn new(store: &Store, call: &'a Call, options: &str) -> Result<Self, Failure> {
        let persistence = call.persistence(options)?;
        Ok(Self::by(store, (call.kind, &call.namespace, &call.subresource), call.manager(), persistence))
    }

    /// Returns the write of a part of the cluster itself.
    pub(crate) fn by(
        store: &Store,
        target: (&'static Kind, &'a str, &'a str),
        manager: String,
        persistence: Persistence,
    ) -> Self {
        let (kind, namespace, subresource) = target;
        Self {
            kind,
            namespace,
            subresource,
            manager,
            persistence,
            shape: kind.structure.map_or(Shape::Any, Shape::Struct),
            reset: rules::reset_fields(kind, subresource),
            blank: blank(kind),
            api_version: kind.api_version(),
            now: store.now_text(),
        }
    }

    pub(crate) fn applied(&self) -> Applied<'_> {
        Applied {
            manager: &self.manager,
            subresource: self.subresource,
            api_version: &self.api_version,
            shape: &self.shape,
            reset: &self.reset,
            blank: &self.blank,
            now: &self.now,
        }
    }
}

/// Answers a POST.
pub(crate) fn create(store: &mut Store, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let write = Write::new(store, call, "CreateOptions")?;
    let object = read_body(call, body)?;
    check_identity(call, &object, None)?;
    let mut object = canonical_or_refuse(call, &object)?;
    if call.kind.kind == "DaemonSet" && call.kind.group == "apps" {
        // A count that is kept outside of the metadata, and shown as an annotation already when the fields are noted.
        metadata_child_mut(&mut object, "annotations").insert(TEMPLATE_COUNT.to_owned(), json!("0"));
    }
    create_sent(store, call, &write, object)
}

fn create_sent(store: &mut Store, call: &Call, write: &Write<'_>, mut object: Value) -> Result<Answer, Failure> {
    if !metadata_text(&object, "resourceVersion").is_empty() {
        return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
    }
    set_defaults(&mut object, call.kind);
    prepare_name(store, write, &mut object);
    fields::track_update(None, &mut object, write.applied());
    admission::admit_new(store, write, &mut object)?;
    finish_create(store, write, object).map(|object| Answer::Json(201, shown(&object, call.form)))
}

/// Kinds whose objects a PUT makes if they are not there.
fn is_made_by_update(kind: &Kind) -> bool {
    const NAMES: [&str; 10] = [
        "Service",
        "Endpoints",
        "Event",
        "LimitRange",
        "PodTemplate",
        "Lease",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
    ];
    NAMES.contains(&kind.kind)
}

/// Answers a PUT.
pub(crate) fn update(store: &mut Store, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let write = Write::new(store, call, "UpdateOptions")?;
    let object = read_body(call, body)?;
    check_identity(call, &object, Some(&call.name))?;
    let mut object = canonical_or_refuse(call, &object)?;
    if metadata_text(&object, "name").is_empty() {
        return Err(Failure::bad_request("the name of the object () does not match the name on the URL"));
    }
    let key = Key::of(call.kind, &call.namespace, &call.name);
    if is_made_by_update(call.kind) && call.subresource.is_empty() && store.get(Sort::of(call.kind), &key).is_none() {
        return create_sent(store, call, &write, object);
    }
    set_defaults(&mut object, call.kind);
    let live = live(store, call)?;
    let uid = metadata_text(&object, "uid");
    if !uid.is_empty() && uid != metadata_text(&live, "uid") {
        let group = if call.kind.group.is_empty() { String::new() } else { format!("{}/", call.kind.group) };
        let place = if call.namespace.is_empty() { String::new() } else { format!("{}/", call.namespace) };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{place}{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            call.kind.plural,
            call.name,
            metadata_text(&live, "uid")
        );
        return Err(Failure::conflict(call.kind, &call.name, &why));
    }
    carry_identity(&live, &mut object);
    fields::track_update(Some(&live), &mut object, write.applied());
    let object = finish_update(store, &write, &live, object)?;
    Ok(Answer::Json(200, shown(&object, call.form)))
}

/// Answers a PATCH of any sort.
pub(crate) fn patch(store: &mut Store, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    let write = Write::new(store, call, "PatchOptions")?;
    if call.content_type == patch::APPLY {
        return apply(store, call, &write, body);
    }
    if call.query.is_true("force") {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Failure::invalid_options("PatchOptions", &cause));
    }
    patch::check_type(&call.content_type)?;
    let live = live(store, call)?;
    let patched = patch::patched(call.kind, &call.content_type, &live, body)?;
    check_identity(call, &patched, Some(&call.name))?;
    let canonical = canonical(&patched, call.kind).map_err(Failure::bad_request)?;
    if call.strictness() == Strictness::Strict && !canonical.unknown.is_empty() {
        return Err(patch::refuse_unknown(&patched, &canonical.unknown));
    }
    let mut object = canonical.object;
    set_defaults(&mut object, call.kind);
    fields::track_update(Some(&live), &mut object, write.applied());
    let object = finish_update(store, &write, &live, object)?;
    Ok(Answer::Json(200, shown(&object, call.form)))
}

fn apply(store: &mut Store, call: &Call, write: &Write<'_>, body: &[u8]) -> Result<Answer, Failure> {
    if call.query.text("fieldManager").is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Failure::invalid_options("PatchOptions", &cause));
    }
    let config = patch::read_apply(body)?;
    let (version, kind) = (text_of(&config, "apiVersion"), text_of(&config, "kind"));
    if version != call.kind.api_version() || kind != call.kind.kind {
        let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
        return Err(Failure::bad_request(format!("invalid object type: {version}, Kind={kind}")));
    }
    if config.get("metadata").is_some_and(|metadata| metadata.get("managedFields").is_some()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let key = Key::of(call.kind, &call.namespace, &call.name);
    let live = store.get(Sort::of(call.kind), &key).map(|object| (**object).clone());
    if live.is_none() && !call.subresource.is_empty() {
        return Err(Failure::not_found(call.kind, &call.name));
    }
    let before = live.clone().unwrap_or_else(|| write.blank.clone());
    let conflicts = if call.query.is_true("force") { Conflicts::Force } else { Conflicts::Refuse };
    let applied = fields::apply(&before, &config, write.applied(), conflicts);
    let applied = applied.map_err(|refused| match refused {
        Refused::Owned(conflicts) => Failure::apply_conflict(&conflicts),
        Refused::Mistyped(wrong) => mistyped(&config, &wrong),
    })?;
    check_identity(call, &config, Some(&call.name))?;
    let mut object = canonical(&applied, call.kind).map_err(|why| inconvertible(&config, &why))?.object;
    set_defaults(&mut object, call.kind);
    match live {
        Some(live) => {
            let object = finish_update(store, write, &live, object)?;
            Ok(Answer::Json(200, shown(&object, call.form)))
        }
        None => create_applied(store, call, write, object),
    }
}

fn create_applied(store: &mut Store, call: &Call, write: &Write<'_>, mut object: Value) -> Result<Answer, Failure> {
    let uid = metadata_text(&object, "uid");
    if !uid.is_empty() {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Failure::conflict(call.kind, &call.name, &why));
    }
    metadata_mut(&mut object).entry("name").or_insert_with(|| json!(call.name));
    // A version that the client gave means nothing for an object that does not exist.
    metadata_mut(&mut object).shift_remove("resourceVersion");
    prepare_name(store, write, &mut object);
    admission::admit_new(store, write, &mut object)?;
    finish_create(store, write, object).map(|object| Answer::Json(201, shown(&object, call.form)))
}

/// Names an applied object as messages about its types do.
fn applied_name(config: &Value) -> String {
    let version = text_of(config, "apiVersion");
    let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    let (namespace, name) = (metadata_text(config, "namespace"), metadata_text(config, "name"));
    format!("({namespace}/{name}; {version}, Kind={})", text_of(config, "kind"))
}

fn inconvertible(config: &Value, why: &str) -> Failure {
    let name = applied_name(config);
    let kind = name.rsplit("; ").next().unwrap_or("").trim_end_matches(')');
    Failure::internal(format!(
        "failed to convert new object {name} to proper version: unable to convert unstructured object to {kind}: error decoding from json: {why}"
    ))
}

fn mistyped(config: &Value, wrong: &[String]) -> Failure {
    let wrong = match wrong {
        [one] => one.clone(),
        many => format!("errors:\n{}", many.iter().map(|it| format!("  {it}")).collect::<Vec<_>>().join("\n")),
    };
    Failure::internal(format!("failed to create typed patch object {}: {wrong}", applied_name(config)))
}

fn live(store: &Store, call: &Call) -> Result<Value, Failure> {
    let key = Key::of(call.kind, &call.namespace, &call.name);
    let live = store.get(Sort::of(call.kind), &key).ok_or_else(|| Failure::not_found(call.kind, &call.name))?;
    Ok((**live).clone())
}

fn read_body(call: &Call, body: &[u8]) -> Result<Value, Failure> {
    if !matches!(call.content_type.as_str(), "" | "application/json" | "application/x-www-form-urlencoded") {
        let known = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
        return Err(Failure::unsupported_media(&known));
    }
    serde_json::from_slice(body).map_err(|error| {
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {error}",
            call.kind.kind
        ))
    })
}

fn canonical_or_refuse(call: &Call, object: &Value) -> Result<Value, Failure> {
    let head = || format!("{0} in version {1:?} cannot be handled as a {0}", call.kind.kind, call.kind.api_version());
    let canonical = canonical(object, call.kind).map_err(|why| Failure::bad_request(format!("{}: {why}", head())))?;
    if call.strictness() == Strictness::Strict && !canonical.unknown.is_empty() {
        let unknown: Vec<String> = canonical.unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        let why = format!("{}: strict decoding error: {}", head(), unknown.join(", "));
        return Err(Failure::bad_request(why));
    }
    Ok(canonical.object)
}

/// Checks that kind, version, name and namespace of an object are those of the path.
fn check_identity(call: &Call, object: &Value, name: Option<&str>) -> Result<(), Failure> {
    let (version, kind) = (text_of(object, "apiVersion"), text_of(object, "kind"));
    if !kind.is_empty() && kind != call.kind.kind {
        let short = version.rsplit('/').next().unwrap_or("");
        let group = if call.kind.group.is_empty() { "core" } else { call.kind.group.split('.').next().unwrap_or("") };
        return Err(Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {0}: converting ({short}.{kind}) to ({group}.{0}): unknown conversion",
            call.kind.kind
        )));
    }
    if !version.is_empty() && version != call.kind.api_version() {
        return Err(Failure::bad_request(format!(
            "{0} in version {1:?} cannot be handled as a {0}: no kind {0:?} is registered for version {1:?}",
            call.kind.kind, version
        )));
    }
    let own = metadata_text(object, "name");
    if let Some(name) = name
        && !own.is_empty()
        && own != name
    {
        return Err(Failure::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }
    let namespace = metadata_text(object, "namespace");
    if call.kind.scope == Scope::Namespaced && !namespace.is_empty() && namespace != call.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Completes name and namespace of a new object.
pub(crate) fn prepare_name(store: &mut Store, write: &Write<'_>, object: &mut Value) {
    let prefix = metadata_text(object, "generateName").to_owned();
    if metadata_text(object, "name").is_empty() && !prefix.is_empty() {
        let name = format!("{prefix}{}", store.suffix(GENERATED_LETTERS));
        metadata_mut(object).insert("name".to_owned(), json!(name));
    }
    if write.kind.scope == Scope::Namespaced {
        metadata_mut(object).insert("namespace".to_owned(), json!(write.namespace));
    }
}

/// Gives a new object its identity, checks it and keeps it.
pub(crate) fn finish_create(store: &mut Store, write: &Write<'_>, mut object: Value) -> Result<Value, Failure> {
    let metadata = metadata_mut(&mut object);
    metadata.insert("uid".to_owned(), json!(store.uid()));
    metadata.insert("creationTimestamp".to_owned(), json!(write.now));
    for key in ["resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata.shift_remove(key);
    }
    rules::prepare_create(store, write, &mut object);
    let causes = validate::validate_new(&object, write.kind);
    let name = metadata_text(&object, "name").to_owned();
    if !causes.is_empty() {
        return Err(Failure::invalid(write.kind, &name, &causes));
    }
    let object = order_metadata(object, write.kind);
    let key = Key::of(write.kind, write.namespace, &name);
    if store.get(Sort::of(write.kind), &key).is_some() {
        return Err(Failure::exists(write.kind, &name));
    }
    if write.persistence == Persistence::DryRun {
        return Ok(object);
    }
    if store.is_full() {
        return Err(Failure::internal("etcdserver: mvcc: database space exceeded"));
    }
    Ok((*store.put(Sort::of(write.kind), &key, object)).clone())
}

/// Checks a changed object and keeps it, or deletes it if that was all it waited for.
pub(crate) fn finish_update(
    store: &mut Store,
    write: &Write<'_>,
    live: &Value,
    mut object: Value,
) -> Result<Value, Failure> {
    let name = metadata_text(live, "name").to_owned();
    let version = metadata_text(&object, "resourceVersion");
    if !version.is_empty() && version != metadata_text(live, "resourceVersion") {
        return Err(Failure::stale(write.kind, &name));
    }
    let metadata = metadata_mut(&mut object);
    for key in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"] {
        match live.get("metadata").and_then(|live| live.get(key)) {
            Some(value) => metadata.insert(key.to_owned(), value.clone()),
            None => metadata.shift_remove(key),
        };
    }
    for key in ["name", "namespace", "creationTimestamp"] {
        if let Some(value) = live.get("metadata").and_then(|live| live.get(key)) {
            metadata.entry(key).or_insert_with(|| value.clone());
        }
    }
    rules::prepare_update(store, write, live, &mut object);
    let causes = validate::validate_change(live, &object, write.kind, write.subresource);
    if !causes.is_empty() {
        return Err(Failure::invalid(write.kind, &name, &causes));
    }
    // A change of nothing but the times of ownership is no change.
    if let (Some(old), Some(new)) = (managed_fields(live).cloned(), managed_fields(&object))
        && same_but_for_times(&old, new)
        && untimed(live) == untimed(&object)
    {
        metadata_mut(&mut object).insert("managedFields".to_owned(), old);
    }
    let object = order_metadata(object, write.kind);
    if object == *live || write.persistence == Persistence::DryRun {
        return Ok(object);
    }
    let key = Key::of(write.kind, write.namespace, &name);
    if delete::is_last_hold(live, &object) {
        store.delete(Sort::of(write.kind), &key);
        return Ok(object);
    }
    Ok((*store.put(Sort::of(write.kind), &key, object)).clone())
}

fn managed_fields(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn untimed(object: &Value) -> Value {
    let mut object = object.clone();
    metadata_mut(&mut object).shift_remove("managedFields");
    object
}

/// An update that does not say who it is about is about the live object.
fn carry_identity(live: &Value, object: &mut Value) {
    for key in ["uid", "creationTimestamp"] {
        if let Some(value) = live.get("metadata").and_then(|live| live.get(key)) {
            metadata_mut(object).insert(key.to_owned(), value.clone());
        }
    }
}

/// Brings an object into canonical form once more: what the server filled in stands where its type has it.
pub(crate) fn order_metadata(object: Value, kind: &Kind) -> Value {
    canonical(&object, kind).map_or(object, |canonical| canonical.object)
}

/// Returns a text of an object's metadata, empty if there is none.
pub(crate) fn metadata_text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or("")
}

/// Returns a text of an object, empty if there is none.
pub(crate) fn text_of<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

/// Returns a map that an object holds under a key.
pub(crate) fn map_of<'a>(object: &'a Value, key: &str) -> Option<&'a Map<String, Value>> {
    object.get(key).and_then(Value::as_object)
}
