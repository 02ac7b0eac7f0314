//! Pure. Writes YAML as gomplate does: block style, indent 2, keys in natural order, quotes only where needed.
//!
//! Not here: Kubernetes' own dialect and files people wrote (`crate::yaml`); this one must match another program byte
//! for byte.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::template::failure::Failure;
use crate::template::limits::{Budget, MAX_TEXT_BYTES, check_value_depth};
use crate::template::named::Named;
use crate::template::number::{Layout, format_float, parse_float, parse_integer, parse_unsigned_in};
use crate::template::unicode::is_letter;
use crate::template::value::Value;

/// Longest key that stands on the line of its value, in bytes; longer ones are introduced by a question mark.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// Returns a value as a YAML document that ends with a newline.
pub(super) fn write(value: &Value, budget: &mut Budget) -> Result<String, Failure> {
    let mut writer = Writer { out: String::new(), budget };
    writer.node(value, Place { indent: 0, parent: Parent::Document }, 0)?;
    if !writer.out.ends_with('\n') {
        writer.out.push('\n');
    }
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    budget: &'a mut Budget,
}

/// Where a node is written.
#[derive(Clone, Copy)]
struct Place {
    /// Column of the node's own lines.
    indent: usize,
    parent: Parent,
}

impl Place {
    /// Returns the column of the further lines of a text. At the top it has no parent, but is indented all the same.
    fn block_indent(self) -> usize {
        if self.parent == Parent::Document { 2 } else { self.indent }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Document,
    Item,
    Value,
    Key,
}

impl Writer<'_> {
    fn node(&mut self, value: &Value, place: Place, depth: usize) -> Result<(), Failure> {
        self.budget.steps(1)?;
        check_value_depth(depth)?;
        match value {
            Value::List(list) if list.len() > 0 => {
                for (index, item) in list.items().iter().enumerate() {
                    self.line(place, index == 0);
                    self.out.push('-');
                    self.item(item, place.indent, depth)?;
                }
            }
            Value::Map(map) if map.len() > 0 => {
                let mut entries = map.entries();
                entries.sort_by(|(a, _), (b, _)| natural_order(a, b));
                for (index, (key, item)) in entries.iter().enumerate() {
                    self.line(place, index == 0);
                    self.entry(key, item, place.indent, depth)?;
                }
            }
            Value::Bytes(bytes) => self.bytes(bytes, place, depth)?,
            Value::List(_) => self.scalar("[]", place),
            Value::Map(_) => self.scalar("{}", place),
            Value::Nil => self.scalar("null", place),
            Value::Bool(flag) => self.scalar(if *flag { "true" } else { "false" }, place),
            Value::Int(number) | Value::Int64(number) => self.scalar(&number.to_string(), place),
            Value::Uint64(number) => self.scalar(&number.to_string(), place),
            Value::Byte(number) => self.scalar(&number.to_string(), place),
            Value::Float(number) => self.scalar(&float(*number), place),
            Value::Text(text) => self.text(text, place),
            Value::Named(Named::Time(time)) => self.scalar(&time.to_data(), place),
            Value::Named(named @ Named::Duration(_)) => self.scalar(&named.text(), place),
            Value::Named(named) => {
                let data = named.as_data()?;
                self.node(&data, place, depth)?;
            }
            Value::Namespace(name) => {
                return Err(Failure::argument(format!("{name} is a group of functions and no data")));
            }
        }
        if self.out.len() > MAX_TEXT_BYTES { self.budget.text(self.out.len()) } else { Ok(()) }
    }

