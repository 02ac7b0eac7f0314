//! Pure. Where everything stands in a file that SOPS encrypted, its values, and the file anew with other values.
//!
//! Not here: one value (`value`, `cipher`), the rule that says which are encrypted (`rule`).

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::cst::{Style, line_start};
use super::super::scalar::{self, Reading};
use super::super::tree::{self, Content, Node, Tree};
use super::super::{Dialect, MAX_MANIFEST_DEPTH};
use super::cipher::{DataKey, Sealed, Sealer};
use super::fault::Fault;
use super::rule::{self, Rule};
use super::value::Clear;
use super::{MARK, MARK_CHARS, SEALED};
use crate::base::limits::MAX_FILE_BYTES;
use crate::base::sha2::Sha2;
use crate::model::{Purpose, SecretBytes};

/// The key of the section that SOPS adds.
const SECTION: &str = "sops";
/// What a MAC over encrypted values alone begins with: the sha256 of the word `sops`.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b, 0x97, 0x5b,
    0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];
/// Lists of the section whose keys are not read here.
const OTHER_KEYS: [&str; 7] = ["kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "pgp", "key_groups"];
/// Rules over comments.
const COMMENT_RULES: [&str; 2] = ["unencrypted_comment_regex", "encrypted_comment_regex"];

/// What a part of a file is.
#[derive(Clone, Debug)]
pub enum PartKind {
    /// A scalar of the person's own.
    Value {
        /// The keys on the way to it, each with a colon behind it: what its ciphertext is bound to.
        place: String,
        /// Whether the rule of the file has it encrypted.
        is_sealed: bool,
        /// Its text after unquoting.
        text: String,
        /// How it is written.
        style: Style,
        /// Whether it stands in brackets, where a ciphertext wants quotes.
        is_in_flow: bool,
    },
    /// An encrypted comment, without its sign.
    Comment {
        /// What its ciphertext may be bound to.
        places: Vec<String>,
    },
    /// The MAC.
    Mac,
    /// The time of the last change, which the MAC is bound to.
    Time,
    /// The version of the program that wrote the file.
    Version,
    /// The data key as encrypted for one recipient.
    KeyBlob {
        /// The recipient.
        recipient: String,
        /// Column of its key, from 0.
        column: usize,
    },
}

/// A part of a file that may be written anew.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its bytes.
    pub span: Range<usize>,
}

/// Somebody whom the data key is encrypted for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recipient {
    /// The public key.
    pub name: String,
    /// The data key, encrypted and armoured by age.
    pub blob: String,
}

/// A file that SOPS encrypted, read without a key.
#[derive(Clone, Debug)]
pub struct SopsFile {
    text: String,
    parts: Vec<Part>,
    section: Section,
}

impl SopsFile {
    /// Reads a file. What SOPS never writes is refused, because its MAC could not be made as SOPS makes it.
    pub fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_FILE_BYTES {
            return Err(Fault::Foreign("more than is read of one file", 1));
        }
        if let Some(at) = text.find(['\r', '\u{feff}']) {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            return Err(Fault::Foreign("a carriage return or a byte-order mark", line));
        }
        let tree = tree::parse("", text, MAX_MANIFEST_DEPTH).map_err(|found| Fault::Broken(found.line))?;
        let mut roots = tree.roots.iter().map(|root| tree.node(*root)).filter(|root| !is_nothing(root));
        let root = roots.next().ok_or(Fault::NotSops)?;
        let (Content::Map(pairs), Style::Block) = (&root.content, root.style) else { return Err(Fault::NotSops) };
        let is_section = |pair: &&(usize, usize)| scalar_text(tree.node(pair.0)) == Some(SECTION);
        let (_, section) = *pairs.iter().find(is_section).ok_or(Fault::NotSops)?;
        if let Some(second) = roots.next() {
            return Err(Fault::Foreign("a second document", second.start.line));
        }
        let mut reading = Reader { tree: &tree, text, parts: Vec::new() };
        let section = reading.section(section)?;
        reading.map(root, &Spot { place: String::new(), is_decided: false, is_in_flow: false }, &section.rule)?;
        let mut parts = reading.parts;
        parts.sort_by_key(|part| part.span.start);
        let comments = comments(text, &tree, &parts);
        parts.extend(comments);
        parts.sort_by_key(|part| part.span.start);
        Ok(Self { text: text.to_owned(), parts, section })
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns its parts in their order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns a part as it is written.
    pub fn raw(&self, part: &Part) -> &str {
        self.text.get(part.span.clone()).unwrap_or_default()
    }

