//! What the engine does about objects that a real server refuses, keeps, changes or gives to others, and what the sandbox has nothing of:
//! definitions of kinds, autoscalers, quotas, admission policies, Jobs that fail.
//!
//! All of it is one instance with an app for each check. Not here: the checks that the sandbox has as well (`tests/it/both`).

use std::sync::Arc;

use rewild::store::OperationFilter;
use serde_json::{Value, json};

use crate::both::{Plain, check_all, check_alone, config, is_told, prepare, workload};
use crate::ground::{Plane, start};
use crate::kinds::{
    a_kind_of_others_is_one_whatever_its_group_is_called, a_kind_of_others_that_goes_takes_its_objects_from_every_app,
    an_object_of_another_group_goes_before_the_workloads, an_own_kind_that_goes_with_its_objects_is_brought_back,
};
use crate::parts::{ControlPlane, Shape};
use crate::rights::{
    a_rule_that_is_missing_is_named, an_account_of_one_namespace_watches_that, an_app_writes_as_an_account_of_its_own,
};
use crate::world::{Ground, World, app};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gizmos.both.example.org}\n\
                          spec:\n  group: both.example.org\n  scope: Namespaced\n  names: {plural: gizmos, kind: Gizmo}\n  versions:\n  - name: v1\n    \
                          served: true\n    storage: true\n    subresources: {status: {}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
                          properties:\n          spec: {type: object, properties: {size: {type: integer}}}\n          \
                          status: {type: object, x-kubernetes-preserve-unknown-fields: true}\n";
const GIZMO: &str = "apiVersion: both.example.org/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {size: 1}\n";

/// §5.2, §6, §8.2, §10: a definition with its first object, in one commit.
async fn a_kind_and_its_first_object_come_together(world: &World<Plane>) {
    let plain = Plain { world, name: "definitions" };
    let first = plain.push(&[("gizmo.yaml", GIZMO), ("definition.yaml", DEFINITION)]).await;
    // Nobody looks again: that it is established wakes the app.
    plain.done(&first).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.both.example.org";
    let before = plain.uid(path).await;
    let status = plain.path("both.example.org/v1", "gizmos", "one/status");
    let says = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "message": "it warms up"}]}});
    world.patch_as("operator", &status, says("False")).await;
    is_told(&plain, "Gizmo/one", "starting", "it warms up").await;
    world.patch_as("operator", &status, says("True")).await;
    plain.healthy().await;
    plain.push(&[("gizmo.yaml", GIZMO), ("definition.yaml", &DEFINITION.replace("Namespaced", "Cluster"))]).await;
    plain.stands_for("ApplyFailed", &["never made anew", "its objects would go with it"]).await;
    assert_eq!(plain.uid(path).await, before);
    // Away with both, to which a person agrees: the object goes, its kind stays.
    plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.agree().await;
    let gizmo = plain.path("both.example.org/v1", "gizmos", "one");
    plain.until("the object is gone", &gizmo, Value::is_null).await;
    plain.healthy().await;
    assert_eq!(plain.uid(path).await, before, "a definition is never pruned");
}

/// §6: a kind whose definition says that its controller tells of its objects.
async fn an_object_whose_controller_says_nothing_is_not_well(world: &World<Plane>) {
    let plain = Plain { world, name: "unspoken" };
    let definition = DEFINITION.replace("gizmos", "gadgets").replace("Gizmo", "Gadget").replace(
        "status: {type: object, x-kubernetes-preserve-unknown-fields: true}",
        "status: {type: object, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}",
    );
    let gadget = GIZMO.replace("Gizmo", "Gadget");
    let first = plain.push(&[("gadget.yaml", &gadget), ("definition.yaml", &definition)]).await;
    is_told(&plain, "Gadget/one", "starting", "its controller has said nothing about it yet").await;
    let status = plain.path("both.example.org/v1", "gadgets", "one/status");
    let says = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    world.patch_as("operator", &status, says).await;
    plain.done(&first).await;
}

