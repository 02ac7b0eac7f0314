//! Pure. How much the objects of a build take in memory, counted where they are made: a few hundred bytes of files can name a file a
//! thousand times, or copy an object into itself again and again.
//!
//! What a change throws away again is counted as well, so a build that keeps the bound kept it at every moment. Not here: the number of
//! objects and directories (`layer.rs`).

use std::cell::Cell;

use serde_json::Value;

use super::Refusal;
use crate::model::{Diagnostic, Object};

/// Bytes that the objects of one build take, with all that was made on the way to them. Six MiB of definitions, which is more than the largest
/// stack for monitoring brings, take a third of it; a pass holds up to four copies of it, which is what the daemon can spare.
pub const MAX_BUILD_BYTES: usize = 48 * 1024 * 1024;
/// Bytes of a value where it lies in its list or map.
const SLOT: usize = size_of::<Value>();
/// Bytes around the key of an entry: the text, its hash, its place in the index.
const ENTRY: usize = size_of::<String>() + 24;
/// Bytes of a map besides its entries.
const MAP: usize = 32;
/// Bytes that the allocator rounds a text up by.
const ROUNDING: usize = 8;

/// Bytes that a node takes at most for each sign of YAML before it, as `- a:` has three nodes and two signs.
const SIGN: usize = (SLOT + ENTRY) * 3 / 4;

/// What is left to be taken.
pub(super) struct Meter {
    most: usize,
    left: Cell<usize>,
    is_over: Cell<bool>,
}

impl Meter {
    pub(super) fn new(most: usize) -> Self {
        Self { most, left: Cell::new(most), is_over: Cell::new(false) }
    }

    /// Returns how many bytes were taken.
    pub(super) fn taken(&self) -> usize {
        self.most - self.left.get()
    }

    /// Returns whether more was wanted than was left.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Ends a build that is to be small before it reads a text that looks large.
    pub(super) fn foresee(&self, text: &str, file: &str) -> Result<(), Refusal> {
        if self.most < MAX_BUILD_BYTES && foreseen(text) > self.left.get() {
            self.is_over.set(true);
        }
        self.check(file, 1)
    }

    /// Takes some bytes; returns whether they were left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.is_over.set(self.is_over.get() || left.is_none());
        self.left.set(left.unwrap_or(0));
        !self.is_over.get()
    }

    /// Refuses the build at a place if more was taken than was left.
    pub(super) fn check(&self, file: &str, line: usize) -> Result<(), Refusal> {
        if !self.is_over.get() {
            return Ok(());
        }
        let message = "the objects take more than 48 MiB of memory together, with what is made on the way to them";
        let hint = "split the app into several, then try it: wild kustomize build apps/<app>";
        Err(vec![Diagnostic::error("K122", file, line, message).with_hint(hint)])
    }

    /// Takes some bytes for what stands at a place, or refuses the build there.
    pub(super) fn spend(&self, bytes: usize, file: &str, line: usize) -> Result<(), Refusal> {
        self.take(bytes);
        self.check(file, line)
    }
}

/// Returns about how many bytes an object takes.
pub(super) fn of_object(object: &Object) -> usize {
    MAP + object.0.iter().map(|(key, value)| entry(key, value)).sum::<usize>()
}

/// Returns about how many bytes a value takes. Depth is bounded by the loader.
pub(super) fn of_value(value: &Value) -> usize {
    let below = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(map) => MAP + map.iter().map(|(key, value)| entry(key, value)).sum::<usize>(),
    };
    SLOT + below
}

/// Returns about how many bytes the entries of a map take that holds texts.
pub(super) fn of_pairs(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(key, text)| ENTRY + of_text(key) + SLOT + of_text(text)).sum()
}

/// Returns about how many bytes a text takes besides what holds it.
pub(super) fn of_text(text: &str) -> usize {
    text.len() + ROUNDING
}

/// Returns about how many bytes the lines of a text take that each become an entry.
pub(super) fn of_lines(text: &str) -> usize {
    text.len() + memchr::memchr_iter(b'\n', text.as_bytes()).count() * (ENTRY + SLOT)
}

/// Returns how many bytes the nodes of a text take at most, by the signs that come before nodes. With aliases nobody knows.
pub(super) fn foreseen(text: &str) -> usize {
    let is_sign = |byte: &&u8| matches!(byte, b':' | b'-' | b',' | b'[' | b'{' | b'?');
    let repeats = text.contains('&') && text.contains('*');
    if repeats { usize::MAX } else { text.as_bytes().iter().filter(is_sign).count() * SIGN + text.len() }
}

fn entry(key: &str, value: &Value) -> usize {
    ENTRY + of_text(key) + of_value(value)
}
