//! One watch per kind in use, for the objects that carry our instance label; and one for each Secret that apps have copies of.
//!
//! A watch begins with its list in the same stream; where a server cannot do that, a list goes before it. Kinds with a health rule come in
//! full form, all others as metadata; Secrets and ConfigMaps are never read. Bookmarks keep the version from which a closed stream goes on;
//! now and then a kind is listed anew, because an event that never came is found by nothing else.
//!
//! What cannot be read of a stream is passed over, told and counted: one such object holds up no other of its kind.
//!
//! Who may not watch a kind in all namespaces at once watches it in each of those in which apps need it, and what lies in none by its name.
//!
//! Not here: what is kept and what is news (`cache`).

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures::{AsyncBufRead, AsyncBufReadExt};
use http::Request;
use kube::client::Body;
use serde_json::Value;

use super::cache::{Cache, decode};
use super::call::{Call, Form, METADATA_FORM};
use super::source::Version;
use super::{Inner, Kind, json, patience, reply};
use crate::health;
use crate::model::{Object, ObjectId};
use crate::target::address::selected;
use crate::target::{Place, Places, Refusal, RefusalKind};

/// How long opening waits for the first lists.
const OPEN_DEADLINE: Duration = Duration::from_secs(15);
/// How long one page of a list may take.
const LIST_DEADLINE: Duration = Duration::from_secs(30);
/// Pages of one list; ends a server that always gives a further one.
const MAX_PAGES: usize = 1_000;
/// Least time between two openings of one watch whose streams end early; doubled each time up to the next constant.
const FIRST_STEP: Duration = Duration::from_millis(800);
/// Longest time between two openings of one watch whose streams end early.
const STEP_LIMIT: Duration = Duration::from_secs(30);
/// A stream that lived so long did not end early, whoever ended it.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// Longest line of a stream that is read, in bytes: an object of 1.5 MiB and its frame.
const MAX_FRAME_BYTES: usize = 4 * 1024 * 1024;
/// Most objects of one kind that a list may hold: five times as many as one node is made for, of all kinds.
const MAX_LISTED: usize = 200_000;
/// Pieces of that size of a longer line that are passed over; a stream with a longer one ends.
const MAX_PIECES: usize = 64;
/// Bytes of what cannot be read in which a name is looked for; it stands among the first fields.
const MAX_LOOKED_AT: usize = 4 * 1024;
/// Longest name that Kubernetes has.
const MAX_NAME: usize = 253;

/// Opens the watches that an app needs and that are not open, and waits until the first lists of all these kinds are in, or the server does not
/// answer. Those that it needed
/// before and no app needs any more are closed after a while.
pub(super) async fn open(inner: &Arc<Inner>, app: &str, kinds: &Places) -> Result<(), Refusal> {
    let (new, has_unused) = {
        let mut cache = inner.cache();
        let new: Vec<Kind> = kinds.keys().filter(|kind| cache.open(kind)).cloned().collect();
        (new, cache.need(app, kinds))
    };
    for kind in new {
        start(inner, kind, Scope::Ours);
    }
    kinds.keys().for_each(|kind| open_places(inner, kind));
    if has_unused {
        inner.unused.notify_waiters();
    }
    let is_settled = |kind: &Kind| inner.cache().settled(app, &kind.group, &kind.kind);
    let settled = || kinds.keys().all(is_settled);
    // Of a server that does not answer no list comes, and whoever waits for this pass waits for nothing.
    let waited = wait_until(inner, || settled() || inner.silence().is_some()).await;
    if let Some(why) = inner.silence().filter(|_| !settled()) {
        return Err(Refusal::new(RefusalKind::Unreachable, why));
    }
    waited.map_err(|_| {
        let kinds: Vec<&str> = kinds.keys().filter(|kind| !is_settled(kind)).map(|kind| kind.kind.as_str()).collect();
        let message =
            format!("watch {}: the first list did not arrive within {} s", kinds.join(", "), OPEN_DEADLINE.as_secs());
        Refusal::new(RefusalKind::Timeout, message)
    })
}

