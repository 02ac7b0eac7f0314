//! `wild init`: makes an instance, or adds to one what is missing.
//!
//! Not here: adding packages (`app/add.rs`), running it (`daemon.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::cluster::{Chosen, choose};
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::locate::{instance_name, open_state, read_settings, settings_file};
use super::session::Session;
use crate::base::{RepoPath, chain};
use crate::compile;
use crate::git::{self, Layout, NewCommit, Repository};
use crate::model::{Author, CommitId, File, FileTree, InstanceId, SETTINGS_PATH, SETTINGS_VERSION};
use crate::settings;
use crate::yaml;

/// The deployed branch of a new instance.
const BRANCH: &str = "main";
/// What git must never take in: secret values, and what programs leave behind.
const IGNORED: &str = "secrets.yaml\nsecrets.yaml.lock\nkubeconfig\noperations/\n*.tmp\n*.log\n.kube/cache/\n";
/// Name under which the first package directory is followed.
const FIRST_DIRECTORY: &str = "wild-directory";

const HELP: &str = "Examples:
  wild init my-cloud
  wild init my-cloud --directory https://git.example.org/wild/directory.git
  wild init my-cloud.git --bare --kubeconfig ~/.kube/config

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
    let folder = session.environment.path(&arguments.folder);
    let what = format!("make an instance in {}", folder.display());
    let fail = |error: git::Error| CommandError::new(what.clone(), chain(&error), "choose another folder");
    let wants_cluster = arguments.kubeconfig.is_some() || arguments.context.is_some();
    let chosen = wants_cluster
        .then(|| choose(session.environment, arguments.kubeconfig.as_deref(), arguments.context.as_deref()))
        .transpose()?;
    refuse_foreign(&folder, &what)?;
    if session.is_dry_run() {
        session.note(&format!("Would make an instance in {}. Nothing was changed.", folder.display()));
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
    let there = match &head {
        Some(head) => repository.read_tree(head, &["config.yaml", SETTINGS_PATH, ".gitignore"]).await.map_err(fail)?,
        None => FileTree::new(),
    };
    if head.is_some() && !there.contains(SETTINGS_PATH) {
        return Err(CommandError::new(what, "it is a repository of something else", "choose another folder"));
    }
    let (id, missing) = missing_files(&folder, &arguments, &there)?;
    let commit = commit(session, &repository, head.as_ref(), missing).await.map_err(fail)?;
    if !arguments.no_hook {
        git::hook::install(&repository, &session.environment.program).await.map_err(fail)?;
    }
    let state = keep_state(session, &id, chosen.as_ref())?;
    tell(session, &repository, Made { id, commit, state, cluster: chosen });
    Ok(ExitCode::Done)
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
    arguments: &Init,
    there: &FileTree,
) -> Result<(InstanceId, Vec<Missing>), CommandError> {
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
    repository: &Repository,
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
    let message = if head.is_some() { "chore: add what the instance lacked" } else { "chore: make the instance" };
    let made = repository
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

/// Makes the part of the state directory that belongs to the instance.
fn keep_state(session: &Session<'_>, id: &InstanceId, chosen: Option<&Chosen>) -> Result<PathBuf, CommandError> {
    let settings = read_settings(session.environment, &settings_file(session.environment, None))?;
    let state = open_state(&settings)?;
    let own =
        state.instance(id).map_err(|error| CommandError::of_settings("make the state of the instance", &error))?;
    if let Some(chosen) = chosen {
        chosen.write(&state, id)?;
    }
    Ok(own.kubeconfig())
}

/// What was made.
struct Made {
    id: InstanceId,
    commit: Option<CommitId>,
    state: PathBuf,
    cluster: Option<Chosen>,
}

fn tell(session: &mut Session<'_>, repository: &Repository, made: Made) {
    let Made { id, commit, state, cluster } = made;
    let path = repository.path().display().to_string().trim_end_matches('/').to_owned();
    let value = json!({
        "name": path,
        "id": id,
        "bare": repository.is_bare(),
        "branch": BRANCH,
        "commit": commit,
        "context": cluster.as_ref().map(|cluster| cluster.context.clone()),
    });
    session.print(Document { kind: "Instance", value, items: None }, |value| {
        let mut lines = format!("  repository  {path} ({BRANCH})\n  identity    {id}\n");
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
        assert!(read(".gitignore").starts_with("secrets.yaml\n"));
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
