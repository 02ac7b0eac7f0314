//! Pure. Brings together what a person changed and what upstream changed since both were the same.
//!
//! Three trees of one app go in: base (the last generation the branch holds), ours (the committed files), theirs (the
//! newly compiled files). One tree and a list of conflicts come out; at each conflict the tree keeps ours, so that it
//! always builds. Collisions are values and never errors, and no side is picked in silence. Files are
//! merged by their structure: objects, maps and lists are matched by identity, every byte of ours stays that no edit of
//! theirs touches, and a merge by lines as git makes it is the second opinion and the way for everything else.
//!
//! Not here: compiling theirs, building the result, committing it (`compile`, `git`).

mod align;
mod caution;
mod check;
mod collisions;
mod config;
mod conflict;
mod custom;
mod customised;
mod distance;
mod document;
mod file;
mod finding;
mod learn;
mod likeness;
mod line_diff;
mod links;
mod moves;
mod open;
mod outline;
mod part;
mod piece;
mod place;
mod preselect;
mod present;
mod reduce;
mod remembered;
mod rename;
mod resolve;
mod rules;
mod scalar;
mod sops;
mod sound;
mod structure;
mod template;
mod text;
mod tree;
mod variables;
mod withdraw;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use config::{ConfigEdit, ConfigMerged, KeyPath, kept_keys, merge_config, shown};
pub use conflict::{Conflict, ConflictKind, Notice, NoticeKind, Suggestion, Texts};
pub use custom::definitions_elsewhere;
pub use customised::{is_customised, merge_customised};
pub use distance::{Distance, distance};
pub use file::{FileMerge, How, merge_file};
pub use learn::learn;
pub use open::{ConflictsFile, Decided, GenerationMark, OpenConflict, conflicts_path};
pub use preselect::Preselected;
pub use present::{MARKER_CHARS, MarkerLabels, MarkerStyle};
pub use remembered::{RESOLUTIONS_REF, Remembered, Resolution, always_key, is_repeatable, resolution_path, unite};
pub use resolve::{Resolved, Unplaced, resolve};
pub use rules::{Limits, ListKey, Prefer, Rules};
pub use sops::{SopsKeys, is_encrypted};
pub use template::templates_in;
pub use text::{Favor, Hunk, TextMerge, has_markers, merge_text, merge_text_favoring, merge_text_marked};
pub use tree::{Merged, Three, is_package_view, merge};
