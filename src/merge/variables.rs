//! Pure. Merges files of variables, `.env` and `.properties`: one entry for each name, wherever it stands.
//!
//! Comments directly above an entry belong to it. A file in which a name stands twice or a line is none of these is merged by
//! lines. Not here: how an embedded file is found (`scalar`), line ends (`file`).

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{ConflictKind, NoticeKind};
use super::finding::{Findings, Sides};
use super::piece::{Piece, Rope, assemble};
use super::place::{Frame, order};
use super::rules::{Rules, Subject, Take};
use super::tree::Three;
use crate::base::sha256;

/// Ends of names of files that hold variables.
const ENDS: [&str; 2] = [".env", ".properties"];

/// Returns whether a file or key is called as files of variables are.
pub(super) fn is_called_so(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}

/// An entry with the comments above it.
struct Entry {
    name: String,
    /// Its lines.
    text: String,
    /// The comments above it.
    lead: String,
    /// Blank lines and comments behind it that belong to nothing.
    gap: String,
}

/// The entries of a file, and what stands before the first.
struct Entries {
    head: String,
    list: Vec<Entry>,
}

/// Merges three files of variables; nothing if they can only be merged by lines.
pub(super) fn merge(texts: &Three<&str>, subject: &Subject, rules: &Rules, found: &mut Findings) -> Option<Rope> {
    let sides = Three { base: parse(texts.base)?, ours: parse(texts.ours)?, theirs: parse(texts.theirs)? };
    let names = sides.as_ref().map(|side| side.list.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>());
    let visited = names.base.len() + names.ours.len() + names.theirs.len();
    found.burn(visited).ok()?;
    let ordered =
        order(&Three { base: &names.base[..], ours: &names.ours[..], theirs: &names.theirs[..] }, Frame::Merged);
    if ordered.is_disputed {
        found.notice(NoticeKind::OrderKept, subject, "", "both sides put its entries in another order");
    }
    let index = |side: &Entries| -> BTreeMap<String, usize> {
        side.list.iter().enumerate().map(|(place, entry)| (entry.name.clone(), place)).collect()
    };
    let places = sides.as_ref().map(index);
    let mut pieces = Vec::with_capacity(ordered.names.len());
    for name in &ordered.names {
        let at = Three {
            base: places.base.get(name).and_then(|place| sides.base.list.get(*place)),
            ours: places.ours.get(name).and_then(|place| sides.ours.list.get(*place)),
            theirs: places.theirs.get(name).and_then(|place| sides.theirs.list.get(*place)),
        };
        pieces.push(one(&at, (subject, rules), found));
    }
    let last = pieces.iter().rposition(|piece| !piece.text.is_empty()).unwrap_or(0);
    pieces.iter_mut().take(last).for_each(|piece| piece.gap = apart(std::mem::take(&mut piece.gap)));
    let (entries, gap) = assemble(pieces);
    let head = pick(&sides.base.head, &sides.ours.head, &sides.theirs.head);
    let mut rope = Rope::plain(if entries.is_empty() { head } else { apart(head) });
    rope.push(entries);
    rope.push_str(&gap);
    Some(rope)
}

/// Merges a file inside of another one if that leaves nothing to decide.
pub(super) fn merge_clean(texts: &Three<&str>, rules: &Rules) -> Option<String> {
    let mut found = Findings::new(rules.limits.fuel);
    let rope = merge(texts, &Subject::default(), rules, &mut found)?;
    (found.len() == 0 && !found.has_replayed()).then(|| rope.ours())
}

/// Returns what a file says: its entries in order.
pub(super) fn says(text: &str) -> Option<Vec<(String, String)>> {
    Some(parse(text)?.list.into_iter().map(|entry| (entry.name, entry.text)).collect())
}

/// Cuts a text into entries.
fn parse(text: &str) -> Option<Entries> {
    let mut entries = Entries { head: String::new(), list: Vec::new() };
    let (mut loose, mut seen, mut is_open) = (String::new(), BTreeSet::new(), false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let goes_on = bare.ends_with('\\') && !bare.ends_with("\\\\");
        if is_open {
            entries.list.last_mut()?.text.push_str(line);
            is_open = goes_on;
            continue;
        }
        if bare.is_empty() || bare.starts_with(['#', ';', '!']) {
            loose.push_str(line);
            continue;
        }
        let name = name_of(bare)?;
        if !seen.insert(name.to_owned()) {
            return None;
        }
        let (gap, lead) = split_loose(&loose);
        match entries.list.last_mut() {
            Some(last) => last.gap = gap,
            None => entries.head = gap,
        }
        entries.list.push(Entry { name: name.to_owned(), text: line.to_owned(), lead, gap: String::new() });
        loose.clear();
        is_open = goes_on;
    }
    match entries.list.last_mut() {
        Some(last) => last.gap = loose,
        None => entries.head = loose,
    }
    Some(entries)
}

