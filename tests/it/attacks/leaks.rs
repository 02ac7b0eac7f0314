//! Secrets on their way into git, over it and out of it: at a push, by a commit that nobody checked, from a remote and to one, and before a
//! commit is made.
//!
//! Not here: every spelling of a value (`yaml::leak`).

use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rewild::cli::{self, Captured, Surroundings};
use rewild::model::{CommitId, Purpose};

use crate::line::{add, deploy};
use crate::world::World;

/// What stands behind the mark of a private key.
const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

/// A database that is deployed, and the value of its one secret.
async fn deployed() -> (World, String) {
    let world = World::start(&["stonedb 15.5"]).await;
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    let value = value(&world);
    (world, value)
}

fn value(world: &World) -> String {
    let secrets = world.handle.instance().secrets.read().unwrap();
    secrets.get("apps.stonedb.password").unwrap().expose(Purpose::LeakSearch).to_owned()
}

/// Runs a script in a fresh clone of a repository; the hooks find the state of the daemon. Returns whether it succeeded and all it said.
fn in_a_clone(world: &World, of: &Path, script: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let clone = tempfile::tempdir_in(world.root()).unwrap();
    let script = format!(
        "git clone -q --no-local \"$1\" \"$2\" && cd \"$2\" && git config user.name alice && git config user.email alice@example.org\n{script}"
    );
    let output = Command::new("sh")
        .args(["-euc", &script, "sh"])
        .arg(of)
        .arg(clone.path().join("clone"))
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .env("STATE_DIRECTORY", world.root().join("state"))
        .env("WILD_CONFIG", world.root().join("none.yaml"))
        .env("WILD_SOCKET", world.root().join("none.sock"))
        .env("HOME", world.root())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Makes the repository check pushes by the program itself.
async fn guard(world: &World) {
    rewild::git::hook::install(&world.repository, Path::new(env!("CARGO_BIN_EXE_wild"))).await.unwrap();
}

fn refs(world: &World) -> String {
    world.git(&["for-each-ref", "refs/heads", "refs/tags"]).1
}

const COMMIT: &str = "git add -A -f && git commit -q -m change";
const PUSH: &str = "git push -q origin main";

/// An attack: what it tries, how, and which place the refusal names.
type Attack = (&'static str, String, &'static str);

/// Returns a script that commits a file.
fn write(path: &str, text: &str) -> String {
    format!("mkdir -p $(dirname '{path}')\ncat > '{path}' <<'EOF'\n{text}\nEOF\n{COMMIT}\n")
}

/// Returns a script that pushes a file.
fn file(path: &str, text: &str) -> String {
    format!("{}{PUSH}\n", write(path, text))
}

/// The value of today in every place of a push.
fn of_values(value: &str) -> Vec<Attack> {
    let url: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let json: String = value.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let aligned = |before: &str| format!("apps/stonedb/x.yaml:2 {}", STANDARD.encode(format!("{before}{value}@host")));
    let mut attacks: Vec<Attack> = vec![
        ("in a file", file("apps/stonedb/x.yaml", &format!("a: 1\nb: {value}")), "apps/stonedb/x.yaml:2"),
        ("in a longer line", file("notes/x", &format!("psql postgres://db:{value}@stonedb/x -c 1")), "notes/x:1"),
        ("percent-encoded", file("x", &format!("https://u:{url}@h")), "x:1"),
        ("in escapes of JSON", file("x.json", &format!("{{\n \"a\": \"{json}\"}}")), "x.json:2"),
        (
            "in a message",
            format!("git commit -q --allow-empty -m 'the password is {value}'\n{PUSH}"),
            "the message of commit",
        ),
        (
            "in an author",
            format!("git -c user.name='{value}' commit -q --allow-empty -m x\n{PUSH}"),
            "the message of commit",
        ),
        ("in a name", format!("touch 'x-{value}.txt'\n{COMMIT}\n{PUSH}"), "(hidden)"),
        ("in the name of a branch", format!("git push -q origin main:refs/heads/{value}"), "the name of a ref"),
        ("in a tag", format!("git tag -a -m 'v1 {value}' v1\ngit push -q origin v1"), "the tag"),
        ("on another branch", format!("{}git push -q origin main:topic", write("x", value)), "x:1"),
        ("taken out again", format!("{}git rm -q x\n{COMMIT}\n{PUSH}", write("x", value)), "x:1"),
        (
            "taken out again by a merge",
            format!(
                "git checkout -q -b side\n{}git checkout -q main\ngit merge -q --no-ff -s ours -m merge side\n{PUSH}",
                write("x", value)
            ),
            "x:1",
        ),
        ("in a binary", format!("printf '\\000\\377{value}\\000' > x\n{COMMIT}\n{PUSH}"), "x:1"),
        (
            "at the end of a large file",
            format!("head -c 4000000 /dev/zero | tr '\\0' 'a' > x\nprintf '\\n{value}' >> x\n{COMMIT}\n{PUSH}"),
            "x:2",
        ),
    ];
    for before in ["", "u", "us"] {
        attacks.push((
            "in base64",
            file("apps/stonedb/x.yaml", &format!("a: 1\nb: {}", aligned(before))),
            "apps/stonedb/x.yaml:2",
        ));
    }
    attacks
}

/// Key material, and files that must not be in clear.
fn of_keys() -> Vec<Attack> {
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n");
    vec![
        ("the secrets file", file("secrets.yaml", "apps: {stonedb: {password: x}}"), "secrets.yaml"),
        ("a copy of it", file("secrets.yaml.bak", "apps: {}"), "secrets.yaml.bak"),
        (
            "one that only says it is encrypted",
            file("secrets.sops.yaml", "a: hunter2\nsops: {mac: x, lastmodified: y}"),
            "secrets.sops.yaml",
        ),
        (
            "the same elsewhere",
            file("apps/stonedb/db.sops.yaml", "a: hunter2\nsops: {mac: x, lastmodified: y}"),
            "apps/stonedb/db.sops.yaml",
        ),
        (
            "a key in YAML",
            file("apps/stonedb/k.yaml", &format!("a: |\n  {}", pem.replace('\n', "\n  "))),
            "apps/stonedb/k.yaml:2",
        ),
        ("an OpenSSH key", file("deploy", &pem.replace("PRIVATE", "OPENSSH PRIVATE")), "deploy:1"),
        ("a key in base64", file("x", &format!("tls.key: {}", STANDARD.encode(&pem))), "x:1"),
        (
            "a key of age",
            file("keys.txt", &format!("AGE-SECRET-KEY-1{}", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2))),
            "keys.txt:1",
        ),
        ("a token of ours", file("x", "t: wild_k3f7q2m5_Ab3dEf6hIj9lMn2pQr5t"), "x:1"),
        (
            "a kubeconfig",
            file(
                "kc",
                &format!(
                    "kind: Config\nclusters: []\ncontexts: []\nusers: [{{user: {{client-key-data: {}}}}}]",
                    "A".repeat(80)
                ),
            ),
            "kc:4",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_with_a_secret_anywhere_in_it_is_refused_and_told_without_the_value() {
    let (world, value) = deployed().await;
    guard(&world).await;
    let before = refs(&world);
    let attacks = [of_values(&value), of_keys()].concat();
    for (attack, script, place) in attacks {
        let home = world.root().join("home.git");
        let (done, said) = in_a_clone(&world, &home, &script, &[]);
        assert!(!done && said.contains("secret/plaintext") && said.contains(place), "{attack}: {said}");
        let told: String = said.lines().filter(|line| line.contains("remote:")).collect();
        assert!(!told.contains(&value), "{attack}: {said}");
        assert_eq!(refs(&world), before, "{attack}");
    }
}

/// A value as people choose them, in the spellings that YAML, shells and pages have for it.
const PHRASE: &str = "it's glass river seven mountain";

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_a_phrase_is_refused_however_its_lines_are_folded_and_its_quotes_are_written() {
    let (world, _) = deployed().await;
    guard(&world).await;
    wild(&world, "wild secret set apps.stonedb.password", PHRASE).await;
    assert_eq!(value(&world), PHRASE);
    let home = world.root().join("home.git");
    let before = refs(&world);
    let kubeconfig = |user: &str| format!("kind: Config\nclusters: []\ncontexts: []\nusers:\n- user:\n    {user}");
    for (attack, text, place) in [
        ("folded", "a: 1\nb: >-\n  it's glass\n  river seven\n  mountain".to_owned(), "x.yaml:3"),
        ("folded and kept", "b: >+\n    it's glass river\n    seven mountain\n".to_owned(), "x.yaml:2"),
        ("plain over lines", "b: it's glass\n   river seven mountain".to_owned(), "x.yaml:1"),
        ("plain on the next line", "b:\n  it's\n  glass river seven mountain".to_owned(), "x.yaml:2"),
        ("in single quotes", "b: 'it''s glass river seven mountain'".to_owned(), "x.yaml:1"),
        ("in single quotes over lines", "b: 'it''s glass\n  river seven mountain'".to_owned(), "x.yaml:1"),
        ("in double quotes over lines", "b: \"it's gla\\\n  ss river\n  seven mountain\"".to_owned(), "x.yaml:1"),
        ("in a page", "it is it&apos;s glass river seven mountain".to_owned(), "x.yaml:1"),
        ("in a shell", "P='it'\\''s glass river seven mountain'".to_owned(), "x.yaml:1"),
        ("in a paragraph", "the password is it's glass river\nseven mountain".to_owned(), "x.yaml:1"),
        ("a folded token", kubeconfig("token: >-\n      abcdefgh12"), "x.yaml:6"),
        ("a token behind an anchor", kubeconfig("token: &a abcdefgh12"), "x.yaml:6"),
        ("a token behind a tag", kubeconfig("token: !!str abcdefgh12"), "x.yaml:6"),
    ] {
        for path in ["x.yaml", "apps/stonedb/x.yaml"] {
            let (done, said) = in_a_clone(&world, &home, &file(path, &text), &[]);
            assert!(!done && said.contains("secret/plaintext") && said.contains(place), "{attack}: {said}");
            assert_eq!(refs(&world), before, "{attack}");
        }
    }
    // Past the hook nothing of it is applied.
    let commit = world
        .push("by another way", &[("apps/stonedb/x.yaml", Some("b: >-\n  it's glass\n  river seven mountain\n"))])
        .await;
    blocked(&world, "stonedb", "apps/stonedb/x.yaml:2").await;
    shows(&world, &commit, "failure").await;
    world.push("take it out", &[("apps/stonedb/x.yaml", None)]).await;
    world.healthy("stonedb").await;
    // What tells of secrets and holds none goes through.
    let honest = [
        kubeconfig("token: REDACTED"),
        kubeconfig("client-key-data: DATA+OMITTED"),
        kubeconfig("token: YOUR-TOKEN-HERE"),
        "grep -q -- '-----BEGIN RSA PRIVATE KEY-----' /etc/ssl/private/server/key && echo found".to_owned(),
        "token: wild_http_requestsTotal1234567890123".to_owned(),
        "glass seven river mountain, it's".to_owned(),
    ];
    for text in honest {
        let (done, said) = in_a_clone(&world, &home, &file("notes/y.yaml", &text), &[]);
        assert!(done, "{text}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_what_only_looks_like_a_secret_is_taken() {
    let (world, old) = deployed().await;
    guard(&world).await;
    let home = world.root().join("home.git");
    let push = |text: &str| {
        let script = format!("mkdir -p notes\ncat > notes/x <<'EOF'\n{text}\nEOF\n{COMMIT}\n{PUSH}");
        let (done, said) = in_a_clone(&world, &home, &script, &[]);
        assert!(done, "{text}: {said}");
    };
    push("password: stonedb-secrets\nkey: apps.stonedb.password\nBEGIN PRIVATE KEY, and so on\nAGE-SECRET-KEY-1...");
    // A value is a secret as long as it is one.
    wild(&world, "wild secret rotate apps.stonedb.password --yes", "").await;
    assert_ne!(value(&world), old);
    push(&old);
    // Below eight bytes anything may be meant.
    wild(&world, "wild secret set apps.stonedb.password", "gardens").await;
    assert_eq!(value(&world), "gardens");
    push("gardens");
    let again = format!("echo 1 > notes/y\n{COMMIT}\n{PUSH}");
    assert!(in_a_clone(&world, &home, &again, &[]).0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_says_is_no_secret_goes_through_and_no_other_content_does() {
    let (world, secret) = deployed().await;
    guard(&world).await;
    let home = world.root().join("home.git");
    let pem = |body: &str| format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----");
    let say =
        |entry: &str| format!("printf 'noSecrets: [{{%s, why: a sample}}]\\n' \"{entry}\" >> .wild/config.yaml\n");
    let of_file = say("file: $(git hash-object docs/key)");
    let docs = |body: &str| format!("mkdir -p docs\ncat > docs/key <<'EOF'\n{}\nEOF\n", pem(body));
    // It is told how, and only the content that is meant is let in: in one push with what says so, or in the next.
    let (done, said) = in_a_clone(&world, &home, &format!("{}{COMMIT}\n{PUSH}", docs(BODY)), &[]);
    assert!(!done && said.contains("noSecrets: [{file: $(git hash-object docs/key), why:"), "{said}");
    let swapped = format!("{}{of_file}{}{COMMIT}\n{PUSH}", docs(BODY), docs(&BODY.replace('M', "N")));
    let (done, said) = in_a_clone(&world, &home, &swapped, &[]);
    assert!(!done && said.contains("docs/key:1"), "{said}");
    let (done, said) = in_a_clone(&world, &home, &format!("{}{of_file}{COMMIT}\n{PUSH}", docs(BODY)), &[]);
    assert!(done, "{said}");
    let head = CommitId::parse(world.git(&["rev-parse", "main"]).1.trim()).unwrap();
    shows(&world, &head, "success").await;
    let (done, said) = in_a_clone(&world, &home, &format!("{}{COMMIT}\n{PUSH}", docs(&BODY.replace('M', "N"))), &[]);
    assert!(!done && said.contains("docs/key:1"), "{said}");
    // An app of whose password everybody knows waits for nobody, and its neighbour's is none of that.
    let value = format!(
        "sed -i 's/^noSecrets: .*/noSecrets: [{{value: apps.stonedb.password, why: a sample}}]/' .wild/config.yaml\necho {secret} > docs/password\ngit rm -q docs/key\n{COMMIT}\n{PUSH}"
    );
    let (done, said) = in_a_clone(&world, &home, &value, &[]);
    assert!(done, "{said}");
    let head = CommitId::parse(world.git(&["rev-parse", "main"]).1.trim()).unwrap();
    shows(&world, &head, "success").await;
    world.healthy("stonedb").await;
    // Taken back, it holds again what is there.
    let back = world.push("by another way", &[("docs/none", Some("1"))]).await;
    shows(&world, &back, "success").await;
    let (done, said) =
        in_a_clone(&world, &home, &format!("sed -i '/^noSecrets/d' .wild/config.yaml\n{COMMIT}\n{PUSH}"), &[]);
    assert!(done, "{said}");
    blocked(&world, "stonedb", "docs/password:1").await;
}

async fn wild(world: &World, line: &str, given: &str) -> String {
    let mut environment = Surroundings::bare(Path::new("/"));
    environment.daemon = Some(world.daemon.clone());
    let mut out = Captured { given: given.to_owned(), ..Captured::default() };
    cli::run(line.split(' ').map(Into::into).collect(), environment, &mut out).await;
    format!("{}{}", out.data, out.notes)
}

/// Waits until an app is held back because of a secret in git.
async fn blocked(world: &World, app: &str, told: &str) {
    let is_blocked = async || {
        world.state(app).await.is_some_and(|state| {
            state.intent == "blocked" && state.reason == "SecretInGit" && state.needs_you.contains(told)
        })
    };
    world.until(&format!("{app} is held back: {told}"), is_blocked).await;
}

/// Waits until a commit has a status.
async fn shows(world: &World, commit: &CommitId, word: &str) {
    let is_shown = async || world.status(commit, "wild/deploy").await.as_deref() == Some(word);
    world.until(&format!("the commit shows {word}"), is_shown).await;
}

/// A database and a blog that needs it, both deployed, and the value that both use.
async fn both_deployed() -> (World, String) {
    let (world, secret) = deployed().await;
    world.done(add("quillblog", &[])).await;
    world.done(deploy("quillblog")).await;
    world.healthy("quillblog").await;
    (world, secret)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_past_every_check_is_not_applied_and_turns_the_commit_red_until_it_is_gone() {
    let (world, secret) = both_deployed().await;
    // In a file of one app only that one waits, and what else the commit says of it is not applied.
    let attacks = [
        ("apps/stonedb/note.txt", format!("a\nb {secret}\n"), "apps/stonedb/note.txt:2"),
        ("apps/stonedb/note.txt", format!("b: {}\n", STANDARD.encode(&secret)), "apps/stonedb/note.txt:1"),
        ("apps/stonedb/key", format!("-----BEGIN EC PRIVATE KEY-----\n{BODY}\n"), "apps/stonedb/key:1"),
    ];
    for (path, text, told) in attacks {
        let commit = world.push("by another way", &[(path, Some(&text))]).await;
        blocked(&world, "stonedb", told).await;
        shows(&world, &commit, "failure").await;
        assert!(!world.kept().await.contains(&secret));
        world.look_again("quillblog").await;
        assert_eq!(world.state("quillblog").await.unwrap().intent, "applied");
        world.push("take it out", &[(path, None)]).await;
        world.healthy("stonedb").await;
    }
    // In any other file all wait.
    let secrets = "a: b\n".to_owned();
    for (path, text) in
        [("README.md", format!("{secret}\n")), ("secrets.yaml", secrets), (".secrets.yaml.swp", "x".into())]
    {
        let commit = world.push("by another way", &[(path, Some(&text))]).await;
        blocked(&world, "stonedb", path).await;
        blocked(&world, "quillblog", path).await;
        shows(&world, &commit, "failure").await;
        let last = world.push("take it out", &[(path, None)]).await;
        world.healthy("stonedb").await;
        world.healthy("quillblog").await;
        shows(&world, &last, "success").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_a_secret_in_git_as_long_as_it_is_one() {
    let (world, secret) = both_deployed().await;
    // One that is made anew is none any more, wherever the old one stands.
    let commit = world.push("by another way", &[("apps/stonedb/note.txt", Some(&secret))]).await;
    blocked(&world, "stonedb", "apps/stonedb/note.txt:1").await;
    shows(&world, &commit, "failure").await;
    assert_eq!(world.state("stonedb").await.unwrap().hint, "wild secret rotate apps.stonedb.password");
    wild(&world, "wild secret rotate apps.stonedb.password --yes", "").await;
    world.healthy("stonedb").await;
    shows(&world, &commit, "success").await;
    // And what becomes one is one from then on, in a commit that nobody touched since.
    let sentence = "a sentence of the readme";
    let readme = world.push("a readme", &[("README.md", Some(sentence))]).await;
    shows(&world, &readme, "success").await;
    wild(&world, "wild secret set apps.stonedb.password", sentence).await;
    blocked(&world, "quillblog", "README.md:1").await;
    shows(&world, &readme, "failure").await;
    let last = world.push("take it out", &[("README.md", None)]).await;
    world.healthy("quillblog").await;
    world.healthy("stonedb").await;
    shows(&world, &last, "success").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_holds_a_secret_goes_to_a_remote_or_comes_from_one() {
    let (mut world, secret) = deployed().await;
    let forge = world.restart_beside_a_forge().await;
    let there = |world: &World, args: &[&str]| world.git(&[&["--git-dir", &forge], args].concat());
    let main = |world: &World| there(world, &["rev-parse", "main"]).1.trim().to_owned();
    let head = world.head().await;
    world.until("the forge is filled", async || main(&world) == head.as_str()).await;
    // Ours stays here, whatever is committed on top of it.
    let leak = world.push("by another way", &[("apps/stonedb/note.txt", Some(&secret))]).await;
    world.handle.fetch();
    let trouble = async |text: &str| {
        let told = async || {
            rewild::pipeline::remote_trouble(world.handle.instance())
                .await
                .unwrap()
                .is_some_and(|why| why.contains(text))
        };
        world.until(&format!("the trouble is told: {text}"), told).await;
    };
    trouble("apps/stonedb/note.txt:1").await;
    world.push("take it out", &[("apps/stonedb/note.txt", None)]).await;
    world.handle.fetch();
    world.healthy("stonedb").await;
    trouble("apps/stonedb/note.txt:1").await;
    assert!(!there(&world, &["cat-file", "-e", leak.as_str()]).0 && main(&world) == head.as_str());
    wild(&world, "wild secret rotate apps.stonedb.password --yes", "").await;
    let own = world.head().await;
    world.handle.fetch();
    world.until("it goes on once it is worthless", async || main(&world) == own.as_str()).await;
    // Theirs stays there, also what a later commit took out again.
    let secret = value(&world);
    let script = format!("echo {secret} > x\n{COMMIT}\ngit rm -q x\n{COMMIT}\ngit push -q origin HEAD:main");
    let (done, said) = in_a_clone(&world, Path::new(&forge), &script, &[]);
    assert!(done, "{said}");
    let theirs = CommitId::parse(&main(&world)).unwrap();
    world.handle.fetch();
    trouble("x:1: secret/plaintext").await;
    let is_red = async || world.status(&theirs, "wild/deploy").await.as_deref() == Some("failure");
    world.until("their commit is red", is_red).await;
    assert!(!world.git(&["cat-file", "-e", theirs.as_str()]).0 && world.head().await == own);
    assert!(!world.kept().await.contains(&secret));
    // Whoever rewrites what nobody took is followed.
    let back = format!("git reset -q --hard {own}\necho 1 > x\n{COMMIT}\ngit push -q -f origin HEAD:main");
    assert!(in_a_clone(&world, Path::new(&forge), &back, &[]).0);
    let good = main(&world);
    world.handle.fetch();
    world.until("the rewritten branch is followed", async || world.head().await.as_str() == good).await;
}

/// Runs a script below a folder, with `wild` in the path and nothing of this machine's settings.
fn shell(root: &Path, script: &str) -> (bool, String) {
    let bin = Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(root)
        .env_clear()
        .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
        .envs([("HOME", root), ("XDG_RUNTIME_DIR", root), ("XDG_STATE_HOME", root)])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b.c")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b.c")])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Files of apps that are called as ours are, and hold no secret.
const HONEST: [(&str, &str); 5] = [
    ("apps/web/secrets.yaml", "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: web}\n"),
    ("apps/web/base/secrets.yaml", "resources: []\n"),
    ("apps/web/kubeconfig", "a template\n"),
    ("apps/web/operations/run.yaml", "a: 1\n"),
    ("docs/secrets.yaml.lock", "a: 1\n"),
];

#[test]
fn an_honest_file_that_is_called_as_ours_is_committed_and_ours_is_refused_by_name() {
    for place in ["", "clusters/home/"] {
        let root = tempfile::tempdir().unwrap();
        let run = |script: &str| shell(root.path(), script);
        let subdirectory = if place.is_empty() { String::new() } else { format!(" --subdirectory {place}") };
        let (done, said) =
            run(&format!("wild init fleet --domain cloud.example.org{}", subdirectory.trim_end_matches('/')));
        assert!(done, "{said}");
        let at = |path: &str| root.path().join("fleet").join(place).join(path);
        for (path, text) in HONEST {
            std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            std::fs::write(at(path), text).unwrap();
        }
        std::fs::write(at("secrets.yaml"), "apps:\n  blog:\n    password: Xk3vPq9wZt8m\n").unwrap();
        std::fs::write(at("kubeconfig"), "x\n").unwrap();
        let (done, said) = run("cd fleet && git add -A && git commit -qm all && git ls-files");
        assert!(done, "{said}");
        let taken: Vec<&str> = said.lines().collect();
        for (path, _) in HONEST {
            assert!(taken.contains(&format!("{place}{path}").as_str()), "{path} of {place:?} is swallowed: {said}");
        }
        for ours in ["secrets.yaml", "kubeconfig"] {
            assert!(!taken.contains(&format!("{place}{ours}").as_str()), "{ours}: {said}");
        }
        // Ours in clear is refused with its name, also where somebody takes the line out.
        for script in ["git add -f PLACEsecrets.yaml", "sed -i /secrets.yaml/d PLACE.gitignore && git add -A"] {
            let script = script.replace("PLACE", place);
            let (done, said) = run(&format!("cd fleet && {script} && git commit -qm x"));
            assert!(
                !done && said.contains(&format!("{place}secrets.yaml")) && said.contains("secret/plaintext"),
                "{said}"
            );
            assert!(run("cd fleet && git reset -q && git checkout -q .").0);
        }
        // A value of today is one in any file.
        std::fs::write(at("apps/web/secrets.yaml"), "a: >-\n  Xk3vPq9wZt8m\n").unwrap();
        let (done, said) = run("cd fleet && git add -A && git commit -qm x");
        assert!(!done && said.contains("apps/web/secrets.yaml:2"), "{said}");
    }
}

#[test]
fn a_commit_with_a_secret_is_not_made_in_a_work_tree() {
    let root = tempfile::tempdir().unwrap();
    let run = |script: &str| shell(root.path(), script);
    let (done, said) = run("wild init home --domain cloud.example.org");
    assert!(done, "{said}");
    let secrets = "apps:\n  blog:\n    password: Xk3vPq9wZt8m\n";
    std::fs::write(root.path().join("home/secrets.yaml"), secrets).unwrap();
    let head = run("cd home && git rev-parse HEAD").1;
    for (attack, script, place) in [
        ("a value", "echo 'a: Xk3vPq9wZt8m' > x && git add x && git commit -m x", "x:1"),
        ("all at once", "echo 'a: Xk3vPq9wZt8m' >> config.yaml && git commit -am x", "config.yaml:"),
        ("one file", "echo 'WGszdlBxOXdadDht' > x && git add -N x && git commit -m x x", "x:1"),
        ("the file itself", "git add -f secrets.yaml && git commit -m x", "secrets.yaml"),
        ("the message", "git commit --allow-empty -m 'it is Xk3vPq9wZt8m'", "the message of the commit"),
        ("a name", "touch Xk3vPq9wZt8m && git add . && git commit -m x", "(hidden)"),
    ] {
        let (done, said) = run(&format!("cd home && {script}"));
        assert!(!done && said.contains("secret/plaintext") && said.contains(place), "{attack}: {said}");
        let (_, status) = run("cd home && wild secret scan --staged -o json");
        assert!(
            ["the message", "one file", "all at once"].contains(&attack) || status.contains("\"line\""),
            "{attack}: {status}"
        );
        assert!(run("cd home && git reset -q && git checkout -q . && git clean -fdq -e secrets.yaml").0);
        assert_eq!(run("cd home && git rev-parse HEAD").1, head, "{attack}");
    }
    let (done, said) =
        run("cd home && echo '# mine' >> config.yaml && git commit -qam 'an ordinary change' && wild secret scan");
    assert!(done && said.contains("No secret in clear"), "{said}");
    let (done, said) =
        run("cd home && echo Xk3vPq9wZt8m > x && git add x && git commit -q --no-verify -m x && wild secret scan");
    assert!(
        !done && said.contains("x:1: secret/plaintext: it holds the value of the secret apps.blog.password"),
        "{said}"
    );
    let (done, said) =
        run("cd home && git rm -q x && git commit -q -m gone && wild secret scan && wild secret scan --history");
    assert!(!done && said.contains("No secret in clear") && said.contains("x:1"), "{said}");
}
