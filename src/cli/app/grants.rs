//! `--grant APP.KEY`: a person's word that an app may read a secret of another one, given on the command line or asked for on a terminal.
//!
//! `--yes` is no such word: it says nothing of which secret. Not here: where grants stand and what they allow (`compile`, `package`).

use clap::Args;
use serde_json::{Value, json};

use super::super::error::CommandError;
use super::super::session::Session;
use super::super::wait::{Change, Patience};
use crate::model::AppName;
use crate::package::SecretGrant;

/// Grants on a command line.
#[derive(Args, Debug)]
pub(super) struct Grants {
    /// Lets the app read a secret of another app, by its key; may be given again.
    #[arg(long = "grant", value_name = "APP.KEY", value_parser = SecretGrant::parse)]
    given: Vec<SecretGrant>,
}

impl Grants {
    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns them as a request has them.
    pub(super) fn words(&self) -> Vec<String> {
        self.given.iter().map(ToString::to_string).collect()
    }
}

/// Asks a person for each grant that a change lacks, where one can be asked, and puts those that are given into its body. Who says no ends the
/// command, and nothing was stored.
pub(super) async fn ask(
    session: &mut Session<'_>,
    (method, below): (&'static str, &str),
    body: &mut Value,
) -> Result<(), CommandError> {
    if !session.may_ask() || session.is_dry_run() {
        return Ok(());
    }
    let tried = session.call(method, &format!("{below}?dryRun=true"), Some(body)).await;
    let Err(refused) = tried else { return Ok(()) };
    // Any other refusal is told by the change itself.
    for lacking in refused.grants.clone() {
        let answer = session.out.ask(&format!("{}. May it? [y/N]", lacking.asks)).unwrap_or_default();
        if !answer.eq_ignore_ascii_case("y") && !answer.eq_ignore_ascii_case("yes") {
            return Err(refused);
        }
        if let Some(grants) = body.get_mut("grants").and_then(Value::as_array_mut) {
            grants.push(Value::from(lacking.grant));
        }
    }
    Ok(())
}

/// Puts grants of an app that is there on record, in a commit of their own. On a dry run nothing is written.
pub(super) async fn give(session: &mut Session<'_>, app: &AppName, grants: &Grants) -> Result<(), CommandError> {
    if grants.is_empty() {
        return Ok(());
    }
    let body = json!({"secrets": grants.words()});
    let below = format!("/apps/{app}/grants");
    session.ask(Change { method: "POST", below, body, patience: Patience::Wait }).await.map(drop)
}
