//! What the watches know: a few fields per object, compared with what our last write left.
//!
//! An event that shows an object as we left it is an echo. While a write is in flight, and until the event of its answer arrives, older
//! events of the object are parked, because they were overtaken. Not here: requests (`call`), the stream (`watch`).

mod decode;
mod watched;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use decode::decode;
use decode::managed;
use watched::{Reach, Watched};

use super::doubt::Doubts;
use super::patience::Patience;
use super::source::Followed;
use crate::health::{self, Health, HealthState};
use crate::model::{Editors, HealthRule, Object, ObjectId, OwnEntry, additions};
use crate::target::{Kind, LiveObject, Place, Places, RefusalKind, TargetEvent, WatchState, Written};

/// How long the event of an own write is waited for before newer events are believed without it.
const ECHO_LIMIT: Duration = Duration::from_secs(10);
/// Versions of one object that are remembered while a write is in flight.
const SEEN_CAPACITY: usize = 64;

/// Places in which kinds are watched one by one, over all kinds: each is a stream of its own, and what lies in others is read.
const PLACES_LIMIT: usize = 256;
/// Jobs of which it is remembered how they ended. It is noted in the cluster in the pass after that, so few have to be.
const ENDED_CAPACITY: usize = 256;

/// Everything that the watches of one cluster know.
#[derive(Default)]
pub(super) struct Cache {
    /// How long the watches are waited for.
    patience: Patience,
    kinds: BTreeMap<GroupKind, Watched>,
    /// By app, the kinds that it has or wants objects of, each with the places of these.
    needs: BTreeMap<String, Needs>,
    expected: BTreeMap<ObjectId, Expected>,
    flights: BTreeMap<ObjectId, Flight>,
    /// The instance's own rules about health.
    rules: Arc<[HealthRule]>,
    /// Through which managers people edit.
    editors: Editors,
    /// By app, how often anything was seen that may change what follows from its objects.
    seen: BTreeMap<String, u64>,
    /// By app, how many objects with its mark are there.
    counts: BTreeMap<String, usize>,
    /// How Jobs ended, by incarnation, the newest last: a Job may be gone before anybody looks.
    ended: VecDeque<(ObjectId, String, Health)>,
    /// Secrets that apps have copies of.
    pub(super) followed: Followed,
    /// What may have changed without a sign of it.
    pub(super) doubts: Doubts,
    /// News that nobody has fetched yet; bounded by four per app.
    pub(super) news: BTreeSet<TargetEvent>,
}

/// Group and name of a kind.
type GroupKind = (String, String);

/// The kinds that an app has or wants objects of, each with the places of these; there are many apps and few places of one.
type Needs = BTreeMap<GroupKind, Box<[Place]>>;

/// What our last write of an object left.
struct Expected {
    uid: String,
    /// Our entry; without fields where it is not known how the write left it.
    own: OwnEntry,
    sent: Sent,
}

/// How much of an object our last write of it sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    /// All that git says.
    Whole,
    /// Some of it: others hold the rest. Who does is kept, and a change of it is news.
    Part,
}

/// A write whose echo has not arrived.
#[derive(Default)]
struct Flight {
    writes: usize,
    seen: Vec<String>,
    echo: Option<(String, Instant)>,
    /// What was seen last while the echo is waited for: older, unless a list came in between that began behind the write.
    parked: Option<LiveObject>,
}

impl Cache {
    /// Returns one that knows nothing yet, of a cluster that is waited for so long.
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Returns whether the watch of a kind is to be opened now, and notes that it is.
    pub(super) fn open(&mut self, kind: &Kind) -> bool {
        let key = (kind.group.clone(), kind.kind.clone());
        if let Some(watched) = self.kinds.get_mut(&key) {
            // Its stream goes over to this version when it is opened next.
            watched.api_version = kind.api_version();
            return false;
        }
        self.kinds.insert(key, Watched { api_version: kind.api_version(), ..Watched::default() });
        true
    }

