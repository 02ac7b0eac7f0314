//! Pure. Every row of the health rules, and every hole that simpler rules leave open.

use serde_json::json;

use super::*;

/// Compares state and reason with `state: reason`, or `state` where there is no reason.
#[track_caller]
fn check(object: Value, expected: &str) {
    let health = assess(&Object::from_value(object).unwrap(), &[]);
    assert_eq!(display(&health), expected);
}

fn display(health: &Health) -> String {
    let state = serde_json::to_value(health.state).unwrap();
    let state = state.as_str().unwrap();
    if health.reason.is_empty() { state.to_owned() } else { format!("{state}: {}", health.reason) }
}

fn deployment(spec: Value, status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status})
}

/// The status of a Deployment whose pods are all well, with changes.
fn deployed(replicas: i64, changes: Value) -> Value {
    let mut status = json!({
        "observedGeneration": 2, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
        "readyReplicas": replicas,
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    });
    for (key, value) in changes.as_object().unwrap() {
        status[key] = value.clone();
    }
    status
}

fn two() -> Value {
    json!({"replicas": 2, "progressDeadlineSeconds": 600})
}

#[test]
fn a_rolled_out_deployment_is_healthy() {
    check(deployment(two(), deployed(2, json!({}))), "healthy");
}

#[test]
fn a_deployment_without_a_replica_count_wants_one_pod() {
    check(deployment(json!({}), deployed(0, json!({}))), "progressing: 0 of 1 pods created");
    check(deployment(json!({}), deployed(1, json!({}))), "healthy");
}

#[test]
fn a_deployment_of_no_pods_is_not_ready_before_a_controller_saw_it() {
    check(deployment(json!({"replicas": 0}), json!({})), "progressing: no controller has seen it yet");
    check(deployment(json!({"replicas": 0}), deployed(0, json!({}))), "healthy");
}

#[test]
fn an_old_generation_proves_nothing() {
    check(
        deployment(two(), deployed(2, json!({"observedGeneration": 1}))),
        "progressing: its controller has not seen the newest version yet",
    );
}

#[test]
fn a_deployment_names_what_it_waits_for() {
    for (changes, expected) in [
        (json!({"replicas": 1}), "progressing: 1 of 2 pods created"),
        (json!({"updatedReplicas": 1}), "progressing: 1 of 2 pods updated"),
        (json!({"replicas": 3}), "progressing: 1 old pod still there"),
        (json!({"availableReplicas": 1}), "progressing: 1 of 2 pods available"),
        (json!({"readyReplicas": 1}), "progressing: 1 of 2 pods ready"),
    ] {
        check(deployment(two(), deployed(2, changes)), expected);
    }
}

#[test]
fn a_quota_that_refuses_pods_degrades_at_once() {
    let conditions = json!([{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small."}]);
    check(deployment(two(), deployed(0, json!({"conditions": conditions}))), "degraded: exceeded quota: small");
}

#[test]
fn a_roll_out_past_its_deadline_is_degraded() {
    let conditions = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"}]);
    check(deployment(two(), deployed(1, json!({"conditions": conditions}))), "degraded: too late");
}

#[test]
fn a_roll_out_that_is_not_said_to_be_finished_is_not() {
    let available = json!({"type": "Available", "status": "True"});
    check(
        deployment(two(), deployed(2, json!({"conditions": [available]}))),
        "progressing: its roll-out is not finished",
    );
    let no_deadline = json!({"replicas": 2, "progressDeadlineSeconds": 2_147_483_647});
    check(deployment(no_deadline, deployed(2, json!({"conditions": [available]}))), "healthy");
}

#[test]
fn a_paused_deployment_is_suspended() {
    check(deployment(json!({"paused": true}), deployed(1, json!({}))), "suspended: its roll-out is paused");
}

#[test]
fn a_pause_hides_nothing_that_is_wrong() {
    let paused = json!({"paused": true, "replicas": 2, "progressDeadlineSeconds": 600});
    for (condition, expected) in [
        (json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}), "degraded: exceeded quota"),
        (
            json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"}),
            "degraded: too late",
        ),
    ] {
        check(deployment(paused.clone(), deployed(1, json!({"conditions": [condition]}))), expected);
    }
}

#[test]
fn deletion_comes_before_everything() {
    let mut object = deployment(two(), deployed(2, json!({})));
    object["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
    check(object, "terminating: it is being deleted");
}

fn stateful(spec: Value, status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 1}, "spec": spec, "status": status})
}

fn set_status(changes: Value) -> Value {
    let mut status = json!({
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3,
        "currentRevision": "a", "updateRevision": "a",
    });
    for (key, value) in changes.as_object().unwrap() {
        status[key] = value.clone();
    }
    status
}

