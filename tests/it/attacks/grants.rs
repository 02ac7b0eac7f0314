//! Pushes that bring a grant along with what it is for: whoever reviews the one overlooks the other, so a person is asked.
//!
//! Not here: grants by themselves (`consent.rs`).

use serde_json::json;

use super::consent::{chat, held, is_at, value, wild, world};
use crate::line::{add, deploy};
use crate::world::World;

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/wide";

/// Files of an app that brings a role for the whole cluster, and the settings that allow it.
async fn files(world: &World, grants: &str) -> [(String, String); 3] {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: wide}\nrules:\n- {apiGroups: [\"\"], resources: [configmaps], verbs: [get]}\n";
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: b}\n";
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let (head, _) = settings.split_once("apps:").unwrap_or((&settings, ""));
    [
        ("apps/wide/kustomization.yaml".to_owned(), "namespace: wide\nresources: [all.yaml]\n".to_owned()),
        ("apps/wide/all.yaml".to_owned(), format!("{role}{map}")),
        (".wild/config.yaml".to_owned(), format!("{head}apps:\n  wide:\n    grants: {{{grants}}}\n")),
    ]
}

async fn push(world: &World, message: &str, files: &[(String, String)]) {
    let files: Vec<(&str, Option<&str>)> =
        files.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    world.push(message, &files).await;
}

/// Waits until an app is held back because a push granted it something along with its use.
async fn waits(world: &World, name: &str) {
    held(world, name, "and brings what that is for along").await;
    let hint = world.state(name).await.unwrap().hint;
    assert!(hint.starts_with(&format!("wild operation approve --app {name} --plan ")), "{hint}");
}

/// Types what is printed to agree to what waits of an app.
async fn approve(world: &World, name: &str) {
    let hint = world.state(name).await.unwrap().hint;
    let (code, out) = wild(world, &hint).await;
    assert_eq!(code, 0, "{hint}: {out:?}");
}

