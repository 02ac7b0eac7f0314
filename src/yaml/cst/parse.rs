//! Pure. The parser's events as nodes with their bytes.
//!
//! Not here: which lines and comments belong to an entry (`layout`).

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag};
use serde_json::Value;

use super::super::scalar::{self, Reading};
use super::super::tree::Style;
use super::super::{Dialect, older};
use super::split::is_end_mark;
use super::{Broken, Child, Cst, Kind, Label, Node, NodeId, Source, line_start};
use crate::base::limits::{MAX_YAML_DEPTH, MAX_YAML_NODES};
use crate::base::{Digest, Encoder};

/// Prefix of the tags that YAML itself defines.
const CORE: &str = "tag:yaml.org,2002:";

/// Reads one document into nodes whose children have no lines yet.
pub(super) fn parse(source: Source<'_>) -> Result<Cst, Broken> {
    let mut options =
        granit_parser::options! { flow_nesting_limit: MAX_YAML_DEPTH + 1, block_nesting_limit: MAX_YAML_DEPTH + 1 };
    options.set_emit_comments(false);
    options.emit_anchor_events = true;
    // Most lines bring one node.
    let nodes = Vec::with_capacity(memchr::memchr_iter(b'\n', source.text.as_bytes()).count() + 1);
    let cst = Cst { text: source.text.to_owned(), nodes, root: None, nothing: nothing() };
    let mut growth = Growth { source, cst, open: Vec::new(), roots: 0, count: 0 };
    if source.masked.len() != source.text.len() {
        return Err(Broken { line: 1, column: 1, reason: "the mask does not fit the text".to_owned() });
    }
    // The mark that ends a document stands alone, with what is said behind it.
    let skipped = usize::from(source.masked.lines().next().is_some_and(is_end_mark));
    let mut lines = source.masked.lines().enumerate().skip(skipped);
    if let Some((line, reason)) = lines.find_map(|(number, line)| Some((number + 1, against_line(line)?))) {
        return Err(Broken { line, column: 1, reason: reason.to_owned() });
    }
    for event in Parser::new_from_str_with_options(source.masked, options) {
        let (event, span) = event.map_err(|error| Broken {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            reason: error.info().to_string(),
        })?;
        growth.take(event, &span)?;
    }
    growth.finish()
}

/// Returns why a document with this line is not taken apart, wherever the line stands.
fn against_line(line: &str) -> Option<&'static str> {
    if line.starts_with('%') {
        return Some("a directive");
    }
    // What is added behind its last entry would be another document.
    if is_end_mark(line) {
        return Some("the end of a document is marked");
    }
    let has_return = memchr::memchr(b'\r', line.as_bytes()).is_some();
    has_return.then_some("a carriage return without a newline, which ends a line of YAML and none of a text")
}

/// Returns the content hash of a scalar: its tag, its type and its text.
pub fn hash_of_scalar(tag: &str, value: &Value, text: &str) -> Digest {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) | Value::Array(_) | Value::Object(_) => "text",
    };
    // Every spelling of null is the same null.
    let text = if value.is_null() { "" } else { text };
    Encoder::new().text("scalar").text(tag).text(kind).text(text).digest()
}

/// Returns the content hash of an alias.
pub fn hash_of_alias(name: &str) -> Digest {
    Encoder::new().text("alias").text(name).digest()
}

/// Returns the content hash of a list.
pub fn hash_of_list(items: impl Iterator<Item = Digest>) -> Digest {
    let mut encoder = Encoder::new();
    encoder.text("list");
    for item in items {
        encoder.raw(&item.0);
    }
    encoder.digest()
}

/// Returns the content hash of a map, whatever the order of its keys.
pub fn hash_of_map<'k>(entries: impl Iterator<Item = (&'k str, Digest)>) -> Digest {
    let mut entries: Vec<(&str, Digest)> = entries.collect();
    entries.sort_unstable();
    let mut encoder = Encoder::new();
    encoder.text("map");
    for (key, value) in entries {
        encoder.text(key).raw(&value.0);
    }
    encoder.digest()
}

/// Returns the content hash of a value that is not taken apart.
pub(super) fn hash_of_opaque(text: &str, style: Style) -> Digest {
    // Inside of brackets blanks at the beginning of a line say nothing.
    let lines = text.split('\n').map(|line| if style == Style::Flow { line.trim_start() } else { line });
    Encoder::new().text("opaque").text(&lines.collect::<Vec<_>>().join("\n")).digest()
}

