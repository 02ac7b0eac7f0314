//! Pure. Which secrets an app wants, and the values of those that are missing.
//!
//! A value that is there is never made again, also not an empty one. Entropy is an argument, so two runs over the same bytes
//! give the same values. No finding ever holds a value. A value that holds values of other apps is made only where a person granted them, says
//! which they are, and goes again with the word. Not here: who may have what (`consent.rs`), the keys of its Secret in the cluster
//! (`secret_keys.rs`), secrets.yaml (`settings`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::consent::{Consent, Consents, SecretGrant};
use super::load::MANIFEST;
use super::manifest::{Charset, PackageManifest, SecretSpec, Supply, copy_key};
use super::secret_order::in_order;
use crate::model::{AppName, Diagnostic, NewSecret, Purpose, SecretOrigin, SecretValue, Secrets};
use crate::template::{self, Context, Rendered};

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
    /// Whether it may be made.
    pub consent: Consent,
}

impl SecretCopy {
    /// Returns a copy that nobody has agreed to yet.
    pub fn new(reference: &str, key: &str, from_app: AppName) -> Self {
        Self { reference: reference.to_owned(), key: key.to_owned(), from_app, consent: Consent::Unknown }
    }

    /// Returns the key of the copy: `db` and `password` give `dbPassword`.
    pub fn copy_key(&self) -> String {
        copy_key(&self.reference, &self.key)
    }

    /// Returns how files name it: `db.password`.
    pub fn spelling(&self) -> String {
        format!("{}.{}", self.reference, self.key)
    }

    /// Returns the grant for it.
    pub fn grant(&self) -> SecretGrant {
        SecretGrant { owner: self.from_app.clone(), key: self.key.clone() }
    }

    /// Returns the path of the owner's value in secrets.yaml.
    pub fn source(&self) -> String {
        format!("apps.{}.{}", self.from_app, self.key)
    }

    /// Returns whether it may be made.
    pub fn is_granted(&self) -> bool {
        self.consent == Consent::Given
    }
}

impl SecretNeeds {
    /// Leaves out the secrets whose paths are such.
    pub fn forget(&mut self, is_such: impl Fn(&str) -> bool) {
        let paths = |key: &str| format!("apps.{}.{key}", self.app);
        self.own.retain(|spec| !is_such(&paths(&spec.key)));
        self.copies.retain(|copy| !is_such(&copy.source()) && !is_such(&paths(&copy.copy_key())));
    }

    /// Returns the needs of an app by its manifest and bindings. A secret of an optional requirement that is not bound is
    /// not needed.
    pub fn of(app: &AppName, manifest: &PackageManifest, bindings: &BTreeMap<String, AppName>) -> Self {
        let copies = manifest.required_secrets.iter().filter_map(|secret| {
            Some(SecretCopy::new(&secret.reference, &secret.key, bindings.get(&secret.reference)?.clone()))
        });
        let (app, own) = (app.clone(), manifest.default_secrets.clone());
        Self { own, copies: copies.collect(), naming: Naming::of(&app, manifest, bindings), ..Self::none(app) }
    }

    /// Returns the needs of an app that has none.
    pub fn none(app: AppName) -> Self {
        Self { app, own: Vec::new(), copies: Vec::new(), naming: Naming::default(), context: Value::Null }
    }

    /// Returns the needs with a judgement of every copy.
    #[must_use]
    pub fn judged(mut self, consents: &Consents) -> Self {
        for copy in &mut self.copies {
            copy.consent = consents.judge(&self.app, copy);
        }
        self
    }

    /// Returns the grants that are missing, each once.
    pub fn missing_grants(&self) -> Vec<SecretGrant> {
        let mut missing: Vec<SecretGrant> = Vec::new();
        for copy in &self.copies {
            let Consent::Missing(grants) = &copy.consent else { continue };
            let new: Vec<SecretGrant> = grants.iter().filter(|grant| !missing.contains(grant)).cloned().collect();
            missing.extend(new);
        }
        missing
    }

    /// Returns the values that have to go, because they hold values of other apps that this one does not read, or not with anybody's word.
    pub fn withdrawn(&self, secrets: &Secrets) -> Vec<String> {
        let all = secrets.origins().of_app(self.app.as_str());
        all.filter(|(path, origin)| !self.may_stay(path, origin)).map(|(path, _)| path.to_owned()).collect()
    }

