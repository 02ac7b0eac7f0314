//! A whole instance in a private directory: upstream with history, instance repository, a cluster, daemon in process.
//!
//! Also read by `tests/live/weather.rs`. Not here: what is told with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rewild::base::Timestamp;
use rewild::daemon::{Daemon, Handle, Start, Work};
use rewild::git::{self, Layout, Repository};
use rewild::model::{AppName, AppState, CommitId, InstanceName, Operation, OperationState, Reason, Request, Trigger};
use rewild::package;
use rewild::pipeline;
use rewild::sandbox::{self, Sandbox};
use rewild::settings::{DaemonSettings, InstanceEntry, KeycloakEntry, StateDirectory};
use rewild::store::Store;
use rewild::target::{Access, Patience};
use serde_json::json;

use crate::commits::{change, clock, commit, commit_tree, slow_clock, stepped_clock};
use crate::scripts_api::shape::unknown;

/// Operations of which a test that fails shows a line each.
const SHOWN_OPERATIONS: usize = 60;
/// How long a condition is waited for before the world is shown and the test fails: long enough for a machine that does much else.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// Requests are given up ten times sooner than in the product.
pub(crate) const HASTY: Patience = Patience {
    haste: 10,
    stream: Duration::from_secs(290),
    idle: Duration::from_secs(150),
    fresh: Duration::from_secs(180),
    page: 500,
    quiet: Duration::from_secs(70),
    relist: Duration::from_secs(3_600),
    unused: Duration::from_secs(60),
    clock: rewild::target::since_boot,
};

/// The cluster's audit log.
const AUDIT_LOG: &str = "audit.log";

/// Identity of the instance of a world that has its cluster for itself.
const ID: &str = "k3f7q2m5xd";

/// The cluster of a world.
pub(crate) trait Ground {
    /// Returns its address.
    fn url(&self) -> String;
    /// Returns a kubeconfig as text.
    fn kubeconfig(&self) -> String;
    /// Returns a client of our own that it knows.
    fn client(&self) -> reqwest::Client;
}

impl Ground for Sandbox {
    fn url(&self) -> String {
        Self::url(self).to_owned()
    }

    fn kubeconfig(&self) -> String {
        Self::kubeconfig(self)
    }

    fn client(&self) -> reqwest::Client {
        reqwest::Client::new()
    }
}

/// The world of one test. When it ends, every request that was sent to a sandbox must be of a shape that the recorded scripts hold.
pub(crate) struct World<C: Ground = Sandbox> {
    pub(crate) daemon: Daemon,
    pub(crate) handle: Handle,
    pub(crate) cluster: C,
    pub(crate) repository: Repository,
    pub(crate) upstream: Repository,
    settings: DaemonSettings,
    clock: fn() -> Timestamp,
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl World {
    /// Starts a world on a sandbox, whose upstream stands before the first commit that names one of these versions.
    pub(crate) async fn start(before: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let audit_log = Some(directory.path().join(AUDIT_LOG));
        let sandbox = Sandbox::start(sandbox::Settings { audit_log, ..sandbox::Settings::default() }).await.unwrap();
        Self::start_on(directory, sandbox, ID, before).await
    }

    /// Returns the requests that the cluster was sent, watches excepted, as verb and address.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.root.join(AUDIT_LOG)).unwrap();
        let events = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let text = |event: &serde_json::Value, key: &str| event[key].as_str().unwrap().to_owned();
        let requests = events.map(|event| (text(&event, "verb"), text(&event, "requestURI")));
        requests.filter(|(_, uri)| !uri.contains("watch=")).map(|(verb, uri)| format!("{verb} {uri}")).collect()
    }

    /// Stops the cluster; nothing answers at its address any more.
    pub(crate) async fn stop_cluster(&mut self) {
        let other = Sandbox::start(sandbox::Settings::default()).await.unwrap();
        std::mem::replace(&mut self.cluster, other).stop().await;
    }
}

