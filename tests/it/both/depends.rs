//! Objects that depend on others.

use serde_json::{Value, json};

use super::{Plain, config, nowhere, workload};
use crate::world::{Ground, World};

/// §5.3.
pub(super) async fn an_object_waits_for_what_it_depends_on_and_goes_before_it<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "depends" };
    let on = |name: &str, list: &str| {
        let annotations =
            format!("{{name: {name}, finalizers: [example.org/hold], annotations: {{rewild.dev/depends-on: {list}}}}}");
        config(name, "1").replace(&format!("{{name: {name}}}"), &annotations)
    };
    let web = on("web", "apps/namespaces/depends/Deployment/db");
    let db = workload("Deployment", "db", ("db", "1"), "");
    let other = config("other", "1");
    plain.push(&[("web.yaml", &web), ("db.yaml", &nowhere(&db)), ("other.yaml", &other)]).await;
    let told = async || {
        let state = world.state(plain.name).await;
        state.is_some_and(|state| {
            state.reason == "WaveNotHealthy" && state.health_reason.contains("wait for Deployment/db (")
        })
    };
    world.until("one waits for the other", told).await;
    plain.until("what nothing holds is there", &plain.path("v1", "configmaps", "other"), Value::is_object).await;
    assert_eq!(plain.config("web").await, Value::Null);
    let second = plain.push(&[("web.yaml", &web), ("db.yaml", &db), ("other.yaml", &other)]).await;
    plain.done(&second).await;
    assert!(plain.config("web").await.is_object());
    // Both go, and one is held.
    let last = plain.push(&[("other.yaml", &other)]).await;
    let path = plain.path("v1", "configmaps", "web");
    plain.until("it is being deleted", &path, |live| live["metadata"]["deletionTimestamp"].is_string()).await;
    world.look_again(plain.name).await;
    assert!(plain.live("apps/v1", "deployments", "db").await["metadata"]["deletionTimestamp"].is_null());
    world.patch(&path, json!({"metadata": {"finalizers": null}})).await;
    plain.until("the other is gone", &plain.path("apps/v1", "deployments", "db"), Value::is_null).await;
    plain.done(&last).await;
    let wrong = on("web", "apps/namespaces/depends/Deployment/nobody");
    plain.push(&[("web.yaml", &wrong), ("other.yaml", &other)]).await;
    plain.stands_for("InvalidObject", &["apps/depends/web.yaml:1", "which is no object of the app"]).await;
}
