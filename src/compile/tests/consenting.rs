//! Pure. A person's word about secrets of other apps, over versions and apps.
//!
//! Not here: the world (`tests`), what becomes of values (`package::settle`).

use super::{World, add, app, blog, granting, plain, refused, update};
use crate::base::RepoPath;
use crate::compile::settings_of;
use crate::model::{DataFate, Deploy, FileTree, Request, SecretOrigin, Take};

/// The package `shop`, which requires the blog under a name of its own and has more lines in its manifest.
fn shop(version: &str, alias: &str, lines: &str) -> FileTree {
    let manifest = format!("name: shop\nversion: \"{version}\"\nrequires:\n- name: blog\n  alias: {alias}\n{lines}");
    blog(version, |name, text| match name {
        "manifest.yaml" => manifest.clone(),
        "deployment.yaml" => {
            text.replace("{{ .image }}", "shop:3").replace("{{ .title }}", "t").replace("{{ .memory }}", "1Gi")
        }
        _ => text.to_owned(),
    })
}

/// The package `blog` with more lines in its manifest.
fn owner(lines: &str) -> FileTree {
    blog("1.0", |name, text| match name {
        "manifest.yaml" => format!("{text}{lines}"),
        _ => text.to_owned(),
    })
}

/// An instance with the app `blog`, and a shop on offer.
fn world(owner_lines: &str, shop_lines: &str) -> World {
    let mut world = World::new();
    world.publish("blog", owner(owner_lines));
    world.act(&add("blog", Deploy::Later)).unwrap();
    world.publish("shop", shop("3", "news", shop_lines));
    world
}

fn grants(world: &World) -> Vec<String> {
    settings_of(world.head()).unwrap().grants_of("shop").secrets
}

const READS: &str = "requiredSecrets: [news.token, news.key]\n";

#[test]
fn adding_grants_nothing_by_itself_and_names_the_line_to_type() {
    let mut world = world("defaultSecrets: [token, key]\nexports: {secrets: [token, key]}\n", READS);
    let line = "blocked: add shop: shop asks for the secret token of blog, which exports it; shop asks for the secret key of blog, \
                which exports it; nobody granted that; wild app add shop --grant blog.token --grant blog.key";
    refused(world.act(&add("shop", Deploy::Later)), line);
    let line = "blocked: add shop: shop asks for the secret key of blog, which exports it; nobody granted that; \
                wild app add shop --deploy --grant blog.token --grant blog.key";
    refused(world.act(&granting(add("shop", Deploy::Now), &["blog.token"])), line);
    assert_eq!(grants(&world), [""; 0]);
    let before = world.text(".wild/config.yaml").to_owned();
    let proposal = world.act(&granting(add("shop", Deploy::Later), &["blog.token", "blog.key"])).unwrap();
    assert!(proposal.summary.contains(&"shop may read the secrets blog.token, blog.key".to_owned()));
    assert!(proposal.needs.copies.iter().all(|copy| copy.is_granted()));
    assert_eq!(grants(&world), ["blog.token", "blog.key"]);
    assert!(world.text(".wild/config.yaml").starts_with(&before), "nothing else of the settings changes");
    world.act(&Request::Delete { app: app("shop"), data: DataFate::Keep }).unwrap();
    assert_eq!(grants(&world), [""; 0]);
}

#[test]
fn an_app_that_says_nothing_of_exports_gives_nothing_by_itself() {
    let mut world = world("defaultSecrets: [token, key]\n", READS);
    let line = "blocked: add shop: shop asks for the secret key of blog, which does not say that others may read it; nobody granted \
                that; wild app add shop --grant blog.token --grant blog.key";
    refused(world.act(&granting(add("shop", Deploy::Later), &["blog.token"])), line);
    world.act(&granting(add("shop", Deploy::Later), &["blog.token", "blog.key"])).unwrap();
}

#[test]
fn what_an_owner_does_not_list_as_export_cannot_be_granted() {
    let mut world = world("defaultSecrets: [token, key]\nexports: {secrets: [token]}\n", READS);
    let line = "user: add shop: manifest.yaml: P060: shop reads the secret key of blog, which exports only token; wild directory fetch, \
                once it was corrected there";
    refused(world.act(&granting(add("shop", Deploy::Later), &["blog.token", "blog.key"])), line);
}

