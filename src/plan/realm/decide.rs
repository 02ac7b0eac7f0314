//! Pure. What to do about each object of an app's Keycloak.
//!
//! The rules of the cluster hold: nothing is deleted that we did not make, nothing while anything is held back, nothing beyond the budget,
//! a realm, which takes with it what git does not hold, only if a person agrees, and an app reaches beyond the realm that is called like it only
//! where the settings grant that. Not here: what makes two objects differ (`compare`).

use std::collections::{BTreeMap, BTreeSet};

use super::wait::{DRIFT_LOOK, Waited};
use super::{RealmLive, RealmServer, RealmSnapshot, RealmWanted, differences};
use crate::base::Timestamp;
use crate::model::{
    CLIENT_SECRET, ClusterName, DriftPolicy, ObjectId, REALM_API, RealmKind, Record, RecordState, realm_object,
};
use crate::plan::action::{
    Action, Blocked, DriftItem, DriftKind, Extras, Force, Going, Plan, Propagation, Verb, Verdict, WakeOn,
};
use crate::plan::budget;
use crate::plan::prune::Victim;
use crate::plan::recreate::Recreate;
use crate::plan::snapshot::Presence;
use crate::plan::yields::Yields;

/// The realm whose users govern all others.
const ADMINISTRATORS: &str = "master";

/// Plans an app on its Keycloak. Ids of actions count from `first`, because they are rows of the operation that the cluster's are of.
pub fn plan(snapshot: &RealmSnapshot, first: usize) -> Plan {
    let mut plan = Plan::nothing(snapshot.app.clone(), snapshot.commit.clone());
    let wanted = match &snapshot.desired {
        Ok(wanted) if snapshot.presence == Presence::Kept => wanted.as_slice(),
        Ok(_) => &[],
        Err(findings) => {
            let message = findings.first().map(ToString::to_string).unwrap_or_default();
            block(&mut plan, None, "Unreadable", message, String::new());
            plan.wake_on.push(WakeOn::Revision);
            return plan;
        }
    };
    // What is to live on another cluster has the same Keycloak there, and what was added only has none yet.
    let stays = matches!(snapshot.presence, Presence::Added | Presence::Moves);
    if stays || (wanted.is_empty() && snapshot.inventory.is_empty()) {
        return plan;
    }
    if let Some(stop) = stopped(snapshot) {
        plan.blocked.push(stop);
        plan.wake_at = wait(snapshot);
        return plan;
    }
    let mut walk = Walk { snapshot, first, plan, positions: BTreeMap::new() };
    let denied = denied_realms(snapshot, wanted);
    let absent: BTreeSet<String> = &absent_realms(snapshot, wanted) - &denied;
    let closed = &denied | &absent;
    for wanted in wanted.iter().filter(|wanted| !closed.contains(&wanted.id.namespace)) {
        walk.decide(wanted);
    }
    for realm in denied {
        let app = &snapshot.app;
        let message = format!("{app} brings objects of the realm {realm}, and may only into its own");
        let hint = format!("add {realm} to apps.{app}.grants.realms in .wild/config.yaml");
        block(&mut walk.plan, None, "GrantMissing", message, hint);
        walk.plan.wake_on.push(WakeOn::Revision);
    }
    for realm in absent {
        let message = format!("the realm {realm} is not there, and no object of {} makes it", snapshot.app);
        block(&mut walk.plan, None, "RealmMissing", message, String::new());
        walk.plan.wake_at = wait(snapshot);
    }
    let kept: BTreeSet<&ObjectId> = wanted.iter().map(|wanted| &wanted.id).collect();
    walk.farewell(&kept);
    let mut plan = walk.plan;
    stand_still(snapshot, &mut plan);
    if !wanted.is_empty() {
        plan.wake_at = earliest(plan.wake_at, snapshot.now.plus(DRIFT_LOOK));
    }
    plan
}

/// Returns why nothing can be known of the server.
fn stopped(snapshot: &RealmSnapshot) -> Option<Blocked> {
    let (reason, message, hint) = match &snapshot.server {
        RealmServer::Answers => return None,
        RealmServer::Silent(why) => ("KeycloakUnreachable", why.clone(), String::new()),
        RealmServer::Unknown => (
            "KeycloakUnknown",
            format!("{} has objects of a Keycloak, and daemon.yaml names none for this instance", snapshot.app),
            "set instances[].keycloak.url in daemon.yaml and start wild daemon anew".to_owned(),
        ),
    };
    Some(Blocked { object: None, reason: reason.to_owned(), message, hint })
}

