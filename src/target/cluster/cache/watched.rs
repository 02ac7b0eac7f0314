//! How far what is known of a kind can be trusted: one watch over all namespaces, or one for each place where we may not have that.
//!
//! Not here: its objects event by event (`cache`), the streams (`watch`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::model::ObjectId;
use crate::target::{LiveObject, Place, WatchState};

/// One watched kind.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) api_version: String,
    pub(super) unknown: bool,
    /// The watch over all namespaces.
    pub(super) whole: Reach,
    /// By place, the watches that stand in for that one where we may not watch all objects of the kind at once.
    pub(super) places: BTreeMap<Place, Reach>,
    /// Whether they do.
    pub(super) narrowed: bool,
    /// How often another rule than before was about its health.
    pub(super) judged: usize,
    /// How many apps need it.
    pub(super) needed: usize,
    /// Since when none does.
    pub(super) unused: Option<Instant>,
    pub(super) objects: BTreeMap<ObjectId, LiveObject>,
}

/// What one watch of a kind tells.
#[derive(Default)]
pub(super) struct Reach {
    pub(super) synced: bool,
    pub(super) refused: bool,
    /// Whether its objects could not be seen at all since its last list: the server did not know them, or did not let us watch them.
    pub(super) hidden: bool,
    pub(super) last: Option<Instant>,
}

impl Reach {
    /// Returns whether it can be trusted: its first list is in and something arrived within this time.
    pub(super) fn is_fresh(&self, within: Duration) -> bool {
        self.synced && !self.refused && self.last.is_some_and(|last| last.elapsed() < within)
    }

    pub(super) fn state(&self, within: Duration) -> WatchState {
        match self.refused {
            true => WatchState::Closed,
            false if self.is_fresh(within) => WatchState::Fresh,
            false => WatchState::Stale,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.synced || self.refused
    }
}

impl Watched {
    pub(super) fn reach(&mut self, place: Option<&Place>) -> Option<&mut Reach> {
        match place {
            None => Some(&mut self.whole),
            Some(place) => self.places.get_mut(place),
        }
    }

    pub(super) fn reaches(&mut self) -> impl Iterator<Item = &mut Reach> {
        std::iter::once(&mut self.whole).chain(self.places.values_mut())
    }

    /// Returns whether its first lists are in, or will not come, as far as these places go.
    pub(super) fn is_settled(&self, places: &[Place]) -> bool {
        match self.narrowed && self.whole.refused {
            false => self.unknown || self.whole.is_settled(),
            true => self.unknown || places.iter().filter_map(|it| self.places.get(it)).all(Reach::is_settled),
        }
    }

    /// Returns whether it can be trusted as far as these places go.
    pub(super) fn state(&self, places: &[Place], within: Duration) -> WatchState {
        if self.unknown {
            return WatchState::UnknownKind;
        }
        if !(self.narrowed && self.whole.refused) || places.is_empty() {
            return self.whole.state(within);
        }
        let states = places.iter().map(|it| self.places.get(it).map_or(WatchState::Closed, |it| it.state(within)));
        let worst = |a, b| match (a, b) {
            (WatchState::Closed, _) | (_, WatchState::Closed) => WatchState::Closed,
            (WatchState::Fresh, WatchState::Fresh) => WatchState::Fresh,
            _ => WatchState::Stale,
        };
        states.fold(WatchState::Fresh, worst)
    }
}
