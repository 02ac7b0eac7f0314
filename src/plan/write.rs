//! Pure. Decides about one wanted object: leave it, write it, or hold it back.
//!
//! An object whose hash and triple are those of its record costs no request. Not here: objects without a record
//! (`consent`), the order of writes (`order`).

use super::action::{Blocked, DriftItem, Extras, Force, Propagation, Verdict, WakeOn};
use super::consent;
use super::contest;
use super::drift;
use super::extra;
use super::fight::{self, HeldFields};
use super::hold;
use super::hook;
use super::kind;
use super::recreate::{self, Recreate};
use super::snapshot::{Freshness, Live, Snapshot};
use super::wanted::Wanted;
use super::wellness;
use super::yields;
use crate::base::Timestamp;
use crate::model::{ConflictPolicy, Record, RecordState};

/// What is done about one wanted object.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Decision {
    /// It is as wanted, or nobody may touch it and that is fine.
    Leave,
    /// It is proven to be as wanted, and its record was lost.
    Recover(Record),
    /// It is applied.
    Write(Write),
    /// It drifted and stays so until a person decides.
    Report,
    /// It drifted again and again, and stays so until this time.
    Hold(Blocked, Timestamp),
    /// It is held back.
    Block(Blocked, Option<WakeOn>),
}

/// Why a Job that has run is made anew.
pub const RERUN: &str = "it runs again, as a person asked";

/// One apply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Write {
    pub(super) brings: Brings,
    pub(super) force: Force,
    pub(super) uid: Option<String>,
    pub(super) reason: String,
    /// Fields that are left to others, by their keys.
    pub(super) leaves_out: Vec<Vec<String>>,
    pub(super) recreate: Recreate,
    pub(super) extras: Extras,
    /// What a person is told of fields that are left out because somebody keeps changing them, and until when.
    pub(super) fought: Option<(Blocked, Timestamp)>,
}

impl Write {
    /// Returns an apply of a wanted object without the fields that somebody else may hold.
    pub(super) fn of(snapshot: &Snapshot, wanted: &Wanted, uid: Option<String>, reason: String) -> Self {
        let live = snapshot.live.get(&wanted.id);
        let yielded = yields::of_live(live, &wanted.payload, &wanted.yields);
        Self {
            brings: Brings::News,
            force: Force::No,
            uid,
            reason,
            leaves_out: yielded.into_iter().map(|yielded| yielded.keys).collect(),
            extras: Extras::Leave,
            fought: None,
            recreate: recreate::of_hook(snapshot, wanted)
                .unwrap_or_else(|| recreate::recreate(wanted, live, &snapshot.ask.recreate)),
        }
    }
}

/// What an apply brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Brings {
    /// Content that was never applied; waits for requirements.
    News,
    /// What was applied before.
    Correction,
}

/// Decides about one wanted object.
pub(super) fn decide(snapshot: &Snapshot, wanted: &Wanted) -> (Decision, Vec<DriftItem>) {
    let id = &wanted.id;
    if snapshot.freshness_of(id) == Freshness::UnknownKind {
        return (unknown_kind(snapshot, wanted), Vec::new());
    }
    if let Some(why) = snapshot.unseen.get(id) {
        return (unseen(wanted, why), Vec::new());
    }
    let live = snapshot.live.get(id);
    if live.is_some_and(|live| live.terminating) {
        return (leaving(wanted), Vec::new());
    }
    if hook::reruns(snapshot, wanted) && is_known(snapshot, wanted) {
        return (rerun(snapshot, wanted), Vec::new());
    }
    match snapshot.inventory.get(id) {
        None => consent::decide(snapshot, wanted),
        Some(record) => match record.state {
            RecordState::Applied => {
                let decided = contest::judge(snapshot, wanted, applied(snapshot, wanted, record, live));
                extra::judge(snapshot, wanted, decided)
            }
            RecordState::Intended if live.is_none() => consent::decide(snapshot, wanted),
            RecordState::Intended => (again(snapshot, wanted, "its first write was not confirmed"), Vec::new()),
            RecordState::Deleting => (again(snapshot, wanted, "it is wanted again"), Vec::new()),
        },
    }
}

