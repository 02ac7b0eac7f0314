//! Pure. Names with a sign and a value within a line: `{"password": "x"}`, `password=x;`, `name="TOKEN" value="x"`, `# password: x`.
//!
//! Not here: a name at the begin of a line whose value is the rest of it (`line.rs`).

use std::ops::Range;

use super::code::PREFIXES;
use super::line::{Opened, Seen, flow, is_block, is_of_secrets, is_secret, matching, part, tells};
use super::markup::tag_at;
use super::quotes::{closing, quote};
use super::values::reference;
use super::words::is_prose;
use super::{NAMED, NAMING, Veil};

/// Bytes in which a connection string goes on behind a value; its entries are short.
const MAX_CONNECTION: usize = 1024;

/// A name and its sign within a line.
struct Named<'a> {
    name: &'a str,
    /// What stands before the name, where the value may need it to end.
    opener: Option<char>,
    /// What stands behind the sign.
    rest: &'a str,
    /// Whether the line begins with it.
    is_first: bool,
}

/// A name and its value within a line.
struct Pair<'a> {
    name: &'a str,
    value: Range<usize>,
    is_flow: bool,
    /// The quote that does not end in the line.
    opened: Option<&'a str>,
}

/// Notes the values of secret names of a line, and what the line says that a value beside it is called.
pub(super) fn of_line(line: &str, label: Option<&str>, veil: &Veil, seen: &mut Seen) {
    let pairs = pairs(line, veil);
    let text = |span: &Range<usize>| line.get(span.clone()).unwrap_or_default();
    let labels: Vec<&Pair<'_>> = pairs.iter().filter(|pair| NAMING.contains(&pair.name)).collect();
    // What is called by a key beside it stands in the same braces or the same element.
    let beside = |value: &Range<usize>| {
        let behind = labels.partition_point(|label| label.value.start < value.start);
        let near = [behind.checked_sub(1).and_then(|before| labels.get(before)), labels.get(behind)];
        near.into_iter().flatten().map(|label| &label.value).find(|label| {
            let between = label.end.min(value.end)..label.start.max(value.start);
            !text(&between).contains(['{', '}', '<'])
        })
    };
    for Pair { name, value, is_flow, opened } in &pairs {
        let around = || tag_at(line, value.start).filter(|tag| is_secret(tag, veil));
        let called = match is_named(name) {
            true => beside(value).map(text).or(label).or_else(around).unwrap_or(name),
            false => name,
        };
        if is_named(name) && called == *name {
            seen.unnamed.push(value.clone());
        }
        let behind = line.get(value.start..).unwrap_or_default();
        if behind.is_empty() && is_of_secrets(called, veil) {
            seen.opened = Some(Opened::Next { name: called.to_owned() });
        } else if is_block(behind) && is_of_secrets(called, veil) {
            let than = line.len() - line.trim_start().len();
            seen.opened = Some(Opened::Indented { than, name: called.to_owned() });
        } else if *is_flow && is_of_secrets(called, veil) {
            seen.parts.extend(flow(line, value.clone(), called, veil));
        } else if !is_flow && tells(called, text(value), veil) {
            seen.parts.push(part(called, value.clone()));
            let until = |mark: &&str| Opened::Until { closing: (*mark).to_owned(), name: called.to_owned() };
            seen.opened = seen.opened.take().or_else(|| opened.as_ref().map(until));
        }
    }
    let own = labels.iter().map(|label| text(&label.value)).find(|name| is_secret(name, veil));
    seen.is_other = own.is_none() && labels.iter().any(|pair| pair.name == "name");
    seen.has_value = pairs.iter().any(|pair| is_named(pair.name));
    seen.label = own.filter(|_| !seen.has_value).map(str::to_owned);
}

/// Returns whether a value of such a name is called by what stands beside it.
fn is_named(name: &str) -> bool {
    NAMED.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns the pairs of a line that matter: those of secrets, of values that are called by another pair, and of what calls them.
fn pairs<'a>(line: &'a str, veil: &Veil) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut covered = 0;
    for (sign, _) in line.match_indices(['=', ':']) {
        let named = named(line, sign).filter(|_| sign >= covered);
        let Some(pair) = named.map(|named| (is_secret(named.name, veil), named)).and_then(|(is_secret, named)| {
            let matters = is_secret || is_named(named.name) || NAMING.contains(&named.name);
            matters.then(|| valued(line, &named)).flatten()
        }) else {
            continue;
        };
        // What stands in the value of a secret is hidden with it.
        let value = line.get(pair.value.clone()).unwrap_or_default();
        if pair.is_flow && is_of_secrets(pair.name, veil) || tells(pair.name, value, veil) {
            covered = pair.value.end;
        }
        pairs.push(pair);
    }
    pairs
}

