//! Pure. What the pods of an object may do to the machine that they run on: one control for each row of the baseline level of Kubernetes'
//! Pod Security Standards.
//!
//! Whatever holds a list of containers is a pod, of whatever kind the object is: templates and custom kinds make pods as well. A value that is
//! not known to be harmless counts as one that is not. Not here: who may (`package::lint`), what is new (`merge`, `package::breaking`).

use serde_json::{Map, Value};

use crate::model::Object;

/// Lists of containers of a pod.
pub const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// Annotations by which older manifests choose an AppArmor profile, followed by the name of a container.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The annotation by which older manifests choose a seccomp profile of a pod.
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The same for a container, followed by its name.
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// Profiles that shut a container in.
const PROFILES: [&str; 2] = ["RuntimeDefault", "Localhost"];
/// SELinux types of ordinary containers.
const SELINUX_TYPES: [&str; 5] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
/// Settings of the kernel that reach no further than the pod.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];
/// Probes and hooks of a container, each with the fields below which a host may be named.
const HANDLERS: [&[&str]; 5] = [
    &["livenessProbe"],
    &["readinessProbe"],
    &["startupProbe"],
    &["lifecycle", "postStart"],
    &["lifecycle", "preStop"],
];

/// One thing that a pod may ask of the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Control {
    /// Processes of the host, on Windows.
    HostProcess,
    /// The network of the machine.
    HostNetwork,
    /// The processes of the machine.
    HostPid,
    /// Its shared memory.
    HostIpc,
    /// Everything.
    Privileged,
    /// Capabilities beyond those that the runtime gives.
    Capabilities,
    /// Directories of the machine.
    HostPath,
    /// Ports of the machine.
    HostPort,
    /// Probes and hooks that the machine sends to another host.
    HostProbe,
    /// No AppArmor profile.
    AppArmor,
    /// Another SELinux label.
    SeLinux,
    /// The whole of /proc.
    ProcMount,
    /// No seccomp profile.
    Seccomp,
    /// Settings of the kernel.
    Sysctls,
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::HostProcess,
        Self::HostNetwork,
        Self::HostPid,
        Self::HostIpc,
        Self::Privileged,
        Self::Capabilities,
        Self::HostPath,
        Self::HostPort,
        Self::HostProbe,
        Self::AppArmor,
        Self::SeLinux,
        Self::ProcMount,
        Self::Seccomp,
        Self::Sysctls,
    ];

    /// Returns the word by which a grant names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::HostProcess => "hostProcess",
            Self::HostNetwork => "hostNetwork",
            Self::HostPid => "hostPID",
            Self::HostIpc => "hostIPC",
            Self::Privileged => "privileged",
            Self::Capabilities => "capabilities",
            Self::HostPath => "hostPath",
            Self::HostPort => "hostPort",
            Self::HostProbe => "hostProbe",
            Self::AppArmor => "appArmor",
            Self::SeLinux => "seLinux",
            Self::ProcMount => "procMount",
            Self::Seccomp => "seccomp",
            Self::Sysctls => "sysctls",
        }
    }
}

/// Something that a pod asks of the machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Privilege {
    /// Which control it is about.
    pub control: Control,
    /// Name of the container that asks; empty where it is the pod.
    pub container: String,
    /// What is asked for, such as `hostNetwork` or `the path /x of the machine`.
    pub what: String,
}

/// A pod in an object.
struct Pod<'a> {
    spec: &'a Map<String, Value>,
    annotations: Option<&'a Map<String, Value>>,
}

/// Returns everything that the pods of an object ask of the machine, in order of place.
pub fn privileges(object: &Object) -> Vec<Privilege> {
    let mut pods = Vec::new();
    // A definition holds schemas, which are no pods.
    if object.kind() != "CustomResourceDefinition" {
        below(&object.0, &mut pods);
    }
    let mut found = Vec::new();
    for pod in &pods {
        of_pod(pod, &mut found);
        of_annotations(pod, &mut found);
        for container in containers(pod.spec) {
            of_container(container, &mut found);
        }
    }
    found
}

