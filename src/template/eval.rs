//! Pure. Runs a tree: text is copied, actions print, blocks branch and loop.
//!
//! Not here: operands and pipelines (`pipeline.rs`), calls of functions (`call.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::base::nearest::nearest;
use crate::model::{Diagnostic, Severity};

use super::Replace;
use super::ast::{Binding, Block, Branches, Node, Pipeline, Range, Span, TemplateCall, Tree};
use super::failure::Failure;
use super::limits::{Budget, MAX_DEPTH, MAX_FINDINGS, MAX_OUTPUT_BYTES};
use super::place::Source;
use super::print::print;
use super::value::Value;

/// What a file may print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// YAML or JSON: a list or map in Go's notation would be nonsense there.
    Structured,
    /// Anything else.
    Plain,
}

/// Runs a tree on a root value.
pub(super) struct Evaluator<'a> {
    pub(super) source: Source<'a>,
    pub(super) format: Format,
    pub(super) root: Value,
    pub(super) config: Value,
    pub(super) definitions: BTreeMap<String, Rc<Block>>,
    /// Innermost last; a call of a template hides those of its caller.
    pub(super) variables: Vec<(String, Value)>,
    /// Names of the templates that are running.
    pub(super) calls: Vec<String>,
    pub(super) depth: usize,
    pub(super) budget: Budget,
    pub(super) output: String,
    pub(super) reads: BTreeSet<String>,
    pub(super) findings: Vec<Diagnostic>,
    /// The failures that the findings were made of.
    pub(super) met: Vec<Met>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Whether what is written may hold marks of a `printf` that was used wrongly.
    pub(super) may_hold_marks: bool,
    /// The actions that were warned of because of such marks.
    pub(super) marked: Vec<Span>,
    /// What stands in place of the texts that actions write, where it is not they themselves.
    pub(super) replace: Option<Replace<'a>>,
}

/// A failure, the action that it came from, and the template that was running.
pub(super) type Met = (Failure, Span, Option<String>);

/// How a block ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// At its end.
    Done,
    /// At a `break`.
    Break,
    /// At a `continue`.
    Continue,
}

/// The file has failed and nothing more of it is tried; the findings say why.
#[derive(Debug)]
pub(super) struct Stopped;

