//! Whether what a server says of a request quotes a value of it that looks like a secret.
//!
//! Servers name the value that they refuse. Of a Secret they are never quoted; of any other object they are, unless that would show what every
//! output hides. Not here: what looks like a secret (`model::veil`), what is told instead (`told.rs`).

use serde_json::Value;

use crate::model::Veil;
use crate::model::veil::parts;

/// Characters from which on a value is taken for quoted wherever it stands. A shorter one is found in many a word by chance, such as in the name
/// that a server makes up.
const MIN_ANYWHERE: usize = 8;

/// Returns whether a message quotes a value of an object that every output hides.
pub(super) fn quotes_secret(message: &str, object: &Value) -> bool {
    let veil = Veil::default();
    let shown = veil.value("", object);
    let mut pairs = vec![(object, &shown)];
    while let Some((value, shown)) = pairs.pop() {
        match (value, shown) {
            (Value::Object(map), Value::Object(shown)) => {
                pairs.extend(map.iter().filter_map(|(key, value)| Some((value, shown.get(key)?))));
            }
            (Value::Array(items), Value::Array(shown)) => pairs.extend(items.iter().zip(shown)),
            (value, shown) if value == shown => {}
            (Value::String(text), _) => {
                let hidden = parts(text, &veil).into_iter().filter_map(|part| text.get(part.span));
                // A server may quote the password of an address without its user.
                let hidden = hidden.flat_map(|part| [part, part.rsplit(':').next().unwrap_or_default()]);
                if hidden.chain([text.as_str()]).any(|text| is_quoted(message, text)) {
                    return true;
                }
            }
            (value, _) if stands_in(message, &value.to_string()) => return true,
            _ => {}
        }
    }
    false
}

/// Returns whether a text stands in a message, as it is or with its quotes and line breaks escaped.
fn is_quoted(message: &str, text: &str) -> bool {
    let escaped = Value::from(text).to_string();
    let escaped = escaped.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
    !text.is_empty() && (stands_in(message, text) || stands_in(message, escaped))
}

/// Returns whether a text stands in a message: a short one as words of its own.
fn stands_in(message: &str, text: &str) -> bool {
    let is_long = text.chars().nth(MIN_ANYWHERE - 1).is_some();
    let ends = |text: &str| (text.chars().next().map(is_of_word), text.chars().next_back().map(is_of_word));
    let (first, last) = ends(text);
    message.match_indices(text).any(|(at, _)| {
        let (before, after) =
            (message.get(..at).unwrap_or_default(), message.get(at + text.len()..).unwrap_or_default());
        // Of `\nx` the first letter is no part of a word.
        let is_escape = before.len() > 1 && before.get(..before.len() - 1).is_some_and(|more| more.ends_with('\\'));
        let begins = first != Some(true) || is_escape || ends(before).1 != Some(true);
        let finishes = last != Some(true) || ends(after).0 != Some(true);
        is_long || (begins && finishes)
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_that_quotes_what_looks_like_a_secret_is_told_from_one_that_does_not() {
        let env = |value: Value| {
            json!({"kind": "Deployment", "spec": {"containers": [{"name": "web", "env": [{"name": "DB_PASSWORD", "value": value},
                {"name": "MODE", "value": 5}]}]}})
        };
        let map = |value: Value| json!({"kind": "ConfigMap", "data": {"password": value, "mode": {"x": "plain"}}});
        for (object, message, expected) in [
            (env(json!(7777777777777_u64)), "expected string, got &value.valueUnstructured{Value:7777777777777}", true),
            (env(json!(-3.5)), "got Value:-3.5", true),
            (env(json!("a\"b")), "Invalid value: \"a\\\"b\": no", true),
            (env(json!("birch")), "Invalid value: birch", true),
            (env(json!("birch")), "expected string, got &value.valueUnstructured{Value:5}", false),
            (map(json!({"x": ["birch"]})), "got map[x:[birch]]", true),
            (map(json!({"x": 1})), "got map[x:plain]", false),
            (
                json!({"spec": {"externalName": "me:birch@host", "url": "https://me:birch@host/"}}),
                "Invalid value: \"https://me:birch@host/\"",
                true,
            ),
            (json!({"spec": {"url": "https://me:birch@host/"}}), "userinfo birch is not allowed", true),
            (json!({"spec": {"url": "https://host/"}}), "https://host/ is not allowed", false),
            (json!({"spec": {"args": ["--password", "birch"]}}), "args: birch", true),
            (map(json!("x")), "configmaps \"frozen-x7k2p\" is forbidden: no example of exact words, 0x1, xx", false),
            (map(json!("x")), "Invalid value: \"x\": no", true),
            (map(json!("x")), "got map[password:x]", true),
            (map(json!("x")), "got \"password: 1\\nx\"", true),
            (map(json!("é")), "née, é", true),
            (map(json!("é")), "née", false),
            (map(json!("-x-")), "a-x-b", true),
            (map(json!(5)), "15 of 57 fields", false),
            (map(json!(5)), "got Value:5}", true),
            (map(json!("birches1")), "sha256-birches12", true),
            (
                json!({"data": {"app.ini": "host = db\nsecret_key = birch\n"}}),
                "app.ini: host = db\\nsecret_key = birch",
                true,
            ),
        ] {
            assert_eq!(quotes_secret(message, &object), expected, "{message} of {object}");
        }
    }
}
