//! Objects and fields that were there before us.

use rewild::store::OperationFilter;
use serde_json::json;

use super::{Plain, config, says, workload};
use crate::world::{Ground, World};

/// §3.6 and §4.5.
pub(super) async fn what_nobody_owns_is_taken_over_with_consent_and_every_field_of_it<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "taken" };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "taken"}});
    world.make("/api/v1/namespaces", namespace).await;
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "1", "old": "1"},
        "metadata": {"name": "config", "annotations": {last: "{}\n"}}});
    world.make_as("kubectl-client-side-apply", "/api/v1/namespaces/taken/configmaps", theirs).await;
    let web = workload("Deployment", "web", ("web", "1"), "");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example.invalid/main:1"}]}}}});
    world.make_as("kubectl-create", "/apis/apps/v1/namespaces/taken/deployments", deployment).await;
    let object = plain.path("apps/v1", "deployments", "web");
    plain.until("its pod is there", &object, |live| live["status"]["readyReplicas"] == json!(1)).await;
    let before = world.get(&object).await.unwrap();
    let own = config("config", "3").replace("version:", "old: \"1\", version:");
    plain.push(&[("config.yaml", &own), ("web.yaml", &web)]).await;
    let told = ["ConfigMap/config is there already and nobody owns it; taking it over would change data.version"];
    plain.stands_for("AdoptionNeedsConsent", &told).await;
    let live = world.get(&object).await.unwrap();
    assert_eq!(live["metadata"]["labels"], json!(null), "it was taken without a word");
    // A person says so for this once; the next object that nobody owns waits again.
    says(
        world,
        "wild app deploy taken",
        &["taking it over would change data.version", "try: wild app deploy taken --adopt"],
    )
    .await;
    says(world, "wild app deploy taken --adopt --dry-run", &["takes over what nobody owns", "Nothing was changed."])
        .await;
    assert_eq!(world.get(&object).await.unwrap()["metadata"]["labels"], json!(null), "it was only tried");
    says(world, "wild app deploy taken --adopt", &["configured  ConfigMap/config (taken)"]).await;
    plain.healthy().await;
    let live = world.get(&object).await.unwrap();
    assert_eq!(live["spec"]["template"], before["spec"]["template"], "taking over restarts no pod");
    assert_eq!(live["metadata"]["uid"], before["metadata"]["uid"]);
    let second = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "second"}});
    world.make("/api/v1/namespaces/taken/configmaps", second).await;
    plain.push(&[("config.yaml", &own), ("web.yaml", &web), ("second.yaml", &config("second", "1"))]).await;
    plain.stands_for("AdoptionNeedsConsent", &["ConfigMap/second is there already"]).await;
    let config_path = plain.path("v1", "configmaps", "config");
    // What git takes away goes, although an editor had set it as well.
    plain.push(&[("web.yaml", &web), ("config.yaml", &config("config", "2"))]).await;
    plain.until("the revision is there", &config_path, |live| live["data"]["version"] == json!("2")).await;
    plain.healthy().await;
    let live = world.get(&config_path).await.unwrap();
    assert_eq!(live["data"], json!({"version": "2"}), "{live}");
    assert!(live["metadata"]["annotations"][last].is_null(), "{live}");
}

