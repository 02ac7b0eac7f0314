//! Pure. Sees to it that a config value stays a value: it must not add a key, a document or a list item to a file.
//!
//! Templates are text, so `domain: {{ .domain }}` with a value of two lines would add a key of the attacker's choice. Values
//! that could do such a thing are replaced by harmless words, the file is rendered once more, and both results must have the
//! same shape. Files whose values are all harmless cost nothing.
//!
//! Not here: what the values mean, and whether quotes changed a text without changing the shape.

use serde_json::{Map, Value};

use crate::model::Diagnostic;
use crate::template::{self, Context, Rendered};
use crate::yaml::{self, Dialect};

/// Values of one app that are examined one by one to name the one at fault.
const MAX_EXAMINED: usize = 100;

/// Checks a rendered file: what `template` gave with `config`.
pub(super) fn check(
    file: &str,
    template: &str,
    rendered: &Rendered,
    config: &Map<String, Value>,
) -> Result<(), Vec<Diagnostic>> {
    let Some(syntax) = Syntax::of(file) else { return Ok(()) };
    let text = &rendered.text;
    let mut risky = Vec::new();
    find(&Value::Object(config.clone()), &mut Vec::new(), &mut risky);
    risky.retain(|path| is_read(path, rendered));
    if risky.is_empty() || same(syntax, file, template, text, (config, &risky)) {
        return Ok(());
    }
    let one = |path: &&Vec<String>| !same(syntax, file, template, text, (config, std::slice::from_ref(*path)));
    let guilty: Vec<&Vec<String>> = risky.iter().take(MAX_EXAMINED).filter(one).collect();
    let finding = |path: &Vec<String>| {
        let key = path.join(".");
        Diagnostic::error(
            "T310",
            file,
            0,
            format!("the value of the config key {key} changes the structure of the file"),
        )
        .with_hint(format!(
            "write {{{{ .{key} | quote }}}} or {{{{ .{key} | toJSON }}}} in the template, or change the value"
        ))
    };
    if guilty.is_empty() {
        // Only several values together do it; all of them are named.
        return Err(risky.iter().map(finding).collect());
    }
    Err(guilty.into_iter().map(finding).collect())
}

/// Returns whether a template read the value at a path, or a map or list around it.
fn is_read(path: &[String], rendered: &Rendered) -> bool {
    (0..=path.len()).filter_map(|length| path.get(..length)).any(|start| rendered.reads.contains(&start.join(".")))
}

/// What a file's shape is made of.
#[derive(Clone, Copy)]
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

/// Returns whether a value is what the marked one is with its marks turned back: the same maps, lists and keys, and no text
/// that was lost to a comment or to a mark of YAML. Depth is bounded by the loader.
fn fits(marked: &Value, found: &Value, marks: &[(String, String)]) -> bool {
    let restored = |text: &str| marks.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
    match (marked, found) {
        (Value::Array(marked), Value::Array(found)) => {
            marked.len() == found.len() && marked.iter().zip(found).all(|(marked, found)| fits(marked, found, marks))
        }
        (Value::Object(marked), Value::Object(found)) => {
            let same = |((key, marked), (found_key, found)): ((&String, &Value), (&String, &Value))| {
                // A key may hold an inserted value.
                restored(key) == *found_key && fits(marked, found, marks)
            };
            marked.len() == found.len() && marked.iter().zip(found).all(same)
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (Value::String(text), found) if marks.iter().any(|(mark, _)| text.contains(mark)) => {
            let found = match found {
                Value::Null => String::new(),
                Value::String(found) => found.clone(),
                found => found.to_string(),
            };
            !is_cut(restored(text).trim(), found.trim())
        }
        (_, _) => true,
    }
}

/// Returns whether a text was read as nothing or only up to a comment. Other differences are the template's own doing.
fn is_cut(intended: &str, found: &str) -> bool {
    match intended.strip_prefix(found) {
        Some(rest) => !rest.is_empty() && (found.is_empty() || rest.trim_start().starts_with('#')),
        None => false,
    }
}

/// Returns whether the file keeps its shape when the values at these paths are replaced by harmless words.
fn same(
    syntax: Syntax,
    file: &str,
    template: &str,
    text: &str,
    (config, paths): (&Map<String, Value>, &[Vec<String>]),
) -> bool {
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
    let Ok(rendered) = template::render(file, template, &Context::new(marked)) else { return true };
    match syntax.read(file, &rendered.text) {
        Some(marked) => syntax.read(file, text).is_some_and(|found| {
            marked.len() == found.len() && marked.iter().zip(&found).all(|(marked, found)| fits(marked, found, &marks))
        }),
        // The file is broken with any value; the build says where.
        None => true,
    }
}

fn slot<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Collects the paths of texts that could end a scalar or begin something else.
fn find(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(text) if is_risky(text) => found.push(path.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                path.push(position.to_string());
                find(item, path, found);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(key.clone());
                find(item, path, found);
                path.pop();
            }
        }
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
        match check(file, template, &rendered, config.as_object().unwrap()) {
            Ok(()) => Vec::new(),
            Err(findings) => findings.iter().map(ToString::to_string).collect(),
        }
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
        assert_eq!(found("run.sh", "echo {{ .x }}\n", "y\nrm z"), [""; 0]);
    }
}
