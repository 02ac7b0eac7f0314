//! Packages that are after a value of another app, over versions, pushes, names and hands: it is nowhere before its key was granted, and nowhere
//! again after the word was taken back.
//!
//! Not here: every way of a template to read a value (`package::secrets`), grants as commits (`compile`).

use std::collections::BTreeSet;
use std::ffi::OsString;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rewild::cli::{self, Captured, Stream, Surroundings};
use rewild::model::{Purpose, Reason, Request, Trigger};

use crate::commits::commit;
use crate::line::{add, deploy, update};
use crate::world::{World, app};

/// Where the values of the database are by right.
pub(super) const OWN: [&str; 2] = ["secrets.yaml apps.stonedb.password", "Secret stonedb/stonedb-secrets password"];
/// The package that is after them, before it asks for anything.
const V1: &str = "version: '1'\nrequires: [{name: stonedb, alias: db}]\n";
/// What every version of it requires.
const REQUIRES: &str = "requires: [{name: stonedb, alias: db}]\n";

/// A world in which the database runs; nothing else is on offer yet.
pub(super) async fn world() -> World {
    let world = World::start(&["quickcache 7.0"]).await;
    world.done(add("stonedb", &[])).await;
    world.done(deploy("stonedb")).await;
    world.healthy("stonedb").await;
    world
}

/// Publishes a version of a package that brings one ConfigMap and a manifest with these lines.
pub(super) async fn publish(world: &World, package: &str, manifest: &str) {
    let path = |file: &str| format!("{package}/{file}");
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {package}}}\ndata: {{of: {package}}}\n");
    let kustomization = format!("namespace: {package}\nresources: [map.yaml]\n");
    let files = [("manifest.yaml", manifest), ("map.yaml", &map), ("kustomization.yaml", &kustomization)];
    let files = files.map(|(file, text)| (path(file), text));
    let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (path.as_str(), Some(*text))).collect();
    commit(&world.upstream, "main", &format!("{package}: another version"), &files).await;
    world.fetch().await;
}

/// Adds and deploys the package `chat` at its first version.
pub(super) async fn chat(world: &World) {
    publish(world, "chat", V1).await;
    world.done(add("chat", &[])).await;
    world.done(deploy("chat")).await;
    world.healthy("chat").await;
}

/// Runs a command line for which nobody can be asked.
pub(super) async fn wild(world: &World, line: &str) -> (u8, Captured) {
    let mut environment = Surroundings::bare(std::path::Path::new("/"));
    environment.daemon = Some(world.daemon.clone());
    let mut out = Captured::default();
    let code = cli::run(line.split(' ').map(OsString::from).collect(), environment, &mut out).await;
    (code.number(), out)
}

/// Returns a value.
pub(super) fn value(world: &World, path: &str) -> String {
    world.handle.instance().secrets.read().unwrap().get(path).unwrap().expose(Purpose::RequestBody).to_owned()
}

/// Returns where a value is, alone or in another one: in secrets.yaml, in Secrets of the cluster, in git, in the store, in what is told.
pub(super) async fn spread(world: &World, wanted: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let file = &world.handle.instance().secrets;
    // Both are of one moment, however often the daemon writes.
    let raw = || std::fs::read_to_string(file.path()).unwrap();
    let (raw, secrets) = loop {
        let (before, secrets) = (raw(), file.read().unwrap());
        if raw() == before {
            break (before, secrets);
        }
    };
    for path in secrets.paths() {
        if secrets.get(path).unwrap().expose(Purpose::RequestBody).contains(wanted) {
            found.insert(format!("secrets.yaml {path}"));
        }
    }
    assert!(raw.matches(wanted).count() <= found.len(), "secrets.yaml holds it at another place");
    for secret in world.get("/api/v1/secrets").await.unwrap()["items"].as_array().unwrap() {
        let name = |key: &str| secret["metadata"][key].as_str().unwrap_or_default().to_owned();
        for (key, data) in secret["data"].as_object().into_iter().flatten() {
            let data = STANDARD.decode(data.as_str().unwrap()).unwrap();
            if String::from_utf8_lossy(&data).contains(wanted) {
                found.insert(format!("Secret {}/{} {key}", name("namespace"), name("name")));
            }
        }
    }
    let (_, history) = world.git(&["log", "--all", "-p", "--format=%B"]);
    if history.contains(wanted) {
        found.insert("git".to_owned());
    }
    if world.kept().await.contains(wanted) {
        found.insert("the store, or what is told".to_owned());
    }
    found
}

