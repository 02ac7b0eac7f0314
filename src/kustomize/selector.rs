//! Pure. Which objects the target of a patch or of a replacement means.
//!
//! Not here: what is done to them.

use regex::Regex;

use super::item::{Id, Item};
use super::kustomization::Target;
use super::{Refusal, refuse};

/// Where an entry stands, for messages.
pub(super) struct Site<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
}

/// A target ready to be asked.
pub(super) struct Selector {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Vec<Demand>,
    annotations: Vec<Demand>,
}

impl Selector {
    pub(super) fn read(site: &Site<'_>, target: &Target) -> Result<Self, Refusal> {
        let pattern = |text: &str| match (text.is_empty(), Regex::new(&format!("^(?:{text})$"))) {
            (true, _) => Ok(None),
            (false, Ok(pattern)) => Ok(Some(pattern)),
            (false, Err(_)) => refuse("K109", site.file, site.line, format!("{text:?} is no regular expression")),
        };
        let demands = |text: &str| match demands(text) {
            Some(demands) => Ok(demands),
            None => refuse("K109", site.file, site.line, format!("{text:?} is no label selector")),
        };
        Ok(Self {
            group: pattern(&target.group)?,
            version: pattern(&target.version)?,
            kind: pattern(&target.kind)?,
            name: pattern(&target.name)?,
            namespace: pattern(&target.namespace)?,
            labels: demands(&target.label_selector)?,
            annotations: demands(&target.annotation_selector)?,
        })
    }

    /// Returns whether a patch changes this object: name and namespace may be the first or the present ones.
    pub(super) fn selects(&self, item: &Item) -> bool {
        let (first, now) = (item.original(), item.id());
        let either = |pattern, of: fn(&Id<'_>) -> String| fits(pattern, &of(&first)) || fits(pattern, &of(&now));
        either(&self.namespace, |id| id.namespace.to_owned())
            && either(&self.name, |id| id.name.to_owned())
            && fits(&self.group, now.group)
            && fits(&self.version, now.version)
            && fits(&self.kind, now.kind)
            && self.accepts_marks(item)
    }

    /// Returns whether an object is or was called so; each of its names counts with the namespace of its time.
    pub(super) fn names(&self, item: &Item) -> bool {
        // Unlike in patches an object without namespace is in none as long as it has its present name.
        let now = Id { namespace: item.object.namespace(), ..item.id() };
        item.former_ids().chain([now]).any(|id| {
            fits(&self.group, id.group)
                && fits(&self.version, id.version)
                && fits(&self.kind, id.kind)
                && fits(&self.name, id.name)
                && fits(&self.namespace, id.namespace)
        })
    }

    /// Returns whether an object has the labels and annotations that are asked for.
    pub(super) fn accepts_marks(&self, item: &Item) -> bool {
        self.labels.iter().all(|demand| demand.accepts(item.object.label(&demand.key)))
            && self.annotations.iter().all(|demand| demand.accepts(item.object.annotation(&demand.key)))
    }

    /// Returns whether it asks for a kind or name at all.
    pub(super) fn asks_for_names(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace].iter().any(|pattern| pattern.is_some())
    }

    /// Returns whether it asks for labels or annotations at all.
    pub(super) fn asks_for_marks(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }
}

fn fits(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
}

/// One part of a label selector.
struct Demand {
    key: String,
    wish: Wish,
}

enum Wish {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Demand {
    fn accepts(&self, value: Option<&str>) -> bool {
        match &self.wish {
            Wish::Exists => value.is_some(),
            Wish::Absent => value.is_none(),
            Wish::In(values) => value.is_some_and(|value| values.iter().any(|it| it == value)),
            Wish::NotIn(values) => value.is_none_or(|value| values.iter().all(|it| it != value)),
        }
    }
}

/// Reads a label selector: `a=b, c!=d, e in (f, g), h notin (i), j, !k`.
fn demands(text: &str) -> Option<Vec<Demand>> {
    let mut demands = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let open = rest.find('(');
        let comma = rest.find(',');
        let end = match (open, comma) {
            (Some(open), Some(comma)) if open < comma => rest.find(')')? + 1,
            (Some(_), None) => rest.find(')')? + 1,
            (_, Some(comma)) => comma,
            (None, None) => rest.len(),
        };
        let (part, after) = rest.split_at_checked(end)?;
        demands.push(demand(part.trim())?);
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(demands)
}

fn demand(part: &str) -> Option<Demand> {
    let own = |key: &str, wish| {
        let key = key.trim();
        (!key.is_empty() && !key.contains([' ', '=', '!', '('])).then(|| Demand { key: key.to_owned(), wish })
    };
    let list = |text: &str| {
        let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|value| value.trim().to_owned()).collect::<Vec<_>>())
    };
    if let Some(key) = part.strip_prefix('!') {
        return own(key, Wish::Absent);
    }
    if let Some((key, values)) = part.split_once(" notin") {
        return own(key, Wish::NotIn(list(values)?));
    }
    if let Some((key, values)) = part.split_once(" in") {
        return own(key, Wish::In(list(values)?));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return own(key, Wish::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once('=') {
        return own(key, Wish::In(vec![value.trim_start_matches('=').trim().to_owned()]));
    }
    own(part, Wish::Exists)
}
