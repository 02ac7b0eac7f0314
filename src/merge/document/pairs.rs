//! Pure. Which document of one side is which on the others: by identity, by name, by likeness, by order.
//!
//! Not here: what becomes of them (the parent), objects in other files (`moves`).

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::likeness::{alike, leaves};
use super::super::tree::Three;
use super::{Document, Refused, bare};

/// Share of equal leaves, in percent, from which two objects of one kind in one order are one.
const IN_ORDER_PERCENT: usize = 30;
/// Share of equal leaves, in percent, from which two objects of one kind are one.
const ALIKE_PERCENT: usize = 60;

/// Returns the names of documents: objects by identity, others by number.
fn names(documents: &[Rc<Document>]) -> Vec<String> {
    let (mut plain, mut empty, mut ends) = (0, 0, 0);
    let mut name = |document: &Rc<Document>| {
        if !document.subject.object.is_empty() {
            return document.subject.object.clone();
        }
        let (mark, number) = match (document.is_empty(), document.cst.text().starts_with("...")) {
            (true, true) => ("~end ", &mut ends),
            (true, false) => ("~", &mut empty),
            (false, _) => ("#", &mut plain),
        };
        *number += 1;
        format!("{mark}{number}")
    };
    documents.iter().map(&mut name).collect()
}

/// Names the documents of three sides so that partners share a name.
pub(super) fn paired(sides: &Three<Vec<Rc<Document>>>, comparisons: usize) -> Result<Three<Vec<String>>, Refused> {
    let mut found = sides.as_ref().map(|side| names(side));
    let count = |names: &[String], name: &String| names.iter().filter(|other| *other == name).count();
    let doubled: BTreeSet<String> = [&found.base, &found.ours, &found.theirs]
        .into_iter()
        .flat_map(|names| names.iter().filter(|name| count(names, name) > 1).cloned())
        .collect();
    for name in &doubled {
        let counts = [&found.base, &found.ours, &found.theirs].map(|names| count(names, name));
        if counts.first() != counts.get(1) || counts.first() != counts.get(2) {
            return Err(Refused::Doubled(name.clone()));
        }
        for names in [&mut found.base, &mut found.ours, &mut found.theirs] {
            for (nth, slot) in names.iter_mut().filter(|slot| *slot == name).enumerate() {
                *slot = format!("{name} {nth}");
            }
        }
    }
    let base = found.base.clone();
    number_again((&sides.base, &base), (&sides.ours, &mut found.ours), comparisons);
    number_again((&sides.base, &base), (&sides.theirs, &mut found.theirs), comparisons);
    let shared = pair_shared(sides, &mut found, comparisons);
    pair_rest((&sides.base, &base), (&sides.ours, &mut found.ours), &shared, comparisons);
    pair_rest((&sides.base, &base), (&sides.theirs, &mut found.theirs), &shared, comparisons);
    pair_unsaid((&sides.base, &base), (&sides.ours, &mut found.ours));
    pair_unsaid((&sides.base, &base), (&sides.theirs, &mut found.theirs));
    let (ours, theirs) = (found.ours.clone(), found.theirs.clone());
    pair_beside(&base, (&sides.theirs, &theirs), (&sides.ours, &mut found.ours), comparisons);
    pair_beside(&base, (&sides.ours, &ours), (&sides.theirs, &mut found.theirs), comparisons);
    if !found.base.is_empty() {
        pair_added(sides, &mut found);
    }
    Ok(found)
}

