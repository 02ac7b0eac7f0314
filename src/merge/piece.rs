//! Pure. Text in the making: whole lines, and places where both sides differ and somebody has to decide.
//!
//! A conflict is cut at the borders of entries, so that a text with any side put in is a text that parses. Not here:
//! finding conflicts (`structure`), markers (`present`).

use super::tree::Three;
use crate::base::Digest;

/// Text with its undecided places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rope(pub(super) Vec<Strand>);

/// A part of a rope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Strand {
    /// Text that is settled.
    Plain(String),
    /// Whole lines that somebody has to decide about.
    Open(Open),
}

/// Whole lines as each side has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Open {
    /// Numbers of the conflicts in them, in the order in which they were found.
    pub(super) conflicts: Vec<usize>,
    /// The lines.
    pub(super) sides: Three<String>,
}

/// One entry of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// Its whole lines.
    pub(super) text: Rope,
    /// Blank lines and comments behind it.
    pub(super) gap: String,
    /// What the entry is in the result; nothing if it is absent there.
    pub(super) content: Option<(String, Digest)>,
    /// Gap that theirs has in front of an entry of theirs.
    pub(super) before: Option<String>,
}

impl Rope {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::default() } else { Self(vec![Strand::Plain(text)]) }
    }

    pub(super) fn open(conflicts: Vec<usize>, sides: Three<String>) -> Self {
        Self(vec![Strand::Open(Open { conflicts, sides })])
    }

    pub(super) fn push_str(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Strand::Plain(last)) => last.push_str(text),
            Some(Strand::Open(_)) | None => self.0.push(Strand::Plain(text.to_owned())),
        }
    }

    pub(super) fn push(&mut self, rope: Self) {
        for strand in rope.0 {
            match strand {
                Strand::Plain(text) => self.push_str(&text),
                Strand::Open(_) => self.0.push(strand),
            }
        }
    }

    /// Returns the text with one side at every open place.
    pub(super) fn side(&self, pick: fn(&Three<String>) -> &String) -> String {
        let text = |strand: &Strand| match strand {
            Strand::Plain(text) => text.clone(),
            Strand::Open(open) => pick(&open.sides).clone(),
        };
        self.0.iter().map(text).collect()
    }

    /// Returns the text with ours at every open place.
    pub(super) fn ours(&self) -> String {
        self.side(|sides| &sides.ours)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_open(&self) -> bool {
        self.0.iter().any(|strand| matches!(strand, Strand::Open(_)))
    }

    /// Returns the numbers of all conflicts in it.
    pub(super) fn conflicts(&self) -> Vec<usize> {
        let of = |strand: &Strand| match strand {
            Strand::Plain(_) => Vec::new(),
            Strand::Open(open) => open.conflicts.clone(),
        };
        self.0.iter().flat_map(of).collect()
    }

    pub(super) fn ends_line(&self) -> bool {
        let ends = |text: &String| text.is_empty() || text.ends_with('\n');
        match self.0.last() {
            None => true,
            Some(Strand::Plain(text)) => ends(text),
            Some(Strand::Open(open)) => ends(&open.sides.ours),
        }
    }

    /// Puts a text in front of the first line in place of that line's indentation. An open place at the front that is
    /// empty on some side grows until it is not.
    pub(super) fn with_head(mut self, column: usize, head: &str) -> Self {
        while let Some(Strand::Open(open)) = self.0.first()
            && [&open.sides.base, &open.sides.ours, &open.sides.theirs].into_iter().any(String::is_empty)
            && self.0.len() > 1
        {
            let next = self.0.remove(1);
            if let Some(Strand::Open(open)) = self.0.first_mut() {
                open.grow(next);
            }
        }
        let put = |text: &mut String| {
            let rest = text.get(..column).filter(|indent| indent.trim().is_empty()).and_then(|_| text.get(column..));
            *text = format!("{head}{}", rest.unwrap_or(text));
        };
        match self.0.first_mut() {
            None => return Self::plain(head),
            Some(Strand::Plain(text)) => put(text),
            Some(Strand::Open(open)) => {
                put(&mut open.sides.base);
                put(&mut open.sides.ours);
                put(&mut open.sides.theirs);
            }
        }
        self
    }
}

impl Open {
    fn grow(&mut self, next: Strand) {
        match next {
            Strand::Plain(text) => {
                self.sides.base.push_str(&text);
                self.sides.ours.push_str(&text);
                self.sides.theirs.push_str(&text);
            }
            Strand::Open(open) => {
                self.conflicts.extend(open.conflicts);
                self.sides.base.push_str(&open.sides.base);
                self.sides.ours.push_str(&open.sides.ours);
                self.sides.theirs.push_str(&open.sides.theirs);
            }
        }
    }
}

