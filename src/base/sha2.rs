//! Pure. The SHA-2 digests by name, for template functions that have one each.
//!
//! Not here: the digests that we take ourselves (`hash.rs`), which are all SHA-256.

use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// A member of the family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sha2 {
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/224.
    Sha512Cut224,
    /// SHA-512/256.
    Sha512Cut256,
}

impl Sha2 {
    /// Returns the digest of bytes.
    pub fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha224 => Sha224::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
            Self::Sha512Cut224 => Sha512_224::digest(bytes).to_vec(),
            Self::Sha512Cut256 => Sha512_256::digest(bytes).to_vec(),
        }
    }

    /// Returns the length of the blocks that it works on, in bytes.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::Sha224 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 | Self::Sha512Cut224 | Self::Sha512Cut256 => 128,
        }
    }
}
