//! Pure. `uuid.*`, as far as it makes none.
//!
//! Not here: new ones, which need chance (`refused.rs`).

use super::conv::to_text;
use super::{Function, Parameter, at, fixed};
use crate::template::failure::Failure;
use crate::template::value::Value;

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("IsValid", &[], ANY, |values, budget| Ok(Value::Bool(canonical(&to_text(at(values, 0), budget)?).is_some()))),
    fixed("Nil", &[], &[], |_, _| Ok(Value::text("00000000-0000-0000-0000-000000000000"))),
    fixed("Parse", &[], ANY, |values, budget| {
        let uuid = canonical(&to_text(at(values, 0), budget)?);
        uuid.map(Value::text).ok_or_else(|| Failure::call("the text is no UUID"))
    }),
];

/// Reads the usual form, with `urn:uuid:` or braces, or without hyphens, and returns the usual form.
fn canonical(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let body = match text.len() {
        45 => lower.strip_prefix("urn:uuid:")?,
        // Only the length tells that something stands around it.
        38 => lower.get(1..37)?,
        _ => &lower,
    };
    let hyphens = body.len() == 36 && body.char_indices().all(|(at, c)| (c == '-') == matches!(at, 8 | 13 | 18 | 23));
    let digits: String = if hyphens { body.chars().filter(|c| *c != '-').collect() } else { body.to_owned() };
    if digits.len() != 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let part = |start: usize, end: usize| digits.get(start..end).unwrap_or("");
    Some([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}
