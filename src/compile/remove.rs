//! Pure. Removes an app from the tree, in one commit that says so: a tree that just lacks an app deletes nothing.
//!
//! Not here: deleting objects and data (`plan`).

use super::authored;
use super::consent;
use super::edit::{changes, edit_section, put, scope, subject};
use super::proposal::{Fate, Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{CONFIG, Sources, apps_of, config_in, settings_of};
use super::update::is_there;
use super::{record_of, record_path};
use crate::merge::ConfigEdit;
use crate::model::{AppName, DataFate, Diagnostic, FileTree, Grants, PackageName, SETTINGS_PATH};
use crate::package::{self, MANIFEST};
use crate::yaml;

/// Removes an app's files, record and config section.
pub(super) fn remove(app: &AppName, sources: &Sources, data: DataFate) -> Result<Proposal, Refusal> {
    let files = &sources.files;
    if !is_there(app, sources) && !files.contains(&record_path(app)) {
        return again(app, sources, data);
    }
    if settings_of(files).is_ok_and(|settings| settings.suspension_of(app.as_str()).is_some()) {
        let because = "it is suspended, so nothing of it may be deleted".to_owned();
        return Err(Refusal::blocked(format!("delete {app}"), because, format!("wild app resume {app}")));
    }
    let dependents = dependents(app, files);
    if !dependents.is_empty() {
        let names: Vec<&str> = dependents.iter().map(AppName::as_str).collect();
        let because = format!("it is needed by {}", names.join(", "));
        let remedy = names.first().map(|first| format!("wild app delete {first}")).unwrap_or_default();
        return Err(Refusal::blocked(format!("delete {app}"), because, remedy));
    }
    let refuse = |findings| Refusal::found(format!("delete {app}"), "wild app list", findings);
    let before = files.text(CONFIG).unwrap_or_default();
    let config = config_in(before).map_err(refuse)?;
    let mut kept = FileTree::new();
    if files.contains(CONFIG) {
        let section = ConfigEdit { path: Vec::new(), value: None };
        let has_section =
            config.app(app).is_some() || config.at("apps").and_then(|apps| apps.get(app.as_str())).is_some();
        let edits = if has_section { vec![section] } else { Vec::new() };
        put(&mut kept, CONFIG, &edit_section(before, app, &edits).map_err(refuse)?);
    }
    let mut scope = scope(files, app);
    if let Some(text) = without_grants(app, files).map_err(refuse)? {
        put(&mut scope, SETTINGS_PATH, files.text(SETTINGS_PATH).unwrap_or_default());
        put(&mut kept, SETTINGS_PATH, &text);
    }
    let mut proposal = Proposal::nothing(app);
    let (body, fate) = match data {
        DataFate::Keep => ("Volumes and namespace stay.", "keep"),
        DataFate::Delete => ("Volumes and namespace go too.", "delete"),
        DataFate::DeleteNow => ("Volumes and namespace go at once.", "delete-now"),
    };
    let trailer = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    proposal.main = Some(TreeEdit {
        changes: changes(&scope, &kept),
        subject: subject("feat", app.as_str(), "remove"),
        body: body.to_owned(),
        trailers: vec![
            trailer("Wild-App", app.as_str()),
            trailer("Wild-Delete", app.as_str()),
            trailer("Wild-Delete-Data", fate),
        ],
        join: Join::None,
    });
    if sources.update.is_some() {
        proposal.update_branch = Fate::Drop;
    }
    proposal.summary = vec![format!("{app} removed from the repository")];
    proposal.summary.extend(authored::held(app, files));
    Ok(proposal)
}

/// Returns the settings without what the app was allowed and without what others were allowed to read of it, if there was any of that: a later
/// app of this name must not inherit it, on neither side. Settings that do not read stay as they are.
fn without_grants(app: &AppName, files: &FileTree) -> Result<Option<String>, Vec<Diagnostic>> {
    let Ok(settings) = settings_of(files) else { return Ok(None) };
    let before = files.text(SETTINGS_PATH).unwrap_or_default();
    let (mut text, _) = consent::take_back(files, before, app)?;
    if settings.grants_of(app.as_str()) != Grants::default() {
        text = yaml::edit::unset(SETTINGS_PATH, &text, &["apps", app.as_str(), "grants"])?;
    }
    Ok(Some(text).filter(|text| text != before))
}

/// Goes on with a deletion that is committed already and that the cluster may not have ended.
fn again(app: &AppName, sources: &Sources, data: DataFate) -> Result<Proposal, Refusal> {
    let stays = match (sources.removed, data) {
        (None, _) => return Err(no_such_app("delete", app, apps_of(&sources.files).keys().map(AppName::as_str))),
        (Some(DataFate::Keep), DataFate::Delete | DataFate::DeleteNow) => "its volumes and its namespace stay",
        (Some(DataFate::Delete | DataFate::DeleteNow), DataFate::Keep) => "its volumes and its namespace go too",
        (Some(DataFate::Delete), DataFate::DeleteNow) => "its volumes are held for a while",
        (Some(_), _) => {
            let summary = vec![format!("{app} is removed from the repository already")];
            return Ok(Proposal { summary, ..Proposal::nothing(app) });
        }
    };
    let because = format!("it is removed from the repository already, by a commit that says that {stays}");
    Err(Refusal::user(format!("delete {app}"), because, format!("git log -1 -- apps/{app}")))
}

/// Returns the apps whose manifest or record binds a requirement to this one.
fn dependents(app: &AppName, files: &FileTree) -> Vec<AppName> {
    let others = apps_of(files).into_keys().filter(|other| other != app);
    others
        .filter(|other| {
            let record = record_of(files, other).ok().flatten();
            let path = format!("apps/{other}/{MANIFEST}");
            let name = record
                .as_ref()
                .map(|record| record.package.clone())
                .or_else(|| PackageName::parse(other.as_str()).ok());
            let read =
                files.text(&path).zip(name).and_then(|(text, name)| package::read_manifest(&path, &name, text).ok());
            let by_manifest = read.map(|read| package::bindings_of(&read.manifest)).unwrap_or_default();
            let by_record = record.map(|record| record.bindings).unwrap_or_default();
            by_manifest.values().chain(by_record.values()).any(|bound| bound == app)
        })
        .collect()
}