#[test]
fn a_stateful_set_is_ready_when_all_pods_run_the_newest_revision() {
    let spec = json!({"replicas": 3});
    for (changes, expected) in [
        (json!({}), "healthy"),
        (json!({"replicas": 2}), "progressing: 2 of 3 pods created"),
        (json!({"readyReplicas": 2}), "progressing: 2 of 3 pods ready"),
        (json!({"replicas": 4}), "progressing: 1 old pod still there"),
        (json!({"updateRevision": "b", "updatedReplicas": 1}), "progressing: 1 of 3 pods updated"),
        (json!({"updateRevision": "b"}), "progressing: its roll-out is not finished"),
        (json!({"currentReplicas": 2}), "progressing: 2 of 3 pods current"),
    ] {
        check(stateful(spec.clone(), set_status(changes)), expected);
    }
    check(stateful(spec, json!({})), "progressing: no controller has seen it yet");
}

#[test]
fn a_partitioned_stateful_set_needs_only_the_pods_above_the_partition() {
    let spec = json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}});
    check(stateful(spec.clone(), set_status(json!({"updateRevision": "b", "updatedReplicas": 1}))), "healthy");
    check(
        stateful(spec, set_status(json!({"updateRevision": "b", "updatedReplicas": 0}))),
        "progressing: 0 of 1 pods updated",
    );
}

#[test]
fn a_stateful_set_that_waits_for_deletions_says_how_many_pods_are_old() {
    let spec = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
    check(
        stateful(spec.clone(), set_status(json!({"updateRevision": "b", "updatedReplicas": 1}))),
        "healthy: 2 of 3 pods still run the old version until somebody deletes them: those without the label controller-revision-hash=b",
    );
    check(stateful(spec, set_status(json!({"readyReplicas": 2}))), "progressing: 2 of 3 pods ready");
}

#[test]
fn a_daemon_set_needs_a_pod_on_each_node() {
    let daemons = |status: Value| json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 1}, "status": status});
    let status = |key: &str| {
        let mut status = json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
            "updatedNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2,
        });
        status[key] = json!(1);
        status
    };
    check(daemons(status("observedGeneration")), "healthy");
    check(daemons(status("currentNumberScheduled")), "progressing: 1 of 2 pods created");
    check(daemons(status("updatedNumberScheduled")), "progressing: 1 of 2 pods updated");
    check(daemons(status("numberAvailable")), "progressing: 1 of 2 pods available");
    check(daemons(status("numberReady")), "progressing: 1 of 2 pods ready");
    check(daemons(json!({})), "progressing: no controller has seen it yet");
}

#[test]
fn a_replica_set_that_cannot_make_pods_is_degraded_not_progressing() {
    let set = |status: Value| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generation": 1}, "spec": {"replicas": 1}, "status": status});
    check(
        set(
            json!({"observedGeneration": 1, "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]}),
        ),
        "degraded: FailedCreate",
    );
    check(set(json!({"observedGeneration": 1})), "progressing: 0 of 1 pods created");
    check(
        set(
            json!({"observedGeneration": 1, "replicas": 1, "fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}),
        ),
        "healthy",
    );
}

#[test]
fn a_job_is_ready_when_it_is_done_not_when_it_started() {
    let job = |spec: Value, status: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generation": 1}, "spec": spec, "status": status});
    check(job(json!({}), json!({"active": 1, "ready": 1})), "progressing: 0 of 1 completions");
    check(job(json!({"completions": 3}), json!({"succeeded": 1})), "progressing: 1 of 3 completions");
    check(job(json!({}), json!({"conditions": [{"type": "Complete", "status": "True"}]})), "healthy");
    check(
        job(json!({}), json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]})),
        "degraded: BackoffLimitExceeded",
    );
    check(job(json!({"suspend": true}), json!({})), "suspended: it is suspended");
}

#[test]
fn a_failed_pod_is_not_ready() {
    let pod =
        |status: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": 1}, "status": status});
    check(
        pod(json!({"phase": "Failed", "message": "The node was low on memory."})),
        "degraded: The node was low on memory",
    );
    check(pod(json!({"phase": "Succeeded"})), "healthy");
    check(pod(json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})), "healthy");
    check(
        pod(
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "message": "containers not ready"}]}),
        ),
        "progressing: containers not ready",
    );
    check(
        pod(
            json!({"phase": "Pending", "containerStatuses": [{"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}),
        ),
        "degraded: container web: ImagePullBackOff",
    );
    check(
        pod(
            json!({"phase": "Pending", "containerStatuses": [{"name": "web", "state": {"waiting": {"reason": "ContainerCreating"}}}]}),
        ),
        "progressing: it has not started",
    );
    check(
        pod(
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]}),
        ),
        "progressing: 0/1 nodes are available",
    );
}

#[test]
fn a_claim_is_ready_when_it_is_bound() {
    for (phase, expected) in [
        ("Bound", "healthy"),
        ("Pending", "progressing: it waits for a volume"),
        ("Lost", "degraded: its volume is lost"),
    ] {
        check(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": phase}}), expected);
    }
}

#[test]
fn a_load_balancer_needs_an_address_and_other_services_nothing() {
    let service =
        |spec: Value, status: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": spec, "status": status});
    check(service(json!({"clusterIP": "10.0.0.1"}), json!({})), "healthy");
    check(
        service(json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), json!({"loadBalancer": {}})),
        "progressing: no load balancer has answered yet",
    );
    check(
        service(json!({"type": "LoadBalancer"}), json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})),
        "healthy",
    );
}

