//! etcd, API server, controller-manager, scheduler, and kwok for nodes and pods: a real cluster without machines.
//!
//! Most tests share one for the whole test binary ([`ControlPlane::shared`]) and keep to namespaces, names and instances of their own. A
//! test that stops, breaks or counts something starts its own ([`ControlPlane::start`]).
//!
//! Not here: volumes and addresses (`caretaker.rs`), certificates (`pki.rs`), reading the list of requests (`audit.rs`).

use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::api::Api;
use super::pki::private;
use super::ports::HeldPort;
use super::process::{Process, command};
use super::{START_DEADLINE, Scratch, audit, caretaker, fail, part, pki, try_until};

/// Where the node listens: not where its port is held for it, because kwok shares a port with nobody.
const NODE_IP: &str = "127.0.0.2";
/// What the API server serves with, and what once another authority vouches for it.
const SERVING: &str = "server";
const OTHER_SERVING: &str = "server-other";
/// What tells the node where the logs of containers are.
const LOGS_FILE: &str = "logs.yaml";

/// What runs in a control plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// etcd and the API server: objects are stored, nothing happens to them.
    Api,
    /// The same, which forgets old versions within seconds and keeps none in memory.
    Forgetful,
    /// Controllers, scheduler, a node whose pods become ready, volumes and addresses as well.
    Full,
}

/// A running control plane. Everything of it ends when it is dropped.
pub(crate) struct ControlPlane {
    // Dropped in this order: the loops, the programs, the directory, and only then the ports.
    runtime: Option<Runtime>,
    processes: Vec<Process>,
    scratch: Scratch,
    ports: Vec<HeldPort>,
    program: PathBuf,
    api: Api,
}

/// The shared control plane in the hands of one test; shows the logs if that test fails.
pub(crate) struct Shared(&'static ControlPlane);

impl Deref for Shared {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.show_logs();
        }
    }
}

impl ControlPlane {
    /// Returns the control plane that the tests of this binary share, or nothing after having said why there is none.
    pub(crate) fn shared() -> Option<Shared> {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        let (controlplane, kwok) = (part("controlplane")?, part("kwok")?);
        let plane = SHARED.get_or_init(|| ControlPlane::start_in_thread(Shape::Full, &controlplane, &kwok));
        Some(Shared(plane.as_ref().unwrap_or_else(|why| fail(why))))
    }

    /// Starts one for a single test, or returns nothing after having said why it cannot.
    pub(crate) fn start(shape: Shape) -> Option<Self> {
        let (controlplane, kwok) = (part("controlplane")?, part("kwok")?);
        let plane = Self::start_in_thread(shape, &controlplane, &kwok);
        Some(plane.unwrap_or_else(|why| fail(&why)))
    }

    /// Starts in a thread of its own, because the caller may be a test that runs in a runtime.
    fn start_in_thread(shape: Shape, controlplane: &Path, kwok: &Path) -> Result<Self, String> {
        let began = || Self::start_parts(shape, &controlplane.join("controlplane"), kwok);
        std::thread::scope(|scope| scope.spawn(began).join()).unwrap_or_else(|_| Err("the starter panicked".to_owned()))
    }

