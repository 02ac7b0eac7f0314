//! The routes of a daemon without a cluster, over a new instance.
//!
//! Not here: the command line over them (`cli`).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::{RepoPath, Timestamp};
use crate::daemon::{Start, Work};
use crate::git::{Layout, NewCommit, Repository};
use crate::model::{Author, File};
use crate::settings::{DaemonSettings, InstanceEntry, StateDirectory};

/// A daemon on a new instance.
struct World {
    directory: tempfile::TempDir,
    daemon: Daemon,
    routes: Direct,
}

impl World {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut DaemonSettings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        make(&root.join("home.git")).await;
        let entry = InstanceEntry {
            name: crate::model::InstanceName::parse("home").unwrap(),
            path: root.join("home.git"),
            subdirectory: crate::model::Subdirectory::top(),
            branch: "main".to_owned(),
            remote: String::new(),
            credential_file: "".into(),
            kubeconfig: "".into(),
            keycloak: None,
        };
        let mut settings = DaemonSettings {
            state_dir: root.join("state/wild"),
            instances: vec![entry],
            listen: "127.0.0.1:0".to_owned(),
            metrics_listen: "127.0.0.1:0".to_owned(),
            socket: root.join("wild.sock"),
            ..DaemonSettings::default()
        };
        change(&mut settings);
        let state = StateDirectory::open(&settings.state_dir).unwrap();
        let start = Start { state, clock: || Timestamp(1_763_712_000_000_000), access: None, work: Work::Everything };
        let daemon = Daemon::start(settings, start).await.unwrap();
        let routes = Direct::new(daemon.clone());
        Self { directory, daemon, routes }
    }

    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.routes.call(DirectRequest { method, path, body: body.as_ref(), actor: "alice" }).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, None).await
    }
}

/// Makes a bare instance without apps.
async fn make(path: &std::path::Path) {
    let repository = Repository::init(path, Layout::Bare, "main").await.unwrap();
    let file = |text: &str| Some(File::text(text));
    let ours = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
    let changes = BTreeMap::from([
        (
            RepoPath::parse(".wild/config.yaml").unwrap(),
            file("apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: k3f7q2m5xd\n"),
        ),
        (RepoPath::parse("config.yaml").unwrap(), file("cloud:\n  domain: example.org\n")),
    ]);
    let commit = NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: None,
        base_tree: None,
        changes,
        parents: Vec::new(),
        author: ours.clone(),
        committer: ours,
        message: "chore: make the instance".to_owned(),
        time: Timestamp(1_763_712_000_000_000),
    };
    repository.commit(commit).await.unwrap();
}

