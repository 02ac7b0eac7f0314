//! Twelve planted values and the search for them in everything that a daemon, its children and its repositories leave behind.
//!
//! The daemon is a process of its own, at its most talkative. The search is proven first: each value is found in each spelling, and in
//! each place that is searched. Where the product has no use for a value yet, such as that of an OIDC client, it lies among the secrets and
//! is nobody's to tell all the same. Not here: the shapes that the product itself searches for (`yaml::leak`).

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::input::sandbox;
use crate::machine::Machine;

/// Where secrets belong; everything else is searched.
const SECRET_FILES: [&str; 7] =
    ["/secrets.yaml", "/kubeconfig", "/.kube/config", "/git.token", "/deploy.key", "/typed", "/all"];
/// What the daemon answers over its socket.
const ROUTES: [&str; 36] = [
    "/",
    "/style.css",
    "/livez",
    "/readyz",
    "/healthz",
    "/metrics",
    "/api/v1/status",
    "/api/v1/instances",
    "/api/v1/nonsense",
    "{cloud}",
    "{cloud}/apps",
    "{cloud}/apps/stonedb",
    "{cloud}/apps/quillblog",
    "{cloud}/apps/quillblog/status",
    "{cloud}/apps/quillblog/config",
    "{cloud}/apps/quillblog/plan",
    "{cloud}/apps/quillblog/diff",
    "{cloud}/apps/quillblog/diff?against=mine",
    "{cloud}/apps/quillblog/diff?against=upstream",
    "{cloud}/apps/quillblog/history",
    "{cloud}/apps/quillblog/events",
    "{cloud}/apps/quillblog/tree",
    "{cloud}/updates/quillblog",
    "{cloud}/updates/quillblog/remembered",
    "{cloud}/clusters",
    "{cloud}/plan",
    "{cloud}/secrets",
    "{cloud}/drift",
    "{cloud}/operations",
    "{cloud}/directories",
    "{cloud}/apps/edge",
    "{cloud}/apps/edge/plan",
    "{cloud}/apps/edge/diff",
    "{cloud}/apps/nosuch",
    "{cloud}/secrets/apps.stonedb.password",
    "{cloud}/apps/stonedb/diff",
];
/// What people type, in every form.
const COMMANDS: [&str; 14] = [
    "wild status",
    "wild status -o json",
    "wild doctor",
    "wild app list -o json",
    "wild app show quillblog",
    "wild app config quillblog get -o yaml",
    "wild plan -o json",
    "wild drift list -o json",
    "wild secret list -o json",
    "wild operation list -o json",
    "wild operation archive",
    "wild cluster list -o json",
    "wild directory list -o json",
    "wild app events quillblog -o json",
];

/// A value that must not be anywhere.
#[derive(Clone, Debug)]
struct Canary {
    name: &'static str,
    value: String,
}

fn canary(name: &'static str, value: &str) -> Canary {
    Canary { name, value: value.to_owned() }
}

/// Returns the ways in which a value can be written, each with its name. Made without any code of the product.
fn spellings(value: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::from([("raw".to_owned(), value.as_bytes().to_vec())]);
    for (before, skipped) in [(0, 0), (1, 2), (2, 3)] {
        let bytes = [&vec![b'x'; before][..], value.as_bytes()].concat();
        let whole = bytes.len() / 3 * 4;
        for (name, encoded) in [("base64", STANDARD.encode(&bytes)), ("base64 for addresses", URL_SAFE.encode(&bytes))]
        {
            all.insert(format!("{name} at {before}"), encoded.as_bytes()[skipped..whole].to_vec());
        }
    }
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    all.insert("hex".to_owned(), hex.clone().into_bytes());
    all.insert("HEX".to_owned(), hex.to_uppercase().into_bytes());
    let percent = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    all.insert("URL".to_owned(), value.bytes().map(percent).collect::<String>().into_bytes());
    let json = serde_json::to_string(value).unwrap();
    all.insert("JSON".to_owned(), json.trim_matches('"').as_bytes().to_vec());
    all.insert("JSON in JSON".to_owned(), serde_json::to_string(&json).unwrap().trim_matches('"').as_bytes().to_vec());
    all
}

/// Everything that was left behind, by where.
#[derive(Default)]
struct Left(BTreeMap<String, Vec<u8>>);

impl Left {
    fn add(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.entry(place.into()).or_default().extend(bytes.into());
    }

