//! Pure. Repairs the history of an app that was bent, by one commit that changes no file of the app.
//!
//! The base of the next merge is the newest generation in the branch's history. A squash merge, a rebase or a cherry-pick
//! brings a generation's files without its history, and `git revert -m 1` takes files back and keeps the history; after
//! either of them plain git, and we, would start the next merge from the wrong place. The record among the files says
//! which generation they stand on; a commit that has it, or a new generation with its files, as second parent says the
//! same in git's words. Not here: reading the chain of generations (`pipeline`).

use super::config::stored;
use super::decisions::Decisions;
use super::edit::{changes, put, scope, subject};
use super::generate::Generated;
use super::land;
use super::proposal::{Join, NewGeneration, Proposal, TreeEdit};
use super::sources::{CONFIG, Sources};
use super::update::{ConfigRule, Making, make, view};
use super::{record, record_of, record_path};
use crate::model::{AppName, CommitId, FileTree, Generation, GenerationRecord};

/// The trailer of a generation that was compiled again because it was lost, and of the commit that joins it.
const APPROXIMATED: &str = "Wild-Base: approximated";

/// How the history was bent.
#[derive(Clone, PartialEq, Debug)]
pub enum Bent {
    /// The files stand on a generation that the branch's history does not hold.
    Forgotten(CommitId),
    /// The files went back to an older generation than the newest that the history holds.
    Undone(Generation),
    /// No generation is left, neither under its ref nor in the history; this is config.yaml as of the commit that changed the
    /// record last.
    Lost(FileTree),
}

/// Returns the commit that sets the history right; nothing if what a lost generation was made from does not compile any more.
pub fn rejoin(app: &AppName, sources: &Sources, bent: &Bent) -> Option<Proposal> {
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
        Bent::Lost(config) => {
            let theirs = made_again(app, sources, config)?;
            let pinned = GenerationRecord { wanted: Some(theirs.record.version.clone()), ..theirs.record.clone() };
            put(&mut files, &record_path(app), &record::write_record(&pinned));
            let what = format!("join a generation of {} made again", theirs.record.version);
            // The generation says so too: somebody may be faster on the branch, and the next pass finds it alone.
            let marked = |it: NewGeneration| NewGeneration { message: format!("{}{APPROXIMATED}\n", it.message), ..it };
            proposal.generation = land::new_generation(app, sources, &theirs).map(marked);
            let body = "None was left, so this one is compiled from the view of the package. Look at the next update before it is merged.";
            (Join::Generation, what, body)
        }
    };
    let mut trailers = vec![("Wild-App".to_owned(), app.to_string())];
    if matches!(bent, Bent::Lost(_)) {
        trailers.extend(APPROXIMATED.split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    proposal.summary = vec![format!("{app}: {what}")];
    proposal.main = Some(TreeEdit {
        changes: changes(&before, &files),
        subject: subject("chore", app.as_str(), &what),
        body: body.to_owned(),
        trailers,
        join,
    });
    Some(proposal)
}

/// Compiles a lost generation again, from the view of its package and the config of then.
fn made_again(app: &AppName, sources: &Sources, config: &FileTree) -> Option<Generated> {
    let record = record_of(&sources.files, app).ok().flatten()?;
    let source = stored(app, &record, &view(&sources.files, app)).ok()?;
    let (candidate, decisions) = (source.candidate(), Decisions::remembered(sources));
    let start = config.text(CONFIG).unwrap_or_default().to_owned();
    let making = Making { app, sources, candidate: &candidate, start, decisions: &decisions, config: ConfigRule::Keep };
    make(&making).ok().map(|made| made.theirs)
}

/// Returns a generation with the files of an older one, which makes it the newest.
fn appended(app: &AppName, generation: &Generation) -> Option<NewGeneration> {
    let record = record_of(&generation.files, app).ok().flatten()?;
    Some(NewGeneration { files: generation.files.clone(), message: record::message(app, &record) })
}

/// Holds the package that a person went back from; else the merge bot would bring it again at once.
fn hold(app: &AppName, sources: &Sources, files: &mut FileTree) {
    if let (Some(now), Some(base)) = (record_of(&sources.files, app).ok().flatten(), &sources.base) {
        let held = GenerationRecord { held: Some(record::digest_of(&view(&base.files, app))), ..now };
        put(files, &record_path(app), &record::write_record(&held));
    }
}
