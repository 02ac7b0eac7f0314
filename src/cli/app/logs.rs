//! `wild app logs`: what the pods of an app say, in order of time, or as it comes.
//!
//! Not here: what happened to the app (`events.rs`).

use clap::Args;
use serde_json::Value;

use super::super::client::encode;
use super::super::error::{CommandError, ExitCode};
use super::super::format::Document;
use super::super::json::{list, text};
use super::super::session::Session;
use crate::base::parse_duration;
use crate::model::AppName;

const HELP: &str = "Each line begins with its pod and container, unless there is only one. Values of secrets are hidden. With --follow the
lines come as they are written, also those of pods and containers that begin meanwhile, until no pod is left that may
say more or you interrupt it. Logs that cannot be opened are named.

Examples:
  wild app logs quillblog
  wild app logs quillblog --follow --since 10m
  wild app logs quillblog -c web --previous --tail 20
  wild app logs quillblog -o json

Exit codes:
  0 shown   2 no such app, no pod, or no log of any";

/// Arguments.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Logs {
    /// App.
    #[arg(value_name = "APP", value_parser = AppName::parse)]
    app: AppName,
    /// Goes on with the lines that come.
    #[arg(long, short)]
    follow: bool,
    /// Shows the containers that ran before the present ones.
    #[arg(long)]
    previous: bool,
    /// Only lines that are younger than this, such as 10m.
    #[arg(long, value_name = "DURATION")]
    since: Option<String>,
    /// Most lines of each container, from the end; 10000 at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    tail: u32,
    /// Only this pod.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Only containers of this name.
    #[arg(long, short, value_name = "NAME")]
    container: Option<String>,
}

/// Runs the command.
pub(super) async fn run(session: &mut Session<'_>, arguments: Logs) -> Result<ExitCode, CommandError> {
    let Logs { app, follow, previous, since, tail, pod, container } = arguments;
    let mut path = format!("/apps/{app}/logs?tail={tail}");
    if let Some(since) = since {
        let Some(since) = parse_duration(&since) else {
            return Err(CommandError::new("read --since", format!("{since:?} is no duration"), "--since 10m"));
        };
        path.push_str(&format!("&sinceSeconds={}", since.as_secs().max(1)));
    }
    for (key, value) in [("pod", pod), ("container", container)] {
        if let Some(value) = value {
            path.push_str(&format!("&{key}={}", encode(&value)));
        }
    }
    for (key, _) in [("previous", previous), ("follow", follow)].into_iter().filter(|(_, is_set)| *is_set) {
        path.push_str(&format!("&{key}=true"));
    }
    if follow {
        let for_people = session.is_for_people();
        session
            .stream(&path, &mut |line, out| match (for_people, text(&line, "failed")) {
                (true, "") => out.data(&format!("{}\n", prefixed(&line))),
                (true, why) => out.note(why),
                (false, _) => out.data(&format!("{line}\n")),
            })
            .await?;
        return Ok(ExitCode::Done);
    }
    let answer = session.get(&path).await?;
    for why in list(&answer, "failed").iter().filter_map(Value::as_str) {
        session.note(why);
    }
    let is_one = list(&answer, "containers").len() == 1;
    session.print(Document { kind: "LogList", value: answer, items: Some(("logs", "log")) }, |answer| {
        let lines = list(answer, "logs").iter();
        let lines = lines.map(|line| if is_one { text(line, "message").to_owned() } else { prefixed(line) });
        lines.map(|line| format!("{line}\n")).collect()
    });
    Ok(ExitCode::Done)
}

fn prefixed(line: &Value) -> String {
    format!("{}/{}  {}", text(line, "pod"), text(line, "container"), text(line, "message"))
}
