//! F33: a process dies between any two requests, or an answer is lost, and the next one ends where an undisturbed one does.
//!
//! Two instances take in the same commits, drawn from a seed: one in peace, one whose process dies again and again, now and then with its
//! store, while people have their hands on its objects. After each commit:
//!
//! - both clusters are alike, and each instance remembers what is there (I3, I4);
//! - each object was made, given new content and deleted as often in one as in the other, each Job ran as often (I5), and nothing was deleted
//!   that the plan did not list (I6). An object that a person deleted in the storm may have been made once more for each time, and changed or
//!   deleted once less;
//! - what a person changed was put right by one write, or went with what was wanted newly: neither never nor twice;
//! - a namespace of which a lost store knew that we made it was neither deleted nor made anew;
//! - at every write, whatever stands in an earlier wave or is depended on has its newest content and has been well with it.
//!
//! `WILD_LONG` asks for the full count, `WILD_SEED` for one seed. Not here: a whole daemon that is killed (`tests/it/faults`), what watches tell
//! wrongly (`weather.rs`).

mod apps;
mod hands;
mod home;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use rewild::model::ObjectId;
use rewild::plan::marks;
use serde_json::{Value, json};

use crate::faults::chaos::Dice;
use apps::{change, first, hand, hand_at_rest};
use hands::{Hand, Ledger};
use home::Home;
use target::{Deed, Loss};

/// Losses of an ordinary run.
const POINTS: usize = 300;
/// Losses of a long run.
const LONG: usize = 20_000;
/// Losses of a life that is lived twice.
const TWICE: usize = 20;
/// Seeds of an ordinary run, one for each instance; they live side by side.
const SEEDS: [u64; 2] = [20_261_124, 42];
/// Seeds of a long run.
const LONG_SEEDS: u64 = 8;
/// Most losses after one commit.
const MOST: u64 = 3;
/// Most times that a person does something after one commit, while passes are on their way.
const MOST_HANDS: u64 = 2;
const LOSSES: [Loss; 7] =
    [Loss::Before, Loss::Before, Loss::After, Loss::After, Loss::Answer, Loss::Answer, Loss::Store];

/// Counts by object and deed.
type Deeds = BTreeMap<(ObjectId, Deed), usize>;

/// What one life came to.
struct Life {
    seed: u64,
    commits: u64,
    losses: usize,
    stores: usize,
    edits: usize,
    deletions: usize,
    history: [u64; 2],
}

/// Returns the objects without what differs from one life to another.
fn alike(objects: BTreeMap<ObjectId, Value>, touched: &BTreeSet<ObjectId>) -> BTreeMap<ObjectId, Value> {
    let without = |(id, mut object): (ObjectId, Value)| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in ["uid", "resourceVersion"] {
            metadata.shift_remove(key);
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry["time"] = json!("");
        }
        if touched.contains(&id) {
            // What people do adds to it, and what is put right says of which commit that was.
            metadata.shift_remove("generation");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.shift_remove(marks::COMMIT);
            }
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                status.shift_remove("observedGeneration");
            }
        }
        (id, object)
    };
    objects.into_iter().map(without).collect()
}

fn shown(calm: &Home, stormy: &Home) -> String {
    format!("in peace\n{}\nin the storm\n{}", calm.told, stormy.told)
}

/// Checks that both instances came to the same by the same deeds, and that each remembers what is there. Returns what people did in the storm.
async fn compare(calm: &Home, stormy: &Home, what: &str) -> Ledger {
    for home in [calm, stormy] {
        home.memory_is_true().await;
    }
    let touched: BTreeSet<ObjectId> = calm.cluster.touched().union(&stormy.cluster.touched()).cloned().collect();
    let (expected, found) = (alike(calm.cluster.objects(), &touched), alike(stormy.cluster.objects(), &touched));
    for id in expected.keys().chain(found.keys()) {
        if stormy.orphans.contains(id) && !expected.contains_key(id) {
            continue;
        }
        assert_eq!(found.get(id), expected.get(id), "{what}: {id} is another than in peace\n{}", shown(calm, stormy));
    }
    let (expected, found) = (calm.cluster.deeds(), stormy.cluster.deeds());
    assert_eq!(found.1, expected.1, "{what}: Jobs ran more often or less\n{}", shown(calm, stormy));
    let ledgers = [calm, stormy].map(|home| home.cluster.ledger());
    ledgers.iter().for_each(|ledger| ledger.check(&format!("{what}\n{}", shown(calm, stormy))));
    let is_right = |deed: &(ObjectId, Deed)| is_as_often(deed, [&expected.0, &found.0], &ledgers, &stormy.orphans);
    let wrong = expected.0.keys().chain(found.0.keys()).find(|deed| !is_right(deed));
    if let Some(deed) = wrong {
        let [found, expected] = [found.0.get(deed), expected.0.get(deed)];
        panic!("{what}: {deed:?} was done {found:?} times and not {expected:?}\n{}", shown(calm, stormy));
    }
    let [_, ledger] = ledgers;
    ledger
}

