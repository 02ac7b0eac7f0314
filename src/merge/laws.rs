//! Pure. Laws of the merge over generated files: styles, comments, anchors, line ends and edits of all kinds.
//!
//! A case is a number; the same number makes the same three files.

use std::collections::BTreeMap;
use std::rc::Rc;

use proptest::prelude::*;

use super::conflict::NoticeKind;
use super::document::{Document, contents, read};
use super::file::{FileMerge, merge_file};
use super::learn::learn;
use super::line_diff::{changes, lines};
use super::present::{MARKER_CHARS, MarkerLabels, MarkerStyle};
use super::rules::{Prefer, Rules, Take};
use super::sound::{counts, is_sound, is_sound_somewhere};
use super::text::merge_text;
use super::tree::Three;
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::yaml::cst::{Cst, Source, split};

mod added;
mod blocks;
mod generator;
mod matrix;
mod operators;
mod sealed;
mod states;

use generator::{Case, apart, case};

fn path() -> RepoPath {
    RepoPath::parse("apps/quarry/all.yaml").unwrap()
}

fn merge(base: &str, ours: &str, theirs: &str) -> FileMerge {
    merge_with(base, ours, theirs, &Rules::default())
}

fn merge_with(base: &str, ours: &str, theirs: &str, rules: &Rules) -> FileMerge {
    merge_file(&path(), Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, rules)
}

fn kinds(merged: &FileMerge) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for conflict in &merged.conflicts {
        let kind = match format!("{:?}", conflict.kind).as_str() {
            "EditDelete" | "DeleteEdit" => "Delete".to_owned(),
            kind => kind.to_owned(),
        };
        *found.entry(format!("{kind} {} {}", conflict.object, conflict.key)).or_default() += 1;
    }
    found
}

fn shown(case: &Case) -> String {
    format!("--- base\n{}--- ours\n{}--- theirs\n{}", case.base, case.ours, case.theirs)
}

/// How a value that has two spellings is read.
#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    /// As it is written.
    Own,
    /// All spellings as one.
    One,
}

/// Writes behind each line of a block text which line it is, because two sides may write one line at two places of a text.
fn placed(text: &str, spelling: Spelling) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut block: Option<(usize, usize)> = None;
    let mut out = String::new();
    for line in text.lines() {
        block = block.filter(|(column, _)| indent(line) > *column).map(|(column, place)| (column, place + 1));
        let is_on = [": on", "- on"].iter().any(|end| line.trim_end().ends_with(end));
        match block {
            Some((_, place)) => out.push_str(&format!("{line} at {place}\n")),
            None if is_on && spelling == Spelling::One => {
                out.push_str(&format!("{}true\n", line.trim_end().trim_end_matches("on")));
            }
            None => out.push_str(&format!("{line}\n")),
        }
        if line.trim_end().ends_with(": |") {
            block = Some((indent(line), 0));
        }
    }
    out
}

/// Holds documents against what three sides come to.
type Sound = fn(&Three<Vec<Rc<Document>>>, &[Rc<Document>], &Rules) -> bool;

/// Returns whether a result holds exactly what the edits of both sides come to.
///
/// Where both sides reach one value in two spellings, ours stays and theirs is not to be found; where two items of a list differ in nothing
/// but the spelling, one that ours deletes and one that theirs edits look like one in the other reading. So one reading must hold: what
/// gets lost is lost in both.
fn is_right(made: &Case, result: &str, is_sound: Sound) -> bool {
    let holds = |spelling: Spelling| {
        let read = |text: &str| read(&placed(text, spelling), &rules());
        match (read(&made.base), read(&made.ours), read(&made.theirs), read(result)) {
            (Ok(base), Ok(ours), Ok(theirs), Ok(result)) => is_sound(&Three { base, ours, theirs }, &result, &rules()),
            _ => false,
        }
    };
    holds(Spelling::One) || holds(Spelling::Own)
}

