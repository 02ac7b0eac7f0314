//! Pure. YAML exactly as `kustomize build` prints it: keys sorted, quotes and line folds as Go's emitter sets them.
//!
//! It is for people and for comparison with kustomize; hashes never stand on it.
//!
//! Not here: texts that we write into people's files (`write.rs`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Dialect;
use super::number::float;
use super::scalar::{self, Reading};

/// Column behind which the emitter breaks a line at the next single space.
const BEST_WIDTH: usize = 80;
/// Longest key in bytes that is written before its colon.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// Returns an object as `kustomize build` prints it.
pub fn write_sorted_map(map: &Map<String, Value>) -> String {
    if map.is_empty() {
        return "{}\n".to_owned();
    }
    printed(|emitter| emitter.map(map, 0))
}

/// Returns a value as `kustomize build` prints it.
pub fn write_sorted(value: &Value) -> String {
    match value {
        Value::Object(map) => write_sorted_map(map),
        Value::Array(items) if !items.is_empty() => printed(|emitter| emitter.list(items, 0)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            printed(|emitter| emitter.leaf(value, 2))
        }
    }
}

fn printed(print: impl FnOnce(&mut Emitter)) -> String {
    let mut emitter = Emitter { out: String::new(), column: 0 };
    print(&mut emitter);
    if emitter.column > 0 {
        emitter.out.push('\n');
    }
    emitter.out
}

/// A map key in the order of Go's encoder: runs of digits count as numbers, signs stand before letters.
#[derive(PartialEq, Eq)]
struct SortKey<'a>(&'a str);

impl Ord for SortKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let both = || self.0.chars().zip(other.0.chars()).take_while(|(x, y)| x == y);
        let same: usize = both().map(|(c, _)| c.len_utf8()).sum();
        let (a, b) = (self.0.get(same..).unwrap_or(""), other.0.get(same..).unwrap_or(""));
        let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else { return a.len().cmp(&b.len()) };
        match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => return x.cmp(&y),
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        // A zero behind other digits is part of a longer number, not a leading zero.
        let before = self.0.get(..same).unwrap_or("").chars().rev().take_while(char::is_ascii_digit);
        let within = (x == '0' || y == '0') && before.into_iter().any(|c| c != '0');
        let run = |rest: &str| {
            rest.chars().map_while(|c| c.to_digit(10)).fold((i64::from(within), 0_usize), |(number, length), digit| {
                (number.wrapping_mul(10).wrapping_add(i64::from(digit)), length + 1)
            })
        };
        run(a).cmp(&run(b)).then(x.cmp(&y))
    }
}

impl PartialOrd for SortKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether a scalar stands before a colon, where it must stay on one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

struct Emitter {
    out: String,
    /// Characters on the current line.
    column: usize,
}

impl Emitter {
    fn map(&mut self, map: &Map<String, Value>, indent: usize) {
        // A sorted map instead of a sort: the order of Go's encoder is not total on odd keys, which a sort may refuse.
        let sorted: BTreeMap<SortKey<'_>, &Value> = map.iter().map(|(key, value)| (SortKey(key), value)).collect();
        for (position, (SortKey(key), value)) in sorted.into_iter().enumerate() {
            if position > 0 {
                self.line(indent);
            }
            if key.len() > MAX_SIMPLE_KEY_BYTES || key.contains(is_break) {
                self.put("? ");
                self.text(key, indent + 2, Role::Value);
                self.line(indent);
                self.put(":");
                self.item(value, indent + 2);
            } else {
                self.text(key, indent + 2, Role::Key);
                self.put(":");
                self.value(value, indent);
            }
        }
    }

