//! How a cluster is reached: a kubeconfig, and the client that it makes.
//!
//! Not here: requests (`call`), keeping the kubeconfig (`settings`).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};

use super::patience::Patience;
use super::{Inner, locked};
use crate::target::{Reachability, Refusal, RefusalKind};

/// How long making a connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Time between two looks at the files of a connection that a server does not know: a server that knows nobody is not made to.
const RELOAD_PAUSE: Duration = Duration::from_secs(10);

/// How a cluster is reached.
#[derive(Clone, Debug)]
pub enum Access {
    /// By a kubeconfig file and a context in it; an empty context means its current one.
    File {
        /// The file.
        path: PathBuf,
        /// The context.
        context: String,
    },
    /// By the text of a kubeconfig.
    Text(String),
    /// The same with waits of its own.
    Hurried(String, Patience),
    /// By the service account of the pod we run in.
    InCluster,
    /// By another context of the same kubeconfig.
    At(Box<Self>, String),
}

impl Access {
    /// Returns how long a cluster is waited for that is reached like this.
    pub(super) fn patience(&self) -> Patience {
        match self {
            Self::Hurried(_, patience) => *patience,
            Self::At(access, _) => access.patience(),
            Self::File { .. } | Self::Text(_) | Self::InCluster => Patience::default(),
        }
    }

    /// Returns whether what it says may be another thing later.
    fn is_read_again(&self) -> bool {
        match self {
            Self::Text(_) | Self::Hurried(..) => false,
            Self::At(access, _) => access.is_read_again(),
            Self::File { .. } | Self::InCluster => true,
        }
    }

    /// Returns the clusters that can be reached by it: the name of the one that it means itself, empty if it has none, and all others.
    pub fn contexts(&self) -> Result<(String, Vec<String>), Refusal> {
        let Some((kubeconfig, chosen)) = self.kubeconfig()? else { return Ok((String::new(), Vec::new())) };
        let current = if chosen.is_empty() { kubeconfig.current_context.unwrap_or_default() } else { chosen };
        let names = kubeconfig.contexts.into_iter().map(|context| context.name);
        let others = names.filter(|name| *name != current).collect();
        Ok((current, others))
    }

    /// Reads the kubeconfig with the context that is chosen in it, empty for its current one; nothing where there is none.
    fn kubeconfig(&self) -> Result<Option<(Kubeconfig, String)>, Refusal> {
        match self {
            Self::InCluster => Ok(None),
            Self::At(access, context) => Ok(access.kubeconfig()?.map(|(kubeconfig, _)| (kubeconfig, context.clone()))),
            Self::File { path, context } => match Kubeconfig::read_from(path) {
                Ok(kubeconfig) => Ok(Some((kubeconfig, context.clone()))),
                Err(error) => Err(settings(&format!("read the kubeconfig {}", path.display()), &error)),
            },
            Self::Text(text) | Self::Hurried(text, _) => match Kubeconfig::from_yaml(text) {
                Ok(kubeconfig) => Ok(Some((kubeconfig, String::new()))),
                Err(error) => Err(settings("read the kubeconfig", &error)),
            },
        }
    }
}

/// Makes the client of a connection.
pub(super) async fn client(access: &Access) -> Result<kube::Client, Refusal> {
    let mut config = config(access).await?;
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_DEADLINE);
    config.proxy_url = None;
    kube::Client::try_from(config).map_err(|error| settings("set up the client", &error))
}

impl Inner {
    /// Reads the files of the connection again if the server does not answer or does not know us: certificates and tokens expire, and
    /// somebody puts new ones into their place. What does not read changes nothing.
    pub(super) async fn renew(&self) {
        if *locked(&self.reachability) == Reachability::Reachable || !self.access.is_read_again() {
            return;
        }
        if let Ok(client) = client(&self.access).await {
            *locked(&self.client) = client;
        }
    }

    /// Reads them again because the server did not know us in a call that began at a time; returns whether the call is worth another try. Of
    /// calls side by side one reads for all.
    pub(super) async fn reload(&self, begun: Instant) -> bool {
        if !self.access.is_read_again() {
            return false;
        }
        let mut reloaded = self.reloaded.lock().await;
        if reloaded.is_some_and(|at| at > begun) {
            return true;
        }
        if reloaded.is_some_and(|at| at.elapsed() < RELOAD_PAUSE) {
            return false;
        }
        *reloaded = Some(Instant::now());
        let Ok(client) = client(&self.access).await else { return false };
        *locked(&self.client) = client;
        true
    }
}

/// Reads the settings of a connection and refuses what would run a program or skip the check of the server's certificate.
async fn config(access: &Access) -> Result<kube::Config, Refusal> {
    let Some((kubeconfig, context)) = access.kubeconfig()? else {
        return kube::Config::incluster().map_err(|error| settings("read the service account", &error));
    };
    for named in &kubeconfig.auth_infos {
        let Some(user) = &named.auth_info else { continue };
        if user.exec.is_some() || user.auth_provider.is_some() {
            let message =
                format!("use the kubeconfig: user {:?} starts a program to sign in, which is refused", named.name);
            return Err(Refusal::new(RefusalKind::Settings, message));
        }
    }
    let options =
        KubeConfigOptions { context: (!context.is_empty()).then_some(context), ..KubeConfigOptions::default() };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| settings("use the kubeconfig", &error))?;
    if config.accept_invalid_certs {
        let message = "use the kubeconfig: insecure-skip-tls-verify is refused, give certificate-authority-data";
        return Err(Refusal::new(RefusalKind::Settings, message));
    }
    Ok(config)
}

fn settings(attempt: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(RefusalKind::Settings, format!("{attempt}: {}", crate::base::chain(error)))
}
