//! Pure. Takes an app that a person keeps by hand under the care of its package: finds the version that its files come
//! nearest to, which becomes the generation that they stand on.
//!
//! No file of the app changes; the record and the view of the package are added. Not here: the distance (`merge`), which
//! versions there are (`pipeline`).

use super::add::load;
use super::decisions::Decisions;
use super::edit::{app_files, changes, put, scope, subject};
use super::land;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{CONFIG, Sources, apps_of};
use super::update::{Candidate, ConfigRule, Made, Making, is_there, make};
use super::{record, record_of, record_path};
use crate::merge::{Distance, distance, is_package_view};
use crate::model::AppName;

/// A version that the app may have been made from.
struct Near {
    made: Made,
    distance: Distance,
}

impl Near {
    fn named(&self) -> String {
        let record = &self.made.theirs.record;
        format!("{} at {}", record.version, record.upstream_commit.short())
    }
}

/// Adopts an app that no record stands for.
pub(super) fn adopt(app: &AppName, sources: &Sources) -> Result<Proposal, Refusal> {
    let what = format!("adopt {app}");
    if !is_there(app, sources) {
        return Err(no_such_app("adopt", app, apps_of(&sources.files).keys().map(AppName::as_str)));
    }
    if record_of(&sources.files, app).ok().flatten().is_some() {
        return Err(Refusal::user(what, "it is made from a package already", format!("wild app show {app}")));
    }
    let mut near = candidates(app, sources);
    // The first of equal ones is the newest.
    near.sort_by_key(|near| near.distance.differing);
    let mut near = near.into_iter();
    let Some(best) = near.next() else {
        let because = "no directory has a package of this name that compiles with its config";
        return Err(Refusal::user(what, because, format!("wild app adopt {app} --package PACKAGE")));
    };
    let Distance { differing, ours } = best.distance;
    if best.distance.is_far() {
        let because = format!(
            "the nearest version, {}, differs in {differing} of {ours} places, so what is yours cannot be told from it",
            best.named()
        );
        return Err(Refusal::user(what, because, format!("wild app adopt {app} --package PACKAGE")));
    }
    let runner_up =
        near.next().map(|next| format!("; next is {}, which differs in {}", next.named(), next.distance.differing));
    let found = format!(
        "{app} stands on {}, from which it differs in {differing} of {ours} places{}",
        best.named(),
        runner_up.unwrap_or_default()
    );
    Ok(proposal(app, sources, best, found))
}

/// Returns every version that compiles, the newest first.
fn candidates(app: &AppName, sources: &Sources) -> Vec<Near> {
    let ours = app_files(&sources.files, app);
    let decisions = Decisions::remembered(sources);
    let mut near = Vec::new();
    for upstream in &sources.packages {
        let newest = [(&upstream.commit, &upstream.files)];
        let older = upstream.versions.iter().map(|version| (&version.commit, &version.files));
        for (commit, files) in newest.into_iter().chain(older) {
            let Ok(package) = load(&upstream.name, files, "adopt") else { continue };
            let candidate = Candidate { directory: &upstream.directory, commit, package };
            let start = sources.files.text(CONFIG).unwrap_or_default().to_owned();
            let making =
                Making { app, sources, candidate: &candidate, start, decisions: &decisions, config: ConfigRule::Keep };
            let Ok(made) = make(&making) else { continue };
            let distance = distance(&ours, &made.theirs.files);
            near.push(Near { made, distance });
        }
    }
    near
}

fn proposal(app: &AppName, sources: &Sources, best: Near, found: String) -> Proposal {
    let theirs = best.made.theirs;
    let before = scope(&sources.files, app);
    let mut files = before.clone();
    files.remove_below(&format!("apps/{app}/.package"));
    let view = theirs.files.iter().filter(|(path, _)| is_package_view(path));
    files.extend(view.map(|(path, file)| (path.clone(), file.clone())).collect());
    put(&mut files, &record_path(app), &record::write_record(&theirs.record));
    let mut proposal = Proposal::nothing(app);
    proposal.generation = land::new_generation(app, sources, &theirs);
    proposal.main = Some(TreeEdit {
        changes: changes(&before, &files),
        subject: subject(
            "feat",
            app.as_str(),
            &format!("adopt as {} {}", theirs.record.package, theirs.record.version),
        ),
        body: format!("{found}."),
        trailers: vec![
            ("Wild-App".to_owned(), app.to_string()),
            ("Wild-Upstream".to_owned(), record::upstream_of(&theirs.record)),
        ],
        join: Join::Generation,
    });
    proposal.needs = theirs.needs;
    proposal.diagnostics = theirs.diagnostics;
    proposal.summary = vec![found];
    proposal
}
