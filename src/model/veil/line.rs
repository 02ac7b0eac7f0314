//! Pure. Which parts of one line are secrets.
//!
//! Where a value ends is told by what it stands in: quotes, a connection string, a query, a flow of YAML or JSON. What cannot be told is hidden
//! to the end of the line. Not here: values over several lines (`text.rs`).

use std::ops::Range;

use super::shapes::shapes;
use super::text::hides;
use super::words::words;
use super::{
    Hiding, MAX_NAME, NAMED, NAMING, Part, Veil, is_credential, is_hidden, is_placeholder, is_secret_flag,
    is_secret_name, is_told,
};

/// A value that goes on in the lines that follow.
pub(super) enum Opened {
    /// Up to a mark.
    Until {
        /// What ends it.
        closing: String,
        /// What it is called.
        name: String,
    },
    /// As long as lines stand further in.
    Indented {
        /// Spaces before the line that names it.
        than: usize,
        /// What it is called.
        name: String,
    },
}

/// What a line holds.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) parts: Vec<Part>,
    /// A value that does not end in it.
    pub(super) opened: Option<Opened>,
    /// What the next value is called.
    pub(super) label: Option<String>,
}

/// How the hash of a password begins in a file of users.
const HASHES: [&str; 9] = ["$2y$", "$2a$", "$2b$", "$apr1$", "$1$", "$5$", "$6$", "$argon2", "{SHA}"];
/// Returns whether a name is one of a secret that nobody asked to see.
pub(super) fn is_secret(name: &str, veil: &Veil) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && is_secret_name(name) && hides(name, Hiding::Shown, veil)
}

pub(super) fn part(name: &str, span: Range<usize>) -> Part {
    Part { name: name.to_owned(), span }
}

/// Returns what a line holds; `label` is what the line before called the next value.
pub(super) fn seen(line: &str, (label, is_netrc): (Option<&str>, &mut bool), veil: &Veil) -> Seen {
    if let Some(mut seen) = assignment(line, veil) {
        seen.parts.extend(shapes(line));
        return seen;
    }
    let mut seen = Seen::default();
    seen.parts.extend(shapes(line));
    seen.parts.extend(label.and_then(|label| next_item(line, label, veil)));
    seen.parts.extend(super::userinfos(line).into_iter().map(|span| part("address", span)));
    seen.parts.extend(super::queries(line, veil));
    pairs(line, label, veil, &mut seen);
    elements(line, label, veil, &mut seen);
    words(line, is_netrc, veil, &mut seen);
    seen.parts.extend(columns(line));
    seen.parts.extend(quoted(line, veil));
    seen.label = seen.label.take().or_else(|| leads_on(line, veil));
    seen
}

/// Returns what a line assigns to a secret name that it begins with.
fn assignment(line: &str, veil: &Veil) -> Option<Seen> {
    let sign = line.find(['=', ':'])?;
    let head = line.get(..sign)?;
    let name = head.trim().trim_start_matches("- ").trim_start_matches("export ").trim_start_matches("set ");
    // A comment holds what was an assignment once.
    let name = name.trim_start_matches(['/', ';', '*', '#', ' ', '\t']);
    let name = name.trim_matches(|c: char| c == '"' || c == '\'' || c == '#' || c.is_whitespace());
    // `+=` and `?=` add to a value and give one that is missing.
    let name = name.trim_end_matches(['+', '?']).trim_end();
    if !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) || !is_secret(name, veil) {
        return None;
    }
    let rest = behind_properties(without_sign(line.get(sign..)?));
    let start = line.len() - rest.len();
    let indent = head.len() - head.trim_start().len();
    let mut seen = Seen::default();
    let goes_on = Some(Opened::Indented { than: indent, name: name.to_owned() });
    let plain = rest.trim_start_matches(['"', '\'']);
    let quote = rest.get(..rest.len() - plain.len()).unwrap_or_default();
    if rest.is_empty() || is_block(rest) {
        seen.opened = goes_on;
    } else if let Some(mark) = heredoc(rest) {
        seen.opened = Some(Opened::Until { closing: mark.to_owned(), name: name.to_owned() });
    } else if is_placeholder(rest) || rest.starts_with('*') {
        // A placeholder and an alias say nothing of the value.
    } else if rest.starts_with(['[', '{']) && !rest.starts_with("{{") {
        seen.parts = flow(line, start, name, veil);
        seen.opened = if rest.contains([']', '}']) { None } else { goes_on };
    } else if matches!(quote, "\"" | "'" | "\"\"\"" | "'''") && !plain.contains(quote) {
        let value = plain.trim_end_matches(' ');
        seen.parts.push(part(name, line.len() - plain.len()..line.len() - plain.len() + value.len()));
        seen.opened = Some(Opened::Until { closing: quote.to_owned(), name: name.to_owned() });
    } else {
        let value = plain.trim_end_matches([' ', ',', '"', '\'', ';']);
        let start = line.len() - plain.len();
        seen.parts.extend(is_value_of(name, value).then(|| part(name, start..start + value.len())));
    }
    Some(seen)
}

