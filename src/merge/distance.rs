//! Pure. How far the files of an app are from those that a package compiles to: leaves that only one of both has.
//!
//! A leaf is an object, the path of a field and the value there, so that neither files nor styles count. Not here: which
//! candidates there are (`compile`).

use std::collections::BTreeMap;

use super::document;
use super::likeness::{Leaves, leaves};
use super::rules::Rules;
use super::tree::{is_beside, text_of};
use crate::base::{Encoder, sha256};
use crate::model::FileTree;

/// How far two trees are apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Distance {
    /// Leaves that only one of both has.
    pub differing: usize,
    /// Leaves of ours.
    pub ours: usize,
}

impl Distance {
    /// Returns whether more differs than half of what ours holds: then the one was not made from the other.
    pub fn is_far(self) -> bool {
        self.differing * 2 > self.ours
    }
}

/// Returns how far ours is from a candidate; views of packages do not count.
pub fn distance(ours: &FileTree, candidate: &FileTree) -> Distance {
    let (mine, other) = (all(ours), all(candidate));
    let count = |from: &Leaves, to: &Leaves| -> usize {
        from.iter().map(|(leaf, count)| count.saturating_sub(*to.get(leaf).unwrap_or(&0))).sum()
    };
    Distance { differing: count(&mine, &other) + count(&other, &mine), ours: mine.values().sum() }
}

/// Returns the leaves of all files, each below the name of its document or file.
fn all(files: &FileTree) -> Leaves {
    let mut found = BTreeMap::new();
    let mut add = |name: &str, leaf: &[u8], count: usize| {
        *found.entry(Encoder::new().text(name).raw(leaf).digest()).or_default() += count;
    };
    for (path, file) in files.iter().filter(|(path, _)| !is_beside(path)) {
        let text = text_of(file).unwrap_or_default();
        match document::read(text, &Rules::default()) {
            Ok(documents) if path.is_yaml() => {
                for document in &documents {
                    let object = &document.subject.object;
                    let name = if object.is_empty() { path.as_str() } else { object };
                    let Some(root) = document.cst.root() else { continue };
                    for (leaf, count) in leaves(&document.cst, root) {
                        add(name, &leaf.0, count);
                    }
                }
            }
            _ => file.bytes.split(|byte| *byte == b'\n').for_each(|line| add(path.as_str(), &sha256(line).0, 1)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Distance, distance};
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    fn tree(files: &[(&str, &str)]) -> FileTree {
        let path = |path: &str| RepoPath::parse(&format!("apps/ghost/{path}")).unwrap();
        files.iter().map(|(name, text)| (path(name), File::text(text))).collect()
    }

    fn check(ours: &[(&str, &str)], candidate: &[(&str, &str)], differing: usize, total: usize) {
        assert_eq!(distance(&tree(ours), &tree(candidate)), Distance { differing, ours: total });
    }

    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - port: 80\n";

    #[test]
    fn files_style_and_order_do_not_count() {
        let other = "kind: Service\napiVersion: \"v1\" # Mine.\nmetadata:\n  name: a\nspec: {ports: [{port: 80}]}\n";
        check(&[("a.yaml", SERVICE)], &[("b.yaml", other)], 0, 4);
    }

    #[test]
    fn a_value_that_differs_is_a_leaf_on_both_sides() {
        check(&[("a.yaml", SERVICE)], &[("a.yaml", &SERVICE.replace("80", "81"))], 2, 4);
        check(&[("a.yaml", SERVICE), ("notes", "1\n2")], &[("a.yaml", SERVICE)], 2, 6);
        check(&[("a.yaml", SERVICE)], &[("a.yaml", SERVICE), (".package/a.yaml", "a: 1\n")], 0, 4);
    }

    #[test]
    fn more_than_half_is_far() {
        assert!(!Distance { differing: 2, ours: 4 }.is_far());
        assert!(Distance { differing: 3, ours: 4 }.is_far());
    }
}
