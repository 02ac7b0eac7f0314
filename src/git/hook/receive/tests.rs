//! Pushes from a clone whose new objects lie apart, as in git's own quarantine.
//!
//! Not here: the scripts (`install.rs`).

use super::super::super::fixture::{Instance, change, path_of};
use super::super::super::{FetchRef, Repository};
use super::*;
use crate::model::NoSecrets;
use crate::yaml::leak::Search;

const MAIN: &str = "refs/heads/main";
const SETTINGS: &str = "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: k3f7q2m5xd\n";

/// An instance with one commit and a clone of it.
struct Push {
    instance: Instance,
    clone: Instance,
    head: CommitId,
}

impl Push {
    async fn new() -> Self {
        Self::over(&[("config.yaml", "cluster: {}\n"), ("apps/ghost/pvc.yaml", "kind: PVC\n")]).await
    }

    /// A repository with two instances, each in a sub-directory.
    async fn two() -> Self {
        Self::over(&[("c/home/.wild/config.yaml", SETTINGS), ("c/cabin/.wild/config.yaml", SETTINGS)]).await
    }

    async fn over(files: &[(&str, &str)]) -> Self {
        let (instance, clone) = (Instance::bare().await, Instance::bare().await);
        let head = instance.commit(files, "first").await;
        let remote = super::super::super::Remote {
            url: super::super::super::RemoteUrl::parse(
                instance.repository.path().to_str().unwrap(),
                super::super::super::Allowed::Local,
            )
            .unwrap(),
            credential: None,
            egress: super::super::super::Egress::Any,
            scratch: clone.repository.git_dir().join("../quarantine"),
        };
        let wanted = [FetchRef { from: MAIN.to_owned(), to: MAIN.to_owned() }];
        super::super::super::fetch(&clone.repository, &remote, &wanted, super::super::super::Scope::Whole)
            .await
            .unwrap();
        Self { instance, clone, head }
    }

    async fn update(&self, name: &str, old: Option<&CommitId>, new: Option<&CommitId>) -> Vec<Refusal> {
        let update = RefUpdate { name: name.to_owned(), old: old.cloned(), new: new.cloned() };
        self.check(update, Rewind::Refused).await
    }

    async fn check(&self, update: RefUpdate, rewind: Rewind) -> Vec<Refusal> {
        let quarantine = Some(self.clone.repository.git_dir().join("objects"));
        let repository = self.instance.repository.path().to_owned();
        let scanner = nothing();
        let intake = Intake {
            repository,
            branch: "main".to_owned(),
            quarantine,
            updates: vec![update],
            rewind,
            scanner,
            elsewhere: BTreeSet::new(),
        };
        check(intake).await.unwrap()
    }

    /// Commits files to main in the clone and checks their push.
    async fn files(&self, files: &[(&str, &str)]) -> Vec<Refusal> {
        let new = self.clone.commit(files, "change").await;
        self.update(MAIN, Some(&self.head), Some(&new)).await
    }
}

/// Seeks key material only.
fn nothing() -> Arc<Scanner> {
    Arc::new(Scanner::new(Search::nothing(), NoSecrets::default()))
}

fn shown(refusals: &[Refusal]) -> Vec<String> {
    refusals.iter().map(|refusal| format!("{} {}:{}", refusal.rule, refusal.file, refusal.line)).collect()
}

/// Pushes one file to the deployed branch and expects these refusals.
async fn one(file: &str, text: &str, expected: &[&str]) {
    assert_eq!(shown(&Push::new().await.files(&[(file, text)]).await), expected, "{file}");
}

#[tokio::test]
async fn an_ordinary_push_is_let_through() {
    one("apps/ghost/pvc.yaml", "kind: PVC\n# Heading\n# =======\n", &[]).await;
    one("config.yaml", "cluster:\n  name: home\n", &[]).await;
    one("notes/readme.md", "Title\n=======\n", &[]).await;
}

