//! Pure. Arithmetic on numbers and numeric texts: `math.*`.
//!
//! Not here: reading numbers (`number.rs`, `conv.rs`).

use super::conv::{to_float, to_int};
use super::{Function, Parameter, at, fixed, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::number::{parse_float, parse_integer, truncate};
use crate::template::value::{Element, List, Value};

const ONE: &[Parameter] = &[Parameter::Any];
const TWO: &[Parameter] = &[Parameter::Any, Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Abs", &[], ONE, |values, _| {
        let number = to_float(at(values, 0))?.abs();
        Ok(if is_integer(at(values, 0)) { Value::Int64(truncate(number)) } else { Value::Float(number) })
    }),
    variadic("Add", &["add"], &[], |values, _| fold(values, 0, 0.0, i64::wrapping_add, |a, b| a + b)),
    fixed("Ceil", &[], ONE, |values, _| Ok(Value::Float(to_float(at(values, 0))?.ceil()))),
    fixed("Div", &["div"], TWO, |values, _| {
        let (left, right) = (to_float(at(values, 0))?, to_float(at(values, 1))?);
        if right == 0.0 {
            return Err(Failure::call("division by 0"));
        }
        Ok(Value::Float(left / right))
    }),
    fixed("Floor", &[], ONE, |values, _| Ok(Value::Float(to_float(at(values, 0))?.floor()))),
    fixed("IsFloat", &[], ONE, |values, _| Ok(Value::Bool(is_float(at(values, 0))))),
    fixed("IsInt", &[], ONE, |values, _| Ok(Value::Bool(is_integer(at(values, 0))))),
    fixed("IsNum", &[], ONE, |values, _| Ok(Value::Bool(is_integer(at(values, 0)) || is_float(at(values, 0))))),
    variadic("Max", &[], ONE, |values, _| extreme(values, i64::max, f64::max)),
    variadic("Min", &[], ONE, |values, _| extreme(values, i64::min, f64::min)),
    variadic("Mul", &["mul"], &[], |values, _| fold(values, 1, 1.0, i64::wrapping_mul, |a, b| a * b)),
    fixed("Pow", &["pow"], TWO, |values, _| {
        let power = power(to_float(at(values, 0))?, to_float(at(values, 1))?);
        Ok(if is_float(at(values, 0)) { Value::Float(power) } else { Value::Int64(truncate(power)) })
    }),
    fixed("Rem", &["rem"], TWO, |values, _| {
        let (left, right) = (to_int(at(values, 0))?, to_int(at(values, 1))?);
        if right == 0 {
            return Err(Failure::call("division by 0"));
        }
        Ok(Value::Int64(left.wrapping_rem(right)))
    }),
    fixed("Round", &[], ONE, |values, _| Ok(Value::Float(to_float(at(values, 0))?.round()))),
    variadic("Seq", &["seq"], &[], sequence),
    fixed("Sub", &["sub"], TWO, |values, _| {
        if values.iter().any(is_float) {
            Ok(Value::Float(to_float(at(values, 0))? - to_float(at(values, 1))?))
        } else {
            Ok(Value::Int64(to_int(at(values, 0))?.wrapping_sub(to_int(at(values, 1))?)))
        }
    }),
];

