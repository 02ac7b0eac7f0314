//! Pure. Laws that hold for every snapshot: one answer, sound plans, nothing left to do after an apply, no deletion in doubt.

use proptest::prelude::*;

use super::world::{World, claim, config, custom, deployment, desired, ending, id, job, managed, secret};
use crate::model::{AdoptPolicy, DriftPolicy, Object, OwnEntry, Prune, Record, RecordState};
use crate::plan::wanted::Wanted;
use crate::plan::{
    Action, ClaimState, Correct, Desired, DesiredObject, Freshness, Held, Live, NamespaceState, Owner, Plan, Presence,
    Snapshot, TargetState, Verb, VolumeState, lint, namespace, plan,
};

/// What happened to one object before the plan is made.
#[derive(Clone, Debug)]
struct Fate {
    wanted: bool,
    changed: bool,
    applied: Memory,
    live: Sight,
    stranger: Option<Owner>,
}

#[derive(Clone, Copy, Debug)]
enum Memory {
    Nothing,
    Known(RecordState),
}

#[derive(Clone, Copy, Debug)]
enum Sight {
    AsLeft,
    Gone,
    Edited,
    Anew,
    Terminating,
    Disowned,
}

/// The objects that a generated app may have, in an old or a new version.
fn catalogue(version: &str) -> Vec<Object> {
    vec![
        config("a", version),
        config("files", version),
        secret("keys", version),
        claim("data"),
        deployment("web", version),
        job("setup"),
        custom("Widget", "w"),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    let memory = prop_oneof![
        2 => Just(Memory::Nothing),
        5 => Just(Memory::Known(RecordState::Applied)),
        1 => Just(Memory::Known(RecordState::Intended)),
        1 => Just(Memory::Known(RecordState::Deleting)),
    ];
    let sight = prop_oneof![
        5 => Just(Sight::AsLeft),
        1 => Just(Sight::Gone),
        1 => Just(Sight::Edited),
        1 => Just(Sight::Anew),
        1 => Just(Sight::Terminating),
        1 => Just(Sight::Disowned),
    ];
    let stranger = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Owner::Nobody)),
        1 => Just(Some(Owner::App("shop".into()))),
        1 => Just(Some(Owner::Tool { tool: "Flux".into(), mark: "label x".into() })),
    ];
    (any::<bool>(), any::<bool>(), memory, sight, stranger)
        .prop_map(|(wanted, changed, applied, live, stranger)| Fate { wanted, changed, applied, live, stranger })
}

fn around() -> impl Strategy<Value = (Presence, DriftPolicy, AdoptPolicy, Freshness, bool, u8)> {
    let presence = prop_oneof![
        6 => Just(Presence::Kept),
        1 => Just(Presence::Added),
        1 => Just(Presence::RemovedKeepingData),
        1 => Just(Presence::RemovedWithData),
        1 => Just(Presence::Vanished),
        1 => Just(Presence::Moves),
    ];
    let drift = prop_oneof![Just(DriftPolicy::Correct), Just(DriftPolicy::Report), Just(DriftPolicy::Off)];
    let adopt = prop_oneof![Just(AdoptPolicy::Ask), Just(AdoptPolicy::Unowned)];
    let freshness = prop_oneof![
        6 => Just(Freshness::Fresh),
        1 => Just(Freshness::Stale),
        1 => Just(Freshness::Unwatched),
        1 => Just(Freshness::UnknownKind),
    ];
    (presence, drift, adopt, freshness, any::<bool>(), 0..12_u8)
}

prop_compose! {
    fn snapshot()(
        fates in proptest::collection::vec(fate(), 7),
        (presence, drift, adopt, freshness, correct, trouble) in around(),
    ) -> Snapshot {
        let mut world = World::deployed(&[]);
        for ((old, new), fate) in catalogue("1").iter().zip(catalogue("2")).zip(fates) {
            world = lived(world, old, &new, fate);
        }
        let mut world = world
            .watch("apps", "Deployment", freshness)
            .with(|snapshot| {
                snapshot.presence = presence;
                snapshot.policy.drift = drift;
                snapshot.policy.adopt = adopt;
                snapshot.ask.correct = if correct { Correct::All } else { Correct::No };
            });
        world = in_trouble(world, trouble);
        world.snapshot
    }
}

