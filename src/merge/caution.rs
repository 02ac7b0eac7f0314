//! Pure. Changes of a merge that are fine and still worth a look before they are deployed: fields that cannot be changed in
//! place, storage that shrinks, older images, more rights.
//!
//! The merged files are held against ours, because that is what runs now. Not here: what does not hold (`check`), what is
//! done about a field that cannot be changed (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check::{Blind, containers, is_seen_in, list, list_at, parts_of_image, pods, text};
use super::conflict::{Notice, NoticeKind};
use super::tree::is_beside;
use crate::base::RepoPath;
use crate::model::{FileTree, Object, ObjectId};
use crate::schema::{self, quantity};
use crate::yaml;

/// What is worth no look. Annotations are, because old ones choose the profiles of pods.
const BLIND: Blind = Blind {
    values: &["value", "replicas", "imagePullPolicy", "schedule"],
    fields: &["args", "command", "affinity", "tolerations", "terminationGracePeriodSeconds"],
    images: |before, after| {
        let ((repository, from), (other, to)) = (parts_of_image(before), parts_of_image(after));
        repository != other || !is_older(to, from)
    },
    sees_fixed: true,
};
/// Rights that one notice names; more are counted.
const SHOWN_RIGHTS: usize = 3;

/// Returns what is worth a look in merged files.
pub(super) fn cautions(ours: &FileTree, merged: &FileTree) -> Vec<Notice> {
    let sides = |path: &RepoPath| (ours.get(path.as_str()), merged.get(path.as_str()));
    let is_other = |path: &&RepoPath| path.is_yaml() && !is_beside(path) && sides(path).0 != sides(path).1;
    let other: BTreeSet<&RepoPath> = ours.paths().chain(merged.paths()).filter(is_other).collect();
    let is_seen = |path: &&RepoPath| match sides(path) {
        (Some(before), Some(after)) => is_seen_in(path, (before, after), &BLIND),
        (None, _) | (_, None) => true,
    };
    let found = among(&other.iter().copied().filter(is_seen).collect(), ours, merged);
    debug_assert_eq!(found, among(&other, ours, merged), "it is worth a look");
    found
}

/// Returns what is worth a look in some files.
fn among(paths: &BTreeSet<&RepoPath>, ours: &FileTree, merged: &FileTree) -> Vec<Notice> {
    let (before, after) = (objects(ours, paths), objects(merged, paths));
    let mut found = Vec::new();
    for (id, new) in &after {
        let old = before.get(id);
        let mut details = Vec::new();
        if let Some(old) = old {
            immutable(old, new, &mut details);
            storage(old, new, &mut details);
            images(old, new, &mut details);
        }
        let more = |of: fn(&Object) -> BTreeSet<String>| -> Vec<String> {
            let known = old.map(of).unwrap_or_default();
            of(new).into_iter().filter(|right| !known.contains(right)).collect()
        };
        details.extend(named("allows", &more(rights)));
        details.extend(named("gives its role to", &more(subjects)));
        details.extend(named("gets", &more(privileges)));
        let notice = |detail| Notice { kind: NoticeKind::Caution, subject: id.to_string(), detail };
        found.extend(details.into_iter().map(notice));
    }
    found
}

/// Returns the objects in some files of a tree.
fn objects(tree: &FileTree, paths: &BTreeSet<&RepoPath>) -> BTreeMap<ObjectId, Object> {
    let mut found = BTreeMap::new();
    for (path, file) in paths.iter().filter_map(|path| Some((*path, tree.get(path.as_str())?))) {
        let text = file.as_text().filter(|text| text.contains("kind:"));
        let loaded = text.and_then(|text| yaml::load(path.as_str(), text, yaml::Dialect::Kube).ok());
        let documents = loaded.map(|loaded| loaded.documents).unwrap_or_default();
        let objects = documents.into_iter().filter_map(|document| Object::from_value(document.value));
        found.extend(objects.filter(|object| !object.kind().is_empty()).map(|object| (object.id(), object)));
    }
    found
}

