//! Pure. Puts the control lines of templates together to blocks, and gives what holds such lines the content that it then has.
//!
//! A block is one entry of the collection that it stands in: arms, each with a collection of the same kind, and a last line. Lines of a block
//! that begins in one collection and ends in another are left as they are. Not here: finding control lines (`merge`), which entry a line
//! stands behind (`layout`).

use super::parse::{hash_of_list, hash_of_map, hash_of_opaque};
use super::{Child, Control, Cst, Kind, Label, Node, NodeId, Style};
use crate::base::limits::MAX_YAML_DEPTH;
use crate::base::{Digest, Encoder};

/// The value of an entry that has none.
pub(super) const NO_NODE: NodeId = usize::MAX;

/// Returns the content of a line that is no YAML.
pub fn hash_of_line(words: &str) -> Digest {
    Encoder::new().text("line").text(words).digest()
}

/// Returns the content of a block: what the line of each arm says and what the arm holds, and what the last line says.
pub fn hash_of_block<'w>(arms: impl Iterator<Item = (&'w str, Digest)>, end: &str) -> Digest {
    let mut encoder = Encoder::new();
    encoder.text("block");
    for (words, content) in arms {
        encoder.text(words).raw(&content.0);
    }
    encoder.text(end).digest()
}

/// Returns the content of a collection by its entries: their names, which count in a map alone, and what they hold.
pub fn content<'n>(kind: Kind, entries: impl Iterator<Item = (&'n str, Digest)>) -> Digest {
    if kind == Kind::Map { hash_of_map(entries) } else { hash_of_list(entries.map(|(_, content)| content)) }
}

/// Makes blocks of the control lines of a document.
pub(super) fn fold(cst: &mut Cst, controls: &[Control]) {
    let mut has_lines = vec![false; cst.nodes.len()];
    for id in (0..cst.nodes.len()).rev() {
        let Some(node) = cst.nodes.get(id) else { continue };
        let is_changed = |child: &Child| child.label.words().is_some() || has_lines.get(child.value) == Some(&true);
        if node.kind == Kind::Opaque && node.style == Style::Block && holds_line(node, controls) {
            has_lines.iter_mut().skip(id).take(1).for_each(|slot| *slot = true);
            continue;
        }
        let is_spoiled = !node.is_block() && !node.children.is_empty() && holds_line(node, controls);
        if !is_spoiled && (!node.is_block() || !node.children.iter().any(is_changed)) {
            continue;
        }
        if let Some(slot) = has_lines.get_mut(id) {
            *slot = true;
        }
        if is_spoiled {
            // Lines between brackets are told apart by nothing.
            let hash = hash_of_opaque(cst.slice(&node.span), node.style);
            if let Some(node) = cst.nodes.get_mut(id) {
                (node.kind, node.hash) = (Kind::Opaque, hash);
                node.children.clear();
            }
            continue;
        }
        let like = Node { children: Vec::new(), ..node.clone() };
        let children = node.children.clone();
        let children = Folding { cst, like: &like }.fold(children);
        let hash = content_of(cst, like.kind, &children);
        if let Some(node) = cst.nodes.get_mut(id) {
            (node.children, node.hash) = (children, hash);
        }
    }
}

fn holds_line(node: &Node, controls: &[Control]) -> bool {
    let first = controls.partition_point(|control| control.lines.start < node.span.start);
    controls.get(first).is_some_and(|control| control.lines.start < node.span.end)
}

fn content_of(cst: &Cst, kind: Kind, children: &[Child]) -> Digest {
    let named = children.iter().map(|child| match child.label.words() {
        Some(words) if child.value == NO_NODE => (format!("!{words}"), hash_of_line(words)),
        Some(words) => (format!("!{words}"), cst.node(child.value).hash),
        None => (child.label.key().unwrap_or("").to_owned(), cst.node(child.value).hash),
    });
    let named: Vec<(String, Digest)> = named.collect();
    content(kind, named.iter().map(|(name, hash)| (name.as_str(), *hash)))
}