    /// Begins a line of a list or map; the first one of an item stands on the line of its dash.
    fn line(&mut self, place: Place, first: bool) {
        if first && place.parent == Parent::Item {
            self.out.push(' ');
            return;
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', place.indent));
    }

    fn item(&mut self, item: &Value, indent: usize, depth: usize) -> Result<(), Failure> {
        self.node(item, Place { indent: indent + 2, parent: Parent::Item }, depth + 1)
    }

    fn entry(&mut self, key: &Rc<str>, item: &Value, indent: usize, depth: usize) -> Result<(), Failure> {
        if key.len() > MAX_SIMPLE_KEY_BYTES || key.contains('\n') {
            self.out.push('?');
            self.text(key, Place { indent: indent + 2, parent: Parent::Item });
            self.line(Place { indent, parent: Parent::Value }, false);
            self.out.push(':');
            let parent = Parent::Item;
            return self.node(item, Place { indent: indent + 2, parent }, depth + 1);
        }
        self.text(key, Place { indent, parent: Parent::Key });
        self.out.push(':');
        self.node(item, Place { indent: indent + 2, parent: Parent::Value }, depth + 1)
    }

    fn scalar(&mut self, text: &str, place: Place) {
        if matches!(place.parent, Parent::Item | Parent::Value) {
            self.out.push(' ');
        }
        self.out.push_str(text);
    }

    fn bytes(&mut self, bytes: &[u8], place: Place, depth: usize) -> Result<(), Failure> {
        if bytes.is_empty() {
            self.scalar("[]", place);
            return Ok(());
        }
        for (index, byte) in bytes.iter().enumerate() {
            self.line(place, index == 0);
            self.out.push('-');
            self.item(&Value::Byte(*byte), place.indent, depth)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, place: Place) {
        let traits = Traits::of(text);
        let key = place.parent == Parent::Key;
        let lines = text.contains('\n');
        let unquoted = !lines && !is_other_type(text);
        if lines && !key && traits.block {
            self.literal(text, place);
        } else if unquoted && traits.plain {
            self.scalar(text, place);
        } else if unquoted && traits.single {
            self.scalar(&single_quoted(text, place.block_indent()), place);
        } else {
            self.scalar(&double_quoted(text), place);
        }
    }

    fn literal(&mut self, text: &str, place: Place) {
        self.scalar("|", place);
        if text.starts_with([' ', '\n', '\u{85}', '\u{2028}', '\u{2029}']) {
            self.out.push('2');
        }
        let body = text.strip_suffix('\n');
        match body {
            None => self.out.push('-'),
            Some(body) if body.is_empty() || body.ends_with('\n') => self.out.push('+'),
            Some(_) => {}
        }
        // A first empty line is lost: the writer of gomplate takes it for the end of this one.
        if !text.starts_with('\n') {
            self.out.push('\n');
        }
        let indent = place.block_indent();
        for line in body.unwrap_or(text).split('\n') {
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
        if body.is_none() {
            self.out.pop();
        }
    }
}

fn float(number: f64) -> String {
    if number.is_nan() {
        ".nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else {
        format_float(number, Layout::General, None)
    }
}

/// Which styles a text allows.
struct Traits {
    plain: bool,
    single: bool,
    block: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self { plain: true, single: true, block: false };
        }
        let special = text.chars().any(|c| c != '\t' && !is_printable(c));
        let tab = text.contains('\t');
        let space_before_break = pairs(text).any(|(a, b)| a == ' ' && is_break(b));
        let space_after_break = pairs(text).any(|(a, b)| is_break(a) && b == ' ');
        let breaks = text.chars().any(is_break);
        let edges = text.starts_with([' ', '\n']) || text.ends_with([' ', '\n']);
        let single = !(space_after_break || space_before_break || tab || special);
        Self {
            plain: single && !edges && !breaks && !has_indicator(text),
            single,
            block: !(text.ends_with(' ') || space_before_break || special),
        }
    }
}

fn pairs(text: &str) -> impl Iterator<Item = (char, char)> {
    text.chars().zip(text.chars().skip(1))
}

/// Returns whether plain style would read the text as something else.
fn has_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let blank_or_end = |c: Option<char>| c.is_none_or(|c| c == ' ' || c == '\t');
    let mut rest = text.chars();
    let first = rest.next().unwrap_or(' ');
    let leading = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
        '?' | ':' | '-' => blank_or_end(rest.clone().next()),
        _ => false,
    };
    let mut previous = first;
    let mut inner = false;
    while let Some(c) = rest.next() {
        let next = rest.clone().next();
        inner |= c == ':' && blank_or_end(next);
        inner |= c == '#' && (previous == ' ' || previous == '\t' || is_break(previous));
        previous = c;
    }
    leading || inner
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// Quotes a text that may hold line separators, which stay and are followed by the indent.
fn single_quoted(text: &str, indent: usize) -> String {
    let mut out = String::from('\'');
    let mut after_break = false;
    for c in text.chars() {
        if after_break && !is_break(c) {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        after_break = is_break(c);
        if c == '\'' {
            out.push('\'');
        }
        out.push(c);
    }
    out.push('\'');
    out
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let name = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if is_printable(c) => {
                out.push(c);
                continue;
            }
            '\0'..='\u{ff}' => {
                out.push_str(&format!("\\x{:02X}", u32::from(c)));
                continue;
            }
            '\u{100}'..='\u{ffff}' => {
                out.push_str(&format!("\\u{:04X}", u32::from(c)));
                continue;
            }
            _ => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)));
                continue;
            }
        };
        out.extend(['\\', name]);
    }
    out.push('"');
    out
}

