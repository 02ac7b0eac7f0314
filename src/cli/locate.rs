//! Finds the daemon and the instance that a command is about.
//!
//! A daemon of this process, `--daemon-url`, `WILD_DAEMON_URL`, `WILD_API_URI`, the socket; without any of them, or with `--local`, the
//! command takes the instance lock and does the same work itself. The instance is the one that is named, the one around the working
//! directory, or the only one; with several left nothing is guessed.
//!
//! Not here: speaking to it (`client.rs`).

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::arguments::Flags;
use super::client::{Call, Client};
use super::environment::Surroundings;
use super::error::CommandError;
use super::json::{list, text};
use crate::base::chain;
use crate::daemon::{Daemon, Start, Work};
use crate::model::{InstanceName, SETTINGS_PATH};
use crate::pipeline;
use crate::settings::{self, DaemonSettings, InstanceEntry, StateDirectory};
use crate::store;
use crate::yaml;

/// How long a command waits for the lock of an instance.
const LOCK_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two tries to take it.
const LOCK_INTERVAL: Duration = Duration::from_millis(200);
/// Folders that are searched upwards for an instance.
const MAX_FOLDERS: usize = 64;

/// A daemon and one of its instances.
pub(super) struct Place {
    /// The daemon.
    pub(super) client: Client,
    /// Name of the instance.
    pub(super) instance: String,
}

/// Finds daemon and instance.
pub(super) async fn locate(environment: &Surroundings, flags: &Flags) -> Result<Place, CommandError> {
    let client = match connect(environment, flags)? {
        Some(client) => client,
        None => return open_local(environment, flags).await,
    };
    let list_them = Call { method: "GET", path: "/api/v1/instances", body: None, actor: &environment.user };
    let answer = client.call(list_them).await?;
    let instances = list(&answer, "items");
    if let Some(name) = named(environment, flags) {
        return Ok(Place { client, instance: name.to_owned() });
    }
    let around = repository_around(&environment.directory);
    let here = around
        .as_deref()
        .and_then(|path| instances.iter().find(|instance| same(Path::new(text(instance, "path")), path)))
        .or_else(|| around.as_deref().and_then(|path| clone_of(path, instances)));
    match (here, around, instances) {
        (Some(instance), ..) => Ok(Place { instance: text(instance, "name").to_owned(), client }),
        // The daemon that answers knows nothing of this repository, so nobody holds it.
        (None, Some(_), _) if flags.daemon_url.is_none() => {
            client.close().await;
            open_local(environment, flags).await
        }
        (None, _, [only]) => Ok(Place { instance: text(only, "name").to_owned(), client }),
        (None, _, []) => Err(none("the daemon has no instance")),
        (None, _, several) => Err(choose(several)),
    }
}

/// Returns the instance that a person's clone was made from: both hold the same identity.
fn clone_of<'a>(folder: &Path, instances: &'a [Value]) -> Option<&'a Value> {
    let file = SETTINGS_PATH;
    let written = std::fs::read_to_string(folder.join(file)).ok()?;
    let id = yaml::read_typed::<Value>(file, &written).ok()?.get("instanceId")?.as_str()?.to_owned();
    instances.iter().find(|instance| text(instance, "id") == id)
}

/// Returns the name of the instance that flag or variable gives.
fn named<'a>(environment: &'a Surroundings, flags: &'a Flags) -> Option<&'a str> {
    flags.instance.as_deref().or_else(|| environment.variable("WILD_INSTANCE"))
}

fn choose(several: &[Value]) -> CommandError {
    let names: Vec<&str> = several.iter().map(|instance| text(instance, "name")).collect();
    let first = names.first().copied().unwrap_or_default();
    let because = format!("there are several: {}", names.join(", "));
    CommandError::new("find the instance", because, format!("add --instance {first}"))
}

fn none(because: &str) -> CommandError {
    CommandError::new("find the instance", because, "wild init my-cloud, then run the command in there")
}

/// Returns a daemon that answers, if one is there or was asked for.
pub(super) fn connect(environment: &Surroundings, flags: &Flags) -> Result<Option<Client>, CommandError> {
    if flags.local.is_some() {
        return Ok(None);
    }
    if let Some(url) = &flags.daemon_url {
        return Client::url(url).map(Some);
    }
    if let Some(socket) = &flags.socket {
        return Client::socket(&environment.path(socket)).map(Some);
    }
    if let Some(daemon) = &environment.daemon {
        return Ok(Some(Client::direct(daemon, None)));
    }
    if let Some(url) = environment.variable("WILD_DAEMON_URL").or_else(|| environment.variable("WILD_API_URI")) {
        return Client::url(url).map(Some);
    }
    // A socket that nobody listens on is left over from a daemon that died.
    match sockets(environment).into_iter().find(|socket| UnixStream::connect(socket).is_ok()) {
        Some(socket) => Client::socket(&socket).map(Some),
        None => Ok(None),
    }
}

