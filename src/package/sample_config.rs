//! Pure. A config that a package can be rendered with when nobody has installed it: every key that it reads, with a value
//! that looks like what the key is called.
//!
//! Not here: the configs that the sample packages are tested with (`fixtures`).

use serde_json::{Map, Value, json};

use super::load::Package;
use super::manifest::{PackageDialect, ServiceKey};
use super::resolve::{references, set};
use crate::model::Config;

/// Sections of the whole config that packages read.
const SECTIONS: [&str; 4] = ["operator", "cloud", "cluster", "apps"];

/// Returns a config with which the package can be rendered. The app that satisfies a requirement is named as the
/// requirement is referred to.
pub fn sample_config(package: &Package) -> Config {
    let mut root = Map::new();
    let base = json!({
        "operator": {"email": "operator@example.org"},
        "cloud": {"domain": "cloud.example.org", "internalDomain": "internal.example.org"},
        "cluster": {"name": "sample"},
        "apps": {},
    });
    root.extend(base.as_object().cloned().unwrap_or_default());
    let manifest = &package.manifest;
    let own = [package.name.as_str(), manifest.name.as_str()];
    for text in package.files.iter().filter(|(path, _)| path.is_yaml()).filter_map(|(_, file)| file.as_text()) {
        for section in SECTIONS {
            for path in references(text, &format!(".{section}.")) {
                if section == "apps" && path.first().is_some_and(|app| own.contains(&app.as_str())) {
                    continue;
                }
                place(&mut root, std::iter::once(section.to_owned()).chain(path).collect());
            }
        }
    }
    let wanted = manifest.service_config.iter().filter(|key| key.default.is_none()).map(|key: &ServiceKey| &key.path);
    if manifest.dialect == PackageDialect::Service {
        for path in wanted.chain(&manifest.config_references) {
            place(&mut root, path.split('.').map(str::to_owned).collect());
        }
    }
    Config(root)
}

/// Puts a value at a path that has none; a path through a single value is left alone.
fn place(root: &mut Map<String, Value>, path: Vec<String>) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut map = &*root;
    for parent in parents {
        match map.get(parent) {
            Some(Value::Object(inner)) => map = inner,
            Some(_) => return,
            None => break,
        }
    }
    let is_there = path.iter().try_fold(&Value::Object(root.clone()), |value, key| value.get(key)).is_some();
    if !is_there && path.iter().all(|key| !key.is_empty()) {
        set(root, &path, value_for(last));
    }
}

/// Returns a value that looks like what a key is called.
fn value_for(key: &str) -> Value {
    let key = key.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| key.contains(word));
    match () {
        () if has(&["port"]) => Value::from("8080"),
        () if has(&["email", "from"]) => Value::from("someone@example.org"),
        () if has(&["domain", "host", "server"]) => Value::from("sample.example.org"),
        () if has(&["url", "uri"]) => Value::from("https://sample.example.org"),
        () if has(&["range", "pool"]) => Value::from("192.0.2.10-192.0.2.20"),
        () if has(&["storage", "size", "memory"]) => Value::from("1Gi"),
        () if key.ends_with("ip") => Value::from("192.0.2.10"),
        () if has(&["enabled", "tls", "ssl"]) => Value::from(false),
        () => Value::from("sample"),
    }
}
