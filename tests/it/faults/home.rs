//! An instance with a repository of its own, kept by a daemon that is another process, and what is done to it step by step.
//!
//! Also read by `tests/live/faults.rs`. Not here: the cluster, what is compared afterwards (`seen.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rewild::base::Timestamp;
use rewild::git::{self, Layout, NewCommit, Repository};
use rewild::model::{AppName, AppState, Author, InstanceId, OperationState};
use rewild::package;
use rewild::store::Store;
use serde_json::Value;
use tokio::time::timeout;

use super::child::{DEADLINE, End, POLL, Variables, Wild, git};
use super::seen;

/// Identity of the instance.
pub(crate) const ID: &str = "k3f7q2m5xd";
const CACHE: &str = "/apis/apps/v1/namespaces/quickcache/deployments/quickcache";
const DATABASE: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";

/// Something that a person does.
#[derive(Clone, Copy)]
pub(crate) enum Deed {
    /// Runs `wild` with these words; the number is its exit code.
    Run(&'static str, i32),
    /// Replaces a text in a file of a clone and pushes.
    Push { path: &'static str, from: &'static str, to: &'static str },
}

/// A deed, and what holds once it is done.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    deed: Deed,
    done: fn(&Glance) -> bool,
}

impl Step {
    /// Returns whether it makes a request.
    pub(crate) fn asks(&self) -> bool {
        matches!(self.deed, Deed::Run(..))
    }
}

/// What a step looks at to tell whether it is done.
pub(crate) struct Glance {
    states: Vec<Arc<AppState>>,
    cache: String,
    database: String,
    /// The branch on which an update waits.
    waiting: bool,
    apps: BTreeMap<String, String>,
    /// Volumes that outlive their claims.
    held: usize,
}

impl Glance {
    fn state(&self, app: &str) -> Option<&AppState> {
        self.states.iter().find(|state| state.name.as_str() == app).map(AsRef::as_ref)
    }

    fn runs(&self, app: &str) -> bool {
        self.state(app).is_some_and(|state| state.intent == "applied" && state.health == "healthy")
    }
}

/// The whole life of two apps: adding, deploying, customising, updating with and without a conflict, deciding, changing, deleting.
pub(crate) const LIFE: [Step; 11] = [
    Step {
        name: "add",
        deed: Deed::Run("app add quickcache --version 7.0 --no-wait", 0),
        done: |now| now.state("quickcache").is_some_and(|state| state.intent == "added"),
    },
    Step { name: "deploy", deed: Deed::Run("app deploy quickcache --no-wait", 0), done: |now| now.runs("quickcache") },
    Step {
        name: "customise",
        deed: Deed::Push { path: "apps/quickcache/deployment.yaml", from: "replicas: 1", to: "replicas: 2" },
        done: |now| now.runs("quickcache") && now.cache.contains("\"replicas\":2"),
    },
    Step {
        name: "update",
        deed: Deed::Run("app update quickcache --to 7.2 --no-wait", 0),
        done: |now| now.runs("quickcache") && now.cache.contains("quickcache:7.2"),
    },
    Step {
        name: "add and deploy",
        deed: Deed::Run("app add stonedb --version 15.4 --deploy --no-wait", 0),
        done: |now| now.runs("stonedb"),
    },
    Step {
        name: "customise what will conflict",
        deed: Deed::Push {
            path: "apps/stonedb/statefulset.yaml",
            from: "stonedb/server:15.4",
            to: "stonedb/server:15.4-ours",
        },
        done: |now| now.runs("stonedb") && now.database.contains("stonedb/server:15.4-ours"),
    },
    Step {
        name: "conflicting update",
        deed: Deed::Run("app update stonedb --to 15.5 --no-wait", 0),
        done: |now| {
            now.waiting && now.runs("stonedb") && now.state("stonedb").is_some_and(|state| state.conflicts == 1)
        },
    },
    Step {
        name: "resolve",
        deed: Deed::Run("app resolve stonedb --take mine", 0),
        done: |now| !now.waiting && now.runs("stonedb") && now.database.contains("livenessProbe"),
    },
    Step {
        name: "config",
        deed: Deed::Run("app config quickcache set maxMemory=1gb", 0),
        done: |now| now.runs("quickcache") && now.cache.contains("maxmemory=1gb"),
    },
    Step {
        name: "delete",
        deed: Deed::Run("app delete stonedb --yes --no-wait", 0),
        done: |now| now.state("stonedb").is_none() && !now.apps.contains_key("stonedb"),
    },
    Step {
        name: "delete with data",
        deed: Deed::Run("app delete quickcache --delete-data --yes --no-wait", 0),
        done: |now| now.state("quickcache").is_none() && !now.apps.contains_key("quickcache"),
    },
];

/// An app goes with its data, is called back, and goes for good.
pub(crate) const CALLED_BACK: [Step; 4] = [
    Step {
        name: "add and deploy",
        deed: Deed::Run("app add stonedb --version 15.4 --deploy --no-wait", 0),
        done: |now| now.runs("stonedb"),
    },
    Step {
        name: "delete with data",
        deed: Deed::Run("app delete stonedb --delete-data --yes --no-wait", 0),
        done: |now| now.state("stonedb").is_none() && !now.apps.contains_key("stonedb") && now.held == 1,
    },
    Step { name: "undo", deed: Deed::Run("undo", 0), done: |now| now.runs("stonedb") && now.held == 0 },
    Step {
        name: "delete at once",
        deed: Deed::Run("app delete stonedb --delete-data --force --yes --no-wait", 0),
        done: |now| now.state("stonedb").is_none() && !now.apps.contains_key("stonedb") && now.held == 0,
    },
];

/// An API server that an instance is deployed to.
pub(crate) trait Cluster {
    /// Returns a kubeconfig as text.
    fn kubeconfig(&self) -> String;

