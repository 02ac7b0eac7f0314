//! Pure. Adding and deploying.
//!
//! Not here: the world (`tests`).

use std::collections::BTreeMap;

use serde_json::json;

use super::{World, add, app, blog, plain, refused, summary};
use crate::base::RepoPath;
use crate::compile::{record_of, settings_of};
use crate::model::{Deploy, FileTree, PackageName, Request, SETTINGS_PATH};

const SHOP: &str = "name: shop\nversion: \"3\"\nrequires:\n- name: blog\n  alias: news\ndefaultConfig:\n  news: \"{{ .apps.news.title }}\"\n";

fn shop() -> FileTree {
    blog("3", |name, text| match name {
        "manifest.yaml" => SHOP.to_owned(),
        "deployment.yaml" => text
            .replace("\"{{ .image }}\"", "shop:3")
            .replace("{{ .title }}", "{{ .news }}")
            .replace("{{ .memory }}", "1Gi"),
        _ => text.to_owned(),
    })
}

#[test]
fn an_added_app_is_one_commit_with_its_generation_as_second_parent() {
    let mut world = World::new();
    let proposal = world.act(&add("blog", Deploy::Later)).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main feat(blog): add 1.0 Generation"]);
    assert_eq!(
        proposal.summary,
        ["blog 1.0 from wild 0000000", "wrote apps/blog (4 files), config.yaml apps.blog (3 keys)"]
    );
    let trailers: Vec<String> =
        proposal.main.unwrap().trailers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        trailers,
        ["Wild-App: blog", "Wild-Upstream: https://git.example.org/wild@000000000000000000000000000000000000abc0:blog"]
    );
}

#[test]
fn the_section_of_an_added_app_holds_every_default_and_nothing_else_changes() {
    let mut world = World::new();
    world.act(&add("blog", Deploy::Later)).unwrap();
    let expected = "# mine\ncloud:\n  domain: example.org\napps:\n  blog:\n    image: blog:1.0\n    title: Garden\n    memory: 1Gi\n";
    assert_eq!(world.text("config.yaml"), expected);
    assert!(world.text("apps/blog/deployment.yaml").contains("image: \"blog:1.0\""));
    assert!(world.text("apps/blog/.package/deployment.yaml").contains("{{ .image }}"));
}

#[test]
fn given_values_and_those_of_an_earlier_time_win_over_defaults() {
    let mut world = World::new();
    world.push("config.yaml", |text| format!("{text}apps:\n  blog:\n    # mine\n    memory: 3Gi\n    own: 1\n"));
    let request = Request::Add {
        package: PackageName::parse("blog").unwrap(),
        app: app("blog"),
        bindings: BTreeMap::new(),
        values: BTreeMap::from([("title".to_owned(), json!("Roof"))]),
        version: None,
        deploy: Deploy::Later,
        grants: Vec::new(),
    };
    world.act(&request).unwrap();
    assert!(world.text("config.yaml").contains("    # mine\n    memory: 3Gi\n    own: 1\n    title: Roof\n"));
    assert!(world.text("apps/blog/deployment.yaml").contains("memory: \"3Gi\""));
}

#[test]
fn an_added_app_is_deployed_by_a_commit_of_its_own() {
    let mut world = World::new();
    world.act(&add("blog", Deploy::Later)).unwrap();
    assert!(!record_of(world.head(), &app("blog")).unwrap().unwrap().deployed);
    let deploy = Request::Deploy { app: app("blog"), approve: None, recreate: Vec::new(), adopt: false };
    let proposal = world.act(&deploy).unwrap();
    assert_eq!(summary(&proposal), ["main feat(blog): deploy 1.0 None"]);
    assert!(record_of(world.head(), &app("blog")).unwrap().unwrap().deployed);
    assert!(!world.text(".wild/generated/blog.yaml").contains("deployed"));
    assert!(world.act(&deploy).unwrap().is_nothing());
}

#[test]
fn an_app_added_to_be_deployed_needs_no_second_commit() {
    let mut world = World::with_blog();
    assert!(
        world
            .act(&Request::Deploy { app: app("blog"), approve: None, recreate: Vec::new(), adopt: false })
            .unwrap()
            .is_nothing()
    );
    assert!(world.act(&Request::RevertDrift { app: app("blog"), objects: Vec::new() }).unwrap().is_nothing());
}

