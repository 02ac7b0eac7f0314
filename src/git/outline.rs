//! The tree of an upstream seen part by part: what breaks a rule breaks the part that holds it and nothing beside it.
//!
//! Only directories that may hold packages are looked into; whatever else an upstream holds is never read. Not here: which directories those
//! are (`package`), the files of one part (`read.rs`).

use std::collections::{BTreeMap, HashMap};

use git2::Oid;

use crate::base::RepoPath;
use crate::base::limits::MAX_FILE_BYTES;
use crate::model::{CommitId, File, FileTree};

use super::check_tree::{Depth, HostileTree, Refusal, TreeCheck, hostile, join};
use super::checks::Rule;
use super::checks::tree::{Entry, Kind, parse};
use super::error::Error;
use super::objects::{Objects, oid_of};
use super::read::with_objects;
use super::repository::Repository;

/// What the directories of packages in a commit hold, without the contents of any file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outline {
    /// Of the files in each directory below one of packages those that tell what it is, all of them empty: the marks, and the first YAML file.
    pub files: FileTree,
    /// What cannot be looked into, by its path in the upstream: a link or a submodule in place of a directory, a directory that is damaged.
    pub broken: BTreeMap<String, HostileTree>,
}

impl Repository {
    /// Returns what directories of packages hold; the empty path is the root. One that is not there holds nothing. `marks` are names of files.
    pub async fn outline(
        &self,
        commit: &CommitId,
        containers: &[String],
        marks: &'static [&'static str],
    ) -> Result<Outline, Error> {
        let attempt = format!("look through commit {} of {}", commit.short(), self.path().display());
        let (commit, containers) = (commit.clone(), containers.to_vec());
        self.read(attempt, move |repository, known| {
            let mut look = Look { outline: Outline::default(), marks, seen: HashMap::new() };
            with_objects(repository, known, &commit, |objects, root| {
                for container in &containers {
                    match objects.directory(root, container) {
                        Ok(None) => {}
                        Ok(Some(tree)) => look.add(objects, tree, container)?,
                        Err(Refusal::Hostile(place)) => _ = look.outline.broken.insert(container.clone(), place),
                        Err(refusal) => return Err(refusal),
                    }
                }
                Ok(())
            })?;
            Ok(look.outline)
        })
        .await
    }

    /// Returns how many bytes each of these parts of a commit holds, or why it cannot be read. One that is not there holds none.
    pub async fn measure(
        &self,
        commit: &CommitId,
        parts: &[String],
    ) -> Result<BTreeMap<String, Result<u64, HostileTree>>, Error> {
        let attempt = format!("measure commit {} of {}", commit.short(), self.path().display());
        let (commit, parts) = (commit.clone(), parts.to_vec());
        self.read(attempt, move |repository, known| {
            with_objects(repository, known, &commit, |objects, root| {
                let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
                let measure = |part: &str| match objects.directory(root, part)? {
                    Some(tree) => TreeCheck::new(objects, Depth::Files(limit)).check(tree, part).map(|it| it.bytes),
                    None => Ok(0),
                };
                let mut measured = BTreeMap::new();
                for part in parts {
                    let extent = match measure(&part) {
                        Ok(bytes) => Ok(bytes),
                        Err(Refusal::Hostile(place)) => Err(place),
                        Err(refusal) => return Err(refusal),
                    };
                    measured.insert(part, extent);
                }
                Ok(measured)
            })
        })
        .await
    }
}

/// A look through directories of packages.
struct Look {
    outline: Outline,
    marks: &'static [&'static str],
    /// What directories were found to hold: ten thousand names may lead to one tree.
    seen: HashMap<Oid, Vec<String>>,
}

/// An entry of a directory by its name as text.
struct Named {
    kind: Kind,
    name: String,
    id: Oid,
}

impl Look {
    /// Adds what a directory of packages holds.
    fn add(&mut self, objects: &Objects<'_>, tree: Oid, container: &str) -> Result<(), Refusal> {
        let entries = self.entries(objects, tree, container)?;
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for entry in &entries {
            *times.entry(entry.name.clone()).or_default() += 1;
        }
        for Named { kind, name, id } in entries {
            let path = join(container, name.as_bytes());
            match kind {
                // Which of two entries of one name would be read nobody can say.
                Kind::Directory | Kind::Symlink | Kind::Gitlink if times.get(&name).is_some_and(|times| *times > 1) => {
                    if kind == Kind::Directory {
                        self.look_into(objects, id, &path)?;
                    }
                    self.breaks(path, ("tree/duplicate", "two entries have this name"));
                }
                Kind::Directory => self.look_into(objects, id, &path)?,
                Kind::Symlink | Kind::Gitlink => self.breaks(path, kind.unfit()),
                Kind::Regular | Kind::Executable | Kind::Unknown => {}
            }
        }
        Ok(())
    }

