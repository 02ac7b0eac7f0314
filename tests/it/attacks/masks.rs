//! Values that look like secrets, in files that anybody may read: no output shows them, and none hides that they differ.
//!
//! Not here: which names are those of secrets (`model::veil`), texts of files (`yaml::veil`), values of Secret objects (`both::planted`).

use std::path::Path;

use rewild::cli::{self, Captured, Stream, Surroundings};
use serde_json::json;

use crate::commits::commit;
use crate::line::{add, deploy, update};
use crate::world::World;

const MANIFEST: &str = "name: masked\nis: masked\ndescription: settings with passwords in them\n";
/// Where the settings of the app are in the cluster.
const LIVE: &str = "/api/v1/namespaces/masked/configmaps/masked";
/// What tells people of the app, its files, its differences and what was done.
const COMMANDS: [&str; 21] = [
    "wild app diff masked",
    "wild app diff masked -o json",
    "wild app diff masked --mine",
    "wild app diff masked --mine -o yaml",
    "wild app diff masked --upstream",
    "wild app diff masked --upstream -o json",
    "wild app resolve masked --list",
    "wild app resolve masked --list -o json",
    "wild app resolve masked --remembered -o json",
    "wild app show masked -o json",
    "wild app status masked -o json",
    "wild app events masked -o json",
    "wild app tree masked",
    "wild drift list",
    "wild drift list -o json",
    "wild drift show masked -o yaml",
    "wild plan masked",
    "wild plan masked -o json",
    "wild operation list -o json",
    "wild doctor masked -o json",
    "wild status -o json",
];

/// Returns the settings of the app, each of whose secrets has a word for whose it is.
fn settings(whose: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: masked\n  annotations:\n    example.org/api-token: {whose}-apple\ndata:\n  DB_PASSWORD: {whose}-birch\n  \
         url: postgres://me:{whose}-cedar@db/blog\n  plain: {whose}-plain\n  app.ini: |\n    host = db\n    secret_key = {whose}-daisy\n"
    )
}

/// Returns the values of a side that nobody may be shown.
fn hidden(whose: &str) -> [String; 4] {
    ["apple", "birch", "cedar", "daisy"].map(|plant| format!("{whose}-{plant}"))
}

async fn wild(world: &World, line: &str, output: Stream) -> String {
    let mut environment = Surroundings::bare(Path::new("/"));
    environment.daemon = Some(world.daemon.clone());
    environment.output = output;
    let mut out = Captured::default();
    cli::run(line.split(' ').map(Into::into).collect(), environment, &mut out).await;
    format!("{}{}", out.data, out.notes)
}