    fn may_stay(&self, path: &str, origin: &SecretOrigin) -> bool {
        let granted = || self.copies.iter().filter(|copy| copy.is_granted());
        match origin {
            SecretOrigin::Own => true,
            SecretOrigin::Copy(from) => {
                granted().any(|copy| copy.source() == *from && self.path(&copy.copy_key()) == path && !self.hides(copy))
            }
            SecretOrigin::Made(from) => from.iter().all(|path| granted().any(|copy| copy.source() == *path)),
        }
    }

    /// Returns whether nothing has to go and nothing could come.
    pub fn is_settled(&self, secrets: &Secrets) -> bool {
        let lacks = |key: &str| self.standing(secrets, &self.path(key)).is_none();
        let copies = self.copies.iter().filter(|copy| copy.is_granted() && !self.hides(copy));
        let mut could_come = copies.filter(|copy| secrets.contains(&copy.source()) && lacks(&copy.copy_key()));
        let made = |spec: &SecretSpec| spec.default.as_deref().is_some_and(template::has_action) && lacks(&spec.key);
        could_come.next().is_none()
            && (self.copies.is_empty() || !self.own.iter().any(made))
            && self.withdrawn(secrets).is_empty()
    }

    /// Returns the copies that the app reads and may not have, but for those in whose place a person gave a value.
    pub fn withheld(&self, secrets: &Secrets) -> Vec<SecretCopy> {
        let by_person = |copy: &SecretCopy| {
            let path = self.path(&copy.copy_key());
            secrets.contains(&path) && secrets.origins().get(&path).is_none()
        };
        self.copies.iter().filter(|copy| !copy.is_granted() && !by_person(copy)).cloned().collect()
    }

    /// Returns whether a secret of the app itself has the name of a copy, and counts.
    fn hides(&self, copy: &SecretCopy) -> bool {
        self.own.iter().any(|spec| spec.key == copy.copy_key())
    }

    /// Returns the value at a path of the app, if it is there and may stay.
    fn standing<'a>(&self, secrets: &'a Secrets, path: &str) -> Option<&'a SecretValue> {
        let may_stay = secrets.origins().get(path).is_none_or(|origin| self.may_stay(path, origin));
        secrets.get(path).filter(|_| may_stay)
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

/// Returns the values that are missing, in the order in which they were made. What nobody granted is not copied, and neither is what a
/// default would make of it.
pub fn generate(
    needs: &SecretNeeds,
    secrets: &Secrets,
    entropy: &mut dyn Entropy,
) -> Result<Vec<NewSecret>, Vec<Diagnostic>> {
    let mut making = Making::new(needs, secrets, None);
    making.all(entropy);
    if making.findings.is_empty() { Ok(making.made) } else { Err(making.findings) }
}

/// What has to change in secrets.yaml so that the values of an app that hold values of others are those that it may have.
#[derive(Debug, Default)]
pub struct Settlement {
    /// Values that go.
    pub withdraw: Vec<String>,
    /// Values that come: copies, what defaults make of them, and the app's own ones in place of those that go.
    pub add: Vec<NewSecret>,
}

/// Returns what has to go and what can be made by now. A secret of the app's own that is absent is not made up here: who lost secrets.yaml
/// would get new ones without a word. What cannot be made is missing, and whoever needs it says so.
pub fn settle(needs: &SecretNeeds, secrets: &Secrets, entropy: &mut dyn Entropy) -> Settlement {
    let withdraw = needs.withdrawn(secrets);
    let gone: BTreeSet<&str> = withdraw.iter().map(String::as_str).collect();
    let mut making = Making::new(needs, secrets, Some(&gone));
    making.all(entropy);
    let mut add = making.made;
    add.retain(|secret| secret.origin != SecretOrigin::Own || gone.contains(secret.path.as_str()));
    Settlement { withdraw, add }
}

struct Making<'a> {
    needs: &'a SecretNeeds,
    secrets: &'a Secrets,
    /// The paths at which a value may be made up; nothing if that is all of them.
    inventable: Option<&'a BTreeSet<&'a str>>,
    /// What `.secrets` shows to the templates of later defaults. It never leaves this value.
    seen: Map<String, Value>,
    /// What is shown that is not the app's own.
    foreign: Vec<Foreign>,
    made: Vec<NewSecret>,
    findings: Vec<Diagnostic>,
}

