//! What the real helm renders of our own charts, and that the command makes a clean package of it.
//!
//! World: helm and `wild` as children, temporary directories, `fixtures/helm`. With `tests/run record` the recorded output
//! is written anew. Not here: the comparison of the objects (`compile::lint`), which needs no program.

use std::path::{Path, PathBuf};

use crate::parts::{command, fail, is_recording, part};

/// First words of every recorded output.
const HEADER: &str = "# Recorded from helm v3.22.0: helm template";

#[test]
fn helm_renders_our_charts_as_recorded_and_the_command_converts_them() {
    let Some(helm) = part("helm") else { return };
    let mut wrong = Vec::new();
    for chart in charts() {
        let name = chart.file_name().unwrap().to_str().unwrap().to_owned();
        let scratch = tempfile::tempdir().unwrap();
        let chart_path = chart.to_str().unwrap();
        let printed = told(&helm.join("helm"), scratch.path(), &["template", &name, chart_path]);
        let now = format!("{HEADER} {name} fixtures/helm/{name}\n{printed}");
        let recorded = chart.join("rendered.yaml");
        if is_recording() {
            std::fs::write(&recorded, &now).unwrap();
        } else if std::fs::read_to_string(&recorded).unwrap() != now {
            wrong.push(format!("{}:\n{now}", recorded.display()));
        }
        std::fs::write(scratch.path().join("rendered.yaml"), &printed).unwrap();
        let wild = Path::new(env!("CARGO_BIN_EXE_wild"));
        told(wild, scratch.path(), &["package", "convert-helm", &name, "rendered.yaml"]);
        told(wild, scratch.path(), &["package", "lint", &name]);
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn charts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/helm");
    let mut charts: Vec<PathBuf> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    charts.sort();
    assert!(!charts.is_empty(), "{} holds no chart", root.display());
    charts
}

/// Runs a program that must succeed, and returns what it printed.
fn told(program: &Path, directory: &Path, arguments: &[&str]) -> String {
    let output = command(program, directory).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        fail(&format!("{} {arguments:?}: {}{}", program.display(), text(&output.stdout), text(&output.stderr)));
    }
    text(&output.stdout)
}
