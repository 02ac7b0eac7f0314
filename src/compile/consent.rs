//! Pure. A person's word about secrets of other apps: what an app asks for, what is granted, and the commit that says so.
//!
//! `.wild/config.yaml` is the one place where grants stand; adding or updating an app never gives one by itself. Not here: what a grant allows
//! (`package::Consents`), copying (`package::settle`), holding an app back that lacks one (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::record_of;
use super::refusal::{Refusal, no_such_app};
use super::section::{self, Change};
use super::sources::{Sources, apps_of, config_of, settings_of};
use super::update::view;
use super::{Explanation, proposal::Proposal};
use crate::model::{AppName, Diagnostic, FileTree, PackageName, SETTINGS_PATH, SecretOrigins};
use crate::package::{self, Consent, Consents, MANIFEST, ResolveInput, SecretCopy, SecretGrant, SecretNeeds};
use crate::yaml;

/// Rule of a secret that nobody granted.
pub const NOT_GRANTED: &str = "P067";

/// A request that may bring grants along.
pub(super) struct Asking<'a> {
    /// The app that would read.
    pub(super) app: &'a AppName,
    /// What is attempted, for a refusal.
    pub(super) what: String,
    /// The command that was meant, without grants.
    pub(super) command: String,
    /// The grants that a person gave with it.
    pub(super) given: &'a [String],
}

/// What came of a request for grants.
pub(super) struct Agreed {
    /// The needs of the app with a judgement of every copy, all of which may be made.
    pub(super) needs: SecretNeeds,
    /// All keys that it may read.
    pub(super) granted: Vec<String>,
    /// The grants that were not on record before.
    pub(super) new: Vec<String>,
}

/// What an app says of its secrets to others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exports {
    /// It is not there, or its manifest does not read.
    Unknown,
    /// It says nothing of exports.
    Unsaid,
    /// It exports these keys and no others.
    Only(Vec<String>),
}

impl Exports {
    /// Returns the keys, if it lists them.
    fn listed(self) -> Option<Vec<String>> {
        match self {
            Self::Only(keys) => Some(keys),
            Self::Unknown | Self::Unsaid => None,
        }
    }
}

/// Returns what the settings grant an app, and what the owners of what it reads export, as `files` have it.
pub fn consents(files: &FileTree, granted: &[String], needs: &SecretNeeds, origins: &SecretOrigins) -> Consents {
    let owners: BTreeSet<&AppName> = needs.copies.iter().map(|copy| &copy.from_app).collect();
    let exports = owners.into_iter().map(|owner| (owner.clone(), exports_of(files, owner).listed())).collect();
    Consents::new(granted, exports, origins)
}

/// Returns what an app says of its secrets by its committed manifest.
pub fn exports_of(files: &FileTree, owner: &AppName) -> Exports {
    let path = format!("apps/{owner}/{MANIFEST}");
    let name = match record_of(files, owner) {
        Ok(Some(record)) => Some(record.package),
        Ok(None) | Err(_) => PackageName::parse(owner.as_str()).ok(),
    };
    let read = name.zip(files.text(&path)).and_then(|(name, text)| package::read_manifest(&path, &name, text).ok());
    match read.map(|read| read.manifest.exports) {
        None => Exports::Unknown,
        Some(None) => Exports::Unsaid,
        Some(Some(keys)) => Exports::Only(keys),
    }
}

/// Refuses needs that nobody granted, and grants that nothing needs; returns the needs with all that is agreed to.
pub(super) fn agree(asking: &Asking<'_>, sources: &Sources, needs: SecretNeeds) -> Result<Agreed, Refusal> {
    let Asking { app, what, .. } = asking;
    let refuse = |findings| Refusal::found(what.clone(), "git log -p -- .wild/config.yaml", findings);
    let mut granted = settings_of(&sources.files).map_err(refuse)?.grants_of(app.as_str()).secrets;
    granted.retain(|grant| !sources.outlived.contains(grant));
    let new: Vec<String> = given(asking)?.into_iter().filter(|grant| !granted.contains(grant)).collect();
    granted.extend(new.iter().cloned());
    let consents = consents(&sources.files, &granted, &needs, &sources.origins);
    let asked: Vec<SecretGrant> = needs.copies.iter().flat_map(|copy| consents.needed(app, copy)).collect();
    refuse_unasked(asking, &asked)?;
    let needs = needs.judged(&consents);
    let kept: Vec<Diagnostic> = needs.copies.iter().filter_map(|copy| not_exported(app, copy)).collect();
    if !kept.is_empty() {
        return Err(Refusal::found(what.clone(), "wild directory fetch, once it was corrected there", kept));
    }
    let missing = needs.missing_grants();
    if missing.is_empty() {
        granted.retain(|text| asked.iter().any(|grant| grant.to_string() == *text));
        return Ok(Agreed { needs, granted, new });
    }
    Err(ungranted(asking, &consents, &missing))
}

