//! What people ask for: each becomes a typed request, stored before it is answered with 202 and the id of its operation.
//!
//! With `?dryRun=true` the answer is what the request would do, made by the same code, and nothing is stored. Not here: what a request means
//! (`compile`).

use std::collections::BTreeMap;

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::rejection::{ExtensionRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, FromRequest, Path, Query, Request as Call};
use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, body, json as answer, with_status};
use super::apps;
use super::caller::Asker;
use super::instance;
use super::plans;
use super::problem::Problem;
use crate::base::there_are;
use crate::compile;
use crate::daemon::{Daemon, Handle};
use crate::model::{
    AppName, Branch, ClusterName, CommitId, DataFate, Decision, Deploy, IgnoreRule, PackageName, Request, Suspension,
    Take, Trigger, Verify,
};
use crate::pipeline::{self, Instance};

/// Commits of an app that are searched for a version to go back to.
const MAX_ROLLBACK_WALK: usize = 500;

/// Query of every change.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct How {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    data: Option<String>,
}

/// A change as it arrives: for which instance, by whom, how, and what stands in its path and body.
pub(super) struct Change {
    handle: Handle,
    who: Asker,
    how: How,
    path: BTreeMap<String, String>,
    body: Bytes,
}

impl FromRequest<Daemon> for Change {
    type Rejection = Problem;

    async fn from_request(mut call: Call, daemon: &Daemon) -> Result<Self, Problem> {
        let unread = |status: StatusCode, because: String| {
            Problem::new(status.as_u16(), "read the request", because, "wild --help")
        };
        let Path(path): Path<BTreeMap<String, String>> =
            call.extract_parts().await.map_err(|error: PathRejection| unread(error.status(), error.body_text()))?;
        let Query(how) =
            call.extract_parts().await.map_err(|error: QueryRejection| unread(error.status(), error.body_text()))?;
        let Extension(who) = call
            .extract_parts()
            .await
            .map_err(|error: ExtensionRejection| unread(error.status(), error.body_text()))?;
        let body =
            Bytes::from_request(call, daemon).await.map_err(|error| unread(error.status(), error.body_text()))?;
        let handle = instance(daemon, path.get("instance").map_or("", String::as_str))?;
        Ok(Self { handle, who, how, path, body })
    }
}

impl Change {
    /// Returns the app that the path names.
    fn app(&self) -> Result<AppName, Problem> {
        app_name(self.path.get("app").map_or("", String::as_str))
    }

    /// Returns a word of the path.
    pub(super) fn word(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Returns who asks.
    pub(super) fn who(&self) -> String {
        self.who.0.shown()
    }

    /// Returns the instance.
    pub(super) fn instance(&self) -> &pipeline::Instance {
        self.handle.instance()
    }

    /// Wakes an app, or all of them.
    pub(super) fn wake(&self, trigger: Trigger) {
        self.handle.wake(trigger);
    }

    /// Returns whether anything is to be written.
    pub(super) fn trial(&self) -> pipeline::Trial {
        if self.how.dry_run { pipeline::Trial::Dry } else { pipeline::Trial::Real }
    }

    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body(&self.body)
    }

    /// Stores a request, or tells what it would do.
    pub(super) async fn ask(&self, request: Request) -> Answered {
        if self.how.dry_run {
            return preview(&self.handle, &request).await;
        }
        let verb = request.verb();
        let operation = self.handle.ask(request, &self.who.0.text()).await?;
        let document =
            json!({"operation_id": operation.id, "message": format!("{verb} is stored and will be carried out")});
        Ok(with_status(StatusCode::ACCEPTED, &document))
    }
}

