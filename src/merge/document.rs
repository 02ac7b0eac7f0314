//! Pure. Merges the documents of one file.
//!
//! Documents are objects known by group, kind, namespace and name, wherever in the file they stand; others are known by
//! their number. Not here: what stands in a document (`structure`), line ends and the line merge (`file`).

mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::conflict::{ConflictKind, NoticeKind};
use super::finding::{Findings, Sides};
use super::line_diff::newlines;
use super::outline::Outline;
use super::piece::{Piece, Rope, assemble};
use super::place::{Frame, order};
use super::rules::{Rules, Subject, Take};
use super::sound::{doubles_more, holds_both};
use super::structure::{Impossible, Structure, TOO_MUCH, absent, brackets};
use super::template::{self, Mask};
use super::text::merge_text;
use super::tree::Three;
use crate::base::{Digest, RepoPath};
use crate::yaml::cst::{Cst, Kind, Node, Source, joined, split};

/// Bytes that are read for one unit of work.
pub(super) const FUEL_BYTES: usize = 64;
/// One document of a side.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) cst: Cst,
    pub(super) subject: Subject,
    /// Name of the object without its group and namespace.
    name: String,
    /// Whether lines of it are no YAML.
    pub(super) has_lines: bool,
    /// Whether a template says its kind or its name.
    is_unsaid: bool,
}

/// A file merged by structure.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) text: Rope,
    /// Content of each document that holds something, in order.
    pub(super) hashes: Vec<Digest>,
    /// What was merged.
    pub(super) sides: Three<Vec<Rc<Document>>>,
    /// What was read for it.
    pub(super) known: Known,
}

/// Why the documents of a file were not merged by structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// A side is no YAML; which side, and where.
    Unparsable(String),
    /// One object stands twice on a side.
    Doubled(String),
    /// It is too much work.
    Limit(String),
    /// Another reason.
    Impossible(String),
}

/// Documents that were read, by their text: what occurs on several sides is read once.
pub(super) type Known = BTreeMap<String, Rc<Document>>;

/// Reads the documents of a text.
pub(super) fn read(text: &str, rules: &Rules) -> Result<Vec<Rc<Document>>, String> {
    read_beside(text, rules, &mut Known::new())
}

/// Reads the documents of a text of which some may be known. What blocks of templates begin in one may end in another.
pub(super) fn read_beside(text: &str, rules: &Rules, known: &mut Known) -> Result<Vec<Rc<Document>>, String> {
    match rules.templates.as_ref().and_then(|delimiters| template::against_blocks(text, delimiters)) {
        Some(why) => Err(why.to_owned()),
        None => read_parts(text, rules, known),
    }
}

/// Reads the documents of a part of a file.
fn read_parts(text: &str, rules: &Rules, known: &mut Known) -> Result<Vec<Rc<Document>>, String> {
    let mut found = Vec::new();
    let mut line = 0;
    for part in split(text) {
        if let Some(document) = known.get(part) {
            found.push(Rc::clone(document));
            line += newlines(part);
            continue;
        }
        let mask = match &rules.templates {
            Some(delimiters) => template::mask(part, delimiters)?,
            None => Mask::none(part),
        };
        let parse = |masked: &str| Cst::parse(Source { text: part, masked, controls: &mask.controls });
        let cst = parse(&mask.text)
            .or_else(|broken| joined(&mask.text).and_then(|joined| parse(&joined).ok()).ok_or(broken))
            .map_err(|broken| format!("line {}, column {}: {}", line + broken.line, broken.column, broken.reason))?;
        if has_double_anchor(&cst) {
            return Err("an anchor is defined twice".to_owned());
        }
        let open = rules.templates.as_ref().map(|(open, _)| open.as_str());
        let document = Rc::new(document(cst, (!mask.controls.is_empty(), open)));
        known.insert(part.to_owned(), Rc::clone(&document));
        found.push(document);
        line += newlines(part);
    }
    Ok(found)
}

fn has_double_anchor(cst: &Cst) -> bool {
    let mut seen = BTreeSet::new();
    cst.nodes().iter().filter_map(|node| node.anchor.as_ref()).any(|name| !seen.insert(name))
}

