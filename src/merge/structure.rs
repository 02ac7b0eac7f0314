//! Pure. Merges the entries of maps and lists by their identity, and writes the result with ours' bytes wherever theirs
//! changed nothing.
//!
//! Every step gives both the text of an entry and the content that it must have, so that the text can be read again and
//! held against it. Not here: a collection inside of an entry (`nested`), the bytes of an entry (`write`), scalars
//! (`scalar`), which items are one (`align`), documents (`document`).

use std::collections::HashMap;

use super::align::{align, is_unique};
use super::conflict::{ConflictKind, NoticeKind};
use super::finding::{Findings, Sides};
use super::part::Part;
use super::piece::{Piece, Rope, moved_gap, reindent};
use super::place::{Frame, contested, order};
use super::rules::{Rules, Subject, Take};
use super::scalar::{self, ScalarMerge};
use super::tree::Three;
use crate::base::Digest;
use crate::yaml::cst::{Cst, Kind, Label, Node, Style, content, hash_of_list};

mod beside;
mod blocks;
mod crossing;
mod keys;
mod nested;
mod opaque;
#[cfg(test)]
mod tests;
mod write;

use beside::Changes;
pub(super) use nested::brackets;

/// What is said where the fuel is used up.
pub(super) const TOO_MUCH: &str = "the merge is too much work";

/// Why something cannot be merged by structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Impossible {
    /// This collection cannot, and what holds it may be merged with this part of it by lines.
    Here(String),
    /// This collection cannot, not even by lines: all of it is one question.
    Whole(String),
    /// The file cannot.
    File(String),
    /// The file is too much work.
    Limit(String),
}

/// Merges the nodes of one document.
pub(super) struct Structure<'a, 'f> {
    pub(super) rules: &'a Rules,
    pub(super) subject: &'a Subject,
    pub(super) csts: Three<&'a Cst>,
    pub(super) found: &'f mut Findings,
    /// Steps from the root, for people.
    pub(super) path: Vec<String>,
    /// Names of fields alone, for the table of lists.
    pub(super) fields: Vec<String>,
    /// Whether a difference under an addition of both sides is reported where it stands.
    pub(super) is_added: bool,
    /// What a comment says about the list at hand.
    pub(super) list_comment: Option<String>,
    /// How many brackets are open around the entries at hand.
    pub(super) brackets: usize,
}

/// The three sides of one entry.
pub(super) type Trio<'a> = Three<Option<Part<'a>>>;

/// A merged collection.
pub(super) struct Collected {
    pub(super) pieces: Vec<Piece>,
    pub(super) hash: Digest,
    /// Conflicts about the collection as a whole.
    pub(super) whole: Vec<usize>,
}

