//! Checks git trees before anything reads them: git itself accepts trees whose entries leave the repository, overwrite
//! its configuration, hide behind look-alike names or expand to billions of files.
//!
//! Every tree object is read once however often it occurs, so twelve objects that stand for 10^10 files cost twelve reads.
//!
//! Not here: what becomes of a refusal (`read.rs`: an error; `hook::receive`: a refused push).

use std::collections::{BTreeSet, HashMap};

use git2::{ObjectType, Odb, Oid};

use crate::base::RepoPath;
use crate::base::limits::{MAX_PATH_BYTES, MAX_PATH_DEPTH};

/// Files of one commit: 10,000 apps of 50 files.
pub const MAX_TREE_PATHS: u64 = 500_000;
/// Entries of one tree object.
pub const MAX_TREE_ENTRIES: usize = 10_000;
/// Length of one name in bytes, the limit of every file system.
const MAX_NAME_BYTES: usize = 255;
/// Bytes that one reading call takes into memory.
pub(super) const MAX_READ_BYTES: u64 = 256 * 1024 * 1024;
/// Size of a tree object in bytes, so that a bomb is refused before it is read.
const MAX_TREE_BYTES: usize = MAX_TREE_ENTRIES * (MAX_NAME_BYTES + 32);

/// A place in a tree that breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path:?} is refused ({rule}): {reason}")]
pub struct HostileTree {
    /// The path, unfit bytes replaced.
    pub path: String,
    /// The rule, such as `tree/symlink`.
    pub rule: &'static str,
    /// What the rule says.
    pub reason: &'static str,
}

/// Why a tree cannot be taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It breaks a rule.
    Hostile(HostileTree),
    /// It could not be read.
    Unreadable(git2::Error),
}

/// What an entry of a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
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

/// One entry of a raw tree object.
pub(super) struct Entry<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a [u8],
    pub(super) id: Oid,
}

/// How much of a tree is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// Names and counts: for history that nobody reads files from.
    Names,
    /// Modes and sizes too, with this limit for one file in bytes.
    Files(u64),
}

/// What lies below a tree, saturating.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Files.
    pub(super) files: u64,
    /// Their bytes together; 0 when only names are checked.
    pub(super) bytes: u64,
    /// Levels of directories below.
    height: usize,
    /// Length of the longest path below.
    longest: usize,
}

/// A walk over trees that remembers what it has seen.
pub(super) struct TreeCheck<'a> {
    odb: &'a Odb<'a>,
    depth: Depth,
    seen: HashMap<Oid, Extent>,
}

type Rule = (&'static str, &'static str);

impl<'a> TreeCheck<'a> {
    /// Starts a walk.
    pub(super) fn new(odb: &'a Odb<'a>, depth: Depth) -> Self {
        Self { odb, depth, seen: HashMap::new() }
    }

    /// Checks the tree at a path of a commit, the empty path being its root, and returns what lies below it.
    pub(super) fn check(&mut self, tree: Oid, path: &str) -> Result<Extent, Refusal> {
        let above = path.split('/').filter(|part| !part.is_empty()).count();
        let extent = self.walk(tree, path, above)?;
        if extent.files > MAX_TREE_PATHS {
            return Err(hostile(path, ("tree/paths", "it holds more than 500,000 files")));
        }
        Ok(extent)
    }

    /// Checks the size of one file and returns it.
    pub(super) fn check_file(&self, id: Oid, path: &str) -> Result<u64, Refusal> {
        let Depth::Files(most) = self.depth else { return Ok(0) };
        let (size, kind) = self.odb.read_header(id).map_err(Refusal::Unreadable)?;
        if kind != ObjectType::Blob {
            return Err(hostile(path, ("tree/mode", "its mode says file, but the object is none")));
        }
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        if size > most {
            return Err(hostile(path, ("tree/file-size", "the file is larger than allowed")));
        }
        Ok(size)
    }

