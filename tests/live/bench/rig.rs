//! One fresh control plane with an instance and a daemon beside it.
//!
//! Not here: the parts themselves (`parts`).

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::client::Api;
use crate::daemon::{Daemon, pause, processor_time};
use crate::instance::Home;
use crate::parts::{ControlPlane, Scratch, Shape};

const CONFIG_MAPS: &str = "/api/v1/configmaps";

/// Kinds of which every app has one object, by path of their collection.
pub(crate) const KINDS: [&str; 5] =
    ["/api/v1/namespaces", "/api/v1/serviceaccounts", CONFIG_MAPS, "/api/v1/services", "/apis/apps/v1/deployments"];

/// Programs of the control plane.
const PROGRAMS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"];

/// How long the control plane may use less than a sixth of a processor until it counts as done.
const SETTLED: Duration = Duration::from_secs(1);

/// Whether the API server lists the daemon's requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// It does: the daemon comes as a user of its own, which costs the API server a little.
    Yes,
    /// It does not.
    No,
}

/// An empty cluster.
pub(crate) struct Rig {
    // Dropped in this order.
    pub(crate) runtime: Runtime,
    pub(crate) scratch: Scratch,
    pub(crate) plane: ControlPlane,
    pub(crate) api: Api,
}

impl Rig {
    /// Starts the control plane.
    pub(crate) fn start() -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let plane = ControlPlane::start(Shape::Full).expect("the parts are named in the environment");
        let runtime = Runtime::new().unwrap();
        let api = Api::new(&plane);
        Self { runtime, scratch: Scratch::new("bench").unwrap(), plane, api }
    }

    /// Returns the processor time that the programs of the control plane have used.
    pub(crate) fn spent(&self) -> Duration {
        PROGRAMS.iter().filter_map(|name| self.plane.program(name)).map(|program| processor_time(program.id())).sum()
    }

    /// Waits until the control plane has nothing left to do.
    pub(crate) async fn until_settled(&self) {
        loop {
            let before = self.spent();
            pause(SETTLED).await;
            if self.spent() - before < SETTLED / 6 {
                return;
            }
        }
    }

    /// Makes an empty instance and starts a daemon that has seen it.
    pub(crate) fn with_daemon(&self, listed: Listed) -> (Home, Daemon) {
        let home = Home::make(&self.scratch);
        let kubeconfig = match listed {
            Listed::Yes => self.plane.kubeconfig_of_wild(),
            Listed::No => self.plane.kubeconfig(),
        };
        let daemon = Daemon::start(&self.scratch, &kubeconfig, &home);
        self.runtime.block_on(daemon.until("", |instance| instance["ready"].is_null()));
        (home, daemon)
    }
}

/// Waits until every app has all of its objects.
pub(crate) async fn until_installed(api: &Api, apps: usize) {
    let [namespaces, accounts, configs, services, deployments] = KINDS.map(|path| api.until_seen(path, apps, |_| true));
    tokio::join!(namespaces, accounts, configs, services, deployments);
}

/// Waits until the ConfigMap of every app has a version.
pub(crate) async fn until_updated(api: &Api, apps: usize, version: &str) {
    api.until_seen(CONFIG_MAPS, apps, |object| object["data"]["version"] == version).await;
}
