//! Pure. A test that the author of a package writes: with this config these objects come out, or the package is refused.
//!
//! Format: a map of `config`, `objects`, `absent` and `refused`. Not here: reading the files (`cli`).

use serde_json::Value;

use super::lint::Examined;
use crate::model::{Config, Diagnostic, Object};

/// Fields of a test.
const FIELDS: [&str; 4] = ["config", "objects", "absent", "refused"];

/// A test.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// Config to render with.
    pub config: Option<Config>,
    objects: Vec<Object>,
    absent: Vec<Object>,
    refused: Option<String>,
}

impl Trial {
    /// Reads a test.
    pub fn read(file: &str, document: &Value) -> Result<Self, Vec<Diagnostic>> {
        let refuse = |message: String| Err(vec![Diagnostic::error("P070", file, 0, message)]);
        let Some(map) = document.as_object() else { return refuse("a test is a map of fields".to_owned()) };
        if let Some(unknown) = map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return refuse(format!("a test has no field {unknown}; it has {}", FIELDS.join(", ")));
        }
        let objects = |field: &str| -> Option<Vec<Object>> {
            let items = map.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
            items.into_iter().map(|item| Object::from_value(item).filter(|it| !it.kind().is_empty())).collect()
        };
        let (Some(wanted), Some(absent)) = (objects("objects"), objects("absent")) else {
            return refuse("objects and absent are lists of objects with a kind".to_owned());
        };
        let config = map.get("config").and_then(Value::as_object).cloned().map(Config);
        let refused = map.get("refused").and_then(Value::as_str).map(str::to_owned);
        if wanted.is_empty() && absent.is_empty() && refused.is_none() {
            return refuse("the test expects nothing".to_owned());
        }
        Ok(Self { config, objects: wanted, absent, refused })
    }
}

/// Returns what is not as a test wants it.
pub fn judge(trial: &Trial, examined: &Examined) -> Vec<String> {
    let errors: Vec<&Diagnostic> = examined.findings.iter().filter(|finding| finding.is_error()).collect();
    match (&examined.generated, &trial.refused) {
        (None, Some(id)) if errors.iter().any(|error| error.id == *id) => Vec::new(),
        (Some(_), Some(id)) => vec![format!("the package is not refused by {id}")],
        (None, _) => errors.iter().map(ToString::to_string).collect(),
        (Some(generated), None) => {
            let built: Vec<&Object> = generated.objects.iter().map(|built| &built.object).collect();
            let missing = trial.objects.iter().filter_map(|wanted| missing(wanted, &built));
            let surplus = trial.absent.iter().filter(|absent| built.iter().any(|found| is_called(found, absent)));
            missing.chain(surplus.map(|absent| format!("{} comes out", absent.id().short()))).collect()
        }
    }
}

fn is_called(found: &Object, wanted: &Object) -> bool {
    found.kind() == wanted.kind() && (wanted.name().is_empty() || found.name() == wanted.name())
}

fn missing(wanted: &Object, built: &[&Object]) -> Option<String> {
    let called: Vec<&&Object> = built.iter().filter(|found| is_called(found, wanted)).collect();
    if called.is_empty() {
        return Some(format!("{} does not come out", wanted.id().short()));
    }
    let differences: Vec<Option<String>> =
        called.iter().map(|found| difference(&wanted.to_value(), &found.to_value(), "")).collect();
    if differences.iter().any(Option::is_none) {
        return None;
    }
    let first = differences.into_iter().flatten().next()?;
    Some(format!("{}: {first}", wanted.id().short()))
}

/// Returns the first place where something wanted is not there. Lists are compared item by item, maps key by key. Depth is
/// bounded by the loader.
fn difference(wanted: &Value, found: &Value, path: &str) -> Option<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(key, wanted)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match found.get(key) {
                Some(found) => difference(wanted, found, &path),
                None => Some(format!("{path} is not there")),
            }
        }),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let mut pairs = wanted.iter().zip(found).enumerate();
            pairs.find_map(|(position, (wanted, found))| difference(wanted, found, &format!("{path}.{position}")))
        }
        (wanted, found) if wanted == found => None,
        (wanted, found) => Some(format!("{path} is {found}, and {wanted} is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{Trial, judge};
    use crate::compile::examine;
    use crate::model::PackageName;
    use crate::package::scaffold;

    fn check(test: Value, expected: &[&str]) {
        let name = PackageName::parse("blog").unwrap();
        let found = match Trial::read("a.yaml", &test) {
            Ok(trial) => judge(&trial, &examine(&name, &scaffold(&name), trial.config.as_ref(), &BTreeMap::new())),
            Err(findings) => findings.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn objects_that_come_out_as_wanted_pass() {
        check(
            json!({"objects": [{"kind": "Service", "metadata": {"name": "blog"}, "spec": {"ports": [{"name": "http"}]}}]}),
            &[],
        );
        check(json!({"absent": [{"kind": "CronJob"}]}), &[]);
    }

    #[test]
    fn what_is_not_as_wanted_is_named() {
        check(
            json!({"objects": [{"kind": "Service", "metadata": {"name": "blog"}, "spec": {"type": "NodePort"}}, {"kind": "Job"}]}),
            &["Service/blog: spec.type is not there", "Job/ does not come out"],
        );
        check(json!({"absent": [{"kind": "Service"}]}), &["Service/ comes out"]);
        check(json!({"refused": "T310"}), &["the package is not refused by T310"]);
    }

    #[test]
    fn a_refusal_can_be_wanted() {
        let config = json!({"apps": {"blog": {"domain": "a\nb: c"}}, "cloud": {"domain": "d"}});
        check(json!({"config": config, "refused": "T310"}), &[]);
    }

    #[test]
    fn a_test_that_expects_nothing_is_refused() {
        check(json!({}), &["a.yaml: P070: the test expects nothing"]);
        check(
            json!({"object": []}),
            &["a.yaml: P070: a test has no field object; it has config, objects, absent, refused"],
        );
    }
}
