//! Pure. The line merge held against answers that git gave, in every style of conflict markers.
//!
//! Not here: the line differences under it (`line_diff`).

use super::{Favor, has_markers, merge_text, merge_text_favoring, merge_text_marked};
use crate::base::RepoPath;
use crate::merge::{MARKER_CHARS, MarkerLabels, MarkerStyle, Rules, Three, merge_file};

const LABELS: MarkerLabels<'_> = MarkerLabels { base: "base", ours: "mine", theirs: "upstream", size: MARKER_CHARS };

/// Merges that git made; the first lines of the file say by which version and how a case is written.
const RECORDED: &str = include_str!("../../../fixtures/merge/lines.txt");

/// Writes out a text given as one letter per line: `.` is an empty line, a `$` at the end leaves out the last line end.
fn spell(letters: &str) -> String {
    let (letters, open) = match letters.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (letters, false),
    };
    let line = |letter| match letter {
        '.' => "\n".to_owned(),
        '<' => "<<<<<<< mine\n".to_owned(),
        '-' => "||||||| base\n".to_owned(),
        '=' => "=======\n".to_owned(),
        '>' => ">>>>>>> upstream\n".to_owned(),
        other => format!("{other}\n"),
    };
    let mut text: String = letters.chars().map(line).collect();
    if open {
        text.pop();
    }
    text
}

fn recorded() -> impl Iterator<Item = [&'static str; 6]> {
    RECORDED.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts: Vec<&str> = line.split('|').collect();
        <[&str; 6]>::try_from(parts).unwrap()
    })
}

/// Compares with git's own answer, markers included.
fn check([base, ours, theirs]: [&str; 3], style: MarkerStyle, expected: &str) {
    let texts = [base, ours, theirs].map(spell);
    let [old, mine, upstream] = &texts;
    let (found, conflicts) = merge_text_marked(Three { base: old, ours: mine, theirs: upstream }, style, LABELS);
    assert_eq!(found, spell(expected), "{style:?}: base {base}, ours {ours}, theirs {theirs}");
    assert_eq!(conflicts, expected.matches('<').count());
    assert_eq!(has_markers(&found), conflicts > 0);
}

#[test]
fn every_recorded_merge_is_merged_as_git_does() {
    let mut cases = 0;
    for [base, ours, theirs, merged, diff3, zdiff3] in recorded() {
        check([base, ours, theirs], MarkerStyle::Merge, merged);
        check([base, ours, theirs], MarkerStyle::Diff3, diff3);
        check([base, ours, theirs], MarkerStyle::Zdiff3, zdiff3);
        cases += 1;
    }
    assert!(cases >= 500, "only {cases} cases are recorded");
}

#[test]
fn a_file_without_structure_is_marked_as_git_marks_it() {
    let path = RepoPath::parse("apps/quarry/notes.txt").unwrap();
    for [base, ours, theirs, merged, diff3, zdiff3] in recorded() {
        let [base, ours, theirs] = [base, ours, theirs].map(spell);
        let texts = Three { base: Some(base.as_str()), ours: Some(&ours), theirs: Some(&theirs) };
        let found = merge_file(&path, texts, &Rules::default());
        let styles = [(MarkerStyle::Merge, merged), (MarkerStyle::Diff3, diff3), (MarkerStyle::Zdiff3, zdiff3)];
        // Where one side's lines hold the edits of both, git asks and we do not.
        let is_git =
            !found.conflicts.is_empty() && found.conflicts.len() == merge_text(&base, &ours, &theirs).conflicts.len();
        for (style, expected) in styles.into_iter().filter(|_| is_git) {
            assert_eq!(found.with_markers(style, LABELS), spell(expected), "{style:?}: {texts:?}");
        }
    }
}

#[test]
fn equal_sides_and_one_changed_side_merge_to_that_side() {
    for [base, ours, theirs, ..] in recorded() {
        let (base, ours, theirs) = (spell(base), spell(ours), spell(theirs));
        for (merged, expected) in [
            (merge_text(&base, &base, &theirs), &theirs),
            (merge_text(&base, &ours, &base), &ours),
            (merge_text(&base, &ours, &ours), &ours),
        ] {
            assert_eq!((&merged.text, merged.conflicts.len()), (expected, 0));
        }
    }
}

