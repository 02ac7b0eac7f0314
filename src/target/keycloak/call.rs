//! The one way to a Keycloak: every request has a deadline, a bounded answer and a token that is asked for anew when it is no longer taken.
//!
//! It follows no redirect and takes no proxy from the environment. A refusal quotes the server only where no secret was sent.
//! Not here: which requests (`mod.rs`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::{RealmAccess, nothing};
use crate::base::{Bounded, TooLarge};
use crate::model::{Purpose, SecretValue};
use crate::target::address::segment;
use crate::target::{Refusal, RefusalKind, read_private_file};

/// How long a connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long one call may take, body included.
const CALL_DEADLINE: Duration = Duration::from_secs(15);
/// Largest answer.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Largest credential file.
const MAX_CREDENTIAL_BYTES: usize = 64 * 1024;
/// Longest part of an answer that a refusal quotes, in characters.
const MAX_QUOTE_CHARS: usize = 300;
/// A token is asked for anew this long before it ends.
const TOKEN_MARGIN: Duration = Duration::from_secs(5);
/// How long a token is taken to last whose end is not told.
const TOKEN_LIFE: Duration = Duration::from_secs(30);

/// A Keycloak.
pub struct Keycloak {
    access: RealmAccess,
    client: reqwest::Client,
    token: tokio::sync::Mutex<Option<Token>>,
    counts: Mutex<RealmCounts>,
}

struct Token {
    value: SecretValue,
    until: Instant,
}

/// What a Keycloak was asked since it was connected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealmCounts {
    /// Requests by method, those for tokens left out.
    pub requests: BTreeMap<&'static str, u64>,
    /// Requests for tokens.
    pub tokens: u64,
}

impl RealmCounts {
    /// Returns how many requests changed something, or tried to.
    pub fn writes(&self) -> u64 {
        self.requests.iter().filter(|(method, _)| **method != "GET").map(|(_, count)| count).sum()
    }
}

