//! Pure. Makes values of a tree: reads scalars in a dialect, expands aliases and merge keys, settles duplicate keys.
//!
//! Not here: limits, which the tree has passed already (`tree.rs`), and the rules of scalars (`scalar.rs`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Dialect;
use super::lines::Lines;
use super::number::short_float;
use super::scalar::{self, Reading};
use super::tree::{Content, Node, Style, Tree};
use crate::model::Diagnostic;

/// Findings of one severity in one file; a broken file says enough with these.
const MAX_FINDINGS: usize = 50;
/// Characters of the texts of a finding: a key in it may be a mebibyte long, and fifty findings may name it.
const MAX_FINDING_CHARS: usize = 500;
/// Prefix of the tags that YAML itself defines.
const CORE: &str = "tag:yaml.org,2002:";

/// Whether scalars that kubectl and kustomize read differently are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// Both readings are compared.
    Both,
    /// Only one reading matters to the caller.
    One,
}

/// What becomes of tags that the readers around Kubernetes do not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tags {
    /// They are dropped with a warning, as those readers drop them: an app that works today is not to stop because of a mark that
    /// never did anything.
    Dropped,
    /// They are errors: in a file of ours nobody may think that they do something.
    Refused,
}

/// What becomes of annotations of an object that are no texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Annotations {
    /// They are read as every other value.
    AsOthers,
    /// They are the text that stands there.
    Texts,
    /// They are the text that stands there, or null.
    TextsAndNulls,
}

/// Makes values of trees and collects what is wrong with them.
pub(super) struct Builder<'a> {
    pub(super) file: &'a str,
    pub(super) tree: &'a Tree,
    pub(super) dialect: Dialect,
    pub(super) compare: Compare,
    pub(super) tags: Tags,
    pub(super) annotations: Annotations,
    pub(super) findings: Vec<Diagnostic>,
    /// Keys from the root to the node at hand.
    path: Vec<String>,
}

/// A value, and where its parts stand.
type Built = (Value, Lines);

impl<'a> Builder<'a> {
    pub(super) fn new(file: &'a str, tree: &'a Tree, dialect: Dialect, compare: Compare, tags: Tags) -> Self {
        let annotations = Annotations::AsOthers;
        Self { file, tree, dialect, compare, tags, annotations, findings: Vec::new(), path: Vec::new() }
    }

    /// Returns the value of a node. Recursion is bounded, because the tree refuses deep nesting with aliases expanded.
    pub(super) fn value(&mut self, index: usize) -> Built {
        let node = self.tree.node(index);
        match &node.content {
            Content::Alias(target) => self.value(*target),
            Content::Scalar(text) => {
                let value = self.scalar(node, text);
                let value = if self.is_text(node, &value) { Value::from(text.as_str()) } else { value };
                (value, Lines::leaf(node.start.line))
            }
            Content::List(items) => {
                self.check_collection_tag(node, "seq");
                let mut values = Vec::with_capacity(items.len());
                let mut lines = Vec::with_capacity(items.len());
                for (position, item) in items.iter().enumerate() {
                    self.path.push(position.to_string());
                    let (value, line) = self.value(*item);
                    self.path.pop();
                    values.push(value);
                    lines.push(line);
                }
                (Value::Array(values), Lines::list(node.start.line, lines))
            }
            Content::Map(pairs) => {
                self.check_collection_tag(node, "map");
                self.map(node, pairs)
            }
        }
    }

    /// Returns whether a scalar is an annotation and as such the text that stands there.
    fn is_text(&self, node: &Node, value: &Value) -> bool {
        let is_annotation = || matches!(self.path.as_slice(), [a, b, _] if a == "metadata" && b == "annotations");
        node.style == Style::Plain
            && match self.annotations {
                Annotations::AsOthers => false,
                Annotations::Texts => is_annotation(),
                Annotations::TextsAndNulls => !value.is_null() && is_annotation(),
            }
    }

