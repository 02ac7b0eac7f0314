//! What a cluster makes of answers that are none, and of those that say nothing of the server.
//!
//! Each check has a cluster of its own behind a proxy. Also read by `tests/live/answers.rs`, where they meet a real API server. Not here:
//! how a revision ends all the same (`weather.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rewild::base::Timestamp;
use rewild::model::{InstanceId, ObjectId};
use rewild::target::{
    Access, ApplyRequest, Cluster, DeleteRequest, Deletion, Dependents, Kind, Mode, Ownership, Patience, Place, Places,
    Reachability, RefusalKind, Stays, Target, TargetEvent, WatchState,
};
use serde_json::json;

use crate::proxy::{Fault, Frames, Proxy, To};
use crate::world::{Ground, HASTY, kubeconfig_of};

/// The instance of every check.
const INSTANCE: &str = "k3f7q2m5xd";
/// Within this a way to the server that swallows everything must be noticed.
const NOTICED: Duration = Duration::from_secs(30);

/// A cluster behind a proxy, and an object of it that only one check knows.
pub(crate) struct Behind {
    pub(crate) proxy: Proxy,
    pub(crate) cluster: Cluster,
    pub(crate) id: ObjectId,
}

/// Connects through a proxy; the object of the check has this name.
pub(crate) async fn behind<C: Ground>(ground: &C, name: &str, patience: Patience) -> Behind {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let proxy = Proxy::start_with(&ground.url(), ground.client()).await;
    let access = Access::Hurried(kubeconfig_of(proxy.url()), patience);
    let instance = InstanceId::parse(INSTANCE).unwrap();
    let cluster = Cluster::connect(&access, &instance, "wild-system", || Timestamp(0)).await.unwrap();
    Behind { proxy, cluster, id: ObjectId::new("", "ConfigMap", "default", name) }
}

impl Behind {
    pub(crate) fn request(&self) -> ApplyRequest {
        request(&self.id)
    }
}

fn request(id: &ObjectId) -> ApplyRequest {
    let labels = json!({"rewild.dev/instance": INSTANCE, "rewild.dev/app": "behind"});
    let metadata = json!({"name": id.name, "namespace": id.namespace, "labels": labels});
    ApplyRequest {
        id: id.clone(),
        api_version: "v1".to_owned(),
        body: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}),
        ownership: Ownership::Respect,
        mode: Mode::Write,
        hash: String::new(),
        is_partial: false,
    }
}

/// Waits until a condition holds.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let met = async {
        while !condition() {
            tick.tick().await;
        }
    };
    assert!(tokio::time::timeout(NOTICED, met).await.is_ok(), "{what}: not within {NOTICED:?}");
}

/// F25: that nothing comes any more is noticed although nobody wants anything of the server.
pub(crate) async fn a_server_from_which_nothing_comes_is_asked<C: Ground>(ground: &C) {
    let watchful = Patience { quiet: Duration::from_secs(1), ..HASTY };
    let behind = behind(ground, "quiet", watchful).await;
    let Behind { proxy, cluster, .. } = &behind;
    cluster.watch("behind", &needed()).await.unwrap();
    assert_eq!(cluster.reachability(), Reachability::Reachable);
    proxy.spoil(To::All, Fault::Hold, usize::MAX);
    let noticed = async { while !cluster.events().await.contains(&TargetEvent::Reachability) {} };
    tokio::time::timeout(NOTICED, noticed).await.unwrap();
    assert!(cluster.reachability().is_silent());
}

