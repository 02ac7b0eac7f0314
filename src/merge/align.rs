//! Pure. Which item of a list is which on the other sides.
//!
//! Every item gets a name; items of two sides with one name are the same item. Not here: how a list is told apart by its
//! field (`schema`), what becomes of paired items (`structure`).

mod sequence;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use sequence::{Texts, sequence};

use super::likeness::{Leaves, alike, leaf, leaves};
use super::part::Part;
use super::place::around;
use super::rules::GUESSED_KEYS;
use super::tree::Three;
use crate::schema::{KeyField, ListForm, ListKeys, ListRule};
use crate::yaml::cst::{Kind, Node};

/// Share of equal leaves, in percent, from which two items without a common key are one.
const ALIKE_PERCENT: usize = 60;
/// Share of equal leaves, in percent, from which an item that both sides replaced at its place is one with another key on each.
const KEPT_PERCENT: usize = 50;
/// Leaves that an item must have before likeness says anything.
const MIN_LEAVES: usize = 3;

/// Keys of one field that are what an item means.
const MEANT: [&str; 6] = ["host", "alert", "record", "ip", "secretKey", "recipient"];

/// First fields of keys of several that are what an item means: of subjects, tolerations, what a role is about, objects that are named.
const MEANT_OF_SEVERAL: [&str; 4] = ["kind", "key", "apiGroups", "apiVersion"];
/// Keys that are numbers, which an item may have others of.
const NUMBERS: [&str; 2] = ["port", "containerPort"];

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
    // Where steps are maps their keys tell them apart, whatever place means to commands.
    let is_map = |part: &Part<'_>| part.node().kind == Kind::Map;
    let holds_maps = [&lists.base, &lists.ours, &lists.theirs].into_iter().flatten().any(is_map);
    let rule = rule.filter(|rule| rule.form != ListForm::Positional || !holds_maps);
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
        Some(ListForm::Sequence | ListForm::Positional | ListForm::Named) | None => {}
    }
    let is_positional = matches!(rule.map(|rule| &rule.form), Some(ListForm::Positional));
    let is_named = matches!(rule.map(|rule| &rule.form), Some(ListForm::Named));
    let names = sequence(lists, if is_named { Texts::Names } else { Texts::Values }, cells);
    Aligned { names, is_ordered: is_ordered || !is_named, is_positional, is_doubled, has_other_types: false }
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
    match part.node().kind {
        Kind::Scalar => part.node().text.clone(),
        Kind::Alias | Kind::Map | Kind::Seq | Kind::Opaque | Kind::Block => {
            part.hash().to_hex().chars().take(16).collect()
        }
    }
}

