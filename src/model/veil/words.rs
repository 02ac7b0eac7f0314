//! Pure. Secrets that follow as words: those that command lines give to flags and programs, `.netrc`, headers, and configurations without signs.
//!
//! Not here: names with a sign behind them (`line.rs`), texts in quotes behind a name (`code.rs`).

use std::collections::BTreeMap;
use std::ops::Range;

use super::line::{Seen, is_secret, part, tells};
use super::names::describes;
use super::quotes::{MAX_DEPTH, closing, quote};
use super::values::{is_hidden, reference};
use super::{Hiding, Part, Veil};

/// Words after a flag or in a line that are no configuration: somebody writes about a secret.
const PROSE: [&str; 41] = [
    "after", "at", "before", "its", "no", "on", "since", "a", "an", "and", "are", "as", "be", "by", "can", "flag",
    "for", "from", "has", "if", "in", "into", "is", "it", "may", "must", "not", "of", "option", "or", "should", "that",
    "the", "this", "to", "was", "when", "will", "with", "you", "your",
];
/// Words that say what became of a secret.
const STATES: [&str; 12] =
    ["found", "missing", "invalid", "error", "reset", "mismatch", "set", "unset", "empty", "now", "here", "again"];
/// Words at the begin of a line of configuration that give the name behind them a value.
const SETTERS: [&str; 18] = [
    "define",
    "#define",
    "%define",
    "config",
    "set",
    "setenv",
    "setx",
    "env",
    "export",
    "fastcgi_param",
    "uwsgi_param",
    "scgi_param",
    "proxy_set_header",
    "user",
    "username",
    "login",
    "sentinel",
    "enable",
];
/// Names of secrets that nobody writes in a sentence.
const DIRECTIVES: [&str; 5] = ["requirepass", "masterauth", "auth_pass", "auth-pass", "masteruserpass"];
/// Most words of a line that is no sentence although it ends like one.
const MAX_CLAUSE: usize = 2;
/// Most words of a line of configuration without signs.
const MAX_WORDS: usize = 8;
/// Fewest characters of what follows `Bearer` and `Basic` outside of a header, below which it is a word.
const MIN_BEARER: usize = 16;

/// Where a program takes a secret from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// From the word behind the flag.
    Next,
    /// From the same word.
    Attached,
    /// From either.
    Either,
    /// From either, where that is a user and a password.
    User,
    /// From the last word.
    Last,
}

/// Programs that are given secrets by flags without a telling name; of a flag of two words the first is the command of the program.
const PROGRAMS: [(&[&str], &str, Given); 18] = [
    (&["sshpass"], "-p", Given::Either),
    (&["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"], "-p", Given::Attached),
    (&["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"], "-p", Given::Next),
    (
        &["docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az", "oc"],
        "login -p",
        Given::Either,
    ),
    (&["curl", "xh", "http"], "-u", Given::User),
    (&["curl"], "-U", Given::User),
    (&["curl"], "--user", Given::User),
    (&["curl"], "--proxy-user", Given::User),
    (&["redis-cli", "valkey-cli"], "-a", Given::Either),
    (&["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"], "-w", Given::Either),
    (&["zip", "unzip", "sqlcmd", "bcp"], "-P", Given::Either),
    (&["7z", "7za", "7zz", "rar", "unrar"], "-p", Given::Attached),
    (&["htpasswd"], "-b", Given::Last),
    (&["usermod", "useradd"], "-p", Given::Next),
    (&["vault"], "login", Given::Next),
    (&["rabbitmqctl"], "add_user", Given::Last),
    (&["rabbitmqctl"], "change_password", Given::Last),
    (&["mc"], "set", Given::Last),
];

/// A word without its quotes, and where it stands.
struct Word<'a> {
    text: &'a str,
    span: Range<usize>,
}

/// Notes what words of a line are secrets by the words before them.
pub(super) fn of_line(line: &str, is_netrc: &mut bool, veil: &Veil, seen: &mut Seen) {
    *is_netrc = goes_on_netrc(line, *is_netrc);
    for command in commands(line) {
        let texts: Vec<&str> = command.iter().map(|word| word.text).collect();
        let mut found = given(&texts, veil);
        found.extend(of_headers(&texts, *is_netrc));
        let place = |(at, Part { name, span }): (usize, Part)| {
            let start = command.get(at)?.span.start;
            Some(part(&name, start + span.start..start + span.end))
        };
        seen.parts.extend(found.into_iter().filter_map(place));
        seen.parts.extend(directive(line, &command, veil));
    }
}

/// Returns which words of a list are secrets by the words before them, and what of them, if the list is one of arguments.
pub fn of_arguments(words: &[String], veil: &Veil) -> BTreeMap<usize, Vec<Part>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut parts: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    for (at, part) in given(&words, veil) {
        parts.entry(at).or_default().push(part);
    }
    parts
}