#[tokio::test]
async fn conflicts_never_reach_the_deployed_branch() {
    one("apps/ghost/pvc.yaml", "a: 1\n<<<<<<< mine\nb: 2\n=======\n", &["conflict/marker apps/ghost/pvc.yaml:2"]).await;
    one("config.yaml", "a: 1\n>>>>>>> upstream\n", &["config/yaml config.yaml:2", "conflict/marker config.yaml:2"])
        .await;
    one(".wild/conflicts/ghost.yaml", "version: 1\n", &["conflict/file .wild/conflicts/ghost.yaml:0"]).await;
    let push = Push::new().await;
    let new = push.clone.commit(&[(".wild/conflicts/ghost.yaml", "version: 1\n")], "update").await;
    let branch = "refs/heads/wild/update/ghost";
    assert!(push.update(branch, Some(&push.head), Some(&new)).await.is_empty(), "update branches may");
}

#[tokio::test]
async fn secrets_in_clear_are_refused_on_every_branch_and_in_every_new_commit() {
    one("secrets.yaml", "apps: {ghost: {password: x}}\n", &["secret/plaintext secrets.yaml:0"]).await;
    one("secrets.sops.yaml", "a: b\n", &["secret/plaintext secrets.sops.yaml:0"]).await;
    one("secrets.sops.yaml", "a: ENC[x]\nsops:\n  mac: ENC[y]\n", &["secret/plaintext secrets.sops.yaml:0"]).await;
    let key = format!("x\n-----BEGIN RSA PRIVATE KEY-----\n{}\n", "MIIE".repeat(16));
    one("apps/ghost/key", &key, &["secret/plaintext apps/ghost/key:2"]).await;
    let push = Push::new().await;
    push.clone.commit(&[("secrets.yaml", "password: x\n")], "oops").await;
    let mut removal = change(push.clone.repository.head("main").await.unwrap(), &[], "take it out");
    removal.changes.insert(path_of("secrets.yaml"), None);
    let new = push.clone.repository.commit(removal).await.unwrap();
    let refusals = push.update("refs/heads/topic", None, Some(&new)).await;
    assert_eq!(shown(&refusals), ["secret/plaintext secrets.yaml:0"]);
    assert!(!refusals[0].to_string().contains("password"));
}

#[tokio::test]
async fn files_that_must_be_readable_are_read() {
    one("config.yaml", "a: 1\na: [\n", &["config/yaml config.yaml:2"]).await;
    one(".wild/config.yaml", "a: b: c\n", &["config/yaml .wild/config.yaml:1"]).await;
    one("config.yaml", "cloud: {}\napps: 5\n", &["config/yaml config.yaml:2"]).await;
    let settings = "apiVersion: rewild.dev/v1\ninstanceId: k3f7q2m5xd\ndirectories: 5\n";
    one(".wild/config.yaml", settings, &["config/yaml .wild/config.yaml:3"]).await;
    one(".wild/config.yaml", &settings.replace("5\n", "[]\n"), &[]).await;
    one("apps/Ghost_2/x.yaml", "a: 1\n", &["app/name apps/Ghost_2:0"]).await;
}

#[tokio::test]
async fn a_push_to_two_instances_is_checked_for_both_and_names_the_bad_one() {
    let check = async |files: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(shown(&Push::two().await.files(files).await), expected, "{files:?}");
    };
    let good = ("c/home/apps/ghost/a.yaml", "a: 1\n");
    check(&[good, ("c/cabin/config.yaml", "a: 1\n")], &[]).await;
    let both = [("c/home/apps/Ghost/a.yaml", "<<<<<<< mine\n"), ("c/cabin/config.yaml", "a: [\n")];
    let expected = [
        "app/name c/home/apps/Ghost:0",
        "config/yaml c/cabin/config.yaml:1",
        "conflict/marker c/home/apps/Ghost/a.yaml:1",
    ];
    check(&both, &expected).await;
    check(&[good, ("c/cabin/.wild/config.yaml", "a: b: c\n")], &["config/yaml c/cabin/.wild/config.yaml:1"]).await;
    check(&[good, ("c/cabin/.wild/conflicts/x.yaml", "a: 1\n")], &["conflict/file c/cabin/.wild/conflicts/x.yaml:0"])
        .await;
    check(&[("c/cabin/secrets.yaml", "a: 1\n")], &["secret/plaintext c/cabin/secrets.yaml:0"]).await;
    check(&[("secrets.yaml", "a: 1\n")], &["secret/plaintext secrets.yaml:0"]).await;
    check(&[("config.yaml", "a: [\n"), ("apps/Ghost/a", "x"), ("c/home/docs/a", "<<<<<<< mine\n")], &[]).await;
}

