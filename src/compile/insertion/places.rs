//! Pure. Where texts stand in a config, and the config with words in place of some of them.
//!
//! Not here: which texts want a look, and what the words do in a file (`insertion`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::template::Rendered;

/// Where a text stands in the config.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    /// Keys and positions from the root.
    pub(super) path: Vec<String>,
    /// Whether it is the last key of the path and not the value there.
    pub(super) is_key: bool,
}

impl Place {
    /// Returns the text that stands there.
    pub(super) fn text<'a>(&'a self, config: &'a Map<String, Value>) -> Option<&'a str> {
        if self.is_key { self.path.last().map(String::as_str) } else { value_at(config, &self.path)?.as_str() }
    }

    /// Returns the path as people know it: the oldest packages see the whole config once more under `config`.
    pub(super) fn shown<'a>(&'a self, config: &Map<String, Value>) -> &'a [String] {
        match self.path.split_first() {
            Some((first, rest)) if first == "config" && value_at(config, rest).is_some() => rest,
            _ => &self.path,
        }
    }
}

fn value_at<'a>(config: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let below = |value: &'a Value, key: &String| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    };
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(config.get(first)?, below)
}

/// Returns whether a template read what is at a path, or a map or list around it. The oldest packages read `config` as a data
/// source, whose reads are told without its name.
pub(super) fn is_read(path: &[String], rendered: &Rendered) -> bool {
    let starts = |path: &[String]| {
        (0..=path.len()).filter_map(|length| path.get(..length)).any(|start| rendered.reads.contains(&start.join(".")))
    };
    starts(path) || path.split_first().is_some_and(|(first, rest)| first == "config" && starts(rest))
}

/// Returns whether a path is one of those that may hold structure, or below one.
pub(super) fn is_structural(path: &[String], structural: &[String]) -> bool {
    (1..=path.len()).filter_map(|length| path.get(..length)).any(|start| structural.contains(&start.join(".")))
}

/// Collects the places of texts that want a look.
pub(super) fn find(
    map: &Map<String, Value>,
    is_doubtful: fn(&str) -> bool,
    path: &mut Vec<String>,
    found: &mut Vec<Place>,
) {
    for (key, item) in map {
        path.push(key.clone());
        if is_doubtful(key) {
            found.push(Place { path: path.clone(), is_key: true });
        }
        find_in(item, is_doubtful, path, found);
        path.pop();
    }
}

fn find_in(value: &Value, is_doubtful: fn(&str) -> bool, path: &mut Vec<String>, found: &mut Vec<Place>) {
    match value {
        Value::String(text) if is_doubtful(text) => found.push(Place { path: path.clone(), is_key: false }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                path.push(position.to_string());
                find_in(item, is_doubtful, path, found);
                path.pop();
            }
        }
        Value::Object(map) => find(map, is_doubtful, path, found),
    }
}

/// Returns a config with words in place of what stands at some places. Depth is bounded by the loader of the config.
pub(super) fn with_words(
    config: &Map<String, Value>,
    words: &BTreeMap<Place, String>,
    path: &mut Vec<String>,
    marks: &mut Vec<(String, String)>,
) -> Map<String, Value> {
    let mut marked = Map::new();
    for (key, value) in config {
        path.push(key.clone());
        let word = words.get(&Place { path: path.clone(), is_key: true });
        marks.extend(word.map(|word| (word.clone(), key.clone())));
        marked.insert(word.unwrap_or(key).clone(), value_with_words(value, words, path, marks));
        path.pop();
    }
    marked
}

fn value_with_words(
    value: &Value,
    words: &BTreeMap<Place, String>,
    path: &mut Vec<String>,
    marks: &mut Vec<(String, String)>,
) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => match words.get(&Place { path: path.clone(), is_key: false }) {
            Some(word) => {
                marks.push((word.clone(), text.clone()));
                Value::from(word.as_str())
            }
            None => value.clone(),
        },
        Value::Array(items) => {
            let item = |(position, item): (usize, &Value)| {
                path.push(position.to_string());
                let item = value_with_words(item, words, path, marks);
                path.pop();
                item
            };
            Value::Array(items.iter().enumerate().map(item).collect())
        }
        Value::Object(map) => Value::Object(with_words(map, words, path, marks)),
    }
}
