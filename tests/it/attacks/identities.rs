//! Identities: whoever may push may change the file that names one, and with it the cluster, the secrets and the objects that an instance
//! owns.
//!
//! Two instances, each in a repository of its own, under one daemon. Not here: two in one repository (`fleet`), how identities are compared
//! (`git::instance_ids`).

use std::path::{Path, PathBuf};

use rewild::daemon::{Daemon, Start, Work};
use rewild::git::{self, Layout, Repository};
use rewild::model::InstanceId;
use rewild::pipeline;
use rewild::sandbox::{self, Sandbox};
use rewild::settings::{DaemonSettings, StateDirectory};

use crate::commits::{change, clock, commit};

const IDS: [(&str, &str); 2] = [("aa", "k3f7q2m5xd"), ("bb", "q2m5xdk3f7")];
const SETTINGS: &str = ".wild/config.yaml";
const CONFIG: &str =
    "operator:\n  email: alice@example.org\ncloud:\n  domain: cloud.example.org\ncluster:\n  name: sandbox\napps: {}\n";

/// Two instances, their cluster and the daemon that has them.
struct Pair {
    daemon: Daemon,
    settings: DaemonSettings,
    root: PathBuf,
    _cluster: Sandbox,
    _directory: tempfile::TempDir,
}

fn text_of(id: &str) -> String {
    format!("apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {id}\n")
}

fn id_line(id: &str) -> String {
    format!("put the line back in {SETTINGS}: instanceId: {id}")
}

impl Pair {
    async fn start() -> Self {
        git::set_options().unwrap();
        let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let cluster = Sandbox::start(sandbox::Settings::default()).await.unwrap();
        let state = StateDirectory::open(&root.join("state/wild")).unwrap();
        for (name, id) in IDS {
            let repository = Repository::init(&root.join(format!("{name}.git")), Layout::Bare, "main").await.unwrap();
            git::hook::install(&repository, Path::new(env!("CARGO_BIN_EXE_wild"))).await.unwrap();
            let text = text_of(id);
            let files = [("config.yaml", Some(CONFIG)), (SETTINGS, Some(text.as_str()))];
            commit(&repository, "main", "start", &files).await;
            let own = state.instance(&InstanceId::parse(id).unwrap()).unwrap();
            std::fs::write(own.kubeconfig(), cluster.kubeconfig()).unwrap();
            let secret = format!("apps:\n  ghost:\n    password: of-{name}-0123456789\n");
            rewild::settings::write_private(&own.secrets(), secret.as_bytes()).unwrap();
        }
        let mut settings = DaemonSettings { state_dir: root.join("state/wild"), ..DaemonSettings::default() };
        let entries: Vec<String> = IDS
            .iter()
            .map(|(name, _)| format!("{{name: {name}, path: {}}}", root.join(format!("{name}.git")).display()))
            .collect();
        let text = format!("instances: [{}]\n", entries.join(", "));
        settings.instances = DaemonSettings::parse("daemon.yaml", &text).unwrap().instances;
        let daemon = start(&settings).await.unwrap();
        Self { daemon, settings, root, _cluster: cluster, _directory: directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.git"))
    }

    async fn repository(&self, name: &str) -> Repository {
        Repository::open(&self.path(name)).await.unwrap()
    }

    /// Stops the daemon and starts another, which must start.
    async fn restart(&mut self) {
        self.daemon.stop().await;
        self.daemon = start(&self.settings).await.unwrap();
    }

    /// Returns the instances that are open, and of each that is not why, and what helps.
    fn standing(&self) -> (Vec<String>, Vec<(String, String, String)>) {
        let open = self.daemon.instances().iter().map(|handle| handle.instance().name.to_string()).collect();
        let closed = self.daemon.closed().into_iter();
        let told = closed.map(|it| (it.entry.name.to_string(), it.refusal.because, it.refusal.remedy));
        (open, told.collect())
    }

    /// Replaces the identity in a repository by another, as whoever needs no hook does.
    async fn steal(&self, name: &str, from: &str, to: &str) {
        let replaced = |text: &str| text.replace(&format!("instanceId: {from}"), &format!("instanceId: {to}"));
        change(&self.repository(name).await, "main", ("note", SETTINGS), replaced).await;
    }

    /// Runs a script as a person does in a fresh clone of a repository; returns whether it succeeded and what was said.
    fn in_a_clone(&self, name: &str, script: &str) -> (bool, String) {
        let clone = tempfile::tempdir_in(&self.root).unwrap();
        let identity = "git config user.name alice && git config user.email alice@example.org";
        let script = format!("git clone -q --no-local \"$1\" \"$2\" && cd \"$2\" && {identity}\n{script}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", &script, "sh"]).arg(self.path(name)).arg(clone.path().join("clone"));
        run(&self.root, shell)
    }

