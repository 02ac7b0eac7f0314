//! A library that counts what the daemon does to files and to other hosts, and ends it or fails it at a chosen one.
//!
//! Its source, `tests/parts/faultfs/faultfs.c`, says what counts. Not here: what is expected afterwards (`kills.rs`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::child::Variables;

/// What happens at the chosen operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mishap {
    /// The process ends as by `kill -9`, before the operation.
    Kill,
    /// No space is left, from this operation on.
    Full,
}

/// How files below the roots are locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locking {
    /// As on a network file system: like a range, and only by who may write the file.
    LikeRanges,
    /// Not at all: no server of locks answers.
    Never,
}

/// Numbers that are shared with the daemon; `faultfs.c` says what each is.
const NUMBERS: u64 = 6;

/// What is shared with the daemon.
pub(crate) struct Shim {
    control: File,
    hit: PathBuf,
}

impl Shim {
    /// Makes the file that is shared with a daemon below a directory; nothing is chosen yet.
    pub(crate) fn new(root: &Path) -> Self {
        std::fs::create_dir_all(root).unwrap();
        let control = File::options().read(true).write(true).create_new(true).open(root.join("faultfs")).unwrap();
        control.set_len(NUMBERS * 8).unwrap();
        Self { control, hit: root.join("fault.hit") }
    }

    /// Returns what the environment of the daemon needs: its repository and its state count.
    pub(crate) fn environment(root: &Path) -> Variables {
        let roots = format!("{}:{}", root.join("home").display(), root.join("state").display());
        vec![
            ("LD_PRELOAD", library().into()),
            ("FAULTFS_CONTROL", root.join("faultfs").into()),
            ("FAULTFS_ROOTS", roots.into()),
            ("FAULTFS_HIT", root.join("fault.hit").into()),
        ]
    }

    /// Returns how many operations there were.
    pub(crate) fn count(&self) -> u64 {
        self.number(0)
    }

    /// Chooses the n-th operation from now on.
    pub(crate) fn arm(&self, n: u64, mishap: Mishap) {
        for file in [self.hit.clone(), self.met()] {
            let _ = std::fs::remove_file(file);
        }
        let (what, goes_on) = match mishap {
            Mishap::Kill => (0, 0),
            Mishap::Full => (1, 1),
        };
        self.set(2, what);
        self.set(3, goes_on);
        self.set(1, self.count() + n);
    }

    /// Has the daemon's clock of the day be wrong by so many seconds from now on.
    pub(crate) fn step_clock(&self, seconds: i64) {
        self.set(4, seconds.cast_unsigned());
    }

    /// Has files be locked like this from now on.
    pub(crate) fn lock(&self, locking: Locking) {
        let how = match locking {
            Locking::LikeRanges => 1,
            Locking::Never => 2,
        };
        self.set(5, how);
    }

    /// Chooses none. False if the chosen one was reached before.
    pub(crate) fn disarm(&self) -> bool {
        self.set(1, 0);
        self.place().is_none()
    }

    /// Returns the operation that was reached, with its place.
    pub(crate) fn place(&self) -> Option<String> {
        std::fs::read_to_string(&self.hit).or_else(|_| std::fs::read_to_string(self.met())).ok()
    }

    /// Returns where the operation stands once a test knows that the daemon died of it.
    fn met(&self) -> PathBuf {
        self.hit.with_extension("met")
    }

    fn number(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.control.read_exact_at(&mut bytes, at * 8).unwrap();
        u64::from_ne_bytes(bytes)
    }

    fn set(&self, at: u64, number: u64) {
        self.control.write_all_at(&number.to_ne_bytes(), at * 8).unwrap();
    }
}

/// Returns the library, which is compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parts/faultfs/faultfs.c");
        let into = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (part, library) = (into.join(format!("faultfs.{}", std::process::id())), into.join("faultfs.so"));
        let mut compiled = Command::new("cc");
        compiled.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&part).arg(&source).arg("-ldl");
        let output = compiled.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::rename(part, &library).unwrap();
        library
    })
}
