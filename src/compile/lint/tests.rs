//! Pure. Tests of the examination of packages: a clean package, and one planted defect for each rule.
//!
//! Not here: the sample packages (`generate/tests.rs`).

use std::collections::BTreeMap;

use super::examine;
use crate::base::RepoPath;
use crate::model::{File, FileTree, PackageName, Severity};
use crate::package::lint::{RULES, rule_of};

/// A package without a single finding of a rule that is worse than information.
pub(super) const CLEAN: [(&str, &str); 6] = [
    ("README.md", "# Blog\n"),
    (
        "manifest.yaml",
        "name: blog\nis: blog\ndescription: Writes\ncategory: web\nversion: 1.0.0\nicon: https://x.example.org/i.svg\n\
         requires:\n  - name: stonedb\n    alias: db\ndefaultConfig:\n  namespace: blog\n  image: registry.example.org/blog:1.0.0\n  \
         domain: blog.{{ .cloud.domain }}\n  dbHost: \"{{ .apps.db.host }}\"\ndefaultSecrets:\n  - key: token\nrequiredSecrets:\n  - db.password\n",
    ),
    (
        "kustomization.yaml",
        "resources: [deployment.yaml, service.yaml, ingress.yaml]\nnamespace: {{ .namespace }}\nlabels:\n- includeSelectors: true\n  \
         pairs: {app: blog, managedBy: kustomize, partOf: wild-cloud}\n",
    ),
    (
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: blog\nspec:\n  selector:\n    matchLabels: {component: web}\n  \
         template:\n    metadata:\n      labels: {component: web}\n    spec:\n      securityContext:\n        runAsNonRoot: true\n        \
         seccompProfile: {type: RuntimeDefault}\n      containers:\n      - name: blog\n        image: {{ .image }}\n        env:\n        \
         - name: HOST\n          value: {{ .dbHost }}\n        - name: PASSWORD\n          valueFrom:\n            secretKeyRef: \
         {name: blog-secrets, key: db.password}\n        ports:\n        - name: http\n          containerPort: 80\n        \
         readinessProbe: {tcpSocket: {port: http}}\n        resources:\n          requests: {cpu: 10m}\n          limits: {memory: 1Gi}\n        \
         securityContext:\n          allowPrivilegeEscalation: false\n          readOnlyRootFilesystem: true\n          capabilities: {drop: [ALL]}\n",
    ),
    (
        "service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: blog\nspec:\n  selector: {component: web}\n  ports:\n  - name: http\n    \
         port: 80\n    targetPort: http\n",
    ),
    (
        "ingress.yaml",
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: blog\n  annotations:\n    \
         external-dns.alpha.kubernetes.io/target: {{ .domain }}\nspec:\n  tls:\n  - hosts: [{{ .domain }}]\n    secretName: blog-tls\n  \
         rules:\n  - host: {{ .domain }}\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend:\n          \
         service: {name: blog, port: {number: 80}}\n",
    ),
];

/// Replaces a text in a file of the clean package; an empty one adds the file or appends to it.
pub(super) type Change<'a> = (&'a str, &'a str, &'a str);

