//! Pure. Functions that check values: `test.*`.
//!
//! Not here: comparisons (`compare.rs`).

use super::conv::to_bool;
use super::{Function, Parameter, at, fixed, text_at, variadic};
use crate::template::failure::Failure;
use crate::template::value::Value;

/// The functions of this file.
///
/// Their messages are the package's own words, which people are meant to read. A message that was calculated may hold
/// a value, so `call.rs` keeps only constant ones.
pub(super) const FUNCTIONS: &[Function] = &[
    variadic("Assert", &["assert"], &[], |values, _| {
        let (message, value) = match values {
            [value] => ("", value),
            [Value::Text(message), value] => (&**message, value),
            [message, _] => return Err(no_message(message)),
            _ => return Err(Failure::new("T203", format!("Assert wants 1 or 2 arguments and gets {}", values.len()))),
        };
        if to_bool(value) { Ok(Value::text("")) } else { Err(message_or(message, "the assertion does not hold")) }
    }),
    variadic("Fail", &["fail"], &[], |values, _| match values {
        [] => Err(Failure::new("T207", "the template fails on purpose")),
        [Value::Text(message)] => Err(message_or(message, "the template fails on purpose")),
        [_] => Err(Failure::new("T207", "the template fails on purpose")),
        _ => Err(Failure::new("T203", format!("Fail wants at most 1 argument and gets {}", values.len()))),
    }),
    fixed("IsKind", &["isKind"], &[Parameter::Text, Parameter::Any], |values, _| {
        let kind = at(values, 1).kind();
        let number = matches!(kind, "int" | "int64" | "uint64" | "uint8" | "float64");
        Ok(Value::Bool(text_at(values, 0) == kind || text_at(values, 0) == "number" && number))
    }),
    fixed("Kind", &["kind"], &[Parameter::Any], |values, _| Ok(Value::text(at(values, 0).kind()))),
    variadic("Required", &["required"], &[], |values, _| {
        let (message, value) = match values {
            [value] => ("", value),
            [Value::Text(message), value] => (&**message, value),
            [message, _] => return Err(no_message(message)),
            _ => {
                return Err(Failure::new("T203", format!("Required wants 1 or 2 arguments and gets {}", values.len())));
            }
        };
        match value {
            Value::Nil => Err(message_or(message, "a required value is not set")),
            Value::Text(text) if text.is_empty() => Err(message_or(message, "a required value is empty")),
            _ => Ok(value.clone()),
        }
    }),
    fixed("Ternary", &["ternary"], &[Parameter::Any, Parameter::Any, Parameter::Any], |values, _| {
        Ok(if to_bool(at(values, 2)) { at(values, 0) } else { at(values, 1) }.clone())
    }),
];

fn no_message(value: &Value) -> Failure {
    Failure::argument(format!("the message must be a text and is {}", value.noun()))
}

fn message_or(message: &str, otherwise: &str) -> Failure {
    Failure::new("T207", if message.is_empty() { otherwise } else { message })
}