#[test]
fn a_grant_that_nothing_asks_for_is_refused() {
    let mut world = world("defaultSecrets: [token, key]\n", READS);
    let line = "user: add shop: shop does not read blog.tokn; it reads blog.token, blog.key; wild app add shop --grant blog.token \
                --grant blog.key";
    refused(world.act(&granting(add("shop", Deploy::Later), &["blog.tokn", "blog.key"])), line);
    // The name that the package gives the requirement is nobody's name.
    let line = "user: add shop: shop does not read news.token; it reads blog.token, blog.key; wild app add shop --grant blog.token \
                --grant blog.key";
    refused(world.act(&granting(add("shop", Deploy::Later), &["news.token", "news.key"])), line);
    for wrong in ["blog", "Blog.token", "blog.", ".token", "blog.a b", "../x.y"] {
        let refusal = world.act(&granting(add("shop", Deploy::Later), &[wrong])).unwrap_err();
        assert!(refusal.explanation().because.contains("is no APP.KEY"), "{refusal}");
    }
}

#[test]
fn the_line_to_type_repeats_what_was_asked_for() {
    let mut world =
        world("defaultSecrets: [token]\n", "requiredSecrets: [news.token]\ndefaultConfig: {greeting: Hi}\n");
    let mut request = add("shop", Deploy::Now);
    if let Request::Add { app: name, bindings, values, version, .. } = &mut request {
        *name = app("store");
        bindings.insert("news".to_owned(), app("blog"));
        values.insert("greeting".to_owned(), serde_json::json!("it's me"));
        *version = Some("3".to_owned());
    }
    let refusal = world.act(&request).unwrap_err();
    let line = r"wild app add shop --as store --dep news=blog --set 'greeting=it'\''s me' --version 3 --deploy --grant blog.token";
    assert_eq!(refusal.explanation().remedy, line);
}

#[test]
fn a_version_that_asks_for_more_is_merged_with_the_word_for_it_and_only_then() {
    let mut world = world("defaultSecrets: [token, key]\n", "");
    world.act(&add("shop", Deploy::Now)).unwrap();
    world.publish("shop", shop("4", "news", "requiredSecrets: [news.token]\n"));
    let to = |to: Option<&str>| Request::Update {
        app: app("shop"),
        to: to.map(str::to_owned),
        take: None,
        grants: Vec::new(),
    };
    let line = "blocked: update shop: shop asks for the secret token of blog, which does not say that others may read it; nobody \
                granted that; wild app update shop --grant blog.token";
    refused(world.act(&to(None)), line);
    // The merge bot gives no grants either.
    refused(world.run(&app("shop"), crate::compile::Cause::Upstream), line);
    world.publish("shop", shop("5", "news", READS));
    let line = "blocked: update shop: shop asks for the secret key of blog, which does not say that others may read it; nobody \
                granted that; wild app update shop --grant blog.token --grant blog.key";
    refused(world.act(&granting(to(None), &["blog.token"])), line);
    assert_eq!(grants(&world), [""; 0]);
    let proposal = world.act(&granting(to(None), &["blog.token", "blog.key"])).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "upgrade(shop): 3 -> 5");
    assert_eq!(grants(&world), ["blog.token", "blog.key"]);
}

