//! How a cluster is reached: a kubeconfig, and the client that it makes.
//!
//! Not here: when it is read again (`connection`), requests (`call`), keeping the kubeconfig (`settings`).

use std::path::PathBuf;
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::BoxError;
use tower::util::MapErrLayer;

use super::patience::Patience;
use super::plugin::{Credential, Plugin};
use crate::target::{Refusal, RefusalKind};

/// How long making a connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long what was sent may stay without a sign that it arrived, until its connection counts as lost.
const ARRIVE_DEADLINE: Duration = Duration::from_secs(20);
/// After how long a connection on which nothing comes is asked whether its other end is there; watches are such for a minute.
const ALIVE_AFTER: Duration = Duration::from_secs(10);
/// Time between two such questions.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// After how many without an answer the connection counts as lost.
const ALIVE_TRIES: u32 = 3;

/// Files of the service account of a pod, which are replaced while it runs.
const ACCOUNT_FILES: [&str; 2] =
    ["/var/run/secrets/kubernetes.io/serviceaccount/token", "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"];

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
    /// The same, signed in with what a program prints.
    Signed(Box<Self>, Plugin),
}

impl Access {
    /// Returns how long a cluster is waited for that is reached like this.
    pub(super) fn patience(&self) -> Patience {
        match self {
            Self::Hurried(_, patience) => *patience,
            Self::At(access, _) | Self::Signed(access, _) => access.patience(),
            Self::File { .. } | Self::Text(_) | Self::InCluster => Patience::default(),
        }
    }

    /// Returns whether what it says may be another thing later.
    pub(super) fn is_read_again(&self) -> bool {
        match self {
            Self::Text(_) | Self::Hurried(..) => false,
            Self::At(access, _) => access.is_read_again(),
            Self::File { .. } | Self::InCluster | Self::Signed(..) => true,
        }
    }

    /// Returns the program that signs in, if one does.
    pub(super) fn plugin(&self) -> Option<&Plugin> {
        match self {
            Self::Signed(_, plugin) => Some(plugin),
            Self::At(access, _) => access.plugin(),
            Self::File { .. } | Self::Text(_) | Self::Hurried(..) | Self::InCluster => None,
        }
    }

    /// Returns the kubeconfig file that it reads, if it reads one.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::File { path, .. } => Some(path.clone()),
            Self::At(access, _) | Self::Signed(access, _) => access.file(),
            Self::Text(_) | Self::Hurried(..) | Self::InCluster => None,
        }
    }

    /// Returns the clusters that can be reached by it: the name of the one that it means itself, empty if it has none, and all others; nothing
    /// where there are none.
    pub fn contexts(&self) -> Result<Option<(String, Vec<String>)>, Refusal> {
        let Some((kubeconfig, chosen)) = self.kubeconfig()? else { return Ok(Some((String::new(), Vec::new()))) };
        if kubeconfig.contexts.is_empty() {
            // A file that is being written says nothing yet.
            return match kubeconfig.kind.as_deref() {
                Some("Config") => Ok(None),
                _ => Err(Refusal::new(RefusalKind::Settings, "read the kubeconfig: it is none")),
            };
        }
        let current = if chosen.is_empty() { kubeconfig.current_context.unwrap_or_default() } else { chosen };
        let names = kubeconfig.contexts.into_iter().map(|context| context.name);
        let others = names.filter(|name| *name != current).collect();
        Ok(Some((current, others)))
    }

    /// Reads the kubeconfig with the context that is chosen in it, empty for its current one; nothing where there is none.
    fn kubeconfig(&self) -> Result<Option<(Kubeconfig, String)>, Refusal> {
        match self {
            Self::InCluster => Ok(None),
            Self::Signed(access, _) => access.kubeconfig(),
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

/// What the files of a connection say.
pub(super) struct Read {
    config: kube::Config,
    /// The files.
    pub(super) files: Vec<PathBuf>,
}

impl Read {
    /// Returns where the server is.
    pub(super) fn address(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_owned()
    }

    /// Makes the client, with this to sign in with if it is not what the files say.
    pub(super) fn client(self, credential: Option<&Credential>) -> Result<kube::Client, Refusal> {
        let mut config = self.config;
        if let Some(credential) = credential {
            config.auth_info = credential.auth_info();
        }
        client_of(&config).map_err(|error| settings("set up the client", &error))
    }
}

/// Makes a client without retries and proxies, whose connections notice that nobody is at their other end any more.
fn client_of(config: &kube::Config) -> Result<kube::Client, kube::Error> {
    let connector = config.rustls_https_connector_with_connector(connector())?;
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let builder = ClientBuilder::new(client, config.default_namespace.clone());
    let boxed: fn(hyper_util::client::legacy::Error) -> BoxError = BoxError::from;
    let builder = builder.with_layer(&MapErrLayer::new(boxed)).with_layer(&config.extra_headers_layer()?);
    let base = config.base_uri_layer();
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}

/// Returns what makes connections. A way that swallows everything is noticed within half a minute, whether anything is sent or not.
fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_DEADLINE));
    connector.set_tcp_user_timeout(Some(ARRIVE_DEADLINE));
    connector.set_keepalive(Some(ALIVE_AFTER));
    connector.set_keepalive_interval(Some(ALIVE_EVERY));
    connector.set_keepalive_retries(Some(ALIVE_TRIES));
    connector
}

