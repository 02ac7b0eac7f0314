//! Pure. Waves: what an author puts later begins when all that stands earlier is healthy.
//!
//! Hooks are waves around the app's own. Only new content waits; what was applied before is put back in any wave. Not here: the order inside
//! a wave (`order`), the health of one object (`wellness`).

use std::collections::{BTreeMap, BTreeSet};

use super::action::Plan;
use super::snapshot::Snapshot;
use super::wanted::Wanted;
use super::wellness;
use super::write::{Brings, Write};
use super::{depends, references};
use crate::health::HealthState;
use crate::model::ObjectId;

/// Moves what an object of an earlier wave needs, such as the Secret of a hook, into that wave, unless its author placed it.
pub(super) fn pull_forward(mut wanted: Vec<Wanted>) -> Vec<Wanted> {
    let needs: Vec<BTreeSet<ObjectId>> = wanted
        .iter()
        .map(|one| references::needs(&one.payload).into_iter().chain(depends::of(one)).collect())
        .collect();
    // As often as the longest chain of needs may be; most end after one round.
    for _ in 0..wanted.len() {
        let mut earliest: BTreeMap<&ObjectId, i32> = BTreeMap::new();
        for (one, needs) in wanted.iter().zip(&needs) {
            for needed in needs {
                earliest.entry(needed).and_modify(|wave| *wave = one.wave.min(*wave)).or_insert(one.wave);
            }
        }
        let mut moved = false;
        for one in wanted.iter_mut().filter(|one| !one.has_own_place()) {
            let wave = earliest.get(&one.id).copied().unwrap_or(one.wave).min(one.wave);
            moved |= wave != one.wave;
            one.wave = wave;
        }
        if !moved {
            break;
        }
    }
    wanted
}

/// Takes out news of later waves while an earlier one is not healthy; the plan names them and what they wait for.
pub(super) fn hold(snapshot: &Snapshot, wanted: &[Wanted], writes: &mut Vec<(Wanted, Write)>, plan: &mut Plan) {
    let is_news = |write: &Write| write.brings == Brings::News;
    let news: BTreeSet<ObjectId> =
        writes.iter().filter(|(_, write)| is_news(write)).map(|(wanted, _)| wanted.id.clone()).collect();
    let held: BTreeSet<&ObjectId> = plan.blocked.iter().filter_map(|blocked| blocked.object.as_ref()).collect();
    let last = writes.iter().filter(|(_, write)| is_news(write)).map(|(wanted, _)| wanted.wave).max();
    let Some(last) = last else { return };
    let open = |wanted: &&Wanted| {
        let is_well = || {
            !wanted.counts_for_health()
                || matches!(
                    wellness::of_wanted_object(snapshot, wanted).state,
                    HealthState::Healthy | HealthState::Suspended
                )
        };
        // What is in a namespace waits for it by name, in the same pass.
        let is_step = wanted.id.kind != "Namespace" && wanted.wave < last;
        is_step && (news.contains(&wanted.id) || held.contains(&wanted.id) || !is_well())
    };
    let Some(first) = wanted.iter().filter(open).map(|wanted| wanted.wave).min() else { return };
    let waits_for: Vec<String> =
        wanted.iter().filter(|it| it.wave == first).filter(open).map(|wanted| wanted.id.short()).collect();
    let later: BTreeSet<ObjectId> = writes
        .iter()
        .filter(|(wanted, write)| is_news(write) && wanted.wave > first)
        .map(|(wanted, _)| wanted.id.clone())
        .collect();
    writes.retain(|(wanted, _)| !later.contains(&wanted.id));
    plan.later = later.into_iter().map(|id| (id, waits_for.clone())).collect();
}
