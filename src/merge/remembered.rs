//! Format. `refs/wild/resolutions`, version 1: what people decided about conflicts, one file per decision at
//! `<app>/<first two digits of its key>/<key>`.
//!
//! Pure. The key of a decision is the id of its conflict, a hash over kind, place and the content of all three sides: if
//! any of them moves, it is another conflict and is asked again. A decision that holds for its place whatever the sides
//! say has a key over kind and place alone. No value of a Secret is ever in it. A file that does not read, or is of a newer
//! version, is named, and then nothing of the app is applied. Not here: applying decisions (`resolve`), finding out what
//! a person chose in a merge by hand (`learn`), the ref (`pipeline`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::conflict::{Conflict, ConflictKind};
use crate::base::{Encoder, RepoPath, Timestamp};
use crate::model::{AppName, CommitId, Diagnostic, FileTree, Take};
use crate::yaml::{self, Dialect};

/// The ref that holds the decisions.
pub const RESOLUTIONS_REF: &str = "refs/wild/resolutions";

/// Version of the format that this build writes and reads.
const VERSION: u32 = 1;
/// Characters of a key, as of a conflict's id.
const KEY_CHARS: usize = 16;

/// A decision that is kept for when its conflict appears again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Resolution {
    /// Version of the format.
    pub version: u32,
    /// What kind of collision it decides.
    pub kind: ConflictKind,
    /// The file, where it stood then.
    pub file: String,
    /// The object; empty for files that hold none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Dotted path of the field, or of the key of config.yaml.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What wins.
    pub take: Take,
    /// Whether it holds for the place whatever the sides say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Who decided.
    #[serde(default)]
    pub who: String,
    /// When.
    #[serde(default)]
    pub when: Timestamp,
    /// The generation whose merge it was decided in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

impl Resolution {
    /// Returns a decision about a conflict; who, when and where from is for the caller to fill in.
    pub fn new(conflict: &Conflict, take: Take) -> Self {
        Self {
            version: VERSION,
            kind: conflict.kind,
            file: conflict.path.to_string(),
            object: conflict.object.clone(),
            path: conflict.key.clone(),
            take,
            always: false,
            who: String::new(),
            when: Timestamp::default(),
            commit: None,
        }
    }

    /// Writes the text of the file.
    pub fn write(&self) -> String {
        yaml::write(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Reads the text of a file.
    fn read(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let refuse = |line, message: String| {
            let key = file.rsplit('/').next().unwrap_or_default();
            let app = file.split('/').next().unwrap_or_default();
            let place = format!("{RESOLUTIONS_REF}:{file}");
            let hint = format!("wild app resolve {app} {key} --forget");
            Err(vec![Diagnostic::error("M202", &place, line, message).with_hint(hint)])
        };
        let Some(document) = yaml::load_one(file, text, Dialect::Gomplate)? else {
            return refuse(0, "the remembered decision is empty".to_owned());
        };
        let line = document.line;
        if document.value.get("version").and_then(serde_json::Value::as_u64) != Some(u64::from(VERSION)) {
            return refuse(line, format!("the decision is not of version {VERSION}, which is all this build reads"));
        }
        serde_json::from_value(document.value)
            .or_else(|error| refuse(line, format!("the remembered decision is damaged: {error}")))
    }
}

/// The decisions of one app.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Remembered {
    /// By key.
    all: BTreeMap<String, Resolution>,
    keys: BTreeSet<String>,
    /// What does not read; then no decision is there.
    pub findings: Vec<Diagnostic>,
}

impl Remembered {
    /// Reads the decisions of an app from the tree of the ref.
    pub fn read(files: &FileTree, app: &AppName) -> Self {
        let mut remembered = Self::default();
        for (path, file) in files.iter().filter(|(path, _)| path.is_within(app.as_str())) {
            let key = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            remembered.keys.insert(key.clone());
            match Resolution::read(path.as_str(), file.as_text().unwrap_or_default()) {
                Ok(resolution) => drop(remembered.all.insert(key, resolution)),
                Err(findings) => remembered.findings.extend(findings),
            }
        }
        if !remembered.findings.is_empty() {
            remembered.all.clear();
        }
        remembered
    }

