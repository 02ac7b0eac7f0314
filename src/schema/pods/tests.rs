//! Pure. One row for each control of the baseline level, with what it finds and near misses, in every place where a pod may stand.
//!
//! Not here: how bad a finding is (`compile::lint`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// Where a field stands.
#[derive(Clone, Copy)]
enum Part {
    Spec,
    Annotations,
    Container,
}

use Part::{Annotations, Container, Spec};

/// A control, where its fields stand, what it finds and what it leaves alone.
type Row = (Control, Part, Vec<Value>, Vec<Value>);

fn context(value: Value) -> Value {
    json!({"securityContext": value})
}

fn profiles(field: &str) -> (Vec<Value>, Vec<Value>) {
    let profile = |kind: Value| context(json!({field: {"type": kind}}));
    let bad = [json!("Unconfined"), json!("unconfined"), json!(""), json!(5)].map(profile);
    let good = [json!("RuntimeDefault"), json!("Localhost"), Value::Null].map(profile);
    (bad.into(), good.into())
}

fn annotations(key: &str, bad: &[&str], good: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let all = |values: &[&str]| values.iter().map(|value| json!({key: value})).collect();
    (all(bad), all(good))
}

fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for control in [Control::HostNetwork, Control::HostPid, Control::HostIpc] {
        let set = |value: Value| json!({control.word(): value});
        rows.push((control, Spec, vec![set(json!(true))], vec![set(json!(false)), set(Value::Null)]));
    }
    for part in [Spec, Container] {
        let windows = |value: Value| context(json!({"windowsOptions": {"hostProcess": value}}));
        rows.push((Control::HostProcess, part, vec![windows(json!(true))], vec![windows(json!(false))]));
        for (control, field) in [(Control::Seccomp, "seccompProfile"), (Control::AppArmor, "appArmorProfile")] {
            let (bad, good) = profiles(field);
            rows.push((control, part, bad, good));
        }
        let label = |value: Value| context(json!({"seLinuxOptions": value}));
        let bad = [json!({"type": "spc_t"}), json!({"user": "root"}), json!({"role": "sysadm_r"})].map(label);
        let good = [json!({"type": "container_t"}), json!({"type": "", "user": "", "role": "", "level": "s0:c1,c2"})];
        rows.push((Control::SeLinux, part, bad.into(), good.map(label).into()));
    }
    let privileged = |value: bool| context(json!({"privileged": value}));
    rows.push((Control::Privileged, Container, vec![privileged(true)], vec![privileged(false)]));
    let capabilities = |value: Value| context(json!({"capabilities": value}));
    let bad = [json!({"add": ["SYS_ADMIN"]}), json!({"drop": ["ALL"], "add": ["ALL"]}), json!({"add": ["KILL"]})];
    let good = [json!({"drop": ["ALL"]}), json!({"add": []})].map(capabilities);
    rows.push((Control::Capabilities, Container, bad.map(capabilities).into(), good.into()));
    let volume = |source: Value| json!({"volumes": [{"name": "a", "emptyDir": {}}, source]});
    let bad = [json!({"hostPath": {"path": "/"}}), json!({"hostPath": {}})].map(volume);
    rows.push((Control::HostPath, Spec, bad.into(), vec![volume(json!({"name": "b", "hostPath": null}))]));
    let port = |value: Value| json!({"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": value}]});
    let (bad, good) = ([json!(81), json!("81")].map(port), [json!(0), Value::Null].map(port));
    rows.push((Control::HostPort, Container, bad.into(), good.into()));
    rows.push(probes());
    let mount = |value: &str| context(json!({"procMount": value}));
    rows.push((Control::ProcMount, Container, vec![mount("Unmasked"), mount("")], vec![mount("Default")]));
    let sysctl = |name: &str| context(json!({"sysctls": [{"name": name, "value": "1"}]}));
    let bad = ["kernel.msgmax", "net.core.somaxconn", "net/ipv4/tcp_syncookies"].map(sysctl);
    rows.push((Control::Sysctls, Spec, bad.into(), SYSCTLS.map(sysctl).into()));
    let bad = ["unconfined", "Unconfined", "other"];
    let (found, left) = annotations(&format!("{APP_ARMOR}main"), &bad, &["runtime/default", "localhost/mine", ""]);
    rows.push((Control::AppArmor, Annotations, found, left));
    for key in [SECCOMP_OF_POD.to_owned(), format!("{SECCOMP_OF_CONTAINER}main")] {
        let (found, left) = annotations(&key, &bad, &["runtime/default", "docker/default", "localhost/mine"]);
        rows.push((Control::Seccomp, Annotations, found, left));
    }
    rows
}

