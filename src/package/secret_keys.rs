//! Pure. Which keys the Secrets of an app hold in the cluster: those of the manifest, and what its objects read.
//!
//! An app has the Secret `<app>-secrets`. Files that were written for another name of it, as in a second instance of a type,
//! and files that read the Secret of an app they require, get Secrets of those names in the app's own namespace, with
//! the keys that the manifest asks for. Not here: values (`secrets.rs`), the objects themselves (`observe`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::secrets::{SecretCopy, SecretNeeds};
use crate::model::{AppName, Object};

/// Keys of a Secret with their paths in secrets.yaml.
pub type KeyPaths = Vec<(String, String)>;

/// The keys of an app's Secrets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectKeys {
    /// Secrets by name; that of the app itself always, others where an object reads them.
    pub secrets: BTreeMap<String, KeyPaths>,
    /// Keys that the app's objects read and nothing resolves.
    pub unresolved: Vec<UnresolvedKey>,
}

/// A key that an object reads and that nobody makes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnresolvedKey {
    /// Name of the Secret.
    pub secret: String,
    /// The key.
    pub key: String,
    /// Reference of the required app whose Secret it is; nothing for the app's own.
    pub owner: Option<String>,
}

/// Returns which keys the Secrets of an app hold. A Secret that is among the objects itself is left alone.
pub fn object_keys(needs: &SecretNeeds, objects: &[&Object]) -> ObjectKeys {
    let made: BTreeSet<&str> =
        objects.iter().filter(|object| object.kind() == "Secret").map(|object| object.name()).collect();
    let uses = uses(objects.iter().copied());
    let own = Spellings::own(needs);
    let mut found = ObjectKeys::default();
    let main = secret_name(&needs.app);
    found.own(&own, &main, uses.get(&main));
    for (secret, keys) in uses.iter().filter(|(secret, _)| **secret != main && !made.contains(secret.as_str())) {
        let Some(name) = secret.strip_suffix(ENDING) else { continue };
        if let Some((reference, _)) = needs.naming.bound.iter().find(|(_, names)| names.iter().any(|it| it == name)) {
            found.other(needs, reference, secret, keys);
        } else if needs.naming.own.iter().any(|own| own == name) {
            found.own(&own, secret, Some(keys));
        }
    }
    found
}

impl ObjectKeys {
    /// Adds a Secret with all keys of the app.
    fn own(&mut self, own: &Spellings, secret: &str, used: Option<&BTreeSet<String>>) {
        let mut keys = own.canonical.clone();
        for used in used.into_iter().flatten().filter(|used| !own.canonical.contains_key(*used)) {
            match own.others.get(used) {
                Some(path) => _ = keys.insert(used.clone(), path.clone()),
                None => {
                    self.unresolved.push(UnresolvedKey { secret: secret.to_owned(), key: used.clone(), owner: None });
                }
            }
        }
        self.secrets.insert(secret.to_owned(), keys.into_iter().collect());
    }

    /// Adds the Secret of a required app, with the keys that objects read of it and the manifest asks for.
    fn other(&mut self, needs: &SecretNeeds, reference: &str, secret: &str, used: &BTreeSet<String>) {
        let copies: Vec<&SecretCopy> = needs.copies.iter().filter(|copy| copy.reference == reference).collect();
        let mut keys = KeyPaths::new();
        if used.is_empty() {
            keys.extend(copies.iter().map(|copy| (copy.key.clone(), needs.path(&copy.copy_key()))));
        }
        for used in used {
            let fits = |copy: &&&SecretCopy| copy.key == *used || whole(needs, copy).contains(used);
            match copies.iter().find(fits) {
                Some(copy) => keys.push((used.clone(), needs.path(&copy.copy_key()))),
                None => {
                    let (secret, owner) = (secret.to_owned(), Some(reference.to_owned()));
                    self.unresolved.push(UnresolvedKey { secret, key: used.clone(), owner });
                }
            }
        }
        if !keys.is_empty() {
            self.secrets.insert(secret.to_owned(), keys);
        }
    }
}