#[tokio::test]
async fn an_instance_around_another_is_refused_and_one_beside_it_is_not() {
    let around = Push::two().await.files(&[(".wild/config.yaml", SETTINGS)]).await;
    assert_eq!(shown(&around), ["instance/nested .wild/config.yaml:0"]);
    assert!(around[0].message.contains("around that in c/cabin"), "{around:?}");
    let around = Push::two().await.files(&[("c/.wild/config.yaml", SETTINGS)]).await;
    assert_eq!(shown(&around), ["instance/nested c/.wild/config.yaml:0"]);
    let own = SETTINGS.replace("k3f7q2m5xd", "brandnew");
    assert!(Push::two().await.files(&[("c/lab/.wild/config.yaml", &own)]).await.is_empty());
}

#[tokio::test]
async fn secrets_that_come_before_the_settings_of_their_instance_are_found() {
    let push = Push::two().await;
    push.clone.commit(&[("lab/secrets.yaml", "password: x\n")], "oops").await;
    let own = SETTINGS.replace("k3f7q2m5xd", "brandnew");
    let mut next = change(push.clone.repository.head("main").await.unwrap(), &[("lab/.wild/config.yaml", &own)], "x");
    next.changes.insert(path_of("lab/secrets.yaml"), None);
    let new = push.clone.repository.commit(next).await.unwrap();
    let refusals = push.update(MAIN, Some(&push.head), Some(&new)).await;
    assert_eq!(shown(&refusals), ["secret/plaintext lab/secrets.yaml:0"]);
}

#[tokio::test]
async fn the_deployed_branch_only_moves_forward() {
    let push = Push::new().await;
    let mut other = change(None, &[("config.yaml", "a: 1\n")], "other");
    other.reference = "refs/heads/other".to_owned();
    let other = push.clone.repository.commit(other).await.unwrap();
    assert_eq!(shown(&push.update(MAIN, Some(&push.head), Some(&other)).await), ["branch/rewind refs/heads/main:0"]);
    assert_eq!(shown(&push.update(MAIN, Some(&push.head), None).await), ["branch/deletion refs/heads/main:0"]);
    assert!(push.update("refs/heads/topic", Some(&push.head), Some(&other)).await.is_empty());
    assert!(push.update("refs/heads/topic", Some(&push.head), None).await.is_empty());
    let update = RefUpdate { name: MAIN.to_owned(), old: Some(push.head.clone()), new: Some(other) };
    assert!(push.check(update, Rewind::Allowed).await.is_empty());
}

#[tokio::test]
async fn refs_of_ours_and_names_that_do_harm_are_refused() {
    let push = Push::new().await;
    for name in ["refs/wild/generated/ghost", "refs/wild/resolutions", "refs/notes/wild"] {
        assert_eq!(shown(&push.update(name, None, Some(&push.head)).await), [format!("ref/reserved {name}:0")]);
    }
    for name in ["refs/heads/-x", "refs/heads/../x"] {
        assert_eq!(shown(&push.update(name, None, Some(&push.head)).await), [format!("ref/name {name}:0")]);
    }
}

