//! Pure. Writes entries of ours with what changed in them: comments, key or dash, value.
//!
//! Not here: what changed (the parent), entries inside of entries (`nested`).

use super::super::conflict::{ConflictKind, NoticeKind};
use super::super::finding::Sides;
use super::super::part::Part;
use super::super::piece::{Piece, Rope, moved_gap, reindent};
use super::super::rules::Take;
use super::super::scalar::{self, BlockHunks};
use super::super::text::{Hunk, merge_text};
use super::super::tree::Three;
use super::Structure;
use crate::base::sha256;
use crate::yaml::cst::line_start;

/// Returns what stands before the first entry of a collection by indentation: comments, key, marks.
pub(super) fn header(part: Part<'_>) -> String {
    let node = part.node();
    let Some(first) = node.children.first().filter(|_| node.is_block()) else { return String::new() };
    let own = part.child.own.start;
    let text = part.cst.slice(&(own..first.own.start));
    let from = part.column();
    if own > line_start(part.cst.text(), own) { format!("{:from$}{text}", "") } else { text.to_owned() }
}

impl<'a> Structure<'a, '_> {
    /// Merges what stands before the first entry of a collection: the comments above it, then its key or dash.
    pub(super) fn header(&mut self, base: Option<Part<'a>>, ours: Part<'a>, theirs: Part<'a>, column: usize) -> String {
        let lead = if theirs.is_inline() {
            ours.lead()
        } else {
            self.comment(base.map(Part::lead), ours.lead(), theirs.lead())
        };
        let rest = |part: Part<'a>| {
            let whole = reindent(&header(part), part.column(), 0);
            let rest = whole.strip_prefix(part.lead().as_str()).unwrap_or(&whole);
            rest.strip_prefix(part.key_text()).unwrap_or(rest).to_owned()
        };
        let key = keyed(base, ours, theirs).key_text();
        let (mine, upstream) = (rest(ours), rest(theirs));
        // A base in brackets has no such line, so theirs is nothing that came since.
        let old = base.filter(|base| base.node().is_block()).map_or_else(|| upstream.clone(), rest);
        let taken = if old == upstream || mine == upstream || !theirs.node().is_block() {
            mine
        } else if old == mine {
            upstream
        } else {
            self.notice(NoticeKind::CommentKept, "both sides changed the comment; yours stays");
            mine
        };
        reindent(&format!("{lead}{key}{taken}"), 0, column)
    }

    /// Merges one of the comments of an entry.
    pub(super) fn comment(&mut self, base: Option<String>, ours: String, theirs: String) -> String {
        // Of an entry that both sides added a comment is news on whichever side it stands.
        let old = base.unwrap_or_default();
        if old.trim_end() == theirs.trim_end() || ours.trim_end() == theirs.trim_end() {
            ours
        } else if old.trim_end() == ours.trim_end() {
            theirs
        } else if let Some(both) = of_both(&old, &ours, &theirs) {
            both
        } else {
            self.notice(NoticeKind::CommentKept, "both sides changed the comment; yours stays");
            ours
        }
    }

    /// Merges the gap behind an entry.
    pub(super) fn gap(&mut self, base: Option<Part<'a>>, ours: Part<'a>, theirs: Part<'a>, column: usize) -> String {
        let at = |part: Part<'a>| part.gap(column);
        let (mine, upstream) = (at(ours), at(theirs));
        // Blank lines of ours stay behind what both added, unless upstream has something to say there.
        let is_blank = mine.trim().is_empty() && !upstream.trim().is_empty();
        let old = base.map_or_else(|| if is_blank { mine.clone() } else { String::new() }, at);
        if old == upstream || mine == upstream {
            mine
        } else if old == mine {
            // Where ours goes on behind the entry, the same comment stands above what comes there.
            if ours.is_followed_by(&upstream, column) { mine } else { moved_gap(&upstream, column) }
        } else if let Some(both) = of_both(&old, &mine, &upstream).filter(|_| !upstream.trim().is_empty()) {
            if both == mine { both } else { moved_gap(&both, column) }
        } else {
            if !upstream.trim().is_empty() {
                self.notice(NoticeKind::CommentKept, "both sides changed the comment behind it; yours stays");
            }
            mine
        }
    }

    /// Writes ours with merged comments and, if given, another value.
    pub(super) fn with_token(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        (token, column): (Option<&str>, usize),
    ) -> Piece {
        let keyed = keyed(base, ours, theirs);
        let content = Some((keyed.name(), ours.hash()));
        let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
        if ours.is_inline() {
            let body = match token {
                Some(token) => format!("{}{}{token}", keyed.key_text(), reindent_between(ours.between(), token)),
                None => ours.inline(),
            };
            return Piece { text: Rope::plain(body), gap: String::new(), content, before: None };
        }
        let tail = if ours.is_flat() && theirs.is_flat() && !theirs.is_inline() {
            let old = base.filter(|base| base.is_flat() && !base.is_inline());
            self.comment(old.map(|base| base.tail().to_owned()), ours.tail().to_owned(), theirs.tail().to_owned())
        } else {
            ours.tail().to_owned()
        };
        let own = ours.token(column);
        let token = token.unwrap_or(&own);
        let between = reindent_between(ours.between(), token);
        let text = format!("{}{:column$}{}{between}{token}{tail}", reindent(&lead, 0, column), "", keyed.key_text());
        let text = if ours.node().is_absent() && token.is_empty() { text } else { tidy_line(text) };
        Piece { text: Rope::plain(text), gap: String::new(), content, before: None }
    }

    /// Writes theirs' value into ours' entry.
    pub(super) fn replaced(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        column: usize,
    ) -> Piece {
        let keyed = keyed(base, ours, theirs);
        let content = Some((keyed.name(), theirs.hash()));
        if ours.is_inline() {
            let token = if theirs.is_flat() { theirs.token(column) } else { value_inline(theirs) };
            let piece = self.with_token(base, ours, theirs, (Some(&token), column));
            return Piece { content, ..piece };
        }
        if ours.is_flat() && theirs.is_flat() {
            let token = theirs.token(column);
            let piece = self.with_token(base, ours, theirs, (Some(&token), column));
            return Piece { content, ..piece };
        }
        let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
        let whole = theirs.lines(column);
        let own = reindent(&theirs.lead(), 0, column);
        let body = whole.strip_prefix(own.as_str()).unwrap_or(&whole);
        let body = body.replacen(theirs.key_text(), keyed.key_text(), 1);
        let text = format!("{}{body}", reindent(&lead, 0, column));
        Piece { text: Rope::plain(text), gap: String::new(), content, before: None }
    }

    /// Writes a merged block text into ours' entry.
    pub(super) fn with_block(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        (text, column): (&scalar::BlockText, usize),
    ) -> Piece {
        let keyed = keyed(base, ours, theirs);
        let own = ours.cst.slice(&ours.node().span);
        let comment = own.lines().next().and_then(|line| line.split_once(" #")).map(|(_, rest)| format!(" #{rest}"));
        let lead = self.comment(base.map(Part::lead), ours.lead(), theirs.lead());
        let indent = column + text.indent.saturating_sub(ours.column());
        let lines = indented(&text.lines, indent);
        let head = format!("{}{:column$}{}", reindent(&lead, 0, column), "", keyed.key_text());
        let text_out = format!("{head} {}{}\n{lines}", text.header, comment.unwrap_or_default());
        Piece {
            text: Rope::plain(text_out),
            gap: String::new(),
            content: Some((keyed.name(), text.hash)),
            before: None,
        }
    }
}

