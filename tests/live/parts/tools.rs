//! What the real kustomize, the real gomplate and the real YAML libraries make of an input.
//!
//! Not here: what we make of it, and the comparison (`oracle.rs`, `merges.rs`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use rewild::merge::Three;
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

/// A program that answers one line with one line.
struct Oracle {
    process: Process,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _scratch: Scratch,
}

impl Oracle {
    fn start(name: &str, program: &Path) -> Result<Self, String> {
        let scratch = Scratch::new(name)?;
        let (process, questions, answers) = Process::converse(&scratch, name, command(program, scratch.path()))?;
        Ok(Self { process, questions, answers: BufReader::new(answers), _scratch: scratch })
    }

    fn ask(&mut self, question: &Value) -> Value {
        let mut line = String::new();
        let asked = writeln!(self.questions, "{question}").and_then(|()| self.answers.read_line(&mut line));
        match asked.map(|_| serde_json::from_str(&line)) {
            Ok(Ok(answer)) => answer,
            other => fail(&format!("{question}: {other:?}\n{}", self.process.log_tail())),
        }
    }
}

/// The real gomplate: one question and one answer at a time.
pub(crate) struct Gomplate(Oracle);

impl Gomplate {
    /// Starts it, or returns nothing after having said why it cannot.
    pub(crate) fn start() -> Option<Self> {
        let program = part("gomplate")?.join("gomplate-oracle");
        Some(Self(Oracle::start("gomplate", &program).unwrap_or_else(|why| fail(&why))))
    }

    /// Renders a template: the text, or the error. The context is the root of the data; a text is a YAML file; null is no data.
    pub(crate) fn render(&mut self, name: &str, template: &str, context: &Value) -> Result<String, String> {
        self.answer(&json!({"name": name, "template": template, "context": context}))
    }

    /// Renders a template that may also ask for the data source `config`, which returns the same.
    pub(crate) fn render_with_config(&mut self, name: &str, template: &str, context: &Value) -> Result<String, String> {
        self.answer(&json!({"name": name, "template": template, "context": context, "config": context["config"]}))
    }

    fn answer(&mut self, question: &Value) -> Result<String, String> {
        let answer = self.0.ask(question);
        let text = |key: &str| answer[key].as_str().unwrap_or("").to_owned();
        if text("error").is_empty() { Ok(text("output")) } else { Err(text("error")) }
    }
}

/// The YAML libraries of kubectl, kustomize and gomplate.
pub(crate) struct Yaml(Oracle);

impl Yaml {
    /// Starts them, or returns nothing after having said why it cannot.
    pub(crate) fn start() -> Option<Self> {
        let program = part("yaml")?.join("yaml-oracle");
        Some(Self(Oracle::start("yaml", &program).unwrap_or_else(|why| fail(&why))))
    }

    /// Reads the first document of a text by kubectl's rules and by those of yaml.v3; a refusal is `"!error"`.
    pub(crate) fn read(&mut self, text: &str) -> (Value, Value) {
        let answer = self.0.ask(&json!({ "text": text }));
        (answer["kube"].clone(), answer["go3"].clone())
    }

    /// Prints a value as kustomize does.
    pub(crate) fn print(&mut self, value: &Value) -> Value {
        self.0.ask(&json!({ "value": value }))["text"].clone()
    }

    /// Merges as kyaml does, which takes theirs wherever both changed something; a refusal is `!error`.
    pub(crate) fn merge(&mut self, texts: Three<&str>) -> String {
        let Three { base, ours, theirs } = texts;
        let answer = self.0.ask(&json!({"merge": {"base": base, "ours": ours, "theirs": theirs}}));
        answer["merged"].as_str().unwrap_or("!error").to_owned()
    }
}
