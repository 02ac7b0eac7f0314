//! Defaults of pods and of pod templates.
//!
//! Not here: what admission adds to a pod (`admission.rs`).

use serde_json::{Map, Value, json};

use crate::sandbox::defaults::{fill, inner, maps};
use crate::schema::DEFAULT_PROTOCOL;

/// Access mode of files from Secrets and ConfigMaps: 0644.
const DEFAULT_FILE_MODE: u32 = 420;

/// Fills the defaults of the pod template below a workload's spec.
pub(crate) fn template_defaults(spec: &mut Map<String, Value>) {
    if let Some(pod) = inner(spec, "template").and_then(|template| inner(template, "spec")) {
        spec_defaults(pod);
    }
}

/// Fills the defaults of a pod itself, which a template does not get.
pub(crate) fn pod_defaults(spec: &mut Map<String, Value>) {
    spec_defaults(spec);
    fill(spec, "enableServiceLinks", json!(true));
    for key in ["containers", "initContainers"] {
        for container in maps(spec, key) {
            let Some(resources) = inner(container, "resources") else { continue };
            let Some(Value::Object(limits)) = resources.get("limits").cloned() else { continue };
            let requests = resources.entry("requests").or_insert_with(|| json!({}));
            if let Value::Object(requests) = requests {
                limits.into_iter().for_each(|(key, value)| fill(requests, &key, value));
            }
        }
    }
}

fn spec_defaults(spec: &mut Map<String, Value>) {
    fill(spec, "restartPolicy", json!("Always"));
    fill(spec, "terminationGracePeriodSeconds", json!(30));
    fill(spec, "dnsPolicy", json!("ClusterFirst"));
    fill(spec, "securityContext", json!({}));
    fill(spec, "schedulerName", json!("default-scheduler"));
    // The old name of the field follows the new one, and fills it if only the old one is given.
    match (spec.get("serviceAccountName").cloned(), spec.get("serviceAccount").cloned()) {
        (Some(name), _) => drop(spec.insert("serviceAccount".to_owned(), name)),
        (None, Some(name)) => drop(spec.insert("serviceAccountName".to_owned(), name)),
        (None, None) => {}
    }
    let host_network = spec.get("hostNetwork") == Some(&json!(true));
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        for container in maps(spec, key) {
            container_defaults(container, host_network);
        }
    }
    maps(spec, "volumes").for_each(volume_defaults);
}

fn container_defaults(container: &mut Map<String, Value>, host_network: bool) {
    fill(container, "terminationMessagePath", json!("/dev/termination-log"));
    fill(container, "terminationMessagePolicy", json!("File"));
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    fill(container, "imagePullPolicy", json!(policy));
    for port in maps(container, "ports") {
        fill(port, "protocol", json!(DEFAULT_PROTOCOL));
        if let (true, Some(own)) = (host_network, port.get("containerPort").cloned()) {
            fill(port, "hostPort", own);
        }
    }
    for variable in maps(container, "env") {
        if let Some(field) = inner(variable, "valueFrom").and_then(|from| inner(from, "fieldRef")) {
            fill(field, "apiVersion", json!("v1"));
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = inner(container, key) else { continue };
        fill(probe, "timeoutSeconds", json!(1));
        fill(probe, "periodSeconds", json!(10));
        fill(probe, "successThreshold", json!(1));
        fill(probe, "failureThreshold", json!(3));
        if let Some(get) = inner(probe, "httpGet") {
            get_defaults(get);
        }
        if let Some(call) = inner(probe, "grpc") {
            fill(call, "service", json!(""));
        }
    }
    for key in ["postStart", "preStop"] {
        let hook = inner(container, "lifecycle").and_then(|lifecycle| inner(lifecycle, key));
        if let Some(get) = hook.and_then(|hook| inner(hook, "httpGet")) {
            get_defaults(get);
        }
    }
}

fn get_defaults(get: &mut Map<String, Value>) {
    fill(get, "path", json!("/"));
    fill(get, "scheme", json!("HTTP"));
}

/// Returns whether an image is named by the tag `latest` or by none.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or("");
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn volume_defaults(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for key in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = inner(volume, key) {
            fill(source, "defaultMode", json!(DEFAULT_FILE_MODE));
        }
    }
    if let Some(path) = inner(volume, "hostPath") {
        fill(path, "type", json!(""));
    }
    if let Some(source) = inner(volume, "downwardAPI") {
        items_defaults(source);
    }
    if let Some(projected) = inner(volume, "projected") {
        for source in maps(projected, "sources") {
            if let Some(token) = inner(source, "serviceAccountToken") {
                fill(token, "expirationSeconds", json!(3_600));
            }
            if let Some(source) = inner(source, "downwardAPI") {
                items_defaults(source);
            }
        }
    }
}

fn items_defaults(source: &mut Map<String, Value>) {
    for item in maps(source, "items") {
        if let Some(field) = inner(item, "fieldRef") {
            fill(field, "apiVersion", json!("v1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn an_image_without_a_fixed_tag_is_pulled_every_time() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.2", false),
            ("host:5000/nginx", true),
            ("host:5000/nginx:1", false),
            ("nginx@sha256:abc", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
