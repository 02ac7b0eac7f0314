//! Pure. Comparisons: `eq`, `ne`, `lt`, `le`, `gt`, `ge`.
//!
//! Not here: the sameness of whole lists and maps (`value.rs`).

use std::cmp::Ordering;

use super::{Function, Parameter, at, fixed, variadic};
use crate::template::failure::Failure;
use crate::template::value::Value;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    variadic("eq", &[], &[Parameter::Any], |values, _| {
        let Some((first, others)) = values.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Err(Failure::new("T203", "eq wants at least 2 arguments and gets 1"));
        };
        for other in others {
            if equal(first, other)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    fixed("ne", &[], TWO, |values, _| Ok(Value::Bool(!equal(at(values, 0), at(values, 1))?))),
    fixed("lt", &[], TWO, |values, _| Ok(Value::Bool(less(at(values, 0), at(values, 1))?))),
    fixed("le", &[], TWO, |values, _| Ok(Value::Bool(less_or_equal(at(values, 0), at(values, 1))?))),
    fixed("gt", &[], TWO, |values, _| Ok(Value::Bool(!less_or_equal(at(values, 0), at(values, 1))?))),
    fixed("ge", &[], TWO, |values, _| Ok(Value::Bool(!less(at(values, 0), at(values, 1))?))),
];

const TWO: &[Parameter] = &[Parameter::Any, Parameter::Any];

/// An integer of any type and sign.
fn integer(value: &Value) -> Option<i128> {
    value.as_signed().map(i128::from).or_else(|| value.as_unsigned().map(i128::from))
}

fn equal(left: &Value, right: &Value) -> Result<bool, Failure> {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return Ok(left == right);
    }
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        #[expect(clippy::float_cmp, reason = "equal or not is the question")]
        (Value::Float(a), Value::Float(b)) => Ok(a == b),
        (Value::Text(a), Value::Text(b)) => Ok(a == b),
        (Value::Named(a), Value::Named(b)) => Ok(a.is_identical(b)),
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, Value::List(list)) | (Value::List(list), Value::Nil) => Ok(list.is_nil()),
        (Value::List(a), Value::List(b)) if a.is_nil() || b.is_nil() => Ok(a.is_nil() == b.is_nil()),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        _ => Err(incomparable(left, right)),
    }
}

fn less(left: &Value, right: &Value) -> Result<bool, Failure> {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return Ok(left < right);
    }
    match (left, right) {
        (Value::Float(a), Value::Float(b)) => Ok(a.partial_cmp(b) == Some(Ordering::Less)),
        (Value::Text(a), Value::Text(b)) => Ok(a < b),
        _ => Err(incomparable(left, right)),
    }
}

fn less_or_equal(left: &Value, right: &Value) -> Result<bool, Failure> {
    Ok(less(left, right)? || equal(left, right)?)
}

fn incomparable(left: &Value, right: &Value) -> Failure {
    let failure = Failure::argument(format!("{} and {} cannot be compared", left.noun(), right.noun()));
    match (left, right) {
        (Value::Float(_) | Value::Text(_), other) | (other, Value::Float(_) | Value::Text(_))
            if integer(other).is_some() =>
        {
            failure.hint("give both the same type with conv.ToInt, conv.ToFloat64 or conv.ToString")
        }
        _ => failure,
    }
}
