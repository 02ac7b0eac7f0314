//! Pure. Decisions that hold when their conflict appears again, are learned from merges by hand, and are forgotten.
//!
//! Not here: the world (`tests`), what a key is (`merge::remembered`).

use super::{World, app, blog, refused, set, summary, take, update};
use crate::base::Timestamp;
use crate::compile::{PastMerge, take_in};
use crate::merge::{conflicts_path, merge_text};
use crate::model::{CommitId, Decision, FileTree, Request, Take};

pub(super) const DEPLOYMENT: &str = "apps/blog/deployment.yaml";
const LIMIT: &str = "spec.template.spec.containers[name=blog].resources.limits.memory";

/// Upstream gives the app two gibibytes, or as many as are said, and another restart policy.
pub(super) fn grown(version: &str, memory: &str) -> FileTree {
    blog(version, |name, text| match name {
        "deployment.yaml" => text
            .replace("restartPolicy: Always", "restartPolicy: OnFailure")
            .replace("memory: \"{{ .memory }}\"", &format!("memory: {memory}")),
        _ => text.to_owned(),
    })
}

/// A person gave the app four gibibytes.
fn in_conflict() -> World {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("memory: \"1Gi\"", "memory: 4Gi"));
    world.publish("blog", grown("1.1", "2Gi"));
    world.act(&update(None)).unwrap();
    world
}

/// Goes back to the commit before the update was merged.
fn roll_back(world: &mut World) {
    let past = world.main.iter().rposition(|files| {
        files.text(DEPLOYMENT).is_some_and(|text| text.contains("memory: 4Gi") && text.contains("blog:1.0"))
    });
    world.past = Some(world.main[past.unwrap()].clone());
    let to = super::commit(past.unwrap());
    world.act(&Request::Rollback { app: app("blog"), to, reason: String::new(), undoes: None }).unwrap();
    assert!(world.text(DEPLOYMENT).contains("blog:1.0"));
}

fn always(take: Take) -> Request {
    let decision = Decision { always: true, ..Decision::new(None, take) };
    Request::Resolve { app: app("blog"), decisions: vec![decision] }
}

fn forget(key: Option<&str>) -> Request {
    Request::Forget { app: app("blog"), key: key.map(str::to_owned) }
}

#[test]
fn the_same_conflict_is_not_asked_again_and_the_merge_names_its_decision() {
    for (side, kept) in [(Take::Mine, "memory: 4Gi"), (Take::Upstream, "memory: 2Gi"), (Take::Base, "memory: \"1Gi\"")]
    {
        let mut world = in_conflict();
        world.act(&take(None, side.clone())).unwrap();
        roll_back(&mut world);
        let proposal = world.act(&update(None)).unwrap();
        assert_eq!(summary(&proposal), ["generation blog: blog 1.1", "main upgrade(blog): 1.0 -> 1.1 Generation"]);
        assert!(world.text(DEPLOYMENT).contains(kept));
        let trailer = proposal.main.unwrap().trailers.into_iter().find(|(name, _)| name == "Wild-Resolution");
        assert!(trailer.unwrap().1.ends_with(side.word()));
        assert!(proposal.notices.iter().any(|notice| notice.starts_with(&format!("decided earlier: {LIMIT}: "))));
        assert!(proposal.remember.is_empty(), "it is remembered already");
    }
}

#[test]
fn a_value_of_ones_own_is_taken_and_remembered() {
    let mut world = in_conflict();
    let own = Take::Value("3Gi".to_owned());
    world.act(&take(None, own.clone())).unwrap();
    assert!(world.text(DEPLOYMENT).contains("memory: 3Gi"));
    roll_back(&mut world);
    world.act(&update(None)).unwrap();
    assert!(world.text(DEPLOYMENT).contains("memory: 3Gi"));
    let mut world = in_conflict();
    for value in ["[a]", "a: b", "x\ny", "\"open"] {
        let refusal = world.act(&take(None, Take::Value(value.to_owned()))).unwrap_err();
        assert!(refusal.explanation().because.contains("is no single value"), "{refusal}");
    }
}

#[test]
fn a_conflict_whose_sides_moved_is_asked_again() {
    let mut world = in_conflict();
    world.act(&take(None, Take::Mine)).unwrap();
    roll_back(&mut world);
    world.publish("blog", grown("1.2", "3Gi"));
    assert_eq!(world.act(&update(None)).unwrap().conflicts.len(), 1);
}