fn document(cst: Cst, (has_lines, open): (bool, Option<&str>)) -> Document {
    let text = |path: &[&str]| cst.at(path).filter(|node| node.kind == Kind::Scalar).map_or("", |node| &node.text);
    let generated = || text(&["metadata", "generateName"]);
    let is_named = cst.at(&["metadata", "name"]).is_some_and(|node| node.kind == Kind::Scalar);
    let name = if is_named { text(&["metadata", "name"]) } else { generated() }.to_owned();
    let subject = Subject::new(text(&["apiVersion"]), text(&["kind"]), (text(&["metadata", "namespace"]), &name));
    let is_hidden = |text: &str| open.is_some_and(|open| text.contains(open));
    let is_unsaid = has_lines && subject.object.is_empty() || is_hidden(&subject.kind) || is_hidden(&name);
    Document { subject, name, has_lines, is_unsaid, cst }
}

/// Returns the names of the objects of a text, one for each document that is an object; nothing if it cannot be read.
pub(super) fn objects(text: &str, rules: &Rules) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for part in split(text) {
        let known = if rules.templates.is_none() { Outline::of(part).as_ref().and_then(Subject::of) } else { None };
        match known {
            Some(subject) => found.push(subject.object),
            None => found.extend(read(part, rules).ok()?.iter().map(|document| document.subject.object.clone())),
        }
    }
    found.retain(|object| !object.is_empty());
    Some(found)
}

impl Document {
    pub(super) fn root(&self) -> Option<&Node> {
        self.cst.root().map(|root| self.cst.node(root))
    }

    fn hash(&self) -> Digest {
        self.root().map_or_else(|| crate::base::sha256(self.cst.text().as_bytes()), |root| root.hash)
    }

    /// Returns whether it holds nothing but comments.
    fn is_empty(&self) -> bool {
        self.cst.root().is_none()
    }
}

/// Returns the text of a document without what parts it from the one before.
fn bare(document: &Document) -> &str {
    document.cst.text().trim_start_matches("---\n")
}

/// Merges the documents of a file by structure.
pub(super) fn merge(texts: &Three<Option<&str>>, rules: &Rules, found: &mut Findings) -> Result<Documents, Refused> {
    let most = [texts.base, texts.ours, texts.theirs].into_iter().flatten().map(|text| split(text).len()).max();
    if let Some(count) = most.filter(|count| *count > rules.limits.documents) {
        return Err(Refused::Limit(format!("it holds {count} documents")));
    }
    let bytes: usize = [texts.base, texts.ours, texts.theirs].into_iter().flatten().map(str::len).sum();
    found.burn(bytes / FUEL_BYTES).map_err(|()| Refused::Limit(TOO_MUCH.to_owned()))?;
    let mut known = Known::new();
    let mut read = |text: Option<&str>, side: &str| {
        let read = read_beside(text.unwrap_or(""), rules, &mut known);
        read.map_err(|reason| Refused::Unparsable(format!("{side} {reason}")))
    };
    let sides = Three {
        base: read(texts.base, "base,")?,
        ours: read(texts.ours, "yours,")?,
        theirs: read(texts.theirs, "upstream,")?,
    };
    let count = |side: &Vec<Rc<Document>>| side.iter().map(|document| document.cst.nodes().len()).sum::<usize>();
    let most = [&sides.base, &sides.ours, &sides.theirs].into_iter().map(count).max().unwrap_or(0);
    if most > rules.limits.nodes {
        return Err(Refused::Limit(format!("it holds {most} values")));
    }
    let names = pairs::paired(&sides, rules.limits.comparisons)?;
    let slices = Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] };
    let ordered = order(&slices, Frame::Merged).names;
    let index = |side: &Vec<Rc<Document>>, names: &Vec<String>| -> BTreeMap<String, Rc<Document>> {
        names.iter().cloned().zip(side.iter().cloned()).collect()
    };
    let base = index(&sides.base, &names.base);
    let ours = index(&sides.ours, &names.ours);
    let theirs = index(&sides.theirs, &names.theirs);
    let nothing = Cst::parse(Source { text: "", masked: "", controls: &[] }).map_err(|_| impossible("no document"))?;
    let mut text = Rope::default();
    let mut hashes = Vec::new();
    for name in &ordered {
        let trio = Three {
            base: base.get(name).map(Rc::as_ref),
            ours: ours.get(name).map(Rc::as_ref),
            theirs: theirs.get(name).map(Rc::as_ref),
        };
        found.document.clone_from(name);
        let piece = one(&trio, &nothing, rules, found).map_err(refused)?;
        if let Some((_, hash)) = &piece.content
            && trio.ours.or(trio.theirs).is_some_and(|document| !document.is_empty())
        {
            hashes.push(*hash);
        }
        append(&mut text, piece.text);
    }
    Ok(Documents { text, hashes, sides, known })
}

