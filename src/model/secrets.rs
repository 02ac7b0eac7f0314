//! Pure. Secret values that cannot be printed, compared or stored by accident.
//!
//! Not here: the file they come from and its lock (`settings`).

use std::collections::{BTreeMap, BTreeSet};
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

impl From<SecretString> for SecretValue {
    /// Wraps what another library holds.
    fn from(text: SecretString) -> Self {
        Self(text)
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
    /// Where it comes from.
    pub origin: SecretOrigin,
}

/// Where a value that we wrote comes from. It stays with the value until somebody writes over that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecretOrigin {
    /// It holds nothing of another app: chance, a fixed text, or made of such.
    Own,
    /// It is a copy of the value at this path.
    Copy(String),
    /// A template made it, and these values of other apps are in it.
    Made(BTreeSet<String>),
}

impl SecretOrigin {
    /// Returns the paths of the values that are in it.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Own => Vec::new(),
            Self::Copy(path) => vec![path],
            Self::Made(paths) => paths.iter().map(String::as_str).collect(),
        }
    }
}

/// Where values come from that are still as we wrote them, by path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SecretOrigins(BTreeMap<String, SecretOrigin>);

impl SecretOrigins {
    /// Notes where a value comes from.
    pub fn insert(&mut self, path: &str, origin: SecretOrigin) {
        self.0.insert(path.to_owned(), origin);
    }

    /// Returns where a value comes from; nothing of one that somebody gave, or that is not there.
    pub fn get(&self, path: &str) -> Option<&SecretOrigin> {
        self.0.get(path)
    }

    /// Returns all values of an app that are not its own, by path.
    pub fn of_app(&self, app: &str) -> impl Iterator<Item = (&str, &SecretOrigin)> {
        let prefix = format!("apps.{app}.");
        let from = self.0.range(prefix.clone()..);
        from.map(|(path, origin)| (path.as_str(), origin)).take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// Returns the paths of all values that are in a value, at any number of hands, without its own.
    pub fn within(&self, path: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![path.to_owned()];
        while let Some(next) = open.pop() {
            for path in self.get(&next).map(SecretOrigin::paths).unwrap_or_default() {
                // What is known already is not walked again, so a circle ends.
                if found.insert(path.to_owned()) {
                    open.push(path.to_owned());
                }
            }
        }
        found
    }
}

/// All secret values of an instance by dotted path, such as `apps.ghost.password`.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    values: BTreeMap<String, SecretValue>,
    origins: SecretOrigins,
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

    /// Removes a value.
    pub fn remove(&mut self, path: &str) {
        self.values.remove(path);
        self.origins.0.remove(path);
    }

    /// Notes where a value comes from.
    pub fn note_origin(&mut self, path: &str, origin: SecretOrigin) {
        self.origins.insert(path, origin);
    }

    /// Returns where the values come from.
    pub fn origins(&self) -> &SecretOrigins {
        &self.origins
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
    fn what_is_in_a_value_is_known_at_any_number_of_hands() {
        let mut origins = SecretOrigins::default();
        origins.insert("apps.b.cKey", SecretOrigin::Copy("apps.c.key".to_owned()));
        origins.insert("apps.b.url", SecretOrigin::Made(["apps.b.cKey".to_owned()].into()));
        origins.insert("apps.a.bUrl", SecretOrigin::Copy("apps.b.url".to_owned()));
        origins.insert("apps.x.y", SecretOrigin::Copy("apps.y.x".to_owned()));
        origins.insert("apps.y.x", SecretOrigin::Copy("apps.x.y".to_owned()));
        let within = |path: &str| origins.within(path).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(within("apps.a.bUrl"), "apps.b.cKey apps.b.url apps.c.key");
        assert_eq!(within("apps.x.y"), "apps.x.y apps.y.x");
        assert_eq!(within("apps.c.key"), "");
    }

    #[test]
    fn of_a_value_that_holds_another_nothing_is_left() {
        let mut secrets = Secrets::new();
        secrets.insert("apps.a.short", SecretValue::new("hunter2".to_owned()));
        secrets.insert("apps.b.long", SecretValue::new("hunter2-and-more".to_owned()));
        assert_eq!(secrets.mask("it is hunter2-and-more, not hunter2"), "it is (hidden), not (hidden)");
    }
}