/// Waits until a value is at these places beside those where it is by right, and at no other.
pub(super) async fn is_at(world: &World, wanted: &str, places: &[&str]) {
    let expected: BTreeSet<String> = OWN.iter().chain(places).map(|place| (*place).to_owned()).collect();
    world.until(&format!("the value is at {expected:?}"), async || spread(world, wanted).await == expected).await;
}

/// Waits until an app is held back because of this.
pub(super) async fn held(world: &World, name: &str, because: &str) {
    let is_held = async || world.state(name).await.is_some_and(|state| state.needs_you.contains(because));
    world.until(&format!("{name} is held back: {because}"), is_held).await;
}

/// Waits until an app is held back by what nobody granted, and checks that the value went nowhere.
async fn held_without(world: &World, name: &str, wanted: &str, places: &[&str]) {
    held(world, name, "which nobody granted").await;
    assert!(world.state(name).await.unwrap().hint.contains("--grant "));
    let expected: BTreeSet<String> = OWN.iter().chain(places).map(|place| (*place).to_owned()).collect();
    assert_eq!(spread(world, wanted).await, expected);
}

/// Pushes another manifest of an app that is there, as a merge by plain git does.
async fn push_manifest(world: &World, name: &str, lines: &str) {
    let bound = "requires: [{name: stonedb, alias: db, installedAs: stonedb}]";
    let text = format!("version: '9'\n{bound}\n{lines}");
    world.push("merge the newer version by hand", &[(&format!("apps/{name}/manifest.yaml"), Some(&text))]).await;
}

