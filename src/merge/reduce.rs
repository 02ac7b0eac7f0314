//! Pure. Leaves out of three texts what all of them have alike, and puts it back into the merge of the rest.
//!
//! Sides of a merge differ in a few lines of many. An entry that has the same bytes on all sides takes no part in a decision, so it is
//! merged as one line that stands for it; what is read and compared is then as small as the difference. Left out is only what cannot be
//! asked for: fields by which objects and items are told apart stay, and so does every list that has no keys. A merge in which a line that
//! stands for others came into a conflict, or is not there exactly once, is thrown away and made of the whole texts. Not here: which lines
//! are an entry (`outline`), the merge itself (`document`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use foldhash::HashMap;
use memchr::memmem;

use super::outline::{EntryId, Outline};
use super::piece::{Rope, Strand};
use super::rules::{GUESSED_KEYS, METADATA, Rules, Subject};
use super::tree::Three;
use crate::schema::ListForm;
use crate::yaml::cst::split;

/// Stands, with a number, for lines that were left out. A text that holds it is merged whole.
const MARK: &str = "rewild-left-out-";
/// Comments that say something about a merge, which are read where they stand.
const COMMENT: &str = "# wild:";
/// Share of the texts in percent that must be left out for it to be worth the while.
const WORTH_PERCENT: usize = 25;

/// Three texts without what they have alike.
#[derive(Debug)]
pub(super) struct Reduced {
    texts: Three<String>,
    /// By number: the line in the texts, and what it stands for.
    left_out: Vec<(String, String)>,
}

impl Reduced {
    /// Returns the texts to merge.
    pub(super) fn texts(&self) -> Three<Option<&str>> {
        self.texts.as_ref().map(|text| Some(text.as_str()))
    }

    /// Returns whether a text holds a line that stands for others.
    pub(super) fn is_in(text: &str) -> bool {
        memmem::find(text.as_bytes(), MARK.as_bytes()).is_some()
    }

    /// Puts back what was left out; nothing if a line that stands for it is in an open place, or not there once as it was.
    pub(super) fn restored(&self, rope: &Rope) -> Option<Rope> {
        let mut found = BTreeSet::new();
        let mut restored = Rope::default();
        for strand in &rope.0 {
            match strand {
                Strand::Plain(text) => restored.push_str(&self.restored_text(text, &mut found)?),
                Strand::Open(open) => {
                    let Three { base, ours, theirs } = &open.sides;
                    if [base, ours, theirs].into_iter().any(|side| Self::is_in(side)) {
                        return None;
                    }
                    restored.push(Rope(vec![strand.clone()]));
                }
            }
        }
        (found.len() == self.left_out.len()).then_some(restored)
    }

    fn restored_text(&self, text: &str, found: &mut BTreeSet<usize>) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(MARK) {
            let start = rest.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
            let end = rest.get(at..)?.find('\n').map_or(rest.len(), |newline| at + newline + 1);
            let number = rest.get(at + MARK.len()..end)?;
            let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number: usize = number.get(..digits)?.parse().ok()?;
            let (line, whole) = self.left_out.get(number)?;
            if rest.get(start..end)? != line || !found.insert(number) {
                return None;
            }
            out.push_str(rest.get(..start)?);
            out.push_str(whole);
            rest = rest.get(end..)?;
        }
        out.push_str(rest);
        Some(out)
    }
}