/// Gives documents without a name the numbers of those of base that they are: the same ones first, then those that are like each other, and
/// where as many are left their order says which is which.
fn number_again(
    (base, known): (&[Rc<Document>], &[String]),
    (side, names): (&[Rc<Document>], &mut [String]),
    comparisons: usize,
) {
    let unnamed = |names: &[String]| {
        (0..names.len()).filter(|at| names.get(*at).is_some_and(|name| name.starts_with('#'))).collect::<Vec<_>>()
    };
    let (mut old, mut new) = (unnamed(known), unnamed(names));
    let text = |list: &[Rc<Document>], at: usize| list.get(at).map(|document| bare(document).to_owned());
    if old.is_empty() || new.len() < 2 && old.len() < 2 || old.len().saturating_mul(new.len()) > comparisons {
        return;
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let take =
        |pairs: &mut Vec<(usize, usize)>, old: &mut Vec<usize>, new: &mut Vec<usize>, found: Vec<(usize, usize)>| {
            old.retain(|at| !found.iter().any(|(taken, _)| taken == at));
            new.retain(|at| !found.iter().any(|(_, taken)| taken == at));
            pairs.extend(found);
        };
    let mut same = Vec::new();
    for at in &old {
        let is_free =
            |other: &&usize| text(base, *at) == text(side, **other) && !same.iter().any(|(_, taken)| taken == *other);
        let found = new.iter().find(is_free).copied();
        same.extend(found.map(|other| (*at, other)));
    }
    take(&mut pairs, &mut old, &mut new, same);
    let leaves_of = |list: &[Rc<Document>], at: usize| {
        list.get(at).and_then(|it| it.cst.root().map(|root| leaves(&it.cst, root))).unwrap_or_default()
    };
    let mut scores: Vec<(usize, usize, usize)> = Vec::new();
    for at in &old {
        let before = leaves_of(base, *at);
        scores.extend(new.iter().map(|other| (alike(&before, &leaves_of(side, *other)), *at, *other)));
    }
    let is_best = |(score, a, b): &&(usize, usize, usize)| {
        *score >= ALIKE_PERCENT && !scores.iter().any(|(other, c, d)| (c == a) != (d == b) && other >= score)
    };
    let like = scores.iter().filter(is_best).map(|(_, a, b)| (*a, *b)).collect();
    take(&mut pairs, &mut old, &mut new, like);
    if old.len() == new.len() {
        pairs.extend(old.iter().copied().zip(new.iter().copied()));
        new.clear();
    }
    for (before, after) in pairs {
        if let (Some(slot), Some(name)) = (names.get_mut(after), known.get(before)) {
            slot.clone_from(name);
        }
    }
    for (nth, at) in new.into_iter().enumerate() {
        names.iter_mut().skip(at).take(1).for_each(|slot| *slot = format!("#new {nth}"));
    }
}

/// Returns whether documents are told apart by this name. A number tells nothing of one that base does not have, and an object that has lost
/// its name is that object no more.
fn is_name(name: &str) -> bool {
    !name.starts_with(['#', '~'])
}

/// Takes documents without a name that both sides added for one only where they are the same.
fn pair_added(sides: &Three<Vec<Rc<Document>>>, names: &mut Three<Vec<String>>) {
    let is_new = |name: &String| name.starts_with('#') && !names.base.contains(name);
    let mut ours: Vec<(&Document, &String)> =
        sides.ours.iter().map(Rc::as_ref).zip(&names.ours).filter(|(_, name)| is_new(name)).collect();
    for (document, slot) in sides.theirs.iter().zip(&mut names.theirs).filter(|(_, name)| is_new(name)) {
        let place = ours.iter().position(|(other, _)| bare(other) == bare(document));
        *slot = match place {
            Some(place) => ours.remove(place).1.clone(),
            None => format!("{slot} upstream"),
        };
    }
}

/// Documents that have no partner yet, with their names.
type Left<'a> = Vec<(&'a str, &'a Document)>;

fn left<'a>(documents: &'a [Rc<Document>], names: &'a [String], is_left: impl Fn(&String) -> bool) -> Left<'a> {
    let named = documents.iter().zip(names);
    named.filter(|(it, name)| !it.is_empty() && is_left(name)).map(|(it, name)| (name.as_str(), it.as_ref())).collect()
}

/// A name of base, and the one that stands for it on a side.
type Pair = (String, String);

/// Gives documents the names of those that they were.
fn give(pairs: &[Pair], names: &mut [String]) {
    for slot in names {
        if let Some((old, _)) = pairs.iter().find(|(_, new)| new == slot) {
            slot.clone_from(old);
        }
    }
}

/// Gives documents that both sides have and base has not the name of base's that they were; returns the names of all of them.
///
/// What both sides call by one name is one object, so it was one that both have lost. Objects that differ in their names alone would be
/// taken for others by a side that lost more of them.
fn pair_shared(
    sides: &Three<Vec<Rc<Document>>>,
    names: &mut Three<Vec<String>>,
    comparisons: usize,
) -> BTreeSet<String> {
    let is_shared = |name: &&String| is_name(name) && names.theirs.contains(*name) && !names.base.contains(*name);
    let shared: BTreeSet<String> = names.ours.iter().filter(is_shared).cloned().collect();
    let gone = left(&sides.base, &names.base, |name| !names.ours.contains(name) && !names.theirs.contains(name));
    let come = [(&sides.ours, &names.ours), (&sides.theirs, &names.theirs)]
        .map(|(side, names)| left(side, names, |name| shared.contains(name)));
    let pairs = partners(&gone, &come, comparisons);
    give(&pairs, &mut names.ours);
    give(&pairs, &mut names.theirs);
    shared
}

/// Gives documents of one side without a partner of their name the name of base's document that they were.
fn pair_rest(
    (base, known): (&[Rc<Document>], &[String]),
    (side, names): (&[Rc<Document>], &mut [String]),
    shared: &BTreeSet<String>,
    comparisons: usize,
) {
    let gone = left(base, known, |name| !names.contains(name));
    let come = left(side, names, |name| is_name(name) && !known.contains(name) && !shared.contains(name));
    let pairs = partners(&gone, &[come], comparisons);
    give(&pairs, names);
}

/// Gives documents of which a template says the kind or the name the names of base's that are gone, in their order in the file, if they are
/// as many and like enough.
fn pair_unsaid((base, known): (&[Rc<Document>], &[String]), (side, names): (&[Rc<Document>], &mut [String])) {
    let gone = left(base, known, |name| !names.contains(name));
    let come = left(side, names, |name| !known.contains(name));
    if gone.len() != come.len() {
        return;
    }
    let leaves_of = |document: &Document| document.cst.root().map(|root| leaves(&document.cst, root));
    let is_like = |((_, old), (_, new)): &((&str, &Document), (&str, &Document))| {
        let (old, new) = (leaves_of(old).unwrap_or_default(), leaves_of(new).unwrap_or_default());
        alike(&old, &new) >= IN_ORDER_PERCENT
    };
    let is_unsaid = |((_, old), (_, new)): &((&str, &Document), (&str, &Document))| old.is_unsaid || new.is_unsaid;
    let pairs = gone.into_iter().zip(come).filter(is_unsaid).filter(is_like);
    let pairs: Vec<Pair> = pairs.map(|((old, _), (new, _))| pair(old, new)).collect();
    give(&pairs, names);
}

/// Gives a document that base does not have the name of the one of the other side that it is like, where base has that and this side has
/// lost it: it was renamed here, and changed so much there that it is not like base's any more.
fn pair_beside(
    base: &[String],
    (other, known): (&[Rc<Document>], &[String]),
    (side, names): (&[Rc<Document>], &mut [String]),
    comparisons: usize,
) {
    let gone = left(other, known, |name| base.contains(name) && !names.contains(name));
    let come = left(side, names, |name| is_name(name) && !base.contains(name) && !known.contains(name));
    if gone.len().saturating_mul(come.len()) <= comparisons {
        let pairs = best(&scores(&gone, &come));
        give(&pairs, names);
    }
}

/// Returns which documents that are gone have come back under which name: by the name without group and namespace, else by likeness. Of
/// several sides each has a document of every name that came.
fn partners(gone: &Left<'_>, come: &[Left<'_>], comparisons: usize) -> Vec<Pair> {
    let same_name =
        |a: &Document, b: &Document| !a.name.is_empty() && a.subject.kind == b.subject.kind && a.name == b.name;
    let mut pairs = Vec::new();
    for side in come {
        for (new, after) in side {
            let mut partners = gone.iter().filter(|(_, before)| same_name(before, after));
            // Two that were made of one are not that one.
            let is_only = side.iter().filter(|(_, other)| same_name(other, after)).count() == 1;
            if let (Some((old, _)), None, true) = (partners.next(), partners.next(), is_only) {
                pairs.push(pair(old, new));
            }
        }
    }
    let gone: Left<'_> = gone.iter().filter(|(name, _)| !pairs.iter().any(|(old, _)| old == name)).copied().collect();
    let is_left = |(name, _): &&(&str, &Document)| !pairs.iter().any(|(_, new)| new == name);
    let come: Vec<Left<'_>> = come.iter().map(|side| side.iter().filter(is_left).copied().collect()).collect();
    if come.iter().any(|side| gone.len().saturating_mul(side.len()) > comparisons) {
        return pairs;
    }
    let scores: Vec<Score<'_>> = come.iter().flat_map(|side| scores(&gone, side)).collect();
    let called = |side: &Left<'_>| side.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let in_order = come.iter().all(|side| {
        // What is said of two sides must not hang on which is asked first.
        gone.len() == side.len()
            && come.iter().all(|other| called(other) == called(side))
            && gone.iter().zip(side).all(|((old, before), (new, after))| {
                let score = scores.iter().filter(|(_, o, n)| o == old && n == new).map(|(score, ..)| *score).max();
                before.subject.kind == after.subject.kind && score.unwrap_or(0) >= IN_ORDER_PERCENT
            })
    });
    match come.first() {
        Some(side) if in_order => pairs.extend(gone.iter().zip(side).map(|((old, _), (new, _))| pair(old, new))),
        Some(_) | None => pairs.extend(best(&scores)),
    }
    pairs
}

