//! Pure. Which parts of a text are secrets, whatever it is written in: assignments of any notation, documents within lines, addresses, headers,
//! command lines and keys.
//!
//! A text is judged line by line, so that of every line is seen what differs in it; what goes on over several lines is remembered. Not here: what
//! stands within one line (`line.rs`).

use std::ops::Range;

use super::line::{self, Opened, part, tells};
use super::{Part, Veil, markup, words};

/// Lines between a value and what says how it is called: attributes and keys of one item.
const MAX_APART: usize = 8;

/// What the lines so far say of those that follow.
struct Scan<'a> {
    veil: &'a Veil,
    text: &'a str,
    found: Vec<Part>,
    /// Where a private key begins that did not end yet.
    key_begin: Option<usize>,
    /// A value that goes on.
    opened: Option<Opened>,
    /// What a value behind is called, and how many lines ago that was said.
    label: Option<(String, usize)>,
    /// Arguments of a list or a command over several lines, and where they begin.
    arguments: Vec<(String, usize)>,
    /// Whether the line before goes on in this one.
    is_continued: bool,
    /// Values that a line behind may call something.
    unnamed: Vec<Range<usize>>,
    /// Whether the lines are those of a `.netrc`.
    is_netrc: bool,
    /// The section of an INI file whose values are all secrets, and how far in it stands.
    section: Option<(String, usize)>,
}

/// Returns where the lines of a text hold secrets: what is assigned to a secret name, what addresses sign in with, and private keys.
pub fn parts(text: &str, veil: &Veil) -> Vec<Part> {
    let found = Vec::new();
    let mut scan = Scan {
        veil,
        text,
        found,
        key_begin: None,
        opened: None,
        label: None,
        unnamed: Vec::new(),
        arguments: Vec::new(),
        is_continued: false,
        is_netrc: false,
        section: None,
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        scan.line(at, line.trim_end());
        at += line.len();
    }
    scan.argue(at, "");
    // A key that is cut off is one all the same.
    if let Some(begin) = scan.key_begin {
        scan.add_key(begin, begin + text.get(begin..).unwrap_or_default().trim_end().len());
    }
    disjoint(scan.found)
}

/// Returns the parts in order, without those that another one covers.
pub fn disjoint(mut parts: Vec<Part>) -> Vec<Part> {
    parts.retain(|part| !part.span.is_empty());
    parts.sort_by_key(|part| (part.span.start, std::cmp::Reverse(part.span.end)));
    let mut end = 0;
    parts.retain_mut(|part| {
        part.span.start = part.span.start.max(end);
        end = end.max(part.span.end);
        !part.span.is_empty()
    });
    parts
}

