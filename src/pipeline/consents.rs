//! To which deletions of its farewell a person agreed, by app that goes, for the passes of its later stages.
//!
//! It is written before the first of them is sent, so that whoever agreed once is asked once, whatever becomes of this process. Not here:
//! what a plan asks for (`plan`).

use std::collections::BTreeMap;

use tokio::sync::Mutex;

use super::{Error, Instance};
use crate::model::{AppName, InstanceId};
use crate::plan::{Agreed, Presence};
use crate::store::Store;

/// Name of the cursor that holds them.
const AGREED: &str = "agreed";

/// What people agreed to.
pub(super) struct Consents(Mutex<BTreeMap<AppName, Agreed>>);

impl Consents {
    /// Returns what people agreed to before. What does not read back counts as never said: a person is asked once more.
    pub(super) async fn read(store: &Store, instance: &InstanceId) -> Result<Self, Error> {
        let text = store.cursor(instance, AGREED).await?.unwrap_or_default();
        Ok(Self(Mutex::new(serde_json::from_str(&text).unwrap_or_default())))
    }
}

/// Remembers what is agreed to for an app; nothing ends what was.
pub(super) async fn note(instance: &Instance, app: &AppName, agreed: &Agreed) -> Result<(), Error> {
    // Held until it is stored: of two that change it the later text says both.
    let mut all = instance.consents.0.lock().await;
    if all.get(app).map_or(agreed.is_empty(), |known| known == agreed) {
        return Ok(());
    }
    let mut next = all.clone();
    match agreed.is_empty() {
        true => _ = next.remove(app),
        false => _ = next.insert(app.clone(), agreed.clone()),
    }
    let text = serde_json::to_string(&next).unwrap_or_default();
    instance.store.put_cursor(&instance.id, AGREED, &text).await?;
    *all = next;
    Ok(())
}

/// Returns what is agreed to for an app; one that is there again has nothing of its last farewell.
pub(super) async fn of(instance: &Instance, app: &AppName, presence: Presence) -> Result<Agreed, Error> {
    if matches!(presence, Presence::Kept | Presence::Added) {
        note(instance, app, &Agreed::new()).await?;
    }
    Ok(instance.consents.0.lock().await.get(app).cloned().unwrap_or_default())
}
