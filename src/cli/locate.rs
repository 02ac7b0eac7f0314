//! Finds the daemon and the instance that a command is about.
//!
//! A daemon of this process, `--daemon-url`, `WILD_DAEMON_URL`, `WILD_API_URI`, the socket; without any of them, or with `--local`, the
//! command takes the instance lock and does the same work itself. The instance is the one that is named, the one around the working
//! directory, or the only one; with several left nothing is guessed.
//!
//! Not here: speaking to it (`client.rs`).

use std::borrow::Borrow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::arguments::Flags;
use super::client::{Call, Client};
use super::environment::Surroundings;
use super::error::CommandError;
use super::json::{list, text};
use crate::base::{chain, there_are};
use crate::daemon::{Daemon, Start, Work};
use crate::git::{self, NamedId, Repository};
use crate::model::{InstanceName, SETTINGS_PATH, Subdirectory};
use crate::pipeline;
use crate::settings::{self, DaemonSettings, Home, InstanceEntry, StateDirectory};
use crate::store;
use crate::yaml;

/// How long a command waits for the lock of an instance.
const LOCK_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two tries to take it.
const LOCK_INTERVAL: Duration = Duration::from_millis(200);
/// The deployed branch, unless the daemon's settings name another.
const BRANCH: &str = "main";
/// Steps from a work tree or a clone over another clone to the repository of an instance.
const MAX_ORIGINS: usize = 2;
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
    let around = around(&environment.directory);
    let here = around.as_ref().map(|around| around.among(instances)).unwrap_or_default();
    let is_ours = around.as_ref().is_some_and(Around::is_ours);
    if let (Some(around), [instance]) = (&around, here.as_slice()) {
        check_origin(around, instance, instances).await?;
    }
    match (here.as_slice(), instances) {
        ([instance], _) => Ok(Place { instance: text(instance, "name").to_owned(), client }),
        // The daemon that answers knows nothing of this repository, so nobody holds it.
        ([], _) if is_ours && flags.daemon_url.is_none() => {
            client.close().await;
            open_local(environment, flags).await
        }
        ([], [only]) => Ok(Place { instance: text(only, "name").to_owned(), client }),
        ([], []) => Err(none("the daemon has no instance")),
        ([], several) => Err(choose(several)),
        (several, _) => Err(choose(several)),
    }
}

/// What lies around a folder.
pub(super) struct Around {
    /// A repository.
    pub(super) repository: PathBuf,
    /// Where in its work tree the instance lives that the folder is in; nothing if it is in none, and in a bare repository.
    subdirectory: Option<Subdirectory>,
}

/// Returns the repository around a folder and the instance there.
pub(super) fn around(folder: &Path) -> Option<Around> {
    let repository = folder.ancestors().take(MAX_FOLDERS).find_map(repository_at)?;
    let inside = folder.ancestors().take(MAX_FOLDERS).take_while(|folder| folder.starts_with(&repository));
    // The outermost, because no instance lies inside another.
    let instance = inside.filter(|folder| folder.join(SETTINGS_PATH).exists()).last();
    let place = instance.and_then(|folder| folder.strip_prefix(&repository).ok()?.to_str());
    let subdirectory = place.and_then(|place| Subdirectory::parse(place).ok());
    Some(Around { repository, subdirectory })
}

impl Around {
    /// Returns whether commands in the folder are about this repository: it is in an instance, or the repository is a bare one.
    fn is_ours(&self) -> bool {
        self.subdirectory.is_some() || !self.repository.join(".git").exists()
    }

    /// Returns the instances of a daemon that live here, or that this is a clone of.
    fn among<'a>(&self, instances: &'a [Value]) -> Vec<&'a Value> {
        let is_here = |instance: &&Value| same(Path::new(text(instance, "path")), &self.repository);
        let here: Vec<&Value> = instances.iter().filter(is_here).collect();
        let Some(subdirectory) = &self.subdirectory else { return here };
        match here.iter().find(|instance| text(instance, "subdirectory") == subdirectory.as_str()) {
            Some(instance) => vec![*instance],
            None => clone_of(&self.repository.join(subdirectory.as_str()), instances).into_iter().collect(),
        }
    }
}

