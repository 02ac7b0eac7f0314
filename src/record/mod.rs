//! Remembers: opens an operation before the first write, keeps every outcome as it arrives, closes it after the last.
//!
//! The inventory is the union of what was there and what is about to be applied before the first request goes out, so that no crash leaves
//! an object that nobody knows. A store that fails in the middle is told once, in the close. Not here: what to do (`plan`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::apply::{Applied, Kept, Noted, Sink};
use crate::base::{Timestamp, chain};
use crate::model::{
    AppName, Archived, ClusterName, CommitId, Effect, HeldVolume, InstanceId, Inventory, ObjectId, Observed, Operation,
    OperationOutcome, OperationState, Outcome, REALM_GROUP, Record, RecordState, RefusalText, Secrets,
};
use crate::plan::{Action, Plan, Snapshot, Verb, archive, marks};
use crate::store::{Error, RecordChange, Store};

/// An operation that writes, from before its first write to after its last.
pub struct Recording<'a> {
    store: &'a Store,
    instance: &'a InstanceId,
    app: &'a AppName,
    cluster: &'a ClusterName,
    /// Where objects of a Keycloak are remembered: on no cluster.
    nowhere: ClusterName,
    commit: &'a CommitId,
    before: &'a Inventory,
    now: Timestamp,
    /// What hooks said that ended badly.
    said: &'a BTreeMap<ObjectId, Vec<String>>,
    /// Values that are hidden in what is kept of deleted objects.
    secrets: Arc<Secrets>,
    operation: Operation,
    /// What an earlier process did in this operation before it died.
    earlier: Vec<Outcome>,
    /// Why a person ended it before it was done, if one did.
    cancelled: Option<RefusalText>,
    failure: Mutex<Option<Error>>,
}

/// Opens the record of a plan: the operation runs, and every object about to be applied is in the inventory.
pub async fn open<'a>(
    store: &'a Store,
    instance: &'a InstanceId,
    snapshot: &'a Snapshot,
    plan: &Plan,
    operation: Operation,
) -> Result<Recording<'a>, Error> {
    let intended: Vec<Record> = plan
        .actions
        .iter()
        .filter(|action| matches!(action.verb, Verb::Apply { .. }) && snapshot.inventory.get(&action.object).is_none())
        .map(|action| intended(action, snapshot))
        .collect();
    let operation = Operation { state: OperationState::Running, ..operation };
    store.begin_operation(instance, &snapshot.app, &operation, &intended).await?;
    let earlier = match operation.request {
        Some(_) => store.outcomes(&operation.id).await?,
        None => Vec::new(),
    };
    Ok(Recording {
        store,
        instance,
        app: &snapshot.app,
        cluster: &snapshot.cluster,
        nowhere: ClusterName::default(),
        commit: &snapshot.commit,
        before: &snapshot.inventory,
        now: snapshot.now,
        said: &snapshot.said,
        secrets: Arc::default(),
        operation,
        earlier,
        cancelled: None,
        failure: Mutex::new(None),
    })
}

