//! Pure. The parser's events as a tree with places, measured while it grows so that hostile input is refused early.
//!
//! Not here: what scalars mean (`scalar.rs`), aliases and merge keys (`build.rs`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::{margin, older, quick};
use crate::base::limits::{MAX_YAML_DOCUMENTS, MAX_YAML_NODES};
use crate::model::Diagnostic;

/// Length of one scalar in bytes.
pub(super) const MAX_SCALAR_BYTES: usize = 1024 * 1024;
/// How often a text is parsed anew because a sign in it means less to the older readers; nearly all texts need one pass.
const MAX_PASSES: usize = 16;

/// Bytes of a text up to which a build with debug assertions reads it twice: what a large one takes in memory would double.
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// A place in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    /// Offset in bytes.
    pub(super) byte: usize,
    /// Line from 1.
    pub(super) line: usize,
    /// Column from 1, in characters.
    pub(super) column: usize,
}

/// How a node is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
    /// `|` or `>`.
    BlockText,
    /// A map or list by indentation.
    Block,
    /// A map or list in brackets.
    Flow,
}

/// What a node holds. Children are indexes into the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// A scalar's text.
    Scalar(String),
    /// A list's items.
    List(Vec<usize>),
    /// A map's keys and values.
    Map(Vec<(usize, usize)>),
    /// The node that an alias stands for.
    Alias(usize),
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) style: Style,
    /// The tag with its prefix spelled out; nothing when the author wrote none.
    pub(super) tag: Option<String>,
    pub(super) start: Place,
    /// Offset in bytes behind the last character of the node or of its last descendant.
    pub(super) end: usize,
    /// Nodes in it with aliases expanded.
    weight: usize,
    /// Levels in it with aliases expanded.
    height: usize,
    /// Whether its end was seen; an alias to an open node would contain itself.
    closed: bool,
}

/// All documents of a text.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// One root for each document, empty ones included.
    pub(super) roots: Vec<usize>,
    nothing: Node,
}

impl Tree {
    /// Returns a node; a foreign index reads as null.
    pub(super) fn node(&self, index: usize) -> &Node {
        self.nodes.get(index).unwrap_or(&self.nothing)
    }

    /// Returns all nodes in the order in which they begin.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a tree without documents.
    pub(super) fn empty() -> Self {
        Self { nodes: Vec::new(), roots: Vec::new(), nothing: nothing() }
    }

    /// Adds a text, or a map or list that is to be closed, without a tag; nothing where there are too many nodes.
    pub(super) fn add(&mut self, content: Content, style: Style, start: Place, end: usize) -> Option<usize> {
        let index = self.nodes.len();
        let closed = matches!(content, Content::Scalar(_));
        self.nodes.push(Node { content, style, start, end, closed, ..nothing() });
        (index < MAX_YAML_NODES).then_some(index)
    }

    /// Gives a map or list its children; `end` is where its bracket closes, if it has one.
    pub(super) fn close(&mut self, index: usize, children: Vec<usize>, end: usize) {
        let (mut weight, mut height, mut last) = (1_usize, 0, 0);
        for child in &children {
            let node = self.node(*child);
            weight = weight.saturating_add(node.weight);
            height = height.max(node.height);
            last = last.max(node.end);
        }
        let Some(node) = self.nodes.get_mut(index) else { return };
        node.weight = weight;
        node.height = height + 1;
        node.closed = true;
        node.end = if node.style == Style::Flow { end } else { last.max(node.start.byte) };
        match &mut node.content {
            Content::List(items) => {
                *items = children;
                items.shrink_to_fit();
            }
            Content::Map(pairs) => {
                pairs.reserve_exact(children.len() / 2);
                let mut rest = children.into_iter();
                while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
                    pairs.push((key, value));
                }
            }
            Content::Scalar(_) | Content::Alias(_) => {}
        }
    }
}

