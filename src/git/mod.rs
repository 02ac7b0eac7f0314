//! The only user of libgit2 (everything local) and of the git program (everything on the network).
//!
//! Every call runs on one bounded blocking lane with a deadline. A change of the repository is objects first, synced to
//! disk, then a compare-and-swap of a ref; what is read back is checked, because a commit may arrive by ways where
//! nobody looked at it.
//!
//! Not here: what to commit (`merge`, `compile`), when (`pipeline`, `daemon`), statuses on forges (`forge`).

mod address;
mod beneath;
mod check_tree;
pub mod checks;
mod child;
mod clone;
mod commit;
mod error;
mod graph;
mod history;
mod holders;
pub mod hook;
mod identity;
mod index_lock;
mod instance_ids;
mod instance_tree;
mod instances;
mod intake;
mod lane;
mod launch;
mod left_over;
mod locks;
mod network;
mod notes;
mod objects;
mod options;
mod outline;
mod packs;
mod read;
mod refs;
mod remote_url;
mod repository;
mod scan;
mod signature;
mod tree_diff;
mod watch;
mod worktree;

#[cfg(test)]
mod fixture;

pub use address::Egress;
pub use check_tree::{HostileTree, MAX_TREE_ENTRIES, MAX_TREE_PATHS};
pub use clone::{set_up_clone, undo_clone};
pub use commit::{CommitContent, NewCommit};
pub use error::Error;
pub use history::Commit;
pub use identity::{Identity, identity};
pub use instance_ids::{IdFault, IdFaultKind, InstanceIds, NamedId, WrittenId, written_id};
pub use instance_tree::InstanceTree;
pub use launch::become_child;
pub use left_over::Writers;
pub use network::{
    Credential, CredentialKind, FetchRef, Fetched, FetchedRef, Moved, PushRef, Pushed, PushedRef, Remote, Scope,
    clear_scratch, fetch, fetch_scanned, ls_remote, push, push_deletion,
};
pub use notes::NOTES_REF;
pub use options::set_options;
pub use outline::Outline;
pub use refs::{RefChange, RefObstacle};
pub use remote_url::{Allowed, RemoteUrl, UrlError};
pub use repository::{Layout, Repository};
pub use scan::{Brought, Leaked, Scanner, Staged};
pub use signature::{Signers, Unsigned};
pub use watch::{RefWatch, watch_refs};
