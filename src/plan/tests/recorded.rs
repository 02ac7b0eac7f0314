//! Pure. Lost fields as a real API server shows them: what it wrote into `managedFields` after real edits.
//!
//! `fixtures/plan/managed-fields.json` holds the payload of each kind and, for each edit of a freshly applied object, its
//! managed fields. Not here: what a loss means (`drift`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{Editors, Object, OwnEntry};
use crate::plan::extra;
use crate::plan::fields::lost_leaves;

/// Every recorded edit and what of ours it took, in the order of the recording.
const EDITS: [(&str, &[&str]); 36] = [
    ("image changed", &["spec.template.spec.containers[name=web].image to kubectl-set"]),
    ("scaled", &["spec.replicas to kubectl scale"]),
    ("label removed", &["metadata.labels.app"]),
    ("label changed", &["metadata.labels.app to kubectl-label"]),
    ("env item removed", &["spec.template.spec.containers[name=web].env[name=A]"]),
    ("env value changed", &["spec.template.spec.containers[name=web].env[name=A].value to kubectl-set"]),
    ("foreign env item added", &[]),
    ("limit changed", &["spec.template.spec.containers[name=web].resources.limits.memory to kubectl-set"]),
    ("side container removed", &["spec.template.spec.containers[name=side]"]),
    ("port removed", &["spec.template.spec.containers[name=web].ports[containerPort=80]"]),
    ("argument changed", &["spec.template.spec.containers[name=web].args to kubectl-edit"]),
    ("node selector changed", &["spec.template.spec.nodeSelector to kubectl-edit"]),
    ("toleration added", &["spec.template.spec.tolerations to kubectl-edit"]),
    (
        "volume removed with its mount",
        &[
            "spec.template.spec.containers[name=web].volumeMounts[mountPath=/tmp]",
            "spec.template.spec.volumes[name=tmp]",
        ],
    ),
    ("update under our name", &["spec.replicas to wild"]),
    ("two marks removed", &["metadata.annotations[rewild.dev/hash]", "metadata.annotations[rewild.dev/path]"]),
    ("restarted by hand", &[]),
    ("config key changed", &["data[site.conf] to kubectl-edit"]),
    ("config key removed", &["data.k"]),
    ("all config keys removed", &["data"]),
    ("secret value changed", &["data.p to kubectl-edit"]),
    ("service port changed", &["spec.ports[port=80,protocol=TCP].targetPort to kubectl-edit"]),
    ("service selector changed", &["spec.selector to kubectl-edit"]),
    ("ingress host changed", &["spec.rules to kubectl-edit"]),
    ("rule of a role changed", &["rules to kubectl-edit"]),
    ("instance label removed from a namespace", &["metadata.labels[rewild.dev/instance]"]),
    ("custom number changed", &["spec.size to kubectl-edit"]),
    ("custom set item removed", &["spec.tags[=x]"]),
    ("custom keyed item changed", &["spec.parts[id=a].load to kubectl-edit"]),
    ("custom keyed item removed", &["spec.parts[id=b]"]),
    ("custom atomic list changed", &["spec.rows to kubectl-edit"]),
    ("custom free field changed", &["spec.free.deep to kubectl-edit"]),
    ("finalizer removed", &["metadata.finalizers[=example.org/b]"]),
    (
        "managed fields cleared",
        &[
            "binaryData",
            "data",
            "metadata.annotations[rewild.dev/commit]",
            "metadata.annotations[rewild.dev/hash]",
            "metadata.annotations[rewild.dev/path]",
            "metadata.labels.app",
            "metadata.labels[app.kubernetes.io/managed-by]",
            "metadata.labels[applyset.kubernetes.io/part-of]",
            "metadata.labels[rewild.dev/app]",
            "metadata.labels[rewild.dev/instance]",
        ],
    ),
    ("same value applied by another manager", &[]),
    ("forced apply by another manager", &["data.k to other"]),
];

/// Edits that take nothing of ours.
const UNSEEN: [&str; 3] = ["foreign env item added", "restarted by hand", "same value applied by another manager"];

#[test]
fn nothing_is_lost_right_after_an_apply() {
    let recorded = recorded();
    let untouched: Vec<&String> = recorded.keys().filter(|name| name.starts_with("untouched")).collect();
    assert_eq!(untouched.len(), 18);
    for name in untouched {
        assert_eq!(recorded.get(name).unwrap().lost, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_an_edit_took_is_named_by_path_and_manager() {
    let mut recorded = recorded();
    for (name, expected) in EDITS {
        assert_eq!(recorded.remove(name).unwrap().lost, expected, "{name}");
    }
    recorded.retain(|name, _| !name.starts_with("untouched"));
    assert_eq!(recorded.keys().collect::<Vec<_>>(), Vec::<&String>::new(), "a recorded edit is not read");
}

#[test]
fn what_an_edit_added_is_told_from_what_it_took() {
    let added: Vec<(String, Vec<String>)> = recorded()
        .into_iter()
        .filter(|(_, edit)| !edit.added.is_empty())
        .map(|(name, edit)| (name, edit.added))
        .collect();
    let variable = "spec.template.spec.containers[name=web].env[name=Z] to kubectl-set";
    assert_eq!(added, [("foreign env item added".to_owned(), vec![variable.to_owned()])]);
}

#[test]
fn an_edit_of_our_fields_changes_the_digest_of_our_entry_and_no_other_edit_does() {
    let recorded = recorded();
    for (name, _) in EDITS {
        let edit = recorded.get(name).unwrap();
        let before = recorded.get(&format!("untouched {}", edit.kind)).unwrap();
        assert_eq!(edit.own.fields == before.own.fields, UNSEEN.contains(&name), "{name}");
    }
}

/// One recorded edit.
struct Edit {
    kind: String,
    lost: Vec<String>,
    added: Vec<String>,
    own: OwnEntry,
}

fn recorded() -> BTreeMap<String, Edit> {
    let recorded: Value = serde_json::from_str(include_str!("../../../fixtures/plan/managed-fields.json")).unwrap();
    let edit = |case: &Value| {
        let kind = case["object"].as_str().unwrap().to_owned();
        let payload = Object::from_value(recorded["payloads"][&kind].clone()).unwrap();
        let lost = lost_leaves(&payload, &case["managedFields"], "wild").into_iter().map(display).collect();
        let added =
            extra::leaves(&payload, &case["managedFields"], &Editors::default()).into_iter().map(display).collect();
        Edit { kind, lost, added, own: OwnEntry::of(Some(&case["managedFields"])) }
    };
    recorded["cases"].as_object().unwrap().iter().map(|(name, case)| (name.clone(), edit(case))).collect()
}

fn display(leaf: crate::plan::fields::LostLeaf) -> String {
    match leaf.holder {
        Some(holder) => format!("{} to {}", leaf.path, [holder.manager, holder.subresource].join(" ").trim_end()),
        None => leaf.path,
    }
}
