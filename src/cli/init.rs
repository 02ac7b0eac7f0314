//! `wild init`: makes an instance, or adds to one what is missing.
//!
//! Not here: adding packages (`app/add.rs`), running it (`daemon.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::cluster::{Chosen, Rank, choose, told};
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::locate::{instance_name, open_state, read_settings, settings_file};
use super::session::Session;
use crate::base::{RepoPath, chain};
use crate::compile;
use crate::git::{self, InstanceTree, Layout, NewCommit, Repository};
use crate::model::{
    Author, CommitId, File, FileTree, InstanceId, MAX_SUBDIRECTORY_DEPTH, SETTINGS_PATH, SETTINGS_VERSION, Subdirectory,
};
use crate::settings::{self, Home};
use crate::yaml;

/// The deployed branch of a new instance.
const BRANCH: &str = "main";
/// What git must never take in: secret values, and what programs leave behind. Names are those beside the file itself: an app may have files that
/// are called the same.
const IGNORED: &str = "/secrets.yaml\n/secrets.yaml.lock\n/kubeconfig\n/operations/\n*.tmp\n*.log\n/.kube/cache/\n";
/// Folders that are searched upwards for a repository.
const MAX_FOLDERS: usize = 64;
/// Folders of one depth that are searched for an instance; a repository with more beside none is one of something else.
const MAX_FOLDERS_LOOKED_AT: usize = 1_000;
/// Name under which the first package directory is followed.
const FIRST_DIRECTORY: &str = "wild-directory";

const HELP: &str = "Examples:
  wild init my-cloud
  wild init my-cloud --directory https://git.example.org/wild/directory.git
  wild init my-cloud.git --bare --kubeconfig ~/.kube/config
  wild init fleet --subdirectory clusters/home

Exit codes:
  0 made, or it is there already   2 error: the folder holds something else";