/// Returns the name that a line gives a value.
fn name_of(line: &str) -> Option<&str> {
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, _) = line.split_once('=')?;
    let name = name.trim_end();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '[' | ']');
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

/// Parts loose lines into those that stand apart and the comments directly above the next entry.
fn split_loose(loose: &str) -> (String, String) {
    let lines: Vec<&str> = loose.split_inclusive('\n').collect();
    let own = lines.iter().rev().take_while(|line| !line.trim().is_empty()).count();
    let (gap, lead) = lines.split_at(lines.len() - own);
    (gap.concat(), lead.concat())
}

/// Parts comments that belong to nothing, such as those at the end of a side, from an entry that comes behind them: directly above it they
/// would belong to that.
fn apart(mut loose: String) -> String {
    if loose.lines().next_back().is_some_and(|line| !line.trim().is_empty()) {
        loose.push_str(if loose.ends_with('\n') { "\n" } else { "\n\n" });
    }
    loose
}

/// Returns the text of the side that changed it, ours if both did.
fn pick(base: &str, ours: &str, theirs: &str) -> String {
    if base == ours { theirs } else { ours }.to_owned()
}

/// Merges one entry.
fn one(at: &Three<Option<&Entry>>, (subject, rules): (&Subject, &Rules), found: &mut Findings) -> Piece {
    let is_same = |a: Option<&Entry>, b: Option<&Entry>| a.map(|it| &it.text) == b.map(|it| &it.text);
    let Three { base, ours, theirs } = *at;
    if is_same(ours, theirs) || is_same(base, theirs) || is_same(base, ours) {
        let side = if is_same(base, ours) && !is_same(ours, theirs) { theirs } else { ours };
        return settled(at, side);
    }
    let name = at.ours.or(theirs).map_or("", |entry| entry.name.as_str());
    let (kind, why) = match (base, ours, theirs) {
        (Some(_), Some(_), Some(_)) => (ConflictKind::Value, "both sides changed it"),
        (Some(_), None, _) => (ConflictKind::DeleteEdit, "you deleted it and upstream changed it"),
        (Some(_), _, None) => (ConflictKind::EditDelete, "you changed it and upstream deleted it"),
        (None, ..) => (ConflictKind::BothAdded, "both sides added it, with other content"),
    };
    let lines = at.map(|entry| entry.map(|entry| format!("{}{}", entry.lead, entry.text)));
    let shown = at.map(|entry| entry.map(|entry| entry.text.clone()));
    let hashes = at.map(|entry| entry.map(|entry| sha256(entry.text.as_bytes())));
    match found.open(rules, (kind, why), (subject, name), Sides { shown, hashes }) {
        (Some(number), _) => {
            let rope = Rope::open(vec![number], lines.map(Option::unwrap_or_default));
            Piece { text: rope, ..settled(at, ours) }
        }
        (None, Some(Take::Upstream)) => settled(at, theirs),
        (None, Some(Take::Base)) => settled(at, base),
        (None, Some(Take::Value(value))) => {
            let text = format!("{name}={}\n", value.trim_end_matches('\n'));
            Piece { text: Rope::plain(text), ..settled(at, ours) }
        }
        (None, Some(Take::Mine) | None) => settled(at, ours),
    }
}

