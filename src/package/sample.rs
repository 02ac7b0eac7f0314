//! Pure. The sample directory's history, embedded for the demo and for tests: one commit per version of a package.
//!
//! The files lie in `fixtures/directory/<package>/<version>/`; what the real tools make of them lies beside them.
//! Not here: writing the commits (`sandbox`, `git`).

use crate::base::RepoPath;
use crate::model::{File, FileTree};

/// What the directory says about itself.
const README: &str = "# A sample directory\n\nFour packages of four sorts: a database, a cache, a blog and an app of several workloads.\n";

/// A commit of the sample directory.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleCommit {
    /// Subject line, `<package> <version>: <what changes>`.
    pub message: String,
    /// All files after it, by path in the directory.
    pub files: FileTree,
}

/// One version of a package, with its files.
struct SampleVersion {
    package: &'static str,
    version: &'static str,
    change: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! version {
    ($package:literal, $version:literal, $change:literal, [$($file:literal),* $(,)?]) => {
        SampleVersion {
            package: $package,
            version: $version,
            change: $change,
            files: &[$(($file, include_str!(concat!("../../fixtures/directory/", $package, "/", $version, "/", $file)))),*],
        }
    };
}

/// Returns the directory's commits, oldest first. Each holds every package at its newest version then.
pub fn history() -> Vec<SampleCommit> {
    let mut files = FileTree::new();
    add(&mut files, "README.md", README);
    let mut commits = vec![SampleCommit { message: "say what this directory is".to_owned(), files: files.clone() }];
    for SampleVersion { package, version, change, files: changed } in versions() {
        files.remove_below(package);
        for (path, text) in changed {
            add(&mut files, &format!("{package}/{path}"), text);
        }
        commits.push(SampleCommit { message: format!("{package} {version}: {change}"), files: files.clone() });
    }
    commits
}

fn add(files: &mut FileTree, path: &str, text: &str) {
    // Every path is a constant of this file, and a test reads all of them.
    if let Ok(path) = RepoPath::parse(path) {
        files.insert(path, File::text(text));
    }
}

/// Returns the versions in the order in which they were published.
#[rustfmt::skip]
fn versions() -> Vec<SampleVersion> {
    vec![
        version!("stonedb", "15.4", "a database for other apps", ["README.md", "configmap.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml", "statefulset.yaml"]),
        version!("quickcache", "7.0", "a cache for other apps", ["README.md", "deployment.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml"]),
        version!("quillblog", "5.0", "a blog that keeps its rows in stonedb", ["README.md", "configmap.yaml", "db-init-job.yaml", "deployment.yaml", "ingress.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml"]),
        version!("photobox", "1.0", "photos with a server, a worker and a lens", ["README.md", "configmap.yaml", "ingress.yaml", "kustomization.yaml", "lens.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "server-deployment.yaml", "service.yaml", "worker.yaml"]),
        version!("stonedb", "15.5", "restart a server that hangs", ["README.md", "configmap.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml", "statefulset.yaml"]),
        version!("photobox", "1.1", "two sizes of thumbnails, more processor for the server", ["README.md", "configmap.yaml", "ingress.yaml", "kustomization.yaml", "lens.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "server-deployment.yaml", "service.yaml", "worker.yaml"]),
        version!("quickcache", "7.2", "say what goes first when memory is full", ["README.md", "deployment.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml"]),
        version!("quillblog", "5.2", "search is on, a language can be chosen", ["README.md", "configmap.yaml", "db-init-job.yaml", "deployment.yaml", "ingress.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml"]),
        version!("photobox", "2.0", "name the files after what is in them, more memory for the server", ["README.md", "configmap.yaml", "ingress.yaml", "kustomization.yaml", "lens.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "server-deployment.yaml", "service.yaml", "worker-deployment.yaml"]),
        version!("quillblog", "5.3", "the title is now called siteTitle", ["README.md", "configmap.yaml", "db-init-job.yaml", "deployment.yaml", "ingress.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml"]),
        version!("stonedb", "16.1", "a new major version with a second secret", ["README.md", "configmap.yaml", "doctor/job.yaml", "doctor/kustomization.yaml", "kustomization.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "service.yaml", "statefulset.yaml"]),
        version!("photobox", "2.1", "restart a worker that hangs", ["README.md", "configmap.yaml", "ingress.yaml", "kustomization.yaml", "lens.yaml", "manifest.yaml", "namespace.yaml", "pvc.yaml", "server-deployment.yaml", "service.yaml", "worker-deployment.yaml"]),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{history, versions};
    use crate::package::list;

    #[test]
    fn every_commit_lists_its_packages_without_a_broken_one() {
        let last = history().pop().unwrap();
        let listing = list(&last.files, "");
        let found: Vec<String> = listing
            .packages
            .into_iter()
            .map(|(name, listed)| format!("{name} {}", listed.unwrap().manifest.version))
            .collect();
        assert_eq!(found, ["photobox 2.1", "quickcache 7.2", "quillblog 5.3", "stonedb 16.1"]);
        for commit in history() {
            assert!(list(&commit.files, "").packages.values().all(Result::is_ok), "{}", commit.message);
        }
    }

    #[test]
    fn a_commit_says_the_version_that_its_manifest_says() {
        for commit in history().into_iter().skip(1) {
            let (package, rest) = commit.message.split_once(' ').unwrap();
            let (version, _) = rest.split_once(':').unwrap();
            let name = crate::model::PackageName::parse(package).unwrap();
            assert_eq!(list(&commit.files, "").packages[&name].as_ref().unwrap().manifest.version, version);
        }
    }

    #[test]
    fn every_file_of_the_packages_shown_is_embedded() {
        let root = crate::base::fixtures("directory");
        let mut embedded = BTreeSet::new();
        for version in versions() {
            let directory = root.join(version.package).join(version.version);
            embedded.extend(version.files.iter().map(|(path, _)| directory.join(path)));
        }
        let mut found = BTreeSet::new();
        // The other packages of the fixtures are for tests alone.
        let mut open: Vec<_> = versions().iter().map(|version| root.join(version.package)).collect();
        open.sort();
        open.dedup();
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
                match entry.is_dir() {
                    true if entry.to_string_lossy().ends_with(".expected") => {}
                    true => open.push(entry),
                    false => _ = found.insert(entry),
                }
            }
        }
        found.retain(|path| path.extension().is_none_or(|extension| extension != "findings"));
        assert_eq!(found, embedded);
    }
}