/// Returns what flags and programs are given.
fn given(words: &[&str], veil: &Veil) -> Vec<(usize, Part)> {
    let mut found = of_flags(words, veil);
    let is_run =
        |names: &[&str]| words.iter().any(|word| names.iter().any(|name| word.rsplit('/').next() == Some(name)));
    for (_, flag, given) in PROGRAMS.iter().filter(|(names, ..)| is_run(names)) {
        let (command, flag) = flag.split_once(' ').unwrap_or(("", flag));
        if command.is_empty() || words.contains(&command) {
            found.extend(of_flag(words, flag, *given));
        }
    }
    found.retain(|(at, Part { span, .. })| {
        words.get(*at).and_then(|word| word.get(span.clone())).is_some_and(|text| is_hidden(Hiding::Below, text))
    });
    found
}

/// Returns the words behind flags with the name of a secret: `--password x`.
fn of_flags(words: &[&str], veil: &Veil) -> Vec<(usize, Part)> {
    let pairs = words.iter().zip(words.iter().skip(1)).enumerate();
    let given = pairs.filter(|(_, (flag, next))| {
        is_flag(flag) && tells(flag, next, veil) && !next.starts_with("--") && !is_prose(next)
    });
    given.map(|(at, (flag, next))| (at + 1, part(flag, 0..next.len()))).collect()
}

/// Returns what a program is given by one of its flags.
fn of_flag(words: &[&str], flag: &str, given: Given) -> Vec<(usize, Part)> {
    let mut found = Vec::new();
    let is_user = |text: &str| text.contains(':') && !text.contains("://");
    let takes = |text: &str| given != Given::User || is_user(text);
    for (at, word) in words.iter().enumerate() {
        let next =
            words.get(at + 1).filter(|next| *word == flag && !is_prose(next) && !next.starts_with('-') && takes(next));
        let attached =
            word.strip_prefix(flag).filter(|rest| !rest.is_empty() && !word.starts_with("--") && takes(rest));
        match given {
            Given::Next | Given::Either | Given::User if next.is_some() => {
                found.extend(next.map(|next| (at + 1, part(flag, 0..next.len()))));
            }
            Given::Attached | Given::Either | Given::User => {
                found.extend(attached.map(|_| (at, part(flag, flag.len()..word.len()))));
            }
            Given::Last if *word == flag || has_letter(word, flag) => {
                let last = words.len() - 1;
                found.extend(words.last().filter(|_| last > at + 1).map(|word| (last, part(flag, 0..word.len()))));
            }
            Given::Next | Given::Last => {}
        }
    }
    found
}

/// Returns whether a word holds several flags of one letter, and this one among them: `-nbB`.
fn has_letter(word: &str, flag: &str) -> bool {
    let letter = flag.strip_prefix('-').filter(|letter| letter.len() == 1);
    word.starts_with('-') && !word.starts_with("--") && letter.is_some_and(|letter| word.contains(letter))
}

/// Returns what follows `Bearer` and `Basic`, the words of `.netrc`, and users with their passwords behind `auth`.
fn of_headers(words: &[&str], is_netrc: bool) -> Vec<(usize, Part)> {
    let mut found = Vec::new();
    for (at, (word, next)) in words.iter().zip(words.iter().skip(1)).enumerate() {
        let is_scheme = ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
        let is_bearer =
            is_scheme && next.len() >= MIN_BEARER && next.contains(|c: char| c.is_ascii_digit() || c == '=');
        let of_netrc = is_netrc && matches!(*word, "password" | "account");
        if (is_bearer || of_netrc) && is_hidden(Hiding::Below, next) {
            found.push((at + 1, part(word, 0..next.len())));
        }
        let password =
            next.split_once(':').filter(|_| *word == "auth").map(|(user, password)| (user.len() + 1, password));
        let password = password
            .filter(|(_, it)| !it.is_empty() && !it.starts_with('/') && !it.chars().all(|c| c.is_ascii_digit()));
        found.extend(password.map(|(start, _)| (at + 1, part(word, start..next.len()))));
    }
    found
}

/// Returns what a line of a configuration without signs gives to the name of a secret: all that follows.
fn directive(line: &str, words: &[Word<'_>], veil: &Veil) -> Option<Part> {
    let is_name = |word: &Word<'_>| {
        is_secret(word.text, veil)
            && word.text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
            && !word.text.starts_with('-')
    };
    let at = words.iter().position(is_name)?;
    let (before, [name, behind @ ..]) = words.split_at_checked(at)? else { return None };
    // Sentinels of Redis say of which master before they say the password.
    let skipped = usize::from(name.text == "auth-pass" && behind.len() > 1);
    let (first, last) = (behind.get(skipped)?, behind.last()?);
    let is_program = first.text.starts_with('-');
    let is_sentence = is_program
        || words.len() > MAX_WORDS
        || words.iter().any(|word| is_prose(word.text))
        || (words.len() > MAX_CLAUSE && last.text.ends_with(['.', '?', '!']));
    let has_sign = words.iter().take(at + 2).any(|word| word.text.ends_with([':', '=']) || word.text.contains('='));
    if is_sentence || has_sign {
        return None;
    }

    let sets = |word: &Word<'_>| SETTERS.iter().any(|setter| word.text.eq_ignore_ascii_case(setter));
    let is_set = before.iter().any(sets);
    let is_known = DIRECTIVES.iter().any(|known| name.text.eq_ignore_ascii_case(known));
    let is_plain = last.text.chars().all(char::is_alphabetic);
    let is_alone = before.is_empty() && behind.len() == 1 && name.text.chars().all(|c| !c.is_uppercase());
    let says = [first, last].iter().any(|word| describes(word.text) || is_state(word.text));
    let is_given = is_known || (!says && (is_set || is_alone || !is_plain));
    // SQL sets a password for somebody with a sign.
    let first = behind.iter().rev().skip(1).position(|word| word.text == "=").map_or(first, |_| last);
    let span = first.span.start..last.span.end;
    (is_given && tells(name.text, line.get(span.clone())?, veil)).then(|| part(name.text, span))
}