impl<C: Ground> World<C> {
    /// Starts a world in a directory, on a cluster that others may use as well: its instance has this identity.
    pub(crate) async fn start_on(directory: tempfile::TempDir, cluster: C, id: &str, before: &[&str]) -> Self {
        git::set_options().unwrap();
        let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = directory.path().to_owned();
        let upstream = Repository::init(&root.join("directory.git"), Layout::Bare, "main").await.unwrap();
        for commit in package::history() {
            if before.iter().any(|version| commit.message.starts_with(version)) {
                break;
            }
            commit_tree(&upstream, &commit.message, &commit.files).await;
        }
        let repository = Repository::init(&root.join("home.git"), Layout::Bare, "main").await.unwrap();
        let url = root.join("directory.git").display().to_string();
        let settings = format!(
            "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {id}\ndirectories:\n- name: sample\n  url: {url}\n  branch: main\n"
        );
        let config = "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\ncluster:\n  name: sandbox\napps: {}\n";
        commit(&repository, "main", "start", &[("config.yaml", Some(config)), (".wild/config.yaml", Some(&settings))])
            .await;
        let settings = format!(
            "instances: [{{name: home, path: {}}}]\negress: {{allow: [\"{url}\"]}}\n",
            root.join("home.git").display()
        );
        let settings = DaemonSettings::parse("daemon.yaml", &settings).unwrap();
        let daemon = open(&settings, &root, Access::Text(cluster.kubeconfig()), clock).await;
        let handle = daemon.instance("home").unwrap();
        let world =
            Self { daemon, handle, cluster, repository, upstream, settings, clock, root, _directory: directory };
        world.fetch().await;
        world
    }

    /// Returns the directory in which everything of the world lies.
    pub(crate) fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// Stops the daemon, so that nothing is written any more.
    pub(crate) async fn stop(&self) {
        self.daemon.stop().await;
    }

    /// Stops the daemon and starts another on the same state.
    pub(crate) async fn restart(&mut self) {
        self.restart_unknown(Access::Text(self.cluster.kubeconfig())).await;
    }

    /// Stops the daemon and starts another that reaches the cluster by another address.
    pub(crate) async fn restart_through(&mut self, address: &str) {
        self.restart_unknown(Access::Text(kubeconfig_of(address))).await;
    }

    /// Stops the daemon and starts another that waits less long.
    pub(crate) async fn restart_with(&mut self, patience: Patience) {
        self.restart_unknown(Access::Hurried(self.cluster.kubeconfig(), patience)).await;
    }

    /// The same, with a daemon that reaches the cluster by another address.
    pub(crate) async fn restart_hurried(&mut self, address: &str, patience: Patience) {
        self.restart_unknown(Access::Hurried(kubeconfig_of(address), patience)).await;
    }

    /// Stops the daemon and starts another whose clock hardly moves.
    pub(crate) async fn restart_slow(&mut self) {
        self.clock = slow_clock;
        self.restart().await;
    }

    /// Stops the daemon and starts another by the clock that the test steps.
    pub(crate) async fn restart_stepped<const CLOCK: usize>(&mut self) {
        self.clock = stepped_clock::<CLOCK>;
        self.restart().await;
    }

    /// Stops the daemon and starts another whose settings say this of its clusters, and that reaches them like this.
    pub(crate) async fn restart_signed(&mut self, clusters: &str, access: Access) {
        self.settings.clusters = DaemonSettings::parse("daemon.yaml", clusters).unwrap().clusters;
        self.restart_by(access).await;
    }

    /// The same, where a cluster with an authority of its own is not remembered: the plain address of a proxy would count as another one.
    async fn restart_unknown(&mut self, access: Access) {
        if self.cluster.url().starts_with("https:") {
            let id = self.handle.instance().id.clone();
            self.daemon.stop().await;
            let store = Store::open(&self.root.join("state/wild.db")).await.unwrap();
            store.put_cursor(&id, "clusters", "{}").await.unwrap();
            store.close().await;
        }
        self.restart_by(access).await;
    }

    /// Stops the daemon and starts another that reaches the cluster like this.
    pub(crate) async fn restart_by(&mut self, access: Access) {
        self.daemon.stop().await;
        self.daemon = open(&self.settings, &self.root, access, self.clock).await;
        self.handle = self.daemon.instance("home").unwrap();
    }

