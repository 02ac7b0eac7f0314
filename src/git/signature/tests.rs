//! Signatures beside git itself, which checks them with the programs of OpenSSH and GnuPG: what we believe, git believes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::fixture::{Instance, run_git, try_git};
use super::*;

/// Keys that OpenSSH makes and git signs with.
const KEYS: [(&str, &[&str]); 5] = [
    ("ed25519", &["-t", "ed25519"]),
    ("p256", &["-t", "ecdsa", "-b", "256"]),
    ("p384", &["-t", "ecdsa", "-b", "384"]),
    ("p521", &["-t", "ecdsa", "-b", "521"]),
    ("rsa", &["-t", "rsa", "-b", "2048"]),
];

/// A repository with people who sign.
struct People {
    instance: Instance,
    directory: tempfile::TempDir,
}

impl People {
    async fn new() -> Self {
        let people = Self { instance: Instance::bare().await, directory: tempfile::tempdir().unwrap() };
        people.instance.commit(&[("a", "1")], "first").await;
        people
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a key and returns its public half.
    fn key(&self, name: &str, kind: &[&str]) -> String {
        let file = self.path(name).display().to_string();
        let args: Vec<&str> = kind.iter().copied().chain(["-q", "-N", "", "-C", "", "-f", file.as_str()]).collect();
        run("ssh-keygen", &args, self.directory.path(), b"");
        let public = std::fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap();
        public.trim().to_owned()
    }

    /// Commits, signed by a key.
    fn signed(&self, name: &str, message: &str) -> CommitId {
        let key = format!("user.signingkey={}.pub", self.path(name).display());
        let args =
            ["-c", "gpg.format=ssh", "-c", &key, "commit-tree", "-S", "main^{tree}", "-p", "main", "-m", message];
        CommitId::parse(&run_git(self.instance.repository.path(), &args)).unwrap()
    }

    /// Stores bytes as a commit.
    fn stored(&self, raw: &str) -> CommitId {
        let args = ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"];
        let said = run("git", &args, self.instance.repository.path(), raw.as_bytes());
        CommitId::parse(said.trim()).unwrap()
    }

    fn raw(&self, commit: &CommitId) -> String {
        // What git prints is trimmed here, and a message ends with a line.
        format!("{}\n", run_git(self.instance.repository.path(), &["cat-file", "commit", commit.as_str()]))
    }

    /// Returns who signed a commit, by a file of allowed signers, for us and whether anybody did for git.
    async fn who(&self, commit: &CommitId, allowed: &str) -> (Result<String, Unsigned>, bool) {
        std::fs::write(self.path("allowed"), allowed).unwrap();
        let signers = Signers { ssh: Some(self.path("allowed")), ..Signers::default() };
        let ours = self.instance.repository.signer(commit, &signers, None).await.unwrap();
        let file = format!("gpg.ssh.allowedSignersFile={}", self.path("allowed").display());
        let (theirs, _) = try_git(self.instance.repository.path(), &["-c", &file, "verify-commit", commit.as_str()]);
        (ours, theirs)
    }
}

fn run(program: &str, args: &[&str], folder: &Path, input: &[u8]) -> String {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("LC_ALL", "C").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_signature_by_every_kind_of_key_is_believed_and_nothing_that_was_changed() {
    let people = People::new().await;
    for (name, kind) in KEYS {
        let key = people.key(name, kind);
        let commit = people.signed(name, "second");
        let allowed = format!("# ours\n\nada@example.org {key} a comment\n");
        assert_eq!(people.who(&commit, &allowed).await, (Ok("ada@example.org".to_owned()), true), "{name}");

        // Other words, another tree, another parent, and the signature of another commit.
        let raw = people.raw(&commit);
        let first = run_git(people.instance.repository.path(), &["rev-parse", "main"]);
        for changed in [
            raw.replace("second", "Second"),
            raw.replace("tree ", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nx "),
            raw.replace(&format!("parent {first}\n"), ""),
            raw.replace("\ncommitter Bob", "\ncommitter Eve"),
            format!("{raw}\n"),
        ] {
            let changed = people.stored(&changed);
            assert_eq!(people.who(&changed, &allowed).await, (Err(Unsigned::Bad), false), "{name} {changed}");
        }
    }
}

#[tokio::test]
async fn who_may_sign_is_what_the_file_says() {
    let people = People::new().await;
    let (ada, eve) = (people.key("ada", KEYS[0].1), people.key("eve", KEYS[0].1));
    let commit = people.signed("ada", "second");
    let ours = |name: &str| Ok(name.to_owned());
    let made = "20261121090000Z";
    let unknown = |why: &str| {
        let print = people_print(&ada);
        Err(Unsigned::Unknown(format!("{print}{why}")))
    };
    for (allowed, expected) in [
        (format!("ada {ada}"), ours("ada")),
        (format!("* namespaces=\"git\" {ada}"), ours("*")),
        (format!("\"ada l\" namespaces=\"file,git\" {ada}\r\n"), ours("ada l")),
        (format!("eve {eve}\nada {ada}"), ours("ada")),
        (format!("ada valid-before=\"20250101Z\" {ada}\nada.l {ada}"), ours("ada.l")),
        (format!("ada valid-after=\"{made}\" {ada}"), ours("ada")),
        (format!("ada valid-after=\"20260101Z\",valid-before=\"20270101Z\" {ada}"), ours("ada")),
        (format!("ada valid-before=\"20261121085959Z\" {ada}"), Err(Unsigned::Outdated("ada".to_owned()))),
        (format!("ada valid-after=\"20261121090001Z\" {ada}"), Err(Unsigned::Outdated("ada".to_owned()))),
        (format!("ada namespaces=\"file\" {ada}"), unknown("")),
        (format!("eve {eve}"), unknown("")),
        (String::new(), unknown("")),
        (format!("# ada {ada}"), unknown("")),
        (format!("ada cert-authority {ada}"), unknown("; its line 1 is not read: certificates are not read here")),
        (
            format!("\nada no-such-option {ada}"),
            unknown("; its line 2 is not read: it has an option that is not known here"),
        ),
        (format!("ada valid-before=\"soon\" {ada}"), unknown("; its line 1 is not read: its valid-before is no time")),
        ("ada".to_owned(), unknown("; its line 1 is not read: it holds no key")),
        ("ada ssh-ed25519 AAAA".to_owned(), unknown("; its line 1 is not read: its key is not read here")),
    ] {
        let (said, git) = people.who(&commit, &allowed).await;
        assert_eq!(said, expected, "{allowed}");
        assert!(git || said.is_err(), "git does not believe it: {allowed}");
        let is_stricter = allowed.contains("cert-authority") || allowed.contains("no-such-option");
        assert!(!git || said.is_ok() || is_stricter, "git believes it: {allowed}");
    }
}

fn people_print(key: &str) -> String {
    let key: ssh_key::PublicKey = key.parse().unwrap();
    key.fingerprint(ssh_key::HashAlg::Sha256).to_string()
}

#[tokio::test]
async fn what_is_no_signature_of_a_commit_by_one_who_may_sign_counts_for_none() {
    let people = People::new().await;
    let ada = people.key("ada", KEYS[0].1);
    let allowed = format!("ada {ada}\n");
    let commit = people.signed("ada", "second");
    let raw = people.raw(&commit);
    let (head, rest) = raw.split_once("gpgsig ").unwrap();
    let (signature, message) = rest.split_once("-----END SSH SIGNATURE-----\n").unwrap();
    let header = format!("gpgsig {signature}-----END SSH SIGNATURE-----\n");

    // Signed for something else than git.
    let payload = people.path("payload");
    std::fs::write(&payload, format!("{head}{message}")).unwrap();
    let [key, file] = [people.path("ada"), payload].map(|path| path.display().to_string());
    run("ssh-keygen", &["-q", "-Y", "sign", "-n", "file", "-f", &key, &file], people.directory.path(), b"");
    let other = std::fs::read_to_string(people.path("payload.sig")).unwrap();
    let other = other.lines().collect::<Vec<_>>().join("\n ");

    for (what, raw, expected) in [
        ("none", format!("{head}{message}"), Unsigned::Absent),
        ("in the message", format!("{head}\n{header}{message}"), Unsigned::Absent),
        (
            "of a merged tag",
            format!("{head}mergetag {}{message}", header.replace("gpgsig", "x\n gpgsig")),
            Unsigned::Absent,
        ),
        ("two", format!("{head}{header}{header}{message}"), Unsigned::Several),
        ("for files", format!("{head}gpgsig {other}\n{message}"), Unsigned::Bad),
        ("cut", raw.replace("-----END SSH SIGNATURE-----", ""), Unsigned::Bad),
        ("empty", format!("{head}gpgsig \n{message}"), Unsigned::Nobody(Way::Other)),
        ("X.509", format!("{head}gpgsig -----BEGIN SIGNED MESSAGE-----\n{message}"), Unsigned::Nobody(Way::Other)),
        ("OpenPGP", format!("{head}gpgsig -----BEGIN PGP SIGNATURE-----\n{message}"), Unsigned::Nobody(Way::Pgp)),
    ] {
        let (said, _) = people.who(&people.stored(&raw), &allowed).await;
        assert_eq!(said, Err(expected), "{what}");
    }

    // Nobody is named, or where is not to be read.
    let who = async |signers: Signers| people.instance.repository.signer(&commit, &signers, None).await.unwrap();
    assert_eq!(who(Signers::default()).await, Err(Unsigned::Nobody(Way::Ssh)));
    let absent = Signers { ssh: Some(people.path("absent")), ..Signers::default() };
    assert!(matches!(who(absent).await, Err(Unsigned::Unread(why)) if why.contains("absent")));
    std::fs::write(people.path("large"), "#".repeat(1024 * 1024 + 1)).unwrap();
    let large = Signers { ssh: Some(people.path("large")), ..Signers::default() };
    assert!(matches!(who(large).await, Err(Unsigned::Unread(why)) if why.contains("1 MiB")));
}

#[tokio::test]
async fn a_key_that_was_given_up_signs_nothing_new() {
    let people = People::new().await;
    let ada = people.key("ada", KEYS[0].1);
    let commit = people.signed("ada", "second");
    std::fs::write(people.path("allowed"), format!("ada valid-before=\"20270101Z\" {ada}\n")).unwrap();
    let signers = Signers { ssh: Some(people.path("allowed")), ..Signers::default() };
    for (taken, counts) in [(None, true), (Some("2026-12-31T23:59:59Z"), true), (Some("2027-01-01T00:00:00Z"), false)] {
        let taken = taken.map(|time| Timestamp::parse(time).unwrap());
        let said = people.instance.repository.signer(&commit, &signers, taken).await.unwrap();
        assert_eq!(said.is_ok(), counts, "{taken:?}: {said:?}");
    }
}

#[tokio::test]
async fn signatures_of_openpgp_count_by_a_keyring_and_no_other() {
    let people = People::new().await;
    let home = people.path("gnupg");
    std::fs::create_dir(&home).unwrap();
    let at = home.display().to_string();
    let gpg = |args: &[&str]| {
        let fixed = ["--homedir", at.as_str(), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""];
        run("gpg", &fixed.iter().chain(args).copied().collect::<Vec<_>>(), people.directory.path(), b"")
    };
    for name in ["Ada <ada@example.org>", "Eve <eve@example.org>"] {
        gpg(&["--quick-gen-key", name, "ed25519", "sign", "never"]);
    }
    let signed = |who: &str, date: &str| {
        let payload =
            people.raw(&CommitId::parse(&run_git(people.instance.repository.path(), &["rev-parse", "main"])).unwrap());
        let (head, message) = payload.split_once("\n\n").unwrap();
        let payload = format!("{head}\n\n{message}{date}\n");
        let file = people.path("payload");
        std::fs::write(&file, &payload).unwrap();
        let signature =
            gpg(&["--armor", "--detach-sign", "--local-user", who, "--output", "-", &file.display().to_string()]);
        let lines: Vec<&str> = signature.lines().collect();
        format!("{head}\ngpgsig {}\n\n{message}{date}\n", lines.join("\n "))
    };
    let ring = people.path("ring.gpg");
    gpg(&["--output", &ring.display().to_string(), "--export", "ada@example.org"]);
    let signers = Signers { ssh: None, pgp: Some(ring), scratch: people.path("scratch") };
    let who = async |raw: &str, signers: &Signers| {
        let commit = people.stored(raw);
        people.instance.repository.signer(&commit, signers, None).await.unwrap()
    };
    let by_ada = signed("ada@example.org", "one");
    assert_eq!(who(&by_ada, &signers).await, Ok("Ada <ada@example.org>".to_owned()));
    assert_eq!(who(&by_ada.replace("one", "two"), &signers).await, Err(Unsigned::Bad));
    assert!(matches!(who(&signed("eve@example.org", "one"), &signers).await, Err(Unsigned::Unknown(_))));
    let garbled = by_ada.replace("SIGNATURE-----\n \n ", "SIGNATURE-----\n \n AAAA");
    assert!(matches!(who(&garbled, &signers).await, Err(Unsigned::Unread(_) | Unsigned::Bad)));
    let absent = Signers { pgp: Some(people.path("absent.gpg")), ..signers.clone() };
    assert!(matches!(who(&by_ada, &absent).await, Err(Unsigned::Unread(why)) if why.contains("absent.gpg")));
    // Nothing is left of what was checked.
    assert_eq!(std::fs::read_dir(&signers.scratch).unwrap().count(), 0);
    run("gpgconf", &["--homedir", &at, "--kill", "all"], people.directory.path(), b"");
}
