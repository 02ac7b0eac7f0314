//! Pure. How a list in a file is merged: by keys, as a set, or as a sequence.
//!
//! The API server's own markers are too few for this (most lists are atomic to it), so the table beside this file comes
//! first, and the server's markers answer where it is silent. Not here: guessing a key from the items (`merge`).

use std::sync::LazyLock;

use super::{DEFAULT_PROTOCOL, ListKind, list_kind};

/// How the items of a list are told apart in a merge.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ListForm {
    /// By keys.
    Keyed(ListKeys),
    /// By their value.
    Set,
    /// By the longest common run of items.
    Sequence,
    /// As a sequence of texts of which each is the name of something, with a version or a value or without.
    Named,
    /// As a sequence in which two insertions at one place are a question of order.
    Positional,
}

/// The keys of a list's items.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListKeys {
    /// Sets of keys; the first of which an item holds any key is its identity.
    pub primary: Vec<Vec<KeyField>>,
    /// Keys by which items pair that found no partner.
    pub alternate: Vec<Vec<KeyField>>,
}

/// One field of a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyField {
    /// Names from the item down.
    pub path: Vec<String>,
    /// What an absent field counts as.
    pub default: Option<String>,
}

/// A list's form, and whether the order of its items has a meaning.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListRule {
    /// How items are told apart.
    pub form: ListForm,
    /// Whether their order has a meaning.
    pub is_ordered: bool,
}

impl ListRule {
    /// Parses a rule: `set`, `seq`, `pos`, or keys such as `port+protocol(=TCP) / name`, with `ordered` behind them.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (text, ordered) = match text.strip_suffix("ordered") {
            Some(rest) => (rest.trim(), true),
            None => (text, false),
        };
        let form = match text {
            "" => return None,
            "set" => ListForm::Set,
            "seq" | "sequence" | "atomic" => ListForm::Sequence,
            "pos" => ListForm::Positional,
            "named" => ListForm::Named,
            keys => {
                let (primary, alternate) = keys.split_once('/').unwrap_or((keys, ""));
                ListForm::Keyed(ListKeys { primary: choices(primary), alternate: choices(alternate) })
            }
        };
        let is_sequence = matches!(form, ListForm::Sequence | ListForm::Positional);
        Some(Self { form, is_ordered: ordered || is_sequence })
    }
}

fn choices(text: &str) -> Vec<Vec<KeyField>> {
    let fields = |choice: &str| choice.split(['+', ',']).map(field).collect::<Vec<_>>();
    text.split('|').map(str::trim).filter(|choice| !choice.is_empty()).map(fields).collect()
}

fn field(text: &str) -> KeyField {
    let (name, default) = match text.trim().strip_suffix(')').and_then(|text| text.split_once("(=")) {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (text.trim(), None),
    };
    KeyField { path: name.split('.').map(str::to_owned).collect(), default }
}

/// Returns how the list at a path of field names is merged; items of lists are not named in the path. Nothing where only
/// the items can tell.
pub fn merge_rule(group: &str, kind: &str, path: &[&str]) -> Option<ListRule> {
    let (field, above) = path.split_last()?;
    let parent = above.last().copied().unwrap_or("");
    let known = ROWS.iter().find(|row| row.fits(kind, parent, field));
    if let Some(row) = known {
        return Some(row.rule.clone());
    }
    match list_kind(group, kind, path) {
        ListKind::Keyed(keys) => {
            let field = |key: &&str| KeyField {
                path: vec![(*key).to_owned()],
                default: (*key == "protocol").then(|| DEFAULT_PROTOCOL.to_owned()),
            };
            let keys = ListKeys { primary: vec![keys.iter().map(field).collect()], alternate: Vec::new() };
            Some(ListRule { form: ListForm::Keyed(keys), is_ordered: false })
        }
        ListKind::Set => Some(ListRule { form: ListForm::Set, is_ordered: false }),
        ListKind::Atomic => None,
    }
}

struct Row {
    kinds: Vec<&'static str>,
    parents: Vec<&'static str>,
    fields: Vec<&'static str>,
    rule: ListRule,
}

impl Row {
    fn fits(&self, kind: &str, parent: &str, field: &str) -> bool {
        let any = |words: &[&str], word: &str| {
            words.iter().any(|known| *known == "*" || *known == word || *known == "-" && word.is_empty())
        };
        any(&self.fields, field) && any(&self.parents, parent) && any(&self.kinds, kind)
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    include_str!("lists.table").lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
});

fn row(line: &'static str) -> Option<Row> {
    let mut parts = line.splitn(4, ' ').filter(|part| !part.is_empty());
    let words = |text: &'static str| text.split(',').collect::<Vec<_>>();
    Some(Row {
        kinds: words(parts.next()?),
        parents: words(parts.next()?),
        fields: words(parts.next()?),
        rule: ListRule::parse(parts.next()?)?,
    })
}

#[cfg(test)]
mod tests;
