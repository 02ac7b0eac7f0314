//! What goes out in which order, what is made anew, what is left to an autoscaler, and a namespace that does not go, on real controllers.
//!
//! Not here: the same on the sandbox (`tests/it/line/order.rs`, `presence.rs`).

use std::sync::Arc;

use rewild::model::Request;
use serde_json::{Value, json};

use crate::credentials::{credentials, programs};
use crate::farewell::a_consent_outlives_a_restart;
use crate::ground::{Plane, start};
use crate::hands::{late, losses, standstill, strangers};
use crate::parts::{ControlPlane, Shape};
use crate::restarts::{a_lost_key_restarts_nothing, pods_follow_their_config};
use crate::values::audited;
use crate::world::{World, app};

/// An app of plain files in a namespace of its own.
pub(crate) struct Plain {
    pub(crate) world: World<Plane>,
    pub(crate) name: &'static str,
}

impl Plain {
    pub(crate) async fn start(plane: &Plane, id: &str, name: &'static str) -> Self {
        Self { world: start(plane, id).await, name }
    }

    pub(crate) async fn push(&self, files: &[(&str, &str)]) {
        let names: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
        let list = format!("namespace: {}\nresources: [{}]\n", self.name, names.join(", "));
        let mut all = vec![(format!("apps/{}/kustomization.yaml", self.name), list)];
        all.extend(files.iter().map(|(file, text)| (format!("apps/{}/{file}", self.name), (*text).to_owned())));
        let changes: Vec<(&str, Option<&str>)> =
            all.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
        self.world.push("plain files", &changes).await;
    }

    /// Reads an object of the app's namespace by its API and plural; null if it is not there.
    pub(crate) async fn live(&self, api: &str, plural: &str, name: &str) -> Value {
        self.world.get(&format!("/{api}/namespaces/{}/{plural}/{name}", self.name)).await.unwrap_or_default()
    }

    async fn web(&self) -> Value {
        self.live("apis/apps/v1", "deployments", "web").await
    }

    /// Waits until the app stands still for a reason.
    pub(crate) async fn stands_for(&self, reason: &str) {
        let stands = async || self.world.state(self.name).await.is_some_and(|state| state.reason == reason);
        self.world.until(reason, stands).await;
    }

    pub(crate) async fn healthy(&self) {
        self.world.healthy(self.name).await;
    }
}

pub(crate) fn web(selector: &str, image: &str, node: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: {selector}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {selector}}}}}\n    spec:\n      nodeSelector: {{{node}}}\n      \
         containers:\n      - name: web\n        image: registry.example.invalid/web:{image}\n"
    )
}

pub(crate) fn config(name: &str, annotations: &str, version: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\ndata: {{version: \"{version}\"}}\n"
    )
}

fn job(annotations: &str, image: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: migrate, annotations: {{{annotations}}}}}\nspec:\n  template:\n    spec:\n      \
         restartPolicy: Never\n      containers:\n      - name: run\n        image: registry.example.invalid/run:{image}\n"
    )
}

/// What stands in a later wave waits for pods that no node takes.
async fn waves(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2maaa", "waves").await;
    let late = config("late", "rewild.dev/wave: \"1\"", "1");
    plain.push(&[("web.yaml", &web("web", "1", "no: node")), ("late.yaml", &late)]).await;
    plain.stands_for("WaveNotHealthy").await;
    plain.world.look_again(plain.name).await;
    assert!(plain.live("api/v1", "configmaps", "late").await.is_null());
    plain.push(&[("web.yaml", &web("web", "1", "")), ("late.yaml", &late)]).await;
    plain.healthy().await;
    assert!(!plain.live("api/v1", "configmaps", "late").await.is_null());
    plain.world.stop().await;
}

/// What the real autoscaler scaled stays, also over a new revision.
async fn autoscaler(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mbbb", "autoscaler").await;
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  minReplicas: 3\n  maxReplicas: 5\n  \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n";
    plain.push(&[("web.yaml", &web("web", "1", "")), ("scaler.yaml", scaler)]).await;
    let scaled = async || plain.web().await["spec"]["replicas"] == json!(3);
    plain.world.until("the autoscaler has scaled", scaled).await;
    plain.healthy().await;
    assert!(plain.world.state(plain.name).await.unwrap().drift.is_empty());
    plain.push(&[("web.yaml", &web("web", "2", "")), ("scaler.yaml", scaler)]).await;
    let is_second = async || {
        plain.web().await["spec"]["template"]["spec"]["containers"][0]["image"]
            .as_str()
            .is_some_and(|image| image.ends_with(":2"))
    };
    plain.world.until("the second revision is there", is_second).await;
    plain.healthy().await;
    let live = plain.web().await;
    assert_eq!(live["spec"]["replicas"], json!(3));
    // A revision that wrote the field would have taken it over.
    let ours =
        live["metadata"]["managedFields"].as_array().unwrap().iter().find(|entry| entry["manager"] == "wild").unwrap();
    assert!(ours["fieldsV1"]["f:spec"]["f:replicas"].is_null(), "{ours}");
    plain.world.stop().await;
}

