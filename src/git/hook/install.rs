//! Writes the hook scripts of a repository; hooks that were there before are kept and called first.
//!
//! Not here: what the hooks check (`receive.rs`).

use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::error::{Error, io};
use super::super::repository::{Repository, sync};

/// The line by which we know a script of ours.
pub(super) const MARK: &str = "# Written by `wild hook install`; a hook that was here before is called first.";
/// What is added to the name of a hook that was there before.
const KEPT: &str = "before-wild";
/// Hooks that we write, and what follows the call of the program: a failing check stops the push, a failing message
/// does not, because the daemon finds the new commit at its next look anyway.
pub(super) const HOOKS: [(&str, &str); 2] = [("pre-receive", ""), ("post-receive", " || true")];
/// Hooks that keep secrets out of commits where people make them: by hand, by a merge, from a mail. What is picked or rebased was a commit before.
pub(super) const CLONE_HOOKS: [&str; 4] = ["pre-commit", "pre-merge-commit", "pre-applypatch", "commit-msg"];

/// What an installation did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Installed {
    /// The scripts written.
    pub written: Vec<PathBuf>,
    /// Hooks of somebody else, under the names they now have.
    pub kept: Vec<PathBuf>,
}

/// Writes the hooks that call the `wild` program at a path. Running it again renews them.
pub async fn install(repository: &Repository, wild: &Path) -> Result<Installed, Error> {
    let attempt = format!("install hooks in {}", repository.path().display());
    let (wild, is_bare) = (wild.to_owned(), repository.is_bare());
    repository
        .write(attempt, move |repository, _| {
            let directory = repository.commondir().join("hooks");
            let of_pushes = HOOKS.map(|(name, after)| (name, push_script(name, &wild, after)));
            let mut installed = write_hooks(&directory, &of_pushes)?;
            if !is_bare {
                let of_commits = write_hooks(&directory, &CLONE_HOOKS.map(|name| (name, commit_script(name, &wild))))?;
                installed.written.extend(of_commits.written);
                installed.kept.extend(of_commits.kept);
            }
            Ok(installed)
        })
        .await
}

/// Writes the hooks of a person's clone that keep secrets out of commits; those that are as wanted stay untold.
pub async fn install_in_clone(repository: &Repository, wild: &Path) -> Result<Installed, Error> {
    let attempt = format!("install hooks in {}", repository.path().display());
    let wild = wild.to_owned();
    repository
        .write(attempt, move |repository, _| {
            let directory = repository.commondir().join("hooks");
            let wanted = CLONE_HOOKS.map(|name| (name, commit_script(name, &wild)));
            let is_there = |(name, text): &&(&str, String)| {
                std::fs::read(directory.join(name)).is_ok_and(|there| there == text.as_bytes())
            };
            let new: Vec<_> = wanted.iter().filter(|hook| !is_there(hook)).cloned().collect();
            write_hooks(&directory, &new)
        })
        .await
}

/// Removes the hooks of a person's clone that we wrote, puts back what was there before, and returns those that are gone.
pub async fn remove_from_clone(repository: &Repository) -> Result<Vec<PathBuf>, Error> {
    let attempt = format!("remove hooks from {}", repository.path().display());
    repository
        .write(attempt.clone(), move |repository, _| {
            let directory = repository.commondir().join("hooks");
            let mut gone = Vec::new();
            for path in CLONE_HOOKS.map(|name| directory.join(name)) {
                let is_ours = std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(MARK));
                if !is_ours {
                    continue;
                }
                let kept = path.with_extension(KEPT);
                let done = if kept.exists() { std::fs::rename(&kept, &path) } else { std::fs::remove_file(&path) };
                done.map_err(io(attempt.clone()))?;
                gone.push(path);
            }
            Ok(gone)
        })
        .await
}

fn write_hooks(directory: &Path, hooks: &[(&str, String)]) -> Result<Installed, Error> {
    let attempt = || format!("write hooks to {}", directory.display());
    std::fs::create_dir_all(directory).map_err(io(attempt()))?;
    let mut installed = Installed::default();
    for (name, text) in hooks {
        let path = directory.join(name);
        installed.kept.extend(keep(&path)?);
        let part = directory.join(format!("{name}.part"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o755)
            .open(&part)
            .map_err(io(attempt()))?;
        file.write_all(text.as_bytes()).map_err(io(attempt()))?;
        file.set_permissions(Permissions::from_mode(0o755)).map_err(io(attempt()))?;
        sync(&part)?;
        std::fs::rename(&part, &path).map_err(io(attempt()))?;
        installed.written.push(path);
    }
    sync(directory)?;
    Ok(installed)
}

/// Moves a hook of somebody else aside and returns its new name.
fn keep(path: &Path) -> Result<Option<PathBuf>, Error> {
    let attempt = || format!("keep the hook {}", path.display());
    match std::fs::read(path) {
        Ok(bytes) if String::from_utf8_lossy(&bytes).contains(MARK) => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(attempt())(error)),
    }
    let kept = path.with_extension(KEPT);
    if kept.exists() {
        let reason = format!("{} is there already; remove one of them", kept.display());
        return Err(Error::Unusable { attempt: attempt(), reason });
    }
    std::fs::rename(path, &kept).map_err(io(attempt()))?;
    Ok(Some(kept))
}

