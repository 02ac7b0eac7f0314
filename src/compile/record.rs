//! Pure. Reads and writes the record of a generation and the message of its commit.
//!
//! Not here: the fields (`model::GenerationRecord`), filling them (`generate`).

use super::generate::NO_RENDERER;
use crate::base::{Encoder, sha256};
use crate::model::{AppName, Diagnostic, FileTree, GenerationRecord};
use crate::yaml::{self, Dialect};

/// First line of the file.
const HEADER: &str = "# How the files of this app were made. Written together with them; an edit here is replaced.\n";
/// Version of the format that this build reads.
const FORMAT: u64 = 1;

/// Returns where the record of an app stands.
pub fn record_path(app: &AppName) -> String {
    format!(".wild/generated/{app}.yaml")
}

/// Reads the text of a record.
pub fn read_record(path: &str, text: &str) -> Result<GenerationRecord, Vec<Diagnostic>> {
    let refuse = |line, message: String| {
        let hint = format!("git checkout HEAD~1 -- {path}");
        Err(vec![Diagnostic::error("R101", path, line, message).with_hint(hint)])
    };
    let Some(document) = yaml::load_one(path, text, Dialect::Gomplate)? else {
        return refuse(0, "the record of the generation is empty".to_owned());
    };
    let line = document.line;
    if document.value.get("format").and_then(serde_json::Value::as_u64) != Some(FORMAT) {
        return refuse(line, format!("the record is not of format {FORMAT}, which is all this build reads"));
    }
    serde_json::from_value(document.value).or_else(|error| refuse(line, format!("the record is damaged: {error}")))
}

/// Writes the text of a record.
pub(super) fn write_record(record: &GenerationRecord) -> String {
    let value = serde_json::to_value(record).unwrap_or_default();
    format!("{HEADER}{}", yaml::write(&value))
}

/// Returns whether two records describe one generation: what only steers the app on its branch is left out.
pub fn same_generation(a: &GenerationRecord, b: &GenerationRecord) -> bool {
    let plain =
        |record: &GenerationRecord| GenerationRecord { wanted: None, held: None, deployed: true, ..record.clone() };
    plain(a) == plain(b)
}

/// Returns whether the files of a generation are a person's as they were, and no renderer's: nothing tells in them what is
/// customised, so only a person brings the next generation.
pub(super) fn is_by_itself(record: &GenerationRecord) -> bool {
    record.renderer == NO_RENDERER
}

/// Returns a digest of a package's files, by which one that was gone back from is known again.
pub(super) fn digest_of(package: &FileTree) -> String {
    let mut encoder = Encoder::new();
    for (path, file) in package.iter() {
        encoder.text(path.as_str()).raw(&sha256(&file.bytes).0);
    }
    encoder.digest().to_hex()
}

/// Returns where the package came from, for a trailer.
pub(super) fn upstream_of(record: &GenerationRecord) -> String {
    format!("{}@{}:{}", record.upstream, record.upstream_commit, record.package)
}

/// Writes the message of a generation's commit.
pub(super) fn message(app: &AppName, record: &GenerationRecord) -> String {
    let GenerationRecord { package, version, config, renderer, .. } = record;
    format!(
        "{app}: {package} {version}\n\nWild-Package: {package} {version}\nWild-Upstream: {}\nWild-Config: {config}\n\
         Wild-Renderer: {renderer}\n",
        upstream_of(record)
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{message, read_record, same_generation, write_record};
    use crate::merge::merge_text;
    use crate::model::{AppName, CommitId, GenerationRecord, PackageName};

    const GOLDEN: &str = include_str!("../../fixtures/merge/record.yaml");

    fn sample() -> GenerationRecord {
        let defaults =
            serde_json::json!({"domain": "blog.example.org", "port": "8080", "cache": {"size": 64, "share": 0.5}});
        GenerationRecord {
            format: 1,
            package: PackageName::parse("quillblog").unwrap(),
            version: "5.10".to_owned(),
            wanted: None,
            held: None,
            directory: "wild-directory".to_owned(),
            upstream: "https://git.example.org/wild-directory".to_owned(),
            upstream_commit: CommitId::parse(&"88ad".repeat(10)).unwrap(),
            bindings: BTreeMap::from([("db".to_owned(), AppName::parse("stonedb").unwrap())]),
            config: "0".repeat(64),
            custom: None,
            renderer: "0.1.0+1".to_owned(),
            deployed: false,
            defaults: defaults.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn the_format_is_as_recorded() {
        assert_eq!(write_record(&sample()), GOLDEN);
        assert_eq!(read_record("record.yaml", GOLDEN).unwrap(), sample());
    }

    #[test]
    fn a_newer_format_is_refused() {
        let findings = read_record("record.yaml", &GOLDEN.replace("format: 1", "format: 2")).unwrap_err();
        assert_eq!(findings[0].id, "R101");
    }

    #[test]
    fn being_deployed_and_wanted_say_nothing_about_the_generation() {
        let steered = GenerationRecord {
            deployed: true,
            wanted: Some("5.10".to_owned()),
            held: Some("0".repeat(64)),
            ..sample()
        };
        assert!(same_generation(&sample(), &steered));
        assert!(!same_generation(&sample(), &GenerationRecord { version: "5.11".to_owned(), ..sample() }));
    }

    #[test]
    fn what_steers_the_app_stands_apart_from_the_lines_that_a_generation_changes() {
        let base = GenerationRecord { deployed: true, ..sample() };
        let (wanted, held) = (Some("5.10".to_owned()), Some("0".repeat(64)));
        let ours = GenerationRecord { deployed: false, wanted: wanted.clone(), held: held.clone(), ..base.clone() };
        let mut theirs = GenerationRecord {
            version: "5.11".to_owned(),
            upstream_commit: CommitId::parse(&"99ad".repeat(10)).unwrap(),
            bindings: BTreeMap::new(),
            config: "1".repeat(64),
            renderer: "0.2.0+1".to_owned(),
            ..base.clone()
        };
        theirs.defaults.insert("port".to_owned(), serde_json::json!("9090"));
        let merged = merge_text(&write_record(&base), &write_record(&ours), &write_record(&theirs));
        assert!(merged.conflicts.is_empty(), "{}", merged.text);
        let both = GenerationRecord { deployed: false, wanted, held, ..theirs };
        assert_eq!(read_record("record.yaml", &merged.text).unwrap(), both);
    }

    #[test]
    fn the_message_names_what_the_generation_was_made_from() {
        let expected = "blog: quillblog 5.10\n\nWild-Package: quillblog 5.10\n\
            Wild-Upstream: https://git.example.org/wild-directory@88ad88ad88ad88ad88ad88ad88ad88ad88ad88ad:quillblog\n";
        assert!(message(&AppName::parse("blog").unwrap(), &sample()).starts_with(expected));
    }
}
