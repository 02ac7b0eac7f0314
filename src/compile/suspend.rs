//! Pure. Suspends an app and resumes it: an entry in `.wild/config.yaml`, so that it holds on every device and survives a restart.
//!
//! Not here: what follows from it (`plan::suspend`).

use serde_json::{Map, Value};

use super::proposal::Proposal;
use super::refusal::Refusal;
use super::section::{self, Change};
use super::sources::Sources;
use crate::model::{AppName, SETTINGS_PATH, Suspension};
use crate::yaml;

/// Key of the entry in the section of an app.
const SUSPEND: &str = "suspend";

/// Suspends an app, or changes why and until when.
pub(super) fn suspend(app: &AppName, sources: &Sources, wanted: &Suspension) -> Result<Proposal, Refusal> {
    section::check_until(app, "suspend", &wanted.until, "wild app suspend --help")?;
    if section::settings(app, "suspend", sources)?.suspension_of(app.as_str()).as_ref() == Some(wanted) {
        return Ok(Proposal::nothing(app));
    }
    let mut entry = Map::from_iter([("reason".to_owned(), Value::from(wanted.reason.as_str()))]);
    if !wanted.until.is_empty() {
        entry.insert("until".to_owned(), Value::from(wanted.until.as_str()));
    }
    let summary = format!("{app} is suspended: nothing of it is written until it is resumed");
    section::commit(sources, Change { app, verb: "suspend", body: &wanted.reason, summary }, |text| {
        yaml::edit::set(SETTINGS_PATH, text, &["apps", app.as_str(), SUSPEND], &Value::Object(entry))
    })
}

/// Resumes an app.
pub(super) fn resume(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    if section::settings(app, "resume", sources)?.suspension_of(app.as_str()).is_none() {
        return Ok(Proposal::nothing(app));
    }
    let summary = format!("{app} is resumed");
    section::commit(sources, Change { app, verb: "resume", body: "", summary }, |text| {
        yaml::edit::unset(SETTINGS_PATH, text, &["apps", app.as_str(), SUSPEND])
    })
}
