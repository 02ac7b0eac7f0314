//! Pure. Repairs the history of an app that was bent, by one commit that changes no file of the app.
//!
//! The base of the next merge is the newest generation in the branch's history. A squash merge, a rebase or a cherry-pick
//! brings a generation's files without its history, and `git revert -m 1` takes files back and keeps the history; after
//! either of them plain git, and we, would start the next merge from the wrong place. The record among the files says
//! which generation they stand on; a commit that has it, or a new generation with its files, as second parent says the
//! same in git's words. Not here: reading the chain of generations (`pipeline`).

use super::edit::{changes, put, scope, subject};
use super::proposal::{Join, NewGeneration, Proposal, TreeEdit};
use super::sources::Sources;
use super::{record, record_of, record_path};
use crate::model::{AppName, CommitId, FileTree, Generation, GenerationRecord};

/// How the history was bent.
#[derive(Clone, PartialEq, Debug)]
pub enum Bent {
    /// The files stand on a generation that the branch's history does not hold.
    Forgotten(CommitId),
    /// The files went back to an older generation than the newest that the history holds.
    Undone(Generation),
}

/// Returns the commit that sets the history right.
pub fn rejoin(app: &AppName, sources: &Sources, bent: &Bent) -> Proposal {
    let before = scope(&sources.files, app);
    let mut files = before.clone();
    let mut proposal = Proposal::nothing(app);
    let (join, what, body) = match bent {
        Bent::Forgotten(commit) => {
            let what = format!("join generation {}", commit.short());
            let body = "The branch holds its files without its history, as after a squash merge or a rebase.";
            (Join::Known(commit.clone()), what, body)
        }
        Bent::Undone(generation) => {
            proposal.generation = appended(app, generation);
            hold(app, sources, &mut files);
            let what = format!("join generation {} again", generation.commit.short());
            (Join::Generation, what, "The branch went back to its files, as after git revert of an update.")
        }
    };
    proposal.summary = vec![format!("{app}: {what}")];
    proposal.main = Some(TreeEdit {
        changes: changes(&before, &files),
        subject: subject("chore", app.as_str(), &what),
        body: body.to_owned(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join,
    });
    proposal
}

/// Returns a generation with the files of an older one, which makes it the newest.
fn appended(app: &AppName, generation: &Generation) -> Option<NewGeneration> {
    let record = record_of(&generation.files, app).ok().flatten()?;
    Some(NewGeneration { files: generation.files.clone(), message: record::message(app, &record) })
}

/// Pins the app to the version that a person went back to; else the merge bot would bring the newer one again at once.
fn hold(app: &AppName, sources: &Sources, files: &mut FileTree) {
    if let Some(now) = record_of(&sources.files, app).ok().flatten() {
        let pinned = GenerationRecord { wanted: Some(now.version.clone()), ..now };
        put(files, &record_path(app), &record::write_record(&pinned));
    }
}
