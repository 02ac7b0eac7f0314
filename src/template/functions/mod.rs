//! Pure. The table of functions: which names exist, what they take, and what each is.
//!
//! Not here: evaluation of arguments (`call.rs`).

mod base64;
mod builtins;
mod coll;
mod compare;
mod conv;
mod crypto;
mod csv;
mod data;
mod json;
mod math;
mod path;
mod refused;
mod regexp;
mod semver;
mod strings;
mod test;
mod time;
mod toml;
mod uuid;
mod yaml;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::base::nearest::nearest;

use super::failure::Failure;
use super::limits::Budget;
use super::value::Value;

/// What a function does with its arguments, whose number and types were checked.
pub(super) type Body = fn(&[Value], &mut Budget) -> Result<Value, Failure>;

/// A function.
pub(super) struct Function {
    /// Name inside its group, or the only name of a function without group.
    pub(super) name: &'static str,
    /// Names by which it is called without its group.
    pub(super) aliases: &'static [&'static str],
    /// Types of the arguments that must be there.
    pub(super) parameters: &'static [Parameter],
    /// Type of any number of further arguments.
    pub(super) rest: Option<Parameter>,
    /// What it reads of its arguments.
    pub(super) reading: Reading,
    /// What it does.
    pub(super) body: Body,
}

/// What an argument must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// Anything.
    Any,
    /// A text.
    Text,
    /// Go's `int`, not the `int64` of calculations.
    Integer,
    /// A map that may hold anything.
    Map,
    /// Anything but a field: gomplate does not look into it there.
    Position,
    /// A point in time.
    Time,
    /// A duration; an integer constant counts nanoseconds.
    Duration,
    /// A version.
    Version,
}

/// What a function reads of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// All of each.
    Whole,
    /// Of the first argument only what the keys after it name.
    KeysAfter,
    /// Of the last argument only what the keys before it name.
    KeysBefore,
    /// Whether the first argument has the key after it.
    Presence,
}

/// What a short name stands for.
#[derive(Clone, Copy)]
pub(super) enum Known {
    /// A function.
    Function(&'static Function),
    /// A group of functions.
    Group(&'static str),
    /// A function that decides which of its arguments are evaluated, or that reads more than them.
    Special(Special),
}

/// Functions that the evaluator runs itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    /// `and`
    And,
    /// `or`
    Or,
    /// `datasource`, `ds`
    DataSource,
    /// `tpl`
    Inline,
}

impl Function {
    /// Returns the type of an argument.
    pub(super) fn parameter(&self, index: usize) -> Parameter {
        self.parameters.get(index).copied().or(self.rest).unwrap_or(Parameter::Any)
    }
}

/// Makes a function that takes exactly these arguments.
pub(super) const fn fixed(
    name: &'static str,
    aliases: &'static [&'static str],
    parameters: &'static [Parameter],
    body: Body,
) -> Function {
    Function { name, aliases, parameters, rest: None, reading: Reading::Whole, body }
}

/// Makes a function that takes any number of arguments after the fixed ones.
const fn variadic(
    name: &'static str,
    aliases: &'static [&'static str],
    parameters: &'static [Parameter],
    body: Body,
) -> Function {
    Function { name, aliases, parameters, rest: Some(Parameter::Any), reading: Reading::Whole, body }
}

/// Groups with their functions; a group may stand here twice.
const GROUPS: [(&str, &[Function]); 17] = [
    ("base64", base64::FUNCTIONS),
    ("coll", coll::FUNCTIONS),
    ("conv", conv::FUNCTIONS),
    ("crypto", crypto::FUNCTIONS),
    ("data", csv::FUNCTIONS),
    ("data", data::FUNCTIONS),
    ("data", toml::FUNCTIONS),
    ("filepath", path::FUNCTIONS),
    ("filepath", path::FILES),
    ("math", math::FUNCTIONS),
    ("path", path::FUNCTIONS),
    ("regexp", regexp::FUNCTIONS),
    ("semver", semver::FUNCTIONS),
    ("strings", strings::FUNCTIONS),
    ("test", test::FUNCTIONS),
    ("time", time::FUNCTIONS),
    ("uuid", uuid::FUNCTIONS),
];

