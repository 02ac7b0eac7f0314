//! What is known about apps: their state, config, history, events, drift and waiting updates.
//!
//! Shown is what the last pass found. Where the cluster has stopped answering since, health is unknown and not what it was. Not here:
//! changing anything (`changes.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer, value};
use super::instances::{self, Unseen};
use super::problem::Problem;
use super::{Host, instance, live, plans, seen};
use crate::base::{Timestamp, chain};
use crate::compile;
use crate::daemon::{Handle, Outlook};
use crate::git::Commit;
use crate::model::{AppName, AppState, ClusterName, Veil};
use crate::observe;
use crate::pipeline::{self, Instance};
use crate::target::{Reachability, Target};

/// Commits of a history.
const HISTORY_LIMIT: usize = 50;
/// Events of an app.
const EVENT_LIMIT: i64 = 100;

/// `GET /apps`: all apps with what was last found about them.
pub(super) async fn list(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let states = states(handle.instance()).await?;
    let apps: Vec<Value> = states.iter().map(|state| document(&handle, state)).collect::<Result<_, _>>()?;
    Ok(answer(&json!({"apps": apps})))
}

/// Returns the states of all apps as they may be shown now.
pub(super) async fn states(instance: &Instance) -> Result<Vec<AppState>, Problem> {
    let known = instance.store.app_states(&instance.id).await?;
    let names: BTreeSet<&AppName> = known.iter().map(|state| &state.name).collect();
    let mut states: Vec<AppState> = known.iter().map(|state| AppState::clone(state)).collect();
    let overview = pipeline::overview(instance).await?;
    states.extend(overview.apps.keys().filter(|app| !names.contains(app)).map(|app| unseen(instance, app.clone())));
    states.sort_by(|a, b| a.name.cmp(&b.name));
    let targets = instance.targets();
    for state in &mut states {
        let target = targets.get(&state.cluster);
        if let Some(Reachability::Unreachable { since, why }) = target.map(|target| target.reachability()) {
            "unknown".clone_into(&mut state.health);
            state.health_reason = format!("{} does not answer since {since}: {why}", state.cluster.in_short());
        }
    }
    Ok(states)
}

/// Returns the cluster that an app is on, for what is read there now.
pub(super) async fn cluster_of(instance: &Instance, app: &AppName, what: &str) -> Result<Arc<dyn Target>, Problem> {
    let known = state(instance, app).await?;
    let target = instance.targets().get(&known.cluster).cloned();
    let identity = pipeline::settings(instance).await?.identity_of(app.as_str());
    let acting =
        |target: Arc<dyn Target>| observe::acting(identity, &known.namespace, target.as_ref()).unwrap_or(target);
    target
        .map(acting)
        .ok_or_else(|| Problem::new(409, what.to_owned(), "no cluster is known for it yet", "wild cluster add"))
}

/// Returns the state of an app that is in the tree and was never looked at.
fn unseen(instance: &Instance, name: AppName) -> AppState {
    let empty = String::new;
    AppState {
        package: empty(),
        version: empty(),
        available: empty(),
        update: None,
        namespace: name.to_string(),
        cluster: ClusterName::default(),
        health: "unknown".to_owned(),
        health_reason: "it was not looked at yet".to_owned(),
        intent: "waiting".to_owned(),
        reason: empty(),
        needs_you: empty(),
        hint: format!("wild app deploy {name}"),
        log: Vec::new(),
        notices: Vec::new(),
        lifecycle: "deploying".to_owned(),
        drift: Vec::new(),
        conflicts: 0,
        commit: None,
        applied: None,
        objects: Vec::new(),
        observed_at: instance.now(),
        name,
    }
}

fn document(handle: &Handle, state: &AppState) -> Result<Value, Problem> {
    let mut document = value(state)?;
    if let Some(fields) = document.as_object_mut() {
        if let Some(Outlook { next, wake_on }) = handle.outlook(&state.name) {
            fields.insert("nextLook".to_owned(), json!(next));
            fields.insert("wakeOn".to_owned(), json!(plans::wakes(&wake_on)));
        }
        fields.insert("status".to_owned(), Value::from(older_word(state)));
    }
    Ok(document)
}

/// Returns the one word that the predecessor has for an app.
fn older_word(state: &AppState) -> &'static str {
    match (state.intent.as_str(), state.health.as_str()) {
        ("added", _) => "added",
        (_, "healthy") => "running",
        (_, "starting") => "starting",
        (_, "failing") => "unhealthy",
        (_, "stopped") => "no-pods",
        (_, "deleting") => "deleting",
        _ => "error",
    }
}

