//! Pure. What a merge of one document has found so far: conflicts, notices, decisions that were applied, work done.
//!
//! Not here: what people see of a conflict (`conflict`).

use std::collections::BTreeMap;

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind, REDACTED, Suggestion, Texts};
use super::rules::{Prefer, Rules, Subject, Take};
use super::tree::Three;
use crate::base::{Digest, Encoder, RepoPath};

/// Characters of a conflict's id.
const ID_CHARS: usize = 16;
/// The three sides of a conflict.
pub(super) struct Sides {
    /// As people see them.
    pub(super) shown: Three<Option<String>>,
    /// Their content.
    pub(super) hashes: Three<Option<Digest>>,
}

/// A conflict before its file and line are known.
#[derive(Clone, Debug)]
pub(super) struct Found {
    id: String,
    kind: ConflictKind,
    why: String,
    object: String,
    path: String,
    shown: Three<Option<String>>,
    /// A value that would have the edits of both sides.
    suggestion: Option<String>,
}

impl Found {
    fn conflict(&self, file: &RepoPath, line: usize) -> Conflict {
        let Three { base, ours, theirs } = self.shown.clone();
        let texts = Texts { base, mine: ours, upstream: theirs };
        let conflict = Conflict::new(self.kind, file, texts, self.why.clone());
        // A conflict about lines or the whole file names the file in place of an object.
        let object = if self.object == file.as_str() { String::new() } else { self.object.clone() };
        let suggestion = self.suggestion.clone().map(|value| Suggestion { path: self.path.clone(), value });
        Conflict { id: self.id.clone(), line, object, key: self.path.clone(), suggestion, ..conflict }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    conflicts: Vec<Found>,
    /// Kind, field path, detail.
    notices: Vec<(NoticeKind, String, String)>,
    /// Conflicts that decisions settled.
    replayed: Vec<(Found, Take)>,
    seen: BTreeMap<String, u64>,
    /// Name of the document at hand.
    pub(super) document: String,
    /// Work that is left.
    pub(super) fuel: u64,
}

/// A point to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    conflicts: usize,
    notices: usize,
    replayed: usize,
}

impl Findings {
    pub(super) fn new(fuel: u64) -> Self {
        Self { fuel, ..Self::default() }
    }

    /// Takes work off what may still be done.
    pub(super) fn burn(&mut self, work: usize) -> Result<(), ()> {
        let work = u64::try_from(work).unwrap_or(u64::MAX);
        self.fuel = self.fuel.checked_sub(work).ok_or(())?;
        Ok(())
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { conflicts: self.conflicts.len(), notices: self.notices.len(), replayed: self.replayed.len() }
    }

    pub(super) fn conflicts_since(&self, mark: Mark) -> usize {
        self.conflicts.len().saturating_sub(mark.conflicts) + self.replayed.len().saturating_sub(mark.replayed)
    }

    pub(super) fn reset(&mut self, mark: Mark) {
        for found in self.conflicts.drain(mark.conflicts..) {
            self.seen.remove(&found.id);
        }
        self.notices.truncate(mark.notices);
        self.replayed.truncate(mark.replayed);
    }

    pub(super) fn len(&self) -> usize {
        self.conflicts.len()
    }

    /// Returns whether anything that people see of conflicts and notices is as asked for.
    pub(super) fn says(&self, is_asked: fn(&str) -> bool) -> bool {
        let found = self.conflicts.iter().chain(self.replayed.iter().map(|(found, _)| found));
        let texts = found.flat_map(|found| {
            let Three { base, ours, theirs } = &found.shown;
            [base, ours, theirs].into_iter().chain([&found.suggestion]).flatten().chain([&found.path, &found.why])
        });
        let notices = self.notices.iter().flat_map(|(_, place, detail)| [place, detail]);
        texts.chain(notices).any(|text| is_asked(text))
    }

