//! Health as the instance itself tells it.

use crate::world::World;

fn service(kind: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  type: {kind}\n  selector: {{app: web}}\n  ports: [{{name: http, port: 80}}]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_as_well_as_the_rules_of_its_instance_say() {
    let world = World::start(&["stonedb 15.5"]).await;
    let list = "namespace: plain\nresources: [web.yaml]\n";
    let (outside, inside) = (service("NodePort"), service("ClusterIP"));
    world
        .push("plain", &[("apps/plain/kustomization.yaml", Some(list)), ("apps/plain/web.yaml", Some(&outside))])
        .await;
    world.healthy("plain").await;
    // Nothing of the app changes; what its objects' health is read from does.
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let rule = "health:\n- {kind: Service, healthy: {path: /spec/type, equals: [ClusterIP]}}\n";
    world.push("a rule", &[(".wild/config.yaml", Some(&format!("{settings}{rule}")))]).await;
    world
        .until("the app is no longer healthy", async || {
            world.state("plain").await.is_some_and(|state| {
                state.health == "starting" && state.health_reason.contains("spec.type is NodePort")
            })
        })
        .await;
    world.push("another type", &[("apps/plain/web.yaml", Some(&inside))]).await;
    world.healthy("plain").await;
    let rule = "health:\n- {kind: Service, degraded: {path: /spec/type, equals: [ClusterIP]}}\n";
    let head = world.push("another rule", &[(".wild/config.yaml", Some(&format!("{settings}{rule}")))]).await;
    world
        .until("the app fails", async || world.state("plain").await.is_some_and(|state| state.health == "failing"))
        .await;
    assert_ne!(world.status(&head, "wild/deploy").await.as_deref(), Some("success"));
    world.push("no rule", &[(".wild/config.yaml", Some(&settings))]).await;
    world.healthy("plain").await;
}
