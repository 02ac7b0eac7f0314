//! Pure. Which item of a list is which on the other sides.
//!
//! Every item gets a name; items of two sides with one name are the same item. Not here: how a list is told apart by its
//! field (`schema`), what becomes of paired items (`structure`).

use std::collections::{BTreeMap, BTreeSet};

use super::likeness::{Leaves, about, alike, leaves};
use super::part::Part;
use super::rules::GUESSED_KEYS;
use super::tree::Three;
use crate::base::Digest;
use crate::schema::{KeyField, ListForm, ListKeys, ListRule};
use crate::yaml::cst::{Kind, Label, Node};

/// Share of equal leaves, in percent, from which two items without a common key are one.
const ALIKE_PERCENT: usize = 60;
/// Leaves that an item must have before likeness says anything.
const MIN_LEAVES: usize = 3;

/// The names of all items.
#[derive(Clone, Debug)]
pub(super) struct Aligned {
    pub(super) names: Three<Vec<String>>,
    /// Whether their order has a meaning.
    pub(super) is_ordered: bool,
    /// Whether two insertions at one place are a question of order.
    pub(super) is_positional: bool,
    /// Whether keys would tell the items apart if none occurred twice.
    pub(super) is_doubled: bool,
    /// Whether a key is a number on one side and the same digits as a text on another, which is another key.
    pub(super) has_other_types: bool,
}

/// Names the items of a list on all three sides.
pub(super) fn align(rule: Option<&ListRule>, lists: &Three<Vec<Part<'_>>>, cells: usize) -> Aligned {
    let guessed = rule.is_none().then(|| guess(lists)).flatten();
    let rule = rule.or(guessed.as_ref());
    let is_ordered = rule.is_none_or(|rule| rule.is_ordered);
    let mut is_doubled = false;
    match rule.map(|rule| &rule.form) {
        Some(ListForm::Keyed(keys)) => {
            if let Some(names) = keyed(keys, lists) {
                let has_other_types = has_other_types(&names);
                return Aligned { names, is_ordered, is_positional: false, is_doubled, has_other_types };
            }
            is_doubled = true;
        }
        Some(ListForm::Set) => {
            let names = lists.as_ref().map(|list| list.iter().map(|part| value_name(*part)).collect::<Vec<_>>());
            if [&names.base, &names.ours, &names.theirs].into_iter().all(|names| is_unique(names)) {
                return Aligned { names, is_ordered, is_positional: false, is_doubled, has_other_types: false };
            }
        }
        Some(ListForm::Sequence | ListForm::Positional) | None => {}
    }
    let is_positional = matches!(rule.map(|rule| &rule.form), Some(ListForm::Positional));
    let names = sequence(lists, cells);
    Aligned { names, is_ordered: true, is_positional, is_doubled, has_other_types: false }
}

/// Returns whether two names differ in nothing but the quotes around a key.
fn has_other_types(names: &Three<Vec<String>>) -> bool {
    let mut known: BTreeMap<String, &String> = BTreeMap::new();
    let mut all = [&names.base, &names.ours, &names.theirs].into_iter().flatten();
    all.any(|name| known.insert(name.replace('"', ""), name).is_some_and(|other| other != name))
}