/// A Job whose template changes and a Deployment whose selector does, which a person allows.
async fn recreation(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mccc", "recreation").await;
    let migrate = async || plain.live("apis/batch/v1", "jobs", "migrate").await;
    plain.push(&[("web.yaml", &web("web", "1", "")), ("job.yaml", &job("", "1"))]).await;
    plain.healthy().await;
    let before = [migrate().await["metadata"]["uid"].clone(), plain.web().await["metadata"]["uid"].clone()];
    plain.push(&[("web.yaml", &web("other", "1", "")), ("job.yaml", &job("", "2"))]).await;
    plain.stands_for("RecreateNeedsApproval").await;
    let is_new = async || migrate().await["metadata"]["uid"].as_str().is_some_and(|uid| *uid != before[0]);
    plain.world.until("the job is another one", is_new).await;
    assert_eq!(plain.web().await["metadata"]["uid"], before[1], "nobody allowed that");
    let recreate = vec!["Deployment/web".to_owned()];
    plain.world.done(Request::Deploy { app: app(plain.name), approve: None, recreate, adopt: false }).await;
    plain.healthy().await;
    assert_ne!(plain.web().await["metadata"]["uid"], before[1]);
    plain.world.stop().await;
}

/// A hook runs once for each revision; a Job that is gone after its run does not run again when the store is lost.
async fn jobs(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mddd", "hooks").await;
    let hook = job("rewild.dev/hook: pre-deploy", "1");
    let once = job("", "1")
        .replace("migrate", "once")
        .replace("spec:\n  template", "spec:\n  ttlSecondsAfterFinished: 0\n  template");
    let files = |version: &str| {
        [("hook.yaml", hook.clone()), ("once.yaml", once.clone()), ("config.yaml", config("config", "", version))]
    };
    let push = async |plain: &Plain, version: &str| {
        let files = files(version);
        plain.push(&[(files[0].0, &files[0].1), (files[1].0, &files[1].1), (files[2].0, &files[2].1)]).await;
    };
    push(&plain, "1").await;
    plain.healthy().await;
    let noted = "/api/v1/namespaces/wild-system/configmaps/wild-k3f7q2mddd-jobs";
    let is_noted = async || {
        let data = plain.world.get(noted).await.unwrap_or_default()["data"].clone();
        ["hooks.migrate", "hooks.once"].iter().all(|key| !data[*key].is_null())
    };
    plain.world.until("both have run", is_noted).await;
    let is_gone = async || plain.live("apis/batch/v1", "jobs", "once").await.is_null();
    plain.world.until("one is gone", is_gone).await;
    let first = plain.live("apis/batch/v1", "jobs", "migrate").await["metadata"]["uid"].clone();
    plain.world.restart_without_store().await;
    plain.world.look_again(plain.name).await;
    plain.healthy().await;
    assert!(plain.live("apis/batch/v1", "jobs", "once").await.is_null(), "it ran again");
    assert_eq!(plain.live("apis/batch/v1", "jobs", "migrate").await["metadata"]["uid"], first, "the hook ran again");
    push(&plain, "2").await;
    let is_second = async || plain.live("api/v1", "configmaps", "config").await["data"]["version"] == json!("2");
    plain.world.until("the second revision is there", is_second).await;
    assert_ne!(plain.live("apis/batch/v1", "jobs", "migrate").await["metadata"]["uid"], first, "the hook went first");
    plain.healthy().await;
    assert!(plain.live("apis/batch/v1", "jobs", "once").await.is_null(), "it ran again");
    plain.world.stop().await;
}

