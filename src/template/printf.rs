//! Pure. `printf`: verbs, flags, widths, argument indexes, and what Go writes for wrong ones.
//!
//! Not here: printing without a format (`print.rs`).

use super::failure::Failure;
use super::limits::{Budget, check_value_depth};
use super::named::Named;
use super::number::{Layout, format_float};
use super::print::print;
use super::quote::{Charset, quote, quote_char};
use super::unicode::is_printable;
use super::value::Value;

/// Largest width and precision, as in Go.
const MAX_WIDTH: usize = 1_000_000;

/// What stands between the percent sign and the verb.
#[derive(Clone, Copy, Default)]
struct Flags {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%+v`
    plus_value: bool,
    /// `%#v`
    go_syntax: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Formats arguments.
pub(super) fn printf(format: &str, arguments: &[Value], budget: &mut Budget) -> Result<String, Failure> {
    let mut printer = Printer { format, at: 0, arguments, next: 0, reordered: false, good: true, out: String::new() };
    printer.run(budget)?;
    Ok(printer.out)
}

struct Printer<'a> {
    format: &'a str,
    at: usize,
    arguments: &'a [Value],
    next: usize,
    /// Whether an index such as `[2]` was used; then arguments left over are no error.
    reordered: bool,
    /// Whether the index of the current verb exists.
    good: bool,
    out: String,
}

impl Printer<'_> {
    fn rest(&self) -> &str {
        self.format.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn run(&mut self, budget: &mut Budget) -> Result<(), Failure> {
        while let Some(length) = self.rest().find('%') {
            let text = self.rest().get(..length).unwrap_or("").to_owned();
            self.out.push_str(&text);
            self.at += length + 1;
            self.verb(budget)?;
            budget.steps(1)?;
            if self.out.len() > super::limits::MAX_TEXT_BYTES {
                budget.text(self.out.len())?;
            }
        }
        let text = self.rest().to_owned();
        self.out.push_str(&text);
        self.extra(budget)
    }

    fn verb(&mut self, budget: &mut Budget) -> Result<(), Failure> {
        self.good = true;
        let mut flags = self.flags();
        let mut indexed = self.index();
        if self.peek() == Some('*') {
            self.at += 1;
            self.width_argument(&mut flags);
            indexed = false;
        } else {
            flags.width = self.number();
            if indexed && flags.width.is_some() {
                self.good = false;
            }
        }
        if self.peek() == Some('.') && self.rest().len() > 1 {
            self.at += 1;
            if indexed {
                self.good = false;
            }
            indexed = self.index();
            if self.peek() == Some('*') {
                self.at += 1;
                self.precision_argument(&mut flags);
                indexed = false;
            } else {
                flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !indexed {
            self.index();
        }
        let Some(verb) = self.peek() else {
            self.out.push_str("%!(NOVERB)");
            return Ok(());
        };
        self.at += verb.len_utf8();
        self.argument(verb, flags, budget)
    }

    fn argument(&mut self, verb: char, mut flags: Flags, budget: &mut Budget) -> Result<(), Failure> {
        if verb == '%' {
            self.out.push('%');
        } else if !self.good {
            self.out.push_str(&format!("%!{verb}(BADINDEX)"));
        } else if let Some(value) = self.arguments.get(self.next) {
            if verb == 'v' {
                flags.go_syntax = std::mem::take(&mut flags.sharp);
                flags.plus_value = std::mem::take(&mut flags.plus);
            }
            self.next += 1;
            let text = argument(value, verb, flags, budget)?;
            self.out.push_str(&text);
        } else {
            self.out.push_str(&format!("%!{verb}(MISSING)"));
        }
        Ok(())
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some('#') => flags.sharp = true,
                Some('0') => flags.zero = true,
                Some('+') => flags.plus = true,
                Some('-') => flags.minus = true,
                Some(' ') => flags.space = true,
                _ => return flags,
            }
            self.at += 1;
        }
    }

    /// Takes `[n]` and tells whether it was well formed.
    fn index(&mut self) -> bool {
        if self.peek() != Some('[') {
            return false;
        }
        self.reordered = true;
        let Some(length) = self.rest().find(']') else {
            self.at += 1;
            self.good = false;
            return false;
        };
        let digits = self.rest().get(1..length).unwrap_or("");
        let number = if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<usize>().ok() } else { None };
        self.at += length + 1;
        let index = number.filter(|number| *number <= MAX_WIDTH).and_then(|number| number.checked_sub(1));
        match index {
            Some(index) if index < self.arguments.len() => {
                self.next = index;
                true
            }
            _ => {
                self.good = false;
                number.is_some()
            }
        }
    }

    fn number(&mut self) -> Option<usize> {
        let digits: String = self.rest().chars().take_while(char::is_ascii_digit).collect();
        self.at += digits.len();
        digits.parse().ok().filter(|number| *number <= MAX_WIDTH)
    }

    fn integer_argument(&mut self) -> Option<i64> {
        let value = self.arguments.get(self.next)?;
        self.next += 1;
        let number = value.as_signed().or_else(|| i64::try_from(value.as_unsigned()?).ok())?;
        usize::try_from(number.unsigned_abs()).ok().filter(|number| *number <= MAX_WIDTH)?;
        Some(number)
    }

    fn width_argument(&mut self, flags: &mut Flags) {
        match self.integer_argument() {
            Some(width) => {
                if width < 0 {
                    flags.minus = true;
                    flags.zero = false;
                }
                flags.width = usize::try_from(width.unsigned_abs()).ok();
            }
            None => self.out.push_str("%!(BADWIDTH)"),
        }
    }

    fn precision_argument(&mut self, flags: &mut Flags) {
        match self.integer_argument() {
            Some(precision) if precision >= 0 => flags.precision = usize::try_from(precision).ok(),
            _ => self.out.push_str("%!(BADPREC)"),
        }
    }

    fn extra(&mut self, budget: &mut Budget) -> Result<(), Failure> {
        let Some(extra) = self.arguments.get(self.next..).filter(|extra| !extra.is_empty()) else { return Ok(()) };
        if self.reordered {
            return Ok(());
        }
        let mut shown = Vec::new();
        for value in extra {
            shown.push(typed(value, budget)?);
        }
        self.out.push_str(&format!("%!(EXTRA {})", shown.join(", ")));
        Ok(())
    }
}

