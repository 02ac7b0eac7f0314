//! Pure. Leaves out of the walk what it could not match anyway: equal ends, lines without partner, crowds of very
//! common lines.
//!
//! Not here: the walk (`split`).

/// Occurrences from which a line counts as common, however long the text is.
const MAX_COMMON: usize = 1_024;
/// Lines looked at on each side when a common line is judged by its neighbours.
const NEIGHBOUR_WINDOW: usize = 100;
/// A common line goes if its neighbourhood holds this many times more lines without partner than common ones.
const LONELY_FACTOR: usize = 4;

/// The lines that take part in the walk: their symbols and where they stand in the whole text.
pub(super) struct Kept {
    /// Symbols of the old side.
    pub(super) old: Vec<usize>,
    /// Positions of the old side.
    pub(super) old_at: Vec<usize>,
    /// Symbols of the new side.
    pub(super) new: Vec<usize>,
    /// Positions of the new side.
    pub(super) new_at: Vec<usize>,
}

/// How often a line occurs on the other side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Partner {
    None,
    Some,
    Many,
}

/// Returns what the walk has to look at and marks as changed what it need not.
pub(super) fn prune(old: (&[usize], &mut [bool]), new: (&[usize], &mut [bool])) -> Kept {
    let (old, gone) = old;
    let (new, come) = new;
    let ends = super::equal_ends(old, new);
    let (old_kept, old_at) = side(old, new, ends, gone);
    let (new_kept, new_at) = side(new, old, ends, come);
    Kept { old: old_kept, old_at, new: new_kept, new_at }
}

/// Chooses the lines of one side between its equal ends.
fn side(own: &[usize], other: &[usize], ends: (usize, usize), marks: &mut [bool]) -> (Vec<usize>, Vec<usize>) {
    let (head, tail) = ends;
    let middle = own.len() - head - tail;
    if middle == 0 {
        return (Vec::new(), Vec::new());
    }
    // Symbols are small numbers without gaps.
    let mut count = vec![0; own.iter().chain(other).max().map_or(0, |last| last + 1)];
    for symbol in other {
        if let Some(count) = count.get_mut(*symbol) {
            *count += 1;
        }
    }
    let common = rough_root(own.len()).min(MAX_COMMON);
    let partners: Vec<Partner> = own
        .iter()
        .skip(head)
        .take(middle)
        .map(|symbol| match count.get(*symbol).copied().unwrap_or(0) {
            0 => Partner::None,
            many if many >= common => Partner::Many,
            _ => Partner::Some,
        })
        .collect();
    let mut kept = (Vec::new(), Vec::new());
    for (place, partner) in partners.iter().enumerate() {
        let position = head + place;
        let stays = *partner == Partner::Some || (*partner == Partner::Many && !is_crowded_out(&partners, place));
        if stays {
            kept.0.extend(own.get(position));
            kept.1.push(position);
        } else if let Some(mark) = marks.get_mut(position) {
            *mark = true;
        }
    }
    kept
}

/// Returns whether a common line stands among so many lines without partner that matching it would only cut a change in
/// two.
fn is_crowded_out(partners: &[Partner], place: usize) -> bool {
    let before = neighbours(partners.iter().take(place).rev());
    let after = neighbours(partners.iter().skip(place + 1));
    if before.0 == 0 || after.0 == 0 {
        return false;
    }
    let (lonely, common) = (before.0 + after.0, before.1 + after.1 + 2);
    common * LONELY_FACTOR < common + lonely
}

/// Counts lonely and common lines up to the first line that has a partner of its own.
fn neighbours<'a>(partners: impl Iterator<Item = &'a Partner>) -> (usize, usize) {
    partners.take(NEIGHBOUR_WINDOW).take_while(|partner| **partner != Partner::Some).fold(
        (0, 0),
        |(lonely, common), partner| {
            if *partner == Partner::None { (lonely + 1, common) } else { (lonely, common + 1) }
        },
    )
}

/// Returns a power of two near the square root, which is what git bounds its work by.
pub(super) fn rough_root(number: usize) -> usize {
    let mut rest = number;
    let mut root = 1;
    while rest > 0 {
        root *= 2;
        rest /= 4;
    }
    root
}