impl Recording<'_> {
    /// Returns the operation as it stands.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Takes in the actions of another plan, of the app's Keycloak: what they are about to make is in the inventory before they do.
    pub async fn admit(&self, plan: &Plan) -> Result<(), Error> {
        let is_new =
            |action: &&Action| matches!(action.verb, Verb::Apply { .. }) && self.before.get(&action.object).is_none();
        let new: Vec<Record> = plan
            .actions
            .iter()
            .filter(is_new)
            .map(|action| unconfirmed(action, self.nowhere.clone(), self.commit.clone()))
            .collect();
        if new.is_empty() { Ok(()) } else { self.store.put_records(self.instance, self.app, &new).await }
    }

    /// Returns where an object is remembered.
    fn home(&self, id: &ObjectId) -> &ClusterName {
        if id.group == REALM_GROUP { &self.nowhere } else { self.cluster }
    }

    /// Hides these values in what is kept of deleted objects.
    pub fn hiding(self, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ..self }
    }

    /// Ends it as cancelled, for a reason.
    pub fn cut_short(self, why: RefusalText) -> Self {
        Self { cancelled: Some(why), ..self }
    }

    /// Closes the operation with what came of it. One that made a commit has changed something, whatever is left to do in the cluster.
    pub async fn close(mut self, applied: &Applied, plan: &Plan, now: Timestamp) -> Result<Operation, Error> {
        if let Some(failure) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failure);
        }
        let failed = applied.failed().count();
        let free = plan.blocked.is_empty() && applied.blocked().next().is_none();
        let earlier = Applied { outcomes: self.earlier, ..Applied::default() };
        let changed = self.operation.commit.is_some() || applied.changed() || earlier.changed();
        let (state, outcome) = match (failed, free, changed) {
            _ if self.cancelled.is_some() && changed => (OperationState::Cancelled, OperationOutcome::Changed),
            _ if self.cancelled.is_some() => (OperationState::Cancelled, OperationOutcome::Unchanged),
            (1.., _, _) => (OperationState::Failed, OperationOutcome::Changed),
            (0, false, _) => (OperationState::Succeeded, OperationOutcome::Blocked),
            (0, true, true) => (OperationState::Succeeded, OperationOutcome::Changed),
            // A commit that changes nothing in the cluster is a change all the same.
            (0, true, false) => {
                (OperationState::Succeeded, self.operation.outcome.unwrap_or(OperationOutcome::Unchanged))
            }
        };
        self.operation.state = state;
        self.operation.outcome = Some(outcome);
        let came_to = match &self.cancelled {
            Some(why) => cut_sentence(applied, plan, &why.because),
            None => sentence(applied, plan),
        };
        self.operation.refusal = self.cancelled;
        let said = [std::mem::take(&mut self.operation.message), came_to, last_words(plan, self.said)];
        self.operation.message = said.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        self.operation.commit = Some(self.commit.clone());
        self.operation.ended = Some(now);
        self.store.update_operation(self.instance, &self.operation).await?;
        Ok(self.operation)
    }

    /// Keeps what is about to be deleted, or to outlive that.
    async fn archive(&self, action: &Action, kept: Kept<'_>) -> Result<(), Error> {
        let object = match kept {
            Kept::Volume(volume) => {
                let since = volume.since.max(self.operation.started);
                let held = HeldVolume { since, cluster: self.cluster.clone(), ..volume.clone() };
                return self.store.hold_volumes(self.instance, self.app, &[held]).await;
            }
            Kept::Object(object) => object,
        };
        let archived = Archived {
            object: action.object.clone(),
            uid: action.uid.clone().unwrap_or_default(),
            operation: self.operation.id.clone(),
            commit: self.before.get(&action.object).and_then(|record| record.commit.clone()),
            // The plan was made before its operation began, and an undo looks for what came after that.
            time: self.now.max(self.operation.started),
            body: archive::masked(object, &self.secrets),
        };
        self.store.archive(self.instance, self.app, &archived).await
    }

    /// Notes that the store did not take something: no end of the operation is told then, and the next pass goes on with it.
    fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    async fn remember(&self, action: &Action, outcome: &Outcome) -> Result<(), Error> {
        let change = match (&action.verb, outcome.effect, &outcome.observed) {
            (Verb::Apply { .. }, _, Some(observed)) => self.put(self.applied(action, outcome.effect, observed)),
            (Verb::Apply { .. }, Effect::Deleted, None) => self.put_leaving(action),
            (Verb::Delete { .. }, Effect::Deleted, _) if outcome.message == "gone" => {
                RecordChange::Remove(self.home(&action.object), &action.object)
            }
            (Verb::Delete { .. }, Effect::Deleted, _) => self.put_leaving(action),
            (Verb::Release, Effect::Configured, _) => RecordChange::Remove(self.cluster, &action.object),
            (Verb::LetGo { volume }, Effect::Configured, _) => RecordChange::LetVolumeGo(self.app, &volume.uid),
            _ => RecordChange::Nothing,
        };
        let position = self.earlier.len() + action.id;
        self.store.put_outcome(self.instance, (&self.operation.id, position), outcome, change).await
    }

    /// Returns the record of an object after an answer.
    fn applied(&self, action: &Action, effect: Effect, observed: &Observed) -> Record {
        let Observed { uid, resource_version: _, generation, fields, time, hash } = observed;
        Record {
            id: action.object.clone(),
            cluster: self.home(&action.object).clone(),
            api_version: action.api_version.clone(),
            state: RecordState::Applied,
            uid: uid.clone(),
            hash: hash.clone(),
            fields: fields.clone(),
            time: time.clone(),
            generation: *generation,
            // One that the server keeps otherwise than it was sent is made all the same.
            created: !is_entered(action)
                && (matches!(effect, Effect::Created | Effect::Recreated)
                    || (effect == Effect::Failed && action.uid.is_none() && action.object.group == REALM_GROUP)
                    || is_made_by_us(self.before.get(&action.object), uid)),
            // What is put back while newer content waits is still what an older commit brought, and is built again from there.
            commit: self.brought(&action.object, hash).or_else(|| Some(self.commit.clone())),
            audited: String::new(),
        }
    }

    /// Returns the commit that brought what is applied of an object, if that is the content with this hash.
    fn brought(&self, id: &ObjectId, hash: &str) -> Option<CommitId> {
        let before = self.before.get(id).filter(|record| record.state == RecordState::Applied && record.hash == hash);
        before.and_then(|record| record.commit.clone())
    }

    /// Notes that the deletion of an object has begun.
    fn put_leaving(&self, action: &Action) -> RecordChange<'_> {
        match self.before.get(&action.object) {
            Some(record) => self.put(Record { state: RecordState::Deleting, ..record.clone() }),
            None => RecordChange::Nothing,
        }
    }

    fn put(&self, record: Record) -> RecordChange<'_> {
        RecordChange::Put(self.app, Box::new(record))
    }
}

