//! `wild secret scan`, and what every command without a daemon looks for when it searches a repository for secrets: the values of its
//! instances, where they can be read here, and key material in any case.
//!
//! Not here: the search (`git`), what a secret looks like (`yaml::leak`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::locate::{around, read_settings, settings_file};
use super::session::Session;
use crate::base::chain;
use crate::git::{self, Leaked, Repository, Scanner, Staged};
use crate::model::{
    AppName, CommitId, FileTree, NoSecrets, SETTINGS_PATH, SecretValue, Secrets, Settings, Subdirectory,
};
use crate::observe;
use crate::package::{self, SecretNeeds};
use crate::settings::{SecretsFile, SopsSources};
use crate::yaml;
use crate::yaml::leak::{Leak, Search};
use crate::yaml::sops::{self, SopsFile};

/// What is looked for.
pub(super) struct Sought {
    /// The search.
    pub(super) scanner: Arc<Scanner>,
    /// Why values of an instance are not looked for, one line each.
    pub(super) gaps: Vec<String>,
}

/// Returns what is looked for in a repository: what its newest commit says of instances decides.
pub(super) async fn sought(session: &Session<'_>, repository: &Repository) -> Sought {
    let (mut sought, mut gaps): (Vec<(String, SecretValue)>, _) = (Vec::new(), Vec::new());
    let mut known = NoSecrets::default();
    if let Some(head) = newest(repository).await {
        for place in repository.instances(&head).await.unwrap_or_default() {
            known.extend(&known_by(repository, &head, &place).await);
            let Some(path) = secrets_path(session, repository, &head, &place).await else { continue };
            let values = match SecretsFile::new(path.clone()).read() {
                Ok(values) if values.paths().next().is_none() => {
                    gaps.push(format!("{} holds no values to look for", path.display()));
                    continue;
                }
                Ok(values) => values,
                Err(error) => {
                    gaps.push(format!("values are not looked for: {}", chain(&error)));
                    continue;
                }
            };
            let needs = needs_of(repository, &head, &place, &values).await;
            let values = package::leak_values(needs.iter(), &values);
            sought.extend(values.into_iter().map(|(path, value)| (path.to_owned(), value.clone())));
        }
    }
    let search = Search::of(sought.iter().map(|(path, value)| (path.as_str(), value)));
    Sought { scanner: Arc::new(Scanner::new(search, known)), gaps }
}

/// Returns the newest commit of the branch that is checked out, or that a bare repository shows.
pub(super) async fn newest(repository: &Repository) -> Option<CommitId> {
    let branch = repository.head_branch().await.ok().flatten()?;
    repository.head(&branch).await.ok().flatten()
}

/// Returns what the settings of an instance say is no secret.
async fn known_by(repository: &Repository, head: &CommitId, place: &Subdirectory) -> NoSecrets {
    let files = repository.instance_at(place.clone()).read_tree(head, &[SETTINGS_PATH]).await.unwrap_or_default();
    let settings = files.text(SETTINGS_PATH).and_then(|text| yaml::read_typed::<Settings>(SETTINGS_PATH, text).ok());
    settings.map(|settings| settings.no_secrets).unwrap_or_default()
}

/// Returns where the secrets of an instance are kept.
async fn secrets_path(
    session: &Session<'_>,
    repository: &Repository,
    head: &CommitId,
    place: &Subdirectory,
) -> Option<PathBuf> {
    if let Some(root) = repository.work_tree() {
        return Some(root.join(place.as_str()).join("secrets.yaml"));
    }
    let files = repository.instance_at(place.clone()).read_tree(head, &[SETTINGS_PATH]).await.ok()?;
    let settings = yaml::read_typed::<Value>(SETTINGS_PATH, files.text(SETTINGS_PATH)?).ok()?;
    let id = settings.get("instanceId")?.as_str()?.to_owned();
    let environment = session.environment;
    let state = read_settings(environment, &settings_file(environment, None)).ok()?.state_dir;
    // The identity comes from a file of the repository: it names one directory, or none.
    let name = Path::new(&id).file_name().filter(|name| Path::new(name) == Path::new(&id))?;
    Some(state.join("instances").join(name).join("secrets.yaml"))
}

/// Returns what the apps say about secrets that have values.
async fn needs_of(
    repository: &Repository,
    head: &CommitId,
    place: &Subdirectory,
    values: &Secrets,
) -> Vec<SecretNeeds> {
    let of_app = |path: &str| AppName::parse(path.strip_prefix("apps.")?.split('.').next()?).ok();
    let mut apps: Vec<AppName> = values.paths().filter_map(of_app).collect();
    apps.dedup();
    let of_app = |app: &AppName| [format!("apps/{app}/{}", package::MANIFEST), format!(".wild/generated/{app}.yaml")];
    let paths: Vec<String> = apps.iter().flat_map(of_app).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let files = match paths.is_empty() {
        true => FileTree::new(),
        false => repository.instance_at(place.clone()).read_tree(head, &paths).await.unwrap_or_default(),
    };
    apps.iter().filter_map(|app| observe::secret_needs(&files, app).ok().flatten()).collect()
}

