//! Deletions of one revision over all apps: what one app may lose without a person depends on what the others lose.
//!
//! A ledger in the store says it, so that neither a restart nor two passes side by side lose count. It is of one revision, and stays open over
//! later ones as long as an app waits because of it: a push of something else must not let more go. It also says what stood when something came
//! up that is to go, so that what comes with the same revision does not make that look like little. Not here: the limits (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::MutexGuard;

use super::{Error, Instance, brakes};
use crate::model::{AppName, CommitId, Inventory};
use crate::plan::{self, Elsewhere, Going, Plan, Presence, Snapshot, Verb};

/// Name of the ledger in the store.
const LEDGER: &str = "deletions";
/// What stands before an app that waits, which is no name of an app.
const WAITS: &str = "!";
/// What stands before how many objects all apps had when the revision came.
const OBJECTS: &str = "=";
/// What stands before an app and the incarnations that stood there.
const STOOD: &str = "+";
/// Why a plan waits for a person who agrees to its deletions.
const NEEDS_APPROVAL: &str = "DeletionNeedsApproval";

/// Where objects of an app are that may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In the cluster.
    Cluster,
    /// In the Keycloak.
    Keycloak,
}

impl Place {
    /// Returns the name of this part of an app in the ledger.
    fn of(self, app: &AppName) -> String {
        match self {
            Self::Cluster => app.to_string(),
            Self::Keycloak => format!("{app}/keycloak"),
        }
    }
}

/// Takes in a revision before any pass of it: how much may go of all apps is measured by what they had then.
pub(super) async fn begin(instance: &Instance, commit: &CommitId) -> Result<(), Error> {
    let objects = instance.store.count_records(&instance.id).await?;
    let mut open = Open::of(instance).await?;
    open.ledger.turn_to(commit, objects);
    open.keep(instance).await
}

/// Returns the incarnations that stood in a place when what is to go there came up; nothing where nothing is.
pub(super) async fn standing(
    instance: &Instance,
    app: &AppName,
    place: Place,
) -> Result<Option<BTreeSet<String>>, Error> {
    Ok(Open::of(instance).await?.ledger.standing.get(&place.of(app)).cloned())
}

/// Remembers what stands in a place as long as something is to go there.
pub(super) async fn stand(
    instance: &Instance,
    (app, place): (&AppName, Place),
    inventory: &Inventory,
    going: Going,
) -> Result<(), Error> {
    let mut open = Open::of(instance).await?;
    open.ledger.stand(place.of(app), inventory, going);
    open.keep(instance).await
}

/// The ledger, while nobody else has it.
struct Open<'a> {
    place: MutexGuard<'a, Option<Ledger>>,
    known: Ledger,
    ledger: Ledger,
}

impl<'a> Open<'a> {
    async fn of(instance: &'a Instance) -> Result<Self, Error> {
        let place = instance.deletions.lock().await;
        let known = match place.as_ref() {
            Some(known) => known.clone(),
            None => read(instance).await?,
        };
        Ok(Self { place, ledger: known.clone(), known })
    }

    /// Stores what was changed. Until that is done, everybody goes by what was stored.
    async fn keep(mut self, instance: &Instance) -> Result<(), Error> {
        if self.ledger != self.known {
            instance.store.put_cursor(&instance.id, LEDGER, &self.ledger.text()).await?;
        }
        *self.place = Some(self.ledger);
        Ok(())
    }
}

/// Plans an app and enters what it is about to lose into the ledger.
pub(super) async fn plan(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    snapshot.standing = standing(instance, &snapshot.app, Place::Cluster).await?;
    let alone = plan::plan(snapshot);
    let mut open = Open::of(instance).await?;
    let ledger = &mut open.ledger;
    ledger.stand(Place::Cluster.of(&snapshot.app), &snapshot.inventory, alone.going);
    let plan = if prunes(snapshot, &alone) {
        let objects = instance.store.count_records(&instance.id).await?;
        ledger.turn_to(&snapshot.commit, objects);
        fill(instance, snapshot, ledger).await?;
        let plan = plan::plan(snapshot);
        ledger.enter(&snapshot.app, &plan, waits(&plan) && !waits(&alone));
        plan
    } else {
        ledger.waiting.remove(&snapshot.app);
        alone
    };
    open.keep(instance).await?;
    brakes::release(instance, snapshot, &plan).await?;
    Ok(plan)
}

