//! Pure. Values of the cluster that are taken into the repository.
//!
//! Not here: the world (`tests`).

use serde_json::{Value, json};

use super::{World, app, refused, summary};
use crate::compile::{Cause, Join, propose};
use crate::model::{Branch, DriftState, ObjectId, Request};

const DEPLOYMENT: &str = "apps/blog/deployment.yaml";
const IMAGE: &str = "spec.template.spec.containers[name=blog].image";

fn drift(object: (&str, &str), path: &str, desired: Value, live: Value) -> DriftState {
    let some = |value: Value| if value.is_null() { None } else { Some(value) };
    let group = if object.0 == "Deployment" { "apps" } else { "" };
    DriftState {
        object: ObjectId::new(group, object.0, "blog", object.1),
        kind: if live.is_null() { "removed" } else { "changed" }.to_owned(),
        path: path.to_owned(),
        desired: some(desired),
        live: some(live),
        manager: "kubectl-edit".to_owned(),
        since: "2027-01-31T00:00:00Z".to_owned(),
        harmless: false,
    }
}

fn blog(path: &str, desired: Value, live: Value) -> DriftState {
    drift(("Deployment", "blog"), path, desired, live)
}

fn adopt(fields: &[DriftState]) -> Request {
    Request::AdoptDrift { app: app("blog"), fields: fields.to_vec(), branch: Branch::Deployed }
}

/// An app without a package whose files are these.
fn own(files: &[(&str, &str)]) -> World {
    let mut world = World::new();
    for (name, text) in files {
        world.push(&format!("apps/blog/{name}"), |_| (*text).to_owned());
    }
    world
}

#[test]
fn a_field_of_a_file_changes_alone_in_it() {
    let mut world = World::with_blog();
    let before = world.text(DEPLOYMENT).to_owned();
    let proposal = world.act(&adopt(&[blog("spec.replicas", json!(1), json!(3))])).unwrap();
    assert_eq!(summary(&proposal), ["main fix(blog): adopt replicas of Deployment/blog None"]);
    let line = "Deployment/blog spec.replicas: 1 → 3, by kubectl-edit at 2027-01-31T00:00:00Z";
    assert_eq!(proposal.main.unwrap().body, line);
    assert_eq!(proposal.summary, [line]);
    assert_eq!(world.text(DEPLOYMENT), before.replace("replicas: 1", "replicas: 3"));
}

#[test]
fn a_field_that_comes_from_config_changes_the_config_value() {
    let mut world = World::with_blog();
    let proposal = world.act(&adopt(&[blog(IMAGE, json!("blog:1.0"), json!("blog:1.0-hot"))])).unwrap();
    let said = summary(&proposal);
    assert_eq!(said.last().unwrap(), "main fix(blog): adopt image of Deployment/blog Generation");
    assert!(world.text("config.yaml").contains("image: blog:1.0-hot"), "{}", world.text("config.yaml"));
    assert!(world.text(DEPLOYMENT).contains("image: \"blog:1.0-hot\""));
}

#[test]
fn fields_of_files_and_of_config_are_one_commit() {
    let mut world = World::with_blog();
    let memory = "spec.template.spec.containers[name=blog].resources.limits.memory";
    let fields = [
        blog("spec.replicas", json!(1), json!(3)),
        blog(memory, json!("1Gi"), json!("2Gi")),
        blog("spec.template.spec.restartPolicy", json!("Always"), json!("OnFailure")),
    ];
    let proposal = world.act(&adopt(&fields)).unwrap();
    assert_eq!(summary(&proposal).last().unwrap(), "main fix(blog): adopt 3 fields of the cluster Generation");
    assert!(world.text("config.yaml").contains("memory: 2Gi"));
    for part in ["replicas: 3", "memory: \"2Gi\"", "restartPolicy: OnFailure"] {
        assert!(world.text(DEPLOYMENT).contains(part), "{part}: {}", world.text(DEPLOYMENT));
    }
}

#[test]
fn a_key_that_is_gone_from_the_cluster_goes_from_the_file() {
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: x}\n---\n# mine\napiVersion: v1\nkind: ConfigMap\n\
                metadata:\n  name: two\ndata:\n  a: x # why\n  b: z\n";
    let mut world = own(&[("kustomization.yaml", "resources: [all.yaml]\n"), ("all.yaml", file)]);
    let fields = [
        drift(("ConfigMap", "two"), "data.b", json!("z"), Value::Null),
        drift(("ConfigMap", "two"), "data.a", json!("x"), json!("two\nlines\n")),
    ];
    world.act(&adopt(&fields)).unwrap();
    let expected = file.replace("  a: x # why\n  b: z\n", "  a: | # why\n    two\n    lines\n");
    assert_eq!(world.text("apps/blog/all.yaml"), expected);
}

