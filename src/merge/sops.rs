//! Pure. Merges files that SOPS encrypted: by key, on the values behind the ciphertexts.
//!
//! In each text a mark takes the place of every ciphertext, equal for equal values, and then the texts are merged as any other YAML
//! is. In the result each mark becomes a ciphertext again: that of ours at the same place, else that of theirs, else a new one. Then the
//! MAC and the time are made anew, and the result is decrypted once more before it counts. No marks of conflicts ever stand in such a
//! file, since they would break its MAC: ours stays at each, and conflicts say what became of a value and never what it is.
//!
//! The data key: if both sides have one, it stays, and recipients are merged one by one. If one side alone changed it, somebody was to be
//! shut out or let in, so the result is encrypted with the new one, for exactly the recipients of that side; the other side must not have
//! changed recipients or rules, since for a recipient that it added the new data key cannot be encrypted here. If both changed it,
//! no choice is safe, and a person decides.
//!
//! Not here: where keys come from (`settings`), the format (`yaml::sops`).

use std::collections::{BTreeMap, VecDeque};

use super::conflict::{Conflict, ConflictKind, Notice};
use super::file::{FileMerge, merge_open, merge_whole};
use super::rules::{ListKey, Rules};
use super::tree::Three;
use crate::base::{Digest, Encoder, RepoPath, Timestamp};
use crate::schema::ListRule;
use crate::yaml::sops::{
    Clear, DataKey, Fault, Part, PartKind, Sealer, Seed, SopsFile, is_called_so, looks_so, mark, without_marks,
};

/// What stands for a ciphertext in what people read.
const HIDDEN: &str = "(hidden)";
/// The section that SOPS adds.
const SECTION: &str = "sops";
/// What takes the place of parts of the section that are made anew.
const ANEW: &str = "made-anew";
/// How far below its key the armoured data key stands.
const BLOB_INDENT: usize = 4;

/// What encrypted files are merged with.
#[derive(Clone, Debug)]
pub struct SopsKeys {
    /// Data keys that may be those of the files.
    pub data_keys: Vec<DataKey>,
    /// Entropy of new ciphertexts.
    pub seed: Seed,
    /// When the merge is made.
    pub time: Timestamp,
}

/// Returns whether a file is merged as one that SOPS encrypted: by its name, or because a side has what SOPS writes.
pub fn is_encrypted<'a>(path: &RepoPath, texts: impl IntoIterator<Item = &'a str>) -> bool {
    is_called_so(path.name()) || path.is_yaml() && texts.into_iter().any(looks_so)
}

/// Merges a file that both sides changed.
pub(super) fn merge(path: &RepoPath, texts: Three<Option<&str>>, rules: &Rules) -> FileMerge {
    let merged = match texts {
        Three { ours: None, .. } => {
            let why = (ConflictKind::DeleteEdit, "you deleted the file and upstream changed it");
            merge_whole(path, texts, rules, why)
        }
        Three { theirs: None, .. } => {
            let why = (ConflictKind::EditDelete, "you changed the file and upstream deleted it");
            merge_whole(path, texts, rules, why)
        }
        Three { base, ours: Some(ours), theirs: Some(theirs) } => {
            let merged = Merging::of(path, (base, ours, theirs), rules).and_then(|merging| merging.run());
            merged.unwrap_or_else(|why| merge_whole(path, texts, rules, (ConflictKind::FileKind, &why)))
        }
    };
    let text = merged.text.clone();
    hushed(merged).settled(text)
}

/// Returns a merge that says nothing of the values.
fn hushed(mut merged: FileMerge) -> FileMerge {
    let hush = |text: String| without_marks(&text, HIDDEN);
    let conflict = |found: Conflict| {
        let found = found.redacted();
        let (object, key, why) = (hush(found.object), hush(found.key), hush(found.why));
        Conflict { object, key, why, linked: found.linked.into_iter().map(hush).collect(), ..found }
    };
    let notice = |found: Notice| Notice { subject: hush(found.subject), detail: hush(found.detail), ..found };
    merged.conflicts = merged.conflicts.into_iter().map(conflict).collect();
    merged.notices = merged.notices.into_iter().map(notice).collect();
    merged.replayed = merged.replayed.into_iter().map(|(found, take)| (conflict(found), take)).collect();
    merged.guard = merged.guard.map(hush);
    merged
}

/// The texts of base, if there is one, and of both sides.
type Sides<'a> = (Option<&'a str>, &'a str, &'a str);

/// One side, decrypted.
struct Side<'a> {
    file: SopsFile,
    values: Vec<Option<Clear>>,
    key: &'a DataKey,
    /// The marks of its parts.
    marks: Vec<Option<String>>,
}

