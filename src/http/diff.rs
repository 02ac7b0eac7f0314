//! `GET /apps/{app}/diff`: git against the cluster, own edits against what was generated, or what an update would bring.
//!
//! Against the cluster the API server is asked by a dry run, so that defaults it fills in are no difference. Values of Secrets are never
//! compared here: one that differs is named. Values that look like secrets are hidden but for the name that a person asked to see. Not here: the plan (`plan`).

use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, app_name, json as answer};
use super::problem::Problem;
use super::{Host, instance};
use crate::base::text_diff::unified;
use crate::compile;
use crate::model::{AppName, FileTree, Object, RefusalText, Request, Veil};
use crate::pipeline::{self, Instance, Preview};
use crate::plan::{Action, Blocked, Verb, is_unseen};
use crate::target::{ApplyRequest, Mode, Ownership, Target};
use crate::yaml;
use crate::yaml::veil::veiled_pair;

/// Fields that the API server keeps for itself.
const SERVER_FIELDS: [&str; 6] =
    ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"];

/// Query of a diff.
#[derive(Deserialize)]
pub(super) struct Against {
    #[serde(default)]
    against: String,
    #[serde(default)]
    to: Option<String>,
    /// The name whose values are shown although they look like secrets.
    #[serde(default)]
    reveal: Option<String>,
}

/// Answers the route.
pub(super) async fn diff(
    State(daemon): Host,
    Path((name, app)): Path<(String, String)>,
    Query(query): Query<Against>,
) -> Answered {
    let handle = instance(&daemon, &name)?;
    let shown = handle.instance();
    let app = app_name(&app)?;
    let state = super::apps::state(shown, &app).await?;
    let veil = Veil::but(query.reveal);
    let diffs = match query.against.as_str() {
        "" | "live" => {
            let (mut diffs, blocked) = live(shown, &app, &veil).await?;
            // What policy leaves alone is in no plan, and is a difference all the same.
            for drift in &state.drift {
                let name = drift.object.short();
                if !diffs.iter().any(|diff| diff.get("name").and_then(Value::as_str) == Some(name.as_str())) {
                    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
                    let text =
                        format!("{name}  {}  git {}  live {}\n", drift.path, value(&drift.desired), value(&drift.live));
                    diffs.push(json!({"name": name, "text": text}));
                }
            }
            // What holds all of an app back keeps it from being compared as well.
            if let Some(blocked) = blocked.filter(|_| diffs.is_empty()) {
                let what = format!("compare {app} with the cluster");
                return Err(Problem::new(409, what, blocked.message, blocked.hint).with_exit_code(6));
            }
            diffs
        }
        "mine" => mine(shown, &app, &veil).await?,
        "upstream" => upstream(shown, &app, query.to, &veil).await?,
        other => {
            return Err(Problem::unreadable(
                format!("compare {app}"),
                format!("against={other} is none of live, mine, upstream"),
            ));
        }
    };
    Ok(answer(&json!({"app": app, "against": query.against, "diffs": diffs})))
}

