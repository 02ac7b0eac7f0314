//! People and other tools in the way of an app on a real API server: an object that is somebody's, a standstill, a revision that takes
//! too much, a kind that comes late.
//!
//! Each is an instance of its own on one control plane. Not here: the same on the sandbox (`tests/it/line`).

use rewild::model::{Request, Suspension};
use serde_json::json;

use crate::ground::Plane;
use crate::order::{Plain, config};
use crate::world::app;

/// Config maps of an app of which most go at once.
const MANY: usize = 8;

/// An object of another tool is left alone, and the rest is applied; a copied label makes nothing ours.
pub(crate) async fn strangers(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mhhh", "strangers").await;
    // A person made the namespace, so the app enters it by a grant.
    plain.world.set("apps: {strangers: {grants: {namespaces: [strangers]}}}\n").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain.name}});
    plain.world.make("/api/v1/namespaces", namespace).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "theirs"},
        "metadata": {"name": "config", "annotations": {"meta.helm.sh/release-name": "r"}}});
    plain.world.make("/api/v1/namespaces/strangers/configmaps", theirs).await;
    plain.push(&[("config.yaml", &config("config", "", "1")), ("late.yaml", &config("late", "", "1"))]).await;
    plain.stands_for("ForeignOwner").await;
    let version = async |name: &str| plain.live("api/v1", "configmaps", name).await["data"]["version"].clone();
    plain.world.until("the rest is there", async || version("late").await == json!("1")).await;
    assert_eq!(version("config").await, json!("theirs"));
    let labels = plain.live("api/v1", "configmaps", "late").await["metadata"]["labels"].clone();
    let copy = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy", "labels": labels}});
    plain.world.make("/api/v1/namespaces/strangers/configmaps", copy).await;
    plain.world.try_delete("/api/v1/namespaces/strangers/configmaps/config").await;
    plain
        .world
        .until("what is nobody's any more is ours", async || {
            plain.world.look_again(plain.name).await;
            version("config").await == json!("1")
        })
        .await;
    plain.healthy().await;
    let copied = plain.live("api/v1", "configmaps", "copy").await;
    assert!(!copied.is_null(), "the copy of a person is gone");
    // One that is wanted is not ours for its labels either.
    let config = |name: &str| config(name, "", "1");
    plain
        .push(&[("config.yaml", &config("config")), ("late.yaml", &config("late")), ("copy.yaml", &config("copy"))])
        .await;
    plain.stands_for("AdoptionNeedsConsent").await;
    assert_eq!(plain.live("api/v1", "configmaps", "copy").await, copied, "it was taken over");
    plain.world.stop().await;
}

/// Nothing of a suspended app is written, neither a revision nor a correction.
pub(crate) async fn standstill(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2miii", "standstill").await;
    plain.push(&[("config.yaml", &config("config", "", "1"))]).await;
    plain.healthy().await;
    let version = async || plain.live("api/v1", "configmaps", "config").await["data"]["version"].clone();
    let suspension = Suspension { reason: "the disk is moved".into(), until: String::new() };
    plain.world.done(Request::Suspend { app: app(plain.name), suspension }).await;
    plain.stands_for("Suspended").await;
    let path = "/api/v1/namespaces/standstill/configmaps/config";
    plain.world.patch(path, json!({"data": {"version": "by hand"}})).await;
    plain.push(&[("config.yaml", &config("config", "", "2"))]).await;
    plain.world.look_again(plain.name).await;
    assert_eq!(version().await, json!("by hand"));
    plain.world.done(Request::Resume { app: app(plain.name) }).await;
    plain.world.until("the revision is there", async || version().await == json!("2")).await;
    plain.healthy().await;
    plain.world.stop().await;
}

/// A revision that takes most of an app waits for a person; what a file loses alone goes at once.
pub(crate) async fn losses(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mjjj", "losses").await;
    let all: Vec<(String, String)> =
        (0..MANY).map(|number| (format!("{number}.yaml"), config(&format!("part-{number}"), "", "1"))).collect();
    let push = async |left: usize| {
        let files: Vec<(&str, &str)> =
            all.iter().take(left).map(|(file, text)| (file.as_str(), text.as_str())).collect();
        plain.push(&files).await;
    };
    let count = async || {
        let list = plain.world.get("/api/v1/namespaces/losses/configmaps").await.unwrap();
        let ours = |item: &&serde_json::Value| item["metadata"]["name"].as_str().unwrap().starts_with("part-");
        list["items"].as_array().unwrap().iter().filter(ours).count()
    };
    push(MANY).await;
    plain.healthy().await;
    push(MANY - 1).await;
    plain.world.until("one is gone", async || count().await == MANY - 1).await;
    plain.healthy().await;
    push(1).await;
    plain.stands_for("DeletionNeedsApproval").await;
    plain.world.look_again(plain.name).await;
    assert_eq!(count().await, MANY - 1);
    let hint = plain.world.state(plain.name).await.unwrap().hint;
    let digest = hint.rsplit(' ').next().unwrap().to_owned();
    let approved = Request::Deploy { app: app(plain.name), approve: Some(digest), recreate: Vec::new(), adopt: false };
    plain.world.done(approved).await;
    assert_eq!(count().await, 1, "{hint}");
    plain.healthy().await;
    plain.world.stop().await;
}

/// An object of a kind that comes later waits for it.
pub(crate) async fn late(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mkkk", "late").await;
    let gadget = "apiVersion: late.example.org/v1\nkind: Gadget\nmetadata: {name: one}\nspec: {size: 1}\n";
    plain.push(&[("config.yaml", &config("config", "", "1")), ("gadget.yaml", gadget)]).await;
    plain.stands_for("CrdNotEstablished").await;
    assert!(!plain.live("api/v1", "configmaps", "config").await.is_null(), "the rest waits as well");
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.late.example.org"},
        "spec": {"group": "late.example.org", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    plain.world.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    plain
        .world
        .until("the object of the late kind is there", async || {
            plain.world.look_again(plain.name).await;
            let list = plain.live("apis/late.example.org/v1", "gadgets", "one").await;
            list["spec"]["size"] == json!(1)
        })
        .await;
    plain.healthy().await;
    plain.world.stop().await;
}
