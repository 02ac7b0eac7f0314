//! Pure. Whether all that two trees differ in is out of the sight of every check, so that none of it need be read.
//!
//! Most updates bring an image, a count or a literal value, and an app is many files. Only what is surely unseen is named here; any
//! other difference counts as seen. Not here: the checks themselves.

use std::collections::HashMap;

use super::super::links::KUSTOMIZATIONS;
use super::super::outline::{EntryId, Outline};
use super::super::rules::Subject;
use super::super::tree::is_beside;
use super::parts_of_image;
use crate::base::RepoPath;
use crate::model::{File, FileTree};
use crate::schema;
use crate::yaml::cst::split;

/// What somebody who looks at objects does not see.
pub(in crate::merge) struct Blind {
    /// Fields whose value is not seen; whether they are there may count.
    pub(in crate::merge) values: &'static [&'static str],
    /// Fields that are not seen, whatever is below them.
    pub(in crate::merge) fields: &'static [&'static str],
    /// Whether one image in place of another is not seen.
    pub(in crate::merge) images: fn(before: &str, after: &str) -> bool,
    /// Whether everything counts that cannot be changed in place.
    pub(in crate::merge) sees_fixed: bool,
}

/// What no check sees.
const CHECKS: Blind = Blind {
    values: &["value", "replicas", "imagePullPolicy", "schedule", "type", "storage"],
    fields: &[
        "annotations",
        "resources",
        "args",
        "command",
        "securityContext",
        "affinity",
        "tolerations",
        "strategy",
        "terminationGracePeriodSeconds",
    ],
    images: |before, after| parts_of_image(before).0 == parts_of_image(after).0,
    sees_fixed: false,
};

/// Fields of an object whose keys count and whose values do not.
const KEYED: [&str; 3] = ["data", "stringData", "binaryData"];
/// Fields whose entries are names of somebody's choice, so that none of them is a field known here.
const CHOSEN: [&str; 3] = ["labels", "matchLabels", "selector"];

/// Returns whether no check can tell two trees apart.
pub(in crate::merge) fn is_unseen(before: &FileTree, after: &FileTree) -> bool {
    let own = |tree: &'_ FileTree| tree.paths().filter(|path| !is_beside(path)).count();
    let is_alike = |(path, file): (&RepoPath, &File)| {
        before.get(path.as_str()).is_some_and(|old| old.bytes == file.bytes || !is_seen_in(path, (old, file), &CHECKS))
    };
    own(before) == own(after) && after.iter().filter(|(path, _)| !is_beside(path)).all(is_alike)
}

/// Returns whether somebody who is blind for something may tell two states of a file apart.
pub(in crate::merge) fn is_seen_in(path: &RepoPath, (before, after): (&File, &File), blind: &Blind) -> bool {
    if !path.is_yaml() {
        return false;
    }
    let (Some(before), Some(after)) = (before.as_text(), after.as_text()) else { return true };
    if KUSTOMIZATIONS.contains(&path.name()) {
        return true;
    }
    let (old, new) = (split(before), split(after));
    old.len() != new.len() || old.into_iter().zip(new).any(|(old, new)| old != new && !is_unseen_in((old, new), blind))
}

/// Returns whether two states of an object differ in nothing that is seen.
fn is_unseen_in((before, after): (&str, &str), blind: &Blind) -> bool {
    let (Some(before), Some(after)) = (Outline::of(before), Outline::of(after)) else { return false };
    let (Some(old), Some(new)) = (Subject::of(&before), Subject::of(&after)) else { return false };
    if old != new || old.object.is_empty() {
        return false;
    }
    let all = (before.top().collect::<Vec<_>>(), after.top().collect::<Vec<_>>());
    let fixed = if blind.sees_fixed { schema::immutable_paths(&old.group, &old.kind) } else { &[] };
    Look { before: &before, after: &after, blind, fixed }.entries((&all.0, &all.1), &mut Vec::new())
}

struct Look<'a> {
    before: &'a Outline<'a>,
    after: &'a Outline<'a>,
    blind: &'a Blind,
    /// Fields that are seen with everything below them.
    fixed: &'static [schema::ImmutablePath],
}