impl Sink for Recording<'_> {
    fn keep<'a>(&'a self, action: &'a Action, kept: Kept<'a>) -> Noted<'a, Result<(), String>> {
        Box::pin(async move {
            let kept = self.archive(action, kept).await;
            kept.map_err(|error| {
                let why = chain(&error);
                self.fail(error);
                why
            })
        })
    }

    fn outcome<'a>(&'a self, action: &'a Action, outcome: &'a Outcome) -> Noted<'a, ()> {
        Box::pin(async move {
            if let Err(error) = self.remember(action, outcome).await {
                // The walk goes on: stopping it would leave more undone, and the record is rebuilt from the marks.
                self.fail(error);
            }
        })
    }
}

/// Stores what a plan found out about the inventory without any request: objects that are ours after a lost store, deletions that are
/// verified.
pub async fn settle(store: &Store, instance: &InstanceId, snapshot: &Snapshot, plan: &Plan) -> Result<(), Error> {
    if !snapshot.found.is_empty() {
        store.put_records(instance, &snapshot.app, &snapshot.found).await?;
    }
    if !plan.recovered.is_empty() {
        store.put_records(instance, &snapshot.app, &plan.recovered).await?;
    }
    for id in &plan.forgotten {
        store.remove_record(instance, &snapshot.cluster, id).await?;
    }
    Ok(())
}

/// Stores what the plan of a Keycloak found out about the inventory without any request that writes.
pub async fn settle_realms(store: &Store, instance: &InstanceId, plan: &Plan) -> Result<(), Error> {
    if !plan.recovered.is_empty() {
        store.put_records(instance, &plan.app, &plan.recovered).await?;
    }
    for id in &plan.forgotten {
        store.remove_record(instance, &ClusterName::default(), id).await?;
    }
    Ok(())
}

/// Returns the record of an object before its first write. One that is not there will be made by us; if the answer is never taken in, that
/// is all that is known of it.
fn intended(action: &Action, snapshot: &Snapshot) -> Record {
    unconfirmed(action, snapshot.cluster.clone(), snapshot.commit.clone())
}

fn unconfirmed(action: &Action, cluster: ClusterName, commit: CommitId) -> Record {
    Record {
        id: action.object.clone(),
        cluster,
        api_version: action.api_version.clone(),
        state: RecordState::Intended,
        uid: String::new(),
        hash: String::new(),
        fields: String::new(),
        time: String::new(),
        generation: 0,
        created: action.uid.is_none(),
        commit: Some(commit),
        audited: String::new(),
    }
}

