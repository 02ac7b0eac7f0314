//! Pure. Names the entries of maps that hold control lines of templates.
//!
//! A block is known by its opening line: by what it says, or by its place between known ones where a side edited it. An entry
//! is known by its key and by the arm of the block that it stands in. Not here: finding control lines (`template`).

use std::collections::{BTreeMap, BTreeSet};

use super::super::part::Part;
use super::super::template::{Arm, arm};
use super::super::tree::Three;
use crate::yaml::cst::Label;

/// Names the entries of a map on all three sides.
pub(super) fn key_names(lists: &Three<Vec<Part<'_>>>) -> Three<Vec<String>> {
    let openings = lists.as_ref().map(|list| openings(list));
    if [&openings.base, &openings.ours, &openings.theirs].iter().all(|list| list.is_empty()) {
        return lists.as_ref().map(|list| named(list, &BTreeMap::new()));
    }
    Three {
        base: named(&lists.base, &BTreeMap::new()),
        ours: named(&lists.ours, &known_by(&openings.base, &openings.ours)),
        theirs: named(&lists.theirs, &known_by(&openings.base, &openings.theirs)),
    }
}

/// Returns whether two control lines say the same, whatever stands around the words.
pub(super) fn is_same_action(a: Part<'_>, b: Part<'_>) -> bool {
    let words = |part: Part<'_>| part.lines(0).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(a) == words(b)
}

/// Returns the names of the control lines that open blocks.
fn openings<'a>(list: &[Part<'a>]) -> Vec<&'a str> {
    let opening = |part: &Part<'a>| match &part.child.label {
        Label::Control(name) if arm(name) == Arm::Opens => Some(name.as_str()),
        Label::Control(_) | Label::Key(_) | Label::Item => None,
    };
    list.iter().filter_map(opening).collect()
}

/// Returns under which of base's names a side's blocks go: those that say the same first, then those that stand alone between
/// the same two.
fn known_by<'a>(base: &[&'a str], side: &[&'a str]) -> BTreeMap<&'a str, String> {
    let says = |name: &&'a str| name.rsplit_once(' ').map_or(*name, |(words, _)| words);
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for (place, name) in side.iter().enumerate() {
        let next = base.iter().enumerate().skip(from).find(|(_, other)| says(other) == says(name));
        if let Some((old, known)) = next {
            found.insert(*name, (*known).to_owned());
            pairs.push((old, place));
            from = old + 1;
        }
    }
    pairs.push((base.len(), side.len()));
    let (mut old, mut new) = (0, 0);
    for (old_end, new_end) in pairs {
        if old_end - old == new_end - new {
            let gap = base.iter().skip(old).take(old_end - old).zip(side.iter().skip(new));
            found.extend(gap.map(|(known, name)| (*name, (*known).to_owned())));
        }
        (old, new) = (old_end + 1, new_end + 1);
    }
    let mut used: BTreeSet<String> = found.values().cloned().collect();
    for name in side {
        if !found.contains_key(name) {
            let mut free = (*name).to_owned();
            while !used.insert(free.clone()) {
                free.push('+');
            }
            found.insert(*name, free);
        }
    }
    found
}

/// Names the entries of one side; blocks go under the names that they are known by.
fn named(list: &[Part<'_>], known: &BTreeMap<&str, String>) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut names = Vec::with_capacity(list.len());
    for part in list {
        match &part.child.label {
            Label::Control(name) => {
                let name = known.get(name.as_str()).map_or(name.as_str(), String::as_str);
                match arm(name) {
                    Arm::Opens => open.push(name),
                    Arm::Turns => {
                        open.pop();
                        open.push(name);
                    }
                    Arm::Ends => {
                        open.pop();
                    }
                    Arm::Stands => {}
                }
                names.push(format!("!{name}"));
            }
            Label::Key(key) if open.is_empty() => names.push(key.clone()),
            Label::Key(key) => names.push(format!("{key} in {}", open.join(" "))),
            Label::Item => names.push("-".to_owned()),
        }
    }
    names
}
