//! Deletions of one revision over all apps: each app alone may lose what it loses, all together may not.
//!
//! Not here: the limits of one app (`src/plan/tests/deletion.rs`).

use super::says;
use crate::world::{Ground, World};

const APPS: [&str; 5] = ["one", "two", "three", "four", "five"];
/// Objects of an app, beside its namespace.
const PARTS: usize = 8;
/// What an app may lose at once without a person. Four apps may, as they lose no more than 20 objects together.
const LOST: usize = 5;

/// Pushes all apps, each without its first parts.
async fn push<C: Ground>(world: &World<C>, without: usize) {
    let part =
        |number: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: part-{number}}}\ndata: {{k: v}}\n");
    let all = (without..PARTS).map(part).collect::<Vec<_>>().join("---\n");
    let files: Vec<(String, String)> = APPS
        .iter()
        .flat_map(|name| {
            let list = format!("namespace: {name}\nresources: [all.yaml]\n");
            [(format!("apps/{name}/kustomization.yaml"), list), (format!("apps/{name}/all.yaml"), all.clone())]
        })
        .collect();
    let files: Vec<(&str, Option<&str>)> =
        files.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    world.push("all apps", &files).await;
}

/// Returns how many of its parts an app still has in the cluster.
async fn left<C: Ground>(world: &World<C>, name: &str) -> usize {
    let list = world.get(&format!("/api/v1/namespaces/{name}/configmaps")).await.unwrap();
    let items = list["items"].as_array().unwrap().clone();
    items.iter().filter(|item| item["metadata"]["name"].as_str().unwrap().starts_with("part-")).count()
}

/// §8.3. What is pushed meanwhile lets nothing more go.
pub(super) async fn a_revision_that_takes_a_little_from_every_app_waits_for_a_person_where_all_is_too_much<
    C: Ground,
>(
    world: &World<C>,
) {
    push(world, 0).await;
    for name in APPS {
        world.healthy(name).await;
    }
    push(world, LOST).await;
    let held = async |name: &str| {
        world
            .state(name)
            .await
            .filter(|state| state.reason == "DeletionNeedsApproval")
            .map(|state| (name.to_owned(), state))
    };
    let all_held = async || {
        let mut found = Vec::new();
        for name in APPS {
            found.extend(held(name).await);
        }
        found
    };
    world
        .until("all but one are done", async || {
            let mut done = 0;
            for name in APPS {
                done += usize::from(left(world, name).await == PARTS - LOST);
            }
            done == APPS.len() - 1 && all_held().await.len() == 1
        })
        .await;
    let (name, state) = all_held().await.remove(0);
    assert!(
        state.needs_you.contains("the limit for all apps in one revision is 20, of which others take 20"),
        "{state:?}"
    );
    // Neither another look nor a later revision lets it go.
    world.look_again(&name).await;
    assert_eq!(left(world, &name).await, PARTS);
    for number in 1..=2 {
        let more = format!("one more {number}\n");
        world.push("something else", &[("notes.txt", Some(&more))]).await;
        world.look_again(&name).await;
        let state = held(&name).await.expect("it waits").1;
        assert!(state.needs_you.contains("of which others take 20"), "{state:?}");
        assert_eq!(left(world, &name).await, PARTS);
    }
    // A person agrees to what an operation was held back for.
    says(world, &format!("wild operation approve --app {name}"), &["none is held back"]).await;
    says(world, &format!("wild app deploy {name}"), &["would be deleted", &format!("try: {}", state.hint)]).await;
    assert_eq!(left(world, &name).await, PARTS);
    says(world, &format!("wild operation approve --app {name}"), &["deleted     ConfigMap/part-0"]).await;
    assert_eq!(left(world, &name).await, PARTS - LOST);
    remove(world).await;
}

/// Removes apps by a commit that names them.
async fn remove_by_one<C: Ground>(world: &World<C>, names: &[&str]) {
    let paths =
        names.iter().flat_map(|name| ["kustomization.yaml", "all.yaml"].map(|file| format!("apps/{name}/{file}")));
    let paths: Vec<String> = paths.collect();
    let gone: Vec<(&str, Option<&str>)> = paths.iter().map(|path| (path.as_str(), None)).collect();
    let trailers: String = names.iter().map(|name| format!("Wild-Delete: {name}\n")).collect();
    world.push(&format!("no more\n\n{trailers}Wild-Delete-Data: delete"), &gone).await;
}

/// §8.3: one commit may remove two apps, and no more without a person.
async fn remove<C: Ground>(world: &World<C>) {
    let [first, second, rest @ ..] = APPS;
    remove_by_one(world, &rest).await;
    for name in rest {
        let says = "one commit removes 3 apps, where the limit is 2";
        let held = async || world.state(name).await.is_some_and(|state| state.needs_you.contains(says));
        world.until(&format!("{name} waits"), held).await;
        assert_ne!(left(world, name).await, 0);
    }
    for name in rest {
        let hint = world.state(name).await.unwrap().hint;
        says(world, &hint, &["deleted     ConfigMap/part-"]).await;
    }
    remove_by_one(world, &[first, second]).await;
    for name in APPS {
        world.until(&format!("{name} is gone"), async || world.state(name).await.is_none()).await;
        let namespace = format!("/api/v1/namespaces/{name}");
        world.until(&format!("the namespace {name} is gone"), async || world.get(&namespace).await.is_none()).await;
    }
    // The last of them takes the names of the namespaces along (§3.2).
    let parent = format!("/api/v1/namespaces/wild-system/configmaps/wild-{}", world.handle.instance().id);
    let named = async || {
        let parent = world.get(&parent).await.unwrap_or_default();
        let named = parent["metadata"]["annotations"]["applyset.kubernetes.io/additional-namespaces"].clone();
        named.as_str().unwrap_or_default().split(',').any(|name| APPS.contains(&name))
    };
    world.until("no namespace of theirs is named", async || !named().await).await;
}
