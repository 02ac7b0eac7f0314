//! Pure. Patterns of file names: `*`, `?`, `[a-z]`, `[^a]` and a backslash before a sign that means itself.
//!
//! Not here: regular expressions (`regexp.rs`).

/// One piece of a pattern.
enum Piece {
    /// Any number of characters but slashes.
    Star,
    /// One character but a slash.
    Any,
    /// This character.
    One(char),
    /// A character of these ranges, or of none of them.
    Set(Vec<(char, char)>, Membership),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Membership {
    In,
    NotIn,
}

/// Returns whether a whole name matches, or nothing if the pattern is malformed.
pub(super) fn is_match(pattern: &str, name: &str) -> Option<bool> {
    let pieces = parse(pattern)?;
    let name: Vec<char> = name.chars().collect();
    // Each column tells which prefixes of the name match the pieces so far.
    let mut reached = vec![false; name.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for piece in &pieces {
        let mut next = vec![false; name.len() + 1];
        let mut from_left = false;
        for (index, slot) in next.iter_mut().enumerate() {
            let before = index.checked_sub(1).and_then(|index| name.get(index).copied());
            let diagonal = index.checked_sub(1).and_then(|index| reached.get(index).copied()).unwrap_or(false);
            *slot = match piece {
                Piece::Star => {
                    reached.get(index).copied().unwrap_or(false) || from_left && before.is_some_and(|c| c != '/')
                }
                Piece::Any => diagonal && before.is_some_and(|c| c != '/'),
                Piece::One(wanted) => diagonal && before == Some(*wanted),
                Piece::Set(ranges, membership) => {
                    let inside = |c: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                    diagonal && before.is_some_and(|c| inside(c) == (*membership == Membership::In))
                }
            };
            from_left = *slot;
        }
        reached = next;
    }
    reached.last().copied()
}

fn parse(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        pieces.push(match c {
            '*' => Piece::Star,
            '?' => Piece::Any,
            '\\' => Piece::One(rest.next()?),
            '[' => {
                let membership = if rest.next_if_eq(&'^').is_some() { Membership::NotIn } else { Membership::In };
                let mut ranges = Vec::new();
                while ranges.is_empty() || rest.next_if_eq(&']').is_none() {
                    let low = bound(&mut rest)?;
                    let high = if rest.next_if_eq(&'-').is_some() { bound(&mut rest)? } else { low };
                    ranges.push((low, high));
                }
                Piece::Set(ranges, membership)
            }
            _ => Piece::One(c),
        });
    }
    Some(pieces)
}

fn bound(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match rest.next()? {
        '\\' => rest.next(),
        '-' | ']' => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn patterns_match_whole_names_without_crossing_slashes() {
        for (pattern, name, expected) in [
            ("*.yaml", "a.yaml", Some(true)),
            ("*", "a/b", Some(false)),
            ("a*b*c", "axxbyc", Some(true)),
            ("[^a-c]", "d", Some(true)),
            ("[]", "a", None),
            ("a\\", "a", None),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }
}
