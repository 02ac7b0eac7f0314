//! Pure. Finds the packages in the tree of an upstream, also those that are broken: a package is never left out in silence.
//!
//! Layouts: `<package>/manifest.yaml` at the root and `apps/<package>/manifest.yaml`, and services, which have a
//! `wild-manifest.yaml`, in `services/` and `setup/cluster-services/`; all in one tree. A path in the settings replaces the
//! search. Directories whose name begins with `.` or `_`, and directories without manifest and
//! without YAML, hold no package.
//!
//! Not here: which version is wanted (`compile`), reading the tree from git (`git`).

use std::collections::BTreeMap;

use super::load::{MANIFEST, Package, SERVICE_MANIFEST, load};
use super::manifest::PackageManifest;
use crate::base::RepoPath;
use crate::model::{Diagnostic, FileTree, PackageName};

/// Directory of packages that is searched beside the root.
const APPS: &str = "apps";

/// Directories of services.
const SERVICES: [&str; 2] = ["services", "setup/cluster-services"];

/// Names of the files that make a directory a package.
pub const MANIFESTS: [&str; 2] = [MANIFEST, SERVICE_MANIFEST];

/// The packages of a tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listing {
    /// Packages by name; a broken one is listed with its findings, whose files are paths in the tree.
    pub packages: BTreeMap<PackageName, Result<Listed, Vec<Diagnostic>>>,
    /// Directories with a manifest whose name can be no package name, by path.
    pub refused: BTreeMap<String, Diagnostic>,
}

/// A package that can be added.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    /// Directory in the tree.
    pub directory: RepoPath,
    /// Its manifest.
    pub manifest: PackageManifest,
}

/// Lists the packages of an upstream tree; `path` is the directory of packages from the settings, or empty.
pub fn list(tree: &FileTree, path: &str) -> Listing {
    let mut listing = Listing::default();
    for (name, directories) in candidates(tree, path) {
        let Ok(package) = PackageName::parse(&name) else {
            for directory in directories {
                let finding = unfit_name(&directory, &name);
                listing.refused.insert(directory, finding);
            }
            continue;
        };
        let listed = match directories.as_slice() {
            [directory] => read(tree, &package, directory),
            _ => Err(vec![doubled(&package, &directories)]),
        };
        listing.packages.insert(package, listed);
    }
    listing
}

/// Loads one package of an upstream tree with all its files.
pub fn find(tree: &FileTree, path: &str, name: &PackageName) -> Option<Result<Package, Vec<Diagnostic>>> {
    let candidates = candidates(tree, path);
    match candidates.get(name.as_str())?.as_slice() {
        [directory] => Some(load_at(tree, name, directory)),
        directories => Some(Err(vec![doubled(name, directories)])),
    }
}

/// Returns what is wrong with a directory that holds a manifest and whose name can be none of a package.
pub fn unfit_name(directory: &str, name: &str) -> Diagnostic {
    let message = format!("the directory {name:?} cannot name a package");
    let hint = "use lower-case letters, digits and hyphens, at most 53";
    Diagnostic::error("P003", directory, 0, message).with_hint(hint)
}

/// Returns what is wrong with a package that lies in several directories.
pub fn doubled(name: &PackageName, directories: &[String]) -> Diagnostic {
    let message = format!("the package {name} is there twice: {}", directories.join(" and "));
    let file = directories.first().map_or("", String::as_str);
    Diagnostic::error("P004", file, 0, message).with_hint("remove one of them")
}

/// Returns the directories in which packages are searched; the empty one is the root.
pub fn containers(path: &str) -> Vec<String> {
    match path.trim_matches('/') {
        "" => ["", APPS].into_iter().chain(SERVICES).map(str::to_owned).collect(),
        path => vec![path.to_owned()],
    }
}

/// Returns whether every directory in a container is a package: at the root and among services anything may lie.
pub fn is_for_packages(container: &str) -> bool {
    !container.is_empty() && !SERVICES.contains(&container)
}

/// Returns the directories that a package may lie in, in the order in which they are searched.
pub fn directories(path: &str, name: &PackageName) -> Vec<String> {
    match path.trim_matches('/') {
        "" => {
            let services = SERVICES.iter().map(|services| format!("{services}/{name}"));
            [name.to_string(), format!("{APPS}/{name}")].into_iter().chain(services).collect()
        }
        path => vec![format!("{path}/{name}")],
    }
}

fn read(tree: &FileTree, name: &PackageName, directory: &str) -> Result<Listed, Vec<Diagnostic>> {
    let package = load_at(tree, name, directory)?;
    let directory =
        RepoPath::parse(directory).map_err(|error| vec![Diagnostic::error("P010", directory, 0, error.to_string())])?;
    Ok(Listed { directory, manifest: package.manifest })
}

/// Loads the package in a directory of an upstream; findings name files as the upstream has them.
pub fn load_at(tree: &FileTree, name: &PackageName, directory: &str) -> Result<Package, Vec<Diagnostic>> {
    let place = |finding: Diagnostic| {
        let file = if finding.file.is_empty() { directory.to_owned() } else { format!("{directory}/{}", finding.file) };
        Diagnostic { file, ..finding }
    };
    load(name, &tree.below(directory)).map_err(|findings| findings.into_iter().map(place).collect())
}

