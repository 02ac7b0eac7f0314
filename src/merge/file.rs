//! Pure. Merges one file: by structure where it is YAML, with the line merge as second opinion.
//!
//! Where both merges are clean and say the same, the bytes are those of git, so that the same merge made by git or by a
//! forge gives the same file. Byte-order mark, line ends and the final newline belong to the file and are merged for
//! themselves. Not here: files that were moved (`tree`), documents (`document`).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::conflict::{Conflict, ConflictKind, Notice, NoticeKind};
use super::document::{self, Document, Documents, Refused};
use super::finding::{Findings, Sides};
use super::line_diff::newlines;
use super::piece::{Rope, Strand};
use super::present::{MarkerLabels, MarkerStyle, favoring, with_markers};
use super::reduce::{Reduced, reduce};
use super::rules::{Limits, Rules, Subject, Take};
use super::sops;
use super::sound::{doubles_more, is_sound};
use super::template;
use super::text::{
    Favor, Hunk, TextMerge, has_markers, merge_text, merge_text_favoring, merge_text_marked, merge_text_settled,
};
use super::tree::Three;
use super::variables;
use crate::base::{RepoPath, sha256};

/// What follows the name of a file that a template becomes.
const TEMPLATE_ENDS: [&str; 5] = [".j2", ".gotmpl", ".tmpl", ".tpl", ".template"];

/// In which way a file was merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Only one side changed it.
    Trivial,
    /// By its structure.
    Structural,
    /// By lines.
    Lines,
}

/// A merged file.
#[derive(Clone, Debug)]
pub struct FileMerge {
    /// The text with ours at each conflict; nothing if the file is gone.
    pub text: Option<String>,
    /// What a person has to decide, in the order of the text.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notices: Vec<Notice>,
    /// Conflicts that decisions settled.
    pub replayed: Vec<(Conflict, Take)>,
    /// In which way it was merged.
    pub how: How,
    /// Why a merge by structure did not read back as it must; a fault of ours.
    pub guard: Option<String>,
    /// Work that is left for further files.
    pub fuel: u64,
    rope: Rope,
    /// The three texts of a file without structure in which all conflicts are open.
    plain: Option<Three<String>>,
}

impl FileMerge {
    /// Returns the merge with another text, in which no place is open for markers.
    pub(super) fn settled(self, text: Option<String>) -> Self {
        let rope = Rope::plain(text.as_deref().unwrap_or_default());
        Self { text, rope, plain: None, ..self }
    }

    /// Writes the text with conflict markers; where a file has no structure they stand where git puts them.
    pub fn with_markers(&self, style: MarkerStyle, labels: MarkerLabels<'_>) -> String {
        match &self.plain {
            Some(texts) => merge_text_marked(texts.as_ref().map(String::as_str), style, labels).0,
            None => with_markers(&self.rope, style, labels),
        }
    }

    /// Writes the text with the lines of a side, or of both, at each conflict; where a file has no structure it is git's text.
    pub fn favoring(&self, favor: Favor) -> String {
        match &self.plain {
            Some(texts) => merge_text_favoring(texts.as_ref().map(String::as_str), favor),
            None => favoring(&self.rope, favor),
        }
    }
}

/// Merges one file; a side without it is nothing.
pub fn merge_file(path: &RepoPath, texts: Three<Option<&str>>, rules: &Rules) -> FileMerge {
    let Three { base, ours, theirs } = texts;
    let trivial = |side: Option<&str>| FileMerge {
        text: side.map(str::to_owned),
        conflicts: Vec::new(),
        notices: Vec::new(),
        replayed: Vec::new(),
        how: How::Trivial,
        guard: None,
        fuel: rules.limits.fuel,
        rope: Rope::plain(side.unwrap_or_default()),
        plain: None,
    };
    if base == theirs || ours == theirs {
        return trivial(ours);
    }
    let is_encrypted = sops::is_encrypted(path, [base, ours, theirs].into_iter().flatten());
    if base == ours && (rules.withheld.is_empty() || is_encrypted && rules.sops.is_none()) {
        return trivial(theirs);
    }
    if is_encrypted { sops::merge(path, texts, rules) } else { merge_open(path, texts, rules) }
}

