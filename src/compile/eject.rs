//! Pure. Parts an app from its package: it stays as it is and is never merged again.
//!
//! Not here: the ref of its generations, which goes with the commit (`pipeline`).

use super::edit::{changes, scope, subject};
use super::land;
use super::proposal::{Fate, Join, Proposal, TreeEdit};
use super::record_path;
use super::refusal::Refusal;
use super::sources::Sources;
use super::update::managed;
use crate::base::RepoPath;
use crate::model::AppName;

/// Takes away the record of an app and the view of its package.
pub(super) fn eject(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let what = format!("eject {app}");
    let record = managed(app, sources, "eject")?;
    if !record.deployed {
        // Without its record nothing says that it is not to run.
        let because = "it is added and not deployed, and an app of your own is always deployed";
        return Err(Refusal::blocked(what, because, format!("wild app deploy {app}")));
    }
    if land::is_edited(app, sources) {
        let because = "an update waits on its branch, and a person committed to it";
        return Err(Refusal::undecided(what, because, format!("wild app resolve {app}")));
    }
    let before = scope(&sources.files, app);
    let mut files = before.clone();
    files.remove_below(&format!("apps/{app}/.package"));
    if let Ok(path) = RepoPath::parse(&record_path(app)) {
        files.remove(&path);
    }
    let mut proposal = Proposal::nothing(app);
    proposal.main = Some(TreeEdit {
        changes: changes(&before, &files),
        subject: subject("feat", app.as_str(), &format!("eject from {} {}", record.package, record.version)),
        body: String::new(),
        trailers: vec![("Wild-App".to_owned(), app.to_string())],
        join: Join::None,
    });
    proposal.generations = Fate::Drop;
    if sources.update.is_some() {
        proposal.update_branch = Fate::Drop;
    }
    proposal.summary = vec![format!("{app} is an app of your own now and gets no more updates")];
    Ok(proposal)
}
