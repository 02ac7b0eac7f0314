//! Secrets in git: what of the head stands in clear is not applied, turns the status of its commit red, and is not pushed on.
//!
//! A file of one app holds that app back, any other file all of them. What was judged is kept while the same values are sought, so a pass
//! reads nothing twice. Not here: what a secret looks like (`yaml::leak`), the search through commits (`git`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::overview::Overview;
use super::read::Sight;
use super::{Error, Instance};
use crate::base::RepoPath;
use crate::git::{self, Brought, Leaked, PushRef, Scanner};
use crate::model::{AppName, CommitId, Diagnostic, RefusalText, Secrets, Subdirectory};
use crate::observe;
use crate::package::{self, SecretNeeds};
use crate::plan::{Desired, Presence, Snapshot};
use crate::yaml::leak::{Leak, Location, RULE, Role, Search};

/// Findings from which on there may be more than are told, in any app.
const MANY: usize = 50;

/// What is sought, and what the newest head holds of it.
#[derive(Default)]
pub(super) struct Leaks(tokio::sync::Mutex<Option<Known>>);

struct Known {
    secrets: Arc<Secrets>,
    /// The commit whose manifests these are.
    seen: CommitId,
    /// What the manifests of apps say about secrets, each under the id of the app's files.
    needs: BTreeMap<AppName, (String, Option<Arc<SecretNeeds>>)>,
    scanner: Arc<Scanner>,
    /// Whether a file of no app held all of them back since somebody asked last.
    held: bool,
    head: Option<(CommitId, Arc<HeadLeaks>)>,
}

/// The secrets that the tree of a head holds in clear.
#[derive(Debug, Default)]
pub(super) struct HeadLeaks {
    place: Subdirectory,
    all: Vec<Leaked>,
}

impl HeadLeaks {
    /// Returns the first of all, if there is any.
    pub(super) fn first(&self) -> Option<&Leaked> {
        self.all.first()
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> &[Leaked] {
        &self.all
    }

    /// Returns whether all apps are held back.
    pub(super) fn holds_all(&self) -> bool {
        self.all.len() >= MANY || self.all.iter().any(|leaked| self.app_of(leaked).is_none())
    }

    /// Returns what speaks against applying an app.
    pub(super) fn against(&self, app: &AppName) -> Vec<Diagnostic> {
        let holds_all = self.holds_all();
        let concerns = |leaked: &&Leaked| holds_all || self.app_of(leaked) == Some(app.as_str());
        self.all.iter().filter(concerns).map(diagnostic).collect()
    }

    /// Returns the name of the app that a file belongs to.
    fn app_of<'a>(&self, leaked: &'a Leaked) -> Option<&'a str> {
        let inward = match self.place.as_str() {
            "" => leaked.place.as_str(),
            place => leaked.place.strip_prefix(place)?.strip_prefix('/')?,
        };
        let own = inward.strip_prefix("apps/").and_then(|rest| rest.split_once('/')).map(|(app, _)| app);
        own.or_else(|| inward.strip_prefix(".wild/generated/")?.strip_suffix(".yaml"))
    }
}

/// Returns a leak as a finding in a file.
fn diagnostic(leaked: &Leaked) -> Diagnostic {
    Diagnostic::error(RULE, &leaked.place, leaked.line, leaked.leak.to_string()).with_hint(leaked.leak.remedy())
}

/// Returns what is sought in this instance now.
pub(super) async fn scanner(instance: &Instance, overview: &Overview) -> Result<Arc<Scanner>, Error> {
    let mut known = instance.leaks.0.lock().await;
    Ok(renew(instance, overview, &mut known)?.scanner.clone())
}

/// Returns what the tree of a head of the deployed branch holds in clear.
pub(super) async fn at(instance: &Instance, overview: &Overview) -> Result<Arc<HeadLeaks>, Error> {
    let mut known = instance.leaks.0.lock().await;
    let known = renew(instance, overview, &mut known)?;
    if let Some((_, leaks)) = known.head.as_ref().filter(|(head, _)| *head == overview.head) {
        return Ok(leaks.clone());
    }
    let place = instance.tree.subdirectory().clone();
    let all = instance.repository.leaks_at(&overview.head, &place, known.scanner.clone()).await?;
    let leaks = Arc::new(HeadLeaks { place, all });
    known.held |= leaks.holds_all();
    known.head = Some((overview.head.clone(), leaks.clone()));
    Ok(leaks)
}

/// Holds an app back whose files, or whose neighbours' files, hold a secret in clear.
pub(super) async fn hold(instance: &Instance, sight: &Sight, snapshot: &mut Snapshot) -> Result<(), Error> {
    let leaking = at(instance, &sight.overview).await?.against(&snapshot.app);
    if snapshot.presence == Presence::Kept && !leaking.is_empty() {
        snapshot.desired = Desired::Leaking(leaking);
    }
    Ok(())
}

/// Returns whether a new head concerns all apps: a file of none of them holds them back, or did until now.
pub(super) async fn concerns_all(instance: &Instance, overview: &Overview) -> bool {
    let holds_all = at(instance, overview).await.is_ok_and(|leaks| leaks.holds_all());
    let mut known = instance.leaks.0.lock().await;
    let held = known.as_mut().is_some_and(|known| std::mem::replace(&mut known.held, holds_all));
    held || holds_all
}

