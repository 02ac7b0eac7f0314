//! Plans and proposals as JSON: what would be sent, what is held back, what differs, what would be committed. Bodies of objects are left
//! out, so no digest of a secret leaves.
//!
//! Not here: making a plan (`plan`), texts of differences (`diff.rs`).

use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer, value};
use super::problem::Problem;
use super::{Host, instance};
use crate::compile::{Proposal, TreeEdit};
use crate::daemon::Handle;
use crate::model::{AppName, FileTree, ObjectId, Veil};
use crate::pipeline;
use crate::plan::cascade::Cascade;
use crate::plan::{self, Action, Blocked, DriftItem, Plan, Verb, Verdict, WakeOn};

/// Deletions held back that are named, for people.
const MAX_HELD: usize = 20;

/// `GET /plan`: the plans of all apps.
pub(super) async fn all(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let mut apps: std::collections::BTreeSet<AppName> = pipeline::overview(shown).await?.apps.keys().cloned().collect();
    // An app that is gone from the tree may still have objects to go.
    apps.extend(shown.store.inventories(&shown.id).await?.into_iter().map(|(app, _)| app));
    let mut plans = Vec::with_capacity(apps.len());
    for app in &apps {
        plans.push(plan_of(&handle, app).await?);
    }
    Ok(answer(&json!({"plans": plans})))
}

/// `GET /apps/{app}/plan`: the plan of one app.
pub(super) async fn of_app(State(daemon): Host, Path((name, app)): Path<(String, String)>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let app = app_name(&app)?;
    if !pipeline::overview(handle.instance()).await?.apps.contains_key(&app) {
        super::apps::state(handle.instance(), &app).await?;
    }
    Ok(answer(&plan_of(&handle, &app).await?))
}

async fn plan_of(handle: &Handle, app: &AppName) -> Result<Value, Problem> {
    let preview = pipeline::preview(handle.instance(), app, None).await?;
    match &preview.plan {
        Some(plan) => Ok(document(plan, &preview.cascades)),
        None => {
            let because = "the instance has no cluster yet";
            Err(Problem::new(409, format!("plan {app}"), because, "wild cluster add"))
        }
    }
}

/// Returns a plan as JSON, with the text that people read.
pub(super) fn document(planned: &Plan, cascades: &[Cascade]) -> Value {
    let Plan {
        app,
        commit,
        actions,
        unchanged,
        recovered: _,
        forgotten: _,
        jobs: _,
        leaving,
        blocked,
        later,
        drift: _,
        notes,
        health,
        wake_at,
        wake_on,
        digest,
        victims,
        going: _,
        agreed: _,
    } = planned;
    let text = format!("{}{}{}{}", plan::display(planned), held(planned), along(cascades), outlook(planned));
    json!({
        "app": app,
        "commit": commit,
        "actions": actions.iter().map(action).collect::<Vec<_>>(),
        "unchanged": unchanged.len(),
        "leaving": leaving,
        "later": later.keys().collect::<Vec<_>>(),
        "waitsFor": planned.waits_for(),
        "blocked": blocked.iter().map(held_back).collect::<Vec<_>>(),
        "drift": planned.drifted().map(drift).collect::<Vec<_>>(),
        "notes": notes,
        "health": {"state": health.state, "reason": health.reason},
        "wakeAt": wake_at,
        "wakeOn": wakes(wake_on),
        "digest": digest,
        "deletes": victims,
        "cascades": cascades.iter().map(cascade).collect::<Vec<_>>(),
        "text": text,
    })
}

fn cascade(cascade: &Cascade) -> Value {
    let (word, kinds, volume) = match cascade {
        Cascade::Content(_, kinds) => ("content", Some(kinds), None),
        Cascade::Instances(..) => ("instances", None, None),
        Cascade::Volume(_, volume) => ("volume", None, volume.as_ref()),
        Cascade::Unknown(..) => ("unknown", None, None),
    };
    let volume = volume.map(|(name, policy)| json!({"name": name, "policy": policy}));
    json!({
        "object": cascade.object(),
        "of": word,
        "count": cascade.count(),
        "kinds": kinds,
        "volume": volume,
        "text": cascade.told(),
    })
}

/// Returns what is deleted once a person agrees, for people.
fn held(planned: &Plan) -> String {
    let is_under_way = |id: &&ObjectId| planned.actions.iter().all(|action| action.object != **id);
    let held: Vec<&ObjectId> = planned.victims.iter().filter(is_under_way).collect();
    let more = held.len().saturating_sub(MAX_HELD);
    let lines = held.iter().take(MAX_HELD).map(|id| format!("? would delete {}\n", id.short()));
    let more = (more > 0).then(|| format!("? would delete {more} more\n"));
    lines.chain(more).collect()
}

