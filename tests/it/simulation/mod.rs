//! F33: a process dies between any two requests, or an answer is lost, and the next one ends where an undisturbed one does.
//!
//! Two instances take in the same commits, drawn from a seed: one in peace, one whose process dies again and again. After each commit they must
//! be alike, each object written, made and deleted as often in one as in the other, and each Job run as often. `WILD_LONG` asks for the full
//! count. Not here: a whole daemon that is killed (`tests/it/faults`), what watches tell wrongly (`weather.rs`).

mod apps;
mod home;
mod target;

use std::collections::BTreeMap;

use futures::future::join_all;
use rewild::model::ObjectId;
use serde_json::{Value, json};

use crate::faults::chaos::Dice;
use apps::{Hand, change, first};
use home::Home;
use target::Loss;

/// Losses of an ordinary run.
const POINTS: usize = 300;
/// Losses of a long run.
const LONG: usize = 20_000;
/// Instances side by side, each with a seed of its own.
const SEEDS: [u64; 2] = [20_261_124, 42];
/// Most losses after one commit.
const MOST: u64 = 3;
const LOSSES: [Loss; 3] = [Loss::Before, Loss::After, Loss::Answer];

/// Returns the objects without what differs from one life to another.
fn alike(objects: BTreeMap<ObjectId, Value>) -> BTreeMap<ObjectId, Value> {
    let without = |(id, mut object): (ObjectId, Value)| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in ["uid", "resourceVersion"] {
            metadata.shift_remove(key);
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry["time"] = json!("");
        }
        (id, object)
    };
    objects.into_iter().map(without).collect()
}

fn shown(calm: &Home, stormy: &Home) -> String {
    format!("in peace\n{}\nin the storm\n{}", calm.told, stormy.told)
}

/// Checks that both instances came to the same by the same deeds, and that each remembers what is there.
async fn compare(calm: &Home, stormy: &Home, what: &str) {
    for home in [calm, stormy] {
        home.memory_is_true().await;
    }
    let (expected, found) = (alike(calm.cluster.objects()), alike(stormy.cluster.objects()));
    for id in expected.keys().chain(found.keys()) {
        assert_eq!(found.get(id), expected.get(id), "{what}: {id} is another than in peace\n{}", shown(calm, stormy));
    }
    let (expected, found) = (calm.cluster.deeds(), stormy.cluster.deeds());
    assert_eq!(found.1, expected.1, "{what}: Jobs ran more often or less\n{}", shown(calm, stormy));
    for deed in expected.0.keys().chain(found.0.keys()) {
        let [found, expected] = [found.0.get(deed), expected.0.get(deed)];
        assert_eq!(found, expected, "{what}: {deed:?} was done more often or less\n{}", shown(calm, stormy));
    }
}

/// Lives through so many losses.
async fn live(seed: u64, points: usize) {
    let (mut dice, mut wishes) = (Dice(seed), first());
    let (mut calm, mut stormy) = (Home::new().await, Home::new().await);
    let stranger = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stranger", "namespace": "three"}, "data": {"a": "b"}});
    let (mut lost, mut number) = (0, 0);
    while lost < points {
        number += 1;
        let hand = if number == 1 { Hand::Nothing } else { change(&mut wishes, &mut dice, number) };
        for home in [&mut calm, &mut stormy] {
            home.commit(&wishes);
            if let Hand::Deletes(id) = &hand {
                home.cluster.vanish(id);
            }
        }
        calm.cluster.count();
        calm.settle(&[]).await;
        let requests = u64::try_from(calm.cluster.counted()).unwrap();
        let mut loss = || (usize::try_from(1 + dice.roll(requests)).unwrap(), dice.of(&LOSSES));
        let losses: Vec<(usize, Loss)> = (0..MOST).map(|_| loss()).collect();
        lost += stormy.settle(&losses).await;
        compare(&calm, &stormy, &format!("seed {seed}, commit {number}, {losses:?}")).await;
        if number == 1 {
            for home in [&calm, &stormy] {
                home.cluster.strange(stranger.clone());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_process_dies_the_next_one_ends_where_an_undisturbed_one_does() {
    let points = if std::env::var_os("WILD_LONG").is_some() { LONG } else { POINTS };
    let lives = SEEDS.map(|seed| tokio::spawn(live(seed, points / SEEDS.len())));
    for ended in join_all(lives).await {
        ended.unwrap();
    }
}
