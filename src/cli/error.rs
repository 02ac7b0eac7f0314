//! How a command ends: its exit code, and the three lines of an error.
//!
//! The code is decided here and nowhere else; the API sends the same number with every problem. Not here: problems of the API (`http`).

use serde_json::Value;

use super::output::Output;
use crate::base::{chain, is_deceptive};
use crate::compile::NOT_GRANTED;
use crate::model::{Diagnostic, RefusalText};
use crate::settings;

/// Further findings that are printed below the first.
const MAX_FINDINGS: usize = 20;

/// How a command ended. Only a question answers with 1, so that a script can tell an answer from trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitCode {
    /// Done, or nothing to do.
    Done,
    /// The answer to a question is no, or there are differences.
    Answer,
    /// An error, or a command that cannot be read.
    Error,
    /// A person has to decide.
    Decision,
    /// Not signed in, or not allowed.
    Forbidden,
    /// It took too long; what was begun goes on.
    TimedOut,
    /// Something holds it back.
    Blocked,
    /// A merge of files was not done, and no file was changed; git takes every code above 128 for that.
    NothingWritten,
    /// A person pressed Ctrl-C.
    Interrupted,
}

impl ExitCode {
    /// All codes in the order in which the first that occurred decides over a command on several apps.
    const WEIGHT: [Self; 9] = [
        Self::Interrupted,
        Self::NothingWritten,
        Self::Error,
        Self::Forbidden,
        Self::TimedOut,
        Self::Decision,
        Self::Blocked,
        Self::Answer,
        Self::Done,
    ];

    /// Returns the number that the process ends with.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Answer => 1,
            Self::Error => 2,
            Self::Decision => 3,
            Self::Forbidden => 4,
            Self::TimedOut => 5,
            Self::Blocked => 6,
            Self::NothingWritten => 129,
            Self::Interrupted => 130,
        }
    }

    /// Returns the code with a number; anything unknown is an error.
    pub fn of(number: u64) -> Self {
        Self::WEIGHT.into_iter().find(|code| u64::from(code.number()) == number).unwrap_or(Self::Error)
    }

    /// Returns the heavier of two codes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::WEIGHT.into_iter().find(|code| *code == self || *code == other).unwrap_or(Self::Error)
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

/// Why a command was not done, in the three parts that people read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandError {
    /// How the command ends.
    pub code: ExitCode,
    /// What was attempted.
    pub what: String,
    /// Why it was not done.
    pub because: String,
    /// A command to copy, or what else to do.
    pub remedy: String,
    /// Findings in files beyond the one that `because` tells.
    pub findings: Vec<String>,
    /// Grants that would help.
    pub grants: Box<[LackingGrant]>,
}

/// A grant that a command lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LackingGrant {
    /// The grant, as `APP.KEY`.
    pub grant: String,
    /// Who asks for what, as a sentence without its end.
    pub asks: String,
}

impl CommandError {
    /// Returns an error that ends with 2.
    pub fn new(what: impl Into<String>, because: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (what, because, remedy) = (what.into(), because.into(), remedy.into());
        Self { code: ExitCode::Error, what, because, remedy, findings: Vec::new(), grants: Box::default() }
    }

    /// Returns the error with another exit code.
    #[must_use]
    pub fn with_code(mut self, code: ExitCode) -> Self {
        self.code = code;
        self
    }

    /// Returns the error of an answer of the API that is a problem document.
    pub fn of_problem(attempt: &str, status: u16, problem: &Value) -> Self {
        let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let by_status = match status {
            401 | 403 => ExitCode::Forbidden,
            409 | 423 => ExitCode::Blocked,
            _ => ExitCode::Error,
        };
        let code = problem.get("exitCode").and_then(Value::as_u64).map_or(by_status, ExitCode::of);
        let or = |text: String, other: String| if text.is_empty() { other } else { text };
        let errors = || problem.get("errors").and_then(Value::as_array).into_iter().flatten();
        let lacking = |found: &Value| {
            let text = |key: &str| found.get(key)?.as_str().map(str::to_owned);
            Some(LackingGrant { grant: text("grant")?, asks: text("asks")? })
        };
        let grants: Box<[LackingGrant]> = errors().filter_map(lacking).collect();
        // What lacks is told by the reason already.
        let findings = errors().skip(1).filter(|_| grants.is_empty());
        Self {
            code,
            what: or(text("detail"), attempt.to_owned()),
            because: or(text("because"), format!("the daemon answered {status}")),
            remedy: or(text("try"), "wild status".to_owned()),
            findings: findings.filter_map(|found| found.get("detail")?.as_str().map(str::to_owned)).collect(),
            grants,
        }
    }