/// §4.5: a version of a kind goes in which another manager holds a field.
async fn a_version_of_a_kind_goes(world: &World<Plane>) {
    let plain = Plain { world, name: "versions" };
    let version = |name: &str, storage: bool| {
        let fields = json!({"size": {"type": "integer"}, "tuned": {"type": "string"}});
        let spec = json!({"spec": {"type": "object", "properties": fields}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object", "properties": spec}}})
    };
    let names = json!({"plural": "movers", "kind": "Mover"});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "movers.versions.example.org"},
        "spec": {"group": "versions.example.org", "scope": "Namespaced", "names": names, "versions": [version("v1alpha1", true)]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let path = format!("{definitions}/movers.versions.example.org");
    world.make(definitions, definition).await;
    let push = async |version: &str, size: u8| {
        let mover = format!(
            "apiVersion: versions.example.org/{version}\nkind: Mover\nmetadata: {{name: one}}\nspec: {{size: {size}}}\n"
        );
        plain.push(&[("mover.yaml", &mover)]).await
    };
    let first = push("v1alpha1", 1).await;
    plain.done(&first).await;
    let [old, new] =
        ["v1alpha1", "v1"].map(|version| plain.path(&format!("versions.example.org/{version}"), "movers", "one"));
    world.patch_as("tuner", &old, json!({"spec": {"tuned": "1"}})).await;
    let before = plain.uid(&old).await;
    world.patch(&path, json!({"spec": {"versions": [version("v1alpha1", false), version("v1", true)]}})).await;
    plain.until("the new version is served", &new, Value::is_object).await;
    let second = push("v1", 2).await;
    plain.done(&second).await;
    world.patch(&format!("{path}/status"), json!({"status": {"storedVersions": ["v1"]}})).await;
    world.patch(&path, json!({"spec": {"versions": [version("v1", true)]}})).await;
    plain.until("the old version is gone", &old, Value::is_null).await;
    let third = push("v1", 3).await;
    plain.done(&third).await;
    let live = world.get(&new).await.unwrap();
    assert_eq!((&live["metadata"]["uid"], &live["spec"]), (&before, &json!({"size": 3, "tuned": "1"})));
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["apiVersion"] == json!("versions.example.org/v1")), "{entries:#?}");
}

/// §9: a namespace that holds an object of a kind which its group serves in another version than the preferred one alone.
async fn a_namespace_is_not_freed_over_an_object_of_a_version_apart(world: &World<Plane>) {
    let plain = Plain { world, name: "apart" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (plural, kind, version) in [("alphas", "Alpha", "v1"), ("betas", "Beta", "v1alpha1")] {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let version = json!({"name": version, "served": true, "storage": true, "schema": schema});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.apart.example.org")},
            "spec": {"group": "apart.example.org", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [version]}});
        world.make(definitions, definition).await;
    }
    let served = async |version: &str, plural: &str| {
        let path = plain.path(&format!("apart.example.org/{version}"), plural, "");
        world.get(path.trim_end_matches('/')).await.is_some_and(|list| list["items"].is_array())
    };
    world
        .until("both kinds are served", async || served("v1", "alphas").await && served("v1alpha1", "betas").await)
        .await;
    let beta = json!({"apiVersion": "apart.example.org/v1alpha1", "kind": "Beta",
        "metadata": {"name": "one", "finalizers": ["example.org/held"]}});
    world.make("/apis/apart.example.org/v1alpha1/namespaces/apart/betas", beta).await;
    let namespace = "/api/v1/namespaces/apart";
    let before = plain.uid(namespace).await;
    world.try_delete(namespace).await;
    let told = async || {
        world.look_again(plain.name).await;
        let state = world.state(plain.name).await;
        state.is_some_and(|state| state.reason == "NamespaceStuck" && state.needs_you.contains("Beta/one"))
    };
    world.until("what is left in the namespace is told", told).await;
    assert_eq!(plain.uid(namespace).await, before, "it was freed with something in it");
    let object = plain.path("apart.example.org/v1alpha1", "betas", "one");
    world.patch_as("some-operator", &object, json!({"metadata": {"finalizers": null}})).await;
    let back = async || {
        world.look_again(plain.name).await;
        let now = plain.uid(namespace).await;
        now.is_string() && now != before
    };
    world.until("the namespace is another one", back).await;
    plain.healthy().await;
}