    /// Returns whom the data key is encrypted for.
    pub fn recipients(&self) -> &[Recipient] {
        &self.section.recipients
    }

    /// Returns whether another file encrypts by the same rule, and takes the same values for its MAC.
    pub fn has_rule_of(&self, other: &Self) -> bool {
        self.section.rule.is(&other.section.rule)
            && self.section.is_mac_of_encrypted == other.section.is_mac_of_encrypted
    }

    /// Returns whether another file is encrypted for the same recipients, by the same rule, with nothing else said in the section.
    pub fn is_encrypted_as(&self, other: &Self) -> bool {
        self.section.manner == other.section.manner
    }

    /// Returns what an encrypted comment is bound to.
    pub fn comment_place<'a>(&self, part: &'a Part, key: &DataKey) -> Option<&'a str> {
        let PartKind::Comment { places } = &part.kind else { return None };
        places.iter().find(|place| opened(self.raw(part), key, place).is_some()).map(String::as_str)
    }

    /// Returns the first of some keys that is the data key of the file: its MAC or any value decrypts.
    pub fn key_among<'a>(&self, keys: &'a [DataKey]) -> Result<&'a DataKey, Fault> {
        let opens = |key: &&DataKey| {
            let of_part = |part: &Part| match &part.kind {
                PartKind::Value { place, text, .. } => opened(text, key, place).is_some(),
                PartKind::Comment { .. }
                | PartKind::Mac
                | PartKind::Time
                | PartKind::Version
                | PartKind::KeyBlob { .. } => false,
            };
            opened(&self.section.mac, key, &self.section.time).is_some() || self.parts.iter().any(of_part)
        };
        let names = || self.section.recipients.iter().map(|recipient| recipient.name.clone()).collect();
        keys.iter().find(opens).ok_or_else(|| Fault::NoKey(names()))
    }

    /// Decrypts everything; the values stand as [`SopsFile::parts`] do. There are none unless all of them and the MAC hold.
    pub fn open(&self, key: &DataKey) -> Result<Vec<Option<Clear>>, Fault> {
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            values.push(match &part.kind {
                PartKind::Value { is_sealed: true, place, text, style, .. } => match (text.is_empty(), style) {
                    (true, Style::Plain) => None,
                    (true, _) => Some(Clear::text("")),
                    (false, Style::Plain) if is_null(text) => None,
                    (false, _) => Some(opened(text, key, place).ok_or_else(|| Fault::Value(shown(place)))?),
                },
                PartKind::Value { is_sealed: false, text, style, .. } => self.written_value(part, text, *style)?,
                PartKind::Comment { places } => places.iter().find_map(|place| opened(self.raw(part), key, place)),
                PartKind::Mac | PartKind::Time | PartKind::Version | PartKind::KeyBlob { .. } => None,
            });
        }
        let mac = opened(&self.section.mac, key, &self.section.time).ok_or(Fault::Mac)?;
        if mac.is(&self.mac_of(&values)) { Ok(values) } else { Err(Fault::Mac) }
    }

    /// Returns the values of a file in which they all stand in clear, as [`SopsFile::open`] does of an encrypted one.
    pub fn clear(&self) -> Result<Vec<Option<Clear>>, Fault> {
        let value = |part: &Part| match &part.kind {
            PartKind::Value { text, style, .. } => self.written_value(part, text, *style),
            PartKind::Comment { .. }
            | PartKind::Mac
            | PartKind::Time
            | PartKind::Version
            | PartKind::KeyBlob { .. } => Ok(None),
        };
        self.parts.iter().map(value).collect()
    }

    /// Reads a value that stands in clear at a part.
    pub fn written_value(&self, part: &Part, text: &str, style: Style) -> Result<Option<Clear>, Fault> {
        let line = || self.text.get(..part.span.start).unwrap_or_default().matches('\n').count() + 1;
        Clear::written(text, style).map_err(|what| Fault::Foreign(what, line()))
    }

    /// Writes the file anew with these values at its parts, with a new MAC bound to a time. `kept` says what is written at a part;
    /// where it says nothing, a value is encrypted and everything else stays.
    pub fn written(
        &self,
        values: &[Option<Clear>],
        time: &str,
        sealer: Sealer<'_>,
        mut kept: impl FnMut(&Part) -> Option<String>,
    ) -> Result<String, Fault> {
        let mac = sealer.seal(time, &self.mac_of(values)).ok_or(Fault::Mac)?;
        let mut out = String::with_capacity(self.text.len() + self.text.len() / 2);
        let mut at = 0;
        for (part, value) in self.parts.iter().zip(values) {
            let new = match &part.kind {
                PartKind::Value { is_sealed: true, place, is_in_flow, .. } => match value {
                    Some(clear) if !clear.is_empty() => {
                        let sealed = kept(part).or_else(|| sealer.seal(place, clear));
                        let sealed = sealed.ok_or_else(|| Fault::Value(shown(place)))?;
                        let is_bare = *is_in_flow && sealed.starts_with(SEALED);
                        Some(if is_bare { format!("\"{sealed}\"") } else { sealed })
                    }
                    Some(_) | None => None,
                },
                PartKind::Value { is_sealed: false, .. } => None,
                PartKind::Comment { .. } | PartKind::Version | PartKind::KeyBlob { .. } => kept(part),
                PartKind::Mac => Some(mac.clone()),
                PartKind::Time => Some(format!("\"{time}\"")),
            };
            if let Some(new) = new {
                out.push_str(self.text.get(at..part.span.start).unwrap_or_default());
                out.push_str(&new);
                at = part.span.end;
            }
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        Ok(out)
    }

    /// Returns the text with other texts at its parts.
    pub fn rewritten(&self, mut replace: impl FnMut(usize, &Part) -> Option<String>) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (number, part) in self.parts.iter().enumerate() {
            if let Some(new) = replace(number, part) {
                out.push_str(self.text.get(at..part.span.start).unwrap_or_default());
                out.push_str(&new);
                at = part.span.end;
            }
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }

    /// Returns the MAC of values in clear.
    fn mac_of(&self, values: &[Option<Clear>]) -> Clear {
        let counts = |part: &Part| match &part.kind {
            PartKind::Value { is_sealed, .. } => *is_sealed || !self.section.is_mac_of_encrypted,
            PartKind::Comment { .. }
            | PartKind::Mac
            | PartKind::Time
            | PartKind::Version
            | PartKind::KeyBlob { .. } => false,
        };
        let counted =
            self.parts.iter().zip(values).filter(|(part, _)| counts(part)).filter_map(|(_, value)| value.as_ref());
        let is_value = |clear: &&Clear| clear.kind() != super::ClearKind::Comment;
        let values: Vec<&[u8]> = counted.filter(is_value).map(Clear::expose).collect();
        let begin: &[u8] = if self.section.is_mac_of_encrypted { &ONLY_ENCRYPTED } else { &[] };
        // One allocation, which is wiped, because what is left of a smaller one would not be.
        let mut all = Vec::with_capacity(begin.len() + values.iter().map(|value| value.len()).sum::<usize>());
        all.extend_from_slice(begin);
        values.into_iter().for_each(|value| all.extend_from_slice(value));
        let all = SecretBytes::new(all);
        let digest = Sha2::Sha512.digest(all.expose(Purpose::SopsFile));
        Clear::text(&digest.iter().map(|byte| format!("{byte:02X}")).collect::<String>())
    }
}

