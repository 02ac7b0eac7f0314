//! A program that prints what to sign in with: an `ExecCredential` of `client.authentication.k8s.io/v1`, as `kubectl` has it from the same programs.
//!
//! The settings of the daemon write it out; none that a kubeconfig names is run. It is started without a shell and without our environment, and
//! neither what it prints nor what it was given is ever shown; of what it complains of, only what looks like no secret.
//!
//! Not here: when it is run (`connection`), where it is written out (`settings`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::base::Timestamp;
use crate::model::{MASK, Purpose, SecretValue, Secrets};

/// How long it may run: clouds are asked over the network.
const DEADLINE: Duration = Duration::from_secs(30);
/// Bytes that it may print: a certificate and its key are below 16 KiB.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// Bytes of its complaint that are read.
const MAX_COMPLAINT_BYTES: u64 = 4 * 1024;
/// Characters of its complaint that are shown.
const MAX_COMPLAINT_CHARS: usize = 300;
/// A word of the complaint that is so long and holds letters and digits may be a token.
const MIN_OPAQUE_CHARS: usize = 24;
/// How long before its end a credential is replaced, or from the middle of its life on where that is later.
const EARLY: Duration = Duration::from_secs(60);
/// Where it finds programs, unless its settings say otherwise.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// What it is asked for.
const ASKED: &str =
    r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}"#;

/// A program that signs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Absolute path of the program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside a path to find programs in.
    pub env: BTreeMap<String, String>,
    /// How long it may run.
    pub deadline: Duration,
}

/// What it printed.
pub(super) struct Credential {
    token: Option<SecretValue>,
    /// Certificate and key in PEM.
    identity: Option<(String, SecretValue)>,
    until: Option<Timestamp>,
}

/// An `ExecCredential`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    api_version: String,
    kind: String,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    token: String,
    client_certificate_data: String,
    client_key_data: String,
    expiration_timestamp: String,
}

impl Plugin {
    /// Returns a program with its arguments and its environment.
    pub fn new(command: PathBuf, args: Vec<String>, env: BTreeMap<String, String>) -> Self {
        Self { command, args, env, deadline: DEADLINE }
    }

    /// Runs it and returns what it printed, or why that is of no use; `last` is what it printed before.
    pub(super) async fn run(&self, now: Timestamp, last: Option<&Credential>) -> Result<Credential, String> {
        let signed = match tokio::time::timeout(self.deadline, self.output(last)).await {
            Ok(Ok(text)) => parse(&text).and_then(|credential| credential.good_at(now)),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(format!("it did not end within {} s", self.deadline.as_secs())),
        };
        let program = self.command.display();
        signed.map_err(|why| format!("sign in with {program}: {why}; run it by hand as the user of the daemon"))
    }

    async fn output(&self, last: Option<&Credential>) -> Result<SecretValue, String> {
        let mut child = Command::new(&self.command)
            .args(&self.args)
            .env_clear()
            .envs([("PATH", PATH), ("LC_ALL", "C"), ("TZ", "UTC"), ("KUBERNETES_EXEC_INFO", ASKED)])
            .envs(&self.env)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("it did not start: {error}"))?;
        let _group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (printed, complaint) = tokio::join!(read(stdout, MAX_OUTPUT_BYTES + 1), read(stderr, MAX_COMPLAINT_BYTES));
        let status = child.wait().await.map_err(|error| format!("it could not be waited for: {error}"))?;
        if printed.expose(Purpose::Credential).len() as u64 > MAX_OUTPUT_BYTES {
            return Err(format!("it printed more than {} KiB", MAX_OUTPUT_BYTES / 1024));
        }
        if status.success() {
            return Ok(printed);
        }
        let fresh = parse(&printed).ok();
        let known = self.secrets(last.into_iter().chain(fresh.as_ref()));
        Err(format!("it ended with {status}: {}", shown(&known.mask(complaint.expose(Purpose::Masking)))))
    }

    /// Returns the values that must not be shown: what it was given and what it printed.
    fn secrets<'a>(&self, printed: impl Iterator<Item = &'a Credential>) -> Secrets {
        let mut secrets = Secrets::new();
        for (name, value) in &self.env {
            secrets.insert(&format!("env.{name}"), SecretValue::new(value.clone()));
        }
        for (number, credential) in printed.enumerate() {
            let identity = credential.identity.as_ref().map(|(_, key)| key);
            for (name, value) in [("token", credential.token.as_ref()), ("key", identity)] {
                value.into_iter().for_each(|value| secrets.insert(&format!("{name}.{number}"), value.clone()));
            }
        }
        secrets
    }
}

