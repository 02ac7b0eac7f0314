//! Pure. Where entries stand in the result.
//!
//! Not here: what they hold (`structure`).

use std::collections::BTreeSet;

use super::tree::Three;

/// The order of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// Names of all entries that ours or theirs has.
    pub(super) names: Vec<String>,
    /// Whether both sides moved what they share, differently.
    pub(super) is_disputed: bool,
}

/// Whose order of shared entries counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// Ours, whatever theirs did: the order is no data.
    Ours,
    /// That of the side which changed it.
    Merged,
    /// The same, and what a side moved past an entry that the other side took away counts as moved.
    Strict,
    /// Theirs.
    Theirs,
}

/// Puts the entries of both sides in order: new ones of theirs behind the nearest entry before them in theirs that is
/// there, and behind ours at the same place.
pub(super) fn order(names: &Three<&[String]>, frame: Frame) -> Order {
    if names.ours == names.theirs {
        return Order { names: names.ours.to_vec(), is_disputed: false };
    }
    let (base, ours, theirs) = (set(names.base), set(names.ours), set(names.theirs));
    let is_shared = |name: &&String| base.contains(name) && ours.contains(name) && theirs.contains(name);
    let shared = |list| -> Vec<&String> { <[String]>::iter(list).filter(is_shared).collect() };
    let (old, mine, upstream) = (shared(names.base), shared(names.ours), shared(names.theirs));
    let moved = |side: &[String], own: &BTreeSet<&String>| {
        let kept = |list: &'_ [String], other: &BTreeSet<&String>| -> Vec<String> {
            list.iter().filter(|name| other.contains(name)).cloned().collect()
        };
        kept(names.base, own) != kept(side, &base)
    };
    let is_disputed = match frame {
        Frame::Strict => mine != upstream && moved(names.ours, &ours) && moved(names.theirs, &theirs),
        Frame::Ours | Frame::Merged | Frame::Theirs => old != mine && old != upstream && mine != upstream,
    };
    let by_theirs = match frame {
        Frame::Ours => false,
        Frame::Merged | Frame::Strict => old == mine && old != upstream && !is_disputed,
        Frame::Theirs => true,
    };
    let names = if by_theirs {
        insert(names.theirs, names.ours, &BTreeSet::new())
    } else {
        insert(names.ours, names.theirs, &theirs)
    };
    Order { names, is_disputed: is_disputed && matches!(frame, Frame::Merged | Frame::Strict) }
}

fn set(names: &[String]) -> BTreeSet<&String> {
    names.iter().collect()
}

/// Puts the entries of `other` that the skeleton lacks in their places; behind an entry they skip those that only the
/// skeleton's side has, if `known` names the other side's entries.
fn insert(skeleton: &[String], other: &[String], known: &BTreeSet<&String>) -> Vec<String> {
    let mut placed: Vec<String> = skeleton.to_vec();
    let mut there = set(skeleton);
    for (place, name) in other.iter().enumerate() {
        if there.contains(name) {
            continue;
        }
        let before = other.iter().take(place).rev().find(|name| there.contains(name));
        let behind = other.iter().skip(place + 1).find(|name| there.contains(name));
        let at = |name: &String| placed.iter().position(|other| other == name);
        let index = match (before.and_then(at), behind.and_then(at)) {
            (Some(before), _) => {
                let own = |name: &&String| !known.is_empty() && !known.contains(*name);
                before + 1 + placed.iter().skip(before + 1).take_while(own).count()
            }
            (None, Some(behind)) => behind,
            (None, None) => placed.len(),
        };
        placed.insert(index, name.clone());
        there.insert(name);
    }
    placed
}

/// Returns the names before and behind a place.
pub(super) fn around(names: &[String], at: usize) -> (Option<&String>, Option<&String>) {
    (at.checked_sub(1).and_then(|before| names.get(before)), names.get(at + 1))
}

/// Returns the places where both sides put new entries in one slot: their names, ours and theirs.
pub(super) fn contested(names: &Three<&[String]>) -> Vec<(Vec<String>, Vec<String>)> {
    let base = set(names.base);
    let both: BTreeSet<&String> = set(names.ours).intersection(&set(names.theirs)).copied().collect();
    let slots = |list: &[String]| -> Vec<(Option<String>, Vec<String>)> {
        let mut found: Vec<(Option<String>, Vec<String>)> = vec![(None, Vec::new())];
        for name in list {
            if both.contains(name) {
                found.push((Some(name.clone()), Vec::new()));
            } else if !base.contains(name)
                && let Some((_, new)) = found.last_mut()
            {
                new.push(name.clone());
            }
        }
        found
    };
    let upstream = slots(names.theirs);
    let pair = |(anchor, mine): (Option<String>, Vec<String>)| {
        let (_, theirs) = upstream.iter().find(|(other, _)| *other == anchor)?;
        (!mine.is_empty() && !theirs.is_empty()).then(|| (mine, theirs.clone()))
    };
    slots(names.ours).into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::{Frame, contested, order};
    use crate::merge::Three;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
        let names = Three { base: words(base), ours: words(ours), theirs: words(theirs) };
        let names = Three { base: &names.base[..], ours: &names.ours, theirs: &names.theirs };
        assert_eq!(order(&names, Frame::Merged).names.join(" "), expected);
    }

    #[test]
    fn a_new_entry_follows_its_neighbour_and_ours_at_the_same_place() {
        check("a b", "a b", "a x b", "a x b");
        check("a b", "a o b", "a t b", "a o t b");
        check("a b", "a b o", "a b t u", "a b o t u");
        check("a b", "o a b", "t a b", "o t a b");
        check("", "o", "t", "o t");
    }

    #[test]
    fn an_entry_whose_neighbours_are_gone_looks_further() {
        check("a b c", "a c", "a b x c", "a b x c");
        check("a b", "a b", "b", "a b");
    }

    #[test]
    fn the_side_that_moved_decides() {
        check("a b c", "a b c", "c a b", "c a b");
        check("a b c", "a b o c", "c a b", "c a b o");
        check("a b c", "c a b", "a b c", "c a b");
    }

    #[test]
    fn both_sides_may_move_differently() {
        let names = [words("a b c"), words("c a b"), words("b a c")];
        let names = Three { base: &names[0][..], ours: &names[1], theirs: &names[2] };
        assert!(order(&names, Frame::Merged).is_disputed);
    }

    #[test]
    fn two_insertions_at_one_place_are_seen() {
        let names = [words("a"), words("a o"), words("a t")];
        let names = Three { base: &names[0][..], ours: &names[1], theirs: &names[2] };
        assert_eq!(contested(&names), [(words("o"), words("t"))]);
    }
}
