//! Format. `.wild/conflicts/<app>.yaml`, version 1: what is still to be decided of an update that waits, on its branch
//! only.
//!
//! Pure. A person may write `take: mine`, `upstream`, `base` or `{value: …}` behind a conflict with any editor; the next
//! pass applies it. Decisions that were taken stay below `decided`, so that the finishing commit can name them and a newer merge can
//! repeat them. A file of a newer version is refused by name. Not here: applying decisions (`resolve`).

use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use crate::model::{AppName, CommitId, Diagnostic, Take};
use crate::yaml::{self, Dialect};

/// Version of the format that this build writes and reads.
const VERSION: u32 = 1;

/// The open conflicts of an app.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConflictsFile {
    /// Version of the format.
    pub version: u32,
    /// The app.
    pub app: AppName,
    /// The generation that both sides started from.
    pub base: GenerationMark,
    /// The generation that waits.
    pub upstream: GenerationMark,
    /// Whether the files of the branch hold what a person wrote there: such a branch is never made anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// What is open, in the order of the files.
    pub conflicts: Vec<OpenConflict>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Decided>,
}

/// A generation as people know it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GenerationMark {
    /// Package and version, such as `ghost 1.2.0`.
    pub package: String,
    /// Its commit, if it was made already when the file was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<CommitId>,
}

/// A conflict and the decision that a person may have written behind it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpenConflict {
    /// The conflict.
    #[serde(flatten)]
    pub conflict: Conflict,
    /// What to take.
    #[serde(default)]
    pub take: Option<Take>,
}

/// A decision that was taken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// Id of the conflict.
    pub id: String,
    /// What was taken.
    pub take: Take,
    /// Whether it was taken because of an earlier decision, which is looked up again whenever the update is merged anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
}

/// Returns where the open conflicts of an app stand.
pub fn conflicts_path(app: &AppName) -> String {
    format!(".wild/conflicts/{app}.yaml")
}

impl ConflictsFile {
    /// Returns a file of this version.
    pub fn new(app: &AppName, base: GenerationMark, upstream: GenerationMark) -> Self {
        let (app, conflicts, decided) = (app.clone(), Vec::new(), Vec::new());
        Self { version: VERSION, app, base, upstream, edited: false, conflicts, decided }
    }

    /// Reads the text of the file.
    pub fn read(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let refuse = |line, message: String| Err(vec![Diagnostic::error("M201", file, line, message)]);
        let Some(document) = yaml::load_one(file, text, Dialect::Gomplate)? else {
            return refuse(0, "the list of conflicts is empty; restore it or abort the update".to_owned());
        };
        let version = document.value.get("version").and_then(serde_json::Value::as_u64);
        if version != Some(u64::from(VERSION)) {
            let line = document.line_of(&["version"]).unwrap_or(document.line);
            return refuse(
                line,
                format!("the list of conflicts is not of version {VERSION}, which is all this build reads"),
            );
        }
        let line = document.line;
        serde_json::from_value(document.value)
            .or_else(|error| refuse(line, format!("the list of conflicts is damaged: {error}")))
    }

    /// Writes the text of the file.
    pub fn write(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        format!(
            "# Write take: mine, upstream or base behind a conflict and push, or: wild app resolve {}\n{}",
            self.app,
            yaml::write(&value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{ConflictsFile, Decided, GenerationMark, OpenConflict};
    use crate::base::RepoPath;
    use crate::merge::{Conflict, ConflictKind, Texts};
    use crate::model::{AppName, CommitId, Take};

    const GOLDEN: &str = include_str!("../../fixtures/merge/conflicts.yaml");

    const PATH: &str = ".wild/conflicts/ghost.yaml";

    fn sample() -> ConflictsFile {
        let text = |text: &str| Some(text.to_owned());
        let base = CommitId::parse(&"5d".repeat(20)).unwrap();
        let mark = |package: &str, generated| GenerationMark { package: package.to_owned(), generated };
        let app = AppName::parse("ghost").unwrap();
        let mut file = ConflictsFile::new(&app, mark("ghost 1.1.0", Some(base)), mark("ghost 1.2.0", None));
        let deployment = RepoPath::parse("apps/ghost/deployment.yaml").unwrap();
        let limits = Texts {
            base: text("            cpu: 500m\n"),
            mine: text("            cpu: 2000m\n            memory: 4Gi\n"),
            upstream: text("            cpu: 1000m\n"),
        };
        let hunk = Conflict::new(ConflictKind::Text, &deployment, limits, "both sides changed these lines");
        file.conflicts.push(OpenConflict { conflict: Conflict { line: 31, ..hunk }, take: None });
        let gone = Texts { base: text("kind: Service\n"), mine: None, upstream: text("kind: Service\nspec: {}\n") };
        let service = RepoPath::parse("apps/ghost/service.yaml").unwrap();
        let gone =
            Conflict::new(ConflictKind::DeleteEdit, &service, gone, "you deleted the file and upstream changed it");
        file.conflicts.push(OpenConflict { conflict: gone, take: Some(Take::Upstream) });
        file.decided.push(Decided { id: "3fa9c1e07b2d4c55".to_owned(), take: Take::Mine, earlier: false });
        file
    }

    #[test]
    fn the_format_is_as_recorded() {
        assert_eq!(sample().write(), GOLDEN);
    }

    #[test]
    fn what_is_written_reads_back() {
        assert_eq!(ConflictsFile::read(PATH, GOLDEN).unwrap(), sample());
    }

    #[test]
    fn a_newer_version_is_refused_with_its_line() {
        let findings = ConflictsFile::read(PATH, &GOLDEN.replace("version: 1", "version: 2")).unwrap_err();
        assert_eq!((findings[0].id.as_str(), findings[0].line), ("M201", 2));
    }

    #[test]
    fn a_side_that_is_none_is_refused() {
        assert!(ConflictsFile::read(PATH, &GOLDEN.replace("take: upstream", "take: both")).is_err());
    }
}
