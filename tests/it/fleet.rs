//! Two instances in sub-directories of one repository, each with a cluster of its own, under one daemon.
//!
//! The second one is asked after everything that happens to the first. Not here: an instance at the top (`line`).

mod apart;
mod refused;
mod together;

use std::path::PathBuf;
use std::time::Duration;

use rewild::daemon::{Daemon, Handle, Start, Work};
use rewild::git::{self, Layout, Repository};
use rewild::model::{AppState, CommitId, InstanceId, Operation, OperationState, Reason, Request, Trigger};
use rewild::package;
use rewild::sandbox::{self, Sandbox};
use rewild::settings::{DaemonSettings, StateDirectory};

use crate::commits::{clock, commit, commit_tree};
use crate::world::app;

/// Where the two live, their names and their identities.
const PLACES: [(&str, &str, &str); 2] =
    [("clusters/home", "home", "k3f7q2m5xd"), ("clusters/cabin", "cabin", "q2m5xdk3f7")];
/// How long a condition is waited for before the test fails.
const DEADLINE: Duration = Duration::from_secs(60);
const CONFIG: &str =
    "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\ncluster:\n  name: sandbox\napps: {}\n";

/// The repository, its two instances and their clusters.
struct Fleet {
    daemon: Daemon,
    repository: Repository,
    upstream: Repository,
    clusters: [Sandbox; 2],
    settings: DaemonSettings,
    root: PathBuf,
    _directory: tempfile::TempDir,
}

/// One of the two instances.
struct Side<'a> {
    fleet: &'a Fleet,
    handle: Handle,
    cluster: &'a Sandbox,
    place: &'static str,
}

impl Fleet {
    /// Starts both, with an upstream before the first commit that names this version.
    async fn start(before: &str) -> Self {
        git::set_options().unwrap();
        let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let upstream = Repository::init(&root.join("directory.git"), Layout::Bare, "main").await.unwrap();
        for commit in package::history().iter().take_while(|commit| !commit.message.starts_with(before)) {
            commit_tree(&upstream, &commit.message, &commit.files).await;
        }
        let repository = Repository::init(&root.join("fleet.git"), Layout::Bare, "main").await.unwrap();
        let url = root.join("directory.git").display().to_string();
        let state = StateDirectory::open(&root.join("state")).unwrap();
        let mut clusters = Vec::new();
        for (place, _, id) in PLACES {
            let settings = format!(
                "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {id}\ndirectories:\n- name: sample\n  url: {url}\n  branch: main\n"
            );
            let paths = [format!("{place}/config.yaml"), format!("{place}/.wild/config.yaml")];
            let files = [(paths[0].as_str(), Some(CONFIG)), (paths[1].as_str(), Some(settings.as_str()))];
            commit(&repository, "main", &format!("start {place}"), &files).await;
            let cluster = Sandbox::start(sandbox::Settings::default()).await.unwrap();
            let own = state.instance(&InstanceId::parse(id).unwrap()).unwrap();
            std::fs::write(own.kubeconfig(), cluster.kubeconfig()).unwrap();
            clusters.push(cluster);
        }
        let path = root.join("fleet.git").display().to_string();
        let entries: Vec<String> = PLACES
            .iter()
            .map(|(place, name, _)| format!("{{name: {name}, path: {path}, subdirectory: {place}}}"))
            .collect();
        let settings = format!("instances: [{}]\negress: {{allow: [\"{url}\"]}}\n", entries.join(", "));
        let settings = DaemonSettings::parse("daemon.yaml", &settings).unwrap();
        let daemon = open(&settings, &root).await.unwrap();
        let clusters = <[Sandbox; 2]>::try_from(clusters).ok().unwrap();
        let fleet = Self { daemon, repository, upstream, clusters, settings, root, _directory: directory };
        fleet.fetch().await;
        fleet
    }

