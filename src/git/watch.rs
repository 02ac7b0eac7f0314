//! Tells when branches of a repository may have moved by somebody else's hand. Our own refs, of which every app has one, are not looked at.
//!
//! File events are hints: after each one the refs are listed and compared, because a packed ref moves without a file of
//! its own; and they are compared from time to time without any event, because events get lost.
//!
//! Not here: what a new head means (`daemon`).

use std::collections::BTreeMap;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::model::CommitId;

use super::error::Error;
use super::repository::Repository;

/// Hints that wait to be taken: a second one would say nothing new.
const HINTS: usize = 1;

/// Tells of moved refs until it is dropped.
#[derive(Debug)]
pub struct RefWatch {
    hints: mpsc::Receiver<()>,
}

impl RefWatch {
    /// Waits until refs have moved since the last time; many moves are one hint. Nothing when the watch has ended.
    pub async fn changed(&mut self) -> Option<()> {
        self.hints.recv().await
    }
}

/// Where the refs lie that people move.
const BRANCHES: &str = "refs/heads/";

/// What is compared: the branch of HEAD and all branches.
type Seen = (Option<String>, BTreeMap<String, CommitId>);

/// Watches the refs of a repository by file events, and by looking every `poll`.
pub async fn watch_refs(repository: &Repository, poll: Duration) -> Result<RefWatch, Error> {
    let (wake, woken) = mpsc::channel(HINTS);
    // Without file events, for example when the system has no watches left, looking from time to time still works.
    let events = match file_events(repository, wake.clone()) {
        Ok(events) => Some(events),
        Err(error) => {
            tracing::warn!(repository = %repository.path().display(), %error, "no file events, refs are only polled");
            None
        }
    };
    let seen = look(repository).await?;
    let (sender, hints) = mpsc::channel(HINTS);
    let repository = repository.clone();
    tokio::spawn(async move {
        let _events = events;
        follow(&repository, poll, seen, woken, &sender).await;
        drop(wake);
    });
    Ok(RefWatch { hints })
}

async fn follow(
    repository: &Repository,
    poll: Duration,
    mut seen: Seen,
    mut woken: mpsc::Receiver<()>,
    sender: &mpsc::Sender<()>,
) {
    let mut ticks = tokio::time::interval(poll);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        tokio::select! {
            () = sender.closed() => return,
            // While the refs cannot be listed only the clock asks again: a broken directory sends events without end.
            _ = woken.recv(), if !failing => {}
            _ = ticks.tick() => {}
        }
        match look(repository).await {
            Ok(now) => {
                failing = false;
                if now != seen {
                    seen = now;
                    // A full channel holds a hint already.
                    let _ = sender.try_send(());
                }
            }
            Err(_) if is_gone(repository).await => {
                tracing::warn!(repository = %repository.path().display(), "the repository is gone, its refs are watched no more");
                return;
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(repository = %repository.path().display(), %error, "refs could not be listed");
                }
                failing = true;
            }
        }
    }
}

async fn is_gone(repository: &Repository) -> bool {
    matches!(tokio::fs::try_exists(repository.git_dir()).await, Ok(false))
}

async fn look(repository: &Repository) -> Result<Seen, Error> {
    Ok((repository.head_branch().await?, repository.list_refs(BRANCHES).await?))
}

fn file_events(repository: &Repository, wake: mpsc::Sender<()>) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading refs opens files; such an event would wake us for ever.
        if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
            let _ = wake.try_send(());
        }
    })?;
    watcher.watch(&repository.git_dir().join("refs"), RecursiveMode::Recursive)?;
    watcher.watch(repository.git_dir(), RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Instance;
    use super::*;

    /// Ends a hung test; no assertion about speed.
    const PATIENCE: Duration = Duration::from_secs(20);
    const NEVER: Duration = Duration::from_secs(86_400);

    async fn hinted(watch: &mut RefWatch) -> bool {
        tokio::time::timeout(PATIENCE, watch.changed()).await.is_ok_and(|hint| hint.is_some())
    }

    #[tokio::test]
    async fn a_move_by_git_is_a_hint_also_when_refs_are_packed() {
        let instance = Instance::bare().await;
        instance.commit(&[("a", "1")], "first").await;
        let mut watch = watch_refs(&instance.repository, NEVER).await.unwrap();
        instance.git(&["branch", "deep/er/topic", "main"]);
        assert!(hinted(&mut watch).await);
        instance.git(&["pack-refs", "--all", "--prune"]);
        instance.git(&["update-ref", "-d", "refs/heads/deep/er/topic"]);
        assert!(hinted(&mut watch).await);
        instance.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
        assert!(hinted(&mut watch).await);
    }

    #[tokio::test]
    async fn the_watch_ends_with_its_repository() {
        let instance = Instance::bare().await;
        instance.commit(&[("a", "1")], "first").await;
        let mut watch = watch_refs(&instance.repository, Duration::from_millis(20)).await.unwrap();
        std::fs::remove_dir_all(instance.repository.git_dir()).unwrap();
        let ended = async { while watch.changed().await.is_some() {} };
        assert!(tokio::time::timeout(PATIENCE, ended).await.is_ok());
    }

    #[tokio::test]
    async fn polling_finds_what_events_missed() {
        let instance = Instance::bare().await;
        let (sender, hints) = mpsc::channel(HINTS);
        let mut watch = RefWatch { hints };
        let repository = instance.repository.clone();
        let (_wake, woken) = mpsc::channel(HINTS);
        let seen = look(&repository).await.unwrap();
        instance.commit(&[("a", "1")], "first").await;
        let following =
            tokio::spawn(async move { follow(&repository, Duration::from_millis(20), seen, woken, &sender).await });
        assert!(hinted(&mut watch).await);
        drop(watch);
        following.await.unwrap();
    }
}
