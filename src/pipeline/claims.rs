//! What other apps of the same revision say of an object that an app drops, or finds under the mark of another one.
//!
//! Asked only where it matters, so that an ordinary pass reads no other app. Of each app a short digest for every wanted object is
//! remembered with the files it came from; two objects with one digest only keep each other from being deleted. Not here: what follows
//! (`plan`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::overview::{self, Overview};
use super::read::{self, Sight};
use super::{Error, Instance, lock};
use crate::base::Encoder;
use crate::compile;
use crate::model::{AppName, FileTree, ObjectId, OwnEntry, Record, RecordState};
use crate::observe;
use crate::plan::{self, Claim, Desired, Owner, Presence, Snapshot, namespace};

/// Kinds that an app gets without naming them.
const MADE_UNNAMED: [&str; 3] = ["ConfigMap", "Namespace", "Secret"];

/// What each app wants, by app.
#[derive(Default)]
pub(super) struct Wishes(Mutex<BTreeMap<AppName, Wish>>);

/// What an app wants, made from these files.
#[derive(Clone)]
struct Wish {
    tree: String,
    /// Digests of the objects; nothing if its files do not build.
    objects: Option<BTreeSet<u64>>,
}

/// Fills in what other apps say of objects that this one drops or that another one marked, and what is remembered of those that move here.
pub(super) async fn fill(instance: &Instance, sight: &Sight, snapshot: &mut Snapshot) -> Result<(), Error> {
    snapshot.elsewhere.removed = sight.along;
    note(instance, &sight.overview, snapshot);
    let marked: BTreeMap<ObjectId, AppName> = snapshot
        .existing
        .iter()
        .filter_map(|(id, it)| marked(id, &it.owner))
        .filter(|(id, app)| !serves(snapshot, id) || !sight.overview.apps.contains_key(app))
        .collect();
    let ids: BTreeSet<ObjectId> = plan::dropped(snapshot).into_iter().chain(marked.keys().cloned()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let wanted = wanted(instance, &sight.overview, snapshot, &ids).await?;
    snapshot.claims = wanted;
    // An app that is another one in the newest revision is looked at anew, and may keep then what it gives away here.
    let newest = overview::overview(instance).await?;
    let is_as_in_newest = |app: &AppName| newest.apps.get(app) == sight.overview.apps.get(app);
    for (id, app) in marked {
        if !snapshot.claims.contains_key(&id) && is_as_in_newest(&app) && is_as_in_newest(&snapshot.app) {
            take(instance, snapshot, id, app).await?;
        }
    }
    Ok(())
}

/// Returns an object with the other app whose mark it bears.
fn marked(id: &ObjectId, owner: &Owner) -> Option<(ObjectId, AppName)> {
    match owner {
        Owner::App(app) => Some((id.clone(), AppName::parse(app).ok()?)),
        Owner::Nobody | Owner::Us { .. } | Owner::Released | Owner::Tool { .. } | Owner::Controller(_) => None,
    }
}

/// Returns whether an object is the namespace of an app that only needs it to be there. As long as the app is there that has it, it stays with
/// that one: none of their files names it, so each would take it from the other.
fn serves(snapshot: &Snapshot, id: &ObjectId) -> bool {
    let Desired::Objects(objects) = &snapshot.desired else { return false };
    *id == namespace::id(&snapshot.namespace) && objects.iter().all(|it| it.object.id() != *id)
}

/// Notes that an object moves here from another app, with what was remembered of it there.
async fn take(instance: &Instance, snapshot: &mut Snapshot, id: ObjectId, app: AppName) -> Result<(), Error> {
    let known = instance.store.inventory(&instance.id, &app).await?.get(&id).cloned();
    // Labels can be copied: that we applied it, our memory says or our own entry among its managers.
    let managed = snapshot.existing.get(&id).and_then(|existing| existing.managed.as_ref());
    if known.is_none() && OwnEntry::of(managed).fields.is_empty() {
        return Ok(());
    }
    let is_live = |record: &Record| {
        if record.cluster != snapshot.cluster {
            return false;
        }
        let uid = snapshot.live.get(&id).map(|live| &live.uid);
        record.state == RecordState::Applied && uid == Some(&record.uid)
    };
    if let Some(record) = known.filter(is_live) {
        snapshot.existing.remove(&id);
        snapshot.inventory.insert(record);
    }
    snapshot.claims.insert(id, Claim::GivenUp(app));
    Ok(())
}

/// Returns which of these objects another app of a revision wants, with the first that does; one that may want it only where none does.
async fn wanted(
    instance: &Instance,
    overview: &Overview,
    snapshot: &Snapshot,
    ids: &BTreeSet<ObjectId>,
) -> Result<BTreeMap<ObjectId, Claim>, Error> {
    let settings = overview.settings()?;
    let targets = instance.targets();
    let is_near = |app: &AppName| {
        targets.named(settings.context_of(app.as_str())).is_some_and(|(name, _)| *name == snapshot.cluster)
    };
    let digests: Vec<(&ObjectId, u64)> = ids.iter().map(|id| (id, digest(id))).collect();
    let mut found: BTreeMap<ObjectId, Claim> = BTreeMap::new();
    let mut note = |app: &AppName, claim: fn(AppName) -> Claim, wants: &dyn Fn(&ObjectId, u64) -> bool| {
        let mut hits = digests.iter().filter(|(id, digest)| wants(id, *digest)).peekable();
        // These cost more than to see that an app wants none of the objects, which nearly all apps do.
        if hits.peek().is_some() && is_deployed(overview, app) && is_near(app) {
            for (id, _) in hits {
                let claim = claim(app.clone());
                let first = found.entry((*id).clone()).or_insert_with(|| claim.clone());
                *first = claim.min(first.clone());
            }
        }
    };
    for app in look_up(instance, overview, &snapshot.app, &mut note) {
        let files = read::own(instance, app, overview).await?;
        let shared = &snapshot.policy.shared;
        let built = observe::wanted_ids(app, &files, &*instance.secrets.read()?, &instance.hash_key, shared);
        let objects = built.map(|ids| ids.iter().map(digest).collect::<BTreeSet<u64>>());
        match &objects {
            Some(objects) => note(app, Claim::Wanted, &|_, digest| objects.contains(&digest)),
            None => note(app, Claim::Possible, &|id, _| names(&files, id)),
        }
        if let Some(tree) = overview.apps.get(app) {
            lock(&instance.wishes.0).insert(app.clone(), Wish { tree: tree.clone(), objects });
        }
    }
    Ok(found)
}

/// Notes what the other apps want of which that is remembered, and returns those whose files have to be read.
fn look_up<'a>(
    instance: &Instance,
    overview: &'a Overview,
    own: &AppName,
    note: &mut impl FnMut(&AppName, fn(AppName) -> Claim, &dyn Fn(&ObjectId, u64) -> bool),
) -> Vec<&'a AppName> {
    let wishes = lock(&instance.wishes.0);
    let mut unknown = Vec::new();
    for (app, tree) in overview.apps.iter().filter(|(app, _)| *app != own) {
        match wishes.get(app) {
            Some(Wish { tree: known, objects: Some(objects) }) if known == tree => {
                note(app, Claim::Wanted, &|_, digest| objects.contains(&digest));
            }
            Some(_) | None => unknown.push(app),
        }
    }
    unknown
}

