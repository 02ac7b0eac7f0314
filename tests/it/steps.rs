//! Each of the nine steps of the line matters: without it the demo finds what does not hold.
//!
//! Not here: what the demo checks (`src/cli/demo/story.rs`).

use std::process::{Command, Stdio};

/// The steps of the line, each with the first step of the story that cannot hold without it; and none of them, with which all hold.
const STEPS: [(&str, &str); 10] = [
    ("read", "1/10 add"),
    ("merge", "4/10 update"),
    ("compile", "1/10 add"),
    ("commit", "1/10 add"),
    ("observe", "2/10 deploy"),
    ("plan", "2/10 deploy"),
    ("apply", "2/10 deploy"),
    ("record", "2/10 deploy"),
    ("broadcast", "2/10 deploy"),
    ("none", ""),
];

#[test]
fn the_demo_ends_with_2_whichever_step_does_nothing() {
    let run = |(step, expected): (&'static str, &'static str)| {
        let home = tempfile::tempdir().unwrap();
        let mut demo = Command::new(env!("CARGO_BIN_EXE_wild"));
        demo.args(["demo", "--check", "--keep", "demo"]).current_dir(home.path()).env_clear();
        demo.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home.path());
        let ended = demo.env("WILD_SKIP_STEP", step).stdin(Stdio::null()).output().unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (told, why) = (said(&ended.stdout), said(&ended.stderr));
        let holds = match expected {
            "" => ended.status.success() && told.contains("All 10 steps hold"),
            step => ended.status.code() == Some(2) && why.contains(&format!("step {step}:")),
        };
        (!holds).then(|| format!("without {step}: {:?}\n{told}{why}", ended.status.code()))
    };
    // They wait for what does not come, so they wait side by side.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs = STEPS.map(|it| scope.spawn(move || run(it)));
        runs.into_iter().filter_map(|run| run.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