/// Writes `int=1`, as Go does for arguments that do not fit.
fn typed(value: &Value, budget: &mut Budget) -> Result<String, Failure> {
    Ok(match value {
        Value::Nil => "<nil>".to_owned(),
        _ => format!("{}={}", value.type_name(), print(value, budget)?),
    })
}

fn argument(value: &Value, verb: char, flags: Flags, budget: &mut Budget) -> Result<String, Failure> {
    match (verb, value) {
        ('p', _) => Err(Failure::call("printf has no %p here: it would print an address in memory")),
        ('T', Value::Nil) | ('v', Value::Nil) => Ok(pad("<nil>", flags)),
        ('T', _) => Ok(pad(&truncated(&value.type_name(), flags), flags)),
        _ => format_value(value, verb, flags, budget, 0),
    }
}

fn format_value(value: &Value, verb: char, flags: Flags, budget: &mut Budget, depth: usize) -> Result<String, Failure> {
    budget.steps(1)?;
    check_value_depth(depth)?;
    let formatted = match value {
        Value::Nil => match verb {
            'v' if flags.go_syntax => Some("interface {}(nil)".to_owned()),
            // Inside a list or map Go finds an empty interface, which takes every verb.
            _ if verb == 'v' || depth > 0 => Some("<nil>".to_owned()),
            _ => None,
        },
        Value::Bool(flag) => matches!(verb, 't' | 'v').then(|| pad(if *flag { "true" } else { "false" }, flags)),
        Value::Int(number) | Value::Int64(number) => integer(*number < 0, number.unsigned_abs(), verb, flags),
        Value::Uint64(number) => unsigned(*number, verb, flags),
        Value::Byte(number) => unsigned(u64::from(*number), verb, flags),
        Value::Float(number) => float(*number, verb, flags)?,
        Value::Text(text) => format_text(text, verb, flags),
        Value::Bytes(bytes) => format_bytes(bytes, verb, flags)?,
        Value::List(_) | Value::Map(_) => return container(value, verb, flags, budget, depth),
        Value::Named(named) => format_named(named, verb, flags)?,
        Value::Namespace(name) => {
            return Err(Failure::argument(format!("{name} is a group of functions and has no text")));
        }
    };
    match formatted {
        Some(text) => Ok(text),
        None if matches!(value, Value::Nil | Value::Named(_)) => Ok(format!("%!{verb}({})", typed(value, budget)?)),
        // Width and precision count even where the verb does not fit.
        None => {
            let shown = format_value(value, 'v', flags, budget, depth + 1)?;
            Ok(format!("%!{verb}({}={shown})", value.type_name()))
        }
    }
}

