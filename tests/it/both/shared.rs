//! Certificates that apps share: copied to whoever names one, kept equal to their source, and never shown.

use serde_json::{Value, json};

use super::{Plain, config};
use crate::world::{Ground, World};

/// A key as nothing else may hold it.
const KEY: &str = "cGxhbnRlZC1rZXktb2YtdGhlLWNlcnRpZmljYXRl";
/// The next one.
const RENEWED: &str = "cGxhbnRlZC1rZXktYWZ0ZXItdGhlLXJlbmV3YWw=";
const SOURCE: &str = "/api/v1/namespaces/cert-manager/secrets/both-tls";

fn ingress(secret: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: web}}\nspec:\n  tls: [{{hosts: [a.example.org], secretName: {secret}}}]\n  \
         rules:\n  - host: a.example.org\n    http:\n      paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]\n"
    )
}

fn source(key: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "both-tls", "labels": {"theirs": "yes"}},
        "type": "kubernetes.io/tls", "data": {"tls.crt": "Y2VydA==", "tls.key": key}})
}

/// §11.3.
pub(super) async fn a_shared_certificate_is_copied_and_follows_its_source<C: Ground>(world: &World<C>) {
    let (plain, other) = (Plain { world, name: "shared" }, Plain { world, name: "sharing" });
    world
        .make(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}}),
        )
        .await;
    let web = ingress("both-tls");
    let first = plain.push(&[("ingress.yaml", &web)]).await;
    // An app without its certificate runs, and says what it lacks.
    plain.done(&first).await;
    let reason = async || world.state(plain.name).await.map(|state| state.health_reason.clone()).unwrap_or_default();
    world
        .until("the missing certificate is told", async || {
            reason().await.contains("Secret cert-manager/both-tls is not there")
        })
        .await;
    let copy = plain.path("v1", "secrets", "both-tls");
    assert!(world.get(&copy).await.is_none());
    // That it comes wakes the app.
    world.make_as("cert-manager", "/api/v1/namespaces/cert-manager/secrets", source(KEY)).await;
    plain.until("the copy is there", &copy, |live| live["data"]["tls.key"] == json!(KEY)).await;
    world.until("nothing is missing any more", async || reason().await.is_empty()).await;
    plain.healthy().await;
    let live = world.get(&copy).await.unwrap();
    assert_eq!((&live["type"], &live["data"]["tls.crt"]), (&json!("kubernetes.io/tls"), &json!("Y2VydA==")));
    let uid = plain.uid(SOURCE).await;
    let from = format!("cert-manager/both-tls@{}", uid.as_str().unwrap());
    assert_eq!(live["metadata"]["annotations"]["rewild.dev/copied-from"], json!(from));
    assert_eq!(live["metadata"]["labels"]["theirs"], Value::Null, "only what serves is copied");
    let second = other.push(&[("ingress.yaml", &web)]).await;
    other.done(&second).await;
    // A renewal reaches every copy; a hand in one is undone.
    world.patch_as("cert-manager", SOURCE, json!({"data": {"tls.key": RENEWED}})).await;
    let theirs = other.path("v1", "secrets", "both-tls");
    for (app, path) in [(&plain, &copy), (&other, &theirs)] {
        app.until("the copy is renewed", path, |live| live["data"]["tls.key"] == json!(RENEWED)).await;
    }
    world.patch(&copy, json!({"data": {"tls.key": KEY}})).await;
    plain.until("the copy is put back", &copy, |live| live["data"]["tls.key"] == json!(RENEWED)).await;
    // A source that goes takes nothing with it; one that comes again is another.
    world.try_delete(SOURCE).await;
    world.until("the missing certificate is told again", async || reason().await.contains("is not there")).await;
    world.look_again(plain.name).await;
    assert_eq!(world.get(&copy).await.unwrap()["data"]["tls.key"], json!(RENEWED));
    world.make_as("cert-manager", "/api/v1/namespaces/cert-manager/secrets", source(KEY)).await;
    plain.until("the copy is of the new one", &copy, |live| live["data"]["tls.key"] == json!(KEY)).await;
    assert!(world.get(&copy).await.unwrap()["metadata"]["annotations"]["rewild.dev/copied-from"] != json!(from));
    plain.healthy().await;
    nothing_shows_a_key(world).await;
    // Who names it no more has no copy.
    let last = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.agree().await;
    plain.done(&last).await;
    plain.until("the copy is gone", &copy, Value::is_null).await;
}

/// Nothing that the daemon keeps or tells holds a value.
async fn nothing_shows_a_key<C: Ground>(world: &World<C>) {
    let kept = world.kept().await;
    for key in [KEY, RENEWED, "planted-key"] {
        assert!(!kept.contains(key), "{key} is shown");
    }
}