/// Returns what goes along with deletions, for people.
fn along(cascades: &[Cascade]) -> String {
    cascades.iter().map(|cascade| format!("! {}\n", cascade.told())).collect()
}

/// Returns when a plan that is not carried out wholly is looked at again, for people.
fn outlook(planned: &Plan) -> String {
    let is_held_back = !planned.blocked.is_empty() || !planned.later.is_empty() || !planned.leaving.is_empty();
    let wakes = planned.wake_on.iter().filter(|_| is_held_back).map(WakeOn::told);
    let mut lines: String = wakes.map(|told| format!("> goes on when {told}\n")).collect();
    if let Some(at) = planned.wake_at {
        lines.push_str(&format!("> looks again at {at}\n"));
    }
    lines
}

/// Returns what an app waits for.
pub(super) fn wakes(events: &[WakeOn]) -> Vec<Value> {
    let word = |event: &WakeOn| match event {
        WakeOn::App(app) => ("app", json!(app)),
        WakeOn::NamespaceGone(namespace) => ("namespace-gone", json!(namespace)),
        WakeOn::Target(cluster) => ("cluster", json!(cluster)),
        WakeOn::Revision => ("revision", Value::Null),
        WakeOn::Secret(path) => ("secret", json!(path)),
        WakeOn::Health => ("health", Value::Null),
        WakeOn::Gone(id) => ("gone", json!(id)),
        WakeOn::Kind { group, kind } => ("kind", json!({"group": group, "kind": kind})),
    };
    let document = |event: &WakeOn| {
        let (on, what) = word(event);
        json!({"on": on, "what": what, "text": event.told()})
    };
    events.iter().map(document).collect()
}

fn action(action: &Action) -> Value {
    let Action {
        id,
        verb,
        object,
        api_version,
        wave,
        stage: _,
        after,
        reason,
        uid,
        hash: _,
        source,
        yields: _,
        recreate: _,
        extras: _,
        notice: _,
    } = action;
    let word = match (verb, uid) {
        (Verb::Apply { .. }, None) => "create",
        (Verb::Apply { .. }, Some(_)) => "configure",
        (Verb::Delete { .. }, _) => "delete",
        (Verb::Release, _) => "release",
        (Verb::Free { .. }, _) => "free",
        (Verb::Hold { .. }, _) => "hold",
        (Verb::Return { .. }, _) => "return",
        (Verb::LetGo { .. }, _) => "let-go",
    };
    json!({
        "id": id,
        "verb": word,
        "object": object,
        "objectVersion": api_version,
        "wave": wave,
        "after": after,
        "reason": reason,
        "source": source,
    })
}

fn held_back(blocked: &Blocked) -> Value {
    let Blocked { object, reason, message, hint } = blocked;
    json!({"object": object, "reason": reason, "message": message, "hint": hint})
}

fn drift(item: &DriftItem) -> Value {
    let DriftItem { object, kind: _, paths, manager, how, since, harmless, verdict } = item;
    let verdict = match verdict {
        Verdict::Revert => "revert",
        Verdict::Report => "report",
    };
    json!({"object": object, "paths": paths, "manager": manager, "how": how, "since": since, "harmless": harmless, "verdict": verdict})
}

/// Returns a proposal as JSON; `there` holds those of its files that exist now.
pub(super) fn proposal(proposal: &Proposal, there: &FileTree) -> Result<Value, Problem> {
    let edit = proposal.edit();
    let changes = edit.map(|edit| changes(edit, there)).unwrap_or_default();
    Ok(json!({
        "subject": edit.map(|edit| edit.subject.clone()),
        "branch": match proposal {
            Proposal { main: None, review: Some(_), .. } => "review",
            Proposal { main: None, update: Some(_), .. } => "update",
            _ => "deployed",
        },
        "changes": changes,
        "conflicts": shown_conflicts(proposal),
        "breaking": value(&proposal.breaking)?,
        "notices": proposal.notices,
        "diagnostics": value(&proposal.diagnostics)?,
        "secrets": proposal.needs.own.len(),
        "summary": proposal.summary,
    }))
}

/// Returns the conflicts of a proposal without what looks like a secret.
fn shown_conflicts(proposal: &Proposal) -> Vec<Value> {
    proposal.conflicts.iter().map(|conflict| conflict.veiled(&Veil::default()).to_json()).collect()
}

fn changes(edit: &TreeEdit, there: &FileTree) -> Vec<Value> {
    let sign = |path: &str, stays: bool| match (stays, there.contains(path)) {
        (false, _) => "-",
        (true, true) => "~",
        (true, false) => "+",
    };
    edit.changes
        .iter()
        .map(|(path, file)| json!({"path": path.as_str(), "sign": sign(path.as_str(), file.is_some())}))
        .collect()
}