/// Returns the state of one app, or the problem that it is not there with the name that was meant.
pub(super) async fn state(instance: &Instance, app: &AppName) -> Result<AppState, Problem> {
    let states = states(instance).await?;
    if let Some(state) = states.iter().find(|state| state.name == *app) {
        return Ok(state.clone());
    }
    let meant = crate::base::nearest::nearest(app.as_str(), states.iter().map(|state| state.name.as_str()));
    let (because, remedy) = match meant {
        Some(meant) => (format!("there is no app {app}; did you mean {meant}?"), format!("wild app show {meant}")),
        None => (format!("there is no app {app}"), "wild app list --deployed".to_owned()),
    };
    Err(Problem::new(404, format!("find the app {app}"), because, remedy))
}

/// `GET /apps/{app}`: one app.
pub(super) async fn show(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let state = state(handle.instance(), &app_name(&app)?).await?;
    Ok(answer(&document(&handle, &state)?))
}

/// `GET /apps/{app}/status`: one app as the predecessor shows it; one that is not there is no error.
pub(super) async fn status(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    let states = states(handle.instance()).await?;
    Ok(answer(&match states.iter().find(|state| state.name == app) {
        None => json!({"name": app, "status": "not-added", "version": "", "namespace": ""}),
        Some(state) => json!({
            "name": state.name,
            "is": state.package,
            "status": older_word(state),
            "version": state.version,
            "namespace": state.namespace,
        }),
    }))
}

/// `GET /apps/{app}/config`: the app's section of `config.yaml`.
pub(super) async fn config(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    let shown = pipeline::overview(handle.instance()).await?;
    let config = compile::config_of(&shown.files).map_err(|found| {
        let because = found.first().map(ToString::to_string).unwrap_or_default();
        Problem::new(422, "read config.yaml", because, "git log -p -- config.yaml")
    })?;
    match config.app(&app) {
        Some(section) => Ok(answer(&Value::Object(section.clone()))),
        None if shown.apps.contains_key(&app) => Ok(answer(&json!({}))),
        None => state(handle.instance(), &app).await.map(|_| answer(&json!({}))),
    }
}

/// `GET /apps/{app}/history`: commits on the deployed branch that touched the app, newest first, with what was said about each.
pub(super) async fn history(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let app = app_name(&app)?;
    let head = pipeline::overview(shown).await?.head.clone();
    // A deployment changes the record alone.
    let (own, record) = (format!("apps/{app}"), compile::record_path(&app));
    let mut commits: Vec<Commit> = shown.tree.first_parent_log(&head, HISTORY_LIMIT, &[&own, record.as_str()]).await?;
    commits.truncate(HISTORY_LIMIT);
    if commits.is_empty() {
        state(shown, &app).await?;
    }
    let mut documents = Vec::with_capacity(commits.len());
    for commit in &commits {
        let statuses = shown.store.statuses(&shown.id, &commit.id).await?;
        documents.push(json!({
            "id": commit.id,
            "time": commit.time,
            "author": commit.author.name,
            "subject": commit.subject(),
            "operation": commit.trailer("Wild-Operation"),
            "statuses": value(&statuses)?,
        }));
    }
    Ok(answer(&json!({"app": app, "commits": documents})))
}

/// `GET /apps/{app}/events`: what happened to the app, and what its cluster told of it, oldest first.
pub(super) async fn events(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let app = app_name(&app)?;
    let events = shown.store.events(&shown.id, Some(&app), EVENT_LIMIT).await?;
    let state = match state(shown, &app).await {
        // What happened to an app is told also when it is gone.
        Err(_) if !events.is_empty() => None,
        found => Some(found?),
    };
    let mut told = Vec::with_capacity(events.len());
    for event in &events {
        let mut document = value(event)?;
        if let Some(fields) = document.as_object_mut() {
            fields.insert("source".to_owned(), json!("wild"));
        }
        told.push((event.time, document));
    }
    let mut unread = None;
    match of_cluster(shown, &app, state.as_ref()).await {
        Ok(more) => told.extend(more),
        Err(why) => unread = Some(why),
    }
    told.sort_by_key(|(time, _)| *time);
    let told: Vec<Value> = told.into_iter().map(|(_, event)| event).collect();
    Ok(answer(&json!({"app": app, "events": told, "unread": unread})))
}

/// Returns what the cluster of an app told of it, or why that could not be read.
async fn of_cluster(
    instance: &Instance,
    app: &AppName,
    state: Option<&AppState>,
) -> Result<Vec<(Timestamp, Value)>, String> {
    let Some(state) = state else { return Ok(Vec::new()) };
    let targets = instance.targets();
    let Some(target) = targets.get(&state.cluster) else { return Ok(Vec::new()) };
    if let Reachability::Unreachable { since, why } = target.reachability() {
        return Err(format!("{} does not answer since {since}: {why}", state.cluster.in_short()));
    }
    let secrets = instance.secrets.read().map_err(|error| chain(&error))?;
    seen::events(app, state, target.as_ref(), &secrets).await.map_err(|refusal| refusal.message)
}