/// Returns whether the files of an app that does not build name an object by kind and name: then it may want it. Generators and the
/// directives of a build make some kinds without a word of them.
fn names(files: &FileTree, id: &ObjectId) -> bool {
    let any = |word: &str| files.paths().any(|path| files.text(path.as_str()).is_some_and(|text| holds(text, word)));
    any(&id.name) && (MADE_UNNAMED.contains(&id.kind.as_str()) || any(&id.kind))
}

/// Returns whether a text holds a word that is no part of a longer one.
fn holds(text: &str, word: &str) -> bool {
    let is_open = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
        is_open(before.chars().next_back()) && is_open(after.chars().next())
    })
}

/// Returns whether an app is to be in the cluster.
fn is_deployed(overview: &Overview, app: &AppName) -> bool {
    compile::record_of(&overview.files, app).ok().flatten().is_none_or(|record| record.deployed)
}

/// Remembers what an app wants that was built anyway.
fn note(instance: &Instance, overview: &Overview, snapshot: &Snapshot) {
    let mut wishes = lock(&instance.wishes.0);
    match (&snapshot.desired, overview.apps.get(&snapshot.app)) {
        (_, None) => _ = wishes.remove(&snapshot.app),
        (Desired::Objects(objects), Some(tree)) if snapshot.presence == Presence::Kept => {
            let objects = objects.iter().map(|it| digest(&it.object.id())).collect();
            wishes.insert(snapshot.app.clone(), Wish { tree: tree.clone(), objects: Some(objects) });
        }
        (Desired::Objects(_) | Desired::Unreadable(_) | Desired::Leaking(_), Some(_)) => {}
    }
}

fn digest(id: &ObjectId) -> u64 {
    let mut encoder = Encoder::new();
    encoder.text(&id.group).text(&id.kind).text(&id.namespace).text(&id.name);
    let bytes = encoder.digest().0;
    bytes.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RepoPath;
    use crate::model::File;

    #[test]
    fn an_object_is_named_by_its_kind_and_its_name() {
        let text = "kind: ConfigMap\nmetadata: {name: my-files}\ndata: {database: none}\n";
        let check = |kind: &str, name: &str, expected: bool| {
            let mut files = FileTree::new();
            files.insert(RepoPath::parse("config.yaml").unwrap(), File::text(text));
            let id = ObjectId::new("", kind, "files", name);
            assert_eq!(names(&files, &id), expected, "{kind}/{name}");
        };
        check("ConfigMap", "my-files", true);
        // A prefix may come from elsewhere.
        check("ConfigMap", "files", true);
        check("Secret", "data", true);
        check("PersistentVolumeClaim", "data", false);
        check("ConfigMap", "base", false);
        check("ConfigMap", "fil", false);
    }
}
