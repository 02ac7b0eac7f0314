//! The `wild` binary: parses, runs, returns the exit code.
//!
//! Not here: everything else.

use std::process::ExitCode;

use rewild::cli::{self, CommandError, Motion, Output, Standard, Surroundings};
use rewild::{base, git, settings};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Before anything is made: whatever that is, it is its user's alone.
    settings::keep_private();
    let environment = Surroundings::read();
    let motion = if environment.is_animated() { Motion::Animated } else { Motion::Plain };
    let mut out = Standard::new(motion);
    if let Err(error) = git::become_child(std::env::args_os()) {
        return fail(&mut out, "start git", &base::error::chain(&error));
    }
    // Both are choices for the whole process, so they come before any thread.
    if let Err(error) = git::set_options() {
        return fail(&mut out, "prepare git", &base::error::chain(&error));
    }
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return fail(&mut out, "prepare TLS", "another provider is installed");
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(cli::run(std::env::args_os().collect(), environment, &mut out)).into(),
        Err(error) => fail(&mut out, "start the runtime", &error.to_string()),
    }
}

fn fail(out: &mut dyn Output, what: &str, because: &str) -> ExitCode {
    let error = CommandError::new(what, because, "free memory or processes, then again");
    error.write(out);
    error.code.into()
}