    /// Returns where a value is found, in which spelling.
    fn hits(&self, canaries: &[Canary]) -> Vec<String> {
        let mut hits = Vec::new();
        for Canary { name, value } in canaries {
            for (spelling, form) in spellings(value) {
                let finder = memchr::memmem::Finder::new(&form);
                let places = self.0.iter().filter(|(_, bytes)| finder.find(bytes).is_some());
                hits.extend(places.map(|(place, _)| format!("{name} ({spelling}) in {place}")));
            }
        }
        hits
    }

    /// Adds every file below a directory but those of secrets, and every object of every repository there.
    fn files(&mut self, root: &Path) {
        for entry in std::fs::read_dir(root).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                if path.join("objects").is_dir() && path.join("refs").is_dir() {
                    self.objects(&path);
                }
                self.files(&path);
            } else if kind.is_file() && !SECRET_FILES.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                self.add(path.display().to_string(), std::fs::read(&path).unwrap_or_default());
                self.add("names of files", format!("{}\n", path.display()));
            }
        }
    }

    /// Adds every object of a repository, reachable or not.
    fn objects(&mut self, repository: &Path) {
        let output = Command::new("git")
            .args(["cat-file", "--batch-all-objects", "--batch", "--unordered"])
            .current_dir(repository)
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
            .output()
            .unwrap();
        self.add(format!("objects of {}", repository.display()), output.stdout);
    }
}

/// Asks the daemon over its socket and returns all that it answers.
async fn ask(socket: PathBuf, path: String) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// A listener that keeps what it is sent and answers nothing of use, as a forge that fails.
async fn forge() -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, heard) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
    let kept = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 16 * 1024];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            kept.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
    });
    (port, heard)
}