/// Decides about an object that we applied before.
fn applied(snapshot: &Snapshot, wanted: &Wanted, record: &Record, live: Option<&Live>) -> (Decision, Vec<DriftItem>) {
    let changed = record.hash != wanted.hash || consent::given_up(snapshot, &wanted.id).is_some();
    if snapshot.freshness_of(&wanted.id) != Freshness::Fresh {
        let uid = Some(record.uid.clone()).filter(|uid| !uid.is_empty());
        let decision = if changed { news(snapshot, wanted, uid, Force::No) } else { Decision::Leave };
        return (decision, Vec::new());
    }
    let mut differences = drift::differences(record, live, &wanted.payload, &wanted.yields);
    if differences.is_empty() {
        differences.extend(drift::mismatch(snapshot, &wanted.id));
    }
    let uid = live.map(|live| live.uid.clone());
    if changed && wanted.is_hook() && recreate::is_running(live) {
        return (still_runs(wanted), Vec::new());
    }
    if differences.is_empty() {
        return (if changed { news(snapshot, wanted, uid, Force::No) } else { Decision::Leave }, Vec::new());
    }
    if live.is_none_or(|live| live.uid != record.uid) && snapshot.existing.contains_key(&wanted.id) {
        return consent::decide(snapshot, wanted);
    }
    if changed {
        // A new revision writes the whole object and so ends its drift.
        // Without a word about who holds what, and where others may keep what git did not say before, the server has to name them.
        let is_known = live.is_some_and(|live| live.managed.is_some());
        let takes = is_known && wanted.yields.conflicts() == ConflictPolicy::Force;
        let force = if takes { Force::Yes } else { Force::No };
        return (news(snapshot, wanted, uid, force), Vec::new());
    }
    if live.is_none() && wanted.is_job() && wellness::is_over(snapshot, record) {
        // A job runs once: gone after its run is as wanted.
        return (Decision::Leave, Vec::new());
    }
    if live.is_none() && wanted.expires() && !snapshot.ask.correct.is_about(&wanted.id) {
        return (may_have_run(snapshot, wanted), Vec::new());
    }
    judged(snapshot, wanted, differences, uid)
}

/// Decides about an object that differs and whose wish is the old one.
pub(super) fn judged(
    snapshot: &Snapshot,
    wanted: &Wanted,
    differences: Vec<drift::Difference>,
    uid: Option<String>,
) -> (Decision, Vec<DriftItem>) {
    let held_fields = HeldFields::of(snapshot, wanted);
    let mut left_out = Vec::new();
    let (mut fought, mut until) = (Vec::new(), None);
    let mut items: Vec<DriftItem> = Vec::new();
    for difference in differences {
        let Some(verdict) = drift::verdict(snapshot, wanted, difference.kind) else { continue };
        let [held, open] = held_fields.split(difference);
        if let Some(held) = held {
            until = until.into_iter().chain(held_fields.until(&held.paths)).min();
            left_out.extend(held.keys.iter().cloned());
            fought.push(drift::item(&wanted.id, held, verdict));
        }
        items.extend(open.map(|open| drift::item(&wanted.id, open, verdict)));
    }
    let is_held = hold::until(snapshot, &wanted.id).is_some();
    let is_left = |item: &DriftItem| is_held || item.verdict == Verdict::Report;
    let is_reported = items.iter().chain(&fought).any(is_left);
    let fight = until.map(|until| (fight::blocked(snapshot, wanted, &fought, until), until));
    let fought = fought.into_iter().map(reported);
    match fight {
        // One forced apply writes the whole object: what is reported keeps the rest from being put back too.
        _ if is_reported => (Decision::Report, fought.chain(items.into_iter().map(reported)).collect()),
        None if items.is_empty() => (Decision::Leave, items),
        Some((blocked, until)) if items.is_empty() => (Decision::Hold(blocked, until), fought.collect()),
        fight => {
            let force = if uid.is_some() { Force::Yes } else { Force::No };
            let mut write = Write::of(snapshot, wanted, uid, "puts back what differs".into());
            write.leaves_out.extend(left_out);
            let write = Write { brings: Brings::Correction, force, fought: fight, ..write };
            (Decision::Write(write), fought.chain(items).collect())
        }
    }
}

fn reported(item: DriftItem) -> DriftItem {
    DriftItem { verdict: Verdict::Report, ..item }
}

fn news(snapshot: &Snapshot, wanted: &Wanted, uid: Option<String>, force: Force) -> Decision {
    let (is_there, reason) = match uid {
        Some(_) => (true, consent::news(snapshot, wanted)),
        None => (false, format!("new in {}", snapshot.commit.short())),
    };
    let write = Write::of(snapshot, wanted, uid, reason);
    let foretold = recreate::foretold(snapshot, wanted, &write.recreate).filter(|_| is_there);
    let reason = [Some(write.reason), foretold].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Decision::Write(Write { force, reason, ..write })
}

