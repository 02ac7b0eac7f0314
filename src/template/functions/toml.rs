//! Pure. TOML: `data.TOML` and `data.ToTOML`, whose output is gomplate's.
//!
//! Not here: reading it (`toml/read.rs`).

mod read;

use std::rc::Rc;

use super::conv::to_text;
use super::{Function, Parameter, at, fixed};
use crate::template::failure::Failure;
use crate::template::limits::{Budget, MAX_TEXT_BYTES, check_value_depth};
use crate::template::named::{Named, Time};
use crate::template::number::{Layout, format_float};
use crate::template::value::{Element, List, Map, Value};

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("TOML", &["toml"], ANY, |values, budget| {
        let text = to_text(at(values, 0), budget)?;
        read::read(&text, budget)
    }),
    fixed("ToTOML", &["toTOML"], ANY, |values, budget| {
        let Value::Map(map) = at(values, 0) else {
            return Err(Failure::call("only a map can be written as TOML"));
        };
        let mut writer = Writer { out: String::new(), budget };
        writer.table(&[], map, 0)?;
        Ok(Value::text(writer.out))
    }),
];

struct Writer<'a> {
    out: String,
    budget: &'a mut Budget,
}

impl Writer<'_> {
    fn step(&mut self, depth: usize) -> Result<(), Failure> {
        self.budget.steps(1)?;
        check_value_depth(depth)?;
        if self.out.len() > MAX_TEXT_BYTES { self.budget.text(self.out.len()) } else { Ok(()) }
    }

    /// Writes the entries of a table: those without tables of their own first.
    fn table(&mut self, path: &[Rc<str>], map: &Map, depth: usize) -> Result<(), Failure> {
        self.step(depth)?;
        let mut later = Vec::new();
        for (key, value) in map.entries() {
            match shape(&value, depth)? {
                Shape::Nothing => {}
                Shape::Table | Shape::Tables => later.push((key, value)),
                Shape::Scalar => {
                    self.out.push_str(&"  ".repeat(path.len()));
                    self.out.push_str(&name(&key));
                    self.out.push_str(" = ");
                    self.element(&value, depth + 1)?;
                    self.out.push('\n');
                }
            }
        }
        for (key, value) in later {
            let path: Vec<Rc<str>> = path.iter().cloned().chain([key]).collect();
            let names: Vec<String> = path.iter().map(|key| name(key)).collect();
            let (indent, names) = ("  ".repeat(path.len() - 1), names.join("."));
            match &value {
                Value::Map(map) => {
                    if path.len() == 1 {
                        self.line();
                    }
                    self.out.push_str(&format!("{indent}[{names}]"));
                    self.line();
                    self.table(&path, map, depth + 1)?;
                }
                Value::List(list) => {
                    for item in list.items() {
                        let Value::Map(map) = &item else {
                            return Err(Failure::call("a list of maps holds something else too"));
                        };
                        self.line();
                        self.out.push_str(&format!("{indent}[[{names}]]"));
                        self.line();
                        self.table(&path, map, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Ends a line, unless nothing was written yet.
    fn line(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn element(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        self.step(depth)?;
        match value {
            Value::Text(text) => self.out.push_str(&quoted(text)),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Uint64(number) => self.out.push_str(&number.to_string()),
            Value::Byte(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::Named(Named::Time(time)) => self.out.push_str(&time_text(time)),
            Value::Named(Named::Version(_)) => self.out.push_str(&quoted(&to_text(value, self.budget)?)),
            Value::List(list) => self.list(&list.items(), depth)?,
            Value::Bytes(bytes) => {
                let items: Vec<Value> = bytes.iter().map(|byte| Value::Byte(*byte)).collect();
                self.list(&items, depth)?;
            }
            Value::Map(map) => self.inline(map, depth)?,
            _ => match value.as_signed() {
                Some(number) => self.out.push_str(&number.to_string()),
                None => return Err(Failure::call(format!("{} cannot be written as TOML", value.noun()))),
            },
        }
        Ok(())
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Result<(), Failure> {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.element(item, depth + 1)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Writes a map inside a list.
    fn inline(&mut self, map: &Map, depth: usize) -> Result<(), Failure> {
        let mut direct = Vec::new();
        let mut later = Vec::new();
        for (key, value) in map.entries() {
            let is_table = matches!(shape(&value, depth)?, Shape::Table | Shape::Tables);
            if is_table { later.push((key, value)) } else { direct.push((key, value)) }
        }
        self.out.push('{');
        for (entries, trailing) in [(&direct, !later.is_empty()), (&later, false)] {
            for (index, (key, value)) in entries.iter().enumerate() {
                if matches!(value, Value::Nil) {
                    continue;
                }
                self.out.push_str(&name(key));
                self.out.push_str(" = ");
                self.element(value, depth + 1)?;
                if trailing || index + 1 < entries.len() {
                    self.out.push_str(", ");
                }
            }
        }
        self.out.push('}');
        Ok(())
    }
}

/// How a value stands in a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Scalar,
    Table,
    Tables,
}

fn shape(value: &Value, depth: usize) -> Result<Shape, Failure> {
    check_value_depth(depth)?;
    Ok(match value {
        Value::Nil => Shape::Nothing,
        Value::Map(_) => Shape::Table,
        Value::List(list) => return list_shape(list, depth),
        _ => Shape::Scalar,
    })
}

/// A list whose first item is a map is a list of tables.
fn list_shape(list: &List, depth: usize) -> Result<Shape, Failure> {
    if list.is_nil() && list.element() != Element::Any {
        return Ok(Shape::Nothing);
    }
    let mut first = None;
    for item in list.items() {
        let shape = shape(&item, depth + 1)?;
        if shape == Shape::Nothing {
            return Err(Failure::call("a list that is written as TOML holds no value somewhere"));
        }
        first.get_or_insert(shape);
    }
    Ok(if first == Some(Shape::Table) { Shape::Tables } else { Shape::Scalar })
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "+inf" }.to_owned();
    }
    let text = format_float(number, Layout::Plain, None);
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// Times without a zone carry the name of their kind.
fn time_text(time: &Time) -> String {
    let data = time.to_data();
    match &*time.kind() {
        "datetime-local" => data.trim_end_matches('Z').to_owned(),
        "date-local" => data.chars().take(10).collect(),
        "time-local" => data.trim_end_matches('Z').chars().skip(11).collect(),
        _ => data,
    }
}

fn name(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..'\u{20}' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