/// Returns what a block text says of which a mask hides a part: its lines as they are written, wherever in the document it stands. Lines
/// that begin left of it stay where they are.
fn hidden_text(own: &str, masked: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let first = masked.lines().skip(1).find(|line| !line.trim().is_empty()).map_or(0, indent);
    let (header, lines) = own.split_once('\n').unwrap_or((own, ""));
    written_text(header, lines.split('\n').map(|line| line.get(first.min(indent(line))..).unwrap_or("")))
}

/// Returns what a block text says of which a mask hides a part, from its lines without their indentation.
pub fn written_text<'a>(header: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let header = header.split_once(" #").map_or(header, |(header, _)| header).trim();
    let lines: Vec<&str> = lines.collect();
    format!("{header}\n{}", lines.join("\n").trim_end())
}

fn nothing() -> Node {
    Node {
        kind: Kind::Scalar,
        style: Style::Plain,
        text: String::new(),
        is_text: false,
        anchor: None,
        span: 0..0,
        column: 0,
        children: Vec::new(),
        hash: hash_of_scalar("", &Value::Null, ""),
    }
}

/// A collection whose end was not seen yet.
struct Open {
    id: NodeId,
    /// Key of a map that waits for its value.
    key: Option<Key>,
    /// Where the next dash is looked for.
    from: usize,
    tag: String,
}

/// A key, which is part of its entry and no node: half of the nodes of most files would be keys.
struct Key {
    text: String,
    span: Range<usize>,
    /// Whether it is a text on its line, without an anchor.
    is_simple: bool,
}

/// A scalar as it is written.
struct Written {
    text: String,
    style: Style,
    span: Range<usize>,
    /// Whether a mask hides a part of it.
    is_hidden: bool,
}

struct Growth<'a> {
    source: Source<'a>,
    cst: Cst,
    open: Vec<Open>,
    roots: usize,
    /// Keys and nodes so far.
    count: usize,
}

