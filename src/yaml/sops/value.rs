//! Pure. Values as SOPS types them, in the bytes that it encrypts and that its MAC is made of.
//!
//! The bytes are those of Go: `True`, integers in decimal, floats without an exponent. Not here: encryption (`cipher`).

use std::fmt;

use super::super::scalar::{self, Reading};
use super::super::{Dialect, cst::Style};
use crate::model::{Purpose, SecretBytes};

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ClearKind {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// Any other number.
    Float,
    /// A boolean.
    Boolean,
    /// A point in time.
    Time,
    /// Bytes that need not be a text.
    Bytes,
    /// A comment, which is no value.
    Comment,
}

const WORDS: [(ClearKind, &str); 7] = [
    (ClearKind::Text, "str"),
    (ClearKind::Integer, "int"),
    (ClearKind::Float, "float"),
    (ClearKind::Boolean, "bool"),
    (ClearKind::Time, "time"),
    (ClearKind::Bytes, "bytes"),
    (ClearKind::Comment, "comment"),
];

impl ClearKind {
    /// Returns the word that SOPS has for it.
    pub(super) fn word(self) -> &'static str {
        WORDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }
}

/// A value in clear. What it is never shows.
#[derive(Clone)]
pub struct Clear {
    kind: ClearKind,
    content: SecretBytes,
}

impl Clear {
    /// Makes a value of bytes that were decrypted; nothing if they are not of the kind.
    pub(super) fn decrypted(kind: ClearKind, bytes: Vec<u8>) -> Option<Self> {
        let content = SecretBytes::new(bytes);
        let text = || std::str::from_utf8(content.expose(Purpose::SopsFile)).ok();
        let canonical = match kind {
            ClearKind::Text | ClearKind::Bytes | ClearKind::Comment | ClearKind::Time => None,
            ClearKind::Integer => Some(text()?.parse::<i64>().ok()?.to_string()),
            ClearKind::Float => Some(of_float(text()?.parse().ok()?)),
            ClearKind::Boolean => match text()? {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(of_flag(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(of_flag(false)),
                _ => return None,
            },
        };
        let content = canonical.map_or(content, |text| SecretBytes::new(text.into_bytes()));
        Some(Self { kind, content })
    }

    /// Makes a value of a scalar as it is written in a file. Null is no value; the error is what SOPS refuses.
    pub(super) fn written(text: &str, style: Style) -> Result<Option<Self>, &'static str> {
        let of = |kind, text: String| Ok(Some(Self { kind, content: SecretBytes::new(text.into_bytes()) }));
        if style != Style::Plain {
            return of(ClearKind::Text, text.to_owned());
        }
        match scalar::read(text, Dialect::Gomplate) {
            Reading::Null => Ok(None),
            Reading::Bool(flag) => of(ClearKind::Boolean, of_flag(flag)),
            Reading::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), ..) => of(ClearKind::Integer, whole.to_string()),
                (None, Some(_), _) => Err("a number beyond 63 bits"),
                (None, None, Some(float)) => of(ClearKind::Float, of_float(float)),
                (None, None, None) => Err("a number beyond 64 bits"),
            },
            Reading::NotFinite => {
                let word = text.trim_start_matches(['+', '-']);
                let sign = if text.starts_with('-') { "-" } else { "+" };
                let is_infinite = word.eq_ignore_ascii_case(".inf");
                of(ClearKind::Float, if is_infinite { format!("{sign}Inf") } else { "NaN".to_owned() })
            }
            Reading::Time(time) => of(ClearKind::Time, time),
            Reading::Text => of(ClearKind::Text, text.to_owned()),
        }
    }

    /// Makes a text.
    pub fn text(text: &str) -> Self {
        Self { kind: ClearKind::Text, content: SecretBytes::new(text.as_bytes().to_vec()) }
    }

    /// Makes a comment, without its sign.
    #[cfg(test)]
    pub(super) fn comment(text: &str) -> Self {
        Self { kind: ClearKind::Comment, content: SecretBytes::new(text.as_bytes().to_vec()) }
    }

    /// Returns its type.
    pub fn kind(&self) -> ClearKind {
        self.kind
    }

    /// Returns the bytes that are encrypted. The only way to read them.
    pub fn expose(&self) -> &[u8] {
        self.content.expose(Purpose::SopsFile)
    }

    /// Returns whether it is an empty text, which SOPS leaves as it is.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// Returns whether two values are the same, type included.
    pub fn is(&self, other: &Self) -> bool {
        self.kind == other.kind && self.expose() == other.expose()
    }
}

impl fmt::Debug for Clear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clear(hidden)")
    }
}

fn of_flag(flag: bool) -> String {
    if flag { "True".to_owned() } else { "False".to_owned() }
}

/// Writes a float as Go's `FormatFloat(value, 'f', -1, 64)`.
fn of_float(value: f64) -> String {
    match (value.is_nan(), value.is_infinite(), value.is_sign_negative()) {
        (true, ..) => "NaN".to_owned(),
        (false, true, true) => "-Inf".to_owned(),
        (false, true, false) => "+Inf".to_owned(),
        (false, false, _) => format!("{value}"),
    }
}
