//! Pure. What may be deleted and made anew because a field of it cannot be changed.
//!
//! The server says that a field is immutable; this says beforehand whether that ends in a recreation, in a question or in an explanation.
//! What holds data or other objects is never recreated. Not here: telling that refusal from others (`target`), the calls (`apply`).

use super::action::Propagation;
use super::snapshot::{Live, Snapshot};
use super::wanted::Wanted;
use crate::health::HealthState;
use crate::model::RecordState;

/// Annotation by which an author allows or forbids that an object is made anew.
const RECREATE: &str = "rewild.dev/recreate";

/// What follows when the server says that a field of an object cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recreate {
    /// It is deleted, in this incarnation, and made anew.
    Allowed(Propagation),
    /// The same without asking the server first whether it can be changed: a hook runs again.
    Now(Propagation),
    /// An author has to allow it first; what it would interrupt.
    Ask(&'static str),
    /// It never is; what a person can do instead.
    Never(&'static str),
}

/// Returns what follows for a wanted object, by its kind, its annotation, its state, and what a person allows this once.
pub(super) fn recreate(wanted: &Wanted, live: Option<&Live>, allowed: &[String]) -> Recreate {
    let kind = wanted.id.kind.as_str();
    let is_allowed = allowed.contains(&wanted.id.short());
    let word = wanted.payload.annotation(RECREATE);
    let propagation = if kind == "StatefulSet" { Propagation::Orphan } else { Propagation::Background };
    match (kind, word) {
        ("PersistentVolumeClaim" | "PersistentVolume", _) => {
            Recreate::Never("make a new claim under another name and move the data")
        }
        ("Namespace", _) => Recreate::Never("move the app to another namespace"),
        ("CustomResourceDefinition", _) => Recreate::Never("its objects would go with it; add a version instead"),
        (_, Some("never")) => Recreate::Never("rewild.dev/recreate: never stands on it"),
        (_, Some("allow")) => Recreate::Allowed(propagation),
        (_, _) if is_allowed => Recreate::Allowed(propagation),
        ("Job", _) if is_running(live) => Recreate::Ask("it runs now and would begin again"),
        ("Job" | "RoleBinding" | "ClusterRoleBinding" | "Secret" | "ConfigMap", _) => Recreate::Allowed(propagation),
        (class, _) if class.ends_with("Class") => Recreate::Allowed(propagation),
        ("StatefulSet", _) => Recreate::Ask("its pods keep running and are taken over"),
        ("Deployment" | "DaemonSet" | "ReplicaSet" | "Pod", _) => Recreate::Ask("its pods stop and start again"),
        ("Service", _) => Recreate::Ask("its address changes"),
        (_, _) => Recreate::Ask("what depends on it is interrupted"),
    }
}

/// Returns what follows for a hook that is there and ran for another state of its app. The record knows; the mark on the object is asked where
/// there is none, because anybody may have written there.
pub(super) fn of_hook(snapshot: &Snapshot, wanted: &Wanted) -> Option<Recreate> {
    let live = snapshot.live.get(&wanted.id).filter(|_| wanted.is_hook())?;
    let record = snapshot.inventory.get(&wanted.id).filter(|record| record.state == RecordState::Applied);
    let ran = record.map_or(&live.hash, |record| &record.hash);
    (*ran != wanted.hash).then_some(Recreate::Now(Propagation::Background))
}

pub(super) fn is_running(live: Option<&Live>) -> bool {
    live.and_then(|live| live.health.as_ref()).is_some_and(|health| health.state == HealthState::Progressing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Health;
    use crate::model::Object;
    use crate::plan::tests::world::{World, claim, config, deployment, desired, job};

    fn check(object: Object, word: &str, health: Option<Health>, expected: &str) {
        check_allowed(object, word, health, &[], expected);
    }

    fn check_allowed(object: Object, word: &str, health: Option<Health>, allowed: &[String], expected: &str) {
        let mut object = object;
        if !word.is_empty() {
            object.set_annotation(RECREATE, word);
        }
        let world = World::deployed(std::slice::from_ref(&object));
        let live = world.snapshot.live.get(&object.id()).map(|live| Live { health, ..live.clone() });
        let found = match recreate(&Wanted::new(&world.snapshot, &desired(&object)), live.as_ref(), allowed) {
            Recreate::Allowed(Propagation::Background) => "allowed",
            Recreate::Allowed(Propagation::Orphan) => "allowed, pods stay",
            Recreate::Now(_) => "now",
            Recreate::Ask(_) => "asked",
            Recreate::Never(_) => "never",
        };
        assert_eq!(found, expected, "{} {word}", object.kind());
    }

    fn kind(kind: &str) -> Object {
        let mut object = config("a", "1");
        object.0.insert("kind".into(), kind.into());
        object
    }

    #[test]
    fn what_holds_data_is_never_made_anew_and_what_runs_only_if_an_author_says_so() {
        check(job("a"), "", Some(Health::healthy()), "allowed");
        check(job("a"), "", Some(Health::progressing("it runs")), "asked");
        check(job("a"), "never", Some(Health::healthy()), "never");
        check(config("a", "1"), "", None, "allowed");
        check(kind("RoleBinding"), "", None, "allowed");
        check(kind("StorageClass"), "", None, "allowed");
        check(deployment("a", "web:1"), "", None, "asked");
        check(deployment("a", "web:1"), "allow", None, "allowed");
        check(kind("StatefulSet"), "allow", None, "allowed, pods stay");
        check(kind("Service"), "", None, "asked");
        for data in ["Namespace", "PersistentVolume", "CustomResourceDefinition"] {
            check(kind(data), "allow", None, "never");
        }
        check(claim("data"), "allow", None, "never");
    }
    #[test]
    fn a_person_may_allow_it_once_where_an_author_did_not_forbid_it() {
        let named = |name: &str| [name.to_owned()];
        check_allowed(deployment("a", "web:1"), "", None, &named("Deployment/a"), "allowed");
        check_allowed(deployment("a", "web:1"), "", None, &named("Deployment/b"), "asked");
        check_allowed(deployment("a", "web:1"), "never", None, &named("Deployment/a"), "never");
        check_allowed(kind("StatefulSet"), "", None, &named("StatefulSet/a"), "allowed, pods stay");
        check_allowed(claim("data"), "", None, &named("PersistentVolumeClaim/data"), "never");
    }
}