/// §6, §14: what only controllers and admission say.
async fn what_controllers_and_admission_say_is_told(world: &World<Plane>) {
    let plain = Plain { world, name: "judged" };
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: scaler}\nspec:\n  maxReplicas: 2\n  \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}\n";
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: late}\nspec:\n  activeDeadlineSeconds: 1\n  template:\n    spec:\n      \
               restartPolicy: Never\n      nodeSelector: {no: node}\n      containers:\n      - {name: run, image: \"registry.example.invalid/run:1\"}\n";
    plain.push(&[("scaler.yaml", scaler), ("job.yaml", job)]).await;
    is_told(&plain, "HorizontalPodAutoscaler/scaler", "failing", "deployments.apps \"nobody\" not found").await;
    is_told(&plain, "Job/late", "failing", "deadline").await;
}

/// §6, §14: no room.
async fn a_quota_is_named_with_what_is_used_and_its_limit(world: &World<Plane>) {
    let plain = Plain { world, name: "quota" };
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {pods: \"0\", count/services: \"1\"}}\n";
    let first = plain.push(&[("quota.yaml", quota)]).await;
    plain.done(&first).await;
    let object = plain.path("v1", "resourcequotas", "small");
    plain.until("it is counted", &object, |live| live["status"]["used"]["pods"] == json!("0")).await;
    let service = |name: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{{port: 80}}]}}\n")
    };
    let (one, two) = (service("one"), service("two"));
    let web = workload("Deployment", "web", ("web", "1"), "");
    plain.push(&[("quota.yaml", quota), ("web.yaml", &web)]).await;
    is_told(&plain, "Deployment/web", "failing", "exceeded quota: small").await;
    plain.push(&[("quota.yaml", quota), ("one.yaml", &one), ("two.yaml", &two)]).await;
    let says = ["exceeded quota: small", "used: count/services=1", "limited: count/services=1"];
    plain.stands_for("ApplyFailed", &says).await;
}

