//! Pure. What is worth saying about a package before it is published: rules with ids, how bad a breach is, and what to do.
//!
//! Most rules look at the objects that the package gives with a config, because that is what a cluster would get. A rule is
//! one function that returns places and words; severity and remedy stand in one table. Not here: making the objects
//! (`compile`), rules that also stop a generation and are checked there (secrets in a package, keys that nobody makes).

mod labels;
mod manifest;
mod metadata;
mod names;
mod pods;
mod references;
mod templates;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::load::Package;
use super::manifest::PackageManifest;
use crate::model::{Diagnostic, Object, Severity};
use crate::schema::CONTAINERS;

/// A rule: id, what it finds, how bad a breach is while an app is installed and when its package is published, and what to do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Id.
    pub id: &'static str,
    /// What it finds, in a few words.
    pub finds: &'static str,
    /// While the package is installed.
    pub installing: Severity,
    /// When the package is published.
    pub publishing: Severity,
    /// What to do.
    pub fix: &'static str,
}

const fn rule(
    (id, finds): (&'static str, &'static str),
    installing: Severity,
    publishing: Severity,
    fix: &'static str,
) -> Rule {
    Rule { id, finds, installing, publishing, fix }
}

use Severity::{Error, Info, Warning};

/// All rules, by id.
pub const RULES: &[Rule] = &[
    rule(("L001", "a key stands twice in the manifest"), Error, Error, "remove one of the two keys"),
    rule(("L002", "an action stands bare as a value of the manifest"), Error, Error, "put quotes around the action"),
    rule(
        ("L003", "a field path holds a character that no path may hold"),
        Error,
        Error,
        "write (index .apps \"open-webui\").x",
    ),
    rule(
        ("L004", "two controllers select the same pods"),
        Error,
        Error,
        "give each controller a component label of its own",
    ),
    rule(
        ("L005", "a Secret of another app is read that the package does not require"),
        Error,
        Error,
        "add the app to requires and the key to requiredSecrets",
    ),
    rule(
        ("L006", "the name in the manifest is not the directory's"),
        Warning,
        Error,
        "name the package as its directory",
    ),
    rule(
        ("L007", "the namespace is not named as the app"),
        Info,
        Warning,
        "name the namespace as the app, and write {{ .namespace }} in the files",
    ),
    rule(("L008", "a config key is read by no file"), Warning, Error, "remove the key, or use it in a file"),
    rule(
        ("L009", "the address of another app is read that the package does not require"),
        Warning,
        Error,
        "add the app to requires and read its address from .apps",
    ),
    rule(
        ("L010", "the icon is no https address and too large to stand in the manifest"),
        Info,
        Warning,
        "host the icon and write its https address",
    ),
    rule(("L011", "an image has no fixed tag"), Warning, Error, "pin a tag or a digest"),
    rule(
        ("L012", "a Job has a fixed name and a pod template that changes"),
        Warning,
        Warning,
        "put a hash into the name, or annotate rewild.dev/recreate: allow",
    ),
    rule(("L013", "a pod may run as root"), Warning, Error, "set securityContext.runAsNonRoot: true"),
    rule(
        ("L014", "a container may gain privileges"),
        Warning,
        Error,
        "set securityContext.allowPrivilegeEscalation: false",
    ),
    rule(("L015", "a container keeps capabilities"), Warning, Error, "set securityContext.capabilities.drop: [ALL]"),
    rule(
        ("L016", "a pod has no seccomp profile"),
        Warning,
        Error,
        "set securityContext.seccompProfile.type: RuntimeDefault",
    ),
    rule(
        ("L017", "a container can write to its root file system"),
        Info,
        Info,
        "set securityContext.readOnlyRootFilesystem: true",
    ),
    rule(
        ("L018", "a pod asks for more than the baseline of the Pod Security Standards gives"),
        Error,
        Error,
        "do without, or let the instance grant it to the app",
    ),
    rule(
        ("L019", "a container asks for no memory or processor time"),
        Info,
        Warning,
        "set resources.requests and resources.limits",
    ),
    rule(
        ("L020", "a secret is put together with other text in the environment"),
        Warning,
        Error,
        "make the whole text a secret: a key of defaultSecrets with a template",
    ),
    rule(
        ("L021", "something of a Helm chart is left"),
        Error,
        Error,
        "name the config key, and use simple labels such as component: web",
    ),
    rule(
        ("L022", "the standard labels are missing"),
        Warning,
        Error,
        "add labels with includeSelectors and app, managedBy: kustomize, partOf: wild-cloud",
    ),
    rule(
        ("L023", "an Ingress has no host, no TLS or no address for its name"),
        Info,
        Warning,
        "add host, tls and the annotation external-dns.alpha.kubernetes.io/target",
    ),
    rule(
        ("L024", "the package holds secret values"),
        Error,
        Error,
        "name the keys in defaultSecrets and read them from <app>-secrets",
    ),
    rule(
        ("L026", "a value has another type than its place, or two readings"),
        Warning,
        Error,
        "put quotes around it, or take them away",
    ),
    rule(("L027", "an old form is used, or one that older tools do not know"), Info, Warning, "write the new form"),
    rule(
        ("L028", "the name of a generated object is used where it is not followed"),
        Error,
        Error,
        "set options.disableNameSuffixHash: true on the generator",
    ),
    rule(
        ("L029", "a script stands beside the objects"),
        Warning,
        Error,
        "express it as objects or as a Job; the script is never run",
    ),
    rule(
        ("L030", "the version is no semantic one, or stayed while files changed"),
        Info,
        Error,
        "write a version of the form 1.2.3 and raise it with every change",
    ),
    rule(("L031", "a reference names nothing that is there"), Warning, Error, "name what is there"),
    rule(
        ("L032", "a key of a required package is read that it does not offer"),
        Warning,
        Error,
        "name a key that the required package offers",
    ),
    rule(
        ("L033", "the value of a config key is repeated"),
        Info,
        Info,
        "read the config key instead of repeating its value",
    ),
    rule(
        ("L034", "something is missing that people look for"),
        Info,
        Warning,
        "add README.md, description, icon and category",
    ),
    rule(
        ("L035", "the app cannot be watched, grown or split well"),
        Info,
        Warning,
        "split the app, add a size key, add probes",
    ),
    rule(
        ("L036", "SQL of a Job fails when it runs again"),
        Info,
        Warning,
        "guard it with IF NOT EXISTS or a look-up, because a Job runs again",
    ),
    rule(
        ("L041", "a secret has a fixed default"),
        Warning,
        Error,
        "drop the default, so that everybody gets a secret of their own",
    ),
    rule(
        ("L042", "something stands in a file that only the cluster sets"),
        Warning,
        Error,
        "take it out: it is left out of what is applied",
    ),
    rule(
        ("L043", "an object names what owns it"),
        Error,
        Error,
        "take ownerReferences out: what owns an object only its cluster knows",
    ),
    rule(("L044", "an object holds a finalizer"), Error, Error, "do without, or let the instance grant it to the app"),
    rule(
        ("L045", "an object has a name or a namespace that none of its kind can have"),
        Error,
        Error,
        "write a name of lower case letters, digits and -",
    ),
];

