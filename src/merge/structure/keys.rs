//! Pure. Which entry of a map is which on the other sides, where its key alone does not say so: keys that are there twice, keys that were renamed
//! in place, entries that were put below a new key.
//!
//! Not here: items of lists (`align`).

use std::collections::BTreeSet;

use super::super::likeness::{Leaves, alike, leaves};
use super::super::part::Part;
use super::super::place::around;
use super::super::tree::Three;
use super::beside::{Change, Changes};
use super::both_ways;
use crate::yaml::cst::Kind;

/// Share of equal leaves, in percent, from which the only entries of two maps are one.
const ALIKE_PERCENT: usize = 60;

/// Returns a key that a side has twice.
pub(super) fn doubled(names: &Three<Vec<String>>) -> Option<String> {
    let twice = |side: &Vec<String>| {
        let mut seen = BTreeSet::new();
        side.iter().find(|name| !seen.insert(*name)).cloned()
    };
    [&names.base, &names.ours, &names.theirs].into_iter().find_map(twice)
}

/// Tells entries of one key apart by their order; not possible where a side has another number of them.
pub(super) fn number(names: &mut Three<Vec<String>>) -> bool {
    let count = |side: &[String], name: &String| side.iter().filter(|other| *other == name).count();
    let sides = [&names.base, &names.ours, &names.theirs];
    let is_same = |name: &String| {
        let counts = sides.map(|side| count(side, name));
        counts.iter().all(|count| *count < 2) || counts == [counts[0]; 3]
    };
    if !sides.into_iter().flatten().all(is_same) {
        return false;
    }
    for side in [&mut names.base, &mut names.ours, &mut names.theirs] {
        let before = side.clone();
        for (at, slot) in side.iter_mut().enumerate() {
            let nth = before.iter().take(at).filter(|other| *other == slot).count();
            if nth > 0 {
                // No key holds such a character.
                slot.push_str(&format!("\u{1}{nth}"));
            }
        }
    }
    true
}

/// Gives an entry of a side base's key where it stands between the same two as the only one that is gone, holds something of what that held,
/// and is no field that a type knows.
pub(super) fn pair_renamed(
    lists: &Three<Vec<Part<'_>>>,
    names: &mut Three<Vec<String>>,
    is_meant: &dyn Fn(&str) -> bool,
) {
    let before = names.clone();
    let base = (&lists.base[..], &before.base[..]);
    let sides = [
        ((&lists.ours[..], &before.ours[..]), &before.theirs, &mut names.ours),
        ((&lists.theirs[..], &before.theirs[..]), &before.ours, &mut names.theirs),
    ];
    let known: BTreeSet<&String> = base.1.iter().collect();
    for (side, other, slots) in sides {
        for (slot, name) in slots.iter_mut().zip(side.1) {
            let is_new = !known.contains(name) && (!other.contains(name) || is_new_there(base.1, side.1, other, name));
            if !is_new || is_meant(name) {
                continue;
            }
            if let Some(old) = renamed(base, side, name).filter(|old| !is_meant(old)) {
                slot.clone_from(old);
            }
        }
    }
}

/// Returns whether both sides gave the same entry the same new key.
fn is_new_there(base: &[String], side: &[String], other: &[String], name: &String) -> bool {
    let gone = |names: &[String]| base.iter().filter(|old| !names.contains(old)).cloned().collect::<Vec<_>>();
    other.contains(name) && gone(side) == gone(other)
}

/// Returns base's key of an entry that was renamed in place.
fn renamed<'n>(base: (&[Part<'_>], &'n [String]), side: (&[Part<'_>], &[String]), name: &String) -> Option<&'n String> {
    let at = side.1.iter().position(|other| other == name)?;
    let beside = around(side.1, at);
    let is_gone = |(place, old): &(usize, &String)| !side.1.contains(old) && around(base.1, *place) == beside;
    let (place, old) = base.1.iter().enumerate().find(is_gone)?;
    let (before, after) = (held(*base.0.get(place)?)?, held(*side.0.get(at)?)?);
    let is_kept = match beside {
        (None, None) => alike(&before, &after) >= ALIKE_PERCENT,
        _ => before.keys().any(|leaf| after.contains_key(leaf)),
    };
    is_kept.then_some(old)
}

/// Returns what an entry holds that is a collection with something in it.
fn held(part: Part<'_>) -> Option<Leaves> {
    let node = part.node();
    let is_filled = matches!(node.kind, Kind::Map | Kind::Seq) && !node.children.is_empty() && node.is_block();
    is_filled.then(|| leaves(part.cst, part.child.value))
}

/// Finds entries of base that one side put, as they were, below a key that is new, and that the other side changed, deleted or put elsewhere.
pub(super) fn put_below<'a>(lists: &Three<Vec<Part<'a>>>, names: &Three<Vec<String>>) -> Changes<'a> {
    let mut changes = Changes::new();
    for [(list, own), (others, known)] in both_ways(lists, names) {
        let (own_names, known_names): (BTreeSet<&String>, BTreeSet<&String>) =
            (own.iter().collect(), known.iter().collect());
        let gone = || lists.base.iter().zip(&names.base).filter(|(_, name)| !own_names.contains(name));
        if gone().next().is_none() {
            continue;
        }
        let base_names: BTreeSet<&String> = names.base.iter().collect();
        let find = |name: &String| known.iter().position(|other| other == name).and_then(|at| others.get(at));
        let is_new = |name: &String| !base_names.contains(name) && !known_names.contains(name);
        let new = || list.iter().zip(own).filter(|(part, name)| is_new(name) && !part.is_control());
        for (old, name) in gone() {
            let other = find(name);
            if other.is_some_and(|part| part.hash() == old.hash()) || old.is_control() {
                continue;
            }
            let mut found =
                new().flat_map(|(part, above)| inner(*part, *old).into_iter().map(move |inner| (above, inner)));
            let (Some((above, inner)), None) = (found.next(), found.next()) else { continue };
            let Some(whole) = own.iter().position(|other| other == above).and_then(|at| list.get(at)) else { continue };
            if let Some(changed) = other {
                changes.insert(name.clone(), Change::Gone);
                changes.insert(above.clone(), Change::Below { inner, changed: *changed });
                continue;
            }
            // Where both put it below another key, ours was found first.
            let is_it = |change: &&mut Change<'a>| matches!(change, Change::Nested { base, .. } if base.child.own == old.child.own);
            match changes.values_mut().find(is_it) {
                Some(Change::Nested { theirs, .. }) => {
                    *theirs = Some(*whole);
                    changes.insert(above.clone(), Change::Gone);
                }
                Some(_) | None => {
                    let is_ours = std::ptr::eq(list, &lists.ours[..]);
                    let (ours, theirs) = if is_ours { (Some(*whole), None) } else { (None, Some(*whole)) };
                    changes.insert(above.clone(), Change::Nested { base: *old, ours, theirs });
                }
            }
        }
    }
    changes
}

/// Returns the entries below one that are an entry of base as it was: the same key and content, and more than a word.
fn inner<'a>(part: Part<'a>, old: Part<'_>) -> Vec<Part<'a>> {
    let mut found = Vec::new();
    let mut open = Part::all(part.cst, part.node());
    while let Some(next) = open.pop() {
        if next.key().is_some() && next.key() == old.key() && next.hash() == old.hash() && held(old).is_some() {
            found.push(next);
        } else if next.node().kind == Kind::Map {
            open.extend(Part::all(next.cst, next.node()));
        }
    }
    found
}
