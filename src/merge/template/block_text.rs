//! Pure. Lines of actions that are part of a block text, although they begin left of it.
//!
//! `key: |` and below it `{{ include "x" . | indent 4 }}` at the beginning of the line is one text to whoever wrote it. To a YAML parser such a
//! line would end the text, so it is hidden as if it stood in line. The same for a value that an action begins right behind the colon of its key:
//! all of it is one text. Not here: other lines of actions (the parent).

use super::{Alone, Value};
use crate::yaml::cst::{Role, block_text_column};

/// A line of a document, or the lines of an action that has them for itself.
struct Line {
    start: usize,
    /// Byte behind its line break.
    end: usize,
    indent: usize,
    is_blank: bool,
    /// Place among the actions.
    action: Option<usize>,
}

/// Hides the lines of actions that are part of a text; returns for each whether it is.
pub(super) fn hide(text: &str, masked: &mut [u8], actions: &[Alone], values: &[Value]) -> Result<Vec<bool>, String> {
    let mut inside = vec![false; actions.len()];
    if values.is_empty() && (actions.is_empty() || !text.contains(['|', '>'])) {
        return Ok(inside);
    }
    let lines = lines(text, actions);
    let mut at = 0;
    while at < lines.len() {
        let header = lines.get(at).filter(|line| line.action.is_none());
        let column =
            header.and_then(|line| block_text_column(std::str::from_utf8(masked.get(line.start..line.end)?).ok()?));
        let value = values.iter().find(|value| header.is_some_and(|line| line.start == value.start));
        let Some(column) = column.or(value.map(|value| value.column)) else {
            at += 1;
            continue;
        };
        let text = BlockText { text, lines: &lines, actions, header: at, column, is_value: value.is_some() };
        let end = text.end(&mut inside);
        text.mask(masked, end)?;
        at = end;
    }
    Ok(inside)
}

fn lines(text: &str, actions: &[Alone]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut next = 0;
    let mut at = 0;
    while at < text.len() {
        let action = actions.get(next).filter(|action| action.lines.start == at);
        let end = match action {
            Some(action) => action.lines.end,
            None => text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1),
        };
        let line = text.get(at..end).unwrap_or("");
        let indent = line.len() - line.trim_start_matches(' ').len();
        lines.push(Line { start: at, end, indent, is_blank: line.trim().is_empty(), action: action.map(|_| next) });
        next += usize::from(action.is_some());
        at = end;
    }
    lines
}

/// A block text, from the line of its key.
struct BlockText<'a> {
    text: &'a str,
    lines: &'a [Line],
    actions: &'a [Alone],
    header: usize,
    column: usize,
    /// Whether it is a value that an action begins, of which items at the column of its key are a part.
    is_value: bool,
}

