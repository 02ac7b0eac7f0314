//! Pure. Judges bytes that came from outside before anything follows them: trees, names, commits, tags, packs and listings.
//!
//! Public, so that inputs made by chance can be fed to it. Not here: reading the bytes (`objects.rs`, `packs.rs`), what
//! becomes of a refusal (`hook`, `network`).

pub mod commit;
pub mod misleading;
pub mod name;
pub mod pack;
pub mod refs;
pub mod signature;
pub mod tree;

mod inflate;

/// An object id as git holds it in trees and packs.
pub type Id = [u8; 20];

/// What bytes break: the rule, such as `tree/symlink`, and what it says.
pub type Rule = (&'static str, &'static str);

/// Size of a commit in bytes: a message of 64 KiB, a signature and very many parents fit.
pub const MAX_COMMIT_BYTES: u64 = 256 * 1024;
/// Parents of one commit; the widest merge that we know of has 66.
pub const MAX_PARENTS: usize = 100;
/// Size of an annotated tag in bytes.
pub const MAX_TAG_BYTES: u64 = 64 * 1024;
/// Tags that may lead to each other before one leads to a commit.
pub const MAX_TAG_DEPTH: usize = 8;
/// Size of one file in history, in bytes.
pub const MAX_BLOB_BYTES: u64 = 10 * 1024 * 1024;
/// Entries of one tree object.
pub const MAX_TREE_ENTRIES: usize = 10_000;
/// Length of one name in bytes, the limit of every file system.
pub const MAX_NAME_BYTES: usize = 255;
/// Size of a tree object in bytes: every entry has a mode, two marks and an id beside its name.
pub const MAX_TREE_BYTES: u64 = 10_000 * (255 + 32);

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// A file.
    Blob,
    /// An annotated tag.
    Tag,
}

/// Returns the rule that an object of this kind and size breaks, if it breaks one. The sizes are those before it is read.
pub fn judge_size(kind: ObjectKind, bytes: u64) -> Result<(), Rule> {
    let (most, rule) = match kind {
        ObjectKind::Commit => (MAX_COMMIT_BYTES, ("commit/size", "a commit is larger than 256 KiB")),
        ObjectKind::Tree => (MAX_TREE_BYTES, ("tree/entries", "it holds more than 10,000 entries")),
        ObjectKind::Blob => (MAX_BLOB_BYTES, ("pack/blob-size", "a file is larger than 10 MiB")),
        ObjectKind::Tag => (MAX_TAG_BYTES, ("tag/size", "a tag is larger than 64 KiB")),
    };
    if bytes > most { Err(rule) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_size_of_its_own_and_one_byte_more_is_refused() {
        for (kind, most, rule) in [
            (ObjectKind::Commit, MAX_COMMIT_BYTES, "commit/size"),
            (ObjectKind::Tree, MAX_TREE_BYTES, "tree/entries"),
            (ObjectKind::Blob, MAX_BLOB_BYTES, "pack/blob-size"),
            (ObjectKind::Tag, MAX_TAG_BYTES, "tag/size"),
        ] {
            assert_eq!(judge_size(kind, most), Ok(()));
            assert_eq!(judge_size(kind, most + 1).unwrap_err().0, rule);
        }
    }
}
