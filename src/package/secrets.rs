//! Pure. Which secrets an app wants, and the values of those that are missing.
//!
//! A value that is there is never made again, also not an empty one. Entropy is an argument, so two runs over the same bytes
//! give the same values. No finding ever holds a value. Not here: the keys of its Secret in the cluster (`secret_keys.rs`), secrets.yaml
//! (`settings`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::load::MANIFEST;
use super::manifest::{Charset, PackageManifest, SecretSpec, Supply, copy_key};
use crate::model::{AppName, Diagnostic, NewSecret, Purpose, SecretValue, Secrets};
use crate::template::{self, Context};

/// Reads of entropy for one secret. A read gives 64 bytes and at least half of them count, so a second one is rare and a
/// source that never gives a usable byte ends here.
const MAX_READS: usize = 1_000;
/// Bytes of one read of entropy.
const READ_BYTES: usize = 64;

/// A source of random bytes.
pub trait Entropy {
    /// Fills the buffer.
    fn bytes(&mut self, buffer: &mut [u8]);
}

/// The secrets that an app wants.
#[derive(Clone, PartialEq, Debug)]
pub struct SecretNeeds {
    /// The app.
    pub app: AppName,
    /// Secrets of its own, in the manifest's order.
    pub own: Vec<SecretSpec>,
    /// Copies of other apps' secrets.
    pub copies: Vec<SecretCopy>,
    /// How files name the app and its keys.
    pub naming: Naming,
    /// What templates of defaults see beside `.secrets`; null where only keys are asked for.
    pub context: Value,
}

/// How the files of a package name its secrets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Naming {
    /// Whether a key stands behind `apps.<app>.` in the Secret.
    pub whole_paths: bool,
    /// Further names of the app: its type, and the name in its manifest.
    pub own: Vec<String>,
    /// Names of every bound requirement: reference, type and app, by reference.
    pub bound: BTreeMap<String, Vec<String>>,
}

/// A secret of another app that this one reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretCopy {
    /// Reference of the requirement.
    pub reference: String,
    /// Key in the other app.
    pub key: String,
    /// The app that owns it.
    pub from_app: AppName,
}

impl SecretCopy {
    /// Returns the key of the copy: `db` and `password` give `dbPassword`.
    pub fn copy_key(&self) -> String {
        copy_key(&self.reference, &self.key)
    }

    /// Returns the grant that it needs.
    pub fn grant(&self) -> String {
        format!("{}.{}", self.reference, self.key)
    }

    /// Returns the path of the owner's value in secrets.yaml.
    pub fn source(&self) -> String {
        format!("apps.{}.{}", self.from_app, self.key)
    }
}

impl SecretNeeds {
    /// Returns the needs of an app by its manifest and bindings. A secret of an optional requirement that is not bound is
    /// not needed.
    pub fn of(app: &AppName, manifest: &PackageManifest, bindings: &BTreeMap<String, AppName>) -> Self {
        let copies = manifest.required_secrets.iter().filter_map(|secret| {
            let from_app = bindings.get(&secret.reference)?.clone();
            Some(SecretCopy { reference: secret.reference.clone(), key: secret.key.clone(), from_app })
        });
        let (app, own) = (app.clone(), manifest.default_secrets.clone());
        Self { own, copies: copies.collect(), naming: Naming::of(&app, manifest, bindings), ..Self::none(app) }
    }

    /// Returns the needs of an app that has none.
    pub fn none(app: AppName) -> Self {
        Self { app, own: Vec::new(), copies: Vec::new(), naming: Naming::default(), context: Value::Null }
    }

    /// Returns the keys of other apps' secrets that a person must have granted, as `<reference>.<key>`.
    pub fn grants(&self) -> Vec<String> {
        self.copies.iter().map(SecretCopy::grant).collect()
    }

    /// Returns the needs with what templates of defaults see.
    #[must_use]
    pub fn with_context(mut self, context: Value) -> Self {
        self.context = context;
        self
    }

    /// Returns the path of one of the app's keys in secrets.yaml.
    pub(super) fn path(&self, key: &str) -> String {
        format!("apps.{}.{key}", self.app)
    }

    /// Returns the paths in secrets.yaml that have no value yet, in the manifest's order.
    pub fn missing(&self, secrets: &Secrets) -> Vec<String> {
        let copies = self.copies.iter().map(SecretCopy::copy_key).map(|key| self.path(&key));
        let own = self.own.iter().map(|spec| self.path(&spec.key));
        own.chain(copies).filter(|path| !secrets.contains(path)).collect()
    }
}

impl Naming {
    fn of(app: &AppName, manifest: &PackageManifest, bindings: &BTreeMap<String, AppName>) -> Self {
        let others = |names: Vec<String>| {
            let mut names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
            names.dedup();
            names
        };
        let bound = manifest.requires.iter().filter_map(|requirement| {
            let (reference, to) = (requirement.reference().to_owned(), bindings.get(requirement.reference())?);
            Some((reference.clone(), others(vec![reference, requirement.name.clone(), to.to_string()])))
        });
        let mut own = others(vec![manifest.is.clone(), manifest.name.clone()]);
        own.retain(|name| *name != app.as_str());
        Self { whole_paths: manifest.dialect.names_whole_paths(), own, bound: bound.collect() }
    }
}