/// Returns whether no name occurs twice.
pub(super) fn is_unique(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

/// Returns the name of an item by its content.
fn value_name(part: Part<'_>) -> String {
    match &part.child.label {
        Label::Control(name) => format!("!{name}"),
        Label::Key(_) | Label::Item if part.node().kind == Kind::Scalar => part.node().text.clone(),
        Label::Key(_) | Label::Item => part.hash().to_hex().chars().take(16).collect(),
    }
}

/// Finds a field that is present, scalar and unique in every item of every side.
fn guess(lists: &Three<Vec<Part<'_>>>) -> Option<ListRule> {
    let sides = [&lists.base, &lists.ours, &lists.theirs];
    let is_scalar = |part: &Part<'_>, choice: &[KeyField]| {
        choice.iter().all(|key| field(*part, &key.path).is_some_and(|node| node.kind == Kind::Scalar))
    };
    let is_map = |part: &Part<'_>| part.is_control() || part.node().kind == Kind::Map;
    if sides.iter().all(|list| list.is_empty()) || !sides.iter().all(|list| list.iter().all(is_map)) {
        return None;
    }
    GUESSED_KEYS.iter().chain(["secretName"].iter()).find_map(|key| {
        let rule = ListRule::parse(key)?;
        let ListForm::Keyed(keys) = &rule.form else { return None };
        let choice = keys.primary.first()?;
        let fits = sides.iter().all(|list| {
            let items = || list.iter().filter(|part| !part.is_control());
            let names: Vec<_> = items().map(|part| key_name(*part, choice)).collect();
            items().all(|part| is_scalar(part, choice)) && names.iter().collect::<BTreeSet<_>>().len() == names.len()
        });
        fits.then_some(rule)
    })
}

/// Returns the value at a path below an item.
fn field<'a>(part: Part<'a>, path: &[String]) -> Option<&'a Node> {
    let mut id = part.child.value;
    for key in path {
        id = part.cst.entry(id, key)?.value;
    }
    Some(part.cst.node(id))
}

/// Returns the name of an item by one set of keys; nothing if it holds none of them.
fn key_name(part: Part<'_>, choice: &[KeyField]) -> Option<String> {
    if part.is_control() || part.node().kind != Kind::Map {
        return None;
    }
    let mut is_there = false;
    let mut words = Vec::with_capacity(choice.len());
    for key in choice {
        let found = field(part, &key.path);
        is_there |= found.is_some() || choice.len() == 1 && key.default.is_some();
        let text = match found {
            Some(node) if node.kind == Kind::Scalar => match &node.text {
                text if node.is_text && looks_typed(text) => format!("\"{text}\""),
                text => text.clone(),
            },
            Some(node) if node.kind == Kind::Seq => set_name(part, node),
            Some(node) => node.hash.to_hex().chars().take(16).collect(),
            None => key.default.clone().unwrap_or_default(),
        };
        let shown = format!("{}={text}", key.path.join("."));
        // A field that is absent or has its default needs not be named.
        if found.is_some() && !(key.default.as_deref() == Some(&text) && choice.len() > 1) || choice.len() == 1 {
            words.push(shown);
        }
    }
    is_there.then(|| words.join(","))
}

/// Returns whether a text would be no text without quotes.
fn looks_typed(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) || matches!(text, "true" | "false" | "null" | "")
}

/// Names a list used as a key: its items in any order.
fn set_name(part: Part<'_>, node: &Node) -> String {
    let mut texts: Vec<String> = node.children.iter().map(|child| value_name(Part { cst: part.cst, child })).collect();
    texts.sort();
    texts.join("+")
}

/// Names items by keys, or returns nothing if a key occurs twice on a side.
fn keyed(keys: &ListKeys, lists: &Three<Vec<Part<'_>>>) -> Option<Three<Vec<String>>> {
    let name = |part: &Part<'_>| {
        // Where one of several keys is meant, the first field of each says whether it is that one.
        let is_meant = |choice: &&Vec<KeyField>| {
            keys.primary.len() == 1 || choice.first().is_some_and(|key| field(*part, &key.path).is_some())
        };
        let found = keys.primary.iter().filter(is_meant).find_map(|choice| key_name(*part, choice));
        found.unwrap_or_else(|| value_name(*part))
    };
    let mut names = lists.as_ref().map(|list| list.iter().map(name).collect::<Vec<_>>());
    if ![&names.base, &names.ours, &names.theirs].into_iter().all(|names| is_unique(names)) {
        return None;
    }
    let before = names.clone();
    pair_leftovers(keys, (&lists.base, &before.base), (&lists.ours, &before.ours), &mut names.ours);
    pair_leftovers(keys, (&lists.base, &before.base), (&lists.theirs, &before.theirs), &mut names.theirs);
    let (ours, theirs) = (names.ours.clone(), names.theirs.clone());
    pair_beside(&before.base, (&lists.theirs, &theirs), (&lists.ours, &ours), &mut names.ours);
    pair_beside(&before.base, (&lists.ours, &ours), (&lists.theirs, &theirs), &mut names.theirs);
    let (ours, theirs) = (names.ours.clone(), names.theirs.clone());
    pair_alternates(keys, (&lists.ours, &ours), (&lists.theirs, &theirs), &mut names.theirs);
    pair_last(&mut names);
    Some(names)
}

