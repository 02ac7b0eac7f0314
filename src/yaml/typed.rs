//! Pure. Reads a file into a type. A text field keeps `1.10` and `0755` as written, as it does in Go.
//!
//! Not here: untyped values, which come from the loader only.

use serde::de::DeserializeOwned;

use super::{Dialect, load_one};
use crate::model::Diagnostic;

/// Reads the one document of a file into a type; an empty file reads as an empty map.
///
/// The loader reads it first, so that duplicate keys, second documents and limits are refused with their lines.
pub fn read_typed<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Vec<Diagnostic>> {
    let empty = load_one(file, text, Dialect::Gomplate)?.is_none();
    let parsed = if empty { serde_yaml::from_str("{}") } else { serde_yaml::from_str(text) };
    parsed.map_err(|error| {
        let place = error.location();
        let (line, column) = place.map_or((0, 0), |place| (place.line(), place.column()));
        // The place stands in front of every finding already.
        let whole = error.to_string();
        let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message);
        vec![Diagnostic::error("Y130", file, line, message).at(column, "")]
    })
}

#[cfg(test)]
mod tests {
    use super::read_typed;

    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Typed {
        #[serde(default)]
        version: String,
    }

    #[test]
    fn a_text_field_keeps_what_was_written() {
        assert_eq!(read_typed::<Typed>("f", "version: 1.10\n").unwrap().version, "1.10");
        assert_eq!(read_typed::<Typed>("f", "# nothing\n").unwrap().version, "");
    }

    #[test]
    fn a_wrong_type_names_the_line() {
        let found = read_typed::<Typed>("f", "# first\nversion: [a]\n").unwrap_err();
        assert_eq!(found.first().map(|d| d.line), Some(2), "{found:?}");
    }
}
