//! Fields that are left to somebody else: by a setting, by an annotation, by the list that is built in.

use serde_json::json;

use super::{Plain, config, workload};
use crate::world::{Ground, World};

const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/given";
const HOOK: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: given}\nwebhooks:\n\
                    - name: given.example.org\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Ignore\n  \
                    clientConfig: {service: {name: web, namespace: given}}\n  \
                    rules: [{apiGroups: [none.example.org], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]\n";
/// A certificate of an authority, as an injector puts it in; nobody reads it.
const BUNDLE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkekNDQVIyZ0F3SUJBZ0lCQURBS0JnZ3Foa2pPUFFRREFqQWpNU0V3SHdZRFZRUUREQmhyTTNNdGMyVnkKZG1WeUxXTmhRREUyT0RZMU16TXdPREF3SGhjTk1qTXdOakV5TURFeU5EUXdXaGNOTXpNd05qQTVNREV5TkRRdwpXakFqTVNFd0h3WURWUVFEREJock0zTXRjMlZ5ZG1WeUxXTmhRREUyT0RZMU16TXdPREF3V1RBVEJnY3Foa2pPClBRSUJCZ2dxaGtqT1BRTUJCd05DQUFSdGwvWXZGUFRnb2F1VHdpZHRmZ1pHTk1ERGxrdmI2U2pwZXR2U1BIQ3IKVlUyRjl6M1JCdFBmS2ZHV0RHcnNhaXlSMGo2ZHJrNi9MVHdHVFNJeHRnaVVvMEl3UURBT0JnTlZIUThCQWY4RQpCQU1DQXFRd0R3WURWUjBUQVFIL0JBVXdBd0VCL3pBZEJnTlZIUTRFRmdRVWx5OTV0Y1ZNYjdLb2RiZ0d1ODQ1Ckp0YUR4czR3Q2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQU9kOXRhSmtSSmxHRlVmbUtVU1RBWkwwakFrc0FKN3EKWkxrS0ZOeEhOTkJ4QWlCbVN1VXF4RFFtOUdBQXk0OVBnS3d0ZEpsbFI1WjhLUXc1WmJRSWhvK1VYUT09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

fn shared(extra: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: shared}}\ndata: {{theirs: \"git\", ours: \"git\", version: \"{extra}\"}}\n"
    )
}

fn noted(extra: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: noted, annotations: {{rewild.dev/ignore: /data/theirs}}}}\ndata: {{theirs: \"git\", version: \"{extra}\"}}\n"
    )
}

/// §7.5.
pub(super) async fn what_others_may_hold_stays_with_them<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "given" };
    let push = async |version: &str| {
        let web = workload("Deployment", "web", ("web", version), "  replicas: 1\n")
            .replace("\"}\n", "\", resources: {requests: {cpu: 10m}}}\n");
        let (shared, noted, plainest) = (shared(version), noted(version), config("plain", version));
        let files = [
            ("web.yaml", web),
            ("shared.yaml", shared),
            ("noted.yaml", noted),
            ("plain.yaml", plainest),
            ("hook.yaml", HOOK.into()),
        ];
        plain.push(&files.each_ref().map(|(name, text)| (*name, text.as_str()))).await
    };
    let first = push("1").await;
    plain.done(&first).await;
    let web = plain.path("apps/v1", "deployments", "web");
    let (shared, noted) = (plain.path("v1", "configmaps", "shared"), plain.path("v1", "configmaps", "noted"));
    let resources = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/resources",
        "value": {"requests": {"cpu": "77m"}}}]);
    let bundle = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": BUNDLE}]);
    let theirs = json!({"data": {"theirs": "another"}});
    world.patch_as("keda-operator", &web, json!({"spec": {"replicas": 2}})).await;
    world.json_patch_as("vpa-updater", &web, resources).await;
    world.patch_as("tuner", &shared, theirs.clone()).await;
    world.patch_as("anybody", &noted, theirs).await;
    world.json_patch_as("cert-manager-cainjector", HOOKS, bundle).await;
    // A field that nobody was given is put back, and shows that the others were looked at.
    world.patch_as("tuner", &shared, json!({"data": {"ours": "another"}})).await;
    plain.until("what is ours is put back", &shared, |live| live["data"]["ours"] == json!("git")).await;
    let second = push("2").await;
    plain.done(&second).await;
    world.look_again(plain.name).await;
    plain.done(&second).await;
    let live = world.get(&web).await.unwrap();
    let container = &live["spec"]["template"]["spec"]["containers"][0];
    assert!(container["image"].as_str().unwrap().ends_with(":2"));
    assert_eq!((&live["spec"]["replicas"], &container["resources"]["requests"]["cpu"]), (&json!(2), &json!("77m")));
    for path in [&shared, &noted] {
        let data = world.get(path).await.unwrap()["data"].clone();
        assert_eq!((&data["theirs"], &data["version"]), (&json!("another"), &json!("2")), "{path}");
    }
    let hook = world.get(HOOKS).await.unwrap();
    assert_eq!(hook["webhooks"][0]["clientConfig"]["caBundle"], json!(BUNDLE));
    assert!(world.state(plain.name).await.unwrap().drift.is_empty());
    // The rule is about one manager: of what anybody else holds a revision takes hold again.
    world.patch(&shared, json!({"data": {"theirs": "by hand"}})).await;
    world.patch(&web, json!({"spec": {"replicas": 3}})).await;
    let third = push("3").await;
    plain.done(&third).await;
    let live = world.get(&web).await.unwrap();
    assert_eq!(live["spec"]["replicas"], json!(1));
    let data = world.get(&shared).await.unwrap()["data"].clone();
    assert_eq!((&data["theirs"], &data["version"]), (&json!("git"), &json!("3")));
}

/// §7.4 and §7.6: what an author only wants to be told, and what a person holds in an emergency.
pub(super) async fn what_is_held_or_only_reported_is_left_alone_and_told<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "held" };
    let told = config("told", "1").replace("{name: told}", "{name: told, annotations: {rewild.dev/drift: report}}");
    let first = plain
        .push(&[("told.yaml", &told), ("held.yaml", &config("held", "1")), ("back.yaml", &config("back", "1"))])
        .await;
    plain.done(&first).await;
    let [told, held, back] = ["told", "held", "back"].map(|name| plain.path("v1", "configmaps", name));
    let by_hand = json!({"data": {"version": "by hand"}});
    let hold = json!({"metadata": {"annotations": {"rewild.dev/hold-until": "2099-01-01T00:00:00Z"}}, "data": {"version": "by hand"}});
    world.patch(&held, hold).await;
    world.patch(&told, by_hand.clone()).await;
    world.patch(&back, by_hand).await;
    plain.until("what is neither is put back", &back, super::has_version("1")).await;
    let is_told = async || world.state(plain.name).await.is_some_and(|state| state.drift.len() == 2);
    world.until("both are told", is_told).await;
    world.look_again(plain.name).await;
    for path in [&told, &held] {
        assert_eq!(world.get(path).await.unwrap()["data"]["version"], json!("by hand"), "{path}");
    }
    world.patch(&held, json!({"metadata": {"annotations": {"rewild.dev/hold-until": null}}})).await;
    world.look_again(plain.name).await;
    plain.until("what is held no more is put back", &held, super::has_version("1")).await;
    world.done(rewild::model::Request::RevertDrift { app: crate::world::app(plain.name), objects: Vec::new() }).await;
    plain.healthy().await;
    assert_eq!(world.get(&told).await.unwrap()["data"]["version"], json!("1"), "a person asked for it");
}