/// Takes the one item that both sides replaced by one other for one item with another key on each side.
fn pair_last(names: &mut Three<Vec<String>>) {
    let only = |list: &[String], others: [&[String]; 2]| {
        let known: BTreeSet<&String> = others.into_iter().flatten().collect();
        let mut left = list.iter().filter(|name| !known.contains(name));
        left.next().cloned().filter(|_| left.next().is_none())
    };
    let gone = only(&names.base, [&names.ours, &names.theirs]);
    let mine = only(&names.ours, [&names.base, &names.theirs]);
    let upstream = only(&names.theirs, [&names.base, &names.ours]);
    if let (Some(gone), Some(mine), Some(upstream)) = (gone, mine, upstream) {
        names.ours.iter_mut().filter(|name| **name == mine).for_each(|name| name.clone_from(&gone));
        names.theirs.iter_mut().filter(|name| **name == upstream).for_each(|name| name.clone_from(&gone));
    }
}

type Side<'a, 'b> = (&'a Vec<Part<'b>>, &'a Vec<String>);

/// Returns the items of a side whose name the other side does not have.
fn leftovers<'b>(side: Side<'_, 'b>, other: &[String]) -> Vec<(usize, Part<'b>)> {
    let known: BTreeSet<&String> = other.iter().collect();
    let parts = side.0.iter().zip(side.1).enumerate();
    parts.filter(|(_, (_, name))| !known.contains(name)).map(|(place, (part, _))| (place, *part)).collect()
}

/// Pairs items that found no partner by their alternate key, then by likeness, and gives them base's name.
fn pair_leftovers(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    pair_alternates(keys, base, side, names);
    pair_partial(keys, base, side, names);
    let current = names.to_vec();
    pair_alike((leftovers(base, &current), base.1), leftovers((side.0, &current), base.1), names);
}

/// Pairs an item that base does not have with one of the other side that it is like, where base has that and this side has lost it: it got
/// another key here, and was changed so much there that it is not like base's any more.
fn pair_beside(base: &[String], other: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    let known = |names: &[String], place: usize| names.get(place).is_some_and(|name| base.contains(name));
    let mut gone = leftovers(other, side.1);
    gone.retain(|(place, _)| known(other.1, *place));
    let mut come = leftovers(side, other.1);
    come.retain(|(place, _)| !known(side.1, *place));
    pair_alike((gone, other.1), come, names);
}

