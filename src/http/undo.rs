//! `POST /operations/{id}/undo`: a request of a person is taken back by the request that does the opposite, which is carried out like any
//! other: one more commit, then the ordinary line.
//!
//! What the cluster lost because git no longer held it comes back the same way: git is asked which commit held it last. Not here: changes that
//! deleted nothing and that nobody asked for by a request, such as pushes (`wild app rollback`).

use super::answer::Answered;
use super::changes::Change;
use super::problem::Problem;
use crate::compile;
use crate::git::Commit;
use crate::model::{AppName, Branch, CommitId, DataFate, ObjectId, Operation, OperationId, Request};
use crate::pipeline::{self, Instance, Pruned};

/// Commits that are searched for the one of an operation.
const MAX_WALK: usize = 500;
/// Later commits that a refusal names.
const MAX_NAMED: usize = 5;

/// Asks for the opposite of what an operation did.
pub(super) async fn undo(change: Change) -> Answered {
    let instance = change.instance();
    let id = OperationId(change.word("id").to_owned());
    let operation =
        instance.store.operation(&instance.id, &id).await?.ok_or_else(|| {
            Problem::new(404, format!("undo {id}"), "there is no such operation", "wild operation list")
        })?;
    let request = opposite(instance, &operation).await?;
    change.ask(request).await
}

async fn opposite(instance: &Instance, operation: &Operation) -> Result<Request, Problem> {
    let what = format!("undo {} ({})", operation.id, operation.verb);
    let refuse = |because: &str, remedy: String| Err(Problem::new(422, what.clone(), because, remedy));
    let Some(app) = operation.app.clone() else {
        return refuse("it is about no app", "git revert in a clone".to_owned());
    };
    let Some(request) = &operation.request else {
        let because = "nobody asked for it: it brought the cluster to what git said, and deleted nothing";
        let remedy = format!("wild app rollback {app} --to HEAD~1");
        return bring_back(instance, &app, operation, Problem::new(422, what, because, remedy)).await;
    };
    match request {
        Request::Suspend { .. } => return Ok(Request::Resume { app }),
        Request::Resume { .. } => {
            return refuse(
                "why it was suspended is known to you alone",
                format!("wild app suspend {app} --reason REASON"),
            );
        }
        Request::Deploy { .. } | Request::RevertDrift { .. } | Request::Reconcile { .. } => {
            let because = "it made the cluster what git said, and deleted nothing";
            let remedy = format!("wild app rollback {app} --to HEAD~1");
            return bring_back(instance, &app, operation, Problem::new(422, what, because, remedy)).await;
        }
        Request::Move { .. } => {
            return refuse("where it was before is known to you alone", format!("wild app move {app} --to CLUSTER"));
        }
        Request::IgnoreDrift { .. } | Request::Grant { .. } | Request::AddDirectory { .. } => {
            return refuse("it is an entry of .wild/config.yaml", "take the entry out of .wild/config.yaml".to_owned());
        }
        Request::AcceptRewind { .. } => {
            return refuse("the upstream is where it is", "git for-each-ref refs/wild/rewound".to_owned());
        }
        Request::Learn { .. } | Request::Forget { .. } | Request::Abort { .. } => {
            return refuse("it changed no file of the app", format!("wild app history {app}"));
        }
        Request::Add { .. }
        | Request::Config { .. }
        | Request::Update { .. }
        | Request::Resolve { .. }
        | Request::Adopt { .. }
        | Request::Eject { .. }
        | Request::Rollback { .. }
        | Request::Delete { .. }
        | Request::AdoptDrift { .. } => {}
    }
    let Some((commit, later)) = commits(instance, &app, &operation.id).await? else {
        if matches!(request, Request::AdoptDrift { branch: Branch::Review, .. }) {
            let branch = instance.tree.subdirectory().drift_branch(&app);
            return refuse("it is on a branch that nobody has merged", format!("git push origin :{branch}"));
        }
        return refuse("it changed nothing in the repository", format!("wild app history {app}"));
    };
    stand_on(&app, what.clone(), &later)?;
    if matches!(request, Request::Add { .. }) {
        return Ok(Request::Delete { app, data: DataFate::Keep });
    }
    match commit.parents.into_iter().next() {
        Some(to) => Ok(rollback(app, to, operation)),
        None => refuse("there is nothing before it", format!("wild app history {app}")),
    }
}

fn rollback(app: AppName, to: CommitId, operation: &Operation) -> Request {
    let undoes = Some(operation.id.clone());
    Request::Rollback { app, to, reason: format!("Undoes {}.", operation.id), undoes }
}

/// Refuses where later commits changed the app.
fn stand_on(app: &AppName, what: String, later: &[Commit]) -> Result<(), Problem> {
    if later.is_empty() {
        return Ok(());
    }
    let named = later.iter().take(MAX_NAMED).map(|commit| format!("{} {}", commit.id.short(), commit.subject()));
    let because = format!("{} later commits changed the app: {}", later.len(), named.collect::<Vec<_>>().join("; "));
    Err(Problem::new(409, what, because, format!("wild app history {app}")).with_exit_code(6))
}

/// Returns the request that brings back what an operation deleted because git no longer held it; refuses as told if that was nothing.
async fn bring_back(
    instance: &Instance,
    app: &AppName,
    operation: &Operation,
    nothing: Problem,
) -> Result<Request, Problem> {
    let what = format!("undo {} ({})", operation.id, operation.verb);
    let to = match pipeline::pruned(instance, app, operation).await? {
        Pruned::Nothing => return Err(nothing),
        Pruned::Unknown(gone) => {
            let named: Vec<String> = gone.iter().take(MAX_NAMED).map(ObjectId::short).collect();
            let because =
                format!("it deleted {}, which no commit of the app before it holds together", named.join(", "));
            return Err(Problem::new(422, what, because, format!("wild operation archive {}", operation.id)));
        }
        Pruned::Since(to) => to,
    };
    let head = pipeline::overview(instance).await?.head.clone();
    let own = format!("apps/{app}");
    let mut later = instance.tree.first_parent_log(&head, MAX_WALK, &[&own]).await?;
    if let Some(commit) = &operation.commit {
        let known = instance.tree.first_parent_log(commit, MAX_WALK, &[&own]).await?;
        later.retain(|later| known.iter().all(|commit| commit.id != later.id));
    }
    stand_on(app, what, &later)?;
    Ok(rollback(app.clone(), to, operation))
}

/// Returns the commit of an operation on the deployed branch, and those after it that changed its app.
async fn commits(
    instance: &Instance,
    app: &AppName,
    operation: &OperationId,
) -> Result<Option<(Commit, Vec<Commit>)>, Problem> {
    let head = pipeline::overview(instance).await?.head.clone();
    let (own, record) = (format!("apps/{app}"), compile::record_path(app));
    let tree = &instance.tree;
    let all = tree.first_parent_log(&head, MAX_WALK, &[&own, &record, "config.yaml"]).await?;
    let mut later = Vec::new();
    for commit in all {
        if commit.trailer("Wild-Operation") == Some(operation.0.as_str()) {
            let touching = tree.first_parent_log(&head, MAX_WALK, &[&own, &record]).await?;
            later.retain(|later: &Commit| {
                later.trailer("Wild-App") == Some(app.as_str()) || touching.iter().any(|commit| commit.id == later.id)
            });
            return Ok(Some((commit, later)));
        }
        later.push(commit);
    }
    Ok(None)
}