fn container(value: &Value, verb: char, flags: Flags, budget: &mut Budget, depth: usize) -> Result<String, Failure> {
    let (open, close) = match (value, flags.go_syntax) {
        (_, true) => (format!("{}{{", value.type_name()), "}"),
        (Value::Map(_), false) => ("map[".to_owned(), "]"),
        _ => ("[".to_owned(), "]"),
    };
    let separator = if flags.go_syntax { ", " } else { " " };
    let mut parts = Vec::new();
    let mut length = 0_usize;
    let mut keep = |part: String, budget: &mut Budget| {
        length = length.saturating_add(part.len());
        parts.push(part);
        if length > super::limits::MAX_TEXT_BYTES { budget.text(length) } else { Ok(()) }
    };
    match value {
        Value::List(list) => {
            for item in list.items() {
                keep(format_value(&item, verb, flags, budget, depth + 1)?, budget)?;
            }
        }
        Value::Map(map) => {
            for (key, item) in map.entries() {
                let key = format_value(&Value::Text(key), verb, flags, budget, depth + 1)?;
                let item = format_value(&item, verb, flags, budget, depth + 1)?;
                keep(format!("{key}:{item}"), budget)?;
            }
        }
        _ => {}
    }
    Ok(format!("{open}{}{close}", parts.join(separator)))
}

/// Formats a value with a text of its own, which the verbs of texts show, or the number below it.
fn format_named(named: &Named, verb: char, flags: Flags) -> Result<Option<String>, Failure> {
    match (verb, named.as_signed()) {
        ('v', Some(number)) if flags.go_syntax => Ok(integer(number < 0, number.unsigned_abs(), 'd', flags)),
        ('v', _) if !flags.go_syntax => Ok(format_text(&named.text(), 's', flags)),
        ('s' | 'q' | 'x' | 'X', _) => Ok(format_text(&named.text(), verb, flags)),
        (_, Some(number)) => Ok(integer(number < 0, number.unsigned_abs(), verb, flags)),
        (_, None) => Err(Failure::new("T211", format!("printf has no %{verb} for {} here", named.noun()))),
    }
}

fn unsigned(number: u64, verb: char, flags: Flags) -> Option<String> {
    if verb == 'v' && flags.go_syntax {
        return integer(false, number, 'x', Flags { sharp: true, ..flags });
    }
    integer(false, number, verb, flags)
}

