//! Sets up a person's clone so that plain git merges as we do: our merge driver for the files of apps and those that SOPS encrypted, and a refspec that
//! brings the generations along.
//!
//! All of it lies in the clone's own configuration and in its `info/attributes`, so that nothing is left to commit and no
//! other clone is touched. Not here: the driver (`cli`), hooks of a repository that people push to (`hook`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel};

use super::error::{Error, git, io};
use super::instances::instances;
use super::objects::{Known, Objects};
use super::refs::commit_id;
use super::repository::Repository;
use crate::model::Subdirectory;

/// The driver's name in configuration and attributes.
const DRIVER: &str = "merge.wild.driver";
/// What git shows as the name of the driver.
const DRIVER_NAME: &str = "merge.wild.name";
/// What git gives the driver: base, ours, theirs, the path, the length of markers, and names of the sides where it knows them.
const DRIVER_ARGUMENTS: &str = "merge-file --style zdiff3 %O %A %B %P %L %S %X %Y";
/// Brings generations, resolutions and upstreams with every fetch.
const REFSPEC: &str = "+refs/wild/*:refs/wild/*";
/// Matches the refspec alone.
const REFSPEC_PATTERN: &str = r"^\+refs/wild/\*:refs/wild/\*$";
/// Which files of an instance the driver merges.
const ATTRIBUTES: [&str; 3] = ["apps/** merge=wild", "**/*.sops.yaml merge=wild", "**/*.sops.yml merge=wild"];
/// The remote that a clone has from its making.
const ORIGIN: &str = "origin";

/// Makes plain git in a clone merge files of apps by the `wild` program at a path, and fetch generations. Returns what was
/// changed, in words; nothing if all was there.
pub async fn set_up_clone(repository: &Repository, wild: &Path) -> Result<Vec<String>, Error> {
    let attempt = format!("set up {}", repository.path().display());
    let driver = format!("'{}' {DRIVER_ARGUMENTS}", wild.display().to_string().replace('\'', "'\\''"));
    repository
        .write(attempt.clone(), move |repository, known| {
            let mut changed = Vec::new();
            let mut config = own(repository).map_err(git(attempt.clone()))?;
            for (key, value) in [
                (DRIVER_NAME, "merges files of apps by their structure, and encrypted ones by their values"),
                (DRIVER, driver.as_str()),
            ] {
                if config.get_string(key).ok().as_deref() != Some(value) {
                    config.set_str(key, value).map_err(git(attempt.clone()))?;
                    changed.push(format!("{key} = {value}"));
                }
            }
            if let Some(key) = fetch_key(repository).map_err(git(attempt.clone()))?
                && !has_value(&config, &key, REFSPEC)
            {
                config.set_multivar(&key, REFSPEC_PATTERN, REFSPEC).map_err(git(attempt.clone()))?;
                changed.push(format!("{key} = {REFSPEC}"));
            }
            let places = places(repository, known)?;
            let of_place = |place: &Subdirectory| ATTRIBUTES.map(|line| place.outward(line));
            let add = |lines: &mut Vec<String>| lines.extend(places.iter().flat_map(of_place));
            changed.extend(with_attributes(repository.commondir(), add)?);
            Ok(changed)
        })
        .await
}

/// Takes back what [`set_up_clone`] did. Returns what was changed, in words.
pub async fn undo_clone(repository: &Repository) -> Result<Vec<String>, Error> {
    let attempt = format!("take the setup of {} back", repository.path().display());
    repository
        .write(attempt.clone(), move |repository, _| {
            let mut changed = Vec::new();
            let mut config = own(repository).map_err(git(attempt.clone()))?;
            for key in [DRIVER_NAME, DRIVER] {
                if config.get_string(key).is_ok() {
                    config.remove(key).map_err(git(attempt.clone()))?;
                    changed.push(format!("{key} is gone"));
                }
            }
            if let Some(key) = fetch_key(repository).map_err(git(attempt.clone()))?
                && has_value(&config, &key, REFSPEC)
            {
                config.remove_multivar(&key, REFSPEC_PATTERN).map_err(git(attempt.clone()))?;
                changed.push(format!("{key} lost {REFSPEC}"));
            }
            changed.extend(with_attributes(repository.commondir(), |_| ())?);
            Ok(changed)
        })
        .await
}

