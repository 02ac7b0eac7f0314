//! Pure. Reads TOML 1.0.
//!
//! Not here: writing it (`toml.rs`).

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::template::failure::Failure;
use crate::template::limits::{Budget, check_value_depth};
use crate::template::named::{Named, Time, Zone, parse_time};
use crate::template::value::{Element, List, Map, Value};

/// Returns the table that a text describes.
pub(super) fn read(text: &str, budget: &mut Budget) -> Result<Value, Failure> {
    let mut reader = Reader { text, at: 0, budget };
    let mut root = Table::default();
    let mut path: Vec<String> = Vec::new();
    loop {
        reader.skip_lines();
        if reader.rest().is_empty() {
            return root.into_value(0);
        }
        reader.budget.steps(1)?;
        if reader.take("[[") {
            path = reader.header("]]")?;
            root.add_to_list(&path).ok_or_else(|| reader.wrong("the table cannot be here"))?;
        } else if reader.take("[") {
            path = reader.header("]")?;
            root.open(&path).ok_or_else(|| reader.wrong("the table is there already"))?;
        } else {
            let key = reader.key()?;
            reader.demand("=")?;
            let value = reader.value(0)?;
            let table = root.at(&path).ok_or_else(|| reader.wrong("the table cannot be here"))?;
            table.set(&key, value).ok_or_else(|| reader.wrong("the key is there already"))?;
        }
        reader.end_of_line()?;
    }
}

/// How a table came to be, which says who may add to it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    /// On the way to another one.
    #[default]
    Implied,
    /// By a header.
    Header,
    /// By a key with dots.
    Dotted,
}

#[derive(Default)]
struct Table {
    origin: Origin,
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    Value(Value),
    Table(Table),
    Tables(Vec<Table>),
}

impl Table {
    /// Walks to a table that a header names; the last table of a list counts.
    fn at(&mut self, path: &[String]) -> Option<&mut Self> {
        let mut table = self;
        for key in path {
            table = match table.entries.entry(key.clone()).or_insert_with(|| Entry::Table(Self::default())) {
                Entry::Table(table) => table,
                Entry::Tables(tables) => tables.last_mut()?,
                Entry::Value(_) => return None,
            };
        }
        Some(table)
    }

    fn open(&mut self, path: &[String]) -> Option<()> {
        let (last, before) = path.split_last()?;
        let parent = self.at(before)?;
        let entry = parent.entries.entry(last.clone()).or_insert_with(|| Entry::Table(Self::default()));
        match entry {
            Entry::Table(table) if table.origin != Origin::Header => table.origin = Origin::Header,
            _ => return None,
        }
        Some(())
    }

    fn add_to_list(&mut self, path: &[String]) -> Option<()> {
        let (last, before) = path.split_last()?;
        let parent = self.at(before)?;
        match parent.entries.entry(last.clone()).or_insert_with(|| Entry::Tables(Vec::new())) {
            Entry::Tables(tables) => tables.push(Self { origin: Origin::Header, ..Self::default() }),
            Entry::Table(_) | Entry::Value(_) => return None,
        }
        Some(())
    }

    fn set(&mut self, key: &[String], value: Value) -> Option<()> {
        let (last, before) = key.split_last()?;
        let mut table = self;
        for key in before {
            let made = || Entry::Table(Self { origin: Origin::Dotted, ..Self::default() });
            table = match table.entries.entry(key.clone()).or_insert_with(made) {
                Entry::Table(table) if table.origin != Origin::Header => table,
                _ => return None,
            };
        }
        if table.entries.contains_key(last) {
            return None;
        }
        table.entries.insert(last.clone(), Entry::Value(value));
        Some(())
    }

    fn into_value(self, depth: usize) -> Result<Value, Failure> {
        check_value_depth(depth)?;
        let mut entries = BTreeMap::new();
        for (key, entry) in self.entries {
            let value = match entry {
                Entry::Value(value) => value,
                Entry::Table(table) => table.into_value(depth + 1)?,
                Entry::Tables(tables) => {
                    let items = tables.into_iter().map(|table| table.into_value(depth + 1));
                    Value::List(List::of(Element::Maps, items.collect::<Result<_, _>>()?))
                }
            };
            entries.insert(Rc::from(key), value);
        }
        Ok(Value::Map(Map::new(entries)))
    }
}

struct Reader<'a, 'b> {
    text: &'a str,
    at: usize,
    budget: &'b mut Budget,
}

