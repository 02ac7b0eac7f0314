//! Pure. Hides the actions of templates from the YAML parser without moving a byte.
//!
//! An action inside a line becomes letters of the same length, a line that holds nothing but a control action becomes a
//! comment and is told apart by its text and by its number among equals. Not here: what templates mean (`template` the
//! module), merging (`structure`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::tree::Three;
use crate::yaml::cst::Control;

/// Words with which a control action begins.
const CONTROLS: [&str; 8] = ["if", "else", "range", "with", "define", "block", "end", "template"];

/// Returns gomplate's delimiters if one of the texts seems to be a template.
pub fn templates_in(texts: &[&str]) -> Option<(String, String)> {
    texts.iter().any(|text| text.contains("{{")).then(|| ("{{".to_owned(), "}}".to_owned()))
}

/// A text with everything hidden that is no YAML.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mask {
    /// As many bytes as the text.
    pub(super) text: String,
    /// Lines that hold nothing but a control action or a comment.
    pub(super) controls: Vec<Control>,
}

impl Mask {
    /// Returns a mask that hides nothing.
    pub(super) fn none(text: &str) -> Self {
        Self { text: text.to_owned(), controls: Vec::new() }
    }
}

/// Hides the actions of a text; the reason if they are not balanced.
pub(super) fn mask(text: &str, (open, close): &(String, String)) -> Result<Mask, String> {
    let actions = actions(text, open, close)?;
    let mut masked = String::with_capacity(text.len());
    let mut controls = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut at = 0;
    for range in &actions {
        if range.start < at {
            continue;
        }
        let action = text.get(range.clone()).unwrap_or("");
        let line_start = text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |it| it + 1);
        let line_end = text.get(range.end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |it| range.end + it);
        let before = text.get(line_start..range.start).unwrap_or("");
        let behind = text.get(range.end..line_end).unwrap_or("");
        let is_alone = before.trim().is_empty() && behind.trim().is_empty();
        masked.push_str(text.get(at..range.start).unwrap_or(""));
        if is_alone && (is_control(action, open) || inserts_lines(action)) {
            let name = action.split_whitespace().collect::<Vec<_>>().join(" ");
            let number = seen.entry(name.clone()).or_default();
            *number += 1;
            let end = (line_end + 1).min(text.len());
            controls.push(Control { lines: line_start..end, name: format!("{name} {number}") });
            masked.extend(
                action.chars().flat_map(|c| std::iter::repeat_n(if c == '\n' { '\n' } else { '#' }, c.len_utf8())),
            );
        } else {
            masked.extend(std::iter::repeat_n('x', action.len()));
        }
        at = range.end;
    }
    masked.push_str(text.get(at..).unwrap_or(""));
    Ok(Mask { text: masked, controls })
}

/// What a control line does to the lines around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arm {
    /// It opens a block.
    Opens,
    /// It ends one arm and begins the next.
    Turns,
    /// It ends a block.
    Ends,
    /// It stands for itself.
    Stands,
}

/// Returns what a control line does, from its name.
pub(super) fn arm(name: &str) -> Arm {
    let inner = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '$' && c != '/');
    match inner.split(|c: char| !c.is_ascii_alphabetic()).next() {
        Some("if" | "range" | "with" | "define" | "block") => Arm::Opens,
        Some("else") => Arm::Turns,
        Some("end") => Arm::Ends,
        Some(_) | None => Arm::Stands,
    }
}

/// Returns whether every block that begins on a line of its own ends on one.
pub(super) fn nests(controls: &[Control]) -> bool {
    let mut depth = 0_usize;
    for control in controls {
        match (arm(&control.name), depth) {
            (Arm::Opens, _) => depth += 1,
            (Arm::Turns | Arm::Ends, 0) => return false,
            (Arm::Ends, _) => depth -= 1,
            (Arm::Turns | Arm::Stands, _) => {}
        }
    }
    depth == 0
}

/// Returns whether an action steers what follows, or says nothing at all.
fn is_control(action: &str, open: &str) -> bool {
    let inner = action.strip_prefix(open).unwrap_or(action).trim_start_matches('-').trim_start();
    inner.starts_with("/*")
        || inner.split(|c: char| !c.is_ascii_alphabetic()).next().is_some_and(|word| CONTROLS.contains(&word))
        || inner.starts_with('$')
}

/// Returns whether an action alone on its line puts whole lines there, which are no value of the line before.
fn inserts_lines(action: &str) -> bool {
    action.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "indent" | "nindent"))
}

