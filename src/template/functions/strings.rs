//! Pure. Functions on texts: `strings.*` and their short names, also the old ones that take the text first.
//!
//! Not here: capitals of words (`letters.rs`), regular expressions (`regexp.rs`).

use super::conv::{to_text, to_texts};
use super::{Function, Parameter, at, fixed, integer_at, text_at, variadic};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::quote::{Charset, quote};
use crate::template::value::{Element, List, Value};

mod letters;
mod words;

const ANY: &[Parameter] = &[Parameter::Any];
const TEXT_ANY: &[Parameter] = &[Parameter::Text, Parameter::Any];
const TWO_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    variadic("Abbrev", &[], &[], words::abbreviate),
    fixed("CamelCase", &[], ANY, |values, budget| on_text(values, budget, letters::camel_case)),
    fixed("Contains", &[], TEXT_ANY, |values, budget| test(values, budget, |text, part| text.contains(part))),
    fixed("HasPrefix", &[], TEXT_ANY, |values, budget| test(values, budget, |text, part| text.starts_with(part))),
    fixed("HasSuffix", &[], TEXT_ANY, |values, budget| test(values, budget, |text, part| text.ends_with(part))),
    variadic("Indent", &["indent"], &[], indent),
    fixed("KebabCase", &[], ANY, |values, budget| on_text(values, budget, |text| letters::separated(text, "-"))),
    fixed("Quote", &["quote"], ANY, |values, budget| on_text(values, budget, |text| Ok(quote(text, Charset::Unicode)))),
    fixed("Repeat", &[], &[Parameter::Integer, Parameter::Any], repeat),
    fixed("ReplaceAll", &["replaceAll"], &[Parameter::Text, Parameter::Text, Parameter::Any], replace_all),
    fixed("Slug", &[], ANY, |values, budget| on_text(values, budget, words::slug)),
    variadic("RuneCount", &[], &[], |values, budget| {
        let texts = to_texts(values, budget)?;
        Ok(Value::count(texts.iter().map(|text| text.chars().count()).sum()))
    }),
    fixed("ShellQuote", &["shellQuote"], ANY, shell_quote),
    fixed("SkipLines", &[], &[Parameter::Integer, Parameter::Text], skip_lines),
    fixed("SnakeCase", &[], ANY, |values, budget| on_text(values, budget, |text| letters::separated(text, "_"))),
    fixed("Sort", &[], ANY, sort),
    fixed("Split", &[], TEXT_ANY, |values, budget| {
        split_text(&to_text(at(values, 1), budget)?, text_at(values, 0), -1, budget)
    }),
    fixed("SplitN", &[], &[Parameter::Text, Parameter::Integer, Parameter::Any], |values, budget| {
        split_text(&to_text(at(values, 2), budget)?, text_at(values, 0), integer_at(values, 1), budget)
    }),
    fixed("Squote", &["squote"], ANY, |values, budget| {
        on_text(values, budget, |text| Ok(format!("'{}'", text.replace('\'', "''"))))
    }),
    fixed("Title", &["title"], ANY, |values, budget| on_text(values, budget, |text| Ok(letters::title(text)))),
    fixed("ToLower", &["toLower"], ANY, |values, budget| on_text(values, budget, |text| Ok(text.to_lowercase()))),
    fixed("ToUpper", &["toUpper"], ANY, |values, budget| on_text(values, budget, |text| Ok(text.to_uppercase()))),
    fixed("Trim", &[], TEXT_ANY, |values, budget| trim(values, budget, Sides::Both)),
    fixed("TrimLeft", &[], TEXT_ANY, |values, budget| trim(values, budget, Sides::Left)),
    fixed("TrimPrefix", &[], TEXT_ANY, |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        Ok(Value::text(text.strip_prefix(text_at(values, 0)).unwrap_or(&text)))
    }),
    fixed("TrimRight", &[], TEXT_ANY, |values, budget| trim(values, budget, Sides::Right)),
    fixed("TrimSpace", &["trimSpace"], ANY, |values, budget| {
        on_text(values, budget, |text| Ok(text.trim().to_owned()))
    }),
    fixed("TrimSuffix", &[], TEXT_ANY, |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        Ok(Value::text(text.strip_suffix(text_at(values, 0)).unwrap_or(&text)))
    }),
    fixed("Trunc", &[], &[Parameter::Integer, Parameter::Any], |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        match usize::try_from(integer_at(values, 0)) {
            Ok(length) if length < text.len() => cut(&text, 0, length).map(Value::text),
            _ => Ok(Value::Text(text)),
        }
    }),
    variadic("WordWrap", &[], &[], words::wrap),
];

/// The old short names that take the text first.
pub(super) const LEGACY: &[Function] = &[
    fixed("contains", &[], TWO_TEXTS, |values, _| Ok(Value::Bool(text_at(values, 0).contains(text_at(values, 1))))),
    fixed("hasPrefix", &[], TWO_TEXTS, |values, _| Ok(Value::Bool(text_at(values, 0).starts_with(text_at(values, 1))))),
    fixed("hasSuffix", &[], TWO_TEXTS, |values, _| Ok(Value::Bool(text_at(values, 0).ends_with(text_at(values, 1))))),
    fixed("split", &[], TWO_TEXTS, |values, budget| split_text(text_at(values, 0), text_at(values, 1), -1, budget)),
    fixed("splitN", &[], &[Parameter::Text, Parameter::Text, Parameter::Integer], |values, budget| {
        split_text(text_at(values, 0), text_at(values, 1), integer_at(values, 2), budget)
    }),
    fixed("trim", &[], TWO_TEXTS, |values, _| {
        Ok(Value::text(trimmed(text_at(values, 0), text_at(values, 1), Sides::Both)))
    }),
];