fn refused(impossible: Impossible) -> Refused {
    match impossible {
        Impossible::Limit(why) => Refused::Limit(why),
        Impossible::Here(why) | Impossible::Whole(why) | Impossible::File(why) => Refused::Impossible(why),
    }
}

fn impossible(why: &str) -> Refused {
    Refused::Impossible(why.to_owned())
}

/// Puts a document behind others, with a separator if it has none.
fn append(text: &mut Rope, piece: Rope) {
    if piece.is_empty() {
        return;
    }
    if text.is_empty() {
        text.push(piece);
        return;
    }
    if !text.ends_line() {
        text.push_str("\n");
    }
    let mut piece = piece;
    let mark = |text: &mut String| {
        let rest = text.strip_prefix("---").or_else(|| text.strip_prefix("..."));
        let is_marked = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if !text.is_empty() && !is_marked {
            text.insert_str(0, "---\n");
        }
    };
    match piece.0.first_mut() {
        Some(super::piece::Strand::Plain(text)) => mark(text),
        Some(super::piece::Strand::Open(open)) => {
            mark(&mut open.sides.base);
            mark(&mut open.sides.ours);
            mark(&mut open.sides.theirs);
        }
        None => {}
    }
    text.push(piece);
}

type Sided<'a> = Three<Option<&'a Document>>;

/// Merges one document.
fn one(trio: &Sided<'_>, nothing: &Cst, rules: &Rules, found: &mut Findings) -> Result<Piece, Impossible> {
    let same = |a: Option<&Document>, b: Option<&Document>| {
        a.map(|document| document.cst.text()) == b.map(|document| document.cst.text())
    };
    let Three { base, ours, mut theirs } = *trio;
    let object = ours.or(theirs).map_or("", |document| document.subject.object.as_str());
    if !object.is_empty() && rules.withholds(object, "") {
        theirs = base;
    }
    if same(ours, theirs) || base.is_none() && ours.map(bare) == theirs.map(bare) || same(base, theirs) {
        return Ok(kept(ours));
    }
    if same(base, ours) && !rules.withholds_in(object) {
        return Ok(kept(theirs));
    }
    match (base, ours, theirs) {
        (Some(base), Some(ours), None) if base.hash() == ours.hash() => Ok(kept(None)),
        (Some(base), None, Some(theirs)) if base.hash() == theirs.hash() => Ok(kept(None)),
        (_, Some(_), None) => {
            Ok(conflict(ConflictKind::EditDelete, "you changed it and upstream deleted it", trio, rules, found))
        }
        (_, None, Some(_)) => {
            Ok(conflict(ConflictKind::DeleteEdit, "you deleted it and upstream changed it", trio, rules, found))
        }
        (_, Some(ours), Some(theirs)) => {
            let mark = found.mark();
            let piece = match both(base, ours, theirs, (nothing, rules, &mut *found)) {
                Err(Impossible::Here(why)) => {
                    found.reset(mark);
                    let piece = by_lines(trio, rules).ok_or(Impossible::Here(why.clone()))?;
                    let detail = format!("merged by lines: {why}");
                    found.notice(NoticeKind::ByLines, &ours.subject, "", &detail);
                    Some(piece)
                }
                Err(Impossible::Whole(why)) => {
                    found.reset(mark);
                    return Ok(conflict(ConflictKind::TemplateBlock, &why, trio, rules, found));
                }
                merged => merged?,
            };
            if base.is_none() && found.conflicts_since(mark) > 0 {
                found.reset(mark);
                let why = "both sides added it, with other content";
                return Ok(conflict(ConflictKind::BothAdded, why, trio, rules, found));
            }
            match piece {
                Some(piece) if is_nobodys(&piece, trio, rules) => {
                    found.reset(mark);
                    let kind = if base.is_none() { ConflictKind::BothAdded } else { ConflictKind::Value };
                    let why = "together both sides would make an object of it that neither has";
                    Ok(conflict(kind, why, trio, rules, found))
                }
                Some(piece) => Ok(piece),
                None => Ok(conflict(ConflictKind::Value, "both sides changed it", trio, rules, found)),
            }
        }
        (_, None, None) => Ok(kept(None)),
    }
}

/// Returns whether a merge is an object that no side is: one says the kind, another the name. The next merge would not know it again.
fn is_nobodys(piece: &Piece, trio: &Sided<'_>, rules: &Rules) -> bool {
    let sides = [trio.base, trio.ours, trio.theirs];
    let says = |word: fn(&Document) -> &str| sides.into_iter().flatten().any(|side| !word(side).is_empty());
    let is_object = |side: Option<&Document>| side.is_none_or(|side| !side.subject.object.is_empty());
    if is_object(trio.ours) && is_object(trio.theirs) || !says(|side| &side.subject.kind) || !says(|side| &side.name) {
        return false;
    }
    let is_known = |object: &String| sides.into_iter().flatten().any(|side| side.subject.object == *object);
    objects(&piece.text.ours(), rules).is_some_and(|found| found.iter().any(|object| !is_known(object)))
}

