//! The whole story through the command line, on git, the sandbox and the status page.

use rewild::cli::{self, Captured, ExitCode, Surroundings};

use crate::scripts_api::shape::unknown;

#[tokio::test(flavor = "multi_thread")]
async fn every_step_of_the_demo_holds() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let directory = tempfile::tempdir().unwrap();
    let mut out = Captured::default();
    let mut environment = Surroundings::bare(directory.path());
    if let Ok(path) = std::env::var("PATH") {
        environment.variables.insert("PATH".into(), path);
    }
    let args = ["wild", "demo", "--check", "--keep", "demo"].map(Into::into).to_vec();
    let ended = cli::run(args, environment, &mut out).await;
    assert_eq!(ended, ExitCode::Done, "{}{}", out.data, out.notes);
    for step in ["1/10 add", "4/10 update", "5/10 conflict", "10/10 delete", "All 10 steps hold"] {
        assert!(out.data.contains(step), "{step} is not told:\n{}", out.data);
    }
    let log = std::fs::read_to_string(directory.path().join("demo/cluster-audit.log")).unwrap();
    assert!(log.contains("/api/v1/namespaces/stonedb"), "{log}");
    let unknown = unknown(&log);
    assert!(
        unknown.is_empty(),
        "no script of fixtures/scripts/api asks these of a real API server:\n{}",
        unknown.join("\n")
    );
}
