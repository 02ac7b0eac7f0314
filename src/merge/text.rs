//! Pure. The line merge: three texts in, one text and the hunks that both sides changed out.
//!
//! Clean results and the borders of conflicts are those of `git merge-file`, so that the same merge made by git or by a
//! forge gives the same bytes. Not here: which files are merged (`tree`), what a conflict means to a person
//! (`conflict`).

use super::line_diff::{self, Change, lines};
use super::piece::Rope;
use super::present::{self, MarkerLabels, MarkerStyle};
use super::tree::Three;

/// Common lines between two conflicts up to which they are joined whatever those lines hold.
const JOIN_LINES: usize = 3;

/// The result of a line merge: ours at each conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextMerge {
    /// The merged text.
    pub text: String,
    /// What both sides changed, in the order of the text.
    pub conflicts: Vec<Hunk>,
}

/// Lines that both sides changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// Line of the merged text, from 1, where ours begins.
    pub line: usize,
    /// The lines that both started from.
    pub base: String,
    /// Our lines, as they stand in the merged text.
    pub ours: String,
    /// Their lines.
    pub theirs: String,
}

/// Merges `theirs` into `ours` by lines.
pub fn merge_text(base: &str, ours: &str, theirs: &str) -> TextMerge {
    merge_for(Three { base, ours, theirs }, MarkerStyle::Merge, |_| None)
}

/// Merges by lines and settles what git leaves open where one side's lines hold the edits of both: the other side changed nothing but blank
/// lines there, or made a part of the same edit.
pub(super) fn merge_text_settled(base: &str, ours: &str, theirs: &str) -> TextMerge {
    merge_for(Three { base, ours, theirs }, MarkerStyle::Merge, of_both)
}

/// Merges by lines and writes git's conflict markers; returns the number of conflicts with the text.
///
/// The borders of conflicts hang on the style: git cuts a conflict down to what differs only where it does not show base, and in `zdiff3`
/// takes off what both sides share at its ends.
pub fn merge_text_marked(texts: Three<&str>, style: MarkerStyle, labels: MarkerLabels<'_>) -> (String, usize) {
    let merged = merge_for(texts, style, |_| None);
    (present::with_markers(&merged.rope(), style, labels), merged.conflicts.len())
}

/// What stands where both sides changed the same lines, as `git merge-file` takes it with `--ours`, `--theirs` and `--union`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Favor {
    /// Our lines.
    Ours,
    /// Their lines.
    Theirs,
    /// Ours, and theirs behind them.
    Union,
}

/// Merges by lines and leaves nothing to decide.
pub fn merge_text_favoring(texts: Three<&str>, favor: Favor) -> String {
    present::favoring(&merge_for(texts, MarkerStyle::Merge, |_| None).rope(), favor)
}

fn merge_for(texts: Three<&str>, style: MarkerStyle, settle: fn(&Hunk) -> Option<Winner>) -> TextMerge {
    let Three { base, ours, theirs } = texts;
    let clean = |text: &str| TextMerge { text: text.to_owned(), conflicts: Vec::new() };
    if base == theirs || ours == theirs {
        return clean(ours);
    }
    if base == ours {
        return clean(theirs);
    }
    let texts = Texts { base: lines(base), ours: lines(ours), theirs: lines(theirs) };
    let mine = line_diff::changes(&texts.base, &texts.ours);
    let upstream = line_diff::changes(&texts.base, &texts.theirs);
    let mut regions = overlay(&mine, &upstream, &texts);
    for region in regions.iter_mut().filter(|region| region.winner == Winner::Nobody) {
        region.winner = settle(&region.hunk(&texts)).unwrap_or(Winner::Nobody);
    }
    let regions = match style {
        MarkerStyle::Merge => join_near(refine(regions, &texts), &texts),
        MarkerStyle::Diff3 => regions,
        MarkerStyle::Zdiff3 => trim(regions, &texts),
    };
    write(&regions, &texts)
}

impl TextMerge {
    fn rope(&self) -> Rope {
        let mut rope = Rope::default();
        for (number, (before, hunk)) in self.parts().into_iter().enumerate() {
            rope.push_str(&before);
            if let Some(Hunk { line: _, base, ours, theirs }) = hunk.cloned() {
                rope.push(Rope::open(vec![number], Three { base, ours, theirs }));
            }
        }
        rope
    }

