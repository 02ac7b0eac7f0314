//! Signatures by SSH keys, and the file that says whose keys count: `allowed_signers` of OpenSSH, as git reads it.
//!
//! Pure. Not here: reading the file, what carries a signature.

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents};
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, HashAlg, PublicKey, SshSig};

use super::Unsigned;
use crate::base::Timestamp;

/// What git signs commits for.
const NAMESPACE: &str = "git";

/// Whose keys count.
#[derive(Default)]
pub(super) struct AllowedSigners {
    signers: Vec<Signer>,
    /// Lines that are not read, each with why.
    skipped: Vec<(usize, &'static str)>,
}

/// One line of the file.
struct Signer {
    name: String,
    key: KeyData,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

/// Times at which a key must count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When the commit says that it was made.
    pub(super) made: Timestamp,
    /// When it is taken for the first time; nothing if it was taken before.
    pub(super) taken: Option<Timestamp>,
}

impl AllowedSigners {
    /// Reads the text of the file. A line that is not understood names nobody.
    pub(super) fn parse(text: &str) -> Self {
        let mut read = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            match signer(line) {
                Ok(signer) => read.signers.extend(signer),
                Err(why) => read.skipped.push((number, why)),
            }
        }
        read
    }

    /// Returns who signed.
    pub(super) fn signer(&self, signature: &[u8], payload: &[u8], times: Times) -> Result<String, Unsigned> {
        let signature = SshSig::from_pem(signature).map_err(|_| Unsigned::Bad)?;
        let key = signature.public_key();
        let known: Vec<&Signer> = self.signers.iter().filter(|signer| signer.key == *key).collect();
        if known.is_empty() {
            return Err(self.unknown(key));
        }
        if !fits(&signature, payload) {
            return Err(Unsigned::Bad);
        }
        match known.iter().find(|signer| signer.counts_at(times)) {
            Some(signer) => Ok(signer.name.clone()),
            None => Err(Unsigned::Outdated(known.first().map(|signer| signer.name.clone()).unwrap_or_default())),
        }
    }

    fn unknown(&self, key: &KeyData) -> Unsigned {
        let print = key.fingerprint(HashAlg::Sha256).to_string();
        match self.skipped.first() {
            Some((line, why)) => Unsigned::Unknown(format!("{print}; its line {line} is not read: {why}")),
            None => Unsigned::Unknown(print),
        }
    }
}

impl Signer {
    fn counts_at(&self, Times { made, taken }: Times) -> bool {
        let is_within = |time: Timestamp| {
            self.after.is_none_or(|after| after <= time) && self.before.is_none_or(|before| time < before)
        };
        is_within(made) && taken.is_none_or(is_within)
    }
}

/// Returns whether a signature is one of git over a text by the key that it names.
fn fits(signature: &SshSig, payload: &[u8]) -> bool {
    match signature.public_key() {
        KeyData::Rsa(key) => {
            // SHA-1, with which keys of this kind signed once, is none of these.
            let method = match signature.signature().algorithm() {
                Algorithm::Rsa { hash: Some(HashAlg::Sha256) } => &RSA_PKCS1_2048_8192_SHA256,
                Algorithm::Rsa { hash: Some(HashAlg::Sha512) } => &RSA_PKCS1_2048_8192_SHA512,
                _ => return false,
            };
            let (Some(n), Some(e)) = (key.n.as_positive_bytes(), key.e.as_positive_bytes()) else { return false };
            let signed = SshSig::signed_data(NAMESPACE, signature.hash_alg(), payload);
            let is_plain = signature.namespace() == NAMESPACE && signature.reserved().is_empty();
            let verify = |signed: Vec<u8>| {
                RsaPublicKeyComponents { n, e }.verify(method, &signed, signature.signature_bytes()).is_ok()
            };
            is_plain && signed.is_ok_and(verify)
        }
        key => PublicKey::from(key.clone()).verify(NAMESPACE, payload, signature).is_ok(),
    }
}

/// Reads a line; nothing where it says nothing.
fn signer(line: &str) -> Result<Option<Signer>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (name, rest) = word(line);
    let (second, after_second) = word(rest);
    let (options, key) = if is_key_type(second) { ("", rest) } else { (second, after_second) };
    let mut words = key.split_ascii_whitespace();
    let (Some(kind), Some(data)) = (words.next(), words.next()) else { return Err("it holds no key") };
    let key: PublicKey = format!("{kind} {data}").parse().map_err(|_| "its key is not read here")?;
    let mut signer =
        Signer { name: name.trim_matches('"').to_owned(), key: KeyData::from(key), after: None, before: None };
    let mut is_for_git = true;
    for option in split_options(options) {
        let (key, value) = option.split_once('=').map_or((option, ""), |(key, value)| (key, value.trim_matches('"')));
        match key.to_ascii_lowercase().as_str() {
            "" => {}
            "namespaces" => is_for_git = value.split(',').any(|namespace| matches!(namespace.trim(), NAMESPACE | "*")),
            "valid-after" => signer.after = Some(Timestamp::parse_compact(value).ok_or("its valid-after is no time")?),
            "valid-before" => {
                signer.before = Some(Timestamp::parse_compact(value).ok_or("its valid-before is no time")?);
            }
            "cert-authority" => return Err("certificates are not read here"),
            _ => return Err("it has an option that is not known here"),
        }
    }
    Ok(Some(signer).filter(|_| is_for_git))
}

fn is_key_type(word: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-"].iter().any(|start| word.starts_with(start))
}

/// Returns the first word of a text, in which white space between quotes does not end it, and what follows.
fn word(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let end = text.find(|letter: char| {
        is_quoted ^= letter == '"';
        letter.is_ascii_whitespace() && !is_quoted
    });
    let (word, rest) = text.split_at_checked(end.unwrap_or(text.len())).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Splits options at the commas between them.
fn split_options(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |letter: char| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    })
}
