//! Pure. Laws of the merge of encrypted files: over the same generated documents, encrypted.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::generator::case;
use super::trades_equal_texts;
use crate::base::{RepoPath, Timestamp};
use crate::merge::laws::generator::Case;
use crate::merge::{FileMerge, Rules, SopsKeys, Three, merge_file};
use crate::model::Take;
use crate::yaml::cst::split;
use crate::yaml::sops::{Clear, DataKey, PartKind, Sealer, Seed, SopsFile};

const SECTION: &str = "sops:
    age:
        - recipient: age1one
          enc: blob
    lastmodified: \"2020-01-01T00:00:00Z\"
    mac: none
    version: 3.13.3
";

fn key() -> DataKey {
    DataKey::new(vec![7; 32]).unwrap()
}

fn rules() -> Rules {
    let time = Timestamp::parse("2026-11-22T22:00:00Z").unwrap();
    Rules { sops: Some(SopsKeys { data_keys: vec![key()], seed: Seed::new([9; 32]), time }), ..Rules::default() }
}

/// Encrypts the first document of a text; nothing if SOPS would refuse it.
fn sealed(text: &str, seed: u8) -> Option<String> {
    let first = split(text).first()?.trim_end().to_owned();
    let file = SopsFile::read(&format!("{first}\n{SECTION}")).ok()?;
    let (key, seed) = (key(), Seed::new([seed; 32]));
    file.written(&file.clear().ok()?, "2020-01-01T00:00:00Z", Sealer { key: &key, seed: &seed }, |_| None).ok()
}

/// Encrypts a case that is merged and not just taken from theirs. Base and ours have equal ciphertexts for equal values, theirs has others.
fn sealed_case(seed: u64) -> Option<Case> {
    let Case { base, ours, theirs } = case(seed);
    let made = Case { base: sealed(&base, 1)?, ours: sealed(&ours, 1)?, theirs: sealed(&theirs, 2)? };
    (made.base != made.ours).then_some(made)
}

fn merge(base: &str, ours: &str, theirs: &str, rules: &Rules) -> FileMerge {
    let path = RepoPath::parse("secrets.sops.yaml").unwrap();
    merge_file(&path, Three { base: Some(base), ours: Some(ours), theirs: Some(theirs) }, rules)
}

/// The values of a file with their ciphertexts, by place; its MAC holds.
fn values(text: &str) -> Vec<(String, Clear, String)> {
    let file = SopsFile::read(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let values = file.open(&key()).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let value = |(part, value): (&crate::yaml::sops::Part, Option<Clear>)| match &part.kind {
        PartKind::Value { place, .. } => Some((place.clone(), value?, file.raw(part).to_owned())),
        _ => None,
    };
    file.parts().iter().zip(values).filter_map(value).collect()
}

fn says(text: &str) -> Vec<(String, String)> {
    values(text)
        .into_iter()
        .map(|(place, value, _)| (place, format!("{:?} {:?}", value.kind(), value.expose())))
        .collect()
}

proptest! {
    // Each case is some merges with all of their encryption.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: ProptestConfig::default().cases.div_ceil(8),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_mac_of_a_merge_holds_and_unchanged_ciphertexts_stay(seed in any::<u64>()) {
        let Some(made) = sealed_case(seed) else { return Ok(()) };
        let text = merge(&made.base, &made.ours, &made.theirs, &rules()).text.unwrap();
        let sides = [values(&made.ours), values(&made.theirs)];
        for (place, value, raw) in values(&text) {
            let same = |(at, known, _): &&(String, Clear, String)| *at == place && known.is(&value);
            let side = sides.iter().find(|side| side.iter().any(|known| same(&known)));
            prop_assert!(side.is_none_or(|side| side.iter().filter(same).any(|(.., known)| *known == raw)), "{place}\n{text}");
        }
    }

    #[test]
    fn what_one_side_alone_changed_in_its_values_is_the_result(seed in any::<u64>()) {
        let Some(made) = sealed_case(seed) else { return Ok(()) };
        let again = sealed(&case(seed).ours, 3).unwrap();
        let merged = merge(&made.base, &made.ours, &again, &rules());
        prop_assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        prop_assert_eq!(merged.text, Some(made.ours));
        let base = sealed(&case(seed).base, 3).unwrap();
        let merged = merge(&base, &made.base, &made.theirs, &rules());
        prop_assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        prop_assert_eq!(says(&merged.text.unwrap()), says(&made.theirs));
    }

    #[test]
    fn a_second_merge_of_encrypted_files_brings_nothing(seed in any::<u64>()) {
        let Some(made) = sealed_case(seed) else { return Ok(()) };
        if trades_equal_texts(&case(seed)) {
            return Ok(());
        }
        let merged = merge(&made.base, &made.ours, &made.theirs, &rules());
        let text = merged.text.unwrap();
        prop_assert_eq!(merge(&made.base, &text, &made.theirs, &rules()).text, Some(text));
    }

    #[test]
    fn decisions_settle_every_conflict_of_an_encrypted_file(seed in any::<u64>()) {
        let Some(made) = sealed_case(seed) else { return Ok(()) };
        let open = merge(&made.base, &made.ours, &made.theirs, &rules());
        prop_assert!(open.conflicts.iter().all(|conflict| conflict.is_redacted()), "{:?}", open.conflicts);
        for take in [Take::Mine, Take::Upstream, Take::Base] {
            let decided: BTreeMap<_, _> = open.conflicts.iter().map(|found| (found.id.clone(), take.clone())).collect();
            let settled = merge(&made.base, &made.ours, &made.theirs, &Rules { decided, ..rules() });
            prop_assert!(settled.conflicts.is_empty(), "{take:?} leaves {:?}", settled.conflicts);
            let text = settled.text.unwrap();
            values(&text);
            if take == Take::Mine {
                prop_assert_eq!(Some(text), open.text.clone());
            }
        }
    }
}