/// Leaves out of three texts what they have alike; nothing where that is not known, or is not much.
pub(super) fn reduce(texts: &Three<Option<&str>>, rules: &Rules) -> Option<Reduced> {
    let texts = Three { base: texts.base?, ours: texts.ours?, theirs: texts.theirs? };
    let all = [texts.base, texts.ours, texts.theirs];
    // A withheld edit is looked for where it stands, and an action of a template may stand anywhere.
    if rules.templates.is_some() || !rules.withheld.is_empty() {
        return None;
    }
    if all.iter().any(|text| Reduced::is_in(text) || memmem::find(text.as_bytes(), COMMENT.as_bytes()).is_some()) {
        return None;
    }
    let sides = texts.map(Side::of);
    let mut cuts = Three { base: Cuts::new(), ours: Cuts::new(), theirs: Cuts::new() };
    let mut left_out = Vec::new();
    for (name, ours) in &sides.ours.named {
        let (Some(base), Some(theirs)) = (sides.base.named.get(name), sides.theirs.named.get(name)) else { continue };
        let outlines = Three {
            base: sides.base.outline(*base),
            ours: sides.ours.outline(*ours),
            theirs: sides.theirs.outline(*theirs),
        };
        let Three { base: Some(old), ours: Some(mine), theirs: Some(upstream) } = outlines else { continue };
        let Some(subject) = Subject::of(mine) else { continue };
        let outlines = Three { base: old, ours: mine, theirs: upstream };
        let mut walk = Walk { outlines, rules, subject, fields: Vec::new(), cuts: Three::default(), left_out };
        walk.inside(outlines.map(|outline| outline.top().collect()), Above::Document);
        left_out = walk.left_out;
        let Three { base: old, ours: mine, theirs: upstream } = walk.cuts;
        cuts.base.insert(*base, old);
        cuts.ours.insert(*ours, mine);
        cuts.theirs.insert(*theirs, upstream);
    }
    let texts = Three {
        base: sides.base.without(cuts.base, &left_out),
        ours: sides.ours.without(cuts.ours, &left_out),
        theirs: sides.theirs.without(cuts.theirs, &left_out),
    };
    let (before, after) = (all.map(str::len), [&texts.base, &texts.ours, &texts.theirs].map(String::len));
    let (before, after): (usize, usize) = (before.iter().sum(), after.iter().sum());
    let is_worth_it = after.saturating_mul(100) <= before.saturating_mul(100 - WORTH_PERCENT);
    is_worth_it.then_some(Reduced { texts, left_out })
}

/// Bytes of a document that are left out, with the number of the line that stands for them.
type Cut = (Range<usize>, usize);

/// What is left out of the documents of a side.
type Cuts = BTreeMap<usize, Vec<Cut>>;

/// The documents of a side.
struct Side<'a> {
    documents: Vec<(&'a str, Option<Outline<'a>>)>,
    /// Places of the documents that have a name which no other has.
    named: BTreeMap<String, usize>,
}

impl<'a> Side<'a> {
    fn of(text: &'a str) -> Self {
        let documents: Vec<_> = split(text).into_iter().map(|document| (document, Outline::of(document))).collect();
        let mut named = BTreeMap::new();
        let mut doubled = Vec::new();
        for (place, (_, outline)) in documents.iter().enumerate() {
            let subject = outline.as_ref().and_then(Subject::of);
            let name = subject.map(|it| it.object).filter(|name| !name.is_empty() || documents.len() == 1);
            let Some(name) = name else { continue };
            if named.insert(name.clone(), place).is_some() {
                doubled.push(name);
            }
        }
        named.retain(|name, _| !doubled.contains(name));
        Self { documents, named }
    }

    fn outline(&self, place: usize) -> Option<&Outline<'a>> {
        self.documents.get(place).and_then(|(_, outline)| outline.as_ref())
    }

    /// Writes the documents with lines in place of what is left out.
    fn without(&self, mut cuts: Cuts, left_out: &[(String, String)]) -> String {
        let mut out = String::new();
        for (place, (text, _)) in self.documents.iter().enumerate() {
            let mut cuts = cuts.remove(&place).unwrap_or_default();
            cuts.sort_unstable_by_key(|(range, _)| range.start);
            let mut from = 0;
            for (range, number) in cuts {
                out.push_str(text.get(from..range.start).unwrap_or(""));
                out.push_str(left_out.get(number).map_or("", |(line, _)| line));
                from = range.end;
            }
            out.push_str(text.get(from..).unwrap_or(""));
        }
        out
    }
}

/// What holds the entries at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// The document, whose entries say what it is.
    Document,
    /// An item of a list, whose entries tell it apart.
    Item,
    /// A field.
    Field,
}

