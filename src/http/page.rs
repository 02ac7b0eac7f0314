//! The status page: one read-only page without scripts, for `/` on loopback.
//!
//! The template escapes every value; the policy sent with it forbids everything but its own style. Not here: who may see it (`caller.rs`).

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::instances::{is_unasked, silence};
use super::problem::Problem;
use super::{Host, live};
use crate::base::Timestamp;
use crate::base::chain;
use crate::daemon::Handle;
use crate::merge::Conflict;
use crate::model::{AppState, DriftState, Operation, OperationOutcome, OperationState, Veil, Who};
use crate::pipeline::{self, Instance};
use crate::store::{OperationFilter, StoredStatus};

/// Operations that are shown.
const LAST_OPERATIONS: i64 = 15;
/// Most lines of one side of a conflict that are shown; the rest is counted.
const SIDE_LINES: usize = 40;
/// Nothing runs, nothing is sent, nothing is loaded but our own style.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The style of the page.
const STYLE: &str = include_str!("templates/status.css");

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
    /// What is decided already, in lines.
    decided: Vec<String>,
}

/// One conflict with its three sides.
struct ConflictRow {
    place: String,
    why: String,
    id: String,
    /// The side that comes first, and why.
    take: String,
    because: String,
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
        instances.push(section(&handle, now).await?);
    }
    let page = Page { version: env!("CARGO_PKG_VERSION"), now: to_seconds(now), instances };
    let text =
        page.render().map_err(|error| Problem::new(500, "draw the status page", chain(&error), "wild status"))?;
    Ok(guarded("text/html; charset=utf-8", text))
}

/// Answers the route of the style.
pub(super) async fn style() -> Response {
    guarded("text/css; charset=utf-8", STYLE.to_owned())
}