/// Returns the directories that hold a package, by name. Files of a tree are only looked at by their paths.
pub fn candidates(tree: &FileTree, path: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let searched: Vec<&str> = match path.trim_matches('/') {
        "" => vec!["", APPS],
        path => vec![path],
    };
    for container in searched {
        for name in children_with_yaml(tree, container) {
            // The directory of packages is no package itself unless it has a manifest of its own.
            if container.is_empty() && name == APPS && !tree.contains(&format!("{APPS}/{MANIFEST}")) {
                continue;
            }
            let directory = if container.is_empty() { name.clone() } else { format!("{container}/{name}") };
            found.entry(name).or_default().push(directory);
        }
    }
    for container in SERVICES.iter().filter(|_| path.trim_matches('/').is_empty()) {
        for name in children_with_yaml(tree, container) {
            let directory = format!("{container}/{name}");
            // Other YAML there is no broken package: a tree may use these names for anything.
            if tree.contains(&format!("{directory}/{SERVICE_MANIFEST}")) {
                found.entry(name).or_default().push(directory);
            }
        }
    }
    found
}

/// Returns the sub-directories that hold a YAML file directly, without hidden ones.
fn children_with_yaml(tree: &FileTree, container: &str) -> Vec<String> {
    let mut names = Vec::new();
    for path in tree.paths().filter(|path| path.is_yaml()) {
        let relative = if container.is_empty() { Some(path.clone()) } else { path.below(container) };
        let Some(relative) = relative else { continue };
        let Some((name, rest)) = relative.as_str().split_once('/') else { continue };
        if !rest.contains('/') && !name.starts_with(['.', '_']) && names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{find, list};
    use crate::base::RepoPath;
    use crate::model::{File, FileTree, PackageName};

    fn tree(files: &[(&str, &str)]) -> FileTree {
        files.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect()
    }

    fn check(files: &[(&str, &str)], path: &str, expected: &[&str]) {
        let listing = list(&tree(files), path);
        let mut lines: Vec<String> = listing
            .packages
            .iter()
            .map(|(name, listed)| match listed {
                Ok(listed) => format!("{name} {} in {}", listed.manifest.version, listed.directory),
                Err(findings) => format!("{name} broken {}", findings[0]),
            })
            .collect();
        lines.extend(listing.refused.values().map(ToString::to_string));
        assert_eq!(lines, expected);
    }

    #[test]
    fn both_layouts_are_read_from_one_tree() {
        check(
            &[("blog/manifest.yaml", "version: '1'"), ("apps/shop/manifest.yaml", "version: 1.10"), ("README.md", "")],
            "",
            &["blog 1 in blog", "shop 1.10 in apps/shop"],
        );
    }

    #[test]
    fn services_are_packages_too() {
        check(
            &[
                ("services/balancer/wild-manifest.yaml", "version: '3'"),
                ("setup/cluster-services/names/wild-manifest.yaml", "version: '4'"),
                ("services/other/values.yaml", "a: 1"),
            ],
            "",
            &["balancer 3 in services/balancer", "names 4 in setup/cluster-services/names"],
        );
    }

    #[test]
    fn a_path_replaces_the_search() {
        check(
            &[("blog/manifest.yaml", "version: '1'"), ("directory/apps/shop/manifest.yaml", "version: '2'")],
            "directory/apps/",
            &["shop 2 in directory/apps/shop"],
        );
    }

    #[test]
    fn a_broken_package_is_listed_with_its_first_error() {
        check(
            &[
                ("blog/manifest.yaml", "version: '1'\nversion: '2'\n"),
                ("docs/index.md", ""),
                (".ci/run.yaml", ""),
                ("_drafts/manifest.yaml", ""),
                ("shop/deployment.yaml", ""),
                ("deep/er/values.yaml", ""),
            ],
            "",
            &[
                "blog broken blog/manifest.yaml:2:1: L001: the key \"version\" is set twice, first on line 1",
                "shop broken shop/manifest.yaml: P001: the package shop has no manifest.yaml",
            ],
        );
    }

    #[test]
    fn one_name_in_both_layouts_is_refused_with_both_places() {
        check(
            &[("blog/manifest.yaml", "version: '1'"), ("apps/blog/manifest.yaml", "version: '1'")],
            "",
            &["blog broken blog: P004: the package blog is there twice: blog and apps/blog"],
        );
    }

    #[test]
    fn a_directory_that_cannot_name_a_package_is_shown() {
        check(
            &[("My Blog/manifest.yaml", "version: '1'")],
            "",
            &["My Blog: P003: the directory \"My Blog\" cannot name a package"],
        );
    }

    #[test]
    fn a_package_is_found_with_its_files() {
        let tree = tree(&[("apps/blog/manifest.yaml", "version: '1'"), ("apps/blog/a/b.yaml", "x: 1")]);
        let package = find(&tree, "", &PackageName::parse("blog").unwrap()).unwrap().unwrap();
        assert!(package.files.contains("a/b.yaml"));
        assert!(find(&tree, "", &PackageName::parse("shop").unwrap()).is_none());
    }
}
