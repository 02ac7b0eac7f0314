//! Pure. Says in `.wild/config.yaml` which cluster an app is to live on.
//!
//! Not here: what becomes of the app where it is (`plan`), which clusters there are (`pipeline::targets`).

use serde_json::json;

use super::proposal::Proposal;
use super::refusal::Refusal;
use super::section::{self, Change};
use super::sources::Sources;
use crate::model::{AppName, ClusterName, SETTINGS_PATH};
use crate::yaml;

/// Key of the entry in the section of an app.
const CLUSTER: &str = "cluster";

/// Lets an app live on a cluster.
pub(super) fn place(app: &AppName, sources: &Sources, cluster: &ClusterName) -> Result<Proposal, Refusal> {
    let settings = section::settings(app, "move", sources)?;
    if settings.context_of(app.as_str()) == cluster.as_str() {
        return Ok(Proposal::nothing(app));
    }
    let summary = format!("{app} is to live on {cluster}");
    section::commit(sources, Change { app, verb: "move", body: &summary, summary: summary.clone() }, |text| {
        let path = ["apps", app.as_str(), CLUSTER];
        // Where all apps are no app has to say so.
        match settings.cluster.context == cluster.as_str() {
            true => yaml::edit::unset(SETTINGS_PATH, text, &path),
            false => yaml::edit::set(SETTINGS_PATH, text, &path, &json!({"context": cluster.as_str()})),
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::compile::tests::World;
    use crate::model::{AppName, ClusterName, Request, SETTINGS_PATH};

    #[test]
    fn an_app_says_where_it_lives_only_where_that_is_not_where_all_do() {
        let mut world = World::with_blog();
        world.push(SETTINGS_PATH, |text| format!("{text}cluster: {{context: home}}\n"));
        let before = world.text(SETTINGS_PATH).to_owned();
        let mut moved = |name: &str| {
            let cluster = ClusterName::parse(name).unwrap();
            world.act(&Request::Move { app: AppName::parse("blog").unwrap(), cluster }).unwrap();
            world.text(SETTINGS_PATH).strip_prefix(&before).unwrap_or("?").to_owned()
        };
        assert_eq!(moved("home"), "");
        let there = moved("edge");
        assert_eq!(there, "apps:\n  blog:\n    cluster:\n      context: edge\n");
        assert_eq!(moved("edge"), there);
        assert!(!moved("home").contains("edge"));
    }
}