/// Returns where a daemon's socket may be, the likeliest first.
fn sockets(environment: &Surroundings) -> Vec<PathBuf> {
    if let Some(given) = environment.variable("WILD_SOCKET") {
        return vec![environment.path(Path::new(given))];
    }
    let usual = usual_socket(environment);
    vec![usual, PathBuf::from("/run/wild/wild.sock"), environment.state_directory().join("wild.sock")]
}

/// Returns where a daemon puts its socket unless its settings say otherwise.
pub(super) fn usual_socket(environment: &Surroundings) -> PathBuf {
    match environment.variable("XDG_RUNTIME_DIR") {
        Some(runtime) => Path::new(runtime).join("wild.sock"),
        None => environment.state_directory().join("wild.sock"),
    }
}

/// Returns the file with the daemon's settings; it need not exist.
pub(super) fn settings_file(environment: &Surroundings, given: Option<&Path>) -> PathBuf {
    if let Some(given) = given {
        return environment.path(given);
    }
    if let Some(given) = environment.variable("WILD_CONFIG") {
        return environment.path(Path::new(given));
    }
    let own = match (environment.variable("XDG_CONFIG_HOME"), environment.variable("HOME")) {
        (Some(config), _) => Some(Path::new(config).join("wild/daemon.yaml")),
        (None, Some(home)) => Some(Path::new(home).join(".config/wild/daemon.yaml")),
        (None, None) => None,
    };
    own.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("/etc/wild/daemon.yaml"))
}

/// Reads the daemon's settings with the state directory filled in.
pub(super) fn read_settings(environment: &Surroundings, file: &Path) -> Result<DaemonSettings, CommandError> {
    let what = format!("read the settings {}", file.display());
    let mut settings = DaemonSettings::read(file).map_err(|error| CommandError::of_settings(what, &error))?;
    if settings.state_dir.as_os_str().is_empty() {
        settings.state_dir = environment.state_directory();
    }
    Ok(settings)
}

/// Opens the state directory.
pub(super) fn open_state(settings: &DaemonSettings) -> Result<StateDirectory, CommandError> {
    let what = format!("open the state directory {}", settings.state_dir.display());
    StateDirectory::open(&settings.state_dir).map_err(|error| CommandError::of_settings(what, &error))
}

/// Does a daemon's work in this process, for one instance.
async fn open_local(environment: &Surroundings, flags: &Flags) -> Result<Place, CommandError> {
    let mut settings = read_settings(environment, &settings_file(environment, None))?;
    let entry = local_entry(environment, flags, &settings)?;
    let instance = entry.name.as_str().to_owned();
    settings.instances = vec![entry];
    let daemon = start(environment, settings).await?;
    Ok(Place { client: Client::direct(&daemon, Some(daemon.clone())), instance })
}

/// Starts a daemon without listeners; waits a little for an instance that another command holds.
async fn start(environment: &Surroundings, settings: DaemonSettings) -> Result<Daemon, CommandError> {
    let mut tries = tokio::time::interval(LOCK_INTERVAL);
    let deadline = tokio::time::Instant::now() + LOCK_DEADLINE;
    loop {
        tries.tick().await;
        let start =
            Start { state: open_state(&settings)?, clock: environment.clock, access: None, work: Work::Requests };
        match Daemon::start(settings.clone(), start).await {
            Ok(daemon) => return Ok(daemon),
            Err(pipeline::Error::Settings(settings::Error::Locked { .. }))
                if tokio::time::Instant::now() < deadline => {}
            Err(error) => return Err(of_start(&error)),
        }
    }
}

/// Returns why an instance cannot be opened.
pub(super) fn of_start(error: &pipeline::Error) -> CommandError {
    let what = "open the instance";
    match error {
        pipeline::Error::Refused(refusal) => CommandError::of_refusal(refusal),
        pipeline::Error::Settings(error) => CommandError::of_settings(what, error),
        pipeline::Error::Git(_) => CommandError::new(what, chain(error), "wild init my-cloud makes one"),
        pipeline::Error::Store(store) => CommandError::new(what, chain(error), store_remedy(store)),
    }
}

/// Returns what helps against a store that cannot be opened: everything but the history of operations is found again without it.
fn store_remedy(error: &store::Error) -> String {
    match error {
        // What SQLite left beside the file would be played into a new one.
        store::Error::Open { path, .. } => {
            format!("mv {path} {path}.broken; rm -f {path}-wal {path}-shm, then again; only history is lost")
        }
        store::Error::Migrate { path, .. } => format!("the version of wild that wrote {path}"),
        store::Error::Query { .. } | store::Error::Row { .. } => {
            "wild daemon once more, when the disk has room".to_owned()
        }
    }
}

