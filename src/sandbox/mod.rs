//! An in-memory Kubernetes API server over real HTTP on loopback, with a few small controllers, for demonstrations and fast tests.
//!
//! It behaves as a real API server where recorded scripts say so: server-side apply with ownership, watches, preconditions,
//! finalizers, namespaces. It knows nothing of whoever uses it.
//!
//! Not here: admission webhooks, authorization, custom kinds, running anything.

mod admission;
mod audit;
mod call;
mod canon;
mod cluster;
mod controllers;
mod defaults;
mod delete;
mod discovery;
mod failure;
mod fields;
mod log;
mod names;
mod patch;
mod pod_defaults;
mod read;
mod rules;
mod scale;
mod selector;
mod server;

mod store;
mod validate;
mod watch;
mod write;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::base::Timestamp;
use audit::Audit;
use cluster::Cluster;
use store::{Key, Store};

pub use controllers::Controller;
pub use store::Clock;

/// Most bytes of objects, unless the settings say otherwise.
const MAX_OBJECT_BYTES: usize = 64 * 1024 * 1024;
/// How long open connections have to end when the sandbox stops.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

/// How a sandbox is made.
#[derive(Clone)]
pub struct Settings {
    /// Port on loopback; 0 takes a free one.
    pub port: u16,
    /// Where times come from.
    pub clock: Clock,
    /// Start of uids and generated names: the same seed gives the same ones.
    pub seed: u64,
    /// The controllers that run.
    pub controllers: BTreeSet<Controller>,
    /// Most bytes of objects; further ones are refused.
    pub max_object_bytes: usize,
    /// File that gets a line for each request served.
    pub audit_log: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            port: 0,
            clock: Arc::new(system_time),
            seed: 0,
            controllers: Controller::ALL.into_iter().collect(),
            max_object_bytes: MAX_OBJECT_BYTES,
            audit_log: None,
        }
    }
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// What keeps a sandbox from starting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port is taken or may not be used.
    #[error("listen on 127.0.0.1:{port} for the sandbox cluster")]
    Listen {
        /// The port asked for.
        port: u16,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The audit log cannot be written.
    #[error("begin the sandbox cluster's audit log {}", path.display())]
    Audit {
        /// The file asked for.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
}

/// A running cluster. It ends when it is stopped or dropped.
pub struct Sandbox {
    url: String,
    cluster: Arc<Cluster>,
    server: JoinHandle<()>,
    controllers: JoinHandle<()>,
}

impl Sandbox {
    /// Starts a cluster with the namespaces that every cluster has.
    pub async fn start(settings: Settings) -> Result<Self, Error> {
        let refused = |source| Error::Listen { port: settings.port, source };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let audit = settings.audit_log.map(|path| match Audit::create(&path) {
            Ok(audit) => Ok(Arc::new(audit)),
            Err(source) => Err(Error::Audit { path, source }),
        });
        let audit = audit.transpose()?;
        let mut store = Store::new(settings.seed, settings.clock, settings.max_object_bytes);
        store.running = settings.controllers;
        controllers::found_cluster(&mut store);
        let cluster = Arc::new(Cluster::new(store));
        let router = server::router(Arc::clone(&cluster), address.to_string(), audit);
        let stop = cluster.stop.clone();
        let server = tokio::spawn(async move {
            // Serving ends by the stop signal alone: a failed connection ends only itself.
            let _ = axum::serve(listener, router).with_graceful_shutdown(async move { stop.cancelled().await }).await;
        });
        let controllers = tokio::spawn(controllers::run(Arc::clone(&cluster)));
        Ok(Self { url: format!("http://{address}"), cluster, server, controllers })
    }

    /// Returns the address of the API.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a kubeconfig for the API, as YAML.
    pub fn kubeconfig(&self) -> String {
        let url = &self.url;
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: sandbox\n  cluster:\n    server: {url}\nusers:\n- name: sandbox\n  user: {{}}\ncontexts:\n- name: sandbox\n  context:\n    cluster: sandbox\n    user: sandbox\ncurrent-context: sandbox\n"
        )
    }

    /// Makes the workloads and pods of a name unready, now and until they are released. An empty name means the whole namespace.
    pub fn hold_ready(&self, namespace: &str, name: &str) {
        self.cluster.change(|store| store.hold(namespace, name));
        self.cluster.wake();
    }

    /// Lets workloads and pods of a name become ready again.
    pub fn release_ready(&self, namespace: &str, name: &str) {
        self.cluster.change(|store| store.release(namespace, name));
        self.cluster.wake();
    }

    /// Stops one controller.
    pub fn stop_controller(&self, controller: Controller) {
        self.cluster.change(|store| store.running.remove(&controller));
    }

    /// Starts one controller again; it catches up with what happened meanwhile.
    pub fn start_controller(&self, controller: Controller) {
        self.cluster.change(|store| {
            store.running.insert(controller);
            store.touch_all();
        });
        self.cluster.wake();
    }

    /// Changes an object behind the back of the API, as a damaged disk would: no manager is noted.
    pub fn alter(&self, plural: &str, namespace: &str, name: &str, change: impl FnOnce(&mut serde_json::Value)) {
        self.cluster.change(|store| {
            let key = Key::new(namespace, name);
            let sort = store.sorts().into_iter().find(|sort| sort.plural == plural && store.get(*sort, &key).is_some());
            let Some((sort, object)) = sort.and_then(|sort| Some((sort, store.get(sort, &key)?))) else { return };
            let mut object = serde_json::Value::clone(object);
            change(&mut object);
            store.put(sort, &key, object);
        });
        self.cluster.wake();
    }

    /// Forgets all past changes, so that watches and lists from an older version are answered with 410.
    pub fn compact(&self) {
        self.cluster.change(Store::compact);
        self.cluster.wake();
    }

    /// Ends watches and connections and waits until the port is free.
    pub async fn stop(mut self) {
        self.cluster.stop.cancel();
        let _ = timeout(STOP_DEADLINE, &mut self.server).await;
        let _ = timeout(STOP_DEADLINE, &mut self.controllers).await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.cluster.stop.cancel();
        self.server.abort();
        self.controllers.abort();
    }
}
