//! Recorded answers of the real programs, asked again: what our unit tests compare with is still what the programs say.
//!
//! `tests/run record` writes them anew. Not here: what we make of the same inputs (unit tests of `template` and `kustomize`), the sample
//! packages (`directory.rs`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::parts::{Gomplate, is_recording, kustomize, part};

/// Templates, one case a line: `{name, template, context, output}`, or `"error": true` in place of the output. The first line names
/// tool and version.
const TEMPLATES: &str = "fixtures/template";

/// Kustomizations, one directory a case; `expected.yaml` holds what `kustomize build` prints below a line with tool and version.
const KUSTOMIZATIONS: &str = "fixtures/kustomize";
/// First line of every recorded build.
const BUILT_BY: &str = "# kustomize v5.8.1 build\n";

/// Merges of lines, `base|ours|theirs|merged` in letters; the first lines say by which git and how a case is written.
const MERGES: &str = "fixtures/merge/lines.txt";

#[test]
fn git_merges_every_recorded_case_as_recorded() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(MERGES);
    let text = std::fs::read_to_string(&file).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('|').collect();
        let (false, [base, ours, theirs, merged]) = (line.starts_with('#'), parts.as_slice()) else {
            lines.push(line.to_owned());
            continue;
        };
        for (name, letters) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            std::fs::write(scratch.path().join(name), spelled(letters)).unwrap();
        }
        let labels = ["-L", "mine", "-L", "base", "-L", "upstream"];
        let mut git = std::process::Command::new("git");
        git.args(["merge-file", "-p"]).args(labels).args(["ours", "base", "theirs"]).current_dir(scratch.path());
        let now = letters(&String::from_utf8(git.output().unwrap().stdout).unwrap());
        if now != *merged {
            wrong.push(format!("{line}: now {now}"));
        }
        lines.push(format!("{base}|{ours}|{theirs}|{now}"));
    }
    if is_recording() && !wrong.is_empty() {
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    }
    assert!(is_recording() || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes out a text given as one letter per line: `.` is an empty line, a `$` at the end leaves out the last line end.
fn spelled(letters: &str) -> String {
    let whole = letters.trim_end_matches('$');
    let mut text: String = whole.chars().map(|c| if c == '.' { "\n".to_owned() } else { format!("{c}\n") }).collect();
    if whole != letters {
        text.pop();
    }
    text
}

/// Writes a merged text as letters; the lines of markers are `<`, `=` and `>`.
fn letters(text: &str) -> String {
    let mut letters: String = text
        .lines()
        .map(|line| match line {
            "" => '.',
            "<<<<<<< mine" => '<',
            "=======" => '=',
            ">>>>>>> upstream" => '>',
            line => line.chars().next().unwrap(),
        })
        .collect();
    if !text.is_empty() && !text.ends_with('\n') {
        letters.push('$');
    }
    letters
}

#[test]
fn kustomize_builds_of_every_recorded_directory_what_is_recorded() {
    if part("kustomize").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(KUSTOMIZATIONS);
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
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
