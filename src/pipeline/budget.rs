//! Deletions of one revision over all apps: what one app may lose without a person depends on what the others lose.
//!
//! A ledger in the store says it, so that neither a restart nor two passes side by side lose count. Not here: the limits (`plan`).

use std::collections::BTreeMap;

use super::{Error, Instance};
use crate::model::{AppName, CommitId};
use crate::plan::{self, Elsewhere, Plan, Presence, Snapshot, Verb};

/// Name of the ledger in the store.
const LEDGER: &str = "deletions";

/// Plans an app and enters what it is about to lose into the ledger.
pub(super) async fn plan(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    let alone = plan::plan(snapshot);
    if !prunes(snapshot, &alone) {
        return Ok(alone);
    }
    let _turn = instance.deletions.lock().await;
    let mut ledger = read(instance, snapshot).await?;
    let plan = plan::plan(snapshot);
    let count = plan.actions.iter().filter(|action| matches!(action.verb, Verb::Delete { .. })).count();
    if count > 0 {
        let entered = ledger.apps.entry(snapshot.app.clone()).or_default();
        // What is left of an earlier pass was counted then.
        *entered = count.max(*entered);
        instance.store.put_cursor(&instance.id, LEDGER, &ledger.text()).await?;
    }
    Ok(plan)
}

/// Plans an app as `plan` would, and enters nothing.
pub(super) async fn preview(instance: &Instance, snapshot: &mut Snapshot) -> Result<Plan, Error> {
    let alone = plan::plan(snapshot);
    if !prunes(snapshot, &alone) {
        return Ok(alone);
    }
    read(instance, snapshot).await?;
    Ok(plan::plan(snapshot))
}

/// Returns whether a plan takes objects from an app that stays, or would if a person agreed.
fn prunes(snapshot: &Snapshot, plan: &Plan) -> bool {
    snapshot.presence == Presence::Kept && !plan.digest.is_empty()
}

/// Reads the ledger of the revision and fills in what it says of other apps.
async fn read(instance: &Instance, snapshot: &mut Snapshot) -> Result<Ledger, Error> {
    let text = instance.store.cursor(&instance.id, LEDGER).await?.unwrap_or_default();
    let ledger = Ledger::of(&text, &snapshot.commit);
    let deleted = ledger.apps.iter().filter(|(app, _)| **app != snapshot.app).map(|(_, count)| count).sum();
    let objects = instance.store.count_records(&instance.id).await?;
    snapshot.elsewhere = Elsewhere { deleted, objects };
    Ok(ledger)
}

/// How many objects each app loses in one revision.
#[derive(PartialEq, Debug)]
struct Ledger {
    commit: CommitId,
    apps: BTreeMap<AppName, usize>,
}

impl Ledger {
    /// Reads the ledger of a revision; that of another one, or one that does not read, says nothing of it.
    fn of(text: &str, commit: &CommitId) -> Self {
        let mut lines = text.lines();
        let is_same = lines.next() == Some(commit.as_str());
        let entry = |line: &str| {
            let (app, count) = line.split_once(' ')?;
            Some((AppName::parse(app).ok()?, count.parse().ok()?))
        };
        Self { commit: commit.clone(), apps: lines.filter(|_| is_same).filter_map(entry).collect() }
    }

    fn text(&self) -> String {
        let lines = self.apps.iter().map(|(app, count)| format!("{app} {count}"));
        [self.commit.as_str().to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_of_another_revision_says_nothing() {
        let commit = |letter: &str| CommitId::parse(&letter.repeat(40)).unwrap();
        let apps = [("blog", 3), ("shop", 11)].map(|(app, count)| (AppName::parse(app).unwrap(), count));
        let ledger = Ledger { commit: commit("a"), apps: apps.into() };
        assert_eq!(Ledger::of(&ledger.text(), &commit("a")), ledger);
        assert_eq!(Ledger::of(&ledger.text(), &commit("b")).apps.len(), 0);
        assert_eq!(Ledger::of("", &commit("b")).apps.len(), 0);
    }
}