/// Returns what follows a sign such as `=`, `:=` or `=>`.
fn without_sign(text: &str) -> &str {
    let rest = text.trim_start_matches([':', '=']);
    let rest = if text.starts_with('=') { rest.trim_start_matches('>') } else { rest };
    rest.trim_start()
}

/// Returns a value of YAML behind its anchor and its tag.
fn behind_properties(mut rest: &str) -> &str {
    while rest.starts_with(['&', '!']) {
        rest = rest.split_once(' ').map_or("", |(_, value)| value.trim_start());
    }
    rest
}

/// Returns whether a text of several lines follows.
fn is_block(rest: &str) -> bool {
    rest.starts_with(['|', '>']) && rest.chars().skip(1).all(|c| c.is_ascii_digit() || matches!(c, '-' | '+'))
}

/// Returns the mark that ends a text which a shell or HCL reads from the lines that follow.
fn heredoc(rest: &str) -> Option<&str> {
    let (before, mark) = rest.split_once("<<")?;
    let mark = mark.trim_start_matches('-').trim().trim_matches(['"', '\'', '\\']);
    let is_mark = !mark.is_empty() && mark.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_mark && matches!(before.trim(), "" | "$(cat" | "`cat" | "\"$(cat")).then_some(mark)
}

/// Returns what is hidden of a line behind one that names a secret and holds nothing else: an item behind a flag, a value behind `? name`.
fn next_item(line: &str, label: &str, veil: &Veil) -> Option<Part> {
    let inner = line.trim_start();
    let begin = if label.starts_with('-') { "- " } else { ": " };
    let is_next = inner.starts_with(begin) || (label.starts_with('-') && inner.starts_with(['"', '\'']));
    let text = inner.strip_prefix(begin).unwrap_or(inner);
    let at = line.len() - text.len();
    if is_next { piece(text, at, label, veil) } else { None }
}

/// Returns the name that the next line gives a value to, where this line holds nothing else.
fn leads_on(line: &str, veil: &Veil) -> Option<String> {
    let inner = line.trim();
    if let Some(key) = inner.strip_prefix("? ") {
        return is_secret(key.trim(), veil).then(|| key.trim().to_owned());
    }
    let word = inner.strip_prefix("- ").unwrap_or(inner).trim_end_matches(',').trim_matches(['"', '\'']);
    (word.len() < inner.len() && is_secret_flag(word) && is_secret(word, veil)).then(|| word.to_owned())
}

pub(super) fn is_value(value: &str) -> bool {
    !matches!(value, "null" | "~" | "true" | "false") && !is_placeholder(value) && is_hidden(Hiding::Below, value)
}

fn is_value_of(name: &str, value: &str) -> bool {
    is_value(value) && !is_told(name, value)
}

/// Returns what is hidden of a line that stands below the name of a secret.
pub(super) fn below(line: &str, name: &str, veil: &Veil) -> Vec<Part> {
    piece(line, 0, name, veil).into_iter().collect()
}