    fn start_parts(shape: Shape, program: &Path, kwok: &Path) -> Result<Self, String> {
        let scratch = Scratch::new("control-plane")?;
        let ports = (0..4).map(|_| HeldPort::take()).collect::<Result<Vec<_>, _>>()?;
        let numbers: Vec<u16> = ports.iter().map(HeldPort::number).collect();
        let [server, etcd, peer, _] = numbers.as_slice() else { return Err("four ports were taken".to_owned()) };
        let credentials = pki::write(&scratch.path().join("pki"))?;
        for (name, user) in [("kubeconfig", "admin"), ("kubeconfig-wild", audit::USER)] {
            private(scratch.path(), name, &kubeconfig(scratch.path(), *server, user))
                .map_err(|error| format!("write {name}: {error}"))?;
        }
        private(scratch.path(), audit::POLICY_FILE, audit::POLICY)
            .map_err(|error| format!("write the audit policy: {error}"))?;
        let api = Api::new(*server, &credentials)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| format!("start a runtime: {error}"))?;
        let mut arguments = server_arguments(scratch.path(), (*server, *etcd), SERVING);
        if shape == Shape::Forgetful {
            arguments.extend(["--watch-cache=false", "--etcd-compaction-interval=1s"].map(str::to_owned));
        }
        let processes = vec![
            run(&scratch, program, "etcd", &etcd_arguments(scratch.path(), *etcd, *peer))?,
            run(&scratch, program, "kube-apiserver", &arguments)?,
        ];
        let program = program.to_owned();
        let mut plane = Self { runtime: Some(runtime), processes, scratch, ports, program, api };
        plane.wait("the API server is ready", |plane| plane.block_on(plane.api.answers("/readyz")).then_some(()))?;
        if shape == Shape::Full {
            plane.start_controllers(kwok)?;
        }
        Ok(plane)
    }

    fn start_controllers(&mut self, kwok: &Path) -> Result<(), String> {
        let kubeconfig = format!("--kubeconfig={}", self.kubeconfig().display());
        let at = |name: &str| format!("{}/pki/{name}", self.scratch.path().display());
        let private_key = format!("--service-account-private-key-file={}", at("sa.key"));
        let root = format!("--root-ca-file={}", at("ca.crt"));
        // The default of 20 queries a second makes tests crawl; port 0 opens no port.
        let both = [
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ];
        let manager: Vec<String> =
            [&kubeconfig, &private_key, &root].map(Clone::clone).into_iter().chain(both.map(str::to_owned)).collect();
        let scheduler: Vec<String> = std::iter::once(kubeconfig.clone()).chain(both.map(str::to_owned)).collect();
        let stages = ["node-fast", "pod-fast", "pod-chaos"]
            .map(|stage| format!("--config={}/stages/{stage}.yaml", kwok.display()));
        let port = self.ports.get(3).map_or(0, HeldPort::number);
        // The API server asks the node for logs, over TLS and at the address that the node says.
        private(self.scratch.path(), LOGS_FILE, &logs(&self.log_file()))
            .map_err(|error| format!("write {LOGS_FILE}: {error}"))?;
        let kubelet = [
            format!("--config={}/{LOGS_FILE}", self.scratch.path().display()),
            format!("--node-port={port}"),
            format!("--node-ip={NODE_IP}"),
            format!("--server-address={NODE_IP}:{port}"),
            format!("--tls-cert-file={}", at("server.crt")),
            format!("--tls-private-key-file={}", at("server.key")),
        ];
        let fixed = ["--manage-all-nodes=true", "--node-lease-duration-seconds=40"];
        let nodes: Vec<String> =
            std::iter::once(kubeconfig).chain(stages).chain(fixed.map(str::to_owned)).chain(kubelet).collect();
        self.processes.push(run(&self.scratch, &self.program, "kube-controller-manager", &manager)?);
        self.processes.push(run(&self.scratch, &self.program, "kube-scheduler", &scheduler)?);
        let mut kwok = command(&kwok.join("kwok"), self.scratch.path());
        kwok.args(nodes);
        self.processes.push(Process::start(&self.scratch, "kwok", kwok)?);
        self.block_on(self.api.send(Method::POST, "/api/v1/nodes", Some(&node())))?;
        self.block_on(caretaker::make_storage_class(&self.api))?;
        if let Some(runtime) = &self.runtime {
            runtime.spawn(caretaker::run(self.api.clone()));
        }
        // A pod that is made before this account is refused.
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        self.wait("the controllers are ready", |plane| plane.block_on(plane.api.answers(account)).then_some(()))?;
        self.wait("the node is ready", |plane| {
            let node = plane.block_on(plane.api.send(Method::GET, "/api/v1/nodes/kwok-0", None)).ok()?;
            let conditions = node["status"]["conditions"].as_array()?;
            conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True").then_some(())
        })
    }

    /// Waits for a condition; ends at once, with the logs, if a program has ended.
    fn wait(&self, what: &str, mut condition: impl FnMut(&Self) -> Option<()>) -> Result<(), String> {
        let mut ended = None;
        let waited = try_until(what, START_DEADLINE, || {
            ended = self.processes.iter().find(|process| process.has_ended()).map(Process::name);
            if ended.is_some() { Some(()) } else { condition(self) }
        });
        match (waited, ended) {
            (Ok(()), None) => Ok(()),
            (Err(why), None) => Err(format!("{why}\n{}", self.logs())),
            (_, Some(name)) => Err(format!("{what}: {name} has ended\n{}", self.logs())),
        }
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref().expect("the runtime is there until the control plane is dropped");
        runtime.block_on(work)
    }

    /// Returns the kubeconfig file of the administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.scratch.path().join("kubeconfig")
    }

    /// Returns the kubeconfig of the administrator with the files that it names in it, for a file that lies elsewhere.
    pub(crate) fn whole_kubeconfig(&self) -> String {
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(self.kubeconfig()).unwrap()).unwrap();
        for (place, field) in [
            ("/clusters/0/cluster", "certificate-authority"),
            ("/users/0/user", "client-certificate"),
            ("/users/0/user", "client-key"),
        ] {
            let fields = config.pointer_mut(place).unwrap().as_object_mut().unwrap();
            let path = fields.remove(field).unwrap();
            let content = std::fs::read(path.as_str().unwrap()).unwrap();
            fields.insert(format!("{field}-data"), json!(STANDARD.encode(content)));
        }
        config.to_string()
    }

    /// Returns the kubeconfig file of the user whose requests are listed.
    pub(crate) fn kubeconfig_of_wild(&self) -> PathBuf {
        self.scratch.path().join("kubeconfig-wild")
    }

    /// Returns certificate and key, in PEM, of an administrator who is nobody any more after a time.
    pub(crate) fn brief_identity(&self, lasts: Duration) -> [String; 2] {
        pki::brief(&self.scratch.path().join("pki"), lasts).unwrap_or_else(|why| fail(&why.to_string()))
    }

    /// Returns the certificate, in PEM, of an authority that does not vouch for the API server yet.
    pub(crate) fn other_authority(&self) -> String {
        let made = pki::other_server(&self.scratch.path().join("pki"), OTHER_SERVING);
        made.unwrap_or_else(|why| fail(&why.to_string()))
    }

    /// Restarts the API server with a certificate of that authority. Our own client does not know it any more.
    pub(crate) fn restart_by_other_authority(&mut self) {
        let [server, etcd, ..] = self.ports.as_slice() else { fail("the API server has a port") };
        let arguments = server_arguments(self.scratch.path(), (server.number(), etcd.number()), OTHER_SERVING);
        let name = "kube-apiserver";
        // The old one has ended when it is dropped.
        self.processes.retain(|process| process.name() != name);
        match run(&self.scratch, &self.program, name, &arguments) {
            Ok(started) => self.processes.push(started),
            Err(why) => fail(&why),
        }
    }

    /// Returns the shapes of all requests of that user, in the order in which they came, as the API server itself wrote them down.
    pub(crate) fn requests(&self) -> Vec<String> {
        audit::shapes(&self.scratch.path().join(audit::LOG_FILE)).unwrap_or_else(|why| fail(&why))
    }

    /// Returns the address of the API server.
    pub(crate) fn address(&self) -> String {
        let port = self.ports.first().map_or(0, HeldPort::number);
        format!("https://127.0.0.1:{port}")
    }

    /// Returns the file that the node takes for the log of every container.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.scratch.path().join("containers.log")
    }

    /// Returns the address of the store of the API server, which asks nobody who he is.
    pub(crate) fn etcd(&self) -> String {
        let port = self.ports.get(1).map_or(0, HeldPort::number);
        format!("http://127.0.0.1:{port}")
    }

    /// Returns a running program of the control plane, to stop, continue or kill it.
    pub(crate) fn program(&self, name: &str) -> Option<&Process> {
        self.processes.iter().find(|process| process.name() == name)
    }

    /// Returns a client that the API server takes for the administrator.
    pub(crate) fn client(&self) -> reqwest::Client {
        self.api.client()
    }

    /// Sends one request to the API server, which is quicker than kubectl; not from within a runtime.
    pub(crate) fn send(&self, method: Method, path: &str, kind: &str, body: Option<&Value>) -> Result<Value, String> {
        self.block_on(self.api.send_as(method, path, kind, body))
    }

    /// Runs the real kubectl and returns what it prints, or what it says on standard error.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Result<String, String> {
        self.kubectl_with(args, "")
    }

    /// Runs the real `kubectl edit` with sed as the editor.
    pub(crate) fn kubectl_edit(&self, args: &[&str], sed: &str) -> Result<String, String> {
        let mut kubectl = self.kubectl_command(&[&["edit"], args].concat());
        kubectl.env("KUBE_EDITOR", format!("sed -i {sed}")).env("TMPDIR", self.scratch.path());
        run_with(kubectl, args, "")
    }

    /// Runs the real kubectl with a text on standard input.
    pub(crate) fn kubectl_with(&self, args: &[&str], input: &str) -> Result<String, String> {
        run_with(self.kubectl_command(args), args, input)
    }

    fn kubectl_command(&self, args: &[&str]) -> Command {
        let mut kubectl = command(&self.program, self.scratch.path());
        kubectl.arg("kubectl").arg(format!("--kubeconfig={}", self.kubeconfig().display())).args(args);
        kubectl
    }

    /// Runs kubectl with `-o json` and returns the value; JSON `null` if the object is not there.
    pub(crate) fn kubectl_json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.extend(["-o", "json", "--show-managed-fields"]);
        match self.kubectl(&all) {
            Ok(text) => serde_json::from_str(&text).unwrap_or(Value::Null),
            Err(_) => Value::Null,
        }
    }

    /// Makes a namespace for one test; nobody deletes it, which takes five seconds, because the whole cluster is thrown away.
    pub(crate) fn namespace(&self, name: &str) -> String {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        if let Err(why) = self.kubectl_with(&["create", "-f", "-"], &body.to_string()) {
            fail(&why);
        }
        name.to_owned()
    }

    fn logs(&self) -> String {
        self.processes.iter().map(Process::log_tail).collect()
    }

    /// Prints the ends of all logs.
    #[expect(clippy::print_stderr, reason = "a failed test shows the logs of what it ran against")]
    pub(crate) fn show_logs(&self) {
        eprintln!("{}", self.logs());
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not waited for: the test may itself run in a runtime, which forbids that.
            runtime.shutdown_background();
        }
    }
}