    fn value(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.line(indent + 2);
                self.map(map, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                self.line(indent);
                self.list(items, indent);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.put(" ");
                self.leaf(value, indent + 2);
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize) {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.line(indent);
            }
            self.put("-");
            self.item(item, indent + 2);
        }
    }

    /// Writes what follows a dash.
    fn item(&mut self, item: &Value, indent: usize) {
        self.put(" ");
        match item {
            Value::Object(map) if !map.is_empty() => self.map(map, indent),
            Value::Array(items) if !items.is_empty() => self.list(items, indent),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.leaf(item, indent);
            }
        }
    }

    fn leaf(&mut self, value: &Value, indent: usize) {
        match value {
            Value::String(text) => self.text(text, indent, Role::Value),
            Value::Number(number) if number.is_f64() => {
                let text = number.as_f64().map_or_else(|| number.to_string(), float);
                self.put(&text);
            }
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.put(&value.to_string()),
        }
    }

    fn text(&mut self, text: &str, indent: usize, role: Role) {
        let shape = Shape::of(text);
        if text.contains('\n') && shape.block_allowed && role == Role::Value {
            return self.literal(text, indent);
        }
        if text.contains('\n') || !is_text_when_bare(text) || !shape.single_quoted_allowed {
            return self.double_quoted(text, indent, role);
        }
        if shape.plain_allowed {
            return self.folded(text, indent, role);
        }
        self.put("'");
        let inner = text.replace('\'', "''");
        self.folded(&inner, indent, role);
        self.put("'");
    }

    /// Writes a text and breaks the line at single spaces behind the best width.
    fn folded(&mut self, text: &str, indent: usize, role: Role) {
        let mut after_space = false;
        let mut rest = text.chars().peekable();
        let mut first = true;
        while let Some(c) = rest.next() {
            let next_is_space = rest.peek() == Some(&' ');
            let inside = !first && rest.peek().is_some();
            if c == ' ' && role == Role::Value && !after_space && self.column > BEST_WIDTH && inside && !next_is_space {
                self.line(indent);
            } else {
                self.push(c);
            }
            after_space = c == ' ';
            first = false;
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, role: Role) {
        // Go's emitter asks for a byte order mark at the start of the text, wherever it stands in it.
        let escape_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut rest = text.chars().peekable();
        let mut first = true;
        self.put("\"");
        while let Some(c) = rest.next() {
            let inside = !first && rest.peek().is_some();
            if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                let escaped = escape(c);
                self.put(&escaped);
                after_space = false;
            } else if c == ' ' {
                if role == Role::Value && !after_space && self.column > BEST_WIDTH && inside {
                    self.line(indent);
                    if rest.peek() == Some(&' ') {
                        self.put("\\");
                    }
                } else {
                    self.push(c);
                }
                after_space = true;
            } else {
                self.push(c);
                after_space = false;
            }
            first = false;
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put("2");
        }
        let mut last = text.chars().rev();
        self.put(match (last.next().is_some_and(is_break), last.next().is_none_or(is_break)) {
            (true, true) => "+",
            (true, false) => "",
            (false, _) => "-",
        });
        self.newline();
        // What ends a line in YAML 1.1 begins one here too, indentation included, though other readers take it for a part of the text.
        let mut begins = true;
        for c in text.chars() {
            if c == '\n' {
                self.newline();
            } else if is_break(c) {
                self.push(c);
                self.column = 0;
            } else {
                if begins {
                    self.line(indent);
                }
                self.push(c);
            }
            begins = is_break(c);
        }
    }

    /// Starts a line, unless one has just started, and indents it.
    fn line(&mut self, indent: usize) {
        if self.column > 0 {
            self.newline();
        }
        for _ in 0..indent {
            self.push(' ');
        }
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }
}

/// What the characters of a text allow.
struct Shape {
    plain_allowed: bool,
    single_quoted_allowed: bool,
    block_allowed: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let (mut indicators, mut breaks, mut special) =
            (text.starts_with("---") || text.starts_with("..."), false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut before: Option<char> = None;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let blank_follows = rest.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            indicators |= match (before, c) {
                (
                    None,
                    '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
                ) => true,
                (None, '?' | '-') | (_, ':') => blank_follows,
                (Some(before), '#') => matches!(before, ' ' | '\t' | '\0') || is_break(before),
                (_, _) => false,
            };
            special |= !is_printable(c);
            breaks |= is_break(c);
            break_space |= c == ' ' && before.is_some_and(is_break);
            space_break |= is_break(c) && before == Some(' ');
            before = Some(c);
        }
        let edge = |c: char| c == ' ' || is_break(c);
        let framed = text.starts_with(edge) || text.ends_with(edge);
        Self {
            plain_allowed: !(indicators || breaks || special || break_space || space_break || framed),
            single_quoted_allowed: !(break_space || space_break || special),
            block_allowed: !(space_break || special || text.ends_with(' ')),
        }
    }
}

fn is_text_when_bare(text: &str) -> bool {
    scalar::read(text, Dialect::Kube) == Reading::Text && scalar::time(text).is_none() && !is_base_sixty(text)
}

/// Returns whether YAML 1.1 reads a number in base 60; Go's encoder quotes those.
fn is_base_sixty(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let head = parts.next().unwrap_or("");
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let sixty = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    };
    whole.contains(':')
        && head.starts_with(|c: char| c.is_ascii_digit())
        && digits(head)
        && digits(fraction)
        && parts.all(sixty)
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether Go's emitter writes a character as it is: nothing beyond 16 bits, no tab.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