/// Returns the values that are missing, in the order in which they were made.
pub fn generate(
    needs: &SecretNeeds,
    secrets: &Secrets,
    entropy: &mut dyn Entropy,
) -> Result<Vec<NewSecret>, Vec<Diagnostic>> {
    let mut making = Making { needs, secrets, seen: Map::new(), made: Vec::new(), findings: Vec::new() };
    making.copies();
    for spec in &needs.own {
        making.own(spec, entropy);
    }
    if making.findings.is_empty() { Ok(making.made) } else { Err(making.findings) }
}

struct Making<'a> {
    needs: &'a SecretNeeds,
    secrets: &'a Secrets,
    /// What `.secrets` shows to the templates of later defaults. It never leaves this value.
    seen: Map<String, Value>,
    made: Vec<NewSecret>,
    findings: Vec<Diagnostic>,
}

impl Making<'_> {
    fn copies(&mut self) {
        for copy in &self.needs.copies {
            let path = self.needs.path(&copy.copy_key());
            let value = match (self.secrets.get(&path), self.secrets.get(&copy.source())) {
                (Some(present), _) => present.clone(),
                (None, Some(source)) => {
                    // An own key of that name wins, so its value is not written over.
                    if !self.needs.own.iter().any(|spec| spec.key == copy.copy_key()) {
                        let copied_from = Some(copy.source());
                        self.made.push(NewSecret { path, value: source.clone(), copied_from });
                    }
                    source.clone()
                }
                (None, None) => {
                    let message = format!("the secret {} that {} reads has no value", copy.source(), self.needs.app);
                    let hint = format!("wild app deploy {}", copy.from_app);
                    self.findings.push(Diagnostic::error("P064", MANIFEST, 0, message).with_hint(hint));
                    continue;
                }
            };
            show(&mut self.seen, &[&copy.copy_key()], &value);
            let dotted: Vec<&str> = std::iter::once(copy.reference.as_str()).chain(copy.key.split('.')).collect();
            show(&mut self.seen, &dotted, &value);
        }
    }

    fn own(&mut self, spec: &SecretSpec, entropy: &mut dyn Entropy) {
        let path = self.needs.path(&spec.key);
        let value = match (self.secrets.get(&path), &spec.default) {
            (Some(present), _) => present.clone(),
            // The plan says that it is missing; nobody can make it up.
            (None, None) if spec.supply == Supply::Person => return,
            (None, None) => match random(spec.charset, spec.length, entropy) {
                Some(text) => SecretValue::new(text),
                None => {
                    let message = format!("the source of entropy gave nothing usable for the secret {}", spec.key);
                    return self.findings.push(Diagnostic::error("P065", MANIFEST, spec.line, message));
                }
            },
            (None, Some(default)) => match self.render(spec, default) {
                Some(value) => value,
                None => return,
            },
        };
        let dotted: Vec<&str> = spec.key.split('.').collect();
        show(&mut self.seen, &dotted, &value);
        if !self.secrets.contains(&path) {
            self.made.push(NewSecret { path, value, copied_from: None });
        }
    }

    /// Renders a default. White space at its end is dropped, as the predecessor does.
    fn render(&mut self, spec: &SecretSpec, default: &str) -> Option<SecretValue> {
        if !template::has_action(default) {
            return Some(SecretValue::new(default.to_owned()));
        }
        let mut root = self.needs.context.as_object().cloned().unwrap_or_default();
        root.insert("secrets".to_owned(), Value::Object(self.seen.clone()));
        match template::render(MANIFEST, default, &Context::new(Value::Object(root))) {
            Ok(rendered) => Some(SecretValue::new(rendered.text.trim_end().to_owned())),
            Err(errors) => {
                // Only the rule is told: the text of an error may quote the value it stumbled over.
                let id = errors.first().map_or("T201", |error| error.id.as_str());
                let message = format!("the default of the secret {} cannot be rendered", spec.key);
                let hint = "it may read .app, .apps, .cloud, .cluster, .operator, and .secrets of the lines above it";
                self.findings.push(Diagnostic::error(id, MANIFEST, spec.line, message).with_hint(hint));
                None
            }
        }
    }
}

/// Puts a value where templates find it; a key that is a text already is not turned into a map.
fn show(seen: &mut Map<String, Value>, path: &[&str], value: &SecretValue) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        seen.insert((*first).to_owned(), Value::from(value.expose(Purpose::DefaultSecret)));
    } else if let Value::Object(inner) = seen.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new())) {
        show(inner, rest, value);
    }
}

/// Returns random characters, all equally likely: a byte that would favour the first ones is thrown away.
fn random(charset: Charset, length: usize, entropy: &mut dyn Entropy) -> Option<String> {
    let characters = charset.characters();
    let fair = 256 - 256 % characters.len();
    let mut text = String::with_capacity(length);
    for _ in 0..MAX_READS {
        let mut buffer = [0_u8; READ_BYTES];
        entropy.bytes(&mut buffer);
        for byte in buffer.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair) {
            if let Some(character) = characters.get(byte % characters.len()) {
                text.push(char::from(*character));
            }
            if text.len() == length {
                return Some(text);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