/// Puts entries one behind the other with their gaps; the gap behind the last one comes apart.
pub(super) fn assemble(pieces: Vec<Piece>) -> (Rope, String) {
    let mut rope = Rope::default();
    let mut gap = String::new();
    for piece in pieces {
        let moves_on = gap.is_empty() || gap.trim().is_empty() && gap == piece.gap;
        if let Some(before) = piece.before.filter(|before| moves_on && before.trim().is_empty()) {
            // An entry of theirs behind one of ours keeps the distance that it has in theirs.
            if !rope.is_empty() {
                gap = moved_gap(&before, 0);
            }
        }
        if !piece.text.is_empty() {
            if !rope.ends_line() {
                rope.push_str("\n");
            }
            rope.push_str(&gap);
            rope.push(piece.text);
            gap = piece.gap;
        } else {
            gap = joined_gap(&gap, &piece.gap);
        }
    }
    (rope, gap)
}

/// Puts the entries of a collection inside of another one behind each other: blank lines behind it belong outside.
pub(super) fn assemble_inner(pieces: Vec<Piece>) -> Rope {
    let (mut rope, gap) = assemble(pieces);
    if !gap.trim().is_empty() {
        rope.push_str(&gap);
    }
    rope
}

/// Joins the gaps before and behind an entry that goes: comments stay, of two runs of blank lines one goes.
fn joined_gap(before: &str, behind: &str) -> String {
    if before.is_empty() || behind.is_empty() {
        return format!("{before}{behind}");
    }
    if behind.trim().is_empty() {
        return before.to_owned();
    }
    if before.trim().is_empty() {
        let comments = behind.trim_start_matches('\n');
        return format!("{before}{comments}");
    }
    let is_double = before.ends_with("\n\n") && behind.starts_with('\n');
    format!("{before}{}", if is_double { behind.trim_start_matches('\n') } else { behind })
}

/// Returns a gap that comes to stand behind another entry at a column: blank lines without blanks and no comment further in, as
/// either would belong to a block text that the entry ends in.
pub(super) fn moved_gap(gap: &str, column: usize) -> String {
    let indents = gap.lines().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let furthest = indents.min().unwrap_or(column);
    let gap = reindent(gap, furthest, furthest.min(column));
    let line = |line: &str| match line.strip_suffix('\n') {
        Some(text) if text.trim().is_empty() => format!("{}\n", text.trim_start_matches([' ', '\t'])),
        None if line.trim().is_empty() => String::new(),
        Some(_) | None => line.to_owned(),
    };
    gap.split_inclusive('\n').map(line).collect()
}

/// Moves every line of a text from one column to another; blank lines stay blank, and lines that begin left of the first column stay there.
pub(super) fn reindent(text: &str, from: usize, to: usize) -> String {
    if from == to {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_left = indent < from && !line.trim_start().starts_with('#');
        if line.trim().is_empty() || is_left {
            out.push_str(line);
        } else if to > from {
            out.extend(std::iter::repeat_n(' ', to - from));
            out.push_str(line);
        } else {
            out.push_str(line.get(indent.min(from - to)..).unwrap_or(line));
        }
    }
    out
}

/// Moves all lines but the first.
pub(super) fn reindent_rest(text: &str, from: usize, to: usize) -> String {
    match text.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{}", reindent(rest, from, to)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Rope, joined_gap, moved_gap, reindent};
    use crate::merge::Three;

    #[test]
    fn lines_move_together_and_blank_ones_stay() {
        assert_eq!(reindent("  a:\n\n    b\n", 2, 4), "    a:\n\n      b\n");
        assert_eq!(reindent("    a:\n  # c\n", 4, 1), " a:\n# c\n");
    }

    #[test]
    fn of_two_runs_of_blank_lines_one_goes() {
        assert_eq!(joined_gap("\n", "\n"), "\n");
        assert_eq!(joined_gap("\n", "\n# c\n"), "\n# c\n");
        assert_eq!(joined_gap("", "\n"), "\n");
    }

    #[test]
    fn no_line_of_a_gap_that_moves_is_read_as_text() {
        assert_eq!(moved_gap("  \n# a\n   # b\n ", 0), "\n# a\n   # b\n");
        assert_eq!(moved_gap("\n    # a\n      # b\n", 2), "\n  # a\n    # b\n");
        assert_eq!(moved_gap(" # a\r\n \r\n", 4), " # a\r\n\r\n");
    }

    #[test]
    fn an_open_place_that_is_empty_on_a_side_grows_before_a_dash_is_put_before_it() {
        let sides = Three { base: String::new(), ours: "    a: 1\n".to_owned(), theirs: "    a: 2\n".to_owned() };
        let mut rope = Rope::open(vec![0], sides);
        rope.push_str("    b: 1\n");
        let rope = rope.with_head(4, "  - ");
        assert_eq!(rope.side(|sides| &sides.base), "  - b: 1\n");
        assert_eq!(rope.ours(), "  - a: 1\n    b: 1\n");
    }
}
