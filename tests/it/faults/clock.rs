//! The clock of the day is set forward or back by an hour or a day while the daemon works, or while it is down. It ends where one ends whose
//! clock was right: nothing is done twice, left out, given up or taken away.
//!
//! `WILD_LONG` lives the whole life of two apps. Not here: times that a person set, such as schedules (`plan`, `daemon`).

use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};
use rewild::git::Layout;
use rewild::sandbox::Sandbox;

use super::home::{CALLED_BACK, Home, ID, LIFE, Step, make_upstream};
use super::life::settle;
use super::seen::{Seen, look};
use super::shim::Shim;
use super::{WIDTH, sandbox};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const JUMPS: [i64; 4] = [HOUR, -HOUR, DAY, -DAY];

/// When the clock is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// While a step is under way.
    Midway,
    /// Before a step, while the daemon does not run.
    Down,
}

const TIMES: [When; 2] = [When::Midway, When::Down];

/// Adding, deploying and updating an app, then deleting one with its data, an undo, and deleting it for good; everything in a long run.
fn steps() -> Vec<Step> {
    let first =
        if std::env::var_os("WILD_LONG").is_some() { LIFE.to_vec() } else { [0, 1, 3].map(|step| LIFE[step]).to_vec() };
    [first, CALLED_BACK.to_vec()].concat()
}

async fn home(above: &Path, name: &str) -> (Home<Sandbox>, Shim) {
    let root = above.join(name);
    let shim = Shim::new(&root);
    let home = Home::start_in(above, name, (ID, Layout::Bare, Shim::environment(&root)), sandbox().await).await;
    (home, shim)
}

async fn undisturbed(above: &Path) -> Vec<Seen> {
    let (mut home, _shim) = home(above, "undisturbed").await;
    let mut came_to = Vec::new();
    for step in steps() {
        home.act(&step, false).await;
        assert_eq!(home.quiet(&step).await, None, "{}\n{}", step.name, home.wild.log());
        came_to.push(look(&home).await);
    }
    assert!(home.wild.stop().await.success());
    came_to
}

/// Lives a life in which the clock is wrong from one step on and right again from the next on, and so on.
async fn live(above: &Path, jump: i64, when: When, expected: &[Seen]) -> Result<(), String> {
    let (mut home, shim) = home(above, &format!("{when:?}-{jump}")).await;
    for (number, (step, expected)) in steps().into_iter().zip(expected).enumerate() {
        let wrong_by = if number % 2 == 0 { jump } else { 0 };
        match when {
            When::Midway => {}
            When::Down => {
                assert!(home.wild.stop().await.success(), "{}", home.wild.log());
                shim.step_clock(wrong_by);
                home.wild.start().await;
            }
        }
        home.act(&step, false).await;
        shim.step_clock(wrong_by);

        let place = format!("{when:?}, {} s, {}", wrong_by, step.name);
        assert_eq!(home.quiet(&step).await, None, "{place}: {}", home.wild.log());
        settle(&home, expected).await.map_err(|found| format!("{place}: {found}"))?;
    }
    assert!(home.wild.stop().await.success(), "{}", home.wild.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_by_an_hour_or_a_day_changes_nothing_of_what_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path();
    make_upstream(above).await;
    let expected = undisturbed(above).await;
    let lives = JUMPS.iter().flat_map(|jump| TIMES.map(|when| (*jump, when)));
    let lived: Result<Vec<()>, String> = stream::iter(lives)
        .map(|(jump, when)| live(above, jump, when, &expected))
        .buffer_unordered(WIDTH)
        .try_collect()
        .await;
    lived.unwrap_or_else(|found| panic!("{found}"));
}
