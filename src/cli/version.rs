//! `wild version`.
//!
//! Not here: the version of a daemon (`status.rs`).

use serde_json::json;

use super::error::ExitCode;
use super::format::Document;
use super::session::Session;

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>) -> ExitCode {
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({"name": "wild", "version": version});
    session.print(Document { kind: "Version", value, items: None }, |_| format!("wild {version}\n"));
    ExitCode::Done
}
