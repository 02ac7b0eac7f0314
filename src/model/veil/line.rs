//! Pure. Which parts of one line are secrets.
//!
//! Where a value ends is told by what it stands in: quotes, a connection string, a query, a flow of YAML or JSON. What cannot be told is hidden
//! to the end of the line. Not here: values over several lines (`text.rs`), what has no sign (`words.rs`, `code.rs`, `shapes.rs`).

use std::ops::Range;

use super::names::judged;
use super::quotes::{closing, quote};
use super::values::{Harmless, is_hidden};
use super::words::is_prose;
use super::{Hiding, MAX_NAME, Part, Veil, code, markup, pairs, shapes, words};

/// A value that goes on in the lines that follow.
pub(super) enum Opened {
    /// Up to a mark.
    Until {
        /// What ends it.
        closing: String,
        /// What it is called.
        name: String,
    },
    /// Up to a line that is a mark.
    Heredoc {
        /// What the last line says.
        mark: String,
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
    /// The text behind the tag that a line begins and a line behind ends.
    Tag {
        /// What it is called.
        name: String,
    },
    /// The next word or item.
    Next {
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
    /// Values that a line before or behind may call something.
    pub(super) unnamed: Vec<Range<usize>>,
    /// Whether it holds a value that is called by what stands beside it.
    pub(super) has_value: bool,
    /// Whether it calls a value something that is no secret.
    pub(super) is_other: bool,
}

/// Marks of comments and lists before a name.
const MARKS: [char; 9] = ['#', '/', ';', '*', '-', '?', '!', '<', '\u{feff}'];
/// Words before a name that declare it.
const DECLARING: [&str; 18] = [
    "export",
    "set",
    "let",
    "var",
    "const",
    "local",
    "declare",
    "readonly",
    "static",
    "final",
    "private",
    "public",
    "protected",
    "env",
    "ENV",
    "ARG",
    "string",
    "String",
];

/// Returns whether a name is one of a secret that nobody asked to see.
pub(super) fn is_secret(name: &str, veil: &Veil) -> bool {
    matches!(hiding(name, veil), Hiding::Below | Hiding::Unless(_))
}

/// Returns whether a value is one that nobody is shown by the name before it.
pub(super) fn tells(name: &str, value: &str, veil: &Veil) -> bool {
    is_hidden(hiding(name, veil), value)
}

fn hiding(name: &str, veil: &Veil) -> Hiding {
    if name.is_empty() || name.len() > MAX_NAME || judged(name).is_none() {
        return Hiding::Shown;
    }
    veil.below(Hiding::Shown, name, None)
}

/// Returns whether a name is one of a section or a list whose values are all secrets.
pub(super) fn is_of_secrets(name: &str, veil: &Veil) -> bool {
    matches!(hiding(name, veil), Hiding::Below | Hiding::Unless(Harmless::Count))
}

pub(super) fn part(name: &str, span: Range<usize>) -> Part {
    Part { name: name.to_owned(), span }
}

/// Returns what a line holds; `label` is what a line before called the next value.
pub(super) fn seen(line: &str, (label, is_netrc): (Option<&str>, &mut bool), veil: &Veil) -> Seen {
    if let Some(mut seen) = assignment(line, veil) {
        seen.parts.extend(shapes::of_line(line, veil));
        return seen;
    }
    let mut seen = Seen { parts: shapes::of_line(line, veil), ..Seen::default() };
    seen.opened = marked_key(line, veil);
    pairs::of_line(line, label, veil, &mut seen);
    markup::elements(line, label, veil, &mut seen);
    words::of_line(line, is_netrc, veil, &mut seen);
    seen.parts.extend(code::given(line, veil));
    seen
}

/// Returns what follows a key of YAML that stands on a line of its own: `? password`.
fn marked_key(line: &str, veil: &Veil) -> Option<Opened> {
    let inner = line.trim_start();
    let name = inner.strip_prefix("? ")?.trim().trim_matches(['"', '\'']);
    is_of_secrets(name, veil).then(|| Opened::Indented { than: line.len() - inner.len(), name: name.to_owned() })
}

/// Returns the name that a line begins with, behind marks and words that say nothing of it.
fn leading_name(head: &str) -> Option<&str> {
    let is_noise = |c: char| c.is_whitespace() || MARKS.contains(&c);
    let mut name = head.trim_start_matches(is_noise).trim_end();
    while let Some((_, rest)) = name.split_once(char::is_whitespace).filter(|(word, _)| DECLARING.contains(word)) {
        name = rest.trim_start();
    }
    // `+=` adds to a value, `?=` gives one that is missing.
    let name = name.trim_end_matches(['+', '?', ':', '|']).trim_end();
    let name = name.trim_matches(['"', '\'']);
    let is_of_name = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    (!name.is_empty() && name.chars().all(is_of_name)).then_some(name)
}

/// Returns what stands behind a sign, without properties of YAML: `&anchor`, `!tag`.
fn behind_sign(line: &str, sign: usize) -> &str {
    let rest = line.get(sign + 1..).unwrap_or_default();
    let is_colon = line.get(sign..).is_some_and(|sign| sign.starts_with(':'));
    let rest = if is_colon { rest.strip_prefix('=') } else { rest.strip_prefix(['=', '>']) }.unwrap_or(rest);
    let mut rest = rest.trim_start();
    while is_colon && rest.starts_with(['&', '!']) {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

/// Returns whether a text says that the lines behind it are the value.
pub(super) fn is_block(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['|', '>']) else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let behind = rest.trim_start();
    behind.is_empty() || (behind.starts_with('#') && behind.len() < rest.len())
}

/// Returns the mark that ends the lines behind a text: `<<EOF`.
fn heredoc(text: &str) -> Option<&str> {
    let (_, mark) = text.split_once("<<")?;
    let mark = mark.trim_start_matches(['-', '~']).trim_matches(['"', '\'', ' ', ')']);
    let is_mark = mark.starts_with(char::is_alphabetic) && mark.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_mark.then_some(mark)
}

/// Returns what a line assigns to a secret name that it begins with.
fn assignment(line: &str, veil: &Veil) -> Option<Seen> {
    let sign = line.find(['=', ':'])?;
    let head = line.get(..sign)?;
    let path = leading_name(head)?;
    let name = path.rsplit('/').next().filter(|name| is_secret(name, veil))?;
    let rest = behind_sign(line, sign);
    // The tag of an image stands behind a path as well.
    if name.len() < path.len() && line.get(sign + 1..)?.starts_with(|c: char| !c.is_whitespace() && c != '=') {
        return None;
    }

    let start = line.len() - rest.len();
    let mut seen = Seen::default();
    let plain = rest.trim_start_matches(['"', '\'']);
    let quote = rest.get(..rest.len() - plain.len()).unwrap_or_default();
    let is_open_quote = match quote {
        "\"" | "'" => closing(plain, quote).is_none(),
        "\"\"\"" | "'''" => !plain.contains(quote),
        _ => false,
    };
    let indent = head.len() - head.trim_start().len();
    let goes_on = || is_of_secrets(name, veil).then(|| Opened::Indented { than: indent, name: name.to_owned() });
    if rest.is_empty() || is_block(rest) {
        seen.opened = goes_on();
    } else if let Some(mark) = heredoc(rest) {
        seen.opened = Some(Opened::Heredoc { mark: mark.to_owned(), name: name.to_owned() });
    } else if rest.strip_prefix('*').is_some_and(|alias| alias.chars().all(char::is_alphanumeric)) {
        // An alias says nothing of the value.
    } else if rest.starts_with(['[', '{']) && !rest.starts_with("{{") && is_of_secrets(name, veil) {
        let end = matching(rest);
        seen.parts = flow(line, start..start + end.unwrap_or(rest.len()), name, veil);
        seen.opened = end.is_none().then(goes_on).flatten();
    } else if is_open_quote {
        let value = plain.trim_end_matches(' ');
        seen.parts.push(part(name, line.len() - plain.len()..line.len() - plain.len() + value.len()));
        seen.opened = Some(Opened::Until { closing: quote.to_owned(), name: name.to_owned() });
    } else {
        let value = plain.trim_end_matches([' ', ',', '"', '\'', ';']);
        let said = value.split(" #").next().unwrap_or_default().trim_end_matches([' ', ',', '"', '\'', ';']);
        let start = line.len() - plain.len();
        if !tells(name, said, veil) {
            return None;
        }
        seen.parts.push(part(name, start..start + value.len()));
        // A comment may stand before the lines of the value, and a line of a shell may go on.
        let goes_on = if rest.starts_with("# ") { goes_on() } else { None };
        let next = || line.ends_with('\\').then(|| Opened::Next { name: name.to_owned() });
        seen.opened = goes_on.or_else(next);
    }
    Some(seen)
}

/// Returns what is hidden of a line that stands below the name of a secret.
pub(super) fn below(line: &str, name: &str, veil: &Veil) -> Vec<Part> {
    let is_item = line.trim_start().starts_with(['-', '"', '\'', '[', '{']);
    piece(line, 0, (name, is_item), veil).into_iter().collect()
}

/// Returns what is hidden of a line whose first word or item is called by the line before.
pub(super) fn next(line: &str, name: &str, veil: &Veil) -> Option<Part> {
    let inner = line.trim_start();
    if inner.starts_with("- ") || inner.starts_with(['"', '\'']) {
        let found = piece(line, 0, (name, true), veil)?;
        let is_flag = line.get(found.span.clone()).is_some_and(|value| value.starts_with("--"));
        return (!is_flag).then_some(found);
    }
    let word = inner.split(char::is_whitespace).next()?;
    let start = line.len() - inner.len();
    (!word.starts_with('-') && !is_prose(word) && tells(name, word, veil))
        .then(|| part(name, start..start + word.len()))
}

/// Returns what is hidden of one entry, such as `- x`, `"x",` or `key: x`.
fn piece(text: &str, at: usize, (above, is_item): (&str, bool), veil: &Veil) -> Option<Part> {
    let noise = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | ';');
    let inner = text.trim_start_matches(noise);
    let inner = inner.strip_prefix("- ").or_else(|| inner.strip_prefix(": ")).unwrap_or(inner);
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
    let signs: &[char] = if is_item { &[':'] } else { &[':', '='] };
    let key = inner.split_once(signs).filter(|(key, rest)| {
        let is_spaced =
            rest.is_empty() || rest.starts_with([' ', '\t', '"', '\'', '[', '{']) || key.ends_with(['"', '\'', ' ']);
        let is_pair = is_spaced || (!is_item && inner.get(key.len()..).is_some_and(|sign| sign.starts_with('=')));
        is_pair
            && !(rest.trim_matches('=').is_empty() && inner.get(key.len()..).is_some_and(|sign| sign.starts_with('=')))
    });
    let key = key.map(|(key, rest)| (key.trim().trim_matches(['"', '\'']), rest));
    let (name, inner) = match key {
        Some((key, rest)) if is_key(key) => (key, rest),
        Some(_) | None => (above, inner),
    };
    let hiding = if name == above { Hiding::Below } else { veil.below(Hiding::Below, name, None) };
    let value = inner.trim_start_matches(noise);
    let start = at + text.len() - value.len();
    let value = value.trim_end_matches(noise);
    let is_mark = value.starts_with("# ") || value == "-" || is_block(value);
    (!is_mark && is_hidden(hiding, value)).then(|| part(name, start..start + value.len()))
}

/// Returns where the list, the map or the call ends that a text begins with.
pub(super) fn matching(text: &str) -> Option<usize> {
    let (opens, closes): (&[char], &[char]) =
        if text.starts_with('(') { (&['('], &[')']) } else { (&['[', '{'], &[']', '}']) };
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let c = rest.chars().next()?;
        let quoted = quote(rest).and_then(|mark| Some(mark.len() * 2 + closing(rest.get(mark.len()..)?, mark)?));
        match c {
            c if opens.contains(&c) => depth += 1,
            c if closes.contains(&c) => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += quoted.unwrap_or(c.len_utf8());
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns what is hidden of a list or a map that stands at a place of a line.
pub(super) fn flow(line: &str, span: Range<usize>, name: &str, veil: &Veil) -> Vec<Part> {
    let mut at = span.start;
    let mut parts = Vec::new();
    for text in line.get(span).unwrap_or_default().split_inclusive(',') {
        parts.extend(piece(text, at, (name, true), veil));
        at += text.len();
    }
    parts
}
