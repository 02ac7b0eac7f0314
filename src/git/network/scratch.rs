//! Throw-away repositories: one for each call of the network, private, gone afterwards.
//!
//! Not here: what is done in them (`fetch.rs`, `push.rs`).

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::model::{Purpose, SecretValue};

use super::super::address;
use super::super::child::{self, Call, Exit};
use super::super::error::{Error, io};
use super::super::lane;
use super::super::remote_url::Scheme;
use super::super::repository::{Layout, Repository};
use super::{Credential, CredentialKind, Remote};

/// Start of the names of throw-away directories.
const PREFIX: &str = "call-";
/// Tries to find a name that is free.
const NAME_TRIES: u32 = 100;
/// The credential helper: prints the file that we wrote into the child's home, when git asks and not when it stores.
/// So the secret is in no argument, no environment and no URL.
const HELPER: &str = "!f() { test \"$1\" = get && cat \"$HOME/credential\"; }; f";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// What a call of the network may take.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Time.
    pub(super) deadline: Duration,
    /// Bytes of memory of the child.
    pub(super) memory: u64,
}

/// A throw-away repository; dropping it removes it.
pub(super) struct Scratch {
    folder: Folder,
    repository: Repository,
}

/// A throw-away directory that nobody else may read; dropping it removes it.
pub(in crate::git) struct Folder(PathBuf);

/// Removes throw-away directories that an earlier process left behind. For the start, before any call. Those of another process that
/// lives stay: a command without a daemon may be fetching while the daemon starts.
pub async fn clear_scratch(scratch: &Path) -> Result<(), Error> {
    let attempt = format!("clear {}", scratch.display());
    let scratch = scratch.to_owned();
    lane::run(attempt.clone(), move || {
        let entries = match std::fs::read_dir(&scratch) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => other.map_err(io(attempt.clone()))?,
        };
        for entry in entries {
            let entry = entry.map_err(io(attempt.clone()))?;
            if is_left(&entry.file_name().to_string_lossy()) {
                std::fs::remove_dir_all(entry.path()).map_err(io(attempt.clone()))?;
            }
        }
        Ok(())
    })
    .await
}

/// Returns whether nobody works in a directory of this name any more.
fn is_left(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let process = rest.split('-').next().unwrap_or_default();
    process == std::process::id().to_string() || !Path::new("/proc").join(process).exists()
}

impl Scratch {
    /// Creates a repository that borrows the objects of another, so that only what is new is fetched.
    pub(super) async fn create(remote: &Remote, lender: Option<&Repository>) -> Result<Self, Error> {
        let folder = Folder::create(&remote.scratch).await?;
        let repository = Repository::init(&folder.path().join("git"), Layout::Bare, "main").await?;
        let (home, objects) = (folder.path().join("home"), repository.git_dir().join("objects"));
        let lent = lender.map(|lender| lender.git_dir().join("objects"));
        let secret = remote.credential.as_ref().map(|credential| secret_file(remote, credential)).transpose()?;
        lane::run(format!("fill a directory in {}", remote.scratch.display()), move || {
            private().create(&home).map_err(io(format!("create {}", home.display())))?;
            if let Some(lent) = lent {
                let path = objects.join("info/alternates");
                std::fs::create_dir_all(objects.join("info"))
                    .and_then(|()| std::fs::write(&path, format!("{}\n", lent.display())))
                    .map_err(io(format!("write {}", path.display())))?;
            }
            if let Some(secret) = secret.flatten() {
                let path = home.join("credential");
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&path)
                    .and_then(|mut file| file.write_all(secret.expose(Purpose::Credential).as_bytes()))
                    .map_err(io(format!("write {}", path.display())))?;
            }
            Ok(())
        })
        .await?;
        Ok(Self { folder, repository })
    }

    /// Returns the repository.
    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Stops borrowing objects, so that only what was fetched is left.
    pub(super) fn forget_lender(git_dir: &Path) -> Result<(), Error> {
        let path = git_dir.join("objects/info/alternates");
        std::fs::remove_file(&path).map_err(io(format!("remove {}", path.display())))
    }

    /// Runs a git command against the remote.
    pub(super) async fn run(
        &self,
        remote: &Remote,
        attempt: String,
        args: Vec<String>,
        bounds: Bounds,
    ) -> Result<Exit, Error> {
        let home = self.folder.path().join("home");
        let mut settings = transport(remote);
        settings.extend(credential_settings(remote)?);
        if let Some((_, pinned)) = address::pin(&remote.url, remote.egress).await? {
            settings.push(("http.curloptResolve".to_owned(), pinned));
        }
        let git_dir = self.repository.git_dir();
        let Bounds { deadline, memory } = bounds;
        child::run(Call { attempt, git_dir, home: &home, settings, args, deadline, memory }).await
    }
}