/// §12.4: what the watches told before this process stood still is doubted until they are heard of again.
pub(crate) async fn a_process_that_stood_still_listens_anew<C: Ground>(ground: &C) {
    static SECONDS: AtomicU64 = AtomicU64::new(1_000);
    let watchful = Patience { clock: || Duration::from_secs(SECONDS.load(Ordering::SeqCst)), ..HASTY };
    let behind = behind(ground, "still", watchful).await;
    let Behind { proxy, cluster, id } = &behind;
    let written = cluster.apply(&behind.request()).await.unwrap();
    cluster.watch("behind", &needed()).await.unwrap();
    let state = || cluster.watch_state("behind", "", "ConfigMap");
    assert_eq!((cluster.stops(), state()), (0, WatchState::Fresh));
    // Nothing of what happens meanwhile is heard.
    proxy.bend(Frames::Silent);
    let (api_version, uid) = ("v1".to_owned(), written.observed.uid);
    let (labels, stays, dependents) = (Vec::new(), Stays::default(), Dependents::Collected);
    let request = DeleteRequest { id: id.clone(), api_version, uid, labels, stays, dependents, trace: None };
    let before = proxy.hits();
    cluster.delete(&request).await.unwrap();
    // What is swallowed is the news of that, and not the list that comes later.
    until("the news is swallowed", || proxy.hits() > before).await;
    assert_eq!((cluster.live(id).is_some(), state()), (true, WatchState::Fresh));
    SECONDS.fetch_add(11, Ordering::SeqCst);
    // The list that ends the doubt may be in already.
    let (stops, seen, is_there) = (cluster.stops(), state(), cluster.live(id).is_some());
    assert!(stops == 1 && (seen == WatchState::Stale || !is_there), "{stops} {seen:?} {is_there}");
    until("it is known to be gone", || cluster.live(id).is_none()).await;
    until("the kind is trusted again", || state() == WatchState::Fresh).await;
    assert_eq!(cluster.stops(), 1);
}

/// §3.2: a set that another tool owns is neither used nor changed.
pub(crate) async fn the_set_of_another_tool_is_left_alone<C: Ground>(ground: &C) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let instance = InstanceId::parse("k3f7q2mset").unwrap();
    let access = Access::Hurried(ground.kubeconfig(), HASTY);
    let cluster = Cluster::connect(&access, &instance, "foreign-sets", || Timestamp(0)).await.unwrap();
    let id = ObjectId::new("", "ConfigMap", "foreign-sets", "wild-k3f7q2mset");
    let namespace = ObjectId::new("", "Namespace", "", "foreign-sets");
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "foreign-sets"}});
    cluster.apply(&ApplyRequest { id: namespace, body: made, ..request(&id) }).await.unwrap();
    let annotations = json!({"applyset.kubernetes.io/tooling": "kubectl/v1.36"});
    let metadata = json!({"name": id.name, "namespace": id.namespace, "annotations": annotations});
    let parent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    cluster.apply(&ApplyRequest { body: parent, ..request(&id) }).await.unwrap();
    let before = cluster.get(&id, "v1").await.unwrap();
    let refused = cluster.grow_apply_set(&[config_maps()].into(), &["one".to_owned()].into()).await.unwrap_err();
    let says = "use the ApplySet wild-k3f7q2mset: it belongs to \"kubectl/v1.36\", not to wild";
    assert_eq!((refused.message.as_str(), &refused.kind), (says, &RefusalKind::Conflict(Vec::new())));
    assert_eq!(cluster.get(&id, "v1").await.unwrap(), before);
}

/// F28: a version that a server has forgotten is not asked for again by a watch.
pub(crate) async fn a_watch_begins_anew_after_its_version_is_forgotten<C: Ground>(ground: &C) {
    let brief = Patience { stream: Duration::from_secs(1), ..HASTY };
    let behind = behind(ground, "forgotten", brief).await;
    let Behind { proxy, cluster, id } = &behind;
    cluster.apply(&behind.request()).await.unwrap();
    cluster.watch("behind", &needed()).await.unwrap();
    proxy.bend(Frames::Straight);
    proxy.spoil(To::Watches, Fault::Refuse(410, ""), 1);
    until("the version is forgotten", || proxy.hits() == 1).await;
    until("the kind is listed anew", || proxy.listed_anew()).await;
    assert!(cluster.live(id).is_some());
}