/// §14: an admission policy of the cluster.
async fn a_policy_is_named_with_what_it_says(world: &World<Plane>) {
    let plain = Plain { world, name: "denied" };
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let kind = |kind: &str, spec: Value| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "no-secrets-here"}, "spec": spec});
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]);
    let policy = json!({"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "!has(object.data) || !('password' in object.data)", "message": "passwords do not belong here"}]});
    world.make(&format!("{admission}/validatingadmissionpolicies"), kind("ValidatingAdmissionPolicy", policy)).await;
    let binding = json!({"policyName": "no-secrets-here", "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "denied"}}}});
    world
        .make(
            &format!("{admission}/validatingadmissionpolicybindings"),
            kind("ValidatingAdmissionPolicyBinding", binding),
        )
        .await;
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    // The server takes a moment to learn a policy.
    let (maps, other) = (plain.path("v1", "configmaps", ""), plain.path("v1", "configmaps", "other"));
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
    world.make(maps.trim_end_matches('/'), body).await;
    let knows = async || !world.try_patch(&other, json!({"data": {"password": "x"}})).await.0.is_success();
    world.until("the server knows the policy", knows).await;
    plain.push(&[("config.yaml", &config("config", "1").replace("version:", "password: x, version:"))]).await;
    plain.stands_for("ApplyFailed", &["no-secrets-here", "passwords do not belong here"]).await;
    let last = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.done(&last).await;
    what_would_not_be_made_is_not_deleted(&plain).await;
}

/// §4.1: a policy of the cluster that writes another value than was sent: that is told, and is neither drift nor a reason to write again.
async fn what_admission_changes_is_told_and_is_no_drift(world: &World<Plane>) {
    let plain = Plain { world, name: "altered" };
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let kind = |kind: &str, spec: Value| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "one-version"}, "spec": spec});
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]);
    let patch = "[JSONPatch{op: 'replace', path: '/data/version', value: 'by policy'}]";
    let has_version = json!({"name": "versioned", "expression": "has(object.data) && 'version' in object.data"});
    let policy = json!({"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": rules},
        "matchConditions": [has_version], "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]});
    world.make(&format!("{admission}/mutatingadmissionpolicies"), kind("MutatingAdmissionPolicy", policy)).await;
    let binding = json!({"policyName": "one-version",
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "altered"}}}});
    world
        .make(&format!("{admission}/mutatingadmissionpolicybindings"), kind("MutatingAdmissionPolicyBinding", binding))
        .await;
    let first = plain.push(&[("kept.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n")]).await;
    plain.done(&first).await;
    // The server takes a moment to learn a policy.
    let (maps, other) = (plain.path("v1", "configmaps", ""), plain.path("v1", "configmaps", "other"));
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
    world.make(maps.trim_end_matches('/'), body).await;
    let knows = async || {
        world.patch(&other, json!({"data": {"version": "1"}})).await;
        world.get(&other).await.is_some_and(|live| live["data"]["version"] == json!("by policy"))
    };
    world.until("the server knows the policy", knows).await;
    let path = plain.path("v1", "configmaps", "config");
    for (version, annotations) in [("1", ""), ("2", ", annotations: {a: b}")] {
        let text = config("config", version).replace("{name: config}", &format!("{{name: config{annotations}}}"));
        let commit = plain.push(&[("config.yaml", &text)]).await;
        plain.done(&commit).await;
        let instance = world.handle.instance();
        let filter = OperationFilter { app: Some(app(plain.name)), limit: None };
        let mut messages = Vec::new();
        for operation in instance.store.operations(&instance.id, &filter).await.unwrap() {
            messages.extend(instance.store.outcomes(&operation.id).await.unwrap().into_iter().map(|it| it.message));
        }
        let said = format!("admission changed data.version ({version} → by policy)");
        assert!(messages.contains(&said), "{messages:#?}");
        let version = |live: Option<Value>| live.unwrap()["metadata"]["resourceVersion"].clone();
        let before = version(world.get(&path).await);
        world.look_again(plain.name).await;
        assert!(world.state(plain.name).await.unwrap().drift.is_empty());
        assert_eq!(version(world.get(&path).await), before, "nothing is written again");
    }
}

/// §10: an object that has to be made anew stays where the server would not take the new one.
async fn what_would_not_be_made_is_not_deleted(plain: &Plain<'_, Plane>) {
    let frozen = |data: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: frozen}}\nimmutable: true\ndata: {{{data}}}\n")
    };
    let path = plain.path("v1", "configmaps", "frozen");
    let first = plain.push(&[("frozen.yaml", &frozen("version: \"1\""))]).await;
    plain.done(&first).await;
    let before = plain.uid(&path).await;
    plain.push(&[("frozen.yaml", &frozen("version: \"2\", password: x"))]).await;
    let says = ["it was not deleted to be made anew", "passwords do not belong here"];
    plain.stands_for("ApplyFailed", &says).await;
    plain.world.look_again(plain.name).await;
    assert_eq!(plain.uid(&path).await, before);
    let last = plain.push(&[("frozen.yaml", &frozen("version: \"2\""))]).await;
    plain.done(&last).await;
    assert_ne!(plain.uid(&path).await, before, "this one the server takes");
}

