//! Pure. Finds out what a person chose at each conflict of a merge that was made by hand.
//!
//! A choice is found by making the merge with it: if what it changes is in the person's files already, it is the one. Where
//! none of the three sides is there, the person's own value is. Not here: where it is kept (`remembered`).

use std::collections::BTreeMap;

use super::conflict::{Conflict, ConflictKind};
use super::remembered::is_repeatable;
use super::rules::Rules;
use super::tree::{Merged, Three, merge};
use crate::base::RepoPath;
use crate::model::{File, FileTree, Take};

/// Conflicts of one merge that are looked at; more is no merge that was decided place by place.
const MAX_CONFLICTS: usize = 100;

/// Returns what was chosen at each conflict of a merge whose result is `committed`. What cannot be told is left out.
pub fn learn(sides: Three<&FileTree>, rules: &Rules, committed: &FileTree) -> Vec<(Conflict, Take)> {
    let open = merge(sides, &Rules { decided: BTreeMap::new(), ..rules.clone() });
    let conflicts: Vec<Conflict> = open.conflicts.iter().filter(|it| is_repeatable(it)).cloned().collect();
    if conflicts.len() > MAX_CONFLICTS {
        return Vec::new();
    }
    let all = |take: &Take| conflicts.iter().map(|conflict| (conflict.id.clone(), take.clone())).collect();
    let looked = Looked {
        sides,
        rules,
        committed,
        mine: with(sides, rules, all(&Take::Mine)),
        upstream: with(sides, rules, all(&Take::Upstream)),
        conflicts: &conflicts,
    };
    let again = merge(Three { ours: committed, ..sides }, rules);
    let chosen = conflicts.iter().filter_map(|conflict| Some((conflict.clone(), looked.choice(conflict, &again)?)));
    chosen.collect()
}

fn with(sides: Three<&FileTree>, rules: &Rules, decided: BTreeMap<String, Take>) -> FileTree {
    merge(sides, &Rules { decided, ..rules.clone() }).files
}

/// A merge, and what a person made of it.
struct Looked<'a> {
    sides: Three<&'a FileTree>,
    rules: &'a Rules,
    committed: &'a FileTree,
    /// The merge with ours at every conflict.
    mine: FileTree,
    /// The merge with theirs at every conflict.
    upstream: FileTree,
    conflicts: &'a [Conflict],
}

impl Looked<'_> {
    fn choice(&self, conflict: &Conflict, again: &Merged) -> Option<Take> {
        if conflict.kind == ConflictKind::FileKind {
            return self.whole(&conflict.path);
        }
        // Still in conflict in the same words: ours was kept as it was.
        if again.conflicts.iter().any(|other| other.id == conflict.id) {
            return Some(Take::Mine);
        }
        let of = |take: &Take, others: &Take| {
            let mut decided: BTreeMap<String, Take> =
                self.conflicts.iter().map(|other| (other.id.clone(), others.clone())).collect();
            decided.insert(conflict.id.clone(), take.clone());
            with(self.sides, self.rules, decided)
        };
        let holds = |from: &FileTree, take: &Take, others: &Take| {
            let to = of(take, others);
            to != *from && self.holds(from, &to)
        };
        // What base has beyond a side may stand beside all that the side has; then base was taken.
        let is_base = |take: &Take, others: &Take| {
            let (side, base) = (of(take, others), of(&Take::Base, others));
            side != base && !self.holds(&base, &side)
        };
        let chosen = |from: &FileTree, take: Take, others: &Take| {
            let is_chosen = holds(from, &take, others) && (take == Take::Base || !is_base(&take, others));
            is_chosen.then_some(take)
        };
        let kept = chosen(&self.upstream, Take::Mine, &Take::Upstream)
            .or_else(|| chosen(&self.mine, Take::Upstream, &Take::Mine))
            .or_else(|| chosen(&self.mine, Take::Base, &Take::Mine));
        kept.or_else(|| own(conflict, again))
    }

    /// Returns whether the difference between two merges is in the person's files.
    fn holds(&self, from: &FileTree, to: &FileTree) -> bool {
        let merged = merge(Three { base: from, ours: self.committed, theirs: to }, &Rules::default());
        merged.conflicts.is_empty() && merged.files == *self.committed
    }

    /// Returns which side a whole file is of.
    fn whole(&self, path: &RepoPath) -> Option<Take> {
        let file = |tree: &FileTree| -> Option<File> { tree.get(path.as_str()).cloned() };
        let found = file(self.committed);
        let sides = [(Take::Mine, self.sides.ours), (Take::Upstream, self.sides.theirs), (Take::Base, self.sides.base)];
        sides.into_iter().find(|(_, tree)| file(tree) == found).map(|(take, _)| take)
    }
}

