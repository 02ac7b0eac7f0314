//! Pure. An app reaches beyond its own namespace only where the instance's settings grant it.
//!
//! So are rights beyond those that it brings: what a role in its own namespace may say, others of the namespace could use.
//!
//! A grant of secrets holds back the whole app: without the key its pods would not start.
//!
//! Not here: writing grants (`compile`).

use serde_json::Value;

use super::action::{Blocked, WakeOn};
use super::snapshot::{Desired, DesiredObject, Ground, Owner, Presence, Snapshot};
use super::{ground, kind, namespace};
use crate::model::{AppName, Object, ObjectId};
use crate::package::{Consent, SecretGrant};
use crate::schema;

/// Reason of a stop by a grant that is not on record.
pub(super) const MISSING: &str = "GrantMissing";
/// API group of roles and their bindings.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Verbs by which the holder of a role gets rights that the role does not name.
const ESCALATING: [&str; 3] = ["escalate", "bind", "impersonate"];

/// Objects that wait for a word and are told one by one; what a person has to judge is more than enough with that.
const MAX_TOLD: usize = 50;

/// Returns why nothing of the app is written: it is called as the system is, or its own namespace is not its own.
pub(super) fn shut_out(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let app = snapshot.app.as_str();
    let blocked = match ground::is_system(snapshot, app) && !is_let_in(snapshot, app) {
        true => Blocked {
            message: format!("the name {app} is the system's, and so is the namespace of that name"),
            ..closed(snapshot, app)
        },
        false => Some(()).filter(|()| !is_open(snapshot, &snapshot.namespace)).map(|()| {
            let own = closed(snapshot, &snapshot.namespace);
            let message = format!("{}, and {app} may not enter it without a grant", own.message);
            Blocked { message: format!("{message}{}", remedy_told(snapshot, &snapshot.namespace)), ..own }
        })?,
    };
    Some((blocked, WakeOn::Revision))
}

/// Returns the namespaces that a person may let the app into by taking them over: nobody owns them, or the app made them.
pub fn adoptable(snapshot: &Snapshot) -> Vec<String> {
    let names = ground::wanted(snapshot).into_iter();
    names.filter(|name| !is_open(snapshot, name) && is_adoptable(snapshot, name)).collect()
}

fn is_adoptable(snapshot: &Snapshot, name: &str) -> bool {
    !ground::is_system(snapshot, name)
        && matches!(ground::of(snapshot, name), Ground::Foreign(Owner::Nobody) | Ground::Ours)
}

/// Returns whether the app may write into a namespace.
pub(super) fn is_open(snapshot: &Snapshot, name: &str) -> bool {
    if is_let_in(snapshot, name) {
        return true;
    }
    if snapshot.presence != Presence::Kept || matches!(snapshot.desired, Desired::Unreadable(_) | Desired::Leaking(_)) {
        // Where an app was let in before, its last hooks may end what it did there. And where nothing can be read, what was applied is kept
        // as it is.
        let is_there = |id: &ObjectId| ground::entered_by(id).as_deref() == Some(name);
        return snapshot.inventory.records().any(|record| is_there(&record.id));
    }
    let is_own = name == snapshot.namespace && !ground::is_system(snapshot, name);
    is_own && matches!(ground::of(snapshot, name), Ground::Missing | Ground::Ours)
}

/// Returns whether a grant on record lets the app into a namespace.
pub(super) fn is_let_in(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.policy.grants.namespaces.iter().any(|granted| granted == name)
}

/// Returns the words for a namespace that the app may not enter, and what helps.
fn closed(snapshot: &Snapshot, name: &str) -> Blocked {
    let whose = match ground::of(snapshot, name) {
        _ if ground::is_system(snapshot, name) => "is the system's".to_owned(),
        Ground::Foreign(Owner::App(other)) => format!("belongs to app {other}"),
        Ground::Foreign(Owner::Tool { tool, mark }) => format!("belongs to {tool}, by its {mark}"),
        Ground::Foreign(Owner::Controller(controller)) => format!("belongs to {controller}"),
        Ground::Foreign(Owner::Nobody | Owner::Released | Owner::Us { .. }) => {
            format!("is there already and was not made by {}", snapshot.app)
        }
        Ground::Unseen(why) => format!("cannot be looked at: {why}"),
        Ground::Missing | Ground::Ours => "is not its own".to_owned(),
    };
    let hint = match is_adoptable(snapshot, name) {
        true => format!("wild app deploy {} --adopt", snapshot.app),
        false => format!("add {name} to apps.{}.grants.namespaces in .wild/config.yaml", snapshot.app),
    };
    let object = Some(namespace::id(name));
    Blocked { object, reason: MISSING.into(), message: format!("namespace {name} {whose}"), hint }
}

/// Returns what taking a namespace over writes, as the end of a sentence; empty if that is not for the asking.
fn remedy_told(snapshot: &Snapshot, name: &str) -> String {
    let written = || format!("; --adopt writes {name} into apps.{}.grants.namespaces", snapshot.app);
    if is_adoptable(snapshot, name) { written() } else { String::new() }
}