/// Returns a rule by id.
pub fn rule_of(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// An object that the package gives.
#[derive(Clone, PartialEq, Debug)]
pub struct LintPart {
    /// The object.
    pub object: Object,
    /// File in the package.
    pub file: String,
    /// Line from 1.
    pub line: usize,
}

/// What is examined.
#[derive(Clone, Copy, Debug)]
pub struct LintInput<'a> {
    /// The package.
    pub package: &'a Package,
    /// The objects.
    pub parts: &'a [LintPart],
    /// Dotted config keys that files, defaults and secrets read.
    pub reads: &'a BTreeSet<String>,
    /// Manifests of other packages by type, where they are known.
    pub others: &'a BTreeMap<String, PackageManifest>,
}

/// Returns all findings of a package that gives objects, sorted by place.
pub fn lint(input: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    manifest::check(input, &mut findings);
    templates::check(input, &mut findings);
    pods::check(input, &mut findings);
    labels::check(input, &mut findings);
    references::check(input, &mut findings);
    names::check(input, &mut findings);
    types::check(input, &mut findings);
    metadata::check(input, &mut findings);
    findings.extend(input.package.diagnostics.iter().filter(|finding| rule_of(&finding.id).is_some()).map(judged));
    sorted(findings)
}

/// Returns a finding of another step as one of a rule, with its severity and remedy.
pub fn judged(finding: &Diagnostic) -> Diagnostic {
    let id = match finding.id.as_str() {
        "Y101" | "T312" => "L026",
        "P060" => "L032",
        id => id,
    };
    let Some(rule) = rule_of(id) else { return finding.clone() };
    let hint = if finding.hint.is_empty() { rule.fix.to_owned() } else { finding.hint.clone() };
    Diagnostic { id: id.to_owned(), severity: rule.publishing, hint, ..finding.clone() }
}

/// Sorts findings by place and id, and drops repetitions.
pub fn sorted(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    findings.sort_by(|a, b| {
        (&a.file, a.line, a.column, &a.id, &a.message).cmp(&(&b.file, b.line, b.column, &b.id, &b.message))
    });
    findings.dedup();
    findings
}

/// Returns a finding of a rule.
fn found(id: &str, file: &str, line: usize, message: impl Into<String>) -> Diagnostic {
    judged(&Diagnostic::warning(id, file, line, message))
}

/// Returns a finding about an object.
fn about(id: &str, part: &LintPart, message: impl std::fmt::Display) -> Diagnostic {
    found(id, &part.file, part.line, format!("{}: {message}", part.object.id().short()))
}

/// Returns the pod template of a workload, or the spec of a pod.
fn pod_spec(object: &Object) -> Option<&Value> {
    match object.kind() {
        "Pod" => object.at(&["spec"]),
        "CronJob" => object.at(&["spec", "jobTemplate", "spec", "template", "spec"]),
        "PodTemplate" => object.at(&["template", "spec"]),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "ReplicationController" => {
            object.at(&["spec", "template", "spec"])
        }
        _ => None,
    }
}

/// Returns the labels of the pods that a workload makes.
fn pod_labels(object: &Object) -> Option<&Map<String, Value>> {
    match object.kind() {
        "Pod" => object.at(&["metadata", "labels"]),
        "CronJob" => object.at(&["spec", "jobTemplate", "spec", "template", "metadata", "labels"]),
        "PodTemplate" => object.at(&["template", "metadata", "labels"]),
        _ => object.at(&["spec", "template", "metadata", "labels"]),
    }
    .and_then(Value::as_object)
}

/// Returns the containers of a pod, those that start it included.
fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINERS.into_iter().flat_map(|field| spec.get(field).and_then(Value::as_array).into_iter().flatten())
}

/// Returns a text in an object, or an empty one.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list in an object, or an empty one.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Calls a function with every text in a value, with the key or index it stands at. Depth is bounded by the loader.
fn each_text<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(map) => map.values().for_each(|item| each_text(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
