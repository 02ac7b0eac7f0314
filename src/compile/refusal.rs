//! Pure. Why something that was asked for is not done: what was attempted, because of what, and the command that helps.
//!
//! Not here: exit codes and printing (`cli`, `http`).

use crate::model::{AppName, Diagnostic};

/// A refusal. Nothing is committed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The input must change first.
    #[error("{0}")]
    User(Box<Explanation>),
    /// A person has to decide conflicts first.
    #[error("{0}")]
    Undecided(Box<Explanation>),
    /// Something else has to happen first; tried again when it did.
    #[error("{0}")]
    Blocked(Box<Explanation>),
}

/// The three parts of a refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// What was attempted on what.
    pub what: String,
    /// Why it is not done.
    pub because: String,
    /// A command to copy.
    pub remedy: String,
    /// Findings in files, if they are the reason.
    pub diagnostics: Vec<Diagnostic>,
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.because)
    }
}

impl Refusal {
    /// Returns a refusal that waits for other input.
    pub(super) fn user(what: impl Into<String>, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::User(explain(what, because, remedy))
    }

    /// Returns a refusal that waits for a decision.
    pub(super) fn undecided(what: impl Into<String>, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Undecided(explain(what, because, remedy))
    }

    /// Returns a refusal that waits for something else.
    pub(super) fn blocked(what: impl Into<String>, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Blocked(explain(what, because, remedy))
    }

    /// Returns the refusal that findings ask for: the first one is the reason, its hint the remedy if it is something to do.
    pub(super) fn found(what: impl Into<String>, remedy: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Self {
        let first = diagnostics.first();
        let because = first.map(ToString::to_string).unwrap_or_default();
        let command = first
            .map(|finding| finding.hint.as_str())
            .filter(|hint| hint.starts_with("wild ") || hint.starts_with("commit "));
        let remedy = command.map_or_else(|| remedy.into(), str::to_owned);
        Self::User(Box::new(Explanation { what: what.into(), because, remedy, diagnostics }))
    }

    /// Turns the refusal into one that waits for something else than input.
    pub(super) fn into_blocked(self) -> Self {
        match self {
            Self::User(explanation) | Self::Undecided(explanation) | Self::Blocked(explanation) => {
                Self::Blocked(explanation)
            }
        }
    }

    /// Returns the refusal with its findings named otherwise.
    pub(super) fn with_files(mut self, rename: impl FnOnce(Vec<Diagnostic>) -> Vec<Diagnostic>) -> Self {
        let (Self::User(explanation) | Self::Undecided(explanation) | Self::Blocked(explanation)) = &mut self;
        explanation.diagnostics = rename(std::mem::take(&mut explanation.diagnostics));
        self
    }

    /// Returns its three parts.
    pub fn explanation(&self) -> &Explanation {
        match self {
            Self::User(explanation) | Self::Undecided(explanation) | Self::Blocked(explanation) => explanation,
        }
    }
}

fn explain(what: impl Into<String>, because: impl Into<String>, remedy: impl Into<String>) -> Box<Explanation> {
    Box::new(Explanation { what: what.into(), because: because.into(), remedy: remedy.into(), diagnostics: Vec::new() })
}

/// Returns the refusal for an app that is not there, with the name that was meant.
pub(super) fn no_such_app<'a>(what: &str, app: &AppName, known: impl IntoIterator<Item = &'a str>) -> Refusal {
    let meant = crate::base::nearest::nearest(app.as_str(), known);
    let (because, remedy) = match meant {
        Some(meant) => (format!("there is no app {app}; did you mean {meant}?"), format!("wild app show {meant}")),
        None => (format!("there is no app {app}"), "wild app list --deployed".to_owned()),
    };
    Refusal::user(format!("{what} {app}"), because, remedy)
}
