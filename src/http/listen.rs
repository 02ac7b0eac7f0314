//! Opens what a daemon listens on, before anything else is done: a port in use is found out here.
//!
//! Not here: answering (`serve.rs`).

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::settings::DaemonSettings;

/// Mode of the socket: its own user only; root is let in by the system anyway.
const SOCKET_MODE: u32 = 0o600;

/// Why a daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no address.
    #[error("listen on {address}: it is no address with a port")]
    Address {
        /// The text.
        address: String,
    },
    /// The address is open to the network.
    #[error("listen on {address}: only this machine may be listened to until somebody can sign in")]
    Open {
        /// The address.
        address: String,
    },
    /// The system refused a port.
    #[error("listen on {address}")]
    Port {
        /// The address.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused a socket.
    #[error("listen on {}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A daemon answers on the socket.
    #[error("listen on {}: another daemon answers there", path.display())]
    OtherDaemon {
        /// The socket.
        path: PathBuf,
    },
}

impl Error {
    /// Returns whether a daemon that runs is the reason.
    pub fn is_other_daemon(&self) -> bool {
        matches!(self, Self::OtherDaemon { .. })
    }

    /// Returns what to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Address { .. } => "listen: 127.0.0.1:5055 in daemon.yaml".to_owned(),
            Self::Open { .. } => "listen: 127.0.0.1:5055 in daemon.yaml, and a tunnel to it".to_owned(),
            Self::Port { .. } => "another port in daemon.yaml, such as listen: 127.0.0.1:5065".to_owned(),
            Self::Socket { .. } => "another place in daemon.yaml, such as socket: /run/wild/wild.sock".to_owned(),
            Self::OtherDaemon { .. } => "wild status, or stop the other daemon".to_owned(),
        }
    }
}

/// What a daemon listens on.
#[derive(Debug)]
pub struct Listeners {
    pub(super) api: Option<TcpListener>,
    pub(super) metrics: Option<TcpListener>,
    pub(super) socket: Option<(UnixListener, PathBuf)>,
}

impl Listeners {
    /// Returns the address of the status page; empty if there is none.
    pub fn address(&self) -> String {
        self.api.as_ref().map(url).unwrap_or_default()
    }

    /// Returns the address of the metrics; empty if there is none.
    pub fn metrics_address(&self) -> String {
        self.metrics.as_ref().map(url).unwrap_or_default()
    }
}

fn url(listener: &TcpListener) -> String {
    listener.local_addr().map(|address| format!("http://{address}")).unwrap_or_default()
}

/// Opens everything that the settings name; an empty text leaves a listener out.
pub async fn bind(settings: &DaemonSettings) -> Result<Listeners, Error> {
    let api = port(&settings.listen).await?;
    let metrics = port(&settings.metrics_listen).await?;
    let socket = match settings.socket.as_os_str().is_empty() {
        true => None,
        false => Some((socket(&settings.socket).await?, settings.socket.clone())),
    };
    Ok(Listeners { api, metrics, socket })
}

async fn port(address: &str) -> Result<Option<TcpListener>, Error> {
    if address.is_empty() {
        return Ok(None);
    }
    let written = address.replace("localhost:", "127.0.0.1:");
    let parsed: SocketAddr = written.parse().map_err(|_| Error::Address { address: address.to_owned() })?;
    if !is_loopback(parsed.ip()) {
        return Err(Error::Open { address: address.to_owned() });
    }
    let listener = TcpListener::bind(parsed).await;
    listener.map(Some).map_err(|source| Error::Port { address: address.to_owned(), source })
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback(),
    }
}

/// Opens the socket. One that nobody answers on was left by a daemon that died, and goes.
async fn socket(path: &Path) -> Result<UnixListener, Error> {
    let refused = |source| Error::Socket { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(refused)?;
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(Error::OtherDaemon { path: path.to_owned() });
            }
            std::fs::remove_file(path).map_err(refused)?;
        }
        Ok(_) => return Err(refused(std::io::Error::other("something else is there"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
    }
    // It gets its name when somebody listens on it and it has its mode: whoever finds it is answered.
    let unnamed = path.with_extension(std::process::id().to_string());
    let _ = std::fs::remove_file(&unnamed);
    let listener = UnixListener::bind(&unnamed).map_err(refused)?;
    std::fs::set_permissions(&unnamed, std::fs::Permissions::from_mode(SOCKET_MODE)).map_err(refused)?;
    std::fs::rename(&unnamed, path).map_err(refused)?;
    Ok(listener)
}

/// Returns the host of a URL.
pub(super) fn host_of_url(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(without_port(authority))
}

/// Returns a host without its port.
pub(super) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(listen: &str) -> String {
        let settings =
            DaemonSettings { listen: listen.to_owned(), metrics_listen: String::new(), ..DaemonSettings::default() };
        bind(&settings).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn only_this_machine_is_listened_to() {
        for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:5055"] {
            assert!(refusal(listen).await.contains("only this machine"), "{listen}");
        }
        assert!(refusal("5055").await.contains("no address"));
    }

    #[tokio::test]
    async fn a_port_in_use_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert!(refusal(&address).await.contains(&address));
    }

    #[tokio::test]
    async fn a_socket_that_was_left_is_replaced_and_one_that_answers_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/wild.sock");
        drop(socket(&path).await.unwrap());
        let second = socket(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, SOCKET_MODE);
        assert!(socket(&path).await.unwrap_err().is_other_daemon());
        drop(second);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        assert!(!socket(&path).await.unwrap_err().is_other_daemon());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    }

    #[tokio::test]
    async fn a_socket_answers_and_has_its_mode_from_the_moment_it_can_be_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wild.sock");
        for _ in 0..200 {
            let (found, done) = (path.clone(), std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
            let seen = done.clone();
            let finder = std::thread::spawn(move || {
                while !found.exists() && !seen.load(std::sync::atomic::Ordering::SeqCst) {}
                let mode = std::fs::metadata(&found).map(|found| found.permissions().mode() & 0o777).ok();
                (mode, std::os::unix::net::UnixStream::connect(&found).is_ok())
            });
            let listener = socket(&path).await.unwrap();
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(finder.join().unwrap(), (Some(SOCKET_MODE), true));
            drop(listener);
            std::fs::remove_file(&path).unwrap();
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_host_of_an_address_has_no_port() {
        assert_eq!(host_of_url("https://wild.example.org:8443/x"), Some("wild.example.org"));
        assert_eq!(host_of_url(""), None);
        assert_eq!(without_port("[::1]:5055"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
    }
}