/// Reads the files of a connection and refuses what would run a program or skip the check of the server's certificate.
pub(super) async fn read(access: &Access) -> Result<Read, Refusal> {
    let Some((kubeconfig, context)) = access.kubeconfig()? else {
        let config = kube::Config::incluster().map_err(|error| settings("read the service account", &error))?;
        return Ok(Read { config, files: ACCOUNT_FILES.map(PathBuf::from).into() });
    };
    for named in &kubeconfig.auth_infos {
        let Some(user) = &named.auth_info else { continue };
        if user.exec.is_some() || user.auth_provider.is_some() {
            let message =
                format!("use the kubeconfig: user {:?} starts a program to sign in, which is refused", named.name);
            return Err(Refusal::new(RefusalKind::Settings, message));
        }
    }
    let files = access.file().into_iter().chain(named_files(&kubeconfig)).collect();
    let options =
        KubeConfigOptions { context: (!context.is_empty()).then_some(context), ..KubeConfigOptions::default() };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| settings("use the kubeconfig", &error))?;
    if config.accept_invalid_certs {
        let message = "use the kubeconfig: insecure-skip-tls-verify is refused, give certificate-authority-data";
        return Err(Refusal::new(RefusalKind::Settings, message));
    }
    Ok(Read { config, files })
}

/// Returns the files that a kubeconfig names.
fn named_files(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let of_users = users.flat_map(|user| [&user.token_file, &user.client_certificate, &user.client_key]);
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let of_clusters = clusters.map(|cluster| &cluster.certificate_authority);
    of_users.chain(of_clusters).flatten().map(PathBuf::from).collect()
}

fn settings(attempt: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(RefusalKind::Settings, format!("{attempt}: {}", crate::base::chain(error)))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Returns what the kernel waits for on a connection to a port of this machine, in its table: what sort of timer and how long yet, in
    /// hundredths of a second.
    fn timer(port: u16) -> Option<(String, u64)> {
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let mut rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
        let row = rows.rfind(|row| row[2].ends_with(&format!(":{port:04X}")) && row[3] == "01")?;
        let (sort, left) = row[5].split_once(':')?;
        Some((sort.to_owned(), u64::from_str_radix(left, 16).ok()?))
    }

    #[tokio::test]
    async fn a_connection_on_which_nothing_comes_is_asked_soon_whether_anybody_is_there() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        let client = client_of(&config).unwrap();
        let asked = tokio::spawn(async move { client.send(http::Request::new(Body::empty())).await.unwrap() });
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 64]).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{").await.unwrap();
        let answer = asked.await.unwrap();
        assert_eq!(answer.status(), 200);
        let (sort, left) = timer(port).unwrap();
        assert_eq!(sort, "02", "no timer that asks");
        assert!(left <= ALIVE_AFTER.as_secs() * 100, "{left}");
    }
}
