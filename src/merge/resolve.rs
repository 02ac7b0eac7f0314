//! Pure. Applies decisions to the files of an update that waits.
//!
//! A decision replaces our lines by those of the side that was taken, at the line that the conflict names or, if a
//! person edited the file since, where our lines stand now. Not here: keys of config.yaml, which are set as values
//! (`compile`).

use std::collections::BTreeMap;

use super::collisions;
use super::conflict::{Conflict, ConflictKind};
use super::line_diff::lines;
use super::links;
use super::rules::Rules;
use super::tree::{Three, merge};
use crate::base::RepoPath;
use crate::model::{File, FileTree, Take};

/// What is left after decisions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    /// The files with every decision applied.
    pub files: FileTree,
    /// What is still open, with lines as they are now.
    pub open: Vec<Conflict>,
    /// What was decided and how.
    pub taken: Vec<(Conflict, Take)>,
}

/// A decision that could not be applied because its lines are not in the file any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the lines of conflict {id} are not in {path} any more")]
pub struct Unplaced {
    /// The conflict.
    pub id: String,
    /// The file.
    pub path: RepoPath,
}

/// Takes a side, or a value, in each conflict that `decisions` names by id; the three trees and the rules are those of the merge.
pub fn resolve(
    files: &FileTree,
    conflicts: &[Conflict],
    decisions: &BTreeMap<String, Take>,
    (sides, rules): (Three<&FileTree>, &Rules),
) -> Result<Resolved, Unplaced> {
    let mut resolved = Resolved { files: files.clone(), ..Resolved::default() };
    let mut shift = Shift::default();
    // First what stands inside of files, because a decision about a whole file may move or delete it.
    let (inner, others): (Vec<&Conflict>, Vec<&Conflict>) = conflicts.iter().partition(|conflict| is_inner(conflict));
    take_inner(&mut resolved, &inner, decisions, (sides, rules))?;
    let (hunks, whole): (Vec<&Conflict>, Vec<&Conflict>) = others.into_iter().partition(|conflict| is_hunk(conflict));
    for conflict in hunks {
        let mut conflict = conflict.clone();
        conflict.line = shift.apply(&conflict);
        match decisions.get(&conflict.id) {
            None => resolved.open.push(conflict),
            Some(take) => {
                take_lines(&mut resolved.files, &conflict, take, &mut shift)?;
                resolved.taken.push((conflict, take.clone()));
            }
        }
    }
    for conflict in whole {
        match decisions.get(&conflict.id) {
            None => resolved.open.push(conflict.clone()),
            Some(take) => {
                take_whole(&mut resolved, conflict, take, sides);
                resolved.taken.push((conflict.clone(), take.clone()));
            }
        }
    }
    resolved.open.sort_by(|a, b| (&a.path, a.line, &a.key).cmp(&(&b.path, b.line, &b.key)));
    Ok(resolved)
}

/// Returns whether a conflict is about an object or a part of one.
fn is_inner(conflict: &Conflict) -> bool {
    let is_named = !conflict.object.is_empty() || !conflict.key.is_empty();
    match conflict.kind {
        ConflictKind::Value
        | ConflictKind::Order
        | ConflictKind::Anchor
        | ConflictKind::DuplicateKey
        | ConflictKind::DuplicateIdentity
        | ConflictKind::TemplateBlock => true,
        ConflictKind::BothAdded | ConflictKind::DeleteEdit | ConflictKind::EditDelete => is_named,
        ConflictKind::Semantic => !conflict.object.is_empty(),
        ConflictKind::Text | ConflictKind::RenameRename | ConflictKind::FileKind | ConflictKind::Config => false,
    }
}

