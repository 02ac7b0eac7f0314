//! Fetching: into a throw-away repository, checked there, then objects linked and refs moved by us.
//!
//! Not here: what a rewound upstream means (`pipeline` waits for a person).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::CommitId;

use super::super::error::{Error, git, io};
use super::super::history::is_ancestor;
use super::super::intake::{CommitCheck, check_objects};
use super::super::objects::{Known, Objects};
use super::super::refs::{RefChange, check_name, commit_id, list_refs, oid, read_ref, update_refs};
use super::super::repository::{Repository, open, sync};
use super::super::scan::{Brought, Scanner, search_new};
use super::{Remote, Scratch, TRANSFER};

/// A ref of a remote and the ref of ours that follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FetchRef {
    /// Full name there, such as `refs/heads/main`.
    pub from: String,
    /// Full name here, such as `refs/wild/upstream/home/main`.
    pub to: String,
}

/// Whom it concerns that something fetched breaks a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All of it: nothing is taken of a repository that holds it.
    Whole,
    /// Whoever reads the part that holds it, where it is found again. So is an upstream fetched, which is read package by package. No ref
    /// moves: the caller judges what came before it does that.
    Parts,
}

/// Findings of git about names, modes and kinds of files in trees, and about how people are written in commits. None of them harms a store of
/// objects, and the names are judged by our own check where a tree is read.
const NOT_OF_THE_STORE: [&str; 30] = [
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "duplicateEntries",
    "emptyName",
    "fullPathname",
    "gitattributesBlob",
    "gitattributesLarge",
    "gitattributesLineLength",
    "gitattributesMissing",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "hasDot",
    "hasDotdot",
    "hasDotgit",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "treeNotSorted",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
];

/// What a fetch brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// The refs in the order they were asked for.
    pub refs: Vec<FetchedRef>,
}

/// One fetched ref.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FetchedRef {
    /// Full name here.
    pub name: String,
    /// Where it was.
    pub old: Option<CommitId>,
    /// Where the remote's ref is. Its objects are here in any case.
    pub new: CommitId,
    /// What happened to our ref.
    pub moved: Moved,
}

/// What happened to a ref of ours, or would where the caller moves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// Both were at the same commit.
    Unchanged,
    /// It is new here.
    Created,
    /// It moved forward.
    Forward,
    /// It stays: the remote went back or rewrote its history, and a person must accept that.
    Rewound,
}

/// Fetches refs of a remote. Our refs only ever move forward; what breaks a rule is an error and leaves nothing behind, unless only the part
/// that holds it is concerned.
pub async fn fetch(
    repository: &Repository,
    remote: &Remote,
    refs: &[FetchRef],
    scope: Scope,
) -> Result<Fetched, Error> {
    fetch_checked(repository, remote, refs, (scope, None)).await
}

/// Fetches refs of a remote whose files become ours: secrets in clear are an error as well, and leave nothing behind.
pub async fn fetch_scanned(
    repository: &Repository,
    remote: &Remote,
    refs: &[FetchRef],
    scanner: Arc<Scanner>,
) -> Result<Fetched, Error> {
    fetch_checked(repository, remote, refs, (Scope::Whole, Some(scanner))).await
}

async fn fetch_checked(
    repository: &Repository,
    remote: &Remote,
    refs: &[FetchRef],
    (scope, scanner): (Scope, Option<Arc<Scanner>>),
) -> Result<Fetched, Error> {
    let attempt = format!("fetch {}", remote.url);
    for wanted in refs {
        check_name(&wanted.from)?;
        check_name(&wanted.to)?;
    }
    let scratch = Scratch::create(remote, Some(repository)).await?;
    let arguments = arguments(remote, refs, scope);
    let exit = scratch.run(remote, attempt.clone(), arguments, TRANSFER).await?;
    if !exit.success {
        return Err(Error::Remote { attempt, reason: exit.complaint() });
    }
    let (quarantine, wanted) = (scratch.repository().git_dir().to_owned(), refs.to_vec());
    repository
        .write(attempt.clone(), move |ours, known| {
            let tips = check(ours, &quarantine, wanted.len(), scope)?;
            if let Some(scanner) = scanner {
                check_secrets((ours, &quarantine), known, &tips, &scanner, attempt)?;
            }
            link_packs(&quarantine.join("objects/pack"), &ours.commondir().join("objects/pack"))?;
            // Opened again, because libgit2 looks for new packs only when it misses an object.
            move_refs(&open(ours.path())?, known, (&wanted, &tips), scope)
        })
        .await
}

fn arguments(remote: &Remote, refs: &[FetchRef], scope: Scope) -> Vec<String> {
    let fixed = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--"];
    let passed_over: &[&str] = match scope {
        Scope::Whole => &[],
        Scope::Parts => &NOT_OF_THE_STORE,
    };
    let settings = passed_over.iter().flat_map(|finding| ["-c".to_owned(), format!("fetch.fsck.{finding}=ignore")]);
    let mut args: Vec<String> = settings.chain(fixed.iter().map(|arg| (*arg).to_owned())).collect();
    args.push(remote.url.as_str().to_owned());
    for (number, wanted) in refs.iter().enumerate() {
        args.push(format!("+{}:{}", wanted.from, fetched_name(number)));
    }
    args
}