/// A hook whose Job failed and is gone at once holds its app back, and a Job that is gone before its end runs again.
async fn failed_jobs(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mttt", "failedjobs").await;
    let version = async |plain: &Plain| plain.live("api/v1", "configmaps", "config").await["data"]["version"].clone();
    let migrate = async |plain: &Plain| plain.live("apis/batch/v1", "jobs", "migrate").await;
    let path = "/apis/batch/v1/namespaces/failedjobs/jobs/migrate";
    let stuck = |annotations: &str| {
        job(annotations, "1").replace("restartPolicy", "nodeSelector: {no: node}\n      restartPolicy")
    };
    plain.push(&[("job.yaml", &stuck("")), ("config.yaml", &config("config", "", "1"))]).await;
    plain.world.until("it runs", async || !migrate(&plain).await.is_null()).await;
    let killed = migrate(&plain).await["metadata"]["uid"].clone();
    plain.world.try_delete(path).await;
    let again = async || {
        let uid = migrate(&plain).await["metadata"]["uid"].clone();
        uid.is_string() && uid != killed
    };
    plain.world.until("it runs again", again).await;
    plain.push(&[("config.yaml", &config("config", "", "1"))]).await;
    plain.healthy().await;
    plain.world.until("it is gone", async || migrate(&plain).await.is_null()).await;
    let fails = stuck("rewild.dev/hook: pre-deploy")
        .replace("spec:\n  template", "spec:\n  activeDeadlineSeconds: 1\n  ttlSecondsAfterFinished: 0\n  template");
    plain.push(&[("job.yaml", &fails), ("config.yaml", &config("config", "", "2"))]).await;
    plain.stands_for("HookFailed").await;
    plain.world.until("its Job is gone", async || migrate(&plain).await.is_null()).await;
    plain.world.look_again(plain.name).await;
    plain.stands_for("HookFailed").await;
    // That it failed is noted where another process finds it.
    plain.world.restart().await;
    plain.world.look_again(plain.name).await;
    plain.stands_for("HookFailed").await;
    assert!(migrate(&plain).await.is_null(), "it ran again");
    assert_eq!(version(&plain).await, json!("1"), "the new version went out");
    let works = job("rewild.dev/hook: pre-deploy", "1");
    plain.push(&[("job.yaml", &works), ("config.yaml", &config("config", "", "3"))]).await;
    plain.world.until("the next one is applied", async || version(&plain).await == json!("3")).await;
    plain.healthy().await;
    plain.world.stop().await;
}

/// A Job that ended and expired while no daemon looked may have done its work, so it does not run again by itself.
async fn expired_job(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mexp", "expired").await;
    let migrate = async |plain: &Plain| plain.live("apis/batch/v1", "jobs", "migrate").await;
    let expires = job("", "1")
        .replace("restartPolicy", "nodeSelector: {no: node}\n      restartPolicy")
        .replace("spec:\n  template", "spec:\n  ttlSecondsAfterFinished: 0\n  template");
    plain.push(&[("job.yaml", &expires)]).await;
    plain.world.until("it runs", async || !migrate(&plain).await.is_null()).await;
    plain.world.stop().await;
    let path = "/apis/batch/v1/namespaces/expired/jobs/migrate";
    plain.world.patch(path, json!({"spec": {"activeDeadlineSeconds": 1}})).await;
    plain.world.until("it is gone", async || migrate(&plain).await.is_null()).await;
    plain.world.restart().await;
    plain.world.look_again(plain.name).await;
    plain.stands_for("JobEndUnknown").await;
    assert!(migrate(&plain).await.is_null(), "it ran again");
    let (job, again) = ("migrate".to_owned(), "it runs again");
    plain.world.done(Request::Reconcile { app: app(plain.name), rerun: Some(job) }).await;
    plain.world.until(again, async || !migrate(&plain).await.is_null()).await;
    plain.world.stop().await;
}

/// Hooks of the end of an app: one before the first object goes, one when all are gone, both run by the real controller.
async fn last_hooks(plane: &Plane) {
    let plain = Plain::start(plane, "k3f7q2mfff", "lasthooks").await;
    plain.world.set("apps: {lasthooks: {grants: {finalizers: [example.org/seen]}}}\n").await;
    // A finalizer keeps each Job until it was looked at.
    let hook = |name: &str, moment: &str| {
        job(&format!("rewild.dev/hook: {moment}"), "1")
            .replace("name: migrate,", &format!("name: {name}, finalizers: [example.org/seen],"))
    };
    let config = config("config", "", "1");
    let (export, sweep) = (hook("export", "pre-delete"), hook("sweep", "post-delete"));
    plain.push(&[("config.yaml", &config), ("export.yaml", &export), ("sweep.yaml", &sweep)]).await;
    plain.healthy().await;
    let live = async |name: &str| plain.live("apis/batch/v1", "jobs", name).await;
    let config = async || plain.live("api/v1", "configmaps", "config").await;
    assert!(live("export").await.is_null() && live("sweep").await.is_null() && !config().await.is_null());
    let files = ["kustomization.yaml", "config.yaml", "export.yaml", "sweep.yaml"];
    let files = files.map(|file| format!("apps/lasthooks/{file}"));
    let gone: Vec<(&str, Option<&str>)> = files.iter().map(|file| (file.as_str(), None)).collect();
    plain.world.push("gone\n\nWild-Delete: lasthooks\nWild-Delete-Data: delete", &gone).await;
    plain.world.until("the config goes", async || config().await.is_null()).await;
    assert_eq!(live("export").await["status"]["succeeded"], json!(1), "it went before its hook had ended");
    plain.world.until("the last hook runs", async || !live("sweep").await.is_null()).await;
    plain.world.until("the last hook has run", async || live("sweep").await["status"]["succeeded"] == json!(1)).await;
    for name in ["export", "sweep"] {
        let path = format!("/apis/batch/v1/namespaces/lasthooks/jobs/{name}");
        plain.world.until("its job goes", async || !live(name).await["metadata"]["deletionTimestamp"].is_null()).await;
        plain.world.patch(&path, json!({"metadata": {"finalizers": null}})).await;
    }
    let is_gone = async || plain.world.get("/api/v1/namespaces/lasthooks").await.is_none();
    plain.world.until("the namespace is gone", is_gone).await;
    plain.world.stop().await;
}