/// Returns whether one side took a text away that the other wrote once more than base has it.
///
/// In the result one of them is left, and beside base it looks as if ours had only moved it, so theirs takes it away: the result alone
/// cannot say that it was made of two edits.
fn trades_equal_texts(made: &Case) -> bool {
    let read = |text: &str| read(text, &rules()).unwrap();
    let sides = Three { base: read(&made.base), ours: read(&made.ours), theirs: read(&made.theirs) };
    let is_traded = |(base, one, other): (usize, usize, usize)| base > 0 && one > base && other < base;
    counts(&sides, &[], &rules()).into_iter().any(|[b, o, t, _]| is_traded((b, o, t)) || is_traded((b, t, o)))
}

/// Puts one side, named by the mark in front of it, into every marked place.
fn put(marked: &str, side: char) -> String {
    let mut at = None;
    let mut out = String::new();
    for line in marked.split_inclusive('\n') {
        let mark = line.chars().next().filter(|c| line.starts_with(&c.to_string().repeat(MARKER_CHARS)));
        match mark.filter(|mark| "<|=>".contains(*mark)) {
            Some('>') => at = None,
            Some(mark) => at = Some(mark),
            None if at.is_none_or(|at| at == side) => out.push_str(line),
            None => {}
        }
    }
    out
}

/// Returns a line as it is wherever it stands: without indentation, dashes, quotes and line end.
fn bare(line: &str) -> String {
    line.trim().trim_start_matches("- ").replace('"', "")
}

