//! Changes that our entry in the managed fields does not tell of, because they came in the same second as our own write.
//!
//! Times there are whole seconds. Whoever applies the same fields under our name in the second of our own apply leaves an entry that is equal
//! to ours, whatever the values are. So what is seen of an object soon after the answer to a write, and is neither that answer nor of anybody
//! else's making, is compared value by value. Not here: the comparison (`observe::audit`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::model::{MANAGER, ObjectId, Observed, OwnEntry};
use crate::target::LiveObject;

/// How long after an answer a change may be of the same second: that second, and the way of the event.
const SOON: Duration = Duration::from_secs(2);
/// Answers that are remembered so long; of more writes than this in that time the oldest are forgotten.
const CAPACITY: usize = 2_048;

/// The answers of the last seconds, and what is to be compared.
#[derive(Default)]
pub(super) struct Doubts {
    answers: BTreeMap<ObjectId, Answer>,
    order: VecDeque<(Instant, ObjectId)>,
    due: BTreeMap<String, BTreeSet<ObjectId>>,
}

struct Answer {
    at: Instant,
    uid: String,
    version: String,
    generation: i64,
    own: OwnEntry,
}

impl Doubts {
    /// Notes the answer to a write.
    pub(super) fn answered(&mut self, id: &ObjectId, observed: &Observed) {
        self.forget_all_but(CAPACITY - 1);
        let Observed { uid, resource_version, generation, fields, time, hash: _ } = observed.clone();
        let (at, own) = (Instant::now(), OwnEntry { fields, time });
        self.answers.insert(id.clone(), Answer { at, uid, version: resource_version, generation, own });
        self.order.push_back((at, id.clone()));
    }

    /// Forgets the answers that are too old, and the oldest of more than so many.
    fn forget_all_but(&mut self, capacity: usize) {
        let is_over = |(at, _): &(Instant, ObjectId)| at.elapsed() >= SOON;
        while self.order.len() > capacity || self.order.front().is_some_and(is_over) {
            let Some((at, id)) = self.order.pop_front() else { break };
            if self.answers.get(&id).is_some_and(|answer| answer.at == at) {
                self.answers.remove(&id);
            }
        }
    }

    /// Takes in what was seen of an object and returns whether it is to be compared.
    pub(super) fn hear(&mut self, id: &ObjectId, live: &LiveObject) -> bool {
        let is_soon = |answer: &&Answer| answer.at.elapsed() < SOON;
        let Some(answer) = self.answers.get(id).filter(is_soon) else { return false };
        let is_alike = live.uid == answer.uid && live.own == answer.own && live.resource_version != answer.version;
        // Of a kind with generations a change of nothing but its status leaves that.
        let is_wanted = live.generation == 0 || live.generation != answer.generation;
        if !is_alike || !is_wanted || live.terminating || is_of_others(live) {
            return false;
        }
        self.due.entry(live.app.clone()).or_default().insert(id.clone());
        true
    }

    /// Returns the objects of an app that are to be compared, once.
    pub(super) fn take(&mut self, app: &str) -> BTreeSet<ObjectId> {
        // Apps are looked at also when nothing is written any more.
        self.forget_all_but(CAPACITY);
        self.due.remove(app).unwrap_or_default()
    }
}

/// Returns whether somebody else changed an object since our entry was written: then our entry tells what that means for us.
fn is_of_others(live: &LiveObject) -> bool {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let is_ours = |entry: &&Value| text(entry, "manager") == MANAGER && text(entry, "operation") == "Apply";
    let entries = live.managed.as_ref().and_then(Value::as_array).into_iter().flatten();
    // The server writes all times in one form, so their texts compare as times do.
    entries.filter(|entry| !is_ours(entry)).any(|entry| text(entry, "time") >= live.own.time)
}
