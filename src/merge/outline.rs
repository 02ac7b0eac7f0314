//! Pure. The entries of a document by its lines alone, found without a parser at a small part of its cost.
//!
//! People and generators write nearly all files in a small part of YAML: maps and lists by indentation, texts on one line, in quotes or as
//! block text. A document in it is known line by line; of every other one nothing is said, so whoever asks needs another way. Not here:
//! what the entries mean (`yaml::cst`), what is done with them (`reduce`).

use std::ops::Range;

use super::line_diff::newlines;
use crate::yaml::line::{
    Value, is_end, is_indicator, is_plain_text, is_readable, key, plain, quoted, unindented, value,
};

/// Collections in each other that are followed.
const MAX_DEPTH: usize = 48;

/// Index of an entry in its outline.
pub(super) type EntryId = usize;

/// An entry of a map, or an item of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// First byte of its line.
    pub(super) start: usize,
    /// Byte behind its last line.
    pub(super) end: usize,
    /// First byte of the next line that is neither blank nor a comment, or the end of the document.
    pub(super) next: usize,
    /// Column of its key or dash.
    pub(super) column: usize,
    /// Whether it begins behind a dash.
    pub(super) is_behind_dash: bool,
}

/// An entry as it is kept: a file has very many.
#[derive(Debug)]
struct Kept {
    start: Offset,
    end: Offset,
    next: Offset,
    column: Offset,
    /// Its key as it is written; empty for an item.
    key: [Offset; 2],
    /// Its value where that is a text on one line, without anything escaped; empty at the beginning of the document where it is not.
    scalar: [Offset; 2],
    /// The first entry in it and the one behind it; the entry itself where there is none.
    child: Offset,
    sibling: Offset,
    is_behind_dash: bool,
}

/// A place in a document, or of an entry.
type Offset = u32;

fn packed(offset: usize) -> Option<Offset> {
    Offset::try_from(offset).ok()
}

fn unpacked(offset: Offset) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn range([start, end]: [Offset; 2]) -> Range<usize> {
    unpacked(start)..unpacked(end)
}

/// The entries of a document.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    text: &'a str,
    entries: Vec<Kept>,
}

impl<'a> Outline<'a> {
    /// Returns the outline of a document, or nothing if a line of it is not of the kinds that are known here.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        // Nearly every line is an entry.
        let entries = Vec::with_capacity(newlines(text));
        let is_plain = is_plain_text(text);
        let mut scan = Scan { entries, open: Vec::new(), root: None, state: State::Between, reached: 0, is_plain };
        let mut at = 0;
        for newline in memchr::memchr_iter(b'\n', text.as_bytes()) {
            scan.line(at, text.get(at..newline)?)?;
            at = newline + 1;
        }
        if at != text.len() {
            return None;
        }
        if matches!(scan.state, State::Quoted { .. }) {
            return None;
        }
        while !scan.open.is_empty() {
            scan.close(at);
        }
        scan.root?;
        Some(Self { text, entries: scan.entries })
    }

    pub(super) fn entry(&self, id: EntryId) -> Option<Entry> {
        let Kept { start, end, next, column, is_behind_dash, .. } = *self.entries.get(id)?;
        let [start, end, next, column] = [start, end, next, column].map(unpacked);
        Some(Entry { start, end, next, column, is_behind_dash })
    }

    /// Returns whether an entry is an item of a list.
    pub(super) fn is_item(&self, id: EntryId) -> bool {
        self.entries.get(id).is_some_and(|entry| range(entry.key).is_empty())
    }

    /// Returns the entries of the document itself.
    pub(super) fn top(&self) -> impl Iterator<Item = EntryId> {
        self.chain((!self.entries.is_empty()).then_some(0))
    }

    /// Returns the entries in an entry.
    pub(super) fn children(&self, id: EntryId) -> impl Iterator<Item = EntryId> {
        self.chain(self.entries.get(id).map(|entry| unpacked(entry.child)).filter(|child| *child != id))
    }

    fn chain(&self, first: Option<EntryId>) -> impl Iterator<Item = EntryId> {
        std::iter::successors(first, |id| self.sibling(*id))
    }

    /// Returns the entry behind an entry.
    pub(super) fn sibling(&self, id: EntryId) -> Option<EntryId> {
        self.entries.get(id).map(|entry| unpacked(entry.sibling)).filter(|sibling| *sibling != id)
    }

    /// Returns whether an entry has a field.
    pub(super) fn has(&self, id: EntryId, key: &str) -> bool {
        self.children(id).any(|child| self.key(child) == key)
    }

    /// Returns the key of an entry as it is written; nothing of an item.
    pub(super) fn written_key(&self, id: EntryId) -> &'a str {
        self.entries.get(id).map_or("", |entry| self.slice(&range(entry.key)))
    }

    /// Returns the key of an entry without quotes.
    pub(super) fn key(&self, id: EntryId) -> &'a str {
        unquoted(self.written_key(id))
    }

    /// Returns the value of an entry without quotes, where that is a text on one line.
    pub(super) fn scalar(&self, id: EntryId) -> Option<&'a str> {
        let range = self.entries.get(id).map(|entry| range(entry.scalar)).filter(|range| range.end > 0)?;
        Some(unquoted(self.slice(&range)))
    }

    /// Returns the entry with a key among others.
    pub(super) fn find(&self, among: &[EntryId], key: &str) -> Option<EntryId> {
        among.iter().copied().find(|id| self.key(*id) == key)
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or("")
    }
}

fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// A collection whose end was not seen yet.
struct Open {
    column: usize,
    is_list: bool,
    /// The entry at hand.
    last: EntryId,
    /// Whether that entry has no value yet.
    is_waiting: bool,
}

/// What the next line may continue.
enum State {
    /// Nothing.
    Between,
    /// A text without quotes, of the entry at a column.
    Plain { column: usize },
    /// A text in quotes.
    Quoted { column: usize, quote: u8 },
    /// Block text, and the column of its first line.
    Block { column: usize, first: Option<usize> },
}

struct Scan {
    entries: Vec<Kept>,
    open: Vec<Open>,
    root: Option<EntryId>,
    state: State,
    /// Byte behind the last line that holds something.
    reached: usize,
    /// Whether all lines are known to be readable.
    is_plain: bool,
}

impl Scan {
    /// Takes a line; nothing if it is of an unknown kind.
    fn line(&mut self, start: usize, line: &str) -> Option<()> {
        if !self.is_plain && !is_readable(line) {
            return None;
        }
        let rest = unindented(line);
        let column = line.len() - rest.len();
        let behind = start + line.len() + 1;
        if rest.is_empty() {
            // Blanks alone may say how far block text is indented.
            return (column == 0 || matches!(self.state, State::Between | State::Plain { .. })).then_some(());
        }
        match self.state {
            State::Block { column: outer, first } if column > outer => {
                let first = first.unwrap_or(column);
                if column < first {
                    return None;
                }
                self.state = State::Block { column: outer, first: Some(first) };
                self.reached = behind;
                return Some(());
            }
            State::Quoted { column: outer, quote } => {
                if column <= outer {
                    return None;
                }
                self.quoted(rest, quote)?;
                self.reached = behind;
                return Some(());
            }
            State::Plain { column: outer } if column > outer && !rest.starts_with('#') => {
                if is_indicator(rest) || plain(rest)? != rest.trim_end().len() {
                    return None;
                }
                self.entries.last_mut()?.scalar = [0; 2];
                self.reached = behind;
                return Some(());
            }
            State::Block { .. } | State::Plain { .. } | State::Between => self.state = State::Between,
        }
        if rest.starts_with('#') {
            return Some(());
        }
        if self.root.is_none() && column == 0 && line.starts_with("---") {
            let rest = unindented(line.strip_prefix("---").unwrap_or(""));
            return (rest.is_empty() || line.starts_with("--- ") && rest.starts_with('#')).then_some(());
        }
        self.content(start, line, column)?;
        self.reached = behind;
        Some(())
    }

