//! The search for the planted values is proven: they are planted in one place at a time, and found in that place and in no other.
//!
//! Nothing of the product runs here but its store: who leaks stands in for it. Not here: the story that is searched (`canary.rs`).

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Stdio;

use super::*;

/// What is planted: every value in one spelling, each by itself.
type Plants = Vec<Vec<u8>>;

/// Returns every spelling that any of the values has, with all of them in it.
fn plants(all: &[Canary]) -> BTreeMap<String, (Vec<&Canary>, Plants)> {
    let mut plants: BTreeMap<String, (Vec<&Canary>, Plants)> = BTreeMap::new();
    for canary in all {
        for (spelling, form) in spellings(&canary.value) {
            let (names, forms) = plants.entry(spelling).or_default();
            names.push(canary);
            forms.push(form);
        }
    }
    plants
}

/// Joins what is planted, with text around each.
fn joined(plants: &Plants) -> Vec<u8> {
    plants.iter().flat_map(|plant| [b"before ".as_slice(), plant, b" after\n"].concat()).collect()
}

/// Says what is found of all values of a spelling, and that it is found where it was planted and nowhere else.
#[track_caller]
fn check(left: &Left, all: &[Canary], (spelling, planted): (&str, &[&Canary]), places: &[&str]) {
    let hits = left.hits(all);
    for canary in planted {
        for place in places {
            let hit = format!("{} ({spelling}) in {place}", canary.name);
            assert!(hits.contains(&hit), "{hit} is not found: {hits:#?}");
        }
    }
    let found: BTreeSet<&str> = hits.iter().filter_map(|hit| hit.split_once(") in ").map(|(_, place)| place)).collect();
    assert_eq!(found, places.iter().copied().collect(), "{spelling}");
}

fn git(root: &Path, args: &[&str], input: &[u8]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args).current_dir(root);
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(input).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Files below a root, each of which is planted by itself. What is beside a secret file, or called like one elsewhere, is none.
const FILES: [&str; 18] = [
    "daemon.log",
    "tmp/left",
    "run/left",
    "core",
    "cloud/hooks/pre-receive",
    "cloud/config",
    "cloud/logs/refs/heads/main",
    "cloud/.git/info/exclude",
    "home/.config/wild/daemon.yaml",
    "home/.local/state/wild/wild.db.bak",
    "home/.local/state/wild/archive/o1.json",
    "home/.local/state/wild/audit.log",
    "home/.local/state/wild/instances/k3f7q2m5xd/lock",
    "home/.local/state/wild/instances/k3f7q2m5xd/secrets.yaml~",
    "home/.local/state/wild/instances/k3f7q2m5xd/secrets.tmp",
    "clone/secrets.yaml",
    "clone/apps/a/kubeconfig",
    "cloud/refs/remotes/origin/all",
];

#[test]
fn every_value_is_found_in_every_spelling_in_every_file_and_not_where_secrets_belong() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        for file in FILES {
            let root = tempfile::tempdir().unwrap();
            let at = root.path().join(file);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(&at, joined(&forms)).unwrap();
            for known in SECRET_FILES {
                let known = root.path().join(known.replace('*', "k3f7q2m5xd"));
                std::fs::create_dir_all(known.parent().unwrap()).unwrap();
                std::fs::write(known, joined(&forms)).unwrap();
            }
            let mut left = Left::default();
            left.files(root.path());
            check(&left, &all, (&spelling, &planted), &[&at.display().to_string()]);
        }
    }
}

#[test]
fn a_value_is_found_in_the_name_of_a_file_a_directory_and_a_link_and_in_its_target() {
    let all = all_twelve();
    for canary in &all {
        let hex = String::from_utf8(spellings(&canary.value)["hex"].clone()).unwrap();
        for kind in ["file", "directory", "link", "target"] {
            let root = tempfile::tempdir().unwrap();
            let at = root.path().join(&hex);
            let place = match kind {
                "file" => std::fs::write(&at, "").map(|()| "names of files".to_owned()),
                "directory" => std::fs::create_dir(&at).map(|()| "names of files".to_owned()),
                "link" => std::os::unix::fs::symlink("x", &at).map(|()| "names of files".to_owned()),
                _ => {
                    let at = root.path().join("link");
                    std::os::unix::fs::symlink(&hex, &at).map(|()| format!("target of {}", at.display()))
                }
            };
            let mut left = Left::default();
            left.files(root.path());
            check(&left, &all, ("hex", &[canary]), &[&place.unwrap()]);
        }
    }
}

