//! Hints that a file of ours was edited by hand. A hint is never data: whoever is woken reads the file.
//!
//! Directories are watched and not files, because editors replace files. Where the system cannot watch, the periodic reconcile finds the
//! change. Not here: refs (`git::watch_refs`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use notify::{RecursiveMode, Watcher};
use tokio::sync::watch;

use crate::model::is_copy_of;

/// Hints before the first one; the channel holds one number, the newest.
const NO_HINTS: u64 = 0;

/// A watch of one directory; ends when dropped.
pub(super) struct FileWatch {
    _watcher: Option<notify::RecommendedWatcher>,
    hints: watch::Receiver<u64>,
    _keep: watch::Sender<u64>,
}

impl FileWatch {
    /// Watches the directory of a file for changes of files with that name, and of what editors leave of it.
    pub(super) fn of(path: &Path) -> Self {
        let (sender, hints) = watch::channel(NO_HINTS);
        let keep = sender.clone();
        let name = path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            let is_ours = |path: &PathBuf| match (path.file_name().and_then(OsStr::to_str), name.as_deref()) {
                (Some(found), Some(name)) => found == name || is_copy_of(name, found),
                (_, _) => false,
            };
            let ours = event.paths.iter().any(is_ours);
            if ours && !event.kind.is_access() {
                sender.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
        let watcher = watcher.and_then(|mut watcher| {
            watcher.watch(path.parent().unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        if let Err(error) = &watcher {
            tracing::warn!(file = %path.display(), error = %error, "a file cannot be watched; the periodic reconcile finds changes");
        }
        Self { _watcher: watcher.ok(), hints, _keep: keep }
    }

    /// Waits for a hint.
    pub(super) async fn changed(&mut self) {
        // The sender is kept beside the receiver, so this cannot end otherwise.
        let _ = self.hints.changed().await;
    }
}