/// Begins to keep a watch open.
fn start(inner: &Arc<Inner>, kind: Kind, scope: Scope) {
    tokio::spawn(keep_open(Arc::downgrade(inner), (kind, scope), inner.stop.clone()));
}

/// Opens the watches of single places in which a kind is needed that may not be watched as a whole.
fn open_places(inner: &Arc<Inner>, kind: &Kind) {
    let new = inner.cache().narrow(&kind.group, &kind.kind);
    new.into_iter().for_each(|place| start(inner, kind.clone(), Scope::Place(place)));
}

/// Opens the watches of the Secrets that an app has copies of and waits until the first lists are in, or a watch does not open.
pub(super) async fn follow(inner: &Arc<Inner>, app: &str, sources: &BTreeSet<ObjectId>) -> Result<(), Refusal> {
    let new = inner.cache().followed.follow(app, sources);
    for id in new {
        start(inner, Kind::of(&id, "v1"), Scope::One(id));
    }
    let settled = || sources.iter().all(|id| inner.cache().followed.is_settled(id));
    // Where it is not known in time they are read one by one.
    let _ = wait_until(inner, settled).await;
    Ok(())
}

/// Waits until lists that are on their way have brought this about, or until a deadline.
async fn wait_until(inner: &Inner, holds: impl Fn() -> bool) -> Result<(), tokio::time::error::Elapsed> {
    let met = async {
        loop {
            let notified = inner.synced.notified();
            tokio::pin!(notified);
            // Registered before the look, so that a list which ends in between is not missed.
            notified.as_mut().enable();
            if holds() {
                return;
            }
            notified.await;
        }
    };
    tokio::time::timeout(OPEN_DEADLINE, met).await
}

/// What a watch is about.
enum Scope {
    /// The objects of a kind that carry our instance label.
    Ours,
    /// Those of them that are in one place.
    Place(Place),
    /// One object, whoever owns it.
    One(ObjectId),
}

/// Keeps a watch open until the cluster is dropped.
async fn keep_open(cluster: Weak<Inner>, (kind, scope): (Kind, Scope), stop: tokio_util::sync::CancellationToken) {
    let mut state = Stream {
        judged: 0,
        stops: 0,
        kind,
        scope,
        version: None,
        listed: BTreeSet::new(),
        is_list_whole: true,
        passed_over: None,
        list_first: false,
        listed_at: Instant::now(),
        begun: Instant::now(),
    };
    let ours = matches!(state.scope, Scope::Ours).then(|| state.kind.clone());
    let mut step = Step { next: FIRST_STEP, percent: patience::percent_of(&state.kind.kind) };
    loop {
        let Some(inner) = cluster.upgrade() else { return };
        if !state.is_wanted(&inner) {
            return;
        }
        let opened = Instant::now();
        tokio::select! {
            () = stop.cancelled() => return,
            () = inner.judged_anew.notified() => continue,
            () = inner.stood_still.notified() => continue,
            () = unused(&inner, ours.as_ref()) => {
                if inner.cache().close(&state.kind.group, &state.kind.kind, inner.patience.unused) {
                    return;
                }
                continue;
            }
            () = state.run(&inner) => {}
        }
        let pause = step.pause(opened.elapsed(), inner.patience.stream);
        let back = inner.back.clone();
        drop(inner);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            // Until it is listened to again nothing may be deleted, so that does not wait as long as the server was away.
            () = back.notified() => tokio::time::sleep(step.begin_anew()).await,
        }
    }
}

/// Waits until no app has needed a kind for a while.
async fn unused(inner: &Inner, kind: Option<&Kind>) {
    let Some(kind) = kind else { return std::future::pending().await };
    loop {
        let notified = inner.unused.notified();
        tokio::pin!(notified);
        // Registered before the look, so that what comes in between is not missed.
        notified.as_mut().enable();
        let spent = inner.cache().unused_since(&kind.group, &kind.kind).map(|since| since.elapsed());
        match spent {
            Some(spent) if spent >= inner.patience.unused => return,
            Some(spent) => tokio::time::sleep(inner.patience.unused - spent).await,
            None => notified.await,
        }
    }
}