/// Returns what is hidden of one entry, such as `- x`, `"x",` or `key: x`.
fn piece(text: &str, at: usize, above: &str, veil: &Veil) -> Option<Part> {
    let noise = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | ';');
    let inner = text.trim_start_matches(noise);
    let inner = inner.strip_prefix("- ").unwrap_or(inner);
    let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let key = inner.split_once([':', '=']).map(|(key, rest)| (key.trim().trim_matches(['"', '\'']), rest));
    let (name, inner) = match key {
        Some((key, rest)) if is_key(key) && !rest.starts_with("//") => (key, rest),
        Some(_) | None => (above, inner),
    };
    let hiding = if name == above { Hiding::Below } else { veil.below(Hiding::Below, name, None) };
    let value = inner.trim_start_matches(noise);
    let start = at + text.len() - value.len();
    let value = value.trim_end_matches(noise);
    let is_comment = value.starts_with('#')
        || value.starts_with("{{") && value.ends_with("}}")
        || matches!(value, "-" | "|" | "|-" | ">" | ">-");
    (hiding == Hiding::Below && !is_comment && is_value_of(name, value)).then(|| part(name, start..start + value.len()))
}

/// Returns what is hidden of a list or a map that begins at a place of a line.
fn flow(line: &str, start: usize, name: &str, veil: &Veil) -> Vec<Part> {
    let rest = line.get(start..).unwrap_or_default();
    let end = rest.find([']', '}']).unwrap_or(rest.len());
    let mut at = start;
    let mut parts = Vec::new();
    for text in rest.get(..end).unwrap_or_default().split_inclusive(',') {
        parts.extend(piece(text, at, name, veil));
        at += text.len();
    }
    parts
}

/// A name and its value within a line.
struct Pair<'a> {
    name: &'a str,
    value: Range<usize>,
    is_flow: bool,
}

fn pairs(line: &str, label: Option<&str>, veil: &Veil, seen: &mut Seen) {
    let pairs: Vec<Pair<'_>> = line.match_indices(['=', ':']).filter_map(|(sign, _)| pair(line, sign)).collect();
    let text = |span: &Range<usize>| line.get(span.clone()).unwrap_or_default();
    let labels: Vec<&Pair<'_>> = pairs.iter().filter(|pair| NAMING.contains(&pair.name)).collect();
    // What is called by a key beside it stands in the same braces or the same element.
    let beside = |value: &Range<usize>| {
        labels.iter().map(|label| &label.value).find(|label| {
            let between = label.end.min(value.end)..label.start.max(value.start);
            !text(&between).contains(['{', '}', '<'])
        })
    };
    let own = labels.iter().map(|label| text(&label.value)).find(|name| is_secret(name, veil));
    let is_named = |name: &str| NAMED.iter().any(|known| name.eq_ignore_ascii_case(known));
    for Pair { name, value, is_flow } in &pairs {
        let called = if is_named(name) { beside(value).map(text).or(label).unwrap_or(name) } else { name };
        if !is_secret(called, veil) && (*is_flow || !is_credential(called, text(value))) {
            continue;
        }
        match is_flow {
            true => seen.parts.extend(flow(line, value.start, called, veil)),
            false => seen.parts.extend(is_value_of(called, text(value)).then(|| part(called, value.clone()))),
        }
    }
    let has_value = pairs.iter().any(|pair| is_named(pair.name));
    seen.label = own.filter(|_| !has_value).map(str::to_owned);
}

/// Returns a quote at the begin of a text, with what escapes it.
fn quote(text: &str) -> Option<&str> {
    let marks = text.len() - text.trim_start_matches('\\').len();
    text.get(marks..)?.starts_with(['"', '\'']).then(|| text.get(..=marks)).flatten()
}

/// Returns where a quote ends, which one that is escaped does not.
fn closing(inner: &str, mark: &str) -> Option<usize> {
    let mut places = inner.match_indices(mark).map(|(at, _)| at);
    places.find(|at| !inner.get(..*at).unwrap_or_default().ends_with('\\'))
}

