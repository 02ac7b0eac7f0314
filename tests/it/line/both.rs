//! What the engine does about objects that a server refuses, keeps, changes or gives to others, on the sandbox.
//!
//! Not here: the checks (`tests/it/both`), the same on a real cluster (`tests/live/engine.rs`).

use crate::both::{check_all, check_alone, prepare};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_made_anew_taken_given_and_told_of_as_they_should() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    prepare(&world).await;
    check_alone(&world).await;
    check_all(&mut world).await;
}
