//! Pure. `base64.*`.
//!
//! Not here: other encodings (`data.rs`).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::conv::to_text;
use super::{Function, Parameter, at, fixed};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::Value;

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Decode", &[], ANY, |values, budget| {
        let text = String::from_utf8(decode(values, budget)?);
        text.map(Value::text).map_err(|_| Failure::call("what was encoded is no text").hint("use base64.DecodeBytes"))
    }),
    fixed("DecodeBytes", &[], ANY, |values, budget| Ok(Value::Bytes(decode(values, budget)?.into()))),
    fixed("Encode", &[], ANY, |values, budget| Ok(Value::text(STANDARD.encode(to_bytes(at(values, 0), budget)?)))),
];

/// Returns a value as bytes; nil has none.
pub(super) fn to_bytes(value: &Value, budget: &mut Budget) -> Result<Vec<u8>, Failure> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Bytes(bytes) => Ok(bytes.to_vec()),
        _ => Ok(to_text(value, budget)?.as_bytes().to_vec()),
    }
}

fn decode(values: &[Value], budget: &mut Budget) -> Result<Vec<u8>, Failure> {
    // Line breaks may stand anywhere in the code.
    let code = to_text(at(values, 0), budget)?.replace(['\n', '\r'], "");
    STANDARD.decode(&code).or_else(|_| URL_SAFE.decode(&code)).map_err(|_| Failure::call("the text is no base64"))
}