/// Merges a document by its lines; nothing if that leaves something open or doubles something.
fn by_lines(trio: &Sided<'_>, rules: &Rules) -> Option<Piece> {
    let text = |side: Option<&Document>| side.map_or("", |document| document.cst.text()).to_owned();
    let (base, ours, theirs) = (text(trio.base), text(trio.ours), text(trio.theirs));
    let merged = merge_text(&base, &ours, &theirs);
    let all = |text: &str| read_parts(text, rules, &mut Known::new()).ok();
    let sides = Three { base: all(&base)?, ours: all(&ours)?, theirs: all(&theirs)? };
    let found = all(&merged.text)?;
    let [only] = found.as_slice() else { return None };
    let is_right = merged.conflicts.is_empty() && holds_both(&sides, &found) && !doubles_more(&sides, &found, rules);
    is_right.then(|| kept(Some(only)))
}

fn kept(document: Option<&Document>) -> Piece {
    match document {
        Some(document) => Piece {
            text: Rope::plain(document.cst.text()),
            gap: String::new(),
            content: Some((String::new(), document.hash())),
            before: None,
        },
        None => absent(String::new()),
    }
}

fn conflict(kind: ConflictKind, why: &str, trio: &Sided<'_>, rules: &Rules, found: &mut Findings) -> Piece {
    let text = |side: Option<&Document>| side.map(|document| document.cst.text().to_owned());
    let shown = trio.map(text);
    let sides = Sides { shown: shown.clone(), hashes: trio.map(|side| side.map(Document::hash)) };
    let nobody = Subject::default();
    let subject = trio.ours.or(trio.theirs).map_or(&nobody, |document| &document.subject);
    // A document that is no object is named by its number, unless it is the only one.
    let path = if subject.object.is_empty() && found.document != "#1" { found.document.clone() } else { String::new() };
    match found.open(rules, (kind, why), (subject, &path), sides) {
        (None, Some(Take::Upstream)) => kept(trio.theirs),
        (None, Some(Take::Base)) => kept(trio.base),
        (None, _) => kept(trio.ours),
        (Some(number), _) => {
            let ours = kept(trio.ours);
            Piece { text: Rope::open(vec![number], shown.map(Option::unwrap_or_default)), ..ours }
        }
    }
}

/// Merges a document that ours and theirs have; nothing if only the whole can be decided.
fn both(
    base: Option<&Document>,
    ours: &Document,
    theirs: &Document,
    (nothing, rules, found): (&Cst, &Rules, &mut Findings),
) -> Result<Option<Piece>, Impossible> {
    let roots = (ours.root(), theirs.root());
    let (Some(mine), Some(upstream)) = roots else { return both_empty(base, ours, theirs, found) };
    let is_plain = |node: &Node| !matches!(node.kind, Kind::Map | Kind::Seq);
    if is_plain(mine) && is_plain(upstream) {
        return Err(Impossible::File("a document is neither a map nor a list".to_owned()));
    }
    if [mine.kind, upstream.kind].contains(&Kind::Opaque) {
        return Err(Impossible::Here("its keys are not told apart".to_owned()));
    }
    if mine.kind != upstream.kind || !matches!(mine.kind, Kind::Map | Kind::Seq) {
        return Ok(None);
    }
    // A collection of ours that is empty takes the form that theirs gave it.
    let form = if mine.children.is_empty() { upstream } else { mine };
    let old = base.and_then(Document::root).filter(|root| root.kind == mine.kind);
    let csts = Three { base: base.map_or(nothing, |base| &base.cst), ours: &ours.cst, theirs: &theirs.cst };
    // Where a block of a template says the kind on one side, another side may say it plainly.
    let says_kind = |document: &&Document| !document.subject.kind.is_empty();
    let subject = [Some(ours), Some(theirs), base].into_iter().flatten().find(says_kind).unwrap_or(ours);
    let mut structure = Structure {
        rules,
        subject: &subject.subject,
        csts,
        found,
        path: Vec::new(),
        fields: Vec::new(),
        is_added: base.is_none(),
        list_comment: None,
        brackets: usize::from(!form.is_block()),
    };
    let collected = structure.collection(Three { base: old, ours: Some(mine), theirs: Some(upstream) }, form.column)?;
    let content = Some((String::new(), collected.hash));
    let piece = |text| Some(Piece { text, gap: String::new(), content, before: None });
    if !form.is_block() {
        let (joined, numbers) = brackets(&ours.cst, mine, collected);
        let around = |range| ours.cst.slice(&range);
        let text = format!("{}{joined}{}", around(0..mine.span.start), around(mine.span.end..ours.cst.text().len()));
        if numbers.is_empty() {
            return Ok(piece(Rope::plain(text)));
        }
        let whole = |document: Option<&Document>| document.map_or("", |document| document.cst.text()).to_owned();
        let sides = Three { base: whole(base), ours: text, theirs: whole(Some(theirs)) };
        return Ok(piece(Rope::open(numbers, sides)));
    }
    if !collected.whole.is_empty() {
        return Err(Impossible::File("the order of a document's top is disputed".to_owned()));
    }
    let mut text = Rope::plain(preamble(base, ours, theirs, structure.found));
    if collected.pieces.iter().all(|piece| piece.content.is_none() && piece.text.is_empty()) {
        text.push_str(if mine.kind == Kind::Map { "{}\n" } else { "[]\n" });
    } else if !collected.pieces.iter().any(|piece| !piece.text.is_empty()) {
        return Err(Impossible::File("nothing is left of a document that reads as it must".to_owned()));
    }
    let (entries, gap) = assemble(collected.pieces);
    text.push(entries);
    text.push_str(&gap);
    Ok(piece(text))
}

