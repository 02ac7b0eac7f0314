//! One way to speak to a daemon: the routes of `/api/v1`, over its unix socket, over its address, or inside this process.
//!
//! Not here: which of them is used (`locate.rs`), the routes (`http`).

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use serde_json::Value;

use super::error::{CommandError, ExitCode};
use crate::base::{Bounded, TooLarge, chain};
use crate::daemon::Daemon;
use crate::http::{Direct, DirectRequest};

/// Longest time for one answer; long work is answered at once and then polled.
const CALL_DEADLINE: Duration = Duration::from_secs(60);
/// Longest time to reach the daemon.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Longest time that an answer that goes on is followed.
const STREAM_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Largest answer that is taken in; the longest is a plan of ten thousand apps.
const ANSWER_LIMIT: usize = 256 * 1024 * 1024;
/// Longest line of such an answer, in bytes.
const LINE_LIMIT: usize = 1024 * 1024;
/// The header that names who asks; only believed where the caller is the daemon's own user.
const ACTOR_HEADER: &str = "wild-actor";

/// A daemon that answers.
pub(super) enum Client {
    /// In another process.
    Remote {
        /// The connection.
        http: reqwest::Client,
        /// Address in front of every path.
        base: String,
        /// The socket or address, for messages.
        name: String,
    },
    /// In this one.
    Direct {
        /// Its routes.
        routes: Direct,
        /// The daemon, if this command started it and has to stop it.
        own: Option<Daemon>,
    },
}

/// A call.
pub(super) struct Call<'a> {
    /// Method.
    pub(super) method: &'a str,
    /// Path with its query.
    pub(super) path: &'a str,
    /// Body.
    pub(super) body: Option<&'a Value>,
    /// Who asks.
    pub(super) actor: &'a str,
}

impl Client {
    /// Connects to a unix socket.
    pub(super) fn socket(path: &Path) -> Result<Self, CommandError> {
        let name = path.display().to_string();
        let http =
            reqwest::Client::builder().unix_socket(path).timeout(CALL_DEADLINE).connect_timeout(CONNECT_DEADLINE);
        Self::remote(http, "http://localhost".to_owned(), name)
    }

    /// Connects to an address.
    pub(super) fn url(url: &str) -> Result<Self, CommandError> {
        let http = reqwest::Client::builder().timeout(CALL_DEADLINE).connect_timeout(CONNECT_DEADLINE);
        Self::remote(http, url.trim_end_matches('/').to_owned(), url.to_owned())
    }

    fn remote(builder: reqwest::ClientBuilder, base: String, name: String) -> Result<Self, CommandError> {
        // The library wants a TLS provider even for a socket; the first one that is installed stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = builder.redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let http = built
            .map_err(|error| CommandError::new(format!("speak to {name}"), chain(&error), "wild status --local"))?;
        Ok(Self::Remote { http, base, name })
    }

    /// Returns a daemon of this process as a client.
    pub(super) fn direct(daemon: &Daemon, own: Option<Daemon>) -> Self {
        Self::Direct { routes: Direct::new(daemon.clone()), own }
    }

