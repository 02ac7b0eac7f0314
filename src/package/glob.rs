//! Pure. Globs over paths inside a package: `*` and `?` within a segment, `**` over segments.
//!
//! Not here: patterns of gitignore.

/// Longest pattern that is matched; real ones have some twenty characters.
const MAX_PATTERN_BYTES: usize = 256;

/// Returns whether a path matches a glob. A pattern without `/` matches the name in any directory.
pub fn matches(pattern: &str, path: &str) -> bool {
    if pattern.len() > MAX_PATTERN_BYTES {
        return false;
    }
    if !pattern.contains('/') {
        return segment_matches(pattern, path.rsplit('/').next().unwrap_or(path));
    }
    let pattern: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // reached[i]: the pattern up to here matches the first i segments.
    let mut reached = vec![false; path.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        let mut any = false;
        for (at, slot) in next.iter_mut().enumerate() {
            let here = reached.get(at).copied().unwrap_or(false);
            any |= here;
            let previous = at.checked_sub(1).and_then(|before| Some((reached.get(before)?, path.get(before)?)));
            *slot =
                if part == "**" { any } else { previous.is_some_and(|(ok, name)| *ok && segment_matches(part, name)) };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

fn segment_matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for wanted in pattern.chars() {
        let mut next = vec![false; name.len() + 1];
        let mut any = false;
        for (at, slot) in next.iter_mut().enumerate() {
            any |= reached.get(at).copied().unwrap_or(false);
            let previous = at.checked_sub(1).and_then(|before| Some((reached.get(before)?, name.get(before)?)));
            *slot = match wanted {
                '*' => any,
                '?' => previous.is_some_and(|(ok, _)| *ok),
                _ => previous.is_some_and(|(ok, letter)| *ok && *letter == wanted),
            };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stay_in_their_segment_and_double_stars_do_not() {
        for (pattern, path, expected) in [
            ("*.sh", "init.sh", true),
            ("*.sh", "scripts/init.sh", true),
            ("scripts/*.sh", "scripts/init.sh", true),
            ("scripts/*.sh", "scripts/a/init.sh", false),
            ("scripts/**", "scripts/a/init.sh", true),
            ("**/init.sh", "init.sh", true),
            ("**/init.sh", "a/b/init.sh", true),
            ("a/**/z", "a/z", true),
            ("READ*", "README.md", true),
            ("?.yaml", "ab.yaml", false),
            ("*", "", true),
            ("/x/*", "x/y", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_length_times_length() {
        assert!(!matches(&"*a".repeat(100), &"a".repeat(90)));
    }
}