    fn home(&self) -> Side<'_> {
        self.side(0)
    }

    fn cabin(&self) -> Side<'_> {
        self.side(1)
    }

    fn side(&self, index: usize) -> Side<'_> {
        let (place, name, _) = PLACES[index];
        Side { fleet: self, handle: self.daemon.instance(name).unwrap(), cluster: &self.clusters[index], place }
    }

    /// Stops the daemon and starts another on the same state.
    async fn restart(&mut self) {
        self.daemon.stop().await;
        self.daemon = open(&self.settings, &self.root).await.unwrap();
    }

    /// Fetches the upstream into both instances.
    async fn fetch(&self) {
        let want = self.upstream.head("main").await.unwrap();
        for side in [self.home(), self.cabin()] {
            side.handle.fetch();
            let name = format!("refs/wild/upstream/{}/sample/main", side.place);
            self.until("the upstream is fetched", async || self.repository.read_ref(&name).await.unwrap() == want)
                .await;
        }
    }

    /// Adds the next commits of the upstream's history up to the one that begins with this text, and fetches them.
    async fn publish(&self, upto: &str) {
        let head = self.upstream.head("main").await.unwrap().unwrap();
        let done = self.upstream.log(&head, 1_000, None).await.unwrap().len();
        for commit in package::history().into_iter().skip(done) {
            commit_tree(&self.upstream, &commit.message, &commit.files).await;
            if commit.message.starts_with(upto) {
                break;
            }
        }
        self.fetch().await;
    }

    /// Commits to the deployed branch as a person who pushes.
    async fn push(&self, message: &str, changes: &[(&str, Option<&str>)]) -> CommitId {
        commit(&self.repository, "main", message, changes).await
    }

    async fn head(&self) -> CommitId {
        self.repository.head("main").await.unwrap().unwrap()
    }

    /// Returns a file at the head of a branch.
    async fn file(&self, branch: &str, path: &str) -> Option<String> {
        let head = self.repository.head(branch).await.unwrap()?;
        self.repository.read_tree(&head, &[path]).await.unwrap().text(path).map(str::to_owned)
    }

    /// Runs git on the repository and returns what it said.
    fn git(&self, args: &[&str]) -> String {
        let (done, text) = self.try_git(args);
        assert!(done, "git {args:?}: {text}");
        text
    }

    fn try_git(&self, args: &[&str]) -> (bool, String) {
        let mut git = std::process::Command::new("git");
        let output = git.arg("--git-dir").arg(self.root.join("fleet.git")).args(args).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs a script as a person does in a fresh clone and returns whether it succeeded and what it complained of.
    fn in_a_clone(&self, script: &str) -> (bool, String) {
        let clone = tempfile::tempdir_in(&self.root).unwrap();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap().display().to_string();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap());
        let identity = "git config user.name alice && git config user.email alice@example.org";
        let script = format!("git clone -q --no-local \"$1\" \"$2\" && cd \"$2\" && {identity}\n{script}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", &script, "sh"]).arg(self.root.join("fleet.git")).arg(clone.path().join("clone"));
        shell.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        shell
            .env("PATH", path)
            .env("HOME", clone.path())
            .env("XDG_STATE_HOME", clone.path())
            .env_remove("XDG_RUNTIME_DIR");
        let output = shell.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        let met = async {
            loop {
                tick.tick().await;
                if condition().await {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, met).await.is_err() {
            let states = [self.home().states().await, self.cabin().states().await];
            panic!("{what}: not within {} s\n{states:#?}", DEADLINE.as_secs());
        }
    }
}

