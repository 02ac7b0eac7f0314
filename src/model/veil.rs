//! Pure. Which values look like secrets by the names that they stand under, and what people are shown in their place.
//!
//! One decision for every output: conflicts, diffs, drift, plans. Not here: values that are secrets whatever they are called (`Secrets`), texts
//! of files (`yaml::veil`).

mod line;
mod shapes;
mod text;
mod words;

use std::ops::Range;

use serde_json::Value;

pub use text::parts;

use super::MASK;

/// What stands for a value that is not the one on the other side.
pub const DIFFERS: &str = "(hidden, differs)";
/// Words that make a name one of a secret.
const WORDS: [&str; 24] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "pwd",
    "pass",
    "secret",
    "token",
    "tokens",
    "apikey",
    "apikeys",
    "credential",
    "credentials",
    "privatekey",
    "secretkey",
    "accesskey",
    "authorization",
    "bearer",
    "pw",
    "pgpass",
    "jwt",
    "dsn",
    "htpasswd",
    "dockerconfigjson",
];
/// Ends of words that are written as one, such as `dbpassword`.
const ENDS: [&str; 8] = ["password", "passwd", "passphrase", "secret", "token", "apikey", "secretkey", "privatekey"];
/// Words before `key` that make it a secret one.
const KEYS: [&str; 18] = [
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
];
/// Last words of names that say something about a secret and are none.
const ABOUT: [&str; 50] = [
    "header",
    "headers",
    "field",
    "fields",
    "mode",
    "limit",
    "limits",
    "age",
    "required",
    "timeout",
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
];
/// Last words of names under which every value is a secret, however short it is.
const STRONG: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "pass",
    "secret",
    "token",
    "pw",
    "apikey",
    "secretkey",
    "accesskey",
    "key",
];
/// Values that say whether or how something is done with a secret.
const TOLD: [&str; 20] = [
    "yes", "no", "on", "off", "enabled", "disabled", "required", "optional", "none", "strict", "always", "never",
    "auto", "default", "basic", "bearer", "rbac", "ldap", "oidc", "allowed",
];
/// Most digits of a number that counts something.
const MAX_DIGITS: usize = 6;
/// Fewest characters of what `auth` is given in the file of a container registry.
const MIN_CREDENTIAL: usize = 12;
/// Directives of nginx that pass a request on, which other programs write in capitals for the password of a proxy.
const PASSING: [&str; 6] = ["proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"];
/// Keys of a reference to a secret.
const OF_REFERENCES: [&str; 8] =
    ["key", "mode", "defaultMode", "optional", "items", "apiVersion", "remoteRef", "property"];
/// Keys beside which another key says what the value is called.
const NAMING: [&str; 4] = ["name", "path", "key", "header"];
/// Keys of values that are called by a key beside them.
const NAMED: [&str; 2] = ["value", "values"];
/// Longest name at the begin of a line that is one.
const MAX_NAME: usize = 64;
/// Characters between a scheme and the end of its userinfo that are looked through.
const MAX_USERINFO: usize = 512;

/// What is shown of values that look like secrets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Veil {
    /// The name whose values a person asked to see.
    revealed: Option<String>,
}

/// Whether a value is hidden, by what stands above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hiding {
    /// Nothing above it says that it is a secret.
    #[default]
    Shown,
    /// A name above it is one of a secret.
    Below,
    /// It is a value of a Secret.
    All,
    /// A person asked to see it.
    Revealed,
}

impl Veil {
    /// Shows the values under one name, an environment variable or a key, and hides the others.
    pub fn but(revealed: Option<String>) -> Self {
        Self { revealed }
    }

    /// Returns whether a person asked to see anything.
    pub fn is_lifted(&self) -> bool {
        self.revealed.is_some()
    }