static TABLE: LazyLock<BTreeMap<&'static str, Known>> = LazyLock::new(|| {
    let mut table = BTreeMap::from([
        ("and", Known::Special(Special::And)),
        ("or", Known::Special(Special::Or)),
        ("datasource", Known::Special(Special::DataSource)),
        ("ds", Known::Special(Special::DataSource)),
        ("tmpl", Known::Group("tmpl")),
        ("tpl", Known::Special(Special::Inline)),
    ]);
    for functions in [builtins::FUNCTIONS, compare::FUNCTIONS, strings::LEGACY] {
        table.extend(functions.iter().map(|function| (function.name, Known::Function(function))));
    }
    for (group, functions) in GROUPS {
        table.insert(group, Known::Group(group));
        for function in functions {
            table.extend(function.aliases.iter().map(|alias| (*alias, Known::Function(function))));
        }
    }
    table
});

/// Returns whether a name may stand in a template; some names are known only to be refused where they are used.
pub(super) fn is_known(name: &str) -> bool {
    TABLE.contains_key(name) || refused::is_refused(name)
}

/// Returns what a short name stands for.
pub(super) fn find(name: &str) -> Result<Known, Failure> {
    if let Some(known) = TABLE.get(name) {
        return Ok(*known);
    }
    match refused::group(name) {
        // Its functions are refused one by one, with their reasons.
        Some(group) => Ok(Known::Group(group)),
        None => Err(refused::failure(name).unwrap_or_else(|| unknown(name))),
    }
}

/// Returns a function of a group.
pub(super) fn find_in(group: &'static str, name: &str) -> Result<&'static Function, Failure> {
    let functions = || GROUPS.iter().filter(|(known, _)| *known == group).flat_map(|(_, functions)| *functions);
    if let Some(function) = functions().find(|function| function.name == name) {
        return Ok(function);
    }
    let full = format!("{group}.{name}");
    if let Some(failure) = refused::failure(&full) {
        return Err(failure);
    }
    let failure = Failure::new("T112", format!("there is no function {full}"));
    let names = || functions().map(|function| function.name);
    let same_letters = names().find(|known| known.eq_ignore_ascii_case(name));
    Err(match same_letters.or_else(|| nearest(name, names())) {
        Some(meant) => failure.hint(format!("did you mean {group}.{meant}?")),
        None => failure,
    })
}

/// Returns the failure of a name that no function has.
pub(super) fn unknown(name: &str) -> Failure {
    let failure = Failure::new("T112", format!("there is no function {name}"));
    if let Some(hint) = refused::foreign(name) {
        return failure.hint(hint);
    }
    match nearest(name, TABLE.keys().copied()) {
        Some(meant) => failure.hint(format!("did you mean {meant}?")),
        None => failure,
    }
}

/// Returns the names of every function, the full one first, but for those that depend on the file (`tmpl.Path`) or on its
/// data source.
#[cfg(test)]
pub(super) fn catalogue() -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = ["and", "or", "tmpl.Exec"]
        .iter()
        .map(|name| vec![(*name).to_owned()])
        .chain([vec!["tmpl.Inline".to_owned(), "tpl".to_owned()]])
        .collect();
    let single = [builtins::FUNCTIONS, compare::FUNCTIONS, strings::LEGACY];
    all.extend(single.iter().flat_map(|functions| *functions).map(|function| vec![function.name.to_owned()]));
    for (group, functions) in GROUPS {
        all.extend(functions.iter().map(|function| {
            let full = format!("{group}.{}", function.name);
            [full].into_iter().chain(function.aliases.iter().map(|alias| (*alias).to_owned())).collect()
        }));
    }
    all
}

/// Returns an argument; a missing one is nil.
fn at(values: &[Value], index: usize) -> &Value {
    values.get(index).unwrap_or(&Value::Nil)
}

/// Returns a text argument that was checked.
pub(super) fn text_at(values: &[Value], index: usize) -> &str {
    match values.get(index) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

/// Returns an integer argument that was checked.
pub(super) fn integer_at(values: &[Value], index: usize) -> i64 {
    match values.get(index) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

/// Returns an integer of any type, if it is not larger than `int64`.
fn integer_like(value: &Value) -> Option<i64> {
    value.as_signed().or_else(|| value.as_unsigned().map(|number| i64::try_from(number).unwrap_or(-1)))
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, find_in, unknown};

    #[test]
    fn no_two_functions_share_a_short_name() {
        let mut names: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, functions)| *functions)
            .flat_map(|function| function.aliases)
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_name_that_is_nearly_right_gets_a_hint() {
        assert_eq!(unknown("toUper").hint, "did you mean toUpper?");
        assert_eq!(find_in("strings", "toupper").err().unwrap().hint, "did you mean strings.ToUpper?");
        assert!(unknown("nindent").hint.contains("Indent"));
    }
}
