//! What a command knows of its surroundings: variables, working directory, terminals, clock. Read once, then a value.
//!
//! Not here: daemon settings (`settings`), which flag wins over which variable (`locate.rs`).

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::base::Timestamp;
use crate::daemon::Daemon;
use crate::git::{self, Identity};
use crate::settings::user_name;

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
    /// Name of the user that this process belongs to.
    pub user: String,
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
            user: user(),
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
            user: "somebody".to_owned(),
            program: PathBuf::from("wild"),
            clock: now,
            daemon: None,
        }
    }

    /// Returns a variable that is set to something.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a path against the working directory. What lies above is looked for by the steps of the result, so no step in it goes up.
    pub fn path(&self, path: &Path) -> PathBuf {
        let joined = self.directory.join(path);
        if !joined.components().any(|step| step == Component::ParentDir) {
            return joined;
        }
        let mut resolved = PathBuf::new();
        for step in joined.components() {
            match step {
                // Behind a link the folder above is that of where it leads.
                Component::ParentDir => {
                    resolved = resolved.canonicalize().unwrap_or(resolved);
                    resolved.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => resolved.push(step),
            }
        }
        resolved
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
    ///
    /// `repository` is the one around the working directory, whose own configuration wins over the person's.
    pub fn actor(&self, repository: Option<&Path>) -> String {
        let said =
            |variable: &str, configured: Option<String>| self.variable(variable).map(str::to_owned).or(configured);
        let Identity { name, email } = git::identity(&self.git_files(repository));
        let person = match (said("GIT_AUTHOR_NAME", name), said("GIT_AUTHOR_EMAIL", email)) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(name), None) => name,
            (None, _) => self.variable("USER").or_else(|| self.variable("LOGNAME")).unwrap_or(&self.user).to_owned(),
        };
        person.chars().filter(|c| !c.is_control()).collect()
    }

    /// Returns the files in which git looks for a person's name; later ones win.
    fn git_files(&self, repository: Option<&Path>) -> Vec<PathBuf> {
        let mut files = Vec::new();
        match (self.variable("GIT_CONFIG_GLOBAL"), self.variable("HOME")) {
            (Some(file), _) => files.push(PathBuf::from(file)),
            (None, Some(home)) => {
                let config =
                    self.variable("XDG_CONFIG_HOME").map_or_else(|| Path::new(home).join(".config"), PathBuf::from);
                files.extend([config.join("git/config"), Path::new(home).join(".gitconfig")]);
            }
            (None, None) => {}
        }
        files.extend(repository.into_iter().flat_map(|folder| [folder.join("config"), folder.join(".git/config")]));
        files
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

/// Returns the name of the user of this process.
fn user() -> String {
    user_name(rustix::process::getuid().as_raw())
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
        let check = |variables: &[(&str, &str)], expected: &str| assert_eq!(with(variables).actor(None), expected);
        check(&[("USER", "alice")], "alice");
        check(
            &[("USER", "alice"), ("GIT_AUTHOR_NAME", "Alice"), ("GIT_AUTHOR_EMAIL", "a@example.org")],
            "Alice <a@example.org>",
        );
        check(&[("USER", "a\u{1b}[31m")], "a[31m");
        check(&[], "somebody");
    }

    #[test]
    fn an_author_is_who_git_says_and_the_repository_wins() {
        let directory = tempfile::tempdir().unwrap();
        let (home, repository) = (directory.path().join("home"), directory.path().join("cloud"));
        for folder in [&home, &repository.join(".git")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Zoë\n\temail = zoe@example.org\n").unwrap();
        let environment = with(&[("USER", "alice"), ("HOME", &home.display().to_string())]);
        assert_eq!(environment.actor(None), "Zoë <zoe@example.org>");
        std::fs::write(repository.join(".git/config"), "[user]\n\tname = Bot\n").unwrap();
        assert_eq!(environment.actor(Some(&repository)), "Bot <zoe@example.org>");
    }

    #[test]
    fn the_user_of_this_process_has_a_name() {
        assert!(!user().is_empty());
    }
}
