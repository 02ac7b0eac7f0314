//! Pure. The walk: cuts a pair of texts at the middle of a shortest path again and again until each part is one change.
//!
//! Not here: which lines take part (`prune`).

use super::prune::{Kept, rough_root};

/// Cost below which the shortest path is always found; above, a good one is enough.
const MIN_COST_BOUND: usize = 256;
/// Equal lines in a row that make a path worth following before the shortest one is known.
const GOOD_RUN: isize = 20;
/// How many times further than its cost a path must have come to count as good.
const GOOD_PROGRESS: isize = 4;
/// Stands before every position, so that a step from there is never taken.
const BEFORE_ALL: isize = -1;
/// Stands behind every position, with room for one more sum.
const BEHIND_ALL: isize = isize::MAX / 4;

/// A rectangle of the two texts that is still to be cut.
#[derive(Clone, Copy)]
struct Rect {
    old: (isize, isize),
    new: (isize, isize),
    /// Whether only the shortest path will do.
    exact: bool,
}

/// Where a rectangle is cut, and whether its parts want the shortest path.
struct Cut {
    old: isize,
    new: isize,
    exact: (bool, bool),
}

/// Marks what differs between the kept lines.
pub(super) fn walk(kept: &Kept, gone: &mut [bool], come: &mut [bool]) {
    let bound = rough_root(kept.old.len() + kept.new.len() + 3).max(MIN_COST_BOUND);
    let sides = Sides { old: &kept.old, new: &kept.new, bound: bound as isize };
    let mut open = vec![Rect { old: (0, kept.old.len() as isize), new: (0, kept.new.len() as isize), exact: false }];
    while let Some(next) = open.pop() {
        let rect = sides.shrink(next);
        if rect.old.0 == rect.old.1 {
            mark(&kept.new_at, rect.new, come);
        } else if rect.new.0 == rect.new.1 {
            mark(&kept.old_at, rect.old, gone);
        } else {
            let cut = sides.cut(rect);
            open.push(Rect { old: (rect.old.0, cut.old), new: (rect.new.0, cut.new), exact: cut.exact.0 });
            open.push(Rect { old: (cut.old, rect.old.1), new: (cut.new, rect.new.1), exact: cut.exact.1 });
        }
    }
}

fn mark(at: &[usize], range: (isize, isize), marks: &mut [bool]) {
    let from = usize::try_from(range.0).unwrap_or(0);
    let count = usize::try_from(range.1 - range.0).unwrap_or(0);
    for position in at.iter().skip(from).take(count) {
        if let Some(mark) = marks.get_mut(*position) {
            *mark = true;
        }
    }
}

struct Sides<'a> {
    old: &'a [usize],
    new: &'a [usize],
    bound: isize,
}

/// Furthest positions in the old text, by diagonal (old position minus new position).
struct Reach {
    at: Vec<isize>,
    shift: isize,
    low: isize,
    high: isize,
}

impl Reach {
    fn new(diagonals: (isize, isize), middle: isize, start: isize) -> Self {
        let width = usize::try_from(diagonals.1 - diagonals.0 + 3).unwrap_or(0);
        let mut reach = Self { at: vec![0; width], shift: 1 - diagonals.0, low: middle, high: middle };
        reach.set(middle, start);
        reach
    }

    fn get(&self, diagonal: isize) -> isize {
        usize::try_from(diagonal + self.shift).ok().and_then(|index| self.at.get(index)).copied().unwrap_or(0)
    }

    fn set(&mut self, diagonal: isize, position: isize) {
        let cell = usize::try_from(diagonal + self.shift).ok().and_then(|index| self.at.get_mut(index));
        if let Some(cell) = cell {
            *cell = position;
        }
    }

    /// Takes in one more diagonal on each side, or gives up one where the rectangle ends.
    fn widen(&mut self, limits: (isize, isize), outside: isize) {
        if self.low > limits.0 {
            self.low -= 1;
            self.set(self.low - 1, outside);
        } else {
            self.low += 1;
        }
        if self.high < limits.1 {
            self.high += 1;
            self.set(self.high + 1, outside);
        } else {
            self.high -= 1;
        }
    }

