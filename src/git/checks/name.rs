//! Pure. Names in trees: what leads elsewhere, what some file system takes for another name, what cannot be seen.
//!
//! Not here: paths (`base`), names of refs (`refs.rs`).

use unicode_normalization::UnicodeNormalization;

use super::{MAX_NAME_BYTES, Rule};
use crate::base::is_deceptive;

/// Checks one name on its own and returns it as text.
pub fn check_name(name: &[u8]) -> Result<&str, Rule> {
    let Ok(name) = std::str::from_utf8(name) else { return Err(("tree/name", "the name is not UTF-8")) };
    if name == "." || name == ".." {
        return Err(("tree/parent", "the name . or .. leads to another directory"));
    }
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(("tree/name", "the name is empty or longer than 255 bytes"));
    }
    if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(("tree/name", "the name holds a slash, a backslash or a control character"));
    }
    let folded = as_file_systems_see_it(name);
    if folded == ".gitmodules" {
        return Err(("tree/gitlink", "submodules are not taken"));
    }
    let short = folded.strip_prefix("git~").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if folded == ".git" || short {
        return Err(("tree/dotgit", "some file systems take the name for .git"));
    }
    if name.chars().any(is_deceptive) {
        return Err(("tree/name", "the name holds a character that is not seen or that turns the others round"));
    }
    if name.ends_with(['.', ' ']) {
        return Err(("tree/name", "the name ends in a dot or a space"));
    }
    Ok(name)
}

/// Returns what is equal for two names that any file system takes for one: compatibility decomposition, full case folding, and without the code
/// points that HFS+ ignores.
///
/// Stricter than every single one of them: HFS+ and APFS compare canonical forms, ZFS may compare compatible ones, NTFS folds case.
pub fn collision_key(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let seen = name.chars().filter(|c| !is_ignored(*c));
    // Folding may bring what decomposes further, and decomposing what folds.
    seen.nfkd().flat_map(fold).nfkd().flat_map(fold).nfkd().collect()
}

/// Folds the case of one character in full. Unicode's table is what this gives for every character, except that the dotless i becomes an i as well.
fn fold(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// Returns a name as the file systems of macOS and Windows would see it: code points that HFS+ ignores removed, the
/// stream and the trailing dots and spaces that NTFS drops cut off, in one form and one case.
fn as_file_systems_see_it(name: &str) -> String {
    let seen: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let stem = seen.split(':').next().unwrap_or(&seen);
    collision_key(stem.trim_end_matches(['.', ' ']))
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &[u8], expected: &str) {
        assert_eq!(
            check_name(name).map_or_else(|rule| rule.0, |_| "taken"),
            expected,
            "{:?}",
            String::from_utf8_lossy(name)
        );
    }

    #[test]
    fn names_that_lead_elsewhere_or_pass_for_dot_git_are_refused() {
        for name in [&b".git"[..], b".GIT", b".git ", b".git...", b"git~1", b"GIT~22", b".git::$INDEX_ALLOCATION"] {
            check(name, "tree/dotgit");
        }
        for name in [".g\u{200c}it", "\u{feff}.Git", ".g\u{131}t", "\u{ff0e}git", ".\u{210a}it", ".G\u{130}t"] {
            let expected = if name.contains('\u{130}') { "taken" } else { "tree/dotgit" };
            check(name.as_bytes(), expected);
        }
        check(b"..", "tree/parent");
        check(b".", "tree/parent");
        check(b".gitmodules", "tree/gitlink");
        check(b".GitModules. ", "tree/gitlink");
        check(".gitmodule\u{17f}".as_bytes(), "tree/gitlink");
        for name in [&b"a/../../b"[..], b"a\\b", b"a\nb", b"a\x7f", b"", b"end.", b"end ", b"\xff"] {
            check(name, "tree/name");
        }
        check(&[b'a'; 256], "tree/name");
    }

    #[test]
    fn characters_that_are_not_seen_or_turn_the_others_round_are_refused() {
        for c in [
            '\u{202e}',
            '\u{2066}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{ad}',
            '\u{2028}',
            '\u{e0041}',
            '\u{85}',
            '\u{fff9}',
        ] {
            check(format!("a{c}b").as_bytes(), "tree/name");
        }
        // Persian words and families of people are written with joiners.
        check("\u{646}\u{645}\u{6cc}\u{200c}\u{62f}\u{627}\u{646}\u{645}".as_bytes(), "taken");
        check("\u{1f468}\u{200d}\u{1f469}".as_bytes(), "taken");
        check("\u{5d0}\u{5d1}.yaml".as_bytes(), "taken");
    }

    mod laws {
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn a_name_that_is_taken_is_a_repository_path(name in ".{0,40}") {
                if super::check_name(name.as_bytes()).is_ok() {
                    prop_assert!(crate::base::RepoPath::parse(&name).is_ok(), "{name:?}");
                }
            }

            #[test]
            fn a_key_is_its_own_key_and_that_of_every_form_and_case(name in "\\PC{0,20}") {
                use unicode_normalization::UnicodeNormalization;
                let key = super::collision_key(&name);
                prop_assert_eq!(super::collision_key(&key), key.clone());
                for form in [name.nfc().collect(), name.nfd().collect(), name.nfkc().collect(), name.nfkd().collect::<String>()] {
                    prop_assert_eq!(super::collision_key(&form), key.clone(), "{:?}", form);
                }
                // The iota below a letter is a mark in one case and a letter in the other, so the order of the marks around it is lost.
                let has_iota_below = name.nfkd().any(|c| c == '\u{345}');
                for case in [name.to_lowercase(), name.to_uppercase()].into_iter().filter(|_| !has_iota_below) {
                    prop_assert_eq!(super::collision_key(&case), key.clone(), "{:?}", case);
                }
            }
        }
    }
}
