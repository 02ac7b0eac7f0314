//! Pure. A deploy applies what is committed; only the first one of an app is a commit, because from then on the app is
//! meant to run.
//!
//! Not here: applying (`plan`, `apply`).

use std::collections::BTreeMap;

use super::edit::subject;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{Sources, apps_of};
use super::update::is_there;
use super::{record, record_of, record_path};
use crate::base::RepoPath;
use crate::model::{AppName, File, GenerationRecord};

/// Marks an app as deployed, if it is not. Of an app that is no longer in the tree a person may approve what is left to do.
pub(super) fn deploy(app: &AppName, sources: &Sources, approve: Option<&str>) -> Result<Proposal, Refusal> {
    if approve.is_some() && !is_there(app, sources) {
        return Ok(Proposal::nothing(app));
    }
    check(app, sources, "deploy")?;
    let record = record_of(&sources.files, app)
        .map_err(|findings| Refusal::found(format!("deploy {app}"), format!("wild app show {app}"), findings))?;
    let mut proposal = Proposal::nothing(app);
    let Some(record) = record.filter(|record| !record.deployed) else {
        return Ok(proposal);
    };
    let marked = GenerationRecord { deployed: true, ..record };
    let mut trailers = vec![("Wild-App".to_owned(), app.to_string())];
    trailers.extend(approve.map(|digest| ("Wild-Approve".to_owned(), digest.to_owned())));
    proposal.main = RepoPath::parse(&record_path(app)).ok().map(|path| TreeEdit {
        changes: BTreeMap::from([(path, Some(File::text(&record::write_record(&marked))))]),
        subject: subject("feat", app.as_str(), &format!("deploy {}", marked.version)),
        body: String::new(),
        trailers,
        join: Join::None,
    });
    proposal.summary = vec![format!("{app} {} is deployed from now on", marked.version)];
    Ok(proposal)
}

/// Putting committed values back needs no commit.
pub(super) fn revert_drift(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    check(app, sources, "revert drift of")?;
    Ok(Proposal::nothing(app))
}

/// A pass brings nothing but what is committed.
pub(super) fn reconcile(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    check(app, sources, "reconcile")?;
    Ok(Proposal::nothing(app))
}

fn check(app: &AppName, sources: &Sources, what: &str) -> Result<(), Refusal> {
    if is_there(app, sources) {
        return Ok(());
    }
    Err(no_such_app(what, app, apps_of(&sources.files).keys().map(AppName::as_str)))
}
