//! One invalid and one unchangeable object among fifty.
//!
//! Not here: what a server refuses in all its words (`told.rs`).

use std::fmt::Write;

use rewild::model::{CommitId, Effect, Operation, OperationState, Request};
use rewild::store::{OperationFilter, StoredStatus};
use serde_json::json;

use super::{Plain, has_version, workload};
use crate::world::{Ground, World, app};

const MANY: usize = 48;

/// Pushes config maps, a Deployment with a selector, and a config map with a key.
async fn push<C: Ground>(plain: &Plain<'_, C>, version: &str, selector: &str, key: &str) -> CommitId {
    let mut parts = String::new();
    for number in 0..MANY {
        let _ = write!(
            parts,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\ndata: {{version: \"{version}\"}}\n---\n"
        );
    }
    let web = workload("Deployment", "web", (selector, "1"), "");
    let keyed =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: keyed}}\ndata: {{\"{key}\": \"{version}\"}}\n");
    plain.push(&[("parts.yaml", &parts), ("web.yaml", &web), ("keyed.yaml", &keyed)]).await
}

/// Returns the first operation of the app that failed.
async fn failed<C: Ground>(plain: &Plain<'_, C>) -> Operation {
    let instance = plain.world.handle.instance();
    let filter = OperationFilter { app: Some(app(plain.name)), ..OperationFilter::default() };
    let all = instance.store.operations(&instance.id, &filter).await.unwrap();
    all.into_iter().rfind(|operation| operation.state == OperationState::Failed).unwrap()
}

/// F44: all others are applied, both are told, and the commit is red. Needs a world without other apps, which would have a say in that.
pub(super) async fn of_fifty_objects_two_bad_ones_hold_no_other_back<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "fifty" };
    let first = push(&plain, "1", "web", "key").await;
    plain.done(&first).await;
    let web = plain.path("apps/v1", "deployments", "web");
    let before = plain.uid(&web).await;
    let head = push(&plain, "2", "other", "bad key").await;
    plain.stands_for("ApplyFailed", &["bad key"]).await;
    let refused = ["fifty failed: ", "apps/fifty/keyed.yaml:1", "bad key"];
    says(world, &head, "failure", &refused).await;
    for number in 0..MANY {
        assert!(has_version("2")(&plain.config(&format!("part-{number}")).await), "part-{number}");
    }
    assert_eq!(plain.uid(&web).await, before, "it was made anew");
    both_are_told(&plain).await;
    // One is mended: the other is told, and is not taken for done.
    let (bad, head) = (head, push(&plain, "2", "other", "key").await);
    plain.stands_for("RecreateNeedsApproval", &["Deployment/web"]).await;
    says(world, &head, "pending", &["fifty is blocked: ", "Deployment/web", "field is immutable"]).await;
    let state = world.state(plain.name).await.unwrap();
    assert_eq!(state.hint, "wild app deploy fifty --recreate Deployment/web");
    let recreate = vec!["Deployment/web".to_owned()];
    world.done(Request::Deploy { app: app(plain.name), approve: None, recreate, adopt: false }).await;
    plain.done(&head).await;
    assert_ne!(plain.uid(&web).await, before);
    says(world, &head, "success", &["1 app is applied and healthy"]).await;
    says(world, &bad, "failure", &refused).await;
}

/// Waits until a commit says this and nothing else of its deployment.
async fn says<C: Ground>(world: &World<C>, commit: &CommitId, state: &str, parts: &[&str]) {
    let instance = world.handle.instance();
    let is_said = async || {
        let statuses = instance.store.statuses(&instance.id, commit).await.unwrap();
        let deploy: Vec<_> = statuses.iter().filter(|status| status.context.starts_with("wild/deploy")).collect();
        let is_it = |status: &StoredStatus| parts.iter().all(|part| status.description.contains(part));
        matches!(deploy.as_slice(), [only] if only.state == state && is_it(only))
    };
    world.until(&format!("{commit:?} says {state}: {parts:?}"), is_said).await;
}

/// Checks what the operation says of each object, and what the app says.
async fn both_are_told<C: Ground>(plain: &Plain<'_, C>) {
    let row = failed(plain).await;
    let outcomes = plain.world.handle.instance().store.outcomes(&row.id).await.unwrap();
    let of = |effect: Effect| outcomes.iter().filter(move |outcome| outcome.effect == effect).collect::<Vec<_>>();
    assert_eq!(of(Effect::Configured).len(), MANY, "{outcomes:#?}");
    let [(failed, says), (blocked, asks)] = [
        (of(Effect::Failed), ["apps/fifty/keyed.yaml:1", "bad key"]),
        (of(Effect::Blocked), ["field is immutable", "--recreate Deployment/web"]),
    ];
    for (found, says) in [(failed, says), (blocked, asks)] {
        assert_eq!(found.len(), 1, "{outcomes:#?}");
        assert!(says.iter().all(|text| found[0].message.contains(text)), "{}", found[0].message);
    }
    assert_eq!(outcomes.len(), MANY + 2);
    let state = plain.world.state(plain.name).await.unwrap();
    assert!(state.intent != "applied" && state.needs_you.contains("bad key"), "{state:#?}");
    let live = plain.config("keyed").await;
    assert_eq!(live["data"], json!({"key": "1"}), "half of it was written");
}
