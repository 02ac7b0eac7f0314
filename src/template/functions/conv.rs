//! Pure. Conversions between types: `conv.*`.
//!
//! Not here: JSON and YAML (`data.rs`). Other groups convert their arguments with the functions of this file.

use std::rc::Rc;

use super::{Function, Parameter, at, fixed, integer_at, text_at, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::named::{Named, Url};
use crate::template::number::{
    from_signed, from_unsigned, parse_float, parse_integer, parse_integer_in, parse_unsigned_in, truncate,
};
use crate::template::print::print;
use crate::template::value::{Element, List, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Atoi", &[], ANY, |values, budget| {
        let number = parse_integer_in(&to_text(at(values, 0), budget)?, 10);
        number.map(Value::Int).ok_or_else(|| Failure::call("the text is no integer"))
    }),
    fixed("Bool", &["bool"], ANY, |values, budget| {
        let text = to_text(at(values, 0), budget)?;
        Ok(Value::Bool(matches!(&*text, "1" | "t" | "T" | "TRUE" | "true" | "True")))
    }),
    fixed("Default", &["default"], &[Parameter::Any, Parameter::Any], |values, _| {
        Ok(if at(values, 1).is_true() { at(values, 1) } else { at(values, 0) }.clone())
    }),
    fixed("Join", &["join"], &[Parameter::Any, Parameter::Text], join),
    fixed("ParseFloat", &[], &[Parameter::Any, Parameter::Integer], parse_float_of),
    fixed("ParseInt", &[], &[Parameter::Any, Parameter::Integer, Parameter::Integer], parse_int),
    fixed("ParseUint", &[], &[Parameter::Any, Parameter::Integer, Parameter::Integer], parse_uint),
    fixed("ToBool", &[], ANY, |values, _| Ok(Value::Bool(to_bool(at(values, 0))))),
    variadic("ToBools", &[], &[], |values, _| {
        Ok(list(Element::Bool, values.iter().map(|value| Value::Bool(to_bool(value))).collect()))
    }),
    fixed("ToFloat64", &[], ANY, |values, _| to_float(at(values, 0)).map(Value::Float)),
    variadic("ToFloat64s", &[], &[], |values, _| {
        Ok(list(
            Element::Float,
            values.iter().map(|value| to_float(value).map(Value::Float)).collect::<Result<_, _>>()?,
        ))
    }),
    fixed("ToInt", &[], ANY, |values, _| to_int(at(values, 0)).map(Value::Int)),
    fixed("ToInt64", &[], ANY, |values, _| to_int(at(values, 0)).map(Value::Int64)),
    variadic("ToInt64s", &[], &[], |values, _| {
        Ok(list(Element::Int64, values.iter().map(|value| to_int(value).map(Value::Int64)).collect::<Result<_, _>>()?))
    }),
    variadic("ToInts", &[], &[], |values, _| {
        Ok(list(Element::Int, values.iter().map(|value| to_int(value).map(Value::Int)).collect::<Result<_, _>>()?))
    }),
    fixed("ToString", &[], ANY, |values, budget| to_text(at(values, 0), budget).map(Value::Text)),
    variadic("ToStrings", &[], &[], |values, budget| Ok(Value::texts(to_texts(values, budget)?))),
    fixed("URL", &["urlParse"], ANY, |values, budget| {
        Url::parse(&to_text(at(values, 0), budget)?).map(|url| Value::Named(Named::Url(url)))
    }),
];

const ANY: &[Parameter] = &[Parameter::Any];

fn list(element: Element, items: Vec<Value>) -> Value {
    Value::List(List::of(element, items))
}

/// Returns a value as a text; nil is the text `nil`, bytes are taken as UTF-8.
pub(super) fn to_text(value: &Value, budget: &mut Budget) -> Result<Rc<str>, Failure> {
    match value {
        Value::Text(text) => Ok(Rc::clone(text)),
        Value::Nil => Ok("nil".into()),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(Failure::call("the bytes are no UTF-8")),
        },
        _ => Ok(print(value, budget)?.into()),
    }
}

/// Returns values as texts.
pub(super) fn to_texts(values: &[Value], budget: &mut Budget) -> Result<Vec<Rc<str>>, Failure> {
    values.iter().map(|value| to_text(value, budget)).collect()
}

