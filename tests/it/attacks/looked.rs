//! What `wild doctor` says it looked at, on an instance that is in order and on one where something of that is wrong.
//!
//! Not here: apps that wait (`both/told.rs`).

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::input::sandbox;
use crate::machine::Machine;

async fn machine() -> (rewild::sandbox::Sandbox, Machine) {
    let (cluster, access) = sandbox().await;
    let mut machine = Machine::start(access, "stonedb 15.5").await;
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig ~/.kube/config").await;
    let root = machine.root().display().to_string();
    let settings = format!("listen: \"\"\nmetricsListen: \"\"\ninstances:\n- {{name: home, path: {root}/home.git}}\n");
    machine.start_daemon(&settings).await;
    machine.until("it is well", async || machine.run("home.git", "wild doctor").await.code == 0).await;
    (cluster, machine)
}

/// Returns what was looked at, by name, and what is wrong.
async fn doctor(machine: &Machine) -> (Vec<(String, String)>, Vec<String>) {
    let shown = machine.run("home.git", "wild doctor -o json").await;
    let value: Value = serde_json::from_str(&shown.data).unwrap();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let checked = value["checked"].as_array().unwrap();
    let found = value["findings"].as_array().unwrap();
    let checked = checked.iter().map(|check| (text(check, "check"), text(check, "told"))).collect();
    (checked, found.iter().map(|found| format!("{}; try: {}", text(found, "what"), text(found, "try"))).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_instance_says_what_was_looked_at_and_each_thing_that_is_wrong_is_named_with_what_helps() {
    let (cluster, machine) = machine().await;
    let shown = machine.done("home.git", "wild doctor").await.notes;
    for told in [
        "Nothing is stuck.",
        "is the cluster that is known: ",
        "Files of the state directory and of secrets are their user's alone.",
        "Git runs the hooks that look at what comes in: pre-receive, post-receive.",
        "0 grants are on record in .wild/config.yaml",
        "holds no secret in clear.",
    ] {
        assert!(shown.contains(told), "{told} is not in {shown}");
    }
    let (checked, found) = doctor(&machine).await;
    let kinds: Vec<&str> = checked.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["clusterIdentity", "fileModes", "hooks", "grants", "secretsInGit"]);
    assert_eq!(found, Vec::<String>::new());

    // A hook that may not be run looks at nothing, and what comes in then is found where it lies.
    let hook = machine.root().join("home.git/hooks/pre-receive");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o644)).unwrap();
    machine.done(".", "git clone -q home.git work").await;
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----";
    let push = format!(
        "set -e\n{{ echo '{key}'; head -c 600 /dev/urandom | base64 -w 70; echo '{}'; }} > deploy.key\ngit add -A\n\
         git commit -qm key\ngit push -q origin main",
        key.replace("BEGIN", "END")
    );
    machine.done("work", &push).await;
    let wrong = async || doctor(&machine).await.1;
    machine.until("the key is found", async || wrong().await.iter().any(|found| found.contains("private key"))).await;
    let found = wrong().await;
    let named = |text: &str| found.iter().any(|found| found.contains(text));
    assert!(named("the hook pre-receive may not be run; try: wild hook install "), "{found:#?}");
    assert!(named("deploy.key:1: ") && named("try: replace the key by a new one"), "{found:#?}");
    assert_eq!(machine.run("home.git", "wild doctor").await.code, 1);

    // The command that is named helps.
    let help = found.iter().find_map(|found| found.split_once("may not be run; try: ")).unwrap().1;
    machine.done("home.git", help).await;
    assert!(!wrong().await.iter().any(|found| found.contains("pre-receive")));
    machine.done("work", "git rm -q deploy.key && git commit -qm gone && git push -q origin main").await;
    machine.until("it is gone", async || !wrong().await.iter().any(|found| found.contains("private key"))).await;
    drop(machine);
    cluster.stop().await;
}