/// Query of what shows values that may look like secrets.
#[derive(Deserialize)]
pub(super) struct Revealing {
    /// The name whose values are shown all the same.
    #[serde(default)]
    reveal: Option<String>,
}

/// `GET /updates/{app}`: the update that waits for decisions.
pub(super) async fn update(
    State(daemon): Host,
    Path((name, app)): Path<(String, String)>,
    Query(query): Query<Revealing>,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let veil = Veil::but(query.reveal);
    let app = app_name(&app)?;
    let state = state(handle.instance(), &app).await?;
    let shown = handle.instance();
    let list = pipeline::conflicts_file(shown, &app).await?;
    let mut conflicts = Vec::new();
    for open in list.iter().flat_map(|list| &list.conflicts) {
        let mut document = open.conflict.veiled(&veil).to_json();
        if let Some(fields) = document.as_object_mut() {
            fields.insert("live".to_owned(), json!(live::value(shown, &state, &open.conflict, &veil).await));
            fields.insert("changed".to_owned(), last_change(shown, open.conflict.path.as_str()).await?);
        }
        conflicts.push(document);
    }
    let remembered = pipeline::remembered(shown, &app).await?;
    let decided = list.iter().flat_map(|list| &list.decided).map(|decided| {
        let known = remembered.all().get(&decided.id);
        let place = known.map(|known| if known.path.is_empty() { &known.file } else { &known.path });
        let mut take = json!(decided.take);
        hide(&mut take, known.map(|known| known.path.as_str()).unwrap_or_default());
        json!({"id": decided.id, "take": take, "earlier": decided.earlier, "place": place, "who": known.map(|it| &it.who)})
    });
    Ok(answer(&json!({
        "app": app,
        "version": state.version,
        "available": state.available,
        "base": list.as_ref().map(|list| list.base.package.as_str()),
        "upstream": list.as_ref().map(|list| list.upstream.package.as_str()),
        "branch": shown.tree.subdirectory().update_branch(&app),
        "conflicts": conflicts,
        "decided": decided.collect::<Vec<_>>(),
    })))
}

/// Hides the value that somebody chose, if it looks like a secret.
fn hide(take: &mut Value, path: &str) {
    if let Some(value) = take.get_mut("value") {
        *value = Veil::default().value(path, value);
    }
}

/// Returns the commit of the deployed branch that changed a file last.
async fn last_change(instance: &Instance, path: &str) -> Result<Value, Problem> {
    let head = pipeline::overview(instance).await?.head.clone();
    let log = instance.tree.first_parent_log(&head, 1, &[path]).await?;
    let change = |commit: &Commit| json!({"commit": commit.id, "author": commit.author.name, "time": commit.time});
    Ok(log.first().map_or(Value::Null, change))
}

/// `GET /updates/{app}/remembered`: what people decided about conflicts, which is applied by itself when they appear again.
pub(super) async fn remembered(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    let remembered = pipeline::remembered(handle.instance(), &app).await?;
    let mut decisions = Vec::new();
    for (key, resolution) in remembered.all() {
        let mut document = value(resolution)?;
        if let Some(fields) = document.as_object_mut() {
            fields.shift_insert(0, "id".to_owned(), json!(key));
            if let Some(take) = fields.get_mut("take") {
                hide(take, &resolution.path);
            }
        }
        decisions.push(document);
    }
    let findings: Vec<String> = remembered.findings.iter().map(ToString::to_string).collect();
    Ok(answer(&json!({"app": app, "decisions": decisions, "findings": findings})))
}

/// `GET /drift`: every live difference from git, with the policy of its app, and the apps of which not all differences are known, with why.
pub(super) async fn drift(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let settings = pipeline::settings(shown).await?;
    let (mut items, mut unknown) = (Vec::new(), Vec::new());
    for state in states(shown).await? {
        let because = match (state.intent.as_str(), instances::unseen(shown, &state.cluster)) {
            ("added", _) => None,
            (_, Some(Unseen::Unasked) | None) if !handle.is_watching() => {
                Some(format!("no daemon watches it; to look now: wild app diff {}", state.name))
            }
            (_, Some(unseen)) => Some(unseen.said().to_owned()),
            (_, None) => state.uncompared(),
        };
        unknown.extend(because.map(|because| json!({"app": state.name, "because": because})));
        for drift in &state.drift {
            let mut item = value(drift)?;
            if let Some(fields) = item.as_object_mut() {
                fields.shift_insert(0, "app".to_owned(), json!(state.name));
                fields.insert("policy".to_owned(), value(&settings.drift_of(state.name.as_str()))?);
            }
            items.push(item);
        }
    }
    Ok(answer(&json!({"drift": items, "unknown": unknown})))
}
