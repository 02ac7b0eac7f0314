//! Pure. Sees to it that a config value stays a value: it must not add a key, a document or a list item to a file.
//!
//! Templates are text, so `domain: {{ .domain }}` with a value of two lines would add a key of the attacker's choice. Values
//! and keys that could do such a thing are replaced by harmless words, the file is rendered once more, and both results must
//! have the same shape (`T310`) and say the same where quotes stand around the value (`T311`); a text that becomes a number, a
//! boolean or nothing is a warning (`T312`). A template that splits a value or asks what it is becomes another file that way, so
//! the words stand once more for what its actions write: a file that fits then is good too. Files whose values are all harmless
//! cost nothing. Paths below `render.structural` of the manifest may hold structure. Values in scripts and other text cannot be
//! checked; where one holds more than letters and digits, that is said (`T313`).
//!
//! Not here: what the values mean, and texts that only kubectl takes for a boolean (`yaml`, `Y101`).

mod places;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use self::places::{Place, find, is_read, is_structural, with_words};
use self::written::Written;
use super::generate::context;
use crate::model::{Diagnostic, Severity};
use crate::template::{self, Rendered};
use crate::yaml::{self, Dialect};

/// Values of one app that are examined one by one to name the one at fault.
const MAX_EXAMINED: usize = 100;

/// Checks a rendered file: what `template` gave with `config`, where the paths of `structural` may change the structure.
/// Returns warnings and notes.
pub(super) fn check(
    file: &str,
    template: &str,
    rendered: &Rendered,
    config: &Map<String, Value>,
    structural: &[String],
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let read = |is_doubtful: fn(&str) -> bool| {
        let mut found = Vec::new();
        find(config, is_doubtful, &mut Vec::new(), &mut found);
        found.retain(|place| is_read(&place.path, rendered) && !is_structural(&place.path, structural));
        found
    };
    let risky = read(is_risky);
    let Some(syntax) = Syntax::of(file) else { return Ok(unchecked(file, &risky, config)) };
    let look = Look { syntax, file, template, text: &rendered.text, config };
    let worst = match look.with(&risky) {
        Some(fit) if fit < Fit::Altered => fit,
        _ if look.as_written(&is_risky) => Fit::Same,
        fit => fit.unwrap_or(Fit::Broken),
    };
    let told = |guilty: Vec<(Place, Fit)>| {
        let mut findings = Vec::new();
        for (place, fit) in guilty {
            let finding = finding(file, place.shown(config), fit);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        findings
    };
    if worst >= Fit::Altered {
        return Err(told(look.guilty(risky, worst)));
    }
    let mut shifty = if syntax == Syntax::Yaml { read(is_shifty) } else { Vec::new() };
    shifty.retain(|place| !place.is_key);
    // Such a value cannot break anything: where the file has another shape without it, a condition looked at it.
    let mut retyped = if look.with(&shifty) == Some(Fit::Same) { Vec::new() } else { look.each(&shifty) };
    retyped.retain(|(_, fit)| *fit == Fit::Retyped);
    Ok(told(retyped))
}

/// Notes that values which mean something to many languages stand in a file whose language nobody here knows.
fn unchecked(file: &str, risky: &[Place], config: &Map<String, Value>) -> Vec<Diagnostic> {
    let keys: BTreeSet<String> = risky.iter().map(|place| place.shown(config).join(".")).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    let message = format!("nothing checks what the values of the config keys {} mean in this file", keys.join(", "));
    let note = Diagnostic { severity: Severity::Info, ..Diagnostic::warning("T313", file, 0, message) };
    if keys.is_empty() { Vec::new() } else { vec![note] }
}

fn finding(file: &str, path: &[String], fit: Fit) -> Diagnostic {
    let key = path.join(".");
    match fit {
        Fit::Same | Fit::Retyped => {
            let message = format!("the text of the config key {key} becomes a number, a boolean or nothing");
            let hint = format!("write {{{{ .{key} | quote }}}} in the template if a text is meant");
            Diagnostic::warning("T312", file, 0, message).with_hint(hint)
        }
        Fit::Altered => {
            let message = format!("the value of the config key {key} is altered by the quotes around it");
            let hint = format!("write {{{{ .{key} | toJSON }}}} in the template without quotes around it");
            Diagnostic::error("T311", file, 0, message).with_hint(hint)
        }
        Fit::Broken => {
            let message = format!("the value of the config key {key} changes the structure of the file");
            let hint = format!(
                "write {{{{ .{key} | quote }}}} or {{{{ .{key} | toJSON }}}} in the template, or change the value"
            );
            Diagnostic::error("T310", file, 0, message).with_hint(hint)
        }
    }
}

/// How a file fits what its template means; the worst is the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fit {
    /// It says what is meant.
    Same,
    /// A text became a value of another type.
    Retyped,
    /// Quotes around the value gave it another meaning.
    Altered,
    /// Maps, lists, keys or documents are others, or a part of the value was lost.
    Broken,
}

