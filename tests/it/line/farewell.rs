//! A word to a farewell that a restart does not take back.
//!
//! Also read by `tests/live/order.rs`.

use serde_json::json;

use crate::both::wild;
use crate::world::{Ground, World};

const APP: &str = "farewell";
const FILES: [&str; 3] = ["apps/farewell/kustomization.yaml", "apps/farewell/lower.yaml", "apps/farewell/upper.yaml"];
const TEXTS: [&str; 3] = [
    "namespace: farewell\nresources: [lower.yaml, upper.yaml]\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lower}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: upper\n  finalizers: [example.com/wait]\n  annotations: {rewild.dev/depends-on: \
     /namespaces/farewell/ConfigMap/lower}\n",
];
const LOWER: &str = "/api/v1/namespaces/farewell/configmaps/lower";
const UPPER: &str = "/api/v1/namespaces/farewell/configmaps/upper";

/// §8.3: who agreed to a farewell is not asked again because the daemon starts anew between two of its stages; but is once the app was there
/// again meanwhile.
pub(crate) async fn a_consent_outlives_a_restart<C: Ground>(world: &mut World<C>) {
    let blocked = async |world: &World<C>| {
        let asks = async || world.state(APP).await.is_some_and(|state| state.reason == "DeletionNeedsApproval");
        world.until("a person is asked", asks).await;
        world.state(APP).await.unwrap().hint
    };
    let leaves = async |world: &World<C>| {
        let hint = blocked(world).await;
        wild(world, &hint, "").await;
        let is_leaving = |object: Option<serde_json::Value>| {
            object.is_some_and(|object| !object["metadata"]["deletionTimestamp"].is_null())
        };
        world.until("the first stage is on its way", async || is_leaving(world.get(UPPER).await)).await;
        assert!(world.get(LOWER).await.is_some());
    };
    let (there, gone) =
        (std::array::from_fn::<_, 3, _>(|at| (FILES[at], Some(TEXTS[at]))), FILES.map(|file| (file, None)));
    let loosen = json!([{"op": "remove", "path": "/metadata/finalizers"}]);

    world.set("apps: {farewell: {grants: {finalizers: [example.com/wait]}}}\n").await;
    world.push("farewell", &there).await;
    world.healthy(APP).await;
    world.push("a slip", &gone).await;
    leaves(world).await;
    world.push("it is back", &there).await;
    world.look_again(APP).await;
    world.json_patch_as("kubectl-edit", UPPER, loosen.clone()).await;
    world.healthy(APP).await;
    world.push("another slip", &gone).await;
    leaves(world).await;

    world.restart().await;
    world.json_patch_as("kubectl-edit", UPPER, loosen).await;
    for path in [UPPER, LOWER] {
        world.until(&format!("{path} is gone"), async || world.get(path).await.is_none()).await;
    }
    world.until("nothing is known of the app", async || world.state(APP).await.is_none()).await;
}
