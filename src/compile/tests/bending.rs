//! Pure. Repairing a history that was bent.
//!
//! Not here: the world (`tests`).

use super::{World, app, blog, summary, update};
use crate::compile::{Bent, Cause, Join, record_of, rejoin};

#[test]
fn a_generation_without_its_history_is_joined_and_no_file_changes() {
    let world = World::with_blog();
    let tip = world.sources(&app("blog")).tip.unwrap().commit;
    let proposal = rejoin(&app("blog"), &world.sources(&app("blog")), &Bent::Forgotten(tip.clone())).unwrap();
    let main = proposal.main.unwrap();
    assert!(proposal.generation.is_none() && main.changes.is_empty());
    assert_eq!(main.join, Join::Known(tip));
}

#[test]
fn a_generation_that_was_gone_back_to_becomes_the_newest_and_its_version_is_held() {
    let mut world = World::with_blog();
    let old = world.sources(&app("blog")).tip.unwrap();
    world.publish("blog", blog("1.1", |_, text| text.replace("Always", "OnFailure")));
    world.act(&update(None)).unwrap();
    let record = old.files.text(".wild/generated/blog.yaml").unwrap().to_owned();
    world.push(".wild/generated/blog.yaml", |_| record.clone());
    let proposal = rejoin(&app("blog"), &world.sources(&app("blog")), &Bent::Undone(old.clone())).unwrap();
    assert_eq!(proposal.generation.as_ref().unwrap().files, old.files);
    let line = format!("main chore(blog): join generation {} again Generation", old.commit.short());
    assert_eq!(summary(&proposal), ["generation blog: blog 1.0", line.as_str()]);
    let main = proposal.main.unwrap();
    let paths: Vec<&str> = main.changes.keys().map(|path| path.as_str()).collect();
    assert_eq!(paths, [".wild/generated/blog.yaml"]);
    let files = main.changes.into_iter().filter_map(|(path, file)| Some((path, file?))).collect();
    assert!(record_of(&files, &app("blog")).unwrap().unwrap().held.is_some());
}

#[test]
fn a_generation_that_is_lost_is_compiled_again_and_the_next_update_waits_for_a_person() {
    let mut world = World::with_blog();
    world.push("apps/blog/deployment.yaml", |text| text.replace("replicas: 1", "replicas: 3"));
    let chain = world.chains.remove("blog").unwrap();
    let then = world.head().clone();
    let proposal = rejoin(&app("blog"), &world.sources(&app("blog")), &Bent::Lost(then)).unwrap();
    assert_eq!(proposal.generation.as_ref().unwrap().files, chain.generations[0].files);
    let main = proposal.main.as_ref().unwrap();
    assert!(main.trailers.contains(&("Wild-Base".to_owned(), "approximated".to_owned())));
    assert_eq!(main.changes.keys().map(|path| path.as_str()).collect::<Vec<_>>(), [".wild/generated/blog.yaml"]);
    world.commit(&app("blog"), &proposal);
    world.publish("blog", blog("1.1", |_, text| text.replace("Always", "OnFailure")));
    assert!(world.run(&app("blog"), Cause::Upstream).unwrap().is_nothing(), "the merge bot leaves it");
    world.act(&update(None)).unwrap();
    let text = world.text("apps/blog/deployment.yaml");
    assert!(text.contains("replicas: 3") && text.contains("OnFailure"), "{text}");
}