fn integer(negative: bool, magnitude: u64, verb: char, flags: Flags) -> Option<String> {
    let (digits, prefix) = match verb {
        'v' | 'd' => (magnitude.to_string(), ""),
        'b' => (format!("{magnitude:b}"), if flags.sharp { "0b" } else { "" }),
        'o' => (format!("{magnitude:o}"), ""),
        'O' => (format!("{magnitude:o}"), "0o"),
        'x' => (format!("{magnitude:x}"), if flags.sharp { "0x" } else { "" }),
        'X' => (format!("{magnitude:X}"), if flags.sharp { "0X" } else { "" }),
        'c' => return Some(pad(&character(negative, magnitude).to_string(), flags)),
        'q' => return Some(pad(&quote_char(character(negative, magnitude), charset(flags)), flags)),
        'U' => return Some(code_point(negative, magnitude, flags)),
        _ => return None,
    };
    let sign = if negative {
        "-"
    } else if flags.plus {
        "+"
    } else if flags.space {
        " "
    } else {
        ""
    };
    let mut digits = digits;
    let wanted = match flags.precision {
        Some(0) if magnitude == 0 => return Some(" ".repeat(flags.width.unwrap_or(0))),
        Some(precision) => precision,
        None if flags.zero && !flags.minus => flags.width.unwrap_or(0).saturating_sub(sign.len()),
        None => 0,
    };
    if digits.len() < wanted {
        digits = format!("{digits:0>wanted$}");
    }
    let octal = if verb == 'o' && flags.sharp && !digits.starts_with('0') { "0" } else { "" };
    // Zeros were counted before the prefix, as Go does.
    Some(pad(&format!("{sign}{prefix}{octal}{digits}"), Flags { zero: false, ..flags }))
}

fn character(negative: bool, magnitude: u64) -> char {
    let code = if negative { None } else { u32::try_from(magnitude).ok() };
    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn charset(flags: Flags) -> Charset {
    if flags.plus { Charset::Ascii } else { Charset::Unicode }
}

fn code_point(negative: bool, magnitude: u64, flags: Flags) -> String {
    let number = if negative { 0_u64.wrapping_sub(magnitude) } else { magnitude };
    let digits = flags.precision.unwrap_or(4).max(4);
    let mut text = format!("U+{number:0digits$X}");
    if let Some(c) = u32::try_from(number).ok().and_then(char::from_u32).filter(|c| flags.sharp && is_printable(*c)) {
        text.push_str(&format!(" '{c}'"));
    }
    pad(&text, Flags { zero: false, ..flags })
}

fn float(value: f64, verb: char, flags: Flags) -> Result<Option<String>, Failure> {
    let number = match verb {
        'v' | 'g' | 'G' => format_float(value, Layout::General, flags.precision),
        'e' | 'E' => format_float(value, Layout::Exponent, Some(flags.precision.unwrap_or(6))),
        'f' | 'F' => format_float(value, Layout::Plain, Some(flags.precision.unwrap_or(6))),
        'b' | 'x' | 'X' => return Err(Failure::new("T211", format!("printf has no %{verb} for floats here"))),
        _ => return Ok(None),
    };
    if flags.sharp {
        return Err(Failure::new("T211", "printf has no flag # for floats here"));
    }
    let number = if matches!(verb, 'E' | 'G') { number.replace('e', "E") } else { number };
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits.to_owned()),
        None => ("+", number.trim_start_matches('+').to_owned()),
    };
    let special = !value.is_finite();
    let sign = match sign {
        "-" => "-",
        _ if flags.plus => "+",
        _ if flags.space => " ",
        // Infinity keeps its sign unless it is padded away.
        _ if value.is_infinite() => "+",
        _ => "",
    };
    let flags = if special { Flags { zero: false, ..flags } } else { flags };
    let width = flags.width.unwrap_or(0);
    if flags.zero && !flags.minus && !sign.is_empty() && width > digits.len() + 1 {
        return Ok(Some(format!("{sign}{digits:0>width$}", width = width - 1)));
    }
    Ok(Some(pad(&format!("{sign}{digits}"), flags)))
}

fn format_text(text: &str, verb: char, flags: Flags) -> Option<String> {
    match verb {
        'v' if flags.go_syntax => Some(quoted(text, flags)),
        'v' | 's' => Some(pad(&truncated(text, flags), flags)),
        'q' => Some(quoted(text, flags)),
        'x' | 'X' => Some(hexadecimal(text.as_bytes(), verb, flags)),
        _ => None,
    }
}

fn quoted(text: &str, flags: Flags) -> String {
    let text = truncated(text, flags);
    let raw = !text.chars().any(|c| c == '`' || c == '\u{7f}' || c == '\u{feff}' || c < ' ' && c != '\t');
    if flags.sharp && raw {
        return pad(&format!("`{text}`"), flags);
    }
    pad(&quote(&text, charset(flags)), flags)
}

