//! A daemon that is stopped in the middle, whose disk is full, whose store is broken, in whose way a lock lies: it says so, loses nothing, and
//! ends where an undisturbed one does once the trouble is over.
//!
//! Not here: kills at named points (`mod.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use rewild::git::Layout;
use rewild::model::OperationState;
use rewild::sandbox::Sandbox;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::child::{DEADLINE, POLL, Wild};
use super::home::{Cluster, Home, LIFE, Step, make_upstream};
use super::life::{settle, undisturbed};
use super::sandbox;
use super::seen::Seen;

/// Adding, then deploying an app.
const DEPLOY: [Step; 2] = [LIFE[0], LIFE[1]];
/// The step whose end is compared.
const LAST: &str = "deploy";

/// A directory with the upstream, and what an undisturbed life came to.
struct Place {
    directory: tempfile::TempDir,
    expected: Seen,
}

impl Place {
    async fn new(layout: Layout) -> Self {
        let directory = tempfile::tempdir().unwrap();
        make_upstream(directory.path()).await;
        let mut came_to = undisturbed(&DEPLOY, layout, directory.path(), sandbox().await).await;
        Self { expected: came_to.remove(LAST).unwrap(), directory }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    async fn home<C: Cluster>(&self, layout: Layout, cluster: C) -> Home<C> {
        Home::start(self.directory.path(), "home", layout, cluster).await
    }
}

impl Wild {
    /// Waits until the daemon's log says something.
    async fn says(&self, what: &str) {
        let mut tick = tokio::time::interval(POLL);
        let said = async {
            while !self.log().contains(what) {
                tick.tick().await;
            }
        };
        assert!(tokio::time::timeout(DEADLINE, said).await.is_ok(), "{what:?} is not said:\n{}", self.log());
    }
}

/// Waits until a step is done and compares.
async fn ends_well<C: Cluster>(home: &mut Home<C>, place: &Place) {
    assert_eq!(home.quiet(&DEPLOY[1]).await, None, "{}", home.wild.log());
    if let Err(found) = settle(home, &place.expected).await {
        panic!("{found}");
    }
    assert!(home.wild.stop().await.success());
}

/// A sandbox behind a gate that closes at the n-th write and lets nothing through until it is opened.
pub(super) struct Gated {
    sandbox: Sandbox,
    address: String,
    open: Arc<watch::Sender<bool>>,
    left: Arc<AtomicUsize>,
}

impl Gated {
    pub(super) async fn start(writes: usize) -> Self {
        let sandbox = sandbox().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let target = sandbox.url().trim_start_matches("http://").to_owned();
        let open = Arc::new(watch::Sender::new(true));
        let left = Arc::new(AtomicUsize::new(writes));
        let (gate, counted) = (open.clone(), left.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(pass(client, server, gate.clone(), counted.clone()));
            }
        });
        Self { sandbox, address, open, left }
    }

    /// Closes the gate at the n-th write from now on.
    pub(super) fn close_at(&self, writes: usize) {
        self.left.store(writes, Ordering::SeqCst);
    }

    /// Waits until the write has come at which the gate closes.
    pub(super) async fn closed(&self) {
        self.open.subscribe().wait_for(|open| !open).await.unwrap();
    }

    pub(super) fn release(&self) {
        self.open.send_replace(true);
    }
}