fn found(changes: &[Change<'_>]) -> Vec<(String, String)> {
    let examined = examine(&PackageName::parse("blog").unwrap(), &changed(changes), None, &BTreeMap::new());
    examined.findings.iter().map(|finding| (finding.id.clone(), finding.to_string())).collect()
}

/// Returns the clean package with changes.
pub(super) fn changed(changes: &[Change<'_>]) -> FileTree {
    let mut files: BTreeMap<String, String> =
        CLEAN.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    for (path, from, to) in changes {
        let text = files.entry((*path).to_owned()).or_default();
        assert!(from.is_empty() || text.contains(from), "{path} has no {from}");
        *text = if from.is_empty() { format!("{text}{to}") } else { text.replacen(from, to, 1) };
    }
    files.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect()
}

/// Checks that a defect gives this finding and that no other rule speaks; ids after the first may come along.
fn check(ids: &[&str], changes: &[Change<'_>], expected: &str) {
    let findings = found(changes);
    let first = findings.iter().find(|(id, _)| *id == ids[0]);
    assert_eq!(first.map(|(_, text)| text.as_str()), Some(expected), "{findings:#?}");
    let others: Vec<_> = findings.iter().filter(|(id, _)| !ids.contains(&id.as_str())).collect();
    assert!(others.is_empty(), "{others:#?}");
}

const POD: &str = "deployment.yaml";
const MANIFEST: &str = "manifest.yaml";

#[test]
fn a_clean_package_has_no_finding() {
    assert_eq!(found(&[]), []);
}

#[test]
fn what_is_wrong_in_a_manifest_is_found() {
    check(
        &["L001"],
        &[(MANIFEST, "", "is: x\n")],
        "manifest.yaml:19:1: L001: the key \"is\" is set twice, first on line 2",
    );
    check(
        &["L002"],
        &[(MANIFEST, "\"{{ .apps.db.host }}\"", "{{ .apps.db.host }}")],
        "manifest.yaml:14: L002: a template that is a whole value needs quotes, or YAML reads its braces as a map",
    );
    check(
        &["L006"],
        &[(MANIFEST, "name: blog", "name: diary")],
        "manifest.yaml:1: L006: the name differs from the directory blog, which counts",
    );
    check(
        &["L007"],
        &[(MANIFEST, "namespace: blog", "namespace: web")],
        "manifest.yaml:11: L007: the namespace web is not named as the app blog",
    );
    check(
        &["L008"],
        &[(MANIFEST, "  domain:", "  spare: 1\n  domain:")],
        "manifest.yaml:13: L008: no template reads spare",
    );
    check(
        &["L010"],
        &[(MANIFEST, "https://x", "http://x")],
        "manifest.yaml:6: L010: the icon is no https address and no small picture",
    );
    check(
        &["L030"],
        &[(MANIFEST, "version: 1.0.0", "version: stable")],
        "manifest.yaml:5: L030: stable is no semantic version",
    );
    check(&["L029"], &[("install.sh", "", "kubectl apply\n")], "install.sh:1: L029: the script is never run");
    check(&["L034"], &[(MANIFEST, "category: web\n", "")], "manifest.yaml:1: L034: the package has no category");
    check(
        &["L041"],
        &[(MANIFEST, "- key: token", "- key: token\n    default: geheim")],
        "manifest.yaml:16: L041: the secret token is the same for everybody, because its default is fixed",
    );
}

#[test]
fn what_is_wrong_in_templates_is_found() {
    check(
        &["L003"],
        &[(POD, "{{ .dbHost }}", "{{ .db-host }}")],
        "deployment.yaml:20:24: L003: a name is followed by a character that no name may hold",
    );
    check(
        &["L009"],
        &[
            (POD, "{{ .dbHost }}", "cache.quickcache.svc.cluster.local"),
            (MANIFEST, "  dbHost: \"{{ .apps.db.host }}\"\n", ""),
        ],
        "deployment.yaml:20: L009: the address is of an app in the namespace quickcache, which is not required",
    );
    check(
        &["L021", "T201"],
        &[
            ("service.yaml", "selector: {component: web}", "selector: {component: web, app.kubernetes.io/name: x}"),
            (POD, "{component: web}", "{component: web, app.kubernetes.io/name: x}"),
            (POD, "labels: {component: web}", "labels: {component: web, app.kubernetes.io/name: x}"),
        ],
        "deployment.yaml:1: L021: Deployment/blog: its selector uses the label app.kubernetes.io/name",
    );
    check(
        &["L027"],
        &[("kustomization.yaml", "", "commonLabels: {a: b}\n")],
        "kustomization.yaml:6: L027: commonLabels is an old form of labels",
    );
    check(
        &["L027"],
        &[(POD, "{{ .dbHost }}", "{{ if contains .dbHost \"a\" }}a{{ else }}b{{ end }}")],
        "deployment.yaml:20: L027: contains is an old name of strings.Contains",
    );
    check(
        &["L033"],
        &[
            (POD, "image: {{ .image }}", "image: registry.example.org/blog:1.0.0"),
            ("service.yaml", "name: blog", "name: blog\n  annotations: {i: \"{{ .image }}\"}"),
        ],
        "deployment.yaml:17: L033: the value of the config key image is repeated here",
    );
}

#[test]
fn what_pods_should_not_do_is_found() {
    let object = "Deployment/blog: container blog";
    let line = |id: &str, what: &str| format!("deployment.yaml:1: {id}: {object} {what}");
    check(
        &["L011"],
        &[(MANIFEST, "blog:1.0.0", "blog:latest")],
        &line("L011", "runs registry.example.org/blog:latest, which will be another image tomorrow"),
    );
    check(&["L013"], &[(POD, "        runAsNonRoot: true\n", "")], &line("L013", "may run as root"));
    check(&["L014"], &[(POD, "allowPrivilegeEscalation: false", "runAsUser: 7")], &line("L014", "may gain privileges"));
    check(&["L015"], &[(POD, "{drop: [ALL]}", "{drop: [KILL]}")], &line("L015", "keeps capabilities"));
    check(&["L016", "L018"], &[(POD, "RuntimeDefault", "Unconfined")], &line("L016", "has no seccomp profile"));
    check(
        &["L017"],
        &[(POD, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false")],
        &line("L017", "may write into its image"),
    );
    check(
        &["L018"],
        &[(POD, "{drop: [ALL]}", "{drop: [ALL], add: [KILL]}")],
        &line("L018", "asks for the capability KILL"),
    );
    check(
        &["L018"],
        &[(POD, "      containers:", "      hostNetwork: true\n      containers:")],
        "deployment.yaml:1: L018: Deployment/blog: its pod asks for hostNetwork",
    );
    check(&["L019"], &[(POD, "          limits: {memory: 1Gi}\n", "")], &line("L019", "has no requests or no limits"));
    check(
        &["L020"],
        &[(POD, "        ports:", "        - {name: URL, value: db://$(PASSWORD)@x}\n        ports:")],
        &line("L020", "puts a secret together in the variable URL"),
    );
    check(
        &["L035"],
        &[(POD, "        readinessProbe: {tcpSocket: {port: http}}\n", "")],
        "deployment.yaml:1: L035: Deployment/blog: no container has a probe",
    );
}

/// A Job beside the clean package, with a command.
pub(super) fn job(command: &str, image: &str) -> [(String, String, String); 2] {
    let pod = "      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}\n      restartPolicy: Never\n";
    let container = format!(
        "      containers:\n      - name: init\n        image: {image}\n        command: [sh, -c, \"{command}\"]\n        resources: \
         {{requests: {{cpu: 1m}}, limits: {{cpu: 1}}}}\n        securityContext: {{allowPrivilegeEscalation: false, \
         readOnlyRootFilesystem: true, capabilities: {{drop: [ALL]}}}}\n"
    );
    let text = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: init\nspec:\n  template:\n    metadata:\n      labels: {{component: \
         init}}\n    spec:\n{pod}{container}"
    );
    [
        ("job.yaml".to_owned(), String::new(), text),
        ("kustomization.yaml".to_owned(), "ingress.yaml]".to_owned(), "ingress.yaml, job.yaml]".to_owned()),
    ]
}

fn check_job(ids: &[&str], job: [(String, String, String); 2], expected: &str) {
    let changes: Vec<Change<'_>> = job.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    check(ids, &changes, expected);
}

#[test]
fn jobs_that_cannot_be_updated_or_run_twice_are_found() {
    check_job(
        &["L012"],
        job("true", "{{ .image }}"),
        "job.yaml:1: L012: Job/init: its pods depend on config, and a Job cannot be changed",
    );
    check_job(
        &["L036"],
        job("psql -c 'CREATE DATABASE blog'", "x:1"),
        "job.yaml:1: L036: Job/init: it makes a database, user or table without looking whether it is there",
    );
    let guarded = job("psql -c 'CREATE TABLE IF NOT EXISTS blog'", "x:1");
    let changes: Vec<Change<'_>> = guarded.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(found(&changes), []);
}

#[test]
fn labels_and_selectors_that_clash_or_lack_are_found() {
    let second = CLEAN[3].1.replace("name: blog\nspec", "name: other\nspec");
    check(
        &["L004"],
        &[("other.yaml", "", &second), ("kustomization.yaml", "ingress.yaml]", "ingress.yaml, other.yaml]")],
        "other.yaml:1: L004: Deployment/other: it selects the pods of Deployment/blog too",
    );
    check(
        &["L022"],
        &[("kustomization.yaml", ", partOf: wild-cloud", "")],
        "kustomization.yaml:1: L022: objects lack the label partOf",
    );
    check(
        &["L023"],
        &[("ingress.yaml", "  tls:\n  - hosts: [{{ .domain }}]\n    secretName: blog-tls\n", "")],
        "ingress.yaml:1: L023: Ingress/blog: it lacks a TLS secret",
    );
}

#[test]
fn names_that_lead_nowhere_are_found() {
    let volume = |text: &str| format!("      volumes: [{{name: v, {text}}}]\n      containers:");
    check(
        &["L031"],
        &[(POD, "      containers:", &volume("configMap: {name: none}"))],
        "deployment.yaml:1: L031: Deployment/blog: there is no ConfigMap none",
    );
    check(
        &["L031"],
        &[("service.yaml", "targetPort: http", "targetPort: web")],
        "service.yaml:1: L031: Service/blog: its pods have no port web",
    );
    check(
        &["L031"],
        &[("ingress.yaml", "service: {name: blog", "service: {name: other")],
        "ingress.yaml:1: L031: Ingress/blog: there is no Service other",
    );
    check(
        &["L028"],
        &[
            ("kustomization.yaml", "", "configMapGenerator:\n- name: words\n  literals: [a=b]\n"),
            ("service.yaml", "name: blog", "name: blog\n  annotations: {words: words}"),
        ],
        "service.yaml:1: L028: Service/blog: it names words, which is called words-4h2mbtbbt6",
    );
}

#[test]
fn secrets_that_are_no_secrets_or_of_others_are_found() {
    check(
        &["L005"],
        &[(POD, "name: blog-secrets, key: db.password", "name: stonedb-secrets, key: root")],
        "deployment.yaml:1: L005: an object reads the key root of stonedb-secrets, the Secret of another app",
    );
    check(
        &["L024"],
        &[("kustomization.yaml", "", "secretGenerator:\n- name: s\n  literals: [a=b]\n")],
        "kustomization.yaml:7: L024: the Secret s-k695gkmbtk holds values, which would be committed",
    );
}

#[test]
fn what_a_required_package_does_not_offer_is_found() {
    let files: FileTree = CLEAN.iter().map(|(path, text)| (RepoPath::parse(path).unwrap(), File::text(text))).collect();
    let offers = |fields: &str| {
        let text = format!("version: '1'\n{fields}");
        let name = PackageName::parse("stonedb").unwrap();
        let manifest = crate::package::read_manifest("manifest.yaml", &name, &text).unwrap().manifest;
        let others = BTreeMap::from([("stonedb".to_owned(), manifest)]);
        let examined = examine(&PackageName::parse("blog").unwrap(), &files, None, &others);
        examined.findings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(offers("defaultConfig: {host: x}\ndefaultSecrets: [password]\n"), [""; 0]);
    assert_eq!(
        offers("defaultConfig: {port: 1}\ndefaultSecrets: [root]\n"),
        [
            "manifest.yaml:7: L032: db offers no config key host; it has port",
            "manifest.yaml:18: L032: db exports no secret password",
        ]
    );
}

#[test]
fn a_value_that_tools_read_differently_is_found() {
    check(
        &["L026"],
        &[("service.yaml", "name: blog", "name: blog\n  annotations: {a: on}")],
        "service.yaml:5:20: L026: on is a text for kustomize and the boolean true for kubectl",
    );
}

#[test]
fn a_value_of_a_type_that_the_api_does_not_take_is_found() {
    let place = "Deployment/blog: spec.template.spec.containers";
    check(
        &["L026"],
        &[(MANIFEST, "  dbHost: \"{{ .apps.db.host }}\"", "  dbHost: \"8080\"")],
        &format!("deployment.yaml:1: L026: {place}.env.value wants a text and gets 8080"),
    );
    check(
        &["L026"],
        &[(POD, "containerPort: 80", "containerPort: \"80\"")],
        &format!("deployment.yaml:1: L026: {place}.ports.containerPort wants a number and gets \"80\""),
    );
    check(
        &["L026", "L013"],
        &[(POD, "runAsNonRoot: true", "runAsNonRoot: \"true\"")],
        &["deployment.yaml:1: L026: Deployment/blog: spec.template.spec.securityContext.runAsNonRoot wants true or false and ", "gets \"true\""].concat(),
    );
}

#[test]
fn a_new_package_has_no_finding() {
    let name = PackageName::parse("my-app").unwrap();
    let examined = examine(&name, &crate::package::scaffold(&name), None, &BTreeMap::new());
    assert_eq!(examined.findings, []);
    assert_eq!(examined.generated.unwrap().objects.len(), 4);
}

#[test]
fn rules_are_sorted_and_have_a_remedy() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert!(ids.is_sorted() && RULES.iter().all(|rule| !rule.fix.is_empty()));
    assert_eq!(rule_of("L011").unwrap().publishing, Severity::Error);
}