    /// Returns the kinds of all notices.
    pub(super) fn kinds(&self) -> impl Iterator<Item = NoticeKind> {
        self.notices.iter().map(|(kind, ..)| *kind)
    }

    /// Opens a conflict and returns its number, or the decision that settles it.
    pub(super) fn open(
        &mut self,
        rules: &Rules,
        (kind, why): (ConflictKind, &str),
        (subject, path): (&Subject, &str),
        sides: Sides,
    ) -> (Option<usize>, Option<Take>) {
        let id = self.id(kind, subject, path, &sides.hashes);
        let is_secret = subject.kind == "Secret" && (path.starts_with("data") || path.starts_with("stringData"));
        let shown = if is_secret { sides.shown.map(|side| side.map(|_| REDACTED.to_owned())) } else { sides.shown };
        let object = subject.object.clone();
        let found = Found { id, kind, why: why.to_owned(), object, path: path.to_owned(), shown, suggestion: None };
        if let Some(take) = rules.decided.get(&found.id) {
            self.replayed.push((found, take.clone()));
            return (None, Some(take.clone()));
        }
        match rules.prefer {
            Prefer::Ours => return (None, Some(Take::Mine)),
            Prefer::Theirs => return (None, Some(Take::Upstream)),
            Prefer::Neither => {}
        }
        self.conflicts.push(found);
        (Some(self.conflicts.len() - 1), None)
    }

    /// Returns the id, which stays while place and sides do; equal ones are counted.
    fn id(&mut self, kind: ConflictKind, subject: &Subject, path: &str, hashes: &Three<Option<Digest>>) -> String {
        let mut nth = 0_u64;
        loop {
            let mut encoder = Encoder::new();
            encoder.text(&subject.object).text(path).text(&format!("{kind:?}"));
            for side in [hashes.base, hashes.ours, hashes.theirs] {
                match side {
                    Some(hash) => encoder.list(1).raw(&hash.0),
                    None => encoder.list(0),
                };
            }
            encoder.text(&nth.to_string());
            let id: String = encoder.digest().to_hex().chars().take(ID_CHARS).collect();
            if self.seen.insert(id.clone(), nth).is_none() {
                return id;
            }
            nth += 1;
        }
    }

    /// Adds to a conflict a value that would have the edits of both sides.
    pub(super) fn suggest(&mut self, number: usize, value: Option<String>) {
        if let Some(found) = self.conflicts.get_mut(number) {
            found.suggestion = value;
        }
    }

    pub(super) fn notice(&mut self, kind: NoticeKind, subject: &Subject, path: &str, detail: &str) {
        let place = [subject.object.as_str(), path].into_iter().filter(|part| !part.is_empty());
        let place = place.collect::<Vec<_>>().join(" ");
        let notice = (kind, place, detail.to_owned());
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Returns the conflicts as people see them; `lines` says where each stands.
    pub(super) fn conflicts(&self, file: &RepoPath, lines: &BTreeMap<usize, usize>) -> Vec<Conflict> {
        let line = |number: usize| lines.get(&number).copied().unwrap_or(0);
        self.conflicts.iter().enumerate().map(|(number, found)| found.conflict(file, line(number))).collect()
    }

    /// Returns whether a decision settled something.
    pub(super) fn has_replayed(&self) -> bool {
        !self.replayed.is_empty()
    }

    /// Returns the conflicts that decisions settled.
    pub(super) fn replayed(&self, file: &RepoPath) -> Vec<(Conflict, Take)> {
        self.replayed.iter().map(|(found, take)| (found.conflict(file, 0), take.clone())).collect()
    }

    /// Returns the notices as people see them.
    pub(super) fn notices(&self, file: &RepoPath) -> Vec<Notice> {
        let notice = |(kind, place, detail): &(NoticeKind, String, String)| Notice {
            kind: *kind,
            subject: if place.is_empty() { file.to_string() } else { format!("{file}: {place}") },
            detail: detail.clone(),
        };
        self.notices.iter().map(notice).collect()
    }
}
