//! The starter itself: what it starts is a cluster, and nothing of it stays behind.
//!
//! Not here: what `wild` does with a cluster (`cluster.rs`).

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::parts::{ControlPlane, Process, Scratch, Shape, until};

#[test]
fn a_deployment_gets_ready_pods_a_claim_its_volume_and_a_load_balancer_its_address() {
    let Some(plane) = ControlPlane::shared() else { return };
    let namespace = plane.namespace("starter");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "registry.example.invalid/web:1"}]},
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "door"},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        },
    ]});
    plane.kubectl_with(&["-n", &namespace, "apply", "-f", "-"], &list.to_string()).unwrap();
    let at = |what: &str, path: &str| {
        plane.kubectl(&["-n", &namespace, "get", what, "-o", &format!("jsonpath={{{path}}}")]).unwrap()
    };
    until("three pods are ready", || (at("deployment/web", ".status.readyReplicas") == "3").then_some(()));
    until("the claim is bound", || (at("pvc/data", ".status.phase") == "Bound").then_some(()));
    let address = ".status.loadBalancer.ingress[0].ip";
    until("the load balancer has an address", || (at("service/door", address) == "192.0.2.10").then_some(()));
    let volume = at("pvc/data", ".spec.volumeName");
    plane.kubectl(&["-n", &namespace, "delete", "pvc", "data"]).unwrap();
    until("the volume goes with its claim", || {
        plane.kubectl(&["get", "pv", &volume, "--ignore-not-found", "-o", "name"]).unwrap().is_empty().then_some(())
    });
}

#[test]
fn an_own_control_plane_leaves_no_process_and_no_file() {
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let directory = plane.kubeconfig().parent().unwrap().to_owned();
    assert!(plane.kubectl(&["version"]).unwrap().contains("Server Version: v1.36"));
    assert!(plane.program("etcd").is_some() && plane.program("kube-controller-manager").is_none());
    let address = plane.address().replace("https://", "");
    drop(plane);
    assert!(!directory.exists(), "{} is left", directory.display());
    assert!(std::net::TcpStream::connect(address).is_err(), "something still listens");
}

/// The guard is asked in a process of its own that is killed without a chance to clean up.
#[test]
fn what_a_killed_test_started_is_ended() {
    if std::env::var_os("WILD_GUARDED").is_some() {
        return be_killed();
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "starter::what_a_killed_test_started_is_ended", "--nocapture"])
        .env("WILD_GUARDED", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines.map_while(Result::ok).skip_while(|line| !line.ends_with("begun")).take(3).collect();
    let (directory, child) = (said.get(1).unwrap().clone(), said.get(2).unwrap().clone());
    assert!(std::path::Path::new(&directory).exists());
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("the directory goes", || (!std::path::Path::new(&directory).exists()).then_some(()));
    until("the child goes", || (!std::path::Path::new(&format!("/proc/{child}")).exists()).then_some(()));
}

/// Starts a child that starts another one, says where, and waits to be killed.
#[expect(clippy::print_stdout, reason = "the parent reads where it is")]
fn be_killed() {
    let scratch = Scratch::new("killed").unwrap();
    let child = Process::start_shell(&scratch, "child", "echo $$ >pid; cat /dev/zero >/dev/null & wait").unwrap();
    let pid = until("the child runs", || {
        std::fs::read_to_string(scratch.path().join("pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    println!("\nbegun\n{}\n{}", scratch.path().display(), pid.trim());
    until("the end", || child.has_ended().then_some(()));
}
