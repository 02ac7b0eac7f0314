//! Pure. Changes of an app's section in `.wild/config.yaml`: an entry there holds on every device and survives a restart.
//!
//! Not here: which entry (`suspend`, `ignore`), the section in config.yaml (`config`).

use std::collections::BTreeMap;

use super::edit::subject;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{Sources, apps_of, settings_of};
use super::update::is_there;
use crate::base::{RepoPath, Timestamp};
use crate::model::{AppName, Diagnostic, File, SETTINGS_PATH, Settings};

/// What shows how the settings came to be what they are.
const HISTORY: &str = "git log -p -- .wild/config.yaml";

/// A change of a section, in the words of its commit and of its answer.
pub(super) struct Change<'a> {
    pub(super) app: &'a AppName,
    /// The verb, which is what the first line of the commit says.
    pub(super) verb: &'static str,
    /// Text below the first line.
    pub(super) body: &'a str,
    /// What a person reads when it is done.
    pub(super) summary: String,
}

/// Returns the settings, if the app is there.
pub(super) fn settings(app: &AppName, verb: &str, sources: &Sources) -> Result<Settings, Refusal> {
    if !is_there(app, sources) {
        return Err(no_such_app(verb, app, apps_of(&sources.files).keys().map(AppName::as_str)));
    }
    settings_of(&sources.files).map_err(|findings| Refusal::found(format!("{verb} {app}"), HISTORY, findings))
}

/// Refuses a text that is to be a time and is none; an empty one stands for never.
pub(super) fn check_until(app: &AppName, verb: &str, until: &str, remedy: &str) -> Result<(), Refusal> {
    if until.is_empty() || Timestamp::parse(until).is_ok() {
        return Ok(());
    }
    Err(Refusal::user(format!("{verb} {app}"), format!("{until} is no time such as 2027-01-31T00:00:00Z"), remedy))
}

/// Returns the commit that an edit of the settings comes to.
pub(super) fn commit(
    sources: &Sources,
    change: Change<'_>,
    edit: impl FnOnce(&str) -> Result<String, Vec<Diagnostic>>,
) -> Result<Proposal, Refusal> {
    let Change { app, verb, body, summary } = change;
    let mut proposal = Proposal::nothing(app);
    let Ok(path) = RepoPath::parse(SETTINGS_PATH) else { return Ok(proposal) };
    let text = edit(sources.files.text(SETTINGS_PATH).unwrap_or_default())
        .map_err(|findings| Refusal::found(format!("{verb} {app}"), HISTORY, findings))?;
    proposal.main = Some(TreeEdit {
        changes: BTreeMap::from([(path, Some(File::text(&text)))]),
        subject: subject("config", app.as_str(), verb),
        body: body.to_owned(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    });
    proposal.summary = vec![summary];
    Ok(proposal)
}
