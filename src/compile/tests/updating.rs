//! Pure. New versions of a package, conflicts and their decisions.
//!
//! Not here: config alone (`changing`).

use serde_json::json;

use super::{World, app, blog, refused, set, summary, take, update};
use crate::compile::{Authors, Cause, record_of};
use crate::model::{Request, Take};

const LIST: &str = ".wild/conflicts/blog.yaml";
const DEPLOYMENT: &str = "apps/blog/deployment.yaml";

fn policy(name: &str, text: &str) -> String {
    if name == "deployment.yaml" {
        text.replace("restartPolicy: Always", "restartPolicy: OnFailure")
    } else {
        text.to_owned()
    }
}

fn grown(name: &str, text: &str) -> String {
    let limit = "memory: \"{{ .memory }}\"";
    if name == "deployment.yaml" { policy(name, &text.replace(limit, "memory: 2Gi")) } else { text.to_owned() }
}

/// A person gave the app more memory; upstream gave it other memory and another restart policy.
fn in_conflict() -> World {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("memory: \"1Gi\"", "memory: 4Gi"));
    world.publish("blog", blog("1.1", grown));
    world
}

#[test]
fn an_update_without_conflict_is_one_merge_commit() {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 3"));
    world.publish("blog", blog("1.1", policy));
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.1", "main upgrade(blog): 1.0 -> 1.1 Generation"]);
    assert_eq!(proposal.summary, ["blog 1.0 -> 1.1: 2 files changed, 1 config key changed"]);
    let text = world.text(DEPLOYMENT);
    for part in ["replicas: 3", "blog:1.1", "restartPolicy: OnFailure"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(world.text("config.yaml").contains("image: blog:1.1"));
    assert_eq!(world.chains["blog"].joined, 2);
}

#[test]
fn the_merge_bot_updates_by_policy_and_leaves_a_pinned_app() {
    let mut world = World::with_blog();
    world.publish("blog", blog("1.1", policy));
    world.act(&update(Some("1.1"))).unwrap();
    world.publish("blog", blog("1.2", policy));
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
    world.act(&update(None)).unwrap();
    world.publish("blog", blog("1.3", policy));
    let proposal = world.run(&app("blog"), Cause::Upstream).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "upgrade(blog): 1.2 -> 1.3");
}

#[test]
fn the_merge_bot_leaves_apps_whose_policy_is_manual() {
    let mut world = World::with_blog();
    world.push(".wild/config.yaml", |text| text.replace("all", "manual"));
    world.publish("blog", blog("1.1", policy));
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
}

#[test]
fn an_update_to_what_is_installed_does_nothing_and_says_so() {
    let mut world = World::with_blog();
    let proposal = world.act(&update(None)).unwrap();
    assert!(proposal.is_nothing());
    assert_eq!(proposal.summary, ["blog is at 1.0, and nothing of it changed"]);
}

