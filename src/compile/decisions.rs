//! Pure. What is decided about conflicts before anybody is asked: by this request, on the branch of the update, or in an
//! earlier merge.
//!
//! What a person says now comes first, then what is remembered. Not here: applying a decision to files (`merge`), reading
//! decisions of a branch (`resolve`).

use std::collections::{BTreeMap, BTreeSet};

use super::sources::Sources;
use crate::merge::{Conflict, Remembered};
use crate::model::Take;

/// The decisions of one merge.
#[derive(Clone)]
pub(super) struct Decisions<'a> {
    /// By conflict: what was said for this update.
    pub(super) given: BTreeMap<String, Take>,
    /// What wins wherever nothing was said of a conflict by itself.
    pub(super) rest: Option<Take>,
    /// Conflicts whose decision holds from now on whatever their sides say.
    pub(super) always: BTreeSet<String>,
    /// What an earlier merge came to.
    pub(super) remembered: &'a Remembered,
}

impl<'a> Decisions<'a> {
    /// Returns what is remembered, and nothing else.
    pub(super) fn remembered(sources: &'a Sources) -> Self {
        let (given, always) = (BTreeMap::new(), BTreeSet::new());
        Self { given, rest: None, always, remembered: &sources.remembered }
    }

    /// Returns the decision about a conflict.
    pub(super) fn of(&self, conflict: &Conflict) -> Option<Take> {
        let said = self.said(conflict);
        said.or_else(|| self.remembered.of(conflict).map(|resolution| &resolution.take)).cloned()
    }

    fn said(&self, conflict: &Conflict) -> Option<&Take> {
        self.given.get(&conflict.id).or(self.rest.as_ref())
    }

    /// Returns whether only an earlier merge decided a conflict.
    pub(super) fn is_earlier(&self, conflict: &Conflict) -> bool {
        self.said(conflict).is_none() && self.remembered.of(conflict).is_some()
    }

    /// Returns the decisions about some conflicts, by conflict.
    pub(super) fn over(&self, conflicts: &[Conflict]) -> BTreeMap<String, Take> {
        conflicts.iter().filter_map(|conflict| Some((conflict.id.clone(), self.of(conflict)?))).collect()
    }

    /// Returns the same without what is remembered.
    pub(super) fn without_memory(&self, conflicts: &[Conflict]) -> BTreeMap<String, Take> {
        conflicts.iter().filter_map(|conflict| Some((conflict.id.clone(), self.said(conflict)?.clone()))).collect()
    }

    /// Returns when and by whom a conflict was decided earlier.
    pub(super) fn source(&self, conflict: &Conflict) -> String {
        let Some(resolution) = self.remembered.of(conflict) else { return String::new() };
        let who = resolution.who.split(" <").next().unwrap_or_default();
        let when = resolution.when.to_string();
        let day = when.split('T').next().unwrap_or_default();
        let always = if resolution.always { " for always" } else { "" };
        format!("{} wins as {who} decided on {day}{always}", resolution.take.word())
    }
}
