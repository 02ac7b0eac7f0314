//! What happens to one instance leaves the other as it is: apps, config, updates, conflicts, roll-backs, lost refs.

use rewild::model::{DataFate, Decision, Request, Take};
use serde_json::json;

use super::{Fleet, Side};
use crate::line::update;
use crate::world::app;

const STONEDB: &str = "/apis/apps/v1/namespaces/stonedb/statefulsets/stonedb";
const SET: &str = "apps/stonedb/statefulset.yaml";

fn config(value: &str) -> Request {
    let set = [("timezone".to_owned(), json!(value))].into();
    Request::Config { app: app("stonedb"), set, unset: Vec::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_app_in_both_has_files_refs_and_objects_of_its_own() {
    let mut fleet = Fleet::start("stonedb 15.5").await;
    for side in [fleet.home(), fleet.cabin()] {
        side.installed(&["stonedb"]).await;
    }
    let names = fleet.git(&["for-each-ref", "--format=%(refname)", "refs/wild/generated"]);
    assert_eq!(names, "refs/wild/generated/clusters/cabin/stonedb\nrefs/wild/generated/clusters/home/stonedb");
    assert_eq!(fleet.git(&["ls-tree", "--name-only", "main"]), "clusters");
    let record = ".wild/generated/stonedb.yaml";
    for side in [fleet.home(), fleet.cabin()] {
        assert!(side.file("config.yaml").await.unwrap().contains("stonedb:") && side.file(record).await.is_some());
        let own = fleet.git(&["ls-tree", "-r", "--name-only", &side.generated("stonedb")]);
        assert!(own.lines().all(|path| path.starts_with(side.place)), "{own}");
    }

    let (before, cabin) = (fleet.head().await, fleet.cabin().untouched(STONEDB).await);
    fleet.home().done(config("Europe/Berlin")).await;
    fleet.home().healthy("stonedb").await;
    assert!(fleet.home().get(STONEDB).await.unwrap().to_string().contains("Europe/Berlin"));
    let changed = fleet.git(&["diff", "--name-only", before.as_str(), "main"]);
    assert!(!changed.is_empty() && changed.lines().all(|path| path.starts_with("clusters/home/")), "{changed}");
    let message = fleet.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("\nWild-App: stonedb\nWild-Instance: clusters/home\n"), "{message}");
    // The other one is woken by the push as well, and finds nothing to do.
    fleet.cabin().look_again("stonedb").await;
    assert_eq!(fleet.cabin().untouched(STONEDB).await, cabin);

    // Each says on the same commit what it made of it, under a context of its own, and neither overwrites the other.
    let head = fleet.head().await;
    for (side, name) in [(fleet.home(), "home"), (fleet.cabin(), "cabin")] {
        let context = format!("wild/deploy ({name})");
        fleet.until(&context, async || side.status(&head, &context).await.as_deref() == Some("success")).await;
    }
    fleet
        .until("both are noted", async || {
            let note = fleet.repository.read_note(&head).await.unwrap().unwrap_or_default();
            note.contains("wild/deploy (home) success") && note.contains("wild/deploy (cabin) success")
        })
        .await;

    fleet.restart().await;
    fleet.home().done(Request::Delete { app: app("stonedb"), data: DataFate::Delete }).await;
    fleet.until("the app is gone", async || fleet.home().get(STONEDB).await.is_none()).await;
    fleet.cabin().look_again("stonedb").await;
    fleet.cabin().healthy("stonedb").await;
    assert_eq!(fleet.cabin().untouched(STONEDB).await, cabin);
    let (sound, findings) = {
        fleet.daemon.stop().await;
        fleet.try_git(&["fsck", "--strict"])
    };
    assert!(sound, "{findings}");
}

/// Both have the same app, each edited in its own way, and an update waits for a decision in the first.
async fn with_a_conflict_in_home() -> Fleet {
    let fleet = Fleet::start("stonedb 15.5").await;
    for side in [fleet.home(), fleet.cabin()] {
        side.installed(&["stonedb"]).await;
    }
    let (home, cabin) = (fleet.home().path(SET), fleet.cabin().path(SET));
    let (pushed, said) = fleet.in_a_clone(&format!(
        "sed -i 's/server:15.4/server:15.4-own/' {home} && sed -i 's/cpu: 100m/cpu: 150m/' {cabin}
         git commit -qam 'one push to both' && git push -q"
    ));
    assert!(pushed, "{said}");
    let holds = async |side: &Side<'_>, text: &str| side.get(STONEDB).await.unwrap().to_string().contains(text);
    fleet.until("home is edited", async || holds(&fleet.home(), "server:15.4-own").await).await;
    fleet.until("cabin is edited", async || holds(&fleet.cabin(), "150m").await).await;
    for side in [fleet.home(), fleet.cabin()] {
        side.healthy("stonedb").await;
    }
    fleet.publish("stonedb 15.5").await;
    fleet.home().done(update("stonedb")).await;
    assert_eq!(fleet.home().state("stonedb").await.unwrap().conflicts, 1);
    fleet
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_in_one_waits_while_the_other_merges_and_each_rolls_back_alone() {
    let fleet = with_a_conflict_in_home().await;
    let (home, cabin) = (fleet.home(), fleet.cabin());
    let waiting = fleet.file(&home.update_branch("stonedb"), &home.path(".wild/conflicts/stonedb.yaml")).await;
    assert!(waiting.is_some());
    let before = fleet.head().await;
    cabin.done(update("stonedb")).await;
    cabin.healthy("stonedb").await;
    let text = cabin.file(SET).await.unwrap();
    assert!(text.contains("cpu: 150m") && text.contains("server:15.5") && text.contains("livenessProbe"), "{text}");
    assert_eq!(fleet.repository.head(&cabin.update_branch("stonedb")).await.unwrap(), None);
    assert_eq!(home.state("stonedb").await.unwrap().conflicts, 1);
    assert!(!home.file(SET).await.unwrap().contains("livenessProbe"));

    home.done(Request::Resolve { app: app("stonedb"), decisions: vec![Decision::new(None, Take::Mine)] }).await;
    home.healthy("stonedb").await;
    let text = home.file(SET).await.unwrap();
    assert!(text.contains("server:15.4-own") && text.contains("livenessProbe"), "{text}");
    let kept = fleet.git(&["ls-tree", "-r", "--name-only", "refs/wild/resolutions"]);
    assert!(!kept.is_empty() && kept.lines().all(|path| path.starts_with("clusters/home/stonedb/")), "{kept}");

    let untouched = home.untouched(STONEDB).await;
    cabin.done(Request::Rollback { app: app("stonedb"), to: before, reason: String::new(), undoes: None }).await;
    cabin.healthy("stonedb").await;
    let text = cabin.file(SET).await.unwrap();
    assert!(text.contains("cpu: 150m") && text.contains("server:15.4"), "{text}");
    home.look_again("stonedb").await;
    assert_eq!(home.untouched(STONEDB).await, untouched);
}

/// Finishes the waiting update in a clone, keeping ours in the one place that is open, and pushes it.
async fn is_finished_by(merge: &str, cut: &str) {
    let fleet = with_a_conflict_in_home().await;
    let (home, cabin) = (fleet.home(), fleet.cabin().untouched(STONEDB).await);
    let (file, branch, before) = (home.path(SET), home.update_branch("stonedb"), fleet.head().await);
    let generation = fleet.git(&["rev-parse", &home.generated("stonedb")]);
    let (pushed, said) = fleet.in_a_clone(&format!(
        "GENERATED={}\n{merge}\ntest \"$(git diff --name-only --diff-filter=U)\" = {file}
         sed -i -e '{cut}' -e '/^<<<<<<</d' {file}\n! grep -q '^[<=>|]\\{{7\\}}' {file}
         git add {file} && git commit -q --no-edit && git push -q origin HEAD:main :{branch}",
        home.generated("stonedb"),
    ));
    assert!(pushed, "{said}");
    fleet.until("nothing waits", async || home.state("stonedb").await.unwrap().conflicts == 0).await;
    fleet.until("the branch goes", async || fleet.repository.head(&branch).await.unwrap().is_none()).await;
    home.healthy("stonedb").await;
    let text = home.file(SET).await.unwrap();
    assert!(text.contains("server:15.4-own") && text.contains("livenessProbe"), "{text}");
    let parents = fleet.git(&["log", "--merges", "--format=%P", "-1", "--grep=^Merge", "main"]);
    assert_eq!(parents, format!("{before} {generation}"));
    let remembered = async || fleet.try_git(&["rev-parse", "refs/wild/resolutions:clusters/home/stonedb"]).0;
    fleet.until("it is remembered", remembered).await;
    fleet.cabin().look_again("stonedb").await;
    assert_eq!(fleet.cabin().untouched(STONEDB).await, cabin);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_merges_one_instance_by_plain_git() {
    let merge = "git fetch -q origin $GENERATED\n! git merge -q --no-edit FETCH_HEAD >/dev/null";
    is_finished_by(merge, "/^=======/,/^>>>>>>>/d").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_merges_one_instance_by_git_with_our_driver() {
    let merge = "wild hook install 2>/dev/null\ngit fetch -q origin\n! git merge -q --no-edit $GENERATED >/dev/null";
    is_finished_by(merge, "/^|||||||/,/^>>>>>>>/d").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_ref_is_found_among_the_own_merges_and_not_the_neighbours() {
    let fleet = Fleet::start("stonedb 15.5").await;
    let (home, cabin) = (fleet.home(), fleet.cabin());
    for side in [&home, &cabin] {
        side.installed(&["stonedb"]).await;
    }
    home.done(config("Europe/Berlin")).await;
    cabin.done(config("Europe/Rome")).await;
    let (generation, neighbour) = (home.generated("stonedb"), cabin.generated("stonedb"));
    let (tip, theirs) = (fleet.git(&["rev-parse", &generation]), fleet.git(&["rev-parse", &neighbour]));
    fleet.git(&["update-ref", "-d", &generation]);
    home.done(config("Europe/Oslo")).await;
    assert_eq!(fleet.git(&["rev-parse", &format!("{generation}~1")]), tip, "the chain goes on where it was");
    assert_eq!(fleet.git(&["rev-parse", &neighbour]), theirs);
    home.healthy("stonedb").await;
    assert!(cabin.file("apps/stonedb/statefulset.yaml").await.unwrap().contains("Europe/Rome"));
}
