//! Pure. Scalars that both sides changed: equal values in other spellings, and texts of several lines.
//!
//! Not here: writing the result into ours (`structure`).

use serde_json::Value;

use super::check::parts_of_image;
use super::document;
use super::part::Part;
use super::rules::{Rules, Subject};
use super::structure::Trio;
use super::text::{TextMerge, merge_text_settled};
use super::tree::Three;
use super::variables;
use crate::base::{Digest, RepoPath};
use crate::schema::{self, Shape, quantity};
use crate::yaml::cst::{Cst, Source, Style, hash_of_alias, hash_of_scalar, written_text};

/// What a merge of scalars comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ScalarMerge {
    /// Both say the same, ours' spelling stays.
    Ours,
    /// A text of several lines with the changes of both.
    Block(BlockText),
    /// The same, of which some lines are in conflict.
    Hunks(BlockHunks),
    /// Somebody has to decide.
    Conflict,
}

/// A merged text of several lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BlockText {
    /// Such as `|-`.
    pub(super) header: String,
    /// Its lines without indentation.
    pub(super) lines: String,
    /// Column of its lines in ours.
    pub(super) indent: usize,
    /// Content of the scalar.
    pub(super) hash: Digest,
}

/// A text of several lines that was merged by them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BlockHunks {
    /// Such as `|-`.
    pub(super) header: String,
    /// Its lines without indentation.
    pub(super) merged: TextMerge,
    /// Column of its lines in ours.
    pub(super) indent: usize,
}

/// Merges a scalar that both sides changed.
pub(super) fn merge(trio: &Trio<'_>, fields: &[String], subject: &Subject, rules: &Rules) -> ScalarMerge {
    let Three { base, ours: Some(ours), theirs: Some(theirs) } = *trio else { return ScalarMerge::Conflict };
    let (mine, upstream) = (ours.node(), theirs.node());
    let has_tag = |part: Part<'_>| part.cst.slice(&part.node().span).contains('!');
    if !mine.is_text && mine.value() == upstream.value() && !has_tag(ours) && !has_tag(theirs) {
        return ScalarMerge::Ours;
    }
    let path: Vec<&str> = fields.iter().map(String::as_str).collect();
    let is_quantity = matches!(schema::shape_at(&subject.group, &subject.kind, &path), Some(Shape::Quantity));
    let amount = quantity::amount(&mine.text);
    if is_quantity && amount.is_some() && amount == quantity::amount(&upstream.text) {
        return ScalarMerge::Ours;
    }
    let raws = (base.and_then(Raw::of), Raw::of(ours), Raw::of(theirs));
    let (Some(old), Some(mine), Some(upstream)) = raws else { return ScalarMerge::Conflict };
    blocks(&Three { base: old, ours: mine, theirs: upstream }, fields, rules).unwrap_or(ScalarMerge::Conflict)
}

/// Returns a value with the edits of both sides, where one can be thought of: the repository of one image with the tag of the
/// other. It is never taken unasked.
pub(super) fn suggestion(trio: &Trio<'_>, fields: &[String]) -> Option<String> {
    let Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) } = *trio else { return None };
    let has_digest = [base, ours, theirs].iter().any(|part| part.node().text.contains('@'));
    if has_digest || fields.last().is_none_or(|field| field != "image") {
        return None;
    }
    let of = |part: Part<'_>| {
        let (repository, tag) = parts_of_image(&part.node().text);
        (repository.to_owned(), tag.to_owned())
    };
    let (old, mine, upstream) = (of(base), of(ours), of(theirs));
    let pick = |old: &String, mine: &String, upstream: &String| match (old == mine, old == upstream) {
        (true, _) => Some(upstream.clone()),
        (false, true) => Some(mine.clone()),
        (false, false) => None,
    };
    let (repository, tag) = (pick(&old.0, &mine.0, &upstream.0)?, pick(&old.1, &mine.1, &upstream.1)?);
    (!tag.is_empty()).then(|| format!("{repository}:{tag}"))
}

/// A block text as it is written.
struct Raw {
    header: String,
    lines: String,
    indent: usize,
}

impl Raw {
    fn of(part: Part<'_>) -> Option<Self> {
        let node = part.node();
        if node.style != Style::BlockText || node.anchor.is_some() {
            return None;
        }
        let text = part.cst.slice(&node.span);
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let header = first.split_once(" #").map_or(first, |(header, _)| header).trim().to_owned();
        if !header.starts_with(['|', '>']) || header.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let indent = rest
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.len() - line.trim_start_matches(' ').len())
            .min()?;
        if indent <= part.column() {
            // A line of a template begins left of the text.
            return None;
        }
        let mut lines: String = rest
            .split_inclusive('\n')
            .map(|line| line.get(indent.min(line.trim_end_matches('\n').len())..).unwrap_or(""))
            .collect();
        if !lines.ends_with('\n') {
            lines.push('\n');
        }
        Some(Self { header, lines, indent })
    }
}

