//! Pure. Which item of a list without keys is which on the other sides: by content, by what a text is about, by likeness, by place.
//!
//! Not here: lists whose items have keys (`align`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ALIKE_PERCENT, MIN_LEAVES, best_pairs};
use crate::base::Digest;
use crate::merge::likeness::{Leaves, about, alike, leaves};
use crate::merge::part::Part;
use crate::merge::tree::Three;
use crate::yaml::cst::{Kind, Style};

/// Share of leaves, in percent, that an item which both sides hold equal has in common with what it was before, whatever else is like that.
const SHARED_PERCENT: usize = 50;

/// What the texts of a list are about.
struct Subjects {
    /// What each list holds at most once.
    unique: BTreeSet<String>,
    texts: Texts,
}

/// What texts of a list are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Texts {
    /// Values, so that another text at the place of one may be it with another value.
    Values,
    /// Names, so that another text is another item wherever it stands.
    Names,
}

/// Names the items of a sequence: those of base by their number, others by their side.
pub(super) fn sequence(lists: &Three<Vec<Part<'_>>>, texts: Texts, cells: usize) -> Three<Vec<String>> {
    let base: Vec<String> = (0..lists.base.len()).map(|place| place.to_string()).collect();
    if let Some((ours, theirs)) = by_occurrence(lists) {
        return Three { base, ours, theirs };
    }
    if is_by_place(lists) {
        return Three { base: base.clone(), ours: base.clone(), theirs: base };
    }
    let about = &Subjects { unique: unique_subjects(lists), texts };
    let (mut ours, mut theirs) = with_twins(lists, about, cells);
    let (before, after) = (ours.clone(), theirs.clone());
    follow((&lists.ours, &mut ours), (&lists.theirs, &after), 'o');
    follow((&lists.theirs, &mut theirs), (&lists.ours, &before), 't');
    let (before, after) = (ours.clone(), theirs.clone());
    part_replaced((&lists.ours, &mut ours), &lists.base, (&lists.theirs, &after), 'o');
    part_replaced((&lists.theirs, &mut theirs), &lists.base, (&lists.ours, &before), 't');
    pair_added(lists, &ours, &mut theirs, about);
    let (before, after) = (ours.clone(), theirs.clone());
    pair_tied(&lists.base, (&lists.ours, &mut ours), &after);
    pair_tied(&lists.base, (&lists.theirs, &mut theirs), &before);
    Three { base, ours, theirs }
}

