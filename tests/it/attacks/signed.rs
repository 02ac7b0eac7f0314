//! Upstreams that must be signed: nothing is taken of a commit that is not, is by a stranger or was changed, whenever that began, and what a
//! person accepts is one commit.
//!
//! Not here: what a signature is (`git`, beside git itself), upstreams that go back (`rewinds.rs`).

use super::rewinds::{OURS, at, following_nothing, is_accepted, is_held, is_told, upstream, with_files};
use crate::input::sandbox;
use crate::machine::{Access, Machine};

/// A machine on which Ada may sign, and which follows nothing yet.
async fn machine(access: Access) -> Machine {
    let machine = following_nothing(access, "allowedSigners: $ROOT/allowed\n").await;
    for name in ["ada", "eve"] {
        machine.done(".", &format!("ssh-keygen -q -t ed25519 -N '' -C '' -f {name}")).await;
    }
    allow(&machine, "echo \"ada@example.org $(cat ada.pub)\"").await;
    machine
}

/// Writes who may sign.
async fn allow(machine: &Machine, lines: &str) {
    machine.done(".", &format!("({lines}) > allowed")).await;
}

/// A commit over another with the files of a third, signed by somebody.
fn signed(by: &str, of: &str, over: &str) -> String {
    format!("git -c gpg.format=ssh -c user.signingkey=$ROOT/{by}.pub commit-tree -S {of} -p {over} -m signed")
}

/// A commit with another text than the one that was signed.
fn changed(commit: &str) -> String {
    format!("git cat-file commit {commit} | sed s/signed/Signed/ | git hash-object -t commit -w --stdin")
}

