//! Sentences about what a server refuses, and about apps that wait for others.

use rewild::model::{OperationState, Request};
use serde_json::json;

use super::{Plain, config, nowhere, says, workload};
use crate::commits::commit;
use crate::world::{Ground, World, app};

/// §14.
pub(super) async fn what_a_server_refuses_is_told_in_its_words<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "told" };
    let fine = config("fine", "1");
    let push = async |bad: &str| plain.push(&[("fine.yaml", &fine), ("bad.yaml", bad)]).await;
    let web = |more: &str| workload("Deployment", "web", ("web", "1"), more);
    push(&web("  replcias: 2\n")).await;
    plain
        .stands_for(
            "ApplyFailed",
            &["apps/told/bad.yaml:1", "spec.replcias", "field not declared in schema", "replicas"],
        )
        .await;
    push(&web("  replicas: -1\n")).await;
    plain
        .stands_for("ApplyFailed", &["apps/told/bad.yaml:1", "spec.replicas", "must be greater than or equal to 0"])
        .await;
    let twice = web("").replace(
        "      - {name: main,",
        "      - {name: main, image: \"registry.example.invalid/main:2\"}\n      - {name: main,",
    );
    push(&twice).await;
    plain.stands_for("ApplyFailed", &["containers", "main"]).await;
    let mount = web("").replace("\"}\n", "\", volumeMounts: [{name: nothing, mountPath: /x}]}\n");
    push(&mount).await;
    plain.stands_for("ApplyFailed", &["volumeMounts[0].name", "nothing"]).await;
    let last = push(&web("")).await;
    plain.done(&last).await;
}

/// §14: a kind that the cluster does not know.
pub(super) async fn who_brings_a_kind_that_is_unknown_is_named<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "unknown" };
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gears.gears.example.org}\nspec:\n  \
               group: gears.example.org\n  names: {plural: gears, kind: Gear}\n";
    let manifest = "name: gearbox\nis: gearbox\nversion: \"1\"\ndescription: kinds for others\n";
    let files = [("gearbox/manifest.yaml", Some(manifest)), ("gearbox/crd.yaml", Some(crd))];
    commit(&world.upstream, "main", "gearbox", &files).await;
    world.fetch().await;
    let gear = "apiVersion: gears.example.org/v1\nkind: Gear\nmetadata: {name: one}\n";
    plain.push(&[("config.yaml", &config("config", "1")), ("gear.yaml", gear)]).await;
    let says = ["does not know the kind Gear of gears.example.org/v1", "the package gearbox brings it"];
    plain.stands_for("CrdNotEstablished", &says).await;
    assert_eq!(world.state(plain.name).await.unwrap().hint, "wild app add gearbox");
    plain.until("the rest is applied", &plain.path("v1", "configmaps", "config"), super::has_version("1")).await;
    let last = plain.push(&[("config.yaml", &config("config", "2"))]).await;
    plain.done(&last).await;
}

/// §5.4.
pub(super) async fn an_app_waits_for_what_it_requires<C: Ground>(world: &World<C>) {
    let (base, top) = (Plain { world, name: "base" }, Plain { world, name: "top" });
    let manifest =
        |name: &str, more: &str| format!("name: {name}\nis: {name}\nversion: \"1\"\ndescription: one of two\n{more}");
    let requires = manifest("top", "requires:\n- {name: base, installedAs: base}\n");
    let web = workload("Deployment", "web", ("web", "1"), "");
    let base_manifest = manifest("base", "");
    base.push(&[("web.yaml", &nowhere(&web)), ("manifest.yaml", &base_manifest)]).await;
    top.push(&[("config.yaml", &config("config", "1")), ("manifest.yaml", &requires)]).await;
    top.stands_for("RequirementNotReady", &["base"]).await;
    world.look_again(top.name).await;
    assert!(top.config("config").await.is_null());
    // What would free it is told, by the daemon that waits for it, and when it looks again.
    let freed = ["top is blocked (RequirementNotReady)", "freed when: base is deployed and healthy", "next look: "];
    says(world, "wild doctor top", &freed).await;
    says(world, "wild doctor", &freed).await;
    says(world, "wild doctor top -o json", &["\"kind\": \"FindingList\"", "\"on\": \"app\"", "\"what\": \"base\""])
        .await;
    says(world, "wild plan top", &["> goes on when base is deployed and healthy"]).await;
    base.push(&[("web.yaml", &web), ("manifest.yaml", &base_manifest)]).await;
    base.healthy().await;
    top.healthy().await;
    assert_eq!(top.config("config").await["data"]["version"], json!("1"));
    says(world, "wild doctor top", &["Nothing is stuck."]).await;
    says(world, "wild doctor nothing", &["there is no app nothing"]).await;
    let deleted = world.ask(Request::Delete { app: app("base"), data: rewild::model::DataFate::Keep }).await;
    assert_eq!((deleted.state, deleted.refusal.map(|refusal| refusal.code)), (OperationState::Failed, Some(6)));
}

