//! Pure. Hides the actions of templates from the YAML parser without moving a byte.
//!
//! An action inside a line becomes letters of the same length, a line that holds nothing but an action becomes a comment. Not here: lines of
//! actions that are part of a text (`block_text`), what templates mean (`template` the module), merging (`structure`).

mod block_text;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::tree::Three;
use crate::yaml::cst::{Control, Role, line_end, line_start};

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
    /// Lines that hold nothing but an action, apart from those that are part of a text.
    pub(super) controls: Vec<Control>,
}

impl Mask {
    /// Returns a mask that hides nothing.
    pub(super) fn none(text: &str) -> Self {
        Self { text: text.to_owned(), controls: Vec::new() }
    }
}

/// Hides the actions of a document; the reason if one of them has no end.
pub(super) fn mask(text: &str, (open, close): &(String, String)) -> Result<Mask, String> {
    let actions = actions(text, open, close)?;
    let alone: Vec<Option<Range<usize>>> = actions.iter().map(|action| lines_alone(text, action)).collect();
    let mut masked = text.as_bytes().to_vec();
    let mut values = Vec::new();
    for (action, alone) in actions.iter().zip(&alone) {
        let hidden = if alone.is_some() { b'#' } else { b'x' };
        for byte in masked.iter_mut().take(action.end).skip(action.start) {
            *byte = if *byte == b'\n' && alone.is_some() { b'\n' } else { hidden };
        }
        let words = text.get(action.clone()).unwrap_or("");
        let is_value = alone.is_none() && (is_control(words, open) || column(words).is_some());
        if let Some(column) = is_value.then(|| key_before(text, action.start)).flatten() {
            // Behind the colon of a key a value begins, whatever it is made of.
            masked.iter_mut().skip(action.start).take(1).for_each(|byte| *byte = b' ');
            values.push(Value { start: line_start(text, action.start), column });
        }
    }

    let roles = roles(text, &actions, &alone);
    let lines: Vec<Alone> = alone
        .iter()
        .zip(&roles)
        .enumerate()
        .filter_map(|(place, (lines, role))| {
            let lines = lines.clone()?;
            let words = text.get(actions.get(place)?.clone())?;
            let opening = role.opening.and_then(|opening| alone.get(opening)?.as_ref().map(|lines| lines.start));
            Some(Alone { lines, role: role.role, opening, inserts: !is_control(words, open), column: column(words) })
        })
        .collect();
    let inside = block_text::hide(text, &mut masked, &lines, &values)?;

    let mut controls = Vec::new();
    for (line, _) in lines.iter().zip(&inside).filter(|(_, is_inside)| !**is_inside) {
        let words = text.get(line.lines.clone()).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
        // A block of which a part is inside of a text is none of entries.
        let is_torn = |opening: usize| {
            let of_block = lines.iter().zip(&inside).filter(|(other, _)| other.opening == Some(opening));
            of_block.into_iter().any(|(_, is_inside)| *is_inside)
        };
        let role = if line.opening.is_some_and(is_torn) { Role::Loose } else { line.role };
        controls.push(Control { lines: line.lines.clone(), words, role, column: line.column });
    }
    let text = String::from_utf8(masked).map_err(|_| "an action is not where it seems to be")?;
    Ok(Mask { text, controls })
}

/// An action that has its lines for itself.
pub(super) struct Alone {
    /// Its lines.
    pub(super) lines: Range<usize>,
    /// What it does to the lines around it.
    pub(super) role: Role,
    /// Where the line begins that opens its block.
    pub(super) opening: Option<usize>,
    /// Whether something is written where it stands.
    pub(super) inserts: bool,
    /// Column of the lines that it puts there, where it says so.
    pub(super) column: Option<usize>,
}

/// Returns the lines of an action that has them for itself.
fn lines_alone(text: &str, action: &Range<usize>) -> Option<Range<usize>> {
    let start = line_start(text, action.start);
    let end = line_end(text, action.end);
    let is_blank = |range: Range<usize>| text.get(range).is_some_and(|rest| rest.trim().is_empty());
    (is_blank(start..action.start) && is_blank(action.end..end)).then_some(start..end)
}

/// A value that an action begins right behind the colon of its key.
pub(super) struct Value {
    /// Where the line of the key begins.
    start: usize,
    /// Column of the key.
    column: usize,
}

