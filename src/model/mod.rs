//! Pure. The nouns that at least three modules share. Values only: no rule of merge, plan or compile lives here.
//!
//! Not here: anything that reads, writes or decides.

mod app_state;
pub mod apply_set;
mod archive;
mod check;
mod cluster;
mod config;
mod diagnostic;
mod directory;
mod event;
mod field_path;
mod generation;
mod inventory;
mod leaving;
mod managed;
mod name;
mod no_secrets;
mod object;
mod operation;
mod privacy;
mod prune;
mod realm;
mod request;
mod revision;
mod secrets;
mod settings;
mod subdirectory;
mod system;
mod tree;
mod trigger;
pub mod veil;
mod who;

pub use app_state::{AppState, DriftState, ObjectState, Standing};
pub use archive::{Archived, HeldVolume, HoldStage, RECLAIM_POLICY};
pub use check::{Check, CheckFinding, CheckKind};
pub use cluster::{ClusterIdentity, ClusterName, ClusterNameError, Likeness};
pub use config::Config;
pub use diagnostic::{Diagnostic, Severity};
pub use directory::{DirectoryTrouble, UpstreamTrouble};
pub use event::{Event, EventKind};
pub use field_path::{at, locate, value_at};
pub use generation::{Generation, GenerationRecord};
pub use inventory::{Inventory, Record, RecordState, Spread};
pub use leaving::{Finalizer, Leaving};
pub use managed::{Addition, Editors, MANAGER, OwnEntry, additions, leftovers, own};
pub use name::{AppName, InstanceId, InstanceName, NameError, PackageName};
pub use no_secrets::NoSecrets;
pub use object::{Object, ObjectId};
pub use operation::{
    Cancellation, Effect, ErrorClass, Observed, Operation, OperationId, OperationOutcome, OperationState, Outcome,
    RefusalText,
};
pub use privacy::{Narrowed, Privacy, is_copy_of, privacy};
pub use prune::{PRUNE, PRUNE_WORDS, Prune};
pub use realm::{CLIENT_SECRET, REALM_API, REALM_GROUP, RealmKind, realm_object};
pub use request::{Branch, DataFate, Decision, Deploy, Request, Take};
pub use revision::{Author, CommitId, CommitIdError, Revision};
pub use secrets::{
    MASK, NewSecret, Purpose, SecretBytes, SecretOrigin, SecretOrigins, SecretPayloads, SecretValue, Secrets,
};
pub use settings::{
    AdoptPolicy, AppCluster, AppSettings, AppUpdateSettings, AuditSettings, ClusterSettings, ConflictPolicy,
    DeletionBudget, DeletionPolicy, DriftPolicy, ExtraPolicy, Grants, HandoverRule, HealthRule, HealthTest,
    HistorySettings, IdentityPolicy, IgnoreRule, InstanceBudget, ReconcileSettings, RecoveryMode, RecoverySettings,
    SETTINGS_PATH, SETTINGS_VERSION, Settings, SharedSecret, StatusSettings, Suspension, TlsSettings, UpdatePolicy,
    UpdateSettings, Upstream, Verify,
};
pub use subdirectory::{MAX_SUBDIRECTORY_DEPTH, Subdirectory, SubdirectoryError};
pub use system::{CONTROL_NAMESPACE, is_of_system};
pub use tree::{File, FileMode, FileTree};
pub use trigger::{Reason, Trigger};
pub use veil::Veil;
pub use who::Who;