/// A value that is shown to defaults and holds values of other apps.
struct Foreign {
    /// Where templates find it.
    places: Vec<String>,
    /// The values of others that are in it; nothing if it may not be had, and then it is not shown as it is.
    from: Option<BTreeSet<String>>,
}

/// What a template reads of what is not the app's own.
enum Taint {
    /// Values that may be had; nothing of others if there are none.
    Of(BTreeSet<String>),
    /// One that may not be had.
    Withheld,
}

/// What stands in place of a value that may not be had.
const WITHHELD: &str = "withheld";
/// What stands in place of values of others where it is asked whether a text depends on them.
const ANOTHER: &str = "another";

impl<'a> Making<'a> {
    fn new(needs: &'a SecretNeeds, secrets: &'a Secrets, inventable: Option<&'a BTreeSet<&'a str>>) -> Self {
        let (seen, foreign, made, findings) = (Map::new(), Vec::new(), Vec::new(), Vec::new());
        Self { needs, secrets, inventable, seen, foreign, made, findings }
    }

    fn all(&mut self, entropy: &mut dyn Entropy) {
        for copy in &self.needs.copies {
            self.copy(copy);
        }
        for spec in in_order(&self.needs.own) {
            self.own(spec, entropy);
        }
    }

    fn copy(&mut self, copy: &SecretCopy) {
        let path = self.needs.path(&copy.copy_key());
        let is_hidden = self.needs.hides(copy);
        let is_marked = self.secrets.origins().get(&path).is_some();
        let by_person = self.secrets.get(&path).filter(|_| !is_hidden && !is_marked);
        let value = match (by_person, self.needs.standing(self.secrets, &path).filter(|_| !is_hidden)) {
            (Some(given), _) => return self.show_copy(copy, Some(given), Some(BTreeSet::new())),
            (None, Some(standing)) => Some(standing.clone()),
            (None, None) => self.secrets.get(&copy.source()).cloned(),
        };
        if !copy.is_granted() {
            return self.show_copy(copy, None, None);
        }
        let Some(value) = value else {
            let message = format!("the secret {} that {} reads has no value", copy.source(), self.needs.app);
            let hint = format!("wild app deploy {}", copy.from_app);
            return self.findings.push(Diagnostic::error("P064", MANIFEST, 0, message).with_hint(hint));
        };
        // A key of the app itself of that name wins, so its value is not written over.
        if !is_hidden && self.needs.standing(self.secrets, &path).is_none() {
            let origin = SecretOrigin::Copy(copy.source());
            self.made.push(NewSecret { path, value: value.clone(), origin });
        }
        self.show_copy(copy, Some(&value), Some([copy.source()].into()));
    }

    /// Shows a copy in both spellings.
    fn show_copy(&mut self, copy: &SecretCopy, value: Option<&SecretValue>, from: Option<BTreeSet<String>>) {
        let mut names = vec![copy.spelling()];
        if !self.needs.hides(copy) {
            names.push(copy.copy_key());
        }
        for name in &names {
            show(&mut self.seen, &name.split('.').collect::<Vec<_>>(), value.map_or(WITHHELD, exposed));
        }
        let places = names.into_iter().map(|name| format!("secrets.{name}")).collect();
        self.foreign.push(Foreign { places, from });
    }

    fn own(&mut self, spec: &SecretSpec, entropy: &mut dyn Entropy) {
        let path = self.needs.path(&spec.key);
        let (value, taint) = match (self.needs.standing(self.secrets, &path), &spec.default) {
            (Some(present), _) => {
                let origin = self.secrets.origins().get(&path);
                let from = origin.map(|origin| origin.paths().into_iter().map(str::to_owned).collect());
                (Some(present.clone()), Taint::Of(from.unwrap_or_default()))
            }
            // The plan says that it is missing; nobody can make it up.
            (None, None) if spec.supply == Supply::Person || !self.may_invent(&path) => return,
            (None, None) => match random(spec.charset, spec.length, entropy) {
                Some(text) => (Some(SecretValue::new(text)), Taint::Of(BTreeSet::new())),
                None => {
                    let message = format!("the source of entropy gave nothing usable for the secret {}", spec.key);
                    return self.findings.push(Diagnostic::error("P065", MANIFEST, spec.line, message));
                }
            },
            (None, Some(default)) => match self.render(spec, default) {
                Some((value, Taint::Of(from))) => (Some(value), Taint::Of(from)),
                Some((_, Taint::Withheld)) => (None, Taint::Withheld),
                None => return,
            },
        };
        let dotted: Vec<&str> = spec.key.split('.').collect();
        show(&mut self.seen, &dotted, value.as_ref().map_or(WITHHELD, exposed));
        let places = vec![format!("secrets.{}", spec.key)];
        match taint {
            Taint::Withheld => self.foreign.push(Foreign { places, from: None }),
            Taint::Of(from) => {
                if let Some(value) = value.filter(|_| self.needs.standing(self.secrets, &path).is_none()) {
                    let origin = if from.is_empty() { SecretOrigin::Own } else { SecretOrigin::Made(from.clone()) };
                    self.made.push(NewSecret { path, value, origin });
                }
                self.foreign.push(Foreign { places, from: Some(from) });
            }
        }
    }