    /// Notes which kinds an app has or wants objects of, all of them open, and where; returns whether one is needed by no app any more.
    pub(super) fn need(&mut self, app: &str, kinds: &Places) -> bool {
        let needs: Needs = kinds
            .iter()
            .map(|(kind, all)| ((kind.group.clone(), kind.kind.clone()), all.iter().cloned().collect()))
            .collect();
        let before = self.needs.remove(app).unwrap_or_default();
        for key in needs.keys().filter(|key| !before.contains_key(*key)) {
            if let Some(watched) = self.kinds.get_mut(key) {
                watched.needed += 1;
                watched.unused = None;
            }
        }
        let mut has_unused = false;
        for key in before.keys().filter(|key| !needs.contains_key(*key)) {
            if let Some(watched) = self.kinds.get_mut(key) {
                watched.needed = watched.needed.saturating_sub(1);
                watched.unused = (watched.needed == 0).then(Instant::now);
                has_unused |= watched.needed == 0;
            }
        }
        if !needs.is_empty() {
            self.needs.insert(app.to_owned(), needs);
        }
        for key in before.into_keys() {
            self.leave_places(&key);
        }
        has_unused
    }

    /// Returns the places in which any app needs a kind.
    fn needed(&self, key: &GroupKind) -> BTreeSet<Place> {
        self.needs.values().filter_map(|needs| needs.get(key)).flatten().cloned().collect()
    }

    /// Forgets the places in which a kind is watched and no app needs it any more, with its objects there.
    fn leave_places(&mut self, key: &GroupKind) {
        if self.kinds.get(key).is_none_or(|watched| watched.places.is_empty()) {
            return;
        }
        let needed = self.needed(key);
        let Some(watched) = self.kinds.get_mut(key) else { return };
        let left: BTreeSet<Place> = watched.places.keys().filter(|it| !needed.contains(*it)).cloned().collect();
        watched.places.retain(|place, _| !left.contains(place));
        let gone: Vec<LiveObject> =
            watched.objects.extract_if(.., |id, _| left.contains(&Place::of(id))).map(|(_, live)| live).collect();
        gone.iter().for_each(|live| self.uncount(&live.app));
    }

    fn uncount(&mut self, app: &str) {
        if let Some(count) = self.counts.get_mut(app) {
            *count = count.saturating_sub(1);
        }
    }

    /// Returns the places in which the watch of a kind is to be opened now, and notes that it is: those in which apps need it, where we may not
    /// watch all of its objects at once.
    pub(super) fn narrow(&mut self, group: &str, kind: &str) -> Vec<Place> {
        let key = (group.to_owned(), kind.to_owned());
        if self.kinds.get(&key).is_none_or(|watched| !watched.narrowed) {
            return Vec::new();
        }
        let open: usize = self.kinds.values().map(|watched| watched.places.len()).sum();
        let needed = self.needed(&key);
        let Some(watched) = self.kinds.get_mut(&key) else { return Vec::new() };
        let new = needed.into_iter().filter(|it| !watched.places.contains_key(it));
        let new: Vec<Place> = new.take(PLACES_LIMIT.saturating_sub(open)).collect();
        watched.places.extend(new.iter().map(|it| (it.clone(), Reach { hidden: true, ..Reach::default() })));
        new
    }

    /// Returns whether a kind is to be watched in a place.
    pub(super) fn has_place(&self, group: &str, kind: &str, place: &Place) -> bool {
        let watched = self.kinds.get(&(group.to_owned(), kind.to_owned()));
        watched.is_some_and(|watched| watched.places.contains_key(place))
    }

    /// Returns since when no app needs a kind.
    pub(super) fn unused_since(&self, group: &str, kind: &str) -> Option<Instant> {
        self.kinds.get(&(group.to_owned(), kind.to_owned()))?.unused
    }

    /// Forgets a kind and its objects if no app has needed it for so long; returns whether it did.
    pub(super) fn close(&mut self, group: &str, kind: &str, after: Duration) -> bool {
        let key = (group.to_owned(), kind.to_owned());
        if self.unused_since(group, kind).is_none_or(|since| since.elapsed() < after) {
            return false;
        }
        for live in self.kinds.remove(&key).into_iter().flat_map(|watched| watched.objects.into_values()) {
            self.uncount(&live.app);
        }
        true
    }