/// The least time between two openings of one watch.
struct Step {
    next: Duration,
    /// How much of it this watch waits, so that not all knock at once at a server that comes back.
    percent: u32,
}

impl Step {
    /// Returns how long to wait after a stream that lived so long, of a watch whose streams are to last a time.
    ///
    /// Whether anything came on it says nothing: a quiet kind has no news, and a stream that tells its list and ends, or an error, tells
    /// the same when it is opened at once.
    fn pause(&mut self, lived: Duration, lasts: Duration) -> Duration {
        if lived >= lasts.min(LONG_LIFE) {
            self.next = FIRST_STEP;
            return Duration::ZERO;
        }
        let pause = (self.next / 100 * self.percent).saturating_sub(lived);
        self.next = (self.next * 2).min(STEP_LIMIT);
        pause
    }

    /// Returns how long to wait before a server is listened to that answers again.
    fn begin_anew(&mut self) -> Duration {
        self.next = FIRST_STEP;
        FIRST_STEP / 100 * self.percent
    }
}

/// One watch and where it stands.
struct Stream {
    kind: Kind,
    scope: Scope,
    version: Option<String>,
    listed: BTreeSet<ObjectId>,
    /// Whether everything could be read that its list has held so far.
    is_list_whole: bool,
    /// The name of the last object that could not be read.
    passed_over: Option<String>,
    list_first: bool,
    /// How often its health was judged by another rule when it was opened.
    judged: usize,
    /// How often this process had stood still when it was opened.
    stops: u64,
    /// When its last list was complete.
    listed_at: Instant,
    /// When its last list, or stream, began.
    begun: Instant,
}

impl Stream {
    /// Follows one stream to its end and notes what that says of the cluster.
    async fn run(&mut self, inner: &Arc<Inner>) {
        let begun = Instant::now();
        let ended = self.attempt(inner).await;
        inner.counts.restart(&self.kind.kind, ended.as_ref().copied());
        let Err(refusal) = ended else { return };
        if refusal.kind == RefusalKind::Unauthorized && inner.connection.reload(begun).await {
            return;
        }
        if let Scope::One(id) = &self.scope {
            inner.cache().followed.fail(id);
            inner.synced.notify_waiters();
        }
        match refusal.kind {
            RefusalKind::UnknownKind | RefusalKind::NotFound if self.is_ours() => {
                inner.cache().unknown(&self.kind.group, &self.kind.kind);
                inner.synced.notify_waiters();
            }
            RefusalKind::Forbidden | RefusalKind::Unserved if self.is_ours() => self.refused(inner, &refusal),
            // Asked from that version again the server would say the same for ever.
            RefusalKind::Expired if self.version.is_some() => self.version = None,
            RefusalKind::Invalid(_) | RefusalKind::Expired if self.version.is_none() => self.list_first = true,
            _ => {
                inner.note(Some(&refusal));
                tracing::debug!(kind = self.kind.kind, error = %refusal, "a watch ended");
            }
        }
    }

    /// Notes that the watch is not allowed; that of a whole kind is taken over by those of single places.
    fn refused(&self, inner: &Arc<Inner>, refusal: &Refusal) {
        let place = self.place();
        let new = inner.cache().refused(&self.kind.group, &self.kind.kind, place, &refusal.kind);
        open_places(inner, &self.kind);
        inner.synced.notify_waiters();
        if new {
            tracing::warn!(kind = self.kind.kind, place = place.map(tracing::field::debug), error = %refusal, "a kind cannot be watched");
        }
    }

