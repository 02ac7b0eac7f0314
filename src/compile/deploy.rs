//! Pure. A deploy applies what is committed. Only the first one of an app is a commit, because from then on the app is meant to run, and one
//! that lets it into a namespace which it did not make.
//!
//! Not here: applying (`plan`, `apply`).

use super::edit::subject;
use super::namespaces;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{Sources, apps_of};
use super::update::is_there;
use super::{record, record_of, record_path};
use crate::base::RepoPath;
use crate::model::{AppName, File, GenerationRecord, SETTINGS_PATH};

/// Marks an app as deployed, if it is not, and lets it into the namespaces that a person adopts for it. Of an app that is no longer in the tree a person may approve what is left to do.
pub(super) fn deploy(app: &AppName, sources: &Sources, approve: Option<&str>) -> Result<Proposal, Refusal> {
    if approve.is_some() && !is_there(app, sources) {
        return Ok(Proposal::nothing(app));
    }
    check(app, sources, "deploy")?;
    let record = record_of(&sources.files, app)
        .map_err(|findings| Refusal::found(format!("deploy {app}"), format!("wild app show {app}"), findings))?;
    let mut proposal = Proposal::nothing(app);
    let first = record.filter(|record| !record.deployed).map(|record| GenerationRecord { deployed: true, ..record });
    let lets_in = sources.adoptable.as_slice();
    if first.is_none() && lets_in.is_empty() {
        return Ok(proposal);
    }
    let mut trailers = vec![("Wild-App".to_owned(), app.to_string())];
    trailers.extend(approve.map(|digest| ("Wild-Approve".to_owned(), digest.to_owned())));
    let marked = first.as_ref().and_then(|record| Some((RepoPath::parse(&record_path(app)).ok()?, record)));
    let mut edit = TreeEdit {
        changes: marked
            .map(|(path, record)| (path, Some(File::text(&record::write_record(record)))))
            .into_iter()
            .collect(),
        subject: subject("feat", app.as_str(), &what(first.as_ref(), lets_in)),
        body: String::new(),
        trailers,
        join: Join::None,
    };
    proposal.summary.extend(first.map(|record| format!("{app} {} is deployed from now on", record.version)));
    if !lets_in.is_empty() {
        let edit_settings = format!("edit {SETTINGS_PATH}");
        namespaces::grant(app, sources, lets_in, &mut edit)
            .map_err(|findings| Refusal::found(format!("deploy {app}"), edit_settings, findings))?;
        let names = lets_in.join(", ");
        proposal.summary.push(format!("{app} may write into {names}, which it did not make, from now on"));
    }
    proposal.main = Some(edit);
    Ok(proposal)
}

/// Returns the words of the commit.
fn what(first: Option<&GenerationRecord>, lets_in: &[String]) -> String {
    let deployed = first.map(|record| format!("deploy {}", record.version));
    let adopted = (!lets_in.is_empty()).then(|| format!("adopt namespace {}", lets_in.join(", ")));
    deployed.into_iter().chain(adopted).collect::<Vec<_>>().join(", ")
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
