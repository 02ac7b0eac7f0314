//! Grants that came in one push with what they are for: they count once a person has approved them.
//!
//! Who reviews a push sees what it asks for, or what it allows; where both come together the one hides in the other. So a push is compared with
//! the head before it, and what it grants to an app that it changes as well waits. A grant that comes by itself is an answer to what was seen
//! before, and one that a request brought is a person's word already. It is stored before the head counts as seen. Not here: holding the app back
//! (`plan`), the digest that is typed (`http`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::overview::{self, Overview};
use super::{Error, Instance};
use crate::base::Encoder;
use crate::compile;
use crate::git::Commit;
use crate::model::{
    AppName, CommitId, Grants, InstanceId, Operation, OperationId, OperationOutcome, OperationState, Request,
    SETTINGS_PATH, Settings, SharedSecret,
};
use crate::plan::UnapprovedGrants;
use crate::store::Store;

/// Name of the cursor that holds them.
const WAITING: &str = "grants.waiting";
/// Commits of one push, or of several that came at once, that are looked at for those that a request made.
const MAX_PUSH_WALK: usize = 1_000;
/// Characters of a digest: enough that nobody finds a second push with the same one, few enough to be typed.
const DIGEST_CHARS: usize = 16;

/// What waits for a person's word, by app.
pub(super) struct Approvals(Mutex<BTreeMap<AppName, Waiting>>);

/// Grants of an app that wait.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Waiting {
    /// The grants, such as `kinds: Role`.
    grants: BTreeSet<String>,
    /// Name of the grants together with the files of the app: by it a person approves them.
    digest: String,
}

impl Approvals {
    /// Returns what waits since before.
    pub(super) async fn read(store: &Store, instance: &InstanceId) -> Result<Self, Error> {
        let text = store.cursor(instance, WAITING).await?.unwrap_or_default();
        Ok(Self(Mutex::new(serde_json::from_str(&text).unwrap_or_default())))
    }
}

/// Returns the grants of an app that wait for a person.
pub async fn waiting_grants(instance: &Instance, app: &AppName) -> Option<UnapprovedGrants> {
    waiting(instance, app).await
}

/// Returns the grants of an app that wait.
pub(super) async fn waiting(instance: &Instance, app: &AppName) -> Option<UnapprovedGrants> {
    let all = instance.approvals.0.lock().await;
    let Waiting { grants, digest } = all.get(app)?.clone();
    Some(UnapprovedGrants { grants: grants.into_iter().collect(), digest })
}

/// Lets grants count that a request approves by their name.
pub(super) async fn approve(instance: &Instance, app: &AppName, request: Option<&Request>) -> Result<(), Error> {
    let Some(Request::Deploy { approve: Some(digest), .. }) = request else { return Ok(()) };
    let mut all = instance.approvals.0.lock().await;
    if all.get(app).is_none_or(|waiting| waiting.digest != *digest) {
        return Ok(());
    }
    let mut next = all.clone();
    next.remove(app);
    keep(instance, &mut all, next).await
}

async fn keep(
    instance: &Instance,
    all: &mut BTreeMap<AppName, Waiting>,
    next: BTreeMap<AppName, Waiting>,
) -> Result<(), Error> {
    let text = serde_json::to_string(&next).unwrap_or_default();
    instance.store.put_cursor(&instance.id, WAITING, &text).await?;
    *all = next;
    Ok(())
}