fn fetched_name(number: usize) -> String {
    format!("refs/fetched/{number}")
}

/// Checks what lies in the quarantine and returns the fetched commits.
fn check(ours: &git2::Repository, quarantine: &Path, count: usize, scope: Scope) -> Result<Vec<CommitId>, Error> {
    Scratch::forget_lender(quarantine)?;
    let hostile = |commit: String| |source| Err(Error::Hostile { commit, source });
    if let Some(place) = check_objects(&quarantine.join("objects"), scope)? {
        return hostile("of the remote".to_owned())(place);
    }
    let fetched = open(quarantine)?;
    let lent = ours.commondir().join("objects").display().to_string();
    fetched.odb().and_then(|odb| odb.add_disk_alternate(&lent)).map_err(git("borrow our objects"))?;
    let known = Known::default();
    let objects = Objects::of(&fetched, &known)?;
    let mut trees = CommitCheck::of_names(&objects);
    let mut tips = Vec::new();
    for number in 0..count {
        let name = fetched_name(number);
        let Some(tip) = read_ref(&fetched, &known, &name)? else {
            return Err(Error::Unusable { attempt: format!("read {name}"), reason: "it was not fetched".to_owned() });
        };
        if scope == Scope::Whole
            && let Some(place) = trees.check(tip)?
        {
            return hostile(tip.to_string())(place);
        }
        tips.push(commit_id(tip));
    }
    Ok(tips)
}

/// Checks that new commits bring no secret in clear.
fn check_secrets(
    (ours, quarantine): (&git2::Repository, &Path),
    known: &Known,
    tips: &[CommitId],
    scanner: &Arc<Scanner>,
    attempt: String,
) -> Result<(), Error> {
    let fetched = open(quarantine)?;
    let lent = ours.commondir().join("objects").display().to_string();
    fetched.odb().and_then(|odb| odb.add_disk_alternate(&lent)).map_err(git("borrow our objects"))?;
    let oids = |ids: &mut dyn Iterator<Item = &CommitId>| ids.map(oid).collect::<Result<Vec<_>, Error>>();
    let (tips, heads) = (oids(&mut tips.iter())?, oids(&mut list_refs(ours, known, "refs/")?.values())?);
    let of_fetched = Known::default();
    let objects = Objects::of(&fetched, &of_fetched)?;
    let Brought { leaks, is_cut } = search_new(&fetched, &objects, &tips, &heads, scanner)?;
    match (leaks.is_empty(), is_cut) {
        (true, false) => Ok(()),
        (false, _) => Err(Error::Leaking { attempt, leaks }),
        (true, true) => {
            let reason = "it brings more than 100,000 commits, which are not searched for secrets".to_owned();
            Err(Error::Unusable { attempt, reason })
        }
    }
}

/// Links packs into our objects: the pack first and its index last, because a pack is seen by its index.
fn link_packs(from: &Path, to: &Path) -> Result<(), Error> {
    let attempt = || format!("link packs of {}", from.display());
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(from).map_err(io(attempt()))? {
        files.push(entry.map_err(io(attempt()))?.path());
    }
    std::fs::create_dir_all(to).map_err(io(attempt()))?;
    for extension in ["pack", "rev", "idx"] {
        for file in files.iter().filter(|file| file.extension() == Some(OsStr::new(extension))) {
            let Some(name) = file.file_name() else { continue };
            let target = to.join(name);
            if target.exists() {
                continue;
            }
            if std::fs::hard_link(file, &target).is_err() {
                // On another file system; under a name that nobody reads until it is whole.
                let part = target.with_extension("part");
                std::fs::copy(file, &part).map_err(io(attempt()))?;
                sync(&part)?;
                std::fs::rename(&part, &target).map_err(io(attempt()))?;
            }
        }
    }
    sync(to)
}

/// Moves our refs forward, unless the caller does that, and returns where each was and is.
fn move_refs(
    ours: &git2::Repository,
    known: &Known,
    (wanted, tips): (&[FetchRef], &[CommitId]),
    scope: Scope,
) -> Result<Fetched, Error> {
    let (mut refs, mut changes) = (Vec::new(), Vec::new());
    for (wanted, new) in wanted.iter().zip(tips) {
        let old = read_ref(ours, known, &wanted.to)?;
        let moved = match old {
            None => Moved::Created,
            Some(old) if commit_id(old) == *new => Moved::Unchanged,
            Some(old) if is_ancestor(ours, known, old, oid(new)?)? => Moved::Forward,
            Some(_) => Moved::Rewound,
        };
        let old = old.map(commit_id);
        if matches!(moved, Moved::Created | Moved::Forward) {
            changes.push(RefChange { name: wanted.to.clone(), expected: old.clone(), new: Some(new.clone()) });
        }
        refs.push(FetchedRef { name: wanted.to.clone(), old, new: new.clone(), moved });
    }
    if scope == Scope::Whole {
        update_refs(ours, &changes, "wild: fetch")?;
    }
    Ok(Fetched { refs })
}