    fn walk(&mut self, tree: Oid, path: &str, above: usize) -> Result<Extent, Refusal> {
        if above > MAX_PATH_DEPTH {
            return Err(hostile(path, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        let known = match self.seen.get(&tree) {
            Some(extent) => *extent,
            None => {
                let extent = self.measure(tree, path, above)?;
                self.seen.insert(tree, extent);
                extent
            }
        };
        if above + known.height > MAX_PATH_DEPTH {
            return Err(hostile(path, ("tree/depth", "it is nested deeper than 32 directories")));
        }
        if path.len() + known.longest > MAX_PATH_BYTES {
            return Err(hostile(path, ("tree/path-length", "a path in it is longer than 1,024 bytes")));
        }
        Ok(known)
    }

    fn measure(&mut self, tree: Oid, path: &str, above: usize) -> Result<Extent, Refusal> {
        let object = read_tree_object(self.odb, tree, path)?;
        let entries = parse(object.data()).map_err(|rule| hostile(path, rule))?;
        check_entries(&entries, path)?;
        let mut extent = Extent::default();
        for entry in &entries {
            let below = join(path, entry.name);
            let found = match entry.kind {
                Kind::Directory => self.walk(entry.id, &below, above + 1)?,
                Kind::Regular | Kind::Executable => {
                    Extent { files: 1, bytes: self.check_file(entry.id, &below)?, ..Extent::default() }
                }
                Kind::Symlink | Kind::Gitlink | Kind::Unknown => {
                    if let Depth::Files(_) = self.depth {
                        return Err(hostile(&below, unfit_kind(entry.kind)));
                    }
                    Extent { files: 1, ..Extent::default() }
                }
            };
            let levels = usize::from(entry.kind == Kind::Directory);
            extent.files = extent.files.saturating_add(found.files);
            extent.bytes = extent.bytes.saturating_add(found.bytes);
            extent.height = extent.height.max(found.height + levels);
            extent.longest = extent.longest.max(found.longest + entry.name.len() + 1);
        }
        Ok(extent)
    }
}

/// Checks the names in one tree object, not what lies below.
pub(super) fn check_tree_object(odb: &Odb<'_>, tree: Oid) -> Result<(), Refusal> {
    let object = read_tree_object(odb, tree, "")?;
    let entries = parse(object.data()).map_err(|rule| hostile("", rule))?;
    check_entries(&entries, "")
}

/// Reads a tree object, its size checked first.
pub(super) fn read_tree_object<'a>(odb: &'a Odb<'_>, tree: Oid, path: &str) -> Result<git2::OdbObject<'a>, Refusal> {
    let (size, kind) = odb.read_header(tree).map_err(Refusal::Unreadable)?;
    if kind != ObjectType::Tree {
        return Err(hostile(path, ("tree/mode", "its mode says directory, but the object is none")));
    }
    if size > MAX_TREE_BYTES {
        return Err(hostile(path, ("tree/entries", "it holds more than 10,000 entries")));
    }
    odb.read(tree).map_err(Refusal::Unreadable)
}

/// Splits a raw tree object into its entries.
pub(super) fn parse(mut raw: &[u8]) -> Result<Vec<Entry<'_>>, Rule> {
    const BROKEN: Rule = ("tree/format", "the tree object is damaged");
    let mut entries = Vec::new();
    while !raw.is_empty() {
        let (mode, rest) = split(raw, b' ').ok_or(BROKEN)?;
        let (name, rest) = split(rest, 0).ok_or(BROKEN)?;
        let (id, rest) = rest.split_at_checked(20).ok_or(BROKEN)?;
        let id = Oid::from_bytes(id).map_err(|_| BROKEN)?;
        entries.push(Entry { kind: kind(mode), name, id });
        if entries.len() > MAX_TREE_ENTRIES {
            return Err(("tree/entries", "it holds more than 10,000 entries"));
        }
        raw = rest;
    }
    Ok(entries)
}

/// Returns the path of an entry below a path.
pub(super) fn join(path: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") }
}

/// Checks the names of a whole path and returns it.
pub(super) fn check_path(path: &[u8]) -> Result<RepoPath, HostileTree> {
    let text = String::from_utf8_lossy(path);
    let refuse = |(rule, reason)| HostileTree { path: text.to_string(), rule, reason };
    for name in path.split(|byte| *byte == b'/') {
        check_name(name).map_err(refuse)?;
    }
    RepoPath::parse(&text).map_err(|error| refuse(("tree/name", error.reason)))
}

/// Returns the refusal of an entry whose mode, as git writes it, is none of a file.
pub(super) fn unfit_mode(path: &str, mode: u32) -> HostileTree {
    let (rule, reason) = unfit_kind(kind(format!("{mode:o}").as_bytes()));
    HostileTree { path: path.to_owned(), rule, reason }
}

/// Returns the refusal of a path.
pub(super) fn hostile(path: &str, (rule, reason): Rule) -> Refusal {
    Refusal::Hostile(HostileTree { path: path.to_owned(), rule, reason })
}

/// Returns the rule that forbids an entry that is neither file nor directory.
pub(super) fn unfit_kind(kind: Kind) -> Rule {
    match kind {
        Kind::Symlink => ("tree/symlink", "symbolic links are not taken, because they may lead out of the repository"),
        Kind::Gitlink => ("tree/gitlink", "submodules are not taken"),
        Kind::Regular | Kind::Executable | Kind::Directory | Kind::Unknown => {
            ("tree/mode", "only modes 100644, 100755 and 40000 are taken")
        }
    }
}

fn split(raw: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = raw.iter().position(|byte| *byte == at)?;
    let (before, after) = raw.split_at_checked(position)?;
    Some((before, after.get(1..)?))
}

fn kind(mode: &[u8]) -> Kind {
    match mode {
        b"100644" => Kind::Regular,
        b"100755" => Kind::Executable,
        b"40000" => Kind::Directory,
        b"120000" => Kind::Symlink,
        b"160000" => Kind::Gitlink,
        _ => Kind::Unknown,
    }
}

fn check_entries(entries: &[Entry<'_>], path: &str) -> Result<(), Refusal> {
    let mut folded = BTreeSet::new();
    let mut before: Option<Vec<u8>> = None;
    for entry in entries {
        let below = join(path, entry.name);
        let name = check_name(entry.name).map_err(|rule| hostile(&below, rule))?;
        if !folded.insert(name.to_lowercase()) {
            return Err(hostile(&below, ("tree/duplicate", "two names differ in case only, or not at all")));
        }
        let key = sort_key(entry);
        if before.is_some_and(|before| before >= key) {
            return Err(hostile(&below, ("tree/order", "the entries are not in git's order")));
        }
        before = Some(key);
    }
    Ok(())
}

/// Git sorts a directory as if its name ended in a slash.
fn sort_key(entry: &Entry<'_>) -> Vec<u8> {
    let mut key = entry.name.to_vec();
    if entry.kind == Kind::Directory {
        key.push(b'/');
    }
    key
}

/// Checks one name on its own and returns it as text.
fn check_name(name: &[u8]) -> Result<&str, Rule> {
    let Ok(name) = std::str::from_utf8(name) else { return Err(("tree/name", "the name is not UTF-8")) };
    if name == "." || name == ".." {
        return Err(("tree/parent", "the name . or .. leads to another directory"));
    }
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(("tree/name", "the name is empty or longer than 255 bytes"));
    }
    if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(("tree/name", "the name holds a slash, a backslash or a control character"));
    }
    let folded = fold(name);
    if folded == ".gitmodules" {
        return Err(("tree/gitlink", "submodules are not taken"));
    }
    let short = folded.strip_prefix("git~").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if folded == ".git" || short {
        return Err(("tree/dotgit", "some file systems take the name for .git"));
    }
    if name.ends_with(['.', ' ']) {
        return Err(("tree/name", "the name ends in a dot or a space"));
    }
    Ok(name)
}

/// Returns a name as the file systems of macOS and Windows would see it: code points that HFS+ ignores removed, the
/// stream and the trailing dots and spaces that NTFS drops cut off, in lower case.
fn fold(name: &str) -> String {
    let seen: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let stem = seen.split(':').next().unwrap_or(&seen);
    stem.trim_end_matches(['.', ' ']).to_lowercase()
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
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
        let rule = match check_entries(&entries, "apps") {
            Ok(()) => "taken",
            Err(Refusal::Hostile(place)) => place.rule,
            Err(Refusal::Unreadable(_)) => "unreadable",
        };
        assert_eq!(rule, expected, "{:?}", String::from_utf8_lossy(&raw));
    }