/// Looks through one document for what its sides have alike.
struct Walk<'a, 'r> {
    outlines: Three<&'a Outline<'a>>,
    rules: &'r Rules,
    subject: Subject,
    /// Names of the fields above.
    fields: Vec<&'a str>,
    cuts: Three<Vec<Cut>>,
    left_out: Vec<(String, String)>,
}

/// Entries of the three sides that are one.
type Ids = Three<EntryId>;

impl<'a> Walk<'a, '_> {
    /// Looks through the entries of a map or list. Depth is bounded by the outline.
    fn inside(&mut self, among: Three<Vec<EntryId>>, above: Above) {
        let is_list = |outline: &Outline<'_>, ids: &[EntryId]| ids.first().map(|id| outline.is_item(*id));
        let Three { base, ours, theirs } = self.outlines;
        match (is_list(base, &among.base), is_list(ours, &among.ours), is_list(theirs, &among.theirs)) {
            (Some(true), Some(true), Some(true)) => self.list(&among),
            (Some(false), Some(false), Some(false)) => self.map(&among, above),
            _ => {}
        }
    }

    fn map(&mut self, among: &Three<Vec<EntryId>>, above: Above) {
        let names = Three {
            base: keys(self.outlines.base, &among.base),
            ours: keys(self.outlines.ours, &among.ours),
            theirs: keys(self.outlines.theirs, &among.theirs),
        };
        let Some(shared) = shared(&names) else { return };
        // Where an entry may be asked for by its name, it stays, and only what is below it goes.
        let is_known = above != Above::Field || self.fields == [METADATA];
        let mut run: Option<(Ids, Ids)> = None;
        for places in shared {
            let ids = places.map(|places| pick(among, places));
            let alike = ids.filter(|ids| self.is_alike(*ids));
            run = match (run, alike) {
                (Some((first, last)), Some(next)) if !is_known && self.follows(last, next) => Some((first, next)),
                (before, next) => {
                    before.into_iter().for_each(|(first, last)| self.cut_run(first, last));
                    next.map(|next| (next, next)).filter(|_| !is_known)
                }
            };
            let Some(ids) = ids else { continue };
            let key = self.outlines.ours.key(ids.ours);
            let is_name = above == Above::Document && key == METADATA;
            match alike.filter(|_| !is_name) {
                Some(ids) if is_known => self.cut_below(ids),
                Some(_) => {}
                None => {
                    let children = self.children(ids);
                    self.fields.push(key);
                    self.inside(children, Above::Field);
                    self.fields.pop();
                }
            }
        }
        run.into_iter().for_each(|(first, last)| self.cut_run(first, last));
    }

    fn list(&mut self, among: &Three<Vec<EntryId>>) {
        let Some(keys) = self.keys_of_list(among) else { return };
        let names = |outline: &Outline<'a>, ids: &[EntryId]| -> Option<Vec<Cow<'a, str>>> {
            ids.iter().map(|id| item_name(outline, *id, &keys)).collect()
        };
        let Three { base, ours, theirs } = self.outlines;
        let (Some(base), Some(ours), Some(theirs)) =
            (names(base, &among.base), names(ours, &among.ours), names(theirs, &among.theirs))
        else {
            return;
        };
        let Some(shared) = shared(&Three { base, ours, theirs }) else { return };
        let mut run: Option<(Ids, Ids)> = None;
        for places in shared {
            let ids = places.map(|places| pick(among, places));
            let alike = ids.filter(|ids| self.is_alike(*ids));
            run = match (run, alike) {
                (Some((first, last)), Some(next)) if self.follows(last, next) => Some((first, next)),
                (before, next) => {
                    before.into_iter().for_each(|(first, last)| self.cut_items(first, last, &keys));
                    next.map(|next| (next, next))
                }
            };
            if let (Some(ids), None) = (ids, alike) {
                let children = self.children(ids);
                self.inside(children, Above::Item);
            }
        }
        run.into_iter().for_each(|(first, last)| self.cut_items(first, last, &keys));
    }

    fn children(&self, ids: Ids) -> Three<Vec<EntryId>> {
        Three {
            base: self.outlines.base.children(ids.base).collect(),
            ours: self.outlines.ours.children(ids.ours).collect(),
            theirs: self.outlines.theirs.children(ids.theirs).collect(),
        }
    }

    /// Returns whether an entry has the same bytes on all sides, with what stands behind it, and no comment there that may be of
    /// something inside of it.
    fn is_alike(&self, ids: Ids) -> bool {
        let whole = |outline: &Outline<'a>, id: EntryId| {
            outline.entry(id).map_or("", |entry| outline.slice(&(entry.start..entry.next)))
        };
        let ours = whole(self.outlines.ours, ids.ours);
        let Some(entry) = self.outlines.ours.entry(ids.ours) else { return false };
        let behind = self.outlines.ours.slice(&(entry.end..entry.next));
        let is_inner = |line: &str| {
            let rest = line.trim_start_matches(' ');
            rest.starts_with('#') && line.len() - rest.len() > entry.column
        };
        ours == whole(self.outlines.base, ids.base)
            && ours == whole(self.outlines.theirs, ids.theirs)
            && !behind.lines().any(is_inner)
    }

    /// Returns whether an entry stands right behind another on all sides.
    fn follows(&self, last: Ids, next: Ids) -> bool {
        let is_next = |outline: &Outline<'_>, last: EntryId, next: EntryId| outline.sibling(last) == Some(next);
        is_next(self.outlines.base, last.base, next.base)
            && is_next(self.outlines.ours, last.ours, next.ours)
            && is_next(self.outlines.theirs, last.theirs, next.theirs)
    }

    /// Leaves out entries of a map that follow each other.
    fn cut_run(&mut self, first: Ids, last: Ids) {
        let Some(column) = self.outlines.ours.entry(first.ours).map(|entry| entry.column) else { return };
        let line = |number: usize| format!("{:column$}{MARK}{number}: 0\n", "");
        self.cut(first, last, 0, line);
    }

    /// Leaves out what stands below a key.
    fn cut_below(&mut self, ids: Ids) {
        let outline = self.outlines.ours;
        let Some(entry) = outline.entry(ids.ours).filter(|entry| !entry.is_behind_dash) else { return };
        let (column, key) = (entry.column, outline.written_key(ids.ours));
        if outline.slice(&(entry.start..entry.end)).matches('\n').count() > 1 {
            self.cut(ids, ids, 0, |number| format!("{:column$}{key}: {MARK}{number}\n", ""));
        }
    }

    /// Leaves out items of a list that follow each other, up to the fields by which the first of them is told apart.
    fn cut_items(&mut self, first: Ids, last: Ids, keys: &[Key]) {
        let outline = self.outlines.ours;
        let is_key = |id: &EntryId| keys.iter().any(|key| key.name == outline.key(*id));
        let Some(kept) = outline.children(first.ours).filter(is_key).last().and_then(|id| outline.entry(id)) else {
            return;
        };
        let (column, start) = (kept.column, outline.entry(first.ours).map_or(0, |entry| entry.start));
        self.cut(first, last, kept.end - start, |number| format!("{:column$}{MARK}{number}: 0\n", ""));
    }

    /// Leaves out what stands from some bytes behind the beginning of one entry to the end of another.
    fn cut(&mut self, first: Ids, last: Ids, skip: usize, line: impl Fn(usize) -> String) {
        let range = |outline: &Outline<'_>, first: EntryId, last: EntryId| {
            let start = outline.entry(first).map_or(0, |entry| entry.start) + skip;
            start..outline.entry(last).map_or(start, |entry| entry.end)
        };
        let number = self.left_out.len();
        let ours = range(self.outlines.ours, first.ours, last.ours);
        let (line, whole) = (line(number), self.outlines.ours.slice(&ours));
        if whole.len() <= line.len() {
            return;
        }
        self.left_out.push((line, whole.to_owned()));
        self.cuts.base.push((range(self.outlines.base, first.base, last.base), number));
        self.cuts.ours.push((ours, number));
        self.cuts.theirs.push((range(self.outlines.theirs, first.theirs, last.theirs), number));
    }

    /// Returns the fields by which the items of a list are told apart, if the merge will find the same ones in what is left of it.
    fn keys_of_list(&self, among: &Three<Vec<EntryId>>) -> Option<Vec<Key>> {
        match self.rules.list(&self.subject, &self.fields, None).map(|rule| rule.form) {
            Some(ListForm::Keyed(keys)) => {
                let [choice] = <[_; 1]>::try_from(keys.primary).ok()?;
                let key = |field: crate::schema::KeyField| {
                    let [name] = <[String; 1]>::try_from(field.path).ok()?;
                    Some(Key { name, default: field.default.unwrap_or_default() })
                };
                choice.into_iter().map(key).collect()
            }
            Some(ListForm::Set | ListForm::Sequence | ListForm::Named | ListForm::Positional) => None,
            // The first of these that every item has, and none before it that any item has.
            None => {
                let mut all = self.sides().into_iter().zip([&among.base, &among.ours, &among.theirs]);
                let is_there = |key: &&str| {
                    let first = key.split('.').next().unwrap_or(key);
                    all.clone().any(|(outline, ids)| ids.iter().any(|id| outline.has(*id, first)))
                };
                let key = GUESSED_KEYS.iter().copied().find(is_there).filter(|key| !key.contains('.'))?;
                let has_all = all.all(|(outline, ids)| ids.iter().all(|id| outline.has(*id, key)));
                has_all.then(|| vec![Key { name: key.to_owned(), default: String::new() }])
            }
        }
    }

    fn sides(&self) -> [&'a Outline<'a>; 3] {
        [self.outlines.base, self.outlines.ours, self.outlines.theirs]
    }
}

