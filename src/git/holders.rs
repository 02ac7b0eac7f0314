//! Who may be behind a lock: living processes that have it open, and git programs at work in the repository, found through `/proc`.
//!
//! Git closes most of its locks at once and holds them by their names alone, so that nobody has a lock open proves nothing while a git
//! program works there. What cannot be seen is taken for alive. Not here: what becomes of a lock (`locks.rs`).

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the system shows its processes.
const PROC: &str = "/proc";
/// What the system calls the namespace in which every process is seen.
const EVERYBODY: &str = "pid:[4026531836]";
/// Bytes that are read of what a process was started with.
const MAX_READ_BYTES: u64 = 256 * 1024;
/// Programs that hold a lock by its name alone; what begins with `git` is one of them.
const BY_NAME: [&str; 3] = ["ein", "gix", "jj"];

/// Why a lock is taken for alive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Holder {
    /// A process has it open.
    Open(Process),
    /// A git program works in the repository, and may hold it with nothing open.
    Works(Process),
    /// A process that may hold it does not show what it does.
    Hidden(Process),
    /// Not all processes can be seen from here.
    Unseen(&'static str),
}

/// A process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Process {
    pid: u32,
    program: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.program, self.pid)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(process) => write!(f, "{process} has it open"),
            Self::Works(process) => write!(f, "{process} works in the repository"),
            Self::Hidden(process) => write!(f, "{process} may hold it and does not show what it does"),
            Self::Unseen(why) => write!(f, "whether a living process holds it cannot be seen: {why}"),
        }
    }
}

/// Looks for whoever may hold a lock of a repository; nothing means that nobody can be behind it. `places` are its directories.
pub(super) fn holder(lock: &Metadata, places: &[&Path]) -> Option<Holder> {
    Sight { proc: Path::new(PROC), own: std::process::id() }.holder(lock, places)
}

/// Returns whether a living process has a file open, or that cannot be seen.
pub(super) fn is_open(file: &Metadata, places: &[&Path]) -> bool {
    !matches!(holder(file, places), None | Some(Holder::Works(_)))
}

/// A look at all processes.
struct Sight<'a> {
    proc: &'a Path,
    own: u32,
}

impl Sight<'_> {
    fn holder(&self, lock: &Metadata, places: &[&Path]) -> Option<Holder> {
        let places: Vec<PathBuf> = places.iter().filter_map(|place| place.canonicalize().ok()).collect();
        let Ok(entries) = std::fs::read_dir(self.proc) else { return Some(Holder::Unseen("/proc cannot be read")) };
        let mut found = self.blind(lock, &places).map(Holder::Unseen);
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            match self.of(pid, lock, &places) {
                // Who has it open is worth more than who might.
                Some(open @ Holder::Open(_)) => return Some(open),
                other => found = found.or(other),
            }
        }
        found
    }

    /// Returns why some processes that may hold the lock are not even listed.
    fn blind(&self, lock: &Metadata, places: &[PathBuf]) -> Option<&'static str> {
        let own = self.proc.join("self");
        let Ok(namespace) = std::fs::read_link(own.join("ns/pid")) else { return Some("/proc shows no namespaces") };
        let mounts = read(&own.join("mountinfo"));
        let mounts = String::from_utf8_lossy(&mounts);
        if namespace != Path::new(EVERYBODY) && !places.iter().all(|place| is_own(&mounts, place)) {
            return Some("processes outside of this container are not shown, and the repository may be theirs too");
        }
        let hides = mounts
            .lines()
            .any(|line| line.contains(" - proc ") && line.contains("hidepid=") && !line.contains("hidepid=0"));
        let is_ours = lock.uid() == rustix::process::geteuid().as_raw();
        (hides && !is_ours).then_some("/proc is mounted with hidepid, and the lock is of another user")
    }

    /// Returns whether one process may hold the lock.
    fn of(&self, pid: u32, lock: &Metadata, places: &[PathBuf]) -> Option<Holder> {
        let at = self.proc.join(pid.to_string());
        let process = || Process { pid, program: program(&at) };
        let open = match std::fs::read_dir(at.join("fd")) {
            Ok(open) => open,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let may_hold = is_git(&program(&at), &["wild"]) && runs_as(&at, lock.uid());
                return may_hold.then(|| Holder::Hidden(process()));
            }
            // It has ended.
            Err(_) => return None,
        };
        let is_git = pid != self.own && is_git(&program(&at), &[]);
        let mut works = is_git && works_in(&at, places);
        for descriptor in open.flatten().map(|entry| entry.path()) {
            if std::fs::metadata(&descriptor).is_ok_and(|found| found.dev() == lock.dev() && found.ino() == lock.ino())
            {
                return Some(Holder::Open(process()));
            }
            works = works || is_git && std::fs::read_link(&descriptor).is_ok_and(|path| is_within(&path, places));
        }
        works.then(|| Holder::Works(process()))
    }
}

