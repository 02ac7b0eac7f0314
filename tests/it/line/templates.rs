//! Customised templates, `apps/<app>/.custom/<path>`: compiled in place of the package's file, and merged by updates.

use rewild::model::{Decision, Request, Take};
use serde_json::json;

use super::{installed, update};
use crate::commits::commit;
use crate::world::{World, app};

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const CUSTOM: &str = "apps/photobox/.custom/server-deployment.yaml";
const SERVER_PATH: &str = "/apis/apps/v1/namespaces/photobox/deployments/photobox-server";
const GENERATED: &str = "refs/wild/generated/photobox";

/// A person customises a template of the package, and what it compiles to is applied.
async fn customised() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.in_a_clone(
        "cd apps/photobox && mkdir .custom && cp .package/server-deployment.yaml .custom
         sed -i 's/replicas: 1/replicas: {{ if .cacheHost }}2{{ else }}1{{ end }}/' .custom/server-deployment.yaml
         git add .custom && git commit -q -m 'two servers where there is a cache' && git push -q",
    );
    let replicas = async || world.get(SERVER_PATH).await.unwrap().pointer("/spec/replicas").cloned();
    world.until("the template is applied", async || replicas().await == Some(json!(2))).await;
    world.healthy("photobox").await;
    world
}

/// Base, mine and upstream of the template are merged, and what is compiled from it too.
async fn holds_both(world: &World) {
    let template = world.file("main", CUSTOM).await.unwrap();
    assert!(template.contains("replicas: {{ if") && template.contains("photobox/server:1.1"), "{template}");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
    world.healthy("photobox").await;
    let head = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, head, "there is nothing left to merge");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customised_template_is_applied_and_an_update_is_merged_into_it() {
    let world = customised().await;
    let (listed, names) = world.git(&["ls-tree", "-r", "--name-only", GENERATED]);
    assert!(listed && !names.contains(".custom/"), "a generation holds what was compiled: {names}");
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    holds_both(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_plain_git_is_followed_by_the_customised_template() {
    let world = customised().await;
    // A conflict keeps the update on its branch until the person merges it.
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    world.in_a_clone(
        "git fetch -q origin refs/wild/generated/photobox
         git merge -q --no-edit -X ours FETCH_HEAD
         git push -q origin main",
    );
    world
        .until("the template follows", async || {
            world.file("main", CUSTOM).await.unwrap().contains("photobox/server:1.1")
        })
        .await;
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    holds_both(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_a_person_edits_on_the_update_branch_is_compiled_once_it_is_on_the_deployed_branch() {
    let world = customised().await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    let branch = "wild/update/photobox";
    let template = world.file(branch, CUSTOM).await.unwrap().replace("}}2{{", "}}3{{");
    commit(&world.repository, branch, "three servers", &[(CUSTOM, Some(&template))]).await;
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    assert!(world.file("main", CUSTOM).await.unwrap().contains("}}3{{"));
    // As after any push of a template: the commit that brings it is followed by one with what it compiles to.
    let replicas = async || world.get(SERVER_PATH).await.unwrap().pointer("/spec/replicas").cloned();
    world.until("the template is applied", async || replicas().await == Some(json!(3))).await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(
        text.contains("replicas: 3") && text.contains("cpu: 200m") && text.contains("photobox/server:1.1"),
        "{text}"
    );
    let (_, own) = world.git(&["show", &format!("{GENERATED}:{SERVER}")]);
    assert!(own.contains("replicas: 3") && own.contains("cpu: 150m"), "{own}");
    let head = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, head, "there is nothing left to merge");
}
