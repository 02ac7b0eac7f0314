//! Pure. What command lines, `.netrc` and configurations without signs give to the names of secrets: words that follow words.
//!
//! Not here: names with a sign behind them (`line.rs`).

use std::ops::Range;

use super::line::{Seen, is_secret, is_value, part};
use super::{Veil, is_secret_flag};

/// Words after a flag that are no value of it: somebody writes about the flag.
const PROSE: [&str; 24] = [
    "a", "an", "and", "are", "as", "can", "flag", "for", "from", "if", "in", "is", "may", "must", "not", "of",
    "option", "or", "the", "to", "when", "will", "with", "was",
];
/// Where a program takes the value of a flag from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// From the next word.
    Next,
    /// From the same word.
    Attached,
    /// From either.
    Either,
    /// From the next word or the same, where that is a user and a password.
    User,
    /// From the last word of the line.
    Last,
}

/// Programs that are given secrets by flags without a telling name.
const PROGRAMS: [(&str, &str, Given); 21] = [
    ("sshpass", "-p", Given::Either),
    ("mysql", "-p", Given::Attached),
    ("mysqldump", "-p", Given::Attached),
    ("mysqladmin", "-p", Given::Attached),
    ("mongo", "-p", Given::Next),
    ("mongosh", "-p", Given::Next),
    ("mongodump", "-p", Given::Next),
    ("mongorestore", "-p", Given::Next),
    ("login", "-p", Given::Next),
    ("curl", "-u", Given::User),
    ("curl", "--user", Given::User),
    ("redis-cli", "-a", Given::Next),
    ("ldapsearch", "-w", Given::Next),
    ("openssl", "-passin", Given::Next),
    ("openssl", "-passout", Given::Next),
    ("sqlcmd", "-P", Given::Next),
    ("zip", "-P", Given::Next),
    ("7z", "-p", Given::Attached),
    ("htpasswd", "-b", Given::Last),
    ("rabbitmqctl", "add_user", Given::Last),
    ("stats", "auth", Given::User),
];
/// Names of secrets in configurations that write no sign, which are no words of a language.
const DIRECTIVES: [&str; 6] = ["requirepass", "masterauth", "auth_pass", "auth-pass", "masterpass", "rootpw"];
/// Words before the name of a secret in such configurations.
const BEFORE: [&str; 10] =
    ["set", "setenv", "fastcgi_param", "uwsgi_param", "scgi_param", "user", "username", "login", "sentinel", "env"];
/// Fewest characters of what follows `Bearer` outside of a header, below which it is a word.
const MIN_BEARER: usize = 16;

/// A word of a line, without its quotes, and where it stands.
type Word<'a> = (&'a str, Range<usize>);

/// Notes what flags, `.netrc`, `Bearer`, programs and directives are followed by.
pub(super) fn words(line: &str, is_netrc: &mut bool, veil: &Veil, seen: &mut Seen) {
    let words = split(line);
    let first = words.first().map_or("", |(word, _)| *word);
    *is_netrc = match first {
        "machine" | "default" => words.iter().any(|(word, _)| *word == "login") || words.len() <= 2,
        "login" | "password" | "account" | "macdef" | "" => *is_netrc,
        _ => false,
    };
    for pair in words.windows(2) {
        let [(word, _), (next, span)] = pair else { continue };
        let is_flag = is_secret_flag(word) && is_secret(word, veil) && !next.starts_with('-') && !PROSE.contains(next);
        let of_netrc = *is_netrc && matches!(*word, "password" | "account");
        let is_bearer = word.eq_ignore_ascii_case("bearer")
            && next.len() >= MIN_BEARER
            && next.contains(|c: char| c.is_ascii_digit());
        if (is_flag || of_netrc || is_bearer) && is_value(next) {
            seen.parts.push(part(word, span.clone()));
        }
    }
    of_programs(&words, seen);
    of_directives(&words, veil, seen);
}

/// Returns the words of a line; a list of quoted words is one of words.
fn split(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    let is_list = ["[\"", "['", ": ["].iter().any(|begin| line.contains(begin));
    let ends = |c: char| c.is_whitespace() || (is_list && matches!(c, ',' | '[' | ']'));
    for word in line.split_inclusive(ends) {
        let bare = word.trim_end_matches(ends).trim_matches(['"', '\'']);
        let start = at + word.find(bare).unwrap_or_default();
        if !bare.is_empty() {
            words.push((bare, start..start + bare.len()));
        }
        at += word.len();
    }
    words
}

/// Notes what programs are given that no name tells of.
fn of_programs(words: &[Word<'_>], seen: &mut Seen) {
    let is_run = |program: &str| words.iter().any(|(word, _)| word.rsplit('/').next() == Some(program));
    for (_, flag, given) in PROGRAMS.iter().filter(|(program, ..)| is_run(program)) {
        let behind = words.windows(2).filter(|pair| pair.first().is_some_and(|(word, _)| word == flag));
        let next = behind.filter_map(|pair| pair.get(1));
        let attached = words
            .iter()
            .filter(|(word, _)| word.len() > flag.len() && word.starts_with(flag) && !word.starts_with("--"))
            .map(|(word, span)| (word.get(flag.len()..).unwrap_or_default(), span.start + flag.len()..span.end));
        let is_user = |word: &str| word.contains(':') && !word.contains("://");
        let found: Vec<Word<'_>> = match given {
            Given::Next => next.cloned().collect(),
            Given::Attached => attached.collect(),
            Given::Either => next.cloned().chain(attached).collect(),
            Given::User => next.cloned().chain(attached).filter(|(word, _)| is_user(word)).collect(),
            Given::Last => words
                .iter()
                .any(|(word, _)| word == flag)
                .then(|| words.last().cloned())
                .flatten()
                .into_iter()
                .collect(),
        };
        seen.parts.extend(found.into_iter().filter(|(word, _)| is_value(word)).map(|(_, span)| part(flag, span)));
    }
}

/// Notes the last word of a line whose word before names a secret, where that is what a line of configuration looks like.
fn of_directives(words: &[Word<'_>], veil: &Veil, seen: &mut Seen) {
    let [before @ .., (name, _), (value, span)] = words else { return };
    let value = value.trim_end_matches([';', '"', '\'']);
    let is_name = is_secret(name, veil) && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let is_directive = |word: &str| DIRECTIVES.contains(&word);
    let is_given = match before {
        [] => is_directive(name) || (is_name && name.chars().all(char::is_lowercase) && !is_plain(value)),
        [(first, _), ..] if before.len() <= 2 => {
            let names_one = is_name || is_directive(name) || before.iter().any(|(word, _)| is_directive(word));
            names_one && (is_directive(first) || BEFORE.contains(&first.to_ascii_lowercase().as_str()))
        }
        _ => false,
    };
    if is_given && !PROSE.contains(&value) && is_value(value) {
        seen.parts.push(part(name, span.start..span.start + value.len()));
    }
}

/// Returns whether a text is a word that people write.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | ',' | '!' | '?' | ':'))
}
