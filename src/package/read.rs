//! Pure. Reads the text of a manifest into its model, or says with line and rule what is wrong in it.
//!
//! A text field keeps `1.10` as written, because it is read by type; values of `defaultConfig` are data of any type.
//! Not here: rules about a package's files (`load.rs`), which dialect a package is written in (`dialect.rs`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::load::SERVICE_MANIFEST;
use super::manifest::{
    Charset, Need, PackageDialect, PackageManifest, RenderRules, RequiredSecret, Requirement, SecretSpec, ServiceKey,
    Supply, UpgradeStep,
};
use super::secret_order;
use super::version::{is_version, satisfies};
use crate::model::{AppName, Diagnostic, PackageName, Severity};
use crate::yaml::{self, Dialect, Document};

/// Random characters of a secret that asks for no length.
const SECRET_LENGTH: usize = 32;
/// Lengths that a random secret may ask for: shorter ones are guessed, longer ones fit no password field.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 8..=1024;
/// What the names of keys begin with that are ours: marks in secrets.yaml, and what is set aside there.
const RESERVED: char = '_';
/// Version of a service that says none.
pub(super) const UNVERSIONED: &str = "0.0.0";
/// Fields that have a meaning; others are kept and reported.
const FIELDS: [&str; 26] = [
    "backup",
    "category",
    "configReferences",
    "defaultConfig",
    "defaultSecrets",
    "dependencies",
    "description",
    "dialect",
    "doctor",
    "exportedSecrets",
    "exports",
    "icon",
    "install",
    "is",
    "listKeys",
    "name",
    "namespace",
    "render",
    "requiredSecrets",
    "requires",
    "serviceConfig",
    "source",
    "upgradePath",
    "version",
    "homepage",
    "license",
];

/// A manifest and what is odd about it.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadManifest {
    /// The manifest.
    pub manifest: PackageManifest,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a manifest. `file` is how findings name it, `name` the package's directory.
pub fn read_manifest(file: &str, name: &PackageName, text: &str) -> Result<ReadManifest, Vec<Diagnostic>> {
    let document = yaml::load_one(file, text, Dialect::Gomplate).map_err(|findings| explain(file, text, findings))?;
    let Some(document) = document else {
        return Err(vec![
            Diagnostic::error("P002", file, 1, "the manifest is empty").with_hint("add name and version"),
        ]);
    };
    if !document.value.is_object() {
        return Err(vec![Diagnostic::error("P002", file, document.line, "the manifest is no map of fields")]);
    }
    let raw: Raw =
        yaml::read_typed(file, text).map_err(|findings| findings.into_iter().map(wrong_type).collect::<Vec<_>>())?;
    Reading { file, name, document: &document, written: String::new(), findings: Vec::new() }.manifest(raw)
}

/// Turns a finding about a field's type into that of manifests; its place stands in its own fields already.
fn wrong_type(finding: Diagnostic) -> Diagnostic {
    let message =
        finding.message.rsplit_once(" at line ").map_or(finding.message.as_str(), |(what, _)| what).to_owned();
    Diagnostic { id: "P002".into(), message, ..finding }
}

/// Turns the loader's findings into those of manifests: a key set twice, a template that looks like a map.
fn explain(file: &str, text: &str, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some((line, repaired)) = unquoted_action(text) {
        let message = "a template that is a whole value needs quotes, or YAML reads its braces as a map";
        return vec![Diagnostic::error("L002", file, line, message).with_hint(format!("write {repaired}"))];
    }
    findings
        .into_iter()
        .map(|finding| match finding.id.as_str() {
            "Y106" => Diagnostic { id: "L001".into(), ..finding },
            _ => finding,
        })
        .collect()
}

