//! Pure. Tests of what does not hold in one tree.

use super::Scene;
use crate::base::RepoPath;
use crate::model::{File, FileTree};

const POD: &str = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec:\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      volumes: [{name: v}]\n      containers:\n      - name: a\n        ports: [{name: web, containerPort: 80}]\n        volumeMounts: [{name: v, mountPath: /v}]\n        readinessProbe: {httpGet: {port: web}}\n---\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: [{port: 80, targetPort: web}]\n";

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let path = |name: &str| RepoPath::parse(&format!("apps/a/{name}")).unwrap();
    let files: FileTree = files.iter().map(|(name, text)| (path(name), File::text(text))).collect();
    Scene::read(&files).findings().iter().map(|it| format!("{} {}: {}", it.object, it.field, it.what)).collect()
}

fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(from.is_empty() || POD.contains(from));
    let expected: Vec<String> = expected.iter().map(|it| it.replace("NO", "nothing has the name")).collect();
    assert_eq!(findings(&[("all.yaml", &POD.replacen(from, to, 1))]), expected);
}

/// Expects what is wrong with some objects, with `NO` for the words that begin most sentences.
fn check_objects(text: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|it| it.replace("NO", "nothing has the name")).collect();
    assert_eq!(findings(&[("all.yaml", text)]), expected, "{text}");
}

fn check_files(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(findings(files), expected);
}

#[test]
fn every_port_volume_and_label_that_nothing_has_is_found() {
    check("", "", &[]);
    check(
        "{name: web, c",
        "{name: http, c",
        &[
            "Deployment.apps/a spec.template.spec.containers[name=a].readinessProbe: NO web, which should be a port of the container",
            "Service/a spec.ports: NO web, which should be a port of its pods",
        ],
    );
    check(
        "[{name: v}]",
        "[]",
        &[
            "Deployment.apps/a spec.template.spec.containers[name=a].volumeMounts: NO v, which should be a volume of the pod",
        ],
    );
    check(
        "targetPort: web",
        "targetPort: http",
        &["Service/a spec.ports: NO http, which should be a port of its pods"],
    );
    check(
        "{labels: {app: a}}",
        "{labels: {app: b}}",
        &["Service/a spec.selector: NO app=a, which should be the labels of a pod"],
    );
    check("port: web}}", "port: 80}}", &[]);
}

fn pod(spec: &str) -> String {
    format!("kind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c}}], {spec}}}\n")
}

fn container(fields: &str) -> String {
    format!("kind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c, {fields}}}]}}\n")
}

#[test]
fn every_object_that_a_pod_names_must_be_there() {
    check_objects(
        &pod("serviceAccountName: s"),
        &["Pod/p spec.serviceAccountName: NO s, which should be a ServiceAccount"],
    );
    check_objects(&pod("serviceAccountName: default"), &[]);
    check_objects(
        &pod("imagePullSecrets: [{name: s}]"),
        &["Pod/p spec.imagePullSecrets: NO s, which should be a Secret"],
    );
    let volume = |source: &str| pod(&format!("volumes: [{{name: v, {source}}}]"));
    let field = "Pod/p spec.volumes[name=v]:";
    check_objects(&volume("configMap: {name: m}"), &[&format!("{field} NO m, which should be a ConfigMap")]);
    check_objects(&volume("configMap: {name: m, optional: true}"), &[]);
    check_objects(&volume("secret: {secretName: m}"), &[&format!("{field} NO m, which should be a Secret")]);
    check_objects(
        &volume("projected: {sources: [{secret: {name: m}}]}"),
        &[&format!("{field} NO m, which should be a Secret")],
    );
    check_objects(
        &volume("persistentVolumeClaim: {claimName: m}"),
        &[&format!("{field} NO m, which should be a PersistentVolumeClaim")],
    );
    check_objects(
        &container("envFrom: [{configMapRef: {name: m}}]"),
        &["Pod/p spec.containers[name=c].envFrom: NO m, which should be a ConfigMap"],
    );
    let variable = |from: &str| container(&format!("env: [{{name: X, valueFrom: {{{from}}}}}]"));
    let field = "Pod/p spec.containers[name=c].env[name=X]:";
    check_objects(&variable("secretKeyRef: {name: m, key: k}"), &[&format!("{field} NO m, which should be a Secret")]);
    let map = "---\nkind: ConfigMap\nmetadata: {name: m}\ndata: {j: one}\n";
    check_objects(
        &format!("{}{map}", variable("configMapKeyRef: {name: m, key: k}")),
        &[&format!("{field} NO k, which should be a key of the ConfigMap m")],
    );
    check_objects(&format!("{}{map}", variable("configMapKeyRef: {name: m, key: j}")), &[]);
}

