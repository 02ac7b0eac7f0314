//! The package directories of an instance and what they offer.
//!
//! Not here: adding one (`changes.rs`), fetching itself (`pipeline`).

use axum::extract::{Path, State};
use serde_json::json;

use super::answer::{Answered, json as answer, value};
use super::{Host, instance};
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

/// `POST /directories/fetch`: fetches all of them now and answers with what they hold. One that fails carries its error.
pub(super) async fn fetch(State(daemon): Host, Path(name): Path<String>) -> Answered {
    let handle = instance(&daemon, &name)?;
    handle.fetch_directories().await?;
    handle.wake(Trigger { app: None, reason: Reason::Upstream });
    show(handle.instance()).await
}
