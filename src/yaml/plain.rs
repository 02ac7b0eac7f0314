//! Pure. Documents as gomplate's `data.YAML` sees them: with times, floats of any kind and keys of any type.
//!
//! Not here: values of Kubernetes objects and our own files, which JSON can hold (`build.rs`).

use serde_json::Number;

use super::Dialect;
use super::scalar::{self, Reading};
use super::tree::{self, Content, Node, Style, Tree};
use crate::base::limits::{MAX_MANIFEST_BYTES, MAX_YAML_DEPTH};
use crate::model::Diagnostic;

/// A value of a document.
#[derive(Clone, PartialEq, Debug)]
pub enum Plain {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number that JSON can hold.
    Number(Number),
    /// An infinity, or not a number.
    NotFinite(f64),
    /// A point in time, as RFC 3339 text.
    Time(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Plain>),
    /// A map, in the order of the text; merge keys are resolved.
    Map(Vec<Entry>),
}

/// An entry of a map.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key.
    pub key: Plain,
    /// The key as it is written, without quotes.
    pub spelled: String,
    /// The value.
    pub value: Plain,
}

/// Reads the first document of a text that holds something; nothing when there is no document, also no empty one.
///
/// The line of a finding counts in the text.
pub fn load_plain(text: &str) -> Result<Option<Plain>, Box<Diagnostic>> {
    if text.len() > MAX_MANIFEST_BYTES {
        let message = format!("the text has {} bytes, at most {MAX_MANIFEST_BYTES} are read", text.len());
        return Err(Box::new(Diagnostic::error("Y120", "", 1, message)));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Our parser lets it pass at the begin of a text, yaml.v3 does not.
    if text.trim_start_matches(['\n', '\r']).starts_with('\t') {
        return Err(Box::new(Diagnostic::error("Y111", "", 1, "the text begins with a tab")));
    }
    let tree = tree::parse("", text, MAX_YAML_DEPTH)?;
    let mut found = None;
    for root in &tree.roots {
        let value = value(&tree, *root)?;
        let empty = value == Plain::Null;
        found = Some(value);
        if !empty {
            break;
        }
    }
    Ok(found)
}

fn refuse<T>(node: &Node, message: &str) -> Result<T, Box<Diagnostic>> {
    Err(Box::new(Diagnostic::error("Y111", "", node.start.line, message)))
}

/// Recursion is bounded, because the tree refuses deep nesting with aliases expanded.
fn value(tree: &Tree, index: usize) -> Result<Plain, Box<Diagnostic>> {
    let node = tree.node(index);
    match &node.content {
        Content::Alias(target) => value(tree, *target),
        Content::Scalar(text) => scalar(node, text),
        Content::List(items) => Ok(Plain::List(items.iter().map(|item| value(tree, *item)).collect::<Result<_, _>>()?)),
        Content::Map(pairs) => map(tree, pairs),
    }
}

fn scalar(node: &Node, text: &str) -> Result<Plain, Box<Diagnostic>> {
    let core = node.tag.as_deref().and_then(|tag| tag.strip_prefix("tag:yaml.org,2002:"));
    let reading = match (core, &node.tag) {
        (Some("str"), _) => Reading::Text,
        (None, None) if node.style != Style::Plain => Reading::Text,
        (None, None) => scalar::read(text, Dialect::Gomplate),
        (Some(tag), _) => match (tag, scalar::read(text, Dialect::Gomplate)) {
            ("null", reading @ Reading::Null) | ("bool", reading @ Reading::Bool(_)) => reading,
            ("int", Reading::Number(number)) if !number.is_f64() => Reading::Number(number),
            ("float", reading @ (Reading::Number(_) | Reading::NotFinite)) => reading,
            ("timestamp", reading @ Reading::Time(_)) => reading,
            _ => return refuse(node, "a tag does not fit its value"),
        },
        _ => return refuse(node, "a tag is refused here"),
    };
    Ok(match reading {
        Reading::Null => Plain::Null,
        Reading::Bool(flag) => Plain::Bool(flag),
        Reading::Number(number) => Plain::Number(number),
        Reading::NotFinite => Plain::NotFinite(match text.chars().next() {
            _ if text.eq_ignore_ascii_case(".nan") => f64::NAN,
            Some('-') => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        }),
        Reading::Time(time) => Plain::Time(time),
        Reading::Text => Plain::Text(text.to_owned()),
    })
}

fn map(tree: &Tree, pairs: &[(usize, usize)]) -> Result<Plain, Box<Diagnostic>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut merged: Vec<Entry> = Vec::new();
    for (key, item) in pairs {
        let node = tree.node(*key);
        if node.style == Style::Plain && matches!(&node.content, Content::Scalar(text) if text == "<<") {
            merge(tree, *item, &mut merged)?;
            continue;
        }
        let spelled = spelled(tree, node);
        let key = value(tree, *key)?;
        if matches!(key, Plain::List(_) | Plain::Map(_)) {
            return refuse(node, "a map or list cannot be a key");
        }
        if entries.iter().any(|known| known.key == key) {
            return refuse(node, "a key is set twice");
        }
        entries.push(Entry { key, spelled, value: value(tree, *item)? });
    }
    for entry in merged {
        if !entries.iter().any(|known| known.key == entry.key) {
            entries.push(entry);
        }
    }
    Ok(Plain::Map(entries))
}

