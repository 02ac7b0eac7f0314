//! Secrets of an instance: which there are, a value that is set, a value that is made. No answer holds a value.
//!
//! These are no stored requests, because a request holds no secret; what is written is in force before it is answered. Not here: what apps
//! ask for (`package`).

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;

use super::answer::{Answered, json as answer, value};
use super::changes::Change;
use super::{Host, instance};
use crate::model::{Reason, SecretValue, Trigger};
use crate::pipeline::{self, Making, SecretChange, Trial};

/// Lists the secrets.
pub(super) async fn list(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    let secrets = pipeline::secrets(handle.instance()).await?;
    Ok(answer(&json!({"secrets": value(&secrets)?})))
}

/// Body of `PUT /secrets/{path}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    value: String,
}

/// Sets a value.
pub(super) async fn set(change: Change) -> Answered {
    // The parser quotes what it stumbles over, and here that may be the value.
    let Given { value } =
        change.body().map_err(|problem| problem.without_reason("the body is no {\"value\": \"…\"}"))?;
    let value = SecretValue::new(value);
    let made = pipeline::set_secret(change.instance(), change.word("path"), value, change.trial()).await?;
    told(&change, &made)
}

/// Body of `POST /secrets/{path}/generate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct How {
    #[serde(default)]
    anew: bool,
}

/// Makes a value.
pub(super) async fn generate(change: Change) -> Answered {
    let How { anew } = change.body()?;
    let making = if anew { Making::Anew } else { Making::Missing };
    let made = pipeline::make_secret(change.instance(), change.word("path"), making, change.trial()).await?;
    told(&change, &made)
}

/// Wakes whoever reads the value and says what was done.
fn told(change: &Change, made: &SecretChange) -> Answered {
    if change.trial() == Trial::Real {
        change.wake(Trigger { app: None, reason: Reason::File });
    }
    Ok(answer(&value(made)?))
}
