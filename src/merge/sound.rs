//! Pure. Whether a merge made in another way lost, invented or doubled nothing.
//!
//! Every leaf of a file is counted: a leaf that one side added or took away must be there or gone in the result, and
//! nothing else may have changed. Not here: making merges (`document`, `text`).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::document::Document;
use super::likeness::{about, leaves, leaves_in};
use super::rules::{GUESSED_KEYS, Rules, Subject};
use super::tree::Three;
use crate::base::{Digest, Encoder};
use crate::schema::{KeyField, ListForm};
use crate::yaml::cst::{Child, Cst, Kind, Label, NodeId};

/// How often a leaf is there: in base, in ours, in theirs, in the result.
type Counts = [usize; 4];

/// Returns whether documents hold exactly what the changes of both sides come to.
pub(super) fn is_sound(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>], rules: &Rules) -> bool {
    // What went into a block of a template is the same leaf as well as another one.
    counts(sides, result, rules).into_iter().all(is_expected)
        && holds_both(sides, result)
        && !doubles_more(sides, result, rules)
}

/// Returns whether documents hold what the changes of both sides come to, whatever blocks of templates it stands in.
pub(super) fn holds_both(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>]) -> bool {
    counts_outside(sides, result).into_iter().all(is_expected)
}

/// Counts every leaf whatever blocks of templates it stands in; nothing where there are none.
fn counts_outside(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>]) -> Vec<Counts> {
    let sides = [&sides.base[..], &sides.ours, &sides.theirs, result];
    if !sides.into_iter().flatten().any(|document| document.has_lines) {
        return Vec::new();
    }
    let counted = |documents: &[Rc<Document>]| {
        let mut found: BTreeMap<Digest, usize> = BTreeMap::new();
        for document in documents {
            let leaves = document.cst.root().map(|root| leaves(&document.cst, root)).unwrap_or_default();
            leaves.into_iter().for_each(|(leaf, count)| *found.entry(leaf).or_default() += count);
        }
        found
    };
    let sides = sides.map(counted);
    let all: BTreeSet<&Digest> = sides.iter().flat_map(BTreeMap::keys).collect();
    all.into_iter().map(|leaf| sides.each_ref().map(|side| side.get(leaf).copied().unwrap_or(0))).collect()
}

/// Returns the same, where both sides may have taken away or added one each of several equal leaves: which ones only their places say.
#[cfg(test)]
pub(super) fn is_sound_somewhere(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>], rules: &Rules) -> bool {
    let is_right = |counts: Counts| {
        let [base, ours, theirs, found] = counts;
        is_expected(counts) || ours == theirs && found + base == ours + theirs
    };
    counts(sides, result, rules).into_iter().all(is_right) && !doubles_more(sides, result, rules)
}

fn is_expected([base, ours, theirs, found]: Counts) -> bool {
    let expected = if base == ours || ours == theirs {
        theirs
    } else if base == theirs {
        ours
    } else {
        (ours + theirs).saturating_sub(base)
    };
    found == expected
}

/// Counts every leaf.
pub(super) fn counts(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>], rules: &Rules) -> Vec<Counts> {
    let sides = [&sides.base, &sides.ours, &sides.theirs].map(|side| counted(side, rules));
    let [base, ours, theirs] = sides;
    let sides = [base, ours, theirs, counted(result, rules)];
    let all: BTreeSet<&Digest> = sides.iter().flat_map(BTreeMap::keys).collect();
    all.into_iter().map(|leaf| sides.each_ref().map(|side| side.get(leaf).copied().unwrap_or(0))).collect()
}

/// Returns whether documents hold an item, key or object more often than any side does.
pub(super) fn doubles_more(sides: &Three<Vec<Rc<Document>>>, result: &[Rc<Document>], rules: &Rules) -> bool {
    let found = doubles(result, rules);
    if found.is_empty() {
        return false;
    }
    let known = [&sides.base, &sides.ours, &sides.theirs].map(|side| doubles(side, rules));
    found.iter().any(|(double, count)| known.iter().all(|side| side.get(double).is_none_or(|known| known < count)))
}

/// What is there more than once, how often beyond the first time.
type Doubles = BTreeMap<String, usize>;

/// Counts leaves by the items that they stand in: a leaf that is in another item is another leaf.
fn counted(documents: &[Rc<Document>], rules: &Rules) -> BTreeMap<Digest, usize> {
    let mut found = BTreeMap::new();
    for document in documents {
        let Some(root) = document.cst.root() else { continue };
        let subject = &document.subject;
        let named = |fields: &[&str], item: NodeId| Keys::of(rules, subject, fields).name(&document.cst, item);
        for (leaf, count) in leaves_in(&document.cst, root, &named) {
            let leaf = Encoder::new().text(&subject.object).raw(&leaf.0).digest();
            *found.entry(leaf).or_default() += count;
        }
    }
    found
}