fn planted() -> Vec<Canary> {
    vec![
        canary("user value", "it's a \"canary\"\\d+$ (second|line)\nof [the] value? & more%20"),
        canary("wildcard TLS key", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoCanaryTls"),
        canary("kubeconfig token", "eyJhbGciOiJSUzI1NiJ9.canary-kubeconfig-token.c2lnbmF0dXJl"),
        canary("client key", "MHcCAQEEIIcanaryClientKeyAoGCCqGSM49AwEHoUQDQgAE"),
        canary("git https token", "glpat-canary-git-7Hq2mZ4wT9"),
        canary("ssh key", "b3BlbnNzaC1rZXktdjEAAAAcanarySshKeyAAAABG5vbmUAAAAE"),
        canary("webhook secret", "whsec_canary_5Jd8sLq1Vb6n"),
        canary("forge token", "gitea-canary-0a1b2c3d4e5f60718293"),
        canary("OIDC client secret", "oidc~canary~Zx9.Yw8-Vu7_Ts6"),
    ]
}

#[test]
fn every_value_is_found_in_every_spelling_and_place_it_is_leaked_to_on_purpose() {
    let mut all = planted();
    all.push(canary("generated secret", "q7Rk2ZpX9vLm4TnB8sWc6YdF3gHj5KaE"));
    all.push(canary("dependency copy", "u1Oi8Pa4Sd6Fg9Hj2Kl5Zx7Cv3Bn0Mq"));
    all.push(canary("templated dbUrl", "stonedb://quillblog:e5Rt7Yu9Io1P@stonedb.stonedb.svc:5432/quillblog"));
    assert_eq!(all.len(), 12);
    for canary in &all {
        for (spelling, form) in spellings(&canary.value) {
            let mut left = Left::default();
            left.add("a log", [b"before ".as_slice(), &form, b" after"].concat());
            let found = format!("{} ({spelling}) in a log", canary.name);
            assert!(left.hits(&all).contains(&found), "{found}");
        }
        // Base64 of more than the value, however it is aligned.
        for before in ["", "u", "us", "user:"] {
            for encoded in [
                STANDARD.encode(format!("{before}{}@host", canary.value)),
                URL_SAFE.encode(format!("{before}{}@host", canary.value)),
            ] {
                let mut left = Left::default();
                left.add("a log", encoded);
                assert!(
                    left.hits(&all).iter().any(|hit| hit.starts_with(canary.name)),
                    "{} behind {before:?}",
                    canary.name
                );
            }
        }
        // In a file, in an object that git packs and compresses, in one that no ref leads to, and in a name.
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().join("r.git");
        let git = |args: &[&str], input: &[u8]| {
            let mut git = Command::new("git");
            git.args(args).current_dir(root.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut git = git.spawn().unwrap();
            git.stdin.take().unwrap().write_all(input).unwrap();
            assert!(git.wait().unwrap().success(), "{args:?}");
        };
        git(&["init", "-q", "--bare", "r.git"], b"");
        git(&["--git-dir", "r.git", "hash-object", "-w", "--stdin"], canary.value.as_bytes());
        std::fs::write(root.path().join("file"), &canary.value).unwrap();
        let hex = String::from_utf8(spellings(&canary.value)["hex"].clone()).unwrap();
        std::fs::write(root.path().join(hex.get(..200).unwrap_or(&hex)), "").unwrap();
        let mut left = Left::default();
        left.files(root.path());
        let hits = left.hits(&all).join("\n");
        assert!(hits.contains(&format!("objects of {}", repository.display())), "{}: {hits}", canary.name);
        assert!(hits.contains(&format!("in {}", root.path().join("file").display())), "{}: {hits}", canary.name);
    }
}

const GIT: &str = "#!/bin/sh\n{ printf '%s\\0' \"$@\"; env -0; tr '\\0' ' ' < /proc/$PPID/cmdline; echo; } >> \"CHILDREN\"\nexec GIT \"$@\"\n";
const EDGE: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: edge}\nspec:\n  tls: [{hosts: [a.example.org], secretName: wildcard-tls}]\n  rules:\n  - host: a.example.org\n    http:\n      paths: [{path: /, pathType: Prefix, backend: {service: {name: edge, port: {number: 80}}}}]\n";

/// Makes a machine whose files, cluster and settings hold the values, and whose git writes down what it is started with.
async fn planted_machine(canaries: &[Canary]) -> (Machine, rewild::sandbox::Sandbox, Arc<Mutex<Vec<u8>>>) {
    let value = |name: &str| canaries.iter().find(|canary| canary.name == name).unwrap().value.clone();
    let (sandbox, mut access) = sandbox().await;
    let config: serde_json::Value = serde_json::from_str(&access.kubeconfig).unwrap_or_else(|_| {
        rewild::yaml::load_one("kubeconfig", &access.kubeconfig, rewild::yaml::Dialect::Gomplate)
            .unwrap()
            .unwrap()
            .value
    });
    let mut config = config;
    config["users"][0]["user"] = json!({"token": value("kubeconfig token")});
    config["users"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "other", "user": {"client-key-data": STANDARD.encode(value("client key"))}}));
    access.kubeconfig = config.to_string();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wildcard-tls"}, "type": "kubernetes.io/tls",
        "data": {"tls.crt": "Y2VydA==", "tls.key": STANDARD.encode(value("wildcard TLS key"))}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}});
    for (path, body) in [("/api/v1/namespaces", namespace), ("/api/v1/namespaces/cert-manager/secrets", secret)] {
        let post = access.http.post(format!("{}{path}", access.url)).header("Content-Type", "application/json");
        assert!(post.body(body.to_string()).send().await.unwrap().status().is_success());
    }
    let machine = Machine::start(access, "quillblog 5.2").await;
    let root = machine.root().display().to_string();
    let git = String::from_utf8(Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout).unwrap();
    machine.write(
        "bin/git",
        &GIT.replace("CHILDREN", &format!("{root}/children")).replace("exec GIT", &format!("exec {}", git.trim())),
    );
    machine.write("git.token", &format!("{}\n", value("git https token")));
    machine.write(
        "deploy.key",
        &format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", value("ssh key")),
    );
    machine.write("typed", &value("user value"));
    machine.done(".", "mkdir desk && chmod +x bin/git && chmod 600 git.token deploy.key typed").await;
    let (port, heard) = forge().await;
    machine.write("remote", &format!("https://127.0.0.1:{port}/cloud.git"));
    (machine, sandbox, heard)
}

/// What is typed, each with the code that it ends with.
const STORY: [(&str, i32); 10] = [
    ("wild cluster add", 0),
    ("wild directory add sample $ROOT/directory.git", 0),
    ("wild app add stonedb && wild app deploy stonedb", 0),
    ("wild app add quillblog --grant stonedb.password", 0),
    ("wild app deploy quillblog", 0),
    ("wild secret set apps.quillblog.adminPassword < $ROOT/typed", 0),
    (
        "git clone -q $ROOT/cloud $ROOT/clone 2>&1 && cd $ROOT/clone && mkdir -p apps/edge && cp $ROOT/edge.yaml apps/edge/edge.yaml && printf 'namespace: edge\\nresources: [edge.yaml]\\n' > apps/edge/kustomization.yaml && printf 'tls: {shared: [cert-manager/wildcard-tls]}\\n' >> .wild/config.yaml && git add -A && git commit -qm edge && git push -q 2>&1",
        0,
    ),
    // What is shared along with its use waits for a word, once the push is seen.
    (
        "for n in $(seq 500); do p=$(wild operation approve --app edge 2>&1 | sed -n 's/.*--plan //p'); test -n \"$p\" && wild operation approve --app edge --plan $p && exit 0; sleep 0.2; done; exit 1",
        0,
    ),
    ("cd $ROOT/clone && cat $ROOT/typed > leak && git add leak && git commit -qm 'a slip' && git push -q 2>&1", 1),
    ("wild app config quillblog set title=canary", 0),
];

