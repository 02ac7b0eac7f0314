//! The read step: one consistent view of the instance and of its upstreams, pinned to commits.
//!
//! Only the app's own files are read; what compiling has to know of the other apps comes from the overview of the head.
//! Not here: fetching (`upstream.rs`), the cluster (`observe`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ancestry::{self, generations};
use super::commit::FORK;
use super::inputs::Inputs;
use super::offers::files_at;
use super::overview::{self, Overview, overview, overview_of};
use super::room::{self, Reading};
use super::{Error, Instance, brakes, proposed, vouched};
use crate::compile::{self, Authors, Bent, PackageVersion, Sources, UpdateBranch, UpstreamPackage};
use crate::merge::{self, Conflict, ConflictsFile, RESOLUTIONS_REF, Remembered};
use crate::model::{
    AppName, CommitId, DataFate, FileTree, Grants, PackageName, Reason, RefusalText, Request, SETTINGS_PATH,
    SecretOrigins, Settings, Upstream,
};
use crate::package::{self, PackageDialect};
use crate::plan::Presence;

/// Where the records of all apps lie.
const GENERATED: &str = ".wild/generated";
/// Upstream commits that are searched for a version that a request names.
const MAX_VERSION_WALK: usize = 500;
/// Commits that are searched for the one that removed an app.
const MAX_REMOVAL_WALK: usize = 1;
/// Commits that changed apps and are looked through for removed ones where nothing is remembered.
const MAX_DEPARTED: usize = 1_000;

/// What the read step found.
pub struct Read {
    /// Head of the deployed branch.
    pub head: CommitId,
    /// What compiling reads.
    pub sources: Sources,
    /// How the history of its generations was bent, if it was.
    pub bent: Option<Bent>,
    /// `apps/<app>/**` and the record at the head.
    pub(super) own: FileTree,
    /// Whether compiling may have something to do without a request.
    pub(super) merge: Merge,
    /// What compiling would read, if nobody asked for it; remembered where it leads to nothing.
    pub(super) inputs: Option<Inputs>,
    /// Room for the files of a large app, until this goes.
    pub(super) _room: Option<Reading>,
}

/// What may have to be compiled although nobody asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merge {
    /// Nothing: the app is made from no package, or nothing that it is made from has changed.
    Nothing,
    /// The app with a changed config, binding or renderer.
    Changed,
    /// The app with a newer package.
    Upstream,
}

/// Returns the ref of an app's generations.
pub(super) fn generated_ref(instance: &Instance, app: &AppName) -> String {
    instance.tree.subdirectory().generated_ref(app)
}

/// Returns the ref of the branch of an app's waiting update.
pub(super) fn update_ref(instance: &Instance, app: &AppName) -> String {
    format!("refs/heads/{}", instance.tree.subdirectory().update_branch(app))
}

