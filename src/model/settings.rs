//! Format. `.wild/config.yaml`, version `rewild.dev/v1`: our settings for one instance, committed with it.
//!
//! Pure. Unknown keys are kept in the file and ignored here; a newer `apiVersion` is refused by the reader.
//! Not here: reading the text (`compile::settings_of`), the daemon's own settings (`settings::daemon`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CONTROL_NAMESPACE, Editors, InstanceId, NoSecrets};
use crate::base::duration;

/// Path of the file in an instance repository.
pub const SETTINGS_PATH: &str = ".wild/config.yaml";
/// Version of the format that this build writes and reads.
pub const SETTINGS_VERSION: &str = "rewild.dev/v1";

/// The settings of one instance.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Format version.
    pub api_version: String,
    /// Identity of the instance, made once by `wild init`.
    pub instance_id: InstanceId,
    /// Upstream package directories.
    #[serde(default)]
    pub directories: Vec<Upstream>,
    /// Which cluster, and where our own objects live in it.
    #[serde(default)]
    pub cluster: ClusterSettings,
    /// The periodic reconcile.
    #[serde(default)]
    pub reconcile: ReconcileSettings,
    /// What to do about drift unless an app says otherwise.
    #[serde(default)]
    pub drift: DriftPolicy,
    /// What to do about what people add to objects in the cluster unless an app says otherwise.
    #[serde(default)]
    pub extra: ExtraPolicy,
    /// What to do where others hold fields of ours unless an app says otherwise.
    #[serde(default)]
    pub conflicts: ConflictPolicy,
    /// Beginnings of the names of managers through which people edit, beside those that are built in.
    #[serde(default)]
    pub editors: Editors,
    /// Fields that are wanted to be changed by others, beside those that are built in.
    #[serde(default)]
    pub handover: Vec<HandoverRule>,
    /// The slow comparison of live objects, value by value.
    #[serde(default)]
    pub audit: AuditSettings,
    /// Fields of live objects that are left to others.
    #[serde(default)]
    pub ignore: Vec<IgnoreRule>,
    /// How the health of kinds is told whose status we have no rule for, or another.
    #[serde(default)]
    pub health: Vec<HealthRule>,
    /// How long an object may be on its way before it counts as failing, such as `10m`; with `0` it never does.
    #[serde(default = "health_timeout", deserialize_with = "duration::deserialize")]
    pub health_timeout: Duration,
    /// Whether objects without an owner may be taken over without asking.
    #[serde(default)]
    pub adopt: AdoptPolicy,
    /// Budget of deletions that need no approval.
    #[serde(default)]
    pub deletion: DeletionPolicy,
    /// Namespaces whose deletion does not end.
    #[serde(default)]
    pub recovery: RecoverySettings,
    /// Certificates that apps share.
    #[serde(default)]
    pub tls: TlsSettings,
    /// How long it is known what was done.
    #[serde(default)]
    pub history: HistorySettings,
    /// As whom objects are written unless an app says otherwise.
    #[serde(default)]
    pub identity: IdentityPolicy,
    /// The merge bot.
    #[serde(default)]
    pub updates: UpdateSettings,
    /// Commit statuses on a forge.
    #[serde(default)]
    pub statuses: StatusSettings,
    /// What looks like a secret in git and is none.
    #[serde(default)]
    pub no_secrets: NoSecrets,
    /// Whether what becomes of apps is told by Events in the cluster as well, each a request of its own.
    #[serde(default)]
    pub kubernetes_events: bool,
    /// What an app does differently.
    #[serde(default)]
    pub apps: BTreeMap<String, AppSettings>,
}

/// An upstream package directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Upstream {
    /// Name, unique in the instance.
    pub name: String,
    /// Where it is fetched from.
    pub url: String,
    /// Branch that is followed.
    #[serde(default = "main_branch")]
    pub branch: String,
    /// Directory of the packages, if it is neither the root nor `apps`.
    #[serde(default)]
    pub path: String,
    /// What must be true of a commit before anything is taken from it.
    #[serde(default, skip_serializing_if = "Verify::is_none")]
    pub verify: Verify,
}

/// What must be true of a commit of an upstream before anything is taken from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verify {
    /// Nothing.
    #[default]
    None,
    /// It is signed by somebody whom the daemon's settings name.
    Signed,
}

impl Verify {
    /// Returns whether nothing must be.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns how the settings have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Signed => "signed",
        }
    }
}

/// Which cluster the instance lives on.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSettings {
    /// Name of the cluster as `wild cluster add` or the daemon's settings call it; empty for the first one.
    pub context: String,
    /// Namespace of the ApplySet parent.
    pub control_namespace: String,
}