impl Keycloak {
    /// Sets up the way to a Keycloak; nothing is sent before the first call.
    pub fn new(access: RealmAccess) -> Result<Self, Refusal> {
        let wrong = |why: &str| {
            Refusal::new(RefusalKind::Settings, format!("use the address {:?} of a Keycloak: {why}", access.url))
        };
        let plain = reqwest::Url::parse(&access.url).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(plain.scheme(), "http" | "https") || plain.host_str().is_none() {
            return Err(wrong("it begins with https:// and a host"));
        }
        if !plain.username().is_empty() || plain.password().is_some() || plain.query().is_some() {
            return Err(wrong("it holds no user and no query; the credential stands in a file"));
        }
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_DEADLINE)
            .timeout(CALL_DEADLINE)
            .user_agent(concat!("wild/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| wrong(&error.to_string()))?;
        let access = RealmAccess { url: access.url.trim_end_matches('/').to_owned(), ..access };
        Ok(Self { access, client, token: tokio::sync::Mutex::new(None), counts: Mutex::default() })
    }

    /// Returns the address.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// Returns what was asked so far.
    pub fn counts(&self) -> RealmCounts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads something; nothing if it is not there.
    pub(super) async fn read(&self, path: &str, what: &str) -> Result<Option<Value>, Refusal> {
        match self.call(Method::GET, path, None, what).await {
            Ok(value) => Ok(Some(value)),
            Err(refusal) if refusal.kind == RefusalKind::NotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Changes something.
    pub(super) async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        what: &str,
    ) -> Result<(), Refusal> {
        let method = match method {
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            _ => Method::DELETE,
        };
        match self.call(method.clone(), path, body, what).await {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.kind == RefusalKind::NotFound && method == Method::DELETE => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Sends one request, once more with a new token if the server no longer takes the old one.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>, what: &str) -> Result<Value, Refusal> {
        let first = self.try_call(method.clone(), path, body, what).await;
        if !first.as_ref().is_err_and(|refusal| refusal.kind == RefusalKind::Unauthorized) {
            return first;
        }
        *self.token.lock().await = None;
        self.try_call(method, path, body, what).await
    }

    async fn try_call(&self, method: Method, path: &str, body: Option<&Value>, what: &str) -> Result<Value, Refusal> {
        let token = self.token().await?;
        self.count(&method);
        let url = format!("{}{path}", self.access.url);
        let mut request = self.client.request(method, url).bearer_auth(token.expose(Purpose::Credential));
        if let Some(body) = body {
            request = request.json(body);
        }
        let (status, text) = answered(request, self, what).await?;
        if status.is_success() {
            return Ok(if text.is_empty() { nothing() } else { parse(&text, self, what)? });
        }
        // What was sent may hold a secret, and servers quote what they refuse.
        let holds_secret = body.is_some_and(|body| body.get("secret").is_some());
        let quote = if holds_secret { String::new() } else { quoted(&text) };
        Err(refusal(status, &quote, what))
    }

    /// Returns a token, asked for if there is none that still lasts.
    async fn token(&self) -> Result<SecretValue, Refusal> {
        let mut known = self.token.lock().await;
        if let Some(token) = known.as_ref().filter(|token| token.until > Instant::now()) {
            return Ok(token.value.clone());
        }
        let token = self.ask_for_token().await?;
        let value = token.value.clone();
        *known = Some(token);
        Ok(value)
    }

    async fn ask_for_token(&self) -> Result<Token, Refusal> {
        let RealmAccess { url, realm, client, user, .. } = &self.access;
        let what = format!("ask {url} for a token of the client {client}");
        let credential = self.credential(&what).await?;
        let secret = credential.expose(Purpose::Credential);
        let form: Vec<(&str, &str)> = if user.is_empty() {
            vec![("grant_type", "client_credentials"), ("client_id", client), ("client_secret", secret)]
        } else {
            vec![("grant_type", "password"), ("client_id", client), ("username", user), ("password", secret)]
        };
        let text: Vec<String> = form.iter().map(|(key, value)| format!("{key}={}", segment(value))).collect();
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).tokens += 1;
        let address = format!("{url}/realms/{}/protocol/openid-connect/token", segment(realm));
        let request =
            self.client.post(address).header("Content-Type", "application/x-www-form-urlencoded").body(text.join("&"));
        let (status, text) = answered(request, self, &what).await?;
        if !status.is_success() {
            // Whatever it says: without a token the server is as good as away.
            let said = if matches!(status.as_u16(), 400 | 401 | 403) { "it does not take the credential" } else { "" };
            let message = format!("{what}: {} {said}", status.as_u16());
            return Err(Refusal::new(RefusalKind::Unauthorized, message.trim_end()));
        }
        let answer = parse(&text, self, &what)?;
        let Some(value) = answer.get("access_token").and_then(Value::as_str) else {
            return Err(Refusal::new(RefusalKind::Server, format!("{what}: the answer holds no token")));
        };
        let life = answer.get("expires_in").and_then(Value::as_u64).map_or(TOKEN_LIFE, Duration::from_secs);
        let until = Instant::now() + life.saturating_sub(TOKEN_MARGIN).min(Duration::from_secs(3600));
        Ok(Token { value: SecretValue::new(value.to_owned()), until })
    }

    async fn credential(&self, what: &str) -> Result<SecretValue, Refusal> {
        let path = &self.access.credential;
        let wrong = |why: &str| Refusal::new(RefusalKind::Unauthorized, format!("{what}: {}: {why}", path.display()));
        // That others could read it is in the log already.
        let (bytes, _) = read_private_file(path).map_err(|why| wrong(&why))?;
        if bytes.len() > MAX_CREDENTIAL_BYTES {
            return Err(wrong("it is too large for a credential"));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
        match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
            Some(line) => Ok(SecretValue::new(line.to_owned())),
            None => Err(wrong("it is empty")),
        }
    }

    fn count(&self, method: &Method) {
        let word = match method.as_str() {
            "GET" => "GET",
            "POST" => "POST",
            "PUT" => "PUT",
            _ => "DELETE",
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry(word).or_default() += 1;
    }
}

/// Sends a request and reads its answer, as far as a bound.
async fn answered(
    request: reqwest::RequestBuilder,
    keycloak: &Keycloak,
    what: &str,
) -> Result<(StatusCode, String), Refusal> {
    let lost = |error: reqwest::Error| {
        let kind = if error.is_timeout() { RefusalKind::Timeout } else { RefusalKind::Unreachable };
        let why = if error.is_timeout() {
            "no answer came in time".to_owned()
        } else {
            crate::base::chain(&error.without_url())
        };
        Refusal::new(kind, format!("{what}: {} does not answer: {why}", keycloak.url()))
    };
    let mut answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    let too_large =
        |size: TooLarge| Refusal::new(RefusalKind::Server, format!("{what}: the answer is refused: {size}"));
    let mut bounded = Bounded::new(MAX_ANSWER_BYTES);
    bounded.expect(answer.content_length()).map_err(too_large)?;
    while let Some(chunk) = answer.chunk().await.map_err(lost)? {
        bounded.take_in(&chunk).map_err(too_large)?;
    }
    Ok((status, String::from_utf8_lossy(&bounded.into_bytes()).into_owned()))
}

fn parse(text: &str, keycloak: &Keycloak, what: &str) -> Result<Value, Refusal> {
    serde_json::from_str(text)
        .map_err(|_| Refusal::new(RefusalKind::Server, format!("{what}: {} gave no JSON", keycloak.url())))
}

/// Returns what a server said, in one line and cut short.
fn quoted(text: &str) -> String {
    let said = serde_json::from_str::<Value>(text).ok();
    let field = |key: &str| said.as_ref().and_then(|said| said.get(key)).and_then(Value::as_str).map(str::to_owned);
    let words = field("errorMessage").or_else(|| field("error_description")).or_else(|| field("error"));
    let line = words.unwrap_or_else(|| text.lines().next().unwrap_or_default().to_owned());
    line.chars().filter(|c| !c.is_control()).take(MAX_QUOTE_CHARS).collect()
}

fn refusal(status: StatusCode, quote: &str, what: &str) -> Refusal {
    let kind = match status.as_u16() {
        401 => RefusalKind::Unauthorized,
        403 => RefusalKind::Forbidden,
        404 => RefusalKind::NotFound,
        429 | 503 => RefusalKind::Busy,
        400..=499 => RefusalKind::Invalid(Vec::new()),
        _ => RefusalKind::Server,
    };
    let said = if quote.is_empty() { String::new() } else { format!(": {quote}") };
    Refusal::new(kind, format!("{what}: the server answered {}{said}", status.as_u16()))
}
