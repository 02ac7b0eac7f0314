//! A Gitea with one administrator.
//!
//! Not here: our side of a forge (`rewild::forge`).

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::pki::private;
use super::ports::free_port;
use super::process::{Process, command};
use super::{START_DEADLINE, Scratch, fail, part};

/// How often a start is tried anew when somebody took the port meanwhile.
const START_TRIES: usize = 3;
/// How long one request may take.
const CALL_DEADLINE: Duration = Duration::from_secs(20);
/// The administrator.
const USER: &str = "alice";

/// A running Gitea.
pub(crate) struct Gitea {
    process: Process,
    _scratch: Scratch,
    port: u16,
    token: String,
    client: reqwest::Client,
}

impl Gitea {
    /// Starts one, or returns nothing after having said why it cannot.
    pub(crate) async fn start() -> Option<Self> {
        let program = part("gitea")?;
        let mut tried = Err("it was not tried".to_owned());
        for _ in 0..START_TRIES {
            tried = Self::start_once(&program).await;
            if !tried.as_ref().is_err_and(|why| why.contains("address already in use")) {
                break;
            }
        }
        Some(tried.unwrap_or_else(|why| fail(&why)))
    }

    async fn start_once(part: &Path) -> Result<Self, String> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let scratch = Scratch::new("gitea")?;
        let port = free_port()?;
        private(scratch.path(), "app.ini", &settings(scratch.path(), part, port))
            .map_err(|error| format!("write app.ini: {error}"))?;
        let mut web = gitea(part, &scratch);
        web.arg("web");
        let process = Process::start(&scratch, "gitea", web)?;
        let client = reqwest::Client::builder().no_proxy().timeout(CALL_DEADLINE).build();
        let client = client.map_err(|error| format!("set up a client: {error}"))?;
        let ready = format!("http://127.0.0.1:{port}/api/healthz");
        tokio::time::timeout(START_DEADLINE, async {
            loop {
                if process.has_ended() {
                    return Err(format!("Gitea has ended\n{}", process.log_tail()));
                }
                if client.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success()) {
                    return Ok(());
                }
                tokio::time::timeout(super::POLL, std::future::pending::<()>()).await.ok();
            }
        })
        .await
        .map_err(|_| format!("Gitea did not become healthy\n{}", process.log_tail()))??;
        admin(
            part,
            &scratch,
            &[
                "create",
                "--admin",
                "--username",
                USER,
                "--password",
                "Passw0rd-of-a-test",
                "--email",
                "alice@example.invalid",
                "--must-change-password=false",
            ],
        )?;
        let said = admin(
            part,
            &scratch,
            &["generate-access-token", "--username", USER, "--token-name", "test", "--scopes", "all", "--raw"],
        )?;
        // As root, and at any line, it warns about that.
        let is_token = |line: &&str| line.len() == 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        let token = said.lines().map(str::trim).find(is_token).ok_or("gitea admin gave no token")?.to_owned();
        Ok(Self { process, _scratch: scratch, port, token, client })
    }

    /// Returns the administrator's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Makes a private repository and returns the address of its remote, without credentials.
    pub(crate) async fn make_repository(&self, name: &str) -> String {
        let body = json!({"name": name, "private": true, "default_branch": "main"});
        self.call(Method::POST, "/user/repos", Some(&body)).await;
        format!("http://127.0.0.1:{}/{USER}/{name}.git", self.port)
    }

    /// Returns the address of a repository's remote with the administrator's token in it, for `git push`.
    pub(crate) fn push_address(&self, name: &str) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}/{USER}/{name}.git", self.token, self.port)
    }

    /// Returns every status that was ever posted on a commit, newest first.
    pub(crate) async fn statuses(&self, name: &str, commit: &str) -> Vec<Value> {
        let path = format!("/repos/{USER}/{name}/commits/{commit}/statuses?limit=50");
        self.call(Method::GET, &path, None).await.as_array().cloned().unwrap_or_default()
    }

    /// Calls the API below `/api/v1` as the administrator.
    ///
    /// # Panics
    /// When the answer is no success; with Gitea's log.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let url = format!("http://127.0.0.1:{}/api/v1{path}", self.port);
        let mut request =
            self.client.request(method.clone(), url).header("Authorization", format!("token {}", self.token));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answered = async {
            let answer = request.send().await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.text().await?))
        };
        match answered.await {
            Ok((status, text)) if status.is_success() => serde_json::from_str(&text).unwrap_or(Value::Null),
            other => fail(&format!("{method} {path}: {other:?}\n{}", self.process.log_tail())),
        }
    }
}

/// Returns a call of the program with the environment that it needs.
fn gitea(part: &Path, scratch: &Scratch) -> std::process::Command {
    let mut gitea = command(&part.join("gitea"), scratch.path());
    gitea.env("GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT", "true").arg("-c").arg(scratch.path().join("app.ini"));
    gitea
}

fn admin(part: &Path, scratch: &Scratch, args: &[&str]) -> Result<String, String> {
    let output = gitea(part, scratch).args(["admin", "user"]).args(args).output();
    let output = output.map_err(|error| format!("gitea admin: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("gitea admin: {}", text(&output.stderr)))
    }
}

/// Returns app.ini: loopback only, nothing from outside, no job of its own.
fn settings(scratch: &Path, part: &Path, port: u16) -> String {
    let (scratch, part) = (scratch.display(), part.display());
    format!(
        "APP_NAME = test
RUN_MODE = prod
RUN_USER = {user}
WORK_PATH = {scratch}/work

[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
LOCAL_ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {part}/static
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = {scratch}/work/gitea.db

[security]
INSTALL_LOCK = true
SECRET_KEY = not-a-secret-in-a-test
INTERNAL_TOKEN = {hex}
PASSWORD_HASH_ALGO = pbkdf2_v2

[oauth2]
JWT_SECRET = {jwt}

[repository]
ROOT = {scratch}/work/repos
DEFAULT_BRANCH = main

[webhook]
ALLOWED_HOST_LIST = loopback
DELIVER_TIMEOUT = 5

[service]
DISABLE_REGISTRATION = true

[mailer]
ENABLED = false

[cron]
ENABLED = false

[actions]
ENABLED = false

[indexer]
ISSUE_INDEXER_TYPE = db

[log]
MODE = console
LEVEL = Warn
",
        user = user(),
        hex = "0123456789abcdef".repeat(4),
        // 32 bytes in base64url without padding.
        jwt = "A".repeat(43),
    )
}

/// Returns the name of the user who runs the tests, which Gitea compares with its own.
fn user() -> String {
    let found = std::process::Command::new("id").arg("-un").output();
    found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
