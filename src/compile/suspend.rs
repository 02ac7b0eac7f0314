//! Pure. Suspends an app and resumes it: an entry in `.wild/config.yaml`, so that it holds on every device and survives a restart.
//!
//! Not here: what follows from it (`plan::suspend`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::edit::subject;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{SETTINGS, Sources, apps_of, settings_of};
use super::update::is_there;
use crate::base::{RepoPath, Timestamp};
use crate::model::{AppName, File, Suspension};
use crate::yaml;

/// Key of the entry in the section of an app.
const SUSPEND: &str = "suspend";

/// Suspends an app, or changes why and until when.
pub(super) fn suspend(app: &AppName, sources: &Sources, wanted: &Suspension) -> Result<Proposal, Refusal> {
    let what = format!("suspend {app}");
    if !wanted.until.is_empty() && Timestamp::parse(&wanted.until).is_err() {
        let because = format!("{} is no time such as 2027-01-31T00:00:00Z", wanted.until);
        return Err(Refusal::user(what, because, "wild app suspend --help"));
    }
    let mut entry = Map::from_iter([("reason".to_owned(), Value::from(wanted.reason.as_str()))]);
    if !wanted.until.is_empty() {
        entry.insert("until".to_owned(), Value::from(wanted.until.as_str()));
    }
    let same = known(app, sources, &what)?.as_ref() == Some(wanted);
    let edit = |text: &str| yaml::edit::set(SETTINGS, text, &["apps", app.as_str(), SUSPEND], &Value::Object(entry));
    change(app, sources, &what, (!same).then_some(edit), &wanted.reason)
}

/// Resumes an app.
pub(super) fn resume(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let what = format!("resume {app}");
    let suspended = known(app, sources, &what)?.is_some();
    let edit = |text: &str| yaml::edit::unset(SETTINGS, text, &["apps", app.as_str(), SUSPEND]);
    change(app, sources, &what, suspended.then_some(edit), "")
}

/// Returns how an app is suspended now.
fn known(app: &AppName, sources: &Sources, what: &str) -> Result<Option<Suspension>, Refusal> {
    if !is_there(app, sources) {
        return Err(no_such_app(
            what.split(' ').next().unwrap_or_default(),
            app,
            apps_of(&sources.files).keys().map(AppName::as_str),
        ));
    }
    let settings = settings_of(&sources.files)
        .map_err(|findings| Refusal::found(what.to_owned(), "git log -p -- .wild/config.yaml", findings))?;
    Ok(settings.suspension_of(app.as_str()))
}

fn change(
    app: &AppName,
    sources: &Sources,
    what: &str,
    edit: Option<impl FnOnce(&str) -> Result<String, Vec<crate::model::Diagnostic>>>,
    body: &str,
) -> Result<Proposal, Refusal> {
    let mut proposal = Proposal::nothing(app);
    let (Some(edit), Ok(path)) = (edit, RepoPath::parse(SETTINGS)) else { return Ok(proposal) };
    let text = edit(sources.files.text(SETTINGS).unwrap_or_default())
        .map_err(|findings| Refusal::found(what.to_owned(), "git log -p -- .wild/config.yaml", findings))?;
    let verb = what.split(' ').next().unwrap_or_default();
    proposal.main = Some(TreeEdit {
        changes: BTreeMap::from([(path, Some(File::text(&text)))]),
        subject: subject("config", app.as_str(), verb),
        body: body.to_owned(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    });
    let summary = match verb {
        "suspend" => format!("{app} is suspended: nothing of it is written until it is resumed"),
        _ => format!("{app} is resumed"),
    };
    proposal.summary = vec![summary];
    Ok(proposal)
}