/// Says that something is new about an object.
fn named(verb: &str, rights: &[String]) -> Option<String> {
    let shown: Vec<&str> = rights.iter().take(SHOWN_RIGHTS).map(String::as_str).collect();
    let rest = rights.len() - shown.len();
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    (!rights.is_empty()).then(|| format!("{verb} {}{more}, which is new", shown.join(", ")))
}

fn immutable(old: &Object, new: &Object, details: &mut Vec<String>) {
    for path in schema::immutable_paths(new.group(), new.kind()) {
        let part = |object: &Object| schema::fixed_part(new, path, object.at(path)?);
        if part(new).is_some_and(|value| part(old) != Some(value)) {
            details.push(format!("changes {}, for which the object must be made anew", path.join(".")));
        }
    }
}

fn storage(old: &Object, new: &Object, details: &mut Vec<String>) {
    let known: BTreeMap<String, &str> = claims(old).into_iter().collect();
    for (name, after) in claims(new) {
        let Some(before) = known.get(&name) else { continue };
        if let (Some(small), Some(large)) = (quantity::amount(after), quantity::amount(before))
            && small < large
        {
            details.push(format!("asks for less storage than before: {before} → {after}"));
        }
    }
}

/// Returns the storage that an object asks for, by claim.
fn claims(object: &Object) -> Vec<(String, &str)> {
    fn asked(spec: Option<&Value>) -> Option<&str> {
        text(spec?.get("resources")?.get("requests")?, "storage")
    }
    let templates = list_at(object, &["spec", "volumeClaimTemplates"]).filter_map(|claim| {
        let name = text(claim.get("metadata")?, "name")?;
        Some((name.to_owned(), asked(claim.get("spec"))?))
    });
    let own = asked(object.at(&["spec"])).filter(|_| object.kind() == "PersistentVolumeClaim");
    templates.chain(own.map(|storage| (String::new(), storage))).collect()
}

fn images(old: &Object, new: &Object, details: &mut Vec<String>) {
    let of = |object: &Object| -> BTreeMap<String, String> {
        let pods = pods(object);
        let all = pods.iter().flat_map(|(path, pod)| containers(path, pod));
        all.filter_map(|(place, container)| Some((place, text(container, "image")?.to_owned()))).collect()
    };
    let known = of(old);
    for (place, after) in of(new) {
        let Some(before) = known.get(&place) else { continue };
        let ((repository, from), (other, to)) = (parts_of_image(before), parts_of_image(&after));
        if repository == other && is_older(to, from) {
            details.push(format!("goes back to an older image: {before} → {after}"));
        }
    }
}

/// Returns whether a tag is that of an earlier version; tags of another form say nothing.
fn is_older(tag: &str, than: &str) -> bool {
    let parse = |tag: &str| -> Option<(Vec<u64>, String)> {
        let plain = tag.strip_prefix('v').unwrap_or(tag);
        let (numbers, suffix) = plain.split_once('-').unwrap_or((plain, ""));
        let numbers: Option<Vec<u64>> = numbers.split('.').map(|part| part.parse().ok()).collect();
        numbers.map(|numbers| (numbers, suffix.to_owned()))
    };
    match (parse(tag), parse(than)) {
        (Some((new, kind)), Some((old, other))) => kind == other && new.len() == old.len() && new < old,
        _ => false,
    }
}

/// Returns what a role allows.
fn rights(object: &Object) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if !matches!(object.kind(), "Role" | "ClusterRole") {
        return found;
    }
    for rule in list_at(object, &["rules"]) {
        for verb in list(rule, "verbs").filter_map(Value::as_str) {
            let things = list(rule, "resources").chain(list(rule, "nonResourceURLs")).filter_map(Value::as_str);
            let names: Vec<&str> = list(rule, "resourceNames").filter_map(Value::as_str).collect();
            let of = if names.is_empty() { String::new() } else { format!(" {}", names.join("+")) };
            for thing in things {
                let groups = list(rule, "apiGroups").filter_map(Value::as_str).filter(|group| !group.is_empty());
                let groups = groups.map(|group| format!("{verb} {thing}.{group}{of}"));
                let core = list(rule, "apiGroups").all(|group| group.as_str() == Some(""));
                found.extend(groups.chain(core.then(|| format!("{verb} {thing}{of}"))));
            }
        }
    }
    found
}

