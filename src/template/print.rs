//! Pure. Values as text, the way Go's `fmt` prints them without a format.
//!
//! Not here: `printf` (`printf.rs`); JSON and YAML (`functions`).

use super::failure::Failure;
use super::limits::{Budget, check_value_depth};
use super::number::{Layout, format_float};
use super::value::Value;

/// Prints a value as an action does.
pub(super) fn print(value: &Value, budget: &mut Budget) -> Result<String, Failure> {
    let mut out = String::new();
    write(value, &mut out, budget, 0)?;
    Ok(out)
}

/// Prints operands with a space between two that are both no text.
pub(super) fn print_all(values: &[Value], budget: &mut Budget) -> Result<String, Failure> {
    let mut out = String::new();
    let mut after_text = true;
    for value in values {
        let text = matches!(value, Value::Text(_));
        if !text && !after_text {
            out.push(' ');
        }
        write(value, &mut out, budget, 0)?;
        after_text = text;
    }
    Ok(out)
}

/// Prints operands with spaces between them and a newline at the end.
pub(super) fn print_line(values: &[Value], budget: &mut Budget) -> Result<String, Failure> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(value, &mut out, budget, 0)?;
    }
    out.push('\n');
    Ok(out)
}

fn write(value: &Value, out: &mut String, budget: &mut Budget, depth: usize) -> Result<(), Failure> {
    budget.steps(1)?;
    check_value_depth(depth)?;
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) | Value::Int64(number) => out.push_str(&number.to_string()),
        Value::Uint64(number) => out.push_str(&number.to_string()),
        Value::Byte(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&format_float(*number, Layout::General, None)),
        Value::Text(text) => out.push_str(text),
        Value::Bytes(bytes) => {
            let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
            out.push('[');
            out.push_str(&numbers.join(" "));
            out.push(']');
        }
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items().iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(item, out, budget, depth + 1)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (index, (key, item)) in map.entries().iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write(item, out, budget, depth + 1)?;
            }
            out.push(']');
        }
        Value::Named(named) => out.push_str(&named.text()),
        Value::Namespace(name) => {
            return Err(Failure::argument(format!("{name} is a group of functions and has no text"))
                .hint(format!("call one of them, such as {{{{ {name}.… }}}}")));
        }
    }
    // A shared value can print at many places; the bound holds while it grows.
    if out.len() > super::limits::MAX_TEXT_BYTES { budget.text(out.len()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{print, print_all};
    use crate::template::limits::Budget;
    use crate::template::value::Value;

    fn check(value: &serde_json::Value, expected: &str) {
        let value = Value::from_json(value, None, 0).unwrap();
        assert_eq!(print(&value, &mut Budget::new()).unwrap(), expected);
    }

    #[test]
    fn values_print_as_in_go() {
        check(&json!([1, "b", null, [true]]), "[1 b <nil> [true]]");
        check(&json!({"b": 1.5, "a": {"c": []}}), "map[a:map[c:[]] b:1.5]");
    }

    #[test]
    fn only_two_neighbours_that_are_no_text_get_a_space() {
        let values =
            [Value::Int(1), Value::Int(2), Value::text("a"), Value::Int(3), Value::text("b"), Value::text("c")];
        assert_eq!(print_all(&values, &mut Budget::new()).unwrap(), "1 2a3bc");
    }
}