/// Returns why an app must not write an object.
pub(super) fn missing(snapshot: &Snapshot, id: &ObjectId, payload: &Object) -> Option<Blocked> {
    let is_namespace = namespace::is_one(id);
    let is_own = *id == namespace::id(&snapshot.namespace);
    if kind::is_cluster_scoped(id) && !is_own && !is_granted(snapshot, id) {
        return Some(blocked(snapshot, id, "lies outside namespaces", "kinds", &id.kind));
    }
    if let Some(name) = ground::entered_by(id).filter(|name| !is_open(snapshot, name)) {
        let is_brought = is_namespace && !ground::is_system(snapshot, &name);
        let is_free = matches!(ground::of(snapshot, &name), Ground::Missing | Ground::Ours);
        // Who may bring namespaces brings those that are nobody's yet.
        return Some(shut(snapshot, id, &name)).filter(|_| !(is_brought && is_free));
    }
    let beyond = beyond(snapshot, payload).filter(|_| id.group == RBAC && !is_granted(snapshot, id))?;
    Some(Blocked { message: format!("{} {beyond}", id.short()), ..blocked(snapshot, id, "", "kinds", &id.kind) })
}

/// Returns why an object is not written into a namespace.
fn shut(snapshot: &Snapshot, id: &ObjectId, name: &str) -> Blocked {
    let closed = closed(snapshot, name);
    let own = match ground::of(snapshot, name) {
        Ground::Missing | Ground::Ours if !ground::is_system(snapshot, name) => String::new(),
        _ => format!(": {}", closed.message),
    };
    let message = format!(
        "{} lies in namespace {name}, and {} may write only into its own{own}{}",
        id.short(),
        snapshot.app,
        remedy_told(snapshot, name)
    );
    Blocked { object: Some(id.clone()), message, ..closed }
}

/// Returns whether the settings let the app bring objects of this kind.
fn is_granted(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let full = format!("{}.{}", id.kind, id.group);
    snapshot.policy.grants.kinds.iter().any(|kind| *kind == id.kind || *kind == full)
}

/// Returns what rights a role or a binding gives beyond those that the app brings.
fn beyond(snapshot: &Snapshot, object: &Object) -> Option<String> {
    let text = |key: &str| object.at(&["roleRef", key]).and_then(Value::as_str).unwrap_or("");
    match object.kind() {
        "RoleBinding" if text("kind") == "ClusterRole" && !brings(snapshot, text("name")) => {
            Some(format!("gives the rights of ClusterRole/{}, which {} does not bring", text("name"), snapshot.app))
        }
        "Role" => {
            let rules = object.at(&["rules"]).and_then(Value::as_array)?;
            rules.iter().find_map(escalation).map(|what| format!("lets who has it {what}"))
        }
        _ => None,
    }
}

/// Returns whether the app brings a role for the whole cluster. One that it only names as its own, and may not write or that is somebody
/// else's, it does not bring.
fn brings(snapshot: &Snapshot, role: &str) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    let id = ObjectId::new(RBAC, "ClusterRole", "", role);
    let is_wanted = objects.iter().any(|desired| desired.object.id() == id);
    let is_ours = snapshot.inventory.get(&id).is_some() || !snapshot.existing.contains_key(&id);
    is_wanted && is_ours && is_granted(snapshot, &id)
}

/// Returns by what a rule of a role goes beyond itself.
fn escalation(rule: &Value) -> Option<String> {
    let has = |list: &str, item: &str| {
        rule.get(list).and_then(Value::as_array).is_some_and(|all| all.iter().any(|it| it.as_str() == Some(item)))
    };
    if let Some(verb) = ESCALATING.iter().find(|verb| has("verbs", verb)) {
        return Some(format!("{verb}, which gives other rights than its own"));
    }
    // All verbs on roles are those above, too; on anything else they give no rights.
    let of_roles = (has("apiGroups", "*") || has("apiGroups", RBAC))
        && ["*", "roles", "rolebindings"].iter().any(|kind| has("resources", kind));
    (has("verbs", "*") && of_roles).then(|| "do everything to roles, which gives other rights than its own".to_owned())
}

/// Returns why an app must not write an object that would not go when it should: what keeps it needs a word.
pub(super) fn missing_finalizers(snapshot: &Snapshot, desired: &DesiredObject) -> Option<Blocked> {
    let granted = &snapshot.policy.grants.finalizers;
    let name = schema::finalizers(&desired.object).into_iter().find(|name| !granted.contains(name))?;
    let id = desired.object.id();
    let place = format!("{}:{}", desired.file, desired.line);
    let app = &snapshot.app;
    Some(Blocked {
        reason: MISSING.into(),
        message: format!(
            "{place}: {} holds the finalizer {name}, by which {app} could not be deleted until that is served",
            id.short()
        ),
        hint: format!("take it out, or add {name} to apps.{app}.grants.finalizers in .wild/config.yaml"),
        object: Some(id),
    })
}

