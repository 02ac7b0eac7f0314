//! Metadata from authors: what only the cluster sets, what owns an object, and what keeps it from going.
//!
//! It comes in files, lists, patches and templates, by a push, a package or an update.

use rewild::model::{DataFate, Reason, Request, Trigger};
use rewild::store::OperationFilter;
use serde_json::{Value, json};

use crate::both::{Plain, config, says, wild, workload};
use crate::commits::change;
use crate::line::deploy;
use crate::world::{World, app};

/// What `kubectl get deployment,configmap -o yaml` prints.
const DUMP: &str = include_str!("../../../fixtures/dump/list.yaml");
const HOLD: &str = "example.org/hold";

async fn start() -> World {
    World::start(&["stonedb 15.5"]).await
}

/// Changes a file of a package upstream.
async fn upstream(world: &World, path: &str, from: &str, to: &str) {
    let replaced = |text: &str| {
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    };
    change(&world.upstream, "main", ("change", path), replaced).await;
    world.fetch().await;
}

fn with_metadata(object: &str, name: &str, more: &str) -> String {
    object.replace(&format!("{{name: {name}}}"), &format!("{{name: {name}, {more}}}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_printed_is_applied_without_what_the_server_had_set_and_told_once() {
    let world = start().await;
    let plain = Plain { world: &world, name: "dumped" };
    let first = plain.push(&[("dump.yaml", DUMP)]).await;
    plain.done(&first).await;
    let live = plain.live("apps/v1", "deployments", "web").await;
    assert_ne!(live["metadata"]["uid"], json!("0b8f9a3e-7d3c-4f5c-9a40-5f6f2f1f9c11"));
    assert!(
        live["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["manager"] != "kubectl-client-side-apply")
    );
    let left = "metadata.uid, metadata.resourceVersion, metadata.generation, metadata.creationTimestamp, metadata.managedFields, \
                metadata.selfLink, metadata.annotations[deployment.kubernetes.io/revision], status, which only the cluster sets: left out";
    let told = [
        format!("apps/dumped/dump.yaml:3: Deployment/web holds {left}"),
        "ConfigMap/words holds metadata.uid, metadata.resourceVersion, metadata.creationTimestamp, which only"
            .to_owned(),
    ];
    let told = told.each_ref().map(String::as_str);
    says(&world, "wild plan dumped", &told).await;
    says(&world, "wild app show dumped", &told).await;
    says(&world, "wild app status dumped", &told).await;
    let notices = world.state("dumped").await.unwrap().notices;
    assert_eq!(notices.len(), 2, "what says nothing is not told: {notices:?}");
    // The operation that wrote it says so, and no look after it.
    let instance = world.handle.instance();
    let operations = async || instance.store.operations(&instance.id, &OperationFilter::default()).await.unwrap();
    let made = operations().await;
    let outcomes = instance.store.outcomes(&made[0].id).await.unwrap();
    let of = |name: &str| outcomes.iter().find(|outcome| outcome.object.name == name).unwrap().message.clone();
    assert!(
        of("web").contains("dump.yaml") && of("words").contains("left out") && of("plain").is_empty(),
        "{outcomes:#?}"
    );
    world.look_again("dumped").await;
    world.look_again("dumped").await;
    assert_eq!(operations().await.len(), made.len());
    // Once it is taken out there is nothing to tell.
    let clean = plain.push(&[("dump.yaml", &config("words", "2"))]).await;
    plain.done(&clean).await;
    assert!(world.state("dumped").await.unwrap().notices.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_object_names_its_owner_by_whatever_way_that_comes() {
    let world = start().await;
    let other = Plain { world: &world, name: "other" };
    let done = other.push(&[("config.yaml", &config("victim", "1"))]).await;
    other.done(&done).await;
    let uid = other.uid(&other.path("v1", "configmaps", "victim")).await;
    let owner =
        format!("ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: victim, uid: {}}}]", uid.as_str().unwrap());
    let own = with_metadata(&config("own", "1"), "own", &owner);
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", own.trim_end().replace('\n', "\n  "));
    let template = workload("Deployment", "web", ("web", "1"), "")
        .replace("metadata: {labels", &format!("metadata: {{{owner}, labels"));
    let claims =
        format!("  serviceName: db\n  volumeClaimTemplates:\n  - metadata: {{name: data, {owner}}}\n    spec: {{}}\n");
    let claims = workload("StatefulSet", "db", ("db", "1"), &claims);
    let cron = format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: cron}}\nspec:\n  schedule: '@daily'\n  jobTemplate:\n    spec:\n      template:\n        \
         metadata: {{{owner}}}\n        spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}\n"
    );
    let plain = Plain { world: &world, name: "blog" };
    for (file, told) in [
        (&own, "apps/blog/a.yaml:1: ConfigMap/own holds metadata.ownerReferences"),
        (&list, "ConfigMap/own holds metadata.ownerReferences"),
        (&template, "Deployment/web holds spec.template.metadata.ownerReferences"),
        (&claims, "StatefulSet/db holds spec.volumeClaimTemplates[0].metadata.ownerReferences"),
        (&cron, "CronJob/cron holds spec.jobTemplate.spec.template.metadata.ownerReferences"),
    ] {
        plain.push(&[("a.yaml", file), ("free.yaml", &config("free", "1"))]).await;
        plain.stands_for("OwnerReference", &[told]).await;
        plain.until("the rest is applied", &plain.path("v1", "configmaps", "free"), Value::is_object).await;
    }
    // By a patch, over an object that is applied already.
    let clean = plain.push(&[("a.yaml", &config("own", "1"))]).await;
    plain.done(&clean).await;
    let patches = "namespace: blog\nresources: [a.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n";
    let json_patch = format!(
        "{patches}    - {{op: add, path: /metadata/ownerReferences, value: [{{apiVersion: v1, kind: ConfigMap, name: victim, uid: {}}}]}}\n",
        uid.as_str().unwrap()
    );
    let merge = format!("{patches}    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: own, {owner}}}\n");
    for list in [&json_patch, &merge] {
        world.push("patch", &[("apps/blog/kustomization.yaml", Some(list))]).await;
        plain.stands_for("OwnerReference", &["ConfigMap/own holds metadata.ownerReferences"]).await;
        assert!(plain.config("own").await["metadata"]["ownerReferences"].is_null());
    }
    world.done(Request::Delete { app: app("other"), data: DataFate::DeleteNow }).await;
    world.until("the other app is gone", async || world.state("other").await.is_none()).await;
    assert!(plain.config("own").await.is_object(), "it went with another app's object");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_comes_with_a_grant_and_is_named_by_plan_and_deletion() {
    let world = start().await;
    let plain = Plain { world: &world, name: "blog" };
    let held =
        |version: &str, name: &str| with_metadata(&config("held", version), "held", &format!("finalizers: [{name}]"));
    let first = plain.push(&[("a.yaml", &config("held", "1"))]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "held");
    for name in [HOLD, "foregroundDeletion", "orphan", "kubernetes.io/pvc-protection"] {
        plain.push(&[("a.yaml", &held("2", name))]).await;
        let told = format!("apps/blog/a.yaml:1: ConfigMap/held holds the finalizer {name}");
        plain.stands_for("GrantMissing", &[&told]).await;
        let live = world.get(&path).await.unwrap();
        assert!(live["metadata"]["finalizers"].is_null() && live["data"]["version"] == json!("1"), "{live}");
    }
    let back = plain.push(&[("a.yaml", &config("held", "3"))]).await;
    plain.done(&back).await;
    // A grant of another app is none of this one.
    world.set(&format!("apps: {{other: {{grants: {{finalizers: [{HOLD}]}}}}}}\n")).await;
    plain.push(&[("a.yaml", &held("4", HOLD))]).await;
    plain.stands_for("GrantMissing", &["holds the finalizer"]).await;
    world.edit(".wild/config.yaml", "apps: {other:", "apps: {blog:").await;
    plain.until("it is applied", &path, |live| live["metadata"]["finalizers"] == json!([HOLD])).await;
    plain.healthy().await;
    let told = format!("ConfigMap/held goes only when what serves {HOLD} lets it go");
    says(&world, "wild plan blog", &[&told]).await;
    says(&world, "wild app delete blog --dry-run", &[&told]).await;
    let said = wild(&world, "wild app delete blog --yes", "").await;
    assert!(said.contains(&told), "{said}");
    plain.until("its deletion has begun", &path, |live| !live["metadata"]["deletionTimestamp"].is_null()).await;
    world.patch_as("hold-controller", &path, json!({"metadata": {"finalizers": null}})).await;
    world.until("blog is gone", async || world.state("blog").await.is_none()).await;
    assert!(world.get(&path).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_from_a_template_and_a_namespace_hold_no_finalizer_either() {
    let world = start().await;
    let plain = Plain { world: &world, name: "blog" };
    let pods = workload("Deployment", "web", ("web", "1"), "")
        .replace("metadata: {labels", &format!("metadata: {{finalizers: [{HOLD}], labels"));
    let claims = format!(
        "  serviceName: db\n  volumeClaimTemplates:\n  - metadata: {{name: data, finalizers: [{HOLD}]}}\n    spec: {{}}\n"
    );
    let claims = workload("StatefulSet", "db", ("db", "1"), &claims);
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: blog}\n";
    let of_metadata = namespace.replace("name: blog", &format!("name: blog, finalizers: [{HOLD}]"));
    let of_spec = format!("{namespace}spec: {{finalizers: [kubernetes, {HOLD}]}}\n");
    for (file, told) in [
        (&pods, "Deployment/web holds the finalizer example.org/hold"),
        (&claims, "StatefulSet/db holds the finalizer example.org/hold"),
        (&of_metadata, "Namespace/blog holds the finalizer example.org/hold"),
        (&of_spec, "Namespace/blog holds the finalizer example.org/hold"),
    ] {
        plain.push(&[("a.yaml", file), ("free.yaml", &config("free", "1"))]).await;
        plain.stands_for("GrantMissing", &[told]).await;
    }
    assert!(plain.live("apps/v1", "deployments", "web").await.is_null());
    assert!(world.get("/api/v1/namespaces/blog").await.is_none_or(|live| live["metadata"]["finalizers"].is_null()));
    let last = plain.push(&[("a.yaml", namespace), ("free.yaml", &config("free", "1"))]).await;
    plain.done(&last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_brings_neither_owners_nor_finalizers_and_an_update_none_in_silence() {
    const SERVICE: &str = "quickcache/service.yaml";
    let world = start().await;
    let before = world.head().await;
    let owner = "name: quickcache\n  ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]";
    let held = "name: quickcache\n  finalizers: [example.org/hold]";
    let printed = "name: quickcache\n  resourceVersion: \"7\"";
    for (more, told) in [
        (
            owner,
            [
                "quickcache/service.yaml:1: L043: Service/quickcache: holds metadata.ownerReferences",
                "once sample has corrected it",
            ],
        ),
        (
            held,
            [
                "quickcache/service.yaml:1: L044: Service/quickcache: holds the finalizer example.org/hold",
                "apps.quickcache.grants.finalizers",
            ],
        ),
    ] {
        upstream(&world, SERVICE, "name: quickcache", more).await;
        says(&world, "wild app add quickcache", &told).await;
        upstream(&world, SERVICE, more, "name: quickcache").await;
    }
    assert_eq!(world.head().await, before, "nothing is committed of what is refused");
    upstream(&world, SERVICE, "name: quickcache", printed).await;
    let told = "Service/quickcache holds metadata.resourceVersion, which only the cluster sets: left out";
    says(&world, "wild app add quickcache", &[&format!("apps/quickcache/service.yaml:1: {told}")]).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    says(&world, "wild app show quickcache", &[told]).await;
    // What comes with an update is refused, and what runs goes on.
    let plain = Plain { world: &world, name: "quickcache" };
    let added = world.head().await;
    for (before, more, told) in [
        (
            printed,
            held,
            ["Service/quickcache: holds the finalizer example.org/hold", "apps.quickcache.grants.finalizers"],
        ),
        (held, owner, ["Service/quickcache: holds metadata.ownerReferences", "wild app history quickcache"]),
    ] {
        upstream(&world, SERVICE, before, more).await;
        says(&world, "wild app update quickcache", &told).await;
        world.look_again("quickcache").await;
        let live = plain.live("v1", "services", "quickcache").await["metadata"].clone();
        assert!(live["finalizers"].is_null() && live["ownerReferences"].is_null(), "{live}");
    }
    assert_eq!(world.head().await, added);
    // The merge bot is refused as well, and says so.
    world.set("updates: {policy: all}\n").await;
    world.handle.fetch();
    world
        .until("the bot tells it", async || {
            world.handle.wake(Trigger { app: Some(app("quickcache")), reason: Reason::Upstream });
            world.state("quickcache").await.is_some_and(|state| state.needs_you.contains("metadata.ownerReferences"))
        })
        .await;
    assert!(plain.live("v1", "services", "quickcache").await["metadata"]["ownerReferences"].is_null());
}