    /// Returns the version in which a kind was wanted last.
    pub(super) fn version_of(&self, group: &str, kind: &str) -> Option<String> {
        let watched = self.kinds.get(&(group.to_owned(), kind.to_owned()))?;
        watched.api_version.rsplit('/').next().map(str::to_owned)
    }

    /// Takes the instance's own rules about health and through which managers people edit; returns whether either is another than before.
    /// What is known of a kind that is judged otherwise now is doubted until its next list.
    pub(super) fn judge_by(&mut self, rules: &[HealthRule], editors: &Editors) -> bool {
        let has_others = self.editors != *editors;
        if *self.rules == *rules && !has_others {
            return false;
        }
        for ((group, kind), watched) in &mut self.kinds {
            if has_others || health::rule_of(&self.rules, group, kind) != health::rule_of(rules, group, kind) {
                watched.reaches().for_each(|reach| reach.synced = false);
                watched.judged += 1;
            }
        }
        self.rules = rules.into();
        self.editors = editors.clone();
        true
    }

    /// Returns the instance's own rules about health.
    pub(super) fn rules(&self) -> Arc<[HealthRule]> {
        self.rules.clone()
    }

    /// Returns how often another rule than before was about the health of a kind.
    pub(super) fn judged(&self, group: &str, kind: &str) -> usize {
        self.kinds.get(&(group.to_owned(), kind.to_owned())).map_or(0, |watched| watched.judged)
    }

    /// Returns whether the first lists of a kind in which an app needs it are in, or will not come.
    pub(super) fn settled(&self, app: &str, group: &str, kind: &str) -> bool {
        let key = (group.to_owned(), kind.to_owned());
        self.kinds.get(&key).is_some_and(|watched| watched.is_settled(self.places_of(app, &key)))
    }

    /// Returns whether the watch of a kind can be trusted where an app needs it.
    pub(super) fn state(&self, app: &str, group: &str, kind: &str) -> WatchState {
        let key = (group.to_owned(), kind.to_owned());
        let state = |watched: &Watched| watched.state(self.places_of(app, &key), self.patience.fresh);
        self.kinds.get(&key).map_or(WatchState::Closed, state)
    }

    /// Returns the places in which an app needs a kind.
    fn places_of(&self, app: &str, key: &GroupKind) -> &[Place] {
        self.needs.get(app).and_then(|needs| needs.get(key)).map_or(&[], |places| places)
    }

    /// Notes that something arrived on the watch of a kind, and returns whether that is news: apps that have or want objects of a kind which
    /// was doubted are told, because what was said of them meanwhile is that nothing is known.
    pub(super) fn heard(&mut self, group: &str, kind: &str, place: Option<&Place>) -> bool {
        let within = self.patience.fresh;
        let Some(watched) = self.watched(group, kind) else { return false };
        let was_unknown = std::mem::take(&mut watched.unknown);
        if place.is_none() && std::mem::take(&mut watched.narrowed) {
            // All of them may be watched at once again.
            watched.places.clear();
        }
        let Some(reach) = watched.reach(place) else { return false };
        let was_fresh = reach.is_fresh(within) && !was_unknown;
        reach.last = Some(Instant::now());
        reach.refused = false;
        // One that is hidden is listed again, which tells.
        let is_news = reach.synced && !was_fresh && !reach.hidden;
        if is_news {
            self.tell_needing(&(group.to_owned(), kind.to_owned()));
        }
        is_news
    }

    /// Notes that nobody knows what the watches missed: until something arrives on one, nothing is known of its kind.
    pub(super) fn doubt(&mut self) {
        self.kinds.values_mut().flat_map(Watched::reaches).for_each(|reach| reach.last = None);
        self.followed.doubt();
    }