impl Repository {
    /// Returns the repository on this machine that a clone was made from, or that a linked work tree belongs to.
    pub async fn cloned_from(&self) -> Result<Option<PathBuf>, Error> {
        let attempt = format!("find what {} was cloned from", self.path().display());
        self.read(attempt.clone(), move |repository, _| {
            if repository.is_worktree() {
                let common = repository.commondir();
                let main = if common.ends_with(".git") { common.parent().unwrap_or(common) } else { common };
                return Ok(Some(main.to_owned()));
            }
            let Ok(origin) = repository.find_remote(ORIGIN) else { return Ok(None) };
            let Ok(url) = origin.url() else { return Ok(None) };
            let path = url.strip_prefix("file://").unwrap_or(url);
            // git goes to the top of the work tree first. What names a host has a colon or, behind `file:`, no path.
            let is_path = path.starts_with('/') || path.starts_with("./") || path.starts_with("../");
            let top = repository.workdir().unwrap_or_else(|| repository.path());
            Ok(is_path.then(|| top.join(path)))
        })
        .await
    }
}

/// Returns where the instances of a clone live; without any it is about to get one at its top.
fn places(repository: &git2::Repository, known: &Known) -> Result<Vec<Subdirectory>, Error> {
    let head = repository.head().ok().and_then(|head| head.target());
    let objects = Objects::of(repository, known)?;
    let found = head.map(|head| instances(&objects, &commit_id(head))).transpose()?.unwrap_or_default();
    Ok(if found.is_empty() { vec![Subdirectory::top()] } else { found })
}

/// Returns whether a line of the attributes is one of ours.
fn is_ours(line: &str) -> bool {
    let is_place = |place: &str| Subdirectory::parse(place).is_ok();
    ATTRIBUTES.iter().any(|attribute| line.strip_suffix(attribute).is_some_and(is_place))
}

/// Returns the configuration of the repository alone, without that of the person or the system.
fn own(repository: &git2::Repository) -> Result<Config, git2::Error> {
    repository.config()?.open_level(ConfigLevel::Local)
}

/// Returns where the refspecs of the remote stand that the clone was made from; a repository without remotes has none.
fn fetch_key(repository: &git2::Repository) -> Result<Option<String>, git2::Error> {
    let remotes = repository.remotes()?;
    let names: Vec<&str> = remotes.iter().filter_map(|name| name.ok().flatten()).collect();
    let name = names.iter().find(|name| **name == ORIGIN).or(names.first());
    Ok(name.map(|name| format!("remote.{name}.fetch")))
}

fn has_value(config: &Config, key: &str, value: &str) -> bool {
    let Ok(mut entries) = config.multivar(key, None) else { return false };
    while let Some(Ok(entry)) = entries.next() {
        if entry.value().is_ok_and(|it| it == value) {
            return true;
        }
    }
    false
}

