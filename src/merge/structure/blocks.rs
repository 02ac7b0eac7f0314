//! Pure. Merges the blocks of templates, each of which is one entry of its collection, and tells which of them are one.
//!
//! A block is known by what its first line says and by what it holds; lines that stand for themselves by what they say. Not here: finding
//! such lines (`template`), putting them together to blocks (`yaml`).

use std::collections::BTreeMap;

use super::super::align::is_unique;
use super::super::conflict::ConflictKind;
use super::super::likeness::{self, Leaves, alike, known_by, leaves};
use super::super::part::Part;
use super::super::piece::{Piece, Rope, assemble, reindent};
use super::super::place::{Frame, around, order};
use super::super::tree::Three;
use super::beside::{Change, Changes};
use super::{Collected, Impossible, Named, Structure, Trio, both_ways, crossing};
use crate::base::{Digest, sha256};
use crate::yaml::cst::{Kind, Label, Node, hash_of_block};

/// Share of equal leaves, in percent, from which two blocks are one whatever their lines say.
const ALIKE_PERCENT: usize = 50;
/// Name of the first arm of a block.
const FIRST: &str = "if";
/// Name of the arm of a block that has no condition.
const LAST: &str = "else";
/// Share of equal keys, in percent, from which two blocks are one whatever they hold under them.
const SAME_KEYS_PERCENT: usize = 80;
/// What two entries have in common that are one by what they say alone.
const SAYS_THE_SAME: usize = 50;
/// Blocks and lines of two sides that are compared with each other; more are paired where they are the same alone.
const MAX_COMPARISONS: usize = 250_000;
/// What two entries have in common that are the same.
const IS_THE_SAME: usize = 1_000;

/// Names all entries of a collection: those that are YAML have names, others get some.
pub(super) fn names(lists: &Three<Vec<Part<'_>>>, named: Three<Vec<String>>, cells: usize) -> Three<Vec<String>> {
    let count = [&lists.base, &lists.ours, &lists.theirs].map(|list| controls(list).len());
    if count == [0; 3] {
        return named;
    }
    let controls = lists.as_ref().map(|list| controls(list));
    let base: Vec<String> = (0..controls.base.len()).map(|place| format!("!{place}")).collect();
    let own = |side: &[Part<'_>], mark: char| -> Vec<String> {
        let mut found: Vec<String> = (0..side.len()).map(|place| format!("!{mark}{place}")).collect();
        for (old, new) in paired(&controls.base, side, cells) {
            if let (Some(slot), Some(name)) = (found.get_mut(new), base.get(old)) {
                slot.clone_from(name);
            }
        }
        found
    };
    let (ours, theirs) = (own(&controls.ours, 'o'), own(&controls.theirs, 't'));
    let mut all = Three {
        base: woven(&lists.base, named.base, base.clone()),
        ours: woven(&lists.ours, named.ours, ours),
        theirs: woven(&lists.theirs, named.theirs, theirs),
    };
    let (mine, upstream) = (all.ours.clone(), all.theirs.clone());
    in_place((&lists.base, &all.base), (&lists.ours, &mut all.ours), &upstream);
    in_place((&lists.base, &all.base), (&lists.theirs, &mut all.theirs), &mine);
    pair_added((&lists.ours, &all.ours), (&lists.theirs, &mut all.theirs));
    for other in [&lists.base, &lists.theirs].into_iter().zip([all.base.clone(), all.theirs.clone()]) {
        pair_wrapped((other.0, &other.1), &all.base, (&lists.ours, &mut all.ours));
    }
    for other in [&lists.base, &lists.ours].into_iter().zip([all.base.clone(), all.ours.clone()]) {
        pair_wrapped((other.0, &other.1), &all.base, (&lists.theirs, &mut all.theirs));
    }
    all
}

