//! The five-minute tour of the README, typed line by line into one shell.
//!
//! Three things stand in for what a reader has: the upstream's address leads to a repository of this machine, the editor sets a memory
//! request, and the upstream publishes a newer blog before somebody asks for one. Not here: the examples of help (`help.rs`).

use crate::input::sandbox;
use crate::machine::Machine;

/// The address that the README names.
const PRINTED: &str = "https://git.example.org/wild/directory.git";
/// What the reader changes.
const EDITOR: &str = "#!/bin/sh -e\nsed -i '0,/memory: .*/s//memory: 256Mi/' \"$1\"\n";
/// What the maker of the blog publishes meanwhile: the same line, changed otherwise.
const PUBLISH: &str = "(cd $ROOT/up && sed -i \"s/^version: .*/version: '5.3'/\" quillblog/manifest.yaml \
    && sed -i '0,/memory: .*/s//memory: 192Mi/' quillblog/deployment.yaml && git commit -qam 'quillblog 5.3' && git push -q \
    && wild app wait quillblog && wild directory fetch) >/dev/null 2>&1";

/// How the daemon is started in one shell with everything else.
const DAEMON: &str =
    "\nwild daemon 2>$ROOT/daemon.log & pid=$!; until [ -S $ROOT/run/wild.sock ]; do :; done; echo \"== 0\"\n";

/// Returns the lines of the tour, each with the exit code that stands behind it.
fn tour() -> Vec<(String, i32)> {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let (_, rest) = readme.split_once("## Five-minute tour\n").unwrap();
    let (section, _) = rest.split_once("\n## ").unwrap();
    let typed = section.split("```\n").skip(1).step_by(2).flat_map(str::lines);
    typed
        .map(|line| {
            (
                line.to_owned(),
                line.split_once("# exit ")
                    .map_or(0, |(_, code)| code.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_of_the_readme_goes_as_printed() {
    let (sandbox, access) = sandbox().await;
    let machine = Machine::start(access, "photobox 2.0").await;
    machine.write("bin/editor", EDITOR);
    machine.done(".", "mkdir desk && chmod +x bin/editor && git clone -q directory.git up").await;
    let root = machine.root().display().to_string();
    machine.write(
        "home/.config/wild/daemon.yaml",
        &format!("listen: 127.0.0.1:0\nmetricsListen: ''\negress: {{allow: [{root}/directory.git]}}\n"),
    );
    let tour = tour();
    assert!(tour.len() > 15, "{tour:#?}");
    let mut script = "export EDITOR=editor\n".to_owned();
    for (line, _) in &tour {
        let typed = line.replace(PRINTED, &format!("{root}/directory.git"));
        script.push_str(if line.starts_with("wild directory outdated") { PUBLISH } else { "" });
        script.push_str(&match line.starts_with("wild daemon") {
            true => DAEMON.to_owned(),
            false => format!("\n{typed}\necho \"== $?\"\n"),
        });
    }
    script.push_str("kill $pid; wait\n");
    let ran = machine.run("desk", &script).await;
    let mut parts = ran.data.split("== ");
    let mut shown = vec![parts.next().unwrap().to_owned()];
    let mut codes = Vec::new();
    for part in parts {
        let (code, rest) = part.split_once('\n').unwrap();
        codes.push(code.parse::<i32>().unwrap());
        shown.push(rest.to_owned());
    }
    let expected: Vec<i32> = tour.iter().map(|(_, code)| *code).collect();
    assert_eq!(codes, expected, "{ran:#?}\n{}", machine.log());
    let says = |line: &str, text: &str| {
        let at = tour.iter().position(|(typed, _)| typed.starts_with(line)).unwrap();
        assert!(shown[at].contains(text), "{line}: {}", shown[at]);
    };
    says("wild app list", "A blog for people who write more than they configure");
    says("wild app add quillblog", "needs db → stonedb");
    says("wild app deploy", "created     Deployment/quillblog");
    says("wild status", "success   wild/deploy (home)");
    says("wild app diff quillblog --mine", "256Mi");
    says("wild directory outdated", "5.3");
    says("wild app resolve quillblog --list", "192Mi");
    says("wild app history quillblog", "scale(quillblog): room for pictures");
    sandbox.stop().await;
}