/// Returns whether something was done as often in the storm as in peace.
fn is_as_often(
    (id, deed): &(ObjectId, Deed),
    deeds: [&Deeds; 2],
    ledgers: &[Ledger; 2],
    orphans: &BTreeSet<ObjectId>,
) -> bool {
    let [calm, stormy] = deeds.map(|deeds| deeds.get(&(id.clone(), *deed)).copied().unwrap_or(0));
    let [before, deletions] = ledgers.each_ref().map(|ledger| ledger.deletions.get(id).copied().unwrap_or(0));
    let more = deletions.saturating_sub(before);
    match deed {
        // The ledger counts them.
        Deed::Corrected => true,
        // One that outlived its app is taken back where in peace it is made anew.
        Deed::Changed if orphans.contains(id) => stormy <= calm + 1,
        Deed::Created | Deed::Deleted if orphans.contains(id) => stormy <= calm,
        Deed::Created => (calm..=calm + more).contains(&stormy),
        Deed::Changed | Deed::Deleted => (calm.saturating_sub(more)..=calm).contains(&stormy),
    }
}

/// Lives through so many losses.
async fn live(seed: u64, points: usize) -> Life {
    let (mut dice, mut wishes) = (Dice(seed), first());
    let (mut calm, mut stormy) = (Home::new().await, Home::new().await);
    let mut life = Life { seed, commits: 0, losses: 0, stores: 0, edits: 0, deletions: 0, history: [0; 2] };
    while life.losses < points {
        life.commits += 1;
        let mut at_rest = None;
        if life.commits > 1 {
            change(&mut wishes, &mut dice, life.commits);
            at_rest = hand_at_rest(&mut dice);
        }
        for home in [&mut calm, &mut stormy] {
            home.commit(&wishes);
            at_rest.iter().for_each(|hand| home.cluster.disturb(hand));
        }
        calm.cluster.count();
        calm.settle(&[]).await;
        let requests = u64::try_from(calm.cluster.counted()).unwrap();
        let mut arrival = |most: u64| usize::try_from(1 + dice.roll(most)).unwrap();
        let arrivals: Vec<usize> = (0..MOST).map(|_| arrival(requests)).collect();
        let losses: Vec<(usize, Loss)> = arrivals.into_iter().map(|arrival| (arrival, dice.of(&LOSSES))).collect();
        let hands: Vec<(usize, Hand)> = (0..dice.roll(MOST_HANDS + 1))
            .map(|_| (usize::try_from(1 + dice.roll(2 * requests)).unwrap(), hand(&mut dice)))
            .collect();
        let what = format!("seed {seed}, commit {}, {at_rest:?}, {losses:?}, {hands:?}", life.commits);
        stormy.cluster.expect_people(hands);
        life.losses += stormy.settle(&losses).await;
        stormy.cluster.expect_people(Vec::new());
        let ledger = compare(&calm, &stormy, &what).await;
        life.edits += ledger.edits.values().sum::<usize>();
        life.deletions += ledger.deletions.values().sum::<usize>();
        if dice.roll(2) == 0 {
            [&mut calm, &mut stormy].into_iter().for_each(Home::clean_up);
        }
    }
    life.stores = stormy.stores;
    life.history = [&calm, &stormy].map(|home| home.cluster.history());
    life
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_process_dies_the_next_one_ends_where_an_undisturbed_one_does() {
    let is_long = std::env::var_os("WILD_LONG").is_some();
    let seeds: Vec<u64> =
        if is_long { (0..LONG_SEEDS).map(|number| SEEDS[0] + number).collect() } else { SEEDS.into() };
    let points = if is_long { LONG } else { POINTS } / seeds.len();
    let seeds = std::env::var("WILD_SEED").map_or(seeds, |seed| vec![seed.parse().unwrap()]);
    let lives = seeds.iter().map(|seed| tokio::spawn(live(*seed, points)));
    for (seed, ended) in seeds.iter().zip(join_all(lives).await) {
        let again = if is_long { "WILD_LONG=1 " } else { "" };
        let life = ended.unwrap_or_else(|error| {
            panic!("{error}\nagain: {again}WILD_SEED={seed} cargo test --test it -- simulation::wherever")
        });
        let Life { seed, commits, losses, stores, edits, deletions, .. } = life;
        eprintln!(
            "seed {seed}: {commits} commits, {losses} losses, {stores} stores among them, {edits} edits, {deletions} deletions"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_has_one_history() {
    let lives = [live(SEEDS[0], TWICE), live(SEEDS[0], TWICE)];
    let histories: Vec<[u64; 2]> = join_all(lives).await.into_iter().map(|life| life.history).collect();
    assert_eq!(histories[0], histories[1]);
}
