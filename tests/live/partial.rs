//! F39 on a real API server: the group of a definition is handed to a server that is nowhere, as an aggregated API is that is down.
//!
//! Not here: what must hold (`tests/it/partial.rs`), the same on the sandbox (`tests/it/line/partial.rs`).

#[path = "../it/partial.rs"]
mod rows;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::ground::{Plane, start};
use crate::parts::{ControlPlane, Shape};
use crate::world::{Ground, World};
use rows::{Hidden, Hiding, check};

const GROUP: &str = "/apis/partial.example.org/v1";
const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1.partial.example.org";
const GADGET: &str = "apiVersion: partial.example.org/v1\nkind: Gadget\nmetadata: {name: hidden}\nspec: {size: 1}\n";

async fn code(world: &World<Plane>, path: &str) -> u16 {
    let asked = world.cluster.client().get(format!("{}{path}", world.cluster.url())).send();
    asked.await.unwrap().status().as_u16()
}

/// Makes the kind whose group is hidden later.
async fn define(world: &World<Plane>) {
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.partial.example.org"},
        "spec": {"group": "partial.example.org", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": [version]}});
    world.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    world.until("the kind is served", async || code(world, &format!("{GROUP}/gadgets")).await == 200).await;
}

impl Hiding for Plane {
    const HIDDEN: Hidden = Hidden { kind: "Gadget", text: GADGET, api: "partial.example.org/v1", plural: "gadgets" };

    type Veil = ();

    async fn hide(world: &mut World<Self>) {
        // Without this label the server leaves the entry to whoever changes it.
        let nowhere = json!({"metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": null}},
            "spec": {"service": {"namespace": "nowhere", "name": "nobody"}, "insecureSkipTLSVerify": true}});
        world.patch(SERVICES, nowhere).await;
        world.until("the group cannot be served", async || code(world, GROUP).await == 503).await;
        world.restart().await;
    }

    async fn show(world: &World<Self>, (): &()) {
        // The server makes its own entry anew.
        world.try_delete(SERVICES).await;
        world.until("the group is served again", async || code(world, GROUP).await == 200).await;
    }

    async fn is_stored(world: &World<Self>, namespace: &str) -> bool {
        let key = STANDARD.encode(format!("/registry/partial.example.org/gadgets/{namespace}/hidden"));
        let asked = reqwest::Client::new().post(format!("{}/v3/kv/range", world.cluster.0.etcd()));
        let answer = asked.body(json!({"key": key}).to_string()).send().await.unwrap().json::<Value>().await.unwrap();
        answer["count"] == json!("1")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_aggregated_api_that_is_down_hides_is_not_taken_for_gone() {
    // A group that cannot be served keeps every namespace of the cluster from going, so nobody else may be there.
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let mut world = start(&Plane(Arc::new(plane)), "k3f7q2mppp").await;
    define(&world).await;
    check(&mut world).await;
    world.stop().await;
}
