//! Pure. Places where both sides changed and no rule decides, and the things a person should know without having to
//! decide.
//!
//! Not here: finding them (`tree`, `config`), deciding them (`resolve`), the file that keeps the open ones (`open`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tree::Three;
use crate::base::{Digest, Encoder, RepoPath};
use crate::model::veil::is_hidden;
use crate::model::{MASK, Veil};
use crate::yaml::veil::{veiled, veiled_pair};

/// Characters of a conflict's id.
const ID_CHARS: usize = 16;
/// What stands for the value of a Secret.
pub(super) const REDACTED: &str = "redacted, differs";
/// What stands for a value that nobody is shown, by what became of it since base.
const REDACTED_SINCE: [&str; 4] = ["redacted, as it was", "redacted, added", "redacted, changed", "redacted, removed"];

/// What kind of collision a conflict is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both changed one value.
    Value,
    /// Both put the items of a list in another order, or put items in one place where order counts.
    Order,
    /// One object stands twice on a side or in the result.
    DuplicateIdentity,
    /// One key stands twice in the result.
    DuplicateKey,
    /// An alias names an anchor that the result lacks.
    Anchor,
    /// A control block of a template was changed on both sides.
    TemplateBlock,
    /// Both changed the same lines.
    Text,
    /// Both added the file, with other content.
    BothAdded,
    /// Ours deleted the file and theirs changed it.
    DeleteEdit,
    /// Ours changed the file and theirs deleted it.
    EditDelete,
    /// Both renamed the file, to other names.
    RenameRename,
    /// Both changed a file that is no text.
    FileKind,
    /// A key of config.yaml was edited, and upstream renamed it or gave it another kind of value.
    Config,
    /// Each side is fine alone and together they do not build.
    Semantic,
}

impl ConflictKind {
    /// All kinds, in the order in which people are told of them.
    pub const ALL: [Self; 14] = [
        Self::Value,
        Self::BothAdded,
        Self::DeleteEdit,
        Self::EditDelete,
        Self::Order,
        Self::Text,
        Self::RenameRename,
        Self::DuplicateKey,
        Self::DuplicateIdentity,
        Self::Anchor,
        Self::TemplateBlock,
        Self::FileKind,
        Self::Config,
        Self::Semantic,
    ];

    /// Returns the word for the kind, as JSON, the terminal and the page have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Order => "order",
            Self::DuplicateIdentity => "duplicate_identity",
            Self::DuplicateKey => "duplicate_key",
            Self::Anchor => "anchor",
            Self::TemplateBlock => "template_block",
            Self::Text => "text",
            Self::BothAdded => "both_added",
            Self::DeleteEdit => "delete_edit",
            Self::EditDelete => "edit_delete",
            Self::RenameRename => "rename_rename",
            Self::FileKind => "file_kind",
            Self::Config => "config",
            Self::Semantic => "semantic",
        }
    }

    /// Returns what the kind means, in one sentence; what stands until somebody decides is always yours.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Value => "both sides changed one value",
            Self::Order => "both sides put the items of a list in another order, or new ones at one place",
            Self::DuplicateIdentity => "one object stands twice",
            Self::DuplicateKey => "one key stands twice",
            Self::Anchor => "an alias would name an anchor that is gone",
            Self::TemplateBlock => "both sides changed a block or a line of a template",
            Self::Text => "both sides changed the same lines",
            Self::BothAdded => "both sides added it, with other content",
            Self::DeleteEdit => "you deleted it and upstream changed it",
            Self::EditDelete => "you changed it and upstream deleted it",
            Self::RenameRename => "both sides gave it another name or place",
            Self::FileKind => "a file that is no text, or a file of one kind here and of another there",
            Self::Config => "upstream renamed a key of config.yaml that you set, or gave it another kind of value",
            Self::Semantic => "each side is fine alone, and together they do not work",
        }
    }
}

/// A collision, with ours in the merged tree until somebody decides.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Id that stays the same while the three sides do.
    pub id: String,
    /// What kind of collision it is.
    pub kind: ConflictKind,
    /// The file, where it stands in the merged tree.
    #[serde(rename = "file", with = "path_text")]
    pub path: RepoPath,
    /// Line of the merged file, from 1, where ours begins; 0 if the whole file is meant.
    #[serde(default)]
    pub line: usize,
    /// The object; empty for files that hold none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Dotted path of the field, or of the key of config.yaml; empty if lines, the file or the object are meant.
    #[serde(default, rename = "path", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// What both started from; nothing if it was not there or is no text.
    #[serde(default)]
    pub base: Option<String>,
    /// Ours.
    #[serde(default)]
    pub mine: Option<String>,
    /// Theirs.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Why no rule decides, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Other objects, fields and files that have a part in it; they move together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<String>,
    /// An edit that would settle it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
}

/// An edit that would settle a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suggestion {
    /// Dotted path of the field, or of the key of config.yaml.
    pub path: String,
    /// The value to set.
    pub value: String,
}