/// Returns when a server or a realm is looked for again; never by the clock where only a person can help.
fn wait(snapshot: &RealmSnapshot) -> Option<Timestamp> {
    let waits = snapshot.server != RealmServer::Unknown;
    waits.then(|| Waited::next(snapshot.waited.as_ref(), &snapshot.commit, snapshot.now).until)
}

/// Returns the realms of wanted objects that are neither there nor wanted themselves.
fn absent_realms(snapshot: &RealmSnapshot, wanted: &[RealmWanted]) -> BTreeSet<String> {
    let made = |realm: &str| wanted.iter().any(|it| it.id == realm_object(RealmKind::Realm, realm, realm));
    let realms = wanted.iter().map(|wanted| wanted.id.namespace.clone());
    realms.filter(|realm| snapshot.absent.contains(realm) && !made(realm)).collect()
}

/// Returns the realms of wanted objects that nobody granted to the app. Its own is the one that is called like it; that of the administrators
/// is nobody's.
fn denied_realms(snapshot: &RealmSnapshot, wanted: &[RealmWanted]) -> BTreeSet<String> {
    let may = |realm: &String| {
        (realm == snapshot.app.as_str() && realm != ADMINISTRATORS) || snapshot.policy.grants.realms.contains(realm)
    };
    wanted.iter().map(|wanted| wanted.id.namespace.clone()).filter(|realm| !may(realm)).collect()
}

struct Walk<'a> {
    snapshot: &'a RealmSnapshot,
    first: usize,
    plan: Plan,
    /// Ids of the actions that make or change what others need.
    positions: BTreeMap<ObjectId, usize>,
}

impl Walk<'_> {
    fn decide(&mut self, wanted: &RealmWanted) {
        let snapshot = self.snapshot;
        if let Some((reason, message, hint)) = refused(snapshot, wanted) {
            return block(&mut self.plan, Some(&wanted.id), reason, message, hint);
        }
        let record = snapshot.inventory.get(&wanted.id).filter(|record| record.state == RecordState::Applied);
        let Some(live) = snapshot.live.get(&wanted.id) else {
            let was_there = record.is_some_and(|record| record.hash == wanted.hash);
            if was_there && !self.drifts(wanted, DriftKind::Missing, Vec::new()) {
                return;
            }
            let reason = if was_there { "it is gone" } else { "it is not there" };
            return self.apply(wanted, None, reason.to_owned());
        };
        let paths = paths(wanted, live);
        let is_known = record.is_some_and(|record| record.hash == wanted.hash);
        let is_same = record.is_some_and(|record| record.uid == live.uid);
        if paths.is_empty() {
            if is_known && is_same {
                return self.plan.unchanged.push(wanted.id.clone());
            }
            return self.plan.recovered.push(recovered(snapshot, wanted, live));
        }
        let told = paths.join(", ");
        if is_known {
            let kind = if is_same { DriftKind::Changed } else { DriftKind::Replaced };
            if !self.drifts(wanted, kind, paths) {
                return;
            }
            return self.apply(wanted, Some(&live.uid), format!("{told} differs from git"));
        }
        self.apply(wanted, Some(&live.uid), format!("{told} is not as in {}", snapshot.commit.short()));
    }

    /// Notes drift; returns whether it is put back.
    fn drifts(&mut self, wanted: &RealmWanted, kind: DriftKind, paths: Vec<String>) -> bool {
        let policy = self.snapshot.policy.drift;
        let is_reverted = policy == DriftPolicy::Correct || self.snapshot.ask.correct.is_about(&wanted.id);
        if is_reverted || policy == DriftPolicy::Report {
            self.plan.drift.push(DriftItem {
                object: wanted.id.clone(),
                kind,
                paths,
                manager: String::new(),
                how: String::new(),
                since: String::new(),
                harmless: false,
                verdict: if is_reverted { Verdict::Revert } else { Verdict::Report },
            });
        }
        is_reverted
    }

    fn apply(&mut self, wanted: &RealmWanted, uid: Option<&str>, reason: String) {
        let id = self.first + self.plan.actions.len();
        let needs = needs(&wanted.id);
        let after = needs.iter().filter_map(|needed| self.positions.get(needed)).copied().collect();
        self.positions.insert(wanted.id.clone(), id);
        let verb = Verb::Apply { payload: wanted.payload(), force: Force::Yes };
        let (uid, hash, source) = (uid.map(str::to_owned), wanted.hash.clone(), wanted.source.clone());
        self.plan.actions.push(Action { uid, hash, source, after, ..action(id, verb, &wanted.id, reason) });
    }

    /// Decides about what is remembered and no longer wanted.
    fn farewell(&mut self, kept: &BTreeSet<&ObjectId>) {
        let snapshot = self.snapshot;
        let mut victims = Vec::new();
        self.plan.going = Going::Nothing;
        for record in snapshot.inventory.records().filter(|record| !kept.contains(&record.id)) {
            let fate = fate(snapshot, record);
            if matches!(fate, Fate::Delete | Fate::Unseen(_)) {
                self.plan.going = Going::Something;
            }
            match fate {
                Fate::Delete => victims.push(Victim {
                    id: record.id.clone(),
                    api_version: REALM_API.to_owned(),
                    uid: record.uid.clone(),
                }),
                Fate::Forget(note) => {
                    self.plan.forgotten.push(record.id.clone());
                    self.plan.notes.extend(note);
                }
                Fate::Unseen(why) => block(&mut self.plan, Some(&record.id), "Forbidden", why, String::new()),
            }
        }
        self.plan.digest = budget::digest(&victims);
        if victims.is_empty() {
            return;
        }
        if !self.plan.blocked.is_empty() {
            let note = format!("deletions that wait until the rest is applied: {}", victims.len());
            return self.plan.notes.push(note);
        }
        if let Some(why) = exceeded(snapshot, &victims).filter(|_| !is_approved(snapshot, &self.plan.digest)) {
            let all = budget::stood(&snapshot.inventory, snapshot.standing.as_ref()).count();
            let (count, digest) = (victims.len(), &self.plan.digest);
            let message =
                format!("{count} of {all} objects of the Keycloak would be deleted, and {why}; the plan is {digest}");
            let hint = format!("wild app deploy {} --prune --plan {digest}", snapshot.app);
            return block(&mut self.plan, None, "DeletionNeedsApproval", message, hint);
        }
        let applies: Vec<usize> = self.plan.actions.iter().map(|action| action.id).collect();
        victims.sort_by_key(|victim| std::cmp::Reverse((RealmKind::of(&victim.id), victim.id.clone())));
        for victim in victims {
            let id = self.first + self.plan.actions.len();
            let reason = match snapshot.presence {
                Presence::Kept => format!("no longer in {}", snapshot.commit.short()),
                _ => "its app was deleted".to_owned(),
            };
            let verb = Verb::Delete { propagation: Propagation::Background };
            let deletion = action(id, verb, &victim.id, reason);
            self.plan.actions.push(Action {
                uid: Some(victim.uid),
                after: applies.clone(),
                wave: i32::MAX,
                ..deletion
            });
        }
    }
}