/// What the section `sops` says.
#[derive(Clone, Debug)]
struct Section {
    rule: Rule,
    is_mac_of_encrypted: bool,
    mac: String,
    time: String,
    recipients: Vec<Recipient>,
    /// All that it says but the MAC, the time, the version and the encrypted data keys for age.
    manner: String,
}

/// Where a value stands.
struct Spot {
    place: String,
    /// Whether a key on the way to it decides about encryption.
    is_decided: bool,
    is_in_flow: bool,
}

struct Reader<'a> {
    tree: &'a Tree,
    text: &'a str,
    parts: Vec<Part>,
}

impl<'a> Reader<'a> {
    fn add(&mut self, kind: PartKind, node: &Node) {
        let mut span = node.start.byte..node.end;
        if node.style == Style::BlockText {
            // The line break behind a block text belongs to the file.
            let block = self.text.get(span.clone()).unwrap_or_default();
            span = block_header(self.text, span.start)..span.start + block.trim_end_matches(['\n', ' ']).len();
        }
        self.parts.push(Part { kind, span });
    }

    fn map(&mut self, map: &'a Node, spot: &Spot, rule: &Rule) -> Result<(), Fault> {
        let is_in_flow = spot.is_in_flow || map.style == Style::Flow;
        for (key, value) in self.entries(map)? {
            if spot.place.is_empty() && key == SECTION {
                continue;
            }
            let place = format!("{}{key}:", spot.place);
            let is_decided = spot.is_decided || rule.decides(key);
            self.value(self.tree.node(value), &Spot { place, is_decided, is_in_flow }, rule)?;
        }
        Ok(())
    }

