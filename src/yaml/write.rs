//! Pure. Block YAML whose every text is read back as that text by yaml.v2 and yaml.v3 alike.
//!
//! Not here: the exact output of `kustomize build` (`emit.rs`), changes to a person's file (`edit.rs`).

use serde_json::{Map, Value};

use super::Dialect;
use super::scalar::{self, Reading};

/// Longest key that is written before its colon on one line; parsers refuse longer ones.
const MAX_SIMPLE_KEY_CHARS: usize = 128;

/// Where a scalar stands, which decides what it must not hold bare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Behind a colon or a dash.
    Block,
    /// Inside brackets.
    Flow,
}

/// Returns a text as a YAML scalar on one line: bare only if every reader sees the same text, else in quotes.
pub fn write_scalar(text: &str) -> String {
    scalar_in(text, Context::Block)
}

/// Returns a scalar for a place in brackets; `written` is how it stood elsewhere and stays if brackets allow it.
pub fn write_flow(value: &Value, written: &str) -> String {
    match value {
        Value::String(text) => scalar_in(text, Context::Flow),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            if written.is_empty() {
                "null".to_owned()
            } else {
                written.to_owned()
            }
        }
    }
}

/// Returns a text as a YAML scalar on one line for a place in a file.
pub(super) fn scalar_in(text: &str, context: Context) -> String {
    if is_bare(text, context) {
        text.to_owned()
    } else if text.contains(['"', '\\']) && !text.contains('\'') && text.chars().all(is_printable) {
        format!("'{text}'")
    } else {
        double_quoted(text)
    }
}

/// Returns a text in double quotes.
pub(super) fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_printable(c) => out.push(c),
            _ if u32::from(c) <= 0xff => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            _ if u32::from(c) <= 0xffff => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character may stand in a file as it is, on one line.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn is_bare(text: &str, context: Context) -> bool {
    let Some(first) = text.chars().next() else { return false };
    // Three dots at the beginning of a line end a document.
    let refused_first = "-?:,[]{}#&*!|>'\"%@`~=<".contains(first) || first.is_whitespace() || text.starts_with("...");
    // A lone dash before a letter would be a text to every reader, but people misread it as a list item.
    let refused_inside = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ', '\t']);
    let refused_by_context = context == Context::Flow && text.contains(['[', ']', '{', '}', ',', ':', '#']);
    !refused_first
        && !refused_inside
        && !refused_by_context
        && text.chars().all(is_printable)
        && !text.contains("{{")
        && means_itself(text)
}

/// Returns whether every reader of a bare text sees that text, readers of YAML 1.1 and 1.2 included.
fn means_itself(text: &str) -> bool {
    let number = text.replace('_', "");
    scalar::read(text, Dialect::Kube) == Reading::Text
        && scalar::read(text, Dialect::Gomplate) == Reading::Text
        && !scalar::has_float_shape(&number)
        && !is_base_sixty(&number)
        && !(text.starts_with(|c: char| c.is_ascii_digit()) && scalar::time(&text.replace(' ', "T")).is_some())
}

/// Returns whether YAML 1.1 reads a number in base 60, such as `12:30:45`.
fn is_base_sixty(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    unsigned.contains(':')
        && unsigned.split(':').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Returns a value as block YAML: keys in their order, lists not indented below their key, texts of several lines as `|`.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_map(&mut out, map, 0),
        Value::Array(items) if !items.is_empty() => write_list(&mut out, items, 0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            out.push_str(&flow(value, Context::Block));
            out.push('\n');
        }
    }
    out
}

/// Returns a value on one line.
pub(super) fn flow(value: &Value, context: Context) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar_in(text, context),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(item, Context::Flow)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entry = |(key, item): (&String, &Value)| {
                format!("{}: {}", scalar_in(key, Context::Flow), flow(item, Context::Flow))
            };
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn write_map(out: &mut String, map: &Map<String, Value>, indent: usize) {
    for (position, (key, value)) in map.iter().enumerate() {
        if position > 0 {
            push_indent(out, indent);
        }
        write_entry(out, key, value, indent);
    }
}

/// Writes `key: value` and the end of its line; the caller has written the indentation.
pub(super) fn write_entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    let key = write_scalar(key);
    if key.chars().count() > MAX_SIMPLE_KEY_CHARS {
        out.push_str("? ");
        out.push_str(&key);
        out.push('\n');
        push_indent(out, indent);
    } else {
        out.push_str(&key);
    }
    out.push(':');
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            push_indent(out, indent + 2);
            write_map(out, map, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            push_indent(out, indent);
            write_list(out, items, indent);
        }
        Value::String(text) if is_literal(text) => write_literal(out, text, indent + 2),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            out.push(' ');
            out.push_str(&flow(value, Context::Block));
            out.push('\n');
        }
    }
}

fn write_list(out: &mut String, items: &[Value], indent: usize) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            push_indent(out, indent);
        }
        out.push('-');
        match item {
            Value::Object(map) if !map.is_empty() => {
                out.push(' ');
                write_map(out, map, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push(' ');
                write_list(out, items, indent + 2);
            }
            Value::String(text) if is_literal(text) => write_literal(out, text, indent + 2),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                out.push(' ');
                out.push_str(&flow(item, Context::Block));
                out.push('\n');
            }
        }
    }
}

/// Returns whether a text of several lines can stand as `|` without any escape or indentation mark.
fn is_literal(text: &str) -> bool {
    let body = text.trim_end_matches('\n');
    body.contains('\n') | (text.len() > body.len())
        && !body.is_empty()
        && !body.starts_with([' ', '\n', '\t'])
        && body.lines().all(|line| !line.ends_with([' ', '\t']))
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn write_literal(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let newlines = text.len() - body.len();
    out.push_str(match newlines {
        0 => " |-\n",
        1 => " |\n",
        _ => " |+\n",
    });
    for line in body.split('\n') {
        if !line.is_empty() {
            push_indent(out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    out.extend(std::iter::repeat_n('\n', newlines.saturating_sub(1)));
}

pub(super) fn push_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