/// Finds the pods below a map. Depth is bounded by the loader.
fn below<'a>(map: &'a Map<String, Value>, pods: &mut Vec<Pod<'a>>) {
    for value in map.values() {
        match value {
            Value::Object(inner) => {
                if is_pod(inner) {
                    let annotations = map.get("metadata").and_then(|it| it.get("annotations")?.as_object());
                    pods.push(Pod { spec: inner, annotations });
                }
                below(inner, pods);
            }
            Value::Array(items) => items.iter().filter_map(Value::as_object).for_each(|item| below(item, pods)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn is_pod(map: &Map<String, Value>) -> bool {
    CONTAINERS
        .iter()
        .any(|list| map.get(*list).and_then(Value::as_array).is_some_and(|it| it.iter().any(Value::is_object)))
}

fn containers(spec: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    CONTAINERS.into_iter().flat_map(|list| items(spec.get(list)))
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a value as it is shown; one of another type than it should be is shown as it is written.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a value that is there and none of those that are harmless.
fn beyond<'a>(value: Option<&'a Value>, harmless: &[&str]) -> Option<&'a Value> {
    value.filter(|value| !value.is_null() && !value.as_str().is_some_and(|text| harmless.contains(&text)))
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

fn of_pod(pod: &Pod<'_>, found: &mut Vec<Privilege>) {
    let mut say = |control, what| found.push(Privilege { control, container: String::new(), what });
    for control in [Control::HostNetwork, Control::HostPid, Control::HostIpc] {
        if is_true(pod.spec.get(control.word())) {
            say(control, control.word().to_owned());
        }
    }
    for volume in items(pod.spec.get("volumes")) {
        if let Some(source) = volume.get("hostPath").filter(|source| !source.is_null()) {
            say(Control::HostPath, format!("the path {} of the machine", text(source, "path")));
        }
    }
    let Some(context) = pod.spec.get("securityContext") else { return };
    for sysctl in items(context.get("sysctls")) {
        if let Some(name) = beyond(sysctl.get("name"), &SYSCTLS) {
            say(Control::Sysctls, format!("the sysctl {}", shown(name)));
        }
    }
    of_context(context, &mut say);
}

fn of_container(container: &Value, found: &mut Vec<Privilege>) {
    let name = text(container, "name");
    let mut say = |control, what| found.push(Privilege { control, container: name.to_owned(), what });
    for port in items(container.get("ports")) {
        if let Some(number) = beyond(port.get("hostPort"), &[]).filter(|number| number.as_u64() != Some(0)) {
            say(Control::HostPort, format!("the port {} of the machine", shown(number)));
        }
    }
    for path in HANDLERS {
        let handler = path.iter().try_fold(container, |value, key| value.get(*key));
        for action in ["httpGet", "tcpSocket"] {
            let host = handler.and_then(|handler| handler.get(action)?.get("host"));
            if let Some(host) = beyond(host, &[""]) {
                say(Control::HostProbe, format!("{} by the machine at {}", path.join("."), shown(host)));
            }
        }
    }
    let Some(context) = container.get("securityContext") else { return };
    if is_true(context.get("privileged")) {
        say(Control::Privileged, Control::Privileged.word().to_owned());
    }
    for capability in items(context.get("capabilities").and_then(|it| it.get("add"))) {
        say(Control::Capabilities, format!("the capability {}", shown(capability)));
    }
    if let Some(mount) = beyond(context.get("procMount"), &["Default"]) {
        say(Control::ProcMount, format!("the proc mount {}", shown(mount)));
    }
    of_context(context, &mut say);
}

/// Finds what pods and containers ask for in the same way.
fn of_context(context: &Value, say: &mut impl FnMut(Control, String)) {
    if is_true(context.pointer("/windowsOptions/hostProcess")) {
        say(Control::HostProcess, Control::HostProcess.word().to_owned());
    }
    for (field, control, what) in
        [("seccompProfile", Control::Seccomp, "seccomp"), ("appArmorProfile", Control::AppArmor, "AppArmor")]
    {
        let chosen = context.get(field).and_then(|profile| profile.get("type"));
        if let Some(chosen) = beyond(chosen, &PROFILES) {
            say(control, format!("the {what} profile {}", shown(chosen)));
        }
    }
    for (field, harmless) in [("type", &SELINUX_TYPES[..]), ("user", &[""]), ("role", &[""])] {
        let chosen = context.get("seLinuxOptions").and_then(|options| options.get(field));
        if let Some(chosen) = beyond(chosen, harmless) {
            say(Control::SeLinux, format!("the SELinux {field} {}", shown(chosen)));
        }
    }
}

fn of_annotations(pod: &Pod<'_>, found: &mut Vec<Privilege>) {
    for (key, value) in pod.annotations.into_iter().flatten() {
        let (control, what, container, harmless): (_, _, _, &[&str]) = if let Some(name) = key.strip_prefix(APP_ARMOR) {
            (Control::AppArmor, "AppArmor", name, &["", "runtime/default"])
        } else if let Some(name) = key.strip_prefix(SECCOMP_OF_CONTAINER) {
            (Control::Seccomp, "seccomp", name, &["runtime/default", "docker/default"])
        } else if key == SECCOMP_OF_POD {
            (Control::Seccomp, "seccomp", "", &["runtime/default", "docker/default"])
        } else {
            continue;
        };
        let is_local = |value: &&Value| value.as_str().is_some_and(|text| text.starts_with("localhost/"));
        if let Some(chosen) = beyond(Some(value), harmless).filter(|value| !is_local(value)) {
            let what = format!("the {what} profile {}", shown(chosen));
            found.push(Privilege { control, container: container.to_owned(), what });
        }
    }
}

#[cfg(test)]
mod tests;
