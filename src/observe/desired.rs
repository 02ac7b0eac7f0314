//! What a committed revision wants of one app: its objects as the kustomize build gives them, its Secret from `secrets.yaml`, and copies of
//! Secrets that apps share.
//!
//! Hashes are taken over the true values; in the objects every value of a Secret is replaced by a digest before they leave this file.
//! Not here: marks and order (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::compile;
use crate::kustomize;
use crate::model::{
    AppName, Diagnostic, FileTree, Object, ObjectId, PackageName, Purpose, SecretPayloads, SecretValue, Secrets,
    SharedSecret, is_of_system,
};
use crate::package::{self, SecretNeeds};
use crate::plan::copies::{self, SecretCopy};
use crate::plan::{Desired, DesiredObject};
use crate::plan::{hash, marks, restart};
use crate::target::SourceSecret;

/// Type of the Secrets that hold a certificate.
const TLS: &str = "kubernetes.io/tls";

/// What the objects are built from.
pub(super) struct Source<'a> {
    pub(super) app: &'a AppName,
    pub(super) files: &'a FileTree,
    pub(super) secrets: &'a Secrets,
    /// What the app reads of other apps and may not have, which is not missing.
    pub(super) withheld: &'a [package::SecretCopy],
    pub(super) hash_key: &'a [u8; 32],
    pub(super) shared: &'a [SharedSecret],
    /// The namespace of our own objects, from which nothing is copied.
    pub(super) control: &'a str,
}

impl Source<'_> {
    fn directory(&self) -> String {
        format!("apps/{}", self.app)
    }
}

/// The objects of an app before what needs a look at the cluster is added.
pub(super) struct Rendered {
    objects: Vec<(Object, String, usize)>,
    /// What makes them unreadable.
    trouble: Vec<Diagnostic>,
    namespace: String,
    payloads: SecretPayloads,
    missing_secrets: Vec<String>,
    /// Copies of Secrets that they need.
    pub(super) copies: Vec<SecretCopy>,
    /// About how many bytes of memory they take.
    pub(super) bytes: usize,
}

/// What is wanted.
pub(super) struct Built {
    pub(super) desired: Desired,
    pub(super) namespace: String,
    pub(super) payloads: SecretPayloads,
    pub(super) missing_secrets: Vec<String>,
    /// Copies that cannot be made now, each with why.
    pub(super) awaited: BTreeMap<ObjectId, String>,
}

/// Renders the wanted objects and adds the Secrets that come from `secrets.yaml`.
pub(super) fn render(source: &Source<'_>) -> Rendered {
    rendered(source, kustomize::build(source.files, &source.directory()))
}

/// Renders as `render` does, or returns nothing if that takes more memory than some bytes.
pub(super) fn render_small(source: &Source<'_>, most: usize) -> Option<Rendered> {
    Some(rendered(source, kustomize::build_small(source.files, &source.directory(), most)?))
}

fn rendered(source: &Source<'_>, built: Result<kustomize::Built, Vec<Diagnostic>>) -> Rendered {
    let directory = source.directory();
    let mut rendered = Rendered {
        objects: Vec::new(),
        trouble: Vec::new(),
        namespace: source.app.as_str().to_owned(),
        payloads: SecretPayloads::default(),
        missing_secrets: Vec::new(),
        copies: Vec::new(),
        bytes: 0,
    };
    if source.files.below(&directory).is_empty() {
        return rendered;
    }
    let (built, needs) = match built.and_then(|built| Ok((built, secret_needs(source.files, source.app)?))) {
        Ok(both) => both,
        Err(trouble) => return Rendered { trouble, ..rendered },
    };
    let place = |file: &str| format!("{directory}/{}", file.trim_start_matches(&format!("{directory}/")));
    let placed = built.objects.into_iter().map(|built| (built.object, place(&built.file), built.line));
    rendered.objects = placed.collect();
    rendered.bytes = built.bytes;
    rendered.namespace = namespace(source.app, rendered.objects.iter().map(|(object, ..)| object));
    for (object, ..) in rendered.objects.iter().filter(|(object, ..)| is_secret(object)) {
        rendered.payloads.insert(object.id(), committed_values(object));
    }
    if let Some(needs) = needs {
        rendered.add_secrets(&needs, source);
    }
    let objects: Vec<&Object> = rendered.objects.iter().map(|(object, ..)| object).collect();
    rendered.copies = copies::copies(&objects, source.shared);
    rendered
}