impl<'a> Side<'a> {
    fn open(text: &str, keys: &'a [DataKey]) -> Result<Self, Fault> {
        let file = SopsFile::read(text)?;
        let key = file.key_among(keys)?;
        let values = file.open(key)?;
        Ok(Self { file, values, key, marks: Vec::new() })
    }

    fn parts(&self) -> impl Iterator<Item = (&Part, Option<&str>)> {
        self.file.parts().iter().zip(self.marks.iter().map(Option::as_deref))
    }

    /// Returns the text with marks in place of all that is encrypted.
    fn marked(&self) -> String {
        self.file.rewritten(|number, part| match &part.kind {
            PartKind::Value { .. } | PartKind::Comment { .. } => self.marks.get(number).cloned().flatten(),
            PartKind::Mac | PartKind::Time | PartKind::Version | PartKind::KeyBlob { .. } => Some(ANEW.to_owned()),
        })
    }

    fn blob(&self, name: &str) -> Option<(&str, usize)> {
        self.file.parts().iter().find_map(|part| match &part.kind {
            PartKind::KeyBlob { recipient, column } if recipient == name => Some((self.file.raw(part), *column)),
            _ => None,
        })
    }

    fn version(&self) -> Option<&str> {
        let part = self.file.parts().iter().find(|part| matches!(part.kind, PartKind::Version))?;
        Some(self.file.raw(part))
    }
}

/// The marks given so far.
#[derive(Default)]
struct Marks {
    of_value: BTreeMap<Digest, String>,
    values: BTreeMap<String, Clear>,
}

impl Marks {
    /// Gives a side its marks, one for each value: whoever has a value first gives it its mark.
    fn give(&mut self, side: &mut Side<'_>) {
        for (part, value) in side.file.parts().iter().zip(&side.values) {
            let is_sealed = match &part.kind {
                PartKind::Value { is_sealed, .. } => *is_sealed,
                PartKind::Comment { .. } => true,
                PartKind::Mac | PartKind::Time | PartKind::Version | PartKind::KeyBlob { .. } => false,
            };
            let clear = value.as_ref().filter(|clear| is_sealed && !clear.is_empty());
            side.marks.push(clear.map(|clear| self.mark(clear, side.file.raw(part))));
        }
    }

    fn mark(&mut self, clear: &Clear, ciphertext: &str) -> String {
        // The digest stays in here and only says which values are equal.
        let digest = Encoder::new().text(&format!("{:?}", clear.kind())).raw(clear.expose()).digest();
        if let Some(known) = self.of_value.get(&digest) {
            return known.clone();
        }
        let mut word = mark(ciphertext);
        while self.values.contains_key(&word) {
            word = mark(&word);
        }
        self.of_value.insert(digest, word.clone());
        self.values.insert(word.clone(), clear.clone());
        word
    }
}

struct Merging<'a> {
    path: &'a RepoPath,
    rules: &'a Rules,
    keys: &'a SopsKeys,
    base: Option<Side<'a>>,
    ours: Side<'a>,
    theirs: Side<'a>,
    marks: Marks,
    /// Whether the result is encrypted with the data key of theirs, which is not that of ours.
    is_of_theirs: bool,
}

impl<'a> Merging<'a> {
    /// Decrypts all sides, or says why that cannot be done and what to do.
    fn of(path: &'a RepoPath, texts: Sides<'_>, rules: &'a Rules) -> Result<Self, String> {
        let data_keys = rules.sops.as_ref().map_or(&[][..], |keys| &keys.data_keys);
        let open = |text: &str, whose: &str| {
            Side::open(text, data_keys).map_err(|fault| format!("{whose} {fault}; {}", next(&fault, path)))
        };
        let (base, ours, theirs) = texts;
        let mut ours = open(ours, "your file")?;
        let mut theirs = open(theirs, "upstream's file")?;
        let mut base = base.map(|base| open(base, "the file both started from")).transpose()?;
        let keys = rules.sops.as_ref().ok_or("there are no keys")?;
        let has_rule = |side: &Side<'_>| side.file.has_rule_of(&ours.file);
        if !has_rule(&theirs) || base.as_ref().is_some_and(|base| !has_rule(base)) {
            return Err(format!("the sides encrypt by different rules; {}", by_hand(path)));
        }
        let is_of_theirs =
            takes_key_of_theirs(base.as_ref(), &ours, &theirs).map_err(|why| format!("{why}; {}", by_hand(path)))?;
        let mut marks = Marks::default();
        base.iter_mut().for_each(|base| marks.give(base));
        marks.give(&mut ours);
        marks.give(&mut theirs);
        Ok(Self { path, rules, keys, base, ours, theirs, marks, is_of_theirs })
    }

