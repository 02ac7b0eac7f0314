//! Pure. Tests of packages that are made of rendered charts: they render, and no rule that is about charts objects.
//!
//! Not here: other rules (`tests.rs`).

use std::collections::BTreeMap;

use super::examine;
use crate::model::PackageName;
use crate::package::convert;

/// What a chart of the usual shape renders.
const RENDERED: &str = r#"
---
apiVersion: v1
kind: Secret
metadata:
  name: leaf-auth
  labels: {app.kubernetes.io/name: leaf}
type: Opaque
data: {admin-password: c2VjcmV0}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: leaf-files
  namespace: ns
  labels: {helm.sh/chart: leaf-1.0, app.kubernetes.io/managed-by: Helm}
data:
  page: "{{ title }}"
---
apiVersion: v1
kind: Service
metadata:
  name: leaf
  labels: {helm.sh/chart: leaf-1.0}
spec:
  selector: {app.kubernetes.io/name: leaf, app.kubernetes.io/instance: leaf}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: leaf
  labels: {helm.sh/chart: leaf-1.0}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: leaf, app.kubernetes.io/instance: leaf}
  template:
    metadata:
      labels: {app.kubernetes.io/name: leaf, app.kubernetes.io/instance: leaf, helm.sh/chart: leaf-1.0}
    spec:
      containers:
      - name: leaf
        image: registry.example.org/leaf:1.2
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {tcpSocket: {port: http}}
        resources: {requests: {cpu: 1m}, limits: {cpu: 1}}
        env:
        - name: ADMIN
          valueFrom: {secretKeyRef: {name: leaf-auth, key: admin-password}}
        volumeMounts: [{name: files, mountPath: /files}]
      volumes:
      - name: files
        configMap: {name: leaf-files}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: leaf}
spec:
  rules:
  - host: chart.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: leaf, port: {name: http}}}}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: leaf-test
  annotations: {helm.sh/hook: test}
spec: {containers: [{name: t, image: busybox}]}
"#;

#[test]
fn a_rendered_chart_becomes_a_package_that_renders() {
    let name = PackageName::parse("leaf").unwrap();
    let converted = convert(&name, RENDERED).unwrap();
    assert_eq!(
        converted.notes,
        [
            "Pod/leaf-test is a hook of Helm and was left out",
            "Secret/leaf-auth became defaultSecrets; its values were dropped"
        ]
    );
    let paths: Vec<&str> = converted.files.paths().map(crate::base::RepoPath::as_str).collect();
    assert_eq!(
        paths,
        [
            "README.md",
            "deployment.yaml",
            "files-configmap.yaml",
            "ingress.yaml",
            "kustomization.yaml",
            "manifest.yaml",
            "namespace.yaml",
            "service.yaml",
        ]
    );
    let examined = examine(&name, &converted.files, None, &BTreeMap::new());
    let ids: Vec<String> = examined.findings.iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["deployment.yaml:1: L017: Deployment/leaf: container leaf may write into its image"]);
    let built = examined.generated.unwrap().objects;
    let find = |kind: &str| built.iter().find(|built| built.object.kind() == kind).unwrap().object.to_value();
    assert_eq!(find("ConfigMap")["data"]["page"], "{{ title }}", "braces of the chart's own files stay");
    assert_eq!(find("Service")["spec"]["selector"]["component"], "main");
    assert_eq!(find("Ingress")["spec"]["rules"][0]["host"], "leaf.cloud.example.org");
    let container = &find("Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.org/leaf:1.2");
    assert_eq!(container["env"][0]["valueFrom"]["secretKeyRef"]["name"], "leaf-secrets");
    assert!(!converted.files.iter().any(|(_, file)| file.as_text().unwrap().contains("c2VjcmV0")));
}

#[test]
fn what_holds_no_object_is_refused() {
    let found = convert(&PackageName::parse("leaf").unwrap(), "# nothing\n").unwrap_err();
    assert_eq!(found[0].to_string(), "rendered.yaml:1: P071: the input holds no object");
}

/// What the real helm rendered of our own charts.
const CHARTS: [(&str, &str); 3] = [
    ("leaf", include_str!("../../../fixtures/helm/leaf/rendered.yaml")),
    ("ledger", include_str!("../../../fixtures/helm/ledger/rendered.yaml")),
    ("tick", include_str!("../../../fixtures/helm/tick/rendered.yaml")),
];

/// Takes out what the conversion changes on purpose: labels and selectors, namespaces, security contexts, secrets, hosts
/// and the annotation that names them.
fn comparable(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            for key in
                ["labels", "matchLabels", "selector", "securityContext", "namespace", "secretKeyRef", "secretName"]
            {
                map.shift_remove(key);
            }
            for key in ["host", "hosts"] {
                map.shift_remove(key);
            }
            map.retain(|key, value| key != "annotations" || value.as_object().is_some_and(is_kept));
            map.values_mut().for_each(comparable);
            map.retain(|key, value| key != "metadata" || value.as_object().is_some_and(|map| !map.is_empty()));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(comparable),
        _ => {}
    }
}

/// Whether annotations hold more than the conversion's own.
fn is_kept(annotations: &serde_json::Map<String, serde_json::Value>) -> bool {
    annotations.keys().any(|key| key != "external-dns.alpha.kubernetes.io/target")
}

#[test]
fn charts_that_helm_rendered_give_clean_packages_with_the_same_objects() {
    for (name, rendered) in CHARTS {
        let name = PackageName::parse(name).unwrap();
        let converted = convert(&name, rendered).unwrap();
        let examined = examine(&name, &converted.files, None, &BTreeMap::new());
        let bad: Vec<String> = examined
            .findings
            .iter()
            .filter(|finding| finding.severity != crate::model::Severity::Info)
            .map(ToString::to_string)
            .collect();
        assert!(bad.is_empty(), "{name}: {bad:#?}");
        let listed = |objects: Vec<crate::model::Object>| -> BTreeMap<String, serde_json::Value> {
            let kept = objects.into_iter().filter(|object| {
                !matches!(object.kind(), "Secret" | "Namespace") && object.annotation("helm.sh/hook").is_none()
            });
            kept.map(|object| {
                let id = object.id().short();
                let mut value = object.to_value();
                comparable(&mut value);
                (id, value)
            })
            .collect()
        };
        let built = examined.generated.unwrap().objects.into_iter().map(|built| built.object).collect();
        let original = crate::yaml::load_objects("rendered.yaml", rendered).unwrap();
        let original = original.into_iter().map(|loaded| loaded.object).collect();
        assert_eq!(listed(built), listed(original), "{name}");
    }
}