/// Compares files of two trees.
fn files(before: &FileTree, after: &FileTree, labels: (&str, &str), veil: &Veil) -> Vec<Value> {
    let mut paths: Vec<&str> = before.iter().chain(after.iter()).map(|(path, _)| path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut diffs = Vec::new();
    for path in paths {
        let text = match (before.get(path), after.get(path)) {
            (Some(old), Some(new)) if old == new => continue,
            (old, new) => {
                let old = old.map(|file| file.as_text().unwrap_or("(no text)\n")).unwrap_or_default();
                let new = new.map(|file| file.as_text().unwrap_or("(no text)\n")).unwrap_or_default();
                differences(old, new, (&format!("{}/{path}", labels.0), &format!("{}/{path}", labels.1)), veil)
            }
        };
        diffs.push(json!({"name": path, "text": text}));
    }
    diffs
}

/// Returns how two texts differ, without values that look like secrets. That these differ is told in any case.
fn differences(before: &str, after: &str, labels: (&str, &str), veil: &Veil) -> String {
    let [old, new] = veiled_pair(before, after, veil);
    match old == new && before != after {
        true => format!("--- {}\n+++ {}\n  hidden values differ\n", labels.0, labels.1),
        false => unified(&old, &new, labels),
    }
}

/// Own edits: the committed files against the generation that they come from.
async fn mine(instance: &Instance, app: &AppName, veil: &Veil) -> Result<Vec<Value>, Problem> {
    let head = pipeline::overview(instance).await?.head.clone();
    let repository = &instance.repository;
    let Some(tip) = repository.read_ref(&instance.tree.subdirectory().generated_ref(app)).await? else {
        return Ok(Vec::new());
    };
    let Some(base) = repository.merge_base(&head, &tip).await? else { return Ok(Vec::new()) };
    let own = format!("apps/{app}");
    let generated = instance.tree.read_tree(&base, &[&own]).await?;
    let committed = instance.tree.read_tree(&head, &[&own]).await?;
    Ok(files(&generated, &committed, ("generated", "mine"), veil))
}

/// What an update would commit.
async fn upstream(instance: &Instance, app: &AppName, to: Option<String>, veil: &Veil) -> Result<Vec<Value>, Problem> {
    let ask = async |grants: Vec<String>| {
        let request = Request::Update { app: app.clone(), to: to.clone(), take: None, grants };
        pipeline::preview(instance, app, Some(&request)).await
    };
    let preview = match ask(Vec::new()).await {
        // Who is to grant something looks at what asks for it first, and looking grants nothing.
        Err(pipeline::Error::Refused(refusal)) if !grants_of(&refusal).is_empty() => ask(grants_of(&refusal)).await?,
        other => other?,
    };
    let Preview { proposal, plan: _, cascades: _ } = preview;
    let Some(edit) = proposal.update.as_ref().or(proposal.edit()) else { return Ok(Vec::new()) };
    let head = pipeline::overview(instance).await?.head.clone();
    let paths: Vec<&str> = edit.changes.keys().map(|path| path.as_str()).collect();
    let before = instance.tree.read_tree(&head, &paths).await?;
    let mut after = FileTree::new();
    for (path, file) in &edit.changes {
        if let Some(file) = file {
            after.insert(path.clone(), file.clone());
        }
    }
    Ok(files(&before, &after, ("mine", "updated"), veil))
}

/// Returns the grants that a refusal says are missing.
fn grants_of(refusal: &RefusalText) -> Vec<String> {
    let missing = refusal.diagnostics.iter().filter(|finding| finding.id == compile::NOT_GRANTED);
    missing.map(|finding| finding.subject.clone()).collect()
}

/// The committed objects against the cluster, and what keeps all of them from being compared.
async fn live(instance: &Instance, app: &AppName, veil: &Veil) -> Result<(Vec<Value>, Option<Blocked>), Problem> {
    let what = format!("compare {app} with the cluster");
    let target = super::apps::cluster_of(instance, app, &what).await?;
    // What is only reported is in no plan but that of putting it back.
    let request = veil.is_lifted().then(|| Request::RevertDrift { app: app.clone(), objects: Vec::new() });
    let Some(plan) = pipeline::preview(instance, app, request.as_ref()).await?.plan else {
        return Err(Problem::new(409, what, "no cluster is known yet", "wild cluster add").with_exit_code(6));
    };
    if let Some(unseen) = plan.blocked.iter().find(|blocked| is_unseen(&blocked.reason)) {
        return Err(Problem::new(502, what, &unseen.message, &unseen.hint));
    }
    let mut diffs = Vec::new();
    for action in &plan.actions {
        let name = action.object.short();
        let text = match &action.verb {
            Verb::Apply { .. } if action.object.kind == "Secret" => format!("~ {name}  values hidden\n"),
            Verb::Apply { payload, .. } => applied(target.as_ref(), action, payload, veil).await?,
            Verb::Delete { .. } => format!("- {name}  would be deleted: {}\n", action.reason),
            Verb::Release => format!("o {name}  would be released: {}\n", action.reason),
            Verb::Free { .. } => format!("- {name}  would be freed: {}\n", action.reason),
            Verb::Hold { .. } => format!("~ {name}  would be told to stay: {}\n", action.reason),
            Verb::Return { .. } => format!("+ {name}  would come back: {}\n", action.reason),
            Verb::LetGo { .. } => format!("o {name}  would be held no longer: {}\n", action.reason),
        };
        if !text.is_empty() {
            diffs.push(json!({"name": name, "text": text}));
        }
    }
    let blocked = plan.blocked.into_iter().next().filter(|_| plan.actions.is_empty());
    Ok((diffs, blocked))
}

/// Asks the API server what an object would be after an apply.
async fn applied(target: &dyn Target, action: &Action, payload: &Object, veil: &Veil) -> Result<String, Problem> {
    let name = action.object.short();
    let before = target.get(&action.object, &action.api_version).await;
    let before = before.map_err(|refusal| refused(&name, &refusal.message))?;
    let request = ApplyRequest {
        id: action.object.clone(),
        api_version: action.api_version.clone(),
        body: payload.to_value(),
        ownership: Ownership::Take,
        mode: Mode::DryRun,
        hash: action.hash.clone(),
        is_partial: false,
    };
    let after = match target.apply(&request).await {
        Ok(written) => shown(&written.object),
        // In a namespace that is not there yet nothing can be tried; what would be sent is the best answer.
        Err(_) if before.is_none() => shown(payload),
        Err(refusal) => return Err(refused(&name, &refusal.message)),
    };
    let before = before.as_ref().map(shown).unwrap_or_default();
    Ok(differences(&before, &after, (&format!("live/{name}"), &format!("git/{name}")), veil))
}

fn refused(name: &str, because: &str) -> Problem {
    Problem::new(502, format!("compare {name} with the cluster"), because, "wild status")
}

/// Returns an object as people write one.
fn shown(object: &Object) -> String {
    let mut object = object.clone();
    object.0.shift_remove("status");
    if let Some(metadata) = object.0.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SERVER_FIELDS {
            metadata.shift_remove(field);
        }
    }
    yaml::write_sorted(&object.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RepoPath;
    use crate::model::File;

    #[test]
    fn only_files_that_differ_are_shown() {
        let tree = |entries: &[(&str, &str)]| {
            let mut tree = FileTree::new();
            for (path, text) in entries {
                tree.insert(RepoPath::parse(path).unwrap(), File::text(text));
            }
            tree
        };
        let before = tree(&[("a", "1\n"), ("b", "1\n"), ("gone", "x\n")]);
        let after = tree(&[("a", "1\n"), ("b", "2\n"), ("new", "y\n")]);
        let diffs = files(&before, &after, ("mine", "updated"), &Veil::default());
        let names: Vec<&str> = diffs.iter().filter_map(|diff| diff["name"].as_str()).collect();
        assert_eq!(names, ["b", "gone", "new"]);
        assert!(diffs[0]["text"].as_str().unwrap().contains("-1\n+2\n"));
    }

    #[test]
    fn what_the_server_keeps_for_itself_is_no_difference() {
        let object =
            json!({"kind": "Pod", "metadata": {"name": "a", "uid": "u", "managedFields": []}, "status": {"x": 1}});
        assert_eq!(shown(&Object::from_value(object).unwrap()), "kind: Pod\nmetadata:\n  name: a\n");
    }
}
