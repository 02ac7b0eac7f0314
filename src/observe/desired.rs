//! What a committed revision wants of one app: its objects as the kustomize build gives them, and its Secret from `secrets.yaml`.
//!
//! Hashes are taken over the true values; in the objects every value of a Secret is replaced by a digest before they leave this file.
//! Not here: marks and order (`plan`).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::compile;
use crate::kustomize;
use crate::model::{AppName, Diagnostic, FileTree, Object, PackageName, Purpose, SecretPayloads, SecretValue, Secrets};
use crate::package::{self, SecretNeeds};
use crate::plan::{Desired, DesiredObject};
use crate::plan::{hash, restart};

/// What the objects are built from.
pub(super) struct Source<'a> {
    pub(super) app: &'a AppName,
    pub(super) files: &'a FileTree,
    pub(super) secrets: &'a Secrets,
    pub(super) hash_key: &'a [u8; 32],
}

/// What is wanted.
pub(super) struct Built {
    pub(super) desired: Desired,
    pub(super) namespace: String,
    pub(super) payloads: SecretPayloads,
    pub(super) missing_secrets: Vec<String>,
    /// Keys of other apps' secrets that the app reads, as `<reference>.<key>`.
    pub(super) secret_grants: Vec<String>,
}

/// Builds the wanted objects.
pub(super) fn build(source: &Source<'_>) -> Built {
    let directory = format!("apps/{}", source.app);
    let unreadable = |diagnostics| Built {
        desired: Desired::Unreadable(diagnostics),
        namespace: source.app.as_str().to_owned(),
        payloads: SecretPayloads::default(),
        missing_secrets: Vec::new(),
        secret_grants: Vec::new(),
    };
    if source.files.below(&directory).is_empty() {
        return Built { desired: Desired::Objects(Vec::new()), ..unreadable(Vec::new()) };
    }
    let built = match kustomize::build(source.files, &directory) {
        Ok(built) => built,
        Err(diagnostics) => return unreadable(diagnostics),
    };
    let needs = match secret_needs(source.files, source.app) {
        Ok(needs) => needs,
        Err(diagnostics) => return unreadable(diagnostics),
    };
    let place = |file: &str| format!("{directory}/{}", file.trim_start_matches(&format!("{directory}/")));
    let mut places: Vec<(String, usize)> = built.objects.iter().map(|built| (place(&built.file), built.line)).collect();
    let mut objects: Vec<Object> = built.objects.into_iter().map(|built| built.object).collect();
    let namespace = namespace(source.app, objects.iter());
    let mut payloads = SecretPayloads::default();
    for object in objects.iter().filter(|object| is_secret(object)) {
        payloads.insert(object.id(), committed_values(object));
    }
    let (mut missing_secrets, mut secret_grants) = (Vec::new(), Vec::new());
    if let Some(needs) = needs {
        secret_grants = needs.grants();
        let keys = package::object_keys(&needs, &objects.iter().collect::<Vec<_>>());
        for (name, keys) in keys.secrets {
            let (values, missing) = values(&needs, &keys, source.secrets);
            missing_secrets
                .extend(missing.into_iter().filter(|path| !missing_secrets.contains(path)).collect::<Vec<_>>());
            if values.is_empty() {
                continue;
            }
            let secret = app_secret(&name, &namespace, &values);
            payloads.insert(secret.id(), values);
            objects.push(secret);
            places.push((String::new(), 0));
        }
    }
    restart::note_config(source.hash_key, &mut objects);
    let sealed = |(object, (file, line)): (&Object, (String, usize))| DesiredObject {
        hash: hash::desired_hash(source.hash_key, object),
        object: hash::seal(source.hash_key, object),
        file,
        line,
    };
    let objects = objects.iter().zip(places).map(sealed).collect();
    Built { desired: Desired::Objects(objects), namespace, payloads, missing_secrets, secret_grants }
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

/// Returns the values of the Secret's keys and the paths that have none. A copy follows its source.
fn values(
    needs: &SecretNeeds,
    keys: &[(String, String)],
    secrets: &Secrets,
) -> (BTreeMap<String, SecretValue>, Vec<String>) {
    let sources: BTreeMap<String, String> =
        needs.copies.iter().map(|copy| (format!("apps.{}.{}", needs.app, copy.copy_key()), copy.source())).collect();
    let mut values = BTreeMap::new();
    let mut missing = Vec::new();
    for (key, path) in keys {
        // A copy that nobody wrote over reads as its owner's value already.
        match secrets.get(path).or_else(|| sources.get(path).and_then(|source| secrets.get(source))) {
            Some(value) => _ = values.insert(key.clone(), encoded(value.expose(Purpose::KeyedHash))),
            None => missing.push(sources.get(path).unwrap_or(path).clone()),
        }
    }
    missing.sort();
    missing.dedup();
    (values, missing)
}

fn app_secret(name: &str, namespace: &str, values: &BTreeMap<String, SecretValue>) -> Object {
    let data: serde_json::Map<String, Value> =
        values.iter().map(|(key, value)| (key.clone(), Value::from(value.expose(Purpose::KeyedHash)))).collect();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "Opaque",
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