#[test]
fn other_files_under_the_same_version_are_told() {
    let told = |version: &str, change: fn(&str, &str) -> String| {
        let mut world = World::with_blog();
        world.publish("blog", blog(version, change));
        let findings = world.act(&update(None)).unwrap().diagnostics;
        findings.iter().filter(|finding| finding.id == "P013").map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = "apps/blog/manifest.yaml: P013: the files of blog changed upstream and its version is still 1.0";
    assert_eq!(told("1.0", policy), [expected]);
    assert_eq!(told("1.1", policy), [""; 0]);
}

#[test]
fn an_older_or_unknown_version_is_refused() {
    let mut world = World::with_blog();
    world.publish("blog", blog("1.1", policy));
    world.act(&update(None)).unwrap();
    refused(
        world.act(&update(Some("1.0"))),
        "user: update blog: 1.0 is older than 1.1, which is installed; wild app history blog",
    );
    refused(
        world.act(&update(Some("7"))),
        "user: read blog 7: there is no version 7; known are 1.0; wild directory outdated",
    );
}

#[test]
fn a_step_that_the_package_does_not_allow_is_blocked() {
    let mut world = World::with_blog();
    let path = "upgradePath:\n- from: \">=2\"\n";
    world.publish(
        "blog",
        blog("3.0", |name, text| if name == "manifest.yaml" { format!("{text}{path}") } else { text.to_owned() }),
    );
    refused(
        world.act(&update(None)),
        "blocked: update blog: 3.0 is reached from >=2 only, and 1.0 is installed; wild app update blog --to VERSION",
    );
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
}

#[test]
fn the_way_by_other_versions_is_named() {
    let mut world = World::with_blog();
    for (version, from) in [("2.0", ">=1 <2"), ("3.0", ">=2 <3")] {
        let path = format!("upgradePath:\n- from: \"{from}\"\n");
        let with_path =
            |name: &str, text: &str| if name == "manifest.yaml" { format!("{text}{path}") } else { text.to_owned() };
        world.publish("blog", blog(version, with_path));
    }
    refused(
        world.act(&update(None)),
        "blocked: update blog: 3.0 is reached from >=2 <3 only, and 1.0 is installed; the way is 2.0, 3.0; wild app \
         update blog --to 2.0",
    );
    world.act(&update(Some("2.0"))).unwrap();
}

#[test]
fn an_edited_value_stays_and_a_new_key_comes() {
    let mut world = World::with_blog();
    world.act(&set("title", json!("Roof"))).unwrap();
    let theme = |name: &str, text: &str| {
        if name == "manifest.yaml" {
            format!("{}  theme: dark\n", text.replace("Garden", "Yard"))
        } else {
            text.to_owned()
        }
    };
    world.publish("blog", blog("1.1", theme));
    let proposal = world.act(&update(None)).unwrap();
    assert!(world.text("config.yaml").contains("    title: Roof\n    memory: 1Gi\n    theme: dark\n"));
    let expected = "config key title keeps your value; its default moved: Garden → Yard";
    assert!(proposal.notices.iter().any(|notice| notice == expected), "{:?}", proposal.notices);
}

#[test]
fn a_default_that_moved_with_the_instances_own_config_is_no_change_of_the_package() {
    let mut world = World::new();
    let domain = |name: &str, text: &str| {
        if name == "manifest.yaml" { format!("{text}  domain: \"{{{{ .cloud.domain }}}}\"\n") } else { text.to_owned() }
    };
    world.publish("blog", blog("1.0", domain));
    world.act(&super::add("blog", crate::model::Deploy::Now)).unwrap();
    world.push("config.yaml", |text| text.replace("cloud:\n  domain: example.org", "cloud:\n  domain: other.org"));
    world.publish("blog", blog("1.1", domain));
    world.act(&update(None)).unwrap();
    assert!(world.text("config.yaml").contains("    domain: example.org\n"), "{}", world.text("config.yaml"));
}

#[test]
fn a_conflict_waits_on_a_branch_with_every_clean_change_and_main_stays() {
    let mut world = in_conflict();
    let before = world.head().clone();
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(
        summary(&proposal),
        [
            "generation blog: blog 1.1",
            "update upgrade(blog): 1.0 -> 1.1, 1 conflict open Generation",
            "Value apps/blog/deployment.yaml spec.template.spec.containers[name=blog].resources.limits.memory"
        ]
    );
    assert_eq!(world.head(), &before);
    let branch = &world.branch("blog").files;
    let text = branch.text(DEPLOYMENT).unwrap();
    assert!(text.contains("memory: 4Gi") && text.contains("restartPolicy: OnFailure"), "{text}");
    assert!(branch.text(LIST).unwrap().contains("mine: 4Gi"), "{}", branch.text(LIST).unwrap());
}

#[test]
fn the_last_decision_becomes_the_merge_commit_and_names_itself() {
    for (side, kept) in [(Take::Mine, "memory: 4Gi"), (Take::Upstream, "memory: 2Gi"), (Take::Base, "memory: \"1Gi\"")]
    {
        let mut world = in_conflict();
        let waiting = world.act(&update(None)).unwrap();
        let id = waiting.conflicts[0].id.clone();
        let proposal = world.act(&take(Some(&id), side)).unwrap();
        assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
        assert!(world.text(DEPLOYMENT).contains(kept));
        assert_eq!(record_of(world.head(), &app("blog")).unwrap().unwrap().version, "1.1");
        let trailers = proposal.main.unwrap().trailers;
        assert_eq!(trailers[2].0, "Wild-Resolution");
        assert!(trailers[2].1.starts_with(&id), "{trailers:?}");
        assert!(world.act(&update(None)).unwrap().is_nothing());
    }
}

/// Two conflicts, so that the first decision leaves one open.
fn in_two_conflicts() -> World {
    let mut world = in_conflict();
    world.push("apps/blog/service.yaml", |text| text.replace("port: 80", "port: 8080"));
    world.publish("blog", blog("1.2", |name, text| grown(name, &text.replace("port: 80", "port: 8443"))));
    world.act(&update(None)).unwrap();
    world
}

#[test]
fn a_decision_that_leaves_others_open_is_a_commit_on_the_branch() {
    let mut world = in_two_conflicts();
    let proposal = world.act(&take(Some("service.yaml"), Take::Upstream)).unwrap();
    assert_eq!(
        summary(&proposal),
        [
            "update upgrade(blog): 1.0 -> 1.2, 1 conflict open Generation",
            "Value apps/blog/deployment.yaml spec.template.spec.containers[name=blog].resources.limits.memory"
        ]
    );
    assert!(world.branch("blog").files.text("apps/blog/service.yaml").unwrap().contains("8443"));
    assert!(world.act(&update(None)).unwrap().is_nothing(), "a pass in between keeps the decision");
    let proposal = world.act(&take(None, Take::Mine)).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.2 Generation", "drop"]);
    assert!(world.text("apps/blog/service.yaml").contains("8443") && world.text(DEPLOYMENT).contains("4Gi"));
    assert_eq!(proposal.main.unwrap().trailers.len(), 4);
}

#[test]
fn decisions_hold_when_the_deployed_branch_moves_meanwhile() {
    let mut world = in_two_conflicts();
    world.act(&take(Some("service.yaml"), Take::Upstream)).unwrap();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 5"));
    world.act(&take(None, Take::Upstream)).unwrap();
    let text = world.text(DEPLOYMENT);
    assert!(text.contains("replicas: 5") && text.contains("memory: 2Gi"), "{text}");
    assert!(world.text("apps/blog/service.yaml").contains("8443"));
}

#[test]
fn a_side_written_into_the_list_by_hand_counts() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.push_update(LIST, |text| text.replace("take: null", "take: upstream"));
    let proposal = world.act(&Request::Resolve { app: app("blog"), decisions: Vec::new() }).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
    assert!(world.text(DEPLOYMENT).contains("memory: 2Gi"));
}

