//! The worker of one instance: listens, queues, runs passes.
//!
//! It listens to refs, to the cluster, to `secrets.yaml`, to the schedule of the merge bot, to the remote and to people. None of them
//! brings data: each sets a bit on an app or makes the worker look at the head. Not here: which pass begins when (`queue.rs`).

mod clusters;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::drifts::Drifts;
use super::files::FileWatch;
use super::outlooks::Outlooks;
use super::probes::Probes;
use super::queue::{Next, Queue};
use super::waits::Waits;
use super::{Metrics, Work};
use crate::base::{Schedule, Timestamp, chain};
use crate::git;
use crate::model::{AppName, ClusterName, ErrorClass, Operation, OperationState, Reason, SETTINGS_PATH, Trigger};
use crate::pipeline::{self, Error, Instance, Overview, Passed};
use crate::plan::WakeOn;
use crate::settings::{DaemonSettings, Intervals, StateDirectory};
use crate::target::TargetEvent;

/// Triggers that wait to be taken in; more than this only says again what is already queued.
const TRIGGER_CAPACITY: usize = 4_096;
/// How often a pass that lost the race for the branch begins again at once.
const LOST_LIMIT: usize = 5;
/// How long the loop may not turn before the daemon counts as dead.
const LOOP_STALL: Duration = Duration::from_secs(60);
/// The loop turns at least this often.
const TURN_LIMIT: Duration = Duration::from_secs(10);
/// How often what is too old is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// How often objects are compared value by value.
const AUDIT_EVERY: Duration = Duration::from_secs(3600);
/// How long a stop waits for running passes.
const DRAIN_DEADLINE: Duration = Duration::from_secs(7);
/// Wait before another look at a branch, or at what the store knows of it, that could not be read.
const LOOK_RETRY: Duration = Duration::from_secs(5);

/// What the worker and its handles share.
pub(super) struct Shared {
    pub(super) instance: Arc<Instance>,
    pub(super) fetch: Notify,
    pub(super) outlooks: Outlooks,
    sender: mpsc::Sender<Trigger>,
    receiver: Mutex<Option<mpsc::Receiver<Trigger>>>,
    intervals: Intervals,
    allow: Vec<String>,
    scratch: std::path::PathBuf,
    metrics: Metrics,
    pub(super) work: Work,
    begun: Instant,
    turned_ms: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Shared {
    /// Returns what an instance's worker begins with.
    pub(super) fn new(
        instance: Arc<Instance>,
        settings: &DaemonSettings,
        state: &StateDirectory,
        metrics: Metrics,
        work: Work,
    ) -> Result<Self, Error> {
        let intervals = settings.intervals("daemon.yaml").map_err(|found| {
            super::opening::refused(
                "read daemon.yaml",
                &found.first().map(ToString::to_string).unwrap_or_default(),
                "wild daemon --help",
            )
        })?;
        let (sender, receiver) = mpsc::channel(TRIGGER_CAPACITY);
        Ok(Self {
            instance,
            fetch: Notify::new(),
            outlooks: Outlooks::default(),
            sender,
            receiver: Mutex::new(Some(receiver)),
            intervals,
            allow: settings.egress.allow.clone(),
            scratch: state.quarantine(),
            metrics,
            work,
            begun: Instant::now(),
            turned_ms: AtomicU64::new(0),
            trouble: Mutex::new(match work {
                Work::Everything => Some("the first look at the branch is not done".to_owned()),
                Work::Requests => None,
            }),
        })
    }

    /// Wakes an app, or all. A full channel already holds what this would say.
    pub(super) fn wake(&self, trigger: Trigger) {
        let _ = self.sender.try_send(trigger);
    }

    /// Fetches all upstreams, or the one of a name, into the daemon's own quarantine.
    pub(super) async fn fetch_directories(&self, only: Option<&str>) -> Result<(), Error> {
        self.narrow().await;
        pipeline::fetch_directories(&self.instance, only, (&self.scratch, &self.allow)).await.map(|_| ())
    }

    /// Takes the right to read files of the instance from others, who may have it with every change.
    async fn narrow(&self) {
        let instance = &self.instance;
        if let Err(error) = instance.narrow().await {
            tracing::error!(instance = %instance.name, error = chain(&error), "others may read a file of the instance");
        }
    }

    /// Returns whether the loop turns.
    pub(super) fn is_alive(&self) -> Result<(), String> {
        let turned = Duration::from_millis(self.turned_ms.load(Ordering::Relaxed));
        let still = self.begun.elapsed().saturating_sub(turned);
        if still < LOOP_STALL { Ok(()) } else { Err(format!("the loop has not turned for {} s", still.as_secs())) }
    }

    /// Returns whether the branch could be read last time.
    pub(super) fn is_ready(&self) -> Result<(), String> {
        self.is_alive()?;
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(trouble) => Err(trouble.clone()),
        }
    }

