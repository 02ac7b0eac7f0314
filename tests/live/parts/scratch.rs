//! A private directory and the guard that empties it: a small shell that waits for the end of the test binary.
//!
//! The guard reads process groups from a pipe that only we hold. When it closes, because the [`Scratch`] was dropped, the test ended
//! without dropping its statics, panicked, got a Ctrl-C or was killed, the guard kills every group and removes the directory. It
//! runs in a group of its own, so a Ctrl-C on the terminal does not reach it. A parent-death signal would not do: it fires when the
//! thread that started the program ends, and a shared control plane outlives the thread of the first test.
//!
//! `WILD_KEEP=1` keeps the directory, with all logs, and prints where it is.
//!
//! Not here: starting programs (`process.rs`).

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Reads `PID` lines until the end of its input, then kills these groups and removes the directory `$1`.
const GUARD: &str = r#"
trap '' HUP INT TERM
groups=
while read -r group; do groups="$groups $group"; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
[ -z "$2" ] || exit 0
# What was just killed may still have been writing.
for round in 1 2 3 4 5; do rm -rf -- "$1" && exit 0; sleep 0.2; done
"#;

/// A private directory that ends with everything that was started in it.
pub(crate) struct Scratch {
    directory: PathBuf,
    guard: Mutex<Guard>,
}

struct Guard {
    shell: Child,
    groups: Option<ChildStdin>,
}

impl Scratch {
    /// Makes the directory, readable by nobody else, and starts its guard.
    #[expect(clippy::print_stderr, reason = "who asks for a directory to be kept wants to know where it is")]
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let prefix = format!("wild-{name}-");
        let made = tempfile::Builder::new().prefix(&prefix).tempdir();
        let directory = made.map_err(|error| format!("make a private directory for {name}: {error}"))?.keep();
        std::fs::create_dir(directory.join("home")).map_err(|error| format!("make home of {name}: {error}"))?;
        let keep = std::env::var("WILD_KEEP").unwrap_or_default();
        if !keep.is_empty() {
            eprintln!("kept: {}", directory.display());
        }
        let mut shell = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard"])
            .arg(&directory)
            .arg(keep)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("start the guard of {name}: {error}"))?;
        let groups = shell.stdin.take();
        Ok(Self { directory, guard: Mutex::new(Guard { shell, groups }) })
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// Tells the guard of a process group that ends with the directory.
    pub(super) fn guard(&self, group: u32) -> Result<(), String> {
        let mut guard = self.guard.lock().map_err(|_| "the guard is poisoned".to_owned())?;
        let pipe = guard.groups.as_mut().ok_or("the guard is gone")?;
        writeln!(pipe, "{group}").map_err(|error| format!("tell the guard: {error}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(guard) = self.guard.get_mut() {
            guard.groups = None;
            // It ends by itself: nothing that it does can hang.
            guard.shell.wait().ok();
        }
    }
}