/// Returns whether a plain text would read as something else than a text, now or by the older YAML.
fn is_other_type(text: &str) -> bool {
    match text {
        "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => {
            return true;
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return true,
        "-.inf" | "-.Inf" | "-.INF" => return true,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "n" | "N" | "no" | "No" | "NO" => return true,
        "off" | "Off" | "OFF" => return true,
        _ => {}
    }
    match text.chars().next() {
        Some('.') => parse_float(text).is_some(),
        Some('+' | '-' | '0'..='9') => is_number(text) || is_timestamp(text) || is_base_60(text),
        _ => false,
    }
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    parse_integer(&plain).is_some()
        || parse_unsigned_in(&plain, 0).is_some()
        || plain.strip_prefix("-0b").is_some_and(|digits| u64::from_str_radix(digits, 2).is_ok())
        || is_decimal(&plain) && parse_float(&plain).is_some()
}

/// Returns whether a text is digits with an optional point and exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

/// Returns whether a text is numbers joined by colons, which the older YAML reads in base 60.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let body = unsigned.split_once('.').map_or(unsigned, |(body, _)| body);
    let fraction_fits = unsigned
        .split_once('.')
        .is_none_or(|(_, fraction)| fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_'));
    let mut parts = body.split(':');
    let first = parts.next().unwrap_or("");
    let first_fits = first.starts_with(|c: char| c.is_ascii_digit())
        && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let sixty =
        |part: &str| part.parse::<u8>().is_ok_and(|number| number < 60) && part.len() <= 2 && !part.starts_with('+');
    let rest: Vec<&str> = parts.collect();
    fraction_fits && first_fits && !rest.is_empty() && rest.into_iter().all(sixty)
}

/// Returns whether a text is a date, or a date with a time.
fn is_timestamp(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let year_fits = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let day_fits = ranged(month, 1, 12)
        .zip(year.parse().ok())
        .and_then(|(month, year)| ranged(day, 1, days(year, month)))
        .is_some();
    year_fits && day_fits && (time.is_empty() || is_time(time))
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Checks ` 15:04:05.9` or `T15:04:05.9Z`, which needs a zone.
fn is_time(text: &str) -> bool {
    let mut rest = text.chars();
    let spaced = rest.next() == Some(' ');
    let rest = rest.as_str();
    let (clock, zone_fits) = if spaced {
        (rest, true)
    } else if let Some(clock) = rest.strip_suffix('Z') {
        (clock, true)
    } else {
        match rest.rfind(['+', '-']).and_then(|at| rest.split_at_checked(at)) {
            Some((clock, zone)) => (clock, is_zone(zone)),
            None => return false,
        }
    };
    let (clock, fraction) = clock.split_once(['.', ',']).map_or((clock, None), |(clock, rest)| (clock, Some(rest)));
    let fraction_fits =
        fraction.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let parts: Vec<&str> = clock.split(':').collect();
    let clock_fits = match parts.as_slice() {
        [hour, minute, second] => {
            ranged(hour, 0, 23).is_some() && ranged(minute, 0, 59).is_some() && ranged(second, 0, 59).is_some()
        }
        _ => false,
    };
    zone_fits && fraction_fits && clock_fits
}

fn is_zone(zone: &str) -> bool {
    zone.get(1..).and_then(|zone| zone.split_once(':')).is_some_and(|(hours, minutes)| {
        hours.len() == 2 && minutes.len() == 2 && ranged(hours, 0, 24).is_some() && ranged(minutes, 0, 60).is_some()
    })
}

fn ranged(digits: &str, low: u32, high: u32) -> Option<u32> {
    if digits.is_empty() || digits.len() > 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| (low..=high).contains(number))
}