/// Makes one conflict of a whole file.
pub(super) fn merge_whole(
    path: &RepoPath,
    texts: Three<Option<&str>>,
    rules: &Rules,
    (kind, why): (ConflictKind, &str),
) -> FileMerge {
    Merging { path, texts, rules, found: Findings::new(rules.limits.fuel), guard: None }.whole(kind, why)
}

/// Merges one file that both sides changed and whose values can be read.
pub(super) fn merge_open(path: &RepoPath, texts: Three<Option<&str>>, rules: &Rules) -> FileMerge {
    let merged = Merging { path, texts, rules, found: Findings::new(rules.limits.fuel), guard: None }.run();
    debug_assert_eq!(other_than_the_whole(&merged, path, texts, rules), None, "what is left out counts\n{texts:#?}");
    let is_unread = merged.notices.iter().any(|notice| notice.kind == NoticeKind::Unparsable);
    let Some(delimiters) = rules.templates.as_ref().filter(|_| is_unread) else { return merged };
    // Braces in a text need not be those of a template, but must not become them.
    let plain = Rules { templates: None, ..rules.clone() };
    let fuel = merged.fuel;
    let again = Merging { path, texts, rules: &plain, found: Findings::new(fuel), guard: None }.run();
    let sides = texts.map(Option::unwrap_or_default);
    let is_text = |text: &String| !template::makes_an_action(&sides, text, delimiters);
    if again.how == How::Structural && again.text.as_ref().is_none_or(is_text) { again } else { merged }
}

/// Returns in what a merge is not that of the whole texts, from which nothing was left out.
fn other_than_the_whole(
    merged: &FileMerge,
    path: &RepoPath,
    texts: Three<Option<&str>>,
    rules: &Rules,
) -> Option<[String; 2]> {
    let limits = Limits { leaves_out: false, ..rules.limits };
    let rules = &Rules { limits, ..rules.clone() };
    let whole = Merging { path, texts, rules, found: Findings::new(rules.limits.fuel), guard: None }.run();
    // What is left out is no work, so less work than the limit may be left of a file that is too much as a whole.
    if whole.notices.iter().any(|notice| notice.kind == NoticeKind::Limit) {
        return None;
    }
    let said = |merge: &FileMerge| FileMerge { fuel: 0, ..merge.clone() };
    let (merged, whole) = (format!("{:#?}", said(merged)), format!("{:#?}", said(&whole)));
    (merged != whole).then_some([merged, whole])
}

/// Why a merge by structure does not stand.
enum Fault {
    /// An alias lost its anchor.
    Anchor(String),
    /// Lines are the better reading, for a reason that is no fault of ours.
    Lines(NoticeKind, String),
    /// The text does not say what it must.
    Guard(String),
}

struct Merging<'a> {
    path: &'a RepoPath,
    texts: Three<Option<&'a str>>,
    rules: &'a Rules,
    found: Findings,
    guard: Option<String>,
}