    /// Reads a path without our code; nothing if it is not there.
    async fn read(&self, path: &str) -> Option<Value>;
}

/// Makes the upstream of all homes below a directory, so that every home is compiled from the same commits.
pub(crate) async fn make_upstream(above: &Path) {
    git::set_options().unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let upstream = Repository::init(&above.join("directory.git"), Layout::Bare, "main").await.unwrap();
    let person = Author { name: "upstream".into(), email: "upstream@example.org".into() };
    for commit in package::history() {
        let head = upstream.head("main").await.unwrap();
        let new = NewCommit {
            reference: "refs/heads/main".into(),
            expected: head.clone(),
            base_tree: None,
            changes: commit.files.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect(),
            parents: head.into_iter().collect(),
            author: person.clone(),
            committer: person.clone(),
            message: commit.message,
            time: Timestamp(1_700_000_000_000_000),
        };
        upstream.commit(new).await.unwrap();
    }
}

/// The instance.
pub(crate) struct Home<C> {
    pub(crate) wild: Wild,
    pub(crate) root: PathBuf,
    pub(crate) cluster: C,
    pub(crate) store: Store,
    pub(crate) repository: Repository,
    pub(crate) id: InstanceId,
}

impl<C: Cluster> Home<C> {
    /// Makes an instance in a new directory below the one with the upstream, and starts its daemon.
    pub(crate) async fn start(above: &Path, name: &str, layout: Layout, cluster: C) -> Self {
        Self::start_as(above, name, (ID, layout), cluster).await
    }

    /// The same, for an instance of this identity.
    pub(crate) async fn start_as(above: &Path, name: &str, (id, layout): (&str, Layout), cluster: C) -> Self {
        Self::start_in(above, name, (id, layout, Vec::new()), cluster).await
    }

    /// The same, with more of an environment for the daemon.
    pub(crate) async fn start_in(
        above: &Path,
        name: &str,
        (id, layout, environment): (&str, Layout, Variables),
        cluster: C,
    ) -> Self {
        let root = above.join(name);
        std::fs::create_dir_all(&root).unwrap();
        let url = above.join("directory.git").display().to_string();
        write_settings(&root, &url, &cluster.kubeconfig());
        // The hashes on live objects hang on this key.
        std::fs::create_dir_all(root.join("state/instances").join(id)).unwrap();
        std::fs::write(root.join("state/instances").join(id).join("hash.key"), [7; 32]).unwrap();
        let mut wild = Wild::new(&root, environment);
        let repository = make_repository(&root, id, &url, layout).await;
        wild.start().await;
        let fetched = wild.run(&["directory", "fetch"]).await;
        assert!(fetched.status.success(), "{fetched:?}\n{}", wild.log());
        let store = Store::open(&root.join("state/wild.db")).await.unwrap();
        Self { wild, root, cluster, store, repository, id: InstanceId::parse(id).unwrap() }
    }

    /// Does what a step says. While a point is armed the daemon may be gone before it has answered.
    pub(crate) async fn act(&self, step: &Step, may_fail: bool) {
        match &step.deed {
            Deed::Run(words, code) => {
                let args: Vec<&str> = words.split(' ').collect();
                let output = self.wild.run(&args).await;
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(may_fail || output.status.code() == Some(*code), "wild {words}: {text}\n{}", self.wild.log());
            }
            Deed::Push { path, from, to } => {
                git(&self.root, "clone", &["pull", "-q", "--ff-only", "origin", "main"]);
                let file = self.root.join("clone").join(path);
                let text = std::fs::read_to_string(&file).unwrap();
                assert_eq!(text.matches(from).count(), 1, "{path}:\n{text}");
                std::fs::write(&file, text.replace(from, to)).unwrap();
                git(&self.root, "clone", &["commit", "-qam", step.name]);
                git(&self.root, "clone", &["push", "-q", "origin", "HEAD:main"]);
            }
        }
    }

    /// Waits until a step is done and nothing is left to do, or the daemon has ended.
    pub(crate) async fn quiet(&mut self, step: &Step) -> Option<End> {
        let waited = timeout(DEADLINE, async {
            let mut tick = tokio::time::interval(POLL);
            loop {
                tick.tick().await;
                if let Some(end) = self.wild.ended() {
                    return Some(end);
                }
                if self.is_at_rest().await && (step.done)(&self.glance().await) {
                    return None;
                }
            }
        });
        match waited.await {
            Ok(end) => end,
            Err(_) => {
                panic!("{} {}: not done\n{}\n{}", self.root.display(), step.name, self.show().await, self.wild.log())
            }
        }
    }

