//! Pure. Sees to it that a config value stays a value: it must not add a key, a document or a list item to a file.
//!
//! Templates are text, so `domain: {{ .domain }}` with a value of two lines would add a key of the attacker's choice. Values
//! that could do such a thing are replaced by harmless words, the file is rendered once more, and both results must have the
//! same shape (`T310`) and say the same where quotes stand around the value (`T311`); a text that becomes a number, a boolean or nothing
//! is a warning (`T312`). Files whose values are all harmless cost nothing. Values in scripts and other text cannot be checked; where one holds
//! more than letters and digits, that is said (`T313`).
//!
//! Not here: what the values mean, and texts that only kubectl takes for a boolean (`yaml`, `Y101`).

use serde_json::{Map, Value};

use crate::model::{Diagnostic, Severity};
use crate::template::{self, Context, Rendered};
use crate::yaml::{self, Dialect};

/// Values of one app that are examined one by one to name the one at fault.
const MAX_EXAMINED: usize = 100;

/// Checks a rendered file: what `template` gave with `config`. Returns warnings and notes.
pub(super) fn check(
    file: &str,
    template: &str,
    rendered: &Rendered,
    config: &Map<String, Value>,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let read = |is_doubtful: &dyn Fn(&str) -> bool| {
        let mut found = Vec::new();
        find(&Value::Object(config.clone()), is_doubtful, &mut Vec::new(), &mut found);
        found.retain(|path| is_read(path, rendered));
        found
    };
    let risky = read(&is_risky);
    let Some(syntax) = Syntax::of(file) else { return Ok(unchecked(file, &risky)) };
    let judge = |paths: &[Vec<String>]| match paths {
        [] => Fit::Same,
        paths => compare(syntax, file, template, &rendered.text, (config, paths)),
    };
    let each = |paths: &[Vec<String>]| -> Vec<(Vec<String>, Fit)> {
        paths.iter().take(MAX_EXAMINED).map(|path| (path.clone(), judge(std::slice::from_ref(path)))).collect()
    };
    let worst = judge(&risky);
    if worst >= Fit::Altered {
        let mut guilty = each(&risky);
        if guilty.iter().all(|(_, fit)| *fit < worst) {
            // Only several values together do it; all of them are named.
            guilty = risky.into_iter().map(|path| (path, worst)).collect();
        }
        guilty.retain(|(_, fit)| *fit >= Fit::Altered);
        return Err(guilty.iter().map(|(path, fit)| finding(file, path, *fit)).collect());
    }
    let shifty = if syntax == Syntax::Yaml { read(&is_shifty) } else { Vec::new() };
    // Such a value cannot break anything: where the file has another shape without it, a condition looked at it.
    let mut retyped = if judge(&shifty) == Fit::Same { Vec::new() } else { each(&shifty) };
    retyped.retain(|(_, fit)| *fit == Fit::Retyped);
    Ok(retyped.iter().map(|(path, fit)| finding(file, path, *fit)).collect())
}