/// Types the story and returns all that was said.
async fn tell(machine: &Machine) -> String {
    machine.write("edge.yaml", EDGE);
    let mut said = String::new();
    for (line, code) in STORY {
        let ran = machine.run("desk", line).await;
        said.push_str(&format!("$ {line}\n{}{}", ran.data, ran.notes));
        assert_eq!(ran.code, code, "{said}");
    }
    said
}

/// A story that was told, and what it left.
struct Told {
    machine: Machine,
    sandbox: rewild::sandbox::Sandbox,
    heard: Arc<Mutex<Vec<u8>>>,
    settings: String,
    canaries: Vec<Canary>,
    said: String,
}

/// Plants the values, tells the story and waits until the cluster has what came of it.
async fn told() -> Told {
    let mut canaries = planted();
    let (mut machine, sandbox, heard) = planted_machine(&canaries).await;
    let root = machine.root().to_owned();
    machine.done(".", "wild init cloud --bare --domain cloud.example.org").await;
    let remote = std::fs::read_to_string(root.join("remote")).unwrap();
    let settings = format!(
        "listen: 127.0.0.1:0\nmetricsListen: ''\nlog: {{level: trace}}\negress: {{allow: [{0}/directory.git]}}\ninstances:\n- {{name: cloud, path: {0}/cloud, remote: \"{remote}\", credentialFile: {0}/git.token}}\n",
        root.display()
    );
    machine.start_daemon(&settings).await;
    // The values that have no other place lie among the secrets, as a person would put them there.
    let state = root.join("home/.local/state/wild/instances");
    let own = std::fs::read_dir(&state).unwrap().flatten().next().unwrap().path().join("secrets.yaml");
    let of = |name: &str| canaries.iter().find(|canary| canary.name == name).unwrap().value.clone();
    let file = json!({"forge": {"token": of("forge token"), "webhook": of("webhook secret")}, "git": {"sshKey": of("ssh key")}, "auth": {"oidcSecret": of("OIDC client secret")}});
    std::fs::write(&own, file.to_string()).unwrap();
    let said = tell(&machine).await;
    let secrets = rewild::settings::SecretsFile::new(own).read().unwrap();
    let made = |path: &str| {
        let value = secrets.get(path).unwrap_or_else(|| panic!("{path} is not made:\n{said}"));
        value.expose(rewild::model::Purpose::LeakSearch).to_owned()
    };
    canaries.push(canary("generated secret", &made("apps.quillblog.sessionKey")));
    canaries.push(canary("dependency copy", &made("apps.quillblog.dbPassword")));
    canaries.push(canary("templated dbUrl", &made("apps.quillblog.dbUrl")));
    assert_eq!(canaries.len(), 12);
    let live = async |path: &str| machine.get(path).await.is_some_and(|live| live["data"].is_object());
    for path in ["edge/secrets/wildcard-tls", "quillblog/secrets/quillblog-secrets"] {
        let path = format!("/api/v1/namespaces/{path}");
        machine.until(&format!("{path} is there"), async || live(&path).await).await;
    }
    Told { machine, sandbox, heard, settings, canaries, said }
}

impl Told {
    /// Returns all that is said while the daemon lives: to people, to programs, to the system and to a forge.
    async fn answers(&self) -> Left {
        let (machine, mut left) = (&self.machine, Left::default());
        left.add("what commands said", self.said.clone());
        for line in COMMANDS {
            let ran = machine.run("desk", line).await;
            left.add(line, format!("{}{}", ran.data, ran.notes));
        }
        for route in ROUTES {
            let path = route.replace("{cloud}", "/api/v1/instances/cloud");
            left.add(format!("GET {path}"), ask(machine.root().join("run/wild.sock"), path).await);
        }
        let pid = self.pid();
        for file in ["cmdline", "environ", "limits"] {
            left.add(format!("{file} of the daemon"), std::fs::read(format!("/proc/{pid}/{file}")).unwrap());
        }
        left.add("a forge", self.heard.lock().unwrap().clone());
        left
    }

