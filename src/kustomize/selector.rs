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
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Vec<Demand>,
    annotations: Vec<Demand>,
}

impl Selector {
    pub(super) fn read(site: &Site<'_>, target: &Target) -> Result<Self, Refusal> {
        let pattern = |text: &str| match Pattern::read(text) {
            Some(pattern) => Ok(pattern),
            None => refuse("K109", site.file, site.line, format!("{text:?} is no regular expression")),
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
        (self.namespace.fits(first.namespace) || self.namespace.fits(now.namespace))
            && (self.name.fits(first.name) || self.name.fits(now.name))
            && self.group.fits(now.group)
            && self.version.fits(now.version)
            && self.kind.fits(now.kind)
            && self.accepts_marks(item)
    }

    /// Returns whether an object is or was called so; each of its names counts with the namespace of its time.
    pub(super) fn names(&self, item: &Item) -> bool {
        // Unlike in patches an object without namespace is in none as long as it has its present name.
        let now = Id { namespace: item.object.namespace(), ..item.id() };
        item.former_ids().chain([now]).any(|id| {
            self.group.fits(id.group)
                && self.version.fits(id.version)
                && self.kind.fits(id.kind)
                && self.name.fits(id.name)
                && self.namespace.fits(id.namespace)
        })
    }

    /// Returns whether an object has the labels and annotations that are asked for.
    pub(super) fn accepts_marks(&self, item: &Item) -> bool {
        self.labels.iter().all(|demand| demand.accepts(item.object.label(&demand.key)))
            && self.annotations.iter().all(|demand| demand.accepts(item.object.annotation(&demand.key)))
    }

    /// Returns whether it asks for a kind or name at all.
    pub(super) fn asks_for_names(&self) -> bool {
        let patterns = [&self.group, &self.version, &self.kind, &self.name, &self.namespace];
        patterns.iter().any(|pattern| !matches!(pattern, Pattern::Any))
    }

    /// Returns whether it asks for labels or annotations at all.
    pub(super) fn asks_for_marks(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }
}

/// What a text in a target asks of a name: a regular expression, to be met by the whole of it.
enum Pattern {
    Any,
    /// One without any sign of its own, which means itself and is far cheaper to compare.
    Exactly(String),
    Like(Box<Regex>),
}

impl Pattern {
    fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Any);
        }
        if text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ':')) {
            return Some(Self::Exactly(text.to_owned()));
        }
        Regex::new(&format!("^(?:{text})$")).ok().map(|pattern| Self::Like(Box::new(pattern)))
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => wanted == text,
            Self::Like(pattern) => pattern.is_match(text),
        }
    }
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
