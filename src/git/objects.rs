//! Reads single objects: the only file that takes an object out of the database, and only after its size was judged by its header.
//!
//! A commit may arrive by ways where nobody looked at it, so this holds for everything that is read, not only for what is pushed or fetched.
//!
//! Not here: what is allowed (`checks`), trees as a whole (`check_tree.rs`), history (`graph.rs`).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ObjectType, Odb, Oid};

use super::check_tree::{Refusal, hostile};
use super::checks::commit::{CommitLinks, parse_commit, parse_tag};
use super::checks::{Id, MAX_TAG_DEPTH, ObjectKind, Rule, judge_size};
use super::error::{Error, git};
use super::packs::Packs;
use super::read::{Directories, refused};

/// What is kept of commits together, counted in commits and parents; about 100 bytes each.
const KEPT_LINKS: usize = 100_000;

/// Size of a tree of notes in bytes: 250,000 notes in one.
const MAX_NOTES_BYTES: u64 = 16 * 1024 * 1024;

/// What is remembered of a repository from one call to the next: objects never change.
#[derive(Default)]
pub(super) struct Known {
    pub(super) directories: Directories,
    commits: Mutex<Commits>,
    packs: Packs,
}

/// Commits that were read.
#[derive(Default)]
struct Commits {
    links: HashMap<Oid, Arc<CommitLinks>>,
    weight: usize,
}

/// How large an object may be.
enum Size {
    /// As large as any of its kind.
    OfKind,
    /// So many bytes, and the rule that it breaks otherwise.
    Below(u64, Rule),
}

/// The objects of a repository.
pub(super) struct Objects<'a> {
    odb: Odb<'a>,
    pack_directory: Option<PathBuf>,
    pub(super) known: &'a Known,
}

impl<'a> Objects<'a> {
    /// Opens the objects of a repository.
    pub(super) fn of(repository: &'a git2::Repository, known: &'a Known) -> Result<Self, Error> {
        let attempt = || format!("open the objects of {}", repository.path().display());
        let odb = repository.odb().map_err(git(attempt()))?;
        Ok(Self { odb, pack_directory: Some(repository.commondir().join("objects/pack")), known })
    }

    /// Takes objects whose packs were looked through before.
    pub(super) fn looked_through(odb: Odb<'a>, known: &'a Known) -> Self {
        Self { odb, pack_directory: None, known }
    }

    /// Returns size and kind of an object without reading it.
    pub(super) fn header(&self, id: Oid) -> Result<(u64, ObjectKind), Refusal> {
        let (bytes, kind) = self.odb.read_header(id).map_err(Refusal::Unreadable)?;
        let kind = match kind {
            ObjectType::Commit => ObjectKind::Commit,
            ObjectType::Tree => ObjectKind::Tree,
            ObjectType::Tag => ObjectKind::Tag,
            ObjectType::Blob | ObjectType::Any => ObjectKind::Blob,
        };
        Ok((u64::try_from(bytes).unwrap_or(u64::MAX), kind))
    }

