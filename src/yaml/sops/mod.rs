//! Pure. Files that SOPS encrypted: what stands where in them, the values behind it, and new ciphertexts for changed values.
//!
//! Keys stay readable in such a file; each value is `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`, bound to its place in the file, and a
//! MAC over all values in their order stands in the section `sops` beside the data key, encrypted for each recipient.
//! [`SopsFile::read`] needs no key. [`SopsFile::open`] gives values only once all of them and the MAC hold. A nonce is made of a
//! seed that the caller draws, of the place and of the value, so what is encrypted twice under one seed is the same text.
//!
//! Not here: where keys come from and the encryption of the data key (`settings`), merging such files (`merge`).

mod cipher;
mod claim;
mod fault;
mod file;
mod rule;
#[cfg(test)]
mod tests;
mod value;

use crate::base::sha256;

pub use cipher::{DataKey, Sealer, Seed};
pub use claim::{Demand, check_claim, claims};
pub use fault::Fault;
pub(super) use file::block_header;
pub use file::{Part, PartKind, Recipient, SopsFile};
pub use value::{Clear, ClearKind};

/// What begins every encrypted value.
const SEALED: &str = "ENC[AES256_GCM,";
/// What begins a mark: a word that stands for an encrypted value while texts are compared.
const MARK: &str = "sealed-";
/// Hexadecimal characters of a mark.
const MARK_CHARS: usize = 16;

/// Returns the mark that stands for a value while texts are compared. It is made of a ciphertext and so says nothing of the value.
pub fn mark(ciphertext: &str) -> String {
    format!("{MARK}{}", sha256(ciphertext.as_bytes()).to_hex().chars().take(MARK_CHARS).collect::<String>())
}

/// Returns the text with `word` in place of every mark.
pub fn without_marks(text: &str, word: &str) -> String {
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..MARK_CHARS).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(_) => out.push_str(&format!("{word}{}", part.get(MARK_CHARS..).unwrap_or_default())),
            None => out.push_str(&format!("{MARK}{part}")),
        }
    }
    out
}

/// Returns whether a file is one that SOPS encrypts by its name. `.sops.yaml` itself is the settings of SOPS.
pub fn is_called_so(name: &str) -> bool {
    [".sops.yaml", ".sops.yml"].iter().any(|end| name.strip_suffix(end).is_some_and(|stem| !stem.is_empty()))
}

/// Returns whether a text has what SOPS writes into every file, by a look at its lines alone.
pub fn looks_so(text: &str) -> bool {
    let has_section = || text.starts_with("sops:") || memchr::memmem::find(text.as_bytes(), b"\nsops:").is_some();
    memchr::memmem::find(text.as_bytes(), SEALED.as_bytes()).is_some() && has_section()
}
