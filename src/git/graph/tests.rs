//! Histories drawn by chance, walked by us and by the real git program.
//!
//! Not here: what a log says (`history/tests.rs`).

use super::super::fixture::{Instance, try_git};
use super::super::objects::Known;
use super::super::repository::open;
use super::*;

/// A history of commits, each with parents among those before it; clocks may go wrong.
struct History {
    instance: Instance,
    commits: Vec<Oid>,
}

fn draw(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).unwrap() % below
}

impl History {
    async fn drawn(mut seed: u64, goes_wrong: bool) -> Self {
        let instance = Instance::bare().await;
        let raw = open(instance.repository.git_dir()).unwrap();
        let odb = raw.odb().unwrap();
        let tree = odb.write(git2::ObjectType::Tree, b"").unwrap();
        let mut commits: Vec<Oid> = Vec::new();
        for number in 0..40 {
            let mut parents: Vec<Oid> = Vec::new();
            for _ in 0..[0, 1, 1, 1, 2, 2, 3][draw(&mut seed, 7)] {
                let at = commits.len().saturating_sub(1 + draw(&mut seed, 6));
                parents.extend(commits.get(at).filter(|id| !parents.contains(id)));
            }
            let wrong = if goes_wrong && draw(&mut seed, 4) == 0 { draw(&mut seed, 30) } else { 0 };
            let time = 1_000_000 + number * 10 - wrong * 10;
            let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
            let text =
                format!("tree {tree}\n{parents}author A <a@b> 1 +0000\ncommitter A <a@b> {time} +0000\n\n{number}\n");
            commits.push(odb.write(git2::ObjectType::Commit, text.as_bytes()).unwrap());
        }
        Self { instance, commits }
    }

    fn with<T>(&self, walk: impl FnOnce(&Graph<'_, '_>) -> T) -> T {
        let (raw, known) = (open(self.instance.repository.git_dir()).unwrap(), Known::default());
        let objects = Objects::of(&raw, &known).unwrap();
        walk(&Graph::of(&raw, &objects).unwrap())
    }

    fn git(&self, args: &[&str]) -> Vec<Oid> {
        let (_, text) = try_git(self.instance.repository.path(), args);
        text.lines().map(|line| Oid::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn merge_bases_and_ancestors_are_those_of_git_also_when_clocks_go_wrong() {
    for seed in 1..=4 {
        let history = History::drawn(seed, seed > 2).await;
        let mut drawn = seed * 77;
        for _ in 0..12 {
            let (one, other) = (history.commits[draw(&mut drawn, 40)], history.commits[draw(&mut drawn, 40)]);
            let bases = history.git(&["merge-base", "--all", &one.to_string(), &other.to_string()]);
            let ours = history.with(|graph| graph.merge_base(one, other).unwrap());
            match ours {
                Some(base) => assert!(bases.contains(&base), "{seed} {one} {other} {base} {bases:?}"),
                None => assert!(bases.is_empty(), "{seed} {one} {other} {bases:?}"),
            }
            let is_ancestor = bases == [one];
            assert_eq!(
                history.with(|graph| graph.is_ancestor(one, other).unwrap()),
                is_ancestor,
                "{seed} {one} {other}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_new_and_the_order_of_a_log_are_those_of_git() {
    for seed in 5..=7 {
        let history = History::drawn(seed, false).await;
        let tip = history.commits[39];
        let known = [history.commits[20], history.commits[30]];
        let mut new = history.with(|graph| graph.beyond(tip, known).unwrap());
        let not = known.map(|known| format!("^{known}"));
        let mut expected = history.git(&["rev-list", &tip.to_string(), &not[0], &not[1]]);
        new.sort();
        expected.sort();
        assert_eq!(new, expected, "{seed}");
        let order = history.with(|graph| graph.in_order(tip, 100).unwrap());
        assert_eq!(order, history.git(&["rev-list", "--date-order", &tip.to_string()]), "{seed}");
        let few = history.with(|graph| graph.in_order(tip, 3).unwrap());
        assert_eq!(few, order.into_iter().take(3).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_shallow_clone_ends_where_it_was_cut_off() {
    let history = History::drawn(9, false).await;
    let tip = history.commits[39];
    let parents = history.with(|graph| graph.parents(tip).unwrap());
    let text: String = parents.iter().map(|parent| format!("{parent}\n")).collect();
    std::fs::write(history.instance.repository.git_dir().join("shallow"), text).unwrap();
    assert_eq!(history.with(|graph| graph.in_order(tip, 100).unwrap()).len(), 1 + parents.len());
}