    /// Reads an object that must be of a kind and within a size.
    fn read(&self, id: Oid, wanted: ObjectKind, size: Size, path: &str) -> Result<git2::OdbObject<'_>, Refusal> {
        let (bytes, kind) = self.header(id)?;
        if kind != wanted {
            return Err(hostile(path, other_kind(wanted)));
        }
        match size {
            Size::OfKind => judge_size(kind, bytes).map_err(|rule| hostile(path, rule))?,
            Size::Below(most, rule) if bytes > most => return Err(hostile(path, rule)),
            Size::Below(..) => {}
        }
        if let Some(directory) = &self.pack_directory
            && let Some(rule) = self.known.packs.judge(directory, id).map_err(Refusal::Broken)?
        {
            return Err(hostile(path, rule));
        }
        self.odb.read(id).map_err(Refusal::Unreadable)
    }

    /// Reads a tree object that lies at a path.
    pub(super) fn tree(&self, id: Oid, path: &str) -> Result<git2::OdbObject<'_>, Refusal> {
        self.read(id, ObjectKind::Tree, Size::OfKind, path)
    }

    /// Reads a file of at most so many bytes that lies at a path.
    pub(super) fn blob(&self, id: Oid, most: u64, path: &str) -> Result<git2::OdbObject<'_>, Refusal> {
        self.read(id, ObjectKind::Blob, Size::Below(most, ("tree/file-size", "the file is larger than allowed")), path)
    }

    /// Reads a tree of notes, which is flat and grows with every commit that something was said about.
    pub(super) fn notes(&self, id: Oid) -> Result<git2::OdbObject<'_>, Refusal> {
        let rule = ("notes/entries", "the notes on commits take more than 16 MiB");
        self.read(id, ObjectKind::Tree, Size::Below(MAX_NOTES_BYTES, rule), "")
    }

    /// Returns what a commit leads to, read once however often it is asked for.
    pub(super) fn commit(&self, id: Oid) -> Result<Arc<CommitLinks>, Refusal> {
        let kept = || self.known.commits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(links) = kept().links.get(&id) {
            return Ok(links.clone());
        }
        let path = format!("commit {id}");
        let object = self.read(id, ObjectKind::Commit, Size::OfKind, &path)?;
        let links = Arc::new(parse_commit(object.data()).map_err(|rule| hostile(&path, rule))?);
        let mut commits = kept();
        let weight = 1 + links.parents.len();
        if commits.weight + weight > KEPT_LINKS {
            *commits = Commits::default();
        }
        commits.weight += weight;
        commits.links.insert(id, links.clone());
        Ok(links)
    }

    /// Reads a commit with all that stands in it.
    pub(super) fn whole_commit(&self, id: Oid) -> Result<git2::OdbObject<'_>, Refusal> {
        self.read(id, ObjectKind::Commit, Size::OfKind, &format!("commit {id}"))
    }

    /// Reads a tag with all that stands in it.
    pub(super) fn whole_tag(&self, id: Oid) -> Result<git2::OdbObject<'_>, Refusal> {
        self.read(id, ObjectKind::Tag, Size::OfKind, &format!("tag {id}"))
    }

    /// Returns the tree of a commit.
    pub(super) fn root(&self, commit: Oid) -> Result<Oid, Refusal> {
        Ok(oid_of(&self.commit(commit)?.tree))
    }

    /// Returns the commit that an object is or that a tag leads to, over a few tags; nothing if it is something else.
    pub(super) fn peel(&self, id: Oid) -> Result<Option<Oid>, Refusal> {
        let mut at = id;
        for _ in 0..=MAX_TAG_DEPTH {
            match self.header(at)?.1 {
                ObjectKind::Commit => return Ok(Some(at)),
                ObjectKind::Tree | ObjectKind::Blob => return Ok(None),
                ObjectKind::Tag => at = self.tagged(at)?,
            }
        }
        Err(hostile(&format!("tag {id}"), ("tag/depth", "a tag leads over more than eight others")))
    }

    /// Returns what a tag leads to.
    pub(super) fn tagged(&self, id: Oid) -> Result<Oid, Refusal> {
        let object = self.whole_tag(id)?;
        Ok(oid_of(&parse_tag(object.data()).map_err(|rule| hostile(&format!("tag {id}"), rule))?.target))
    }

    /// Returns the one object whose id begins with hexadecimal digits.
    pub(super) fn of_prefix(&self, digits: &str) -> Option<Oid> {
        let whole = format!("{digits:0<40}");
        let short = Oid::from_str(&whole).ok().filter(|_| whole.len() == 40)?;
        self.odb.exists_prefix(short, digits.len()).ok()
    }
}

/// Returns a commit as libgit2 has it, once its size was judged.
pub(super) fn find_commit<'r>(
    repository: &'r git2::Repository,
    objects: &Objects<'_>,
    id: Oid,
) -> Result<git2::Commit<'r>, Error> {
    objects.commit(id).map_err(|refusal| refused(refusal, &id.to_string()))?;
    repository.find_commit(id).map_err(git(format!("read commit {id}")))
}

/// Returns a tree as libgit2 has it, once its size was judged.
pub(super) fn find_tree<'r>(
    repository: &'r git2::Repository,
    objects: &Objects<'_>,
    id: Oid,
) -> Result<git2::Tree<'r>, Error> {
    objects.tree(id, "").map_err(|refusal| refused(refusal, &format!("tree {id}")))?;
    repository.find_tree(id).map_err(git(format!("read tree {id}")))
}

/// Returns libgit2's form of an id.
pub(super) fn oid_of(id: &Id) -> Oid {
    // Only another length is refused.
    Oid::from_bytes(id).unwrap_or(Oid::ZERO_SHA1)
}

/// Returns the rule of an object that is of another kind than what names it says.
fn other_kind(wanted: ObjectKind) -> Rule {
    match wanted {
        ObjectKind::Commit => ("commit/format", "a commit is named here, and the object is none"),
        ObjectKind::Tree => ("tree/mode", "its mode says directory, but the object is none"),
        ObjectKind::Blob => ("tree/mode", "its mode says file, but the object is none"),
        ObjectKind::Tag => ("tag/format", "a tag is named here, and the object is none"),
    }
}

#[cfg(test)]
mod tests;