#[test]
fn a_grant_names_the_owner_and_not_what_a_package_calls_it() {
    let mut world = world("defaultSecrets: [token]\n", "requiredSecrets: [news.token]\n");
    world.publish(
        "vault",
        blog("1.0", |name, text| match name {
            "manifest.yaml" => "name: vault\nversion: \"1.0\"\ndefaultSecrets: [token]\n".to_owned(),
            _ => text.replace("{{ .image }}", "v").replace("{{ .title }}", "v").replace("{{ .memory }}", "1Gi"),
        }),
    );
    world.act(&add("vault", Deploy::Later)).unwrap();
    world.act(&granting(add("shop", Deploy::Now), &["blog.token"])).unwrap();
    let renamed =
        "requires:\n- {name: vault, alias: news}\n- {name: blog, alias: old}\nrequiredSecrets: [news.token]\n";
    world.publish(
        "shop",
        blog("4", |name, text| match name {
            "manifest.yaml" => format!("name: shop\nversion: \"4\"\n{renamed}"),
            _ => shop("4", "news", "").text(name).unwrap_or(text).to_owned(),
        }),
    );
    // The instance's own copy says what `news` is bound to; it is not a vault.
    let request = Request::Update { app: app("shop"), to: None, take: None, grants: Vec::new() };
    assert!(world.act(&request).is_err());
    world.push("apps/shop/manifest.yaml", |text| text.replace("installedAs: blog", "installedAs: vault"));
    let refusal = world.act(&request).unwrap_err();
    assert_eq!(refusal.explanation().remedy, "wild app update shop --grant vault.token");
}

#[test]
fn an_update_that_could_use_several_apps_says_where_one_is_named_and_that_helps() {
    let mut world = world("", "");
    world.act(&add("shop", Deploy::Now)).unwrap();
    let mut second = add("blog", Deploy::Later);
    if let Request::Add { app: name, .. } = &mut second {
        *name = app("rows");
    }
    world.act(&second).unwrap();
    world.publish("shop", shop("4", "news", "- {name: blog, alias: more}\n"));
    let request = Request::Update { app: app("shop"), to: None, take: None, grants: Vec::new() };
    let remedy = "commit below requires in apps/shop/manifest.yaml: - {name: blog, alias: more, installedAs: blog}";
    let refusal = world.act(&request).unwrap_err();
    let found = &refusal.explanation().diagnostics[0];
    assert_eq!((found.id.as_str(), found.hint.as_str()), ("P055", remedy));
    assert_eq!(refusal.explanation().remedy, remedy);
    let line = remedy.split_once(": - ").unwrap().1;
    world.push("apps/shop/manifest.yaml", |text| text.replace("requires:\n", &format!("requires:\n- {line}\n")));
    world.act(&request).unwrap();
    let bound = crate::compile::record_of(world.head(), &app("shop")).unwrap().unwrap().bindings;
    assert_eq!(bound.get("more"), Some(&app("blog")));
}

#[test]
fn an_update_that_waits_for_decisions_leaves_its_grant_on_record() {
    let mut world = world("defaultSecrets: [token]\n", "");
    world.act(&add("shop", Deploy::Now)).unwrap();
    world.push("apps/shop/deployment.yaml", |text| text.replace("1Gi", "2Gi"));
    let newer = |lines: &str| {
        blog("4", |name, text| match name {
            "manifest.yaml" => format!("name: shop\nversion: \"4\"\nrequires:\n- name: blog\n  alias: news\n{lines}"),
            "deployment.yaml" => shop("4", "news", "").text(name).unwrap_or(text).replace("1Gi", "3Gi"),
            _ => text.to_owned(),
        })
    };
    world.publish("shop", newer("requiredSecrets: [news.token]\n"));
    let request = Request::Update { app: app("shop"), to: None, take: None, grants: Vec::new() };
    assert!(world.act(&request).unwrap_err().explanation().remedy.ends_with("--grant blog.token"));
    let proposal = world.act(&granting(request, &["blog.token"])).unwrap();
    assert_eq!((proposal.main.unwrap().subject.as_str(), proposal.conflicts.len()), ("config(shop): grant", 1));
    assert_eq!(grants(&world), ["blog.token"]);
    // Taken back meanwhile: what lands then is refused again.
    let before = world.text(".wild/config.yaml").to_owned();
    world.push(".wild/config.yaml", |text| text.replace("- blog.token", "- blog.other"));
    let resolve = Request::Resolve { app: app("shop"), decisions: vec![crate::model::Decision::new(None, Take::Mine)] };
    assert_eq!(world.act(&resolve).unwrap_err().explanation().remedy, "wild app resolve shop --grant blog.token");
    world.push(".wild/config.yaml", |_| before.clone());
    assert_eq!(world.act(&resolve).unwrap().main.unwrap().subject, "upgrade(shop): 3 -> 4");
}

