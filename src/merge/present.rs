//! Pure. What stands at places that are open: conflict markers, cut at the borders of entries, or the lines of a side or of both.
//!
//! Not here: which lines are in conflict (`file`).

use super::line_diff::lines;
use super::piece::{Rope, Strand};
use super::text::Favor;
use super::tree::Three;

/// Characters of a marker, as git writes it.
pub const MARKER_CHARS: usize = 7;

/// How conflict markers are written, as git names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MarkerStyle {
    /// Ours and theirs.
    #[default]
    Merge,
    /// Ours, base and theirs.
    Diff3,
    /// As `Diff3`, with lines that ours and theirs share at both ends outside.
    Zdiff3,
}

/// Names of the sides in markers.
#[derive(Clone, Copy, Debug)]
pub struct MarkerLabels<'a> {
    /// Name of base.
    pub base: &'a str,
    /// Name of ours.
    pub ours: &'a str,
    /// Name of theirs.
    pub theirs: &'a str,
    /// Characters of a marker; longer ones are written where the contents hold such lines.
    pub size: usize,
}

/// Writes a text with markers at its open places.
pub(super) fn with_markers(rope: &Rope, style: MarkerStyle, labels: MarkerLabels<'_>) -> String {
    let size = size(rope, labels.size);
    written(rope, |out, sides, end| {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(end);
        }
        hunk(out, sides, style, &Marks { labels, size, end });
    })
}

/// Writes a text with the lines of a side, or of both, at its open places.
pub(super) fn favoring(rope: &Rope, favor: Favor) -> String {
    match favor {
        Favor::Ours => rope.ours(),
        Favor::Theirs => rope.side(|sides| &sides.theirs),
        Favor::Union => written(rope, |out, Three { base: _, ours, theirs }, end| {
            out.push_str(ours);
            if !ours.is_empty() && !ours.ends_with('\n') {
                out.push_str(end);
            }
            out.push_str(theirs);
        }),
    }
}

/// Writes a text; what comes to an open place is said with its sides and the line end of the text.
fn written(rope: &Rope, open: impl Fn(&mut String, &Three<String>, &str)) -> String {
    let mut out = String::new();
    let (mut ours, mut theirs) = (String::new(), String::new());
    let base = rope.side(|sides| &sides.base);
    for strand in &rope.0 {
        match strand {
            Strand::Plain(text) => [&mut out, &mut ours, &mut theirs].into_iter().for_each(|side| side.push_str(text)),
            Strand::Open(place) => {
                let sides = &place.sides;
                open(
                    &mut out,
                    sides,
                    line_end([(&ours, &sides.ours), (&theirs, &sides.theirs), (&String::new(), &base)]),
                );
                ours.push_str(&sides.ours);
                theirs.push_str(&sides.theirs);
            }
        }
    }
    out
}

/// Returns how a line ends that has no end, as git says it: as the line before the conflict does in ours, where that ends with a return as in
/// theirs, and then as base's first line. Of each side the text before the conflict and its lines in it are given.
fn line_end(sides: [(&String, &String); 3]) -> &'static str {
    let returns = |(before, inner): (&String, &String)| {
        let all = lines(before);
        let line = all.last().copied().or_else(|| lines(inner).first().copied()).unwrap_or("");
        // A last line without an end ends as the one before it.
        let line = if line.ends_with('\n') { line } else { all.iter().rev().nth(1).copied().unwrap_or("") };
        (!line.is_empty()).then(|| line.ends_with("\r\n"))
    };
    let found: Vec<Option<bool>> = sides.into_iter().map(returns).collect();
    let is_known = found.contains(&Some(true));
    if is_known && !found.contains(&Some(false)) { "\r\n" } else { "\n" }
}

struct Marks<'a> {
    labels: MarkerLabels<'a>,
    size: usize,
    end: &'a str,
}

fn hunk(out: &mut String, sides: &Three<String>, style: MarkerStyle, marks: &Marks<'_>) {
    let (ours, theirs) = (lines(&sides.ours), lines(&sides.theirs));
    let head = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let left = ours.len().min(theirs.len()) - head;
    let tail = ours.iter().rev().zip(theirs.iter().rev()).take(left).take_while(|(a, b)| a == b).count();
    let (head, tail) = if style == MarkerStyle::Zdiff3 { (head, tail) } else { (0, 0) };
    let inner = |list: &[&str]| list.iter().skip(head).take(list.len() - head - tail).copied().collect::<String>();
    out.extend(ours.iter().take(head).copied());
    let Marks { labels, size, end } = marks;
    let mark = |out: &mut String, sign: &str, label: &str| {
        out.push_str(&sign.repeat(*size));
        if !label.is_empty() {
            out.push(' ');
            out.push_str(label);
        }
        out.push_str(end);
    };
    let push = |out: &mut String, text: &str| {
        out.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            out.push_str(end);
        }
    };
    mark(out, "<", labels.ours);
    push(out, &inner(&ours));
    if style != MarkerStyle::Merge {
        mark(out, "|", labels.base);
        push(out, &sides.base);
    }
    mark(out, "=", "");
    push(out, &inner(&theirs));
    mark(out, ">", labels.theirs);
    out.extend(ours.iter().skip(ours.len() - tail).copied());
}

/// Returns how long markers must be to differ from every line of the text.
fn size(rope: &Rope, wanted: usize) -> usize {
    let runs = |text: &str| {
        let run = |line: &str| {
            let first = line.chars().next().filter(|c| matches!(c, '<' | '>' | '=' | '|'));
            first.map_or(0, |first| line.chars().take_while(|c| *c == first).count())
        };
        text.lines().map(run).max().unwrap_or(0)
    };
    let sides: [fn(&Three<String>) -> &String; 3] = [|it| &it.base, |it| &it.ours, |it| &it.theirs];
    let longest = sides.into_iter().map(|pick| runs(&rope.side(pick))).max().unwrap_or(0);
    if longest >= wanted { longest + 1 } else { wanted }
}
