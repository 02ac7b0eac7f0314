//! Which instances the files of a commit hold: the directories with settings of an instance, none inside another.
//!
//! Not here: what may stand in them (`hook`), which of them a daemon serves (`pipeline`).

use std::collections::HashMap;

use git2::Oid;

use crate::model::{CommitId, MAX_SUBDIRECTORY_DEPTH, Subdirectory};

use super::check_tree::{Refusal, hostile, join};
use super::checks::tree::{Kind, parse};
use super::error::Error;
use super::objects::{Objects, oid_of};
use super::read::refused;
use super::refs::oid;
use super::repository::Repository;

/// The directory of an instance's settings, and the file in it.
const SETTINGS: (&[u8], &[u8]) = (b".wild", b"config.yaml");
/// Instances of one repository; a crowd of them is one tree under many names.
const MAX_INSTANCES: usize = 1_000;

/// A search through the trees of commits that looks at no tree twice.
pub(super) struct Instances<'o, 'a> {
    objects: &'o Objects<'a>,
    /// By tree and depth, the directories below that hold an instance; the empty one is the tree itself.
    known: HashMap<(Oid, usize), Vec<String>>,
}

impl Repository {
    /// Returns where the instances live that a commit holds.
    pub async fn instances(&self, commit: &CommitId) -> Result<Vec<Subdirectory>, Error> {
        let attempt = format!("look for instances in commit {}", commit.short());
        let commit = commit.clone();
        self.read(attempt, move |repository, known| instances(&Objects::of(repository, known)?, &commit)).await
    }
}

/// Returns where the instances live that a commit holds.
pub(super) fn instances(objects: &Objects<'_>, commit: &CommitId) -> Result<Vec<Subdirectory>, Error> {
    let root = objects.root(oid(commit)?);
    root.and_then(|root| Instances::new(objects).find(root)).map_err(|refusal| refused(refusal, commit.as_str()))
}

impl<'o, 'a> Instances<'o, 'a> {
    /// Starts a search.
    pub(super) fn new(objects: &'o Objects<'a>) -> Self {
        Self { objects, known: HashMap::new() }
    }

    /// Returns the directories of a root tree that hold an instance, in order.
    pub(super) fn find(&mut self, root: Oid) -> Result<Vec<Subdirectory>, Refusal> {
        let mut found: Vec<Subdirectory> =
            self.below(root, "", 0)?.iter().filter_map(|path| Subdirectory::parse(path).ok()).collect();
        found.sort();
        Ok(found)
    }

    fn below(&mut self, tree: Oid, path: &str, depth: usize) -> Result<Vec<String>, Refusal> {
        if let Some(known) = self.known.get(&(tree, depth)) {
            return Ok(known.clone());
        }
        let object = self.objects.tree(tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        let mut found = Vec::new();
        let settings = entries.iter().find(|entry| entry.name == SETTINGS.0 && entry.kind == Kind::Directory);
        let is_instance = match settings {
            Some(settings) => self.holds_settings(oid_of(&settings.id), path)?,
            None => false,
        };
        if is_instance {
            found.push(String::new());
        } else if depth < MAX_SUBDIRECTORY_DEPTH {
            for entry in entries.iter().filter(|entry| entry.kind == Kind::Directory) {
                // What cannot be a part of a sub-directory cannot hold an instance either.
                let Some(name) = std::str::from_utf8(entry.name).ok().filter(|name| Subdirectory::parse(name).is_ok())
                else {
                    continue;
                };
                let below = self.below(oid_of(&entry.id), &join(path, entry.name), depth + 1)?;
                found.extend(below.iter().map(|rest| format!("{name}/{rest}").trim_end_matches('/').to_owned()));
                if found.len() > MAX_INSTANCES {
                    return Err(hostile(path, ("tree/instances", "it holds more than 1,000 instances")));
                }
            }
        }
        self.known.insert((tree, depth), found.clone());
        Ok(found)
    }

    fn holds_settings(&self, tree: Oid, path: &str) -> Result<bool, Refusal> {
        let object = self.objects.tree(tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        Ok(entries.iter().any(|entry| entry.name == SETTINGS.1 && entry.kind == Kind::Regular))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Instance;

    async fn check(files: &[&str], expected: &[&str]) {
        let instance = Instance::bare().await;
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "x")).collect();
        let head = instance.commit(&files, "first").await;
        let found = instance.repository.instances(&head).await.unwrap();
        let found: Vec<&str> = found.iter().map(crate::model::Subdirectory::as_str).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[tokio::test]
    async fn instances_are_the_directories_with_settings_and_none_lies_inside_another() {
        check(&["README", "docs/a"], &[]).await;
        check(&[".wild/config.yaml", "a/.wild/config.yaml"], &[""]).await;
        check(&["b/.wild/config.yaml", "a/c/.wild/config.yaml", "a/note"], &["a/c", "b"]).await;
        check(&["a/.wild/config.yaml", "a/b/.wild/config.yaml"], &["a"]).await;
        check(&["a/.wild/other.yaml", "b/.wild/config.yaml/x"], &[]).await;
        check(&["a b/.wild/config.yaml", "apps/web/.wild/config.yaml"], &[]).await;
        check(&["1/2/3/4/5/6/7/8/.wild/config.yaml", "1/2/3/4/5/6/7/9/9/.wild/config.yaml"], &["1/2/3/4/5/6/7/8"])
            .await;
    }

    #[tokio::test]
    async fn one_tree_under_very_many_names_is_refused() {
        let instance = Instance::bare().await;
        let mut files = Vec::new();
        for (one, other) in (0..32).flat_map(|one| (0..32).map(move |other| (one, other))) {
            files.push((format!("d{one}/d{other}/.wild/config.yaml"), "x"));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let head = instance.commit(&files, "first").await;
        let error = instance.repository.instances(&head).await.unwrap_err();
        assert!(crate::base::chain(&error).contains("more than 1,000 instances"), "{error:?}");
    }
}
