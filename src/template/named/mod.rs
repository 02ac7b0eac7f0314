//! Pure. Values of Go's named types: times, durations, versions and URLs, with the fields and methods templates use.
//!
//! Not here: the functions that make them (`functions`), plain values (`value.rs`).

mod civil;
mod duration;
mod layout;
mod reading;
mod time;
mod url;
mod version;

use std::rc::Rc;

pub(super) use duration::{DURATION, format_duration, parse_duration};
pub(super) use reading::parse_time;
pub(super) use time::{Time, Zone};
pub(super) use url::{QUERY, Url};
pub(super) use version::{Version, satisfies};

use super::failure::Failure;
use super::functions::Function;
use super::value::{Map, Value};

/// A value of a named type.
#[derive(Clone)]
pub(super) enum Named {
    /// `time.Time`
    Time(Time),
    /// `time.Duration`, in nanoseconds.
    Duration(i64),
    /// `time.Month`, from 1.
    Month(i64),
    /// `time.Weekday`, from 0 for Sunday.
    Weekday(i64),
    /// `*semver.Version`
    Version(Rc<Version>),
    /// `*url.URL`
    Url(Rc<Url>),
    /// `*url.Userinfo`: the URL that holds it.
    User(Rc<Url>),
}

impl Named {
    /// Returns the name of the type as Go prints it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Time(_) => "time.Time",
            Self::Duration(_) => "time.Duration",
            Self::Month(_) => "time.Month",
            Self::Weekday(_) => "time.Weekday",
            Self::Version(_) => "*semver.Version",
            Self::Url(_) => "*url.URL",
            Self::User(_) => "*url.Userinfo",
        }
    }

    /// Returns what people call such a value.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Time(_) => "a time",
            Self::Duration(_) => "a duration",
            Self::Month(_) => "a month",
            Self::Weekday(_) => "a day of the week",
            Self::Version(_) => "a version",
            Self::Url(_) => "a URL",
            Self::User(_) => "the user of a URL",
        }
    }

    /// Returns the kind of the type as Go names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Time(_) => "struct",
            Self::Duration(_) => "int64",
            Self::Month(_) | Self::Weekday(_) => "int",
            Self::Version(_) | Self::Url(_) | Self::User(_) => "ptr",
        }
    }

    /// Returns the integer that it is in Go.
    pub(super) fn as_signed(&self) -> Option<i64> {
        match self {
            Self::Duration(number) | Self::Month(number) | Self::Weekday(number) => Some(*number),
            Self::Time(_) | Self::Version(_) | Self::Url(_) | Self::User(_) => None,
        }
    }

    /// Returns its text, which is what it prints.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Time(time) => time.to_text(),
            Self::Duration(nanos) => format_duration(*nanos),
            Self::Month(month) => time::month_name(*month),
            Self::Weekday(day) => time::weekday_name(*day),
            Self::Version(version) => version.to_string(),
            Self::Url(url) => url.to_string(),
            Self::User(url) => url.user_text(),
        }
    }

    /// Returns whether Go calls them equal: versions and URLs only if they were made by one call.
    pub(super) fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Version(a), Self::Version(b)) => Rc::ptr_eq(a, b),
            (Self::Url(a), Self::Url(b)) | (Self::User(a), Self::User(b)) => Rc::ptr_eq(a, b),
            (Self::Time(a), Self::Time(b)) => a.is_identical(b),
            _ => false,
        }
    }

    /// Returns what JSON and YAML hold in its place.
    pub(super) fn as_data(&self) -> Result<Value, Failure> {
        match self {
            Self::Time(time) => Ok(Value::text(time.to_data())),
            Self::Duration(number) | Self::Month(number) | Self::Weekday(number) => Ok(Value::Int64(*number)),
            Self::Version(_) => Ok(Value::text(self.text())),
            Self::Url(_) | Self::User(_) => {
                Err(Failure::new("T211", format!("{} cannot be written as data here", self.noun()))
                    .hint("write its text: ( … ).String"))
            }
        }
    }

    /// Returns a method of the type.
    pub(super) fn method(&self, name: &str) -> Option<&'static Function> {
        let methods = match self {
            Self::Time(_) => time::METHODS,
            Self::Duration(_) => duration::METHODS,
            Self::Month(_) | Self::Weekday(_) => TEXT_ONLY,
            Self::Version(_) => version::METHODS,
            Self::Url(_) => url::METHODS,
            Self::User(_) => url::USER_METHODS,
        };
        methods.iter().find(|method| method.name == name)
    }

    /// Returns a field of the type, or says that there is none.
    pub(super) fn field(&self, name: &str) -> Result<Value, Failure> {
        let found = match self {
            Self::Url(url) => Url::field(url, name),
            Self::Time(_)
            | Self::Duration(_)
            | Self::Month(_)
            | Self::Weekday(_)
            | Self::Version(_)
            | Self::User(_) => None,
        };
        found.ok_or_else(|| match name {
            "In" | "Location" | "Local" | "GoString" | "AppendFormat" | "AppendText" | "MarshalText"
            | "MarshalJSON" | "MarshalBinary" | "GobEncode" | "AppendBinary" | "AppendGoFormat" | "ZoneBounds" => {
                Failure::new("T211", format!("{} has a method {name} that is not available here", self.noun()))
            }
            _ => Failure::new("T202", format!("{} has no field .{name}", self.noun())),
        })
    }
}

/// Methods of a type that has nothing but a text.
const TEXT_ONLY: &[Function] = &[text_method()];

/// Makes the method that returns the text.
const fn text_method() -> Function {
    super::functions::fixed("String", &[], &[super::functions::Parameter::Any], |values, _| {
        Ok(match values.first() {
            Some(Value::Named(named)) => Value::text(named.text()),
            _ => Value::Nil,
        })
    })
}

/// Returns a method of a map, if it is the query of a URL.
pub(super) fn method_of(map: &Map, name: &str) -> Option<&'static Function> {
    if map.element() != super::value::Element::Query {
        return None;
    }
    QUERY.iter().find(|method| method.name == name)
}

/// Returns the names of all methods.
#[cfg(test)]
pub(super) fn methods() -> Vec<&'static str> {
    let tables =
        [time::METHODS, duration::METHODS, TEXT_ONLY, version::METHODS, url::METHODS, url::USER_METHODS, QUERY];
    tables.into_iter().flatten().map(|method| method.name).collect()
}

/// Returns the time that is the receiver or an argument of a method, whose type was checked.
fn time_at(values: &[Value], index: usize) -> Result<&Time, Failure> {
    match values.get(index) {
        Some(Value::Named(Named::Time(time))) => Ok(time),
        _ => Err(Failure::argument("wants a time")),
    }
}

/// Returns the duration at a place; constants are nanoseconds.
fn duration_at(values: &[Value], index: usize) -> i64 {
    match values.get(index) {
        Some(Value::Named(Named::Duration(nanos))) => *nanos,
        Some(value) => value.as_signed().unwrap_or(0),
        None => 0,
    }
}
