//! Pure. Names of branches and tags that git takes for something else, or that leave no room for a ref of ours.
//!
//! A short name is looked for as itself, below `refs/`, as a tag, as a branch and as a remote's branch, in this order, and the first that is
//! there is taken (gitrevisions(7)). So one push can change what `main` means in every clone. Not here: names that git itself refuses
//! (`refs`).

/// The branch of an update and what else waits for people stand below this, so no ref may be called so itself.
const OURS: &str = "wild";
/// First parts of a short name by which git looks for other refs, `origin` being where every clone has ours.
const STARTS: [&str; 5] = ["refs", "heads", "tags", "remotes", "origin"];
/// First parts of a longer name by which git finds other refs, or where it keeps some of its own.
const BELOW: [&str; 6] = ["notes", "replace", "bisect", "stash", "worktrees", "main-worktree"];
/// Names that git keeps for itself beside those that end with `HEAD`.
const KEPT: [&str; 8] = [
    "@",
    "AUTO_MERGE",
    "BISECT_EXPECTED_REV",
    "BISECT_START",
    "MERGE_AUTOSTASH",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "STASH",
];
/// Digits of an object's id, by SHA-1 and by SHA-256.
const ID_DIGITS: [usize; 2] = [40, 64];

/// Returns what a branch or a tag would be taken for, or what it would stand in the way of, where a branch is deployed.
pub fn mistaken(name: &str, deployed: &str) -> Option<String> {
    let (is_tag, short) = match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
        (Some(short), _) => (false, short),
        (None, Some(short)) => (true, short),
        (None, None) => return None,
    };
    // On many file systems the case of letters makes no difference.
    let folded = short.to_lowercase();
    let first = folded.split('/').next().unwrap_or_default();
    let upper = short.to_uppercase();
    if short == deployed && !is_tag {
        return None;
    }
    if folded == deployed.to_lowercase() {
        return Some(format!("it would be taken for the deployed branch {deployed}"));
    }
    let is_ours = !is_tag && short.starts_with(&format!("{OURS}/"));
    if first == OURS && !is_ours {
        return Some(match !is_tag && folded == OURS {
            true => "no branch wild/… could be made beside it, on which updates wait for people".to_owned(),
            false => "it would be taken for a branch on which something of wild waits".to_owned(),
        });
    }
    let is_longer = folded.contains('/');
    if first == "head" && is_longer {
        return Some("no clone could be made: git keeps HEAD in the place of its directory".to_owned());
    }
    if first == deployed.to_lowercase() && is_longer {
        return Some(format!("where letters of both cases are one it stands in the way of the branch {deployed}"));
    }
    if (STARTS.contains(&first) || BELOW.contains(&first)) && is_longer {
        return Some(format!("git takes a name that begins with {first}/ for another ref"));
    }
    if STARTS.contains(&folded.as_str()) {
        return Some(format!("git looks for other refs below {folded}/"));
    }
    let is_head = upper == "HEAD" || upper.ends_with("_HEAD") && !upper.contains('/');
    if is_head || KEPT.contains(&upper.as_str()) {
        return Some(format!("git keeps the name {upper} for itself"));
    }
    if ID_DIGITS.contains(&short.len()) && short.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some("it would be taken for the id of a commit".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::mistaken;

    #[test]
    fn names_that_git_or_we_would_take_for_something_else_are_known() {
        let deployed = "would be taken for the deployed branch main";
        let waits = "would be taken for a branch on which something of wild waits";
        for (name, expected) in [
            ("refs/heads/Main", deployed),
            ("refs/heads/MAIN", deployed),
            ("refs/tags/main", deployed),
            ("refs/tags/mAin", deployed),
            ("refs/heads/wild", "no branch wild/… could be made beside it"),
            ("refs/heads/Wild", "no branch wild/… could be made beside it"),
            ("refs/heads/Wild/update/ghost", waits),
            ("refs/heads/WILD/x", waits),
            ("refs/tags/wild", waits),
            ("refs/tags/wild/update/ghost", waits),
            ("refs/heads/refs/heads/main", "begins with refs/ for another ref"),
            ("refs/tags/refs/heads/main", "begins with refs/ for another ref"),
            ("refs/heads/Refs/tags/v1", "begins with refs/ for another ref"),
            ("refs/heads/heads/main", "begins with heads/ for another ref"),
            ("refs/tags/heads/main", "begins with heads/ for another ref"),
            ("refs/heads/tags/v1", "begins with tags/ for another ref"),
            ("refs/heads/remotes/origin/main", "begins with remotes/ for another ref"),
            ("refs/tags/origin/main", "begins with origin/ for another ref"),
            ("refs/heads/origin/main", "begins with origin/ for another ref"),
            ("refs/tags/origin", "git looks for other refs below origin/"),
            ("refs/heads/refs", "git looks for other refs below refs/"),
            ("refs/heads/HEAD", "git keeps the name HEAD for itself"),
            ("refs/heads/head", "git keeps the name HEAD for itself"),
            ("refs/tags/HEAD", "git keeps the name HEAD for itself"),
            ("refs/heads/FETCH_HEAD", "git keeps the name FETCH_HEAD for itself"),
            ("refs/tags/Orig_Head", "git keeps the name ORIG_HEAD for itself"),
            ("refs/heads/MERGE_HEAD", "git keeps the name MERGE_HEAD for itself"),
            ("refs/heads/AUTO_MERGE", "git keeps the name AUTO_MERGE for itself"),
            ("refs/heads/HEAD/x", "no clone could be made"),
            ("refs/heads/head/x/y", "no clone could be made"),
            ("refs/heads/MAIN/x", "in the way of the branch main"),
            ("refs/heads/notes/wild", "begins with notes/ for another ref"),
            ("refs/tags/notes/wild", "begins with notes/ for another ref"),
            ("refs/tags/bisect/bad", "begins with bisect/ for another ref"),
            ("refs/heads/@", "git keeps the name @ for itself"),
            ("refs/tags/stash", "git keeps the name STASH for itself"),
            ("refs/heads/0123456789abcdef0123456789abcdef01234567", "for the id of a commit"),
        ] {
            let found = mistaken(name, "main").unwrap_or_default();
            assert!(found.contains(expected), "{name}: {found:?}");
        }
        assert!(mistaken("refs/tags/team/prod", "team/prod").is_some());
        for name in [
            "refs/heads/main",
            "refs/heads/topic",
            "refs/heads/wild-ideas",
            "refs/heads/wilder/x",
            "refs/heads/wild/update/ghost",
            "refs/heads/feature/main",
            "refs/heads/feature/refs",
            "refs/heads/notes",
            "refs/heads/stashed/x",
            "refs/heads/header",
            "refs/heads/ahead",
            "refs/heads/fix/HEAD",
            "refs/heads/original",
            "refs/tags/v1.0",
            "refs/tags/deploy/ghost/3",
            "refs/heads/deadbeef",
            "refs/heads/0123456789abcdef0123456789abcdef0123456z",
            "refs/pull/1/head",
        ] {
            assert_eq!(mistaken(name, "main"), None, "{name}");
        }
    }
}
