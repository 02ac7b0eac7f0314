//! A person's instance on real parts: a `wild daemon` of its own as a child process, its repository kept equal to one on Gitea, a clone
//! of that one, an upstream directory, a whole cluster.
//!
//! Everything is asked for by command lines of `wild` and by the git program; everything is looked at with git, kubectl and Gitea's API.
//! Not here: what is told with it (`story.rs`, `statuses.rs`, `finish.rs`).

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use rewild::package;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::parts::{ControlPlane, Gitea, Process, Scratch, Shape, command, fail, until};

/// Name of the repository on the forge.
const HOME: &str = "home";
/// The status that says what became of a commit.
pub(crate) const DEPLOY: &str = "wild/deploy (home)";
/// The status that says whether the cluster is as a commit says.
pub(crate) const DRIFT: &str = "wild/drift (home)";
/// Seconds after which a command line is ended; ends a hung test, is no assertion on time.
const COMMAND_SECONDS: &str = "150";
/// How long a command of ours waits for long work: less than that.
const WAIT: &str = "120s";

/// How a command line ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    /// Exit code.
    pub(crate) code: i32,
    /// What it printed.
    pub(crate) out: String,
    /// What it said beside.
    pub(crate) notes: String,
}

/// An instance with everything around it.
pub(crate) struct Home {
    // Dropped in this order: the daemon first, the directory last.
    daemon: Option<Process>,
    pub(crate) plane: ControlPlane,
    gitea: Gitea,
    runtime: Runtime,
    remote: String,
    scratch: Scratch,
}

impl Home {
    /// Makes the instance, starts its daemon and clones its repository from the forge; nothing if a part is missing.
    pub(crate) fn start() -> Option<Self> {
        let plane = ControlPlane::start(Shape::Full)?;
        let runtime = Runtime::new().unwrap();
        let gitea = runtime.block_on(Gitea::start())?;
        let remote = runtime.block_on(gitea.make_repository(HOME));
        let scratch = Scratch::new("story").unwrap();
        let mut home = Self { daemon: None, plane, gitea, runtime, remote, scratch };
        home.init();
        home.start_daemon();
        home.clone_from_forge();
        Some(home)
    }

    fn init(&self) {
        std::fs::write(self.path("token"), self.gitea.token()).unwrap();
        let kubeconfig = self.plane.kubeconfig_of_wild();
        let line = format!("init home.git --bare --domain cloud.example.org --kubeconfig {}", kubeconfig.display());
        let ran = self.wild_in(&self.path(""), &line);
        assert_eq!(ran.code, 0, "{ran:#?}");
        self.git(&self.path(""), &["init", "-q", "--bare", "-b", "main", "directory.git"]);
        self.git(&self.path(""), &["clone", "-q", "directory.git", "upstream"]);
        let settings = format!(
            "apiVersion: rewild.dev/v1\nkind: Daemon\nlisten: 127.0.0.1:0\nmetricsListen: 127.0.0.1:0\ninstances:\n- name: home\n  path: {}\n  remote: {}\n  credentialFile: {}\n\
             egress: {{allow: [\"{}\"]}}\nintervals: {{pollRemote: 1s}}\nlog: {{level: debug}}\n",
            self.path("home.git").display(),
            self.remote,
            self.path("token").display(),
            self.path("directory.git").display(),
        );
        std::fs::write(self.path("daemon.yaml"), settings).unwrap();
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) fn start_daemon(&mut self) {
        let mut daemon = self.environment(Path::new(env!("CARGO_BIN_EXE_wild")));
        daemon.args(["daemon", "--config", "daemon.yaml"]);
        let daemon = Process::start(&self.scratch, "daemon", daemon).unwrap();
        let socket = self.path("state/wild/wild.sock");
        until("the daemon listens", || {
            assert!(!daemon.has_ended(), "the daemon has ended\n{}", daemon.log_tail());
            UnixStream::connect(&socket).ok()
        });
        self.daemon = Some(daemon);
    }

