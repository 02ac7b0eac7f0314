//! Pure. The nouns that at least three modules share. Values only: no rule of merge, plan or compile lives here.
//!
//! Not here: anything that reads, writes or decides.

mod diagnostic;
mod object;
mod tree;

pub use diagnostic::{Diagnostic, Severity};
pub use object::{Object, ObjectId};
pub use tree::{File, FileMode, FileTree};
