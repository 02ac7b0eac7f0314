//! The daemon and its instances: what runs, how it is reached, what the head is, what was said about it.
//!
//! Not here: apps (`apps.rs`).

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, json as answer, value, with_status};
use super::changes::Change;
use super::problem::Problem;
use super::{Host, instance};
use crate::base::Timestamp;
use crate::daemon::{ClosedInstance, Daemon};
use crate::model::{ClusterIdentity, ClusterName, CommitId, Reason, Trigger};
use crate::pipeline::{self, Instance};
use crate::target::{AccessReport, Reachability, Target};

/// `GET /status`: the daemon.
pub(super) async fn daemon_status(State(daemon): Host) -> Answered {
    let instances = daemon.instances();
    let names: Vec<String> = instances.iter().map(|handle| handle.instance().name.to_string()).collect();
    let now = instances.first().map_or(daemon.started(), |handle| handle.instance().now());
    let uptime = now.since(daemon.started()).as_secs();
    Ok(answer(&json!({
        "status": "running",
        "version": env!("CARGO_PKG_VERSION"),
        "uptime": format!("{uptime}s"),
        "uptimeSeconds": uptime,
        "instances": {"count": names.len(), "names": names},
    })))
}

/// `GET /instances`: names, as older clients expect them, and more about each.
pub(super) async fn list(State(daemon): Host) -> Answered {
    let instances = daemon.instances();
    let names: Vec<String> = instances.iter().map(|handle| handle.instance().name.to_string()).collect();
    let mut items: Vec<Value> = instances.iter().map(|handle| identity(handle.instance())).collect();
    items.extend(closed(&daemon));
    Ok(answer(&json!({"instances": names, "items": items})))
}

/// Returns the instances that are not open: whoever means one hears why, instead of something about another one.
fn closed(daemon: &Daemon) -> Vec<Value> {
    let shown = |ClosedInstance { entry, refusal }: &ClosedInstance| {
        json!({
            "name": entry.name,
            "path": daemon.settings().state_dir.join(&entry.path).display().to_string().trim_end_matches('/'),
            "subdirectory": entry.subdirectory,
            "branch": entry.branch,
            "closed": {"what": refusal.what, "because": refusal.because, "remedy": refusal.remedy},
        })
    };
    daemon.closed().iter().map(shown).collect()
}

fn identity(instance: &Instance) -> Value {
    json!({
        "name": instance.name,
        "id": instance.id,
        "path": instance.repository.path().display().to_string().trim_end_matches('/'),
        "subdirectory": instance.tree.subdirectory(),
        "branch": instance.branch,
    })
}

/// `GET /instances/{instance}`: one instance with its head, its cluster and the statuses of the head.
pub(super) async fn show(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let head = shown.repository.head(&shown.branch).await?;
    let statuses = match &head {
        Some(head) => shown.store.statuses(&shown.id, head).await?,
        None => Vec::new(),
    };
    let mut document = identity(shown);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("head".to_owned(), value(&head)?);
        fields.insert("cluster".to_owned(), first_cluster(shown).await?);
        fields.insert("clusters".to_owned(), Value::from(clusters(shown).await?));
        fields.insert("statuses".to_owned(), value(&statuses)?);
        fields.insert("remote".to_owned(), remote(shown).await?);
        fields.insert("directories".to_owned(), directories(shown).await?);
        fields.insert("foreignBranches".to_owned(), json!(pipeline::foreign_branches(shown).await.unwrap_or_default()));
        fields.insert("strayClusters".to_owned(), value(&daemon.stray_clusters())?);
        fields.insert("closedInstances".to_owned(), json!(closed(&daemon)));
        fields.insert("ready".to_owned(), json!(handle.is_ready().err()));
        fields.insert("openFiles".to_owned(), value(&shown.open_files().await)?);
        fields.insert("stateDir".to_owned(), json!(daemon.settings().state_dir.display().to_string()));
    }
    Ok(answer(&document))
}