    /// Returns the error of a request that was refused.
    pub fn of_refusal(refusal: &RefusalText) -> Self {
        let RefusalText { code, what, because, remedy, diagnostics } = refusal;
        Self {
            code: ExitCode::of(u64::from(*code)),
            what: what.clone(),
            because: because.clone(),
            remedy: remedy.clone(),
            findings: diagnostics.iter().skip(1).filter(|it| it.id != NOT_GRANTED).map(ToString::to_string).collect(),
            grants: Box::default(),
        }
    }

    /// Returns the error of findings in a file; the first is the reason.
    pub fn of_diagnostics(what: impl Into<String>, diagnostics: &[Diagnostic], remedy: &str) -> Self {
        let because = diagnostics.first().map_or_else(|| "it does not read".to_owned(), ToString::to_string);
        let hint = diagnostics.first().map(|found| found.hint.as_str()).filter(|hint| !hint.is_empty());
        let findings = diagnostics.iter().skip(1).map(ToString::to_string).collect();
        Self { findings, ..Self::new(what, because, hint.unwrap_or(remedy)) }
    }

    /// Returns the error of one of our own files.
    pub fn of_settings(what: impl Into<String>, error: &settings::Error) -> Self {
        match error {
            settings::Error::Content { diagnostics, path } => {
                Self::of_diagnostics(what, diagnostics, &format!("edit {}", path.display()))
            }
            settings::Error::Locked { holder, .. } => {
                let remedy = "wild status, which asks that process, or stop it";
                Self::new(what, format!("the instance is held by {holder}"), remedy).with_code(ExitCode::Blocked)
            }
            settings::Error::Others { path, .. } => {
                let remedy = format!("chown and chmod 600 {}, and replace what is in it", path.display());
                Self::new(what, chain(error), remedy)
            }
            settings::Error::Io { .. } | settings::Error::Entropy(_) => {
                Self::new(what, chain(error), "check that the file is there and may be read")
            }
        }
    }

    /// Writes the three lines.
    pub fn write(&self, out: &mut dyn Output) {
        let Self { code: _, what, because, remedy, findings, grants: _ } = self;
        out.note(&format!("error: {}", line(what)));
        out.note(&format!("because: {}", line(because)));
        for finding in findings.iter().take(MAX_FINDINGS) {
            out.note(&format!("  {}", line(finding)));
        }
        if findings.len() > MAX_FINDINGS {
            out.note(&format!("  and {} more", findings.len() - MAX_FINDINGS));
        }
        out.note(&format!("try: {}", line(if remedy.is_empty() { "wild status" } else { remedy })));
    }
}

/// Returns a text as one line in which nothing acts on a terminal, hides, or turns the rest round.
pub(super) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' => line.push(' '),
            c if is_deceptive(c) => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::output::Captured;
    use super::*;

    #[test]
    fn an_error_has_three_lines_and_no_control_character() {
        let mut out = Captured::default();
        CommandError::new("deploy nextcloud", "it requires db\u{1b}[31m\nwhich fails", "").write(&mut out);
        let expected = "error: deploy nextcloud\nbecause: it requires db\\u{1b}[31m which fails\ntry: wild status\n";
        assert_eq!(out.notes, expected);
    }

    #[test]
    fn a_problem_of_the_api_keeps_its_exit_code() {
        let problem = json!({"detail": "deploy a", "because": "b", "try": "c", "exitCode": 6,
            "errors": [{"detail": "first"}, {"detail": "second"}]});
        let error = CommandError::of_problem("x", 409, &problem);
        assert_eq!(
            (error.code, error.what.as_str(), error.findings.as_slice()),
            (ExitCode::Blocked, "deploy a", &["second".to_owned()][..])
        );
    }

    #[test]
    fn an_answer_without_a_problem_is_told_by_its_status() {
        for (status, code) in [(401, 4), (403, 4), (409, 6), (404, 2), (500, 2)] {
            assert_eq!(CommandError::of_problem("read x", status, &json!(null)).code.number(), code, "{status}");
        }
    }

    #[test]
    fn of_several_apps_the_heaviest_code_counts() {
        use ExitCode::{Answer, Blocked, Decision, Done, Error, Forbidden, TimedOut};
        for (left, right, expected) in [
            (Done, Answer, Answer),
            (Blocked, Decision, Decision),
            (Decision, TimedOut, TimedOut),
            (Forbidden, Error, Error),
            (Done, Done, Done),
        ] {
            assert_eq!(left.and(right), expected);
            assert_eq!(right.and(left), expected);
        }
    }

    #[test]
    fn every_code_reads_back_from_its_number() {
        for code in ExitCode::WEIGHT {
            assert_eq!(ExitCode::of(u64::from(code.number())), code);
        }
        assert_eq!(ExitCode::of(77), ExitCode::Error);
    }
}
