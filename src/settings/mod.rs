//! Files of ours beside the repository: the state directory, the daemon's settings, `secrets.yaml`, keys, the instance lock, entropy.
//!
//! This is the one write path to secrets. Every file is written to a temporary name in the same directory with its mode set at
//! creation, synced, renamed, and the directory synced, so that a crash leaves the old file or the new one.
//!
//! Not here: what stands in the repository (`git`), what `.wild/config.yaml` means (`model::Settings`).

mod credential;
mod daemon;
mod entropy;
mod file;
mod home;
mod lock;
mod private;
mod secret_marks;
mod secrets;
mod sops;
mod state;
mod users;

pub use credential::read_credential;
pub use daemon::{ClusterAccess, DaemonSettings, ExecEntry, InstanceEntry, Intervals, KeycloakEntry};
pub use entropy::{fill, instance_id};
pub use file::write_private;
pub use home::Home;
pub use lock::InstanceLock;
pub use private::{keep_private, narrow, narrow_with_copies, written};
pub use secrets::{DELETED, SecretsFile};
pub use sops::{SopsFound, SopsSources};
pub use state::{InstanceState, StateDirectory};
pub use users::user_name;

use std::path::PathBuf;

use crate::model::Diagnostic;

/// Why a file of ours cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{attempt} {}", path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content is not what it must be.
    #[error("read {}: {}", path.display(), first(diagnostics))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// Another process holds the instance.
    #[error("take the instance lock {}: it is held by {holder}", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// What the holder wrote into it: pid and start time.
        holder: String,
    },
    /// Others may read or change it, and that cannot be mended here.
    #[error("use {}: {why}", path.display())]
    Others {
        /// The file.
        path: PathBuf,
        /// Who may do what.
        why: String,
    },
    /// The operating system gave no entropy.
    #[error("read entropy")]
    Entropy(#[source] rand::rngs::SysError),
}

impl Error {
    /// Returns whether the input must change before a retry makes sense (seed S1).
    pub fn is_user(&self) -> bool {
        match self {
            Self::Content { .. } | Self::Locked { .. } | Self::Others { .. } => true,
            Self::Io { .. } | Self::Entropy(_) => false,
        }
    }
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(String::new, ToString::to_string)
}

/// Returns a mapper of system errors that names the attempt and the file.
fn io(attempt: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { attempt, path, source }
}
