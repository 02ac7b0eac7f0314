//! Pure. Deals the lines of a document out to its entries: own lines with the comments directly above, and the gap of
//! blank lines and other comments behind them.
//!
//! Not here: finding the nodes (`parse`).

use std::ops::Range;

use super::blocks::NO_NODE;
use super::parse::hash_of_opaque;
use super::{Child, Control, Cst, Kind, Label, Node, NodeId, Role, Style, line_end, line_start};

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
            self.settle(&mut laid, reached..start);
            child.own = start..end;
            child.gap = end..end;
            reached = end;
            laid.push(child);
        }
        let tail = self.tail(&laid, reached, (column, outer));
        self.settle(&mut laid, reached..tail);
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
        self.settle(&mut laid, rest);
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
        let is_hidden = self.control_over(line).is_some();
        !is_hidden && self.text.get(line..).is_some_and(|rest| rest.trim_start_matches(' ').starts_with('#'))
    }

    /// Returns the control whose lines hold a byte.
    fn control_over(&self, byte: usize) -> Option<&Control> {
        let behind = self.controls.partition_point(|control| control.lines.start <= byte);
        let control = behind.checked_sub(1).and_then(|place| self.controls.get(place));
        control.filter(|control| control.lines.contains(&byte))
    }

    fn value_end(&mut self, child: &Child, column: usize) -> usize {
        let Some(node) = self.nodes.get(child.value) else { return child.head };
        if node.is_block() {
            let floor = line_end(self.text, child.head);
            let first = node.children.first().map_or(child.head, |first| first.start);
            let floor = if first < floor { child.head } else { floor };
            return self.block(child.value, Some(column), floor);
        }
        if node.is_absent() && !self.controls.is_empty() {
            let line = line_end(self.text, child.head);
            let filled = self.filled(line, column);
            if filled > line {
                self.fill(child.value, line..filled);
                return filled;
            }
        }
        let end = node.span.end.max(child.head);
        // Block text may end behind its line, and so does what is one value because of its tag and holds block text.
        let is_ended = end > child.head && self.text.get(..end).is_some_and(|it| it.ends_with('\n'));
        if is_ended { end } else { line_end(self.text, end) }
    }

    /// Returns where what stands behind a collection and belongs to it ends: comments and lines of templates that are indented as its entries
    /// are, and the rest of a block that begins among them.
    fn tail(&self, laid: &[Child], from: usize, (column, outer): (usize, Option<usize>)) -> usize {
        let begun = laid.iter().fold(0_usize, |depth, child| match child.label {
            Label::Block(_) => depth + 1,
            Label::End(_) => depth.saturating_sub(1),
            Label::Key(_) | Label::Item | Label::Line(_) | Label::Arm(_) | Label::Loose(_) => depth,
        });
        let is_inside = |indent: usize| indent >= column && outer.is_none_or(|outer| indent > outer);
        self.run(from, begun, is_inside)
    }

    /// Returns where the lines of templates end that are the value of a key without another one.
    fn filled(&self, from: usize, column: usize) -> usize {
        let end = self.run(from, 0, |indent| indent > column);
        let holds_line = self.controls.iter().any(|control| control.lines.start >= from && control.lines.start < end);
        if holds_line { end } else { from }
    }

    /// Gives an entry without a value the lines that a template puts there.
    fn fill(&mut self, id: NodeId, lines: Range<usize>) {
        let hash = hash_of_opaque(self.text.get(lines.clone()).unwrap_or(""), Style::Block);
        if let Some(node) = self.nodes.get_mut(id) {
            *node = Node { kind: Kind::Opaque, style: Style::Block, span: lines, hash, ..node.clone() };
        }
    }

    /// Returns where a run of comments and lines of templates ends, of which the first ones stand where they must. A block counts where all of
    /// it is there; so many are open where the run begins.
    fn run(&self, from: usize, mut begun: usize, is_inside: impl Fn(usize) -> bool) -> usize {
        let (mut reached, mut at, mut depth) = (from, from, 0_usize);
        while at < self.text.len() {
            let line = self.text.get(at..line_end(self.text, at)).unwrap_or("");
            let indent = line.len() - line.trim_start_matches(' ').len();
            let is_free = begun == 0 && depth == 0;
            let Some(control) = self.control_over(at) else {
                let is_blank = line.trim().is_empty();
                if !is_blank && !self.is_comment(at) || is_free && (is_blank || !is_inside(indent)) {
                    break;
                }
                at += line.len();
                reached = if is_free { at } else { reached };
                continue;
            };
            if is_free
                && (!is_inside(self.column_of(control, indent)) || matches!(control.role, Role::Turns | Role::Ends))
            {
                break;
            }
            match control.role {
                Role::Opens => depth += 1,
                Role::Ends if depth > 0 => depth -= 1,
                Role::Ends => begun = begun.saturating_sub(1),
                Role::Turns | Role::Stands | Role::Loose => {}
            }
            // An action may go over several lines, whose indentation says nothing.
            at = control.lines.end;
            if depth == 0 && (begun == 0 || matches!(control.role, Role::Ends | Role::Turns)) {
                reached = at;
            }
        }
        reached
    }

    /// Returns the column that a line of a template is meant for: that of the lines which it puts there, or which the block that it opens does.
    fn column_of(&self, control: &Control, indent: usize) -> usize {
        let place = self.controls.partition_point(|other| other.lines.start < control.lines.start);
        let inner = self.controls.iter().skip(place + 1).take_while(|other| other.role != Role::Ends);
        let first = inner.filter_map(|other| other.column).next().filter(|_| control.role == Role::Opens);
        control.column.or(first).unwrap_or(indent)
    }

    /// Gives what stands between two entries to the first of them; lines that are no YAML become entries.
    fn settle(&self, laid: &mut Vec<Child>, between: Range<usize>) {
        let mut from = between.start;
        let first = self.controls.partition_point(|control| control.lines.start < between.start);
        let inner = self.controls.iter().skip(first).take_while(|control| control.lines.end <= between.end);
        for control in inner {
            let Range { start, end } = control.lines.clone();
            let words = control.words.clone();
            let label = match control.role {
                Role::Opens => Label::Block(words),
                Role::Turns => Label::Arm(words),
                Role::Ends => Label::End(words),
                Role::Stands => Label::Line(words),
                Role::Loose => Label::Loose(words),
            };
            // What is said above a block, or a line that stands for itself, is said about it.
            let is_told = matches!(control.role, Role::Opens | Role::Stands);
            let lead = if is_told { self.lead(start, from) } else { start };
            if let Some(last) = laid.last_mut() {
                last.gap.end = last.gap.end.max(lead);
            }
            laid.push(Child { label, value: NO_NODE, start, head: end, own: lead..end, gap: end..end });
            from = end;
        }
        if let Some(last) = laid.last_mut().filter(|_| between.end > from) {
            last.gap.end = last.gap.end.max(between.end);
        }
    }
}
