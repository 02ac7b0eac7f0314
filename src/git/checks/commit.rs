//! Pure. Raw commits and tags: what they lead to, without their text.
//!
//! Not here: authors, messages and trailers (`history.rs`).

use super::{Id, MAX_PARENTS, ObjectKind, Rule};

/// The rule of bytes that are no commit.
const BROKEN_COMMIT: Rule = ("commit/format", "the commit object is damaged");
/// The rule of bytes that are no tag.
const BROKEN_TAG: Rule = ("tag/format", "the tag object is damaged");

/// What a commit leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitLinks {
    /// Its tree.
    pub tree: Id,
    /// Its parents in order.
    pub parents: Vec<Id>,
    /// When it was made, in seconds; 0 where its committer line says none.
    pub time: i64,
}

/// What a tag leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TagLink {
    /// The object.
    pub target: Id,
    /// What the tag says it is.
    pub kind: ObjectKind,
}

/// Reads the head of a raw commit.
pub fn parse_commit(raw: &[u8]) -> Result<CommitLinks, Rule> {
    let (tree, mut rest) = id_line(raw, b"tree ").ok_or(BROKEN_COMMIT)?;
    let mut parents = Vec::new();
    while rest.starts_with(b"parent ") {
        let (parent, after) = id_line(rest, b"parent ").ok_or(BROKEN_COMMIT)?;
        if parents.len() == MAX_PARENTS {
            return Err(("commit/parents", "a commit has more than 100 parents"));
        }
        parents.push(parent);
        rest = after;
    }
    let head = rest.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let committer = head.filter_map(|line| line.strip_prefix(b"committer ")).next();
    Ok(CommitLinks { tree, parents, time: committer.and_then(time).unwrap_or(0) })
}

/// Reads the head of a raw tag.
pub fn parse_tag(raw: &[u8]) -> Result<TagLink, Rule> {
    let (target, rest) = id_line(raw, b"object ").ok_or(BROKEN_TAG)?;
    let kind = match rest.strip_prefix(b"type ").and_then(|rest| rest.split(|byte| *byte == b'\n').next()) {
        Some(b"commit") => ObjectKind::Commit,
        Some(b"tree") => ObjectKind::Tree,
        Some(b"blob") => ObjectKind::Blob,
        Some(b"tag") => ObjectKind::Tag,
        Some(_) | None => return Err(BROKEN_TAG),
    };
    Ok(TagLink { target, kind })
}

/// Returns the id on a line that begins with a word, and what follows the line.
fn id_line<'a>(raw: &'a [u8], word: &[u8]) -> Option<(Id, &'a [u8])> {
    let (hex, rest) = raw.strip_prefix(word)?.split_first_chunk::<40>()?;
    let mut id = Id::default();
    for (to, pair) in id.iter_mut().zip(hex.chunks_exact(2)) {
        *to = u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?, 16).ok()?;
    }
    Some((id, rest.strip_prefix(b"\n")?))
}

/// Returns the seconds in `Name <mail> 1732172400 +0100`.
fn time(line: &[u8]) -> Option<i64> {
    let end = line.iter().rposition(|byte| *byte == b'>')?;
    let text = std::str::from_utf8(line.get(end + 1..)?).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";

    fn commit(parents: usize, rest: &str) -> Vec<u8> {
        let parents = format!("parent {ONE}\n").repeat(parents);
        format!("tree {ONE}\n{parents}author A <a@b> 5 +0000\ncommitter B <b> c> 1732172400 +0100\n{rest}").into_bytes()
    }

    #[test]
    fn a_commit_leads_to_its_tree_and_its_parents() {
        let read = parse_commit(&commit(2, "encoding x\n\nA message\ncommitter C <c> 9 +0000\n")).unwrap();
        assert_eq!(read, CommitLinks { tree: [0x11; 20], parents: vec![[0x11; 20]; 2], time: 1_732_172_400 });
        assert_eq!(parse_commit(format!("tree {ONE}\n\ncommitter C <c> 9 +0000\n").as_bytes()).unwrap().time, 0);
        assert_eq!(parse_commit(&commit(MAX_PARENTS, "")).unwrap().parents.len(), MAX_PARENTS);
        assert_eq!(parse_commit(&commit(MAX_PARENTS + 1, "")).unwrap_err().0, "commit/parents");
    }

    #[test]
    fn bytes_that_are_no_commit_or_tag_are_refused() {
        for raw in [
            "",
            "tree",
            "tree 11\n",
            &format!("tree {ONE}"),
            &format!("tree +{}\n", "1".repeat(39)),
            &format!("tree {ONE}\nparent x\n"),
        ] {
            assert_eq!(parse_commit(raw.as_bytes()).unwrap_err().0, "commit/format", "{raw}");
        }
        for raw in
            ["", &format!("object {ONE}\n"), &format!("object {ONE}\ntype ref\n"), &format!("object {ONE}\ntype\n")]
        {
            assert_eq!(parse_tag(raw.as_bytes()).unwrap_err().0, "tag/format", "{raw}");
        }
        let tag = parse_tag(format!("object {ONE}\ntype tag\ntag x\n").as_bytes()).unwrap();
        assert_eq!(tag, TagLink { target: [0x11; 20], kind: ObjectKind::Tag });
    }
}
