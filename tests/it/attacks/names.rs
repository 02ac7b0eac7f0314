//! Names that some file system takes for one, that hide, or that turn round what stands beside them: in trees, as refs, in what is printed.
//!
//! Not here: single names and keys (`src/git/checks/name.rs`).

use crate::input::sandbox;
use crate::machine::{Machine, Ran};

/// A bare instance, and a clone of a person.
async fn machine() -> (rewild::sandbox::Sandbox, Machine) {
    let (sandbox, access) = sandbox().await;
    let machine = Machine::start(access, "photobox 2.0").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig home/.kube/config").await;
    machine.done(".", "git clone -q home.git work").await;
    (sandbox, machine)
}

/// Returns a script that commits empty files with these names past every check of the file system, and pushes them.
fn push_files(names: &[&str]) -> String {
    let lines: String = names.iter().map(|name| format!("printf '100644 blob %s\\t%s\\0' $b '{name}'\n")).collect();
    format!(
        "set -e\nb=$(git hash-object -w --stdin </dev/null)\nt=$({{ git ls-tree -z main\n{lines}}} | git mktree -z)\n\
         git push -q origin $(git commit-tree $t -p main -m names):refs/heads/main"
    )
}

async fn pushed(machine: &Machine, names: &[&str]) -> Ran {
    machine.run("work", &push_files(names)).await
}

async fn refused(names: &[&str], rule: &str) -> String {
    let (sandbox, machine) = machine().await;
    let ran = pushed(&machine, names).await;
    assert!(ran.code != 0 && ran.notes.contains(rule), "{names:?}: {ran:#?}");
    sandbox.stop().await;
    ran.notes
}

#[tokio::test(flavor = "multi_thread")]
async fn two_forms_of_one_name_are_refused() {
    refused(&["cafe\u{301}.yaml", "caf\u{e9}.yaml"], "tree/duplicate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_full_case_folding_makes_one_are_refused() {
    refused(&["STRASSE.yaml", "stra\u{df}e.yaml"], "tree/duplicate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_differ_in_a_joiner_only_are_refused() {
    refused(&["notes.yaml", "no\u{200d}tes.yaml"], "tree/duplicate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_alike_of_dot_git_is_refused() {
    refused(&[".g\u{131}t"], "tree/dotgit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_turns_its_end_round_is_refused_and_printed_with_its_number() {
    let said = refused(&["config\u{202e}lmay.exe"], "tree/name").await;
    assert!(!said.contains('\u{202e}') && said.contains("config\\u{202e}lmay.exe"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_a_space_of_no_width_is_refused_and_printed_with_its_number() {
    let said = refused(&["config\u{200b}.yaml"], "tree/name").await;
    assert!(!said.contains('\u{200b}') && said.contains("config\\u{200b}.yaml"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_an_escape_of_a_terminal_is_refused_and_printed_with_its_number() {
    let said = refused(&["a\u{1b}[31mb"], "tree/name").await;
    assert!(!said.contains('\u{1b}') && said.contains("\\u{1b}[31m"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_name_turns_round_is_refused_and_printed_with_its_number() {
    let (sandbox, machine) = machine().await;
    for name in ["topic\u{202e}niam", "ma\u{200b}in"] {
        let ran = machine.run("work", &format!("git push -q origin main:'refs/heads/{name}'")).await;
        assert!(ran.code != 0 && ran.notes.contains("ref/name"), "{name:?}: {ran:#?}");
        let because = ran.notes.lines().find(|line| line.contains("because: ")).unwrap();
        assert!(!because.contains(['\u{202e}', '\u{200b}']) && because.contains("\\u{20"), "{because}");
    }
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_every_script_are_taken() {
    let (sandbox, machine) = machine().await;
    let names = [
        "caf\u{e9}.md",
        "\u{5d0}\u{5d1}\u{5d2}.md",
        "\u{646}\u{645}\u{6cc}\u{200c}\u{62f}\u{627}\u{646}\u{645}.md",
        "\u{65e5}\u{672c}.md",
    ];
    let ran = pushed(&machine, &names).await;
    assert_eq!(ran.code, 0, "{ran:#?}");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_become_one_over_two_pushes_are_refused() {
    let (sandbox, machine) = machine().await;
    assert_eq!(pushed(&machine, &["caf\u{e9}.yaml"]).await.code, 0);
    machine.done("work", "git pull -q").await;
    let ran = pushed(&machine, &["CAFE\u{301}.yaml"]).await;
    assert!(ran.code != 0 && ran.notes.contains("tree/duplicate"), "{ran:#?}");
    sandbox.stop().await;
}