/// Writes the attributes anew, without our lines and then with what `add` does; says so if that changed the file.
fn with_attributes(directory: &Path, add: impl Fn(&mut Vec<String>)) -> Result<Option<String>, Error> {
    let path = directory.join("info/attributes");
    let attempt = || format!("write {}", path.display());
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io(attempt())(error)),
    };
    let mut lines: Vec<String> = text.lines().filter(|line| !is_ours(line)).map(str::to_owned).collect();
    add(&mut lines);
    let new: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if new.trim_end() == text.trim_end() {
        return Ok(None);
    }
    std::fs::create_dir_all(directory.join("info")).map_err(io(attempt()))?;
    std::fs::write(&path, new).map_err(io(attempt()))?;
    Ok(Some(format!("wrote {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Instance, run_git, try_git};
    use super::*;
    use crate::git::Layout;

    const ONE: &str = "a: 1\nb: 2\n";

    /// A work tree with a remote, beside the program that stands in for ours: it writes a word into ours.
    async fn clone() -> Instance {
        let instance = Instance::with(Layout::WorkTree).await;
        instance.git(&["remote", "add", ORIGIN, "/nowhere"]);
        instance
    }

    #[tokio::test]
    async fn a_second_setup_changes_nothing_and_an_undo_leaves_nothing() {
        let instance = clone().await;
        let before = instance.git(&["config", "--local", "--list"]);
        let wild = Path::new("/opt/it's wild");
        assert_eq!(set_up_clone(&instance.repository, wild).await.unwrap().len(), 4);
        assert_eq!(set_up_clone(&instance.repository, wild).await.unwrap(), Vec::<String>::new());
        assert!(instance.git(&["config", "--get-all", "remote.origin.fetch"]).contains(REFSPEC));
        assert_eq!(instance.git(&["check-attr", "merge", "apps/a/b.yaml"]), "apps/a/b.yaml: merge: wild");
        assert_eq!(undo_clone(&instance.repository).await.unwrap().len(), 4);
        assert_eq!(undo_clone(&instance.repository).await.unwrap(), Vec::<String>::new());
        assert_eq!(instance.git(&["config", "--local", "--list"]), before);
        assert_eq!(instance.git(&["check-attr", "merge", "apps/a/b.yaml"]), "apps/a/b.yaml: merge: unspecified");
    }

    #[tokio::test]
    async fn lines_of_a_person_in_the_attributes_stay() {
        let instance = clone().await;
        let path = instance.repository.git_dir().join("info/attributes");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "*.png binary\n").unwrap();
        set_up_clone(&instance.repository, Path::new("wild")).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("*.png binary\n{}\n", ATTRIBUTES.join("\n")));
        undo_clone(&instance.repository).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "*.png binary\n");
    }

    #[tokio::test]
    async fn the_driver_merges_the_apps_of_every_instance_and_a_second_setup_finds_new_ones() {
        let instance = clone().await;
        let wild = Path::new("wild");
        let merge = |path: &str| instance.git(&["check-attr", "merge", path]).ends_with(": wild");
        instance.commit(&[("c/home/.wild/config.yaml", "x")], "first").await;
        set_up_clone(&instance.repository, wild).await.unwrap();
        assert!(merge("c/home/apps/a/b.yaml") && !merge("c/cabin/apps/a/b.yaml") && !merge("apps/a/b.yaml"));
        assert!(merge("c/home/secrets.sops.yaml") && merge("c/home/a/b.sops.yml") && !merge("secrets.sops.yaml"));
        instance.commit(&[("c/cabin/.wild/config.yaml", "x")], "second").await;
        assert_eq!(set_up_clone(&instance.repository, wild).await.unwrap().len(), 1);
        assert!(merge("c/home/apps/a/b.yaml") && merge("c/cabin/apps/a/b.yaml") && !merge("c/home/config.yaml"));
        assert_eq!(set_up_clone(&instance.repository, wild).await.unwrap(), Vec::<String>::new());
        undo_clone(&instance.repository).await.unwrap();
        assert!(!merge("c/home/apps/a/b.yaml") && !merge("c/cabin/apps/a/b.yaml"));
    }

    #[tokio::test]
    async fn git_calls_the_program_with_the_path_and_the_length_of_markers() {
        let instance = clone().await;
        let directory = instance.repository.work_tree().unwrap().to_owned();
        let wild = directory.join(".git/it's wild");
        let text = "#!/bin/sh\necho \"$1 $2 $3 $7 $8\" >\"$5\"\n";
        std::fs::write(&wild, text).unwrap();
        std::fs::set_permissions(&wild, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        set_up_clone(&instance.repository, &wild).await.unwrap();
        let write = |text: &str| {
            std::fs::create_dir_all(directory.join("apps/a")).unwrap();
            std::fs::write(directory.join("apps/a/b c.yaml"), text).unwrap();
            run_git(&directory, &["add", "-A"]);
            run_git(&directory, &["commit", "-q", "-m", "change"]);
        };
        write(ONE);
        run_git(&directory, &["switch", "-q", "-c", "other"]);
        write("a: 1\nb: 3\n");
        run_git(&directory, &["switch", "-q", "-"]);
        write("a: 2\nb: 2\n");
        let (ok, said) = try_git(&directory, &["merge", "-q", "--no-edit", "other"]);
        assert!(ok, "{said}");
        let merged = std::fs::read_to_string(directory.join("apps/a/b c.yaml")).unwrap();
        assert_eq!(merged, "merge-file --style zdiff3 apps/a/b c.yaml 7\n");
    }
}
