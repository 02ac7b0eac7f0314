//! Pure. What the files of a service see: the shared sections of config.yaml, and the values that its manifest names by path.
//!
//! A service keeps its values where its manifest says, not in a section of its own. Not here: reading the manifest
//! (`read.rs`), writing defaults into config.yaml (`compile`).

use serde_json::{Map, Value};

use super::load::MANIFEST;
use super::manifest::{PackageManifest, ServiceKey};
use super::resolve::{SHARED, set};
use crate::model::{Config, Diagnostic};
use crate::template::{self, Context};

/// Values by their path from the top of config.yaml.
type Placed = Vec<(Vec<String>, Value)>;

/// Returns the root that files see, and the defaults that config.yaml has no value for.
pub(super) fn root(
    manifest: &PackageManifest,
    config: &Config,
) -> Result<(Map<String, Value>, Placed), Vec<Diagnostic>> {
    let shared = config.0.iter().filter(|(key, value)| SHARED.contains(&key.as_str()) && !value.is_null());
    let mut root: Map<String, Value> = shared.map(|(key, value)| (key.clone(), value.clone())).collect();
    let (mut placed, mut missing, mut findings) = (Placed::new(), Vec::new(), Vec::new());
    for key in &manifest.service_config {
        let path = split(&key.path);
        match (value_at(config, &path), &key.default) {
            (Some(value), _) => set(&mut root, &path, value.clone()),
            (None, Some(default)) => match resolved(manifest, key, default, &root) {
                Ok(value) => {
                    set(&mut root, &path, value.clone());
                    placed.push((path, value));
                }
                Err(finding) => findings.push(*finding),
            },
            (None, None) => missing.push(key.path.as_str()),
        }
    }
    for reference in &manifest.config_references {
        let path = split(reference);
        match value_at(config, &path) {
            Some(value) => set(&mut root, &path, value.clone()),
            None if value_in(&root, &path).is_some() => {}
            None => missing.push(reference),
        }
    }
    if !missing.is_empty() {
        let field = if manifest.service_config.is_empty() { "configReferences" } else { "serviceConfig" };
        let message = format!("config.yaml has no {}", missing.join(", no "));
        let finding = Diagnostic::error("P033", MANIFEST, manifest.line_of(&[field]), message);
        findings.push(finding.with_hint("write them into config.yaml: the service reads them"));
    }
    if findings.is_empty() { Ok((root, placed)) } else { Err(findings) }
}

/// Renders a default that holds an action; every other one is data.
fn resolved(
    manifest: &PackageManifest,
    key: &ServiceKey,
    default: &Value,
    root: &Map<String, Value>,
) -> Result<Value, Box<Diagnostic>> {
    let Value::String(text) = default else { return Ok(default.clone()) };
    if !template::has_action(text) {
        return Ok(default.clone());
    }
    let rendered = template::render(MANIFEST, text, &Context::new(Value::Object(root.clone())));
    rendered.map(|rendered| Value::from(rendered.text)).map_err(|errors| {
        let (id, why) = errors.first().map_or(("T201", ""), |error| (error.id.as_str(), error.message.as_str()));
        let line = manifest.line_of(&["serviceConfig", &key.key]);
        Box::new(Diagnostic::error(id, MANIFEST, line, format!("the default of {} cannot be rendered: {why}", key.key)))
    })
}

fn split(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

fn value_at<'a>(config: &'a Config, path: &[String]) -> Option<&'a Value> {
    value_in(&config.0, path)
}

fn value_in<'a>(map: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(map.get(first)?, |value, key| value.get(key)).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::root;
    use crate::model::{Config, PackageName};
    use crate::package::read_manifest;

    fn check(manifest: &str, config: Value, expected: &str) {
        let name = PackageName::parse("balancer").unwrap();
        let manifest = read_manifest("wild-manifest.yaml", &name, manifest).unwrap().manifest;
        let config = Config(config.as_object().unwrap().clone());
        let found = match root(&manifest, &config) {
            Ok((root, placed)) => {
                let placed: Vec<String> =
                    placed.iter().map(|(path, value)| format!("{}={value}", path.join("."))).collect();
                format!("{} {}", Value::Object(root), placed.join(" "))
            }
            Err(findings) => findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(found, expected);
    }

    const MANIFEST: &str = "name: balancer\nserviceConfig:\n  pool: {path: cluster.pool, prompt: Addresses, default: '10.0.0.{{ .cloud.n }}'}\n  size: {path: cluster.size, default: 3}\nconfigReferences: [cloud.domain]\n";

    #[test]
    fn values_come_from_their_own_paths_and_defaults_fill_in() {
        check(
            MANIFEST,
            json!({"cloud": {"n": 7, "domain": "d"}, "cluster": {"size": 5}, "apps": {"x": 1}}),
            r#"{"cloud":{"n":7,"domain":"d"},"cluster":{"size":5,"pool":"10.0.0.7"}} cluster.pool="10.0.0.7""#,
        );
    }

    #[test]
    fn all_paths_without_a_value_are_named_together() {
        let manifest =
            "name: balancer\nserviceConfig:\n  pool: {path: cluster.pool}\nconfigReferences: [cloud.domain]\n";
        let expected = "manifest.yaml:2: P033: config.yaml has no cluster.pool, no cloud.domain";
        check(manifest, json!({"cloud": {"n": 7}}), expected);
    }
}
