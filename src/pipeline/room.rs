//! Room in memory for apps whose files are large: they are read while few others are, compiled while nothing else that is large is made, and not
//! compiled where they are too large.
//!
//! Room to read is taken first and held to the end of a pass, and whoever waits for it has no other. The turn to compile is taken by a pass that has no room yet and given back before it takes any, so that there is no circle. Not here: the room itself
//! (`observe::room`), how large the files of an app may be once they are read (`kustomize`).

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Read;
use crate::kustomize;
use crate::model::{AppName, Operation, RefusalText};
use crate::observe::{self, Room};

/// Bytes of files from which on an app is compiled while no other is: three versions of it are held at once.
const TURN_BYTES: usize = 128 * 1024;

/// Bytes of files up to which an app is read without waiting: as many passes as run side by side read less than one large app.
pub(super) const LIGHT_READ_BYTES: u64 = 1024 * 1024;
/// Bytes of files that the passes of larger apps read side by side. A pass holds what it compiles and what it applies, which are read apart.
const READING_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of one permit.
const PERMIT_BYTES: u64 = 64 * 1024;

static READING: Semaphore = Semaphore::const_new((READING_BYTES / PERMIT_BYTES) as usize);

/// Room for the files of a large app, until it is dropped.
pub(super) type Reading = SemaphorePermit<'static>;

/// Waits for room to read so many bytes. One that fills all of it goes alone, in the order in which they came.
pub(super) async fn reading(bytes: u64) -> Option<Reading> {
    let permits = bytes.min(READING_BYTES).div_ceil(PERMIT_BYTES);
    READING.acquire_many(u32::try_from(permits).unwrap_or(u32::MAX)).await.ok()
}

/// Waits for the turn to compile a large app.
pub(super) async fn turn(app: &AppName, read: &Read) -> Option<Room> {
    let own = read.sources.files.below(&format!("apps/{app}"));
    let bytes: usize = own.iter().map(|(_, file)| file.bytes.len()).sum();
    if bytes <= TURN_BYTES { None } else { Some(observe::turn().await) }
}

/// Refuses to compile an app whose files take too much memory once they are read.
pub(super) fn check(app: &AppName, read: &Read, request: Option<&Operation>) -> Result<(), RefusalText> {
    let directory = format!("apps/{app}");
    kustomize::check_size(&read.sources.files, &directory).map_err(|diagnostics| {
        let verb = request.map_or("compile", |operation| operation.verb.as_str());
        let because = diagnostics.first().map(ToString::to_string).unwrap_or_default();
        RefusalText {
            code: 2,
            what: format!("{verb} {app}"),
            because,
            remedy: format!("wild app show {app}"),
            diagnostics,
        }
    })
}