/// Returns the name before a sign and the value behind it.
fn pair(line: &str, sign: usize) -> Option<Pair<'_>> {
    let (before, after) = (line.get(..sign)?, line.get(sign + 1..)?);
    let is_colon = line.get(sign..)?.starts_with(':');
    if after.starts_with('=') || before.ends_with(['=', '!', '<', '>', ':']) || (is_colon && after.starts_with("//")) {
        return None;
    }
    let head = before.trim_end();
    // Code writes `x['password'] = …`.
    let head = head
        .strip_suffix("']")
        .or_else(|| head.strip_suffix("\"]"))
        .map_or(head, |bare| head.get(..=bare.len()).unwrap_or(bare));
    let bare = head.trim_end_matches(['"', '\'']).trim_end_matches('\\');
    let is_quoted = bare.len() < head.len();
    let outside = bare.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let mut name = bare.get(outside.len()..)?;
    // Of `\npassword` the first letter belongs to the end of the line before.
    if !is_quoted && outside.ends_with('\\') && name.starts_with(['n', 't', 'r']) {
        name = name.get(1..)?;
    }
    let opener = outside.chars().next_back();
    let is_closed = opener.is_none_or(|c| matches!(c, '{' | ',' | '[' | '(' | '"' | '\'' | '\\'));
    let is_in_flow = is_closed || outside.trim_end().ends_with(['{', ',', '[']);
    if name.is_empty() || (is_colon && !is_quoted && !is_in_flow) {
        return None;
    }
    let rest = after.trim_start_matches('>').trim_start();
    let start = line.len() - rest.len();
    let (start, len, is_flow) = match quote(rest) {
        Some(mark) => {
            let inner = rest.get(mark.len()..)?;
            (start + mark.len(), closing(inner, mark).unwrap_or(inner.len()), false)
        }
        None if rest.starts_with(['[', '{']) && !rest.starts_with("{{") => (start, rest.len(), true),
        None => (start, unquoted(rest, opener.filter(|_| !is_quoted)), false),
    };
    Some(Pair { name, value: start..start + len, is_flow })
}

/// Returns how long a value is that has no quotes of its own.
fn unquoted(rest: &str, opener: Option<char>) -> usize {
    let until = |ends: &[char]| rest.find(ends).unwrap_or(rest.len());
    let escaped_line = rest.find("\\n").unwrap_or(rest.len());
    let semicolon = until(&[';', '"', '\'']);
    let is_connection =
        opener == Some(';') || rest.get(semicolon..).is_some_and(|more| more.starts_with(';') && more.contains('='));
    let len = match opener {
        // The quote that the name stands in ends the value as well.
        Some(mark @ ('"' | '\'')) => until(&[mark]),
        _ if is_connection => semicolon,
        _ => rest.find(|c: char| c.is_whitespace() || ",;&\"'<>)}]|".contains(c)).unwrap_or(rest.len()),
    };
    let cut = len.min(escaped_line);
    let len = if rest
        .get(cut + 2..)
        .is_some_and(|more| more.is_empty() || more.contains('=') || more.starts_with(['"', '[']))
    {
        cut
    } else {
        len
    };
    rest.get(..len).map_or(len, |value| value.trim_end().trim_end_matches('\\').len())
}

