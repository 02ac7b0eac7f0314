//! What all apps of a head are: the id of each one's files, and the texts that tell them apart. Between two heads only what changed is read.
//!
//! Not here: the files of one app (`read.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Error, Instance, read, readers};
use crate::base::RepoPath;
use crate::compile;
use crate::git::{self, InstanceTree};
use crate::model::{AppName, CommitId, Config, Diagnostic, FileTree, InstanceId, RefusalText, SETTINGS_PATH, Settings};

/// Commits that changed the settings and are searched for the newest ones that read.
const MAX_SETTINGS_WALK: usize = 100;

/// The apps of a commit with the tree id of each, and the texts that all of them depend on.
pub struct Overview {
    /// The commit.
    pub head: CommitId,
    /// Tree id of `apps/<app>`, by app.
    pub apps: BTreeMap<AppName, String>,
    /// `config.yaml`, `.wild/config.yaml`, all records and all manifests.
    pub files: FileTree,
    /// The settings, read.
    pub(super) settings: Result<Arc<Settings>, Vec<Diagnostic>>,
    /// The settings that passes go by: the newest of the branch that read. Nothing if none do.
    in_force: Option<Arc<Settings>>,
    /// The config, read.
    pub(super) config: Result<Arc<Config>, Vec<Diagnostic>>,
    /// By path of every record and manifest, the id that it was read under: a record's own, for a manifest that of the app's tree.
    ids: BTreeMap<String, String>,
}

impl Overview {
    /// Returns those of the files at these paths that are there.
    pub(super) fn pick(&self, paths: &[&str]) -> FileTree {
        let found = paths.iter().filter_map(|path| Some((RepoPath::parse(path).ok()?, self.files.get(path)?.clone())));
        found.collect()
    }

    /// Returns the settings that passes go by, or what a person does where none ever read.
    pub(crate) fn settings(&self) -> Result<Arc<Settings>, Error> {
        match (&self.in_force, &self.settings) {
            (Some(settings), _) | (None, Ok(settings)) => Ok(settings.clone()),
            (None, Err(diagnostics)) => Err(Error::Refused(Box::new(RefusalText {
                code: 2,
                what: "read the settings of the instance".to_owned(),
                because: diagnostics.first().map(ToString::to_string).unwrap_or_default(),
                remedy: "git log -p .wild/config.yaml".to_owned(),
                diagnostics: diagnostics.clone(),
            }))),
        }
    }

    /// Returns why the settings of this commit are not the ones in force.
    pub(super) fn settings_trouble(&self) -> Option<String> {
        self.settings.as_ref().err().map(|found| found.first().map(ToString::to_string).unwrap_or_default())
    }

