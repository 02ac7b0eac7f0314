//! Twelve planted values and the search for them in everything that a daemon, its children and its repositories leave behind.
//!
//! The daemon is a process of its own, at its most talkative. The search is proven first: each value is found in each spelling in each place
//! that is searched, planted there and nowhere else (`canary/places.rs`). Where the product has no use for a value yet, such as that of an
//! OIDC client, it lies among the secrets and is nobody's to tell all the same. Not here: the shapes that the product itself searches for
//! (`yaml::leak`).

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::input::sandbox;
use crate::machine::Machine;

mod places;

/// Where secrets belong, from the root of the machine, with `*` for any one name; everything else is searched.
const SECRET_FILES: [&str; 7] = [
    "home/.local/state/wild/instances/*/secrets.yaml",
    "home/.local/state/wild/instances/*/kubeconfig",
    "home/.kube/config",
    "git.token",
    "deploy.key",
    "typed",
    "all",
];
/// What anybody may read who sees an app in the cluster; of Secrets only what is told about them.
const OBJECTS: [&str; 8] = [
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/events",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/networking.k8s.io/v1/ingresses",
];
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
    all.insert("URL".to_owned(), percent_encoded(value, |byte| format!("%{byte:02X}")));
    let json = serde_json::to_string(value).unwrap();
    all.insert("JSON".to_owned(), json.trim_matches('"').as_bytes().to_vec());
    all.insert("JSON in JSON".to_owned(), serde_json::to_string(&json).unwrap().trim_matches('"').as_bytes().to_vec());
    all.insert("URL in small letters".to_owned(), percent_encoded(value, |byte| format!("%{byte:02x}")));
    all.insert("form".to_owned(), String::from_utf8(all["URL"].clone()).unwrap().replace("%20", "+").into_bytes());
    let marked = |marks: [&str; 5]| {
        let pairs = ['&', '<', '>', '"', '\''].into_iter().zip(marks);
        pairs.fold(value.to_owned(), |text, (c, mark)| text.replace(c, mark)).into_bytes()
    };
    all.insert("HTML".to_owned(), marked(["&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"]));
    all.insert("HTML in numbers".to_owned(), marked(["&#38;", "&#60;", "&#62;", "&#34;", "&#39;"]));
    all.insert("YAML".to_owned(), value.replace('\'', "''").into_bytes());
    all.insert("shell".to_owned(), value.replace('\'', "'\\''").into_bytes());
    // What is indented or cut at its ends of lines.
    for (number, line) in value.lines().enumerate().filter(|_| value.contains('\n')) {
        all.insert(format!("line {number}"), line.as_bytes().to_vec());
    }
    all
}

