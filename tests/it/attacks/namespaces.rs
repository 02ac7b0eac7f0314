//! Namespaces that are nobody's and the system's: an app enters one with a grant on record and in no other way, by whatever door.
//!
//! The doors are its name, its config, its files, an update of its package, a hook, a race and what the store forgot.

use rewild::model::{DataFate, OperationOutcome, Request};
use serde_json::{Value, json};

use crate::both::{Plain, config, says, wild};
use crate::line::{add, deploy, update};
use crate::proxy::{Fault, Proxy, To};
use crate::world::{World, app};

/// The namespaces of the system that a sandbox has.
const SYSTEM: [&str; 2] = ["default", "kube-system"];

async fn start() -> World {
    World::start(&["stonedb 15.5"]).await
}

/// Makes a namespace as somebody else does.
async fn make(world: &World, name: &str) {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    world.make("/api/v1/namespaces", body).await;
}

/// Returns the labels and annotations of a namespace.
async fn marks(world: &World, name: &str) -> (Value, Value) {
    let metadata = world.get(&format!("/api/v1/namespaces/{name}")).await.unwrap_or_default()["metadata"].clone();
    (metadata["labels"].clone(), metadata["annotations"].clone())
}

/// Returns a config map; null if it is not there.
async fn config_in(world: &World, namespace: &str, name: &str) -> Value {
    world.get(&format!("/api/v1/namespaces/{namespace}/configmaps/{name}")).await.unwrap_or_default()
}

/// Waits until an app stands still for a grant and says this.
async fn shut(world: &World, name: &'static str, told: &str) {
    Plain { world, name }.stands_for("GrantMissing", &[told]).await;
}

/// Checks that nothing of ours is in a namespace or on it.
async fn untouched(world: &World, namespace: &str) {
    let (labels, annotations) = marks(world, namespace).await;
    assert!(labels["rewild.dev/instance"].is_null() && annotations.is_null(), "{namespace}: {labels} {annotations}");
    let list = world.get(&format!("/api/v1/namespaces/{namespace}/configmaps")).await.unwrap();
    let items = list["items"].as_array().unwrap();
    let ours = items.iter().filter(|item| !item["metadata"]["labels"]["rewild.dev/app"].is_null());
    assert_eq!(ours.count(), 0, "{list}");
}

