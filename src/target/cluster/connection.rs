//! The client of a cluster, made anew when what it was made of has changed: a file was replaced, or a credential expires or is not known any more.
//!
//! Files are looked at, not read, before a request and at most once in ten seconds; no request is sent for that. Requests that are under way keep
//! the client that they began with. What does not read changes nothing.
//!
//! Not here: what is read (`access`), the program that signs in (`plugin`).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::access::{self, Access};
use super::locked;
use super::plugin::Credential;
use crate::base::Timestamp;
use crate::model::Narrowed;
use crate::target::{Refusal, RefusalKind};

/// Time between two looks at the files of a connection, and between two runs of a program that failed: a server that knows nobody is not
/// made to, and whoever replaces a file waits so long at most.
const PAUSE: Duration = Duration::from_secs(10);

/// The client of a cluster and how to make the next one.
pub(super) struct Connection {
    access: Access,
    clock: fn() -> Timestamp,
    held: Mutex<Held>,
    /// Locked by whoever makes the next client; of calls side by side one does it for all.
    renewal: tokio::sync::Mutex<Renewal>,
}

/// Most files of one connection that are told to have been open to others.
const MAX_NARROWED: usize = 20;

/// A client, and where it leads.
#[derive(Clone)]
pub(super) struct Way {
    /// The client.
    pub(super) client: kube::Client,
    /// Where the server is.
    pub(super) address: String,
    /// Who vouches for it, as a digest; empty if nobody of its own does.
    pub(super) authority: String,
}

/// The present client.
struct Held {
    way: Way,
    /// Files that others could read.
    narrowed: Vec<Narrowed>,
    /// Why the files as they are now are not used, if they are not.
    trouble: Option<String>,
    /// When the files were looked at last.
    looked: Timestamp,
    /// From when on another credential is wanted.
    due: Timestamp,
    /// Until when this one is good.
    until: Timestamp,
}

/// What the present client was made of.
#[derive(Default)]
struct Renewal {
    files: Vec<(PathBuf, Option<Stamp>)>,
    credential: Option<Credential>,
    /// When the server did not know us last.
    reloaded: Option<Instant>,
    /// When no credential was to be had last, and why.
    failed: Option<(Timestamp, Refusal)>,
}

/// What tells one version of a file from another: when it was written, which file it is, how long it is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Stamp(i64, i64, u64, u64);

impl Connection {
    /// Reads the files of a connection. A program that signs in is run by the first call.
    pub(super) async fn open(access: &Access, clock: fn() -> Timestamp) -> Result<Self, Refusal> {
        let now = clock();
        let mut narrowed = Vec::new();
        let (files, read) = look(access, &mut narrowed).await?;
        let never = if access.plugin().is_some() { Timestamp(i64::MIN) } else { Timestamp(i64::MAX) };
        let mut held =
            Held { way: way(read, None)?, narrowed: Vec::new(), trouble: None, looked: now, due: never, until: never };
        held.note(narrowed);
        let renewal = Renewal { files, ..Renewal::default() };
        Ok(Self { access: access.clone(), clock, held: Mutex::new(held), renewal: tokio::sync::Mutex::new(renewal) })
    }

    /// Returns where the server is.
    pub(super) fn address(&self) -> String {
        locked(&self.held).way.address.clone()
    }

    /// Returns the files of it that others could read until their modes were narrowed.
    pub(super) fn narrowed(&self) -> Vec<Narrowed> {
        locked(&self.held).narrowed.clone()
    }

    /// Returns why the files as they are now are not used; nothing if they are.
    pub(super) fn trouble(&self) -> Option<String> {
        locked(&self.held).trouble.clone()
    }

    /// Lets the files be looked at before the next request, however short ago that was.
    pub(super) fn look_soon(&self) {
        locked(&self.held).looked = Timestamp(i64::MIN);
    }

    /// Returns the way for a request that begins now; refuses where nothing is there to sign in with.
    pub(super) async fn way(&self) -> Result<Way, Refusal> {
        let now = (self.clock)();
        let Some(way) = self.present(now) else { return self.next(self.renewal.lock().await, now).await };
        if self.is_fresh(now) {
            return Ok(way);
        }
        // What is good for now is not kept waiting by whoever looks for something better.
        match self.renewal.try_lock() {
            Ok(renewal) => self.next(renewal, now).await,
            Err(_) => Ok(way),
        }
    }

    /// Reads the files again of a server that does not answer, which may be at another address by now.
    pub(super) async fn renew(&self) {
        if !self.access.is_read_again() {
            return;
        }
        let mut renewal = self.renewal.lock().await;
        let _ = self.make(&mut renewal).await;
    }

    /// Reads them again because the server did not know us in a call that began at a time; returns whether the call is worth another try.
    pub(super) async fn reload(&self, begun: Instant) -> bool {
        if !self.access.is_read_again() {
            return false;
        }
        let mut renewal = self.renewal.lock().await;
        if renewal.reloaded.is_some_and(|at| at > begun) {
            return true;
        }
        if renewal.reloaded.is_some_and(|at| at.elapsed() < PAUSE) || renewal.failure((self.clock)()).is_some() {
            return false;
        }
        renewal.reloaded = Some(Instant::now());
        if self.access.plugin().is_some() {
            self.hold(Timestamp(i64::MIN), Timestamp(i64::MIN));
            return self.sign_in(&mut renewal, (self.clock)()).await.is_ok();
        }
        self.make(&mut renewal).await.is_ok()
    }

    /// Notes from when on another credential is wanted and until when this one is good.
    fn hold(&self, due: Timestamp, until: Timestamp) {
        let mut held = locked(&self.held);
        (held.due, held.until) = (due, until);
    }