/// Brings what is sought up to date: the values, and which of them a package tells everybody.
fn renew<'a>(instance: &Instance, overview: &Overview, slot: &'a mut Option<Known>) -> Result<&'a mut Known, Error> {
    let secrets = instance.secrets.read()?;
    let old = slot.take();
    let is_known = |old: &Known| Arc::ptr_eq(&old.secrets, &secrets) && old.seen == overview.head;
    let old = match old {
        Some(known) if is_known(&known) => return Ok(slot.insert(known)),
        old => old,
    };
    let said = overview.settings().map(|settings| settings.no_secrets.clone()).unwrap_or_default();
    let mut needs = BTreeMap::new();
    let mut is_same = old.as_ref().is_some_and(|old| *old.scanner.known() == said);
    is_same &= old.as_ref().is_some_and(|old| Arc::ptr_eq(&old.secrets, &secrets));
    for (app, tree) in &overview.apps {
        let kept = old.as_ref().and_then(|old| old.needs.get(app)).filter(|(id, _)| id == tree);
        is_same &= kept.is_some();
        let read = || observe::secret_needs(&overview.files, app).ok().flatten().map(Arc::new);
        needs.insert(app.clone(), kept.cloned().unwrap_or_else(|| (tree.clone(), read())));
    }
    let known = match old {
        Some(old) if is_same && old.needs.len() == needs.len() => Known { seen: overview.head.clone(), ..old },
        old => {
            let (seen, held) = (overview.head.clone(), old.as_ref().is_some_and(|old| old.held));
            let of_apps = needs.values().filter_map(|(_, needs)| needs.as_deref());
            let search = Search::of(package::leak_values(of_apps, &secrets).into_iter());
            let is_same =
                |old: &Known| old.scanner.search().digest() == search.digest() && *old.scanner.known() == said;
            match old.filter(is_same) {
                Some(old) => Known { secrets, seen, needs, ..old },
                None => {
                    let scanner = Arc::new(Scanner::new(search, said));
                    Known { secrets, seen, needs, scanner, held, head: None }
                }
            }
        }
    };
    Ok(slot.insert(known))
}

/// Returns why files may not be committed: what is in git is known to everybody who can read it, for ever.
pub(super) fn refusal<'a>(
    scanner: &Scanner,
    app: &AppName,
    files: impl Iterator<Item = (&'a RepoPath, &'a [u8])>,
) -> Option<RefusalText> {
    let of_file = |(path, bytes): (&RepoPath, &[u8])| -> Vec<Diagnostic> {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        let directory = if path.as_str() == name { Location::Instance } else { Location::Other };
        let found = scanner.judge(bytes, Role::of(name, directory));
        let of_name = scanner.judge(path.as_str().as_bytes(), Role::Page);
        let place = if of_name.is_empty() { path.as_str() } else { crate::model::MASK };
        let told = |(line, leak): (usize, Leak)| {
            Diagnostic::error(RULE, place, line, leak.to_string()).with_hint("take it out of the files and the config")
        };
        found
            .into_iter()
            .map(|it| (it.line, it.leak))
            .chain(of_name.into_iter().map(|it| (0, it.leak)))
            .map(told)
            .collect()
    };
    let diagnostics: Vec<Diagnostic> = files.flat_map(of_file).take(MANY).collect();
    let because = diagnostics.first()?.to_string();
    let (what, remedy) = (format!("commit {app}"), format!("wild app show {app}"));
    Some(RefusalText { code: 2, what, because, remedy, diagnostics })
}

/// Returns the refs that may be pushed, and the first secret that keeps the others here.
pub(super) async fn pushable(
    instance: &Instance,
    refs: Vec<PushRef>,
    known: &[CommitId],
    scanner: &Arc<Scanner>,
) -> Result<(Vec<PushRef>, Option<String>), git::Error> {
    let search = async |tips: &[CommitId]| -> Result<Option<String>, git::Error> {
        let brought = instance.repository.new_leaks(tips, known, scanner.clone()).await?;
        Ok(told(&brought))
    };
    let tips: Vec<CommitId> = refs.iter().map(|wanted| wanted.commit.clone()).collect();
    let Some(first) = search(&tips).await? else { return Ok((refs, None)) };
    let mut clean = Vec::new();
    for wanted in refs {
        if search(std::slice::from_ref(&wanted.commit)).await?.is_none() {
            clean.push(wanted);
        }
    }
    Ok((clean, Some(first)))
}

/// Returns what commits bring that may not go on, in one sentence.
pub(super) fn told(brought: &Brought) -> Option<String> {
    match brought.leaks.first() {
        Some(leaked) => {
            let commit = leaked.commit.as_ref().map(|id| format!(" in commit {}", id.short())).unwrap_or_default();
            Some(format!("{leaked}{commit}"))
        }
        None => brought.is_cut.then(|| "more new commits than are searched for secrets".to_owned()),
    }
}
