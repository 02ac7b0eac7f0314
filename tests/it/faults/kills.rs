//! The daemon dies at the n-th thing that it does to a file or to another host, or its disk is full from there on. It is started again, or
//! gets space back, and ends where an undisturbed one does, without being asked once more: with the request done if it was stored, and as if
//! nobody had asked if not.
//!
//! `WILD_LONG` takes every operation of each step, `WILD_SEED` draws others. Not here: named points (`mod.rs`), what counts as an operation
//! (`tests/parts/faultfs`).

use std::collections::BTreeMap;
use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rewild::git::Layout;
use rewild::sandbox::Sandbox;
use tokio::time::timeout;

use super::child::{DEADLINE, End, POLL};
use super::home::{Home, ID, LIFE, Step, make_upstream};
use super::life::settle;
use super::seen::{Seen, look};
use super::shim::{Mishap, Shim};
use super::{WIDTH, sandbox};

/// Adding, deploying, updating and deleting an app with all that it has.
const STEPS: [usize; 4] = [0, 1, 3, 10];
/// Lives of an ordinary run; each is disturbed once in every step, so these are 60 kills.
const LIVES: u64 = 15;
/// Lives of an ordinary run with a full disk.
const FULL_LIVES: u64 = 5;
/// What is drawn from, unless told otherwise.
const SEED: u64 = 20_261_126;
/// The start after a kill dies as well one time in so many.
const AGAIN: u32 = 4;
/// Operations of a start, of which one is drawn for that.
const OF_A_START: u64 = 60;
/// Further operations for which the disk stays full; the daemon tries again later and later.
const FULL_FOR: u64 = 5;

/// An undisturbed life.
struct Undisturbed {
    /// What there is before its first step.
    start: Seen,
    /// What each step comes to, and how many operations it takes.
    came_to: BTreeMap<&'static str, (Seen, u64)>,
}

impl Undisturbed {
    fn most_operations(&self) -> u64 {
        self.came_to.values().map(|(_, operations)| *operations).max().unwrap()
    }
}

fn steps() -> [Step; 4] {
    STEPS.map(|step| LIFE[step])
}

async fn home(above: &Path, name: &str, layout: Layout) -> (Home<Sandbox>, Shim) {
    let root = above.join(name);
    let shim = Shim::new(&root);
    let home = Home::start_in(above, name, (ID, layout, Shim::environment(&root)), sandbox().await).await;
    (home, shim)
}

async fn undisturbed(above: &Path, layout: Layout) -> Undisturbed {
    let (mut home, shim) = home(above, "undisturbed", layout).await;
    let (start, mut came_to) = (look(&home).await, BTreeMap::new());
    for step in steps() {
        let before = shim.count();
        home.act(&step, false).await;
        assert_eq!(home.quiet(&step).await, None, "{}\n{}", step.name, home.wild.log());
        came_to.insert(step.name, (look(&home).await, shim.count() - before));
    }
    assert!(home.wild.stop().await.success());
    Undisturbed { start, came_to }
}

/// A life that is disturbed in each of its steps.
struct Life<'a> {
    home: Home<Sandbox>,
    shim: Shim,
    expected: &'a Undisturbed,
    mishap: Mishap,
    draw: StdRng,
}

/// One step of it.
struct Stage<'a> {
    step: Step,
    /// What there was before the step, and what it comes to.
    before: &'a Seen,
    after: &'a Seen,
    /// Requests that were stored before.
    asked: usize,
}