/// What a file's shape is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// Documents, maps, lists.
    Yaml,
    /// Lines.
    Lines,
}

impl Syntax {
    fn of(file: &str) -> Option<Self> {
        let ends = |endings: &[&str]| endings.iter().any(|ending| file.ends_with(ending));
        match () {
            () if ends(&[".yaml", ".yml", ".json"]) => Some(Self::Yaml),
            () if ends(&[".env", ".properties"]) => Some(Self::Lines),
            () => None,
        }
    }

    /// Returns what is in a text; nothing if it cannot be read.
    fn read(self, file: &str, text: &str) -> Option<Vec<Value>> {
        match self {
            Self::Lines => Some(text.lines().map(|_| Value::Null).collect()),
            Self::Yaml => {
                let loaded = yaml::load(file, text, Dialect::Gomplate).ok()?;
                Some(loaded.documents.into_iter().map(|document| document.value).collect())
            }
        }
    }
}

/// Compares a value with the marked one with its marks turned back: the same maps, lists and keys, and no text that was lost to a
/// comment or to a mark of YAML. Depth is bounded by the loader.
fn fit(marked: &Value, found: &Value, marks: &[(String, String)]) -> Fit {
    let restored = |text: &str| marks.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
    let worst = |fits: &mut dyn Iterator<Item = Fit>| fits.max().unwrap_or(Fit::Same);
    match (marked, found) {
        (Value::Array(marked), Value::Array(found)) if marked.len() == found.len() => {
            worst(&mut marked.iter().zip(found).map(|(marked, found)| fit(marked, found, marks)))
        }
        (Value::Object(marked), Value::Object(found)) if marked.len() == found.len() => {
            // A key may hold an inserted value.
            let entry = |(key, marked): (&String, &Value)| {
                found.get(&restored(key)).map_or(Fit::Broken, |found| fit(marked, found, marks))
            };
            worst(&mut marked.iter().map(entry))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => Fit::Broken,
        (Value::String(text), found) if marks.iter().any(|(mark, _)| text.contains(mark)) => {
            fit_text(restored(text).trim(), found)
        }
        (_, _) => Fit::Same,
    }
}

/// Compares what a scalar with inserted values was read as with the text that is meant.
fn fit_text(intended: &str, found: &Value) -> Fit {
    match found {
        Value::String(found) if found.trim() == intended => Fit::Same,
        Value::String(found) if is_cut(intended, found.trim()) => Fit::Broken,
        Value::String(found) if is_unquoted(intended, found.trim()) => Fit::Altered,
        // A number that is written as it is read is meant as one.
        Value::Number(number) if number.to_string() == intended => Fit::Same,
        _ if yaml::plain_scalar(intended) == *found => Fit::Retyped,
        Value::Null if !intended.is_empty() => Fit::Broken,
        _ => Fit::Same,
    }
}

/// Returns whether a text is what quotes make of another one: of its backslashes, doubled quotes and line ends.
fn is_unquoted(intended: &str, found: &str) -> bool {
    ['"', '\''].into_iter().any(|quote| {
        let read = yaml::load_one("", &format!("{quote}{intended}{quote}"), Dialect::Gomplate);
        read.is_ok_and(|read| read.is_some_and(|read| read.value.as_str().map(str::trim) == Some(found)))
    })
}

/// Returns whether a text was read as nothing or only up to a comment. Other differences are the template's own doing.
fn is_cut(intended: &str, found: &str) -> bool {
    match intended.strip_prefix(found) {
        Some(rest) => !rest.is_empty() && (found.is_empty() || rest.trim_start().starts_with('#')),
        None => false,
    }
}

/// A rendered file beside what it is with words in place of values.
#[derive(Clone, Copy)]
struct Look<'a> {
    syntax: Syntax,
    file: &'a str,
    template: &'a str,
    text: &'a str,
    config: &'a Map<String, Value>,
}

