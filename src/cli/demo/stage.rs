//! What the demo is played on: a folder, a sample directory, an instance, the sandbox cluster and a daemon, all of this process.
//!
//! Not here: what happens on it (`story.rs`).

use std::path::{Path, PathBuf};

use super::super::environment::Surroundings;
use super::witness::Witness;
use crate::base::{RepoPath, Timestamp, chain};
use crate::daemon::{Daemon, Start, Work};
use crate::git::{Layout, NewCommit, Repository};
use crate::model::{Author, File, FileTree, SETTINGS_PATH};
use crate::package;
use crate::sandbox::{self, Sandbox};
use crate::settings::{DaemonSettings, StateDirectory};
use crate::target::Access;

/// Name and address of the person who types the commands.
pub(super) const PERSON: (&str, &str) = ("Alice", "alice@example.org");
/// Name of the instance.
pub(super) const INSTANCE: &str = "home";
/// The instance's id: the same every time, because nothing outlives a demo.
const INSTANCE_ID: &str = "d3m0d3m0aa";
/// The cluster's audit log in the folder of the demo: every request that was sent to it.
const AUDIT_LOG: &str = "cluster-audit.log";
/// Where programs are found when the surroundings do not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Commits of the sample directory, at most.
const MAX_COMMITS: usize = 1_000;

/// The folder of a demo.
pub(super) struct Ground {
    root: PathBuf,
    passing: bool,
}

impl Ground {
    /// Makes a folder that goes when the demo ends.
    pub(super) fn passing(environment: &Surroundings) -> Result<Self, String> {
        let parent = environment.variable("TMPDIR").unwrap_or("/tmp");
        let name = format!("wild-demo-{}-{}", std::process::id(), (environment.clock)().0);
        let root = Path::new(parent).join(name);
        make(&root)?;
        Ok(Self { root, passing: true })
    }

    /// Takes a folder that stays.
    pub(super) fn kept(root: &Path) -> Result<Self, String> {
        let mut within = match std::fs::read_dir(root) {
            Ok(within) => within,
            Err(_) => {
                make(root)?;
                return Ok(Self { root: root.to_owned(), passing: false });
            }
        };
        if within.next().is_some() {
            return Err(format!("{} is not empty", root.display()));
        }
        Ok(Self { root: root.to_owned(), passing: false })
    }
}

fn make(root: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt;
    // What lies in it holds secrets of the sample apps, and a folder that is there already belongs to somebody else.
    let made = std::fs::DirBuilder::new().mode(0o700).create(root);
    made.map_err(|error| format!("{}: {error}", root.display()))
}

