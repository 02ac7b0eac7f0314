//! What git does not say is no word to delete: a revision with nothing in it, and a directory that is gone.

use rewild::model::{Request, Suspension};
use rewild::pipeline;
use serde_json::{Value, json};

use super::{Plain, config, has_version, says};
use crate::world::{Ground, World, app};

/// How long the suspension lasts, in seconds: long enough to be seen on a slow machine.
const SUSPENDED: u64 = 8;

/// §8.3: absent is not empty.
pub(super) async fn nothing_goes_because_git_is_empty_or_an_app_is_gone_from_it<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "emptied" };
    let text = config("lasting", "1");
    let first = plain.push(&[("lasting.yaml", &text)]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "lasting");
    let before = plain.uid(&path).await;
    plain.push(&[]).await;
    plain.stands_for("Unreadable", &["the build holds no object"]).await;
    // What somebody takes away meanwhile comes back, as it was applied last.
    world.try_delete(&path).await;
    plain.until("it is there again", &path, |live| live["metadata"]["uid"] != before && has_version("1")(live)).await;
    let before = plain.uid(&path).await;
    let files = ["apps/emptied/kustomization.yaml", "apps/emptied/lasting.yaml"];
    world.push("a slip", &files.map(|file| (file, None))).await;
    plain.stands_for("DeletionNeedsApproval", &["no commit says that emptied was to be deleted"]).await;
    world.look_again(plain.name).await;
    assert_eq!(plain.uid(&path).await, before);
    // The command that the refusal names is one, and what it would delete is told.
    let hint = world.state(plain.name).await.unwrap().hint;
    assert!(hint.starts_with("wild app deploy emptied --prune --plan "), "{hint}");
    says(
        world,
        "wild plan emptied",
        &["? would delete ConfigMap/lasting", "no commit says that emptied was to be deleted"],
    )
    .await;
    let last = plain.push(&[("lasting.yaml", &text.replace("\"1\"", "\"2\""))]).await;
    plain.done(&last).await;
    assert_eq!(plain.uid(&path).await, before, "it is the same one");
    world.push("a slip again", &files.map(|file| (file, None))).await;
    plain.stands_for("DeletionNeedsApproval", &[]).await;
    let hint = world.state(plain.name).await.unwrap().hint;
    says(world, &hint, &["deleted     ConfigMap/lasting"]).await;
    plain.until("it is gone", &path, Value::is_null).await;
    world.until("nothing is known of the app", async || world.state(plain.name).await.is_none()).await;
}

/// §8.3: a person who agreed to what goes is not asked again because it goes one after the other.
pub(super) async fn a_person_agrees_once_to_what_goes_in_stages<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "stepwise" };
    let upper = config("upperstep", "1").replace(
        "{name: upperstep}",
        "{name: upperstep, annotations: {rewild.dev/depends-on: /namespaces/stepwise/ConfigMap/lowerstep}}",
    );
    let first = plain.push(&[("lower.yaml", &config("lowerstep", "1")), ("upper.yaml", &upper)]).await;
    plain.done(&first).await;
    let files = ["kustomization", "lower", "upper"].map(|file| format!("apps/stepwise/{file}.yaml"));
    world.push("a slip", &files.each_ref().map(|file| (file.as_str(), None))).await;
    plain.stands_for("DeletionNeedsApproval", &["3 of 3 objects would be deleted"]).await;
    let hint = world.state(plain.name).await.unwrap().hint;
    says(world, &hint, &["ConfigMap/upperstep"]).await;
    for name in ["upperstep", "lowerstep"] {
        plain.until("it is gone", &plain.path("v1", "configmaps", name), Value::is_null).await;
    }
    world.until("nothing is known of the app", async || world.state(plain.name).await.is_none()).await;
}

/// §8.3: an upstream that went back, or rewrote its history, is said and takes nothing away.
pub(super) async fn nothing_goes_because_an_upstream_went_back<C: Ground>(world: &World<C>) {
    const CACHE: &str = "/apis/apps/v1/namespaces/quickcache/deployments/quickcache";
    let name = "quickcache";
    says(world, &format!("wild app add {name}"), &[name]).await;
    // It may be on its way already.
    says(world, &format!("wild app deploy {name}"), &[]).await;
    world.healthy(name).await;
    let (applied, live) = (world.state(name).await.unwrap().applied, world.get(CACHE).await.unwrap());
    let identity = |live: &Value| [&live["metadata"]["uid"], &live["metadata"]["generation"]].map(Value::clone);
    let rewind = async |to: &str| {
        let mut git = std::process::Command::new("git");
        git.arg("--git-dir").arg(world.upstream.git_dir()).args(["update-ref", "refs/heads/main", to]);
        assert!(git.status().unwrap().success());
        world.handle.fetch_directories(None).await.unwrap();
    };
    let head = world.upstream.head("main").await.unwrap().unwrap();
    let log = world.upstream.log(&head, 1_000, None).await.unwrap();
    rewind(log.last().unwrap().id.as_str()).await;
    says(world, "wild directory list", &["it went back or rewrote its history"]).await;
    world.look_again(name).await;
    let preview = pipeline::preview(world.handle.instance(), &app(name), None).await.unwrap();
    assert!(preview.plan.is_some_and(|plan| plan.actions.is_empty()));
    assert_eq!(world.state(name).await.unwrap().applied, applied);
    assert_eq!(identity(&world.get(CACHE).await.unwrap()), identity(&live));
    rewind(head.as_str()).await;
    assert!(!super::wild(world, "wild directory list", "").await.contains("went back"));
    world.look_again(name).await;
    assert_eq!(identity(&world.get(CACHE).await.unwrap()), identity(&live));
}

