//! Pure. What compiling an app comes to: at most one generation, one commit on the deployed branch and one on the
//! update branch.
//!
//! Not here: making the commits and moving the refs (`git`, `pipeline`).

use std::collections::BTreeMap;

use crate::base::RepoPath;
use crate::merge::{Conflict, Resolution};
use crate::model::{AppName, CommitId, Diagnostic, File, FileTree};
use crate::package::SecretNeeds;

/// Trailers of a commit in the order in which they are written; the pipeline adds those that only it knows and sorts.
pub const TRAILERS: [&str; 12] = [
    "Wild-App",
    "Wild-Instance",
    "Wild-Operation",
    "Wild-Upstream",
    "Wild-Fork",
    "Wild-Base",
    "Wild-Generated",
    "Wild-Resolution",
    "Wild-Delete",
    "Wild-Delete-Data",
    "Wild-Approve",
    "Co-authored-by",
];

/// What is to be committed for an app. All parts absent: there is nothing to do.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// The generation to append; absent if the newest one has the same files.
    pub generation: Option<NewGeneration>,
    /// The commit on the deployed branch.
    pub main: Option<TreeEdit>,
    /// The commit on the update branch: parents are the head, the generation and the old tip of the branch, if there is one;
    /// where it joins no generation, the old tip and the head.
    pub update: Option<TreeEdit>,
    /// The commit on the branch of adoptions that a person reviews: its parents are the head and the old tip of that branch, if there is one.
    pub review: Option<TreeEdit>,
    /// What becomes of the update branch otherwise.
    pub update_branch: Fate,
    /// What becomes of the ref of the app's generations.
    pub generations: Fate,
    /// Decisions about conflicts to remember, by key; nothing where one is forgotten. Who, when and where from is filled in
    /// with the commit where it is not known.
    pub remember: BTreeMap<String, Option<Resolution>>,
    /// What a person has to decide.
    pub conflicts: Vec<Conflict>,
    /// What the newer version breaks; warnings ask for a decision.
    pub breaking: Vec<Diagnostic>,
    /// What a person should know.
    pub notices: Vec<String>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The secrets that the app wants.
    pub needs: SecretNeeds,
    /// What was done, in lines for people.
    pub summary: Vec<String>,
}

impl Proposal {
    /// Returns a proposal to do nothing.
    pub fn nothing(app: &AppName) -> Self {
        Self {
            generation: None,
            main: None,
            update: None,
            review: None,
            update_branch: Fate::Keep,
            generations: Fate::Keep,
            remember: BTreeMap::new(),
            conflicts: Vec::new(),
            breaking: Vec::new(),
            notices: Vec::new(),
            diagnostics: Vec::new(),
            needs: SecretNeeds::none(app.clone()),
            summary: Vec::new(),
        }
    }

    /// Returns whether no ref would move.
    pub fn is_nothing(&self) -> bool {
        let Self { generation, main, update, review, update_branch, generations, remember, .. } = self;
        let is_kept = *update_branch == Fate::Keep && *generations == Fate::Keep;
        let edits = [main, update, review];
        generation.is_none() && edits.iter().all(|edit| edit.is_none()) && is_kept && remember.is_empty()
    }

    /// Returns the commit that people are shown before it is made: the one on the deployed branch, if there is one.
    pub fn edit(&self) -> Option<&TreeEdit> {
        self.main.as_ref().or(self.review.as_ref()).or(self.update.as_ref())
    }
}

/// A generation that is not committed yet. Its parent is the newest one.
#[derive(Clone, PartialEq, Debug)]
pub struct NewGeneration {
    /// Its complete tree: the app's files and the record.
    pub files: FileTree,
    /// Its commit message.
    pub message: String,
}

/// What becomes of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It goes: its update is merged, dropped or without its app.
    Drop,
}

/// One commit as a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeEdit {
    /// Files by path, against the head of the deployed branch; nothing where a file goes.
    pub changes: BTreeMap<RepoPath, Option<File>>,
    /// First line, such as `feat(gitea): add 1.24.3`.
    pub subject: String,
    /// Text below it, possibly empty.
    pub body: String,
    /// Trailers in order.
    pub trailers: Vec<(String, String)>,
    /// Whether the generation becomes the second parent.
    pub join: Join,
}

/// Whether a commit takes a generation into the branch's history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Join {
    /// It does: the proposed generation, or the newest one if none is proposed.
    Generation,
    /// It does: this one.
    Known(CommitId),
    /// It does not.
    None,
}
