//! Pure. Entries that one side put into a block of a template, took out of one, or put into another, while the other side changed them: a merge of
//! the blocks alone would lose that change, or leave the entry in two places.
//!
//! Not here: merging blocks (`blocks`), an entry that was put into a block as it was (the same).

use std::collections::{BTreeMap, BTreeSet};

use super::super::likeness::known_by;
use super::super::part::Part;
use super::super::place::around;
use super::super::tree::Three;
use super::beside::Changes;
use super::blocks::{arm_names, arms, inner_blocks};
use super::{Impossible, Named, both_ways};
use crate::base::Digest;
use crate::yaml::cst::Kind;

/// Where an entry stands: in the collection itself, or in an arm of a block there.
type Place = (String, String);
/// Where each entry stands on a side, and what it holds there.
type Places = BTreeMap<String, BTreeSet<(Place, Digest)>>;

/// Refuses a collection in which an entry went into a block or out of one on one side, and was changed, deleted or put elsewhere on the other.
pub(super) fn check(
    lists: &Three<Vec<Part<'_>>>,
    names: &Three<Vec<String>>,
    changes: &Changes<'_>,
) -> Result<(), Impossible> {
    let has_blocks = |list: &Vec<Part<'_>>| list.iter().any(|part| part.is_block());
    if ![&lists.base, &lists.ours, &lists.theirs].into_iter().any(has_blocks) {
        return Ok(());
    }
    for [side, other] in both_ways(lists, names) {
        check_beside((&lists.base, &names.base), side, other)?;
        check_blocks((&lists.base, &names.base), side, other)?;
    }
    let arms = arms_by_name(lists, names);
    let base = places((&lists.base, &names.base), &arms.base);
    let ours = places((&lists.ours, &names.ours), &arms.ours);
    let theirs = places((&lists.theirs, &names.theirs), &arms.theirs);
    let nowhere = BTreeSet::new();
    // What came into a block as a whole is merged there.
    let is_open = |name: &String| !changes.contains_key(name);
    for (name, mine) in ours.iter().filter(|(name, _)| is_open(name)) {
        let of = |side: &Places| side.get(name).unwrap_or(&nowhere).clone();
        judge(name, &of(&base), mine, &of(&theirs))?;
    }
    for (name, upstream) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name) && is_open(name)) {
        judge(name, base.get(name).unwrap_or(&nowhere), &nowhere, upstream)?;
    }
    Ok(())
}

/// Refuses additions of one side right beside what the other put into a block or took out of one: nobody knows whether they belong in it.
fn check_beside(base: Named<'_, '_>, side: Named<'_, '_>, other: Named<'_, '_>) -> Result<(), Impossible> {
    let why =
        || Impossible::Here("the other side added something beside what went into a block of the template".to_owned());
    let held = |block: Part<'_>| -> BTreeSet<String> {
        let inner = arms(block).into_iter().flat_map(|arm| Part::all(arm.cst, arm.node()));
        inner.filter_map(called).collect()
    };
    let is_new = |name: &String| !base.1.contains(name) && !side.1.contains(name);
    let adds_beside = |moved: &dyn Fn(&String) -> bool| {
        let at = |place: Option<usize>| place.and_then(|place| other.1.get(place));
        (0..other.1.len()).any(|place| {
            at(Some(place)).is_some_and(is_new)
                && [at(place.checked_sub(1)), at(place.checked_add(1))].into_iter().flatten().any(moved)
        })
    };
    for (block, _) in side.0.iter().zip(side.1).filter(|(part, name)| part.is_block() && !base.1.contains(name)) {
        let inside = held(*block);
        let entries = base.0.iter().zip(base.1).filter(|(part, name)| {
            called(**part).is_some_and(|known| inside.contains(&known)) && !side.1.contains(name)
        });
        let moved: BTreeSet<&String> = entries.map(|(_, name)| name).collect();
        if adds_beside(&|name| moved.contains(name)) {
            return Err(why());
        }
    }
    for (block, name) in base.0.iter().zip(base.1).filter(|(part, name)| part.is_block() && !side.1.contains(name)) {
        let inside = held(*block);
        let is_out = |(part, known): (&Part<'_>, &String)| {
            !base.1.contains(known) && called(*part).is_some_and(|known| inside.contains(&known))
        };
        if !side.0.iter().zip(side.1).any(is_out) {
            continue;
        }
        let kept = other.1.iter().position(|known| known == name).and_then(|at| other.0.get(at));
        if kept.is_some_and(|part| part.hash() != block.hash()) || adds_beside(&|known| known == name) {
            return Err(why());
        }
    }
    Ok(())
}

/// Refuses edits of one side in a block that the other put into another block, or took out of one.
fn check_blocks(base: Named<'_, '_>, side: Named<'_, '_>, other: Named<'_, '_>) -> Result<(), Impossible> {
    let why =
        || "a block of the template went into another one, or out of one, and the other side changed it".to_owned();
    let holds =
        |outer: Part<'_>, inner: Part<'_>| inner_blocks(outer).iter().any(|block| block.words() == inner.words());
    let is_new = |name: &String| !base.1.contains(name) && !side.1.contains(name);
    let new: Vec<Part<'_>> = side
        .0
        .iter()
        .zip(side.1)
        .filter(|(part, name)| part.is_block() && !is_kept(base, name))
        .map(|(part, _)| *part)
        .collect();
    for (block, name) in base.0.iter().zip(base.1).filter(|(part, name)| part.is_block() && !side.1.contains(name)) {
        if !new.iter().any(|other| holds(*other, *block) || holds(*block, *other)) {
            continue;
        }
        let place = other.1.iter().position(|known| known == name);
        let Some(kept) = place.and_then(|place| other.0.get(place)) else { return Err(Impossible::Whole(why())) };
        let (before, behind) = place.map_or((None, None), |place| around(other.1, place));
        if kept.hash() != block.hash() || [before, behind].into_iter().flatten().any(is_new) {
            return Err(Impossible::Here(why()));
        }
    }
    Ok(())
}