    /// Stops the daemon and starts another that knows a Keycloak.
    pub(crate) async fn restart_with_keycloak(&mut self, keycloak: KeycloakEntry) {
        self.settings.instances[0].keycloak = Some(keycloak);
        self.restart().await;
    }

    /// Stops the daemon and returns why one with a second instance, on another branch of the same repository, does not open that one.
    pub(crate) async fn second_instance(&mut self, branch: &str) -> String {
        self.daemon.stop().await;
        let mut settings = self.settings.clone();
        let first = settings.instances[0].clone();
        settings.instances.push(InstanceEntry {
            name: InstanceName::parse("second").unwrap(),
            branch: branch.to_owned(),
            ..first
        });
        let state = StateDirectory::open(&self.root.join("state")).unwrap();
        let access = Some(Access::Text(self.cluster.kubeconfig()));
        let start = Start { state, clock: self.clock, access, work: Work::Requests };
        let daemon = Daemon::start(settings, start).await.unwrap();
        let closed = daemon.closed();
        daemon.stop().await;
        let refusal = &closed.first().unwrap().refusal;
        format!("{}: {}", refusal.what, refusal.because)
    }

    /// Stops the daemon, loses its store and starts another.
    pub(crate) async fn restart_without_store(&mut self) {
        self.daemon.stop().await;
        for file in ["wild.db", "wild.db-wal", "wild.db-shm"] {
            let _ = std::fs::remove_file(self.root.join("state").join(file));
        }
        assert!(!self.root.join("state/wild.db").exists());
        self.restart().await;
    }

    /// Stops the daemon, loses the key of its hashes and starts another.
    pub(crate) async fn restart_without_key(&mut self) {
        self.daemon.stop().await;
        self.lose_key();
        self.restart().await;
    }

    /// Stops the daemon, loses its store and the key of its hashes and starts another.
    pub(crate) async fn restart_without_key_and_store(&mut self) {
        self.daemon.stop().await;
        self.lose_key();
        self.restart_without_store().await;
    }

    fn lose_key(&self) {
        for instance in std::fs::read_dir(self.root.join("state/instances")).unwrap() {
            std::fs::remove_file(instance.unwrap().path().join("hash.key")).unwrap();
        }
    }

    /// Wakes an app as the schedule does and waits until it was looked at.
    pub(crate) async fn look_again(&self, app: &str) {
        let since = (self.clock)();
        self.handle.wake(Trigger { app: Some(AppName::parse(app).unwrap()), reason: Reason::Scheduled });
        self.looked_at(app, since).await;
    }

    /// Waits until an app was looked at after a time.
    pub(crate) async fn looked_at(&self, app: &str, since: Timestamp) {
        self.until(&format!("{app} is looked at"), async || {
            self.state(app).await.is_some_and(|state| state.observed_at > since)
        })
        .await;
    }