/// Notes texts of elements such as `<password>x</password>`, and of those that are named by the element before or by an attribute.
fn elements(line: &str, label: Option<&str>, veil: &Veil, seen: &mut Seen) {
    let mut label = label.map(str::to_owned);
    for (at, _) in line.match_indices('<') {
        let rest = line.get(at + 1..).unwrap_or_default();
        let Some((inside, text)) = rest.split_once('>') else { continue };
        let tag = inside.split(char::is_whitespace).next().unwrap_or_default();
        let local = tag.rsplit(':').next().unwrap_or_default();
        if tag.is_empty() || tag.starts_with(['/', '!', '?']) || inside.ends_with('/') {
            continue;
        }
        let start = line.len() - text.len();
        let end = match text.strip_prefix("<![CDATA[") {
            Some(data) => data.find("]]>").map(|end| end + "<![CDATA[".len() + 3),
            None => text.find("</"),
        };
        let attribute = seen.label.clone();
        let named = || label.clone().filter(|_| matches!(local, "value" | "string"));
        let name = is_secret(local, veil).then(|| local.to_owned()).or(attribute).or_else(named);
        match (name, end) {
            (Some(name), Some(end)) => seen
                .parts
                .extend(is_value(text.get(..end).unwrap_or_default()).then(|| part(&name, start..start + end))),
            // Somebody who writes about `<password>` goes on with a blank.
            (Some(name), None) if line.trim_start().starts_with('<') && !text.starts_with(char::is_whitespace) => {
                seen.parts.push(part(&name, start..line.len()));
                seen.opened = Some(Opened::Until { closing: format!("</{tag}"), name });
            }
            (None, Some(end)) if matches!(local, "name" | "key") => {
                let called = text.get(..end).unwrap_or_default();
                label = is_secret(called, veil).then(|| called.to_owned());
                seen.label.clone_from(&label);
            }
            (Some(_) | None, _) => {}
        }
    }
}

/// Returns the password of a line of `.pgpass`, and the hash of one of a file of users.
fn columns(line: &str) -> Option<Part> {
    let text = line.trim();
    let at = line.len() - line.trim_start().len();
    if text.contains(char::is_whitespace) {
        return None;
    }
    if let Some((user, hash)) =
        text.split_once(':').filter(|(_, hash)| HASHES.iter().any(|begin| hash.starts_with(begin)))
    {
        return Some(part("password", at + user.len() + 1..at + user.len() + 1 + hash.len()));
    }
    let columns: Vec<&str> = text.splitn(5, ':').collect();
    let [host, port, database, user, password] = columns.as_slice() else { return None };
    let is_port = *port == "*" || (!port.is_empty() && port.chars().all(|c| c.is_ascii_digit()));
    let is_word =
        |text: &str| text == "*" || text.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit());
    let is_line =
        is_port && !host.is_empty() && !database.is_empty() && (is_word(user) || is_word(database)) && !user.is_empty();
    (is_line && is_value(password)).then(|| part("password", at + text.len() - password.len()..at + text.len()))
}

/// Returns quoted words behind the name of a secret, as code writes them: `setPassword("x")`, `define('DB_PASSWORD', 'x')`, `PASSWORD 'x'`.
fn quoted(line: &str, veil: &Veil) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(open) = line.get(at..).and_then(|rest| rest.find(['"', '\''])).map(|found| at + found) {
        let mark = line.get(open..=open).unwrap_or_default();
        let inner = line.get(open + 1..).unwrap_or_default();
        let Some(end) = closing(inner, mark) else { break };
        let before = line.get(..open).unwrap_or_default();
        let (value, next) = (inner.get(..end).unwrap_or_default(), open + 1 + end + 1);
        if let Some(name) = name_before(before).filter(|name| is_secret(name, veil) && is_value_of(name, value)) {
            parts.push(part(name, open + 1..open + 1 + end));
        }
        at = next;
    }
    parts
}

/// Returns the name that code gives a quoted word to.
fn name_before(before: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let trimmed = before.trim_end();
    // The first argument of a call names the second one.
    if let Some(first) = trimmed.strip_suffix(',').map(str::trim_end) {
        let bare = first.strip_suffix(['"', '\''])?;
        let name = bare.rsplit(['"', '\'']).next()?;
        let call = bare.get(..bare.len() - name.len() - 1)?;
        return (call.ends_with('(') && name.chars().all(is_of_name)).then_some(name);
    }
    let head = trimmed.strip_suffix('(').or_else(|| (trimmed.len() < before.len()).then_some(trimmed))?;
    let outside = head.trim_end_matches(is_of_name);
    head.get(outside.len()..)
}