#[tokio::test]
async fn branches_and_tags_are_taken_and_everything_else_is_refused_by_name() {
    let push = Push::new().await;
    for name in ["refs/heads/topic", "refs/heads/wildlife", "refs/tags/v1", "refs/tags/deploy/ghost/1"] {
        assert!(push.update(name, None, Some(&push.head)).await.is_empty(), "{name}");
    }
    let head = push.head.to_string();
    for name in [
        &format!("refs/replace/{head}"),
        "refs/remotes/origin/main",
        "refs/meta/config",
        "refs/pull/1/head",
        "refs/merge-requests/1/head",
        "refs/notes/commits",
        "refs/notes/wildcard",
        "refs/stash",
        "refs/changes/01/1/1",
        "refs/for/main",
        "refs/bisect/bad",
        "refs/original/refs/heads/main",
        "refs/wildest/x",
        "refs/x",
    ] {
        for (old, new) in [(None, Some(&push.head)), (Some(&push.head), None)] {
            let refusals = push.update(name, old, new).await;
            assert_eq!(shown(&refusals), [format!("ref/foreign {name}:0")]);
        }
    }
    for name in ["HEAD", "main", "config"] {
        assert_eq!(shown(&push.update(name, None, Some(&push.head)).await), [format!("ref/name {name}:0")]);
    }
}

#[tokio::test]
async fn names_that_would_be_taken_for_another_ref_are_refused_and_can_be_taken_away() {
    let push = Push::new().await;
    for (name, under) in [
        ("refs/heads/wild", "refs/heads/NAME"),
        ("refs/heads/WILD/update/ghost", "refs/heads/NAME"),
        ("refs/heads/refs/heads/main", "refs/heads/NAME"),
        ("refs/heads/HEAD", "refs/heads/NAME"),
        ("refs/heads/MAIN", "refs/heads/NAME"),
        ("refs/heads/FETCH_HEAD", "refs/heads/NAME"),
        ("refs/tags/main", "refs/tags/NAME"),
        ("refs/tags/HEAD", "refs/tags/NAME"),
        ("refs/tags/wild/update/ghost", "refs/tags/NAME"),
        ("refs/tags/refs/heads/main", "refs/tags/NAME"),
        ("refs/tags/origin/main", "refs/tags/NAME"),
    ] {
        for old in [None, Some(&push.head)] {
            let refusals = push.update(name, old, Some(&push.head)).await;
            assert_eq!(shown(&refusals), [format!("ref/misleading {name}:0")]);
            assert!(refusals[0].hint.ends_with(under), "{}", refusals[0].hint);
        }
        assert_eq!(shown(&push.update(name, Some(&push.head), None).await), [] as [String; 0], "{name}");
    }
}

#[tokio::test]
async fn a_branch_on_which_something_waits_is_added_to_or_taken_away_and_made_by_us_alone() {
    let push = Push::new().await;
    let onward = push.clone.commit(&[("notes", "1")], "onward").await;
    let mut aside = change(None, &[("notes", "2")], "aside");
    aside.reference = "refs/heads/aside".to_owned();
    let aside = push.clone.repository.commit(aside).await.unwrap();
    for name in ["refs/heads/wild/update/ghost", "refs/heads/wild/drift/c/home/ghost", "refs/heads/wild/other"] {
        let pushed = async |old: Option<&CommitId>, new: Option<&CommitId>| shown(&push.update(name, old, new).await);
        assert!(pushed(Some(&push.head), Some(&onward)).await.is_empty());
        assert!(pushed(Some(&push.head), None).await.is_empty());
        assert_eq!(pushed(None, Some(&onward)).await, [format!("ref/reserved {name}:0")]);
        assert_eq!(pushed(Some(&push.head), Some(&aside)).await, [format!("branch/rewind {name}:0")]);
    }
}

#[tokio::test]
async fn hostile_trees_are_refused_wherever_they_go() {
    let push = Push::new().await;
    let refusals = push.files(&[("apps/ghost/a", "1"), ("apps/ghost/A", "2")]).await;
    assert_eq!(shown(&refusals), ["tree/duplicate a:0"]);
    let push = Push::new().await;
    let raw = super::super::super::repository::open(push.clone.repository.git_dir()).unwrap();
    let blob = raw.blob(b"/etc/passwd").unwrap();
    let mut builder = raw.treebuilder(None).unwrap();
    builder.insert("link", blob, 0o120_000).unwrap();
    let tree = raw.find_tree(builder.write().unwrap()).unwrap();
    let by = git2::Signature::new("A", "a@b", &git2::Time::new(1, 0)).unwrap();
    let new = commit_id(raw.commit(None, &by, &by, "x", &tree, &[]).unwrap());
    assert_eq!(shown(&push.update("refs/heads/topic", None, Some(&new)).await), ["tree/symlink link:0"]);
    let blob = commit_id(blob);
    assert_eq!(shown(&push.update("refs/tags/x", None, Some(&blob)).await), ["ref/object refs/tags/x:0"]);
}