    fn turn(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.turned_ms.store(now, Ordering::Relaxed);
    }

    /// Notes what is in the way and returns whether that is news.
    fn note_trouble(&self, trouble: Option<String>) -> bool {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *known, trouble);
        *known != before
    }
}

/// Runs until told to stop.
pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let receiver = shared.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(receiver) = receiver else { return };
    let mut worker = Worker::new(shared).await;
    // Before the first look, so that a push right after it is not missed.
    let refs = worker.watch_refs().await;
    if worker.shared.work == Work::Everything {
        worker.look(Reason::Scheduled).await;
    }
    worker.turn_until((receiver, refs), stop).await;
    worker.drain().await;
}

struct Worker {
    shared: Arc<Shared>,
    queue: Queue,
    passes: JoinSet<Ended>,
    apps: HashMap<Id, AppName>,
    known: Option<Arc<Overview>>,
    waits: Waits,
    /// When apps asked to be woken by the clock alone.
    alarms: HashMap<AppName, Duration>,
    drifts: Drifts,
    probes: Probes,
    timers: Timers,
    asked: bool,
    /// Apps that somebody asked about; they alone are worked on where only requests are.
    wanted: BTreeSet<AppName>,
}

/// The end of one app's pass, or of the requests that are about no app.
struct Ended {
    app: Option<AppName>,
    reasons: BTreeSet<Reason>,
    result: Result<Passed, Error>,
    took: Duration,
}

/// When the clock alone wakes something, as time since the worker began.
struct Timers {
    look: Option<Duration>,
    reconcile: Option<(Duration, Duration)>,
    remote: Option<(Duration, Duration)>,
    upstream: Option<Duration>,
    /// When what is too old is forgotten, by the clock of the instance.
    forget: Timestamp,
    /// When the next turn of the slow audit is, by the clock of the instance.
    audit: Option<Timestamp>,
    schedule: Option<Schedule>,
}

impl Worker {
    async fn new(shared: Arc<Shared>) -> Self {
        let mut timers = Timers {
            look: None,
            reconcile: None,
            remote: None,
            upstream: None,
            forget: shared.instance.now().plus(FORGET_EVERY),
            audit: None,
            schedule: None,
        };
        let everything = shared.work == Work::Everything;
        if shared.instance.remote.is_some() && everything {
            timers.remote = Some((Duration::ZERO, shared.intervals.poll_remote));
        }
        let mut worker = Self {
            shared,
            queue: Queue::default(),
            passes: JoinSet::new(),
            apps: HashMap::new(),
            known: None,
            waits: Waits::default(),
            alarms: HashMap::new(),
            drifts: Drifts::default(),
            probes: Probes::default(),
            timers,
            asked: everything,
            wanted: BTreeSet::new(),
        };
        worker.read_timers().await;
        worker
    }

    fn now(&self) -> Duration {
        self.shared.begun.elapsed()
    }

    /// Takes the schedule and the interval from the committed settings.
    async fn read_timers(&mut self) {
        if self.shared.work == Work::Requests {
            return;
        }
        let Ok(settings) = pipeline::settings(&self.shared.instance).await else { return };
        let interval = Some(settings.reconcile.interval).filter(|interval| !interval.is_zero());
        self.timers.reconcile = interval.map(|interval| (self.now() + interval, interval));
        let next = self.timers.audit.unwrap_or_else(|| self.shared.instance.now().plus(AUDIT_EVERY));
        self.timers.audit = (settings.audit.percent_per_hour > 0).then_some(next);
        match Schedule::parse(&settings.updates.schedule, &settings.updates.timezone) {
            Ok(schedule) => self.timers.schedule = Some(schedule),
            Err(error) => {
                tracing::error!(instance = %self.shared.instance.name, error = %error, "the merge bot has no schedule")
            }
        }
        self.schedule_upstream();
    }