#[test]
fn an_app_committed_by_hand_is_deployed_by_being_there() {
    let mut world = World::new();
    world.push("apps/own/kustomization.yaml", |_| "resources: []\n".to_owned());
    assert!(
        world
            .act(&Request::Deploy { app: app("own"), approve: None, recreate: Vec::new(), adopt: false })
            .unwrap()
            .is_nothing()
    );
}

#[test]
fn what_cannot_be_added_is_refused_with_a_command() {
    let mut world = World::with_blog();
    refused(
        world.act(&add("blog", Deploy::Now)),
        "user: add blog: there is an app blog already; wild app add blog --as blog-2",
    );
    let misspelt = "user: add blgo: no directory has a package blgo; did you mean blog?; wild app add blog";
    refused(world.act(&add("blgo", Deploy::Now)), misspelt);
    refused(
        world.act(&Request::Deploy { app: app("blgo"), approve: None, recreate: Vec::new(), adopt: false }),
        "user: deploy blgo: there is no app blgo; did you mean blog?; wild app show blog",
    );
}

#[test]
fn a_package_that_wants_a_privilege_is_refused_until_the_instance_grants_it() {
    let host = |name: &str, text: &str| match name {
        "deployment.yaml" => text.replace("restartPolicy: Always\n", "hostNetwork: true\n"),
        _ => text.to_owned(),
    };
    let mut world = World::new();
    world.publish("blog", blog("1.0", host));
    let refusal = world.act(&add("blog", Deploy::Later)).unwrap_err();
    let found: Vec<String> = refusal.explanation().diagnostics.iter().map(|it| format!("{it}; {}", it.hint)).collect();
    let expected = "blog/deployment.yaml:1: L018: Deployment/blog: its pod asks for hostNetwork; add hostNetwork to \
                    apps.blog.grants.pod in .wild/config.yaml if it may";
    assert_eq!(found, [expected]);
    world.push(".wild/config.yaml", |text| format!("{text}apps: {{blog: {{grants: {{pod: [hostNetwork]}}}}}}\n"));
    world.act(&add("blog", Deploy::Later)).unwrap();
}

#[test]
fn a_value_for_a_key_that_the_package_lacks_is_refused() {
    let mut world = World::new();
    let mut request = add("blog", Deploy::Later);
    if let Request::Add { values, .. } = &mut request {
        values.insert("titel".to_owned(), serde_json::json!("x"));
    }
    let expected =
        "user: add blog: the package has no key titel; did you mean title?; wild app add blog --set title=VALUE";
    refused(world.act(&request), expected);
}

#[test]
fn a_missing_requirement_is_refused_with_the_command_that_adds_it() {
    let mut world = World::new();
    world.publish("shop", shop());
    let refusal = world.act(&add("shop", Deploy::Now)).unwrap_err();
    assert_eq!(refusal.explanation().remedy, "wild app add blog");
}

#[test]
fn a_requirement_that_is_there_is_bound_and_shown() {
    let mut world = World::with_blog();
    world.publish("shop", shop());
    let proposal = world.act(&add("shop", Deploy::Now)).unwrap();
    assert_eq!(proposal.summary[1], "needs news → blog");
    assert!(world.text("apps/shop/manifest.yaml").contains("installedAs: blog"));
    assert!(world.text("config.yaml").contains("  shop:\n    news: Garden\n"));
    refused(world.act(&super::delete("blog")), "blocked: delete blog: it is needed by shop; wild app delete shop");
}

#[test]
fn an_older_version_is_added_by_name_and_pinned() {
    let mut world = World::new();
    world.publish("blog", blog("1.1", plain));
    let mut request = add("blog", Deploy::Now);
    if let Request::Add { version, .. } = &mut request {
        *version = Some("1.0".to_owned());
    }
    world.act(&request).unwrap();
    let record = record_of(world.head(), &app("blog")).unwrap().unwrap();
    assert_eq!((record.version.as_str(), record.wanted.as_deref()), ("1.0", Some("1.0")));
}