    /// Returns the text in parts: what is settled, and the conflict behind it; behind the last part there is none.
    pub(super) fn parts(&self) -> Vec<(String, Option<&Hunk>)> {
        let mut rest = lines(&self.text).into_iter();
        let mut line = 1;
        let mut parts = Vec::with_capacity(self.conflicts.len() + 1);
        for hunk in &self.conflicts {
            let before: String = rest.by_ref().take(hunk.line - line).collect();
            line = hunk.line + rest.by_ref().take(lines(&hunk.ours).len()).count();
            parts.push((before, Some(hunk)));
        }
        parts.push((rest.collect(), None));
        parts
    }
}

/// Returns the side whose lines hold the edits of both.
fn of_both(hunk: &Hunk) -> Option<Winner> {
    let Hunk { line: _, base, ours, theirs } = hunk;
    let said = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (old, mine, upstream) = (said(base), said(ours), said(theirs));
    match (old == mine, old == upstream) {
        (true, false) => return Some(Winner::Theirs),
        (false, true) => return Some(Winner::Ours),
        (true, true) | (false, false) => {}
    }
    if [base, ours, theirs].into_iter().any(String::is_empty) {
        return None;
    }
    let (mine, upstream) = (Edit::of(base, ours), Edit::of(base, theirs));
    if mine.is_in(&upstream) {
        return Some(Winner::Theirs);
    }
    upstream.is_in(&mine).then_some(Winner::Ours)
}

/// The lines that a side took away and put there, in their order.
struct Edit<'a> {
    gone: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl<'a> Edit<'a> {
    fn of(base: &'a str, side: &'a str) -> Self {
        let (old, new) = (lines(base), lines(side));
        let changes = line_diff::changes(&old, &new);
        let taken = |list: &[&'a str], start: usize, count: usize| {
            list.iter().skip(start).take(count).copied().collect::<Vec<_>>()
        };
        Self {
            gone: changes.iter().flat_map(|change| taken(&old, change.old, change.old_lines)).collect(),
            new: changes.iter().flat_map(|change| taken(&new, change.new, change.new_lines)).collect(),
        }
    }

    fn is_in(&self, other: &Self) -> bool {
        let is_part = |some: &[&str], all: &[&str]| {
            let mut rest = all.iter();
            some.iter().all(|line| rest.any(|other| other == line))
        };
        is_part(&self.gone, &other.gone) && is_part(&self.new, &other.new)
    }
}

/// Returns whether a text holds a whole set of conflict markers.
pub fn has_markers(text: &str) -> bool {
    if memchr::memmem::find(text.as_bytes(), b"<<<<<<< ").is_none() {
        return false;
    }
    let mut opened = false;
    let mut parted = false;
    for line in text.lines() {
        opened |= line.starts_with("<<<<<<< ");
        parted |= opened && line == "=======";
        if parted && line.starts_with(">>>>>>> ") {
            return true;
        }
    }
    false
}

struct Texts<'a> {
    base: Vec<&'a str>,
    ours: Vec<&'a str>,
    theirs: Vec<&'a str>,
}

/// Whose lines stand in a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Winner {
    Ours,
    Theirs,
    Nobody,
}

/// A region of change: start and number of lines in each text.
#[derive(Clone, Copy)]
struct Region {
    winner: Winner,
    base: Span,
    ours: Span,
    theirs: Span,
}

impl Region {
    fn hunk(&self, texts: &Texts<'_>) -> Hunk {
        let (base, ours) = (self.base.text(&texts.base), self.ours.text(&texts.ours));
        Hunk { line: 0, base, ours, theirs: self.theirs.text(&texts.theirs) }
    }
}

/// A run of lines.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    count: usize,
}

impl Span {
    fn of(start: usize, end: usize) -> Self {
        Self { start, count: end.saturating_sub(start) }
    }

    fn end(self) -> usize {
        self.start + self.count
    }

    fn among<'a>(self, lines: &[&'a str]) -> impl Iterator<Item = &'a str> {
        lines.iter().skip(self.start).take(self.count).copied()
    }

    fn lines<'a>(self, lines: &[&'a str]) -> Vec<&'a str> {
        self.among(lines).collect()
    }

    fn text(self, lines: &[&str]) -> String {
        self.among(lines).collect()
    }

    fn to(self, other: Self) -> Self {
        Self::of(self.start, other.end())
    }
}

