//! Pure. One entry of one side with the bytes that belong to it.
//!
//! Not here: what becomes of it (`structure`).

use serde_json::Value;

use super::piece::{reindent, reindent_rest};
use crate::base::Digest;
use crate::yaml::cst::{self, Child, Cst, Kind, Label, Node, Style, hash_of_block, hash_of_line, line_start};
use crate::yaml::write_flow;

/// An entry of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) cst: &'a Cst,
    pub(super) child: &'a Child,
}

impl<'a> Part<'a> {
    /// Returns all entries of a collection.
    pub(super) fn all(cst: &'a Cst, node: &'a Node) -> Vec<Self> {
        node.children.iter().map(|child| Self { cst, child }).collect()
    }

    /// Returns whether the entry is a line that is no YAML, or a block of such lines.
    pub(super) fn is_control(self) -> bool {
        self.child.label.words().is_some()
    }

    /// Returns whether the entry is a whole block of a template.
    pub(super) fn is_block(self) -> bool {
        matches!(self.child.label, Label::Block(_))
    }

    /// Returns what the line says that is no YAML, or the one that opens the block.
    pub(super) fn words(self) -> Option<&'a str> {
        self.child.label.words()
    }

    /// Returns the value; of a line that is no YAML an empty one.
    pub(super) fn node(self) -> &'a Node {
        self.cst.node(self.child.value)
    }

    /// Returns the content of the entry.
    pub(super) fn hash(self) -> Digest {
        match self.words().filter(|_| !matches!(self.child.label, Label::Block(_) | Label::Arm(_))) {
            Some(words) => hash_of_line(words),
            None => self.node().hash,
        }
    }

    /// Returns the key of a map's entry.
    pub(super) fn key(self) -> Option<&'a str> {
        self.child.label.key()
    }

    /// Returns the name of the entry in the content of its collection.
    pub(super) fn name(self) -> String {
        match (self.words(), self.key()) {
            (Some(words), _) => format!("!{words}"),
            (None, key) => key.unwrap_or_default().to_owned(),
        }
    }

    /// Returns the column of the key or dash.
    pub(super) fn column(self) -> usize {
        let start = self.child.start;
        match self.is_control() {
            true => 0,
            false => start - line_start(self.cst.text(), start),
        }
    }

    /// Returns whether the entry stands in brackets.
    pub(super) fn is_inline(self) -> bool {
        !self.cst.slice(&self.child.own).ends_with('\n')
    }

    /// Returns whether the entry begins behind the dash or mark of its collection.
    fn is_compact(self) -> bool {
        self.child.own.start > line_start(self.cst.text(), self.child.own.start)
    }

    /// Returns whether the entry is `key: value` as an item in brackets, which would be a map like others in lines.
    pub(super) fn is_bare_pair(self) -> bool {
        let node = self.node();
        node.kind == Kind::Opaque && self.is_inline() && !self.cst.slice(&node.span).starts_with(['{', '['])
    }

    /// Returns the entry as whole lines at a column.
    pub(super) fn lines(self, column: usize) -> String {
        let own = self.cst.slice(&self.child.own);
        if self.is_block() {
            return self.block_lines(column);
        }
        if self.is_control() {
            return own.to_owned();
        }
        if self.is_inline() {
            let dash = if self.key().is_some() { "" } else { "- " };
            let indent = own.split('\n').skip(1).map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
            let body = reindent_rest(own, indent, column + 2);
            return format!("{:column$}{dash}{body}\n", "");
        }
        let from = self.column();
        if self.is_compact() {
            return reindent(&format!("{:from$}{own}", ""), from, column);
        }
        reindent(own, from, column)
    }

    /// Returns a block of a template with what its arms hold at a column; its own lines stay where they are.
    fn block_lines(self, column: usize) -> String {
        let mut lines = self.lead();
        for arm in Self::all(self.cst, self.node()) {
            lines.push_str(self.cst.slice(&arm.child.own));
            lines.push_str(self.cst.slice(&arm.child.gap));
            for held in Self::all(self.cst, arm.node()) {
                lines.push_str(&held.lines(column));
                lines.push_str(&held.gap(column));
            }
        }
        lines
    }

    /// Returns the entry at a column with other lines for one of those that stand in it, and the content that it then has; nothing if that is
    /// not in it. The lines are at the column of the one that they replace.
    pub(super) fn with_entry(
        self,
        inner: Self,
        (lines, hash): (&str, Digest),
        column: usize,
    ) -> Option<(String, Digest)> {
        let content = self.content_with(inner, hash)?;
        let (own, old) = (&self.child.own, &inner.child.own);
        let text = format!("{}{lines}{}", self.cst.slice(&(own.start..old.start)), self.cst.slice(&(old.end..own.end)));
        let from = if self.is_block() { inner.column() } else { self.column() };
        Some((reindent(&text, from, if self.is_block() { from } else { column }), content))
    }

    /// Returns the content of the entry with another content of one of those that stand in it. Depth is bounded by the parser.
    fn content_with(self, inner: Self, hash: Digest) -> Option<Digest> {
        let mut is_there = false;
        let mut held: Vec<(String, Digest)> = Vec::new();
        for part in Self::all(self.cst, self.node()) {
            let changed = match part.child.own == inner.child.own {
                true => Some(hash),
                false => part.content_with(inner, hash),
            };
            is_there |= changed.is_some();
            held.push((part.name(), changed.unwrap_or_else(|| part.hash())));
        }
        let words = |name: &'_ str| name.strip_prefix('!').unwrap_or(name).to_owned();
        let content = match self.node().kind {
            Kind::Block => {
                let end = held.pop().map(|(name, _)| words(&name)).unwrap_or_default();
                let arms: Vec<(String, Digest)> = held.iter().map(|(name, hash)| (words(name), *hash)).collect();
                hash_of_block(arms.iter().map(|(words, hash)| (words.as_str(), *hash)), &end)
            }
            kind => cst::content(kind, held.iter().map(|(name, hash)| (name.as_str(), *hash))),
        };
        is_there.then_some(content)
    }

    /// Returns the entry as it stands in brackets.
    pub(super) fn inline(self) -> String {
        if self.is_inline() {
            return self.cst.slice(&self.child.own).to_owned();
        }
        let value = flow(self.cst, self.node());
        match self.key() {
            // Bare text may hold in lines what ends it in brackets.
            Some(key)
                if self.key_text().contains([',', '[', ']', '{', '}']) && !self.key_text().starts_with(['"', '\'']) =>
            {
                format!("{}: {value}", write_flow(&Value::from(key), ""))
            }
            Some(_) => format!("{}{value}", self.with_blank(self.key_text())),
            None => value,
        }
    }

    fn with_blank(self, text: &str) -> String {
        format!("{} ", text.trim_end())
    }

    /// Returns the key with its colon, or the dash.
    pub(super) fn key_text(self) -> &'a str {
        self.cst.slice(&(self.child.start..self.child.head))
    }

    /// Returns the comment lines directly above, without indentation.
    pub(super) fn lead(self) -> String {
        let line = line_start(self.cst.text(), self.child.start);
        if self.child.own.start >= line {
            return String::new();
        }
        reindent(self.cst.slice(&(self.child.own.start..line)), self.column(), 0)
    }

    /// Returns what stands between key or dash and value.
    pub(super) fn between(self) -> &'a str {
        self.cst.slice(&(self.child.head..self.node().span.start))
    }

    /// Returns the value as it is written, with continuation lines moved to where the entry stands at a column.
    pub(super) fn token(self, column: usize) -> String {
        reindent_rest(self.cst.slice(&self.node().span), self.column(), column)
    }

    /// Returns what stands behind the value up to the end of its line.
    pub(super) fn tail(self) -> &'a str {
        let end = self.node().span.end.max(self.child.head);
        self.cst.slice(&(end..self.child.own.end))
    }

    /// Returns the blank lines and comments behind the entry, moved to a column.
    pub(super) fn gap(self, column: usize) -> String {
        let gap = self.cst.slice(&self.child.gap);
        if self.is_control() { gap.to_owned() } else { reindent(gap, self.column(), column) }
    }

    /// Returns whether a comment, moved to a column, stands right behind the entry, be it above another one.
    pub(super) fn is_followed_by(self, comment: &str, column: usize) -> bool {
        let behind = self.cst.text().get(self.child.own.end..).unwrap_or("").trim_start();
        let comment = reindent(comment, column, self.column());
        !comment.trim().is_empty() && behind.starts_with(comment.trim())
    }

    /// Returns whether the value is written in one run behind its key: no block text, no collection by indentation.
    pub(super) fn is_flat(self) -> bool {
        let node = self.node();
        match node.kind {
            Kind::Scalar | Kind::Alias => node.style != Style::BlockText,
            Kind::Map | Kind::Seq | Kind::Opaque => node.style == Style::Flow,
            Kind::Block => false,
        }
    }

    /// Returns whether a block text stands anywhere in the value.
    pub(super) fn holds_block_text(self) -> bool {
        // Text of a value that is none looks like a header now and then, which costs nothing.
        let span = &self.node().span;
        let has_header = || memchr::memchr2(b'|', b'>', self.cst.slice(span).as_bytes()).is_some();
        self.node().style == Style::BlockText || !self.is_flat() && has_header()
    }

    /// Returns whether two entries have the same bytes, wherever they stand.
    pub(super) fn is_same_text(self, other: Self) -> bool {
        if self.is_inline() != other.is_inline() {
            return false;
        }
        let place = |part: Self| (part.column(), part.is_compact(), part.key().is_some());
        if place(self) == place(other) {
            // The same lines at the same place say the same, and other content is never in the same lines.
            if self.cst.slice(&self.child.own) == other.cst.slice(&other.child.own) {
                return true;
            }
            if self.hash() != other.hash() {
                return false;
            }
        }
        self.lines(0) == other.lines(0)
    }
}

/// Writes a node in brackets.
fn flow(cst: &Cst, node: &Node) -> String {
    let mut items = Vec::new();
    for child in &node.children {
        items.push(Part { cst, child }.inline());
    }
    match (node.kind, node.style) {
        (_, Style::Flow) | (Kind::Alias | Kind::Opaque | Kind::Block, _) => cst.slice(&node.span).to_owned(),
        (Kind::Map, _) => format!("{{{}}}", items.join(", ")),
        (Kind::Seq, _) => format!("[{}]", items.join(", ")),
        (Kind::Scalar, Style::Single | Style::Double) => cst.slice(&node.span).to_owned(),
        (Kind::Scalar, _) => write_flow(&node.value(), cst.slice(&node.span)),
    }
}
