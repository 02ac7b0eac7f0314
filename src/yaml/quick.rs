//! Pure. The tree of a text that is written as nearly all files are, found line by line at a small part of what a parser costs.
//!
//! Maps and lists by indentation, texts on one line, in quotes or as block text, short brackets, comments. Of every other text nothing is
//! said, and the parser reads it. Builds with debug assertions hold every tree that is not large against the parser's.
//!
//! Not here: the parts of a line (`line.rs`), the parser (`tree.rs`).

use super::line::{MAX_BRACKETS, MAX_KEY_BYTES, Value, is_readable, key, unindented, value};
use super::tree::{Content, MAX_SCALAR_BYTES, Place, Style, Tree};
use crate::base::limits::MAX_YAML_DOCUMENTS;

/// Collections in each other that are followed, brackets besides.
const MAX_DEPTH: usize = 48;

/// Returns the tree of a text, or nothing if a line of it is not of the kinds that are known here.
pub(super) fn parse(text: &str, max_depth: usize) -> Option<Tree> {
    if max_depth <= MAX_DEPTH + MAX_BRACKETS + 1 {
        return None;
    }
    let mut scan =
        Scan { tree: Tree::empty(), open: Vec::new(), is_begun: false, has_root: false, state: State::Between };
    let (mut start, mut number) = (0, 1);
    for newline in memchr::memchr_iter(b'\n', text.as_bytes()) {
        scan.line(&Line { start, number, text: text.get(start..newline)? })?;
        start = newline + 1;
        number += 1;
    }
    if start != text.len() {
        return None;
    }
    scan.end_document(text.len())?;
    Some(scan.tree)
}

/// One line without its end.
struct Line<'a> {
    /// Offset of its first byte.
    start: usize,
    /// Its number from 1.
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    /// Returns the place of a byte of the line.
    fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or("");
        let chars = if before.is_ascii() { before.len() } else { before.chars().count() };
        Place { byte: self.start + at, line: self.number, column: chars + 1 }
    }
}

/// A map or list whose end was not seen yet.
struct Open {
    column: usize,
    is_list: bool,
    index: usize,
    children: Vec<usize>,
    /// Behind the last key, if it has no value yet.
    waiting: Option<Place>,
}

/// What the next line may continue.
enum State {
    /// Nothing.
    Between,
    /// A text without quotes, of the entry at a column.
    Plain { column: usize },
    /// Block text of the entry at a column.
    Block(Block),
}

/// Block text that is not over.
struct Block {
    /// Column of its entry.
    outer: usize,
    /// Column of its first line.
    first: Option<usize>,
    /// Whether its last line end is left out.
    is_stripped: bool,
    /// Where its first line begins.
    start: Option<Place>,
    text: String,
    /// Empty lines that belong to it if another line follows.
    blank: usize,
}

struct Scan {
    tree: Tree,
    open: Vec<Open>,
    /// Whether a line said that a document begins.
    is_begun: bool,
    has_root: bool,
    state: State,
}

impl Scan {
    /// Takes a line; nothing if it is of an unknown kind.
    fn line(&mut self, line: &Line<'_>) -> Option<()> {
        if !is_readable(line.text) {
            return None;
        }
        let rest = unindented(line.text);
        let column = line.text.len() - rest.len();
        if let State::Block(block) = &mut self.state {
            if rest.is_empty() {
                block.blank += 1;
                // Blanks alone may say how far block text is indented.
                return (column == 0 && block.first.is_some()).then_some(());
            }
            if column > block.outer {
                return block.take(line, column);
            }
            self.end_block(line.start + column)?;
        }
        if rest.is_empty() {
            return Some(());
        }
        if rest.starts_with('#') {
            return Some(());
        }
        match self.state {
            // It would go on with the text.
            State::Plain { column: outer } if column > outer => return None,
            State::Plain { .. } | State::Between | State::Block(_) => self.state = State::Between,
        }
        if column == 0 && line.text.starts_with("---") {
            let rest = unindented(line.text.strip_prefix("---")?);
            (rest.is_empty() || line.text.starts_with("--- ") && rest.starts_with('#')).then_some(())?;
            if self.has_root {
                self.end_document(line.start)?;
            } else if self.is_begun {
                return None;
            }
            self.is_begun = true;
            return Some(());
        }
        self.content(line, column)
    }

