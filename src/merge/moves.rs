//! Pure. Where an object stands is an attribute of the object: who moved it to another file decides, and the changes of
//! the other side follow it there.
//!
//! Trees are rewritten before they are merged: the object is moved in base and in the side that left it, so that all
//! three sides have it in one file. Not here: files without objects (`rename`), the merge itself (`tree`).

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Texts};
use super::document::{objects, read};
use super::links;
use super::rules::Rules;
use super::tree::{Three, text_of};
use crate::base::RepoPath;
use crate::model::{File, FileTree};

/// Files and objects by where a side has them.
type Places = BTreeMap<String, RepoPath>;

/// What moving came to.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) conflicts: Vec<Conflict>,
    pub(super) notices: Vec<Notice>,
}

/// Moves objects in the trees so that every object stands in one file on all sides.
pub(super) fn settle(sides: &mut Three<FileTree>, rules: &Rules) -> Moved {
    let mut moved = Moved::default();
    let active = active(sides);
    if active.is_empty() {
        return moved;
    }
    let all = |sides: &Three<FileTree>| single(sides.as_ref().map(|tree| places(tree, &active, rules)));
    let mut known = all(sides);
    if rename_files(sides, known.as_ref(), &mut moved) {
        known = all(sides);
    }
    let Three { base, ours, theirs } = known;
    let names: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    for name in names {
        let (old, mine, upstream) = (base.get(name), ours.get(name), theirs.get(name));
        let Some(target) = target(old, mine, upstream) else { continue };
        if let (Some(mine), Some(upstream)) = (mine, upstream)
            && old != Some(mine)
            && old != Some(upstream)
            && mine != upstream
        {
            let text = |path: &RepoPath| Some(path.to_string());
            let texts = Texts { base: old.and_then(text), mine: text(mine), upstream: text(upstream) };
            let why = format!("both sides put {name} into another file");
            moved.conflicts.push(Conflict::new(ConflictKind::RenameRename, mine, texts, why));
            links::rename_entry(&mut sides.theirs, upstream, mine);
        }
        for (tree, place) in [(&mut sides.base, old), (&mut sides.ours, mine), (&mut sides.theirs, upstream)] {
            if let Some(place) = place.filter(|place| *place != target) {
                relocate(tree, name, place, target, rules);
            }
        }
    }
    moved
}

/// Returns where an object stands in the result: with the side that moved it, else with ours.
fn target<'a>(
    old: Option<&'a RepoPath>,
    mine: Option<&'a RepoPath>,
    upstream: Option<&'a RepoPath>,
) -> Option<&'a RepoPath> {
    match (old, mine, upstream) {
        (Some(old), Some(mine), Some(upstream)) if old == mine => Some(upstream),
        (_, Some(mine), _) => Some(mine),
        (_, None, upstream) => upstream,
    }
}

/// Returns the YAML files that are not the same on all sides.
fn active(sides: &Three<FileTree>) -> BTreeSet<RepoPath> {
    let trees = [&sides.base, &sides.ours, &sides.theirs];
    let paths: BTreeSet<&RepoPath> = trees.into_iter().flat_map(FileTree::paths).collect();
    let differs = |path: &&RepoPath| {
        let files = trees.map(|tree| tree.get(path.as_str()).map(|file| &file.bytes));
        files.first() != files.get(1) || files.first() != files.get(2)
    };
    let is_missing = |path: &&RepoPath| trees.iter().any(|tree| !tree.contains(path.as_str()));
    let changed: BTreeSet<&RepoPath> = paths.into_iter().filter(|path| path.is_yaml()).filter(differs).collect();
    // Where no file came or went and none is left that two sides changed, nothing can have moved that matters.
    let matters = |path: &&RepoPath| {
        let [base, ours, theirs] = trees.map(|tree| tree.get(path.as_str()).map(|file| &file.bytes));
        base != ours && base != theirs && ours != theirs
    };
    let is_any_missing = changed.iter().any(is_missing);
    // Nor from one file to no other.
    if !is_any_missing && (changed.len() < 2 || !changed.iter().any(matters)) {
        return BTreeSet::new();
    }
    changed.into_iter().cloned().collect()
}

/// Returns the files of each object.
fn places(tree: &FileTree, active: &BTreeSet<RepoPath>, rules: &Rules) -> BTreeMap<String, Vec<RepoPath>> {
    let mut found: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
    for (path, file) in tree.iter().filter(|(path, _)| active.contains(*path)) {
        for object in text_of(file).and_then(|text| objects(text, rules)).unwrap_or_default() {
            found.entry(object).or_default().push(path.clone());
        }
    }
    found
}

