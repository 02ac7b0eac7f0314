//! `target::Cluster` against a real API server: what it sends, what it makes of the answers, what its watches say.
//!
//! Every test has a namespace and an instance of its own. What happened is asked of the server through kubectl, not through the cluster
//! under test. Not here: which objects are sent (`plan`), health rules of every kind (unit tests of `health`).

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rewild::base::Timestamp;
use rewild::health::HealthState;
use rewild::model::{InstanceId, ObjectId, Spread};
use rewild::target::{
    Access, ApplyRequest, Cluster, DeleteRequest, Deletion, Dependents, Kind, Mode, Ownership, Patience, Place, Places,
    Reachability, RefusalKind, Stays, Target, TargetEvent, WatchState, Whereabouts,
};
use serde_json::{Value, json};

use crate::commits::{step, stepped_clock};
use crate::parts::{ControlPlane, Shape, Shared, fail, until};
use crate::proxy::{Fault, Frames, Proxy, To};
use crate::world::kubeconfig_of;

/// How long news may take; ends a hung test, is no assertion on time.
const NEWS_DEADLINE: Duration = Duration::from_secs(20);
/// The namespace of our ApplySet parents.
const CONTROL_NAMESPACE: &str = "wild-system";

/// A namespace, an instance and a connection of one test.
struct Ground {
    plane: Shared,
    cluster: Cluster,
    namespace: String,
}

async fn ground(name: &str) -> Option<Ground> {
    let plane = ControlPlane::shared()?;
    let cluster = connect(&plane, name).await;
    let namespace = plane.namespace(name);
    Some(Ground { plane, cluster, namespace })
}

async fn connect(plane: &ControlPlane, instance: &str) -> Cluster {
    rustls::crypto::ring::default_provider().install_default().ok();
    let access = Access::File { path: plane.kubeconfig(), context: String::new() };
    let instance = InstanceId::parse(instance).unwrap();
    Cluster::connect(&access, &instance, CONTROL_NAMESPACE, || Timestamp(0)).await.unwrap()
}

impl Ground {
    fn id(&self, name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", &self.namespace, name)
    }

    /// Returns the apply of a ConfigMap of an app.
    fn request(&self, app: &str, data: Value) -> ApplyRequest {
        let id = self.id(app);
        let body = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": id.name,
                "namespace": id.namespace,
                "labels": {"rewild.dev/instance": self.namespace, "rewild.dev/app": app},
            },
            "data": data,
        });
        let (ownership, mode) = (Ownership::Respect, Mode::Write);
        ApplyRequest {
            id,
            api_version: "v1".to_owned(),
            body,
            ownership,
            mode,
            hash: "h".to_owned(),
            is_partial: false,
        }
    }

    fn deletion(&self, app: &str, uid: &str) -> DeleteRequest {
        DeleteRequest {
            id: self.id(app),
            api_version: "v1".to_owned(),
            uid: uid.to_owned(),
            labels: vec![("rewild.dev/app".to_owned(), app.to_owned())],
            stays: Stays::default(),
            dependents: Dependents::Collected,
            trace: None,
        }
    }

    /// Asks the server, not the cluster under test.
    fn live(&self, name: &str) -> Value {
        self.plane.kubectl_json(&["-n", &self.namespace, "get", "configmap", name])
    }

    /// Changes a ConfigMap as `kubectl edit` does.
    fn edit(&self, name: &str, patch: &Value) {
        self.edit_as("kubectl-edit", name, patch);
    }

    fn edit_as(&self, manager: &str, name: &str, patch: &Value) {
        let (patch, manager) = (patch.to_string(), format!("--field-manager={manager}"));
        let args = ["-n", &self.namespace, "patch", "configmap", name, "--type=merge", &manager, "-p", &patch];
        self.plane.kubectl(&args).unwrap();
    }

    /// Collects news until one is in that is waited for.
    async fn news_until(&self, wanted: impl Fn(&TargetEvent) -> bool) -> BTreeSet<TargetEvent> {
        let mut all = BTreeSet::new();
        let collected = tokio::time::timeout(NEWS_DEADLINE, async {
            while !all.iter().any(&wanted) {
                all.extend(self.cluster.events().await);
            }
        });
        if collected.await.is_err() {
            fail(&format!("the news did not come, only {all:?}"));
        }
        all
    }
}