/// Returns who gets the role of a binding.
fn subjects(object: &Object) -> BTreeSet<String> {
    if !matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding") {
        return BTreeSet::new();
    }
    let name = |subject: &Value| Some(format!("{} {}", text(subject, "kind")?, text(subject, "name")?));
    list_at(object, &["subjects"]).filter_map(name).collect()
}

/// Returns what the pods of an object may do to the machine that they run on, and to gain more than they were given.
fn privileges(object: &Object) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = schema::privileges(object).into_iter().map(|privilege| privilege.what).collect();
    let gains =
        |container: &Value| container.pointer("/securityContext/allowPrivilegeEscalation") == Some(&Value::Bool(true));
    let mut containers = pods(object).into_iter().flat_map(|(path, pod)| containers(&path, pod));
    found.extend(containers.any(|(_, container)| gains(container)).then(|| "allowPrivilegeEscalation".to_owned()));
    found
}

#[cfg(test)]
mod tests {
    use super::cautions;
    use crate::base::RepoPath;
    use crate::model::{File, FileTree};

    fn check(before: &str, after: &str, expected: &[&str]) {
        let tree = |text: &str| {
            let file = (RepoPath::parse("apps/a/all.yaml").unwrap(), File::text(text));
            FileTree::from_iter((!text.is_empty()).then_some(file))
        };
        let found: Vec<String> = cautions(&tree(before), &tree(after)).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{after}");
    }

    fn check_spec(kind: &str, before: &str, after: &str, expected: &[&str]) {
        let object = |spec: &str| format!("{kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n");
        check(&object(before), &object(after), expected);
    }

    #[test]
    fn a_field_that_cannot_be_changed_in_place_is_named() {
        let kind = "apiVersion: apps/v1\nkind: Deployment";
        check_spec(
            kind,
            "selector: {a: b}",
            "selector: {a: c}",
            &["Deployment.apps/a changes spec.selector, for which the object must be made anew"],
        );
        check_spec(kind, "replicas: 1", "replicas: 2", &[]);
        let job = "apiVersion: batch/v1\nkind: Job";
        let expected = "Job.batch/a changes spec.template, for which the object must be made anew";
        check_spec(job, "template: {a: b}", "template: {a: c}", &[expected]);
        let service = "apiVersion: v1\nkind: Service";
        let expected = "Service/a changes spec.clusterIP, for which the object must be made anew";
        check_spec(service, "x: y", "clusterIP: None", &[expected]);
    }

