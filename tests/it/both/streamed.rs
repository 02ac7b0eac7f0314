//! What happens to an app is read as it happens.
//!
//! Not here: who comes back to a stream (`src/http/tests.rs`).

use std::collections::BTreeSet;

use futures::StreamExt;
use rewild::http::{Direct, DirectRequest};
use serde_json::json;

use super::{Plain, config};
use crate::world::{DEADLINE, Ground, World};

/// §13: nobody has to ask.
pub(super) async fn what_happens_to_an_app_is_told_as_it_happens<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "streamed" };
    let path = "/api/v1/instances/home/events?app=streamed";
    let request = DirectRequest { method: "GET", path, body: None, actor: "carol" };
    let (status, mut frames) = Direct::new(world.daemon.clone()).stream(request).await;
    assert_eq!(status, 200);
    let edited = async {
        let head = plain.push(&[("config.yaml", &config("config", "1"))]).await;
        plain.done(&head).await;
        let path = plain.path("v1", "configmaps", "config");
        world.patch_as("kubectl-edit", &path, json!({"data": {"version": "by hand"}})).await;
    };
    let mut told = BTreeSet::new();
    let all_told = async {
        let wanted = ["connected", "applied", "healthy", "drift-detected", "drift-corrected"];
        while !wanted.iter().all(|kind| told.contains(*kind)) {
            let frame = frames.next().await.flatten().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            let kind = text.lines().find_map(|line| line.strip_prefix("event: ")).unwrap();
            assert!(kind == "connected" || kind == "heartbeat" || text.contains("\"app\":\"streamed\""), "{text}");
            told.insert(kind.to_owned());
        }
    };
    let (in_time, ()) = futures::join!(tokio::time::timeout(DEADLINE, all_told), edited);
    assert!(in_time.is_ok(), "only {told:?} were told\n{}", world.show().await);
}