    /// Returns whether what stands under a key is hidden; `beside` is what a key beside it says of its name.
    pub fn below(&self, above: Hiding, key: &str, beside: Option<&str>) -> Hiding {
        let name = beside.filter(|_| NAMED.contains(&key)).map_or(key, last_step);
        if above == Hiding::Revealed || self.revealed.as_deref() == Some(name) {
            return Hiding::Revealed;
        }
        match above {
            Hiding::All => Hiding::All,
            _ if is_secret_name(name) => Hiding::Below,
            Hiding::Below if OF_REFERENCES.contains(&key) || is_about(key) => Hiding::Shown,
            above => above,
        }
    }

    /// Returns whether a value under a key is hidden, also by what it is; `text` is that of one which is no map and no list.
    pub fn beneath(&self, above: Hiding, (key, beside): (&str, Option<&str>), text: Option<&str>) -> Hiding {
        let hiding = self.below(above, key, beside);
        let name = beside.filter(|_| NAMED.contains(&key)).unwrap_or(key);
        text.map_or(hiding, |text| judged(hiding, name, text))
    }

    /// Returns a value as it is shown at a path such as `spec.containers[name=web].env[name=TOKEN].value`.
    pub fn value(&self, path: &str, value: &Value) -> Value {
        let name = path.rsplit('.').next().unwrap_or(path);
        let hiding = self.at(path);
        self.walk(judged_text(value).map_or(hiding, |text| judged(hiding, name, &text)), value)
    }

    /// Returns two values of one path as they are shown beside each other: that they differ is never hidden.
    pub fn pair(&self, path: &str, one: Option<&Value>, other: Option<&Value>) -> [Option<Value>; 2] {
        let mut shown = [one, other].map(|value| value.map(|value| self.value(path, value)));
        if let (Some(one), Some(other), [Some(left), Some(right)]) = (one, other, &mut shown) {
            note_differences((one, other), (left, right));
        }
        shown
    }

    /// Returns whether what stands at a path is hidden.
    pub fn at(&self, path: &str) -> Hiding {
        let (mut hiding, mut label) = (Hiding::Shown, None);
        for step in steps(path) {
            match step {
                Step::Key(key) => {
                    hiding = self.below(hiding, key, label.take());
                }
                Step::Label(text) => match text.split_once('=') {
                    Some((naming, name)) if NAMING.contains(&naming) => label = Some(name),
                    Some(_) => {}
                    None => hiding = self.below(hiding, text, None),
                },
            }
        }
        hiding
    }

