//! Pure. Evaluates pipelines, commands and operands, and walks fields.
//!
//! Not here: which arguments a function takes (`call.rs`).

use crate::base::nearest::nearest;

use super::ast::{Binding, Number, Operand, OperandKind, Pipeline, Segment};
use super::call::Arguments;
use super::eval::Evaluator;
use super::failure::Failure;
use super::functions::Function;
use super::named;
use super::value::{Map, Value, join_path};

/// Keys of a map that a finding lists.
const MAX_LISTED_KEYS: usize = 8;
/// Groups of the context that only some texts see.
const GROUPS: [&str; 5] = ["secrets", "apps", "cloud", "cluster", "operator"];

impl Evaluator<'_> {
    /// Evaluates a pipeline and gives its variables the value.
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, Failure> {
        let mut value = None;
        for command in &pipeline.segments {
            let result = self.command(command, value, dot).map_err(|failure| failure.at(command.head.at))?;
            value = Some(result);
        }
        let value = value.unwrap_or(Value::Nil);
        for name in &pipeline.variables {
            match pipeline.binding {
                Binding::Declare => self.variables.push((name.clone(), value.clone())),
                Binding::Assign => self.assign(name, value.clone()).map_err(|failure| failure.at(pipeline.at))?,
            }
        }
        Ok(value)
    }

    /// Changes a variable that exists.
    pub(super) fn assign(&mut self, name: &str, value: Value) -> Result<(), Failure> {
        match self.variables.iter_mut().rev().find(|(known, _)| known == name) {
            Some(variable) => {
                variable.1 = value;
                Ok(())
            }
            None => Err(no_variable(name)),
        }
    }

    /// Evaluates a command; `last` is the value before the bar.
    fn command(&mut self, command: &Segment, last: Option<Value>, dot: &Value) -> Result<Value, Failure> {
        self.budget.steps(1)?;
        let arguments = Arguments { given: &command.arguments, last };
        let plain = arguments.count() == 0;
        match &command.head.kind {
            OperandKind::Function(name) => self.call(name, arguments, dot),
            OperandKind::Chain(base, fields) => {
                let receiver = self.operand(base, dot)?;
                self.chain_call(receiver, fields, arguments, dot)
            }
            OperandKind::Field(names) if !plain => self.chain_call(dot.clone(), names, arguments, dot),
            OperandKind::Variable(name, names) if !plain && !names.is_empty() => {
                let receiver = self.variable(name)?;
                self.chain_call(receiver, names, arguments, dot)
            }
            OperandKind::Nil if plain => {
                Err(Failure::new("T110", "nil is no value that could be printed or passed on"))
            }
            _ if plain => self.operand(&command.head, dot),
            _ => Err(Failure::new("T203", "what is no function takes no arguments")),
        }
    }

    /// Evaluates an operand where any type will do.
    pub(super) fn operand(&mut self, operand: &Operand, dot: &Value) -> Result<Value, Failure> {
        self.budget.steps(1)?;
        let result = match &operand.kind {
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Nil => Ok(Value::Nil),
            OperandKind::Bool(flag) => Ok(Value::Bool(*flag)),
            OperandKind::Number(number) => constant(*number),
            OperandKind::Text(text) => Ok(Value::Text(text.clone())),
            OperandKind::Field(names) => self.fields(dot.clone(), names),
            OperandKind::Variable(name, names) => self.variable(name).and_then(|value| self.fields(value, names)),
            OperandKind::Function(name) => self.call(name, Arguments::none(), dot),
            OperandKind::Chain(base, fields) => {
                self.operand(base, dot).and_then(|receiver| self.chain_call(receiver, fields, Arguments::none(), dot))
            }
            OperandKind::Pipeline(pipeline) => {
                self.enter().map_err(|failure| failure.at(operand.at))?;
                let mark = self.variables.len();
                let value = self.pipeline(pipeline, dot);
                // Variables declared in parentheses live on, as in Go.
                debug_assert!(self.variables.len() >= mark);
                self.depth -= 1;
                value
            }
        };
        result.map_err(|failure| failure.at(operand.at))
    }

    fn variable(&self, name: &str) -> Result<Value, Failure> {
        let found = self.variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| no_variable(name))
    }

    /// Walks fields; the last one may be a function of a group, which gets the arguments.
    fn chain_call(
        &mut self,
        receiver: Value,
        fields: &[String],
        arguments: Arguments<'_>,
        dot: &Value,
    ) -> Result<Value, Failure> {
        let Some((last, before)) = fields.split_last() else { return Ok(receiver) };
        let mut receiver = receiver;
        for field in before {
            receiver = match receiver {
                Value::Namespace(group) => self.call_in(group, field, Arguments::none(), dot)?,
                _ => self.field(&receiver, field)?,
            };
        }
        if let Some(method) = method_of(&receiver, last) {
            return self.call_method(method, receiver, arguments, dot);
        }
        match receiver {
            Value::Namespace(group) => self.call_in(group, last, arguments, dot),
            _ if arguments.count() > 0 => {
                Err(Failure::new("T203", format!("{last} is no function and takes no arguments")))
            }
            _ => self.field(&receiver, last),
        }
    }

    fn fields(&mut self, value: Value, names: &[String]) -> Result<Value, Failure> {
        let mut value = value;
        for name in names {
            value = self.field(&value, name)?;
        }
        Ok(value)
    }

    fn field(&mut self, value: &Value, name: &str) -> Result<Value, Failure> {
        self.budget.steps(1)?;
        if let Some(method) = method_of(value, name) {
            return self.call_method(method, value.clone(), Arguments::none(), &Value::Nil);
        }
        match value {
            Value::Map(map) => match map.get(name) {
                Some(found) => {
                    self.read(map, name, &found);
                    Ok(found)
                }
                None => Err(missing(map, name)),
            },
            Value::Nil => Err(Failure::new("T202", format!("there is no value of which .{name} could be taken"))
                .hint("ask for it first with {{ with … }}")),
            Value::Named(named) => named.field(name),
            _ => Err(Failure::new("T202", format!("{} has no field .{name}", value.noun()))),
        }
    }

    /// Records a key that was read; a list or map counts only once something is done with it as a whole.
    pub(super) fn read(&mut self, map: &Map, key: &str, value: &Value) {
        if !matches!(value, Value::Map(_) | Value::List(_)) {
            self.reads.extend(map.path_of(key));
        }
    }
}

