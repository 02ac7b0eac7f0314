//! Pure. Rules about pods: what they may do, which images they run, what they ask for.
//!
//! Not here: labels and selectors (`labels.rs`), whether what they name is there (`references.rs`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{LintInput, LintPart, about, containers, each_text, list, pod_spec, text};
use crate::model::Diagnostic;
use crate::schema::{self, Privilege};

/// Tags that another image will have tomorrow.
const FLOATING: [&str; 7] = ["", "latest", "main", "master", "release", "stable", "edge"];
/// Annotation that lets a Job be deleted and made again.
const RECREATE: &str = "rewild.dev/recreate";

/// Checks all pods.
pub(super) fn check(input: &LintInput<'_>, findings: &mut Vec<Diagnostic>) {
    for part in input.parts {
        privileges(part, findings);
        if let Some(spec) = pod_spec(&part.object) {
            pod(part, spec, findings);
            for container in containers(spec) {
                one(part, spec, container, findings);
            }
            job(input, part, findings);
        }
    }
}

fn pod(part: &LintPart, spec: &Value, findings: &mut Vec<Diagnostic>) {
    let is_server = matches!(part.object.kind(), "Deployment" | "StatefulSet");
    let probed = list(spec, "containers").iter().any(|container| {
        ["readinessProbe", "livenessProbe", "startupProbe"].iter().any(|probe| container.get(probe).is_some())
    });
    if is_server && !probed {
        findings.push(about("L035", part, "no container has a probe"));
    }
}

fn one(part: &LintPart, spec: &Value, container: &Value, findings: &mut Vec<Diagnostic>) {
    let name = text(container, "name");
    let mut say = |id: &str, what: String| findings.push(about(id, part, format!("container {name} {what}")));
    let image = text(container, "image");
    if FLOATING.contains(&tag(image)) && !image.contains('@') {
        say("L011", format!("runs {image}, which will be another image tomorrow"));
    }
    // What the pod says counts for containers that say nothing.
    let own = container.get("securityContext");
    let of_pod = spec.get("securityContext");
    let set = |field: &str| own.and_then(|own| own.get(field)).or_else(|| of_pod.and_then(|pod| pod.get(field)));
    let only = |field: &str| own.and_then(|own| own.get(field));
    if set("runAsNonRoot").and_then(Value::as_bool) != Some(true) {
        say("L013", "may run as root".to_owned());
    }
    if only("allowPrivilegeEscalation").and_then(Value::as_bool) != Some(false) {
        say("L014", "may gain privileges".to_owned());
    }
    let capabilities = only("capabilities").unwrap_or(&Value::Null);
    if !list(capabilities, "drop").iter().any(|it| it.as_str().is_some_and(|it| it.eq_ignore_ascii_case("all"))) {
        say("L015", "keeps capabilities".to_owned());
    }
    let profile = set("seccompProfile").map(|profile| text(profile, "type")).unwrap_or_default();
    if !matches!(profile, "RuntimeDefault" | "Localhost") {
        say("L016", "has no seccomp profile".to_owned());
    }
    if only("readOnlyRootFilesystem").and_then(Value::as_bool) != Some(true) {
        say("L017", "may write into its image".to_owned());
    }
    let asks = |field: &str| {
        container
            .get("resources")
            .and_then(|it| it.get(field))
            .and_then(Value::as_object)
            .is_some_and(|it| !it.is_empty())
    };
    if !asks("requests") || !asks("limits") {
        say("L019", "has no requests or no limits".to_owned());
    }
    for variable in interpolated_secrets(container) {
        say("L020", format!("puts a secret together in the variable {variable}"));
    }
}

/// Checks what the pods of an object ask of the machine, whatever its kind.
fn privileges(part: &LintPart, findings: &mut Vec<Diagnostic>) {
    for Privilege { control, container, what } in schema::privileges(&part.object) {
        let who = if container.is_empty() { "its pod".to_owned() } else { format!("container {container}") };
        let finding = about("L018", part, format!("{who} asks for {what}"));
        findings.push(Diagnostic { subject: control.word().to_owned(), ..finding });
    }
}

/// Returns the tag of an image, empty if it has none.
fn tag(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split('@').next().unwrap_or(name).split_once(':').map_or("", |(_, tag)| tag)
}

/// Returns the variables whose text holds `$(NAME)` of a variable that comes from a Secret.
fn interpolated_secrets(container: &Value) -> Vec<&str> {
    let variables = list(container, "env");
    let secret: BTreeSet<&str> = variables
        .iter()
        .filter(|variable| variable.get("valueFrom").and_then(|from| from.get("secretKeyRef")).is_some())
        .map(|variable| text(variable, "name"))
        .collect();
    let uses = |variable: &&Value| {
        let value = text(variable, "value");
        secret.iter().any(|name| value.contains(&format!("$({name})")))
    };
    variables.iter().filter(uses).map(|variable| text(variable, "name")).collect()
}

/// A Job cannot be changed: one whose pods depend on config or image fails at its first update.
fn job(input: &LintInput<'_>, part: &LintPart, findings: &mut Vec<Diagnostic>) {
    let object = &part.object;
    if object.kind() != "Job" || object.annotation(RECREATE) == Some("allow") {
        return;
    }
    let Some(source) = input.package.files.text(&part.file) else { return };
    let Some((head, template)) = source.split_once("template:") else { return };
    let has_hash = head.lines().any(|line| line.trim_start().starts_with("name:") && line.contains("{{"));
    if template.contains("{{") && !has_hash {
        findings.push(about("L012", part, "its pods depend on config, and a Job cannot be changed"));
    }
    let mut commands = Vec::new();
    if let Some(spec) = pod_spec(object) {
        each_text(spec, &mut |text| commands.push(text));
    }
    if commands.iter().any(|text| makes_without_guard(text)) {
        findings.push(about("L036", part, "it makes a database, user or table without looking whether it is there"));
    }
}

fn makes_without_guard(text: &str) -> bool {
    let upper = text.to_uppercase();
    let makes = ["CREATE DATABASE", "CREATE USER", "CREATE ROLE", "CREATE TABLE"].iter().any(|it| upper.contains(it));
    let guards =
        ["NOT EXISTS", "|| TRUE", "PG_DATABASE", "PG_ROLES", "PG_USER", "\\GEXEC", "SHOW DATABASES", "IF !", "IF !"];
    makes && !guards.iter().any(|guard| upper.contains(guard))
}