impl fmt::Debug for Plugin {
    /// Shows the program and nothing that it is given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugin({})", self.command.display())
    }
}

impl Credential {
    /// Returns what a client signs in with.
    pub(super) fn auth_info(&self) -> AuthInfo {
        let token = self.token.as_ref().map(|token| token.expose(Purpose::Credential).to_owned().into());
        let (certificate, key) = match &self.identity {
            Some((certificate, key)) => {
                let key = STANDARD.encode(key.expose(Purpose::Credential));
                (Some(STANDARD.encode(certificate)), Some(key.into()))
            }
            None => (None, None),
        };
        AuthInfo { token, client_certificate_data: certificate, client_key_data: key, ..AuthInfo::default() }
    }

    /// Returns until when it is good; for ever where it does not say.
    pub(super) fn until(&self) -> Timestamp {
        self.until.unwrap_or(Timestamp(i64::MAX))
    }

    /// Returns from when on another one is wanted, if this one was made at a time.
    pub(super) fn due(&self, made: Timestamp) -> Timestamp {
        let Some(until) = self.until else { return Timestamp(i64::MAX) };
        let life = until.since(made);
        made.plus(life.saturating_sub(EARLY).max(life / 2))
    }

    fn good_at(self, now: Timestamp) -> Result<Self, String> {
        match self.until {
            Some(until) if until <= now => Err(format!("what it printed was good until {until} only")),
            Some(_) | None => Ok(self),
        }
    }
}

/// Reads what it printed. No word of that may be in what is said about it.
fn parse(printed: &SecretValue) -> Result<Credential, String> {
    let Ok(read) = serde_json::from_str::<Printed>(printed.expose(Purpose::Credential)) else {
        return Err("what it printed is no ExecCredential as JSON".to_owned());
    };
    if (read.kind.as_str(), read.api_version.as_str()) != ("ExecCredential", "client.authentication.k8s.io/v1") {
        return Err("what it printed is no ExecCredential of client.authentication.k8s.io/v1".to_owned());
    }
    let Status { token, client_certificate_data, client_key_data, expiration_timestamp } = read.status;
    let until = match expiration_timestamp.as_str() {
        "" => None,
        text => Some(Timestamp::parse(text).map_err(|_| "its expirationTimestamp is no RFC 3339 time".to_owned())?),
    };
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err("its token has characters that no header takes".to_owned());
    }
    let identity = match (client_certificate_data.is_empty(), client_key_data.is_empty()) {
        (false, false) => Some((client_certificate_data, SecretValue::new(client_key_data))),
        (true, true) => None,
        _ => return Err("it printed one of clientCertificateData and clientKeyData without the other".to_owned()),
    };
    if token.is_empty() && identity.is_none() {
        return Err("it printed neither a token nor a certificate".to_owned());
    }
    let token = Some(token).filter(|token| !token.is_empty()).map(SecretValue::new);
    Ok(Credential { token, identity, until })
}

/// Returns a complaint as one short line, without words that may be a token.
fn shown(complaint: &str) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "+=_.~-".contains(c);
    let mut text = String::new();
    for part in complaint.split_inclusive(|c| !is_of_word(c)) {
        let word = part.trim_end_matches(|c| !is_of_word(c));
        let has = |of: fn(&char) -> bool| word.chars().any(|c| of(&c));
        let is_opaque = word.len() >= MIN_OPAQUE_CHARS && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
        text.push_str(if is_opaque { MASK } else { word });
        text.extend(part.chars().skip(word.chars().count()).map(|c| if c.is_control() { ' ' } else { c }));
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.is_empty() {
        true => "it gave no reason".to_owned(),
        false => line.chars().take(MAX_COMPLAINT_CHARS).collect(),
    }
}

/// Reads up to a limit and lets the rest go by, so that a program which prints much still ends.
async fn read(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> SecretValue {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // A pipe that breaks has said what it had to say.
        let _ = (&mut stream).take(limit).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    SecretValue::new(String::from_utf8_lossy(&bytes).into_owned())
}

/// The process group of the program: what it started dies with it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // The group is gone already in the ordinary case.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests;