/// Returns the method of a value, if it has one of this name.
fn method_of(value: &Value, name: &str) -> Option<&'static Function> {
    match value {
        Value::Named(named) => named.method(name),
        Value::Map(map) => named::method_of(map, name),
        _ => None,
    }
}

fn no_variable(name: &str) -> Failure {
    Failure::new("T111", format!("variable {name} has no value here")).hint("it was declared in a block that has ended")
}

fn constant(number: Number) -> Result<Value, Failure> {
    match (number.float, number.integer) {
        (Some(float), _) => Ok(Value::Float(float)),
        (None, Some(integer)) => Ok(Value::Int(integer)),
        (None, None) => Err(Failure::new("T110", "the number is too large")),
    }
}

/// Says which keys there are, as far as a line has room for them.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(MAX_LISTED_KEYS);
    names.truncate(MAX_LISTED_KEYS);
    match (names.as_slice(), more) {
        ([], _) => "; it is empty".to_owned(),
        (names, 0) => format!("; it has {}", names.join(", ")),
        (names, more) => format!("; it has {} and {more} more", names.join(", ")),
    }
}

/// Says what is missing, by where the map stands.
fn missing(map: &Map, key: &str) -> Failure {
    let path = map.path().map(|path| &**path);
    let keys = map.entries();
    let names = keys.iter().map(|(key, _)| &**key);
    let remedy = format!("{{{{ index … {key:?} | default \"…\" }}}}");
    match (path, key) {
        (Some(""), "Env") => Failure::new("T210", "the environment is not available")
            .hint("a rendering depends on its config alone; add a key to defaultConfig"),
        (Some(""), "Values" | "Release" | "Chart" | "Capabilities") => {
            Failure::new("T201", format!("the config has no key {key:?}"))
                .hint(format!("{key} belongs to Helm; name the config key"))
        }
        (Some(""), _) if GROUPS.contains(&key) => {
            Failure::new("T220", format!("`.{key}` is not available in this text"))
                .hint("a file sees the config of its own app; put what it needs into defaultConfig")
        }
        (Some("apps" | "config.apps"), _) => {
            Failure::new("T221", format!("the package does not require an app {key:?}"))
                .hint(format!("add to the manifest: requires: [{{name: {key}}}]"))
        }
        _ => {
            let whole = match path {
                Some("") => "the config".to_owned(),
                Some(path) => path.to_owned(),
                None => "the map".to_owned(),
            };
            let failure = Failure::new("T201", format!("{whole} has no key {key:?}{}", listed(names.clone())));
            match nearest(key, names) {
                Some(meant) => failure.hint(format!("did you mean {meant:?}? or {remedy}")),
                None => failure.hint(format!("set {} or write {remedy}", join_path(path.unwrap_or("…"), key))),
            }
        }
    }
}
