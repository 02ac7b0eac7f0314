//! Upstreams that go back, rewrite their history, lose their packages or their branch: nothing is taken from them, every command says so with both commits,
//! and one command accepts what was shown, once and no more.
//!
//! Not here: packages that are broken (`directories.rs`), signatures (`signed.rs`).

use crate::input::sandbox;
use crate::machine::{Access, Machine, Ran};

/// Where our ref of the upstream is.
pub(super) const OURS: &str = "refs/wild/upstream/sample/main";

/// A machine whose instance follows a directory and has an app of it.
async fn machine(access: Access) -> Machine {
    let machine = following_nothing(access, "").await;
    machine.done("home.git", "wild directory add sample $ROOT/directory.git").await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    machine
}

/// A machine with an instance, whose daemon has some more settings.
pub(super) async fn following_nothing(access: Access, more: &str) -> Machine {
    let mut machine = Machine::start(access, "photobox 2.0").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig home/.kube/config").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/home.git}}]\nlisten: 127.0.0.1:0\nmetricsListen: ''\n\
         egress: {{allow: [{root}/directory.git]}}\n{}",
        more.replace("$ROOT", &root)
    );
    machine.start_daemon(&settings).await;
    machine
}

/// Returns where a ref is.
pub(super) async fn at(machine: &Machine, repository: &str, name: &str) -> String {
    machine.done(repository, &format!("git rev-parse {name}")).await.data.trim().to_owned()
}

/// Moves the branch of the upstream to a commit that a script in it prints.
pub(super) async fn upstream(machine: &Machine, script: &str) -> String {
    machine.done("directory.git", &format!("set -e\ngit update-ref refs/heads/main $({script})")).await;
    at(machine, "directory.git", "main").await
}

/// A commit over another with the files of a third.
pub(super) fn with_files(of: &str, over: &str) -> String {
    format!("git commit-tree {of} -p {over} -m again")
}

/// Expects that nothing moved, that every command says what is the matter, and that what is followed is still to be had.
pub(super) async fn is_held(machine: &Machine, word: &str, (from, to): (&str, &str)) {
    is_told(machine, word, (from, to)).await;
    let update = format!("git cat-file -e {from}:stonedb || exit 0; wild app update stonedb && wild app wait stonedb");
    machine.done("home.git", &update).await;
}

/// Expects that nothing moved and that every command says what is the matter, with both commits.
pub(super) async fn is_told(machine: &Machine, word: &str, (from, to): (&str, &str)) {
    let [short_from, short_to] = [from, to].map(|id| id.chars().take(7).collect::<String>());
    let said = format!("upstream {word} {short_from}..{short_to}: ");
    for (command, codes) in [
        ("wild directory fetch", &[2][..]),
        ("wild directory fetch sample", &[2]),
        ("wild directory list", &[0]),
        ("wild directory outdated", &[0, 1]),
        ("wild app list", &[0]),
        ("wild status", &[0]),
        ("wild status --exit-code", &[1]),
        ("wild doctor", &[1]),
    ] {
        let Ran { code, data, notes } = machine.run("home.git", command).await;
        assert!(codes.contains(&code), "{word}: {command} ends with {code}\n{data}{notes}\n{}", machine.log());
        let all = format!("{data}{notes}");
        assert!(all.contains(&said) && all.contains("--accept-rewind"), "{word}: {command}\n{all}");
    }
    let listed = machine.done("home.git", "wild directory list -o json").await.data;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let trouble = &listed["directories"][0]["trouble"];
    assert_eq!((&trouble["kind"], &trouble["from"], &trouble["to"]), (&word.into(), &from.into(), &to.into()));
    assert_eq!(at(machine, "home.git", OURS).await, from);
}

