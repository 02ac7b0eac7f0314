//! What a pass would do: its line up to and with the plan, on what stands there now. Nothing is written, neither here nor on the cluster.
//!
//! Not here: the passes that write (`mod.rs`).

use std::collections::BTreeSet;

use super::commit::Committed;
use super::{Error, Instance, adoptions, ask_of, budget, cascades, grants, look, read, realms, stand, text_of};
use crate::compile::{self, Cause, Proposal};
use crate::model::{AppName, Reason, Request};
use crate::plan::cascade::Cascade;
use crate::plan::{Blocked, Nowhere, Plan};

/// Returns what `wild plan` shows: the line up to and with plan, nothing written.
pub async fn preview(instance: &Instance, app: &AppName, request: Option<&Request>) -> Result<Preview, Error> {
    let mut read = read::read_alone(instance, app, request, Reason::Request).await?;
    read.sources.adoptable = adoptions::of(instance, app, &read, request).await?;
    let proposal = match request {
        None => Proposal::nothing(app),
        Some(request) => match compile::propose(app, &read.sources, Cause::Request(request)) {
            Ok(proposal) => proposal,
            Err(refusal) => return Err(Error::Refused(Box::new(text_of(&refusal)))),
        },
    };
    let committed = Committed::unchanged(&read);
    let sight = read::desired(instance, app, &committed.head, &read).await?;
    let judged = grants::judge(instance, app, &sight).await?;
    let mut cascades = Vec::new();
    let plan = match stand(instance, app, &sight).await? {
        Err(Nowhere::NoCluster) => None,
        Err(nowhere) => {
            let (reason, message, hint) = nowhere.told(app);
            let blocked = Blocked { object: None, reason: reason.to_owned(), message, hint };
            Some(Plan { blocked: vec![blocked], ..Plan::nothing(app.clone(), committed.head.clone()) })
        }
        Ok((stand, target, realms)) => {
            let ask = (ask_of(request), BTreeSet::new());
            let mut observed = look(instance, (&sight, &judged), (stand, target.as_ref()), ask, app).await?;
            // Nothing is committed, so what the commit would grant counts as granted here.
            observed.snapshot.policy.grants.namespaces.extend(read.sources.adoptable.iter().cloned());
            let mut plan = budget::preview(instance, &mut observed.snapshot).await?;
            cascades = cascades::of(&plan, target.as_ref()).await;
            let first = plan.actions.len();
            let own = realms::preview(instance, &observed.snapshot, (&sight, &judged.secrets), (realms, first)).await?;
            own.into_iter().for_each(|own| plan.join(own));
            Some(plan)
        }
    };
    Ok(Preview { proposal, plan, cascades })
}

/// What a pass would do.
pub struct Preview {
    /// To the repository.
    pub proposal: Proposal,
    /// To the cluster, as the repository is now; nothing without a cluster.
    pub plan: Option<Plan>,
    /// What goes along with what it would delete.
    pub cascades: Vec<Cascade>,
}
