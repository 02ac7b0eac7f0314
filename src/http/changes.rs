//! What people ask for: each becomes a typed request, stored before it is answered with 202 and the id of its operation.
//!
//! With `?dryRun=true` the answer is what the request would do, made by the same code, and nothing is stored. Not here: what a request means
//! (`compile`).

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, body, json as answer, with_status};
use super::caller::Asker;
use super::plans;
use super::problem::Problem;
use super::{Host, instance};
use crate::compile;
use crate::daemon::Handle;
use crate::model::{AppName, CommitId, DataFate, Decision, Deploy, PackageName, Request};
use crate::pipeline;

/// Query of every change.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct How {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    data: Option<String>,
}

type Path2 = Path<(String, String)>;
type Who = Extension<Asker>;

/// Stores a request, or tells what it would do.
async fn ask(handle: &Handle, request: Request, how: &How, who: &Asker) -> Answered {
    if how.dry_run {
        return preview(handle, &request).await;
    }
    let verb = request.verb();
    let operation = handle.ask(request, &who.0).await?;
    let document =
        json!({"operation_id": operation.id, "message": format!("{verb} is stored and will be carried out")});
    Ok(with_status(StatusCode::ACCEPTED, &document))
}

async fn preview(handle: &Handle, request: &Request) -> Answered {
    let shown = handle.instance();
    let overview = pipeline::overview(shown).await?;
    let (proposal, plan) = match (request, request.app()) {
        (Request::AddDirectory { name, url, branch }, _) => {
            let proposal = compile::add_directory(&overview.files, name, url, branch)
                .map_err(|refusal| Problem::from(&refusal))?;
            (proposal, None)
        }
        (_, Some(app)) => {
            let preview = pipeline::preview(shown, app, Some(request)).await?;
            (preview.proposal, preview.plan)
        }
        (_, None) => return Err(Problem::unreadable("preview the request", "it is about no app")),
    };
    let there = match proposal.main.as_ref().or(proposal.update.as_ref()) {
        Some(edit) => {
            let paths: Vec<&str> = edit.changes.keys().map(|path| path.as_str()).collect();
            shown.repository.read_tree(&overview.head, &paths).await?
        }
        None => crate::model::FileTree::new(),
    };
    let plan = plan.as_ref().map_or(Value::Null, plans::document);
    Ok(answer(&json!({"dryRun": true, "proposal": plans::proposal(&proposal, &there)?, "plan": plan})))
}

/// Body of `POST /apps`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Add {
    #[serde(alias = "name", alias = "app")]
    package: PackageName,
    #[serde(rename = "as")]
    installed_as: Option<AppName>,
    #[serde(default)]
    config: BTreeMap<String, Value>,
    #[serde(default)]
    required_app_mappings: BTreeMap<String, AppName>,
    version: Option<String>,
    #[serde(default)]
    deploy: bool,
}

/// `POST /apps`: adds a package as an app.
pub(super) async fn add(
    State(daemon): Host,
    Path(name): Path<String>,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let Add { package, installed_as, config, required_app_mappings, version, deploy } = body(&bytes)?;
    let app = match installed_as {
        Some(app) => app,
        None => app_name(package.as_str())?,
    };
    let deploy = if deploy { Deploy::Now } else { Deploy::Later };
    let request = Request::Add { package, app, bindings: required_app_mappings, values: config, version, deploy };
    ask(&handle, request, &how, &who).await
}

/// Body of `PATCH /apps/{app}/config`.
#[derive(Deserialize)]
struct ConfigChange {
    #[serde(default)]
    config: BTreeMap<String, Value>,
    #[serde(default)]
    unset: Vec<String>,
}

/// `PATCH /apps/{app}/config`: changes config values.
pub(super) async fn config(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let ConfigChange { config, unset } = body(&bytes)?;
    ask(&handle, Request::Config { app: app_name(&app)?, set: config, unset }, &how, &who).await
}