    /// Takes a line that begins an entry.
    fn content(&mut self, line: &Line<'_>, column: usize) -> Option<()> {
        let rest = line.text.get(column..)?;
        let is_dash = rest.starts_with("- ");
        while let Some(top) = self.open.last() {
            let is_over = top.column > column || top.column == column && top.is_list && !is_dash;
            if !is_over {
                break;
            }
            self.close()?;
        }
        self.begin(line, column, is_dash)?;
        if !is_dash {
            return self.entry(line, column);
        }
        let inner = unindented(rest.get(1..)?);
        let at = line.text.len() - inner.len();
        if inner.is_empty() || inner == "-" || inner.starts_with("- ") || inner.starts_with('#') {
            // A list in a list, or an item below its dash.
            return None;
        }
        if key(inner).is_some() {
            self.open.last_mut()?.waiting = Some(line.place(at));
            self.begin(line, at, false)?;
            return self.entry(line, at);
        }
        self.value(line, at, column)
    }

    /// Takes a key and what is behind it.
    fn entry(&mut self, line: &Line<'_>, column: usize) -> Option<()> {
        let rest = line.text.get(column..)?;
        let length = key(rest)?;
        let written = rest.get(..length)?;
        let (text, style) = match written.as_bytes().first()? {
            b'"' => (written.get(1..length - 1)?, Style::Double),
            b'\'' => (written.get(1..length - 1)?, Style::Single),
            _ => (written, Style::Plain),
        };
        let place = line.place(column);
        let end = place.byte + length;
        let index = self.tree.add(Content::Scalar(text.to_owned()), style, place, end)?;
        self.open.last_mut()?.children.push(index);
        let at = line.text.len() - unindented(rest.get(length + 1..)?).len();
        if value(line.text.get(at..)?)? == Value::Nothing {
            self.open.last_mut()?.waiting = Some(line.place(column + length));
            return Some(());
        }
        self.value(line, at, column)
    }

    /// Takes the value that begins at a byte of a line, of an entry at a column.
    fn value(&mut self, line: &Line<'_>, at: usize, column: usize) -> Option<()> {
        let rest = line.text.get(at..)?;
        match value(rest)? {
            Value::Flat(length, may_go_on) => {
                let index = self.flat(line, at, length)?;
                self.open.last_mut()?.children.push(index);
                self.state = if may_go_on { State::Plain { column } } else { State::Between };
            }
            Value::Block => {
                let mark = rest.strip_prefix('|')?;
                let is_stripped = mark.starts_with('-');
                self.state = State::Block(Block {
                    outer: column,
                    first: None,
                    is_stripped,
                    start: None,
                    text: String::new(),
                    blank: 0,
                });
            }
            Value::OpenQuote(_) | Value::Nothing => return None,
        }
        Some(())
    }

    /// Adds a text or brackets of some bytes.
    fn flat(&mut self, line: &Line<'_>, at: usize, length: usize) -> Option<usize> {
        let written = line.text.get(at..at + length)?;
        let (text, style) = match written.as_bytes().first()? {
            b'[' | b'{' => return self.brackets(line, at, 0).map(|(index, _)| index),
            quote @ (b'"' | b'\'') => unquoted(written, *quote)?,
            _ => (written.to_owned(), Style::Plain),
        };
        (text.len() <= MAX_SCALAR_BYTES).then_some(())?;
        let place = line.place(at);
        self.tree.add(Content::Scalar(text), style, place, place.byte + length)
    }