async fn exists(world: &World, path: &str) -> bool {
    world.get(path).await.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_comes_with_its_own_grant_is_applied_after_a_word_and_not_before() {
    let mut world = World::start(&["stonedb 15.4"]).await;
    push(&world, "an app and what it may", &files(&world, "kinds: [ClusterRole]").await).await;
    waits(&world, "wide").await;
    assert!(!exists(&world, ROLE).await && !exists(&world, "/api/v1/namespaces/wide/configmaps/plain").await);
    let (code, out) = wild(&world, "wild app deploy wide").await;
    assert_eq!(code, 6, "{out:?}");
    // It is still known after a restart.
    world.restart().await;
    world.look_again("wide").await;
    waits(&world, "wide").await;
    assert!(!exists(&world, ROLE).await);
    // What changes meanwhile is another thing to agree to.
    let operations = async |world: &World| {
        let instance = world.handle.instance();
        let all = instance.store.operations(&instance.id, &Default::default()).await.unwrap();
        all.into_iter().filter(|it| it.verb == "grant").map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    let seen = operations(&world).await;
    let hint = world.state("wide").await.unwrap().hint;
    world.edit("apps/wide/all.yaml", "verbs: [get]", "verbs: [get, delete]").await;
    world.until("it waits anew", async || operations(&world).await.len() > seen.len()).await;
    world.until("that is told", async || world.state("wide").await.unwrap().hint != hint).await;
    let (code, out) = wild(&world, &format!("wild operation approve {}", seen[0])).await;
    assert_eq!(code, 6, "{out:?}");
    assert!(!exists(&world, ROLE).await);
    assert!(out.notes.contains("it waits for another plan by now: a push grants wide kinds: ClusterRole"), "{out:?}");
    approve(&world, "wide").await;
    world.healthy("wide").await;
    assert!(exists(&world, ROLE).await);
    // Agreed is once; what comes later under the same grant is an ordinary change.
    world.edit("apps/wide/all.yaml", "{a: b}", "{a: c}").await;
    world
        .until("it is applied", async || {
            world.get("/api/v1/namespaces/wide/configmaps/plain").await.unwrap()["data"]["a"] == "c"
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_comes_before_or_after_what_it_is_for_needs_no_second_word() {
    let world = World::start(&["stonedb 15.4"]).await;
    let [kustomization, all, settings] = files(&world, "kinds: [ClusterRole]").await;
    push(&world, "an app", &[kustomization, all]).await;
    held(&world, "wide", "lies outside namespaces").await;
    push(&world, "what it may", std::slice::from_ref(&settings)).await;
    world.healthy("wide").await;
    assert!(exists(&world, ROLE).await);
    // The other way round, for an app that is not there yet.
    let path = |path: &str| path.replace("wide", "broad");
    let own: Vec<(String, String)> = files(&world, "kinds: [ClusterRole]")
        .await
        .into_iter()
        .take(2)
        .map(|(at, text)| (path(&at), path(&text)))
        .collect();
    let seen = world.head().await;
    push(
        &world,
        "what another one may",
        &[(settings.0, format!("{}  broad:\n    grants: {{kinds: [ClusterRole]}}\n", settings.1))],
    )
    .await;
    world
        .until("the push is seen", async || {
            world.status(&world.head().await, "wild/deploy").await.is_some() && world.head().await != seen
        })
        .await;
    push(&world, "another app", &own).await;
    world.healthy("broad").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_commits_of_one_push_are_one_push() {
    let world = World::start(&["stonedb 15.4"]).await;
    let [kustomization, all, settings] = files(&world, "kinds: [ClusterRole]").await;
    let write =
        |(path, text): &(String, String)| format!("mkdir -p $(dirname {path})\ncat > {path} <<'EOT'\n{text}EOT\n");
    let script = format!(
        "{}{}git add . && git commit -qm 'an app'\n{}git commit -qam 'what it may'\ngit push -q",
        write(&kustomization),
        write(&all),
        write(&settings)
    );
    world.in_a_clone(&script);
    waits(&world, "wide").await;
    assert!(!exists(&world, ROLE).await);
    // The grant goes again: nothing waits for a word any more, and nothing is allowed.
    let text = settings.1.replace("kinds: [ClusterRole]", "");
    push(&world, "it may not", &[(settings.0, text)]).await;
    held(&world, "wide", "lies outside namespaces").await;
    assert!(!exists(&world, ROLE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_agrees_to_what_was_pushed_after_they_looked() {
    let world = World::start(&["stonedb 15.4"]).await;
    push(&world, "an app and what it may", &files(&world, "kinds: [ClusterRole]").await).await;
    waits(&world, "wide").await;
    let seen = world.state("wide").await.unwrap().hint;
    let (_, out) = wild(&world, "wild plan wide").await;
    assert!(out.data.contains("ClusterRole/wide waits for a word: get on configmaps"), "{out:?}");

    // What was looked at is not what waits by now, in any form of the command.
    world.edit("apps/wide/all.yaml", "resources: [configmaps], verbs: [get]", "resources: ['*'], verbs: ['*']").await;
    world.until("it waits anew", async || world.state("wide").await.unwrap().hint != seen).await;
    let now = world.state("wide").await.unwrap();
    let other = "it waits for another plan by now: a push grants wide kinds: ClusterRole";
    let mine = "and brings what that is for along; the plan is";
    for (line, because) in [
        (&*seen, other),
        ("wild operation approve --app wide --plan 0123456789abcdef", other),
        ("wild operation approve --app wide", mine),
        ("wild operation approve", mine),
    ] {
        let (code, out) = wild(&world, line).await;
        assert_eq!(code, 6, "{line}: {out:?}");
        assert!(out.notes.contains(because), "{line}: {out:?}");
        assert!(!exists(&world, ROLE).await, "{line}");
    }
    let (_, out) = wild(&world, "wild operation approve --app wide").await;
    assert!(out.notes.contains(&now.hint), "what is said to help is what waits: {out:?}");
    let (_, out) = wild(&world, "wild plan wide").await;
    assert!(out.data.contains("ClusterRole/wide waits for a word: * on *"), "{out:?}");
    approve(&world, "wide").await;
    world.healthy("wide").await;
    assert!(exists(&world, ROLE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_not_copied_for_a_push_that_asks_and_grants_in_one() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    chat(&world).await;
    let asks =
        "version: '2'\nrequires: [{name: stonedb, alias: db, installedAs: stonedb}]\nrequiredSecrets: [db.password]\n";
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let grants = format!("{settings}apps:\n  chat:\n    grants: {{secrets: [stonedb.password]}}\n");
    let files = [("apps/chat/manifest.yaml".to_owned(), asks.to_owned()), (".wild/config.yaml".to_owned(), grants)];
    push(&world, "both at once", &files).await;
    waits(&world, "chat").await;
    is_at(&world, &wanted, &[]).await;
    // No command that makes values takes the grant for given.
    wild(&world, "wild secret generate apps.chat.dbPassword").await;
    is_at(&world, &wanted, &[]).await;
    approve(&world, "chat").await;
    is_at(&world, &wanted, &["secrets.yaml apps.chat.dbPassword", "Secret chat/chat-secrets db.password"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trailer_of_a_request_that_is_copied_makes_no_request() {
    let world = World::start(&["quickcache 7.0"]).await;
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    let (_, log) = world.git(&["log", "-1", "--format=%(trailers:key=Wild-Operation,valueonly)", "main"]);
    let operation = log.trim().to_owned();
    assert!(!operation.is_empty());
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let script = format!(
        "printf 'apps:\\n  stonedb:\\n    grants: {{kinds: [ClusterRole]}}\\n' >> .wild/config.yaml\n\
         printf -- '---\\napiVersion: rbac.authorization.k8s.io/v1\\nkind: ClusterRole\\nmetadata: {{name: wide}}\\nrules: []\\n' >> apps/stonedb/service.yaml\n\
         git -c user.name=wild -c user.email=wild@localhost commit -qam 'feat(stonedb): deploy\n\nWild-App: stonedb\nWild-Operation: {operation}'\ngit push -q"
    );
    assert!(!settings.contains("apps:"));
    world.in_a_clone(&script);
    waits(&world, "stonedb").await;
    assert!(!exists(&world, ROLE).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_push_brings_while_nobody_looks_waits_as_well() {
    let mut world = World::start(&["stonedb 15.4"]).await;
    push(&world, "nothing special", &[("README.md".to_owned(), "hi\n".to_owned())]).await;
    let head = world.head().await;
    world.until("it is seen", async || world.status(&head, "wild/deploy").await.is_some()).await;
    world.stop().await;
    push(&world, "an app and what it may", &files(&world, "kinds: [ClusterRole]").await).await;
    world.restart().await;
    waits(&world, "wide").await;
    assert!(!exists(&world, ROLE).await);
}

/// What a namespace of others and the app that is after it are called.
const THEIRS: &str = "theirs";
const JOBS: &str = "/apis/batch/v1/namespaces/theirs/jobs";

/// Makes a namespace that is somebody else's, and returns the files of an app that wants to run a Job there at a moment.
async fn with_hook(world: &World, moment: &str) -> Vec<(String, String)> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": THEIRS}});
    world.make_as("kubectl-edit", "/api/v1/namespaces", namespace).await;
    let hook = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: run, namespace: {THEIRS}, annotations: {{rewild.dev/hook: {moment}}}}}\n\
         spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: run, image: \"registry.example.invalid/run:1\"}}]}}}}}}\n"
    );
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: wide}\ndata: {a: b}\n";
    [("kustomization", "resources: [map.yaml, hook.yaml]\n"), ("map", map), ("hook", &hook)]
        .map(|(file, text)| (format!("apps/wide/{file}.yaml"), text.to_owned()))
        .to_vec()
}

/// Returns the settings that let the app into the namespace.
async fn let_in(world: &World) -> (String, String) {
    let [.., settings] = files(world, &format!("namespaces: [{THEIRS}]")).await;
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_granted_to_no_last_hook_and_waits_again_when_the_app_comes_back() {
    let world = World::start(&["stonedb 15.4"]).await;
    let own = with_hook(&world, "post-delete").await;
    let both: Vec<(String, String)> = own.iter().cloned().chain([let_in(&world).await]).collect();
    push(&world, "an app and where it may go", &both).await;
    waits(&world, "wide").await;
    let gone: Vec<(&str, Option<&str>)> = own.iter().map(|(path, _)| (path.as_str(), None)).collect();
    world.push("no wide\n\nWild-Delete: wide\nWild-Delete-Data: delete", &gone).await;
    world.until("the app is forgotten", async || world.state("wide").await.is_none()).await;
    assert_eq!(world.get(JOBS).await.unwrap()["items"], json!([]));
    push(&world, "it comes back", &own).await;
    waits(&world, "wide").await;
    assert!(!exists(&world, "/api/v1/namespaces/wide/configmaps/plain").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hook_for_failures_runs_by_a_grant_that_waits() {
    let world = World::start(&["stonedb 15.4"]).await;
    let own = with_hook(&world, "on-failure").await;
    let alone = [
        ("apps/wide/kustomization.yaml".to_owned(), "resources: [map.yaml]\n".to_owned()),
        (own[1].0.clone(), own[1].1.replace("{a: b}", "{\"bad key\": x}")),
    ];
    push(&world, "an app that the cluster refuses", &alone).await;
    held(&world, "wide", "bad key").await;
    let hook = [own[0].clone(), own[2].clone(), let_in(&world).await];
    push(&world, "a hook for that, and where it may go", &hook).await;
    waits(&world, "wide").await;
    world.look_again("wide").await;
    world.look_again("wide").await;
    assert_eq!(world.get(JOBS).await.unwrap()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_comes_with_another_identity_is_for_that() {
    let world = World::start(&["stonedb 15.4"]).await;
    let [kustomization, all, (path, settings)] = files(&world, "kinds: [ClusterRole]").await;
    push(&world, "an app", &[kustomization, all]).await;
    held(&world, "wide", "lies outside namespaces").await;
    let settings = settings.replace("  wide:\n", "  wide:\n    identity: impersonate\n");
    push(&world, "as whom, and what", &[(path, settings)]).await;
    waits(&world, "wide").await;
    assert!(!exists(&world, ROLE).await);
}

/// Where the thief's copy of a Secret would be.
fn copy(name: &str) -> String {
    format!("/api/v1/namespaces/thief/secrets/{name}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shared_along_with_its_use_waits_and_is_a_certificate_of_nobody_else() {
    let world = World::start(&["stonedb 15.4"]).await;
    let secrets = [
        ("victim", "db-secrets", "Opaque", json!({"password": "YmlyY2g="})),
        ("kube-system", "root-tls", "kubernetes.io/tls", json!({"tls.crt": "YQ==", "tls.key": "Yg=="})),
        ("kube-system", "bootstrap", "bootstrap.kubernetes.io/token", json!({"token-secret": "YQ=="})),
        ("certs", "site-tls", "kubernetes.io/tls", json!({"tls.crt": "YQ==", "tls.key": "Yg=="})),
    ];
    for namespace in ["victim", "certs", "kube-system"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        if world.get(&path).await.is_none() {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            world.make("/api/v1/namespaces", body).await;
        }
    }
    for (namespace, name, sort, data) in &secrets {
        let body =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": sort, "data": data});
        world.make(&format!("/api/v1/namespaces/{namespace}/secrets"), body).await;
    }
    let tls: String = secrets
        .iter()
        .map(|(_, name, ..)| format!("  - {{hosts: [{name}.example.org], secretName: {name}}}\n"))
        .collect();
    let ingress = format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: web}}\nspec:\n  tls:\n{tls}  defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}\n"
    );
    let shared: Vec<String> = secrets.iter().map(|(namespace, name, ..)| format!("{namespace}/{name}")).collect();
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    let settings = format!("{settings}tls: {{shared: [{}]}}\n", shared.join(", "));
    let files = [
        ("apps/thief/kustomization.yaml".to_owned(), "namespace: thief\nresources: [web.yaml]\n".to_owned()),
        ("apps/thief/web.yaml".to_owned(), ingress.clone()),
        (".wild/config.yaml".to_owned(), settings),
    ];
    push(&world, "an app and what it reads of others", &files).await;
    waits(&world, "thief").await;
    assert!(world.state("thief").await.unwrap().needs_you.contains("tls.shared: certs/site-tls"));
    for (_, name, ..) in &secrets {
        assert!(!exists(&world, &copy(name)).await, "{name} before anybody agreed");
    }
    approve(&world, "thief").await;
    world.until("the certificate is there", async || exists(&world, &copy("site-tls")).await).await;
    world.look_again("thief").await;
    for name in ["db-secrets", "root-tls", "bootstrap"] {
        assert!(!exists(&world, &copy(name)).await, "{name}");
    }
    let (_, out) = wild(&world, "wild plan thief").await;
    for told in ["is a Secret of type Opaque", "kube-system/root-tls is the system's"] {
        assert!(out.data.contains(told), "{told}: {out:?}");
    }
}