    fn map(&mut self, node: &Node, pairs: &[(usize, usize)]) -> Built {
        let mut entries = Entries::of(pairs.len());
        for (key, value) in pairs {
            let key_node = self.resolved(*key);
            if is_merge(key_node) {
                self.merge(&mut entries, key_node, *value);
                continue;
            }
            let line = self.tree.node(*key).start.line;
            let Some((text, kind)) = self.key(key_node) else { continue };
            self.path.push(text.clone());
            let (built, mut lines) = self.value(*value);
            lines.line = line;
            match entries.written(&text) {
                Some((first, other)) if other != kind => {
                    let message = format!(
                        "the key {text:?} is a {kind} here and a {other} on line {first}, and tools keep either"
                    );
                    self.error("Y106", key_node, message, "keep one of the two");
                }
                Some((first, _)) => self.duplicate(key_node, &text, first),
                None => {}
            }
            self.path.pop();
            entries.set(text, kind, built, lines);
        }
        (Value::Object(entries.map), Lines::map(node.start.line, entries.lines))
    }

    fn duplicate(&mut self, node: &Node, key: &str, first: usize) {
        let message = format!("the key {key:?} is set twice, first on line {first}");
        match self.dialect {
            Dialect::Gomplate => self.error("Y106", node, message, "keep one of the two"),
            Dialect::Kube => {
                self.warn("Y106", node, message, "the last one counts; keep one of the two");
            }
        }
    }

    /// Takes the entries of `<<`. In yaml.v2 they override what stands above them, in yaml.v3 a written key always wins.
    fn merge(&mut self, entries: &mut Entries, key: &Node, value: usize) {
        entries.merges += 1;
        if entries.merges > 1 {
            self.duplicate(key, "<<", key.start.line);
        }
        let node = self.resolved(value);
        let sources: Vec<usize> = match &node.content {
            Content::List(items) => items.iter().rev().copied().collect(),
            Content::Map(_) => vec![value],
            Content::Scalar(_) | Content::Alias(_) => Vec::new(),
        };
        let maps_only = sources.iter().all(|source| matches!(self.resolved(*source).content, Content::Map(_)));
        if sources.is_empty() && !matches!(node.content, Content::List(_)) || !maps_only {
            let hint = "write an alias of a map behind <<";
            return self.error("Y111", key, "<< wants a map or a list of maps".into(), hint);
        }
        for source in sources {
            let (Value::Object(map), lines) = self.value(source) else { continue };
            for (name, value) in map {
                let line = Lines { line: key.start.line, ..lines.child(&name).cloned().unwrap_or_default() };
                let differs = entries.written(&name).is_some() && entries.map.get(&name) != Some(&value);
                if differs {
                    let message = format!("<< also sets {name:?}, and tools disagree on which value counts");
                    self.warn("Y105", key, message, "put << first in its map");
                }
                entries.merge(name, value, line, self.dialect);
            }
        }
    }