    /// Opens the stream and reads it to its end.
    async fn attempt(&mut self, inner: &Inner) -> Result<(), Refusal> {
        let wanted = inner.cache().version_of(&self.kind.group, &self.kind.kind);
        if let Some(version) = wanted.filter(|version| *version != self.kind.version) {
            self.kind.version = version;
            self.version = None;
        }
        let path = match &self.scope {
            Scope::Ours | Scope::Place(Place::Name(_)) => inner.list_path(&self.kind).await?,
            Scope::Place(Place::Namespace(namespace)) => inner.collection_path(&self.kind, namespace).await?,
            Scope::One(id) => inner.collection_path(&self.kind, &id.namespace).await?,
        };
        let judged = inner.cache().judged(&self.kind.group, &self.kind.kind);
        let stops = inner.beat();
        let is_doubted = self.judged != judged || self.stops != stops;
        if is_doubted || self.listed_at.elapsed() >= inner.patience.relist_of(&self.kind.kind) {
            self.version = None;
            self.judged = judged;
            self.stops = stops;
        }
        if self.version.is_none() {
            // What a list held that broke off is not what the next one holds.
            self.begin_list();
        }
        self.begun = Instant::now();
        if self.list_first && self.version.is_none() {
            self.list(inner, &path).await?;
        }
        let mut lines = Box::pin(self.connect(inner, &path).await?);
        while let Some(line) = next_line(&mut lines, &self.kind, inner).await? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            inner.note_word();
            match self.frame(inner, &line) {
                Ok(true) => {}
                Ok(false) => break,
                // One that broke off is told anew on the next stream.
                Err(why) if line.last() != Some(&b'\n') => {
                    return Err(Refusal::new(RefusalKind::Server, format!("watch {}: {why}", self.kind.kind)));
                }
                Err(why) => self.pass_over(inner, why, &line),
            }
        }
        Ok(())
    }

    fn begin_list(&mut self) {
        self.listed.clear();
        self.is_list_whole = true;
    }

    /// Goes on without what cannot be read: one such object is not to hide the others of its kind, and it would come again on the next
    /// stream. Nothing follows for objects that the list lacks, as any of them may be the one.
    fn pass_over(&mut self, inner: &Inner, why: &str, line: &[u8]) {
        self.is_list_whole &= self.version.is_some();
        inner.counts.malformed();
        let name = name_in(line);
        // It may be told of as often as its state changes.
        if self.passed_over.as_ref() != Some(&name) {
            tracing::warn!(kind = self.kind.kind, name, "what a watch told of an object was passed over: {why}");
            self.passed_over = Some(name);
        }
    }

    async fn connect(&self, inner: &Inner, path: &str) -> Result<impl AsyncBufRead + use<>, Refusal> {
        let selector = self.selector(inner);
        let from = match &self.version {
            Some(version) => format!("resourceVersion={version}"),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
        };
        let seconds = inner.patience.stream.as_secs();
        let uri = format!("{path}?watch=1&{from}&allowWatchBookmarks=true&timeoutSeconds={seconds}&{selector}");
        let attempt = format!("watch {}", self.kind.kind);
        let request = Request::builder().uri(uri).header("Accept", self.accept(inner)).body(Body::empty());
        let request = request.map_err(|error| Refusal::new(RefusalKind::Server, format!("{attempt}: {error}")))?;
        let client = inner.client().await?;
        let opening = async {
            match client.send(request).await {
                Ok(answer) => reply::lines(answer, &attempt).await,
                Err(error) => {
                    Err(Refusal::new(RefusalKind::Unreachable, format!("{attempt}: {}", crate::base::chain(&error))))
                }
            }
        };
        match tokio::time::timeout(LIST_DEADLINE, opening).await {
            Err(_) => Err(Refusal::new(RefusalKind::Timeout, format!("{attempt}: the stream did not open"))),
            Ok(opened) => opened,
        }
    }

    fn accept(&self, inner: &Inner) -> &'static str {
        match self.form(inner) {
            Form::Full => "application/json",
            Form::Metadata | Form::MetadataList => METADATA_FORM,
        }
    }

    fn is_ours(&self) -> bool {
        matches!(self.scope, Scope::Ours | Scope::Place(_))
    }

    /// Returns the place, if it is about one.
    fn place(&self) -> Option<&Place> {
        match &self.scope {
            Scope::Place(place) => Some(place),
            Scope::Ours | Scope::One(_) => None,
        }
    }

    /// Returns whether a watch of one place is still to be open.
    fn is_wanted(&self, inner: &Inner) -> bool {
        self.place().is_none_or(|place| inner.cache().has_place(&self.kind.group, &self.kind.kind, place))
    }

    fn selector(&self, inner: &Inner) -> String {
        match &self.scope {
            Scope::Place(Place::Name(name)) => {
                format!(
                    "labelSelector=rewild.dev%2Finstance%3D{}&fieldSelector=metadata.name%3D{}",
                    inner.instance,
                    selected(name)
                )
            }
            Scope::Ours | Scope::Place(Place::Namespace(_)) => {
                format!("labelSelector=rewild.dev%2Finstance%3D{}", inner.instance)
            }
            Scope::One(id) => format!("fieldSelector=metadata.name%3D{}", selected(&id.name)),
        }
    }

    fn form(&self, inner: &Inner) -> Form {
        if !self.is_ours() {
            return Form::Metadata;
        }
        let rules = inner.cache().rules();
        if health::has_rule(&self.kind.group, &self.kind.kind, &rules) { Form::Full } else { Form::Metadata }
    }

    /// Reads one frame; returns false when the stream must be opened anew from the beginning, and why not where it cannot be read.
    fn frame(&mut self, inner: &Inner, line: &[u8]) -> Result<bool, &'static str> {
        if line.len() >= MAX_FRAME_BYTES {
            return Err("it is larger than 4 MiB");
        }
        let mut frame: Value = json::read(line).ok_or("it is no JSON")?;
        let object = frame.get_mut("object").map(Value::take).unwrap_or(Value::Null);
        let object = Object::from_value(object).ok_or("it is no object")?;
        if !self.is_wanted(inner) {
            return Ok(false);
        }
        match &self.scope {
            Scope::Ours | Scope::Place(_) => {
                if inner.cache().heard(&self.kind.group, &self.kind.kind, self.place()) {
                    inner.news.notify_one();
                }
            }
            Scope::One(id) => inner.cache().followed.hear(id),
        }
        match frame.get("type").and_then(Value::as_str).unwrap_or("") {
            "BOOKMARK" => {
                // Told a second time, the end is that of no list: one that held nothing would take everything away.
                let lists = self.version.is_none();
                let ends = lists && object.annotation("k8s.io/initial-events-end") == Some("true");
                if ends || !lists {
                    self.version = version_of(&object);
                }
                if ends {
                    self.end_of_list(inner);
                } else if let Some(until) = Cache::echo_limit() {
                    self.unpark(inner, until);
                }
            }
            "ERROR" => {
                // 410 and its kin: the version is too old, so the list comes again.
                self.version = None;
                return Ok(false);
            }
            word => {
                let id = self.told(&object)?;
                if self.version.is_some() {
                    self.version = version_of(&object);
                } else if self.listed.len() < MAX_LISTED {
                    self.listed.insert(id.clone());
                } else {
                    // Of a list that does not end nothing more is kept, and nothing follows from what it lacks.
                    self.is_list_whole = false;
                    return Err("its list holds more than 200000 objects");
                }
                self.take_in(inner, &id, (word != "DELETED").then_some(&object));
            }
        }
        Ok(true)
    }

    /// Returns which object is told of, and why not where that cannot be read.
    fn told(&self, object: &Object) -> Result<ObjectId, &'static str> {
        let id = self.id(object);
        if id.name.is_empty() {
            return Err("it has no name");
        }
        // From there the stream goes on when it is opened next.
        version_of(object).map(|_| id).ok_or("it has no version")
    }

    /// Takes in an object as it is now, or that it is gone.
    fn take_in(&self, inner: &Inner, id: &ObjectId, object: Option<&Object>) {
        let is_news = match &self.scope {
            Scope::Ours | Scope::Place(_) => {
                let rules = inner.cache().rules();
                inner.cache().event(id, object.map(|object| decode(id, object, &rules)))
            }
            Scope::One(_) => {
                let mut cache = inner.cache();
                let apps = cache.followed.event(id, object.map(Version::of));
                cache.tell_source(apps)
            }
        };
        if is_news {
            inner.news.notify_one();
        }
    }

    /// Takes in what was held for older than an own write and was not, as far as that was answered before a time.
    fn unpark(&self, inner: &Inner, until: Instant) {
        if self.is_ours() && inner.cache().unpark((&self.kind.group, &self.kind.kind), self.place(), until) {
            inner.news.notify_one();
        }
    }

    fn end_of_list(&mut self, inner: &Inner) {
        self.unpark(inner, self.begun);
        let listed = std::mem::take(&mut self.listed);
        let listed = self.is_list_whole.then_some(&listed);
        self.listed_at = Instant::now();
        match (&self.scope, listed) {
            (Scope::Ours | Scope::Place(_), listed) => {
                let missed = inner.cache().synced(&self.kind.group, &self.kind.kind, self.place(), listed);
                inner.counts.missed(missed);
            }
            (Scope::One(id), Some(listed)) => {
                let mut cache = inner.cache();
                let apps = cache.followed.synced(id, listed);
                cache.tell_source(apps);
            }
            (Scope::One(id), None) => inner.cache().followed.fail(id),
        }
        inner.synced.notify_waiters();
        inner.news.notify_one();
    }

    /// Lists, for servers that cannot begin a watch with its list. A list that grows too old before its last page is in begins anew once,
    /// and then comes without pages.
    async fn list(&mut self, inner: &Inner, path: &str) -> Result<(), Refusal> {
        let paged = format!("limit={}&", inner.patience.page);
        for limit in [&paged, &paged] {
            match self.pages(inner, path, limit).await {
                Err(refusal) if refusal.kind == RefusalKind::Expired => self.begin_list(),
                listed => return listed,
            }
        }
        self.pages(inner, path, "").await
    }

    async fn pages(&mut self, inner: &Inner, path: &str, limit: &str) -> Result<(), Refusal> {
        let mut next = String::new();
        for _ in 0..MAX_PAGES {
            let page = format!("{path}?{limit}{}{next}", self.selector(inner));
            let form = match self.form(inner) {
                Form::Full => Form::Full,
                Form::Metadata | Form::MetadataList => Form::MetadataList,
            };
            let call = Call { form, ..Call::get(format!("list {}", self.kind.kind), page, LIST_DEADLINE) };
            let (_, list) = inner.call(call).await?;
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                let object = Object::from_value(item.clone()).ok_or("it is no object");
                match object.and_then(|object| Ok((self.told(&object)?, object))) {
                    Ok((id, object)) => {
                        self.listed.insert(id.clone());
                        self.take_in(inner, &id, Some(&object));
                    }
                    Err(why) => self.pass_over(inner, why, b""),
                }
            }
            let metadata = |key: &str| {
                list.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or("").to_owned()
            };
            let more = metadata("continue");
            if more.is_empty() {
                self.version = Some(metadata("resourceVersion"));
                self.end_of_list(inner);
                return Ok(());
            }
            next = format!("&continue={more}");
        }
        Err(Refusal::new(RefusalKind::Server, format!("list {}: it has more than {MAX_PAGES} pages", self.kind.kind)))
    }

    /// Returns the identity of an object of this watch; in metadata form and in list items its own kind is another or absent.
    fn id(&self, object: &Object) -> ObjectId {
        ObjectId::new(&self.kind.group, &self.kind.kind, object.namespace(), object.name())
    }
}