/// Plans an app as `plan` would, and enters nothing.
pub(super) async fn preview(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    snapshot.standing = standing(instance, &snapshot.app, Place::Cluster).await?;
    let alone = plan::plan(snapshot);
    if !prunes(snapshot, &alone) {
        return Ok(alone);
    }
    let mut ledger = read(instance).await?;
    let objects = instance.store.count_records(&instance.id).await?;
    ledger.turn_to(&snapshot.commit, objects);
    fill(instance, snapshot, &ledger).await?;
    Ok(plan::plan(snapshot))
}

/// Returns whether a plan waits for a person because of what it deletes.
fn waits(plan: &Plan) -> bool {
    plan.blocked.iter().any(|blocked| blocked.reason == NEEDS_APPROVAL)
}

/// Returns whether a plan takes objects from an app that stays, or would if a person agreed.
fn prunes(snapshot: &Snapshot, plan: &Plan) -> bool {
    snapshot.presence == Presence::Kept && !plan.digest.is_empty()
}

/// Reads the ledger.
async fn read(instance: &Instance) -> Result<Ledger, Error> {
    Ok(Ledger::of(&instance.store.cursor(&instance.id, LEDGER).await?.unwrap_or_default()))
}

/// Fills in what the ledger says of other apps.
async fn fill(instance: &Instance, snapshot: &mut Snapshot, ledger: &Ledger) -> Result<(), Error> {
    let deleted = ledger.apps.iter().filter(|(app, _)| **app != snapshot.app).map(|(_, count)| count).sum();
    let objects = match ledger.objects {
        Some(objects) => objects,
        // An earlier build did not write it down.
        None => instance.store.count_records(&instance.id).await?,
    };
    snapshot.elsewhere = Elsewhere { deleted, objects, ..snapshot.elsewhere };
    Ok(())
}

/// How many objects each app loses in one revision, and in those after it while an app waits.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Ledger {
    commit: String,
    /// How many objects all apps had when the revision came.
    objects: Option<usize>,
    apps: BTreeMap<AppName, usize>,
    /// The apps that wait because of what others lose.
    waiting: BTreeSet<AppName>,
    /// By app and place, the incarnations that stood when what is to go there came up.
    standing: BTreeMap<String, BTreeSet<String>>,
}

impl Ledger {
    /// Reads a ledger; a line that does not read says nothing.
    fn of(text: &str) -> Self {
        let mut lines = text.lines();
        let commit = lines.next().unwrap_or_default().to_owned();
        let mut ledger = Self { commit, ..Self::default() };
        for (first, second) in lines.filter_map(|line| line.split_once(' ')) {
            if first == WAITS {
                ledger.waiting.extend(AppName::parse(second));
            } else if first == OBJECTS {
                ledger.objects = second.parse().ok();
            } else if first == STOOD {
                let mut words = second.split(' ').map(str::to_owned);
                ledger.standing.extend(words.next().map(|place| (place, words.collect())));
            } else if let (Ok(app), Ok(count)) = (AppName::parse(first), second.parse()) {
                ledger.apps.insert(app, count);
            }
        }
        ledger
    }

    /// Goes over to a revision: what was deleted before says nothing of it, unless an app still waits because of that.
    fn turn_to(&mut self, commit: &CommitId, objects: usize) {
        if self.commit != commit.as_str() && self.waiting.is_empty() {
            self.apps.clear();
            self.objects = Some(objects);
        }
        self.commit = commit.as_str().to_owned();
    }

    /// Remembers what stands in a place when something comes up that is to go, and forgets it when nothing is. A plan that did not look changes
    /// nothing of that, unless nothing is left that could go.
    fn stand(&mut self, place: String, inventory: &Inventory, going: Going) {
        let uids = || inventory.records().map(|record| record.uid.clone()).filter(|uid| !uid.is_empty());
        match going {
            Going::Unknown if !inventory.is_empty() => {}
            Going::Something => _ = self.standing.entry(place).or_insert_with(|| uids().collect()),
            Going::Unknown | Going::Nothing => _ = self.standing.remove(&place),
        }
    }

