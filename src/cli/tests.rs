//! Command lines as people type them, without a cluster.
//!
//! Not here: the routes (`http`), apps on a cluster (`tests/`).

use std::collections::BTreeMap;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::RepoPath;
use crate::daemon::{Daemon, Start, Work};
use crate::git::{NewCommit, Repository};
use crate::http;
use crate::model::{Author, File};
use crate::sandbox::{self, Sandbox};
use crate::settings::{DaemonSettings, StateDirectory};

async fn wild(line: &str) -> (u8, Captured) {
    let mut out = Captured::default();
    let directory = tempfile::tempdir().unwrap();
    let words = line.split(' ').map(OsString::from).collect();
    let code = run(words, Surroundings::bare(directory.path()), &mut out).await;
    (code.number(), out)
}

#[tokio::test]
async fn nothing_at_all_prints_the_short_help() {
    let (code, out) = wild("wild").await;
    assert_eq!(code, 0);
    assert!(out.data.contains("Usage: wild") && out.notes.is_empty(), "{out:?}");
}

#[tokio::test]
async fn what_cannot_be_read_is_told_in_three_lines_with_the_nearest_name() {
    let (code, out) = wild("wild app lst").await;
    assert_eq!((code, out.data.as_str()), (2, ""));
    let lines: Vec<&str> = out.notes.lines().collect();
    assert_eq!(lines.len(), 3, "{out:?}");
    assert_eq!(lines[0], "error: read the command line");
    assert!(lines[1].contains("'lst'") && lines[1].contains("'list'"), "{out:?}");
    assert!(lines[2].starts_with("try: wild app"), "{out:?}");
}

#[tokio::test]
async fn what_is_to_be_tried_after_a_line_that_cannot_be_read_can_be_typed() {
    let mut lines = vec!["wild".to_owned()];
    let mut commands = vec![("wild".to_owned(), <arguments::Grammar as clap::CommandFactory>::command())];
    while let Some((line, command)) = commands.pop() {
        for below in command.get_subcommands() {
            lines.push(format!("{line} {}", below.get_name()));
            commands.push((format!("{line} {}", below.get_name()), below.clone()));
        }
    }
    assert!(lines.len() > 60, "{lines:?}");
    for line in lines {
        let (code, out) = wild(&format!("{line} --nonsense")).await;
        assert_eq!(code, 2, "{line}: {out:?}");
        let tried = out.notes.lines().last().and_then(|last| last.strip_prefix("try: ")).unwrap_or_default();
        let (code, helped) = wild(tried).await;
        assert!(code == 0 && helped.data.contains("Usage: "), "{line} says to try {tried:?}: {helped:?}");
    }
    for line in ["wild secret set", "wild app lst", "wild directory nonsense"] {
        let (_, out) = wild(line).await;
        let verb = line.split(' ').nth(1).unwrap_or_default();
        assert!(out.notes.contains(&format!("try: wild {verb} ")) && out.notes.ends_with("--help\n"), "{out:?}");
    }
}

#[tokio::test]
async fn a_name_that_kubernetes_would_refuse_is_refused_here() {
    let (code, out) = wild("wild app show Ghost").await;
    assert_eq!(code, 2);
    assert!(out.notes.contains("lower-case"), "{out:?}");
}

#[tokio::test]
async fn a_command_without_an_instance_tells_the_way_to_one() {
    let (code, out) = wild("wild status --local").await;
    assert_eq!(code, 2);
    assert!(
        out.notes.starts_with("error: find the instance\nbecause: ") && out.notes.contains("\ntry: wild init"),
        "{out:?}"
    );
}

#[tokio::test]
async fn the_version_is_data() {
    let (code, out) = wild("wild version -o json").await;
    assert_eq!(code, 0);
    let value: serde_json::Value = serde_json::from_str(&out.data).unwrap();
    assert_eq!(value["apiVersion"], "rewild.dev/v1");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    let (code, out) = wild("wild --version").await;
    assert_eq!((code, out.data), (0, format!("wild {}\n", env!("CARGO_PKG_VERSION"))));
}

#[tokio::test]
async fn a_completion_script_names_the_commands() {
    let (code, out) = wild("wild completion bash").await;
    assert_eq!(code, 0);
    assert!(out.data.contains("operation"), "{}", out.data);
}

#[tokio::test]
async fn a_daemon_outside_of_an_instance_does_not_start() {
    let (code, out) = wild("wild daemon").await;
    assert_eq!(code, 2);
    assert!(out.notes.contains("names no instance"), "{out:?}");
}

