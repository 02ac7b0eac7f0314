//! Files that others on the machine could read: those that we make, those that somebody made wide, those that editors leave.
//!
//! Not here: the kubeconfig under a running daemon (`credentials.rs`).

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rewild::model::InstanceId;
use rewild::settings::StateDirectory;
use rewild::store::Store;
use serde_json::Value;

use crate::input::sandbox;
use crate::machine::Machine;

/// What a usual shell lets others do: read everything.
const USUAL: &str = "umask 022; ";

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn widen(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns everything below a directory that others may do anything with; links are no files.
fn open_below(root: &Path) -> Vec<String> {
    let (mut open, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_symlink() {
            continue;
        }
        if mode(&path) & 0o077 != 0 {
            open.push(format!("{:o} {}", mode(&path), path.display()));
        }
        if kind.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    open
}

/// Where the machine keeps its state.
fn state(machine: &Machine) -> PathBuf {
    machine.root().join("home/.local/state/wild")
}

/// The directory of the only instance.
fn instance(machine: &Machine) -> PathBuf {
    std::fs::read_dir(state(machine).join("instances")).unwrap().next().unwrap().unwrap().path()
}

/// Asks the daemon to end and waits until it has.
async fn stop_daemon(machine: &mut Machine) {
    machine
        .done(".", "kill -TERM $(sed -n 's/^pid \\([0-9]*\\).*/\\1/p' home/.local/state/wild/instances/*/lock)")
        .await;
    machine.daemon.take().unwrap().wait().await.unwrap();
}

/// Returns the files that are told as open, with the mode that each had.
async fn told(machine: &Machine) -> Vec<(String, String)> {
    told_in(machine, "home.git").await
}

async fn told_in(machine: &Machine, folder: &str) -> Vec<(String, String)> {
    let shown = machine.run(folder, "wild status -o json").await;
    let value: Value = serde_json::from_str(&shown.data).unwrap_or_default();
    let files = value["instance"]["openFiles"].as_array().cloned().unwrap_or_default();
    let text = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
    files.iter().map(|file| (text(file, "path").rsplit('/').next().unwrap().to_owned(), text(file, "mode"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_commands_and_the_daemon_make_is_for_nobody_else_and_what_is_wide_is_narrowed_and_told() {
    let (cluster, access) = sandbox().await;
    let mut machine = Machine::start(access, "stonedb 15.5").await;
    let init = machine
        .run(".", &format!("{USUAL}wild init home.git --bare --domain cloud.example.org --kubeconfig ~/.kube/config"))
        .await;
    assert_eq!(init.code, 0, "{init:?}");
    let settings = format!(
        "listen: 127.0.0.1:0\nmetricsListen: \"\"\ninstances:\n- {{name: home, path: {}/home.git}}\n",
        machine.root().display()
    );
    machine.start_daemon(&settings).await;
    let shown = machine.run("home.git", &format!("{USUAL}wild status && wild cluster list")).await;
    assert_eq!(shown.code, 0, "{shown:?}");
    // What the shell's umask would have left open.
    assert_eq!(open_below(&state(&machine)), Vec::<String>::new());
    let repository = open_below(&machine.root().join("home.git"));
    assert!(repository.iter().all(|it| it.contains("/hooks/")), "only programs without secrets: {repository:?}");
    assert_eq!(mode(&machine.root().join("home.git")), 0o700);
    assert_eq!(mode(&machine.root().join("run/wild.sock")), 0o600);
    stop_daemon(&mut machine).await;
    // What somebody made wide is narrowed by the next start, with what editors left, and told until it is written anew.
    let own = instance(&machine);
    for (name, wide) in
        [("secrets.yaml", 0o644), ("secrets.yaml~", 0o644), (".secrets.yaml.swp", 0o640), ("secrets.yaml.bak", 0o604)]
    {
        std::fs::write(own.join(name), "apps: {}\n").unwrap();
        widen(&own.join(name), wide);
    }
    ["wild.db", "instances"].iter().for_each(|name| widen(&state(&machine).join(name), 0o755));
    widen(&own.join("kubeconfig"), 0o664);
    widen(&own.join("hash.key"), 0o444);
    let outside = machine.root().join("outside");
    std::fs::write(&outside, "not ours").unwrap();
    widen(&outside, 0o644);
    symlink(&outside, own.join("secrets.yaml.orig")).unwrap();
    machine.start_daemon(&settings).await;
    // The socket is there before the instance is.
    machine.until("all of it is narrowed", async || open_below(&state(&machine)).is_empty()).await;
    assert_eq!(mode(&outside), 0o644, "what a link leads to is not ours to change");
    let known = told(&machine).await;
    for (name, wide) in [
        ("secrets.yaml", "0644"),
        ("secrets.yaml~", "0644"),
        (".secrets.yaml.swp", "0640"),
        ("kubeconfig", "0664"),
        ("hash.key", "0444"),
    ] {
        assert!(known.contains(&(name.to_owned(), wide.to_owned())), "{name} is not in {known:?}");
    }
    let shown = machine.run("home.git", "wild status").await;
    assert!(shown.data.contains("others could read") && shown.data.contains("secrets.yaml (mode 0644)"), "{shown:?}");
    assert!(machine.log().contains("others could read this file until now"), "{}", machine.log());
    // While it runs.
    let secrets = own.join("secrets.yaml");
    std::fs::write(&secrets, "apps: {a: {b: c}}\n").unwrap();
    widen(&secrets, 0o666);
    machine.until("it is narrowed", async || mode(&secrets) == 0o600).await;
    machine
        .until("it is told", async || told(&machine).await.contains(&("secrets.yaml".to_owned(), "0666".to_owned())))
        .await;
    // What was written anew since is told no more.
    std::fs::write(&secrets, "apps: {a: {b: d}}\n").unwrap();
    machine
        .until("it is told no more", async || !told(&machine).await.iter().any(|(name, _)| name == "secrets.yaml"))
        .await;
    stop_daemon(&mut machine).await;
    cluster.stop().await;
}

/// Modes by which somebody else may do something.
const WIDE: [u32; 9] = [0o644, 0o640, 0o604, 0o660, 0o666, 0o602, 0o620, 0o444, 0o777];

/// Returns every file below a directory; neither links nor sockets.
fn files_below(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Every file that holds something of an instance, in every mode that lets others in, found at a start and while it runs.
#[tokio::test(flavor = "multi_thread")]
async fn every_file_of_an_instance_is_narrowed_from_every_mode_and_told() {
    let (cluster, access) = sandbox().await;
    let mut machine = Machine::start(access, "stonedb 15.5").await;
    let root = machine.root().to_owned();
    let at = root.display();
    let settings = format!(
        "listen: 127.0.0.1:0\nmetricsListen: \"\"\negress: {{allow: [{at}/directory.git]}}\ninstances:\n- name: cloud\n  path: {at}/cloud\n  \
         remote: {at}/forge.git\n  credentialFile: {at}/forge-token\n  keycloak: {{url: \"http://127.0.0.1:9\", realm: r, client: c, \
         credentialFile: {at}/keycloak-secret}}\n"
    );
    machine.write("home/.config/wild/daemon.yaml", &settings);
    machine.done(".", "git init -q --bare forge.git && printf t > forge-token && printf k > keycloak-secret").await;
    machine.done(".", "wild init cloud --domain cloud.example.org --kubeconfig ~/.kube/config").await;
    machine.done("cloud", "git push -q $ROOT/forge.git main && wild directory add sample $ROOT/directory.git").await;
    machine.done("cloud", "wild app add stonedb --deploy && wild app wait stonedb").await;
    let own = instance(&machine);
    let secrets = root.join("cloud/secrets.yaml");
    for copy in ["cloud/secrets.yaml~", "cloud/.secrets.yaml.swp", "cloud/secrets.yaml.bak", "forge-token~"] {
        std::fs::copy(&secrets, root.join(copy)).unwrap();
    }
    std::fs::write(own.join("token-of-a-person"), "t").unwrap();
    let mut all = files_below(&state(&machine));
    let beside = ["cloud/secrets.yaml", "cloud/secrets.yaml~", "cloud/.secrets.yaml.swp", "cloud/secrets.yaml.bak"];
    all.extend(beside.iter().chain(&["forge-token", "forge-token~", "keycloak-secret"]).map(|name| root.join(name)));
    assert!(all.len() > 10 && all.contains(&own.join("kubeconfig")) && all.contains(&state(&machine).join("wild.db")));

    for wide in WIDE {
        all.iter().filter(|path| path.exists()).for_each(|path| widen(path, wide));
        let held: Vec<PathBuf> = all.iter().filter(|path| path.exists()).cloned().collect();
        machine.start_daemon(&settings).await;
        let is_narrow = async || held.iter().filter(|path| path.exists()).all(|path| mode(path) & 0o077 == 0);
        machine.until(&format!("all is narrowed from {wide:o}"), is_narrow).await;
        let is_told = async || {
            let known = told_in(&machine, "cloud").await;
            held.iter().filter(|path| path.exists()).all(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                // What the daemon itself writes is written anew by then.
                let is_ours = name.starts_with("wild.db") || name == "lock";
                is_ours || known.contains(&(name.to_owned(), format!("{wide:04o}")))
            })
        };
        machine.until(&format!("all that was {wide:o} is told"), is_told).await;
        stop_daemon(&mut machine).await;
    }

    // While it runs, each file by which somebody signs in or that holds values.
    machine.start_daemon(&settings).await;
    for (path, wide) in [(secrets, 0o644), (own.join("kubeconfig"), 0o640), (root.join("cloud/secrets.yaml~"), 0o604)] {
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        widen(&path, wide);
        machine.until(&format!("{} is narrowed", path.display()), async || mode(&path) == 0o600).await;
    }
    for name in ["forge-token", "keycloak-secret"] {
        widen(&root.join(name), 0o644);
        machine.run("cloud", "wild directory fetch").await;
        machine.until(&format!("{name} is narrowed by a fetch"), async || mode(&root.join(name)) == 0o600).await;
    }
    stop_daemon(&mut machine).await;
    cluster.stop().await;
}

/// Returns the locks that this process has on the files of a store, as the system lists them.
fn locks(directory: &Path) -> Vec<String> {
    let own = std::process::id().to_string();
    let files =
        ["wild.db", "wild.db-wal", "wild.db-shm"].map(|name| std::fs::metadata(directory.join(name)).unwrap().ino());
    let list = std::fs::read_to_string("/proc/locks").unwrap();
    let is_ours = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let inode = words.get(5).and_then(|place| place.rsplit(':').next()?.parse().ok());
        words.get(1) == Some(&"POSIX")
            && words.get(4) == Some(&own.as_str())
            && inode.is_some_and(|inode| files.contains(&inode))
    };
    // Their numbers in the list change with the locks of others.
    let mut found: Vec<String> =
        list.lines().filter(is_ours).map(|line| line.split_once(": ").unwrap().1.to_owned()).collect();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_the_modes_of_an_open_store_gives_none_of_its_locks_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wild.db");
    let store = Store::open(&path).await.unwrap();
    store.put_cursor(&InstanceId::parse("k3f7q2m5xd").unwrap(), "a", "b").await.unwrap();
    let before = locks(directory.path());
    assert!(!before.is_empty(), "a store that is open has locks");
    for name in ["wild.db", "wild.db-wal", "wild.db-shm"] {
        assert_eq!(mode(&directory.path().join(name)), 0o600, "{name}");
        widen(&directory.path().join(name), 0o644);
    }
    widen(directory.path(), 0o755);
    let narrowed = StateDirectory::open(directory.path()).unwrap().narrow().unwrap();
    assert_eq!(narrowed.len(), 4, "the directory and the store in it: {narrowed:?}");
    assert_eq!(locks(directory.path()), before);
    store.close().await;
}
