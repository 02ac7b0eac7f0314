//! Whoever is on the same machine, or has a page open in a browser on it: what the daemon's listeners answer to requests that name another machine,
//! two of them, or more than a request holds; and who is said to have asked.
//!
//! The requests are typed out, because no client would send most of them. Not here: routes (`http`).

use std::path::PathBuf;
use std::time::Duration;

use rewild::http::{bind, serve};
use rewild::settings::{DaemonSettings, user_name};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// Ends a test in which nobody answers.
const DEADLINE: Duration = Duration::from_secs(30);

/// A world whose daemon listens.
struct Listening {
    world: World,
    api: String,
    metrics: String,
    socket: PathBuf,
    stop: CancellationToken,
    _directory: tempfile::TempDir,
}

impl Listening {
    async fn start() -> Self {
        let world = World::start(&["stonedb 15.5"]).await;
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("wild.sock");
        let settings = DaemonSettings {
            listen: "127.0.0.1:0".into(),
            metrics_listen: "127.0.0.1:0".into(),
            socket: socket.clone(),
            ..DaemonSettings::default()
        };
        let listeners = bind(&settings).await.unwrap();
        let plain = |url: String| url.trim_start_matches("http://").to_owned();
        let (api, metrics) = (plain(listeners.address()), plain(listeners.metrics_address()));
        let stop = CancellationToken::new();
        tokio::spawn(serve(world.daemon.clone(), listeners, stop.clone()));
        Self { world, api, metrics, socket, stop, _directory: directory }
    }

    /// Sends a text to a port and returns what comes.
    async fn port(&self, address: &str, text: &str) -> String {
        exchange(TcpStream::connect(address).await.unwrap(), text).await
    }

    async fn socket(&self, text: &str) -> String {
        exchange(UnixStream::connect(&self.socket).await.unwrap(), text).await
    }

    async fn end(self) {
        self.stop.cancel();
        self.world.stop().await;
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> String {
    // Whoever is refused in the middle of what he says may not get to its end.
    let _ = stream.write_all(text.as_bytes()).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "nobody answered {text:?}");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the code of an answer; 0 where the connection was only closed.
fn code(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_another_machine_for_two_or_with_too_much_in_its_head_gets_nothing() {
    let listening = Listening::start().await;
    let head = |path: &str, lines: &str| format!("GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n");
    for (address, path) in [(&listening.api, "/livez"), (&listening.metrics, "/metrics")] {
        for host in ["localhost", "127.0.0.1", "[::1]", address] {
            let answer = listening.port(address, &head(path, &format!("Host: {host}\r\n"))).await;
            assert_eq!(code(&answer), 200, "{host}: {answer}");
        }
        let many: String = (0..200).map(|number| format!("X-{number}: a\r\n")).collect();
        let rebound = [
            "evil.example.org",
            "localhost.evil.example.org",
            "127.0.0.1.nip.io:80",
            "localhost@evil.example.org",
            "0.0.0.0",
            "2130706433",
            "",
        ];
        let mut attacks: Vec<(String, &[u16])> = Vec::new();
        attacks.extend(rebound.iter().map(|host| (head(path, &format!("Host: {host}\r\n")), &[400, 421][..])));
        attacks.push((head(path, ""), &[400]));
        attacks.push((head(path, "Host: localhost\r\nHost: localhost\r\n"), &[400]));
        attacks.push((head(path, "Host: localhost\r\nHost: evil.example.org\r\n"), &[400]));
        attacks.push((head(path, "Host: evil.example.org\r\nhOST: localhost\r\n"), &[400]));
        attacks.push((head(&format!("http://evil.example.org{path}"), "Host: localhost\r\n"), &[400, 421]));
        attacks.push((head(path, &format!("Host: localhost\r\nX: {}\r\n", "a".repeat(64 << 10))), &[0, 400, 431]));
        attacks.push((head(path, &format!("Host: localhost\r\n{many}")), &[0, 400, 431]));
        attacks.push((head(&format!("{path}?{}", "a".repeat(64 << 10)), "Host: localhost\r\n"), &[0, 400, 414, 431]));
        attacks.push((format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{}", "\0".repeat(64)), &[0, 400, 505]));
        attacks.push((head(path, "Host: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), &[0, 400]));
        for (text, expected) in attacks {
            let answer = listening.port(address, &text).await;
            let shown: String = text.chars().take(120).collect();
            assert!(expected.contains(&code(&answer)), "{address}{path} {shown:?}: {answer}");
            assert!(!answer.contains("wild_") && !answer.ends_with("ok\n"), "{shown:?}: {answer}");
        }
    }
    // Over the socket nobody comes by a name, and still one request is for one.
    for (lines, expected) in [("Host: anything\r\n", 200), ("", 400), ("Host: a\r\nHost: b\r\n", 400)] {
        let answer = listening.socket(&head("/livez", lines)).await;
        assert_eq!(code(&answer), expected, "{lines:?}: {answer}");
    }
    listening.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_is_the_user_at_the_other_end_and_a_name_is_no_more_than_a_claim() {
    let listening = Listening::start().await;
    let own = user_name(rustix::process::getuid().as_raw());
    let asked = async |actor: &str| -> Value {
        let body = r#"{"reason":"later"}"#;
        let length = body.len();
        let text = format!(
            "POST /api/v1/instances/home/apps/ghost/suspend HTTP/1.1\r\nHost: localhost\r\n{actor}Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let answer = listening.socket(&text).await;
        assert_eq!(code(&answer), 202, "{answer}");
        let id: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let path = format!("/api/v1/instances/home/operations/{}", id["operation_id"].as_str().unwrap());
        let shown =
            listening.socket(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).await;
        serde_json::from_str(shown.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    for (header, claimed) in [
        ("wild-actor: Alice <alice@example.org>\r\n", "Alice <alice@example.org>"),
        ("wild-actor: mallory [user alice]\r\n", "mallory user alice"),
        ("wild-actor: [user alice]\r\n", "user alice"),
        ("wild-actor: wild\r\n", "wild"),
        ("wild-actor: \r\n", own.as_str()),
        ("", own.as_str()),
    ] {
        let operation = asked(header).await;
        assert_eq!(
            (operation["actor"].as_str(), operation["user"].as_str()),
            (Some(claimed), Some(own.as_str())),
            "{header:?} {operation}"
        );
    }
    // Nothing that comes over a port says who asked.
    let over_port = format!(
        "POST /api/v1/instances/home/apps/ghost/suspend HTTP/1.1\r\nHost: localhost\r\nwild-actor: {own}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(code(&listening.port(&listening.api, &over_port).await), 401);
    listening.end().await;
}