/// Lays both lists of changes over each other; what touches becomes one conflict unless both sides did the same.
fn overlay(mine: &[Change], upstream: &[Change], texts: &Texts<'_>) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let (mut mine, mut upstream) = (mine.iter().peekable(), upstream.iter().peekable());
    // How far each side's lines are ahead of base before its next change.
    let (mut mine_shift, mut upstream_shift) = (Shift::default(), Shift::default());
    loop {
        match (mine.peek().copied(), upstream.peek().copied()) {
            (None, None) => return regions,
            (Some(a), b) if b.is_none_or(|b| a.old + a.old_lines < b.old) => {
                let span = Span { start: a.old, count: a.old_lines };
                let theirs = upstream_shift.span(span);
                let ours = Span { start: a.new, count: a.new_lines };
                append(&mut regions, Region { winner: Winner::Ours, base: span, ours, theirs });
                mine_shift = Shift::after(a);
                mine.next();
            }
            (a, Some(b)) if a.is_none_or(|a| b.old + b.old_lines < a.old) => {
                let span = Span { start: b.old, count: b.old_lines };
                let ours = mine_shift.span(span);
                let theirs = Span { start: b.new, count: b.new_lines };
                append(&mut regions, Region { winner: Winner::Theirs, base: span, ours, theirs });
                upstream_shift = Shift::after(b);
                upstream.next();
            }
            (Some(a), Some(b)) => {
                if !is_same(a, b, texts) {
                    append(&mut regions, both(a, b));
                }
                let (a_end, b_end) = (a.old + a.old_lines, b.old + b.old_lines);
                if a_end >= b_end {
                    upstream_shift = Shift::after(b);
                    upstream.next();
                }
                if b_end >= a_end {
                    mine_shift = Shift::after(a);
                    mine.next();
                }
            }
            // The guards above leave no other case: one side alone is always before the missing other.
            (Some(_), None) | (None, Some(_)) => return regions,
        }
    }
}

/// Distance between a side's lines and base's after a change.
#[derive(Clone, Copy, Default)]
struct Shift {
    old: usize,
    new: usize,
}

impl Shift {
    fn after(change: &Change) -> Self {
        Self { old: change.old + change.old_lines, new: change.new + change.new_lines }
    }

    /// Returns where unchanged lines of base stand on this side; a part that lies in the change before it is left out.
    fn span(self, base: Span) -> Span {
        let move_line = |line: usize| (line + self.new).saturating_sub(self.old);
        Span::of(move_line(base.start), move_line(base.end()))
    }
}

fn is_same(a: &Change, b: &Change, texts: &Texts<'_>) -> bool {
    a.old == b.old
        && a.old_lines == b.old_lines
        && a.new_lines == b.new_lines
        && texts.ours.iter().skip(a.new).take(a.new_lines).eq(texts.theirs.iter().skip(b.new).take(b.new_lines))
}

/// Widens two touching changes to the same lines of base.
fn both(a: &Change, b: &Change) -> Region {
    let start = a.old.min(b.old);
    let end = (a.old + a.old_lines).max(b.old + b.old_lines);
    let widen = |change: &Change| {
        let before = change.old - start;
        let after = end - (change.old + change.old_lines);
        // Where an earlier change of this side took lines away, the widened part begins inside the region that it
        // belongs to.
        Span::of(change.new.saturating_sub(before), change.new + change.new_lines + after)
    };
    Region { winner: Winner::Nobody, base: Span::of(start, end), ours: widen(a), theirs: widen(b) }
}

/// Adds a region, or lets the last one grow if they touch.
fn append(regions: &mut Vec<Region>, next: Region) {
    match regions.last_mut() {
        Some(last) if next.ours.start <= last.ours.end() || next.theirs.start <= last.theirs.end() => {
            if last.winner != next.winner {
                last.winner = Winner::Nobody;
            }
            last.base = last.base.to(next.base);
            last.ours = last.ours.to(next.ours);
            last.theirs = last.theirs.to(next.theirs);
        }
        Some(_) | None => regions.push(next),
    }
}

/// Takes the lines off each conflict that both sides share at its ends.
fn trim(mut regions: Vec<Region>, texts: &Texts<'_>) -> Vec<Region> {
    for region in regions.iter_mut().filter(|region| region.winner == Winner::Nobody) {
        let (ours, theirs) = (region.ours.lines(&texts.ours), region.theirs.lines(&texts.theirs));
        let (head, tail) = line_diff::equal_ends(&ours, &theirs);
        for span in [&mut region.ours, &mut region.theirs] {
            *span = Span { start: span.start + head, count: span.count - head - tail };
        }
    }
    regions
}