    /// Asks the daemon to end and waits until it has.
    pub(crate) fn stop_daemon(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.end();
        }
    }

    /// Returns what the daemon logged.
    pub(crate) fn daemon_log(&self) -> String {
        self.daemon.as_ref().map(Process::whole_log).unwrap_or_default()
    }

    fn clone_from_forge(&self) {
        let address = self.gitea.push_address(HOME);
        until("the forge has the branch", || {
            (self.on_forge("refs/heads/main")? == self.revision("home.git", "main")).then_some(())
        });
        self.git(&self.path(""), &["clone", "-q", &address, "clone"]);
    }

    /// Returns a path in the private directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn environment(&self, program: &Path) -> Command {
        let mut command = command(program, self.scratch.path());
        command
            .env("XDG_STATE_HOME", self.path("state"))
            .env("WILD_CONFIG", self.path("daemon.yaml"))
            .envs([("USER", "alice"), ("WILD_TIMEOUT", WAIT)])
            .envs([("GIT_AUTHOR_NAME", "alice"), ("GIT_AUTHOR_EMAIL", "alice@example.org")])
            .envs([("GIT_COMMITTER_NAME", "alice"), ("GIT_COMMITTER_EMAIL", "alice@example.org")]);
        command
    }

    fn run(&self, directory: &Path, program: &str, args: &[&str]) -> Ran {
        let mut command = self.environment(Path::new("timeout"));
        let output = command.arg(COMMAND_SECONDS).arg(program).args(args).current_dir(directory).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), notes: text(&output.stderr) }
    }

    fn wild_in(&self, directory: &Path, line: &str) -> Ran {
        self.run(directory, env!("CARGO_BIN_EXE_wild"), &line.split_whitespace().collect::<Vec<_>>())
    }

    /// Returns a command of ours that is still to be started.
    pub(crate) fn wild_command(&self, line: &str) -> Command {
        let mut command = self.environment(Path::new(env!("CARGO_BIN_EXE_wild")));
        command.args(line.split_whitespace()).current_dir(self.path("home.git"));
        command
    }

    /// Types a command of ours in the instance, without the word `wild`, and returns what it printed.
    ///
    /// # Panics
    /// When it ends with another exit code.
    #[track_caller]
    pub(crate) fn wild(&self, line: &str, code: i32) -> String {
        let ran = self.wild_in(&self.path("home.git"), line);
        assert_eq!(ran.code, code, "wild {line}: {ran:#?}");
        ran.out
    }

    /// Returns whether a command of ours ends with an exit code.
    pub(crate) fn wild_says(&self, line: &str, code: i32) -> bool {
        self.wild_in(&self.path("home.git"), line).code == code
    }

    /// Types a command of ours and reads the JSON that it prints.
    #[track_caller]
    pub(crate) fn json(&self, line: &str, code: i32) -> Value {
        serde_json::from_str(&self.wild(&format!("{line} -o json"), code)).unwrap()
    }

    /// Runs git as a person does and returns what it printed.
    #[track_caller]
    pub(crate) fn git(&self, directory: &Path, args: &[&str]) -> String {
        let ran = self.run(directory, "git", args);
        assert_eq!(ran.code, 0, "git {args:?}: {ran:#?}");
        ran.out.trim_end().to_owned()
    }

    /// Runs git in the clone.
    #[track_caller]
    pub(crate) fn in_clone(&self, args: &[&str]) -> String {
        self.git(&self.path("clone"), args)
    }

    /// Runs a script in a fresh clone of the forge's repository, with our command on the path.
    #[track_caller]
    pub(crate) fn script_in_clone(&self, name: &str, script: &str) {
        self.git(&self.path(""), &["clone", "-q", &self.gitea.push_address(HOME), name]);
        let program = Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap().display().to_string();
        let script = format!("export PATH=\"{program}:$PATH\"\n{script}");
        let ran = self.run(&self.path(name), "sh", &["-euc", &script]);
        assert_eq!(ran.code, 0, "{script}: {ran:#?}");
    }

    /// Returns whether git answers yes to a question about the daemon's repository.
    pub(crate) fn git_says(&self, args: &[&str]) -> bool {
        self.run(&self.path("home.git"), "git", args).code == 0
    }

    /// Returns the commit that a name stands for in a repository.
    #[track_caller]
    pub(crate) fn revision(&self, repository: &str, name: &str) -> String {
        self.git(&self.path(repository), &["rev-parse", "--verify", &format!("{name}^{{commit}}")])
    }

    /// Returns the commit of a ref on the forge, if the ref is there.
    pub(crate) fn on_forge(&self, reference: &str) -> Option<String> {
        let listed = self.git(&self.path(""), &["ls-remote", &self.gitea.push_address(HOME), reference]);
        listed.split_whitespace().next().map(str::to_owned)
    }

    /// Brings the clone to where the forge is and returns that commit.
    pub(crate) fn pull(&self) -> String {
        self.in_clone(&["fetch", "-q", "origin"]);
        self.in_clone(&["merge", "-q", "--ff-only", "origin/main"]);
        self.in_clone(&["rev-parse", "HEAD"])
    }

    /// Returns a file as the forge has it.
    pub(crate) fn file(&self, path: &str) -> String {
        self.pull();
        std::fs::read_to_string(self.path("clone").join(path)).unwrap()
    }

    /// Replaces a text, which a file must hold once, in each of these files of the clone; commits, pushes and returns the commit.
    #[track_caller]
    pub(crate) fn push(&self, message: &str, edits: &[(&str, &str, &str)]) -> String {
        self.pull();
        for (path, from, to) in edits {
            let file = self.path("clone").join(path);
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(text.matches(from).count(), 1, "{path} holds {from:?} not once:\n{text}");
            std::fs::write(&file, text.replace(from, to)).unwrap();
        }
        self.in_clone(&["commit", "-qam", message]);
        self.in_clone(&["push", "-q", "origin", "HEAD:main"]);
        self.in_clone(&["rev-parse", "HEAD"])
    }

    /// Publishes the sample directory up to the commit that begins with this text, as its maintainer does.
    pub(crate) fn publish(&self, upto: &str) {
        let work = self.path("upstream");
        let published = self.run(&work, "git", &["rev-list", "--count", "HEAD"]).out.trim().parse().unwrap_or(0);
        for commit in package::history().into_iter().skip(published) {
            self.run(&work, "git", &["rm", "-rq", "."]);
            for (path, file) in commit.files.iter() {
                let to = work.join(path.as_str());
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::write(to, &file.bytes).unwrap();
            }
            self.git(&work, &["add", "-A"]);
            self.git(&work, &["commit", "-qm", &commit.message]);
            if commit.message.starts_with(upto) {
                self.git(&work, &["push", "-q", "origin", "HEAD:main"]);
                return;
            }
        }
        fail(&format!("the sample directory has no further commit {upto}"));
    }

    /// Returns what the forge was told about a commit under one of our contexts, oldest first.
    pub(crate) fn told(&self, commit: &str, context: &str) -> Vec<String> {
        let mut all = self.runtime.block_on(self.gitea.statuses(HOME, commit));
        all.retain(|status| status["context"] == context);
        // Times of the forge have a resolution of one second, ids do not.
        all.sort_by_key(|status| status["id"].as_i64());
        all.iter().map(|status| status["status"].as_str().unwrap_or("").to_owned()).collect()
    }

    /// Returns the sentence that the forge shows for a commit.
    pub(crate) fn sentence(&self, commit: &str, context: &str) -> String {
        let all = self.runtime.block_on(self.gitea.statuses(HOME, commit)).into_iter();
        let newest = all.filter(|status| status["context"] == context).max_by_key(|status| status["id"].as_i64());
        newest.map_or_else(String::new, |status| status["description"].as_str().unwrap_or("").to_owned())
    }

    /// Waits until the last that the forge was told about a commit is this, and returns all that it was told before.
    #[track_caller]
    pub(crate) fn tells(&self, commit: &str, context: &str, last: &str) -> Vec<String> {
        let mut told = Vec::new();
        until(&format!("the forge shows {context} {last} on {commit}"), || {
            told = self.told(commit, context);
            (told.last().is_some_and(|state| state == last)).then_some(())
        });
        told.pop();
        told
    }

    /// Returns an object, or a list, of the cluster; null if it is not there.
    pub(crate) fn live(&self, args: &[&str]) -> Value {
        self.plane.kubectl_json(&[&["get"], args].concat())
    }

    /// Waits until fields of an object of the cluster have these values.
    #[track_caller]
    pub(crate) fn becomes(&self, object: &[&str], fields: &[(&str, Value)]) -> Value {
        until(&format!("{object:?} has {fields:?}"), || {
            let live = self.live(object);
            let same = fields.iter().all(|(pointer, value)| live.pointer(pointer).unwrap_or(&Value::Null) == value);
            same.then_some(live)
        })
    }
}

impl Drop for Home {
    #[expect(clippy::print_stderr, reason = "a failed test shows the logs of what it ran against")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let states = self.wild_in(&self.path("home.git"), "status");
            eprintln!("{}\n{}", states.out, states.notes);
            eprintln!("{}", self.daemon.as_ref().map(Process::log_tail).unwrap_or_default());
        }
    }
}