/// The three texts of a collision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    /// What both started from.
    pub base: Option<String>,
    /// Ours.
    pub mine: Option<String>,
    /// Theirs.
    pub upstream: Option<String>,
}

impl Conflict {
    /// Returns a conflict about a whole file or key.
    pub fn new(kind: ConflictKind, path: &RepoPath, texts: Texts, why: impl Into<String>) -> Self {
        let Texts { base, mine, upstream } = texts;
        let mut conflict = Self {
            id: String::new(),
            kind,
            path: path.clone(),
            line: 0,
            object: String::new(),
            key: String::new(),
            base,
            mine,
            upstream,
            why: why.into(),
            linked: Vec::new(),
            suggestion: None,
        };
        conflict.id = conflict.digest(0);
        conflict
    }

    /// Returns the conflict with an id by what its sides hold, where no text of it is shown.
    pub(super) fn of_contents(self, contents: Three<Option<Digest>>) -> Self {
        let text = |digest: Option<Digest>| digest.map(|digest| digest.to_hex());
        let Three { base, ours, theirs } = contents;
        let texts = Self { base: text(base), mine: text(ours), upstream: text(theirs), ..self.clone() };
        Self { id: texts.digest(0), ..self }
    }

    /// Returns the conflict as JSON, with the side that comes first.
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("preselected".to_owned(), serde_json::to_value(self.preselected()).unwrap_or_default());
        }
        value
    }

    /// Returns whether its sides are values of a Secret, which nobody is shown.
    pub fn is_redacted(&self) -> bool {
        let is_word = |side: &String| side == REDACTED || REDACTED_SINCE.contains(&side.as_str());
        [&self.base, &self.mine, &self.upstream].into_iter().flatten().any(is_word)
    }

    /// Returns the conflict as people are shown it: what looks like a secret is hidden, and that sides differ is not. The id stays.
    #[must_use]
    pub fn veiled(&self, veil: &Veil) -> Self {
        let hiding = veil.at(&self.key);
        let sides = [&self.base, &self.mine, &self.upstream];
        let hides = sides.into_iter().flatten().any(|side| is_hidden(hiding, side));
        if hides && !self.is_redacted() {
            return self.clone().redacted();
        }
        let base = self.base.as_deref().unwrap_or_default();
        let side = |side: &Option<String>| {
            let [_, shown] = veiled_pair(base, side.as_deref()?, veil);
            Some(shown)
        };
        let suggestion = self.suggestion.clone().map(|suggestion| {
            let hides = is_hidden(veil.at(&suggestion.path), &suggestion.value);
            let value = if hides { MASK.to_owned() } else { veiled(&suggestion.value, veil) };
            Suggestion { value, ..suggestion }
        });
        let base = self.base.as_deref().map(|base| veiled(base, veil));
        Self { base, mine: side(&self.mine), upstream: side(&self.upstream), suggestion, ..self.clone() }
    }

    /// Returns the conflict with words in place of what its sides hold: what became of it on each. The id stays.
    pub(super) fn redacted(self) -> Self {
        let is_there = |side: &Option<String>| side.as_ref().is_some_and(|text| !text.is_empty());
        let [kept, added, changed, removed] = REDACTED_SINCE;
        let word = |side: &Option<String>| match (is_there(&self.base), is_there(side)) {
            (true, true) if *side == self.base => Some(kept.to_owned()),
            (true, true) => Some(changed.to_owned()),
            (true, false) => Some(removed.to_owned()),
            (false, true) => Some(added.to_owned()),
            (false, false) => None,
        };
        let (mine, upstream) = (word(&self.mine), word(&self.upstream));
        let base = is_there(&self.base).then(|| kept.to_owned());
        Self { base, mine, upstream, suggestion: None, ..self }
    }

    /// Returns what became of a value that nobody is shown, in one word: `mine changed` and `upstream removed`.
    pub fn changes(&self) -> [&str; 2] {
        [&self.mine, &self.upstream]
            .map(|side| side.as_deref().and_then(|side| side.rsplit(' ').next()).unwrap_or("gone"))
    }

    /// Returns the id of the conflict as the `nth` of its like in one merge. The line is left out: edits elsewhere must
    /// not change the id.
    fn digest(&self, nth: u64) -> String {
        let mut encoder = Encoder::new();
        encoder.text(self.path.as_str()).text(&self.key).text(&format!("{:?}", self.kind));
        for side in [&self.base, &self.mine, &self.upstream] {
            match side {
                Some(text) => encoder.list(1).text(text),
                None => encoder.list(0),
            };
        }
        encoder.text(&nth.to_string());
        encoder.digest().to_hex().chars().take(ID_CHARS).collect()
    }
}

