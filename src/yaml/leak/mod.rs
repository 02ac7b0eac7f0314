//! Pure. Finds secrets that stand in clear in the bytes of a file, of a message or of a name: values of today in every usual spelling, key
//! material by its form, and files that claim to be encrypted and are not.
//!
//! A finding says line and sort, never the value. What a search costs does not depend on how many values are sought. Not here: which files
//! are judged (`git`), which values are secrets (`observe`).

mod forms;
mod keys;
mod search;
#[cfg(test)]
mod spellings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use super::sops::{self, Demand, Fault};
use crate::model::NoSecrets;
use forms::VIEWS;

pub use search::Search;

/// The rule that a secret in clear breaks.
pub const RULE: &str = "secret/plaintext";
/// Findings in one file that are told; more say nothing new.
const MAX_FINDINGS: usize = 20;
/// The names of files that hold the secret values of an instance.
const SECRETS_FILES: [&str; 4] = ["secrets.yaml", "secrets.yml", "secrets.sops.yaml", "secrets.sops.yml"];
/// What editors and people put behind a name when they keep a copy.
const COPY_ENDS: [&str; 11] =
    ["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".tmp", ".part", ".rej", ".copy"];

/// Ends of the names of files that SOPS encrypts value by value.
const DOCUMENT_ENDS: [&str; 3] = [".yaml", ".yml", ".json"];

/// A secret that stands in clear.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Leak {
    /// A file that keeps secret values holds them in clear.
    SecretsFile,
    /// A file claims to be encrypted and is not, or not wholly; what it does, as the rest of a sentence.
    Unsealed(String),
    /// A private key.
    PrivateKey,
    /// The secret key of age.
    AgeKey,
    /// A token of ours.
    Token,
    /// What a kubeconfig signs in with.
    KubeCredential,
    /// The value that the secret at this path of secrets.yaml has now.
    Value(String),
    /// The file or directory is too large to be searched, or cannot be read.
    Unsearched,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SecretsFile => f.write_str("it holds secret values in clear"),
            Self::Unsealed(fault) => write!(f, "it claims to be encrypted by SOPS and {fault}"),
            Self::PrivateKey => f.write_str("it holds a private key"),
            Self::AgeKey => f.write_str("it holds a secret key of age"),
            Self::Token => f.write_str("it holds a token of wild"),
            Self::KubeCredential => f.write_str("it holds the credential of a kubeconfig"),
            Self::Value(path) => write!(f, "it holds the value of the secret {path}"),
            Self::Unsearched => f.write_str("it is too large, or too damaged, to be searched for secrets"),
        }
    }
}

impl Leak {
    /// Returns how a person says that it is no secret, where that can be: an entry of `.wild/config.yaml`.
    pub fn exception(&self, place: &str) -> Option<String> {
        let entry = match self {
            Self::SecretsFile => return None,
            Self::Value(path) => format!("value: {path}"),
            Self::Unsealed(_)
            | Self::PrivateKey
            | Self::AgeKey
            | Self::Token
            | Self::KubeCredential
            | Self::Unsearched => {
                format!("file: $(git hash-object {place})")
            }
        };
        Some(format!("noSecrets: [{{{entry}, why: …}}] in .wild/config.yaml"))
    }

    /// Returns whether it is excused where a person says so of the whole file.
    pub fn is_of_file(&self) -> bool {
        !matches!(self, Self::SecretsFile | Self::Value(_))
    }

    /// Returns the command or the act that makes what leaked worthless.
    pub fn remedy(&self) -> String {
        match self {
            Self::Value(path) => format!("wild secret rotate {path}"),
            Self::SecretsFile => "change every value that it holds".to_owned(),
            Self::Unsealed(_) => "sops --encrypt --in-place FILE, and change every value that it held".to_owned(),
            Self::PrivateKey | Self::AgeKey => "replace the key by a new one".to_owned(),
            Self::Unsearched => "keep large files elsewhere".to_owned(),
            Self::Token | Self::KubeCredential => "revoke it and make a new one".to_owned(),
        }
    }
}

