//! The state directory: what must not lie in a repository.
//!
//! ```text
//! <state>/wild.db                  the store
//! <state>/wild.db.opening          locked while the store is opened
//! <state>/instances/<id>/lock      the instance lock
//! <state>/instances/<id>/hash.key  key of the hashes on live objects
//! <state>/instances/<id>/home.json which repository the identity belongs to
//! <state>/instances/<id>/kubeconfig, secrets.yaml
//! ```
//!
//! Not here: which directory it is (`cli` reads the environment once).

use std::path::{Path, PathBuf};

use super::file::{make_directory, read, write_private};
use super::private::{narrow, narrow_beside, narrow_directory};
use super::{Error, entropy};
use crate::model::{InstanceId, Narrowed};

/// Name of the file of the store.
const STORE: &str = "wild.db";

/// The state directory.
#[derive(Clone, Debug)]
pub struct StateDirectory {
    root: PathBuf,
}

impl StateDirectory {
    /// Opens the directory and makes it if it is absent.
    pub fn open(root: &Path) -> Result<Self, Error> {
        make_directory(root)?;
        Ok(Self { root: root.to_owned() })
    }

    /// Returns the directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file of the store.
    pub fn store(&self) -> PathBuf {
        self.root.join(STORE)
    }

    /// Returns the directory in which fetched objects wait to be checked.
    pub fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// Narrows what others may do with the directory, the store in it and what is made of that beside it, and returns what they could.
    pub fn narrow(&self) -> Result<Vec<Narrowed>, Error> {
        let mut narrowed: Vec<Narrowed> = narrow(&self.root)?.into_iter().collect();
        for name in [STORE, "wild.db-wal", "wild.db-shm", "wild.db-journal", "instances", "quarantine", "keys"] {
            narrowed.extend(narrow(&self.root.join(name))?);
        }
        narrowed.extend(narrow_beside(&self.root, STORE)?);
        Ok(narrowed)
    }

    /// Returns the part of one instance and makes it if it is absent.
    pub fn instance(&self, id: &InstanceId) -> Result<InstanceState, Error> {
        let root = self.root.join("instances").join(id.as_str());
        make_directory(&root)?;
        Ok(InstanceState { root })
    }
}

/// What one instance keeps outside its repository.
#[derive(Clone, Debug)]
pub struct InstanceState {
    root: PathBuf,
}

impl InstanceState {
    /// Returns its directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Narrows what others may do with it and its files, and returns what they could.
    pub fn narrow(&self) -> Result<Vec<Narrowed>, Error> {
        narrow_directory(&self.root)
    }

    /// Returns the lock file.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Returns the kubeconfig that `wild cluster add` wrote.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// Returns the secrets file of a bare instance; one with a work tree has it there.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets.yaml")
    }

    /// Returns the key of the hashes on live objects and makes it the first time. A lost key costs one apply of every object and restarts nothing.
    pub fn hash_key(&self) -> Result<[u8; 32], Error> {
        let path = self.root.join("hash.key");
        if let Some(key) = read(&path)?.and_then(|content| <[u8; 32]>::try_from(content).ok()) {
            return Ok(key);
        }
        let mut key = [0; 32];
        entropy::fill(&mut key)?;
        write_private(&path, &key)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::StateDirectory;
    use crate::model::InstanceId;

    #[test]
    fn the_hash_key_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(directory.path()).unwrap();
        let instance = state.instance(&InstanceId::parse("k3f7q2m5xd").unwrap()).unwrap();
        let key = instance.hash_key().unwrap();
        assert_ne!(key, [0; 32]);
        assert_eq!(instance.hash_key().unwrap(), key);
    }
}