async fn preview(handle: &Handle, request: &Request) -> Answered {
    let shown = handle.instance();
    let overview = pipeline::overview(shown).await?;
    let (proposal, plan, cascades) = match (request, request.app()) {
        (Request::AddDirectory { name, url, branch, verify }, _) => {
            let proposal = compile::add_directory(&overview.files, name, (url, branch), *verify)
                .map_err(|refusal| Problem::from(&refusal))?;
            (proposal, None, Vec::new())
        }
        (Request::AcceptRewind { name, from, to }, _) => {
            let from = from.as_ref().map(|from| format!("from {} ", from.short())).unwrap_or_default();
            let told = format!("{name} would be followed {from}to {}", to.short());
            let nothing = compile::Proposal::nothing(&app_name("instance")?);
            (compile::Proposal { summary: vec![told], ..nothing }, None, Vec::new())
        }
        (_, Some(app)) => {
            let preview = pipeline::preview(shown, app, Some(request)).await?;
            (preview.proposal, preview.plan, preview.cascades)
        }
        (_, None) => return Err(Problem::unreadable("preview the request", "it is about no app")),
    };
    let there = match proposal.edit() {
        Some(edit) => {
            let paths: Vec<&str> = edit.changes.keys().map(|path| path.as_str()).collect();
            shown.tree.read_tree(&overview.head, &paths).await?
        }
        None => crate::model::FileTree::new(),
    };
    let plan = plan.as_ref().map_or(Value::Null, |plan| plans::document(plan, &cascades));
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
    #[serde(default)]
    grants: Vec<String>,
}

