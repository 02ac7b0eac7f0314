//! Pure. The data of an app that is deleted: held, brought back, let go.

use std::time::Duration;

use serde_json::json;

use super::check;
use super::world::{World, claim, config, id, object};
use crate::base::Timestamp;
use crate::model::{ClusterName, HeldVolume, HoldStage, RecordState};
use crate::plan::volume::again;
use crate::plan::{ClaimState, ClaimedVolume, Held, Presence, Verb, VolumeState, plan};

fn volume(policy: &str) -> ClaimedVolume {
    let (name, uid, stays) = ("pv-1".into(), "uid-pv".into(), policy == "Retain");
    ClaimedVolume { name, uid, policy: policy.into(), stays, claim: claim("data") }
}

/// Returns the app as it goes with its data; its claim has a volume with this policy.
fn leaving(policy: &str) -> World {
    World::deployed(&[config("files", "1"), claim("data")]).with(|snapshot| {
        snapshot.presence = Presence::RemovedWithData;
        _ = snapshot.neighbours.insert("blog".into(), Vec::new());
        snapshot.volumes.insert(id("PersistentVolumeClaim/data"), Some(volume(policy)));
    })
}

fn held(stage: HoldStage, found: VolumeState, claim: ClaimState) -> Held {
    let ClaimedVolume { name, uid, policy, stays: _, claim: body } = volume("Delete");
    let since = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
    let until = Timestamp::parse("2026-11-27T12:00:00Z").unwrap();
    let cluster = ClusterName::default();
    let volume = HeldVolume { name, cluster, uid, policy, claim: body, since, until, stage };
    Held { volume, found: Ok(found), claim }
}

fn holding(world: World, stage: HoldStage, found: VolumeState, claim: ClaimState) -> World {
    world.with(|snapshot| snapshot.held = vec![held(stage, found, claim)])
}

