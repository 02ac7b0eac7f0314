//! Pure. Which parts of a text are secrets, whatever it is written in: assignments of any notation, documents within lines, addresses, headers,
//! command lines and keys.
//!
//! A text is judged line by line, so that of every line is seen what differs in it; what goes on over several lines is remembered. Not here: what
//! stands within one line (`line.rs`).

use super::line::{self, Opened};
use super::{Hiding, Part, Veil};

/// What the lines so far say of those that follow.
struct Scan<'a> {
    veil: &'a Veil,
    found: Vec<Part>,
    /// Where a private key begins that did not end yet.
    key_begin: Option<usize>,
    /// A value that goes on.
    opened: Option<Opened>,
    /// What the value in the next element is called.
    label: Option<String>,
    /// Whether the lines are those of a `.netrc`.
    is_netrc: bool,
    /// The section of an INI file whose values are all secrets, and how far in it stands.
    section: Option<(String, usize)>,
}

/// Returns where the lines of a text hold secrets: what is assigned to a secret name, what addresses sign in with, and private keys.
pub fn parts(text: &str, veil: &Veil) -> Vec<Part> {
    let found = Vec::new();
    let mut scan = Scan { veil, found, key_begin: None, opened: None, label: None, is_netrc: false, section: None };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        scan.line(at, line.trim_end());
        at += line.len();
    }
    // A key that is cut off is one all the same.
    if let Some(begin) = scan.key_begin {
        scan.add_key(begin, begin + text.get(begin..).unwrap_or_default().trim_end().len());
    }
    disjoint(scan.found)
}

/// Returns the parts in order, without those that another one covers.
fn disjoint(mut parts: Vec<Part>) -> Vec<Part> {
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
            self.section = line::is_secret(section, self.veil).then(|| (section.to_owned(), indent));
        } else if let Some((section, _)) = &self.section {
            self.found.extend(line::below(line, section, self.veil).into_iter().map(|part| part.behind(at)));
            return;
        }

        let label = self.label.take();
        let seen = line::seen(line, (label.as_deref(), &mut self.is_netrc), self.veil);
        self.found.extend(seen.parts.into_iter().map(|part| part.behind(at)));
        self.opened = seen.opened;
        self.label = seen.label;
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
                self.found.push(Part { name: name.clone(), span });
                if end.is_none() {
                    self.opened = Some(opened);
                }
                true
            }
            Opened::Indented { than, name } => {
                let is_item = indent == *than && (inner.starts_with("- ") || inner == "-");
                if !(inner.is_empty() || indent > *than || is_item) {
                    return false;
                }
                self.found.extend(line::below(line, name, self.veil).into_iter().map(|part| part.behind(at)));
                self.opened = Some(opened);
                true
            }
        }
    }
}

impl Part {
    pub(super) fn behind(self, at: usize) -> Self {
        Self { span: self.span.start + at..self.span.end + at, ..self }
    }
}

/// Returns whether what stands below a name is hidden.
pub(super) fn hides(name: &str, above: Hiding, veil: &Veil) -> bool {
    veil.below(above, name, None) == Hiding::Below
}