/// Returns the instance that a command without a daemon is about.
fn local_entry(
    environment: &Surroundings,
    flags: &Flags,
    settings: &DaemonSettings,
) -> Result<InstanceEntry, CommandError> {
    let given = flags.local.as_deref().filter(|path| *path != Path::new("."));
    if let Some(given) = given {
        let given = environment.path(given);
        let found = repository_at(&given).ok_or_else(|| {
            let because = format!("{} is no git repository", given.display());
            CommandError::new("find the instance", because, "wild init my-cloud")
        })?;
        return entry_of(&found, settings);
    }
    let wanted = named(environment, flags);
    if let Some(found) = wanted.and_then(|name| settings.instances.iter().find(|entry| entry.name.as_str() == name)) {
        return Ok(found.clone());
    }
    if let (Some(found), None) = (repository_around(&environment.directory), wanted) {
        return entry_of(&found, settings);
    }
    match (settings.instances.as_slice(), wanted) {
        ([only], None) => Ok(only.clone()),
        (_, Some(name)) => Err(none(&format!("no daemon answers, and daemon.yaml names no instance {name}"))),
        ([], None) => {
            Err(none(&format!("{} is in no instance, and no daemon answers", environment.directory.display())))
        }
        (several, None) => {
            let several: Vec<Value> = several.iter().map(|entry| serde_json::json!({"name": entry.name})).collect();
            Err(choose(&several))
        }
    }
}

/// Returns the settings' entry for a repository, or one made for it.
pub(super) fn entry_of(repository: &Path, settings: &DaemonSettings) -> Result<InstanceEntry, CommandError> {
    if let Some(entry) = settings.instances.iter().find(|entry| same(&settings.state_dir.join(&entry.path), repository))
    {
        return Ok(entry.clone());
    }
    let folder = repository.file_name().and_then(|name| name.to_str()).unwrap_or("home");
    let name = instance_name(folder.trim_end_matches(".git"))?;
    let branch = "main".to_owned();
    let (remote, credential_file, kubeconfig) = (String::new(), PathBuf::new(), PathBuf::new());
    Ok(InstanceEntry { name, path: repository.to_owned(), branch, remote, credential_file, kubeconfig })
}

/// Returns the name of an instance after a folder: what a name may not hold becomes a hyphen.
pub(super) fn instance_name(folder: &str) -> Result<InstanceName, CommandError> {
    let name: String = folder
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .collect();
    InstanceName::parse(name.trim_matches('-'))
        .map_err(|error| CommandError::new("name the instance", error.to_string(), "rename its folder"))
}

/// Returns the repository that a folder is, or that lies in it as `.git`.
fn repository_at(folder: &Path) -> Option<PathBuf> {
    let bare = folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir();
    (folder.join(".git").exists() || bare).then(|| folder.to_owned())
}

/// Returns the instance around a folder: a repository with our settings in it, or a bare one.
pub(super) fn repository_around(folder: &Path) -> Option<PathBuf> {
    let found = folder.ancestors().take(MAX_FOLDERS).find_map(repository_at)?;
    let ours = !found.join(".git").exists() || found.join(SETTINGS_PATH).exists();
    ours.then_some(found)
}

fn same(left: &Path, right: &Path) -> bool {
    match (left.canonicalize(), right.canonicalize()) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::ExitCode;
    use super::*;

    #[test]
    fn an_instance_is_found_from_a_folder_inside_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for folder in ["home/.git", "home/.wild", "home/apps/ghost", "bare.git/objects", "bare.git/refs", "other/.git"]
        {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("home/.wild/config.yaml"), "").unwrap();
        std::fs::write(root.join("bare.git/HEAD"), "").unwrap();
        assert_eq!(repository_around(&root.join("home/apps/ghost")), Some(root.join("home")));
        assert_eq!(repository_around(&root.join("bare.git")), Some(root.join("bare.git")));
        assert_eq!(repository_around(&root.join("other")), None, "a repository of something else is no instance");
    }

    #[test]
    fn a_folder_gives_the_name_of_an_instance() {
        assert_eq!(instance_name("My Cloud").unwrap().as_str(), "my-cloud");
        assert!(instance_name("___").is_err());
    }

    #[test]
    fn without_a_daemon_and_outside_of_an_instance_the_way_to_one_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Surroundings::bare(directory.path());
        let error = local_entry(&environment, &Flags::default(), &DaemonSettings::default()).unwrap_err();
        assert_eq!(error.code, ExitCode::Error);
        assert!(error.remedy.starts_with("wild init"), "{error:?}");
        let flags = Flags { local: Some(PathBuf::from("nowhere")), ..Flags::default() };
        let error = local_entry(&environment, &flags, &DaemonSettings::default()).unwrap_err();
        assert!(error.because.ends_with("nowhere is no git repository"), "{error:?}");
    }
}