/// Passes bytes on in both directions while the gate is open.
async fn pass(client: TcpStream, server: TcpStream, gate: Arc<watch::Sender<bool>>, left: Arc<AtomicUsize>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let up = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from_client.read(&mut chunk).await {
            let begins_write = chunk.starts_with(b"PATCH ") && left.load(Ordering::SeqCst) > 0;
            if begins_write && left.fetch_sub(1, Ordering::SeqCst) == 1 {
                gate.send_replace(false);
            }
            let _ = gate.subscribe().wait_for(|open| *open).await;
            if to_server.write_all(&chunk[..length]).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    };
    // The end of either side is the end of both.
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

impl Cluster for Gated {
    fn kubeconfig(&self) -> String {
        let own = self.sandbox.url().trim_start_matches("http://").to_owned();
        Sandbox::kubeconfig(&self.sandbox).replace(&own, &self.address)
    }

    async fn read(&self, path: &str) -> Option<Value> {
        Cluster::read(&self.sandbox, path).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_asked_to_end_in_the_middle_of_a_pass_ends_and_goes_on_later() {
    let place = Place::new(Layout::Bare).await;
    // The first write is our ApplySet parent, the third is in the middle of the app.
    let mut home = place.home(Layout::Bare, Gated::start(3).await).await;
    home.act(&DEPLOY[0], false).await;
    assert_eq!(home.quiet(&DEPLOY[0]).await, None);
    home.act(&DEPLOY[1], false).await;
    home.cluster.closed().await;
    let ended = home.wild.stop().await;
    assert!(ended.success(), "{ended}: {}", home.wild.log());
    assert!(home.wild.log().contains("stopped"), "{}", home.wild.log());
    let open = home.store.operations_in(&home.id, OperationState::Running).await.unwrap();
    assert_eq!(open.len(), 1, "the request is still to be carried out: {}", home.show().await);
    home.cluster.release();
    home.wild.start().await;
    ends_well(&mut home, &place).await;
}

/// A small file system of its own for one directory.
struct Disk(PathBuf);

impl Disk {
    /// Mounts it, or says why the test is skipped.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("skipped: a full disk, because a file system cannot be mounted here; run the tests as root");
        None
    }

    /// Takes all that is left of it.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_below_the_repository_is_said_and_the_request_is_carried_out_once_there_is_room() {
    let place = Place::new(Layout::Bare).await;
    let Some(disk) = Disk::mount(&place.root().join("home")) else { return };
    let mut home = place.home(Layout::Bare, sandbox().await).await;
    home.act(&DEPLOY[0], false).await;
    assert_eq!(home.quiet(&DEPLOY[0]).await, None);
    disk.fill();
    home.act(&DEPLOY[1], false).await;
    home.wild.says("No space left on device").await;
    assert_eq!(home.store.operations_in(&home.id, OperationState::Waiting).await.unwrap().len(), 1);
    disk.free();
    ends_well(&mut home, &place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_below_the_state_is_said_and_what_was_not_stored_is_not_acknowledged() {
    let place = Place::new(Layout::Bare).await;
    let Some(disk) = Disk::mount(&place.root().join("state")) else { return };
    let mut home = place.home(Layout::Bare, sandbox().await).await;
    home.act(&DEPLOY[0], false).await;
    assert_eq!(home.quiet(&DEPLOY[0]).await, None);
    disk.fill();
    let refused = home.wild.run(&["app", "deploy", "quickcache", "--no-wait"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("disk is full"), "{said}");
    disk.free();
    home.act(&DEPLOY[1], false).await;
    ends_well(&mut home, &place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_store_is_named_with_the_command_that_helps_and_costs_history_only() {
    let mut place = Place::new(Layout::Bare).await;
    let mut home = place.home(Layout::Bare, sandbox().await).await;
    for step in &DEPLOY {
        home.act(step, false).await;
        assert_eq!(home.quiet(step).await, None);
    }
    assert!(home.wild.stop().await.success());
    home.store.close().await;
    let file = place.root().join("state/wild.db");
    std::fs::write(&file, "no database at all".repeat(1_000)).unwrap();
    home.wild.start_again().await;
    assert_eq!(home.wild.wait().await.code(), Some(2));
    let said = home.wild.log();
    let remedy = said.lines().rev().find_map(|line| line.strip_prefix("try: ")).unwrap_or_default().to_owned();
    assert!(said.contains(&format!("because: open the store {}", file.display())), "{said}");
    assert!(remedy.starts_with("mv "), "{said}");
    let moved = Command::new("sh").args(["-c", remedy.split(',').next().unwrap()]).status().unwrap();
    assert!(moved.success(), "{remedy}");
    home.wild.start().await;
    home.store = rewild::store::Store::open(&file).await.unwrap();
    place.expected.facts.insert("requests".to_owned(), String::new());
    ends_well(&mut home, &place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_lock_in_a_bare_repository_is_set_aside() {
    let place = Place::new(Layout::Bare).await;
    let mut home = place.home(Layout::Bare, sandbox().await).await;
    home.act(&DEPLOY[0], false).await;
    assert_eq!(home.quiet(&DEPLOY[0]).await, None);
    let lock = std::fs::File::create(place.root().join("home/refs/heads/main.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    // Who has it open holds it.
    drop(lock);
    home.act(&DEPLOY[1], false).await;
    assert_eq!(home.quiet(&DEPLOY[1]).await, None);
    let aside = std::fs::read_dir(place.root().join("home/stale-locks")).unwrap().count();
    assert_eq!(aside, 1);
    std::fs::remove_dir_all(place.root().join("home/stale-locks")).unwrap();
    ends_well(&mut home, &place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_in_the_work_tree_of_a_person_is_named_and_left() {
    let mut place = Place::new(Layout::WorkTree).await;
    let mut home = place.home(Layout::WorkTree, sandbox().await).await;
    home.act(&DEPLOY[0], false).await;
    assert_eq!(home.quiet(&DEPLOY[0]).await, None);
    let lock = place.root().join("home/.git/index.lock");
    let file = std::fs::File::create(&lock).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let refused = home.wild.run(&["app", "deploy", "quickcache"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(6), "{said}");
    assert!(said.contains(&format!("because: {} is there", lock.display())), "{said}");
    assert!(said.contains(&format!("try: rm {}", lock.display())), "{said}");
    std::fs::remove_file(&lock).unwrap();
    home.act(&DEPLOY[1], false).await;
    let refusal = "deploy quickcache: Failed Some(Blocked)\n";
    let requests = place.expected.facts.get_mut("requests").unwrap();
    *requests = requests.replace("deploy quickcache", &format!("{refusal}deploy quickcache"));
    ends_well(&mut home, &place).await;
}