#[test]
fn what_the_platform_provides_is_judged_by_its_conditions() {
    let with = |api: &str, kind: &str, status: Value| json!({"apiVersion": api, "kind": kind, "status": status});
    let said = |kind: &str, status: &str| json!({"type": kind, "status": status, "message": "said so"});
    let crd = |conditions: Value| {
        with("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({"conditions": conditions}))
    };
    check(crd(json!([said("NamesAccepted", "True"), said("Established", "True")])), "healthy");
    check(crd(json!([said("NamesAccepted", "True")])), "progressing: it is not established yet");
    check(crd(json!([said("NamesAccepted", "False")])), "degraded: said so");
    check(with("v1", "Namespace", json!({"phase": "Active"})), "healthy");
    check(with("v1", "Namespace", json!({"phase": "Terminating"})), "terminating: it is being deleted");
    let api = |status: &str| {
        with("apiregistration.k8s.io/v1", "APIService", json!({"conditions": [said("Available", status)]}))
    };
    check(api("True"), "healthy");
    check(api("False"), "progressing: said so");
    let scaler = |status: &str| {
        with("autoscaling/v2", "HorizontalPodAutoscaler", json!({"conditions": [said("AbleToScale", status)]}))
    };
    check(scaler("True"), "healthy");
    check(scaler("False"), "degraded: said so");
}

#[test]
fn other_kinds_go_by_their_ready_condition_or_by_being_there() {
    let with = |conditions: Value| json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "status": {"conditions": conditions}});
    check(with(json!([{"type": "Ready", "status": "True"}])), "healthy");
    check(with(json!([{"type": "Ready", "status": "False", "message": "issuing"}])), "progressing: issuing");
    check(with(json!([{"type": "Ready", "status": "Unknown", "reason": "Checking"}])), "progressing: Checking");
    check(with(json!([{"type": "Stalled", "status": "True", "message": "no issuer"}])), "degraded: no issuer");
    check(with(json!([{"type": "Reconciling", "status": "True", "message": "working"}])), "progressing: working");
    check(json!({"apiVersion": "v1", "kind": "ConfigMap"}), "healthy");
}

#[test]
fn kinds_with_a_status_are_watched_in_full_and_configuration_never() {
    for (group, kind) in
        [("apps", "Deployment"), ("", "Service"), ("", "Namespace"), ("cert-manager.io", "Certificate")]
    {
        assert!(has_rule(group, kind, &[]), "{kind}");
    }
    for (group, kind) in
        [("", "Secret"), ("", "ConfigMap"), ("rbac.authorization.k8s.io", "Role"), ("networking.k8s.io", "Ingress")]
    {
        assert!(!has_rule(group, kind, &[]), "{kind}");
    }
}

#[track_caller]
fn check_app(objects: &[(&str, HealthState, &str)], expected: &str) {
    let objects: Vec<(ObjectId, Health)> = objects
        .iter()
        .map(|(name, state, reason)| (ObjectId::new("apps", "Deployment", "blog", name), Health::new(*state, *reason)))
        .collect();
    assert_eq!(display(&of_app(objects.iter().map(|(id, health)| (id, health)))), expected);
}

#[test]
fn an_app_is_as_well_as_its_worst_object() {
    use HealthState::{Degraded, Healthy, Missing, Progressing, Suspended, Terminating, Unknown};
    check_app(&[("a", Healthy, ""), ("b", Healthy, "all is well")], "healthy");
    check_app(&[("a", Healthy, ""), ("b", Unknown, "")], "unknown: Deployment/b");
    check_app(
        &[("a", Progressing, "1 of 2 pods ready"), ("b", Healthy, "")],
        "progressing: Deployment/a: 1 of 2 pods ready",
    );
    check_app(&[("a", Progressing, "x"), ("b", Degraded, "y")], "degraded: Deployment/b: y");
    check_app(&[("a", Missing, "x"), ("b", Missing, "y"), ("c", Missing, "")], "missing: Deployment/a: x, and 2 more");
    check_app(&[("a", Suspended, "s"), ("b", Terminating, "t")], "terminating: Deployment/b: t");
    check_app(&[], "unknown: nothing was seen yet");
}

#[test]
fn what_a_cluster_says_of_a_namespace_that_does_not_end_is_told_by_its_conditions() {
    let ending = |conditions: serde_json::Value| {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blog"},
            "status": {"phase": "Terminating", "conditions": conditions}});
        super::ending(&Object::from_value(namespace).unwrap())
    };
    let said = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "message": message});
    assert_eq!(ending(json!([])), "");
    assert_eq!(ending(json!([said("NamespaceContentRemaining", "False", "All content successfully removed")])), "");
    let hidden = said("NamespaceDeletionDiscoveryFailure", "True", "a.example/v1: stale GroupVersion discovery.");
    let held = said("NamespaceFinalizersRemaining", "True", "a.b/c in 1 resource instances");
    let expected = "a.example/v1: stale GroupVersion discovery; a.b/c in 1 resource instances";
    assert_eq!(ending(json!([held, hidden, said("Other", "True", "no matter")])), expected);
}
