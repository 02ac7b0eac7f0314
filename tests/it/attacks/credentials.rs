//! A kubeconfig that is changed under a running daemon, or while none runs: nothing that it newly says is obeyed where that runs a program, reads a
//! file elsewhere or speaks to somebody else; and nothing is written to another cluster than the one that is known until a person says so.
//!
//! Not here: what of a kubeconfig is refused, field by field (`yaml::kubeconfig`), a real cluster (`tests/live/credentials.rs`).

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rewild::http::{Direct, DirectRequest};
use rewild::model::CommitId;
use rewild::sandbox::{Sandbox, Settings};
use rewild::target::Access;
use serde_json::{Value, json};

use crate::both::{Plain, config};
use crate::input;
use crate::machine::{Machine, Ran};
use crate::proxy::{Fault, Proxy, To};
use crate::world::World;

/// The kubeconfig.
const FILE: &str = "kubeconfig";
/// More requests than a test sends.
const ALWAYS: usize = 1_000_000;
/// What the other cluster is asked.
const LOG: &str = "other.log";

/// A world whose daemon reads a kubeconfig, and another cluster that listens to whoever comes.
struct Ground {
    world: World,
    other: Sandbox,
    /// In front of the other cluster.
    listener: Proxy,
    directory: tempfile::TempDir,
}

async fn sandbox(seed: u64) -> Sandbox {
    Sandbox::start(Settings { seed, ..Settings::default() }).await.unwrap()
}

/// Returns a kubeconfig with one context of each name, which leads to an address.
fn kubeconfig(clusters: &[(&str, &str)]) -> String {
    let users = vec![json!({}); clusters.len()];
    let fields: Vec<Value> = clusters.iter().map(|(_, server)| json!({"server": server})).collect();
    let named = |key: &str, of: &[Value]| -> Value {
        clusters.iter().zip(of).map(|((name, _), it)| json!({"name": name, key: it})).collect()
    };
    let contexts: Vec<Value> = clusters.iter().map(|(name, _)| json!({"cluster": name, "user": name})).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": named("cluster", &fields),
        "users": named("user", &users),
        "contexts": named("context", &contexts),
        "current-context": clusters.first().map_or("", |(name, _)| name),
    })
    .to_string()
}