#[test]
fn lines_that_a_person_wrote_on_the_branch_are_taken() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.push_update(DEPLOYMENT, |text| text.replace("memory: 4Gi", "memory: 3Gi"));
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 5"));
    refused(
        world.act(&update(None)),
        "undecided: update blog: an update waits on its branch, and a person committed to it; wild app resolve blog",
    );
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
    let proposal = world.act(&Request::Resolve { app: app("blog"), decisions: Vec::new() }).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
    let text = world.text(DEPLOYMENT);
    assert!(text.contains("memory: 3Gi") && text.contains("replicas: 5") && text.contains("OnFailure"), "{text}");
    assert!(world.text("apps/blog/.package/manifest.yaml").contains("1.1"));
}

#[test]
fn a_conflict_that_nobody_decided_stays_open_on_an_edited_branch() {
    let mut world = in_two_conflicts();
    world.push_update(DEPLOYMENT, |text| text.replace("memory: 4Gi", "memory: 3Gi"));
    let proposal = world.act(&Request::Resolve { app: app("blog"), decisions: Vec::new() }).unwrap();
    assert!(proposal.main.is_none());
    assert_eq!(proposal.conflicts[0].path.as_str(), "apps/blog/service.yaml");
    assert_eq!(proposal.conflicts.len(), 1);
    // Our own commit is on top now, and what the person wrote still counts.
    world.updates.get_mut("blog").unwrap().authors = Authors::OnlyUs;
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing());
    world.act(&take(None, Take::Upstream)).unwrap();
    assert!(world.text(DEPLOYMENT).contains("memory: 3Gi") && world.text("apps/blog/service.yaml").contains("8443"));
}

#[test]
fn an_update_that_a_person_merged_with_plain_git_drops_its_branch() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    let mut files = world.branch("blog").files.clone();
    files.remove(&crate::base::RepoPath::parse(LIST).unwrap());
    world.main.push(files);
    world.chains.get_mut("blog").unwrap().joined = 2;
    let proposal = world.run(&app("blog"), Cause::Changed).unwrap();
    assert_eq!(summary(&proposal), ["drop"]);
}