/// Parses a text into a tree, or says at which place and why not.
pub(super) fn parse(file: &str, text: &str, max_depth: usize) -> Result<Tree, Box<Diagnostic>> {
    let Some(tree) = quick::parse(text, max_depth) else { return strictly(file, text, max_depth) };
    if text.len() <= MAX_COMPARED_BYTES {
        debug_assert_eq!(strictly(file, text, max_depth).as_ref().ok(), Some(&tree), "{text}");
    }
    Ok(tree)
}

/// Parses a text with a parser that knows all of YAML.
fn strictly(file: &str, text: &str, max_depth: usize) -> Result<Tree, Box<Diagnostic>> {
    if let Some((line, why)) = older::against_begin(text) {
        return Err(Box::new(invalid(file, Place { byte: 0, line, column: 1 }, why)));
    }
    let mut signs = BTreeSet::new();
    let mut first = None;
    for _ in 0..MAX_PASSES {
        let mut growth = Growth {
            file,
            text,
            max_depth,
            signs: &signs,
            restored: BTreeSet::new(),
            further: BTreeSet::new(),
            behind: 0,
            tree: Tree::empty(),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            total: 0,
        };
        let outcome = growth.run();
        let mut further = std::mem::take(&mut growth.further);
        match outcome {
            Ok(()) if further.is_empty() && growth.shows_nothing_else() => {
                return match margin::against(text, &growth.tree) {
                    None => Ok(growth.tree),
                    Some((at, why)) => Err(Box::new(invalid(file, place_of(text, at), why))),
                };
            }
            Ok(()) => {}
            Err(Stop::Refused(why)) => return Err(why),
            Err(Stop::Syntax(why, place)) => {
                further.extend(older::sign_near(text, place, &signs));
                further.extend(older::tabs_of(text, place, &signs));
                further.extend(older::quotes_near(text, place, &signs));
                first.get_or_insert(why);
            }
        }
        if further.is_empty() {
            break;
        }
        signs.extend(further);
    }
    let tangled = || Box::new(invalid(file, Place { byte: 0, line: 1, column: 1 }, "texts in brackets want quotes"));
    Err(first.unwrap_or_else(tangled))
}

/// Why a text is read no further.
enum Stop {
    /// It breaks a rule or a limit.
    Refused(Box<Diagnostic>),
    /// The parser gave up at an offset.
    Syntax(Box<Diagnostic>, usize),
}

fn nothing() -> Node {
    Node {
        content: Content::Scalar(String::new()),
        style: Style::Plain,
        tag: None,
        start: Place::default(),
        end: 0,
        weight: 1,
        height: 1,
        closed: true,
    }
}

struct Growth<'a> {
    file: &'a str,
    text: &'a str,
    max_depth: usize,
    /// Offsets of signs that the parser is shown as letters, those met at the end of a text, and those found to be needed.
    signs: &'a BTreeSet<usize>,
    restored: BTreeSet<usize>,
    further: BTreeSet<usize>,
    /// Offset behind the event before.
    behind: usize,
    tree: Tree,
    /// Open maps and lists with the children seen so far.
    open: Vec<(usize, Vec<usize>)>,
    anchors: BTreeMap<usize, usize>,
    /// Nodes of the whole text with aliases expanded.
    total: usize,
}

