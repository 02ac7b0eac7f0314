//! `wild demo`: the whole product in one process, with the sandbox as its cluster; plays the story and checks each step.
//!
//! `stage` is what is played on, `story` the ten steps, `witness` looks at git and the cluster without any of our code, `teller` prints.
//! Not here: the sandbox itself (`sandbox`).

mod stage;
mod story;
mod teller;
mod witness;

use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::environment::{Stream, Surroundings};
use super::error::{CommandError, ExitCode};
use super::output::Output;
use super::session::Session;
use crate::base::chain;
use crate::http;
use crate::settings::DaemonSettings;
use stage::{Ground, Stage};
use story::Story;
use teller::{Pace, Teller};
use witness::Unmet;

const HELP: &str = "Examples:
  wild demo
  wild demo --check
  wild demo --check --keep my-demo

Exit codes:
  0 every step holds   2 a step does not hold, or the demo cannot start   130 ended by Ctrl-C";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Demo {
    /// Port of the status page; 0 takes a free one.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub(super) port: u16,
    /// Ends after the story, without pauses.
    #[arg(long)]
    pub(super) check: bool,
    /// Keeps repositories, state and the cluster's audit log in this folder, which must be empty or not there.
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
}

/// A step of the story that does not hold.
pub(super) struct StepFailed {
    /// The step, such as `4/10 update`.
    step: String,
    /// What was typed.
    command: String,
    /// What was expected and what was found.
    unmet: Unmet,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Demo) -> Result<ExitCode, CommandError> {
    let Demo { port, check, keep } = arguments;
    let environment = session.environment;
    let watched = environment.output == Stream::Terminal && !check;
    let ground = match &keep {
        Some(folder) => Ground::kept(&environment.path(folder)),
        None => Ground::passing(environment),
    };
    let ground = ground.map_err(|error| cannot("make a folder for the demo", &error))?;
    let listen = format!("127.0.0.1:{port}");
    let page = DaemonSettings { listen, metrics_listen: String::new(), ..DaemonSettings::default() };
    let listeners = http::bind(&page).await.map_err(|error| cannot("serve the status page", &chain(&error)))?;
    let address = listeners.address();
    let stage = Stage::build(ground, environment).await.map_err(|error| cannot("build the stage", &error))?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(http::serve(stage.daemon.clone(), listeners, stop.clone()));
    session.out.data(&format!(
        "Status page {address}/   cluster {}   files {}\n",
        stage.cluster(),
        stage.root().display()
    ));
    // A person who has seen enough ends the demo as any end of it: nothing is left behind.
    let told = tokio::select! {
        told = tell(&stage, environment, session.out, watched) => told,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::Interrupted),
    };
    if matches!(told, Ok(ExitCode::Done)) && watched {
        session.out.data(&format!("The status page stays at {address}/ until Ctrl-C.\n"));
        // Where no signal can be waited for the demo ends here.
        let _ = tokio::signal::ctrl_c().await;
    }
    stop.cancel();
    stage.end().await;
    // A server task that panicked has nothing more to serve.
    let _ = serving.await;
    told.map_err(|failed| failed.error(keep.is_some()))
}

async fn tell(
    stage: &Stage,
    environment: &Surroundings,
    out: &mut dyn Output,
    watched: bool,
) -> Result<ExitCode, StepFailed> {
    let pace = Pace { pauses: watched, animated: watched && environment.is_animated() };
    let mut story = Story::new(stage, Teller::new(out, pace));
    match story.play().await {
        Ok(()) => Ok(ExitCode::Done),
        Err(unmet) => Err(story.failed(unmet)),
    }
}

impl StepFailed {
    fn error(self, kept: bool) -> CommandError {
        let Self { step, command, unmet: Unmet { expected, found } } = self;
        let remedy =
            if kept { "look at the folder that was kept" } else { "wild demo --check --keep DIR, then look at DIR" };
        CommandError::new(format!("step {step}: {command}"), format!("expected: {expected}; found: {found}"), remedy)
    }
}

fn cannot(what: &str, because: &str) -> CommandError {
    CommandError::new(what, because, "wild demo --help")
}