    fn walk(&self, hiding: Hiding, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let beside = NAMING.iter().find_map(|key| map.get(*key).and_then(Value::as_str));
                let is_secret = map.get("kind").and_then(Value::as_str) == Some("Secret");
                let entry = |(key, value): (&String, &Value)| {
                    let is_data = is_secret && matches!(key.as_str(), "data" | "stringData");
                    let above = if is_data && hiding != Hiding::Revealed { Hiding::All } else { hiding };
                    let hiding = self.beneath(above, (key, beside), judged_text(value).as_deref());
                    (key.clone(), self.walk(hiding, value))
                };
                Value::Object(map.iter().map(entry).collect())
            }
            Value::Array(items) => {
                let mut is_flag = false;
                let mut item = |item: &Value| {
                    let above = if std::mem::take(&mut is_flag) { Hiding::Below } else { hiding };
                    is_flag = item.as_str().is_some_and(is_secret_flag);
                    self.walk(above, item)
                };
                Value::Array(items.iter().map(&mut item).collect())
            }
            Value::String(text) if is_hidden(hiding, text) => Value::from(MASK),
            Value::String(text) if hiding != Hiding::Revealed => Value::from(without_parts(text, &parts(text, self))),
            Value::Number(_) if matches!(hiding, Hiding::Below | Hiding::All) => Value::from(MASK),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Returns whether a value is hidden by what it is: one that says something about a secret is not, a credential is.
fn judged(hiding: Hiding, name: &str, text: &str) -> Hiding {
    match hiding {
        Hiding::Below if is_secret_name(name) && is_told(name, text) => Hiding::Shown,
        Hiding::Shown if is_credential(name, text) => Hiding::Below,
        hiding => hiding,
    }
}

/// Returns a value as it is judged: a map and a list are by what is in them, and what says yes or no says nothing.
fn judged_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns whether a value says something about a secret: under a name that ends in no secret it is a number or a word such as `required`.
fn is_told(name: &str, value: &str) -> bool {
    let words = words(name);
    let last = words.last().map(String::as_str).unwrap_or_default();
    // A shell keeps its working directory in `PWD`.
    if words.len() == 1 && last == "pwd" {
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        return value.starts_with('/') && value.matches('/').count() > 1 && value.chars().all(is_of_path);
    }
    let is_strong = STRONG.contains(&last) || ENDS.iter().any(|end| last.ends_with(end));
    let is_count = value.len() <= MAX_DIGITS && value.chars().all(|c| c.is_ascii_digit());
    !is_strong && (is_count || TOLD.iter().any(|word| value.eq_ignore_ascii_case(word)))
}

/// Returns whether a value is a credential under a name that is often something else: `auth` of a container registry.
fn is_credential(name: &str, value: &str) -> bool {
    let is_of_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    let is_mixed = value.contains(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '=');
    name == "auth" && value.len() >= MIN_CREDENTIAL && is_mixed && value.chars().all(is_of_base64)
}

/// Returns whether a text is made of references and templates alone, so that it says nothing of the value.
fn is_placeholder(text: &str) -> bool {
    let mut rest = text;
    let mut seen = false;
    while let Some((at, close)) = [("{{", "}}"), ("${", "}"), ("$(", ")")]
        .iter()
        .filter_map(|(open, close)| Some((rest.find(open)?, *close)))
        .min()
    {
        let is_between = rest.get(..at).unwrap_or_default().chars().all(is_separator);
        let Some((_, after)) = rest.get(at..).unwrap_or_default().split_once(close) else { return false };
        if !is_between {
            return false;
        }
        (rest, seen) = (after, true);
    }
    seen && rest.chars().all(is_separator)
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '-' | '_' | '.' | ':' | '/' | ',' | ';' | '|')
}

/// Notes in the second of two values as they are shown where they differ and look the same.
fn note_differences((one, other): (&Value, &Value), (left, right): (&Value, &mut Value)) {
    if one == other {
        return;
    }
    if left == right {
        let is_leaf =
            !matches!((one, other), (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)));
        if is_leaf {
            *right = Value::from(DIFFERS);
            return;
        }
    }
    match (one, other, left, right) {
        (Value::Object(one), Value::Object(other), Value::Object(left), Value::Object(right)) => {
            for (key, shown) in right.iter_mut() {
                if let (Some(one), Some(other), Some(left)) = (one.get(key), other.get(key), left.get(key)) {
                    note_differences((one, other), (left, shown));
                }
            }
        }
        (Value::Array(one), Value::Array(other), Value::Array(left), Value::Array(right)) => {
            for (((one, other), left), shown) in one.iter().zip(other).zip(left.iter()).zip(right.iter_mut()) {
                note_differences((one, other), (left, shown));
            }
        }
        _ => {}
    }
}

/// Returns whether a text is hidden at such a place. An empty text, a reference and a ciphertext tell nothing.
pub fn is_hidden(hiding: Hiding, text: &str) -> bool {
    let is_word = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let inner = |open: &str, close: &str| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let is_reference = inner("$(", ")").or_else(|| inner("${", "}")).is_some_and(is_word);
    let is_nothing = text.is_empty() || is_reference || text.starts_with("ENC[AES256_GCM,") || text == MASK;
    matches!(hiding, Hiding::Below | Hiding::All) && !is_nothing
}

