//! Looks at the hooks of a repository: whether git would run those that we wrote.
//!
//! Not here: writing them (`install.rs`).

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::error::Error;
use super::super::repository::Repository;
use super::install::{CLONE_HOOKS, HOOKS, MARK};

/// Longest hook of ours that is read, in bytes; what is longer was written by somebody else.
const LENGTH_LIMIT: u64 = 64 * 1024;

/// The hooks of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inspected {
    /// Names of those that are ours and that git runs.
    pub ours: Vec<&'static str>,
    /// What keeps git from running others, if any is ours.
    pub faults: Vec<HookFault>,
}

/// Why git does not run a hook of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HookFault {
    /// It is not there.
    Missing(&'static str),
    /// Somebody else's is in its place.
    Foreign(&'static str),
    /// Nobody may run it.
    NotExecutable(&'static str),
    /// The program that it calls is gone.
    ProgramGone(&'static str, PathBuf),
    /// Git runs the hooks of another directory.
    Elsewhere(PathBuf),
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(hook) => write!(f, "the hook {hook} is not there"),
            Self::Foreign(hook) => write!(f, "the hook {hook} is not ours any more"),
            Self::NotExecutable(hook) => write!(f, "the hook {hook} may not be run"),
            Self::ProgramGone(hook, program) => write!(f, "the hook {hook} calls {}, which is gone", program.display()),
            Self::Elsewhere(directory) => write!(f, "core.hooksPath has git run the hooks of {}", directory.display()),
        }
    }
}

/// Looks at the hooks. Without any of ours nothing is wrong: nobody installed them.
pub async fn inspect(repository: &Repository) -> Result<Inspected, Error> {
    let attempt = format!("look at the hooks of {}", repository.path().display());
    let is_bare = repository.is_bare();
    repository
        .read(attempt, move |repository, _| {
            let directory = repository.commondir().join("hooks");
            let of_commits: &[&'static str] = if is_bare { &[] } else { &CLONE_HOOKS };
            let names = HOOKS.iter().map(|(name, _)| *name).chain(of_commits.iter().copied());
            let mut found = Inspected::default();
            for name in names {
                match fault(&directory, name) {
                    None => found.ours.push(name),
                    Some(fault) => found.faults.push(fault),
                }
            }

            let is_installed = |fault: &HookFault| !matches!(fault, HookFault::Missing(_) | HookFault::Foreign(_));
            if found.ours.is_empty() && !found.faults.iter().any(is_installed) {
                return Ok(Inspected::default());
            }
            let set = repository.config().and_then(|config| config.get_path("core.hooksPath")).ok();
            if let Some(elsewhere) = set.filter(|set| set.canonicalize().ok() != directory.canonicalize().ok()) {
                found = Inspected { ours: Vec::new(), faults: vec![HookFault::Elsewhere(elsewhere)] };
            }
            Ok(found)
        })
        .await
}

/// Returns why git does not run a hook of ours, if so.
fn fault(directory: &Path, name: &'static str) -> Option<HookFault> {
    let path = directory.join(name);
    let Ok(metadata) = std::fs::metadata(&path) else { return Some(HookFault::Missing(name)) };
    let text = if metadata.len() <= LENGTH_LIMIT { std::fs::read_to_string(&path) } else { Ok(String::new()) };
    let Some(text) = text.ok().filter(|text| text.contains(MARK)) else { return Some(HookFault::Foreign(name)) };
    if metadata.permissions().mode() & 0o111 == 0 {
        return Some(HookFault::NotExecutable(name));
    }
    let program = program(&text, name)?;
    let is_there = std::fs::metadata(&program).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    (!is_there).then_some(HookFault::ProgramGone(name, program))
}

/// Returns the program that a script of ours calls.
fn program(text: &str, name: &str) -> Option<PathBuf> {
    let call = format!("' hook run {name}");
    let line = text.lines().find(|line| line.contains(&call))?;
    let before = line.split(&call).next()?;
    let quoted = before.strip_prefix("printf '%s\\n' \"$updates\" | ").unwrap_or(before).strip_prefix('\'')?;
    Some(PathBuf::from(quoted.replace("'\\''", "'")))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::super::super::fixture::Instance;
    use super::super::install::install;
    use super::*;

    #[tokio::test]
    async fn hooks_that_git_does_not_run_are_told_each_with_why() {
        let instance = Instance::bare().await;
        let git_dir = instance.repository.git_dir().to_owned();
        let look = async || inspect(&instance.repository).await.unwrap();
        assert_eq!(look().await, Inspected::default(), "nobody installed any");

        let program = git_dir.join("it's wild");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        install(&instance.repository, &program).await.unwrap();
        assert_eq!(look().await, Inspected { ours: vec!["pre-receive", "post-receive"], faults: Vec::new() });

        let hook = |name: &str| git_dir.join("hooks").join(name);
        std::fs::set_permissions(hook("pre-receive"), Permissions::from_mode(0o644)).unwrap();
        std::fs::write(hook("post-receive"), "#!/bin/sh\n").unwrap();
        let faults = [HookFault::NotExecutable("pre-receive"), HookFault::Foreign("post-receive")];
        assert_eq!(look().await.faults, faults);

        std::fs::set_permissions(hook("pre-receive"), Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(hook("post-receive")).unwrap();
        assert_eq!(look().await.faults, [HookFault::Missing("post-receive")]);
        std::fs::remove_file(&program).unwrap();
        assert_eq!(look().await.faults[0], HookFault::ProgramGone("pre-receive", program));

        let config = git2::Repository::open(&git_dir).unwrap().config().unwrap();
        let elsewhere = git_dir.join("other").display().to_string();
        config.open_level(git2::ConfigLevel::Local).unwrap().set_str("core.hooksPath", &elsewhere).unwrap();
        assert_eq!(look().await.faults, [HookFault::Elsewhere(elsewhere.into())]);
    }
}
