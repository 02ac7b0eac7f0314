//! Pure. Calls functions: finds them, counts and checks their arguments, and counts what they cost.
//!
//! Not here: what the functions do (`functions`).

use super::ast::{Operand, OperandKind};
use super::eval::Evaluator;
use super::failure::Failure;
use super::functions::{self, Function, Known, Parameter, Reading, Special};
use super::inline::Run;
use super::named::Named;
use super::value::{Map, Value};

/// The arguments of a call, not yet evaluated but for the one before the bar.
pub(super) struct Arguments<'a> {
    /// Those that stand after the name.
    pub(super) given: &'a [Operand],
    /// The value before the bar, which becomes the last argument.
    pub(super) last: Option<Value>,
}

impl Arguments<'_> {
    /// Returns no arguments.
    pub(super) fn none() -> Self {
        Self { given: &[], last: None }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.given.len() + usize::from(self.last.is_some())
    }
}

impl Evaluator<'_> {
    /// Calls a function by its short name; the value before the bar is the last argument.
    pub(super) fn call(&mut self, name: &str, arguments: Arguments<'_>, dot: &Value) -> Result<Value, Failure> {
        match functions::find(name)? {
            Known::Function(function) => self.invoke(function, arguments, dot),
            Known::Special(Special::And) => self.shortcut(arguments, dot, Until::False),
            Known::Special(Special::Or) => self.shortcut(arguments, dot, Until::True),
            Known::Special(Special::DataSource) => self.data_source(arguments, dot),
            Known::Special(Special::Inline) => self.run_inside(Run::Text, arguments, dot),
            Known::Group(group) => {
                if arguments.count() == 0 {
                    Ok(Value::Namespace(group))
                } else {
                    Err(Failure::new("T203", format!("{group} is a group of functions and takes no arguments")))
                }
            }
        }
    }

    /// Calls a function of a group.
    pub(super) fn call_in(
        &mut self,
        group: &'static str,
        name: &str,
        arguments: Arguments<'_>,
        dot: &Value,
    ) -> Result<Value, Failure> {
        if group == "tmpl" {
            return self.call_template(name, arguments, dot);
        }
        let function = functions::find_in(group, name)?;
        self.invoke(function, arguments, dot)
    }

    fn invoke(&mut self, function: &'static Function, arguments: Arguments<'_>, dot: &Value) -> Result<Value, Failure> {
        check_count(function, arguments.count())?;
        self.invoke_after(Vec::new(), function, arguments, dot)
    }

    /// Calls a method, whose first argument is the value that has it.
    pub(super) fn call_method(
        &mut self,
        method: &'static Function,
        receiver: Value,
        arguments: Arguments<'_>,
        dot: &Value,
    ) -> Result<Value, Failure> {
        check_count(method, arguments.count() + 1)?;
        self.invoke_after(vec![receiver], method, arguments, dot)
    }

    fn invoke_after(
        &mut self,
        mut values: Vec<Value>,
        function: &'static Function,
        arguments: Arguments<'_>,
        dot: &Value,
    ) -> Result<Value, Failure> {
        let Arguments { given, last } = arguments;
        for argument in given {
            let index = values.len();
            let value = self.argument(function.parameter(index), argument, dot);
            values.push(value.map_err(|failure| of_function(function, index, failure).at(argument.at))?);
        }
        if let Some(last) = last {
            let index = values.len();
            let value = fitting(function.parameter(index), last, Origin::Computed);
            values.push(value.map_err(|failure| of_function(function, index, failure))?);
        }
        self.record(function, &values);
        for value in &values {
            self.budget.scan(size(value))?;
        }
        let result = (function.body)(&values, &mut self.budget).map_err(|mut failure| {
            match failure.id {
                "T205" => failure.message = format!("{}: {}", function.name, failure.message),
                // A message that was calculated may hold a value.
                "T207" if !matches!(given.first(), Some(Operand { kind: OperandKind::Text(_), .. }) | None) => {
                    failure.message = "the template refuses this config with a calculated message".to_owned();
                }
                _ => {}
            }
            failure
        })?;
        match &result {
            Value::Text(text) => self.budget.text(text.len())?,
            Value::Bytes(bytes) => self.budget.text(bytes.len())?,
            Value::List(list) => self.budget.elements(list.len())?,
            Value::Map(map) => self.budget.elements(map.len())?,
            _ => {}
        }
        Ok(result)
    }

    /// Evaluates an argument for a parameter; constants take its type, as in Go.
    fn argument(&mut self, parameter: Parameter, operand: &Operand, dot: &Value) -> Result<Value, Failure> {
        match (&operand.kind, parameter) {
            (OperandKind::Nil, Parameter::Text | Parameter::Integer) => {
                Err(Failure::argument("nil is no value for it"))
            }
            (OperandKind::Number(number), Parameter::Integer | Parameter::Duration) => match number.integer {
                Some(integer) => Ok(Value::Int(integer)),
                None => Err(Failure::argument("wants an integer")),
            },
            (OperandKind::Field(_) | OperandKind::Chain(..), Parameter::Position) => {
                Err(Failure::argument("is a field, which gomplate does not take there")
                    .hint("put it into a variable first"))
            }
            (OperandKind::Nil | OperandKind::Pipeline(_), _) => {
                let value = self.operand(operand, dot)?;
                fitting(parameter, value, Origin::Computed)
            }
            _ => {
                let value = self.operand(operand, dot)?;
                fitting(parameter, value, Origin::Found)
            }
        }
    }

    /// Returns the first argument that decides, or the last one; those after it are not evaluated.
    fn shortcut(&mut self, arguments: Arguments<'_>, dot: &Value, until: Until) -> Result<Value, Failure> {
        if arguments.count() == 0 {
            return Err(Failure::new("T203", "and, or need an argument"));
        }
        let mut value = Value::Nil;
        for argument in arguments.given {
            value = self.operand(argument, dot)?;
            self.touch(&value);
            if value.is_true() == (until == Until::True) {
                return Ok(value);
            }
        }
        Ok(arguments.last.unwrap_or(value))
    }

    /// Returns the config that the oldest packages ask for by name.
    fn data_source(&mut self, arguments: Arguments<'_>, dot: &Value) -> Result<Value, Failure> {
        let name = match (arguments.given, arguments.last) {
            ([operand], None) => self.operand(operand, dot)?,
            ([], Some(value)) => value,
            _ => return Err(Failure::new("T203", "datasource takes one name here")),
        };
        match name {
            Value::Text(name) if &*name == "config" && !matches!(self.config, Value::Nil) => Ok(self.config.clone()),
            _ => Err(Failure::new("T210", "function datasource is not available: a rendering reads no outside data")
                .hint("the values of the app's config are at the root: {{ .domain }}")),
        }
    }

    /// Records what a function reads of the context.
    fn record(&mut self, function: &Function, values: &[Value]) {
        let (container, keys) = match (function.reading, values) {
            (Reading::KeysAfter | Reading::Presence, [container, keys @ ..])
            | (Reading::KeysBefore, [keys @ .., container]) => (container, keys),
            _ => {
                for value in values {
                    self.touch(value);
                }
                return;
            }
        };
        let mut current = container.clone();
        for key in keys {
            let (Value::Map(map), Value::Text(key)) = (&current, key) else { break };
            let map: Map = map.clone();
            match map.get(key) {
                Some(found) => {
                    if function.reading == Reading::Presence {
                        self.reads.extend(map.path_of(key));
                    }
                    self.read(&map, key, &found);
                    current = found;
                }
                None => {
                    self.reads.extend(map.path_of(key));
                    return;
                }
            }
        }
        // A map that index returns is read once something is done with it; a list is looked into right here.
        if matches!(current, Value::List(_)) || keys.is_empty() {
            self.touch(&current);
        }
    }
}

