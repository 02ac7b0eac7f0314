//! Refs that are not what their names say: branches of our name that somebody else made, and refs that are neither branch nor tag.
//!
//! The attacker writes into the repository as people do who need no hook; which pushes the hook refuses is tested beside it. Not here: what
//! becomes of update branches that are ours (`line/updates.rs`).

use rewild::model::{Decision, OperationState, Request, Take};
use serde_json::json;

use crate::commits::commit;
use crate::line::{add, deploy, update};
use crate::world::{World, app};

const UPDATE: &str = "wild/update/photobox";
const SERVER: &str = "apps/photobox/server-deployment.yaml";

/// A world with an app of which an update would be in conflict.
async fn world() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    for name in ["stonedb", "quickcache", "photobox"] {
        world.done(add(name, &[])).await;
        world.done(deploy(name)).await;
        world.healthy(name).await;
    }
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world
}

/// Makes a branch with our name below its commit, whose files run something else, as whoever may push can.
fn forge(world: &World, branch: &str, from: &str) {
    world.in_a_clone(&format!(
        "git checkout -q --detach {from}
         sed -i 's|image: .*|image: evil/server:9|' {SERVER}
         export GIT_COMMITTER_NAME=wild GIT_COMMITTER_EMAIL=wild@localhost
         git commit -q -a -m 'update(photobox): 1.0 -> 1.1'
         git push -q -f origin HEAD:refs/heads/{branch}"
    ));
}