    /// Returns the answer to a call, or the problem as an error.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, CommandError> {
        let attempt = format!("{} {}", call.method, call.path);
        let (status, answer) = match self {
            Self::Direct { routes, .. } => {
                let Call { method, path, body, actor } = call;
                routes.call(DirectRequest { method, path, body, actor }).await
            }
            Self::Remote { http, base, name } => {
                let sent = send(http, base, call).await;
                sent.map_err(|unsent| match unsent {
                    Unsent::Lost(error) => unreachable_daemon(name, &error),
                    Unsent::TooLarge(size) => {
                        let because = format!("its answer is refused: {size}");
                        CommandError::new(format!("speak to the daemon at {name}"), because, "wild version")
                    }
                })?
            }
        };
        if (200..300).contains(&status) { Ok(answer) } else { Err(CommandError::of_problem(&attempt, status, &answer)) }
    }

    /// Hands the JSON lines of an answer over as they come, until it ends. It may last, so only its beginning has a deadline.
    pub(super) async fn stream(
        &self,
        call: Call<'_>,
        each: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), CommandError> {
        let attempt = format!("{} {}", call.method, call.path);
        let opened = match self {
            Self::Direct { routes, .. } => {
                let Call { method, path, body, actor } = call;
                routes.stream(DirectRequest { method, path, body, actor }).await
            }
            Self::Remote { http, base, name } => {
                let answer = request(http, base, &call).timeout(STREAM_LIMIT).send().await;
                let answer = answer.map_err(|error| unreachable_daemon(name, &error))?;
                let status = answer.status().as_u16();
                (status, answer.bytes_stream().map(Result::ok).boxed())
            }
        };
        let (status, mut chunks) = opened;
        let is_answer = (200..300).contains(&status);
        let mut lines = Lines::default();
        while let Some(Some(chunk)) = chunks.next().await {
            lines.take_in(&chunk);
            while is_answer && let Some(line) = lines.next() {
                each(line);
            }
        }
        if is_answer { Ok(()) } else { Err(CommandError::of_problem(&attempt, status, &lines.rest())) }
    }

    /// Stops what this command started.
    pub(super) async fn close(self) {
        if let Self::Direct { own: Some(daemon), .. } = self {
            daemon.stop().await;
        }
    }
}

fn request(http: &reqwest::Client, base: &str, call: &Call<'_>) -> reqwest::RequestBuilder {
    let method = reqwest::Method::from_bytes(call.method.as_bytes()).unwrap_or(reqwest::Method::GET);
    // As bytes, because a name may have letters that a header's text may not.
    let mut request = http.request(method, format!("{base}{}", call.path)).header(ACTOR_HEADER, call.actor.as_bytes());
    if let Some(body) = call.body {
        request = request.json(body);
    }
    request
}

async fn send(http: &reqwest::Client, base: &str, call: Call<'_>) -> Result<(u16, Value), Unsent> {
    let mut answer = request(http, base, &call).send().await.map_err(Unsent::Lost)?;
    let status = answer.status().as_u16();
    let mut bounded = Bounded::new(ANSWER_LIMIT);
    bounded.expect(answer.content_length()).map_err(Unsent::TooLarge)?;
    while let Some(piece) = answer.chunk().await.map_err(Unsent::Lost)? {
        bounded.take_in(&piece).map_err(Unsent::TooLarge)?;
    }
    Ok((status, serde_json::from_slice(&bounded.into_bytes()).unwrap_or(Value::Null)))
}

/// Why there is no answer.
enum Unsent {
    /// The connection.
    Lost(reqwest::Error),
    /// Something else than a daemon answers, without end.
    TooLarge(TooLarge),
}

/// The bytes of an answer of JSON lines that were not handed over yet.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Takes bytes in. A line that is longer than anything we send is dropped.
    fn take_in(&mut self, chunk: &[u8]) {
        if self.bytes.len() > LINE_LIMIT {
            self.bytes.clear();
        }
        self.bytes.extend_from_slice(chunk);
    }

    /// Returns the next whole line that is JSON.
    fn next(&mut self) -> Option<Value> {
        loop {
            let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            if let Ok(value) = serde_json::from_slice(&line) {
                return Some(value);
            }
        }
    }

    /// Returns what is left as one value.
    fn rest(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }
}

fn unreachable_daemon(name: &str, error: &reqwest::Error) -> CommandError {
    let remedy = if error.is_timeout() { "wild operation list" } else { "wild daemon, or add --local" };
    let code = if error.is_timeout() { ExitCode::TimedOut } else { ExitCode::Error };
    // The library repeats the address in every layer; the innermost cause is what a person can act on.
    let whole = chain(error);
    let innermost = whole.rsplit(": ").next().unwrap_or_default();
    let because = if error.is_connect() { format!("nothing answers there: {innermost}") } else { whole.clone() };
    CommandError::new(format!("speak to the daemon at {name}"), because, remedy).with_code(code)
}

/// Returns a text as one segment of a path or one value of a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn what_a_person_typed_stays_one_segment() {
        assert_eq!(encode("op_1-a.b"), "op_1-a.b");
        assert_eq!(encode("a/../b?c=d e"), "a%2F..%2Fb%3Fc%3Dd%20e");
    }
}
