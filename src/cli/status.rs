//! `wild status`: one screen with what runs, what needs you and what was done last.
//!
//! Not here: one app (`app/show.rs`).

use clap::Args;
use serde_json::{Value, json};

use super::app::{is_calm, status_table};
use super::cluster::{answers, is_silent};
use super::directory::findings;
use super::error::{CommandError, ExitCode};
use super::format::Document;
use super::json::{list, short, text};
use super::session::Session;
use super::table::{ago, table};

/// Operations that are shown.
const LAST_OPERATIONS: usize = 5;

const HELP: &str = "Examples:
  wild status
  wild status --exit-code
  wild status -o json

Exit codes:
  0 shown   1 with --exit-code: something needs you or is not healthy   2 error";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Status {
    /// Ends with 1 if something needs you or is not healthy.
    #[arg(long)]
    exit_code: bool,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Status) -> Result<ExitCode, CommandError> {
    let Status { exit_code } = arguments;
    let instance = session.get("").await?;
    let apps = session.get("/apps").await?;
    let operations = session.get(&format!("/operations?limit={LAST_OPERATIONS}")).await?;
    let reachable = list(&instance, "clusters").iter().all(|cluster| !is_silent(cluster));
    let free = list(&instance, "foreignBranches").is_empty();
    let followed = remote_trouble(&instance).is_empty() && list(&instance, "directories").iter().all(is_followed);
    let good = list(&instance, "statuses").iter().all(|status| !matches!(text(status, "state"), "failure" | "error"));
    let open = list(&instance, "closedInstances").is_empty();
    let calm = reachable && open && free && followed && good && list(&apps, "apps").iter().all(is_calm);
    let value = json!({
        "instance": instance,
        "apps": list(&apps, "apps"),
        "operations": list(&operations, "operations"),
    });
    let (now, width, format) = (session.now(), session.environment.width(), session.format());
    session.print(Document { kind: "Status", value, items: Some(("apps", "app")) }, |value| {
        let mut screen = head(value.get("instance").unwrap_or(&Value::Null));
        if list(value, "apps").is_empty() {
            screen.push_str("\nNo app was added yet. Add one: wild app add PACKAGE\n");
        } else {
            screen.push('\n');
            screen.push_str(&status_table(value, format, width));
        }
        if !list(value, "operations").is_empty() {
            let rows = list(value, "operations")
                .iter()
                .map(|operation| super::operation::row(operation, |time| ago(time, now)));
            screen.push('\n');
            screen.push_str(&table(&super::operation::HEADERS, rows, width));
        }
        screen
    });
    Ok(if exit_code && !calm { ExitCode::Answer } else { ExitCode::Done })
}

/// Returns why the remote is not followed; empty if it is or if there is none.
fn remote_trouble(instance: &Value) -> &str {
    instance.get("remote").map(|remote| text(remote, "trouble")).unwrap_or_default()
}

/// Returns whether a directory is followed. A package of it that is broken needs nobody unless an app is made from it, which the app says.
fn is_followed(directory: &Value) -> bool {
    directory.get("trouble").is_none_or(Value::is_null)
}

fn head(instance: &Value) -> String {
    let cluster = match instance.get("cluster").filter(|cluster| !cluster.is_null()) {
        None => "none yet: wild cluster add".to_owned(),
        Some(cluster) => answers(cluster),
    };
    let mut lines = format!(
        "{}   {} {}   cluster {cluster}\n",
        text(instance, "name"),
        text(instance, "branch"),
        short(text(instance, "head")),
    );
    for file in list(instance, "openFiles") {
        let (path, mode) = (text(file, "path"), text(file, "mode"));
        lines.push_str(&format!("  others could read {path} (mode {mode}): replace what is in it\n"));
    }
    for closed in list(instance, "closedInstances") {
        let refusal = closed.get("closed").unwrap_or(&Value::Null);
        let (name, because, remedy) = (text(closed, "name"), text(refusal, "because"), text(refusal, "remedy"));
        lines.push_str(&format!("  the instance {name} is not open: {because}; {remedy}\n"));
    }
    if !remote_trouble(instance).is_empty() {
        lines.push_str(&format!("  the remote is not followed: {}\n", remote_trouble(instance)));
    }
    for branch in list(instance, "foreignBranches").iter().filter_map(Value::as_str) {
        lines.push_str(&format!("  {branch} is not ours, and nothing of it is read\n"));
    }
    for line in list(instance, "directories").iter().flat_map(findings) {
        lines.push_str(&format!("  {line}\n"));
    }
    for status in list(instance, "statuses") {
        lines.push_str(&format!(
            "  {:<8}  {}  {}\n",
            text(status, "state"),
            text(status, "context"),
            text(status, "description")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_branch_commit_and_cluster() {
        let instance = json!({"name": "home", "branch": "main", "head": "0123456789", "cluster": null,
            "statuses": [{"state": "pending", "context": "wild/deploy (home)", "description": "seen"}]});
        assert_eq!(
            head(&instance),
            "home   main 0123456   cluster none yet: wild cluster add\n  pending   wild/deploy (home)  seen\n"
        );
        let closed = json!({"name": "lab", "closed": {"because": "B", "remedy": "R"}});
        assert!(head(&json!({"closedInstances": [closed]})).contains("  the instance lab is not open: B; R\n"));
        let trouble = json!({"kind": "rewound", "message": "it went back", "hint": "wild x"});
        let rewound = json!({"name": "sample", "trouble": trouble, "packages": []});
        assert!(head(&json!({"directories": [rewound]})).contains("  sample: it went back; wild x\n"));
        let foreign = json!({"foreignBranches": ["refs/heads/wild/x"]});
        assert!(head(&foreign).contains("  refs/heads/wild/x is not ours, and nothing of it is read\n"));
        assert!(!is_followed(&rewound) && is_followed(&json!({"trouble": null})));
        assert!(head(&json!({"cluster": {"reachable": null}})).contains("cluster not asked yet\n"));
        assert!(head(&json!({"cluster": {"reachable": true}})).contains("cluster reachable\n"));
        let cluster = json!({"reachable": false, "since": "T", "why": "refused"});
        assert!(head(&json!({"cluster": cluster})).contains("cluster not reachable since T: refused"));
        for (remote, expected) in [(json!({"trouble": "it went back"}), true), (json!({"trouble": null}), false)] {
            let shown = head(&json!({"remote": remote})).contains("  the remote is not followed: it went back\n");
            assert_eq!(shown, expected, "{remote}");
        }
    }
}
