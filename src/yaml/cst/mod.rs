//! Pure. A document as a tree over its own bytes: every node and entry knows where it stands, with the comments and
//! blank lines around it, so that a change can be written without touching anything else.
//!
//! The text is cut into documents by [`split`]; [`Cst::parse`] reads one of them. Offsets count bytes of the document.
//! A node's [`Node::hash`] covers tags, types and texts, not style, comments and the order of keys. Not here: values
//! with aliases expanded (`build`), decisions about what to change (`merge`).

mod blocks;
mod layout;
mod margin;
mod parse;
mod split;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde_json::Value;

use crate::base::Digest;
use crate::base::limits::MAX_YAML_DEPTH;

pub use super::tree::Style;
pub use blocks::{content, hash_of_block, hash_of_line};
pub use margin::{block_text_column, joined};
pub use parse::{hash_of_alias, hash_of_list, hash_of_map, hash_of_scalar, written_text};
pub use split::split;

/// Index of a node in its tree.
pub type NodeId = usize;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A text, number, boolean or null.
    Scalar,
    /// A reference to an anchor.
    Alias,
    /// A map with plain keys.
    Map,
    /// A list.
    Seq,
    /// A collection whose entries cannot be told apart by their lines; it is one value.
    Opaque,
    /// A control block of a template: its children are its arms, each with a collection for a value, and its last line.
    Block,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// How it is written.
    pub style: Style,
    /// Text of a scalar after unquoting, or name of an alias.
    pub text: String,
    /// Whether a scalar is a text to kubectl, and no number, boolean or null.
    pub is_text: bool,
    /// Name of the anchor on it.
    pub anchor: Option<String>,
    /// Bytes of the node with its tag and anchor; empty where nothing is written.
    pub span: Range<usize>,
    /// Column of the entries of a block collection.
    pub column: usize,
    /// Entries of a map or list.
    pub children: Vec<Child>,
    /// Canonical content.
    pub hash: Digest,
}

/// What a child of a collection is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Label {
    /// The entry of a map.
    Key(String),
    /// An item of a list.
    Item,
    /// A line that is no YAML and stands for itself, with what it says.
    Line(String),
    /// A control block of a template, with what its first line says.
    Block(String),
    /// An arm of a control block, with what the line says that begins it.
    Arm(String),
    /// The last line of a control block.
    End(String),
    /// A line of a control block that begins or ends elsewhere.
    Loose(String),
}

impl Label {
    /// Returns the key of a map's entry.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Item | Self::Line(_) | Self::Block(_) | Self::Arm(_) | Self::End(_) | Self::Loose(_) => None,
        }
    }

    /// Returns what the line says that is no YAML, if there is one.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Line(words) | Self::Block(words) | Self::Arm(words) | Self::End(words) | Self::Loose(words) => {
                Some(words)
            }
            Self::Key(_) | Self::Item => None,
        }
    }
}

/// One entry of a map or item of a list.
#[derive(Clone, Debug)]
pub struct Child {
    /// What it is.
    pub label: Label,
    /// Its value; no node's index for a line that is no YAML.
    pub value: NodeId,
    /// First byte of its key, or of its dash; in a flow collection the first byte of the item.
    pub start: usize,
    /// Byte behind its colon or dash.
    pub head: usize,
    /// Its lines with the comments directly above; of an item in brackets just its bytes.
    pub own: Range<usize>,
    /// Blank lines and other comments behind it.
    pub gap: Range<usize>,
}

/// What a line that is no YAML does to the lines around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It begins a block.
    Opens,
    /// It ends one arm of a block and begins the next.
    Turns,
    /// It ends a block.
    Ends,
    /// It stands for itself.
    Stands,
    /// It is part of a block whose other lines hold more than that.
    Loose,
}

/// A line that is no YAML.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// Its bytes, from the start of the line to behind its end.
    pub lines: Range<usize>,
    /// What it says, whatever blanks stand between the words.
    pub words: String,
    /// What it does.
    pub role: Role,
    /// Column of the lines that it puts there, where it says so.
    pub column: Option<usize>,
}

/// A document to read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its bytes.
    pub text: &'a str,
    /// The same number of bytes with everything replaced that is no YAML; equal to the text for plain documents.
    pub masked: &'a str,
    /// Lines that are no YAML; comments in `masked`.
    pub controls: &'a [Control],
}

/// Why a document could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// The reason in a few words.
    pub reason: String,
}

/// A document as a tree over its bytes.
#[derive(Clone, Debug)]
pub struct Cst {
    text: String,
    nodes: Vec<Node>,
    root: Option<NodeId>,
    nothing: Node,
}

impl Cst {
    /// Reads one document.
    pub fn parse(source: Source<'_>) -> Result<Self, Broken> {
        let mut cst = parse::parse(source)?;
        layout::lay_out(&mut cst, source.controls);
        if !source.controls.is_empty() {
            blocks::fold(&mut cst, source.controls);
        }
        Ok(cst)
    }

    /// Returns the bytes of the document, exactly as they were read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the root; nothing for a document of comments alone.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Returns a node; a foreign index reads as null.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id).unwrap_or(&self.nothing)
    }

    /// Returns all nodes, parents before children. Keys are part of their entries.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a part of the text.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("")
    }

    /// Returns the entry of a map by its key, also where a block of a template that has one arm alone says whether it is there.
    pub fn entry(&self, map: NodeId, key: &str) -> Option<&Child> {
        let mut map = map;
        // Blocks may stand in each other, as deep as collections may.
        for _ in 0..MAX_YAML_DEPTH {
            let children = &self.node(map).children;
            if let Some(found) = children.iter().find(|child| child.label.key() == Some(key)) {
                return Some(found);
            }
            let mut arms = children.iter().filter_map(|child| match child.label {
                Label::Block(_) => {
                    self.node(child.value).children.first().filter(|_| self.node(child.value).children.len() == 2)
                }
                _ => None,
            });
            map = arms.next().filter(|_| arms.next().is_none())?.value;
        }
        None
    }

    /// Returns the value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        let mut id = self.root?;
        for key in path {
            id = self.entry(id, key)?.value;
        }
        Some(self.node(id))
    }

    /// Returns whether nodes of a kind are collections that were read entry by entry.
    pub fn is_collection(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, Kind::Map | Kind::Seq)
    }
}

impl Node {
    /// Returns whether nothing is written where the node stands.
    pub fn is_absent(&self) -> bool {
        self.kind == Kind::Scalar && self.span.is_empty()
    }

    /// Returns what a scalar means to kubectl.
    pub fn value(&self) -> Value {
        match (self.kind, self.is_text) {
            (Kind::Scalar, true) => Value::from(self.text.as_str()),
            (Kind::Scalar, false) if !self.text.is_empty() => parse::meaning(&self.text),
            (Kind::Scalar | Kind::Alias | Kind::Map | Kind::Seq | Kind::Opaque | Kind::Block, _) => Value::Null,
        }
    }

    /// Returns whether it is a collection by indentation.
    pub fn is_block(&self) -> bool {
        self.style == Style::Block && matches!(self.kind, Kind::Map | Kind::Seq)
    }
}

/// Returns the offset of the line that a byte stands in.
pub fn line_start(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte);
    before.and_then(|before| memchr::memrchr(b'\n', before)).map_or(0, |newline| newline + 1)
}

/// Returns the offset behind the line break of the line that a byte stands in.
pub fn line_end(text: &str, byte: usize) -> usize {
    let rest = text.as_bytes().get(byte..);
    rest.and_then(|rest| memchr::memchr(b'\n', rest)).map_or(text.len(), |newline| byte + newline + 1)
}
