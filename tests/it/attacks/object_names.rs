//! Names of objects and of namespaces that lead elsewhere, or that nothing can have: each is told with its file and line, and the app goes on
//! with everything else.
//!
//! Not here: names of files and refs (`names.rs`).

use serde_json::json;

use crate::both::{Plain, config, says};
use crate::world::{Ground, World};

/// Names that no ConfigMap can have.
const BAD: [&str; 17] = [
    "?",
    "?watch=true",
    "a/b",
    "a/../b",
    "..",
    ".",
    "a%2Fb",
    "%2e%2e",
    "a b",
    "a#b",
    "Upper",
    "na\u{ef}ve",
    "a\u{202e}b",
    "a\nb",
    "-a",
    "a..b",
    "system:a",
];

fn named(name: &str) -> String {
    config("other", "1").replace("name: other", &format!("name: {}", json!(name)))
}

/// Pushes a file with a bad object beside one that is as it was, and checks that it is told with this place and rule while the rest stays well.
async fn is_told<C: Ground>(plain: &Plain<'_, C>, object: &str, told: &[&str]) {
    plain.push(&[("a.yaml", object), ("good.yaml", &config("good", "1"))]).await;
    let is_told = async || {
        let state = plain.world.state(plain.name).await;
        state.is_some_and(|state| told.iter().all(|it| state.needs_you.contains(it)))
    };
    plain.world.until(&format!("{told:?} is told"), is_told).await;
    assert_eq!(plain.live("v1", "configmaps", "good").await["data"], json!({"version": "1"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_object_can_have_is_told_with_its_place_and_holds_nothing_else_up() {
    let world = World::start(&["stonedb 15.5"]).await;
    let plain = Plain { world: &world, name: "blog" };
    let done = plain.push(&[("good.yaml", &config("good", "1"))]).await;
    plain.done(&done).await;
    let long = "a".repeat(300);
    for name in BAD.iter().copied().chain([long.as_str()]) {
        is_told(&plain, &named(name), &["apps/blog/a.yaml:1: ConfigMap/", "metadata.name"]).await;
        let clean = plain.push(&[("a.yaml", &config("fine", "1")), ("good.yaml", &config("good", "1"))]).await;
        plain.done(&clean).await;
    }
    // What looks like a part of an address led nowhere.
    let requests = world.requests().join("\n");
    for part in ["/configmaps/?", "/configmaps/..", "/configmaps/a/", "%2Fb", "%2e%2e", "%252"] {
        assert!(!requests.contains(part), "{part}\n{requests}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_or_an_api_that_cannot_be_is_told_with_its_place() {
    let world = World::start(&["stonedb 15.5"]).await;
    let plain = Plain { world: &world, name: "blog" };
    let done = plain.push(&[("good.yaml", &config("good", "1"))]).await;
    plain.done(&done).await;
    let names = ["?", "a/b", "..", "kube-system/configmaps", "a%2Fb", "Upper", "a.b", "a b"];
    let inside = names
        .map(|name| config("other", "1").replace("{name: other}", &format!("{{name: other, namespace: {name:?}}}")));
    let itself = names.map(|name| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name:?}}}\n"));
    let api = ["v1/../v2", "../v1", "v1?watch=true"]
        .map(|api| config("other", "1").replace("apiVersion: v1", &format!("apiVersion: {api:?}")));
    let api = api.map(|object| object.replace("{name: other}", "{name: other, namespace: blog}"));
    let good = config("good", "1").replace("{name: good}", "{name: good, namespace: blog}");
    let objects = inside.iter().map(|it| (it, ["ConfigMap/other", "metadata.namespace"]));
    let objects = objects.chain(itself.iter().map(|it| (it, ["Namespace/", "metadata.name"])));
    for (object, told) in objects.chain(api.iter().map(|it| (it, ["ConfigMap/other", "apiVersion"]))) {
        let files =
            [("kustomization.yaml", "resources: [a.yaml, good.yaml]\n"), ("a.yaml", object), ("good.yaml", &good)];
        let files = files.map(|(file, text)| (format!("apps/blog/{file}"), text));
        let changes: Vec<(&str, Option<&str>)> =
            files.iter().map(|(path, text)| (path.as_str(), Some(*text))).collect();
        let head = world.push("another namespace", &changes).await;
        let is_told = async || {
            world.state("blog").await.is_some_and(|state| {
                let words = [told[0], told[1], "apps/blog/a.yaml:1: "];
                state.commit.as_ref() == Some(&head) && words.iter().all(|it| state.needs_you.contains(it))
            })
        };
        world.until(&format!("{object} is told"), is_told).await;
        assert_eq!(plain.live("v1", "configmaps", "good").await["data"], json!({"version": "1"}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_may_have_a_name_that_is_no_plain_part_of_an_address() {
    let world = World::start(&["stonedb 15.5"]).await;
    let plain = Plain { world: &world, name: "blog" };
    let role = |name: &str, verb: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: {}}}\nrules:\n- {{apiGroups: [''], resources: [pods], verbs: [{verb}]}}\n",
            json!(name)
        )
    };
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/blog/roles";
    let names = ["system:blog:reader", "a b", "what?watch=true&x#y", "Upper+plus", "na\u{ef}ve"];
    let there = async || -> Vec<(String, String)> {
        let list = world.get(roles).await.unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|it| (text(&it["metadata"]["name"]), text(&it["rules"][0]["verbs"][0]))).collect()
    };
    for verb in ["get", "list"] {
        let all: String = names.map(|name| role(name, verb)).join("---\n");
        let done = plain.push(&[("a.yaml", &all), ("good.yaml", &config("good", "1"))]).await;
        plain.done(&done).await;
        let mut expected: Vec<_> = names.iter().map(|name| ((*name).to_owned(), verb.to_owned())).collect();
        let mut found = there().await;
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
    let done = plain.push(&[("a.yaml", &config("fine", "1")), ("good.yaml", &config("good", "1"))]).await;
    plain.done(&done).await;
    world.until("they are gone", async || there().await.is_empty()).await;
    says(&world, "wild plan blog", &["Nothing to do."]).await;
}