/// Returns whether base has a block of a name.
fn is_kept(base: Named<'_, '_>, name: &String) -> bool {
    base.1.iter().position(|known| known == name).and_then(|at| base.0.get(at)).is_some_and(|part| part.is_block())
}

fn judge(
    name: &str,
    base: &BTreeSet<(Place, Digest)>,
    ours: &BTreeSet<(Place, Digest)>,
    theirs: &BTreeSet<(Place, Digest)>,
) -> Result<(), Impossible> {
    if base == ours || base == theirs || ours == theirs {
        return Ok(());
    }
    let at =
        |side: &BTreeSet<(Place, Digest)>| side.iter().map(|(place, _)| place.clone()).collect::<BTreeSet<Place>>();
    let (old, mine, upstream) = (at(base), at(ours), at(theirs));
    // What stays where it was is merged there. So is what one entry became that has taken the place of a block, or a block of an entry.
    // A copy in another arm is another one.
    let stays = |side: &BTreeSet<(Place, Digest)>, places: &BTreeSet<Place>| {
        places == &old || places.is_empty() || !old.is_empty() && base.is_subset(side)
    };
    let is_merged = stays(ours, &mine) && stays(theirs, &upstream) || mine == upstream;
    let is_paired = || {
        let blocks = |places: &BTreeSet<Place>| places.iter().map(|(block, _)| block.clone()).collect::<BTreeSet<_>>();
        let all: BTreeSet<String> = blocks(&old).into_iter().chain(blocks(&mine)).chain(blocks(&upstream)).collect();
        let arms: BTreeSet<&String> = [&old, &mine, &upstream].into_iter().flatten().map(|(_, arm)| arm).collect();
        let is_beside = arms.len() == 1 || arms.len() == 2 && arms.iter().any(|arm| arm.is_empty());
        all.len() == 1 && is_beside && [&old, &mine, &upstream].into_iter().all(|places| places.len() <= 1)
    };
    if is_merged || is_paired() {
        return Ok(());
    }
    let why = format!("{name} went into a block of the template, or out of one, and the other side changed it");
    let is_moved_once = (mine.len() == 1 && upstream == old || upstream.len() == 1 && mine == old) && old.len() == 1;
    Err(if is_moved_once { Impossible::Here(why) } else { Impossible::Whole(why) })
}

/// The names of the arms of each block.
type ArmNames = BTreeMap<String, Vec<String>>;

fn arms_by_name(lists: &Three<Vec<Part<'_>>>, names: &Three<Vec<String>>) -> Three<ArmNames> {
    let mut found = Three { base: ArmNames::new(), ours: ArmNames::new(), theirs: ArmNames::new() };
    let all: BTreeSet<&String> = names.base.iter().chain(&names.ours).chain(&names.theirs).collect();
    for name in all {
        let block = |list: &'_ Vec<Part<'_>>, known: &[String]| -> Option<usize> {
            known.iter().position(|other| other == name).filter(|at| list.get(*at).is_some_and(|part| part.is_block()))
        };
        let (old, mine, upstream) =
            (block(&lists.base, &names.base), block(&lists.ours, &names.ours), block(&lists.theirs, &names.theirs));
        let trio = Three {
            base: old.and_then(|at| lists.base.get(at)).map(|part| arms(*part)),
            ours: mine.and_then(|at| lists.ours.get(at)).map(|part| arms(*part)),
            theirs: upstream.and_then(|at| lists.theirs.get(at)).map(|part| arms(*part)),
        };
        let Some(arms) = arm_names(&trio) else { continue };
        found.base.insert(name.clone(), arms.base);
        found.ours.insert(name.clone(), arms.ours);
        found.theirs.insert(name.clone(), arms.theirs);
    }
    found
}

/// Returns where each entry of a side stands.
fn places((list, names): (&[Part<'_>], &[String]), arm_names: &ArmNames) -> Places {
    let mut found = Places::new();
    for (part, name) in list.iter().zip(names) {
        if !part.is_block() {
            let place = (name.clone(), String::new());
            if let Some(known) = called(*part) {
                found.entry(known).or_default().insert((place, part.hash()));
            }
            continue;
        }
        for (at, arm) in arms(*part).into_iter().enumerate() {
            let arm_name =
                arm_names.get(name).and_then(|names| names.get(at)).cloned().unwrap_or_else(|| at.to_string());
            let mut open = Part::all(arm.cst, arm.node());
            while let Some(held) = open.pop() {
                if held.is_block() {
                    open.extend(arms(held).into_iter().flat_map(|arm| Part::all(arm.cst, arm.node())));
                } else if let Some(known) = called(held) {
                    found.entry(known).or_default().insert(((name.clone(), arm_name.clone()), held.hash()));
                }
            }
        }
    }
    found
}

/// Returns what an entry is known by wherever it stands: its key, its name, or what it says.
pub(super) fn called(part: Part<'_>) -> Option<String> {
    if part.is_control() {
        return None;
    }
    if let Some(key) = part.key() {
        return Some(key.to_owned());
    }
    match part.node().kind {
        Kind::Scalar => Some(part.node().text.clone()),
        Kind::Map => Some(known_by(part.cst, part.child.value).to_owned()).filter(|name| name != "-"),
        Kind::Alias | Kind::Seq | Kind::Opaque | Kind::Block => None,
    }
}