impl Life<'_> {
    /// Lives it and returns where it was disturbed. The operation of each step is the given one, or drawn.
    async fn live(mut self, n: Option<u64>) -> Result<Vec<String>, String> {
        let (mut before, mut places) = (&self.expected.start, Vec::new());
        for step in steps() {
            let (after, operations) = &self.expected.came_to[step.name];
            let n = n.unwrap_or_else(|| self.draw.random_range(1..=*operations));
            let stage = Stage { step, before, after, asked: self.home.requests().await };
            self.shim.arm(n, self.mishap);
            self.home.act(&step, true).await;
            let reached = match self.mishap {
                Mishap::Kill => self.is_killed(&step).await,
                Mishap::Full => self.is_full(&step).await,
            };

            let what = reached.as_deref().unwrap_or("not reached").trim_end();
            let place = format!("{:?} in {} at operation {n}: {what}", self.mishap, step.name);
            self.recover(&stage, reached.is_some()).await.map_err(|found| format!("{place}: {found}"))?;
            places.extend(reached.map(|_| place));
            before = after;
        }
        assert!(self.home.wild.stop().await.success(), "{}", self.home.wild.log());
        Ok(places)
    }

    /// Waits until the daemon died, and returns of what, or until the step was done without that. Starts the daemon again.
    async fn is_killed(&mut self, step: &Step) -> Option<String> {
        match self.home.quiet(step).await {
            Some(end) => assert_eq!(end, End::Hit, "{}: {}", step.name, self.home.wild.log()),
            None if self.shim.disarm() => return None,
            None => assert_eq!(self.home.wild.die().await, End::Hit, "{}", self.home.wild.log()),
        }
        self.shim.disarm();
        let place = self.shim.place();
        self.remove_locks_of_git();
        if self.draw.random_ratio(1, AGAIN) {
            self.shim.arm(self.draw.random_range(1..=OF_A_START), Mishap::Kill);
        }
        self.home.wild.start_again().await;
        if !self.home.wild.listens().await {
            self.home.wild.start().await;
        }
        place
    }

    /// Does in a work tree what the daemon names as the next command: nothing there proves that a lock of a ref or of packed refs is not a
    /// person's. The lock of the index, which says whose it is, is not touched.
    fn remove_locks_of_git(&self) {
        if self.home.repository.is_bare() {
            return;
        }
        for lock in ["refs/heads/main.lock", "HEAD.lock", "packed-refs.lock"] {
            let _ = std::fs::remove_file(self.home.root.join("home/.git").join(lock));
        }
    }

    /// Waits until the disk was full for a while, and returns from where on, or until the step was done without that. Then there is space.
    async fn is_full(&mut self, step: &Step) -> Option<String> {
        let begun = self.shim.count();
        let full = async {
            let mut tick = tokio::time::interval(POLL);
            while self.shim.place().is_none() {
                tick.tick().await;
            }
        };
        tokio::select! {
            () = full => {}
            end = self.home.quiet(step) => assert_eq!(end, None, "{}: {}", step.name, self.home.wild.log()),
        }
        let for_a_while = async {
            let mut tick = tokio::time::interval(POLL);
            while self.shim.count() < begun + FULL_FOR {
                tick.tick().await;
            }
        };
        let _ = timeout(DEADLINE / 30, for_a_while).await;
        self.shim.disarm();
        assert!(!self.home.wild.has_ended(), "the daemon ended because its disk was full: {}", self.home.wild.log());
        self.shim.place()
    }

    /// Waits for the end of a step. Only one of which nothing is stored is asked for again, once all is seen to be as before.
    async fn recover(&mut self, stage: &Stage<'_>, reached: bool) -> Result<(), String> {
        if reached && self.home.requests().await == stage.asked {
            settle(&self.home, stage.before).await.map_err(|found| format!("nothing was asked for, but\n{found}"))?;
            self.revive().await;
            self.home.act(&stage.step, false).await;
        }
        if self.home.quiet(&stage.step).await.is_some() {
            self.revive().await;
            assert_eq!(self.home.quiet(&stage.step).await, None, "{}", self.home.wild.log());
        }
        self.revive().await;
        settle(&self.home, stage.after).await
    }

    /// Starts the daemon once more if the second kill met it, and disarms that.
    async fn revive(&mut self) {
        self.shim.disarm();
        if self.home.wild.has_ended() {
            self.home.wild.start().await;
        }
    }
}

/// Lives lives that are disturbed side by side and returns where they were.
#[expect(clippy::print_stdout, reason = "how much was met is told with --nocapture")]
async fn disturbed(layout: Layout, mishap: Mishap, lives: u64) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path();
    make_upstream(above).await;
    let expected = undisturbed(above, layout).await;
    let is_long = std::env::var_os("WILD_LONG").is_some();
    let seed = std::env::var("WILD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    let lives = if is_long { expected.most_operations() } else { lives };

    let lived = stream::iter(0..lives).map(async |number| {
        let (home, shim) = home(above, &format!("{mishap:?}-{number}"), layout).await;
        let draw = StdRng::seed_from_u64(seed.wrapping_add(number));
        let life = Life { home, shim, expected: &expected, mishap, draw };
        let places = life.live(is_long.then_some(number + 1)).await;
        std::fs::remove_dir_all(above.join(format!("{mishap:?}-{number}"))).unwrap();
        places
    });
    let places: Result<Vec<Vec<String>>, String> = lived.buffer_unordered(WIDTH).try_collect().await;
    let places = places.unwrap_or_else(|found| panic!("from seed {seed}: {found}")).concat();
    println!(
        "{} of {} disturbed, from seed {seed}; {} operations in the longest step",
        places.len(),
        lives * 4,
        expected.most_operations()
    );
    places
}

/// Asserts that operations of files and of connections were met, and most of those that were drawn.
fn assert_met(places: &[String], wanted: u64, words: &[&str]) {
    let text = places.join("\n");
    assert!(places.len() as u64 >= wanted, "only {} were met:\n{text}", places.len());
    for word in words {
        assert!(text.contains(word), "no {word} was met:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_at_any_operation_on_a_file_or_connection_ends_where_an_undisturbed_one_does() {
    let places = disturbed(Layout::Bare, Mishap::Kill, LIVES).await;
    assert_met(&places, LIVES * 3, &["wild.db", "objects", "before socket", "after socket"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_beside_a_work_tree_ends_where_an_undisturbed_one_does() {
    let places = disturbed(Layout::WorkTree, Mishap::Kill, FULL_LIVES).await;
    assert_met(&places, FULL_LIVES * 3, &["wild.db"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_at_any_write_loses_nothing_and_ends_no_daemon() {
    let places = disturbed(Layout::Bare, Mishap::Full, FULL_LIVES).await;
    assert_met(&places, FULL_LIVES * 2, &["wild.db"]);
}
