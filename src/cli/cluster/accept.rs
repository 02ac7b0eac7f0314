//! `wild cluster show` and `wild cluster accept`: which cluster the kubeconfig leads to, which one is known, and that another one is meant from now
//! on.
//!
//! Not here: finding out which one it is (`target`), remembering it (`pipeline`).

use serde_json::{Value, json};

use super::super::client::encode;
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{flag, list, text};
use super::super::session::Session;
use super::{answers, is_elsewhere};

/// Shows one cluster.
pub(super) async fn show(session: &mut Session<'_>, name: &str) -> Result<ExitCode, CommandError> {
    let value = find(session, Some(name), "show").await?;
    session.print(Document { kind: "Cluster", value, items: None }, lines);
    Ok(ExitCode::Done)
}

/// Accepts the cluster that the kubeconfig leads to.
pub(super) async fn accept(session: &mut Session<'_>, name: Option<&str>) -> Result<ExitCode, CommandError> {
    let cluster = find(session, name, "accept").await?;
    let name = text(&cluster, "name").to_owned();
    if !is_elsewhere(&cluster) {
        session.note(&format!("{name} is the cluster that is known. {}.", capital(&answers(&cluster))));
        return Ok(ExitCode::Done);
    }
    session.note(&format!("known: {}", identity(cluster.pointer("/known/identity"))));
    session.note(&format!("now:   {}", identity(cluster.get("found"))));
    if session.is_dry_run() {
        session.note(&format!("Would accept it as {name}. Nothing was changed."));
        return Ok(ExitCode::Done);
    }
    confirm(session, &name)?;
    let body = json!({"found": cluster.get("found")});
    session.call("POST", &format!("/clusters/{}/accept", encode(&name)), Some(&body)).await?;
    session.note(&format!("{name} is that cluster from now on. What is in git is applied there."));
    Ok(ExitCode::Done)
}

/// Asks all clusters whether they answer, and returns one by its name, or the first.
async fn find(session: &mut Session<'_>, name: Option<&str>, verb: &str) -> Result<Value, CommandError> {
    let all = session.get("/clusters").await?;
    let mut clusters = list(&all, "clusters").iter();
    let found = match name {
        Some(name) => clusters.find(|cluster| text(cluster, "name") == name),
        None => clusters.find(|cluster| flag(cluster, "first")),
    };
    let named = name.map(|name| format!(" {name}")).unwrap_or_default();
    let error =
        || CommandError::new(format!("{verb} the cluster{named}"), "there is no such cluster", "wild cluster list");
    found.cloned().ok_or_else(error)
}

/// Asks for the name of the cluster, or fails where nobody can be asked.
fn confirm(session: &mut Session<'_>, name: &str) -> Result<(), CommandError> {
    if session.flags.yes {
        return Ok(());
    }
    let (what, remedy) = (format!("accept the cluster {name}"), format!("wild cluster accept {name} --yes"));
    if !session.may_ask() {
        let because = "it must be confirmed, and there is no terminal to ask on: --yes is missing";
        return Err(CommandError::new(what, because, remedy));
    }
    session.out.note(&format!("Everything that git says of {name} is applied to it, secrets included."));
    match session.out.ask("Type the name of the cluster to go on:") {
        Some(answer) if answer == name => Ok(()),
        _ => Err(CommandError::new(what, "the name was not typed; nothing was changed", remedy)),
    }
}

/// Returns what is to be seen of a cluster, one line each.
fn lines(cluster: &Value) -> String {
    let mut lines = format!("{}   {}\n", text(cluster, "name"), answers(cluster));
    if let Some(known) = cluster.get("known").filter(|known| !known.is_null()) {
        lines.push_str(&format!("  known   {} since {}\n", identity(known.get("identity")), text(known, "since")));
        if !text(known, "by").is_empty() {
            lines.push_str(&format!("          accepted by {}\n", text(known, "by")));
        }
    }
    if is_elsewhere(cluster) {
        lines.push_str(&format!("  now     {}\n", identity(cluster.get("found"))));
    }
    for file in list(cluster, "narrowed") {
        lines.push_str(&format!(
            "  others could read {} (mode {}): replace what signs in\n",
            text(file, "path"),
            text(file, "mode")
        ));
    }
    lines
}

/// Returns by what a cluster is known again, in words.
pub(in crate::cli) fn identity(identity: Option<&Value>) -> String {
    let identity = identity.unwrap_or(&Value::Null);
    let uid = match text(identity, "uid") {
        "" => "not known",
        uid => uid,
    };
    let authority = match text(identity, "authority") {
        "" => "none of its own",
        authority => authority,
    };
    format!("{}, kube-system {uid}, authority {authority}", text(identity, "server"))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_shown_with_what_is_known_and_what_is_there() {
        let uid = |server: &str, uid: &str| json!({"server": server, "authority": "", "uid": uid});
        let cluster = json!({"name": "edge", "reachable": false, "elsewhere": true, "since": "T", "why": "W", "found": uid("https://b", "v"),
            "known": {"identity": uid("https://a", "u"), "since": "S", "by": "alice"},
            "trouble": null, "narrowed": [{"path": "/k", "mode": "0644"}]});
        let told = "edge   another cluster than before, nothing is written: wild cluster accept edge; others could read /k: replace what signs in\n  \
                    known   https://a, kube-system u, authority none of its own since S\n          accepted by alice\n  \
                    now     https://b, kube-system v, authority none of its own\n  others could read /k (mode 0644): replace what signs in\n";
        assert_eq!(lines(&cluster), told);
        let refused = json!({"name": "edge", "reachable": false, "refused": true, "why": "W"});
        assert_eq!(lines(&refused), "edge   refused: W\n");
        let trouble = json!({"name": "edge", "reachable": true, "trouble": "T"});
        assert_eq!(lines(&trouble), "edge   reachable; its kubeconfig changed and is not used: T\n");
    }
}
