//! Wake-ups become passes: one worker per instance, one serial pass per app, triggers without data.
//!
//! `queue` decides what begins when, `worker` runs it and listens to branches, cluster, files, schedule and people,
//! `waits` knows who waits for what, `metrics` counts. Not here: what a pass does (`pipeline`), the API (`http`).

mod drifts;
mod events;
mod files;
mod metrics;
mod notes;
mod outlooks;
mod probes;
mod queue;
mod sweeps;
mod waits;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use metrics::Metrics;
pub use outlooks::Outlook;

use crate::base::Timestamp;
use crate::broadcast;
use crate::forge::{Forge, Gitea};
use crate::git::{self, Allowed, Credential, CredentialKind, Egress, Remote, RemoteUrl, Signers};
use crate::model::{AppName, InstanceName, Operation, Purpose, Reason, RefusalText, Request, SecretValue, Trigger};
use crate::pipeline::{self, Error, Instance, Opening};
use crate::settings::{DaemonSettings, ExecEntry, InstanceEntry, StateDirectory};
use crate::store::Store;
use crate::target::{Access, Plugin, RealmAccess};
use worker::Shared;

/// How long a stop may take before what still runs is cut off; the record shows what was done.
const STOP_DEADLINE: Duration = Duration::from_secs(8);
/// Clusters that are named in a sentence.
const MAX_NAMED: usize = 10;

/// What a daemon is started with beside its settings.
pub struct Start {
    /// The state directory.
    pub state: StateDirectory,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// How the cluster is reached, whatever the settings say; for the demo and for a command line without a daemon.
    pub access: Option<Access>,
    /// What it does of its own accord.
    pub work: Work,
}

/// What a daemon does of its own accord.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// It keeps every app as its repository says.
    Everything,
    /// Only what it is asked for, and what follows from that for the same apps; for a command line without a daemon, so that a look at an
    /// instance changes nothing.
    Requests,
}

/// A running daemon. Cheap to clone.
#[derive(Clone)]
pub struct Daemon {
    inner: Arc<Inner>,
}

struct Inner {
    settings: DaemonSettings,
    handles: BTreeMap<InstanceName, Handle>,
    metrics: Metrics,
    started: Timestamp,
    store: Store,
    stop: CancellationToken,
    tasks: tokio::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// One instance of a running daemon. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Daemon {
    /// Opens the store and every instance, and starts a worker for each.
    pub async fn start(settings: DaemonSettings, start: Start) -> Result<Self, Error> {
        let Start { state, clock, access, work } = start;
        git::clear_scratch(&state.quarantine()).await?;
        let store = Store::open(&state.store()).await?;
        let stop = CancellationToken::new();
        let metrics = Metrics::new();
        // Nothing works before all can: where one instance is refused, the others are given up untouched.
        let mut opened: Vec<Arc<Instance>> = Vec::new();
        for entry in &settings.instances {
            let opening = opening(&settings, &state, entry, access.clone(), clock)?;
            let opening = Opening { beside: opened.clone(), ..opening };
            // On the heap: what opens an instance is large, and the stack of a thread is not.
            opened.push(Arc::new(Box::pin(Instance::open(opening, &state, store.clone())).await?));
        }
        let mut handles = BTreeMap::new();
        let mut tasks = Vec::new();
        for (entry, instance) in settings.instances.iter().zip(opened) {
            let shared = Arc::new(Shared::new(instance.clone(), &settings, &state, metrics.clone(), work)?);
            let notes = Box::new(notes::GitNotes::new(instance.clone()));
            let forge = forge(&instance, entry).await?;
            let bus = instance.bus.clone();
            tasks.push(tokio::spawn(broadcast::send_statuses(
                bus,
                forge,
                notes,
                settings.public_url.clone(),
                stop.clone(),
            )));
            let clusters = Box::new(events::Clusters::new(instance.clone()));
            let bus = instance.bus.clone();
            tasks.push(tokio::spawn(broadcast::send_kubernetes_events(bus, clusters, stop.clone())));
            tasks.push(tokio::spawn(sweeps::run(instance.clone(), stop.clone())));
            tasks.push(tokio::spawn(worker::run(shared.clone(), stop.clone())));
            handles.insert(entry.name.clone(), Handle { shared });
        }
        for stray in stray_clusters(&settings, &handles) {
            let RefusalText { what, because, remedy, .. } = stray;
            tracing::warn!(because, remedy, "{what}: it has no effect");
        }
        let started = clock();
        let tasks = tokio::sync::Mutex::new(tasks);
        Ok(Self { inner: Arc::new(Inner { settings, handles, metrics, started, store, stop, tasks }) })
    }