    fn value(&mut self, node: &'a Node, spot: &Spot, rule: &Rule) -> Result<(), Fault> {
        let tree = self.tree;
        if node.tag.is_some() {
            return Err(Fault::Foreign("a tag", node.start.line));
        }
        match &node.content {
            Content::Map(_) => self.map(node, spot, rule),
            Content::List(items) => {
                let is_in_flow = spot.is_in_flow || node.style == Style::Flow;
                let spot = Spot { place: spot.place.clone(), is_decided: spot.is_decided, is_in_flow };
                items.iter().try_for_each(|item| self.value(tree.node(*item), &spot, rule))
            }
            Content::Alias(_) => Err(Fault::Foreign("an alias", node.start.line)),
            Content::Scalar(text) => {
                let Spot { place, is_decided, is_in_flow } = spot;
                let is_sealed = rule.is_all_but() != *is_decided;
                let raw = self.text.get(node.start.byte..node.end).unwrap_or_default();
                if is_sealed && text.starts_with(SEALED) && raw.trim_end().contains('\n') {
                    return Err(Fault::Foreign("an encrypted value over several lines", node.start.line));
                }
                let (place, text, style, is_in_flow) = (place.clone(), text.clone(), node.style, *is_in_flow);
                self.add(PartKind::Value { place, is_sealed, text, style, is_in_flow }, node);
                Ok(())
            }
        }
    }