impl Evaluator<'_> {
    /// Runs the file; the findings are filled if it did not succeed.
    pub(super) fn run(&mut self, tree: &Tree) {
        let root = self.root.clone();
        self.variables.push(("$".to_owned(), root.clone()));
        // The findings tell all there is to know.
        let _ = self.block(&tree.root, &root);
    }

    /// Runs a block.
    pub(super) fn block(&mut self, block: &Block, dot: &Value) -> Result<Flow, Stopped> {
        for node in &block.0 {
            let flow = match node {
                Node::Text(text) => self.copy(text).map(|()| Flow::Done)?,
                Node::Action(pipeline, span) => self.action(pipeline, *span, dot)?,
                Node::If(branches) => self.branches(branches, dot, Scope::Keep)?,
                Node::With(branches) => self.branches(branches, dot, Scope::Enter)?,
                Node::Range(range) => self.range(range, dot)?,
                Node::Template(call) => self.template(call, dot)?,
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if flow != Flow::Done {
                return Ok(flow);
            }
        }
        Ok(Flow::Done)
    }

    /// Keeps a failure as a finding; an error means that the file ends here.
    fn note(&mut self, failure: Failure, span: Span) -> Result<(), Stopped> {
        let fatal = failure.fatal;
        let met = (failure, span, self.calls.last().cloned());
        // A loop meets the same failure again and again, and to say where it stands may take a walk through the whole file.
        if !self.met.contains(&met) {
            let limit = self.budget.scan(met.0.at.unwrap_or(span.start)).err();
            let fatal = fatal || limit.is_some();
            let mut finding = self.source.finding(limit.unwrap_or_else(|| met.0.clone()), span);
            if let Some(name) = &met.2 {
                finding.message.push_str(&format!(", in template {name:?}"));
            }
            self.findings.push(finding);
            self.met.push(met);
            if fatal {
                return Err(Stopped);
            }
        }
        if fatal || self.findings.len() >= MAX_FINDINGS { Err(Stopped) } else { Ok(()) }
    }

    fn copy(&mut self, text: &str) -> Result<(), Stopped> {
        self.write(text).or_else(|failure| self.note(failure, Span { start: 0, end: 0 }))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.budget.steps(1)?;
        self.budget.scan(text.len())?;
        if self.output.len() + text.len() > MAX_OUTPUT_BYTES {
            return Err(Failure::limit("T104", format!("the file would have more than {MAX_OUTPUT_BYTES} bytes")));
        }
        self.output.push_str(text);
        Ok(())
    }

    fn action(&mut self, pipeline: &Pipeline, span: Span, dot: &Value) -> Result<Flow, Stopped> {
        let begin = self.output.len();
        let result = self.pipeline(pipeline, dot).and_then(|value| {
            if pipeline.variables.is_empty() {
                self.print(&value).map_err(|failure| failure.at(pipeline.at))
            } else {
                Ok(())
            }
        });
        if let Err(failure) = result {
            // Without its value, all that follows would fail because of it.
            let failure = if pipeline.variables.is_empty() { failure } else { failure.fatal() };
            self.note(failure, span)?;
        }
        self.look_for_marks(begin, span);
        Ok(Flow::Done)
    }

    /// Warns if what an action wrote into a YAML file holds a mark with which `printf` says that it was used wrongly.
    fn look_for_marks(&mut self, begin: usize, span: Span) {
        let written = self.output.get(begin..).unwrap_or("");
        let may_warn = self.may_hold_marks && self.warnings.len() < MAX_FINDINGS && !self.marked.contains(&span);
        if may_warn && has_mark(written) {
            let failure = Failure::new("T230", "printf does not fit its arguments, and says so in the text")
                .hint("one verb such as %s or %d for each argument, of its type");
            let finding = Diagnostic { severity: Severity::Warning, ..self.source.finding(failure, span) };
            self.warnings.push(finding);
            self.marked.push(span);
        }
    }

    fn print(&mut self, value: &Value) -> Result<(), Failure> {
        self.touch(value);
        match value {
            Value::Nil => {
                return Err(Failure::new("T223", "there is no value to print")
                    .hint("give one with {{ … | default \"…\" }} or leave the line out with {{ if … }}"));
            }
            Value::List(_) | Value::Map(_) if self.format == Format::Structured => {
                return Err(Failure::new(
                    "T224",
                    format!("{} would print in a notation that is no YAML", value.noun()),
                )
                .hint("write {{ … | toYAML | indent … }} or {{ … | toJSON }}"));
            }
            _ => {}
        }
        let text = print(value, &mut self.budget)?;
        let text = match (&mut self.replace, value) {
            (Some(replace), Value::Text(_)) => replace(text),
            _ => text,
        };
        self.write(&text)
    }

    /// Runs one of the blocks of `if` or `with`.
    fn branches(&mut self, branches: &Branches, dot: &Value, scope: Scope) -> Result<Flow, Stopped> {
        let mark = self.variables.len();
        let mut flow = Ok(Flow::Done);
        let mut otherwise = branches.otherwise.as_ref();
        for (pipeline, body, span) in &branches.arms {
            match self.pipeline(pipeline, dot) {
                Ok(value) => {
                    self.touch(&value);
                    if value.is_true() {
                        let dot = if scope == Scope::Enter { &value } else { dot };
                        flow = self.nested(body, dot, *span);
                        otherwise = None;
                        break;
                    }
                }
                Err(failure) => {
                    // Which block would run is unknown, so none does.
                    flow = self.note(failure, *span).map(|()| Flow::Done);
                    otherwise = None;
                    break;
                }
            }
        }
        if let (Some(body), Some((_, _, span))) = (otherwise, branches.arms.last()) {
            flow = self.nested(body, dot, *span);
        }
        self.variables.truncate(mark);
        flow
    }

    /// Runs a block one level deeper.
    pub(super) fn nested(&mut self, block: &Block, dot: &Value, span: Span) -> Result<Flow, Stopped> {
        if let Err(failure) = self.enter() {
            return self.note(failure, span).map(|()| Flow::Done);
        }
        let flow = self.block(block, dot);
        self.depth -= 1;
        flow
    }

    /// Counts one level of nesting; the caller takes it back.
    pub(super) fn enter(&mut self) -> Result<(), Failure> {
        if self.depth >= MAX_DEPTH {
            let message = format!("blocks, parentheses and templates are nested deeper than {MAX_DEPTH} levels");
            return Err(Failure::limit("T106", message).hint("does a template call itself without end?"));
        }
        self.depth += 1;
        Ok(())
    }

    fn range(&mut self, range: &Range, dot: &Value) -> Result<Flow, Stopped> {
        let mark = self.variables.len();
        let flow = match self.pipeline(&range.pipeline, dot).and_then(|value| self.elements(value, range)) {
            Ok(elements) => self.iterate(range, elements, dot),
            Err(failure) => self.note(failure, range.span).map(|()| Flow::Done),
        };
        self.variables.truncate(mark);
        flow
    }

    /// Returns what is walked over.
    fn elements(&mut self, value: Value, range: &Range) -> Result<Elements, Failure> {
        self.touch(&value);
        let count = |count: Option<u64>, kind: fn(u64) -> Value| {
            if range.pipeline.variables.len() > 1 {
                return Err(Failure::new("T206", "a range over a number has one variable").at(range.pipeline.at));
            }
            Ok(Elements::Count(count.unwrap_or(0), kind))
        };
        match &value {
            Value::Nil => Ok(Elements::Items(Vec::new())),
            Value::List(list) => Ok(Elements::Items(numbered(list.items()))),
            Value::Bytes(bytes) => Ok(Elements::Items(numbered(bytes.iter().map(|byte| Value::Byte(*byte)).collect()))),
            Value::Map(map) => {
                Ok(Elements::Items(map.entries().into_iter().map(|(key, item)| (Value::Text(key), item)).collect()))
            }
            Value::Int(end) => count(u64::try_from(*end).ok(), |n| Value::Int(i64::try_from(n).unwrap_or(i64::MAX))),
            Value::Int64(end) => {
                count(u64::try_from(*end).ok(), |n| Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)))
            }
            Value::Uint64(end) => count(Some(*end), Value::Uint64),
            Value::Byte(end) => count(Some(u64::from(*end)), |n| Value::Byte(u8::try_from(n).unwrap_or(u8::MAX))),
            Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::Named(_) | Value::Namespace(_) => {
                let message = format!("range cannot walk over {}", value.noun());
                Err(Failure::new("T206", message).at(range.pipeline.at).hint("it takes a list, a map or an integer"))
            }
        }
    }

    fn iterate(&mut self, range: &Range, elements: Elements, dot: &Value) -> Result<Flow, Stopped> {
        if elements.is_empty() {
            return match &range.otherwise {
                Some(body) => self.nested(body, dot, range.span),
                None => Ok(Flow::Done),
            };
        }
        let mark = self.variables.len();
        for (key, element) in elements {
            if let Err(failure) = self.budget.steps(1).and_then(|()| self.bind(range, key, element.clone())) {
                self.note(failure, range.span)?;
                return Ok(Flow::Done);
            }
            let flow = self.nested(&range.body, &element, range.span)?;
            self.variables.truncate(mark);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::Done)
    }

    /// Gives the variables of a range their values for one element.
    fn bind(&mut self, range: &Range, key: Value, element: Value) -> Result<(), Failure> {
        let names = &range.pipeline.variables;
        let values = match names.len() {
            0 => return Ok(()),
            1 => vec![element],
            _ => vec![key, element],
        };
        let fresh = self.variables.len().saturating_sub(names.len());
        for (offset, (name, value)) in names.iter().zip(values).enumerate() {
            match range.pipeline.binding {
                Binding::Assign => self.assign(name, value)?,
                // The pipeline has just declared them on top.
                Binding::Declare => {
                    if let Some(variable) = self.variables.get_mut(fresh + offset) {
                        variable.1 = value;
                    }
                }
            }
        }
        Ok(())
    }

    fn template(&mut self, call: &TemplateCall, dot: &Value) -> Result<Flow, Stopped> {
        let (body, value) = match self.prepare(call, dot) {
            Ok(prepared) => prepared,
            Err(failure) => return self.note(failure.at(call.at), call.span).map(|()| Flow::Done),
        };
        let variables = std::mem::replace(&mut self.variables, vec![("$".to_owned(), value.clone())]);
        self.calls.push(call.name.clone());
        let flow = self.nested(&body, &value, call.span);
        self.calls.pop();
        self.variables = variables;
        // A loop around the call is no business of the template.
        flow.map(|_| Flow::Done)
    }

    fn prepare(&mut self, call: &TemplateCall, dot: &Value) -> Result<(Rc<Block>, Value), Failure> {
        let body = self.definition(&call.name)?;
        let value = match &call.pipeline {
            Some(pipeline) => self.pipeline(pipeline, dot)?,
            None => Value::Nil,
        };
        Ok((body, value))
    }

    /// Returns a defined template.
    pub(super) fn definition(&self, name: &str) -> Result<Rc<Block>, Failure> {
        if let Some(body) = self.definitions.get(name) {
            return Ok(Rc::clone(body));
        }
        let failure = Failure::new("T115", format!("template {name:?} is not defined in this file"));
        Err(match nearest(name, self.definitions.keys().map(String::as_str)) {
            Some(meant) => failure.hint(format!("did you mean {meant:?}?")),
            None => failure.hint("a definition is seen only in its own file"),
        })
    }

    /// Records that a whole part of the context was read.
    pub(super) fn touch(&mut self, value: &Value) {
        let path = match value {
            Value::Map(map) => map.path(),
            Value::List(list) => list.path(),
            _ => None,
        };
        if let Some(path) = path {
            self.reads.insert(path.to_string());
        }
    }
}

