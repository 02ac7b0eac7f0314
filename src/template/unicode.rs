//! Pure. Classes of characters as Go sees them.
//!
//! Not here: upper and lower case (`functions/strings.rs`).

use std::sync::LazyLock;

use regex::Regex;

static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
static PRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());

/// Returns whether a name may hold the character: a letter, decimal digit or underscore.
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() { c == '_' || c.is_ascii_alphanumeric() } else { matches(&WORD, c) }
}

/// Returns whether it is a letter.
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { matches(&LETTER, c) }
}

/// Returns whether Go writes the character as it is inside quotes: letters, marks, numbers, punctuation, symbols, space.
pub(super) fn is_printable(c: char) -> bool {
    if c.is_ascii() { matches!(c, ' '..='~') } else { matches(&PRINTABLE, c) }
}

fn matches(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    class.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

#[cfg(test)]
mod tests {
    use super::{is_printable, is_word};

    #[test]
    fn letters_of_all_scripts_are_word_characters_and_format_characters_do_not_print() {
        assert!(is_word('é') && is_word('字') && is_word('٣') && !is_word('-') && !is_word('½'));
        assert!(is_printable('é') && is_printable('€') && !is_printable('\u{200b}') && !is_printable('\u{a0}'));
    }
}