impl Merging<'_> {
    fn run(self) -> FileMerge {
        if self.texts.ours.is_some_and(has_markers) {
            return self.whole(ConflictKind::Text, "your file holds conflict markers");
        }
        let forms = self.texts.map(|text| text.map(Form::of));
        let is_mixed = [&forms.base, &forms.ours, &forms.theirs].into_iter().flatten().any(Option::is_none);
        let is_structured = is_yaml(self.path) || self.path.as_str().ends_with(".json");
        let bytes = [self.texts.base, self.texts.ours, self.texts.theirs].into_iter().flatten().map(str::len).max();
        let is_large = bytes.unwrap_or(0) > self.rules.limits.file_bytes;
        if bytes.unwrap_or(0) > self.rules.limits.text_bytes {
            return self.whole(ConflictKind::FileKind, "both sides changed the file, which is too large for a merge");
        }
        let has_variables = variables::is_called_so(self.path.name());
        if is_mixed || !is_structured && !has_variables {
            return self.unstructured();
        }
        let form = Form::merge(&forms.map(Option::flatten));
        let normal = self.texts.map(|text| text.map(Form::plain));
        if is_large {
            let why = format!("its {} bytes are more than what is merged by structure", bytes.unwrap_or(0));
            let why = (NoticeKind::Limit, why);
            return self.by_lines(normal, Some(form), Some(why));
        }
        if has_variables { self.of_variables(normal, form) } else { self.structured(normal, form) }
    }

    /// Merges a file of variables, by name where that can be done.
    fn of_variables(mut self, normal: Three<Option<String>>, form: Form) -> FileMerge {
        let (Some(ours), Some(theirs)) = (&normal.ours, &normal.theirs) else {
            return self.by_lines(normal, Some(form), None);
        };
        let base = normal.base.as_deref().unwrap_or_default();
        let subject = Subject { object: self.path.to_string(), ..Subject::default() };
        let texts = Three { base, ours: ours.as_str(), theirs: theirs.as_str() };
        let Some(rope) = variables::merge(&texts, &subject, self.rules, &mut self.found) else {
            self.reset();
            return self.by_lines(normal, Some(form), None);
        };
        let by_lines = merge_text(base, ours, theirs);
        let is_git = by_lines.conflicts.is_empty() && self.found.len() == 0 && !self.found.has_replayed();
        let rope = match is_git && variables::says(&by_lines.text) == variables::says(&rope.ours()) {
            true => Rope::plain(by_lines.text),
            false => rope,
        };
        self.finish(rope, How::Structural, Some(form))
    }

    /// Merges a file of which nothing but its lines is known.
    fn unstructured(self) -> FileMerge {
        let texts = self.texts.map(|text| text.map(str::to_owned));
        let Three { base, ours, theirs } = texts.clone();
        let hunks = match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => merge_text(base.as_deref().unwrap_or_default(), ours, theirs).conflicts.len(),
            (Some(_) | None, Some(_) | None) => 0,
        };
        let merged = self.by_lines(texts, None, None);
        let is_open = !merged.conflicts.is_empty() && merged.conflicts.len() == hunks;
        let plain = match (ours, theirs) {
            (Some(ours), Some(theirs)) if is_open => Some(Three { base: base.unwrap_or_default(), ours, theirs }),
            (Some(_) | None, Some(_) | None) => None,
        };
        FileMerge { plain, ..merged }
    }

    fn structured(mut self, normal: Three<Option<String>>, form: Form) -> FileMerge {
        let texts = normal.as_ref().map(|text| text.as_deref());
        if let Some(reduced) = self.rules.limits.leaves_out.then(|| reduce(&texts, self.rules)).flatten() {
            if let Some(rope) = self.of_the_rest(&reduced, &texts) {
                return self.finish(rope, How::Structural, Some(form));
            }
            self.reset();
        }
        match document::merge(&texts, self.rules, &mut self.found) {
            Ok(mut documents) => match self.checked(&mut documents) {
                Ok(()) => self.judged(documents, normal, form),
                Err(Fault::Anchor(why)) => {
                    self.reset();
                    self.whole(ConflictKind::Anchor, &why)
                }
                Err(Fault::Lines(notice, why)) => {
                    self.reset();
                    self.by_lines(normal, Some(form), Some((notice, why)))
                }
                Err(Fault::Guard(why)) => {
                    self.guard = Some(why.clone());
                    self.reset();
                    self.by_lines(normal, Some(form), Some((NoticeKind::ByLines, why)))
                }
            },
            Err(Refused::Doubled(name)) => {
                self.reset();
                self.whole(ConflictKind::DuplicateIdentity, &format!("{name} stands twice in the file"))
            }
            Err(Refused::Limit(why)) => {
                self.reset();
                self.by_lines(normal, Some(form), Some((NoticeKind::Limit, why)))
            }
            Err(Refused::Unparsable(why)) => {
                self.reset();
                self.by_lines(normal, Some(form), Some((NoticeKind::Unparsable, why)))
            }
            Err(Refused::Impossible(why)) => {
                self.reset();
                self.by_lines(normal, Some(form), Some((NoticeKind::ByLines, why)))
            }
        }
    }

    /// Merges what is left of a file without what its sides have alike; nothing where that does not settle everything.
    fn of_the_rest(&mut self, reduced: &Reduced, texts: &Three<Option<&str>>) -> Option<Rope> {
        let bytes: usize = [texts.base, texts.ours, texts.theirs].into_iter().flatten().map(str::len).sum();
        self.found.burn(bytes / document::FUEL_BYTES).ok()?;
        let mut documents = document::merge(&reduced.texts(), self.rules, &mut self.found).ok()?;
        self.checked(&mut documents).ok()?;
        let is_known = |kind: NoticeKind| !matches!(kind, NoticeKind::ByLines | NoticeKind::DuplicateKept);
        let is_open = self.found.len() > 0;
        if self.found.says(Reduced::is_in)
            || !self.found.kinds().all(is_known)
            || self.found.len() > self.rules.limits.conflicts
        {
            return None;
        }
        let rope = reduced.restored(&self.cut(documents.text, &reduced.texts()))?;
        let Three { base, ours, theirs } = texts.map(Option::unwrap_or_default);
        let by_lines = merge_text(base, ours, theirs);
        // What a merge by lines says as well, in other words or with nothing to decide, is weighed against the whole.
        let is_weighed = match (by_lines.conflicts.is_empty(), is_open || self.found.has_replayed()) {
            (false, _) => false,
            (true, true) => is_open,
            (true, false) => by_lines.text != rope.ours(),
        };
        (!is_weighed).then_some(rope)
    }

    fn reset(&mut self) {
        self.found = Findings::new(self.found.fuel);
    }

    /// Reads the text of a merge again and holds it against what it must say.
    fn checked(&self, documents: &mut Documents) -> Result<(), Fault> {
        let text = documents.text.ours();
        let guard = |why: &str| Err(Fault::Guard(why.to_owned()));
        let found = match document::read_beside(&text, self.rules, &mut documents.known) {
            Ok(found) => found,
            Err(why) if why.contains("anchor") || why.contains("alias") => {
                return Err(Fault::Anchor(format!("an alias of the merge names nothing: {why}")));
            }
            Err(why) if self.rules.templates.is_some() && why.contains("control block") => {
                return Err(Fault::Lines(NoticeKind::ByLines, why));
            }
            Err(why) => return guard(&format!("the merge reads no more: {why}")),
        };
        if document::contents(&found) != documents.hashes {
            return guard("the merge does not say what it must");
        }
        if let Some(delimiters) = self.rules.templates.as_ref().filter(|_| self.found.len() == 0)
            && !self.found.has_replayed()
            && !template::has_right_actions(&self.texts.map(Option::unwrap_or_default), &text, delimiters)
        {
            let why = "the actions of both sides do not come out as they must";
            return Err(Fault::Lines(NoticeKind::ByLines, why.to_owned()));
        }
        if doubles_more(&documents.sides, &found, self.rules) {
            let why = "both sides together hold an item twice";
            return Err(Fault::Lines(NoticeKind::ByLines, why.to_owned()));
        }
        if self.path.as_str().ends_with(".json") { self.checked_json(&text) } else { Ok(()) }
    }

    /// Refuses a merge that is no JSON where ours is; it is our fault only if every side is.
    fn checked_json(&self, merged: &str) -> Result<(), Fault> {
        let refusal = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).err();
        let of_side = |text: Option<&str>| text.and_then(|text| refusal(text.strip_prefix('\u{feff}').unwrap_or(text)));
        if self.texts.ours.is_none() || of_side(self.texts.ours).is_some() || refusal(merged).is_none() {
            return Ok(());
        }
        for (name, side) in [("upstream's file", self.texts.theirs), ("the file both started from", self.texts.base)] {
            if let Some(why) = of_side(side) {
                return Err(Fault::Lines(NoticeKind::Unparsable, format!("{name} is no JSON: {why}")));
            }
        }
        Err(Fault::Guard("the merge is no JSON".to_owned()))
    }

    /// Holds a merge by structure against the merge by lines.
    fn judged(mut self, mut documents: Documents, normal: Three<Option<String>>, form: Form) -> FileMerge {
        let texts = normal.as_ref().map(|text| text.as_deref());
        let by_lines = merge_text(
            texts.base.unwrap_or_default(),
            texts.ours.unwrap_or_default(),
            texts.theirs.unwrap_or_default(),
        );
        let is_clean = by_lines.conflicts.is_empty() && texts.ours.is_some() && texts.theirs.is_some();
        let nobody = Subject::default();
        let mut lines = || document::read_beside(&by_lines.text, self.rules, &mut documents.known).ok();
        let read = if is_clean { lines() } else { None };
        // Lines know nothing of edits that are put back.
        let may_stand = self.rules.withheld.is_empty();
        if self.found.len() == 0 && !self.found.has_replayed() && is_clean {
            let says_the_same = |read: &Vec<Rc<Document>>| document::contents(read) == documents.hashes;
            let is_sound = |read: &Vec<Rc<Document>>| is_sound(&documents.sides, read, self.rules);
            if read.as_ref().is_some_and(says_the_same) {
                // What brings nothing changes nothing, not even the style: else a merge made twice would differ from one made once.
                let brings_nothing = texts.ours.is_some_and(|ours| documents.text.ours() == ours);
                // Lines put a comment of an entry that goes above the next one.
                let is_told = self.found.kinds().any(|kind| kind == NoticeKind::DeletedDespiteComment);
                let rope = if brings_nothing || is_told { documents.text } else { Rope::plain(by_lines.text) };
                return self.finish(rope, How::Structural, Some(form));
            }
            if may_stand && read.as_ref().is_some_and(is_sound) {
                let detail = "it holds what both sides changed, as git puts it, so it stands";
                self.found.notice(NoticeKind::LineMergeDiffers, &nobody, "", detail);
                return self.finish(Rope::plain(by_lines.text), How::Lines, Some(form));
            }
            let detail = "the merge by structure stands";
            self.found.notice(NoticeKind::LineMergeDiffers, &nobody, "", detail);
        } else if self.found.len() > 0
            && may_stand
            && read.is_some_and(|read| is_sound(&documents.sides, &read, self.rules))
        {
            self.reset();
            let detail = "it is right and leaves nothing to decide, so it stands";
            self.found.notice(NoticeKind::LineMergeDiffers, &nobody, "", detail);
            return self.finish(Rope::plain(by_lines.text), How::Lines, Some(form));
        }
        if self.found.len() > self.rules.limits.conflicts {
            return self.whole(ConflictKind::Text, "too many places differ");
        }
        let rope = self.cut(documents.text, &texts);
        self.finish(rope, How::Structural, Some(form))
    }

    /// Makes one open place of the file if a side put into all of them would not read.
    fn cut(&self, rope: Rope, texts: &Three<Option<&str>>) -> Rope {
        let reads = |text: String| document::read(&text, self.rules).is_ok();
        if !rope.has_open() || reads(rope.side(|sides| &sides.theirs)) && reads(rope.side(|sides| &sides.base)) {
            return rope;
        }
        let whole = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let sides = Three { base: whole(texts.base), ours: rope.ours(), theirs: whole(texts.theirs) };
        Rope::open(rope.conflicts(), sides)
    }

    /// Merges by lines; `why` says what spoke against a merge by structure.
    fn by_lines(
        mut self,
        normal: Three<Option<String>>,
        form: Option<Form>,
        why: Option<(NoticeKind, String)>,
    ) -> FileMerge {
        let (Some(ours), Some(theirs)) = (&normal.ours, &normal.theirs) else {
            return match normal.ours {
                Some(_) => self.whole(ConflictKind::EditDelete, "you changed the file and upstream deleted it"),
                None => self.whole(ConflictKind::DeleteEdit, "you deleted the file and upstream changed it"),
            };
        };
        let merged = merge_text_settled(normal.base.as_deref().unwrap_or_default(), ours, theirs);
        let kind = if normal.base.is_some() { ConflictKind::Text } else { ConflictKind::BothAdded };
        if let Some(delimiters) = self.rules.templates.as_ref()
            && !template::nests_as_a_side([ours, theirs], &merged.text, delimiters)
        {
            return self.whole(
                ConflictKind::Text,
                "by lines the blocks of the template would stand in each other as on neither side",
            );
        }
        if let Some((notice, why)) = why {
            if merged.conflicts.is_empty() && self.is_spoiled(&merged.text, &normal) {
                return self.whole(ConflictKind::Text, &why);
            }
            self.found.notice(notice, &Subject::default(), "", &why);
        }
        let rope = self.hunks(kind, &merged);
        self.finish(rope, How::Lines, form)
    }

    /// Returns whether a clean merge by lines reads no more although the sides do, or doubled something.
    fn is_spoiled(&self, merged: &str, normal: &Three<Option<String>>) -> bool {
        let read = |text: &Option<String>| document::read(text.as_deref().unwrap_or_default(), self.rules);
        let (Ok(ours), Ok(theirs)) = (read(&normal.ours), read(&normal.theirs)) else { return false };
        let sides = Three { base: Vec::new(), ours, theirs };
        document::read(merged, self.rules).map_or(true, |merged| doubles_more(&sides, &merged, self.rules))
    }

    /// Makes a rope of a merge by lines.
    fn hunks(&mut self, kind: ConflictKind, merged: &TextMerge) -> Rope {
        let mut rope = Rope::default();
        for (before, hunk) in merged.parts() {
            rope.push_str(&before);
            let Some(Hunk { line: _, base, ours, theirs }) = hunk.cloned() else { continue };
            let sides = Three { base, ours, theirs };
            let why = match kind {
                ConflictKind::BothAdded => "both sides added the file, with other lines here",
                _ => "both sides changed these lines",
            };
            let (number, take) = self.open(kind, why, &sides);
            match (number, take) {
                (Some(number), _) => rope.push(Rope::open(vec![number], sides)),
                (None, Some(Take::Upstream)) => rope.push_str(&sides.theirs),
                (None, Some(Take::Base)) => rope.push_str(&sides.base),
                (None, Some(Take::Value(value))) => rope.push_str(&format!("{}\n", value.trim_end_matches('\n'))),
                (None, Some(Take::Mine) | None) => rope.push_str(&sides.ours),
            }
        }
        rope
    }

    fn open(&mut self, kind: ConflictKind, why: &str, sides: &Three<String>) -> (Option<usize>, Option<Take>) {
        let shown = sides.as_ref().map(|text| Some(text.clone()));
        let hashes = sides.as_ref().map(|text| Some(sha256(text.as_bytes())));
        let subject = Subject { object: self.path.to_string(), ..Subject::default() };
        self.found.open(self.rules, (kind, why), (&subject, ""), Sides { shown, hashes })
    }

    /// Opens one conflict about the whole file.
    fn whole(mut self, kind: ConflictKind, why: &str) -> FileMerge {
        self.reset();
        let text = |side: Option<&str>| side.unwrap_or_default().to_owned();
        let sides = self.texts.map(text);
        let subject = Subject { object: self.path.to_string(), ..Subject::default() };
        let shown = self.texts.map(|side| side.map(str::to_owned));
        let hashes = self.texts.map(|side| side.map(|text| sha256(text.as_bytes())));
        let (number, take) = self.found.open(self.rules, (kind, why), (&subject, ""), Sides { shown, hashes });
        let (rope, side) = match (number, take) {
            (Some(number), _) => (Rope::open(vec![number], sides), self.texts.ours),
            (None, Some(Take::Upstream)) => (Rope::plain(sides.theirs), self.texts.theirs),
            (None, Some(Take::Base)) => (Rope::plain(sides.base), self.texts.base),
            (None, _) => (Rope::plain(sides.ours), self.texts.ours),
        };
        let is_there = side.is_some();
        let mut merged = self.finish(rope, How::Lines, None);
        merged.conflicts.iter_mut().for_each(|conflict| conflict.line = 0);
        FileMerge { text: merged.text.filter(|_| is_there), ..merged }
    }

    fn finish(self, rope: Rope, how: How, form: Option<Form>) -> FileMerge {
        let rope = match form {
            Some(form) => form.restored(rope),
            None => rope,
        };
        let mut places = BTreeMap::new();
        let mut line = 1;
        for strand in &rope.0 {
            if let Strand::Open(open) = strand {
                places.extend(open.conflicts.iter().map(|number| (*number, line)));
            }
            line += match strand {
                Strand::Plain(text) => newlines(text),
                Strand::Open(open) => newlines(&open.sides.ours),
            };
        }
        let text = rope.ours();
        let may_go = self.texts.ours.is_none() || self.texts.theirs.is_none();
        let mut conflicts = self.found.conflicts(self.path, &places);
        let is_deletion = |kind| matches!(kind, ConflictKind::EditDelete | ConflictKind::DeleteEdit);
        for conflict in conflicts.iter_mut().filter(|conflict| is_deletion(conflict.kind)) {
            // Without an object or a field the whole file is meant.
            if conflict.object.is_empty() && conflict.key.is_empty() {
                conflict.line = 0;
            }
        }
        conflicts.sort_by(|a, b| (a.line, &a.object, &a.key).cmp(&(b.line, &b.object, &b.key)));
        FileMerge {
            text: (!text.is_empty() || !may_go).then_some(text),
            conflicts,
            notices: self.found.notices(self.path),
            replayed: self.found.replayed(self.path),
            how,
            guard: self.guard,
            fuel: self.found.fuel,
            rope,
            plain: None,
        }
    }
}