    /// Notes that the server does not know a kind.
    pub(super) fn unknown(&mut self, group: &str, kind: &str) {
        if let Some(watched) = self.watched(group, kind) {
            watched.unknown = true;
            watched.whole.hidden = true;
            watched.whole.synced = false;
            watched.narrowed = false;
            watched.places.clear();
        }
    }

    /// Notes that we may not watch a kind and returns whether that is new. What was seen of it before is doubted, not gone. Where that is so
    /// of all places together, each of them may be watched all the same.
    pub(super) fn refused(&mut self, group: &str, kind: &str, place: Option<&Place>, why: &RefusalKind) -> bool {
        let Some(watched) = self.watched(group, kind) else { return false };
        // What is not known is not refused.
        watched.unknown = false;
        watched.narrowed |= place.is_none() && *why == RefusalKind::Forbidden;
        watched.reach(place).is_some_and(|reach| {
            reach.hidden = true;
            !std::mem::replace(&mut reach.refused, true)
        })
    }

    /// Returns whether the watch of each kind can be trusted, by kind and group.
    pub(super) fn freshness(&self) -> BTreeMap<String, bool> {
        let named = |group: &str, kind: &str| format!("{kind}.{group}").trim_end_matches('.').to_owned();
        let fresh = |watched: &Watched| {
            let places: Vec<Place> = watched.places.keys().cloned().collect();
            watched.state(&places, self.patience.fresh) == WatchState::Fresh
        };
        self.kinds.iter().map(|((group, kind), watched)| (named(group, kind), fresh(watched))).collect()
    }

    /// Notes that a list is complete: objects that it did not hold are gone. Returns how many should have been told as gone before. Of a list
    /// that could not be read as a whole it is not known what it held.
    ///
    /// Apps that waited for a kind which could not be seen, or was doubted, are told, whether anything of theirs is in the list or not.
    pub(super) fn synced(
        &mut self,
        group: &str,
        kind: &str,
        place: Option<&Place>,
        listed: Option<&BTreeSet<ObjectId>>,
    ) -> usize {
        let within = self.patience.fresh;
        let Some(watched) = self.watched(group, kind) else { return 0 };
        let Some(reach) = watched.reach(place) else { return 0 };
        let was_doubted = reach.synced && !reach.is_fresh(within);
        let was_synced = std::mem::replace(&mut reach.synced, true);
        let was_hidden = std::mem::take(&mut reach.hidden);
        reach.last = Some(Instant::now());
        let is_of_list = |id: &ObjectId| place.is_none_or(|place| *place == Place::of(id));
        let known = watched.objects.keys().filter(|id| is_of_list(id));
        let is_gone = |id: &&ObjectId| listed.is_some_and(|listed| !listed.contains(*id));
        let gone: BTreeSet<ObjectId> = known.filter(is_gone).cloned().collect();
        let missed = if was_synced { gone.len() } else { 0 };
        for id in gone {
            self.event(&id, None);
        }
        if was_hidden || was_doubted {
            self.tell_needing(&(group.to_owned(), kind.to_owned()));
        }
        missed
    }

    /// Tells the apps that have or want objects of a kind to look at it.
    fn tell_needing(&mut self, key: &GroupKind) {
        let needing = self.needs.iter().filter(|(_, needs)| needs.contains_key(key)).map(|(app, _)| app.clone());
        for app in needing.collect::<Vec<_>>() {
            *self.seen.entry(app.clone()).or_default() += 1;
            self.news.insert(TargetEvent::Health { app });
        }
    }

    /// Takes in the newest state of an object, or that it is gone, and returns whether that is news.
    pub(super) fn event(&mut self, id: &ObjectId, live: Option<LiveObject>) -> bool {
        let version = live.as_ref().map(|live| live.resource_version.clone()).unwrap_or_default();
        let before = self.watched(&id.group, &id.kind).and_then(|watched| watched.objects.get(id).cloned());
        if let Some(flight) = self.flights.get_mut(id) {
            if flight.writes > 0 {
                if flight.seen.len() < SEEN_CAPACITY {
                    flight.seen.push(version);
                }
                return self.store(id, live);
            }
            let overtaken =
                flight.echo.as_ref().is_some_and(|(echo, since)| *echo != version && since.elapsed() < ECHO_LIMIT);
            // A deletion is never overtaken by an answer that showed the object.
            if overtaken && live.is_some() {
                flight.parked = live;
                return false;
            }
            self.flights.remove(id);
        }
        let is_doubtful = live.as_ref().is_some_and(|live| self.doubts.hear(id, live));
        self.store(id, live) | self.judge(id, before.as_ref()) | (is_doubtful && self.doubt_of(id))
    }