/// Returns what is wrong with its upstreams and their packages. Settings that do not read are told where they are read.
async fn directories(instance: &Instance) -> Result<Value, Problem> {
    value(&pipeline::directory_findings(instance).await.unwrap_or_default())
}

/// Returns the repository that the instance is kept equal to, and why it is not at present; nothing if there is none.
async fn remote(instance: &Instance) -> Result<Value, Problem> {
    let Some(remote) = &instance.remote else { return Ok(Value::Null) };
    Ok(json!({"url": remote.url.to_string(), "trouble": pipeline::remote_trouble(instance).await?}))
}

/// `GET /instances/{instance}/clusters`: all clusters, each asked now whether it answers, side by side.
pub(super) async fn asked_clusters(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    // What each answers is noted by its target, which is what is shown.
    futures::future::join_all(shown.targets().all().map(|(_, target)| target.probe())).await;
    Ok(answer(&json!({"clusters": clusters(shown).await?})))
}

/// `GET /instances/{instance}/checks`: what is looked at beside apps, with what is wrong.
pub(super) async fn checks(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    Ok(answer(&json!({"checks": value(&pipeline::checks(handle.instance()).await?)?})))
}

/// Returns whether the first cluster answers; nothing if none is known.
async fn first_cluster(instance: &Instance) -> Result<Value, Problem> {
    Ok(clusters(instance)
        .await?
        .into_iter()
        .find(|cluster| cluster.get("first") == Some(&Value::Bool(true)))
        .unwrap_or_default())
}

/// Returns all clusters, each with the number of apps on it, and those that are refused.
async fn clusters(instance: &Instance) -> Result<Vec<Value>, Problem> {
    let states = instance.store.app_states(&instance.id).await?;
    let targets = instance.targets();
    let connected = targets.all().map(|(name, target)| (name, said(target.as_ref())));
    let refused = targets.refused().map(|(name, why)| (name, json!({"reachable": false, "refused": true, "why": why})));
    let mut shown = Vec::new();
    for (name, mut document) in connected.chain(refused) {
        let known = instance.known_cluster(name).await?;
        if let Some(fields) = document.as_object_mut() {
            fields.insert("name".to_owned(), json!(targets.context(name)));
            fields.insert("first".to_owned(), json!(name.is_first()));
            fields.insert("apps".to_owned(), json!(states.iter().filter(|state| state.cluster == *name).count()));
            fields.insert("known".to_owned(), value(&known)?);
        }
        shown.push(document);
    }
    Ok(shown)
}

/// Returns whether a cluster answers and how it is reached; `reachable` is null where nobody asked it yet.
fn said(target: &dyn Target) -> Value {
    let AccessReport { known: _, found, is_elsewhere, trouble, narrowed } = target.access_report();
    let mut document = match target.reachability() {
        Reachability::Unasked => json!({"reachable": null}),
        Reachability::Reachable => json!({"reachable": true}),
        Reachability::Unreachable { since, why } => json!({"reachable": false, "since": since, "why": why}),
    };
    if let Some(fields) = document.as_object_mut() {
        fields.insert("elsewhere".to_owned(), json!(is_elsewhere));
        fields.insert("found".to_owned(), json!(found));
        fields.insert("trouble".to_owned(), json!(trouble));
        fields.insert("narrowed".to_owned(), json!(narrowed));
    }
    document
}

/// What a person saw of a cluster that he accepts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accepting {
    /// By what it is known again from now on.
    found: ClusterIdentity,
}

/// `POST /instances/{instance}/clusters/{cluster}/accept`: the cluster that the kubeconfig leads to is the one that is meant.
pub(super) async fn accept_cluster(change: Change) -> Answered {
    let (shown, cluster) = (change.instance(), named(&change, "accept")?);
    let Accepting { found } = change.body()?;
    shown.accept_cluster(&cluster, &found, &change.who()).await?;
    if let Some(target) = shown.targets().get(&cluster) {
        // What it answers is noted by its target, and wakes whoever waits for it.
        let _ = target.probe().await;
    }
    change.wake(Trigger { app: None, reason: Reason::Released });
    Ok(answer(&json!({"message": "accepted"})))
}