/// Takes sides of parts of objects. The merge is made twice, without the decisions and with them, and the difference is
/// brought into the files, which a person may have edited since.
fn take_inner(
    resolved: &mut Resolved,
    conflicts: &[&Conflict],
    decisions: &BTreeMap<String, Take>,
    (sides, rules): (Three<&FileTree>, &Rules),
) -> Result<(), Unplaced> {
    let decided: BTreeMap<String, Take> = conflicts
        .iter()
        .filter_map(|conflict| Some((conflict.id.clone(), decisions.get(&conflict.id)?.clone())))
        .collect();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    if decided.values().any(|take| *take != Take::Mine) {
        let before = merge(sides, rules);
        let after = merge(sides, &Rules { decided: decided.clone(), ..rules.clone() });
        let applied = merge(Three { base: &before.files, ours: &resolved.files, theirs: &after.files }, rules);
        let is_known = |id: &String| after.replayed.iter().any(|(conflict, _)| conflict.id == *id);
        for conflict in conflicts.iter().filter(|conflict| decided.contains_key(&conflict.id)) {
            if !is_known(&conflict.id) || applied.conflicts.iter().any(|other| other.path == conflict.path) {
                return Err(Unplaced { id: conflict.id.clone(), path: conflict.path.clone() });
            }
        }
        resolved.files = applied.files;
        lines = after.conflicts.into_iter().map(|conflict| (conflict.id, conflict.line)).collect();
    }
    for conflict in conflicts {
        match decisions.get(&conflict.id) {
            Some(take) => resolved.taken.push(((*conflict).clone(), take.clone())),
            None => {
                let line = lines.get(&conflict.id).copied().unwrap_or(conflict.line);
                resolved.open.push(Conflict { line, ..(*conflict).clone() });
            }
        }
    }
    Ok(())
}

fn is_hunk(conflict: &Conflict) -> bool {
    matches!(conflict.kind, ConflictKind::Text | ConflictKind::BothAdded) && conflict.line > 0
}

/// By how many lines the rest of a file moved when earlier conflicts were decided.
#[derive(Default)]
struct Shift {
    grown: BTreeMap<RepoPath, (usize, usize)>,
}

impl Shift {
    fn apply(&self, conflict: &Conflict) -> usize {
        let (more, fewer) = self.grown.get(&conflict.path).copied().unwrap_or_default();
        (conflict.line + more).saturating_sub(fewer).max(1)
    }

    fn record(&mut self, path: &RepoPath, come: usize, gone: usize) {
        let grown = self.grown.entry(path.clone()).or_default();
        grown.0 += come;
        grown.1 += gone;
    }
}

fn side_of<'a>(conflict: &'a Conflict, take: &'a Take) -> Option<&'a str> {
    match take {
        Take::Base => conflict.base.as_deref(),
        Take::Mine => conflict.mine.as_deref(),
        Take::Upstream => conflict.upstream.as_deref(),
        Take::Value(value) => Some(value),
    }
}

