//! Credentials that change: a kubeconfig that is replaced, and a program that signs in.
//!
//! The sandbox knows nobody and asks nobody who he is; a proxy does that. Not here: a server that does (`tests/live/credentials.rs`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rewild::base::Timestamp;
use rewild::model::{InstanceId, ObjectId};
use rewild::sandbox::{self, Sandbox};
use rewild::target::{Access, Cluster, Plugin, Reachability, RefusalKind, Target};
use serde_json::json;

use crate::both::{Plain, config};
use crate::commits::{step, stepped_clock};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{World, kubeconfig_of};

/// The time after which files are looked at again, and a little.
const PAUSE: Duration = Duration::from_secs(11);
/// More requests than a test sends.
const ALWAYS: usize = 1_000;
const TOKEN: &str = "token-of-a-plugin-31415926";

async fn connect<const CLOCK: usize>(access: &Access) -> Cluster {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    Cluster::connect(access, &instance, "wild-system", stepped_clock::<CLOCK>).await.unwrap()
}

/// Asks for an object that every cluster has; returns how the server refused, if it did.
async fn ask(cluster: &Cluster) -> Result<(), String> {
    let read = cluster.get(&ObjectId::new("", "Namespace", "", "default"), "v1").await;
    read.map(|found| assert!(found.is_some())).map_err(|refusal| refusal.message)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_changes_is_used_soon_and_ends_no_request() {
    let sandbox = Sandbox::start(sandbox::Settings::default()).await.unwrap();
    let (old, new) = (Proxy::start(sandbox.url()).await, Proxy::start(sandbox.url()).await);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig_of(old.url())).unwrap();
    let cluster = connect::<2>(&Access::File { path: path.clone(), context: String::new() }).await;
    assert_eq!(ask(&cluster).await, Ok(()));
    old.spoil(To::All, Fault::DelayAnswer, 1);
    let begun = tokio::spawn({
        let cluster = cluster.clone();
        async move { ask(&cluster).await }
    });
    while old.hits() == 0 {
        tokio::task::yield_now().await;
    }
    std::fs::write(&path, kubeconfig_of(new.url())).unwrap();
    // Within ten seconds of the last look nobody looks again.
    new.spoil(To::All, Fault::Refuse(403, ""), ALWAYS);
    assert_eq!(ask(&cluster).await, Ok(()));
    step::<2>(PAUSE);
    new.clear();
    old.spoil(To::All, Fault::Refuse(403, ""), ALWAYS);
    assert_eq!(ask(&cluster).await, Ok(()));
    old.release();
    assert_eq!(begun.await.unwrap(), Ok(()), "what was under way");
    // What does not read changes nothing, however often it is looked at.
    std::fs::write(&path, "no: [kubeconfig").unwrap();
    for _ in 0..2 {
        step::<2>(PAUSE);
        assert_eq!(ask(&cluster).await, Ok(()));
    }
    std::fs::write(&path, kubeconfig_of(old.url())).unwrap();
    old.clear();
    new.spoil(To::All, Fault::Refuse(403, ""), ALWAYS);
    step::<2>(PAUSE);
    assert_eq!(ask(&cluster).await, Ok(()));
    sandbox.stop().await;
}

/// A program that prints what stands in a file, and counts how often it is run.
struct Program {
    directory: tempfile::TempDir,
}

impl Program {
    fn new() -> Self {
        let program = Self { directory: tempfile::tempdir().unwrap() };
        let [runs, says] = ["runs", "says"].map(|name| program.path(name).display().to_string());
        let script = format!("#!/bin/sh\necho run >> {runs}\n. {says}\n");
        std::fs::write(program.path("sign-in"), script).unwrap();
        std::fs::set_permissions(program.path("sign-in"), std::fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Lets it print a token that is good until then.
    fn prints(&self, until: Timestamp) {
        let status = json!({"token": TOKEN, "expirationTimestamp": until.to_string()});
        let printed =
            json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status});
        self.says(&format!("echo '{printed}'"));
    }

    fn says(&self, script: &str) {
        std::fs::write(self.path("says"), script).unwrap();
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count()
    }

    fn command(&self) -> PathBuf {
        self.path("sign-in")
    }
}

fn signed(address: &str, command: &Path) -> Access {
    let plugin = Plugin::new(command.to_owned(), Vec::new(), Default::default());
    Access::Signed(Box::new(Access::Text(kubeconfig_of(address))), plugin)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_signs_in_when_there_is_need_and_once_for_all() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let sandbox = Sandbox::start(sandbox::Settings::default()).await.unwrap();
    let proxy = Proxy::start(sandbox.url()).await;
    let program = Program::new();
    let now = stepped_clock::<3>;
    program.prints(now().plus(HOUR));
    let cluster = connect::<3>(&signed(proxy.url(), &program.command())).await;
    assert_eq!(program.runs(), 0, "nothing is run before there is something to ask");
    let all = futures::future::join_all((0..8).map(|_| ask(&cluster))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(program.runs(), 1);
    // In the last minute it is run again; what cannot be had then is no matter as long as the old one is good.
    step::<3>(HOUR - Duration::from_secs(30));
    program.says("echo 'the cloud is away' >&2; exit 1");
    assert_eq!((ask(&cluster).await, ask(&cluster).await, program.runs()), (Ok(()), Ok(()), 2));
    step::<3>(Duration::from_secs(31));
    let why = ask(&cluster).await.unwrap_err();
    assert!(why.contains("it ended with exit status: 1: the cloud is away"), "{why}");
    assert!(matches!(cluster.reachability(), Reachability::Unreachable { .. }));
    assert_eq!((ask(&cluster).await.is_err(), program.runs()), (true, 3), "at most once in ten seconds");
    program.prints(now().plus(HOUR));
    step::<3>(PAUSE);
    assert_eq!((ask(&cluster).await, program.runs()), (Ok(()), 4));
    assert_eq!(cluster.reachability(), Reachability::Reachable);
    // A server that does not know the token gets another one, once.
    proxy.spoil(To::All, Fault::Refuse(401, ""), 1);
    assert_eq!((ask(&cluster).await, program.runs()), (Ok(()), 5));
    proxy.spoil(To::All, Fault::Refuse(401, ""), ALWAYS);
    let read = cluster.get(&ObjectId::new("", "Namespace", "", "default"), "v1").await;
    assert_eq!((read.unwrap_err().kind, program.runs()), (RefusalKind::Unauthorized, 5));
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_signs_in_by_the_program_that_its_settings_name_and_tells_nobody_what_it_prints() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    let program = Program::new();
    program.says("echo 'no profile' >&2; exit 1");
    let clusters = format!("clusters: {{home: {{exec: {{command: {}}}}}}}\n", program.command().display());
    let access = Access::Text(rewild::sandbox::Sandbox::kubeconfig(&world.cluster));
    world.restart_signed(&clusters, access).await;
    let pushed = Plain { world: &world, name: "plain" }.push(&[("setting.yaml", &config("setting", "1"))]).await;
    let waits = async || world.state("plain").await.is_some_and(|state| state.reason == "TargetUnreachable");
    world.until("it is told that nobody can sign in", waits).await;
    let state = world.state("plain").await.unwrap();
    assert!(state.needs_you.contains(&format!("sign in with {}: ", program.command().display())), "{state:#?}");
    program.prints(crate::commits::clock().plus(Duration::from_secs(3_600)));
    let plain = Plain { world: &world, name: "plain" };
    plain.done(&pushed).await;
    plain.healthy().await;
    assert!(!world.kept().await.contains(TOKEN));
    world.stop().await;
}
