//! Pure. What breaks between the versions of the sample packages.
//!
//! Not here: each id by itself (`package::breaking`).

use std::path::Path;

use super::breaking_between;
use crate::base::RepoPath;
use crate::model::{File, FileTree, PackageName};
use crate::package::compare_versions;

/// One line per id: package, the two versions, id, subject. A version that gives nothing stands with the id that says why.
const EXPECTED: &str = include_str!("../../../fixtures/directory/breaking.txt");

#[test]
fn the_history_of_the_sample_packages_breaks_what_is_listed_and_nothing_else() {
    let root = crate::base::fixtures("directory");
    let mut found = String::new();
    for package in directories(&root) {
        let mut versions = directories(&root.join(&package));
        versions.retain(|name| !name.contains(".expected"));
        versions.sort_by(|a, b| compare_versions(a, b).unwrap());
        let name = PackageName::parse(&package).unwrap();
        for pair in versions.windows(2) {
            let [old, new] = [&pair[0], &pair[1]].map(|version| files(&root.join(&package).join(version)));
            let findings = breaking_between(&name, &old, &new, None);
            for finding in findings.unwrap_or_else(|findings| findings) {
                let line = format!("{package} {} {} {} {}", pair[0], pair[1], finding.id, finding.subject);
                found.push_str(line.trim_end());
                found.push('\n');
            }
        }
    }
    let listed: String =
        EXPECTED.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(found, listed, "\n{found}");
}

/// Every id of a breaking change; the sample packages' history holds each at least once.
const IDS: [&str; 16] =
    ["B01", "B02", "B03", "B04", "B05", "B06", "B07", "B08", "B09", "B10", "B11", "B12", "B13", "B14", "B15", "B16"];

#[test]
fn the_sample_packages_hold_every_kind_of_breaking_change() {
    let lines = || EXPECTED.lines().filter(|line| !line.starts_with('#'));
    let missing: Vec<&str> =
        IDS.into_iter().filter(|id| !lines().any(|line| line.split(' ').nth(3) == Some(id))).collect();
    assert!(missing.is_empty(), "no version breaks {missing:?}");
    let root = crate::base::fixtures("directory");
    let packages = directories(&root);
    let versions = packages
        .iter()
        .map(|package| directories(&root.join(package)).iter().filter(|name| !name.contains(".expected")).count());
    let versions: usize = versions.sum();
    assert!(packages.len() >= 16 && versions >= 45, "{} packages, {versions} versions", packages.len());
    assert!(versions - packages.len() >= 28, "too few updates");
}

fn directories(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn files(root: &Path) -> FileTree {
    let mut found = FileTree::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let path = entry.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(RepoPath::parse(path).unwrap(), File::text(&std::fs::read_to_string(&entry).unwrap()));
            }
        }
    }
    found
}