/// Reads the grants of a request.
fn given(asking: &Asking<'_>) -> Result<Vec<String>, Refusal> {
    let read = |text: &String| SecretGrant::parse(text).map(|grant| grant.to_string());
    let wrong = |because| Refusal::user(asking.what.clone(), because, format!("{} --grant APP.KEY", asking.command));
    asking.given.iter().map(read).collect::<Result<_, _>>().map_err(wrong)
}

/// Refuses a grant that the app has no use for: most likely it is misspelt, and it would stand there for whatever comes.
fn refuse_unasked(asking: &Asking<'_>, asked: &[SecretGrant]) -> Result<(), Refusal> {
    let unasked = asking.given.iter().find(|text| asked.iter().all(|grant| grant.to_string() != **text));
    let Some(unasked) = unasked else { return Ok(()) };
    let names: Vec<String> = asked.iter().map(ToString::to_string).collect();
    let because = match names.as_slice() {
        [] => format!("{} reads no secret of another app, so {unasked} grants nothing", asking.app),
        names => format!("{} does not read {unasked}; it reads {}", asking.app, names.join(", ")),
    };
    Err(Refusal::user(asking.what.clone(), because, with_grants(&asking.command, &names)))
}

/// Returns what is told of a secret that its owner keeps for itself.
fn not_exported(app: &AppName, copy: &SecretCopy) -> Option<Diagnostic> {
    let Consent::NotExported(exports) = &copy.consent else { return None };
    let (key, owner) = (&copy.key, &copy.from_app);
    let exports = match exports.as_slice() {
        [] => "exports none".to_owned(),
        keys => format!("exports only {}", keys.join(", ")),
    };
    let message = format!("{app} reads the secret {key} of {owner}, which {exports}");
    Some(Diagnostic::error("P060", MANIFEST, 0, message))
}

/// Returns the refusal of secrets that nobody granted: key, owner and reader of each, and the line to type.
fn ungranted(asking: &Asking<'_>, consents: &Consents, missing: &[SecretGrant]) -> Refusal {
    let app = asking.app;
    let found = |grant: &SecretGrant| {
        let SecretGrant { owner, key } = grant;
        let export = if consents.is_exported(grant) { "exports it" } else { "does not say that others may read it" };
        let message = format!("{app} asks for the secret {key} of {owner}, which {export}");
        Diagnostic { subject: grant.to_string(), ..Diagnostic::error(NOT_GRANTED, MANIFEST, 0, message) }
    };
    let diagnostics: Vec<Diagnostic> = missing.iter().map(found).collect();
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let told: Vec<&str> = diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    Refusal::Blocked(Box::new(Explanation {
        what: asking.what.clone(),
        because: format!("{}; nobody granted that", told.join("; ")),
        remedy: with_grants(&with_grants(&asking.command, asking.given), &names),
        diagnostics,
    }))
}

/// Returns a command that gives grants.
pub(super) fn with_grants(command: &str, grants: &[String]) -> String {
    grants.iter().fold(command.to_owned(), |command, grant| format!("{command} --grant {grant}"))
}

/// Writes grants of an app into the settings.
pub(super) fn write_grants(text: &str, app: &AppName, granted: &[String]) -> Result<String, Vec<Diagnostic>> {
    yaml::edit::set(SETTINGS_PATH, text, &["apps", app.as_str(), "grants", "secrets"], &Value::from(granted.to_vec()))
}