    /// Has an object looked at of which nobody can tell whether it is as we left it.
    fn doubt_of(&mut self, id: &ObjectId) -> bool {
        let app = self.live(id).map(|live| live.app).unwrap_or_default();
        self.news.insert(TargetEvent::Drift { app })
    }

    /// Takes in what was seen of objects whose writes were answered before a time while their echoes were waited for: what comes from a list
    /// that began after that, or so long after it, was not overtaken. Returns whether any of it is news.
    pub(super) fn unpark(&mut self, (group, kind): (&str, &str), place: Option<&Place>, until: Instant) -> bool {
        let is_due = |id: &ObjectId, flight: &Flight| {
            let is_here = id.group == group && id.kind == kind && place.is_none_or(|place| *place == Place::of(id));
            is_here && flight.writes == 0 && flight.echo.as_ref().is_some_and(|(_, since)| *since <= until)
        };
        let due: Vec<ObjectId> = self
            .flights
            .iter()
            .filter(|(id, it)| it.parked.is_some() && is_due(id, it))
            .map(|(id, _)| id.clone())
            .collect();
        let mut is_news = false;
        for id in due {
            let parked = self.flights.remove(&id).and_then(|flight| flight.parked);
            is_news |= parked.is_some() && self.event(&id, parked);
        }
        is_news
    }

    /// Returns since when a write may have been answered whose echo is not waited for any longer.
    pub(super) fn echo_limit() -> Option<Instant> {
        Instant::now().checked_sub(ECHO_LIMIT)
    }

    /// Tells apps that a Secret which they have a copy of is another than before; returns whether that is news.
    pub(super) fn tell_source(&mut self, apps: BTreeSet<String>) -> bool {
        let is_news = !apps.is_empty();
        for app in apps {
            *self.seen.entry(app.clone()).or_default() += 1;
            self.news.insert(TargetEvent::Source { app });
        }
        is_news
    }

    /// Notes that a write of an object is about to be sent.
    pub(super) fn begin_write(&mut self, id: &ObjectId) {
        self.flights.entry(id.clone()).or_default().writes += 1;
    }

    /// Notes the answer to a write, or that there is none, and returns whether anything seen meanwhile is news.
    pub(super) fn end_write(&mut self, id: &ObjectId, written: Option<&Written>, sent: Sent) -> bool {
        let Some(mut flight) = self.flights.remove(id) else { return false };
        flight.writes = flight.writes.saturating_sub(1);
        let before = self.watched(&id.group, &id.kind).and_then(|watched| watched.objects.get(id).cloned());
        if let Some(written) = written {
            let observed = &written.observed;
            let own = OwnEntry { fields: observed.fields.clone(), time: observed.time.clone() };
            self.expected.insert(id.clone(), Expected { uid: observed.uid.clone(), own, sent });
            self.doubts.answered(id, observed);
            let echoed = flight.seen.contains(&observed.resource_version)
                || before.as_ref().is_some_and(|live| live.resource_version == observed.resource_version);
            if !echoed {
                flight.echo = Some((observed.resource_version.clone(), Instant::now()));
                let live = decode(id, &written.object, &self.rules);
                self.flights.insert(id.clone(), flight);
                return self.store(id, Some(live));
            }
            self.drop_holders(id);
        }
        if flight.writes > 0 {
            self.flights.insert(id.clone(), flight);
            return false;
        }
        // What came behind the echo, and before the answer.
        let is_doubtful = before.as_ref().is_some_and(|live| self.doubts.hear(id, live));
        self.judge(id, before.as_ref()) | (is_doubtful && self.doubt_of(id))
    }