/// Returns whether a name is one of a secret, by its words.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last().map(String::as_str) else { return false };
    if ABOUT.contains(&last) || PASSING.contains(&name) {
        return false;
    }
    let is_key = words.windows(2).any(|pair| match pair {
        [kind, key] => (key == "key" || key == "keys") && KEYS.contains(&kind.as_str()),
        _ => false,
    });
    // What is passed through is no password.
    let is_passed =
        words.windows(2).any(|pair| matches!(pair, [pass, on] if pass == "pass" && (on == "through" || on == "thru")));
    let words: Vec<&String> = words.iter().filter(|word| !(is_passed && *word == "pass")).collect();
    is_key || words.iter().any(|word| WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end)))
}

/// Returns whether a word of a command line is a flag whose value follows as the next word and is a secret.
pub fn is_secret_flag(text: &str) -> bool {
    text.starts_with('-') && !text.contains('=') && !text.contains(' ') && is_secret_name(text)
}

fn is_about(name: &str) -> bool {
    words(name).last().is_some_and(|last| ABOUT.contains(&last.as_str()))
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

/// Returns the last step of a JSON pointer, or the name itself.
fn last_step(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A step of a path.
enum Step<'a> {
    Key(&'a str),
    /// What stands in brackets.
    Label(&'a str),
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some((label, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            steps.push(Step::Label(label));
            rest = after;
            continue;
        }
        let plain = rest.trim_start_matches(['.', '[']);
        let end = plain.find(['.', '[']).unwrap_or(plain.len());
        let (key, after) = plain.split_at_checked(end).unwrap_or((plain, ""));
        steps.push(Step::Key(key));
        rest = after;
    }
    steps
}

/// A part of a text that is hidden.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Its bytes.
    pub span: Range<usize>,
}

/// Returns the values of secret names in the queries of addresses, such as `?token=…`.
fn queries(line: &str, veil: &Veil) -> Vec<Part> {
    let mut parts = Vec::new();
    for (at, _) in line.match_indices(['?', '&']) {
        let rest = line.get(at + 1..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '&' | '"' | '\'' | '#' | '<' | '>');
        let pair = rest.split(ends).next().unwrap_or_default();
        let Some((name, value)) = pair.split_once('=') else { continue };
        let hides = veil.below(Hiding::Shown, name, None) == Hiding::Below && is_hidden(Hiding::Below, value);
        let start = at + 1 + name.len() + 1;
        parts.extend(hides.then(|| Part { name: name.to_owned(), span: start..start + value.len() }));
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

/// Returns a text with the mark in place of some of its parts.
fn without_parts(text: &str, parts: &[Part]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for Part { span, .. } in parts.iter().filter(|part| !part.span.is_empty()) {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        out.push_str(MASK);
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "mysql-root-password",
            "rootpassword",
            "API_KEY",
            "apiKey",
            "apikey",
            "SECRET_KEY",
            "SECRET_KEY_BASE",
            "clientSecret",
            "OIDC_CLIENT_SECRET",
            "AUTH_TOKEN",
            "token",
            "github.token",
            "tls.key",
            "ssh-key",
            "AWS_SECRET_ACCESS_KEY",
            "SMTP_PASS",
            "Authorization",
            "passphrase",
            "SENTRY_DSN",
            ".dockerconfigjson",
            "pw",
            "pgpass",
            "jwt",
            "--password",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "secretName",
            "secretKeyRef",
            "secretRef",
            "existingSecretName",
            "imagePullSecrets",
            "secrets",
            "tokenPath",
            "PASSWORD_FILE",
            "passwordPolicy",
            "PASSWORD_MIN_LENGTH",
            "token_ttl",
            "TOKEN_URL",
            "key",
            "keys",
            "name",
            "compass",
            "author",
            "replicas",
            "AWS_ACCESS_KEY_ID",
            "",
            "tokenExpirationSeconds",
            "publicKey",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[track_caller]
    fn check(path: &str, value: Value, expected: Value) {
        assert_eq!(Veil::default().value(path, &value), expected, "{path}");
    }

    #[test]
    fn a_value_is_hidden_by_the_names_around_it() {
        check("spec.containers[name=web].env[name=DB_PASSWORD].value", json!("hunter2"), json!(MASK));
        check("spec.containers[name=web].env[name=DB_HOST].value", json!("db"), json!("db"));
        check(
            "spec.containers[name=web].env[name=DB_PASSWORD]",
            json!({"name": "DB_PASSWORD", "value": "x"}),
            json!({"name": "DB_PASSWORD", "value": MASK}),
        );
        check(
            "spec.containers[name=web].env",
            json!([{"value": "x", "name": "TOKEN"}, {"name": "A", "value": "b"}]),
            json!([{"value": MASK, "name": "TOKEN"}, {"name": "A", "value": "b"}]),
        );
        check("metadata.annotations[example.org/token]", json!("x"), json!(MASK));
        check("data.password", json!(5), json!(MASK));
        check("data.password", json!(""), json!(""));
        check("data.password", json!("$(DB_PASSWORD)"), json!("$(DB_PASSWORD)"));
        check("data.password", json!(true), json!(true));
        check("spec.passwords", json!({"alice": "x", "bob": ["y"]}), json!({"alice": MASK, "bob": [MASK]}));
        check(
            "spec.volumes[name=x].secret",
            json!({"secretName": "a", "items": [{"key": "k", "path": "p"}], "defaultMode": 420}),
            json!({"secretName": "a", "items": [{"key": "k", "path": "p"}], "defaultMode": 420}),
        );
        check(
            "spec.args",
            json!(["--password", "x", "--token=y", "--port", "5"]),
            json!(["--password", MASK, "--token=(hidden)", "--port", "5"]),
        );
        check("spec.url", json!("postgres://me:hunter2@db/x?a=b"), json!("postgres://(hidden)@db/x?a=b"));
        check(
            "",
            json!({"kind": "Secret", "data": {"name": "eA=="}, "type": "Opaque"}),
            json!({"kind": "Secret", "data": {"name": MASK}, "type": "Opaque"}),
        );
        check(
            "",
            json!([{"op": "add", "path": "/data/password", "value": "x"}]),
            json!([{"op": "add", "path": "/data/password", "value": MASK}]),
        );
    }

    #[test]
    fn that_two_values_differ_is_never_hidden() {
        let pair = |one: Value, other: Value| Veil::default().pair("data.token", Some(&one), Some(&other));
        assert_eq!(pair(json!("a"), json!("b")), [Some(json!(MASK)), Some(json!(DIFFERS))]);
        assert_eq!(pair(json!("a"), json!("a")), [Some(json!(MASK)), Some(json!(MASK))]);
        assert_eq!(Veil::default().pair("data.token", Some(&json!("a")), None), [Some(json!(MASK)), None]);
        let urls = Veil::default().pair("url", Some(&json!("http://a:b@c")), Some(&json!("http://a:d@c")));
        assert_eq!(urls, [Some(json!("http://(hidden)@c")), Some(json!(DIFFERS))]);
    }

    #[test]
    fn one_name_is_revealed_and_no_other() {
        let veil = Veil::but(Some("TOKEN".to_owned()));
        let env = json!([{"name": "TOKEN", "value": "x"}, {"name": "PASSWORD", "value": "y"}]);
        assert_eq!(
            veil.value("env", &env),
            json!([{"name": "TOKEN", "value": "x"}, {"name": "PASSWORD", "value": MASK}])
        );
    }

    #[test]
    fn addresses_lose_what_they_sign_in_with() {
        for (text, expected) in [
            ("https://me:pw@host/x and ssh://git@host", "https://(hidden)@host/x and ssh://(hidden)@host"),
            ("https://host/a@b", "https://host/a@b"),
            ("redis://:p@ss@host:6379", "redis://(hidden)@host:6379"),
            ("a://", "a://"),
            ("get https://h/x?a=b&token=pw&c=d", "get https://h/x?a=b&token=(hidden)&c=d"),
            ("[db]\npassword = pw\nhost = h\n", "[db]\npassword = (hidden)\nhost = h\n"),
        ] {
            assert_eq!(without_parts(text, &parts(text, &Veil::default())), expected);
        }
    }
}