/// Plants a text in one place of a repository, all of which are its objects.
fn plant_object(root: &Path, kind: &str, text: &[u8]) {
    let repository = root.join("r.git");
    let git = |args: &[&str], input: &[u8]| git(&repository, args, input);
    let tree = git(&["mktree"], b"");
    let commit = git(&["commit-tree", "-m", "first", &tree], b"");
    git(&["update-ref", "refs/heads/main", &commit], b"");
    match kind {
        "a blob that no ref leads to" => drop(git(&["hash-object", "-w", "--stdin"], text)),
        "a blob in a pack" => {
            let blob = git(&["hash-object", "-w", "--stdin"], text);
            git(&["update-ref", "refs/x/blob", &blob], b"");
            git(&["repack", "-q", "-a", "-d"], b"");
            assert!(!repository.join("objects").join(blob.split_at(2).0).is_dir(), "it is packed");
        }
        "the message of a commit" => drop(git(&["commit-tree", "-F", "-", &tree], text)),
        "the message of a tag" => drop(git(&["tag", "-a", "-F", "-", "t", &commit], text)),
        "a note" => {
            git(&["notes", "add", "-F", "-", &commit], text);
        }
        "a note of ours" => {
            git(&["notes", "--ref", "refs/notes/wild", "add", "-F", "-", &commit], text);
        }
        "what a push left in quarantine" => {
            let quarantine = repository.join("objects/tmp_objdir-incoming-a1b2c3");
            std::fs::create_dir(&quarantine).unwrap();
            let mut git = Command::new("git");
            git.args(["hash-object", "-w", "--stdin"])
                .current_dir(&repository)
                .env("GIT_OBJECT_DIRECTORY", &quarantine);
            let mut git = git.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            git.stdin.take().unwrap().write_all(text).unwrap();
            assert!(git.wait().unwrap().success());
        }
        _ => panic!("{kind}"),
    }
}

#[test]
fn every_value_is_found_in_every_spelling_in_every_kind_of_git_object() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        for kind in [
            "a blob that no ref leads to",
            "a blob in a pack",
            "the message of a commit",
            "the message of a tag",
            "a note",
            "a note of ours",
            "what a push left in quarantine",
        ] {
            let root = tempfile::tempdir().unwrap();
            git(root.path(), &["init", "-q", "--bare", "-b", "main", "r.git"], b"");
            plant_object(root.path(), kind, &joined(&forms));
            let place = match kind.contains("quarantine") {
                true => root.path().join("r.git/objects/tmp_objdir-incoming-a1b2c3"),
                false => root.path().join("r.git"),
            };
            let mut left = Left::default();
            left.files(root.path());
            check(&left, &all, (&spelling, &planted), &[&format!("objects of {}", place.display())]);
        }
    }
}

#[test]
fn every_value_is_found_in_every_spelling_in_argv_and_environment_of_children_their_parents_and_the_daemon() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        for (number, form) in forms.iter().enumerate() {
            let (text, planted) = (std::ffi::OsStr::from_bytes(form), &planted[number..=number]);
            for place in ["argv of a child", "environment of a child", "argv of its parent"] {
                let root = tempfile::tempdir().unwrap();
                let git = root.path().join("git");
                std::fs::write(&git, watched_git(root.path())).unwrap();
                let mut command = Command::new("sh");
                match place {
                    "argv of a child" => command.args(["-c", "sh git --version \"$(cat)\""]),
                    "environment of a child" => command.args(["-c", "LEAK=\"$(cat)\" sh git --version"]),
                    _ => command.args(["-c", "sh git --version; :", "sh"]).arg(text),
                };
                command.current_dir(root.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
                let mut child = command.spawn().unwrap();
                child.stdin.take().unwrap().write_all(form).unwrap_or_default();
                child.wait().unwrap();
                let mut left = Left::default();
                left.files(root.path());
                check(&left, &all, (&spelling, planted), &[&root.path().join("children").display().to_string()]);
            }
            for (place, is_argument) in [("cmdline of the daemon", true), ("environ of the daemon", false)] {
                let mut command = Command::new("sh");
                command.args(["-c", "echo; read line; :"]);
                match is_argument {
                    true => command.arg(text),
                    false => command.env("LEAK", text),
                };
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                // Its arguments are there once it runs.
                child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
                let mut left = Left::default();
                left.running(child.id());
                drop(child.stdin.take());
                child.wait().unwrap();
                check(&left, &all, (&spelling, planted), &[place]);
            }
        }
    }
}