impl Ground {
    async fn start() -> Self {
        let mut world = World::start(&["stonedb 15.5"]).await;
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join(LOG);
        let settings = Settings { seed: 7, audit_log: Some(log), ..Settings::default() };
        let other = Sandbox::start(settings).await.unwrap();
        let listener = Proxy::start(other.url()).await;
        let home = world.cluster.url().to_owned();
        let path = directory.path().join(FILE);
        std::fs::write(&path, kubeconfig(&[("home", &home)])).unwrap();
        world.restart_by(Access::File { path, context: String::new() }).await;
        Self { world, other, listener, directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    fn home(&self) -> String {
        self.world.cluster.url().to_owned()
    }

    /// Replaces the file as an editor does.
    fn write(&self, text: &str) {
        let next = self.directory.path().join("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, self.path()).unwrap();
    }

    async fn restart(&mut self) {
        let path = self.path();
        self.world.restart_by(Access::File { path, context: String::new() }).await;
    }

    async fn call(&self, method: &str, below: &str, body: Option<&Value>) -> (u16, Value) {
        let path = format!("/api/v1/instances/home{below}");
        Direct::new(self.world.daemon.clone()).call(DirectRequest { method, path: &path, body, actor: "alice" }).await
    }

    /// Returns what is said of the first cluster, asked now.
    async fn cluster(&self) -> Value {
        let (status, answer) = self.call("GET", "/clusters", None).await;
        assert_eq!(status, 200, "{answer}");
        answer["clusters"][0].clone()
    }

    async fn cluster_until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.world.until(what, async || holds(&self.cluster().await)).await;
        self.cluster().await
    }

    async fn push(&self, app: &'static str, version: &str) -> CommitId {
        self.plain(app).push(&[("setting.yaml", &config("setting", version))]).await
    }

    fn plain(&self, name: &'static str) -> Plain<'_, Sandbox> {
        Plain { world: &self.world, name }
    }

    /// Returns the versions of a setting of an app, here and on the other cluster; null where it is not.
    async fn versions(&self, app: &str) -> [Value; 2] {
        let mut versions = Vec::new();
        for url in [self.world.cluster.url(), self.other.url()] {
            let answer = reqwest::get(format!("{url}/api/v1/namespaces/{app}/configmaps/setting")).await.unwrap();
            let object: Value = answer.json().await.unwrap();
            versions.push(object["data"]["version"].clone());
        }
        versions.try_into().unwrap()
    }

    /// Returns the requests that the other cluster was sent, as verb and address.
    fn sent(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.directory.path().join(LOG)).unwrap();
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .map(|event| format!("{} {}", event["verb"].as_str().unwrap(), event["requestURI"].as_str().unwrap()))
            .collect()
    }

    async fn is_told_elsewhere(&self, app: &'static str) {
        let world = &self.world;
        let told = async || world.state(app).await.is_some_and(|state| state.reason == "ClusterElsewhere");
        world.until(&format!("{app}: it is told that the cluster is another one"), told).await;
        let state = world.state(app).await.unwrap();
        assert_eq!(state.hint, "wild cluster accept");
        assert!(
            state.needs_you.contains("leads to another cluster") && state.needs_you.contains("kube-system"),
            "{state:?}"
        );
        assert!(state.health != "healthy", "{state:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_leads_elsewhere_stops_the_writes_of_all_apps_until_it_leads_back() {
    let ground = Ground::start().await;
    for app in ["one", "two"] {
        let pushed = ground.push(app, "1").await;
        ground.plain(app).done(&pushed).await;
    }
    let known = ground.cluster().await["known"]["identity"].clone();
    assert_eq!(known["server"], json!(ground.home()));
    ground.write(&kubeconfig(&[("home", ground.listener.url())]));
    let cluster = ground.cluster_until("it is found out", |it| it["elsewhere"] == json!(true)).await;
    assert_eq!((&cluster["reachable"], &cluster["known"]["identity"]), (&json!(false), &known), "{cluster}");
    assert_eq!(cluster["found"]["server"], json!(ground.listener.url()));
    // Several versions of several apps.
    let mut pushed = Vec::new();
    for version in ["2", "3"] {
        for app in ["one", "two"] {
            pushed.push((app, ground.push(app, version).await));
        }
    }
    for app in ["one", "two"] {
        ground.is_told_elsewhere(app).await;
        assert_eq!(ground.versions(app).await, [json!("1"), Value::Null]);
    }
    for (_, commit) in &pushed {
        assert_ne!(ground.world.status(commit, "wild/deploy").await.as_deref(), Some("success"));
    }
    // Nobody needs to say anything where it leads back.
    ground.write(&kubeconfig(&[("home", &ground.home())]));
    for (app, commit) in &pushed[2..] {
        ground.plain(app).done(commit).await;
        assert_eq!(ground.versions(app).await, [json!("3"), Value::Null]);
    }
    // The test itself reads settings; the daemon asked for nothing but which cluster it is.
    let sent = ground.sent();
    assert!(!sent.is_empty() && sent.iter().all(|it| it.starts_with("get /api/v1/namespaces/")), "{sent:#?}");
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_is_known_after_a_restart_and_after_the_cluster_was_gone_from_the_file() {
    let mut ground = Ground::start().await;
    let pushed = ground.push("one", "1").await;
    ground.plain("one").done(&pushed).await;
    // While no daemon runs.
    ground.write(&kubeconfig(&[("home", ground.listener.url())]));
    ground.restart().await;
    ground.push("one", "2").await;
    ground.is_told_elsewhere("one").await;
    // Away, and another one under the same name.
    ground.write(&kubeconfig(&[]));
    ground
        .world
        .until("it is gone", async || ground.call("GET", "/clusters", None).await.1["clusters"] == json!([]))
        .await;
    ground.write(&kubeconfig(&[("home", ground.listener.url())]));
    ground.cluster_until("it is found out", |it| it["elsewhere"] == json!(true)).await;
    // Another context becomes the current one.
    ground.write(&kubeconfig(&[("edge", ground.listener.url()), ("home", &ground.home())]));
    ground
        .cluster_until("the first one is another", |it| it["name"] == json!("edge") && it["elsewhere"] == json!(true))
        .await;
    assert_eq!(ground.versions("one").await, [json!("1"), Value::Null]);
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_was_made_anew_at_the_same_place_is_another_one() {
    let ground = Ground::start().await;
    let way = Proxy::start(ground.world.cluster.url()).await;
    // The same cluster at another address is the same cluster.
    ground.write(&kubeconfig(&[("home", way.url())]));
    let moved = |it: &Value| it["known"]["identity"]["server"] == json!(way.url());
    ground.cluster_until("it has moved", moved).await;
    let pushed = ground.push("one", "1").await;
    ground.plain("one").done(&pushed).await;
    // It is away for a moment, and something else answers in its place.
    way.spoil(To::All, Fault::Reset, ALWAYS);
    ground.cluster_until("it is away", |it| it["reachable"] == json!(false)).await;
    way.lead_to(ground.other.url());
    way.clear();
    ground.cluster_until("it is found out", |it| it["elsewhere"] == json!(true)).await;
    ground.push("one", "2").await;
    ground.is_told_elsewhere("one").await;
    assert_eq!(ground.versions("one").await, [json!("1"), Value::Null]);
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_accepts_what_he_saw_and_nothing_else() {
    let ground = Ground::start().await;
    let pushed = ground.push("one", "1").await;
    ground.plain("one").done(&pushed).await;
    let third = sandbox(9).await;
    ground.write(&kubeconfig(&[("home", third.url())]));
    let seen = ground.cluster_until("it is found out", |it| it["found"]["server"] == json!(third.url())).await;
    ground.write(&kubeconfig(&[("home", ground.listener.url())]));
    let now = ground
        .cluster_until("it leads elsewhere again", |it| it["found"]["server"] == json!(ground.listener.url()))
        .await;
    // What was seen is not there any more, and what nobody has cannot be accepted.
    for (name, found) in
        [("home", &seen["found"]), ("home", &json!({"server": "x", "authority": ""})), ("edge", &now["found"])]
    {
        let (status, answer) =
            ground.call("POST", &format!("/clusters/{name}/accept"), Some(&json!({"found": found}))).await;
        assert!((400..500).contains(&status), "{status} {answer}");
    }
    let (status, answer) =
        ground.call("POST", "/clusters/home/accept", Some(&json!({"found": now["found"], "force": true}))).await;
    assert!((400..500).contains(&status), "{status} {answer}");
    ground.push("one", "2").await;
    ground.is_told_elsewhere("one").await;
    assert_eq!(ground.versions("one").await, [json!("1"), Value::Null]);
    let (status, answer) = ground.call("POST", "/clusters/home/accept", Some(&json!({"found": now["found"]}))).await;
    assert_eq!(status, 200, "{answer}");
    ground.world.until("it is applied there", async || ground.versions("one").await == [json!("1"), json!("2")]).await;
    let accepted = ground.cluster().await;
    assert_eq!((&accepted["elsewhere"], &accepted["known"]["identity"]), (&json!(false), &now["found"]), "{accepted}");
    assert!(accepted["known"]["by"].as_str().unwrap().starts_with("alice"), "{accepted}");
    assert_eq!(accepted["known"]["before"]["server"], json!(ground.home()));
    // From now on the first one is elsewhere.
    ground.write(&kubeconfig(&[("home", &ground.home())]));
    ground.cluster_until("it is found out", |it| it["elsewhere"] == json!(true)).await;
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_first_namespace_may_not_be_read_is_known_by_its_server() {
    let ground = Ground::start().await;
    let [way, detour] = [Proxy::start(&ground.home()).await, Proxy::start(&ground.home()).await];
    for proxy in [&way, &detour] {
        proxy.spoil(To::ReadsOf("/namespaces/kube-system"), Fault::Refuse(403, ""), ALWAYS);
    }
    // What is known of the uid already shows nothing where it may not be read any more.
    ground.write(&kubeconfig(&[("home", way.url())]));
    ground.cluster_until("nothing shows that it is the same", |it| it["elsewhere"] == json!(true)).await;
    let (_, all) = ground.call("GET", "/clusters", None).await;
    let found = &all["clusters"][0]["found"];
    assert!(found.get("uid").is_none(), "{found}");
    assert_eq!(ground.call("POST", "/clusters/home/accept", Some(&json!({"found": found}))).await.0, 200);
    let pushed = ground.push("one", "1").await;
    ground.plain("one").done(&pushed).await;
    ground.write(&kubeconfig(&[("home", detour.url())]));
    ground.cluster_until("another server is another cluster", |it| it["elsewhere"] == json!(true)).await;
    ground.push("one", "2").await;
    ground.is_told_elsewhere("one").await;
    assert_eq!(ground.versions("one").await, [json!("1"), Value::Null]);
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_for_which_nobody_known_vouches_is_shown_nothing_whatever_it_would_say_of_itself() {
    let ground = Ground::start().await;
    let pushed = ground.push("one", "1").await;
    ground.plain("one").done(&pushed).await;
    let known = ground.cluster().await["known"]["identity"].clone();
    assert!(known["uid"].is_string(), "{known}");
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let port = stranger.local_addr().unwrap().port();
    let vouching = |_| {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        rcgen::generate_simple_self_signed(names).unwrap().cert.pem()
    };
    let [one, other] = [0, 1].map(vouching);
    let both = format!("{one}{other}");
    for (host, authority) in [("127.0.0.1", &one), ("localhost", &one), ("127.0.0.1", &other), ("localhost", &both)] {
        let server = format!("https://{host}:{port}");
        let mut config: Value = serde_json::from_str(&kubeconfig(&[("home", &server)])).unwrap();
        config["clusters"][0]["cluster"]["certificate-authority-data"] = json!(STANDARD.encode(authority));
        config["users"][0]["user"] = json!({"token": "not-for-strangers"});
        ground.write(&config.to_string());
        let found = |it: &Value| it["elsewhere"] == json!(true) && it["found"]["server"] == json!(server);
        let cluster = ground.cluster_until(&format!("{server} is found out"), found).await;
        assert!(cluster["found"].get("uid").is_none() && cluster["known"]["identity"] == known, "{cluster}");
    }
    ground.push("one", "2").await;
    ground.is_told_elsewhere("one").await;
    let called = stranger.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(called, Err(std::io::ErrorKind::WouldBlock), "somebody called the stranger");
    ground.world.stop().await;
}

/// A change of the file, and what is said of it. Each would lead to the listener, or run or read something.
fn refused(home: &str, listener: &str, secret: &Path) -> Vec<(String, &'static str)> {
    let with = |server: &str, cluster: Value, user: Value| {
        let mut config: Value = serde_json::from_str(&kubeconfig(&[("home", server)])).unwrap();
        let fields = |to: &mut Value, of: Value| to.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        fields(&mut config["clusters"][0]["cluster"], cluster);
        fields(&mut config["users"][0]["user"], user);
        config.to_string()
    };
    let run = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", format!("touch {}", secret.with_extension("ran").display())]});
    vec![
        (with(listener, json!({}), json!({"exec": run.clone()})), "it would run a program"),
        (with(home, json!({}), json!({"exec": run, "token": "abc"})), "it would run a program"),
        (
            with(home, json!({}), json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/sh"}}})),
            "it would run a program",
        ),
        (with(home, json!({"proxy-url": listener}), json!({})), "through a proxy"),
        (with(home, json!({"insecure-skip-tls-verify": true}), json!({})), "nobody would vouch"),
        (with("http://203.0.113.7:8080", json!({}), json!({})), "without encryption"),
        (with("http://localhost@203.0.113.7", json!({}), json!({})), "no address"),
        (with(listener, json!({}), json!({"tokenFile": secret})), "outside of the directory"),
        (
            with(
                listener,
                json!({}),
                json!({"tokenFile": format!("../{}/secret", secret.parent().unwrap().file_name().unwrap().display())}),
            ),
            "outside of the directory",
        ),
        (with(listener, json!({"certificate-authority": "/etc/ssl/cert.pem"}), json!({})), "outside of the directory"),
        (with(listener, json!({}), json!({"client-certificate": "link", "client-key": "link"})), "link that leads out"),
        (with(listener, json!({}), json!({"as": "alice", "as-uid": "0"})), "as somebody else"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_changed_file_may_not_say_is_told_and_not_done_and_the_cluster_stays() {
    let mut ground = Ground::start().await;
    let pushed = ground.push("one", "0").await;
    ground.plain("one").done(&pushed).await;
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "hunter2-of-another-file").unwrap();
    symlink(&secret, ground.directory.path().join("link")).unwrap();
    for (number, (text, why)) in refused(&ground.home(), ground.listener.url(), &secret).into_iter().enumerate() {
        ground.write(&text);
        let said = |it: &Value| it["trouble"].as_str().is_some_and(|said| said.contains(why));
        let cluster = ground.cluster_until(&format!("{why} is told of {text}"), said).await;
        // It is gone on with what was good before.
        assert_eq!((&cluster["reachable"], &cluster["elsewhere"]), (&json!(true), &json!(false)), "{cluster}");
        if number % 4 == 0 {
            let version = number.to_string() + "a";
            let pushed = ground.push("one", &version).await;
            ground.plain("one").done(&pushed).await;
            assert_eq!(ground.versions("one").await, [json!(version), Value::Null]);
        }
    }
    assert!(ground.sent().iter().all(|it| it.ends_with("/configmaps/setting")), "{:#?}", ground.sent());
    assert!(!secret.with_extension("ran").exists(), "a program ran");
    assert!(!ground.world.kept().await.contains("hunter2"));
    // A daemon that starts on such a file says so, and the others of its clusters go on.
    let bad: Value = serde_json::from_str(&kubeconfig(&[("home", &ground.home())])).unwrap();
    let mut bad: Value = bad;
    bad["clusters"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "bad", "cluster": {"server": ground.listener.url(), "proxy-url": "http://x"}}));
    bad["contexts"].as_array_mut().unwrap().push(json!({"name": "bad", "context": {"cluster": "bad"}}));
    bad["current-context"] = json!("bad");
    ground.write(&bad.to_string());
    ground.restart().await;
    let (_, all) = ground.call("GET", "/clusters", None).await;
    let named =
        |name: &str| all["clusters"].as_array().unwrap().iter().find(|it| it["name"] == json!(name)).unwrap().clone();
    assert_eq!(named("home")["reachable"], json!(true), "{all}");
    assert!(
        named("bad")["refused"] == json!(true) && named("bad")["why"].as_str().unwrap().contains("proxy-url"),
        "{all}"
    );
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_others_may_read_is_narrowed_and_told_and_a_link_is_not_followed_away() {
    let ground = Ground::start().await;
    let mode = || std::fs::metadata(ground.path()).unwrap().permissions().mode() & 0o777;
    ground.world.until("it is narrowed when it is read first", async || mode() == 0o600).await;
    for wide in [0o644, 0o666, 0o640] {
        ground.write(&kubeconfig(&[("home", &ground.home())]));
        std::fs::set_permissions(ground.path(), std::fs::Permissions::from_mode(wide)).unwrap();
        let told = format!("{wide:04o}");
        let says = |it: &Value| it["path"].as_str().unwrap().ends_with(FILE) && it["mode"] == json!(told);
        let said = async || {
            let (_, instance) = ground.call("GET", "", None).await;
            let lists = [instance["openFiles"].clone(), ground.cluster().await["narrowed"].clone()];
            lists.iter().any(|list| list.as_array().unwrap().iter().any(says))
        };
        ground.world.until(&format!("{told} is told"), said).await;
        ground.world.until("it is narrowed", async || mode() == 0o600).await;
    }
    // A link of the same content that somebody else may change.
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().join("config");
    std::fs::write(&real, kubeconfig(&[("home", ground.listener.url())])).unwrap();
    std::fs::remove_file(ground.path()).unwrap();
    symlink(&real, ground.path()).unwrap();
    let said = |it: &Value| it["trouble"].as_str().is_some_and(|said| said.contains("a link that leads out"));
    let cluster = ground.cluster_until("the link is told", said).await;
    assert_eq!(cluster["found"]["server"], json!(ground.home()), "{cluster}");
    ground.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_changed_file_may_not_say_is_not_added_either_and_files_that_go_along_are_told() {
    let (cluster, access) = input::sandbox().await;
    let home = access.url.clone();
    let machine = Machine::start(access, "stonedb 15.5").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig ~/.kube/config").await;
    let instances = machine.root().join("home/.local/state/wild/instances");
    let copy = std::fs::read_dir(instances).unwrap().next().unwrap().unwrap().path().join("kubeconfig");
    let before = std::fs::read_to_string(&copy).unwrap();
    let secret = machine.root().join("elsewhere/secret");
    machine.write("elsewhere/secret", "hunter2-of-another-file\n");
    let mut tried = 0;
    for (text, why) in refused(&home, &home, &secret) {
        machine.write("home/other", &text);
        // A person may read what he names; what of it goes along is told below.
        if why.contains("outside") || why.contains("link") {
            continue;
        }
        let why = if why.contains("program") { "a program" } else { why };
        for command in
            ["wild cluster add --kubeconfig ~/other --as edge", "wild cluster add --first --kubeconfig ~/other"]
        {
            let ran = machine.run("home.git", command).await;
            assert!(ran.code == 2 && ran.notes.contains(why) && ran.notes.contains("try: "), "{text}: {ran:?}");
        }
        let ran = machine.run(".", "wild init lab.git --bare --domain lab.example.org --kubeconfig ~/other").await;
        assert!(ran.code == 2 && ran.notes.contains(why), "{text}: {ran:?}");
        assert!(!machine.root().join("lab.git").exists(), "{text}");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), before, "{text}");
        tried += 1;
    }
    assert!(tried >= 7 && !secret.with_extension("ran").exists(), "{tried}");
    let mut config: Value = serde_json::from_str(&kubeconfig(&[("edge", &home)])).unwrap();
    config["users"][0]["user"] = json!({"tokenFile": "../elsewhere/secret"});
    machine.write("home/other", &config.to_string());
    let told = |ran: &Ran| ran.notes.contains("elsewhere/secret goes along as tokenFile");
    let ran = machine.run("home.git", "wild cluster add --kubeconfig ~/other --dry-run").await;
    assert!(ran.code == 0 && told(&ran) && !ran.notes.contains("hunter2"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), before);
    let ran = machine.run("home.git", "wild cluster add --kubeconfig ~/other").await;
    assert!(ran.code == 0 && told(&ran) && !ran.notes.contains("hunter2") && !ran.data.contains("hunter2"), "{ran:?}");
    let kept = std::fs::read_to_string(&copy).unwrap();
    assert!(kept.contains("hunter2-of-another-file") && !kept.contains("tokenFile"), "it goes along");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    cluster.stop().await;
}

/// What a user of a kubeconfig holds that no header takes or that is no certificate, and what is said of it.
fn spoiled() -> Vec<(Value, &'static str)> {
    let long = "a".repeat(1024 * 1024);
    let texts = ["abc\ndef", "abc\n", "\nabc", "abc\rdef", "abc\r\nImpersonate-User: root", "a\0b", "tökén", &long];
    let mut all: Vec<(Value, &str)> = texts.iter().map(|text| (json!({"token": text}), "token: it is empty")).collect();
    for text in ["a\nb", "a\0b"] {
        all.push((json!({"token": "abc", "as": text}), "as: it is empty"));
        all.push((json!({"token": "abc", "as": "alice", "as-groups": ["staff", text]}), "as-groups: it is empty"));
        all.push((json!({"username": "alice", "password": text}), "password: it is empty"));
        all.push((json!({"username": text, "password": "abc"}), "username: it is empty"));
    }
    all.push((json!({"client-certificate-data": "AAAA", "client-key-data": "AAAA"}), "no certificate in PEM"));
    all
}

/// Returns a kubeconfig whose user holds these fields.
fn signed(name: &str, server: &str, user: &Value) -> Value {
    let mut config: Value = serde_json::from_str(&kubeconfig(&[(name, server)])).unwrap();
    config["users"][0]["user"] = user.clone();
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_no_header_takes_is_told_and_what_was_good_before_goes_on() {
    let mut ground = Ground::start().await;
    ground.write(&signed("home", &ground.home(), &json!({"token": "good-0"})).to_string());
    let mut spoiled = spoiled();
    // The content of a file in the place of a field, each as it comes from somebody's editor.
    for (number, content) in ["", "\n\n", "one\ntwo\n", "a\0b"].into_iter().enumerate() {
        let name = format!("token-{number}");
        std::fs::write(ground.directory.path().join(&name), content).unwrap();
        spoiled.push((json!({"tokenFile": name}), "tokenFile: it is empty"));
    }
    for (number, (user, why)) in spoiled.iter().enumerate() {
        ground.write(&signed("home", &ground.home(), user).to_string());
        let said = |it: &Value| it["trouble"].as_str().is_some_and(|said| said.contains(why));
        let cluster = ground.cluster_until(&format!("{why} is told of number {number}"), said).await;
        assert_eq!((&cluster["reachable"], &cluster["elsewhere"]), (&json!(true), &json!(false)), "{cluster}");
        if number % 5 == 0 {
            for app in ["one", "two"] {
                let version = format!("{number}a");
                let pushed = ground.push(app, &version).await;
                ground.plain(app).done(&pushed).await;
                assert_eq!(ground.versions(app).await, [json!(version), Value::Null]);
            }
        }
        // A line break at the end of a file is ordinary.
        std::fs::write(ground.directory.path().join("token"), format!(" good-{number} \r\n\n")).unwrap();
        ground.write(&signed("home", &ground.home(), &json!({"tokenFile": "token"})).to_string());
        ground
            .cluster_until("it is good again", |it| it.get("trouble").is_none_or(|said| said == "" || said.is_null()))
            .await;
    }
    // A daemon that starts on such a file says so, and the others of its clusters go on.
    let mut both = signed("home", &ground.home(), &json!({}));
    for (key, bad) in signed("bad", ground.other.url(), &spoiled[0].0).as_object().unwrap() {
        if let (Some(entries), Some(bad)) = (both[key].as_array_mut(), bad.as_array()) {
            entries.extend(bad.iter().cloned());
        }
    }
    both["current-context"] = json!("bad");
    ground.write(&both.to_string());
    ground.restart().await;
    let (_, all) = ground.call("GET", "/clusters", None).await;
    let named =
        |name: &str| all["clusters"].as_array().unwrap().iter().find(|it| it["name"] == json!(name)).unwrap().clone();
    assert_eq!(named("home")["reachable"], json!(true), "{all}");
    assert!(named("bad")["refused"] == json!(true) && named("bad")["why"].as_str().unwrap().contains("token"), "{all}");
    ground.world.stop().await;
}

/// What is typed once a bad file is there, without a daemon and with one.
const ANSWERED: [&str; 8] = [
    "wild status",
    "wild doctor",
    "wild cluster list",
    "wild cluster list -o json",
    "wild cluster show edge",
    "wild app list",
    "wild cluster add --dry-run --kubeconfig ~/.kube/config --as third",
    "wild cluster remove edge --dry-run",
];

/// Makes an instance with a cluster and returns where the copy of its kubeconfig is.
async fn copied(machine: &Machine) -> PathBuf {
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig ~/.kube/config").await;
    let instances = machine.root().join("home/.local/state/wild/instances");
    std::fs::read_dir(instances).unwrap().next().unwrap().unwrap().path().join("kubeconfig")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_no_header_takes_is_not_added() {
    let (cluster, access) = input::sandbox().await;
    let home = access.url.clone();
    let machine = Machine::start(access, "stonedb 15.5").await;
    let copy = copied(&machine).await;
    let before = std::fs::read_to_string(&copy).unwrap();
    let whole = |why: &str, ran: &Ran| {
        assert!(ran.code == 2 && ran.notes.contains(why) && ran.notes.contains("try: "), "{why}: {ran:?}");
        assert!(!format!("{ran:?}").contains("panicked") && ran.notes.len() < 2_000, "{ran:?}");
    };
    for (user, why) in spoiled() {
        machine.write("home/other", &signed("edge", &home, &user).to_string());
        whole(why, &machine.run("home.git", "wild cluster add --kubeconfig ~/other").await);
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), before, "{why}");
    }
    machine.write("home/other", "kind: Config\ncurrent-context: edge\ncontexts: [{name: edge, context: {cluster: e, user: u}}]\nclusters: [{name: e, cluster: {server: 'https://127.0.0.1:1'}}]\nusers:\n- name: u\n  user:\n    token: |\n      abcdefgh\n");
    whole("line 8: user \"u\": token", &machine.run("home.git", "wild cluster add --kubeconfig ~/other").await);
    for (content, is_good) in [("one\ntwo\n", false), ("", false), ("one\n", true)] {
        machine.write("home/token", content);
        machine.write("home/other", &signed("edge", &home, &json!({"tokenFile": "token"})).to_string());
        let ran = machine.run("home.git", "wild cluster add --dry-run --kubeconfig ~/other").await;
        assert_eq!(ran.code == 0, is_good, "{content:?}: {ran:?}");
    }
    let mut authority = signed("edge", "https://127.0.0.1:1", &json!({"token": "abc"}));
    authority["clusters"][0]["cluster"]["certificate-authority-data"] = json!(STANDARD.encode("not a cert"));
    machine.write("home/other", &authority.to_string());
    whole(
        "certificate-authority-data: it is no certificate",
        &machine.run("home.git", "wild cluster add --kubeconfig ~/other").await,
    );
    // One that has the form of a certificate and is none is refused by the library that would use it.
    let form = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
    authority["clusters"][0]["cluster"]["certificate-authority-data"] = json!(STANDARD.encode(form));
    machine.write("home/other", &authority.to_string());
    whole("root certificate", &machine.run("home.git", "wild cluster add --kubeconfig ~/other").await);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), before);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_no_header_takes_stops_no_command_where_an_older_version_copied_it() {
    let (cluster, access) = input::sandbox().await;
    let home = access.url.clone();
    let mut machine = Machine::start(access, "stonedb 15.5").await;
    let copy = copied(&machine).await;
    let text = std::fs::read_to_string(&copy).unwrap();
    let good = rewild::yaml::load_one("kubeconfig", &text, rewild::yaml::Dialect::Kube).unwrap().unwrap().value;
    for (number, (user, _)) in spoiled().into_iter().step_by(4).enumerate() {
        let mut both = good.clone();
        for (key, bad) in signed("edge", &home, &user).as_object().unwrap() {
            if let (Some(entries), Some(bad)) = (both[key].as_array_mut(), bad.as_array()) {
                entries.extend(bad.iter().cloned());
            }
        }
        if number == 1 {
            both["current-context"] = json!("edge");
        }
        std::fs::write(&copy, both.to_string()).unwrap();
        for line in ANSWERED {
            let ran = machine.run("home.git", line).await;
            assert!((0..=6).contains(&ran.code) && !ran.notes.contains("panicked"), "{line}: {ran:?}");
        }
        let ran = machine.run("home.git", "wild cluster list -o json").await;
        assert!(ran.code == 0 && ran.data.contains("\"refused\": true"), "{ran:?}");
    }
    let settings = format!("instances: [{{name: home, path: {}/home.git}}]\n", machine.root().display());
    machine.start_daemon(&settings).await;
    for line in ANSWERED {
        let ran = machine.run("home.git", line).await;
        assert!((0..=6).contains(&ran.code) && !ran.notes.contains("panicked"), "{line}: {ran:?}");
    }
    machine.done("home.git", "wild cluster remove edge").await;
    assert!(!std::fs::read_to_string(&copy).unwrap().contains("edge"));
    assert!(!machine.log().contains("panicked"), "{}", machine.log());
    cluster.stop().await;
}