fn run_with(mut kubectl: Command, args: &[&str], input: &str) -> Result<String, String> {
    let attempt = |error: std::io::Error| format!("kubectl {}: {error}", args.join(" "));
    let mut child =
        kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(attempt)?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(attempt)?;
    }
    let output = child.wait_with_output().map_err(attempt)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn run(scratch: &Scratch, program: &Path, name: &str, arguments: &[String]) -> Result<Process, String> {
    let mut started = command(program, scratch.path());
    started.arg(name).args(arguments);
    Process::start(scratch, name, started)
}

fn etcd_arguments(directory: &Path, client: u16, peer: u16) -> Vec<String> {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    vec![
        "--name=test".to_owned(),
        format!("--data-dir={}/etcd", directory.display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
        "--socket-reuse-port=true".to_owned(),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

fn server_arguments(directory: &Path, (port, etcd): (u16, u16), serving: &str) -> Vec<String> {
    let directory = directory.display();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--permit-port-sharing=true".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--cert-dir={directory}/apiserver"),
        format!("--tls-cert-file={directory}/pki/{serving}.crt"),
        format!("--tls-private-key-file={directory}/pki/{serving}.key"),
        format!("--client-ca-file={directory}/pki/ca.crt"),
        "--service-account-issuer=https://kubernetes.default".to_owned(),
        format!("--service-account-key-file={directory}/pki/sa.pub"),
        format!("--service-account-signing-key-file={directory}/pki/sa.key"),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        format!("--audit-policy-file={directory}/{}", audit::POLICY_FILE),
        format!("--audit-log-path={directory}/{}", audit::LOG_FILE),
        // A request is in the log before it is answered.
        "--audit-log-mode=blocking".to_owned(),
    ]
}

fn kubeconfig(directory: &Path, port: u16, user: &str) -> String {
    let pki = directory.join("pki");
    let pki = pki.display();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": format!("{pki}/ca.crt")}}],
        "users": [{"name": user, "user": {
            "client-certificate": format!("{pki}/{user}.crt"), "client-key": format!("{pki}/{user}.key")}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        "current-context": "test",
    })
    .to_string()
}

fn logs(file: &Path) -> String {
    let spec = json!({"logs": [{"logsFile": file, "follow": true}]});
    json!({"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": "all"}, "spec": spec})
        .to_string()
}

fn node() -> Value {
    let room = json!({"cpu": "1000", "memory": "4Ti", "pods": "10000", "ephemeral-storage": "4Ti"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "kwok-0",
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": "kwok-0", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
        },
        "status": {"allocatable": room, "capacity": room},
    })
}
