//! What outlives a deletion: volumes that are held for a while, secret values, and objects as they were.
//!
//! Also read by `tests/live/data.rs`.

use rewild::http::{Direct, DirectRequest};
use rewild::model::{DataFate, OperationId, OperationState, Request};
use serde_json::{Value, json};

use crate::world::{Ground, World, app};

/// The app, which is its namespace as well.
pub(crate) const APP: &str = "vault";
const NAMESPACE: &str = "/api/v1/namespaces/vault";
const CLAIM: &str = "/api/v1/namespaces/vault/persistentvolumeclaims/data";
const FILES: [(&str, &str); 3] = [
    ("apps/vault/kustomization.yaml", "namespace: vault\nresources: [claim.yaml, words.yaml]\n"),
    (
        "apps/vault/claim.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n",
    ),
    (
        "apps/vault/words.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata: {a: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {b: two}\n",
    ),
];

pub(crate) async fn until_bound<C: Ground>(world: &World<C>) -> Value {
    let is_bound = async || world.get(CLAIM).await.is_some_and(|claim| claim["status"]["phase"] == "Bound");
    world.until("the claim is bound", is_bound).await;
    world.get(CLAIM).await.unwrap()
}

pub(crate) fn volume_path(claim: &Value) -> String {
    format!("/api/v1/persistentvolumes/{}", claim["spec"]["volumeName"].as_str().unwrap())
}

/// Deploys the app and returns its claim.
pub(crate) async fn deployed<C: Ground>(world: &World<C>) -> Value {
    world.push("a vault", &FILES.map(|(path, text)| (path, Some(text)))).await;
    world.healthy(APP).await;
    until_bound(world).await
}

pub(crate) async fn delete<C: Ground>(world: &World<C>, data: DataFate) -> OperationId {
    let deleted = world.done(Request::Delete { app: app(APP), data }).await;
    world.until("the namespace is gone", async || world.get(NAMESPACE).await.is_none()).await;
    world.until("the app is gone", async || world.state(APP).await.is_none()).await;
    deleted.id
}

/// Takes an operation back as `wild undo` does; returns what is said.
pub(crate) async fn undo<C: Ground>(world: &World<C>, id: &OperationId) -> String {
    let path = format!("/api/v1/instances/home/operations/{id}/undo");
    let request = DirectRequest { method: "POST", path: &path, body: Some(&json!({})), actor: "alice" };
    let (status, answer) = Direct::new(world.daemon.clone()).call(request).await;
    assert_eq!(status, 202, "{answer:#}");
    let id = OperationId(answer["operation_id"].as_str().unwrap().to_owned());
    let instance = world.handle.instance();
    let stored = async || instance.store.operation(&instance.id, &id).await.unwrap().unwrap();
    world.until("the undo ends", async || stored().await.ended.is_some()).await;
    let ended = stored().await;
    assert_eq!(ended.state, OperationState::Succeeded, "{ended:#?}");
    ended.message
}

pub(crate) async fn held<C: Ground>(world: &World<C>) -> usize {
    let instance = world.handle.instance();
    instance.store.held_volumes(&instance.id, &app(APP)).await.unwrap().len()
}

async fn phase<C: Ground>(world: &World<C>, volume: &str) -> (String, String) {
    let volume = world.get(volume).await.unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    (text(&volume["status"]["phase"]), text(&volume["spec"]["persistentVolumeReclaimPolicy"]))
}

/// An app that was deleted with its data comes back with it.
pub(crate) async fn data_comes_back<C: Ground>(world: &World<C>) {
    let before = deployed(world).await;
    let volume = volume_path(&before);
    let uid = world.get(&volume).await.unwrap()["metadata"]["uid"].clone();
    let id = delete(world, DataFate::Delete).await;
    let is_kept = async || phase(world, &volume).await == ("Released".to_owned(), "Retain".to_owned());
    world.until("the volume is kept", is_kept).await;
    assert_eq!(held(world).await, 1);
    let instance = world.handle.instance();
    let archived = instance.store.archived(&instance.id, &app(APP), None).await.unwrap();
    let names: Vec<String> = archived.iter().map(|one| one.object.short()).collect();
    for name in ["PersistentVolumeClaim/data", "ConfigMap/words", "ConfigMap/more", "Namespace/vault"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    let words = archived.iter().rfind(|one| one.object.name == "words").unwrap();
    assert_eq!(words.body.at(&["data", "a"]), Some(&Value::from("one")));
    assert!(words.body.at(&["metadata", "managedFields"]).is_none());

    let said = undo(world, &id).await;
    assert!(said.contains("PersistentVolumeClaim/data comes back with its data"), "{said}");
    world.healthy(APP).await;
    let after = until_bound(world).await;
    assert_eq!(volume_path(&after), volume);
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"]["labels"]["rewild.dev/app"], APP, "{after}");
    world.until("nothing is held any more", async || held(world).await == 0).await;
    let now = world.get(&volume).await.unwrap();
    assert_eq!((&now["metadata"]["uid"], &now["spec"]["claimRef"]["uid"]), (&uid, &after["metadata"]["uid"]));
    assert_eq!(phase(world, &volume).await, ("Bound".to_owned(), "Delete".to_owned()));
    assert!(now["metadata"]["annotations"]["rewild.dev/reclaim-policy"].is_null(), "{now}");
    world.healthy(APP).await;
    let versions = world.versions().await;
    world.look_again(APP).await;
    assert_eq!(world.versions().await, versions, "a second look writes nothing");

    // Who says so lets it go at once.
    delete(world, DataFate::DeleteNow).await;
    world.until("the volume is gone", async || world.get(&volume).await.is_none()).await;
    assert_eq!(held(world).await, 0);
}

/// What is held goes by its own policy when its time is over.
pub(crate) async fn data_goes_in_the_end<C: Ground>(world: &World<C>) {
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let text = format!("{settings}deletion: {{dataGrace: 3s}}\n");
    world.push("a short grace", &[(".wild/config.yaml", Some(&text))]).await;
    let volume = volume_path(&deployed(world).await);
    delete(world, DataFate::Delete).await;
    world.until("the volume is gone", async || world.get(&volume).await.is_none()).await;
    world.until("it is forgotten", async || held(world).await == 0).await;
    assert!(world.state(APP).await.is_none());
}

/// What was pruned because a commit no longer held it comes back by an undo of the pass that pruned it.
pub(crate) async fn what_was_pruned_comes_back<C: Ground>(world: &World<C>) {
    deployed(world).await;
    let more = "/api/v1/namespaces/vault/configmaps/more";
    let (path, text) = FILES[2];
    let (first, _) = text.split_once("---").unwrap();
    world.push("one less", &[(path, Some(first))]).await;
    world.until("it is pruned", async || world.get(more).await.is_none()).await;
    world.healthy(APP).await;
    let instance = world.handle.instance();
    let archived = instance.store.archived(&instance.id, &app(APP), None).await.unwrap();
    let pruned = archived.iter().rfind(|one| one.object.name == "more").unwrap();
    undo(world, &pruned.operation).await;
    world.until("it is back", async || world.get(more).await.is_some()).await;
    assert_eq!(world.file("main", path).await.as_deref(), Some(text));
}
