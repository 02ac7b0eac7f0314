//! Pure. Regular expressions: `regexp.*`, in Go's syntax.
//!
//! Not here: matching itself, which is linear in the text (crate `regex`).

use regex::{Regex, RegexBuilder};

use super::conv::{to_int, to_text};
use super::{Function, Parameter, at, fixed, variadic};
use crate::template::failure::Failure;
use crate::template::limits::{Budget, MAX_PATTERN_BYTES, MAX_PATTERN_PROGRAM_BYTES};
use crate::template::value::{Element, List, Value};

const TWO: &[Parameter] = &[Parameter::Any, Parameter::Any];
const THREE: &[Parameter] = &[Parameter::Any, Parameter::Any, Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("Find", &[], TWO, |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        Ok(Value::text(compile(at(values, 0), budget)?.find(&text).map_or("", |found| found.as_str())))
    }),
    variadic("FindAll", &[], &[], |values, budget| {
        let (pattern, count, text) = with_count("FindAll", values, budget)?;
        let found: Vec<_> = pattern.find_iter(&text).take(count).map(|found| found.as_str()).collect();
        budget.elements(found.len())?;
        Ok(if found.is_empty() { Value::List(List::nil(Element::Text)) } else { Value::texts(found) })
    }),
    fixed("Match", &[], TWO, |values, budget| {
        let text = to_text(at(values, 1), budget)?;
        Ok(Value::Bool(compile(at(values, 0), budget)?.is_match(&text)))
    }),
    fixed("QuoteMeta", &[], &[Parameter::Any], |values, budget| {
        let mut out = String::new();
        for c in to_text(at(values, 0), budget)?.chars() {
            if "\\.+*?()|[]{}^$".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
        Ok(Value::text(out))
    }),
    fixed("Replace", &[], THREE, |values, budget| replace(values, budget, Template::Expanded)),
    fixed("ReplaceLiteral", &[], THREE, |values, budget| replace(values, budget, Template::Literal)),
    variadic("Split", &[], &[], split),
];

fn compile(pattern: &Value, budget: &mut Budget) -> Result<Regex, Failure> {
    let pattern = to_text(pattern, budget)?;
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Failure::call(format!("the expression has more than {MAX_PATTERN_BYTES} bytes")));
    }
    // Compiling costs far more than its bytes.
    budget.steps(1_000 + pattern.len())?;
    let malformed = || Failure::call("the expression is malformed or too large");
    RegexBuilder::new(&from_go(&pattern).ok_or_else(malformed)?)
        .size_limit(MAX_PATTERN_PROGRAM_BYTES)
        .dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES)
        .build()
        .map_err(|_| malformed())
}