#[test]
fn a_volume_is_told_to_stay_before_its_claim_goes() {
    let world = leaving("Delete");
    check(
        &world,
        &[
            "~ PersistentVolume pv-1 it is held until 2026-11-28",
            "- ConfigMap files its app was deleted",
            "- PersistentVolumeClaim data its app was deleted",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
    let planned = plan(&world.snapshot);
    assert!(planned.actions[1..].iter().all(|action| action.after == [0]), "{:#?}", planned.actions);
}

#[test]
fn what_a_volume_said_before_us_is_not_forgotten_by_a_second_try() {
    let again = holding(leaving("Retain"), HoldStage::Held, VolumeState::Bound, ClaimState::There);
    check(
        &again,
        &[
            "- ConfigMap files its app was deleted",
            "- PersistentVolumeClaim data its app was deleted",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
    // The process died before the volume was told.
    let half = holding(leaving("Delete"), HoldStage::Held, VolumeState::Bound, ClaimState::There);
    let planned = plan(&half.snapshot);
    let Verb::Hold { volume } = &planned.actions[0].verb else { panic!("{:#?}", planned.actions) };
    assert_eq!(volume.policy, "Delete");
    // A volume that said so by itself is held as well, so that its claim can come back.
    let own = plan(&leaving("Retain").snapshot);
    assert!(matches!(&own.actions[0].verb, Verb::Hold { volume } if volume.policy == "Retain"), "{own:#?}");
}

#[test]
fn a_claim_whose_volume_nobody_saw_stays() {
    let world = leaving("Delete").with(|snapshot| {
        snapshot.volumes.clear();
        snapshot.unseen.insert(id("PersistentVolumeClaim/data"), "volumes are forbidden".into());
    });
    check(
        &world,
        &[
            "- ConfigMap files its app was deleted",
            "! VolumeUnseen: PersistentVolumeClaim/data stays, because its volume could not be seen and held: volumes are forbidden",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
}

#[test]
fn without_a_grace_nothing_is_held() {
    let world = leaving("Delete").with(|snapshot| snapshot.policy.data_grace = Duration::ZERO);
    check(
        &world,
        &[
            "- ConfigMap files its app was deleted",
            "- PersistentVolumeClaim data its app was deleted",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
}

#[test]
fn a_held_volume_goes_when_its_time_is_over_and_not_before() {
    let gone = || World::new().with(|snapshot| snapshot.presence = Presence::RemovedWithData);
    let early = holding(gone(), HoldStage::Held, VolumeState::Free, ClaimState::Missing);
    check(&early, &[]);
    assert_eq!(plan(&early.snapshot).wake_at, Some(early.snapshot.held[0].volume.until));
    let late = |snapshot: &mut crate::plan::Snapshot| snapshot.now = Timestamp::parse("2026-11-28T12:00:00Z").unwrap();
    let over = "o PersistentVolume pv-1 the time is over for which it was held";
    check(&early.with(late), &[over]);
    // Its claim is there, whoever made it: nothing is in a hurry.
    let used = holding(gone(), HoldStage::Held, VolumeState::Bound, ClaimState::There);
    check(&used.with(late), &[]);
    let lost = holding(gone(), HoldStage::Held, VolumeState::Gone, ClaimState::Missing);
    check(&lost, &["o PersistentVolume pv-1 it is gone"]);
    let unasked = World::deployed(&[config("files", "1")]);
    let fresh = holding(unasked, HoldStage::Held, VolumeState::Free, ClaimState::Missing);
    check(&fresh.with(late), &[over, "= 2 unchanged"]);
}

#[test]
fn a_claim_comes_back_before_anything_else_of_its_app() {
    let wanted = || World::new().wants(&config("files", "1")).wants(&claim("data"));
    let world = holding(wanted(), HoldStage::Returning, VolumeState::Free, ClaimState::Missing);
    check(
        &world,
        &[
            "+ Namespace blog new in ccccccc",
            "+ PersistentVolumeClaim data it comes back with its volume pv-1",
            "… ConfigMap/files waits until PersistentVolumeClaim/data is healthy",
            "… PersistentVolumeClaim/data waits until PersistentVolumeClaim/data is healthy",
        ],
    );
    assert_eq!(plan(&world.snapshot).actions[1].after, [0]);
    let late = world.with(|snapshot| snapshot.now = Timestamp::parse("2027-11-28T12:00:00Z").unwrap());
    assert_eq!(plan(&late.snapshot).actions.len(), 2, "what a person asked for does not end by the clock");
    let back = World::deployed(&[config("files", "1"), claim("data")]);
    let bound = holding(back, HoldStage::Returning, VolumeState::Bound, ClaimState::There);
    check(&bound, &["o PersistentVolume pv-1 its claim is back", "= 3 unchanged"]);
    let pending = holding(bound, HoldStage::Returning, VolumeState::Free, ClaimState::There);
    check(&pending, &["= 3 unchanged"]);
    assert!(plan(&pending.snapshot).wake_at.is_some());
}

#[test]
fn what_cannot_come_back_is_told_and_holds_nothing_up() {
    let wanted = || World::deployed(&[claim("data")]);
    let lost = holding(wanted(), HoldStage::Returning, VolumeState::Gone, ClaimState::Missing);
    check(
        &lost,
        &[
            "o PersistentVolume pv-1 it is gone",
            "i PersistentVolumeClaim/data cannot come back: its volume pv-1 is gone",
            "= 2 unchanged",
        ],
    );
    let other = holding(wanted(), HoldStage::Returning, VolumeState::Free, ClaimState::Another);
    check(&other, &["i PersistentVolumeClaim/data is there with another volume; pv-1 stays as it is", "= 2 unchanged"]);
    let unseen = World::new().wants(&claim("data")).with(|snapshot| {
        let unseen = held(HoldStage::Returning, VolumeState::Free, ClaimState::Missing);
        snapshot.held = vec![Held { found: Err("forbidden".into()), ..unseen }];
    });
    check(
        &unseen,
        &[
            "+ Namespace blog new in ccccccc",
            "! VolumeUnseen: the volume pv-1 that is held for it could not be seen: forbidden",
            "… PersistentVolumeClaim/data waits until is healthy",
        ],
    );
}

#[test]
fn a_deletion_that_is_under_way_is_not_held_again() {
    let world = leaving("Retain").record("PersistentVolumeClaim/data", |record| record.state = RecordState::Deleting);
    let world = world.live("PersistentVolumeClaim/data", |live| live.terminating = true);
    let world = holding(world, HoldStage::Held, VolumeState::Bound, ClaimState::Leaving);
    check(
        &world,
        &[
            "- ConfigMap files its app was deleted",
            "… PersistentVolumeClaim/data is being deleted",
            "i Namespace/blog waits until what needs it is gone",
        ],
    );
}

#[test]
fn a_claim_comes_back_as_it_was_asked_for_and_on_its_volume() {
    let mut body = claim("data").to_value();
    body["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes",
        "volume.kubernetes.io/storage-provisioner": "x", "note": "mine", "rewild.dev/hash": "v1.x"});
    body["metadata"]["labels"] = json!({"tier": "a", "rewild.dev/app": "blog"});
    body["metadata"]["uid"] = json!("u");
    body["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
    body["spec"]["dataSource"] = json!({"kind": "VolumeSnapshot", "name": "s"});
    let mut held = held(HoldStage::Held, VolumeState::Free, ClaimState::Missing).volume;
    held.claim = object(body);
    let expected = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "blog", "annotations": {"note": "mine"}, "labels": {"tier": "a"}},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv-1"},
    });
    assert_eq!(again(&held).to_value(), expected);
}