/// Returns that grants wait for a person's word, and with them all that is new of the app.
pub(super) fn unapproved(snapshot: &Snapshot) -> Option<(Blocked, WakeOn)> {
    let unapproved = snapshot.unapproved.as_ref()?;
    let blocked = Blocked {
        object: None,
        reason: "GrantNeedsApproval".into(),
        message: unapproved.message(&snapshot.app),
        hint: format!("wild operation approve --app {} --plan {}", snapshot.app, unapproved.digest),
    };
    Some((blocked, WakeOn::Revision))
}

/// Returns what is new and would go beyond the app by grants which wait for a word, and what rights it gives; all that is new where nothing does.
pub(super) fn awaiting_word(snapshot: &Snapshot, unchanged: &[ObjectId]) -> Vec<String> {
    let Desired::Objects(objects) = &snapshot.desired else { return Vec::new() };
    if snapshot.unapproved.is_none() {
        return Vec::new();
    }
    let is_beyond = |desired: &&DesiredObject| {
        let id = desired.object.id();
        id.group == RBAC || id.namespace != snapshot.namespace && id != namespace::id(&snapshot.namespace)
    };
    let new: Vec<&DesiredObject> = objects.iter().filter(|desired| !unchanged.contains(&desired.object.id())).collect();
    let beyond: Vec<&DesiredObject> = new.iter().copied().filter(is_beyond).collect();
    let shown = if beyond.is_empty() { new } else { beyond };
    let told = |desired: &&DesiredObject| {
        let rights = rights(&desired.object);
        let rights = if rights.is_empty() { String::new() } else { format!(": {}", rights.join("; ")) };
        format!("{}:{}: {} waits for a word{rights}", desired.file, desired.line, desired.object.id().short())
    };
    let mut notes: Vec<String> = shown.iter().take(MAX_TOLD).map(told).collect();
    if shown.len() > MAX_TOLD {
        notes.push(format!("{} more objects wait for a word", shown.len() - MAX_TOLD));
    }
    notes
}

/// Returns the rights that a role or a binding gives, one text for each rule.
fn rights(object: &Object) -> Vec<String> {
    let words = |value: &Value, key: &str| {
        let items = value.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    if let Some(role) = object.at(&["roleRef", "name"]).and_then(Value::as_str) {
        let subjects = object.at(&["subjects"]).and_then(Value::as_array).into_iter().flatten();
        let name = |subject: &Value| subject.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        return vec![format!("{role} for {}", subjects.map(name).collect::<Vec<_>>().join(", "))];
    }
    let rules = object.at(&["rules"]).and_then(Value::as_array).into_iter().flatten();
    let told = |rule: &Value| {
        let named = |key: &str, before: &str| {
            let items = words(rule, key);
            if items.is_empty() { String::new() } else { format!("{before}{items}") }
        };
        let groups = match words(rule, "apiGroups").as_str() {
            "" => String::new(),
            groups => format!(" of {groups}"),
        };
        let (names, urls) = (named("resourceNames", " named "), named("nonResourceURLs", " on "));
        format!("{}{}{groups}{names}{urls}", words(rule, "verbs"), named("resources", " on "))
    };
    rules.map(told).collect()
}

/// Returns why the app may not have secrets of other apps that it reads.
pub(super) fn missing_secrets(snapshot: &Snapshot) -> Vec<(Blocked, WakeOn)> {
    let app = &snapshot.app;
    let blocked = |message: String, hint: String| {
        (Blocked { object: None, reason: MISSING.into(), message, hint }, WakeOn::Revision)
    };
    let mut told: Vec<(Blocked, WakeOn)> = Vec::new();
    for copy in &snapshot.withheld {
        let new = match &copy.consent {
            Consent::Given => Vec::new(),
            Consent::Unknown => vec![may_not(app, &copy.grant())],
            Consent::Missing(grants) => grants.iter().map(|grant| may_not(app, grant)).collect(),
            Consent::NotExported(exports) => {
                let (key, owner) = (&copy.key, &copy.from_app);
                let exports =
                    if exports.is_empty() { "none".to_owned() } else { format!("only {}", exports.join(", ")) };
                let message = format!("{app} reads the secret {key} of {owner}, which exports {exports}");
                vec![(message, format!("wild app history {owner}"))]
            }
        };
        told.extend(new.into_iter().map(|(message, hint)| blocked(message, hint)));
    }
    told.dedup();
    told
}

/// Says that nobody granted a secret, and how to do that.
fn may_not(app: &AppName, grant: &SecretGrant) -> (String, String) {
    let SecretGrant { owner, key } = grant;
    let message = format!("{app} may not read the secret {key} of {owner}, which nobody granted");
    (message, format!("wild app deploy {app} --grant {grant}"))
}

fn blocked(snapshot: &Snapshot, id: &ObjectId, why: &str, list: &str, item: &str) -> Blocked {
    Blocked {
        object: Some(id.clone()),
        reason: MISSING.into(),
        message: format!("{} {why}, and {} may write only into its own", id.short(), snapshot.app),
        hint: format!("add {item} to apps.{}.grants.{list} in .wild/config.yaml", snapshot.app),
    }
}