    /// Runs `wild` after a script and returns whether both succeeded and what was said.
    fn wild_after(&self, script: &str, args: &[&str]) -> (bool, String) {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", &format!("{script}\nwild \"$@\""), "sh"]).args(args).current_dir(&self.root);
        run(&self.root, shell)
    }

    /// Runs `wild` and returns whether it succeeded and what was said.
    fn wild(&self, args: &[&str]) -> (bool, String) {
        let mut wild = std::process::Command::new(env!("CARGO_BIN_EXE_wild"));
        wild.args(args).current_dir(&self.root);
        run(&self.root, wild)
    }
}

fn run(root: &Path, mut command: std::process::Command) -> (bool, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap().display().to_string();
    command.env_clear().env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()));
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
    let output = command.env("HOME", root).env("XDG_STATE_HOME", root.join("state")).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

async fn start(settings: &DaemonSettings) -> Result<Daemon, pipeline::Error> {
    let state = StateDirectory::open(&settings.state_dir).unwrap();
    Daemon::start(settings.clone(), Start { state, clock, access: None, work: Work::Everything }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_push_gives_an_instance_another_identity_or_none() {
    let pair = Pair::start().await;
    let [(_, own), (_, other)] = IDS;
    let aa = pair.repository("aa").await;
    commit(&aa, "wild/update/ghost", "update", &[("config.yaml", Some(CONFIG)), (SETTINGS, Some(&text_of(own)))]).await;
    let before = aa.head("main").await.unwrap();
    let waiting = aa.head("wild/update/ghost").await.unwrap();
    let changed = format!("instanceId would change from {own} to {other}");
    let gone = format!("instanceId {own} would be gone");
    for (script, expected) in [
        (format!("sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x; git push -q"), &*changed),
        (format!("sed -i 's/{own}/\"{other}\"  # mine/' {SETTINGS}; git commit -qam x; git push -q"), &*changed),
        (format!("sed -i '/instanceId/d' {SETTINGS}; git commit -qam x; git push -q"), &*gone),
        (format!("sed -i 's/instanceId/instanceid/' {SETTINGS}; git commit -qam x; git push -q"), &*gone),
        (format!("git rm -q {SETTINGS}; git commit -qam x; git push -q"), "the settings with instanceId"),
        (
            format!(
                "mkdir lab; git mv .wild config.yaml lab; sed -i 's/{own}/{other}/' lab/{SETTINGS}; git add .; git commit -qam x; git push -q"
            ),
            "the settings with instanceId",
        ),
        // The history before is hidden behind a first parent that knows nothing of it.
        (
            format!(
                "tree=$(git show main:{SETTINGS} | sed 's/{own}/{other}/' | git hash-object -w --stdin)
                 git read-tree main; git update-index --cacheinfo 100644,$tree,{SETTINGS}
                 new=$(git commit-tree -m root $(git write-tree)); new=$(git commit-tree -p $new -p main -m merge $(git write-tree))
                 git push -q origin $new:main"
            ),
            &*changed,
        ),
        // Whoever may let a branch go back may not do this with it.
        (
            format!(
                "git checkout -q --orphan x; sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x; git push -q -f -o wild.allow-rewind origin x:main"
            ),
            &*changed,
        ),
        // What waits becomes part of the deployed branch.
        (
            format!(
                "git checkout -q wild/update/ghost; sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x; git push -q origin wild/update/ghost"
            ),
            &*changed,
        ),
    ] {
        let (pushed, said) = pair.in_a_clone("aa", &script);
        assert!(!pushed && said.contains("instance/identity") && said.contains(expected), "{script}: {said}");
        assert_eq!(aa.head("main").await.unwrap(), before, "{script}");
        assert_eq!(aa.head("wild/update/ghost").await.unwrap(), waiting, "{script}");
    }
    let (_, said) =
        pair.in_a_clone("aa", &format!("sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x; git push -q"));
    assert!(said.contains(&format!("{SETTINGS}:3: instance/identity")) && said.contains(&id_line(own)), "{said}");
    let (pushed, said) =
        pair.in_a_clone("aa", &format!("echo 'drift: report' >> {SETTINGS}; git commit -qam x; git push -q"));
    assert!(pushed, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_in_a_work_tree_keeps_the_identity_as_well() {
    let pair = Pair::start().await;
    let [(_, own), (_, other)] = IDS;
    for script in [
        format!("sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x"),
        format!("sed -i '/instanceId/d' {SETTINGS}; git add .; git commit -qm x"),
        format!("git rm -q {SETTINGS}; git commit -qm x"),
    ] {
        let (done, said) = pair.in_a_clone("aa", &format!("wild hook install; {script}"));
        assert!(!done && said.contains("instance/identity") && said.contains(&id_line(own)), "{script}: {said}");
    }
    let (done, said) =
        pair.in_a_clone("aa", &format!("wild hook install; echo 'drift: off' >> {SETTINGS}; git commit -qam x"));
    assert!(done, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_that_came_around_the_hook_stops_its_own_instance_only_and_names_the_culprit() {
    // Whichever stands first in the settings, and whosever identity is taken.
    for (victim, thief) in [(IDS[1], IDS[0]), (IDS[0], IDS[1])] {
        let mut pair = Pair::start().await;
        let ((victim, theirs), (thief, own)) = (victim, thief);
        pair.steal(thief, own, theirs).await;
        let handle = pair.daemon.instance(thief).unwrap();
        let overview = pipeline::overview(handle.instance()).await.unwrap();
        assert_eq!(pipeline::settings(handle.instance()).await.unwrap().instance_id.as_str(), own, "{}", overview.head);

        pair.restart().await;
        let because = format!("its settings have the instanceId {theirs}, and the instance that lives here is {own}");
        let closed = vec![(thief.to_owned(), because.clone(), id_line(own))];
        assert_eq!(pair.standing(), (vec![victim.to_owned()], closed));

        // Without a daemon no more than with one.
        pair.daemon.stop().await;
        for verb in [["secret", "list"], ["app", "list"]] {
            let path = pair.path(thief).display().to_string();
            let (done, said) = pair.wild(&[&["--local", &path][..], &verb[..]].concat());
            assert!(!done && said.contains(&because) && said.contains(&id_line(own)), "{verb:?}: {said}");
            assert!(!said.contains("password"), "{said}");
        }

        // The line is put back, and nothing else is needed.
        pair.daemon = start(&pair.settings).await.unwrap();
        pair.steal(thief, theirs, own).await;
        pair.daemon.open_closed().await;
        let mut both = vec![victim.to_owned(), thief.to_owned()];
        both.sort();
        assert_eq!(pair.standing(), (both, Vec::new()));
        assert_eq!(pair.daemon.instance(thief).unwrap().instance().id.as_str(), own);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_swap_identities_are_both_refused_and_one_that_takes_a_new_one_is() {
    let pair = Pair::start().await;
    let [(_, aa), (_, bb)] = IDS;
    pair.steal("aa", aa, bb).await;
    pair.steal("bb", bb, aa).await;
    pair.daemon.stop().await;
    let error = start(&pair.settings).await.err().unwrap().to_string();
    assert!(error.contains(&format!("and the instance that lives here is {aa}")), "{error}");
    pair.steal("aa", bb, "brandnew").await;
    pair.steal("bb", aa, bb).await;
    let mut pair = pair;
    pair.daemon = start(&pair.settings).await.unwrap();
    let because = format!("its settings have the instanceId brandnew, and the instance that lives here is {aa}");
    assert_eq!(pair.standing(), (vec!["bb".to_owned()], vec![("aa".to_owned(), because, id_line(aa))]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_was_moved_goes_on_and_a_copy_does_not_until_it_has_an_identity_of_its_own() {
    let mut pair = Pair::start().await;
    let [(_, aa), _] = IDS;
    pair.daemon.stop().await;
    std::fs::rename(pair.path("aa"), pair.path("moved")).unwrap();
    pair.settings.instances[0].path = pair.path("moved");
    pair.daemon = start(&pair.settings).await.unwrap();
    assert_eq!(pair.standing(), (vec!["aa".to_owned(), "bb".to_owned()], Vec::new()));
    assert_eq!(pair.daemon.instance("aa").unwrap().instance().id.as_str(), aa);

    // A clone of it beside it is not it.
    let (cloned, said) = pair.in_a_clone("moved", "git clone -q --bare . ../../copy.git");
    assert!(cloned, "{said}");
    pair.settings.instances[0].path = pair.path("copy");
    pair.restart().await;
    let place = pair.path("moved").display().to_string();
    let because = format!("its settings have the instanceId {aa}, which is that of the instance in {place}");
    let remedy = format!("another instanceId in {SETTINGS}, if it is a copy; work in {place}, if it is a clone");
    assert_eq!(pair.standing(), (vec!["bb".to_owned()], vec![("aa".to_owned(), because, remedy)]));

    // It gets one by a push, which is the one that changes an identity.
    git::hook::install(&pair.repository("copy").await, Path::new(env!("CARGO_BIN_EXE_wild"))).await.unwrap();
    let new = format!("sed -i 's/{aa}/brandnew/' {SETTINGS}; git commit -qam x; git push -q");
    let (pushed, said) = pair.in_a_clone("copy", &new);
    assert!(pushed, "{said}");
    pair.daemon.open_closed().await;
    assert_eq!(pair.standing().1, Vec::new());
    assert_eq!(pair.daemon.instance("aa").unwrap().instance().id.as_str(), "brandnew");
    let again = format!("sed -i 's/brandnew/{aa}/' {SETTINGS}; git commit -qam x; git push -q");
    let (pushed, said) = pair.in_a_clone("copy", &again);
    assert!(!pushed && said.contains("instance/identity"), "{said}");

    // Another repository in the place of one that is gone is another instance.
    pair.daemon.stop().await;
    std::fs::remove_dir_all(pair.path("copy")).unwrap();
    let fresh = Repository::init(&pair.path("copy"), Layout::Bare, "main").await.unwrap();
    commit(&fresh, "main", "start", &[("config.yaml", Some(CONFIG)), (SETTINGS, Some(&text_of("another")))]).await;
    pair.daemon = start(&pair.settings).await.unwrap();
    assert_eq!(pair.standing(), (vec!["aa".to_owned(), "bb".to_owned()], Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_brings_another_identity_is_not_followed_until_it_is_put_back() {
    let mut pair = Pair::start().await;
    let [(_, aa), (_, bb)] = IDS;
    let (cloned, said) = pair.in_a_clone("aa", "git clone -q --bare . ../../forge.git");
    assert!(cloned, "{said}");
    pair.settings.instances[0].remote = pair.path("forge").display().to_string();
    pair.restart().await;
    let handle = pair.daemon.instance("aa").unwrap();
    let instance = handle.instance();
    let before = instance.repository.head("main").await.unwrap();
    for script in [
        format!("sed -i 's/{aa}/{bb}/' {SETTINGS}; git commit -qam x; git push -q"),
        // In two steps, of which the first does not read.
        format!("git revert --no-edit HEAD; echo 'a: [' >> {SETTINGS}; git commit -qam x; git push -q"),
    ] {
        let (pushed, said) = pair.in_a_clone("forge", &script);
        assert!(pushed, "{said}");
        let _ = pipeline::sync_remote(instance).await;
        if script.contains("revert") {
            break;
        }
        let trouble = pipeline::remote_trouble(instance).await.unwrap().unwrap();
        let expected = format!("{SETTINGS}:3: instanceId would change from {aa} to {bb}");
        assert!(trouble.contains(&expected) && trouble.contains(&id_line(aa)), "{trouble}");
        assert_eq!(instance.repository.head("main").await.unwrap(), before);
    }
    let script = format!("sed -i -e '/^a: /d' -e 's/{aa}/{bb}/' {SETTINGS}; git commit -qam x; git push -q");
    assert!(pair.in_a_clone("forge", &script).0);
    pipeline::sync_remote(instance).await.unwrap();
    assert!(pipeline::remote_trouble(instance).await.unwrap().unwrap().contains(&id_line(aa)));
    assert_eq!(pipeline::settings(instance).await.unwrap().instance_id.as_str(), aa);

    assert!(
        pair.in_a_clone(
            "forge",
            "git revert --no-edit HEAD; sed -i '/^a: /d' .wild/config.yaml; git commit -qam x; git push -q"
        )
        .0
    );
    pipeline::sync_remote(instance).await.unwrap();
    assert_eq!(pipeline::remote_trouble(instance).await.unwrap(), None);
    pair.restart().await;
    assert_eq!(pair.standing().1, Vec::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_repository_that_is_gone_or_broken_stops_no_other_and_comes_back() {
    let mut pair = Pair::start().await;
    pair.daemon.stop().await;
    std::fs::rename(pair.path("aa"), pair.path("away")).unwrap();
    pair.daemon = start(&pair.settings).await.unwrap();
    let (open, closed) = pair.standing();
    assert_eq!(open, ["bb"]);
    assert!(closed[0].1.contains("aa.git") && closed[0].2.contains("aa.git"), "{closed:?}");
    std::fs::rename(pair.path("away"), pair.path("aa")).unwrap();
    pair.daemon.open_closed().await;
    assert_eq!(pair.standing(), (vec!["aa".to_owned(), "bb".to_owned()], Vec::new()));
    // What can do nothing at all says so at once.
    pair.daemon.stop().await;
    for name in ["aa", "bb"] {
        std::fs::rename(pair.path(name), pair.path(&format!("away-{name}"))).unwrap();
    }
    assert!(start(&pair.settings).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_a_clone_speaks_of_the_instance_it_was_made_from_and_a_copy_of_none() {
    let pair = Pair::start().await;
    pair.daemon.stop().await;
    let root = pair.root.display();
    for (place, setup) in [
        ("clone", "git clone -q --no-local aa.git clone".to_owned()),
        ("file", format!("git clone -q file://{root}/aa.git file")),
        ("tree", "git -C aa.git worktree add -q ../tree main".to_owned()),
        ("linked", "ln -s aa.git link.git; git clone -q --no-local link.git linked".to_owned()),
        ("fork", "git clone -q --no-local aa.git fork; git -C fork remote add bb ../bb.git".to_owned()),
        ("other", "git clone -q --no-local clone other".to_owned()),
        ("far", "git -C clone worktree add -q -b far ../far origin/main".to_owned()),
        ("near", "cp -r clone near; git -C near remote set-url origin ../aa.git".to_owned()),
    ] {
        let (done, said) = pair.wild_after(&setup, &["--local", place, "secret", "list"]);
        assert!(done && said.contains("ghost.password"), "{place}: {said}");
        let (done, said) = pair.wild_after(&format!("cd {place}"), &["status"]);
        assert!(done && said.starts_with("aa "), "{place}: {said}");
    }
    for (place, setup) in [
        ("copy", "cp -r clone copy; git -C copy remote remove origin"),
        ("bare", "git clone -q --bare --no-local aa.git bare"),
    ] {
        let (done, said) = pair.wild_after(setup, &["--local", place, "secret", "list"]);
        let lives =
            format!("its settings have the instanceId {}, which is that of the instance in {root}/aa.git", IDS[0].1);
        assert!(!done && said.contains(&lives) && said.contains("work in "), "{place}: {said}");
        assert!(!said.contains("password"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_command_in_a_clone_takes_no_identity_from_a_new_instance() {
    let pair = Pair::start().await;
    pair.daemon.stop().await;
    let (done, said) = pair.wild_after(
        "wild init new --domain new.example.org && git clone -q --no-local new near",
        &["--local", "near", "status"],
    );
    assert!(done && said.contains("\nnew "), "{said}");
    let (done, said) = pair.wild_after("cd new && wild init . && cd ../near", &["status"]);
    assert!(done, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_branch_makes_nobody_speak_of_another_instance() {
    let mut pair = Pair::start().await;
    let [(_, own), (_, other)] = IDS;
    let push = format!(
        "git checkout -qb topic; sed -i 's/{own}/{other}/' {SETTINGS}; git commit -qam x; git push -q origin topic"
    );
    let (pushed, said) = pair.in_a_clone("aa", &push);
    let refused = format!("instanceId {other} is that of an instance in another repository");
    assert!(!pushed && said.contains(&refused), "{said}");
    let (pushed, said) = pair.in_a_clone(
        "aa",
        "git checkout -qb topic; echo x > note; git add note; git commit -qm x; git push -q origin topic",
    );
    assert!(pushed, "{said}");

    // It came around the hook.
    let aa = pair.repository("aa").await;
    let text = text_of(other);
    commit(&aa, "stolen", "stolen", &[("config.yaml", Some(CONFIG)), (SETTINGS, Some(text.as_str()))]).await;
    let bb = pair.path("bb").display().to_string();
    let stolen = |name: &str| format!("git clone -q --no-local -b stolen aa.git {name}; cd {name}");
    pair.daemon.stop().await;
    let (done, said) = pair.wild_after(&stolen("alone"), &["secret", "list"]);
    assert!(!done && said.contains(&format!("which is that of the instance in {bb}")), "{said}");
    assert!(said.contains("try: add --local ") && said.contains("aa.git"), "{said}");
    pair.daemon = start(&pair.settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_moves_in_its_repository_goes_on_with_and_without_what_was_around_it() {
    let pair = Pair::start().await;
    let moved = "mkdir moved; git mv .wild config.yaml moved; git commit -qm x; git push -q";
    let (pushed, said) = pair.in_a_clone("aa", moved);
    assert!(pushed, "{said}");
    pair.daemon.stop().await;
    let (done, said) = pair.wild_after("cd aa.git", &["status"]);
    assert!(done && said.starts_with("moved "), "{said}");
    let (done, said) = pair.wild_after("git clone -q aa.git far; cd far/moved", &["status"]);
    assert!(done && said.starts_with("moved "), "{said}");
    let back = "git mv moved/.wild moved/config.yaml .; git commit -qm x; git push -q";
    let (pushed, said) = pair.in_a_clone("aa", back);
    assert!(pushed, "{said}");
    let (done, said) = pair.wild_after("cd aa.git", &["status"]);
    assert!(done && said.starts_with("aa "), "{said}");
    // A clone from before speaks of where the instance is now.
    let (done, said) = pair.wild_after("cd far/moved", &["status"]);
    assert!(done && said.starts_with("aa "), "{said}");
}
