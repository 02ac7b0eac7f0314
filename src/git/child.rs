//! Starts the git program, and `gpgv` beside it: the only place of this module that starts a process.
//!
//! A child gets nothing from our environment but `PATH`, a home directory of its own, settings of ours on top of all
//! others, and a process group that dies with the deadline or with the caller. No user's string opens an argument.
//!
//! Not here: what the child is for (`network`), the limits that it sets itself (`launch`).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::error::{Error, io};
use super::launch;
use crate::base::escaped;

/// Children at a time.
const GIT_CHILDREN: usize = 8;
/// Bytes that a child may print; a list of 10,000 refs stays below 3 MiB.
const MAX_OUTPUT_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of memory that a child may hold that moves objects: it counts those of a large upstream and unfolds them one by one. What a remote says
/// beyond that ends the child, because git takes all refs of an advertisement before it looks at one.
pub(super) const MAX_FETCH_MEMORY: u64 = 512 * 1024 * 1024;
/// Bytes of memory that a child may hold that only lists the refs of a remote: 10,000 of them take less than 10 MiB.
pub(super) const MAX_LIST_MEMORY: u64 = 128 * 1024 * 1024;
/// Characters of a child's complaint that an error keeps.
const MAX_COMPLAINT_CHARS: usize = 600;
/// The line from which on git gives general advice.
const UNREADABLE_REMOTE: &str = "fatal: Could not read from remote repository.";
/// Where programs are found when our own environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Settings of every child. Redirects are refused, nothing that a repository or server names is run or fetched, and
/// what arrives is checked and synced.
const SETTINGS: [(&str, &str); 31] = [
    ("advice.pushUpdateRejected", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.bigFileThreshold", "1m"),
    ("core.deltaBaseCacheLimit", "16m"),
    ("core.fsmonitor", "false"),
    ("core.fsync", "all"),
    ("core.fsyncMethod", "fsync"),
    ("core.hooksPath", "/dev/null"),
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("credential.useHttpPath", "true"),
    ("fetch.fsckObjects", "true"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "30"),
    ("maintenance.auto", "false"),
    ("pack.deltaCacheSize", "16m"),
    ("pack.threads", "2"),
    ("pack.windowMemory", "32m"),
    ("protocol.allow", "never"),
    ("protocol.version", "2"),
    ("push.recurseSubmodules", "no"),
    ("safe.bareRepository", "explicit"),
    ("ssh.variant", "ssh"),
    ("transfer.bundleURI", "false"),
    ("transfer.fsckObjects", "true"),
    ("transfer.unpackLimit", "1"),
];

static CHILDREN: Semaphore = Semaphore::const_new(GIT_CHILDREN);

/// A git command to run.
pub(super) struct Call<'a> {
    /// What it is for, in words.
    pub(super) attempt: String,
    /// The repository it works in.
    pub(super) git_dir: &'a Path,
    /// Its home, empty but for what it needs.
    pub(super) home: &'a Path,
    /// Settings beyond those of every child.
    pub(super) settings: Vec<(String, String)>,
    /// The command and its arguments.
    pub(super) args: Vec<String>,
    /// How long it may take.
    pub(super) deadline: Duration,
    /// Bytes of memory that it may hold.
    pub(super) memory: u64,
}

/// Another program to run: one that reads files that it is given, and needs neither a network nor a person.
pub(super) struct Program<'a> {
    /// Its name, as it is found on the path.
    pub(super) name: &'static str,
    /// What it is for, in words.
    pub(super) attempt: String,
    /// Its home and where it works.
    pub(super) home: &'a Path,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// How long it may take.
    pub(super) deadline: Duration,
    /// Bytes of memory that it may hold.
    pub(super) memory: u64,
}

/// What a child left behind.
pub(super) struct Exit {
    pub(super) success: bool,
    pub(super) stdout: String,
    stderr: String,
}

impl Exit {
    /// Returns the child's complaint as one line without control characters, cut short.
    pub(super) fn complaint(&self) -> String {
        // What git adds to every remote that it cannot read says nothing about this one.
        let said = self.stderr.lines().map(str::trim).take_while(|line| *line != UNREADABLE_REMOTE);
        let lines: Vec<&str> = said.filter(|line| !line.is_empty()).collect();
        let text: String = escaped(&lines.join("; ")).chars().take(MAX_COMPLAINT_CHARS).collect();
        if text.is_empty() { "git gave no reason".to_owned() } else { text }
    }
}

/// Runs a git command to its end or its deadline.
pub(super) async fn run(call: Call<'_>) -> Result<Exit, Error> {
    let command = command(&call);
    run_to_end(command, ("git", call.attempt), call.deadline).await
}

/// Runs another program to its end or its deadline.
pub(super) async fn run_program(program: Program<'_>) -> Result<Exit, Error> {
    let Program { name, attempt, home, args, deadline, memory } = program;
    let mut command = launch::program(name, memory);
    bare(&mut command, home).args(args);
    run_to_end(command, (name, attempt), deadline).await
}