#[test]
fn who_bears_the_name_of_an_earlier_app_gives_nothing_that_was_granted_of_that() {
    let mut world = world("defaultSecrets: [token]\n", "requiredSecrets: [news.token]\n");
    world.act(&granting(add("shop", Deploy::Now), &["blog.token"])).unwrap();
    // A person deletes the owner by git, and adds another package under its name.
    let mut files = world.head().clone();
    files.remove_below("apps/blog");
    files.remove(&RepoPath::parse(".wild/generated/blog.yaml").unwrap());
    world.main.push(files);
    world.chains.remove("blog");
    let proposal = world.act(&add("blog", Deploy::Later)).unwrap();
    let told = "shop may no longer read secrets of blog: they were granted for an earlier app of that name";
    assert!(proposal.summary.contains(&told.to_owned()), "{:?}", proposal.summary);
    assert_eq!(grants(&world), [""; 0]);
}

#[test]
fn a_grant_to_an_app_that_is_there_is_a_commit_of_its_own() {
    let mut world = world("defaultSecrets: [token]\nexports: [token]\n", "");
    world.act(&add("shop", Deploy::Now)).unwrap();
    let grant = |grants: &[&str]| Request::Grant {
        app: app("shop"),
        secrets: grants.iter().map(|grant| (*grant).to_owned()).collect(),
    };
    let proposal = world.act(&grant(&["blog.token"])).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "config(shop): grant");
    assert_eq!(grants(&world), ["blog.token"]);
    assert!(world.act(&grant(&["blog.token"])).unwrap().is_nothing());
    refused(
        world.act(&grant(&["blgo.token"])),
        "user: read a secret of blgo: there is no app blgo; did you mean blog?; wild app show blog",
    );
    refused(world.act(&grant(&["blog.key"])), "user: grant shop blog.key: blog exports only token; wild app show blog");
}

#[test]
fn a_value_at_second_hand_needs_a_word_for_whose_it_is_too() {
    let mut world = world("defaultSecrets: [token]\n", "requiredSecrets: [news.token]\n");
    world.origins.insert("apps.blog.token", SecretOrigin::Made(["apps.vault.root".to_owned()].into()));
    let line = "blocked: add shop: shop asks for the secret root of vault, which does not say that others may read it; nobody granted \
                that; wild app add shop --deploy --grant blog.token --grant vault.root";
    refused(world.act(&granting(add("shop", Deploy::Now), &["blog.token"])), line);
    world.act(&granting(add("shop", Deploy::Now), &["blog.token", "vault.root"])).unwrap();
}

#[test]
fn an_undone_deletion_brings_back_grants_of_the_same_owners_only() {
    let mut world = world("defaultSecrets: [token]\n", "requiredSecrets: [news.token]\n");
    world.act(&granting(add("shop", Deploy::Now), &["blog.token"])).unwrap();
    world.past = Some(world.head().clone());
    world.act(&Request::Delete { app: app("shop"), data: DataFate::Keep }).unwrap();
    let back = Request::Rollback {
        app: app("shop"),
        to: crate::model::CommitId::parse(&"1".repeat(40)).unwrap(),
        reason: "oops".to_owned(),
        undoes: None,
    };
    world.act(&back).unwrap();
    assert_eq!(grants(&world), ["blog.token"]);
    world.act(&Request::Delete { app: app("shop"), data: DataFate::Keep }).unwrap();
    world.push(".wild/generated/blog.yaml", |text| text.replace("directory: wild", "directory: elsewhere"));
    world.act(&back).unwrap();
    assert_eq!(grants(&world), [""; 0]);
}

#[test]
fn a_package_without_such_needs_is_added_as_before() {
    let mut world = World::new();
    world.publish("blog", blog("1.0", plain));
    world.act(&add("blog", Deploy::Now)).unwrap();
    world.publish("blog", blog("1.1", plain));
    world.act(&update(None)).unwrap();
}
