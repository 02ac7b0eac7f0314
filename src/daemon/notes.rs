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
            let Instance { repository, committer, .. } = self.instance.as_ref();
            let ours = statuses.to_vec();
            repository
                .change_note(commit, move |before| note(before, &ours), committer, self.instance.now())
                .await
                .map_err(|error| crate::base::chain(&error))
        })
    }
}

/// Returns the note of a commit: what is said of it by other instances of the repository stays.
fn note(before: &str, ours: &[StoredStatus]) -> String {
    let is_ours = |line: &&str| ours.iter().any(|status| line.starts_with(&format!("{} ", status.context)));
    let theirs = before.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n"));
    let ours = ours.iter().map(|status| format!("{} {}: {}\n", status.context, status.state, status.description));
    let mut lines: Vec<String> = theirs.chain(ours).collect();
    lines.sort();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Timestamp;

    #[test]
    fn a_note_keeps_what_other_instances_say_and_replaces_what_we_said() {
        let status = |context: &str, state: &str| StoredStatus {
            commit: CommitId::parse(&"a".repeat(40)).unwrap(),
            context: context.to_owned(),
            state: state.to_owned(),
            description: "it is so".to_owned(),
            changed: Timestamp(0),
        };
        let first = note("", &[status("wild/deploy (home)", "pending")]);
        assert_eq!(first, "wild/deploy (home) pending: it is so\n");
        let both = note(&first, &[status("wild/deploy (cabin)", "success")]);
        assert_eq!(both, "wild/deploy (cabin) success: it is so\nwild/deploy (home) pending: it is so\n");
        let next = note(&both, &[status("wild/drift (home)", "success"), status("wild/deploy (home)", "success")]);
        let lines: Vec<&str> = next.lines().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(lines, ["wild/deploy (cabin) success", "wild/deploy (home) success", "wild/drift (home) success"]);
    }
}
