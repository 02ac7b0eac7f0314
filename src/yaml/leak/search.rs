//! Pure. The search for many values at once: every place of a text is looked at once, however many values there are.
//!
//! A table of bits over the first eight bytes of every form of every value tells almost all places apart that begin none; where it does not,
//! the forms that begin so are compared. Not here: the spellings that a form can have in a file (`forms`).

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::Leak;
use super::forms::folded;
use crate::base::{Digest, Encoder};
use crate::model::{Purpose, SecretBytes, SecretValue};

/// Shortest value that is sought; a shorter one could be any word.
const MIN_BYTES: usize = 8;
/// Bytes that a comparison begins with.
const HEAD: usize = 8;
/// Bits of the table for one form, so that one place in 32 is looked up in vain at most.
const BITS_FOR_FORM: usize = 32;
/// Bits of the largest table, which takes 2 MiB: half a million forms.
const MAX_BITS: usize = 1 << 24;
/// Bits of the smallest table.
const MIN_BITS: usize = 1 << 12;
/// Spreads the bytes of a head over all bits of a word: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The values that are sought, by the paths of their secrets. It shows nothing of them.
pub struct Search {
    forms: Vec<Form>,
    /// Head and number of every form, in order of heads.
    heads: Vec<(u64, usize)>,
    table: Vec<u64>,
    /// How far a spread head is shifted to be a place in the table.
    shift: u32,
    digest: Digest,
    /// Whether a value can be folded.
    has_blanks: bool,
}

/// What a value looks like in a file.
struct Form {
    path: String,
    bytes: SecretBytes,
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Search(hidden)")
    }
}

impl Search {
    /// Seeks nothing but key material.
    pub fn nothing() -> Self {
        Self::of(std::iter::empty())
    }

    /// Seeks values, each with the path of its secret. Those below eight bytes are left out.
    pub fn of<'a>(values: impl Iterator<Item = (&'a str, &'a SecretValue)>) -> Self {
        let mut encoder = Encoder::new();
        encoder.text("values that are sought");
        let mut forms = Vec::new();
        let mut has_blanks = false;
        for (path, value) in values {
            let value = value.expose(Purpose::LeakSearch);
            has_blanks |= value.len() >= MIN_BYTES && value.trim_ascii().contains(|c: char| c.is_ascii_whitespace());
            encoder.text(path).text(value);
            let new =
                forms_of(value).into_iter().map(|bytes| Form { path: path.to_owned(), bytes: SecretBytes::new(bytes) });
            forms.extend(new);
        }
        let bits = (forms.len() * BITS_FOR_FORM).next_power_of_two().clamp(MIN_BITS, MAX_BITS);
        let mut search = Self {
            heads: Vec::with_capacity(forms.len()),
            table: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
            digest: encoder.digest(),
            forms,
            has_blanks,
        };
        for (number, form) in search.forms.iter().enumerate() {
            let Some(head) = form.bytes.expose(Purpose::LeakSearch).first_chunk::<HEAD>() else { continue };
            search.heads.push((u64::from_le_bytes(*head), number));
        }
        search.heads.sort_unstable();
        for (head, _) in &search.heads {
            let (word, bit) = place(*head, search.shift);
            if let Some(word) = search.table.get_mut(word) {
                *word |= bit;
            }
        }
        search
    }

    /// Returns a digest over what is sought: what was judged by it need not be judged again. It must not leave the process.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns whether any value is sought.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns whether any value has blanks in it, at which it can be folded over lines.
    pub(super) fn has_blanks(&self) -> bool {
        self.has_blanks
    }

    /// Tells the first place of every value that a text holds.
    pub(super) fn find(&self, text: &[u8], note: &mut impl FnMut(usize, Leak)) {
        if self.forms.is_empty() {
            return;
        }
        let mut known = BTreeSet::new();
        // The last eight bytes, as if they were read at once.
        let mut head = 0_u64;
        for (last, byte) in text.iter().enumerate() {
            head = (head >> 8) | (u64::from(*byte) << 56);
            let (word, bit) = place(head, self.shift);
            if self.table.get(word).is_none_or(|word| word & bit == 0) || last + 1 < HEAD {
                continue;
            }
            let at = last + 1 - HEAD;
            let first = self.heads.partition_point(|(other, _)| *other < head);
            let same = self.heads.iter().skip(first).take_while(|(other, _)| *other == head);
            for form in same.filter_map(|(_, number)| self.forms.get(*number)) {
                let rest = text.get(at..).unwrap_or_default();
                if rest.starts_with(form.bytes.expose(Purpose::LeakSearch)) && known.insert(form.path.as_str()) {
                    note(at, Leak::Value(form.path.clone()));
                }
            }
        }
    }
}

