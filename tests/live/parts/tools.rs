//! What the real kustomize and the real gomplate make of an input.
//!
//! Not here: what we make of it, and the comparison (`oracle.rs`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use serde_json::{Value, json};

use super::process::command;
use super::{Process, Scratch, fail, part};

/// Builds a directory with the real kustomize, or says what it said. Nothing if the part is not there.
pub(crate) fn kustomize(directory: &Path) -> Option<Result<String, String>> {
    let program = part("kustomize")?.join("kustomize");
    let output = command(&program, directory).arg("build").arg(directory).output();
    Some(output.map_err(|error| format!("kustomize: {error}")).and_then(|output| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }))
}

/// The real gomplate: one question and one answer at a time.
pub(crate) struct Gomplate {
    process: Process,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _scratch: Scratch,
}

impl Gomplate {
    /// Starts it, or returns nothing after having said why it cannot.
    pub(crate) fn start() -> Option<Self> {
        let program = part("gomplate")?.join("gomplate-oracle");
        Some(Self::start_program(&program).unwrap_or_else(|why| fail(&why)))
    }

    fn start_program(program: &Path) -> Result<Self, String> {
        let scratch = Scratch::new("gomplate")?;
        let (process, questions, answers) = Process::converse(&scratch, "gomplate", command(program, scratch.path()))?;
        Ok(Self { process, questions, answers: BufReader::new(answers), _scratch: scratch })
    }

    /// Renders a template: the text, or the error. The context is the root of the data; a text is a YAML file; null is no data.
    pub(crate) fn render(&mut self, name: &str, template: &str, context: &Value) -> Result<String, String> {
        let question = json!({"name": name, "template": template, "context": context});
        let mut line = String::new();
        let asked = writeln!(self.questions, "{question}").and_then(|()| self.answers.read_line(&mut line));
        let answer: Value = match asked.map(|_| serde_json::from_str(&line)) {
            Ok(Ok(answer)) => answer,
            other => fail(&format!("gomplate on {name}: {other:?}\n{}", self.process.log_tail())),
        };
        let text = |key: &str| answer[key].as_str().unwrap_or("").to_owned();
        if text("error").is_empty() { Ok(text("output")) } else { Err(text("error")) }
    }
}
