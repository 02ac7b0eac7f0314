//! Pure. Entries that are merged together with others: an item that one side changed and the other replaced, an entry that one side put below a
//! new key.
//!
//! Not here: finding entries below new keys (`keys`).

use std::collections::{BTreeMap, BTreeSet};

use super::super::conflict::ConflictKind;
use super::super::finding::Sides;
use super::super::part::Part;
use super::super::piece::{Piece, Rope};
use super::super::rules::Take;
use super::super::tree::Three;
use super::{Impossible, Structure, Trio, absent, blocks, both_ways, shown};
use crate::yaml::cst::hash_of_list;

/// What becomes of an entry besides what its own sides say, by its name.
pub(super) type Changes<'a> = BTreeMap<String, Change<'a>>;

/// What becomes of an entry.
#[derive(Clone, Debug)]
pub(super) enum Change<'a> {
    /// Another entry has taken it in.
    Gone,
    /// What one side put below it is as the other side has it.
    Below {
        /// What stands below it.
        inner: Part<'a>,
        /// The same as the other side has it.
        changed: Part<'a>,
    },
    /// One side put it below a new key, and the other deleted it or put it below another one.
    Nested {
        /// What it was.
        base: Part<'a>,
        /// What ours has in its place.
        ours: Option<Part<'a>>,
        /// What theirs has.
        theirs: Option<Part<'a>>,
    },
    /// The side that deleted it has these in its place.
    Replaced(Vec<Part<'a>>),
    /// One side put these, which base and the other side have beside each other, into a block of a template.
    Wrapped {
        /// The block.
        block: Part<'a>,
        /// What is in it now, of base and of the other side.
        held: [Vec<Part<'a>>; 2],
    },
}

/// Finds items that one side changed and the other replaced: what it put in their place belongs to the question.
pub(super) fn replaced<'a>(lists: &Three<Vec<Part<'a>>>, names: &Three<Vec<String>>) -> Changes<'a> {
    let mut changes = Changes::new();
    for [(list, own), (others, known)] in both_ways(lists, names) {
        let own_names: BTreeSet<&String> = own.iter().collect();
        let gone = lists.base.iter().zip(&names.base).enumerate().filter(|(_, (_, name))| !own_names.contains(name));
        for (place, (old, name)) in gone {
            let kept = known.iter().position(|other| other == name).and_then(|at| others.get(at));
            let is_disputed = kept.is_some_and(|part| part.hash() != old.hash());
            if !is_disputed || old.is_control() {
                continue;
            }
            let run = run(&names.base, own, place);
            let is_own =
                |at: &usize| own.get(*at).is_some_and(|name| !names.base.contains(name) && !known.contains(name));
            if run.is_empty() || !run.clone().all(|at| is_own(&at)) {
                continue;
            }
            let parts: Vec<Part<'a>> = run.clone().filter_map(|at| list.get(at).copied()).collect();
            run.filter_map(|at| own.get(at)).for_each(|name| drop(changes.insert(name.clone(), Change::Gone)));
            changes.insert(name.clone(), Change::Replaced(parts));
        }
    }
    changes
}

/// Returns the places of what a side has between the two neighbours of an item of base, where that is the only one gone between them.
fn run(base: &[String], side: &[String], place: usize) -> std::ops::Range<usize> {
    let before = place.checked_sub(1).and_then(|before| base.get(before));
    let behind = base.get(place + 1);
    let at = |name: &String| side.iter().position(|other| other == name);
    let start = match before {
        None => Some(0),
        Some(name) => at(name).map(|at| at + 1),
    };
    let end = match behind {
        None => Some(side.len()),
        Some(name) => at(name),
    };
    start.zip(end).map_or(0..0, |(start, end)| start..end.max(start))
}