    /// Goes on with a text in quotes.
    fn quoted(&mut self, rest: &str, quote: u8) -> Option<()> {
        if let Some(length) = quoted(rest, quote, 0)? {
            is_end(rest.get(length..)?).then_some(())?;
            self.state = State::Between;
        }
        Some(())
    }

    /// Takes a line that begins an entry.
    fn content(&mut self, start: usize, line: &str, column: usize) -> Option<()> {
        let rest = line.get(column..)?;
        let is_dash = rest.starts_with("- ");
        while let Some(top) = self.open.last() {
            let is_over = top.column > column || top.column == column && top.is_list && !is_dash;
            if !is_over {
                break;
            }
            self.close(start);
        }
        self.begin(start, column, is_dash)?;
        if !is_dash {
            let length = key(rest)?;
            return self.entry((start, line), column, length, false);
        }
        let id = self.add(start, column, false, 0..0)?;
        let inner = unindented(rest.get(1..)?);
        let at = line.len() - inner.len();
        if inner.is_empty() || inner == "-" || inner.starts_with("- ") || inner.starts_with('#') {
            // A list in a list, or an item below its dash.
            return None;
        }
        if let Some(length) = key(inner) {
            self.open.last_mut()?.is_waiting = true;
            self.begin(start, at, false)?;
            return self.entry((start, line), at, length, true);
        }
        match value(inner)? {
            Value::Flat(length, may_go_on) => {
                self.entries.get_mut(id)?.scalar = scalar(inner, start + at, length).unwrap_or_default();
                self.state = if may_go_on { State::Plain { column } } else { State::Between };
            }
            Value::OpenQuote(quote) => self.state = State::Quoted { column, quote },
            Value::Block => self.state = State::Block { column, first: None },
            Value::Nothing => return None,
        }
        Some(())
    }

    /// Takes the key at a column and what is behind it.
    fn entry(
        &mut self,
        (start, line): (usize, &str),
        column: usize,
        length: usize,
        is_behind_dash: bool,
    ) -> Option<()> {
        let at = start + column;
        let id = self.add(start, column, is_behind_dash, at..at + length)?;
        let inner = unindented(line.get(column + length + 1..)?);
        match value(inner)? {
            Value::Nothing => self.open.last_mut()?.is_waiting = true,
            Value::Flat(length, may_go_on) => {
                let at = start + line.len() - inner.len();
                self.entries.get_mut(id)?.scalar = scalar(inner, at, length).unwrap_or_default();
                self.state = if may_go_on { State::Plain { column } } else { State::Between };
            }
            Value::OpenQuote(quote) => self.state = State::Quoted { column, quote },
            Value::Block => self.state = State::Block { column, first: None },
        }
        Some(())
    }

    /// Finds the collection of an entry at a column, or opens it.
    fn begin(&mut self, start: usize, column: usize, is_list: bool) -> Option<()> {
        match self.open.last() {
            Some(top) if top.is_list == is_list && top.column == column => {
                self.end_entry(start);
                return Some(());
            }
            // A list may stand at the column of its key.
            Some(top) if top.is_waiting && (top.column < column || is_list && !top.is_list && top.column == column) => {
            }
            None if self.root.is_none() => self.root = Some(0),
            Some(_) | None => return None,
        }
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        self.open.push(Open { column, is_list, last: usize::MAX, is_waiting: false });
        Some(())
    }

