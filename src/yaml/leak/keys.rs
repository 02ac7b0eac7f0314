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
/// Shortest run of base64 that counts as the body of a key where words stand before it; keys are wrapped at 64 characters or more.
const MIN_LINE: usize = 60;
/// Shortest run behind the mark of a key that is looked at: what is shorter belongs to the notation of a program.
const MIN_WORD: usize = 3;
/// Shortest part between two slashes that one part of a key reaches; the names in a path are shorter.
const MIN_PART: usize = 16;
/// What the headers of old formats begin with.
const HEADERS: [&[u8]; 6] = [b"Proc", b"DEK", b"Version", b"Comment", b"Hash", b"Charset"];
/// Shortest text behind the mark of age; a true one has 58 characters.
const MIN_AGE: usize = 30;
/// Shortest secret part of a token.
const MIN_TOKEN: usize = 20;
/// Fewest changes between digits and letters in the secret part of a token that has not capitals all over; names that people make have fewer.
const MIN_CHANGES: usize = 4;
/// Words that say a credential was taken out or is still to be put in.
const PLACEHOLDERS: [&str; 11] = [
    "your",
    "here",
    "redacted",
    "omitted",
    "masked",
    "removed",
    "hidden",
    "replace",
    "change",
    "insert",
    "placeholder",
];
/// Words that stand beside those.
const BESIDE_PLACEHOLDERS: [&str; 14] =
    ["a", "an", "the", "my", "me", "this", "with", "token", "bearer", "password", "secret", "data", "api", "key"];
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
        let behind = text.get(at + "client-key-data".len()..).unwrap_or_default();
        let blank = behind.iter().take_while(|byte| b"\"': \t\r\n|>-".contains(byte)).count();
        [behind.get(blank..), scalar_behind(behind)]
            .into_iter()
            .flatten()
            .any(|value| value.iter().take_while(|byte| is_base64(byte)).count() >= MIN_KEY_DATA)
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
    begins && behind.starts_with(b"----") && holds_body(behind)
}

/// Returns whether the body of a key stands behind a mark: at once or behind the headers of old formats, or, where words stand between as in a
/// program that writes it, at least a whole line of one.
fn holds_body(behind: &[u8]) -> bool {
    let dashes = behind.iter().take_while(|byte| **byte == b'-').count();
    let near = behind.get(dashes..behind.len().min(HEADER_BYTES)).unwrap_or_default();
    let end =
        ["-----BEGIN", "-----END", "---- END"].iter().filter_map(|mark| memmem::find(near, mark.as_bytes())).min();
    let near = near.get(..end.unwrap_or(near.len())).unwrap_or_default();
    let mut runs = near.split(|byte| !is_base64(byte)).filter(|run| run.len() >= MIN_WORD);
    let has_headers = runs.clone().next().is_some_and(|first| HEADERS.iter().any(|name| first.starts_with(name)));
    let is_body = |run: &[u8]| is_drawn(run, MIN_BODY) || (run.len() >= MIN_KEY_DATA && is_no_path(run));
    match has_headers {
        true => runs.any(is_body),
        false => runs.clone().next().is_some_and(is_body) || runs.any(|run| is_drawn(run, MIN_LINE)),
    }
}

/// Returns whether a run of base64 looks drawn by lot: letters of both sizes and digits.
fn is_drawn(run: &[u8], length: usize) -> bool {
    let has = |of: fn(&u8) -> bool| run.iter().any(of);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    run.len() >= length && is_mixed && is_no_path(run)
}

/// Returns whether a run of base64 is no path of short names.
fn is_no_path(run: &[u8]) -> bool {
    run.split(|byte| *byte == b'/').any(|part| part.len() >= MIN_PART)
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
    let changes = |sort: fn(&u8) -> (bool, bool)| {
        secret.iter().zip(secret.iter().skip(1)).filter(|(one, next)| sort(one) != sort(next)).count()
    };
    let of_digits = changes(|byte| (byte.is_ascii_digit(), false));
    let of_all = changes(|byte| (byte.is_ascii_digit(), byte.is_ascii_uppercase()));
    let is_random = of_digits >= MIN_CHANGES || of_digits > 0 && of_all * 2 >= secret.len();
    !is_inside && !id.is_empty() && id.iter().all(u8::is_ascii_alphanumeric) && secret.len() >= MIN_TOKEN && is_random
}

/// Returns where a kubeconfig holds a token or a password.
fn kubeconfig_credential(text: &[u8]) -> Option<usize> {
    let has = |words: &[u8]| memmem::find(text, words).is_some();
    if !has(b"Config") || !has(b"clusters") || !has(b"contexts") || !has(b"users") {
        return None;
    }
    let of_key = |key: &'static [u8]| {
        memmem::find_iter(text, key)
            .find(|at| scalar_behind(text.get(at + key.len()..).unwrap_or_default()).is_some_and(is_credential))
    };
    of_key(b"token").or_else(|| of_key(b"password"))
}

fn is_credential(scalar: &[u8]) -> bool {
    // Another place of the file holds what an alias stands for.
    let is_alias = scalar.strip_prefix(b"*").is_some_and(|name| name.first().is_some_and(u8::is_ascii_alphanumeric));
    is_alias || scalar.len() >= MIN_CREDENTIAL && !is_placeholder(scalar)
}

/// Returns whether a credential is none but says so: `REDACTED`, `DATA+OMITTED`, `YOUR-TOKEN-HERE`, or one character over and over.
fn is_placeholder(scalar: &[u8]) -> bool {
    let words = || scalar.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_of = |list: &[&str], word: &[u8]| list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let is_known = |word: &[u8]| is_of(&PLACEHOLDERS, word) || is_of(&BESIDE_PLACEHOLDERS, word);
    let says_so = words().any(|word| is_of(&PLACEHOLDERS, word)) && words().all(is_known);
    says_so || scalar.iter().zip(scalar.iter().skip(1)).all(|(one, next)| one == next)
}

/// Returns the first word of the scalar that stands behind a key, however YAML or JSON write it: with an anchor or a tag before it, in quotes, as a
/// block, on the next line. Nothing if none stands there.
fn scalar_behind(text: &[u8]) -> Option<&[u8]> {
    let unquoted = text.strip_prefix(b"\"").or(text.strip_prefix(b"'")).unwrap_or(text);
    let mut rest = unquoted.trim_ascii_start().strip_prefix(b":")?;
    loop {
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        rest = rest.get(blank..)?;
        rest = match rest.first()? {
            b'&' | b'!' => rest.get(rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count()..)?,
            b'#' | b'|' | b'>' => rest.get(memchr::memchr2(b'\n', b'\r', rest)?..)?,
            _ => break,
        };
    }
    let quotes = rest.iter().take_while(|byte| b"\"'".contains(byte)).count();
    let word = rest.get(quotes..)?;
    let is_of_scalar = |byte: &&u8| byte.is_ascii_graphic() && !b"\"',{}<>$".contains(*byte);
    let (scalar, behind) = word.split_at(word.iter().take_while(is_of_scalar).count());
    // Where none stands, the next key comes.
    let is_key = quotes == 0 && scalar.ends_with(b":") && behind.first().is_none_or(u8::is_ascii_whitespace);
    (!is_key).then_some(scalar)
}
