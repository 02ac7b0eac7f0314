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
mod adopt;
mod adopt_drift;
mod authored;
mod config;
mod consent;
mod customised;
mod decisions;
mod deploy;
mod directory;
mod edit;
mod eject;
pub mod generate;
mod ignore;
mod insertion;
mod land;
mod learn;
mod lint;
mod namespaces;
mod place;
mod proposal;
mod record;
mod refusal;
mod rejoin;
mod remove;
mod resolve;
mod rollback;
mod section;
mod sources;
mod suspend;
mod trial;
mod update;

#[cfg(test)]
mod tests;

pub use consent::{Exports, NOT_GRANTED, consents, exports_of, secret_context};
pub use directory::add_directory;
pub use generate::{GenerateInput, Generated, RENDERER};
pub use lint::{Examined, breaking_between, examine};
pub use proposal::{Fate, Join, NewGeneration, Proposal, TRAILERS, TreeEdit};
pub use record::{read_record, record_path, same_generation};
pub use refusal::{Explanation, Refusal};
pub use rejoin::{Bent, rejoin};
pub use sources::{
    Authors, PackageVersion, PastMerge, Sources, UpdateBranch, UpstreamPackage, apps_of, config_of, record_of,
    settings_of,
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

/// Returns what to commit of a merge that a person made with git: keys of config.yaml that it left as they were, and what it
/// decided, to be remembered.
pub fn take_in(app: &AppName, sources: &Sources, past: &PastMerge) -> Result<Proposal, Refusal> {
    config::take_in(app, sources, past)
}

fn answer(app: &AppName, sources: &Sources, request: &Request) -> Result<Proposal, Refusal> {
    match request {
        Request::Add { package, app: _, bindings, values, version, deploy, grants } => {
            let version = version.as_deref();
            let wanted = add::Wanted { package, bindings, values, version, deploy: *deploy, grants };
            add::add(app, sources, &wanted)
        }
        Request::Config { app: _, set, unset } => config::change(app, sources, set, unset),
        Request::Deploy { app: _, approve, recreate: _, adopt: _ } => deploy::deploy(app, sources, approve.as_deref()),
        Request::Reconcile { app: _, rerun: _ } => deploy::reconcile(app, sources),
        Request::Update { app: _, to, take, grants } => {
            update::update(app, sources, to.as_deref(), take.as_ref(), grants)
        }
        Request::Grant { app: _, secrets } => consent::grant(app, sources, secrets),
        Request::Resolve { app: _, decisions } => resolve::resolve(app, sources, decisions),
        Request::Learn { app: _ } => Ok(learn::learn(app, sources)),
        Request::Forget { app: _, key } => learn::forget(app, sources, key.as_deref()),
        Request::Adopt { app: _, package: _ } => adopt::adopt(app, sources),
        Request::Eject { app: _ } => eject::eject(app, sources),
        Request::Abort { app: _ } => resolve::abort(app, sources),
        Request::Rollback { app: _, to, reason, undoes: _ } => rollback::rollback(app, sources, to, reason),
        Request::Delete { app: _, data } => remove::remove(app, sources, *data),
        Request::RevertDrift { app: _, objects: _ } => deploy::revert_drift(app, sources),
        Request::AdoptDrift { app: _, fields, branch } => adopt_drift::adopt(app, sources, fields, *branch),
        Request::IgnoreDrift { app: _, rule } => ignore::ignore(app, sources, rule),
        Request::Suspend { app: _, suspension } => suspend::suspend(app, sources, suspension),
        Request::Resume { app: _ } => suspend::resume(app, sources),
        Request::Move { app: _, cluster } => place::place(app, sources, cluster),
        Request::AddDirectory { name, url, branch, verify } => {
            add_directory(&sources.files, name, (url, branch), *verify)
        }
        // It moves a ref of ours and changes no file.
        Request::AcceptRewind { name: _, from: _, to: _ } => Ok(Proposal::nothing(app)),
    }
}
