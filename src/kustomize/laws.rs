//! Pure. What holds for every kustomization, however wrong: no panic, an answer, the same answer again.
//!
//! Not here: what kustomize says of the same inputs (`tests.rs`).

use proptest::prelude::*;

use super::{build, render};
use crate::base::RepoPath;
use crate::model::{File, FileTree};

/// Lines of a kustomization; most combinations are wrong somewhere.
const LINES: [&str; 40] = [
    "resources: [a.yaml]",
    "resources: [a.yaml, b.yaml]",
    "resources: [sub, a.yaml]",
    "resources: [../x, /etc, https://example.org/x, sub/../a.yaml, .]",
    "bases: [sub]",
    "components: [part]",
    "components: [sub]",
    "namespace: blog",
    "namespace: {}",
    "namePrefix: p-",
    "nameSuffix: -s",
    "commonLabels: {app: blog}",
    "labels: [{pairs: {a: b}, includeSelectors: true}]",
    "labels: [{pairs: {a: 1}, fields: [{path: spec/x, create: true}]}]",
    "labels: nothing",
    "commonAnnotations: {a: b}",
    "images: [{name: x, newTag: '2'}]",
    "images: [{name: '(', digest: 'sha256:1'}]",
    "replicas: [{name: web, count: 3}]",
    "replicas: [{name: web, count: -1}]",
    "configMapGenerator: [{name: c, literals: [a=b]}]",
    "configMapGenerator: [{name: c, files: [a.yaml], envs: [e.env]}]",
    "secretGenerator: [{name: s, literals: ['a=b', 'a=c']}]",
    "generatorOptions: {disableNameSuffixHash: true}",
    "patches: [{path: p.yaml}]",
    "patches: [{patch: '[{op: remove, path: /spec}]', target: {kind: Deployment}}]",
    "patches: [{patch: '[{op: add, path: /spec/-/x, value: 1}]', target: {name: '['}}]",
    "patchesStrategicMerge: [p.yaml]",
    "patchesJson6902: [{target: {version: v1, kind: Service, name: web}, path: j.json}]",
    "replacements: [{source: {kind: Service, fieldPath: metadata.name}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.x]}]}]",
    "replacements: [{source: {name: web}, targets: [{select: {}, fieldPaths: ['spec.[a=b].*'], options: {create: true}}]}]",
    "sortOptions: {order: fifo}",
    "sortOptions: {order: legacy, legacySortOptions: {orderFirst: [Service]}}",
    "helmCharts: [{name: x}]",
    "vars: []",
    "crds: [a.yaml]",
    "kind: Component",
    "unknown: 1",
    "{{ .x }}",
    "- a",
];

/// Files beside it.
const FILES: [(&str, &str); 9] = [
    (
        "a.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: c, image: x:1}]}}}\n",
    ),
    (
        "b.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: other}\nspec: {selector: {a: b}}\n---\n# nothing\n",
    ),
    ("p.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, $patch: merge}\n"),
    ("j.json", "[{\"op\": \"test\", \"path\": \"/metadata/name\", \"value\": \"web\"}]"),
    ("e.env", "A=1\n# c\nB\n"),
    ("sub/kustomization.yaml", "resources: [c.yaml]\nnamePrefix: sub-\n"),
    ("sub/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n"),
    ("part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamespace: part\n"),
    ("x.yaml", "a: [1\n"),
];

fn tree(kustomization: &str, resource: &str) -> FileTree {
    let mut tree = FileTree::new();
    for (path, text) in FILES.into_iter().chain([("kustomization.yaml", kustomization)]) {
        tree.insert(RepoPath::parse(path).unwrap(), File::text(text));
    }
    if !resource.is_empty() {
        tree.insert(RepoPath::parse("a.yaml").unwrap(), File::text(resource));
    }
    tree
}

fn check(tree: &FileTree) -> Result<(), TestCaseError> {
    let first = build(tree, "");
    prop_assert_eq!(&first, &build(tree, ""));
    match first {
        Err(findings) => prop_assert!(!findings.is_empty()),
        Ok(built) => {
            prop_assert!(!built.objects.is_empty());
            // What was built builds to itself.
            let mut again = FileTree::new();
            for (path, text) in
                [("kustomization.yaml", "resources: [all.yaml]\n".to_owned()), ("all.yaml", render(&built))]
            {
                again.insert(RepoPath::parse(path).unwrap(), File::text(&text));
            }
            if let Ok(again) = build(&again, "") {
                prop_assert_eq!(render(&again).len(), render(&built).len());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_kustomization_panics_and_each_builds_the_same_again(
        lines in prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..6)
    ) {
        check(&tree(&format!("{}\n", lines.join("\n")), ""))?;
    }

    #[test]
    fn no_text_as_kustomization_or_resource_panics(
        kustomization in "[a-c:\\[\\]{}, \n\"'&*!|>-]{0,60}",
        resource in "(apiVersion: v1\nkind: [A-Z][a-z]{0,4}\nmetadata: \\{name: [a-z]{1,4}\\}\n)?[a-c:\\[\\]{}, \n\"'&*!|>-]{0,40}"
    ) {
        check(&tree(&kustomization, ""))?;
        check(&tree("resources: [a.yaml]\nnamePrefix: p-\ncommonLabels: {a: b}\n", &resource))?;
    }
}
