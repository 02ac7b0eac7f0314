//! Pure. Why a file cannot be read or decrypted, without any of its values.
//!
//! Not here: finding that out (`file`).

use std::fmt;

/// Why a file cannot be used as one that SOPS encrypted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It has no section `sops`.
    NotSops,
    /// It is no YAML; the line where that shows.
    Broken(usize),
    /// It holds something that SOPS never writes or that is not read here; what, and the line.
    Foreign(&'static str, usize),
    /// A field of the section `sops` is missing or is not what SOPS writes.
    Section(&'static str),
    /// The data key is encrypted for no age recipient, only by these.
    OtherKeys(Vec<&'static str>),
    /// No known key decrypts it.
    NoKey(Vec<String>),
    /// The value at a place is not encrypted as it must be, or does not decrypt.
    Value(String),
    /// The value at a place stands in clear.
    Clear(String),
    /// The values are not those that the MAC was made of.
    Mac,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSops => write!(f, "is not encrypted by SOPS"),
            Self::Broken(line) => write!(f, "is no valid YAML at line {line}"),
            Self::Foreign(what, line) => write!(f, "holds {what} at line {line}, which SOPS does not write"),
            Self::Section(field) => write!(f, "has no sops.{field} as SOPS writes it"),
            Self::OtherKeys(names) => write!(f, "is encrypted for {} and for no age recipient", names.join(", ")),
            Self::NoKey(recipients) => {
                write!(f, "is encrypted for {}, and no key of these was found", recipients.join(", "))
            }
            Self::Value(place) => write!(f, "does not decrypt at {place}: it was edited without sops"),
            Self::Clear(place) => write!(f, "holds a value in clear at {place}"),
            Self::Mac => write!(f, "does not have the values that its MAC was made of: it was edited without sops"),
        }
    }
}

impl std::error::Error for Fault {}
