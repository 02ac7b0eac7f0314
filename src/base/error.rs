//! Pure. Prints an error with its causes in one line.
//!
//! Not here: the three lines that a person reads (`cli`).

use std::error::Error;

/// Returns the message of an error followed by those of its sources, joined by `: `.
///
/// Every error enum of the crate leaves its source out of `Display`, so nothing is said twice.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