impl Growth<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Broken> {
        let start = span.start.byte_offset().unwrap_or(0);
        let end = span.end.byte_offset().unwrap_or(0);
        if self.count >= MAX_YAML_NODES {
            return Err(self.broken(start, "more than 500,000 nodes"));
        }
        let is_node =
            matches!(event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..));
        self.count += usize::from(is_node);
        let holds_nothing = start == end && matches!(event, Event::Scalar(..));
        if is_node && !holds_nothing && !self.in_flow() {
            // Elsewhere in another file such lines say something else, or nothing.
            older::against_indent(self.source.masked, start).map_or(Ok(()), |why| Err(self.broken(start, why)))?;
        }
        match event {
            Event::DocumentStart(..) => {
                self.roots += 1;
                if self.roots > 1 {
                    return Err(self.broken(start, "a second document behind ..."));
                }
            }
            Event::Scalar(text, style, _, tag) => {
                let written = self.written(text.into_owned(), style, start..end);
                if self.awaits_key() {
                    self.key(written, tag.as_deref());
                } else {
                    let node = self.scalar(written, tag.as_deref());
                    self.leaf(node);
                }
            }
            Event::Alias(_) => {
                let name = self.cst.text.get(start + 1..end).unwrap_or("").trim_end().to_owned();
                let hash = hash_of_alias(&name);
                let nothing = self.cst.nothing.clone();
                self.leaf(Node { kind: Kind::Alias, text: name, span: start..end, hash, ..nothing });
            }
            Event::Anchor(_, name) => self.anchor(name.into_owned()),
            Event::SequenceStart(style, _, tag) => self.branch(Kind::Seq, style, start, tag.as_deref()),
            Event::MappingStart(style, _, tag) => self.branch(Kind::Map, style, start, tag.as_deref()),
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            // The rest is presentation; the parser may grow more of it.
            _ => {}
        }
        Ok(())
    }

    fn broken(&self, byte: usize, reason: &str) -> Broken {
        let line = self.cst.text.get(..byte).map_or(1, |before| before.matches('\n').count() + 1);
        Broken { line, column: 1, reason: reason.to_owned() }
    }

    /// Returns a scalar as it is written.
    fn written(&self, text: String, style: ScalarStyle, span: Range<usize>) -> Written {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockText,
        };
        // Block text is reported without its header.
        let span = if style == Style::BlockText { self.value_start().min(span.start)..span.end } else { span };
        let written = self.cst.text.get(span.clone()).unwrap_or("");
        if written.is_empty() {
            // An absent scalar arrives as a tilde of no width.
            return Written { text: String::new(), style: Style::Plain, span, is_hidden: false };
        }
        let end = match style {
            Style::BlockText if is_kept(written) => span.start + whole_lines(written).len(),
            Style::BlockText if ends_in_blanks(&text) => {
                let is_last = span.end == self.cst.text.len();
                span.start + if is_last { written } else { whole_lines(written) }.len()
            }
            _ => span.start + written.trim_end().len(),
        };
        let span = span.start..end;
        // What a mask hides is known by its own bytes.
        let masked = self.source.masked.get(span.clone()).unwrap_or("");
        let own = self.cst.text.get(span.clone()).unwrap_or("");
        let is_hidden = masked != own;
        let text = match (is_hidden, style) {
            (false, _) => text,
            (true, Style::BlockText) => hidden_text(own, masked),
            // Where lines of such a text begin says nothing.
            (true, _) => own.lines().map(str::trim).collect::<Vec<_>>().join("\n"),
        };
        Written { text, style, span, is_hidden }
    }

    fn scalar(&self, written: Written, tag: Option<&Tag>) -> Node {
        let Written { text, style, span, is_hidden } = written;
        let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix())).unwrap_or_default();
        if span.is_empty() {
            return Node { hash: hash_of_scalar(&tag, &Value::Null, ""), span, ..self.cst.nothing.clone() };
        }
        let core = tag.strip_prefix(CORE);
        let is_text = is_hidden || style != Style::Plain || matches!(core, Some("str" | "binary"));
        // The text itself says what a text means.
        let value = if is_text { Value::String(String::new()) } else { bare_meaning(&text) };
        let hash = hash_of_scalar(&tag, &value, &text);
        Node { style, text, is_text: value.is_string(), span, hash, ..self.cst.nothing.clone() }
    }

    /// Returns whether the innermost open node is in brackets.
    fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|open| self.cst.node(open.id).style == Style::Flow)
    }

    /// Returns whether the next scalar is the key of a map.
    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.key.is_none() && self.cst.node(open.id).kind != Kind::Seq)
    }

    /// Takes a key. One with a tag is none that an entry can be told by.
    fn key(&mut self, written: Written, tag: Option<&Tag>) {
        let Written { text, style, mut span, is_hidden: _ } = written;
        if span.is_empty() && !self.in_flow() {
            // A key that is not there is told where the next thing begins; it stands right behind its question mark.
            let masked = self.source.masked;
            let mark = skip_trivia(masked, self.open.last().map_or(0, |open| open.from));
            let at = mark + usize::from(masked.get(mark..).is_some_and(|rest| rest.starts_with('?')));
            if skip_trivia(masked, at) >= span.start {
                span = at..at;
            }
        }
        if let Some(open) = self.open.last_mut() {
            open.from = open.from.max(span.end);
            open.key = Some(Key { text, span, is_simple: style != Style::BlockText && tag.is_none() });
        }
    }

    /// Returns where the value at hand begins, behind its colon or dash, its tag and its anchor.
    fn value_start(&self) -> usize {
        let masked = self.source.masked;
        let head = match self.open.last() {
            None if masked.starts_with("---") => 3,
            None => 0,
            Some(Open { key: Some(key), .. }) => {
                let end = key.span.end;
                end + masked.get(end..).and_then(|rest| rest.find(':')).map_or(0, |colon| colon + 1)
            }
            Some(open) => skip_trivia(masked, open.from) + 1,
        };
        let mut at = skip_trivia(masked, head);
        while let Some(rest) = masked.get(at..).filter(|rest| rest.starts_with(['&', '!'])) {
            at = skip_trivia(masked, at + rest.find(char::is_whitespace).unwrap_or(rest.len()));
        }
        at
    }

    fn leaf(&mut self, node: Node) {
        let id = self.cst.nodes.len();
        let end = node.span.end;
        self.cst.nodes.push(node);
        self.hang(id, end);
    }

    /// An anchor's event follows its node or key.
    fn anchor(&mut self, name: String) {
        if let Some(key) = self.open.last_mut().and_then(|open| open.key.as_mut()) {
            key.is_simple = false;
            // So that the anchor is not forgotten.
            self.cst.nodes.push(Node { anchor: Some(name), ..self.cst.nothing.clone() });
        } else if let Some(node) = self.cst.nodes.last_mut() {
            node.anchor = Some(name);
        }
    }

    fn branch(&mut self, kind: Kind, style: StructureStyle, start: usize, tag: Option<&Tag>) {
        let style = match style {
            StructureStyle::Block => Style::Block,
            StructureStyle::Flow => Style::Flow,
        };
        // A list at the indentation of its key is reported behind its first dash.
        let start = if style == Style::Block && kind == Kind::Seq { self.value_start() } else { start };
        let id = self.cst.nodes.len();
        let nothing = self.cst.nothing.clone();
        self.cst.nodes.push(Node { kind, style, span: start..start, ..nothing });
        let from = if style == Style::Flow { start + 1 } else { start };
        let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix())).unwrap_or_default();
        self.open.push(Open { id, key: None, from, tag });
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let last = open.from;
        let text = self.source.text;
        let cst = &mut self.cst;
        let hashes: Vec<Digest> = cst.node(open.id).children.iter().map(|child| cst.node(child.value).hash).collect();
        let Some(node) = cst.nodes.get_mut(open.id) else { return };
        let bracket = text.get(node.span.start..).and_then(|rest| rest.chars().next());
        let odd = node.style == Style::Flow && !matches!(bracket, Some('{' | '['));
        // Without a bracket it ends where its value does; the parser says where the next thing begins.
        let end = if node.style == Style::Flow && !odd { end } else { last };
        node.span.end = end.max(node.span.start);
        if odd || !matches!(open.tag.strip_prefix(CORE), Some("map" | "seq")) && !open.tag.is_empty() {
            node.kind = Kind::Opaque;
        }
        node.hash = match node.kind {
            Kind::Map => hash_of_map(
                node.children.iter().zip(hashes).map(|(child, hash)| (child.label.key().unwrap_or(""), hash)),
            ),
            Kind::Seq => hash_of_list(hashes.into_iter()),
            Kind::Opaque | Kind::Scalar | Kind::Alias | Kind::Block => {
                hash_of_opaque(text.get(node.span.clone()).unwrap_or(""), node.style)
            }
        };
        if node.kind == Kind::Opaque {
            node.children.clear();
        }
        let end = node.span.end;
        self.hang(open.id, end);
    }

    /// Gives a finished node to the collection that it stands in.
    fn hang(&mut self, id: NodeId, end: usize) {
        let Some(open) = self.open.last_mut() else {
            self.cst.root.get_or_insert(id);
            return;
        };
        let parent = open.id;
        match self.cst.node(parent).kind {
            Kind::Seq => {
                let start = open.from;
                open.from = open.from.max(end);
                self.item(parent, id, start);
            }
            Kind::Map | Kind::Opaque | Kind::Scalar | Kind::Alias | Kind::Block => match open.key.take() {
                None => {
                    let node = self.cst.node(id);
                    open.key = Some(Key { text: node.text.clone(), span: node.span.clone(), is_simple: false });
                    open.from = open.from.max(end);
                }
                Some(key) => self.entry(parent, key, id),
            },
        }
    }

    fn item(&mut self, parent: NodeId, id: NodeId, from: usize) {
        let masked = self.source.masked;
        let is_block = self.cst.node(parent).style == Style::Block;
        let span = self.cst.node(id).span.clone();
        let (start, head) = if is_block {
            let dash = skip_trivia(masked, from);
            if !masked.get(dash..).is_some_and(|rest| rest.starts_with('-')) {
                self.spoil(parent);
            }
            (dash, dash + 1)
        } else {
            let start = skip_trivia(masked, from.min(span.start));
            let start = if masked.get(start..).is_some_and(|rest| rest.starts_with(',')) {
                skip_trivia(masked, start + 1)
            } else {
                start
            };
            (start.min(span.start), start.min(span.start))
        };
        self.add(parent, Child { label: Label::Item, value: id, start, head, own: start..span.end, gap: 0..0 });
        self.with_marks(id, head);
        self.reach(head);
    }

    fn entry(&mut self, parent: NodeId, key: Key, id: NodeId) {
        let masked = self.source.masked;
        let Key { text, span, is_simple } = key;
        let rest = masked.get(span.end..).unwrap_or("");
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let colon = span.end + blank;
        let is_plain = masked.get(colon..).is_some_and(|rest| rest.starts_with(':'));
        if !is_simple || span.is_empty() || !is_plain || masked.get(span.clone()).is_some_and(|key| key.contains('\n'))
        {
            self.spoil(parent);
        }
        let absent = Some(self.cst.node(id)).filter(|node| node.is_absent()).map(|node| node.span.start);
        // Behind a key that a question mark begins the colon may stand on a line of its own.
        let later = skip_trivia(masked, span.end);
        let column = |at: usize| at - line_start(masked, at);
        let is_later = masked.get(later..).is_some_and(|rest| rest.starts_with(':'))
            && column(later) >= column(self.cst.node(parent).span.start);
        let head = match absent {
            _ if is_plain => colon + 1,
            Some(told) if is_later && told >= later => later + 1,
            Some(_) | None => span.end,
        };
        // Such a key may have no value, which is then told where the next line begins.
        let is_alone = !is_plain && absent.is_some();
        let end = if is_alone { head } else { self.cst.node(id).span.end.max(head) };
        let own = span.start..end;
        self.add(parent, Child { label: Label::Key(text), value: id, start: span.start, head, own, gap: 0..0 });
        self.with_marks(id, head);
        self.reach(end);
    }

    fn reach(&mut self, byte: usize) {
        if let Some(open) = self.open.last_mut() {
            open.from = open.from.max(byte);
        }
    }

    /// Lets a value's span begin at its tag or anchor, and an absent value stand right behind its colon or dash.
    fn with_marks(&mut self, id: NodeId, head: usize) {
        let masked = self.source.masked;
        let Some(node) = self.cst.nodes.get_mut(id) else { return };
        if node.is_absent() && node.anchor.is_none() {
            let is_written = masked.get(head..node.span.start).is_some_and(|between| between.contains(['!', '&']));
            node.span = if is_written { skip_trivia(masked, head)..node.span.start } else { head..head };
            return;
        }
        let between = masked.get(head..node.span.start).unwrap_or("");
        let blank = between.len() - between.trim_start_matches([' ', '\t']).len();
        if between.get(blank..).is_some_and(|rest| rest.starts_with(['!', '&'])) && !node.is_block() {
            node.span.start = head + blank;
        }
    }

    fn add(&mut self, parent: NodeId, child: Child) {
        if let Some(node) = self.cst.nodes.get_mut(parent) {
            node.children.push(child);
        }
    }

    fn spoil(&mut self, parent: NodeId) {
        if let Some(node) = self.cst.nodes.get_mut(parent) {
            node.kind = Kind::Opaque;
        }
    }

    fn finish(mut self) -> Result<Cst, Broken> {
        // A document without content has an absent scalar for a root.
        if self.cst.root.is_some_and(|root| self.cst.node(root).is_absent()) {
            self.cst.root = None;
        }
        if let Some(root) = self.cst.root {
            let node = self.cst.node(root);
            if node.is_block() && node.anchor.is_some() {
                return Err(self.broken(0, "an anchor on the whole document"));
            }
        }
        Ok(self.cst)
    }
}

