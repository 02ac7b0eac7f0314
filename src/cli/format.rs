//! Prints what a command found: a table, JSON, YAML or names. JSON and YAML hold everything that the text says.
//!
//! Not here: tables themselves (`table.rs`).

use serde_json::{Map, Value};

use super::arguments::Format;
use super::json::text;
use super::session::Session;
use crate::base::escaped;
use crate::yaml;

/// Version of every document that we print.
const API_VERSION: &str = "rewild.dev/v1";

/// A document to print.
pub(super) struct Document<'a> {
    /// Its kind, such as `AppList`.
    pub(super) kind: &'a str,
    /// What the API answered.
    pub(super) value: Value,
    /// Key of the list in it, and the word for one item; nothing if it is one thing.
    pub(super) items: Option<(&'a str, &'a str)>,
}

impl Session<'_> {
    /// Prints a document, as a text that is made only where people read it.
    pub(super) fn print(&mut self, document: Document<'_>, people: impl FnOnce(&Value) -> String) {
        let Document { kind, value, items } = document;
        let text = match self.format() {
            Format::Table | Format::Wide => harmless(&people(&value)),
            Format::Json | Format::Sarif => format!("{:#}\n", with_kind(kind, value)),
            Format::Yaml => yaml::write(&with_kind(kind, value)),
            Format::Name => harmless(&names(&value, items)),
        };
        self.out.data(&text);
    }
}

/// Returns a text for people in which nothing acts on a terminal or turns the rest round: what it tells of may come from anybody.
pub(super) fn harmless(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(escaped).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn with_kind(kind: &str, value: Value) -> Value {
    let mut document = Map::new();
    document.insert("apiVersion".to_owned(), Value::from(API_VERSION));
    document.insert("kind".to_owned(), Value::from(kind));
    match value {
        Value::Object(fields) => document.extend(fields),
        other => {
            document.insert("value".to_owned(), other);
        }
    }
    Value::Object(document)
}

fn names(value: &Value, items: Option<(&str, &str)>) -> String {
    let name = |item: &Value| {
        let keys = ["name", "id", "app", "operation_id"];
        keys.iter().map(|key| text(item, key)).find(|name| !name.is_empty()).unwrap_or_default().to_owned()
    };
    match items {
        Some((key, word)) => {
            super::json::list(value, key).iter().map(|item| format!("{word}/{}\n", name(item))).collect()
        }
        None => format!("{}\n", name(value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_says_first_what_it_is() {
        assert_eq!(
            with_kind("App", json!({"name": "ghost"})).to_string(),
            r#"{"apiVersion":"rewild.dev/v1","kind":"App","name":"ghost"}"#
        );
    }

    #[test]
    fn what_would_act_on_a_terminal_is_written_as_its_number() {
        let told = "APP\tnamespace a\u{1b}[31m\u{1b}]0;t\u{7}\u{202e}b\r\n";
        assert_eq!(harmless(told), "APP\tnamespace a\\u{1b}[31m\\u{1b}]0;t\\u{7}\\u{202e}b\\r\n");
        assert_eq!(harmless("Zoë … ✓\n"), "Zoë … ✓\n");
    }

    #[test]
    fn names_are_printed_one_per_line() {
        let value = json!({"apps": [{"name": "ghost"}, {"name": "immich"}]});
        assert_eq!(names(&value, Some(("apps", "app"))), "app/ghost\napp/immich\n");
        assert_eq!(names(&json!({"id": "op_1"}), None), "op_1\n");
    }
}
