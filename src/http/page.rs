//! The status page: one read-only page without scripts, for `/` on loopback.
//!
//! The template escapes every value; the policy sent with it forbids everything but its own style. Not here: who may see it (`caller.rs`).

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::Host;
use super::instances::silence;
use super::problem::Problem;
use crate::base::Timestamp;
use crate::base::chain;
use crate::daemon::{Daemon, Handle};
use crate::merge::Conflict;
use crate::model::{AppState, DriftState, Operation, OperationOutcome, OperationState};
use crate::pipeline;
use crate::store::{OperationFilter, StoredStatus};

/// Operations that are shown.
const LAST_OPERATIONS: i64 = 15;
/// Most lines of one side of a conflict that are shown; the rest is counted.
const SIDE_LINES: usize = 40;
/// Nothing runs, nothing is sent, nothing is loaded but our own style.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Everything on the page.
#[derive(Template)]
#[template(path = "status.html", config = "src/http/askama.toml")]
struct Page {
    version: &'static str,
    now: String,
    instances: Vec<Section>,
}

/// One instance.
struct Section {
    name: String,
    branch: String,
    head: String,
    path: String,
    cluster: Badge,
    trouble: String,
    statuses: Vec<StoredStatus>,
    apps: Vec<AppRow>,
    updates: Vec<UpdateRow>,
    operations: Vec<OperationRow>,
}

/// A word with a shape and a colour, so that none of them stands alone.
struct Badge {
    shape: &'static str,
    word: String,
    class: &'static str,
    why: String,
}

/// One app.
struct AppRow {
    name: String,
    version: String,
    available: String,
    health: Badge,
    intent: String,
    drift: Vec<DriftRow>,
    needs_you: String,
    hint: String,
    observed: When,
}

/// One live difference.
struct DriftRow {
    object: String,
    path: String,
    desired: String,
    live: String,
    manager: String,
}

/// An update that waits for decisions.
struct UpdateRow {
    app: String,
    version: String,
    available: String,
    conflicts: Vec<ConflictRow>,
}

/// One conflict with its three sides.
struct ConflictRow {
    place: String,
    why: String,
    id: String,
    sides: Vec<(&'static str, String)>,
}

/// One operation.
struct OperationRow {
    when: When,
    verb: String,
    app: String,
    state: Badge,
    actor: String,
    message: String,
    id: String,
}

/// A time: how long ago, and exactly.
struct When {
    ago: String,
    exact: String,
}

/// Answers the route.
pub(super) async fn page(State(daemon): Host) -> Result<Response, Problem> {
    let mut instances = Vec::new();
    let mut now = daemon.started();
    for handle in daemon.instances() {
        now = handle.instance().now();
        instances.push(section(&daemon, &handle, now).await?);
    }
    let page = Page { version: env!("CARGO_PKG_VERSION"), now: now.to_string(), instances };
    let text =
        page.render().map_err(|error| Problem::new(500, "draw the status page", chain(&error), "wild status"))?;
    Ok(answer(text))
}

/// Answers the route of the style.
pub(super) async fn style() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"))], STYLE).into_response()
}

/// The style, embedded.
const STYLE: &str = include_str!("templates/status.css");

