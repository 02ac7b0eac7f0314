//! Real programs that belong to the test that started them.
//!
//! [`ControlPlane`] is etcd, API server, controllers and fake nodes; [`Gitea`] a forge; [`KeycloakServer`] a Keycloak; [`kustomize`] and [`Gomplate`] answer what the
//! real tools make of an input. Everything listens on loopback only, on ports of its own, lives in a private directory, and is
//! ended with its process group when it is dropped and also when the test binary dies in any way (`scratch.rs`).
//!
//! Not here: what is tested with them.

mod api;
mod audit;
mod caretaker;
mod control_plane;
mod gitea;
mod keycloak;
mod pki;
mod ports;
mod process;
mod scratch;
mod tools;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(crate) use control_plane::{ControlPlane, Shape, Shared};
pub(crate) use gitea::Gitea;
pub(crate) use keycloak::{KeycloakServer, USER as KEYCLOAK_USER};
pub(crate) use process::{Process, command};
pub(crate) use scratch::Scratch;
pub(crate) use tools::{Gomplate, Yaml, kustomize};

/// How long a part may take to become ready; ends a hung test, is no assertion.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(90);
/// Pause between two looks at a condition.
const POLL: Duration = Duration::from_millis(25);

/// Returns the directory of a part, or nothing after having said why the test is skipped.
///
/// # Panics
/// When the part is missing and `WILD_REQUIRE_PARTS=1` says that it must not be.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn part(name: &str) -> Option<PathBuf> {
    let variable = format!("WILD_PART_{}", name.to_uppercase());
    let found = std::env::var_os(&variable).map(PathBuf::from).filter(|path| path.is_dir());
    if found.is_none() {
        let required = std::env::var_os("WILD_REQUIRE_PARTS").is_some_and(|value| value == "1");
        assert!(!required, "the part {name} is missing: {variable} names no directory; run tests/parts/build {name}");
        eprintln!("skipped: the part {name} is not there, because {variable} names no directory; tests/run sets it");
    }
    found
}

/// Returns whether recorded outputs are to be written anew instead of compared.
pub(crate) fn is_recording() -> bool {
    std::env::var_os("WILD_RECORD").is_some_and(|value| value == "1")
}

/// Ends a test with what went wrong.
#[track_caller]
#[expect(clippy::panic, reason = "this is how a helper of a test fails it")]
pub(crate) fn fail(why: &str) -> ! {
    panic!("{why}")
}

/// Waits until a condition gives a value.
///
/// # Panics
/// At the deadline, with what was waited for.
pub(crate) fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    try_until(what, START_DEADLINE, condition).unwrap_or_else(|why| fail(&why))
}

/// Waits until a condition gives a value, or says at the deadline what was waited for.
fn try_until<T>(what: &str, deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> Result<T, String> {
    let begun = Instant::now();
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if begun.elapsed() > deadline {
            return Err(format!("{what}: not within {} s", deadline.as_secs()));
        }
        // Other programs cannot wake us: their conditions are looked at again after a pause.
        std::thread::park_timeout(POLL);
    }
}
