//! Pure. Brings together what a person changed and what upstream changed since both were the same.
//!
//! Three trees of one app go in: base (the last generation the branch holds), ours (the committed files), theirs (the
//! newly compiled files). One tree and a list of conflicts come out; at each conflict the tree keeps ours, so that it
//! always builds. Collisions are values and never errors, and no side is picked in silence. The way files are merged is
//! by lines for now and stands behind `merge_text`; a merge by structure can take its place without a change for
//! callers.
//!
//! Not here: compiling theirs, building the result, committing it (`compile`, `git`).

mod config;
mod conflict;
mod line_diff;
mod links;
mod open;
mod rename;
mod resolve;
mod text;
mod tree;

pub use config::{ConfigEdit, ConfigMerged, merge_config, shown};
pub use conflict::{Conflict, ConflictKind, Notice, NoticeKind, Texts};
pub use open::{ConflictsFile, Decided, GenerationMark, OpenConflict, conflicts_path, read_conflicts};
pub use resolve::{Resolved, Unplaced, resolve};
pub use text::{Hunk, Labels, TextMerge, has_markers, merge_text, with_markers};
pub use tree::{Merged, Three, is_package_view, merge_trees};
