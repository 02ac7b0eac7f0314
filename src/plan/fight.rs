//! Pure. Fights: somebody keeps changing what we keep putting back.
//!
//! Each correction of a field adds one to its score, which fades within minutes. From a score of four on, one attempt is made after five
//! minutes, then after ten, up to an hour; in between the field is left as it is and a person is told. Other fields of the object are put back
//! all the same. Not here: what differs (`drift`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::action::{Blocked, DriftItem, Plan, Verdict};
use super::drift::Difference;
use super::snapshot::Snapshot;
use super::wanted::Wanted;
use crate::base::Timestamp;
use crate::model::{ObjectId, value_at};

/// Score from which two sides count as fighting: five corrections in quick succession.
const FIGHTING: f64 = 4.0;
/// How long until a score has faded to about a third.
const FADE: Duration = Duration::from_secs(60);
/// Wait before the first attempt in a fight; doubled up to the next constant.
const FIRST_WAIT: Duration = Duration::from_secs(5 * 60);
/// Longest wait between two attempts, and the quiet after which a fight is over.
const QUIET: Duration = Duration::from_secs(60 * 60);

/// Corrections of one field within the next time that are told to a person, though none of them followed quickly on another.
const SLOW_COUNT: usize = 10;
/// How long such corrections are counted.
const SLOW_SPAN: Duration = Duration::from_secs(24 * 60 * 60);
/// An attempt that lasted longer than this was no part of a fight.
const UNDONE: Duration = Duration::from_secs(60);

/// What is remembered of corrections, by object and field. A field without a name stands for the object as a whole.
pub type Fights = BTreeMap<(ObjectId, String), Fight>;

/// What is remembered of the corrections of one field.
#[derive(Clone, PartialEq, Debug)]
pub struct Fight {
    /// Hash of the content that is put back; other content begins anew.
    hash: String,
    score: f64,
    last: Timestamp,
    tries: u32,
    held_until: Option<Timestamp>,
    /// When it was put back lately, oldest first, as often as is counted.
    times: Vec<Timestamp>,
}

/// Returns what a person is told about fields that are put back again and again over hours; they are put back all the same.
pub(super) fn slow(snapshot: &Snapshot, wanted: &Wanted, items: &[DriftItem]) -> Vec<String> {
    let is_slow = |path: &String| {
        let fight = snapshot.fights.get(&(wanted.id.clone(), path.clone())).filter(|it| it.hash == wanted.hash);
        fight.is_some_and(|fight| {
            fight.times.len() == SLOW_COUNT
                && fight.times.first().is_some_and(|first| snapshot.now.since(*first) < SLOW_SPAN)
        })
    };
    let note = |item: &DriftItem| {
        let paths: Vec<String> = fields(item).into_iter().filter(is_slow).collect();
        let who = if item.manager.is_empty() { "somebody" } else { &item.manager };
        (!paths.is_empty()).then(|| {
            let what = format!("{} {}", wanted.id.short(), paths.join(", "));
            format!("{who} changed {} {SLOW_COUNT} times within a day, and each time it was put back", what.trim_end())
        })
    };
    let corrected = items.iter().filter(|item| item.object == wanted.id && item.verdict == Verdict::Revert);
    corrected.filter_map(note).collect()
}

/// The fields of an object that are left as they are, each until when.
#[derive(Default)]
pub(super) struct HeldFields(BTreeMap<String, Timestamp>);

impl HeldFields {
    /// Returns the fields of an object that are left as they are, because putting them back has not helped.
    pub(super) fn of(snapshot: &Snapshot, wanted: &Wanted) -> Self {
        let is_fought = |fight: &Fight| fight.hash == wanted.hash && !snapshot.ask.correct.is_about(&wanted.id);
        let all = snapshot.fights.range((wanted.id.clone(), String::new())..);
        let own = all.take_while(|((id, _), _)| *id == wanted.id).filter(|(_, fight)| is_fought(fight));
        let held = own.filter_map(|((_, path), fight)| Some((path.clone(), fight.held_until?)));
        Self(held.filter(|(_, until)| *until > snapshot.now).collect())
    }

    /// Returns until when a difference is left as it is; nothing if it is put back. What names no field is about the whole object.
    pub(super) fn until(&self, paths: &[String]) -> Option<Timestamp> {
        let whole = self.0.get("").filter(|_| paths.is_empty());
        paths.iter().filter_map(|path| self.0.get(path)).chain(whole).min().copied()
    }

    /// Splits a difference into what is left as it is and what is put back.
    pub(super) fn split(&self, difference: Difference) -> [Option<Difference>; 2] {
        let is_held = |path: &String| self.0.contains_key(path);
        if difference.keys.len() != difference.paths.len() {
            // Of these no single field can be left out.
            let is_held = self.until(&difference.paths).is_some();
            return if is_held { [Some(difference), None] } else { [None, Some(difference)] };
        }
        let part = |is_meant: &dyn Fn(&String) -> bool| {
            let fields = difference.paths.iter().zip(&difference.keys).filter(|(path, _)| is_meant(path));
            let (paths, keys): (Vec<String>, Vec<Vec<String>>) =
                fields.map(|(path, keys)| (path.clone(), keys.clone())).unzip();
            Difference { paths, keys, ..difference.clone() }
        };
        if difference.paths.is_empty() {
            let is_held = self.0.contains_key("");
            return if is_held { [Some(difference), None] } else { [None, Some(difference)] };
        }
        [part(&is_held), part(&|path| !is_held(path))].map(|part| Some(part).filter(|part| !part.paths.is_empty()))
    }
}