/// Takes in what a head grants beyond the one before it; nothing is known to be granted before, if that is gone or never had settings.
pub(super) async fn take_in(instance: &Instance, before: Option<&Overview>, after: &Overview) -> Result<(), Error> {
    // Without settings no pass does anything.
    let Ok(now) = after.settings() else { return Ok(()) };
    let then = before.and_then(|before| before.settings().ok());
    let mut all = instance.approvals.0.lock().await;
    let mut grown = grown(then.as_deref(), &now);
    for (app, shared) in shared_anew((then.as_deref(), &now), (before, after)) {
        grown.entry(app).or_default().extend(shared);
    }
    let asked = match grown.is_empty() {
        true => BTreeMap::new(),
        false => asked_for(instance, before.map(|before| &before.head), &after.head).await?,
    };
    let mut next = BTreeMap::new();
    let names: BTreeSet<&AppName> = grown.keys().chain(all.keys()).collect();
    for app in names {
        if !after.apps.contains_key(app) {
            // Its last hooks must not run by what nobody approved, and neither may what comes back under its name.
            next.extend(all.get(app).map(|waiting| (app.clone(), waiting.clone())));
            continue;
        }
        let mut stand = listed(&now.grants_of(app.as_str()));
        stand.extend(now.tls.shared.iter().map(shared_in_words));
        let known = all.get(app).map(|waiting| waiting.grants.clone()).unwrap_or_default();
        let mut grants: BTreeSet<String> = known.intersection(&stand).cloned().collect();
        let by_request = asked.get(app).cloned().unwrap_or_default();
        let new = grown.get(app).into_iter().flatten().filter(|grant| !by_request.contains(*grant));
        let with_use = |grant: &&String| before.is_none_or(|before| comes_with_its_use(app, grant, before, after));
        grants.extend(new.filter(with_use).cloned());
        if !grants.is_empty() {
            next.insert(app.clone(), Waiting { digest: digest(app, &grants, after), grants });
        }
    }
    for (app, waiting) in next.iter().filter(|(app, waiting)| all.get(*app) != Some(*waiting)) {
        tell(instance, app, waiting, &after.head).await?;
    }
    if next == *all { Ok(()) } else { keep(instance, &mut all, next).await }
}

/// Stores an operation that is held back, for a person to approve.
async fn tell(instance: &Instance, app: &AppName, waiting: &Waiting, head: &CommitId) -> Result<(), Error> {
    let Waiting { grants, digest } = waiting.clone();
    let message = UnapprovedGrants { grants: grants.into_iter().collect(), digest }.message(app);
    let operation = Operation {
        state: OperationState::Failed,
        outcome: Some(OperationOutcome::Blocked),
        trigger: "push".to_owned(),
        commit: Some(head.clone()),
        ended: Some(instance.now()),
        message,
        ..instance.operation("grant", Some(app), None)
    };
    instance.store.insert_operation(&instance.id, &operation).await?;
    instance.bus.operation_changed();
    Ok(())
}

/// Returns the grants of each app that are new.
fn grown(then: Option<&Settings>, now: &Settings) -> BTreeMap<AppName, BTreeSet<String>> {
    let apps = now.apps.keys().filter_map(|app| AppName::parse(app).ok());
    let new = apps.map(|app| {
        let had = then.map(|then| listed(&then.grants_of(app.as_str()))).unwrap_or_default();
        let has = listed(&now.grants_of(app.as_str()));
        (app, has.difference(&had).cloned().collect::<BTreeSet<String>>())
    });
    new.filter(|(_, grants)| !grants.is_empty()).collect()
}

/// Returns all grants of an app in words.
fn listed(grants: &Grants) -> BTreeSet<String> {
    let mut grants = grants.clone();
    let lists = lists_mut(&mut grants);
    lists.iter().flat_map(|(list, items)| items.iter().map(move |item| in_words(list, item))).collect()
}

/// Returns the Secrets of others that are shared anew, in words, for each app that changed along with that. Which of them it reads is not asked:
/// a name can be put together in a build.
fn shared_anew(
    (then, now): (Option<&Settings>, &Settings),
    (before, after): (Option<&Overview>, &Overview),
) -> BTreeMap<AppName, BTreeSet<String>> {
    let known = then.map(|then| then.tls.shared.as_slice()).unwrap_or_default();
    let new: BTreeSet<String> =
        now.tls.shared.iter().filter(|shared| !known.contains(shared)).map(shared_in_words).collect();
    let came = |app: &&AppName| before.is_none_or(|before| before.apps.get(*app) != after.apps.get(*app));
    let changed = after.apps.keys().filter(came).filter(|_| !new.is_empty());
    changed.map(|app| (app.clone(), new.clone())).collect()
}

fn shared_in_words(shared: &SharedSecret) -> String {
    in_words("tls.shared", &format!("{}/{}", shared.namespace, shared.name))
}

/// Returns how many grants an app has.
pub(super) fn count(grants: &Grants) -> usize {
    listed(grants).len()
}

fn in_words(list: &str, item: &str) -> String {
    format!("{list}: {item}")
}