/// The keys by which the items of a list are told apart, each a choice of paths of fields.
struct Keys(Vec<Vec<String>>);

impl Keys {
    fn of(rules: &Rules, subject: &Subject, fields: &[&str]) -> Self {
        let choice = |choice: &Vec<KeyField>| choice.iter().map(|field| field.path.join(".")).collect();
        Self(match rules.list(subject, fields, None).map(|rule| rule.form) {
            Some(ListForm::Keyed(keys)) => keys.primary.iter().map(choice).collect(),
            Some(ListForm::Set | ListForm::Sequence | ListForm::Named | ListForm::Positional) => Vec::new(),
            None => GUESSED_KEYS.iter().take(3).map(|key| vec![(*key).to_owned()]).collect(),
        })
    }

    /// Returns what tells an item from the others, if it has it.
    fn name(&self, cst: &Cst, item: NodeId) -> Option<String> {
        let field = |key: &String| {
            let mut id = item;
            for step in key.split('.') {
                id = cst.entry(id, step)?.value;
            }
            Some(cst.node(id).hash.to_hex())
        };
        self.0.iter().find_map(|choice| {
            let values: Vec<Option<String>> = choice.iter().map(field).collect();
            let is_there = values.iter().any(Option::is_some);
            is_there.then(|| values.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(","))
        })
    }
}

/// Returns the places of everything that is there twice.
fn doubles(documents: &[Rc<Document>], rules: &Rules) -> Doubles {
    let mut found = Doubles::new();
    let mut seen = BTreeSet::new();
    for document in documents {
        let object = &document.subject.object;
        if !object.is_empty() && !seen.insert(object.clone()) {
            *found.entry(object.clone()).or_default() += 1;
        }
        if let Some(root) = document.cst.root() {
            let mut search = Search { cst: &document.cst, subject: &document.subject, rules, found: &mut found };
            search.node(root, &mut vec![document.subject.kind.as_str()]);
        }
    }
    found
}

struct Search<'a, 'f> {
    cst: &'a Cst,
    subject: &'a Subject,
    rules: &'a Rules,
    found: &'f mut Doubles,
}

impl<'a> Search<'a, '_> {
    /// Looks through a node; the first word of the path is the kind, because a side may have given the object another
    /// name.
    fn node(&mut self, id: NodeId, path: &mut Vec<&'a str>) {
        let node = self.cst.node(id);
        match node.kind {
            Kind::Map => {
                let mut seen = BTreeSet::new();
                for child in &node.children {
                    let Label::Key(key) = &child.label else { continue };
                    if !seen.insert(key) {
                        *self.found.entry(format!("{} {key}", path.join("."))).or_default() += 1;
                    }
                    path.push(key);
                    self.node(child.value, path);
                    path.pop();
                }
            }
            Kind::Seq => {
                self.list(id, path);
                for child in node.children.iter().filter(|child| child.label == Label::Item) {
                    self.node(child.value, path);
                }
            }
            Kind::Scalar | Kind::Alias | Kind::Opaque | Kind::Block => {}
        }
        // Of the arms of a block one alone is there, with what stands beside the block.
        let keys: BTreeSet<&str> = node.children.iter().filter_map(|child| child.label.key()).collect();
        let is_block = |child: &&Child| matches!(child.label, Label::Block(_));
        for arm in node.children.iter().filter(is_block).flat_map(|block| &self.cst.node(block.value).children) {
            let inner = self.cst.node(arm.value).children.iter().filter_map(|child| child.label.key());
            for key in inner.filter(|key| keys.contains(key)) {
                *self.found.entry(format!("{} {key}", path.join("."))).or_default() += 1;
            }
            self.node(arm.value, path);
        }
    }

    fn list(&mut self, id: NodeId, path: &[&'a str]) {
        if self.cst.node(id).children.len() < 2 {
            return;
        }
        let fields = path.get(1..).unwrap_or(&[]);
        let keys = Keys::of(self.rules, self.subject, fields);
        let mut seen = BTreeSet::new();
        for child in self.cst.node(id).children.iter().filter(|child| child.label == Label::Item) {
            let item = self.cst.node(child.value);
            let name = match item.kind {
                Kind::Scalar => Some(about(&item.text).unwrap_or_else(|| item.text.clone())),
                Kind::Map => keys.name(self.cst, child.value),
                Kind::Seq | Kind::Alias | Kind::Opaque | Kind::Block => None,
            };
            if let Some(name) = name
                && !seen.insert(name.clone())
            {
                *self.found.entry(format!("{} [{name}]", path.join("."))).or_default() += 1;
            }
        }
    }
}
