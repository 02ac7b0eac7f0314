//! A worker by hand: looks that fail, and what an app waits for.

use std::path::Path;

use super::*;
use crate::base::{RepoPath, Timestamp};
use crate::git::{Layout, NewCommit, Repository};
use crate::model::{Author, ClusterName, CommitId, File, InstanceName, Subdirectory};
use crate::pipeline::Opening;
use crate::store::Store;

/// Returns a worker of an instance in a directory that has not looked at anything yet.
async fn worker(root: &Path) -> Worker {
    let repository = Repository::init(&root.join("home.git"), Layout::Bare, "main").await.unwrap();
    let author = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
    let settings = "apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: k3f7q2m5xd\n";
    let files = [(SETTINGS_PATH, settings), ("apps/plain/kustomization.yaml", "resources: []\n")];
    let new = NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: None,
        base_tree: None,
        changes: files.map(|(path, text)| (RepoPath::parse(path).unwrap(), Some(File::text(text)))).into(),
        parents: Vec::new(),
        author: author.clone(),
        committer: author,
        message: "first".to_owned(),
        time: Timestamp(0),
    };
    repository.commit(new).await.unwrap();
    let state = StateDirectory::open(&root.join("state")).unwrap();
    let store = Store::open(&state.store()).await.unwrap();
    let opening = Opening {
        keycloak: None,
        credentials: Vec::new(),
        name: InstanceName::parse("home").unwrap(),
        path: root.join("home.git"),
        subdirectory: Subdirectory::top(),
        branch: "main".to_owned(),
        remote: None,
        signers: Default::default(),
        access: None,
        plugins: Default::default(),
        clock: || Timestamp(1_763_712_000_000_000),
        beside: Vec::new(),
    };
    let instance = Arc::new(Instance::open(opening, &state, store).await.unwrap());
    let settings = DaemonSettings::default();
    let shared = Shared::new(instance, &settings, &state, Metrics::new(), Work::Everything).unwrap();
    Worker::new(Arc::new(shared)).await
}

#[tokio::test]
async fn a_look_that_failed_is_made_again_and_what_it_would_have_found_is_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut worker = worker(directory.path()).await;
    let (home, away) = (directory.path().join("home.git"), directory.path().join("away.git"));
    std::fs::rename(&home, &away).unwrap();
    worker.look(Reason::Scheduled).await;
    assert!(worker.known.is_none() && worker.shared.is_ready().is_err());
    assert!(worker.timers.look.is_some_and(|at| at > worker.now()));
    std::fs::rename(&away, &home).unwrap();
    worker.timers.look = Some(Duration::ZERO);
    worker.ring().await;
    assert_eq!(worker.shared.is_ready(), Ok(()));
    assert_eq!((worker.timers.look, worker.queue.depth()), (None, 1), "the app waits for its pass");
}

#[tokio::test]
async fn a_pass_that_ended_early_leaves_the_app_waiting_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let mut worker = worker(directory.path()).await;
    let app = AppName::parse("plain").unwrap();
    let at = worker.shared.instance.now().plus(Duration::from_secs(600));
    let waits = Passed {
        judged: true,
        wake_on: vec![WakeOn::Target(ClusterName::default())],
        wake_at: Some(at),
        ..Passed::default()
    };
    worker.waits.begin(&app);
    worker.follow(Duration::ZERO, app.clone(), &[Reason::Push].into(), &waits);
    // A request is refused before anything is planned; its pass took the place of the one that waited for the clock.
    worker.queue = Queue::default();
    worker.waits.begin(&app);
    let refused = Passed { failed: Some(ErrorClass::User), ..Passed::default() };
    worker.follow(Duration::from_secs(5), app.clone(), &[Reason::Request].into(), &refused);
    assert_eq!(worker.queue.next(Duration::from_secs(5)), Next::Sleep(Duration::from_secs(600)));
    assert_eq!(worker.waits.happen(WakeOn::Target(ClusterName::default())), [app.clone()].into());
    // One that came to its end and waits for nothing ends both.
    worker.queue = Queue::default();
    worker.waits.begin(&app);
    worker.follow(
        Duration::from_secs(6),
        app.clone(),
        &[Reason::Retry].into(),
        &Passed { judged: true, ..Passed::default() },
    );
    worker.follow(Duration::from_secs(7), app, &[Reason::Retry].into(), &Passed::default());
    assert_eq!(worker.queue.next(Duration::from_secs(7)), Next::Idle);
}

