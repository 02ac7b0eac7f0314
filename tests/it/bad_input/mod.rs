//! Bad input beside a live daemon: what is typed, how it ends, what it says, that nothing moved, that a second app deploys meanwhile, and
//! that the command after `try:` helps.
//!
//! Only `refs/notes/wild` may move: it holds what was said about commits. Not here: the rows (`rows.rs`), which cluster they run on.

mod rows;

use super::machine::{Access, Machine, Ran};

pub(crate) use rows::ROWS;

/// The instance that a row is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A bare repository, with a clone of a person in `work`.
    Bare,
    /// A repository with a work tree, edited in place.
    WorkTree,
}

/// One bad input.
pub(crate) struct Row {
    /// What is bad.
    pub(crate) name: &'static str,
    /// The instance.
    pub(crate) shape: Shape,
    /// What comes before, typed into a shell in `$ROOT`.
    pub(crate) set_up: &'static str,
    /// Where the command is typed, below `$ROOT`.
    pub(crate) folder: &'static str,
    /// The command.
    pub(crate) typed: &'static str,
    /// Its exit code.
    pub(crate) code: i32,
    /// Its three lines. `{root}`, `{id}`, `{time}`, `{pid}`, `{port}` and `{commit}` stand for what varies.
    pub(crate) says: [&'static str; 3],
    /// The operations that the store gains.
    pub(crate) gains: &'static [&'static str],
    /// The second app.
    pub(crate) second: &'static str,
    /// What brings it up.
    pub(crate) deploys: &'static str,
    /// What a person does then; `{try}` is the command of the third line, as printed.
    pub(crate) repair: &'static str,
    /// What works after that, with its exit code.
    pub(crate) again: (&'static str, i32),
}

/// Plays one row on a cluster.
pub(crate) async fn play(access: Access, row: &Row) {
    let mut machine = Machine::start(access, "photobox 2.0").await;
    let (repository, bare) = match row.shape {
        Shape::Bare => ("home.git", "--bare "),
        Shape::WorkTree => ("cloud", ""),
    };
    let root = machine.root().display().to_string();
    machine
        .done(".", &format!("wild init {repository} {bare}--domain cloud.example.org --kubeconfig home/.kube/config"))
        .await;
    let settings = format!(
        "instances: [{{name: home, path: {root}/{repository}}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n\
         egress: {{allow: [{root}/directory.git, {root}/gone.git]}}\n"
    );
    machine.start_daemon(&settings).await;
    machine.done(repository, "wild directory add sample $ROOT/directory.git").await;
    machine.done(repository, "wild app add stonedb --deploy && wild app wait stonedb").await;
    machine.done(".", "[ ! -d home.git ] || git clone -q --no-local home.git work").await;
    machine.done(".", &format!("set -e\n{}", row.set_up)).await;

    let id = id_of(&machine, repository).await;
    let varying = Varying { root: &root, id: &id, port: &port(&machine) };
    let before = picture(&machine, repository, &id, row.second).await;
    let ran = machine.run(row.folder, row.typed).await;
    let lines = lines(&ran);
    let shown: Vec<String> = lines.iter().map(|line| varying.hide(line)).collect();
    assert_eq!((ran.code, shown), (row.code, row.says.map(str::to_owned).to_vec()), "{}: {ran:#?}", row.name);
    let mut expected = before;
    expected.operations.splice(0..0, row.gains.iter().rev().map(|gain| (*gain).to_owned()));
    assert_eq!(picture(&machine, repository, &id, row.second).await, expected, "{}: something moved", row.name);

    machine.done(repository, row.deploys).await;
    machine.done(repository, &format!("wild app wait {}", row.second)).await;
    let remedy = lines.last().unwrap().strip_prefix("try: ").unwrap();
    machine.done(row.folder, &format!("set -e\n{}", row.repair.replace("{try}", remedy))).await;
    let again = machine.run(row.folder, row.again.0).await;
    assert_eq!(again.code, row.again.1, "{}: the remedy does not help: {again:#?}", row.name);
}

/// Everything that bad input must not move.
#[derive(PartialEq, Eq, Debug)]
struct Picture {
    refs: Vec<String>,
    operations: Vec<String>,
    inventories: Vec<String>,
    objects: std::collections::BTreeMap<String, String>,
}

async fn picture(machine: &Machine, repository: &str, id: &str, second: &str) -> Picture {
    let refs = machine.refs(repository).await;
    let refs = refs.lines().filter(|line| !line.starts_with("refs/notes/wild ")).map(str::to_owned).collect();
    let rows = machine.rows(id, second).await;
    let objects = machine.objects(second).await;
    Picture { refs, operations: rows.operations, inventories: rows.inventories, objects }
}

/// Returns the three lines of an error; what a hook says comes through git with a mark in front.
fn lines(ran: &Ran) -> Vec<String> {
    let plain = ran.notes.lines().map(|line| line.strip_prefix("remote: ").unwrap_or(line).trim_end());
    let parts = ["error: ", "because: ", "try: "];
    // Git has a line of its own that begins like ours.
    let ours = plain.filter(|line| !line.starts_with("error: failed to push"));
    ours.filter(|line| parts.iter().any(|part| line.starts_with(part))).map(str::to_owned).collect()
}

async fn id_of(machine: &Machine, repository: &str) -> String {
    let settings = machine.done(repository, "git show main:.wild/config.yaml").await.data;
    settings.lines().find_map(|line| line.strip_prefix("instanceId: ")).unwrap().to_owned()
}

fn port(machine: &Machine) -> String {
    let log = machine.log();
    let (_, rest) = log.split_once("http://127.0.0.1:").unwrap();
    rest.chars().take_while(char::is_ascii_digit).collect()
}

/// What differs from run to run.
struct Varying<'a> {
    root: &'a str,
    id: &'a str,
    port: &'a str,
}

impl Varying<'_> {
    fn hide(&self, line: &str) -> String {
        let line = line.replace(self.root, "{root}").replace(self.id, "{id}");
        let line = line.replace(&format!("127.0.0.1:{}", self.port), "127.0.0.1:{port}");
        let mut after_pid = false;
        let words = line.split(' ').map(|word| {
            let bare = word.trim_end_matches([':', ',']);
            let end = word.strip_prefix(bare).unwrap_or_default();
            let number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
            let commit = bare.len() == 7 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
            let time = bare.len() > 19 && bare.ends_with('Z') && bare.as_bytes()[10] == b'T';
            let hidden = match (std::mem::replace(&mut after_pid, word == "pid") && number, commit, time) {
                (true, ..) => "{pid}",
                (_, true, _) => "{commit}",
                (.., true) => "{time}",
                _ => bare,
            };
            format!("{hidden}{end}")
        });
        words.collect::<Vec<_>>().join(" ")
    }
}
