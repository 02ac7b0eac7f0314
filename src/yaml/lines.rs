//! Pure. On which line each part of a document stands.
//!
//! Not here: columns, which only the findings of the loader need.

/// The lines of a value, in the shape of the value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines {
    /// Line from 1; of a map entry the line of its key.
    pub(super) line: usize,
    pub(super) parts: Parts,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Parts {
    #[default]
    None,
    List(Vec<Lines>),
    Map(Vec<(String, Lines)>),
}

impl Lines {
    /// Returns the line of a scalar.
    pub(super) fn leaf(line: usize) -> Self {
        Self { line, parts: Parts::None }
    }

    /// Returns the lines of a list.
    pub(super) fn list(line: usize, items: Vec<Lines>) -> Self {
        Self { line, parts: Parts::List(items) }
    }

    /// Returns the lines of a map.
    pub(super) fn map(line: usize, entries: Vec<(String, Lines)>) -> Self {
        Self { line, parts: Parts::Map(entries) }
    }

    /// Returns the lines below a key, or below a list position written as a number.
    pub(super) fn child(&self, key: &str) -> Option<&Self> {
        match &self.parts {
            Parts::None => None,
            Parts::List(items) => items.get(key.parse::<usize>().ok()?),
            Parts::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, lines)| lines),
        }
    }

    /// Returns the line of the part at a path.
    pub(super) fn at(&self, path: &[&str]) -> Option<usize> {
        path.iter().try_fold(self, |lines, key| lines.child(key)).map(|lines| lines.line)
    }

    /// Returns the lines of the items of a list.
    pub(super) fn items(&self) -> &[Lines] {
        match &self.parts {
            Parts::List(items) => items,
            Parts::None | Parts::Map(_) => &[],
        }
    }
}
