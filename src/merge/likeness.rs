//! Pure. Leaves of nodes, how alike two nodes are, and what a text in a list is about.
//!
//! Not here: who is paired with whom (`align`, `pair`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::rules::GUESSED_KEYS;
use crate::base::{Digest, Encoder, sha256};
use crate::yaml::cst::{Cst, Kind, Label, NodeId, Style};

/// Characters of the id of a commit.
const COMMIT_CHARS: RangeInclusive<usize> = 7..=40;

/// Leaves of a node, how often each occurs.
pub(super) type Leaves = BTreeMap<Digest, usize>;

/// Returns the leaves of a node: paths of field names with the content there.
pub(super) fn leaves(cst: &Cst, id: NodeId) -> Leaves {
    let nobody = |_: &[&str], _: NodeId| None;
    let mut walk =
        Walk { cst, named: &nobody, knows_blocks: false, fields: Vec::new(), path: Vec::new(), found: Leaves::new() };
    walk.node(id);
    walk.found
}

/// Returns the same with the blocks of templates around a leaf, where what an item is called may be told by the names of the fields above and the item.
pub(super) fn leaves_in(cst: &Cst, id: NodeId, named: &dyn Fn(&[&str], NodeId) -> Option<String>) -> Leaves {
    let mut walk = Walk { cst, named, knows_blocks: true, fields: Vec::new(), path: Vec::new(), found: Leaves::new() };
    walk.node(id);
    walk.found
}

struct Walk<'a> {
    cst: &'a Cst,
    named: &'a dyn Fn(&[&str], NodeId) -> Option<String>,
    /// Whether a leaf in a block of a template is another one than outside of it.
    knows_blocks: bool,
    /// Names of the fields above.
    fields: Vec<&'a str>,
    /// The same with the names of items between.
    path: Vec<Cow<'a, str>>,
    found: Leaves,
}

impl Walk<'_> {
    fn node(&mut self, id: NodeId) {
        let node = self.cst.node(id);
        if node.children.is_empty() || !matches!(node.kind, Kind::Map | Kind::Seq | Kind::Block) {
            let mut leaf = |content: &Digest| *self.found.entry(leaf(&self.path, content)).or_default() += 1;
            // Of a text of several lines every line is a leaf, because sides change lines of it.
            match node.kind == Kind::Scalar && node.style == Style::BlockText {
                true => node.text.lines().for_each(|line| leaf(&sha256(line.as_bytes()))),
                false => leaf(&node.hash),
            }
            return;
        }
        for child in &node.children {
            let label = &child.label;
            match label {
                Label::Key(key) => {
                    self.fields.push(key);
                    self.path.push(key.into());
                    self.node(child.value);
                    self.fields.pop();
                }
                Label::Item => {
                    let name = (self.named)(&self.fields, child.value).map(Cow::Owned);
                    self.path.push(name.unwrap_or_else(|| known_by(self.cst, child.value).into()));
                    self.node(child.value);
                }
                Label::Block(_) | Label::Arm(_) => {
                    if !self.knows_blocks {
                        self.node(child.value);
                        continue;
                    }
                    self.path.push(format!("!{}", label.words().unwrap_or_default()).into());
                    self.node(child.value);
                }
                Label::End(_) if !self.knows_blocks => continue,
                Label::Line(words) | Label::End(words) | Label::Loose(words) => {
                    self.path.push("!".into());
                    let leaf = leaf(&self.path, &sha256(words.as_bytes()));
                    *self.found.entry(leaf).or_default() += 1;
                }
            }
            self.path.pop();
        }
    }
}

/// Returns the leaf of a content at a path.
pub(super) fn leaf<S: AsRef<str>>(path: &[S], content: &Digest) -> Digest {
    let mut encoder = Encoder::new();
    for step in path {
        encoder.text(step.as_ref());
    }
    encoder.raw(&content.0).digest()
}

/// Returns what an item is called, if a field of it is a name as people use them.
pub(super) fn known_by(cst: &Cst, id: NodeId) -> &str {
    let named = GUESSED_KEYS.iter().find_map(|key| cst.entry(id, key));
    named.map(|child| cst.node(child.value).text.as_str()).filter(|name| !name.is_empty()).unwrap_or("-")
}

/// Returns the share of equal leaves in percent.
pub(super) fn alike(a: &Leaves, b: &Leaves) -> usize {
    let shared: usize = a.iter().map(|(leaf, count)| *count.min(b.get(leaf).unwrap_or(&0))).sum();
    let all = a.values().sum::<usize>() + b.values().sum::<usize>();
    (shared * 200).checked_div(all).unwrap_or(100)
}

/// Returns what a text in a list is about, without the version or value in it: `--flag`, a variable's name, a repository.
pub(super) fn about(text: &str) -> Option<String> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    if let Some((url, query)) = text.split_once('?')
        && (query.contains("ref=") || query.contains("version="))
    {
        return Some(format!("url {url}"));
    }
    if text.starts_with('-') {
        return text.split_once('=').map(|(flag, _)| format!("flag {flag}"));
    }
    if text.contains("://") {
        return Some(format!("url {}", without_version_segment(text)?));
    }
    if let Some((name, _)) = text.split_once('=') {
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        return is_name.then(|| format!("variable {name}"));
    }
    if let Some((name, _)) = text.split_once('@') {
        return (!name.is_empty()).then(|| format!("image {name}"));
    }
    let (repository, tag) = text.rsplit_once(':')?;
    let is_image = !repository.is_empty() && !tag.is_empty() && !tag.contains('/') && repository.contains('/');
    is_image.then(|| format!("image {repository}"))
}

/// Returns whether a word is the id of a commit, whole or short.
fn is_commit(word: &str) -> bool {
    let has_both = word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_alphabetic());
    COMMIT_CHARS.contains(&word.len()) && has_both && word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

fn without_version_segment(url: &str) -> Option<String> {
    let is_version = |segment: &&str| {
        let digits = segment.strip_prefix('v').unwrap_or(segment);
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains('.') || is_commit(segment)
    };
    url.split('/').any(|segment| is_version(&segment)).then(|| {
        url.split('/').map(|segment| if is_version(&segment) { "*" } else { segment }).collect::<Vec<_>>().join("/")
    })
}

#[cfg(test)]
mod tests {
    use super::about;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(about(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_text_is_about_what_stays_when_its_version_moves() {
        check("--level=debug", Some("flag --level"));
        check("LEVEL=debug", Some("variable LEVEL"));
        check("ghcr.io/a/b:1.2", Some("image ghcr.io/a/b"));
        check("github.com/a/b//base?ref=v1", Some("url github.com/a/b//base"));
        check("https://example.org/v1.2.0/crds.yaml", Some("url https://example.org/*/crds.yaml"));
        check("https://example.org/a/0f3c9e1/x.yaml", Some("url https://example.org/a/*/x.yaml"));
        check("https://example.org/a/facade/x.yaml", None);
        check("deployment.yaml", None);
        check("two words", None);
    }
}
