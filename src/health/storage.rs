//! Pure. Health of volume claims.
//!
//! Not here: claims that wait for their first consumer, which no single object shows (`plan::consumer`).

use super::Health;
use super::condition::text;
use crate::model::Object;

/// Judges a PersistentVolumeClaim.
pub(super) fn claim(object: &Object) -> Health {
    match text(object, &["status", "phase"]) {
        "Bound" => Health::healthy(),
        "Lost" => Health::degraded("its volume is lost"),
        _ => Health::progressing("it waits for a volume"),
    }
}
