//! Pure. Each id with what it reports and what it leaves alone.
//!
//! Not here: the sample packages' history (`compile::lint`).

use std::collections::BTreeSet;

use super::{LocalEdits, VersionSide, breaking};
use crate::base::RepoPath;
use crate::model::{File, FileTree, Object, PackageName};
use crate::package::{Package, load};
use crate::yaml::{Dialect, load as load_yaml};

/// A version: lines of its manifest beside name and version, and the objects that it builds.
struct Version {
    package: Package,
    objects: Vec<Object>,
    reads: BTreeSet<String>,
}

fn version(manifest: &str, objects: &str) -> Version {
    let manifest =
        if manifest.contains("version:") { manifest.to_owned() } else { format!("version: 1.0.0\n{manifest}") };
    let mut files = FileTree::new();
    for (path, text) in
        [("manifest.yaml", format!("name: blog\nis: blog\n{manifest}")), ("objects.yaml", objects.to_owned())]
    {
        files.insert(RepoPath::parse(path).unwrap(), File::text(&text));
    }
    let package = load(&PackageName::parse("blog").unwrap(), &files).unwrap();
    let documents = load_yaml("objects.yaml", objects, Dialect::Kube).unwrap().documents;
    let objects = documents.into_iter().filter_map(|document| Object::from_value(document.value)).collect();
    Version { package, objects, reads: BTreeSet::new() }
}

impl Version {
    fn side(&self) -> VersionSide<'_> {
        VersionSide { package: &self.package, objects: &self.objects, reads: &self.reads }
    }
}

fn ids(old: &Version, new: &Version, edits: LocalEdits<'_>) -> Vec<String> {
    let findings = breaking(old.side(), new.side(), edits);
    findings.into_iter().map(|finding| format!("{} {}", finding.id, finding.subject)).collect()
}

fn manifests(old: &str, new: &str, expected: &[&str]) {
    assert_eq!(ids(&version(old, ""), &version(new, ""), LocalEdits::Unknown), expected, "{old}\n→\n{new}");
}

/// Checks what objects break; that their text changed is no finding of its own.
fn objects(old: &str, new: &str, expected: &[&str]) {
    let found = ids(&version("", old), &version("", new), LocalEdits::Unknown);
    assert_eq!(found, expected, "{old}\n→\n{new}");
}

#[test]
fn b01_config_keys_that_went() {
    manifests("defaultConfig: {a: 1, b: 2}", "defaultConfig: {b: 2}", &["B01 a"]);
    manifests("defaultConfig: {a: {x: 1, y: 2}}", "defaultConfig: {a: {y: 2}}", &["B01 a.x"]);
    manifests("defaultConfig: {a: 1}", "defaultConfig: {a: 2, b: 3}", &[]);
}

#[test]
fn b01_counts_only_where_the_key_was_edited() {
    let (old, new) = (version("defaultConfig: {a: 1, b: {c: 2}}", ""), version("defaultConfig: {}", ""));
    let edited = BTreeSet::from(["b.c".to_owned()]);
    assert_eq!(ids(&old, &new, LocalEdits::Known(&edited)), ["B01 b"]);
    assert_eq!(ids(&old, &new, LocalEdits::Known(&BTreeSet::new())), Vec::<String>::new());
}

#[test]
fn b02_keys_of_another_kind() {
    manifests("defaultConfig: {a: x}", "defaultConfig: {a: [x]}", &["B02 a"]);
    manifests("defaultConfig: {a: {b: 1}}", "defaultConfig: {a: x}", &["B02 a"]);
    manifests("defaultConfig: {a: 1}", "defaultConfig: {a: x}", &[]);
}

#[test]
fn b03_keys_that_are_read_without_a_default() {
    let old = version("defaultConfig: {a: 1}", "");
    let mut new = version("defaultConfig: {a: 1, c: \"\"}", "");
    new.reads = ["a", "b", "c", "cloud.domain"].map(str::to_owned).into();
    assert_eq!(ids(&old, &new, LocalEdits::Unknown), ["B03 b", "B03 c"]);
    new.reads = ["a"].map(str::to_owned).into();
    assert_eq!(ids(&old, &new, LocalEdits::Unknown), Vec::<String>::new());
}

#[test]
fn b04_requirements() {
    manifests("", "requires: [{name: stonedb}]", &["B04 stonedb"]);
    manifests("requires: [{name: stonedb}]", "", &["B04 stonedb"]);
    manifests("requires: [{name: stonedb, alias: db}]", "requires: [{name: stonedb, alias: store}]", &["B04 store"]);
    manifests("requires: [{name: stonedb, alias: db}]", "requires: [{name: columndb, alias: db}]", &["B04 db"]);
    manifests("requires: [{name: stonedb}]", "requires: [{name: stonedb, versions: \">=15\"}]", &[]);
}

#[test]
fn b05_and_b06_secrets() {
    let db = "requires: [{name: stonedb, alias: db}]\n";
    manifests(db, &format!("{db}requiredSecrets: [db.password]"), &["B05 db.password"]);
    let second = "dialect: v2\n";
    manifests(second, &format!("{second}requiredSecrets: [apps.blog.smtpUrl]"), &["B05 smtpUrl"]);
    manifests("defaultSecrets: [{key: a}]", "", &["B06 a"]);
    manifests("defaultSecrets: [{key: a, default: \"{{ .app.x }}\"}]", "defaultSecrets: [{key: a}]", &["B06 a"]);
    manifests("defaultSecrets: [{key: a}]", "defaultSecrets: [{key: a}, {key: b}]", &[]);
}

