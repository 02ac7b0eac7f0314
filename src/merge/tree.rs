//! Pure. Merges the three trees of an app path by path.
//!
//! Whatever one side alone changed is taken by bytes, unread. Only a file that both sides changed is merged by lines. A
//! file that a side renamed is followed, so that the other side's changes arrive in it. Not here: lines (`text`), which
//! file became which (`rename`), entries of a kustomization that hang on a file (`links`).

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Texts, number};
use super::links::{self, Withheld};
use super::rename::{self, Trio};
use super::text::{Hunk, merge_text};
use crate::base::RepoPath;
use crate::model::{File, FileMode, FileTree};

/// Bytes in which a NUL makes a file binary, as git looks at it.
const BINARY_PROBE_BYTES: usize = 8_000;

/// Three things of one kind: base, ours, theirs.
#[derive(Clone, Copy, Debug)]
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
}

/// Merges `theirs` into `ours`. Paths are those of the repository.
pub fn merge_trees(base: &FileTree, ours: &FileTree, theirs: &FileTree) -> Merged {
    let mut merged = Merged::default();
    let view = |tree: &FileTree| tree.iter().filter(|(path, _)| !is_package_view(path)).map(clone_entry).collect();
    let sides: Three<FileTree> = Three { base: view(base), ours: view(ours), theirs: view(theirs) };
    take_package_view(base, ours, theirs, &mut merged);
    let trios = rename::pair(sides.as_ref());
    let withheld = links::withheld(&trios, sides.as_ref());
    for trio in &trios {
        settle(trio, sides.as_ref(), &withheld, &mut merged);
    }
    number(&mut merged.conflicts);
    merged.notices.sort();
    merged
}

impl<T> Three<T> {
    /// Borrows all three.
    pub fn as_ref(&self) -> Three<&T> {
        Three { base: &self.base, ours: &self.ours, theirs: &self.theirs }
    }
}

fn clone_entry(entry: (&RepoPath, &File)) -> (RepoPath, File) {
    (entry.0.clone(), entry.1.clone())
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

/// Settles one file.
fn settle(trio: &Trio, sides: Three<&FileTree>, withheld: &Withheld, merged: &mut Merged) {
    let file =
        |path: &Option<RepoPath>, tree: &FileTree| path.as_ref().and_then(|path| tree.get(path.as_str())).cloned();
    let base = file(&trio.base, sides.base);
    let ours = file(&trio.ours, sides.ours);
    let theirs = file(&trio.theirs, sides.theirs);
    let Some(place) = place(trio, merged) else {
        return;
    };
    let base = base.map(|base| withheld.without_entries(&place, base));
    let kept = match (base, ours, theirs) {
        (base, ours, theirs) if ours == theirs || base == theirs => ours,
        (base, ours, theirs) if base == ours => theirs,
        (base, Some(ours), Some(theirs)) => Some(both(&place, base, ours, theirs, merged)),
        (base, Some(ours), None) => {
            let why = "you changed the file and upstream deleted it";
            merged.conflicts.push(whole(ConflictKind::EditDelete, &place, [base.as_ref(), Some(&ours), None], why));
            Some(ours)
        }
        (base, None, theirs) => {
            let why = "you deleted the file and upstream changed it";
            merged.conflicts.push(whole(ConflictKind::DeleteEdit, &place, [base.as_ref(), None, theirs.as_ref()], why));
            None
        }
    };
    if let Some(file) = kept {
        merged.files.insert(place, file);
    }
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

/// Merges a file that both sides changed or added.
fn both(place: &RepoPath, base: Option<File>, ours: File, theirs: File, merged: &mut Merged) -> File {
    let mode = merge_mode(place, base.as_ref(), &ours, &theirs, merged);
    if ours.bytes == theirs.bytes || base.as_ref().is_some_and(|base| base.bytes == theirs.bytes) {
        return File { mode, ..ours };
    }
    if base.as_ref().is_some_and(|base| base.bytes == ours.bytes) {
        return File { mode, ..theirs };
    }
    let base_text = base.as_ref().map_or(Some(""), text_of);
    let (Some(base_text), Some(our_text), Some(their_text)) = (base_text, text_of(&ours), text_of(&theirs)) else {
        let why = "both sides changed the file, which is no text";
        merged.conflicts.push(Conflict::new(ConflictKind::FileKind, place, Texts::default(), why));
        return File { mode, ..ours };
    };
    let found = merge_text(base_text, our_text, their_text);
    let kind = if base.is_some() { ConflictKind::Text } else { ConflictKind::BothAdded };
    merged.conflicts.extend(found.conflicts.into_iter().map(|hunk| of_hunk(kind, place, hunk)));
    File { bytes: found.text.as_bytes().into(), mode }
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

fn of_hunk(kind: ConflictKind, place: &RepoPath, hunk: Hunk) -> Conflict {
    let Hunk { line, base, ours, theirs } = hunk;
    let why = match kind {
        ConflictKind::BothAdded => "both sides added the file, with other lines here",
        _ => "both sides changed these lines",
    };
    let texts = Texts { base: Some(base), mine: Some(ours), upstream: Some(theirs) };
    Conflict { line, ..Conflict::new(kind, place, texts, why) }
}

fn whole(kind: ConflictKind, place: &RepoPath, files: [Option<&File>; 3], why: &str) -> Conflict {
    let [base, mine, upstream] = files.map(|file| file.and_then(text_of).map(str::to_owned));
    Conflict::new(kind, place, Texts { base, mine, upstream }, why)
}

/// Returns the text of a file, or nothing if git would call it binary.
pub(super) fn text_of(file: &File) -> Option<&str> {
    if file.bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) { None } else { file.as_text() }
}

#[cfg(test)]
mod tests;
