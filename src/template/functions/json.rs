//! Pure. Writes JSON as gomplate does: sorted keys, no spaces, `<`, `>` and `&` escaped.
//!
//! Not here: reading it (`data.rs`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::template::failure::Failure;
use crate::template::limits::{Budget, MAX_TEXT_BYTES, check_value_depth};
use crate::template::number::{Layout, format_float};
use crate::template::value::Value;

/// From here on the numbers of a float's type are all whole, and gomplate writes them without a point.
const LARGEST_WITH_POINT: f64 = 4_503_599_627_370_496.0;

/// Returns a value as JSON on one line, or on many with an indent.
pub(super) fn write(value: &Value, indent: Option<&str>, budget: &mut Budget) -> Result<String, Failure> {
    let mut out = String::new();
    write_value(value, &Lines { indent }, &mut out, budget, 0)?;
    Ok(out)
}

struct Lines<'a> {
    indent: Option<&'a str>,
}

impl Lines<'_> {
    fn start(&self, out: &mut String, depth: usize) {
        if let Some(indent) = self.indent {
            out.push('\n');
            for _ in 0..depth {
                out.push_str(indent);
            }
        }
    }
}

fn write_value(
    value: &Value,
    lines: &Lines<'_>,
    out: &mut String,
    budget: &mut Budget,
    depth: usize,
) -> Result<(), Failure> {
    budget.steps(1)?;
    check_value_depth(depth)?;
    match value {
        Value::Nil => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) | Value::Int64(number) => out.push_str(&number.to_string()),
        Value::Uint64(number) => out.push_str(&number.to_string()),
        Value::Byte(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&float(*number)),
        Value::Text(text) => quote(text, out),
        Value::Bytes(bytes) => quote(&STANDARD.encode(bytes), out),
        Value::List(list) if list.is_nil() => out.push_str("null"),
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items().iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                lines.start(out, depth + 1);
                write_value(item, lines, out, budget, depth + 1)?;
            }
            if list.len() > 0 {
                lines.start(out, depth);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, item)) in map.entries().iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                lines.start(out, depth + 1);
                quote(key, out);
                out.push_str(if lines.indent.is_some() { ": " } else { ":" });
                write_value(item, lines, out, budget, depth + 1)?;
            }
            if map.len() > 0 {
                lines.start(out, depth);
            }
            out.push('}');
        }
        Value::Named(named) => match named.as_data()? {
            Value::Text(text) => quote(&text, out),
            plain => return write_value(&plain, lines, out, budget, depth),
        },
        Value::Namespace(name) => return Err(Failure::argument(format!("{name} is a group of functions and no data"))),
    }
    if out.len() > MAX_TEXT_BYTES { budget.text(out.len()) } else { Ok(()) }
}

/// Writes a float with a point, so that it reads back as one, and with an exponent only far from 1.
fn float(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return format_float(number, Layout::Exponent, None);
    }
    if number.fract() == 0.0 && size < LARGEST_WITH_POINT {
        format!("{number:.1}")
    } else {
        format_float(number, Layout::Plain, None)
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' | '"' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\0'..' ' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