impl Growth<'_> {
    /// Takes all events of the text.
    fn run(&mut self) -> Result<(), Stop> {
        let nesting = self.max_depth + 1;
        let mut options = granit_parser::options! { flow_nesting_limit: nesting, block_nesting_limit: nesting };
        options.set_emit_comments(false);
        let shown = match self.signs.is_empty() {
            true => Cow::Borrowed(self.text),
            false => Cow::Owned(older::shown(self.text, self.signs)),
        };
        for event in Parser::new_from_str_with_options(&shown, options) {
            let (event, span) = event.map_err(|error| {
                let place = error.marker().byte_offset().unwrap_or(0);
                Stop::Syntax(Box::new(syntax(self.file, self.text, self.max_depth, &error)), place)
            })?;
            self.take(event, &span).map_err(Stop::Refused)?;
        }
        Ok(())
    }

    /// Returns whether every sign that the parser was shown otherwise is at its end of a text, or is a tab in brackets or quotes.
    fn shows_nothing_else(&self) -> bool {
        let mut brackets: Vec<(usize, usize)> = Vec::new();
        let in_signs = |node: &&Node| matches!(node.style, Style::Flow | Style::Single | Style::Double);
        for node in self.tree.nodes.iter().filter(in_signs) {
            if brackets.last().is_none_or(|(_, end)| node.start.byte >= *end) {
                brackets.push((node.start.byte, node.end));
            }
        }
        let in_brackets = |at: usize| {
            let before = brackets.partition_point(|(start, _)| *start < at).checked_sub(1);
            before.and_then(|it| brackets.get(it)).is_some_and(|(_, end)| at < *end)
        };
        let is_tab = |at: usize| self.text.as_bytes().get(at) == Some(&b'\t');
        self.signs.iter().all(|at| if is_tab(*at) { in_brackets(*at) } else { self.restored.contains(at) })
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Box<Diagnostic>> {
        let start = place(span);
        self.check_place(&event, span)?;
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Scalar(value, ScalarStyle::Plain, 0, None) if self.in_flow() && is_asked(&value) => {
                self.asked_key(value.into_owned(), span)
            }
            Event::Scalar(value, style, anchor, tag) => {
                let node = Node {
                    content: Content::Scalar(self.scalar_text(value.into_owned(), style, span)),
                    style: scalar_style(style),
                    tag: tag.as_deref().map(full_tag),
                    start,
                    end: end(span),
                    ..nothing()
                };
                self.leaf(node, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::SequenceStart(style, anchor, tag) => {
                self.branch(Content::List(Vec::new()), style, tag.as_deref().map(full_tag), (start, anchor))
            }
            Event::MappingStart(style, anchor, tag) => {
                self.branch(Content::Map(Vec::new()), style, tag.as_deref().map(full_tag), (start, anchor))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(span);
                Ok(())
            }
            // The rest is presentation; the parser may grow more of it.
            _ => Ok(()),
        }
    }

    /// Returns whether the innermost open node is in brackets.
    fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|(index, _)| self.tree.node(*index).style == Style::Flow)
    }

    /// Takes a text in brackets with a question mark right before it: to the older readers it is a key.
    fn asked_key(&mut self, value: String, span: &Span) -> Result<(), Box<Diagnostic>> {
        let start = place(span);
        let (is_list, count) = match self.open.last() {
            Some((index, children)) => (matches!(self.tree.node(*index).content, Content::List(_)), children.len()),
            None => (false, 0),
        };
        if !is_list && count % 2 == 1 {
            return Err(Box::new(invalid(self.file, start, "a text in brackets cannot hold a question mark")));
        }
        if is_list {
            self.branch(Content::Map(Vec::new()), StructureStyle::Flow, None, (start, 0))?;
        }
        let text = self.scalar_text(value, ScalarStyle::Plain, span).trim_start_matches('?').to_owned();
        self.leaf(Node { content: Content::Scalar(text), start, end: end(span), ..nothing() }, 0)?;
        if is_list {
            self.leaf(Node { start, ..nothing() }, 0)?;
            self.close(span);
        }
        Ok(())
    }

    /// Refuses what the older readers refuse at a node.
    fn check_place(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Box<Diagnostic>> {
        let start = place(span);
        let in_flow = self.in_flow();
        let written = self.text.get(start.byte..end(span)).unwrap_or("");
        let (anchor, tag, holds_nothing, objection) = match event {
            Event::Scalar(_, ScalarStyle::Plain, anchor, tag) => {
                let marked = (*anchor > 0 || tag.is_some()) && is_asked(written);
                let objection = older::against_plain(written)
                    .or(marked.then_some("nothing may stand before a question mark"))
                    .filter(|_| in_flow);
                (*anchor, tag.is_some(), written.is_empty(), objection)
            }
            Event::Scalar(_, ScalarStyle::DoubleQuoted, anchor, tag) => {
                (*anchor, tag.is_some(), false, older::against_double_quoted(written))
            }
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some(), false, None),
            Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => {
                (*anchor, tag.is_some(), false, None)
            }
            Event::Alias(_) => (0, false, false, older::against_name(written.strip_prefix('*').unwrap_or("a"))),
            _ => return Ok(()),
        };
        let before = self.text.get(self.behind..start.byte).unwrap_or("");
        let objection = objection
            .or_else(|| older::against_tag(self.text, start.byte, end(span)).filter(|_| tag))
            .or_else(|| older::against_anchor(before).filter(|_| anchor > 0))
            .or_else(|| if in_flow || holds_nothing { None } else { older::against_indent(self.text, start.byte) });
        self.behind = end(span);
        objection.map_or(Ok(()), |why| Err(Box::new(invalid(self.file, start, why))))
    }

    /// Corrects the parser: it ends every block text with a newline, also where the file ends without one.
    fn scalar_text(&mut self, mut value: String, style: ScalarStyle, span: &Span) -> String {
        if style == ScalarStyle::DoubleQuoted {
            return self.quoted_text(value, span);
        }
        if value.is_empty() || style == ScalarStyle::Plain && span.byte_range().is_some_and(|range| range.is_empty()) {
            // An absent scalar arrives as a tilde of no width.
            return String::new();
        }
        if style == ScalarStyle::Plain {
            return self.plain_text(value, end(span));
        }
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if block && end(span) == self.text.len() && value.ends_with('\n') {
            let last_line = self.text.rsplit('\n').next().unwrap_or("").trim_start_matches(' ');
            if !last_line.is_empty() && value.trim_end_matches('\n').ends_with(last_line) {
                value.pop();
            }
        }
        value
    }

    /// Gives a text in double quotes its single quotes back, which our parser wants without a backslash.
    fn quoted_text(&mut self, value: String, span: &Span) -> String {
        let signs: Vec<usize> = self.signs.range(place(span).byte..end(span)).copied().collect();
        let is_quote = |at: &&usize| self.text.as_bytes().get(**at) == Some(&b'\'');
        let quotes: Vec<usize> = signs.iter().filter(is_quote).copied().collect();
        if quotes.is_empty() {
            return value;
        }
        self.restored.extend(quotes);
        value.replace(older::STAND_IN_QUOTE, "'")
    }

    /// Gives a plain text in brackets the sign back at its end, or notes that it wants one.
    fn plain_text(&mut self, mut value: String, end: usize) -> String {
        if !self.in_flow() {
            return value;
        }
        let last = end.saturating_sub(1);
        if self.signs.contains(&last) {
            value.pop();
            value.extend(self.text.get(last..end));
            self.restored.insert(last);
        }
        self.further.extend(older::colon_behind(self.text, end));
        value
    }

    fn leaf(&mut self, node: Node, anchor: usize) -> Result<(), Box<Diagnostic>> {
        if let Content::Scalar(text) = &node.content
            && text.len() > MAX_SCALAR_BYTES
        {
            return Err(self.limit(node.start, "one text is longer than 1 MiB"));
        }
        let (weight, height, start) = (node.weight, node.height, node.start);
        let index = self.add(node, anchor);
        self.measure(weight, height, start)?;
        self.hang(index);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<(), Box<Diagnostic>> {
        let start = place(span);
        let refuse =
            |message: &str| Box::new(Diagnostic::error("Y109", self.file, start.line, message).at(start.column, ""));
        let target = *self.anchors.get(&anchor).ok_or_else(|| refuse("the alias names no anchor of this document"))?;
        let (weight, height, closed) = {
            let node = self.tree.node(target);
            (node.weight, node.height, node.closed)
        };
        if !closed {
            return Err(refuse("the alias stands inside the node that it repeats"));
        }
        let node = Node { content: Content::Alias(target), start, end: end(span), weight, height, ..nothing() };
        self.leaf(node, 0)
    }

    fn branch(
        &mut self,
        content: Content,
        style: StructureStyle,
        tag: Option<String>,
        (start, anchor): (Place, usize),
    ) -> Result<(), Box<Diagnostic>> {
        let style = match style {
            StructureStyle::Block => Style::Block,
            StructureStyle::Flow => Style::Flow,
        };
        let node = Node { content, style, tag, start, end: start.byte, closed: false, ..nothing() };
        self.measure(1, 1, start)?;
        let index = self.add(node, anchor);
        self.open.push((index, Vec::new()));
        Ok(())
    }

    fn close(&mut self, span: &Span) {
        let Some((index, children)) = self.open.pop() else { return };
        self.tree.close(index, children, end(span));
        self.hang(index);
    }

    fn add(&mut self, node: Node, anchor: usize) -> usize {
        let index = self.tree.nodes.len();
        self.tree.nodes.push(node);
        if anchor > 0 {
            self.anchors.insert(anchor, index);
        }
        index
    }

    fn hang(&mut self, index: usize) {
        match self.open.last_mut() {
            Some((_, children)) => children.push(index),
            None => self.tree.roots.push(index),
        }
    }

    fn measure(&mut self, weight: usize, height: usize, start: Place) -> Result<(), Box<Diagnostic>> {
        self.total = self.total.saturating_add(weight);
        if self.total > MAX_YAML_NODES {
            return Err(self.limit(start, "more than 500,000 nodes once aliases are expanded"));
        }
        if self.open.len() + height > self.max_depth {
            return Err(self.limit(start, &format!("nested deeper than {} levels", self.max_depth)));
        }
        if self.tree.roots.len() >= MAX_YAML_DOCUMENTS {
            return Err(self.limit(start, "more than 1,000 documents"));
        }
        Ok(())
    }

    fn limit(&self, start: Place, what: &str) -> Box<Diagnostic> {
        let message = format!("the file is refused: {what}");
        Box::new(Diagnostic::error("Y120", self.file, start.line, message).at(start.column, ""))
    }
}