/// A file that an instance lacks: its path and its text.
type Missing = (&'static str, String);

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Init {
    /// Folder; it is made if it is not there.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Directory of the repository in which the instance lives, so that several share one repository.
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    subdirectory: Subdirectory,
    /// Makes a repository without a work tree: people clone and push, the daemon commits.
    #[arg(long)]
    bare: bool,
    /// Domain under which apps are reached.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// Address of the package directory to follow.
    #[arg(long, value_name = "URL")]
    directory: Option<String>,
    /// Kubeconfig of the cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Leaves out the hooks that check pushes.
    #[arg(long)]
    no_hook: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Init) -> Result<ExitCode, CommandError> {
    let (folder, place) = place(session.environment.path(&arguments.folder), &arguments.subdirectory);
    let what = match place.is_top() {
        true => format!("make an instance in {}", folder.display()),
        false => format!("make an instance in {place} of {}", folder.display()),
    };
    let fail = |error: git::Error| CommandError::new(what.clone(), chain(&error), "choose another folder");
    let wants_cluster = arguments.kubeconfig.is_some() || arguments.context.is_some();
    let chosen = match wants_cluster {
        true => {
            let (file, context) = (arguments.kubeconfig.as_deref(), arguments.context.as_deref());
            Some(choose(session.environment, file, context).await?)
        }
        false => None,
    };
    if let Some(chosen) = &chosen {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        chosen.may_sign_in(session.environment, name, Rank::First)?;
        for remark in &chosen.remarks {
            session.note(remark);
        }
    }
    refuse_foreign(&folder, &what)?;
    if session.is_dry_run() {
        session.note(&format!("Would {what}. Nothing was changed."));
        return Ok(ExitCode::Done);
    }
    let repository = match is_repository(&folder) {
        true => Repository::open(&folder).await.map_err(fail)?,
        false => {
            let layout = if arguments.bare { Layout::Bare } else { Layout::WorkTree };
            Repository::init(&folder, layout, BRANCH).await.map_err(fail)?
        }
    };
    let head = repository.head(BRANCH).await.map_err(fail)?;
    let tree = repository.instance_at(place);
    let there = match &head {
        Some(head) => {
            if let Some((because, remedy)) = in_the_way(&repository, &tree, head).await.map_err(fail)? {
                return Err(CommandError::new(what, because, remedy));
            }
            tree.read_tree(head, &["config.yaml", SETTINGS_PATH, ".gitignore"]).await.map_err(fail)?
        }
        None => {
            refuse_other_branch(&repository, &what).await?;
            FileTree::new()
        }
    };
    let (id, missing) = missing_files(&folder, tree.subdirectory(), &arguments, &there)?;
    let commit = commit(session, (&repository, &tree), head.as_ref(), missing).await.map_err(fail)?;
    if !arguments.no_hook {
        git::hook::install(&repository, &session.environment.program).await.map_err(fail)?;
    }
    let place = tree.subdirectory().clone();
    let home = commit.clone().or(head).map(|head| Home::at(repository.path(), place.clone(), head));
    let state = keep_state(session, (&id, home), chosen.as_ref())?;
    tell(session, &repository, Made { place, id, commit, state, cluster: chosen });
    Ok(ExitCode::Done)
}

/// Returns the repository that a folder names and where in it the instance is to live: a folder in the work tree of a repository that has
/// instances in sub-directories is one of those.
fn place(folder: PathBuf, given: &Subdirectory) -> (PathBuf, Subdirectory) {
    if given.is_top()
        && !is_repository(&folder)
        && let Some(repository) = folder.ancestors().skip(1).take(MAX_FOLDERS).find(|above| above.join(".git").exists())
        && let Some(place) = folder.strip_prefix(repository).ok().and_then(Path::to_str)
        && let Ok(place) = Subdirectory::parse(place)
        && has_instances(repository)
    {
        return (repository.to_owned(), place);
    }
    (folder, given.clone())
}

/// Returns whether the work tree of a repository has an instance in it. A repository of something else is none of our business.
fn has_instances(folder: &Path) -> bool {
    let mut folders = vec![folder.to_owned()];
    for _ in 0..MAX_SUBDIRECTORY_DEPTH {
        if folders.iter().any(|folder| folder.join(SETTINGS_PATH).is_file()) {
            return true;
        }
        let below = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
        let is_directory = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        let next = below.filter(|entry| is_directory(entry) && !is_hidden(entry)).map(|entry| entry.path());
        folders = next.take(MAX_FOLDERS_LOOKED_AT).collect();
    }
    false
}

/// Returns what of a commit keeps an instance out of its directory, and what to do; nothing if it is there already or the place is free.
async fn in_the_way(
    repository: &Repository,
    tree: &InstanceTree,
    head: &CommitId,
) -> Result<Option<(String, String)>, git::Error> {
    let place = tree.subdirectory();
    let others = repository.instances(head).await?;
    if others.contains(place) {
        return Ok(None);
    }
    if let Some(other) = others.iter().find(|other| other.holds(place)) {
        let because = format!("{other} of the repository holds an instance, and one cannot lie inside another");
        return Ok(Some((because, "wild init NEW-FOLDER".to_owned())));
    }
    if let Some(other) = others.iter().find(|other| place.holds(other)) {
        let because = format!("an instance lives in {other} of the repository, and one cannot lie inside another");
        return Ok(Some((because, "wild init DIR --subdirectory PATH".to_owned())));
    }
    if place.is_top() {
        return Ok(Some(("it is a repository of something else".to_owned(), "choose another folder".to_owned())));
    }
    let folder = repository.work_tree().map(|root| root.join(place.as_str()));
    let is_taken =
        folder.and_then(|folder| std::fs::read_dir(folder).ok()).is_some_and(|mut found| found.next().is_some());
    Ok((is_taken || tree.tree_id(head, "").await?.is_some())
        .then(|| ("the directory holds something else".to_owned(), "choose another directory".to_owned())))
}

/// Refuses a repository of a person whose branch is another one: a first commit of ours would begin a history of its own.
async fn refuse_other_branch(repository: &Repository, what: &str) -> Result<(), CommandError> {
    let fail = |error: git::Error| CommandError::new(what, chain(&error), "choose another folder");
    match repository.head_branch().await.map_err(fail)? {
        Some(branch) if repository.head(&branch).await.map_err(fail)?.is_some() => {
            let because = format!("its branch is {branch}, and {BRANCH} is the one that is deployed");
            Err(CommandError::new(what, because, format!("git branch -m {branch} {BRANCH}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a folder that holds something and is no repository. A repository without a commit may hold nothing else: our own first steps
/// leave just that behind if they are cut short.
fn refuse_foreign(folder: &Path, what: &str) -> Result<(), CommandError> {
    let foreign = match std::fs::read_dir(folder) {
        Ok(mut entries) => !is_repository(folder) && entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(CommandError::new(what, error.to_string(), "choose another folder")),
    };
    if foreign {
        Err(CommandError::new(what, "it is not empty and no instance", "wild init NEW-FOLDER"))
    } else {
        Ok(())
    }
}

fn is_repository(folder: &Path) -> bool {
    folder.join(".git").exists() || (folder.join("HEAD").is_file() && folder.join("objects").is_dir())
}

/// Returns the identity of the instance and the files that it lacks.
fn missing_files(
    folder: &Path,
    place: &Subdirectory,
    arguments: &Init,
    there: &FileTree,
) -> Result<(InstanceId, Vec<Missing>), CommandError> {
    let folder = if place.is_top() { folder } else { Path::new(place.as_str()) };
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("home").trim_end_matches(".git");
    let name = instance_name(name)?;
    let mut missing = Vec::new();
    let id = if there.contains(SETTINGS_PATH) {
        let settings = compile::settings_of(there).map_err(|diagnostics| {
            CommandError::of_diagnostics("read .wild/config.yaml", &diagnostics, "correct the file")
        })?;
        settings.instance_id
    } else {
        let id = settings::instance_id().map_err(|error| CommandError::of_settings("name the instance", &error))?;
        missing.push((SETTINGS_PATH, settings_text(&id, arguments.directory.as_deref())));
        id
    };
    if !there.contains("config.yaml") {
        let domain = arguments.domain.clone().unwrap_or_else(|| format!("{name}.home.arpa"));
        let config = json!({
            "operator": {"email": format!("admin@{domain}")},
            "cloud": {"domain": domain, "internalDomain": format!("internal.{domain}")},
            "cluster": {"name": name},
        });
        missing.push(("config.yaml", yaml::write(&config)));
    }
    if !there.contains(".gitignore") {
        missing.push((".gitignore", IGNORED.to_owned()));
    }
    Ok((id, missing))
}

fn settings_text(id: &InstanceId, directory: Option<&str>) -> String {
    let mut settings = json!({"apiVersion": SETTINGS_VERSION, "kind": "Instance", "instanceId": id});
    if let (Some(url), Some(fields)) = (directory, settings.as_object_mut()) {
        fields.insert("directories".to_owned(), json!([{"name": FIRST_DIRECTORY, "url": url, "branch": "main"}]));
    }
    yaml::write(&settings)
}

/// Commits the files, and brings them into the work tree.
async fn commit(
    session: &Session<'_>,
    (repository, tree): (&Repository, &InstanceTree),
    head: Option<&CommitId>,
    missing: Vec<Missing>,
) -> Result<Option<CommitId>, git::Error> {
    if missing.is_empty() {
        return Ok(None);
    }
    let mut changes = BTreeMap::new();
    for (path, text) in missing {
        if let Ok(path) = RepoPath::parse(path) {
            changes.insert(path, Some(File::text(&text)));
        }
    }
    let ours = Author { name: "wild".to_owned(), email: "wild@localhost".to_owned() };
    let is_new = changes.contains_key(SETTINGS_PATH);
    let message = if is_new { "chore: make the instance" } else { "chore: add what the instance lacked" };
    let made = tree
        .commit(NewCommit {
            reference: format!("refs/heads/{BRANCH}"),
            expected: head.cloned(),
            base_tree: head.cloned(),
            changes,
            parents: head.cloned().into_iter().collect(),
            author: author(&session.environment.actor(Some(repository.path()))),
            committer: ours,
            message: message.to_owned(),
            time: session.now(),
        })
        .await?;
    repository.sync_worktree(head, &made).await?;
    Ok(Some(made))
}

fn author(actor: &str) -> Author {
    match actor.split_once(" <") {
        Some((name, email)) => Author { name: name.to_owned(), email: email.trim_end_matches('>').to_owned() },
        None => Author { name: actor.to_owned(), email: format!("{actor}@localhost") },
    }
}

/// Makes the part of the state directory that belongs to the instance, and remembers where it lives unless that is known.
fn keep_state(
    session: &mut Session<'_>,
    (id, home): (&InstanceId, Option<Home>),
    chosen: Option<&Chosen>,
) -> Result<PathBuf, CommandError> {
    let settings = read_settings(session.environment, &settings_file(session.environment, None))?;
    let state = open_state(&settings)?;
    let fail = |error: settings::Error| CommandError::of_settings("make the state of the instance", &error);
    let own = state.instance(id).map_err(fail)?;
    let is_known = state.homes().map_err(fail)?.iter().any(|(known, _)| known == id);
    if let Some(home) = home.filter(|_| !is_known) {
        own.remember(&home).map_err(fail)?;
    }
    if let Some(chosen) = chosen {
        let (_, narrowed) = chosen.write(&state, id, Rank::First)?;
        narrowed.iter().for_each(|it| session.note(&told(it)));
    }
    Ok(own.kubeconfig())
}

/// What was made.
struct Made {
    place: Subdirectory,
    id: InstanceId,
    commit: Option<CommitId>,
    state: PathBuf,
    cluster: Option<Chosen>,
}

fn tell(session: &mut Session<'_>, repository: &Repository, made: Made) {
    let Made { place, id, commit, state, cluster } = made;
    let path = repository.path().display().to_string().trim_end_matches('/').to_owned();
    let value = json!({
        "name": path,
        "id": id,
        "subdirectory": place,
        "bare": repository.is_bare(),
        "branch": BRANCH,
        "commit": commit,
        "context": cluster.as_ref().map(|cluster| cluster.context.clone()),
    });
    session.print(Document { kind: "Instance", value, items: None }, |value| {
        let mut lines = format!("  repository  {path} ({BRANCH})\n");
        if !place.is_top() {
            lines.push_str(&format!("  directory   {place}\n"));
        }
        lines.push_str(&format!("  identity    {id}\n"));
        if let Some(commit) = &commit {
            lines.push_str(&format!("  commit      {}\n", commit.short()));
        }
        lines.push_str(&match &cluster {
            Some(cluster) => format!("  cluster     {} ({})\n", cluster.context, cluster.server),
            None if state.exists() => "  cluster     as added before\n".to_owned(),
            None => "  cluster     none yet: wild cluster add\n".to_owned(),
        });
        if value.get("commit") == Some(&Value::Null) {
            lines.push_str("  nothing was missing\n");
        }
        lines
    });
    if session.is_for_people() {
        let path = if repository.is_bare() || place.is_top() { path } else { format!("{path}/{place}") };
        session.note(&format!(
            "Next: cd {path} && wild directory add NAME URL, then wild app add PACKAGE and wild daemon"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::Surroundings;
    use super::super::output::Captured;
    use super::super::run;
    use super::*;

    async fn wild(environment: &Surroundings, line: &str) -> (u8, Captured) {
        let mut out = Captured::default();
        let words = line.split(' ').map(std::ffi::OsString::from).collect();
        let code = run(words, environment.clone(), &mut out).await;
        (code.number(), out)
    }

    fn surroundings(root: &Path) -> Surroundings {
        let mut environment = Surroundings::bare(root);
        environment.variables.insert("XDG_STATE_HOME".to_owned(), root.join("state").display().to_string());
        environment.variables.insert("HOME".to_owned(), root.display().to_string());
        environment.variables.insert("USER".to_owned(), "alice".to_owned());
        environment
    }

    #[tokio::test]
    async fn an_instance_is_made_once_and_a_second_run_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let environment = surroundings(directory.path());
        let (code, out) = wild(&environment, "wild init my-cloud --directory https://example.org/d.git").await;
        assert_eq!(code, 0, "{out:?}");
        let read = |path: &str| std::fs::read_to_string(directory.path().join("my-cloud").join(path)).unwrap();
        assert!(read("config.yaml").contains("domain: my-cloud.home.arpa"));
        assert!(read(".wild/config.yaml").contains("url: https://example.org/d.git"));
        assert!(read(".gitignore").starts_with("/secrets.yaml\n"));
        assert!(directory.path().join("my-cloud/.git/hooks/pre-receive").exists());
        let before = read(".wild/config.yaml");
        let (code, out) = wild(&environment, "wild init my-cloud").await;
        assert_eq!((code, read(".wild/config.yaml")), (0, before));
        assert!(out.data.contains("nothing was missing"), "{out:?}");
    }

    #[tokio::test]
    async fn a_folder_with_something_else_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("photos")).unwrap();
        std::fs::write(directory.path().join("photos/cat.jpg"), "x").unwrap();
        let (code, out) = wild(&surroundings(directory.path()), "wild init photos").await;
        assert_eq!(code, 2);
        assert!(out.notes.contains("because: it is not empty and no instance\ntry: wild init"), "{out:?}");
        assert_eq!(std::fs::read_dir(directory.path().join("photos")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn several_instances_share_a_repository_and_a_folder_in_it_becomes_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let environment = surroundings(directory.path());
        let fleet = directory.path().join("fleet");
        let (code, out) = wild(&environment, "wild init fleet --subdirectory clusters/home").await;
        assert_eq!(code, 0, "{out:?}");
        assert!(out.data.contains("  directory   clusters/home\n"), "{out:?}");
        let read = |path: &str| std::fs::read_to_string(fleet.join(path)).unwrap();
        assert!(read("clusters/home/config.yaml").contains("domain: home.home.arpa"));
        assert!(read("clusters/home/.gitignore").starts_with("/secrets.yaml\n") && !fleet.join("config.yaml").exists());
        assert_eq!(wild(&environment, "wild init fleet --subdirectory clusters/cabin --no-hook").await.0, 0);
        assert_eq!(wild(&environment, "wild init fleet/clusters/lab --no-hook").await.0, 0);
        assert!(
            !fleet.join("clusters/lab/.git").exists() && read("clusters/lab/config.yaml").contains("lab.home.arpa")
        );
        let ids: std::collections::BTreeSet<String> =
            ["home", "cabin", "lab"].map(|place| read(&format!("clusters/{place}/.wild/config.yaml"))).into();
        assert_eq!(ids.len(), 3, "each has an identity of its own");
        let (code, out) = wild(&environment, "wild init fleet/clusters/lab").await;
        assert!(code == 0 && out.data.contains("nothing was missing"), "{out:?}");
    }

    #[tokio::test]
    async fn an_instance_inside_around_or_over_something_else_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let environment = surroundings(directory.path());
        for line in ["wild init top --no-hook", "wild init fleet --subdirectory c/home --no-hook"] {
            assert_eq!(wild(&environment, line).await.0, 0);
        }
        std::fs::create_dir_all(directory.path().join("fleet/docs")).unwrap();
        std::fs::write(directory.path().join("fleet/docs/a"), "x").unwrap();
        for (line, expected) in [
            ("wild init top/sub", "the top of the repository holds an instance, and one cannot lie inside another"),
            ("wild init top --subdirectory sub", "the top of the repository holds an instance, and one cannot"),
            ("wild init fleet --subdirectory c/home/sub", "c/home of the repository holds an instance, and one cannot"),
            ("wild init fleet --subdirectory c", "an instance lives in c/home of the repository, and one cannot lie"),
            ("wild init fleet", "an instance lives in c/home of the repository, and one cannot lie inside another"),
            ("wild init fleet --subdirectory docs", "the directory holds something else"),
        ] {
            let (code, out) = wild(&environment, line).await;
            assert_eq!(code, 2, "{line}: {out:?}");
            assert!(
                out.notes.contains(&format!("because: {expected}")) && out.notes.contains("try: "),
                "{line}: {out:?}"
            );
        }
        let (code, out) = wild(&environment, "wild init fleet --subdirectory ../x").await;
        assert!(code == 2 && out.notes.contains("it holds a . or .. segment"), "{out:?}");
        assert!(!directory.path().join("top/sub").exists() && !directory.path().join("fleet/.wild").exists());
    }

    #[tokio::test]
    async fn a_repository_of_something_else_takes_an_instance_in_a_sub_directory_on_its_main_branch_only() {
        let directory = tempfile::tempdir().unwrap();
        let environment = surroundings(directory.path());
        let root = directory.path().join("code");
        let repository = Repository::init(&root, Layout::WorkTree, "master").await.unwrap();
        let author = Author { name: "a".to_owned(), email: "a@example.org".to_owned() };
        let new = NewCommit {
            reference: "refs/heads/master".to_owned(),
            expected: None,
            base_tree: None,
            changes: [(RepoPath::parse("main.c").unwrap(), Some(File::text("int main;")))].into(),
            parents: Vec::new(),
            author: author.clone(),
            committer: author,
            message: "code".to_owned(),
            time: crate::base::Timestamp(0),
        };
        let made = repository.commit(new).await.unwrap();
        repository.sync_worktree(None, &made).await.unwrap();
        let (code, out) = wild(&environment, "wild init code --subdirectory deploy/home").await;
        assert_eq!(code, 2, "{out:?}");
        assert!(
            out.notes.contains("its branch is master") && out.notes.contains("git branch -m master main"),
            "{out:?}"
        );
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::rename(root.join(".git/refs/heads/master"), root.join(".git/refs/heads/main")).unwrap();
        let (code, out) = wild(&environment, "wild init code --subdirectory deploy/home").await;
        assert_eq!(code, 0, "{out:?}");
        assert!(root.join("deploy/home/.wild/config.yaml").exists() && root.join("main.c").exists());
        let head = repository.head("main").await.unwrap().unwrap();
        assert_eq!(repository.read_tree(&head, &["main.c"]).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_bare_instance_has_no_work_tree() {
        let directory = tempfile::tempdir().unwrap();
        let (code, out) = wild(&surroundings(directory.path()), "wild init home.git --bare --no-hook -o json").await;
        assert_eq!(code, 0, "{out:?}");
        assert!(out.data.contains("\"bare\": true"), "{out:?}");
        assert!(
            directory.path().join("home.git/HEAD").exists() && !directory.path().join("home.git/config.yaml").exists()
        );
    }
}