#[test]
fn an_image_and_replicas_that_the_kustomization_says_change_there() {
    let list = "resources: [web.yaml]\nimages:\n- name: web\n  newTag: \"1.0\"\nreplicas:\n- {name: web, count: 2}\n";
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      \
               - {name: web, image: web}\n";
    let mut world = own(&[("kustomization.yaml", list), ("web.yaml", web)]);
    let of = |path: &str, desired, live| drift(("Deployment", "web"), path, desired, live);
    let image = of("spec.template.spec.containers[name=web].image", json!("web:1.0"), json!("web:1.1"));
    world.act(&adopt(&[image, of("spec.replicas", json!(2), json!(5))])).unwrap();
    let expected = list.replace("\"1.0\"", "\"1.1\"").replace("count: 2", "count: 5");
    assert_eq!(world.text("apps/blog/kustomization.yaml"), expected);
    assert_eq!(world.text("apps/blog/web.yaml"), web);
}

#[test]
fn what_no_single_place_says_is_refused() {
    let list = "namePrefix: a-\nresources: [all.yaml]\nconfigMapGenerator:\n- name: made\n  literals: [k=v]\ngeneratorOptions: {disableNameSuffixHash: true}\n";
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: x}\n";
    let mut world = own(&[("kustomization.yaml", list), ("all.yaml", file)]);
    refused(
        world.act(&adopt(&[drift(("ConfigMap", "a-made"), "data.k", json!("v"), json!("w"))])),
        "user: adopt data.k of ConfigMap/a-made: no single place in its files says v and nothing else; edit apps/blog and push",
    );
    // Another object says the same and is left alone.
    world.act(&adopt(&[drift(("ConfigMap", "a-one"), "data.a", json!("x"), json!("y"))])).unwrap();
    assert_eq!(world.text("apps/blog/all.yaml"), file.replace("a: x", "a: \"y\""));
}

#[test]
fn what_must_not_or_cannot_stand_in_a_file_is_refused() {
    let mut world = World::with_blog();
    let secret = drift(("Secret", "blog-secrets"), "data.key", Value::Null, Value::Null);
    let said = "values of Secrets are never committed; they come from secrets.yaml";
    refused(
        world.act(&adopt(&[secret])),
        &format!("user: adopt data.key of Secret/blog-secrets: {said}; wild secret list"),
    );
    // Somebody wrote the value of a secret into another object, and it was hidden where that was seen.
    refused(
        world.act(&adopt(&[blog("spec.template.spec.hostname", json!("blog"), json!("x(hidden)"))])),
        "user: adopt Deployment/blog as it is in the cluster: it holds the value of a secret, which is never committed; wild drift revert blog",
    );
    let missing = DriftState { kind: "missing".to_owned(), ..blog("", Value::Null, Value::Null) };
    let said = "it is gone from the cluster; to keep it so, remove it from the files of the app";
    refused(
        world.act(&adopt(&[missing])),
        &format!("user: adopt Deployment/blog as it is in the cluster: {said}; wild drift revert blog"),
    );
    let older = blog("spec.replicas", json!(2), json!(3));
    let said = "git does not say any more what it said when the difference was seen";
    refused(
        world.act(&adopt(&[older])),
        &format!("user: adopt spec.replicas of Deployment/blog: {said}; wild drift show blog"),
    );
    refused(
        world.act(&adopt(&[])),
        "user: adopt drift of blog: nothing of it that is asked for differs in the cluster; wild drift show blog",
    );
    let derived = drift(("ConfigMap", "derived"), "data.k", json!("v"), json!("w"));
    refused(
        world.act(&adopt(&[derived])),
        "user: adopt data.k of ConfigMap/derived: no file of the app holds ConfigMap/derived; it is made by a rule of ours; wild drift revert blog",
    );
}

#[test]
fn what_is_adopted_for_review_moves_nothing_but_a_branch_of_its_own() {
    let fields = vec![blog("spec.replicas", json!(1), json!(3)), blog(IMAGE, json!("blog:1.0"), json!("blog:1.0-hot"))];
    let main = World::with_blog().act(&adopt(&fields)).unwrap().main.unwrap();
    let request = Request::AdoptDrift { app: app("blog"), fields, branch: Branch::Review };
    let proposal = propose(&app("blog"), &World::with_blog().sources(&app("blog")), Cause::Request(&request)).unwrap();
    let review = proposal.review.clone().unwrap();
    assert_eq!((review.changes, review.subject, review.body), (main.changes, main.subject, main.body));
    assert_eq!((proposal.edit().map(|edit| &edit.join), main.join), (Some(&Join::None), Join::Generation));
    assert_eq!((proposal.main, proposal.generation, proposal.update), (None, None, None));
}