#[test]
fn a_decision_for_always_holds_whatever_the_sides_say() {
    let mut world = in_conflict();
    world.act(&always(Take::Mine)).unwrap();
    world.publish("blog", grown("1.2", "3Gi"));
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(proposal.conflicts, []);
    assert!(world.text(DEPLOYMENT).contains("memory: 4Gi"));
    assert!(proposal.notices.iter().any(|notice| notice.ends_with(" for always")), "{:?}", proposal.notices);
    let mut world = in_conflict();
    let refusal = world.act(&always(Take::Base)).unwrap_err();
    assert!(refusal.explanation().because.contains("only mine or upstream"), "{refusal}");
}

#[test]
fn a_side_taken_in_advance_leaves_nothing_to_decide() {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("memory: \"1Gi\"", "memory: 4Gi"));
    world.publish("blog", grown("1.1", "2Gi"));
    let request = Request::Update { app: app("blog"), to: None, take: Some(Take::Upstream), grants: Vec::new() };
    let proposal = world.act(&request).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.1", "main upgrade(blog): 1.0 -> 1.1 Generation"]);
    assert!(world.text(DEPLOYMENT).contains("memory: 2Gi"));
    assert_eq!(proposal.remember.len(), 1);
}

#[test]
fn a_key_of_config_is_decided_once() {
    let mut world = World::with_blog();
    world.act(&set("title", serde_json::json!("Roof"))).unwrap();
    let good = world.main.len() - 1;
    let renamed =
        |_: &str, text: &str| text.replace("title: Garden", "titles: Garden").replace(".title }}", ".titles }}");
    world.publish("blog", blog("1.1", renamed));
    world.act(&update(None)).unwrap();
    world.act(&take(Some("title"), Take::Upstream)).unwrap();
    world.past = Some(world.main[good].clone());
    let to = super::commit(good);
    world.act(&Request::Rollback { app: app("blog"), to, reason: String::new(), undoes: None }).unwrap();
    assert!(world.text("config.yaml").contains("title: Roof"));
    assert_eq!(world.act(&update(None)).unwrap().conflicts, []);
    assert!(world.text("config.yaml").contains("titles: Garden") && !world.text("config.yaml").contains("title: "));
}

