//! Pure. Changes one key of a file that a person owns: every other byte stays, comments and quotes included.
//!
//! Not here: merging two versions of a file (`merge`).
