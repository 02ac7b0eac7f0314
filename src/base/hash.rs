//! Pure. sha256 digests over canonical, typed, length-prefixed encodings.
//!
//! Not here: the keyed hash of desired objects (`plan::hash`), which uses the same encoding. No digest is ever taken
//! over a serialiser's output, because two versions of a serialiser may print one value in two ways.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A sha256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest as 64 lower-case hexadecimal characters.
    pub fn to_hex(&self) -> String {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.to_hex())
    }
}

/// Block size of sha256, to which HMAC pads a key with zeros.
const BLOCK_BYTES: usize = 64;

/// Returns the sha256 of raw bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Bytes of room for a start: most encodings are short, and one is made for every node of a file.
const SHORT_BYTES: usize = 128;

/// Builds the canonical encoding: one tag byte per type, an 8-byte little-endian length, map entries sorted by key bytes.
///
/// `{"a":"bc"}` and `{"ab":"c"}`, `1` and `"1"`, `null` and the empty text, absent and null all encode differently;
/// the order of map keys does not matter. The original of seed S0 failed each of these.
#[derive(Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Returns an empty encoder.
    pub fn new() -> Self {
        Self { bytes: Vec::with_capacity(SHORT_BYTES) }
    }

    /// Appends a text with its tag and length.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.tagged(b's', text.as_bytes())
    }

    /// Appends raw bytes with their tag and length.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.tagged(b'b', bytes)
    }

    /// Appends the number of items that follow, so that lists of different split never look alike.
    pub fn list(&mut self, items: usize) -> &mut Self {
        self.tagged(b'l', &(items as u64).to_le_bytes())
    }

    /// Appends a JSON value.
    pub fn value(&mut self, value: &Value) -> &mut Self {
        match value {
            Value::Null => self.tagged(b'0', &[]),
            Value::Bool(flag) => self.tagged(b'?', &[u8::from(*flag)]),
            Value::Number(number) => {
                if let Some(signed) = number.as_i64() {
                    self.tagged(b'i', &signed.to_le_bytes())
                } else if let Some(unsigned) = number.as_u64() {
                    self.tagged(b'u', &unsigned.to_le_bytes())
                } else {
                    self.tagged(b'f', &number.as_f64().unwrap_or(f64::NAN).to_bits().to_le_bytes())
                }
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.list(items.len());
                for item in items {
                    self.value(item);
                }
                self
            }
            Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
                self.tagged(b'm', &(entries.len() as u64).to_le_bytes());
                for (key, item) in entries {
                    self.text(key).value(item);
                }
                self
            }
        }
    }

    /// Returns the HMAC with sha256 of what was appended.
    pub fn keyed_digest(&self, key: &[u8; 32]) -> Digest {
        let mut block = [0; BLOCK_BYTES];
        for (slot, byte) in block.iter_mut().zip(key) {
            *slot = *byte;
        }
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(&self.bytes);
        Digest(mac.finalize().into_bytes().into())
    }

    /// Returns the sha256 of what was appended.
    pub fn digest(&self) -> Digest {
        sha256(&self.bytes)
    }

    fn tagged(&mut self, tag: u8, content: &[u8]) -> &mut Self {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(content);
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Encoder;

    fn digest(value: &Value) -> String {
        Encoder::new().value(value).digest().to_hex()
    }

    #[test]
    fn values_that_a_serialiser_might_confuse_differ() {
        let values = [
            json!({"a": "bc"}),
            json!({"ab": "c"}),
            json!(1),
            json!("1"),
            json!(1.0),
            json!(true),
            json!("true"),
            json!(null),
            json!("null"),
            json!(""),
            json!({}),
            json!([]),
            json!({"a": null}),
            json!([["a"], ["b"]]),
            json!([["a", "b"], []]),
        ];
        let digests: std::collections::BTreeSet<_> = values.iter().map(digest).collect();
        assert_eq!(digests.len(), values.len());
    }

    #[test]
    fn key_order_does_not_matter() {
        assert_eq!(digest(&json!({"a": 1, "b": 2})), digest(&json!({"b": 2, "a": 1})));
    }
}