#[tokio::test]
async fn a_walk_that_lost_a_race_is_made_again_for_all_it_was_begun_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut worker = worker(directory.path()).await;
    let app = AppName::parse("plain").unwrap();
    let reasons = [Reason::Request, Reason::Upstream, Reason::Drift].into();
    worker.follow(Duration::ZERO, app.clone(), &reasons, &Passed { lost: true, ..Passed::default() });
    let now = worker.now();
    assert_eq!(worker.queue.next(now), Next::Start(app, [Reason::Push, Reason::Upstream].into()));
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_not_one_that_knows_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut worker = worker(directory.path()).await;
    let instance = worker.shared.instance.clone();
    assert!(remembered(&instance).await.unwrap().is_empty());
    instance.store.close().await;
    assert!(matches!(remembered(&instance).await, Err(Error::Store(_))));
    worker.look(Reason::Scheduled).await;
    assert!(worker.known.is_none() && worker.shared.is_ready().is_err());
}

/// Commits on top of the deployed branch.
async fn commit(worker: &Worker, committer: &Author, number: usize) -> CommitId {
    let repository = &worker.shared.instance.repository;
    let head = repository.head("main").await.unwrap().unwrap();
    let new = NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: Some(head.clone()),
        base_tree: Some(head.clone()),
        changes: [(RepoPath::parse("note").unwrap(), Some(File::text(&number.to_string())))].into(),
        parents: vec![head],
        author: committer.clone(),
        committer: committer.clone(),
        message: "more".to_owned(),
        time: Timestamp(0),
    };
    repository.commit(new).await.unwrap()
}

/// Whose commit comes next and whether anybody looks before another one does: all sequences of three, each between two of a person.
#[tokio::test]
async fn whatever_was_seen_and_what_of_ours_came_on_top_of_it_has_an_end_once_a_person_pushes() {
    const EACH: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    let worker = worker(directory.path()).await;
    let instance = &worker.shared.instance;
    let person = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
    let mut wrong = Vec::new();
    for number in 0..EACH.pow(3) {
        let first = commit(&worker, &person, number).await;
        pipeline::seen(instance).await.unwrap();
        let (mut ends, mut is_ours_so_far, mut sequence) = (vec![first], true, String::new());
        for place in 0..3 {
            let (is_ours, is_seen) = match number / EACH.pow(place) % EACH {
                0 => (false, false),
                1 => (false, true),
                2 => (true, false),
                _ => (true, true),
            };
            let commit = commit(&worker, if is_ours { &instance.committer } else { &person }, number).await;
            is_ours_so_far &= is_ours;
            if is_seen {
                pipeline::seen(instance).await.unwrap();
                is_ours_so_far = true;
            }
            if is_seen || is_ours_so_far {
                ends.push(commit);
            }
            sequence += if is_ours { " ours" } else { " theirs" };
            sequence += if is_seen { ", seen" } else { "" };
        }
        commit(&worker, &person, number).await;
        pipeline::seen(instance).await.unwrap();
        for (at, commit) in ends.iter().enumerate() {
            let statuses = instance.store.statuses(&instance.id, commit).await.unwrap();
            if !statuses.iter().any(|status| status.description.starts_with("Superseded by ")) {
                wrong.push(format!("{at} of{sequence}: {statuses:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} have no end", wrong.join("\n"), wrong.len());
}