fn rules() -> Rules {
    Rules::default()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_one_side_alone_changed_is_the_result(seed in any::<u64>()) {
        let Case { base, ours, theirs } = case(seed);
        prop_assert_eq!(merge(&base, &base, &theirs).text, Some(theirs.clone()));
        prop_assert_eq!(merge(&base, &ours, &base).text, Some(ours));
        prop_assert_eq!(merge(&base, &theirs, &theirs).text, Some(theirs));
    }

    #[test]
    fn no_merge_by_structure_says_something_else_than_it_must(seed in any::<u64>()) {
        let made = case(seed);
        let merged = merge(&made.base, &made.ours, &made.theirs);
        prop_assert!(merged.guard.is_none(), "{:?}\n{}", merged.guard, shown(&made));
    }

    #[test]
    fn no_edit_is_lost_and_none_invented(seed in any::<u64>()) {
        let made = case(seed);
        let merged = merge(&made.base, &made.ours, &made.theirs);
        let text = merged.text.clone().unwrap_or_default();
        // A map that lost its last entry is left empty, which is no leaf of any side.
        let is_hollow = [&text, &made.ours, &made.theirs].iter().any(|side| side.contains("{}") || side.contains("[]"));
        if merged.conflicts.is_empty() && merged.notices.is_empty() && !is_hollow {
            prop_assert!(is_right(&made, &text, is_sound_somewhere), "{}--- merged\n{text}", shown(&made));
        }
    }

    #[test]
    fn a_second_merge_brings_nothing(seed in any::<u64>()) {
        let made = case(seed);
        let merged = merge(&made.base, &made.ours, &made.theirs);
        let text = merged.text.clone().unwrap_or_default();
        if trades_equal_texts(&made) {
            return Ok(());
        }
        let again = merge(&made.base, &text, &made.theirs);
        prop_assert_eq!(again.text.as_deref(), Some(text.as_str()), "{}", shown(&made));
        prop_assert_eq!(kinds(&again), kinds(&merged), "{}--- merged\n{}", shown(&made), text);
    }

    #[test]
    fn swapped_sides_mirror_the_conflicts(seed in any::<u64>()) {
        let made = case(seed);
        let (one, other) = (merge(&made.base, &made.ours, &made.theirs), merge(&made.base, &made.theirs, &made.ours));
        prop_assert_eq!(kinds(&one), kinds(&other), "{}", shown(&made));
    }

    #[test]
    fn a_sound_merge_by_lines_leaves_nothing_to_decide(seed in any::<u64>()) {
        let made = case(seed);
        let lines = merge_text(&made.base, &made.ours, &made.theirs);
        if lines.conflicts.is_empty() && is_right(&made, &lines.text, is_sound) {
            let merged = merge(&made.base, &made.ours, &made.theirs);
            prop_assert!(merged.conflicts.is_empty(), "{:?}\n{}", merged.conflicts, shown(&made));
        }
    }

    #[test]
    fn decisions_settle_every_conflict(seed in any::<u64>()) {
        let made = case(seed);
        let open = merge(&made.base, &made.ours, &made.theirs);
        for take in [Take::Mine, Take::Upstream, Take::Base] {
            let decided = open.conflicts.iter().map(|conflict| (conflict.id.clone(), take.clone())).collect();
            let settled = merge_with(&made.base, &made.ours, &made.theirs, &Rules { decided, ..rules() });
            prop_assert!(settled.conflicts.is_empty(), "{take:?} leaves {:?}\n{}", settled.conflicts, shown(&made));
            prop_assert!(settled.guard.is_none(), "{take:?}: {:?}\n{}", settled.guard, shown(&made));
            if take == Take::Mine {
                prop_assert_eq!(&settled.text, &open.text, "{}", shown(&made));
            }
        }
    }

    #[test]
    fn a_side_put_into_every_marked_place_reads_as_that_decision(seed in any::<u64>()) {
        let made = case(seed);
        let open = merge(&made.base, &made.ours, &made.theirs);
        let labels = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };
        let marked = open.with_markers(MarkerStyle::Diff3, labels);
        for (side, take) in [('<', Take::Mine), ('|', Take::Base), ('=', Take::Upstream)] {
            let text = put(&marked, side);
            let found = read(&text, &rules());
            prop_assert!(found.is_ok(), "{take:?}: {:?}\n{}--- marked\n{marked}", found.err(), shown(&made));
            if take == Take::Mine {
                prop_assert_eq!(Some(&text), open.text.as_ref(), "{}", shown(&made));
            }
        }
    }

    #[test]
    fn edits_of_parts_that_have_nothing_in_common_are_both_made(seed in any::<u64>()) {
        let (made, both) = apart(seed);
        let merged = merge(&made.base, &made.ours, &made.theirs);
        prop_assert!(merged.conflicts.is_empty(), "{:?}\n{}", merged.conflicts, shown(&made));
        let text = merged.text.unwrap_or_default();
        let says = |text: &str| contents(&read(text, &rules()).unwrap());
        prop_assert_eq!(says(&text), says(&both), "{}--- merged\n{}", shown(&made), text);
    }

    #[test]
    fn every_line_of_ours_stays_that_no_edit_of_theirs_touches(seed in any::<u64>()) {
        let made = case(seed);
        let merged = merge(&made.base, &made.ours, &made.theirs);
        let text = merged.text.unwrap_or_default();
        // A comment goes with its entry, and that is said.
        let takes_comments = merged.notices.iter().any(|notice| notice.kind == NoticeKind::DeletedDespiteComment);
        let (before, after) = (lines(&made.ours), lines(&text));
        let theirs: Vec<String> = lines(&made.theirs).into_iter().map(bare).collect();
        let base: Vec<String> = lines(&made.base).into_iter().map(bare).collect();
        // An equal line that theirs wrote elsewhere makes up for no line that it took away.
        let (older, newer) = (lines(&made.base), lines(&made.theirs));
        let taken: Vec<String> = changes(&older, &newer)
            .into_iter()
            .flat_map(|change| older.iter().skip(change.old).take(change.old_lines).map(|line| bare(line)))
            .collect();
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for change in changes(&before, &after) {
            gone.extend(before.iter().skip(change.old).take(change.old_lines).map(|line| (*line, bare(line))));
            come.extend(after.iter().skip(change.new).take(change.new_lines).map(|line| bare(line)));
        }
        let count = |list: &[String], line: &String| list.iter().filter(|other| *other == line).count();
        let is_entry = |line: &str| !line.is_empty() && !line.ends_with("{}") && !line.ends_with("[]");
        for (line, known) in gone.iter().filter(|(_, known)| is_entry(known)) {
            // A collection that lost its last entry is written in brackets.
            let is_emptied = [" {}", " []"].iter().any(|end| come.contains(&format!("{known}{end}")));
            let is_moved = come.contains(known) || is_emptied;
            let is_theirs = count(&theirs, known) < count(&base, known)
                || taken.contains(known)
                || takes_comments && known.starts_with('#');
            prop_assert!(is_moved || is_theirs, "{line:?} went\n{}--- merged\n{text}", shown(&made));
        }
        for line in come.iter().filter(|line| is_entry(line)) {
            let is_moved = gone.iter().any(|(_, known)| known == line);
            prop_assert!(is_moved || theirs.contains(line), "{line:?} came\n{}--- merged\n{text}", shown(&made));
        }
    }

    #[test]
    fn a_preferred_side_decides_everything(seed in any::<u64>()) {
        let made = case(seed);
        for prefer in [Prefer::Ours, Prefer::Theirs] {
            let merged = merge_with(&made.base, &made.ours, &made.theirs, &Rules { prefer, ..rules() });
            prop_assert!(merged.conflicts.is_empty(), "{:?}\n{}", merged.conflicts, shown(&made));
            prop_assert!(merged.guard.is_none(), "{prefer:?}: {:?}\n{}", merged.guard, shown(&made));
        }
    }

    #[test]
    fn a_document_is_its_entries_and_what_stands_between_them(seed in any::<u64>()) {
        for text in split(&case(seed).base) {
            let cst = Cst::parse(Source { text, masked: text, controls: &[] }).unwrap();
            let Some(root) = cst.root().map(|root| cst.node(root)).filter(|root| root.is_block()) else { continue };
            let first = root.children.first().map_or(0, |child| child.own.start);
            let mut whole = cst.slice(&(0..first)).to_owned();
            for child in &root.children {
                whole.push_str(cst.slice(&child.own));
                whole.push_str(cst.slice(&child.gap));
            }
            prop_assert_eq!(whole, text);
        }
    }

    #[test]
    fn no_text_makes_the_merge_panic(base in ".{0,40}", ours in "[a-c:#|>&*!{}\\[\\]\"' \\-\n]{0,60}", theirs in "[a-c:#|>&*!{}\\[\\]\"' \\-\n]{0,60}") {
        let merged = merge(&base, &ours, &theirs);
        prop_assert!(merged.text.is_some());
    }
}

