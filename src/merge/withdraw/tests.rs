//! Pure. Tests of what is put back where both sides together say something wrong.

use super::super::{Merged, Rules, Three, merge};
use crate::base::RepoPath;
use crate::merge::{ConflictKind, NoticeKind, is_repeatable};
use crate::model::{File, FileTree, Take};

type Files<'a> = &'a [(&'a str, &'a str)];

const POD: &str = "kind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n    image: x.io/y:1\n";
const MAP: &str = "kind: ConfigMap\nmetadata:\n  name: m\ndata:\n  a: one\n";
const LIST: &str = "resources:\n- p.yaml\n- m.yaml\n";

fn tree(files: Files<'_>) -> FileTree {
    let path = |path: &str| RepoPath::parse(&format!("apps/a/{path}")).unwrap();
    files.iter().map(|(name, text)| (path(name), File::text(text))).collect()
}

fn merged(base: Files<'_>, ours: Files<'_>, theirs: Files<'_>, rules: &Rules) -> Merged {
    merge(Three { base: &tree(base), ours: &tree(ours), theirs: &tree(theirs) }, rules)
}

/// Expects files and, as `object field`, what is to be decided.
fn check(base: Files<'_>, ours: Files<'_>, theirs: Files<'_>, files: Files<'_>, conflicts: &[&str]) {
    let merged = merged(base, ours, theirs, &Rules::default());
    assert_eq!(merged.files, tree(files), "the files differ");
    assert!(merged.conflicts.iter().all(|conflict| conflict.kind == ConflictKind::Semantic), "{:?}", merged.conflicts);
    let found: Vec<String> = merged.conflicts.iter().map(|it| format!("{} {}", it.object, it.key)).collect();
    assert_eq!(found, conflicts);
}

fn with_map() -> String {
    format!("{POD}    envFrom:\n    - configMapRef:\n        name: m\n")
}

#[test]
fn a_file_that_upstream_deletes_comes_back_if_ours_begins_to_need_it() {
    let base = [("kustomization.yaml", LIST), ("p.yaml", POD), ("m.yaml", MAP)];
    let pod = with_map();
    let ours = [("kustomization.yaml", LIST), ("p.yaml", &*pod), ("m.yaml", MAP)];
    let theirs = [("kustomization.yaml", "resources:\n- p.yaml\n"), ("p.yaml", POD)];
    check(&base, &ours, &theirs, &ours, &["Pod/p spec.containers[name=c].envFrom"]);
}

#[test]
fn a_reference_that_upstream_adds_goes_if_ours_deleted_its_object() {
    let base = [("kustomization.yaml", LIST), ("p.yaml", POD), ("m.yaml", MAP)];
    let ours = [("kustomization.yaml", "resources:\n- p.yaml\n"), ("p.yaml", POD)];
    let pod = with_map();
    let theirs = [("kustomization.yaml", LIST), ("p.yaml", &*pod), ("m.yaml", MAP)];
    check(&base, &ours, &theirs, &ours, &["Pod/p spec.containers[name=c].envFrom"]);
}

#[test]
fn the_rest_of_upstreams_edits_stays() {
    let base = [("p.yaml", POD), ("m.yaml", MAP)];
    let pod = with_map();
    let ours = [("p.yaml", &*pod), ("m.yaml", MAP)];
    let newer = POD.replace("y:1", "y:2");
    let both = pod.replace("y:1", "y:2");
    check(
        &base,
        &ours,
        &[("p.yaml", &newer)],
        &[("p.yaml", &both), ("m.yaml", MAP)],
        &["Pod/p spec.containers[name=c].envFrom"],
    );
}

#[test]
fn a_key_that_upstream_renames_keeps_its_name_if_ours_begins_to_read_it() {
    let pod = format!(
        "{POD}    env:\n    - name: X\n      valueFrom:\n        configMapKeyRef:\n          name: m\n          key: a\n"
    );
    let map = MAP.replace("  a: one", "  b: one");
    let ours = [("p.yaml", &*pod), ("m.yaml", MAP)];
    check(
        &[("p.yaml", POD), ("m.yaml", MAP)],
        &ours,
        &[("p.yaml", POD), ("m.yaml", &map)],
        &ours,
        &["Pod/p spec.containers[name=c].env[name=X]"],
    );
}

#[test]
fn what_no_side_declares_is_made_elsewhere() {
    let pod = |secret: &str, image: &str| {
        format!("{POD}    envFrom:\n    - secretRef:\n        name: {secret}\n").replace("y:1", image)
    };
    let (base, ours, theirs) = (pod("a", "y:1"), pod("a-secrets", "y:1"), pod("a", "y:2"));
    let both = pod("a-secrets", "y:2");
    check(&[("p.yaml", &base)], &[("p.yaml", &ours)], &[("p.yaml", &theirs)], &[("p.yaml", &both)], &[]);
}

#[test]
fn a_file_that_upstream_deletes_comes_back_if_ours_begins_to_name_it() {
    let base = [("kustomization.yaml", "resources:\n- p.yaml\n"), ("p.yaml", POD), ("x.txt", "1\n")];
    let list = "resources:\n- p.yaml\nconfigMapGenerator:\n- name: g\n  files:\n  - x.txt\n";
    let ours = [("kustomization.yaml", list), ("p.yaml", POD), ("x.txt", "1\n")];
    let theirs = [("kustomization.yaml", "resources:\n- p.yaml\n"), ("p.yaml", POD)];
    check(&base, &ours, &theirs, &ours, &["kustomization.yaml configMapGenerator"]);
}

