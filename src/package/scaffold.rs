//! Pure. The files of a new package: a small web application in the shape that no lint rule objects to.
//!
//! Not here: writing them (`cli`).

use crate::base::RepoPath;
use crate::model::{File, FileTree, PackageName};

/// Paths and texts; `NAME` stands for the name of the package.
const FILES: [(&str, &str); 7] = [
    ("README.md", "# NAME\n\nWhat it is for, what it needs, and what can be set.\n"),
    (
        "manifest.yaml",
        "name: NAME
is: NAME
description: Say in one sentence what it does
version: 0.1.0
icon: https://example.org/NAME/icon.svg
category: other

# Apps that must be there, such as {name: stonedb, alias: db}.
requires: []

# Files read these keys at their root: {{ .domain }}.
defaultConfig:
  namespace: NAME
  image: registry.example.org/NAME:0.1.0
  domain: NAME.{{ .cloud.domain }}
  port: \"8080\"

# Made once for each app; read from the Secret NAME-secrets.
defaultSecrets:
  - key: token
",
    ),
    (
        "kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: {{ .namespace }}
labels:
  - includeSelectors: true
    pairs:
      app: NAME
      managedBy: kustomize
      partOf: wild-cloud
resources:
  - namespace.yaml
  - deployment.yaml
  - service.yaml
  - ingress.yaml
",
    ),
    ("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .namespace }}\n"),
    (
        "deployment.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  replicas: 1
  selector:
    matchLabels:
      component: web
  template:
    metadata:
      labels:
        component: web
    spec:
      securityContext:
        runAsNonRoot: true
        runAsUser: 999
        runAsGroup: 999
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: NAME
          image: {{ .image | quote }}
          env:
            - name: TOKEN
              valueFrom:
                secretKeyRef:
                  name: NAME-secrets
                  key: token
          ports:
            - name: http
              containerPort: {{ .port }}
          readinessProbe:
            httpGet:
              path: /
              port: http
          resources:
            requests:
              cpu: 50m
              memory: 64Mi
            limits:
              cpu: 500m
              memory: 256Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
",
    ),
    (
        "service.yaml",
        "apiVersion: v1
kind: Service
metadata:
  name: NAME
spec:
  selector:
    component: web
  ports:
    - name: http
      port: 80
      targetPort: http
",
    ),
    (
        "ingress.yaml",
        "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: NAME
  annotations:
    external-dns.alpha.kubernetes.io/target: {{ .domain }}
spec:
  tls:
    - hosts: [{{ .domain }}]
      secretName: wildcard-wild-cloud-tls
  rules:
    - host: {{ .domain }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: NAME
                port:
                  name: http
",
    ),
];

/// Returns the files of a new package.
pub fn scaffold(name: &PackageName) -> FileTree {
    FILES
        .iter()
        .filter_map(|(path, text)| {
            let file = File::text(&text.replace("NAME", name.as_str()));
            Some((RepoPath::parse(path).ok()?, file))
        })
        .collect()
}
