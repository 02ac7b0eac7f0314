//! Pure. The functions that every Go template has, except comparisons and `and`, `or`.
//!
//! Not here: comparisons (`compare.rs`); `slice`, which gomplate replaces (`coll.rs`).

use super::{Function, Parameter, Reading, fixed, integer_like, text_at, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::print::{print_all, print_line};
use crate::template::printf;
use crate::template::unicode::is_printable;
use crate::template::value::Value;

use super::at;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("not", &[], &[Parameter::Any], |values, _| Ok(Value::Bool(!at(values, 0).is_true()))),
    fixed("len", &[], &[Parameter::Any], |values, _| length(at(values, 0))),
    Function {
        name: "index",
        aliases: &[],
        parameters: &[Parameter::Any],
        rest: Some(Parameter::Any),
        reading: Reading::KeysAfter,
        body: index,
    },
    variadic("print", &[], &[], |values, budget| Ok(Value::text(print_all(values, budget)?))),
    variadic("println", &[], &[], |values, budget| Ok(Value::text(print_line(values, budget)?))),
    variadic("printf", &[], &[Parameter::Text], |values, budget| {
        let arguments = values.get(1..).unwrap_or(&[]);
        Ok(Value::text(printf::printf(text_at(values, 0), arguments, budget)?))
    }),
    variadic("html", &[], &[], |values, budget| escape(values, budget, html)),
    variadic("js", &[], &[], |values, budget| escape(values, budget, js)),
    variadic("urlquery", &[], &[], |values, budget| escape(values, budget, url_query)),
];

fn length(value: &Value) -> Result<Value, Failure> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return Err(Failure::argument(format!("len wants a text, list or map and gets {}", value.noun()))),
    };
    Ok(Value::count(length))
}

/// Takes one element after the other; a key that a map does not have gives nil.
fn index(values: &[Value], _: &mut Budget) -> Result<Value, Failure> {
    let mut current = at(values, 0).clone();
    if matches!(current, Value::Nil) {
        return Err(Failure::argument("index wants a list or map and gets nothing"));
    }
    for key in values.iter().skip(1) {
        current = element(&current, key)?.unwrap_or(Value::Nil);
    }
    Ok(current)
}

/// Returns an element of a list, map, text or bytes, or nothing if a map has no such key.
pub(super) fn element(value: &Value, key: &Value) -> Result<Option<Value>, Failure> {
    if let Value::Map(map) = value {
        return match key {
            Value::Text(key) => Ok(map.get(key)),
            _ => Err(Failure::argument(format!("index wants a text as the key of a map and gets {}", key.noun()))),
        };
    }
    let position = integer_like(key).map(|number| usize::try_from(number).ok());
    let found = match (value, position) {
        (Value::Nil, _) => return Err(Failure::argument("index goes through a value that is nothing")),
        (Value::List(list), Some(position)) => position.and_then(|position| list.get(position)),
        (Value::Bytes(bytes), Some(position)) => {
            position.and_then(|position| bytes.get(position).copied()).map(Value::Byte)
        }
        (Value::Text(text), Some(position)) => {
            position.and_then(|position| text.as_bytes().get(position).copied()).map(Value::Byte)
        }
        (Value::List(_) | Value::Bytes(_) | Value::Text(_), None) => {
            return Err(Failure::argument(format!("index wants an integer for a list and gets {}", key.noun())));
        }
        _ => return Err(Failure::argument(format!("index cannot look into {}", value.noun()))),
    };
    match found {
        Some(found) => Ok(Some(found)),
        None => Err(Failure::call("the list has no element at this place")),
    }
}

fn escape(values: &[Value], budget: &mut Budget, with: fn(&str) -> String) -> Result<Value, Failure> {
    if values.iter().any(|value| matches!(value, Value::Nil)) {
        return Err(Failure::new("T223", "there is no value to print").hint("give one with {{ … | default \"…\" }}"));
    }
    let text = print_all(values, budget)?;
    budget.text(text.len())?;
    Ok(Value::text(with(&text)))
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '\'' | '"' => out.extend(['\\', c]),
            '<' | '>' | '&' | '=' | '\0'..' ' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c.is_ascii() || is_printable(c) => out.push(c),
            _ => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out
}

fn url_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