    /// Returns what of the config all apps share.
    pub(super) fn shared_config(&self) -> Option<Map<String, Value>> {
        let keys = self.config.as_ref().ok()?.0.iter().filter(|(key, _)| *key != "apps");
        Some(keys.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

/// Reads what is needed to tell which apps the head changed.
pub async fn overview(instance: &Instance) -> Result<Arc<Overview>, Error> {
    let head = read::head(instance).await?;
    overview_of(instance, &head).await
}

/// Reads the overview of a commit of the deployed branch. The last one is kept.
pub(super) async fn overview_of(instance: &Instance, head: &CommitId) -> Result<Arc<Overview>, Error> {
    let mut known = instance.overview.lock().await;
    if let Some(overview) = known.as_ref().filter(|overview| overview.head == *head) {
        return Ok(overview.clone());
    }
    let next = Arc::new(next(instance, head, known.as_deref()).await?);
    *known = Some(next.clone());
    Ok(next)
}

/// Returns the apps that a head changed since an earlier commit.
pub(super) async fn changed_since(
    instance: &Instance,
    commit: &CommitId,
    head: &Overview,
) -> Result<BTreeSet<AppName>, Error> {
    if *commit == head.head {
        return Ok(BTreeSet::new());
    }
    Ok(changed_apps(&next(instance, commit, Some(head)).await?, head))
}

/// Returns the overview of a commit before a head.
pub(super) async fn before(instance: &Instance, commit: &CommitId, head: &Overview) -> Result<Overview, Error> {
    next(instance, commit, Some(head)).await
}

async fn next(instance: &Instance, head: &CommitId, known: Option<&Overview>) -> Result<Overview, Error> {
    let tree = &instance.tree;
    let mut apps = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for (name, id) in tree.list_directories(head, "apps").await? {
        let Ok(app) = AppName::parse(&name) else { continue };
        ids.insert(format!("apps/{app}/{}", crate::package::MANIFEST), id.clone());
        apps.insert(app, id);
    }
    for (name, id) in tree.list_files(head, ".wild/generated").await? {
        ids.insert(format!(".wild/generated/{name}"), id);
    }
    let is_known = |path: &str| known.is_some_and(|known| known.ids.get(path) == ids.get(path));
    let mut files: FileTree = match known {
        None => FileTree::new(),
        Some(known) => {
            let kept =
                known.files.iter().filter(|(path, _)| ids.contains_key(path.as_str()) && is_known(path.as_str()));
            kept.map(|(path, file)| (path.clone(), file.clone())).collect()
        }
    };
    let changed = ids.keys().map(String::as_str).filter(|path| !is_known(path));
    let paths: Vec<&str> = changed.chain(["config.yaml", SETTINGS_PATH]).collect();
    files.extend(tree.read_tree(head, &paths).await?);
    let same = |path: &str| known.filter(|known| known.files.get(path) == files.get(path));
    let (settings, in_force) = match same(SETTINGS_PATH) {
        Some(known) => (known.settings.clone(), known.in_force.clone()),
        None => {
            let settings = settings_of(&files, Some(&instance.id));
            let in_force = in_force(tree, head, &settings, Some(&instance.id)).await?;
            (settings, in_force)
        }
    };
    let config = match same("config.yaml") {
        Some(known) => known.config.clone(),
        None => compile::config_of(&files).map(Arc::new),
    };
    Ok(Overview { head: head.clone(), apps, files, settings, in_force, config, ids })
}

/// Returns the settings in force at a commit; the findings of its own if none ever read.
pub(super) async fn settings_at(
    tree: &InstanceTree,
    commit: &CommitId,
    id: Option<&InstanceId>,
) -> Result<Result<Arc<Settings>, Vec<Diagnostic>>, git::Error> {
    let own = settings_of(&tree.read_tree(commit, &[SETTINGS_PATH]).await?, id);
    Ok(in_force(tree, commit, &own, id).await?.map_or(own, Ok))
}

/// Reads the settings of an instance whose identity is known: those that name another one are not its own.
fn settings_of(files: &FileTree, id: Option<&InstanceId>) -> Result<Arc<Settings>, Vec<Diagnostic>> {
    let settings = compile::settings_of(files)?;
    let Some(id) = id.filter(|id| **id != settings.instance_id) else { return Ok(Arc::new(settings)) };
    let line = files.text(SETTINGS_PATH).map_or(0, |text| git::written_id(text).line);
    let message = format!("instanceId is {}, and this instance is {id}", settings.instance_id);
    let hint = format!("instanceId: {id}");
    Err(vec![Diagnostic::error("S108", SETTINGS_PATH, line, message).with_hint(&hint)])
}

/// Returns the settings that a commit leaves in force: its own, or the newest before it that read, so that a mistake in them stops no app.
async fn in_force(
    tree: &InstanceTree,
    commit: &CommitId,
    own: &Result<Arc<Settings>, Vec<Diagnostic>>,
    id: Option<&InstanceId>,
) -> Result<Option<Arc<Settings>>, git::Error> {
    if let Ok(own) = own {
        return Ok(Some(own.clone()));
    }
    for change in tree.first_parent_log(commit, MAX_SETTINGS_WALK, &[SETTINGS_PATH]).await? {
        let files = tree.read_tree(&change.id, &[SETTINGS_PATH]).await?;
        if let Ok(settings) = settings_of(&files, id) {
            return Ok(Some(settings));
        }
    }
    Ok(None)
}

/// Returns the apps that differ between two heads: in their files, their record, their config section, in what all of them depend on, or in what
/// those say whose secrets they read.
pub(super) fn changed_apps(before: &Overview, after: &Overview) -> BTreeSet<AppName> {
    let all = || before.apps.keys().chain(after.apps.keys()).cloned().collect();
    let settings = match (&before.in_force, &after.in_force) {
        (None, None) => None,
        (Some(old), Some(new)) if Arc::ptr_eq(old, new) => None,
        (Some(old), Some(new)) if for_all_apps(old) == for_all_apps(new) => Some((old, new)),
        _ => return all(),
    };
    let config_changed = before.files.get("config.yaml") != after.files.get("config.yaml");
    let configs = match (config_changed, &before.config, &after.config) {
        (false, ..) => None,
        (true, Ok(old), Ok(new)) if before.shared_config() == after.shared_config() => Some((old, new)),
        // A config that does not read blocks every app that is made from it, and each of them says so.
        (true, ..) => return all(),
    };
    let mut changed: BTreeSet<AppName> = all();
    changed.retain(|app| {
        let record = compile::record_path(app);
        before.apps.get(app) != after.apps.get(app)
            || before.files.get(&record) != after.files.get(&record)
            || configs.is_some_and(|(old, new)| old.app(app) != new.app(app))
            || settings.is_some_and(|(old, new)| old.apps.get(app.as_str()) != new.apps.get(app.as_str()))
    });
    changed.extend(readers::concerned(before, after, &changed));
    changed
}

/// Returns the settings without what single apps do differently.
fn for_all_apps(settings: &Settings) -> Settings {
    Settings { apps: BTreeMap::new(), ..settings.clone() }
}