/// Returns whether something of the attacker came onto the deployed branch or into the cluster.
async fn is_evil(world: &World) -> bool {
    let live = world.get("/apis/apps/v1/namespaces/photobox/deployments/photobox-server").await.unwrap().to_string();
    let committed = world.file("main", SERVER).await.unwrap();
    live.contains("evil")
        || committed.contains("evil")
        || !world.git(&["log", "main", "-S", "evil/server"]).1.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_branch_that_somebody_else_made_is_not_believed() {
    let world = world().await;
    forge(&world, UPDATE, "origin/main");
    let forged = world.repository.head(UPDATE).await.unwrap();
    let finish = || Request::Resolve { app: app("photobox"), decisions: Vec::new() };
    let decide = Request::Resolve { app: app("photobox"), decisions: vec![Decision::new(None, Take::Upstream)] };
    for request in [finish(), decide, update("photobox"), Request::Abort { app: app("photobox") }] {
        let ended = world.ask(request).await;
        assert_eq!(ended.state, OperationState::Failed, "{ended:#?}");
    }
    let refusal = world.ask(update("photobox")).await.refusal.unwrap();
    assert!(refusal.because.contains("somebody else made the branch wild/update/photobox"), "{refusal:#?}");
    assert_eq!(refusal.remedy, "git push origin :wild/update/photobox");
    assert_eq!(world.repository.head(UPDATE).await.unwrap(), forged, "what is not ours is left alone");
    assert!(!is_evil(&world).await);

    // A restart believes it no more than before; the command that helps helps.
    let mut world = world;
    world.restart().await;
    assert_eq!(world.ask(finish()).await.state, OperationState::Failed);
    world.in_a_clone("git push -q origin :wild/update/photobox");
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    assert!(!is_evil(&world).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_replaced_ours_is_not_believed_and_one_that_stands_on_ours_is() {
    let world = world().await;
    world.done(update("photobox")).await;
    let ours = world.repository.head(UPDATE).await.unwrap().unwrap();
    forge(&world, UPDATE, "origin/main");
    let ended = world.ask(Request::Resolve { app: app("photobox"), decisions: Vec::new() }).await;
    assert_eq!(ended.state, OperationState::Failed, "{ended:#?}");
    assert!(!is_evil(&world).await);

    // What ours stands on was never on the branch: taken for it, the person's edits would be gone.
    let below = world.git(&["log", "-1", "--format=%P", ours.as_str()]).1;
    assert!(below.split_whitespace().count() > 1, "the deployed branch and a generation: {below}");
    for parent in below.split_whitespace() {
        world.in_a_clone(&format!(
            "git fetch -q origin '+refs/wild/*:refs/wild/*' && git push -q -f origin {parent}:refs/heads/{UPDATE}"
        ));
        let take = vec![Decision::new(None, Take::Upstream)];
        let ended = world.ask(Request::Resolve { app: app("photobox"), decisions: take }).await;
        assert_eq!(ended.state, OperationState::Failed, "{parent}: {ended:#?}");
    }
    assert!(world.file("main", SERVER).await.unwrap().contains("cpu: 200m"));

    // It is put back, and a person's commit stands on it.
    world.in_a_clone(&format!(
        "git fetch -q origin '+refs/wild/*:refs/wild/*' && git push -q -f origin {ours}:refs/heads/{UPDATE}"
    ));
    let settings = "apps/photobox/configmap.yaml";
    let text = format!("# Reviewed.\n{}", world.file(UPDATE, settings).await.unwrap());
    commit(&world.repository, UPDATE, "reviewed", &[(settings, Some(&text))]).await;
    world.done(Request::Resolve { app: app("photobox"), decisions: vec![Decision::new(None, Take::Mine)] }).await;
    assert!(world.file("main", settings).await.unwrap().starts_with("# Reviewed.\n"));
    assert_eq!(world.repository.head(UPDATE).await.unwrap(), None);
    assert_eq!(world.git(&["for-each-ref", "refs/wild/made"]).1, "", "nothing of the branch is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drift_branch_that_somebody_else_made_is_neither_written_over_nor_taken_away() {
    let world = world().await;
    forge(&world, "wild/drift/photobox", "origin/main");
    let forged = world.repository.head("wild/drift/photobox").await.unwrap();
    world.set("drift: report\n").await;
    world.look_again("photobox").await;
    let path = "/apis/apps/v1/namespaces/photobox/deployments/photobox-server";
    world.patch(path, json!({"spec": {"replicas": 3}})).await;
    world.until("the drift is seen", async || !world.state("photobox").await.unwrap().drift.is_empty()).await;
    let fields = world.state("photobox").await.unwrap().drift;
    let adopt = Request::AdoptDrift { app: app("photobox"), fields, branch: rewild::model::Branch::Review };
    let ended = world.ask(adopt).await;
    let because = ended.refusal.unwrap().because;
    assert!(because.contains("somebody else made the branch wild/drift/photobox"), "{because}");
    assert_eq!(world.repository.head("wild/drift/photobox").await.unwrap(), forged);
    assert!(!is_evil(&world).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_that_are_neither_branch_nor_tag_change_nothing_that_is_read() {
    let world = world().await;
    // A commit of somebody else that stands for the head, in each way that git knows.
    world.in_a_clone(&format!(
        "sed -i 's|image: .*|image: evil/server:9|' {SERVER}
         git commit -q -a -m evil
         for name in replace/$(git rev-parse origin/main) remotes/origin/main meta/config pull/1/head notes/commits stash/x; do
             git push -q origin HEAD:refs/$name
         done"
    ));
    let by_git = world.git(&["-c", "core.useReplaceRefs=true", "show", &format!("main:{SERVER}")]).1;
    assert!(by_git.contains("evil"), "git itself reads the other one");
    let by_settings = world.git(&["show", &format!("main:{SERVER}")]).1;
    assert!(!by_settings.is_empty() && !by_settings.contains("evil"), "a repository of ours tells every git not to");
    let before = world.head().await;
    let mut world = world;
    world.restart().await;
    world.look_again("photobox").await;
    assert_eq!(world.head().await, before);
    assert!(!world.file("main", SERVER).await.unwrap().contains("evil"));
    let set = [("timezone".to_owned(), json!("Europe/Rome"))].into();
    world.done(Request::Config { app: app("stonedb"), set, unset: Vec::new() }).await;
    world.fetch().await;
    let live = world.get("/apis/apps/v1/namespaces/photobox/deployments/photobox-server").await.unwrap().to_string();
    assert!(!live.contains("evil"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_whose_branch_cannot_be_made_ends_and_says_what_is_in_the_way() {
    let world = world().await;
    let home = world.root().join("home.git");
    let path = |name: &str| home.join(name);
    let main = world.head().await.to_string();
    for (name, is_ref, is_packed) in [
        ("refs/heads/wild", true, false),
        ("refs/heads/wild", true, true),
        ("refs/heads/wild/update", true, false),
        ("refs/heads/wild/update/photobox/x", true, false),
        ("refs/heads/wild", false, false),
        ("refs/heads/wild/update/photobox", false, false),
        ("refs/heads/wild/update/photobox/left.over", false, false),
    ] {
        let seen = format!("{name}, a ref: {is_ref}, packed: {is_packed}");
        if is_ref {
            assert!(world.git(&["update-ref", name, &main]).0, "{seen}");
        } else {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), "no ref\n").unwrap();
        }
        if is_packed {
            assert!(world.git(&["pack-refs", "--all"]).0);
        }

        let ended = world.ask(update("photobox")).await;
        assert_eq!(ended.state, OperationState::Failed, "{seen}: {ended:#?}");
        let refusal = ended.refusal.unwrap();
        assert!(refusal.because.contains("the branch wild/update/photobox cannot be made"), "{seen}: {refusal:#?}");
        let remedy = match is_ref {
            true => format!("git push origin :{name}"),
            false => format!("rm {}", path(name).canonicalize().unwrap().display()),
        };
        assert_eq!(refusal.remedy, remedy, "{seen}");
        if is_ref {
            let foreign = rewild::pipeline::foreign_branches(world.handle.instance()).await.unwrap();
            assert_eq!(foreign, [name], "it is told as well where nobody asks for an update");
        }

        // What is said to help helps.
        match is_ref {
            true => world.in_a_clone(&remedy),
            false => std::fs::remove_file(path(name)).unwrap(),
        }
        world.done(update("photobox")).await;
        assert_eq!(world.state("photobox").await.unwrap().conflicts, 1, "{seen}");
        world.done(Request::Abort { app: app("photobox") }).await;
    }
    assert!(!is_evil(&world).await);
}