impl Folder {
    /// Creates a directory with a name of its own.
    pub(in crate::git) async fn create(base: &Path) -> Result<Self, Error> {
        let attempt = format!("create a directory in {}", base.display());
        let base = base.to_owned();
        lane::run(attempt, move || create_directory(&base).map(Self)).await
    }

    /// Returns where it is.
    pub(in crate::git) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn create_directory(base: &Path) -> Result<PathBuf, Error> {
    let attempt = || format!("create a directory in {}", base.display());
    DirBuilder::new().recursive(true).mode(0o700).create(base).map_err(io(attempt()))?;
    for _ in 0..NAME_TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match private().create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(attempt())(error)),
        }
    }
    Err(Error::Unusable { attempt: attempt(), reason: "every name is taken".to_owned() })
}

/// Returns which transports this child may use: the one of its URL.
fn transport(remote: &Remote) -> Vec<(String, String)> {
    let protocol = match remote.url.scheme() {
        Scheme::Https => "https",
        Scheme::Http => "http",
        Scheme::Ssh => "ssh",
        Scheme::File => "file",
    };
    vec![(format!("protocol.{protocol}.allow"), "always".to_owned())]
}

fn credential_settings(remote: &Remote) -> Result<Vec<(String, String)>, Error> {
    let strict = "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ProxyCommand=none -o ForwardAgent=no \
                  -o IdentitiesOnly=yes -o ConnectTimeout=10";
    let ssh = |known_hosts: &str, key: String| {
        let command = format!("ssh -F /dev/null {strict} -o UserKnownHostsFile={known_hosts}{key}");
        ("core.sshCommand".to_owned(), command)
    };
    Ok(match remote.credential.as_ref().map(|credential| &credential.kind) {
        None => vec![ssh("/dev/null", String::new())],
        Some(CredentialKind::Token { .. }) => {
            let key = format!("credential.{}.helper", remote.url);
            vec![ssh("/dev/null", String::new()), (key, HELPER.to_owned())]
        }
        Some(CredentialKind::SshKey { key, known_hosts }) => {
            vec![ssh(&quoted(known_hosts)?, format!(" -i {}", quoted(key)?))]
        }
    })
}

/// Quotes a path for the shell that git starts ssh with.
fn quoted(path: &Path) -> Result<String, Error> {
    match path.to_str().filter(|text| !text.contains(['\'', '"', '\\', '\n', '%', ' '])) {
        Some(text) => Ok(format!("'{text}'")),
        None => {
            let reason = "the path holds a space, quote, percent sign or backslash".to_owned();
            Err(Error::Unusable { attempt: format!("use {}", path.display()), reason })
        }
    }
}

/// Returns the text of the file that the helper prints.
fn secret_file(remote: &Remote, credential: &Credential) -> Result<Option<SecretValue>, Error> {
    let refused = |reason: &str| {
        let attempt = format!("use a credential for {}", remote.url);
        Err(Error::Unusable { attempt, reason: reason.to_owned() })
    };
    if !remote.url.is_under(&credential.origin) {
        return refused("it is bound to another address (credential/origin)");
    }
    let CredentialKind::Token { user, token } = &credential.kind else { return Ok(None) };
    let token = token.expose(Purpose::Credential);
    if user.chars().chain(token.chars()).any(char::is_control) {
        return refused("it holds a control character");
    }
    Ok(Some(SecretValue::new(format!("username={user}\npassword={token}\n"))))
}
