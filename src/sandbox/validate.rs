//! Refusals of objects that the API server calls invalid: required fields, fields that may not change.
//!
//! Only what clients run into; a full validation is the real server's.
//!
//! Not here: names and labels (`names.rs`), unknown fields and wrong types (`canon.rs`).

use serde_json::{Value, json};

use crate::model::Object;
use crate::sandbox::failure::Cause;
use crate::sandbox::names::{check_labels, check_name};
use crate::sandbox::write::{map_of, metadata_text};
use crate::schema::{Kind, fixed_part, immutable_paths, quantity};

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const STATEFUL_SET_CHANGE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// Returns what is wrong with a new object.
pub(crate) fn validate_new(object: &Value, kind: &Kind) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_name(object, kind, &mut causes);
    check_labels(object, &mut causes);
    check_content(object, kind, &mut causes);
    causes
}

/// Returns what is wrong with a change.
pub(crate) fn validate_change(live: &Value, object: &Value, kind: &Kind, subresource: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let uid = metadata_text(object, "uid");
    if uid != metadata_text(live, "uid") && !uid.is_empty() {
        // The API server checks metadata twice.
        let cause = Cause::invalid("metadata.uid", &json!(uid), "field is immutable");
        return vec![cause.clone(), cause];
    }
    if !subresource.is_empty() {
        return causes;
    }
    check_finalizers(live, object, &mut causes);
    check_labels(object, &mut causes);
    // Kinds that hold a pod template are checked as a whole before what may not change.
    if matches!(kind.group, "apps" | "batch") {
        check_content(object, kind, &mut causes);
        check_immutable(live, object, kind, &mut causes);
    } else {
        check_immutable(live, object, kind, &mut causes);
        check_content(object, kind, &mut causes);
    }
    causes
}

/// An object that is being deleted takes no further finalizers.
fn check_finalizers(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let list = |object: &Value| -> Vec<String> {
        let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let before = list(live);
    let new: Vec<String> =
        list(object).into_iter().filter(|name| !before.contains(name)).map(|name| format!("{name:?}")).collect();
    if !new.is_empty() && !metadata_text(live, "deletionTimestamp").is_empty() {
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            new.join(", ")
        );
        let cause = Cause::forbidden("metadata.finalizers", &why);
        causes.extend([cause.clone(), cause]);
    }
}

fn check_content(object: &Value, kind: &Kind, causes: &mut Vec<Cause>) {
    match (kind.group, kind.kind) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => check_workload(object, causes),
        ("batch", "Job") => check_pod(object.pointer("/spec/template/spec"), "spec.template.spec", &[], causes),
        ("", "Pod") => check_pod(object.get("spec"), "spec", &[], causes),
        ("", "Service") => check_service(object, causes),
        ("", "ConfigMap") => check_keys(object, causes),
        ("", "Secret") => {
            check_keys(object, causes);
            check_secret(object, causes);
        }
        _ => {}
    }
}

fn check_workload(object: &Value, causes: &mut Vec<Cause>) {
    if let Some(replicas) = object.pointer("/spec/replicas").filter(|it| it.as_i64().is_some_and(|it| it < 0)) {
        causes.push(Cause::invalid("spec.replicas", replicas, NOT_NEGATIVE));
    }
    const MISMATCH: &str = "`selector` does not match template `labels`";
    let labels = object.pointer("/spec/template/metadata/labels").cloned().unwrap_or(Value::Null);
    match object.pointer("/spec/selector") {
        None | Some(Value::Null) => {
            causes.push(Cause::required("spec.selector", ""));
            causes.push(Cause::invalid("spec.template.metadata.labels", &labels, MISMATCH));
        }
        Some(selector) => {
            let wanted = map_of(selector, "matchLabels").cloned().unwrap_or_default();
            if wanted.is_empty() && selector.get("matchExpressions").is_none() {
                let why = "empty selector is invalid for deployment";
                causes.push(Cause::invalid("spec.selector", selector, why));
            }
            if wanted.iter().any(|(key, value)| labels.get(key) != Some(value)) {
                causes.push(Cause::invalid("spec.template.metadata.labels", &labels, MISMATCH));
            }
        }
    }
    let claims = object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    let claims: Vec<&str> = claims.into_iter().flatten().map(|claim| metadata_text(claim, "name")).collect();
    check_pod(object.pointer("/spec/template/spec"), "spec.template.spec", &claims, causes);
    if object.get("kind") == Some(&json!("Deployment")) {
        check_strategy(object, causes);
    }
}

