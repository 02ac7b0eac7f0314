//! Pure. Rules about other apps: their addresses, config keys and secrets.
//!
//! Not here: names inside the app (`references.rs`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{LintInput, found, judged};
use crate::model::Diagnostic;
use crate::package::bind::check_exports;
use crate::package::load::manifest_of;

/// Namespaces whose services belong to the cluster, not to an app.
const OF_THE_CLUSTER: [&str; 2] = ["default", "kube-system"];

/// Checks what the package says of other apps.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    addresses(input, findings);
    offers(input, findings);
}

/// Names addresses `<service>.<namespace>.svc` that are written out.
fn addresses(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let (package, manifest) = (input.package, &input.package.manifest);
    let own = manifest.default_config.get("namespace").and_then(Value::as_str).unwrap_or(package.name.as_str());
    let mut known: BTreeSet<&str> = BTreeSet::from([own, package.name.as_str()]);
    known.extend(OF_THE_CLUSTER);
    for requirement in &manifest.requires {
        known.extend([requirement.reference(), requirement.name.as_str()]);
    }
    for (path, file) in package.files.iter().filter(|(path, _)| path.is_yaml()) {
        for (number, line) in file.as_text().into_iter().flat_map(str::lines).enumerate() {
            for namespace in namespaces(line).filter(|namespace| !known.contains(namespace)) {
                let message = format!("the address is of an app in the namespace {namespace}, which is not required");
                findings.push(found("L009", path.as_str(), number + 1, message));
            }
        }
    }
}

/// Returns the namespaces of the addresses in a line.
fn namespaces(line: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'));
    words.filter_map(move |word| {
        let parts: Vec<&str> = word.split('.').collect();
        match parts.as_slice() {
            [service, namespace, "svc", ..] if is_name(service) && is_name(namespace) => Some(*namespace),
            _ => None,
        }
    })
}

/// Compares what is read of required packages with what they offer.
fn offers(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    let manifest = &input.package.manifest;
    let file = manifest_of(&input.package.files);
    let known = manifest
        .requires
        .iter()
        .filter_map(|requirement| Some((requirement.reference().to_owned(), input.others.get(&requirement.name)?)));
    let owners = known.collect();
    findings.extend(check_exports(manifest, &owners).iter().map(judged));
    for (reference, owner) in &owners {
        let prefix = format!("apps.{reference}.");
        for key in input.reads.iter().filter_map(|read| read.strip_prefix(&prefix)) {
            if !offers_key(&owner.default_config, key) {
                let message = format!("{reference} offers no config key {key}; it has {}", keys(&owner.default_config));
                findings.push(found("L032", file, manifest.line_of(&["requires"]), message));
            }
        }
    }
}

fn offers_key(config: &Map<String, Value>, key: &str) -> bool {
    let mut parts = key.split('.');
    let Some(first) = parts.next().and_then(|first| config.get(first)) else { return false };
    parts.try_fold(first, |value, part| value.get(part)).is_some()
}

fn keys(config: &Map<String, Value>) -> String {
    config.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
