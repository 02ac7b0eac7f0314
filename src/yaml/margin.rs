//! Pure. White space and line breaks that our parser passes over and the older readers refuse.
//!
//! For them a tab never indents, not even an empty line or a comment, and three more characters end a line: what looks like the
//! rest of a comment to us may be an entry to them. Such texts are refused. Most files hold neither, which one look settles.
//!
//! Not here: tabs before entries (`older.rs`), which the parser reports with the entry.

use std::collections::BTreeMap;

use super::tree::{Content, Node, Style, Tree};

/// Characters that end a line in YAML 1.1 alone.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
/// Characters before the colon of a key that the older readers look back over.
const MAX_KEY_CHARS: usize = 1024;

const TAB: &str = "a tab cannot indent";
const BREAK: &str = "U+0085, U+2028 and U+2029 end a line for kubectl: write \\N, \\L or \\P in double quotes";
const KEY: &str = "a key stands on one line and has at most 1,024 characters";

/// Returns where the older readers refuse a text that our parser took, as an offset in bytes, and why.
pub(super) fn against(text: &str, tree: &Tree) -> Option<(usize, &'static str)> {
    let (tabs, breaks) = (text.contains('\t'), text.contains(BREAKS));
    let margins = if tabs || breaks { Some(Margins::of(text, tree)) } else { None };
    let tab = margins.as_ref().filter(|_| tabs).and_then(Margins::against_tabs).map(|at| (at, TAB));
    let end = margins.as_ref().filter(|_| breaks).and_then(Margins::against_breaks).map(|at| (at, BREAK));
    let key = || tree.nodes().iter().find_map(|node| against_keys(text, tree, node)).map(|at| (at, KEY));
    tab.or(end).or_else(key)
}

/// Returns the first key of a map in brackets that the older readers lose sight of before its colon.
fn against_keys(text: &str, tree: &Tree, node: &Node) -> Option<usize> {
    let Content::Map(pairs) = &node.content else { return None };
    if node.style != Style::Flow {
        return None;
    }
    pairs.iter().map(|(key, _)| tree.node(*key)).find_map(|key| {
        let written = text.get(key.start.byte..key.end)?;
        let is_asked = text.get(..key.start.byte).is_some_and(|before| before.trim_end().ends_with('?'));
        let has_colon = text.get(key.end..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        let is_lost = written.contains('\n') || written.chars().count() > MAX_KEY_CHARS;
        (is_lost && has_colon && !is_asked).then_some(key.start.byte)
    })
}

/// Offsets where something begins and ends.
type Span = (usize, usize);

/// A text with what stands where in it.
struct Margins<'a> {
    text: &'a str,
    tree: &'a Tree,
    /// Texts in quotes, in order.
    quotes: Vec<Span>,
    /// Outermost maps and lists in brackets, in order.
    brackets: Vec<Span>,
    /// Nodes that are other texts, in order.
    leaves: Vec<usize>,
    /// The map or list that holds a node.
    parents: BTreeMap<usize, usize>,
}

impl<'a> Margins<'a> {
    fn of(text: &'a str, tree: &'a Tree) -> Self {
        let mut margins =
            Self { text, tree, quotes: Vec::new(), brackets: Vec::new(), leaves: Vec::new(), parents: BTreeMap::new() };
        for (index, node) in tree.nodes().iter().enumerate() {
            let span = (node.start.byte, node.end);
            match (node.style, &node.content) {
                (Style::Flow, _) if margins.brackets.last().is_none_or(|(_, end)| span.0 >= *end) => {
                    margins.brackets.push(span);
                }
                (Style::Single | Style::Double, _) => margins.quotes.push(span),
                (Style::Plain | Style::BlockText, Content::Scalar(_)) if span.1 > span.0 => margins.leaves.push(index),
                _ => {}
            }
            match &node.content {
                Content::List(items) => margins.parents.extend(items.iter().map(|item| (*item, index))),
                Content::Map(pairs) => {
                    margins.parents.extend(pairs.iter().flat_map(|(key, value)| [(*key, index), (*value, index)]));
                }
                Content::Scalar(_) | Content::Alias(_) => {}
            }
        }
        margins
    }

