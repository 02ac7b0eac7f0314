//! Pure. Keeps what people decided about conflicts: learned from merges that they made with git, and forgotten when they say so.
//!
//! Not here: what a person chose in one merge (`merge::learn`), the ref that it is kept in (`pipeline`).

use std::collections::BTreeMap;

use super::edit::{app_files, rules};
use super::land;
use super::proposal::Proposal;
use super::refusal::Refusal;
use super::resolve;
use super::sources::{PastMerge, Sources};
use crate::base::RepoPath;
use crate::merge::{self, Resolution, Three};
use crate::model::AppName;

/// Learns from the merges of an app so far.
pub(super) fn learn(app: &AppName, sources: &Sources) -> Proposal {
    let mut proposal = Proposal::nothing(app);
    proposal.remember = new(app, sources, &sources.merges);
    let (merges, learned) = (sources.merges.len(), proposal.remember.len());
    let word = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    proposal.summary = vec![format!(
        "{} read, {} remembered",
        word(merges, "merge", "merges"),
        word(learned, "new decision", "new decisions")
    )];
    proposal.diagnostics = sources.remembered.findings.clone();
    proposal
}

/// Returns what was chosen in merges, the newest of which comes first, as far as it is not remembered already.
pub(super) fn new<'a>(
    app: &AppName,
    sources: &Sources,
    merges: impl IntoIterator<Item = &'a PastMerge>,
) -> BTreeMap<String, Option<Resolution>> {
    let mut found = BTreeMap::new();
    for past in merges {
        let [base, ours, theirs, files] =
            [&past.base, &past.ours, &past.theirs, &past.files].map(|tree| app_files(tree, app));
        let sides = Three { base: &base, ours: &ours, theirs: &theirs };
        let rules = rules(app, &sources.files, [&ours, &theirs]);
        // Git brings a generation, in which no customised template is; one that stayed as it was says nothing about what a person chose.
        let is_untouched =
            |path: &RepoPath| merge::is_customised(path) && files.get(path.as_str()) == ours.get(path.as_str());
        let chosen = merge::learn(sides, &rules, &files);
        for (conflict, take) in chosen.into_iter().filter(|(conflict, _)| !is_untouched(&conflict.path)) {
            let known = sources.remembered.all().get(&conflict.id);
            let is_newer = known.is_none_or(|known| known.when < past.when);
            if is_newer && sources.remembered.lacks(&conflict.id, &take) {
                let (who, commit) = (past.who.clone(), Some(past.commit.clone()));
                let resolution = Resolution { who, when: past.when, commit, ..Resolution::new(&conflict, take) };
                found.entry(conflict.id.clone()).or_insert(Some(resolution));
            }
        }
    }
    found
}

/// Forgets a decision, or all of an app, and opens its conflict again if an update waits.
pub(super) fn forget(app: &AppName, sources: &Sources, key: Option<&str>) -> Result<Proposal, Refusal> {
    let known = sources.remembered.keys();
    let gone: Vec<&String> = known.iter().filter(|known| key.is_none_or(|key| key == known.as_str())).collect();
    if let Some(key) = key.filter(|_| gone.is_empty()) {
        let because = match known.is_empty() {
            true => "nothing is remembered".to_owned(),
            false => format!("nothing is remembered under {key}"),
        };
        let remedy = format!("wild app resolve {app} --remembered");
        return Err(Refusal::user(format!("forget a decision of {app}"), because, remedy));
    }
    let mut left = sources.clone();
    gone.iter().for_each(|key| left.remembered.put(key, None));
    let waits = left.update.is_some() && !land::is_edited(app, &left);
    let mut proposal = if waits { resolve::again(app, &left)? } else { Proposal::nothing(app) };
    proposal.remember = gone.iter().map(|key| ((*key).clone(), None)).collect();
    let count = gone.len();
    let line = format!("{count} {} forgotten", if count == 1 { "decision" } else { "decisions" });
    proposal.summary.insert(0, line);
    Ok(proposal)
}
