//! Pure. Texts in quotes that a word before them says are secrets, as every language of programs, queries and configurations writes them.
//!
//! `setPassword("x")`, `define('DB_PASSWORD', 'x')`, `WITH PASSWORD 'x'`, `IDENTIFIED BY 'x'`, `:password "x"`. Not here: names with a sign behind
//! them (`line.rs`).

use super::line::{part, tells};
use super::quotes::{Quoted, quoted};
use super::{Part, Veil};

/// Words at the begin of the name of a function that is given no secret but gives one.
const ASKING: [&str; 9] = ["get", "has", "is", "find", "read", "load", "fetch", "check", "verify"];
/// Letters before quotes that say how they are read: `b"x"`, `N'x'`.
pub(super) const PREFIXES: [char; 10] = ['b', 'B', 'f', 'F', 'n', 'N', 'r', 'R', 'u', 'U'];
/// What signs are made of that languages write between a name and its value.
const SIGNS: &str = "=<>-~:!";
/// Bytes before `BY` in which `IDENTIFIED` stands, with the name of a way to sign in between.
const MAX_CLAUSE: usize = 64;

/// Returns the texts in quotes of a line that are given to the name of a secret.
pub(super) fn given(line: &str, veil: &Veil) -> Vec<Part> {
    let of = |Quoted { before, inner }: Quoted<'_>| {
        let value = line.get(inner.clone())?;
        let name = names_before(before).into_iter().flatten().find(|name| tells(name, value, veil))?;
        Some(part(name, inner))
    };
    quoted(line).into_iter().filter_map(of).collect()
}

/// Returns a text without the letter that says how the quotes behind it are read.
fn without_prefix(before: &str) -> &str {
    let bare = before.strip_suffix(PREFIXES).unwrap_or(before);
    if bare.ends_with(|c: char| c.is_alphanumeric() || c == '_') { before } else { bare }
}

/// Returns the names that may be given the quoted text behind them: the name before it, or the first argument of a call and what is called.
fn names_before(before: &str) -> [Option<&str>; 2] {
    let head = without_prefix(before).trim_end();
    let Some(first) = head.strip_suffix(',') else { return [name_before(before), None] };
    let bare = first.trim_end().trim_end_matches(['"', '\'']).trim_end_matches('\\');
    let outside = bare.trim_end_matches(is_of_name);
    let call = outside.strip_suffix(['"', '\'']).map(|call| call.trim_end_matches('\\').trim_end());
    let is_quoted = bare.len() < first.trim_end().len();
    match call.filter(|call| is_quoted && call.ends_with('(')) {
        Some(call) => [bare.get(outside.len()..), name_before(call)],
        None => [None, None],
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the name that gets the quoted text behind it.
fn name_before(before: &str) -> Option<&str> {
    let before = without_prefix(before);
    let head = before.trim_end();
    // A sign of a language that gives or compares: `<-`, `==`.
    let bare = head.trim_end_matches(|c: char| SIGNS.contains(c)).trim_end();
    let (head, is_call) = match head.strip_suffix('(') {
        Some(head) => (head, true),
        None if bare.len() < before.len() => (bare, false),
        None => return None,
    };
    let outside = head.trim_end_matches(is_of_name);
    let name = head.get(outside.len()..)?;
    let small = name.to_ascii_lowercase();
    if small == "by" && is_of_sign_in(outside) {
        return Some("password");
    }
    let is_asking = is_call && ASKING.iter().any(|word| small.starts_with(word));
    // `Secret "blog"` is how people and servers name an object of Kubernetes.
    (!is_asking && name != "Secret").then_some(name)
}

/// Returns whether a clause of SQL says how somebody signs in.
fn is_of_sign_in(before: &str) -> bool {
    let start = before.char_indices().rev().take(MAX_CLAUSE).last().map_or(0, |(at, _)| at);
    before.get(start..).unwrap_or_default().to_ascii_lowercase().contains("identified ")
}
