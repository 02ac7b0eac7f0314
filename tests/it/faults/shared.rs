//! Two daemons on one state directory, as after a move to another machine that left the first running: one of them works, the other ends and
//! says why, also where files are locked as on a network file system or not at all.
//!
//! Not here: two daemons by accident on one machine (`input`).

use std::process::ExitStatus;

use rewild::git::Layout;
use rewild::sandbox::Sandbox;

use super::child::{DEADLINE, End, command};
use super::home::{Home, ID, LIFE, make_upstream};
use super::sandbox;
use super::shim::{Locking, Shim};

/// Starts a second daemon on the same directories, with a socket of its own, and returns how it ended and what it said.
async fn second(home: &Home<Sandbox>) -> (ExitStatus, String) {
    let settings = std::fs::read_to_string(home.root.join("daemon.yaml")).unwrap();
    let other = settings.replace("wild.sock", "other.sock");
    assert_ne!(settings, other);
    std::fs::write(home.root.join("other.yaml"), other).unwrap();
    let mut daemon = command(env!("CARGO_BIN_EXE_wild"), &home.root);
    daemon.args(["daemon", "--config", "other.yaml"]).envs(Shim::environment(&home.root));
    let ended = tokio::task::spawn_blocking(move || daemon.output().unwrap());
    let output = tokio::time::timeout(DEADLINE, ended).await.expect("the second daemon runs beside the first").unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_on_one_directory_never_work_side_by_side_however_files_are_locked() {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path();
    make_upstream(above).await;
    for locking in [None, Some(Locking::LikeRanges)] {
        let name = format!("{locking:?}").replace(['(', ')'], "");
        let root = above.join(&name);
        let shim = Shim::new(&root);
        if let Some(locking) = locking {
            shim.lock(locking);
        }
        let mut home =
            Home::start_in(above, &name, (ID, Layout::Bare, Shim::environment(&root)), sandbox().await).await;

        let (status, said) = second(&home).await;
        assert_eq!(status.code(), Some(6), "{locking:?}: {said}");
        assert!(said.contains("pid ") && said.contains("try: "), "{locking:?}: {said}");

        // The first one works on as if nothing had happened.
        home.act(&LIFE[0], false).await;
        assert_eq!(home.quiet(&LIFE[0]).await, None, "{locking:?}: {}", home.wild.log());
        assert!(home.wild.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_does_not_work_where_nothing_can_be_locked_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path();
    make_upstream(above).await;
    let root = above.join("home");
    let shim = Shim::new(&root);
    let mut home = Home::start_in(above, "home", (ID, Layout::Bare, Shim::environment(&root)), sandbox().await).await;
    assert!(home.wild.stop().await.success());

    shim.lock(Locking::Never);
    home.wild.start_again().await;
    let ended = tokio::time::timeout(DEADLINE, home.wild.die()).await;
    assert!(matches!(ended, Ok(End::Other(status)) if status.code() == Some(2)), "{ended:?}: {}", home.wild.log());
    let said = home.wild.log();
    assert!(said.contains("No locks available") && said.contains("try: a stateDir in daemon.yaml"), "{said}");
}
