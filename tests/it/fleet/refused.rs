//! What two instances of one repository cannot be, and pushes that a hook refuses.

use std::path::Path;

use rewild::git;
use rewild::model::{InstanceName, Subdirectory};
use rewild::settings::InstanceEntry;

use super::{Fleet, PLACES, open};

/// Starts a daemon with a third instance, and returns why that one is not open while the others are.
async fn refusal(fleet: &Fleet, change: impl FnOnce(&mut InstanceEntry)) -> String {
    let mut settings = fleet.settings.clone();
    let mut third = settings.instances[0].clone();
    third.name = InstanceName::parse("third").unwrap();
    change(&mut third);
    settings.instances.push(third);
    let daemon = open(&settings, &fleet.root).await.unwrap();
    let open: Vec<String> = daemon.instances().iter().map(|handle| handle.instance().name.to_string()).collect();
    assert_eq!(open, ["cabin", "home"], "the others work");
    let closed = daemon.closed();
    daemon.stop().await;
    assert_eq!(closed.len(), 1, "{closed:?}");
    format!("{}: {}", closed[0].refusal.what, closed[0].refusal.because)
}

/// Returns the instances that are open, and of those that are not why.
fn standing(fleet: &Fleet) -> (Vec<String>, Vec<String>) {
    let open = fleet.daemon.instances().iter().map(|handle| handle.instance().name.to_string()).collect();
    let closed = fleet.daemon.closed().into_iter();
    (open, closed.map(|closed| format!("{}: {}", closed.entry.name, closed.refusal.because)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_directory_goes_or_becomes_another_one_stops_itself_alone() {
    let mut fleet = Fleet::start("stonedb 15.5").await;
    git::hook::install(&fleet.repository, Path::new(env!("CARGO_BIN_EXE_wild"))).await.unwrap();
    let [(home, _, home_id), (cabin, _, cabin_id)] = PLACES;
    let push = "git add -A && git commit -qm x && git push -q origin main";
    for (script, expected) in [
        (format!("cp -r {cabin} clusters/copy"), format!("instanceId {cabin_id} is that of the instance in {cabin}")),
        (
            format!("git mv {home} clusters/x; git mv {cabin} {home}; git mv clusters/x {cabin}"),
            format!("instanceId would change from {home_id} to {cabin_id}"),
        ),
        (
            format!("git rm -q {home}/.wild/config.yaml"),
            format!("the settings with instanceId {home_id} would be gone"),
        ),
    ] {
        let (pushed, said) = fleet.in_a_clone(&format!("{script}; {push}"));
        assert!(!pushed && said.contains("instance/identity") && said.contains(&expected), "{script}: {said}");
    }

    // It goes as a whole, and comes back in two pushes as the other one.
    let (pushed, said) = fleet.in_a_clone(&format!("git rm -rq {home}; {push}"));
    assert!(pushed, "{said}");
    fleet.restart().await;
    let gone = format!("home: its branch main holds no {home}/.wild/config.yaml");
    assert_eq!(standing(&fleet), (vec!["cabin".to_owned()], vec![gone]));
    let (pushed, said) = fleet.in_a_clone(&format!("git mv {cabin} {home}; {push}"));
    assert!(pushed, "{said}");
    fleet.daemon.open_closed().await;
    let other =
        format!("home: its settings have the instanceId {cabin_id}, and the instance that lives here is {home_id}");
    assert_eq!(standing(&fleet), (vec!["cabin".to_owned()], vec![other]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_instance_that_would_share_what_cannot_be_shared_is_refused() {
    let fleet = Fleet::start("stonedb 15.5").await;
    let settings = fleet.file("main", "clusters/home/.wild/config.yaml").await.unwrap();
    fleet.push("a copy", &[("clusters/lab/.wild/config.yaml", Some(&settings))]).await;
    fleet.daemon.stop().await;
    let at =
        |place: &'static str| move |third: &mut InstanceEntry| third.subdirectory = Subdirectory::parse(place).unwrap();
    let check = async |change: Box<dyn FnOnce(&mut InstanceEntry)>, expected: &str| {
        let refused = refusal(&fleet, change).await;
        assert!(refused.starts_with("open the instance third") && refused.contains(expected), "{refused}");
    };
    check(Box::new(at("clusters/home")), "the instance home lives in clusters/home of the same repository").await;
    check(Box::new(at("")), "the instance home lives in clusters/home, and one cannot lie inside another").await;
    check(Box::new(at("clusters")), "the instance home lives in clusters/home, and one cannot lie inside another")
        .await;
    check(Box::new(at("clusters/cabin/sub")), "the instance cabin lives in clusters/cabin, and one cannot lie").await;
    check(Box::new(at("clusters/none")), "its branch main holds no clusters/none/.wild/config.yaml").await;
    let theirs = "its settings have the instanceId k3f7q2m5xd, which is that of the instance in clusters/home of /";
    check(Box::new(at("clusters/lab")), theirs).await;
    let on_another = |third: &mut InstanceEntry| {
        at("clusters/lab")(third);
        third.branch = "other".to_owned();
    };
    check(Box::new(on_another), "the instance home of the same repository has the branch main").await;
    let beside_a_remote = |third: &mut InstanceEntry| {
        at("clusters/lab")(third);
        third.remote = "/srv/elsewhere.git".to_owned();
    };
    check(Box::new(beside_a_remote), "the remote of the instance home of the same repository is none").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hooks_check_every_instance_that_a_push_touches() {
    let fleet = Fleet::start("stonedb 15.5").await;
    git::hook::install(&fleet.repository, Path::new(env!("CARGO_BIN_EXE_wild"))).await.unwrap();
    let [(home, ..), (cabin, ..)] = PLACES;
    let before = fleet.head().await;
    for (script, expected) in [
        (format!("echo 'apps: [' >> {cabin}/config.yaml"), format!("{cabin}/config.yaml:")),
        (
            format!("mkdir -p {home}/apps/Bad && echo 'a: 1' > {home}/apps/Bad/a.yaml"),
            format!("{home}/apps/Bad: app/name"),
        ),
        (format!("echo 'a: b' > {home}/secrets.yaml"), format!("{home}/secrets.yaml: secret/plaintext")),
        (format!("mkdir .wild && cp {home}/.wild/config.yaml .wild"), ".wild/config.yaml: instance/nested".to_owned()),
    ] {
        // What is right in the other instance does not get in with it.
        let script = format!(
            "echo 'note: 1' >> {home}/config.yaml\n{script}\ngit add -A -f && git commit -qm bad && git push -q origin main"
        );
        let (pushed, said) = fleet.in_a_clone(&script);
        assert!(!pushed && said.contains(&expected), "{expected}: {said}");
        assert_eq!(fleet.head().await, before);
    }
    let script = format!(
        "echo 'note: 1' | tee -a {home}/config.yaml >> {cabin}/config.yaml\ngit commit -qam good && git push -q origin main"
    );
    let (pushed, said) = fleet.in_a_clone(&script);
    assert!(pushed, "{said}");
    assert_ne!(fleet.head().await, before);
}