/// The periodic reconcile.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct ReconcileSettings {
    /// Time between passes that nothing else woke, such as `10m`; `0` turns it off.
    #[serde(deserialize_with = "duration::deserialize")]
    pub interval: Duration,
}

/// The slow comparison of live objects, value by value: the proof that no difference is missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditSettings {
    /// Share of all objects that are compared each hour, in percent, those first that were compared longest ago; `0` turns it off.
    pub percent_per_hour: u8,
}

/// What to do about drift.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftPolicy {
    /// Put the committed value back at once.
    #[default]
    Correct,
    /// Say so and leave it until a person decides.
    Report,
    /// Do not look.
    Off,
}

/// What to do about fields that people add to live objects beside what git says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtraPolicy {
    /// Say so and leave them until a person decides.
    #[default]
    Report,
    /// Leave them without a word.
    Keep,
    /// Take them away at once.
    Remove,
}

/// What to do where another manager than a person's holds a field that git says, and no rule gives it the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// Take the field over and say from whom.
    #[default]
    Force,
    /// Leave it to who holds it, and tell it as drift.
    Yield,
    /// Hold the object back until a person decides.
    Block,
}

/// A field that a controller is wanted to change.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandoverRule {
    /// JSON pointer, as in an ignore rule.
    pub path: String,
    /// Field manager; `*` stands for any text.
    pub manager: String,
    /// Subresource that it writes through, such as `scale`; any if empty.
    pub subresource: String,
}

/// What to do about a live object that nobody owns and git wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdoptPolicy {
    /// Block the object until a person agrees.
    #[default]
    Ask,
    /// Take it over.
    Unowned,
}

/// Budget of deletions; what goes beyond it waits for a person. And for how long data outlives them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeletionPolicy {
    /// Objects of one app.
    pub app: DeletionBudget,
    /// Objects of all apps in one revision.
    pub instance: InstanceBudget,
    /// How long the volumes of an app are held that is deleted with its data, such as `7d`; with `0` they go at once.
    #[serde(deserialize_with = "duration::deserialize")]
    pub data_grace: Duration,
}

/// A budget of all apps together: the larger of a count and a share.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct InstanceBudget {
    /// Objects that may go in any case.
    pub min: usize,
    /// Share of all objects that may go, in percent.
    pub percent: usize,
    /// Apps that one commit may remove.
    pub apps: usize,
}

/// A budget: the larger of a count and a share.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct DeletionBudget {
    /// Objects that may go in any case.
    pub min: usize,
    /// Share of all objects that may go, in percent.
    pub percent: usize,
}

/// Namespaces whose deletion does not end.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct RecoverySettings {
    /// Whether they are freed at all.
    pub mode: RecoveryMode,
    /// Time that the cluster has to do it by itself, such as `30s`.
    #[serde(deserialize_with = "duration::deserialize")]
    pub after: Duration,
    /// Finalizers that are taken off what is in them without asking, whoever placed them.
    pub finalizers: BTreeSet<String>,
}

/// Whether a namespace that is being deleted for too long, and what is left in it, is let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryMode {
    /// It is where nobody has to agree; what a program holds waits for a person.
    #[default]
    Auto,
    /// A person has to agree to each step.
    Ask,
    /// It is only said what holds it.
    Never,
}

/// Certificates that apps share.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct TlsSettings {
    /// Secrets, as `namespace/name`, of which an app gets a copy whose Ingress or Gateway names one and that has none of its own.
    pub shared: Vec<SharedSecret>,
}

/// A Secret that apps may have copies of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct SharedSecret {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl TryFrom<String> for SharedSecret {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // Both become parts of addresses.
        let is_plain = |part: &str| {
            let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
            !part.is_empty() && part.bytes().all(known) && !part.starts_with('.')
        };
        match text.split_once('/') {
            Some((namespace, name)) if is_plain(namespace) && is_plain(name) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} names no Secret as namespace/name")),
        }
    }
}

/// The merge bot.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct UpdateSettings {
    /// Cron line with five fields.
    pub schedule: String,
    /// Time zone of the cron line.
    pub timezone: String,
    /// Which updates are merged without a person.
    pub policy: UpdatePolicy,
}

/// How long it is known what was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct HistorySettings {
    /// How long what came of each object of an operation is kept, such as `120h`; after that its summary is.
    #[serde(deserialize_with = "duration::deserialize")]
    pub details: Duration,
}

/// As whom the objects of an app are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdentityPolicy {
    /// As whoever the kubeconfig says that we are.
    #[default]
    Kubeconfig,
    /// As the service account `wild-apply` of the app's namespace, so that the cluster itself keeps an app within its rights.
    Impersonate,
}