    /// Returns whether every operation is closed, every status final and told, and the ApplySet names what stands.
    async fn is_at_rest(&self) -> bool {
        for state in [OperationState::Waiting, OperationState::Running] {
            if !self.store.operations_in(&self.id, state).await.unwrap().is_empty() {
                return false;
            }
        }
        let head = self.repository.head("main").await.unwrap().unwrap();
        let statuses = self.store.statuses(&self.id, &head).await.unwrap();
        let is_final = !statuses.is_empty() && statuses.iter().all(|status| status.state != "pending");
        let is_told = is_final && self.store.unsent_statuses(&self.id).await.unwrap().is_empty();
        is_told && seen::names_what_stands(self).await
    }

    /// Returns how many requests are stored.
    pub(crate) async fn requests(&self) -> usize {
        let operations = self.store.operations(&self.id, &Default::default()).await.unwrap();
        operations.iter().filter(|operation| operation.request.is_some()).count()
    }

    /// Asks a store that has read nothing yet: one that is open keeps what it has read, and another process writes.
    pub(crate) async fn asked<T>(&self, ask: impl AsyncFnOnce(&Store) -> T) -> T {
        let store = Store::open(&self.root.join("state/wild.db")).await.unwrap();
        let answer = ask(&store).await;
        store.close().await;
        answer
    }

    /// Returns what the store says of all apps.
    pub(crate) async fn states(&self) -> Vec<Arc<AppState>> {
        self.asked(async |store| store.app_states(&self.id).await.unwrap()).await
    }

    async fn glance(&self) -> Glance {
        let text = async |path: &str| self.cluster.read(path).await.map(|value| value.to_string()).unwrap_or_default();
        let stonedb = AppName::parse("stonedb").unwrap();
        Glance {
            states: self.states().await,
            cache: text(CACHE).await,
            database: text(DATABASE).await,
            waiting: !self.repository.list_refs("refs/heads/wild/").await.unwrap().is_empty(),
            apps: self
                .repository
                .list_directories(&self.repository.head("main").await.unwrap().unwrap(), "apps")
                .await
                .unwrap(),
            held: self.asked(async |store| store.held_volumes(&self.id, &stonedb).await.unwrap().len()).await,
        }
    }

    /// Returns what the store knows, for a failure.
    pub(crate) async fn show(&self) -> String {
        let states = self.states().await;
        let operations = self.store.operations(&self.id, &Default::default()).await.unwrap();
        let refs = git(&self.root, "home", &["log", "--oneline", "--graph", "--all", "-30"]);
        let doctor = self.wild.run(&["doctor"]).await;
        let doctor = [doctor.stdout, doctor.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let head = self.repository.head("main").await.unwrap().unwrap();
        let statuses = self.asked(async |store| store.statuses(&self.id, &head).await.unwrap()).await;
        let unsent = self.asked(async |store| store.unsent_statuses(&self.id).await.unwrap().len()).await;
        let named = seen::names_what_stands(self).await;
        let said = format!("{statuses:#?}\n{unsent} statuses not told, the ApplySet names what stands: {named}");
        format!("{states:#?}\n{operations:#?}\n{refs}\n{doctor}\n{said}")
    }
}

fn write_settings(root: &Path, url: &str, kubeconfig: &str) {
    std::fs::write(root.join("kubeconfig"), kubeconfig).unwrap();
    let place = |file: &str| root.join(file).display().to_string();
    let settings = format!(
        "stateDir: {}\nsocket: {}\nlisten: ''\nmetricsListen: ''\ninstances: [{{name: home, path: {}, kubeconfig: {}}}]\negress: {{allow: [\"{url}\"]}}\nlog: {{format: text}}\n",
        place("state"),
        place("wild.sock"),
        place("home"),
        place("kubeconfig"),
    );
    std::fs::write(root.join("daemon.yaml"), settings).unwrap();
}

async fn make_repository(root: &Path, id: &str, url: &str, layout: Layout) -> Repository {
    let repository = Repository::init(&root.join("home"), layout, "main").await.unwrap();
    git(root, "", &["clone", "-q", "home", "clone"]);
    git(root, "clone", &["checkout", "-q", "-b", "main"]);
    let settings = format!(
        "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {id}\ndirectories:\n- name: sample\n  url: {url}\nreconcile: {{interval: '0'}}\n"
    );
    let config = "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\ncluster:\n  name: sandbox\napps: {}\n";
    std::fs::create_dir(root.join("clone/.wild")).unwrap();
    std::fs::write(root.join("clone/.wild/config.yaml"), settings).unwrap();
    std::fs::write(root.join("clone/config.yaml"), config).unwrap();
    std::fs::write(root.join("clone/.gitignore"), "secrets.yaml*\n").unwrap();
    git(root, "clone", &["add", "-A"]);
    git(root, "clone", &["commit", "-qm", "start"]);
    git(root, "clone", &["push", "-q", "origin", "HEAD:main"]);
    repository
}
