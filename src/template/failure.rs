//! Pure. What stops an action, before it has a file and a line.
//!
//! Not here: the finding that people see (`model::Diagnostic`), which `mod.rs` makes of it.

/// Why an action cannot be parsed or run. No message holds a value of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// Rule, such as `T201`.
    pub(super) id: &'static str,
    /// What is wrong.
    pub(super) message: String,
    /// What to do about it, possibly empty.
    pub(super) hint: String,
    /// Byte in the file where it went wrong, once known.
    pub(super) at: Option<usize>,
    /// Whether the rest of the file is not tried.
    pub(super) fatal: bool,
}

impl Failure {
    /// Returns a failure without a place.
    pub(super) fn new(id: &'static str, message: impl Into<String>) -> Self {
        Self { id, message: message.into(), hint: String::new(), at: None, fatal: false }
    }

    /// Returns a failure that ends the file, because what follows would only fail for the same reason.
    pub(super) fn limit(id: &'static str, message: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(id, message) }
    }

    /// Returns a failure of a function's own rules.
    pub(super) fn call(message: impl Into<String>) -> Self {
        Self::new("T205", message)
    }

    /// Returns a failure about an argument of the wrong type.
    pub(super) fn argument(message: impl Into<String>) -> Self {
        Self::new("T204", message)
    }

    /// Adds what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the place, unless a more precise one is known.
    pub(super) fn at(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }

    /// Ends the file with this failure.
    pub(super) fn fatal(mut self) -> Self {
        self.fatal = true;
        self
    }
}