/// Which updates are merged without a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdatePolicy {
    /// None: a person asks for each.
    #[default]
    Manual,
    /// All that merge without conflict.
    All,
}

/// Commit statuses on a forge.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusSettings {
    /// Which forge: `auto`, `gitea` or `none`.
    pub forge: String,
    /// Name of the secret that holds the token and the address it is bound to, such as `forge`.
    pub token_secret: String,
}

/// What one app does differently.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AppSettings {
    /// Drift policy of this app.
    pub drift: Option<DriftPolicy>,
    /// What to do about what people add to its objects.
    pub extra: Option<ExtraPolicy>,
    /// What to do where others hold fields of its objects.
    pub conflicts: Option<ConflictPolicy>,
    /// Fields of its objects that others are wanted to change, beside those that the instance names.
    pub handover: Vec<HandoverRule>,
    /// Whether nothing of it is written for now.
    pub suspend: Option<Suspension>,
    /// The cluster that it lives on, if it is another one than the instance's.
    pub cluster: AppCluster,
    /// As whom its objects are written.
    pub identity: Option<IdentityPolicy>,
    /// How long its objects may be on their way.
    #[serde(deserialize_with = "duration::deserialize_some")]
    pub health_timeout: Option<Duration>,
    /// Fields of its live objects that are left to others, beside those that the instance names.
    pub ignore: Vec<IgnoreRule>,
    /// Update policy of this app.
    pub updates: Option<AppUpdateSettings>,
    /// What the app may do beyond its own namespace.
    pub grants: Grants,
}

/// Which cluster an app lives on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppCluster {
    /// Name of the cluster; empty for that of the instance.
    pub context: String,
}

/// Why nothing of an app is written, and until when.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Suspension {
    /// Why, for people.
    pub reason: String,
    /// When it ends by itself, such as `2027-01-31T00:00:00Z`; never if empty.
    pub until: String,
}

/// Fields of live objects that are left to whoever holds them. What is not named matches everything; `*` stands for any text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IgnoreRule {
    /// API group of the objects.
    pub group: String,
    /// Their kind.
    pub kind: String,
    /// Their namespace.
    pub namespace: String,
    /// Their name.
    pub name: String,
    /// JSON pointers; `*` stands for any key or item, `[name=web]` for the item with that key.
    pub paths: Vec<String>,
    /// Field managers that may hold them; all if there are none.
    pub managers: Vec<String>,
    /// When the rule ends, such as `2027-01-31T00:00:00Z`; never if empty.
    pub until: String,
    /// Why, for people.
    pub reason: String,
}

/// How the health of the objects of a kind is told. What holds first, in the order degraded, progressing, suspended, counts; where none
/// does, an object is healthy if `healthy` holds or is absent, and on its way otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HealthRule {
    /// API group; any if empty.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// It does what it should.
    pub healthy: Option<HealthTest>,
    /// It is on its way.
    pub progressing: Option<HealthTest>,
    /// It is stopped on purpose.
    pub suspended: Option<HealthTest>,
    /// It needs somebody.
    pub degraded: Option<HealthTest>,
}

/// A value of an object that means something.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HealthTest {
    /// JSON pointer, such as `/status/phase`; `[type=Ready]` stands for the item with that key.
    pub path: String,
    /// The values, as text.
    pub equals: Vec<String>,
}

/// The merge bot for one app.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppUpdateSettings {
    /// Policy of this app.
    pub policy: Option<UpdatePolicy>,
}

/// What an app may do beyond its own namespace; nothing unless written here.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Grants {
    /// Foreign namespaces.
    pub namespaces: Vec<String>,
    /// Cluster-scoped kinds.
    pub kinds: Vec<String>,
    /// Keys of other apps' secrets, as `<app>.<key>`: the owner by its own name, not by one that a package gives it.
    pub secrets: Vec<String>,
    /// What its pods may be or use of a node: `privileged`, `capabilities`, `hostPath`, `hostNetwork`, `hostPID`, `hostIPC`, `hostPort`,
    /// `hostProbe`, `hostProcess`, `procMount`, `seccomp`, `appArmor`, `seLinux`, `sysctls`.
    pub pod: Vec<String>,
    /// What may keep its objects from going: finalizers by name.
    pub finalizers: Vec<String>,
    /// Realms of the instance's Keycloak beside the one that is called like the app.
    pub realms: Vec<String>,
}

fn main_branch() -> String {
    "main".to_owned()
}

