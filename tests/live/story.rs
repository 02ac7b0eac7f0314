//! The whole story on real git, a real control plane and a real Gitea: a person pushes to the forge, the daemon follows, the forge shows
//! what became of it.
//!
//! What happened is asked of git, kubectl and Gitea, not of the daemon. Not here: single refusals (`cluster`, `forge`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rewild::base::Timestamp;
use rewild::daemon::{Daemon, Handle, Start, Work};
use rewild::git::{self, Layout, NewCommit, Repository};
use rewild::model::{AppName, Author, DataFate, Decision, Deploy, OperationState, PackageName, Request, Side};
use rewild::package;
use rewild::settings::{DaemonSettings, StateDirectory};
use rewild::target::Access;

use crate::parts::{ControlPlane, Gitea, Scratch, Shared, fail};

/// How long a condition is waited for; ends a hung test, is no assertion on time.
const DEADLINE: Duration = Duration::from_secs(60);
/// Name of the repository on the forge.
const HOME: &str = "home";

struct Story {
    plane: Shared,
    gitea: Gitea,
    daemon: Daemon,
    handle: Handle,
    upstream: Repository,
    clone: PathBuf,
    _scratch: Scratch,
}

fn clock() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(now.as_micros()).unwrap())
}

fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

/// Runs git as a person does, in a directory, without anything of this machine's configuration.
fn run_git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "alice"), ("GIT_AUTHOR_EMAIL", "alice@example.org")])
        .envs([("GIT_COMMITTER_NAME", "alice"), ("GIT_COMMITTER_EMAIL", "alice@example.org")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

impl Story {
    async fn start() -> Option<Self> {
        let plane = ControlPlane::shared()?;
        let gitea = Gitea::start().await?;
        git::set_options().unwrap();
        let _ = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_test_writer()
            .with_ansi(false)
            .try_init();
        rustls::crypto::ring::default_provider().install_default().ok();
        let scratch = Scratch::new("story").unwrap();
        let root = scratch.path().to_owned();
        let remote = gitea.make_repository(HOME).await;
        let upstream = Repository::init(&root.join("directory.git"), Layout::Bare, "main").await.unwrap();
        let url = root.join("directory.git").display().to_string();
        let clone = root.join("clone");
        run_git(&root, &["init", "-q", "-b", "main", "clone"]);
        let settings = format!(
            "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: st0rylive2\ndirectories:\n- name: sample\n  url: {url}\nstatuses: {{forge: gitea}}\n"
        );
        std::fs::create_dir_all(clone.join(".wild")).unwrap();
        std::fs::write(clone.join(".wild/config.yaml"), settings).unwrap();
        std::fs::write(
            clone.join("config.yaml"),
            "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\napps: {}\n",
        )
        .unwrap();
        run_git(&clone, &["add", "-A"]);
        run_git(&clone, &["commit", "-qm", "start"]);
        run_git(&clone, &["remote", "add", "origin", &gitea.push_address(HOME)]);
        run_git(&clone, &["push", "-q", "origin", "main"]);
        run_git(&root, &["clone", "-q", "--bare", &gitea.push_address(HOME), "home.git"]);
        run_git(&root.join("home.git"), &["remote", "remove", "origin"]);
        std::fs::write(root.join("token"), gitea.token()).unwrap();
        let settings = format!(
            "instances: [{{name: home, path: {home}, remote: \"{remote}\", credentialFile: {token}}}]\negress: {{allow: [\"{url}\"]}}\nintervals: {{pollRemote: 1s}}\n",
            home = root.join("home.git").display(),
            token = root.join("token").display(),
        );
        let settings = DaemonSettings::parse("daemon.yaml", &settings).unwrap();
        let state = StateDirectory::open(&root.join("state")).unwrap();
        let access = Access::File { path: plane.kubeconfig(), context: String::new() };
        let daemon = Daemon::start(settings, Start { state, clock, access: Some(access), work: Work::Everything })
            .await
            .unwrap();
        let handle = daemon.instance("home").unwrap();
        Some(Self { plane, gitea, daemon, handle, upstream, clone, _scratch: scratch })
    }

    /// Publishes the sample directory up to the commit that begins with this text.
    async fn publish(&self, upto: &str) {
        let done = match self.upstream.head("main").await.unwrap() {
            None => 0,
            Some(head) => self.upstream.log(&head, 1_000, None).await.unwrap().len(),
        };
        let person = Author { name: "upstream".into(), email: "upstream@example.org".into() };
        for commit in package::history().into_iter().skip(done) {
            let head = self.upstream.head("main").await.unwrap();
            let new = NewCommit {
                reference: "refs/heads/main".into(),
                expected: head.clone(),
                base_tree: None,
                changes: commit.files.iter().map(|(path, file)| (path.clone(), Some(file.clone()))).collect(),
                parents: head.into_iter().collect(),
                author: person.clone(),
                committer: person.clone(),
                message: commit.message.clone(),
                time: clock(),
            };
            self.upstream.commit(new).await.unwrap();
            if commit.message.starts_with(upto) {
                break;
            }
        }
        let head = self.upstream.head("main").await.unwrap();
        self.handle.fetch();
        self.until("the upstream is fetched", async || {
            self.handle.instance().repository.read_ref("refs/wild/upstream/sample/main").await.unwrap() == head
        })
        .await;
    }

    async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        let met = async {
            loop {
                tick.tick().await;
                if condition().await {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, met).await.is_err() {
            let instance = self.handle.instance();
            let states = instance.store.app_states(&instance.id).await.unwrap();
            let events = instance.store.events(&instance.id, None, 40).await.unwrap();
            let head = instance.repository.head("main").await.unwrap().unwrap();
            let statuses = instance.store.statuses(&instance.id, &head).await.unwrap();
            let unsent = instance.store.unsent_statuses(&instance.id).await.unwrap();
            let trouble = instance.store.cursor(&instance.id, "remote.trouble").await.unwrap();
            fail(&format!(
                "{what}: not within {} s\nhead {head} {trouble:?}\nstatuses {statuses:#?}\nunsent {unsent:#?}\n{states:#?}\n{events:#?}",
                DEADLINE.as_secs()
            ));
        }
    }

    async fn done(&self, request: Request) {
        let asked = self.handle.ask(request, "alice").await.unwrap();
        let instance = self.handle.instance();
        let read = async || instance.store.operation(&instance.id, &asked.id).await.unwrap().unwrap();
        self.until(&format!("{} ends", asked.id), async || {
            !matches!(read().await.state, OperationState::Waiting | OperationState::Running)
        })
        .await;
        let ended = read().await;
        assert_eq!(ended.state, OperationState::Succeeded, "{ended:#?}");
    }

    async fn add_and_deploy(&self, package: &str, bindings: &[(&str, &str)]) {
        let bindings = bindings.iter().map(|(reference, bound)| ((*reference).to_owned(), app(bound))).collect();
        let package_name = PackageName::parse(package).unwrap();
        let values = Default::default();
        self.done(Request::Add {
            package: package_name,
            app: app(package),
            bindings,
            values,
            version: None,
            deploy: Deploy::Now,
        })
        .await;
        self.healthy(package).await;
    }

    async fn healthy(&self, name: &str) {
        let instance = self.handle.instance();
        self.until(&format!("{name} is healthy"), async || {
            let states = instance.store.app_states(&instance.id).await.unwrap();
            states
                .iter()
                .any(|state| state.name.as_str() == name && state.intent == "applied" && state.health == "healthy")
        })
        .await;
    }

    /// Waits until the forge says something about the head that it shows.
    async fn forge_says(&self, context: &str, state: &str) {
        self.until(&format!("Gitea shows {context} {state}"), async || {
            run_git(&self.clone, &["fetch", "-q", "origin"]);
            let head = run_git(&self.clone, &["rev-parse", "origin/main"]);
            let statuses = self.gitea.statuses(HOME, head.trim()).await;
            // Times of the forge have a resolution of one second, ids do not.
            let newest = statuses
                .iter()
                .filter(|status| status["context"] == context)
                .max_by_key(|status| status["id"].as_i64());
            newest.is_some_and(|status| status["status"] == state)
        })
        .await;
    }

    /// Edits a file of the clone and pushes it.
    fn push(&self, path: &str, from: &str, to: &str, message: &str) {
        run_git(&self.clone, &["pull", "-q", "--ff-only", "origin", "main"]);
        let file = self.clone.join(path);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{path} holds no {from:?}:\n{text}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
        run_git(&self.clone, &["commit", "-qam", message]);
        run_git(&self.clone, &["push", "-q", "origin", "HEAD:main"]);
    }

    /// Returns the memory limit of photobox' server in the cluster.
    fn memory(&self) -> String {
        let server = self.live(&["-n", "photobox", "deployment", "photobox-server"]);
        server["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    fn live(&self, args: &[&str]) -> serde_json::Value {
        let mut all = vec!["get", "-o", "json"];
        all.extend(args);
        self.plane.kubectl_json(&all)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_holds_on_real_parts() {
    let Some(story) = Story::start().await else { return };
    deploy_and_customise(&story).await;
    update_and_resolve(&story).await;
    drift_and_delete(&story).await;
    story.daemon.stop().await;
}

async fn deploy_and_customise(story: &Story) {
    story.publish("photobox 1.0").await;
    for (package, bindings) in
        [("stonedb", &[][..]), ("quickcache", &[]), ("photobox", &[("stonedb", "stonedb"), ("cache", "quickcache")])]
    {
        story.add_and_deploy(package, bindings).await;
    }
    story.forge_says("wild/deploy (home)", "success").await;

    // A person customises by git; the compiled file is theirs to change.
    story.push(
        "apps/photobox/server-deployment.yaml",
        "memory: 512Mi",
        "memory: 4Gi",
        "scale(photobox): room for videos",
    );
    story.until("the customisation is applied", async || story.memory() == "4Gi").await;
    story.healthy("photobox").await;
    story.forge_says("wild/deploy (home)", "success").await;
}

async fn update_and_resolve(story: &Story) {
    // An upstream update keeps it.
    story.publish("photobox 1.1").await;
    story.done(Request::Update { app: app("photobox"), to: Some("1.1".into()) }).await;
    story.healthy("photobox").await;
    assert_eq!(story.memory(), "4Gi");

    // A conflicting one waits on a branch; decided, its generation is an ancestor of main.
    story.publish("photobox 2.0").await;
    story.done(Request::Update { app: app("photobox"), to: Some("2.0".into()) }).await;
    story
        .until("the update waits on the forge", async || {
            run_git(&story.clone, &["ls-remote", "origin", "refs/heads/wild/update/photobox"])
                .contains("wild/update/photobox")
        })
        .await;
    assert_eq!(story.memory(), "4Gi");
    story
        .done(Request::Resolve { app: app("photobox"), decisions: vec![Decision { conflict: None, take: Side::Mine }] })
        .await;
    story.healthy("photobox").await;
    let home = story.handle.instance().repository.git_dir().to_owned();
    run_git(&home, &["merge-base", "--is-ancestor", "refs/wild/generated/photobox", "refs/heads/main"]);
    assert_eq!(story.memory(), "4Gi");
}

async fn drift_and_delete(story: &Story) {
    // Somebody edits the cluster; it is put back.
    story.plane.kubectl(&["-n", "photobox", "scale", "deployment/photobox-server", "--replicas=3"]).unwrap();
    story
        .until("the drift is healed", async || {
            story.live(&["-n", "photobox", "deployment", "photobox-server"])["spec"]["replicas"] == 1
        })
        .await;

    // Deleted, the app goes and its namespace stays.
    story.done(Request::Delete { app: app("photobox"), data: DataFate::Keep }).await;
    story
        .until("the workloads are gone", async || {
            let left = story.live(&["-n", "photobox", "deployments"]);
            left["items"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    assert_eq!(story.live(&["namespace", "photobox"])["status"]["phase"], "Active");
    story.forge_says("wild/deploy (home)", "success").await;
}