/// Returns whether a merged text holds each action as often as the edits of both sides come to.
pub(super) fn has_right_actions(sides: &Three<&str>, merged: &str, (open, close): &(String, String)) -> bool {
    let counted = |text: &str| -> Option<BTreeMap<String, usize>> {
        let mut found = BTreeMap::new();
        for range in actions(text, open, close).ok()? {
            let words: Vec<&str> = text.get(range)?.split_whitespace().collect();
            *found.entry(words.join(" ")).or_default() += 1;
        }
        Some(found)
    };
    let (Some(base), Some(ours), Some(theirs), Some(merged)) =
        (counted(sides.base), counted(sides.ours), counted(sides.theirs), counted(merged))
    else {
        return false;
    };
    let of = |side: &BTreeMap<String, usize>, action: &str| side.get(action).copied().unwrap_or(0);
    let mut all = base.keys().chain(ours.keys()).chain(theirs.keys()).chain(merged.keys());
    all.all(|action| {
        let (b, o, t, m) = (of(&base, action), of(&ours, action), of(&theirs, action), of(&merged, action));
        let plain = if b == o || o == t { t } else { o };
        // Both may have made one edit, or each one of its own.
        let is_one_edit = (b == o || b == t || o == t) && m == plain;
        is_one_edit || m == (o + t).saturating_sub(b) || m >= o.min(t) && m <= o.max(t) && b != o && b != t
    })
}

/// Returns whether a text holds an action that neither side wrote: an opening brace of one, a closing one of the other.
pub(super) fn makes_an_action(sides: &Three<&str>, merged: &str, (open, close): &(String, String)) -> bool {
    let actions = |text: &str| -> BTreeSet<Vec<String>> {
        let inner = text.split(open.as_str()).skip(1).filter_map(|rest| rest.split_once(close.as_str()));
        inner.map(|(action, _)| action.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let (ours, theirs) = (actions(sides.ours), actions(sides.theirs));
    actions(merged).iter().any(|action| !ours.contains(action) && !theirs.contains(action))
}

/// Finds the actions of a text.
fn actions(text: &str, open: &str, close: &str) -> Result<Vec<Range<usize>>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut depth = 0_i64;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(open)) {
        let start = at + offset;
        let end = end_of(text, start + open.len(), close).ok_or("an action has no end")?;
        let action = text.get(start..end).unwrap_or("");
        depth += nesting(action);
        if depth < 0 {
            return Err("a control block ends that did not begin".to_owned());
        }
        found.push(start..end);
        at = end;
    }
    if depth != 0 {
        return Err("a control block has no end".to_owned());
    }
    Ok(found)
}

fn nesting(action: &str) -> i64 {
    match arm(action) {
        Arm::Opens => 1,
        Arm::Ends => -1,
        Arm::Turns | Arm::Stands => 0,
    }
}

/// Returns where an action ends; texts in it may hold the closing mark.
fn end_of(text: &str, from: usize, close: &str) -> Option<usize> {
    let rest = text.get(from..)?;
    if rest.trim_start_matches('-').trim_start().starts_with("/*") {
        let end = rest.find("*/")?;
        return rest.get(end..)?.find(close).map(|offset| from + end + offset + close.len());
    }
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (offset, c) in rest.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if rest.get(offset..)?.starts_with(close) => return Some(from + offset + close.len()),
            None if matches!(c, '"' | '`') => quote = Some(c),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{has_right_actions, mask};
    use crate::merge::Three;

    fn check(text: &str, expected: &str, controls: &[&str]) {
        let found = mask(text, &("{{".to_owned(), "}}".to_owned())).unwrap();
        assert_eq!(found.text, expected);
        assert_eq!(found.text.len(), text.len());
        assert_eq!(found.controls.iter().map(|control| control.name.as_str()).collect::<Vec<_>>(), controls);
    }

    #[test]
    fn actions_in_a_line_become_letters() {
        check("a: {{ .x }}\n", "a: xxxxxxxx\n", &[]);
        check("a: \"{{ \"}}\" }}\"\n", "a: \"xxxxxxxxxx\"\n", &[]);
    }

    #[test]
    fn control_lines_become_comments_with_names() {
        check(
            "{{- if .a }}\nb: 1\n{{- end }}\n",
            "############\nb: 1\n##########\n",
            &["{{- if .a }} 1", "{{- end }} 1"],
        );
    }

    #[test]
    fn blocks_must_be_balanced() {
        let braces = ("{{".to_owned(), "}}".to_owned());
        assert!(mask("{{ if .a }}\n", &braces).is_err());
        assert!(mask("{{ end }}\n", &braces).is_err());
        assert!(mask("{{ .a\n", &braces).is_err());
    }

    #[test]
    fn a_line_that_an_action_fills_with_lines_is_no_value() {
        let line = "a:\n  {{- include \"x\" . | nindent 2 }}\nb: 1\n";
        let hidden = format!("a:\n  {}\nb: 1\n", "#".repeat(32));
        check(line, &hidden, &["{{- include \"x\" . | nindent 2 }} 1"]);
    }

    #[test]
    fn every_action_comes_out_as_often_as_both_sides_want_it() {
        let check = |base: &str, ours: &str, theirs: &str, merged: &str| {
            has_right_actions(&Three { base, ours, theirs }, merged, &("{{".to_owned(), "}}".to_owned()))
        };
        assert!(check("{{ a }}", "{{ a }}", "{{ b }}", "{{ b }}"));
        assert!(check("", "{{ a }}", "{{ a }}", "{{ a }}"));
        assert!(check("", "{{ a }}", "{{ a }}", "{{ a }}{{ a }}"));
        assert!(!check("{{ a }}", "{{ a }}", "{{ b }}", "{{ a }}"));
        assert!(!check("{{ a }}", "{{ a }}", "{{ a }}", ""));
    }
}