impl<'a> Structure<'a, '_> {
    /// Merges the entries of a collection that all sides have, at a column.
    pub(super) fn collection(
        &mut self,
        nodes: Three<Option<&'a Node>>,
        column: usize,
    ) -> Result<Collected, Impossible> {
        let parts = |node: Option<&'a Node>, cst: &'a Cst| node.map(|node| Part::all(cst, node)).unwrap_or_default();
        let lists = Three {
            base: parts(nodes.base, self.csts.base),
            ours: parts(nodes.ours, self.csts.ours),
            theirs: parts(nodes.theirs, self.csts.theirs),
        };
        let visited = lists.base.len() + lists.ours.len() + lists.theirs.len();
        let comment = self.list_comment.take();
        self.found.burn(visited).map_err(|()| Impossible::Limit(TOO_MUCH.to_owned()))?;
        let is_loose = |part: &Part<'_>| matches!(part.child.label, Label::Loose(_));
        if [&lists.base, &lists.ours, &lists.theirs].into_iter().flatten().any(is_loose) {
            let why = "a block of the template does not begin and end among its entries";
            return Err(Impossible::Here(why.to_owned()));
        }
        let is_map = [nodes.ours, nodes.theirs].into_iter().flatten().any(|node| node.kind == Kind::Map);
        if is_map { self.map(&lists, column) } else { self.list(&lists, comment.as_deref(), column) }
    }

    /// Merges entries of maps or of lists.
    fn level(&mut self, lists: &Three<Vec<Part<'a>>>, kind: Kind, column: usize) -> Result<Collected, Impossible> {
        if kind == Kind::Map { self.map(lists, column) } else { self.list(lists, None, column) }
    }

    fn map(&mut self, lists: &Three<Vec<Part<'a>>>, column: usize) -> Result<Collected, Impossible> {
        let entries = entries(lists);
        let mut names = entries.as_ref().map(|list| list.iter().map(|part| part.name()).collect::<Vec<String>>());
        if let Some(key) = keys::doubled(&names) {
            if !keys::number(&mut names) {
                return Err(Impossible::Here(format!("the key {key} is there twice")));
            }
            self.notice(NoticeKind::DuplicateKept, &format!("the key {key} is there twice, as it was"));
        }
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let is_meant = |key: &str| self.rules.is_field(self.subject, &fields, key);
        keys::pair_renamed(&entries, &mut names, &is_meant);
        let names = blocks::names(lists, names, self.rules.limits.alignment_cells);
        let mut changes = blocks::wrapped(lists, &names);
        crossing::check(lists, &names, &changes)?;
        changes.append(&mut keys::put_below(lists, &names));
        let slices = Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] };
        let ordered = order(&slices, Frame::Ours);
        let pieces = self.entries(lists, &names, &ordered.names, (&changes, column))?;
        let hash = content(Kind::Map, contents(&pieces));
        Ok(Collected { pieces, hash, whole: Vec::new() })
    }

    fn list(
        &mut self,
        lists: &Three<Vec<Part<'a>>>,
        comment: Option<&str>,
        column: usize,
    ) -> Result<Collected, Impossible> {
        if self.brackets == 0 && lists.theirs.iter().any(|part| part.is_bare_pair()) {
            return Err(Impossible::Here("a pair without braces stands in brackets only".to_owned()));
        }
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let rule = self.rules.list(self.subject, &fields, comment);
        let cells = self.rules.limits.alignment_cells;
        let aligned = align(rule.as_ref(), &entries(lists), cells);
        if aligned.is_doubled {
            self.notice(NoticeKind::ListKeyDiffers, "its items are not told apart by their key, which occurs twice");
        }
        if aligned.has_other_types {
            let detail = "a key is a number on one side and a text on another, so these are two items";
            self.notice(NoticeKind::KeyTypeDiffers, detail);
        }
        let mut names = blocks::names(lists, aligned.names, cells);
        let mut changes = blocks::wrapped(lists, &names);
        crossing::check(lists, &names, &changes)?;
        // Of two items with one name only one would come out.
        if [&names.base, &names.ours, &names.theirs].into_iter().any(|names| !is_unique(names)) {
            return Err(Impossible::File("two items of a list cannot be told apart".to_owned()));
        }
        let slices = Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] };
        // Which of several equal items moved is not known.
        let known: Vec<String> = lists.base.iter().map(|part| part.hash().to_hex()).collect();
        let mut ordered = order(&slices, if is_unique(&known) { Frame::Strict } else { Frame::Merged });
        let mut whole = Vec::new();
        if ordered.is_disputed {
            if aligned.is_ordered {
                let (number, take) =
                    self.open(ConflictKind::Order, "both sides put these items in another order", lists);
                whole.extend(number);
                if take == Some(Take::Upstream) {
                    ordered = order(&slices, Frame::Theirs);
                }
            } else {
                self.notice(NoticeKind::OrderKept, "both sides put its items in another order");
            }
        }
        if aligned.is_positional {
            let gone = self.contested(lists, &names, &mut whole);
            ordered.names.retain(|name| !gone.contains(name));
            names.theirs.iter_mut().filter(|name| gone.contains(name)).for_each(|name| name.insert(0, '~'));
            names.ours.iter_mut().filter(|name| gone.contains(name)).for_each(|name| name.insert(0, '~'));
        }
        if self.brackets == 0 {
            changes.append(&mut beside::replaced(lists, &names));
        }
        let pieces = self.entries(lists, &names, &ordered.names, (&changes, column))?;
        let hash = content(Kind::Seq, contents(&pieces));
        Ok(Collected { pieces, hash, whole })
    }

    /// Settles insertions of both sides at one place of a list whose order has a meaning; returns the items that go.
    fn contested(
        &mut self,
        lists: &Three<Vec<Part<'a>>>,
        names: &Three<Vec<String>>,
        whole: &mut Vec<usize>,
    ) -> Vec<String> {
        let slices = Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] };
        let text = |side: &Vec<Part<'a>>, known: &[String], name: &String| {
            let place = known.iter().position(|other| other == name)?;
            side.get(place).map(|part| part.node().text.clone())
        };
        let mut gone = Vec::new();
        for (mine, upstream) in contested(&slices) {
            let flags = |words: Vec<Option<String>>| words.iter().flatten().all(|word| word.starts_with('-'));
            let own: Vec<_> = mine.iter().map(|name| text(&lists.ours, &names.ours, name)).collect();
            let their: Vec<_> = upstream.iter().map(|name| text(&lists.theirs, &names.theirs, name)).collect();
            let is_command = self.fields.last().is_some_and(|field| field == "command");
            if flags(own) && flags(their) && !is_command {
                continue;
            }
            let (number, take) =
                self.open(ConflictKind::Order, "both sides put items in one place, where order counts", lists);
            whole.extend(number);
            match take {
                Some(Take::Upstream) => gone.extend(mine),
                Some(Take::Base) => gone.extend(mine.into_iter().chain(upstream)),
                Some(Take::Mine | Take::Value(_)) | None => gone.extend(upstream),
            }
        }
        gone
    }

    /// Merges entries by name, in an order.
    fn entries(
        &mut self,
        lists: &Three<Vec<Part<'a>>>,
        names: &Three<Vec<String>>,
        ordered: &[String],
        (changes, column): (&Changes<'a>, usize),
    ) -> Result<Vec<Piece>, Impossible> {
        let base = by_name(&lists.base, &names.base);
        let ours = by_name(&lists.ours, &names.ours);
        let theirs = by_name(&lists.theirs, &names.theirs);
        let part = |side: &ByName<'_, 'a>, name: &str| side.get(name).map(|(_, part)| *part);
        let mut pieces = Vec::with_capacity(ordered.len());
        for name in ordered {
            let trio = Three { base: part(&base, name), ours: part(&ours, name), theirs: part(&theirs, name) };
            let sides = [trio.ours, trio.theirs].into_iter().flatten();
            // What stands in a block of a template on one side may stand there alone on the other.
            let Some(known) = sides.clone().find(|part| part.key().is_some()).or(sides.clone().next()) else {
                continue;
            };
            let depth = self.path.len();
            match known.key() {
                Some(key) => {
                    self.path.push(step(key, depth == 0));
                    self.fields.push(key.to_owned());
                }
                None => self.path.push(format!("[{}]", self.item_name(name, &trio))),
            }
            let mut made = match changes.get(name) {
                Some(change) => self.changed(change, &trio, column)?,
                None => vec![self.entry(&trio, column)?],
            };
            self.path.pop();
            if known.key().is_some() {
                self.fields.pop();
            }
            if let Some(piece) = made.first_mut().filter(|_| trio.base.is_none() && trio.ours.is_none()) {
                let before = theirs.get(name.as_str()).and_then(|(place, _)| place.checked_sub(1));
                let before = before.and_then(|place| lists.theirs.get(place));
                piece.before = before.map(|part| part.gap(column));
            }
            pieces.extend(made);
        }
        Ok(pieces)
    }

    /// Names an item for people: its key, or its place in ours.
    fn item_name(&self, name: &str, trio: &Trio<'_>) -> String {
        match name.strip_prefix(['o', 't']).unwrap_or(name).parse::<usize>() {
            Ok(place) => place.to_string(),
            Err(_) => match trio.ours.or(trio.theirs).and_then(Part::words) {
                Some(words) => words.to_owned(),
                None => name.to_owned(),
            },
        }
    }

    /// Merges one entry.
    pub(super) fn entry(&mut self, trio: &Trio<'a>, column: usize) -> Result<Piece, Impossible> {
        let Three { base, ours, mut theirs } = *trio;
        if self.is_withheld() {
            theirs = base;
        }
        let trio = &Three { base, ours, theirs };
        match (base, ours, theirs) {
            (None, Some(ours), None) => Ok(self.kept(ours, column)),
            (None, None, Some(theirs)) => Ok(self.kept(theirs, column)),
            (Some(base), Some(ours), None) => {
                if base.hash() == ours.hash() && base.key() == ours.key() {
                    self.gone(base, ours);
                    let left = commented_out(base, ours, column);
                    return Ok(absent(format!("{left}{}", moved_gap(&ours.gap(column), column))));
                }
                Ok(self.conflict(ConflictKind::EditDelete, "you changed it and upstream deleted it", trio, column))
            }
            (Some(base), None, Some(theirs)) => {
                if base.hash() == theirs.hash() && base.key() == theirs.key() {
                    self.gone(base, theirs);
                    return Ok(absent(commented_out(base, theirs, column)));
                }
                Ok(self.conflict(ConflictKind::DeleteEdit, "you deleted it and upstream changed it", trio, column))
            }
            (base, Some(ours), Some(theirs)) => self.both(base, ours, theirs, column),
            (_, None, None) => Ok(absent(String::new())),
        }
    }

    /// Returns whether theirs' edit of the entry at hand is put back.
    fn is_withheld(&self) -> bool {
        self.rules.withholds_in(&self.subject.object) && self.rules.withholds(&self.subject.object, &self.path.concat())
    }

    /// Says that an entry goes although the other side gave it another comment or style.
    fn gone(&mut self, base: Part<'_>, kept: Part<'_>) {
        if !base.is_same_text(kept) {
            let (before, after) = (base.lead(), kept.lead());
            let lost =
                after.lines().find(|line| !before.lines().any(|other| other == *line) && !is_entry_of(base, line));
            let said = lost.map(|line| format!("; with it went {}", line.trim())).unwrap_or_default();
            let detail = format!("deleted, although its comment or style had changed{said}");
            self.notice(NoticeKind::DeletedDespiteComment, &detail);
        }
    }

    fn kept(&self, part: Part<'a>, column: usize) -> Piece {
        let (text, gap) = (Rope::plain(self.written(part, column)), part.gap(column));
        Piece { text, gap, content: Some((part.name(), part.hash())), before: None }
    }

    /// Writes an entry of a side as it is.
    fn written(&self, part: Part<'a>, column: usize) -> String {
        if self.brackets > 0 { part.inline() } else { part.lines(column) }
    }

    /// Merges an entry that ours and theirs have.
    fn both(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        column: usize,
    ) -> Result<Piece, Impossible> {
        let gap = self.gap(base, ours, theirs, column);
        if ours.is_same_text(theirs) || base.is_some_and(|base| base.is_same_text(theirs)) {
            return Ok(Piece { gap, ..self.kept(ours, column) });
        }
        let has_text = ours.holds_block_text() || theirs.holds_block_text();
        let gap = if has_text { moved_gap(&gap, column) } else { gap };
        let settle = |piece: Piece| Piece { gap: gap.clone(), ..piece };
        let is_whole = !self.rules.withholds_in(&self.subject.object);
        if is_whole && base.is_some_and(|base| base.is_same_text(ours)) {
            return Ok(settle(self.kept(theirs, column)));
        }
        if let (Some(old), Some(mine), Some(upstream)) = (base.and_then(Part::key), ours.key(), theirs.key())
            && old != mine
            && old != upstream
            && mine != upstream
        {
            let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
            let why = "both sides gave it another key";
            return Ok(settle(self.conflict(ConflictKind::RenameRename, why, &trio, column)));
        }
        // An item or document that both added with other content is one question, not one for each field.
        let is_item = base.is_none() && ours.key().is_none() && !self.is_added;
        let mark = self.found.mark();
        let was_added = self.is_added;
        self.is_added |= base.is_none();
        let piece = self.merge(base, ours, theirs, column);
        self.is_added = was_added;
        let piece = piece?;
        if is_item && self.found.conflicts_since(mark) > 0 {
            self.found.reset(mark);
            let trio = Three { base: None, ours: Some(ours), theirs: Some(theirs) };
            let why = "both sides added it, with other content";
            return Ok(settle(self.conflict(ConflictKind::BothAdded, why, &trio, column)));
        }
        Ok(settle(piece))
    }

    fn merge(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        column: usize,
    ) -> Result<Piece, Impossible> {
        if ours.is_block() && theirs.is_block() {
            return self.block(base, ours, theirs, column);
        }
        let (mine, upstream) = (ours.node(), theirs.node());
        let is_collection = |node: &Node| matches!(node.kind, Kind::Map | Kind::Seq);
        if is_collection(mine) && mine.kind == upstream.kind {
            let old = base.map(Part::node).filter(|node| node.kind == mine.kind);
            return self.nested(base, ours, theirs, (old, column));
        }
        if ours.is_block() || theirs.is_block() || base.is_some_and(Part::is_block) {
            return self.wrapped(&Three { base, ours: Some(ours), theirs: Some(theirs) }, column);
        }
        if ours.is_control() || theirs.is_control() {
            return Ok(self.line(&Three { base, ours: Some(ours), theirs: Some(theirs) }, column));
        }
        let changed = |part: Part<'_>| {
            base.is_none_or(|base| base.hash() != part.hash() || base.node().anchor != part.node().anchor)
        };
        if !changed(theirs) || ours.hash() == theirs.hash() {
            return Ok(self.with_token(base, ours, theirs, (None, column)));
        }
        if !changed(ours) {
            return Ok(self.replaced(base, ours, theirs, column));
        }
        if mine.kind == Kind::Scalar && upstream.kind == Kind::Scalar {
            let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
            match scalar::merge(&trio, &self.fields, self.subject, self.rules) {
                ScalarMerge::Ours => return Ok(self.with_token(base, ours, theirs, (None, column))),
                ScalarMerge::Hunks(text) => return Ok(self.with_hunks(base, ours, theirs, (&text, column))),
                ScalarMerge::Block(text) => return Ok(self.with_block(base, ours, theirs, (&text, column))),
                ScalarMerge::Conflict => {}
            }
        }
        let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
        let (kind, why) = match base {
            Some(_) => (ConflictKind::Value, "both sides changed it"),
            None => (ConflictKind::BothAdded, "both sides added it, with other content"),
        };
        Ok(self.conflict(kind, why, &trio, column))
    }
}