/// §4.6: fields of nobody and of somebody beside ours with which the server does not take ours.
pub(super) async fn what_a_server_filled_in_stands_in_the_way_of_nothing<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "merged" };
    let push = async |image: &str, strategy: &str, limit: &str| {
        let web = workload("Deployment", "web", ("web", image), strategy);
        let big = workload("Deployment", "big", ("big", image), "")
            .replace("\"}\n", &format!("\", resources: {{limits: {{memory: {limit}}}}}}}\n"));
        plain.push(&[("web.yaml", &web), ("big.yaml", &big)]).await
    };
    let first = push("1", "", "1Gi").await;
    plain.done(&first).await;
    let big = plain.path("apps/v1", "deployments", "big");
    let request = json!([{"op": "add", "path": "/spec/template/spec/containers/0/resources/requests",
        "value": {"memory": "500Mi"}}]);
    world.json_patch_as("tuner", &big, request).await;
    let second = push("2", "  strategy: {type: Recreate}\n", "200Mi").await;
    plain.done(&second).await;
    let web = plain.live("apps/v1", "deployments", "web").await;
    assert_eq!(web["spec"]["strategy"], json!({"type": "Recreate"}));
    let resources = world.get(&big).await.unwrap()["spec"]["template"]["spec"]["containers"][0]["resources"].clone();
    assert_eq!(resources["limits"]["memory"], json!("200Mi"));
    assert_ne!(resources["requests"]["memory"], json!("500Mi"));
    // What we set in passing is ours to take away again.
    let third = push("3", "", "200Mi").await;
    plain.done(&third).await;
    let web = plain.live("apps/v1", "deployments", "web").await;
    assert_eq!(web["spec"]["strategy"]["type"], json!("RollingUpdate"), "{}", web["metadata"]["managedFields"]);
    // And so is what was set in passing when nobody came to say so any more: by a process that was killed in between, say.
    let passing = json!([{"op": "replace", "path": "/spec/revisionHistoryLimit", "value": 3}]);
    world.json_patch_as("wild", &plain.path("apps/v1", "deployments", "web"), passing).await;
    let fourth = push("4", "", "200Mi").await;
    plain.done(&fourth).await;
    let web = plain.live("apps/v1", "deployments", "web").await;
    assert_eq!(web["spec"]["revisionHistoryLimit"], json!(10), "{}", web["metadata"]["managedFields"]);
}

/// §4.6: what needs no answer of a server.
pub(super) async fn what_is_refused_before_any_request_is_told<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "refused" };
    let fine = config("fine", "1");
    let push = async |bad: &str| plain.push(&[("fine.yaml", &fine), ("bad.yaml", bad)]).await;
    let half = "x".repeat(800 * 1_024);
    let long = config("bad", &half).replace("version:", &format!("more: {half}, version:"));
    push(&long).await;
    let says = ["apps/refused/bad.yaml:", "ConfigMap/bad is ", "bytes long", "of them in data; the limit is 1536000"];
    plain.stands_for("InvalidObject", &says).await;
    let fine_path = plain.path("v1", "configmaps", "fine");
    plain.until("the rest is applied", &fine_path, super::has_version("1")).await;
    let noted = config("bad", "1")
        .replace("{name: bad}", &format!("{{name: bad, annotations: {{a: \"{}\"}}}}", "x".repeat(300 * 1_024)));
    push(&noted).await;
    plain.stands_for("InvalidObject", &["bytes of annotations"]).await;
    push(&config("bad", "1").replace("{name: bad}", "{name: bad, annotations: {rewild.dev/hash: x}}")).await;
    plain.stands_for("ReservedKey", &["rewild.dev/hash"]).await;
    push("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: refused-bad}\nrules: []\n")
        .await;
    plain.stands_for("GrantMissing", &["ClusterRole/refused-bad lies outside namespaces"]).await;
    assert!(world.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/refused-bad").await.is_none());
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: bad}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: default, namespace: refused}]\n";
    push(binding).await;
    plain.stands_for("GrantMissing", &["RoleBinding/bad gives the rights of ClusterRole/cluster-admin"]).await;
    assert!(plain.live("rbac.authorization.k8s.io/v1", "rolebindings", "bad").await.is_null());
    assert!(plain.config("bad").await.is_null());
    let web = format!("{}status: {{replicas: 7}}\n", workload("Deployment", "web", ("web", "1"), ""));
    let last = push(&web).await;
    plain.done(&last).await;
}

/// §4.1: of all that the other checks brought, a server stored nothing otherwise than it was sent, whatever it filled in and however it writes
/// a value. One real check has a policy that does change something.
pub(super) async fn nothing_is_said_to_be_changed_that_was_not<C: Ground>(world: &World<C>) {
    let instance = world.handle.instance();
    let mut seen = 0;
    for operation in instance.store.operations(&instance.id, &OperationFilter::default()).await.unwrap() {
        let outcomes = instance.store.outcomes(&operation.id).await.unwrap();
        seen += outcomes.len();
        let altered = outcomes.iter().find(|outcome| outcome.message.contains("admission changed"));
        let is_wanted = operation.app.as_ref().is_some_and(|app| app.as_str() == "altered");
        assert!(is_wanted || altered.is_none(), "{altered:#?}");
    }
    assert!(seen > 0);
}