/// Returns a hook of a commit. It has no input, and what it gets from git goes on to the one that was there before.
fn commit_script(name: &str, wild: &Path) -> String {
    let wild = quoted(wild);
    format!(
        "#!/bin/sh\n{MARK}\nbefore=\"$(dirname \"$0\")/{name}.{KEPT}\"\nif [ -x \"$before\" ]; then\n  \"$before\" \"$@\" || exit \
         $?\nfi\n'{wild}' hook run {name} \"$@\"\n"
    )
}

fn quoted(wild: &Path) -> String {
    wild.display().to_string().replace('\'', "'\\''")
}

fn push_script(name: &str, wild: &Path, after: &str) -> String {
    let wild = quoted(wild);
    format!(
        "#!/bin/sh\n{MARK}\nupdates=$(cat)\nbefore=\"$(dirname \"$0\")/{name}.{KEPT}\"\nif [ -x \"$before\" ]; then\n  \
         printf '%s\\n' \"$updates\" | \"$before\" \"$@\" || exit $?\nfi\nprintf '%s\\n' \"$updates\" | '{wild}' hook run \
         {name}{after}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{Instance, try_git};
    use super::*;

    /// Installs hooks that call a stand-in for the program, which keeps what it is given and ends with a status.
    async fn installed(instance: &Instance, status: u8) -> Installed {
        let wild = instance.repository.path().join("it's wild");
        let text = format!("#!/bin/sh\n(echo \"$@\"; cat) >> \"$GIT_DIR/calls\"\nexit {status}\n");
        write_executable(&wild, &text);
        install(&instance.repository, &wild).await.unwrap()
    }

    fn write_executable(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    async fn push(instance: &Instance) -> (bool, String) {
        let other = Instance::bare().await;
        other.commit(&[("a", "1")], "first").await;
        let to = instance.repository.path().display().to_string();
        try_git(other.repository.path(), &["push", "-q", &to, "main"])
    }

    fn calls(instance: &Instance) -> String {
        std::fs::read_to_string(instance.repository.git_dir().join("calls")).unwrap()
    }

    #[tokio::test]
    async fn a_push_is_shown_to_the_program_before_and_after() {
        let instance = Instance::bare().await;
        installed(&instance, 0).await;
        let (ok, text) = push(&instance).await;
        assert!(ok, "{text}");
        let head = instance.repository.head("main").await.unwrap().unwrap();
        let line = format!("{} {head} refs/heads/main", "0".repeat(40));
        assert_eq!(calls(&instance), format!("hook run pre-receive\n{line}\nhook run post-receive\n{line}\n"));
    }

    #[tokio::test]
    async fn a_failing_check_stops_the_push() {
        let instance = Instance::bare().await;
        installed(&instance, 1).await;
        assert!(!push(&instance).await.0);
        assert_eq!(calls(&instance).lines().count(), 2, "only the check before was called");
        assert_eq!(instance.repository.head("main").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_hook_of_somebody_else_is_kept_and_called_first() {
        let instance = Instance::bare().await;
        let hook = instance.repository.git_dir().join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        write_executable(&hook, "#!/bin/sh\n(echo theirs; cat) >> \"$GIT_DIR/calls\"\n");
        let first = installed(&instance, 0).await;
        assert_eq!(first.kept, [hook.with_extension("before-wild")]);
        assert!(installed(&instance, 0).await.kept.is_empty(), "a second run moves nothing");
        assert!(push(&instance).await.0);
        assert!(calls(&instance).starts_with("theirs\n0000"), "{}", calls(&instance));
        write_executable(&hook.with_extension("before-wild"), "#!/bin/sh\nexit 3\n");
        instance
            .repository
            .delete_ref("refs/heads/main", &instance.repository.head("main").await.unwrap().unwrap())
            .await
            .unwrap();
        assert!(!push(&instance).await.0, "its refusal counts");
    }
}
