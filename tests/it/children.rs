//! What the processes are bound by that the daemon starts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const WILD: &str = env!("CARGO_BIN_EXE_wild");
const DEADLINE: Duration = Duration::from_secs(60);

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "{what}: not within {} s", DEADLINE.as_secs());
        std::thread::yield_now();
    }
}

/// Returns whether a process runs; one that ended and that nobody asked about does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_child_is_bounded_before_it_becomes_another_program() {
    let own = std::process::id().to_string();
    let script = "ulimit -v; ulimit -d; ulimit -f; ulimit -t; ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status";
    let output = Command::new(WILD).args(["__child", &own, "134217728", "sh", "-c", script]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let [addresses, memory, file, time, descriptors, core, privileges] = lines[..] else {
        panic!("{said} {:?}", output.stderr)
    };
    assert_eq!(memory, "131072", "{said}");
    for limit in [addresses, file, time, descriptors] {
        assert!(limit.parse::<u64>().is_ok(), "{said}");
    }
    assert_eq!(core, "0");
    assert_eq!(privileges.split_whitespace().last(), Some("1"), "{said}");
}

#[test]
fn a_child_whose_parent_is_gone_becomes_nothing() {
    let output = Command::new(WILD).args(["__child", "1", "134217728", "sh", "-c", "echo here"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8(output.stderr).unwrap().contains("its parent is gone"));
}

#[test]
fn a_child_dies_with_its_parent() {
    let script = "\"$0\" __child $$ 134217728 sh -c 'echo $$; exec sleep 600' & wait";
    let mut parent = Command::new("sh").args(["-c", script, WILD]).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut child).unwrap();
    assert!(runs(child.trim()), "{child}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the child is gone", || !runs(child.trim()));
}

#[test]
fn git_dies_with_the_daemon_that_fetches() {
    let home = tempfile::tempdir().unwrap();
    // A remote that takes connections and never answers.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = format!("http://{}/home.git", server.local_addr().unwrap());
    let wild = |args: &[&str]| {
        let mut command = Command::new(WILD);
        command.args(args).current_dir(home.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", home.path()).env("USER", "alice").stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(wild(&["init", "home", "--bare", "--domain", "cloud.example.org"]).status().unwrap().success());
    let path = home.path().join("home").display().to_string();
    let settings = format!(
        "stateDir: state\nsocket: wild.sock\ninstances: [{{name: home, path: {path}, remote: \"{remote}\"}}]\n"
    );
    std::fs::write(home.path().join("daemon.yaml"), settings).unwrap();
    let mut daemon = wild(&["daemon", "--config", "daemon.yaml"]).spawn().unwrap();
    let connection = server.accept();
    let git = children_of(&daemon.id().to_string());
    assert!(connection.is_ok() && !git.is_empty(), "git has connected");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    until("git is gone", || git.iter().all(|pid| !runs(pid)));
}

/// Returns the processes whose parent is this one.
fn children_of(parent: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(1) == Some(parent)
        })
        .collect()
}
