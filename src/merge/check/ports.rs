//! Pure. Names inside of objects: ports that probes, Services and routes name, volumes that containers mount, labels that a
//! Service looks for.
//!
//! Not here: objects that other objects name (`names`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Finding, Placed, Scene, Spot, containers, finding, list, list_at, nothing_named, only, pods, text, texts};

/// Adds what is wrong with the ports, volumes and labels of an object.
pub(super) fn look(it: &Placed, scene: &Scene, found: &mut BTreeSet<Finding>) {
    for (path, pod) in pods(&it.object) {
        in_pod(it, &path, pod, found);
    }
    match it.object.kind() {
        "Service" => in_service(it, scene, found),
        "Ingress" => {
            let paths = list_at(&it.object, &["spec", "rules"])
                .filter_map(|rule| rule.get("http"))
                .flat_map(|http| list(http, "paths"))
                .filter_map(|path| path.get("backend"))
                .map(|backend| ("spec.rules", backend));
            let default = it.object.at(&["spec", "defaultBackend"]).map(|backend| ("spec.defaultBackend", backend));
            for (field, service) in paths.chain(default).filter_map(|(field, it)| Some((field, it.get("service")?))) {
                let port = service.get("port").and_then(|port| port.get("name").or_else(|| port.get("number")));
                in_route(it, field, (text(service, "name"), port), (scene, &mut *found));
            }
        }
        "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute" => {
            for backend in list_at(&it.object, &["spec", "rules"]).flat_map(|rule| list(rule, "backendRefs")) {
                if text(backend, "kind").is_none_or(|kind| kind == "Service") {
                    in_route(it, "spec.rules", (text(backend, "name"), backend.get("port")), (scene, &mut *found));
                }
            }
        }
        _ => {}
    }
}

fn named(value: &Value, key: &str) -> Vec<String> {
    list(value, key).filter_map(|it| text(it, "name")).map(str::to_owned).collect()
}

fn in_pod(it: &Placed, path: &str, pod: &Value, found: &mut BTreeSet<Finding>) {
    let object = it.object.id().to_string();
    let claims = list_at(&it.object, &["spec", "volumeClaimTemplates"]);
    let claims = claims.filter_map(|claim| text(claim.get("metadata")?, "name")).map(str::to_owned);
    let volumes: Vec<String> = named(pod, "volumes").into_iter().chain(claims).collect();
    for (place, container) in containers(path, pod) {
        let ports = named(container, "ports");
        for (probe, port) in probes(container).into_iter().filter(|(_, port)| !ports.iter().any(|it| it == port)) {
            let others = vec![(object.clone(), format!("{place}.ports"))];
            let what = nothing_named(port, "a port of the container");
            let new = finding(it, &format!("{place}.{probe}"), what, others);
            found.insert(Finding { repair: only(&ports), ..new });
        }
        let mounts = list(container, "volumeMounts").filter_map(|mount| text(mount, "name"));
        for volume in mounts.filter(|volume| !volumes.iter().any(|it| it == volume)) {
            let others = vec![(object.clone(), format!("{path}.volumes"))];
            let what = nothing_named(volume, "a volume of the pod");
            let new = finding(it, &format!("{place}.volumeMounts"), what, others);
            found.insert(Finding { repair: only(&volumes), ..new });
        }
    }
}

/// Returns the probes of a container that name a port.
fn probes(container: &Value) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    for probe in ["readinessProbe", "livenessProbe", "startupProbe"] {
        for action in ["httpGet", "tcpSocket"] {
            let port = container.get(probe).and_then(|probe| probe.get(action)).and_then(|action| text(action, "port"));
            found.extend(port.filter(|port| port.parse::<u16>().is_err()).map(|port| (probe, port)));
        }
    }
    found
}

/// Looks for the pods of a Service and their ports.
fn in_service(it: &Placed, scene: &Scene, found: &mut BTreeSet<Finding>) {
    let selector = texts(it.object.at(&["spec", "selector"]));
    if selector.is_empty() {
        return;
    }
    let is_chosen = |other: &&Placed| {
        let path: &[&str] = match other.object.kind() {
            "Pod" => &["metadata", "labels"],
            _ => &["spec", "template", "metadata", "labels"],
        };
        let own = texts(other.object.at(path));
        !own.is_empty() && selector.iter().all(|(key, value)| own.get(key) == Some(value))
    };
    let chosen: Vec<&Placed> = scene.placed.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let shown: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let workloads = scene.placed.iter().filter(|other| !pods(&other.object).is_empty());
        let others = workloads.map(|other| (other.object.id().to_string(), "spec.template.metadata".to_owned()));
        let what = nothing_named(&shown.join(","), "the labels of a pod");
        found.insert(finding(it, "spec.selector", what, others.collect()));
        return;
    }
    let (mut names, mut others): (Vec<String>, Vec<Spot>) = (Vec::new(), Vec::new());
    for other in chosen {
        for (place, container) in pods(&other.object).iter().flat_map(|(path, pod)| containers(path, pod)) {
            names.extend(named(container, "ports"));
            others.push((other.object.id().to_string(), format!("{place}.ports")));
        }
    }
    for target in list_at(&it.object, &["spec", "ports"]).filter_map(|port| text(port, "targetPort")) {
        if target.parse::<u16>().is_err() && !names.iter().any(|name| name == target) {
            let what = nothing_named(target, "a port of its pods");
            let new = finding(it, "spec.ports", what, others.clone());
            found.insert(Finding { repair: only(&names), ..new });
        }
    }
}

/// Looks for the port of a Service that a route sends to.
fn in_route(
    it: &Placed,
    field: &str,
    (service, port): (Option<&str>, Option<&Value>),
    (scene, found): (&Scene, &mut BTreeSet<Finding>),
) {
    let (Some(service), Some(port)) = (service, port) else { return };
    let services: Vec<&Placed> = scene.named("Service", service).collect();
    let ports: Vec<&Value> = services.iter().flat_map(|it| list_at(&it.object, &["spec", "ports"])).collect();
    // A Service of another app, or one that names no ports here, says nothing.
    if ports.is_empty() {
        return;
    }
    let is_it = |known: &&Value| known.get("name") == Some(port) || known.get("port") == Some(port);
    if ports.iter().any(is_it) {
        return;
    }
    let shown = port.as_str().map_or_else(|| port.to_string(), str::to_owned);
    let others = services.iter().map(|it| (it.object.id().to_string(), "spec.ports".to_owned())).collect();
    let key = if port.is_string() { "name" } else { "port" };
    let known = ports.iter().filter_map(|it| it.get(key));
    let known: Vec<String> = known.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned)).collect();
    let what = nothing_named(&shown, &format!("a port of the Service {service}"));
    found.insert(Finding { repair: only(&known), ..finding(it, field, what, others) });
}