/// Rewrites what Go and the regex crate read differently: Go's classes are ASCII, a set has no operators, and a brace that begins no
/// repetition means itself. Returns none for a repetition of a repetition, such as `a**`, which only Go refuses.
fn from_go(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern.chars().peekable();
    let (mut set, mut is_repeated) = (false, false);
    while let Some(c) = rest.next() {
        let was_repeated = std::mem::take(&mut is_repeated);
        match c {
            '*' | '+' | '?' | '{' if !set => {
                let count = if c == '{' { repetition(rest.clone()) } else { Some(0) };
                let Some(count) = count else {
                    out.push_str("\\{");
                    continue;
                };
                if was_repeated {
                    return None;
                }
                out.push(c);
                out.extend(rest.by_ref().take(count));
                out.extend(rest.next_if_eq(&'?'));
                is_repeated = true;
            }
            '(' if !set => {
                out.push('(');
                // What follows says the kind of the group.
                out.extend(rest.next_if_eq(&'?'));
            }
            '\\' => escape(&mut rest, set, &mut out),
            '[' if set && rest.peek() == Some(&':') => out.push('['),
            '[' if !set => {
                set = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // The first bracket of a set means itself.
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            ':' if set
                && rest.peek() == Some(&']')
                && out.rfind("[:").is_some_and(|open| !out.get(open..).is_some_and(|text| text.contains(":]"))) =>
            {
                rest.next();
                out.push_str(":]");
            }
            ']' if set => {
                set = false;
                out.push(']');
            }
            '[' | '&' | '~' if set => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Rewrites what follows a backslash.
fn escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, set: bool, out: &mut String) {
    match rest.next() {
        Some('Q') => quote_literal(rest, out),
        Some(class @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => out.push_str(&ascii_class(class, set)),
        Some('b') if !set => out.push_str("(?-u:\\b)"),
        Some('B') if !set => out.push_str("(?-u:\\B)"),
        Some(escaped @ ('<' | '>')) => out.push(escaped),
        Some(named @ ('p' | 'P' | 'x')) if rest.peek() == Some(&'{') => {
            out.extend(['\\', named]);
            for c in rest.by_ref() {
                out.push(c);
                if c == '}' {
                    break;
                }
            }
        }
        Some(escaped) => out.extend(['\\', escaped]),
        None => out.push('\\'),
    }
}

/// Returns how many characters of `{n}`, `{n,}` or `{n,m}` follow the brace; none where it is not of these, or a number has a zero in front.
fn repetition(mut rest: std::iter::Peekable<std::str::Chars<'_>>) -> Option<usize> {
    let inside: String = rest.clone().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    let is_number = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'))
    };
    let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
    let is_repetition = is_number(least) && (most.is_empty() || is_number(most));
    (is_repetition && rest.nth(inside.len()) == Some('}')).then_some(inside.len() + 1)
}

fn quote_literal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = rest.next() {
        if c == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

fn ascii_class(class: char, set: bool) -> String {
    let members = match class.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        _ => "\\t\\n\\x0c\\r ",
    };
    match (class.is_ascii_uppercase(), set) {
        (true, _) => format!("[^{members}]"),
        (false, true) => members.to_owned(),
        (false, false) => format!("[{members}]"),
    }
}

/// Returns expression, count and text; without count all matches are wanted.
fn with_count(name: &str, values: &[Value], budget: &mut Budget) -> Result<(Regex, usize, std::rc::Rc<str>), Failure> {
    let (pattern, count, text) = match values {
        [pattern, text] => (pattern, -1, text),
        [pattern, count, text] => (pattern, to_int(count)?, text),
        _ => return Err(Failure::new("T203", format!("{name} wants 2 or 3 arguments and gets {}", values.len()))),
    };
    Ok((compile(pattern, budget)?, usize::try_from(count).unwrap_or(usize::MAX), to_text(text, budget)?))
}

/// Splits as Go does: an empty match at the start splits nothing off.
fn split(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (pattern, count, text) = with_count("Split", values, budget)?;
    if count == 0 {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    if !pattern.as_str().is_empty() && text.is_empty() {
        return Ok(Value::texts([""]));
    }
    let mut pieces = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in pattern.find_iter(&text) {
        if pieces.len() + 1 == count {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            pieces.push(text.get(begin..end).unwrap_or(""));
        }
        begin = found.end();
    }
    if end != text.len() {
        pieces.push(text.get(begin..).unwrap_or(""));
    }
    budget.elements(pieces.len())?;
    Ok(Value::texts(pieces))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Template {
    /// `$1` and `${name}` stand for groups.
    Expanded,
    Literal,
}

fn replace(values: &[Value], budget: &mut Budget, template: Template) -> Result<Value, Failure> {
    let pattern = compile(at(values, 0), budget)?;
    let replacement = to_text(at(values, 1), budget)?;
    let text = to_text(at(values, 2), budget)?;
    let mut out = String::new();
    let mut copied = 0;
    for groups in pattern.captures_iter(&text) {
        budget.steps(1)?;
        let Some(found) = groups.get(0) else { continue };
        out.push_str(text.get(copied..found.start()).unwrap_or(""));
        match template {
            Template::Expanded => groups.expand(&replacement, &mut out),
            Template::Literal => out.push_str(&replacement),
        }
        copied = found.end();
        if out.len() > crate::template::limits::MAX_TEXT_BYTES {
            budget.text(out.len())?;
        }
    }
    out.push_str(text.get(copied..).unwrap_or(""));
    Ok(Value::text(out))
}

#[cfg(test)]
mod tests {
    use super::from_go;

    #[test]
    fn classes_are_ascii_and_sets_have_no_operators() {
        for (go, expected) in [
            (r"\d+\.\w", r"[0-9]+\.[0-9A-Za-z_]"),
            (r"[\d-]", r"[0-9-]"),
            (r"[a&&b[]", r"[a\&\&b\[]"),
            (r"[[:alpha:]_]", r"[[:alpha:]_]"),
            (r"[]a]", r"[\]a]"),
            (r"\Qa.b\E+", r"a\.b+"),
            (r"\bx", r"(?-u:\b)x"),
        ] {
            assert_eq!(from_go(go).as_deref(), Some(expected), "{go}");
        }
    }

    #[test]
    fn a_brace_that_begins_no_repetition_means_itself() {
        for (go, expected) in [
            (r"a{2}b{2,}c{2,3}?", r"a{2}b{2,}c{2,3}?"),
            (r"{}", r"\{}"),
            (r"a{,3}", r"a\{,3}"),
            (r"a{ 2}", r"a\{ 2}"),
            (r"a{02}", r"a\{02}"),
            (r"a{2", r"a\{2"),
            (r"a*{b", r"a*\{b"),
            (r"[{2}]", r"[{2}]"),
            (r"\p{Greek}\x{41}\{2\}", r"\p{Greek}\x{41}\{2\}"),
            (r"(?P<n>a*)*", r"(?P<n>a*)*"),
        ] {
            assert_eq!(from_go(go).as_deref(), Some(expected), "{go}");
        }
    }

    #[test]
    fn a_repetition_of_a_repetition_is_refused() {
        for go in ["a**", "a*+", "a+?*", "a{2}{3}", "a???"] {
            assert_eq!(from_go(go), None, "{go}");
        }
    }
}