    /// Returns the keys and values of a map; each key is a text and stands in it once.
    fn entries(&self, map: &'a Node) -> Result<Vec<(&'a str, usize)>, Fault> {
        let Content::Map(pairs) = &map.content else { return Ok(Vec::new()) };
        let mut seen = BTreeSet::new();
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let key = self.tree.node(*key);
            let foreign = |what| Fault::Foreign(what, key.start.line);
            let text =
                scalar_text(key).filter(|_| key.tag.is_none()).ok_or_else(|| foreign("a key that is no text"))?;
            let is_plain = key.style == Style::Plain;
            if is_plain && (text == "<<" || scalar::read(text, Dialect::Gomplate) != Reading::Text) {
                return Err(foreign("a key that is no text"));
            }
            if !seen.insert(text) {
                return Err(foreign("a key twice"));
            }
            entries.push((text, *value));
        }
        Ok(entries)
    }

    fn section(&mut self, section: usize) -> Result<Section, Fault> {
        let section = self.tree.node(section);
        let mut others = Vec::new();
        let mut rules = [""; 4];
        let mut found = Section {
            rule: Rule::of(rules).map_err(Fault::Section)?,
            is_mac_of_encrypted: false,
            mac: String::new(),
            time: String::new(),
            recipients: Vec::new(),
            manner: String::new(),
        };
        if section.style != Style::Block {
            return Err(Fault::NotSops);
        }
        for (key, value) in self.entries(section)? {
            let node = self.tree.node(value);
            let text = scalar_text(node).unwrap_or_default();
            if !["age", "lastmodified", "mac", "version"].contains(&key) {
                let said = self.text.get(node.start.byte..node.end).unwrap_or_default().trim_end();
                found.manner.push_str(&format!("{key}: {said}\n"));
            }
            if let Some((slot, _)) = rules.iter_mut().zip(rule::FIELDS).find(|(_, field)| *field == key) {
                *slot = text;
                continue;
            }
            match key {
                "mac" => {
                    text.clone_into(&mut found.mac);
                    self.add(PartKind::Mac, node);
                }
                "lastmodified" => {
                    text.clone_into(&mut found.time);
                    self.add(PartKind::Time, node);
                }
                "version" => self.add(PartKind::Version, node),
                "mac_only_encrypted" => found.is_mac_of_encrypted = text == "true",
                "age" => found.recipients = self.recipients(node)?,
                _ if COMMENT_RULES.contains(&key) && !text.is_empty() => {
                    return Err(Fault::Foreign("a rule over comments, which is not read here,", node.start.line));
                }
                _ if matches!(&node.content, Content::List(items) if !items.is_empty()) => {
                    others.extend(OTHER_KEYS.into_iter().filter(|known| *known == key));
                }
                _ => {}
            }
        }
        found.rule = Rule::of(rules).map_err(Fault::Section)?;
        let mut names: Vec<&str> = found.recipients.iter().map(|recipient| recipient.name.as_str()).collect();
        names.sort_unstable();
        found.manner.push_str(&format!("{names:?}"));
        match (found.mac.is_empty(), found.time.is_empty(), found.recipients.is_empty(), others.is_empty()) {
            (true, ..) => Err(Fault::Section("mac")),
            (false, true, ..) => Err(Fault::Section("lastmodified")),
            (false, false, true, true) => Err(Fault::Section("age")),
            (false, false, true, false) => Err(Fault::OtherKeys(others)),
            (false, false, false, _) => Ok(found),
        }
    }

    fn recipients(&mut self, list: &'a Node) -> Result<Vec<Recipient>, Fault> {
        let Content::List(items) = &list.content else { return Ok(Vec::new()) };
        let mut recipients: Vec<Recipient> = Vec::new();
        for item in items {
            let item = self.tree.node(*item);
            let entries = self.entries(item)?;
            let field = |name: &str| {
                let (_, value) = entries.iter().find(|(key, _)| *key == name)?;
                Some(self.tree.node(*value)).filter(|node| scalar_text(node).is_some_and(|text| !text.is_empty()))
            };
            let (name, blob) = (field("recipient"), field("enc"));
            let (Some(name), Some(blob)) = (name, blob) else { return Err(Fault::Section("age")) };
            let text = |node| scalar_text(node).unwrap_or_default().to_owned();
            let recipient = Recipient { name: text(name), blob: text(blob) };
            if recipients.iter().any(|known| known.name == recipient.name) {
                return Err(Fault::Section("age"));
            }
            let column = self.key_column(item, "enc");
            self.add(PartKind::KeyBlob { recipient: recipient.name.clone(), column }, blob);
            recipients.push(recipient);
        }
        Ok(recipients)
    }

    fn key_column(&self, map: &Node, name: &str) -> usize {
        let Content::Map(pairs) = &map.content else { return 0 };
        let keys = pairs.iter().map(|(key, _)| self.tree.node(*key));
        let column = keys.filter(|key| scalar_text(key) == Some(name)).map(|key| key.start.column).next();
        column.unwrap_or(1).saturating_sub(1)
    }
}