/// Gives a block of one side, which no other side has, the name of an entry of another side that stands in it and not beside it any more.
/// The same for an entry that was taken out of a block of base. Of several entries in one block nobody could say which one it is.
fn pair_wrapped(known: Named<'_, '_>, base: &[String], (list, names): (&[Part<'_>], &mut [String])) {
    let mut taken = names.to_vec();
    let is_new = |name: &String| !known.1.contains(name) && !base.contains(name);
    let new: Vec<Part<'_>> =
        list.iter().zip(names.iter()).filter(|(_, name)| is_new(name)).map(|(part, _)| *part).collect();
    for (part, slot) in list.iter().zip(names.iter_mut()).filter(|(_, slot)| is_new(slot)) {
        let is_single = |block: Part<'_>| {
            let of_known =
                known.0.iter().zip(known.1).filter(|(_, name)| !taken.contains(name)).map(|(entry, _)| *entry);
            let beside: Vec<Part<'_>> = if part.is_block() { of_known.collect() } else { new.clone() };
            beside.iter().filter(|entry| !entry.is_control() && holds(block, **entry)).count() == 1
        };
        let wraps = |(other, name): &(&Part<'_>, &String)| {
            let (block, entry) = if part.is_block() { (*part, **other) } else { (**other, *part) };
            !taken.contains(name) && block.is_block() && !entry.is_control() && holds(block, entry) && is_single(block)
        };
        if let Some((_, name)) = known.0.iter().zip(known.1).find(wraps) {
            slot.clone_from(name);
            taken.push(name.clone());
        }
    }
}

/// Finds blocks into which one side put several entries that base and the other side have beside each other.
pub(super) fn wrapped<'a>(lists: &Three<Vec<Part<'a>>>, names: &Three<Vec<String>>) -> Changes<'a> {
    let mut changes = Changes::new();
    for [(list, own), (others, known)] in both_ways(lists, names) {
        for (block, name) in list.iter().zip(own).filter(|(part, name)| part.is_block() && !names.base.contains(name)) {
            let [arm] = arms(*block)[..] else { continue };
            let held: Vec<String> = Part::all(arm.cst, arm.node()).into_iter().filter_map(crossing::called).collect();
            let run = |list: &[Part<'a>]| -> Option<(usize, usize)> {
                let is_held = |part: &Part<'a>| crossing::called(*part).is_some_and(|name| held.contains(&name));
                let first = list.iter().position(is_held)?;
                let count = list.iter().skip(first).take_while(|part| is_held(part)).count();
                (list.iter().filter(|part| is_held(part)).count() == count && count > 1).then_some((first, count))
            };
            let (Some(before), Some(there)) = (run(&lists.base), run(others)) else { continue };
            let taken = |(first, count): (usize, usize), names: &[String]| {
                names.iter().skip(first).take(count).cloned().collect::<Vec<_>>()
            };
            let gone = taken(before, &names.base);
            // The other side has all of them, and nothing of its own between them.
            if known.contains(name) || gone != taken(there, known) || gone.iter().any(|entry| own.contains(entry)) {
                continue;
            }
            let parts = |(first, count): (usize, usize), list: &[Part<'a>]| {
                list.iter().skip(first).take(count).copied().collect::<Vec<_>>()
            };
            changes.extend(gone.into_iter().map(|entry| (entry, Change::Gone)));
            let held = [parts(before, &lists.base), parts(there, others)];
            changes.insert(name.clone(), Change::Wrapped { block: *block, held });
        }
    }
    changes
}

/// Returns the entry of a block that is the same as one beside it: of the same key, or with the same name or content.
fn held<'a>(block: Part<'a>, entry: Part<'_>) -> Option<Part<'a>> {
    let called = |part: Part<'_>| Some(known_by(part.cst, part.child.value).to_owned()).filter(|name| name != "-");
    let is_same = |part: &Part<'_>| match (part.key(), entry.key()) {
        (Some(key), Some(other)) => key == other,
        (None, None) => part.hash() == entry.hash() || called(*part).is_some() && called(*part) == called(entry),
        (Some(_), None) | (None, Some(_)) => false,
    };
    let inner = |arm: Part<'a>| Part::all(arm.cst, arm.node());
    arms(block).into_iter().flat_map(inner).find_map(|part| match part.is_block() {
        true => held(part, entry),
        false => Some(part).filter(is_same),
    })
}

fn holds(block: Part<'_>, entry: Part<'_>) -> bool {
    held(block, entry).is_some()
}

fn controls<'a>(list: &[Part<'a>]) -> Vec<Part<'a>> {
    list.iter().copied().filter(|part| part.is_control()).collect()
}

