//! Walks over the history of commits: ancestors, merge bases, what is new, the order of a log. Every commit is bounded before it is read.
//!
//! The walks are git's own: newest first, with marks that go down to the parents. Not here: what a commit says (`history.rs`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use git2::Oid;

use super::check_tree::{Refusal, hostile};
use super::error::{Error, io};
use super::objects::{Objects, oid_of};

/// Commits that one walk looks at; a repository of instances or packages has far fewer.
const MAX_COMMITS: usize = 500_000;
/// Size of the file that says where a shallow clone ends, in bytes.
const MAX_SHALLOW_BYTES: u64 = 4 * 1024 * 1024;

/// Reached from the first side.
const ONE: u8 = 1;
/// Reached from the other side.
const OTHER: u8 = 2;
/// Below a commit that both sides reach.
const STALE: u8 = 4;
/// Found as a common ancestor.
const COMMON: u8 = 8;

/// The history that a repository holds.
pub(super) struct Graph<'o, 'a> {
    objects: &'o Objects<'a>,
    /// Commits whose parents were left out of a shallow clone.
    cut_off: HashSet<Oid>,
}

/// Commits to look at, newest first, of the same time the first one first.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(i64, Reverse<usize>, Oid)>,
    count: usize,
}

impl Queue {
    fn push(&mut self, time: i64, id: Oid) {
        self.count += 1;
        self.heap.push((time, Reverse(self.count), id));
    }

    fn pop(&mut self) -> Option<Oid> {
        self.heap.pop().map(|(_, _, id)| id)
    }
}

/// A walk that carries marks down from several beginnings.
struct Marks {
    of: HashMap<Oid, u8>,
    queue: Queue,
    /// Entries of the queue whose commit lacks the mark that ends the walk.
    open: BTreeMap<Oid, usize>,
    end: u8,
}