    /// Returns the decision about a conflict, the one about exactly this one first.
    pub fn of(&self, conflict: &Conflict) -> Option<&Resolution> {
        let exact = self.all.get(&conflict.id).filter(|it| it.kind == conflict.kind && it.path == conflict.key);
        exact.or_else(|| always_key(conflict).and_then(|key| self.all.get(&key)))
    }

    /// Returns whether a decision is worth keeping: nothing else, or nothing, is kept under its key. Beside files that do
    /// not read none is.
    pub fn lacks(&self, key: &str, take: &Take) -> bool {
        self.findings.is_empty() && self.all.get(key).is_none_or(|known| known.take != *take)
    }

    /// Returns all decisions by key.
    pub fn all(&self) -> &BTreeMap<String, Resolution> {
        &self.all
    }

    /// Returns the keys of all files, also of those that do not read.
    pub fn keys(&self) -> &BTreeSet<String> {
        &self.keys
    }

    /// Takes a decision in, or away where there is none.
    pub fn put(&mut self, key: &str, resolution: Option<Resolution>) {
        match resolution {
            Some(resolution) => {
                self.keys.insert(key.to_owned());
                self.all.insert(key.to_owned(), resolution);
            }
            None => {
                self.keys.remove(key);
                self.all.remove(key);
            }
        }
    }
}

/// Returns where a decision lies in the tree of the ref.
pub fn resolution_path(app: &AppName, key: &str) -> Option<RepoPath> {
    RepoPath::parse(&format!("{app}/{}/{key}", key.get(..2)?)).ok()
}

/// Returns whether a conflict is the same whenever its id is: where a whole app does not go together, no id holds what has a part in it.
pub fn is_repeatable(conflict: &Conflict) -> bool {
    conflict.kind != ConflictKind::Semantic || !conflict.object.is_empty()
}

/// Returns the key of a decision that holds for the place of a conflict whatever its sides say; nothing where only the
/// sides can tell.
pub fn always_key(conflict: &Conflict) -> Option<String> {
    match conflict.kind {
        ConflictKind::Value | ConflictKind::Order | ConflictKind::Text | ConflictKind::BothAdded => {}
        ConflictKind::DuplicateIdentity
        | ConflictKind::DuplicateKey
        | ConflictKind::Anchor
        | ConflictKind::TemplateBlock
        | ConflictKind::DeleteEdit
        | ConflictKind::EditDelete
        | ConflictKind::RenameRename
        | ConflictKind::FileKind
        | ConflictKind::Config
        | ConflictKind::Semantic => return None,
    }
    // An object is itself in whichever file it stands.
    let file = if conflict.object.is_empty() { conflict.path.as_str() } else { "" };
    let mut encoder = Encoder::new();
    encoder.text("always").text(file).text(&conflict.object).text(&conflict.key).text(&format!("{:?}", conflict.kind));
    Some(encoder.digest().to_hex().chars().take(KEY_CHARS).collect())
}

/// Brings the decisions of two clones together: all of both, and of two about one conflict the newer. Returns what has to
/// be written over ours, and the paths at which both had one.
pub fn unite(ours: &FileTree, theirs: &FileTree) -> (FileTree, Vec<RepoPath>) {
    // Of two of one time, and of two that do not read, the greater text, so that both clones come to the same.
    let rank = |tree: &FileTree, path: &RepoPath| {
        let text = tree.text(path.as_str()).unwrap_or_default();
        let when = Resolution::read(path.as_str(), text).ok().map(|resolution| resolution.when);
        (when, tree.get(path.as_str()).map(|file| file.bytes.clone()))
    };
    let (mut written, mut doubled) = (FileTree::new(), Vec::new());
    for (path, file) in theirs.iter().filter(|(path, file)| ours.get(path.as_str()) != Some(file)) {
        if ours.contains(path.as_str()) {
            doubled.push(path.clone());
            if rank(ours, path) >= rank(theirs, path) {
                continue;
            }
        }
        written.insert(path.clone(), file.clone());
    }
    (written, doubled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Texts;
    use crate::model::File;

    const GOLDEN: &str = include_str!("../../fixtures/merge/resolution.yaml");

    fn app() -> AppName {
        AppName::parse("ghost").unwrap()
    }

    fn conflict(mine: &str) -> Conflict {
        let text = |text: &str| Some(text.to_owned());
        let path = RepoPath::parse("apps/ghost/deployment.yaml").unwrap();
        let texts = Texts { base: text("500m"), mine: text(mine), upstream: text("1000m") };
        let conflict = Conflict::new(ConflictKind::Value, &path, texts, "both sides changed the value");
        let key = "spec.template.spec.containers[name=ghost].resources.limits.cpu".to_owned();
        Conflict { object: "Deployment.apps/ghost".to_owned(), key, ..conflict }
    }

    fn sample() -> Resolution {
        Resolution {
            who: "alice".to_owned(),
            when: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
            commit: Some(CommitId::parse(&"9e41".repeat(10)).unwrap()),
            ..Resolution::new(&conflict("2000m"), Take::Mine)
        }
    }

    fn tree(files: &[(&str, &str)]) -> FileTree {
        let file = |(key, text): &(&str, &str)| (resolution_path(&app(), key).unwrap(), File::text(text));
        files.iter().map(file).collect()
    }

    #[test]
    fn the_format_is_as_recorded() {
        assert_eq!(sample().write(), GOLDEN);
        assert_eq!(Resolution::read("ghost/3f/3fa9", GOLDEN).unwrap(), sample());
    }

    #[test]
    fn a_value_of_ones_own_reads_back() {
        let own = Resolution { take: Take::Value("1500m".to_owned()), ..sample() };
        assert!(own.write().contains("take:\n  value: 1500m\n"), "{}", own.write());
        assert_eq!(Resolution::read("ghost/3f/3fa9", &own.write()).unwrap(), own);
    }

    #[test]
    fn a_decision_is_found_by_its_conflict_and_misses_when_a_side_moved() {
        let known = conflict("2000m");
        let remembered = Remembered::read(&tree(&[(&known.id, GOLDEN)]), &app());
        assert_eq!(remembered.of(&known).map(|found| &found.take), Some(&Take::Mine));
        assert_eq!(remembered.of(&conflict("4000m")), None);
        assert!(remembered.lacks(&known.id, &Take::Base) && !remembered.lacks(&known.id, &Take::Mine));
    }

    #[test]
    fn a_decision_about_a_place_is_found_whatever_the_sides_say() {
        let always = Resolution { always: true, take: Take::Upstream, ..sample() };
        let key = always_key(&conflict("2000m")).unwrap();
        let remembered = Remembered::read(&tree(&[(&key, &always.write())]), &app());
        assert_eq!(remembered.of(&conflict("4000m")).map(|found| &found.take), Some(&Take::Upstream));
        let elsewhere = Conflict { key: "spec.replicas".to_owned(), ..conflict("4000m") };
        assert_eq!(remembered.of(&elsewhere), None);
        assert_eq!(always_key(&Conflict { kind: ConflictKind::Anchor, ..elsewhere }), None);
    }

    #[test]
    fn a_file_that_does_not_read_is_named_and_nothing_is_applied() {
        let known = conflict("2000m");
        let newer = GOLDEN.replace("version: 1", "version: 2");
        let remembered = Remembered::read(&tree(&[(&known.id, GOLDEN), ("ab12", &newer)]), &app());
        assert_eq!(remembered.of(&known), None);
        assert!(!remembered.lacks(&known.id, &Take::Base) && remembered.keys().contains("ab12"));
        let found: Vec<String> = remembered.findings.iter().map(ToString::to_string).collect();
        let expected = "refs/wild/resolutions:ghost/ab/ab12:1: M202: the decision is not of version 1, which is all this build reads";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn of_two_clones_all_decisions_stay_and_the_newer_of_one_conflict() {
        let newer = GOLDEN.replace("08:00", "09:00").replace("take: mine", "take: base");
        let ours = tree(&[("aa11", GOLDEN), ("bb22", &newer)]);
        let theirs = tree(&[("aa11", &newer), ("bb22", GOLDEN), ("cc33", GOLDEN)]);
        let (written, doubled) = unite(&ours, &theirs);
        assert_eq!(written, tree(&[("aa11", &newer), ("cc33", GOLDEN)]));
        assert_eq!(doubled.len(), 2);
        assert_eq!(unite(&theirs, &ours).0, tree(&[("bb22", &newer)]));
        // Two that do not read come to one as well.
        let (ours, theirs) = (tree(&[("aa11", "a: [")]), tree(&[("aa11", "b: [")]));
        assert_eq!((unite(&ours, &theirs).0, unite(&theirs, &ours).0), (theirs, FileTree::new()));
    }
}