impl Side<'_> {
    /// Asks and waits for the end of the operation.
    async fn ask(&self, request: Request) -> Operation {
        let asked = self.handle.ask(request, "alice").await.unwrap();
        let instance = self.handle.instance();
        self.fleet
            .until(&format!("{} ends", asked.id), async || {
                let now = instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap();
                !matches!(now.state, OperationState::Waiting | OperationState::Running)
            })
            .await;
        instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap()
    }

    /// Asks and expects that it is done.
    async fn done(&self, request: Request) -> Operation {
        let ended = self.ask(request).await;
        assert_eq!(ended.state, OperationState::Succeeded, "{ended:#?}");
        ended
    }

    /// Adds and deploys apps and waits until each is healthy.
    async fn installed(&self, apps: &[&str]) {
        for name in apps {
            self.done(crate::line::add(name, &[])).await;
            self.done(crate::line::deploy(name)).await;
            self.healthy(name).await;
        }
    }

    async fn state(&self, name: &str) -> Option<AppState> {
        let instance = self.handle.instance();
        instance.store.app_state(&instance.id, &app(name)).await.unwrap().map(|state| AppState::clone(&state))
    }

    async fn states(&self) -> Vec<String> {
        let instance = self.handle.instance();
        let states = instance.store.app_states(&instance.id).await.unwrap();
        states
            .iter()
            .map(|state| format!("{}: {} {} {}", state.name, state.intent, state.health, state.needs_you))
            .collect()
    }

    async fn healthy(&self, name: &str) {
        self.fleet
            .until(&format!("{name} in {} is healthy", self.place), async || {
                self.state(name).await.is_some_and(|state| state.intent == "applied" && state.health == "healthy")
            })
            .await;
    }

    /// Wakes an app as the schedule does and waits until it was looked at.
    async fn look_again(&self, name: &str) {
        let since = clock();
        self.handle.wake(Trigger { app: Some(app(name)), reason: Reason::Scheduled });
        self.fleet
            .until(&format!("{name} in {} is looked at", self.place), async || {
                self.state(name).await.is_some_and(|state| state.observed_at > since)
            })
            .await;
    }

    /// Reads an object from the cluster without our code.
    async fn get(&self, path: &str) -> Option<serde_json::Value> {
        let answer = reqwest::get(format!("{}{path}", self.cluster.url())).await.unwrap();
        if answer.status() == 404 { None } else { Some(answer.json().await.unwrap()) }
    }

    /// Returns a file of the instance at the head of the deployed branch.
    async fn file(&self, path: &str) -> Option<String> {
        self.fleet.file("main", &self.path(path)).await
    }

    /// Returns a path of the instance as the repository has it.
    fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.place)
    }

    fn generated(&self, name: &str) -> String {
        format!("refs/wild/generated/{}/{name}", self.place)
    }

    fn update_branch(&self, name: &str) -> String {
        format!("wild/update/{}/{name}", self.place)
    }

    /// Returns the state of one of the instance's statuses on a commit.
    async fn status(&self, commit: &CommitId, context: &str) -> Option<String> {
        let instance = self.handle.instance();
        let statuses = instance.store.statuses(&instance.id, commit).await.unwrap();
        statuses.into_iter().find(|status| status.context == context).map(|status| status.state)
    }

    /// Returns everything that must stay as it is while something happens to the other instance: its files, its refs, its operations, and
    /// the version of an object in its cluster.
    async fn untouched(&self, object: &str) -> (String, String, usize, String) {
        let instance = self.handle.instance();
        let files = self.fleet.git(&["rev-parse", &format!("main:{}", self.place)]);
        let refs = self.fleet.git(&["for-each-ref", &format!("refs/wild/generated/{}", self.place)]);
        let branches = self.fleet.git(&["for-each-ref", &format!("refs/heads/wild/update/{}", self.place)]);
        let operations = instance.store.operations(&instance.id, &Default::default()).await.unwrap().len();
        let version = self.get(object).await.unwrap()["metadata"]["resourceVersion"].to_string();
        (files, format!("{refs}\n{branches}"), operations, version)
    }
}

async fn open(settings: &DaemonSettings, root: &std::path::Path) -> Result<Daemon, rewild::pipeline::Error> {
    let state = StateDirectory::open(&root.join("state")).unwrap();
    Daemon::start(settings.clone(), Start { state, clock, access: None, work: Work::Everything }).await
}
