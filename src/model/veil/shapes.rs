//! Pure. Credentials that are told by their shape, whatever they are called: tokens of well-known services, what addresses sign in with, lines
//! of files of passwords.
//!
//! Not here: what stands behind the name of a secret (`line.rs`, `code.rs`, `words.rs`).

use std::ops::Range;

use super::line::{is_secret, part, tells};
use super::values::is_hidden;
use super::{Hiding, MAX_NAME, Part, Veil};

/// How tokens begin that services give out. The identity of a key, such as `AKIA…`, is none: it is a name.
const TOKENS: [&str; 40] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glptt-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "sk-ant-",
    "sk-proj-",
    "whsec_",
    "AGE-SECRET-KEY-1",
    "npm_",
    "pypi-",
    "hvs.",
    "hvb.",
    "dckr_pat_",
    "dckr_oat_",
    "SG.",
    "AIza",
    "ya29.",
    "dop_v1_",
    "shpat_",
    "lin_api_",
    "PMAK-",
    "atlasv1.",
    "wild_",
    "eyJ",
];
/// Addresses that are credentials themselves by what follows.
const HOOKS: [&str; 5] = [
    "hooks.slack.com/services/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/",
    "api.telegram.org/bot",
];
/// Fewest characters of a token.
const MIN_TOKEN: usize = 20;
/// Characters between a scheme and the end of its userinfo that are looked through.
const MAX_USERINFO: usize = 512;
/// Words before an address of mail that are no users with passwords.
const MAIL: [&str; 8] = ["mailto", "mail", "email", "sip", "sips", "xmpp", "acct", "from"];
/// How the user begins in an address of Oracle.
const ORACLE: [&str; 3] = [":thin:", ":oci:", ":oci8:"];
/// How the hash of a password begins in a file of users.
const HASHES: [&str; 9] = ["$2y$", "$2a$", "$2b$", "$apr1$", "$1$", "$5$", "$6$", "$argon2", "{SHA}"];

/// Returns what of a line is a credential by its shape.
pub(super) fn of_line(line: &str, veil: &Veil) -> Vec<Part> {
    let mut parts = tokens(line);
    parts.extend(userinfos(line).into_iter().map(|span| part("address", span)));
    parts.extend(queries(line, veil));
    parts.extend(sign_ins(line).into_iter().map(|span| part("address", span)));
    parts.extend(columns(line));
    parts
}

fn tokens(line: &str) -> Vec<Part> {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_of_path = |c: char| is_of_token(c) || matches!(c, '/' | ':' | '@');
    let run = |start: usize, is_of: &dyn Fn(char) -> bool| {
        let rest = line.get(start..).unwrap_or_default();
        rest.get(..rest.find(|c| !is_of(c)).unwrap_or(rest.len())).unwrap_or_default()
    };
    let mut parts = Vec::new();
    for begin in TOKENS {
        let mut end = 0;
        for (at, _) in line.match_indices(begin) {
            let before = line.get(..at).unwrap_or_default().chars().next_back();
            if at < end || before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                continue;
            }
            let token = run(at, &is_of_token).trim_end_matches('.');
            end = at + token.len();
            // A web token has three parts; words with lines between them have no digits.
            let is_web = begin != "eyJ" || token.matches('.').count() >= 2;
            if is_web && token.len() >= MIN_TOKEN && token.contains(|c: char| c.is_ascii_digit()) {
                parts.push(part("token", at..end));
            }
        }
    }
    for begin in HOOKS {
        let mut end = 0;
        for (at, _) in line.match_indices(begin) {
            let start = at + begin.len();
            if at >= end {
                end = start + run(start, &is_of_path).len();
                parts.push(part("address", start..end));
            }
        }
    }
    parts
}

/// Returns the values of secret names in the queries of addresses, such as `?token=…`.
fn queries(line: &str, veil: &Veil) -> Vec<Part> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '&' | '"' | '\'' | '#' | '<' | '>');
    let (mut parts, mut covered) = (Vec::new(), 0);
    for (at, _) in line.match_indices(['?', '&']) {
        let rest = line.get(at + 1..).unwrap_or_default();
        let near = rest.get(..rest.floor_char_boundary(MAX_NAME + 1)).unwrap_or_default();
        let Some((name, _)) =
            near.split_once('=').filter(|(name, _)| at >= covered && !name.contains(ends) && is_secret(name, veil))
        else {
            continue;
        };
        let start = at + 1 + name.len() + 1;
        let value = line.get(start..).and_then(|value| value.split(ends).next()).unwrap_or_default();
        if tells(name, value, veil) {
            covered = start + value.len();
            parts.push(part(name, start..covered));
        }
    }
    parts
}

/// Returns where the userinfo of addresses stands, such as `user:password` of `https://user:password@host`.
fn userinfos(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (at, _) in text.match_indices("://") {
        let start = at + "://".len();
        let rest: &str = text.get(start..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#' | '<' | '>');
        let authority = rest.char_indices().find(|(_, c)| ends(*c)).map_or(rest.len(), |(end, _)| end);
        let authority = rest.get(..authority.min(MAX_USERINFO)).unwrap_or_default();
        if let Some(end) = authority.rfind('@').filter(|end| *end > 0) {
            spans.push(start..start + end);
        }
    }
    spans
}

/// Returns the passwords of addresses without a scheme: `me:x@tcp(host:3306)/db`, `me:x@host`, `jdbc:oracle:thin:me/x@host`.
fn sign_ins(line: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut spans = Vec::new();
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>');
    for word in line.split_inclusive(ends) {
        spans.extend(sign_in(word.trim_end_matches(ends)).map(|span| at + span.start..at + span.end));
        at += word.len();
    }
    spans
}

fn sign_in(word: &str) -> Option<Range<usize>> {
    let (before, host) = word.rsplit_once('@')?;
    let start = match ORACLE.iter().find_map(|mark| Some(before.find(mark)? + mark.len())) {
        Some(begin) => begin + before.get(begin..)?.find('/')? + 1,
        None => before.find(':')? + 1,
    };
    let password = before.get(start..)?;
    let user = before.get(..start.checked_sub(1)?)?;
    let user = user.get(user.trim_end_matches(|c: char| c.is_alphanumeric() || "_-.%".contains(c)).len()..)?;
    let is_network = host.split_once('(').is_some_and(|(net, _)| net.chars().all(|c| c.is_ascii_alphanumeric()));
    let is_digest = host.split_once(':').is_some_and(|(hash, _)| hash.starts_with("sha"));
    let is_path = password.contains('/') && !is_network;
    let is_known = MAIL.iter().any(|mail| user.eq_ignore_ascii_case(mail)) || user.is_empty();
    let is_host = host.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '('));
    let is_sign_in = is_host && !is_known && !is_path && !is_digest && is_hidden(Hiding::All, password);
    is_sign_in.then_some(start..before.len())
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
    let span = at + text.len() - password.len()..at + text.len();
    (is_line && is_hidden(Hiding::Below, password)).then(|| part("password", span))
}