#[test]
fn a_config_key_is_decided_on_an_edited_branch_too() {
    let mut world = World::with_blog();
    world.act(&set("title", json!("Roof"))).unwrap();
    let renamed =
        |_: &str, text: &str| text.replace("title: Garden", "titles: Garden").replace(".title }}", ".titles }}");
    world.publish("blog", blog("1.1", renamed));
    world.act(&update(None)).unwrap();
    world.push_update(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 2"));
    world.act(&take(Some("title"), Take::Base)).unwrap();
    assert!(world.text("config.yaml").contains("title: Garden"), "{}", world.text("config.yaml"));
    assert!(world.text(DEPLOYMENT).contains("replicas: 2"));
}

#[test]
fn finishing_with_open_conflicts_needs_a_decision() {
    let mut world = in_conflict();
    refused(world.act(&take(None, Take::Mine)), "user: resolve blog: no update of blog waits; wild app update blog");
    world.act(&update(None)).unwrap();
    refused(
        world.act(&Request::Resolve { app: app("blog"), decisions: Vec::new() }),
        "undecided: finish the update of blog: 1 conflict is open; wild app resolve blog",
    );
    assert!(world.act(&take(Some("nothing"), Take::Mine)).is_err());
}

#[test]
fn an_aborted_update_leaves_the_app_as_it_is() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    let proposal = world.act(&Request::Abort { app: app("blog") }).unwrap();
    assert_eq!(summary(&proposal), ["drop"]);
    refused(
        world.act(&Request::Abort { app: app("blog") }),
        "user: abort the update of blog: no update of blog waits; wild app update blog",
    );
}

#[test]
fn a_newer_version_takes_over_a_branch_that_only_we_wrote() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.publish("blog", blog("1.2", |name, text| grown(name, &text.replace("2Gi", "3Gi"))));
    let proposal = world.run(&app("blog"), Cause::Upstream).unwrap();
    assert_eq!(proposal.update.unwrap().subject, "upgrade(blog): 1.0 -> 1.2, 1 conflict open");
    assert_eq!(world.branch("blog").authors, Authors::OnlyUs);
}

#[test]
fn a_branch_that_only_we_wrote_is_merged_anew_when_the_deployed_branch_moves() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 5"));
    let proposal = world.run(&app("blog"), Cause::Changed).unwrap();
    assert_eq!(proposal.update.as_ref().unwrap().subject, "upgrade(blog): 1.0 -> 1.1, 1 conflict open");
    let text = world.branch("blog").files.text(DEPLOYMENT).unwrap();
    assert!(text.contains("replicas: 5") && text.contains("blog:1.1"), "{text}");
    assert!(world.text(DEPLOYMENT).contains("blog:1.0"), "the deployed branch stays");
}

#[test]
fn a_branch_that_a_person_committed_to_gets_the_deployed_branch_merged_in() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.push_update(DEPLOYMENT, |text| text.replace("memory: 4Gi", "memory: 3Gi"));
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 5"));
    let proposal = world.run(&app("blog"), Cause::Changed).unwrap();
    assert_eq!(summary(&proposal), ["update chore(blog): bring the deployed branch into the update None"]);
    let text = world.branch("blog").files.text(DEPLOYMENT).unwrap().to_owned();
    assert!(text.contains("replicas: 5") && text.contains("memory: 3Gi") && text.contains("blog:1.1"), "{text}");
    // Where both changed the same the branch stays.
    world.push(DEPLOYMENT, |text| text.replace("memory: 4Gi", "memory: 6Gi"));
    assert!(world.run(&app("blog"), Cause::Changed).unwrap().is_nothing());
    assert_eq!(world.branch("blog").files.text(DEPLOYMENT), Some(text.as_str()));
}

#[test]
fn a_branch_whose_conflict_is_gone_is_merged_and_dropped() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    world.push(DEPLOYMENT, |text| text.replace("memory: 4Gi", "memory: 2Gi"));
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
}

#[test]
fn config_may_change_while_an_update_waits() {
    let mut world = in_conflict();
    world.act(&update(None)).unwrap();
    let proposal = world.act(&set("title", json!("Roof"))).unwrap();
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", "main config(blog): title Generation"]);
    assert!(!world.updates.is_empty());
    let proposal = world.act(&take(None, Take::Upstream)).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
    let text = world.text(DEPLOYMENT);
    assert!(text.contains("value: \"Roof\"") && text.contains("memory: 2Gi") && text.contains("blog:1.1"), "{text}");
}