/// Puts the names of lines between those of entries.
fn woven(list: &[Part<'_>], named: Vec<String>, controls: Vec<String>) -> Vec<String> {
    let (mut named, mut controls) = (named.into_iter(), controls.into_iter());
    let name = |part: &Part<'_>| if part.is_control() { controls.next() } else { named.next() };
    list.iter().filter_map(name).collect()
}

/// Returns pairs of blocks and lines: in their order, so that those of one pair have as much in common as can be, and then those that are the
/// same and moved.
fn paired(old: &[Part<'_>], new: &[Part<'_>], cells: usize) -> Vec<(usize, usize)> {
    let hashes = |list: &[Part<'_>]| list.iter().map(|part| part.hash()).collect::<Vec<Digest>>();
    let (before, after) = (hashes(old), hashes(new));
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (olds, news) = (head..old.len() - tail, head..new.len() - tail);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|place| (place, place)).collect();
    if olds.len().saturating_mul(news.len()) <= cells.min(MAX_COMPARISONS) {
        let found = in_order(old.get(olds.clone()).unwrap_or_default(), new.get(news.clone()).unwrap_or_default());
        pairs.extend(found.into_iter().map(|(a, b)| (a + head, b + head)));
    }
    pairs.extend((0..tail).map(|place| (old.len() - tail + place, new.len() - tail + place)));
    let mut moved: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
    for place in olds.into_iter().filter(|place| !pairs.iter().any(|(old, _)| old == place)) {
        before.get(place).into_iter().for_each(|hash| moved.entry(*hash).or_default().push(place));
    }
    for place in news {
        let is_free = !pairs.iter().any(|(_, new)| *new == place);
        let same = after.get(place).filter(|_| is_free).and_then(|hash| moved.get_mut(hash)).and_then(Vec::pop);
        pairs.extend(same.map(|old| (old, place)));
    }
    pairs
}

/// Returns pairs in their order.
fn in_order(old: &[Part<'_>], new: &[Part<'_>]) -> Vec<(usize, usize)> {
    let (old, new): (Vec<Known<'_>>, Vec<Known<'_>>) =
        (old.iter().map(|part| Known::of(*part)).collect(), new.iter().map(|part| Known::of(*part)).collect());
    // The most that what is left has in common, from the end.
    let mut rows: Vec<Vec<usize>> = vec![vec![0; new.len() + 1]];
    let mut scores: Vec<Vec<usize>> = Vec::with_capacity(old.len());
    for before in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let own: Vec<usize> = new.iter().map(|after| before.in_common(after)).collect();
        let mut row = vec![0; new.len() + 1];
        for (place, score) in own.iter().enumerate().rev() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(0);
            let paired = if *score > 0 { at(&below, place + 1) + score } else { 0 };
            let best = at(&below, place).max(at(&row, place + 1)).max(paired);
            row.iter_mut().skip(place).take(1).for_each(|slot| *slot = best);
        }
        rows.push(row);
        scores.push(own);
    }
    rows.reverse();
    scores.reverse();
    let at = |rows: &[Vec<usize>], a: usize, b: usize| rows.get(a).and_then(|row| row.get(b)).copied().unwrap_or(0);
    let (mut a, mut b) = (0, 0);
    let mut pairs = Vec::new();
    while a < old.len() && b < new.len() {
        let score = at(&scores, a, b);
        if score > 0 && at(&rows, a, b) == at(&rows, a + 1, b + 1) + score {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if at(&rows, a + 1, b) >= at(&rows, a, b + 1) {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

/// What a block or line is known by.
struct Known<'a> {
    is_block: bool,
    words: &'a str,
    about: Option<&'a str>,
    hash: Digest,
    held: Leaves,
    /// Names of the entries that it holds, how often each occurs.
    keys: Leaves,
    /// What the blocks in it say.
    inner: Vec<&'a str>,
}

impl<'a> Known<'a> {
    fn of(part: Part<'a>) -> Self {
        let words = part.words().unwrap_or("");
        let arms = arms(part);
        let (mut held, mut keys) = (Leaves::new(), Leaves::new());
        for arm in arms {
            for (leaf, count) in leaves(arm.cst, arm.child.value) {
                *held.entry(leaf).or_default() += count;
            }
            for entry in Part::all(arm.cst, arm.node()) {
                let name = entry.key().or(entry.words()).unwrap_or_else(|| known_by(entry.cst, entry.child.value));
                *keys.entry(sha256(name.as_bytes())).or_default() += 1;
            }
        }
        let inner = inner_blocks(part).into_iter().filter_map(Part::words).collect();
        Self { is_block: part.is_block(), words, about: about(words), hash: part.hash(), held, keys, inner }
    }

    /// Returns how much two of them have in common; nothing where they are not one.
    fn in_common(&self, other: &Self) -> usize {
        if self.is_block != other.is_block {
            return 0;
        }
        if self.hash == other.hash {
            return IS_THE_SAME;
        }
        // What holds the other one is another block around it.
        if self.words != other.words && (self.inner.contains(&other.words) || other.inner.contains(&self.words)) {
            return 0;
        }
        // What they hold says more than what they ask for: one condition is often that of several blocks.
        let share =
            |own: &Leaves, other: &Leaves| if own.is_empty() && other.is_empty() { 0 } else { alike(own, other) };
        let (held, keys) = (share(&self.held, &other.held), share(&self.keys, &other.keys));
        let says_the_same = self.words == other.words || self.about.is_some() && self.about == other.about;
        let is_one = says_the_same || self.is_block && (held >= ALIKE_PERCENT || keys >= SAME_KEYS_PERCENT);
        let score = 2 * held + keys + if says_the_same { SAYS_THE_SAME } else { 0 };
        if is_one { score } else { 0 }
    }
}

/// Returns what a line is about, whatever it says about that: the variable that it sets.
fn about(words: &str) -> Option<&str> {
    let inner = words.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '$').strip_prefix('$')?;
    let (name, rest) = inner.split_once([' ', ':', '='])?;
    rest.trim_start()
        .trim_start_matches(':')
        .starts_with('=')
        .then_some(name)
        .or_else(|| rest.starts_with('=').then_some(name))
}

/// Pairs what is the only one gone between two entries with the only one that came between them.
fn in_place(base: (&[Part<'_>], &[String]), (list, names): (&[Part<'_>], &mut [String]), other: &[String]) {
    let before = names.to_vec();
    for (at, (part, slot)) in list.iter().zip(names.iter_mut()).enumerate() {
        if !part.is_control() || part.is_block() || base.1.contains(slot) || other.contains(slot) {
            continue;
        }
        let is_gone = |(place, (old, name)): &(usize, (&Part<'_>, &String))| {
            old.is_control()
                && !old.is_block()
                && !before.contains(*name)
                && around(base.1, *place) == around(&before, at)
        };
        if let Some((_, (_, name))) = base.0.iter().zip(base.1).enumerate().find(is_gone) {
            slot.clone_from(name);
        }
    }
}

/// Pairs what both sides added: the same, or what says the same at one place.
fn pair_added((ours, mine): (&[Part<'_>], &[String]), (theirs, upstream): (&[Part<'_>], &mut [String])) {
    let behind = |names: &[String]| -> Vec<Option<String>> {
        let mut last = None;
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            found.push(last.clone());
            if !name.starts_with("!o") && !name.starts_with("!t") {
                last = Some(name.clone());
            }
        }
        found
    };
    let (of_ours, of_theirs) = (behind(mine), behind(upstream));
    let mut used: Vec<&String> = Vec::new();
    for is_exact in [true, false] {
        for (at, (part, slot)) in theirs.iter().zip(upstream.iter_mut()).enumerate() {
            if !slot.starts_with("!t") {
                continue;
            }
            let is_one = |(place, (other, name)): &(usize, (&Part<'_>, &String))| {
                let says_the_same = || {
                    other.is_block() == part.is_block()
                        && (other.words() == part.words()
                            || about(other.words().unwrap_or(""))
                                .is_some_and(|known| about(part.words().unwrap_or("")) == Some(known)))
                        && of_ours.get(*place) == of_theirs.get(at)
                };
                name.starts_with("!o")
                    && !used.contains(name)
                    && if is_exact { other.hash() == part.hash() } else { says_the_same() }
            };
            if let Some((_, (_, name))) = ours.iter().zip(mine).enumerate().find(is_one) {
                used.push(name);
                slot.clone_from(name);
            }
        }
    }
}

fn about_text(part: Part<'_>) -> Option<String> {
    likeness::about(&part.node().text)
}

/// Returns the blocks in a block, however deep.
pub(super) fn inner_blocks(part: Part<'_>) -> Vec<Part<'_>> {
    let (mut found, mut open) = (Vec::new(), vec![part]);
    while let Some(next) = open.pop() {
        let held = arms(next).into_iter().flat_map(|arm| Part::all(arm.cst, arm.node()));
        let inner: Vec<Part<'_>> = held.filter(|part| part.is_block()).collect();
        open.extend(&inner);
        found.extend(inner);
    }
    found
}

/// Returns the arms of a block.
pub(super) fn arms(part: Part<'_>) -> Vec<Part<'_>> {
    if !part.is_block() {
        return Vec::new();
    }
    let all = Part::all(part.cst, part.node());
    all.into_iter().filter(|arm| matches!(arm.child.label, Label::Arm(_))).collect()
}

fn end(part: Part<'_>) -> Option<Part<'_>> {
    Part::all(part.cst, part.node()).into_iter().find(|line| matches!(line.child.label, Label::End(_)))
}

/// Names the arms of a block: the first one, the last one without a condition, others by what they say, and those that are left by their
/// order if they are as many.
pub(super) fn arm_names(blocks: &Three<Option<Vec<Part<'_>>>>) -> Option<Three<Vec<String>>> {
    let is_last =
        |words: &str| words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).eq(["else"]);
    let name = |(place, arm): (usize, &Part<'_>)| match arm.words().unwrap_or("") {
        _ if place == 0 => FIRST.to_owned(),
        words if is_last(words) => LAST.to_owned(),
        words => words.to_owned(),
    };
    let of = |arms: &Option<Vec<Part<'_>>>| -> Vec<String> { arms.iter().flatten().enumerate().map(name).collect() };
    let mut names = Three { base: of(&blocks.base), ours: of(&blocks.ours), theirs: of(&blocks.theirs) };
    if [&blocks.ours, &blocks.theirs].into_iter().any(|side| is_crossed(blocks.base.as_deref(), side.as_deref())) {
        return None;
    }
    let base = names.base.clone();
    for side in [&mut names.ours, &mut names.theirs] {
        let gone: Vec<&String> = base.iter().filter(|name| !side.contains(name)).collect();
        let come: Vec<usize> =
            (0..side.len()).filter(|at| side.get(*at).is_some_and(|name| !base.contains(name))).collect();
        if gone.len() == come.len() {
            for (name, at) in gone.into_iter().zip(come) {
                side.iter_mut().skip(at).take(1).for_each(|slot| slot.clone_from(name));
            }
        }
    }
    let is_told = is_unique(&names.base) && is_unique(&names.ours) && is_unique(&names.theirs);
    is_told.then_some(names)
}

/// Returns whether an arm of a side holds what another arm of base held: nobody knows which arm is which then.
fn is_crossed(base: Option<&[Part<'_>]>, side: Option<&[Part<'_>]>) -> bool {
    let (base, side) = (base.unwrap_or_default(), side.unwrap_or_default());
    let holds = |list: &[Part<'_>], at: usize| list.get(at).map(|arm| arm.node().hash);
    (0..side.len()).any(|at| {
        let own = holds(side, at);
        own != holds(base, at)
            && (0..base.len()).any(|other| other != at && holds(base, other) == own)
            && base.len() == side.len()
    })
}

/// A merged arm.
struct Arm {
    text: Rope,
    words: String,
    hash: Digest,
    whole: Vec<usize>,
}

impl<'a> Structure<'a, '_> {
    /// Merges a block that ours and theirs have, arm by arm; what cannot be told apart in it is one question.
    pub(super) fn block(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        column: usize,
    ) -> Result<Piece, Impossible> {
        let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
        let mark = self.found.mark();
        if let Some(piece) = self.arms(&trio, column)? {
            return Ok(piece);
        }
        self.found.reset(mark);
        let why = "both sides changed the block of the template";
        Ok(self.conflict(ConflictKind::TemplateBlock, why, &trio, column))
    }

    /// Merges an entry that one side put into a block of a template and the other changed: the change comes into the block where it fits.
    pub(super) fn wrapped(&mut self, trio: &Trio<'a>, column: usize) -> Result<Piece, Impossible> {
        let mark = self.found.mark();
        if let Some(piece) = self.rewrapped(trio, column)? {
            return Ok(piece);
        }
        self.found.reset(mark);
        let (kind, why) = match trio.base {
            Some(_) => (ConflictKind::TemplateBlock, "both sides changed it, and a block of the template around it"),
            None => (ConflictKind::BothAdded, "both sides added it, one of them in a block of the template"),
        };
        Ok(self.conflict(kind, why, trio, column))
    }

    fn rewrapped(&mut self, trio: &Trio<'a>, column: usize) -> Result<Option<Piece>, Impossible> {
        let Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) } = *trio else { return Ok(None) };
        if base.is_control() || ours.is_block() == theirs.is_block() {
            return Ok(None);
        }
        let (block, entry) = if ours.is_block() { (ours, theirs) } else { (theirs, ours) };
        // A text at the same place is not that text with another value.
        let is_another =
            entry.node().kind == Kind::Scalar && entry.key().is_none() && about_text(entry) != about_text(base);
        if is_another {
            return Ok(None);
        }
        let Some(inner) = held(block, base) else { return Ok(None) };
        let pick = |part: Part<'a>| Some(if part.is_block() { inner } else { part });
        let mark = self.found.mark();
        let piece = self.entry(&Three { base: Some(base), ours: pick(ours), theirs: pick(theirs) }, column)?;
        let Some((_, hash)) = piece.content.as_ref().filter(|_| self.found.conflicts_since(mark) == 0) else {
            return Ok(None);
        };
        // A comment above the entry that stands above the block now is the block's.
        let is_above = inner.lead().is_empty() && !entry.lead().is_empty();
        let (above, text) = (reindent(&entry.lead(), 0, column), piece.text.ours());
        let text = text.strip_prefix(&above).filter(|_| is_above).unwrap_or(&text);
        let Some((text, content)) = block.with_entry(inner, (text, *hash), column) else { return Ok(None) };
        let lead = if is_above { self.comment(Some(base.lead()), ours.lead(), theirs.lead()) } else { block.lead() };
        let text = text.strip_prefix(&block.lead()).map_or(text.clone(), |rest| format!("{lead}{rest}"));
        Ok(Some(Piece {
            text: Rope::plain(text),
            gap: block.gap(column),
            content: Some((block.name(), content)),
            before: None,
        }))
    }

    /// Merges entries that one side put into a block with those of base and the other side, which stand beside each other there.
    pub(super) fn all_wrapped(
        &mut self,
        block: Part<'a>,
        lists: &Three<Vec<Part<'a>>>,
        column: usize,
    ) -> Result<Piece, Impossible> {
        let (Some(arm), Some(end)) = (arms(block).first().copied(), end(block)) else {
            return Err(Impossible::Here("a block of the template has no arm".to_owned()));
        };
        let Collected { pieces, hash, whole } = self.level(lists, arm.node().kind, column)?;
        if !whole.is_empty() {
            return Err(Impossible::Whole(
                "both sides put what is in a block of the template in another order".to_owned(),
            ));
        }
        let (held, gap) = assemble(pieces);
        let mut text =
            Rope::plain(format!("{}{}{}", block.lead(), arm.cst.slice(&arm.child.own), arm.cst.slice(&arm.child.gap)));
        text.push(held);
        text.push_str(&gap);
        text.push_str(end.cst.slice(&(end.child.start..end.child.own.end)));
        let content = hash_of_block([(arm.words().unwrap_or(""), hash)].into_iter(), end.words().unwrap_or(""));
        Ok(Piece { text, gap: block.gap(column), content: Some((block.name(), content)), before: None })
    }

    /// Merges the arms of a block; nothing where both sides changed one of its lines, or one of them an arm that the other took away.
    fn arms(&mut self, trio: &Trio<'a>, column: usize) -> Result<Option<Piece>, Impossible> {
        let Three { base, ours: Some(ours), theirs: Some(theirs) } = *trio else { return Ok(None) };
        let blocks = Three { base: base.map(arms), ours: Some(arms(ours)), theirs: Some(arms(theirs)) };
        let Some(names) = arm_names(&blocks) else { return Ok(None) };
        let slices = Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] };
        let ordered = order(&slices, Frame::Merged);
        if ordered.is_disputed {
            return Ok(None);
        }
        let by_name = |names: &[String], arms: &Option<Vec<Part<'a>>>| -> BTreeMap<String, Part<'a>> {
            names.iter().cloned().zip(arms.iter().flatten().copied()).collect()
        };
        let (old, mine, upstream) = (
            by_name(&names.base, &blocks.base),
            by_name(&names.ours, &blocks.ours),
            by_name(&names.theirs, &blocks.theirs),
        );
        let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
        let mut text = Rope::plain(lead);
        let (mut contents, mut whole) = (Vec::new(), Vec::new());
        for name in &ordered.names {
            let arm = Three {
                base: old.get(name).copied(),
                ours: mine.get(name).copied(),
                theirs: upstream.get(name).copied(),
            };
            let same = |a: Option<Part<'_>>, b: Option<Part<'_>>| a.map(said) == b.map(said);
            match (arm.base, arm.ours, arm.theirs) {
                (Some(_), None, None) => continue,
                (Some(_), None, Some(_)) if same(arm.base, arm.theirs) => continue,
                (Some(_), Some(_), None) if same(arm.base, arm.ours) => continue,
                (Some(_), None, Some(_)) | (Some(_), Some(_), None) => return Ok(None),
                (_, Some(_), Some(_)) | (None, _, _) => {}
            }
            let depth = self.path.len();
            if name != FIRST {
                self.path.push(format!("[{name}]"));
            }
            let merged = self.arm(&arm, column)?;
            self.path.truncate(depth);
            let Some(merged) = merged else { return Ok(None) };
            text.push(merged.text);
            whole.extend(merged.whole);
            contents.push((merged.words, merged.hash));
        }
        let Some(last) = line(&Three { base: base.and_then(end), ours: end(ours), theirs: end(theirs) }) else {
            return Ok(None);
        };
        text.push_str(last.cst.slice(&(last.child.start..last.child.own.end)));
        let hash =
            hash_of_block(contents.iter().map(|(words, hash)| (words.as_str(), *hash)), last.words().unwrap_or(""));
        let text = if whole.is_empty() { text } else { self.widened(text, whole, (base, theirs), column) };
        // The name of a block in its collection is what its first line says.
        let name = contents.first().map_or_else(String::new, |(words, _)| format!("!{words}"));
        Ok(Some(Piece { text, gap: String::new(), content: Some((name, hash)), before: None }))
    }

    /// Merges one arm; nothing where both sides changed its line.
    fn arm(&mut self, arm: &Trio<'a>, column: usize) -> Result<Option<Arm>, Impossible> {
        let Some(known) = line(arm) else { return Ok(None) };
        let words = known.words().unwrap_or("").to_owned();
        let mut text = Rope::plain(known.cst.slice(&known.child.own));
        let (Some(ours), Some(theirs)) = (arm.ours, arm.theirs) else {
            let Some(only) = arm.ours.or(arm.theirs) else { return Ok(None) };
            text.push_str(&held_lines(only, column));
            return Ok(Some(Arm { text, words, hash: only.node().hash, whole: Vec::new() }));
        };
        let gap = self.gap(arm.base, ours, theirs, column);
        text.push_str(&gap);
        let node = |part: Option<Part<'a>>| part.map(Part::node);
        let nodes: Three<Option<&'a Node>> =
            Three { base: node(arm.base), ours: node(Some(ours)), theirs: node(Some(theirs)) };
        let Collected { pieces, hash, whole } = self.collection(nodes, column)?;
        let (held, gap) = assemble(pieces);
        text.push(held);
        text.push_str(&gap);
        Ok(Some(Arm { text, words, hash, whole }))
    }
}

