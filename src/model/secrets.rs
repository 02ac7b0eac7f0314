//! Pure. Secret values that cannot be printed, compared or stored by accident.
//!
//! Not here: the file they come from and its lock (`settings`).

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::ObjectId;

/// Shortest value that is masked in a text; a shorter one could be any word.
const MIN_MASKED_BYTES: usize = 6;
/// What stands for a value.
pub const MASK: &str = "(hidden)";

/// Why a secret value is read. Each purpose has one caller, listed in the tidy test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The request body sent to the API server.
    RequestBody,
    /// The file that keeps the values.
    SecretsFile,
    /// A default of another secret that is made from this one.
    DefaultSecret,
    /// The keyed hash that tells whether a live Secret is as wanted.
    KeyedHash,
    /// The credential of an outgoing call.
    Credential,
    /// The search for values in files that are about to be committed.
    LeakSearch,
    /// The search for values in a text that is about to be shown.
    Masking,
    /// The values of a file that SOPS encrypted: their MAC, their comparison, and their encryption.
    SopsFile,
}

/// A secret value. It has no `Debug` that shows it, no `Display`, no `Serialize`, no `PartialEq`.
#[derive(Clone)]
pub struct SecretValue(SecretString);

impl SecretValue {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Self(SecretString::from(text))
    }

    /// Returns the text. The only way to read it.
    pub fn expose(&self, _purpose: Purpose) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(hidden)")
    }
}

/// Secret bytes, such as a key or a value that need not be a text. It shows as little as a [`SecretValue`].
#[derive(Clone)]
pub struct SecretBytes(SecretSlice<u8>);

impl SecretBytes {
    /// Wraps bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(SecretSlice::from(bytes))
    }

    /// Returns the bytes. The only way to read them.
    pub fn expose(&self, _purpose: Purpose) -> &[u8] {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes(hidden)")
    }
}

/// A value to be kept that was absent.
#[derive(Clone, Debug)]
pub struct NewSecret {
    /// Its dotted path.
    pub path: String,
    /// The value.
    pub value: SecretValue,
    /// The path that it is a copy of, if it is one.
    pub copied_from: Option<String>,
}

/// All secret values of an instance by dotted path, such as `apps.ghost.password`.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    values: BTreeMap<String, SecretValue>,
}

impl Secrets {
    /// Returns a set without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a value.
    pub fn insert(&mut self, path: &str, value: SecretValue) {
        self.values.insert(path.to_owned(), value);
    }

    /// Returns the value at a path.
    pub fn get(&self, path: &str) -> Option<&SecretValue> {
        self.values.get(path)
    }

    /// Returns whether a path has a value.
    pub fn contains(&self, path: &str) -> bool {
        self.values.contains_key(path)
    }

    /// Returns the paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns a text in which marks stand for all of the values that are long enough to be told from words.
    pub fn mask(&self, text: &str) -> String {
        let values = self.values.values().map(|value| value.expose(Purpose::Masking));
        let mut found: Vec<&str> =
            values.filter(|value| value.len() >= MIN_MASKED_BYTES && text.contains(value)).collect();
        // The longest first: of a value that holds another one nothing may be left.
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found.into_iter().fold(text.to_owned(), |masked, value| masked.replace(value, MASK))
    }

    /// Returns the values of one app by key, without the `apps.<app>.` prefix.
    pub fn of_app(&self, app: &str) -> impl Iterator<Item = (&str, &SecretValue)> {
        let prefix = format!("apps.{app}.");
        self.values.iter().filter_map(move |(path, value)| Some((path.strip_prefix(&prefix)?, value)))
    }
}

/// The true values of the Secret objects of one app, by object and key, in base64 as the API wants them. They travel beside the plan, which holds digests only.
#[derive(Clone, Debug, Default)]
pub struct SecretPayloads {
    values: BTreeMap<ObjectId, BTreeMap<String, SecretValue>>,
}

impl SecretPayloads {
    /// Adds the values of one Secret.
    pub fn insert(&mut self, object: ObjectId, values: BTreeMap<String, SecretValue>) {
        self.values.insert(object, values);
    }

    /// Returns the values of one Secret.
    pub fn get(&self, object: &ObjectId) -> Option<&BTreeMap<String, SecretValue>> {
        self.values.get(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_value_that_holds_another_nothing_is_left() {
        let mut secrets = Secrets::new();
        secrets.insert("apps.a.short", SecretValue::new("hunter2".to_owned()));
        secrets.insert("apps.b.long", SecretValue::new("hunter2-and-more".to_owned()));
        assert_eq!(secrets.mask("it is hunter2-and-more, not hunter2"), "it is (hidden), not (hidden)");
    }
}
