//! `wild daemon`: reads the settings, listens, works until it is told to stop.
//!
//! Not here: the work (`daemon`), the routes (`http`).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use super::environment::{Stream, Surroundings};
use super::error::{CommandError, ExitCode};
use super::locate::{around, entries_of, of_start, open_state, read_settings, settings_file, usual_socket};
use super::session::Session;
use crate::base::chain;
use crate::daemon::{Daemon, Start, Work};
use crate::http::{self, Listeners};
use crate::settings::DaemonSettings;

/// What libraries say of failures that we tell ourselves, once. A level that names their target brings it back.
const QUIETED: &str = "kube_client=off";
/// Longest time from the request to stop until the process ends.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

const HELP: &str = "Examples:
  wild daemon
  wild daemon --config daemon.yaml

Exit codes:
  0 stopped as asked   2 error: bad settings, a port in use
  6 blocked: another daemon holds the instance";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct DaemonRun {
    /// Settings; $WILD_CONFIG, ~/.config/wild/daemon.yaml or /etc/wild/daemon.yaml by default.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<DaemonVerb>,
}

/// What a daemon can be told.
#[derive(Subcommand, Clone, Copy, Debug)]
enum DaemonVerb {
    /// Runs in the foreground; this is the default.
    #[command(after_long_help = HELP)]
    Run,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: DaemonRun) -> Result<ExitCode, CommandError> {
    let DaemonRun { config, verb: None | Some(DaemonVerb::Run) } = arguments;
    // From here on a signal ends the daemon in good order, however early it comes.
    let signals =
        Signals::listen().map_err(|error| CommandError::new("wait for signals", error.to_string(), "wild daemon"))?;
    let settings = settings_of(session.environment, config).await?;
    log_to_stderr(session.environment, &settings)?;
    let listeners = http::bind(&settings).await.map_err(|error| of_bind(&error))?;
    let start =
        Start { state: open_state(&settings)?, clock: session.environment.clock, access: None, work: Work::Everything };
    let daemon = Daemon::start(settings.clone(), start).await.map_err(|error| of_start(&error))?;
    tell_addresses(session, &settings, &listeners);
    let stop = CancellationToken::new();
    let serving = tokio::spawn(http::serve(daemon.clone(), listeners, stop.clone()));
    signals.end().await;
    tracing::info!("stopping");
    stop.cancel();
    let stopped = tokio::time::timeout(STOP_DEADLINE, async {
        daemon.stop().await;
        let _ = serving.await;
    });
    if stopped.await.is_err() {
        tracing::warn!("what still ran was cut off");
    }
    tracing::info!("stopped");
    Ok(ExitCode::Done)
}

/// Reads the settings; without instances in them those of the repository around the working directory are.
async fn settings_of(environment: &Surroundings, config: Option<PathBuf>) -> Result<DaemonSettings, CommandError> {
    let file = settings_file(environment, config.as_deref());
    if config.is_some() && !file.exists() {
        let what = format!("read the settings {}", file.display());
        return Err(CommandError::new(what, "the file is not there", "wild daemon --help"));
    }
    let mut settings = read_settings(environment, &file)?;
    if settings.socket.as_os_str().is_empty() {
        settings.socket = usual_socket(environment);
    }
    if settings.instances.is_empty() {
        let around = around(&environment.directory).ok_or_else(|| {
            let because =
                format!("{} names no instance, and {} is in none", file.display(), environment.directory.display());
            CommandError::new("start the daemon", because, "wild init my-cloud, then run the daemon in there")
        })?;
        settings.instances = entries_of(&around.repository, &settings).await?;
    }
    Ok(settings)
}

/// Sends the log to standard error: JSON lines unless a person reads them.
fn log_to_stderr(environment: &Surroundings, settings: &DaemonSettings) -> Result<(), CommandError> {
    let level =
        environment.variable("WILD_LOG").or_else(|| environment.variable("RUST_LOG")).unwrap_or(&settings.log.level);
    let filter = EnvFilter::try_new(format!("{QUIETED},{level}"))
        .map_err(|error| CommandError::new("read the log level", error.to_string(), "log: {level: info}"))?;
    let json = match settings.log.format.as_str() {
        "json" => true,
        "text" => false,
        _ => environment.error == Stream::Other,
    };
    let colored = environment.error == Stream::Terminal && environment.variable("NO_COLOR").is_none();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored && !json);
    // A second daemon in one process, as tests have it, keeps the first one's log.
    let _ = if json { builder.json().flatten_event(true).finish().try_init() } else { builder.finish().try_init() };
    Ok(())
}

fn of_bind(error: &http::Error) -> CommandError {
    let code = if error.is_other_daemon() { ExitCode::Blocked } else { ExitCode::Error };
    CommandError::new("start the daemon", chain(error), error.remedy()).with_code(code)
}

fn tell_addresses(session: &mut Session<'_>, settings: &DaemonSettings, listeners: &Listeners) {
    let address = listeners.address();
    let instances: Vec<&str> = settings.instances.iter().map(|entry| entry.name.as_str()).collect();
    tracing::info!(
        address = %address,
        socket = %settings.socket.display(),
        metrics = %listeners.metrics_address(),
        instances = %instances.join(","),
        version = env!("CARGO_PKG_VERSION"),
        "listening"
    );
    if session.environment.error == Stream::Terminal {
        session.note(&format!("Status page: {address}/   Stop: Ctrl-C"));
    }
}

/// The signals that ask a daemon to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen for them.
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Returns when one of them has come.
    async fn end(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
