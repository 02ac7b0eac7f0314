//! Pure. Takes an app that a person keeps by hand under the care of its package: finds the version that its files come
//! nearest to, which becomes the generation that they stand on. Where none comes near, they are that generation themselves.
//!
//! No file of the app changes; the record and the view of the package are added. Not here: the distance (`merge`), which
//! versions there are (`pipeline`).

use super::add::{load, load_read};
use super::decisions::Decisions;
use super::edit::{app_files, changes, put, scope, subject};
use super::generate::{Generated, NO_RENDERER, uncompiled};
use super::land;
use super::proposal::{Join, Proposal, TreeEdit};
use super::refusal::{Refusal, no_such_app};
use super::sources::{CONFIG, Sources, apps_of};
use super::update::{Candidate, ConfigRule, Made, Making, is_there, make, view};
use super::{record, record_of, record_path};
use crate::base::RepoPath;
use crate::merge::{Distance, distance, is_package_view};
use crate::model::{AppName, File, FileTree, GenerationRecord};

/// A version that the app may have been made from.
struct Version<'a> {
    candidate: Candidate<'a>,
    /// Whether the app's own view of its package shows it, and no commit of an upstream.
    is_view: bool,
}

/// A version that compiles, and how far the app is from it.
struct Near<'a> {
    version: &'a Version<'a>,
    made: Made,
    distance: Distance,
}

impl Near<'_> {
    fn named(&self) -> String {
        let version = &self.made.theirs.record.version;
        match self.version.is_view {
            true => format!("{version} in .package"),
            false => format!("{version} at {}", self.version.candidate.commit.short()),
        }
    }

    fn told(&self) -> String {
        let Distance { differing, ours } = self.distance;
        format!("{}, from which it differs in {differing} of {ours} places", self.named())
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
    let versions = versions(app, sources)?;
    let (mut near, why_not) = compiled(app, sources, &versions);
    // The first of equal ones is the newest.
    near.sort_by_key(|near| near.distance.differing);
    let mut near = near.into_iter();
    let best = near.next();
    let next =
        near.next().map(|next| format!("; next is {}, which differs in {}", next.named(), next.distance.differing));
    let next = next.unwrap_or_default();
    match best {
        Some(best) if !best.distance.is_far() => {
            let found = format!("{app} stands on {}{next}", best.told());
            Ok(proposal(app, sources, best.made.theirs, (None, found)))
        }
        Some(best) => {
            let because = format!("the nearest version is {}{next}", best.told());
            Ok(by_itself(app, sources, best.made.theirs, &because))
        }
        None => {
            let Some(newest) = versions.first() else { return Err(no_package(app)) };
            let Candidate { directory, commit, package } = &newest.candidate;
            let because = format!("no version of {} compiles here: {why_not}", package.name);
            Ok(by_itself(app, sources, uncompiled(app, directory, commit, package), &because))
        }
    }
}

fn no_package(app: &AppName) -> Refusal {
    let because = "no directory has a package of this name";
    Refusal::user(format!("adopt {app}"), because, format!("wild app adopt {app} --package PACKAGE"))
}

/// Returns every version that reads: what the app itself shows of its package, then those of the upstreams, the newest first.
fn versions<'a>(app: &AppName, sources: &'a Sources) -> Result<Vec<Version<'a>>, Refusal> {
    let mut found = Vec::new();
    let mut unread = None;
    for upstream in &sources.packages {
        let newest = [(&upstream.commit, (&upstream.files, upstream.broken.as_ref()))];
        let older = upstream.versions.iter().map(|it| (&it.commit, (&it.files, it.broken.as_ref())));
        for (commit, read) in newest.into_iter().chain(older) {
            match load_read(&upstream.name, read, &format!("adopt {app}")) {
                Ok(package) => {
                    let candidate = Candidate { directory: &upstream.directory, commit, package };
                    found.push(Version { candidate, is_view: false });
                }
                Err(refusal) => unread = unread.or(Some(refusal)),
            }
        }
    }
    if found.is_empty() {
        return Err(unread.unwrap_or_else(|| no_package(app)));
    }
    if let Some(shown) = shown(app, sources, &found) {
        found.insert(0, shown);
    }
    Ok(found)
}

