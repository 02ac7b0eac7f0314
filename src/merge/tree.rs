//! Pure. Merges the three trees of an app path by path.
//!
//! Whatever one side alone changed is taken by bytes, unread. Only a file that both sides changed is merged. A file that
//! a side renamed, or an object that it put into another file, is followed, so that the other side's changes arrive
//! there. Not here: files (`file`), lines (`text`), which file became which (`rename`), which object stands where
//! (`moves`), entries of a kustomization that hang on a file (`links`), what both sides say together (`withdraw`).

use std::collections::BTreeMap;

use super::caution;
use super::collisions;
use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Texts};
use super::custom;
use super::customised::{is_customised, take_customised};
use super::file::{How, merge_file};
use super::links::{self, Withheld};
use super::moves;
use super::rename::{self, Trio};
use super::rules::{Rules, Take};
use super::withdraw;
use crate::base::{RepoPath, sha256};
use crate::model::{File, FileMode, FileTree};

/// Bytes in which a NUL makes a file binary, as git looks at it.
const BINARY_PROBE_BYTES: usize = 8_000;

/// Three things of one kind: base, ours, theirs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Three<T> {
    /// What both started from.
    pub base: T,
    /// The committed side.
    pub ours: T,
    /// The newly compiled side.
    pub theirs: T,
}

/// The result of a merge: ours at each conflict, always complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// The merged files.
    pub files: FileTree,
    /// What a person has to decide, in the order of the files.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notices: Vec<Notice>,
    /// Conflicts that decisions settled.
    pub replayed: Vec<(Conflict, Take)>,
    /// In which way each file was merged that both sides changed.
    pub how: BTreeMap<RepoPath, How>,
    /// Why a merge by structure was given up because it did not read back as it must; faults of ours.
    pub guards: Vec<String>,
}

/// Merges `theirs` into `ours` by the structure of the files. Paths are those of the repository.
///
/// Where each side is fine alone and both together are not, the edits of theirs that have a part in it are put back.
pub fn merge(trees: Three<&FileTree>, rules: &Rules) -> Merged {
    let mut merged = withdraw::checked(trees, rules, merge_once(trees, rules));
    merged.notices.extend(caution::cautions(trees.ours, &merged.files));
    merged.notices.sort();
    merged.notices.dedup();
    merged
}

/// Merges the trees without a look at what they say together.
pub(super) fn merge_once(trees: Three<&FileTree>, rules: &Rules) -> Merged {
    let Three { base, ours, theirs } = trees;
    let mut merged = Merged::default();
    take_package_view(base, ours, theirs, &mut merged);
    take_customised(trees, rules, &mut merged);
    let view = |tree: &FileTree| tree.iter().filter(|(path, _)| !is_beside(path)).map(clone_entry).collect();
    let mut sides: Three<FileTree> = Three { base: view(base), ours: view(ours), theirs: view(theirs) };
    if sides.base == sides.theirs || sides.ours == sides.theirs {
        merged.files.extend(sides.ours);
        return merged;
    }
    if sides.base == sides.ours {
        merged.files.extend(sides.theirs);
        return merged;
    }
    let most = [&sides.base, &sides.ours, &sides.theirs].map(FileTree::len).into_iter().max().unwrap_or(0);
    if most > rules.limits.files {
        let first = sides.ours.paths().next().and_then(RepoPath::parent);
        let detail = format!("nothing that moved is followed among {most} files");
        merged.notices.extend(first.map(|app| notice(NoticeKind::Limit, &app, &detail)));
    } else {
        let moved = moves::settle(&mut sides, rules);
        merged.conflicts.extend(moved.conflicts);
        merged.notices.extend(moved.notices);
    }
    let mut rules = rules.clone();
    let mut withheld = Withheld::default();
    // A kustomization comes last, because its entries hang on what became of the files.
    let (files, kustomizations): (Vec<Trio>, Vec<Trio>) = rename::pair(sides.as_ref(), rules.limits.comparisons)
        .into_iter()
        .partition(|trio| !links::is_kustomization(trio));
    if files.iter().chain(&kustomizations).any(|trio| is_open(trio, sides.as_ref())) {
        rules.lists.extend(custom::from_manifests(sides.as_ref()));
        // What the app's own definitions say counts before those of other apps.
        rules.custom.splice(..0, custom::from_definitions(sides.as_ref()));
    }
    for trio in files.iter().chain(&kustomizations) {
        settle(trio, sides.as_ref(), &mut withheld, (&mut rules, &mut merged));
    }
    collisions::settle(sides.as_ref(), &mut merged);
    merged.conflicts.sort_by(|a, b| (&a.path, a.line, &a.key).cmp(&(&b.path, b.line, &b.key)));
    merged.notices.sort();
    merged
}

