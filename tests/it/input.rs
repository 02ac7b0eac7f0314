//! Bad input on the sandbox, one test per row.
//!
//! Not here: the rows (`bad_input`).

use rewild::sandbox::{Sandbox, Settings};

use tokio::net::{TcpListener, TcpStream};

use crate::bad_input::{ROWS, play};
use crate::machine::{Access, Machine};

/// Starts a cluster and returns how it is reached.
pub(crate) async fn sandbox() -> (Sandbox, Access) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sandbox = Sandbox::start(Settings::default()).await.unwrap();
    let access =
        Access { kubeconfig: sandbox.kubeconfig(), url: sandbox.url().to_owned(), http: reqwest::Client::new() };
    (sandbox, access)
}

async fn row(name: &str) {
    let (sandbox, access) = sandbox().await;
    play(access, ROWS.iter().find(|row| row.name == name).unwrap()).await;
    sandbox.stop().await;
}

macro_rules! rows {
    ($($test:ident: $name:literal,)*) => {
        const TESTED: &[&str] = &[$($name),*];

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                row($name).await;
            }
        )*
    };
}

rows! {
    broken_yaml_in_an_app: "broken YAML in an app",
    broken_yaml_in_config: "broken YAML in config.yaml",
    broken_yaml_in_settings: "broken YAML in .wild/config.yaml",
    broken_yaml_in_daemon_settings: "broken YAML in daemon.yaml",
    broken_yaml_in_secrets: "broken YAML in secrets.yaml",
    an_unknown_template_key: "an unknown template key",
    a_missing_requirement: "a missing requirement",
    a_missing_secret: "a missing secret",
    an_unreachable_upstream: "an unreachable upstream",
    an_address_that_is_not_allowed: "an address that the host does not allow",
    an_empty_repository: "an empty repository",
    a_directory_that_is_no_instance: "a directory that is no instance",
    a_port_in_use: "a port in use",
    a_second_daemon: "a second daemon on one instance",
    uncommitted_edits: "uncommitted edits in the way",
    a_push_with_markers: "a push with conflict markers",
    a_push_with_secrets: "a push with secrets in clear",
}

/// A port at which nothing answers until the cluster comes there.
struct Port(std::net::SocketAddr);

impl Port {
    async fn free() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap())
    }

    /// Leads everything that comes to the port to a cluster, until the test ends.
    async fn lead_to(&self, url: &str) {
        let (listener, to) =
            (TcpListener::bind(self.0).await.unwrap(), url.strip_prefix("http://").unwrap().to_owned());
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut to = TcpStream::connect(&to).await.unwrap();
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut from, &mut to).await });
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_cluster_holds_back_its_own_instance_only() {
    let (sandbox, access) = sandbox().await;
    let port = Port::free().await;
    let kubeconfig = access.kubeconfig.replace(&access.url, &format!("http://{}", port.0));
    let mut machine = Machine::start(access.clone(), "photobox 2.0").await;
    machine.write("away.yaml", &kubeconfig);
    machine.done(".", "wild init home.git --bare --kubeconfig home/.kube/config").await;
    machine.done(".", "wild init away.git --bare --kubeconfig away.yaml").await;
    let root = machine.root().display().to_string();
    let settings = format!(
        "instances: [{{name: home, path: {root}/home.git}}, {{name: away, path: {root}/away.git}}]\n\
         listen: 127.0.0.1:0\nmetricsListen: ''\negress: {{allow: [{root}/directory.git]}}\n"
    );
    machine.start_daemon(&settings).await;
    for repository in ["home.git", "away.git"] {
        machine.done(repository, "wild directory add sample $ROOT/directory.git").await;
    }
    machine.done("away.git", "wild app add quickcache").await;
    let before = machine.refs("away.git").await;
    let ran = machine.run("away.git", "wild app deploy quickcache").await;
    let lines: Vec<&str> = ran.notes.lines().filter(|line| !line.starts_with("quickcache  ")).collect();
    assert_eq!((ran.code, lines.len()), (6, 3), "{ran:#?}");
    assert_eq!((lines[0], lines[2]), ("error: deploy quickcache", "try: wild app wait quickcache"));
    assert!(lines[1].starts_with("because: the cluster has not answered since 20"), "{ran:#?}");
    assert!(lines[1].contains("Connection refused (os error 111) (at http://127.0.0.1:"), "{ran:#?}");
    assert!(lines[1].ends_with("; it is asked again every few seconds"), "{ran:#?}");
    let refused: Vec<String> =
        machine.log().lines().filter(|line| line.contains("refused")).map(str::to_owned).collect();
    assert!(refused.len() <= 1, "one line is enough: {refused:#?}");
    assert!(machine.objects("").await.keys().all(|object| !object.contains("quickcache")));
    machine.done("home.git", "wild app add stonedb --deploy && wild app wait stonedb").await;
    // Deploying is the person's word, so the record says it although nothing could be sent yet.
    let moved: Vec<String> = machine.refs("away.git").await.lines().map(str::to_owned).collect();
    let moved: Vec<&String> = moved.iter().filter(|line| !before.contains(line.as_str())).collect();
    assert!(moved.iter().all(|line| line.starts_with("refs/heads/main ") || line.starts_with("refs/notes/wild ")));
    port.lead_to(&access.url).await;
    machine.done("away.git", lines[2].strip_prefix("try: ").unwrap()).await;
    machine.done("away.git", "wild app deploy quickcache --wait").await;
    sandbox.stop().await;
}

#[test]
fn every_row_is_tested() {
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    for name in &names {
        assert!(TESTED.contains(name), "{name}");
    }
    assert_eq!(names.len(), TESTED.len());
}
