//! Pure. What a name says of the values under it: that they are secrets, that they are unless they look like a setting, or nothing.
//!
//! Not here: values that are known by their shape, whatever they are called (`shapes.rs`).

use super::Hiding;
use super::values::Harmless;

/// Words that make a name one of a secret. More of one kind are written with an `s`.
const WORDS: [&str; 25] = [
    "psk",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pass",
    "secret",
    "token",
    "apikey",
    "credential",
    "privatekey",
    "secretkey",
    "accesskey",
    "bearer",
    "pw",
    "pgpass",
    "jwt",
    "dsn",
    "htpasswd",
    "dockerconfigjson",
    "dockercfg",
    "passin",
    "passout",
    "creds",
];
/// Ends of words that are written as one, such as `dbpassword`.
const ENDS: [&str; 31] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "secretkey",
    "privatekey",
    "requirepass",
    "masterauth",
    "authpass",
    "userpass",
    "dbpass",
    "sqlpass",
    "rootpass",
    "adminpass",
    "smtppass",
    "mailpass",
    "ldappass",
    "bindpass",
    "dbpwd",
    "userpwd",
    "rootpwd",
    "adminpwd",
    "masterkey",
    "encryptionkey",
    "signingkey",
    "sessionkey",
    "authkey",
    "presharedkey",
    "pw",
];
/// Words before `key` that make it a secret one.
const KEYS: [&str; 26] = [
    "api",
    "private",
    "access",
    "secret",
    "encryption",
    "signing",
    "master",
    "session",
    "auth",
    "client",
    "ssh",
    "tls",
    "hmac",
    "shared",
    "account",
    "storage",
    "service",
    "app",
    "fernet",
    "preshared",
    "setup",
    "integration",
    "license",
    "crypt",
    "cookie",
    "csrf",
];
/// Last words of names that say something about a secret and are none.
const ABOUT: [&str; 85] = [
    "encryption",
    "name",
    "names",
    "ref",
    "refs",
    "file",
    "files",
    "path",
    "paths",
    "dir",
    "policy",
    "length",
    "len",
    "seconds",
    "minutes",
    "hours",
    "days",
    "enabled",
    "disabled",
    "type",
    "kind",
    "count",
    "ttl",
    "expiry",
    "expiration",
    "expires",
    "size",
    "format",
    "id",
    "ids",
    "url",
    "uri",
    "endpoint",
    "issuer",
    "audience",
    "algorithm",
    "version",
    "class",
    "provider",
    "store",
    "namespace",
    "limit",
    "limits",
    "header",
    "headers",
    "field",
    "fields",
    "mode",
    "age",
    "required",
    "allowed",
    "reset",
    "through",
    "thru",
    "timeout",
    "lifetime",
    "interval",
    "validity",
    "period",
    "duration",
    "retries",
    "attempts",
    "min",
    "max",
    "minimum",
    "maximum",
    "strength",
    "label",
    "title",
    "description",
    "prompt",
    "help",
    "hint",
    "rotation",
    "encoding",
    "method",
    "scheme",
    "scope",
    "scopes",
    "claim",
    "attribute",
    "selector",
    "pattern",
    "regex",
    "column",
];
/// Words before `pass` that make it something that is passed, or passed on to.
const PASSED: [&str; 13] = [
    "fastcgi",
    "uwsgi",
    "scgi",
    "grpc",
    "memcached",
    "by",
    "high",
    "low",
    "band",
    "first",
    "second",
    "single",
    "multi",
];
/// Words of passwords before `secret key` that make it the key of a Secret in which the password is.
const KEPT: [&str; 3] = ["password", "passwd", "passphrase"];

/// Returns what a name says of the values under it, by its words; nothing if it is not one of a secret.
pub(super) fn judged(name: &str) -> Option<Hiding> {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["existing", ..] => return None,
        [.., "auth"] => return Some(Hiding::Unless(Harmless::Text)),
        ["pwd"] => return Some(Hiding::Unless(Harmless::Path)),
        [.., "salt"] => return Some(Hiding::Unless(Harmless::Count)),
        ["pin"] => return Some(Hiding::Below),
        [.., last] if ABOUT.contains(last) => return None,
        [.., kept, "secret", "key"] if KEPT.contains(kept) => return None,
        [.., before, "pass"] if PASSED.contains(before) => return None,
        [.., "proxy", "pass"] => return Some(Hiding::Unless(Harmless::Address)),
        [..] => {}
    }

    let of_keys = words.windows(2).filter_map(|pair| match pair {
        [kind, "key"] if KEYS.contains(kind) => Some(Hiding::Below),
        [kind, "keys"] if KEYS.contains(kind) => Some(Hiding::Unless(Harmless::Count)),
        _ => None,
    });
    of_keys.chain(words.iter().filter_map(|word| of_word(word))).max()
}

/// Returns whether a name says something about a secret and is none.
pub(super) fn is_about(name: &str) -> bool {
    words(name).last().is_some_and(|last| ABOUT.contains(&last.as_str()))
}

/// Returns whether a word is one that describes.
pub(super) fn describes(word: &str) -> bool {
    ABOUT.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn of_word(word: &str) -> Option<Hiding> {
    let is_secret = |word: &str| WORDS.contains(&word) || ENDS.iter().any(|end| word.ends_with(end));
    // `secrets` are objects of Kubernetes: `imagePullSecrets`.
    let one = word.strip_suffix('s').filter(|one| !one.ends_with("secret"));
    match word {
        "authorization" => Some(Hiding::Unless(Harmless::Word)),
        word if is_secret(word) => Some(Hiding::Below),
        _ if one.is_some_and(is_secret) => Some(Hiding::Unless(Harmless::Count)),
        _ => None,
    }
}

/// Splits a name at everything that is no letter or digit, and where small letters turn large.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let is_break = !c.is_alphanumeric() || (was_small && c.is_uppercase());
        if is_break {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