    /// Adds a map or list in brackets and returns it with the byte of the line behind it.
    fn brackets(&mut self, line: &Line<'_>, from: usize, depth: usize) -> Option<(usize, usize)> {
        let bytes = line.text.as_bytes();
        let is_map = bytes.get(from)? == &b'{';
        let (content, close) =
            if is_map { (Content::Map(Vec::new()), b'}') } else { (Content::List(Vec::new()), b']') };
        let blank = |at: usize| at + bytes.iter().skip(at).take_while(|byte| **byte == b' ').count();
        let index = self.tree.add(content, Style::Flow, line.place(from), 0)?;
        let mut children = Vec::new();
        let mut at = blank(from + 1);
        while bytes.get(at)? != &close {
            if is_map {
                let (key, end) = self.word(line, at)?;
                (end - at <= MAX_KEY_BYTES).then_some(())?;
                children.push(key);
                // The colon and the blank behind it.
                at = blank(end + 1);
            }
            let (child, end) = match bytes.get(at)? {
                b'[' | b'{' if depth < MAX_BRACKETS => self.brackets(line, at, depth + 1)?,
                _ => self.word(line, at)?,
            };
            children.push(child);
            at = blank(end);
            match bytes.get(at)? {
                b',' => at = blank(at + 1),
                byte if *byte == close => {}
                _ => return None,
            }
        }
        self.tree.close(index, children, line.start + at + 1);
        Some((index, at + 1))
    }

    /// Adds a word or text in quotes that stands in brackets and returns it with the byte of the line behind it.
    fn word(&mut self, line: &Line<'_>, from: usize) -> Option<(usize, usize)> {
        let end = super::line::word(line.text, from)?;
        let written = line.text.get(from..end)?;
        let (text, style) = match written.as_bytes().first()? {
            quote @ (b'"' | b'\'') => unquoted(written, *quote)?,
            _ => (written.to_owned(), Style::Plain),
        };
        (text.len() <= MAX_SCALAR_BYTES).then_some(())?;
        let index = self.tree.add(Content::Scalar(text), style, line.place(from), line.start + end)?;
        Some((index, end))
    }

    /// Finds the collection of an entry at a column, or opens it.
    fn begin(&mut self, line: &Line<'_>, column: usize, is_list: bool) -> Option<()> {
        let mut is_beside = false;
        match self.open.last_mut() {
            Some(top) if top.is_list == is_list && top.column == column => return self.end_entry(),
            // A list may stand at the column of its key.
            Some(top)
                if top.waiting.is_some()
                    && (top.column < column || is_list && !top.is_list && top.column == column) =>
            {
                top.waiting = None;
                is_beside = top.column == column;
            }
            None if !self.has_root => self.has_root = true,
            Some(_) | None => return None,
        }
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        let content = if is_list { Content::List(Vec::new()) } else { Content::Map(Vec::new()) };
        // The parser says of a list at the column of its key that it begins with its first item.
        let dash = if is_beside { line.text.get(column + 1..)? } else { "" };
        let at = column + usize::from(is_beside) + (dash.len() - unindented(dash).len());
        let index = self.tree.add(content, Style::Block, line.place(at), 0)?;
        self.open.push(Open { column, is_list, index, children: Vec::new(), waiting: None });
        Some(())
    }

    /// Ends the entry at hand of the innermost collection: without a value it has an empty one.
    fn end_entry(&mut self) -> Option<()> {
        let top = self.open.last_mut()?;
        if let Some(place) = top.waiting.take() {
            let index = self.tree.add(Content::Scalar(String::new()), Style::Plain, place, place.byte)?;
            top.children.push(index);
        }
        Some(())
    }

    /// Ends block text before a byte: the first of what comes next.
    fn end_block(&mut self, end: usize) -> Option<()> {
        let State::Block(mut block) = std::mem::replace(&mut self.state, State::Between) else { return Some(()) };
        if block.is_stripped {
            block.text.pop();
        }
        (block.text.len() <= MAX_SCALAR_BYTES).then_some(())?;
        let index = self.tree.add(Content::Scalar(block.text), Style::BlockText, block.start?, end)?;
        self.open.last_mut()?.children.push(index);
        Some(())
    }

    /// Closes the innermost collection.
    fn close(&mut self) -> Option<()> {
        self.end_entry()?;
        let Open { index, children, .. } = self.open.pop()?;
        self.tree.close(index, children, 0);
        match self.open.last_mut() {
            Some(top) => top.children.push(index),
            None => self.tree.roots.push(index),
        }
        Some(())
    }

    /// Ends a document before a byte. It must hold something.
    fn end_document(&mut self, end: usize) -> Option<()> {
        self.end_block(end)?;
        self.state = State::Between;
        while !self.open.is_empty() {
            self.close()?;
        }
        let is_whole = std::mem::take(&mut self.has_root) && self.tree.roots.len() < MAX_YAML_DOCUMENTS;
        is_whole.then_some(())
    }
}