impl<'o, 'a> Graph<'o, 'a> {
    /// Opens the history of a repository.
    pub(super) fn of(repository: &git2::Repository, objects: &'o Objects<'a>) -> Result<Self, Error> {
        let path = repository.commondir().join("shallow");
        let attempt = || format!("read {}", path.display());
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(io(attempt())(error)),
            Ok(found) if found.len() > MAX_SHALLOW_BYTES => {
                return Err(Error::Unusable { attempt: attempt(), reason: "it is larger than 4 MiB".to_owned() });
            }
            Ok(_) => std::fs::read_to_string(&path).map_err(io(attempt()))?,
        };
        let cut_off = text.lines().filter_map(|line| Oid::from_str(line).ok()).collect();
        Ok(Self { objects, cut_off })
    }

    /// Returns the parents of a commit that are here.
    pub(super) fn parents(&self, id: Oid) -> Result<Vec<Oid>, Refusal> {
        let links = self.objects.commit(id)?;
        Ok(if self.cut_off.contains(&id) { Vec::new() } else { links.parents.iter().map(oid_of).collect() })
    }

    fn time(&self, id: Oid) -> Result<i64, Refusal> {
        Ok(self.objects.commit(id)?.time)
    }

    /// Returns whether `ancestor` is `commit` or in its history.
    pub(super) fn is_ancestor(&self, ancestor: Oid, commit: Oid) -> Result<bool, Refusal> {
        Ok(ancestor == commit || self.common(ancestor, commit)?.contains(&ancestor))
    }

    /// Returns the newest of the best common ancestors of two commits.
    pub(super) fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, Refusal> {
        let found = self.common(one, other)?;
        let mut best = Vec::new();
        for (at, id) in found.iter().enumerate() {
            let mut is_below = false;
            // Where clocks go wrong one may be in the history of another.
            for (_, newer) in found.iter().enumerate().filter(|(place, _)| *place != at) {
                is_below = is_below || self.common(*id, *newer)?.contains(id);
            }
            if !is_below {
                best.push(*id);
            }
        }
        Ok(best.first().copied())
    }

    /// Returns the common ancestors of two commits that are below no other one, newest first.
    fn common(&self, one: Oid, other: Oid) -> Result<Vec<Oid>, Refusal> {
        if one == other {
            return Ok(vec![one]);
        }
        let mut marks = Marks::new(STALE);
        marks.add(self, one, ONE)?;
        marks.add(self, other, OTHER)?;
        let mut found = Vec::new();
        while let Some((id, mut mark)) = marks.next() {
            if mark & (ONE | OTHER | STALE) == ONE | OTHER {
                if mark & COMMON == 0 {
                    marks.of.insert(id, mark | COMMON);
                    found.push(id);
                }
                mark |= STALE;
            }
            marks.pass_on(self, id, mark & (ONE | OTHER | STALE))?;
        }
        found.retain(|id| marks.of.get(id).is_some_and(|mark| mark & STALE == 0));
        let mut timed = Vec::new();
        for id in found {
            timed.push((self.time(id)?, id));
        }
        timed.sort_by_key(|(time, _)| Reverse(*time));
        Ok(timed.into_iter().map(|(_, id)| id).collect())
    }

    /// Returns the commits that a tip leads to and none of the known ones.
    pub(super) fn beyond(&self, tip: Oid, known: impl IntoIterator<Item = Oid>) -> Result<Vec<Oid>, Refusal> {
        let mut marks = Marks::new(OTHER);
        marks.add(self, tip, ONE)?;
        for known in known {
            marks.add(self, known, OTHER)?;
        }
        let mut order = Vec::new();
        while let Some((id, mark)) = marks.next() {
            if mark & OTHER == 0 {
                order.push(id);
            }
            marks.pass_on(self, id, mark)?;
        }
        let mut seen = HashSet::new();
        order.retain(|id| marks.of.get(id).is_some_and(|mark| mark & OTHER == 0) && seen.insert(*id));
        Ok(order)
    }

    /// Returns the commits of a history so that none comes before a child of it, newer ones first, at most so many.
    pub(super) fn in_order(&self, from: Oid, limit: usize) -> Result<Vec<Oid>, Refusal> {
        let mut children: HashMap<Oid, usize> = HashMap::from([(from, 0)]);
        let mut left = vec![from];
        while let Some(id) = left.pop() {
            for parent in self.parents(id)? {
                let count = children.entry(parent).or_insert_with(|| {
                    left.push(parent);
                    0
                });
                *count += 1;
            }
            bounded(children.len())?;
        }
        let (mut queue, mut order) = (Queue::default(), Vec::new());
        queue.push(self.time(from)?, from);
        while let Some(id) = queue.pop().filter(|_| order.len() < limit) {
            order.push(id);
            for parent in self.parents(id)? {
                let Some(count) = children.get_mut(&parent) else { continue };
                *count -= 1;
                if *count == 0 {
                    queue.push(self.time(parent)?, parent);
                }
            }
        }
        Ok(order)
    }
}

impl Marks {
    fn new(end: u8) -> Self {
        Self { of: HashMap::new(), queue: Queue::default(), open: BTreeMap::new(), end }
    }

    /// Marks a commit and comes to it later, unless it has the marks.
    fn add(&mut self, graph: &Graph<'_, '_>, id: Oid, mark: u8) -> Result<(), Refusal> {
        let known = self.of.get(&id).copied().unwrap_or(0);
        if known & mark == mark && known != 0 {
            return Ok(());
        }
        self.of.insert(id, known | mark);
        bounded(self.of.len())?;
        self.queue.push(graph.time(id)?, id);
        match (known | mark) & self.end {
            0 => *self.open.entry(id).or_insert(0) += 1,
            _ => drop(self.open.remove(&id)),
        }
        Ok(())
    }

    /// Takes the next commit with its marks, as long as one is left that lacks the last mark.
    fn next(&mut self) -> Option<(Oid, u8)> {
        if self.open.is_empty() {
            return None;
        }
        let id = self.queue.pop()?;
        if let Some(count) = self.open.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&id);
            }
        }
        Some((id, self.of.get(&id).copied().unwrap_or(0)))
    }

    fn pass_on(&mut self, graph: &Graph<'_, '_>, id: Oid, mark: u8) -> Result<(), Refusal> {
        for parent in graph.parents(id)? {
            self.add(graph, parent, mark)?;
        }
        Ok(())
    }
}

fn bounded(commits: usize) -> Result<(), Refusal> {
    if commits > MAX_COMMITS {
        return Err(hostile("", ("commit/count", "the history has more than 500,000 commits")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