/// Notes that values which mean something to many languages stand in a file whose language nobody here knows.
fn unchecked(file: &str, risky: &[Vec<String>]) -> Vec<Diagnostic> {
    let keys: Vec<String> = risky.iter().map(|path| path.join(".")).collect();
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

/// Returns whether a template read the value at a path, or a map or list around it.
fn is_read(path: &[String], rendered: &Rendered) -> bool {
    (0..=path.len()).filter_map(|length| path.get(..length)).any(|start| rendered.reads.contains(&start.join(".")))
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
            let entry = |((key, marked), (found_key, found)): ((&String, &Value), (&String, &Value))| {
                // A key may hold an inserted value.
                if restored(key) == *found_key { fit(marked, found, marks) } else { Fit::Broken }
            };
            worst(&mut marked.iter().zip(found).map(entry))
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

/// Compares the file with what it is when the values at these paths are replaced by harmless words.
fn compare(
    syntax: Syntax,
    file: &str,
    template: &str,
    text: &str,
    (config, paths): (&Map<String, Value>, &[Vec<String>]),
) -> Fit {
    let mut marked = Value::Object(config.clone());
    let mut marks = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let mark = format!("Wq{number:04}wQ");
        if let Some(slot) = path.iter().try_fold(&mut marked, |value, key| slot(value, key)) {
            let value = std::mem::replace(slot, Value::String(mark.clone()));
            marks.push((mark, value.as_str().unwrap_or_default().to_owned()));
        }
    }
    // A file that needs the value as it is, say as a number, is no insertion of text.
    let Ok(rendered) = template::render(file, template, &Context::new(marked)) else { return Fit::Same };
    // A file that is broken with any value: the build says where.
    let Some(marked) = syntax.read(file, &rendered.text) else { return Fit::Same };
    match syntax.read(file, text) {
        Some(found) if found.len() == marked.len() => {
            marked.iter().zip(&found).map(|(marked, found)| fit(marked, found, &marks)).max().unwrap_or(Fit::Same)
        }
        Some(_) | None => Fit::Broken,
    }
}

fn slot<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Collects the paths of texts that want a look.
fn find(value: &Value, is_doubtful: &dyn Fn(&str) -> bool, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let mut below = |key: String, item: &Value| {
        path.push(key);
        find(item, is_doubtful, path, found);
        path.pop();
    };
    match value {
        Value::String(text) if is_doubtful(text) => found.push(path.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().enumerate().for_each(|(position, item)| below(position.to_string(), item)),
        Value::Object(map) => map.iter().for_each(|(key, item)| below(key.clone(), item)),
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
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::template::{self, Context};

    /// Renders a template with the value `x` and returns the findings of the check.
    fn found(file: &str, template: &str, value: &str) -> Vec<String> {
        let config = json!({"x": value, "plain": "word", "deep": {"list": [value]}});
        let rendered = template::render(file, template, &Context::new(config.clone())).unwrap();
        let findings = check(file, template, &rendered, config.as_object().unwrap()).unwrap_or_else(|errors| errors);
        findings.iter().map(ToString::to_string).collect()
    }

    fn changes(template: &str, value: &str) {
        let expected = ["a.yaml: T310: the value of the config key x changes the structure of the file"];
        assert_eq!(found("a.yaml", template, value), expected, "{template} with {value:?}");
    }

    fn keeps(template: &str, value: &str) {
        assert_eq!(found("a.yaml", template, value), [""; 0], "{template} with {value:?}");
    }

    #[test]
    fn a_value_that_ends_its_scalar_is_refused() {
        for value in [
            "y\nhostNetwork: true",
            "y: z",
            "- y",
            "[y",
            "{y: z}",
            "y\n---\nz: 1",
            "&anchor",
            "*alias",
            "!tag",
            "\"",
            "'",
            "|",
            "%y",
            "y:",
            "y # z",
            "# z",
        ] {
            changes("a: {{ .x }}\n", value);
        }
        changes("a: \"{{ .x }}\"\n", "y\"\nb: \"z");
        changes("a: '{{ .x }}'\n", "y'\nb: 'z");
        changes("a: [{{ .x }}]\n", "y, z");
    }

    #[test]
    fn quoted_values_stay_values() {
        for value in ["y\nz: 1", "a: b", "\"", "'", "\\", "- y", "", "---", "{{ .plain }}", "# y", "ä ö", "\u{1f98a}"]
        {
            keeps("a: {{ .x | toJSON }}\n", value);
        }
        keeps("a: \"{{ .x }}\"\n", "y: z");
        keeps("a: |\n  {{ .x }}\n", "y: z");
        keeps("a: {{ .x }}\n", "https://example.org/a?b=c&d");
        keeps("a: {{ .x }}\n", "plain words");
        keeps("a: {{ .x }}\n", "yes");
    }

    #[test]
    fn quotes_that_alter_a_value_are_refused() {
        let alters = |template: &str, value: &str| {
            let expected = ["a.yaml: T311: the value of the config key x is altered by the quotes around it"];
            assert_eq!(found("a.yaml", template, value), expected, "{template} with {value:?}");
        };
        alters("a: \"{{ .x }}\"\n", "C:\\temp");
        alters("a: \"b {{ .x }} c\"\n", "y\\\\z");
        alters("a: '{{ .x }}'\n", "it''s");
        keeps("a: '{{ .x }}'\n", "C:\\temp");
        keeps("a: \"{{ .x | strings.ReplaceAll \"\\\\\" \"/\" }}\"\n", "C:\\temp");
        keeps("a: |\n  {{ .x }}\n", "C:\\temp");
    }

    #[test]
    fn a_text_that_becomes_another_type_is_told() {
        let expected = ["a.yaml: T312: the text of the config key x becomes a number, a boolean or nothing"];
        for value in ["true", "0755", "1e3", "null", "", "~", "1.10", "0x1F"] {
            assert_eq!(found("a.yaml", "a: {{ .x }}\n", value), expected, "{value:?}");
            keeps("a: {{ .x | quote }}\n", value);
            keeps("a: \"{{ .x }}\"\n", value);
            keeps("a: b{{ .x }}c\n", value);
        }
        for value in ["8080", "1.5", "-1", "word", "1.2.3"] {
            keeps("a: {{ .x }}\n", value);
        }
        keeps("{{ if eq .x \"true\" }}b: 1\n{{ end }}c: 2\n", "true");
        keeps("{{ if .x }}b: 1\n{{ end }}c: 2\n", "");
    }

    #[test]
    fn files_that_cannot_be_checked_are_named_once() {
        let expected = ["run.sh: T313: nothing checks what the values of the config keys x mean in this file"];
        assert_eq!(found("run.sh", "echo {{ .x }} {{ .plain }}\n", "y\nrm z"), expected);
        for (template, value) in [("echo {{ .plain }}\n", "y\nrm z"), ("echo {{ .x }}\n", "y")] {
            assert_eq!(found("run.sh", template, value), [""; 0]);
        }
    }

    #[test]
    fn a_value_may_be_a_key() {
        keeps("a:\n  \"{{ .x }}\": 1\n", "my,key");
    }

    #[test]
    fn values_in_lists_are_examined_too() {
        let found = found("a.yaml", "a: {{ index .deep.list 0 }}\n", "y\nz: 1");
        assert_eq!(found, ["a.yaml: T310: the value of the config key deep.list.0 changes the structure of the file"]);
    }

    #[test]
    fn lines_of_an_environment_file_stay_lines() {
        let expected = ["a.env: T310: the value of the config key x changes the structure of the file"];
        assert_eq!(found("a.env", "X={{ .x }}\n", "y\nZ=1"), expected);
        assert_eq!(found("a.env", "X={{ .x }}\n", "true"), [""; 0]);
    }
}
