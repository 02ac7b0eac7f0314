//! `wild debug merge-batch` and `merge-tree`: the engine of merges alone, for whoever wants to try it on a corpus.
//!
//! The first reads one merge a line and writes one answer a line, the second merges three folders. Not here: the merge
//! (`merge`), the grammar (`debug.rs`).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{CommandError, ExitCode};
use super::folder::{read_folder, write_folder};
use super::merge_file::Sides;
use super::session::Session;
use super::sops_keys::sops_keys;
use crate::base::RepoPath;
use crate::merge::{self, Conflict, FileMerge, Rules, Three};
use crate::model::FileTree;

/// One merge.
#[derive(Deserialize)]
struct Case {
    id: Value,
    path: String,
    base: Option<String>,
    ours: Option<String>,
    theirs: Option<String>,
}

/// Answers every line of standard input.
pub(super) async fn batch(session: &mut Session<'_>) -> ExitCode {
    let mut code = ExitCode::Done;
    while let Some(line) = session.out.line() {
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(session, &line).await.unwrap_or_else(|because| {
            code = ExitCode::Error;
            json!({"id": null, "error": because})
        });
        session.out.data(&format!("{answer}\n"));
    }
    code
}

async fn answer(session: &mut Session<'_>, line: &str) -> Result<Value, String> {
    let Case { id, path, base, ours, theirs } = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let path = RepoPath::parse(&path).map_err(|error| error.to_string())?;
    let texts = Three { base: base.as_deref(), ours: ours.as_deref(), theirs: theirs.as_deref() };
    let sides: Vec<&str> = [texts.base, texts.ours, texts.theirs].into_iter().flatten().collect();
    let templates = merge::templates_in(&sides);
    let sops = sops_keys(session, &[(path.clone(), sides)]).await;
    let rules = Rules { templates, sops, ..Rules::default() };
    let merged = merge::merge_file(&path, texts, &rules);
    let proposal = proposal(&merged, &path, texts, rules);
    let notices: Vec<String> = merged.notices.iter().map(ToString::to_string).collect();
    let conflicts: Vec<Value> = merged.conflicts.iter().map(Conflict::to_json).collect();
    let (text, how) = (merged.text, merged.how);
    let mut answer = json!({
        "id": id, "merged": text, "proposal": proposal, "conflicts": conflicts, "notices": notices, "how": how,
    });
    if let Some(map) = answer.as_object_mut() {
        merged.guard.map(|guard| map.insert("guard".to_owned(), Value::from(guard)));
    }
    Ok(answer)
}

/// Returns the text with the side at every conflict that comes first.
fn proposal(merged: &FileMerge, path: &RepoPath, texts: Three<Option<&str>>, rules: Rules) -> Option<String> {
    if merged.conflicts.is_empty() {
        return merged.text.clone();
    }
    let decided = merged.conflicts.iter().map(|conflict| (conflict.id.clone(), conflict.preselected().take));
    merge::merge_file(path, texts, &Rules { decided: decided.collect(), ..rules }).text
}

/// Merges three folders into a new one.
pub(super) async fn trees(session: &mut Session<'_>, sides: &Sides, out: &Path) -> Result<ExitCode, CommandError> {
    let what = "merge three folders";
    let read = |folder: &PathBuf| read_folder(&session.environment.path(folder), what);
    let Sides { base, ours, theirs } = sides;
    let ((base, left_out), (ours, mine), (theirs, upstream)) = (read(base)?, read(ours)?, read(theirs)?);
    for finding in left_out.iter().chain(&mine).chain(&upstream) {
        session.note(&format!("left out: {finding}"));
    }
    let texts: Vec<&str> =
        [&base, &ours, &theirs].into_iter().flat_map(FileTree::iter).filter_map(|(_, file)| file.as_text()).collect();
    let files = [&base, &ours, &theirs].into_iter().flat_map(FileTree::iter);
    let files: Vec<_> = files.filter_map(|(path, file)| Some((path.clone(), vec![file.as_text()?]))).collect();
    let sops = sops_keys(session, &files).await;
    let rules = Rules { templates: merge::templates_in(&texts), sops, ..Rules::default() };
    let merged = merge::merge(Three { base: &base, ours: &ours, theirs: &theirs }, &rules);
    write_folder(&session.environment.path(out), &merged.files, what)?;
    let conflicts: Vec<Value> = merged.conflicts.iter().map(Conflict::to_json).collect();
    let notices: Vec<String> = merged.notices.iter().map(ToString::to_string).collect();
    let how: serde_json::Map<String, Value> =
        merged.how.iter().map(|(path, how)| (path.to_string(), json!(how))).collect();
    let answer = json!({"conflicts": conflicts, "notices": notices, "how": how, "guards": merged.guards});
    session.out.data(&format!("{answer}\n"));
    Ok(if merged.conflicts.is_empty() { ExitCode::Done } else { ExitCode::Answer })
}