/// Returns why an object is held back by itself: reason, message, remedy.
fn refused(snapshot: &RealmSnapshot, wanted: &RealmWanted) -> Option<(&'static str, String, String)> {
    let name = wanted.id.short();
    if let Some(app) = snapshot.owners.get(&wanted.id) {
        let message = format!("{name} of the realm {} belongs to app {app}", wanted.id.namespace);
        return Some(("OwnedByApp", message, format!("remove it from apps/{app}/keycloak or from this app")));
    }
    if let Some(path) = snapshot.missing_secrets.get(&wanted.id) {
        let message = format!("{name} needs the secret {path}, which has no value ({})", wanted.source);
        return Some(("SecretMissing", message, format!("wild secret set {path}")));
    }
    let why = snapshot.unseen.get(&wanted.id)?;
    Some(("Forbidden", why.clone(), "give the client in daemon.yaml the role that the message names".to_owned()))
}

/// Returns what differs; a secret by its name alone.
fn paths(wanted: &RealmWanted, live: &RealmLive) -> Vec<String> {
    let mut paths = differences(&wanted.spec, &live.body);
    if wanted.has_secret && !live.same_secret {
        paths.push(CLIENT_SECRET.to_owned());
    }
    paths
}

/// Returns the objects that an object needs.
fn needs(id: &ObjectId) -> Vec<ObjectId> {
    let realm = &id.namespace;
    let mut needs = vec![realm_object(RealmKind::Realm, realm, realm)];
    if RealmKind::of(id) == Some(RealmKind::FlowExecution)
        && let Some((flow, _)) = id.name.rsplit_once('/')
    {
        needs.push(realm_object(RealmKind::Flow, realm, flow));
    }
    needs
}

