//! Servers that send without end: an API server, a Keycloak, a forge. Nobody keeps more of an answer than its bound, however it is sent and
//! whatever it is the answer to, and none waits for ever.
//!
//! What was sent over one connection is counted at the server: more than a bound and what fits into the buffers of a connection cannot have been kept by anybody.
//! Not here: what is made of an answer that came (`tests/it/answers.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use rewild::forge::{CommitStatus, Forge, Gitea, StatusState};
use rewild::model::{CommitId, InstanceId, ObjectId, SecretValue};
use rewild::target::{Access, Cluster, Keycloak, Kind, LogRequest, Patience, Place, Places, RealmAccess, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::commits::clock;
use crate::world::{HASTY, kubeconfig_of};

/// Largest answer of an API server that is taken, as the product says.
const ANSWER: usize = 16 << 20;
/// What fits into the buffers of a connection on both sides, and a piece.
const BUFFERS: usize = 24 << 20;
/// What a server sends at most before it gives up: enough to show that nobody stopped it.
const PLENTY: usize = 1 << 30;
/// Ends a test in which somebody waits for ever.
const DEADLINE: Duration = Duration::from_secs(60);
/// Requests are given up after a tenth of a second or less.
const HURRIED: Patience = Patience { haste: 100, ..HASTY };

/// How an answer is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sent {
    /// With a length beyond all measure.
    Declared,
    /// In pieces without end.
    Pieces,
    /// In lines without end.
    Lines,
    /// As if it were packed, which makes little of much.
    Packed,
    /// A byte now and then.
    Drops,
}

/// A server that answers what has this in its address without end, and everything else as an API server would.
struct Flood {
    url: String,
    sent: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Flood {
    async fn start(on: &'static str, status: u16, sent: Sent) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, (on, status, sent), counted.clone()));
            }
        });
        Self { url, sent: count, task }
    }

    /// Returns how much was sent over one connection at most.
    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    async fn cluster(&self) -> Cluster {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let access = Access::Hurried(kubeconfig_of(&self.url), HURRIED);
        Cluster::connect(&access, &InstanceId::parse("k3f7q2m5xd").unwrap(), "wild-system", clock).await.unwrap()
    }
}

/// Answers the requests of one connection.
async fn answer(mut stream: TcpStream, (on, status, sent): (&'static str, u16, Sent), count: Arc<AtomicUsize>) {
    while let Some(head) = head(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        if !path.contains(on) {
            let list = r#"{"kind":"APIResourceList","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"pods","kind":"Pod","namespaced":true}]}"#;
            let text = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{list}",
                list.len()
            );
            if stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
            continue;
        }
        let _ = flood(&mut stream, status, sent, &count).await;
        return;
    }
}

/// Reads the head of a request; its body is small and comes with it.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4_096]);
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

async fn flood(stream: &mut TcpStream, status: u16, sent: Sent, count: &AtomicUsize) -> std::io::Result<()> {
    let length = match sent {
        Sent::Declared => "content-length: 1099511627776\r\n",
        Sent::Packed => "transfer-encoding: chunked\r\ncontent-encoding: gzip\r\n",
        Sent::Pieces | Sent::Lines | Sent::Drops => "transfer-encoding: chunked\r\n",
    };
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{length}\r\n");
    stream.write_all(head.as_bytes()).await?;
    let line = match sent {
        Sent::Lines => "a line of a log or of a watch\n".repeat(2_048),
        Sent::Drops => " ".to_owned(),
        Sent::Declared | Sent::Pieces | Sent::Packed => " ".repeat(64 << 10),
    };
    let piece = if sent == Sent::Declared { line.clone() } else { format!("{:x}\r\n{line}\r\n", line.len()) };
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let mut own = 0;
    while own < PLENTY {
        if sent == Sent::Drops {
            tick.tick().await;
        }
        stream.write_all(piece.as_bytes()).await?;
        own += piece.len();
        count.fetch_max(own, Ordering::SeqCst);
    }
    Ok(())
}

fn pods() -> LogRequest {
    let (namespace, pod, container) = ("n".into(), "p".into(), "c".into());
    LogRequest { namespace, pod, container, tail: 10, since_seconds: None, previous: false, follow: false }
}