fn version_of(object: &Object) -> Option<String> {
    object.at(&["metadata", "resourceVersion"]).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the first name that a frame tells, to say of which object it is.
fn name_in(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.get(..MAX_LOOKED_AT).unwrap_or(line));
    let after = text.split_once("\"name\":").map_or("", |(_, after)| after);
    after.trim_start().trim_start_matches('"').chars().take_while(|char| *char != '"').take(MAX_NAME).collect()
}

/// Reads one line with its end, or nothing at the end of the stream; of one that is too long, its beginning. The wait for it is bounded; a
/// server that is quiet for long is asked whether it answers, because one that stands still keeps its connections.
async fn next_line(
    lines: &mut (impl AsyncBufRead + Unpin),
    kind: &Kind,
    inner: &Inner,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mut line = next_piece(lines, kind, inner).await?;
    for _ in 0..MAX_PIECES {
        if line.len() < MAX_FRAME_BYTES || line.last() == Some(&b'\n') {
            return Ok((!line.is_empty()).then_some(line));
        }
        let piece = next_piece(lines, kind, inner).await?;
        if piece.len() < MAX_FRAME_BYTES || piece.last() == Some(&b'\n') {
            line.push(b'\n');
        }
    }
    Err(Refusal::new(RefusalKind::Server, format!("watch {}: a frame does not end", kind.kind)))
}