impl Drop for Ground {
    fn drop(&mut self) {
        if self.passing {
            // What cannot be removed lies in the folder for passing files, which the system clears.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// The stage of one demo.
pub(super) struct Stage {
    /// The daemon.
    pub(super) daemon: Daemon,
    sandbox: Sandbox,
    upstream: Repository,
    clock: fn() -> Timestamp,
    path: String,
    ground: Ground,
}

impl Stage {
    /// Builds everything; the sample directory stands before its first newer version.
    pub(super) async fn build(ground: Ground, environment: &Surroundings) -> Result<Self, String> {
        let root = &ground.root;
        let clock = environment.clock;
        let directory = root.join("directory.git");
        let home = root.join("home.git");
        let upstream = Repository::init(&directory, Layout::Bare, "main").await.map_err(|error| chain(&error))?;
        let instance = Repository::init(&home, Layout::Bare, "main").await.map_err(|error| chain(&error))?;
        commit(&instance, clock, "chore: start", &first_files(&directory)).await?;
        let cluster = sandbox::Settings { audit_log: Some(root.join(AUDIT_LOG)), ..sandbox::Settings::default() };
        let sandbox = Sandbox::start(cluster).await.map_err(|error| chain(&error))?;
        let mut settings = daemon_settings(&directory, &home)?;
        // Routes that fetch find their scratch folder by the settings.
        settings.state_dir = root.join("state");
        let state = StateDirectory::open(&settings.state_dir).map_err(|error| chain(&error))?;
        let path = environment.variable("PATH").unwrap_or(DEFAULT_PATH).to_owned();
        publish(&upstream, clock, "photobox 1.0").await?;
        let start = Start { state, clock, access: Some(Access::Text(sandbox.kubeconfig())), work: Work::Everything };
        let daemon = Daemon::start(settings, start).await.map_err(|error| chain(&error))?;
        std::fs::create_dir(root.join("home")).map_err(|error| error.to_string())?;
        Ok(Self { daemon, sandbox, upstream, clock, path, ground })
    }

    /// Adds the next commits of the sample directory, up to the one that begins with this text.
    pub(super) async fn publish(&self, upto: &str) -> Result<(), String> {
        publish(&self.upstream, self.clock, upto).await
    }

    /// Returns somebody who looks at it.
    pub(super) fn witness(&self) -> Witness {
        let root = &self.ground.root;
        Witness {
            home: root.join("home"),
            path: self.path.clone(),
            repository: root.join("home.git"),
            cluster: self.sandbox.url().to_owned(),
        }
    }

    /// Returns the surroundings of a person who types commands.
    pub(super) fn environment(&self) -> Surroundings {
        let mut environment = Surroundings::bare(&self.ground.root);
        let limit = format!("{}s", super::witness::STEP_DEADLINE.as_secs());
        for (name, value) in [
            ("GIT_AUTHOR_NAME", PERSON.0),
            ("GIT_AUTHOR_EMAIL", PERSON.1),
            ("WILD_INSTANCE", INSTANCE),
            ("WILD_TIMEOUT", &limit),
        ] {
            environment.variables.insert(name.to_owned(), value.to_owned());
        }
        environment.clock = self.clock;
        environment.daemon = Some(self.daemon.clone());
        environment
    }

    /// Returns the folder in which everything lies.
    pub(super) fn root(&self) -> &Path {
        &self.ground.root
    }

    /// Returns the clone of the person.
    pub(super) fn clone_of_person(&self) -> PathBuf {
        self.ground.root.join("work")
    }

    /// Returns the address of the cluster.
    pub(super) fn cluster(&self) -> &str {
        self.sandbox.url()
    }

    /// Stops what runs, then lets the folder go.
    pub(super) async fn end(self) {
        self.daemon.stop().await;
        self.sandbox.stop().await;
    }
}

fn daemon_settings(directory: &Path, home: &Path) -> Result<DaemonSettings, String> {
    let text = format!(
        "instances: [{{name: {INSTANCE}, path: {home:?}}}]\negress: {{allow: [{directory:?}]}}\nauth: {{anonymousLoopback: viewer}}\n"
    );
    DaemonSettings::parse("daemon.yaml", &text)
        .map_err(|found| found.first().map(ToString::to_string).unwrap_or_default())
}

fn first_files(directory: &Path) -> FileTree {
    let settings = format!(
        "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {INSTANCE_ID}\ndirectories:\n- name: sample\n  url: {directory:?}\n  branch: main\napps:\n  photobox:\n    drift: report\n"
    );
    let config = "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\ncluster:\n  name: sandbox\napps: {}\n";
    let mut files = FileTree::new();
    for (path, text) in [("config.yaml", config), (SETTINGS_PATH, &settings)] {
        // Both paths are constants.
        if let Ok(path) = RepoPath::parse(path) {
            files.insert(path, File::text(text));
        }
    }
    files
}

async fn publish(upstream: &Repository, clock: fn() -> Timestamp, upto: &str) -> Result<(), String> {
    let head = upstream.head("main").await.map_err(|error| chain(&error))?;
    let done = match &head {
        Some(head) => upstream.log(head, MAX_COMMITS, None).await.map_err(|error| chain(&error))?.len(),
        None => 0,
    };
    for next in package::history().into_iter().skip(done) {
        commit(upstream, clock, &next.message, &next.files).await?;
        if next.message.starts_with(upto) {
            return Ok(());
        }
    }
    Err(format!("the sample directory has no commit {upto}"))
}

/// Commits a whole tree on `main`.
async fn commit(
    repository: &Repository,
    clock: fn() -> Timestamp,
    message: &str,
    files: &FileTree,
) -> Result<(), String> {
    let head = repository.head("main").await.map_err(|error| chain(&error))?;
    let person = Author { name: PERSON.0.to_owned(), email: PERSON.1.to_owned() };
    let new = NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: head.clone(),
        base_tree: None,
        changes: files.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect(),
        parents: head.into_iter().collect(),
        author: person.clone(),
        committer: person,
        message: message.to_owned(),
        time: clock(),
    };
    repository.commit(new).await.map(drop).map_err(|error| chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = folder.path().join("demo");
        assert!(Ground::kept(&fresh).is_ok());
        assert!(Ground::kept(&fresh).is_ok(), "an empty folder is taken and stays");
        std::fs::write(fresh.join("mine.txt"), "").unwrap();
        assert!(Ground::kept(&fresh).err().unwrap().contains("is not empty"));
    }

    #[test]
    fn a_passing_folder_goes_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Surroundings::bare(folder.path());
        environment.variables.insert("TMPDIR".into(), folder.path().display().to_string());
        let ground = Ground::passing(&environment).unwrap();
        let root = ground.root.clone();
        assert_eq!(std::fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        drop(ground);
        assert!(!root.exists());
    }
}