    /// Enters what an app is about to lose, and whether it waits because of others.
    fn enter(&mut self, app: &AppName, plan: &Plan, waits: bool) {
        let count = plan.actions.iter().filter(|action| matches!(action.verb, Verb::Delete { .. })).count();
        if count > 0 {
            let entered = self.apps.entry(app.clone()).or_default();
            // What is left of an earlier pass was counted then.
            *entered = count.max(*entered);
        }
        match waits {
            true => _ = self.waiting.insert(app.clone()),
            false => _ = self.waiting.remove(app),
        }
    }

    fn text(&self) -> String {
        let counts = self.apps.iter().map(|(app, count)| format!("{app} {count}"));
        let waiting = self.waiting.iter().map(|app| format!("{WAITS} {app}"));
        let objects = self.objects.iter().map(|objects| format!("{OBJECTS} {objects}"));
        let stood = self.standing.iter().map(|(place, uids)| {
            let words: Vec<&str> = [STOOD, place].into_iter().chain(uids.iter().map(String::as_str)).collect();
            words.join(" ")
        });
        let lines = [self.commit.clone()].into_iter().chain(objects).chain(counts).chain(waiting).chain(stood);
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectId, Record};

    #[test]
    fn what_stood_is_known_until_a_plan_that_looked_finds_nothing_to_go() {
        let record =
            |name: &str| Record { uid: name.to_owned(), ..Record::sample(ObjectId::new("", "ConfigMap", "a", name)) };
        let few = Inventory::new([record("u1"), record("u2")]);
        let many = Inventory::new([record("u1"), record("u2"), record("u3")]);
        let mut ledger = Ledger::default();
        let mut stood = |inventory: &Inventory, going: Going| {
            ledger.stand("blog".to_owned(), inventory, going);
            ledger.standing.get("blog").map(BTreeSet::len)
        };
        assert_eq!(stood(&few, Going::Unknown), None);
        assert_eq!(stood(&few, Going::Something), Some(2));
        // What comes later is not counted, also after a pass that broke off and after one that could not read.
        for going in [Going::Something, Going::Unknown, Going::Unknown, Going::Something] {
            assert_eq!(stood(&many, going), Some(2), "{going:?}");
        }
        assert_eq!((stood(&many, Going::Nothing), stood(&many, Going::Something)), (None, Some(3)));
        assert_eq!(stood(&Inventory::default(), Going::Unknown), None);
    }

    #[test]
    fn the_ledger_of_another_revision_says_nothing_unless_an_app_waits() {
        let commit = |letter: &str| CommitId::parse(&letter.repeat(40)).unwrap();
        let app = |name: &str| AppName::parse(name).unwrap();
        let apps = [("blog", 3), ("shop", 11)].map(|(name, count)| (app(name), count));
        let standing =
            [("wiki".to_owned(), ["u1", "u2"].map(str::to_owned).into()), ("a/keycloak".to_owned(), [].into())];
        let (objects, waiting) = (Some(40), BTreeSet::new());
        let ledger = Ledger { commit: "a".repeat(40), objects, apps: apps.into(), waiting, standing: standing.into() };
        let left = |ledger: &Ledger, letter: &str| {
            let mut read = Ledger::of(&ledger.text());
            assert_eq!(read, *ledger);
            read.turn_to(&commit(letter), 7);
            assert_eq!(read.standing, ledger.standing);
            (read.apps.len(), read.objects)
        };
        assert_eq!((left(&ledger, "a"), left(&ledger, "b")), ((2, Some(40)), (0, Some(7))));
        let waiting = Ledger { waiting: [app("wiki")].into(), ..ledger };
        assert_eq!((left(&waiting, "a"), left(&waiting, "b")), ((2, Some(40)), (2, Some(40))));
        assert_eq!(Ledger::of(""), Ledger::default());
    }
}