    #[test]
    fn a_value_counts_where_it_cannot_be_changed_in_place() {
        let object = |image: &str| {
            format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      containers:\n      - \
                 name: c\n        image: quarry.example/c:{image}\n"
            )
        };
        let expected = "Job.batch/a changes spec.template, for which the object must be made anew";
        check(&object("1.0"), &object("1.1"), &[expected]);
        let other = |image: &str| object(image).replace("batch/v1", "apps/v1").replace("Job", "Deployment");
        check(&other("1.0"), &other("1.1"), &[]);
        let older = "Deployment.apps/a goes back to an older image: quarry.example/c:1.1 → quarry.example/c:1.0";
        check(&other("1.1"), &other("1.0"), &[older]);
    }

    #[test]
    fn storage_that_shrinks_is_named() {
        let kind = "apiVersion: v1\nkind: PersistentVolumeClaim";
        let storage = |size: &str| format!("resources: {{requests: {{storage: {size}}}}}");
        let expected = "PersistentVolumeClaim/a asks for less storage than before: 10Gi → 5Gi";
        check_spec(kind, &storage("10Gi"), &storage("5Gi"), &[expected]);
        check_spec(kind, &storage("5Gi"), &storage("10Gi"), &[]);
        check_spec(kind, &storage("1Gi"), &storage("1024Mi"), &[]);
    }

    #[test]
    fn an_image_that_goes_back_is_named() {
        let kind = "apiVersion: v1\nkind: Pod";
        let image = |image: &str| format!("containers: [{{name: c, image: '{image}'}}]");
        let expected = "Pod/a goes back to an older image: x.io/y:1.10.0 → x.io/y:1.9.0";
        check_spec(kind, &image("x.io/y:1.10.0"), &image("x.io/y:1.9.0"), &[expected]);
        check_spec(kind, &image("x.io/y:1.9.0"), &image("x.io/y:1.10.0"), &[]);
        check_spec(kind, &image("x.io/y:2"), &image("x.io/z:1"), &[]);
        check_spec(kind, &image("x.io/y:latest"), &image("x.io/y:1"), &[]);
    }

    #[test]
    fn new_rights_are_named() {
        let role = |rules: &str| {
            format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: r}}\nrules: [{rules}]\n")
        };
        let one = "{apiGroups: [''], resources: [pods], verbs: [get]}";
        let two = "{apiGroups: [''], resources: [pods, secrets], verbs: [get]}";
        check(&role(one), &role(two), &["Role.rbac.authorization.k8s.io/r allows get secrets, which is new"]);
        check(&role(two), &role(one), &[]);
        check("", &role(one), &["Role.rbac.authorization.k8s.io/r allows get pods, which is new"]);
    }

    #[test]
    fn new_privileges_are_named() {
        let (kind, pod) =
            ("apiVersion: apps/v1\nkind: DaemonSet", |spec: &str| format!("template: {{spec: {{{spec}}}}}"));
        let before = pod("containers: [{name: c}]");
        let after = pod("hostNetwork: true, containers: [{name: c, securityContext: {privileged: true}}]");
        check_spec(kind, &before, &after, &["DaemonSet.apps/a gets hostNetwork, privileged, which is new"]);
        check_spec(kind, &after, &after, &[]);
        let path = pod("volumes: [{name: v, hostPath: {path: /x}}], containers: [{name: c}]");
        check_spec(kind, &before, &path, &["DaemonSet.apps/a gets the path /x of the machine, which is new"]);
        let unmasked = pod("containers: [{name: c, securityContext: {procMount: Unmasked}, ports: [{hostPort: 80}]}]");
        let expected = "DaemonSet.apps/a gets the port 80 of the machine, the proc mount Unmasked, which is new";
        check_spec(kind, &before, &unmasked, &[expected]);
    }

    #[test]
    fn a_profile_that_only_an_annotation_chooses_is_named() {
        let object = |profile: &str| {
            format!(
                "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: a}}\nspec:\n  template:\n    metadata:\n      annotations:\n        \
                 container.apparmor.security.beta.kubernetes.io/c: {profile}\n    spec:\n      containers:\n      - name: c\n"
            )
        };
        let expected = "DaemonSet.apps/a gets the AppArmor profile unconfined, which is new";
        check(&object("runtime/default"), &object("unconfined"), &[expected]);
        check(&object("runtime/default"), &object("localhost/mine"), &[]);
    }

    #[test]
    fn of_a_pod_alone_the_images_can_be_changed_in_place() {
        let kind = "apiVersion: v1\nkind: Pod";
        let before = "containers: [{name: c, image: 'x.io/y:1'}]";
        let after = "containers: [{name: c, image: 'x.io/y:2', securityContext: {privileged: true}}]";
        let expected = [
            "Pod/a changes spec.containers, for which the object must be made anew",
            "Pod/a gets privileged, which is new",
        ];
        check_spec(kind, before, after, &expected);
        check_spec(kind, before, &before.replace(":1", ":2"), &[]);
    }
}