#[test]
fn a_renamed_config_key_waits_for_a_decision() {
    let mut world = World::with_blog();
    world.act(&set("title", json!("Roof"))).unwrap();
    let renamed =
        |_: &str, text: &str| text.replace("title: Garden", "titles: Garden").replace(".title }}", ".titles }}");
    world.publish("blog", blog("1.1", renamed));
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(proposal.conflicts[0].key, "title");
    let proposal = world.act(&take(Some("title"), Take::Upstream)).unwrap();
    assert_eq!(summary(&proposal), ["main upgrade(blog): 1.0 -> 1.1 Generation", "drop"]);
    assert!(!world.text("config.yaml").contains("title: "), "{}", world.text("config.yaml"));
    assert!(world.text("config.yaml").contains("titles: Garden"));
}

#[test]
fn sides_that_build_alone_and_not_together_keep_ours_whole() {
    let mut world = World::with_blog();
    // A person lets the kustomization make a ConfigMap; upstream brings one of the same name.
    world.push("apps/blog/kustomization.yaml", |text| {
        format!(
            "{text}configMapGenerator:\n- name: front\n  literals: [a=b]\n  options: {{disableNameSuffixHash: true}}\n"
        )
    });
    let with = |name: &str, text: &str| match name {
        "kustomization.yaml" => text.replace("- service.yaml\n", "- service.yaml\n- ingress.yaml\n"),
        _ => text.to_owned(),
    };
    let mut files = blog("1.1", with);
    let ingress = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: front\n";
    files.insert(crate::base::RepoPath::parse("ingress.yaml").unwrap(), crate::model::File::text(ingress));
    world.publish("blog", files);
    let before = world.text("apps/blog/kustomization.yaml").to_owned();
    let proposal = world.act(&update(None)).unwrap();
    let kinds: Vec<String> = proposal.conflicts.iter().map(|conflict| format!("{:?}", conflict.kind)).collect();
    assert_eq!(kinds, ["Semantic"]);
    let branch = &world.branch("blog").files;
    assert_eq!(branch.text("apps/blog/kustomization.yaml"), Some(before.as_str()));
    world.act(&take(None, Take::Upstream)).unwrap();
    assert!(world.text("apps/blog/kustomization.yaml").contains("ingress.yaml"));
    assert!(!world.text("apps/blog/kustomization.yaml").contains("configMapGenerator"));
}

#[test]
fn a_package_that_does_not_compile_leaves_the_app_as_it_is() {
    let mut world = World::with_blog();
    world.publish("blog", blog("1.1", |_, text| text.replace(".image", ".imgae")));
    let refusal = world.act(&update(None)).unwrap_err();
    assert_eq!(refusal.explanation().what, "compile blog 1.1");
    assert!(!refusal.explanation().diagnostics.is_empty());
    assert_eq!(world.chains["blog"].generations.len(), 1);
}

#[test]
fn a_version_that_breaks_a_rule_is_refused_and_the_installed_one_stays() {
    let mut world = World::with_blog();
    let twice = |name: &str, text: &str| match name {
        "deployment.yaml" => format!("{text}---\n{}", text.replace("name: blog\nspec", "name: other\nspec")),
        _ => text.to_owned(),
    };
    for version in ["1.0", "1.1"] {
        world.publish("blog", blog(version, twice));
        let refusal = world.act(&update(None)).unwrap_err();
        let ids: Vec<&str> = refusal.explanation().diagnostics.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["L004"], "{version}");
        assert_eq!(world.chains["blog"].generations.len(), 1);
    }
}

#[test]
fn the_same_version_with_other_content_is_an_update_too() {
    let mut world = World::with_blog();
    world.publish("blog", blog("1.0", policy));
    let proposal = world.act(&update(None)).unwrap();
    assert_eq!(proposal.main.unwrap().subject, "upgrade(blog): 1.0 at 0000000");
}

#[test]
fn a_file_renamed_upstream_carries_local_edits_and_its_entry() {
    let mut world = World::with_blog();
    world.push(DEPLOYMENT, |text| text.replace("replicas: 1", "replicas: 3"));
    let mut files =
        blog(
            "1.1",
            |name, text| {
                if name == "kustomization.yaml" { text.replace("deployment", "server") } else { text.to_owned() }
            },
        );
    let moved = files.remove(&crate::base::RepoPath::parse("deployment.yaml").unwrap()).unwrap();
    files.insert(crate::base::RepoPath::parse("server.yaml").unwrap(), moved);
    world.publish("blog", files);
    world.act(&update(None)).unwrap();
    assert!(world.text("apps/blog/server.yaml").contains("replicas: 3"));
    assert!(!world.head().contains(DEPLOYMENT));
}