/// Whether a block gets a dot of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Keep,
    Enter,
}

/// What a range walks over, with the key or index of each element.
enum Elements {
    Items(Vec<(Value, Value)>),
    /// The numbers below this one, in the type of the number.
    Count(u64, fn(u64) -> Value),
}

impl Elements {
    fn is_empty(&self) -> bool {
        match self {
            Self::Items(items) => items.is_empty(),
            Self::Count(end, _) => *end == 0,
        }
    }
}

impl IntoIterator for Elements {
    type Item = (Value, Value);
    type IntoIter = Box<dyn Iterator<Item = (Value, Value)>>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Self::Items(items) => Box::new(items.into_iter()),
            Self::Count(end, kind) => Box::new((0..end).map(move |n| (Value::Nil, kind(n)))),
        }
    }
}

/// Returns whether a text holds what Go writes for a wrong verb, such as `%!d(string=x)`, `%!s(MISSING)` or `%!(EXTRA int=1)`.
fn has_mark(text: &str) -> bool {
    text.split("%!").skip(1).any(|rest| {
        let behind_verb = rest.char_indices().nth(1).and_then(|(at, _)| rest.get(at..));
        rest.starts_with('(') || behind_verb.is_some_and(|rest| rest.starts_with('('))
    })
}

fn numbered(items: Vec<Value>) -> Vec<(Value, Value)> {
    items.into_iter().enumerate().map(|(index, item)| (Value::count(index), item)).collect()
}
