//! The `wild` binary: parses, runs, returns the exit code.
fn main() {}