/// §6: a container that ends again and again, which only its pod says.
async fn a_pod_that_crashes_is_named(world: &World<Plane>) {
    let plain = Plain { world, name: "crashing" };
    let first = plain.push(&[("web.yaml", &workload("Deployment", "web", ("web", "1"), ""))]).await;
    plain.done(&first).await;
    let list = world.get(plain.path("v1", "pods", "").trim_end_matches('/')).await.unwrap();
    let mut pods = list["items"].as_array().unwrap().iter().filter_map(|pod| pod["metadata"]["name"].as_str());
    let pod = pods.find(|name| name.starts_with("web-")).unwrap();
    let waiting = json!({"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"});
    let status = json!({"status": {
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [{"name": "main", "image": "registry.example.invalid/main:1", "imageID": "", "ready": false,
            "restartCount": 3, "state": {"waiting": waiting}}]}});
    world.patch_as("kubelet", &plain.path("v1", "pods", &format!("{pod}/status")), status).await;
    is_told(&plain, "Deployment/web", "failing", "CrashLoopBackOff").await;
    world.try_delete(&plain.path("v1", "pods", pod)).await;
    is_told(&plain, "Deployment/web", "healthy", "").await;
}

/// §14: a webhook that nobody answers for.
async fn a_webhook_that_does_not_answer_is_named_with_its_service(world: &World<Plane>) {
    let plain = Plain { world, name: "unanswered" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps", "secrets"]}]);
    let hook = json!({"name": "guard.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "rules": rules,
        "timeoutSeconds": 2, "clientConfig": {"service": {"name": "guard", "namespace": "unanswered", "path": "/look"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "unanswered"}}});
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"}, "webhooks": [hook]});
    world.make(path, body).await;
    // The server takes a moment to learn of it.
    let (maps, other) = (plain.path("v1", "configmaps", ""), plain.path("v1", "configmaps", "other"));
    let refuses = async || {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
        let client = world.cluster.client();
        let url = format!("{}{}?dryRun=All", world.cluster.url(), maps.trim_end_matches('/'));
        let answer = client.post(url).header("Content-Type", "application/json").body(body.to_string()).send().await;
        !answer.unwrap().status().is_success()
    };
    world.until("the server asks the webhook", refuses).await;
    assert!(world.get(&other).await.is_none());
    plain.push(&[("config.yaml", &config("config", "2"))]).await;
    let says = ["failed calling webhook \"guard.example.org\"", "its service unanswered/guard has no ready endpoint"];
    plain.stands_for("ApplyFailed", &says).await;
    world.try_delete(&format!("{path}/guard")).await;
    // It is the system's turn: nobody has to say anything.
    plain
        .until("what was held back is applied", &plain.path("v1", "configmaps", "config"), |live| {
            live["data"]["version"] == json!("2")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_does_on_a_real_cluster_what_its_design_says() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let plane = Plane(Arc::new(plane));
    let mut world = start(&plane, "k3f7q2mooo").await;
    prepare(&world).await;
    check_alone(&world).await;
    tokio::join!(
        a_kind_and_its_first_object_come_together(&world),
        an_object_whose_controller_says_nothing_is_not_well(&world),
        a_version_of_a_kind_goes(&world),
        a_namespace_is_not_freed_over_an_object_of_a_version_apart(&world),
        what_controllers_and_admission_say_is_told(&world),
        a_quota_is_named_with_what_is_used_and_its_limit(&world),
        a_policy_is_named_with_what_it_says(&world),
        what_admission_changes_is_told_and_is_no_drift(&world),
        a_pod_that_crashes_is_named(&world),
        a_webhook_that_does_not_answer_is_named_with_its_service(&world),
        a_rule_that_is_missing_is_named(&plane),
        an_app_writes_as_an_account_of_its_own(&plane),
        an_account_of_one_namespace_watches_that(&plane),
        an_own_kind_that_goes_with_its_objects_is_brought_back(&world),
        a_kind_of_others_that_goes_takes_its_objects_from_every_app(&world),
        a_kind_of_others_is_one_whatever_its_group_is_called(&world),
        an_object_of_another_group_goes_before_the_workloads(&world),
    );
    check_all(&mut world).await;
    world.stop().await;
}
