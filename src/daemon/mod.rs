//! Wake-ups become passes: one worker per instance, one serial pass per app, triggers without data.
//!
//! `queue` decides what begins when, `worker` runs it and listens to branches, cluster, files, schedule and people,
//! `waits` knows who waits for what, `metrics` counts, `opening` opens instances. Not here: what a pass does (`pipeline`), the API (`http`).

mod drifts;
mod events;
mod files;
mod metrics;
mod notes;
mod opening;
mod outlooks;
mod probes;
mod queue;
mod sweeps;
mod waits;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use metrics::Metrics;
pub use opening::ClosedInstance;
pub use outlooks::Outlook;

use crate::base::Timestamp;
use crate::git;
use crate::model::{AppName, InstanceName, Operation, Reason, RefusalText, Request, Trigger};
use crate::pipeline::{Error, Instance};
use crate::settings::{DaemonSettings, StateDirectory};
use crate::store::Store;
use crate::target::Access;
use opening::{Ground, Opened};
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
    ground: Ground,
    handles: RwLock<BTreeMap<InstanceName, Handle>>,
    closed: RwLock<BTreeMap<InstanceName, ClosedInstance>>,
    /// Held while closed instances are tried again.
    trying: tokio::sync::Mutex<()>,
    started: Timestamp,
    tasks: tokio::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// One instance of a running daemon. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Daemon {
    /// Opens the store and every instance that can be opened, and starts a worker for each. One that cannot be is told and tried again: what
    /// somebody does to one repository stops no other. Fails if none can be opened.
    pub async fn start(settings: DaemonSettings, start: Start) -> Result<Self, Error> {
        let Start { state, clock, access, work } = start;
        git::clear_scratch(&state.quarantine()).await?;
        let store = Store::open(&state.store()).await?;
        let (stop, metrics) = (CancellationToken::new(), Metrics::new());
        let ground = Ground { settings, state, store, metrics, stop, clock, access, work };
        let Opened { handles, tasks, failed } = opening::open_all(&ground).await?;
        let mut closed = BTreeMap::new();
        for (entry, error) in failed {
            // Whoever starts a daemon that can do nothing hears of it at once.
            if handles.is_empty() {
                return Err(error);
            }
            closed.insert(entry.name.clone(), ClosedInstance::new(entry, &error));
        }
        let has_closed = !closed.is_empty();
        let inner = Inner {
            ground,
            handles: RwLock::new(handles),
            closed: RwLock::new(closed),
            trying: tokio::sync::Mutex::default(),
            started: clock(),
            tasks: tokio::sync::Mutex::new(tasks),
        };
        let daemon = Self { inner: Arc::new(inner) };
        for RefusalText { what, because, remedy, .. } in daemon.stray_clusters() {
            tracing::warn!(because, remedy, "{what}: it has no effect");
        }
        if has_closed {
            let trying = tokio::spawn(opening::try_again(daemon.clone()));
            daemon.inner.tasks.lock().await.push(trying);
        }
        Ok(daemon)
    }

    /// Returns one instance.
    pub fn instance(&self, name: &str) -> Option<Handle> {
        self.handles().get(name).cloned()
    }

    /// Returns all instances by name.
    pub fn instances(&self) -> Vec<Handle> {
        self.handles().values().cloned().collect()
    }

    /// Returns the instances that could not be opened, by name.
    pub fn closed(&self) -> Vec<ClosedInstance> {
        self.inner.closed.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Tries to open the instances that could not be opened, and begins to work on those that can be now.
    pub async fn open_closed(&self) {
        opening::open_closed(self).await;
    }

    fn handles(&self) -> RwLockReadGuard<'_, BTreeMap<InstanceName, Handle>> {
        self.inner.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the settings.
    pub fn settings(&self) -> &DaemonSettings {
        &self.inner.ground.settings
    }

    /// Returns what its settings say of clusters that no instance has at present, each with what helps.
    pub fn stray_clusters(&self) -> Vec<RefusalText> {
        stray_clusters(&self.inner.ground.settings, &self.handles(), &self.closed())
    }

    /// Returns when it was started.
    pub fn started(&self) -> Timestamp {
        self.inner.started
    }

    /// Returns its metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.ground.metrics
    }

    /// Returns what ends when the daemon stops.
    pub fn stopping(&self) -> CancellationToken {
        self.inner.ground.stop.clone()
    }

    /// Stops: nothing new begins, running passes end, what takes too long is cut off.
    pub async fn stop(&self) {
        self.inner.ground.stop.cancel();
        let tasks = std::mem::take(&mut *self.inner.tasks.lock().await);
        for mut task in tasks {
            if tokio::time::timeout(STOP_DEADLINE, &mut task).await.is_err() {
                task.abort();
                let _ = task.await;
            }
        }
        self.inner.ground.store.close().await;
        // Handles may live on, such as in a connection that is being closed: they must not keep the next process out.
        for handle in self.instances() {
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

    /// Returns whether its clusters are watched. A command line without a daemon looks at nothing but what it is asked about.
    pub fn is_watching(&self) -> bool {
        self.shared.work == Work::Everything
    }

    /// Returns whether the instance can work; why not otherwise. A cluster that does not answer is a state of the instance and not this.
    pub fn is_ready(&self) -> Result<(), String> {
        self.shared.is_ready()
    }
}

fn stray_clusters(
    settings: &DaemonSettings,
    handles: &BTreeMap<InstanceName, Handle>,
    closed: &[ClosedInstance],
) -> Vec<RefusalText> {
    let mut known: BTreeSet<String> = closed.iter().map(|closed| closed.entry.name.to_string()).collect();
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