/// Finds a field that is present, scalar and unique in every item of every side.
fn guess(lists: &Three<Vec<Part<'_>>>) -> Option<ListRule> {
    let sides = [&lists.base, &lists.ours, &lists.theirs];
    let is_scalar = |part: &Part<'_>, choice: &[KeyField]| {
        choice.iter().all(|key| field(*part, &key.path).is_some_and(|node| node.kind == Kind::Scalar))
    };
    let is_map = |part: &Part<'_>| part.node().kind == Kind::Map;
    if sides.iter().all(|list| list.is_empty()) || !sides.iter().all(|list| list.iter().all(is_map)) {
        return None;
    }
    GUESSED_KEYS.iter().chain(["secretName"].iter()).find_map(|key| {
        let rule = ListRule::parse(key)?;
        let ListForm::Keyed(keys) = &rule.form else { return None };
        let choice = keys.primary.first()?;
        let fits = sides.iter().all(|list| {
            let names: Vec<_> = list.iter().map(|part| key_name(*part, choice)).collect();
            list.iter().all(|part| is_scalar(part, choice))
                && names.iter().collect::<BTreeSet<_>>().len() == names.len()
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
    if part.node().kind != Kind::Map {
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
    let base = (&lists.base, &before.base);
    pair_leftovers(keys, base, (&lists.ours, &before.ours), &before.theirs, &mut names.ours);
    pair_leftovers(keys, base, (&lists.theirs, &before.theirs), &before.ours, &mut names.theirs);
    follow((&before.ours, &before.theirs), &names.theirs, &mut names.ours);
    follow((&before.theirs, &before.ours), &names.ours, &mut names.theirs);
    let (ours, theirs) = (names.ours.clone(), names.theirs.clone());
    pair_beside(keys, &before.base, ((&lists.theirs, &theirs), (&lists.ours, &ours)), &mut names.ours);
    pair_beside(keys, &before.base, ((&lists.ours, &ours), (&lists.theirs, &theirs)), &mut names.theirs);
    let (ours, theirs) = (names.ours.clone(), names.theirs.clone());
    pair_alternates(keys, (&lists.ours, &ours), (&lists.theirs, &theirs), &mut names.theirs);
    pair_replaced(keys, lists, &mut names);
    Some(names)
}

/// Gives an item that both sides have under one new key the name that it got on the other side: what one of them renamed, both did.
fn follow((own, known): (&[String], &[String]), other: &[String], names: &mut [String]) {
    let taken: BTreeSet<String> = names.iter().cloned().collect();
    for (slot, name) in names.iter_mut().zip(own) {
        let there = known.iter().position(|known| known == name).and_then(|at| other.get(at));
        if let Some(given) = there.filter(|given| *given != name && slot == name && !taken.contains(*given)) {
            slot.clone_from(given);
        }
    }
}

/// Takes the only item that both sides replaced, at its place, for one item with another key on each side, where something of it stayed: both
/// gave a port another number, a route another backend. Where the key is what the item means these are two items.
fn pair_replaced(keys: &ListKeys, lists: &Three<Vec<Part<'_>>>, names: &mut Three<Vec<String>>) {
    let first = keys.primary.first().and_then(|choice| choice.first()).and_then(|key| key.path.first());
    if first.is_none_or(|field| MEANT.contains(&field.as_str()) || MEANT_OF_SEVERAL.contains(&field.as_str())) {
        return;
    }
    let only = |list: &[String], others: [&[String]; 2]| {
        let mut left = (0..list.len())
            .filter(|at| list.get(*at).is_some_and(|name| !others.into_iter().any(|other| other.contains(name))));
        left.next().filter(|_| left.next().is_none())
    };
    let places = (
        only(&names.base, [&names.ours, &names.theirs]),
        only(&names.ours, [&names.base, &names.theirs]),
        only(&names.theirs, [&names.base, &names.ours]),
    );
    let (Some(old), Some(mine), Some(upstream)) = places else { return };
    let beside = around(&names.base, old);
    if around(&names.ours, mine) != beside || around(&names.theirs, upstream) != beside {
        return;
    }
    let held =
        |list: &[Part<'_>], at: usize| list.get(at).map(|part| leaves(part.cst, part.child.value)).unwrap_or_default();
    let (before, own, others) = (held(&lists.base, old), held(&lists.ours, mine), held(&lists.theirs, upstream));
    let shares = |side: &Leaves| alike(&before, side) >= KEPT_PERCENT;
    let is_number = before.len() == 1 && first.is_some_and(|field| NUMBERS.contains(&field.as_str()));
    if let (true, Some(name)) = (is_number || shares(&own) && shares(&others), names.base.get(old).cloned()) {
        names.ours.iter_mut().skip(mine).take(1).for_each(|slot| slot.clone_from(&name));
        names.theirs.iter_mut().skip(upstream).take(1).for_each(|slot| slot.clone_from(&name));
    }
}

type Side<'a, 'b> = (&'a Vec<Part<'b>>, &'a Vec<String>);

/// Gives items of a side that found no partner the names of base's.
type Pairing = fn(&ListKeys, Side<'_, '_>, Side<'_, '_>, &mut [String]);

/// Returns the items of a side whose name the other side does not have.
fn leftovers<'b>(side: Side<'_, 'b>, other: &[String]) -> Vec<(usize, Part<'b>)> {
    let known: BTreeSet<&String> = other.iter().collect();
    let parts = side.0.iter().zip(side.1).enumerate();
    parts.filter(|(_, (_, name))| !known.contains(name)).map(|(place, (part, _))| (place, *part)).collect()
}

/// Pairs items that found no partner by their alternate key, then by likeness, then by their neighbours, and gives them base's name. What
/// the other side holds under the same key is an addition of both and never what an item of base became, unless keys say so and that is gone
/// on both sides.
fn pair_leftovers(
    keys: &ListKeys,
    base: Side<'_, '_>,
    (parts, before): Side<'_, '_>,
    other: &[String],
    names: &mut [String],
) {
    let (known, others): (BTreeSet<&String>, BTreeSet<&String>) = (base.1.iter().collect(), other.iter().collect());
    let is_added = |name: &String| !known.contains(name) && others.contains(name);
    let places = |wanted: bool| (0..before.len()).filter(move |at| before.get(*at).map(is_added) == Some(wanted));
    let (added, own): (Vec<usize>, Vec<usize>) = (places(true).collect(), places(false).collect());
    pair_some(keys, base, (parts, &own), &[pair_alternates, pair_partial, pair_by_likeness, pair_in_place], names);

    let taken: BTreeSet<&String> = names.iter().collect();
    let is_gone = |name: &String| !taken.contains(name) && !others.contains(name);
    let gone = base.0.iter().zip(base.1).filter(|(_, name)| is_gone(name));
    let (gone, called): (Vec<Part<'_>>, Vec<String>) = gone.map(|(part, name)| (*part, name.clone())).unzip();
    let both: &[Pairing] = &[pair_alternates, pair_partial, pair_by_likeness, pair_in_place];
    pair_some(keys, (&gone, &called), (parts, &added), both, names);
}

/// Pairs those items of a side that stand at some places.
fn pair_some(
    keys: &ListKeys,
    base: Side<'_, '_>,
    (parts, places): (&[Part<'_>], &[usize]),
    pairings: &[Pairing],
    names: &mut [String],
) {
    let parts: Vec<Part<'_>> = places.iter().filter_map(|place| parts.get(*place).copied()).collect();
    for pair in pairings {
        let current: Vec<String> = places.iter().filter_map(|place| names.get(*place).cloned()).collect();
        let mut found = current.clone();
        pair(keys, base, (&parts, &current), &mut found);
        for (place, name) in places.iter().zip(found) {
            if let Some(slot) = names.get_mut(*place) {
                *slot = name;
            }
        }
    }
}

/// Returns whether the key of an item is what it means, so that with another key it is another item: the host of a rule, the name of an alert,
/// and every key of several fields, such as the subject of a binding, a toleration, what a role is about.
fn is_its_meaning(keys: &ListKeys) -> bool {
    let is_meant = |choice: &Vec<KeyField>| {
        choice.len() > 1
            || choice.iter().any(|key| matches!(key.path.as_slice(), [only] if MEANT.contains(&only.as_str())))
    };
    keys.primary.iter().any(is_meant)
}

fn pair_by_likeness(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    let (gone, come) = (leftovers(base, side.1), leftovers(side, base.1));
    pair_alike(keys, (gone, base.1), come, names);
}

/// Pairs an item with the one of base's that is the only one gone between two neighbours, where it is the only new one between the same two
/// and something beside the key stayed; and the only items of both lists, whatever their key means.
fn pair_in_place(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    let gone = leftovers(base, side.1);
    let is_only = base.1.len() == 1 && side.1.len() == 1;
    for (new, after) in leftovers(side, base.1) {
        let beside = around(side.1, new);
        let is_between = beside != (None, None) && !is_its_meaning(keys);
        let old = gone.iter().find(|(old, _)| is_only || is_between && around(base.1, *old) == beside);
        let Some((old, before)) = old else { continue };
        let (before, after) = (beside_keys(keys, *before), beside_keys(keys, after));
        let is_kept = match is_only {
            true => alike(&before, &after) >= ALIKE_PERCENT && !after.is_empty(),
            false => before.keys().any(|leaf| after.contains_key(leaf)),
        };
        if let (true, Some(slot), Some(name)) = (is_kept, names.get_mut(new), base.1.get(*old)) {
            slot.clone_from(name);
        }
    }
}

/// Returns the leaves of an item that do not make its key.
fn beside_keys(keys: &ListKeys, part: Part<'_>) -> Leaves {
    let mut found = leaves(part.cst, part.child.value);
    for key in keys.primary.iter().flatten() {
        if let Some(node) = field(part, &key.path).filter(|node| node.kind == Kind::Scalar) {
            found.remove(&leaf(&key.path, &node.hash));
        }
    }
    found
}

/// Pairs an item that base does not have with one of the other side that it is like, where base has that and this side has lost it: it got
/// another key here, and was changed so much there that it is not like base's any more.
fn pair_beside(keys: &ListKeys, base: &[String], (other, side): (Side<'_, '_>, Side<'_, '_>), names: &mut [String]) {
    let known = |names: &[String], place: usize| names.get(place).is_some_and(|name| base.contains(name));
    let mut gone = leftovers(other, side.1);
    gone.retain(|(place, _)| known(other.1, *place));
    let mut come = leftovers(side, other.1);
    come.retain(|(place, _)| !known(side.1, *place));
    pair_alike(keys, (gone, other.1), come, names);
}

/// Gives items the names of those that they are like, each the other's best partner. What makes the key says nothing.
fn pair_alike(
    keys: &ListKeys,
    (gone, known): (Vec<(usize, Part<'_>)>, &[String]),
    come: Vec<(usize, Part<'_>)>,
    names: &mut [String],
) {
    if is_its_meaning(keys) {
        return;
    }
    let leaves_of = |items: &[(usize, Part<'_>)]| -> Vec<(usize, Leaves)> {
        let all = items.iter().map(|(place, part)| (*place, beside_keys(keys, *part)));
        all.filter(|(_, leaves)| leaves.len() >= MIN_LEAVES).collect()
    };
    for (old, new) in best_pairs(&leaves_of(&gone), &leaves_of(&come)) {
        if let (Some(slot), Some(name)) = (names.get_mut(new), known.get(old)) {
            slot.clone_from(name);
        }
    }
}

/// Returns pairs of items that are each other's likest, and like enough; none of several that are as like.
fn best_pairs(gone: &[(usize, Leaves)], come: &[(usize, Leaves)]) -> Vec<(usize, usize)> {
    let mut scores = Vec::new();
    for (old, before) in gone {
        let all = come.iter().map(|(new, after)| (alike(before, after), *old, *new));
        scores.extend(all.filter(|(score, ..)| *score >= ALIKE_PERCENT));
    }
    // The best score of each item, and how many others have it with the item.
    let (mut of_old, mut of_new) = (BTreeMap::new(), BTreeMap::new());
    let count = |best: &mut BTreeMap<usize, (usize, usize)>, item: usize, score: usize| {
        let known = best.entry(item).or_insert((score, 0));
        match score.cmp(&known.0) {
            Ordering::Greater => *known = (score, 1),
            Ordering::Equal => known.1 += 1,
            Ordering::Less => {}
        }
    };
    for (score, old, new) in &scores {
        count(&mut of_old, *old, *score);
        count(&mut of_new, *new, *score);
    }
    let is_best = |(score, old, new): &(usize, usize, usize)| {
        of_old.get(old) == Some(&(*score, 1)) && of_new.get(new) == Some(&(*score, 1))
    };
    scores.into_iter().filter(is_best).map(|(_, old, new)| (old, new)).collect()
}

/// Pairs an item with the only one of base's whose key it has as far as both say something: one of them lacks a part of it.
fn pair_partial(keys: &ListKeys, base: Side<'_, '_>, side: Side<'_, '_>, names: &mut [String]) {
    let is_like = |a: Part<'_>, b: Part<'_>| keys.primary.iter().any(|choice| has_part_of_key(a, b, choice));
    let (gone, come) = (leftovers(base, side.1), leftovers(side, base.1));
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
