//! Deletions of one revision over all apps: what one app may lose without a person depends on what the others lose.
//!
//! A ledger in the store says it, so that neither a restart nor two passes side by side lose count. It is of one revision, and stays open over
//! later ones as long as an app waits because of it: a push of something else must not let more go. Not here: the limits (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Error, Instance};
use crate::model::{AppName, CommitId};
use crate::plan::{self, Elsewhere, Plan, Presence, Snapshot, Verb};

/// Name of the ledger in the store.
const LEDGER: &str = "deletions";
/// What stands before an app that waits, which is no name of an app.
const WAITS: &str = "!";
/// Why a plan waits for a person who agrees to its deletions.
const NEEDS_APPROVAL: &str = "DeletionNeedsApproval";

/// Plans an app and enters what it is about to lose into the ledger.
pub(super) async fn plan(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    let alone = plan::plan(snapshot);
    let mut open = instance.deletions.lock().await;
    let known = match open.take() {
        Some(known) => known,
        None => read(instance).await?,
    };
    let mut ledger = known.clone();
    let plan = if prunes(snapshot, &alone) {
        ledger.turn_to(&snapshot.commit);
        fill(instance, snapshot, &ledger).await?;
        let plan = plan::plan(snapshot);
        ledger.enter(&snapshot.app, &plan, waits(&plan) && !waits(&alone));
        plan
    } else {
        ledger.waiting.remove(&snapshot.app);
        alone
    };
    if ledger != known {
        instance.store.put_cursor(&instance.id, LEDGER, &ledger.text()).await?;
    }
    *open = Some(ledger);
    Ok(plan)
}

/// Plans an app as `plan` would, and enters nothing.
pub(super) async fn preview(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    let alone = plan::plan(snapshot);
    if !prunes(snapshot, &alone) {
        return Ok(alone);
    }
    let mut ledger = read(instance).await?;
    ledger.turn_to(&snapshot.commit);
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
    let objects = instance.store.count_records(&instance.id).await?;
    snapshot.elsewhere = Elsewhere { deleted, objects, ..snapshot.elsewhere };
    Ok(())
}

/// How many objects each app loses in one revision, and in those after it while an app waits.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Ledger {
    commit: String,
    apps: BTreeMap<AppName, usize>,
    /// The apps that wait because of what others lose.
    waiting: BTreeSet<AppName>,
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
            } else if let (Ok(app), Ok(count)) = (AppName::parse(first), second.parse()) {
                ledger.apps.insert(app, count);
            }
        }
        ledger
    }

    /// Goes over to a revision: what was deleted before says nothing of it, unless an app still waits because of that.
    fn turn_to(&mut self, commit: &CommitId) {
        if self.commit != commit.as_str() && self.waiting.is_empty() {
            self.apps.clear();
        }
        self.commit = commit.as_str().to_owned();
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
        [self.commit.clone()].into_iter().chain(counts).chain(waiting).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_of_another_revision_says_nothing_unless_an_app_waits() {
        let commit = |letter: &str| CommitId::parse(&letter.repeat(40)).unwrap();
        let app = |name: &str| AppName::parse(name).unwrap();
        let apps = [("blog", 3), ("shop", 11)].map(|(name, count)| (app(name), count));
        let ledger = Ledger { commit: "a".repeat(40), apps: apps.into(), waiting: BTreeSet::new() };
        let left = |ledger: &Ledger, letter: &str| {
            let mut read = Ledger::of(&ledger.text());
            assert_eq!(read, *ledger);
            read.turn_to(&commit(letter));
            read.apps.len()
        };
        assert_eq!((left(&ledger, "a"), left(&ledger, "b")), (2, 0));
        let waiting = Ledger { waiting: [app("wiki")].into(), ..ledger };
        assert_eq!((left(&waiting, "a"), left(&waiting, "b")), (2, 2));
        assert_eq!(Ledger::of(""), Ledger::default());
    }
}