    fn holds(&self, diagonal: isize) -> bool {
        self.low <= diagonal && diagonal <= self.high
    }

    /// Walks the diagonals of this round from the highest down.
    fn diagonals(&self) -> impl Iterator<Item = isize> + use<> {
        (self.low..=self.high).rev().step_by(2)
    }
}

impl Sides<'_> {
    fn equal(&self, old: isize, new: isize) -> bool {
        let at = |side: &[usize], index: isize| usize::try_from(index).ok().and_then(|index| side.get(index)).copied();
        match (at(self.old, old), at(self.new, new)) {
            (Some(a), Some(b)) => a == b,
            (None, _) | (_, None) => false,
        }
    }

    /// Takes equal lines off both ends.
    fn shrink(&self, mut rect: Rect) -> Rect {
        while rect.old.0 < rect.old.1 && rect.new.0 < rect.new.1 && self.equal(rect.old.0, rect.new.0) {
            rect.old.0 += 1;
            rect.new.0 += 1;
        }
        while rect.old.0 < rect.old.1 && rect.new.0 < rect.new.1 && self.equal(rect.old.1 - 1, rect.new.1 - 1) {
            rect.old.1 -= 1;
            rect.new.1 -= 1;
        }
        rect
    }

    /// Finds where paths from both corners meet, or a good place once the cost bound is passed.
    fn cut(&self, rect: Rect) -> Cut {
        let limits = (rect.old.0 - rect.new.1, rect.old.1 - rect.new.0);
        let (start, end) = (rect.old.0 - rect.new.0, rect.old.1 - rect.new.1);
        let odd = (start - end) & 1 != 0;
        let mut forward = Reach::new(limits, start, rect.old.0);
        let mut backward = Reach::new(limits, end, rect.old.1);
        // The cost is at most the sum of both lengths, so the walk ends before this.
        let most = (rect.old.1 - rect.old.0) + (rect.new.1 - rect.new.0) + 1;
        for cost in 1..=most {
            forward.widen(limits, BEFORE_ALL);
            let (met, ran) = self.advance(rect, &mut forward, odd.then_some(&backward));
            if let Some(cut) = met {
                return cut;
            }
            backward.widen(limits, BEHIND_ALL);
            let (met, ran_back) = self.retreat(rect, &mut backward, (!odd).then_some(&forward));
            if let Some(cut) = met {
                return cut;
            }
            if rect.exact {
                continue;
            }
            let promising = (ran || ran_back) && cost > MIN_COST_BOUND as isize;
            if let Some(cut) = promising.then(|| self.good(rect, (&forward, &backward), cost)).flatten() {
                return cut;
            }
            if cost >= self.bound {
                return furthest(rect, &forward, &backward);
            }
        }
        furthest(rect, &forward, &backward)
    }

    /// One round from the upper left; returns the meeting point and whether a long equal run was seen.
    fn advance(&self, rect: Rect, reach: &mut Reach, other: Option<&Reach>) -> (Option<Cut>, bool) {
        let mut ran = false;
        for diagonal in reach.diagonals() {
            let (above, below) = (reach.get(diagonal - 1), reach.get(diagonal + 1));
            let from = if above >= below { above + 1 } else { below };
            let mut old = from;
            while old < rect.old.1 && old - diagonal < rect.new.1 && self.equal(old, old - diagonal) {
                old += 1;
            }
            ran |= old - from > GOOD_RUN;
            reach.set(diagonal, old);
            if other.is_some_and(|other| other.holds(diagonal) && other.get(diagonal) <= old) {
                return (Some(Cut { old, new: old - diagonal, exact: (true, true) }), ran);
            }
        }
        (None, ran)
    }

    /// One round from the lower right.
    fn retreat(&self, rect: Rect, reach: &mut Reach, other: Option<&Reach>) -> (Option<Cut>, bool) {
        let mut ran = false;
        for diagonal in reach.diagonals() {
            let (above, below) = (reach.get(diagonal - 1), reach.get(diagonal + 1));
            let from = if above < below { above } else { below - 1 };
            let mut old = from;
            while old > rect.old.0 && old - diagonal > rect.new.0 && self.equal(old - 1, old - diagonal - 1) {
                old -= 1;
            }
            ran |= from - old > GOOD_RUN;
            reach.set(diagonal, old);
            if other.is_some_and(|other| other.holds(diagonal) && old <= other.get(diagonal)) {
                return (Some(Cut { old, new: old - diagonal, exact: (true, true) }), ran);
            }
        }
        (None, ran)
    }

    /// Looks for a path that came far for its cost and stands at a long equal run.
    fn good(&self, rect: Rect, reaches: (&Reach, &Reach), cost: isize) -> Option<Cut> {
        let (forward, backward) = reaches;
        let (start, end) = (rect.old.0 - rect.new.0, rect.old.1 - rect.new.1);
        let mut best: Option<(isize, Cut)> = None;
        for diagonal in forward.diagonals() {
            let old = forward.get(diagonal);
            let new = old - diagonal;
            let progress = (old - rect.old.0) + (new - rect.new.0) - (diagonal - start).abs();
            let inside =
                rect.old.0 + GOOD_RUN <= old && old < rect.old.1 && rect.new.0 + GOOD_RUN <= new && new < rect.new.1;
            let better = progress > GOOD_PROGRESS * cost && best.as_ref().is_none_or(|(most, _)| progress > *most);
            if better && inside && (1..=GOOD_RUN).all(|back| self.equal(old - back, new - back)) {
                best = Some((progress, Cut { old, new, exact: (true, false) }));
            }
        }
        if best.is_some() {
            return best.map(|(_, cut)| cut);
        }
        for diagonal in backward.diagonals() {
            let old = backward.get(diagonal);
            let new = old - diagonal;
            let progress = (rect.old.1 - old) + (rect.new.1 - new) - (diagonal - end).abs();
            let inside =
                rect.old.0 < old && old <= rect.old.1 - GOOD_RUN && rect.new.0 < new && new <= rect.new.1 - GOOD_RUN;
            let better = progress > GOOD_PROGRESS * cost && best.as_ref().is_none_or(|(most, _)| progress > *most);
            if better && inside && (0..GOOD_RUN).all(|ahead| self.equal(old + ahead, new + ahead)) {
                best = Some((progress, Cut { old, new, exact: (false, true) }));
            }
        }
        best.map(|(_, cut)| cut)
    }
}