/// An object that the API server refuses brings the hook for that; what is removed while the store is lost goes all the same.
async fn refusals(plane: &Plane) {
    let mut plain = Plain::start(plane, "k3f7q2mggg", "refusals").await;
    let (hook, late) = (job("rewild.dev/hook: on-failure", "1"), config("late", "", "1"));
    let hook_runs = async |plain: &Plain| !plain.live("apis/batch/v1", "jobs", "migrate").await.is_null();
    plain.push(&[("config.yaml", &config("config", "", "1")), ("late.yaml", &late), ("job.yaml", &hook)]).await;
    plain.healthy().await;
    assert!(!hook_runs(&plain).await);
    let bad = config("config", "", "2").replace("version:", "\"bad key\":");
    plain.push(&[("config.yaml", &bad), ("late.yaml", &late), ("job.yaml", &hook)]).await;
    plain.world.until("the hook runs", async || hook_runs(&plain).await).await;
    plain.world.stop().await;
    plain.push(&[("config.yaml", &config("config", "", "3")), ("job.yaml", &hook)]).await;
    plain.world.restart_without_store().await;
    let is_gone = async || plain.live("api/v1", "configmaps", "late").await.is_null();
    plain.world.until("what is wanted no more is gone", is_gone).await;
    plain.healthy().await;
    assert_eq!(plain.live("api/v1", "configmaps", "config").await["data"]["version"], json!("3"));
    plain.world.stop().await;
}

/// Pods follow their config under the real controllers.
async fn restarts(plane: &Plane) {
    let mut world = start(plane, "k3f7q2mnnn").await;
    pods_follow_their_config(&world).await;
    a_lost_key_restarts_nothing(&mut world).await;
    a_consent_outlives_a_restart(&mut world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_controllers_are_waited_for_left_alone_and_followed() {
    let Some(plane) = ControlPlane::start(Shape::Full) else { return };
    let plane = Plane(Arc::new(plane));
    tokio::join!(
        waves(&plane),
        autoscaler(&plane),
        recreation(&plane),
        jobs(&plane),
        failed_jobs(&plane),
        expired_job(&plane),
        last_hooks(&plane),
        refusals(&plane)
    );
    tokio::join!(
        strangers(&plane),
        standstill(&plane),
        losses(&plane),
        late(&plane),
        audited(&plane),
        restarts(&plane),
        credentials(&plane),
        programs(&plane)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_nobody_ends_is_freed_once_it_is_empty() {
    // Without controllers the deletion of a namespace never ends.
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let plain = Plain::start(&Plane(Arc::new(plane)), "k3f7q2meee", "stuck").await;
    let settings = plain.world.file("main", ".wild/config.yaml").await.unwrap();
    let hasty = format!("{settings}recovery: {{after: 1s}}\n");
    plain.world.push("wait a second", &[(".wild/config.yaml", Some(&hasty))]).await;
    plain.push(&[("config.yaml", &config("config", "", "1"))]).await;
    plain.healthy().await;
    let path = "/api/v1/namespaces/stuck";
    let old = plain.world.get(path).await.unwrap();
    plain.world.try_delete(path).await;
    plain
        .world
        .until("it is told what the namespace still holds", async || {
            plain.world.look_again(plain.name).await;
            plain.world.state(plain.name).await.is_some_and(|state| state.needs_you.contains("ConfigMap/config"))
        })
        .await;
    let held = plain.world.get(path).await.unwrap();
    assert_eq!(
        (&held["metadata"]["uid"], &held["spec"]["finalizers"]),
        (&old["metadata"]["uid"], &json!(["kubernetes"]))
    );
    plain.world.try_delete("/api/v1/namespaces/stuck/configmaps/config").await;
    plain
        .world
        .until("the namespace is another one", async || {
            plain.world.look_again(plain.name).await;
            plain.world.get(path).await.is_some_and(|now| now["metadata"]["uid"] != old["metadata"]["uid"])
        })
        .await;
    plain.healthy().await;
    assert_eq!(plain.live("api/v1", "configmaps", "config").await["data"]["version"], json!("1"));
    plain.world.stop().await;
}