/// Returns the value that a person wrote in place of all sides, which is ours in the same merge made again.
fn own(conflict: &Conflict, again: &Merged) -> Option<Take> {
    let is_same = |other: &&Conflict| {
        other.kind == ConflictKind::Value && other.object == conflict.object && other.key == conflict.key
    };
    let written = again.conflicts.iter().find(is_same).filter(|_| conflict.kind == ConflictKind::Value)?;
    let value = written.mine.clone().filter(|value| !written.is_redacted() && !value.trim().contains('\n'))?;
    Some(Take::Value(value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::learn;
    use crate::base::RepoPath;
    use crate::merge::{Rules, Three, merge};
    use crate::model::{File, FileTree, Take};

    fn tree(text: &str) -> FileTree {
        [(RepoPath::parse("apps/photobox/server.yaml").unwrap(), File::text(text))].into_iter().collect()
    }

    fn server(cpu: &str, replicas: &str, extra: &str) -> String {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: server\nspec:\n  replicas: {replicas}\n  \
             revisionHistoryLimit: 3\n  template:\n    spec:\n      restartPolicy: Always\n      {extra}\n      \
             containers:\n      - name: server\n        resources: {{limits: {{cpu: {cpu}}}}}\n"
        )
    }

    /// Two conflicts, at the replicas and at the processor; theirs brings a hostname besides.
    fn check(committed: &str, expected: &[(&str, Take)]) {
        let (base, ours, theirs) =
            (tree(&server("1", "1", "")), tree(&server("2", "2", "")), tree(&server("3", "3", "hostname: a")));
        let sides = Three { base: &base, ours: &ours, theirs: &theirs };
        assert_eq!(merge(sides, &Rules::default()).conflicts.len(), 2);
        let learned = learn(sides, &Rules::default(), &tree(committed));
        let found: Vec<(&str, Take)> =
            learned.iter().map(|(it, take)| (it.key.rsplit('.').next().unwrap(), take.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_side_that_was_taken_is_found() {
        let sides = [("1", Take::Base), ("2", Take::Mine), ("3", Take::Upstream)];
        for (cpu, cpu_take) in &sides {
            for (replicas, replicas_take) in &sides {
                let committed = server(cpu, replicas, "hostname: a");
                check(&committed, &[("replicas", replicas_take.clone()), ("cpu", cpu_take.clone())]);
            }
        }
    }

    #[test]
    fn a_value_that_the_person_wrote_is_found() {
        let own = Take::Value("5".to_owned());
        check(&server("5", "3", "hostname: a"), &[("replicas", Take::Upstream), ("cpu", own)]);
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        let without = server("3", "3", "hostname: a").replace("  replicas: 3\n", "");
        check(&without, &[("cpu", Take::Upstream)]);
    }

    /// Checks that each side is found where it was committed.
    fn check_each(base: FileTree, ours: FileTree, theirs: FileTree) {
        let sides = Three { base: &base, ours: &ours, theirs: &theirs };
        let learned = |committed: &FileTree| -> Vec<Take> {
            learn(sides, &Rules::default(), committed).into_iter().map(|(_, take)| take).collect()
        };
        assert_eq!(learned(&base), [Take::Base]);
        assert_eq!(learned(&ours), [Take::Mine]);
        assert_eq!(learned(&theirs), [Take::Upstream]);
    }

    #[test]
    fn base_is_found_where_it_holds_all_that_ours_holds() {
        let labels = |labels: &str| {
            format!("kind: ConfigMap\nmetadata:\n  name: m\n{labels}data:\n  one: a\n  two: b\n  three: c\n")
        };
        let (all, fewer) = (labels("  labels:\n    a: x\n    b: y\n"), labels("  labels:\n    a: x\n"));
        check_each(tree(&all), tree(&fewer), tree(&labels("")));
    }

    #[test]
    fn base_is_found_where_it_holds_all_that_theirs_holds() {
        let words = |words: &str| format!("kind: ConfigMap\nmetadata:\n  name: m\ndata:\n  one: a\n{words}");
        check_each(tree(&words("  words:\n  - x\n")), tree(&words("")), tree(&words("  words: []\n")));
    }

    #[test]
    fn other_edits_of_the_person_are_in_nobodys_way() {
        let committed = format!("# Ours.\n{}", server("3", "2", "hostname: b"));
        check(&committed, &[("replicas", Take::Mine), ("cpu", Take::Upstream)]);
    }
}
