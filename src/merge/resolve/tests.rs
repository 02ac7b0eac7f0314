//! Pure. Decisions applied to small trees.
//!
//! Not here: the merges that made the conflicts (`tree`).

use std::collections::BTreeMap;

use super::{Resolved, resolve};
use crate::base::RepoPath;
use crate::merge::{Merged, Rules, Three, merge};
use crate::model::{File, FileTree, Take};

type Files<'a> = &'a [(&'a str, &'a str)];

fn tree(files: Files<'_>) -> FileTree {
    let path = |path: &str| RepoPath::parse(&format!("apps/photobox/{path}")).unwrap();
    files.iter().map(|(name, text)| (path(name), File::text(text))).collect()
}

struct Case {
    base: FileTree,
    ours: FileTree,
    theirs: FileTree,
    merged: Merged,
}

fn case(base: Files<'_>, ours: Files<'_>, theirs: Files<'_>) -> Case {
    let (base, ours, theirs) = (tree(base), tree(ours), tree(theirs));
    let merged = merge(Three { base: &base, ours: &ours, theirs: &theirs }, &Rules::default());
    Case { base, ours, theirs, merged }
}

impl Case {
    /// Decides the conflicts in order; `None` leaves one open.
    fn decide(&self, files: &FileTree, sides: &[Option<Take>]) -> Resolved {
        let named = self.merged.conflicts.iter().zip(sides);
        let decisions: BTreeMap<String, Take> =
            named.filter_map(|(conflict, side)| Some((conflict.id.clone(), side.clone()?))).collect();
        let trees = Three { base: &self.base, ours: &self.ours, theirs: &self.theirs };
        resolve(files, &self.merged.conflicts, &decisions, (trees, &Rules::default())).unwrap()
    }

    fn check(&self, sides: &[Option<Take>], expected: Files<'_>) {
        let resolved = self.decide(&self.merged.files, sides);
        assert_eq!(resolved.files, tree(expected));
        let open = sides.iter().filter(|side| side.is_none()).count();
        assert_eq!((resolved.open.len(), resolved.taken.len()), (open, sides.len() - open));
    }
}

const MINE: Option<Take> = Some(Take::Mine);
const UPSTREAM: Option<Take> = Some(Take::Upstream);
const BASE: Option<Take> = Some(Take::Base);

fn two_hunks() -> Case {
    let text = |a: &str, b: &str| format!("{a}1\nk\nl\nm\nn\n{b}9\n");
    case(&[("x", &text("b\n", "b\n"))], &[("x", &text("o\no\no\n", "o\n"))], &[("x", &text("t\n", "t\nt\n"))])
}

#[test]
fn each_side_can_be_taken_hunk_by_hunk() {
    let case = two_hunks();
    case.check(&[MINE, MINE], &[("x", "o\no\no\n1\nk\nl\nm\nn\no\n9\n")]);
    case.check(&[UPSTREAM, UPSTREAM], &[("x", "t\n1\nk\nl\nm\nn\nt\nt\n9\n")]);
    case.check(&[BASE, BASE], &[("x", "b\n1\nk\nl\nm\nn\nb\n9\n")]);
    case.check(&[UPSTREAM, None], &[("x", "t\n1\nk\nl\nm\nn\no\n9\n")]);
    case.check(&[None, UPSTREAM], &[("x", "o\no\no\n1\nk\nl\nm\nn\nt\nt\n9\n")]);
}

#[test]
fn the_line_of_an_open_conflict_moves_with_the_text_before_it() {
    let case = two_hunks();
    assert_eq!(case.merged.conflicts[1].line, 9);
    let resolved = case.decide(&case.merged.files, &[UPSTREAM, None]);
    assert_eq!(resolved.open[0].line, 7);
}

#[test]
fn lines_that_a_person_moved_are_found_again() {
    let case = two_hunks();
    let edited = tree(&[("x", "new\nnew\no\no\no\n1\nk\nl\nm\nn\no\n9\n")]);
    let resolved = case.decide(&edited, &[UPSTREAM, UPSTREAM]);
    assert_eq!(resolved.files, tree(&[("x", "new\nnew\nt\n1\nk\nl\nm\nn\nt\nt\n9\n")]));
}

