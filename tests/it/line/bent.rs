//! Histories that are bent: by plain git with squash merges, reverted updates and lost refs of generations, and by apps that leave their package
//! and come back.

use rewild::model::{Decision, Request, Take};

use super::{installed, update};
use crate::world::{World, app};

const SERVER: &str = "apps/photobox/server-deployment.yaml";
const GENERATED: &str = "refs/wild/generated/photobox";

async fn with_a_waiting_update() -> World {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.state("photobox").await.unwrap().conflicts, 1);
    world
}

/// Waits until the newest generation is in the history of the branch.
async fn joined(world: &World) {
    world
        .until("the generation is joined", async || world.git(&["merge-base", "--is-ancestor", GENERATED, "main"]).0)
        .await;
}

async fn subjects(world: &World, count: &str) -> String {
    world.git(&["log", "--first-parent", "--format=%s", count, "main"]).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squashed_update_is_joined_and_its_conflict_is_not_asked_again() {
    let world = with_a_waiting_update().await;
    world.in_a_clone(
        "git merge --squash origin/wild/update/photobox
         git rm -q -f .wild/conflicts/photobox.yaml
         git commit -q -m 'take the update'
         git push -q origin main",
    );
    joined(&world).await;
    assert!(
        subjects(&world, "-2").await.starts_with("chore(photobox): join generation "),
        "{}",
        subjects(&world, "-3").await
    );
    let (same, _) = world.git(&["diff", "--quiet", "main~1", "main"]);
    assert!(same, "a join changes no file");
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    assert_eq!(world.repository.head("wild/update/photobox").await.unwrap(), None);
    world.healthy("photobox").await;
    let before = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, before, "there is nothing left to merge");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
}

