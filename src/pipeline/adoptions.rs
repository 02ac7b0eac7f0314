//! Which namespaces a deploy lets an app into that takes over what nobody owns: looked up before the commit that says so.
//!
//! Not here: whose a namespace is (`plan::ground`), the commit (`compile`).

use std::collections::BTreeSet;

use super::{Error, Instance, Read, ask_of, grants, look, read, stand};
use crate::model::{AppName, Request};
use crate::plan::{self, Presence};

/// Returns the namespaces; none where a person asks for something else.
pub(super) async fn of(
    instance: &Instance,
    app: &AppName,
    read: &Read,
    request: Option<&Request>,
) -> Result<Vec<String>, Error> {
    if !matches!(request, Some(Request::Deploy { adopt: true, .. })) {
        return Ok(Vec::new());
    }
    let mut sight = read::desired(instance, app, &read.head, read).await?;
    if sight.presence == Presence::Added {
        // It is about to be deployed.
        sight.presence = Presence::Kept;
    }
    let Ok((stand, target, _)) = stand(instance, app, &sight).await? else { return Ok(Vec::new()) };
    let judged = grants::judge(instance, app, &sight).await?;
    let ask = (ask_of(request), BTreeSet::new());
    let observed = look(instance, (&sight, &judged), (stand, target.as_ref()), ask, app).await?;
    Ok(plan::adoptable(&observed.snapshot))
}