    /// Returns the name of a key and what kind of value it was before it became a name: `1` and `"1"` are two keys for a YAML
    /// library and one in JSON, where kubectl keeps now the one and now the other.
    fn key(&mut self, node: &Node) -> Option<(String, &'static str)> {
        let Content::Scalar(text) = &node.content else {
            let hint = "put quotes around a text that holds {{ … }}";
            self.error("Y104", node, "a map or list cannot be a key".into(), hint);
            return None;
        };
        if self.dialect == Dialect::Gomplate && node.tag.as_deref().is_some_and(is_foreign) {
            self.error("Y107", node, "a key cannot have a tag that nobody knows".into(), "remove the tag");
            return None;
        }
        if self.dialect == Dialect::Kube
            && node.tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) == Some("binary")
            && let Some(text) = binary(text)
        {
            return Some((text, "text"));
        }
        let reading = self.reading(node, text)?;
        let (written, kind) = match reading {
            Reading::Text => return Some((text.clone(), "text")),
            Reading::Null => {
                self.error("Y104", node, "null cannot be a key".into(), "put quotes around it");
                return None;
            }
            Reading::Bool(flag) => (flag.to_string(), "boolean"),
            Reading::Number(number) if number.is_f64() => {
                (number.as_f64().map_or_else(|| text.clone(), short_float), "decimal number")
            }
            Reading::Number(number) if number.as_i64().is_none() => {
                self.error("Y104", node, format!("the number {number} is too large for a key"), "put quotes around it");
                return None;
            }
            Reading::Number(number) => (number.to_string(), "whole number"),
            Reading::NotFinite => (text.trim_start_matches('+').to_ascii_lowercase(), "decimal number"),
            Reading::Time(_) => (text.clone(), "text"),
        };
        match self.dialect {
            Dialect::Gomplate => {
                let message = format!("the key {text:?} is no text");
                self.error("Y103", node, message, "put quotes around it");
                None
            }
            Dialect::Kube => {
                if written != *text {
                    let message = format!("the key {text:?} is read as {written:?}");
                    self.warn("Y103", node, message, "put quotes around it");
                }
                Some((written, kind))
            }
        }
    }

    fn scalar(&mut self, node: &Node, text: &str) -> Value {
        if node.tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) == Some("binary")
            && let Some(text) = binary(text)
        {
            return Value::from(text);
        }
        match self.reading(node, text) {
            Some(Reading::Text) => Value::from(text),
            Some(Reading::Null) | None => Value::Null,
            Some(Reading::Bool(flag)) => Value::Bool(flag),
            Some(Reading::Number(number)) => match self.dialect {
                Dialect::Kube => Value::Number(scalar::as_json(number)),
                Dialect::Gomplate => Value::Number(number),
            },
            Some(Reading::Time(time)) => {
                let message = format!("{text} is a point in time here and a text for kubectl");
                self.warn("Y110", node, message, "put quotes around it");
                Value::from(time)
            }
            Some(Reading::NotFinite) => {
                let message = format!("{text} is a number that no Kubernetes object can hold");
                self.error("Y102", node, message, "put quotes around it if a text is meant");
                Value::Null
            }
        }
    }

    /// Returns what a scalar means by its style and tag; nothing after a reported error. `Text` stands for the node's own text.
    fn reading(&mut self, node: &Node, text: &str) -> Option<Reading> {
        let Some(tag) = &node.tag else {
            if node.style != Style::Plain {
                return Some(Reading::Text);
            }
            if self.compare == Compare::Both
                && let Some(flag) = scalar::old_boolean(text)
            {
                let message = format!("{text} is a text for kustomize and the boolean {flag} for kubectl");
                self.warn("Y101", node, message, "put quotes around it, or write true or false");
            }
            return Some(scalar::read(text, self.dialect));
        };
        let plain = scalar::read(text, self.dialect);
        match (tag.strip_prefix(CORE), plain) {
            (Some("str"), _) => Some(Reading::Text),
            (None, plain) if tag == "!" => match self.dialect {
                // yaml.v3 resolves a lone mark as if it were not there; a text in quotes stays a text.
                Dialect::Gomplate if node.style == Style::Plain => Some(plain),
                Dialect::Gomplate | Dialect::Kube => Some(Reading::Text),
            },
            (Some("null"), Reading::Null) => Some(Reading::Null),
            (Some("bool"), Reading::Bool(flag)) => Some(Reading::Bool(flag)),
            (Some("int"), Reading::Number(number)) if !number.is_f64() => Some(Reading::Number(number)),
            (Some("float"), Reading::Number(number)) => Some(Reading::Number(number)),
            (Some("timestamp"), Reading::Time(time)) => Some(Reading::Time(time)),
            (Some("timestamp"), Reading::Text) if scalar::time(text).is_some() => Some(Reading::Text),
            (Some("null" | "bool" | "int" | "float" | "timestamp" | "binary"), _) => {
                self.error("Y107", node, "the tag does not fit the text behind it".into(), "remove the tag");
                None
            }
            // What no reader knows makes a text of the scalar.
            (_, _) => {
                self.foreign_tag(node);
                Some(Reading::Text)
            }
        }
    }

    fn check_collection_tag(&mut self, node: &Node, core: &str) {
        let fits = match &node.tag {
            None => true,
            Some(tag) => tag == "!" || tag.strip_prefix(CORE) == Some(core),
        };
        if !fits {
            self.foreign_tag(node);
        }
    }

    /// Tells of a tag that means nothing to kubectl and kustomize, which drop it.
    fn foreign_tag(&mut self, node: &Node) {
        match self.tags {
            Tags::Refused => self.error("Y107", node, "a tag is refused here".into(), "remove the tag"),
            Tags::Dropped => {
                self.warn("Y107", node, "the tag means nothing to kubectl and is dropped".into(), "remove the tag");
            }
        }
    }

    /// Follows an alias; an alias never points to another alias.
    fn resolved(&self, index: usize) -> &'a Node {
        let node = self.tree.node(index);
        match &node.content {
            Content::Alias(target) => self.tree.node(*target),
            Content::Scalar(_) | Content::List(_) | Content::Map(_) => node,
        }
    }

    fn error(&mut self, id: &str, node: &Node, message: String, hint: &str) {
        let finding = Diagnostic::error(id, self.file, node.start.line, message);
        self.report(finding, node, hint);
    }

    fn warn(&mut self, id: &str, node: &Node, message: String, hint: &str) {
        let finding = Diagnostic::warning(id, self.file, node.start.line, message);
        self.report(finding, node, hint);
    }

    fn report(&mut self, finding: Diagnostic, node: &Node, hint: &str) {
        let same = self.findings.iter().filter(|other| other.severity == finding.severity);
        if same.count() < MAX_FINDINGS {
            let cut = |text: &str| text.chars().take(MAX_FINDING_CHARS).collect::<String>();
            let path: Vec<String> = self.path.iter().map(|key| cut(key)).collect();
            let finding = Diagnostic { message: cut(&finding.message), ..finding };
            self.findings.push(finding.at(node.start.column, cut(&path.join("."))).with_hint(hint));
        }
    }
}

