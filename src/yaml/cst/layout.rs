//! Pure. Deals the lines of a document out to its entries: own lines with the comments directly above, and the gap of
//! blank lines and other comments behind them.
//!
//! Not here: finding the nodes (`parse`).

use std::ops::Range;

use super::{Child, Control, Cst, Label, Node, NodeId, line_end, line_start};

/// Gives every entry of a block collection its lines.
pub(super) fn lay_out(cst: &mut Cst, controls: &[Control]) {
    let Some(root) = cst.root.filter(|root| cst.node(*root).is_block()) else { return };
    let text = std::mem::take(&mut cst.text);
    let mut layout = Layout { text: &text, nodes: &mut cst.nodes, controls };
    let reached = layout.block(root, None, 0);
    // What is left belongs to the gap of the last entry.
    layout.trail(root, reached..text.len());
    cst.text = text;
}

struct Layout<'a> {
    text: &'a str,
    nodes: &'a mut Vec<Node>,
    controls: &'a [Control],
}

impl Layout<'_> {
    /// Lays out a collection and returns where its lines end. Depth is bounded by the parser.
    fn block(&mut self, id: NodeId, outer: Option<usize>, floor: usize) -> usize {
        let Some(node) = self.nodes.get_mut(id) else { return floor };
        let children = std::mem::take(&mut node.children);
        let column = children.first().map_or(0, |child| child.start - line_start(self.text, child.start));
        let mut laid: Vec<Child> = Vec::with_capacity(children.len());
        let mut reached = floor;
        for mut child in children {
            let start = self.lead(child.start, reached);
            let end = self.value_end(&child, column);
            self.settle(id, &mut laid, reached..start);
            child.own = start..end;
            child.gap = end..end;
            reached = end;
            laid.push(child);
        }
        let tail = self.tail(reached, column, outer);
        self.settle(id, &mut laid, reached..tail);
        if let Some(node) = self.nodes.get_mut(id) {
            node.column = column;
            node.children = laid;
            node.span.end = node.span.end.max(node.span.start);
        }
        tail
    }

    fn trail(&mut self, id: NodeId, rest: Range<usize>) {
        let Some(node) = self.nodes.get_mut(id) else { return };
        let mut laid = std::mem::take(&mut node.children);
        self.settle(id, &mut laid, rest);
        if let Some(node) = self.nodes.get_mut(id) {
            node.children = laid;
        }
    }

    /// Returns where an entry's lines begin: at the first of the comments directly above it.
    fn lead(&self, start: usize, floor: usize) -> usize {
        let mut first = line_start(self.text, start);
        if first < floor || self.text.get(first..start).is_some_and(|before| !before.trim().is_empty()) {
            // The entry shares its line with the dash or the mark of its collection.
            return start;
        }
        while first > floor {
            let above = line_start(self.text, first - 1);
            if above < floor || !self.is_comment(above) {
                break;
            }
            first = above;
        }
        first
    }

    fn is_comment(&self, line: usize) -> bool {
        let is_hidden = self.controls.iter().any(|control| control.lines.contains(&line));
        !is_hidden && self.text.get(line..).is_some_and(|rest| rest.trim_start_matches(' ').starts_with('#'))
    }

    fn value_end(&mut self, child: &Child, column: usize) -> usize {
        let Some(node) = self.nodes.get(child.value) else { return child.head };
        if node.is_block() {
            let floor = line_end(self.text, child.head);
            let first = node.children.first().map_or(child.head, |first| first.start);
            let floor = if first < floor { child.head } else { floor };
            return self.block(child.value, Some(column), floor);
        }
        let end = node.span.end.max(child.head);
        // Block text may end behind its line, and so does what is one value because of its tag and holds block text.
        let is_ended = end > child.head && self.text.get(..end).is_some_and(|it| it.ends_with('\n'));
        if is_ended { end } else { line_end(self.text, end) }
    }

    /// Returns where the comments behind a collection end that are indented as its entries are.
    fn tail(&self, from: usize, column: usize, outer: Option<usize>) -> usize {
        let mut reached = from;
        while let Some(line) = self.text.get(reached..line_end(self.text, reached)).filter(|line| !line.is_empty()) {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let control = self.controls.iter().find(|control| control.lines.start == reached);
            let is_ours = control.is_some() || self.is_comment(reached);
            if !is_ours || indent < column || outer.is_some_and(|outer| indent <= outer) {
                break;
            }
            // An action may go over several lines, whose indentation says nothing.
            reached = control.map_or(reached + line.len(), |control| control.lines.end);
        }
        reached
    }

    /// Gives what stands between two entries to the first of them; lines that are no YAML become entries.
    fn settle(&self, id: NodeId, laid: &mut Vec<Child>, between: Range<usize>) {
        let mut from = between.start;
        for control in self.controls {
            if control.lines.start < between.start || control.lines.end > between.end {
                continue;
            }
            if let Some(last) = laid.last_mut() {
                last.gap.end = last.gap.end.max(control.lines.start);
            }
            let Range { start, end } = control.lines.clone();
            let label = Label::Control(control.name.clone());
            laid.push(Child { label, value: id, start, head: end, own: start..end, gap: end..end });
            from = end;
        }
        if let Some(last) = laid.last_mut().filter(|_| between.end > from) {
            last.gap.end = last.gap.end.max(between.end);
        }
    }
}