/// Returns the column of the key behind whose colon an action stands.
fn key_before(text: &str, start: usize) -> Option<usize> {
    let whole = text.get(line_start(text, start)..start)?;
    let line = whole.trim_start_matches([' ', '-']);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    let key = line.strip_suffix(':').filter(|key| !key.is_empty() && key.chars().all(is_plain));
    key.map(|_| whole.len() - line.len())
}

/// What an action does to the lines around it, and the action that opens its block.
struct Acting {
    role: Role,
    opening: Option<usize>,
}

/// Returns what each action of a document does. Of a block that begins or ends in another document each line stands for itself, and none does
/// of one that begins or ends within a line.
fn roles(text: &str, actions: &[Range<usize>], alone: &[Option<Range<usize>>]) -> Vec<Acting> {
    let arms: Vec<Role> = actions.iter().map(|action| arm(text.get(action.clone()).unwrap_or(""))).collect();
    let mut blocks: Vec<(Vec<usize>, bool)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (place, role) in arms.iter().enumerate() {
        match role {
            Role::Opens => {
                open.push(blocks.len());
                blocks.push((vec![place], false));
            }
            Role::Turns | Role::Ends => {
                if let Some((members, is_whole)) = open.last().and_then(|block| blocks.get_mut(*block)) {
                    members.push(place);
                    *is_whole = *role == Role::Ends;
                }
                if *role == Role::Ends {
                    open.pop();
                }
            }
            Role::Stands | Role::Loose => {}
        }
    }
    let mut acting: Vec<Acting> = arms.iter().map(|_| Acting { role: Role::Stands, opening: None }).collect();
    for (members, _) in blocks.iter().filter(|(_, is_whole)| *is_whole) {
        let is_alone = members.iter().all(|member| matches!(alone.get(*member), Some(Some(_))));
        for member in members {
            if let (Some(slot), Some(role)) = (acting.get_mut(*member), arms.get(*member)) {
                let role = if is_alone { *role } else { Role::Loose };
                *slot = Acting { role, opening: members.first().copied() };
            }
        }
    }
    acting
}

/// Returns what an action does.
fn arm(action: &str) -> Role {
    let inner = action.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '$' && c != '/');
    match inner.split(|c: char| !c.is_ascii_alphabetic()).next() {
        Some("if" | "range" | "with" | "define" | "block") => Role::Opens,
        Some("else") => Role::Turns,
        Some("end") => Role::Ends,
        Some(_) | None => Role::Stands,
    }
}

/// Returns whether an action steers what follows, or says nothing at all.
fn is_control(action: &str, open: &str) -> bool {
    let inner = action.strip_prefix(open).unwrap_or(action).trim_start_matches('-').trim_start();
    inner.starts_with("/*")
        || inner.split(|c: char| !c.is_ascii_alphabetic()).next().is_some_and(|word| CONTROLS.contains(&word))
        || inner.starts_with('$')
}

/// Returns the column of the lines that an action puts where it stands, where it says so.
fn column(action: &str) -> Option<usize> {
    let mut words = action.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.find(|word| matches!(*word, "indent" | "nindent"))?;
    words.next()?.parse().ok()
}

/// Returns why the blocks of a file do not begin and end as they must.
pub(super) fn against_blocks(text: &str, (open, close): &(String, String)) -> Option<&'static str> {
    let Ok(actions) = actions(text, open, close) else { return Some("an action has no end") };
    let mut depth = 0_usize;
    for action in actions {
        match (arm(text.get(action).unwrap_or("")), depth) {
            (Role::Opens, _) => depth += 1,
            (Role::Ends, 0) => return Some("a control block ends that did not begin"),
            (Role::Ends, _) => depth -= 1,
            (Role::Turns | Role::Stands | Role::Loose, _) => {}
        }
    }
    (depth > 0).then_some("a control block has no end")
}

