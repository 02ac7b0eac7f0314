//! Pure. Puts back edits of theirs that do not go together with ours although each side is fine alone, and makes conflicts of
//! them.
//!
//! What ours or theirs brings alone is no question for the merge: it is known, or said about the package. Not here: finding
//! what does not hold (`check`), putting an edit back (`structure`, `document`, `tree`).

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Finding, Scene, Spot, is_unseen};
use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, Suggestion, Texts};
use super::rules::{Rules, Take};
use super::tree::{Merged, Three, is_beside, is_package_view, merge_once};
use crate::base::{Encoder, RepoPath};
use crate::model::FileTree;

/// Rounds in which edits of theirs are put back; what still does not hold then keeps the whole app as it is.
const MAX_ROUNDS: usize = 8;
/// Characters of a conflict's id.
const ID_CHARS: usize = 16;

/// Looks at a merge and puts edits of theirs back until both sides together say nothing wrong that neither says alone.
pub(super) fn checked(trees: Three<&FileTree>, rules: &Rules, mut merged: Merged) -> Merged {
    if is_of_one_side(&merged.files, trees) {
        return merged;
    }
    if is_unseen(trees.ours, &merged.files) {
        debug_assert_eq!(Scene::read(&merged.files).findings(), Scene::read(trees.ours).findings(), "it is seen");
        return merged;
    }
    let mut found = Scene::read(&merged.files).findings();
    if found.is_empty() {
        return merged;
    }
    let known = Known::of(trees);
    let of_package: Vec<Notice> = found.iter().filter(|it| known.is_of_package(it)).map(about_package).collect();
    let mut rules = rules.clone();
    let mut judged: BTreeMap<String, Judged> = BTreeMap::new();
    for round in 0..MAX_ROUNDS {
        let open = fresh(found, &known, &judged);
        if open.is_empty() {
            found = BTreeSet::new();
            break;
        }
        for finding in open {
            let conflict = known.conflict(&finding);
            let id = conflict.id.clone();
            let take = rules.decided.get(&id).cloned();
            // What does not hold any more once something was put back belongs to what was put back.
            let is_consequence = round > 0;
            let judged = judged.entry(id).or_insert(Judged { conflict, take, is_consequence, rounds: 0 });
            if judged.take != Some(Take::Upstream) {
                rules.withheld.extend(known.steps(&finding).into_iter().nth(judged.rounds).unwrap_or_default());
                judged.rounds += 1;
            }
        }
        merged = merge_once(trees, &rules);
        found = Scene::read(&merged.files).findings();
    }
    match fresh(found, &known, &judged).into_iter().next() {
        Some(finding) => merged = whole(trees, &finding, merged),
        None => settle(judged, &mut merged),
    }
    merged.notices.extend(of_package);
    merged.conflicts.sort_by(|a, b| (&a.path, a.line, &a.key).cmp(&(&b.path, b.line, &b.key)));
    merged
}

/// Adds what was found to a merge, as open or as decided.
fn settle(judged: BTreeMap<String, Judged>, merged: &mut Merged) {
    let (later, first): (Vec<Judged>, Vec<Judged>) = judged.into_values().partition(|judged| judged.is_consequence);
    let spot = |conflict: &Conflict| format!("{} {}", conflict.object, conflict.key).trim_end().to_owned();
    let later: Vec<String> = later.iter().map(|judged| spot(&judged.conflict)).collect();
    for Judged { mut conflict, take, .. } in first {
        conflict.linked.extend(later.iter().cloned());
        match take {
            Some(take) => merged.replayed.push((conflict, take)),
            None => merged.conflicts.push(conflict),
        }
    }
}

/// A finding that was made a conflict.
struct Judged {
    conflict: Conflict,
    take: Option<Take>,
    /// Whether it came only because something was put back.
    is_consequence: bool,
    /// How often something was put back because of it.
    rounds: usize,
}

/// Returns what only both sides together say, without what a person wants as upstream has it.
fn fresh(found: BTreeSet<Finding>, known: &Known, judged: &BTreeMap<String, Judged>) -> Vec<Finding> {
    let is_wanted = |finding: &Finding| {
        judged.get(&known.conflict(finding).id).is_some_and(|judged| judged.take == Some(Take::Upstream))
    };
    found.into_iter().filter(|finding| known.is_fresh(finding) && !is_wanted(finding)).collect()
}

/// What the sides say alone.
struct Known {
    ours: BTreeSet<(String, String)>,
    theirs: BTreeSet<(String, String)>,
    scenes: Vec<Scene>,
}