/// Cuts where the path that came furthest stands.
fn furthest(rect: Rect, forward: &Reach, backward: &Reach) -> Cut {
    let (mut ahead, mut ahead_old) = (BEFORE_ALL, BEFORE_ALL);
    for diagonal in forward.diagonals() {
        let mut old = forward.get(diagonal).min(rect.old.1);
        let mut new = old - diagonal;
        if rect.new.1 < new {
            (old, new) = (rect.new.1 + diagonal, rect.new.1);
        }
        if ahead < old + new {
            (ahead, ahead_old) = (old + new, old);
        }
    }
    let (mut behind, mut behind_old) = (BEHIND_ALL, BEHIND_ALL);
    for diagonal in backward.diagonals() {
        let mut old = backward.get(diagonal).max(rect.old.0);
        let mut new = old - diagonal;
        if new < rect.new.0 {
            (old, new) = (rect.new.0 + diagonal, rect.new.0);
        }
        if old + new < behind {
            (behind, behind_old) = (old + new, old);
        }
    }
    if (rect.old.1 + rect.new.1) - behind < ahead - (rect.old.0 + rect.new.0) {
        Cut { old: ahead_old, new: ahead - ahead_old, exact: (true, false) }
    } else {
        Cut { old: behind_old, new: behind - behind_old, exact: (false, true) }
    }
}
