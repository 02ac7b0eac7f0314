//! Pure. Puts writes in order of wave, stage and identity, each after what it needs; deletions run it backwards.
//!
//! Not here: what an object needs (`references`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Action, Blocked, Extras, Propagation, Verb};
use super::kind;
use super::prune::Victim;
use super::recreate::Recreate;
use super::references;
use super::wanted::{LAST_WAVE, Wanted};
use super::write::{Brings, Write};
use super::yields::{self, Yields};
use crate::model::ObjectId;

/// Takes out new content that needs an object which is held back; it is held back too.
pub(super) fn hold_dependents(writes: &mut Vec<(Wanted, Write)>, blocked: &mut Vec<Blocked>) {
    writes.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)));
    let mut held: BTreeSet<ObjectId> = blocked.iter().filter_map(|blocked| blocked.object.clone()).collect();
    if held.is_empty() {
        return;
    }
    writes.retain(|(wanted, write)| {
        let needs = references::needs(&wanted.payload);
        let Some(needed) = needs.intersection(&held).next().filter(|_| write.brings == Brings::News) else {
            return true;
        };
        blocked.push(Blocked {
            object: Some(wanted.id.clone()),
            reason: "DependencyBlocked".into(),
            message: format!("{} needs {}, which is held back", wanted.id.short(), needed.short()),
            hint: String::new(),
        });
        held.insert(wanted.id.clone());
        false
    });
}

/// Returns the applies in order, each after those that it needs.
pub(super) fn applies(writes: Vec<(Wanted, Write)>) -> Vec<Action> {
    let positions: BTreeMap<ObjectId, usize> =
        writes.iter().enumerate().map(|(position, (wanted, _))| (wanted.id.clone(), position)).collect();
    let definitions: BTreeMap<(String, String), usize> = writes
        .iter()
        .enumerate()
        .filter_map(|(position, (wanted, _))| {
            let (group, kind) = references::defines(&wanted.payload)?;
            Some(((group.to_owned(), kind.to_owned()), position))
        })
        .collect();
    let after = |position: usize, wanted: &Wanted| -> Vec<usize> {
        let needs = references::needs(&wanted.payload);
        let named = needs.iter().filter_map(|id| positions.get(id));
        let defined = definitions.get(&(wanted.id.group.clone(), wanted.id.kind.clone()));
        // An author's wave wins: what stands in a later wave is not waited for.
        let all: BTreeSet<usize> = named.chain(defined).copied().filter(|needed| *needed < position).collect();
        all.into_iter().collect()
    };
    let afters: Vec<Vec<usize>> =
        writes.iter().enumerate().map(|(position, (wanted, _))| after(position, wanted)).collect();
    writes
        .into_iter()
        .zip(afters)
        .enumerate()
        .map(|(id, ((wanted, write), after))| apply(id, wanted, write, after))
        .collect()
}

/// Returns the deletions and releases, in reverse order of stage, each after all that stand before them.
pub(super) fn farewells(first: usize, mut victims: Vec<(Victim, Verb, String)>) -> Vec<Action> {
    victims.sort_by(|(a, ..), (b, ..)| (stage(&b.id), &a.id).cmp(&(stage(&a.id), &b.id)));
    let after: Vec<usize> = (0..first).collect();
    victims
        .into_iter()
        .enumerate()
        .map(|(position, victim)| farewell(first.saturating_add(position), after.clone(), victim))
        .collect()
}

/// Returns the action by which an object goes.
pub(super) fn farewell(id: usize, after: Vec<usize>, (victim, verb, reason): (Victim, Verb, String)) -> Action {
    Action {
        id,
        verb,
        stage: stage(&victim.id),
        object: victim.id,
        api_version: victim.api_version,
        wave: LAST_WAVE,
        after,
        reason,
        uid: Some(victim.uid),
        hash: String::new(),
        source: String::new(),
        yields: Yields::default(),
        recreate: Recreate::Never("it goes"),
        extras: Extras::Leave,
        notice: None,
    }
}

/// Returns the verb of an ordinary deletion.
pub(super) fn delete() -> Verb {
    Verb::Delete { propagation: Propagation::Background }
}

fn apply(id: usize, wanted: Wanted, write: Write, after: Vec<usize>) -> Action {
    let Wanted { id: object, mut payload, hash, source, wave, stage, yields, refused: _, left_out } = wanted;
    let Write { brings, force, uid, reason, leaves_out, recreate, extras, fought: _ } = write;
    yields::without(&mut payload, &leaves_out);
    let yields = yields.without_some(&leaves_out);
    let api_version = payload.api_version().to_owned();
    Action {
        id,
        verb: Verb::Apply { payload, force },
        object,
        api_version,
        wave,
        stage,
        after,
        reason,
        uid,
        hash,
        source,
        yields,
        recreate,
        extras,
        notice: left_out.filter(|_| brings == Brings::News),
    }
}

fn place(wanted: &Wanted) -> (i32, u8, &ObjectId) {
    (wanted.wave, wanted.stage, &wanted.id)
}

fn stage(id: &ObjectId) -> u8 {
    kind::stage(&id.group, &id.kind)
}
