//! Looks at the repository with the git program and at the cluster with bare HTTP requests: nothing of ours can hide a fault.
//!
//! Not here: what has to be there (`story.rs`).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::base::chain;

/// Longest time until a step holds.
pub(super) const STEP_DEADLINE: Duration = Duration::from_secs(30);
/// Time between two looks at what is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time for one request or one git command.
const CALL_DEADLINE: Duration = Duration::from_secs(10);
/// Characters of a finding that are shown.
const MAX_FOUND_CHARS: usize = 400;

/// What was expected and not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Unmet {
    /// What was expected.
    pub(super) expected: String,
    /// What was found.
    pub(super) found: String,
}

impl Unmet {
    /// Returns what was expected and found, both cut to what fits on a screen.
    pub(super) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        let found: String = found.into().chars().take(MAX_FOUND_CHARS).collect();
        Self { expected: expected.into(), found }
    }
}

/// Where the witness looks.
pub(super) struct Witness {
    /// Home and working folder of its git.
    pub(super) home: PathBuf,
    /// Where programs are found.
    pub(super) path: String,
    /// The repository.
    pub(super) repository: PathBuf,
    /// Address of the cluster.
    pub(super) cluster: String,
}

/// How a git command ended.
struct Ran {
    success: bool,
    stdout: String,
    stderr: String,
}

impl Witness {
    /// Runs git on the repository and returns what it printed.
    pub(super) async fn git(&self, args: &[&str]) -> Result<String, Unmet> {
        self.git_in(&self.repository, args).await
    }

    /// Runs git in a folder and returns what it printed.
    pub(super) async fn git_in(&self, folder: &Path, args: &[&str]) -> Result<String, Unmet> {
        let ran = self.run(folder, args, None).await?;
        if ran.success {
            return Ok(ran.stdout.trim_end().to_owned());
        }
        Err(Unmet::new(format!("git {} ends well", args.join(" ")), ran.stderr))
    }

    /// Returns whether git answers yes to a question on the repository.
    pub(super) async fn git_says(&self, args: &[&str]) -> Result<bool, Unmet> {
        Ok(self.run(&self.repository, args, None).await?.success)
    }

    /// Returns whether a text is nowhere in a commit. It goes to git by its standard input, because everybody may read arguments.
    pub(super) async fn is_absent(&self, text: &str, commit: &str) -> Result<bool, Unmet> {
        let args = ["grep", "--quiet", "--fixed-strings", "-f", "-", commit];
        Ok(!self.run(&self.repository, &args, Some(text)).await?.success)
    }

    async fn run(&self, folder: &Path, args: &[&str], input: Option<&str>) -> Result<Ran, Unmet> {
        let attempt = format!("git {} ends", args.join(" "));
        let unmet = |error: std::io::Error| Unmet::new(attempt.clone(), error.to_string());
        let mut child = self.command(folder, args, input.is_some()).spawn().map_err(unmet)?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            stdin.write_all(input.as_bytes()).await.map_err(unmet)?;
        }
        match timeout(CALL_DEADLINE, child.wait_with_output()).await {
            Ok(output) => {
                let output = output.map_err(unmet)?;
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok(Ran { success: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
            }
            Err(_) => Err(Unmet::new(attempt, format!("it still runs after {} s", CALL_DEADLINE.as_secs()))),
        }
    }

    fn command(&self, folder: &Path, args: &[&str], speaks: bool) -> Command {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(folder)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", super::stage::PERSON.0)
            .env("GIT_AUTHOR_EMAIL", super::stage::PERSON.1)
            .env("GIT_COMMITTER_NAME", super::stage::PERSON.0)
            .env("GIT_COMMITTER_EMAIL", super::stage::PERSON.1)
            .stdin(if speaks { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Returns an object of the cluster; nothing if it is not there.
    pub(super) async fn get(&self, path: &str) -> Result<Option<Value>, Unmet> {
        let unmet = |found: String| Unmet::new(format!("the cluster answers GET {path}"), found);
        let answer = self.http()?.get(format!("{}{path}", self.cluster)).send().await;
        let answer = answer.map_err(|error| unmet(chain(&error)))?;
        match answer.status().as_u16() {
            404 => Ok(None),
            200 => answer.json().await.map(Some).map_err(|error| unmet(chain(&error))),
            status => Err(unmet(format!("status {status}"))),
        }
    }

    /// Changes an object of the cluster as `kubectl edit` does.
    pub(super) async fn edit(&self, path: &str, patch: &Value) -> Result<(), Unmet> {
        let unmet = |found: String| Unmet::new(format!("the cluster takes PATCH {path}"), found);
        let request = self
            .http()?
            .patch(format!("{}{path}?fieldManager=kubectl-edit", self.cluster))
            .header("Content-Type", "application/merge-patch+json")
            .body(patch.to_string());
        let answer = request.send().await.map_err(|error| unmet(chain(&error)))?;
        if answer.status().is_success() { Ok(()) } else { Err(unmet(format!("status {}", answer.status().as_u16()))) }
    }

    fn http(&self) -> Result<reqwest::Client, Unmet> {
        let built = reqwest::Client::builder().timeout(CALL_DEADLINE).no_proxy().build();
        built.map_err(|error| Unmet::new("an HTTP client", chain(&error)))
    }

    /// Looks until what is expected holds, or its time is over. The look returns what it found instead.
    pub(super) async fn until(
        &self,
        expected: &str,
        look: impl AsyncFn() -> Result<Option<String>, Unmet>,
    ) -> Result<(), Unmet> {
        let end = Instant::now() + STEP_DEADLINE;
        let mut ticks = interval(LOOK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(found) = look().await? else { return Ok(()) };
            if Instant::now() >= end {
                return Err(Unmet::new(format!("{expected}, within {} s", STEP_DEADLINE.as_secs()), found));
            }
        }
    }

    /// Waits until fields of an object have these values.
    pub(super) async fn fields(&self, path: &str, wanted: &[(&str, Value)]) -> Result<Value, Unmet> {
        let name = path.rsplit("/namespaces/").next().unwrap_or(path);
        let said: Vec<String> = wanted.iter().map(|(pointer, value)| format!("{pointer} = {value}")).collect();
        self.until(&format!("{name} has {}", said.join(", ")), async || {
            let object = self.get(path).await?;
            let Some(object) = object else { return Ok(Some("there is no such object".to_owned())) };
            Ok(wanted.iter().find_map(|(pointer, value)| {
                let live = object.pointer(pointer).unwrap_or(&Value::Null);
                (live != value).then(|| format!("{pointer} = {live}"))
            }))
        })
        .await?;
        self.get(path).await?.ok_or_else(|| Unmet::new(format!("{name} stays"), "it is gone"))
    }

    /// Waits until an object is gone.
    pub(super) async fn gone(&self, path: &str) -> Result<(), Unmet> {
        self.until(&format!("{path} is gone"), async || {
            Ok(self.get(path).await?.is_some().then(|| "it is still there".to_owned()))
        })
        .await
    }

    /// Waits until the notes of a commit have a line that begins with this.
    pub(super) async fn noted(&self, commit: &str, said: &str) -> Result<(), Unmet> {
        self.until(&format!("git notes --ref=wild show {commit} says {said:?}"), async || {
            let ran = self.run(&self.repository, &["notes", "--ref=wild", "show", commit], None).await?;
            let noted = ran.stdout.lines().any(|line| line.starts_with(said));
            Ok((!noted).then(|| if ran.success { ran.stdout.trim_end().replace('\n', " | ") } else { ran.stderr }))
        })
        .await
    }
}
