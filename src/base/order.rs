//! Pure. Order of a graph by Kahn's method, with the cycle as the answer where there is no order.
//!
//! Not here: what the nodes mean.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the nodes so that each stands after all nodes it needs, smallest first among equals, or the nodes of one cycle.
///
/// Edges to nodes that are no key of the map are ignored: a missing requirement is somebody else's question.
pub fn order<N: Ord + Clone>(needs: &BTreeMap<N, BTreeSet<N>>) -> Result<Vec<N>, Vec<N>> {
    let mut open: BTreeMap<&N, BTreeSet<&N>> = needs
        .iter()
        .map(|(node, edges)| (node, edges.iter().filter(|edge| needs.contains_key(edge)).collect()))
        .collect();
    let mut ordered = Vec::with_capacity(open.len());
    while let Some(next) = open.iter().find(|(_, edges)| edges.is_empty()).map(|(node, _)| *node) {
        open.remove(next);
        for edges in open.values_mut() {
            edges.remove(next);
        }
        ordered.push(next.clone());
    }
    if open.is_empty() { Ok(ordered) } else { Err(cycle(&open)) }
}

/// Walks from the smallest open node until a node comes twice; the walk from there on is the cycle.
fn cycle<N: Ord + Clone>(open: &BTreeMap<&N, BTreeSet<&N>>) -> Vec<N> {
    let mut walk: Vec<&N> = Vec::new();
    let mut current = open.keys().next().copied();
    while let Some(node) = current {
        if let Some(start) = walk.iter().position(|seen| *seen == node) {
            return walk.into_iter().skip(start).cloned().collect();
        }
        walk.push(node);
        current = open.get(node).and_then(|edges| edges.iter().find(|edge| open.contains_key(*edge)).copied());
    }
    walk.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::order;

    fn check(edges: &[(&'static str, &[&'static str])], expected: Result<&[&'static str], &[&'static str]>) {
        let needs = edges.iter().map(|(node, needs)| (*node, needs.iter().copied().collect())).collect();
        assert_eq!(order(&needs), expected.map(<[_]>::to_vec).map_err(<[_]>::to_vec));
    }

    #[test]
    fn what_is_needed_comes_first() {
        check(&[("blog", &["db"]), ("db", &[])], Ok(&["db", "blog"]));
    }

    #[test]
    fn a_cycle_is_named() {
        check(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])], Err(&["b", "c"]));
    }

    #[test]
    fn an_unknown_node_is_ignored() {
        check(&[("blog", &["db"])], Ok(&["blog"]));
    }
}