/// Returns what a plain scalar means to kubectl.
pub(super) fn meaning(text: &str) -> Value {
    match bare_meaning(text) {
        Value::String(_) => Value::from(text),
        other => other,
    }
}

/// Returns the same, with an empty text for every text: most scalars are one, and who asks has it.
fn bare_meaning(text: &str) -> Value {
    match scalar::read(text, Dialect::Kube) {
        Reading::Null => Value::Null,
        Reading::Bool(flag) => Value::Bool(flag),
        Reading::Number(number) => Value::Number(scalar::as_json(number)),
        Reading::NotFinite | Reading::Time(_) | Reading::Text => Value::String(String::new()),
    }
}

/// Returns whether a block text keeps the blank lines at its end.
fn is_kept(written: &str) -> bool {
    let header = written.lines().next().unwrap_or("");
    let header = header.split('#').next().unwrap_or("");
    header.trim_start_matches(['|', '>']).trim().contains('+')
}

/// Returns whether the last line of a text holds blanks and nothing else: they say something.
fn ends_in_blanks(text: &str) -> bool {
    let last = text.trim_end_matches('\n').rsplit('\n').next().unwrap_or("");
    !last.is_empty() && last.trim().is_empty()
}

/// Returns a block text without the indentation of the line behind it, which is told with a text that is empty.
fn whole_lines(written: &str) -> &str {
    match written.rsplit_once('\n') {
        Some((lines, rest)) if rest.trim().is_empty() => written.get(..=lines.len()).unwrap_or(written),
        Some(_) | None => written,
    }
}

/// Returns the next byte that is neither blank nor part of a comment.
fn skip_trivia(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with('#') {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}