/// F28: a list that grows too old before its last page is in comes once more, and then without pages.
pub(crate) async fn a_list_that_grows_too_old_comes_without_pages<C: Ground>(ground: &C) {
    let behind = behind(ground, "pages", Patience { page: 1, ..HASTY }).await;
    let Behind { proxy, cluster, id } = &behind;
    let ids = [id.clone(), ObjectId::new("", "ConfigMap", "default", "more-pages")];
    for id in &ids {
        cluster.apply(&request(id)).await.unwrap();
    }
    let kinds = needed();
    // A watch that cannot begin with its list has one before it.
    proxy.spoil(To::Lists, Fault::Refuse(400, ""), 1);
    let aged = async {
        until("the watch does not begin with its list", || proxy.hits() == 1).await;
        proxy.spoil(To::Pages, Fault::Refuse(410, ""), 2);
    };
    let (opened, ()) = futures::join!(cluster.watch("behind", &kinds), aged);
    opened.unwrap();
    assert_eq!((proxy.hits(), cluster.watch_state("behind", "", "ConfigMap")), (2, WatchState::Fresh));
    assert!(ids.iter().all(|id| cluster.live(id).is_some()));
}

/// Returns what an app needs that has ConfigMaps.
fn needed() -> Places {
    [(config_maps(), [Place::Namespace("behind".into())].into())].into()
}

fn config_maps() -> Kind {
    Kind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() }
}

/// F34, F36: an answer that is lost, and a server that is busy or fails once, end no deletion.
pub(crate) async fn a_deletion_is_asked_for_again<C: Ground>(ground: &C) {
    let behind = behind(ground, "deletion", Patience::default()).await;
    let Behind { proxy, cluster, id } = &behind;
    let faults =
        [Fault::Reset, Fault::LoseAnswer, Fault::Refuse(500, ""), Fault::Refuse(503, "1"), Fault::Refuse(429, "1")];
    for fault in faults {
        let uid = cluster.apply(&behind.request()).await.unwrap().observed.uid;
        proxy.spoil(To::Writes, fault, 1);
        let (api_version, labels, dependents) = ("v1".to_owned(), Vec::new(), Dependents::Collected);
        let request = DeleteRequest {
            id: id.clone(),
            api_version,
            uid,
            labels,
            stays: Stays::default(),
            dependents,
            trace: None,
        };
        assert_eq!(cluster.delete(&request).await, Ok(Deletion::Gone), "{fault:?}");
        assert_eq!((cluster.reachability(), proxy.hits()), (Reachability::Reachable, 1), "{fault:?}");
        assert!(cluster.get(id, "v1").await.unwrap().is_none(), "{fault:?}");
    }
    let limit = cluster.counted().write_limit;
    assert!(limit <= 4, "as many writes as before are sent at once: {limit}");
}

/// F24, F37: a write that fails or takes too long is no sign that the server is away; that nothing else is answered either is one.
pub(crate) async fn a_slow_write_says_nothing_of_the_server<C: Ground>(ground: &C) {
    let behind = behind(ground, "slow", HASTY).await;
    let Behind { proxy, cluster, .. } = &behind;
    cluster.apply(&behind.request()).await.unwrap();
    for fault in [Fault::Refuse(504, ""), Fault::Refuse(500, ""), Fault::Hold] {
        proxy.spoil(To::Writes, fault, 2);
        let refusal = cluster.apply(&behind.request()).await.unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Server, "{fault:?}: {refusal}");
        assert_eq!((cluster.reachability(), proxy.hits()), (Reachability::Reachable, 2), "{fault:?}");
    }
    for fault in [Fault::Refuse(504, ""), Fault::Hold] {
        proxy.spoil(To::All, fault, usize::MAX);
        let refusal = cluster.apply(&behind.request()).await.unwrap_err();
        assert!(refusal.is_unreachable() && cluster.reachability().is_silent(), "{fault:?}: {refusal}");
        assert!(cluster.probe().await.is_err() && cluster.reachability().is_silent(), "{fault:?}");
        proxy.clear();
        cluster.probe().await.unwrap();
        assert_eq!(cluster.reachability(), Reachability::Reachable, "{fault:?}");
    }
}
