//! Keeps the ApplySet parents of an instance to what stands: soon after the start, soon after passes that let objects go, and ever less often
//! while a name is left that cannot be explained, such as after a lost store.
//!
//! Not here: what stands (`pipeline`).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::pipeline::{self, Instance};

/// How long after the start the first look is: by then most of a lost store is rebuilt.
const AFTER_START: Duration = Duration::from_secs(5);
/// How long after an object went others may come along.
const GATHER: Duration = Duration::from_secs(1);
/// Waits between looks; each is twice the one before.
const PAUSE: Duration = Duration::from_secs(10);
/// Looks after which what is left stays until something goes or the daemon starts anew: about three hours.
const LOOKS_LIMIT: u32 = 10;

/// Runs until it is told to stop.
pub(super) async fn run(instance: Arc<Instance>, stop: CancellationToken) {
    let mut next = Some(Instant::now() + AFTER_START);
    let mut looks = 0;
    loop {
        let due = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = pipeline::went(&instance) => {
                let soon = Instant::now() + GATHER;
                (next, looks) = (Some(next.map_or(soon, |at| at.min(soon))), 0);
                continue;
            }
            () = due => {}
        }
        let swept = tokio::select! {
            () = stop.cancelled() => return,
            swept = pipeline::sweep(&instance) => swept,
        };
        looks += 1;
        let pause = PAUSE.saturating_mul(2_u32.saturating_pow(looks - 1));
        next = (!swept && looks < LOOKS_LIMIT).then(|| Instant::now() + pause);
    }
}
