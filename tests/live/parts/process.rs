//! One running program: its own process group, an empty environment, a log file.
//!
//! Not here: who ends it when the test binary dies (`scratch.rs`).

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Scratch, until};

/// Lines of a log that are shown on failure.
const LOG_TAIL_LINES: usize = 30;

/// A program that runs until it is dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    pid: Pid,
    log: PathBuf,
}

/// Returns a command with the environment that every child gets: nothing of ours but the way to programs.
pub(crate) fn command(program: &Path, scratch: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(scratch)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scratch.join("home"))
        // Git's global configuration lies in HOME. Naming /dev/null instead would have a root Gitea replace that device by a file.
        .envs([("TZ", "UTC"), ("LC_ALL", "C"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .stdin(Stdio::null());
    command
}

impl Process {
    /// Starts a program that writes `<name>.log` into the private directory and is ended with it.
    pub(crate) fn start(scratch: &Scratch, name: &str, mut command: Command) -> Result<Self, String> {
        let log = log_file(scratch, name)?;
        command.stdout(log);
        Self::spawn(scratch, name, command)
    }

    /// Starts a program that answers on its standard output; what it says beside goes to the log.
    pub(crate) fn converse(
        scratch: &Scratch,
        name: &str,
        mut command: Command,
    ) -> Result<(Self, ChildStdin, ChildStdout), String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Self::spawn(scratch, name, command)?;
        match (process.child.stdin.take(), process.child.stdout.take()) {
            (Some(input), Some(output)) => Ok((process, input, output)),
            _ => Err(format!("start {name}: it has no pipes")),
        }
    }

    fn spawn(scratch: &Scratch, name: &str, mut command: Command) -> Result<Self, String> {
        let attempt = |error: std::io::Error| format!("start {name}: {error}");
        let log = scratch.path().join(format!("{name}.log"));
        let child = command.stderr(log_file(scratch, name)?).process_group(0).spawn().map_err(attempt)?;
        let pid = Pid::from_child(&child);
        scratch.guard(child.id())?;
        Ok(Self { name: name.to_owned(), child, pid, log })
    }

    /// Starts a shell script.
    pub(crate) fn start_shell(scratch: &Scratch, name: &str, script: &str) -> Result<Self, String> {
        let mut shell = command(Path::new("/bin/sh"), scratch.path());
        shell.args(["-c", script]);
        Self::start(scratch, name, shell)
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        // Not reaped: until it is dropped nobody else can be given its number, so nobody else can be killed by it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), options).is_ok_and(|status| status.is_some())
    }

    /// Stops the program where it is; it stays reachable and answers nothing.
    pub(crate) fn suspend(&self) {
        self.signal(Signal::STOP).unwrap();
        let state = format!("/proc/{}/stat", self.id());
        until("every thread has stopped", || {
            let text = std::fs::read_to_string(&state).ok()?;
            text.rsplit_once(") ").filter(|(_, rest)| rest.starts_with('T')).map(|_| ())
        });
    }

    /// Lets a stopped program go on.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT).unwrap();
    }

    /// Asks the program to end and waits until it has.
    pub(crate) fn end(&self) {
        self.signal(Signal::TERM).unwrap();
        until(&format!("{} has ended", self.name), || self.has_ended().then_some(()));
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process_group(self.pid, signal).map_err(|error| format!("signal {}: {error}", self.name))
    }

    /// Returns everything that the program printed.
    pub(crate) fn whole_log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Returns the end of the log under a heading.
    pub(crate) fn log_tail(&self) -> String {
        let text = self.whole_log();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(LOG_TAIL_LINES)..).unwrap_or_default();
        format!("---- {} ({})\n{}\n", self.name, self.log.display(), tail.join("\n"))
    }
}

fn log_file(scratch: &Scratch, name: &str) -> Result<File, String> {
    let path = scratch.path().join(format!("{name}.log"));
    File::options().create(true).append(true).open(&path).map_err(|error| format!("open {}: {error}", path.display()))
}

impl Drop for Process {
    fn drop(&mut self) {
        // Killed, not asked: an API server drains for a minute while watches are open.
        self.signal(Signal::KILL).ok();
        self.child.wait().ok();
    }
}
