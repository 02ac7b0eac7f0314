//! The command line. One file per command; all of them speak to a daemon by the routes of the API, or do its work in this process.
//!
//! Data goes to standard output, everything else to standard error. An error has three lines: what was attempted, why it was not done, what
//! to do. Not here: any decision about apps or clusters.

mod app;
mod arguments;
mod client;
mod cluster;
mod completion;
mod daemon;
mod debug;
mod demo;
mod directory;
mod doctor;
mod drift;
mod environment;
mod error;
mod folder;
mod format;
mod hook;
mod init;
mod json;
mod kustomize;
mod locate;
mod merge_batch;
mod merge_file;
mod operation;
mod output;
mod package;
mod plan;
mod report;
mod scan;
mod secret;
mod session;
mod sops_keys;
mod status;
mod table;
mod undo;
mod version;
mod wait;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use arguments::{Grammar, Verb};
use session::Session;

pub use environment::{Stream, Surroundings};
pub use error::{CommandError, ExitCode};
pub use output::{Captured, Motion, Output, Standard};

/// Runs one command line; the first argument is the name of the program.
pub async fn run(args: Vec<OsString>, environment: Surroundings, out: &mut dyn Output) -> ExitCode {
    let Grammar { flags, verb } = match Grammar::try_parse_from(args) {
        Ok(grammar) => grammar,
        Err(error) => return refuse(&error, out),
    };
    let Some(verb) = verb else {
        out.data(&Grammar::command().render_help().to_string());
        return ExitCode::Done;
    };
    let mut session = Session::new(&environment, flags, out);
    let ended = dispatch(&mut session, verb).await;
    session.close().await;
    match ended {
        Ok(code) => code,
        Err(error) => {
            error.write(session.out);
            error.code
        }
    }
}

async fn dispatch(session: &mut Session<'_>, verb: Verb) -> Result<ExitCode, CommandError> {
    match verb {
        Verb::Init(arguments) => init::run(session, arguments).await,
        Verb::Status(arguments) => status::run(session, arguments).await,
        Verb::Doctor(arguments) => doctor::run(session, arguments).await,
        Verb::Plan(arguments) => plan::run(session, arguments).await,
        Verb::Directory(verb) => directory::run(session, verb).await,
        Verb::App(verb) => app::run(session, verb).await,
        Verb::Drift(verb) => drift::run(session, verb).await,
        Verb::Secret(verb) => secret::run(session, verb).await,
        Verb::Undo(arguments) => undo::run(session, arguments).await,
        Verb::Operation(verb) => operation::run(session, verb).await,
        Verb::Cluster(verb) => cluster::run(session, verb).await,
        Verb::Daemon(arguments) => daemon::run(session, arguments).await,
        // The demo runs command lines itself, which would otherwise make this future contain itself.
        Verb::Demo(arguments) => Box::pin(demo::run(session, arguments)).await,
        Verb::Version => Ok(version::run(session)),
        Verb::Completion(arguments) => Ok(completion::run(session, &arguments)),
        Verb::Hook(verb) => hook::run(session, verb).await,
        Verb::Kustomize(verb) => kustomize::run(session, verb),
        Verb::Package(verb) => package::run(session, verb).await,
        Verb::MergeFile(arguments) => merge_file::run(session, &arguments).await,
        Verb::Debug(verb) => debug::run(session, &verb).await,
    }
}

/// Prints help that was asked for, or says in three lines what cannot be read.
fn refuse(error: &clap::Error, out: &mut dyn Output) -> ExitCode {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        out.data(&text);
        return ExitCode::Done;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        out.note(text.trim_end());
        return ExitCode::Error;
    }
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let because = paragraphs.first().copied().unwrap_or_default().trim_start_matches("error: ");
    let because: Vec<&str> = because.lines().map(str::trim).collect();
    let tip =
        paragraphs.iter().find_map(|paragraph| paragraph.trim().strip_prefix("tip: ")).map(|tip| format!("; {tip}"));
    // Of a usage only the words that stand for themselves can be typed.
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("wild");
    let is_verb = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let verbs: Vec<&str> = usage.split(' ').take_while(is_verb).collect();
    let remedy = format!("{} --help", verbs.join(" "));
    let because = format!("{}{}", because.join(" "), tip.unwrap_or_default());
    CommandError::new("read the command line", because, remedy).write(out);
    ExitCode::Error
}

#[cfg(test)]
mod tests;
