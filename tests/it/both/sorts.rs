//! Each sort of change that somebody makes to what we applied, and what is told of it.

use rewild::model::Request;
use serde_json::{Value, json};

use super::{Plain, config};
use crate::world::{Ground, World, app};

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {tier: front}}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  \
                   template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: main\n        image: registry.example.invalid/main:1\n        \
                   env: [{name: A, value: a}, {name: B, value: b}]\n        ports: [{containerPort: 80}, {containerPort: 81}]\n";
const MAIN: &str = "spec.template.spec.containers[name=main]";

/// An app of which differences are only told, and what is changed of it.
struct Sorts<'a, C: Ground> {
    plain: Plain<'a, C>,
    web: String,
    config: String,
}

impl<C: Ground> Sorts<'_, C> {
    /// Waits until exactly this is told, each as sort, field and manager.
    async fn tells(&self, expected: &[(&str, &str, &str)]) {
        self.tells_one(&[expected]).await;
    }

    /// Waits until exactly one of these is told.
    async fn tells_one(&self, expected: &[&[(&str, &str, &str)]]) {
        let line = |(kind, path, by): &(&str, &str, &str)| format!("{kind} {path} {by}");
        let expected: Vec<Vec<String>> = expected.iter().map(|told| told.iter().map(line).collect()).collect();
        let told = async || {
            let state = self.plain.world.state(self.plain.name).await.unwrap();
            state.drift.iter().map(|it| format!("{} {} {}", it.kind, it.path, it.manager)).collect::<Vec<_>>()
        };
        self.plain
            .world
            .until(&format!("these are told: {expected:?}"), async || expected.contains(&told().await))
            .await;
    }

    /// Puts everything back and waits until nothing is told.
    async fn put_back(&self) {
        self.plain.world.done(Request::RevertDrift { app: app(self.plain.name), objects: Vec::new() }).await;
        self.tells(&[]).await;
        self.plain.healthy().await;
    }

    /// Changes the Deployment as a person does, and expects to be told.
    async fn edited(&self, steps: Value, expected: &[(&str, &str, &str)]) {
        self.plain.world.json_patch_as("kubectl-edit", &self.web, steps).await;
        self.tells(expected).await;
        self.put_back().await;
    }

    /// Applies the ConfigMap's fields as they are, with another value, under a name.
    async fn apply_as(&self, manager: &str, version: &str) {
        let live = self.plain.config("config").await;
        let metadata = json!({"name": "config", "labels": live["metadata"]["labels"], "annotations": live["metadata"]["annotations"]});
        let body = match manager {
            "wild" => {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": version}})
            }
            _ => json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": version}}),
        };
        let cluster = &self.plain.world.cluster;
        let url = format!("{}{}?fieldManager={manager}&force=true", cluster.url(), self.config);
        let patch = cluster.client().patch(url).header("Content-Type", "application/apply-patch+yaml");
        let answer = patch.body(body.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }
}

