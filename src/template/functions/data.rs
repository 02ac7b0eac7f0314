//! Pure. Formats of data: `data.*`.
//!
//! Not here: how JSON and YAML are written (`json.rs`, `yaml.rs`).

use std::collections::BTreeMap;

use super::conv::to_text;
use super::{Function, Parameter, at, fixed, json, text_at, yaml};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::{List, Map, Value};

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
    fixed("ToYAML", &["toYAML"], ANY, |values, budget| Ok(Value::text(yaml::write(at(values, 0), budget)?))),
];

fn parse_json(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let text = to_text(at(values, 0), budget)?;
    // A parsed byte costs more than a scanned one.
    budget.steps(text.len() / 8)?;
    if text.trim().is_empty() {
        return Ok(Value::Nil);
    }
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        Failure::call(format!("the text is no JSON, line {} column {}", error.line(), error.column()))
    })?;
    Value::from_json(&value, None, 0)
}
