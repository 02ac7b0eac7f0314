//! A running `wild daemon`: its process, its API and its own counters.
//!
//! Not here: what it is measured against (`contenders.rs`).

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::Client;
use serde_json::Value;

use crate::instance::Home;
use crate::parts::{Process, Scratch};

/// Pause between two looks at the daemon.
const LOOK: Duration = Duration::from_millis(5);

/// Pause between two looks at its counters: they show every app, and making them is not to be what is measured.
const COUNTED: Duration = Duration::from_millis(50);

/// How long nothing may begin until the daemon counts as quiet.
const QUIET: Duration = Duration::from_secs(2);

/// A daemon that serves one instance.
pub(crate) struct Daemon {
    // Nothing while it is not running.
    process: Option<Process>,
    client: Client,
    settings: PathBuf,
    metrics: String,
}

/// What the daemon counts about its own passes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Passes {
    /// Passes that have ended.
    pub(crate) ended: u64,
    /// Apps that run or wait.
    pub(crate) open: u64,
}

impl Daemon {
    /// Starts a daemon for an instance on the cluster of a kubeconfig. It is ready when it answers, which is not waited for.
    pub(crate) fn start(scratch: &Scratch, kubeconfig: &Path, home: &Home) -> Self {
        let root = scratch.path();
        let settings = root.join("daemon.yaml");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let metrics = format!("127.0.0.1:{port}");
        let text = format!(
            "stateDir: {state}\nlisten: 127.0.0.1:0\nmetricsListen: \"{metrics}\"\nsocket: {socket}\nlog: {{level: warn, format: text}}\ninstances:\n- {{name: home, path: {home}, kubeconfig: {kubeconfig}}}\n",
            state = root.join("state").display(),
            socket = root.join("socket").display(),
            home = home.bare.display(),
            kubeconfig = kubeconfig.display(),
        );
        std::fs::write(&settings, text).unwrap();
        Self { process: Some(run(scratch, &settings)), client: client(&root.join("socket")), settings, metrics }
    }

    /// Ends it as a crash would.
    pub(crate) fn end(&mut self) {
        self.process = None;
    }

    /// Starts it again.
    pub(crate) fn start_again(&mut self, scratch: &Scratch) {
        self.process = Some(run(scratch, &self.settings));
        self.client = client(&scratch.path().join("socket"));
    }

    /// Reads a path of the API below the instance, or nothing while it does not answer.
    pub(crate) async fn read(&self, path: &str) -> Option<Value> {
        let url = format!("http://localhost/api/v1/instances/home{path}");
        let text = self.client.get(url).send().await.ok()?.text().await.ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns its counters, or nothing while it does not answer.
    pub(crate) async fn passes(&self) -> Option<Passes> {
        let text = self.counted().await?;
        let open = sum(&text, "controller_runtime_active_workers{") + sum(&text, "workqueue_depth{");
        Some(Passes { ended: sum(&text, "controller_runtime_reconcile_total{"), open })
    }

    /// Returns how many requests it has sent to the cluster, the openings of watches left out.
    pub(crate) async fn requests(&self) -> Option<u64> {
        Some(sum(&self.counted().await?, "rest_client_requests_total{"))
    }

    async fn counted(&self) -> Option<String> {
        let url = format!("http://{}/metrics", self.metrics);
        Client::new().get(url).send().await.ok()?.text().await.ok()
    }

    /// Waits until so many passes have ended and none is left to do.
    pub(crate) async fn until_passed(&self, wanted: u64) {
        while !self.passes().await.is_some_and(|passes| passes.ended >= wanted && passes.open == 0) {
            pause(COUNTED).await;
        }
    }

    /// Waits until no pass runs or waits for a while.
    pub(crate) async fn until_quiet(&self) {
        let mut before = Passes { ended: 0, open: 1 };
        loop {
            pause(QUIET).await;
            let now = self.passes().await.unwrap_or(before);
            if now.open == 0 && now.ended == before.ended {
                return;
            }
            before = now;
        }
    }

    /// Waits until a condition on an answer of the API holds.
    pub(crate) async fn until(&self, path: &str, condition: impl Fn(&Value) -> bool) {
        loop {
            if self.read(path).await.is_some_and(|answer| condition(&answer)) {
                return;
            }
            pause(LOOK).await;
        }
    }

    fn id(&self) -> u32 {
        self.process.as_ref().map(Process::id).unwrap()
    }

    /// Returns the anonymous memory that the process holds, in KiB.
    pub(crate) fn anonymous_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Returns the processor time that the process has used.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(self.id())
    }
}

/// Returns the sum of all series of a metric.
fn sum(text: &str, name: &str) -> u64 {
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Returns the processor time that a process has used.
pub(crate) fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|place| fields.get(*place).unwrap().parse::<u64>().unwrap()).sum();
    // The kernel counts these in hundredths of a second on every platform that we know.
    Duration::from_millis(ticks * 10)
}

/// Lets time pass.
pub(crate) async fn pause(time: Duration) {
    tokio::time::timeout(time, std::future::pending::<()>()).await.ok();
}

fn run(scratch: &Scratch, settings: &Path) -> Process {
    let built = env!("CARGO_BIN_EXE_wild");
    let mut command = Command::new(std::env::var_os("WILD_BENCH_BINARY").unwrap_or_else(|| built.into()));
    command.args(["daemon", "--config"]).arg(settings).current_dir(scratch.path()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", scratch.path());
    command.env("WILD_LOG", std::env::var_os("WILD_LOG").unwrap_or_else(|| "warn".into()));
    Process::start(scratch, "wild", command).unwrap()
}

fn client(socket: &Path) -> Client {
    Client::builder().unix_socket(socket).no_proxy().build().unwrap()
}