/// Returns the word of the table for a head, and its bit there.
fn place(head: u64, shift: u32) -> (usize, u64) {
    let spread = head.wrapping_mul(SPREAD) >> shift;
    (usize::try_from(spread / 64).unwrap_or(usize::MAX), 1 << (spread % 64))
}

/// Returns what a value looks like in a file, beside the spellings that are taken back before the search.
fn forms_of(value: &str) -> BTreeSet<Vec<u8>> {
    // A line break at the end belongs to the file that a value came from.
    let value = value.trim_end_matches(['\n', '\r']);
    let mut forms = BTreeSet::new();
    if value.len() < MIN_BYTES {
        return forms;
    }
    let escaped = serde_json::to_string(value).unwrap_or_default();
    let escaped = escaped.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    for text in [value, escaped] {
        for before in 0..3 {
            forms.insert(inner(&STANDARD_NO_PAD.encode(padded(text, before)), text.len(), before));
            forms.insert(inner(&URL_SAFE_NO_PAD.encode(padded(text, before)), text.len(), before));
        }
    }
    forms.insert(value.as_bytes().to_vec());
    if value.contains(' ') {
        forms.insert(value.replace(' ', "+").into_bytes());
    }
    for text in written(value) {
        forms.insert(folded(&text).into_bytes());
        forms.insert(text.into_bytes());
    }
    if !value.is_ascii() {
        // Only ASCII is left of UTF-16 by the view of wide characters.
        forms.insert(value.encode_utf16().flat_map(u16::to_le_bytes).collect());
        forms.insert(value.encode_utf16().flat_map(u16::to_be_bytes).collect());
        if let Ok(latin) = value.chars().map(|c| u8::try_from(u32::from(c))).collect() {
            forms.insert(latin);
        }
    }
    if value.contains('\n') {
        // As it stands in a file whose lines are joined.
        forms.insert(value.lines().map(str::trim).collect::<String>().into_bytes());
    }
    forms.retain(|form| form.len() >= MIN_BYTES);
    forms
}

/// Returns a text as it stands where one sign is written as several: in single quotes of YAML and of shells, in tables, in XML.
fn written(value: &str) -> BTreeSet<String> {
    let entities = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let quoted = entities.replace('"', "&quot;");
    BTreeSet::from([
        value.to_owned(),
        value.replace('\'', "''"),
        value.replace('\'', "'\\''"),
        value.replace('"', "\"\""),
        quoted.replace('\'', "&apos;"),
        quoted.replace('\'', "&#39;"),
        quoted.replace('\'', "&#x27;"),
        entities,
        quoted,
    ])
}

/// Returns a text behind some bytes of a group of three.
fn padded(text: &str, before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Returns the characters of a base64 text that hang on nothing but the value, `before` bytes into it.
fn inner(encoded: &str, length: usize, before: usize) -> Vec<u8> {
    let first = (before * 8).div_ceil(6);
    let last = ((before + length) * 8) / 6;
    encoded.as_bytes().get(first..last).unwrap_or_default().to_vec()
}