impl Scan<'_> {
    fn line(&mut self, at: usize, line: &str) {
        if self.is_of_key(at, line) || self.goes_on(at, line) {
            return;
        }

        let indent = line.len() - line.trim_start().len();
        self.section = self.section.take().filter(|(_, than)| line.is_empty() || indent >= *than);
        if let Some(section) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = section.trim_matches('[');
            self.section = line::is_of_secrets(section, self.veil).then(|| (section.to_owned(), indent));
        } else if let Some((section, _)) = &self.section {
            self.found.extend(line::below(line, section, self.veil).into_iter().map(|part| part.behind(at)));
            return;
        }

        self.argue(at, line);
        self.leave_item(line);
        let label = self.label.as_ref().map(|(label, _)| label.as_str());
        let seen = line::seen(line, (label, &mut self.is_netrc), self.veil);
        self.found.extend(seen.parts.into_iter().map(|part| part.behind(at)));
        self.opened = seen.opened.or_else(|| self.opened.take());
        if let Some(label) = seen.label {
            let is_behind = self.unnamed.is_empty();
            self.call(&label);
            self.label = is_behind.then_some((label, 0));
        } else if seen.has_value || seen.is_other {
            self.label = None;
        }
        if seen.is_other {
            self.unnamed.clear();
        }
        self.unnamed.extend(seen.unnamed.into_iter().map(|span| span.start + at..span.end + at));
        if line.ends_with("/>") {
            self.label = None;
            self.unnamed.clear();
        }
    }

    /// Notes what the lines of a list or a command say of each other, where it ends.
    fn argue(&mut self, at: usize, line: &str) {
        if line.trim_start().starts_with('#') {
            return;
        }
        let item = words::item(line);
        let is_item = item.is_some();
        let was_continued = std::mem::replace(&mut self.is_continued, line.ends_with('\\'));
        let more = match item {
            Some(item) => vec![item],
            None if was_continued || self.is_continued => words::words_of(line),
            None => Vec::new(),
        };
        self.arguments.extend(more.into_iter().map(|(text, span)| (text, span.start + at)));
        let is_over = !is_item && !self.is_continued;
        if is_over {
            let (words, starts): (Vec<String>, Vec<usize>) = std::mem::take(&mut self.arguments).into_iter().unzip();
            for (word, parts) in words::of_arguments(&words, self.veil) {
                let start = starts.get(word).copied().unwrap_or_default();
                self.found.extend(parts.into_iter().map(|part| part.behind(start)));
            }
        }
    }

    /// Forgets what was called something where another item begins or it is too long ago.
    fn leave_item(&mut self, line: &str) {
        let inner = line.trim_start();
        let begins =
            inner.starts_with(['{', '}', ']', '[']) || ["- ", "</", "---"].iter().any(|it| inner.starts_with(it));
        self.label =
            self.label.take().map(|(label, ago)| (label, ago + 1)).filter(|(_, ago)| !begins && *ago <= MAX_APART);
        if begins {
            self.unnamed.clear();
        }
    }

    /// Gives the values before a line the name that it says.
    fn call(&mut self, label: &str) {
        for span in std::mem::take(&mut self.unnamed) {
            if self.text.get(span.clone()).is_some_and(|value| tells(label, value, self.veil)) {
                self.found.push(part(label, span));
            }
        }
    }

    /// Takes a line that belongs to a private key.
    fn is_of_key(&mut self, at: usize, line: &str) -> bool {
        let begin = line.find("-----BEGIN").filter(|_| line.contains("PRIVATE KEY"));
        let end = line.find("-----END").map(|end| {
            line.get(end..).and_then(|rest| rest.get(8..)?.find("-----")).map_or(line.len(), |more| end + 8 + more + 5)
        });
        match (self.key_begin, begin, end) {
            (None, Some(begin), Some(end)) if begin < end => {
                self.add_key(at + begin, at + end);
                true
            }
            (None, Some(begin), _) => {
                self.key_begin = Some(at + begin);
                true
            }
            (Some(begin), _, Some(end)) => {
                self.add_key(begin, at + end);
                self.key_begin = None;
                true
            }
            (Some(_), _, None) => true,
            (None, None, _) => false,
        }
    }

    fn add_key(&mut self, begin: usize, end: usize) {
        self.found.push(Part { name: "private key".to_owned(), span: begin..end });
    }

    /// Takes a line that belongs to a value that began before.
    fn goes_on(&mut self, at: usize, line: &str) -> bool {
        let Some(opened) = self.opened.take() else { return false };
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        match &opened {
            Opened::Until { closing, name } => {
                let end = line.find(closing.as_str());
                let span = at + indent.min(end.unwrap_or(indent))..at + end.unwrap_or(line.len());
                self.found.push(part(name, span));
                if end.is_none() {
                    self.opened = Some(opened);
                }
                true
            }
            Opened::Heredoc { mark, name } => {
                if inner.trim_end_matches([')', ';']) != mark {
                    self.found.push(part(name, at + indent..at + line.len()));
                    self.opened = Some(opened);
                }
                true
            }
            Opened::Indented { than, name } => {
                let is_item = indent == *than && (["- ", ": "].iter().any(|it| inner.starts_with(it)) || inner == "-");
                if !(inner.is_empty() || indent > *than || is_item) {
                    return false;
                }
                self.found.extend(line::below(line, name, self.veil).into_iter().map(|part| part.behind(at)));
                self.opened = Some(opened);
                true
            }
            Opened::Tag { name } => {
                let (part, opened) = markup::behind_tag(line, name);
                self.found.extend(part.map(|part| part.behind(at)));
                self.opened = opened;
                self.opened.as_ref().is_some_and(|opened| matches!(opened, Opened::Until { .. }))
            }
            Opened::Next { name } => {
                self.found.extend(line::next(line, name, self.veil).map(|part| part.behind(at)));
                if inner.is_empty() {
                    self.opened = Some(opened);
                }
                // What stands behind the word is a line of its own.
                false
            }
        }
    }
}

impl Part {
    pub(super) fn behind(self, at: usize) -> Self {
        Self { span: self.span.start + at..self.span.end + at, ..self }
    }
}
