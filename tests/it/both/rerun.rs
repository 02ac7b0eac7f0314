//! A Job runs once for what is committed, and again when a person asks.

use serde_json::Value;

use super::{Plain, config, says};
use crate::world::{Ground, World};

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      \
                   containers: [{name: main, image: \"registry.example.invalid/main:1\"}]\n";

/// §5.5.
pub(super) async fn a_job_runs_again_only_when_a_person_asks<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "rerun" };
    let first = plain.push(&[("job.yaml", JOB), ("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let path = plain.path("batch/v1", "jobs", "once");
    let before = plain.uid(&path).await;
    says(world, "wild app reconcile rerun", &["unchanged"]).await;
    says(world, "wild app reconcile rerun --rerun-job other", &["it has no Job other", "that have run: once"]).await;
    says(world, "wild app reconcile rerun --rerun-job once --dry-run", &["it runs again, as a person asked"]).await;
    assert_eq!(plain.uid(&path).await, before);
    says(world, "wild app reconcile rerun --rerun-job once", &["Job/once (rerun)"]).await;
    plain.until("it runs again", &path, |job| !job.is_null() && job["metadata"]["uid"] != before).await;
    plain.healthy().await;
    let second = plain.uid(&path).await;
    world.look_again(plain.name).await;
    assert_eq!(plain.uid(&path).await, second, "once asked is once run");
    world.delete_as_read(&path).await;
    plain.until("it is gone", &path, Value::is_null).await;
    world.look_again(plain.name).await;
    assert!(plain.uid(&path).await.is_null(), "it ran again by itself");
    says(world, "wild app reconcile rerun --rerun-job once", &["created     Job/once (rerun)"]).await;
    plain.until("it is there", &path, |job| !job.is_null()).await;
    plain.healthy().await;
}