impl<'a> Structure<'a, '_> {
    /// Writes a text of which some lines are in conflict into ours' entry: each of these is a question of its own.
    pub(super) fn with_hunks(
        &mut self,
        base: Option<Part<'a>>,
        ours: Part<'a>,
        theirs: Part<'a>,
        (text, column): (&BlockHunks, usize),
    ) -> Piece {
        let indent = column + text.indent.saturating_sub(ours.column());
        let place = self.path.concat();
        let (mut rope, mut said) = (Rope::default(), String::new());
        for (before, hunk) in text.merged.parts() {
            rope.push_str(&indented(&before, indent));
            said.push_str(&before);
            let Some(Hunk { line: _, base, ours, theirs }) = hunk.cloned() else { continue };
            let sides = Three { base, ours, theirs };
            let shown = sides.as_ref().map(|lines| Some(lines.clone()));
            let hashes = sides.as_ref().map(|lines| Some(sha256(lines.as_bytes())));
            let asked = (ConflictKind::Text, "both sides changed these lines of the text");
            let (number, take) = self.found.open(self.rules, asked, (self.subject, &place), Sides { shown, hashes });
            let taken = match take {
                Some(Take::Upstream) => sides.theirs.clone(),
                Some(Take::Base) => sides.base.clone(),
                Some(Take::Value(value)) => format!("{}\n", value.trim_end_matches('\n')),
                Some(Take::Mine) | None => sides.ours.clone(),
            };
            said.push_str(&taken);
            match number {
                Some(number) => rope.push(Rope::open(vec![number], sides.map(|lines| indented(&lines, indent)))),
                None => rope.push_str(&indented(&taken, indent)),
            }
        }
        let hash = scalar::hash_of_text(&text.header, &said, self.rules);
        let empty = scalar::BlockText {
            header: text.header.clone(),
            lines: String::new(),
            indent: text.indent,
            hash: hash.unwrap_or_else(|| ours.hash()),
        };
        let head = self.with_block(base, ours, theirs, (&empty, column));
        let mut whole = head.text.clone();
        whole.push(rope);
        Piece { text: whole, ..head }
    }
}

