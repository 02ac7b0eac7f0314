//! What two instances of one repository cannot be, and pushes that a hook refuses.

use std::path::Path;

use rewild::git;
use rewild::model::{InstanceName, Subdirectory};
use rewild::settings::InstanceEntry;

use super::{Fleet, PLACES, open};

/// Stops the daemon and returns why one with a third instance does not start.
async fn refusal(fleet: &Fleet, change: impl FnOnce(&mut InstanceEntry)) -> String {
    let mut settings = fleet.settings.clone();
    let mut third = settings.instances[0].clone();
    third.name = InstanceName::parse("third").unwrap();
    change(&mut third);
    settings.instances.push(third);
    let Err(error) = open(&settings, &fleet.root).await else { panic!("it started") };
    error.to_string()
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
    check(Box::new(at("clusters/lab")), "it has the instanceId k3f7q2m5xd, which is that of the instance home").await;
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