async fn run_to_end(mut command: Command, (name, attempt): (&str, String), deadline: Duration) -> Result<Exit, Error> {
    let end = Instant::now() + deadline;
    let late = || Error::Deadline { attempt: attempt.clone(), deadline };
    let Ok(Ok(_place)) = timeout_at(end, CHILDREN.acquire()).await else { return Err(late()) };
    let mut child = command.spawn().map_err(io(format!("start {name} to {attempt}")))?;
    let _group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let (stdout, stderr) = tokio::join!(read(stdout), read(stderr));
        Ok::<_, std::io::Error>((stdout?, stderr?, child.wait().await?))
    };
    match timeout_at(end, work).await {
        Ok(result) => {
            let (stdout, stderr, status) = result.map_err(io(attempt.clone()))?;
            let Some(stdout) = stdout else {
                let reason = "the answer is longer than 8 MiB".to_owned();
                return Err(Error::Remote { attempt, reason });
            };
            let stderr = stderr.unwrap_or_default();
            Ok(Exit { success: status.success(), stdout, stderr })
        }
        Err(_) => Err(late()),
    }
}

/// The process group of a child: ssh and helpers below it die with it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // The group is gone already in the ordinary case.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

fn command(call: &Call<'_>) -> Command {
    let mut command = launch::program("git", call.memory);
    bare(&mut command, call.home)
        .envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_NO_REPLACE_OBJECTS", "1")])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ASKPASS", "/bin/false")]);
    let fixed = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let mut count = 0_usize;
    for (key, value) in fixed.chain(call.settings.iter().cloned()) {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command
        .env("GIT_CONFIG_COUNT", count.to_string())
        .arg(format!("--git-dir={}", call.git_dir.display()))
        .args(&call.args);
    command
}

/// Takes everything from a child that it does not need, and gives it a process group of its own.
fn bare<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()))
        .env("HOME", home)
        .envs([("LC_ALL", "C"), ("TZ", "UTC")])
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
}

/// Reads what a child prints; nothing if that is more than it may.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // Reading stops at the limit; the child then fails on its closed pipe.
        stream.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes).await?;
    }
    let fits = u64::try_from(bytes.len()).is_ok_and(|read| read <= MAX_OUTPUT_BYTES);
    Ok(fits.then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(home: &'a Path, args: &[&str]) -> Call<'a> {
        Call {
            attempt: "try".to_owned(),
            git_dir: home,
            home,
            settings: vec![("alias.environment".to_owned(), "!env".to_owned())],
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            deadline: Duration::from_secs(30),
            memory: MAX_LIST_MEMORY,
        }
    }

    #[tokio::test]
    async fn a_child_reads_what_is_there_and_not_what_a_ref_puts_in_its_place() {
        let home = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init_bare(home.path()).unwrap();
        let [ours, other] = ["ours", "other"].map(|text| repository.blob(text.as_bytes()).unwrap());
        repository.reference(&format!("refs/replace/{ours}"), other, false, "").unwrap();
        let exit = run(call(home.path(), &["cat-file", "blob", &ours.to_string()])).await.unwrap();
        assert_eq!(exit.stdout, "ours");
    }

    #[tokio::test]
    async fn a_child_sees_nothing_of_our_environment() {
        let home = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(home.path()).unwrap();
        let exit = run(call(home.path(), &["environment"])).await.unwrap();
        assert!(exit.success, "{}", exit.complaint());
        let names = exit.stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let known = ["PATH", "HOME", "LC_ALL", "TZ", "PWD", "OLDPWD", "SHLVL", "_"];
        let foreign: Vec<_> = names.filter(|name| !known.contains(name) && !name.starts_with("GIT_")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }

    #[tokio::test]
    async fn a_deadline_kills_the_child_and_what_it_started() {
        let home = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(home.path()).unwrap();
        let fifo = home.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let mut stuck = call(home.path(), &["stuck"]);
        stuck.settings = vec![("alias.stuck".to_owned(), format!("!echo $$ > pid; cat {}", fifo.display()))];
        stuck.deadline = Duration::from_millis(500);
        let error = run(stuck).await.map(|exit| exit.stdout).unwrap_err();
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        let pid = std::fs::read_to_string(home.path().join("pid")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // A killed process stays visible as a zombie until its new parent has collected it.
        assert!(state().is_err() || state().is_ok_and(|stat| stat.contains(") Z ")) || ended(pid.trim()));
    }

    #[tokio::test]
    async fn an_answer_without_end_is_an_error_and_not_its_beginning() {
        let home = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(home.path()).unwrap();
        let mut endless = call(home.path(), &["endless"]);
        endless.settings = vec![("alias.endless".to_owned(), "!yes".to_owned())];
        let error = run(endless).await.map(|exit| exit.stdout.len()).unwrap_err();
        assert_eq!(error.to_string(), "try: the answer is longer than 8 MiB");
    }

    fn ended(pid: &str) -> bool {
        for _ in 0..1_000_000 {
            match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Ok(stat) if !stat.contains(") Z ") => std::thread::yield_now(),
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }
}
