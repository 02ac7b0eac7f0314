//! Recorded answers of the real programs, asked again: what our unit tests compare with is still what the programs say.
//!
//! `tests/run record` writes them anew. Not here: what we make of the same inputs (unit tests of `template`, `kustomize` and `yaml`), the sample
//! packages (`directory.rs`), merges (`merges.rs`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::parts::{Gomplate, Yaml, is_recording, kustomize, part};

/// Templates, one case a line: `{name, template, context, output}`, or `"error": true` in place of the output. The first line names
/// tool and version.
const TEMPLATES: &str = "fixtures/template";

/// Kustomizations, one directory a case; `expected.yaml` holds what `kustomize build` prints below a line with tool and version.
const KUSTOMIZATIONS: &str = "fixtures/kustomize";
/// First line of every recorded build.
const BUILT_BY: &str = "# kustomize v5.8.1 build\n";

#[test]
fn kustomize_builds_of_every_recorded_directory_what_is_recorded() {
    if part("kustomize").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(KUSTOMIZATIONS);
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    assert!(!cases.is_empty(), "{} holds no case", root.display());
    let mut wrong = Vec::new();
    for case in cases {
        let now = format!("{BUILT_BY}{}", kustomize(&case).unwrap().unwrap_or_else(|why| why));
        let expected = case.join("expected.yaml");
        if is_recording() {
            std::fs::write(&expected, now).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap() != now {
            wrong.push(format!("{}:\n{now}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn kustomize_builds_of_every_table_what_is_recorded() {
    if part("kustomize").is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for file in files(KUSTOMIZATIONS, "txt") {
        let text = std::fs::read_to_string(&file).unwrap();
        let (head, cases) = text.split_once("\n### ").unwrap();
        assert!(head.starts_with(BUILT_BY.trim_end()), "{}", file.display());
        let shared = files_of(head);
        let mut now = head.to_owned();
        for case in cases.split("\n### ") {
            let case = case.trim_end_matches('\n');
            let again = built_again(case, &shared);
            if again != case {
                wrong.push(format!("{}: {again}", file.display()));
            }
            now.push_str("\n### ");
            now.push_str(&again);
        }
        if is_recording() {
            std::fs::write(&file, now + "\n").unwrap();
        }
    }
    assert!(is_recording() || wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns a case of a table with what kustomize says now; the id of our own refusal stays as it is.
fn built_again(case: &str, shared: &[(String, String)]) -> String {
    let (inputs, id) = match (case.split_once("\n>>>\n"), case.split_once("\n!!!")) {
        (Some((inputs, _)), _) => (inputs, ""),
        (None, Some((inputs, id))) => (inputs, id),
        (None, None) => (case, ""),
    };
    let scratch = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for path in inputs.lines().find_map(|line| line.strip_prefix("+ ")).into_iter().flat_map(str::split_whitespace) {
        let (_, text) = shared.iter().find(|(name, _)| path.rsplit('/').next() == Some(name)).unwrap();
        put(path, text);
    }
    for (path, text) in files_of(inputs) {
        put(&path, &text);
    }
    match kustomize(scratch.path()).unwrap() {
        Ok(printed) => format!("{inputs}\n>>>\n{}", printed.trim_end_matches('\n')),
        Err(_) => format!("{inputs}\n!!!{id}"),
    }
}

/// Returns the files of a table's head or of a case: each stands below a line `=== path`.
fn files_of(text: &str) -> Vec<(String, String)> {
    let parts = text.split("\n=== ").skip(1).map(|part| part.split_once('\n').unwrap());
    parts.map(|(path, text)| (path.to_owned(), format!("{}\n", text.trim_end_matches('\n')))).collect()
}

#[test]
fn yaml_libraries_read_and_print_every_recorded_document_as_recorded() {
    let Some(mut yaml) = Yaml::start() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/yaml");
    let mut wrong = Vec::new();
    for name in ["readings.jsonl", "printed.jsonl"] {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        let mut lines = Vec::new();
        for line in text.lines() {
            if line.starts_with('#') {
                lines.push(line.to_owned());
                continue;
            }
            let recorded: Value = serde_json::from_str(line).unwrap();
            let now = match recorded[0].as_str() {
                Some(text) if name == "readings.jsonl" => {
                    let (kube, go3) = yaml.read(text);
                    json!([text, kube, go3])
                }
                _ => json!([recorded[0], yaml.print(&recorded[0])]),
            };
            if now != recorded {
                wrong.push(format!("{name}: recorded {recorded}, now {now}"));
            }
            lines.push(if now == recorded { line.to_owned() } else { now.to_string() });
        }
        if is_recording() {
            std::fs::write(root.join(name), lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(is_recording() || wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn yaml_libraries_read_back_what_our_writers_write() {
    let Some(mut yaml) = Yaml::start() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/yaml/readings.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut values: Vec<Value> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let case: Value = serde_json::from_str(line).unwrap();
        // The text itself is the most hostile value there is.
        values.push(json!({"k": case[0], "list": [case[0]]}));
        values.extend(
            [&case[1], &case[2]].into_iter().filter(|value| **value != "!error" && **value != "!either").cloned(),
        );
    }
    let mut wrong = Vec::new();
    for value in values {
        for written in [rewild::yaml::write(&value), rewild::yaml::write_sorted(&value)] {
            let (kube, go3) = yaml.read(&written);
            // What kustomize prints is printed as it prints it, also where nobody can read it: the key `<<`.
            let fits = same(&kube, &value) && same(&go3, &value) || yaml.print(&value) == written;
            if !fits {
                wrong.push(format!("{value}\n{written}read as {kube} and {go3}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares values; JSON cannot tell 1.0 from 1.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn gomplate_says_of_every_recorded_template_what_is_recorded() {
    let Some(mut gomplate) = Gomplate::start() else { return };
    let mut wrong = Vec::new();
    for file in files(TEMPLATES, "jsonl") {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = Vec::new();
        for line in text.lines() {
            let recorded: Value = serde_json::from_str(line).unwrap();
            let Some(template) = recorded["template"].as_str() else {
                lines.push(line.to_owned());
                continue;
            };
            let name = recorded["name"].as_str().unwrap();
            let now = answered(&recorded, gomplate.render(name, template, &recorded["context"]));
            let now = if plain(&now.to_string()) == plain(&recorded.to_string()) { recorded.clone() } else { now };
            if now != recorded {
                wrong.push(format!("{}: {name}: recorded {recorded}, now {now}", file.display()));
            }
            lines.push(now.to_string());
        }
        if is_recording() {
            std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(is_recording() || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a text without addresses in memory, the one thing in an answer that varies by nature.
fn plain(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        let rest = part.get(digits..).unwrap_or("");
        plain.push_str(&if digits > 8 { format!("0x…{rest}") } else { format!("0x{part}") });
    }
    plain
}

/// Returns a case with the answer of now in place of the recorded one.
fn answered(recorded: &Value, answer: Result<String, String>) -> Value {
    let mut case = recorded.clone();
    let fields = case.as_object_mut().unwrap();
    match answer {
        Ok(output) => {
            fields.shift_remove("error");
            fields.insert("output".to_owned(), json!(output));
        }
        Err(_) => {
            fields.shift_remove("output");
            fields.insert("error".to_owned(), json!(true));
        }
    }
    case
}

/// Returns the files of a directory of fixtures, sorted.
fn files(directory: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    assert!(!found.is_empty(), "{} holds no .{extension}", root.display());
    found
}