    /// Returns the first character that ends a line for the older readers and is not read as itself: outside of quotes, or beside other
    /// white space. U+0085 becomes a blank everywhere.
    fn against_breaks(&self) -> Option<usize> {
        let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let is_kept = |at: usize, c: char| {
            let (before, behind) = (self.text.get(..at), self.text.get(at + c.len_utf8()..));
            let alone =
                !blank(before.and_then(|it| it.chars().next_back())) && !blank(behind.and_then(|it| it.chars().next()));
            c != '\u{85}' && alone && covers(&self.quotes, at)
        };
        self.text.char_indices().find(|(at, c)| BREAKS.contains(c) && !is_kept(*at, *c)).map(|(at, _)| at)
    }

    /// Returns the first tab that indents a line where none may.
    fn against_tabs(&self) -> Option<usize> {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let has_tab = line.get(spaces..).is_some_and(|rest| rest.starts_with('\t'));
            if has_tab && !covers(&self.quotes, start) && !self.may_indent(start, spaces) {
                return Some(start + spaces);
            }
            start += line.len();
        }
        None
    }

    /// Returns whether a tab may stand behind so many blanks at the begin of a line.
    fn may_indent(&self, start: usize, spaces: usize) -> bool {
        // In brackets a tab is a blank; where it would end a plain text the parser refuses it itself.
        if covers(&self.brackets, start) {
            return true;
        }
        let at = start + spaces;
        let last = self.leaves.partition_point(|leaf| self.tree.node(*leaf).start.byte <= at).checked_sub(1);
        let Some(leaf) = last.and_then(|last| self.leaves.get(last)).copied() else { return false };
        let node = self.tree.node(leaf);
        if node.style == Style::BlockText {
            return self.block_indent(leaf, start).is_some_and(|indent| spaces >= indent);
        }
        // Behind a plain text the line may go on with it.
        let goes_on = self.text.get(node.end.min(start)..start).is_some_and(|between| between.trim().is_empty());
        goes_on && self.around(leaf).is_none_or(|indent| spaces > indent)
    }

    /// Returns how far the block around a node is indented; nothing at the top.
    fn around(&self, node: usize) -> Option<usize> {
        let up = |index: &usize| self.parents.get(index).copied();
        let mut above = std::iter::successors(up(&node), up).map(|index| self.tree.node(index));
        let node = above.find(|node| node.style == Style::Block)?;
        let start = node.start.byte;
        // The parser places a list at its dash or behind it.
        let begin = match node.content {
            Content::List(_) if self.text.get(start..)?.starts_with('-') => start,
            Content::List(_) => self.text.get(..start)?.rfind('-')?,
            Content::Map(_) | Content::Scalar(_) | Content::Alias(_) => start,
        };
        Some(self.text.get(..begin)?.rsplit('\n').next()?.chars().count())
    }

    /// Returns how far the text of a block is indented, by its header or its first line with content before an offset.
    fn block_indent(&self, leaf: usize, before: usize) -> Option<usize> {
        let start = self.tree.node(leaf).start.byte;
        // The parser places a block at its header or at its content.
        let header = match self.text.get(start..)?.lines().next().is_some_and(is_header) {
            true => start,
            false => self.text.get(..start)?.rfind(['|', '>'])?,
        };
        let mut lines = self.text.get(header..before)?.lines();
        let header = lines.next()?.split('#').next()?;
        if let Some(digit) = header.chars().find_map(|c| c.to_digit(10)) {
            return Some(self.around(leaf).unwrap_or(0) + usize::try_from(digit).ok()?);
        }
        let content = lines.find(|line| !line.trim_start_matches(' ').is_empty())?;
        Some(content.len() - content.trim_start_matches(' ').len())
    }
}