#[test]
fn a_forgotten_decision_is_asked_again() {
    let mut world = in_conflict();
    let id = world.sources(&app("blog")).update.unwrap().files;
    let id = id
        .text(&conflicts_path(&app("blog")))
        .unwrap()
        .split("id: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    world.act(&take(None, Take::Mine)).unwrap();
    roll_back(&mut world);
    world.act(&forget(Some(&id))).unwrap();
    assert_eq!(world.act(&update(None)).unwrap().conflicts.len(), 1);
    refused(
        world.act(&forget(Some(&id))),
        "user: forget a decision of blog: nothing is remembered; wild app resolve blog --remembered",
    );
}

#[test]
fn a_decision_that_is_forgotten_while_the_update_waits_opens_its_conflict() {
    let mut world = in_conflict();
    world.act(&take(None, Take::Mine)).unwrap();
    roll_back(&mut world);
    // One more conflict, so that the update waits beside what is decided.
    world.push("apps/blog/service.yaml", |text| text.replace("port: 80", "port: 8080"));
    let both = |name: &str, text: &str| match name {
        "service.yaml" => text.replace("port: 80", "port: 8443"),
        "deployment.yaml" => text.replace("memory: \"{{ .memory }}\"", "memory: 2Gi"),
        _ => text.to_owned(),
    };
    world.publish("blog", blog("1.2", both));
    assert_eq!(world.act(&update(None)).unwrap().conflicts.len(), 1);
    let list = world.branch("blog").files.text(".wild/conflicts/blog.yaml").unwrap();
    assert!(list.contains("earlier: true"), "{list}");
    let proposal = world.act(&forget(None)).unwrap();
    assert_eq!(proposal.conflicts.len(), 2);
}

#[test]
fn a_merge_by_hand_is_taken_in_with_its_keys_and_its_decisions() {
    for (kept, side) in [("memory: 4Gi", Take::Mine), ("memory: 2Gi", Take::Upstream)] {
        let mut world = in_conflict();
        let branch = world.updates.remove("blog").unwrap();
        let before = world.head().clone();
        let base = world.sources(&app("blog")).base.unwrap().files;
        world.chains.get_mut("blog").unwrap().joined = 2;
        let theirs = world.sources(&app("blog")).base.unwrap().files;
        // The person's git merges the files and not config.yaml, and the person takes the branch away.
        let mut files = branch.files.clone();
        files.remove(&crate::base::RepoPath::parse(".wild/conflicts/blog.yaml").unwrap());
        files.insert(crate::base::RepoPath::parse("config.yaml").unwrap(), before.get("config.yaml").unwrap().clone());
        world.main.push(files);
        world.push(DEPLOYMENT, |text| text.replace("memory: 4Gi", kept));
        let past = PastMerge {
            commit: CommitId::parse(&"7".repeat(40)).unwrap(),
            who: "alice <alice@example.org>".to_owned(),
            when: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
            base,
            ours: before,
            theirs,
            files: world.head().clone(),
        };
        world.by_hand = Some(past.clone());
        let proposal = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
        assert_eq!(summary(&proposal), ["main config(blog): take the keys of 1.1, which was merged by hand None"]);
        let learned = proposal.remember.values().flatten().next().unwrap();
        assert_eq!((&learned.take, learned.who.as_str()), (&side, "alice <alice@example.org>"));
        world.commit(&app("blog"), &proposal);
        assert!(world.text("config.yaml").contains("image: blog:1.1"), "{}", world.text("config.yaml"));
        let again = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
        assert!(again.is_nothing(), "{:?}", summary(&again));
        // A key that the person changed since stays.
        world.push("config.yaml", |text| text.replace("image: blog:1.1", "image: blog:9"));
        let again = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
        assert!(again.is_nothing(), "{:?}", summary(&again));
        roll_back(&mut world);
        world.by_hand = None;
        assert_eq!(world.act(&update(None)).unwrap().conflicts, []);
        assert!(world.text(DEPLOYMENT).contains(kept));
    }
}

#[test]
fn a_merge_by_hand_after_a_roll_back_ends_in_the_tree_of_an_update_by_us() {
    const RECORD: &str = ".wild/generated/blog.yaml";
    let mut world = in_conflict();
    world.act(&take(None, Take::Mine)).unwrap();
    let by_us = world.head().clone();
    roll_back(&mut world);
    let before = world.head().clone();
    assert!(world.text(RECORD).contains("held: "));
    let base = world.sources(&app("blog")).base.unwrap().files;
    let chain = world.chains.get_mut("blog").unwrap();
    chain.generations.push(chain.generations[1].clone());
    chain.joined = chain.generations.len();
    let theirs = world.sources(&app("blog")).base.unwrap().files;
    // The person's git merges the files, the record by its lines, and no config.yaml.
    let text = |files: &FileTree, path: &str| files.text(path).unwrap().to_owned();
    let record = merge_text(&text(&base, RECORD), &text(&before, RECORD), &text(&theirs, RECORD));
    assert!(record.conflicts.is_empty(), "{}", record.text);
    world.main.push(by_us.clone());
    world.push(RECORD, |_| record.text.clone());
    world.push("config.yaml", |_| text(&before, "config.yaml"));
    let past = PastMerge {
        commit: CommitId::parse(&"7".repeat(40)).unwrap(),
        who: "alice <alice@example.org>".to_owned(),
        when: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
        base,
        ours: before,
        theirs,
        files: world.head().clone(),
    };
    let proposal = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
    assert_eq!(summary(&proposal), ["main config(blog): take the keys of 1.1, which was merged by hand None"]);
    world.commit(&app("blog"), &proposal);
    assert_eq!(*world.head(), by_us);
    let again = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
    assert!(again.is_nothing(), "{:?}", summary(&again));
    // Where no key of config.yaml follows, the record does so alone.
    world.push(RECORD, |_| record.text.clone());
    let past = PastMerge { files: world.head().clone(), ..past };
    let proposal = take_in(&app("blog"), &world.sources(&app("blog")), &past).unwrap();
    assert_eq!(summary(&proposal), ["main config(blog): take 1.1, which was merged by hand None"]);
    world.commit(&app("blog"), &proposal);
    assert_eq!(*world.head(), by_us);
}

#[test]
fn old_merges_teach_what_was_chosen() {
    let mut world = in_conflict();
    world.act(&take(None, Take::Mine)).unwrap();
    let chain = &world.chains["blog"].generations;
    let past = PastMerge {
        commit: CommitId::parse(&"7".repeat(40)).unwrap(),
        who: "alice".to_owned(),
        when: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
        base: chain[0].files.clone(),
        ours: world.main[world.main.len() - 2].clone(),
        theirs: chain[1].files.clone(),
        files: world.head().clone(),
    };
    world.by_hand = Some(past);
    let known = std::mem::take(&mut world.remembered);
    let proposal = world.act(&Request::Learn { app: app("blog") }).unwrap();
    assert_eq!(proposal.summary, ["1 merge read, 1 new decision remembered"]);
    let takes = |remembered: &std::collections::BTreeMap<_, crate::merge::Remembered>| -> Vec<(String, Take)> {
        remembered[&app("blog")].all().iter().map(|(key, it)| (key.clone(), it.take.clone())).collect()
    };
    assert_eq!(takes(&world.remembered), takes(&known));
    let proposal = world.act(&Request::Learn { app: app("blog") }).unwrap();
    assert_eq!(proposal.summary, ["1 merge read, 0 new decisions remembered"]);
}
