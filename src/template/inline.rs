//! Pure. `tmpl.Exec`, `tmpl.Inline` and their like: templates that run inside an expression.
//!
//! Not here: the `template` action (`eval.rs`). A text that comes from the context is never run: it is data.

use super::ast::{Operand, OperandKind, Span};
use super::call::Arguments;
use super::eval::Evaluator;
use super::failure::Failure;
use super::parse::parse;
use super::value::Value;

/// What an expression may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Run {
    /// A template that the file defines.
    Named,
    /// A text that stands in the expression.
    Text,
}

impl Evaluator<'_> {
    /// Calls a function of the group `tmpl`.
    pub(super) fn call_template(
        &mut self,
        name: &str,
        arguments: Arguments<'_>,
        dot: &Value,
    ) -> Result<Value, Failure> {
        match name {
            "Exec" => self.run_inside(Run::Named, arguments, dot),
            "Inline" => self.run_inside(Run::Text, arguments, dot),
            "Path" | "PathDir" if arguments.count() > 0 => {
                Err(Failure::new("T203", format!("{name} wants 0 arguments and gets {}", arguments.count())))
            }
            "Path" => Ok(Value::text(self.source.file)),
            "PathDir" => {
                let directory = self.source.file.rsplit_once('/').map_or(".", |(directory, _)| directory);
                Ok(Value::text(if self.source.file.is_empty() { "" } else { directory }))
            }
            _ => Err(Failure::new("T112", format!("there is no function tmpl.{name}"))
                .hint("the group has Exec, Inline, Path and PathDir")),
        }
    }

    /// Runs a template and returns what it prints.
    pub(super) fn run_inside(&mut self, run: Run, arguments: Arguments<'_>, dot: &Value) -> Result<Value, Failure> {
        let count = arguments.count();
        let constants: Vec<Option<String>> = arguments.given.iter().map(constant).collect();
        let mut values = Vec::with_capacity(count);
        for operand in arguments.given {
            values.push(self.operand(operand, dot)?);
        }
        values.extend(arguments.last);
        let texts = values.iter().filter(|value| matches!(value, Value::Text(_))).count();
        let (at, context) = match (run, values.as_slice()) {
            (Run::Named | Run::Text, [_]) => (0, None),
            (Run::Named, [_, context]) => (0, Some(context)),
            // A name may stand before the text.
            (Run::Text, [_, _]) if texts == 2 => (1, None),
            (Run::Text, [_, context]) => (0, Some(context)),
            (Run::Text, [_, _, context]) => (1, Some(context)),
            _ => {
                return Err(Failure::new(
                    "T203",
                    format!("a template is run with 1 to 3 arguments and not with {count}"),
                ));
            }
        };
        let context = context.cloned().unwrap_or_else(|| self.root.clone());
        let text = constants.get(at).cloned().flatten();
        match (run, values.get(at), text) {
            (Run::Named, Some(Value::Text(name)), _) => self.run_named(name, &context),
            (Run::Text, Some(Value::Text(_)), Some(text)) => {
                let name = constants.first().cloned().flatten().filter(|_| at == 1);
                self.run_text(&text, name, &context)
            }
            (Run::Text, Some(Value::Text(_)), None) => {
                Err(Failure::new("T222", "only a text that stands in the template can be run as a template")
                    .hint("values of the config are data and are printed as they are"))
            }
            _ => Err(Failure::argument("what is run must be a text")),
        }
    }

    fn run_named(&mut self, name: &str, context: &Value) -> Result<Value, Failure> {
        let body = self.definition(name)?;
        self.printed(name, context, |evaluator| evaluator.nested(&body, context, Span { start: 0, end: 0 }).is_ok())
    }

    fn run_text(&mut self, text: &str, name: Option<String>, context: &Value) -> Result<Value, Failure> {
        self.budget.steps(text.len())?;
        let mut tree = parse(text).map_err(|failure| Failure { at: None, ..failure })?;
        self.definitions.append(&mut tree.definitions);
        let body = std::rc::Rc::new(tree.root);
        if let Some(name) = &name {
            self.definitions.insert(name.clone(), std::rc::Rc::clone(&body));
        }
        let name = name.unwrap_or_else(|| "<inline>".to_owned());
        self.printed(&name, context, |evaluator| evaluator.nested(&body, context, Span { start: 0, end: 0 }).is_ok())
    }

    /// Runs something with variables, output and findings of its own, and returns the output or the first finding.
    fn printed(&mut self, name: &str, context: &Value, run: impl FnOnce(&mut Self) -> bool) -> Result<Value, Failure> {
        let variables = std::mem::replace(&mut self.variables, vec![("$".to_owned(), context.clone())]);
        let output = std::mem::take(&mut self.output);
        let findings = std::mem::take(&mut self.findings);
        let met = std::mem::take(&mut self.met);
        // What is printed inside goes on as a value and is written later, if at all.
        let replace = self.replace.take();
        let went_on = run(self);
        self.variables = variables;
        self.replace = replace;
        let printed = std::mem::replace(&mut self.output, output);
        let failed = std::mem::replace(&mut self.findings, findings);
        self.met = met;
        match failed.into_iter().next() {
            None => Ok(Value::text(printed)),
            Some(finding) => {
                let message = format!("template {name:?} fails: {}: {}", finding.id, finding.message);
                let failure = Failure::new("T208", message).hint(finding.hint);
                Err(if went_on { failure } else { failure.fatal() })
            }
        }
    }
}

fn constant(operand: &Operand) -> Option<String> {
    match &operand.kind {
        OperandKind::Text(text) => Some(text.to_string()),
        _ => None,
    }
}