/// Adds one object with what happened to it.
fn lived(mut world: World, old: &Object, new: &Object, fate: Fate) -> World {
    let short = old.id().short();
    if fate.wanted {
        world = world.wants(if fate.changed { new } else { old });
    }
    if let Memory::Known(state) = fate.applied {
        world = world.has(old).record(&short, |record| {
            record.state = state;
            if state == RecordState::Intended {
                record.uid.clear();
                record.hash.clear();
            }
        });
        world = match fate.live {
            Sight::AsLeft => world,
            Sight::Gone => world.loses(&short),
            Sight::Edited => world.live(&short, |live| live.fields = "edited".into()),
            Sight::Anew => world.live(&short, |live| live.uid = "anew".into()),
            Sight::Terminating => world.live(&short, |live| live.terminating = true),
            Sight::Disowned => world.live(&short, |live| live.fields.clear()),
        };
    } else if let Some(owner) = fate.stranger {
        world = world.exists(&short, owner);
    }
    world
}

fn in_trouble(world: World, trouble: u8) -> World {
    world.with(|snapshot| match trouble {
        0 => snapshot.target = TargetState::Unreachable { since: snapshot.now, why: String::new() },
        1 => snapshot.namespace_state = NamespaceState::Terminating(ending(None)),
        2 => snapshot.desired = Desired::Unreadable(Vec::new()),
        3 => snapshot.missing_secrets.push("apps.blog.password".into()),
        4 => _ = snapshot.neighbours.insert("blog".into(), Vec::new()),
        5 => snapshot.dependents.push("shop".to_owned().try_into().unwrap()),
        6 => {
            snapshot.requirements.push(crate::plan::RequirementState { reference: "db".into(), app: None, waits: None })
        }
        _ => {}
    })
}

/// Returns the snapshot after a target did what a plan says and record stored it, with every deletion finished.
fn after(snapshot: &Snapshot, plan: &Plan) -> Snapshot {
    let mut next = snapshot.clone();
    // The watches that the apply opened are fresh, and what was deleted is gone.
    for freshness in next.freshness.values_mut().filter(|freshness| **freshness != Freshness::UnknownKind) {
        *freshness = Freshness::Fresh;
    }
    next.live.retain(|_, live| !live.terminating);
    for id in &plan.forgotten {
        next.inventory.remove(id);
    }
    for record in &plan.recovered {
        next.inventory.insert(record.clone());
    }
    for action in &plan.actions {
        match &action.verb {
            Verb::Apply { payload, force: _ } => applied(&mut next, action, payload),
            Verb::Delete { propagation: _ } => {
                next.live.remove(&action.object);
                next.inventory.remove(&action.object);
            }
            Verb::Release => {
                next.live.remove(&action.object);
                next.inventory.remove(&action.object);
            }
            Verb::Free { finalizers: _ } => next.namespace_state = NamespaceState::Missing,
            Verb::Hold { volume } => next.held.push(Held {
                volume: volume.clone(),
                found: Ok(VolumeState::Free),
                claim: ClaimState::Missing,
            }),
            Verb::Return { volume } => {
                for held in next.held.iter_mut().filter(|held| held.volume == *volume) {
                    (held.found, held.claim) = (Ok(VolumeState::Bound), ClaimState::There);
                }
            }
            Verb::LetGo { volume } => next.held.retain(|held| held.volume != *volume),
        }
    }
    next
}

