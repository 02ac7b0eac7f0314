//! What a command knows of its surroundings: variables, working directory, terminals, clock. Read once, then a value.
//!
//! Not here: daemon settings (`settings`), which flag wins over which variable (`locate.rs`).

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::base::Timestamp;
use crate::daemon::Daemon;

/// The surroundings of one command.
#[derive(Clone)]
pub struct Surroundings {
    /// Variables.
    pub variables: BTreeMap<String, String>,
    /// Working directory.
    pub directory: PathBuf,
    /// Whether standard input is a terminal.
    pub input: Stream,
    /// Whether standard output is a terminal.
    pub output: Stream,
    /// Whether standard error is a terminal.
    pub error: Stream,
    /// The file of this program, for hooks that call it.
    pub program: PathBuf,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// A daemon in this very process; commands speak to it without a socket.
    pub daemon: Option<Daemon>,
}

/// What a standard stream leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// A person.
    Terminal,
    /// A file or a program.
    Other,
}

impl Surroundings {
    /// Reads the surroundings of this process.
    pub fn read() -> Self {
        let stream = |terminal: bool| if terminal { Stream::Terminal } else { Stream::Other };
        Self {
            // A variable that is no text can be none of ours.
            variables: std::env::vars_os()
                .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            directory: std::env::current_dir().unwrap_or_default(),
            input: stream(std::io::stdin().is_terminal()),
            output: stream(std::io::stdout().is_terminal()),
            error: stream(std::io::stderr().is_terminal()),
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("wild")),
            clock: now,
            daemon: None,
        }
    }

    /// Returns surroundings with nothing in them but a working directory, for calls inside a process.
    pub fn bare(directory: &Path) -> Self {
        Self {
            variables: BTreeMap::new(),
            directory: directory.to_owned(),
            input: Stream::Other,
            output: Stream::Other,
            error: Stream::Other,
            program: PathBuf::from("wild"),
            clock: now,
            daemon: None,
        }
    }

    /// Returns a variable that is set to something.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a path against the working directory.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// Returns the state directory: what must not lie in a repository.
    pub fn state_directory(&self) -> PathBuf {
        if let Some(given) = self.variable("STATE_DIRECTORY") {
            return PathBuf::from(given);
        }
        match (self.variable("XDG_STATE_HOME"), self.variable("HOME")) {
            (Some(state), _) => Path::new(state).join("wild"),
            (None, Some(home)) => Path::new(home).join(".local/state/wild"),
            (None, None) => PathBuf::from("/var/lib/wild"),
        }
    }

    /// Returns who asks, for the author of commits: `Name <address>` as git would take it, or the name of the user.
    pub fn actor(&self) -> String {
        let user = self.variable("USER").or_else(|| self.variable("LOGNAME")).unwrap_or("somebody");
        match (self.variable("GIT_AUTHOR_NAME"), self.variable("GIT_AUTHOR_EMAIL")) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(name), None) => name.to_owned(),
            (None, _) => user.to_owned(),
        }
    }

    /// Returns whether a person can be asked something.
    pub fn is_interactive(&self) -> bool {
        self.input == Stream::Terminal && self.error == Stream::Terminal && self.variable("WILD_NO_INPUT").is_none()
    }

    /// Returns whether progress may be drawn.
    pub fn is_animated(&self) -> bool {
        let dumb = self.variable("TERM").is_none_or(|terminal| terminal == "dumb");
        self.error == Stream::Terminal && !dumb && self.variable("CI").is_none()
    }

    /// Returns the width to which tables are cut: that of a terminal, if it is known.
    pub fn width(&self) -> Option<usize> {
        if self.output == Stream::Other {
            return None;
        }
        self.variable("COLUMNS").and_then(|columns| columns.parse().ok())
    }
}

/// Reads the system's clock.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Surroundings {
        let mut environment = Surroundings::bare(Path::new("/"));
        environment.variables = variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        environment
    }

    #[test]
    fn the_state_directory_follows_the_usual_variables() {
        let check = |variables: &[(&str, &str)], expected: &str| {
            assert_eq!(with(variables).state_directory(), Path::new(expected), "{variables:?}");
        };
        check(&[("STATE_DIRECTORY", "/var/lib/wild"), ("HOME", "/home/a")], "/var/lib/wild");
        check(&[("XDG_STATE_HOME", "/s"), ("HOME", "/home/a")], "/s/wild");
        check(&[("XDG_STATE_HOME", ""), ("HOME", "/home/a")], "/home/a/.local/state/wild");
        check(&[], "/var/lib/wild");
    }

    #[test]
    fn an_author_is_named_as_git_names_one() {
        assert_eq!(with(&[("USER", "alice")]).actor(), "alice");
        let both = [("USER", "alice"), ("GIT_AUTHOR_NAME", "Alice"), ("GIT_AUTHOR_EMAIL", "a@example.org")];
        assert_eq!(with(&both).actor(), "Alice <a@example.org>");
        assert_eq!(with(&[]).actor(), "somebody");
    }
}