/// Returns what an arm says and holds.
fn said(arm: Part<'_>) -> (&str, Digest) {
    (arm.words().unwrap_or(""), arm.node().hash)
}

/// Returns what an arm holds, at a column.
fn held_lines(arm: Part<'_>, column: usize) -> String {
    let mut lines = arm.cst.slice(&arm.child.gap).to_owned();
    for held in Part::all(arm.cst, arm.node()) {
        lines.push_str(&held.lines(column));
        lines.push_str(&held.gap(column));
    }
    lines
}

/// Returns the side whose line of a block stands; nothing where both sides changed it.
fn line<'a>(trio: &Trio<'a>) -> Option<Part<'a>> {
    let words = |part: Option<Part<'a>>| part.and_then(Part::words);
    match (trio.ours, trio.theirs) {
        (Some(ours), Some(theirs)) => {
            if words(Some(ours)) == words(Some(theirs)) || words(trio.base) == words(Some(theirs)) {
                Some(ours)
            } else if words(trio.base) == words(Some(ours)) {
                Some(theirs)
            } else {
                None
            }
        }
        (ours, theirs) => ours.or(theirs),
    }
}

/// Returns whether something is left of a collection that is more than lines of a template.
pub(super) fn holds_entries(pieces: &[Piece], (open, _): &(String, String)) -> bool {
    let is_entry = |line: &str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with(open.as_str())
    };
    let holds = |(name, piece): (&String, &Piece)| !name.starts_with('!') || piece.text.ours().lines().any(is_entry);
    pieces.iter().filter_map(|piece| Some((&piece.content.as_ref()?.0, piece))).any(holds)
}
