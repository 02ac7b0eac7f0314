//! What compiling an app would read, by ids: a pass that nobody asked for compiles nothing twice from the same.
//!
//! Not here: compiling (`compile`).

use super::overview::Overview;
use super::read::{generated_ref, update_ref};
use super::{Error, Instance, proposed, vouched};
use crate::base::chain;
use crate::base::hash::Encoder;
use crate::compile::{self, RENDERER};
use crate::merge::RESOLUTIONS_REF;
use crate::model::{AppName, Reason, SETTINGS_PATH};
use crate::package;

/// A digest over everything that compiling an app depends on, and where it is remembered once that led to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Inputs {
    cursor: String,
    digest: String,
}

impl Inputs {
    /// Looks the ids up.
    pub(super) async fn of(
        instance: &Instance,
        app: &AppName,
        overview: &Overview,
        why: Reason,
    ) -> Result<Self, Error> {
        let record = compile::record_of(&overview.files, app).ok().flatten();
        let mut names = vec![app];
        names.extend(record.iter().flat_map(|record| record.bindings.values()));
        let mut ids: Vec<Option<String>> = vec![Some(RENDERER.to_owned())];
        ids.extend(names.iter().map(|name| overview.apps.get(*name).cloned()));
        ids.push(overview.files.text(&compile::record_path(app)).map(str::to_owned));
        let generated = instance.repository.read_ref(&generated_ref(instance, app)).await?;
        let update = proposed::standing(instance, &update_ref(instance, app)).await?;
        ids.extend([generated, update].map(|tip| tip.map(|commit| commit.to_string())));
        if let Some(tip) = instance.repository.read_ref(RESOLUTIONS_REF).await? {
            ids.push(instance.tree.tree_id(&tip, app.as_str()).await?);
        }
        if let (Reason::Upstream, Some(record), Ok(settings)) = (why, &record, overview.settings()) {
            for directory in &settings.directories {
                let Some(commit) = vouched::followed(instance, directory).await? else { continue };
                for place in package::directories(&directory.path, &record.package) {
                    // What cannot even be looked up is found where the package is read.
                    let id = match instance.repository.tree_id(&commit, &place).await {
                        Err(error) if error.hostile().is_some() => Some(chain(&error)),
                        found => found?,
                    };
                    ids.push(id);
                }
            }
        }
        let sections = names.iter().map(|name| overview.config.as_ref().ok().and_then(|config| config.app(name)));
        let known = serde_json::json!({
            "ids": ids,
            "config": overview.shared_config(),
            "sections": sections.collect::<Vec<_>>(),
            "settings": overview.files.text(SETTINGS_PATH),
        });
        let cursor = match why {
            Reason::Upstream => format!("followed.{app}"),
            _ => format!("compiled.{app}"),
        };
        Ok(Self { cursor, digest: Encoder::new().value(&known).digest().to_hex() })
    }

    /// Returns whether compiling from the same led to nothing before.
    pub(super) async fn are_settled(&self, instance: &Instance) -> Result<bool, Error> {
        Ok(instance.store.cursor(&instance.id, &self.cursor).await?.is_some_and(|known| known == self.digest))
    }

    /// Remembers that compiling from these leads to nothing.
    pub(super) async fn settle(&self, instance: &Instance) -> Result<(), Error> {
        Ok(instance.store.put_cursor(&instance.id, &self.cursor, &self.digest).await?)
    }
}
