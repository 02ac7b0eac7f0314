//! Both instances at once: one branch that both commit to, one push that changes both.

use rewild::model::{OperationState, Request};
use serde_json::json;

use super::Fleet;
use crate::line::add;
use crate::world::app;

/// Rounds of commits that both make at the same time.
const ROUNDS: usize = 4;

fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: note}}\ndata: {{text: \"{value}\"}}\n")
}

const LIST: &str = "namespace: plain\nresources: [note.yaml]\n";
const NOTE: &str = "/api/v1/namespaces/plain/configmaps/note";

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_both_at_the_same_time_are_all_kept() {
    let fleet = Fleet::start("stonedb 15.5").await;
    let sides = [fleet.home(), fleet.cabin()];
    let before = fleet.head().await;
    let mut asked = Vec::new();
    for side in &sides {
        for name in ["stonedb", "quickcache"] {
            asked.push((side, side.handle.ask(add(name, &[]), "alice").await.unwrap()));
        }
    }
    for round in 0..ROUNDS {
        for side in &sides {
            let set = [("timezone".to_owned(), json!(format!("Europe/{}{round}", side.place.len())))].into();
            let request = Request::Config { app: app("stonedb"), set, unset: Vec::new() };
            asked.push((side, side.handle.ask(request, "alice").await.unwrap()));
        }
    }
    for (side, operation) in &asked {
        let instance = side.handle.instance();
        fleet
            .until(&format!("{} of {} ends", operation.id, side.place), async || {
                let now = instance.store.operation(&instance.id, &operation.id).await.unwrap().unwrap();
                now.state == OperationState::Succeeded
            })
            .await;
    }
    // Each request is one commit of the branch that names it, and none is there twice.
    let history = fleet.git(&[
        "log",
        "--first-parent",
        "--format=%(trailers:key=Wild-Operation,valueonly)",
        &format!("{before}..main"),
    ]);
    let mut made: Vec<&str> = history.split_whitespace().collect();
    let mut expected: Vec<&str> = asked.iter().map(|(_, operation)| operation.id.0.as_str()).collect();
    made.sort_unstable();
    expected.sort_unstable();
    assert_eq!(made, expected);
    for side in &sides {
        let config = side.file("config.yaml").await.unwrap();
        let last = format!("Europe/{}{}", side.place.len(), ROUNDS - 1);
        assert!(config.contains(&last) && config.contains("quickcache:"), "{config}");
        assert!(side.file("apps/stonedb/statefulset.yaml").await.unwrap().contains(&last));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_both_reaches_both_and_a_push_to_one_lets_the_other_write_nothing() {
    let fleet = Fleet::start("stonedb 15.5").await;
    let sides = [fleet.home(), fleet.cabin()];
    let text = config_map("one");
    let paths: Vec<(String, String)> = sides
        .iter()
        .map(|side| (side.path("apps/plain/kustomization.yaml"), side.path("apps/plain/note.yaml")))
        .collect();
    let files =
        paths.iter().flat_map(|(list, note)| [(list.as_str(), Some(LIST)), (note.as_str(), Some(text.as_str()))]);
    let pushed = fleet.push("both", &files.collect::<Vec<_>>()).await;
    for side in &sides {
        side.healthy("plain").await;
        assert_eq!(side.get(NOTE).await.unwrap()["data"]["text"], json!("one"));
    }
    assert_eq!(fleet.head().await, pushed, "nothing is committed where nothing is to compile");
    let cabin = sides[1].untouched(NOTE).await;
    let one = fleet.push("home alone", &[(paths[0].1.as_str(), Some(&config_map("two")))]).await;
    fleet.until("home follows", async || sides[0].get(NOTE).await.unwrap()["data"]["text"] == json!("two")).await;
    let context = "wild/deploy (cabin)";
    fleet.until("cabin has seen it", async || sides[1].status(&one, context).await.as_deref() == Some("success")).await;
    sides[1].look_again("plain").await;
    assert_eq!(sides[1].untouched(NOTE).await, cabin);
    assert_eq!(fleet.head().await, one);
}