/// Returns the file of each object that stands in one place at most on every side: of one that stands twice nobody can say from where to where
/// it went.
fn single(found: Three<BTreeMap<String, Vec<RepoPath>>>) -> Three<Places> {
    let sides = [&found.base, &found.ours, &found.theirs];
    let twice = sides.into_iter().flatten().filter(|(_, paths)| paths.len() > 1);
    let twice: BTreeSet<String> = twice.map(|(name, _)| name.clone()).collect();
    found.map(|found| {
        let known = found.into_iter().filter(|(name, _)| !twice.contains(name));
        known.filter_map(|(name, mut paths)| Some((name, paths.pop()?))).collect()
    })
}

/// Renames whole files: one that is gone on a side and whose objects all stand in one new file there. Returns whether there are any.
fn rename_files(sides: &mut Three<FileTree>, known: Three<&Places>, moved: &mut Moved) -> bool {
    let ours = renames(&sides.base, &sides.ours, known.base, known.ours);
    let theirs = renames(&sides.base, &sides.theirs, known.base, known.theirs);
    for (old, new) in &theirs {
        if sides.ours.contains(old.as_str()) && !sides.ours.contains(new.as_str()) {
            if sides.ours.get(old.as_str()) != sides.base.get(old.as_str()) {
                let detail = new.to_string();
                moved.notices.push(Notice { kind: NoticeKind::Renamed, subject: old.to_string(), detail });
            }
            rename(&mut sides.ours, old, new);
            rename(&mut sides.base, old, new);
        }
    }
    for (old, new) in &ours {
        if sides.theirs.contains(old.as_str()) && !sides.theirs.contains(new.as_str()) {
            rename(&mut sides.theirs, old, new);
            rename(&mut sides.base, old, new);
        } else if theirs.get(old) == Some(new) {
            rename(&mut sides.base, old, new);
        }
    }
    !ours.is_empty() || !theirs.is_empty()
}

fn renames(base: &FileTree, side: &FileTree, before: &Places, after: &Places) -> BTreeMap<RepoPath, RepoPath> {
    let mut targets: BTreeMap<&RepoPath, BTreeSet<&RepoPath>> = BTreeMap::new();
    for (name, old) in before {
        if let Some(new) = after.get(name).filter(|new| *new != old) {
            targets.entry(old).or_default().insert(new);
        }
    }
    let renamed = |(old, new): (&RepoPath, BTreeSet<&RepoPath>)| {
        let only = new.first().filter(|_| new.len() == 1)?;
        let is_free = !side.contains(old.as_str()) && !base.contains(only.as_str());
        is_free.then(|| (old.clone(), (*only).clone()))
    };
    let found: BTreeMap<RepoPath, RepoPath> = targets.into_iter().filter_map(renamed).collect();
    let is_shared = |new: &RepoPath| found.values().filter(|other| *other == new).count() > 1;
    found.iter().filter(|(_, new)| !is_shared(new)).map(|(old, new)| (old.clone(), new.clone())).collect()
}

fn rename(tree: &mut FileTree, old: &RepoPath, new: &RepoPath) {
    if let Some(file) = tree.remove(old) {
        tree.insert(new.clone(), file);
    }
}

/// Moves one object of a tree from the file that holds it to the end of another.
fn relocate(tree: &mut FileTree, name: &str, from: &RepoPath, to: &RepoPath, rules: &Rules) {
    let Some(source) = tree.get(from.as_str()).cloned() else { return };
    let Some(documents) = text_of(&source).and_then(|text| read(text, rules).ok()) else { return };
    let (mut kept, mut taken, mut is_empty) = (String::new(), String::new(), true);
    for document in documents {
        if document.subject.object == name {
            taken.push_str(document.cst.text());
        } else {
            is_empty &= document.cst.root().is_none();
            kept.push_str(document.cst.text());
        }
    }
    let put = |text: &str| File { bytes: text.as_bytes().into(), mode: source.mode };
    let whole = match tree.get(to.as_str()).map(text_of) {
        None => taken,
        // Nothing can stand behind what is no text.
        Some(None) => return,
        Some(Some(text)) => {
            let mut text = text.to_owned();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            if !taken.starts_with("---") {
                text.push_str("---\n");
            }
            text + &taken
        }
    };
    tree.insert(to.clone(), put(&whole));
    if is_empty {
        tree.remove(from);
    } else {
        tree.insert(from.clone(), put(&kept));
    }
}
