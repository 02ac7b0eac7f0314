//! Bad weather before the sandbox. The rows are those of `weather.rs`.

use futures::{StreamExt, stream};

use crate::weather::{
    FRAMES, HANDS, Plain, ROWS, check, check_fight, check_frames, check_hands, check_unreadable, check_unused,
};
use crate::world::World;

/// Worlds side by side: more would only wait for the machine. Each is boxed, because what starts one does not fit many times onto a stack.
const WIDTH: usize = 4;

async fn plain() -> Plain<'static, rewild::sandbox::Sandbox> {
    Plain { world: World::start(&["stonedb 15.5"]).await, name: "plain" }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_ends_the_same_in_any_weather() {
    let rows = ROWS.map(|row| Box::pin(async move { check(row, plain().await).await }));
    stream::iter(rows).buffer_unordered(WIDTH).collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_watch_does_not_tell_is_found_all_the_same() {
    let rows = FRAMES.map(|frames| Box::pin(async move { check_frames(frames, plain().await).await }));
    stream::iter(rows).buffer_unordered(WIDTH).collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_nobody_can_read_holds_up_no_other() {
    check_unreadable(plain().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_do_while_a_request_is_on_its_way_changes_nothing_in_the_end() {
    let rows = HANDS.map(|row| Box::pin(async move { check_hands(row, plain().await).await }));
    stream::iter(rows).buffer_unordered(WIDTH).collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_no_app_needs_is_watched_no_longer() {
    check_unused(plain().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fight_is_seen_told_and_not_gone_on_with() {
    check_fight(plain().await).await;
}
