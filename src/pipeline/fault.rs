//! Named points at which tests end the process as `kill -9` does, one before each step of the line. Without the feature `faults` a point is
//! nothing.
//!
//! Not here: the tests (`tests/live`).

/// Ends the process here if `WILD_FAULT` names this point; says so first in the file that `WILD_FAULT_FILE` names.
#[cfg(feature = "faults")]
pub(super) fn point(name: &str) {
    if std::env::var("WILD_FAULT").as_deref() != Ok(name) {
        return;
    }
    if let Ok(file) = std::env::var("WILD_FAULT_FILE") {
        // A test reads this back, so that a point that is never reached cannot pass for one that was survived.
        let _ = std::fs::write(file, name);
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Does nothing.
#[cfg(not(feature = "faults"))]
pub(super) fn point(_name: &str) {}