/// Merges documents that hold nothing but comments, by lines; nothing if one of them holds more.
fn both_empty(
    base: Option<&Document>,
    ours: &Document,
    theirs: &Document,
    found: &mut Findings,
) -> Result<Option<Piece>, Impossible> {
    let is_empty = |document: &Document| document.is_empty();
    if !is_empty(ours) || !is_empty(theirs) || !base.is_none_or(is_empty) {
        return Ok(None);
    }
    if [base, Some(ours), Some(theirs)].into_iter().flatten().any(|document| document.has_lines) {
        return Err(Impossible::Here("lines of a template are all that it holds".to_owned()));
    }
    let merged = merge_text(base.map_or("", |base| base.cst.text()), ours.cst.text(), theirs.cst.text());
    if !merged.conflicts.is_empty() {
        let nobody = Subject::default();
        found.notice(NoticeKind::CommentKept, &nobody, "", "both sides changed the comments; yours stay");
    }
    Ok(Some(Piece { text: Rope::plain(merged.text), ..kept(Some(ours)) }))
}

/// Returns what stands before the first entry: separator, comments; the side that changed it decides.
fn preamble(base: Option<&Document>, ours: &Document, theirs: &Document, found: &mut Findings) -> String {
    let of = |document: &Document| {
        let Some(root) = document.root() else { return String::new() };
        let end = root.children.first().map_or(root.span.start, |first| first.own.start);
        document.cst.slice(&(0..end)).to_owned()
    };
    let (mine, upstream) = (of(ours), of(theirs));
    let old = base.filter(|base| base.root().is_some_and(Node::is_block)).map(of);
    if mine == upstream || old.as_ref() == Some(&upstream) || !theirs.root().is_some_and(Node::is_block) {
        return mine;
    }
    if old.as_ref() == Some(&mine) {
        return upstream;
    }
    let says_something = upstream.lines().any(|line| !line.trim().is_empty() && line.trim() != "---");
    if says_something {
        found.notice(
            NoticeKind::CommentKept,
            &ours.subject,
            "",
            "both sides changed what stands above it; yours stays",
        );
    }
    mine
}

/// Returns the content of the documents that hold something.
pub(super) fn contents(documents: &[Rc<Document>]) -> Vec<Digest> {
    documents.iter().filter_map(|document| document.root().map(|root| root.hash)).collect()
}

/// Merges three texts by structure if that leaves nothing to decide and reads back as it must.
pub(super) fn merge_clean(path: &RepoPath, texts: &Three<Option<&str>>, rules: &Rules) -> Option<String> {
    let mut found = Findings::new(rules.limits.fuel);
    let mut documents = merge(texts, rules, &mut found).ok()?;
    let text = documents.text.ours();
    let is_json = path.as_str().ends_with(".json");
    let reads = !is_json || serde_json::from_str::<serde_json::Value>(&text).is_ok();
    let again = read_beside(&text, rules, &mut documents.known).ok()?;
    (found.len() == 0 && reads && contents(&again) == documents.hashes).then_some(text)
}
