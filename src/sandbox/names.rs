//! Which names, labels and annotations the API server takes.
//!
//! Not here: the rest of an object (`validate.rs`).

use serde_json::{Value, json};

use crate::sandbox::failure::Cause;
use crate::sandbox::write::{map_of, metadata_text};
use crate::schema::{Kind, NameRule, name_rule};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DOTS: &str = "must not contain dots";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/// Longest name of a label, and longest value of one.
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
    let rule = name_rule(kind.group, kind.kind);
    let why = match rule {
        NameRule::Label if name.contains('.') => DOTS,
        NameRule::Label => LABEL,
        NameRule::Subdomain => SUBDOMAIN,
        NameRule::PathSegment => {
            causes.extend(not_in_path(name).map(|why| Cause::invalid("metadata.name", &json!(name), &why)));
            return;
        }
    };
    if !rule.allows(name) {
        causes.push(Cause::invalid("metadata.name", &json!(name), why));
    }
}

/// Returns why a name is no part of a path.
fn not_in_path(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ => ["/", "%"].into_iter().find(|part| name.contains(part)).map(|part| format!("may not contain '{part}'")),
    }
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
    if prefix.is_some_and(|prefix| !NameRule::Subdomain.allows(prefix)) {
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
    use super::{key_trouble, not_in_path};

    #[test]
    fn a_name_that_is_no_part_of_a_path_is_told_why() {
        assert_eq!(["a", "a:b ?", "", "."].map(|name| not_in_path(name).is_some()), [false, false, false, true]);
        assert_eq!(not_in_path("a/b%"), Some("may not contain '/'".to_owned()));
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