#[test]
fn a_side_swapped_with_the_other_only_swaps_the_labels() {
    for [base, ours, theirs, ..] in recorded() {
        let one = merge_text(&spell(base), &spell(ours), &spell(theirs));
        let other = merge_text(&spell(base), &spell(theirs), &spell(ours));
        assert_eq!(one.conflicts.is_empty(), other.conflicts.is_empty());
        if one.conflicts.is_empty() {
            assert_eq!(one.text, other.text);
        }
    }
}

#[test]
fn no_line_that_a_side_brought_is_lost_without_a_conflict() {
    for [base, ours, theirs, ..] in recorded() {
        let merged = merge_text(&spell(base), &spell(ours), &spell(theirs));
        let sides = merged.conflicts.iter().flat_map(|hunk| [&hunk.ours, &hunk.theirs]);
        let conflicting: Vec<&str> = sides.flat_map(|side| side.lines()).collect();
        let brought = ours.chars().chain(theirs.chars()).filter(|line| !base.contains(*line) && *line != '$');
        for line in brought {
            let line = spell(&line.to_string());
            let line = line.trim_end();
            let kept = merged.text.lines().chain(conflicting.iter().copied()).any(|kept| kept == line);
            assert!(kept, "{line:?} of base {base}, ours {ours}, theirs {theirs}");
        }
    }
}

#[test]
fn a_hunk_names_the_line_where_ours_stands() {
    for [base, ours, theirs, ..] in recorded() {
        let merged = merge_text(&spell(base), &spell(ours), &spell(theirs));
        let lines: Vec<&str> = merged.text.split_inclusive('\n').collect();
        for hunk in &merged.conflicts {
            let rest: String = lines[hunk.line - 1..].concat();
            assert!(rest.starts_with(&hunk.ours), "{hunk:?} is not at its line of {:?}", merged.text);
        }
    }
}

#[test]
fn the_base_lines_of_a_conflict_are_dealt_out_to_its_parts() {
    let merged = merge_text(&spell("abcdefg"), &spell("a1cXYZWe3g"), &spell("a2cXYZWe4g"));
    let bases: Vec<&str> = merged.conflicts.iter().map(|hunk| hunk.base.as_str()).collect();
    assert_eq!(merged.conflicts.len(), 2);
    assert_eq!(bases, ["b\n", "f\n"]);
}

#[test]
fn line_ends_of_ours_stay() {
    let merged = merge_text("a\r\nb\r\nc\r\n", "a\r\nb2\r\nc\r\n", "a\r\nb\r\nc\r\nd\r\n");
    assert_eq!(merged.text, "a\r\nb2\r\nc\r\nd\r\n");
}

#[test]
fn a_conflict_in_a_text_with_crlf_gets_markers_with_crlf() {
    let texts = Three { base: "a\r\nb\r\n", ours: "a\r\nx\r\n", theirs: "a\r\ny\r\n" };
    let (found, _) = merge_text_marked(texts, MarkerStyle::Merge, LABELS);
    assert_eq!(found, "a\r\n<<<<<<< mine\r\nx\r\n=======\r\ny\r\n>>>>>>> upstream\r\n");
    assert!(has_markers(&found));
}

#[test]
fn a_heading_underlined_with_equal_signs_is_no_marker() {
    assert!(!has_markers("Title\n=======\n\n> quoted\n"));
}

#[test]
fn a_side_that_wins_everywhere_leaves_no_marker() {
    let (base, ours, theirs) = (spell("abcdefg"), spell("xbcdefy$"), spell("zbcqefw"));
    let check = |favor: Favor, expected: &str| {
        let texts = Three { base: base.as_str(), ours: ours.as_str(), theirs: theirs.as_str() };
        assert_eq!(merge_text_favoring(texts, favor), spell(expected), "{favor:?}");
    };
    // As git merge-file answers.
    check(Favor::Ours, "xbcqefy$");
    check(Favor::Theirs, "zbcqefw");
    check(Favor::Union, "xzbcqefyw");
}
