//! Pure. Go's template language with gomplate's functions: a text and a context become a text.
//!
//! A rendering reaches nothing but its arguments: no file, environment, network, clock or chance. Whatever gomplate has
//! for those is refused by name. A missing key is an error. Everything else prints byte for byte what gomplate prints,
//! except that printing no value, or a bare list or map in a YAML file, is an error too.
//!
//! ```text
//! text ──lex──> tokens ──parse──> tree ──eval──> text and the keys that were read
//!                                        functions
//! ```
//!
//! Ids: `T10x` limits, `T11x` syntax and names, `T20x` keys, arguments and calls, `T21x` refused functions, `T22x` what
//! this text may not see or print, `T230` a warning.
//!
//! Not here: which context a text gets and whether a value changed the structure of a file (`package`, `compile`).

mod ast;
mod call;
mod eval;
mod failure;
mod functions;
mod inline;
mod lex;
mod limits;
mod named;
mod number;
mod parse;
mod pipeline;
mod place;
mod print;
mod printf;
mod quote;
mod unicode;
mod value;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::Diagnostic;

use self::eval::{Evaluator, Format};
use self::limits::Budget;
use self::place::Source;

/// The values that a template sees.
#[derive(Clone)]
pub struct Context {
    root: Value,
    config: Value,
}

impl Context {
    /// Returns a context with this root, usually an object.
    pub fn new(root: Value) -> Self {
        Self { root, config: Value::Null }
    }

    /// Returns the context with a value for `ds "config"`, which the oldest packages ask for.
    ///
    /// Without it, that call is refused. Keys read of it are reported as if they had been read of the root.
    #[must_use]
    pub fn with_config(self, config: Value) -> Self {
        Self { config, ..self }
    }
}

/// A text that was rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Dotted paths of the context that were read, also those that were asked for in vain.
    ///
    /// A path of a map or list means all of it; the empty path means the whole context. The maps on the way to a key
    /// that was read do not count.
    pub reads: BTreeSet<String>,
    /// What is odd in the text although it was made: marks of `printf` in a YAML file.
    pub warnings: Vec<Diagnostic>,
}

/// Renders a text, or returns what is wrong with it.
///
/// The file's name stands in the findings; for YAML and JSON files it also forbids lists and maps in Go's notation.
pub fn render(file: &str, text: &str, context: &Context) -> Result<Rendered, Vec<Diagnostic>> {
    render_within(Budget::new(), file, text, context, None)
}

/// Renders a text, and asks of each text that an action writes what to write in its place.
pub fn render_replacing<'a>(
    file: &'a str,
    text: &'a str,
    context: &Context,
    replace: Replace<'a>,
) -> Result<Rendered, Vec<Diagnostic>> {
    render_within(Budget::new(), file, text, context, Some(replace))
}

/// Takes what an action would write and returns what it writes instead.
pub type Replace<'a> = &'a mut dyn FnMut(String) -> String;

fn render_within<'a>(
    budget: Budget,
    file: &'a str,
    text: &'a str,
    context: &Context,
    replace: Option<Replace<'a>>,
) -> Result<Rendered, Vec<Diagnostic>> {
    let source = Source { file, text };
    let tree = parse::parse(text).map_err(|failure| vec![source.syntax_finding(failure)])?;
    let take =
        |value| value::Value::from_json(value, Some(""), 0).map_err(|failure| vec![source.syntax_finding(failure)]);
    let mut evaluator = Evaluator {
        source,
        format: format_of(file),
        root: take(&context.root)?,
        config: take(&context.config)?,
        definitions: tree.definitions.clone(),
        variables: Vec::new(),
        calls: Vec::new(),
        depth: 0,
        budget,
        output: String::new(),
        reads: BTreeSet::new(),
        findings: Vec::new(),
        met: Vec::new(),
        warnings: Vec::new(),
        may_hold_marks: format_of(file) == Format::Structured && text.contains("printf"),
        marked: Vec::new(),
        replace,
    };
    evaluator.run(&tree);
    if evaluator.findings.is_empty() {
        let Evaluator { output, reads, warnings, .. } = evaluator;
        return Ok(Rendered { text: output, reads, warnings });
    }
    let mut findings = evaluator.findings;
    findings.sort_by(|a, b| (a.line, a.column, &a.id).cmp(&(b.line, b.column, &b.id)));
    Err(findings)
}

/// Returns whether a text holds an action or a comment; any other text renders to itself.
pub fn has_action(text: &str) -> bool {
    text.contains("{{")
}

fn format_of(file: &str) -> Format {
    let structured = [".yaml", ".yml", ".json"].iter().any(|ending| file.ends_with(ending));
    if structured { Format::Structured } else { Format::Plain }
}

#[cfg(test)]
mod tests;
