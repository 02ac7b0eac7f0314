//! What a child does between its start and its program, such as git: it bounds itself, then becomes that.
//!
//! Only the child itself can ask to die with its parent and give up new privileges, and both last through `exec`. So the daemon starts
//! its own binary, which does that first and nothing else. A process that is not that binary, such as a test, starts the program as it is.
//! Descriptors need no closing: all of ours close on `exec`.
//!
//! Not here: environment, deadline and process group of a child (`child.rs`).

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};

use super::error::{Error, io};

/// The first argument of a process that is to become another program.
const CHILD: &str = "__child";
/// Bytes of address space of a child: a pack and what it unfolds to are mapped.
const MAX_ADDRESS_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of a file that a child writes: the largest fetch.
const MAX_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// Seconds of processor time of a child.
const MAX_CPU_SECONDS: u64 = 600;
/// Descriptors that a child may hold.
const MAX_DESCRIPTORS: u64 = 256;

/// Our own binary, also after its file was replaced.
const OWN: &str = "/proc/self/exe";

/// Whether our own binary knows what [`CHILD`] means.
static LAUNCHES: AtomicBool = AtomicBool::new(false);

/// Becomes the program if this process was started for that, and otherwise notes that children start with this binary.
///
/// Must be called first in `main`, before any thread exists. Returns only where this process is no child, or with the error that kept it
/// from becoming that program.
pub fn become_child(args: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let mut args = args.into_iter().skip(1);
    if args.next().as_deref() != Some(CHILD.as_ref()) {
        LAUNCHES.store(true, Ordering::Relaxed);
        return Ok(());
    }
    let parent = args.next().and_then(|parent| parent.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let memory = args.next().and_then(|memory| memory.to_str()?.parse().ok()).unwrap_or(0);
    bound(parent, memory).map_err(io("bound a child"))?;
    let Some(program) = args.next() else { return Ok(()) };
    Err(io("become the program")(Command::new(program).args(args).exec()))
}

/// Returns the command that a program is started with, and that may hold so many bytes of memory of its own.
pub(super) fn program(name: &str, memory: u64) -> tokio::process::Command {
    if !LAUNCHES.load(Ordering::Relaxed) {
        return tokio::process::Command::new(name);
    }
    let mut command = tokio::process::Command::new(OWN);
    command.arg(CHILD).arg(std::process::id().to_string()).arg(memory.to_string()).arg(name);
    command
}

fn bound(parent: Option<Pid>, memory: u64) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that died before that will send nothing any more.
    if parent.is_none() || getppid() != parent {
        return Err(std::io::Error::other("its parent is gone"));
    }
    rustix::thread::set_no_new_privs(true)?;
    let limits = [
        (Resource::As, MAX_ADDRESS_BYTES),
        // Files that are mapped do not count here, so the packs that a child reads may be larger.
        (Resource::Data, memory),
        (Resource::Fsize, MAX_FILE_BYTES),
        (Resource::Cpu, MAX_CPU_SECONDS),
        (Resource::Nofile, MAX_DESCRIPTORS),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        // A system that allows less than that already is left as it is.
        let now = rustix::process::getrlimit(resource);
        let limit = now.maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