fn on_text(
    values: &[Value],
    budget: &mut Budget,
    change: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<Value, Failure> {
    let text = to_text(at(values, 0), budget)?;
    Ok(Value::text(change(&text)?))
}

fn test(values: &[Value], budget: &mut Budget, test: impl FnOnce(&str, &str) -> bool) -> Result<Value, Failure> {
    let text = to_text(at(values, 1), budget)?;
    Ok(Value::Bool(test(&text, text_at(values, 0))))
}

/// Returns a part by bytes; a cut through a character is refused, because the result would be no text.
fn cut(text: &str, start: usize, end: usize) -> Result<&str, Failure> {
    text.get(start..end).ok_or_else(|| Failure::call("the text would be cut inside a character"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    Left,
    Right,
    Both,
}

fn trim(values: &[Value], budget: &mut Budget, sides: Sides) -> Result<Value, Failure> {
    let text = to_text(at(values, 1), budget)?;
    Ok(Value::text(trimmed(&text, text_at(values, 0), sides)))
}

fn trimmed<'a>(text: &'a str, characters: &str, sides: Sides) -> &'a str {
    let text = if sides == Sides::Right { text } else { text.trim_start_matches(|c| characters.contains(c)) };
    if sides == Sides::Left { text } else { text.trim_end_matches(|c| characters.contains(c)) }
}

/// Splits as Go does: an empty separator splits into characters, no count means all, zero means none.
fn split_text(text: &str, separator: &str, count: i64, budget: &mut Budget) -> Result<Value, Failure> {
    if count == 0 {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    budget.scan(text.len())?;
    let pieces = if separator.is_empty() { text.chars().count() } else { text.matches(separator).count() + 1 };
    budget.elements(pieces.min(limit))?;
    if !separator.is_empty() {
        return Ok(Value::texts(text.splitn(limit, separator)));
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if pieces.len() + 1 == limit {
            break;
        }
        let (piece, after) = rest.split_at(first.len_utf8());
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    Ok(Value::texts(pieces))
}

fn repeat(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let count = usize::try_from(integer_at(values, 0)).map_err(|_| Failure::call("the count is negative"))?;
    let text = to_text(at(values, 1), budget)?;
    budget.text(text.len().saturating_mul(count))?;
    Ok(Value::text(text.repeat(count)))
}

fn replace_all(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (old, new) = (text_at(values, 0), text_at(values, 1));
    let text = to_text(at(values, 2), budget)?;
    let found = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    budget.text(text.len().saturating_add(found.saturating_mul(new.len())))?;
    Ok(Value::text(text.replace(old, new)))
}

/// Indents each line that is not empty; takes `text`, `width or indent, text`, or `width, indent, text`.
fn indent(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let wrong =
        || Failure::call("the width must be a plain integer and the indent a text").hint("write ( … | conv.ToInt )");
    let (width, with) = match values {
        [Value::Text(indent), _] => (1, indent.to_string()),
        [Value::Int(width), _] => (*width, " ".to_owned()),
        [Value::Int(width), Value::Text(indent), _] => (*width, indent.to_string()),
        [_, _] | [_, _, _] => return Err(wrong()),
        [] => return Err(Failure::new("T203", "Indent wants at least 1 argument and gets 0")),
        _ => (1, " ".to_owned()),
    };
    let width = usize::try_from(width).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| Failure::call("the width must be above 0"))?;
    if with.contains('\n') {
        return Err(Failure::call("the indent must not hold a newline"));
    }
    let text = to_text(values.last().unwrap_or(&Value::Nil), budget)?;
    let added =
        text.split('\n').filter(|line| !line.is_empty()).count().saturating_mul(with.len().saturating_mul(width));
    budget.text(text.len().saturating_add(added))?;
    let with = with.repeat(width);
    let mut out = String::with_capacity(text.len() + added);
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            out.push_str(&with);
        }
        out.push_str(line);
    }
    Ok(Value::text(out))
}

fn skip_lines(values: &[Value], _: &mut Budget) -> Result<Value, Failure> {
    let count = usize::try_from(integer_at(values, 0)).map_err(|_| Failure::call("the number of lines is negative"))?;
    let mut rest = text_at(values, 1);
    for _ in 0..count {
        match rest.split_once('\n') {
            Some((_, after)) => rest = after,
            None => return Ok(Value::text("")),
        }
    }
    Ok(Value::text(rest))
}

fn shell_quote(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\"'\"'"));
    match at(values, 0) {
        Value::List(list) => {
            // gomplate quotes what Go calls the items, unless they are known to be texts.
            let name = match list.element() {
                Element::Text => None,
                element => Some(format!("<{} Value>", element.type_name())),
            };
            let items = to_texts(&list.items(), budget)?;
            let texts: Vec<&str> = items.iter().map(|item| name.as_deref().unwrap_or(item)).collect();
            budget.text(texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len())))?;
            Ok(Value::text(texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" ")))
        }
        value => Ok(Value::text(quoted(&to_text(value, budget)?))),
    }
}

fn sort(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    match at(values, 0) {
        Value::List(list) if matches!(list.element(), Element::Any | Element::Text) => {
            let mut texts = to_texts(&list.items(), budget)?;
            texts.sort();
            Ok(Value::texts(texts))
        }
        value => Err(Failure::call(format!("wants a list of texts and gets {}", value.noun()))),
    }
}