impl<'a> Reader<'a, '_> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn wrong(&self, message: &str) -> Failure {
        let line = self.text.get(..self.at).unwrap_or("").matches('\n').count() + 1;
        Failure::call(format!("the text is no TOML, line {line}: {message}"))
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    fn demand(&mut self, mark: &str) -> Result<(), Failure> {
        self.skip_blanks();
        let found = self.take(mark);
        self.skip_blanks();
        if found { Ok(()) } else { Err(self.wrong(&format!("{mark} is missing"))) }
    }

    fn skip_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or("")
    }

    fn skip_blanks(&mut self) {
        self.skip_while(|c| c == ' ' || c == '\t');
    }

    fn skip_comment(&mut self) {
        self.skip_blanks();
        if self.rest().starts_with('#') {
            self.skip_while(|c| c != '\n');
        }
    }

    fn skip_lines(&mut self) {
        loop {
            self.skip_comment();
            if !self.take("\n") && !self.take("\r\n") {
                return;
            }
        }
    }

    fn end_of_line(&mut self) -> Result<(), Failure> {
        self.skip_comment();
        if self.rest().is_empty() || self.take("\n") || self.take("\r\n") {
            return Ok(());
        }
        Err(self.wrong("something stands behind the value"))
    }

    fn header(&mut self, end: &str) -> Result<Vec<String>, Failure> {
        self.skip_blanks();
        let path = self.key()?;
        self.skip_blanks();
        if self.take(end) { Ok(path) } else { Err(self.wrong("the table's name does not end")) }
    }

    fn key(&mut self) -> Result<Vec<String>, Failure> {
        let mut path = Vec::new();
        loop {
            self.skip_blanks();
            let part = match self.rest().chars().next() {
                Some('"') => {
                    self.at += 1;
                    self.basic("\"")?
                }
                Some('\'') => {
                    self.at += 1;
                    self.literal("'")?
                }
                _ => {
                    let bare = self.skip_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
                    if bare.is_empty() {
                        return Err(self.wrong("a key is missing"));
                    }
                    bare.to_owned()
                }
            };
            path.push(part);
            check_value_depth(path.len())?;
            self.skip_blanks();
            if !self.take(".") {
                return Ok(path);
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        check_value_depth(depth)?;
        self.budget.steps(1)?;
        for (mark, basic) in [("\"\"\"", true), ("'''", false)] {
            if self.take(mark) {
                if !self.take("\r\n") {
                    self.take("\n");
                }
                let text = if basic { self.basic(mark) } else { self.literal(mark) };
                return text.map(Value::text);
            }
        }
        if self.take("\"") {
            return self.basic("\"").map(Value::text);
        }
        if self.take("'") {
            return self.literal("'").map(Value::text);
        }
        if self.take("[") {
            return self.list(depth);
        }
        if self.take("{") {
            return self.inline(depth);
        }
        self.bare()
    }

    fn list(&mut self, depth: usize) -> Result<Value, Failure> {
        let mut items = Vec::new();
        loop {
            self.skip_lines();
            if self.take("]") {
                break;
            }
            items.push(self.value(depth + 1)?);
            self.budget.elements(1)?;
            self.skip_lines();
            if !self.take(",") {
                if self.take("]") {
                    break;
                }
                return Err(self.wrong("the list does not end"));
            }
        }
        Ok(Value::List(if items.is_empty() { List::nil(Element::Any) } else { List::new(items) }))
    }

    fn inline(&mut self, depth: usize) -> Result<Value, Failure> {
        let mut table = Table::default();
        self.skip_blanks();
        if self.take("}") {
            return table.into_value(depth);
        }
        loop {
            let key = self.key()?;
            self.demand("=")?;
            let value = self.value(depth + 1)?;
            table.set(&key, value).ok_or_else(|| self.wrong("the key is there already"))?;
            self.skip_blanks();
            if self.take("}") {
                return table.into_value(depth);
            }
            self.demand(",")?;
        }
    }

    /// Reads a text with escapes up to its end, which may be three quotes.
    fn basic(&mut self, end: &str) -> Result<String, Failure> {
        let lines = end.len() == 3;
        let mut out = String::new();
        loop {
            if self.rest().starts_with(end) {
                self.at += end.len();
                // Up to two quotes may stand before the closing three.
                while lines && self.rest().starts_with('"') {
                    self.at += 1;
                    out.push('"');
                }
                return Ok(out);
            }
            let Some(c) = self.rest().chars().next() else { return Err(self.wrong("a text does not end")) };
            self.at += c.len_utf8();
            match c {
                '\\' => self.escape(lines, &mut out)?,
                '\n' if lines => out.push(c),
                '\r' if lines && self.rest().starts_with('\n') => out.push(c),
                '\t' => out.push(c),
                '\0'..'\u{20}' | '\u{7f}' => return Err(self.wrong("a text holds a control character")),
                _ => out.push(c),
            }
        }
    }

    fn escape(&mut self, lines: bool, out: &mut String) -> Result<(), Failure> {
        let Some(c) = self.rest().chars().next() else { return Err(self.wrong("a text does not end")) };
        if lines && matches!(c, ' ' | '\t' | '\r' | '\n') {
            let gap = self.skip_while(char::is_whitespace);
            return if gap.contains('\n') { Ok(()) } else { Err(self.wrong("a text holds an unknown escape")) };
        }
        self.at += c.len_utf8();
        let plain = match c {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            '"' | '\\' => c,
            'u' => return self.code_point(4, out),
            'U' => return self.code_point(8, out),
            _ => return Err(self.wrong("a text holds an unknown escape")),
        };
        out.push(plain);
        Ok(())
    }

    fn code_point(&mut self, digits: usize, out: &mut String) -> Result<(), Failure> {
        let code = self.rest().get(..digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let found = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        let found = found.ok_or_else(|| self.wrong("a text holds an unknown escape"))?;
        self.at += digits;
        out.push(found);
        Ok(())
    }

    fn literal(&mut self, end: &str) -> Result<String, Failure> {
        let lines = end.len() == 3;
        let rest = self.rest();
        let length = rest.find(end).ok_or_else(|| self.wrong("a text does not end"))?;
        let mut length = length;
        while lines && rest.get(length + 1..).is_some_and(|rest| rest.starts_with(end)) {
            length += 1;
        }
        let text = rest.get(..length).unwrap_or("");
        let control = |c: char| c < ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')) || c == '\u{7f}';
        if text.contains(control) {
            return Err(self.wrong("a text holds a control character"));
        }
        self.at += length + end.len();
        Ok(text.to_owned())
    }

    /// Reads a boolean, number or time.
    fn bare(&mut self) -> Result<Value, Failure> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_' | ':');
        let start = self.at;
        self.skip_while(fits);
        // A date may be followed by a space and a time.
        let is_date = self.at - start == 10 && self.text.get(start..self.at).is_some_and(|text| text.contains('-'));
        if is_date && self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit()) && self.take(" ") {
            self.skip_while(fits);
        }
        let text = self.text.get(start..self.at).unwrap_or("");
        match text {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "nan" | "+nan" | "-nan" => return Ok(Value::Float(f64::NAN)),
            "inf" | "+inf" => return Ok(Value::Float(f64::INFINITY)),
            "-inf" => return Ok(Value::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        let found = time(text).or_else(|| integer(text)).or_else(|| float(text));
        found.ok_or_else(|| self.wrong("a value is none that TOML knows"))
    }
}

fn time(text: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') && bytes.get(2) != Some(&b':') {
        return None;
    }
    let text = text.replace(['t', ' '], "T").replace('z', "Z");
    let kinds = [
        ("2006-01-02T15:04:05.999999999Z07:00", ""),
        ("2006-01-02T15:04:05.999999999", "datetime-local"),
        ("2006-01-02", "date-local"),
        ("15:04:05.999999999", "time-local"),
    ];
    kinds.into_iter().find_map(|(layout, kind)| {
        let time = parse_time(layout, &text, Zone::Utc).ok()?;
        let zone = if kind.is_empty() { time.zone.clone() } else { Zone::Fixed(kind.into(), 0) };
        Some(Value::Named(Named::Time(Time { zone, ..time })))
    })
}

/// Returns the digits without the lines between them, if each stands between two digits.
fn without_lines(digits: &str) -> Option<String> {
    let apart = digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    apart.then(|| digits.replace('_', ""))
}

fn integer(text: &str) -> Option<Value> {
    for (mark, base) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(mark) {
            return i64::from_str_radix(&without_lines(digits)?, base).ok().map(Value::Int64);
        }
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = without_lines(digits)?;
    if plain.len() > 1 && plain.starts_with('0') || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    format!("{sign}{plain}").parse().ok().map(Value::Int64)
}

fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if exponent.is_none() && fraction.is_none() {
        return None;
    }
    let digits = |part: &str| without_lines(part).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = digits(whole)?;
    if plain.len() > 1 && plain.starts_with('0') {
        return None;
    }
    if let Some(fraction) = fraction {
        digits(fraction)?;
    }
    if let Some(exponent) = exponent {
        digits(exponent)?;
    }
    text.replace('_', "").parse().ok().map(Value::Float)
}