    fn run(&self) -> Result<FileMerge, String> {
        let path = ["sops", "age"].map(str::to_owned).to_vec();
        let recipients = ListRule::parse("recipient").map(|rule| ListKey { group: None, kind: None, path, rule });
        let lists = recipients.into_iter().chain(self.rules.lists.iter().cloned()).collect();
        let rules = Rules { lists, templates: None, sops: None, ..self.rules.clone() };
        let base = self.base.as_ref().map(Side::marked);
        let (ours, theirs) = (self.ours.marked(), self.theirs.marked());
        let texts = Three { base: base.as_deref(), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
        let merged = merge_open(self.path, texts, &rules);
        let of_section = |key: &str| key == SECTION || key.starts_with("sops.") || key.starts_with("sops[");
        if merged.conflicts.iter().any(|conflict| of_section(&conflict.key)) {
            return Err(format!("both sides changed for whom or how it is encrypted; {}", by_hand(self.path)));
        }
        let text = merged.text.clone().unwrap_or_default();
        let sealed = match (self.is_of_theirs, text == ours, text == theirs) {
            (false, true, _) => self.ours.file.text().to_owned(),
            (true, _, true) => self.theirs.file.text().to_owned(),
            _ => {
                let fail = |fault: Fault| format!("the merged file {fault}; {}", by_hand(self.path));
                self.sealed(&text).map_err(fail)?
            }
        };
        let mut merged = merged;
        for conflict in merged.conflicts.iter_mut().filter(|conflict| conflict.line > 0) {
            conflict.line += self.lines_of_blobs(&text, conflict.line);
        }
        Ok(merged.settled(Some(sealed)))
    }

    /// Returns the side whose data key the result has.
    fn keeper(&self) -> &Side<'a> {
        if self.is_of_theirs { &self.theirs } else { &self.ours }
    }

    /// Writes ciphertexts in place of the marks of a merged text, and a MAC over its values.
    fn sealed(&self, marked: &str) -> Result<String, Fault> {
        let file = SopsFile::read(marked)?;
        let mut values = file.clear()?;
        for (part, value) in file.parts().iter().zip(&mut values) {
            let is_sealed = !matches!(part.kind, PartKind::Value { is_sealed: false, .. });
            if let Some(clear) = self.marks.values.get(word(&file, part)).filter(|_| is_sealed) {
                *value = Some(clear.clone());
            }
        }
        let key = self.keeper().key;
        let sealer = Sealer { key, seed: &self.keys.seed };
        let mut known = Known::of(self);
        let time = Timestamp(self.keys.time.seconds().saturating_mul(1_000_000)).to_string();
        let result = file.written(&values, &time, sealer, |part| match &part.kind {
            PartKind::Value { place, .. } => known.value(place, word(&file, part)),
            PartKind::Comment { places } => {
                let clear = self.marks.values.get(word(&file, part));
                let kept = known.comment(places, word(&file, part));
                kept.or_else(|| sealer.seal(known.place(places, word(&file, part))?, clear?))
            }
            PartKind::Version => self.version().map(str::to_owned),
            PartKind::KeyBlob { recipient, column } => self.blob(recipient, *column),
            PartKind::Mac | PartKind::Time => None,
        })?;
        // What was written must be what SOPS reads.
        SopsFile::read(&result)?.open(key)?;
        Ok(result)
    }

    fn version(&self) -> Option<&str> {
        let (ours, theirs) = (self.ours.version(), self.theirs.version());
        let is_untouched = self.base.as_ref().is_some_and(|base| base.version() == ours);
        if is_untouched || self.is_of_theirs { theirs.or(ours) } else { ours.or(theirs) }
    }

    /// Returns the data key as encrypted for a recipient, indented for a key in a column.
    fn blob(&self, recipient: &str, column: usize) -> Option<String> {
        let of = |side: &Side<'_>| {
            let (raw, from) = side.blob(recipient).filter(|_| side.key.is(self.keeper().key))?;
            if from == column || !raw.contains('\n') {
                return Some(raw.to_owned());
            }
            let indent = " ".repeat(column + BLOB_INDENT);
            let mut lines = raw.lines();
            let head = lines.next().unwrap_or_default().to_owned();
            Some(lines.fold(head, |text, line| format!("{text}\n{indent}{}", line.trim())))
        };
        of(&self.ours).or_else(|| of(&self.theirs)).or_else(|| of(self.base.as_ref()?))
    }

    /// Returns how many lines the armoured data keys before a line of the marked text take beyond one each.
    fn lines_of_blobs(&self, marked: &str, line: usize) -> usize {
        let Ok(file) = SopsFile::read(marked) else { return 0 };
        let lines = file.parts().iter().map(|part| match &part.kind {
            PartKind::KeyBlob { recipient, column } => {
                let before = marked.get(..part.span.start).unwrap_or_default().matches('\n').count() + 1;
                let blob = self.blob(recipient, *column).filter(|_| before < line);
                blob.map_or(0, |blob| blob.matches('\n').count())
            }
            _ => 0,
        });
        lines.sum()
    }
}

