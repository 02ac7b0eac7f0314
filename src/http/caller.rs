//! Who calls, and what they may.
//!
//! The socket is only for our own user and root, so whoever speaks there may do everything; the same holds inside this process. From a port
//! nothing is open but health and, if the settings say so, the status page, and the `Host` header must be a name of this machine, so that
//! no web page can reach us through a name that it controls. A request with two of them is for nobody.
//!
//! Whose user asks says the system; the name in the header is a claim, and is kept beside it.
//!
//! Not here: who may connect to the socket (`serve.rs`).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::listen::{host_of_url, without_port};
use super::problem::Problem;
use crate::daemon::Daemon;
use crate::model::Who;
use crate::settings::user_name;

/// The header that names who asks.
const ACTOR_HEADER: &str = "wild-actor";
/// Longest name of who asks, in characters.
const MAX_ACTOR_CHARS: usize = 200;

/// Where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Caller {
    /// From inside this process.
    Process,
    /// From our own user or root, over the socket: which of them says the system.
    Socket {
        /// Number of the user at the other end.
        uid: u32,
    },
    /// From a port.
    Port,
}

/// Who asks for a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asker(pub(super) Who);

/// Lets a request through, or answers it.
pub(super) async fn admit(State(daemon): State<Daemon>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().copied().unwrap_or(Caller::Port);
    let settings = daemon.settings();
    if let Some(refusal) = refuse_host(&request, caller, host_of_url(&settings.public_url)) {
        return refusal;
    }
    if caller == Caller::Port {
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
    let user = match caller {
        Caller::Port => None,
        Caller::Process => Some(rustix::process::geteuid().as_raw()),
        Caller::Socket { uid } => Some(uid),
    };
    let who = match user {
        None => Who::new("somebody", ""),
        Some(uid) => Who::new(&named(request.headers()).unwrap_or_default(), &user_name(uid)),
    };
    request.extensions_mut().insert(Asker(who));
    next.run(request).await
}

/// Lets a request for the metrics through, or answers it.
pub(super) async fn admit_reader(State(daemon): State<Daemon>, request: Request, next: Next) -> Response {
    match refuse_host(&request, Caller::Port, host_of_url(&daemon.settings().public_url)) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

/// Answers a request that does not say for whom it is, says it twice, or is for another machine.
fn refuse_host(request: &Request, caller: Caller, public: Option<&str>) -> Option<Response> {
    // A request inside this process has none.
    if caller == Caller::Process {
        return None;
    }
    let hosts: Vec<&[u8]> = request.headers().get_all(header::HOST).iter().map(HeaderValue::as_bytes).collect();
    let (Some(host), 1) = (hosts.first(), hosts.len()) else {
        return Some(refuse(request, 400, "it has not one Host header", "send one Host header"));
    };
    if caller != Caller::Port {
        return None;
    }
    let named = std::str::from_utf8(host).ok();
    // A whole address in the first line counts as well.
    let address = request.uri().authority().map(|authority| authority.as_str());
    let is_known = named.is_some_and(|host| is_known_host(host, public));
    let is_meant = address.is_none_or(|address| is_known_host(address, public));
    let remedy = "http://localhost:5055/";
    (!is_known || !is_meant).then(|| refuse(request, 421, "the Host header names another machine", remedy))
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

/// Returns whether a host is a name of this machine, with any port.
fn is_known_host(host: &str, public: Option<&str>) -> bool {
    let name = without_port(host);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]") || public == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_pass_as_host() {
        let check = |host: &'static str, expected: bool| {
            assert_eq!(is_known_host(host, Some("wild.example.org")), expected, "{host}");
        };
        check("localhost:5055", true);
        check("127.0.0.1", true);
        check("[::1]:5055", true);
        check("wild.example.org", true);
        check("evil.example.org", false);
        check("localhost.evil.example.org", false);
        check("127.0.0.1.nip.io:5055", false);
        check("", false);
        check("localhost@evil.example.org", false);
        check("localhost:80@evil.example.org", false);
    }

    #[test]
    fn a_request_that_names_two_machines_or_none_is_for_nobody() {
        let status = |caller: Caller, uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let request = request.body(axum::body::Body::empty()).unwrap();
            refuse_host(&request, caller, None).map_or(200, |answer| answer.status().as_u16())
        };
        let (socket, port) = (Caller::Socket { uid: 0 }, Caller::Port);
        for (caller, hosts, expected) in [
            (port, &["localhost"][..], 200),
            (port, &[], 400),
            (port, &["localhost", "localhost"], 400),
            (port, &["localhost", "evil.example.org"], 400),
            (port, &["evil.example.org"], 421),
            (socket, &["localhost"], 200),
            (socket, &["anything"], 200),
            (socket, &[], 400),
            (socket, &["localhost", "evil.example.org"], 400),
            (Caller::Process, &[], 200),
        ] {
            assert_eq!(status(caller, "/metrics", hosts), expected, "{caller:?} {hosts:?}");
        }
        assert_eq!(status(port, "http://evil.example.org/metrics", &["localhost"]), 421);
        assert_eq!(status(port, "http://localhost/metrics", &["localhost"]), 200);
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
