//! Pure. Where a text in quotes ends: quotes are escaped by backslashes, once more for each text that the text stands in.
//!
//! Not here: what stands in the quotes.

use std::ops::Range;

/// Quotes in quotes that are looked into; a command in a command in a file of a file has as many.
pub(super) const MAX_DEPTH: usize = 4;

/// Returns a quote at the begin of a text, with what escapes it.
pub(super) fn quote(text: &str) -> Option<&str> {
    let marks = text.len() - text.trim_start_matches('\\').len();
    text.get(marks..)?.starts_with(['"', '\'']).then(|| text.get(..=marks)).flatten()
}

/// Returns where the quotes end that opened with a mark, in the text behind it.
pub(super) fn closing(inner: &str, mark: &str) -> Option<usize> {
    let (escapes, sign) = (mark.len() - 1, mark.chars().next_back()?);
    let mut at = 0;
    while let Some(found) = inner.get(at..)?.find(sign).map(|found| at + found) {
        let before = inner.get(..found)?;
        let marks = before.len() - before.trim_end_matches('\\').len();
        // A backslash that is escaped itself escapes nothing.
        let is_end = marks <= escapes || (escapes == 0 && marks % 2 == 0);
        // YAML and SQL write a quote in quotes twice.
        let is_doubled =
            sign == '\'' && escapes == 0 && inner.get(found + 1..).is_some_and(|rest| rest.starts_with('\''));
        if is_end && !is_doubled {
            return Some(found - marks.min(escapes));
        }
        at = found + 1 + usize::from(is_doubled);
    }
    None
}

/// A text in quotes.
pub(super) struct Quoted<'a> {
    /// What stands before the quotes.
    pub(super) before: &'a str,
    /// Where its text stands.
    pub(super) inner: Range<usize>,
}

/// Returns the texts in quotes of a line, and those in their quotes.
pub(super) fn quoted(line: &str) -> Vec<Quoted<'_>> {
    let mut all = Vec::new();
    collect(line, 0..line.len(), MAX_DEPTH, &mut all);
    all
}

fn collect<'a>(line: &'a str, within: Range<usize>, depth: usize, all: &mut Vec<Quoted<'a>>) {
    let text = line.get(within.clone()).unwrap_or_default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['"', '\''])).map(|found| at + found) {
        let ahead = text.get(..found).unwrap_or_default();
        let open = ahead.trim_end_matches('\\').len().max(at);
        let mark = text.get(open..=found).unwrap_or_default();
        let is_apostrophe = mark == "'" && ahead.chars().rev().take(2).filter(|c| c.is_alphanumeric()).count() == 2;
        let end = closing(text.get(found + 1..).unwrap_or_default(), mark).filter(|_| !is_apostrophe);
        at = found + 1;
        if let Some(end) = end {
            let inner = within.start + at..within.start + at + end;
            if depth > 0 {
                collect(line, inner.clone(), depth - 1, all);
            }
            all.push(Quoted { before: text.get(..open).unwrap_or_default(), inner });
            at += end + mark.len();
        }
    }
}
