//! How a cluster is reached: a kubeconfig, and the client that it makes.
//!
//! Not here: what of a kubeconfig is refused (`yaml::kubeconfig`), reading files (`file`), when they are read again (`connection`), requests
//! (`call`).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::KubeConfigOptions;
use serde_json::Value;
use tower::BoxError;
use tower::util::MapErrLayer;

use super::file::{Folder, read_plain_file};
use super::patience::Patience;
use super::plugin::{Credential, Plugin};
use crate::base::sha256;
use crate::model::{Narrowed, Purpose, SecretValue};
use crate::target::{Refusal, RefusalKind};
use crate::yaml::kubeconfig::{KubeFault, KubeFiles, KubePrograms, Kubeconfig};

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
    /// where there are none. Also those that are refused are named. Notes that others could read the file, if they could.
    pub fn contexts(&self, narrowed: &mut Vec<Narrowed>) -> Result<Option<(String, Vec<String>)>, Refusal> {
        let Some(Source { kubeconfig, context, .. }) = self.source(narrowed)? else {
            return Ok(Some((String::new(), Vec::new())));
        };
        if kubeconfig.contexts.is_empty() {
            return Ok(None);
        }
        let current = if context.is_empty() { kubeconfig.current } else { context };
        let names = kubeconfig.contexts.into_iter().map(|(name, _)| name);
        let others = names.filter(|name| *name != current && !name.is_empty()).collect();
        Ok(Some((current, others)))
    }

    /// Reads the kubeconfig with the context that is chosen in it, empty for its current one; nothing where there is none.
    fn source(&self, narrowed: &mut Vec<Narrowed>) -> Result<Option<Source>, Refusal> {
        match self {
            Self::InCluster => Ok(None),
            Self::Signed(access, _) => access.source(narrowed),
            Self::At(access, context) => {
                Ok(access.source(narrowed)?.map(|source| Source { context: context.clone(), ..source }))
            }
            Self::File { path, context } => {
                let name = path.display().to_string();
                let refused = |why: String| settings(&format!("read the kubeconfig {name}: {why}"));
                let folder = Folder::of(path).map_err(refused)?;
                let own = folder.path().join(path.file_name().unwrap_or_default());
                let content = folder.read(&own, narrowed).map_err(refused)?;
                let directory = folder.path().display().to_string();
                let read = Kubeconfig::read(&content, KubeFiles::In(&directory), KubePrograms::Refused);
                let kubeconfig = read.map_err(|fault| faulty(&name, &fault))?;
                Ok(Some(Source { name, kubeconfig, context: context.clone(), folder: Some(folder) }))
            }
            // Whoever is in this process may name what he likes.
            Self::Text(text) | Self::Hurried(text, _) => {
                let read = Kubeconfig::read(text.as_bytes(), KubeFiles::Any, KubePrograms::Refused);
                let kubeconfig = read.map_err(|fault| faulty("", &fault))?;
                let (name, context) = (String::new(), String::new());
                Ok(Some(Source { name, kubeconfig, context, folder: None }))
            }
        }
    }
}

/// A kubeconfig that was read.
struct Source {
    /// Its file, for messages; empty if it has none.
    name: String,
    kubeconfig: Kubeconfig,
    /// The context that is chosen; empty for its current one.
    context: String,
    /// The directory that its files may lie in; nothing if they may lie anywhere.
    folder: Option<Folder>,
}