/// A secret in clear and where it stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// Line from 1, or 0 if the whole file is meant.
    pub line: usize,
    /// What it is.
    pub leak: Leak,
}

/// What a file is by its name, which decides what it may hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// It keeps the secret values of an instance: only encrypted ones may be in git.
    Secrets,
    /// Its name says that SOPS encrypts it.
    Sops,
    /// Any other file of YAML or JSON.
    Other,
    /// Any other file, a message or a name: what it tells of files that SOPS encrypts may be words about them.
    Page,
}

/// Whether a directory may hold the secrets file of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// An instance lives there, or it is the top of a repository.
    Instance,
    /// Any other.
    Other,
}

impl Role {
    /// Returns what a file is by its name and directory. Copies that editors leave are as secret as the file itself.
    pub fn of(name: &str, directory: Location) -> Self {
        let plain = name.to_ascii_lowercase();
        let mut stem = plain.trim_matches('#').trim_start_matches('.');
        // A copy of a copy has two ends.
        while let Some(shorter) = COPY_ENDS.iter().find_map(|end| stem.strip_suffix(end)) {
            stem = shorter;
        }
        if directory == Location::Instance && SECRETS_FILES.contains(&stem) {
            return Self::Secrets;
        }
        let is_sops = [".sops.yaml", ".sops.yml", ".sops.json"]
            .iter()
            .any(|end| stem.strip_suffix(end).is_some_and(|stem| !stem.is_empty()));
        let is_document = DOCUMENT_ENDS.iter().any(|end| stem.ends_with(end));
        match (is_sops, is_document) {
            (true, _) => Self::Sops,
            (false, true) => Self::Other,
            (false, false) => Self::Page,
        }
    }
}

/// Returns every secret that the bytes of a file hold in clear, each sort of it once, at its first line. Values that everybody may know are none.
pub fn judge(bytes: &[u8], role: Role, search: &Search, known: &NoSecrets) -> Vec<Finding> {
    let mut found = BTreeMap::new();
    if let Some(finding) = claim(bytes, role) {
        found.insert(finding.leak, finding.line);
    }
    for view in VIEWS.into_iter().filter(|view| search.has_blanks() || !view.is_folded()) {
        let Some(text) = view.text(bytes) else { continue };
        let mut note = |at: usize, leak: Leak| {
            if matches!(&leak, Leak::Value(path) if known.values.contains(path)) {
                return;
            }
            found.entry(leak).or_insert_with(|| line_of(bytes, view.origin(bytes, at)));
        };
        if !view.is_folded() {
            keys::find(&text, &mut note);
        }
        search.find(&text, &mut note);
    }
    let findings = found.into_iter().map(|(leak, line)| Finding { line, leak });
    findings.take(MAX_FINDINGS).collect()
}

/// Returns what is wrong with a file that must be encrypted or says that it is.
fn claim(bytes: &[u8], role: Role) -> Option<Finding> {
    let text = std::str::from_utf8(bytes).ok();
    let is_sealed = |demand| text.is_some_and(|text| sops::check_claim(text, demand).is_ok());
    match role {
        Role::Secrets if is_sealed(Demand::Everything) => None,
        Role::Secrets => Some(Finding { line: 0, leak: Leak::SecretsFile }),
        Role::Sops | Role::Other | Role::Page => {
            let text = text.filter(|text| role == Role::Sops || sops::claims(text))?;
            let fault = sops::check_claim(text, Demand::ByItsRule).err()?;
            // What only shows what an encrypted file looks like has no such section.
            match (role, &fault) {
                (Role::Other | Role::Page, Fault::NotSops) | (Role::Page, Fault::Broken(_)) => return None,
                _ => {}
            }
            Some(Finding { line: 0, leak: Leak::Unsealed(fault.to_string()) })
        }
    }
}

/// Returns the line, from 1, that a byte stands on.
fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', bytes.get(..at).unwrap_or(bytes)).count() + 1
}