#[tokio::test]
async fn bad_settings_name_file_and_key() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("daemon.yaml"), "lissten: x\n").unwrap();
    let mut out = Captured::default();
    let words = ["wild", "daemon", "--config", "daemon.yaml"].map(OsString::from).to_vec();
    let code = run(words, Surroundings::bare(Path::new(directory.path())), &mut out).await;
    assert_eq!(code, ExitCode::Error);
    assert!(out.notes.contains("daemon.yaml") && out.notes.contains("lissten"), "{out:?}");
}

fn surroundings(root: &Path, below: &str) -> Surroundings {
    let mut environment = Surroundings::bare(&root.join(below));
    for (name, value) in [("XDG_STATE_HOME", "state"), ("HOME", "home"), ("XDG_RUNTIME_DIR", "run")] {
        environment.variables.insert(name.to_owned(), root.join(value).display().to_string());
    }
    environment
}

async fn line(environment: &Surroundings, line: &str) -> (u8, Captured) {
    let mut out = Captured::default();
    let code = run(line.split(' ').map(OsString::from).collect(), environment.clone(), &mut out).await;
    (code.number(), out)
}

#[tokio::test]
async fn a_command_without_a_daemon_does_its_work_itself_and_frees_the_instance() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    assert_eq!(line(&surroundings(root, ""), "wild init cloud --no-hook").await.0, 0);
    let inside = surroundings(root, "cloud");
    let (code, out) = line(&inside, "wild directory add own https://directory.invalid/d.git --dry-run").await;
    assert_eq!(code, 0, "{out:?}");
    assert!(out.data.contains("~ .wild/config.yaml") && out.notes.contains("Nothing was changed."), "{out:?}");
    let (code, out) = line(&inside, "wild operation list").await;
    assert_eq!((code, out.notes.as_str()), (0, "Nothing was asked for and nothing was done yet.\n"));
    let (code, out) = line(&inside, "wild app add quillblog").await;
    assert_eq!(code, 2);
    assert_eq!(
        out.notes
            .lines()
            .filter(|line| line.starts_with("error: ") || line.starts_with("because: ") || line.starts_with("try: "))
            .count(),
        3,
        "{out:?}"
    );
    let (code, out) = line(&inside, "wild operation list -o json").await;
    assert_eq!(code, 0);
    assert!(out.data.contains("\"kind\": \"OperationList\"") && out.data.contains("\"state\": \"failed\""), "{out:?}");
}

#[tokio::test]
async fn with_a_daemon_the_same_commands_go_over_its_socket() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    assert_eq!(line(&surroundings(root, ""), "wild init cloud --no-hook").await.0, 0);
    let inside = surroundings(root, "cloud");
    let mut settings = DaemonSettings { state_dir: root.join("state/wild"), ..DaemonSettings::default() };
    settings.socket = root.join("run/wild.sock");
    settings.listen = "127.0.0.1:0".to_owned();
    settings.metrics_listen = String::new();
    settings.instances =
        vec![locate::entry_of(&root.join("cloud"), &crate::model::Subdirectory::top(), &settings).unwrap()];
    let listeners = http::bind(&settings).await.unwrap();
    let state = StateDirectory::open(&settings.state_dir).unwrap();
    let daemon =
        Daemon::start(settings.clone(), Start { state, clock: inside.clock, access: None, work: Work::Everything })
            .await
            .unwrap();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(http::serve(daemon.clone(), listeners, stop.clone()));
    let (code, out) = line(&inside, "wild status").await;
    assert_eq!(code, 0, "{out:?}");
    assert!(out.data.starts_with("cloud   main ") && out.data.contains("none yet: wild cluster add"), "{out:?}");
    let (code, out) = line(&inside, "wild app show ghost").await;
    assert_eq!(code, 2);
    assert_eq!(out.notes, "error: find the app ghost\nbecause: there is no app ghost\ntry: wild app list --deployed\n");
    let (code, out) = line(&inside, "wild app delete ghost").await;
    assert_eq!((code, out.notes.as_str()), (0, "ghost is not there; nothing to delete.\n"));
    let (code, out) = line(&inside, "wild app wait ghost").await;
    assert_eq!((code, out.notes.as_str()), (1, "ghost cannot become healthy: it is not in the instance\n"));
    let error = http::bind(&settings).await.unwrap_err();
    assert!(error.is_other_daemon(), "{error}");
    stop.cancel();
    serving.await.unwrap();
    daemon.stop().await;
}