fn pair(old: &str, new: &str) -> Pair {
    (old.to_owned(), new.to_owned())
}

/// How alike two documents of one kind are, in percent, with their names.
type Score<'a> = (usize, &'a str, &'a str);

fn scores<'a>(gone: &Left<'a>, come: &Left<'a>) -> Vec<Score<'a>> {
    let leaves_of =
        |document: &Document| document.cst.root().map(|root| leaves(&document.cst, root)).unwrap_or_default();
    let after: Vec<_> = come.iter().map(|(new, after)| (*new, &after.subject.kind, leaves_of(after))).collect();
    let mut scores = Vec::new();
    for (old, before) in gone {
        let kind = &before.subject.kind;
        let before = leaves_of(before);
        let same = after.iter().filter(|(_, other, _)| *other == kind);
        scores.extend(same.map(|(new, _, after)| (alike(&before, after), *old, *new)));
    }
    scores
}

/// Returns the pairs that are alike enough, each the other's best partner.
fn best(scores: &[Score<'_>]) -> Vec<Pair> {
    let is_best = |(score, old, new): &&Score<'_>| {
        *score >= ALIKE_PERCENT && !scores.iter().any(|(other, o, n)| (o == old) != (n == new) && other >= score)
    };
    scores.iter().filter(is_best).map(|(_, old, new)| pair(old, new)).collect()
}