/// Returns the name before a sign.
fn named(line: &str, sign: usize) -> Option<Named<'_>> {
    let (before, after) = (line.get(..sign)?, line.get(sign + 1..)?);
    let is_colon = line.get(sign..)?.starts_with(':');
    let is_compared = after.starts_with('=') || before.ends_with(['=', '!', '<', '>', '~']);
    if is_compared || (is_colon && (after.starts_with(['/', ':']) || before.ends_with(':'))) {
        return None;
    }
    // `:=`, `+=` and `?=` give a value as well.
    let head = if is_colon { before } else { before.trim_end_matches([':', '+', '?']) }.trim_end();
    // Code writes `x['password'] = …`.
    let head = head.strip_suffix(']').filter(|head| head.ends_with(['"', '\''])).unwrap_or(head);
    let bare = head.trim_end_matches(['"', '\'']).trim_end_matches('\\');
    let is_quoted = bare.len() < head.len();
    let outside = bare.trim_end_matches(|c: char| c.is_alphanumeric() || "-_.".contains(c));
    let mut name = bare.get(outside.len()..)?;
    // Of `\npassword` the first letter belongs to the end of the line before.
    if !is_quoted && outside.ends_with('\\') && name.starts_with(['n', 't', 'r']) {
        name = name.get(1..)?;
    }
    let opener = outside.chars().next_back();
    let is_closed = opener.is_none_or(|c| matches!(c, '{' | ',' | '[' | '(' | '"' | '\'' | '\\'));
    let is_in_flow = is_closed || outside.trim_end().ends_with(['{', ',', '[']);
    let rest = after.trim_start_matches('>').trim_start();
    // Outside of a flow a name with a colon is one where a space follows.
    let is_spoken = is_colon && !is_quoted && !is_in_flow;
    let is_said = opener.is_some_and(char::is_whitespace) && after.starts_with([' ', '\t']);
    let is_about = || rest.split(char::is_whitespace).next().is_some_and(is_prose);
    let is_name = !name.is_empty() && (!is_spoken || (is_said && !is_about()));
    let is_first = outside.chars().all(|c| c.is_whitespace() || c == '-');
    is_name.then_some(Named { name, opener: opener.filter(|_| !is_quoted), rest, is_first })
}

/// Returns a name with the value behind its sign.
fn valued<'a>(line: &str, named: &Named<'a>) -> Option<Pair<'a>> {
    let rest = without_prefix(named.rest);
    let start = line.len() - rest.len();
    let mut opened = None;
    let (start, len, is_flow) = match quote(rest) {
        Some(mark) => {
            let inner = rest.get(mark.len()..)?;
            let end = closing(inner, mark);
            opened = Some(mark).filter(|_| end.is_none() && !inner.is_empty());
            (start + mark.len(), end.unwrap_or(inner.len()), false)
        }
        None if rest.starts_with(['[', '{']) && !rest.starts_with("{{") => {
            (start, matching(rest).unwrap_or(rest.len()), true)
        }
        None if rest.starts_with('(') => (start, matching(rest).unwrap_or(rest.len()), false),
        None if named.is_first => (start, rest.trim_end_matches([' ', ',', ';']).len(), false),
        None => (start, unquoted(rest, named.opener), false),
    };
    Some(Pair { name: named.name, value: start..start + len, is_flow, opened })
}

/// Returns a text without the letter that says how the quotes behind it are read.
fn without_prefix(text: &str) -> &str {
    text.strip_prefix(PREFIXES).filter(|rest| rest.starts_with(['"', '\''])).unwrap_or(text)
}

/// Returns how long a value is that has no quotes of its own.
fn unquoted(text: &str, opener: Option<char>) -> usize {
    let mut behind = 0;
    while let Some(len) = text.get(behind..).and_then(reference) {
        behind += len;
    }
    let rest = text.get(behind..).unwrap_or_default();
    let near = rest.get(..rest.floor_char_boundary(MAX_CONNECTION)).unwrap_or_default();
    let semicolon = near.find([';', '"', '\'']).unwrap_or(near.len());
    let goes_on = near.get(semicolon..).is_some_and(|more| more.starts_with(';') && more.contains('='));
    let is_fixed = match opener {
        Some('"' | '\'') => false,
        Some(';') => semicolon < near.len(),
        _ => goes_on,
    };
    let ends = |c: char| match opener {
        // The quote that the name stands in ends the value as well.
        Some(mark @ ('"' | '\'')) => c == mark,
        Some(';') => matches!(c, ';' | '"' | '\''),
        // Words of a command line end at a space alone.
        Some(before) if before.is_whitespace() => c.is_whitespace() || "\"'<".contains(c),
        _ => c.is_whitespace() || ",;&\"'<>)}]|".contains(c),
    };
    let value = rest.get(..if is_fixed { semicolon } else { rest.len() }).unwrap_or_default();
    let value = value.get(..end_of(value, |c| !is_fixed && ends(c))).unwrap_or_default();
    behind + value.trim_end().trim_end_matches('\\').len()
}

/// Returns where a value ends: at such a sign, or where a line ends within it, which is written as `\n` where the whole text is one in quotes.
fn end_of(text: &str, ends: impl Fn(char) -> bool) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(|c| c == '\\' || ends(c))).map(|found| at + found)
    {
        let Some(more) = text.get(found..).and_then(|rest| rest.strip_prefix("\\n")) else {
            if text.get(found..).is_some_and(|rest| rest.starts_with('\\')) {
                at = found + 1;
                continue;
            }
            return found;
        };
        let near = more.get(..more.floor_char_boundary(MAX_CONNECTION)).unwrap_or_default();
        if near.is_empty() || near.contains('=') || near.starts_with(['"', '[']) {
            return found;
        }
        return text.get(found..).and_then(|rest| rest.find(&ends)).map_or(text.len(), |end| found + end);
    }
    text.len()
}
