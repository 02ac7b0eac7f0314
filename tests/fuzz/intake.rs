//! Targets for what git brings from outside: packs and their indexes, trees, commits, tags, names and listings of refs.
//!
//! Every character of an input is a byte, those above 255 a question mark, so that an input is a text like any other. Not here: the other targets
//! (`targets.rs`).

use std::collections::BTreeSet;
use std::process::Command;

use rewild::base::{RepoPath, is_deceptive};
use rewild::git::checks::commit::{parse_commit, parse_tag};
use rewild::git::checks::name::{check_name, collision_key};
use rewild::git::checks::pack::{Packed, Place, WINDOW_BYTES, huge_steps, parse_head, parse_index};
use rewild::git::checks::refs::{MAX_REFS, check_ref_name, parse_listing};
use rewild::git::checks::signature::{Carried, carried};
use rewild::git::checks::tree::{Kind, check_entries, find_entry, parse};
use rewild::git::checks::{MAX_PARENTS, MAX_TREE_ENTRIES};

/// Every so many names that are taken is shown to git, because a process for each would take all the time.
const SHOWN_TO_GIT: usize = 16;

fn bytes(input: &str) -> Vec<u8> {
    input.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// Nothing is read from a pack but windows of it, at most two for each object; whatever lies whole is not refused, whatever cannot be followed is. The
/// parts are an index, a pack, and how far apart its objects lie.
pub(crate) fn pack_intake(input: &str) {
    let mut parts = input.split("%%%%\n").map(bytes);
    let mut next = || parts.next().unwrap_or_default();
    let (index, pack, gaps) = (next(), next(), next());
    if let Ok(places) = parse_index(&index) {
        assert!(places.len() * 24 <= index.len() && places.is_sorted(), "{input:?}");
    }
    let mut offset = 12;
    let mut places = Vec::new();
    for (number, gap) in (0..200_u8).zip(gaps) {
        places.push(Place { offset, id: [number; 20] });
        offset += u64::from(gap).max(1);
    }
    let window = |offset: u64| {
        let start = usize::try_from(offset).unwrap().min(pack.len());
        pack[start..].iter().copied().take(WINDOW_BYTES).collect::<Vec<u8>>()
    };
    let mut reads = 0;
    let huge = huge_steps(&places, |offset| {
        reads += 1;
        Ok::<_, ()>(window(offset))
    });
    let huge = huge.unwrap();
    assert!(reads <= 2 * places.len(), "{input:?}");
    assert!(huge.is_subset(&places.iter().map(|place| place.id).collect::<BTreeSet<_>>()));
    for place in &places {
        let window = window(place.offset);
        match parse_head(&window) {
            Err(_) => assert!(huge.contains(&place.id), "{place:?} {input:?}"),
            Ok(head) => {
                assert!(head.length <= window.len(), "{input:?}");
                match head.packed {
                    Packed::Whole(_) => assert!(!huge.contains(&place.id), "{place:?} {input:?}"),
                    Packed::Before(back) => {
                        let is_known = place
                            .offset
                            .checked_sub(back)
                            .is_some_and(|at| places.iter().any(|known| known.offset == at));
                        assert!(is_known && back > 0 || huge.contains(&place.id), "{place:?} {input:?}");
                    }
                    Packed::On(id) => {
                        assert!(
                            places.iter().any(|known| known.id == id) || huge.contains(&place.id),
                            "{place:?} {input:?}"
                        );
                    }
                }
            }
        }
    }
}

/// What is taken is bounded, is a repository path, hides nothing and is a ref of git. The parts are a tree, a commit, a tag, the name of a ref, and a
/// listing of refs.
pub(crate) fn push_checks(input: &str) {
    let mut parts = input.split("%%%%\n");
    let mut next = || parts.next().unwrap_or_default();
    let (tree, commit, tag, name, listing) = (bytes(next()), bytes(next()), bytes(next()), next(), next());
    if let Ok(entries) = parse(&tree) {
        assert!(entries.len() <= MAX_TREE_ENTRIES && entries.len() * 22 <= tree.len(), "{input:?}");
        for entry in &entries {
            assert!(find_entry(&tree, entry.name).is_some());
        }
        if check_entries(&entries).is_ok() {
            for entry in &entries {
                taken(std::str::from_utf8(entry.name).unwrap());
                assert!(entry.kind != Kind::Directory || entry.kind.mode() == 0o040_000);
            }
        }
    }
    if let Carried::One(part) = carried(&commit) {
        assert!(part.payload.len() + part.signature.len() < commit.len(), "{input:?}");
        assert_eq!(carried(&part.payload), Carried::Nothing, "{input:?}");
    }
    if let Ok(commit) = parse_commit(&commit) {
        assert!(commit.parents.len() <= MAX_PARENTS, "{input:?}");
    }
    let _ = parse_tag(&tag);
    for name in name.split('/') {
        if check_name(name.as_bytes()).is_ok() {
            taken(name);
        }
    }
    if check_ref_name(name).is_ok() {
        assert!(name.starts_with("refs/") && !name.split('/').any(|part| part.starts_with('-')), "{name:?}");
        assert!(!name.chars().any(is_deceptive), "{name:?}");
        if name.len().is_multiple_of(SHOWN_TO_GIT) {
            let shown = Command::new("git").args(["check-ref-format", name]).status().unwrap();
            assert!(shown.success(), "git refuses {name:?}");
        }
    }
    if let Ok(listed) = parse_listing(listing) {
        assert!(listed.len() <= MAX_REFS);
        assert!(listed.iter().all(|listed| listed.name == "HEAD" || check_ref_name(&listed.name).is_ok()), "{input:?}");
    }
}

/// A name that is taken is a repository path and its key is the key of the key.
fn taken(name: &str) {
    assert!(RepoPath::parse(name).is_ok(), "{name:?}");
    let key = collision_key(name);
    assert_eq!(collision_key(&key), key, "{name:?}");
}
