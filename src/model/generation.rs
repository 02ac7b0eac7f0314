//! Format. `.wild/generated/<app>.yaml`, version 1: the record of a generation, on every branch and in every generated tree.
//!
//! Pure. The record says what made the compiled bytes: package, version, upstream, bindings, config digest, renderer and the
//! defaults as resolved then. No secret value ever. Unknown keys of a newer version survive in git, because the file is replaced only
//! together with the generation it describes. Not here: writing it (`compile::record`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AppName, CommitId, FileTree, PackageName};

/// The record of one generation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationRecord {
    /// Version that an update asked for by name; absent if policy decides.
    ///
    /// What steers the app on its branch stands above lines that no generation changes: so plain git merges it with those that a generation
    /// does change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// Digest of the package that the app went back from: the merge bot leaves it alone until it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// False from `app add` until the first deploy; absent means true.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub deployed: bool,
    /// Version of this format.
    pub format: u32,
    /// Package it was compiled from.
    pub package: PackageName,
    /// Version of the package, as written in its manifest.
    pub version: String,
    /// Name of the upstream.
    pub directory: String,
    /// Address of the upstream, without credentials.
    pub upstream: String,
    /// Commit of the upstream.
    pub upstream_commit: CommitId,
    /// Which app satisfies which reference.
    #[serde(default)]
    pub bindings: BTreeMap<String, AppName>,
    /// Digest of the config that the templates saw.
    pub config: String,
    /// Digest of the customised templates that were compiled; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<String>,
    /// Version of the renderer.
    pub renderer: String,
    /// The package's default config, resolved.
    #[serde(default)]
    pub defaults: Map<String, Value>,
}

/// A generation as read from git.
#[derive(Clone, PartialEq, Debug)]
pub struct Generation {
    /// Its commit.
    pub commit: CommitId,
    /// Its files by repository path: `apps/<app>/**` and the record.
    pub files: FileTree,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
fn is_yes(flag: &bool) -> bool {
    *flag
}