/// Takes an update over in one commit without its history, and waits until that is joined.
async fn is_joined(script: &str) {
    let world = with_a_waiting_update().await;
    let before = world.head().await.to_string();
    let config = world.file("wild/update/photobox", "config.yaml").await;
    world.in_a_clone(&format!("{script}\ngit push -q origin main"));
    joined(&world).await;
    let merges = world.git(&["log", "--first-parent", "--merges", "--format=%s", &format!("{before}..main")]).1;
    assert!(merges.lines().all(|line| line.starts_with("chore(photobox): join generation ")), "{merges}");
    world.until("the keys of the new version follow", async || world.file("main", "config.yaml").await == config).await;
    world.until("nothing waits", async || world.state("photobox").await.unwrap().conflicts == 0).await;
    world.healthy("photobox").await;
    let head = world.head().await;
    world.done(update("photobox")).await;
    assert_eq!(world.head().await, head, "there is nothing left to merge");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.1"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cherry_picked_update_is_joined() {
    is_joined(
        "git cherry-pick -m 1 origin/wild/update/photobox
         git rm -q .wild/conflicts/photobox.yaml
         git commit -q --amend --no-edit --reset-author",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_a_rebase_made_linear_is_joined_and_its_keys_follow() {
    // What a rebase of the merge does: the generation's change alone, on top of the branch.
    is_joined(
        "git fetch -q origin refs/wild/generated/photobox
         git checkout -q -b work && git merge -q --no-edit -X ours FETCH_HEAD
         git checkout -q main && git commit -q --allow-empty -m meanwhile && git checkout -q work
         git rebase -q -X ours main && test -z \"$(git log --merges main..work)\"
         git checkout -q main && git merge -q --ff-only work",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generations_that_are_nowhere_any_more_are_compiled_again_and_the_next_update_is_a_persons() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.healthy("photobox").await;
    let tree = world.git(&["rev-parse", &format!("{GENERATED}:apps")]).1;
    world.stop().await;
    assert!(world.git(&["update-ref", "-d", GENERATED]).0);
    world.in_a_clone(
        "git checkout -q --orphan anew && git commit -q -m 'without a past'
         git push -q -f origin anew:main",
    );
    world.restart().await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    let merged = subjects(&world, "-10").await;
    let joined = "chore(photobox): join a generation of 1.0 made again";
    assert!(merged.starts_with("upgrade(photobox): 1.0 -> 1.1\n") && merged.contains(joined), "{merged}");
    assert_eq!(world.git(&["rev-parse", &format!("{GENERATED}~1:apps")]).1, tree, "it is the one that was lost");
    let message = world.git(&["log", "-1", "--format=%B", &format!("--grep={joined}"), "-F", "main"]).1;
    assert!(message.contains("Wild-Base: approximated"), "{message}");
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_changes_no_base_and_is_written_again() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    let record = ".wild/generated/photobox.yaml";
    world.edit(record, "renderer: ", "renderer: other-").await;
    world.healthy("photobox").await;
    let base = world.git(&["merge-base", "main", GENERATED]).1;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.git(&["rev-parse", &format!("{GENERATED}~1")]).1, base, "the chain goes on where it was");
    joined(&world).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
    let text = world.file("main", record).await.unwrap();
    assert!(text.contains("version: \"1.1\"") && !text.contains("other-"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_clone_is_refused_with_where_its_history_ends() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.publish("photobox 1.1").await;
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_wild")).parent().unwrap().display().to_string();
    world.in_a_clone(&format!(
        "export PATH=\"{program}:$PATH\" HOME=\"$2\" XDG_STATE_HOME=\"$2/state\"
        git clone -q --bare --depth 1 \"file://$1\" ../shallow.git
        git -C ../shallow.git fetch -q --depth 1 origin '+refs/wild/*:refs/wild/*'
        ! wild app update photobox --local ../shallow.git 2>told
        cat told >&2
        grep -q \"the history of apps/photobox is cut off at $(git rev-parse --short=7 main); fetch with --unshallow\" told"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_version_is_held_and_the_next_update_brings_back_what_was_reverted() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.healthy("photobox").await;
    let good = world.head().await;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    world.done(Request::Rollback { app: app("photobox"), to: good, reason: "videos".into(), undoes: None }).await;
    // The roll-back is a join: git itself would start the next merge from the files that are there.
    assert_eq!(world.git(&["rev-parse", "main^2"]).1, world.git(&["rev-parse", GENERATED]).1);
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.0"), "{text}");
    let record = world.file("main", ".wild/generated/photobox.yaml").await.unwrap();
    assert!(record.contains("version: \"1.0\"") && record.contains("held: "), "{record}");
    world.publish("photobox 2.0").await;
    world.done(update("photobox")).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:2.0"), "{text}");
    assert!(text.contains("periodSeconds: 5"), "what 1.1 brought comes with 2.0: {text}");
    assert!(!world.file("main", ".wild/generated/photobox.yaml").await.unwrap().contains("held: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_update_is_held_and_comes_whole_when_asked_for_again() {
    let world = with_a_waiting_update().await;
    let decisions = vec![Decision::new(None, Take::Mine)];
    world.done(Request::Resolve { app: app("photobox"), decisions }).await;
    world.healthy("photobox").await;
    assert!(world.file("main", SERVER).await.unwrap().contains("photobox/server:1.1"));
    world.in_a_clone("git revert --no-edit -m 1 HEAD && git push -q origin main");
    world
        .until("the revert is joined", async || {
            subjects(&world, "-1").await.starts_with("chore(photobox): join generation ")
        })
        .await;
    world.healthy("photobox").await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:1.0"), "{text}");
    let record = world.file("main", ".wild/generated/photobox.yaml").await.unwrap();
    assert!(record.contains("held: "), "{record}");
    world.done(update("photobox")).await;
    let branch =
        world.repository.head("wild/update/photobox").await.unwrap().map_or("main", |_| "wild/update/photobox");
    assert!(world.file(branch, SERVER).await.unwrap().contains("photobox/server:1.1"), "the update comes again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_ref_of_generations_is_found_in_the_history_of_the_branch() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.healthy("photobox").await;
    let generation = world.git(&["rev-parse", GENERATED]).1;
    assert!(world.git(&["update-ref", "-d", GENERATED]).0);
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    assert_eq!(world.git(&["rev-parse", &format!("{GENERATED}~1")]).1, generation, "the chain goes on where it was");
    joined(&world).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_hides_our_refs_costs_nothing() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "cpu: 100m", "cpu: 200m").await;
    let forge = world.restart_beside_a_forge().await;
    let there = |world: &World, name: &str| world.git(&["--git-dir", &forge, "rev-parse", "-q", "--verify", name]).1;
    let here = |world: &World, name: &str| world.git(&["rev-parse", "-q", "--verify", name]).1;
    world.publish("photobox 1.1").await;
    world.done(update("photobox")).await;
    let branch = "refs/heads/wild/update/photobox";
    let has_branch = async || !there(&world, branch).is_empty() && there(&world, branch) == here(&world, branch);
    world.until("the forge has the update", has_branch).await;
    // A person has nothing but what the forge shows.
    world.in_a_clone_of(
        &forge,
        "test -z \"$(git ls-remote origin 'refs/wild/*')\"
         git merge -q --no-edit origin/wild/update/photobox
         git rm -q .wild/conflicts/photobox.yaml
         git commit -q -m 'keep our processors'
         git push -q origin main",
    );
    world.handle.fetch();
    world
        .until("nothing waits", async || {
            world.state("photobox").await.unwrap().conflicts == 0
                && world.repository.head("wild/update/photobox").await.unwrap().is_none()
        })
        .await;
    joined(&world).await;
    world.healthy("photobox").await;
    let is_equal = async || there(&world, "main") == here(&world, "main") && there(&world, branch).is_empty();
    world.until("the forge has what we have", is_equal).await;
    let generation = here(&world, GENERATED);
    assert_eq!(world.git(&["--git-dir", &forge, "for-each-ref", "refs/wild"]).1, "", "it took none of our refs");

    world.restart_on_a_clone_of(&forge).await;
    assert_eq!(here(&world, GENERATED), "", "the clone brought none");
    world.publish("photobox 2.0").await;
    world.done(update("photobox")).await;
    assert_eq!(here(&world, &format!("{GENERATED}~1")), generation, "the chain goes on where it was");
    joined(&world).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("cpu: 200m") && text.contains("photobox/server:2.0"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_in_one_directory_are_refused_because_their_generations_would_mix() {
    let mut world = World::start(&["stonedb 15.5"]).await;
    world.in_a_clone(
        "git checkout -q -b second && sed -i 's/instanceId: .*/instanceId: q2m5xdk3f7/' .wild/config.yaml
         git commit -q -am 'another instance' && git push -q origin second",
    );
    let refused = world.second_instance("second").await;
    assert!(
        refused.contains("open the instance second: the instance home lives at the top of the same repository"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_no_version_explains_stands_on_its_own_files() {
    let world = World::start(&["stonedb 15.5"]).await;
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {by: hand}\n";
    let list = "namespace: quickcache\nresources: [own.yaml]\n";
    let files = [("apps/quickcache/kustomization.yaml", Some(list)), ("apps/quickcache/own.yaml", Some(object))];
    let before = world.push("an app of our own", &files).await.to_string();
    world.healthy("quickcache").await;
    let ended = world.done(Request::Adopt { app: app("quickcache"), package: None }).await;
    assert!(
        ended.message.starts_with("quickcache stands on its own files, because the nearest version is 7.0 at "),
        "{}",
        ended.message
    );
    assert!(ended.message.contains("cannot be told from upstream text"), "{}", ended.message);
    let told = world.git(&["log", "-1", "--format=%b", "main"]).1.replace('\n', " ");
    assert!(told.contains("cannot be told from upstream text, and the next update brings upstream text."), "{told}");
    let generated = "refs/wild/generated/quickcache";
    assert!(world.git(&["merge-base", "--is-ancestor", generated, "main"]).0);
    for from in [before.as_str(), generated] {
        let range = ["diff", "--exit-code", from, "main", "--", "apps/quickcache", ":!apps/quickcache/.package"];
        assert!(world.git(&range).0, "{from}: an adoption changes no file of the app");
    }
    world.look_again("quickcache").await;
    world.healthy("quickcache").await;
    assert!(world.file("main", "apps/quickcache/deployment.yaml").await.is_none(), "nothing comes by itself");
    let head = world.head().await.to_string();
    world.done(update("quickcache")).await;
    assert_eq!(world.git(&["rev-parse", "main^1"]).1.trim(), head);
    assert!(world.file("main", "apps/quickcache/deployment.yaml").await.is_some());
    assert_eq!(world.file("main", "apps/quickcache/own.yaml").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_left_its_package_comes_back_with_its_edits() {
    let world = World::start(&["stonedb 15.5"]).await;
    installed(&world, &["stonedb", "quickcache", "photobox"]).await;
    world.edit(SERVER, "replicas: 1", "replicas: 2").await;
    world.healthy("photobox").await;
    let names = || world.git(&["ls-tree", "-r", "--name-only", "main", "--", "apps/photobox", ".wild/generated"]).1;
    let is_ours = |name: &&str| name.starts_with("apps/photobox/") && !name.contains("/.package/");
    let all = names();
    let own: Vec<&str> = all.lines().filter(is_ours).collect();
    world.done(Request::Eject { app: app("photobox") }).await;
    world.until("its generations are gone", async || !world.git(&["rev-parse", "-q", "--verify", GENERATED]).0).await;
    assert_eq!(names().lines().filter(|name| name.contains("photobox")).collect::<Vec<_>>(), own);
    world.publish("photobox 1.1").await;
    let ejected = world.head().await.to_string();
    world.done(Request::Adopt { app: app("photobox"), package: None }).await;
    joined(&world).await;
    assert_eq!(world.git(&["rev-list", "--count", GENERATED]).1.trim(), "1", "the chain begins anew");
    let kept = [&["diff", "--exit-code", ejected.as_str(), "main", "--"][..], &own].concat();
    assert!(world.git(&kept).0, "an adoption changes no file of the app");
    let record = world.file("main", ".wild/generated/photobox.yaml").await.unwrap();
    assert!(record.contains("version: \"1.0\""), "{record}");
    world.done(update("photobox")).await;
    let text = world.file("main", SERVER).await.unwrap();
    assert!(text.contains("replicas: 2") && text.contains("photobox/server:1.1"), "{text}");
}