fn is_state(word: &str) -> bool {
    word.ends_with("ed") || STATES.iter().any(|state| word.eq_ignore_ascii_case(state))
}

pub(super) fn is_prose(word: &str) -> bool {
    PROSE.contains(&word)
}

/// Returns whether a word of a command line is a flag whose value follows as the next word.
fn is_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ' '])
}

/// Returns the item of a list that a line holds, with where it stands: `- x`, `"x",`.
pub(super) fn item(line: &str) -> Option<(String, Range<usize>)> {
    let inner = line.trim();
    let noise = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',');
    let is_quoted = inner.starts_with(['"', '\'']) && inner.ends_with(['"', '\'', ',']);
    if !is_quoted && !inner.starts_with("- ") {
        return None;
    }
    let text = inner.strip_prefix("- ").unwrap_or(inner).trim_start_matches(noise);
    let start = line.len() - line.trim_start().len() + inner.len() - text.len();
    let text = text.trim_end_matches(noise);
    Some((text.to_owned(), start..start + text.len()))
}

/// Returns the words of a line of a command over several lines, with where they stand.
pub(super) fn words_of(line: &str) -> Vec<(String, Range<usize>)> {
    let mut commands = Vec::new();
    split(line, 0..line.len(), 0, &mut commands);
    commands.into_iter().flatten().map(|Word { text, span }| (text.to_owned(), span)).collect()
}

fn goes_on_netrc(line: &str, is_netrc: bool) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("machine" | "default") => words.clone().count() <= 1 || words.any(|word| word == "login"),
        Some("login" | "password" | "account" | "macdef") | None => is_netrc,
        Some(_) => false,
    }
}

/// Returns the words of each command of a line. A text in quotes is one word, and what it says is a command of its own.
fn commands(line: &str) -> Vec<Vec<Word<'_>>> {
    let mut commands = Vec::new();
    split(line, 0..line.len(), MAX_DEPTH, &mut commands);
    commands.retain(|command| command.len() > 1);
    commands
}

fn split<'a>(line: &'a str, within: Range<usize>, depth: usize, commands: &mut Vec<Vec<Word<'a>>>) {
    let text = line.get(within.clone()).unwrap_or_default();
    let (mut command, mut at, mut is_list) = (Vec::new(), 0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let is_bracket = rest.starts_with(['[', '(']);
        if is_bracket
            || rest.starts_with(char::is_whitespace)
            || rest.starts_with(']')
            || (is_list && rest.starts_with([',', ')']))
        {
            is_list |= is_bracket;
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let len = length(rest, is_list);
        let word = rest.get(..len).unwrap_or_default();
        let start = within.start + at;
        at += len;
        if matches!(word, "|" | "||" | "&&" | ";" | "{" | "}") {
            commands.push(std::mem::take(&mut command));
            continue;
        }
        let is_last = word.ends_with(';');
        let bare = word.trim_end_matches(';').trim_start_matches(['\\', '"', '\'']);
        let first = start + word.trim_end_matches(';').len() - bare.len();
        let bare = bare.trim_end_matches(['\\', '"', '\'']);
        if bare.contains(char::is_whitespace) && depth > 0 {
            split(line, first..first + bare.len(), depth - 1, commands);
        }
        if !bare.is_empty() {
            command.push(Word { text: bare, span: first..first + bare.len() });
        }
        if is_last {
            commands.push(std::mem::take(&mut command));
        }
    }
    commands.push(command);
}

/// Returns how long the word is that a text begins with: to the next space that stands in no quotes and no template.
fn length(text: &str, is_list: bool) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(c) = rest.chars().next() else { break };
        let is_call = at > 0 && rest.strip_prefix('(').is_some_and(|rest| rest.starts_with(['"', '\'', '[']));
        if c.is_whitespace() || is_call || (is_list && matches!(c, ',' | ']' | ')')) {
            break;
        }
        let begins = at == 0 || text.get(..at).is_some_and(|before| before.ends_with(['=', ':', ',']));
        let quoted = begins.then(|| quote(rest)).flatten().and_then(|mark| {
            let inner = closing(rest.get(mark.len()..)?, mark)?;
            Some(mark.len() * 2 + inner)
        });
        at += quoted.or_else(|| reference(rest)).unwrap_or(c.len_utf8());
    }
    at
}