    fn schedule_upstream(&mut self) {
        let now = self.shared.instance.now();
        let next = self.timers.schedule.as_ref().and_then(|schedule| schedule.next(now));
        self.timers.upstream = next.map(|at| self.now() + at.since(now));
    }

    async fn watch_refs(&self) -> Option<git::RefWatch> {
        let instance = &self.shared.instance;
        match git::watch_refs(&instance.repository, self.shared.intervals.poll_remote).await {
            Ok(refs) => Some(refs),
            Err(error) => {
                tracing::error!(instance = %instance.name, error = chain(&error), "refs cannot be watched");
                None
            }
        }
    }

    async fn turn_until(
        &mut self,
        (mut receiver, mut refs): (mpsc::Receiver<Trigger>, Option<git::RefWatch>),
        stop: CancellationToken,
    ) {
        let instance = self.shared.instance.clone();
        let mut secrets = FileWatch::of(instance.secrets.path());
        let mut kubeconfig = instance.kubeconfig().map(|path| FileWatch::of(&path));
        // A cluster that was added since the instance was opened is no change of the file that the watch would see.
        self.follow_clusters().await;
        loop {
            self.shared.turn();
            let due = self.start_passes();
            self.shared.metrics.queue(instance.name.as_str(), self.queue.running(), self.queue.depth());
            self.shared.metrics.count(&instance);
            let moved = async {
                match &mut refs {
                    Some(refs) => refs.changed().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            let clusters_changed = async {
                match &mut kubeconfig {
                    Some(kubeconfig) => kubeconfig.changed().await,
                    None => std::future::pending().await,
                }
            };
            let targets = instance.targets();
            tokio::select! {
                () = stop.cancelled() => return,
                () = clusters_changed => self.follow_clusters().await,
                Some(trigger) = receiver.recv() => self.take_in(trigger).await,
                alive = moved => {
                    if !alive { refs = None; }
                    self.look(Reason::Push).await;
                }
                (cluster, news) = targets.events() => self.hear(&cluster, news),
                Some((cluster, look)) = self.probes.ended() => self.looked(&cluster, look),
                Some(ended) = self.passes.join_next_with_id(), if !self.passes.is_empty() => self.end(ended),
                () = secrets.changed() => {
                    self.shared.narrow().await;
                    self.wake_all(Reason::File);
                }
                () = self.shared.fetch.notified() => self.fetch(true).await,
                () = tokio::time::sleep(due) => self.ring().await,
            }
        }
    }

    /// Queues an app, unless only requests are worked on and nobody asked about it.
    fn trigger(&mut self, app: AppName, reason: Reason) {
        if reason == Reason::Request {
            self.wanted.insert(app.clone());
        }
        if self.shared.work == Work::Everything || self.wanted.contains(&app) {
            self.queue.trigger(self.now(), app, reason);
        }
    }

    async fn take_in(&mut self, trigger: Trigger) {
        match trigger.app {
            // A push says that the branch moved, not which apps it changed.
            None if trigger.reason == Reason::Push => self.look(Reason::Push).await,
            Some(app) => self.trigger(app, trigger.reason),
            None if trigger.reason == Reason::Request => self.asked = true,
            None => {
                if trigger.reason == Reason::Released {
                    self.release_clusters();
                }
                self.wake_all(trigger.reason);
            }
        }
    }

    fn wake_all(&mut self, reason: Reason) {
        let apps: Vec<AppName> = self.known.iter().flat_map(|known| known.apps.keys().cloned()).collect();
        for app in apps {
            self.trigger(app, reason);
        }
    }

    /// Starts what is due and returns how long nothing else is.
    fn start_passes(&mut self) -> Duration {
        if std::mem::take(&mut self.asked) {
            let shared = self.shared.clone();
            let _ = self.passes.spawn(async move {
                let begun = Instant::now();
                let result = requests_of_instance(&shared).await;
                Ended { app: None, reasons: BTreeSet::new(), result, took: begun.elapsed() }
            });
        }
        loop {
            let now = self.now();
            match self.queue.next(now) {
                Next::Start(app, reasons) => {
                    if reasons.contains(&Reason::Retry) {
                        self.shared.metrics.retried(self.shared.instance.name.as_str());
                    }
                    self.shared.metrics.waited(self.queue.waited());
                    self.waits.begin(&app);
                    let instance = self.shared.instance.clone();
                    let name = app.clone();
                    let handle = self.passes.spawn(async move {
                        let begun = Instant::now();
                        let result = walk(&instance, &app, &reasons).await;
                        Ended { app: Some(app), reasons, result, took: begun.elapsed() }
                    });
                    self.apps.insert(handle.id(), name);
                }
                Next::Sleep(due) => return self.until(due),
                Next::Idle => return self.until(now + TURN_LIMIT),
            }
        }
    }

    /// Returns how long to sleep until the queue or a timer is due.
    fn until(&self, due: Duration) -> Duration {
        let now = self.now();
        let timers = [
            self.timers.look,
            self.timers.reconcile.map(|(at, _)| at),
            self.timers.remote.map(|(at, _)| at),
            self.timers.upstream,
            self.probes.next(),
            self.timers.audit.map(|at| now + at.since(self.shared.instance.now())),
            Some(now + self.timers.forget.since(self.shared.instance.now())),
        ];
        let first = timers.into_iter().flatten().fold(due, Duration::min).min(now + TURN_LIMIT);
        first.saturating_sub(now)
    }

    /// Does what the clock asks for.
    async fn ring(&mut self) {
        let now = self.now();
        if self.timers.look.is_some_and(|at| at <= now) {
            self.look(Reason::Push).await;
        }
        if let Some((at, every)) = self.timers.reconcile.filter(|(at, _)| *at <= now) {
            self.timers.reconcile = Some((at.max(now) + every, every));
            self.wake_all(Reason::Scheduled);
        }
        if let Some((_, every)) = self.timers.remote.filter(|(at, _)| *at <= now) {
            self.timers.remote = Some((now + every, every));
            self.sync().await;
        }
        if self.timers.upstream.is_some_and(|at| at <= now) {
            self.schedule_upstream();
            self.fetch(false).await;
        }
        for cluster in self.probes.due(now) {
            if let Some(target) = self.shared.instance.targets().get(&cluster).cloned() {
                self.probes.look(cluster, target);
            }
        }
        let clock = self.shared.instance.now();
        if self.timers.forget.is_due(FORGET_EVERY, clock) {
            self.timers.forget = clock.plus(FORGET_EVERY);
            if let Err(error) = self.shared.instance.forget_old().await {
                tracing::warn!(instance = %self.shared.instance.name, error = chain(&error), "nothing old was forgotten");
            }
        }
        if self.timers.audit.is_some_and(|at| at.is_due(AUDIT_EVERY, clock)) {
            self.timers.audit = Some(clock.plus(AUDIT_EVERY));
            self.audit().await;
        }
    }

    /// Wakes the apps of the objects whose turn it is in the slow audit.
    async fn audit(&mut self) {
        match pipeline::begin_audit(&self.shared.instance).await {
            Ok(apps) => apps.into_iter().for_each(|app| self.trigger(app, Reason::Audit)),
            Err(error) => {
                tracing::warn!(instance = %self.shared.instance.name, error = chain(&error), "nothing was audited")
            }
        }
    }

    async fn sync(&mut self) {
        match pipeline::sync_remote(&self.shared.instance).await {
            Ok(true) => self.look(Reason::Push).await,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(instance = %self.shared.instance.name, error = chain(&error), "the remote was not followed")
            }
        }
    }

    /// Fetches the upstreams, and the remote if a person asked, and wakes every app for what they bring.
    async fn fetch(&mut self, with_remote: bool) {
        // Nothing tells of a credential that lies elsewhere.
        self.shared.narrow().await;
        if with_remote && self.shared.instance.remote.is_some() {
            self.sync().await;
        }
        let Shared { instance, scratch, allow, .. } = self.shared.as_ref();
        match pipeline::fetch_directories(instance, None, (scratch, allow)).await {
            Err(error) => {
                tracing::warn!(instance = %instance.name, error = chain(&error), "upstreams were not fetched")
            }
            Ok(results) => {
                for (name, trouble) in results {
                    if let Some(trouble) = trouble {
                        tracing::warn!(instance = %instance.name, directory = name, error = trouble.message, "an upstream is not followed");
                    }
                }
            }
        }
        self.wake_all(Reason::Upstream);
    }

    fn hear(&mut self, cluster: &ClusterName, news: BTreeSet<TargetEvent>) {
        for event in news {
            match event {
                TargetEvent::Drift { app } => self.trigger_named(&app, Reason::Drift),
                TargetEvent::Health { app } => self.trigger_named(&app, Reason::Health),
                TargetEvent::Source { app } => self.trigger_named(&app, Reason::Released),
                TargetEvent::Reachability => {
                    if !self.is_silent(cluster) {
                        self.released(cluster);
                    } else if self.probes.begin(cluster, self.now(), jitter()) {
                        let apps = self.known.iter().flat_map(|known| known.apps.keys().cloned());
                        let there = apps.filter(|app| self.queue.cluster(app) == *cluster);
                        for app in there.collect::<Vec<_>>() {
                            self.trigger(app, Reason::Health);
                        }
                    }
                }
            }
        }
    }

    fn trigger_named(&mut self, app: &str, reason: Reason) {
        // The label is on a live object, where anybody may have written anything.
        if let Ok(app) = AppName::parse(app) {
            if reason == Reason::Drift {
                self.drifts.hear(&app, Instant::now());
            }
            self.trigger(app, reason);
        }
    }

    fn end(&mut self, ended: Result<(Id, Ended), tokio::task::JoinError>) {
        let now = self.now();
        let name = self.shared.instance.name.as_str().to_owned();
        let ended = match ended {
            Ok((id, ended)) => {
                self.apps.remove(&id);
                ended
            }
            Err(error) => {
                let Some(app) = self.apps.remove(&error.id()) else { return };
                // The net below the line: the app waits for its input to change, everything else goes on.
                tracing::error!(instance = name, %app, error = %error, "a pass broke off; the app waits for a change");
                self.queue.ended(now, &app, Some(ErrorClass::User), 0.5);
                self.keep_waiting(now, &app);
                self.note_outlook(now, &app, None);
                self.shared.metrics.passed(&name, "panic", Duration::ZERO);
                return;
            }
        };
        let Ended { app, reasons, result, took } = ended;
        let failed = match &result {
            Ok(passed) => passed.failed,
            Err(error) => {
                let app = app.as_ref().map(AppName::as_str);
                tracing::error!(instance = name, app, error = chain(error), "a pass could not go on");
                Some(error.class())
            }
        };
        self.shared.metrics.passed(&name, if failed.is_some() { "error" } else { "success" }, took);
        if let Ok(passed) = &result {
            self.shared.metrics.audited(&name, passed.audited);
        }
        match (app, result) {
            (Some(app), result) => {
                self.queue.ended(now, &app, failed, jitter());
                self.queue.hold(now, &app, result.as_ref().ok().and_then(|passed| passed.asked));
                match &result {
                    Ok(passed) => {
                        let is_gone = !passed.lost && passed.failed.is_none();
                        if passed.state.is_some() || is_gone {
                            self.shared.metrics.saw(&name, app.as_str(), passed.state.as_ref());
                        }
                        self.time_drift(&app, took, passed);
                        self.follow(now, app.clone(), &reasons, passed);
                    }
                    Err(_) => self.keep_waiting(now, &app),
                }
                self.note_outlook(now, &app, result.as_ref().ok());
            }
            // A directory that was just added is fetched at once.
            (None, Ok(passed)) if passed.made.is_some() => self.shared.fetch.notify_one(),
            (None, Ok(passed)) => self.asked = passed.lost,
            (None, Err(_)) => {}
        }
    }

    /// Shows how long it took until a difference was told and put back.
    fn time_drift(&mut self, app: &AppName, took: Duration, passed: &Passed) {
        let began = Instant::now().checked_sub(took);
        let since = began.filter(|_| passed.judged).and_then(|began| self.drifts.end(app, began));
        if let (Some(since), Some(told)) = (since, passed.told) {
            self.shared.metrics.drifted(told.saturating_duration_since(since), passed.healed.then(|| since.elapsed()));
        }
    }

    /// Notes what an app waits for now, for people who ask.
    fn note_outlook(&self, now: Duration, app: &AppName, passed: Option<&Passed>) {
        let due = self.queue.due(app).into_iter().chain(self.timers.reconcile.map(|(at, _)| at)).min();
        let next = due.map(|at| self.shared.instance.now().plus(at.saturating_sub(now)));
        self.shared.outlooks.note(app, passed, next);
    }

    /// Arranges what a pass asked to be woken for, and wakes those who waited for it.
    fn follow(&mut self, now: Duration, app: AppName, reasons: &BTreeSet<Reason>, passed: &Passed) {
        if let Some(state) = &passed.state {
            self.queue.assign(&app, &state.cluster);
        }
        self.arrange(now, &app, passed);
        // A push compiles, and a request that waits is carried out for any reason; what the walk did not come to is not forgotten.
        if passed.lost {
            self.trigger(app.clone(), Reason::Push);
            reasons.iter().filter(|reason| reason.compiles()).for_each(|reason| self.trigger(app.clone(), *reason));
        }
        if passed.changed {
            self.trigger(app.clone(), Reason::Health);
        }
        let ready = passed.state.as_ref().is_none_or(|state| state.intent == "applied" && state.health != "starting");
        if ready {
            for waiting in self.waits.happen(WakeOn::App(app)) {
                self.trigger(waiting, Reason::Released);
            }
        }
    }

    /// Takes over what a pass found its app to wait for; one that ended early found nothing, and changes nothing about that.
    fn arrange(&mut self, now: Duration, app: &AppName, passed: &Passed) {
        if !passed.judged {
            return self.keep_waiting(now, app);
        }
        if self.waits.end(app, &passed.wake_on) {
            self.trigger(app.clone(), Reason::Released);
        }
        self.alarms.remove(app);
        if let Some(at) = passed.wake_at {
            let due = now + at.since(self.shared.instance.now());
            self.alarms.insert(app.clone(), due);
            self.queue.wake_at(due, app.clone(), Reason::Retry);
        }
    }

    /// Lets an app wait for what it waited for before its pass, which took the place of the waiting one. A time that is over was heard.
    fn keep_waiting(&mut self, now: Duration, app: &AppName) {
        self.waits.keep(app);
        if let Some(due) = self.alarms.get(app).copied().filter(|due| *due > now) {
            self.queue.wake_at(due, app.clone(), Reason::Retry);
        }
    }

    /// Looks at the head and wakes the apps that it changed; looks again soon if that could not be done.
    async fn look(&mut self, reason: Reason) {
        let Err(error) = self.try_look(reason).await else {
            self.timers.look = None;
            self.shared.note_trouble(None);
            return;
        };
        self.timers.look = Some(self.now() + LOOK_RETRY);
        if self.shared.note_trouble(Some(chain(&error))) {
            let instance = &self.shared.instance.name;
            tracing::error!(%instance, error = chain(&error), "the deployed branch was not read; it is tried again");
        }
    }

    async fn try_look(&mut self, reason: Reason) -> Result<(), Error> {
        let instance = self.shared.instance.clone();
        let overview = pipeline::seen(&instance).await?;
        // Before the changed apps are taken over, which nobody would hear of again.
        let remembered = match self.known {
            None => remembered(&instance).await?,
            Some(_) => BTreeSet::new(),
        };
        let mut changed = pipeline::take_changed(&instance);
        if self.known.is_none() {
            changed.extend(overview.apps.keys().cloned());
            changed.extend(remembered);
        }
        let settings_changed = self
            .known
            .as_ref()
            .is_some_and(|known| known.files.get(SETTINGS_PATH) != overview.files.get(SETTINGS_PATH));
        self.known = Some(overview);
        self.assign(&changed);
        // A commit that changes no app is judged at once, because no pass will.
        if changed.is_empty()
            && let Err(error) = pipeline::update_statuses(&instance).await
        {
            tracing::error!(instance = %instance.name, error = chain(&error), "the status of the head was not set");
        }
        for app in changed {
            self.trigger(app, reason);
        }
        if settings_changed {
            self.read_timers().await;
        }
        Ok(())
    }

    /// Takes from the settings which clusters apps are on that nobody has looked at there yet.
    fn assign(&mut self, apps: &BTreeSet<AppName>) {
        let Some(Ok(settings)) = self.known.as_ref().map(|known| known.settings()) else { return };
        for app in apps {
            if let Some((cluster, _)) = self.shared.instance.targets().named(settings.context_of(app.as_str())) {
                self.queue.assign(app, cluster);
            }
        }
    }

    /// Lets running passes end.
    async fn drain(&mut self) {
        let all = async { while self.passes.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN_DEADLINE, all).await;
    }
}

/// Returns the apps that the store knows objects or a state of, and those with a request that waits.
///
/// An error is no empty answer: an app that is forgotten here is one whose objects stay for ever, or whose request nobody carries out.
async fn remembered(instance: &Instance) -> Result<BTreeSet<AppName>, Error> {
    // An app that is gone is forgotten by its last pass, which an earlier process may not have ended.
    let states = instance.store.app_states(&instance.id).await?;
    let mut apps: BTreeSet<AppName> = states.iter().map(|state| state.name.clone()).collect();
    // A store that knows nothing is a new one; what was removed while the old one was there may not be gone.
    if states.is_empty() {
        apps.extend(pipeline::departed(instance).await?);
    }
    apps.extend(instance.store.inventories(&instance.id).await?.into_iter().map(|(app, _)| app));
    // Of an app that is gone volumes may be held, and their time ends.
    apps.extend(instance.store.apps_with_volumes(&instance.id).await?);
    let waiting = instance.store.operations_in(&instance.id, OperationState::Waiting).await?;
    apps.extend(waiting.into_iter().filter_map(|operation| operation.app));
    Ok(apps)
}

/// Carries out the requests of one app that wait, oldest first, then walks the line for the other reasons.
async fn walk(instance: &Instance, app: &AppName, reasons: &BTreeSet<Reason>) -> Result<Passed, Error> {
    let mut last = None;
    let open = instance.store.open_requests(&instance.id, Some(app)).await?;
    let requests = open.into_iter().map(|operation| (Reason::Request, Some(operation)));
    let compiling = reasons.iter().filter(|reason| reason.compiles()).map(|reason| (*reason, None));
    for (reason, request) in requests.chain(compiling) {
        let passed = insist(instance, app, reason, request).await?;
        if passed.lost {
            // What comes later must not overtake it: the next walk begins with it.
            return Ok(passed);
        }
        last = Some(passed);
    }
    match last {
        Some(passed) => Ok(passed),
        None => pipeline::pass(instance, app, reasons.last().copied().unwrap_or(Reason::Retry), None).await,
    }
}

/// Walks the line, again at once from the new head where somebody else was faster.
async fn insist(
    instance: &Instance,
    app: &AppName,
    reason: Reason,
    request: Option<Operation>,
) -> Result<Passed, Error> {
    let mut passed = pipeline::pass(instance, app, reason, request.clone()).await?;
    for _ in 0..LOST_LIMIT {
        if !passed.lost {
            break;
        }
        if instance.remote.is_some() {
            pipeline::sync_remote(instance).await?;
        }
        passed = pipeline::pass(instance, app, reason, request.clone()).await?;
    }
    Ok(passed)
}

/// Carries out the requests that are about the instance and no app.
async fn requests_of_instance(shared: &Shared) -> Result<Passed, Error> {
    let instance = &shared.instance;
    let open = instance.store.open_requests(&instance.id, None).await?;
    let mut last = Passed::default();
    for operation in open {
        let passed = pipeline::pass_instance(instance, operation, &shared.scratch, &shared.allow).await?;
        last = Passed { made: passed.made.or(last.made), lost: passed.lost || last.lost, ..Passed::default() };
    }
    Ok(last)
}

/// Returns a share between 0 and 1 that spreads retries of many apps.
fn jitter() -> f64 {
    let mut byte = [128];
    // Without entropy every retry waits the same, which is no worse than no jitter.
    let _ = crate::settings::fill(&mut byte);
    let [byte] = byte;
    f64::from(byte) / 255.0
}

#[cfg(test)]
mod tests;