fn check_strategy(object: &Value, causes: &mut Vec<Cause>) {
    let strategy = object.pointer("/spec/strategy").unwrap_or(&Value::Null);
    if strategy.get("type") == Some(&json!("Recreate")) && strategy.get("rollingUpdate").is_some() {
        let why = "may not be specified when strategy `type` is 'Recreate'";
        causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
    }
}

/// Checks a pod; claims are volumes that it gets from elsewhere.
fn check_pod(spec: Option<&Value>, at: &str, claims: &[&str], causes: &mut Vec<Cause>) {
    let containers = spec.and_then(|spec| spec.get("containers")).and_then(Value::as_array);
    let Some(containers) = containers.filter(|list| !list.is_empty()) else {
        causes.push(Cause::required(&format!("{at}.containers"), ""));
        return;
    };
    let volumes: Vec<&str> = spec
        .and_then(|spec| spec.get("volumes"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|volume| volume.get("name")?.as_str())
        .chain(claims.iter().copied())
        .collect();
    for (index, container) in containers.iter().enumerate() {
        let at = format!("{at}.containers[{index}]");
        let text = |key: &str| container.get(key).and_then(Value::as_str).unwrap_or("");
        if text("name").is_empty() {
            causes.push(Cause::required(&format!("{at}.name"), ""));
        }
        if text("image").is_empty() {
            causes.push(Cause::required(&format!("{at}.image"), ""));
        }
        for (index, mount) in container.get("volumeMounts").and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            let name = mount.get("name").and_then(Value::as_str).unwrap_or("");
            if !volumes.contains(&name) {
                let field = format!("{at}.volumeMounts[{index}].name");
                let message = format!("Not found: {name:?}");
                causes.push(Cause { reason: "FieldValueNotFound", message, field });
            }
        }
        for (index, variable) in container.get("env").and_then(Value::as_array).into_iter().flatten().enumerate() {
            if variable.get("name").and_then(Value::as_str).unwrap_or("").is_empty() {
                causes.push(Cause::required(&format!("{at}.env[{index}].name"), ""));
            }
        }
        check_resources(container, &at, causes);
    }
}

fn check_resources(container: &Value, at: &str, causes: &mut Vec<Cause>) {
    let limits = container.pointer("/resources/limits").and_then(Value::as_object);
    let requests = container.pointer("/resources/requests").and_then(Value::as_object);
    for (key, request) in requests.into_iter().flatten() {
        let limit = limits.and_then(|limits| limits.get(key)).and_then(Value::as_str);
        let Some((limit, text)) = limit.zip(request.as_str()) else { continue };
        if quantity::amount(text).zip(quantity::amount(limit)).is_some_and(|(text, limit)| text > limit) {
            let why = format!("must be less than or equal to {key} limit of {limit}");
            causes.push(Cause::invalid(&format!("{at}.resources.requests"), request, &why));
        }
    }
}

fn check_service(object: &Value, causes: &mut Vec<Cause>) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let ports = object.pointer("/spec/ports").and_then(Value::as_array);
    let headless = text("/spec/clusterIP") == "None" || text("/spec/type") == "ExternalName";
    if ports.is_none_or(Vec::is_empty) && !headless {
        causes.push(Cause::required("spec.ports", ""));
    }
    let name_of = |port: &Value| port.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
    let mut names: Vec<String> = Vec::new();
    let several = ports.is_some_and(|ports| ports.len() > 1);
    for (index, port) in ports.into_iter().flatten().enumerate() {
        if several && port.get("name").is_none() {
            causes.push(Cause::required(&format!("spec.ports[{index}].name"), ""));
        }
        if !name_of(port).is_empty() && names.contains(&name_of(port)) {
            causes.push(Cause::duplicate(&format!("spec.ports[{index}].name"), &json!(name_of(port))));
        }
        names.push(name_of(port));
        if port.get("port").and_then(Value::as_i64).is_none_or(|port| !(1..=65_535).contains(&port)) {
            let value = port.get("port").unwrap_or(&Value::Null);
            let why = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(&format!("spec.ports[{index}].port"), value, why));
        }
        let target = port.get("targetPort").and_then(Value::as_i64);
        if let Some(target) = target.filter(|port| !(1..=65_535).contains(port)) {
            let why = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(&format!("spec.ports[{index}].targetPort"), &json!(target), why));
        }
    }
    check_ports_differ(ports.map_or(&[], Vec::as_slice), causes);
}