    /// Puts an entry into the innermost collection.
    fn add(&mut self, start: usize, column: usize, is_behind_dash: bool, key: Range<usize>) -> Option<EntryId> {
        let id = self.entries.len();
        let [start, column, own] = [packed(start)?, packed(column)?, packed(id)?];
        self.entries.push(Kept {
            start,
            end: start,
            next: start,
            column,
            key: [packed(key.start)?, packed(key.end)?],
            scalar: [0; 2],
            child: own,
            sibling: own,
            is_behind_dash,
        });
        let depth = self.open.len().checked_sub(1)?;
        let before = self.open.get(depth)?.last;
        if let Some(before) = self.entries.get_mut(before) {
            before.sibling = own;
        } else if let Some(parent) = depth.checked_sub(1).and_then(|above| self.open.get_mut(above)) {
            parent.is_waiting = false;
            self.entries.get_mut(parent.last)?.child = own;
        }
        let top = self.open.last_mut()?;
        (top.last, top.is_waiting) = (id, false);
        Some(id)
    }

    /// Ends the entry at hand of the innermost collection, because something begins behind it.
    fn end_entry(&mut self, start: usize) {
        let reached = self.reached;
        if let Some(entry) = self.open.last().and_then(|top| self.entries.get_mut(top.last)) {
            (entry.end, entry.next) = (packed(reached).unwrap_or(entry.end), packed(start).unwrap_or(entry.next));
        }
    }

    /// Closes the innermost collection.
    fn close(&mut self, start: usize) {
        self.end_entry(start);
        self.open.pop();
    }
}

/// Returns where a value on one line stands; brackets are none, and what is not what it says when the quotes are taken off.
fn scalar(text: &str, at: usize, length: usize) -> Option<[Offset; 2]> {
    let is_escaped = |text: &str| match text.as_bytes().first() {
        Some(b'"') => memchr::memchr(b'\\', text.as_bytes()).is_some(),
        Some(b'\'') => text.get(1..text.len() - 1).is_none_or(|text| memchr::memchr(b'\'', text.as_bytes()).is_some()),
        _ => text.starts_with(['[', '{']),
    };
    text.get(..length).filter(|text| !is_escaped(text))?;
    Some([packed(at)?, packed(at + length)?])
}

#[cfg(test)]
mod tests {
    use super::{EntryId, Outline};

    /// Writes the entries with their lines and values.
    fn told(outline: &Outline<'_>, ids: impl Iterator<Item = EntryId>, depth: usize) -> String {
        let mut out = String::new();
        for id in ids {
            let entry = outline.entry(id).unwrap();
            let value = outline.scalar(id).unwrap_or("…");
            let lines = outline.slice(&(entry.start..entry.end)).lines().count();
            out.push_str(&format!("{:depth$}{}={value} {lines}\n", "", outline.key(id)));
            out.push_str(&told(outline, outline.children(id), depth + 1));
        }
        out
    }

    fn check(text: &str, expected: &str) {
        let outline = Outline::of(text).unwrap();
        assert_eq!(told(&outline, outline.top(), 0), expected);
    }

    #[test]
    fn entries_are_known_by_their_lines() {
        check("---\na: 1 # one\nb:\n  c: \"x y\"\n\n# of d\nd:\n", "a=1 1\nb=… 2\n c=x y 1\nd=… 1\n");
        check("a:\n- b: 1\n  c: 2\n- d: 3\ne: 4\n", "a=… 4\n =… 2\n  b=1 1\n  c=2 1\n =… 1\n  d=3 1\ne=4 1\n");
        check("a:\n  - x\n  - y\n", "a=… 3\n =x 1\n =y 1\n");
    }

    #[test]
    fn texts_may_go_over_several_lines() {
        check("a: |\n  b: 1\n\n  c\nd: 2\n", "a=… 4\nd=2 1\n");
        check("a: one\n  two\nb: 'x\n\n  y'\nc: 3\n", "a=… 2\nb=… 3\nc=3 1\n");
    }

    #[test]
    fn what_quotes_hide_is_no_value() {
        check("a: 'it''s'\nb: \"x\\ty\"\nc: [1]\nd: ''\n", "a=… 1\nb=… 1\nc=… 1\nd= 1\n");
    }
}