#[test]
fn rules_about_health_that_tell_nothing_are_refused_with_their_line() {
    let check = |rule: &str, expected: &str| {
        let text = format!("apiVersion: rewild.dev/v1\ninstanceId: k3f7q2m5xd\nhealth:\n- {rule}\n");
        let mut files = World::new().head().clone();
        files.insert(RepoPath::parse(SETTINGS_PATH).unwrap(), crate::model::File::text(&text));
        let found = settings_of(&files).err().unwrap_or_default();
        let said: Vec<String> =
            found.iter().map(|found| format!("{} {} {}", found.id, found.line, found.message)).collect();
        assert_eq!(said.join("\n"), expected, "{rule}");
    };
    check("{kind: Gadget, healthy: {path: /status/phase, equals: [Ready, 1.10, true]}}", "");
    let cannot = "S104 4 the rule about the health of";
    check("{healthy: {path: /status, equals: [a]}}", &format!("{cannot} \"\" cannot be used: it names no kind"));
    let no_test = "it has neither healthy, progressing, suspended nor degraded";
    check("{kind: Gadget, helthy: {path: /a, equals: [b]}}", &format!("{cannot} \"Gadget\" cannot be used: {no_test}"));
    let no_pointer = "path \"status.phase\" with 1 values tells nothing";
    let rule = "{kind: Gadget, degraded: {path: status.phase, equals: [Broken]}}";
    check(rule, &format!("{cannot} \"Gadget\" cannot be used: {no_pointer}"));
    let rule = "{kind: Secret, healthy: {path: /data/a, equals: [b]}}";
    check(rule, &format!("{cannot} \"Secret\" cannot be used: a Secret is never read"));
}

#[test]
fn settings_that_do_not_read_are_refused_with_their_line() {
    let check = |text: &str, expected: &str| {
        let mut files = World::new().head().clone();
        files.insert(RepoPath::parse(SETTINGS_PATH).unwrap(), crate::model::File::text(text));
        assert_eq!(settings_of(&files).unwrap_err()[0].to_string(), expected);
    };
    let newer = "S101: apiVersion is rewild.dev/v9, and this build reads rewild.dev/v1";
    check("apiVersion: rewild.dev/v9\ninstanceId: k3f7\n", &format!(".wild/config.yaml:1: {newer}"));
    let head = "apiVersion: rewild.dev/v1\ninstanceId: k3f7q2m5xd\n";
    check(
        &format!("{head}reconcile:\n  interval: 10 minutes\n"),
        ".wild/config.yaml:4:3: Y130: reconcile: \"10 minutes\" is no duration such as 90s, 5m, 2h or 3d",
    );
    check(
        &format!("{head}recovery:\n  after: soon\n"),
        ".wild/config.yaml:4:3: Y130: recovery: \"soon\" is no duration such as 90s, 5m, 2h or 3d",
    );
    let nightly = "S105: updates: schedule \"nightly\" in time zone \"UTC\": it wants five fields: minute, hour, day of month, month, day of week";
    check(&format!("{head}updates:\n  policy: all\n  schedule: nightly\n"), &format!(".wild/config.yaml:5: {nightly}"));
    let nowhere = "S105: updates: schedule \"17 4 * * *\" in time zone \"Nowhere/Town\": the time zone is not known";
    check(&format!("{head}updates:\n  timezone: Nowhere/Town\n"), &format!(".wild/config.yaml:4: {nowhere}"));
    let pointer = "S106: handover.0: the rule about \"spec\" cannot be used: path \"spec\" is no JSON pointer";
    check(&format!("{head}handover:\n- {{path: spec, manager: a}}\n"), &format!(".wild/config.yaml:4: {pointer}"));
    let nobody = "S106: apps.blog.handover.0: the rule about \"/spec/replicas\" cannot be used: it names no manager";
    let text = format!("{head}apps:\n  blog:\n    handover:\n    - {{path: /spec/replicas}}\n");
    check(&text, &format!(".wild/config.yaml:6: {nobody}"));
    let everybody = "S107: editors.1: an empty name would make an editor of every program";
    check(&format!("{head}editors:\n- a\n- \"\"\n"), &format!(".wild/config.yaml:5: {everybody}"));
    let word = "Y130: conflicts: unknown variant `ask`, expected one of `force`, `yield`, `block`";
    check(&format!("{head}conflicts: ask\n"), &format!(".wild/config.yaml:3:12: {word}"));
}