    /// Returns one instance.
    pub fn instance(&self, name: &str) -> Option<Handle> {
        self.inner.handles.get(name).cloned()
    }

    /// Returns all instances by name.
    pub fn instances(&self) -> Vec<Handle> {
        self.inner.handles.values().cloned().collect()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &DaemonSettings {
        &self.inner.settings
    }

    /// Returns what its settings say of clusters that no instance has at present, each with what helps.
    pub fn stray_clusters(&self) -> Vec<RefusalText> {
        stray_clusters(&self.inner.settings, &self.inner.handles)
    }

    /// Returns when it was started.
    pub fn started(&self) -> Timestamp {
        self.inner.started
    }

    /// Returns its metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Returns what ends when the daemon stops.
    pub fn stopping(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    /// Stops: nothing new begins, running passes end, what takes too long is cut off.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        let tasks = std::mem::take(&mut *self.inner.tasks.lock().await);
        for mut task in tasks {
            if tokio::time::timeout(STOP_DEADLINE, &mut task).await.is_err() {
                task.abort();
                let _ = task.await;
            }
        }
        self.inner.store.close().await;
        // Handles may live on, such as in a connection that is being closed: they must not keep the next process out.
        for handle in self.inner.handles.values() {
            handle.instance().release();
        }
    }
}

impl Handle {
    /// Returns the instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.shared.instance
    }

    /// Stores a request and wakes the worker. From the answer on it is carried out, also after a crash.
    pub async fn ask(&self, request: Request, actor: &str) -> Result<Operation, Error> {
        let app = request.app().cloned();
        let operation = self.shared.instance.accept(request, actor).await?;
        self.wake(Trigger { app, reason: Reason::Request });
        Ok(operation)
    }

    /// Wakes an app, or all of them.
    pub fn wake(&self, trigger: Trigger) {
        self.shared.wake(trigger);
    }

    /// Returns what an app waits for; nothing if it is as wanted or was not looked at yet.
    pub fn outlook(&self, app: &AppName) -> Option<Outlook> {
        self.shared.outlooks.get(app)
    }

    /// Fetches the remote and all upstreams now, and merges what policy allows.
    pub fn fetch(&self) {
        self.shared.fetch.notify_one();
    }

    /// Fetches all upstreams, or the one of a name, and returns when that is done; one that is not followed carries why in what is shown of it.
    pub async fn fetch_directories(&self, only: Option<&str>) -> Result<(), Error> {
        self.shared.fetch_directories(only).await
    }

    /// Returns whether the worker's loop turns; why not otherwise.
    pub fn is_alive(&self) -> Result<(), String> {
        self.shared.is_alive()
    }

    /// Returns whether the instance can work; why not otherwise. A cluster that does not answer is a state of the instance and not this.
    pub fn is_ready(&self) -> Result<(), String> {
        self.shared.is_ready()
    }
}

fn stray_clusters(settings: &DaemonSettings, handles: &BTreeMap<InstanceName, Handle>) -> Vec<RefusalText> {
    let mut known = BTreeSet::new();
    for (instance, handle) in handles {
        let targets = handle.instance().targets();
        let contexts = targets.all().map(|(name, _)| targets.context(name)).filter(|context| !context.is_empty());
        known.extend(contexts.map(|context| format!("{instance}/{context}")));
        known.insert(instance.to_string());
    }
    let named: Vec<&str> = known.iter().map(String::as_str).take(MAX_NAMED).collect();
    let more = known.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let because = format!("no instance has a cluster of that name; there are {}{more}", named.join(", "));
    let stray = |(name, near): (&str, Option<&str>)| RefusalText {
        code: 2,
        what: format!("use clusters.{name} of daemon.yaml"),
        because: because.clone(),
        remedy: match near {
            Some(near) => format!("write clusters.{near} in daemon.yaml and start wild daemon anew"),
            None => "wild cluster list".to_owned(),
        },
        diagnostics: Vec::new(),
    };
    settings.stray_clusters(&known).into_iter().map(stray).collect()
}