fn again(snapshot: &Snapshot, wanted: &Wanted, reason: &str) -> Decision {
    let uid = snapshot.live.get(&wanted.id).map(|live| live.uid.clone());
    Decision::Write(Write::of(snapshot, wanted, uid, reason.to_owned()))
}

/// Returns whether an object is ours, or was before it went: what is there and somebody else's is not run again.
fn is_known(snapshot: &Snapshot, wanted: &Wanted) -> bool {
    snapshot.inventory.get(&wanted.id).is_some() || !snapshot.existing.contains_key(&wanted.id)
}

/// Decides about a Job that a person wants to run again: it is made anew, unless it runs.
fn rerun(snapshot: &Snapshot, wanted: &Wanted) -> Decision {
    let live = snapshot.live.get(&wanted.id);
    if recreate::is_running(live) {
        let message = format!("{} runs now and is not run again before it has ended", wanted.id.short());
        let hint = format!("wild app wait {}", snapshot.app);
        let blocked = Blocked { object: Some(wanted.id.clone()), reason: "HookRunning".into(), message, hint };
        return Decision::Block(blocked, Some(WakeOn::Health));
    }
    let uid = live.map(|live| live.uid.clone());
    let write = Write::of(snapshot, wanted, uid, RERUN.to_owned());
    // What a person asked for waits for no wave.
    Decision::Write(Write { brings: Brings::Correction, recreate: Recreate::Now(Propagation::Background), ..write })
}

fn unknown_kind(snapshot: &Snapshot, wanted: &Wanted) -> Decision {
    let (group, kind) = (wanted.id.group.clone(), wanted.id.kind.clone());
    let shipper = snapshot.shippers.get(&(group.clone(), kind.clone()));
    let shipper = shipper.filter(|_| !kind::is_own(snapshot, &group, &wanted.id.kind));
    let brought = shipper.map(|package| format!("; the package {package} brings it")).unwrap_or_default();
    let blocked = Blocked {
        object: Some(wanted.id.clone()),
        reason: "CrdNotEstablished".into(),
        message: format!("the cluster does not know the kind {kind} of {}{brought}", wanted.payload.api_version()),
        hint: shipper.map(|package| format!("wild app add {package}")).unwrap_or_default(),
    };
    Decision::Block(blocked, Some(WakeOn::Kind { group, kind }))
}

/// Decides about an object that nobody could look at: it may be somebody else's.
fn unseen(wanted: &Wanted, why: &str) -> Decision {
    if wanted.is_derived_namespace() {
        return Decision::Leave;
    }
    let blocked = Blocked {
        object: Some(wanted.id.clone()),
        reason: "NotReadable".into(),
        message: format!("{} cannot be looked at: {why}", wanted.id.short()),
        hint: format!("kubectl auth can-i get {}", wanted.id.kind.to_lowercase()),
    };
    Decision::Block(blocked, None)
}

/// Decides about a hook that runs for a state of the app that is no longer wanted: it ends first.
fn still_runs(wanted: &Wanted) -> Decision {
    let blocked = Blocked {
        object: Some(wanted.id.clone()),
        reason: "HookRunning".into(),
        message: format!("{} runs for an earlier revision and runs again when it has ended", wanted.id.short()),
        hint: String::new(),
    };
    Decision::Block(blocked, Some(WakeOn::Health))
}

/// Asks a person about a Job that is gone by a rule of its own, which ends only what has ended: a second run may do harm (I5).
fn may_have_run(snapshot: &Snapshot, wanted: &Wanted) -> Decision {
    let blocked = Blocked {
        object: Some(wanted.id.clone()),
        reason: "JobEndUnknown".into(),
        message: format!(
            "{} is gone as its spec.ttlSecondsAfterFinished says, and nobody saw how it ended; it is not run a second time unasked",
            wanted.id.short()
        ),
        hint: format!("wild app reconcile {} --rerun-job {}", snapshot.app, wanted.id.name),
    };
    Decision::Block(blocked, Some(WakeOn::Revision))
}

fn leaving(wanted: &Wanted) -> Decision {
    let blocked = Blocked {
        object: Some(wanted.id.clone()),
        reason: "ObjectTerminating".into(),
        message: format!("{} is being deleted and is made anew when it is gone", wanted.id.short()),
        hint: String::new(),
    };
    Decision::Block(blocked, Some(WakeOn::Gone(wanted.id.clone())))
}