fn applied(next: &mut Snapshot, action: &Action, payload: &Object) {
    let OwnEntry { fields, time } = OwnEntry::of(Some(&managed(payload)));
    let uid = action.uid.clone().unwrap_or_else(|| format!("new-{}", action.object.name));
    next.existing.remove(&action.object);
    next.inventory.insert(Record {
        id: action.object.clone(),
        cluster: Default::default(),
        api_version: action.api_version.clone(),
        state: RecordState::Applied,
        uid: uid.clone(),
        hash: action.hash.clone(),
        fields: fields.clone(),
        time: time.clone(),
        generation: 1,
        created: action.uid.is_none(),
        commit: None,
        audited: String::new(),
    });
    let live = Live {
        uid,
        resource_version: "2".into(),
        generation: 1,
        fields,
        time,
        terminating: false,
        leaving: None,
        health: None,
        changed: None,
        managed: None,
        baseline: String::new(),
        entered: false,
        unspoken: false,
        template: None,
        prune: Prune::ByKind,
        hold: String::new(),
        depends_on: String::new(),
        whole: None,
        hash: action.hash.clone(),
    };
    next.live.insert(action.object.clone(), live);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn one_snapshot_gives_one_plan_and_a_sound_one(snapshot in snapshot()) {
        let planned = plan(&snapshot);
        prop_assert_eq!(&plan(&snapshot), &planned);
        prop_assert_eq!(lint(&snapshot, &planned), Vec::<String>::new());
    }

    #[test]
    fn the_order_in_which_objects_were_read_does_not_matter(snapshot in snapshot()) {
        let mut turned = snapshot.clone();
        if let Desired::Objects(objects) = &mut turned.desired {
            objects.reverse();
        }
        prop_assert_eq!(plan(&turned).actions, plan(&snapshot).actions);
    }

    #[test]
    fn after_an_apply_nothing_is_left_to_do(snapshot in snapshot()) {
        // Stages of a farewell are passes of their own; three are enough for the longest.
        let mut next = snapshot;
        for _ in 0..4 {
            let planned = plan(&next);
            next = after(&next, &planned);
        }
        let last = plan(&next);
        prop_assert_eq!(last.actions, vec![]);
        prop_assert_eq!(last.forgotten, vec![]);
        prop_assert_eq!(last.recovered, vec![]);
    }

    #[test]
    fn nothing_is_deleted_in_doubt(snapshot in snapshot()) {
        let doubts: [fn(&mut Snapshot); 5] = [
            |it| it.desired = Desired::Unreadable(Vec::new()),
            |it| it.desired = Desired::Objects(Vec::new()),
            |it| it.target = TargetState::Unreachable { since: it.now, why: String::new() },
            |it| it.presence = Presence::Vanished,
            |it| it.freshness.clear(),
        ];
        for doubt in doubts {
            let mut doubtful = snapshot.clone();
            doubtful.presence = Presence::Kept;
            doubt(&mut doubtful);
            let planned = plan(&doubtful);
            let deletes = planned.actions.iter().filter(|action| !matches!(action.verb, Verb::Apply { .. })).count();
            prop_assert_eq!(deletes, 0);
        }
    }

    #[test]
    fn a_change_of_one_object_writes_only_that_object(position in 0..7_usize) {
        let old = catalogue("1");
        let mut world = World::deployed(&old);
        let changed = old.get(position).unwrap();
        let mut object = changed.clone();
        object.set_annotation("note", "changed");
        world = world.drops(&changed.id().short()).wants(&object);
        let planned = plan(&world.snapshot);
        let written: Vec<_> = planned.actions.iter().map(|action| action.object.clone()).collect();
        prop_assert_eq!(written, vec![changed.id()]);
    }
}

#[test]
fn a_thousand_objects_are_planned_in_one_go() {
    let objects: Vec<Object> = (0..1_000).map(|number| config(&format!("c{number}"), "1")).collect();
    let world = objects.iter().fold(World::new(), |world, object| world.wants(object));
    assert_eq!(plan(&world.snapshot).actions.len(), 1_001);
}

#[test]
fn a_derived_namespace_is_the_same_for_everybody() {
    let derived: DesiredObject = namespace::derived("blog");
    assert_eq!(derived.object.id(), id("Namespace/blog"));
    assert_eq!(derived.hash, namespace::derived("blog").hash);
    assert_ne!(derived.hash, namespace::derived("shop").hash);
    assert_eq!(Wanted::new(&World::new().snapshot, &derived).source, "");
    assert_ne!(desired(&derived.object).file, "");
}
