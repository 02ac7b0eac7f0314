//! `forge::Gitea` against a real Gitea.
//!
//! Not here: which status is true (`broadcast`).

use std::process::Command;

use rewild::forge::{CommitStatus, Error, Forge, StatusState};
use rewild::model::{CommitId, SecretValue};

use crate::parts::Gitea;

#[tokio::test]
async fn a_commit_shows_the_status_that_was_posted() {
    let Some(gitea) = Gitea::start().await else { return };
    let remote = gitea.make_repository("cloud").await;
    let commit = push(&gitea.push_address("cloud"));
    let ours = rewild::forge::Gitea::new(&remote, SecretValue::new(gitea.token().to_owned())).unwrap();
    let status = |state, description: &str| CommitStatus {
        commit: CommitId::parse(&commit).unwrap(),
        context: "wild/cloud".to_owned(),
        state,
        description: description.to_owned(),
        target_url: String::new(),
    };
    ours.post_status(&status(StatusState::Pending, "2 of 3 objects applied")).await.unwrap();
    ours.post_status(&status(StatusState::Success, "all healthy")).await.unwrap();
    let shown = gitea.statuses("cloud", &commit).await;
    let mut shown: Vec<(&str, &str, &str)> = shown
        .iter()
        .map(|s| (s["status"].as_str().unwrap(), s["context"].as_str().unwrap(), s["description"].as_str().unwrap()))
        .collect();
    shown.sort_unstable();
    assert_eq!(shown, [("pending", "wild/cloud", "2 of 3 objects applied"), ("success", "wild/cloud", "all healthy")]);

    let wrong = rewild::forge::Gitea::new(&remote, SecretValue::new("0".repeat(40))).unwrap();
    let refused = wrong.post_status(&status(StatusState::Success, "x")).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { status: 401, .. }) && refused.is_user(), "{refused}");
    let unknown =
        CommitStatus { commit: CommitId::parse(&"1".repeat(40)).unwrap(), ..status(StatusState::Success, "x") };
    let refused = ours.post_status(&unknown).await.unwrap_err();
    // Gitea takes the blame for a commit that it does not know, so the status is sent again later: the push may be on its way.
    assert!(matches!(&refused, Error::Refused { status: 500, .. }) && !refused.is_user(), "{refused}");
    assert!(!refused.to_string().contains(gitea.token()));
}

/// Pushes one commit by the git program and returns its id.
fn push(remote: &str) -> String {
    let work = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=alice", "-c", "user.email=alice@example.invalid"])
            .args(args)
            .current_dir(work.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {}: {}", args[0], String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&["push", "-q", remote, "main"]);
    git(&["rev-parse", "HEAD"])
}