/// `DELETE /instances/{instance}/clusters/{cluster}/known`: a cluster is removed, and whatever comes under its name later is another one.
pub(super) async fn forget_cluster(change: Change) -> Answered {
    let (shown, cluster) = (change.instance(), named(&change, "forget")?);
    let states = shown.store.app_states(&shown.id).await?;
    if states.iter().any(|state| state.cluster == cluster) {
        let (what, remedy) = (format!("forget {}", cluster.in_short()), "wild app move APP --to CLUSTER");
        return Err(Problem::new(409, what, "apps are on it", remedy).with_exit_code(6));
    }
    shown.forget_cluster(&cluster).await?;
    Ok(answer(&json!({"message": "forgotten"})))
}

fn named(change: &Change, verb: &str) -> Result<ClusterName, Problem> {
    let name = change.word("cluster");
    change.instance().targets().called(name).ok_or_else(|| {
        Problem::new(404, format!("{verb} the cluster {name}"), "there is no such cluster", "wild cluster list")
    })
}

/// Returns whether no cluster was asked anything yet.
pub(super) fn is_unasked(instance: &Instance) -> bool {
    instance.targets().all().all(|(_, target)| target.reachability() == Reachability::Unasked)
}

/// Why what stands in a cluster is not known.
pub(super) enum Unseen {
    /// It was asked and does not answer.
    Silent,
    /// Nobody asked it yet.
    Unasked,
    /// No cluster has that name.
    Unknown,
}

impl Unseen {
    /// Returns it in words.
    pub(super) fn said(&self) -> &'static str {
        match self {
            Self::Silent => "its cluster does not answer",
            Self::Unasked => "its cluster was not asked yet",
            Self::Unknown => "its cluster is not known",
        }
    }
}

/// Returns why what stands in a cluster is not known; nothing if it answers.
pub(super) fn unseen(instance: &Instance, cluster: &ClusterName) -> Option<Unseen> {
    match instance.targets().get(cluster).map(|target| target.reachability()) {
        Some(Reachability::Reachable) => None,
        Some(Reachability::Unreachable { .. }) => Some(Unseen::Silent),
        Some(Reachability::Unasked) => Some(Unseen::Unasked),
        None => Some(Unseen::Unknown),
    }
}

/// Returns since when and why a cluster does not answer, by name where there are several; nothing while all do.
pub(super) fn silence(instance: &Instance) -> Option<(Timestamp, String)> {
    instance.targets().all().find_map(|(name, target)| match target.reachability() {
        Reachability::Unasked | Reachability::Reachable => None,
        Reachability::Unreachable { since, why } if name.is_first() => Some((since, why)),
        Reachability::Unreachable { since, why } => Some((since, format!("{name}: {why}"))),
    })
}

/// `POST /instances/{instance}/pushed`: a hint that the branch moved. It names no commit; the daemon looks for itself.
pub(super) async fn pushed(State(daemon): Host, Path(name): Path<String>) -> Answered {
    // The push may have put back what kept it from being opened.
    if daemon.closed().iter().any(|closed| closed.entry.name.as_str() == name) {
        daemon.open_closed().await;
    }
    let handle = instance(&daemon, &name)?;
    pipeline::seen(handle.instance()).await?;
    handle.wake(Trigger { app: None, reason: Reason::Push });
    Ok(with_status(StatusCode::ACCEPTED, &json!({"message": "seen"})))
}

/// `GET /instances/{instance}/statuses/{commit}`: what was said about a commit.
pub(super) async fn statuses(State(daemon): Host, Path((name, commit)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let commit = CommitId::parse(&commit)
        .map_err(|error| Problem::unreadable("read the statuses of a commit", error.to_string()))?;
    let statuses = shown.store.statuses(&shown.id, &commit).await?;
    Ok(answer(&json!({"commit": commit, "statuses": value(&statuses)?})))
}
