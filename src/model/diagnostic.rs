//! Pure. What is wrong in somebody's file, where, and what to do about it.
//!
//! Not here: printing it (`cli`, `http`).

use std::fmt;

/// How bad a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The app gets no generation and keeps what it has.
    Error,
    /// Worth a person's look; blocks nothing.
    Warning,
    /// Good to know.
    Info,
}

/// A finding in a file. Ids are never reused.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Rule, such as `T201` or `K110`.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// Path of the file, relative to the repository or package that was read; empty if no file is meant.
    pub file: String,
    /// Line from 1, or 0 if no line is meant.
    pub line: usize,
    /// Column from 1 in characters, or 0.
    pub column: usize,
    /// The text at fault, cut short; never a secret value.
    pub subject: String,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to do about it, possibly empty.
    pub hint: String,
}

impl Diagnostic {
    /// Returns an error at a place in a file.
    pub fn error(id: &str, file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            severity: Severity::Error,
            file: file.to_owned(),
            line,
            column: 0,
            subject: String::new(),
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Returns a warning at a place in a file.
    pub fn warning(id: &str, file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(id, file, line, message) }
    }

    /// Returns the diagnostic with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Returns the diagnostic with a column and the text at fault.
    #[must_use]
    pub fn at(mut self, column: usize, subject: impl Into<String>) -> Self {
        self.column = column;
        self.subject = subject.into();
        self
    }

    /// Returns whether it stops a generation.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
                if self.column > 0 {
                    write!(f, ":{}", self.column)?;
                }
            }
            f.write_str(": ")?;
        }
        write!(f, "{}: {}", self.id, self.message)
    }
}
