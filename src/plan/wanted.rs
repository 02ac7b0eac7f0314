//! Pure. A wanted object as the rules see it: identity, payload with our marks, place in the order.
//!
//! Not here: whether it is written (`write`).

use serde_json::Value;

use super::action::Blocked;
use super::authored;
use super::grant;
use super::ground;
use super::hash;
use super::hook::{self, Moment};
use super::kind;
use super::marks::{self, Origin};
use super::namespace;
use super::refusal;
use super::restart;
use super::snapshot::{DesiredObject, Ground, Snapshot};
use super::yields::Yields;
use crate::base::{Digest, Encoder};
use crate::model::{Object, ObjectId};

/// Annotation by which an author orders objects.
const WAVE: &str = "rewild.dev/wave";
/// Value of the annotation on a namespace that was there before its app.
const GRANTED: &str = "granted";
/// Annotation by which an author leaves an object out of the app's health.
const HEALTH: &str = "rewild.dev/health";
/// Largest wave and, negated, the smallest.
const MAX_WAVE: i32 = 100;
/// Wave of hooks that come before everything else of the app.
const FIRST_WAVE: i32 = -MAX_WAVE - 1;
/// Wave of the namespace that we derive: nothing can be in it before it is there.
const NAMESPACE_WAVE: i32 = FIRST_WAVE - 1;
/// Wave of hooks that come after everything else of the app.
const AFTER_WAVE: i32 = MAX_WAVE + 1;
/// Wave of deletions: after all that authors can name, so that no delete stands beside a write.
pub(super) const LAST_WAVE: i32 = AFTER_WAVE + 1;

/// One wanted object.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wanted {
    pub(super) id: ObjectId,
    pub(super) payload: Object,
    pub(super) hash: String,
    pub(super) source: String,
    pub(super) wave: i32,
    pub(super) stage: u8,
    pub(super) yields: Yields,
    /// Why it is never sent, if that is so.
    pub(super) refused: Option<Blocked>,
    /// What of its file is left out, if a person should know.
    pub(super) left_out: Option<String>,
}

impl Wanted {
    /// Returns a desired object with our marks and without what only a server writes.
    pub(super) fn new(snapshot: &Snapshot, desired: &DesiredObject) -> Self {
        let mut payload = hash::canonical(&desired.object);
        let origin = Origin { hash: &desired.hash, commit: &snapshot.commit, path: &desired.file };
        marks::mark(&mut payload, snapshot.identity(), origin);
        restart::settle(snapshot, &desired.hash, &mut payload);
        let id = desired.object.id();
        let source = if desired.file.is_empty() { String::new() } else { format!("{}:{}", desired.file, desired.line) };
        let wave = if id.kind == "Namespace" { NAMESPACE_WAVE } else { place(&desired.object) };
        let stage = kind::stage(&id.group, &id.kind);
        let yields = Yields::of(&desired.object, snapshot);
        let hash = desired.hash.clone();
        bound_run(&mut payload, &id);
        if is_entered(snapshot, &id) {
            payload.set_annotation(marks::ENTERED, GRANTED);
        }
        let refused = refusal::refused(desired)
            .or_else(|| grant::missing(snapshot, &id, &payload))
            .or_else(|| grant::missing_finalizers(snapshot, desired));
        Self { id, payload, hash, source, wave, stage, yields, refused, left_out: authored::left_out(desired) }
    }

    /// Returns whether it is a Namespace that no file of the repository holds.
    pub(super) fn is_derived_namespace(&self) -> bool {
        self.source.is_empty() && self.id == namespace::id(&self.id.name)
    }

    /// Returns whether it is a Job.
    pub(super) fn is_job(&self) -> bool {
        kind::is_job(&self.id)
    }

    /// Returns whether it is a Job that the cluster deletes some time after it has ended.
    pub(super) fn expires(&self) -> bool {
        self.is_job() && self.payload.at(&["spec", "ttlSecondsAfterFinished"]).is_some()
    }

    /// Returns whether it is a Job that runs around a deployment.
    pub(super) fn is_hook(&self) -> bool {
        self.is_job() && self.payload.annotation(hook::HOOK).is_some()
    }

    /// Lets a hook run again with every change of its app and with nothing else: its hash says of which state of the app it is.
    fn bind_to(&mut self, app: &Digest) {
        let mut encoder = Encoder::new();
        encoder.text("hook").text(&self.hash).text(&app.to_hex());
        self.hash = hash::of_digest(&encoder.digest());
        self.payload.set_annotation(marks::HASH, &self.hash);
    }

    /// Returns whether its author gave it a place in the order.
    pub(super) fn has_own_place(&self) -> bool {
        [WAVE, hook::HOOK].iter().any(|key| self.payload.annotation(key).is_some())
    }

    /// Returns whether its health counts for the app.
    pub(super) fn counts_for_health(&self) -> bool {
        self.payload.annotation(HEALTH) != Some("ignore")
    }
}

/// Returns whether an object is a namespace that was there before its app.
fn is_entered(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let is_foreign = || matches!(ground::of(snapshot, &id.name), Ground::Foreign(_));
    let is_marked = || snapshot.live.get(id).is_some_and(|live| live.entered);
    let is_new = snapshot.existing.contains_key(id) || ground::is_unconfirmed(snapshot, id);
    namespace::is_one(id) && if is_new { is_foreign() } else { is_marked() }
}

/// Bounds how long the Job of a hook runs: its app waits for it.
fn bound_run(payload: &mut Object, id: &ObjectId) {
    let seconds = hook::deadline(payload);
    let is_hook = kind::is_job(id) && payload.annotation(hook::HOOK).is_some();
    if let Some(spec) = payload.0.get_mut("spec").and_then(Value::as_object_mut).filter(|_| is_hook) {
        spec.insert("activeDeadlineSeconds".into(), seconds.into());
    }
}

/// Makes hooks of an app, among what is wanted or beside it, hooks of this very state of it.
pub(super) fn bind_hooks(wanted: &mut [Wanted], beside: &mut [Wanted]) {
    let mut encoder = Encoder::new();
    for Wanted { id, hash, .. } in wanted.iter().filter(|one| !one.is_hook()) {
        encoder.text(&id.group).text(&id.kind).text(&id.namespace).text(&id.name).text(hash);
    }
    let app = encoder.digest();
    wanted.iter_mut().chain(beside).filter(|one| one.is_hook()).for_each(|hook| hook.bind_to(&app));
}

/// Returns the wave of an object: that of its hook, or the one that its author gave it.
fn place(object: &Object) -> i32 {
    Moment::of(object).and_then(hook_wave).or_else(|| wave(object)).unwrap_or(0)
}

/// Returns the wave of a hook that its moment places.
fn hook_wave(moment: Moment) -> Option<i32> {
    match moment {
        Moment::Before { .. } => Some(FIRST_WAVE),
        Moment::After { .. } | Moment::OnFailure => Some(AFTER_WAVE),
        Moment::PreDelete | Moment::PostDelete => None,
    }
}

/// Returns the wave that an author gave an object, or nothing if what stands there is no wave.
pub(super) fn wave(object: &Object) -> Option<i32> {
    let Some(text) = object.annotation(WAVE) else { return Some(0) };
    text.parse().ok().filter(|wave| (-MAX_WAVE..=MAX_WAVE).contains(wave))
}