/// Returns whether a tag is none that YAML itself defines for scalars.
fn is_foreign(tag: &str) -> bool {
    const KNOWN: [&str; 8] = ["str", "null", "bool", "int", "float", "timestamp", "binary", "merge"];
    tag != "!" && !tag.strip_prefix(CORE).is_some_and(|core| KNOWN.contains(&core))
}

/// Returns whether a key asks for the entries of other maps.
fn is_merge(node: &Node) -> bool {
    let plain = node.style == Style::Plain && node.tag.is_none();
    let tagged = node.tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) == Some("merge");
    (plain || tagged) && matches!(&node.content, Content::Scalar(text) if text == "<<")
}

/// Decodes `!!binary`, which may be broken into lines.
fn binary(text: &str) -> Option<String> {
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    String::from_utf8(STANDARD.decode(packed).ok()?).ok()
}

/// Line and kind of a key as somebody wrote it, not as `<<` brought it.
type Written = (usize, &'static str);

/// A map in the making: entries in order, and on which line each stands in the text itself.
#[derive(Default)]
struct Entries {
    map: Map<String, Value>,
    lines: Vec<(String, Lines)>,
    /// Position in `lines`, and line and kind of the written key, of every name.
    index: BTreeMap<String, (usize, Option<Written>)>,
    merges: usize,
}

impl Entries {
    /// Returns room for some entries, and no more: most maps are small, and there are many.
    fn of(entries: usize) -> Self {
        Self { map: Map::with_capacity(entries), lines: Vec::with_capacity(entries), ..Self::default() }
    }

    fn written(&self, key: &str) -> Option<Written> {
        self.index.get(key).and_then(|(_, written)| *written)
    }

    fn set(&mut self, key: String, kind: &'static str, value: Value, lines: Lines) {
        let written = Some((lines.line, kind));
        self.put(key, value, lines, written);
    }

    fn merge(&mut self, key: String, value: Value, lines: Lines, dialect: Dialect) {
        let written = self.written(&key);
        match dialect {
            Dialect::Gomplate if written.is_some() => {}
            Dialect::Gomplate | Dialect::Kube => self.put(key, value, lines, written),
        }
    }

    fn put(&mut self, key: String, value: Value, lines: Lines, written: Option<Written>) {
        let (position, first) = self.index.entry(key.clone()).or_insert((self.lines.len(), written));
        *first = first.or(written);
        match self.lines.get_mut(*position) {
            Some(slot) => slot.1 = lines,
            None => self.lines.push((key.clone(), lines)),
        }
        self.map.insert(key, value);
    }
}
