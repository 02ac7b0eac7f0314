//! What is said of a cluster that nobody watches or that does not answer: never that it is as git says.
//!
//! Not here: clusters that fall silent under a daemon (`line/clusters.rs`), apps that wait (`line/unknown.rs`).

use serde_json::json;

use crate::input::sandbox;
use crate::machine::Machine;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_nothing_is_told_as_equal_that_nobody_looked_at() {
    let (cluster, access) = sandbox().await;
    let (url, http) = (access.url.clone(), access.http.clone());
    let machine = Machine::start(access, "stonedb 15.5").await;
    let root = machine.root().display().to_string();
    machine.write("home/.config/wild/daemon.yaml", &format!("egress: {{allow: [{root}/directory.git]}}\n"));
    machine.done(".", "wild init home.git --bare --domain cloud.example.org --kubeconfig ~/.kube/config").await;
    machine.done("home.git", "wild directory add sample $ROOT/directory.git").await;
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    machine.done("home.git", "wild app diff stonedb").await;

    let config = format!("{url}/api/v1/namespaces/stonedb/configmaps/stonedb-config");
    let edit = http.patch(config).header("Content-Type", "application/merge-patch+json");
    let edited = edit.body(json!({"data": {"stonedb.conf": "port = 1"}}).to_string()).send().await.unwrap();
    assert!(edited.status().is_success(), "{edited:?}");
    for line in
        ["wild drift list", "wild drift show stonedb", "wild drift list -o json", "wild drift show stonedb -o json"]
    {
        let ran = machine.run("home.git", line).await;
        assert_eq!(ran.code, 6, "{line}: {ran:#?}");
        assert!(!ran.notes.contains("as git says"), "{line}: {ran:#?}");
        assert!(
            format!("{}{}", ran.notes, ran.data).contains("to look now: wild app diff stonedb"),
            "{line}: {ran:#?}"
        );
    }
    let ran = machine.run("home.git", "wild app diff stonedb").await;
    assert!(ran.code == 1 && ran.data.contains("port = 1"), "{ran:#?}");

    cluster.stop().await;
    for (line, code) in [
        ("wild drift list", 6),
        ("wild drift show stonedb", 6),
        ("wild app diff stonedb", 2),
        ("wild app diff stonedb -o json", 2),
        ("wild plan", 2),
        ("wild plan stonedb", 2),
    ] {
        let ran = machine.run("home.git", line).await;
        assert_eq!(ran.code, code, "{line}: {ran:#?}");
        let said = format!("{}{}", ran.notes, ran.data);
        let fine = ["as git says", "No difference", "Nothing to do"].iter().find(|fine| said.contains(**fine));
        assert_eq!(fine, None, "{line}: {ran:#?}");
    }
}