impl Source {
    /// Reads the files that a context names, and returns the context with their content in it, as the only one of a kubeconfig.
    fn alone(&self, files: &mut Vec<PathBuf>, narrowed: &mut Vec<Narrowed>) -> Result<Value, Refusal> {
        let name = if self.context.is_empty() { self.kubeconfig.current.clone() } else { self.context.clone() };
        let file = self.name.clone();
        let Some(found) = self.kubeconfig.context(&name) else {
            return Err(settings(&format!("use the kubeconfig {file}: it has no context {name:?}")));
        };
        let mut context = found.as_ref().map_err(|fault| faulty(&file, fault))?.clone();
        let named: Vec<(&str, PathBuf)> =
            context.files().into_iter().map(|(field, path)| (field, PathBuf::from(path))).collect();
        for (field, path) in named {
            let refused = |why: String| settings(&format!("read {} of the kubeconfig {file}: {why}", path.display()));
            let bytes = match &self.folder {
                Some(folder) => {
                    files.push(folder.path().join(&path));
                    folder.read(&path, narrowed).map_err(refused)?
                }
                None => {
                    files.push(path.clone());
                    read_plain_file(&path).map_err(refused)?
                }
            };
            context.inline(field, &bytes).map_err(|fault| {
                settings(&format!("use {} of the kubeconfig {file}: {fault}; {}", path.display(), fault.remedy()))
            })?;
        }
        Ok(context.alone(&name))
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

    /// Returns the digest of the certificates that vouch for the server, in whatever order they stand there; empty where those of the system do,
    /// or nobody.
    pub(super) fn authority(&self) -> String {
        let Some(certificates) = self.config.root_cert.as_ref().filter(|_| self.is_encrypted()) else {
            return String::new();
        };
        let digests: BTreeSet<[u8; 32]> = certificates.iter().map(|certificate| sha256(certificate).0).collect();
        let digests: Vec<u8> = digests.into_iter().flatten().collect();
        sha256(&digests).to_hex()
    }

    fn is_encrypted(&self) -> bool {
        self.config.cluster_url.scheme_str() == Some("https")
    }

    /// Makes the client, with this to sign in with if it is not what the files say.
    pub(super) fn client(self, credential: Option<&Credential>) -> Result<kube::Client, Refusal> {
        let mut config = self.config;
        if let Some(credential) = credential {
            config.auth_info = credential.auth_info();
        }
        client_of(&config).map_err(|error| settings(&format!("set up the client: {}", crate::base::chain(&error))))
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
    if let Some(token) = &config.auth_info.token {
        // The layer takes it for granted.
        let token = SecretValue::from(token.clone());
        HeaderValue::from_str(token.expose(Purpose::Credential))
            .map_err(http::Error::from)
            .map_err(kube::Error::HttpError)?;
    }
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

/// Reads the files of a connection and refuses what would run a program, lead elsewhere, or skip the check of the server's certificate. Notes
/// those that others could read, also where it refuses.
pub(super) async fn read(access: &Access, narrowed: &mut Vec<Narrowed>) -> Result<Read, Refusal> {
    let Some(source) = access.source(narrowed)? else {
        let config = kube::Config::incluster()
            .map_err(|error| settings(&format!("read the service account: {}", crate::base::chain(&error))))?;
        return Ok(Read { config, files: ACCOUNT_FILES.map(PathBuf::from).into() });
    };
    let mut files: Vec<PathBuf> = access.file().into_iter().collect();
    let alone = source.alone(&mut files, narrowed)?;
    // Nothing but what was looked at is in it.
    let unusable = || settings(&format!("use the kubeconfig {}: a field of it does not read", source.name));
    let kubeconfig: kube::config::Kubeconfig = serde_json::from_value(alone).map_err(|_| unusable())?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|_| unusable())?;
    Ok(Read { config, files })
}

/// Refuses a kubeconfig of which no client can be made.
pub async fn check_kubeconfig(text: &str) -> Result<(), Refusal> {
    let read = read(&Access::Text(text.to_owned()), &mut Vec::new()).await?;
    read.client(None).map(|_| ())
}

fn faulty(name: &str, fault: &KubeFault) -> Refusal {
    let file = if name.is_empty() { String::new() } else { format!(" {name}") };
    settings(&format!("use the kubeconfig{file}: {fault}; {}", fault.remedy()))
}

fn settings(message: &str) -> Refusal {
    Refusal::new(RefusalKind::Settings, message)
}

#[cfg(test)]
mod tests {
    use kube::config::AuthInfo;
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
    async fn no_credential_whatever_it_holds_makes_more_than_a_refusal() {
        let long = "a".repeat(1024 * 1024);
        for text in ["a\nb", "a\rb", "a\0b", "a\u{7f}", "ä", "", " ", "\n", "a", &long] {
            let secret = || Some(text.to_owned().into());
            let named = || Some(text.to_owned());
            let encoded = || Some("AAAA".to_owned());
            let credentials = [
                AuthInfo { token: secret(), ..AuthInfo::default() },
                AuthInfo { username: named(), password: secret(), ..AuthInfo::default() },
                AuthInfo { impersonate: named(), ..AuthInfo::default() },
                AuthInfo { impersonate_groups: Some(vec![text.to_owned()]), ..AuthInfo::default() },
                AuthInfo {
                    impersonate_user_extra: Some([(text.to_owned(), vec![text.to_owned()])].into()),
                    ..AuthInfo::default()
                },
                AuthInfo { token_file: named(), ..AuthInfo::default() },
                AuthInfo { client_certificate_data: named(), client_key_data: secret(), ..AuthInfo::default() },
                AuthInfo { client_certificate_data: encoded(), ..AuthInfo::default() },
            ];
            for auth_info in credentials {
                let mut config = kube::Config::new("https://127.0.0.1:1".parse().unwrap());
                config.auth_info = auth_info;
                config.tls_server_name = Some(text.to_owned());
                // Whether it is one hangs on the field; that it comes back is what counts.
                let _ = client_of(&config);
                config.tls_server_name = None;
                let made = client_of(&config);
                let is_bad = text.contains('\n') && config.auth_info.token.is_some();
                assert!(!(is_bad && made.is_ok()), "{text:?}");
            }
        }
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