/// Arguments of `wild secret scan`.
#[derive(Args, Debug)]
pub(super) struct Scan {
    /// Commit, branch or tag; the newest commit without.
    #[arg(value_name = "COMMIT")]
    commit: Option<String>,
    /// Searches every commit before it as well.
    #[arg(long)]
    history: bool,
    /// Searches what the next commit would bring.
    #[arg(long, conflicts_with_all = ["commit", "history"])]
    staged: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Scan) -> Result<ExitCode, CommandError> {
    let Scan { commit, history, staged } = arguments;
    let what = "look for secrets in git";
    let fail = |error: git::Error| CommandError::new(what, chain(&error), "git fsck");
    let found = around(&session.environment.directory).map(|found| found.repository);
    let Some(found) = found else {
        return Err(CommandError::new(what, "there is no git repository here", "wild secret scan, inside of one"));
    };
    let repository = Repository::open(&found).await.map_err(fail)?;
    let Sought { scanner, gaps } = sought(session, &repository).await;
    gaps.iter().for_each(|gap| session.note(gap));
    let leaks: Vec<Leaked> = if staged {
        let Staged { mut leaks, sealed } = repository.staged_leaks(None, scanner.clone()).await.map_err(fail)?;
        leaks.extend(broken_seals(session, sealed).await);
        leaks
    } else {
        let commit = match commit {
            Some(name) => repository.commit_named(&name).await.map_err(fail)?,
            None => newest(&repository).await,
        };
        let none = || CommandError::new(what, "there is no such commit", "git log --oneline");
        let commit = commit.ok_or_else(none)?;
        let mut leaks = BTreeSet::new();
        for place in places(&repository, &commit).await.map_err(fail)? {
            leaks.extend(repository.leaks_at(&commit, &place, scanner.clone()).await.map_err(fail)?);
        }
        let files = repository.read_tree(&commit, &[]).await.unwrap_or_default();
        let sealed = files.iter().filter_map(|(path, file)| Some((path.to_string(), file.as_text()?.to_owned())));
        let sealed = sealed.filter(|(_, text)| sops::claims(text)).collect();
        leaks.extend(broken_seals(session, sealed).await);
        if history {
            leaks.extend(repository.new_leaks(&[commit], &[], scanner.clone()).await.map_err(fail)?.leaks);
        }
        leaks.into_iter().collect()
    };
    if leaks.is_empty() && session.is_for_people() {
        session.note(&format!("No secret in clear; {} files were read.", scanner.files_read()));
    }
    let found = !leaks.is_empty();
    let shown = |leaked: &Leaked| {
        let Leaked { place, line, leak, commit } = leaked;
        json!({"place": place, "line": line, "what": leak.to_string(), "commit": commit, "try": leak.remedy(), "ifNone": leak.exception(place)})
    };
    let value = json!({"leaks": leaks.iter().map(shown).collect::<Vec<Value>>()});
    session.print(Document { kind: "LeakList", value, items: Some(("leaks", "leak")) }, |_| {
        let none =
            |leaked: &Leaked| leaked.leak.exception(&leaked.place).map(|entry| format!("  if it is none: {entry}\n"));
        let told = |leaked: &Leaked| {
            format!("{leaked}\n  try: {}\n{}", leaked.leak.remedy(), none(leaked).unwrap_or_default())
        };
        leaks.iter().map(told).collect()
    });
    Ok(if found { ExitCode::Answer } else { ExitCode::Done })
}

/// Returns the files that say of themselves that they are encrypted and that do not hold against their MAC, as far as a key is here.
pub(super) async fn broken_seals(session: &Session<'_>, sealed: Vec<(String, String)>) -> Vec<Leaked> {
    let read = sealed.into_iter().filter_map(|(path, text)| Some((path, SopsFile::read(&text).ok()?)));
    let files: Vec<(String, SopsFile)> = read.collect();
    if files.is_empty() {
        return Vec::new();
    }
    let sources = SopsSources::of(&session.environment.variables, &session.environment.directory);
    let all: Vec<SopsFile> = files.iter().map(|(_, file)| file.clone()).collect();
    let keys = sources.data_keys(&all).await.data_keys;
    let broken = |(place, file): (String, SopsFile)| {
        let fault = file.open(file.key_among(&keys).ok()?).err()?;
        Some(Leaked { place, line: 0, leak: Leak::Unsealed(fault.to_string()), commit: None })
    };
    files.into_iter().filter_map(broken).collect()
}

/// Returns where instances live in a commit; the top is always searched.
async fn places(repository: &Repository, commit: &CommitId) -> Result<BTreeSet<Subdirectory>, git::Error> {
    let mut places: BTreeSet<Subdirectory> = repository.instances(commit).await?.into_iter().collect();
    places.insert(Subdirectory::top());
    Ok(places)
}