#[tokio::test]
async fn files_larger_than_we_read_are_refused() {
    let large = "x".repeat(MAX_FILE_BYTES + 1);
    one("apps/ghost/large", &large, &["tree/file-size apps/ghost/large:0"]).await;
    let huge = "x".repeat(10 * 1024 * 1024 + 1);
    let refusals = Push::new().await.files(&[("x", &huge)]).await;
    assert_eq!(refusals[0].rule, "pack/blob-size");
}

#[tokio::test]
async fn a_push_without_quarantine_is_checked_too() {
    let push = Push::new().await;
    let repository = Repository::open(push.instance.repository.path()).await.unwrap();
    let new = push.instance.commit(&[(".wild/conflicts/x.yaml", "a: 1\n")], "second").await;
    let updates = vec![RefUpdate { name: MAIN.to_owned(), old: Some(push.head), new: Some(new) }];
    let repository = repository.path().to_owned();
    let intake = Intake {
        repository,
        branch: "main".to_owned(),
        quarantine: None,
        updates,
        rewind: Rewind::Refused,
        scanner: nothing(),
        elsewhere: BTreeSet::new(),
    };
    assert_eq!(shown(&check(intake).await.unwrap()), ["conflict/file .wild/conflicts/x.yaml:0"]);
}

#[test]
fn the_lines_of_a_hook_are_read() {
    let (zero, id) = ("0".repeat(40), "1".repeat(40));
    let updates = RefUpdate::parse_lines(&format!("{zero} {id} refs/heads/a b\n{id} {zero} refs/heads/c\n")).unwrap();
    let id = CommitId::parse(&id).unwrap();
    assert_eq!(
        updates,
        [
            RefUpdate { name: "refs/heads/a b".to_owned(), old: None, new: Some(id.clone()) },
            RefUpdate { name: "refs/heads/c".to_owned(), old: Some(id), new: None }
        ]
    );
    RefUpdate::parse_lines("x y refs/heads/a\n").unwrap_err();
    RefUpdate::parse_lines("one\n").unwrap_err();
}

#[test]
fn a_refusal_names_rule_and_place() {
    let found = refusal("conflict/marker", "apps/a/x", 3, "a conflict marker was committed", "remove it");
    assert_eq!(found.to_string(), "apps/a/x:3: conflict/marker: a conflict marker was committed");
}

#[tokio::test]
async fn the_quarantine_of_the_git_program_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let push = Push::new().await;
    let hook = push.instance.repository.git_dir().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    // Keeps what the hook is given, then refuses, so that the objects never come out of the quarantine.
    let script = "#!/bin/sh\ncat > \"$GIT_DIR/lines\"\ncp -r \"$GIT_OBJECT_DIRECTORY\" \"$GIT_DIR/kept\"\nexit 1\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    push.clone.commit(&[("apps/ghost/x.yaml", "<<<<<<< mine\n"), ("apps/ghost/A", "1")], "change").await;
    let to = push.instance.repository.path().display().to_string();
    let (ok, _) = super::super::super::fixture::try_git(push.clone.repository.path(), &["push", &to, "main"]);
    assert!(!ok);
    let git_dir = push.instance.repository.git_dir();
    let updates = RefUpdate::parse_lines(&std::fs::read_to_string(git_dir.join("lines")).unwrap()).unwrap();
    let intake = Intake {
        repository: git_dir.to_owned(),
        branch: "main".to_owned(),
        quarantine: Some(git_dir.join("kept")),
        updates,
        rewind: Rewind::Refused,
        scanner: nothing(),
        elsewhere: BTreeSet::new(),
    };
    assert_eq!(shown(&check(intake).await.unwrap()), ["conflict/marker apps/ghost/x.yaml:1"]);
}