/// Writes an entry as one side has it, with the comments and the gap of the side that changed those.
fn settled(at: &Three<Option<&Entry>>, side: Option<&Entry>) -> Piece {
    let merged = |of: fn(&Entry) -> &str| match (at.base, at.ours, at.theirs) {
        (Some(base), Some(ours), Some(theirs)) => pick(of(base), of(ours), of(theirs)),
        (_, Some(only), _) | (_, None, Some(only)) => of(only).to_owned(),
        (_, None, None) => String::new(),
    };
    match side {
        Some(entry) => {
            let text = Rope::plain(format!("{}{}", merged(|it| &it.lead), entry.text));
            Piece { text, gap: merged(|it| &it.gap), content: None, before: None }
        }
        None => {
            let gap = at.ours.map_or(String::new(), |entry| entry.gap.clone());
            Piece { text: Rope::default(), gap, content: None, before: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{How, merge_file};
    use super::super::rules::Rules;
    use super::super::tree::Three;
    use crate::base::RepoPath;

    /// Merges three files; conflicts are expected as `kind key`, and a second merge of the result must bring nothing.
    fn check(base: &str, ours: &str, theirs: &str, expected: &str, conflicts: &[&str]) {
        let path = RepoPath::parse("apps/a/app.env").unwrap();
        let merge = |ours: &str| {
            let merged = merge_file(
                &path,
                Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) },
                &Rules::default(),
            );
            let found: Vec<String> = merged.conflicts.iter().map(|it| format!("{:?} {}", it.kind, it.key)).collect();
            assert_eq!(found, conflicts);
            merged.text.unwrap()
        };
        assert_eq!(merge(ours), expected);
        assert_eq!(merge(expected), expected, "the second merge");
    }

    #[test]
    fn variables_next_to_each_other_are_edited_apart() {
        check("A=1\nB=2\n", "A=9\nB=2\n", "A=1\nB=8\n", "A=9\nB=8\n", &[]);
    }

    #[test]
    fn both_sides_add_variables_at_the_end() {
        check("A=1\n", "A=1\nB=2\n", "A=1\nC=3\n", "A=1\nB=2\nC=3\n", &[]);
    }

    #[test]
    fn one_variable_added_at_two_places_stands_once() {
        check("A=1\nB=2\n", "N=1\nA=1\nB=2\n", "A=1\nB=2\nN=1\n", "N=1\nA=1\nB=2\n", &[]);
        check("A=1\nB=2\n", "N=1\nA=1\nB=2\n", "A=1\nB=2\nN=2\n", "N=1\nA=1\nB=2\n", &["BothAdded N"]);
    }

    #[test]
    fn one_variable_set_to_two_values_is_one_conflict() {
        check("A=1\nB=2\n", "A=2\nB=2\n", "A=3\nB=3\n", "A=2\nB=3\n", &["Value A"]);
        check("A=1\nB=2\n", "B=2\n", "A=3\nB=2\n", "B=2\n", &["DeleteEdit A"]);
        check("A=1\nB=2\n", "A=3\nB=2\n", "B=2\n", "A=3\nB=2\n", &["EditDelete A"]);
    }

    #[test]
    fn comments_go_with_the_variable_below_them() {
        check("# one\nA=1\nB=2\n", "# one\nA=1\nB=3\n", "B=2\n", "B=3\n", &[]);
        check("A=1\nB=2\n", "# why\nA=1\nB=2\n", "A=2\nB=2\n", "# why\nA=2\nB=2\n", &[]);
    }

    #[test]
    fn comments_that_belong_to_nothing_stay_apart_from_what_the_other_side_adds() {
        check("", "A=1\n", "# why\n", "# why\n\nA=1\n", &[]);
        check("A=1\n", "A=1\nB=2\n", "A=1\n# why\n", "A=1\n# why\n\nB=2\n", &[]);
        check("A=1\n", "A=1\n# why", "A=1\nB=2\n", "A=1\n# why\n\nB=2", &[]);
        check("A=1\nC=1\n", "A=1\nC=2\n", "A=1\n# why\nC=1\n", "A=1\n# why\nC=2\n", &[]);
        check("A=1\n# why\n", "A=2\n# why\n", "A=1\n# why\nB=2\n", "A=2\n# why\nB=2\n", &[]);
    }

    #[test]
    fn a_value_that_goes_on_in_the_next_line_is_one() {
        check("A=1 \\\n 2\nB=2\n", "A=1 \\\n 3\nB=2\n", "A=1 \\\n 2\nB=4\n", "A=1 \\\n 3\nB=4\n", &[]);
    }

    #[test]
    fn a_file_with_other_lines_is_merged_by_lines() {
        let path = RepoPath::parse("apps/a/app.env").unwrap();
        for (base, ours, theirs) in [("A\nB=1\n", "A\nB=2\n", "A\nB=3\n"), ("A=1\nA=2\n", "A=1\nA=3\n", "A=1\nA=4\n")] {
            let sides = Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) };
            assert_eq!(merge_file(&path, sides, &Rules::default()).how, How::Lines);
        }
    }
}
