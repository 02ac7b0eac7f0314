//! Options of libgit2 for the whole process: the one file of the crate with `unsafe`.
//!
//! Not here: settings of one repository (`repository.rs`).
#![expect(unsafe_code, reason = "libgit2's search paths and its cache have only unsafe setters")]

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::ConfigLevel;

use super::error::{Error, git, io};

/// Settings that libgit2 gets for every repository it opens. Its default leaves loose objects and refs unsynced, so
/// that a committed change could be lost with the power. They never go into a repository's own config, because git
/// prints a deprecation warning for this key on every command of the user.
const SETTINGS: &str = "[core]\n\tfsyncObjectFiles = true\n";

/// Bytes of small objects that libgit2 keeps for the whole process. Its default of 256 MiB is filled by a push of 10 MiB; what is asked for more than
/// once we keep ourselves.
const CACHE_BYTES: isize = 8 * 1024 * 1024;

/// The file with [`SETTINGS`]: in memory only, alive as long as the process.
static SETTINGS_FILE: OnceLock<std::fs::File> = OnceLock::new();

/// Empties the search paths of libgit2, so that no configuration of the user or the system changes what we do, and bounds its cache.
///
/// Must be called first in `main`, before any thread exists; tests call it as well. Calling it again changes nothing.
pub fn set_options() -> Result<(), Error> {
    static ONCE: OnceLock<Result<(), git2::Error>> = OnceLock::new();
    let emptied = ONCE.get_or_init(|| empty_search_paths().and_then(|()| bound_cache()));
    emptied.as_ref().map_err(|error| git("set the options of libgit2")(git2::Error::from_str(error.message()))).copied()
}

fn empty_search_paths() -> Result<(), git2::Error> {
    for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::ProgramData] {
        // SAFETY: the setter writes a process-wide variable of libgit2. The cell above runs this once, and no
        // repository is opened before, because opening one calls `set_options` itself.
        unsafe { git2::opts::set_search_path(level, "")? };
    }
    Ok(())
}

fn bound_cache() -> Result<(), git2::Error> {
    // SAFETY: the setter writes a process-wide variable of libgit2, once and before any repository is opened, as above.
    unsafe { git2::opts::set_cache_max_size(CACHE_BYTES) }
}

/// Returns the path under which libgit2 reads [`SETTINGS`].
pub(super) fn settings_path() -> Result<PathBuf, Error> {
    set_options()?;
    let attempt = || "write the settings of libgit2";
    let file = match SETTINGS_FILE.get() {
        Some(file) => file,
        None => {
            let descriptor = rustix::fs::memfd_create("wild-git-settings", rustix::fs::MemfdFlags::CLOEXEC)
                .map_err(|error| io(attempt())(error.into()))?;
            let mut file = std::fs::File::from(descriptor);
            file.write_all(SETTINGS.as_bytes()).map_err(io(attempt()))?;
            SETTINGS_FILE.get_or_init(|| file)
        }
    };
    Ok(Path::new("/proc/self/fd").join(file.as_raw_fd().to_string()))
}
