//! Which commits may have been written to a target: of those nobody says that another took over before they were applied.
//!
//! A commit is noted before the first request of it goes out, and that note outlives the process; one that was called superseded before that
//! is written no more. Not here: what is said about commits (`statuses.rs`).

use std::collections::VecDeque;

use super::{Error, Instance};
use crate::model::CommitId;

/// Name of the cursor that holds the commits that may have been written, newest first.
const BEGUN: &str = "status.begun";
/// Commits that are remembered; more than share a verdict and are closed at once.
const MEMORY_CAPACITY: usize = 200;

/// How far a commit had come when another took over from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    /// No request of it was sent, and none will be.
    Nowhere,
    /// Requests of it may have arrived.
    Begun,
}

/// What is known of commits, once it was read.
#[derive(Default)]
pub(super) struct Writes(tokio::sync::Mutex<Option<Known>>);

/// Commits, newest first.
struct Known {
    begun: VecDeque<CommitId>,
    closed: VecDeque<CommitId>,
}

impl Known {
    /// Reads what an earlier process noted. Where none did, whatever shares a verdict may have been written.
    async fn read(instance: &Instance, shared: &[CommitId]) -> Result<Self, Error> {
        let stored = instance.store.cursor(&instance.id, BEGUN).await?;
        let begun = stored.and_then(|text| serde_json::from_str(&text).ok());
        let begun = begun.unwrap_or_else(|| shared.iter().cloned().collect());
        Ok(Self { begun, closed: VecDeque::new() })
    }
}

impl Known {
    /// Returns whether requests of a commit may be sent; nothing if that is not noted yet.
    fn may_begin(&self, commit: &CommitId) -> Option<bool> {
        if self.begun.contains(commit) {
            return Some(true);
        }
        self.closed.contains(commit).then_some(false)
    }

    /// Returns the commits that may have been written together with a further one.
    fn with(&self, commit: &CommitId) -> VecDeque<CommitId> {
        let mut begun = self.begun.clone();
        begun.push_front(commit.clone());
        begun.truncate(MEMORY_CAPACITY);
        begun
    }

    /// Closes commits that share a verdict, newest first: each holds what the older ones say.
    fn close(&mut self, shared: &[CommitId]) -> Vec<(CommitId, Came)> {
        let mut came = Came::Nowhere;
        let mut ended = Vec::new();
        for commit in shared {
            if self.begun.contains(commit) {
                came = Came::Begun;
            }
            if came == Came::Nowhere {
                self.closed.push_front(commit.clone());
            }
            ended.push((commit.clone(), came));
        }
        self.closed.truncate(MEMORY_CAPACITY);
        ended
    }
}

/// Notes that requests of a commit are about to be sent; returns whether they may be.
pub(super) async fn begin(instance: &Instance, commit: &CommitId, shared: &[CommitId]) -> Result<bool, Error> {
    let mut known = instance.writes.0.lock().await;
    let known = match &mut *known {
        Some(known) => known,
        empty => empty.insert(Known::read(instance, shared).await?),
    };
    if let Some(may) = known.may_begin(commit) {
        return Ok(may);
    }
    let begun = known.with(commit);
    let text = serde_json::to_string(&begun).unwrap_or_default();
    instance.store.put_cursor(&instance.id, BEGUN, &text).await?;
    known.begun = begun;
    Ok(true)
}

/// Returns how far commits came that share a verdict, newest first. Those that came nowhere go nowhere.
pub(super) async fn close(instance: &Instance, shared: &[CommitId]) -> Result<Vec<(CommitId, Came)>, Error> {
    let mut known = instance.writes.0.lock().await;
    let known = match &mut *known {
        Some(known) => known,
        empty => empty.insert(Known::read(instance, shared).await?),
    };
    Ok(known.close(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: &str) -> CommitId {
        CommitId::parse(&digit.repeat(40)).unwrap()
    }

    #[test]
    fn a_commit_that_was_called_unwritten_is_never_written() {
        let (a, b, c) = (commit("a"), commit("b"), commit("c"));
        let mut known = Known { begun: [b.clone()].into(), closed: VecDeque::new() };
        // The newer one holds the older, so what was written of it was written of both; not the other way round.
        let ended = known.close(&[a.clone(), b.clone(), c.clone()]);
        assert_eq!(ended, [(a.clone(), Came::Nowhere), (b.clone(), Came::Begun), (c.clone(), Came::Begun)]);
        assert_eq!((known.may_begin(&a), known.may_begin(&b), known.may_begin(&c)), (Some(false), Some(true), None));
        known.begun = known.with(&c);
        assert_eq!(known.may_begin(&c), Some(true));
        assert_eq!(known.close(std::slice::from_ref(&c)), [(c, Came::Begun)]);
    }
}