impl Rendered {
    fn add_secrets(&mut self, needs: &SecretNeeds, source: &Source<'_>) {
        let keys = package::object_keys(needs, &self.objects.iter().map(|(object, ..)| object).collect::<Vec<_>>());
        for (name, keys) in keys.secrets {
            let (values, missing) = values(needs, &keys, source);
            let known = &self.missing_secrets;
            let new: Vec<String> = missing.into_iter().filter(|path| !known.contains(path)).collect();
            self.missing_secrets.extend(new);
            if !values.is_empty() {
                self.add(secret(&name, &self.namespace, "Opaque", &values), values);
            }
        }
    }

    fn add(&mut self, object: Object, values: BTreeMap<String, SecretValue>) {
        self.payloads.insert(object.id(), values);
        self.objects.push((object, String::new(), 0));
    }
}

/// Adds the copies of Secrets, for each what was found at its source, and seals what is wanted.
pub(super) fn build(source: &Source<'_>, mut rendered: Rendered, found: Vec<Found>) -> Built {
    let mut awaited = BTreeMap::new();
    for (SecretCopy { copy, source: copied }, found) in std::mem::take(&mut rendered.copies).into_iter().zip(found) {
        match found.of(&copied, source.control) {
            Found::There(SourceSecret { uid, sort, values }) => {
                let mut object = secret(&copy.name, &copy.namespace, &sort, &values);
                object.set_annotation(marks::COPIED_FROM, &copies::origin(&copied, &uid));
                rendered.add(object, values);
            }
            Found::Nothing(why) => _ = awaited.insert(copy.clone(), format!("{} is not copied: {why}", copy.short())),
        }
    }
    let Rendered { objects, trouble, namespace, payloads, missing_secrets, copies: _, bytes: _ } = rendered;
    let (mut objects, places): (Vec<Object>, Vec<(String, usize)>) =
        objects.into_iter().map(|(object, file, line)| (object, (file, line))).unzip();
    restart::note_config(source.hash_key, &mut objects);
    let sealed = |(object, (file, line)): (Object, (String, usize))| DesiredObject {
        hash: hash::desired_hash(source.hash_key, &object),
        object: hash::seal(source.hash_key, object),
        file,
        line,
    };
    let desired = match trouble.is_empty() {
        true => Desired::Objects(objects.into_iter().zip(places).map(sealed).collect()),
        false => Desired::Unreadable(trouble),
    };
    Built { desired, namespace, payloads, missing_secrets, awaited }
}

/// What there is to copy.
pub(super) enum Found {
    /// A Secret.
    There(SourceSecret),
    /// Nothing that could be copied now, and why.
    Nothing(String),
}

impl Found {
    /// Returns it where it may be copied: shared are certificates, and neither what else apps keep in Secrets nor anything of the system's.
    fn of(self, source: &ObjectId, control: &str) -> Self {
        match self {
            _ if is_of_system(&source.namespace, control) => Self::Nothing(format!("{source} is the system's")),
            Self::There(found) if found.sort != TLS => {
                let sort = if found.sort.is_empty() { "Opaque" } else { &found.sort };
                Self::Nothing(format!("{source} is a Secret of type {sort}, and shared are those of type {TLS}"))
            }
            found => found,
        }
    }
}

/// Returns the objects that an app wants by its files; nothing if they do not build.
pub fn wanted_ids(
    app: &AppName,
    files: &FileTree,
    secrets: &Secrets,
    hash_key: &[u8; 32],
    shared: &[SharedSecret],
) -> Option<BTreeSet<ObjectId>> {
    let rendered = render(&Source { app, files, secrets, withheld: &[], hash_key, shared, control: "" });
    let copies = rendered.copies.into_iter().map(|copy| copy.copy);
    let ids = rendered.objects.iter().map(|(object, ..)| object.id());
    rendered.trouble.is_empty().then(|| ids.chain(copies).collect())
}

