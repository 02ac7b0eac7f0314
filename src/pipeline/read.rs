//! The read step: one consistent view of the instance and of its upstreams, pinned to commits.
//!
//! Only what the app's own pass needs is read; other apps' files are read for a compile, which has to know what is installed.
//! Not here: fetching (`upstream.rs`), the cluster (`observe`).

use std::collections::BTreeMap;

use super::ancestry::{Generations, generations};
use super::{Error, Instance};
use crate::compile::{self, Authors, Bent, PackageVersion, Sources, UpdateBranch, UpstreamPackage};
use crate::merge::{self, Conflict};
use crate::model::{
    AppName, CommitId, Config, FileTree, PackageName, Reason, RefusalText, Request, Settings, Upstream,
};
use crate::package::{self, PackageDialect};
use crate::plan::Presence;

/// Upstream commits that are searched for a version that a request names.
const MAX_VERSION_WALK: usize = 500;
/// Commits that are searched for the one that removed an app.
const MAX_REMOVAL_WALK: usize = 1;

/// What the read step found.
pub struct Read {
    /// Head of the deployed branch.
    pub head: CommitId,
    /// What compiling reads.
    pub sources: Sources,
    /// Whether the app was made from a package, so that compiling may have something to do.
    pub compiled: bool,
    /// How the history of its generations was bent, if it was.
    pub bent: Option<Bent>,
}

/// Returns the refs of an app's generations.
pub(super) fn generated_ref(app: &AppName) -> String {
    format!("refs/wild/generated/{app}")
}

/// Returns the branch of an app's waiting update.
pub(super) fn update_ref(app: &AppName) -> String {
    format!("refs/heads/wild/update/{app}")
}

/// Returns the ref of an upstream as fetched.
pub(super) fn upstream_ref(directory: &Upstream) -> String {
    format!("refs/wild/upstream/{}/{}", directory.name, directory.branch)
}

/// Returns the head of the deployed branch.
pub(super) async fn head(instance: &Instance) -> Result<CommitId, Error> {
    instance.repository.head(&instance.branch).await?.ok_or_else(|| {
        Error::Refused(Box::new(RefusalText {
            code: 2,
            what: format!("read the branch {}", instance.branch),
            because: "it has no commit".to_owned(),
            remedy: "wild init".to_owned(),
            diagnostics: Vec::new(),
        }))
    })
}

/// Reads what a pass of one app may compile.
pub(super) async fn read(
    instance: &Instance,
    app: &AppName,
    request: Option<&Request>,
    why: Reason,
) -> Result<Read, Error> {
    let head = head(instance).await?;
    let record = compile::record_path(app);
    let compiles =
        request.is_some() || matches!(why, Reason::Push | Reason::File | Reason::Scheduled | Reason::Upstream);
    let own = instance
        .repository
        .read_tree(&head, &["config.yaml", ".wild/config.yaml", &record, &format!("apps/{app}")])
        .await?;
    let compiled = own.contains(&record);
    let mut sources = Sources {
        head: head.clone(),
        files: own,
        base: None,
        tip: None,
        packages: Vec::new(),
        update: None,
        past: None,
    };
    if !compiles || (request.is_none() && !compiled) {
        return Ok(Read { head, sources, compiled, bent: None });
    }
    sources.files.extend(others(instance, &head).await?);
    let standing = compile::record_of(&sources.files, app).ok().flatten();
    let Generations { base, tip, bent } = generations(instance, app, &head, standing.as_ref()).await?;
    (sources.base, sources.tip) = (base, tip);
    sources.update = update(instance, app, &head).await?;
    if let Some(Request::Rollback { to, .. }) = request {
        sources.past =
            Some(instance.repository.read_tree(to, &["config.yaml", &record, &format!("apps/{app}")]).await?);
    }
    if let Ok(settings) = compile::settings_of(&sources.files) {
        let package = match request {
            Some(Request::Add { package, .. }) => Some(package.clone()),
            _ => compile::record_of(&sources.files, app).ok().flatten().map(|record| record.package),
        };
        if let Some(package) = package {
            sources.packages = packages(instance, &settings, &package, wanted_version(request)).await?;
        }
    }
    Ok(Read { head, sources, compiled, bent })
}

/// Returns the version that a request names, if it names one.
fn wanted_version(request: Option<&Request>) -> Option<&str> {
    match request {
        Some(Request::Add { version, .. }) => version.as_deref(),
        Some(Request::Update { to, .. }) => to.as_deref(),
        _ => None,
    }
}

/// Reads what is installed: the manifest and the record of every app.
async fn others(instance: &Instance, head: &CommitId) -> Result<FileTree, Error> {
    let mut paths: Vec<String> = vec![".wild/generated".to_owned()];
    paths.extend(
        instance.repository.list_directories(head, "apps").await?.iter().map(|app| format!("apps/{app}/manifest.yaml")),
    );
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    Ok(instance.repository.read_tree(head, &paths).await?)
}