/// Metrics by type, as they are announced.
const METRICS: [(&str, &str); 33] = [
    ("controller_runtime_reconcile", "counter"),
    ("controller_runtime_reconcile_errors", "counter"),
    ("controller_runtime_reconcile_time_seconds", "histogram"),
    ("controller_runtime_active_workers", "gauge"),
    ("workqueue_depth", "gauge"),
    ("workqueue_queue_duration_seconds", "histogram"),
    ("workqueue_retries", "counter"),
    ("rest_client_requests", "counter"),
    ("rest_client_request_duration_seconds", "histogram"),
    ("wild_app_info", "gauge"),
    ("wild_app_drifted_fields", "gauge"),
    ("wild_app_blocked", "gauge"),
    ("wild_inventory_objects", "gauge"),
    ("wild_drift_fights", "gauge"),
    ("wild_namespace_stuck", "gauge"),
    ("wild_deletion_blocked", "counter"),
    ("wild_target_up", "gauge"),
    ("wild_apply_limit", "gauge"),
    ("wild_apply_inflight", "gauge"),
    ("wild_apply_dry_runs", "counter"),
    ("wild_apply_objects", "counter"),
    ("wild_observe_requests", "counter"),
    ("wild_watch_fresh", "gauge"),
    ("wild_watch_restarts", "counter"),
    ("wild_watch_malformed", "counter"),
    ("wild_watch_missed", "counter"),
    ("wild_prune", "counter"),
    ("wild_drift_detected", "counter"),
    ("wild_drift_report_seconds", "histogram"),
    ("wild_drift_heal_seconds", "histogram"),
    ("wild_operation", "counter"),
    ("wild_audited_objects", "counter"),
    ("wild_audit_mismatch", "counter"),
];

/// §15: what stands in the metrics under the names that dashboards know.
pub(super) async fn passes_are_counted<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "counted" };
    let first = plain.push(&[("config.yaml", &config("config", "1")), ("gone.yaml", &config("gone", "1"))]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "config");
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    plain.until("it is put back", &path, super::has_version("1")).await;
    let last = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&last).await;
    plain.until("it is gone", &plain.path("v1", "configmaps", "gone"), serde_json::Value::is_null).await;
    let count = |start: &str| {
        let text = world.daemon.metrics().encode();
        let lines = text.lines().filter(|line| line.starts_with(start));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .fold(None, |sum: Option<f64>, it| Some(sum.unwrap_or(0.0) + it))
    };
    for (start, least, most) in [
        ("controller_runtime_reconcile_total{controller=\"home\",result=\"success\"}", 2.0, f64::MAX),
        ("controller_runtime_reconcile_time_seconds_count", 2.0, f64::MAX),
        ("controller_runtime_active_workers{controller=\"home\"}", 0.0, 64.0),
        ("workqueue_depth{controller=\"home\"}", 0.0, 1_000.0),
        ("workqueue_queue_duration_seconds_count", 2.0, f64::MAX),
        ("rest_client_request_duration_seconds_count{target=\"home\",method=\"PATCH\"}", 2.0, f64::MAX),
        ("wild_drift_report_seconds_count", 0.0, f64::MAX),
        ("wild_drift_heal_seconds_count", 0.0, f64::MAX),
        ("rest_client_requests_total{target=\"home\",method=\"PATCH\",code=\"201\"}", 2.0, f64::MAX),
        ("wild_app_info{instance=\"home\",app=\"counted\",version=\"\",available=\"\",sync=\"applied\"", 1.0, 1.0),
        ("wild_app_drifted_fields{instance=\"home\",app=\"counted\"}", 0.0, 0.0),
        ("wild_inventory_objects{controller=\"home\"}", 2.0, f64::MAX),
        ("wild_target_up{target=\"home\"}", 1.0, 1.0),
        ("wild_apply_limit{controller=\"home\"}", 1.0, 16.0),
        ("wild_apply_inflight{controller=\"home\"}", 0.0, 16.0),
        ("wild_apply_objects_total{controller=\"home\",effect=\"created\"}", 3.0, f64::MAX),
        ("wild_prune_total{controller=\"home\",result=\"deleted\"}", 1.0, f64::MAX),
        ("wild_observe_requests_total{controller=\"home\"", 1.0, f64::MAX),
        ("wild_watch_fresh{controller=\"home\",kind=\"ConfigMap\"}", 1.0, 1.0),
        ("wild_drift_detected_total{controller=\"home\",kind=\"changed\"}", 1.0, f64::MAX),
        ("wild_operation_total{controller=\"home\",type=\"reconcile\",result=\"succeeded\"}", 1.0, f64::MAX),
        ("wild_audited_objects_total{controller=\"home\"}", 0.0, f64::MAX),
    ] {
        let is_right = || count(start).is_some_and(|value| (least..=most).contains(&value));
        world.until(&format!("{start} is between {least} and {most}"), async || is_right()).await;
    }
    let text = world.daemon.metrics().encode();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let told = line.split_once(' ').unwrap();
        assert!(METRICS.contains(&told), "{line}");
    }
    assert!(!text.contains(first.as_str()) && !text.contains(last.as_str()), "a commit is no label");
}