fn spelled(tree: &Tree, node: &Node) -> String {
    match &node.content {
        Content::Scalar(text) => text.clone(),
        Content::Alias(target) => match &tree.node(*target).content {
            Content::Scalar(text) => text.clone(),
            Content::List(_) | Content::Map(_) | Content::Alias(_) => String::new(),
        },
        Content::List(_) | Content::Map(_) => String::new(),
    }
}

/// Takes the entries of `<<`; of several maps the first one counts.
fn merge(tree: &Tree, index: usize, merged: &mut Vec<Entry>) -> Result<(), Box<Diagnostic>> {
    let node = tree.node(index);
    let maps = match value(tree, index)? {
        Plain::List(items) => items,
        single => vec![single],
    };
    for map in maps {
        let Plain::Map(entries) = map else { return refuse(node, "<< wants a map or a list of maps") };
        for entry in entries {
            if !merged.iter().any(|known| known.key == entry.key) {
                merged.push(entry);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Plain, load_plain};

    /// Checks the entries of a map, printed one by one.
    fn check(text: &str, expected: &[&str]) {
        let Some(Plain::Map(entries)) = load_plain(text).unwrap() else { unreachable!("a map was written") };
        let found: Vec<String> =
            entries.iter().map(|entry| format!("{} {:?} {:?}", entry.spelled, entry.key, entry.value)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn keys_and_values_keep_their_types() {
        check(
            "---\n# nothing\n---\n1: .inf\ntrue: 2024-01-02\n",
            &["1 Number(Number(1)) NotFinite(inf)", "true Bool(true) Time(\"2024-01-02T00:00:00Z\")"],
        );
    }

    #[test]
    fn written_keys_count_more_than_merged_ones() {
        check("<<: {x: 1, y: 2}\nx: 3\n", &["x Text(\"x\") Number(Number(3))", "y Text(\"y\") Number(Number(2))"]);
    }

    #[test]
    fn what_yaml_v3_refuses_is_refused() {
        assert_eq!(load_plain("a: 1\n\"a\": 2\n").unwrap_err().line, 2);
        for text in ["a: &a [*a]\n", "{[1]: 2}\n", "\ta: 1", "...", "a: !!int x", "a: !own x"] {
            assert!(load_plain(text).is_err(), "{text}");
        }
        assert_eq!((load_plain("# c\n").unwrap(), load_plain("~").unwrap()), (None, Some(Plain::Null)));
    }
}
