//! Pure. What steers a merge: limits, preferred sides, decisions of people, and how each list is told apart.
//!
//! Not here: the table of lists (`schema`), where decisions are kept (`compile`).

use std::collections::{BTreeMap, BTreeSet};

use super::outline::{EntryId, Outline};
use super::sops::SopsKeys;
use crate::base::limits::{MAX_APP_FILES, MAX_FILE_BYTES, MAX_YAML_DOCUMENTS};
pub(super) use crate::model::Take;
use crate::schema::{self, ListRule, Shape};

/// Fields by which items of an unknown list may be told apart, the best first.
pub(super) const GUESSED_KEYS: [&str; 16] = [
    "name",
    "key",
    "id",
    "metadata.name",
    "host",
    "hostname",
    "path",
    "mountPath",
    "port",
    "containerPort",
    "alert",
    "record",
    "job_name",
    "ip",
    "url",
    "match",
];

/// The field of an object that says which one it is.
pub(super) const METADATA: &str = "metadata";

/// Where structural merging stops; beyond it files are merged by lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a file that is read as YAML.
    pub file_bytes: usize,
    /// Bytes of a file that is merged by lines.
    pub text_bytes: usize,
    /// Documents of a file that is merged by structure.
    pub documents: usize,
    /// Scalars, maps and lists of a file that is merged by structure.
    pub nodes: usize,
    /// Files of an app among which objects that moved are looked for.
    pub files: usize,
    /// Items times items of two lists that are aligned with each other.
    pub alignment_cells: usize,
    /// Comparisons of documents and files by likeness.
    pub comparisons: usize,
    /// Conflicts of one file; with more the file is one conflict.
    pub conflicts: usize,
    /// Work of one merge: entries visited, and blocks of 64 bytes read.
    pub fuel: u64,
    /// Whether what all sides have alike is left out of the merge of a file, which changes the work and not the result.
    pub leaves_out: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: MAX_FILE_BYTES,
            text_bytes: 8 * MAX_FILE_BYTES,
            documents: MAX_YAML_DOCUMENTS,
            nodes: 500_000,
            files: MAX_APP_FILES,
            alignment_cells: 4_000_000,
            comparisons: 4_096,
            conflicts: 200,
            fuel: 50_000_000,
            leaves_out: true,
        }
    }
}

/// Which side a conflict takes without asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefer {
    /// Neither: somebody decides.
    #[default]
    Neither,
    /// Ours.
    Ours,
    /// Theirs.
    Theirs,
}

/// A list that somebody told how to merge.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListKey {
    /// API group of the objects that are meant; all if none is said.
    pub group: Option<String>,
    /// Their kind; all if none is said.
    pub kind: Option<String>,
    /// Names of fields from the document down; `*` is any.
    pub path: Vec<String>,
    /// How the list is merged.
    pub rule: ListRule,
}

/// What is known before a merge begins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Lists that the package describes.
    pub lists: Vec<ListKey>,
    /// Lists that custom types describe; what Kubernetes or our table says of a list comes before.
    pub custom: Vec<ListKey>,
    /// Which side conflicts take.
    pub prefer: Prefer,
    /// Decisions by conflict.
    pub decided: BTreeMap<String, Take>,
    /// Objects and fields of them at which theirs' edits are put back; whole objects and files where the field is empty.
    pub withheld: BTreeSet<(String, String)>,
    /// Where to stop.
    pub limits: Limits,
    /// Delimiters of templates in the files; nothing for compiled files.
    pub templates: Option<(String, String)>,
    /// What files that SOPS encrypted are merged with; without it each that both sides changed is a conflict.
    pub sops: Option<SopsKeys>,
}

/// What a document is, as far as lists depend on it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Subject {
    /// API group.
    pub(super) group: String,
    /// Kind; empty for files that are no objects.
    pub(super) kind: String,
    /// How people name it; empty for files that are no objects.
    pub(super) object: String,
}

impl Subject {
    /// Names what says to be of a version and kind, in a namespace and with a name.
    pub(super) fn new(version: &str, kind: &str, (namespace, name): (&str, &str)) -> Self {
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        let object = match (kind.is_empty() || name.is_empty(), namespace.is_empty(), group.is_empty()) {
            (true, ..) => String::new(),
            (false, true, true) => format!("{kind}/{name}"),
            (false, true, false) => format!("{kind}.{group}/{name}"),
            (false, false, true) => format!("{kind} {namespace}/{name}"),
            (false, false, false) => format!("{kind}.{group} {namespace}/{name}"),
        };
        Self { group: group.to_owned(), kind: kind.to_owned(), object }
    }

    /// Says what a document is by its outline; nothing where that is not written plainly.
    pub(super) fn of(outline: &Outline<'_>) -> Option<Self> {
        let top: Vec<EntryId> = outline.top().collect();
        let text = |among: &[EntryId], key: &str| match outline.find(among, key) {
            Some(id) => outline.scalar(id),
            None => Some(""),
        };
        let metadata: Vec<EntryId> = match outline.find(&top, METADATA) {
            Some(id) => Some(outline.children(id).collect()).filter(|children: &Vec<_>| !children.is_empty())?,
            None => Vec::new(),
        };
        let named = if outline.find(&metadata, "name").is_some() { "name" } else { "generateName" };
        let place = (text(&metadata, "namespace")?, text(&metadata, named)?);
        Some(Self::new(text(&top, "apiVersion")?, text(&top, "kind")?, place))
    }
}

impl Rules {
    /// Returns whether edits of theirs in an object are put back.
    pub(super) fn withholds_in(&self, object: &str) -> bool {
        self.withheld.iter().any(|(known, _)| known == object)
    }

    /// Returns whether edits of theirs at a field of an object are put back, or in all of an object or file.
    pub(super) fn withholds(&self, object: &str, field: &str) -> bool {
        !self.withheld.is_empty() && self.withheld.contains(&(object.to_owned(), field.to_owned()))
    }

    /// Returns whether a key below fields is one that a type knows, so that with another key it is another field.
    pub(super) fn is_field(&self, subject: &Subject, path: &[&str], key: &str) -> bool {
        let shape = |path: &[&str]| schema::shape_at(&subject.group, &subject.kind, path);
        let whole: Vec<&str> = path.iter().copied().chain([key]).collect();
        // In a map every key is somebody's own.
        shape(&whole).is_some() && !matches!(shape(path), Some(Shape::Map(..)))
    }

    /// Returns how a list is merged; nothing where only its items can tell.
    pub(super) fn list(&self, subject: &Subject, path: &[&str], comment: Option<&str>) -> Option<ListRule> {
        if let Some(rule) = comment.and_then(ListRule::parse) {
            return Some(rule);
        }
        let told = |lists: &[ListKey]| lists.iter().find(|list| list.fits(subject, path)).map(|list| list.rule.clone());
        told(&self.lists)
            .or_else(|| schema::merge_rule(&subject.group, &subject.kind, path))
            .or_else(|| told(&self.custom))
    }
}

/// Returns what a comment says about the list below it: `# wild: key=name` gives `name`, `# wild: set` gives `set`.
pub(super) fn list_comment(text: &str) -> Option<&str> {
    let word = text.split("# wild:").nth(1)?.lines().next()?.trim();
    let word = word.strip_prefix("key=").unwrap_or(word);
    matches!(word.split(['=', ' ']).next(), Some(first) if first != "keep" && !first.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests;
