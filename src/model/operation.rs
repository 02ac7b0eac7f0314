//! Format. The stored record of a request or of a pass that writes.
//!
//! Pure. Not here: the rows (`store`), opening and closing them (`record`).

use serde::{Deserialize, Serialize};

use super::{AppName, CommitId, Diagnostic, ObjectId, Request, Who};
use crate::base::Timestamp;

/// Id of an operation: `op_<type>_<target>_<name>_<unix nanoseconds>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub String);

impl OperationId {
    /// Returns the id of an operation on an app (or on the instance) that began at a time.
    pub fn new(verb: &str, app: Option<&AppName>, now: Timestamp) -> Self {
        let nanos = now.0.saturating_mul(1_000);
        match app {
            Some(app) => Self(format!("op_{verb}_app_{app}_{nanos}")),
            None => Self(format!("op_{verb}_instance_self_{nanos}")),
        }
    }
}

impl std::fmt::Display for OperationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an operation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationState {
    /// Stored, not begun.
    Waiting,
    /// Begun.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Ended by a person before it was done.
    Cancelled,
    /// Found running at start: the process before us died in it.
    Interrupted,
}

/// What an operation came to, beside its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationOutcome {
    /// Something was written.
    Changed,
    /// Nothing had to be written.
    Unchanged,
    /// A person has to decide conflicts.
    NeedsDecision,
    /// Something is held back with a reason.
    Blocked,
    /// A newer revision took over.
    Superseded,
}

/// An operation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// The word for it: `deploy`, `add`, `reconcile` …
    pub verb: String,
    /// The app it is about, if it is about one.
    pub app: Option<AppName>,
    /// What was asked for; absent for a pass that nobody asked for.
    pub request: Option<Request>,
    /// Why it began, such as `push` or `drift`.
    pub trigger: String,
    /// Who asked, by the name that was given: a claim.
    pub actor: String,
    /// The user of the system that asked; empty where nobody knows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The commit it made or applied.
    pub commit: Option<CommitId>,
    /// Where it stands.
    pub state: OperationState,
    /// What it came to.
    pub outcome: Option<OperationOutcome>,
    /// One sentence for people.
    pub message: String,
    /// Why it was not done, if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalText>,
    /// When it was stored.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

impl Operation {
    /// Returns one that has not begun: of a request and who asked for it, or of a pass that nobody asked for.
    pub fn waiting(verb: &str, app: Option<&AppName>, asked: Option<(Request, &str)>, now: Timestamp) -> Self {
        let (request, actor) = asked.map_or((None, "wild"), |(request, actor)| (Some(request), actor));
        let Who { name, user } = Who::parse(actor);
        Self {
            id: OperationId::new(verb, app, now),
            verb: verb.to_owned(),
            app: app.cloned(),
            trigger: if request.is_some() { "request" } else { "reconcile" }.to_owned(),
            request,
            actor: name,
            user,
            commit: None,
            state: OperationState::Waiting,
            outcome: None,
            message: String::new(),
            refusal: None,
            started: now,
            ended: None,
        }
    }
}

/// Why a request was refused, in the three parts that people read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalText {
    /// Exit code of the command: 2 wrong input, 3 a decision is needed, 6 held back.
    pub code: u8,
    /// What was attempted.
    pub what: String,
    /// Why it is not done.
    pub because: String,
    /// A command to copy.
    pub remedy: String,
    /// Findings in files, if they are the reason.
    pub diagnostics: Vec<Diagnostic>,
}

/// A person's word that ended an operation of an app before it was done: the app is held as it is then.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancellation {
    /// The operation.
    pub operation: OperationId,
    /// The word for it.
    pub verb: String,
    /// By whom and why, in words that follow "it was".
    pub said: String,
    /// The tree of the app's directory that is not to be applied, empty if there is none; nothing if it was not known yet.
    pub revision: Option<String>,
}

/// What happened to one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Effect {
    /// It was not there.
    Created,
    /// It was changed.
    Configured,
    /// It was as wanted.
    Unchanged,
    /// It is gone or going.
    Deleted,
    /// It was deleted and made again.
    Recreated,
    /// It was somebody else's.
    Adopted,
    /// Something it depends on failed, or a person ended the operation before its turn.
    Skipped,
    /// It is held back.
    Blocked,
    /// The target refused.
    Failed,
}

/// Who has to act on a failure (seed S1): the user's input or the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorClass {
    /// The input must change; not retried before.
    User,
    /// Retried with backoff.
    System,
}

/// The result of one action.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The object.
    pub object: ObjectId,
    /// What happened.
    pub effect: Effect,
    /// Class of the error, if it failed.
    pub error: Option<ErrorClass>,
    /// What the target said, cut to the length the store keeps; never a secret value.
    pub message: String,
    /// Code of what holds it back, such as `ForeignOwner`; empty otherwise.
    #[serde(default)]
    pub reason: String,
    /// The object as the target now reports it, if it answered with one.
    pub observed: Option<Observed>,
}

/// What a target's answer says about an object we wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// Its incarnation.
    pub uid: String,
    /// Its version; compared for equality only.
    pub resource_version: String,
    /// Generation of its spec.
    pub generation: i64,
    /// First 16 bytes, in hex, of the digest over our managed fields; empty if fields were left out that others hold.
    pub fields: String,
    /// Time of our managed fields entry as the server wrote it.
    pub time: String,
    /// Desired hash that was applied.
    pub hash: String,
}