/// §7.1.
pub(super) async fn each_sort_of_change_is_told_as_what_it_is<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "sorts" };
    let first = plain.push(&[("web.yaml", WEB), ("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let (web, config) = (plain.path("apps/v1", "deployments", "web"), plain.path("v1", "configmaps", "config"));
    let sorts = Sorts { plain, web, config };
    of_fields(&sorts).await;
    of_names(&sorts).await;
    of_marks(&sorts).await;
    of_objects(&sorts).await;
}

/// Values, items of lists, labels, the replicas; what a program adds is not told.
async fn of_fields<C: Ground>(sorts: &Sorts<'_, C>) {
    let world = sorts.plain.world;
    let container = "/spec/template/spec/containers/0";
    let image =
        json!([{"op": "replace", "path": format!("{container}/image"), "value": "registry.example.invalid/main:2"}]);
    sorts.edited(image, &[("changed", &format!("{MAIN}.image"), "kubectl-edit")]).await;
    let item = json!([{"op": "remove", "path": format!("{container}/env/1")}]);
    sorts.edited(item, &[("removed", &format!("{MAIN}.env[name=B]"), "")]).await;
    let port = json!([{"op": "remove", "path": format!("{container}/ports/1")}]);
    sorts.edited(port, &[("removed", &format!("{MAIN}.ports[containerPort=81]"), "")]).await;
    let label = json!([{"op": "remove", "path": "/metadata/labels/tier"}]);
    sorts.edited(label, &[("removed", "metadata.labels.tier", "")]).await;
    world.patch_as("tuner", &sorts.web, json!({"spec": {"minReadySeconds": 1}})).await;
    world.patch_as("kubectl-scale", &format!("{}/scale", sorts.web), json!({"spec": {"replicas": 2}})).await;
    sorts.tells(&[("changed", "spec.replicas", "kubectl-scale")]).await;
    sorts.put_back().await;
    let live = world.get(&sorts.web).await.unwrap();
    assert_eq!((&live["spec"]["replicas"], &live["spec"]["minReadySeconds"]), (&json!(1), &json!(1)));
}

/// Values of a ConfigMap by a person, under our own name in both ways, and by somebody who wants the same.
async fn of_names<C: Ground>(sorts: &Sorts<'_, C>) {
    let world = sorts.plain.world;
    for manager in ["kubectl-edit", "wild"] {
        world.patch_as(manager, &sorts.config, json!({"data": {"version": "2"}})).await;
        sorts.tells(&[("changed", "data.version", manager)]).await;
        sorts.put_back().await;
    }
    sorts.apply_as("other", "1").await;
    sorts.apply_as("wild", "3").await;
    // Nothing of ours is lost, so no field can be named; in the second of our own apply only the values tell.
    sorts.tells_one(&[&[("changed", "", "wild")], &[("audit-mismatch", "data.version", "")]]).await;
    sorts.put_back().await;
    assert_eq!(world.get(&sorts.config).await.unwrap()["data"]["version"], json!("1"));
}

/// Our own marks come back without a word.
async fn of_marks<C: Ground>(sorts: &Sorts<'_, C>) {
    let world = sorts.plain.world;
    let marks = [("annotations", "rewild.dev/hash"), ("labels", "rewild.dev/app"), ("labels", "rewild.dev/instance")];
    for (section, key) in marks {
        let before = world.get(&sorts.config).await.unwrap()["metadata"][section][key].clone();
        for value in [json!("by-hand"), Value::Null] {
            world.patch(&sorts.config, json!({"metadata": {section: {key: value}}})).await;
            let is_back = |live: &Value| live["metadata"][section][key] == before;
            sorts.plain.until(&format!("{key} is back"), &sorts.config, is_back).await;
            sorts.tells(&[]).await;
        }
    }
}

/// Objects that are gone, other ones of their name, and ones of which nobody knows any more what is whose.
async fn of_objects<C: Ground>(sorts: &Sorts<'_, C>) {
    let world = sorts.plain.world;
    world
        .json_patch_as(
            "kubectl-edit",
            &sorts.config,
            json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
        )
        .await;
    sorts.tells(&[("ownership-lost", "", "")]).await;
    sorts.put_back().await;
    let before = sorts.plain.uid(&sorts.config).await;
    world.try_delete(&sorts.config).await;
    sorts.tells(&[("missing", "", "")]).await;
    sorts.put_back().await;
    let marks = world.get(&sorts.config).await.unwrap()["metadata"].clone();
    assert_ne!(marks["uid"], before);
    world.try_delete(&sorts.config).await;
    sorts.tells(&[("missing", "", "")]).await;
    // Labels are copied easily.
    let metadata = json!({"name": "config", "labels": marks["labels"]});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": "9"}});
    world.make(sorts.config.trim_end_matches("/config"), body).await;
    let says = ["ConfigMap/config is there already and nobody owns it", "data.version"];
    sorts.plain.stands_for("AdoptionNeedsConsent", &says).await;
    assert_eq!(world.get(&sorts.config).await.unwrap()["data"]["version"], json!("9"));
    world.try_delete(&sorts.config).await;
    sorts.tells(&[("missing", "", "")]).await;
    sorts.put_back().await;
}
