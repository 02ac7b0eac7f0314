//! Pure. Versions: `semver.*`.
//!
//! Not here: reading and comparing them (`named/version.rs`).

use super::{Function, Parameter, fixed, text_at};
use crate::template::named::{Named, Version, satisfies};
use crate::template::value::Value;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("CheckConstraint", &[], &[Parameter::Text, Parameter::Text], |values, _| {
        satisfies(text_at(values, 0), text_at(values, 1)).map(Value::Bool)
    }),
    fixed("Semver", &[], &[Parameter::Text], |values, _| {
        Version::parse(text_at(values, 0)).map(|version| Value::Named(Named::Version(version)))
    }),
];