/// Replaces our lines in a file.
fn take_lines(files: &mut FileTree, conflict: &Conflict, take: &Take, shift: &mut Shift) -> Result<(), Unplaced> {
    if *take == Take::Mine {
        return Ok(());
    }
    let unplaced = || Unplaced { id: conflict.id.clone(), path: conflict.path.clone() };
    let file = files.get(conflict.path.as_str()).ok_or_else(unplaced)?;
    let text = file.as_text().ok_or_else(unplaced)?;
    let wanted = side_of(conflict, take).unwrap_or_default();
    let all = lines(text);
    let own = lines(side_of(conflict, &Take::Mine).unwrap_or_default());
    let start = find(&all, &own, conflict.line - 1).ok_or_else(unplaced)?;
    let mut edited = String::with_capacity(text.len() + wanted.len());
    edited.extend(all.iter().take(start).copied());
    end_line(&mut edited);
    edited.push_str(wanted);
    let rest = all.iter().skip(start + own.len());
    if rest.len() > 0 || matches!(take, Take::Value(_)) {
        end_line(&mut edited);
    }
    edited.extend(rest.copied());
    let mode = file.mode;
    shift.record(&conflict.path, lines(wanted).len(), own.len());
    files.insert(conflict.path.clone(), File { bytes: edited.as_bytes().into(), mode });
    Ok(())
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Returns where our lines stand, nearest to where they stood. Lines that ours deleted can only be put where they were.
fn find(all: &[&str], own: &[&str], wanted: usize) -> Option<usize> {
    if own.is_empty() {
        return Some(wanted.min(all.len()));
    }
    let places = (0..=all.len().checked_sub(own.len())?).filter(|place| is_equal(all, own, *place));
    places.min_by_key(|place| place.abs_diff(wanted))
}

/// Returns whether lines stand at a place, whatever ends them.
fn is_equal(all: &[&str], own: &[&str], place: usize) -> bool {
    let bare = |line: &&str| line.trim_end_matches(['\r', '\n']).to_owned();
    all.iter().skip(place).take(own.len()).map(bare).eq(own.iter().map(bare))
}

/// Takes a side of a whole file, or of the whole app where only that builds.
fn take_whole(resolved: &mut Resolved, conflict: &Conflict, take: &Take, sides: Three<&FileTree>) {
    let tree = match take {
        Take::Base => sides.base,
        Take::Mine => sides.ours,
        Take::Upstream => sides.theirs,
        // No value stands for a whole file.
        Take::Value(_) => return,
    };
    match conflict.kind {
        ConflictKind::RenameRename => rename(resolved, conflict, take),
        ConflictKind::Semantic => {
            let app = conflict.path.as_str().split('/').take(2).collect::<Vec<_>>().join("/");
            let view = |path: &RepoPath| path.is_within(&app) && !super::tree::is_beside(path);
            let gone: Vec<RepoPath> = resolved.files.paths().filter(|path| view(path)).cloned().collect();
            for path in gone {
                resolved.files.remove(&path);
            }
            resolved
                .files
                .extend(tree.iter().filter(|(path, _)| view(path)).map(|(p, f)| (p.clone(), f.clone())).collect());
        }
        ConflictKind::DeleteEdit | ConflictKind::EditDelete | ConflictKind::FileKind | ConflictKind::BothAdded => {
            take_file(resolved, conflict, take, tree);
        }
        // Lines were taken before, keys of config.yaml are set by the caller.
        ConflictKind::Text
        | ConflictKind::Config
        | ConflictKind::Value
        | ConflictKind::Order
        | ConflictKind::DuplicateIdentity
        | ConflictKind::DuplicateKey
        | ConflictKind::Anchor
        | ConflictKind::TemplateBlock => {}
    }
}

fn take_file(resolved: &mut Resolved, conflict: &Conflict, take: &Take, tree: &FileTree) {
    if *take == Take::Mine {
        return;
    }
    let text = side_of(conflict, take);
    match text.map(File::text).or_else(|| tree.get(conflict.path.as_str()).cloned()) {
        Some(file) => {
            let mode = tree.get(conflict.path.as_str()).map_or(file.mode, |known| known.mode);
            for rival in collisions::rivals(&resolved.files, &conflict.path) {
                resolved.files.remove(&rival);
                links::remove_entry(&mut resolved.files, &rival);
            }
            let was_there = resolved.files.contains(conflict.path.as_str());
            resolved.files.insert(conflict.path.clone(), File { mode, ..file });
            if !was_there {
                links::add_entry(&mut resolved.files, tree, &conflict.path);
            }
        }
        None => {
            resolved.files.remove(&conflict.path);
            links::remove_entry(&mut resolved.files, &conflict.path);
        }
    }
}

/// Moves a file to the name that a side gave it, and its entries in kustomizations along.
fn rename(resolved: &mut Resolved, conflict: &Conflict, take: &Take) {
    let wanted = side_of(conflict, take).and_then(|name| RepoPath::parse(name).ok());
    let Some(wanted) = wanted.filter(|wanted| *wanted != conflict.path) else {
        return;
    };
    if let Some(file) = resolved.files.remove(&conflict.path) {
        resolved.files.insert(wanted.clone(), file);
    }
    for open in resolved.open.iter_mut().filter(|open| open.path == conflict.path) {
        open.path = wanted.clone();
    }
    links::rename_entry(&mut resolved.files, &conflict.path, &wanted);
}

#[cfg(test)]
mod tests;