/// Returns what a person is told about differences that are left as they are.
pub(super) fn blocked(snapshot: &Snapshot, wanted: &Wanted, items: &[DriftItem], until: Timestamp) -> Blocked {
    let mut managers: Vec<&str> = items.iter().map(|item| item.manager.as_str()).filter(|it| !it.is_empty()).collect();
    managers.sort_unstable();
    managers.dedup();
    let who = if managers.is_empty() { "somebody".to_owned() } else { managers.join(" and ") };
    let paths: Vec<&str> = items.iter().flat_map(|item| &item.paths).map(String::as_str).collect();
    let what: Vec<String> = paths.iter().map(|path| format!("{path}{}", said(wanted, path))).collect();
    let what = if what.is_empty() { String::new() } else { format!(" {}", what.join(", ")) };
    let last = items.iter().map(|item| item.since.as_str()).max().filter(|time| !time.is_empty());
    let last = last.map(|time| format!(", last at {time}")).unwrap_or_default();
    let object = wanted.id.short();
    Blocked {
        object: Some(wanted.id.clone()),
        reason: "Fighting".into(),
        message: format!("{who} keeps changing {object}{what}{last}; it is put back again at {until}"),
        hint: match paths.first() {
            Some(path) => format!("wild drift ignore {} {object} {path}", snapshot.app),
            None => format!("wild drift show {}", snapshot.app),
        },
    }
}

/// Returns what git says of a field, in brackets. Of a Secret nothing is said, and what is no plain value is too long.
fn said(wanted: &Wanted, path: &str) -> String {
    let is_secret = wanted.id.group.is_empty() && wanted.id.kind == "Secret";
    match value_at(&wanted.payload, path).filter(|value| !is_secret && !value.is_object() && !value.is_array()) {
        Some(value) => format!(" (git says {value})"),
        None => String::new(),
    }
}

/// Returns what is to be remembered after a plan was carried out.
pub fn fights_after(snapshot: &Snapshot, plan: &Plan) -> Fights {
    let mut fights = snapshot.fights.clone();
    fights.retain(|_, fight| snapshot.now.since(fight.last) < SLOW_SPAN);
    for action in &plan.actions {
        // Our own marks count as well: who takes them off again and again would have us write for ever.
        let corrections =
            plan.drift.iter().filter(|item| item.object == action.object && item.verdict == Verdict::Revert);
        for (path, since) in corrections.flat_map(|item| fields(item).into_iter().map(|path| (path, &item.since))) {
            let key = (action.object.clone(), path);
            let before = fights.get(&key).filter(|fight| fight.hash == action.hash);
            let next = corrected(before, &action.hash, snapshot.now, Timestamp::parse(since).ok());
            fights.insert(key, next);
        }
    }
    fights
}

/// Returns the fields that a difference is about.
fn fields(item: &DriftItem) -> Vec<String> {
    if item.paths.is_empty() { vec![String::new()] } else { item.paths.clone() }
}