/// Reads up to the end of a line, the end of the stream, or the size of the longest line.
async fn next_piece(lines: &mut (impl AsyncBufRead + Unpin), kind: &Kind, inner: &Inner) -> Result<Vec<u8>, Refusal> {
    let patience::Patience { quiet, idle, .. } = inner.patience;
    let attempt = |what: &str| Refusal::new(RefusalKind::Timeout, format!("watch {}: {what}", kind.kind));
    let mut piece = Vec::new();
    let mut limited = futures::AsyncReadExt::take(lines, MAX_FRAME_BYTES as u64);
    let begun = Instant::now();
    let read = {
        let mut read = limited.read_until(b'\n', &mut piece);
        loop {
            let left = idle.saturating_sub(begun.elapsed());
            match tokio::time::timeout(quiet.min(left), &mut read).await {
                Ok(read) => break read,
                Err(_) if left <= quiet => return Err(attempt("nothing arrived, not even a bookmark")),
                Err(_) => inner.doubt().await?,
            }
        }
    };
    read.map_err(|error| attempt(&error.to_string()))?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Duration = Duration::from_secs(290);

    fn check(lives: &[u64], lasts: Duration, pauses: &[u64]) {
        check_percent(100, lives, lasts, pauses);
    }

    fn check_percent(percent: u32, lives: &[u64], lasts: Duration, pauses: &[u64]) {
        let mut step = Step { next: FIRST_STEP, percent };
        let got: Vec<u128> =
            lives.iter().map(|life| step.pause(Duration::from_millis(*life), lasts).as_millis()).collect();
        assert_eq!(got, pauses.iter().map(|pause| u128::from(*pause)).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_that_lasted_its_time_is_opened_again_at_once_however_quiet_it_was() {
        check(&[2_000, 2_000, 2_001], Duration::from_secs(2), &[0, 0, 0]);
        check(&[290_000, 290_000], STREAM, &[0, 0]);
    }

    #[test]
    fn a_stream_that_a_proxy_ends_each_minute_is_opened_again_at_once() {
        check(&[60_000, 60_000, 60_000], STREAM, &[0, 0, 0]);
    }

    #[test]
    fn a_stream_that_ends_at_once_is_opened_ever_less_often() {
        let pauses = [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000];
        check(&[0; 8], STREAM, &pauses);
    }

    #[test]
    fn kinds_wait_a_fifth_more_or_less_than_others() {
        check_percent(80, &[0; 3], STREAM, &[640, 1_280, 2_560]);
        check_percent(120, &[0; 7], STREAM, &[960, 1_920, 3_840, 7_680, 15_360, 30_720, 36_000]);
    }

    #[test]
    fn what_a_stream_lived_counts_as_waited() {
        check(&[500, 500, 10_000, 0], STREAM, &[300, 1_100, 0, 6_400]);
    }

    #[test]
    fn a_server_that_answers_again_is_listened_to_soon() {
        let mut step = Step { next: STEP_LIMIT, percent: 120 };
        assert_eq!(step.begin_anew(), FIRST_STEP / 100 * 120);
        assert_eq!(step.pause(Duration::ZERO, Duration::from_secs(290)), FIRST_STEP / 100 * 120);
    }

    #[test]
    fn a_long_life_ends_the_waiting() {
        check(&[0, 0, 0, 60_000, 0], STREAM, &[800, 1_600, 3_200, 0, 800]);
    }
}