/// Returns a power: the whole part of the exponent by repeated squaring, whose rounding Go's results show.
fn power(base: f64, exponent: f64) -> f64 {
    const LARGEST: f64 = 1e9;
    let (mut whole, mut fraction) = (exponent.abs().trunc(), exponent.abs().fract());
    let ordinary = base.is_normal() && base != 1.0 && exponent != 0.0 && exponent.abs() < LARGEST;
    if !ordinary || fraction != 0.0 && base < 0.0 {
        return base.powf(exponent);
    }
    if exponent.abs() == 0.5 {
        return if exponent > 0.0 { base.sqrt() } else { 1.0 / base.sqrt() };
    }
    if fraction > 0.5 {
        fraction -= 1.0;
        whole += 1.0;
    }
    let (mut mantissa, mut shift) = split(base);
    let mut result = if fraction == 0.0 { 1.0 } else { (fraction * base.ln()).exp() };
    let mut result_shift = 0_i64;
    let mut left = truncate(whole);
    while left != 0 {
        if left % 2 == 1 {
            result *= mantissa;
            result_shift += shift;
        }
        mantissa *= mantissa;
        shift *= 2;
        if mantissa < 0.5 {
            mantissa += mantissa;
            shift -= 1;
        }
        left /= 2;
    }
    if exponent < 0.0 {
        result = 1.0 / result;
        result_shift = -result_shift;
    }
    scaled(result, result_shift)
}

/// Splits a normal number into a mantissa from 0.5 to 1 and a power of two.
fn split(number: f64) -> (f64, i64) {
    let bits = number.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// Multiplies by a power of two in steps that are exact until the result leaves the range.
fn scaled(number: f64, shift: i64) -> f64 {
    let step = i32::try_from(shift.clamp(-3_000, 3_000)).unwrap_or(0);
    let half = step / 2;
    let quarter = half / 2;
    number * 2_f64.powi(quarter) * 2_f64.powi(half - quarter) * 2_f64.powi(step - half)
}

/// Returns whether a value is an integer or a text that reads as one.
fn is_integer(value: &Value) -> bool {
    match value {
        Value::Text(text) => parse_integer(text).is_some(),
        _ => value.as_signed().is_some() || value.as_unsigned().is_some(),
    }
}

/// Returns whether a value is a float or a text that reads as one and not as an integer.
fn is_float(value: &Value) -> bool {
    match value {
        Value::Text(text) => parse_integer(text).is_none() && parse_float(text).is_some(),
        Value::Float(_) => true,
        _ => false,
    }
}

/// Calculates in floats as soon as one argument is a float.
fn fold(
    values: &[Value],
    integer: i64,
    float: f64,
    integers: fn(i64, i64) -> i64,
    floats: fn(f64, f64) -> f64,
) -> Result<Value, Failure> {
    if values.iter().any(is_float) {
        return values.iter().try_fold(float, |sum, value| Ok(floats(sum, to_float(value)?))).map(Value::Float);
    }
    values.iter().try_fold(integer, |sum, value| Ok(integers(sum, to_int(value)?))).map(Value::Int64)
}

fn extreme(values: &[Value], integers: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64) -> Result<Value, Failure> {
    if values.iter().any(is_float) {
        let first = to_float(at(values, 0))?;
        return values.iter().try_fold(first, |found, value| Ok(floats(found, to_float(value)?))).map(Value::Float);
    }
    let first = to_int(at(values, 0))?;
    values.iter().try_fold(first, |found, value| Ok(integers(found, to_int(value)?))).map(Value::Int64)
}

/// Returns the numbers from 1 or a start to an end; a step of the wrong sign is turned around.
fn sequence(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (start, end, step) = match values {
        [end] => (1, to_int(end)?, 1),
        [start, end] => (to_int(start)?, to_int(end)?, 1),
        [start, end, step] => (to_int(start)?, to_int(end)?, to_int(step)?),
        _ => return Err(Failure::new("T203", format!("Seq wants 1 to 3 arguments and gets {}", values.len()))),
    };
    let mut numbers = Vec::new();
    if step != 0 {
        let distance = i128::from(end) - i128::from(start);
        let step = i128::from(step).abs() * distance.signum();
        let count = if step == 0 { 0 } else { distance / step };
        budget.elements(usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1))?;
        let at = |index: i128| i64::try_from(i128::from(start) + index * step).unwrap_or(end);
        numbers = (0..=count).map(|index| Value::Int64(at(index))).collect();
    }
    Ok(Value::List(List::of(Element::Int64, numbers)))
}
