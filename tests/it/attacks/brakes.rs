//! Pushes that let go of the brakes by which they are held: a limit that grows together with what it limits is none.
//!
//! Not here: which settings are brakes (`plan::brakes`), the limits themselves (`line/deletion.rs`).

use super::consent::held;
use crate::world::World;

const SETTINGS: &str = ".wild/config.yaml";

fn map(app: &str, number: usize) -> String {
    format!("/api/v1/namespaces/{app}/configmaps/part-{number}")
}

/// Files of an app that brings this many ConfigMaps.
fn files(app: &str, parts: usize) -> Vec<(String, String)> {
    let maps: Vec<String> = (0..parts)
        .map(|number| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\ndata: {{a: b}}\n"))
        .collect();
    vec![
        (format!("apps/{app}/kustomization.yaml"), format!("namespace: {app}\nresources: [all.yaml]\n")),
        (format!("apps/{app}/all.yaml"), maps.join("---\n")),
    ]
}

async fn push(world: &World, message: &str, files: &[(String, Option<String>)]) {
    let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
    world.push(message, &files).await;
}

/// A world with these apps, each with so many parts.
async fn world(apps: &[&str], parts: usize) -> World {
    let world = World::start(&["stonedb 15.4"]).await;
    let all = apps.iter().flat_map(|app| files(app, parts)).map(|(path, text)| (path, Some(text)));
    push(&world, "apps", &all.collect::<Vec<_>>()).await;
    for app in apps {
        world.healthy(app).await;
    }
    world
}

/// The settings with further lines.
async fn settings(world: &World, lines: &str) -> (String, Option<String>) {
    (SETTINGS.to_owned(), Some(format!("{}{lines}", world.file("main", SETTINGS).await.unwrap())))
}

/// A commit that removes apps on purpose, and the files that go.
fn removal(apps: &[&str]) -> (String, Vec<(String, Option<String>)>) {
    let trailers: Vec<String> = apps.iter().map(|app| format!("Wild-Delete: {app}\n")).collect();
    let gone = apps.iter().flat_map(|app| files(app, 1)).map(|(path, _)| (path, None));
    (format!("no more\n\n{}", trailers.concat()), gone.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_removes_apps_and_raises_the_limit_is_held_by_the_limit_before() {
    let apps = ["one", "two", "three", "four"];
    let mut world = world(&[&apps[..], &["other"]].concat(), 1).await;
    let (message, mut changes) = removal(&apps);
    changes.push(settings(&world, "deletion: {instance: {apps: 50}}\n").await);
    push(&world, &message, &changes).await;
    let all_wait = async |world: &World| {
        for app in apps {
            held(world, app, "one commit removes 4 apps, where the limit is 2").await;
            assert!(world.get(&map(app, 0)).await.is_some(), "{app}");
        }
    };
    all_wait(&world).await;

    // Neither a restart nor a push of something else lets them go.
    world.restart().await;
    world.edit("apps/other/all.yaml", "{a: b}", "{a: c}").await;
    world
        .until("the other app is applied", async || world.get(&map("other", 0)).await.unwrap()["data"]["a"] == "c")
        .await;
    for app in apps {
        world.look_again(app).await;
    }
    all_wait(&world).await;

    // Raised by itself it is an answer to what was seen.
    world.edit(SETTINGS, "apps: 50", "apps: 51").await;
    for app in apps {
        world.until("it goes", async || world.get(&map(app, 0)).await.is_none()).await;
    }
    assert!(world.get(&map("other", 0)).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_was_raised_before_holds_for_what_comes_after() {
    let apps = ["one", "two", "three", "four"];
    let world = world(&[&apps[..], &["other"]].concat(), 1).await;
    world.set("deletion: {instance: {apps: 50}}\n").await;
    let (message, changes) = removal(&apps);
    push(&world, &message, &changes).await;
    for app in apps {
        world.until("it goes", async || world.get(&map(app, 0)).await.is_none()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_empties_an_app_and_raises_its_limit_is_held_in_each_spelling_of_it() {
    for lines in [
        "deletion: {app: {min: 500}, instance: {min: 500}}\n",
        "deletion:\n  app: {percent: 100}\n  instance: {percent: 100}\n",
    ] {
        let world = world(&["big"], 30).await;
        let mut changes: Vec<(String, Option<String>)> =
            files("big", 2).into_iter().map(|(path, text)| (path, Some(text))).collect();
        changes.push(settings(&world, lines).await);
        push(&world, "smaller", &changes).await;
        held(&world, "big", "objects would be deleted, and the limit is").await;
        assert!(world.get(&map("big", 29)).await.is_some(), "{lines}");
        // What is tightened holds at once, and what else the push brings is applied.
        assert!(world.get(&map("big", 0)).await.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn brakes_of_two_pushes_are_both_kept_until_the_app_is_as_wanted() {
    let world = world(&["big", "other"], 30).await;
    let small: Vec<(String, Option<String>)> =
        files("big", 2).into_iter().map(|(path, text)| (path, Some(text))).collect();
    let first = settings(&world, "deletion: {app: {min: 20}}\n").await;
    push(&world, "smaller", &[&small[..], &[first]].concat()).await;
    held(&world, "big", "objects would be deleted, and the limit is").await;
    // The next one raises it further, beside a change of another app.
    let other = world.file("main", "apps/other/all.yaml").await.unwrap().replace("{a: b}", "{a: c}");
    let raised = world.file("main", SETTINGS).await.unwrap().replace("min: 20", "min: 500");
    let raised = raised.replace("app: {min: 500}", "app: {min: 500}, instance: {min: 500}");
    push(&world, "more", &[("apps/other/all.yaml".to_owned(), Some(other)), (SETTINGS.to_owned(), Some(raised))]).await;
    world
        .until("the other app is applied", async || world.get(&map("other", 0)).await.unwrap()["data"]["a"] == "c")
        .await;
    world.look_again("big").await;
    held(&world, "big", "objects would be deleted, and the limit is").await;
    assert!(world.get(&map("big", 29)).await.is_some());

    // The word of a person counts as ever.
    let hint = world.state("big").await.unwrap().hint;
    assert!(hint.starts_with("wild app deploy big --prune --plan "), "{hint}");
    let (code, out) = super::consent::wild(&world, &hint).await;
    assert_eq!(code, 0, "{out:?}");
    world.until("they go", async || world.get(&map("big", 29)).await.is_none()).await;

    // It is as wanted, so the limits of now hold for what comes next.
    world.healthy("big").await;
    world.look_again("big").await;
    let none: Vec<(String, Option<String>)> =
        files("other", 5).into_iter().map(|(path, text)| (path, Some(text))).collect();
    world.healthy("other").await;
    world.look_again("other").await;
    push(&world, "smaller", &none).await;
    world.until("they go", async || world.get(&map("other", 29)).await.is_none()).await;
}