/// Returns the version that the app's view of its package shows, unless it is one of those that are known.
fn shown<'a>(app: &AppName, sources: &Sources, known: &[Version<'a>]) -> Option<Version<'a>> {
    let files = view(&sources.files, app);
    let newest = known.first()?;
    let package = load(&newest.candidate.package.name, &files, "adopt").ok()?;
    if known.iter().any(|it| it.candidate.package.files == files) {
        return None;
    }
    // Which commit it was is not known; one of the same version comes next to it.
    let same = known.iter().find(|it| it.candidate.package.manifest.version == package.manifest.version);
    let Candidate { directory, commit, .. } = same.unwrap_or(newest).candidate;
    Some(Version { candidate: Candidate { directory, commit, package }, is_view: true })
}

/// Compiles every version, and says why the first one that does not compile does not.
fn compiled<'a>(app: &AppName, sources: &Sources, versions: &'a [Version<'a>]) -> (Vec<Near<'a>>, String) {
    let ours = app_files(&sources.files, app);
    let decisions = Decisions::remembered(sources);
    let (mut near, mut why_not) = (Vec::new(), None);
    for version in versions {
        let start = sources.files.text(CONFIG).unwrap_or_default().to_owned();
        let (candidate, config) = (&version.candidate, ConfigRule::Keep);
        match make(&Making { app, sources, candidate, start, decisions: &decisions, config }) {
            Ok(made) => {
                let distance = distance(&ours, &made.theirs.files);
                near.push(Near { version, made, distance });
            }
            Err(refusal) => why_not = why_not.or(Some(refusal.explanation().because.clone())),
        }
    }
    (near, why_not.unwrap_or_default())
}

/// Adopts an app whose files no version explains: they are the generation that it stands on.
fn by_itself(app: &AppName, sources: &Sources, theirs: Generated, because: &str) -> Proposal {
    let found = format!(
        "{app} stands on its own files, because {because}; what was customised in them earlier cannot be told from upstream text, \
         and the next update brings upstream text"
    );
    // Nobody but a person asks for that update.
    let wanted = Some(theirs.record.version.clone());
    proposal(app, sources, as_they_are(&app_files(&sources.files, app), theirs), (wanted, found))
}

/// Returns a generation with the files of an app as they are instead of what a version compiles to.
fn as_they_are(own: &FileTree, theirs: Generated) -> Generated {
    let is_view = |(path, _): &(&RepoPath, &File)| is_package_view(path);
    let clone = |(path, file): (&RepoPath, &File)| (path.clone(), file.clone());
    let mut files: FileTree = own.iter().filter(|entry| !is_view(entry)).map(clone).collect();
    files.extend(theirs.files.iter().filter(is_view).map(clone).collect());
    let record =
        GenerationRecord { renderer: NO_RENDERER.to_owned(), defaults: serde_json::Map::new(), ..theirs.record };
    Generated { files, record, ..theirs }
}

fn proposal(
    app: &AppName,
    sources: &Sources,
    theirs: Generated,
    (wanted, found): (Option<String>, String),
) -> Proposal {
    let before = scope(&sources.files, app);
    let mut files = before.clone();
    files.remove_below(&format!("apps/{app}/.package"));
    let view = theirs.files.iter().filter(|(path, _)| is_package_view(path));
    files.extend(view.map(|(path, file)| (path.clone(), file.clone())).collect());
    let record = GenerationRecord { wanted, ..theirs.record.clone() };
    put(&mut files, &record_path(app), &record::write_record(&record));
    let mut proposal = Proposal::nothing(app);
    proposal.generation = land::new_generation(app, sources, &theirs);
    proposal.main = Some(TreeEdit {
        changes: changes(&before, &files),
        subject: subject("feat", app.as_str(), &format!("adopt as {} {}", record.package, record.version)),
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
