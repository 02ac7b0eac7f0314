//! Pure. What actions wrote into a file, with a word in the place of each, and whether the file says what they wrote.
//!
//! Not here: words in place of config values (`places.rs`).

use serde_json::Value;

use crate::yaml::{self, Dialect};

/// Beginnings of words that are tried; each stands in the file only if somebody wrote it there for that.
const MAX_STEMS: usize = 16;

/// Texts that actions wrote, each with a word in its place.
pub(super) struct Written {
    /// Begins each word and stands nowhere else in the file.
    stem: String,
    texts: Vec<String>,
}

impl Written {
    /// Returns an empty one whose words stand nowhere in a text.
    pub(super) fn beside(text: &str) -> Option<Self> {
        let mut stems = (0..MAX_STEMS).map(|number| format!("Wq{number}q"));
        Some(Self { stem: stems.find(|stem| !text.contains(stem))?, texts: Vec::new() })
    }

    /// Keeps a text and returns the word in its place.
    pub(super) fn word_for(&mut self, text: String) -> String {
        let word = format!("{}{}w", self.stem, self.texts.len());
        self.texts.push(text);
        word
    }

    /// Compares a value that has words with what was found in its place. Depth is bounded by the loader.
    pub(super) fn fits(&self, marked: &Value, found: &Value) -> bool {
        match (marked, found) {
            (Value::Array(marked), Value::Array(found)) => {
                marked.len() == found.len() && marked.iter().zip(found).all(|(marked, found)| self.fits(marked, found))
            }
            (Value::Object(marked), Value::Object(found)) => {
                let entry = |(key, marked): (&String, &Value)| {
                    let found = self.meanings(key).iter().find_map(|key| found.get(key.as_str()?));
                    found.is_some_and(|found| self.fits(marked, found))
                };
                marked.len() == found.len() && marked.iter().all(entry)
            }
            (Value::String(text), found) if text.contains(&self.stem) => {
                let found = found.as_str().map_or_else(|| found.clone(), |found| Value::from(found.trim()));
                self.meanings(text).contains(&found)
            }
            (marked, found) => marked == found,
        }
    }

    /// Returns what a scalar with words may be: what is written in their place, or what that says if it has quotes of its own.
    fn meanings(&self, text: &str) -> Vec<Value> {
        let mut parts = text.split(&self.stem);
        let mut restored = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once('w').unwrap_or_default();
            let written = number.parse().ok().and_then(|number: usize| self.texts.get(number));
            restored.push_str(written.map_or("", String::as_str));
            restored.push_str(rest);
        }
        let restored = restored.trim();
        let mut meanings = vec![Value::from(restored), yaml::plain_scalar(restored)];
        if restored.starts_with(['"', '\'']) && text.starts_with(&self.stem) {
            let read = yaml::load_one("", restored, Dialect::Gomplate).ok().flatten();
            let said = read.and_then(|read| Some(Value::from(read.value.as_str()?.trim())));
            meanings.extend(said);
        }
        meanings
    }
}
