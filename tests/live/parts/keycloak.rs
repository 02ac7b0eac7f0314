//! A Keycloak with one administrator, in memory.
//!
//! Its programs are read-only; what a server writes lies in a directory of its own. Not here: our side of it (`rewild::target`).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::ports::free_port;
use super::process::{Process, command};
use super::{START_DEADLINE, Scratch, fail, part};

/// How often a start is tried anew when somebody took the port meanwhile.
const START_TRIES: usize = 3;
/// How long one request may take.
const CALL_DEADLINE: Duration = Duration::from_secs(30);
/// The administrator.
pub(crate) const USER: &str = "admin";
/// Its password.
const PASSWORD: &str = "Passw0rd-of-a-test";

/// A running Keycloak.
pub(crate) struct KeycloakServer {
    process: Process,
    scratch: Scratch,
    port: u16,
    client: reqwest::Client,
    token: Mutex<String>,
}

impl KeycloakServer {
    /// Starts one, or returns nothing after having said why it cannot.
    pub(crate) async fn start() -> Option<Self> {
        let programs = part("keycloak")?.join("keycloak");
        let mut tried = Err("it was not tried".to_owned());
        for _ in 0..START_TRIES {
            tried = Self::start_once(&programs).await;
            if !tried.as_ref().is_err_and(|why| why.contains("already bound") || why.contains("already in use")) {
                break;
            }
        }
        Some(tried.unwrap_or_else(|why| fail(&why)))
    }

    async fn start_once(programs: &Path) -> Result<Self, String> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let scratch = Scratch::new("keycloak")?;
        let port = free_port()?;
        let own = |error: std::io::Error| format!("make the directory of a Keycloak: {error}");
        // The start script looks for everything beside itself.
        let home = scratch.path().join("keycloak");
        std::fs::create_dir_all(home.join("bin")).map_err(own)?;
        std::fs::create_dir_all(scratch.path().join("tmp")).map_err(own)?;
        std::fs::copy(programs.join("bin/kc.sh"), home.join("bin/kc.sh")).map_err(own)?;
        for folder in ["lib", "providers", "themes", "conf"] {
            symlink(programs.join(folder), home.join(folder)).map_err(own)?;
        }
        std::fs::write(scratch.path().join("credential"), PASSWORD).map_err(own)?;
        let mut server = command(&home.join("bin/kc.sh"), scratch.path());
        server
            .args(["start", "--optimized", "--http-enabled=true", "--hostname-strict=false", "--cache=local"])
            .args(["--http-host=127.0.0.1", &format!("--http-port={port}")])
            .envs([("KC_BOOTSTRAP_ADMIN_USERNAME", USER), ("KC_BOOTSTRAP_ADMIN_PASSWORD", PASSWORD)])
            .env("JAVA_OPTS_KC_HEAP", "-Xms128m -Xmx512m")
            // A short life is not worth the second compiler.
            .env(
                "JAVA_OPTS_APPEND",
                format!("-XX:TieredStopAtLevel=1 -Djava.io.tmpdir={}", scratch.path().join("tmp").display()),
            );
        let process = Process::start(&scratch, "keycloak", server)?;
        let client = reqwest::Client::builder().no_proxy().timeout(CALL_DEADLINE).build();
        let client = client.map_err(|error| format!("set up a client: {error}"))?;
        let ready = format!("http://127.0.0.1:{port}/realms/master");
        tokio::time::timeout(START_DEADLINE, async {
            loop {
                if process.has_ended() {
                    return Err(format!("Keycloak has ended\n{}", process.log_tail()));
                }
                if client.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success()) {
                    return Ok(());
                }
                tokio::time::timeout(super::POLL, std::future::pending::<()>()).await.ok();
            }
        })
        .await
        .map_err(|_| format!("Keycloak did not become ready\n{}", process.log_tail()))??;
        Ok(Self { process, scratch, port, client, token: Mutex::default() })
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the file with the administrator's password.
    pub(crate) fn credential(&self) -> std::path::PathBuf {
        self.scratch.path().join("credential")
    }

    /// Asks as the administrator for a path below `/admin/realms`; null if it is not there.
    ///
    /// # Panics
    /// When the answer is neither a success nor that nothing is there; with Keycloak's log.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let mut answered = self.try_call(method.clone(), path, body).await;
        if answered.as_ref().is_ok_and(|(status, _)| *status == 401) {
            self.sign_in().await;
            answered = self.try_call(method.clone(), path, body).await;
        }
        match answered {
            Ok((404, _)) => Value::Null,
            Ok((200..=299, text)) => serde_json::from_str(&text).unwrap_or(Value::Null),
            other => fail(&format!("{method} {path}: {other:?}\n{}", self.process.log_tail())),
        }
    }

    /// Reads below `/admin/realms` as the administrator; null if it is not there.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await
    }

    async fn try_call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, String), reqwest::Error> {
        let token = self.token.lock().map(|token| token.clone()).unwrap_or_default();
        let mut request = self.client.request(method, format!("{}/admin/realms{path}", self.url())).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        Ok((status, answer.text().await?))
    }

    async fn sign_in(&self) {
        let form = format!("grant_type=password&client_id=admin-cli&username={USER}&password={PASSWORD}");
        let answer = self
            .client
            .post(format!("{}/realms/master/protocol/openid-connect/token", self.url()))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form)
            .send()
            .await;
        let told: Value = match answer {
            Ok(answer) => answer.json().await.unwrap_or(json!({})),
            Err(error) => fail(&format!("sign in at Keycloak: {error}\n{}", self.process.log_tail())),
        };
        let token = told["access_token"].as_str().unwrap_or_else(|| fail(&format!("sign in at Keycloak: {told}")));
        if let Ok(mut known) = self.token.lock() {
            token.clone_into(&mut known);
        }
    }
}