/// Orders keys as people do: `a2` before `a10`, digits before letters, signs before both.
fn natural_order(left: &str, right: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut after_digit = false;
    for (index, (x, y)) in a.iter().zip(&b).enumerate() {
        if x == y {
            after_digit = x.is_ascii_digit();
            continue;
        }
        return match (is_letter(*x), is_letter(*y)) {
            (true, true) => x.cmp(y),
            (true, false) | (false, true) => {
                // After a digit a letter ends the number and comes first.
                if is_letter(*x) == after_digit { Ordering::Less } else { Ordering::Greater }
            }
            (false, false) => numbers(&a, &b, index).then(x.cmp(y)),
        };
    }
    a.len().cmp(&b.len())
}

/// Compares the numbers that begin at a place, or continue there.
fn numbers(a: &[char], b: &[char], index: usize) -> Ordering {
    let digits = |text: &[char]| -> Vec<i64> {
        let rest = text.get(index..).unwrap_or(&[]);
        rest.iter().map_while(|c| c.to_digit(10)).map(i64::from).collect()
    };
    let zero = a.get(index) == Some(&'0') || b.get(index) == Some(&'0');
    let before = a.get(..index).unwrap_or(&[]).iter().rev().take_while(|c| c.is_ascii_digit());
    // Equal digits before the place make a zero here count.
    let start = i64::from(zero && before.into_iter().any(|c| *c != '0'));
    let value = |digits: &[i64]| digits.iter().fold(start, |sum, digit| sum.wrapping_mul(10).wrapping_add(*digit));
    let (x, y) = (digits(a), digits(b));
    value(&x).cmp(&value(&y)).then(x.len().cmp(&y.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::write;
    use crate::template::limits::Budget;
    use crate::template::value::Value;

    fn check(value: &serde_json::Value, expected: &str) {
        let value = Value::from_json(value, None, 0).unwrap();
        assert_eq!(write(&value, &mut Budget::new()).unwrap(), expected);
    }

    #[test]
    fn lists_and_maps_nest() {
        check(
            &json!({"b": [1, {"x": 1, "y": [true]}, [2, 3]], "a": {}, "c": []}),
            "a: {}\nb:\n  - 1\n  - x: 1\n    \"y\":\n      - true\n  - - 2\n    - 3\nc: []\n",
        );
    }

    #[test]
    fn keys_stand_in_natural_order() {
        check(&json!({"a10": 1, "a2": 2, "a": 3, "1": 4}), "\"1\": 4\na: 3\na2: 2\na10: 1\n");
    }

    #[test]
    fn texts_are_quoted_only_where_needed() {
        check(
            &json!(["a b", "1", "yes", "a: b", "#x", "it's", "", "1:30", "2024-01-02", "a\tb"]),
            "- a b\n- \"1\"\n- \"yes\"\n- 'a: b'\n- '#x'\n- it's\n- \"\"\n- \"1:30\"\n- \"2024-01-02\"\n- \"a\\tb\"\n",
        );
    }

    #[test]
    fn lines_become_a_block() {
        check(
            &json!({"a": "x\ny\n", "b": "x\n\ny", "c": " x\n", "d": "x\n\n"}),
            "a: |\n  x\n  y\nb: |-\n  x\n\n  y\nc: |2\n   x\nd: |+\n  x\n\n",
        );
    }
}