/// §2.6: a suspension with an end ends without anybody's word.
pub(super) async fn a_suspension_ends_when_it_says<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "resting" };
    let first = plain.push(&[("config.yaml", &config("config", "1"))]).await;
    plain.done(&first).await;
    let path = plain.path("v1", "configmaps", "config");
    let until = world.handle.instance().now().plus(std::time::Duration::from_secs(SUSPENDED));
    let suspension = Suspension { reason: "a short rest".into(), until: until.to_string() };
    world.done(Request::Suspend { app: app(plain.name), suspension }).await;
    plain.stands_for("Suspended", &["a short rest"]).await;
    world.patch(&path, json!({"data": {"version": "by hand"}})).await;
    plain.until("it is put back", &path, has_version("1")).await;
    assert!(world.handle.instance().now() >= until, "it was put back while the app was suspended");
    plain.healthy().await;
}

/// §4.6: what a server would refuse anyway is refused with its file, before anything is sent.
pub(super) async fn what_is_too_large_is_refused_with_its_file<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "oversized" };
    let good = config("config", "1");
    let part = |key: &str| format!("  {key}: {}\n", "x".repeat(800_000));
    let large =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\ndata:\n{}{}", part("a"), part("b"));
    let noted = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: noted, annotations: {{note: {}}}}}\n",
        "x".repeat(270_000)
    );
    for (text, says) in [(large.as_str(), "the limit is 1536000"), (&noted, "the limit is 262144")] {
        plain.push(&[("config.yaml", &good), ("bad.yaml", text)]).await;
        let told = async || {
            let state = world.state(plain.name).await;
            state.is_some_and(|state| state.needs_you.contains("bad.yaml") && state.needs_you.contains(says))
        };
        world.until(&format!("{says} is told"), told).await;
        assert_eq!(plain.live("v1", "configmaps", "large").await, Value::Null);
    }
    let mended = plain.push(&[("config.yaml", &good)]).await;
    plain.done(&mended).await;
}

/// §8.3: what a revision brings does not make what it takes look like little, neither at once nor when it is there.
pub(super) async fn nothing_goes_because_enough_came_along<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "swapped" };
    let old: String = (0..8).map(|number| format!("{}---\n", config(&format!("old-{number}"), "1"))).collect();
    let new = |count: usize| -> String {
        (0..count).map(|number| format!("{}---\n", config(&format!("new-{number}"), "1"))).collect()
    };
    let first = plain.push(&[("all.yaml", &old)]).await;
    plain.done(&first).await;
    let stands = async |count: usize| {
        let last = plain.path("v1", "configmaps", &format!("new-{}", count - 1));
        plain.until("what came is there", &last, |live| !live.is_null()).await;
        plain.stands_for("DeletionNeedsApproval", &["8 of 9 objects would be deleted"]).await;
        for _ in 0..2 {
            world.look_again(plain.name).await;
        }
        plain.stands_for("DeletionNeedsApproval", &["8 of 9 objects would be deleted"]).await;
        for number in 0..8 {
            assert!(!plain.uid(&plain.path("v1", "configmaps", &format!("old-{number}"))).await.is_null());
        }
    };
    // One thing in place of all, then so many that eight are a small part of them.
    plain.push(&[("all.yaml", &new(1))]).await;
    stands(1).await;
    plain.push(&[("all.yaml", &new(80))]).await;
    stands(80).await;
    // Neither does a revision in between that nobody can read.
    plain.push(&[("all.yaml", "kind: [")]).await;
    plain.stands_for("Unreadable", &[]).await;
    plain.push(&[("all.yaml", &new(80))]).await;
    stands(80).await;
    let hint = world.state(plain.name).await.unwrap().hint;
    says(world, &hint, &["deleted     ConfigMap/old-7"]).await;
    // What stood then counts no more: of what is there now a few may go.
    let fewer = plain.push(&[("all.yaml", &new(76))]).await;
    plain.done(&fewer).await;
    plain.until("it is gone", &plain.path("v1", "configmaps", "new-79"), Value::is_null).await;
}
