//! Pure. Merges by lines an entry that cannot be told apart any further, while everything around it is merged by structure.
//!
//! Not here: merging whole files by lines (`file`).

use std::collections::BTreeSet;

use super::super::conflict::{ConflictKind, NoticeKind};
use super::super::document;
use super::super::part::Part;
use super::super::piece::{Piece, Rope};
use super::super::sound::holds_both;
use super::super::text::merge_text;
use super::super::tree::Three;
use super::{Impossible, Structure};
use crate::base::Digest;
use crate::yaml::cst::{Cst, Node};

impl<'a> Structure<'a, '_> {
    /// Merges an entry by its lines; `why` says what spoke against its structure.
    pub(super) fn opaque(
        &mut self,
        (base, ours, theirs): (Option<Part<'a>>, Part<'a>, Part<'a>),
        column: usize,
        why: &str,
    ) -> Result<Piece, Impossible> {
        let impossible = || Impossible::Here(why.to_owned());
        if self.brackets > 0 || ours.is_inline() || theirs.is_inline() {
            return Err(impossible());
        }
        let lines = |part: Part<'_>| part.lines(column);
        let (mine, upstream) = (lines(ours), lines(theirs));
        let merged = merge_text(&base.map(lines).unwrap_or_default(), &mine, &upstream);
        let trio = Three { base, ours: Some(ours), theirs: Some(theirs) };
        if !merged.conflicts.is_empty() {
            let kind = if base.is_some() { ConflictKind::Value } else { ConflictKind::BothAdded };
            let why = format!("both sides changed it, and it can only be merged by lines: {why}");
            return Ok(self.conflict(kind, &why, &trio, column));
        }
        let texts = Three { base: base.map(lines).unwrap_or_default(), ours: mine, theirs: upstream };
        if self.rules.templates.is_some() && !self.holds_both(&texts, &merged.text) {
            let why = format!("by lines an edit of one side would be lost: {why}");
            return Ok(self.conflict(ConflictKind::TemplateBlock, &why, &trio, column));
        }
        let (hash, doubles) = self.read_entry(&merged.text, ours).ok_or_else(impossible)?;
        let most = [ours, theirs].iter().map(|part| doubles_of(part.cst, part.node())).max().unwrap_or(0);
        if doubles > most {
            let why = format!("put together, {why}");
            return Ok(self.conflict(ConflictKind::DuplicateKey, &why, &trio, column));
        }
        self.notice(NoticeKind::DuplicateKept, &format!("merged by lines: {why}"));
        let name = ours.name();
        Ok(Piece { text: Rope::plain(merged.text), gap: String::new(), content: Some((name, hash)), before: None })
    }

    /// Returns whether a merge by lines holds the edits of both sides, in whichever blocks of the template they stand.
    fn holds_both(&self, texts: &Three<String>, merged: &str) -> bool {
        let read = |text: &String| document::read(text, self.rules);
        match (read(&texts.base), read(&texts.ours), read(&texts.theirs), document::read(merged, self.rules)) {
            (Ok(base), Ok(ours), Ok(theirs), Ok(found)) => holds_both(&Three { base, ours, theirs }, &found),
            // What is no document of its own is judged with the whole file.
            _ => true,
        }
    }

    /// Returns the content of a written entry, and how many of its keys are there twice.
    fn read_entry(&self, text: &str, like: Part<'_>) -> Option<(Digest, usize)> {
        let documents = document::read(text, self.rules).ok()?;
        let [only] = documents.as_slice() else { return None };
        let mut entries = only.root()?.children.iter().filter(|child| child.label.words().is_none());
        let (entry, None) = (entries.next()?, entries.next()) else { return None };
        let node = only.cst.node(entry.value);
        (entry.label == like.child.label).then(|| (node.hash, doubles_of(&only.cst, node)))
    }
}

/// Returns how many keys below a node are there twice. Depth is bounded by the parser.
fn doubles_of(cst: &Cst, node: &Node) -> usize {
    let (mut seen, mut doubles) = (BTreeSet::new(), 0);
    for key in node.children.iter().filter_map(|child| child.label.key()) {
        doubles += usize::from(!seen.insert(key));
    }
    doubles + node.children.iter().map(|child| doubles_of(cst, cst.node(child.value))).sum::<usize>()
}