    fn may_invent(&self, path: &str) -> bool {
        self.inventable.is_none_or(|paths| paths.contains(path))
    }

    /// Renders a default and tells what of others is in it. White space at its end is dropped, as the predecessor does.
    fn render(&mut self, spec: &SecretSpec, default: &str) -> Option<(SecretValue, Taint)> {
        if !template::has_action(default) {
            return Some((SecretValue::new(default.to_owned()), Taint::Of(BTreeSet::new())));
        }
        match template::render(MANIFEST, default, &self.context(self.seen.clone())) {
            Ok(rendered) => {
                let taint = self.taint(default, &rendered);
                Some((SecretValue::new(rendered.text.trim_end().to_owned()), taint))
            }
            // It may have stumbled over what stands in place of a value.
            Err(_) if self.foreign.iter().any(|foreign| foreign.from.is_none()) => {
                Some((SecretValue::new(String::new()), Taint::Withheld))
            }
            Err(errors) => {
                // Only the rule is told: the text of an error may quote the value it stumbled over.
                let id = errors.first().map_or("T201", |error| error.id.as_str());
                let message = format!("the default of the secret {} cannot be rendered", spec.key);
                let hint = "it may read .app, .apps, .cloud, .cluster, .operator, and .secrets of the app and of requiredSecrets";
                self.findings.push(Diagnostic::error(id, MANIFEST, spec.line, message).with_hint(hint));
                None
            }
        }
    }

    fn context(&self, seen: Map<String, Value>) -> Context {
        let mut root = self.needs.context.as_object().cloned().unwrap_or_default();
        root.insert("secrets".to_owned(), Value::Object(seen));
        Context::new(Value::Object(root))
    }

    /// Returns what of others a default read. What was read is known; and if the text would be another one with other values there, it holds
    /// them, however it came by them.
    fn taint(&self, default: &str, rendered: &Rendered) -> Taint {
        let foreign =
            || self.foreign.iter().filter(|foreign| foreign.from.as_ref().is_none_or(|from| !from.is_empty()));
        let is_read = |foreign: &&Foreign| {
            foreign.places.iter().any(|place| rendered.reads.iter().any(|read| meets(read, place)))
        };
        let mut read: Vec<&Foreign> = foreign().filter(is_read).collect();
        if read.is_empty() && foreign().next().is_some() && self.changes_with_others(default, &rendered.text) {
            read = foreign().collect();
        }
        let mut all = BTreeSet::new();
        for foreign in read {
            match &foreign.from {
                Some(from) => all.extend(from.iter().cloned()),
                None => return Taint::Withheld,
            }
        }
        Taint::Of(all)
    }

    fn changes_with_others(&self, default: &str, text: &str) -> bool {
        let mut seen = self.seen.clone();
        for place in self.foreign.iter().filter(|it| it.from.as_ref().is_none_or(|from| !from.is_empty())) {
            for place in &place.places {
                let keys: Vec<&str> = place.split('.').skip(1).collect();
                show(&mut seen, &keys, ANOTHER);
            }
        }
        template::render(MANIFEST, default, &self.context(seen)).map_or(true, |other| other.text != text)
    }
}

/// Returns whether a path that was read says something of the value at a place: it is that, lies in it or holds it.
fn meets(read: &str, place: &str) -> bool {
    let holds = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    read.is_empty() || holds(read, place) || holds(place, read)
}

fn exposed(value: &SecretValue) -> &str {
    value.expose(Purpose::DefaultSecret)
}

/// Puts a value where templates find it; a key that is a text already is not turned into a map.
fn show(seen: &mut Map<String, Value>, path: &[&str], value: &str) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        seen.insert((*first).to_owned(), Value::from(value));
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