/// Takes back what was granted of an app that is gone or comes anew: its name alone says nothing of who bears it. Returns the text and who may
/// read it no longer.
pub(super) fn take_back(
    files: &FileTree,
    text: &str,
    owner: &AppName,
) -> Result<(String, Vec<String>), Vec<Diagnostic>> {
    let settings = settings_of(files)?;
    let is_of_owner = |grant: &String| grant.split_once('.').is_some_and(|(app, _)| app == owner.as_str());
    let mut readers = Vec::new();
    let mut text = text.to_owned();
    for (app, own) in &settings.apps {
        let kept: Vec<String> = own.grants.secrets.iter().filter(|grant| !is_of_owner(grant)).cloned().collect();
        if kept.len() < own.grants.secrets.len() {
            let path = ["apps", app.as_str(), "grants", "secrets"];
            text = match kept.is_empty() {
                true => yaml::edit::unset(SETTINGS_PATH, &text, &path)?,
                false => yaml::edit::set(SETTINGS_PATH, &text, &path, &Value::from(kept))?,
            };
            readers.push(app.clone());
        }
    }
    Ok((text, readers))
}

/// Grants an app that is there keys of others, in a commit of its own.
pub(super) fn grant(app: &AppName, sources: &Sources, secrets: &[String]) -> Result<Proposal, Refusal> {
    let settings = section::settings(app, "grant", sources)?;
    let what = format!("grant {app} {}", secrets.join(", "));
    let command = format!("wild app deploy {app}");
    let asking = Asking { app, what: what.clone(), command, given: secrets };
    let given = given(&asking)?;
    let apps = apps_of(&sources.files);
    for grant in given.iter().filter_map(|text| SecretGrant::parse(text).ok()) {
        if !apps.contains_key(&grant.owner) {
            return Err(no_such_app("read a secret of", &grant.owner, apps.keys().map(AppName::as_str)));
        }
        let exports = exports_of(&sources.files, &grant.owner).listed();
        if exports.as_ref().is_some_and(|exports| !exports.contains(&grant.key)) {
            let because = format!("{} exports only {}", grant.owner, exports.unwrap_or_default().join(", "));
            return Err(Refusal::user(what, because, format!("wild app show {}", grant.owner)));
        }
    }
    let mut granted = settings.grants_of(app.as_str()).secrets;
    let new: Vec<String> = given.into_iter().filter(|grant| !granted.contains(grant)).collect();
    if new.is_empty() {
        let summary = vec![format!("{app} may read the secrets {} already", secrets.join(", "))];
        return Ok(Proposal { summary, ..Proposal::nothing(app) });
    }
    granted.extend(new.iter().cloned());
    let summary = may_read(app, &new);
    section::commit(sources, Change { app, verb: "grant", body: &summary, summary: summary.clone() }, |text| {
        write_grants(text, app, &granted)
    })
}

/// Takes what was agreed to into the proposal of an update: its grants stand in the commit of the update, or, while that waits for decisions, in
/// one of their own.
pub(super) fn record(sources: &Sources, agreed: &Agreed, proposal: &mut Proposal) -> Result<(), Refusal> {
    proposal.needs = agreed.needs.clone();
    if agreed.new.is_empty() {
        return Ok(());
    }
    let granting = grant(&agreed.needs.app, sources, &agreed.new)?;
    match (&mut proposal.main, granting.main) {
        (Some(main), Some(granting)) => main.changes.extend(granting.changes),
        (none @ None, granting) => *none = granting,
        (Some(_), None) => {}
    }
    proposal.summary.extend(granting.summary);
    Ok(())
}

/// Refuses to land an update that reads what nobody granted.
pub(super) fn refuse_ungranted(app: &AppName, sources: &Sources, proposal: &Proposal) -> Result<(), Refusal> {
    if proposal.main.is_none() {
        return Ok(());
    }
    let asking = Asking { app, what: format!("resolve {app}"), command: format!("wild app resolve {app}"), given: &[] };
    agree(&asking, sources, proposal.needs.clone()).map(drop)
}

/// Says what an app may read from now on.
pub(super) fn may_read(app: &AppName, grants: &[String]) -> String {
    format!("{app} may read the secrets {}", grants.join(", "))
}

/// Returns what templates of an app's secrets see, as the committed files have it; nothing of an app that is made from no package.
pub fn secret_context(app: &AppName, files: &FileTree) -> Option<Value> {
    let record = record_of(files, app).ok()??;
    let package = package::load(&record.package, &view(files, app)).ok()?;
    let config = config_of(files).ok()?;
    let path = format!("apps/{app}/{MANIFEST}");
    let copy = package::read_manifest(&path, &record.package, files.text(&path)?).ok()?.manifest;
    let bindings: BTreeMap<String, AppName> = package::bindings_of(&copy);
    let input = ResolveInput { app, package: &package, bindings: &bindings, config: &config };
    package::resolve(&input).ok().map(|resolved| resolved.context)
}