impl Look<'_> {
    /// Compares the file with what it is when what stands at these places is replaced by harmless words; nothing where that
    /// cannot be told.
    fn with(&self, places: &[Place]) -> Option<Fit> {
        if places.is_empty() {
            return Some(Fit::Same);
        }
        let numbered = |(number, place): (usize, &Place)| (place.clone(), format!("Wq{number:04}wQ"));
        let words: BTreeMap<Place, String> = places.iter().enumerate().map(numbered).collect();
        let mut marks = Vec::new();
        let marked = with_words(self.config, &words, &mut Vec::new(), &mut marks);
        // A file that needs the value as it is, say as a number, is no insertion of text.
        let rendered = template::render(self.file, self.template, &context(&marked)).ok()?;
        match (self.syntax.read(self.file, &rendered.text), self.syntax.read(self.file, self.text)) {
            (Some(marked), Some(found)) if found.len() == marked.len() => {
                marked.iter().zip(&found).map(|(marked, found)| fit(marked, found, &marks)).max().or(Some(Fit::Same))
            }
            (Some(_), _) => Some(Fit::Broken),
            // A file that is broken with any value: the build says where.
            (None, None) => Some(Fit::Same),
            (None, Some(_)) => None,
        }
    }

    /// Looks at places one by one.
    fn each(&self, places: &[Place]) -> Vec<(Place, Fit)> {
        let one = |place: &Place| Some((place.clone(), self.with(std::slice::from_ref(place))?));
        places.iter().take(MAX_EXAMINED).filter_map(one).collect()
    }

    /// Returns the places at fault for a file that does not fit.
    fn guilty(&self, places: Vec<Place>, worst: Fit) -> Vec<(Place, Fit)> {
        let mut guilty = self.each(&places);
        guilty.retain(|(_, fit)| *fit >= worst);
        if guilty.is_empty() {
            let is_written_badly = |place: &&Place| {
                let text = place.text(self.config).unwrap_or_default();
                !self.as_written(&|written: &str| written.contains(text))
            };
            guilty = places.iter().take(MAX_EXAMINED).filter(is_written_badly).map(|it| (it.clone(), worst)).collect();
        }
        // Where only several values together do it, all of them are named.
        if guilty.is_empty() { places.into_iter().map(|place| (place, worst)).collect() } else { guilty }
    }

    /// Returns whether the file is the same with harmless words in place of the doubtful texts that its actions write. Conditions
    /// and loops meet the real values, so nothing else may differ.
    fn as_written(&self, is_doubtful: &dyn Fn(&str) -> bool) -> bool {
        let Some(mut written) = Written::beside(self.text) else { return false };
        let mut replace = |text: String| if is_doubtful(&text) { written.word_for(text) } else { text };
        let rendered = template::render_replacing(self.file, self.template, &context(self.config), &mut replace);
        let Ok(rendered) = rendered else { return false };
        match (self.syntax.read(self.file, &rendered.text), self.syntax.read(self.file, self.text)) {
            (Some(marked), Some(found)) => {
                marked.len() == found.len()
                    && marked.iter().zip(&found).all(|(marked, found)| written.fits(marked, found))
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// Returns whether a text that is written bare means something else; a number that reads as it is written does not.
fn is_shifty(text: &str) -> bool {
    match yaml::plain_scalar(text) {
        Value::Number(number) => number.to_string() != text,
        Value::String(_) => false,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// Only letters, digits and marks that mean nothing to YAML inside a word are harmless; a colon is so before a character.
fn is_risky(text: &str) -> bool {
    let harmless = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '.' | '_' | '/' | '+' | '=' | '(' | ')' | ';' | ' ' | '-' | ':' | '@' | '$' | '^' | '<')
    };
    !text.chars().all(harmless)
        || text.ends_with(':')
        || text.contains(": ")
        || text.starts_with([':', '-', ' ', '@', '='])
        || text.ends_with(' ')
        || matches!(text, "..." | "<<")
}

#[cfg(test)]
mod tests;
