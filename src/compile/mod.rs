//! Pure. Turns packages, config and what people ask for into the exact bytes of an app, and that into at most one
//! commit.
//!
//! `propose` is the way in: it reads one app's [`Sources`], all of one commit, makes the generation that is due, merges
//! it into the committed files and returns a [`Proposal`], or a [`Refusal`] with what to do next. Proposed again after
//! its commit it proposes nothing, so a pass may run as often as it likes. A conflict is no failure: the deployed
//! branch stays and the update waits on a branch of its own.
//!
//! Not here: reading sources (`git`, `observe`), writing commits (`git`), deciding what is applied (`plan`).

mod add;
mod config;
mod deploy;
mod directory;
mod edit;
pub mod generate;
mod insertion;
mod land;
mod lint;
mod proposal;
mod record;
mod refusal;
mod rejoin;
mod remove;
mod resolve;
mod rollback;
mod sources;
mod suspend;
mod trial;
mod update;

#[cfg(test)]
mod tests;

pub use directory::add_directory;
pub use generate::{GenerateInput, Generated, RENDERER};
pub use lint::{Examined, breaking_between, examine};
pub use proposal::{Fate, Join, NewGeneration, Proposal, TRAILERS, TreeEdit};
pub use record::{read_record, record_path, same_generation};
pub use refusal::{Explanation, Refusal};
pub use rejoin::{Bent, rejoin};
pub use sources::{
    Authors, PackageVersion, Sources, UpdateBranch, UpstreamPackage, apps_of, config_of, record_of, settings_of,
};
pub use trial::{Trial, judge};

use crate::model::{AppName, Request};

/// Why an app is compiled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cause<'a> {
    /// Somebody asked for a change.
    Request(&'a Request),
    /// A push changed config.yaml or a binding, or this build renders otherwise than the one before.
    Changed,
    /// The merge bot's time has come; a newer package is merged if policy allows.
    Upstream,
}

/// Returns what to commit for an app, or why it cannot be done.
pub fn propose(app: &AppName, sources: &Sources, cause: Cause<'_>) -> Result<Proposal, Refusal> {
    match cause {
        Cause::Request(request) => answer(app, sources, request),
        Cause::Changed => config::follow(app, sources),
        Cause::Upstream => update::follow(app, sources),
    }
}

fn answer(app: &AppName, sources: &Sources, request: &Request) -> Result<Proposal, Refusal> {
    match request {
        Request::Add { package, app: _, bindings, values, version, deploy } => {
            let wanted = add::Wanted { package, bindings, values, version: version.as_deref(), deploy: *deploy };
            add::add(app, sources, &wanted)
        }
        Request::Config { app: _, set, unset } => config::change(app, sources, set, unset),
        Request::Deploy { app: _, approve } => deploy::deploy(app, sources, approve.as_deref()),
        Request::Update { app: _, to } => update::update(app, sources, to.as_deref()),
        Request::Resolve { app: _, decisions } => resolve::resolve(app, sources, decisions),
        Request::Abort { app: _ } => resolve::abort(app, sources),
        Request::Rollback { app: _, to, reason } => rollback::rollback(app, sources, to, reason),
        Request::Delete { app: _, data } => remove::remove(app, sources, *data),
        Request::RevertDrift { app: _ } => deploy::revert_drift(app, sources),
        Request::Suspend { app: _, suspension } => suspend::suspend(app, sources, suspension),
        Request::Resume { app: _ } => suspend::resume(app, sources),
        Request::AddDirectory { name, url, branch } => add_directory(&sources.files, name, url, branch),
    }
}
