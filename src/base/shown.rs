//! Pure. Texts as others show or read them: characters that deceive who reads them, because they are not seen or turn the others round, and words
//! of a shell.
//!
//! Not here: what is refused because of them (`git::checks`, `path.rs`), quoting for a format.

/// Returns whether a character does something to what is shown instead of being shown: a control character, a mark of direction, a separator of
/// lines, a space of no width, or a sign that no font shows.
///
/// The two joiners (U+200C, U+200D) are not among them: Persian words and many emoji are written with them.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
            | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a text in which every deceptive character is written as its number, so that it does nothing to a terminal, a page or a reader.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_deceptive(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Returns which names there are to choose from, as the end of a sentence.
pub fn there_are<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "there is none yet".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    }
}

/// Returns a word as a shell reads it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_to_choose_from_are_listed_and_none_is_said_to_be_none() {
        assert_eq!(there_are::<&str>(&[]), "there is none yet");
        assert_eq!(there_are(&["a".to_owned(), "b".to_owned()]), "there are: a, b");
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_for_more() {
        for (text, word) in [
            ("a-b_c/d.e:f=g@h%i+j,k", "a-b_c/d.e:f=g@h%i+j,k"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(x)", "'$(x)'"),
            ("~", "'~'"),
            ("it's", r"'it'\''s'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn what_is_not_seen_or_turns_the_rest_round_is_written_as_its_number() {
        assert_eq!(escaped("a\u{202e}b\u{1b}[31m\n\u{200b}c"), "a\\u{202e}b\\u{1b}[31m\\n\\u{200b}c");
        let ordinary = "caf\u{e9} \u{5d0}\u{5d1} \u{646}\u{200c}\u{645} \u{1f468}\u{200d}\u{1f469} a\\b";
        assert_eq!(escaped(ordinary), ordinary);
    }
}