/// Returns the spellings of a copied key that name its owner.
fn whole(needs: &SecretNeeds, copy: &SecretCopy) -> Vec<String> {
    let names = needs.naming.bound.get(&copy.reference).into_iter().flatten();
    let both = names.flat_map(|name| [format!("{name}.{}", copy.key), format!("apps.{name}.{}", copy.key)]);
    both.chain([copy.source(), copy.spelling()]).collect()
}

/// The ways to write the keys of an app's own Secret.
struct Spellings {
    /// Keys that the Secret always holds, with their paths.
    canonical: BTreeMap<String, String>,
    /// Keys that it holds where an object reads them.
    others: BTreeMap<String, String>,
}

impl Spellings {
    fn own(needs: &SecretNeeds) -> Self {
        let (mut canonical, mut others) = (BTreeMap::new(), BTreeMap::new());
        let whole_paths = needs.naming.whole_paths;
        for copy in &needs.copies {
            let path = needs.path(&copy.copy_key());
            let first = if whole_paths { format!("apps.{}", copy.spelling()) } else { copy.spelling() };
            canonical.insert(first, path.clone());
            others.insert(copy.copy_key(), path.clone());
            others.extend(whole(needs, copy).into_iter().map(|key| (key, path.clone())));
            if whole_paths {
                // The first generation named a secret by its last word.
                let last = copy.key.rsplit('.').next().unwrap_or(&copy.key);
                others.entry(last.to_owned()).or_insert(path);
            }
        }
        for spec in &needs.own {
            let path = needs.path(&spec.key);
            canonical.insert(if whole_paths { path.clone() } else { spec.key.clone() }, path.clone());
            others.insert(spec.key.clone(), path.clone());
            others.insert(path.clone(), path.clone());
            others.extend(needs.naming.own.iter().map(|name| (format!("apps.{name}.{}", spec.key), path.clone())));
        }
        Self { canonical, others }
    }
}

/// End of the names of Secrets that are made from secrets.yaml.
const ENDING: &str = "-secrets";

/// Returns the name of an app's Secret in the cluster.
pub fn secret_name(app: &AppName) -> String {
    format!("{app}{ENDING}")
}

/// Returns the keys of a Secret that objects read without calling them optional.
pub fn secret_keys<'a>(objects: impl IntoIterator<Item = &'a Object>, secret: &str) -> BTreeSet<String> {
    uses(objects).remove(secret).unwrap_or_default()
}

/// Returns the names of the Secrets that objects read without calling them optional.
pub fn secret_names<'a>(objects: impl IntoIterator<Item = &'a Object>) -> BTreeSet<String> {
    uses(objects).into_keys().collect()
}

/// Returns the Secrets that objects read, with the keys that they name; none means the whole Secret.
fn uses<'a>(objects: impl IntoIterator<Item = &'a Object>) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for object in objects {
        object.0.values().for_each(|value| collect(value, &mut found));
    }
    found
}

