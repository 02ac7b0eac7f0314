//! Format. `manifest.yaml` of a package and `wild-manifest.yaml` of a service, in all dialects of the predecessor: what a
//! package is, needs and can be told.
//!
//! Pure. The same file with `installedAs` in its requirements is kept in the instance as `apps/<app>/manifest.yaml`. Unknown
//! fields survive, because the copy is edited as text. A newer dialect is refused by name.
//! Not here: reading the text (`read.rs`), what the values become for one app (`resolve.rs`).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::AppName;
use crate::yaml::Document;

/// A parsed manifest.
#[derive(Clone, PartialEq, Debug)]
pub struct PackageManifest {
    /// Which generation of packages it belongs to.
    pub dialect: PackageDialect,
    /// Name as the manifest says it, or empty; the directory counts.
    pub name: String,
    /// The type of app that requirements name; the directory's name unless the manifest says otherwise.
    pub is: String,
    /// Version as written.
    pub version: String,
    /// One sentence for people.
    pub description: String,
    /// Address or inline picture.
    pub icon: String,
    /// Where a catalogue lists it.
    pub category: String,
    /// Address of the packaged project; shown, never fetched.
    pub source: String,
    /// Namespace that the package wants.
    pub namespace: Option<String>,
    /// Apps that must be there.
    pub requires: Vec<Requirement>,
    /// Default config in the manifest's order; texts with an action are templates.
    pub default_config: Map<String, Value>,
    /// Values that a service keeps outside of its own section of config.yaml.
    pub service_config: Vec<ServiceKey>,
    /// Paths of config.yaml that a service reads and that must be there.
    pub config_references: Vec<String>,
    /// Secrets that are made for the app.
    pub default_secrets: Vec<SecretSpec>,
    /// Secrets of other apps that are copied.
    pub required_secrets: Vec<RequiredSecret>,
    /// Keys that other apps may copy; absent means those of `default_secrets`.
    pub exports: Option<Vec<String>>,
    /// Exceptions from rendering.
    pub render: RenderRules,
    /// Versions from which this one may be reached directly; empty means from any older one.
    pub upgrade_path: Vec<UpgradeStep>,
    /// The manifest as read, for the lines of findings.
    pub(super) document: Document,
}

impl PackageManifest {
    /// Returns the line of a part of the manifest, or 1.
    pub fn line_of(&self, path: &[&str]) -> usize {
        self.document.line_of(path).unwrap_or(1)
    }

    /// Returns the requirement with this reference name.
    pub fn requirement(&self, reference: &str) -> Option<&Requirement> {
        self.requires.iter().find(|requirement| requirement.reference() == reference)
    }

    /// Returns the keys of secrets that other apps may copy.
    pub fn exported_secrets(&self) -> Vec<&str> {
        match &self.exports {
            Some(keys) => keys.iter().map(String::as_str).collect(),
            None => self.default_secrets.iter().map(|spec| spec.key.as_str()).collect(),
        }
    }
}

/// Which generation of packages a manifest belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackageDialect {
    /// The first one: files read the whole config through a data source.
    V1,
    /// The second one: files read `.apps.<app>.<key>`.
    V2,
    /// The current one: files read their own config at the root.
    V3,
    /// A service of the cluster: `wild-manifest.yaml` with templates in a directory of their own.
    Service,
}

impl PackageDialect {
    /// Returns the word for it in manifests and messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::Service => "service",
        }
    }

    /// Returns whether files name apps and secrets by their whole path, `apps.<app>.<key>`.
    pub fn names_whole_paths(self) -> bool {
        matches!(self, Self::V1 | Self::V2)
    }
}

/// A value that a service wants at a place of its own in config.yaml.
#[derive(Clone, PartialEq, Debug)]
pub struct ServiceKey {
    /// Name in the manifest and in forms.
    pub key: String,
    /// Dotted path in config.yaml.
    pub path: String,
    /// What a form asks.
    pub prompt: String,
    /// Value if config.yaml has none; a text with an action is a template.
    pub default: Option<Value>,
    /// Type as a form wants it, as written.
    pub kind: String,
}

/// An app that must be there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// Type of app, the `is` of its manifest.
    pub name: String,
    /// Name under which templates refer to it.
    pub alias: Option<String>,
    /// Whether the app works without it.
    pub need: Need,
    /// Range of versions, such as `>=15 <17`.
    pub versions: Option<String>,
    /// App that satisfies it; only in the copy of an instance.
    pub installed_as: Option<AppName>,
    /// Position in the manifest's `requires`; absent for one that comes from `dependencies`.
    pub position: Option<usize>,
    /// Line in the manifest.
    pub line: usize,
}

