//! Pure. Small values that every other module stands on: hashes, repository paths, times, schedules, text differences, order of graphs, limits.
//!
//! Not here: anything that knows what an app or a Kubernetes object is (`model`).

pub mod bounded;
pub mod duration;
pub mod error;
pub mod hash;
pub mod limits;
pub mod nearest;
pub mod order;
pub mod path;
pub mod schedule;
pub mod sha2;
pub mod shown;
pub mod text_diff;
pub mod timestamp;

pub use bounded::{Bounded, TooLarge};
pub use duration::parse_duration;
pub use error::chain;
pub use hash::{Digest, Encoder, sha256};
pub use path::{PathError, RepoPath};
pub use schedule::{Schedule, ScheduleError};
pub use shown::{escaped, is_deceptive, shell_word, there_are};
pub use timestamp::Timestamp;

/// Returns a folder of fixtures, of this crate or of that of the pure modules alone, which stands further down.
#[cfg(test)]
pub(crate) fn fixtures(name: &str) -> std::path::PathBuf {
    let mut folders =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|it| it.join("fixtures").join(name));
    folders.find(|it| it.is_dir()).unwrap()
}