impl Known {
    fn of(trees: Three<&FileTree>) -> Self {
        let scenes = [trees.base, trees.ours, trees.theirs].map(Scene::read);
        let said = |scene: &Scene| scene.findings().iter().map(Finding::likeness).collect();
        let [_, ours, theirs] = &scenes;
        Self { ours: said(ours), theirs: said(theirs), scenes: scenes.into_iter().collect() }
    }

    fn is_fresh(&self, finding: &Finding) -> bool {
        let likeness = finding.likeness();
        !self.ours.contains(&likeness) && !self.theirs.contains(&likeness) && !self.is_external(finding)
    }

    /// Returns whether upstream brings it alone.
    fn is_of_package(&self, finding: &Finding) -> bool {
        let likeness = finding.likeness();
        self.theirs.contains(&likeness) && !self.ours.contains(&likeness) && !self.is_external(finding)
    }

    /// Returns whether an object is meant that no side declares: it is made at run time, or another app has it.
    fn is_external(&self, finding: &Finding) -> bool {
        finding.missing.is_some() && self.declarers(finding).is_empty()
    }

    /// Returns what declares on a side the object that is missing.
    fn declarers(&self, finding: &Finding) -> BTreeSet<Spot> {
        let Some((kind, name)) = &finding.missing else { return BTreeSet::new() };
        self.scenes.iter().flat_map(|scene| scene.declarers(kind, name)).collect()
    }

    /// Returns what is put back for a finding, round by round: an object that went comes back first of all.
    fn steps(&self, finding: &Finding) -> Vec<Vec<Spot>> {
        let declarers = self.declarers(finding);
        let missing = (!declarers.is_empty()).then(|| declarers.into_iter().collect());
        missing.into_iter().chain(finding.steps.iter().cloned()).collect()
    }

    /// Makes a conflict of something that only both sides together say. Its id holds what the sides say of every object that has a part in
    /// it, so that a decision about it counts again only for these.
    fn conflict(&self, finding: &Finding) -> Conflict {
        let Finding { file, object, field, what, repair, steps, .. } = finding;
        let why = match repair {
            Some(repair) => {
                format!("each side is fine alone, but together {what}; set it to {repair} and take upstream")
            }
            None => format!("each side is fine alone, but together {what}"),
        };
        let all = self.steps(finding);
        let names: BTreeSet<&str> = all.iter().flatten().map(|(object, _)| object.as_str()).collect();
        let mut encoder = Encoder::new();
        encoder.text("semantic").text(file.as_str()).text(object).text(field).text(what);
        for scene in &self.scenes {
            encoder.raw(&scene.content(&names).0);
        }
        let id = encoder.digest().to_hex().chars().take(ID_CHARS).collect();
        let own = |(other, path): &&Spot| other != object || path != field;
        let linked = steps.first().into_iter().flatten().filter(own);
        let linked = linked.map(|(object, path)| format!("{object} {path}").trim_end().to_owned()).collect();
        let suggestion = repair.as_ref().map(|value| Suggestion { path: field.clone(), value: value.clone() });
        let plain = Conflict::new(ConflictKind::Semantic, file, Texts::default(), why);
        Conflict { id, object: object.clone(), key: field.clone(), linked, suggestion, ..plain }
    }
}

/// Returns whether the files are those of one side, which is fine or not by itself.
fn is_of_one_side(files: &FileTree, trees: Three<&FileTree>) -> bool {
    let own = |tree: &FileTree| -> Vec<(RepoPath, crate::model::File)> {
        tree.iter().filter(|(path, _)| !is_beside(path)).map(|(p, f)| (p.clone(), f.clone())).collect()
    };
    let merged = own(files);
    merged == own(trees.ours) || merged == own(trees.theirs)
}

fn about_package(finding: &Finding) -> Notice {
    Notice { kind: NoticeKind::PackageFinding, subject: finding.object.clone(), detail: finding.what.clone() }
}

/// Keeps the whole app as it is, and everything that upstream changed hangs on one conflict.
fn whole(trees: Three<&FileTree>, finding: &Finding, merged: Merged) -> Merged {
    let mut files = trees.ours.clone();
    let view: Vec<RepoPath> = files.paths().filter(|path| is_package_view(path)).cloned().collect();
    view.iter().for_each(|path| drop(files.remove(path)));
    let shown = trees.theirs.iter().filter(|(path, _)| is_package_view(path));
    files.extend(shown.map(|(path, file)| (path.clone(), file.clone())).collect());
    let why =
        format!("each side is fine alone, but together {}, and no part of it can be put back alone", finding.what);
    let conflict = Conflict::new(ConflictKind::Semantic, &finding.file, Texts::default(), why);
    Merged { files, conflicts: vec![conflict], ..merged }
}

#[cfg(test)]
mod tests;