/// A field by which items are told apart.
struct Key {
    name: String,
    default: String,
}

fn keys<'a>(outline: &Outline<'a>, ids: &[EntryId]) -> Vec<&'a str> {
    ids.iter().map(|id| outline.key(*id)).collect()
}

/// Returns what tells an item apart, at least as finely as the merge does: without quotes, and with what an absent field counts as.
fn item_name<'a>(outline: &Outline<'a>, item: EntryId, keys: &[Key]) -> Option<Cow<'a, str>> {
    let field = |key: &Key| outline.children(item).find(|id| outline.key(*id) == key.name);
    if let [key] = keys {
        return outline.scalar(field(key)?).map(Cow::Borrowed);
    }
    let mut name = String::new();
    let mut is_there = false;
    for key in keys {
        let field = field(key);
        is_there |= field.is_some();
        name.push_str(match field {
            Some(id) => outline.scalar(id)?,
            None => &key.default,
        });
        name.push('\n');
    }
    is_there.then_some(Cow::Owned(name))
}

/// Places of one entry on the three sides.
type Places = Three<usize>;

/// Returns where each entry of ours stands on all sides; nothing for one that a side lacks, and nothing at all if a side has two of one name.
fn shared<N: AsRef<str> + PartialEq>(names: &Three<Vec<N>>) -> Option<Vec<Option<Places>>> {
    index(&names.ours)?;
    if names.ours == names.base && names.ours == names.theirs {
        let places = |place| Some(Three { base: place, ours: place, theirs: place });
        return Some((0..names.ours.len()).map(places).collect());
    }
    let (base, theirs) = (index(&names.base)?, index(&names.theirs)?);
    let place = |(ours, name): (usize, &N)| {
        let name = name.as_ref();
        Some(Three { base: *base.get(name)?, ours, theirs: *theirs.get(name)? })
    };
    Some(names.ours.iter().enumerate().map(place).collect())
}

/// Returns the places of names; nothing if one is there twice.
fn index<N: AsRef<str>>(names: &[N]) -> Option<HashMap<&str, usize>> {
    let index: HashMap<&str, usize> = names.iter().enumerate().map(|(place, name)| (name.as_ref(), place)).collect();
    (index.len() == names.len()).then_some(index)
}

fn pick(among: &Three<Vec<EntryId>>, places: Places) -> Ids {
    let id = |ids: &[EntryId], place: usize| ids.get(place).copied().unwrap_or(usize::MAX);
    Three {
        base: id(&among.base, places.base),
        ours: id(&among.ours, places.ours),
        theirs: id(&among.theirs, places.theirs),
    }
}

#[cfg(test)]
mod tests;