impl<'a> Structure<'a, '_> {
    /// Merges a line of a template that stands for itself.
    fn line(&mut self, trio: &Trio<'a>, column: usize) -> Piece {
        let words = trio.map(|part| part.and_then(Part::words));
        match (trio.ours, trio.theirs) {
            (Some(ours), _) if words.ours == words.theirs || words.base == words.theirs => {
                self.kept_line(ours, trio, column)
            }
            (_, Some(theirs)) if words.base == words.ours => self.kept_line(theirs, trio, column),
            _ => {
                self.conflict(ConflictKind::TemplateBlock, "both sides changed the line of the template", trio, column)
            }
        }
    }
}

impl<'a> Structure<'a, '_> {
    /// Writes a line of a template with the comments of both sides above it.
    fn kept_line(&mut self, line: Part<'a>, trio: &Trio<'a>, column: usize) -> Piece {
        let kept = self.kept(line, column);
        let (Some(ours), Some(theirs)) = (trio.ours, trio.theirs) else { return kept };
        let lead = self.comment(trio.base.map(Part::lead), ours.lead(), theirs.lead());
        let own = line.cst.slice(&(line.child.start..line.child.own.end));
        Piece { text: Rope::plain(format!("{lead}{own}")), ..kept }
    }
}

/// Entries of a side and their names.
type Named<'l, 'a> = (&'l [Part<'a>], &'l [String]);