#[test]
fn b07_the_way_between_versions() {
    manifests("version: 2.0.0", "version: 1.0.0", &["B07 1.0.0"]);
    manifests("version: 1.0.0", "version: 2.0.0", &["B07 2.0.0"]);
    manifests("version: 1.0.0", "version: 1.2.0\nupgradePath: [{from: \">=1.1\"}]", &["B07 1.2.0"]);
    manifests("version: 1.1.0", "version: 1.2.0\nupgradePath: [{from: \">=1.1\"}]", &[]);
}

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: blog}\nspec: {selector: {matchLabels: {app: blog}}, template: {spec: {containers: [{name: a, image: x:1}]}}}\n";

#[test]
fn b08_fields_that_cannot_change() {
    objects(WEB, &WEB.replace("app: blog", "app: other"), &["B08 Deployment/web"]);
    objects(WEB, &WEB.replace("x:1", "x:2"), &[]);
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: seed}\nspec: {template: {spec: {image: x:1}}}\n";
    objects(job, &job.replace("x:1", "x:2"), &["B08 Job/seed"]);
    let named = "{name: seed, annotations: {rewild.dev/recreate: allow}}";
    objects(job, &job.replace("x:1", "x:2").replace("{name: seed}", named), &[]);
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {serviceName: db, replicas: 1}\n";
    objects(set, &set.replace("serviceName: db", "serviceName: d"), &["B08 StatefulSet/db"]);
    objects(set, &set.replace("replicas: 1", "replicas: 2"), &[]);
}

#[test]
fn b09_data() {
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}\n";
    objects(claim, &claim.replace("2Gi", "900Mi"), &["B09 PersistentVolumeClaim/data"]);
    objects(claim, &claim.replace("ReadWriteOnce", "ReadWriteMany"), &["B09 PersistentVolumeClaim/data"]);
    objects(claim, &claim.replace("name: data", "name: files"), &["B09 PersistentVolumeClaim/data"]);
    objects(claim, &claim.replace("2Gi", "3Gi"), &[]);
}

#[test]
fn b10_and_b11_names() {
    objects(WEB, &WEB.replace("namespace: blog", "namespace: news"), &["B10 news"]);
    objects(WEB, &WEB.replace("name: web", "name: front"), &["B11 Deployment/front"]);
    objects(WEB, &format!("{WEB}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n"), &[]);
}

#[test]
fn b12_and_b13_the_whole_cluster() {
    let kind = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: zones.dns}\nspec: {scope: Namespaced, versions: [{name: v1, served: true}, {name: v2, served: true}]}\n";
    objects(kind, &kind.replace("{name: v1, served: true}, ", ""), &["B12 zones.dns"]);
    objects(kind, &kind.replace("Namespaced", "Cluster"), &["B12 zones.dns"]);
    objects(kind, &kind.replace("{name: v2", "{name: v3, served: true}, {name: v2"), &[]);
    objects(kind, "", &["B12 zones.dns"]);
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{resources: [pods], verbs: [get, list]}]\n";
    objects(role, &role.replace("[get, list]", "[get, delete]"), &["B13 ClusterRole/r"]);
    objects(role, &role.replace("[get, list]", "[get]"), &[]);
    objects("", role, &["B13 ClusterRole/r"]);
    objects(
        WEB,
        &WEB.replace("image: x:1", "image: x:1, securityContext: {privileged: true}"),
        &["B13 Deployment/web"],
    );
    let more = |add: &str| {
        WEB.replace("image: x:1", &format!("image: x:1, securityContext: {{capabilities: {{add: [{add}]}}}}"))
    };
    objects(&more("KILL"), &more("KILL, SYS_ADMIN"), &["B13 Deployment/web"]);
    objects(&more("KILL, SYS_ADMIN"), &more("KILL"), &[]);
    let annotated = WEB.replace(
        "template: {",
        "template: {metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}, ",
    );
    objects(WEB, &annotated, &["B13 Deployment/web"]);
}

#[test]
fn b14_databases() {
    let db = WEB.replace("x:1", "docker.io/library/postgres:15.4");
    objects(&db, &db.replace("15.4", "16.1-alpine"), &["B14 Deployment/web"]);
    objects(&db, &db.replace("15.4", "15.9"), &[]);
    objects(WEB, &WEB.replace("x:1", "x:2"), &[]);
    let (old, new) = (version("category: database", WEB), version("category: database", &WEB.replace("x:1", "x:2")));
    assert_eq!(ids(&old, &new, LocalEdits::Unknown), ["B14 Deployment/web"]);
}

#[test]
fn b15_addresses() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: s}, ports: [{port: 80}]}\n";
    objects(service, &service.replace("80", "81"), &["B15 Service/s"]);
    objects(service, &service.replace("name: s", "name: t"), &["B15 Service/t"]);
    objects(service, &service.replace("port: 80", "port: 80, targetPort: 8080"), &[]);
    let ingress =
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\nspec: {rules: [{host: a.example}]}\n";
    objects(ingress, &ingress.replace("a.example", "b.example"), &["B15 Ingress/i"]);
}

#[test]
fn b16_text_without_effect() {
    let (old, new) = (version("", WEB), version("", &format!("# the same\n{WEB}")));
    assert_eq!(ids(&old, &new, LocalEdits::Unknown), ["B16 the templates"]);
    assert_eq!(ids(&old, &old, LocalEdits::Unknown), Vec::<String>::new());
}
