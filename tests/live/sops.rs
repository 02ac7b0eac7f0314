//! Files of the real sops, read and merged by us, and what we write, read by the real sops.
//!
//! World: sops, git and `wild` as children, temporary directories. Not here: the format in detail (`yaml::sops`).

use std::path::Path;
use std::process::Output;

use age::secrecy::ExposeSecret;
use age::x25519::Identity;

use crate::parts::{command, fail, part};

const FILE: &str = "secrets.sops.yaml";

/// What both sides start from: every type of value, lists, nesting, comments at every place.
const BASE: &str = r#"# the whole file
apps:
    # about blog
    blog:
        password: "p: 1" # beside it
        port: 8080
        ratio: 1.50
        big: 1e21
        on: true
        none: null
        empty: ""
        made: 2001-12-14
        text: |
            one

            two
        list:
            # the first
            - a
            - {name: b, n: 1}
            - []
        open: clear
    shop:
        token: "0123"
        data:
            user: somebody
# the last
other: ünïcode
"#;

/// What each side makes of it.
const EDITS: [[(&str, &str); 5]; 2] = [
    [
        ("p: 1", "mine"),
        ("on: true", "on: false"),
        ("            - a\n", "            - a\n            - mine\n"),
        ("open: clear", "open: mine"),
        ("    shop:\n", "    mine:\n        # mine\n        key: -7\n    shop:\n"),
    ],
    [
        ("8080", "9090"),
        ("\"0123\"", "0.5"),
        ("one\n", "ONE\n"),
        (
            "            user: somebody\n",
            "            user: somebody\n            # theirs\n            pass: theirs\n",
        ),
        ("1e21", "\"\""),
    ],
];

/// Rules of encryption, as `.sops.yaml` has them.
const RULES: [&str; 6] = [
    "",
    "unencrypted_suffix: open",
    "encrypted_suffix: word",
    "encrypted_regex: ^(data|password|list)$",
    "unencrypted_regex: ^(open|shop)$",
    "encrypted_regex: ^blog$\n    mac_only_encrypted: true",
];

/// A directory with sops, `wild` and keys in it.
struct Desk {
    directory: tempfile::TempDir,
    sops: std::path::PathBuf,
}

