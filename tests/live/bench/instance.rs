//! The instance that is measured: a bare repository, a person's clone of it, and apps of four objects each.
//!
//! An app is a Deployment without replicas, a Service, a ConfigMap of 1 KiB and a ServiceAccount in a namespace of its own, which every
//! contender makes as well. Not here: who applies them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::parts::Scratch;

/// Identity of the instance.
const ID: &str = "bench00001";

/// A repository and a clone of it.
pub(crate) struct Home {
    /// The repository that the daemon serves.
    pub(crate) bare: PathBuf,
    clone: PathBuf,
}

impl Home {
    /// Makes an instance without apps.
    pub(crate) fn make(scratch: &Scratch) -> Self {
        let home = Self { bare: scratch.path().join("home.git"), clone: scratch.path().join("clone") };
        git(scratch.path(), &["init", "-q", "--bare", "-b", "main", "home.git"]);
        git(scratch.path(), &["init", "-q", "-b", "main", "clone"]);
        git(&home.clone, &["remote", "add", "origin", &home.bare.display().to_string()]);
        home.write(".wild/config.yaml", &format!("apiVersion: rewild.dev/v1\nkind: Instance\ninstanceId: {ID}\n"));
        home.write("config.yaml", "operator:\n  email: alice@example.org\napps: {}\n");
        home.commit("start");
        home.push();
        home
    }

    /// Writes the files of all apps, a version in their ConfigMaps.
    pub(crate) fn write_apps(&self, apps: usize, version: &str) {
        for app in (0..apps).map(name) {
            for (file, text) in files(&app, version) {
                self.write(&format!("apps/{app}/{file}"), &text);
            }
        }
    }

    /// Writes one file of the clone.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.clone.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Commits everything in the clone.
    pub(crate) fn commit(&self, message: &str) {
        git(&self.clone, &["add", "-A"]);
        git(&self.clone, &["commit", "-qm", message]);
    }

    /// Commits the same files once more and returns the commit.
    pub(crate) fn commit_the_same(&self, message: &str) -> String {
        git(&self.clone, &["commit", "-q", "--allow-empty", "-m", message]);
        git(&self.clone, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Pushes the clone.
    pub(crate) fn push(&self) {
        git(&self.clone, &["push", "-q", "origin", "HEAD:main"]);
    }
}

/// Returns the name of an app.
pub(crate) fn name(app: usize) -> String {
    format!("app-{app:05}")
}

/// Returns the files of an app; a number in its ConfigMap tells versions apart.
pub(crate) fn files(app: &str, version: &str) -> [(&'static str, String); 5] {
    let resources = "resources: [service-account.yaml, config-map.yaml, service.yaml, deployment.yaml]";
    let object = |api: &str, kind: &str, rest: &str| {
        format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {app}\n  labels:\n    tier: bench\n{rest}")
    };
    let service =
        format!("spec:\n  selector:\n    app: {app}\n  ports:\n  - name: http\n    port: 80\n    targetPort: 8080\n");
    let deployment = format!(
        "spec:\n  replicas: 0\n  selector:\n    matchLabels:\n      app: {app}\n  template:\n    metadata:\n      labels:\n        app: {app}\n    spec:\n      serviceAccountName: {app}\n      containers:\n      - name: main\n        image: registry.example.org/main:1\n        ports:\n        - containerPort: 8080\n        resources:\n          limits:\n            memory: 64Mi\n"
    );
    [
        (
            "kustomization.yaml",
            format!(
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: {app}\n{resources}\n"
            ),
        ),
        ("service-account.yaml", object("v1", "ServiceAccount", "")),
        ("config-map.yaml", config_map(app, version)),
        ("service.yaml", object("v1", "Service", &service)),
        ("deployment.yaml", object("apps/v1", "Deployment", &deployment)),
    ]
}

/// Returns the ConfigMap of an app with a version in it.
pub(crate) fn config_map(app: &str, version: &str) -> String {
    let fill = "0123456789abcdef".repeat(64);
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {app}\n  labels:\n    tier: bench\ndata:\n  version: \"{version}\"\n  fill: {fill}\n"
    )
}

/// Runs git as a person does, without anything of this machine's configuration, and returns what it prints.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "alice"), ("GIT_AUTHOR_EMAIL", "alice@example.org")])
        .envs([("GIT_COMMITTER_NAME", "alice"), ("GIT_COMMITTER_EMAIL", "alice@example.org")])
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