    /// Returns what is known of an object.
    pub(super) fn live(&self, id: &ObjectId) -> Option<LiveObject> {
        self.kinds.get(&(id.group.clone(), id.kind.clone()))?.objects.get(id).cloned()
    }

    /// Returns how a Job ended that was seen last in this incarnation.
    pub(super) fn ended(&self, id: &ObjectId) -> Option<(String, Health)> {
        let ended = self.ended.iter().rev().find(|(known, ..)| known == id)?;
        Some((ended.1.clone(), ended.2.clone()))
    }

    /// Notes how a Job ended. One that goes says no more of that, and one that runs again has not.
    fn note_end(&mut self, id: &ObjectId, live: &LiveObject) {
        let has_ended = |health: &&Health| matches!(health.state, HealthState::Healthy | HealthState::Degraded);
        let health = live.health.as_ref().filter(has_ended);
        if health.is_none() && live.terminating {
            return;
        }
        self.ended.retain(|(known, ..)| known != id);
        if let Some(health) = health {
            if self.ended.len() >= ENDED_CAPACITY {
                self.ended.pop_front();
            }
            self.ended.push_back((id.clone(), live.uid.clone(), health.clone()));
        }
    }

    /// Returns how many objects with the mark of an app there are.
    pub(super) fn count(&self, app: &str) -> usize {
        self.counts.get(app).copied().unwrap_or(0)
    }

    /// Returns the objects with the mark of an app.
    pub(super) fn members(&self, app: &str) -> Vec<(ObjectId, String)> {
        let all = self.kinds.values().flat_map(|watched| watched.objects.iter().map(move |known| (watched, known)));
        let own = all.filter(|(_, (_, live))| live.app == app);
        own.map(|(watched, (id, _))| (id.clone(), watched.api_version.clone())).collect()
    }

    /// Returns a number that changes with everything seen of an app's objects.
    pub(super) fn seen(&self, app: &str) -> u64 {
        self.seen.get(app).copied().unwrap_or(0)
    }

    /// Notes what our last write of an object left; no fields if it left some out.
    pub(super) fn expect(&mut self, id: &ObjectId, uid: &str, own: &OwnEntry) {
        let sent = if own.fields.is_empty() { Sent::Part } else { Sent::Whole };
        self.expected.insert(id.clone(), Expected { uid: uid.to_owned(), own: own.clone(), sent });
    }

    /// Takes in who holds what of an object that was read, if that is to be known and the watch brought it before that was so.
    pub(super) fn learn(&mut self, id: &ObjectId, object: &Object) {
        let is_wanted = self.expected.get(id).is_some_and(|expected| expected.sent == Sent::Part);
        let version = object.at(&["metadata", "resourceVersion"]).and_then(serde_json::Value::as_str);
        let known = self.watched(&id.group, &id.kind).and_then(|watched| watched.objects.get_mut(id));
        if let Some(live) = known.filter(|live| is_wanted && version == Some(live.resource_version.as_str())) {
            live.managed = managed(object);
        }
    }

    /// Forgets what was expected of an object.
    pub(super) fn forget(&mut self, id: &ObjectId) {
        self.expected.remove(id);
        self.flights.remove(id);
    }

    fn watched(&mut self, group: &str, kind: &str) -> Option<&mut Watched> {
        self.kinds.get_mut(&(group.to_owned(), kind.to_owned()))
    }

    /// Forgets who holds what of an object that came before it was known to be as we left it.
    fn drop_holders(&mut self, id: &ObjectId) {
        let is_told = self.live(id).is_some_and(|live| self.keeps_holders(id, &live));
        let known = self.watched(&id.group, &id.kind).and_then(|watched| watched.objects.get_mut(id));
        if let Some(live) = known.filter(|_| !is_told) {
            live.managed = None;
        }
    }