/// Returns what is remembered after one more correction of what somebody changed at a time, if that is known.
fn corrected(before: Option<&Fight>, hash: &str, now: Timestamp, changed: Option<Timestamp>) -> Fight {
    let mut times = before.map(|fight| fight.times.clone()).unwrap_or_default();
    times.push(now);
    times.drain(..times.len().saturating_sub(SLOW_COUNT));
    let has_lasted = |fight: &&Fight| changed.is_some_and(|changed| changed.since(fight.last) > UNDONE);
    let is_over = |fight: &&Fight| now.since(fight.last) >= QUIET || (fight.tries > 0 && has_lasted(fight));
    let before = before.filter(|fight| !is_over(fight));
    let faded =
        before.map_or(0.0, |fight| fight.score * (-now.since(fight.last).as_secs_f64() / FADE.as_secs_f64()).exp());
    let (score, tries) = (faded + 1.0, before.map_or(0, |fight| fight.tries));
    let fight = Fight { hash: hash.to_owned(), score, last: now, tries, held_until: None, times };
    if tries == 0 && score < FIGHTING {
        return fight;
    }
    let wait = FIRST_WAIT.saturating_mul(1 << tries.min(4)).min(QUIET);
    Fight { tries: tries.saturating_add(1), held_until: Some(now.plus(wait)), ..fight }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::check;
    use crate::plan::tests::world::{World, deployment};
    use crate::plan::{Correct, Verb, plan};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::parse("2026-11-21T12:00:00Z").unwrap().plus(Duration::from_secs(seconds))
    }

    /// Returns after which corrections, made at these seconds, the object is left as it is, and for how many seconds.
    fn held(times: &[u64]) -> Vec<Option<u64>> {
        let mut fight = None;
        let mut held = Vec::new();
        for time in times {
            let next = corrected(fight.as_ref(), "h", at(*time), None);
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
        let times = [0, 1, 2, 3, 4, 305, 905, 2_105, 4_505, 8_104];
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
        fought_over(edited())
    }

    fn fought_over(mut world: World) -> World {
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
            "! Fighting: rogue keeps changing Deployment/web spec.replicas (git says 2), last at 2026-11-21T11:00:00Z; it is put back again at 2026-11-21T12:05:04Z (try: wild drift ignore blog Deployment/web spec.replicas)",
            "= 1 unchanged",
        ];
        check(&fought(), &expected);
        assert_eq!(plan(&fought().snapshot).wake_at, Some(at(304)));
    }

    #[test]
    fn an_attempt_that_lasts_ends_a_fight() {
        let mut fight = None;
        for second in 0..5 {
            fight = Some(corrected(fight.as_ref(), "h", at(second), None));
        }
        let again = |changed| corrected(fight.as_ref(), "h", at(400), Some(at(changed))).held_until;
        assert!(again(30).is_some(), "it was undone at once");
        assert_eq!(again(390), None);
    }

    #[test]
    fn a_slow_fight_is_told_and_gone_on_with() {
        let mut world = edited();
        for round in 0..11 {
            let planned = plan(&world.snapshot);
            assert_eq!(planned.actions.len(), 1);
            let notes = if round < 10 {
                vec![]
            } else {
                vec!["rogue changed Deployment/web spec.replicas 10 times within a day, and each time it was put back"]
            };
            assert_eq!(planned.notes, notes, "{round}");
            let fights = fights_after(&world.snapshot, &planned);
            world = world.with(|snapshot| {
                snapshot.fights = fights;
                snapshot.now = snapshot.now.plus(2 * QUIET);
            });
        }
    }

    #[test]
    fn another_field_of_the_object_is_put_back_all_the_same() {
        let web = deployment("web", "web:1");
        let image: &[&str] = &["f:spec", "f:template", "f:spec", "f:containers", "k:{\"name\":\"web\"}", "f:image"];
        let both = fought().edits(&web, Some(("rogue", "Update", "")), &[&["f:spec", "f:replicas"], image]);
        let plan = plan(&both.snapshot);
        let [action] = plan.actions.as_slice() else { panic!("{plan:#?}") };
        let Verb::Apply { payload, .. } = &action.verb else { panic!("{action:#?}") };
        assert_eq!(payload.at(&["spec", "replicas"]), None);
        assert_eq!(payload.at(&["spec", "template"]), web.at(&["spec", "template"]));
        let blocked: Vec<&str> = plan.blocked.iter().map(|blocked| blocked.message.as_str()).collect();
        assert!(blocked[0].contains("spec.replicas") && !blocked[0].contains("image"), "{blocked:?}");
        assert_eq!((blocked.len(), plan.wake_at), (1, Some(at(304))));
        let verdicts: Vec<_> = plan.drift.iter().map(|item| (item.paths[0].as_str(), item.verdict)).collect();
        let image = "spec.template.spec.containers[name=web].image";
        assert_eq!(verdicts, [("spec.replicas", Verdict::Report), (image, Verdict::Revert)]);
        // What is put back counts for that field alone.
        let scores: Vec<f64> = fights_after(&both.snapshot, &plan).into_values().map(|fight| fight.score).collect();
        assert!(scores.len() == 2 && scores.contains(&1.0), "{scores:?}");
    }

    #[test]
    fn who_takes_our_marks_off_again_and_again_fights_as_well() {
        let web = deployment("web", "web:1");
        let stripped = World::deployed(std::slice::from_ref(&web)).edits(
            &web,
            Some(("rogue", "Update", "")),
            &[&["f:metadata", "f:labels", "f:rewild.dev/app"]],
        );
        assert_eq!(plan(&stripped.snapshot).actions.len(), 1);
        let plan = plan(&fought_over(stripped).snapshot);
        assert_eq!(plan.actions, []);
        assert_eq!(plan.blocked[0].reason, "Fighting");
        assert!(
            plan.blocked[0].message.starts_with("rogue keeps changing Deployment/web metadata.labels"),
            "{:?}",
            plan.blocked
        );
    }

    #[test]
    fn a_fight_ends_by_a_persons_word_by_other_content_and_by_time() {
        assert_eq!(plan(&fought().with(|snapshot| snapshot.ask.correct = Correct::All).snapshot).actions.len(), 1);
        let other = fought().drops("Deployment/web").wants(&deployment("web", "web:2"));
        assert_eq!(plan(&other.snapshot).actions.len(), 1);
        assert_eq!(plan(&fought().with(|snapshot| snapshot.now = at(304)).snapshot).actions.len(), 1);
        let quiet = fought().with(|snapshot| snapshot.now = at(90_000));
        assert_eq!(
            fights_after(&quiet.snapshot, &Plan::nothing(quiet.snapshot.app.clone(), quiet.snapshot.commit.clone()))
                .len(),
            0
        );
    }
}
