//! Which names, labels and annotations the API server takes.
//!
//! Not here: the rest of an object (`validate.rs`).

use serde_json::{Value, json};

use crate::sandbox::failure::Cause;
use crate::sandbox::write::{map_of, metadata_text};
use crate::schema::Kind;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/// Longest name of most kinds, and longest prefix of a label.
const MAX_NAME: usize = 253;
/// Longest name of kinds that become host names, longest name of a label, and longest value of one.
const MAX_LABEL: usize = 63;
/// Most bytes of all annotations of an object.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Checks the name of a new object.
pub(crate) fn check_name(object: &Value, kind: &Kind, causes: &mut Vec<Cause>) {
    let name = metadata_text(object, "name");
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
        return;
    }
    let label = |name: &str| name.split('.').count() == 1 && is_subdomain(name) && name.len() <= MAX_LABEL;
    let (good, why) = match (kind.group, kind.kind) {
        ("", "Namespace") => (label(name), LABEL),
        ("", "Service") => (label(name), LABEL),
        ("rbac.authorization.k8s.io", _) => {
            (!name.contains(['/', '%']) && name != "." && name != "..", "may not contain '/'")
        }
        _ => (is_subdomain(name) && name.len() <= MAX_NAME, SUBDOMAIN),
    };
    if !good {
        causes.push(Cause::invalid("metadata.name", &json!(name), why));
    }
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(|part| {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(good) && part.ends_with(good) && part.chars().all(|c| good(c) || c == '-')
    })
}

/// Checks labels and annotations.
pub(crate) fn check_labels(object: &Value, causes: &mut Vec<Cause>) {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    for (key, value) in map_of(metadata, "labels").into_iter().flatten() {
        causes.extend(key_trouble(key).map(|why| Cause::invalid("metadata.labels", &json!(key), &why)));
        let text = value.as_str().unwrap_or("");
        let fits = text.is_empty() || (is_name_part(text) && text.len() <= MAX_LABEL);
        if !fits {
            causes.push(Cause::invalid("metadata.labels", value, VALUE));
        }
    }
    let mut size = 0;
    for (key, value) in map_of(metadata, "annotations").into_iter().flatten() {
        let lower = key.to_lowercase();
        causes.extend(key_trouble(&lower).map(|why| Cause::invalid("metadata.annotations", &json!(key), &why)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        causes.push(Cause::too_long("metadata.annotations", MAX_ANNOTATIONS));
    }
}

fn key_trouble(key: &str) -> Option<String> {
    let (prefix, name) = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => return Some(KEY.to_owned()),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix) || prefix.len() > MAX_NAME) {
        return Some(format!("prefix part {SUBDOMAIN}"));
    }
    (!is_name_part(name) || name.len() > MAX_LABEL).then(|| NAME_PART.to_owned())
}

fn is_name_part(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(good) && text.ends_with(good) && text.chars().all(|c| good(c) || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::{is_subdomain, key_trouble};

    #[test]
    fn names_are_lower_case_words_with_dots() {
        for (name, good) in [("a", true), ("a-b.c", true), ("-a", false), ("a..b", false), ("A", false), ("a_b", false)]
        {
            assert_eq!(is_subdomain(name), good, "{name}");
        }
    }

    #[test]
    fn keys_have_at_most_one_prefix() {
        for (key, good) in
            [("a", true), ("x.y/A_b", true), ("X/a", false), ("a/b/c", false), ("/a", false), ("a b", false)]
        {
            assert_eq!(key_trouble(key).is_none(), good, "{key}");
        }
    }
}