impl Block {
    /// Takes a line that holds something.
    fn take(&mut self, line: &Line<'_>, column: usize) -> Option<()> {
        let first = *self.first.get_or_insert(column);
        self.start.get_or_insert_with(|| line.place(column));
        for _ in 0..std::mem::take(&mut self.blank) {
            self.text.push('\n');
        }
        // Nothing where it stands before the first line.
        self.text.push_str(line.text.get(first..).filter(|_| column >= first)?);
        self.text.push('\n');
        Some(())
    }
}

/// Returns what a text in quotes says.
fn unquoted(written: &str, quote: u8) -> Option<(String, Style)> {
    let inner = written.get(1..written.len().checked_sub(1)?)?;
    if quote == b'\'' {
        return Some((inner.replace("''", "'"), Style::Single));
    }
    let mut text = String::with_capacity(inner.len());
    let mut signs = inner.chars();
    while let Some(sign) = signs.next() {
        text.push(match sign {
            '\\' => match signs.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                sign @ ('"' | '\\') => sign,
                _ => return None,
            },
            sign => sign,
        });
    }
    Some((text, Style::Double))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::base::limits::MAX_YAML_DEPTH;

    /// Whether the tree is right, `tree.rs` holds against the parser's.
    fn check(known: &[&str], unknown: &[&str]) {
        for text in known {
            assert!(parse(text, MAX_YAML_DEPTH).is_some(), "{text}");
            assert!(super::super::tree::parse("", text, MAX_YAML_DEPTH).is_ok(), "{text}");
        }
        for text in unknown {
            assert!(parse(text, MAX_YAML_DEPTH).is_none(), "{text}");
        }
    }

    #[test]
    fn entries_are_known_and_what_may_be_something_else_is_not() {
        let known =
            ["a: 1 # one\nb:\n  c: x y\n\n# of d\nd:\n", "a:\n- b:\n  c: 2\n- d\ne:\n  - f\n", "'a b': 1\n\"c\": 2\n"];
        let unknown = [
            "",
            "# a\n",
            "a: 1",
            "a\n",
            "- - a\n",
            "-\n  a: 1\n",
            "a: 1\n b: 2\n",
            "a: b: c\n",
            "a: &b c\n",
            "a: !b c\n",
            "a:\tb\n",
        ];
        check(&known, &unknown);
        check(
            &[],
            &[
                "? a\n: b\n",
                "a: b\n  c\n",
                "<<: {a: 1}\n",
                "a:\n  b\n",
                "a: 1\r\n",
                "a: \u{2028}\n",
                "a: *b\n",
                "a: @b\n",
            ],
        );
    }

    #[test]
    fn texts_in_quotes_and_brackets_are_known_where_they_stand_on_one_line() {
        let known = ["a: 'it''s' # b\nb: \"x\\t\\\"y\\\\\"\n", "a: {b: 1, 'c d': [x, \"ü, y\", {e: f}]}\nb: [ ]\n"];
        check(
            &known,
            &[
                "a: 'b\n  c'\n",
                "a: \"\\x41\"\n",
                "a: [b\n  ]\n",
                "a: {b}\n",
                "a: [b: c]\n",
                "a: {\"b\":1}\n",
                "a: [?b]\n",
            ],
        );
    }

    #[test]
    fn block_text_is_known_where_its_first_line_says_how_far_it_is_indented() {
        let known = ["a: |\n  b: 1\n\n   c\n\n# d\ne: |-\n    x\n", "p:\n- |\n  x\n  # y\n- a: |-\n    z\n\n\nb: 1\n"];
        check(
            &known,
            &[
                "a: >\n  b\n",
                "a: |2\n  b\n",
                "a: |\n\n  b\n",
                "a: |\n   b\n  c\n",
                "a: |+\n  b\n",
                "a: |\nb: 1\n",
                "a: |\n  b\n  \n",
            ],
        );
    }

    #[test]
    fn documents_are_known_where_each_holds_something() {
        check(
            &["---\na: 1\n---\nb: 2\n", "# a\n--- # b\na: |\n  x\n---\n- 1\n"],
            &["---\n---\na: 1\n", "a: 1\n---\n", "a: 1\n...\n", "--- a\n"],
        );
    }
}