#[tokio::test]
async fn a_look_without_a_daemon_changes_nothing_and_a_request_does_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let sandbox = Sandbox::start(sandbox::Settings::default()).await.unwrap();
    std::fs::write(root.join("kubeconfig"), sandbox.kubeconfig()).unwrap();
    let (code, out) = line(&surroundings(root, ""), "wild init cloud --no-hook --kubeconfig kubeconfig").await;
    assert_eq!(code, 0, "{out:?}");
    let repository = Repository::open(&root.join("cloud")).await.unwrap();
    let head = repository.head("main").await.unwrap();
    let map = |name: &str| File::text(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"));
    let kustomization =
        |name: &str| File::text(&format!("namespace: {name}\nresources:\n- map.yaml\n- namespace.yaml\n"));
    let namespace = |name: &str| File::text(&format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n"));
    let mut changes = BTreeMap::new();
    for app in ["one", "two"] {
        for (file, text) in
            [("map.yaml", map(app)), ("kustomization.yaml", kustomization(app)), ("namespace.yaml", namespace(app))]
        {
            changes.insert(RepoPath::parse(&format!("apps/{app}/{file}")).unwrap(), Some(text));
        }
    }
    let ours = Author { name: "alice".to_owned(), email: "alice@example.org".to_owned() };
    let commit = NewCommit {
        reference: "refs/heads/main".to_owned(),
        expected: head.clone(),
        base_tree: head.clone(),
        changes,
        parents: head.clone().into_iter().collect(),
        author: ours.clone(),
        committer: ours,
        message: "feat: two apps".to_owned(),
        time: (Surroundings::bare(root).clock)(),
    };
    let made = repository.commit(commit).await.unwrap();
    repository.sync_worktree(head.as_ref(), &made).await.unwrap();
    let inside = surroundings(root, "cloud");
    let (code, out) = line(&inside, "wild plan --exit-code").await;
    assert_eq!(code, 1, "{out:?}");
    assert!(out.data.contains("+ ConfigMap"), "{out:?}");
    for question in ["wild status", "wild app list --deployed", "wild operation list", "wild app deploy one --dry-run"]
    {
        let (code, out) = line(&inside, question).await;
        assert_eq!(code, 0, "{question}: {out:?}");
    }
    let (code, out) = line(&inside, "wild plan --exit-code").await;
    assert_eq!(code, 1, "a look changed the cluster: {out:?}");
    let (code, out) = line(&inside, "wild app deploy one --wait").await;
    assert_eq!(code, 0, "{out:?}");
    let (_, one) = line(&inside, "wild plan one").await;
    assert_eq!((one.data.as_str(), one.notes.as_str()), ("", "Nothing to do.\n"));
    let (code, out) = line(&inside, "wild plan two --exit-code").await;
    assert_eq!(code, 1, "another app was deployed along: {out:?}");
    let (code, out) = line(&inside, "wild app wait two").await;
    assert_eq!(code, 2);
    assert!(out.notes.contains("no daemon runs"), "{out:?}");
    deletion_asks_for_the_name(&inside).await;
    sandbox.stop().await;
}

async fn deletion_asks_for_the_name(inside: &Surroundings) {
    let delete = ["wild", "app", "delete", "one"].map(OsString::from).to_vec();
    let (code, out) = line(inside, "wild app delete one").await;
    assert_eq!(code, 2);
    assert!(out.notes.ends_with("try: wild app delete one --yes\n"), "{out:?}");
    let mut person = inside.clone();
    (person.input, person.error) = (Stream::Terminal, Stream::Terminal);
    for (typed, expected) in [("y\n", ExitCode::Error), ("", ExitCode::Error), ("one\n", ExitCode::Done)] {
        let mut out = Captured { given: typed.to_owned(), ..Captured::default() };
        let code = run(delete.clone(), person.clone(), &mut out).await;
        assert_eq!(code, expected, "{typed:?}: {out:?}");
        assert!(out.notes.contains("its volumes and its namespace stay"), "{out:?}");
    }
    // Without a daemon nobody looks again whether everything has gone, so it may take a second request.
    let (code, out) = line(inside, "wild app delete one --yes").await;
    assert_eq!(code, 0, "{out:?}");
    let (code, out) = line(inside, "wild app delete one").await;
    assert_eq!((code, out.notes.as_str()), (0, "one is not there; nothing to delete.\n"));
}