/// `POST /apps`: adds a package as an app.
pub(super) async fn add(change: Change) -> Answered {
    let Add { package, installed_as, config, required_app_mappings, version, deploy, grants } = change.body()?;
    let app = match installed_as {
        Some(app) => app,
        None => app_name(package.as_str())?,
    };
    let deploy = if deploy { Deploy::Now } else { Deploy::Later };
    let bindings = required_app_mappings;
    let request = Request::Add { package, app, bindings, values: config, version, deploy, grants };
    change.ask(request).await
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
pub(super) async fn config(change: Change) -> Answered {
    let ConfigChange { config, unset } = change.body()?;
    change.ask(Request::Config { app: change.app()?, set: config, unset }).await
}

/// Body of `POST /apps/{app}/deploy`.
#[derive(Deserialize)]
struct DeployNow {
    #[serde(default)]
    approve: Option<String>,
    #[serde(default)]
    recreate: Vec<String>,
    #[serde(default)]
    adopt: bool,
}

/// `POST /apps/{app}/deploy`: one pass, now.
pub(super) async fn deploy(change: Change) -> Answered {
    let DeployNow { approve, recreate, adopt } = change.body()?;
    change.ask(Request::Deploy { app: change.app()?, approve, recreate, adopt }).await
}

/// Body of `POST /apps/{app}/reconcile`.
#[derive(Deserialize)]
struct PassNow {
    #[serde(default)]
    rerun: Option<String>,
}

/// `POST /apps/{app}/reconcile`: one pass, now, as any other; a Job that is named runs again.
pub(super) async fn reconcile(change: Change) -> Answered {
    let PassNow { rerun } = change.body()?;
    let app = change.app()?;
    if let Some(name) = &rerun {
        let state = apps::state(change.instance(), &app).await?;
        let jobs = state.objects.iter().map(|it| &it.object).filter(|id| id.group == "batch" && id.kind == "Job");
        let jobs: Vec<&str> = jobs.map(|id| id.name.as_str()).collect();
        if !jobs.contains(&name.as_str()) {
            let has = if jobs.is_empty() {
                "no Job of it has run yet".to_owned()
            } else {
                format!("those that have run: {}", jobs.join(", "))
            };
            let because = format!("it has no Job {name}; {has}");
            return Err(Problem::new(
                404,
                format!("run a Job of {app} again"),
                because,
                format!("wild app tree {app}"),
            ));
        }
    }
    change.ask(Request::Reconcile { app, rerun }).await
}

/// Body of `POST /updates/{app}`.
#[derive(Deserialize)]
struct UpdateTo {
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    take: Option<Take>,
    #[serde(default)]
    grants: Vec<String>,
}

/// `POST /updates/{app}`: merges a newer package version.
pub(super) async fn update(change: Change) -> Answered {
    let UpdateTo { to, take, grants } = change.body()?;
    change.ask(Request::Update { app: change.app()?, to, take, grants }).await
}

/// Body of `POST /apps/{app}/grants`.
#[derive(Deserialize)]
struct Granted {
    secrets: Vec<String>,
}

/// `POST /apps/{app}/grants`: lets an app read secrets of other apps.
pub(super) async fn grant(change: Change) -> Answered {
    let Granted { secrets } = change.body()?;
    change.ask(Request::Grant { app: change.app()?, secrets }).await
}

/// Body of `POST /updates/{app}/resolve`.
#[derive(Deserialize)]
struct Decisions {
    #[serde(default)]
    decisions: Vec<Decision>,
}

/// `POST /updates/{app}/resolve`: decides conflicts of a waiting update.
pub(super) async fn resolve(change: Change) -> Answered {
    let Decisions { decisions } = change.body()?;
    change.ask(Request::Resolve { app: change.app()?, decisions }).await
}

/// `POST /updates/{app}/learn`: remembers what people chose in the merges so far.
pub(super) async fn learn(change: Change) -> Answered {
    change.ask(Request::Learn { app: change.app()? }).await
}

/// Body of `POST /updates/{app}/forget`.
#[derive(Deserialize)]
struct Forgotten {
    #[serde(default)]
    key: Option<String>,
}

/// `POST /updates/{app}/forget`: forgets a decision, so that its conflict is asked again.
pub(super) async fn forget(change: Change) -> Answered {
    let Forgotten { key } = change.body()?;
    change.ask(Request::Forget { app: change.app()?, key }).await
}

/// Body of `POST /apps/{app}/adopt`.
#[derive(Deserialize)]
struct AdoptAs {
    #[serde(default)]
    package: Option<PackageName>,
}

/// `POST /apps/{app}/adopt`: takes an app that is kept by hand under the care of a package.
pub(super) async fn adopt(change: Change) -> Answered {
    let AdoptAs { package } = change.body()?;
    change.ask(Request::Adopt { app: change.app()?, package }).await
}

/// `POST /apps/{app}/eject`: parts an app from its package.
pub(super) async fn eject(change: Change) -> Answered {
    change.ask(Request::Eject { app: change.app()? }).await
}

/// `POST /updates/{app}/abort`: drops a waiting update.
pub(super) async fn abort(change: Change) -> Answered {
    change.ask(Request::Abort { app: change.app()? }).await
}

/// Body of `POST /apps/{app}/rollback`.
#[derive(Deserialize)]
struct RollbackTo {
    to: String,
    #[serde(default)]
    reason: String,
}

/// `POST /apps/{app}/rollback`: undoes a change by a new commit.
pub(super) async fn rollback(change: Change) -> Answered {
    let RollbackTo { to, reason } = change.body()?;
    let app = change.app()?;
    let to = past(&change.handle, &app, &to).await?;
    change.ask(Request::Rollback { app, to, reason, undoes: None }).await
}

/// Returns the commit of the deployed branch's history that a text names, or the newest at which the app had that version.
async fn past(handle: &Handle, app: &AppName, wanted: &str) -> Result<CommitId, Problem> {
    let Instance { repository, tree, .. } = handle.instance().as_ref();
    let head = pipeline::overview(handle.instance()).await?.head.clone();
    if let Some(found) = repository.commit_of(wanted).await?
        && repository.is_ancestor(&found, &head).await?
    {
        return Ok(found);
    }
    let (own, record) = (format!("apps/{app}"), compile::record_path(app));
    for commit in tree.first_parent_log(&head, MAX_ROLLBACK_WALK, &[&own, &record]).await? {
        let files = tree.read_tree(&commit.id, &[&record]).await?;
        if compile::record_of(&files, app).ok().flatten().is_some_and(|record| record.version == wanted) {
            return Ok(commit.id);
        }
    }
    let what = format!("roll {app} back to {wanted}");
    let because = "no commit of the deployed branch begins like this, and the app never had such a version";
    Err(Problem::new(404, what, because, format!("wild app history {app}")))
}

/// `DELETE /apps/{app}`: removes an app; volumes and namespace stay unless `data=delete`.
pub(super) async fn delete(change: Change) -> Answered {
    let data = match change.how.data.as_deref() {
        None | Some("keep") => DataFate::Keep,
        Some("delete") => DataFate::Delete,
        Some("delete-now") => DataFate::DeleteNow,
        Some(other) => {
            return Err(Problem::unreadable(
                format!("delete {}", change.app()?),
                format!("data={other} is neither keep nor delete"),
            ));
        }
    };
    change.ask(Request::Delete { app: change.app()?, data }).await
}

/// Body of `POST /drift/{app}/revert`: everything, or some objects.
#[derive(Deserialize, Default)]
struct Reverted {
    #[serde(default)]
    objects: Vec<String>,
}

/// `POST /drift/{app}/revert`: puts the committed values back.
pub(super) async fn revert_drift(change: Change) -> Answered {
    let Reverted { objects } = change.body()?;
    let app = change.app()?;
    if !objects.is_empty() {
        let state = apps::state(change.instance(), &app).await?;
        let has = |object: &&String| state.objects.iter().any(|it| it.object.is_called(object));
        if let Some(unknown) = objects.iter().find(|object| !has(object)) {
            let what = format!("revert {unknown} of {app}");
            return Err(Problem::new(404, what, "the app has no such object", format!("wild app tree {app}")));
        }
    }
    change.ask(Request::RevertDrift { app, objects }).await
}

/// Body of `POST /drift/{app}/adopt`: everything, or one object, or fields of it.
#[derive(Deserialize)]
struct Adopted {
    #[serde(default)]
    object: Option<String>,
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default)]
    branch: Branch,
}