fn scalar_text(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Scalar(text) => Some(text),
        Content::List(_) | Content::Map(_) | Content::Alias(_) => None,
    }
}

fn is_nothing(node: &Node) -> bool {
    node.style == Style::Plain && scalar_text(node).is_some_and(is_null)
}

fn is_null(text: &str) -> bool {
    scalar::read(text, Dialect::Gomplate) == Reading::Null
}

fn opened(text: &str, key: &DataKey, place: &str) -> Option<Clear> {
    Sealed::parse(text)?.open(key, place)
}

/// Returns where the header of a block text stands: the parser places a block at its header or at its content.
pub(in crate::yaml) fn block_header(text: &str, start: usize) -> usize {
    let is_header = |c: Option<char>| matches!(c, Some('|' | '>'));
    if is_header(text.get(start..).unwrap_or_default().chars().next()) {
        return start;
    }
    let before = text.get(..start).unwrap_or_default().trim_end();
    let line = line_start(text, before.len());
    let written = before.get(line..).unwrap_or_default();
    let ends = [written.find(" #"), Some(written.len())].into_iter().flatten();
    let headers = ends.filter_map(|end| {
        let header =
            written.get(..end)?.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
        is_header(header.chars().next_back()).then(|| line + header.len() - 1)
    });
    headers.into_iter().next().unwrap_or(start)
}

/// Returns a place as people write it.
fn shown(place: &str) -> String {
    place.trim_end_matches(':').replace(':', ".")
}

/// Finds the encrypted comments. A comment is bound to the map or list around it; which one that is to SOPS hangs on details of its
/// parser, so every map around the values before and behind it is one that it may be bound to.
fn comments(text: &str, tree: &Tree, parts: &[Part]) -> Vec<Part> {
    let scalars: Vec<Range<usize>> = tree
        .nodes()
        .iter()
        .filter(|node| matches!(node.content, Content::Scalar(_)) && node.end > node.start.byte)
        .map(|node| node.start.byte..node.end)
        .collect();
    let in_scalar = |at: usize| {
        let before = scalars.partition_point(|span| span.start <= at).checked_sub(1);
        before.and_then(|it| scalars.get(it)).is_some_and(|span| at < span.end)
    };
    let mut found = Vec::new();
    for at in memchr::memchr_iter(b'#', text.as_bytes()) {
        let begins = text.get(..at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t', '\n']));
        let body = text.get(at + 1..).unwrap_or_default();
        let line = body.lines().next().unwrap_or_default();
        let length = match line.starts_with(SEALED) {
            true => line.find(']').map(|end| end + 1),
            false => line.starts_with(MARK).then_some(MARK.len() + MARK_CHARS),
        };
        let Some(length) = length.filter(|length| begins && line.len() >= *length && !in_scalar(at)) else { continue };
        let behind = parts.partition_point(|part| part.span.start < at);
        let near = [behind.checked_sub(1).and_then(|it| parts.get(it)), parts.get(behind)];
        let mut places = vec![":".to_owned()];
        for part in near.into_iter().flatten() {
            if let PartKind::Value { place, .. } = &part.kind {
                places.extend(place.match_indices(':').filter_map(|(end, _)| place.get(..=end)).map(str::to_owned));
            }
        }
        places.sort();
        places.dedup();
        found.push(Part { kind: PartKind::Comment { places }, span: at + 1..at + 1 + length });
    }
    found
}
