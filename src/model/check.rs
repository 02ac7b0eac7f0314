//! Pure. What is looked at beside apps when somebody asks whether all is well, and what came of it.
//!
//! Not here: looking (`pipeline::checks`).

use serde::Serialize;

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckKind {
    /// The hooks that look at commits and pushes.
    Hooks,
    /// What apps are granted, and what they have of others.
    Grants,
    /// Secrets in clear in the head of the deployed branch.
    SecretsInGit,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub check: CheckKind,
    /// What was seen, as a sentence without its end, if nothing is wrong.
    pub told: Option<String>,
    /// What is wrong.
    pub findings: Vec<CheckFinding>,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CheckFinding {
    /// What.
    pub what: String,
    /// Why that matters.
    pub because: String,
    /// What helps.
    #[serde(rename = "try")]
    pub remedy: String,
}

impl Check {
    /// Returns a check that found these; without any, what was seen is told.
    pub fn of(check: CheckKind, told: String, findings: Vec<CheckFinding>) -> Self {
        Self { check, told: findings.is_empty().then_some(told), findings }
    }
}
