//! Pure. Whether the recorded cases are complete: every field of the subset alone and in pairs, every field of every entry,
//! every field that is refused.
//!
//! 617 cases are recorded: 84 directories and 533 of tables, of which 21 are a change alone and 210 two of them together.
//! All are equal byte for byte, so there is no list of those that differ. Not here: comparing them (`tests.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;

use super::cases;
use crate::kustomize::kustomization::{KNOWN, REFUSED};

/// Sources whose readers of entries name their fields.
const READERS: [&str; 2] = [include_str!("../kustomization.rs"), include_str!("../replacements.rs")];
/// Fields of entries that no case can show: kustomize reads and ignores it.
const WITHOUT_EFFECT: [&str; 1] = ["encoding"];
/// Recorded cases that are wanted at least.
const MIN_CASES: usize = 600;

fn root() -> std::path::PathBuf {
    crate::base::fixtures("kustomize")
}

/// Returns the tables by name.
fn tables() -> BTreeMap<String, String> {
    let files = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    tables
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// Returns the kustomizations of all directories and of all cases that print something, as one text each.
fn built() -> Vec<String> {
    let mut texts = Vec::new();
    for (_, table) in tables() {
        let built = cases(&table).into_iter().filter(|(_, _, recorded)| recorded.is_ok());
        texts.extend(built.map(|(_, tree, _)| {
            let files = tree.iter().filter_map(|(path, file)| Some((path, file.as_text()?)));
            files
                .filter(|(path, _)| path.name().to_lowercase().starts_with("kustomization"))
                .map(|(_, text)| text)
                .collect()
        }));
    }
    let mut open = vec![root()];
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_lowercase();
            if path.is_dir() {
                open.push(path);
            } else if name.starts_with("kustomization") {
                texts.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    texts
}

/// Returns whether one of the texts sets a field.
fn names<'a>(field: &str, texts: impl IntoIterator<Item = &'a String>) -> bool {
    let pattern = Regex::new(&format!(r#"(?im)(^|[\s{{,-]|"){field}"?:"#)).unwrap();
    texts.into_iter().any(|text| pattern.is_match(text))
}

#[test]
fn every_field_of_the_subset_has_a_case_that_builds() {
    let texts = built();
    assert!(texts.len() >= MIN_CASES - 100, "only {} kustomizations build", texts.len());
    let entries = Regex::new(r"allow_only\(&\[([^\]]*)\]\)").unwrap();
    let lists = READERS.iter().flat_map(|source| entries.captures_iter(source));
    let of_entries = lists
        .flat_map(|list| list[1].split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect::<Vec<_>>());
    let fields: BTreeSet<String> = KNOWN.iter().map(|field| (*field).to_owned()).chain(of_entries).collect();
    assert!(fields.len() > 60, "{fields:?}");
    let missing: Vec<&String> =
        fields.iter().filter(|field| !WITHOUT_EFFECT.contains(&field.as_str()) && !names(field, &texts)).collect();
    assert!(missing.is_empty(), "no case builds with {missing:?}");
}

#[test]
fn every_change_stands_alone_and_beside_every_other_one() {
    let tables = tables();
    let titles = |name: &str| -> Vec<String> { cases(&tables[name]).into_iter().map(|(title, _, _)| title).collect() };
    let alone: Vec<String> =
        titles("alone").iter().map(|title| title.strip_suffix(" alone").unwrap().to_owned()).collect();
    let pairs: BTreeSet<String> = titles("pairs").into_iter().collect();
    let missing: Vec<String> = alone
        .iter()
        .enumerate()
        .flat_map(|(at, one)| alone.iter().skip(at + 1).map(move |other| format!("{one} with {other}")))
        .filter(|pair| !pairs.contains(pair))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let directories = fs::read_dir(root()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    let all = directories + tables.values().map(|table| cases(table).len()).sum::<usize>();
    println!("{all} recorded builds, {} changes alone, {} in pairs", alone.len(), pairs.len());
    assert!(all >= MIN_CASES && alone.len() >= 21 && pairs.len() >= 210, "{all} cases");
}

#[test]
fn every_field_that_is_refused_has_a_case() {
    let tested = include_str!("../tests.rs");
    let table = &tables()["refusals"];
    let untested = |field: &str| !tested.contains(&format!("\"{field}\"")) && !names(field, [table]);
    let missing: Vec<&str> = REFUSED.iter().map(|(field, _, _)| *field).filter(|field| untested(field)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