    /// Runs the git program on the instance repository and returns whether it succeeded and what it said.
    pub(crate) fn git(&self, args: &[&str]) -> (bool, String) {
        let mut git = std::process::Command::new("git");
        let output = git.arg("--git-dir").arg(self.root.join("home.git")).args(args).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Stops the daemon and starts another that keeps the instance equal to a forge, which hides our refs and takes none; returns where it
    /// lies.
    pub(crate) async fn restart_beside_a_forge(&mut self) -> String {
        let forge = self.root.join("forge.git").display().to_string();
        assert!(self.git(&["init", "-q", "--bare", "-b", "main", &forge]).0);
        assert!(self.git(&["--git-dir", &forge, "config", "transfer.hideRefs", "refs/wild"]).0);
        self.settings.instances[0].remote = forge.clone();
        self.restart().await;
        forge
    }

    /// Stops the daemon and starts another that has nothing but what a forge shows.
    pub(crate) async fn restart_on_a_clone_of(&mut self, forge: &str) {
        self.daemon.stop().await;
        let home = self.root.join("home.git");
        std::fs::remove_dir_all(&home).unwrap();
        assert!(self.git(&["clone", "-q", "--bare", forge, &home.display().to_string()]).0);
        self.repository = Repository::open(&home).await.unwrap();
        self.restart_without_store().await;
    }

    /// Runs a script as a person does in a fresh clone of the instance repository.
    pub(crate) fn in_a_clone(&self, script: &str) {
        self.in_a_clone_of(&self.root.join("home.git").display().to_string(), script);
    }

    /// Runs a script as a person does in a fresh clone of a repository.
    pub(crate) fn in_a_clone_of(&self, path: &str, script: &str) {
        let clone = tempfile::tempdir_in(&self.root).unwrap();
        let identity = "git config user.name alice && git config user.email alice@example.org";
        let script = format!("git clone -q --no-local \"$1\" \"$2\" && cd \"$2\" && {identity}\n{script}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", &script, "sh"]).arg(path).arg(clone.path().join("clone"));
        // The person has no configuration, whatever whoever runs the tests has.
        shell.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the versions of all objects of the kinds that packages use, by path, read without our code.
    pub(crate) async fn versions(&self) -> BTreeMap<String, String> {
        // Every namespace carries its name as a label.
        let core = [
            "namespaces?labelSelector=kubernetes.io%2Fmetadata.name",
            "configmaps",
            "secrets",
            "services",
            "persistentvolumeclaims",
        ];
        let core = core.map(|plural| format!("/api/v1/{plural}"));
        let others = ["apps/v1/deployments", "apps/v1/statefulsets", "batch/v1/jobs", "networking.k8s.io/v1/ingresses"];
        let mut versions = BTreeMap::new();
        for path in core.into_iter().chain(others.map(|path| format!("/apis/{path}"))) {
            let list = self.get(&path).await.unwrap();
            for item in list["items"].as_array().unwrap() {
                let metadata = &item["metadata"];
                let key = format!("{path} {} {}", metadata["namespace"], metadata["name"]);
                versions.insert(key, metadata["resourceVersion"].to_string());
            }
        }
        versions
    }

    /// Makes an object in the cluster as another tool would.
    pub(crate) async fn make(&self, path: &str, body: serde_json::Value) {
        self.make_as("helm", path, body).await;
    }

    /// Makes an object in the cluster under the name of a field manager.
    pub(crate) async fn make_as(&self, manager: &str, path: &str, body: serde_json::Value) {
        let answer = self
            .cluster
            .client()
            .post(format!("{}{path}?fieldManager={manager}", self.cluster.url()))
            .header("Content-Type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// Commits to the deployed branch as a person who pushes.
    pub(crate) async fn push(&self, message: &str, changes: &[(&str, Option<&str>)]) -> CommitId {
        commit(&self.repository, "main", message, changes).await
    }

    /// Replaces a text in a file of the deployed branch, which must hold it once, and pushes.
    pub(crate) async fn edit(&self, path: &str, from: &str, to: &str) -> CommitId {
        let replaced = |text: &str| {
            assert_eq!(text.matches(from).count(), 1, "{text}");
            text.replace(from, to)
        };
        change(&self.repository, "main", (&format!("edit {path}"), path), replaced).await
    }

    /// Adds lines to the settings of the instance, which the daemon writes too, pushes, and has that looked at before anything else comes.
    pub(crate) async fn set(&self, lines: &str) -> CommitId {
        let settings = ("settings", ".wild/config.yaml");
        let commit = change(&self.repository, "main", settings, |text| format!("{text}{lines}")).await;
        // A daemon that is stopped looks at the next start.
        let _ = pipeline::seen(self.handle.instance()).await;
        commit
    }

    /// Returns the head of the deployed branch.
    pub(crate) async fn head(&self) -> CommitId {
        self.repository.head("main").await.unwrap().unwrap()
    }

    /// Returns the state of one of our statuses on a commit.
    pub(crate) async fn status(&self, commit: &CommitId, context: &str) -> Option<String> {
        let instance = self.handle.instance();
        let statuses = instance.store.statuses(&instance.id, commit).await.unwrap();
        statuses.into_iter().find(|status| status.context.starts_with(context)).map(|status| status.state)
    }

    /// Adds the next commits of the upstream's history up to the one that begins with this text, and fetches them.
    pub(crate) async fn publish(&self, upto: &str) {
        let done =
            self.upstream.log(&self.upstream.head("main").await.unwrap().unwrap(), 1_000, None).await.unwrap().len();
        for commit in package::history().into_iter().skip(done) {
            commit_tree(&self.upstream, &commit.message, &commit.files).await;
            if commit.message.starts_with(upto) {
                break;
            }
        }
        self.fetch().await;
    }

    /// Fetches the upstream.
    pub(crate) async fn fetch(&self) {
        let want = self.upstream.head("main").await.unwrap();
        self.handle.fetch();
        self.until("the upstream is fetched", async || {
            self.repository.read_ref("refs/wild/upstream/sample/main").await.unwrap() == want
        })
        .await;
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
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
            panic!("{what}: not within {} s\n{}", DEADLINE.as_secs(), self.show().await);
        }
    }

    /// Asks and waits for the end of the operation.
    pub(crate) async fn ask(&self, request: Request) -> Operation {
        let asked = self.handle.ask(request, "alice").await.unwrap();
        let instance = self.handle.instance();
        self.until(&format!("{} ends", asked.id), async || {
            let now = instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap();
            !matches!(now.state, OperationState::Waiting | OperationState::Running)
        })
        .await;
        instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap()
    }

    /// Asks and expects that it is done.
    pub(crate) async fn done(&self, request: Request) -> Operation {
        let ended = self.ask(request).await;
        assert_eq!(ended.state, OperationState::Succeeded, "{ended:#?}\n{}", self.show().await);
        ended
    }

    /// Returns what is known of an app.
    pub(crate) async fn state(&self, app: &str) -> Option<AppState> {
        let instance = self.handle.instance();
        let app = AppName::parse(app).unwrap();
        instance.store.app_state(&instance.id, &app).await.unwrap().map(|state| AppState::clone(&state))
    }

    /// Waits until an app is applied and healthy.
    pub(crate) async fn healthy(&self, app: &str) {
        self.until(&format!("{app} is healthy"), async || {
            self.state(app).await.is_some_and(|state| state.intent == "applied" && state.health == "healthy")
        })
        .await;
    }

    /// Reads an object from the cluster without our code.
    pub(crate) async fn get(&self, path: &str) -> Option<serde_json::Value> {
        let answer = self.cluster.client().get(format!("{}{path}", self.cluster.url())).send().await.unwrap();
        if answer.status() == 404 { None } else { Some(answer.json().await.unwrap()) }
    }

    /// Changes an object in the cluster as a person would.
    pub(crate) async fn patch(&self, path: &str, body: serde_json::Value) {
        let (code, said) = self.try_patch(path, body).await;
        assert!(code.is_success(), "{said}");
    }

    /// Changes an object as a program would that sets fields under a name.
    pub(crate) async fn patch_as(&self, manager: &str, path: &str, body: serde_json::Value) {
        let (code, said) = self.send_patch((manager, "merge-patch"), path, body).await;
        assert!(code.is_success(), "{said}");
    }

    /// The same, by the steps of a JSON patch.
    pub(crate) async fn json_patch_as(&self, manager: &str, path: &str, steps: serde_json::Value) {
        let (code, said) = self.send_patch((manager, "json-patch"), path, steps).await;
        assert!(code.is_success(), "{said}");
    }

    /// Changes an object that may be gone meanwhile, and returns what the cluster said.
    pub(crate) async fn try_patch(&self, path: &str, body: serde_json::Value) -> (reqwest::StatusCode, String) {
        self.send_patch(("kubectl-edit", "merge-patch"), path, body).await
    }

    async fn send_patch(
        &self,
        (manager, sort): (&str, &str),
        path: &str,
        body: serde_json::Value,
    ) -> (reqwest::StatusCode, String) {
        let answer = self
            .cluster
            .client()
            .patch(format!("{}{path}?fieldManager={manager}", self.cluster.url()))
            .header("Content-Type", format!("application/{sort}+json"))
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    /// Deletes an object as it was read last, and what it made.
    pub(crate) async fn delete_as_read(&self, path: &str) {
        let sent = async || {
            let metadata = self.get(path).await.unwrap()["metadata"].clone();
            let same = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": same});
            let delete = self.cluster.client().delete(format!("{}{path}", self.cluster.url()));
            let delete = delete.header("Content-Type", "application/json").body(options.to_string());
            delete.send().await.unwrap().status().is_success()
        };
        self.until("it is deleted", sent).await;
    }

    /// Deletes an object as a person would, if it is there.
    pub(crate) async fn try_delete(&self, path: &str) {
        let answer = self.cluster.client().delete(format!("{}{path}", self.cluster.url())).send().await.unwrap();
        assert!(answer.status().is_success() || answer.status() == 404, "{path}: {}", answer.status());
    }

    /// Returns a file at the head of a branch.
    pub(crate) async fn file(&self, branch: &str, path: &str) -> Option<String> {
        let head = self.repository.head(branch).await.unwrap()?;
        self.repository.read_tree(&head, &[path]).await.unwrap().text(path).map(str::to_owned)
    }

    /// Returns all that the daemon keeps and tells, for a search of what must not be in it.
    pub(crate) async fn kept(&self) -> String {
        let files = ["wild.db", "wild.db-wal"].map(|file| std::fs::read(self.root.join("state").join(file)));
        let stored = files.into_iter().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let told = [self.show().await, self.daemon.metrics().encode()];
        stored.chain(told).collect()
    }

    /// Returns what the daemon knows and did, for a test that fails: a line each first, because the end of a long report is cut off.
    pub(crate) async fn show(&self) -> String {
        let instance = self.handle.instance();
        let states = instance.store.app_states(&instance.id).await.unwrap();
        let operations = instance.store.operations(&instance.id, &Default::default()).await.unwrap();
        let events = instance.store.events(&instance.id, None, 50).await.unwrap();
        let mut lines = vec![format!("now {:?}", clock())];
        for state in &states {
            let AppState { name, intent, health, reason, needs_you, hint, lifecycle, observed_at, .. } = &**state;
            lines.push(format!(
                "{name}: {lifecycle} {intent} {health} {reason:?} {needs_you:?} {hint:?} at {observed_at:?}"
            ));
        }
        for operation in operations.iter().take(SHOWN_OPERATIONS) {
            let Operation { id, verb, app, trigger, state, outcome, message, started, ended, .. } = operation;
            let app = app.as_ref().map_or("", AppName::as_str);
            lines.push(format!("{id} {verb} {app} {trigger} {state:?} {outcome:?} {message:?} {started:?}..{ended:?}"));
        }
        format!("{}\n{states:#?}\n{operations:#?}\n{events:#?}", lines.join("\n"))
    }
}

impl<C: Ground> Drop for World<C> {
    fn drop(&mut self) {
        let log = self.root.join(AUDIT_LOG);
        if std::thread::panicking() || !log.exists() {
            return;
        }
        let log = std::fs::read_to_string(log).unwrap();
        let unknown = unknown(&log);
        let why = "no script of fixtures/scripts/api asks these of a real API server";
        assert!(unknown.is_empty(), "{why}:\n{}", unknown.join("\n"));
    }
}

/// Returns the kubeconfig of a server that asks nobody who he is.
pub(crate) fn kubeconfig_of(address: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": address}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
        "current-context": "proxy",
    })
    .to_string()
}

async fn open(settings: &DaemonSettings, root: &std::path::Path, access: Access, clock: fn() -> Timestamp) -> Daemon {
    let state = StateDirectory::open(&root.join("state")).unwrap();
    let start = Start { state, clock, access: Some(access), work: Work::Everything };
    Daemon::start(settings.clone(), start).await.unwrap()
}

/// Returns an app's name.
pub(crate) fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}
