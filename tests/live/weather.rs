//! Bad weather before a real API server, with real controllers behind it.
//!
//! Each row is an instance with an app and a namespace of its own on one control plane. Not here: the rows and what must hold
//! (`tests/it/weather.rs`), the same on the sandbox (`tests/it/line/weather.rs`).

#[path = "../it/weather.rs"]
mod rows;

use std::sync::Arc;

use futures::{StreamExt, stream};

use crate::ground::{Plane, start};
use crate::parts::{ControlPlane, Shape};
use rows::{FRAMES, HANDS, Plain, ROWS, check, check_fight, check_frames, check_hands, check_unreadable, check_unused};

/// Worlds side by side: more would only wait for the machine.
const WIDTH: usize = 3;

/// Runs a check in a world of its own for each of so many names.
async fn each(plane: &Plane, group: char, count: usize, run: impl AsyncFn(usize, Plain<'_, Plane>)) {
    let worlds = (0..count).map(async |index| {
        let name = format!("weather-{group}{index}");
        // An identity has ten letters of base32, which has neither zero nor one.
        let id = format!("k3f7q2{group}{}zz", char::from(b'a' + u8::try_from(index).unwrap()));
        run(index, Plain { world: start(plane, &id).await, name: &name }).await;
    });
    stream::iter(worlds).buffer_unordered(WIDTH).collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_weather_changes_nothing_of_how_a_revision_ends() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let plane = Plane(Arc::new(plane));
    each(&plane, 'w', ROWS.len(), async |index, plain| check(ROWS[index], plain).await).await;
    each(&plane, 'f', FRAMES.len(), async |index, plain| check_frames(FRAMES[index], plain).await).await;
    each(&plane, 'h', HANDS.len(), async |index, plain| check_hands(HANDS[index], plain).await).await;
    each(&plane, 'x', 1, async |_, plain| check_unreadable(plain).await).await;
    each(&plane, 'q', 1, async |_, plain| check_fight(plain).await).await;
    each(&plane, 'u', 1, async |_, plain| check_unused(plain).await).await;
}