/// Returns whether a value means yes.
pub(super) fn to_bool(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Text(text) => match text.to_lowercase().as_str() {
            "1" | "t" | "true" | "yes" => true,
            text => text_to_float(text).is_some_and(|number| number == 1.0),
        },
        Value::Float(number) => *number == 1.0,
        _ => value.as_signed() == Some(1) || value.as_unsigned() == Some(1),
    }
}

/// Returns a number or numeric text as an integer; fractions are cut off.
pub(super) fn to_int(value: &Value) -> Result<i64, Failure> {
    let number = match value {
        Value::Text(text) => {
            let text = text.replace(',', "");
            parse_integer(&text).or_else(|| parse_float(&text).map(truncate))
        }
        Value::Float(number) => Some(truncate(*number)),
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Uint64(number) => i64::try_from(*number).ok(),
        Value::Byte(number) => Some(i64::from(*number)),
        _ => value.as_signed(),
    };
    number.ok_or_else(|| not_a_number(value))
}

/// Returns a number or numeric text as a float.
pub(super) fn to_float(value: &Value) -> Result<f64, Failure> {
    let number = match value {
        Value::Text(text) => text_to_float(text),
        Value::Float(number) => Some(*number),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => value.as_signed().map(from_signed).or_else(|| value.as_unsigned().map(from_unsigned)),
    };
    number.ok_or_else(|| not_a_number(value))
}

fn text_to_float(text: &str) -> Option<f64> {
    let text = text.replace(',', "");
    parse_integer(&text).map(from_signed).or_else(|| parse_float(&text))
}

fn not_a_number(value: &Value) -> Failure {
    match value {
        Value::Text(_) => Failure::call("the text is no number"),
        _ => Failure::call(format!("{} is no number", value.noun())),
    }
}

/// Returns the items of a list or bytes.
pub(super) fn to_items(value: &Value) -> Result<Vec<Value>, Failure> {
    match value {
        Value::List(list) => Ok(list.items()),
        Value::Bytes(bytes) => Ok(bytes.iter().map(|byte| Value::Byte(*byte)).collect()),
        _ => Err(Failure::call(format!("wants a list and gets {}", value.noun()))),
    }
}

fn join(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let separator = text_at(values, 1);
    let texts = to_texts(&to_items(at(values, 0))?, budget)?;
    let length = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
    budget.text(length.saturating_add(separator.len().saturating_mul(texts.len())))?;
    Ok(Value::text(texts.join(separator)))
}

/// Returns the bits of a type: 0 means 64.
fn bits_at(values: &[Value], index: usize) -> Result<u32, Failure> {
    match integer_at(values, index) {
        0 => Ok(64),
        bits @ 1..=64 => Ok(u32::try_from(bits).unwrap_or(64)),
        _ => Err(Failure::call("a number has at most 64 bits")),
    }
}

fn base_at(values: &[Value], index: usize) -> Result<u32, Failure> {
    match integer_at(values, index) {
        base @ (0 | 2..=36) => Ok(u32::try_from(base).unwrap_or(10)),
        _ => Err(Failure::call("a base is 0 or from 2 to 36")),
    }
}

fn parse_int(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (base, bits) = (base_at(values, 1)?, bits_at(values, 2)?);
    let number = parse_integer_in(&to_text(at(values, 0), budget)?, base)
        .filter(|number| (-(1_i128 << (bits - 1))..1_i128 << (bits - 1)).contains(&i128::from(*number)));
    number.map(Value::Int64).ok_or_else(|| Failure::call("the text is no integer of this size"))
}

fn parse_uint(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (base, bits) = (base_at(values, 1)?, bits_at(values, 2)?);
    let number =
        parse_unsigned_in(&to_text(at(values, 0), budget)?, base).filter(|number| u128::from(*number) < 1_u128 << bits);
    number.map(Value::Uint64).ok_or_else(|| Failure::call("the text is no integer of this size"))
}

fn parse_float_of(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let number = parse_float(&to_text(at(values, 0), budget)?).ok_or_else(|| Failure::call("the text is no number"))?;
    if integer_at(values, 1) == 32 {
        #[expect(clippy::cast_possible_truncation, reason = "rounding to 32 bits is what was asked for")]
        return Ok(Value::Float(f64::from(number as f32)));
    }
    Ok(Value::Float(number))
}