/// Returns the ref of an upstream as fetched.
pub(super) fn upstream_ref(instance: &Instance, directory: &Upstream) -> String {
    instance.tree.subdirectory().upstream_ref(directory)
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

/// Reads what a pass of one app may compile, and waits before that until there is room if its files are large. Not for whoever holds what another
/// call of this read.
pub(super) async fn read_alone(
    instance: &Instance,
    app: &AppName,
    request: Option<&Request>,
    why: Reason,
) -> Result<Read, Error> {
    let overview = overview(instance).await?;
    match own_up_to(instance, app, &overview, room::LIGHT_READ_BYTES).await? {
        Ok(own) => read_with(instance, app, (request, why), (overview, own)).await,
        Err(bytes) => {
            let room = room::reading(bytes).await;
            // The branch may have moved on meanwhile.
            Ok(Read { _room: room, ..read(instance, app, request, why).await? })
        }
    }
}

/// Reads what a pass of one app may compile.
pub(super) async fn read(
    instance: &Instance,
    app: &AppName,
    request: Option<&Request>,
    why: Reason,
) -> Result<Read, Error> {
    let overview = overview(instance).await?;
    let own = own(instance, app, &overview).await?;
    read_with(instance, app, (request, why), (overview, own)).await
}

async fn read_with(
    instance: &Instance,
    app: &AppName,
    (request, why): (Option<&Request>, Reason),
    (overview, own): (Arc<Overview>, FileTree),
) -> Result<Read, Error> {
    let head = overview.head.clone();
    let mut read = Read {
        head: head.clone(),
        sources: sources(head.clone()),
        own,
        merge: Merge::Nothing,
        inputs: None,
        bent: None,
        _room: None,
    };
    let compiled = overview.files.contains(&compile::record_path(app));
    let compiles = why.compiles() && compiled;
    if request.is_none() {
        if !compiles {
            return Ok(read);
        }
        let inputs = Inputs::of(instance, app, &overview, why).await?;
        if inputs.are_settled(instance).await? {
            return Ok(read);
        }
        read.inputs = Some(inputs);
    }
    read.merge = if why == Reason::Upstream { Merge::Upstream } else { Merge::Changed };
    let sources = &mut read.sources;
    sources.files = overview.files.clone();
    sources.files.extend(read.own.clone());
    if matches!(request, Some(Request::Add { .. } | Request::Update { .. } | Request::Resolve { .. }))
        || why == Reason::Upstream
    {
        sources.origins = instance.secrets.read()?.origins().clone();
    }
    let standing = compile::record_of(&sources.files, app).ok().flatten();
    let generations = generations(instance, app, &head, standing.as_ref()).await?;
    (sources.base, sources.tip, read.bent) = (generations.base, generations.tip, generations.bent);
    sources.cut_off = generations.cut_off;
    sources.update = update(instance, app, &head).await?;
    decided(instance, app, (sources, read.bent.as_ref()), request).await?;
    before(instance, app, (sources, overview.as_ref()), request).await?;
    if let Ok(settings) = overview.settings() {
        let package = match request {
            Some(Request::Add { package, .. }) => Some(package.clone()),
            Some(Request::Adopt { package: Some(package), .. }) => Some(package.clone()),
            Some(Request::Adopt { app, package: None }) => PackageName::parse(app.as_str()).ok(),
            _ => compile::record_of(&sources.files, app).ok().flatten().map(|record| record.package),
        };
        if let Some(package) = package {
            let installed = standing.as_ref().map(|record| record.version.as_str());
            sources.packages = packages(instance, &settings, &package, older_versions(request, installed)).await?;
            if matches!(request, Some(Request::Adopt { .. })) {
                for known in &mut sources.packages {
                    known.versions = versions(instance, &known.commit, &known.directory.path, &package).await?;
                }
            }
        }
    }
    Ok(read)
}

/// Reads what an app of this name was before, as far as a request asks for it.
async fn before(
    instance: &Instance,
    app: &AppName,
    (sources, overview): (&mut Sources, &Overview),
    request: Option<&Request>,
) -> Result<(), Error> {
    let is_there = overview.apps.contains_key(app);
    match request {
        Some(Request::Add { .. }) if !is_there => {
            sources.outlived = outlived(instance, app, &overview.head).await?;
        }
        Some(Request::Delete { .. }) if !is_there => {
            sources.removed = removed(instance, app, &overview.head).await?.map(|removed| removed.data);
        }
        Some(Request::Rollback { to, .. }) => {
            // What it was allowed when it went is what it is allowed again: a word that was taken back before stays taken back.
            let last = if is_there { None } else { last_with(instance, app, &overview.head).await? };
            let mut past = instance.tree.read_tree(last.as_ref().unwrap_or(to), &[SETTINGS_PATH, GENERATED]).await?;
            let record = compile::record_path(app);
            past.remove_below(&record);
            past.extend(instance.tree.read_tree(to, &["config.yaml", &record, &format!("apps/{app}")]).await?);
            sources.past = Some(past);
        }
        _ => {}
    }
    Ok(())
}

fn sources(head: CommitId) -> Sources {
    Sources {
        head,
        files: FileTree::new(),
        origins: SecretOrigins::default(),
        outlived: Vec::new(),
        base: None,
        tip: None,
        packages: Vec::new(),
        update: None,
        remembered: Remembered::default(),
        cut_off: None,
        by_hand: None,
        merges: Vec::new(),
        past: None,
        adoptable: Vec::new(),
        removed: None,
    }
}

/// Reads what people decided about conflicts of an app, and the merges by hand that say more of it.
async fn decided(
    instance: &Instance,
    app: &AppName,
    (sources, bent): (&mut Sources, Option<&Bent>),
    request: Option<&Request>,
) -> Result<(), Error> {
    sources.remembered = remembered(instance, app).await?;
    if let (Some(base), None) = (&sources.base, bent) {
        sources.by_hand = ancestry::by_hand(instance, app, &sources.head, base).await?;
    }
    if let (Some(Request::Learn { .. }), Some(tip)) = (request, &sources.tip) {
        sources.merges = ancestry::merges(instance, app, &sources.head, &tip.commit).await?;
    }
    Ok(())
}

/// Reads what people decided about conflicts of an app.
pub async fn remembered(instance: &Instance, app: &AppName) -> Result<Remembered, Error> {
    let Some(tip) = instance.repository.read_ref(RESOLUTIONS_REF).await? else { return Ok(Remembered::default()) };
    Ok(Remembered::read(&instance.tree.read_tree(&tip, &[app.as_str()]).await?, app))
}

/// Which older versions of a package are read.
#[derive(Clone, Copy)]
enum Older<'a> {
    None,
    /// The one that a request names, with its files.
    Named(&'a str),
    /// All behind the installed one, if the package allows certain steps only; their manifests alone.
    Since(&'a str),
}

/// Returns the older versions that a request asks for.
fn older_versions<'a>(request: Option<&'a Request>, installed: Option<&'a str>) -> Older<'a> {
    match (request, installed) {
        (Some(Request::Add { version: Some(version), .. } | Request::Update { to: Some(version), .. }), _) => {
            Older::Named(version)
        }
        (Some(Request::Update { to: None, .. }), Some(installed)) => Older::Since(installed),
        _ => Older::None,
    }
}

/// Reads the update that waits, if one does. A branch of its name that somebody else made is none.
async fn update(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Option<UpdateBranch>, Error> {
    let repository = &instance.repository;
    let Some(tip) = proposed::tip(instance, &update_ref(instance, app)).await? else { return Ok(None) };
    let (record, own) = (compile::record_path(app), format!("apps/{app}"));
    let conflicts = merge::conflicts_path(app);
    let paths = ["config.yaml", SETTINGS_PATH, record.as_str(), own.as_str(), conflicts.as_str()];
    let files = instance.tree.read_tree(&tip, &paths).await?;
    // Not the merge base: after a squash merge that was joined, the generation is one as well.
    let (mut fork, mut strangers, mut ends) = (None, false, false);
    for commit in repository.first_parent_log(&tip, MAX_VERSION_WALK, &[]).await? {
        if repository.is_ancestor(&commit.id, head).await? {
            fork = fork.or(Some(commit.id));
            ends = true;
            break;
        }
        let is_ours = commit.committer == instance.committer;
        let merged = commit.trailer(FORK).filter(|_| is_ours).and_then(|text| CommitId::parse(text).ok());
        fork = fork.or(merged);
        strangers |= !is_ours;
    }
    let authors = if strangers || !ends { Authors::People } else { Authors::OnlyUs };
    let fork = match fork {
        Some(fork) => instance.tree.read_tree(&fork, &paths).await?,
        None => FileTree::new(),
    };
    let name = instance.tree.subdirectory().update_branch(app);
    Ok(Some(UpdateBranch { name, tip, files, fork, authors }))
}

/// Reads a package from every upstream that has it, and the older versions that a request asks for. One that breaks a rule says so itself.
async fn packages(
    instance: &Instance,
    settings: &Settings,
    package: &PackageName,
    older: Older<'_>,
) -> Result<Vec<UpstreamPackage>, Error> {
    let mut found = Vec::new();
    for directory in &settings.directories {
        let Some(commit) = vouched::followed(instance, directory).await? else { continue };
        let mut here = Vec::new();
        for place in package::directories(&directory.path, package) {
            let (files, broken) = match files_at(&instance.repository, &commit, &place).await? {
                Ok(files) => (files.below(&place), None),
                Err(finding) => (FileTree::new(), Some(finding)),
            };
            if files.is_empty() && broken.is_none() {
                continue;
            }
            let versions = match older {
                Older::Named(version) => named(instance, &commit, &place, version).await?,
                Older::Since(installed) if has_steps(&files) => since(instance, &commit, &place, installed).await?,
                Older::Since(_) | Older::None => Vec::new(),
            };
            let (directory, commit, name) = (directory.clone(), commit.clone(), package.clone());
            here.push((place, UpstreamPackage { directory, commit, name, files, broken, versions }));
        }
        found.extend(one_of(package, here));
    }
    Ok(found)
}

/// Returns the one package that an upstream has of a name; of two nobody can say which was meant. A directory without manifest, and a link in
/// place of a directory, are none beside one that is.
fn one_of(name: &PackageName, here: Vec<(String, UpstreamPackage)>) -> Option<UpstreamPackage> {
    let is_certain = |place: &str, found: &UpstreamPackage| match &found.broken {
        Some(finding) => finding.file != place,
        None => package::MANIFESTS.iter().any(|manifest| found.files.contains(manifest)),
    };
    let certain: Vec<usize> = (0..).zip(&here).filter(|(_, (at, it))| is_certain(at, it)).map(|(at, _)| at).collect();
    let places: Vec<String> = certain.iter().filter_map(|at| here.get(*at)).map(|(place, _)| place.clone()).collect();
    let (_, first) = here.into_iter().nth(certain.first().copied().unwrap_or_default())?;
    if places.len() < 2 {
        return Some(first);
    }
    Some(UpstreamPackage { files: FileTree::new(), broken: Some(package::doubled(name, &places)), ..first })
}

/// Returns a package as it was at every commit that changed it, newest first; the newest of all is left out, and so is what breaks a rule.
async fn versions(
    instance: &Instance,
    head: &CommitId,
    path: &str,
    package: &PackageName,
) -> Result<Vec<PackageVersion>, Error> {
    let mut found = Vec::new();
    for place in package::directories(path, package) {
        for commit in instance.repository.first_parent_log(head, MAX_VERSION_WALK, &[&place]).await?.into_iter().skip(1)
        {
            let Some(version) = version_at(instance, &commit.id, &place).await? else { continue };
            if let Ok(files) = files_at(&instance.repository, &commit.id, &place).await? {
                let files = files.below(&place);
                found.push(PackageVersion { version, commit: commit.id, files, broken: None });
            }
        }
    }
    Ok(found)
}

/// Returns the newest upstream commit whose manifest says a version, with the package's files there.
async fn named(instance: &Instance, head: &CommitId, place: &str, version: &str) -> Result<Vec<PackageVersion>, Error> {
    for commit in instance.repository.first_parent_log(head, MAX_VERSION_WALK, &[place]).await? {
        let said = version_at(instance, &commit.id, place).await?;
        if said.as_deref() == Some(version) {
            let (files, broken) = match files_at(&instance.repository, &commit.id, place).await? {
                Ok(files) => (files.below(place), None),
                Err(finding) => (FileTree::new(), Some(finding)),
            };
            return Ok(vec![PackageVersion { version: version.to_owned(), commit: commit.id, files, broken }]);
        }
    }
    Ok(Vec::new())
}

/// Returns whether a package says from which versions it is reached.
fn has_steps(files: &FileTree) -> bool {
    files.text(package::manifest_of(files)).is_some_and(|text| text.contains("upgradePath"))
}

/// Returns the versions of a package down to the installed one, each with the manifest of its newest commit.
async fn since(
    instance: &Instance,
    head: &CommitId,
    place: &str,
    installed: &str,
) -> Result<Vec<PackageVersion>, Error> {
    let mut found: Vec<PackageVersion> = Vec::new();
    let manifest = format!("{place}/{}", package::MANIFEST);
    for commit in instance.repository.first_parent_log(head, MAX_VERSION_WALK, &[place]).await? {
        let Some(version) = version_at(instance, &commit.id, place).await? else { continue };
        if version == installed {
            break;
        }
        if found.iter().all(|known| known.version != version) {
            let files = instance.repository.read_tree(&commit.id, &[&manifest]).await?.below(place);
            found.push(PackageVersion { version, commit: commit.id, files, broken: None });
        }
    }
    Ok(found)
}

/// What a committed revision says about one app.
pub(super) struct Sight {
    /// `apps/<app>/**` and the record.
    pub(super) files: FileTree,
    /// All apps of that revision.
    pub(super) overview: Arc<Overview>,
    /// Settings of the instance.
    pub(super) settings: Arc<Settings>,
    /// Whether the app is there.
    pub(super) presence: Presence,
    /// Name of the cluster that it is to live on, or was to before it was removed; empty for the first one.
    pub(super) context: String,
    /// Of an app that was removed, what was said about its data.
    pub(super) data: Option<DataFate>,
    /// Of an app that was removed, how many others the same commit removed.
    pub(super) along: usize,
    /// Of an app that was removed, what `files` was before.
    pub(super) last: FileTree,
    /// Of an app that was removed, what it was granted before: its last hooks run by that.
    pub(super) granted: Option<Grants>,
}

/// Reads back from a commit what is to be applied of one app. What the read step found there is not read again.
pub(super) async fn desired(
    instance: &Instance,
    app: &AppName,
    commit: &CommitId,
    read: &Read,
) -> Result<Sight, Error> {
    let overview = overview_of(instance, commit).await?;
    let files = match read.head == *commit {
        true => read.own.clone(),
        false => own(instance, app, &overview).await?,
    };
    let settings = brakes::judging(instance, app, overview.settings()?).await;
    let mut along = 0;
    let (presence, data, before) = if overview.apps.contains_key(app) {
        // A record that does not read must not undeploy the app, so only a clear word counts.
        match compile::record_of(&files, app) {
            Ok(Some(record)) if !record.deployed => (Presence::Added, None, None),
            _ => (Presence::Kept, None, None),
        }
    } else {
        let removed = removed(instance, app, commit).await?;
        along = removed.as_ref().map_or(0, |removed| removed.along);
        let data = removed.as_ref().map(|removed| removed.data);
        (presence(data), data, removed.and_then(|removed| removed.before))
    };
    let former = match &before {
        // The commit that removes an app may remove what the settings say of it.
        Some(before) => overview::settings_at(&instance.tree, before, Some(&instance.id)).await?.ok(),
        None => None,
    };
    let context = former.as_ref().unwrap_or(&settings).context_of(app.as_str()).to_owned();
    let granted = former.map(|former| former.grants_of(app.as_str()));
    let last = match &before {
        Some(before) => instance.tree.read_tree(before, &[&format!("apps/{app}"), &compile::record_path(app)]).await?,
        None => FileTree::new(),
    };
    Ok(Sight { files, overview, settings, presence, context, data, along, last, granted })
}

/// Reads the files of an app and its record.
pub(super) async fn own(instance: &Instance, app: &AppName, overview: &Overview) -> Result<FileTree, Error> {
    if !overview.apps.contains_key(app) {
        return Ok(overview.pick(&[&compile::record_path(app)]));
    }
    let mut files = instance.tree.read_tree(&overview.head, &[&format!("apps/{app}")]).await?;
    files.extend(overview.pick(&[&compile::record_path(app)]));
    Ok(files)
}

/// Reads as [`own`] does if the files hold so many bytes together at most; else returns how many they hold.
async fn own_up_to(
    instance: &Instance,
    app: &AppName,
    overview: &Overview,
    most: u64,
) -> Result<Result<FileTree, u64>, Error> {
    if !overview.apps.contains_key(app) {
        return own(instance, app, overview).await.map(Ok);
    }
    let read = instance.tree.read_tree_up_to(&overview.head, &format!("apps/{app}"), most).await?;
    Ok(read.map(|mut files| {
        files.extend(overview.pick(&[&compile::record_path(app)]));
        files
    }))
}

/// How an app was removed on purpose.
struct Removed {
    /// What becomes of its data.
    data: DataFate,
    /// The commit before.
    before: Option<CommitId>,
    /// How many other apps the same commit names.
    along: usize,
}

/// Returns what the commit that removed an app's directory says about that, if it says that the removal was meant.
async fn removed(instance: &Instance, app: &AppName, commit: &CommitId) -> Result<Option<Removed>, Error> {
    let log = instance.tree.first_parent_log(commit, MAX_REMOVAL_WALK, &[&format!("apps/{app}")]).await?;
    let Some(last) = log.first() else { return Ok(None) };
    let named: BTreeSet<&str> = last.trailers("Wild-Delete").collect();
    if !named.contains(app.as_str()) {
        return Ok(None);
    }
    let data = match last.trailer("Wild-Delete-Data") {
        Some("delete") => DataFate::Delete,
        Some("delete-now") => DataFate::DeleteNow,
        _ => DataFate::Keep,
    };
    Ok(Some(Removed { data, before: last.parents.first().cloned(), along: named.len() - 1 }))
}

/// Returns the last commit that had an app which is gone; nothing if there never was one.
async fn last_with(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Option<CommitId>, Error> {
    let log = instance.tree.first_parent_log(head, MAX_REMOVAL_WALK, &[&format!("apps/{app}")]).await?;
    Ok(log.first().and_then(|removal| removal.parents.first().cloned()))
}

/// Returns the secrets that were granted to an app of this name by the commit that removed it; nothing if there never was one.
async fn outlived(instance: &Instance, app: &AppName, head: &CommitId) -> Result<Vec<String>, Error> {
    let log = instance.tree.first_parent_log(head, MAX_REMOVAL_WALK, &[&format!("apps/{app}")]).await?;
    let Some(removal) = log.first() else { return Ok(Vec::new()) };
    let settings = overview::settings_at(&instance.tree, &removal.id, Some(&instance.id)).await?;
    Ok(settings.map(|settings| settings.grants_of(app.as_str()).secrets).unwrap_or_default())
}

/// Returns the apps that the newest commits of the deployed branch removed on purpose.
pub async fn departed(instance: &Instance) -> Result<BTreeSet<AppName>, Error> {
    let overview = overview(instance).await?;
    let log = instance.tree.first_parent_log(&overview.head, MAX_DEPARTED, &["apps"]).await?;
    let named = log.iter().flat_map(|commit| commit.trailers("Wild-Delete")).filter_map(|app| AppName::parse(app).ok());
    Ok(named.filter(|app| !overview.apps.contains_key(app)).collect())
}

/// Returns how an app is gone of which this was said.
fn presence(data: Option<DataFate>) -> Presence {
    match data {
        Some(DataFate::Keep) => Presence::RemovedKeepingData,
        Some(DataFate::Delete | DataFate::DeleteNow) => Presence::RemovedWithData,
        None => Presence::Vanished,
    }
}

/// Returns the open conflicts of an app's waiting update.
pub async fn conflicts(instance: &Instance, app: &AppName) -> Result<Vec<Conflict>, Error> {
    let list = conflicts_file(instance, app).await?;
    Ok(list.map(|list| list.conflicts.into_iter().map(|open| open.conflict).collect()).unwrap_or_default())
}

/// Returns what is open and what is decided of an app's waiting update; nothing if none waits or the list does not read.
pub async fn conflicts_file(instance: &Instance, app: &AppName) -> Result<Option<ConflictsFile>, Error> {
    let Some(tip) = proposed::tip(instance, &update_ref(instance, app)).await? else { return Ok(None) };
    let path = merge::conflicts_path(app);
    let files = instance.tree.read_tree(&tip, &[&path]).await?;
    Ok(files.text(&path).and_then(|text| ConflictsFile::read(&path, text).ok()))
}

/// Reads what a request about the instance itself may change.
pub(super) async fn whole(instance: &Instance) -> Result<Read, Error> {
    let overview = overview(instance).await?;
    let head = overview.head.clone();
    let files = overview.pick(&["config.yaml", SETTINGS_PATH]);
    let sources = Sources { files, ..sources(head.clone()) };
    Ok(Read { head, sources, own: FileTree::new(), merge: Merge::Nothing, inputs: None, bent: None, _room: None })
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

/// Reads the committed settings of the instance.
pub async fn settings(instance: &Instance) -> Result<Arc<Settings>, Error> {
    overview(instance).await?.settings()
}

/// Returns the version that a package has in a commit; nothing if it is not there, does not read or breaks a rule.
pub(super) async fn version_at(instance: &Instance, commit: &CommitId, place: &str) -> Result<Option<String>, Error> {
    let manifests = [package::MANIFEST, package::SERVICE_MANIFEST].map(|name| format!("{place}/{name}"));
    let files = match instance.repository.read_tree(commit, &manifests.each_ref().map(String::as_str)).await {
        Ok(files) => files.below(place),
        Err(error) if error.hostile().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // The name only fills in defaults that nobody looks at here.
    let Ok(name) = PackageName::parse("package") else { return Ok(None) };
    let manifest = package::manifest_of(&files);
    let read = files.text(manifest).and_then(|text| package::read_manifest(manifest, &name, text).ok());
    match read.map(|read| read.manifest) {
        // A service that says no version has that of its files, which are read for it.
        Some(read) if read.dialect == PackageDialect::Service => {
            let Ok(files) = files_at(&instance.repository, commit, place).await? else { return Ok(None) };
            Ok(package::load(&name, &files.below(place)).ok().map(|package| package.manifest.version))
        }
        read => Ok(read.map(|read| read.version)),
    }
}
