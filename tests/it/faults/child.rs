//! `wild daemon` as a process of its own, that can be killed at a named point, stopped and started again.
//!
//! Also read by `tests/live/faults.rs`. Not here: what it works on.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a condition is waited for before the test fails; no assertion on time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Time between two looks at a condition of another process, which cannot wake us.
pub(crate) const POLL: Duration = Duration::from_millis(25);
/// Lines of the log that a failure shows.
const LOG_TAIL: usize = 40;

/// A directory with `daemon.yaml`, and the daemon that runs on it.
pub(crate) struct Wild {
    root: PathBuf,
    daemon: Option<Child>,
    /// What the environment of the daemon has beside the usual.
    environment: Variables,
}

/// Variables of an environment with their values.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

/// How a daemon ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// At the armed point, by SIGKILL.
    Hit,
    /// Otherwise.
    Other(ExitStatus),
}

/// Returns a command with nothing of this process' environment but the way to programs.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, root: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .envs([("TZ", "UTC"), ("LC_ALL", "C"), ("USER", "alice"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .envs([("GIT_AUTHOR_NAME", "alice"), ("GIT_AUTHOR_EMAIL", "alice@example.org")])
        .envs([("GIT_COMMITTER_NAME", "alice"), ("GIT_COMMITTER_EMAIL", "alice@example.org")])
        .stdin(Stdio::null());
    command
}

/// Runs the git program, which must succeed, and returns what it says.
pub(crate) fn git(root: &Path, directory: &str, args: &[&str]) -> String {
    let output = command("git", root).current_dir(root.join(directory)).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

impl Wild {
    /// Takes a directory, and what the environment of the daemon has beside the usual; nothing runs yet.
    pub(crate) fn new(root: &Path, environment: Variables) -> Self {
        std::fs::create_dir_all(root.join("home")).unwrap();
        Self { root: root.to_owned(), daemon: None, environment }
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) async fn start(&mut self) {
        self.start_again().await;
        assert!(self.listens().await, "the daemon ended at its start\n{}", self.log());
    }

    /// Starts the daemon once more; an armed point may end it before it listens.
    pub(crate) async fn start_again(&mut self) {
        let mut daemon = command(env!("CARGO_BIN_EXE_wild"), &self.root);
        daemon.args(["daemon", "--config", "daemon.yaml"]);
        self.start_as(daemon).await;
    }

    /// Starts a command that becomes the daemon.
    pub(crate) async fn start_as(&mut self, mut daemon: Command) {
        let log = File::options().create(true).append(true).open(self.root.join("daemon.log")).unwrap();
        daemon.envs(self.environment.iter().cloned());
        daemon.env("WILD_FAULT_FILE", self.root.join("fault")).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemon = Some(daemon.spawn().unwrap());
    }

    /// Waits until the daemon listens; false if it ended instead.
    pub(crate) async fn listens(&mut self) -> bool {
        let mut tick = tokio::time::interval(POLL);
        loop {
            tick.tick().await;
            if self.ended().is_some() {
                return false;
            }
            if UnixStream::connect(self.root.join("wild.sock")).is_ok() {
                return true;
            }
        }
    }

    /// Kills the next process that arrives at a point for the n-th time. One that dies of an earlier point right now leaves what says so.
    pub(crate) fn arm(&self, point: &str, arrival: usize) {
        std::fs::write(self.root.join("fault.new"), format!("{point}\n{arrival}\n")).unwrap();
        std::fs::rename(self.root.join("fault.new"), self.root.join("fault")).unwrap();
    }

    /// Lets the point that is armed pass from now on; false if a process arrived there before.
    pub(crate) fn disarm(&self) -> bool {
        std::fs::remove_file(self.root.join("fault")).is_ok() || !self.root.join("fault.hit").exists()
    }

    /// Waits for the end of a daemon that has arrived at a point.
    pub(crate) async fn die(&mut self) -> End {
        let mut tick = tokio::time::interval(POLL);
        loop {
            tick.tick().await;
            if let Some(end) = self.ended() {
                return end;
            }
        }
    }

    /// Returns how the daemon ended, if it did. A point that was hit is read back.
    pub(crate) fn ended(&mut self) -> Option<End> {
        let status = self.daemon.as_mut()?.try_wait().unwrap()?;
        self.daemon = None;
        let hit = self.root.join("fault.hit");
        if status.signal() == Some(9) && hit.exists() {
            std::fs::rename(&hit, hit.with_extension("met")).unwrap();
            return Some(End::Hit);
        }
        Some(End::Other(status))
    }

    /// Returns whether the daemon has ended, however.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.daemon.as_mut().is_none_or(|daemon| daemon.try_wait().unwrap().is_some())
    }

    /// Sends a signal to the daemon.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.daemon.as_ref().unwrap()), signal).unwrap();
    }

    /// Asks the daemon to end and waits until it has.
    pub(crate) async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait().await
    }

    /// Waits for the end of the daemon.
    pub(crate) async fn wait(&mut self) -> ExitStatus {
        let mut daemon = self.daemon.take().unwrap();
        let ended = async {
            let mut tick = tokio::time::interval(POLL);
            loop {
                tick.tick().await;
                if let Some(status) = daemon.try_wait().unwrap() {
                    return status;
                }
            }
        };
        let ended = tokio::time::timeout(DEADLINE, ended).await;
        if ended.is_err() {
            let _ = daemon.kill();
        }
        // A point that it arrived at last is nobody's end any more.
        let _ = std::fs::remove_file(self.root.join("fault.hit"));
        ended.unwrap_or_else(|_| panic!("the daemon did not end\n{}", self.log()))
    }

    /// Runs `wild` against the daemon.
    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        let mut wild = command(env!("CARGO_BIN_EXE_wild"), &self.root);
        wild.args(args).args(["--socket", "wild.sock"]);
        tokio::task::spawn_blocking(move || wild.output().unwrap()).await.unwrap()
    }

    /// Returns the end of the daemon's log.
    pub(crate) fn log(&self) -> String {
        let text = std::fs::read_to_string(self.root.join("daemon.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(LOG_TAIL)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Wild {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