/// Returns whether both sides changed a file, to other contents.
fn is_open(trio: &Trio, sides: Three<&FileTree>) -> bool {
    let bytes = |path: &Option<RepoPath>, tree: &FileTree| {
        path.as_ref().and_then(|path| tree.get(path.as_str())).map(|file| file.bytes.clone())
    };
    let (base, ours, theirs) =
        (bytes(&trio.base, sides.base), bytes(&trio.ours, sides.ours), bytes(&trio.theirs, sides.theirs));
    ours != theirs && base != theirs && base != ours
}

/// Settles one file.
pub(super) fn settle(
    trio: &Trio,
    sides: Three<&FileTree>,
    withheld: &mut Withheld,
    (rules, merged): (&mut Rules, &mut Merged),
) {
    let file =
        |path: &Option<RepoPath>, tree: &FileTree| path.as_ref().and_then(|path| tree.get(path.as_str())).cloned();
    let (base, ours, theirs) =
        (file(&trio.base, sides.base), file(&trio.ours, sides.ours), file(&trio.theirs, sides.theirs));
    let Some(place) = place(trio, merged) else { return };
    let base = base.map(|base| withheld.without_entries(&place, base));
    let theirs = theirs.map(|theirs| withheld.without_gone(&place, theirs));
    let is_withheld = rules.withholds(place.as_str(), "");
    if is_withheld && trio.theirs.is_none() && ours.is_some() {
        withheld.add(&place);
    }
    let theirs = if is_withheld { base.clone() } else { theirs };
    if ours == theirs || base == theirs {
        merged.files.extend(ours.map(|file| (place, file)).into_iter().collect());
        return;
    }
    if base == ours && (rules.withheld.is_empty() || !place.is_yaml()) {
        merged.files.extend(theirs.map(|file| (place, file)).into_iter().collect());
        return;
    }
    let mode = match (&ours, &theirs) {
        (Some(ours), Some(theirs)) => merge_mode(&place, base.as_ref(), ours, theirs, merged),
        (Some(one), None) | (None, Some(one)) => one.mode,
        (None, None) => FileMode::Regular,
    };
    let all = [&base, &ours, &theirs];
    if all.into_iter().flatten().any(|file| text_of(file).is_none()) {
        let why = "both sides changed the file, which is no text";
        let contents = Three { base: &base, ours: &ours, theirs: &theirs }
            .map(|file| file.as_ref().map(|file| sha256(&file.bytes)));
        let conflict = Conflict::new(ConflictKind::FileKind, &place, Texts::default(), why);
        merged.conflicts.push(conflict.of_contents(contents));
        merged.files.extend(ours.map(|file| (place, File { mode, ..file })).into_iter().collect());
        return;
    }
    let text = |file: &Option<File>| file.as_ref().and_then(text_of).map(str::to_owned);
    let (base, ours, theirs) = (text(&base), text(&ours), text(&theirs));
    let texts = Three { base: base.as_deref(), ours: ours.as_deref(), theirs: theirs.as_deref() };
    let found = merge_file(&place, texts, rules);
    rules.limits.fuel = found.fuel;
    if (trio.theirs.is_none() || trio.ours.is_none()) && trio.base.is_some() && found.text.is_some() {
        withheld.add(&place);
    }
    if let (None, Some(theirs), None) = (&trio.ours, &trio.theirs, &found.text) {
        withheld.leave_out(theirs);
    }
    if found.how != How::Trivial {
        merged.how.insert(place.clone(), found.how);
    }
    merged.conflicts.extend(found.conflicts);
    merged.notices.extend(found.notices);
    merged.replayed.extend(found.replayed);
    merged.guards.extend(found.guard.map(|why| format!("{place}: {why}")));
    merged
        .files
        .extend(found.text.map(|text| (place, File { bytes: text.as_bytes().into(), mode })).into_iter().collect());
}