impl Requirement {
    /// Returns the name that templates and bindings use: the alias, else the type.
    pub fn reference(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

/// Whether an app works without something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// It does not.
    Required,
    /// It does.
    Optional,
}

/// A secret of the app itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretSpec {
    /// Key; dots nest.
    pub key: String,
    /// Fixed text or template; absent means random characters.
    pub default: Option<String>,
    /// Number of random characters.
    pub length: usize,
    /// Which characters.
    pub charset: Charset,
    /// Whether it can be made.
    pub supply: Supply,
    /// Line in the manifest.
    pub line: usize,
}

/// Where the first value of a secret comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supply {
    /// It is made from its default or from entropy.
    Made,
    /// Only a person knows it, such as the address of a mail server.
    Person,
}

impl Supply {
    /// Returns what a secret's key promises where nothing else is said: addresses and mail accounts cannot be invented.
    pub(super) fn of_key(key: &str) -> Self {
        let key = key.to_lowercase();
        let last = key.rsplit('.').next().unwrap_or(&key);
        let known = ["url", "uri", "dsn", "connectionstring"].iter().any(|ending| last.ends_with(ending));
        if known || last.starts_with("smtp") { Self::Person } else { Self::Made }
    }
}

/// Characters of a random secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Charset {
    /// Letters and digits.
    #[default]
    Alnum,
    /// Lower-case hexadecimal digits.
    Hex,
    /// Decimal digits.
    Digits,
    /// Letters, digits, `-` and `_`.
    Base64url,
}

impl Charset {
    /// Returns the characters.
    pub fn characters(self) -> &'static [u8] {
        match self {
            Self::Alnum => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            Self::Hex => b"0123456789abcdef",
            Self::Digits => b"0123456789",
            Self::Base64url => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        }
    }
}

/// A secret of another app that is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequiredSecret {
    /// Reference of the requirement.
    pub reference: String,
    /// Key in the other app.
    pub key: String,
    /// Line in the manifest.
    pub line: usize,
}

impl RequiredSecret {
    /// Returns the key of the copy: `db` and `password` give `dbPassword`.
    pub fn copy_key(&self) -> String {
        copy_key(&self.reference, &self.key)
    }
}

/// Returns the key under which a copied secret is kept: the reference, then the key, in camel case.
pub(super) fn copy_key(reference: &str, key: &str) -> String {
    let words = reference.split('-').chain(key.split(['.', '-'])).filter(|word| !word.is_empty());
    words
        .enumerate()
        .map(|(position, word)| {
            let mut letters = word.chars();
            match letters.next() {
                Some(first) if position > 0 => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
                Some(_) | None => word.to_owned(),
            }
        })
        .collect()
}

/// Exceptions from rendering, as globs over paths in the package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RenderRules {
    /// Files that are copied unchanged.
    pub raw: Vec<String>,
    /// Files that are left out.
    pub skip: Vec<String>,
    /// Config paths whose values may hold YAML structure.
    pub structural: Vec<String>,
}

/// A direct step between versions that the package allows.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct UpgradeStep {
    /// Range of versions to come from.
    pub from: String,
    /// Version to go to; absent means the manifest's own.
    #[serde(default)]
    pub to: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{Supply, copy_key};

    #[test]
    fn a_copied_secret_is_named_in_camel_case() {
        for (reference, key, expected) in [
            ("db", "password", "dbPassword"),
            ("smtp", "password", "smtpPassword"),
            ("cache", "auth", "cacheAuth"),
            ("db", "replicationPassword", "dbReplicationPassword"),
            ("object-store", "root.key", "objectStoreRootKey"),
        ] {
            assert_eq!(copy_key(reference, key), expected);
        }
    }

    #[test]
    fn addresses_and_mail_accounts_cannot_be_invented() {
        for (key, expected) in [
            ("dbPassword", Supply::Made),
            ("dbUrl", Supply::Person),
            ("DATABASE_URI", Supply::Person),
            ("connectionString", Supply::Person),
            ("smtpPassword", Supply::Person),
            ("mail.smtpUser", Supply::Person),
            ("sentryDsn", Supply::Person),
            ("urlKey", Supply::Made),
        ] {
            assert_eq!(Supply::of_key(key), expected, "{key}");
        }
    }
}