#[test]
fn every_object_that_others_name_must_be_there() {
    check_objects(
        "kind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {scaleTargetRef: {kind: Deployment, name: d}}\n",
        &["HorizontalPodAutoscaler/h spec.scaleTargetRef: NO d, which should be a Deployment"],
    );
    check_objects(
        "kind: RoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}\nsubjects: [{kind: ServiceAccount, name: s}, {kind: User, name: u}]\n",
        &[
            "RoleBinding/b roleRef: NO r, which should be a Role",
            "RoleBinding/b subjects: NO s, which should be a ServiceAccount",
        ],
    );
    let ingress = |port: &str| {
        format!(
            "kind: Ingress\nmetadata: {{name: i}}\nspec: {{rules: [{{http: {{paths: [{{backend: {{service: {{name: s, port: {port}}}}}}}]}}}}]}}\n"
        )
    };
    check_objects(&ingress("{number: 80}"), &["Ingress/i spec.rules: NO s, which should be a Service"]);
    let service = "---\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{name: web, port: 80}]}\n";
    check_objects(&(ingress("{number: 80}") + service), &[]);
    check_objects(&(ingress("{name: web}") + service), &[]);
    check_objects(
        &(ingress("{name: http}") + service),
        &["Ingress/i spec.rules: NO http, which should be a port of the Service s"],
    );
    let route = |port: &str| {
        format!(
            "kind: HTTPRoute\nmetadata: {{name: r}}\nspec: {{rules: [{{backendRefs: [{{name: s, port: {port}}}]}}]}}\n"
        )
    };
    check_objects(&(route("80") + service), &[]);
    check_objects(
        &(route("81") + service),
        &["HTTPRoute/r spec.rules: NO 81, which should be a port of the Service s"],
    );
    check_objects(
        "kind: Ingress\nmetadata: {name: i}\nspec: {tls: [{secretName: t}]}\n",
        &["Ingress/i spec.tls: NO t, which should be a Secret"],
    );
    let certificate = "---\nkind: Certificate\nmetadata: {name: c}\nspec: {secretName: t}\n";
    let tls = "kind: Ingress\nmetadata: {name: i}\nspec: {tls: [{secretName: t}]}\n";
    check_objects(&format!("{tls}{certificate}"), &[]);
}

#[test]
fn what_a_kustomization_generates_is_there() {
    let files = [
        ("kustomization.yaml", "resources: [p.yaml]\nconfigMapGenerator: [{name: m, literals: [a=b]}]\n"),
        ("p.yaml", &*container("envFrom: [{configMapRef: {name: m}}]")),
    ];
    check_files(&files, &[]);
}

#[test]
fn every_entry_of_a_kustomization_has_its_file() {
    let pod = pod("hostNetwork: false");
    let check = |kustomization: &str, expected: &[&str]| {
        let files = [("kustomization.yaml", kustomization), ("p.yaml", &*pod), ("base/kustomization.yaml", "{}\n")];
        check_files(&files, expected);
    };
    check("resources: [p.yaml, base, https://example.org/x.yaml]\n", &[]);
    check("resources: [./p.yaml]\ncomponents: [../a/base]\n", &[]);
    let missing = |field: &str| {
        format!("kustomization.yaml {field}: nothing has the name q.yaml, which should be a file or directory")
    };
    check("resources: [p.yaml, q.yaml]\n", &[&missing("resources")]);
    check("resources: [p.yaml]\npatches: [{path: q.yaml}]\n", &[&missing("patches")]);
    check("resources: [p.yaml]\nsecretGenerator: [{name: s, files: [k=q.yaml]}]\n", &[&missing("secretGenerator")]);
    check(
        "resources: [base]\n",
        &["kustomization.yaml resources: no kustomization names p.yaml, so its objects are left out"],
    );
}

#[test]
fn a_field_that_is_set_in_two_ways_is_found() {
    let patch = "kind: Deployment\nmetadata: {name: d}\nspec: {replicas: 2, template: {spec: {containers: [{name: c, image: 'x.io/y:1'}]}}}\n";
    let check = |kustomization: &str, expected: &[&str]| {
        check_files(&[("kustomization.yaml", kustomization), ("d.yaml", patch)], expected);
    };
    let replicas = "kustomization.yaml replicas: the replicas of d are set under replicas and by a patch";
    check("patches: [{path: d.yaml}]\nreplicas: [{name: d, count: 3}]\n", &[replicas]);
    check("patches: [{path: d.yaml}]\nreplicas: [{name: e, count: 3}]\n", &[]);
    check("resources: [d.yaml]\nreplicas: [{name: d, count: 3}]\n", &[]);
    check(
        "patches: [{path: d.yaml}]\nimages: [{name: x.io/y, newTag: '2'}]\n",
        &["kustomization.yaml images: the image x.io/y of d is set under images and by a patch"],
    );
    let inline = "resources: [d.yaml]\nreplicas: [{name: d, count: 3}]\npatches:\n- target: {kind: Deployment, name: d}\n  patch: |-\n    - op: replace\n      path: /spec/replicas\n      value: 2\n";
    check(inline, &[replicas]);
}