/// Answers every request with nothing, and one address with all that it was given.
async fn leak_at(socket: &Path, path: String, body: Vec<u8>) -> tokio::task::JoinHandle<()> {
    let listener = tokio::net::UnixListener::bind(socket).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let is_meant = request[..read].starts_with(format!("GET {path} HTTP/1.0\r\n").as_bytes());
            let body = if is_meant { body.as_slice() } else { b"nothing" };
            stream.write_all(&[b"HTTP/1.0 200 OK\r\n\r\n".as_slice(), body].concat()).await.unwrap();
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_value_is_found_in_every_spelling_in_every_page_answer_and_metric() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        for route in ROUTES {
            let path = route.replace("{cloud}", "/api/v1/instances/cloud");
            let directory = tempfile::tempdir().unwrap();
            let socket = directory.path().join("s");
            let daemon = leak_at(&socket, path.clone(), joined(&forms)).await;
            let mut left = Left::default();
            left.routes(&socket).await;
            daemon.abort();
            check(&left, &all, (&spelling, &planted), &[&format!("GET {path}")]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_value_is_found_in_every_spelling_in_what_every_command_says() {
    let all = all_twelve();
    let (sandbox, access) = sandbox().await;
    let machine = Machine::start(access, "stonedb 15.5").await;
    // It stands in for the product: one command says what it was given, to people or to programs.
    std::fs::remove_file(machine.root().join("bin/wild")).unwrap();
    machine.write("bin/wild", "#!/bin/sh\n[ \"wild $*\" = \"$(cat line)\" ] && eval \"cat said $(cat to)\"\nexit 0\n");
    machine.done(".", "chmod +x bin/wild && mkdir desk").await;
    let plants = plants(&all);
    let said: Vec<u8> = plants.values().flat_map(|(_, forms)| joined(forms)).collect();
    std::fs::write(machine.root().join("desk/said"), said).unwrap();
    for line in COMMANDS {
        for to in [">&1", ">&2"] {
            machine.write("desk/line", line);
            machine.write("desk/to", to);
            let mut left = Left::default();
            left.commands(&machine).await;
            for (spelling, (planted, _)) in &plants {
                check(&left, &all, (spelling, planted), &[line]);
            }
        }
    }
    sandbox.stop().await;
}

#[test]
fn every_value_is_found_in_every_spelling_in_objects_of_the_cluster_and_not_in_the_data_of_secrets() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        for (path, pointer) in [
            ("/api/v1/events", "/items/0/message"),
            ("/api/v1/configmaps", "/items/0/data"),
            ("/api/v1/secrets", "/items/0/metadata"),
            ("/apis/apps/v1/deployments", "/items/0/status"),
        ] {
            let mut list = json!({"items": [{"message": 0, "data": 0, "metadata": 0, "status": 0}]});
            let text = String::from_utf8(joined(&forms)).unwrap();
            *list.pointer_mut(pointer).unwrap() = json!(text);
            let mut left = Left::default();
            left.cluster(path, list);
            check(&left, &all, (&spelling, &planted), &[&format!("cluster {path}")]);
        }
        let mut left = Left::default();
        let text = String::from_utf8(joined(&forms)).unwrap();
        left.cluster("/api/v1/secrets", json!({"items": [{"data": {"a": text}, "stringData": {"a": text}}]}));
        assert_eq!(left.hits(&all), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_value_is_found_in_every_spelling_in_the_store_and_in_its_log_ahead() {
    let all = all_twelve();
    let id = rewild::model::InstanceId::parse("k3f7q2m5xd").unwrap();
    for (spelling, (planted, forms)) in plants(&all) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = root.join("wild.db");
        let store = rewild::store::Store::open(&path).await.unwrap();
        let text = String::from_utf8(joined(&forms)).unwrap();
        store.put_cursor(&id, "leak", &text).await.unwrap();
        let mut left = Left::default();
        left.files(&root);
        check(&left, &all, (&spelling, &planted), &[&root.join("wild.db-wal").display().to_string()]);
        store.close().await;
        let mut left = Left::default();
        left.files(&root);
        check(&left, &all, (&spelling, &planted), &[&path.display().to_string()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_value_is_found_in_every_spelling_in_what_a_forge_is_sent() {
    let all = all_twelve();
    for (spelling, (planted, forms)) in plants(&all) {
        let (port, heard) = forge().await;
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(&joined(&forms)).await.unwrap();
        stream.shutdown().await.unwrap();
        // It closes the line once it has read.
        stream.read_to_end(&mut Vec::new()).await.unwrap_or_default();
        let mut left = Left::default();
        left.add("a forge", heard.lock().unwrap().clone());
        check(&left, &all, (&spelling, &planted), &["a forge"]);
    }
}

#[test]
fn every_value_is_found_in_base64_of_more_than_the_value_however_it_is_aligned() {
    let all = all_twelve();
    for canary in &all {
        for before in ["", "u", "us", "user:"] {
            let text = format!("{before}{}@host", canary.value);
            for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                let mut left = Left::default();
                left.add("a log", encoded);
                let is_found = left.hits(&all).iter().any(|hit| hit.starts_with(canary.name));
                assert!(is_found, "{} behind {before:?}", canary.name);
            }
        }
    }
}
