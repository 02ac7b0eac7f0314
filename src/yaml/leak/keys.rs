//! Pure. Key material that is known by its form: private keys, secret keys of age, our tokens, and what kubeconfigs sign in with.
//!
//! A name alone is none: a page that tells how a key begins holds no key. Not here: the spellings of a text (`forms`).

use memchr::memmem;

use super::Leak;

/// Bytes before the words of a key in which its mark begins.
const MARK_BYTES: usize = 48;
/// Bytes behind a mark in which the key itself begins; headers of old formats stand between.
const HEADER_BYTES: usize = 400;
/// Shortest run of base64 that counts as the body of a key.
const MIN_BODY: usize = 20;
/// Shortest text behind the mark of age; a true one has 58 characters.
const MIN_AGE: usize = 30;
/// Shortest secret part of a token.
const MIN_TOKEN: usize = 20;
/// Shortest credential in a kubeconfig.
const MIN_CREDENTIAL: usize = 8;
/// Shortest key in a kubeconfig.
const MIN_KEY_DATA: usize = 40;
/// `PRIVATE KEY-----` in base64, as it stands behind 0, 1 or 2 bytes of a group of three.
const ENCODED_MARKS: [&[u8]; 3] = [b"UFJJVkFURSBLRVktLS0tL", b"QUklWQVRFIEtFWS0tLS0t", b"BSSVZBVEUgS0VZLS0tLS"];

/// Tells every piece of key material in a text, with where it begins.
pub(super) fn find(text: &[u8], note: &mut impl FnMut(usize, Leak)) {
    for at in memmem::find_iter(text, b"PRIVATE KEY").filter(|at| is_private_key(text, *at)) {
        note(at, Leak::PrivateKey);
    }
    for mark in ENCODED_MARKS {
        if let Some(at) = memmem::find(text, mark) {
            note(at, Leak::PrivateKey);
        }
    }
    for at in memmem::find_iter(text, b"PuTTY-User-Key-File-").filter(|at| has_run(text, *at, MIN_KEY_DATA)) {
        note(at, Leak::PrivateKey);
    }
    for at in memmem::find_iter(text, b"AGE-SECRET-KEY-") {
        let is_of_key = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'-';
        let length = text.get(at..).unwrap_or_default().iter().take_while(is_of_key).count();
        if length >= "AGE-SECRET-KEY-".len() + MIN_AGE {
            note(at, Leak::AgeKey);
        }
    }
    for at in memmem::find_iter(text, b"wild_").filter(|at| is_token(text, *at)) {
        note(at, Leak::Token);
    }
    for at in memmem::find_iter(text, b"client-key-data").filter(|at| {
        let value = text.get(at + "client-key-data".len()..).unwrap_or_default();
        let value = value.iter().skip_while(|byte| b"\"': \t\r\n|>-".contains(byte));
        value.take_while(|byte| is_base64(byte)).count() >= MIN_KEY_DATA
    }) {
        note(at, Leak::KubeCredential);
    }
    if let Some(at) = kubeconfig_credential(text) {
        note(at, Leak::KubeCredential);
    }
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Returns whether the words at a place are those of a mark with a key behind it.
fn is_private_key(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(MARK_BYTES)..at).unwrap_or_default();
    let begins = memmem::rfind(before, b"BEGIN ").is_some_and(|begin| {
        let between = before.get(begin + "BEGIN ".len()..).unwrap_or_default();
        let is_word = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
        before.get(..begin).is_some_and(|dashes| dashes.trim_ascii_end().ends_with(b"----"))
            && between.iter().all(is_word)
    });
    let behind = text.get(at + "PRIVATE KEY".len()..).unwrap_or_default();
    let behind = behind.strip_prefix(b" BLOCK").unwrap_or(behind).trim_ascii_start();
    begins && behind.starts_with(b"----") && has_run(behind, 0, MIN_BODY)
}

/// Returns whether a run of base64 stands near behind a place.
fn has_run(text: &[u8], at: usize, length: usize) -> bool {
    let near = text.get(at..text.len().min(at + HEADER_BYTES)).unwrap_or_default();
    near.split(|byte| !is_base64(byte)).any(|run| run.len() >= length)
}

/// Returns whether the text at a place is `wild_`, an identity, `_` and a secret.
fn is_token(text: &[u8], at: usize) -> bool {
    let is_inside = at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(u8::is_ascii_alphanumeric);
    let mut words = text.get(at + "wild_".len()..).unwrap_or_default().splitn(2, |byte| *byte == b'_');
    let (Some(id), Some(rest)) = (words.next(), words.next()) else { return false };
    let secret: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_alphanumeric).collect();
    let is_random = secret.iter().any(u8::is_ascii_digit) && secret.iter().any(u8::is_ascii_alphabetic);
    !is_inside && !id.is_empty() && id.iter().all(u8::is_ascii_alphanumeric) && secret.len() >= MIN_TOKEN && is_random
}

/// Returns where a kubeconfig holds a token or a password.
fn kubeconfig_credential(text: &[u8]) -> Option<usize> {
    let has = |words: &[u8]| memmem::find(text, words).is_some();
    if !has(b"Config") || !has(b"clusters") || !has(b"contexts") || !has(b"users") {
        return None;
    }
    let of_key = |key: &'static [u8]| {
        memmem::find_iter(text, key).find(|at| {
            let behind = text.get(at + key.len()..).unwrap_or_default();
            let behind = behind.strip_prefix(b"\"").unwrap_or(behind).trim_ascii_start();
            let Some(value) = behind.strip_prefix(b":") else { return false };
            let value = value.iter().skip_while(|byte| b"\"' \t".contains(byte));
            let is_of_value = |byte: &&u8| byte.is_ascii_graphic() && !b"\"',{}<>$".contains(*byte);
            value.take_while(is_of_value).count() >= MIN_CREDENTIAL
        })
    };
    of_key(b"token").or_else(|| of_key(b"password"))
}