    /// Returns the way if it may still be used.
    fn present(&self, now: Timestamp) -> Option<Way> {
        let held = locked(&self.held);
        (now < held.until).then(|| held.way.clone())
    }

    /// Returns whether it is not yet time to look for another.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let held = locked(&self.held);
        // A clock that was set back must not keep us from looking for long.
        let is_looked = held.looked <= now && now < held.looked.plus(PAUSE);
        (is_looked || !self.access.is_read_again()) && now < held.due
    }

    /// Looks whether a file changed or a credential is to be replaced, and returns the way after that.
    async fn next(&self, mut renewal: tokio::sync::MutexGuard<'_, Renewal>, now: Timestamp) -> Result<Way, Refusal> {
        // Whoever waited for the lock finds it done.
        if !self.is_fresh(now) {
            if now >= locked(&self.held).due {
                let signed = self.sign_in(&mut renewal, now).await;
                if let Some(refusal) = signed.err().filter(|_| self.present(now).is_none()) {
                    return Err(refusal);
                }
            }
            let files: Vec<PathBuf> = renewal.files.iter().map(|(path, _)| path.clone()).collect();
            if renewal.files != stamps(&files).await && self.make(&mut renewal).await.is_ok() {
                tracing::info!("a file by which a cluster is reached has changed and is used from now on");
            }
            locked(&self.held).looked = now;
        }
        Ok(locked(&self.held).way.clone())
    }

    /// Lets the program sign in, and makes the client that has what it printed.
    async fn sign_in(&self, renewal: &mut Renewal, now: Timestamp) -> Result<(), Refusal> {
        let Some(plugin) = self.access.plugin() else { return Ok(()) };
        if let Some(refusal) = renewal.failure(now) {
            return Err(refusal);
        }
        let signed = match plugin.run(now, renewal.credential.as_ref()).await {
            Ok(credential) => {
                renewal.credential = Some(credential);
                self.make(renewal).await
            }
            Err(why) => Err(Refusal::new(RefusalKind::Unauthorized, why)),
        };
        match signed {
            Ok(()) => {
                if let Some(credential) = &renewal.credential {
                    self.hold(credential.due(now), credential.until());
                }
                renewal.failed = None;
                Ok(())
            }
            Err(refusal) => {
                renewal.failed = Some((now, refusal.clone()));
                Err(refusal)
            }
        }
    }

    /// Makes a client of what the files say now. What is refused is told, and the client stays what it was.
    async fn make(&self, renewal: &mut Renewal) -> Result<(), Refusal> {
        let made = self.try_make(renewal).await;
        let trouble = made.as_ref().err().map(|refusal| refusal.message.clone());
        let mut held = locked(&self.held);
        if let Some(why) = trouble.as_ref().filter(|_| held.trouble != trouble) {
            tracing::warn!(why, "what a cluster is reached by has changed and is not used");
        }
        held.trouble = trouble;
        drop(held);
        made
    }

    async fn try_make(&self, renewal: &mut Renewal) -> Result<(), Refusal> {
        let mut narrowed = Vec::new();
        let looked = look(&self.access, &mut narrowed).await;
        let (files, read) = match looked {
            Ok(looked) => looked,
            Err(refusal) => {
                locked(&self.held).note(narrowed);
                return Err(refusal);
            }
        };
        let way = way(read, renewal.credential.as_ref())?;
        let mut held = locked(&self.held);
        held.way = way;
        // What was written anew since others could read it is told no more.
        held.narrowed.retain(|told| {
            let is_told = |(path, _): &&(PathBuf, Option<Stamp>)| path.display().to_string() == told.path;
            files.iter().find(is_told) == renewal.files.iter().find(is_told)
        });
        held.note(narrowed);
        renewal.files = files;
        drop(held);
        Ok(())
    }
}

impl Held {
    /// Remembers files that others could read.
    fn note(&mut self, narrowed: Vec<Narrowed>) {
        for file in narrowed {
            if !self.narrowed.contains(&file) && self.narrowed.len() < MAX_NARROWED {
                self.narrowed.push(file);
            }
        }
    }
}

fn way(read: access::Read, credential: Option<&Credential>) -> Result<Way, Refusal> {
    let (address, authority) = (read.address(), read.authority());
    Ok(Way { client: read.client(credential)?, address, authority })
}

impl Renewal {
    /// Returns why no credential was to be had a short while ago.
    fn failure(&self, now: Timestamp) -> Option<Refusal> {
        let (at, refusal) = self.failed.as_ref()?;
        (*at <= now && now < at.plus(PAUSE)).then(|| refusal.clone())
    }
}

/// Reads the files of an access, each with what it was like before, and notes those that others could read.
async fn look(
    access: &Access,
    narrowed: &mut Vec<Narrowed>,
) -> Result<(Vec<(PathBuf, Option<Stamp>)>, access::Read), Refusal> {
    let first = access::read(access, narrowed).await?;
    // Looked at before they are read for good: what changes in between is found by the next look.
    let files = stamps(&first.files).await;
    Ok((files, access::read(access, narrowed).await?))
}

async fn stamps(paths: &[PathBuf]) -> Vec<(PathBuf, Option<Stamp>)> {
    let mut stamps = Vec::new();
    for path in paths {
        stamps.push((path.clone(), stamp(path).await));
    }
    stamps
}

async fn stamp(path: &Path) -> Option<Stamp> {
    let known = tokio::fs::metadata(path).await.ok()?;
    Some(Stamp(known.mtime(), known.mtime_nsec(), known.ino(), known.size()))
}
