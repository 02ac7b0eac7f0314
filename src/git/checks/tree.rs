//! Pure. Raw tree objects: their entries, and what an entry may be called.
//!
//! Not here: names on their own (`name.rs`), what lies below a tree (`check_tree.rs`).

use std::collections::BTreeSet;

use super::name::{check_name, collision_key};
use super::{Id, MAX_TREE_ENTRIES, Rule};

/// The rule of bytes that are no tree.
const BROKEN: Rule = ("tree/format", "the tree object is damaged");

/// What an entry of a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 100644.
    Regular,
    /// 100755.
    Executable,
    /// 40000.
    Directory,
    /// 120000.
    Symlink,
    /// 160000.
    Gitlink,
    /// Any other mode.
    Unknown,
}

impl Kind {
    /// Returns what a mode stands for, as a tree object writes it.
    pub fn of_mode(mode: &[u8]) -> Self {
        match mode {
            b"100644" => Self::Regular,
            b"100755" => Self::Executable,
            b"40000" => Self::Directory,
            b"120000" => Self::Symlink,
            b"160000" => Self::Gitlink,
            _ => Self::Unknown,
        }
    }

    /// Returns the mode as git writes it, such as 0o100644; 0 for one that it does not write.
    pub fn mode(self) -> u32 {
        match self {
            Self::Regular => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Directory => 0o040_000,
            Self::Symlink => 0o120_000,
            Self::Gitlink => 0o160_000,
            Self::Unknown => 0,
        }
    }

    /// Returns the rule that forbids an entry that is neither file nor directory.
    pub fn unfit(self) -> Rule {
        match self {
            Self::Symlink => {
                ("tree/symlink", "symbolic links are not taken, because they may lead out of the repository")
            }
            Self::Gitlink => ("tree/gitlink", "submodules are not taken"),
            Self::Regular | Self::Executable | Self::Directory | Self::Unknown => {
                ("tree/mode", "only modes 100644, 100755 and 40000 are taken")
            }
        }
    }
}

/// One entry of a raw tree object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its name, as it stands there.
    pub name: &'a [u8],
    /// The object that it names.
    pub id: Id,
}

/// Splits a raw tree object into its entries.
pub fn parse(mut raw: &[u8]) -> Result<Vec<Entry<'_>>, Rule> {
    let mut entries = Vec::new();
    while !raw.is_empty() {
        let (entry, rest) = first(raw).ok_or(BROKEN)?;
        entries.push(entry);
        if entries.len() > MAX_TREE_ENTRIES {
            return Err(("tree/entries", "it holds more than 10,000 entries"));
        }
        raw = rest;
    }
    Ok(entries)
}

/// Returns the entry of a raw tree object with this name; nothing as well where the object is damaged before it.
pub fn find_entry<'a>(mut raw: &'a [u8], name: &[u8]) -> Option<Entry<'a>> {
    loop {
        let (entry, rest) = first(raw)?;
        if entry.name == name {
            return Some(entry);
        }
        raw = rest;
    }
}

fn first(raw: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (mode, rest) = split(raw, b' ')?;
    let (name, rest) = split(rest, 0)?;
    let (id, rest) = rest.split_first_chunk::<20>()?;
    Some((Entry { kind: Kind::of_mode(mode), name, id: *id }, rest))
}

/// An entry that breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadEntry<'a> {
    /// Its name, as it stands there.
    pub name: &'a [u8],
    /// The rule.
    pub rule: Rule,
}

/// Checks the names of the entries of one tree, each on its own and beside the others.
pub fn check_entries<'a>(entries: &[Entry<'a>]) -> Result<(), BadEntry<'a>> {
    let mut keys = BTreeSet::new();
    let mut before: Option<&Entry<'_>> = None;
    for entry in entries {
        let bad = |rule| BadEntry { name: entry.name, rule };
        let name = check_name(entry.name).map_err(bad)?;
        if !keys.insert(collision_key(name)) {
            return Err(bad(("tree/duplicate", "two names differ in case or form only, or not at all")));
        }
        if before.is_some_and(|before| !sort_key(before).lt(sort_key(entry))) {
            return Err(bad(("tree/order", "the entries are not in git's order")));
        }
        before = Some(entry);
    }
    Ok(())
}

/// Git sorts a directory as if its name ended in a slash.
fn sort_key<'a>(entry: &Entry<'a>) -> impl Iterator<Item = u8> + use<'a> {
    let end = if entry.kind == Kind::Directory { Some(b'/') } else { None };
    entry.name.iter().copied().chain(end)
}

fn split(raw: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = raw.iter().position(|byte| *byte == at)?;
    let (before, after) = raw.split_at_checked(position)?;
    Some((before, after.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut raw = Vec::new();
        for (mode, name) in entries {
            raw.extend_from_slice(mode.as_bytes());
            raw.push(b' ');
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(&[7; 20]);
        }
        raw
    }

    fn check(entries: &[(&str, &[u8])], expected: &str) {
        let raw = raw(entries);
        let entries = parse(&raw).unwrap();
        let rule = match check_entries(&entries) {
            Ok(()) => "taken",
            Err(bad) => bad.rule.0,
        };
        assert_eq!(rule, expected, "{:?}", String::from_utf8_lossy(&raw));
    }

    #[test]
    fn duplicates_and_disorder_are_refused() {
        check(&[("100644", b"a"), ("100644", b"a")], "tree/duplicate");
        check(&[("100644", b"README"), ("100644", b"readme")], "tree/duplicate");
        check(&[("120000", b"x"), ("40000", b"x")], "tree/duplicate");
        check(&[("100644", b"b"), ("100644", b"a")], "tree/order");
        check(&[("40000", b"a"), ("100644", b"a.b")], "tree/order");
    }

    #[test]
    fn names_that_some_file_system_takes_for_one_are_refused() {
        for (one, other) in [
            ("cafe\u{301}", "caf\u{e9}"),
            ("STRASSE", "stra\u{df}e"),
            ("strasse", "stra\u{1e9e}e"),
            ("\u{212a}", "k"),
            ("\u{3c2}", "\u{3c3}"),
            ("fi", "\u{fb01}"),
            ("s", "\u{17f}"),
            ("i\u{307}", "\u{130}"),
            ("a", "a\u{200d}"),
            ("\u{1100}\u{1161}", "\u{ac00}"),
            ("A\u{30a}", "\u{e5}"),
            ("q\u{307}\u{323}", "q\u{323}\u{307}"),
        ] {
            let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
            if one > other {
                (one, other) = (other, one);
            }
            check(&[("100644", one), ("100644", other)], "tree/duplicate");
            check(&[("100644", one), ("40000", other)], "tree/duplicate");
        }
    }

    #[test]
    fn ordinary_names_are_taken() {
        check(
            &[("100644", b".gitattributes"), ("100644", b".gitignore"), ("100644", b"a.b"), ("40000", b"a")],
            "taken",
        );
        check(&[("100644", "caf\u{e9}.yaml".as_bytes()), ("100755", b"git~x")], "taken");
    }

    #[test]
    fn a_damaged_tree_object_is_refused() {
        for raw in [&b"100644"[..], b"100644 a", b"100644 a\0short"] {
            assert!(parse(raw).is_err_and(|rule| rule.0 == "tree/format"), "{raw:?}");
        }
    }

    mod laws {
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn no_bytes_are_read_as_more_entries_than_they_hold(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
                if let Ok(entries) = super::parse(&raw) {
                    prop_assert!(entries.len() * 22 <= raw.len());
                    drop(super::check_entries(&entries));
                }
            }
        }
    }
}