impl<'a> Structure<'a, '_> {
    /// Merges an entry that others have a part in.
    pub(super) fn changed(
        &mut self,
        change: &Change<'a>,
        trio: &Trio<'a>,
        column: usize,
    ) -> Result<Vec<Piece>, Impossible> {
        match change {
            Change::Gone => Ok(vec![absent(String::new())]),
            Change::Replaced(parts) => Ok(self.disputed(trio, parts, column)),
            Change::Nested { base, ours, theirs } => {
                let parts: Vec<Part<'a>> = if ours.is_some() { theirs.iter().copied().collect() } else { Vec::new() };
                Ok(self.disputed(&Three { base: Some(*base), ours: *ours, theirs: *theirs }, &parts, column))
            }
            Change::Wrapped { block, held: [base, other] } => {
                let inner = |list: &[Part<'a>]| list.to_vec();
                let arm: Vec<Part<'a>> =
                    blocks::arms(*block).into_iter().flat_map(|arm| Part::all(arm.cst, arm.node())).collect();
                let (ours, theirs) = match trio.ours.is_some_and(Part::is_block) {
                    true => (arm, inner(other)),
                    false => (inner(other), arm),
                };
                Ok(vec![self.all_wrapped(*block, &Three { base: inner(base), ours, theirs }, column)?])
            }
            Change::Below { inner, changed } => {
                let Some(whole) = trio.ours.or(trio.theirs) else { return Ok(vec![self.entry(trio, column)?]) };
                if inner.key() != changed.key() {
                    return Err(Impossible::Whole("one side renamed what the other put below another key".to_owned()));
                }
                let lines = changed.lines(inner.column());
                let made = whole.with_entry(*inner, (&lines, changed.hash()), column);
                let made = made.filter(|_| self.brackets == 0 && !inner.is_inline() && !changed.is_inline());
                match made {
                    Some((text, hash)) => {
                        let content = Some((whole.name(), hash));
                        Ok(vec![Piece { text: Rope::plain(text), gap: whole.gap(column), content, before: None }])
                    }
                    None => Err(Impossible::Here("an entry was put below another one in brackets".to_owned())),
                }
            }
        }
    }

    /// Asks about an item that one side changed and the other replaced.
    fn disputed(&mut self, trio: &Trio<'a>, parts: &[Part<'a>], column: usize) -> Vec<Piece> {
        let is_ours = trio.ours.is_none();
        let (kind, why) = match is_ours {
            _ if parts.is_empty() && is_ours => {
                (ConflictKind::DeleteEdit, "you deleted it and upstream put it below another key")
            }
            _ if parts.is_empty() => (ConflictKind::EditDelete, "you put it below another key and upstream deleted it"),
            _ if trio.ours.is_some() && trio.theirs.is_some() => {
                (ConflictKind::RenameRename, "both sides put it below another key")
            }
            true => (ConflictKind::DeleteEdit, "you put something else in its place and upstream changed it"),
            false => (ConflictKind::EditDelete, "you changed it and upstream put something else in its place"),
        };
        let of = |part: Option<Part<'a>>| part.into_iter().collect::<Vec<Part<'a>>>();
        let mine = if is_ours { parts.to_vec() } else { of(trio.ours) };
        let upstream = if is_ours { of(trio.theirs) } else { parts.to_vec() };
        let sides = Three { base: of(trio.base), ours: mine, theirs: upstream };

        let lines = sides.as_ref().map(|parts| parts.iter().map(|part| part.lines(column)).collect::<String>());
        let told = |parts: &Vec<Part<'a>>| (!parts.is_empty()).then(|| parts.iter().map(|part| shown(*part)).collect());
        let hash =
            |parts: &Vec<Part<'a>>| (!parts.is_empty()).then(|| hash_of_list(parts.iter().map(|part| part.hash())));
        let asked = Sides { shown: sides.as_ref().map(told), hashes: sides.as_ref().map(hash) };
        let place = self.path.concat();
        let (number, take) = self.found.open(self.rules, (kind, why), (self.subject, &place), asked);
        let taken = match take {
            Some(Take::Upstream) => &sides.theirs,
            Some(Take::Base) => &sides.base,
            Some(Take::Mine | Take::Value(_)) | None => &sides.ours,
        };
        let mut pieces: Vec<Piece> = taken.iter().map(|part| self.kept(*part, column)).collect();
        if let Some(number) = number {
            // The question is about all of its lines at once.
            pieces.iter_mut().for_each(|piece| piece.text = Rope::default());
            if pieces.is_empty() {
                pieces.push(absent(String::new()));
            }
            pieces.iter_mut().take(1).for_each(|piece| piece.text = Rope::open(vec![number], lines.clone()));
        }
        pieces
    }
}