fn format_bytes(bytes: &[u8], verb: char, flags: Flags) -> Result<Option<String>, Failure> {
    let as_text = || {
        std::str::from_utf8(bytes).map_err(|_| Failure::call("printf cannot print bytes that are no UTF-8 as a text"))
    };
    Ok(match verb {
        'v' if flags.go_syntax => {
            let numbers: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:x}")).collect();
            Some(format!("[]byte{{{}}}", numbers.join(", ")))
        }
        's' | 'q' => format_text(as_text()?, verb, flags),
        'x' | 'X' => Some(hexadecimal(bytes, verb, flags)),
        _ => {
            let verb = if verb == 'v' { 'd' } else { verb };
            let numbers: Vec<String> = bytes
                .iter()
                .map(|byte| {
                    integer(false, u64::from(*byte), verb, flags).unwrap_or_else(|| format!("%!{verb}(uint8={byte})"))
                })
                .collect();
            Some(format!("[{}]", numbers.join(" ")))
        }
    })
}

fn hexadecimal(bytes: &[u8], verb: char, flags: Flags) -> String {
    let shown = bytes.get(..flags.precision.unwrap_or(bytes.len())).unwrap_or(bytes);
    let prefix = match (flags.sharp, verb) {
        (true, 'X') => "0X",
        (true, _) => "0x",
        (false, _) => "",
    };
    let pairs = shown.iter().map(|byte| if verb == 'X' { format!("{byte:02X}") } else { format!("{byte:02x}") });
    let text = if flags.space {
        pairs.map(|pair| format!("{prefix}{pair}")).collect::<Vec<_>>().join(" ")
    } else if shown.is_empty() {
        String::new()
    } else {
        format!("{prefix}{}", pairs.collect::<String>())
    };
    pad(&text, flags)
}

fn truncated(text: &str, flags: Flags) -> String {
    match flags.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    }
}

/// Fills a text up to the width: with zeros only on the left.
fn pad(text: &str, flags: Flags) -> String {
    let missing = flags.width.unwrap_or(0).saturating_sub(text.chars().count());
    if flags.minus {
        format!("{text}{}", " ".repeat(missing))
    } else if flags.zero {
        format!("{}{text}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::printf;
    use crate::template::limits::Budget;
    use crate::template::value::Value;

    fn check(format: &str, arguments: &[Value], expected: &str) {
        assert_eq!(printf(format, arguments, &mut Budget::new()).unwrap(), expected, "{format}");
    }

    #[test]
    fn widths_and_flags_fill() {
        check("%5d|%-5d|%05d|%+d|% d", &[1, 2, 3, 4, 5].map(Value::Int), "    1|2    |00003|+4| 5");
        check(
            "%6.2f|%-8s|%8s|%.2s",
            &[Value::Float(1.5), Value::text("a"), Value::text("b"), Value::text("cde")],
            "  1.50|a       |       b|cd",
        );
    }

    #[test]
    fn wrong_use_is_marked_in_the_text() {
        check("%d", &[Value::text("x")], "%!d(string=x)");
        check("%5.2f", &[Value::Int(4)], "%!f(int=   04)");
        check("%-5d|", &[Value::text("x")], "%!d(string=x    )|");
        check("%d", &[], "%!d(MISSING)");
        check("a", &[Value::Int(1), Value::Nil], "a%!(EXTRA int=1, <nil>)");
        check("%", &[], "%!(NOVERB)");
        check("%[3]d", &[Value::Int(1)], "%!d(BADINDEX)");
        check("%*d", &[Value::text("x"), Value::Int(1)], "%!(BADWIDTH)1");
    }

    #[test]
    fn indexes_choose_arguments() {
        check("%[2]d %[1]d", &[Value::Int(1), Value::Int(2)], "2 1");
        check("%[2]*[1]d", &[Value::Int(1), Value::Int(3)], "  1");
    }
}
