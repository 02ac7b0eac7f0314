//! Pure. Finds the bytes to replace so that one key of a document changes.
//!
//! Not here: whether the result says what was meant; `mod.rs` reads it again. Nothing here must be exact about rare
//! syntax, it must only never touch bytes outside the entry at hand.

use serde_json::{Map, Value};

use super::super::tree::{Content, Node, Style, Tree};
use super::super::write::{Context, double_quoted, flow, push_indent, write, write_entry};

/// Bytes to replace.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// The only document of a text.
pub(super) struct Layout<'a> {
    text: &'a str,
    tree: &'a Tree,
    newline: &'static str,
}

/// An entry of a map in the text.
#[derive(Clone, Copy)]
struct Entry {
    map: usize,
    position: usize,
    key: usize,
    value: usize,
    context: Context,
}

/// How a value is written: a part behind the colon, and lines below.
struct Written {
    inline: Option<String>,
    below: Option<String>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(text: &'a str, tree: &'a Tree) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, tree, newline }
    }

    /// Returns the splices that set a key, or nothing if the syntax is too unusual.
    pub(super) fn set(&self, path: &[&str], value: &Value) -> Option<Vec<Splice>> {
        let Some(root) = self.root() else { return self.append(path, value) };
        self.set_below(root, Context::Block, path, value)
    }

    /// Returns the splices that replace the value of a key that is there; list items on the way have numbers.
    pub(super) fn replace_at(&self, path: &[String], value: &Value) -> Option<Vec<Splice>> {
        let (map, context, last) = self.holder(path)?;
        self.replace(self.entry(map, context, &[last])?, value)
    }

    /// Returns the splices that remove a key; list items on the way have numbers.
    pub(super) fn remove_at(&self, path: &[String]) -> Option<Vec<Splice>> {
        let (map, context, last) = self.holder(path)?;
        let entry = self.entry(map, context, &[last])?;
        // A map that would be left empty is written out, because its own key is not known here.
        if self.pairs(entry.map).len() == 1 && self.tree.node(entry.map).style != Style::Flow {
            return None;
        }
        self.cut(entry, &[last])
    }

    /// Returns the map that holds the last key of a path.
    fn holder<'p>(&self, path: &'p [String]) -> Option<(usize, Context, &'p str)> {
        let (last, parents) = path.split_last()?;
        let mut at = (self.root()?, Context::Block);
        for place in parents {
            let (node, context) = (at.0, self.context_in(at.0, at.1));
            at = match &self.tree.node(node).content {
                Content::List(items) => (*items.get(place.parse::<usize>().ok()?)?, context),
                Content::Map(_) => (self.entry(node, context, &[place])?.value, context),
                Content::Scalar(_) | Content::Alias(_) => return None,
            };
        }
        Some((at.0, at.1, last))
    }

    /// Returns the splices that remove a key.
    pub(super) fn unset(&self, path: &[&str]) -> Option<Vec<Splice>> {
        let entry = self.entry(self.root()?, Context::Block, path)?;
        self.cut(entry, path)
    }

    fn cut(&self, entry: Entry, path: &[&str]) -> Option<Vec<Splice>> {
        let pairs = self.pairs(entry.map);
        let next = pairs.get(entry.position + 1);
        let key = self.tree.node(entry.key);
        let end = self.end_of_entry(entry.key, entry.value)?;
        let cut = |start, end| Some(vec![Splice { start, end, text: String::new() }]);
        if self.tree.node(entry.map).style == Style::Flow {
            return match (entry.position.checked_sub(1).and_then(|before| pairs.get(before)), next) {
                (_, Some((next, _))) => cut(key.start.byte, self.tree.node(*next).start.byte),
                (Some((key, value)), None) => cut(self.end_of_entry(*key, *value)?, end),
                (None, None) => cut(key.start.byte, end),
            };
        }
        let (_, parents) = path.split_last()?;
        if pairs.len() == 1 && !parents.is_empty() {
            return self.set(parents, &Value::Object(Map::new()));
        }
        let line_start = self.line_start(key.start.byte);
        let before = self.text.get(line_start..key.start.byte)?;
        if before.trim().is_empty() {
            let below = self.line_end(end);
            let below = if self.text.get(below..)?.starts_with('\r') { below + 2 } else { below + 1 };
            return cut(line_start, below.min(self.text.len()));
        }
        // The entry shares its line with the dash of a list item: the next key moves up to the dash.
        cut(key.start.byte, self.tree.node(next?.0).start.byte)
    }

    /// Returns the splices that set a key in a list item; a bare text becomes a map with `name` first.
    pub(super) fn set_in_item(
        &self,
        list: &[&str],
        position: usize,
        name: &str,
        (key, value): (&str, &str),
    ) -> Option<Vec<Splice>> {
        let entry = self.entry(self.root()?, Context::Block, list)?;
        let Content::List(items) = &self.tree.node(entry.value).content else { return None };
        let context = self.context_in(entry.value, entry.context);
        let item = *items.get(position)?;
        let node = self.tree.node(item);
        match (&node.content, context) {
            (Content::Map(_), _) => self.set_below(item, context, &[key], &Value::from(value)),
            (Content::Scalar(_), Context::Block) => {
                let mut text = format!("{name}: {}{}", self.text.get(node.start.byte..node.end)?, self.newline);
                push_indent(&mut text, node.start.column.saturating_sub(1));
                write_entry(&mut text, key, &Value::from(value), 0);
                let text = text.trim_end_matches('\n').to_owned();
                Some(vec![Splice { start: node.start.byte, end: node.end, text }])
            }
            (Content::Scalar(old), Context::Flow) => {
                let text = flow(&serde_json::json!({ name: old, key: value }), Context::Flow);
                Some(vec![Splice { start: node.start.byte, end: node.end, text }])
            }
            (Content::List(_) | Content::Alias(_), _) => None,
        }
    }

    /// Returns the splices that add an item at the end of a list that has items.
    pub(super) fn push(&self, path: &[&str], item: &Value) -> Option<Vec<Splice>> {
        let entry = self.entry(self.root()?, Context::Block, path)?;
        let Content::List(items) = &self.tree.node(entry.value).content else { return None };
        let end = self.end_of(*items.last()?)?;
        if self.context_in(entry.value, entry.context) == Context::Flow {
            return Some(vec![Splice { start: end, end, text: format!(", {}", flow(item, Context::Flow)) }]);
        }
        // The list of a key begins on a line of its own, with its first dash.
        let first = self.tree.node(*items.first()?).start.byte;
        let line = self.text.get(self.line_start(first)..first)?;
        let indent = line.len() - line.trim_start_matches(' ').len();
        let mut text = String::new();
        for line in line_of(&write(&Value::Array(vec![item.clone()]))).split('\n') {
            text.push('\n');
            push_indent(&mut text, indent);
            text.push_str(line);
        }
        let at = self.line_end(end);
        Some(vec![Splice { start: at, end: at, text: text.replace('\n', self.newline) }])
    }

    fn set_below(&self, map: usize, context: Context, path: &[&str], value: &Value) -> Option<Vec<Splice>> {
        if let Some(entry) = self.entry(map, context, path) {
            return self.replace(entry, value);
        }
        // The deepest part of the path that exists takes the rest as one new value.
        for known in (1..path.len()).rev() {
            let (head, rest) = path.split_at_checked(known)?;
            let Some(entry) = self.entry(map, context, head) else { continue };
            let node = self.tree.node(entry.value);
            let inner = self.context_in(entry.value, entry.context);
            return match &node.content {
                Content::Map(pairs)
                    if !pairs.is_empty() || inner == Context::Flow && entry.context == Context::Flow =>
                {
                    self.insert(entry.value, inner, rest, value)
                }
                Content::Map(_) | Content::Scalar(_) => self.replace(entry, &nested(rest, value)),
                Content::List(_) | Content::Alias(_) => None,
            };
        }
        self.insert(map, self.context_in(map, context), path, value)
    }

    /// Replaces the value of an entry.
    fn replace(&self, entry: Entry, value: &Value) -> Option<Vec<Splice>> {
        let key = self.tree.node(entry.key);
        let old = self.tree.node(entry.value);
        let head = self.after_colon(key)?;
        let written = self.written(value, old, key.start.column.saturating_sub(1), entry.context);
        let head_line_end = self.line_end(head);
        let end = self.end_of_entry(entry.key, entry.value)?;
        // A kept block text reaches to the next line; its last line break stays, to end the new value's line.
        let end = if self.text.get(..end)?.ends_with('\n') { self.line_end(end) } else { end };
        let mut splices = Vec::new();
        let mut splice = |start, end, text| splices.push(Splice { start, end, text });
        let below = written.below.map(|below| format!("{}{}", self.newline, below)).unwrap_or_default();
        if end == head {
            splice(head, head, written.inline.map(|inline| format!(" {inline}")).unwrap_or_default());
            splice(head_line_end, head_line_end, below);
        } else if old.start.byte <= head_line_end || old.style == Style::BlockText {
            let blank = self.text.get(head..end)?;
            let start = head + (blank.len() - blank.trim_start_matches([' ', '\t']).len());
            match written.inline {
                // An anchor before a scalar stays, a tag goes because it may not fit the new value.
                Some(inline) if old.tag.is_none() && is_flat(old) => splice(old.start.byte, end, inline),
                Some(inline) => splice(start, end, inline),
                None => splice(head, end, String::new()),
            }
            let line_end = self.line_end(end);
            splice(line_end, line_end, below);
        } else {
            splice(head, head, written.inline.map(|inline| format!(" {inline}")).unwrap_or_default());
            splice(head_line_end, end, below);
        }
        Some(splices)
    }

    fn written(&self, value: &Value, old: &Node, indent: usize, context: Context) -> Written {
        if context == Context::Flow || old.style == Style::Flow && !value.is_string() && !is_empty(old) {
            return Written { inline: Some(flow(value, Context::Flow)), below: None };
        }
        if let Value::String(text) = value
            && !text.contains(char::is_control)
        {
            let inline = match old.style {
                Style::Single => format!("'{}'", text.replace('\'', "''")),
                Style::Double => double_quoted(text),
                Style::Plain | Style::BlockText | Style::Block | Style::Flow => flow(value, Context::Block),
            };
            return Written { inline: Some(inline), below: None };
        }
        let mut text = String::new();
        write_entry(&mut text, "k", value, indent);
        let text = line_of(text.strip_prefix("k:").unwrap_or(&text)).replace('\n', self.newline);
        let (inline, below) = match text.split_once(self.newline) {
            Some((inline, below)) => (inline, Some(below.to_owned())),
            None => (text.as_str(), None),
        };
        Written { inline: Some(inline.trim_start().to_owned()).filter(|inline| !inline.is_empty()), below }
    }

    /// Adds an entry at the end of a map.
    fn insert(&self, map: usize, context: Context, path: &[&str], value: &Value) -> Option<Vec<Splice>> {
        let (first, rest) = path.split_first()?;
        let value = nested(rest, value);
        let node = self.tree.node(map);
        let pairs = self.pairs(map);
        let Some((last_key, last_value)) = pairs.last() else {
            if node.style != Style::Flow || node.end < node.start.byte + 2 {
                return None;
            }
            let mut whole = Map::new();
            whole.insert((*first).to_owned(), value);
            let whole = Value::Object(whole);
            let text = if context == Context::Flow && map != self.root()? {
                flow(&whole, Context::Flow)
            } else {
                line_of(&write(&whole)).replace('\n', self.newline)
            };
            return Some(vec![Splice { start: node.start.byte, end: node.end, text }]);
        };
        let end = self.end_of_entry(*last_key, *last_value)?;
        if context == Context::Flow {
            let entry = flow(&serde_json::json!({ *first: value }), Context::Flow);
            let entry = entry.strip_prefix('{').and_then(|entry| entry.strip_suffix('}'))?;
            return Some(vec![Splice { start: end, end, text: format!(", {entry}") }]);
        }
        let indent = self.tree.node(pairs.first()?.0).start.column.saturating_sub(1);
        let mut text = String::from("\n");
        push_indent(&mut text, indent);
        write_entry(&mut text, first, &value, indent);
        let text = line_of(&text).replace('\n', self.newline);
        let at = self.line_end(end);
        Some(vec![Splice { start: at, end: at, text }])
    }

    /// Adds an entry to a text that holds no value yet.
    fn append(&self, path: &[&str], value: &Value) -> Option<Vec<Splice>> {
        let (first, rest) = path.split_first()?;
        let mut text = String::new();
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            text.push('\n');
        }
        write_entry(&mut text, first, &nested(rest, value), 0);
        let at = self.text.len();
        Some(vec![Splice { start: at, end: at, text: text.replace('\n', self.newline) }])
    }

    /// Returns the root, unless the text holds nothing.
    fn root(&self) -> Option<usize> {
        let is_value =
            |root: &usize| !matches!(&self.tree.node(*root).content, Content::Scalar(text) if text.is_empty());
        self.tree.roots.iter().copied().find(is_value)
    }

    fn entry(&self, map: usize, context: Context, path: &[&str]) -> Option<Entry> {
        let (first, rest) = path.split_first()?;
        let context = self.context_in(map, context);
        let is_key = |key: usize| matches!(&self.tree.node(key).content, Content::Scalar(text) if text == first);
        let (position, (key, value)) = self.pairs(map).iter().enumerate().find(|(_, (key, _))| is_key(*key))?;
        if rest.is_empty() {
            return Some(Entry { map, position, key: *key, value: *value, context });
        }
        self.entry(*value, context, rest)
    }

    fn pairs(&self, map: usize) -> &[(usize, usize)] {
        match &self.tree.node(map).content {
            Content::Map(pairs) => pairs,
            Content::Scalar(_) | Content::List(_) | Content::Alias(_) => &[],
        }
    }

    fn context_in(&self, node: usize, outer: Context) -> Context {
        if self.tree.node(node).style == Style::Flow { Context::Flow } else { outer }
    }

    /// Returns the offset behind the colon of a key; nothing for a key with a question mark or without a colon.
    fn after_colon(&self, key: &Node) -> Option<usize> {
        let rest = self.text.get(key.end..)?;
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest.get(blank..)?.starts_with(':').then_some(key.end + blank + 1)
    }

    /// Returns the offset behind the last character of an entry's value, or behind its colon if it has none.
    fn end_of_entry(&self, key: usize, value: usize) -> Option<usize> {
        let head = self.after_colon(self.tree.node(key))?;
        Some(self.end_of(value)?.max(head))
    }

    fn end_of(&self, index: usize) -> Option<usize> {
        let node = self.tree.node(index);
        if node.style == Style::Flow {
            return Some(node.end);
        }
        match &node.content {
            Content::Map(pairs) => pairs.last().map_or(Some(node.end), |(key, value)| self.end_of_entry(*key, *value)),
            Content::List(items) => items.last().map_or(Some(node.end), |item| self.end_of(*item)),
            // The final newlines of a kept block text belong to it, those of any other are just blank lines.
            Content::Scalar(text) if node.style == Style::BlockText && !text.ends_with("\n\n") => {
                Some(self.text.get(..node.end)?.trim_end().len())
            }
            Content::Scalar(_) | Content::Alias(_) => Some(node.end),
        }
    }

    fn line_start(&self, byte: usize) -> usize {
        self.text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
    }

    /// Returns the offset of the line break that ends the line of a byte, or of the one before it if a line ended there.
    fn line_end(&self, byte: usize) -> usize {
        if self.text.get(byte..).is_some_and(|rest| rest.starts_with(['\n', '\r'])) {
            return byte;
        }
        let byte = if self.text.get(..byte).is_some_and(|before| before.ends_with('\n')) { byte - 1 } else { byte };
        let rest = self.text.get(byte..).unwrap_or("");
        let end = byte + rest.find('\n').unwrap_or(rest.len());
        if self.text.get(..end).is_some_and(|line| line.ends_with('\r')) { end - 1 } else { end }
    }
}

/// Returns a text without its last line break; further ones belong to a block text.
fn line_of(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Returns whether a node is a scalar that is not a block text.
fn is_flat(node: &Node) -> bool {
    matches!(node.content, Content::Scalar(_)) && node.style != Style::BlockText
}

fn is_empty(node: &Node) -> bool {
    match &node.content {
        Content::Map(pairs) => pairs.is_empty(),
        Content::List(items) => items.is_empty(),
        Content::Scalar(_) | Content::Alias(_) => true,
    }
}

/// Wraps a value into maps, one for each key.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        let mut map = Map::new();
        map.insert((*key).to_owned(), inner);
        Value::Object(map)
    })
}