/// Returns the lists of grants by name. A list that comes later is named here as well, or this does not compile.
fn lists_mut(grants: &mut Grants) -> [(&'static str, &mut Vec<String>); 6] {
    let Grants { namespaces, kinds, secrets, pod, finalizers, realms } = grants;
    [
        ("namespaces", namespaces),
        ("kinds", kinds),
        ("secrets", secrets),
        ("pod", pod),
        ("finalizers", finalizers),
        ("realms", realms),
    ]
}

/// Returns grants without those that wait.
pub(super) fn without_waiting(grants: &Grants, waiting: Option<&UnapprovedGrants>) -> Grants {
    let mut grants = grants.clone();
    let Some(UnapprovedGrants { grants: waiting, .. }) = waiting else { return grants };
    for (list, items) in lists_mut(&mut grants) {
        items.retain(|item| !waiting.contains(&in_words(list, item)));
    }
    grants
}

/// Returns whether what a grant is for changed along with it: the files, the record or the config of the app, where and as whom it is applied, or
/// the app whose secret it is.
fn comes_with_its_use(app: &AppName, grant: &str, before: &Overview, after: &Overview) -> bool {
    let owner = grant.strip_prefix("secrets: ").and_then(|text| text.split_once('.'));
    let owner = owner.and_then(|(owner, _)| AppName::parse(owner).ok());
    let moved = |app: &AppName| before.apps.get(app) != after.apps.get(app);
    let record = compile::record_path(app);
    let config = |overview: &Overview| match &overview.config {
        Ok(config) => Some((config.app(app).cloned(), overview.shared_config())),
        Err(_) => None,
    };
    let place = |overview: &Overview| {
        let settings = overview.settings().ok();
        let own = settings.as_ref().and_then(|settings| settings.apps.get(app.as_str()));
        own.map(|own| (own.cluster.clone(), own.identity)).unwrap_or_default()
    };
    moved(app)
        || place(before) != place(after)
        || owner.as_ref().is_some_and(moved)
        || before.files.get(&record) != after.files.get(&record)
        || config(before) != config(after)
}

fn digest(app: &AppName, grants: &BTreeSet<String>, after: &Overview) -> String {
    let mut encoder = Encoder::new();
    encoder.text(app.as_str()).text(after.apps.get(app).map_or("", String::as_str)).list(grants.len());
    for grant in grants {
        encoder.text(grant);
    }
    encoder.digest().to_hex().chars().take(DIGEST_CHARS).collect()
}

/// Returns the grants that requests brought between two heads, by app.
async fn asked_for(
    instance: &Instance,
    before: Option<&CommitId>,
    after: &CommitId,
) -> Result<BTreeMap<AppName, BTreeSet<String>>, Error> {
    let mut asked: BTreeMap<AppName, BTreeSet<String>> = BTreeMap::new();
    for commit in instance.tree.first_parent_log(after, MAX_PUSH_WALK, &[SETTINGS_PATH]).await? {
        if let Some(before) = before
            && (commit.id == *before || instance.repository.is_ancestor(&commit.id, before).await?)
        {
            break;
        }
        let (Some(app), Some(parent)) = (asking_app(instance, &commit).await?, commit.parents.first()) else {
            continue;
        };
        let at = async |commit: &CommitId| overview::settings_at(&instance.tree, commit, Some(&instance.id)).await;
        let (Ok(then), Ok(now)) = (at(parent).await?, at(&commit.id).await?) else { continue };
        asked.entry(app.clone()).or_default().extend(grown(Some(&then), &now).remove(&app).unwrap_or_default());
    }
    Ok(asked)
}

/// Returns the app of the request that made a commit. A trailer is easily copied, so the request must be under way, or have ended in this very
/// commit.
async fn asking_app(instance: &Instance, commit: &Commit) -> Result<Option<AppName>, Error> {
    let Some(id) = commit.trailer("Wild-Operation") else { return Ok(None) };
    let Some(operation) = instance.store.operation(&instance.id, &OperationId(id.to_owned())).await? else {
        return Ok(None);
    };
    let is_under_way = matches!(operation.state, OperationState::Waiting | OperationState::Running);
    let is_its_own = operation.commit.as_ref() == Some(&commit.id);
    Ok(operation.request.as_ref().filter(|_| is_under_way || is_its_own).and_then(Request::app).cloned())
}
