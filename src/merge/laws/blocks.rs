//! Pure. Files of entries and blocks of templates, an edit of one of them by each side, and the file with both edits: every edit of every part
//! against every edit of every other one. Of two edits of one part nothing may be lost in silence.

use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::tree::Three;
use super::path;

/// A part of a file.
#[derive(Clone, PartialEq, Debug)]
enum Part {
    Entry(Entry),
    /// What the lines say that begin the arms, and what these hold.
    Block(Vec<(String, Vec<Entry>)>),
}

/// A name and a value.
type Entry = (String, String);

/// A file, with a number for each part by which edits know it.
type Parts = Vec<(usize, Part)>;

/// What a side does to a part.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Edit {
    Value,
    Condition,
    AddInside,
    Drop,
    BlockBefore,
    BlockBehind,
    EntryBefore,
    AddElse,
    Wrap,
    Unwrap,
    EntryAtTheEnd,
}

use Edit::*;

const EDITS: [Edit; 11] =
    [Value, Condition, AddInside, Drop, BlockBefore, BlockBehind, EntryBefore, AddElse, Wrap, Unwrap, EntryAtTheEnd];

/// One of so many pairs of edits is made unless all are asked for.
const SHARE: usize = 5;

fn entry(name: &str) -> Entry {
    (name.to_owned(), format!("\"{name}\""))
}

/// Two blocks ask for the same, one has two arms with the same key.
fn base() -> Parts {
    let block = |arms: &[(&str, &[&str])]| {
        Part::Block(
            arms.iter()
                .map(|(line, held)| ((*line).to_owned(), held.iter().map(|name| entry(name)).collect()))
                .collect(),
        )
    };
    let parts = [
        Part::Entry(entry("first")),
        block(&[("if .a", &["one"])]),
        Part::Entry(entry("middle")),
        block(&[("if .a", &["two", "three"])]),
        block(&[("if eq .b \"x\"", &["four"]), ("else", &["four"])]),
        Part::Entry(entry("last")),
    ];
    parts.into_iter().enumerate().collect()
}

/// Makes an edit of a part; nothing where the part cannot have it.
fn edited(mut parts: Parts, number: usize, edit: Edit, side: &str) -> Option<Parts> {
    let at = parts.iter().position(|(known, _)| *known == number)?;
    let new = entry(&format!("{side}{edit:?}").to_lowercase());
    let fresh = |line: &str| Part::Block(vec![(line.to_owned(), vec![new.clone()])]);
    match (edit, &mut parts[at].1) {
        (Value, Part::Entry((_, value))) => value.clone_from(&new.1),
        (Value, Part::Block(arms)) => arms[0].1[0].1.clone_from(&new.1),
        (Condition, Part::Block(arms)) => arms[0].0 = format!("if .{side}"),
        (AddInside, Part::Block(arms)) => arms[0].1.push(new),
        (AddElse, Part::Block(arms)) if arms.len() == 1 => arms.push(("else".to_owned(), vec![new])),
        (Drop, _) => drop(parts.remove(at)),
        // The same condition as others have.
        (BlockBefore, _) => parts.insert(at, (usize::MAX, fresh("if .a"))),
        (BlockBehind, _) => parts.insert(at + 1, (usize::MAX, fresh("if .c"))),
        (EntryBefore, _) => parts.insert(at, (usize::MAX, Part::Entry(new))),
        (Wrap, Part::Entry(held)) => parts[at].1 = Part::Block(vec![(format!("if .{side}"), vec![held.clone()])]),
        (Unwrap, Part::Block(arms)) if arms.len() == 1 && arms[0].1.len() == 1 => {
            parts[at].1 = Part::Entry(arms[0].1[0].clone());
        }
        (EntryAtTheEnd, _) if number == 0 => parts.push((usize::MAX, Part::Entry(new))),
        _ => return None,
    }
    Some(parts)
}

fn written(parts: &Parts, is_list: bool) -> String {
    let entry = |(name, value): &Entry| match is_list {
        true => format!("- name: {name}\n  value: {value}\n"),
        false => format!("{name}: {value}\n"),
    };
    let mut text = if is_list { "env:\n".to_owned() } else { String::new() };
    for (_, part) in parts {
        match part {
            Part::Entry(held) => text.push_str(&entry(held)),
            Part::Block(arms) => {
                for (line, held) in arms {
                    text.push_str(&format!("{{{{- {line} }}}}\n"));
                    text.extend(held.iter().map(entry));
                }
                text.push_str("{{- end }}\n");
            }
        }
    }
    text
}

/// Where an edit puts something new, between which parts.
fn slot(edit: Edit, number: usize) -> Option<usize> {
    match edit {
        BlockBefore | EntryBefore => Some(number),
        BlockBehind => Some(number + 1),
        EntryAtTheEnd => Some(6),
        Value | Condition | AddInside | Drop | AddElse | Wrap | Unwrap => None,
    }
}

/// Returns what is wrong with the merge of two edits.
fn wrong(mine: (usize, Edit), upstream: (usize, Edit), is_list: bool) -> Option<String> {
    let (ours, theirs) = (edited(base(), mine.0, mine.1, "m")?, edited(base(), upstream.0, upstream.1, "u")?);
    let both = edited(ours.clone(), upstream.0, upstream.1, "u");
    let texts = [base(), ours, theirs].map(|parts| written(&parts, is_list));
    let [old, mine_text, upstream_text] = &texts;
    let rules = Rules { templates: Some(("{{".to_owned(), "}}".to_owned())), ..Rules::default() };
    let sides =
        Three { base: Some(old.as_str()), ours: Some(mine_text.as_str()), theirs: Some(upstream_text.as_str()) };
    let merged = merge_file(&path(), sides, &rules);
    let text = merged.text.clone().unwrap_or_default();
    let is_right = if mine.0 == upstream.0 {
        // What each side wrote is there, or a question.
        let has = |side: &str| side.lines().all(|line| old.contains(line) || text.contains(line.trim()));
        !merged.conflicts.is_empty() || has(mine_text) && has(upstream_text)
    } else {
        let expected = both.map(|parts| written(&parts, is_list));
        merged.conflicts.is_empty() && Some(&text) == expected.as_ref()
    };
    let is_right = is_right && merged.guard.is_none();
    let kinds: Vec<_> = merged.conflicts.iter().map(|found| (found.kind, &found.why)).collect();
    (!is_right).then(|| format!("{mine:?} {upstream:?}: {kinds:?} {:?} {:?}\n{text}", merged.guard, merged.how))
}

#[test]
fn edits_of_blocks_and_of_what_stands_beside_them_are_all_made() {
    let all: Vec<(usize, Edit)> = (0..6).flat_map(|number| EDITS.map(|edit| (number, edit))).collect();
    let mut found = Vec::new();
    let is_long = std::env::var_os("WILD_LONG").is_some();
    let (mut cells, mut number) = (0, 0);
    for is_list in [false, true] {
        for mine in &all {
            for upstream in &all {
                let (here, there) = (slot(mine.1, mine.0), slot(upstream.1, upstream.0));
                // Two additions at one place, or one beside what the other takes away, may come in either order.
                if here.is_some() && here == there {
                    continue;
                }
                number += 1;
                if !is_long && number % SHARE != 0 {
                    continue;
                }
                cells += 1;
                found.extend(wrong(*mine, *upstream, is_list));
            }
        }
    }
    assert!(found.is_empty(), "{}\n{} of {cells} are wrong", found.join("\n"), found.len());
}