/// Collects references to Secrets in containers and volumes, wherever they stand. The depth is bounded by the loader.
fn collect(value: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(map) => {
            for (field, inner) in map {
                if matches!(field.as_str(), "secretKeyRef" | "secretRef" | "secret") {
                    note(field, inner, found);
                }
                collect(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn note(field: &str, reference: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    if reference.get("optional").and_then(Value::as_bool) == Some(true) {
        return;
    }
    let text = |field: &str| reference.get(field).and_then(Value::as_str);
    // A volume says secretName, a projected source name.
    let Some(secret) = text("secretName").or_else(|| text("name")) else { return };
    let keys = found.entry(secret.to_owned()).or_default();
    if field == "secretKeyRef" {
        keys.extend(text("key").map(str::to_owned));
    }
    let items = reference.get("items").and_then(Value::as_array).into_iter().flatten();
    keys.extend(items.filter_map(|item| item.get("key").and_then(Value::as_str)).map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::object_keys;
    use crate::model::{AppName, Object, PackageName};
    use crate::package::{SecretNeeds, read_manifest};

    fn needs(app: &str, fields: &str) -> SecretNeeds {
        let text = format!("version: '1'\nrequires:\n  - {{name: stonedb, alias: db}}\n{fields}");
        let read = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), &text).unwrap();
        let bindings = BTreeMap::from([("db".to_owned(), AppName::parse("rows").unwrap())]);
        SecretNeeds::of(&AppName::parse(app).unwrap(), &read.manifest, &bindings)
    }

    /// Reads each `<secret>/<key>`, or a whole Secret, and compares what the Secrets hold and what nobody makes.
    fn check(needs: &SecretNeeds, reads: &[&str], expected: &[&str]) {
        let reads: Vec<_> = reads
            .iter()
            .map(|read| match read.split_once('/') {
                Some((secret, key)) => json!({"valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}),
                None => json!({"secretRef": {"name": read}}),
            })
            .collect();
        let object = Object::from_value(json!({"kind": "Pod", "spec": {"containers": [{"env": reads}]}})).unwrap();
        let found = object_keys(needs, &[&object]);
        let lines = found.secrets.iter().map(|(secret, keys)| {
            let keys: Vec<String> = keys.iter().map(|(key, path)| format!("{key}={path}")).collect();
            format!("{secret}: {}", keys.join(" "))
        });
        let unresolved = found.unresolved.iter().map(|it| format!("? {}/{} {:?}", it.secret, it.key, it.owner));
        assert_eq!(lines.chain(unresolved).collect::<Vec<_>>(), expected);
    }

    const FIELDS: &str = "defaultSecrets: [{key: password}, {key: file}]\nrequiredSecrets: [db.password]";

    #[test]
    fn the_secret_holds_the_manifest_keys_and_the_spellings_in_use() {
        let reads = ["dbPassword", "apps.rows.password", "nothing"].map(|key| format!("blog-secrets/{key}"));
        check(
            &needs("blog", FIELDS),
            &reads.each_ref().map(String::as_str),
            &[
                "blog-secrets: apps.rows.password=apps.blog.dbPassword db.password=apps.blog.dbPassword \
                 dbPassword=apps.blog.dbPassword file=apps.blog.file password=apps.blog.password",
                "? blog-secrets/nothing None",
            ],
        );
    }

    #[test]
    fn older_dialects_keep_whole_paths_and_find_their_own_name_in_a_second_instance() {
        let fields = "dialect: v2\nrequiredSecrets: [apps.blog.token, apps.db.password]";
        check(
            &needs("other", fields),
            &["other-secrets/apps.blog.token", "other-secrets/password"],
            &["other-secrets: apps.blog.token=apps.other.token apps.db.password=apps.other.dbPassword \
                 apps.other.token=apps.other.token password=apps.other.dbPassword"],
        );
    }

    #[test]
    fn files_of_a_second_instance_find_the_secret_of_their_type() {
        check(
            &needs("other", "defaultSecrets: [password]"),
            &["blog-secrets/password", "blog-secrets"],
            &["blog-secrets: password=apps.other.password", "other-secrets: password=apps.other.password"],
        );
    }

    #[test]
    fn the_secret_of_a_required_app_holds_what_the_manifest_asks_for() {
        let own = "blog-secrets: db.password=apps.blog.dbPassword";
        for secret in ["db-secrets", "stonedb-secrets", "rows-secrets"] {
            check(
                &needs("blog", "requiredSecrets: [db.password]"),
                &[&format!("{secret}/password")],
                &[own, &format!("{secret}: password=apps.blog.dbPassword")],
            );
        }
        check(
            &needs("blog", "requiredSecrets: [db.password]"),
            &["db-secrets/root"],
            &[own, "? db-secrets/root Some(\"db\")"],
        );
    }
}