/// Cuts each conflict down to the lines in which the two sides differ from each other.
fn refine(regions: Vec<Region>, texts: &Texts<'_>) -> Vec<Region> {
    let mut refined = Vec::with_capacity(regions.len());
    for region in regions {
        if region.winner != Winner::Nobody || region.ours.count == 0 || region.theirs.count == 0 {
            refined.push(region);
            continue;
        }
        let (ours, theirs) = (region.ours.lines(&texts.ours), region.theirs.lines(&texts.theirs));
        let differing = line_diff::changes(&ours, &theirs);
        let bases = cut_base(region, &ours, &differing, texts);
        if differing.is_empty() {
            // Both sides did the same in other steps, and ours stands for both.
            refined.push(Region { winner: Winner::Ours, ..region });
        }
        refined.extend(differing.iter().zip(bases).map(|(change, base)| Region {
            winner: Winner::Nobody,
            base,
            ours: Span { start: region.ours.start + change.old, count: change.old_lines },
            theirs: Span { start: region.theirs.start + change.new, count: change.new_lines },
        }));
    }
    refined
}

/// Deals the base lines of a conflict out to its parts: the lines that both sides kept between two parts are the
/// borders.
fn cut_base(region: Region, ours: &[&str], parts: &[Change], texts: &Texts<'_>) -> Vec<Span> {
    let base = region.base.lines(&texts.base);
    let from_base = line_diff::changes(&base, ours);
    let mut spans = Vec::with_capacity(parts.len());
    for (place, part) in parts.iter().enumerate() {
        let start = if place == 0 { base_before(&from_base, part.old) } else { base_at(&from_base, part.old) };
        let end = base_at(&from_base, part.old + part.old_lines).max(start);
        spans.push(Span::of(region.base.start + start, region.base.start + end.min(base.len())));
    }
    let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
    for (span, next) in spans.iter_mut().zip(starts.into_iter().skip(1)) {
        *span = Span::of(span.start, span.end().min(next));
    }
    spans
}

/// Returns the base line that stands where a line of ours stands; lines that ours dropped there belong behind it.
fn base_at(from_base: &[Change], line: usize) -> usize {
    position(from_base, line, |change| change.new + change.new_lines <= line)
}

/// As `base_at`, with the dropped lines before it.
fn base_before(from_base: &[Change], line: usize) -> usize {
    position(from_base, line, |change| change.new + change.new_lines < line)
}

fn position(from_base: &[Change], line: usize, is_behind: impl Fn(&Change) -> bool) -> usize {
    let passed = from_base.iter().take_while(|change| is_behind(change)).last();
    let shift = passed.map(Shift::after).unwrap_or_default();
    let free = (line + shift.old).saturating_sub(shift.new);
    // Inside a change there is no counterpart: its first base line stands for all of it.
    let next = from_base.iter().find(|change| !is_behind(change));
    next.map_or(free, |change| free.min(change.old))
}

/// Joins conflicts that only few or empty lines part, because such lines say nothing by themselves.
fn join_near(regions: Vec<Region>, texts: &Texts<'_>) -> Vec<Region> {
    let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions {
        match joined.last_mut() {
            Some(last)
                if last.winner == Winner::Nobody
                    && region.winner == Winner::Nobody
                    && is_thin(Span::of(last.ours.end(), region.ours.start), texts) =>
            {
                last.base = last.base.to(region.base);
                last.ours = last.ours.to(region.ours);
                last.theirs = last.theirs.to(region.theirs);
            }
            Some(_) | None => joined.push(region),
        }
    }
    joined
}

fn is_thin(gap: Span, texts: &Texts<'_>) -> bool {
    let speaks = |line: &&str| line.bytes().any(|byte| byte.is_ascii_alphanumeric());
    gap.count <= JOIN_LINES || !texts.ours.iter().skip(gap.start).take(gap.count).any(speaks)
}

/// Writes ours, with their lines where only they changed something.
fn write(regions: &[Region], texts: &Texts<'_>) -> TextMerge {
    let bytes = texts.ours.iter().map(|line| line.len()).sum();
    let mut merged = TextMerge { text: String::with_capacity(bytes), conflicts: Vec::new() };
    let mut done = 0;
    let mut line = 1;
    for region in regions {
        let before = Span::of(done, region.ours.start);
        merged.text.extend(before.among(&texts.ours));
        line += before.count;
        let (span, source) = match region.winner {
            Winner::Theirs => (region.theirs, &texts.theirs),
            Winner::Ours | Winner::Nobody => (region.ours, &texts.ours),
        };
        if region.winner == Winner::Nobody {
            merged.conflicts.push(Hunk {
                line,
                base: region.base.text(&texts.base),
                ours: region.ours.text(&texts.ours),
                theirs: region.theirs.text(&texts.theirs),
            });
        }
        merged.text.extend(span.among(source));
        line += span.count;
        done = region.ours.end();
    }
    merged.text.extend(Span::of(done, texts.ours.len()).among(&texts.ours));
    merged
}

#[cfg(test)]
mod tests;