fn blocks(raws: &Three<Raw>, fields: &[String], rules: &Rules) -> Option<ScalarMerge> {
    let Three { base, ours, theirs } = raws;
    let header = if base.header == theirs.header || ours.header == theirs.header {
        &ours.header
    } else if base.header == ours.header {
        &theirs.header
    } else {
        return None;
    };
    let lines = match embedded(raws, fields, rules) {
        Some(lines) => lines,
        None => {
            let merged = merge_text_settled(&base.lines, &ours.lines, &theirs.lines);
            if !merged.conflicts.is_empty() {
                return hunks(raws, header, merged);
            }
            merged.text
        }
    };
    if lines.starts_with([' ', '\t', '\n']) {
        // The first line would decide about the indentation of all.
        return None;
    }
    let hash = hash_of_text(header, &lines, rules)?;
    Some(ScalarMerge::Block(BlockText { header: header.clone(), lines, indent: ours.indent, hash }))
}

/// Returns the conflicts of a text where they are some of its lines; nothing where they are all of it.
fn hunks(raws: &Three<Raw>, header: &str, merged: TextMerge) -> Option<ScalarMerge> {
    let is_settled = merged.parts().iter().any(|(before, _)| !before.is_empty()) || merged.conflicts.len() > 1;
    // The first line says where all of them begin, whichever side is taken.
    let begins = |raw: &Raw| !raw.lines.starts_with([' ', '\t', '\n']);
    let (Three { base, ours, theirs }, indent) = (raws, raws.ours.indent);
    let is_told = begins(base) && begins(ours) && begins(theirs) && is_settled;
    is_told.then(|| ScalarMerge::Hunks(BlockHunks { header: header.to_owned(), merged, indent }))
}

/// Merges a file inside a text by its structure, one level deep, if that leaves nothing to decide.
fn embedded(raws: &Three<Raw>, fields: &[String], rules: &Rules) -> Option<String> {
    if fields.last().is_some_and(|name| variables::is_called_so(name)) {
        let Three { base, ours, theirs } = raws;
        let texts = Three { base: base.lines.as_str(), ours: ours.lines.as_str(), theirs: theirs.lines.as_str() };
        return variables::merge_clean(&texts, rules);
    }
    let is_object = |raw: &Raw| {
        let has = |key: &str| raw.lines.lines().any(|line| line.starts_with(key));
        has("apiVersion:") && has("kind:") && !document::objects(&raw.lines, rules).unwrap_or_default().is_empty()
    };
    let manifest = "manifest.yaml".to_owned();
    let is_manifest = [&raws.base, &raws.ours, &raws.theirs].into_iter().all(is_object);
    let name = fields.last().or(Some(&manifest)).map(|name| if is_manifest { &manifest } else { name });
    let name = name.filter(|name| [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)))?;
    let path = RepoPath::parse(&format!("embedded/{}", name.replace('/', "-"))).ok()?;
    let texts = Three {
        base: Some(raws.base.lines.as_str()),
        ours: Some(raws.ours.lines.as_str()),
        theirs: Some(raws.theirs.lines.as_str()),
    };
    let inner = Rules { limits: rules.limits, ..Rules::default() };
    document::merge_clean(&path, &texts, &inner)
}

/// Returns the content of a value as it stands behind a key.
fn hash_of(text: &str) -> Option<Digest> {
    let cst = Cst::parse(Source { text, masked: text, controls: &[] }).ok()?;
    cst.at(&["k"]).map(|node| node.hash)
}

/// Returns the content of a block text.
pub(super) fn hash_of_text(header: &str, lines: &str, rules: &Rules) -> Option<Digest> {
    if rules.templates.as_ref().is_some_and(|(open, _)| lines.contains(open.as_str())) {
        // What a template puts there is not known.
        return Some(hash_of_scalar("", &Value::from(""), &written_text(header, lines.split('\n'))));
    }
    let line = |line: &str| if line == "\n" { line.to_owned() } else { format!("  {line}") };
    let body: String = lines.split_inclusive('\n').map(line).collect();
    hash_of(&format!("k: {header}\n{body}"))
}

/// Returns the content of a value that a person wrote.
pub(super) fn hash_of_written(value: &str) -> Digest {
    hash_of(&format!("k: {value}\n")).unwrap_or_else(|| hash_of_alias(value))
}
