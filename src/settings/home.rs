//! Format. `<state>/instances/<id>/home.json`, version 1: which repository an identity belongs to.
//!
//! An identity stands in a file that whoever may push can change, and with it go a kubeconfig, secrets and everything that the instance
//! owns in its cluster. So it is remembered here whose it is. What does not read, is no file, or is of a newer version says nothing, and that of
//! one instance is in no other's way: the next start writes it anew. Not here: what follows from it (`pipeline`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use super::file::{read, write_private};
use super::state::{InstanceState, StateDirectory};
use crate::base::chain;
use crate::model::{CommitId, InstanceId, Subdirectory};

/// Version of the format that this build writes and reads.
const VERSION: u32 = 1;
/// Name of the file.
const NAME: &str = "home.json";
/// Largest file that is read, in bytes: two paths and a commit.
const MAX_BYTES: u64 = 64 * 1024;

/// Where an instance lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// The repository, without symbolic links on the way.
    pub repository: PathBuf,
    /// Its directory in there.
    pub subdirectory: Subdirectory,
    /// A commit by which the repository is known again: another one in its place does not have it.
    pub commit: CommitId,
}

impl Home {
    /// Returns the home in a repository, which is taken without symbolic links; as it is where it cannot be followed.
    pub fn at(repository: &Path, subdirectory: Subdirectory, commit: CommitId) -> Self {
        let repository = repository.canonicalize().unwrap_or_else(|_| repository.to_owned());
        Self { repository, subdirectory, commit }
    }

    /// Returns whether both are one place.
    pub fn is_place_of(&self, other: &Self) -> bool {
        self.repository == other.repository && self.subdirectory == other.subdirectory
    }
}

/// What stands in the file.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    repository: PathBuf,
    subdirectory: String,
    commit: String,
}

impl StateDirectory {
    /// Returns the homes of all identities that are remembered.
    pub fn homes(&self) -> Result<Vec<(InstanceId, Home)>, Error> {
        let root = self.root().join("instances");
        let listed = match std::fs::read_dir(&root) {
            Ok(listed) => listed,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::Io { attempt: "list", path: root, source }),
        };
        let mut homes = Vec::new();
        for entry in listed.flatten() {
            let id = entry.file_name().to_str().and_then(|name| InstanceId::parse(name).ok());
            let Some(id) = id else { continue };
            let path = entry.path().join(NAME);
            // A pipe in its place would be waited for without end.
            let is_file = |file: std::fs::Metadata| file.is_file() && file.len() <= MAX_BYTES;
            if !std::fs::metadata(&path).is_ok_and(is_file) {
                continue;
            }
            match read(&path) {
                Ok(text) => homes.extend(text.and_then(|text| parse(&text)).map(|home| (id, home))),
                Err(error) => tracing::warn!(error = %chain(&error), "where an instance lives cannot be read"),
            }
        }
        homes.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(homes)
    }
}

impl InstanceState {
    /// Remembers where the instance lives.
    pub fn remember(&self, home: &Home) -> Result<(), Error> {
        let path = self.home();
        let text = write(home);
        if read(&path)?.is_some_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        write_private(&path, text.as_bytes())
    }

    /// Returns the file in which it is remembered where the instance lives.
    pub fn home(&self) -> PathBuf {
        self.root().join(NAME)
    }
}

fn parse(text: &[u8]) -> Option<Home> {
    let written: Written = serde_json::from_slice(text).ok().filter(|written: &Written| written.version == VERSION)?;
    Some(Home {
        repository: written.repository,
        subdirectory: Subdirectory::parse(&written.subdirectory).ok()?,
        commit: CommitId::parse(&written.commit).ok()?,
    })
}

fn write(home: &Home) -> String {
    let written = Written {
        version: VERSION,
        repository: home.repository.clone(),
        subdirectory: home.subdirectory.as_str().to_owned(),
        commit: home.commit.as_str().to_owned(),
    };
    serde_json::to_string(&written).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_read_as_it_was_written_and_a_newer_or_broken_one_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(directory.path()).unwrap();
        assert_eq!(state.homes().unwrap(), []);
        let id = InstanceId::parse("k3f7q2m5xd").unwrap();
        let own = state.instance(&id).unwrap();
        let home = Home {
            repository: PathBuf::from("/srv/fleet.git"),
            subdirectory: Subdirectory::parse("clusters/home").unwrap(),
            commit: CommitId::parse(&"ab".repeat(20)).unwrap(),
        };
        own.remember(&home).unwrap();
        let text = std::fs::read_to_string(own.home()).unwrap();
        assert_eq!(
            text,
            "{\"version\":1,\"repository\":\"/srv/fleet.git\",\"subdirectory\":\"clusters/home\",\
             \"commit\":\"abababababababababababababababababababab\"}\n"
        );
        assert_eq!(state.homes().unwrap(), [(id, home)]);
        // What lies in the way of one instance is in no other's.
        let ways: [fn(&Path); 3] = [
            |path| std::fs::create_dir(path).unwrap(),
            |path| std::os::unix::fs::symlink(path, path).unwrap(),
            |path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        ];
        for (way, id) in ways.into_iter().zip(["q2m5xdk3f7", "aaaaaaaaaa", "bbbbbbbbbb"]) {
            let other = state.instance(&InstanceId::parse(id).unwrap()).unwrap();
            way(&other.home());
        }
        std::fs::write(directory.path().join("instances/cccccccccc"), "no directory").unwrap();
        assert_eq!(state.homes().unwrap().len(), 1);
        for other in [text.replace(":1,", ":2,"), text.replace('{', ""), text.replace("abab", "xyxy")] {
            std::fs::write(own.home(), other).unwrap();
            assert_eq!(state.homes().unwrap(), []);
        }
    }
}
