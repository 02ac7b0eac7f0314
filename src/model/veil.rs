//! Pure. Which values look like secrets by the names that they stand under, and what people are shown in their place.
//!
//! One decision for every output: conflicts, diffs, drift, plans. `names` says what a name tells of its values and `values` which of them are
//! none; `text` and `line` look for names with their values in what people write, and `shapes` for what needs no name. Not here: values that are
//! secrets whatever they are called (`Secrets`), texts of files (`yaml::veil`).

mod code;
mod line;
mod markup;
mod names;
mod pairs;
mod quotes;
mod shapes;
mod text;
mod values;
mod words;

use std::ops::Range;

use serde_json::Value;

use names::{is_about, judged};

pub use text::{disjoint, parts};
pub use values::{Harmless, is_hidden};
pub use words::of_arguments;

use super::MASK;

/// What stands for a value that is not the one on the other side.
pub const DIFFERS: &str = "(hidden, differs)";
/// Keys of a reference to a secret.
const OF_REFERENCES: [&str; 8] =
    ["key", "mode", "defaultMode", "optional", "items", "apiVersion", "remoteRef", "property"];
/// Keys beside which another key says what the value is called.
const NAMING: [&str; 4] = ["name", "path", "key", "header"];
/// Keys of values that are called by a key beside them.
const NAMED: [&str; 2] = ["value", "values"];
/// Longest name that is one, with the keys on the way to it; longer ones are data.
const MAX_NAME: usize = 512;

/// What is shown of values that look like secrets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Veil {
    /// The name whose values a person asked to see.
    revealed: Option<String>,
}

/// Whether a value is hidden, by what stands above it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Hiding {
    /// Nothing above it says that it is a secret.
    #[default]
    Shown,
    /// A name above it may be one of a secret: a value that looks like a setting is none.
    Unless(Harmless),
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
        match (judged(name), above) {
            (_, Hiding::All) => Hiding::All,
            (Some(hiding), _) => hiding,
            (None, Hiding::Below | Hiding::Unless(Harmless::Count)) => {
                if OF_REFERENCES.contains(&key) || is_about(key) { Hiding::Shown } else { Hiding::Below }
            }
            (None, Hiding::Shown | Hiding::Unless(_) | Hiding::Revealed) => Hiding::Shown,
        }
    }

    /// Returns a value as it is shown at a path such as `spec.containers[name=web].env[name=TOKEN].value`.
    pub fn value(&self, path: &str, value: &Value) -> Value {
        self.walk(self.at(path), value)
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
                    (key.clone(), self.walk(self.below(above, key, beside), value))
                };
                Value::Object(map.iter().map(entry).collect())
            }
            Value::Array(items) => self.items(hiding, items),
            Value::String(text) if is_hidden(hiding, text) => Value::from(MASK),
            Value::String(text) if hiding != Hiding::Revealed => Value::from(without_parts(text, &parts(text, self))),
            Value::Number(number) if is_hidden(hiding, &number.to_string()) => Value::from(MASK),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Returns the items of a list, which may be the words of a command line.
    fn items(&self, hiding: Hiding, items: &[Value]) -> Value {
        let words = items.iter().map(|item| match item {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
        });
        let words: Vec<String> = words.collect();
        let mut given = of_arguments(&words, self);
        let item = |(at, item): (usize, &Value)| {
            let word = words.get(at).map_or("", String::as_str);
            match given.remove(&at) {
                Some(given) if hiding != Hiding::Revealed && !is_hidden(hiding, word) => {
                    let all = parts(word, self).into_iter().chain(given).collect();
                    Value::from(without_parts(word, &disjoint(all)))
                }
                Some(_) | None => self.walk(hiding, item),
            }
        };
        Value::Array(items.iter().enumerate().map(item).collect())
    }
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
            assert!(judged(name).is_some(), "{name}");
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
            assert!(judged(name).is_none(), "{name}");
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
    fn what_is_a_setting_of_a_secret_is_shown_and_a_number_as_a_password_is_not() {
        for name in ["password", "secret", "token", "pin", "DB_PASSWORD", "apiKey"] {
            check(&format!("data.{name}"), json!("123456"), json!(MASK));
            check(&format!("data.{name}"), json!(123_456), json!(MASK));
            for setting in ["", "yes", "Off", "required", "none", "$(X)", "${A}-${B}", "{{ .x }}{{ .y }}"] {
                check(&format!("data.{name}"), json!(setting), json!(setting));
            }
        }
        for (name, shown, hidden) in [
            ("tokens", json!(5000), json!("1234567")),
            ("apiKeys", json!("12"), json!("one")),
            ("authorization", json!("rbac"), json!("Basic one")),
            ("auth", json!("basic"), json!("b25lOnR3bw==")),
            ("pwd", json!("/var/www"), json!("one")),
            ("proxy_pass", json!("http://up"), json!("one")),
        ] {
            check(&format!("data.{name}"), shown.clone(), shown);
            check(&format!("data.{name}"), hidden, json!(MASK));
        }
        for name in
            ["fastcgi_pass", "pass_through", "token_limit", "passwordRequired", "existingSecret", "apiKeyHeader"]
        {
            check(&format!("data.{name}"), json!("one"), json!("one"));
        }
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
