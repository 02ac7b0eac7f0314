//! F40: kinds that go with their objects under the hands of people, and come back.
//!
//! Not here: a kind and its first object in one commit (`engine.rs`), a kind that comes late (`hands.rs`), one that only cannot be served
//! (`partial.rs`).

use rewild::model::{DataFate, Request};
use serde_json::{Value, json};

use crate::both::{Plain, config, has_version, is_told, workload};
use crate::ground::Plane;
use crate::world::{World, app};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Returns the definition of a kind in a group of its own.
fn definition(plural: &str, kind: &str) -> Value {
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let names = json!({"plural": plural, "kind": kind});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{plural}.example.org")},
        "spec": {"group": format!("{plural}.example.org"), "scope": "Namespaced", "names": names, "versions": [version]}})
}

/// The app's own kind is made anew, and then its object.
pub(crate) async fn an_own_kind_that_goes_with_its_objects_is_brought_back(world: &World<Plane>) {
    let plain = Plain { world, name: "ownkind" };
    let text = serde_json::to_string(&definition("wheels", "Wheel")).unwrap();
    let wheel = "apiVersion: wheels.example.org/v1\nkind: Wheel\nmetadata: {name: one}\nspec: {size: 1}\n";
    let first = plain.push(&[("wheel.yaml", wheel), ("definition.yaml", &text)]).await;
    plain.done(&first).await;
    let paths =
        [format!("{DEFINITIONS}/wheels.wheels.example.org"), plain.path("wheels.example.org/v1", "wheels", "one")];
    let before = plain.uids(&paths).await;
    world.try_delete(&paths[0]).await;
    let is_back = async || {
        let now = plain.uids(&paths).await;
        now.iter().zip(&before).all(|(now, before)| now.is_string() && now != before)
    };
    world.until("both are others", is_back).await;
    plain.healthy().await;
}

/// The kind of somebody else: an app waits for it, lets go of its object, or goes.
pub(crate) async fn a_kind_of_others_that_goes_takes_its_objects_from_every_app(world: &World<Plane>) {
    let spoke = "apiVersion: spokes.example.org/v1\nkind: Spoke\nmetadata: {name: one}\nspec: {size: 1}\n";
    let definition = definition("spokes", "Spoke");
    let path = format!("{DEFINITIONS}/spokes.spokes.example.org");
    world.make(DEFINITIONS, definition.clone()).await;
    let [waits, drops, goes] = ["kindwaits", "kinddrops", "kindgoes"].map(|name| Plain { world, name });
    for plain in [&waits, &drops, &goes] {
        let first = plain.push(&[("config.yaml", &config("config", "1")), ("spoke.yaml", spoke)]).await;
        plain.done(&first).await;
    }
    let object = |plain: &Plain<'_, Plane>| plain.path("spokes.example.org/v1", "spokes", "one");
    let old = waits.uid(&object(&waits)).await;
    world.try_delete(&path).await;
    world.until("the kind is gone", async || world.get(&path).await.is_none()).await;
    waits.stands_for("CrdNotEstablished", &["Spoke"]).await;
    // What is wanted no more is gone with its kind, and holds nothing else back.
    let dropped = drops.push(&[("config.yaml", &config("config", "2"))]).await;
    drops.done(&dropped).await;
    drops.until("the rest is applied", &drops.path("v1", "configmaps", "config"), has_version("2")).await;
    world.done(Request::Delete { app: app(goes.name), data: DataFate::Delete }).await;
    let is_gone =
        async || world.get("/api/v1/namespaces/kindgoes").await.is_none() && world.state(goes.name).await.is_none();
    world.until("an app goes without it", is_gone).await;
    let state = world.state(waits.name).await.unwrap();
    assert!(state.intent != "applied" && state.health != "healthy", "{state:#?}");
    world.make(DEFINITIONS, definition).await;
    let is_another = |live: &Value| live["metadata"]["uid"].is_string() && live["metadata"]["uid"] != old;
    waits.until("who waited for it has its object back", &object(&waits), is_another).await;
    waits.healthy().await;
    assert!(world.get(&object(&drops)).await.is_none(), "what was let go of came back");
}

/// A kind of a group of Kubernetes' own name that a definition brings, as those of gateways and of snapshots do.
pub(crate) async fn a_kind_of_others_is_one_whatever_its_group_is_called(world: &World<Plane>) {
    let plain = Plain { world, name: "approved" };
    let conditions =
        json!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let mut definition = definition("vanes", "Vane");
    definition["metadata"] = json!({"name": "vanes.approved.example.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, it is a test"}});
    definition["spec"]["group"] = json!("approved.example.k8s.io");
    let version = &mut definition["spec"]["versions"][0];
    version["subresources"] = json!({"status": {}});
    version["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({"type": "object", "properties": {"conditions": conditions}});
    world.make(DEFINITIONS, definition).await;
    let vane = "apiVersion: approved.example.k8s.io/v1\nkind: Vane\nmetadata: {name: one}\nspec: {size: 1}\n";
    let first = plain.push(&[("vane.yaml", vane)]).await;
    is_told(&plain, "Vane/one", "starting", "its controller has said nothing about it yet").await;
    let status = plain.path("approved.example.k8s.io/v1", "vanes", "one/status");
    let says =
        |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "message": "it turns"}]}});
    world.patch_as("operator", &status, says("False")).await;
    is_told(&plain, "Vane/one", "starting", "it turns").await;
    world.patch_as("operator", &status, says("True")).await;
    plain.done(&first).await;
}

/// An object with the kind's name of a built-in one goes before what serves its finalizer.
pub(crate) async fn an_object_of_another_group_goes_before_the_workloads(world: &World<Plane>) {
    let plain = Plain { world, name: "named" };
    let mut definition = definition("services", "Service");
    definition["metadata"]["name"] = json!("services.named.example.org");
    definition["spec"]["group"] = json!("named.example.org");
    world.make(DEFINITIONS, definition).await;
    let service = "apiVersion: named.example.org/v1\nkind: Service\nmetadata: {name: one, finalizers: [example.org/hold]}\nspec: {size: 1}\n";
    let operator = workload("Deployment", "operator", ("operator", "1"), "");
    let first = plain.push(&[("service.yaml", service), ("operator.yaml", &operator)]).await;
    plain.done(&first).await;
    let path = plain.path("named.example.org/v1", "services", "one");
    let deployment = plain.path("apps/v1", "deployments", "operator");
    world.ask(Request::Delete { app: app(plain.name), data: DataFate::Delete }).await;
    plain.until("it is being deleted", &path, |live| live["metadata"]["deletionTimestamp"].is_string()).await;
    world.look_again(plain.name).await;
    let live = world.get(&deployment).await.expect("what serves its finalizer went first");
    assert!(live["metadata"]["deletionTimestamp"].is_null());
    world.patch(&path, json!({"metadata": {"finalizers": null}})).await;
    world.until("all is gone", async || world.state(plain.name).await.is_none()).await;
}