/// Returns an answer for a browser with everything that keeps it from being misused.
fn guarded(kind: &'static str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}

async fn section(handle: &Handle, now: Timestamp) -> Result<Section, Problem> {
    let shown = handle.instance();
    let states = super::apps::states(shown).await?;
    let head = shown.repository.head(&shown.branch).await?;
    let statuses = match &head {
        Some(head) => shown.store.statuses(&shown.id, head).await?,
        None => Vec::new(),
    };
    let mut updates = Vec::new();
    for state in states.iter().filter(|state| state.conflicts > 0) {
        updates.push(update(shown, state).await?);
    }
    let filter = OperationFilter { app: None, limit: Some(LAST_OPERATIONS) };
    let operations = shown.store.operations(&shown.id, &filter).await?;
    let badge =
        |shape, word: &str, class, why: &str| Badge { shape, word: word.to_owned(), class, why: why.to_owned() };
    let cluster = match silence(shown) {
        _ if shown.targets().is_empty() => badge("○", "no cluster yet", "quiet", "wild cluster add"),
        None if is_unasked(shown) => badge("○", "not asked yet", "quiet", ""),
        None => badge("●", "reachable", "good", ""),
        Some((since, why)) => badge("?", "does not answer", "bad", &format!("since {since}: {why}")),
    };
    Ok(Section {
        name: shown.name.to_string(),
        branch: shown.branch.clone(),
        head: head.map(|head| head.short().to_owned()).unwrap_or_default(),
        path: place(shown),
        cluster,
        trouble: handle.is_ready().err().unwrap_or_default(),
        statuses,
        apps: states.iter().map(|state| app(state, now)).collect(),
        updates,
        operations: operations.iter().map(|row| operation(row, now)).collect(),
    })
}

/// Returns where an instance lives.
fn place(instance: &Instance) -> String {
    let repository = instance.repository.path().display().to_string();
    let repository = repository.trim_end_matches('/');
    match instance.tree.subdirectory() {
        top if top.is_top() => repository.to_owned(),
        subdirectory => format!("{repository} ({subdirectory})"),
    }
}

async fn update(shown: &Instance, state: &AppState) -> Result<UpdateRow, Problem> {
    let list = pipeline::conflicts_file(shown, &state.name).await?;
    let remembered = pipeline::remembered(shown, &state.name).await?;
    let mut conflicts = Vec::new();
    for open in list.iter().flat_map(|list| &list.conflicts) {
        let mut row = conflict(&open.conflict.veiled(&Veil::default()));
        let live = live::value(shown, state, &open.conflict, &Veil::default()).await;
        row.sides.extend(live.map(|value| ("live", cut(&value))));
        conflicts.push(row);
    }
    let decided = list.iter().flat_map(|list| &list.decided).map(|decided| {
        let when = if decided.earlier { "decided earlier" } else { "decided" };
        let known = remembered.all().get(&decided.id);
        let place = known.map_or(&decided.id, |known| if known.path.is_empty() { &known.file } else { &known.path });
        format!("{place}: {when}, {} wins", decided.take.word())
    });
    Ok(UpdateRow {
        app: state.name.to_string(),
        version: state.version.clone(),
        available: state.available.clone(),
        conflicts,
        decided: decided.collect(),
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
    let first = conflict.preselected();
    let (take, because) = (first.take.word().to_owned(), first.why);
    ConflictRow { place, why: conflict.why.clone(), id: conflict.id.clone(), take, because, sides }
}

/// Takes off the indentation that all lines of a side share, cuts a long side and says so.
fn cut(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let shared = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = text.lines().map(|line| line.get(shared..).unwrap_or_default()).collect();
    let kept = lines.iter().take(SIDE_LINES).copied().collect::<Vec<_>>().join("\n");
    let more = lines.len().saturating_sub(SIDE_LINES);
    if more == 0 { kept } else { format!("{kept}\n… {more} more lines") }
}

fn operation(operation: &Operation, now: Timestamp) -> OperationRow {
    OperationRow {
        when: when(operation.started, now),
        verb: operation.verb.clone(),
        app: operation.app.as_ref().map(ToString::to_string).unwrap_or_default(),
        state: outcome(operation),
        actor: Who::new(&operation.actor, &operation.user).shown(),
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
    When { ago, exact: to_seconds(time) }
}

/// Returns a time without its fraction.
fn to_seconds(time: Timestamp) -> String {
    Timestamp(time.seconds().saturating_mul(1_000_000)).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page() -> Page {
        let quiet = |word: &str| Badge { shape: "●", word: word.to_owned(), class: "good", why: String::new() };
        let state: AppState = serde_json::from_value(json!({
            "name": "ghost", "package": "ghost", "version": "5.2.1", "available": "5.3.0", "update": "needs-you", "namespace": "ghost",
            "health": "failing", "healthReason": "<script>alert(1)</script>", "intent": "applied", "reason": "", "needsYou": "1 conflict",
            "hint": "wild app resolve ghost", "lifecycle": "drifted", "conflicts": 1, "commit": null, "applied": null, "objects": [],
            "drift": [{"object": {"group": "apps", "kind": "Deployment", "namespace": "ghost", "name": "ghost"}, "kind": "changed",
                "path": "spec.replicas", "desired": 1, "live": 3, "manager": "kubectl-edit", "since": "", "harmless": false}],
            "observedAt": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let sides =
            vec![("base", cut("    a: 1\n      b: 2\n")), ("mine", "2".to_owned()), ("upstream", "3".to_owned())];
        let conflicts = vec![ConflictRow {
            place: "x.yaml:3".into(),
            why: "both changed".into(),
            id: "ab".into(),
            take: "mine".into(),
            because: "it stays".into(),
            sides,
        }];
        let update = UpdateRow {
            app: "ghost".into(),
            version: "5.2.1".into(),
            available: "5.3.0".into(),
            conflicts,
            decided: vec!["spec.replicas: decided earlier, mine wins".into()],
        };
        let section = Section {
            name: "home".into(),
            branch: "main".into(),
            head: "0123456".into(),
            path: "/srv/home.git".into(),
            cluster: quiet("reachable"),
            trouble: String::new(),
            statuses: Vec::new(),
            apps: vec![app(&state, Timestamp(1_767_225_690_500_000))],
            updates: vec![update],
            operations: Vec::new(),
        };
        Page { version: "0", now: "2026-01-01T00:01:30Z".into(), instances: vec![section] }
    }

    #[test]
    fn the_page_tells_what_needs_you_and_the_three_sides_of_a_conflict() {
        let text = page().render().unwrap();
        for part in [
            "5.2.1",
            "Failing",
            "Deployment/ghost spec.replicas: git 1, live 3 (by kubectl-edit)",
            "wild app resolve ghost",
            "1 min ago",
            "<dt>base</dt><dd><pre>a: 1\n  b: 2</pre>",
            "<dt>mine</dt>",
            "<dt>upstream</dt>",
            "spec.replicas: decided earlier, mine wins",
            "Nothing was asked for",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }

    #[test]
    fn the_page_has_one_main_heading_a_language_and_headers_for_its_tables() {
        let text = page().render().unwrap();
        let count = |part: &str| text.matches(part).count();
        assert_eq!((count("<h1>"), count("<html lang=\"en\">"), count("<main>")), (1, 1, 1));
        assert_eq!(count("<th scope=\"col\">") + count("<th scope=\"row\">"), count("<th "));
    }

    #[test]
    fn what_a_cluster_says_is_text_and_never_markup() {
        let text = page().render().unwrap();
        assert!(text.contains("&#60;script&#62;") && !text.contains("<script"), "{text}");
    }

    #[test]
    fn a_long_side_is_cut_and_counted() {
        let long: String = (0..50).map(|line| format!("  {line}\n")).collect();
        let text = cut(&long);
        assert!(text.starts_with("0\n1\n") && text.ends_with("39\n… 10 more lines"), "{text}");
    }
}