impl BlockText<'_> {
    /// Returns whether a line that is no action is part of it.
    fn is_line(&self, line: &Line) -> bool {
        let is_item = || self.text.get(line.start + line.indent..line.end).is_some_and(|rest| rest.starts_with("- "));
        line.indent > self.column || self.is_value && line.indent == self.column && is_item()
    }

    /// Finds the line behind the text, and tells which actions are part of it.
    fn end(&self, inside: &mut [bool]) -> usize {
        let mut behind = self.header + 1;
        let mut at = behind;
        while let Some(line) = self.lines.get(at) {
            let is_part = match line.action {
                _ if line.is_blank => {
                    at += 1;
                    continue;
                }
                None => self.is_line(line),
                Some(_) if line.indent > self.column => true,
                Some(action) => self.takes(action, at, behind == self.header + 1, inside),
            };
            if !is_part {
                break;
            }
            if let Some(slot) = line.action.and_then(|action| inside.get_mut(action)) {
                *slot = true;
            }
            at += 1;
            behind = at;
        }
        behind
    }

    /// Returns whether the line of an action that begins left of the text is part of it.
    fn takes(&self, place: usize, at: usize, is_first: bool, inside: &[bool]) -> bool {
        let Some(action) = self.actions.get(place) else { return false };
        let is_inside = |opening: usize| {
            self.actions.iter().zip(inside).any(|(other, is_inside)| *is_inside && other.lines.start == opening)
        };
        let is_within = self.opened_around(place).is_some_and(is_inside);
        match action.role {
            Role::Turns | Role::Ends | Role::Loose => action.opening.is_some_and(is_inside),
            Role::Stands => is_first || is_within || self.goes_on(at + 1),
            Role::Opens => self.goes_on(at + 1) || (is_first || is_within) && self.holds_text(place),
        }
    }

    /// Returns where the innermost block begins that an action stands in.
    fn opened_around(&self, place: usize) -> Option<usize> {
        let mut open = Vec::new();
        for action in self.actions.iter().take(place) {
            match action.role {
                Role::Opens => open.push(action.lines.start),
                Role::Ends => drop(open.pop()),
                Role::Turns | Role::Stands | Role::Loose => {}
            }
        }
        open.pop()
    }

    /// Returns whether the next line that is no action is a line of the text.
    fn goes_on(&self, from: usize) -> bool {
        let next = self.lines.iter().skip(from).find(|line| !line.is_blank && line.action.is_none());
        next.is_some_and(|line| self.is_line(line))
    }

    /// Returns whether a block holds nothing but lines of the text and actions, of which one writes something.
    fn holds_text(&self, place: usize) -> bool {
        let Some(action) = self.actions.get(place) else { return false };
        let start = action.lines.start;
        let end =
            self.actions.iter().skip(place).find(|other| other.role == Role::Ends && other.opening == Some(start));
        let end = end.map_or(start, |end| end.lines.start);
        let mut held = self.lines.iter().filter(|line| line.start > start && line.start < end && !line.is_blank);
        let writes =
            |line: &Line| line.action.and_then(|action| self.actions.get(action)).is_some_and(|action| action.inserts);
        held.clone().any(writes) && held.all(|line| line.action.is_some() || self.is_line(line))
    }

    /// Hides the actions of the text that begin left of it, each as a part of the line before.
    fn mask(&self, masked: &mut [u8], end: usize) -> Result<(), String> {
        if self.is_value {
            let from = self.lines.get(self.header).map_or(0, |line| line.end - 1);
            let to = end.checked_sub(1).and_then(|last| self.lines.get(last)).map_or(from, |line| line.end - 1);
            masked.iter_mut().take(to).skip(from).for_each(|byte| *byte = b'x');
            return Ok(());
        }
        let lines: Vec<&Line> =
            self.lines.iter().take(end).skip(self.header + 1).filter(|line| !line.is_blank).collect();
        let is_low = |line: &Line| line.indent <= self.column;
        let indent = lines.iter().find(|line| !is_low(line)).map_or(self.column + 1, |line| line.indent);
        let mut hidden = |range: std::ops::Range<usize>, byte: u8| {
            masked.iter_mut().take(range.end).skip(range.start).for_each(|slot| *slot = byte);
        };
        let mut before: Option<&Line> = None;
        for (place, line) in lines.iter().enumerate() {
            match before.filter(|_| is_low(line)) {
                Some(before) => hidden(before.end - 1..line.end - 1, b'x'),
                None if is_low(line) => {
                    // The first line says where all of them begin, so the next ones help if it is short.
                    let long = lines.iter().skip(place).find(|last| last.end - 1 > line.start + indent);
                    let last = long.ok_or("a line of an action is too short for the text that it is part of")?;
                    hidden(line.start..line.start + indent, b' ');
                    hidden(line.start + indent..last.end - 1, b'x');
                }
                None => {}
            }
            before = Some(line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::mask;

    fn check(text: &str, expected: &str, controls: usize) {
        let found = mask(text, &("{{".to_owned(), "}}".to_owned())).unwrap();
        assert_eq!((found.text.as_str(), found.controls.len()), (expected, controls), "{text}");
    }

    #[test]
    fn an_action_below_the_key_is_the_text() {
        check("a: |\n{{ .x }}\nb: 1\n", "a: |\n xxxxxxx\nb: 1\n", 0);
        check("a: |\n{{ x }}\n  y\n", "a: |\n  xxxxx\n  y\n", 0);
        check("- |\n{{ x }}\n", "- |\n xxxxxx\n", 0);
        check("a:\n        b: |\n{{ x }}\n          y\n", "a:\n        b: |\n          xxxxxxxxx\n", 0);
    }

    #[test]
    fn a_line_that_is_followed_by_the_text_is_part_of_it() {
        check("a: |\n  x\n{{ if y }}\n  z\n{{ end }}\nb: 1\n", "a: |\n  xxxxxxxxxxxx\n  zxxxxxxxxxx\nb: 1\n", 0);
        check("a: |\n{{ if y }}\n{{ z }}\n{{ end }}\nb: 1\n", "a: |\n xxxxxxxxxxxxxxxxxxxxxxxxxxx\nb: 1\n", 0);
    }

    #[test]
    fn a_value_that_an_action_begins_is_one_text() {
        check(
            "a:{{ if b }} []{{ end }}\n{{ if c }}\n- d\n{{ end }}\ne: 1\n",
            "a: xxxxxxxxx []xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\ne: 1\n",
            0,
        );
    }

    #[test]
    fn a_block_of_entries_behind_a_text_is_none_of_it() {
        check("a: |\n  x\n{{ if y }}\nb: 1\n{{ end }}\n", "a: |\n  x\n##########\nb: 1\n#########\n", 2);
        check("a: x|y\n{{ .z }}\n  b\n", "a: x|y\n########\n  b\n", 1);
    }
}
