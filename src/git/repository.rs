//! A repository on disk: opening, creating, and the way every call takes to the blocking lane.
//!
//! Not here: what is read from it and written to it (the sibling files, one noun each).

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use git2::{ConfigLevel, RepositoryInitOptions, RepositoryOpenFlags};
use tokio::sync::{Mutex, MutexGuard};

use super::error::{Error, git, io};
use super::objects::Known;
use super::{lane, options};

/// Settings written into repositories that we create, so that pushes through a user's own sshd obey them as well:
/// git's defaults sync nothing and check nothing.
const NEW_REPOSITORY: [(&str, &str); 12] = [
    ("core.fsync", "all"),
    ("core.fsyncMethod", "fsync"),
    ("core.useReplaceRefs", "false"),
    ("receive.fsckObjects", "true"),
    ("receive.maxInputSize", "104857600"),
    ("receive.autogc", "false"),
    ("receive.advertisePushOptions", "true"),
    ("receive.denyCurrentBranch", "updateInstead"),
    ("transfer.fsckObjects", "true"),
    ("http.getanyfile", "false"),
    ("http.uploadarchive", "false"),
    ("http.receivepack", "true"),
];
/// Refs that pushes neither see nor write.
const HIDDEN_REFS: [&str; 2] = ["refs/wild", "refs/notes/wild"];

/// Whether a new repository has files beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Objects and refs only; people clone and push.
    Bare,
    /// With a checked-out work tree, edited in place.
    WorkTree,
}

/// Open handles that are kept for reading: opening one costs more than most reads.
const IDLE_HANDLES: usize = 4;

/// A repository; clones share one lane for commits.
#[derive(Clone)]
pub struct Repository {
    place: Arc<Place>,
}

struct Place {
    git_dir: PathBuf,
    work_tree: Option<PathBuf>,
    writes: Mutex<()>,
    turn: Mutex<()>,
    idle: std::sync::Mutex<Vec<git2::Repository>>,
    known: Known,
    files_read: AtomicU64,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Repository").field(&self.place.git_dir).finish()
    }
}

