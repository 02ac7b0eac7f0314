//! Opens the instances of the settings and begins to work on them; what cannot be opened is told and tried again.
//!
//! All are tried before any begins to work, so that each is opened knowing of those it must not be confused with: where two would be one, the
//! later one stays closed and the earlier one has its cluster for itself. Not here: what makes an instance refuse to open (`pipeline`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::worker::{self, Shared};
use super::{Daemon, Handle, Metrics, Work, events, notes, sweeps};
use crate::base::{Timestamp, chain};
use crate::broadcast;
use crate::forge::{Forge, Gitea};
use crate::git::{Allowed, Credential, CredentialKind, Egress, Remote, RemoteUrl, Signers};
use crate::model::{InstanceName, Purpose, RefusalText, SecretValue};
use crate::pipeline::{self, Error, Instance, Opening};
use crate::settings::{DaemonSettings, ExecEntry, InstanceEntry, StateDirectory};
use crate::store::Store;
use crate::target::{Access, Plugin, RealmAccess};

/// Time between two tries to open what could not be opened: a disk that comes back, a line that is put back.
const REOPEN_INTERVAL: Duration = Duration::from_secs(30);

/// What every instance of a daemon is opened with.
pub(super) struct Ground {
    pub(super) settings: DaemonSettings,
    pub(super) state: StateDirectory,
    pub(super) store: Store,
    pub(super) metrics: Metrics,
    pub(super) stop: CancellationToken,
    pub(super) clock: fn() -> Timestamp,
    pub(super) access: Option<Access>,
    pub(super) work: Work,
}

/// What became of the instances.
#[derive(Default)]
pub(super) struct Opened {
    /// Those that are worked on.
    pub(super) handles: BTreeMap<InstanceName, Handle>,
    /// What works on them.
    pub(super) tasks: Vec<JoinHandle<()>>,
    /// Those that could not be opened, in the order of the settings.
    pub(super) failed: Vec<(InstanceEntry, Error)>,
}

/// An instance that could not be opened.
#[derive(Clone, Debug)]
pub struct ClosedInstance {
    /// What the settings say of it.
    pub entry: InstanceEntry,
    /// Why, and what helps.
    pub refusal: RefusalText,
}

impl ClosedInstance {
    /// Returns the instance with why it could not be opened, which is logged.
    pub(super) fn new(entry: InstanceEntry, error: &Error) -> Self {
        let refusal = match error {
            Error::Refused(refusal) => RefusalText::clone(refusal),
            Error::Git(_) | Error::Store(_) | Error::Settings(_) => RefusalText {
                code: 2,
                what: format!("open the instance {}", entry.name),
                because: chain(error),
                remedy: format!("ls -ld {}; it is tried again by itself", entry.path.display()),
                diagnostics: Vec::new(),
            },
        };
        let RefusalText { because, remedy, .. } = &refusal;
        tracing::error!(instance = %entry.name, because, remedy, "an instance is not open; the others are");
        Self { entry, refusal }
    }
}

/// Opens every instance that can be opened, then begins to work on each.
pub(super) async fn open_all(ground: &Ground) -> Result<Opened, Error> {
    let mut instances: Vec<(InstanceEntry, Arc<Instance>)> = Vec::new();
    let mut opened = Opened::default();
    for entry in &ground.settings.instances {
        let beside = instances.iter().map(|(_, instance)| instance.clone()).collect();
        match open(ground, entry, beside).await {
            Ok(instance) => instances.push((entry.clone(), instance)),
            // The store is everybody's.
            Err(error @ Error::Store(_)) => return Err(error),
            Err(error) => opened.failed.push((entry.clone(), error)),
        }
    }
    for (entry, instance) in instances {
        match begin(ground, &entry, instance).await {
            Ok((handle, tasks)) => {
                opened.handles.insert(entry.name, handle);
                opened.tasks.extend(tasks);
            }
            Err(error) => opened.failed.push((entry, error)),
        }
    }
    Ok(opened)
}