/// Asks a cluster for one thing and returns whether an answer was taken for good.
async fn ask(cluster: &Cluster, what: &str) -> bool {
    let kind = Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() };
    let id = ObjectId::new("", "ConfigMap", "n", "x");
    match what {
        "object" => cluster.get(&id, "v1").await.is_ok(),
        "metadata" => cluster.metadata(&id, "v1").await.is_ok(),
        "pods" => cluster.pods("n").await.is_ok(),
        "tally" => cluster.tally(&kind).await.is_ok(),
        "contents" => cluster.contents("n").await.is_ok(),
        "events" => cluster.told("n").await.is_ok(),
        "probe" => cluster.probe().await.is_ok(),
        "log" => match cluster.log(&pods()).await {
            // It must end by itself.
            Ok(lines) => lines.count().await == 0,
            Err(_) => false,
        },
        what => panic!("{what}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_sends_without_end_is_cut_off_at_the_bound_whatever_it_was_asked() {
    for (what, on) in [
        ("object", "/configmaps/x"),
        ("object", "/api/v1"),
        ("metadata", "/configmaps/x"),
        ("pods", "/pods?"),
        ("tally", "/configmaps?"),
        ("contents", "/api"),
        ("events", "/events"),
        ("probe", "/namespaces/wild-system"),
    ] {
        for status in [200, 403, 500] {
            for sent in [Sent::Declared, Sent::Pieces, Sent::Packed, Sent::Drops] {
                let flood = Flood::start(on, status, sent).await;
                let cluster = flood.cluster().await;
                let asked = tokio::time::timeout(DEADLINE, ask(&cluster, what)).await;
                // A refusal is one as soon as its head is there: that it has no end is no answer either.
                let is_fine = what == "probe" && status == 403;
                assert!(asked == Ok(false) || is_fine, "{what} {on} {status} {sent:?}: {asked:?}");
                let bound = if status == 200 { ANSWER } else { 1 << 20 };
                assert!(flood.sent() <= bound + BUFFERS, "{what} {on} {status} {sent:?}: {} bytes", flood.sent());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_asked_for_in_part_ends_at_the_bound_or_when_it_stands_still() {
    for (status, sent) in
        [(200, Sent::Lines), (200, Sent::Pieces), (200, Sent::Drops), (500, Sent::Pieces), (302, Sent::Lines)]
    {
        let flood = Flood::start("/log?", status, sent).await;
        let cluster = flood.cluster().await;
        let asked = tokio::time::timeout(DEADLINE, ask(&cluster, "log")).await;
        assert!(asked.is_ok(), "{status} {sent:?}");
        assert!(flood.sent() <= (4 << 20) + BUFFERS, "{status} {sent:?}: {} bytes", flood.sent());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_whose_line_never_ends_is_closed_and_one_that_does_not_open_is_given_up() {
    for (status, sent) in [(200, Sent::Pieces), (500, Sent::Pieces), (403, Sent::Declared)] {
        let flood = Flood::start("watch=1", status, sent).await;
        let cluster = flood.cluster().await;
        let kind = Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() };
        let places: Places = [(kind, BTreeSet::from([Place::Namespace("n".into())]))].into();
        let _ = tokio::time::timeout(DEADLINE, cluster.watch("app", &places)).await.unwrap();
        let ended = async {
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            while cluster.counted().restarts.is_empty() {
                tick.tick().await;
            }
        };
        tokio::time::timeout(DEADLINE, ended).await.unwrap();
        assert!(flood.sent() < PLENTY, "{status} {sent:?}");
    }
}

fn keycloak(flood: &Flood, directory: &std::path::Path) -> Keycloak {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let credential = directory.join("credential");
    std::fs::write(&credential, "hunter2\n").unwrap();
    let access = RealmAccess {
        url: flood.url.clone(),
        realm: "master".into(),
        client: "admin-cli".into(),
        user: String::new(),
        credential,
    };
    Keycloak::new(access).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keycloak_and_a_forge_that_send_without_end_are_cut_off_at_their_bounds() {
    let directory = tempfile::tempdir().unwrap();
    for status in [200, 401, 500] {
        for sent in [Sent::Declared, Sent::Pieces, Sent::Packed] {
            // The token endpoint.
            let flood = Flood::start("/token", status, sent).await;
            let asked =
                tokio::time::timeout(DEADLINE, keycloak(&flood, directory.path()).has_realm("a")).await.unwrap();
            assert!(asked.is_err(), "{status} {sent:?}");
            assert!(flood.sent() <= (8 << 20) + BUFFERS, "{status} {sent:?}: {} bytes", flood.sent());
            let flood = Flood::start("/statuses/", status, sent).await;
            let gitea =
                Gitea::new(&format!("{}/alice/cloud.git", flood.url), SecretValue::new("token".into())).unwrap();
            let said = CommitStatus {
                commit: CommitId::parse(&"a".repeat(40)).unwrap(),
                context: "wild/deploy".into(),
                state: StatusState::Success,
                description: String::new(),
                target_url: String::new(),
            };
            let posted = tokio::time::timeout(DEADLINE, gitea.post_status(&said)).await.unwrap();
            assert_eq!(posted.is_ok(), status == 200, "{status} {sent:?}");
            assert!(flood.sent() <= (1 << 20) + BUFFERS, "{status} {sent:?}: {} bytes", flood.sent());
        }
    }
}