/// Gives items the names of those that they are like, each the other's best partner.
fn pair_alike((gone, known): (Vec<(usize, Part<'_>)>, &[String]), come: Vec<(usize, Part<'_>)>, names: &mut [String]) {
    let leaves_of = |items: &[(usize, Part<'_>)]| -> Vec<(usize, Leaves)> {
        let all = items.iter().map(|(place, part)| (*place, leaves(part.cst, part.child.value)));
        all.filter(|(_, leaves)| leaves.len() >= MIN_LEAVES).collect()
    };
    let after = leaves_of(&come);
    let mut scores = Vec::new();
    for (old, before) in leaves_of(&gone) {
        let alike = after.iter().map(|(new, after)| (alike(&before, after), old, *new));
        scores.extend(alike.filter(|(score, ..)| *score >= ALIKE_PERCENT));
    }
    for (score, old, new) in &scores {
        let has_rival = scores.iter().any(|(other, o, n)| (o == old) != (n == new) && other >= score);
        if let (false, Some(slot), Some(name)) = (has_rival, names.get_mut(*new), known.get(*old)) {
            slot.clone_from(name);
        }
    }
}

/// Pairs an item with the only one of base's whose key it has as far as both say something: one of them lacks a part of it.
fn pair_partial(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    let is_like = |a: Part<'_>, b: Part<'_>| keys.primary.iter().any(|choice| has_part_of_key(a, b, choice));
    let current = names.to_vec();
    let (gone, come) = (leftovers(base, &current), leftovers((side.0, &current), base.1));
    for (new, after) in &come {
        let mut old = gone.iter().filter(|(_, before)| is_like(*before, *after));
        let (Some((place, before)), None) = (old.next(), old.next()) else { continue };
        let is_only = come.iter().filter(|(_, other)| is_like(*before, *other)).count() == 1;
        if let (true, Some(slot), Some(name)) = (is_only, names.get_mut(*new), base.1.get(*place)) {
            slot.clone_from(name);
        }
    }
}

/// Returns whether two items agree in every field of a key that both have, and have one in common.
fn has_part_of_key(a: Part<'_>, b: Part<'_>, choice: &[KeyField]) -> bool {
    let mut shared = 0;
    for key in choice {
        match (field(a, &key.path), field(b, &key.path)) {
            (Some(a), Some(b)) if a.hash == b.hash => shared += 1,
            (Some(_), Some(_)) => return false,
            (None, _) | (_, None) => {}
        }
    }
    choice.len() > 1 && shared > 0
}

fn pair_alternates(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    if keys.alternate.is_empty() {
        return;
    }
    let name = |part: Part<'_>| keys.alternate.iter().find_map(|choice| key_name(part, choice));
    let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, part) in leftovers(base, side.1) {
        if let Some(name) = name(part) {
            known.entry(name).or_default().push(place);
        }
    }
    let come = leftovers(side, base.1).into_iter().filter_map(|(place, part)| Some((name(part)?, place)));
    let mut new: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    come.for_each(|(name, place)| new.entry(name).or_default().push(place));
    // Two items that share the name, on whichever side, are not one.
    for (name, places) in new.iter().filter(|(_, places)| places.len() == 1) {
        let partner = known.get(name).filter(|places| places.len() == 1);
        let old = partner.and_then(|places| places.first()).and_then(|old| base.1.get(*old));
        if let (Some(slot), Some(name)) = (places.first().and_then(|place| names.get_mut(*place)), old) {
            slot.clone_from(name);
        }
    }
}

/// Names the items of a sequence: those of base by their number, others by their side.
fn sequence(lists: &Three<Vec<Part<'_>>>, cells: usize) -> Three<Vec<String>> {
    let base: Vec<String> = (0..lists.base.len()).map(|place| place.to_string()).collect();
    if let Some((ours, theirs)) = by_occurrence(lists) {
        return Three { base, ours, theirs };
    }
    if is_by_place(lists) {
        return Three { base: base.clone(), ours: base.clone(), theirs: base };
    }
    let about = unique_subjects(lists);
    let name = |list: &[Part<'_>], side: &str| -> Vec<String> {
        let partners = partners(&lists.base, list, &about, cells);
        partners
            .into_iter()
            .enumerate()
            .map(|(place, partner)| partner.map_or_else(|| format!("{side}{place}"), |partner| partner.to_string()))
            .collect()
    };
    let mut ours = name(&lists.ours, "o");
    let mut theirs = name(&lists.theirs, "t");
    let (before, after) = (ours.clone(), theirs.clone());
    follow((&lists.ours, &mut ours), (&lists.theirs, &after), 'o');
    follow((&lists.theirs, &mut theirs), (&lists.ours, &before), 't');
    let (before, after) = (ours.clone(), theirs.clone());
    part_replaced((&lists.ours, &mut ours), &lists.base, (&lists.theirs, &after), 'o');
    part_replaced((&lists.theirs, &mut theirs), &lists.base, (&lists.ours, &before), 't');
    pair_added(lists, &ours, &mut theirs, &about);
    Three { base, ours, theirs }
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
    let is_text = |part: &Part<'_>| !part.is_control() && part.node().kind == Kind::Scalar;
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
        if part.node().kind != Kind::Scalar || subject(*part).is_some() || old.hash() == part.hash() {
            continue;
        }
        let is_new =
            |(other, known): (&Part<'_>, &String)| known.parse::<usize>().is_err() && other.hash() == part.hash();
        if !known.contains(name) || others.iter().zip(known).any(is_new) {
            *name = format!("{mark}{place}");
        }
    }
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
    if part.is_control() || node.kind != Kind::Scalar { None } else { about(&node.text) }
}

/// Finds base's item for each item of a side.
fn partners(base: &[Part<'_>], side: &[Part<'_>], about: &BTreeSet<String>, cells: usize) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; side.len()];
    let hashes = |list: &[Part<'_>]| list.iter().map(|part| part.hash()).collect::<Vec<Digest>>();
    let (old, new) = (hashes(base), hashes(side));
    for (before, after) in common(&old, &new, cells) {
        if let Some(slot) = found.get_mut(after) {
            *slot = Some(before);
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
    for (after, part) in side.iter().enumerate() {
        let moved = old.iter().position(|hash| *hash == part.hash() && single(&old, *hash) && single(&new, *hash));
        take(&mut found, after, moved);
        let name = subject(*part).filter(|name| about.contains(name));
        let same = name.and_then(|name| base.iter().position(|other| subject(*other).as_ref() == Some(&name)));
        take(&mut found, after, same);
    }
    fill_gaps(base, side, &mut found);
    found
}

/// Pairs what is left between two pairs: likely maps first, then by position if the counts agree.
fn fill_gaps(base: &[Part<'_>], side: &[Part<'_>], found: &mut [Option<usize>]) {
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
        pair_gap((base, &olds), (side, from..to), found);
        from = to;
    }
}

fn pair_gap(
    (base, olds): (&[Part<'_>], &[usize]),
    (side, news): (&[Part<'_>], std::ops::Range<usize>),
    found: &mut [Option<usize>],
) {
    let is_other = |a: Option<String>, b: Option<String>| a.is_some() && b.is_some() && a != b;
    if olds.len() == news.len() {
        for (old, new) in olds.iter().zip(news) {
            let (Some(before), Some(after), Some(slot)) = (base.get(*old), side.get(new), found.get_mut(new)) else {
                continue;
            };
            // Two flags or two images at one place are not one item with a new value.
            if before.node().kind == after.node().kind && !is_other(subject(*before), subject(*after)) {
                *slot = Some(*old);
            }
        }
        return;
    }
    let mut olds = olds.iter().copied().peekable();
    for new in news {
        let Some(after) = side.get(new).filter(|part| part.node().kind == Kind::Map) else { continue };
        let after = leaves(after.cst, after.child.value);
        let rest: Vec<usize> = olds.clone().collect();
        let likely = rest.into_iter().find(|old| {
            base.get(*old).is_some_and(|before| {
                before.node().kind == Kind::Map
                    && alike(&leaves(before.cst, before.child.value), &after) >= ALIKE_PERCENT
            })
        });
        if let (Some(old), Some(slot)) = (likely, found.get_mut(new)) {
            *slot = Some(old);
            while olds.next_if(|next| *next <= old).is_some() {}
        }
    }
}

/// Gives an item that both sides added the same name.
fn pair_added(lists: &Three<Vec<Part<'_>>>, ours: &[String], theirs: &mut [String], about: &BTreeSet<String>) {
    let own: Vec<(String, Part<'_>)> =
        ours.iter().cloned().zip(lists.ours.iter().copied()).filter(|(name, _)| name.starts_with('o')).collect();
    let mut used = BTreeSet::new();
    for (name, part) in theirs.iter_mut().zip(lists.theirs.iter()).filter(|(name, _)| name.starts_with('t')) {
        let key = subject(*part).filter(|key| about.contains(key));
        let same = own.iter().find(|(own, other)| {
            !used.contains(own) && (other.hash() == part.hash() || key.is_some() && subject(*other) == key)
        });
        if let Some((own, _)) = same {
            used.insert(own.clone());
            name.clone_from(own);
        }
    }
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