async fn grant(world: &World, name: &str, namespaces: &str) {
    world.set(&format!("apps: {{{name}: {{grants: {{namespaces: [{namespaces}]}}}}}}\n")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_app_is_called_as_the_system_is_whoever_brings_it() {
    let world = start().await;
    let before = world.head().await;
    for name in ["kube-system", "kube-cache", "default", "wild-system"] {
        let told = [&format!("the name {name} is the system's"), "try: wild app add quickcache --as "];
        says(&world, &format!("wild app add quickcache --as {name}"), &told).await;
        says(&world, &format!("wild app add quickcache --as {name} --deploy --set namespace=cache"), &told).await;
    }
    says(&world, "wild app add quickcache --as Default", &["must begin and end with a lower-case letter"]).await;
    assert_eq!(world.head().await, before, "nothing is committed of what is refused");
    // A person who pushes it is told as well, whatever namespace its objects name.
    for (name, namespace) in [("kube-cache", "kube-cache"), ("default", "cache"), ("wild-system", "wild-system")] {
        let plain = Plain { world: &world, name };
        plain.push_into(namespace, &[("config.yaml", &config("config", "1"))]).await;
        shut(&world, name, &format!("the name {name} is the system's")).await;
        assert!(config_in(&world, namespace, "config").await.is_null(), "{name}");
    }
    assert!(world.get("/api/v1/namespaces/kube-cache").await.is_none());
    says(&world, "wild app deploy kube-cache --adopt", &["add kube-cache to apps.kube-cache.grants.namespaces"]).await;
    assert!(!world.file("main", ".wild/config.yaml").await.unwrap().contains("grants"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_of_the_system_is_entered_by_the_word_of_its_owner_alone() {
    let world = start().await;
    let before = world.head().await;
    for namespace in SYSTEM {
        let told =
            [&format!("enters namespace {namespace}, which is the system's"), "apps.quickcache.grants.namespaces"];
        says(&world, &format!("wild app add quickcache --deploy --set namespace={namespace}"), &told).await;
    }
    assert_eq!(world.head().await, before);
    world.done(add("quickcache", &[])).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    let added = world.head().await;
    for namespace in SYSTEM {
        let told = [&format!("enters namespace {namespace}, which is the system's")];
        says(&world, &format!("wild app config quickcache set namespace={namespace}"), &[told[0]]).await;
    }
    assert_eq!(world.head().await, added);
    // What is pushed is judged before it is applied, and what runs stays as it is.
    for namespace in SYSTEM {
        world.edit("config.yaml", "namespace: quickcache", &format!("namespace: {namespace}")).await;
        shut(&world, "quickcache", &format!("namespace {namespace} is the system's")).await;
        says(
            &world,
            "wild app deploy quickcache --adopt",
            &[&format!("add {namespace} to apps.quickcache.grants.namespaces")],
        )
        .await;
        says(&world, "wild plan quickcache", &["GrantMissing", &format!("namespace {namespace} is the system's")])
            .await;
        untouched(&world, namespace).await;
        assert!(world.get("/apis/apps/v1/namespaces/quickcache/deployments/quickcache").await.is_some());
        world.edit("config.yaml", &format!("namespace: {namespace}"), "namespace: quickcache").await;
        world.healthy("quickcache").await;
    }
    assert!(
        !world.file("main", ".wild/config.yaml").await.unwrap().contains("grants"),
        "nobody but its owner writes that"
    );
    let plain = Plain { world: &world, name: "addon" };
    plain.push_into("kube-system", &[("config.yaml", &config("addon", "1"))]).await;
    shut(&world, "addon", "namespace kube-system is the system's").await;
    grant(&world, "addon", "kube-system").await;
    world.healthy("addon").await;
    assert_eq!(config_in(&world, "kube-system", "addon").await["data"]["version"], json!("1"));
    // It goes again, and what it was let into stays.
    world.done(Request::Delete { app: app("addon"), data: DataFate::DeleteNow }).await;
    world.until("addon is gone", async || world.state("addon").await.is_none()).await;
    world.until("its object is gone", async || config_in(&world, "kube-system", "addon").await.is_null()).await;
    assert!(world.get("/api/v1/namespaces/kube-system").await.is_some());
    untouched(&world, "kube-system").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_among_many_enters_no_namespace_but_its_own() {
    let world = start().await;
    let plain = Plain { world: &world, name: "blog" };
    make(&world, "shared").await;
    let list = "resources: [own.yaml, others.yaml]\n";
    let push = async |others: &str| {
        let own: String = ["a", "b", "c"]
            .map(|name| config(name, "1").replace(&format!("name: {name}"), &format!("name: {name}, namespace: blog")))
            .join("---\n");
        let files = [("kustomization", list), ("own", &own), ("others", others)];
        let files = files.map(|(file, text)| (format!("apps/blog/{file}.yaml"), text.to_owned()));
        let changes: Vec<(&str, Option<&str>)> =
            files.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
        world.push("files", &changes).await
    };
    let one = |namespace: &str| config("x", "1").replace("name: x", &format!("name: x, namespace: {namespace}"));
    let namespace =
        |name: &str, more: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}{more}}}\n");
    let wrapped =
        format!("apiVersion: v1\nkind: List\nitems:\n- {}", one("kube-system").trim_end().replace('\n', "\n  "));
    for (others, told) in [
        (one("shared"), "ConfigMap/x lies in namespace shared"),
        (one("kube-system"), "ConfigMap/x lies in namespace kube-system"),
        (wrapped, "ConfigMap/x lies in namespace kube-system"),
        (namespace("shared", ""), "Namespace/shared lies outside namespaces"),
        // A namespace lies in none, whatever it says.
        (
            namespace("kube-system", ", namespace: blog, labels: {pod-security.kubernetes.io/enforce: privileged}"),
            "Namespace/kube-system",
        ),
    ] {
        push(&others).await;
        shut(&world, "blog", told).await;
        untouched(&world, "shared").await;
        untouched(&world, "kube-system").await;
    }
    // Who may bring namespaces brings neither somebody's nor the system's.
    world.set("apps: {blog: {grants: {kinds: [Namespace]}}}\n").await;
    for (name, told) in [("shared", "was not made by blog"), ("kube-system", "is the system's")] {
        push(&namespace(name, ", labels: {pod-security.kubernetes.io/enforce: privileged}")).await;
        shut(&world, "blog", told).await;
        untouched(&world, name).await;
    }
    push(&namespace("blog-jobs", "")).await;
    plain.healthy().await;
    assert!(world.get("/api/v1/namespaces/blog-jobs").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_made_is_entered_by_a_grant_that_adopting_writes() {
    let world = start().await;
    make(&world, "shared").await;
    says(&world, "wild app add quickcache --set namespace=shared", &["Nothing runs yet"]).await;
    let added = world.head().await;
    says(
        &world,
        "wild app deploy quickcache --adopt --dry-run",
        &["quickcache may write into shared, which it did not make", "~ .wild/config.yaml", "Nothing was changed."],
    )
    .await;
    assert_eq!(world.head().await, added);
    untouched(&world, "shared").await;
    let refused = wild(&world, "wild app deploy quickcache", "").await;
    assert!(refused.contains("namespace shared is there already and was not made by quickcache"), "{refused}");
    assert!(refused.contains("try: wild app deploy quickcache --adopt"), "{refused}");
    let told = ["GrantMissing", "--adopt writes shared into apps.quickcache.grants.namespaces"];
    says(&world, "wild plan quickcache", &told).await;
    untouched(&world, "shared").await;
    let before = world.head().await;
    says(&world, "wild app deploy quickcache --adopt", &["quickcache may write into shared"]).await;
    world.healthy("quickcache").await;
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    assert!(settings.contains("shared"), "{settings}");
    let (_, commits) = world.git(&["log", "--format=%s", &format!("{}..main", before.as_str())]);
    assert_eq!(commits.lines().count(), 1, "the grant is one commit: {commits}");
    let (_, annotations) = marks(&world, "shared").await;
    assert_eq!(annotations["rewild.dev/entered"], json!("granted"));
    // It goes with its data, and what was there before it stays.
    world.done(Request::Delete { app: app("quickcache"), data: DataFate::DeleteNow }).await;
    world.until("quickcache is gone", async || world.state("quickcache").await.is_none()).await;
    untouched(&world, "shared").await;
    assert!(!world.file("main", ".wild/config.yaml").await.unwrap().contains("shared"), "a later app inherits it");
    says(&world, "wild app add quickcache --set namespace=shared --deploy", &["was not made by quickcache"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_enters_what_is_there_by_the_same_word_as_deploying() {
    let world = start().await;
    make(&world, "shared").await;
    let refused = wild(&world, "wild app add quickcache --set namespace=shared --deploy", "").await;
    assert!(refused.contains("was not made by quickcache"), "{refused}");
    assert!(refused.contains("try: wild app deploy quickcache --adopt"), "{refused}");
    untouched(&world, "shared").await;
    let head = world.head().await;
    let line = "wild app add quickcache --as cache --set namespace=shared";
    let unfit = wild(&world, &format!("{line} --adopt"), "").await;
    assert!(unfit.contains("--deploy"), "adopting without deploying says what is missing: {unfit}");
    says(&world, &format!("{line} --deploy --adopt --dry-run"), &["Nothing was changed."]).await;
    assert_eq!(world.head().await, head);
    untouched(&world, "shared").await;
    let told = ["wrote apps/cache", "cache may write into shared"];
    says(&world, &format!("{line} --deploy --adopt"), &told).await;
    world.healthy("cache").await;
    assert_eq!(marks(&world, "shared").await.1["rewild.dev/entered"], json!("granted"));
    // No word lets anything into what belongs to the system.
    for namespace in ["kube-system", "wild-system"] {
        let line = format!("wild app add quickcache --as late --set namespace={namespace} --deploy --adopt");
        let refused = wild(&world, &line, "").await;
        assert!(refused.contains(namespace) && refused.contains("try: "), "{refused}");
        assert!(!refused.contains("may write into"), "{refused}");
        if world.state("late").await.is_some() {
            assert!(config_in(&world, namespace, "late").await.is_null());
            world.done(Request::Delete { app: app("late"), data: DataFate::DeleteNow }).await;
            world.until("late is gone", async || world.state("late").await.is_none()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_deployment_and_its_grant_are_one_commit() {
    let world = start().await;
    make(&world, "quickcache").await;
    world.done(add("quickcache", &[])).await;
    let before = world.head().await;
    let request = Request::Deploy { app: app("quickcache"), approve: None, recreate: Vec::new(), adopt: true };
    let adopted = world.done(request.clone()).await;
    assert_eq!(adopted.outcome, Some(OperationOutcome::Changed));
    world.healthy("quickcache").await;
    let (_, commits) = world.git(&["log", "--format=%s", &format!("{}..main", before.as_str())]);
    assert_eq!(commits.trim(), "feat(quickcache): deploy 7.0, adopt namespace quickcache");
    // Said once more it says nothing new.
    let head = world.head().await;
    world.done(request).await;
    assert_eq!(world.head().await, head);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_another_app_or_another_tool_is_entered_by_no_adoption() {
    let world = start().await;
    world.done(add("quickcache", &[])).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    let flux = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fluxed",
        "labels": {"kustomize.toolkit.fluxcd.io/name": "theirs"}}});
    world.make("/api/v1/namespaces", flux).await;
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other",
        "labels": {"rewild.dev/instance": "aaaaaaaaaa", "rewild.dev/app": "blog"}}});
    world.make("/api/v1/namespaces", other).await;
    for (namespace, whose) in [
        ("quickcache", "belongs to app quickcache"),
        ("fluxed", "belongs to Flux, by its label"),
        ("other", "belongs to Rewild instance aaaaaaaaaa"),
    ] {
        let before = marks(&world, namespace).await;
        Plain { world: &world, name: "blog" }.push_into(namespace, &[("config.yaml", &config("blog", "1"))]).await;
        shut(&world, "blog", &format!("namespace {namespace} {whose}")).await;
        let hint = format!("add {namespace} to apps.blog.grants.namespaces in .wild/config.yaml");
        says(&world, "wild app deploy blog --adopt", &[&hint]).await;
        assert!(config_in(&world, namespace, "blog").await.is_null());
        assert_eq!(marks(&world, namespace).await, before);
    }
    assert!(!world.file("main", ".wild/config.yaml").await.unwrap().contains("grants"));
    // Its owner may say so; the namespace stays with whom it belongs to.
    grant(&world, "blog", "other").await;
    world.healthy("blog").await;
    assert_eq!(config_in(&world, "other", "blog").await["data"]["version"], json!("1"));
    assert_eq!(marks(&world, "other").await.0["rewild.dev/instance"], json!("aaaaaaaaaa"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_upstream_moves_no_app_into_what_is_not_its_own() {
    let world = start().await;
    make(&world, "shared").await;
    world.done(add("quickcache", &[])).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    let (_, first) = world.git(&["rev-parse", "main"]);
    for (version, namespace, told) in [
        ("7.1", "kube-system", "namespace kube-system is the system's"),
        ("7.2", "shared", "namespace shared is there already and was not made by quickcache"),
    ] {
        let file = |path: &str| format!("quickcache/{path}");
        let change = async |path: &str, from: &str, to: &str| {
            let replaced = |text: &str| {
                assert!(text.contains(from), "{text}");
                text.replace(from, to)
            };
            crate::commits::change(&world.upstream, "main", ("move", &file(path)), replaced).await
        };
        let (old, before) = if version == "7.1" { ("7.0", "{{ .namespace }}") } else { ("7.1", "kube-system") };
        change("manifest.yaml", &format!("version: \"{old}\""), &format!("version: \"{version}\"")).await;
        change("kustomization.yaml", &format!("namespace: {before}"), &format!("namespace: {namespace}")).await;
        world.fetch().await;
        world.ask(update("quickcache")).await;
        shut(&world, "quickcache", told).await;
        untouched(&world, namespace).await;
        assert!(world.get("/apis/apps/v1/namespaces/quickcache/deployments/quickcache").await.is_some());
    }
    let to = rewild::model::CommitId::parse(first.trim()).unwrap();
    let back = Request::Rollback { app: app("quickcache"), to, reason: "moved".into(), undoes: None };
    world.done(back).await;
    world.healthy("quickcache").await;
    untouched(&world, "shared").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_app_made_it_enters_again_whatever_was_lost_meanwhile() {
    let mut world = start().await;
    world.done(add("quickcache", &[])).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    world.restart_without_store().await;
    world.healthy("quickcache").await;
    world.restart_without_key_and_store().await;
    world.healthy("quickcache").await;
    // It goes and leaves its namespace, in which it is at home when it comes back, and nobody else is.
    world.done(Request::Delete { app: app("quickcache"), data: DataFate::Keep }).await;
    world.until("quickcache is gone", async || world.state("quickcache").await.is_none()).await;
    let (labels, annotations) = marks(&world, "quickcache").await;
    assert!(labels["rewild.dev/app"].is_null() && annotations["rewild.dev/hash"].is_null(), "{labels} {annotations}");
    Plain { world: &world, name: "heir" }.push_into("quickcache", &[("config.yaml", &config("heir", "1"))]).await;
    shut(&world, "heir", "namespace quickcache is there already and was not made by heir").await;
    assert!(config_in(&world, "quickcache", "heir").await.is_null());
    world.push("no heir", &[("apps/heir/kustomization.yaml", None), ("apps/heir/config.yaml", None)]).await;
    world.restart_without_store().await;
    world.done(add("quickcache", &[])).await;
    world.done(deploy("quickcache")).await;
    world.healthy("quickcache").await;
    assert!(!world.file("main", ".wild/config.yaml").await.unwrap().contains("grants"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_taken_back_lets_nothing_more_in() {
    let mut world = start().await;
    make(&world, "shared").await;
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    grant(&world, "blog", "shared").await;
    let push = async |world: &World, version: &str| {
        Plain { world, name: "blog" }.push_into("shared", &[("config.yaml", &config("blog", version))]).await
    };
    push(&world, "1").await;
    world.healthy("blog").await;
    for is_lost in [false, true] {
        world.push("taken back", &[(".wild/config.yaml", Some(&settings))]).await;
        shut(&world, "blog", "namespace shared is there already and was not made by blog").await;
        if is_lost {
            world.restart_without_store().await;
        }
        push(&world, if is_lost { "3" } else { "2" }).await;
        shut(&world, "blog", "namespace shared is there already and was not made by blog").await;
        let version = config_in(&world, "shared", "blog").await["data"]["version"].clone();
        assert_eq!(version, json!(if is_lost { "2" } else { "1" }), "{is_lost}");
        says(&world, "wild app deploy blog --adopt", &["blog may write into shared"]).await;
        world.healthy("blog").await;
    }
    assert_eq!(config_in(&world, "shared", "blog").await["data"]["version"], json!("3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_appears_between_plan_and_apply_is_handed_back() {
    const LATE: &str = "/api/v1/namespaces/late";
    let mut world = start().await;
    let proxy = Proxy::start(world.cluster.url()).await;
    world.restart_through(proxy.url()).await;
    proxy.spoil(To::WritesOf(LATE), Fault::Delay, 1);
    let plain = Plain { world: &world, name: "late" };
    plain.push(&[("config.yaml", &config("late", "1"))]).await;
    world.until("it is about to be made", async || proxy.hits() == 1).await;
    make(&world, "late").await;
    proxy.release();
    shut(&world, "late", "namespace late is there already and was not made by late").await;
    untouched(&world, "late").await;
    says(&world, "wild app deploy late --adopt", &["late may write into late"]).await;
    world.healthy("late").await;
    // One that we made and heard nothing of is ours.
    proxy.spoil(To::WritesOf("/api/v1/namespaces/unheard"), Fault::LoseAnswer, 2);
    Plain { world: &world, name: "unheard" }.push(&[("config.yaml", &config("unheard", "1"))]).await;
    world.healthy("unheard").await;
    assert!(proxy.hits() > 0);
    assert!(marks(&world, "unheard").await.1["rewild.dev/entered"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_a_person_made_anew_is_not_the_one_that_we_made() {
    let world = start().await;
    let plain = Plain { world: &world, name: "blog" };
    plain.push(&[("config.yaml", &config("blog", "1"))]).await;
    plain.healthy().await;
    world.set("apps: {blog: {suspend: {reason: moving}}}\n").await;
    plain.stands_for("Suspended", &["moving"]).await;
    world.try_delete("/api/v1/namespaces/blog").await;
    world.until("it is gone", async || world.get("/api/v1/namespaces/blog").await.is_none()).await;
    make(&world, "blog").await;
    world.edit(".wild/config.yaml", "apps: {blog: {suspend: {reason: moving}}}\n", "").await;
    shut(&world, "blog", "namespace blog is there already and was not made by blog").await;
    untouched(&world, "blog").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hook_runs_where_its_app_may_not_write() {
    let world = start().await;
    let hook = |name: &str, moment: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, namespace: kube-system, annotations: {{rewild.dev/hook: {moment}}}}}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: run, image: \"registry.example.invalid/run:1\"}}]}}}}}}\n"
        )
    };
    let refused = "apiVersion: v1\nkind: Service\nmetadata: {name: bad, namespace: blog}\nspec: {ports: [{port: 0}]}\n";
    let own: String = ["a", "b", "c", "d"]
        .map(|name| config(name, "1").replace(&format!("name: {name}"), &format!("name: {name}, namespace: blog")))
        .join("---\n");
    let hooks = [("rescue", "on-failure"), ("before", "pre-delete"), ("after", "post-delete")]
        .map(|(name, moment)| hook(name, moment));
    let list = "resources: [own.yaml, bad.yaml, hooks.yaml]\n";
    world
        .push(
            "an app with hooks elsewhere",
            &[
                ("apps/blog/kustomization.yaml", Some(list)),
                ("apps/blog/own.yaml", Some(&own)),
                ("apps/blog/bad.yaml", Some(refused)),
                ("apps/blog/hooks.yaml", Some(&hooks.join("---\n"))),
            ],
        )
        .await;
    let jobs = async || world.get("/apis/batch/v1/namespaces/kube-system/jobs").await.unwrap()["items"].clone();
    world
        .until("it failed", async || {
            world
                .state("blog")
                .await
                .is_some_and(|state| state.reason == "ApplyFailed" || state.reason == "GrantMissing")
        })
        .await;
    world.look_again("blog").await;
    world.look_again("blog").await;
    assert_eq!(jobs().await, json!([]));
    world.done(Request::Delete { app: app("blog"), data: DataFate::Keep }).await;
    world.until("blog is gone", async || world.state("blog").await.is_none()).await;
    assert_eq!(jobs().await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_somebody_elses_namespace_is_not_ended_for_it() {
    let world = start().await;
    world.set("recovery: {after: 0s}\n").await;
    let held = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs", "finalizers": ["example.org/hold"]}});
    world.make_as("kubectl-edit", "/api/v1/namespaces", held).await;
    world.try_delete("/api/v1/namespaces/theirs").await;
    Plain { world: &world, name: "blog" }.push_into("theirs", &[("config.yaml", &config("blog", "1"))]).await;
    shut(&world, "blog", "namespace theirs is there already and was not made by blog").await;
    world.look_again("blog").await;
    world.look_again("blog").await;
    let live = world.get("/api/v1/namespaces/theirs").await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(["example.org/hold"]));
}