/// No two ports have one number and protocol.
fn check_ports_differ(ports: &[Value], causes: &mut Vec<Cause>) {
    let mut seen = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (port.get("protocol"), port.get("port"));
        if seen.contains(&(protocol, number)) {
            let text = |value: Option<&Value>| value.unwrap_or(&Value::Null).to_string();
            // Printed as the server's own structure of a port, in which only these two are set.
            let shown = format!(
                r#"{{"Name":"","Protocol":{},"AppProtocol":null,"Port":{},"TargetPort":0,"NodePort":0}}"#,
                text(protocol),
                text(number)
            );
            let message = format!("Duplicate value: {shown}");
            causes.push(Cause { reason: "FieldValueDuplicate", message, field: format!("spec.ports[{index}]") });
        }
        seen.push((protocol, number));
    }
}

fn check_keys(object: &Value, causes: &mut Vec<Cause>) {
    const WHY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    for (key, _) in map_of(object, "data").into_iter().flatten() {
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            causes.push(Cause::invalid(&format!("data[{key}]"), &json!(key), WHY));
        }
    }
}

/// Some types of Secrets have keys that must be there.
fn check_secret(secret: &Value, causes: &mut Vec<Cause>) {
    let data = map_of(secret, "data");
    let needs: &[&str] = match secret.get("type").and_then(Value::as_str) {
        Some("kubernetes.io/basic-auth")
            if data.is_none_or(|data| !data.contains_key("username") && !data.contains_key("password")) =>
        {
            &["username", "password"]
        }
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/dockerconfigjson") => &[".dockerconfigjson"],
        _ => &[],
    };
    for key in needs.iter().filter(|key| data.is_none_or(|data| !data.contains_key(**key))) {
        causes.push(Cause::required(&format!("data[{key}]"), ""));
    }
}

fn check_immutable(live: &Value, object: &Value, kind: &Kind, causes: &mut Vec<Cause>) {
    let at = |object: &Value, path: &[&str]| path.iter().try_fold(object, |value, step| value.get(step)).cloned();
    if kind.kind == "StatefulSet" && kind.group == "apps" {
        if immutable_paths(kind.group, kind.kind).iter().any(|path| at(live, path) != at(object, path)) {
            causes.push(Cause::forbidden("spec", STATEFUL_SET_CHANGE));
        }
        return;
    }
    if kind.kind == "PersistentVolumeClaim" {
        check_claim(live, object, causes);
        return;
    }
    if kind.kind == "Pod" {
        check_pod_change(live, object, causes);
        return;
    }
    let Some(next) = Object::from_value(object.clone()) else { return };
    for path in immutable_paths(kind.group, kind.kind) {
        let (before, after) = (at(live, path), at(object, path));
        let fixed = |value: &Option<Value>| value.as_ref().and_then(|value| fixed_part(&next, path, value));
        if fixed(&before) == fixed(&after) {
            continue;
        }
        let value = after.unwrap_or(Value::Null);
        causes.push(match path {
            ["value"] => Cause::forbidden("value", "may not be changed in an update."),
            ["spec", "template"] => Cause::invalid("spec.template.spec", &value, "field is immutable"),
            ["roleRef"] => Cause::invalid("roleRef", &value, "cannot change roleRef"),
            ["spec", "clusterIP"] => Cause::invalid("spec.clusterIPs[0]", &json!([value]), "may not change once set"),
            _ => Cause::invalid(&path.join("."), &value, "field is immutable"),
        });
    }
    if matches!(kind.kind, "ConfigMap" | "Secret") && live.get("immutable") == Some(&json!(true)) {
        if object.get("immutable") != Some(&json!(true)) {
            causes.push(Cause::forbidden("immutable", "field is immutable when `immutable` is set"));
        }
        if live.get("data") != object.get("data") {
            causes.push(Cause::forbidden("data", "field is immutable when `immutable` is set"));
        }
    }
}

/// Of a pod hardly anything may be changed once it is there.
fn check_pod_change(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    let bare = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        for key in ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"] {
            leave_out(&mut spec, key);
        }
        for key in ["containers", "initContainers"] {
            for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                leave_out(container, "image");
            }
        }
        spec
    };
    if bare(live) != bare(object) {
        causes.push(Cause::forbidden("spec", WHY));
    }
}

fn leave_out(value: &mut Value, key: &str) {
    if let Value::Object(map) = value {
        map.shift_remove(key);
    }
}

fn check_claim(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    const WHY: &str =
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    let bare = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(map) = &mut spec {
            // Only a bound claim may ask for more.
            if live.pointer("/status/phase") == Some(&json!("Bound")) {
                map.shift_remove("resources");
            }
            // A claim that is being bound gets its volume's name.
            if live.pointer("/spec/volumeName").is_none() {
                map.shift_remove("volumeName");
            }
        }
        spec
    };
    if bare(live) != bare(object) {
        causes.push(Cause::forbidden("spec", WHY));
    }
}