    /// Notes what tells whether a directory is a package. A manifest that is a link makes one all the same, a broken one.
    fn look_into(&mut self, objects: &Objects<'_>, tree: Oid, path: &str) -> Result<(), Refusal> {
        let telling = match self.seen.get(&tree) {
            Some(telling) => telling.clone(),
            None => {
                let files =
                    self.entries(objects, tree, path)?.into_iter().filter(|entry| entry.kind != Kind::Directory);
                let names: Vec<String> = files.map(|entry| entry.name).collect();
                let is_yaml = |name: &&String| RepoPath::parse(name).is_ok_and(|path| path.is_yaml());
                let first = names.iter().find(is_yaml).cloned();
                let marks = names.into_iter().filter(|name| self.marks.contains(&name.as_str()));
                marks.chain(first).collect()
            }
        };
        for name in &telling {
            // What has no path is found when its package is read.
            if let Ok(path) = RepoPath::parse(&join(path, name.as_bytes())) {
                self.outline.files.insert(path, File::text(""));
            }
        }
        self.seen.insert(tree, telling);
        Ok(())
    }

    /// Reads the entries of a directory; none if that cannot be done, which is noted.
    fn entries(&mut self, objects: &Objects<'_>, tree: Oid, path: &str) -> Result<Vec<Named>, Refusal> {
        let read = objects.tree(tree, path).and_then(|object| {
            let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
            let named = |entry: Entry<'_>| {
                let name = String::from_utf8_lossy(entry.name).into_owned();
                Named { kind: entry.kind, name, id: oid_of(&entry.id) }
            };
            Ok(entries.into_iter().map(named).collect())
        });
        match read {
            Err(Refusal::Hostile(place)) => {
                self.outline.broken.insert(path.to_owned(), place);
                Ok(Vec::new())
            }
            read => read,
        }
    }

    fn breaks(&mut self, path: String, (rule, reason): Rule) {
        self.outline.broken.insert(path.clone(), HostileTree { path, rule, reason });
    }
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use super::super::fixture::Instance;
    use super::super::repository::open;
    use super::*;

    type Raw<'a> = (&'a str, &'a str, Oid);

    /// A commit whose root holds these entries, written past every check.
    fn commit(raw: &git2::Repository, entries: &[Raw<'_>]) -> CommitId {
        let text =
            format!("tree {}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n", self::tree(raw, entries));
        super::super::refs::commit_id(raw.odb().unwrap().write(ObjectType::Commit, text.as_bytes()).unwrap())
    }

    fn tree(raw: &git2::Repository, entries: &[Raw<'_>]) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        raw.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
    }

    #[tokio::test]
    async fn what_cannot_be_looked_into_is_named_and_hides_nothing_beside_it() {
        let instance = Instance::bare().await;
        let raw = open(instance.repository.git_dir()).unwrap();
        let blob = raw.odb().unwrap().write(ObjectType::Blob, b"x").unwrap();
        let whole = tree(&raw, &[("100644", "manifest.yaml", blob), ("120000", "x.yaml", blob)]);
        let apps =
            tree(&raw, &[("40000", "a", whole), ("40000", "a", whole), ("120000", "l", blob), ("40000", "n", blob)]);
        let root = [
            ("40000", "apps", apps),
            ("100644", "README.md", blob),
            ("40000", "blog", whole),
            ("160000", "sub", blob),
            ("40000", "..", whole),
        ];
        let commit = commit(&raw, &root);
        let containers = [String::new(), "apps".to_owned(), "none".to_owned()];
        let outline = instance.repository.outline(&commit, &containers, &["manifest.yaml"]).await.unwrap();
        let files: Vec<&str> = outline.files.paths().map(RepoPath::as_str).collect();
        assert_eq!(files, ["apps/a/manifest.yaml", "blog/manifest.yaml"]);
        let broken: Vec<(&str, &str)> = outline.broken.iter().map(|(path, it)| (path.as_str(), it.rule)).collect();
        let expected = [
            ("apps/a", "tree/duplicate"),
            ("apps/l", "tree/symlink"),
            ("apps/n", "tree/mode"),
            ("sub", "tree/gitlink"),
        ];
        assert_eq!(broken, expected);
        let parts = ["blog", "apps/l", "apps/n", "apps/gone"].map(str::to_owned);
        let measured = instance.repository.measure(&commit, &parts).await.unwrap();
        let rules: Vec<_> = parts.iter().map(|part| measured[part].as_ref().map_err(|it| it.rule).copied()).collect();
        assert_eq!(rules, [Err("tree/symlink"), Err("tree/symlink"), Err("tree/mode"), Ok(0)]);
    }
}