/// Returns the name of a program, which everybody may see.
fn program(at: &Path) -> String {
    String::from_utf8_lossy(&read(&at.join("comm"))).trim().chars().filter(|c| !c.is_control()).collect()
}

/// Returns whether a program is one that takes locks of git.
fn is_git(program: &str, others: &[&str]) -> bool {
    program.starts_with("git") || BY_NAME.contains(&program) || others.contains(&program)
}

/// Returns whether a process has the rights of a user in any way.
fn runs_as(at: &Path, user: u32) -> bool {
    let status = read(&at.join("status"));
    let status = String::from_utf8_lossy(&status);
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // One that ended meanwhile has none.
    users.is_some_and(|users| users.split_whitespace().any(|one| one.parse() == Ok(user)))
}

/// Returns whether a process stands in the repository or was told to work there.
fn works_in(at: &Path, places: &[PathBuf]) -> bool {
    let stands = std::fs::read_link(at.join("cwd")).ok();
    if stands.as_ref().is_some_and(|stands| is_within(stands, places)) {
        return true;
    }
    let (arguments, variables) = (read(&at.join("cmdline")), read(&at.join("environ")));
    let words = arguments.split(|byte| *byte == 0).chain(variables.split(|byte| *byte == 0));
    words.filter(|word| !word.is_empty()).any(|word| {
        let value = word.splitn(2, |byte| *byte == b'=').last().unwrap_or(word);
        [word, value].into_iter().any(|text| {
            let named = Path::new(std::ffi::OsStr::from_bytes(text));
            let path = stands.as_ref().map_or_else(|| named.to_owned(), |stands| stands.join(named));
            named.components().count() > 0 && path.canonicalize().is_ok_and(|path| is_within(&path, places))
        })
    })
}

fn is_within(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// Returns whether a place lies on the file system that a container has for itself.
fn is_own(mounts: &str, place: &Path) -> bool {
    let mounts = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        Some((before.split(' ').nth(4)?, after.split(' ').next()?))
    });
    let nearest = mounts.filter(|(point, _)| place.starts_with(point)).max_by_key(|(point, _)| point.len());
    nearest.is_some_and(|(_, kind)| kind == "overlay")
}