/// `POST /drift/{app}/adopt`: takes values of the cluster into the repository, as they were seen last.
pub(super) async fn adopt_drift(change: Change) -> Answered {
    let Adopted { object, fields, branch } = change.body()?;
    let app = change.app()?;
    let mut seen = apps::state(change.instance(), &app).await?.drift.clone();
    seen.retain(|drift| object.as_ref().is_none_or(|object| drift.object.is_called(object)));
    if let Some(unknown) = fields.iter().find(|field| !seen.iter().any(|drift| drift.path == **field)) {
        let what = format!("adopt {unknown} of {}", object.unwrap_or_else(|| app.to_string()));
        return Err(Problem::new(404, what, "it does not differ from git", format!("wild drift show {app}")));
    }
    seen.retain(|drift| fields.is_empty() || fields.contains(&drift.path));
    change.ask(Request::AdoptDrift { app, fields: seen, branch }).await
}

/// `POST /drift/{app}/ignore`: leaves fields of live objects to whoever holds them.
pub(super) async fn ignore_drift(change: Change) -> Answered {
    let rule: IgnoreRule = change.body()?;
    change.ask(Request::IgnoreDrift { app: change.app()?, rule }).await
}

/// `POST /apps/{app}/suspend`: nothing of the app is written until it is resumed.
pub(super) async fn suspend(change: Change) -> Answered {
    let suspension: Suspension = change.body()?;
    change.ask(Request::Suspend { app: change.app()?, suspension }).await
}

/// `POST /apps/{app}/resume`: writes again what is committed.
pub(super) async fn resume(change: Change) -> Answered {
    change.ask(Request::Resume { app: change.app()? }).await
}

/// Body of `POST /apps/{app}/move`.
#[derive(Deserialize)]
struct Place {
    cluster: String,
}

/// `POST /apps/{app}/move`: lets the app live on another cluster of the instance.
pub(super) async fn move_app(change: Change) -> Answered {
    let Place { cluster } = change.body()?;
    let app = change.app()?;
    let targets = &change.instance().targets();
    let (Some(_), Ok(name)) = (targets.named(&cluster), ClusterName::parse(&cluster)) else {
        let names: Vec<&str> = targets.all().map(|(name, _)| targets.context(name)).collect();
        let because = format!("there is no cluster {cluster}; {}", there_are(&names));
        return Err(Problem::new(404, format!("move {app}"), because, format!("wild cluster add --context {cluster}")));
    };
    change.ask(Request::Move { app, cluster: name }).await
}

/// Body of `POST /directories`.
#[derive(Deserialize)]
struct NewDirectory {
    name: String,
    url: String,
    #[serde(default = "main_branch")]
    branch: String,
    #[serde(default)]
    verify: Verify,
}

fn main_branch() -> String {
    "main".to_owned()
}

/// `POST /directories`: follows a further package directory.
pub(super) async fn add_directory(change: Change) -> Answered {
    let NewDirectory { name, url, branch, verify } = change.body()?;
    change.ask(Request::AddDirectory { name, url, branch, verify }).await
}

/// Body of `POST /directories/{name}/accept`.
#[derive(Deserialize)]
struct Accepted {
    #[serde(default)]
    from: Option<CommitId>,
    to: CommitId,
}

/// `POST /directories/{name}/accept`: follows an upstream that went back, lost its packages or is not signed to where it was seen.
pub(super) async fn accept_rewind(change: Change) -> Answered {
    let Accepted { from, to } = change.body()?;
    let name = change.word("name").to_owned();
    change.ask(Request::AcceptRewind { name, from, to }).await
}