/// Returns the instance that a person's clone was made from: both hold the same identity.
fn clone_of<'a>(folder: &Path, instances: &'a [Value]) -> Option<&'a Value> {
    let id = identity_in(folder)?;
    instances.iter().find(|instance| text(instance, "id") == id)
}

/// Refuses a clone of one instance whose files name another: whoever pushed them would choose what is spoken of.
async fn check_origin(around: &Around, found: &Value, instances: &[Value]) -> Result<(), CommandError> {
    let is_at = |instance: &Value, path: &Path| same(Path::new(text(instance, "path")), path);
    if is_at(found, &around.repository) {
        return Ok(());
    }
    let is_known = |path: &Path| instances.iter().any(|instance| is_at(instance, path));
    let origin = origin(&around.repository, is_known).await.ok().flatten();
    let Some(origin) = origin.filter(|origin| !is_at(found, origin)) else { return Ok(()) };
    let Some(of) = instances.iter().find(|instance| is_at(instance, &origin)) else { return Ok(()) };
    let (of, named) = (text(of, "name"), text(found, "name"));
    let because = format!("this is a clone of {of}, and its {SETTINGS_PATH} has the instanceId of {named}");
    Err(CommandError::new("find the instance", because, format!("add --instance {of}")))
}

/// Returns the identity of the instance in a folder of a work tree.
fn identity_in(folder: &Path) -> Option<String> {
    let file = SETTINGS_PATH;
    let written = std::fs::read_to_string(folder.join(file)).ok()?;
    Some(yaml::read_typed::<Value>(file, &written).ok()?.get("instanceId")?.as_str()?.to_owned())
}

/// Returns where the instance lives that this is a clone of: the repository as the state directory remembers it, and in there what has the
/// same identity by now. A copy is none.
async fn cloned_home(
    found: &Around,
    subdirectory: &Subdirectory,
    settings: &DaemonSettings,
) -> Result<Option<(PathBuf, Subdirectory)>, CommandError> {
    let Some(id) = identity_in(&found.repository.join(subdirectory.as_str())) else { return Ok(None) };
    let what = "find where the instance lives";
    let homes = open_state(settings)?.homes().map_err(|error| CommandError::of_settings(what, &error))?;
    let is_here = |home: &Home| home.subdirectory == *subdirectory && same(&home.repository, &found.repository);
    if homes.iter().any(|(_, home)| is_here(home)) {
        return Ok(None);
    }
    let Some((_, home)) = homes.iter().find(|(known, _)| known.as_str() == id) else { return Ok(None) };
    let fail = |error: git::Error| CommandError::new(what, chain(&error), "git remote get-url origin in there");
    let is_known = |path: &Path| homes.iter().any(|(_, home)| same(&home.repository, path));
    let Some(origin) = origin(&found.repository, is_known).await.map_err(fail)? else { return Ok(None) };

    let file = subdirectory.outward(SETTINGS_PATH);
    let there = origin.display();
    let elsewhere = |because: String| Err(CommandError::new(what, because, format!("add --local {there}")));
    if !same(&origin, &home.repository) {
        return elsewhere(format!(
            "this is a clone of {there}, and {file} has the instanceId {id}, which is that of the instance in {}",
            home.repository.display()
        ));
    }
    match place_of(&origin, &id).await.map_err(fail)? {
        Some(place) => Ok(Some((home.repository.clone(), place))),
        None => elsewhere(format!("{file} has the instanceId {id}, which no instance of {there} has any more")),
    }
}

/// Returns the known repository that a clone, a work tree of one, or a clone of one was made from.
async fn origin(repository: &Path, is_known: impl Fn(&Path) -> bool) -> Result<Option<PathBuf>, git::Error> {
    let mut at = repository.to_owned();
    for _ in 0..MAX_ORIGINS {
        let Some(origin) = Repository::open(&at).await?.cloned_from().await? else { return Ok(None) };
        if is_known(&origin) {
            return Ok(Some(origin));
        }
        if !origin.exists() {
            return Ok(None);
        }
        at = origin;
    }
    Ok(None)
}