/// Reads a file of `/proc`; nothing if it cannot be read.
fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What was read before an error counts.
        drop(file.take(MAX_READ_BYTES).read_to_end(&mut bytes));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/proc` of our own making, beside a repository with a lock.
    struct Fake {
        directory: tempfile::TempDir,
    }

    impl Fake {
        fn new(namespace: &str, mounts: &str) -> Self {
            let fake = Self { directory: tempfile::tempdir().unwrap() };
            std::fs::create_dir_all(fake.path("proc/self/ns")).unwrap();
            std::fs::create_dir_all(fake.path("home.git/refs/heads")).unwrap();
            symlink(namespace, fake.path("proc/self/ns/pid")).unwrap();
            std::fs::write(
                fake.path("proc/self/mountinfo"),
                mounts.replace("ROOT", &fake.path("").display().to_string()),
            )
            .unwrap();
            std::fs::write(fake.path("home.git/refs/heads/main.lock"), "").unwrap();
            fake
        }

        fn path(&self, path: &str) -> PathBuf {
            self.directory.path().join(path)
        }

        /// Adds a process that has files open and was started with words.
        fn running(&self, (pid, program): (u32, &str), cwd: &str, open: &[&str], words: &str) {
            let at = self.path("proc").join(pid.to_string());
            std::fs::create_dir_all(at.join("fd")).unwrap();
            std::fs::write(at.join("comm"), format!("{program}\n")).unwrap();
            std::fs::write(at.join("cmdline"), words.replace("ROOT", &self.path("").display().to_string())).unwrap();
            std::fs::write(at.join("status"), "Name:\tx\nUid:\t7\t7\t7\t7\n").unwrap();
            symlink(self.path(cwd), at.join("cwd")).unwrap();
            for (number, file) in open.iter().enumerate() {
                symlink(self.path(file), at.join("fd").join(number.to_string())).unwrap();
            }
        }

        fn said(&self) -> Option<String> {
            let lock = std::fs::symlink_metadata(self.path("home.git/refs/heads/main.lock")).unwrap();
            let sight = Sight { proc: &self.path("proc"), own: 1 };
            sight.holder(&lock, &[&self.path("home.git")]).map(|holder| holder.to_string())
        }
    }

    #[test]
    fn who_has_the_very_file_open_holds_it_under_whatever_name() {
        let fake = Fake::new(EVERYBODY, "");
        fake.running((5, "cat"), "home.git", &["home.git/refs"], "");
        assert_eq!(fake.said(), None, "a program that is no git holds nothing by standing there");
        std::fs::hard_link(fake.path("home.git/refs/heads/main.lock"), fake.path("other")).unwrap();
        fake.running((6, "vim"), "", &["home.git/refs", "other"], "");
        assert_eq!(fake.said().unwrap(), "vim (pid 6) has it open");
    }

    #[test]
    fn a_git_program_at_work_in_the_repository_may_hold_it_with_nothing_open() {
        for (cwd, open, words) in [
            ("home.git", &[][..], ""),
            ("home.git/refs", &[], ""),
            ("", &["home.git/refs"], ""),
            ("", &[], "git\0--git-dir\0ROOT/home.git\0pack-refs"),
            ("", &[], "git\0--git-dir=home.git\0pack-refs"),
            ("", &[], "git\0-C\0./home.git\0gc"),
        ] {
            let fake = Fake::new(EVERYBODY, "");
            fake.running((8, "git-receive-pac"), cwd, open, words);
            assert_eq!(fake.said().unwrap(), "git-receive-pac (pid 8) works in the repository", "{cwd} {words}");
        }
        let fake = Fake::new(EVERYBODY, "");
        fake.running((8, "git"), "", &[], "git\0--git-dir=other.git\0gc\0home");
        fake.running((1, "wild"), "home.git", &["home.git/refs"], "");
        assert_eq!(fake.said(), None);
    }

    #[test]
    fn what_cannot_be_seen_is_taken_for_alive() {
        let container = "pid:[4026532000]";
        let said = |namespace: &str, mounts: &str| Fake::new(namespace, mounts).said();
        let unseen = "whether a living process holds it cannot be seen: ";
        for mounts in ["1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / ROOT rw - ext4 /dev/vda rw\n", "", "odd\n"] {
            assert!(said(container, mounts).is_some_and(|said| said.starts_with(unseen)), "{mounts}");
        }
        assert_eq!(
            said(container, "1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /srv rw - ext4 /dev/vda rw\n"),
            None
        );
        let fake = Fake::new(EVERYBODY, "");
        std::fs::remove_dir_all(fake.path("proc/self")).unwrap();
        assert_eq!(fake.said().unwrap(), format!("{unseen}/proc shows no namespaces"));
        std::fs::remove_dir_all(fake.path("proc")).unwrap();
        assert_eq!(fake.said().unwrap(), format!("{unseen}/proc cannot be read"));
    }

    #[test]
    fn a_process_has_the_rights_of_each_user_that_it_names() {
        let fake = Fake::new(EVERYBODY, "");
        fake.running((9, "git"), "", &[], "");
        let at = fake.path("proc/9");
        assert!(runs_as(&at, 7) && !runs_as(&at, 70) && !runs_as(&fake.path("proc/10"), 7));
        assert!(
            is_git("git-upload-pack", &[]) && is_git("wild", &["wild"]) && !is_git("wild", &[]) && !is_git("sh", &[])
        );
    }
}