/// Pushes the grants of an app, in place of those that are there.
pub(super) async fn push_grants(world: &World, name: &str, grants: &str) {
    let path = ".wild/config.yaml";
    let text = world.file("main", path).await.unwrap();
    let (head, _) = text.split_once("apps:").unwrap_or((&text, ""));
    let text = format!("{head}apps:\n  {name}:\n    grants: {{secrets: [{grants}]}}\n");
    world.push("grants", &[(path, Some(&text))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_goes_nowhere_over_versions_that_nobody_deployed_until_its_key_is_granted() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    chat(&world).await;
    let ask = "requiredSecrets: [db.password]\n";
    let derive = "defaultSecrets:\n- {key: url, default: 'x://{{ .secrets.dbPassword }}@y'}\n- {key: own, default: 'z-{{ .app.tag }}'}\ndefaultConfig: {tag: t}\n";
    for version in [format!("version: '2'\n{REQUIRES}{ask}"), format!("version: '3'\n{REQUIRES}{ask}{derive}")] {
        publish(&world, "chat", &version).await;
        let (code, out) = wild(&world, "wild app update chat --yes").await;
        assert_eq!(code, 6, "{out:?}");
        assert!(out.notes.contains("chat asks for the secret password of stonedb"), "{out:?}");
        assert!(out.notes.contains("try: wild app update chat --grant stonedb.password"), "{out:?}");
        is_at(&world, &wanted, &[]).await;
        // Nor does the merge bot agree to anything.
        world.set("updates: {policy: all}\n").await;
        let since = crate::commits::clock();
        world.handle.wake(Trigger { app: Some(app("chat")), reason: Reason::Upstream });
        world.looked_at("chat", since).await;
        is_at(&world, &wanted, &[]).await;
        world.edit(".wild/config.yaml", "updates: {policy: all}\n", "").await;
    }
    world.healthy("stonedb").await;
    let (code, out) = wild(&world, "wild app update chat --grant stonedb.password").await;
    assert_eq!(code, 0, "{out:?}");
    let all = [
        "secrets.yaml apps.chat.dbPassword",
        "secrets.yaml apps.chat.url",
        "Secret chat/chat-secrets db.password",
        "Secret chat/chat-secrets url",
    ];
    is_at(&world, &wanted, &all).await;
    world.healthy("chat").await;
    // The word is taken back: what was copied goes, and what was made of it.
    push_grants(&world, "chat", "").await;
    held_without(&world, "chat", &wanted, &all[2..]).await;
    // What is lost in the cluster does not come back either.
    world.try_delete("/api/v1/namespaces/chat/secrets/chat-secrets").await;
    world.look_again("chat").await;
    is_at(&world, &wanted, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_for_one_key_is_none_for_another_nor_for_what_is_made_of_both() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    world.edit("apps/stonedb/manifest.yaml", "secrets: [password]", "secrets: [password, user]").await;
    std::fs::write(
        world.handle.instance().secrets.path(),
        format!("apps:\n  stonedb:\n    password: {wanted}\n    user: gardener-of-stone\n"),
    )
    .unwrap();
    chat(&world).await;
    // Two versions are merged by plain git, in two pushes, and none of them is ever deployed.
    push_manifest(&world, "chat", "requiredSecrets: [db.password]\n").await;
    held_without(&world, "chat", &wanted, &[]).await;
    let both = "requiredSecrets: [db.password, db.user]\ndefaultSecrets:\n- {key: url, default: '{{ .secrets.dbUser }}:{{ .secrets.db.password }}'}\n- {key: name, default: 'n-{{ .secrets.dbUser }}'}\n";
    push_manifest(&world, "chat", both).await;
    held_without(&world, "chat", &wanted, &[]).await;
    push_grants(&world, "chat", "stonedb.user").await;
    let expected: BTreeSet<String> =
        ["secrets.yaml apps.chat.dbUser", "secrets.yaml apps.chat.name", "secrets.yaml apps.stonedb.user"]
            .map(str::to_owned)
            .into();
    world.until("the granted key is copied", async || spread(&world, "gardener-of-stone").await == expected).await;
    held_without(&world, "chat", &wanted, &[]).await;
    let (code, out) = wild(&world, "wild secret generate apps.chat.url").await;
    assert!(code == 2 || spread(&world, &wanted).await.len() == OWN.len(), "{out:?}");
    is_at(&world, &wanted, &[]).await;
    let hint = world.state("chat").await.unwrap().hint;
    assert_eq!(hint, "wild app deploy chat --grant stonedb.password");
    let (code, out) = wild(&world, &hint).await;
    assert_eq!(code, 0, "{out:?}");
    let all = [
        "secrets.yaml apps.chat.dbPassword",
        "secrets.yaml apps.chat.url",
        "Secret chat/chat-secrets db.password",
        "Secret chat/chat-secrets url",
    ];
    is_at(&world, &wanted, &all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_grants_nothing_and_the_line_to_type_does() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    publish(&world, "chat", &format!("{V1}requiredSecrets: [db.password]\n")).await;
    for line in ["wild app add chat", "wild app add chat --yes --deploy", "wild app add chat --grant db.password"] {
        let (code, out) = wild(&world, line).await;
        assert_eq!(code, if line.contains("--grant") { 2 } else { 6 }, "{out:?}");
        assert!(world.state("chat").await.is_none());
        is_at(&world, &wanted, &[]).await;
    }
    let (_, out) = wild(&world, "wild app add chat --as talk --dep db=stonedb").await;
    let typed = out.notes.lines().find_map(|line| line.strip_prefix("try: ")).unwrap().to_owned();
    assert_eq!(typed, "wild app add chat --as talk --dep db=stonedb --grant stonedb.password");
    assert_eq!(wild(&world, &typed).await.0, 0);
    is_at(&world, &wanted, &["secrets.yaml apps.talk.dbPassword"]).await;
    let settings = world.file("main", ".wild/config.yaml").await.unwrap();
    assert!(settings.contains("stonedb.password"), "{settings}");
    // An app of that name that comes later has no word of the earlier one: deleted by a command, and by a push.
    assert_eq!(wild(&world, "wild app delete talk --yes").await.0, 0);
    assert_eq!(wild(&world, "wild app add chat --as talk --dep db=stonedb").await.0, 6);
    assert_eq!(wild(&world, &typed).await.0, 0);
    world.in_a_clone("git rm -rq apps/talk .wild/generated/talk.yaml && git commit -qm 'away with it' && git push -q");
    let (code, out) = wild(&world, "wild app add chat --as talk --dep db=stonedb").await;
    assert_eq!(code, 6, "{out:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_on_a_terminal_is_asked_for_key_owner_and_reader() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    publish(&world, "chat", &format!("{V1}requiredSecrets: [db.password]\n")).await;
    let asked = async |answer: &str, line: &str| {
        let mut environment = Surroundings::bare(std::path::Path::new("/"));
        environment.daemon = Some(world.daemon.clone());
        (environment.input, environment.error) = (Stream::Terminal, Stream::Terminal);
        let mut out = Captured { given: format!("{answer}\n"), ..Captured::default() };
        let code = cli::run(line.split(' ').map(OsString::from).collect(), environment, &mut out).await;
        (code.number(), out)
    };
    for answer in ["", "n", "maybe"] {
        let (code, out) = asked(answer, "wild app add chat").await;
        assert_eq!(code, 6, "{out:?}");
        is_at(&world, &wanted, &[]).await;
    }
    assert!(
        world
            .handle
            .instance()
            .store
            .operations(&world.handle.instance().id, &Default::default())
            .await
            .unwrap()
            .iter()
            .all(|it| it.app != Some(app("chat")))
    );
    let (code, out) = asked("y", "wild app add chat").await;
    assert_eq!(code, 0, "{out:?}");
    assert!(
        out.notes.contains("chat asks for the secret password of stonedb, which exports it. May it? [y/N]"),
        "{out:?}"
    );
    is_at(&world, &wanted, &["secrets.yaml apps.chat.dbPassword"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_about_one_owner_is_none_about_another_by_whatever_name_it_comes() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    // A vault whose package says nothing of exports, as all of the older dialects.
    publish(&world, "vault", "version: '1'\nis: stonedb\ndefaultSecrets: [password]\n").await;
    world.done(add("vault", &[])).await;
    let treasure = value(&world, "apps.vault.password");
    publish(&world, "chat", &format!("{V1}requiredSecrets: [db.password]\n")).await;
    let (code, _) = wild(&world, "wild app add chat --deploy --dep db=stonedb --grant stonedb.password").await;
    assert_eq!(code, 0);
    let copied = ["secrets.yaml apps.chat.dbPassword", "Secret chat/chat-secrets db.password"];
    is_at(&world, &wanted, &copied).await;
    let at_home: BTreeSet<String> = ["secrets.yaml apps.vault.password".to_owned()].into();
    // The binding is edited by a push: the old copy goes, the new owner's value does not come.
    world.edit("apps/chat/manifest.yaml", "installedAs: stonedb", "installedAs: vault").await;
    held_without(&world, "chat", &wanted, &copied[1..]).await;
    assert_eq!(spread(&world, &treasure).await, at_home);
    world.edit("apps/chat/manifest.yaml", "installedAs: vault", "installedAs: stonedb").await;
    is_at(&world, &wanted, &copied).await;
    world.healthy("chat").await;
    // A newer version calls another requirement what the old one called the database.
    let swapped = "version: '2'\nrequires: [{name: stonedb, alias: old}, {name: lockbox, alias: db}]\nrequiredSecrets: [db.password]\n";
    publish(&world, "lockbox", "version: '1'\ndefaultSecrets: [password]\nexports: [password]\n").await;
    world.done(add("lockbox", &[])).await;
    publish(&world, "chat", swapped).await;
    let ended = world.ask(update("chat")).await;
    assert!(ended.refusal.is_some(), "{ended:#?}");
    let boxed = value(&world, "apps.lockbox.password");
    assert_eq!(spread(&world, &boxed).await, ["secrets.yaml apps.lockbox.password".to_owned()].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_the_name_of_an_owner_gives_nothing_of_its_own() {
    let world = world().await;
    publish(&world, "lockbox", "version: '1'\ndefaultSecrets: [key]\n").await;
    world.done(add("lockbox", &[])).await;
    publish(&world, "chat", "version: '1'\nrequires: [lockbox]\nrequiredSecrets: [lockbox.key]\n").await;
    assert_eq!(wild(&world, "wild app add chat --grant lockbox.key").await.0, 0);
    world.in_a_clone(
        "git rm -rq apps/lockbox .wild/generated/lockbox.yaml && git commit -qm 'away with it' && git push -q",
    );
    publish(&world, "safe", "version: '1'\nis: lockbox\ndefaultSecrets: [{key: key, length: 48}]\n").await;
    world.handle.instance().secrets.forget("lockbox").unwrap();
    let (code, out) = wild(&world, "wild app add safe --as lockbox").await;
    assert_eq!(code, 0, "{out:?}");
    assert!(format!("{out:?}").contains("chat may no longer read secrets of lockbox"), "{out:?}");
    let key = value(&world, "apps.lockbox.key");
    let since = crate::commits::clock();
    world.handle.wake(Trigger { app: Some(app("chat")), reason: Reason::Push });
    world.looked_at("chat", since).await;
    world
        .until("it is at home alone", async || {
            spread(&world, &key).await == ["secrets.yaml apps.lockbox.key".to_owned()].into()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_app_hands_on_needs_a_word_for_whose_it_is() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    let middle = "version: '1'\nrequires: [{name: stonedb, alias: db}]\nrequiredSecrets: [db.password]\ndefaultSecrets:\n- {key: url, default: 'x{{ .secrets.dbPassword }}y'}\nexports: [dbPassword, url]\n";
    publish(&world, "middle", middle).await;
    assert_eq!(wild(&world, "wild app add middle --grant stonedb.password").await.0, 0);
    let there = ["secrets.yaml apps.middle.dbPassword", "secrets.yaml apps.middle.url"];
    is_at(&world, &wanted, &there).await;
    for (name, key) in [("first", "dbPassword"), ("second", "url")] {
        let manifest = format!("version: '1'\nrequires: [middle]\nrequiredSecrets: [middle.{key}]\n");
        publish(&world, name, &manifest).await;
        let (code, out) = wild(&world, &format!("wild app add {name} --grant middle.{key}")).await;
        assert_eq!(code, 6, "{out:?}");
        let line = format!("try: wild app add {name} --grant middle.{key} --grant stonedb.password");
        assert!(out.notes.contains(&line), "{out:?}");
        is_at(&world, &wanted, &there).await;
    }
    let (code, out) = wild(&world, "wild app add second --grant middle.url --grant stonedb.password").await;
    assert_eq!(code, 0, "{out:?}");
    let further = [there[0], there[1], "secrets.yaml apps.second.middleUrl"];
    is_at(&world, &wanted, &further).await;
    // The one in the middle loses its word; the second has one of its own.
    let text = world.file("main", ".wild/config.yaml").await.unwrap();
    let (_, after) = text.split_once("  middle:\n").unwrap();
    let section: String =
        after.lines().take_while(|line| line.starts_with("    ")).map(|line| format!("{line}\n")).collect();
    world.edit(".wild/config.yaml", &format!("  middle:\n{section}"), "").await;
    world
        .until("what the middle had is gone", async || {
            world.look_again("second").await;
            spread(&world, &wanted).await.iter().all(|place| !place.contains("apps.middle"))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_back_and_an_undo_bring_no_value_back_that_nobody_granted_by_now() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    chat(&world).await;
    let before = world.head().await;
    publish(&world, "chat", &format!("version: '2'\n{REQUIRES}requiredSecrets: [db.password]\n")).await;
    assert_eq!(wild(&world, "wild app update chat --grant stonedb.password").await.0, 0);
    let after = world.head().await;
    is_at(&world, &wanted, &["secrets.yaml apps.chat.dbPassword", "Secret chat/chat-secrets db.password"]).await;
    let back = |to| Request::Rollback { app: app("chat"), to, reason: "too much".into(), undoes: None };
    world.done(back(before)).await;
    is_at(&world, &wanted, &[]).await;
    push_grants(&world, "chat", "").await;
    world.ask(back(after)).await;
    held_without(&world, "chat", &wanted, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_ours_and_values_in_configs_lead_to_nothing() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    let forged = "defaultSecrets:\n- {key: x, default: ''}\n- {key: _copied.x.from, default: apps.stonedb.password}\n- {key: _copied.x.digest, default: abc}\n";
    let circle = "defaultSecrets:\n- {key: a, default: '{{ .secrets.b }}'}\n- {key: b, default: '{{ .secrets.a }}'}\n";
    for (lines, because) in [
        (forged, "is reserved"),
        ("defaultSecrets: [_deleted]\n", "is reserved"),
        ("requiredSecrets: [db._copied.x]\n", "is reserved"),
        ("requiredSecrets: [db.password, db-pass.word]\n", "which the package does not require"),
        (circle, "run in a circle: a → b → a"),
        ("defaultConfig: {leak: '{{ .secrets.dbPassword }}'}\nrequiredSecrets: [db.password]\n", "secrets"),
        ("defaultSecrets: [{key: leak, default: '{{ .secrets.dbPassword }}'}]\n", "T201"),
        ("defaultSecrets: [{key: leak, default: '{{ .apps.db.password }}'}]\n", "T201"),
        ("requires: [{name: stonedb, alias: chat}]\nrequiredSecrets: [apps.stonedb.password]\n", ""),
    ] {
        let manifest = match lines.starts_with("requires") {
            true => format!("version: '1'\n{lines}"),
            false => format!("{V1}{lines}"),
        };
        publish(&world, "chat", &manifest).await;
        let (code, out) = wild(&world, "wild app add chat").await;
        assert!(matches!(code, 2 | 6) && out.notes.contains(because), "{lines}: {out:?}");
        is_at(&world, &wanted, &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_lists_what_it_exports_keeps_the_rest_whatever_is_granted() {
    let world = world().await;
    publish(&world, "lockbox", "version: '1'\ndefaultSecrets: [key, root]\nexports: [key]\n").await;
    world.done(add("lockbox", &[])).await;
    world.done(deploy("lockbox")).await;
    world.healthy("lockbox").await;
    let (key, root) = (value(&world, "apps.lockbox.key"), value(&world, "apps.lockbox.root"));
    publish(&world, "chat", "version: '1'\nrequires: [lockbox]\nrequiredSecrets: [lockbox.root]\n").await;
    let (code, out) = wild(&world, "wild app add chat --grant lockbox.root").await;
    assert!(code == 2 && out.notes.contains("which exports only key"), "{out:?}");
    publish(&world, "chat", "version: '2'\nrequires: [lockbox]\nrequiredSecrets: [lockbox.key]\n").await;
    assert_eq!(wild(&world, "wild app add chat --deploy --grant lockbox.key").await.0, 0);
    let at = async |text: &str| spread(&world, text).await;
    world.until("it is copied", async || at(&key).await.contains("secrets.yaml apps.chat.lockboxKey")).await;
    // A push asks for the other key and grants it: the owner still keeps it.
    let manifest = "version: '3'\nrequires: [{name: lockbox, installedAs: lockbox}]\nrequiredSecrets: [lockbox.root]\n";
    world.push("by hand", &[("apps/chat/manifest.yaml", Some(manifest))]).await;
    held(&world, "chat", "which exports only key").await;
    push_grants(&world, "chat", "lockbox.root").await;
    held(&world, "chat", "which exports only key").await;
    let at_home = ["secrets.yaml apps.lockbox.root", "Secret lockbox/lockbox-secrets root"];
    assert_eq!(at(&root).await, at_home.map(str::to_owned).into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_taken_back_while_the_manifest_does_not_read_takes_the_value_along() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    publish(&world, "chat", &format!("{V1}requiredSecrets: [db.password]\n")).await;
    assert_eq!(wild(&world, "wild app add chat --deploy --grant stonedb.password").await.0, 0);
    let copied = ["secrets.yaml apps.chat.dbPassword", "Secret chat/chat-secrets db.password"];
    is_at(&world, &wanted, &copied).await;
    world.healthy("chat").await;
    let manifest = world.file("main", "apps/chat/manifest.yaml").await.unwrap();
    world.push("a slip", &[("apps/chat/manifest.yaml", Some(&format!("{manifest}requiredSecrets: 5\n")))]).await;
    held(&world, "chat", "manifest.yaml").await;
    is_at(&world, &wanted, &copied).await;
    push_grants(&world, "chat", "").await;
    is_at(&world, &wanted, &copied[1..]).await;
    world.push("no slip", &[("apps/chat/manifest.yaml", Some(&manifest))]).await;
    held_without(&world, "chat", &wanted, &copied[1..]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_brought_back_has_no_word_that_was_taken_back_before_it_went() {
    let world = world().await;
    let wanted = value(&world, "apps.stonedb.password");
    publish(&world, "chat", &format!("{V1}requiredSecrets: [db.password]\n")).await;
    assert_eq!(wild(&world, "wild app add chat --deploy --grant stonedb.password").await.0, 0);
    is_at(&world, &wanted, &["secrets.yaml apps.chat.dbPassword", "Secret chat/chat-secrets db.password"]).await;
    world.healthy("chat").await;
    let granted = world.head().await;
    push_grants(&world, "chat", "").await;
    held(&world, "chat", "which nobody granted").await;
    assert_eq!(wild(&world, "wild app delete chat --yes").await.0, 0);
    world.until("it is gone", async || world.state("chat").await.is_none()).await;
    world.ask(Request::Rollback { app: app("chat"), to: granted, reason: "back".into(), undoes: None }).await;
    held(&world, "chat", "which nobody granted").await;
    assert!(!world.file("main", ".wild/config.yaml").await.unwrap().contains("stonedb.password"));
    assert!(!spread(&world, &wanted).await.contains("secrets.yaml apps.chat.dbPassword"));
}
