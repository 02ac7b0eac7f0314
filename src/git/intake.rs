//! Checks objects that came from outside, before a ref of ours leads to them: sizes, counts and the names in every tree.
//!
//! Not here: rules for branches (`hook::receive`), the way objects come in (`network`).

use std::collections::BTreeSet;
use std::path::Path;

use git2::{Odb, Oid};

use crate::base::limits::MAX_FILE_BYTES;
use crate::model::CommitId;

use super::check_tree::{Depth, HostileTree, Refusal, TreeCheck, check_tree_object, hostile};
use super::checks::pack::HUGE_STEP;
use super::checks::{Id, ObjectKind, Rule, judge_size};
use super::error::{Error, git};
use super::network::Scope;
use super::objects::{Known, Objects};
use super::packs::judge_packs;
use super::read::refused;

/// Objects that one fetch or push brings.
const MAX_PACK_OBJECTS: usize = 1_000_000;
/// Their size together, unpacked, in bytes.
const MAX_INFLATED_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Size of its commits and tags together, unpacked, in bytes: 100,000 commits with messages of 1 KiB.
const MAX_MESSAGES_BYTES: u64 = 128 * 1024 * 1024;

/// Opens the objects in a directory alone, without those that it borrows from elsewhere.
fn open(objects: &Path) -> Result<Odb<'static>, Error> {
    let attempt = || format!("open objects {}", objects.display());
    let odb = Odb::new().map_err(git(attempt()))?;
    odb.add_disk_alternate(&objects.display().to_string()).map_err(git(attempt()))?;
    Ok(odb)
}

/// Checks all objects that lie in a directory, and returns the first that breaks a rule. Where parts are judged on their own, a file or a
/// directory that breaks one is passed over: whoever reads it finds it again, and nobody unpacks it before.
pub(super) fn check_objects(directory: &Path, scope: Scope) -> Result<Option<HostileTree>, Error> {
    let attempt = || format!("check the objects in {}", directory.display());
    let place = |path: String, (rule, reason): Rule| Ok(Some(HostileTree { path, rule, reason }));
    let huge = judge_packs(&directory.join("pack"))?;
    if let (Scope::Whole, Some(id)) = (scope, huge.first()) {
        return place(format!("object {}", CommitId::from_bytes(*id)), HUGE_STEP);
    }

    let odb = open(directory)?;
    let mut ids: Vec<Oid> = Vec::new();
    let listed = odb.foreach(|id| {
        ids.push(*id);
        ids.len() <= MAX_PACK_OBJECTS
    });
    if ids.len() > MAX_PACK_OBJECTS {
        return place(String::new(), ("pack/objects", "it brings more than 1,000,000 objects"));
    }
    listed.map_err(git(attempt()))?;
    ids.sort();
    ids.dedup();

    let known = Known::default();
    let objects = Objects::looked_through(odb, &known);
    let mut sums = Sums { scope, huge, all: 0, messages: 0 };
    for id in ids {
        match sums.add(&objects, id) {
            Ok(()) => {}
            Err(Refusal::Hostile(place)) => return Ok(Some(place)),
            Err(Refusal::Unreadable(error)) => return Err(git(attempt())(error)),
            Err(Refusal::Broken(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// What the objects hold together, in bytes.
struct Sums {
    scope: Scope,
    /// What is unpacked from something huge.
    huge: BTreeSet<Id>,
    all: u64,
    messages: u64,
}

impl Sums {
    /// Checks one object beside those before it. Nothing is read before its size is known and allowed.
    fn add(&mut self, objects: &Objects<'_>, id: Oid) -> Result<(), Refusal> {
        let (bytes, kind) = objects.header(id)?;
        let is_huge = Id::try_from(id.as_bytes()).is_ok_and(|id| self.huge.contains(&id));
        let judged = if is_huge { Err(HUGE_STEP) } else { judge_size(kind, bytes) };
        if self.scope == Scope::Parts && matches!(kind, ObjectKind::Blob | ObjectKind::Tree) && judged.is_err() {
            return Ok(());
        }
        let named = || match kind {
            ObjectKind::Commit => format!("commit {id}"),
            ObjectKind::Tree => format!("tree {id}"),
            ObjectKind::Blob => format!("blob {id}"),
            ObjectKind::Tag => format!("tag {id}"),
        };
        judged.map_err(|rule| hostile(&named(), rule))?;
        self.all = self.all.saturating_add(bytes);
        if self.all > MAX_INFLATED_BYTES {
            return Err(hostile("", ("pack/inflated", "its objects hold more than 2 GiB")));
        }
        if matches!(kind, ObjectKind::Commit | ObjectKind::Tag) {
            self.messages = self.messages.saturating_add(bytes);
        }
        if self.messages > MAX_MESSAGES_BYTES {
            return Err(hostile("", ("pack/messages", "its commits and tags hold more than 128 MiB")));
        }
        match kind {
            ObjectKind::Commit => objects.commit(id).map(drop),
            ObjectKind::Tree if self.scope == Scope::Whole => check_tree_object(objects, id),
            ObjectKind::Tag => objects.tagged(id).map(drop),
            ObjectKind::Tree | ObjectKind::Blob => Ok(()),
        }
    }
}

/// A check of whole commits that looks at no tree twice, however many commits hold it.
pub(super) struct CommitCheck<'o, 'a> {
    objects: &'o Objects<'a>,
    trees: TreeCheck<'o, 'a>,
}

impl<'o, 'a> CommitCheck<'o, 'a> {
    /// Checks names and counts.
    pub(super) fn of_names(objects: &'o Objects<'a>) -> Self {
        Self { objects, trees: TreeCheck::new(objects, Depth::Names) }
    }

    /// Checks names, counts, modes and sizes, by the limits of reading.
    pub(super) fn of_files(objects: &'o Objects<'a>) -> Self {
        let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        Self { objects, trees: TreeCheck::new(objects, Depth::Files(most)) }
    }

    /// Checks one commit and returns the place that breaks a rule.
    pub(super) fn check(&mut self, commit: Oid) -> Result<Option<HostileTree>, Error> {
        match self.objects.root(commit).and_then(|tree| self.trees.check(tree, "")) {
            Ok(_) => Ok(None),
            Err(Refusal::Hostile(place)) => Ok(Some(place)),
            Err(unreadable @ (Refusal::Unreadable(_) | Refusal::Broken(_))) => {
                Err(refused(unreadable, &commit.to_string()))
            }
        }
    }
}
