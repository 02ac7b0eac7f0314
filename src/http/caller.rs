//! Who calls, and what they may.
//!
//! The socket is only for our own user and root, so whoever speaks there may do everything; the same holds inside this process. From a port
//! nothing is open but health and, if the settings say so, the status page, and the `Host` header must be a name of this machine, so that
//! no web page can reach us through a name that it controls.
//!
//! Not here: who may connect to the socket (`serve.rs`).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use crate::daemon::Daemon;

/// The header that names who asks.
const ACTOR_HEADER: &str = "wild-actor";
/// Longest name of who asks, in characters.
const MAX_ACTOR_CHARS: usize = 200;

/// Where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Caller {
    /// From inside this process.
    Process,
    /// From our own user or root, over the socket.
    Socket,
    /// From a port.
    Port,
}

/// Who asks for a change, as commits and operations name them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asker(pub(super) String);

/// Lets a request through, or answers it.
pub(super) async fn admit(State(daemon): State<Daemon>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().copied().unwrap_or(Caller::Port);
    let settings = daemon.settings();
    if caller == Caller::Port {
        let public = super::listen::host_of_url(&settings.public_url);
        if !is_known_host(request.headers(), public) {
            return refuse(&request, 421, "the Host header names another machine", "http://localhost:5055/");
        }
        let viewer = settings.auth.anonymous_loopback == "viewer";
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let open = match request.uri().path() {
            "/livez" | "/readyz" | "/healthz" => true,
            "/" | "/style.css" => viewer && reads,
            _ => false,
        };
        if !open {
            let remedy = "use the wild command line on this machine, or auth: {anonymousLoopback: viewer} for the page";
            return refuse(&request, 401, "nobody can sign in over a port yet", remedy);
        }
    }
    let asker = match caller {
        Caller::Port => None,
        Caller::Process | Caller::Socket => named(request.headers()),
    };
    request.extensions_mut().insert(Asker(asker.unwrap_or_else(|| "somebody".to_owned())));
    next.run(request).await
}

fn refuse(request: &Request, status: u16, because: &str, remedy: &str) -> Response {
    let what = format!("{} {}", request.method(), request.uri().path());
    Problem::new(status, what, because, remedy).with_exit_code(4).into_response()
}

/// Returns the name in the header if it is fit for the author line of a commit.
fn named(headers: &HeaderMap) -> Option<String> {
    let name = std::str::from_utf8(headers.get(ACTOR_HEADER)?.as_bytes()).ok()?.trim();
    let fits = !name.is_empty() && name.chars().count() <= MAX_ACTOR_CHARS && !name.chars().any(char::is_control);
    fits.then(|| name.to_owned())
}

/// Returns whether the Host header is a name of this machine, with any port.
fn is_known_host(headers: &HeaderMap, public: Option<&str>) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = super::listen::without_port(host);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]") || public == Some(name)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_names_of_this_machine_pass_as_host() {
        let check = |host: &'static str, expected: bool| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            assert_eq!(is_known_host(&headers, Some("wild.example.org")), expected, "{host}");
        };
        check("localhost:5055", true);
        check("127.0.0.1", true);
        check("[::1]:5055", true);
        check("wild.example.org", true);
        check("evil.example.org", false);
        check("localhost.evil.example.org", false);
        check("127.0.0.1.nip.io:5055", false);
        assert!(!is_known_host(&HeaderMap::new(), None));
    }

    #[test]
    fn a_name_that_would_break_a_commit_is_not_taken() {
        let check = |name: &str, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(ACTOR_HEADER, HeaderValue::from_bytes(name.as_bytes()).unwrap());
            assert_eq!(named(&headers).as_deref(), expected);
        };
        check("alice <a@example.org>", Some("alice <a@example.org>"));
        check("Zoë <z@example.org>", Some("Zoë <z@example.org>"));
        check("  ", None);
        check("a\tb", None);
    }
}