    #[test]
    fn names_that_lead_elsewhere_or_pass_for_dot_git_are_refused() {
        for name in [&b".git"[..], b".GIT", b".git ", b".git...", b"git~1", b"GIT~22", b".git::$INDEX_ALLOCATION"] {
            check(&[("40000", name)], "tree/dotgit");
        }
        check(&[("40000", ".g\u{200c}it".as_bytes())], "tree/dotgit");
        check(&[("40000", "\u{feff}.Git".as_bytes())], "tree/dotgit");
        check(&[("40000", b"..")], "tree/parent");
        check(&[("40000", b".")], "tree/parent");
        check(&[("100644", b".gitmodules")], "tree/gitlink");
        check(&[("100644", b".GitModules. ")], "tree/gitlink");
        for name in [&b"a/../../b"[..], b"a\\b", b"a\nb", b"a\x7f", b"", b"end.", b"end ", b"\xff"] {
            check(&[("100644", name)], "tree/name");
        }
        check(&[("100644", &[b'a'; 256])], "tree/name");
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
    fn ordinary_names_are_taken() {
        check(
            &[("100644", b".gitattributes"), ("100644", b".gitignore"), ("100644", b"a.b"), ("40000", b"a")],
            "taken",
        );
        check(&[("100644", "caf\u{e9}.yaml".as_bytes()), ("100755", b"git~x")], "taken");
    }

    mod laws {
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn no_bytes_are_read_as_more_entries_than_they_hold(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
                if let Ok(entries) = super::parse(&raw) {
                    prop_assert!(entries.len() * 22 <= raw.len());
                    drop(super::check_entries(&entries, ""));
                }
            }

            #[test]
            fn a_name_that_is_taken_is_a_repository_path(name in ".{0,40}") {
                if super::check_name(name.as_bytes()).is_ok() {
                    prop_assert!(crate::base::RepoPath::parse(&name).is_ok(), "{name:?}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_tree_object_is_refused() {
        for raw in [&b"100644"[..], b"100644 a", b"100644 a\0short"] {
            assert!(parse(raw).is_err_and(|rule| rule.0 == "tree/format"), "{raw:?}");
        }
    }
}
