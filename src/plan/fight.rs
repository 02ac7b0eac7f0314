//! Pure. Fights: somebody keeps changing what we keep putting back.
//!
//! Each correction of an object adds one to its score, which fades within minutes. From a score of four on, one attempt is made after five
//! minutes, then after ten, up to an hour; in between the object is left as it is and a person is told. Not here: what differs (`drift`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::action::{Blocked, DriftItem, DriftKind, Plan, Verdict};
use super::snapshot::Snapshot;
use super::wanted::Wanted;
use crate::base::Timestamp;
use crate::model::ObjectId;

/// Score from which two sides count as fighting: five corrections in quick succession.
const FIGHTING: f64 = 4.0;
/// How long until a score has faded to about a third.
const FADE: Duration = Duration::from_secs(60);
/// Wait before the first attempt in a fight; doubled up to the next constant.
const FIRST_WAIT: Duration = Duration::from_secs(5 * 60);
/// Longest wait between two attempts, and the quiet after which a fight is over.
const QUIET: Duration = Duration::from_secs(60 * 60);

/// What is remembered of the corrections of one object.
#[derive(Clone, PartialEq, Debug)]
pub struct Fight {
    /// Hash of the content that is put back; other content begins anew.
    hash: String,
    score: f64,
    last: Timestamp,
    tries: u32,
    held_until: Option<Timestamp>,
}

/// Returns until when an object is left as it is, because putting it back has not helped.
pub(super) fn held_until(snapshot: &Snapshot, wanted: &Wanted) -> Option<Timestamp> {
    let fight = snapshot.fights.get(&wanted.id).filter(|fight| fight.hash == wanted.hash)?;
    fight.held_until.filter(|until| *until > snapshot.now && !snapshot.ask.correct)
}

/// Returns what a person is told about an object that is left as it is.
pub(super) fn blocked(snapshot: &Snapshot, wanted: &Wanted, items: &[DriftItem], until: Timestamp) -> Blocked {
    let mut managers: Vec<&str> = items.iter().map(|item| item.manager.as_str()).filter(|it| !it.is_empty()).collect();
    managers.sort_unstable();
    managers.dedup();
    let who = if managers.is_empty() { "somebody".to_owned() } else { managers.join(" and ") };
    let paths: Vec<&str> = items.iter().flat_map(|item| &item.paths).map(String::as_str).collect();
    let what = if paths.is_empty() { String::new() } else { format!(" {}", paths.join(", ")) };
    Blocked {
        object: Some(wanted.id.clone()),
        reason: "Fighting".into(),
        message: format!("{who} keeps changing {}{what}; it is put back again at {until}", wanted.id.short()),
        hint: format!("wild drift show {}", snapshot.app),
    }
}

/// Returns what is to be remembered after a plan was carried out.
pub fn fights_after(snapshot: &Snapshot, plan: &Plan) -> BTreeMap<ObjectId, Fight> {
    let is_open = |fight: &Fight| snapshot.now.since(fight.last) < QUIET;
    let mut fights: BTreeMap<ObjectId, Fight> = snapshot
        .fights
        .iter()
        .filter(|(_, fight)| is_open(fight))
        .map(|(id, fight)| (id.clone(), fight.clone()))
        .collect();
    for action in &plan.actions {
        let is_correction = plan.drift.iter().any(|item| {
            item.object == action.object && item.verdict == Verdict::Revert && item.kind != DriftKind::Bookkeeping
        });
        if is_correction {
            let before = fights.get(&action.object).filter(|fight| fight.hash == action.hash);
            let next = corrected(before, &action.hash, snapshot.now);
            fights.insert(action.object.clone(), next);
        }
    }
    fights
}

fn corrected(before: Option<&Fight>, hash: &str, now: Timestamp) -> Fight {
    let faded =
        before.map_or(0.0, |fight| fight.score * (-now.since(fight.last).as_secs_f64() / FADE.as_secs_f64()).exp());
    let (score, tries) = (faded + 1.0, before.map_or(0, |fight| fight.tries));
    let fight = Fight { hash: hash.to_owned(), score, last: now, tries, held_until: None };
    if tries == 0 && score < FIGHTING {
        return fight;
    }
    let wait = FIRST_WAIT.saturating_mul(1 << tries.min(4)).min(QUIET);
    Fight { tries: tries.saturating_add(1), held_until: Some(now.plus(wait)), ..fight }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, deployment};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::parse("2026-11-21T12:00:00Z").unwrap().plus(Duration::from_secs(seconds))
    }

    /// Returns after which corrections, made at these seconds, the object is left as it is, and for how many seconds.
    fn held(times: &[u64]) -> Vec<Option<u64>> {
        let mut fight = None;
        let mut held = Vec::new();
        for time in times {
            let next = corrected(fight.as_ref(), "h", at(*time));
            held.push(next.held_until.map(|until| until.since(at(*time)).as_secs()));
            fight = Some(next);
        }
        held
    }

    #[test]
    fn five_quick_corrections_are_a_fight_and_slow_ones_are_none() {
        assert_eq!(held(&[0, 1, 2, 3, 4]), [None, None, None, None, Some(300)]);
        assert_eq!(held(&[0, 60, 120, 180, 240, 300, 360]), [None; 7]);
    }

    #[test]
    fn a_fight_is_tried_again_after_ever_longer_waits_up_to_an_hour() {
        let times = [0, 1, 2, 3, 4, 305, 905, 2_105, 4_505, 8_105];
        let waits: Vec<u64> = held(&times).into_iter().flatten().collect();
        assert_eq!(waits, [300, 600, 1_200, 2_400, 3_600, 3_600]);
    }

    fn edited() -> World {
        let web = deployment("web", "web:1");
        World::deployed(std::slice::from_ref(&web)).edits(
            &web,
            Some(("rogue", "Update", "")),
            &[&["f:spec", "f:replicas"]],
        )
    }

    /// Plans and corrects until the object is left as it is; a second passes between two rounds.
    fn fought() -> World {
        let mut world = edited();
        for _ in 0..5 {
            let fights = fights_after(&world.snapshot, &plan(&world.snapshot));
            world = world.with(|snapshot| {
                snapshot.fights = fights;
                snapshot.now = snapshot.now.plus(Duration::from_secs(1));
            });
        }
        world
    }

    #[test]
    fn in_a_fight_the_object_is_left_as_it_is_and_a_person_is_told_by_whom() {
        let expected = [
            "* Deployment/web changed spec.replicas by rogue (Update) at 2026-11-21T11:00:00Z, left as it is",
            "! Fighting: rogue keeps changing Deployment/web spec.replicas; it is put back again at 2026-11-21T12:05:04Z (try: wild drift show blog)",
            "= 1 unchanged",
        ];
        check(&fought(), &expected);
        assert_eq!(plan(&fought().snapshot).wake_at, Some(at(304)));
    }

    #[test]
    fn a_fight_ends_by_a_persons_word_by_other_content_and_by_time() {
        assert_eq!(plan(&fought().with(|snapshot| snapshot.ask.correct = true).snapshot).actions.len(), 1);
        let other = fought().drops("Deployment/web").wants(&deployment("web", "web:2"));
        assert_eq!(plan(&other.snapshot).actions.len(), 1);
        assert_eq!(plan(&fought().with(|snapshot| snapshot.now = at(304)).snapshot).actions.len(), 1);
        let quiet = fought().with(|snapshot| snapshot.now = at(4_000));
        assert_eq!(
            fights_after(&quiet.snapshot, &Plan::nothing(quiet.snapshot.app.clone(), quiet.snapshot.commit.clone()))
                .len(),
            0
        );
    }
}