/// Names the items of two sides by their partners in base. Items that both sides hold equal are one item before any guess is made of what
/// either was: the changed form of what one of the guesses took it for, or an addition of both.
fn with_twins(lists: &Three<Vec<Part<'_>>>, about: &Subjects, cells: usize) -> (Vec<String>, Vec<String>) {
    let find = |list: &[Part<'_>], known: &Known| partners((&lists.base, list), (about, known), cells);
    let (mut ours, mut theirs) = (find(&lists.ours, &Known::new()), find(&lists.theirs, &Known::new()));
    let twins = twins(lists);
    let (mut of_ours, mut of_theirs, mut taken) = (Known::new(), Known::new(), BTreeSet::new());
    let before = Before::new(lists, &twins);
    for (mine, upstream) in &twins {
        let guesses = [ours.get(*mine).copied().flatten(), theirs.get(*upstream).copied().flatten()];
        let guesses: BTreeSet<usize> = guesses.into_iter().flatten().collect();
        let mut meant = guesses.into_iter().filter(|old| !taken.contains(old) && before.became(*old, *mine));
        let old = meant.next().filter(|_| meant.next().is_none());
        taken.extend(old);
        of_ours.insert(*mine, old);
        of_theirs.insert(*upstream, old);
    }
    if !twins.is_empty() {
        (ours, theirs) = (find(&lists.ours, &of_ours), find(&lists.theirs, &of_theirs));
    }

    let name = |partners: Vec<Option<usize>>, numbers: BTreeMap<usize, usize>, side: &str| -> Vec<String> {
        let named = |(place, partner): (usize, Option<usize>)| match (partner, numbers.get(&place)) {
            (Some(partner), _) => partner.to_string(),
            (None, Some(number)) => format!("both{number}"),
            (None, None) => format!("{side}{place}"),
        };
        partners.into_iter().enumerate().map(named).collect()
    };
    let numbers =
        |pick: fn(&(usize, usize)) -> usize| twins.iter().map(pick).enumerate().map(|(nth, at)| (at, nth)).collect();
    (name(ours, numbers(|twin| twin.0), "o"), name(theirs, numbers(|twin| twin.1), "t"))
}

/// Takes an item that the other side deleted for the first of several that it may have become here: which one is not known, and that it did not
/// come back unasked is.
fn pair_tied(base: &[Part<'_>], (parts, names): (&[Part<'_>], &mut [String]), other: &[String]) {
    let is_gone = |place: &usize, names: &[String]| {
        let name = place.to_string();
        !names.contains(&name) && !other.contains(&name)
    };
    let gone: Vec<usize> = (0..base.len()).filter(|place| is_gone(place, names)).collect();
    for old in gone {
        let Some(before) = base.get(old).filter(|part| is_map(part)).map(leaves_of) else { continue };
        let is_own = |name: &String| name.parse::<usize>().is_err() && !other.contains(name);
        let is_like = |(_, (part, name)): &(usize, (&Part<'_>, &String))| {
            is_own(name)
                && is_map(part)
                && before.len() >= MIN_LEAVES
                && alike(&before, &leaves_of(part)) >= ALIKE_PERCENT
        };
        let found = parts.iter().zip(names.iter()).enumerate().find(is_like).map(|(place, _)| place);
        if let Some(slot) = found.and_then(|place| names.get_mut(place)) {
            *slot = old.to_string();
        }
    }
}

/// What tells what an item of base became.
struct Before<'a, 'b> {
    lists: &'a Three<Vec<Part<'b>>>,
    /// Contents that a side holds.
    held: BTreeSet<Digest>,
    /// Leaves of the maps that one side alone has.
    own: Vec<Leaves>,
}

impl<'a, 'b> Before<'a, 'b> {
    fn new(lists: &'a Three<Vec<Part<'b>>>, twins: &[(usize, usize)]) -> Self {
        let sides = || lists.ours.iter().chain(&lists.theirs);
        let known: BTreeSet<Digest> = lists.base.iter().map(|part| part.hash()).collect();
        let both: BTreeSet<Digest> =
            twins.iter().filter_map(|(mine, _)| lists.ours.get(*mine)).map(|part| part.hash()).collect();
        let is_own = |part: &&Part<'_>| is_map(part) && !known.contains(&part.hash()) && !both.contains(&part.hash());
        let own = if twins.is_empty() { Vec::new() } else { sides().filter(is_own).map(leaves_of).collect() };
        Self { lists, held: sides().map(|part| part.hash()).collect(), own }
    }

    /// Returns whether an item became one that both sides hold: no side still holds it as it was, and nothing that one side alone has is more
    /// like it, unless they have most in common.
    fn became(&self, old: usize, mine: usize) -> bool {
        let (Some(before), Some(after)) = (self.lists.base.get(old), self.lists.ours.get(mine)) else { return false };
        if self.held.contains(&before.hash()) {
            return false;
        }
        if !is_map(before) || !is_map(after) {
            return true;
        }
        let known = leaves_of(before);
        let score = alike(&known, &leaves_of(after));
        score >= SHARED_PERCENT || self.own.iter().all(|rival| alike(&known, rival) <= score)
    }
}

fn is_map(part: &Part<'_>) -> bool {
    part.node().kind == Kind::Map
}

fn leaves_of(part: &Part<'_>) -> Leaves {
    leaves(part.cst, part.child.value)
}

/// Returns where both sides hold an equal item that base does not have, in the order of ours; of equal ones the first with the first.
fn twins(lists: &Three<Vec<Part<'_>>>) -> Vec<(usize, usize)> {
    let known: BTreeSet<Digest> = lists.base.iter().map(|part| part.hash()).collect();
    let is_new = |(_, part): &(usize, &Part<'_>)| !known.contains(&part.hash());
    let mut upstream: BTreeMap<Digest, VecDeque<usize>> = BTreeMap::new();
    for (at, part) in lists.theirs.iter().enumerate().filter(is_new) {
        upstream.entry(part.hash()).or_default().push_back(at);
    }
    let mine = lists.ours.iter().enumerate().filter(is_new);
    mine.filter_map(|(at, part)| Some((at, upstream.get_mut(&part.hash())?.pop_front()?))).collect()
}

/// Names texts of which some occur twice by how many of their like come before them, if both sides only took texts away or moved them: of
/// equal texts the last ones go.
fn by_occurrence(lists: &Three<Vec<Part<'_>>>) -> Option<(Vec<String>, Vec<String>)> {
    let [base, ours, theirs] = texts(lists)?;
    let mut places: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
    for (place, hash) in base.iter().enumerate() {
        places.entry(*hash).or_default().push(place);
    }
    let names = |side: &[Digest]| -> Option<Vec<String>> {
        let mut seen: BTreeMap<Digest, usize> = BTreeMap::new();
        let mut name = |hash: &Digest| {
            let nth = seen.entry(*hash).or_default();
            *nth += 1;
            places.get(hash)?.get(*nth - 1).map(ToString::to_string)
        };
        side.iter().map(&mut name).collect()
    };
    Some((names(&ours)?, names(&theirs)?))
}

/// Returns whether texts of which some occur twice are told apart by their places: the lists are as long as each other, at no place both
/// sides wrote another text, no text comes out more often than a side has it, and none that one side took away and the other only moved.
fn is_by_place(lists: &Three<Vec<Part<'_>>>) -> bool {
    let Some([base, ours, theirs]) = texts(lists) else { return false };
    let is_open = base.iter().zip(ours.iter().zip(&theirs)).any(|(b, (o, t))| b != o && b != t && o != t);
    if base.len() != ours.len() || base.len() != theirs.len() || is_open {
        return false;
    }
    let pick = |(old, (mine, upstream)): (&Digest, (&Digest, &Digest))| if old == mine { *upstream } else { *mine };
    let merged: Vec<Digest> = base.iter().zip(ours.iter().zip(&theirs)).map(pick).collect();
    let count = |list: &[Digest], hash: &Digest| list.iter().filter(|other| *other == hash).count();
    let is_right = |hash: &Digest| {
        let [before, mine, upstream, after] = [&base, &ours, &theirs, &merged].map(|list| count(list, hash));
        let is_taken_away = upstream == 0 && mine == before || mine == 0 && upstream == before;
        after <= mine.max(upstream) && !(is_taken_away && after > 0)
    };
    merged.iter().all(is_right)
}

/// Returns the contents of lists of texts, if some text occurs twice on a side.
fn texts(lists: &Three<Vec<Part<'_>>>) -> Option<[Vec<Digest>; 3]> {
    let sides = [&lists.base, &lists.ours, &lists.theirs];
    let is_text = |part: &Part<'_>| part.node().kind == Kind::Scalar;
    let is_plain = sides.into_iter().all(|list| list.iter().all(is_text));
    let hashes = sides.map(|list| list.iter().map(|part| part.hash()).collect::<Vec<Digest>>());
    let is_doubled = |side: &Vec<Digest>| side.iter().collect::<BTreeSet<_>>().len() < side.len();
    (is_plain && hashes.iter().any(is_doubled)).then_some(hashes)
}

/// Reads a text that took the place of another as a deletion and an addition where the other side deleted the old text,
/// or added the new one.
fn part_replaced(
    (parts, names): (&[Part<'_>], &mut [String]),
    base: &[Part<'_>],
    (others, known): (&[Part<'_>], &[String]),
    mark: char,
) {
    for (place, (name, part)) in names.iter_mut().zip(parts).enumerate() {
        let Some(old) = name.parse::<usize>().ok().and_then(|old| base.get(old)) else { continue };
        let is_rewritten = part.node().kind == Kind::Scalar && subject(*part).is_none() && old.hash() != part.hash();
        if !is_rewritten || shares_lines(*old, *part) {
            continue;
        }
        let is_new =
            |(other, known): (&Part<'_>, &String)| known.parse::<usize>().is_err() && other.hash() == part.hash();
        if !known.contains(name) || others.iter().zip(known).any(is_new) {
            *name = format!("{mark}{place}");
        }
    }
}

/// Returns whether two texts of several lines have one of them in common, so that one became the other.
fn shares_lines(old: Part<'_>, new: Part<'_>) -> bool {
    let is_text = |part: Part<'_>| part.node().style == Style::BlockText;
    let (before, after) = (leaves_of(&old), leaves_of(&new));
    is_text(old) && is_text(new) && before.keys().any(|line| after.contains_key(line))
}

/// Gives an item of one side the name that an equal item of the other side got from base: both made the same of it.
fn follow((parts, names): (&[Part<'_>], &mut [String]), (other, known): (&[Part<'_>], &[String]), mark: char) {
    let taken: BTreeSet<String> = names.iter().cloned().collect();
    let mut used = BTreeSet::new();
    for (name, part) in names.iter_mut().zip(parts).filter(|(name, _)| name.starts_with(mark)) {
        let is_same = |(candidate, twin): &(&String, &Part<'_>)| {
            candidate.parse::<usize>().is_ok() && !taken.contains(*candidate) && twin.hash() == part.hash()
        };
        let found = known.iter().zip(other).find(|pair| is_same(pair) && !used.contains(pair.0));
        if let Some((candidate, _)) = found {
            used.insert(candidate.clone());
            name.clone_from(candidate);
        }
    }
}

/// Returns what texts are about, if every list holds each at most once.
fn unique_subjects(lists: &Three<Vec<Part<'_>>>) -> BTreeSet<String> {
    let mut doubled = BTreeSet::new();
    let mut all = BTreeSet::new();
    for list in [&lists.base, &lists.ours, &lists.theirs] {
        let mut seen = BTreeSet::new();
        for subject in list.iter().filter_map(|part| subject(*part)) {
            if !seen.insert(subject.clone()) {
                doubled.insert(subject.clone());
            }
            all.insert(subject);
        }
    }
    all.difference(&doubled).cloned().collect()
}

fn subject(part: Part<'_>) -> Option<String> {
    let node = part.node();
    if node.kind != Kind::Scalar { None } else { about(&node.text) }
}

/// What is known of items of a side before any guess: base's item, or that base has none.
type Known = BTreeMap<usize, Option<usize>>;

/// Finds base's item for each item of a side.
fn partners(
    (base, side): (&[Part<'_>], &[Part<'_>]),
    (about, known): (&Subjects, &Known),
    cells: usize,
) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; side.len()];
    let hashes = |list: &[Part<'_>]| list.iter().map(|part| part.hash()).collect::<Vec<Digest>>();
    let (old, new) = (hashes(base), hashes(side));
    for (before, after) in common(&old, &new, cells) {
        if let Some(slot) = found.get_mut(after) {
            *slot = Some(before);
        }
    }
    for (after, before) in known {
        if let Some(slot) = found.get_mut(*after) {
            *slot = *before;
        }
    }
    let mut free: BTreeSet<usize> = (0..base.len()).filter(|place| !found.contains(&Some(*place))).collect();
    let mut take = |found: &mut Vec<Option<usize>>, after: usize, before: Option<usize>| {
        if let (Some(before), Some(slot)) = (before, found.get_mut(after))
            && slot.is_none()
            && free.remove(&before)
        {
            *slot = Some(before);
        }
    };
    let single = |list: &[Digest], hash: Digest| list.iter().filter(|other| **other == hash).count() == 1;
    for (after, part) in side.iter().enumerate().filter(|(after, _)| !known.contains_key(after)) {
        let moved = old.iter().position(|hash| *hash == part.hash() && single(&old, *hash) && single(&new, *hash));
        take(&mut found, after, moved);
        let name = subject(*part).filter(|name| about.unique.contains(name));
        let same = name.and_then(|name| base.iter().position(|other| subject(*other).as_ref() == Some(&name)));
        take(&mut found, after, same);
    }
    fill_gaps((base, side), (about, known), &mut found);
    found
}

/// Pairs what is left between two pairs: likely maps first, then by position if the counts agree.
fn fill_gaps(
    (base, side): (&[Part<'_>], &[Part<'_>]),
    (about, known): (&Subjects, &Known),
    found: &mut [Option<usize>],
) {
    let mut from = 0;
    let mut before = 0;
    while from < found.len() {
        if let Some(Some(partner)) = found.get(from) {
            before = partner + 1;
            from += 1;
            continue;
        }
        let to = (from..found.len()).find(|place| matches!(found.get(*place), Some(Some(_)))).unwrap_or(found.len());
        let until = found.get(to).copied().flatten().unwrap_or(base.len());
        let taken: BTreeSet<usize> = found.iter().flatten().copied().collect();
        let olds: Vec<usize> = (before..until.max(before)).filter(|place| !taken.contains(place)).collect();
        let news: Vec<usize> = (from..to).filter(|place| !known.contains_key(place)).collect();
        // What stood between others that moved away stands at no place that could tell.
        let is_in_order = olds.len() == until.saturating_sub(before);
        pair_gap((base, &olds), (side, &news), (about, is_in_order), found);
        from = to;
    }
}

fn pair_gap(
    (base, olds): (&[Part<'_>], &[usize]),
    (side, news): (&[Part<'_>], &[usize]),
    (about, is_in_order): (&Subjects, bool),
    found: &mut [Option<usize>],
) {
    let is_other = |a: Option<String>, b: Option<String>| a.is_some() && b.is_some() && a != b;
    if olds.len() == news.len() && is_in_order {
        for (old, new) in olds.iter().zip(news) {
            let (Some(before), Some(after), Some(slot)) = (base.get(*old), side.get(*new), found.get_mut(*new)) else {
                continue;
            };
            // Two flags or two images at one place are not one item with a new value.
            if before.node().kind == after.node().kind
                && !(about.texts == Texts::Names && before.node().kind == Kind::Scalar)
                && !is_other(subject(*before), subject(*after))
                && has_in_common(*before, *after)
            {
                *slot = Some(*old);
            }
        }
        return;
    }
    let pairs = likely(base, olds, side, news);
    let left = |places: &[usize], pick: fn(&(usize, usize)) -> usize| -> Vec<usize> {
        places.iter().copied().filter(|place| !pairs.iter().any(|pair| pick(pair) == *place)).collect()
    };
    let (olds, news) = (left(olds, |pair| pair.0), left(news, |pair| pair.1));
    let told = told_apart((base, &olds), (side, &news));
    for (old, new) in pairs.into_iter().chain(told) {
        if let Some(slot) = found.get_mut(new) {
            *slot = Some(old);
        }
    }
}

/// Returns pairs of maps that alone have something in common which no other item of either list has.
fn told_apart((base, olds): (&[Part<'_>], &[usize]), (side, news): (&[Part<'_>], &[usize])) -> Vec<(usize, usize)> {
    if olds.is_empty() || news.is_empty() {
        return Vec::new();
    }
    let leaves = |list: &[Part<'_>]| -> Vec<Leaves> {
        list.iter().map(|part| if is_map(part) { leaves_of(part) } else { Leaves::new() }).collect()
    };
    let (before, after) = (leaves(base), leaves(side));
    let holders = |all: &[Leaves]| -> BTreeMap<Digest, usize> {
        let mut held = BTreeMap::new();
        all.iter().flat_map(BTreeMap::keys).for_each(|leaf| *held.entry(*leaf).or_default() += 1);
        held
    };
    let (in_base, in_side) = (holders(&before), holders(&after));
    let is_told = |leaf: &Digest| in_base.get(leaf) == Some(&1) && in_side.get(leaf) == Some(&1);
    let mut pairs = Vec::new();
    for old in olds {
        let Some(known) = before.get(*old) else { continue };
        let shares = |new: &&usize| {
            let leaves = after.get(**new);
            leaves.is_some_and(|leaves| known.keys().any(|leaf| leaves.contains_key(leaf) && is_told(leaf)))
        };
        let mut like = news.iter().filter(shares);
        if let (Some(new), None) = (like.next(), like.next()) {
            pairs.push((*old, *new));
        }
    }
    let claims: Vec<usize> = pairs.iter().map(|(_, new)| *new).collect();
    pairs.retain(|(_, new)| claims.iter().filter(|other| *other == new).count() == 1);
    pairs
}

/// Returns whether two items share anything; of texts nothing is asked but that they stand at one place.
fn has_in_common(before: Part<'_>, after: Part<'_>) -> bool {
    if !is_map(&before) {
        return true;
    }
    let (before, after) = (leaves_of(&before), leaves_of(&after));
    before.is_empty() || after.is_empty() || before.keys().any(|leaf| after.contains_key(leaf))
}

/// Returns pairs of maps that are like each other, in the order of both lists.
fn likely(base: &[Part<'_>], olds: &[usize], side: &[Part<'_>], news: &[usize]) -> Vec<(usize, usize)> {
    let maps = |list: &[Part<'_>], places: &[usize]| -> Vec<(usize, Leaves)> {
        let maps = places.iter().filter_map(|place| Some((*place, list.get(*place).filter(|part| is_map(part))?)));
        maps.map(|(place, part)| (place, leaves_of(part))).collect()
    };
    let mut last = None;
    let mut pairs = best_pairs(&maps(base, olds), &maps(side, news));
    pairs.sort_unstable();
    pairs.retain(|(_, new)| {
        let is_behind = last.is_none_or(|last| last < *new);
        last = if is_behind { Some(*new) } else { last };
        is_behind
    });
    pairs
}

/// Gives an item that both sides added the same name: one that is equal, that is about the same, or that is like it at the same place.
fn pair_added(lists: &Three<Vec<Part<'_>>>, ours: &[String], theirs: &mut [String], about: &Subjects) {
    let own: Vec<(String, Part<'_>)> =
        ours.iter().cloned().zip(lists.ours.iter().copied()).filter(|(name, _)| name.starts_with('o')).collect();
    let mut used = BTreeSet::new();
    for (name, part) in theirs.iter_mut().zip(lists.theirs.iter()).filter(|(name, _)| name.starts_with('t')) {
        let key = subject(*part).filter(|key| about.unique.contains(key));
        let same = own.iter().find(|(own, other)| {
            !used.contains(own) && (other.hash() == part.hash() || key.is_some() && subject(*other) == key)
        });
        if let Some((own, _)) = same {
            used.insert(own.clone());
            name.clone_from(own);
        }
    }

    let before = theirs.to_vec();
    for (place, (name, part)) in theirs.iter_mut().zip(&lists.theirs).enumerate() {
        if !name.starts_with('t') || !is_map(part) {
            continue;
        }
        let new = leaves_of(part);
        let is_like = |(at, (own, other)): &(usize, (&String, &Part<'_>))| {
            own.starts_with('o')
                && !used.contains(*own)
                && is_map(other)
                && behind(ours, *at) == behind(&before, place)
                && new.len() >= MIN_LEAVES
                && alike(&leaves_of(other), &new) >= ALIKE_PERCENT
        };
        let mut like = ours.iter().zip(&lists.ours).enumerate().filter(is_like);
        if let (Some((_, (own, _))), None) = (like.next(), like.next()) {
            used.insert(own.clone());
            name.clone_from(own);
        }
    }
}

/// Returns the last item before a place that base has as well.
fn behind(names: &[String], place: usize) -> Option<&String> {
    names.iter().take(place).rev().find(|name| name.parse::<usize>().is_ok())
}

/// Returns the pairs of a longest common subsequence; of lists that are too long only what begins and ends alike.
fn common(old: &[Digest], new: &[Digest], cells: usize) -> Vec<(usize, usize)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|place| (place, place)).collect();
    let inner_old: Vec<Digest> = old.iter().skip(head).take(old.len() - head - tail).copied().collect();
    let inner_new: Vec<Digest> = new.iter().skip(head).take(new.len() - head - tail).copied().collect();
    if inner_old.len().saturating_mul(inner_new.len()) <= cells {
        pairs.extend(longest(&inner_old, &inner_new).into_iter().map(|(a, b)| (a + head, b + head)));
    }
    pairs.extend((0..tail).map(|place| (old.len() - tail + place, new.len() - tail + place)));
    first_of_equals(&mut pairs, old);
    pairs
}

/// Of equal items that follow each other and of which some went, lets those stay that came first, on every side alike.
fn first_of_equals(pairs: &mut [(usize, usize)], old: &[Digest]) {
    let (mut from, mut behind) = (0, 0);
    for (before, after) in pairs {
        if *after == behind {
            let known = old.get(*before);
            *before = (from..*before).find(|place| old.get(*place) == known).unwrap_or(*before);
        }
        (from, behind) = (*before + 1, *after + 1);
    }
}

fn longest(old: &[Digest], new: &[Digest]) -> Vec<(usize, usize)> {
    // Lengths of the longest common runs of what is left, from the end.
    let mut rows: Vec<Vec<u32>> = vec![vec![0; new.len() + 1]];
    for a in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; new.len() + 1];
        for (place, b) in new.iter().enumerate().rev() {
            let value = if a == b {
                below.get(place + 1).copied().unwrap_or(0) + 1
            } else {
                below.get(place).copied().unwrap_or(0).max(row.get(place + 1).copied().unwrap_or(0))
            };
            if let Some(slot) = row.get_mut(place) {
                *slot = value;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    let at = |a: usize, b: usize| rows.get(a).and_then(|row| row.get(b)).copied().unwrap_or(0);
    let (mut a, mut b) = (0, 0);
    let mut pairs = Vec::new();
    while a < old.len() && b < new.len() {
        if old.get(a) == new.get(b) {
            pairs.push((a, b));
            a += 1;
            b += 1;
        } else if at(a + 1, b) >= at(a, b + 1) {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}