/// Reads the update that waits, if one does.
async fn update(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Option<UpdateBranch>, Error> {
    let repository = &instance.repository;
    let Some(tip) = repository.read_ref(&update_ref(app)).await? else { return Ok(None) };
    let (record, own) = (compile::record_path(app), format!("apps/{app}"));
    let conflicts = merge::conflicts_path(app);
    let paths = ["config.yaml", ".wild/config.yaml", record.as_str(), own.as_str(), conflicts.as_str()];
    let files = repository.read_tree(&tip, &paths).await?;
    // Not the merge base: after a squash merge that was joined, the generation is one as well.
    let (mut fork, mut strangers) = (None, false);
    for commit in repository.first_parent_log(&tip, MAX_VERSION_WALK, &[]).await? {
        if repository.is_ancestor(&commit.id, head).await? {
            fork = Some(repository.read_tree(&commit.id, &paths).await?);
            break;
        }
        strangers |= commit.committer != instance.committer;
    }
    let authors = if strangers || fork.is_none() { Authors::People } else { Authors::OnlyUs };
    let fork = fork.unwrap_or_default();
    Ok(Some(UpdateBranch { tip, files, fork, authors }))
}

/// Reads a package from every upstream that has it, and the older version that a request names.
async fn packages(
    instance: &Instance,
    settings: &Settings,
    package: &PackageName,
    version: Option<&str>,
) -> Result<Vec<UpstreamPackage>, Error> {
    let mut found = Vec::new();
    for directory in &settings.directories {
        let Some(commit) = instance.repository.read_ref(&upstream_ref(directory)).await? else { continue };
        for place in package::directories(&directory.path, package) {
            let files = instance.repository.read_tree(&commit, &[&place]).await?.below(&place);
            if files.is_empty() {
                continue;
            }
            let versions = match version {
                None => Vec::new(),
                Some(version) => older(instance, &commit, &place, version).await?,
            };
            let commit = commit.clone();
            found.push(UpstreamPackage {
                directory: directory.clone(),
                commit,
                name: package.clone(),
                files,
                versions,
            });
        }
    }
    Ok(found)
}

/// Returns the newest upstream commit whose manifest says a version, with the package's files there.
async fn older(instance: &Instance, head: &CommitId, place: &str, version: &str) -> Result<Vec<PackageVersion>, Error> {
    for commit in instance.repository.first_parent_log(head, MAX_VERSION_WALK, &[place]).await? {
        let said = version_at(instance, &commit.id, place).await?;
        if said.as_deref() == Some(version) {
            let files = instance.repository.read_tree(&commit.id, &[place]).await?.below(place);
            return Ok(vec![PackageVersion { version: version.to_owned(), commit: commit.id, files }]);
        }
    }
    Ok(Vec::new())
}

/// What a committed revision says about one app.
pub(super) struct Sight {
    /// `apps/<app>/**`, `config.yaml`, `.wild/config.yaml` and the record.
    pub(super) files: FileTree,
    /// Settings of the instance.
    pub(super) settings: Settings,
    /// Whether the app is there.
    pub(super) presence: Presence,
}

/// Reads back from a commit what is to be applied of one app.
pub(super) async fn desired(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<Sight, Error> {
    let own = format!("apps/{app}");
    let record = compile::record_path(app);
    let files = instance.repository.read_tree(commit, &[&own, ".wild/config.yaml", &record]).await?;
    let settings = compile::settings_of(&files).map_err(|diagnostics| {
        Error::Refused(Box::new(RefusalText {
            code: 2,
            what: "read the settings of the instance".to_owned(),
            because: diagnostics.first().map(ToString::to_string).unwrap_or_default(),
            remedy: "git log -p .wild/config.yaml".to_owned(),
            diagnostics,
        }))
    })?;
    let presence = if files.below(&own).is_empty() {
        removed(instance, app, commit).await?
    } else {
        // A record that does not read must not undeploy the app, so only a clear word counts.
        match compile::record_of(&files, app) {
            Ok(Some(record)) if !record.deployed => Presence::Added,
            _ => Presence::Kept,
        }
    };
    Ok(Sight { files, settings, presence })
}

/// Returns whether the commit that removed an app's directory says that this was meant.
async fn removed(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<Presence, Error> {
    let log = instance.repository.first_parent_log(commit, MAX_REMOVAL_WALK, &[&format!("apps/{app}")]).await?;
    let Some(last) = log.first() else { return Ok(Presence::Vanished) };
    if last.trailer("Wild-Delete") != Some(app.as_str()) {
        return Ok(Presence::Vanished);
    }
    Ok(match last.trailer("Wild-Delete-Data") {
        Some("delete") => Presence::RemovedWithData,
        _ => Presence::RemovedKeepingData,
    })
}

/// Returns the open conflicts of an app's waiting update.
pub async fn conflicts(instance: &Instance, app: &AppName) -> Result<Vec<Conflict>, Error> {
    let Some(tip) = instance.repository.read_ref(&update_ref(app)).await? else { return Ok(Vec::new()) };
    let path = merge::conflicts_path(app);
    let files = instance.repository.read_tree(&tip, &[&path]).await?;
    let Some(text) = files.text(&path) else { return Ok(Vec::new()) };
    Ok(merge::read_conflicts(&path, text).unwrap_or_default())
}

/// The apps of the head commit with the tree id of each, and the texts that all of them depend on.
pub struct Overview {
    /// Head of the deployed branch.
    pub head: CommitId,
    /// Tree id of `apps/<app>`, by app.
    pub apps: BTreeMap<AppName, String>,
    /// `config.yaml`, `.wild/config.yaml` and all records.
    pub files: FileTree,
}

/// Reads what is needed to tell which apps a new head changed, without reading any app.
pub async fn overview(instance: &Instance) -> Result<Overview, Error> {
    let head = head(instance).await?;
    let mut apps = BTreeMap::new();
    for name in instance.repository.list_directories(&head, "apps").await? {
        let Ok(app) = AppName::parse(&name) else { continue };
        if let Some(tree) = instance.repository.tree_id(&head, &format!("apps/{app}")).await? {
            apps.insert(app, tree);
        }
    }
    let files = instance.repository.read_tree(&head, &["config.yaml", ".wild/config.yaml", ".wild/generated"]).await?;
    Ok(Overview { head, apps, files })
}

/// Reads what a request about the instance itself may change.
pub(super) async fn whole(instance: &Instance) -> Result<Read, Error> {
    let head = head(instance).await?;
    let files = instance.repository.read_tree(&head, &["config.yaml", ".wild/config.yaml"]).await?;
    let sources =
        Sources { head: head.clone(), files, base: None, tip: None, packages: Vec::new(), update: None, past: None };
    Ok(Read { head, sources, compiled: false, bent: None })
}

/// Returns the name that stands for no app where a request is about the instance.
pub(super) fn no_app() -> Result<AppName, Error> {
    AppName::parse("instance").map_err(|error| {
        Error::Refused(Box::new(RefusalText {
            code: 2,
            what: "name the instance".to_owned(),
            because: error.to_string(),
            remedy: "wild status".to_owned(),
            diagnostics: Vec::new(),
        }))
    })
}

/// Returns the apps that differ between two heads: in their files, their record, their config section, or in what all of them depend on.
pub fn changed_apps(before: &Overview, after: &Overview) -> std::collections::BTreeSet<AppName> {
    let all = || before.apps.keys().chain(after.apps.keys()).cloned().collect();
    if before.files.get(".wild/config.yaml") != after.files.get(".wild/config.yaml") {
        return all();
    }
    let config_changed = before.files.get("config.yaml") != after.files.get("config.yaml");
    let (old, new) = (compile::config_of(&before.files), compile::config_of(&after.files));
    let configs = match (config_changed, old, new) {
        (false, ..) => None,
        (true, Ok(old), Ok(new)) => {
            let shared = |config: &Config| {
                let mut map = config.0.clone();
                map.shift_remove("apps");
                map
            };
            if shared(&old) != shared(&new) {
                return all();
            }
            Some((old, new))
        }
        // A config that does not read blocks every app that is made from it, and each of them says so.
        (true, ..) => return all(),
    };
    let names: std::collections::BTreeSet<AppName> = all();
    names
        .into_iter()
        .filter(|app| {
            let record = compile::record_path(app);
            before.apps.get(app) != after.apps.get(app)
                || before.files.get(&record) != after.files.get(&record)
                || configs.as_ref().is_some_and(|(old, new)| old.app(app) != new.app(app))
        })
        .collect()
}

/// Reads the committed settings of the instance.
pub async fn settings(instance: &Instance) -> Result<Settings, Error> {
    let head = head(instance).await?;
    let files = instance.repository.read_tree(&head, &[".wild/config.yaml"]).await?;
    compile::settings_of(&files).map_err(|diagnostics| {
        Error::Refused(Box::new(RefusalText {
            code: 2,
            what: "read the settings of the instance".to_owned(),
            because: diagnostics.first().map(ToString::to_string).unwrap_or_default(),
            remedy: "git log -p .wild/config.yaml".to_owned(),
            diagnostics,
        }))
    })
}

/// Returns the version that a package has in a commit; nothing if it is not there or does not read.
pub(super) async fn version_at(instance: &Instance, commit: &CommitId, place: &str) -> Result<Option<String>, Error> {
    let manifests = [package::MANIFEST, package::SERVICE_MANIFEST].map(|name| format!("{place}/{name}"));
    let files = instance.repository.read_tree(commit, &manifests.each_ref().map(String::as_str)).await?.below(place);
    // The name only fills in defaults that nobody looks at here.
    let Ok(name) = PackageName::parse("package") else { return Ok(None) };
    let manifest = package::manifest_of(&files);
    let read = files.text(manifest).and_then(|text| package::read_manifest(manifest, &name, text).ok());
    match read.map(|read| read.manifest) {
        // A service that says no version has that of its files, which are read for it.
        Some(read) if read.dialect == PackageDialect::Service => {
            let files = instance.repository.read_tree(commit, &[place]).await?.below(place);
            Ok(package::load(&name, &files).ok().map(|package| package.manifest.version))
        }
        read => Ok(read.map(|read| read.version)),
    }
}
