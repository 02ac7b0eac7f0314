//! Locks of living processes, taken by the real git program and by others: none is ever taken away, and each is recovered once its holder is
//! dead, without a restart.
//!
//! Not here: what a lock looks like that no git made (`git::locks`).

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use rewild::base::chain;
use rewild::git::{self, Error, Layout, RefChange, Repository};
use rewild::model::CommitId;

use crate::commits::commit;

const TOPIC: &str = "refs/heads/topic";

/// A bare repository with two commits on main and further branches.
struct Ground {
    directory: tempfile::TempDir,
    repository: Repository,
    first: CommitId,
    second: CommitId,
}

impl Ground {
    async fn new() -> Self {
        git::set_options().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(&directory.path().join("home.git"), Layout::Bare, "main").await.unwrap();
        let first = commit(&repository, "main", "first", &[("a", Some("1"))]).await;
        let second = commit(&repository, "main", "second", &[("a", Some("2"))]).await;
        let ground = Self { directory, repository, first, second };
        for name in ["topic", "other"] {
            ground.run(&["branch", name, ground.first.as_str()]);
        }
        ground.run(&["pack-refs", "--all"]);
        ground
    }

    fn git_dir(&self) -> PathBuf {
        self.repository.git_dir().to_owned()
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.git_dir().join(format!("{name}.lock"))
    }

    fn run(&self, args: &[&str]) {
        assert!(Command::new("git").arg("--git-dir").arg(self.git_dir()).args(args).status().unwrap().success());
    }

    /// Moves the topic on, as the daemon would.
    async fn moves(&self) -> Result<(), Error> {
        let (expected, new) = (Some(self.first.clone()), Some(self.second.clone()));
        self.repository.update_refs(&[RefChange { name: TOPIC.to_owned(), expected, new }]).await
    }

    /// Deletes the topic, for which the packed refs are written.
    async fn deletes(&self) -> Result<(), Error> {
        self.repository.delete_ref(TOPIC, &self.first).await
    }

    /// Makes a lock look as if it had been there for a minute.
    fn age(&self, lock: &Path) {
        let file = std::fs::File::options().write(true).open(lock).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
}

/// A process that holds something until it is killed.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
    }
}

impl Holder {
    /// Starts a program, tells it something, and waits until it has answered in so many lines.
    fn start(command: &mut Command, input: &str, lines: usize) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
        let mut output = BufReader::new(child.stdout.as_mut().unwrap());
        for _ in 0..lines {
            assert!(output.read_line(&mut String::new()).unwrap() > 0, "the program ended");
        }
        Self(child)
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Has git prepare a change of refs: from then on it holds their locks by name, with nothing open.
fn prepare(mut git: Command, change: &str) -> Holder {
    Holder::start(git.args(["update-ref", "--stdin"]), &format!("start\n{change}\nprepare\n"), 2)
}

/// Expects that a lock is left to whoever holds it, and that it is told who that is.
fn is_left(done: Result<(), Error>, lock: &Path, holder: &Holder) {
    let error = done.unwrap_err();
    let told = chain(&error);
    assert!(matches!(&error, Error::Locked { path, .. } if path == lock), "{told}");
    assert!(told.contains(&format!("(pid {})", holder.id())) && told.contains("rm "), "{told}");
    assert!(lock.exists());
}

#[tokio::test]
async fn a_lock_that_git_holds_by_name_alone_is_left_wherever_git_stands() {
    for sort in ["--git-dir", "-C", "in it", "GIT_DIR", "relative"] {
        let ground = Ground::new().await;
        let mut git = Command::new("git");
        match sort {
            "--git-dir" => git.arg("--git-dir").arg(ground.git_dir()),
            "-C" => git.arg("-C").arg(ground.git_dir()),
            "in it" => git.current_dir(ground.git_dir().join("objects")).args(["--git-dir", ".."]),
            "GIT_DIR" => git.env("GIT_DIR", ground.git_dir()),
            _ => git.current_dir(ground.directory.path()).args(["--git-dir=home.git"]),
        };
        let (first, second) = (&ground.first, &ground.second);
        let mut holder = prepare(git, &format!("update {TOPIC} {second} {first}"));
        let lock = ground.lock(TOPIC);
        ground.age(&lock);
        is_left(ground.moves().await, &lock, &holder);
        // Twice is no more than once.
        is_left(ground.moves().await, &lock, &holder);
        holder.end();
        assert!(lock.exists(), "{sort}: a killed git leaves its lock");
        ground.moves().await.unwrap();
        assert!(!lock.exists(), "{sort}");
    }
}

#[tokio::test]
async fn packed_refs_that_git_holds_by_name_alone_are_left() {
    let ground = Ground::new().await;
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(ground.git_dir());
    let mut holder = prepare(git, &format!("delete refs/heads/other {}", ground.first));
    let lock = ground.lock("packed-refs");
    ground.age(&lock);
    is_left(ground.deletes().await, &lock, &holder);
    holder.end();
    ground.deletes().await.unwrap();
}

#[tokio::test]
async fn a_lock_that_another_program_has_open_is_left_under_its_name_and_under_another() {
    for before in ["", "ln \"$1\" other", "ln \"$1\" other; rm \"$1\"; ln other \"$1\""] {
        let ground = Ground::new().await;
        let lock = ground.lock(TOPIC);
        let mut shell = Command::new("sh");
        shell.current_dir(ground.directory.path());
        let script = format!("exec 9>\"$1\"; {before}\necho ready; read line; : >&9");
        let mut holder = Holder::start(shell.args(["-c", &script, "sh"]).arg(&lock), "", 1);
        ground.age(&lock);
        is_left(ground.moves().await, &lock, &holder);
        holder.end();
        ground.moves().await.unwrap();
        assert!(!lock.exists());
    }
}

#[tokio::test]
async fn a_holder_that_was_stopped_lives() {
    let ground = Ground::new().await;
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(ground.git_dir());
    let mut holder = prepare(git, &format!("update {TOPIC} {} {}", ground.second, ground.first));
    assert!(Command::new("kill").args(["-STOP", &holder.id()]).status().unwrap().success());
    let lock = ground.lock(TOPIC);
    ground.age(&lock);
    is_left(ground.moves().await, &lock, &holder);
    holder.end();
    ground.moves().await.unwrap();
}

#[tokio::test]
async fn a_git_that_works_elsewhere_keeps_no_dead_lock_alive() {
    let (ground, elsewhere) = (Ground::new().await, Ground::new().await);
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(elsewhere.git_dir());
    let _holder = prepare(git, &format!("update {TOPIC} {} {}", elsewhere.second, elsewhere.first));
    let lock = ground.lock(TOPIC);
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    ground.age(&lock);
    ground.moves().await.unwrap();
    let kept = std::fs::read_dir(ground.git_dir().join("stale-locks")).unwrap().count();
    assert_eq!(kept, 1, "a dead lock is set aside and not deleted");
}