proptest! {
    // Each case is some dozens of merges; `tests/run long` asks for eight times as many.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: ProptestConfig::default().cases.div_ceil(8),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_was_decided_is_learned_from_the_result_and_settles_the_next_merge(seed in any::<u64>()) {
        let made = case(seed);
        let open = merge(&made.base, &made.ours, &made.theirs);
        let take = |number: usize| match (seed >> (2 * (number % 30))) % 3 {
            0 => Take::Mine,
            1 => Take::Upstream,
            _ => Take::Base,
        };
        let ids = open.conflicts.iter().map(|conflict| conflict.id.clone()).enumerate();
        let decided: BTreeMap<String, Take> = ids.map(|(number, id)| (id, take(number))).collect();
        let settled = merge_with(&made.base, &made.ours, &made.theirs, &Rules { decided, ..rules() });
        let tree = |text: &str| -> FileTree { [(path(), File::text(text))].into_iter().collect() };
        let text = settled.text.clone().unwrap_or_default();
        let (base, ours, theirs) = (tree(&made.base), tree(&made.ours), tree(&made.theirs));
        let learned = learn(Three { base: &base, ours: &ours, theirs: &theirs }, &rules(), &tree(&text));
        let decided: BTreeMap<String, Take> = learned.into_iter().map(|(conflict, take)| (conflict.id, take)).collect();
        let again = merge_with(&made.base, &made.ours, &made.theirs, &Rules { decided, ..rules() });
        prop_assert!(again.conflicts.is_empty(), "{:?} are not learned\n{}--- merged\n{text}", again.conflicts, shown(&made));
        prop_assert_eq!(again.text.unwrap_or_default(), text, "{}", shown(&made));
    }
}