impl<T> Three<T> {
    /// Borrows all three.
    pub fn as_ref(&self) -> Three<&T> {
        Three { base: &self.base, ours: &self.ours, theirs: &self.theirs }
    }

    /// Makes something of each.
    pub fn map<U>(self, make: impl Fn(T) -> U) -> Three<U> {
        Three { base: make(self.base), ours: make(self.ours), theirs: make(self.theirs) }
    }
}

fn clone_entry(entry: (&RepoPath, &File)) -> (RepoPath, File) {
    (entry.0.clone(), entry.1.clone())
}

/// Returns whether a file is none that the package was compiled to but stands beside those: its view, or a customised template.
pub(super) fn is_beside(path: &RepoPath) -> bool {
    is_package_view(path) || is_customised(path)
}

/// Returns whether a path lies in the view of the package, `apps/<app>/.package/`, which is always theirs.
pub fn is_package_view(path: &RepoPath) -> bool {
    path.as_str().split('/').nth(2) == Some(".package") && path.is_within("apps")
}

fn take_package_view(base: &FileTree, ours: &FileTree, theirs: &FileTree, merged: &mut Merged) {
    for (path, file) in theirs.iter().filter(|(path, _)| is_package_view(path)) {
        merged.files.insert(path.clone(), file.clone());
    }
    let edited = ours
        .iter()
        .filter(|(path, _)| is_package_view(path))
        .filter(|(path, file)| base.get(path.as_str()) != Some(file) && theirs.get(path.as_str()) != Some(file));
    for (path, _) in edited {
        merged.notices.push(notice(NoticeKind::PackageViewEdited, path, ""));
    }
}

fn notice(kind: NoticeKind, subject: &RepoPath, detail: &str) -> Notice {
    Notice { kind, subject: subject.to_string(), detail: detail.to_owned() }
}

/// Returns where the merged file stands: the side that moved it decides.
fn place(trio: &Trio, merged: &mut Merged) -> Option<RepoPath> {
    let Trio { base, ours, theirs } = trio;
    if let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) {
        if base == ours && base != theirs {
            merged.notices.push(notice(NoticeKind::Renamed, base, theirs.as_str()));
            return Some(theirs.clone());
        }
        if base != ours && base != theirs && ours != theirs {
            let name = |path: &RepoPath| Some(path.to_string());
            let texts = Texts { base: name(base), mine: name(ours), upstream: name(theirs) };
            let why = "both sides renamed the file, to other names";
            merged.conflicts.push(Conflict::new(ConflictKind::RenameRename, ours, texts, why));
        }
    }
    [ours, theirs, base].into_iter().find_map(Clone::clone)
}

fn merge_mode(place: &RepoPath, base: Option<&File>, ours: &File, theirs: &File, merged: &mut Merged) -> FileMode {
    match base {
        Some(base) if base.mode == ours.mode => theirs.mode,
        None if ours.mode != theirs.mode => {
            merged.notices.push(notice(NoticeKind::AttributeKept, place, ""));
            ours.mode
        }
        Some(_) | None => ours.mode,
    }
}

/// Returns the text of a file, or nothing if git would call it binary.
pub(super) fn text_of(file: &File) -> Option<&str> {
    if file.bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) { None } else { file.as_text() }
}

#[cfg(test)]
mod tests;