/// Accepts, and expects that the new commit is followed, the old one kept and the word recorded.
pub(super) async fn is_accepted(machine: &Machine, (from, to): (&str, &str)) {
    let kept = "git for-each-ref --format='%(objectname)' refs/wild/rewound/";
    let before = machine.done("home.git", kept).await.data.lines().count();
    machine.done("home.git", "wild directory fetch sample --accept-rewind").await;
    assert_eq!(at(machine, "home.git", OURS).await, to);
    let after = machine.done("home.git", kept).await.data;
    assert!(after.lines().count() == before + 1 && after.contains(from), "{from}\n{after}");
    let operations = machine.done("home.git", "wild operation list -o json").await.data;
    assert!(operations.contains("\"accept-rewind\"") && operations.contains("alice"), "{operations}");
    for command in ["wild directory list", "wild status", "wild doctor", "wild directory outdated || true"] {
        let ran = machine.run("home.git", command).await;
        assert!(!format!("{}{}", ran.data, ran.notes).contains("upstream "), "{command}: {ran:#?}");
    }
    machine.done("home.git", "wild app wait stonedb").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_went_back_or_was_emptied_waits_for_a_person_and_is_accepted_once() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    let first = at(&machine, "home.git", OURS).await;

    // It goes back.
    let back = upstream(&machine, "git rev-parse main~2").await;
    is_held(&machine, "rewound", (&first, &back)).await;
    is_accepted(&machine, (&first, &back)).await;

    // It goes forward again, which nobody has to accept.
    let forth = upstream(&machine, &format!("echo {first}")).await;
    machine.done("home.git", "wild directory fetch").await;
    assert_eq!(at(&machine, "home.git", OURS).await, forth);

    // It rewrites its history, with the same files.
    let rewritten = upstream(&machine, "git commit-tree main^{tree} -p main~3 -m other").await;
    is_held(&machine, "rewound", (&forth, &rewritten)).await;
    is_accepted(&machine, (&forth, &rewritten)).await;

    // It shares no history any more.
    let orphan = upstream(&machine, "git commit-tree main^{tree} -m orphan").await;
    is_held(&machine, "rewound", (&rewritten, &orphan)).await;
    is_accepted(&machine, (&rewritten, &orphan)).await;

    // A forward commit takes all packages away.
    let empty = upstream(&machine, &with_files("$(git mktree < /dev/null)", "main")).await;
    is_held(&machine, "emptied", (&orphan, &empty)).await;

    // They come back before anybody accepted that.
    let filled = upstream(&machine, &with_files(&format!("{orphan}^{{tree}}"), "main")).await;
    machine.done("home.git", "wild directory fetch").await;
    assert_eq!(at(&machine, "home.git", OURS).await, filled);

    // One of four packages is left.
    let few = "$(git ls-tree main | grep -E 'README|quickcache' | git mktree)";
    let few = upstream(&machine, &with_files(few, "main")).await;
    is_held(&machine, "emptied", (&filled, &few)).await;
    is_accepted(&machine, (&filled, &few)).await;
    let ran = machine.run("home.git", "wild app status stonedb").await;
    assert!(ran.data.contains("healthy"), "nothing of the app is touched: {ran:#?}");

    // One package of few goes: that is no empty directory.
    let none = upstream(&machine, &with_files("$(git ls-tree main | grep README | git mktree)", "main")).await;
    is_held(&machine, "emptied", (&few, &none)).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_shown_is_not_accepted() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    let first = at(&machine, "home.git", OURS).await;
    let accept = "wild directory fetch sample --accept-rewind";
    let refused = async |because: &str| {
        let ran = machine.run("home.git", accept).await;
        assert!(ran.code == 2 && ran.notes.contains(because), "{because}: {ran:#?}");
        assert_eq!(at(&machine, "home.git", OURS).await, first);
        assert_eq!(machine.done("home.git", "git for-each-ref refs/wild/rewound").await.data, "");
    };

    // Nothing happened, and then something that nobody looked at.
    refused("nothing was wrong with it").await;
    let back = upstream(&machine, "git rev-parse main~2").await;
    refused("nothing was wrong with it").await;

    // It goes somewhere else between the look and the word.
    machine.run("home.git", "wild directory fetch").await;
    let seen = back.chars().take(7).collect::<String>();
    upstream(&machine, "git commit-tree main^{tree} -m orphan").await;
    refused(&format!("it was seen at {seen} and is at ")).await;

    // A dry run says what would be done, and a name that is not followed names those that are.
    machine.run("home.git", "wild directory fetch").await;
    let tried = machine.run("home.git", &format!("{accept} --dry-run")).await;
    assert_eq!(at(&machine, "home.git", OURS).await, first, "{tried:#?}");
    let other = machine.run("home.git", "wild directory fetch other --accept-rewind").await;
    assert!(other.code == 2 && other.notes.contains("no directory of that name is followed"), "{other:#?}");
    let other = machine.run("home.git", "wild directory fetch other").await;
    assert!(other.code != 0 && other.notes.contains("there are: sample"), "{other:#?}");

    // What came on top of what was shown is accepted with it.
    let orphan = at(&machine, "directory.git", "main").await;
    let further = upstream(&machine, &with_files("main^{tree}", "main")).await;
    assert_ne!(orphan, further);
    machine.done("home.git", accept).await;
    assert_eq!(at(&machine, "home.git", OURS).await, further);
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_vanished_is_told_and_followed_again_once_it_is_back() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    let first = at(&machine, "home.git", OURS).await;
    let short: String = first.chars().take(7).collect();
    let said = format!("upstream vanished {short}: its branch main is not there any more");
    for gone in ["git branch -m main trunk", "git branch -m trunk main && git update-ref -d refs/heads/main"] {
        machine.done("directory.git", gone).await;
        for (command, code) in [
            ("wild directory fetch sample", 2),
            ("wild directory list", 0),
            ("wild app list", 0),
            ("wild status", 0),
            ("wild status --exit-code", 1),
            ("wild doctor", 1),
            ("wild directory outdated", 0),
        ] {
            let ran = machine.run("home.git", command).await;
            assert!(ran.code == code && format!("{}{}", ran.data, ran.notes).contains(&said), "{command}\n{ran:#?}");
        }
        // There is nothing that a person could accept.
        let ran = machine.run("home.git", "wild directory fetch sample --accept-rewind").await;
        assert!(ran.code == 2 && ran.notes.contains(&said), "{ran:#?}");
    }
    assert_eq!(at(&machine, "home.git", OURS).await, first);
    machine.done("home.git", "wild app update stonedb && wild app wait stonedb").await;

    // A directory that does not answer is told otherwise, and the branch comes back.
    machine.done(".", "mv directory.git away.git").await;
    let ran = machine.run("home.git", "wild directory fetch sample").await;
    assert!(ran.code == 2 && !ran.notes.contains("vanished"), "{ran:#?}");
    machine
        .done(".", &format!("mv away.git directory.git && git -C directory.git update-ref refs/heads/main {first}"))
        .await;
    machine.done("home.git", "wild directory fetch sample").await;
    let ran = machine.done("home.git", "wild status && wild directory list").await;
    assert!(!ran.data.contains("vanished"), "{ran:#?}");
    sandbox.stop().await;
}