/// Moves the lines of a text to a column; empty ones stay empty.
fn indented(text: &str, column: usize) -> String {
    let line = |line: &str| match line.trim_end_matches(['\n', '\r']).is_empty() {
        true => line.to_owned(),
        false => format!("{:column$}{line}", ""),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Returns comments with the changes of both sides; nothing where both changed the same lines, and neither says all that the other does.
fn of_both(base: &str, ours: &str, theirs: &str) -> Option<String> {
    if !base.is_empty() {
        let merged = merge_text(base, ours, theirs);
        if merged.conflicts.is_empty() {
            return Some(merged.text);
        }
    }
    let is_in = |some: &str, all: &str| {
        let mut rest = all.lines();
        some.lines().all(|line| rest.any(|other| other.trim() == line.trim()))
    };
    let keeps = |side: &str| is_in(base, side);
    if is_in(theirs, ours) && keeps(ours) {
        return Some(ours.to_owned());
    }
    (is_in(ours, theirs) && keeps(theirs)).then(|| theirs.to_owned())
}

/// Returns the side whose key an entry has: theirs where they renamed it.
pub(super) fn keyed<'a>(base: Option<Part<'a>>, ours: Part<'a>, theirs: Part<'a>) -> Part<'a> {
    let is_renamed = base.is_some_and(|base| base.key() == ours.key() && base.key() != theirs.key());
    if is_renamed { theirs } else { ours }
}

fn value_inline(part: Part<'_>) -> String {
    let text = part.inline();
    text.strip_prefix(part.key_text()).map_or(text.clone(), |rest| rest.trim_start().to_owned())
}

/// Keeps the blanks between a key and its value; a value where there was none gets one.
fn reindent_between(between: &str, token: &str) -> String {
    if between.is_empty() && !token.is_empty() { " ".to_owned() } else { between.to_owned() }
}

/// Takes blanks off the end of the line of a key that has no value.
fn tidy_line(text: String) -> String {
    match text.split_once('\n') {
        Some((first, rest)) if first.ends_with(": ") || first.ends_with("- ") => {
            format!("{}\n{rest}", first.trim_end())
        }
        Some(_) | None => text,
    }
}
