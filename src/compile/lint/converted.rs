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
