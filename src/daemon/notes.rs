//! Keeps statuses in git notes, which `git log --notes=wild` shows with or without a forge, and holds them back from one that does not
//! know their commit yet.
//!
//! Not here: the words (`broadcast::message`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::broadcast::Notes;
use crate::model::CommitId;
use crate::pipeline::{self, Instance};
use crate::store::StoredStatus;

/// Writes the notes of one instance.
pub(super) struct GitNotes {
    instance: Arc<Instance>,
}

impl GitNotes {
    /// Returns the writer for an instance.
    pub(super) fn new(instance: Arc<Instance>) -> Self {
        Self { instance }
    }
}

impl Notes for GitNotes {
    fn is_on_its_way<'a>(&'a self, commit: &'a CommitId) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        // Where that cannot be told, the forge itself says whether it knows the commit.
        Box::pin(async move { pipeline::is_on_its_way(&self.instance, commit).await.unwrap_or(false) })
    }

    fn write<'a>(
        &'a self,
        commit: &'a CommitId,
        statuses: &'a [StoredStatus],
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async move {
            let text: String = statuses
                .iter()
                .map(|status| format!("{} {}: {}\n", status.context, status.state, status.description))
                .collect();
            let Instance { repository, committer, .. } = self.instance.as_ref();
            repository
                .add_note(commit, &text, committer, self.instance.now())
                .await
                .map_err(|error| crate::base::chain(&error))
        })
    }
}