/// Returns what stands at a part of a marked text.
fn word<'a>(file: &'a SopsFile, part: &'a Part) -> &'a str {
    match &part.kind {
        PartKind::Value { text, .. } => text,
        _ => file.raw(part),
    }
}

/// Ciphertexts that are there, by their place and mark.
#[derive(Default)]
struct Known {
    values: BTreeMap<(String, String), VecDeque<String>>,
    comments: BTreeMap<String, VecDeque<(String, String)>>,
    /// What comments are bound to on any side.
    places: BTreeMap<String, Vec<String>>,
}

impl Known {
    /// Collects those under the data key of the result: those of the side that keeps it first.
    fn of(merging: &Merging<'_>) -> Self {
        let keeper = merging.keeper();
        let mut known = Self::default();
        let sides = [Some(keeper), Some(&merging.ours), Some(&merging.theirs), merging.base.as_ref()];
        for side in sides.into_iter().flatten() {
            let is_kept = side.key.is(keeper.key);
            for (part, mark) in side.parts() {
                let Some(mark) = mark else { continue };
                let raw = side.file.raw(part).to_owned();
                match &part.kind {
                    PartKind::Value { place, .. } if is_kept => {
                        known.values.entry((place.clone(), mark.to_owned())).or_default().push_back(raw);
                    }
                    PartKind::Comment { .. } => {
                        let Some(place) = side.file.comment_place(part, side.key) else { continue };
                        known.places.entry(mark.to_owned()).or_default().push(place.to_owned());
                        if is_kept {
                            known.comments.entry(mark.to_owned()).or_default().push_back((place.to_owned(), raw));
                        }
                    }
                    _ => {}
                }
            }
        }
        known
    }

    /// Returns what a comment is bound to that is encrypted anew: as on a side, if that can be where it stands now.
    fn place<'a>(&self, places: &'a [String], mark: &str) -> Option<&'a String> {
        let of_sides = self.places.get(mark).map_or(&[][..], Vec::as_slice);
        places.iter().find(|place| of_sides.contains(place)).or(places.last())
    }

    /// Returns the ciphertext of a value at a place; of several equal ones each is given once.
    fn value(&mut self, place: &str, mark: &str) -> Option<String> {
        let raws = self.values.get_mut(&(place.to_owned(), mark.to_owned()))?;
        if raws.len() > 1 { raws.pop_front() } else { raws.front().cloned() }
    }

    fn comment(&mut self, places: &[String], mark: &str) -> Option<String> {
        let raws = self.comments.get_mut(mark)?;
        let at = raws.iter().position(|(place, _)| places.contains(place))?;
        if raws.len() > 1 { raws.remove(at).map(|(_, raw)| raw) } else { raws.get(at).map(|(_, raw)| raw.clone()) }
    }
}

/// Decides whose data key the result has, or says why nobody can.
fn takes_key_of_theirs(base: Option<&Side<'_>>, ours: &Side<'_>, theirs: &Side<'_>) -> Result<bool, &'static str> {
    if ours.key.is(theirs.key) {
        return Ok(false);
    }
    let base = base.ok_or("both sides added the file, each with a data key of its own")?;
    let (changed, kept, is_of_theirs) = match (base.key.is(ours.key), base.key.is(theirs.key)) {
        (true, _) => ("upstream changed the data key, and you changed for whom or how it is encrypted", ours, true),
        (false, true) => {
            ("you changed the data key, and upstream changed for whom or how it is encrypted", theirs, false)
        }
        (false, false) => return Err("both sides changed the data key"),
    };
    if kept.file.is_encrypted_as(&base.file) { Ok(is_of_theirs) } else { Err(changed) }
}

/// Returns what to do about a fault.
fn next(fault: &Fault, path: &RepoPath) -> String {
    match fault {
        Fault::NoKey(_) => "set SOPS_AGE_KEY_FILE to the file that holds one, and merge again".to_owned(),
        Fault::NotSops => format!("encrypt it with sops encrypt -i {path}, and merge again"),
        Fault::Mac | Fault::Value(_) => {
            format!("see what it holds with sops decrypt --ignore-mac {path}, and encrypt it again")
        }
        Fault::Broken(_) | Fault::Foreign(..) | Fault::Section(_) | Fault::OtherKeys(_) | Fault::Clear(_) => {
            by_hand(path)
        }
    }
}

fn by_hand(path: &RepoPath) -> String {
    format!("take over with sops edit {path} what the other side changed")
}

#[cfg(test)]
mod tests;