/// Returns each side with the other one.
fn both_ways<'l, 'a>(lists: &'l Three<Vec<Part<'a>>>, names: &'l Three<Vec<String>>) -> [[Named<'l, 'a>; 2]; 2] {
    let ours: Named<'l, 'a> = (&lists.ours, &names.ours);
    let theirs: Named<'l, 'a> = (&lists.theirs, &names.theirs);
    [[ours, theirs], [theirs, ours]]
}

/// Returns the entries that are YAML.
fn entries<'a>(lists: &Three<Vec<Part<'a>>>) -> Three<Vec<Part<'a>>> {
    lists.as_ref().map(|list| list.iter().copied().filter(|part| !part.is_control()).collect())
}

/// Returns what a collection holds.
fn contents(pieces: &[Piece]) -> impl Iterator<Item = (&str, Digest)> {
    pieces.iter().filter_map(|piece| piece.content.as_ref()).map(|(name, hash)| (name.as_str(), *hash))
}

/// Returns the comments above an entry that are entries of base which the side turned into comments: they stay when this one goes.
fn commented_out(base: Part<'_>, kept: Part<'_>, column: usize) -> String {
    let before = base.lead();
    let lead = kept.lead();
    let is_new = |line: &&str| !before.lines().any(|other| other == line.trim_end());
    let new: Vec<&str> = lead.split_inclusive('\n').filter(is_new).collect();
    if new.iter().any(|line| is_entry_of(base, line)) { reindent(&new.concat(), 0, column) } else { String::new() }
}