/// Tries again, from time to time, until every instance is open.
pub(super) async fn try_again(daemon: Daemon) {
    let mut tick = tokio::time::interval(REOPEN_INTERVAL);
    tick.tick().await;
    let stop = daemon.stopping();
    while !daemon.closed().is_empty() {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => open_closed(&daemon).await,
        }
    }
}

/// Tries to open what is closed, and begins to work on what can be opened now.
pub(super) async fn open_closed(daemon: &Daemon) {
    let inner = &daemon.inner;
    let _turn = inner.trying.lock().await;
    for ClosedInstance { entry, .. } in daemon.closed() {
        if inner.ground.stop.is_cancelled() {
            return;
        }
        let beside = daemon.instances().iter().map(|handle| handle.instance().clone()).collect();
        let opened = match open(&inner.ground, &entry, beside).await {
            Ok(instance) => begin(&inner.ground, &entry, instance).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok((handle, tasks)) => {
                tracing::info!(instance = %entry.name, "an instance is open that was not");
                inner.closed.write().unwrap_or_else(PoisonError::into_inner).remove(&entry.name);
                inner.handles.write().unwrap_or_else(PoisonError::into_inner).insert(entry.name, handle);
                inner.tasks.lock().await.extend(tasks);
            }
            Err(error) => {
                let still = ClosedInstance::new(entry.clone(), &error);
                inner.closed.write().unwrap_or_else(PoisonError::into_inner).insert(entry.name, still);
            }
        }
    }
}

/// Opens one instance beside those that are open.
async fn open(ground: &Ground, entry: &InstanceEntry, beside: Vec<Arc<Instance>>) -> Result<Arc<Instance>, Error> {
    let Ground { settings, state, store, clock, access, .. } = ground;
    let opening = opening(settings, state, entry, access.clone(), *clock)?;
    let opening = Opening { beside, ..opening };
    // On the heap: what opens an instance is large, and the stack of a thread is not.
    Ok(Arc::new(Box::pin(Instance::open(opening, state, store.clone())).await?))
}

/// Begins to work on an instance.
async fn begin(
    ground: &Ground,
    entry: &InstanceEntry,
    instance: Arc<Instance>,
) -> Result<(Handle, Vec<JoinHandle<()>>), Error> {
    let Ground { settings, state, metrics, stop, work, .. } = ground;
    let shared = Arc::new(Shared::new(instance.clone(), settings, state, metrics.clone(), *work)?);
    let notes = Box::new(notes::GitNotes::new(instance.clone()));
    let forge = forge(&instance, entry).await?;
    let clusters = Box::new(events::Clusters::new(instance.clone()));
    let (bus, public_url) = (instance.bus.clone(), settings.public_url.clone());
    let tasks = vec![
        tokio::spawn(broadcast::send_statuses(bus.clone(), forge, notes, public_url, stop.clone())),
        tokio::spawn(broadcast::send_kubernetes_events(bus, clusters, stop.clone())),
        tokio::spawn(sweeps::run(instance, stop.clone())),
        tokio::spawn(worker::run(shared.clone(), stop.clone())),
    ];
    Ok((Handle { shared }, tasks))
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
        credentials: credentials(state, entry),
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

/// Returns where the credentials of the remote and of the Keycloak stand.
fn credentials(state: &StateDirectory, entry: &InstanceEntry) -> Vec<PathBuf> {
    let named = [Some(&entry.credential_file), entry.keycloak.as_ref().map(|keycloak| &keycloak.credential_file)];
    let named = named.into_iter().flatten().filter(|file| !file.as_os_str().is_empty());
    named.map(|file| state.root().join(file)).collect()
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

/// Returns a mistake of the settings.
pub(super) fn refused(what: &str, because: &str, remedy: &str) -> Error {
    Error::Refused(Box::new(RefusalText {
        code: 2,
        what: what.to_owned(),
        because: because.to_owned(),
        remedy: remedy.to_owned(),
        diagnostics: Vec::new(),
    }))
}