/// Returns what the manifest of an app among the files says about secrets, or nothing for an app without a manifest.
pub fn secret_needs(files: &FileTree, app: &AppName) -> Result<Option<SecretNeeds>, Vec<Diagnostic>> {
    let directory = format!("apps/{app}");
    let file = format!("{directory}/manifest.yaml");
    let Some(text) = files.text(&file) else { return Ok(None) };
    // A second instance of a type has a name that its manifest does not know.
    let name = match compile::record_of(files, app) {
        Ok(Some(record)) => record.package,
        Ok(None) | Err(_) => match PackageName::parse(app.as_str()) {
            Ok(name) => name,
            Err(_) => return Ok(None),
        },
    };
    let mut manifest = package::read_manifest(&file, &name, text)?.manifest;
    let view = files.below(&format!("{directory}/.package"));
    manifest.dialect = package::detect_dialect(&manifest, &view).unwrap_or(manifest.dialect);
    let bindings = package::bindings_of(&manifest);
    Ok(Some(SecretNeeds::of(app, &manifest, &bindings)))
}

/// Returns the values of the Secret's keys and the paths that have none. Only what stands in the app's own section counts: a value of another
/// app is there if it was copied, and reads as its owner's value of today then.
fn values(
    needs: &SecretNeeds,
    keys: &[(String, String)],
    source: &Source<'_>,
) -> (BTreeMap<String, SecretValue>, Vec<String>) {
    let path = |copy: &package::SecretCopy| format!("apps.{}.{}", needs.app, copy.copy_key());
    let owners: BTreeMap<String, String> = needs.copies.iter().map(|copy| (path(copy), copy.source())).collect();
    let withheld: BTreeSet<String> = source.withheld.iter().map(path).collect();
    // What is made of values may wait for one that may not be had.
    let waits = |path: &str| {
        let spec = needs.own.iter().find(|spec| path == format!("apps.{}.{}", needs.app, spec.key));
        spec.is_some_and(|spec| spec.default.is_some()) && !withheld.is_empty()
    };
    let mut values = BTreeMap::new();
    let mut missing = Vec::new();
    for (key, path) in keys {
        match source.secrets.get(path) {
            Some(value) => _ = values.insert(key.clone(), encoded(value.expose(Purpose::KeyedHash))),
            None if withheld.contains(path) || waits(path) => {}
            None => missing.push(owners.get(path).unwrap_or(path).clone()),
        }
    }
    missing.sort();
    missing.dedup();
    (values, missing)
}

fn secret(name: &str, namespace: &str, sort: &str, values: &BTreeMap<String, SecretValue>) -> Object {
    let data: serde_json::Map<String, Value> =
        values.iter().map(|(key, value)| (key.clone(), Value::from(value.expose(Purpose::KeyedHash)))).collect();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": sort,
        "data": data,
    });
    Object::from_value(secret).unwrap_or_default()
}

/// Returns the values of a Secret that stands in the repository itself, encoded as the API wants them.
fn committed_values(object: &Object) -> BTreeMap<String, SecretValue> {
    let entries = |key: &str| object.0.get(key).and_then(Value::as_object).into_iter().flatten();
    let data =
        entries("data").filter_map(|(key, value)| Some((key.clone(), SecretValue::new(value.as_str()?.to_owned()))));
    let plain = entries("stringData").filter_map(|(key, value)| Some((key.clone(), encoded(value.as_str()?))));
    data.chain(plain).collect()
}

/// Returns a value in base64.
fn encoded(text: &str) -> SecretValue {
    SecretValue::new(STANDARD.encode(text))
}

fn is_secret(object: &Object) -> bool {
    object.group().is_empty() && object.kind() == "Secret"
}

/// Returns the namespace of the app: the one that all its namespaced objects share, or its name.
fn namespace<'a>(app: &AppName, objects: impl Iterator<Item = &'a Object>) -> String {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        let name =
            if object.kind() == "Namespace" && object.group().is_empty() { object.name() } else { object.namespace() };
        if !name.is_empty() {
            *counted.entry(name).or_default() += 1;
        }
    }
    let most = counted.into_iter().max_by_key(|(name, count)| (*count, *name == app.as_str()));
    most.map_or_else(|| app.as_str().to_owned(), |(name, _)| name.to_owned())
}
