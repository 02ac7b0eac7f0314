//! The API under `/api/v1`, health, metrics and the status page, over a unix socket, a loopback port, or inside this process.
//!
//! One path: the command line, in any mode, speaks these routes. A write becomes a stored request before it is answered; with
//! `?dryRun=true` it is answered with what it would do. Not here: any decision about apps (`compile`, `plan`), when a pass begins
//! (`daemon`).

mod answer;
mod apps;
mod caller;
mod changes;
mod diff;
mod direct;
mod directories;
mod health;
mod instances;
mod listen;
mod live;
mod logs;
mod metrics;
mod operations;
mod page;
mod plans;
mod problem;
mod secrets;
mod seen;
mod serve;
mod streams;
mod tree;
mod undo;

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post, put};

use crate::base::there_are;
use crate::daemon::Daemon;
use problem::Problem;

pub use direct::{Direct, DirectRequest};
pub use listen::{Error, Listeners, bind};
pub use serve::serve;

/// Largest body of a request.
const BODY_LIMIT: usize = 1024 * 1024;
/// Longest time for one answer; long work is answered at once and goes on as an operation.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Returns all routes of a daemon. A request that says nothing about its caller is taken for one from the network.
pub fn router(daemon: Daemon) -> Router {
    let instance = Router::new()
        .merge(apps())
        .route("/", get(instances::show))
        .route("/pushed", post(instances::pushed))
        .route("/updates/{app}", get(apps::update).post(changes::update))
        .route("/updates/{app}/resolve", post(changes::resolve))
        .route("/updates/{app}/learn", post(changes::learn))
        .route("/updates/{app}/forget", post(changes::forget))
        .route("/updates/{app}/remembered", get(apps::remembered))
        .route("/updates/{app}/abort", post(changes::abort))
        .route("/clusters", get(instances::asked_clusters))
        .route("/checks", get(instances::checks))
        .route("/clusters/{cluster}/accept", post(instances::accept_cluster))
        .route("/clusters/{cluster}/known", axum::routing::delete(instances::forget_cluster))
        .route("/plan", get(plans::all))
        .route("/secrets", get(secrets::list))
        .route("/secrets/{path}", put(secrets::set))
        .route("/secrets/{path}/generate", post(secrets::generate))
        .route("/drift", get(apps::drift))
        .route("/drift/{app}/revert", post(changes::revert_drift))
        .route("/drift/{app}/adopt", post(changes::adopt_drift))
        .route("/drift/{app}/ignore", post(changes::ignore_drift))
        .route("/events", get(streams::events))
        .route("/operations", get(operations::list))
        .route("/operations/{id}", get(operations::show))
        .route("/operations/{id}/stream", get(streams::operation))
        .route("/operations/{id}/cancel", post(operations::cancel))
        .route("/operations/{id}/approve", post(operations::approve))
        .route("/operations/{id}/archive", get(operations::archive))
        .route("/operations/{id}/undo", post(undo::undo))
        .route("/directories", get(directories::list).post(changes::add_directory))
        .route("/directories/fetch", post(directories::fetch))
        .route("/directories/{name}/accept", post(changes::accept_rewind))
        .route("/statuses/{commit}", get(instances::statuses));
    let api = Router::new()
        .route("/status", get(instances::daemon_status))
        .route("/instances", get(instances::list))
        .nest("/instances/{instance}", instance);
    Router::new()
        .nest("/api/v1", api)
        .route("/", get(page::page))
        .route("/style.css", get(page::style))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/healthz", get(health::healthz))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(from_fn(in_time))
        .layer(from_fn_with_state(daemon.clone(), caller::admit))
        .with_state(daemon)
}

/// Returns the routes of the apps of an instance.
fn apps() -> Router<Daemon> {
    Router::new()
        .route("/apps", get(apps::list).post(changes::add))
        .route("/apps/{app}", get(apps::show).delete(changes::delete))
        .route("/apps/{app}/status", get(apps::status))
        .route("/apps/{app}/config", patch(changes::config).get(apps::config))
        .route("/apps/{app}/deploy", post(changes::deploy))
        .route("/apps/{app}/reconcile", post(changes::reconcile))
        .route("/apps/{app}/grants", post(changes::grant))
        .route("/apps/{app}/suspend", post(changes::suspend))
        .route("/apps/{app}/resume", post(changes::resume))
        .route("/apps/{app}/move", post(changes::move_app))
        .route("/apps/{app}/rollback", post(changes::rollback))
        .route("/apps/{app}/adopt", post(changes::adopt))
        .route("/apps/{app}/eject", post(changes::eject))
        .route("/apps/{app}/plan", get(plans::of_app))
        .route("/apps/{app}/diff", get(diff::diff))
        .route("/apps/{app}/history", get(apps::history))
        .route("/apps/{app}/events", get(apps::events))
        .route("/apps/{app}/logs", get(logs::logs))
        .route("/apps/{app}/tree", get(tree::tree))
}

async fn no_such_route(request: Request) -> Problem {
    let what = format!("{} {}", request.method(), request.uri().path());
    Problem::new(404, what, "there is no such route", "wild --help")
}

async fn no_such_method(request: Request) -> Problem {
    let what = format!("{} {}", request.method(), request.uri().path());
    Problem::new(405, what, "the route has no such method", "wild --help")
}

/// Ends an answer that takes too long.
async fn in_time(request: Request, next: Next) -> Response {
    let what = format!("{} {}", request.method(), request.uri().path());
    match tokio::time::timeout(REQUEST_DEADLINE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let because = format!("it was not answered within {} s", REQUEST_DEADLINE.as_secs());
            Problem::new(504, what, because, "wild status").with_exit_code(5).into_response()
        }
    }
}

/// Returns an instance by its name in a path.
fn instance(daemon: &Daemon, name: &str) -> Result<crate::daemon::Handle, Problem> {
    daemon.instance(name).ok_or_else(|| {
        if let Some(closed) = daemon.closed().iter().find(|closed| closed.entry.name.as_str() == name) {
            return Problem::of_refusal(&closed.refusal);
        }
        let names: Vec<String> = daemon.instances().iter().map(|handle| handle.instance().name.to_string()).collect();
        let meant = crate::base::nearest::nearest(name, names.iter().map(String::as_str));
        let because = match meant {
            Some(meant) => format!("there is no instance {name}; did you mean {meant}?"),
            None => format!("there is no instance {name}; {}", there_are(&names)),
        };
        let remedy = match meant.or(names.first().map(String::as_str)) {
            Some(there) => format!("wild status --instance {there}"),
            None => "wild init my-cloud".to_owned(),
        };
        Problem::new(404, format!("find the instance {name}"), because, remedy)
    })
}

/// The daemon that a handler answers for.
type Host = State<Daemon>;

#[cfg(test)]
mod tests;