/// Returns whether the blocks of a text begin and end as they must, each in one that it stands in on a side as well.
pub(super) fn nests_as_a_side(sides: [&str; 2], merged: &str, delimiters: &(String, String)) -> bool {
    if sides.into_iter().any(|side| against_blocks(side, delimiters).is_some()) {
        return true;
    }
    let chains = |text: &str| -> BTreeSet<Vec<String>> {
        let mut open: Vec<String> = Vec::new();
        let mut found = BTreeSet::new();
        for range in actions(text, &delimiters.0, &delimiters.1).unwrap_or_default() {
            let action = text.get(range).unwrap_or_default();
            let words = || action.split_whitespace().collect::<Vec<_>>().join(" ");
            match arm(action) {
                Role::Opens => open.push(words()),
                Role::Ends => drop(open.pop()),
                Role::Turns => {}
                Role::Stands | Role::Loose => continue,
            }
            found.insert(open.clone());
        }
        found
    };
    let [ours, theirs] = sides.map(chains);
    against_blocks(merged, delimiters).is_none()
        && chains(merged).iter().all(|chain| ours.contains(chain) || theirs.contains(chain))
}

/// Returns whether a merged text holds each action as often as the edits of both sides come to.
pub(super) fn has_right_actions(sides: &Three<&str>, merged: &str, (open, close): &(String, String)) -> bool {
    let counted = |text: &str| -> Option<BTreeMap<String, usize>> {
        let mut found = BTreeMap::new();
        for range in actions(text, open, close).ok()? {
            let action = text.get(range)?;
            if arm(action) == Role::Ends {
                // It follows what opens its block, however it is written.
                continue;
            }
            let words: Vec<&str> = action.split_whitespace().collect();
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
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(open)) {
        let start = at + offset;
        let end = end_of(text, start + open.len(), close).ok_or("an action has no end")?;
        found.push(start..end);
        at = end;
    }
    Ok(found)
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
    use super::{against_blocks, has_right_actions, mask};
    use crate::merge::Three;
    use crate::yaml::cst::Role;

    fn braces() -> (String, String) {
        ("{{".to_owned(), "}}".to_owned())
    }

    fn check(text: &str, expected: &str, controls: &[(&str, Role)]) {
        let found = mask(text, &braces()).unwrap();
        assert_eq!(found.text, expected);
        assert_eq!(found.text.len(), text.len());
        let said = found.controls.iter().map(|control| (control.words.as_str(), control.role));
        assert_eq!(said.collect::<Vec<_>>(), controls);
    }

    #[test]
    fn actions_in_a_line_become_letters() {
        check("a: {{ .x }}\n", "a: xxxxxxxx\n", &[]);
        check("a: \"{{ \"}}\" }}\"\n", "a: \"xxxxxxxxxx\"\n", &[]);
    }

    #[test]
    fn lines_of_actions_become_comments_that_are_told_apart() {
        check(
            "{{- if .a }}\nb: 1\n{{- end }}\n",
            "############\nb: 1\n##########\n",
            &[("{{- if .a }}", Role::Opens), ("{{- end }}", Role::Ends)],
        );
        check("a:\n  {{ .x }}\n", "a:\n  ########\n", &[("{{ .x }}", Role::Stands)]);
    }

    #[test]
    fn blocks_begin_and_end_in_one_file() {
        for (text, expected) in [
            ("{{ if .a }}\n", Some("a control block has no end")),
            ("{{ end }}\n", Some("a control block ends that did not begin")),
            ("{{ .a\n", Some("an action has no end")),
            ("{{ if .a }}\n---\nb: 1\n{{ end }}\n", None),
        ] {
            assert_eq!(against_blocks(text, &braces()), expected, "{text}");
        }
        // What begins in another document stands for itself, and what begins within a line is loose.
        check("b: 1\n{{ end }}\n", "b: 1\n#########\n", &[("{{ end }}", Role::Stands)]);
        check("b: 1 {{ if .a }}\n{{ end }}\n", "b: 1 xxxxxxxxxxx\n#########\n", &[("{{ end }}", Role::Loose)]);
    }

    #[test]
    fn a_line_may_say_at_which_column_its_lines_stand() {
        let found = mask("a:\n  {{- include \"x\" . | nindent 2 }}\nb: 1\n", &braces()).unwrap();
        assert_eq!(found.controls.first().map(|control| control.column), Some(Some(2)));
    }

    #[test]
    fn a_value_may_begin_right_behind_its_colon() {
        check("a:{{ if .x }} []{{ end }}\n", "a: xxxxxxxxxx []xxxxxxxxx\n", &[]);
        check("- a:{{ .x }}\n", "- a:xxxxxxxx\n", &[]);
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
