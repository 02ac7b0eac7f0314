//! Pure. Names of refs, and the listings of refs that a remote or a hook gives us.
//!
//! Not here: refs themselves (`git::refs`).

use super::{Id, Rule};
use crate::base::is_deceptive;

/// Longest ref name in bytes; file systems stop at 255 for one segment.
pub const MAX_REF_BYTES: usize = 255;
/// Refs of one repository, of one listing, and that one push moves; more is no instance repository.
pub const MAX_REFS: usize = 10_000;

/// Checks the name of a ref: full, valid for git, short enough, no part that could pass for an option, nothing that is not seen.
pub fn check_ref_name(name: &str) -> Result<(), &'static str> {
    if name.len() > MAX_REF_BYTES {
        return Err("it is longer than 255 bytes");
    }
    if !name.starts_with("refs/") {
        return Err("it does not start with refs/");
    }
    if name.split('/').any(|part| part.starts_with('-')) {
        return Err("a part starts with a dash");
    }
    if name.chars().any(|c| is_deceptive(c) && !c.is_control()) {
        return Err("it holds a character that is not seen or that turns the others round");
    }
    let is_bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let is_bad_char = |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    if name.split('/').any(is_bad_part)
        || name.contains(is_bad_char)
        || name.contains("..")
        || name.contains("@{")
        || name.ends_with('.')
    {
        return Err("git does not allow it");
    }
    Ok(())
}

/// A line of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedRef {
    /// `HEAD`, or the checked name of a ref.
    pub name: String,
    /// The commit, or what the ref leads to where it is none.
    pub id: Id,
}

/// Why a listing is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadListing {
    /// It is too long, or its end is missing.
    Rule(Rule),
    /// It holds a name that we refuse.
    Name {
        /// The name.
        name: String,
        /// The rule it breaks.
        reason: &'static str,
    },
}

/// Reads what `git ls-remote` prints: an id, a tab and a name on each line. The commit of a tag comes after the tag itself, under its name with a
/// mark, and takes its place; what is neither a branch nor a tag is passed over.
pub fn parse_listing(text: &str) -> Result<Vec<ListedRef>, BadListing> {
    let mut refs: Vec<ListedRef> = Vec::new();
    for line in text.lines() {
        let Some((id, name)) = line.split_once('\t') else { continue };
        let Some(id) = parse_id(id) else { continue };
        let name = name.strip_suffix("^{}").unwrap_or(name);
        if name != "HEAD" {
            check_ref_name(name).map_err(|reason| BadListing::Name { name: name.to_owned(), reason })?;
        }
        match refs.last_mut().filter(|last| last.name == name) {
            Some(last) => last.id = id,
            None => refs.push(ListedRef { name: name.to_owned(), id }),
        }
        if refs.len() > MAX_REFS {
            return Err(BadListing::Rule(("remote/refs", "it has more than 10,000 refs")));
        }
    }
    Ok(refs)
}

/// Returns the bytes of 40 hexadecimal digits.
pub fn parse_id(text: &str) -> Option<Id> {
    let digits = text.as_bytes();
    if digits.len() != 40 {
        return None;
    }
    let mut id = Id::default();
    for (to, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let (high, low) = (digit(pair.first()?)?, digit(pair.last()?)?);
        *to = u8::try_from(high * 16 + low).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_keeps_the_commits_of_tags_and_ends_at_its_limit() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let text =
            format!("{one}\tHEAD\n{one}\trefs/heads/main\n{one}\trefs/tags/v1\n{two}\trefs/tags/v1^{{}}\nnoise\n");
        let names: Vec<(String, u8)> =
            parse_listing(&text).unwrap().into_iter().map(|line| (line.name, line.id[0])).collect();
        let expected = [("HEAD", 0x11), ("refs/heads/main", 0x11), ("refs/tags/v1", 0x22)];
        assert_eq!(names, expected.map(|(name, id)| (name.to_owned(), id)));
        let lines = |count: usize| -> String { (0..count).map(|n| format!("{one}\trefs/heads/b{n}\n")).collect() };
        assert_eq!(parse_listing(&lines(MAX_REFS)).unwrap().len(), MAX_REFS);
        assert!(matches!(parse_listing(&lines(MAX_REFS + 1)), Err(BadListing::Rule(("remote/refs", _)))));
        let bad = parse_listing(&format!("{one}\trefs/heads/../../config\n"));
        assert!(matches!(bad, Err(BadListing::Name { .. })), "{bad:?}");
    }

    #[test]
    fn names_that_git_or_we_refuse() {
        for name in
            ["refs/heads/main", "refs/wild/generated/a", "refs/heads/caf\u{e9}", "refs/heads/a@b", "refs/heads/@"]
        {
            assert_eq!(check_ref_name(name), Ok(()), "{name}");
        }
        for name in [
            "main",
            "refs/",
            "refs/heads/",
            "refs/heads//a",
            "refs/heads/-x",
            "refs/heads/../x",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs/heads/a b",
            "refs/heads/a~b",
            "refs/heads/a@{b",
            "refs/heads/a.",
            "refs/heads/a\u{7f}",
            "refs/heads/a\nb",
            "refs/heads/a\u{202e}b",
            "refs/heads/a\u{200b}",
            "refs/heads/a*",
            "refs/heads/a\\b",
            "refs/heads/a:b",
            "refs/heads/a[b",
        ] {
            assert!(check_ref_name(name).is_err(), "{name:?}");
        }
        assert!(check_ref_name(&format!("refs/heads/{}", "a".repeat(MAX_REF_BYTES))).is_err());
    }
}