/// Puts conflicts in the order in which people read files and gives equal ones ids of their own.
pub(super) fn number(conflicts: &mut [Conflict]) {
    conflicts.sort_by(|a, b| (&a.path, a.line, &a.key).cmp(&(&b.path, b.line, &b.key)));
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for conflict in conflicts {
        let plain = conflict.digest(0);
        let nth = seen.entry(plain).or_default();
        conflict.id = conflict.digest(*nth);
        *nth += 1;
    }
}

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoticeKind {
    /// A file below `.package/` was edited; it is a view and was put back.
    PackageViewEdited,
    /// Both sides changed how a file is kept, and ours stays.
    AttributeKept,
    /// Upstream renamed a file that ours changed, and the changes went along.
    Renamed,
    /// A merge by lines would give other data; both are right, and the merge by structure stands.
    LineMergeDiffers,
    /// A file was merged by lines.
    ByLines,
    /// A file is too large or too much work for a merge by structure.
    Limit,
    /// A file is no YAML on a side and was merged by lines.
    Unparsable,
    /// Both sides changed a comment, and ours stays.
    CommentKept,
    /// Both sides put a list in another order, and ours stays.
    OrderKept,
    /// A list is not told apart by its key, because the key occurs twice.
    ListKeyDiffers,
    /// A key of a list is a number on one side and a text on another.
    KeyTypeDiffers,
    /// A map in which a key stands twice was merged by lines and still has it twice.
    DuplicateKept,
    /// An entry went although its comment had changed on the other side.
    DeletedDespiteComment,
    /// A new key of config.yaml.
    ConfigAdded,
    /// A key of config.yaml that nobody had edited has the new default.
    ConfigFollowed,
    /// An edited key of config.yaml keeps its value although the default moved.
    ConfigKept,
    /// A key of config.yaml that nobody had edited went with its default.
    ConfigRemoved,
    /// An edited key of config.yaml that no default has any more.
    ConfigUnused,
    /// A change that is fine and still worth a look, such as one of a field that cannot be changed in place.
    Caution,
    /// Something that does not hold in upstream's files whatever ours changed.
    PackageFinding,
}

/// Something a person should know and need not decide.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// The file or the key.
    pub subject: String,
    /// What became of it; empty where the kind says it all.
    pub detail: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, subject, detail } = self;
        match kind {
            NoticeKind::PackageViewEdited => {
                write!(f, "{subject} was edited; it only shows the package and was put back")
            }
            NoticeKind::AttributeKept => write!(f, "{subject} keeps its mode; both sides changed it"),
            NoticeKind::Renamed => write!(f, "{subject} is now {detail}; your changes went along"),
            NoticeKind::LineMergeDiffers => write!(f, "{subject}: a merge by lines would give other data; {detail}"),
            NoticeKind::ByLines | NoticeKind::Unparsable => {
                write!(f, "{subject} was merged by lines: {detail}")
            }
            NoticeKind::Limit => write!(f, "{subject} was not merged by structure: {detail}"),
            NoticeKind::CommentKept
            | NoticeKind::OrderKept
            | NoticeKind::ListKeyDiffers
            | NoticeKind::KeyTypeDiffers
            | NoticeKind::DuplicateKept
            | NoticeKind::DeletedDespiteComment => write!(f, "{subject}: {detail}"),
            NoticeKind::ConfigAdded => write!(f, "config key {subject} added: {detail}"),
            NoticeKind::ConfigFollowed => write!(f, "config key {subject} follows its default: {detail}"),
            NoticeKind::ConfigKept => write!(f, "config key {subject} keeps your value; its default moved: {detail}"),
            NoticeKind::ConfigRemoved => write!(f, "config key {subject} removed with its default"),
            NoticeKind::Caution => write!(f, "{subject} {detail}"),
            NoticeKind::PackageFinding => write!(f, "{subject} comes like this from upstream: {detail}"),
            NoticeKind::ConfigUnused => {
                write!(f, "config key {subject} keeps your value, but the package has no such key")
            }
        }
    }
}

/// Reads and writes a path as its text.
mod path_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::base::RepoPath;

    pub(super) fn serialize<S: Serializer>(path: &RepoPath, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(path.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RepoPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        RepoPath::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::ConflictKind;

    #[test]
    fn every_kind_is_told_by_one_list() {
        let readme = include_str!("../../README.md");
        for kind in ConflictKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
            let line = format!("- `{}`: {}.\n", kind.word(), kind.meaning());
            assert!(readme.contains(&line), "README.md lacks {line}");
        }
    }

    /// Each kind comes out of a recorded merge or of a test of its own, which is named here.
    #[test]
    fn every_kind_is_shown_once() {
        let recorded: String = std::fs::read_dir("fixtures/merge")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("conflicts.yaml")).ok())
            .collect();
        let own = [ConflictKind::DuplicateKey, ConflictKind::Config];
        for kind in ConflictKind::ALL.into_iter().filter(|kind| !own.contains(kind)) {
            assert!(recorded.contains(&format!("kind: {}\n", kind.word())), "no recorded merge shows {}", kind.word());
        }
        let tests = [include_str!("tests/kinds.rs"), include_str!("config/tests.rs")].concat();
        for kind in own {
            assert!(tests.contains(&format!("{kind:?}")), "no test shows {}", kind.word());
        }
    }
}
