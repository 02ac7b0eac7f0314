//! Pure. Formats of data: `data.*`.
//!
//! Not here: how JSON and YAML are written (`json.rs`, `yaml.rs`).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::conv::to_text;
use super::{Function, Parameter, at, fixed, json, text_at, yaml};
use crate::template::failure::Failure;
use crate::template::limits::{Budget, check_value_depth};
use crate::template::named::{Named, Zone, parse_time};
use crate::template::value::{Element, List, Map, Value};
use crate::yaml::{Plain, load_plain};

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("JSON", &["json"], ANY, |values, budget| match parse_json(values, budget)? {
        // gomplate reads a blank text as an empty object, and as a list of nothing.
        Value::Nil => Ok(Value::Map(Map::new(BTreeMap::new()))),
        value @ Value::Map(_) => Ok(value),
        value => {
            Err(Failure::call(format!("the text is {} and no JSON object", value.noun())).hint("use data.JSONArray"))
        }
    }),
    fixed("JSONArray", &["jsonArray"], ANY, |values, budget| match parse_json(values, budget)? {
        Value::Nil => Ok(Value::List(List::new(vec![Value::Nil]))),
        value @ Value::List(_) => Ok(value),
        value => Err(Failure::call(format!("the text is {} and no JSON array", value.noun())).hint("use data.JSON")),
    }),
    fixed("ToJSON", &["toJSON"], ANY, |values, budget| Ok(Value::text(json::write(at(values, 0), None, budget)?))),
    fixed("ToJSONPretty", &["toJSONPretty"], &[Parameter::Text, Parameter::Any], |values, budget| {
        Ok(Value::text(json::write(at(values, 1), Some(text_at(values, 0)), budget)?))
    }),
    fixed("YAML", &["yaml"], ANY, |values, budget| match parse_yaml(values, budget)?.unwrap_or(Value::Nil) {
        Value::Nil => Ok(Value::Map(Map::new(BTreeMap::new()))),
        value @ Value::Map(_) => Ok(value),
        value => Err(Failure::call(format!("the text is {} and no YAML map", value.noun())).hint("use data.YAMLArray")),
    }),
    fixed("YAMLArray", &["yamlArray"], ANY, |values, budget| match parse_yaml(values, budget)? {
        // A text without any document is a list of nothing, an empty document no list at all.
        None => Ok(Value::List(List::new(vec![Value::Nil]))),
        Some(Value::Nil) => Ok(Value::List(List::nil(Element::Any))),
        Some(value @ Value::List(_)) => Ok(value),
        Some(value) => {
            Err(Failure::call(format!("the text is {} and no YAML list", value.noun())).hint("use data.YAML"))
        }
    }),
    fixed("ToYAML", &["toYAML"], ANY, |values, budget| Ok(Value::text(yaml::write(at(values, 0), budget)?))),
];

fn parse_json(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let text = to_text(at(values, 0), budget)?;
    // A parsed byte costs more than a scanned one.
    budget.steps(text.len() / 8)?;
    if text.trim().is_empty() {
        return Ok(Value::Nil);
    }
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(value) => Value::from_json(&value, None, 0),
        // gomplate reads JSON as the YAML that it is, and so any other YAML too.
        Err(error) => parse_yaml(values, budget).map(|value| value.unwrap_or(Value::Nil)).map_err(|_| {
            Failure::call(format!("the text is no JSON, line {} column {}", error.line(), error.column()))
        }),
    }
}

fn parse_yaml(values: &[Value], budget: &mut Budget) -> Result<Option<Value>, Failure> {
    let text = to_text(at(values, 0), budget)?;
    budget.steps(text.len() / 8)?;
    let plain = load_plain(&text)
        .map_err(|finding| Failure::call(format!("the text is no YAML, line {}: {}", finding.line, finding.message)))?;
    plain.map(|plain| from_plain(plain, budget, 0)).transpose()
}

/// Takes over what was read; recursion ends with the loader's own depth.
fn from_plain(plain: Plain, budget: &mut Budget, depth: usize) -> Result<Value, Failure> {
    budget.steps(1)?;
    check_value_depth(depth)?;
    Ok(match plain {
        Plain::Null => Value::Nil,
        Plain::Bool(flag) => Value::Bool(flag),
        Plain::Number(number) => Value::from_json(&serde_json::Value::Number(number), None, depth)?,
        Plain::NotFinite(number) => Value::Float(number),
        Plain::Time(text) => {
            Value::Named(Named::Time(parse_time("2006-01-02T15:04:05.999999999Z07:00", &text, Zone::Utc)?))
        }
        Plain::Text(text) => Value::text(text),
        Plain::List(items) => {
            budget.elements(items.len())?;
            let items = items.into_iter().map(|item| from_plain(item, budget, depth + 1));
            Value::List(List::new(items.collect::<Result<_, _>>()?))
        }
        Plain::Map(pairs) => {
            budget.elements(pairs.len())?;
            let mut entries = BTreeMap::new();
            for entry in pairs {
                let key = match entry.key {
                    // gomplate asks for texts as the keys of the outermost map, and drops null.
                    Plain::Null if depth == 0 => continue,
                    _ if depth == 0 => Rc::from(entry.spelled),
                    key => to_text(&from_plain(key, budget, depth + 1)?, budget)?,
                };
                entries.insert(key, from_plain(entry.value, budget, depth + 1)?);
            }
            Value::Map(Map::new(entries))
        }
    })
}