#[test]
fn one_field_is_not_set_in_two_ways() {
    let base = [("kustomization.yaml", "resources:\n- p.yaml\n"), ("p.yaml", POD)];
    let ours = "resources:\n- p.yaml\nreplicas:\n- name: d\n  count: 2\n";
    let theirs = "resources:\n- p.yaml\npatches:\n- patch: |-\n    kind: Deployment\n    metadata: {name: d}\n    spec: {replicas: 3}\n";
    let of = |list| [("kustomization.yaml", list), ("p.yaml", POD)];
    check(&base, &of(ours), &of(theirs), &of(ours), &["kustomization.yaml replicas"]);
}

#[test]
fn a_decision_for_upstream_lets_the_edit_stand_and_one_for_mine_repeats_what_was_put_back() {
    let base = [("p.yaml", POD), ("m.yaml", MAP)];
    let pod = with_map();
    let ours = [("p.yaml", &*pod), ("m.yaml", MAP)];
    let theirs = [("p.yaml", POD)];
    let open = merged(&base, &ours, &theirs, &Rules::default());
    let id = open.conflicts.first().unwrap().id.clone();
    let decided = |take: Take| {
        let rules = Rules { decided: [(id.clone(), take)].into(), ..Rules::default() };
        let merged = merged(&base, &ours, &theirs, &rules);
        assert_eq!((merged.conflicts.len(), merged.replayed.len()), (0, 1));
        merged.files
    };
    assert_eq!(decided(Take::Mine), tree(&ours));
    assert_eq!(decided(Take::Upstream), tree(&[("p.yaml", &pod)]));
}

#[test]
fn what_upstream_brings_alone_is_said_and_not_asked() {
    let theirs = format!("{POD}    readinessProbe:\n      httpGet:\n        port: web\n");
    let ours = POD.replace("y:1", "y:2");
    let found = merged(&[("p.yaml", POD)], &[("p.yaml", &ours)], &[("p.yaml", &theirs)], &Rules::default());
    assert!(found.conflicts.is_empty());
    let said: Vec<String> =
        found.notices.iter().filter(|it| it.kind == NoticeKind::PackageFinding).map(ToString::to_string).collect();
    let expected =
        "Pod/p comes like this from upstream: nothing has the name web, which should be a port of the container";
    assert_eq!(said, [expected]);
}

#[test]
fn a_finding_names_what_would_do_and_what_hangs_on_it() {
    let ports = |name: &str| format!("{POD}    ports:\n    - containerPort: 80\n      name: {name}\n");
    let probe = "    readinessProbe:\n      httpGet:\n        port: web\n";
    let ours = ports("web") + probe;
    let found =
        merged(&[("p.yaml", &ports("web"))], &[("p.yaml", &ours)], &[("p.yaml", &ports("http"))], &Rules::default());
    let conflict = found.conflicts.first().unwrap();
    let suggestion = conflict.suggestion.clone().unwrap();
    assert_eq!(
        (suggestion.path.as_str(), suggestion.value.as_str()),
        ("spec.containers[name=c].readinessProbe", "http")
    );
    assert_eq!(conflict.linked, ["Pod/p spec.containers[name=c].ports"]);
    assert_eq!(found.files, tree(&[("p.yaml", &ours)]));
}

#[test]
fn what_cannot_be_put_back_alone_keeps_the_whole_app() {
    // A return at the end of one line alone: such a file is merged by lines, of which none belongs to an object.
    let maps =
        |first: &str, value: &str| format!("{first}kind: ConfigMap\r\nmetadata:\n  name: n\ndata:\n  b: {value}\n");
    let first = format!("{MAP}---\n");
    let (before, mine, upstream) = (maps(&first, "one"), maps(&first, "two"), maps("", "one"));
    let (pod, newer) = (with_map(), POD.replace("y:1", "y:2"));
    let ours = [("p.yaml", &*pod), ("m.yaml", &*mine)];
    let theirs = [("p.yaml", &*newer), ("m.yaml", &*upstream)];
    let found = merged(&[("p.yaml", POD), ("m.yaml", &*before)], &ours, &theirs, &Rules::default());
    assert_eq!(found.files, tree(&ours));
    let [conflict] = found.conflicts.as_slice() else { panic!("{:?}", found.conflicts) };
    assert_eq!((conflict.kind, conflict.object.as_str()), (ConflictKind::Semantic, ""));
    assert!(conflict.why.ends_with("no part of it can be put back alone"), "{}", conflict.why);
    assert!(!is_repeatable(conflict), "nothing says when it is the same again");
}

#[test]
fn a_question_about_two_objects_is_the_same_as_long_as_both_are() {
    let id = |pod: &str, other: &str, map: &str| {
        let pod = format!("{pod}    envFrom:\n    - configMapRef:\n        name: m\n");
        let ours = [("p.yaml", &*pod), ("m.yaml", map), ("x.txt", other)];
        let found = merged(&[("p.yaml", POD), ("m.yaml", map)], &ours, &[("p.yaml", POD)], &Rules::default());
        let [conflict] = found.conflicts.as_slice() else { panic!("{:?}", found.conflicts) };
        assert!(is_repeatable(conflict));
        conflict.id.clone()
    };
    let before = id(POD, "one", MAP);
    assert_eq!(id(POD, "two", MAP), before);
    assert_ne!(id(&POD.replace("y:1", "y:2"), "one", MAP), before);
    assert_ne!(id(POD, "one", &MAP.replace("one", "two")), before);
}