/// Returns what an app needs that has objects of these kinds, wherever they lie.
fn in_place(kinds: BTreeSet<Kind>) -> Places {
    kinds.into_iter().map(|kind| (kind, BTreeSet::from([Place::Namespace("app".into())]))).collect()
}

fn config_maps() -> BTreeSet<Kind> {
    BTreeSet::from([Kind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() }])
}

fn drift(app: &str) -> TargetEvent {
    TargetEvent::Drift { app: app.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_creates_and_the_same_apply_again_changes_nothing() {
    let Some(ground) = ground("apply-twice").await else { return };
    ground.cluster.watch("app", &in_place(config_maps())).await.unwrap();
    let request = ground.request("a", json!({"k": "v"}));
    let first = ground.cluster.apply(&request).await.unwrap();
    assert!(first.created && !first.unchanged, "{first:?}");
    let second = ground.cluster.apply(&request).await.unwrap();
    assert!(!second.created && second.unchanged, "{second:?}");
    assert_eq!(first.observed, second.observed);
    let live = ground.live("a");
    assert_eq!(live["metadata"]["resourceVersion"], first.observed.resource_version.as_str());
    assert_eq!(live["data"], json!({"k": "v"}));
    let entry = &live["metadata"]["managedFields"][0];
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("wild"), &json!("Apply")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_is_checked_by_the_server_and_changes_nothing() {
    let Some(ground) = ground("dry-run").await else { return };
    let request = ApplyRequest { mode: Mode::DryRun, ..ground.request("a", json!({"k": "v"})) };
    assert!(ground.cluster.apply(&request).await.unwrap().created);
    assert!(ground.live("a").is_null());
    let wrong = ApplyRequest { mode: Mode::DryRun, ..ground.request("a", json!({"k": 1})) };
    let refusal = ground.cluster.apply(&wrong).await.unwrap_err();
    assert!(matches!(refusal.kind, RefusalKind::Invalid(_) | RefusalKind::Server), "{refusal:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_names_field_and_manager_and_force_takes_the_field() {
    let Some(ground) = ground("conflict").await else { return };
    ground.cluster.apply(&ground.request("a", json!({"k": "v"}))).await.unwrap();
    ground.edit("a", &json!({"data": {"k": "theirs"}}));
    let request = ground.request("a", json!({"k": "ours"}));
    let refusal = ground.cluster.apply(&request).await.unwrap_err();
    let RefusalKind::Conflict(conflicts) = &refusal.kind else { fail(&format!("{refusal:?}")) };
    let found: Vec<(&str, &str)> = conflicts.iter().map(|c| (c.field.as_str(), c.manager.as_str())).collect();
    assert_eq!(found, [(".data.k", "kubectl-edit")]);
    assert_eq!(ground.live("a")["data"]["k"], "theirs");
    let taken = ApplyRequest { ownership: Ownership::Take, ..request };
    ground.cluster.apply(&taken).await.unwrap();
    assert_eq!(ground.live("a")["data"]["k"], "ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_with_a_uid_neither_creates_nor_touches_another_incarnation() {
    let Some(ground) = ground("uid").await else { return };
    let with_uid = |uid: &str| {
        let mut request = ground.request("a", json!({"k": "v"}));
        request.body["metadata"]["uid"] = json!(uid);
        request
    };
    let nowhere = "00000000-0000-0000-0000-000000000000";
    let refusal = ground.cluster.apply(&with_uid(nowhere)).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UidMismatch, "{refusal}");
    assert!(ground.live("a").is_null(), "it was created");
    let made = ground.cluster.apply(&ground.request("a", json!({"k": "old"}))).await.unwrap();
    let refusal = ground.cluster.apply(&with_uid(nowhere)).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UidMismatch, "{refusal}");
    assert_eq!(ground.live("a")["data"]["k"], "old");
    ground.cluster.apply(&with_uid(&made.observed.uid)).await.unwrap();
    assert_eq!(ground.live("a")["data"]["k"], "v");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_takes_only_the_incarnation_and_the_app_that_are_meant() {
    let Some(ground) = ground("delete").await else { return };
    let made = ground.cluster.apply(&ground.request("a", json!({"k": "v"}))).await.unwrap();
    let other = ground.deletion("a", "00000000-0000-0000-0000-000000000000");
    assert_eq!(ground.cluster.delete(&other).await.unwrap(), Deletion::Gone, "ours is gone, another stands there");
    assert_eq!(ground.live("a")["metadata"]["uid"], made.observed.uid.as_str());
    ground.edit("a", &json!({"metadata": {"labels": {"rewild.dev/app": "somebody"}}}));
    let refusal = ground.cluster.delete(&ground.deletion("a", &made.observed.uid)).await.unwrap_err();
    assert!(matches!(refusal.kind, RefusalKind::Conflict(_)), "{refusal:?}");
    ground.edit("a", &json!({"metadata": {"labels": {"rewild.dev/app": "a"}}}));
    assert_eq!(ground.cluster.delete(&ground.deletion("a", &made.observed.uid)).await.unwrap(), Deletion::Gone);
    assert!(ground.live("a").is_null());
    assert_eq!(ground.cluster.delete(&ground.deletion("a", &made.observed.uid)).await.unwrap(), Deletion::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_makes_a_deletion_begin_and_not_end() {
    let Some(ground) = ground("finalizer").await else { return };
    let made = ground.cluster.apply(&ground.request("a", json!({}))).await.unwrap();
    ground.edit("a", &json!({"metadata": {"finalizers": ["rewild.test/held"]}}));
    let request = ground.deletion("a", &made.observed.uid);
    assert_eq!(ground.cluster.delete(&request).await.unwrap(), Deletion::Begun);
    ground.edit("a", &json!({"metadata": {"finalizers": null}}));
    assert_eq!(ground.cluster.delete(&request).await.unwrap(), Deletion::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_object_stays_without_our_marks_and_our_ownership() {
    let Some(ground) = ground("release").await else { return };
    let made = ground.cluster.apply(&ground.request("a", json!({"k": "v"}))).await.unwrap();
    ground.cluster.release(&ground.deletion("a", &made.observed.uid)).await.unwrap();
    let live = ground.live("a");
    assert_eq!(live["data"], json!({"k": "v"}));
    assert!(!live.to_string().contains("rewild.dev/app\":"), "{live}");
    let managers: Vec<&Value> =
        live["metadata"]["managedFields"].as_array().unwrap().iter().map(|entry| &entry["manager"]).collect();
    assert!(!managers.contains(&&json!("wild")), "{managers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_ours_is_drift_and_our_own_writes_are_not() {
    let Some(ground) = ground("drift").await else { return };
    let cluster = &ground.cluster;
    cluster.watch("app", &in_place(config_maps())).await.unwrap();
    assert_eq!(cluster.watch_state("app", "", "ConfigMap"), WatchState::Fresh);
    for round in ["1", "2", "3"] {
        cluster.apply(&ground.request("ours", json!({"k": round}))).await.unwrap();
    }
    cluster.apply(&ground.request("witness", json!({"k": "v"}))).await.unwrap();
    // What a program adds beside our fields is nobody's drift.
    ground.edit_as("operator", "ours", &json!({"data": {"another": "x"}}));
    ground.edit("witness", &json!({"data": {"k": "edited"}}));
    // The watch keeps the order of events, so what it says of the witness comes after all about ours.
    let news = ground.news_until(|event| *event == drift("witness")).await;
    assert!(!news.contains(&drift("ours")), "{news:?}");
    ground.edit("ours", &json!({"data": {"k": "edited"}}));
    ground.news_until(|event| *event == drift("ours")).await;
    let live = cluster.live(&ground.id("ours")).unwrap();
    assert!(live.managed.is_some(), "the fields that were lost can be told");
    let healed = ApplyRequest { ownership: Ownership::Take, ..ground.request("ours", json!({"k": "3"})) };
    cluster.apply(&healed).await.unwrap();
    ground.plane.kubectl(&["-n", &ground.namespace, "delete", "configmap", "witness"]).unwrap();
    let news = ground.news_until(|event| *event == drift("witness")).await;
    assert!(!news.contains(&drift("ours")), "healing is no drift: {news:?}");
    assert!(cluster.live(&ground.id("witness")).is_none());
    // What a person adds is worth a look.
    ground.edit("ours", &json!({"data": {"added": "x"}}));
    ground.news_until(|event| *event == drift("ours")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_of_a_deployment_comes_by_watch() {
    let Some(ground) = ground("health").await else { return };
    let kind = Kind { group: "apps".to_owned(), version: "v1".to_owned(), kind: "Deployment".to_owned() };
    ground.cluster.watch("app", &in_place(BTreeSet::from([kind]))).await.unwrap();
    let id = ObjectId::new("apps", "Deployment", &ground.namespace, "web");
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": ground.namespace,
            "labels": {"rewild.dev/instance": ground.namespace, "rewild.dev/app": "web"},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "registry.example.invalid/web:1"}]},
            },
        },
    });
    let request =
        ApplyRequest { id: id.clone(), api_version: "apps/v1".to_owned(), body, ..ground.request("web", json!({})) };
    ground.cluster.apply(&request).await.unwrap();
    let healthy = || ground.cluster.live(&id).and_then(|live| live.health).map(|health| health.state);
    let waited = tokio::time::timeout(NEWS_DEADLINE, async {
        let mut seen = BTreeSet::new();
        while healthy() != Some(HealthState::Healthy) {
            seen.extend(ground.cluster.events().await);
        }
        seen
    });
    let seen = waited.await.unwrap();
    assert!(!seen.contains(&drift("web")), "status written by controllers is no drift: {seen:?}");
    assert!(seen.contains(&TargetEvent::Health { app: "web".to_owned() }), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parent_of_the_apply_set_names_kinds_and_namespaces_that_are_in_use() {
    let Some(ground) = ground("apply-set").await else { return };
    let kinds = config_maps();
    let namespaces = BTreeSet::from([ground.namespace.clone()]);
    ground.cluster.grow_apply_set(&kinds, &namespaces).await.unwrap();
    let read = || ground.plane.kubectl_json(&["-n", CONTROL_NAMESPACE, "get", "configmap", "wild-apply-set"]);
    let parent = read();
    let annotation = |key: &str| parent["metadata"]["annotations"][format!("applyset.kubernetes.io/{key}")].clone();
    assert_eq!(annotation("contains-group-kinds"), "ConfigMap");
    assert_eq!(annotation("additional-namespaces"), "apply-set");
    assert!(annotation("tooling").as_str().unwrap().starts_with("wild/v"));
    // Another process of the same instance knows nothing and forgets nothing.
    let again = connect(&ground.plane, "apply-set").await;
    let more =
        BTreeSet::from([Kind { group: "apps".to_owned(), version: "v1".to_owned(), kind: "Deployment".to_owned() }]);
    again.grow_apply_set(&more, &namespaces).await.unwrap();
    let grown = read();
    assert_eq!(
        grown["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"],
        "ConfigMap,Deployment.apps"
    );
    again.grow_apply_set(&kinds, &namespaces).await.unwrap();
    assert_eq!(
        read()["metadata"]["resourceVersion"],
        grown["metadata"]["resourceVersion"],
        "nothing to grow, no write"
    );
    // What nobody knows is looked for, in a namespace that is not there, one without members, and kinds that nobody serves or has.
    let kind = |group: &str, kind: &str| Kind { group: group.into(), version: "v1".into(), kind: kind.into() };
    let none = [kind("nobody.example", "Widget"), kind("rbac.authorization.k8s.io", "ClusterRole")].into();
    again.grow_apply_set(&none, &["nowhere".to_owned(), "default".to_owned()].into()).await.unwrap();
    let set = read()["metadata"]["labels"]["applyset.kubernetes.io/id"].as_str().unwrap().to_owned();
    let member = format!("applyset.kubernetes.io/part-of={set}");
    ground.plane.kubectl(&["create", "clusterrole", "apply-set", "--verb=get", "--resource=pods"]).unwrap();
    ground.plane.kubectl(&["label", "clusterrole", "apply-set", &member]).unwrap();
    let names = || {
        let annotations = read()["metadata"]["annotations"].clone();
        ["contains-group-kinds", "additional-namespaces"]
            .map(|key| annotations[format!("applyset.kubernetes.io/{key}")].as_str().unwrap_or_default().to_owned())
    };
    let stands = Stands(Spread { kinds: [(String::new(), "ConfigMap".to_owned())].into(), namespaces });
    assert!(!again.shrink_apply_set(&stands).await.unwrap(), "a ClusterRole is not explained");
    assert_eq!(names(), ["ClusterRole.rbac.authorization.k8s.io,ConfigMap", "apply-set"]);
    ground.plane.kubectl(&["delete", "clusterrole", "apply-set"]).unwrap();
    assert!(again.shrink_apply_set(&stands).await.unwrap());
    assert_eq!(names(), ["ConfigMap", "apply-set"]);
    // One of the namespace's own stays named although nobody knows it.
    ground.plane.kubectl(&["-n", "apply-set", "create", "configmap", "member"]).unwrap();
    ground.plane.kubectl(&["-n", "apply-set", "label", "configmap", "member", &member]).unwrap();
    assert!(!again.shrink_apply_set(&Stands(Spread::default())).await.unwrap());
    assert_eq!(names(), ["ConfigMap", "apply-set"]);
    ground.plane.kubectl(&["-n", "apply-set", "delete", "configmap", "member"]).unwrap();
    assert!(again.shrink_apply_set(&Stands(Spread::default())).await.unwrap());
    assert_eq!(names(), ["", ""]);
}

/// What is known to stand.
struct Stands(Spread);

impl Whereabouts for Stands {
    fn spread(&self) -> Pin<Box<dyn Future<Output = Option<Spread>> + Send + '_>> {
        Box::pin(async { Some(self.0.clone()) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_the_server_does_not_know_and_objects_that_are_not_there_are_told_apart() {
    let Some(ground) = ground("unknown").await else { return };
    let id = ObjectId::new("example.org", "Gadget", &ground.namespace, "a");
    let body = json!({"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": {"name": "a"}});
    let request = ApplyRequest {
        id: id.clone(),
        api_version: "example.org/v1".to_owned(),
        body,
        ..ground.request("a", json!({}))
    };
    let refusal = ground.cluster.apply(&request).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UnknownKind, "{refusal}");
    assert!(ground.cluster.get(&id, "example.org/v1").await.unwrap().is_none());
    assert!(ground.cluster.get(&ground.id("nothing"), "v1").await.unwrap().is_none());
    let nowhere = ObjectId::new("", "ConfigMap", "no-such-namespace", "a");
    let request = ApplyRequest {
        id: nowhere.clone(),
        body: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "no-such-namespace"}}),
        ..ground.request("a", json!({}))
    };
    let refusal = ground.cluster.apply(&request).await.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotFound, "{refusal}");
}

/// Uses a control plane of its own, because it stops it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_and_goes_on_is_unreachable_and_reachable() {
    let Some(plane) = ControlPlane::start(Shape::Api) else { return };
    let cluster = connect(&plane, "stopped").await;
    cluster.probe().await.unwrap();
    let server = plane.program("kube-apiserver").unwrap();
    server.suspend();
    let refusal = cluster.probe().await.unwrap_err();
    assert!(refusal.is_unreachable(), "{refusal:?}");
    let news = tokio::time::timeout(NEWS_DEADLINE, cluster.events()).await.unwrap();
    assert!(news.contains(&TargetEvent::Reachability), "{news:?}");
    server.resume();
    cluster.probe().await.unwrap();
    until("the server answers", || plane.kubectl(&["get", "--raw", "/readyz"]).ok());
}

/// A cluster behind a kubeconfig whose token the server does not take.
struct Expired {
    cluster: Cluster,
    /// What the kubeconfig should say.
    right: String,
    directory: tempfile::TempDir,
}

impl Expired {
    async fn connect() -> Option<Self> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let right = ControlPlane::shared()?.whole_kubeconfig();
        let mut wrong: Value = serde_json::from_str(&right).unwrap();
        wrong["users"][0]["user"] = json!({"token": "expired"});
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        std::fs::write(&path, wrong.to_string()).unwrap();
        let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
        let access = Access::File { path, context: String::new() };
        let cluster = Cluster::connect(&access, &instance, CONTROL_NAMESPACE, || Timestamp(0)).await.unwrap();
        Some(Self { cluster, right, directory })
    }

    fn replace(&self) {
        std::fs::write(self.directory.path().join("kubeconfig"), &self.right).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_are_replaced_in_their_file_are_used_without_a_restart() {
    let Some(expired) = Expired::connect().await else { return };
    let cluster = &expired.cluster;
    let id = ObjectId::new("", "ConfigMap", "kube-system", "extension-apiserver-authentication");
    for _ in 0..2 {
        let refusal = cluster.get(&id, "v1").await.unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Unauthorized, "{refusal}");
    }
    expired.replace();
    cluster.probe().await.unwrap();
    assert!(cluster.get(&id, "v1").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_were_replaced_before_they_expired_are_missed_by_nobody() {
    let Some(expired) = Expired::connect().await else { return };
    let cluster = &expired.cluster;
    expired.replace();
    // It still signs in with the old ones: the call that finds out is sent once more with the new ones, and nobody hears of it.
    let id = ObjectId::new("", "ConfigMap", "kube-system", "extension-apiserver-authentication");
    assert!(cluster.get(&id, "v1").await.unwrap().is_some());
    assert_eq!(cluster.reachability(), Reachability::Reachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_is_used_before_a_server_refuses_what_was_in_it() {
    const PAUSE: Duration = Duration::from_secs(11);
    rustls::crypto::ring::default_provider().install_default().ok();
    let Some(plane) = ControlPlane::shared() else { return };
    let right = plane.whole_kubeconfig();
    let mut wrong: Value = serde_json::from_str(&right).unwrap();
    wrong["users"][0]["user"] = json!({"token": "expired"});
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, &right).unwrap();
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let access = Access::File { path: path.clone(), context: String::new() };
    let cluster = Cluster::connect(&access, &instance, CONTROL_NAMESPACE, stepped_clock::<4>).await.unwrap();
    let id = ObjectId::new("", "ConfigMap", "kube-system", "extension-apiserver-authentication");
    let refusal = async || cluster.get(&id, "v1").await.err().map(|refusal| refusal.kind);
    assert_eq!(refusal().await, None);
    // The server would go on with the old ones for ever: that others are used shows that the file was looked at.
    std::fs::write(&path, wrong.to_string()).unwrap();
    step::<4>(PAUSE);
    assert_eq!(refusal().await, Some(RefusalKind::Unauthorized));
    std::fs::write(&path, &right).unwrap();
    step::<4>(PAUSE);
    assert_eq!(refusal().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_has_forgotten_is_listed_anew() {
    let Some(plane) = ControlPlane::start(Shape::Forgetful) else { return };
    rustls::crypto::ring::default_provider().install_default().ok();
    let namespace = plane.namespace("forgotten");
    let proxy = Proxy::start_with(&plane.address(), plane.client()).await;
    let instance = InstanceId::parse("k3f7q2m5xd").unwrap();
    let patience = Patience { stream: Duration::from_secs(2), ..Patience::default() };
    let access = Access::Hurried(kubeconfig_of(proxy.url()), patience);
    let cluster = Cluster::connect(&access, &instance, CONTROL_NAMESPACE, || Timestamp(0)).await.unwrap();
    let kubectl = |args: &[&str]| plane.kubectl(&[&["-n", &namespace], args].concat()).unwrap();
    for name in ["changes", "goes", "stays"] {
        kubectl(&["create", "configmap", name, "--from-literal=k=v"]);
        kubectl(&["label", "configmap", name, "rewild.dev/instance=k3f7q2m5xd", "rewild.dev/app=web"]);
    }
    cluster.watch("web", &in_place(config_maps())).await.unwrap();
    let id = |name: &str| ObjectId::new("", "ConfigMap", &namespace, name);
    let version = |name: &str| cluster.live(&id(name)).map(|live| live.resource_version);
    let before = version("changes").unwrap();
    // No watch opens while the version that it was to begin with is forgotten.
    proxy.spoil(To::Watches, Fault::Refuse(503, ""), usize::MAX);
    until("a watch was to be opened", || (proxy.hits() > 0).then_some(()));
    proxy.bend(Frames::Straight);
    kubectl(&["patch", "configmap", "changes", "--type=merge", "-p", r#"{"data": {"k": "w"}}"#]);
    kubectl(&["delete", "configmap", "goes"]);
    let exactly = format!(
        "/api/v1/namespaces/{namespace}/configmaps?resourceVersion={before}&resourceVersionMatch=Exact&limit=1"
    );
    until("it is forgotten", || plane.kubectl(&["get", "--raw", &exactly]).is_err().then_some(()));
    assert_eq!(version("changes"), Some(before.clone()), "it was told nothing of that");
    proxy.clear();
    until("what changed is seen", || (version("changes") != Some(before.clone())).then_some(()));
    until("what went is seen", || version("goes").is_none().then_some(()));
    assert!(version("stays").is_some());
    // The proxy notes that only after it has passed the list on.
    until("it was by a list", || proxy.listed_anew().then_some(()));
    let state = || cluster.watch_state("web", "", "ConfigMap");
    until("the watch can be trusted", || (state() == WatchState::Fresh).then_some(()));
}
