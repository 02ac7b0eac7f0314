//! Pure. The package of an app as its customised templates, `apps/<app>/.custom/<path>`, make it: each takes the place of the
//! package's file of that path before anything is compiled.
//!
//! Not here: merging them with a newer package (`merge`), the view of the package, which never shows them (`generate`).

use std::collections::BTreeMap;

use super::decisions::Decisions;
use super::edit::{app_files, changes, rules};
use super::generate::shown;
use super::record::digest_of;
use super::sources::{PastMerge, Sources};
use crate::base::RepoPath;
use crate::merge::{self, Conflict, Three, is_customised, is_package_view, merge_customised};
use crate::model::{AppName, Diagnostic, File, FileTree};
use crate::package::Package;

/// A package with customised templates in it.
pub(super) struct Customised {
    /// The package that is compiled.
    pub(super) package: Package,
    /// Digest of the customised templates; they are a part of what a generation is made from.
    pub(super) digest: String,
    /// What cannot be customised.
    pub(super) findings: Vec<Diagnostic>,
    directory: String,
    paths: Vec<RepoPath>,
}

/// Puts an app's customised templates, merged with what the package made of those files since, into the package; nothing if it has none.
pub(super) fn customised(
    app: &AppName,
    sources: &Sources,
    package: &Package,
    decisions: &Decisions<'_>,
) -> Option<Customised> {
    let directory = format!("apps/{app}/.custom");
    if !sources.files.holds_below(&directory) {
        return None;
    }
    let base = sources.base.as_ref().map_or(&sources.files, |base| &base.files);
    let sides = Three { base: &view(base, app), ours: &own(&sources.files, app), theirs: &shown(app, package) };
    let rules = rules(app, &sources.files, [sides.ours, sides.theirs]);
    let merged = merge_customised(sides, &rules);
    let decided = decisions.over(&merged.conflicts);
    // Where a decision cannot be applied, ours stays, and landing the update says so.
    let resolved = merge::resolve(&merged.files, &merged.conflicts, &decided, (sides, &rules)).map(|it| it.files);
    let templates = resolved.unwrap_or(merged.files).below(&directory);
    let mut made = Customised {
        package: package.clone(),
        digest: digest_of(&templates),
        findings: Vec::new(),
        directory,
        paths: Vec::new(),
    };
    for (path, file) in templates.iter() {
        if package.is_manifest(path) {
            let message = "a manifest cannot be customised; the package's is read";
            let place = format!("{}/{path}", made.directory);
            made.findings.push(
                Diagnostic::warning("P014", &place, 0, message).with_hint("set keys of config.yaml, or edit apps/"),
            );
            continue;
        }
        made.package.files.insert(path.clone(), file.clone());
        made.paths.push(path.clone());
    }
    // One that upstream deleted is compiled no more once that was taken.
    for path in own(&sources.files, app).below(&made.directory).paths() {
        if !templates.contains(path.as_str()) && !package.is_manifest(path) {
            made.package.files.remove(path);
        }
    }
    Some(made)
}

impl Customised {
    /// Shows the package itself beside the compiled files again.
    pub(super) fn show(&self, files: &mut FileTree, app: &AppName, package: &Package) {
        files.remove_below(&format!("apps/{app}/.package"));
        files.extend(shown(app, package));
    }

    /// Names the customised template that a finding is about.
    pub(super) fn name(&self, finding: Diagnostic, app: &AppName) -> Diagnostic {
        let is_of_template = finding.id.starts_with('T');
        let below = finding.file.strip_prefix(&format!("apps/{app}/")).filter(|_| is_of_template);
        match below.filter(|below| self.paths.iter().any(|path| path.as_str() == *below)) {
            Some(below) => Diagnostic { file: format!("{}/{below}", self.directory), ..finding },
            None => finding,
        }
    }
}

/// What a merge by plain git left for the customised templates.
pub(super) struct Followed {
    /// The templates with what came to the package, where they are others than before.
    pub(super) changes: BTreeMap<RepoPath, Option<File>>,
    /// Where a template stays as the person has it although upstream changed the same.
    pub(super) notices: Vec<String>,
}

/// Brings what a merge by plain git brought to the package to the customised templates, if the person left them as they were.
pub(super) fn followed(app: &AppName, sources: &Sources, past: &PastMerge) -> Option<Followed> {
    let (then, merged, now) = (own(&past.ours, app), own(&past.files, app), own(&sources.files, app));
    if now.is_empty() || then != merged || merged != now {
        return None;
    }
    let sides = Three { base: &view(&past.base, app), ours: &now, theirs: &view(&past.theirs, app) };
    let merged = merge_customised(sides, &rules(app, &sources.files, [sides.ours, sides.theirs]));
    let kept = |conflict: &Conflict| {
        format!("{}: {} stays as you have it, and upstream has another", conflict.path, conflict.key)
    };
    let notices = merged.conflicts.iter().map(kept).collect();
    let changes = changes(&now, &merged.files);
    (!changes.is_empty()).then_some(Followed { changes, notices })
}

fn own(files: &FileTree, app: &AppName) -> FileTree {
    only(files, app, is_customised)
}

fn view(files: &FileTree, app: &AppName) -> FileTree {
    only(files, app, is_package_view)
}

fn only(files: &FileTree, app: &AppName, is_wanted: fn(&RepoPath) -> bool) -> FileTree {
    let own = app_files(files, app);
    own.iter().filter(|(path, _)| is_wanted(path)).map(|(path, file)| (path.clone(), file.clone())).collect()
}
