//! The bounded blocking lane that all local git work runs on, with deadlines.
//!
//! Not here: children of the network part (`child.rs`), which are killed when they are late.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::error::Error;

/// Blocking git calls at a time. A late call keeps its thread, because libgit2 cannot be stopped, so the lane counts
/// threads and not callers.
const LANE_THREADS: usize = 8;
/// Longest local call. The largest instance we know of is read in well below a second.
pub(super) const GIT_LOCAL_DEADLINE: Duration = Duration::from_secs(60);

static LANE: Semaphore = Semaphore::const_new(LANE_THREADS);

/// Runs blocking work on the lane and returns its result, or an error when the usual deadline has passed.
pub(super) async fn run<T, W>(attempt: String, work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Error> + Send + 'static,
{
    run_within(GIT_LOCAL_DEADLINE, attempt, work).await
}

/// Runs blocking work on the lane and returns its result, or an error when a deadline has passed.
pub(super) async fn run_within<T, W>(deadline: Duration, attempt: String, work: W) -> Result<T, Error>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, Error> + Send + 'static,
{
    let end = Instant::now() + deadline;
    let place = match timeout_at(end, LANE.acquire()).await {
        Ok(Ok(place)) => place,
        Ok(Err(_)) => return Err(Error::Broken { attempt }),
        Err(_) => return Err(Error::Deadline { attempt, deadline }),
    };
    let call = tokio::task::spawn_blocking(move || {
        let _place = place;
        work()
    });
    match timeout_at(end, call).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Error::Broken { attempt }),
        Err(_) => Err(Error::Deadline { attempt, deadline }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_on_the_lane_is_an_error_of_that_call_only() {
        let broken: Result<(), Error> = run("divide".to_owned(), || panic!("staged")).await;
        assert_eq!(broken.unwrap_err().to_string(), "divide: the call broke off");
        assert_eq!(run("add".to_owned(), || Ok(2)).await.unwrap(), 2);
    }
}
