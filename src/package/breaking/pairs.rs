//! Pure. Which object of the older version is which of the newer one.
//!
//! Not here: what differs between them (`objects.rs`).

use crate::model::Object;

/// Objects of both versions, each in at most one place.
pub(super) struct Pairs<'a> {
    /// The same object in both, by kind and name; the namespace may differ.
    pub(super) kept: Vec<(&'a Object, &'a Object)>,
    /// Only in the older version.
    pub(super) gone: Vec<&'a Object>,
    /// Only in the newer version.
    pub(super) added: Vec<&'a Object>,
}

/// Pairs objects by group, kind and name, those of one namespace first.
pub(super) fn pair<'a>(old: &'a [Object], new: &'a [Object]) -> Pairs<'a> {
    let mut pairs = Pairs { kept: Vec::new(), gone: old.iter().collect(), added: new.iter().collect() };
    pairs.settle(|a, b| a.id() == b.id());
    pairs.settle(|a, b| a.group() == b.group() && a.kind() == b.kind() && a.name() == b.name());
    pairs
}

impl<'a> Pairs<'a> {
    fn settle(&mut self, same: impl Fn(&Object, &Object) -> bool) {
        let mut gone = Vec::new();
        for before in std::mem::take(&mut self.gone) {
            match self.added.iter().position(|after| same(before, after)) {
                Some(at) => self.kept.push((before, self.added.remove(at))),
                None => gone.push(before),
            }
        }
        self.gone = gone;
    }

    /// Takes out the pairs that went by another name or kind, as far as both have the same mark.
    pub(super) fn renamed(&mut self, mark: impl Fn(&Object) -> Option<String>) -> Vec<(&'a Object, &'a Object)> {
        let mut renamed = Vec::new();
        let mut gone = Vec::new();
        for before in std::mem::take(&mut self.gone) {
            let wanted = mark(before);
            let found =
                wanted.and_then(|wanted| self.added.iter().position(|after| mark(after).as_ref() == Some(&wanted)));
            match found {
                Some(at) => renamed.push((before, self.added.remove(at))),
                None => gone.push(before),
            }
        }
        self.gone = gone;
        renamed
    }
}