/// Returns whether a line begins a block of text and holds none of it.
fn is_header(line: &str) -> bool {
    let marks = line.split(" #").next().unwrap_or(line).trim();
    marks.strip_prefix(['|', '>']).is_some_and(|rest| rest.chars().all(|c| matches!(c, '+' | '-' | '1'..='9')))
}

/// Returns whether an offset lies in one of several spans, which are in order.
fn covers(spans: &[Span], at: usize) -> bool {
    let before = spans.partition_point(|(start, _)| *start <= at).checked_sub(1);
    before.and_then(|it| spans.get(it)).is_some_and(|(_, end)| at < *end)
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, load};

    fn check(input: &str, expected: &str) {
        let found = match load("f", input, Dialect::Kube) {
            Ok(loaded) => loaded.documents.first().map(|it| it.value.to_string()).unwrap_or_default(),
            Err(findings) => findings[0].to_string(),
        };
        assert_eq!(found.replace(": Y100: this is no valid YAML", ""), expected, "{input:?}");
    }

    #[test]
    fn a_tab_indents_nothing_outside_of_quotes_and_brackets() {
        check("a:\n  b: c\n\t\n", "f:3:1: a tab cannot indent");
        check("a: b\n\t# c\n", "f:2:1: a tab cannot indent");
        check("a: 'b'\n \t\n", "f:2:2: a tab cannot indent");
        check("a: |\n \tx\n", "f:2:2: a tab cannot indent");
        check("a: |\n  x\n\t\n", "f:3:1: a tab cannot indent");
        check("a: [b\n\t]\n", "f:1:5: while scanning a plain scalar, found a tab");
        check("a:\n- b\n# c\n  \t\n", "f:4:3: a tab cannot indent");
    }

    #[test]
    fn a_tab_may_stand_in_a_text() {
        check("a: b\n \t\n", r#"{"a":"b"}"#);
        check("a: |\n  x\n  \ty\n", r#"{"a":"x\n\ty\n"}"#);
        check("a: |2\n  \tx\n", r#"{"a":"\tx\n"}"#);
        check("a: \"x\n\ty\"\nb: [\n\tc]\n", r#"{"a":"x y","b":["c"]}"#);
        check("- a\n \t\n", r#"["a"]"#);
        check("a:\n- b\n  \t\n", r#"{"a":["b"]}"#);
        check("a:\n  b: |1\n   \tx\n", r#"{"a":{"b":"\tx\n"}}"#);
        check("[a\n\t]\n", r#"["a"]"#);
        check("a: [b,\n\t{c: 1},\n\t]\n", r#"{"a":["b",{"c":1}]}"#);
        check("a: b\t\n", r#"{"a":"b"}"#);
    }

    #[test]
    fn older_line_ends_hide_nothing() {
        let why = "U+0085, U+2028 and U+2029 end a line for kubectl: write \\N, \\L or \\P in double quotes";
        check("a: b # c\u{2028}d: e\n", &format!("f:1:9: {why}"));
        check("a: |\n  b\u{85}c\n", &format!("f:2:4: {why}"));
        check("a: \"b\u{2028} c\"\n", &format!("f:1:6: {why}"));
        check("a: \"b\u{2028}c\"\n", "{\"a\":\"b\u{2028}c\"}");
        check("a: \"b\\Lc\"\n", "{\"a\":\"b\u{2028}c\"}");
    }

    #[test]
    fn a_key_in_brackets_is_found_on_one_line() {
        check("{\"a\\\nb\": v}\n", "f:1:2: a key stands on one line and has at most 1,024 characters");
        check("{? \"a\nb\" : v}\n", r#"{"a b":"v"}"#);
        check("{k: \"a\nb\", c: d}\n", r#"{"k":"a b","c":"d"}"#);
    }
}
