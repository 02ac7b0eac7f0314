//! `/livez`, `/readyz`, `/healthz`: whether the loop turns and whether work can be done. Public, and therefore without names.
//!
//! A cluster that does not answer is a state of its instance and no reason to restart us. Not here: health of apps (`apps.rs`).

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::Host;
use crate::daemon::Daemon;

/// Whether the loop turns.
pub(super) async fn livez(State(daemon): Host, RawQuery(query): RawQuery) -> Response {
    answer(&[("loop", check(&daemon, Check::Alive))], query.as_deref())
}

/// Whether work can be done.
pub(super) async fn readyz(State(daemon): Host, RawQuery(query): RawQuery) -> Response {
    answer(&[("instances", check(&daemon, Check::Ready))], query.as_deref())
}

/// Both.
pub(super) async fn healthz(State(daemon): Host, RawQuery(query): RawQuery) -> Response {
    let checks = [("loop", check(&daemon, Check::Alive)), ("instances", check(&daemon, Check::Ready))];
    answer(&checks, query.as_deref())
}

#[derive(Clone, Copy)]
enum Check {
    Alive,
    Ready,
}

/// Returns how many instances pass, out of how many.
fn check(daemon: &Daemon, check: Check) -> (usize, usize) {
    let instances = daemon.instances();
    let passing = instances.iter().filter(|handle| match check {
        Check::Alive => handle.is_alive().is_ok(),
        Check::Ready => handle.is_ready().is_ok(),
    });
    (passing.count(), instances.len())
}

fn answer(checks: &[(&str, (usize, usize))], query: Option<&str>) -> Response {
    let fine = checks.iter().all(|(_, (passing, all))| passing == all);
    let verbose =
        query.is_some_and(|query| query.split('&').any(|part| part == "verbose" || part.starts_with("verbose=")));
    let mut text = String::new();
    if verbose || !fine {
        for (name, (passing, all)) in checks {
            let sign = if passing == all { "[+]" } else { "[-]" };
            text.push_str(&format!("{sign}{name} {passing} of {all} ok\n"));
        }
    }
    text.push_str(if fine { "ok\n" } else { "not ok\n" });
    let status = if fine { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instance_that_is_not_ready_is_counted_and_not_named() {
        assert_eq!(answer(&[("instances", (1, 2))], None).status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer(&[("instances", (2, 2))], Some("verbose")).status(), StatusCode::OK);
    }
}