/// Returns the first line whose value begins with an action outside quotes, and the line with quotes.
fn unquoted_action(text: &str) -> Option<(usize, String)> {
    let mut block: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if block.is_some_and(|key| indent > key || content.is_empty()) {
            continue;
        }
        let starts_block = [": |", ": >", "- |", "- >"].iter().any(|mark| {
            content.rsplit_once(mark).is_some_and(|(_, rest)| rest.chars().all(|c| matches!(c, '+' | '-' | '1'..='9')))
        });
        block = starts_block.then_some(indent);
        let value_at = content.find(": {{").map(|at| at + 2).or_else(|| content.starts_with("- {{").then_some(2));
        let Some((key, value)) = value_at.and_then(|at| content.split_at_checked(at)) else { continue };
        // A mark inside a comment or behind an opening quote is text.
        if key.contains(['#', '"', '\'']) {
            continue;
        }
        let value = value.trim_end();
        let quoted =
            if value.contains('"') { format!("'{}'", value.replace('\'', "''")) } else { format!("\"{value}\"") };
        return Some((number + 1, format!("{key}{quoted}")));
    }
    None
}

/// The typed fields as they stand in the file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    dialect: Option<String>,
    name: Option<String>,
    is: Option<String>,
    version: Option<String>,
    description: Option<String>,
    icon: Option<String>,
    category: Option<String>,
    source: Option<String>,
    namespace: Option<String>,
    requires: Option<Vec<RawRequirement>>,
    dependencies: Option<Vec<String>>,
    default_secrets: Option<Vec<RawSecret>>,
    required_secrets: Option<Vec<String>>,
    exports: Option<RawExports>,
    exported_secrets: Option<Vec<String>>,
    render: Option<RenderRules>,
    upgrade_path: Option<Vec<UpgradeStep>>,
    config_references: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawRequirement {
    Name(String),
    Map(RawRequirementMap),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRequirementMap {
    name: String,
    alias: Option<String>,
    #[serde(default)]
    optional: bool,
    versions: Option<String>,
    installed_as: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawSecret {
    Key(String),
    Map { key: String, default: Option<String>, length: Option<usize>, charset: Option<Charset> },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawExports {
    List(Vec<String>),
    Map { secrets: Option<Vec<String>> },
}

struct Reading<'a> {
    file: &'a str,
    name: &'a PackageName,
    document: &'a Document,
    /// Name that the manifest itself says.
    written: String,
    findings: Vec<Diagnostic>,
}

impl Reading<'_> {
    fn manifest(mut self, raw: Raw) -> Result<ReadManifest, Vec<Diagnostic>> {
        self.unknown_fields();
        let dialect = self.dialect(raw.dialect.as_deref());
        let version = self.version(raw.version, dialect);
        let requires = self.requires(raw.requires.unwrap_or_default(), raw.dependencies.unwrap_or_default());
        let mut default_secrets = self.secrets(raw.default_secrets.unwrap_or_default());
        self.written = raw.name.clone().unwrap_or_default();
        let required_secrets =
            self.required_secrets(raw.required_secrets.unwrap_or_default(), &requires, &mut default_secrets);
        self.refuse_circle(&default_secrets);
        let service_config = self.service_config();
        let default_config = self.default_config();
        if raw.name.as_deref().is_some_and(|name| name != self.name.as_str()) {
            let message = format!("the name differs from the directory {}, which counts", self.name);
            self.findings.push(Diagnostic::warning("L006", self.file, self.line(&["name"]), message));
        }
        if self.findings.iter().any(Diagnostic::is_error) {
            self.findings.retain(Diagnostic::is_error);
            return Err(self.findings);
        }
        let exports = match raw.exports {
            Some(RawExports::List(keys)) => Some(keys),
            Some(RawExports::Map { secrets }) => secrets,
            None => raw.exported_secrets,
        };
        let manifest = PackageManifest {
            dialect,
            name: self.written,
            is: raw.is.unwrap_or_else(|| self.name.to_string()),
            version,
            description: raw.description.unwrap_or_default(),
            icon: raw.icon.unwrap_or_default(),
            category: raw.category.unwrap_or_default(),
            source: raw.source.unwrap_or_default(),
            namespace: raw.namespace,
            requires,
            default_config,
            service_config,
            config_references: raw.config_references.unwrap_or_default(),
            default_secrets,
            required_secrets,
            exports,
            render: raw.render.unwrap_or_default(),
            upgrade_path: raw.upgrade_path.unwrap_or_default(),
            document: self.document.clone(),
        };
        Ok(ReadManifest { manifest, diagnostics: self.findings })
    }

    fn line(&self, path: &[&str]) -> usize {
        self.document.line_of(path).unwrap_or(self.document.line)
    }

    fn refuse(&mut self, id: &str, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let line = self.line(path);
        self.findings.push(Diagnostic::error(id, self.file, line, message).with_hint(hint));
    }

    fn note(&mut self, id: &str, path: &[&str], message: String) {
        let finding = Diagnostic::warning(id, self.file, self.line(path), message);
        self.findings.push(Diagnostic { severity: Severity::Info, ..finding });
    }

    fn unknown_fields(&mut self) {
        let fields = self.document.value.as_object().into_iter().flat_map(Map::keys);
        let unknown: Vec<String> = fields.filter(|field| !FIELDS.contains(&field.as_str())).cloned().collect();
        for field in unknown {
            self.note("P030", &[&field], format!("the field {field} has no meaning here; it is kept as it is"));
        }
    }

    fn version(&mut self, version: Option<String>, dialect: PackageDialect) -> String {
        match version {
            Some(version) if is_version(&version) => version,
            Some(_) => {
                let hint = "use letters, digits, dots, + and -, at most 64 characters";
                self.refuse("P002", &["version"], "the version holds other characters or is too long", hint);
                String::new()
            }
            // The version of a service is that of its files, which the loader knows.
            None if dialect == PackageDialect::Service => UNVERSIONED.to_owned(),
            None => {
                self.refuse("P002", &[], "the manifest has no version", "add a line such as version: 1.0.0");
                String::new()
            }
        }
    }

    fn dialect(&mut self, wanted: Option<&str>) -> PackageDialect {
        let known = [PackageDialect::V1, PackageDialect::V2, PackageDialect::V3, PackageDialect::Service];
        let is_service = |field: &&str| self.document.value.get(field).is_some();
        match wanted {
            Some(wanted) => known.into_iter().find(|dialect| dialect.word() == wanted).unwrap_or_else(|| {
                let hint = "write v1, v2, v3 or service";
                self.refuse("P002", &["dialect"], format!("the dialect {wanted:?} is unknown"), hint);
                PackageDialect::V3
            }),
            None if self.file.ends_with(SERVICE_MANIFEST) => PackageDialect::Service,
            None if ["serviceConfig", "configReferences"].iter().any(is_service) => PackageDialect::Service,
            None => PackageDialect::V3,
        }
    }

    /// Reads the values that a service keeps elsewhere in config.yaml.
    fn service_config(&mut self) -> Vec<ServiceKey> {
        let document = self.document;
        let entries = match document.value.get("serviceConfig") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Object(entries)) => entries,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                let hint = "write key: {path, prompt, default} lines below it";
                self.refuse("P002", &["serviceConfig"], "serviceConfig is no map", hint);
                return Vec::new();
            }
        };
        let mut keys = Vec::new();
        for (key, entry) in entries {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let path = text("path");
            if path.split('.').any(str::is_empty) {
                let message = format!("serviceConfig.{key} has no path in config.yaml");
                self.refuse("P002", &["serviceConfig", key], message, "write path: cluster.<service>.<key>");
                continue;
            }
            let default = entry.get("default").filter(|value| !value.is_null()).cloned();
            keys.push(ServiceKey { key: key.clone(), path, prompt: text("prompt"), default, kind: text("type") });
        }
        keys
    }

    fn requires(&mut self, raw: Vec<RawRequirement>, dependencies: Vec<String>) -> Vec<Requirement> {
        let mut requires: Vec<Requirement> = Vec::new();
        for (position, entry) in raw.into_iter().enumerate() {
            let map = match entry {
                RawRequirement::Map(map) => map,
                RawRequirement::Name(name) => {
                    RawRequirementMap { name, alias: None, optional: false, versions: None, installed_as: None }
                }
            };
            let requirement = self.requirement(position, map);
            self.check_reference(&requirement, &requires, position);
            requires.push(requirement);
        }
        if !dependencies.is_empty() {
            self.note("P032", &["dependencies"], "dependencies is read as requires, which replaces it".to_owned());
        }
        for name in dependencies {
            if !requires.iter().any(|requirement| requirement.name == name) {
                let line = self.line(&["dependencies"]);
                let (alias, versions, installed_as, position) = (None, None, None, None);
                let need = Need::Required;
                requires.push(Requirement { name, alias, need, versions, installed_as, position, line });
            }
        }
        requires
    }

    fn requirement(&mut self, position: usize, map: RawRequirementMap) -> Requirement {
        let at = position.to_string();
        let path = ["requires", at.as_str()];
        for name in std::iter::once(&map.name).chain(&map.alias) {
            if AppName::parse(name).is_err() {
                let hint = "use lower-case letters, digits and hyphens";
                self.refuse("P002", &path, format!("{name:?} cannot name a requirement"), hint);
            }
        }
        if map.versions.as_deref().is_some_and(|range| satisfies("1", range).is_none()) {
            self.refuse("P002", &path, "the range in versions cannot be read", "write it like >=15 <17");
        }
        let installed_as = map.installed_as.as_deref().and_then(|app| AppName::parse(app).ok());
        if installed_as.is_none() && map.installed_as.is_some() {
            self.refuse("P002", &path, "installedAs is no app name", "write the name of an installed app");
        }
        let need = if map.optional { Need::Optional } else { Need::Required };
        Requirement {
            name: map.name,
            alias: map.alias,
            need,
            versions: map.versions,
            installed_as,
            position: Some(position),
            line: self.line(&path),
        }
    }

    fn check_reference(&mut self, requirement: &Requirement, earlier: &[Requirement], position: usize) {
        let at = position.to_string();
        let (reference, path) = (requirement.reference(), ["requires", at.as_str()]);
        if earlier.iter().any(|other| other.reference() == reference) {
            let message = format!("two requirements are both called {reference}");
            self.refuse("P050", &path, message, "give one of them an alias");
        }
        if requirement.alias.as_deref() == Some(self.name.as_str()) {
            let message = format!("the alias {reference} is the name of the package itself");
            self.refuse("P051", &path, message, "choose another alias");
        }
    }

    fn secrets(&mut self, raw: Vec<RawSecret>) -> Vec<SecretSpec> {
        let mut specs = Vec::new();
        let mut seen = BTreeSet::new();
        for (position, entry) in raw.into_iter().enumerate() {
            let at = position.to_string();
            let path = ["defaultSecrets", at.as_str()];
            let (key, default, length, charset) = match entry {
                RawSecret::Key(key) => (key, None, None, None),
                RawSecret::Map { key, default, length, charset } => (key, default, length, charset),
            };
            let length = length.unwrap_or(SECRET_LENGTH);
            if !is_secret_key(&key) {
                self.refuse(
                    "P002",
                    &path,
                    "the key of a secret is refused",
                    "use letters, digits, _, - and inner dots",
                );
            }
            self.refuse_reserved(&path, &key);
            if !seen.insert(key.clone()) {
                self.refuse("P002", &path, format!("the secret {key} is listed twice"), "remove one of the two");
            }
            if let Some(other) = seen.iter().find(|other| is_below(other, &key) || is_below(&key, other)) {
                let message =
                    format!("of the secrets {other} and {key} one would have to be a value and a map of values");
                self.refuse("P002", &path, message, "give one of them another name");
            }
            if !SECRET_LENGTHS.contains(&length) {
                let message = format!("the secret {key} asks for {length} characters");
                self.refuse("P002", &path, message, "ask for 8 to 1,024");
            }
            let spec = SecretSpec {
                key,
                default,
                length,
                charset: charset.unwrap_or_default(),
                supply: Supply::Made,
                line: self.line(&path),
            };
            if spec.default.as_deref().is_some_and(|text| !crate::template::has_action(text)) {
                let message =
                    format!("the secret {} is the same for everybody, because its default is fixed", spec.key);
                self.findings.push(Diagnostic::warning("L041", self.file, spec.line, message));
            }
            specs.push(spec);
        }
        specs
    }

    /// Refuses a key under which we keep something of our own.
    fn refuse_reserved(&mut self, path: &[&str], key: &str) {
        if key.split('.').any(|part| part.starts_with(RESERVED)) {
            let message = format!("the name {key} is reserved: what begins with {RESERVED} is no secret of an app");
            self.refuse("P002", path, message, "use another name");
        }
    }

    fn required_secrets(
        &mut self,
        raw: Vec<String>,
        requires: &[Requirement],
        own: &mut Vec<SecretSpec>,
    ) -> Vec<RequiredSecret> {
        let mut required: Vec<RequiredSecret> = Vec::new();
        for (position, path) in raw.into_iter().enumerate() {
            let at = position.to_string();
            let place = ["requiredSecrets", at.as_str()];
            // The older dialects write apps.<app>.<key>, also for the app's own secrets.
            let short = path.strip_prefix("apps.").unwrap_or(&path);
            let Some((reference, key)) = short.split_once('.').filter(|(_, key)| is_secret_key(key)) else {
                let hint = "write <reference>.<key>, such as db.password";
                self.refuse("P002", &place, format!("{path:?} names no secret of a requirement"), hint);
                continue;
            };
            let line = self.line(&place);
            self.refuse_reserved(&place, key);
            if short.len() < path.len() && (reference == self.name.as_str() || reference == self.written) {
                let (charset, supply) = (Charset::Alnum, Supply::of_key(key));
                own.push(SecretSpec { key: key.into(), default: None, length: SECRET_LENGTH, charset, supply, line });
            } else if requires.iter().any(|requirement| requirement.reference() == reference) {
                let secret = RequiredSecret { reference: reference.into(), key: key.into(), line };
                self.refuse_same_copy(&place, &secret, &required);
                if !required.iter().any(|other| (&other.reference, &other.key) == (&secret.reference, &secret.key)) {
                    required.push(secret);
                }
            } else {
                let message = format!("{path} names {reference}, which the package does not require");
                self.refuse("P060", &place, message, format!("add {{name: {reference}}} to requires"));
            }
        }
        required
    }

    /// Refuses two secrets of other apps whose copies would have one name: one of them would stand for the other.
    fn refuse_same_copy(&mut self, place: &[&str], secret: &RequiredSecret, earlier: &[RequiredSecret]) {
        let is_same = |other: &&RequiredSecret| {
            other.copy_key() == secret.copy_key() && (&other.reference, &other.key) != (&secret.reference, &secret.key)
        };
        if let Some(other) = earlier.iter().find(is_same) {
            let (one, copy) = (format!("{}.{}", other.reference, other.key), secret.copy_key());
            let message = format!("{one} and {}.{} would both be copied as {copy}", secret.reference, secret.key);
            self.refuse("P002", place, message, "give one of the requirements another alias");
        }
    }

    /// Refuses defaults of secrets that wait for each other.
    fn refuse_circle(&mut self, own: &[SecretSpec]) {
        let Some(circle) = secret_order::circle(own) else { return };
        let line = own.iter().find(|spec| circle.first() == Some(&spec.key.as_str())).map_or(0, |spec| spec.line);
        let names: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
        let message = format!("the defaults of secrets run in a circle: {}", names.join(" → "));
        let finding = Diagnostic::error("P066", self.file, line, message);
        self.findings.push(finding.with_hint("leave the default of one of them out, so that it is made at random"));
    }

    fn default_config(&mut self) -> Map<String, Value> {
        match self.document.value.get("defaultConfig") {
            Some(Value::Object(map)) => map.clone(),
            None | Some(Value::Null) => Map::new(),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                self.refuse("P002", &["defaultConfig"], "defaultConfig is no map", "write key: value lines below it");
                Map::new()
            }
        }
    }
}

/// Returns whether a key lies in the map that another one names.
fn is_below(key: &str, map: &str) -> bool {
    key.strip_prefix(map).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns whether a key can stand in secrets.yaml and in a Secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    key.len() <= 253 && key.split('.').all(part)
}

#[cfg(test)]
mod tests;
