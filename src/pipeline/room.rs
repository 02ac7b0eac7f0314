//! Room in memory for apps that are compiled: a large one is compiled while nothing else that is large is made, and one that is too large is not.
//!
//! The turn is taken by a pass that has no room yet and given back before it takes any, so that there is no circle. Not here: the room itself
//! (`observe::room`), how large the files of an app may be once they are read (`kustomize`).

use super::Read;
use crate::kustomize;
use crate::model::{AppName, Operation, RefusalText};
use crate::observe::{self, Room};

/// Bytes of files from which on an app is compiled while no other is: three versions of it are held at once.
const TURN_BYTES: usize = 128 * 1024;

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