impl<'a> Look<'a> {
    /// Returns whether the entries of two maps or lists differ in nothing that is seen. Depth is bounded by the outline.
    fn entries(&self, (old, new): (&[EntryId], &[EntryId]), path: &mut Vec<&'a str>) -> bool {
        let is_list = |outline: &Outline<'_>, ids: &[EntryId]| ids.first().is_some_and(|id| outline.is_item(*id));
        match (is_list(self.before, old), is_list(self.after, new)) {
            (true, true) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.entry(*old, *new, path))
            }
            (false, false) => self.map(old, new, path),
            _ => false,
        }
    }

    fn map(&self, old: &[EntryId], new: &[EntryId], path: &mut Vec<&'a str>) -> bool {
        let index = |outline: &'a Outline<'a>, ids: &[EntryId]| -> HashMap<&'a str, EntryId> {
            ids.iter().map(|id| (outline.key(*id), *id)).collect()
        };
        let (before, after) = (index(self.before, old), index(self.after, new));
        let is_fixed = self.fixed.iter().any(|fixed| path.starts_with(fixed));
        let is_free = !is_fixed && !path.last().is_some_and(|above| is_chosen(above));
        let ends_fixed = |key: &str| self.fixed.iter().any(|fixed| fixed.last() == Some(&key));
        let is_known = |key: &str| is_free && self.blind.fields.contains(&key) && !ends_fixed(key);
        let is_known_where_gone = |key: &&str| after.contains_key(key) || is_known(key);
        let is_plain = before.len() == old.len() && after.len() == new.len();
        if !is_plain || !before.keys().all(is_known_where_gone) {
            return false;
        }
        after.iter().all(|(key, new)| {
            if is_known(key) {
                return true;
            }
            let Some(old) = before.get(key) else { return false };
            path.push(key);
            let is_unseen = self.entry(*old, *new, path);
            path.pop();
            is_unseen
        })
    }

    /// Returns whether two states of an entry differ in nothing that is seen.
    fn entry(&self, old: EntryId, new: EntryId, path: &mut Vec<&'a str>) -> bool {
        let lines = |outline: &Outline<'a>, id: EntryId| {
            outline.entry(id).map_or("", |entry| outline.slice(&(entry.start..entry.end)))
        };
        if lines(self.before, old) == lines(self.after, new) {
            return true;
        }
        if self.fixed.iter().any(|fixed| path.starts_with(fixed)) {
            return false;
        }
        let below = (self.before.children(old).collect::<Vec<_>>(), self.after.children(new).collect::<Vec<_>>());
        match (below.0.is_empty(), below.1.is_empty()) {
            (false, false) => self.entries((&below.0, &below.1), path),
            (true, true) => self.is_unseen_value(old, new, path),
            _ => false,
        }
    }

    fn is_unseen_value(&self, old: EntryId, new: EntryId, path: &[&str]) -> bool {
        let is_item = self.before.is_item(old) || self.after.is_item(new);
        let Blind { values, images, .. } = self.blind;
        let (before, after) = (self.before.scalar(old), self.after.scalar(new));
        match path {
            _ if is_item => false,
            [field, _] if KEYED.contains(field) => true,
            [.., above, _] if is_chosen(above) => false,
            [.., "image"] => matches!((before, after), (Some(before), Some(after)) if images(before, after)),
            [.., field] => values.contains(field) && before.is_some() && after.is_some(),
            [] => false,
        }
    }
}

fn is_chosen(field: &str) -> bool {
    KEYED.contains(&field) || CHOSEN.contains(&field)
}

#[cfg(test)]
mod tests {
    use super::is_unseen;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    const POD: &str = "kind: Pod\napiVersion: v1\nmetadata:\n  name: p\n  labels:\n    args: a\nspec:\n  containers:\n  - name: c\n    \
                       image: quarry.example/c:1\n    args:\n    - --one\n    env:\n    - name: A\n      value: b\n";

    fn tree(text: &str) -> FileTree {
        let path = |name: &str| RepoPath::parse(&format!("apps/a/{name}")).unwrap();
        [(path("all.yaml"), File::text(text)), (path("more.yaml"), File::text("a: 1\n"))].into_iter().collect()
    }

    fn check(from: &str, to: &str, expected: bool) {
        assert!(POD.contains(from), "{from}");
        assert_eq!(is_unseen(&tree(POD), &tree(&POD.replacen(from, to, 1))), expected, "{from} to {to}");
    }

    #[test]
    fn images_of_one_repository_values_and_unread_fields_are_unseen() {
        check("c:1", "c:2", true);
        check("value: b", "value: c", true);
        check("    - --one\n", "    - --two\n    - --three\n", true);
        check("    args:\n    - --one\n", "", true);
        check("    args:\n", "    resources:\n      limits:\n        cpu: 1\n    args:\n", true);
    }

    #[test]
    fn everything_else_is_seen() {
        check("c:1", "d:1", false);
        check("name: c", "name: d", false);
        check("name: p", "name: q", false);
        check("args: a", "args: b", false);
        check("    args: a\n", "", false);
        check("    env:\n", "    envFrom:\n    - secretRef:\n        name: s\n    env:\n", false);
        check("    - name: A\n", "    - name: B\n      value: c\n    - name: A\n", false);
        check("value: b", "value: &x b", false);
    }

    #[test]
    fn a_file_that_comes_or_goes_is_seen() {
        let mut after = tree(POD);
        after.insert(RepoPath::parse("apps/a/new.yaml").unwrap(), File::text("b: 1\n"));
        assert!(!is_unseen(&tree(POD), &after));
        assert!(!is_unseen(&after, &tree(POD)));
    }
}