const ADD: &str = "wild directory add sample $ROOT/directory.git --verify signed";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_of_a_commit_that_nobody_signed_who_may() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;

    // It is not even followed before it is signed.
    let ran = machine.run("home.git", ADD).await;
    assert!(
        ran.code == 2 && ran.notes.contains("upstream unsigned ") && ran.notes.contains("it is not signed"),
        "{ran:#?}"
    );
    assert!(ran.notes.contains("allowedSigners"), "{ran:#?}");
    assert_eq!(machine.done("home.git", "git for-each-ref refs/wild/upstream").await.data, "");
    let first = upstream(&machine, &signed("ada", "main^{tree}", "main")).await;
    machine.done("home.git", ADD).await;
    assert_eq!(at(&machine, "home.git", OURS).await, first);
    let listed = machine.done("home.git", "wild directory list").await.data;
    assert!(listed.contains("by ada@example.org"), "{listed}");
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;

    // By nobody, by a stranger, changed afterwards, with the signature of another commit; forward and back.
    let stolen = format!(
        "{{ git cat-file commit {first} | sed -n '1,/END SSH/p' | sed s/^tree.*/tree\\ $(git rev-parse main~2^{{tree}})/; echo; echo signed; }} \
         | git hash-object -t commit -w --stdin"
    );
    for script in [
        with_files("main^{tree}", "main"),
        signed("eve", "main^{tree}", &first),
        changed(&first),
        stolen,
        "git rev-parse main~3".to_owned(),
    ] {
        let new = upstream(&machine, &script).await;
        is_held(&machine, "unsigned", (&first, &new)).await;
        machine.done("directory.git", &format!("git update-ref refs/heads/main {first}")).await;
        machine.done("home.git", "wild directory fetch sample").await;
    }

    // Whoever signs a commit answers for those that lead to it.
    upstream(&machine, &with_files("main^{tree}", "main")).await;
    let second = upstream(&machine, &signed("ada", "main^{tree}", "main")).await;
    machine.done("home.git", "wild directory fetch sample").await;
    assert_eq!(at(&machine, "home.git", OURS).await, second);

    // What is signed and goes back waits as well.
    let back = upstream(&machine, &signed("ada", "main~1^{tree}", "main~3")).await;
    is_held(&machine, "rewound", (&second, &back)).await;
    is_accepted(&machine, (&second, &back)).await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_accepts_is_one_commit() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    let first = upstream(&machine, &signed("ada", "main^{tree}", "main")).await;
    machine.done("home.git", ADD).await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    let second = upstream(&machine, &with_files("main^{tree}", "main")).await;
    is_held(&machine, "unsigned", (&first, &second)).await;
    is_accepted(&machine, (&first, &second)).await;
    let listed = machine.done("home.git", "wild directory list").await.data;
    assert!(listed.contains("no, accepted by "), "{listed}");

    // What comes on top of it was shown to nobody, neither before the next look nor between the look and the word.
    let third = upstream(&machine, &with_files("main^{tree}", "main")).await;
    is_held(&machine, "unsigned", (&second, &third)).await;
    upstream(&machine, &with_files("main^{tree}", "main")).await;
    let ran = machine.run("home.git", "wild directory fetch sample --accept-rewind").await;
    assert!(ran.code == 2 && ran.notes.contains("was shown"), "{ran:#?}");
    assert_eq!(at(&machine, "home.git", OURS).await, second);

    // A signed commit needs no person.
    let fourth = upstream(&machine, &signed("ada", "main^{tree}", "main")).await;
    machine.done("home.git", "wild directory fetch sample").await;
    assert_eq!(at(&machine, "home.git", OURS).await, fourth);
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_before_it_had_to_be_signed_is_taken_no_more() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    machine.done("home.git", "wild directory add sample $ROOT/directory.git").await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    let first = at(&machine, "home.git", OURS).await;
    let edit = "set -e\ngit clone -q home.git clone\ncd clone\nsed -i 's/^\\( *\\)branch: main$/&\\n\\1verify: signed/' .wild/config.yaml\n\
                git commit -qam verify\ngit push -q origin main";
    machine.done(".", edit).await;
    let config = machine.done("home.git", "git show main:.wild/config.yaml").await.data;
    assert!(config.contains("verify: signed"), "{config}");
    let nothing = async || {
        let ran = machine.run("home.git", "wild app add quickcache").await;
        assert!(ran.code == 2, "{ran:#?}");
        machine.done("home.git", "wild app wait stonedb").await;
    };
    nothing().await;
    is_told(&machine, "unsigned", (&first, &first)).await;
    nothing().await;

    // A person accepts what is there; nothing moves, and nothing has to be kept.
    machine.done("home.git", "wild directory fetch sample --accept-rewind").await;
    assert_eq!(machine.done("home.git", "git for-each-ref refs/wild/rewound").await.data, "");
    machine.done("home.git", "wild app add quickcache --deploy && wild app wait quickcache").await;
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_sign_no_more_answers_for_nothing() {
    let (sandbox, access) = sandbox().await;
    let machine = machine(access).await;
    upstream(&machine, &signed("ada", "main^{tree}", "main")).await;
    machine.done("home.git", ADD).await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;

    // The key is given up: what it signed while it counted is taken, and nothing that it signs from now on, whatever time that has.
    let given_up =
        "echo \"ada@example.org valid-before=\\\"$(date -u -d '+2 seconds' +%Y%m%d%H%M%SZ)\\\" $(cat ada.pub)\"";
    allow(&machine, given_up).await;
    machine
        .until("the key counts no more", async || {
            let new = upstream(
                &machine,
                &format!("GIT_COMMITTER_DATE=2026-01-01T00:00:00Z {}", signed("ada", "main^{tree}", "main")),
            )
            .await;
            let ran = machine.run("home.git", "wild directory fetch sample").await;
            let is_held = ran.code == 2 && ran.notes.contains("whose key does not count at that time");
            assert!(is_held || at(&machine, "home.git", OURS).await == new, "{ran:#?}");
            machine
                .done(
                    "directory.git",
                    &format!("git update-ref refs/heads/main $(git -C ../home.git rev-parse {OURS})"),
                )
                .await;
            is_held
        })
        .await;
    machine.done("home.git", "wild directory fetch sample").await;

    // It is struck out: not even what it signed is taken any more.
    let followed = at(&machine, "home.git", OURS).await;
    allow(&machine, "echo \"eve@example.org $(cat eve.pub)\"").await;
    let ran = machine.run("home.git", "wild directory fetch sample").await;
    assert!(ran.code == 2 && ran.notes.contains("by a key that nobody allowed, SHA256:"), "{ran:#?}");
    let ran = machine.run("home.git", "wild app add quickcache").await;
    assert!(ran.code == 2, "{ran:#?}");
    machine.done("home.git", "wild app wait stonedb").await;

    // A file that is not there allows nobody, and says so.
    machine.done(".", "mv allowed away").await;
    let ran = machine.run("home.git", "wild directory fetch sample").await;
    assert!(ran.code == 2 && ran.notes.contains("allowed, which says who may sign, is not read"), "{ran:#?}");
    allow(&machine, "echo \"ada@example.org $(cat ada.pub)\"").await;
    machine.done("home.git", "wild directory fetch sample").await;
    assert_eq!(at(&machine, "home.git", OURS).await, followed);
    machine.done("home.git", "wild app add quickcache --deploy && wild app wait quickcache").await;
    sandbox.stop().await;
}
