//! Every input of `tests/fuzz/corpus` once more: beginnings of our own, and what was found by chance and mended since.
//!
//! Not here: what must hold (`tests/fuzz/targets.rs`), new inputs (`tests/fuzz/run`).

use std::path::{Path, PathBuf};

#[path = "../fuzz/targets.rs"]
mod targets;

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn every_input_of_the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    for directory in entries(&corpus) {
        let name = directory.file_name().unwrap().to_string_lossy().into_owned();
        let (_, target) = targets::TARGETS.iter().find(|(known, _)| *known == name).unwrap();
        for input in entries(&directory) {
            println!("{}", input.display());
            target(&String::from_utf8_lossy(&std::fs::read(&input).unwrap()));
        }
    }
    for (name, _) in targets::TARGETS {
        assert!(corpus.join(name).is_dir(), "the target {name} has no corpus");
    }
}
