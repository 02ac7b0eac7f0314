//! Pure. Merges a collection that stands inside of an entry, by indentation or in brackets.
//!
//! Not here: the entries of a collection (the parent), the bytes of one entry (`write`).

use super::super::conflict::{ConflictKind, NoticeKind};
use super::super::part::Part;
use super::super::piece::{Piece, Rope, assemble_inner, reindent};
use super::super::rules::list_comment;
use super::super::tree::Three;
use super::write::{header, keyed};
use super::{Collected, Impossible, Structure, blocks};
use crate::yaml::cst::{Cst, Kind, Node, Style};

impl<'a> Structure<'a, '_> {
    /// Merges collections of one kind.
    pub(super) fn nested(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        (old, column): (Option<&'a Node>, usize),
    ) -> Result<Piece, Impossible> {
        let (mine, upstream) = (ours.node(), theirs.node());
        if base.is_some_and(|base| base.hash() == theirs.hash()) && !mine.is_block()
            || mine.hash == upstream.hash && !mine.is_block()
        {
            return Ok(self.with_token(base, ours, theirs, (None, column)));
        }
        let is_filled = mine.children.is_empty();
        if is_filled && old.is_none_or(|old| old.children.is_empty()) {
            return Ok(self.replaced(base, ours, theirs, column));
        }
        // A collection of ours that is empty takes the form that theirs gave it.
        let form = if is_filled { theirs } else { ours };
        let is_block = form.node().is_block() && !ours.is_inline();
        // What stands below moves with the entry itself, whatever the difference between the two columns.
        let inner = column + form.node().column - form.column().min(form.node().column);
        let inner = if is_block { inner } else { column };
        self.list_comment = self.list_word(ours, theirs);
        let outer = self.brackets;
        let (mark, steps, fields) = (self.found.mark(), self.path.len(), self.fields.len());
        self.brackets = if is_block { 0 } else { outer + 1 };
        let collected = self.collection(Three { base: old, ours: Some(mine), theirs: Some(upstream) }, inner);
        self.brackets = outer;
        let collected = collected.and_then(|collected| self.with_entries(collected));
        let collected = match collected {
            Ok(collected) => collected,
            Err(why) => {
                self.path.truncate(steps);
                self.fields.truncate(fields);
                self.found.reset(mark);
                return self.instead(why, (base, ours, theirs), column);
            }
        };
        if !is_block {
            return Ok(self.in_brackets(base, ours, theirs, (collected, column)));
        }
        let name = keyed(base, ours, theirs).name();
        let content = Some((name, collected.hash));
        let Collected { pieces, whole, .. } = collected;
        let is_present = pieces.iter().any(|piece| piece.content.is_some());
        let text = match (is_present, is_filled) {
            (false, _) => self.emptied((base, ours, theirs), column, &pieces),
            (true, true) => {
                let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
                let lead = reindent(&lead, 0, column);
                let mut text =
                    Rope::plain(format!("{lead}{:column$}{}{}", "", keyed(base, ours, theirs).key_text(), ours.tail()));
                text.push(assemble_inner(pieces));
                text
            }
            (true, false) => {
                let head = self.header(base, ours, theirs, column);
                below(&head, assemble_inner(pieces), inner)
            }
        };
        let text = if whole.is_empty() { text } else { self.widened(text, whole, (base, theirs), column) };
        Ok(Piece { text, gap: String::new(), content, before: None })
    }

    /// Merges a collection that cannot be merged entry by entry: by its lines, or as one question.
    fn instead(
        &mut self,
        why: Impossible,
        (base, ours, theirs): (Option<Part<'a>>, Part<'a>, Part<'a>),
        column: usize,
    ) -> Result<Piece, Impossible> {
        match why {
            Impossible::Here(why) => self.opaque((base, ours, theirs), column, &why),
            Impossible::Whole(why) if self.brackets == 0 => {
                let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
                Ok(self.conflict(ConflictKind::TemplateBlock, &why, &trio, column))
            }
            other @ (Impossible::Whole(_) | Impossible::File(_) | Impossible::Limit(_)) => Err(other),
        }
    }

    /// Returns what a comment says about the list at hand.
    fn list_word(&mut self, ours: Part<'a>, theirs: Part<'a>) -> Option<String> {
        let words = [ours, theirs].map(|part| list_comment(&header(part)).map(str::to_owned));
        if let [Some(mine), Some(upstream)] = &words
            && mine != upstream
        {
            let detail = format!("your comment says {mine} and upstream's {upstream}; yours counts");
            self.notice(NoticeKind::ListKeyDiffers, &detail);
        }
        words.into_iter().flatten().next()
    }

    /// Refuses a collection of which nothing is left but lines of a template: to YAML it is none any more.
    fn with_entries(&self, collected: Collected) -> Result<Collected, Impossible> {
        let is_empty = collected.pieces.iter().all(|piece| piece.content.is_none());
        match &self.rules.templates {
            Some(delimiters) if !is_empty && !blocks::holds_entries(&collected.pieces, delimiters) => {
                Err(Impossible::Here("nothing but lines of a template is left in it".to_owned()))
            }
            Some(_) | None => Ok(collected),
        }
    }

    /// Makes one open place of a whole entry.
    pub(super) fn widened(
        &self,
        text: Rope,
        mut whole: Vec<usize>,
        (base, theirs): (Option<Part<'a>>, Part<'a>),
        column: usize,
    ) -> Rope {
        whole.extend(text.conflicts());
        let lines = |part: Option<Part<'a>>| part.map(|part| part.lines(column)).unwrap_or_default();
        Rope::open(whole, Three { base: lines(base), ours: text.ours(), theirs: lines(Some(theirs)) })
    }

    /// Writes a collection that lost its last entry.
    fn emptied(
        &mut self,
        (base, ours, theirs): (Option<Part<'a>>, Part<'a>, Part<'a>),
        column: usize,
        pieces: &[Piece],
    ) -> Rope {
        let brackets = if ours.node().kind == Kind::Map { "{}" } else { "[]" };
        let key = keyed(base, ours, theirs).key_text();
        let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
        let lead = reindent(&lead, 0, column);
        let gaps: String =
            pieces.iter().filter(|piece| !piece.gap.trim().is_empty()).map(|piece| piece.gap.clone()).collect();
        let mut rope = Rope::plain(format!("{lead}{:column$}{} {brackets}\n{gaps}", "", key.trim_end()));
        if pieces.iter().any(|piece| piece.text.has_open()) {
            // The open entries need the map that was emptied, so the whole entry is open.
            let numbers = pieces.iter().flat_map(|piece| piece.text.conflicts()).collect();
            let head = format!("{lead}{:column$}{}\n", "", key.trim_end());
            let side = |pick: fn(&Three<String>) -> &String| {
                let inner: String = pieces.iter().map(|piece| piece.text.side(pick)).collect();
                if inner.is_empty() { rope.ours() } else { format!("{head}{inner}") }
            };
            let sides = Three {
                base: side(|sides| &sides.base),
                ours: side(|sides| &sides.ours),
                theirs: side(|sides| &sides.theirs),
            };
            rope = Rope::open(numbers, sides);
        }
        rope
    }

    /// Writes a collection in brackets with the entries of the result.
    fn in_brackets(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        (collected, column): (Collected, usize),
    ) -> Piece {
        let hash = collected.hash;
        // Brackets of ours that hold nothing say nothing about how entries are parted.
        let frame = if ours.node().children.is_empty() && theirs.node().style == Style::Flow { theirs } else { ours };
        let (joined, numbers) = brackets(frame.cst, frame.node(), collected);
        let piece = self.with_token(base, ours, theirs, (Some(&joined), column));
        let content = piece.content.map(|(name, _)| (name, hash));
        let text = if numbers.is_empty() {
            piece.text
        } else if self.brackets > 0 {
            let text = piece.text.ours();
            Rope::open(numbers, Three { base: text.clone(), ours: text.clone(), theirs: text })
        } else {
            self.widened(piece.text, numbers, (base, theirs), column)
        };
        Piece { text, content, gap: String::new(), before: None }
    }
}

/// Puts entries below the head of their collection, or behind it where the first of them shares its line.
fn below(head: &str, entries: Rope, column: usize) -> Rope {
    if !head.ends_with('\n') {
        return entries.with_head(column, head);
    }
    let mut text = Rope::plain(head);
    text.push(entries);
    text
}

/// Returns a collection of ours in brackets with the entries of the result, and the conflicts in it.
pub(in crate::merge) fn brackets(cst: &Cst, node: &Node, collected: Collected) -> (String, Vec<usize>) {
    let (open, close) = if node.kind == Kind::Map { ("{", "}") } else { ("[", "]") };
    let opening = node.children.first().map_or(open, |child| cst.slice(&(node.span.start..child.own.start)));
    let closing = node.children.last().map_or(close, |child| cst.slice(&(child.own.end..node.span.end)));
    let second = node.children.get(1).map(|child| child.own.start);
    let end = node.children.first().map_or(0, |child| child.own.end);
    let between = match second {
        Some(start) => cst.slice(&(end..start)).to_owned(),
        None if opening.contains('\n') => format!(",{}", opening.trim_start_matches(|c: char| c != '\n')),
        None => ", ".to_owned(),
    };
    let mut numbers = collected.whole;
    let mut items = Vec::new();
    for piece in collected.pieces {
        numbers.extend(piece.text.conflicts());
        if piece.content.is_some() {
            items.push(piece.text.ours().trim().to_owned());
        }
    }
    let joined = match (items.is_empty(), node.kind) {
        (true, Kind::Map) => "{}".to_owned(),
        (true, _) => "[]".to_owned(),
        (false, _) => format!("{opening}{}{closing}", items.join(&between)),
    };
    (joined, numbers)
}
