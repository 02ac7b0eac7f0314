//! Who signed a commit, of those whom the host's settings name. What a repository says of itself is asked nothing: no key that it holds, and no
//! setting of it, counts.
//!
//! Signatures by SSH keys are checked here, those of OpenPGP by `gpgv`. Not here: which upstream must be signed and what follows from that
//! (`pipeline`).

mod pgp;
mod ssh;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use self::ssh::{AllowedSigners, Times};
use super::checks::signature::{Carried, SignedPart, carried};
use super::error::Error;
use super::objects::Objects;
use super::read::refused;
use super::refs::oid;
use super::repository::Repository;
use crate::base::Timestamp;
use crate::model::CommitId;

/// Size of a file of signers in bytes: 5,000 keys.
const MAX_SIGNERS_BYTES: u64 = 1024 * 1024;

/// Where it is written whose signatures count, and where `gpgv` may put what it checks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signers {
    /// SSH keys, as `allowed_signers` of OpenSSH.
    pub ssh: Option<PathBuf>,
    /// OpenPGP keys, as `gpg --export` writes them.
    pub pgp: Option<PathBuf>,
    /// Directory of ours for files that live as long as a call.
    pub scratch: PathBuf,
}

/// Why a commit is signed by nobody who counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsigned {
    /// It carries no signature.
    Absent,
    /// It carries several.
    Several,
    /// The settings name nobody who signs in this way.
    Nobody(Way),
    /// The file that names them cannot be read.
    Unread(String),
    /// Its key is none of those; the fingerprint.
    Unknown(String),
    /// It is no signature of this commit.
    Bad,
    /// The key of this person did not count any more, or not yet.
    Outdated(String),
}

/// A way to sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By an SSH key.
    Ssh,
    /// By an OpenPGP key.
    Pgp,
    /// In another way, such as X.509.
    Other,
}

impl Unsigned {
    fn unread(file: &Path, why: &str) -> Self {
        Self::Unread(format!("{}, which says who may sign, is not read: {why}", file.display()))
    }
}

impl fmt::Display for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("it is not signed"),
            Self::Several => f.write_str("it carries more than one signature"),
            Self::Nobody(Way::Ssh) => {
                f.write_str("it is signed by an SSH key, and allowedSigners of daemon.yaml names no file")
            }
            Self::Nobody(Way::Pgp) => {
                f.write_str("it is signed by an OpenPGP key, and allowedKeyring of daemon.yaml names no file")
            }
            Self::Nobody(Way::Other) => f.write_str("it is signed neither by an SSH key nor by an OpenPGP key"),
            Self::Unread(why) => f.write_str(why),
            Self::Unknown(print) => write!(f, "it is signed by a key that nobody allowed, {print}"),
            Self::Bad => f.write_str("its signature is none of this commit"),
            Self::Outdated(name) => write!(f, "it is signed by {name}, whose key does not count at that time"),
        }
    }
}

impl Repository {
    /// Returns who signed a commit, or why it is nobody who counts. A key must count at the time at which the commit was made and, if it is
    /// taken for the first time, also then: so a key that was given up signs nothing new, whatever time is written into it.
    pub async fn signer(
        &self,
        commit: &CommitId,
        signers: &Signers,
        taken: Option<Timestamp>,
    ) -> Result<Result<String, Unsigned>, Error> {
        let (raw, made) = self.raw_commit(commit).await?;
        let part = match carried(&raw) {
            Carried::Nothing => return Ok(Err(Unsigned::Absent)),
            Carried::Several => return Ok(Err(Unsigned::Several)),
            Carried::One(part) => part,
        };
        let way = Way::of(&part);
        let named = match way {
            Way::Ssh => signers.ssh.as_deref(),
            Way::Pgp => signers.pgp.as_deref(),
            Way::Other => None,
        };
        let Some(file) = named else { return Ok(Err(Unsigned::Nobody(way))) };
        if way == Way::Pgp {
            return pgp::signer(file, &part, &signers.scratch).await;
        }
        let file = file.to_owned();
        super::lane::run(format!("check the signature of {}", commit.short()), move || {
            let signed = text_of(&file)
                .map(|text| AllowedSigners::parse(&text).signer(&part.signature, &part.payload, Times { made, taken }));
            Ok(signed.unwrap_or_else(Err))
        })
        .await
    }

    /// Returns a commit as it is stored, and when it says that it was made.
    async fn raw_commit(&self, commit: &CommitId) -> Result<(Vec<u8>, Timestamp), Error> {
        let (attempt, commit) = (format!("read commit {}", commit.short()), commit.clone());
        self.read(attempt, move |repository, known| {
            let (objects, id) = (Objects::of(repository, known)?, oid(&commit)?);
            let refuse = |refusal| refused(refusal, commit.as_str());
            let time = objects.commit(id).map_err(refuse)?.time;
            let raw = objects.whole_commit(id).map_err(refuse)?.data().to_vec();
            Ok((raw, Timestamp(time.saturating_mul(1_000_000))))
        })
        .await
    }
}

impl Way {
    fn of(part: &SignedPart) -> Self {
        match part.signature.as_slice() {
            it if it.starts_with(b"-----BEGIN SSH SIGNATURE-----") => Self::Ssh,
            it if it.starts_with(b"-----BEGIN PGP SIGNATURE-----")
                || it.starts_with(b"-----BEGIN PGP MESSAGE-----") =>
            {
                Self::Pgp
            }
            _ => Self::Other,
        }
    }
}

/// Reads a file of signers.
fn text_of(file: &Path) -> Result<String, Unsigned> {
    let unread =
        |why: &str| Unsigned::Unread(format!("{}, which says who may sign, is not read: {why}", file.display()));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| unread(&error.to_string()))?;
    opened.take(MAX_SIGNERS_BYTES + 1).read_to_string(&mut text).map_err(|error| unread(&error.to_string()))?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= MAX_SIGNERS_BYTES) {
        Ok(text)
    } else {
        Err(unread("it is larger than 1 MiB"))
    }
}

#[cfg(test)]
mod tests;
