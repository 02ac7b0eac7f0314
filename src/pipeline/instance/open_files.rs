//! Files of an instance that others could read: their modes are narrowed when it is opened and when they change, and it is told until somebody
//! has written what is in them anew.
//!
//! Not here: narrowing (`settings`), the kubeconfig and what it names (`target`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{Error, Instance};
use crate::base::Timestamp;
use crate::model::{InstanceId, Narrowed};
use crate::settings::{self, InstanceState, StateDirectory};
use crate::store::Store;

/// Name of the cursor that holds them.
const OPEN: &str = "openFiles";
/// Files that are remembered; an instance has a dozen.
const MAX_FILES: usize = 100;

/// A file that others could read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenFile {
    /// The file, and the mode that it had.
    #[serde(flatten)]
    pub narrowed: Narrowed,
    /// When that was found and mended.
    pub found: Timestamp,
    /// When it had been written last by then.
    written: Timestamp,
}

/// The files that others could read, as far as they were not written since.
pub(super) struct OpenFiles {
    state: StateDirectory,
    own: InstanceState,
    credentials: Vec<PathBuf>,
    known: Mutex<Vec<OpenFile>>,
}

impl OpenFiles {
    /// Reads what was found before. What does not read back is found no more.
    pub(super) async fn read(
        (state, own, credentials): (StateDirectory, InstanceState, Vec<PathBuf>),
        store: &Store,
        instance: &InstanceId,
    ) -> Result<Self, Error> {
        let text = store.cursor(instance, OPEN).await?.unwrap_or_default();
        Ok(Self { state, own, credentials, known: Mutex::new(serde_json::from_str(&text).unwrap_or_default()) })
    }
}

/// Narrows what others may do with the files of an instance, and remembers what they could.
pub(super) async fn narrow(instance: &Instance) -> Result<(), Error> {
    let files = &instance.open_files;
    let mut narrowed = files.state.narrow()?;
    narrowed.extend(files.own.narrow()?);
    for secret in files.credentials.iter().map(PathBuf::as_path).chain([instance.secrets.path()]) {
        narrowed.extend(settings::narrow_with_copies(secret)?);
    }
    for Narrowed { path, mode } in &narrowed {
        tracing::warn!(file = path, mode, "others could read this file until now: replace what is in it");
    }
    // Whoever found these has said so.
    narrowed.extend(instance.clusters.take_narrowed());
    let rewritten = instance.secrets.take_narrowed();
    for Narrowed { path, mode } in &rewritten {
        tracing::warn!(file = path, mode, "others could read this file until it was written: replace what was in it");
    }
    narrowed.extend(rewritten);
    if narrowed.is_empty() {
        return Ok(());
    }
    let mut known = files.known.lock().await;
    for narrowed in narrowed {
        let Narrowed { path, mode: _ } = &narrowed;
        let written = settings::written(path).unwrap_or(Timestamp(0));
        known.retain(|file| file.narrowed.path != *path);
        known.push(OpenFile { narrowed, found: instance.now(), written });
    }
    known.retain(is_as_it_was);
    let surplus = known.len().saturating_sub(MAX_FILES);
    known.drain(..surplus);
    let text = serde_json::to_string(&*known).unwrap_or_default();
    Ok(instance.store.put_cursor(&instance.id, OPEN, &text).await?)
}

/// Returns the files that others could read and that nobody has written since.
pub(super) async fn present(instance: &Instance) -> Vec<OpenFile> {
    let mut known = instance.open_files.known.lock().await;
    known.retain(is_as_it_was);
    known.clone()
}

fn is_as_it_was(file: &OpenFile) -> bool {
    settings::written(&file.narrowed.path) == Some(file.written)
}