    fn pid(&self) -> u32 {
        self.machine.daemon.as_ref().and_then(tokio::process::Child::id).unwrap()
    }

    /// Ends the daemon as a fault would that asks for a core dump.
    async fn crash(&mut self) {
        let daemon = self.machine.daemon.as_mut().unwrap();
        let pid = daemon.id().unwrap();
        assert!(Command::new("kill").args(["-ABRT", &pid.to_string()]).status().unwrap().success());
        daemon.wait().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_planted_value_is_anywhere_after_a_whole_story_and_each_that_leaks_is_found() {
    let mut told = told().await;
    let root = told.machine.root().to_owned();
    let mut left = told.answers().await;
    // A core dump would hold everything: there is none.
    told.crash().await;
    // The clone of a person who committed a secret holds it, and is that person's.
    std::fs::remove_dir_all(root.join("clone")).unwrap();
    left.files(&root);
    assert!(left.0.keys().any(|place| place.ends_with("/children")), "git was watched");
    assert!(left.0.keys().any(|place| place.ends_with("/wild.db")), "the store was read");
    assert!(!left.0["a forge"].is_empty() && !left.0["GET /metrics"].is_empty());
    let log = root.join("daemon.log").display().to_string();
    assert!(String::from_utf8_lossy(&left.0[&log]).contains("TRACE"), "{}", left.0[&log].len());
    let hits = left.hits(&told.canaries);
    assert!(hits.is_empty(), "{}", hits.join("\n"));

    // The same search, once everything leaks on purpose.
    let settings = told.settings.clone();
    told.machine.start_daemon(&settings).await;
    let places = leak(&told).await;
    let shown = told.canaries.iter().find(|canary| canary.name == "kubeconfig token").unwrap();
    told.machine.done("desk", &format!("wild app config quillblog set title={}", shown.value)).await;
    let mut left = told.answers().await;
    left.files(&root);
    let hits = left.hits(&told.canaries);
    // What people and programs are answered is searched as well.
    for place in ["wild app config quillblog get -o yaml", "GET /api/v1/instances/cloud/apps/quillblog/config"] {
        let hit = format!("kubeconfig token (raw) in {place}");
        assert!(hits.contains(&hit), "{hit}:\n{}", hits.join("\n"));
    }
    for place in places {
        for canary in &told.canaries {
            let is_of = |hit: &String| hit.starts_with(canary.name) && hit.contains(place);
            assert!(hits.iter().any(is_of), "{} in {place} is not found:\n{}", canary.name, hits.join("\n"));
        }
    }
    told.sandbox.stop().await;
}

/// Leaks every value into every place that is searched, and returns the names of these places.
async fn leak(told: &Told) -> Vec<&'static str> {
    let (machine, root) = (&told.machine, told.machine.root());
    let mut all = String::new();
    for canary in &told.canaries {
        all.push_str(&format!("{}\n\n", canary.value));
    }
    machine.write("all", &all);
    for file in ["daemon.log", "tmp/left"] {
        machine.write(file, &format!("{}{all}", std::fs::read_to_string(root.join(file)).unwrap_or_default()));
    }
    let git = "git -c user.name=a -c user.email=a@b.c --git-dir $ROOT/cloud";
    machine
        .done(
            ".",
            &format!(
                "{git} hash-object -w all && {git} tag -a -F all leak $({git} rev-parse main) && {git} notes add -F all main && LEAK=\"$(cat all)\" {git} rev-parse --sq-quote \"$(cat all)\""
            ),
        )
        .await;
    let state = root.join("home/.local/state/wild");
    let store = rewild::store::Store::open(&state.join("wild.db")).await.unwrap();
    let id = std::fs::read_dir(state.join("instances")).unwrap().flatten().next().unwrap().file_name();
    let id = rewild::model::InstanceId::parse(id.to_str().unwrap()).unwrap();
    store.put_cursor(&id, "leak", &all).await.unwrap();
    store.close().await;
    let port = std::fs::read_to_string(root.join("remote")).unwrap();
    let port: u16 = port.trim_start_matches("https://127.0.0.1:").split('/').next().unwrap().parse().unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(all.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let last = told.canaries.last().unwrap().value.clone();
    let is_heard = || memchr::memmem::find(&told.heard.lock().unwrap(), last.as_bytes()).is_some();
    machine.until("the forge hears it", async || is_heard()).await;
    vec!["/daemon.log", "/tmp/left", "/wild.db", "objects of", "/children", "a forge"]
}