fn opening(
    settings: &DaemonSettings,
    state: &StateDirectory,
    entry: &InstanceEntry,
    access: Option<Access>,
    clock: fn() -> Timestamp,
) -> Result<Opening, Error> {
    let configured =
        settings.clusters.get(entry.name.as_str()).filter(|cluster| cluster.in_cluster).map(|_| Access::InCluster);
    let file = (!entry.kubeconfig.as_os_str().is_empty())
        .then(|| Access::File { path: state.root().join(&entry.kubeconfig), context: String::new() });
    Ok(Opening {
        name: entry.name.clone(),
        path: state.root().join(&entry.path),
        subdirectory: entry.subdirectory.clone(),
        branch: entry.branch.clone(),
        remote: remote(state, entry)?,
        signers: Signers {
            ssh: named(state, &settings.allowed_signers),
            pgp: named(state, &settings.allowed_keyring),
            scratch: state.quarantine(),
        },
        access: access.or(configured).or(file),
        plugins: settings.programs_of(entry.name.as_str()).into_iter().map(plugin).collect(),
        keycloak: entry.keycloak.as_ref().map(|keycloak| RealmAccess {
            url: keycloak.url.clone(),
            realm: keycloak.realm.clone(),
            client: keycloak.client.clone(),
            user: keycloak.user.clone(),
            credential: state.root().join(&keycloak.credential_file),
        }),
        clock,
        beside: Vec::new(),
    })
}

/// Returns where a file is that the settings may name.
fn named(state: &StateDirectory, file: &Path) -> Option<PathBuf> {
    (!file.as_os_str().is_empty()).then(|| state.root().join(file))
}

fn plugin((context, exec): (String, ExecEntry)) -> (String, Plugin) {
    (context, Plugin::new(exec.command, exec.args, exec.env))
}

/// Returns the remote of an instance. Its address stands in the daemon's own settings, so it may be anything that the operator wrote.
fn remote(state: &StateDirectory, entry: &InstanceEntry) -> Result<Option<Remote>, Error> {
    if entry.remote.is_empty() {
        return Ok(None);
    }
    let url = RemoteUrl::parse(&entry.remote, Allowed::Local).map_err(|error| {
        refused(&format!("use the remote of {}", entry.name), &error.to_string(), "wild daemon --help")
    })?;
    let token = token(state, entry)?;
    let credential = token.map(|token| Credential {
        origin: url.clone(),
        kind: CredentialKind::Token { user: "wild".to_owned(), token },
    });
    Ok(Some(Remote { url, credential, egress: Egress::Any, scratch: state.quarantine() }))
}

/// Reads the token of a remote from the file that the operator named.
fn token(state: &StateDirectory, entry: &InstanceEntry) -> Result<Option<SecretValue>, Error> {
    if entry.credential_file.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = state.root().join(&entry.credential_file);
    Ok(Some(crate::settings::read_credential(&path)?))
}

/// Returns the forge behind the remote, if there is one and its token is known.
async fn forge(instance: &Instance, entry: &InstanceEntry) -> Result<Option<Box<dyn Forge>>, Error> {
    let kind = pipeline::settings(instance).await?.statuses.forge.clone();
    if kind == "none" || entry.remote.is_empty() {
        return Ok(None);
    }
    let Some(Remote { credential: Some(Credential { kind: CredentialKind::Token { token, .. }, .. }), .. }) =
        &instance.remote
    else {
        return Ok(None);
    };
    let token = SecretValue::new(token.expose(Purpose::Credential).to_owned());
    match Gitea::new(&entry.remote, token) {
        Ok(forge) => Ok(Some(Box::new(forge))),
        Err(error) => {
            tracing::info!(instance = %entry.name, error = %error, "no forge is told statuses");
            Ok(None)
        }
    }
}

fn refused(what: &str, because: &str, remedy: &str) -> Error {
    Error::Refused(Box::new(RefusalText {
        code: 2,
        what: what.to_owned(),
        because: because.to_owned(),
        remedy: remedy.to_owned(),
        diagnostics: Vec::new(),
    }))
}