/// Body of `POST /apps/{app}/deploy`.
#[derive(Deserialize)]
struct DeployNow {
    #[serde(default)]
    approve: Option<String>,
}

/// `POST /apps/{app}/deploy`: one pass, now.
pub(super) async fn deploy(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let DeployNow { approve } = body(&bytes)?;
    ask(&handle, Request::Deploy { app: app_name(&app)?, approve }, &how, &who).await
}

/// Body of `POST /updates/{app}`.
#[derive(Deserialize)]
struct UpdateTo {
    #[serde(default)]
    to: Option<String>,
}

/// `POST /updates/{app}`: merges a newer package version.
pub(super) async fn update(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let UpdateTo { to } = body(&bytes)?;
    ask(&handle, Request::Update { app: app_name(&app)?, to }, &how, &who).await
}

/// Body of `POST /updates/{app}/resolve`.
#[derive(Deserialize)]
struct Decisions {
    #[serde(default)]
    decisions: Vec<Decision>,
}

/// `POST /updates/{app}/resolve`: decides conflicts of a waiting update.
pub(super) async fn resolve(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let Decisions { decisions } = body(&bytes)?;
    ask(&handle, Request::Resolve { app: app_name(&app)?, decisions }, &how, &who).await
}

/// `POST /updates/{app}/abort`: drops a waiting update.
pub(super) async fn abort(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    ask(&handle, Request::Abort { app: app_name(&app)? }, &how, &who).await
}

/// Body of `POST /apps/{app}/rollback`.
#[derive(Deserialize)]
struct RollbackTo {
    to: String,
    #[serde(default)]
    reason: String,
}

/// `POST /apps/{app}/rollback`: undoes a change by a new commit.
pub(super) async fn rollback(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let RollbackTo { to, reason } = body(&bytes)?;
    let app = app_name(&app)?;
    let to = past(&handle, &app, &to).await?;
    ask(&handle, Request::Rollback { app, to, reason }, &how, &who).await
}

/// Returns the commit of the deployed branch's history that a text names.
async fn past(handle: &Handle, app: &AppName, wanted: &str) -> Result<CommitId, Problem> {
    let repository = &handle.instance().repository;
    let head = pipeline::overview(handle.instance()).await?.head.clone();
    if let Some(found) = repository.commit_of(wanted).await?
        && repository.is_ancestor(&found, &head).await?
    {
        return Ok(found);
    }
    let what = format!("roll {app} back to {wanted}");
    Err(Problem::new(404, what, "no commit of the deployed branch begins like this", format!("wild app history {app}")))
}

/// `DELETE /apps/{app}`: removes an app; volumes and namespace stay unless `data=delete`.
pub(super) async fn delete(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let data = match how.data.as_deref() {
        None | Some("keep") => DataFate::Keep,
        Some("delete") => DataFate::Delete,
        Some(other) => {
            return Err(Problem::unreadable(
                format!("delete {app}"),
                format!("data={other} is neither keep nor delete"),
            ));
        }
    };
    ask(&handle, Request::Delete { app: app_name(&app)?, data }, &how, &who).await
}

/// `POST /drift/{app}/revert`: puts the committed values back.
pub(super) async fn revert_drift(
    State(daemon): Host,
    Path((name, app)): Path2,
    Query(how): Query<How>,
    Extension(who): Who,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    ask(&handle, Request::RevertDrift { app: app_name(&app)? }, &how, &who).await
}

/// Body of `POST /directories`.
#[derive(Deserialize)]
struct NewDirectory {
    name: String,
    url: String,
    #[serde(default = "main_branch")]
    branch: String,
}

fn main_branch() -> String {
    "main".to_owned()
}

/// `POST /directories`: follows a further package directory.
pub(super) async fn add_directory(
    State(daemon): Host,
    Path(name): Path<String>,
    Query(how): Query<How>,
    Extension(who): Who,
    bytes: Bytes,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let NewDirectory { name, url, branch } = body(&bytes)?;
    ask(&handle, Request::AddDirectory { name, url, branch }, &how, &who).await
}
