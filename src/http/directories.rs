//! The package directories of an instance and what they offer.
//!
//! Not here: adding one (`changes.rs`), fetching itself (`pipeline`).

use axum::body::Bytes;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;

use super::answer::{Answered, body, json as answer, value};
use super::problem::Problem;
use super::{Host, instance};
use crate::base::there_are;
use crate::model::{Reason, Trigger};
use crate::pipeline::{self, Instance};

/// `GET /directories`: as fetched last.
pub(super) async fn list(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    show(handle.instance()).await
}

async fn show(instance: &Instance) -> Answered {
    Ok(answer(&json!({"directories": value(&pipeline::directories(instance).await?)?})))
}

/// Body of `POST /directories/fetch`.
#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    name: Option<String>,
}

/// `POST /directories/fetch`: fetches all of them now, or one, and answers with what they hold. One that is not followed carries why.
pub(super) async fn fetch(State(daemon): Host, Path(name): Path<String>, bytes: Bytes) -> Answered {
    let handle = instance(&daemon, &name)?;
    let Which { name } = if bytes.is_empty() { Which { name: None } } else { body(&bytes)? };
    if let Some(name) = &name {
        let settings = pipeline::settings(handle.instance()).await?;
        if !settings.directories.iter().any(|directory| directory.name == *name) {
            let names: Vec<&str> = settings.directories.iter().map(|directory| directory.name.as_str()).collect();
            let because = format!("no directory of that name is followed; {}", there_are(&names));
            return Err(Problem::new(404, format!("fetch the directory {name}"), because, "wild directory list"));
        }
    }
    handle.fetch_directories(name.as_deref()).await?;
    handle.wake(Trigger { app: None, reason: Reason::Upstream });
    show(handle.instance()).await
}