impl Desk {
    /// Returns a desk whose files are encrypted for some recipients by a rule; nothing without sops.
    fn new(recipients: &[&Identity], rule: &str) -> Option<Self> {
        let sops = part("sops")?.join("sops");
        let desk = Self { directory: tempfile::tempdir().unwrap(), sops };
        std::fs::create_dir(desk.path().join("home")).unwrap();
        desk.allow(recipients, rule);
        Some(desk)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Says for whom and how sops encrypts.
    fn allow(&self, recipients: &[&Identity], rule: &str) {
        let names: Vec<String> = recipients.iter().map(|identity| identity.to_public().to_string()).collect();
        let text = format!("creation_rules:\n  - age: {}\n    {rule}\n", names.join(","));
        std::fs::write(self.path().join(".sops.yaml"), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs a program with a key.
    fn run(&self, program: &Path, key: &Identity, arguments: &[&str]) -> Output {
        let mut command = command(program, self.path());
        command.env("SOPS_AGE_KEY", key.to_string().expose_secret()).env("SOPS_DISABLE_VERSION_CHECK", "1");
        command.env("EDITOR", "cp wanted.yaml").args(arguments).output().unwrap()
    }

    /// Runs sops, which must succeed, and returns what it prints.
    fn sops(&self, key: &Identity, arguments: &[&str]) -> String {
        let output = self.run(&self.sops, key, arguments);
        if !output.status.success() {
            fail(&format!("sops {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).unwrap()
    }

    /// Encrypts a text into a new file.
    fn encrypt(&self, key: &Identity, name: &str, clear: &str) {
        self.write(name, clear);
        self.sops(key, &["encrypt", "-i", name]);
    }

    /// Makes a file say something else, as a person does it with an editor.
    fn edit(&self, key: &Identity, name: &str, clear: &str) {
        self.write("wanted.yaml", clear);
        self.sops(key, &["edit", name]);
    }

    /// Makes the files of both sides from that of base.
    fn sides(&self, key: &Identity, base: &str, [ours, theirs]: [&str; 2]) {
        self.encrypt(key, "base.sops.yaml", base);
        for (name, clear) in [("ours.sops.yaml", ours), ("theirs.sops.yaml", theirs)] {
            self.write(name, &self.read("base.sops.yaml"));
            if clear != base {
                self.edit(key, name, clear);
            }
        }
    }

    /// Merges the files of both sides; returns the code and what was said.
    fn merge(&self, key: &Identity, options: &[&str]) -> (Option<i32>, String) {
        let wild = Path::new(env!("CARGO_BIN_EXE_wild"));
        let files = ["merge-file", "base.sops.yaml", "ours.sops.yaml", "theirs.sops.yaml", FILE];
        let output = self.run(wild, key, &[&files, options].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Returns what sops reads in the file of ours; it checks the MAC.
    fn decrypted(&self, key: &Identity) -> String {
        self.sops(key, &["decrypt", "ours.sops.yaml"])
    }

    /// Returns how sops writes a text in clear.
    fn plain(&self, key: &Identity, clear: &str) -> String {
        self.encrypt(key, "plain.sops.yaml", clear);
        self.sops(key, &["decrypt", "plain.sops.yaml"])
    }
}

fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

#[test]
fn what_sops_wrote_is_merged_and_sops_reads_the_result_under_every_rule() {
    let (mine, other) = (Identity::generate(), Identity::generate());
    for rule in RULES {
        let Some(desk) = Desk::new(&[&mine, &other], rule) else { return };
        let sides = EDITS.map(|edits| edited(BASE, &edits));
        desk.sides(&mine, BASE, [&sides[0], &sides[1]]);
        let [ours, theirs] = ["ours.sops.yaml", "theirs.sops.yaml"].map(|name| desk.read(name));
        assert_eq!(desk.merge(&mine, &[]), (Some(0), String::new()), "{rule}");
        let merged = desk.read("ours.sops.yaml");
        let expected = desk.plain(&mine, &edited(&sides[0], &EDITS[1]));
        for key in [&mine, &other] {
            assert_eq!(desk.decrypted(key), expected, "{rule}\n{merged}");
        }
        // Nothing but what each side changed, the MAC and the time are other lines than those of a side.
        let known: Vec<&str> = ours.lines().chain(theirs.lines()).collect();
        let new = merged.lines().map(str::trim).filter(|line| !known.iter().any(|known| known.trim() == *line));
        let keys: Vec<&str> = new.filter_map(|line| line.split(':').next()).collect();
        assert!(keys.iter().all(|key| ["lastmodified", "mac"].contains(key)), "{rule}: {keys:?}");
        // What sops makes of it is the same again.
        desk.edit(&other, "ours.sops.yaml", &edited(&expected, &[("9090", "1")]));
        assert_eq!(desk.decrypted(&mine), edited(&expected, &[("9090", "1")]), "{rule}");
    }
}

#[test]
fn a_conflict_leaves_a_file_that_sops_reads_and_names_the_key_alone() {
    let mine = Identity::generate();
    let Some(desk) = Desk::new(&[&mine], "") else { return };
    let (ours, theirs) =
        (edited(BASE, &[("p: 1", "hunter2-mine")]), edited(BASE, &[("p: 1", "hunter2-theirs"), ("8080", "1")]));
    desk.sides(&mine, BASE, [&ours, &theirs]);
    let (code, said) = desk.merge(&mine, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("secrets.sops.yaml: apps.blog.password: mine changed, upstream changed"), "{said}");
    assert!(said.contains("try: sops edit secrets.sops.yaml") && !said.contains("hunter2"), "{said}");
    assert_eq!(desk.decrypted(&mine), desk.plain(&mine, &edited(&ours, &[("8080", "1")])));
    assert_eq!(desk.merge(&mine, &["--take", "upstream"]).0, Some(0));
    assert_eq!(desk.decrypted(&mine), desk.plain(&mine, &theirs));
    // Without a key nothing is written but what was there.
    desk.sides(&mine, BASE, [&ours, &theirs]);
    let before = desk.read("ours.sops.yaml");
    let (code, said) = desk.merge(&Identity::generate(), &[]);
    assert_eq!((code, desk.read("ours.sops.yaml")), (Some(1), before));
    assert!(said.contains("set SOPS_AGE_KEY_FILE"), "{said}");
}

#[test]
fn recipients_and_data_keys_of_sops_go_along() {
    let (mine, other, third) = (Identity::generate(), Identity::generate(), Identity::generate());
    let Some(desk) = Desk::new(&[&mine, &other], "") else { return };
    let sides = EDITS.map(|edits| edited(BASE, &edits));
    let expected = |desk: &Desk| desk.plain(&mine, &edited(&sides[0], &EDITS[1]));
    // Upstream lets a third in, under the same data key.
    desk.sides(&mine, BASE, [&sides[0], &sides[1]]);
    desk.allow(&[&mine, &other, &third], "");
    desk.sops(&mine, &["updatekeys", "-y", "theirs.sops.yaml"]);
    assert_eq!(desk.merge(&mine, &[]), (Some(0), String::new()));
    for key in [&mine, &other, &third] {
        assert_eq!(desk.decrypted(key), expected(&desk));
    }
    // Upstream shuts one out with a new data key.
    desk.allow(&[&mine, &other], "");
    desk.sides(&mine, BASE, [&sides[0], &sides[1]]);
    let name = other.to_public().to_string();
    desk.sops(&mine, &["rotate", "-i", "--rm-age", &name, "theirs.sops.yaml"]);
    assert_eq!(desk.merge(&mine, &[]), (Some(0), String::new()));
    assert_eq!(desk.decrypted(&mine), expected(&desk));
    assert!(!desk.run(&desk.sops, &other, &["decrypt", "ours.sops.yaml"]).status.success());
}

#[test]
fn git_merges_encrypted_files_by_our_driver() {
    let mine = Identity::generate();
    let Some(desk) = Desk::new(&[&mine], "") else { return };
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let output = desk.run(Path::new("git"), &mine, &[&who, arguments].concat());
        assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    };
    let commit = || {
        git(&["add", FILE]);
        git(&["commit", "-q", "-m", "change"]);
    };
    git(&["init", "-q", "-b", "main"]);
    desk.encrypt(&mine, FILE, BASE);
    commit();
    let wild = Path::new(env!("CARGO_BIN_EXE_wild"));
    let output = desk.run(wild, &mine, &["hook", "install"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sides = EDITS.map(|edits| edited(BASE, &edits));
    git(&["switch", "-q", "-c", "other"]);
    desk.edit(&mine, FILE, &sides[1]);
    commit();
    git(&["switch", "-q", "main"]);
    desk.edit(&mine, FILE, &sides[0]);
    commit();
    git(&["merge", "-q", "--no-edit", "other"]);
    let merged = desk.sops(&mine, &["decrypt", FILE]);
    assert_eq!(merged, desk.plain(&mine, &edited(&sides[0], &EDITS[1])));
}

#[test]
fn what_sops_encrypted_is_no_secret_in_git_and_what_only_says_so_is_one() {
    let (key, stranger) = (Identity::generate(), Identity::generate());
    for rule in RULES {
        let Some(desk) = Desk::new(&[&key], rule) else { return };
        let scan = |name: &str, text: &str, by: &Identity| {
            desk.write(name, text);
            for args in [&["init", "-q"][..], &["add", "-A", "-f"]] {
                assert!(command(Path::new("git"), desk.path()).args(args).status().unwrap().success());
            }
            let output = desk.run(Path::new(env!("CARGO_BIN_EXE_wild")), by, &["secret", "scan", "--staged"]);
            std::fs::remove_file(desk.path().join(name)).unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        desk.encrypt(&key, "x.sops.yaml", BASE);
        let sealed = desk.read("x.sops.yaml");
        std::fs::remove_file(desk.path().join("x.sops.yaml")).unwrap();
        let good = scan("db.sops.yaml", &sealed, &key);
        assert_eq!(good.0, Some(0), "{rule}: {good:?}\n{sealed}");
        // In the file of secrets nothing may be readable, whatever the rule says.
        let is_whole = rule.is_empty();
        assert_eq!(scan(FILE, &sealed, &key).0, Some(i32::from(!is_whole)), "{rule}");
        let line = sealed.lines().find(|line| line.contains("password: ENC[")).unwrap_or_default().to_owned();
        if line.is_empty() {
            continue;
        }
        let clear = sealed.replace(&line, "        password: hunter2hunter2");
        let told = scan("db.sops.yaml", &clear, &stranger);
        assert!(
            told.0 == Some(1) && told.1.contains("holds a value in clear at apps.blog.password"),
            "{rule}: {told:?}"
        );
        // What looks like a ciphertext is one only if it was made by the key, which only its holder can tell.
        let first = line.split_once("data:").unwrap().1.chars().next().unwrap();
        let other = if first == 'A' { "data:B" } else { "data:A" };
        let forged = sealed.replace(&line, &line.replace(&format!("data:{first}"), other));
        let taken = sealed.replace(&format!("{line}\n"), "");
        for lie in [forged, taken] {
            let told = scan("db.sops.yaml", &lie, &key);
            assert!(told.0 == Some(1) && told.1.contains("edited without sops"), "{rule}: {told:?}\n{lie}");
        }
    }
}