/// Returns the place of an offset.
fn place_of(text: &str, byte: usize) -> Place {
    let before = text.get(..byte).unwrap_or("");
    let line = before.rsplit('\n').next().unwrap_or("");
    Place { byte, line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

fn place(span: &Span) -> Place {
    Place { byte: span.start.byte_offset().unwrap_or(0), line: span.start.line(), column: span.start.col() + 1 }
}

fn end(span: &Span) -> usize {
    span.end.byte_offset().unwrap_or(0)
}

fn full_tag(tag: &Tag) -> String {
    format!("{}{}", tag.handle(), tag.suffix())
}

fn scalar_style(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockText,
    }
}

/// Returns whether a question mark stands right before a plain text.
fn is_asked(text: &str) -> bool {
    text.len() > 1 && text.starts_with('?')
}

/// Returns the finding that a text is refused at a place.
fn invalid(file: &str, place: Place, why: &str) -> Diagnostic {
    Diagnostic::error("Y100", file, place.line, format!("this is no valid YAML: {why}")).at(place.column, "")
}

/// Says a syntax error in plain words. The text itself is never quoted, since secrets are read here too.
fn syntax(file: &str, text: &str, max_depth: usize, error: &ScanError) -> Diagnostic {
    let (line, column) = (error.marker().line(), error.marker().col() + 1);
    let reason = error.info();
    if reason.contains("nesting") || reason.contains("recursion") {
        let message = format!("the file is refused: nested deeper than {max_depth} levels");
        return Diagnostic::error("Y120", file, line, message).at(column, "");
    }
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let diagnostic = invalid(file, Place { byte: 0, line, column }, &reason);
    if source.contains("{{") {
        diagnostic.with_hint("put quotes around a text that holds {{ … }}")
    } else if source.trim_start_matches(' ').starts_with('\t') {
        diagnostic.with_hint("indent with spaces, YAML allows no tabs there")
    } else if reason.contains("mapping values") {
        diagnostic.with_hint("put quotes around a text that holds a colon followed by a blank")
    } else {
        diagnostic
    }
}