/// Returns whether a comment is a line of base's document.
fn is_entry_of(base: Part<'_>, comment: &str) -> bool {
    let line = comment.trim().trim_start_matches('#').trim();
    let line = line.split_once(" #").map_or(line, |(line, _)| line.trim_end());
    !line.is_empty() && base.cst.text().lines().any(|other| other.trim() == line)
}

/// Entries of a side by their names, with their places.
type ByName<'n, 'a> = HashMap<&'n str, (usize, Part<'a>)>;

fn by_name<'n, 'a>(list: &[Part<'a>], names: &'n [String]) -> ByName<'n, 'a> {
    names.iter().map(String::as_str).zip(list.iter().copied().enumerate()).collect()
}

/// Writes a step of a path as people do.
fn step(key: &str, is_first: bool) -> String {
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    match (is_plain, is_first) {
        (true, true) => key.to_owned(),
        (true, false) => format!(".{key}"),
        (false, _) => format!("[{key}]"),
    }
}

pub(super) fn absent(gap: String) -> Piece {
    Piece { text: Rope::default(), gap, content: None, before: None }
}

impl<'a> Structure<'a, '_> {
    /// Opens a conflict about an entry and writes it as decided, or ours.
    fn conflict(&mut self, kind: ConflictKind, why: &str, trio: &Trio<'a>, column: usize) -> Piece {
        let lines = |part: Option<Part<'a>>| part.map(|part| self.written(part, column)).unwrap_or_default();
        let sides = Three { base: lines(trio.base), ours: lines(trio.ours), theirs: lines(trio.theirs) };
        let shown = trio.map(|part| part.map(shown));
        let hashes = trio.map(|part| part.map(Part::hash));
        let (number, take) =
            self.found.open(self.rules, (kind, why), (self.subject, &self.path.concat()), Sides { shown, hashes });
        if let Some(number) = number {
            self.found.suggest(number, scalar::suggestion(trio, &self.fields));
        }
        let piece = |part: Option<Part<'a>>| match part {
            Some(part) => self.kept(part, column),
            None => absent(String::new()),
        };
        match (number, take) {
            (None, Some(Take::Upstream)) => piece(trio.theirs),
            (None, Some(Take::Base)) => piece(trio.base),
            (None, Some(Take::Value(value))) => match trio.ours.or(trio.theirs) {
                Some(part) => {
                    let hash = scalar::hash_of_written(&value);
                    let name = part.name();
                    let written = self.with_token(trio.base, part, part, (Some(&value), column));
                    Piece { content: Some((name, hash)), ..written }
                }
                None => piece(None),
            },
            (None, Some(Take::Mine) | None) => piece(trio.ours),
            (Some(number), _) => {
                let ours = piece(trio.ours);
                Piece { text: Rope::open(vec![number], sides), ..ours }
            }
        }
    }

    /// Opens a conflict about the collection at hand.
    fn open(&mut self, kind: ConflictKind, why: &str, lists: &Three<Vec<Part<'a>>>) -> (Option<usize>, Option<Take>) {
        let hash = |list: &Vec<Part<'a>>| hash_of_list(list.iter().map(|part| part.hash()));
        let hashes = lists.as_ref().map(|list| Some(hash(list)));
        let shown = lists.as_ref().map(|list| Some(list.iter().map(|part| self.written(*part, 0)).collect::<String>()));
        let sides = Sides { shown, hashes };
        self.found.open(self.rules, (kind, why), (self.subject, &self.path.concat()), sides)
    }

    fn notice(&mut self, kind: NoticeKind, detail: &str) {
        let path = self.path.concat();
        self.found.notice(kind, self.subject, &path, detail);
    }
}

/// Shows an entry's value to people.
fn shown(part: Part<'_>) -> String {
    let node = part.node();
    if part.is_control() {
        return part.lines(0);
    }
    match node.kind {
        Kind::Scalar if node.style != Style::BlockText => part.token(part.column()),
        Kind::Alias => part.token(part.column()),
        Kind::Scalar | Kind::Map | Kind::Seq | Kind::Opaque | Kind::Block => part.lines(0),
    }
}