/// Publishes a version of the package.
async fn publish(world: &World, version: &str, whose: &str) {
    let manifest = format!("{MANIFEST}version: \"{version}\"\n");
    let (map, namespace) = (settings(whose), "apiVersion: v1\nkind: Namespace\nmetadata: {name: masked}\n");
    let list = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: masked\nresources: [namespace.yaml, map.yaml]\n";
    let files = [
        ("masked/manifest.yaml", manifest.as_str()),
        ("masked/map.yaml", map.as_str()),
        ("masked/namespace.yaml", namespace),
        ("masked/kustomization.yaml", list),
    ];
    commit(&world.upstream, "main", &format!("masked {version}"), &files.map(|(path, text)| (path, Some(text)))).await;
    world.fetch().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_output_shows_what_looks_like_a_secret_and_every_one_shows_that_it_differs() {
    let world = World::start(&["stonedb 15.5"]).await;
    publish(&world, "1", "first").await;
    world.done(add("masked", &[])).await;
    world.set("apps:\n  masked: {drift: report}\n").await;
    world.done(deploy("masked")).await;
    world.healthy("masked").await;
    // A person changes what upstream changes as well, and somebody changes it in the cluster.
    let file = "apps/masked/map.yaml";
    world.push("mine", &[(file, Some(&settings("mine")))]).await;
    let applied = async || world.get(LIVE).await.is_some_and(|live| live["data"]["plain"] == "mine-plain");
    world.until("mine is applied", applied).await;
    let live = json!({"data": {"DB_PASSWORD": "live-birch", "url": "postgres://me:live-cedar@db/blog", "plain": "live-plain"},
        "metadata": {"annotations": {"example.org/api-token": "live-apple"}}});
    world.patch(LIVE, live).await;
    let drifted = async || world.state("masked").await.is_some_and(|state| state.drift.len() >= 4);
    world.until("the drift is told", drifted).await;
    publish(&world, "2", "second").await;
    world.ask(update("masked")).await;
    let waits = async || world.state("masked").await.is_some_and(|state| state.conflicts > 0);
    world.until("the update waits", waits).await;
    let mut said = String::new();
    for line in COMMANDS {
        let told = wild(&world, line, Stream::Other).await;
        assert!(!told.is_empty(), "{line} says nothing");
        for value in ["first", "mine", "live", "second"].iter().flat_map(|whose| hidden(whose)) {
            assert!(!told.contains(&value), "{line} shows {value}:\n{told}");
        }
        said.push_str(&told);
    }
    for shown in [
        "mine-plain",
        "live-plain",
        "second-plain",
        "(hidden, differs)",
        "(hidden)@db/blog",
        "DB_PASSWORD",
        "redacted, changed",
    ] {
        assert!(said.contains(shown), "{shown} is not shown: {said}");
    }
    let kept = world.kept().await;
    assert!(!hidden("live").iter().any(|value| kept.contains(value)), "what the cluster has is in the store");
    one_is_revealed(&world).await;
    // What is hidden is never written in place of the value.
    let adopted = wild(&world, "wild drift adopt masked ConfigMap/masked data.DB_PASSWORD", Stream::Other).await;
    assert!(adopted.contains("it holds the value of a secret"), "{adopted}");
    assert_eq!(world.file("main", file).await, Some(settings("mine")));
    wild(&world, "wild app resolve masked --take mine", Stream::Other).await;
    world.until("the update is merged", async || world.state("masked").await.is_some_and(|it| it.conflicts == 0)).await;
    let merged = world.file("main", file).await.unwrap();
    assert!(merged.contains("mine-birch") && !merged.contains("(hidden"), "{merged}");
}

/// On a terminal one name is shown, and no other; elsewhere none is.
async fn one_is_revealed(world: &World) {
    for (line, shown) in [
        ("wild app diff masked --reveal DB_PASSWORD", "live-birch"),
        ("wild app diff masked --mine --reveal DB_PASSWORD", "first-birch"),
        ("wild app resolve masked --list --reveal DB_PASSWORD", "second-birch"),
    ] {
        let told = wild(world, line, Stream::Terminal).await;
        assert!(told.contains(shown) && !told.contains("-apple"), "{line}: {told}");
        let refused = wild(world, line, Stream::Other).await;
        assert!(refused.contains("a secret is shown on a terminal only") && !refused.contains("-birch"), "{refused}");
    }
}

/// Values of a kind that nobody expects, each below the name of a secret, and nothing of them is shown by what the server says of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_quotes_of_a_value_that_looks_like_a_secret_is_shown_nowhere() {
    let world = World::start(&["stonedb 15.5"]).await;
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: masked}}\ndata: {data}\n");
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: web}}\n  template:\n    metadata: \
               {labels: {a: web}}\n    spec: {containers: [{name: web, image: web, env: [{name: DB_PASSWORD, value: 7171717171}]}]}\n";
    let list = "namespace: masked\nresources: [all.yaml]\n";
    for (text, key, value) in [
        (web.to_owned(), "DB_PASSWORD", "7171717171"),
        (map("{password: {inner: elm-bark}}"), "password", "elm-bark"),
        (map("{apiToken: [elm-bark]}"), "apiToken", "elm-bark"),
        (map("{secretKey: 8181818181}"), "secretKey", "8181818181"),
    ] {
        let files = [("apps/masked/kustomization.yaml", Some(list)), ("apps/masked/all.yaml", Some(text.as_str()))];
        let head = world.push("a value of another kind", &files).await;
        let is_told = async || {
            let state = world.state("masked").await;
            state.is_some_and(|state| state.commit.as_ref() == Some(&head) && !state.needs_you.is_empty())
        };
        world.until(&format!("{key} is refused"), is_told).await;
        let told = world.state("masked").await.unwrap().needs_you.clone();
        assert!(told.contains(key), "the key is named: {told}");
        world
            .until("its status is red", async || world.status(&head, "wild/deploy").await.as_deref() == Some("failure"))
            .await;
        for line in [
            "wild status -o json",
            "wild app status masked",
            "wild app events masked -o json",
            "wild doctor",
            "wild app show masked -o json",
            "wild operation list -o json",
            "wild plan masked",
        ] {
            let told = wild(&world, line, Stream::Other).await;
            assert!(!told.contains(value), "{line} shows {value}:\n{told}");
        }
        let kept = world.kept().await;
        assert!(!kept.contains(value), "the store holds {value}");
    }
}