/// Returns the record of an object that is found to be as wanted.
fn recovered(snapshot: &RealmSnapshot, wanted: &RealmWanted, live: &RealmLive) -> Record {
    let before = snapshot.inventory.get(&wanted.id);
    let is_made_by_us = |record: &Record| {
        let is_unconfirmed = record.state == RecordState::Intended && record.uid.is_empty();
        record.created && (record.uid == live.uid || is_unconfirmed)
    };
    Record {
        id: wanted.id.clone(),
        cluster: ClusterName::default(),
        api_version: REALM_API.to_owned(),
        state: RecordState::Applied,
        uid: live.uid.clone(),
        hash: wanted.hash.clone(),
        fields: String::new(),
        time: String::new(),
        generation: 0,
        created: before.is_some_and(is_made_by_us),
        commit: Some(snapshot.commit.clone()),
        audited: String::new(),
    }
}

enum Fate {
    Delete,
    Forget(Option<String>),
    Unseen(String),
}

fn fate(snapshot: &RealmSnapshot, record: &Record) -> Fate {
    if let Some(why) = snapshot.unseen.get(&record.id) {
        return Fate::Unseen(why.clone());
    }
    let kind = RealmKind::of(&record.id);
    let is_unconfirmed = record.state == RecordState::Intended && record.uid.is_empty();
    let name = record.id.short();
    match snapshot.live.get(&record.id) {
        None => Fate::Forget(None),
        // Another one of that name, or one of which it is not known that we made it: doubt never deletes.
        Some(live) if live.uid != record.uid && !is_unconfirmed => Fate::Forget(None),
        Some(_) if !record.created || is_unconfirmed => {
            Fate::Forget(Some(format!("{name} stays: it is not known that this app made it")))
        }
        Some(_)
            if snapshot.presence == Presence::RemovedKeepingData
                && matches!(kind, Some(RealmKind::Realm | RealmKind::User)) =>
        {
            Fate::Forget(Some(format!("{name} stays with the data of the app")))
        }
        Some(_) => Fate::Delete,
    }
}

/// Returns why deletions wait for a person.
fn exceeded(snapshot: &RealmSnapshot, victims: &[Victim]) -> Option<String> {
    let stood = budget::stood(&snapshot.inventory, snapshot.standing.as_ref()).count();
    let limit = snapshot.policy.deletion.min.max(stood.saturating_mul(snapshot.policy.deletion.percent) / 100);
    let realm = victims.iter().find(|victim| RealmKind::of(&victim.id) == Some(RealmKind::Realm));
    match (snapshot.presence, realm) {
        (Presence::Vanished, _) => Some(format!("no commit says that {} was to be deleted", snapshot.app)),
        (Presence::Kept, Some(realm)) => {
            Some(format!("{} takes content with it that git does not hold", realm.id.short()))
        }
        (Presence::Kept, None) if victims.len() > limit => Some(format!("the limit is {limit}")),
        _ => None,
    }
}

fn is_approved(snapshot: &RealmSnapshot, digest: &str) -> bool {
    snapshot.ask.approve.as_deref() == Some(digest)
}

/// Takes every write out of the plan of an app that is suspended, held or waits for a person's word about its grants, as the cluster's plan does,
/// which also says so.
fn stand_still(snapshot: &RealmSnapshot, plan: &mut Plan) {
    let suspension = snapshot.policy.suspend.as_ref();
    let is_over = |until: &str| Timestamp::parse(until).is_ok_and(|until| until <= snapshot.now);
    let is_suspended = suspension.is_some_and(|suspension| !is_over(&suspension.until));
    let is_held = snapshot.is_held && !snapshot.ask.correct.is_all();
    if !is_suspended && !is_held && !snapshot.awaits_word {
        return;
    }
    plan.actions.clear();
    for item in &mut plan.drift {
        item.verdict = Verdict::Report;
    }
}

fn action(id: usize, verb: Verb, object: &ObjectId, reason: String) -> Action {
    // Each kind is a stage of its own; deletions stand in a wave behind.
    let stage = RealmKind::of(object).map_or(0, |kind| kind as u8);
    Action {
        id,
        verb,
        object: object.clone(),
        api_version: REALM_API.to_owned(),
        wave: 0,
        stage,
        after: Vec::new(),
        reason,
        uid: None,
        hash: String::new(),
        source: String::new(),
        yields: Yields::default(),
        recreate: Recreate::Never("objects of a Keycloak are changed in place"),
        extras: Extras::Leave,
        notice: None,
    }
}

fn block(plan: &mut Plan, object: Option<&ObjectId>, reason: &str, message: String, hint: String) {
    plan.blocked.push(Blocked { object: object.cloned(), reason: reason.to_owned(), message, hint });
}

fn earliest(one: Option<Timestamp>, other: Timestamp) -> Option<Timestamp> {
    Some(one.map_or(other, |one| one.min(other)))
}
