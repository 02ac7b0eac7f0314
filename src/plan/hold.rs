//! Pure. Holds: a person changes a live object in an emergency and wants that left alone for a while, without a commit.
//!
//! Until the time in the annotation, a day after it was written at most, differences are only told. Not here: an app that is stopped as a
//! whole (`suspend`).

use std::time::Duration;

use serde_json::Value;

use super::snapshot::{Live, Snapshot};
use crate::base::Timestamp;
use crate::model::ObjectId;

/// Annotation on a live object: an RFC 3339 time.
pub const HOLD_UNTIL: &str = "rewild.dev/hold-until";
/// A hold that lasts longer is a change that belongs into git.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Returns until when the differences of an object are left alone; nothing if they are not.
pub(super) fn until(snapshot: &Snapshot, id: &ObjectId) -> Option<Timestamp> {
    // A person who asks for the committed values by name means also these.
    let live = snapshot.live.get(id).filter(|_| !snapshot.ask.correct.is_about(id))?;
    let until = Timestamp::parse(&live.hold).ok()?;
    let limit = written(live).unwrap_or(snapshot.now).plus(LONGEST);
    Some(until.min(limit)).filter(|until| *until > snapshot.now)
}

/// Returns when the annotation was written, if the managed fields say so.
fn written(live: &Live) -> Option<Timestamp> {
    let entries = live.managed.as_ref()?.as_array()?.iter();
    let field = format!("f:{HOLD_UNTIL}");
    let holds = |entry: &&Value| {
        let annotations = entry.pointer("/fieldsV1/f:metadata/f:annotations").and_then(Value::as_object);
        annotations.is_some_and(|annotations| annotations.contains_key(&field))
    };
    Timestamp::parse(entries.into_iter().find(holds)?.get("time")?.as_str()?).ok()
}