/// Returns whether an apply marks its object as a namespace that was there before.
fn is_entered(action: &Action) -> bool {
    matches!(&action.verb, Verb::Apply { payload, force: _ } if payload.annotation(marks::ENTERED).is_some())
}

/// Returns whether the record before an answer says that we made this incarnation. A write that was never confirmed counts: it is sent again
/// only over an object that bears our marks.
fn is_made_by_us(before: Option<&Record>, uid: &str) -> bool {
    before.is_some_and(|record| {
        let is_unconfirmed = record.state == RecordState::Intended && record.uid.is_empty();
        record.created && (record.uid == uid || is_unconfirmed)
    })
}

/// Returns what failed hooks said that hold something back, line by line.
fn last_words(plan: &Plan, said: &BTreeMap<ObjectId, Vec<String>>) -> String {
    let hooks = plan.blocked.iter().filter(|blocked| blocked.reason == "HookFailed");
    let lines = hooks.filter_map(|blocked| blocked.object.as_ref()).filter_map(|id| Some((id, said.get(id)?)));
    let text = |(id, lines): (&ObjectId, &Vec<String>)| {
        let lines: Vec<String> = lines.iter().map(|line| format!("| {line}")).collect();
        format!("{} said last:\n{}", id.short(), lines.join("\n"))
    };
    lines.map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the result of an operation in one sentence.
fn sentence(applied: &Applied, plan: &Plan) -> String {
    if let Some(failed) = applied.failed().next() {
        let others = applied.failed().count().saturating_sub(1);
        let more = if others == 0 { String::new() } else { format!(" ({others} more failed)") };
        return format!("{}{more}.", failed.message);
    }
    let parts = counted(applied, plan);
    let held = applied.blocked().map(|outcome| &outcome.message);
    match plan.blocked.iter().map(|blocked| &blocked.message).chain(held).next() {
        Some(message) if parts.is_empty() => format!("blocked: {message}."),
        Some(message) => format!("{}; blocked: {message}.", parts.join(", ")),
        None if parts.is_empty() => String::new(),
        None => format!("{}.", parts.join(", ")),
    }
}

/// Returns the result of an operation that a person ended.
fn cut_sentence(applied: &Applied, plan: &Plan, because: &str) -> String {
    let left = applied.outcomes.iter().filter(|outcome| outcome.effect == Effect::Skipped).count();
    let failed = applied.failed().next().map(|outcome| format!("failed: {}", outcome.message));
    let mut parts = counted(applied, plan);
    parts.extend((left > 0).then(|| format!("{left} left out")));
    parts.extend(failed);
    if parts.is_empty() { format!("{because}.") } else { format!("{because}; {}.", parts.join(", ")) }
}

/// Returns how many objects came to what.
fn counted(applied: &Applied, plan: &Plan) -> Vec<String> {
    let count = |effect| applied.outcomes.iter().filter(|outcome| outcome.effect == effect).count();
    let mut parts: Vec<String> = [
        (Effect::Created, "created"),
        (Effect::Configured, "configured"),
        (Effect::Recreated, "made anew"),
        (Effect::Deleted, "deleted"),
    ]
    .into_iter()
    .filter(|(effect, _)| count(*effect) > 0)
    .map(|(effect, word)| format!("{} {word}", count(effect)))
    .collect();
    let unchanged = plan.unchanged.len() + count(Effect::Unchanged);
    if unchanged > 0 {
        parts.push(format!("{unchanged} unchanged"));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    #[test]
    fn what_we_made_is_known_as_ours_also_if_the_first_answer_was_never_taken_in() {
        let record = |state, uid: &str, created| Record {
            state,
            uid: uid.into(),
            created,
            ..Record::sample(ObjectId::new("", "Namespace", "", "blog"))
        };
        for (before, expected) in [
            (None, false),
            (Some(record(RecordState::Applied, "1", true)), true),
            (Some(record(RecordState::Applied, "1", false)), false),
            (Some(record(RecordState::Applied, "2", true)), false),
            (Some(record(RecordState::Intended, "", true)), true),
            (Some(record(RecordState::Intended, "", false)), false),
        ] {
            assert_eq!(is_made_by_us(before.as_ref(), "1"), expected, "{before:?}");
        }
    }
}
