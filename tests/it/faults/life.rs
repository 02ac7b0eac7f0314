//! A life that is lived once undisturbed and once more for each fault, compared after every step.
//!
//! Also read by `tests/live/faults.rs`. Not here: the steps (`home.rs`), the comparison (`seen.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};
use rewild::git::Layout;

use super::child::{DEADLINE, End, POLL};
use super::home::{Cluster, Home, Step, make_upstream};
use super::seen::{Seen, look};

/// How a life is disturbed.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) point: &'static str,
    /// Which arrival at the point is the last.
    pub(crate) arrival: usize,
    /// How many processes die of it one after another.
    pub(crate) times: usize,
}

/// The names of the steps in which a point was hit.
pub(crate) type Hits = BTreeSet<&'static str>;

/// Lives a life without a fault and returns what it came to after each step.
pub(crate) async fn undisturbed<C: Cluster>(
    life: &[Step],
    layout: Layout,
    above: &Path,
    cluster: C,
) -> BTreeMap<&'static str, Seen> {
    let mut home = Home::start(above, "undisturbed", layout, cluster).await;
    let mut came_to = BTreeMap::new();
    for step in life {
        home.act(step, false).await;
        assert_eq!(home.quiet(step).await, None, "{}\n{}", step.name, home.wild.log());
        came_to.insert(step.name, look(&home).await);
    }
    assert!(home.wild.stop().await.success());
    came_to
}

/// Lives the life with a fault, compares it step by step and returns in which steps the point was hit.
async fn disturbed<C: Cluster>(
    lives: &Lives<'_>,
    above: &Path,
    cluster: C,
    expected: &BTreeMap<&'static str, Seen>,
    fault: Fault,
) -> Result<Hits, String> {
    let Fault { point, arrival, times } = fault;
    let name = format!("{point}-{arrival}-{times}").replace(' ', "-");
    let mut home = Home::start(above, &name, lives.layout, cluster).await;
    let mut hits = Hits::new();
    for step in lives.life {
        let asked = home.requests().await;
        home.wild.arm(point, arrival);
        home.act(step, true).await;
        let mut killed = 0;
        loop {
            let end = match home.quiet(step).await {
                Some(end) => end,
                None if home.wild.disarm() => break,
                // One more pass began when all was done, and arrived there.
                None => home.wild.die().await,
            };
            assert_eq!(end, End::Hit, "{point} in {}: {}", step.name, home.wild.log());
            killed += 1;
            hits.insert(step.name);
            if killed < times {
                home.wild.arm(point, arrival);
            }
            home.wild.start_again().await;
            // A pass that was still due may have met the point before the request was stored; then nobody was told that it is.
            if step.asks() && home.requests().await == asked && home.wild.listens().await {
                home.act(step, true).await;
            }
        }
        settle(&home, expected.get(step.name).unwrap())
            .await
            .map_err(|found| format!("killed at {point}, {killed} times, in {}: {found}", step.name))?;
    }
    assert!(home.wild.stop().await.success(), "{point}: {}", home.wild.log());
    Ok(hits)
}

/// Waits until all is as in the undisturbed life, and returns what is not.
pub(crate) async fn settle<C: Cluster>(home: &Home<C>, expected: &Seen) -> Result<(), String> {
    let mut tick = tokio::time::interval(POLL);
    let begun = std::time::Instant::now();
    loop {
        tick.tick().await;
        let differences = look(home).await.differences(expected);
        if differences.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > DEADLINE {
            return Err(format!("{}\n{}", differences.join("\n"), home.wild.log()));
        }
    }
}

/// What is lived, and how often side by side.
pub(crate) struct Lives<'a> {
    pub(crate) life: &'a [Step],
    pub(crate) layout: Layout,
    pub(crate) faults: &'a [Fault],
    /// How many at a time: one where all share a cluster.
    pub(crate) width: usize,
}

/// Lives one life for each fault and returns in which steps each was hit. Ends with the first that ends otherwise than the undisturbed one:
/// what it leaves on a cluster that all share would be found by every later one.
pub(crate) async fn compare<C: Cluster>(lives: Lives<'_>, cluster: impl AsyncFn() -> C) -> Vec<(Fault, Hits)> {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path();
    make_upstream(above).await;
    let expected = undisturbed(lives.life, lives.layout, above, cluster().await).await;
    let lived: Result<Vec<(Fault, Hits)>, String> = stream::iter(lives.faults)
        .map(async |fault| Ok((*fault, disturbed(&lives, above, cluster().await, &expected, *fault).await?)))
        .buffer_unordered(lives.width)
        .try_collect()
        .await;
    lived.unwrap_or_else(|found| panic!("a life ended otherwise than the undisturbed one\n{found}"))
}
