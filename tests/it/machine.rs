//! A person's machine: a home directory, a shell, the `wild` binary, an upstream with history, and a daemon that is a process of its own.
//!
//! Nothing of our code is called to act or to look: commands are typed into a shell, refs are read by git, the cluster by HTTP. Only the
//! store is read through our own module. Not here: what is typed (`bad_input`, `help`, `tour`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rewild::git::{self, Layout, Repository};
use rewild::model::{InstanceId, Operation};
use rewild::package;
use rewild::store::Store;
use serde_json::Value;
use tokio::process::{Child, Command};

use super::commits::commit_tree;

/// How long a condition or a command is waited for before the test fails.
const DEADLINE: Duration = Duration::from_secs(180);
/// Paths of the cluster's API under which everything lies that the sample packages make.
const KINDS: [&str; 9] = [
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/jobs",
    "/apis/networking.k8s.io/v1/ingresses",
];

/// How the cluster is reached by the machine and by the test.
#[derive(Clone)]
pub(crate) struct Access {
    /// The kubeconfig of the person.
    pub(crate) kubeconfig: String,
    /// Address of the API.
    pub(crate) url: String,
    /// A client that is let in there.
    pub(crate) http: reqwest::Client,
}

/// What a command did.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) data: String,
    /// Standard error.
    pub(crate) notes: String,
}

/// The machine. What runs on it ends with it.
pub(crate) struct Machine {
    access: Access,
    upstream: Repository,
    pub(crate) daemon: Option<Child>,
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Machine {
    /// Makes a machine whose upstream stands before the first commit that names a version.
    pub(crate) async fn start(access: Access, before: &str) -> Self {
        git::set_options().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for folder in ["bin", "home/.kube", "home/.config/wild", "run", "tmp"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_wild"), root.join("bin/wild")).unwrap();
        let upstream = Repository::init(&root.join("directory.git"), Layout::Bare, "main").await.unwrap();
        let machine = Self { access, upstream, daemon: None, root, _directory: directory };
        machine.write("home/.kube/config", &machine.access.kubeconfig);
        machine.write(
            "home/.gitconfig",
            "[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
        );
        for commit in package::history().iter().take_while(|commit| !commit.message.starts_with(before)) {
            commit_tree(&machine.upstream, &commit.message, &commit.files).await;
        }
        machine
    }

    /// Returns where everything lies.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file below the root.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Starts the daemon on settings at their usual place and waits until it answers.
    pub(crate) async fn start_daemon(&mut self, settings: &str) {
        self.write("home/.config/wild/daemon.yaml", settings);
        let log = std::fs::File::options().create(true).append(true).open(self.root.join("daemon.log")).unwrap();
        let mut command = self.command(&self.root, "exec wild daemon");
        let child = command.stderr(log).stdout(Stdio::null()).spawn().unwrap();
        self.daemon = Some(child);
        self.until("the daemon answers", async || {
            std::os::unix::net::UnixStream::connect(self.root.join("run/wild.sock")).is_ok()
        })
        .await;
    }

    /// Returns what the daemon logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.root.join("daemon.log")).unwrap_or_default()
    }

    /// Types a line into a shell, in a folder below the root.
    pub(crate) async fn run(&self, folder: &str, line: &str) -> Ran {
        let mut command = self.command(&self.root.join(folder), line);
        let ran = tokio::time::timeout(DEADLINE, command.output()).await;
        let output =
            ran.unwrap_or_else(|_| panic!("{line}: not within {} s\n{}", DEADLINE.as_secs(), self.log())).unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            data: String::from_utf8_lossy(&output.stdout).into_owned(),
            notes: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Types a line that must end with 0.
    pub(crate) async fn done(&self, folder: &str, line: &str) -> Ran {
        let ran = self.run(folder, line).await;
        assert_eq!(ran.code, 0, "{line}\n{}{}\n{}", ran.data, ran.notes, self.log());
        ran
    }

    fn command(&self, folder: &Path, line: &str) -> Command {
        let mut path = self.root.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let at = |below: &str| self.root.join(below);
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(folder)
            .env_clear()
            .env("PATH", path)
            .envs([
                ("HOME", at("home")),
                ("XDG_RUNTIME_DIR", at("run")),
                ("TMPDIR", at("tmp")),
                ("ROOT", self.root.clone()),
            ])
            .envs([("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("GIT_CONFIG_NOSYSTEM", "1"), ("WILD_TIMEOUT", "40s")])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        let met = async {
            loop {
                tick.tick().await;
                if condition().await {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, met).await.is_err() {
            panic!("{what}: not within {} s\n{}", DEADLINE.as_secs(), self.log());
        }
    }

    /// Returns all refs of a repository with what they name.
    pub(crate) async fn refs(&self, repository: &str) -> String {
        self.done(repository, "git for-each-ref --format='%(refname) %(objectname)'").await.data
    }

    /// Returns the objects of the cluster as they were written; what belongs to `without` is left out.
    pub(crate) async fn objects(&self, without: &str) -> BTreeMap<String, String> {
        let mut objects = BTreeMap::new();
        for path in KINDS {
            let list = self.get(path).await.unwrap();
            for item in list["items"].as_array().unwrap() {
                let metadata = &item["metadata"];
                let (namespace, name) =
                    (metadata["namespace"].as_str().unwrap_or("-"), metadata["name"].as_str().unwrap());
                if namespace != without && name != without {
                    objects.insert(format!("{path} {namespace}/{name}"), written(item));
                }
            }
        }
        objects
    }

    /// Reads from the cluster's API; nothing if it is not there.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let answer = self.access.http.get(format!("{}{path}", self.access.url)).send().await.unwrap();
        if answer.status() == 404 { None } else { Some(answer.json().await.unwrap()) }
    }

    /// Returns what the store holds of an instance, as lines; what belongs to `without`, and times of looks, are left out.
    pub(crate) async fn rows(&self, id: &str, without: &str) -> Rows {
        let store = Store::open(&self.root.join("home/.local/state/wild/wild.db")).await.unwrap();
        let id = InstanceId::parse(id).unwrap();
        let all = store.operations(&id, &Default::default()).await.unwrap();
        let other = |app: &str| app == without;
        let operations = all.iter().filter(|operation| !operation.app.as_ref().is_some_and(|app| other(app.as_str())));
        let mut lines = Vec::new();
        for (app, inventory) in store.inventories(&id).await.unwrap() {
            if !other(app.as_str()) {
                lines.push(format!("{app} {inventory:?}"));
            }
        }
        let rows = Rows { operations: operations.map(line).collect(), inventories: lines };
        store.close().await;
        rows
    }
}

/// Returns an object without what its controllers note about it at any time.
fn written(object: &Value) -> String {
    let mut object = object.clone();
    object["status"].take();
    object["metadata"]["resourceVersion"].take();
    if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
        managers.retain(|manager| manager["subresource"] != "status");
    }
    object.to_string()
}

/// What the store holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    /// The operations, newest first, such as `add quillblog failed`.
    pub(crate) operations: Vec<String>,
    /// What was applied of each app.
    pub(crate) inventories: Vec<String>,
}

fn line(operation: &Operation) -> String {
    let app = operation.app.as_ref().map_or("-", |app| app.as_str());
    let outcome = operation.outcome.map_or_else(|| "-".to_owned(), |outcome| format!("{outcome:?}"));
    format!("{} {app} {:?} {outcome}", operation.verb, operation.state).to_lowercase()
}
