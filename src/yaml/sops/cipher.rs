//! Pure. Single values encrypted and decrypted: AES-256-GCM, bound to the place in the file.
//!
//! Not here: which values are encrypted (`rule`, `file`).

use std::fmt;

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::aes::Aes256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::SEALED;
use super::value::{Clear, ClearKind};
use crate::base::Encoder;
use crate::model::{Purpose, SecretBytes};

/// Bytes of a data key.
const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 32;
/// Bytes of the tag that AES-GCM puts on what it encrypts.
const TAG_BYTES: usize = 16;

/// The key that the values of a file are encrypted with.
#[derive(Clone)]
pub struct DataKey(SecretBytes);

impl DataKey {
    /// Takes a key; nothing if it has another length than 32 bytes.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        let is_long = bytes.len() == KEY_BYTES;
        let key = Self(SecretBytes::new(bytes));
        is_long.then_some(key)
    }

    /// Returns whether two keys are the same.
    pub fn is(&self, other: &Self) -> bool {
        self.0.expose(Purpose::SopsFile) == other.0.expose(Purpose::SopsFile)
    }

    fn cipher(&self) -> Option<AesGcm<Aes256, U32>> {
        AesGcm::new_from_slice(self.0.expose(Purpose::SopsFile)).ok()
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(hidden)")
    }
}

/// Entropy that nonces are made of.
#[derive(Clone)]
pub struct Seed(SecretBytes);

impl Seed {
    /// Takes entropy.
    pub fn new(bytes: [u8; NONCE_BYTES]) -> Self {
        Self(SecretBytes::new(bytes.to_vec()))
    }

    /// Makes the nonce of a value at a place. Two values never share one, because the value itself has a part in it.
    fn nonce(&self, place: &str, clear: &Clear) -> [u8; NONCE_BYTES] {
        let mut key = [0; NONCE_BYTES];
        key.copy_from_slice(self.0.expose(Purpose::SopsFile));
        let mut encoder = Encoder::new();
        encoder.text(place).text(clear.kind().word()).raw(clear.expose());
        encoder.keyed_digest(&key).0
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(hidden)")
    }
}

/// What new ciphertexts are made with.
#[derive(Clone, Copy, Debug)]
pub struct Sealer<'a> {
    /// The data key.
    pub key: &'a DataKey,
    /// Entropy.
    pub seed: &'a Seed,
}

impl Sealer<'_> {
    /// Encrypts a comment for the map or list around it; SOPS does that, we never do.
    #[cfg(test)]
    pub(crate) fn seal_comment(&self, place: &str, text: &str) -> Option<String> {
        self.seal(place, &Clear::comment(text))
    }

    /// Encrypts a value for a place; nothing if that is more than AES-GCM takes. An empty text stays what it is.
    pub fn seal(&self, place: &str, clear: &Clear) -> Option<String> {
        if clear.is_empty() {
            return Some(String::new());
        }
        let nonce = self.seed.nonce(place, clear);
        let mut data = clear.expose().to_vec();
        let cipher = self.key.cipher()?;
        let tag = cipher.encrypt_in_place_detached((&nonce).into(), place.as_bytes(), &mut data).ok()?;
        let [data, nonce, tag] = [data.as_slice(), &nonce, &tag].map(|bytes| STANDARD.encode(bytes));
        Some(format!("{SEALED}data:{data},iv:{nonce},tag:{tag},type:{}]", clear.kind().word()))
    }
}

/// An encrypted value, taken apart.
pub(super) struct Sealed {
    data: Vec<u8>,
    nonce: [u8; NONCE_BYTES],
    tag: [u8; TAG_BYTES],
    kind: ClearKind,
}

impl Sealed {
    /// Reads what [`Sealer::seal`] writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SEALED)?.strip_prefix("data:")?.strip_suffix(']')?;
        let (data, rest) = rest.split_once(",iv:")?;
        let (nonce, rest) = rest.split_once(",tag:")?;
        let (tag, kind) = rest.split_once(",type:")?;
        let bytes = |text: &str| STANDARD.decode(text).ok();
        let (nonce, tag) = (bytes(nonce)?.try_into().ok()?, bytes(tag)?.try_into().ok()?);
        Some(Self { data: bytes(data)?, nonce, tag, kind: ClearKind::of_word(kind)? })
    }

    /// Decrypts it at its place; nothing if it was made for another place or with another key.
    pub(super) fn open(mut self, key: &DataKey, place: &str) -> Option<Clear> {
        let (nonce, tag) = ((&self.nonce).into(), (&self.tag).into());
        key.cipher()?.decrypt_in_place_detached(nonce, place.as_bytes(), &mut self.data, tag).ok()?;
        Clear::decrypted(self.kind, self.data)
    }
}