    /// Returns whether it is kept who holds what of an object: it is not as we left it, or people hold fields beside ours.
    fn keeps_holders(&self, id: &ObjectId, live: &LiveObject) -> bool {
        let is_as_left = |expected: &Expected| expected.sent == Sent::Whole && expected.own == live.own;
        !self.expected.get(id).is_none_or(is_as_left) || !added(live, &self.editors).is_empty()
    }

    /// Takes in how an object is. Returns whether that is news to the app that had it: its mark is another one, or gone.
    fn store(&mut self, id: &ObjectId, live: Option<LiveObject>) -> bool {
        let live = live.map(|live| {
            let managed = live.managed.clone().filter(|_| self.keeps_holders(id, &live));
            LiveObject { managed, ..live }
        });
        if let Some(live) = live.as_ref().filter(|_| id.kind == "Job" && id.group == "batch") {
            self.note_end(id, live);
        }
        let Some(watched) = self.kinds.get_mut(&(id.group.clone(), id.kind.clone())) else { return false };
        let app = live.as_ref().map(|live| live.app.clone());
        let before = match live {
            None => watched.objects.remove(id),
            Some(ref live) => watched.objects.insert(id.clone(), live.clone()),
        };
        let app_before = before.as_ref().map(|before| before.app.clone());
        if app != app_before {
            if let Some(count) = app_before.and_then(|app| self.counts.get_mut(&app)) {
                *count = count.saturating_sub(1);
            }
            if let Some(app) = &app {
                *self.counts.entry(app.clone()).or_default() += 1;
            }
        }
        // A version of its own says nothing: it also rises with a status that changes no health.
        let version = live.as_ref().map(|live| live.resource_version.clone()).unwrap_or_default();
        let changed = live.as_ref().and_then(|live| live.changed);
        let same = before.clone().map(|before| LiveObject { resource_version: version, changed, ..before }) == live;
        let left = app.as_ref().and(before.as_ref()).map(|before| before.app.clone());
        let left = left.filter(|left| !left.is_empty() && Some(left) != app.as_ref());
        if !same {
            let apps: BTreeSet<String> = app.into_iter().chain(before.map(|before| before.app)).collect();
            for app in apps {
                *self.seen.entry(app).or_default() += 1;
            }
        }
        left.is_some_and(|app| self.news.insert(TargetEvent::Drift { app }))
    }

    /// Adds what is news about an object to the news.
    fn judge(&mut self, id: &ObjectId, before: Option<&LiveObject>) -> bool {
        let live = self.live(id);
        let app = live.as_ref().or(before).map(|live| live.app.clone()).unwrap_or_default();
        let differs = self.expected.get(id).is_some_and(|expected| {
            live.as_ref().is_none_or(|live| {
                let holders = |live: &LiveObject| (live.own.clone(), live.managed.clone());
                let is_as_before = || before.map(holders) == Some(holders(live));
                let is_as_left = match (expected.sent, expected.own.fields.is_empty()) {
                    (Sent::Whole, _) => live.own == expected.own,
                    (Sent::Part, false) => live.own == expected.own && is_as_before(),
                    (Sent::Part, true) => is_as_before(),
                };
                live.uid != expected.uid || !is_as_left
            })
        });
        let added = |live| added(live, &self.editors);
        let differs = differs || live.as_ref().map_or_else(Vec::new, added) != before.map_or_else(Vec::new, added);
        let gone = live.is_none() && before.is_some();
        let health = live.as_ref().map(|live| (&live.health, live.terminating, live.unspoken));
        let health_before = before.map(|live| (&live.health, live.terminating, live.unspoken));
        if differs || gone {
            self.news.insert(TargetEvent::Drift { app })
        } else if health != health_before {
            self.news.insert(TargetEvent::Health { app })
        } else {
            false
        }
    }
}

/// Returns the names of what editors added to an object.
fn added<'a>(live: &'a LiveObject, editors: &Editors) -> Vec<Vec<&'a str>> {
    additions(live.managed.as_ref(), editors).into_iter().map(|addition| addition.names).collect()
}

#[cfg(test)]
mod tests;