#[tokio::test]
async fn the_daemon_and_its_instances_are_listed_as_older_clients_expect() {
    let world = World::new().await;
    let (code, status) = world.get("/api/v1/status").await;
    assert_eq!((code, &status["status"], &status["instances"]["names"]), (200, &json!("running"), &json!(["home"])));
    let (_, list) = world.get("/api/v1/instances").await;
    assert_eq!(list["instances"], json!(["home"]));
    assert_eq!(list["items"][0]["path"], json!(world.directory.path().join("home.git").canonicalize().unwrap()));
    let (code, one) = world.get("/api/v1/instances/home").await;
    assert_eq!((code, &one["cluster"], one["head"].as_str().unwrap().len()), (200, &Value::Null, 40));
    world.daemon.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_with_the_name_that_was_meant() {
    let world = World::new().await;
    let (code, problem) = world.get("/api/v1/instances/hme/apps").await;
    assert_eq!((code, problem["exitCode"].as_u64()), (404, Some(2)));
    assert_eq!(problem["because"], "there is no instance hme; did you mean home?");
    for (path, status) in [
        ("/api/v1/instances/home/apps/ghost", 404),
        ("/api/v1/instances/home/apps/Ghost", 422),
        ("/api/v1/instances/home/apps/ghost/config", 404),
        ("/api/v1/instances/home/apps/ghost/history", 404),
        ("/api/v1/instances/home/operations/op_x", 404),
        ("/api/v1/instances/home/statuses/xyz", 422),
        ("/api/v1/nothing", 404),
    ] {
        let (code, problem) = world.get(path).await;
        assert_eq!(code, status, "{path}: {problem}");
        for part in ["detail", "because", "try"] {
            assert!(problem[part].as_str().is_some_and(|text| !text.is_empty()), "{path}: {problem}");
        }
    }
    let (code, _) = world.call("PUT", "/api/v1/status", None).await;
    assert_eq!(code, 405);
    world.daemon.stop().await;
}

#[tokio::test]
async fn an_empty_instance_has_empty_lists() {
    let world = World::new().await;
    for (path, key) in [
        ("apps", "apps"),
        ("operations", "operations"),
        ("drift", "drift"),
        ("directories", "directories"),
        ("plan", "plans"),
    ] {
        let (code, list) = world.get(&format!("/api/v1/instances/home/{path}")).await;
        assert_eq!((code, &list[key]), (200, &json!([])), "{path}: {list}");
    }
    let (_, status) = world.get("/api/v1/instances/home/apps/ghost/status").await;
    assert_eq!(status["status"], "not-added");
    world.daemon.stop().await;
}

#[tokio::test]
async fn a_dry_run_tells_the_commit_and_makes_none() {
    let world = World::new().await;
    let (_, before) = world.get("/api/v1/instances/home").await;
    let body = json!({"name": "own", "url": "https://example.org/d.git"});
    let (code, preview) = world.call("POST", "/api/v1/instances/home/directories?dryRun=true", Some(body)).await;
    assert_eq!((code, &preview["dryRun"]), (200, &json!(true)), "{preview}");
    assert_eq!(preview["proposal"]["changes"], json!([{"path": ".wild/config.yaml", "sign": "~"}]));
    let (_, after) = world.get("/api/v1/instances/home").await;
    assert_eq!(before["head"], after["head"]);
    assert_eq!(world.get("/api/v1/instances/home/operations").await.1["operations"], json!([]));
    world.daemon.stop().await;
}

#[tokio::test]
async fn a_change_is_stored_before_it_is_answered() {
    let world = World::new().await;
    let body = json!({"name": "own", "url": "https://example.org/d.git"});
    let (code, begun) = world.call("POST", "/api/v1/instances/home/directories", Some(body)).await;
    assert_eq!(code, 202, "{begun}");
    let id = begun["operation_id"].as_str().unwrap();
    let (code, operation) = world.get(&format!("/api/v1/instances/home/operations/{id}")).await;
    assert_eq!(
        (code, &operation["actor"], &operation["type"]),
        (200, &json!("alice"), &json!("directory")),
        "{operation}"
    );
    world.daemon.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_parse_is_named_and_one_that_is_too_large_is_not_read() {
    let world = World::new().await;
    let (code, problem) = world.call("POST", "/api/v1/instances/home/apps", Some(json!({"as": "x"}))).await;
    assert_eq!(code, 422);
    assert!(problem["because"].as_str().unwrap().contains("package"), "{problem}");
    let large = json!({"package": "a".repeat(BODY_LIMIT)});
    let (code, _) = world.call("POST", "/api/v1/instances/home/apps", Some(large)).await;
    assert_eq!(code, 413);
    world.daemon.stop().await;
}

/// Sends a request as it is and returns the answer as it comes.
async fn raw(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin, request: &str) -> String {
    let mut stream = stream;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn get_raw(address: &str, path: &str, host: &str) -> String {
    let stream = TcpStream::connect(address.trim_start_matches("http://")).await.unwrap();
    raw(stream, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
}

#[tokio::test]
async fn over_a_port_only_health_answers_until_the_page_is_opened() {
    for (setting, page) in [("none", "401"), ("viewer", "200")] {
        let world = World::with(|settings| setting.clone_into(&mut settings.auth.anonymous_loopback)).await;
        let listeners = bind(world.daemon.settings()).await.unwrap();
        let (address, metrics) = (listeners.address(), listeners.metrics_address());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(world.daemon.clone(), listeners, stop.clone()));
        let check = async |path: &str, host: &str, expected: &str| {
            let answer = get_raw(&address, path, host).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{setting} {path} {host}: {answer}");
        };
        check("/livez", "localhost", "200").await;
        check("/", "localhost:5055", page).await;
        check("/style.css", "localhost:5055", page).await;
        check("/", "evil.example.org", "421").await;
        check("/api/v1/instances", "localhost", "401").await;
        check("/api/v1/instances/home/apps", "localhost", "401").await;
        assert!(get_raw(&metrics, "/metrics", "localhost").await.contains("# EOF"));
        let socket = UnixStream::connect(&world.daemon.settings().socket).await.unwrap();
        let answer =
            raw(socket, "GET /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        stop.cancel();
        serving.await.unwrap();
        assert!(!world.daemon.settings().socket.exists(), "the socket goes with the daemon");
        world.daemon.stop().await;
    }
}

/// Returns the next frame of a stream as its lines.
async fn next_frame(frames: &mut futures::stream::BoxStream<'static, Option<axum::body::Bytes>>) -> Vec<String> {
    let bytes = futures::StreamExt::next(frames).await.unwrap().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns the next frame that has a word in it; a stream that ends before fails.
async fn frame_with(
    frames: &mut futures::stream::BoxStream<'static, Option<axum::body::Bytes>>,
    word: &str,
) -> Vec<String> {
    loop {
        let frame = next_frame(frames).await;
        if frame.iter().any(|line| line.contains(word)) {
            return frame;
        }
    }
}

async fn open(world: &World, path: &str) -> (u16, futures::stream::BoxStream<'static, Option<axum::body::Bytes>>) {
    world.routes.stream(DirectRequest { method: "GET", path, body: None, actor: "alice" }).await
}

fn event(detail: &str) -> crate::model::Event {
    let kind = crate::model::EventKind::Blocked;
    crate::model::Event { time: Timestamp(1), app: None, operation: None, commit: None, kind, detail: detail.into() }
}

#[tokio::test]
async fn who_comes_back_to_the_events_is_told_what_came_meanwhile() {
    let world = World::new().await;
    let handle = world.daemon.instance("home").unwrap();
    let tell = async |detail: &str| handle.instance().bus.tell(vec![event(detail)]).await;
    let (status, mut frames) = open(&world, "/api/v1/instances/home/events").await;
    assert_eq!(status, 200);
    assert_eq!(next_frame(&mut frames).await[0], "event: connected");
    tell("first").await;
    let first = frame_with(&mut frames, "first").await;
    assert_eq!(first[0], "event: blocked");
    drop(frames);
    tell("second").await;
    let id = first.iter().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let (_, mut frames) = open(&world, &format!("/api/v1/instances/home/events?lastEventId={id}")).await;
    assert_eq!(next_frame(&mut frames).await[0], "event: connected");
    frame_with(&mut frames, "second").await;
    let (status, _) = open(&world, "/api/v1/instances/home/events?lastEventId=never").await;
    assert_eq!(status, 400);
    world.daemon.stop().await;
    while futures::StreamExt::next(&mut frames).await.is_some() {}
}

#[tokio::test]
async fn a_stream_about_an_operation_ends_with_it() {
    let world = World::new().await;
    let handle = world.daemon.instance("home").unwrap();
    let request = crate::model::Request::Deploy {
        app: crate::model::AppName::parse("nothing").unwrap(),
        approve: None,
        recreate: Vec::new(),
        adopt: false,
    };
    let operation = handle.instance().accept(request, "alice").await.unwrap();
    let path = format!("/api/v1/instances/home/operations/{}/stream", operation.id);
    let (status, mut frames) = open(&world, &path).await;
    assert_eq!(status, 200);
    let first = next_frame(&mut frames).await;
    assert!(first[0] == "event: operation" && first[2].contains("pending"), "{first:?}");
    let (status, _) = world.call("POST", &path.replace("stream", "cancel"), None).await;
    assert_eq!(status, 200);
    let last = next_frame(&mut frames).await;
    assert!(last[0] == "event: complete" && last[2].contains("cancelled"), "{last:?}");
    assert!(futures::StreamExt::next(&mut frames).await.is_none());
    assert_eq!(open(&world, "/api/v1/instances/home/operations/op_none/stream").await.0, 404);
}
