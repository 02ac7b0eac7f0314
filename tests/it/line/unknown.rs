//! What is not known is not told as equal.

use super::secrets::wild;
use crate::both::{Plain, config};
use crate::world::World;

/// Checks what the list of differences says, and by which code it ends.
async fn listed(world: &World, code: u8, says: &str) {
    let (ended, out) = wild(world, "wild drift list", "").await;
    let said = format!("{}{}", out.data, out.notes);
    assert!(ended == code && said.contains(says), "{ended} and not {code} with {says:?}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_whose_last_commit_is_not_applied_is_not_told_as_equal_to_git() {
    let world = World::start(&["stonedb 15.5"]).await;
    let plain = Plain { world: &world, name: "half" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    listed(&world, 0, "The cluster is as git says.").await;

    let bad = "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}\n";
    plain.push(&[("config.yaml", &config("config", "1")), ("bad.yaml", bad)]).await;
    plain.stands_for("ApplyFailed", &["spec.ports[0].port"]).await;
    listed(&world, 6, "half may differ: ").await;
    let (ended, out) = wild(&world, "wild drift show half -o json", "").await;
    assert!(ended == 6 && out.data.contains("\"unknown\": ["), "{ended}: {out:?}");

    let last = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.done(&last).await;
    listed(&world, 0, "The cluster is as git says.").await;
}