/// Writes what is no letter, digit or one of four marks in another way.
fn percent_encoded(value: &str, encoded: impl Fn(u8) -> String) -> Vec<u8> {
    let one = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => encoded(byte),
    };
    value.bytes().map(one).collect::<String>().into_bytes()
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

    /// Adds every file below a directory but those of secrets, every name and target of a link, and every object of every repository there.
    fn files(&mut self, root: &Path) {
        self.below(root, root);
    }

    fn below(&mut self, root: &Path, directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            self.add("names of files", format!("{}\n", path.display()));
            if kind.is_symlink() {
                self.add(
                    format!("target of {}", path.display()),
                    std::fs::read_link(&path).unwrap().as_os_str().as_bytes(),
                );
            } else if kind.is_dir() {
                let is_repository = path.join("objects").is_dir() && path.join("refs").is_dir();
                let is_quarantine = entry.file_name().to_string_lossy().starts_with("tmp_objdir-");
                if is_repository || is_quarantine {
                    self.objects(&path, is_quarantine);
                }
                self.below(root, &path);
            } else if kind.is_file() && !is_of_secrets(path.strip_prefix(root).unwrap()) {
                self.add(path.display().to_string(), std::fs::read(&path).unwrap_or_default());
            }
        }
    }

    /// Adds every object of a repository, reachable or not, or of what a push left in quarantine.
    fn objects(&mut self, repository: &Path, is_quarantine: bool) {
        let mut git = Command::new("git");
        git.args(["cat-file", "--batch-all-objects", "--batch", "--unordered"]).current_dir(repository).envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
        ]);
        if is_quarantine {
            // It lies in the directory of objects of its repository.
            git.env("GIT_DIR", repository.join("../..")).env("GIT_OBJECT_DIRECTORY", repository);
        }
        let output = git.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the objects of {} are not read: {said}", repository.display());
        self.add(format!("objects of {}", repository.display()), output.stdout);
    }

    /// Adds what a cluster shows of its objects to whoever may not read Secrets.
    fn cluster(&mut self, path: &str, mut list: Value) {
        for item in list["items"].as_array_mut().into_iter().flatten() {
            if path.ends_with("/secrets") {
                for data in ["data", "stringData"] {
                    item.as_object_mut().unwrap().remove(data);
                }
            }
        }
        // Texts as they are: in JSON they would be spelled in yet another way.
        let (mut texts, mut left) = (String::new(), vec![list]);
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => texts.push_str(&format!("{text}\n")),
                Value::Array(items) => left.extend(items),
                Value::Object(fields) => {
                    left.extend(fields.into_iter().flat_map(|(key, value)| [Value::from(key), value]))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        self.add(format!("cluster {path}"), texts);
    }

    /// Adds what every command says, to people and to programs.
    async fn commands(&mut self, machine: &Machine) {
        for line in COMMANDS {
            let ran = machine.run("desk", line).await;
            self.add(line, format!("{}{}", ran.data, ran.notes));
        }
    }

    /// Adds what a running process shows of itself to others of its user.
    fn running(&mut self, pid: u32) {
        for file in ["cmdline", "environ", "limits"] {
            self.add(format!("{file} of the daemon"), std::fs::read(format!("/proc/{pid}/{file}")).unwrap());
        }
    }

    /// Adds what the daemon answers at every address.
    async fn routes(&mut self, socket: &Path) {
        for route in ROUTES {
            let path = route.replace("{cloud}", "/api/v1/instances/cloud");
            let answer = ask(socket.to_owned(), path.clone()).await;
            let begin = String::from_utf8_lossy(answer.get(..12).unwrap_or_default()).into_owned();
            assert!(begin.starts_with("HTTP/1."), "{path} answers {begin:?}");
            self.add(format!("GET {path}"), answer);
        }
    }
}

/// Returns whether a file is one where secrets belong.
fn is_of_secrets(path: &Path) -> bool {
    SECRET_FILES.iter().any(|known| {
        let (known, found): (Vec<&str>, Vec<_>) = (known.split('/').collect(), path.iter().collect());
        known.len() == found.len() && known.iter().zip(found).all(|(known, found)| *known == "*" || found == *known)
    })
}

/// Asks the daemon over its socket and returns all that it answers.
async fn ask(socket: PathBuf, path: String) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    // In 1.0 nothing is cut into chunks, between which a value would be missed.
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n");
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

/// Returns the twelve; the last three are made by the product in the story and stand here for themselves.
fn all_twelve() -> Vec<Canary> {
    let mut all = planted();
    all.push(canary("generated secret", "q7Rk2ZpX9vLm4TnB8sWc6YdF3gHj5KaE"));
    all.push(canary("dependency copy", "u1Oi8Pa4Sd6Fg9Hj2Kl5Zx7Cv3Bn0Mq"));
    all.push(canary("templated dbUrl", "stonedb://quillblog:e5Rt7Yu9Io1P@stonedb.stonedb.svc:5432/quillblog"));
    assert_eq!(all.len(), 12);
    all
}

const GIT: &str = "#!/bin/sh\n{ printf '%s\\0' \"$@\"; env -0; tr '\\0' ' ' < /proc/$PPID/cmdline; echo; } >> \"CHILDREN\"\nexec GIT \"$@\"\n";
const EDGE: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: edge}\nspec:\n  tls: [{hosts: [a.example.org], secretName: wildcard-tls}]\n  rules:\n  - host: a.example.org\n    http:\n      paths: [{path: /, pathType: Prefix, backend: {service: {name: edge, port: {number: 80}}}}]\n";

/// Returns a git that writes down what it and its parent are started with.
fn watched_git(root: &Path) -> String {
    let git = String::from_utf8(Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout).unwrap();
    GIT.replace("CHILDREN", &format!("{}/children", root.display()))
        .replace("exec GIT", &format!("exec {}", git.trim()))
}

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
    machine.write("bin/git", &watched_git(Path::new(&root)));
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
        left.commands(machine).await;
        left.routes(&machine.root().join("run/wild.sock")).await;
        for path in OBJECTS {
            left.cluster(path, machine.get(path).await.unwrap());
        }
        left.running(self.pid());
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
