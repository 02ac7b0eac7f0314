//! `wild completion`: a script that completes commands and flags.
//!
//! Not here: completing names of apps.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::arguments::Grammar;
use super::error::ExitCode;
use super::session::Session;

const HELP: &str = "Examples:
  wild completion bash
  wild completion zsh

Exit codes:
  0 printed   2 an unknown shell";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Completion {
    /// Shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(super) fn run(session: &mut Session<'_>, arguments: &Completion) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Grammar::command(), "wild", &mut script);
    session.out.data(&String::from_utf8_lossy(&script));
    ExitCode::Done
}
