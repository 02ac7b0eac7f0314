//! Pure. Finds the name somebody meant.
//!
//! Not here: the sentence it is printed in.

/// Largest edit distance at which a name is offered as the one that was meant.
const MAX_DISTANCE: usize = 2;

/// Returns the candidate nearest to `wanted`, at most two edits away; ties go to the first in order.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|(edits, _)| *edits <= MAX_DISTANCE)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Returns the Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut previous = i + 1;
        if let Some(first) = row.first_mut() {
            *first = previous;
        }
        for (right, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = usize::from(left != *right);
            let best = (diagonal + cost).min(previous + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = best;
            previous = best;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_swapped_pair_of_letters_finds_the_name() {
        assert_eq!(nearest("domian", ["domain", "storage"]), Some("domain"));
    }

    #[test]
    fn a_name_far_from_all_offers_none() {
        assert_eq!(nearest("x", ["domain", "storage"]), None);
    }
}