/// An arm that was begun: its line, and what it holds.
type Arm = (Child, Vec<Child>);

struct Folding<'a> {
    cst: &'a mut Cst,
    /// The collection whose entries they are, without them.
    like: &'a Node,
}

impl Folding<'_> {
    fn fold(&mut self, children: Vec<Child>) -> Vec<Child> {
        if !is_balanced(&children) {
            return children.into_iter().map(loose).collect();
        }
        let mut folded = Vec::new();
        let mut open: Vec<Vec<Arm>> = Vec::new();
        for child in children {
            let entry = match child.label {
                Label::Block(_) => {
                    open.push(vec![(child, Vec::new())]);
                    continue;
                }
                Label::Arm(_) => {
                    open.last_mut().into_iter().for_each(|arms| arms.push((child.clone(), Vec::new())));
                    continue;
                }
                Label::End(_) => self.block(open.pop().unwrap_or_default(), child),
                Label::Key(_) | Label::Item | Label::Line(_) | Label::Loose(_) => child,
            };
            match open.last_mut().and_then(|arms| arms.last_mut()) {
                Some((_, held)) => held.push(entry),
                None => folded.push(entry),
            }
        }
        folded
    }

    /// Makes one entry of a block.
    fn block(&mut self, arms: Vec<Arm>, end: Child) -> Child {
        let (words, own, start, head) = match arms.first() {
            Some((first, _)) => {
                (first.label.words().unwrap_or("").to_owned(), first.own.start, first.start, first.head)
            }
            None => (String::new(), end.own.start, end.start, end.head),
        };
        let mut children = Vec::with_capacity(arms.len() + 1);
        let mut contents = Vec::with_capacity(arms.len());
        for (line, held) in arms {
            let content = content_of(self.cst, self.like.kind, &held);
            let from = line.gap.end;
            let span = from..held.last().map_or(from, |last| last.gap.end);
            let own = line.start..line.own.end;
            let words = line.label.words().unwrap_or("").to_owned();
            let value = self.add(Node { children: held, hash: content, span, ..self.like.clone() });
            children.push(Child { label: Label::Arm(words.clone()), value, own, ..line });
            contents.push((words, content));
        }
        let said = end.label.words().unwrap_or("").to_owned();
        let hash = hash_of_block(contents.iter().map(|(words, content)| (words.as_str(), *content)), &said);
        let (own, gap) = (own..end.own.end, end.gap.clone());
        children.push(Child { gap: gap.start..gap.start, ..end });
        let value = self.add(Node {
            kind: Kind::Block,
            style: Style::Block,
            span: start..own.end,
            children,
            hash,
            ..self.like.clone()
        });
        Child { label: Label::Block(words), value, start, head, own, gap }
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.cst.nodes.push(Node { anchor: None, ..node });
        self.cst.nodes.len() - 1
    }
}

/// Returns whether every block that begins among entries ends among them.
fn is_balanced(children: &[Child]) -> bool {
    let mut depth = 0_usize;
    for child in children {
        match (&child.label, depth) {
            (Label::Loose(_), _) | (Label::Arm(_) | Label::End(_), 0) => return false,
            (Label::Block(_), _) if depth >= MAX_YAML_DEPTH => return false,
            (Label::Block(_), _) => depth += 1,
            (Label::End(_), _) => depth -= 1,
            (Label::Arm(_) | Label::Key(_) | Label::Item | Label::Line(_), _) => {}
        }
    }
    depth == 0
}

fn loose(child: Child) -> Child {
    let label = match child.label {
        Label::Block(words) | Label::Arm(words) | Label::End(words) => Label::Loose(words),
        label @ (Label::Key(_) | Label::Item | Label::Line(_) | Label::Loose(_)) => label,
    };
    Child { label, ..child }
}