/// Which truth ends `and` and `or`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    False,
    True,
}

/// Where a value comes from; Go takes a nil for a map only if it was computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Computed,
    Found,
}

fn check_count(function: &Function, count: usize) -> Result<(), Failure> {
    let fixed = function.parameters.len();
    let fits = if function.rest.is_some() { count >= fixed } else { count == fixed };
    if fits {
        return Ok(());
    }
    let wanted = if function.rest.is_some() { format!("at least {fixed}") } else { fixed.to_string() };
    let plural = if fixed == 1 { "" } else { "s" };
    Err(Failure::new("T203", format!("{} wants {wanted} argument{plural} and gets {count}", function.name)))
}

fn of_function(function: &Function, index: usize, mut failure: Failure) -> Failure {
    if failure.id == "T204" && failure.at.is_none() {
        failure.message = format!("argument {} of {} {}", index + 1, function.name, failure.message);
    }
    failure
}

fn fitting(parameter: Parameter, value: Value, origin: Origin) -> Result<Value, Failure> {
    let wanted = match (parameter, &value) {
        (Parameter::Any | Parameter::Position, _)
        | (Parameter::Text, Value::Text(_))
        | (Parameter::Integer, Value::Int(_))
        | (Parameter::Time, Value::Named(Named::Time(_)))
        | (Parameter::Duration, Value::Named(Named::Duration(_)))
        | (Parameter::Version, Value::Named(Named::Version(_))) => {
            return Ok(value);
        }
        (Parameter::Map, Value::Map(map)) if map.element() == super::value::Element::Any => return Ok(value),
        (Parameter::Map, Value::Nil) if origin == Origin::Computed => return Ok(value),
        (Parameter::Text, _) => "a text",
        (Parameter::Integer, _) => "an integer",
        (Parameter::Map, _) => "a map",
        (Parameter::Time, _) => "a time",
        (Parameter::Duration, _) => "a duration",
        (Parameter::Version, _) => "a version",
    };
    let failure = Failure::argument(format!("wants {wanted} and gets {}", value.noun()));
    Err(match (parameter, &value) {
        (Parameter::Integer, _) => {
            failure.hint("write ( … | conv.ToInt ): the result of a calculation is no plain integer")
        }
        (Parameter::Text, Value::Nil | Value::Map(_) | Value::List(_)) => failure,
        (Parameter::Text, _) => failure.hint("write ( … | conv.ToString )"),
        _ => failure,
    })
}

/// Returns the bytes that a function has to look at.
fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len().saturating_mul(64),
        Value::Map(map) => map.len().saturating_mul(64),
        _ => 0,
    }
}