/// As long as a Deployment takes until it says that it makes no progress.
fn health_timeout() -> Duration {
    Duration::from_secs(600)
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self { context: String::new(), control_namespace: CONTROL_NAMESPACE.to_owned() }
    }
}

impl Default for ReconcileSettings {
    fn default() -> Self {
        Self { interval: Duration::from_secs(600) }
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { percent_per_hour: 1 }
    }
}

impl Default for DeletionPolicy {
    fn default() -> Self {
        let data_grace = Duration::from_secs(7 * 24 * 3600);
        Self { app: DeletionBudget::default(), instance: InstanceBudget::default(), data_grace }
    }
}

impl Default for DeletionBudget {
    fn default() -> Self {
        Self { min: 5, percent: 20 }
    }
}

impl Default for InstanceBudget {
    fn default() -> Self {
        Self { min: 20, percent: 5, apps: 2 }
    }
}

impl Default for RecoverySettings {
    fn default() -> Self {
        // Seed S3: half a minute of normal clean-up comes first.
        Self { mode: RecoveryMode::Auto, after: Duration::from_secs(30), finalizers: BTreeSet::new() }
    }
}

impl Default for HistorySettings {
    fn default() -> Self {
        // Seed S0: snapshots are kept for five days.
        Self { details: Duration::from_secs(120 * 3600) }
    }
}

impl Default for TlsSettings {
    fn default() -> Self {
        // Seed S3: one certificate for what the world sees and one for the house.
        let shared = ["wildcard-wild-cloud-tls", "wildcard-internal-wild-cloud-tls"];
        let place = |name: &str| SharedSecret { namespace: "cert-manager".to_owned(), name: name.to_owned() };
        Self { shared: shared.map(place).into() }
    }
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self { schedule: "17 4 * * *".to_owned(), timezone: "UTC".to_owned(), policy: UpdatePolicy::Manual }
    }
}

impl Settings {
    /// Returns the drift policy of an app.
    pub fn drift_of(&self, app: &str) -> DriftPolicy {
        self.apps.get(app).and_then(|settings| settings.drift).unwrap_or(self.drift)
    }

    /// Returns how long objects of an app may be on their way.
    pub fn health_timeout_of(&self, app: &str) -> Duration {
        self.apps.get(app).and_then(|settings| settings.health_timeout).unwrap_or(self.health_timeout)
    }

    /// Returns what to do about what people add to an app's objects.
    pub fn extra_of(&self, app: &str) -> ExtraPolicy {
        self.apps.get(app).and_then(|settings| settings.extra).unwrap_or(self.extra)
    }

    /// Returns what to do where others hold fields of an app's objects.
    pub fn conflicts_of(&self, app: &str) -> ConflictPolicy {
        self.apps.get(app).and_then(|settings| settings.conflicts).unwrap_or(self.conflicts)
    }

    /// Returns the rules about fields of an app's objects that others are wanted to change.
    pub fn handover_of(&self, app: &str) -> Vec<HandoverRule> {
        let own = self.apps.get(app).map(|settings| settings.handover.as_slice()).unwrap_or_default();
        self.handover.iter().chain(own).cloned().collect()
    }

    /// Returns whether and why nothing of an app is written for now.
    pub fn suspension_of(&self, app: &str) -> Option<Suspension> {
        self.apps.get(app).and_then(|settings| settings.suspend.clone())
    }

    /// Returns the rules about fields of an app's objects that are left to others.
    pub fn ignore_of(&self, app: &str) -> Vec<IgnoreRule> {
        let own = self.apps.get(app).map(|settings| settings.ignore.as_slice()).unwrap_or_default();
        self.ignore.iter().chain(own).cloned().collect()
    }

    /// Returns the update policy of an app.
    pub fn update_policy_of(&self, app: &str) -> UpdatePolicy {
        let own = self.apps.get(app).and_then(|settings| settings.updates.as_ref()).and_then(|updates| updates.policy);
        own.unwrap_or(self.updates.policy)
    }

    /// Returns the name of the cluster that an app lives on; empty for the first one.
    pub fn context_of(&self, app: &str) -> &str {
        let own = self.apps.get(app).map(|settings| settings.cluster.context.as_str()).unwrap_or_default();
        if own.is_empty() { &self.cluster.context } else { own }
    }

    /// Returns as whom the objects of an app are written.
    pub fn identity_of(&self, app: &str) -> IdentityPolicy {
        self.apps.get(app).and_then(|settings| settings.identity).unwrap_or(self.identity)
    }

    /// Returns the grants of an app.
    pub fn grants_of(&self, app: &str) -> Grants {
        self.apps.get(app).map(|settings| settings.grants.clone()).unwrap_or_default()
    }
}