impl Repository {
    /// Opens the repository at this very path; parent directories are not searched, the environment is not read.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        let attempt = format!("open repository {}", path.display());
        let path = path.to_owned();
        lane::run(attempt, move || open(&path).map(|repository| Self::at(&repository))).await
    }

    /// Creates a repository whose HEAD is the branch, without a commit. Fails if there is one already.
    pub async fn init(path: &Path, layout: Layout, branch: &str) -> Result<Self, Error> {
        let attempt = format!("create repository {}", path.display());
        let (path, branch) = (path.to_owned(), branch.to_owned());
        lane::run(attempt, move || init(&path, layout, &branch).map(|repository| Self::at(&repository))).await
    }

    /// Returns the work tree, or the repository itself if it is bare.
    pub fn path(&self) -> &Path {
        self.work_tree().unwrap_or(self.git_dir())
    }

    /// Returns the directory with objects and refs.
    pub fn git_dir(&self) -> &Path {
        &self.place.git_dir
    }

    /// Returns whether there is no work tree.
    pub fn is_bare(&self) -> bool {
        self.place.work_tree.is_none()
    }

    /// Returns the work tree, if there is one.
    pub fn work_tree(&self) -> Option<&Path> {
        self.place.work_tree.as_deref()
    }

    fn at(repository: &git2::Repository) -> Self {
        let work_tree = repository.workdir().map(Path::to_owned);
        Self {
            place: Arc::new(Place {
                git_dir: repository.path().to_owned(),
                work_tree,
                writes: Mutex::new(()),
                turn: Mutex::new(()),
                idle: std::sync::Mutex::default(),
                known: Known::default(),
                files_read: AtomicU64::new(0),
            }),
        }
    }

    /// Waits until nobody else commits: from looking where a branch is to its push all instances that live in here take turns.
    pub async fn turn(&self) -> MutexGuard<'_, ()> {
        self.place.turn.lock().await
    }

    /// Returns how many files were read from commits so far: work that follows a commit grows with what it changed.
    pub fn files_read(&self) -> u64 {
        self.place.files_read.load(Ordering::Relaxed)
    }

    /// Counts files that were read.
    pub(super) fn count_files(&self, files: usize) {
        self.place.files_read.fetch_add(u64::try_from(files).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Runs a call that reads objects and refs on the lane.
    ///
    /// It may get a handle that was opened earlier, which sees new objects and refs but keeps an index once it was read.
    pub(super) async fn read<T, W>(&self, attempt: String, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&git2::Repository, &Known) -> Result<T, Error> + Send + 'static,
    {
        let place = self.place.clone();
        lane::run(attempt, move || {
            let kept = place.idle().pop();
            let repository = kept.map_or_else(|| open(&place.git_dir), Ok)?;
            let result = work(&repository, &place.known);
            let mut idle = place.idle();
            // A handle that met trouble may hold on to a state of the repository that is gone.
            if result.is_ok() && idle.len() < IDLE_HANDLES {
                idle.push(repository);
            }
            drop(idle);
            result
        })
        .await
    }

    /// Runs a call on the lane with a handle of its own.
    pub(super) async fn run<T, W>(&self, attempt: String, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&git2::Repository, &Known) -> Result<T, Error> + Send + 'static,
    {
        let place = self.place.clone();
        lane::run(attempt, move || work(&open(&place.git_dir)?, &place.known)).await
    }

    /// Runs a writing call on the lane, one at a time for this repository.
    pub(super) async fn write<T, W>(&self, attempt: String, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&git2::Repository, &Known) -> Result<T, Error> + Send + 'static,
    {
        let deadline = lane::GIT_LOCAL_DEADLINE;
        let Ok(_turn) = tokio::time::timeout(deadline, self.place.writes.lock()).await else {
            return Err(Error::Deadline { attempt, deadline });
        };
        self.run(attempt, work).await
    }
}

impl Place {
    /// Returns the handles; whoever panicked with one in hand did not put it back.
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<git2::Repository>> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Opens a repository with our settings on top of its own.
pub(super) fn open(path: &Path) -> Result<git2::Repository, Error> {
    options::set_options()?;
    let attempt = || format!("open repository {}", path.display());
    let none: [&OsStr; 0] = [];
    let repository = git2::Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none).map_err(git(attempt()))?;
    let mut config = repository.config().map_err(git(attempt()))?;
    config.add_file(&options::settings_path()?, ConfigLevel::App, true).map_err(git(attempt()))?;
    repository.set_config(&config).map_err(git(attempt()))?;
    Ok(repository)
}

fn init(path: &Path, layout: Layout, branch: &str) -> Result<git2::Repository, Error> {
    options::set_options()?;
    let attempt = || format!("create repository {}", path.display());
    let reference = format!("refs/heads/{branch}");
    super::refs::check_name(&reference)?;
    let mut wanted = RepositoryInitOptions::new();
    wanted.bare(layout == Layout::Bare).no_reinit(true).mkpath(true).external_template(false).initial_head(branch);
    let repository = git2::Repository::init_opts(path, &wanted).map_err(git(attempt()))?;
    let mut config =
        repository.config().and_then(|config| config.open_level(ConfigLevel::Local)).map_err(git(attempt()))?;
    for (key, value) in NEW_REPOSITORY {
        config.set_str(key, value).map_err(git(attempt()))?;
    }
    for hidden in HIDDEN_REFS {
        config.set_multivar("receive.hideRefs", "^$", hidden).map_err(git(attempt()))?;
    }
    drop(config);
    let git_dir = repository.path().to_owned();
    drop(repository);
    for written in ["config", "HEAD", ""] {
        sync(&git_dir.join(written))?;
    }
    open(&git_dir)
}

/// Syncs a file, or a directory so that the names in it survive a loss of power.
pub(super) fn sync(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|file| file.sync_all()).map_err(io(format!("sync {}", path.display())))
}
