//! Pure. Each rule of the examination with a defect that it finds and a near miss that it leaves alone.
//!
//! Not here: the words of each finding and what else speaks (`tests.rs`).

use std::collections::{BTreeMap, BTreeSet};

use super::examine;
use super::tests::{CLEAN, Change, changed, job};
use crate::model::PackageName;
use crate::package::lint::RULES;
use crate::package::read_manifest;

const MANIFEST: &str = "manifest.yaml";
const KUSTOMIZATION: &str = "kustomization.yaml";
const POD: &str = "deployment.yaml";
const SERVICE: &str = "service.yaml";
const INGRESS: &str = "ingress.yaml";
/// What the required package says of itself, where it is known: everything that the clean package reads.
const OFFERS: &str = "version: '1'\ndefaultConfig: {host: x}\ndefaultSecrets: [password]\n";

/// Returns the ids of what is found in the clean package with changes, beside a required package of a manifest.
fn ids(changes: &[Change<'_>], required: &str) -> BTreeSet<String> {
    let name = |text: &str| PackageName::parse(text).unwrap();
    let manifest = read_manifest(MANIFEST, &name("stonedb"), required).unwrap().manifest;
    let others = BTreeMap::from([("stonedb".to_owned(), manifest)]);
    let examined = examine(&name("blog"), &changed(changes), None, &others);
    examined.findings.into_iter().map(|finding| finding.id).collect()
}

/// Checks a defect and a near miss of a rule and notes that it has both.
fn check(checked: &mut Vec<&'static str>, id: &'static str, defect: &[Change<'_>], near_miss: &[Change<'_>]) {
    assert!(ids(defect, OFFERS).contains(id), "{id} does not find its defect but {:?}", ids(defect, OFFERS));
    assert!(!ids(near_miss, OFFERS).contains(id), "{id} speaks of its near miss");
    assert_ne!(defect, near_miss, "{id}");
    checked.push(id);
}

/// Borrows the changes that add a Job.
fn borrowed(job: &[(String, String, String); 2]) -> [Change<'_>; 2] {
    [0, 1].map(|at: usize| (job[at].0.as_str(), job[at].1.as_str(), job[at].2.as_str()))
}

#[test]
fn every_rule_finds_a_defect_and_leaves_a_near_miss_alone() {
    let mut checked = Vec::new();
    of_manifests(&mut checked);
    of_templates(&mut checked);
    of_pods(&mut checked);
    of_jobs(&mut checked);
    of_labels(&mut checked);
    of_names(&mut checked);
    of_secrets(&mut checked);
    of_metadata(&mut checked);
    checked.sort_unstable();
    assert_eq!(checked, RULES.iter().map(|rule| rule.id).collect::<Vec<_>>());
}

fn of_manifests(checked: &mut Vec<&'static str>) {
    let db_host = "\"{{ .apps.db.host }}\"";
    check(checked, "L001", &[(MANIFEST, "", "is: x\n")], &[(MANIFEST, "", "source: https://x.example.org\n")]);
    let single = "'{{ .apps.db.host }}'";
    check(checked, "L002", &[(MANIFEST, db_host, "{{ .apps.db.host }}")], &[(MANIFEST, db_host, single)]);
    check(
        checked,
        "L006",
        &[(MANIFEST, "name: blog\n", "name: diary\n")],
        &[(MANIFEST, "name: blog\n", "name: \"blog\"\n")],
    );
    check(
        checked,
        "L007",
        &[(MANIFEST, "namespace: blog", "namespace: web")],
        &[(MANIFEST, "namespace: blog", "namespace: \"blog\"")],
    );
    let spare = (MANIFEST, "  domain:", "  spare: 1\n  domain:");
    let read = (POD, "        ports:", "        - {name: SPARE, value: \"{{ .spare }}\"}\n        ports:");
    check(checked, "L008", &[spare], &[spare, read]);
    let icon = "https://x.example.org/i.svg";
    check(checked, "L010", &[(MANIFEST, icon, "http://x.example.org/i.svg")], &[(MANIFEST, icon, "<svg></svg>")]);
    check(checked, "L029", &[("install.sh", "", "true\n")], &[("tools/install.sh", "", "true\n")]);
    let version = |to| (MANIFEST, "version: 1.0.0", to);
    check(checked, "L030", &[version("version: stable")], &[version("version: v1.2-rc.1")]);
    check(checked, "L034", &[(MANIFEST, "category: web\n", "")], &[(MANIFEST, "category: web\n", "category: other\n")]);
    let default = |to| (MANIFEST, "- key: token", to);
    check(
        checked,
        "L041",
        &[default("- key: token\n    default: geheim")],
        &[default("- key: token\n    default: \"at-{{ .app.domain }}\"")],
    );
}

fn of_templates(checked: &mut Vec<&'static str>) {
    let host = |to| (POD, "{{ .dbHost }}", to);
    check(checked, "L003", &[host("{{ .db-host }}")], &[host("{{ index . \"dbHost\" }}")]);
    check(checked, "L009", &[host("cache.quickcache.svc.cluster.local")], &[host("stonedb.stonedb.svc.cluster.local")]);
    let helm = "app.kubernetes.io/name: x";
    let selected = format!("{{component: web, {helm}}}");
    let (selector, labels) = (format!("selector: {selected}"), format!("labels: {selected}"));
    check(
        checked,
        "L021",
        &[
            (SERVICE, "selector: {component: web}", &selector),
            (POD, "{component: web}", &selected),
            (POD, "labels: {component: web}", &labels),
        ],
        &[(POD, "labels: {component: web}", &labels)],
    );
    check(
        checked,
        "L027",
        &[(KUSTOMIZATION, "", "commonLabels: {a: b}\n")],
        &[(KUSTOMIZATION, "", "commonAnnotations: {a: b}\n")],
    );
    let image = |to| (POD, "image: {{ .image }}", to);
    check(
        checked,
        "L033",
        &[image("image: registry.example.org/blog:1.0.0")],
        &[image("image: registry.example.org/blog:1.0.1")],
    );
}

fn of_pods(checked: &mut Vec<&'static str>) {
    let digest = format!("blog@sha256:{}", "0".repeat(64));
    check(checked, "L011", &[(MANIFEST, "blog:1.0.0", "blog:latest")], &[(MANIFEST, "blog:1.0.0", &digest)]);
    let of_pod = (POD, "        runAsNonRoot: true\n", "");
    let escalation = "allowPrivilegeEscalation: false";
    let of_container = (POD, escalation, "runAsNonRoot: true\n          allowPrivilegeEscalation: false");
    check(checked, "L013", &[of_pod], &[of_pod, of_container]);
    let user = "allowPrivilegeEscalation: false\n          runAsUser: 7";
    check(checked, "L014", &[(POD, escalation, "runAsUser: 7")], &[(POD, escalation, user)]);
    check(checked, "L015", &[(POD, "[ALL]", "[KILL]")], &[(POD, "[ALL]", "[KILL, all]")]);
    check(checked, "L016", &[(POD, "RuntimeDefault", "Unconfined")], &[(POD, "RuntimeDefault", "Localhost")]);
    let root = "readOnlyRootFilesystem: true";
    check(
        checked,
        "L017",
        &[(POD, root, "readOnlyRootFilesystem: false")],
        &[(POD, root, "readOnlyRootFilesystem: true\n          runAsUser: 7")],
    );
    let network = |to| (POD, "      containers:", to);
    check(
        checked,
        "L018",
        &[network("      hostNetwork: true\n      containers:")],
        &[network("      hostNetwork: false\n      containers:")],
    );
    let limits = "          limits: {memory: 1Gi}\n";
    check(checked, "L019", &[(POD, limits, "")], &[(POD, limits, "          limits: {cpu: 1}\n")]);
    let variable = |to| (POD, "        ports:", to);
    check(
        checked,
        "L020",
        &[variable("        - {name: URL, value: db://$(PASSWORD)@x}\n        ports:")],
        &[variable("        - {name: URL, value: db://$(HOST)/x}\n        ports:")],
    );
    let probe = "readinessProbe: {tcpSocket: {port: http}}";
    check(
        checked,
        "L035",
        &[(POD, probe, "stdin: false")],
        &[(POD, probe, "livenessProbe: {tcpSocket: {port: http}}")],
    );
}

fn of_jobs(checked: &mut Vec<&'static str>) {
    let changing = job("true", "{{ .image }}");
    let mut declared = changing.clone();
    let allowed = "  name: init\n  annotations: {rewild.dev/recreate: allow}\nspec";
    declared[0].2 = declared[0].2.replace("  name: init\nspec", allowed);
    check(checked, "L012", &borrowed(&changing), &borrowed(&declared));
    let bare = job("psql -c 'CREATE TABLE t'", "x:1");
    let guarded = job("psql -c 'CREATE TABLE IF NOT EXISTS t'", "x:1");
    check(checked, "L036", &borrowed(&bare), &borrowed(&guarded));
}

fn of_labels(checked: &mut Vec<&'static str>) {
    let second = CLEAN[3].1.replace("name: blog\nspec", "name: other\nspec");
    let distinct = second.replace("component: web", "component: other");
    let listed = (KUSTOMIZATION, "ingress.yaml]", "ingress.yaml, other.yaml]");
    check(checked, "L004", &[("other.yaml", "", &second), listed], &[("other.yaml", "", &distinct), listed]);
    let part_of = ", partOf: wild-cloud";
    check(
        checked,
        "L022",
        &[(KUSTOMIZATION, part_of, "")],
        &[(KUSTOMIZATION, part_of, ", partOf: wild-cloud, tier: web")],
    );
    check(
        checked,
        "L023",
        &[(INGRESS, "    secretName: blog-tls\n", "")],
        &[(INGRESS, "hosts: [{{ .domain }}]", "hosts: [{{ .domain }}, \"www.{{ .domain }}\"]")],
    );
}

fn of_names(checked: &mut Vec<&'static str>) {
    let on = |to| (SERVICE, "name: blog", to);
    check(
        checked,
        "L026",
        &[on("name: blog\n  annotations: {a: on}")],
        &[on("name: blog\n  annotations: {a: \"on\"}")],
    );
    let generator = "configMapGenerator:\n- name: words\n  literals: [a=b]\n";
    let plain = format!("{generator}  options: {{disableNameSuffixHash: true}}\n");
    let named = on("name: blog\n  annotations: {words: words}");
    check(checked, "L028", &[(KUSTOMIZATION, "", generator), named], &[(KUSTOMIZATION, "", &plain), named]);
    let volume = |to| (POD, "      containers:", to);
    check(
        checked,
        "L031",
        &[volume("      volumes: [{name: v, configMap: {name: none}}]\n      containers:")],
        &[volume("      volumes: [{name: v, configMap: {name: none, optional: true}}]\n      containers:")],
    );
    assert!(ids(&[], "version: '1'\ndefaultConfig: {port: 1}\ndefaultSecrets: [password]\n").contains("L032"));
    check(checked, "L032", &[(MANIFEST, "- db.password", "- db.password\n  - db.root")], &[]);
}

fn of_secrets(checked: &mut Vec<&'static str>) {
    let reads = |to| (POD, "name: blog-secrets, key: db.password", to);
    check(
        checked,
        "L005",
        &[reads("name: stonedb-secrets, key: root")],
        &[reads("name: stonedb-secrets, key: password")],
    );
    check(
        checked,
        "L024",
        &[(KUSTOMIZATION, "", "secretGenerator:\n- name: s\n  literals: [a=b]\n")],
        &[(KUSTOMIZATION, "", "configMapGenerator:\n- name: s\n  literals: [a=b]\n")],
    );
}

fn of_metadata(checked: &mut Vec<&'static str>) {
    let on = |to| (SERVICE, "name: blog", to);
    check(
        checked,
        "L042",
        &[on("name: blog\n  resourceVersion: \"7\"")],
        &[on("name: blog\n  creationTimestamp: null")],
    );
    let owner = "name: blog\n  ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]";
    check(checked, "L043", &[on(owner)], &[on("name: blog\n  annotations: {ownerReferences: none}")]);
    check(
        checked,
        "L044",
        &[on("name: blog\n  finalizers: [example.org/hold]")],
        &[on("name: blog\n  finalizers: []")],
    );
    check(checked, "L045", &[on("name: Blog")], &[on("name: blog-2")]);
}