/// Returns whether a file is YAML by its name, or becomes YAML when its template is rendered.
fn is_yaml(path: &RepoPath) -> bool {
    let name = path.as_str();
    let rendered = TEMPLATE_ENDS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    rendered.ends_with(".yaml") || rendered.ends_with(".yml")
}

/// How a file is written as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form {
    has_mark: bool,
    has_returns: bool,
    ends_line: bool,
}

impl Form {
    /// Returns the form of a text, or nothing if its line ends are mixed.
    fn of(text: &str) -> Option<Self> {
        let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
        let returns = if has_returns { text.matches("\r\n").count() } else { 0 };
        if has_returns && (returns != newlines(text) || returns != text.matches('\r').count()) {
            return None;
        }
        Some(Self {
            has_mark: text.starts_with('\u{feff}'),
            has_returns,
            ends_line: text.is_empty() || text.ends_with('\n'),
        })
    }

    /// Returns a text without mark and returns, ended by a newline.
    fn plain(text: &str) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
        let mut plain = if has_returns { text.replace("\r\n", "\n") } else { text.to_owned() };
        if !plain.is_empty() && !plain.ends_with('\n') {
            plain.push('\n');
        }
        plain
    }

    /// Merges the forms: the side that changed one decides, ours if both did.
    fn merge(forms: &Three<Option<Self>>) -> Self {
        let any = forms.ours.or(forms.theirs).or(forms.base);
        let plain = any.unwrap_or(Self { has_mark: false, has_returns: false, ends_line: true });
        let side = |form: Option<Self>| form.unwrap_or(plain);
        let (base, ours, theirs) = (side(forms.base), side(forms.ours), side(forms.theirs));
        let pick = |get: fn(Self) -> bool| if get(base) == get(ours) { get(theirs) } else { get(ours) };
        Self {
            has_mark: pick(|form| form.has_mark),
            has_returns: pick(|form| form.has_returns),
            ends_line: pick(|form| form.ends_line),
        }
    }

    /// Gives a text its form back.
    fn restored(self, rope: Rope) -> Rope {
        let ends = |text: &str| if self.has_returns { text.replace('\n', "\r\n") } else { text.to_owned() };
        let mut rope = Rope(
            rope.0
                .into_iter()
                .map(|strand| match strand {
                    Strand::Plain(text) => Strand::Plain(ends(&text)),
                    Strand::Open(mut open) => {
                        open.sides = open.sides.map(|text| ends(&text));
                        Strand::Open(open)
                    }
                })
                .collect(),
        );
        if !self.ends_line {
            let cut = |text: &mut String| {
                if text.ends_with('\n') {
                    text.pop();
                }
                if self.has_returns && text.ends_with('\r') {
                    text.pop();
                }
            };
            match rope.0.last_mut() {
                Some(Strand::Plain(text)) => cut(text),
                Some(Strand::Open(open)) => {
                    cut(&mut open.sides.base);
                    cut(&mut open.sides.ours);
                    cut(&mut open.sides.theirs);
                }
                None => {}
            }
        }
        if self.has_mark && !rope.is_empty() {
            rope.0.insert(0, Strand::Plain("\u{feff}".to_owned()));
        }
        rope
    }
}