/// Returns where in a repository the instance with an identity lives.
async fn place_of(repository: &Path, id: &str) -> Result<Option<Subdirectory>, git::Error> {
    let repository = Repository::open(repository).await?;
    let branch = repository.head_branch().await?.unwrap_or_else(|| BRANCH.to_owned());
    let Some(head) = repository.head(&branch).await? else { return Ok(None) };
    let is_it = |written: &NamedId| matches!(written, NamedId::Id(found) if found == id);
    Ok(repository
        .instance_ids(&head)
        .await?
        .into_iter()
        .find(|(_, written)| is_it(&written.id))
        .map(|(place, _)| place))
}

/// Returns the name of the instance that flag or variable gives.
fn named<'a>(environment: &'a Surroundings, flags: &'a Flags) -> Option<&'a str> {
    flags.instance.as_deref().or_else(|| environment.variable("WILD_INSTANCE"))
}

fn choose<T: Borrow<Value>>(several: &[T]) -> CommandError {
    let names: Vec<&str> = several.iter().map(|instance| text(instance.borrow(), "name")).collect();
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
    let entry = local_entry(environment, flags, &settings).await?;
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
        store::Error::Lock { path, .. } => {
            format!("a stateDir in daemon.yaml on a disk of this machine: that of {path} cannot be locked or written")
        }
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
async fn local_entry(
    environment: &Surroundings,
    flags: &Flags,
    settings: &DaemonSettings,
) -> Result<InstanceEntry, CommandError> {
    let given = flags.local.as_deref().filter(|path| *path != Path::new("."));
    if let Some(given) = given {
        let given = environment.path(given);
        if !given.is_dir() {
            let because = format!("there is no directory {}", given.display());
            return Err(CommandError::new("find the instance", because, "the --local DIR that is meant"));
        }
        let found = around(&given).filter(|found| found.repository == given || found.subdirectory.is_some());
        let found = found.ok_or_else(|| {
            let because = format!("{} is no git repository", given.display());
            CommandError::new("find the instance", because, "wild init my-cloud")
        })?;
        return one_of(&found, named(environment, flags), settings).await;
    }
    let wanted = named(environment, flags);
    if let Some(found) = wanted.and_then(|name| settings.instances.iter().find(|entry| entry.name.as_str() == name)) {
        return Ok(found.clone());
    }
    if let Some(found) = around(&environment.directory)
        && (found.is_ours() || holds_some(&found.repository).await)
    {
        return one_of(&found, wanted, settings).await;
    }
    match (settings.instances.as_slice(), wanted) {
        ([only], None) => Ok(only.clone()),
        ([], Some(name)) => Err(none(&format!("no daemon answers, and daemon.yaml names no instance {name}"))),
        (several, Some(name)) => called(name, several),
        ([], None) => {
            Err(none(&format!("{} is in no instance, and no daemon answers", environment.directory.display())))
        }
        (several, None) => {
            let several: Vec<Value> = several.iter().map(|entry| serde_json::json!({"name": entry.name})).collect();
            Err(choose(&several))
        }
    }
}

/// Returns the entry of that name.
fn called(name: &str, entries: &[InstanceEntry]) -> Result<InstanceEntry, CommandError> {
    if let Some(entry) = entries.iter().find(|entry| entry.name.as_str() == name) {
        return Ok(entry.clone());
    }
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let because = format!("there is no instance {name} here; {}", there_are(&names));
    let first = names.first().copied().unwrap_or_default();
    Err(CommandError::new("find the instance", because, format!("add --instance {first}")))
}

/// Returns the one instance of a repository that a command is about: the one that is named, the one around the folder, or the only one.
async fn one_of(
    found: &Around,
    wanted: Option<&str>,
    settings: &DaemonSettings,
) -> Result<InstanceEntry, CommandError> {
    let around = match &found.subdirectory {
        None => None,
        Some(subdirectory) => Some(match cloned_home(found, subdirectory, settings).await? {
            Some((repository, place)) => entry_of(&repository, &place, settings)?,
            None => entry_of(&found.repository, subdirectory, settings)?,
        }),
    };
    match (around, wanted) {
        (Some(around), None) => Ok(around),
        (Some(around), Some(name)) if around.name.as_str() == name => Ok(around),
        (Some(around), Some(name)) => called(name, &entries_of(&settings.state_dir.join(around.path), settings).await?),
        (None, Some(name)) => called(name, &entries_of(&found.repository, settings).await?),
        (None, None) => match entries_of(&found.repository, settings).await?.as_slice() {
            [only] => Ok(only.clone()),
            several => {
                let names: Vec<Value> = several.iter().map(|entry| serde_json::json!({"name": entry.name})).collect();
                Err(choose(&names))
            }
        },
    }
}

/// Returns whether a repository holds instances somewhere in it.
async fn holds_some(repository: &Path) -> bool {
    places(repository).await.is_ok_and(|places| !places.is_empty())
}

/// Returns where in a repository instances live.
async fn places(repository: &Path) -> Result<Vec<Subdirectory>, git::Error> {
    let opened = Repository::open(repository).await?;
    match opened.head(BRANCH).await? {
        Some(head) => opened.instances(&head).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the instances of a repository, as the settings or its deployed branch name them; one without any is about to get one at its top.
pub(super) async fn entries_of(
    repository: &Path,
    settings: &DaemonSettings,
) -> Result<Vec<InstanceEntry>, CommandError> {
    let fail = |error: git::Error| CommandError::new("find the instances", chain(&error), "wild init my-cloud");
    let mut places = places(repository).await.map_err(fail)?;
    if places.is_empty() {
        places.push(Subdirectory::top());
    }
    places.iter().map(|place| entry_of(repository, place, settings)).collect()
}

/// Returns the settings' entry for an instance of a repository, or one made for it.
pub(super) fn entry_of(
    repository: &Path,
    subdirectory: &Subdirectory,
    settings: &DaemonSettings,
) -> Result<InstanceEntry, CommandError> {
    let is_it = |entry: &&InstanceEntry| {
        entry.subdirectory == *subdirectory && same(&settings.state_dir.join(&entry.path), repository)
    };
    if let Some(entry) = settings.instances.iter().find(is_it) {
        return Ok(entry.clone());
    }
    let folder = repository.file_name().and_then(|name| name.to_str()).unwrap_or("home").trim_end_matches(".git");
    // All of a sub-directory, so that the name stays when the repository gets another instance.
    let name = instance_name(if subdirectory.is_top() { folder } else { subdirectory.as_str() })?;
    let branch = BRANCH.to_owned();
    let (remote, credential_file, kubeconfig) = (String::new(), PathBuf::new(), PathBuf::new());
    let (path, subdirectory) = (repository.to_owned(), subdirectory.clone());
    Ok(InstanceEntry { name, path, subdirectory, branch, remote, credential_file, kubeconfig, keycloak: None })
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

/// Returns the repository of the instance around a folder, or a bare one.
pub(super) fn repository_around(folder: &Path) -> Option<PathBuf> {
    around(folder).filter(Around::is_ours).map(|found| found.repository)
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
    fn an_instance_in_a_sub_directory_is_found_by_its_settings_and_a_folder_beside_it_is_in_none() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for folder in ["fleet/.git", "fleet/clusters/home/.wild", "fleet/clusters/home/apps/ghost/.wild", "fleet/docs"]
        {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for place in ["clusters/home", "clusters/home/apps/ghost"] {
            std::fs::write(root.join("fleet").join(place).join(SETTINGS_PATH), "instanceId: k3f7q2m5xd\n").unwrap();
        }
        let place = |folder: &str| around(&root.join(folder)).unwrap().subdirectory.map(|place| place.to_string());
        assert_eq!(place("fleet/clusters/home/apps/ghost").as_deref(), Some("clusters/home"));
        assert_eq!((place("fleet"), place("fleet/docs"), place("fleet/clusters")), (None, None, None));
        assert_eq!(repository_around(&root.join("fleet/clusters/home")), Some(root.join("fleet")));
        assert_eq!(repository_around(&root.join("fleet/docs")), None);
        let path = root.join("fleet").display().to_string();
        let instance = |name: &str, path: &str, place: &str, id: &str| serde_json::json!({"name": name, "path": path, "subdirectory": place, "id": id});
        let instances = [
            instance("home", &path, "clusters/home", "k3f7q2m5xd"),
            instance("cabin", &path, "clusters/cabin", "a"),
            instance("other", "/elsewhere", "", "b"),
        ];
        let among = |folder: &str, instances: &[Value]| -> Vec<String> {
            let found = around(&root.join(folder)).unwrap();
            found.among(instances).iter().map(|instance| text(instance, "name").to_owned()).collect()
        };
        assert_eq!(among("fleet/clusters/home", &instances), ["home"]);
        assert_eq!(among("fleet", &instances), ["home", "cabin"], "both live here");
        let elsewhere = [instance("far", "/srv/fleet.git", "clusters/home", "k3f7q2m5xd")];
        assert_eq!(
            among("fleet/clusters/home", &elsewhere),
            ["far"],
            "a clone has the identity of what it was made from"
        );
    }

    #[tokio::test]
    async fn the_instances_of_a_repository_are_named_after_their_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fleet.git");
        let fleet = Repository::init(&path, git::Layout::Bare, BRANCH).await.unwrap();
        let settings = DaemonSettings::default();
        let names = async || -> Vec<String> {
            entries_of(&path, &settings).await.unwrap().iter().map(|entry| entry.name.to_string()).collect()
        };
        assert_eq!(names().await, ["fleet"]);
        // A name is never passed over, although there is one instance only.
        let found = around(&path).unwrap();
        assert_eq!(one_of(&found, Some("fleet"), &settings).await.unwrap().name.as_str(), "fleet");
        assert_eq!(one_of(&found, Some("flat"), &settings).await.unwrap_err().remedy, "add --instance fleet");
        let author = crate::model::Author { name: "a".into(), email: "a@example.org".into() };
        let file = |place: &str| {
            let path = format!("{place}/{SETTINGS_PATH}");
            (crate::base::RepoPath::parse(&path).unwrap(), Some(crate::model::File::text("x")))
        };
        let new = git::NewCommit {
            reference: format!("refs/heads/{BRANCH}"),
            expected: None,
            base_tree: None,
            changes: [file("eu/home"), file("us/home")].into(),
            parents: Vec::new(),
            author: author.clone(),
            committer: author,
            message: "two".to_owned(),
            time: crate::base::Timestamp(0),
        };
        fleet.commit(new).await.unwrap();
        assert_eq!(names().await, ["eu-home", "us-home"]);
        let found = around(&path).unwrap();
        let error = one_of(&found, None, &settings).await.unwrap_err();
        assert_eq!(
            (error.because.as_str(), error.remedy.as_str()),
            ("there are several: eu-home, us-home", "add --instance eu-home")
        );
        let entry = one_of(&found, Some("us-home"), &settings).await.unwrap();
        assert_eq!(entry.subdirectory.as_str(), "us/home");
        let environment = Surroundings::bare(&path);
        let named = async |name: &str| {
            let flags = Flags { instance: Some(name.to_owned()), ..Flags::default() };
            local_entry(&environment, &flags, &settings).await
        };
        assert_eq!(named("us-home").await.unwrap().subdirectory.as_str(), "us/home");
        let error = named("uk-home").await.unwrap_err();
        assert_eq!(error.because, "there is no instance uk-home here; there are: eu-home, us-home");
        assert_eq!(error.remedy, "add --instance eu-home");
    }

    #[tokio::test]
    async fn a_clone_of_one_instance_that_names_another_speaks_of_neither() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let git = |arguments: &[&str]| {
            let git = std::process::Command::new("git").args(arguments).current_dir(directory.path()).output().unwrap();
            assert!(git.status.success(), "{git:?}");
        };
        git(&["init", "-q", "--bare", "one"]);
        git(&["init", "-q", "--bare", "two"]);
        git(&["clone", "-q", "one", "clone"]);
        let instances: Vec<Value> = ["one", "two"]
            .map(|name| serde_json::json!({"name": name, "path": path(name), "id": name, "subdirectory": ""}))
            .into();
        std::fs::create_dir(path("clone/.wild")).unwrap();
        for (names, expected) in [("one", None), ("two", Some("add --instance one")), ("nobody", None)] {
            std::fs::write(path("clone/.wild/config.yaml"), format!("instanceId: {names}\n")).unwrap();
            let around = around(&path("clone")).unwrap();
            let found = around.among(&instances);
            assert_eq!(found.len(), usize::from(names != "nobody"));
            for found in found {
                let told = check_origin(&around, found, &instances).await.err();
                assert_eq!(told.as_ref().map(|told| told.remedy.as_str()), expected, "{names}");
            }
        }
    }

    /// What is named by steps up is what the system finds there, and never what one stands in.
    #[tokio::test]
    async fn a_folder_that_is_named_by_steps_up_is_the_one_that_is_spoken_of() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for place in ["fleet/clusters/one", "fleet/clusters/two", "home"] {
            std::fs::create_dir_all(root.join(place).join(".wild")).unwrap();
            std::fs::write(root.join(place).join(SETTINGS_PATH), "instanceId: k3f7q2m5xd\n").unwrap();
        }
        for repository in ["fleet", "home"] {
            git::Repository::init(&root.join(repository), git::Layout::WorkTree, BRANCH).await.unwrap();
        }
        std::os::unix::fs::symlink(root.join("fleet/clusters/one"), root.join("link")).unwrap();
        let settings = DaemonSettings { state_dir: root.join("state"), ..DaemonSettings::default() };
        let here = root.join("fleet/clusters/two");
        let up = format!("{}/../one", here.display());
        for (from, local, expected) in [
            (&here, "../one", Some("clusters-one")),
            (&here, "./../one", Some("clusters-one")),
            (&here, up.as_str(), Some("clusters-one")),
            (&here, "../../clusters/one", Some("clusters-one")),
            (&here, "../two", Some("clusters-two")),
            (&here, "../../../home", Some("home")),
            (&here, "../../../link/../two", Some("clusters-two")),
            (&root.join("home"), "../fleet/clusters/two", Some("clusters-two")),
            (&here, "../nosuch", None),
            (&here, "../nosuch/../two/x", None),
            (&root.join("home"), "..", None),
            (&root.join("home"), "../hmoe", None),
        ] {
            let environment = Surroundings::bare(from);
            let flags = Flags { local: Some(PathBuf::from(local)), ..Flags::default() };
            let found = local_entry(&environment, &flags, &settings).await.ok();
            assert_eq!(found.as_ref().map(|found| found.name.as_str()), expected, "{local} from {}", from.display());
        }
    }

    #[test]
    fn a_folder_gives_the_name_of_an_instance() {
        assert_eq!(instance_name("My Cloud").unwrap().as_str(), "my-cloud");
        assert!(instance_name("___").is_err());
    }

    #[tokio::test]
    async fn without_a_daemon_and_outside_of_an_instance_the_way_to_one_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Surroundings::bare(directory.path());
        let error = local_entry(&environment, &Flags::default(), &DaemonSettings::default()).await.unwrap_err();
        assert_eq!(error.code, ExitCode::Error);
        assert!(error.remedy.starts_with("wild init"), "{error:?}");
        let flags = Flags { local: Some(PathBuf::from("nowhere")), ..Flags::default() };
        let error = local_entry(&environment, &flags, &DaemonSettings::default()).await.unwrap_err();
        assert!(error.because.starts_with("there is no directory ") && error.because.ends_with("nowhere"), "{error:?}");
    }
}