fn probes() -> Row {
    let on = |path: &[&str], action: &str, host: &str| {
        let handler = json!({action: {"host": host, "port": 80}});
        path.iter().rev().fold(handler, |inner, key| json!({*key: inner}))
    };
    let all = |host: &str| -> Vec<Value> {
        HANDLERS.iter().flat_map(|path| ["httpGet", "tcpSocket"].map(|action| on(path, action, host))).collect()
    };
    (Control::HostProbe, Container, all("169.254.169.254"), all(""))
}

/// Returns a template of a pod with a part in it, in a list of containers where it is one of a container.
fn template(part: Part, value: &Value, list: &str) -> Value {
    let mut container = json!({"name": "main", "image": "a"});
    let mut spec = json!({"containers": [{"name": "first", "image": "b"}]});
    let mut annotations = json!({});
    let into = match part {
        Spec => &mut spec,
        Annotations => &mut annotations,
        Container => &mut container,
    };
    into.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    let mut all: Vec<Value> = spec.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    all.push(container);
    spec[list] = Value::Array(all);
    json!({"metadata": {"annotations": annotations}, "spec": spec})
}

/// Returns objects of every kind that holds a template of a pod.
fn objects(template: &Value) -> Vec<Object> {
    let in_spec = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "Rollout"];
    let mut all: Vec<Value> =
        in_spec.iter().map(|kind| json!({"kind": kind, "spec": {"template": template}})).collect();
    all.push(json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": template}}}}));
    all.push(json!({"kind": "PodTemplate", "template": template}));
    all.push(json!({"kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}));
    all.push(json!({"kind": "Cluster", "spec": {"groups": [{"size": 1, "pod": template}]}}));
    all.into_iter().map(|value| Object::from_value(value).unwrap()).collect()
}

fn controls(object: &Object) -> BTreeSet<Control> {
    privileges(object).into_iter().map(|privilege| privilege.control).collect()
}

#[test]
fn each_control_of_the_baseline_is_found_in_every_pod_of_every_kind_and_its_near_misses_are_not() {
    let mut seen = BTreeSet::new();
    for (control, part, bad, good) in rows() {
        seen.insert(control);
        for list in CONTAINERS {
            for value in &bad {
                for object in objects(&template(part, value, list)) {
                    assert_eq!(controls(&object), [control].into(), "{value} in {list} of {object:?}");
                }
            }
            for value in &good {
                for object in objects(&template(part, value, list)) {
                    assert_eq!(controls(&object), BTreeSet::new(), "{value} in {list} of {object:?}");
                }
            }
        }
    }
    assert_eq!(seen, Control::ALL.into(), "a control has no row");
    let words: BTreeSet<&str> = Control::ALL.iter().map(|control| control.word()).collect();
    assert_eq!(words.len(), Control::ALL.len(), "two controls have one word");
}

#[test]
fn a_privilege_says_who_asks_for_what() {
    let value = context(json!({"capabilities": {"add": ["SYS_ADMIN", "NET_RAW"]}}));
    let object = &objects(&template(Container, &value, "initContainers"))[0];
    let said: Vec<String> = privileges(object).into_iter().map(|it| format!("{}: {}", it.container, it.what)).collect();
    assert_eq!(said, ["main: the capability SYS_ADMIN", "main: the capability NET_RAW"]);
    let object = &objects(&template(Spec, &json!({"volumes": [{"hostPath": {"path": "/dev"}}]}), "containers"))[0];
    assert_eq!(privileges(object)[0].what, "the path /dev of the machine");
}

#[test]
fn a_schema_of_pods_and_data_that_looks_like_one_are_no_pods() {
    let schema =
        json!({"kind": "CustomResourceDefinition", "spec": {"example": {"hostNetwork": true, "containers": [{}]}}});
    let data = json!({"kind": "ConfigMap", "data": {"pod": "{hostNetwork: true, containers: [{}]}"}});
    let without = json!({"kind": "Thing", "spec": {"hostNetwork": true, "containers": ["a"]}});
    for value in [schema, data, without] {
        assert_eq!(privileges(&Object::from_value(value).unwrap()), Vec::new());
    }
}