#[test]
fn lines_that_a_person_removed_are_named() {
    let case = two_hunks();
    let edited = tree(&[("x", "1\nk\nl\nm\nn\n9\n")]);
    let decisions = [(case.merged.conflicts[0].id.clone(), Take::Upstream)].into();
    let sides = Three { base: &case.base, ours: &case.ours, theirs: &case.theirs };
    let error = resolve(&edited, &case.merged.conflicts, &decisions, (sides, &Rules::default())).unwrap_err();
    assert_eq!(error.id, case.merged.conflicts[0].id);
}

#[test]
fn a_last_line_without_end_gets_one_when_lines_follow() {
    let case = case(&[("x", "a")], &[("x", "b")], &[("x", "c\nd")]);
    case.check(&[UPSTREAM], &[("x", "c\nd")]);
}

#[test]
fn a_deleted_file_comes_back_with_its_entry() {
    let entry = "resources:\n- a.yaml\n- job.yaml\n- z.yaml\n";
    let none = "resources:\n- a.yaml\n- z.yaml\n";
    let case = case(
        &[("kustomization.yaml", entry), ("job.yaml", "1\n")],
        &[("kustomization.yaml", none)],
        &[("kustomization.yaml", entry), ("job.yaml", "2\n")],
    );
    case.check(&[MINE], &[("kustomization.yaml", none)]);
    case.check(&[UPSTREAM], &[("kustomization.yaml", entry), ("job.yaml", "2\n")]);
    case.check(&[BASE], &[("kustomization.yaml", entry), ("job.yaml", "1\n")]);
}

#[test]
fn a_file_that_upstream_deleted_goes_with_its_entry() {
    let entry = "resources:\n- a.yaml\n- job.yaml\n";
    let none = "resources:\n- a.yaml\n";
    let case = case(
        &[("kustomization.yaml", entry), ("job.yaml", "1\n")],
        &[("kustomization.yaml", entry), ("job.yaml", "2\n")],
        &[("kustomization.yaml", none)],
    );
    case.check(&[MINE], &[("kustomization.yaml", entry), ("job.yaml", "2\n")]);
    case.check(&[UPSTREAM], &[("kustomization.yaml", none)]);
}

#[test]
fn a_name_can_be_taken_from_either_side() {
    let text = "a\nb\nc\nd\n";
    let list = |name: &str| format!("resources:\n- {name}\n");
    let case = case(
        &[("kustomization.yaml", &list("x.yaml")), ("x.yaml", text)],
        &[("kustomization.yaml", &list("o.yaml")), ("o.yaml", text)],
        &[("kustomization.yaml", &list("x.yaml")), ("t.yaml", text)],
    );
    case.check(&[MINE], &[("kustomization.yaml", &list("o.yaml")), ("o.yaml", text)]);
    case.check(&[UPSTREAM], &[("kustomization.yaml", &list("t.yaml")), ("t.yaml", text)]);
}

#[test]
fn a_file_that_is_no_text_is_taken_whole() {
    let case = case(&[("x", "a\0")], &[("x", "b\0")], &[("x", "c\0")]);
    case.check(&[MINE], &[("x", "b\0")]);
    case.check(&[UPSTREAM], &[("x", "c\0")]);
}

#[test]
fn a_value_of_ones_own_takes_the_place_of_ours() {
    let case = two_hunks();
    let own = Some(Take::Value("v".to_owned()));
    case.check(&[own.clone(), UPSTREAM], &[("x", "v\n1\nk\nl\nm\nn\nt\nt\n9\n")]);
    let text = |cpu: &str| format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  cpu: {cpu}\n");
    let field = self::case(&[("p.yaml", &text("1"))], &[("p.yaml", &text("2"))], &[("p.yaml", &text("3"))]);
    field.check(&[own], &[("p.yaml", &text("v"))]);
}