fn answer(text: String) -> Response {
    let mut response =
        ([(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], text).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn section(_daemon: &Daemon, handle: &Handle, now: Timestamp) -> Result<Section, Problem> {
    let shown = handle.instance();
    let states = super::apps::states(shown).await?;
    let head = shown.repository.head(&shown.branch).await?;
    let statuses = match &head {
        Some(head) => shown.store.statuses(&shown.id, head).await?,
        None => Vec::new(),
    };
    let mut updates = Vec::new();
    for state in states.iter().filter(|state| state.conflicts > 0) {
        let conflicts = pipeline::conflicts(shown, &state.name).await?;
        updates.push(UpdateRow {
            app: state.name.to_string(),
            version: state.version.clone(),
            available: state.available.clone(),
            conflicts: conflicts.iter().map(conflict).collect(),
        });
    }
    let filter = OperationFilter { app: None, limit: Some(LAST_OPERATIONS) };
    let operations = shown.store.operations(&shown.id, &filter).await?;
    let cluster = match (&shown.target, silence(shown)) {
        (None, _) => {
            Badge {
                shape: "○", word: "no cluster yet".to_owned(), class: "quiet", why: "wild cluster add".to_owned()
            }
        }
        (Some(_), None) => Badge { shape: "●", word: "reachable".to_owned(), class: "good", why: String::new() },
        (Some(_), Some((since, why))) => {
            let why = format!("since {since}: {why}");
            Badge { shape: "?", word: "does not answer".to_owned(), class: "bad", why }
        }
    };
    Ok(Section {
        name: shown.name.to_string(),
        branch: shown.branch.clone(),
        head: head.map(|head| head.short().to_owned()).unwrap_or_default(),
        path: shown.repository.path().display().to_string(),
        cluster,
        trouble: handle.is_ready().err().unwrap_or_default(),
        statuses,
        apps: states.iter().map(|state| app(state, now)).collect(),
        updates,
        operations: operations.iter().map(|row| operation(row, now)).collect(),
    })
}

fn app(state: &AppState, now: Timestamp) -> AppRow {
    AppRow {
        name: state.name.to_string(),
        version: state.version.clone(),
        available: state.available.clone(),
        health: health(&state.health, &state.health_reason),
        intent: state.intent.clone(),
        drift: state.drift.iter().map(drift).collect(),
        needs_you: state.needs_you.clone(),
        hint: state.hint.clone(),
        observed: when(state.observed_at, now),
    }
}

fn health(word: &str, why: &str) -> Badge {
    let (shape, shown, class) = match word {
        "healthy" => ("●", "Healthy", "good"),
        "starting" => ("◐", "Starting", "busy"),
        "failing" => ("✗", "Failing", "bad"),
        "stopped" => ("■", "Stopped", "quiet"),
        "deleting" => ("↓", "Deleting", "busy"),
        _ => ("?", "Unknown", "quiet"),
    };
    Badge { shape, word: shown.to_owned(), class, why: why.to_owned() }
}

fn drift(state: &DriftState) -> DriftRow {
    let value = |value: &Option<serde_json::Value>| match value {
        None => "–".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    DriftRow {
        object: state.object.short(),
        path: if state.path.is_empty() { state.kind.clone() } else { state.path.clone() },
        desired: value(&state.desired),
        live: value(&state.live),
        manager: state.manager.clone(),
    }
}

fn conflict(conflict: &Conflict) -> ConflictRow {
    let place = match (conflict.key.is_empty(), conflict.line) {
        (false, _) => format!("{} · {}", conflict.path, conflict.key),
        (true, 0) => conflict.path.to_string(),
        (true, line) => format!("{}:{line}", conflict.path),
    };
    let sides = pipeline::conflict_texts(conflict).into_iter().map(|(side, text)| (side, cut(&text))).collect();
    ConflictRow { place, why: conflict.why.clone(), id: conflict.id.clone(), sides }
}

/// Cuts a long side and says so.
fn cut(text: &str) -> String {
    let lines = text.lines().count();
    if lines <= SIDE_LINES {
        return text.to_owned();
    }
    let kept: Vec<&str> = text.lines().take(SIDE_LINES).collect();
    format!("{}\n… {} more lines", kept.join("\n"), lines - SIDE_LINES)
}

fn operation(operation: &Operation, now: Timestamp) -> OperationRow {
    OperationRow {
        when: when(operation.started, now),
        verb: operation.verb.clone(),
        app: operation.app.as_ref().map(ToString::to_string).unwrap_or_default(),
        state: outcome(operation),
        actor: operation.actor.clone(),
        message: operation.message.clone(),
        id: operation.id.to_string(),
    }
}

fn outcome(operation: &Operation) -> Badge {
    let (shape, word, class) = match (operation.state, operation.outcome) {
        (OperationState::Waiting, _) => ("○", "waiting", "quiet"),
        (OperationState::Running, _) => ("◐", "running", "busy"),
        (OperationState::Failed, Some(OperationOutcome::Blocked)) | (_, Some(OperationOutcome::Blocked)) => {
            ("‖", "blocked", "busy")
        }
        (_, Some(OperationOutcome::NeedsDecision)) => ("?", "needs a decision", "busy"),
        (OperationState::Failed, _) => ("✗", "failed", "bad"),
        (OperationState::Cancelled, _) => ("■", "cancelled", "quiet"),
        (OperationState::Interrupted, _) => ("✗", "interrupted", "bad"),
        (OperationState::Succeeded, Some(OperationOutcome::Unchanged)) => ("✓", "unchanged", "quiet"),
        (OperationState::Succeeded, Some(OperationOutcome::Superseded)) => ("✓", "superseded", "quiet"),
        (OperationState::Succeeded, Some(OperationOutcome::Changed) | None) => ("✓", "done", "good"),
    };
    Badge { shape, word: word.to_owned(), class, why: String::new() }
}

fn when(time: Timestamp, now: Timestamp) -> When {
    let seconds = now.since(time).as_secs();
    let ago = match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    };
    When { ago, exact: time.to_string() }
}
