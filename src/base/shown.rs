//! Pure. Characters that deceive who reads them: those that are not seen, and those that turn the others round.
//!
//! Not here: what is refused because of them (`git::checks`, `path.rs`), quoting for a shell or a format.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_or_turns_the_rest_round_is_written_as_its_number() {
        assert_eq!(escaped("a\u{202e}b\u{1b}[31m\n\u{200b}c"), "a\\u{202e}b\\u{1b}[31m\\n\\u{200b}c");
        let ordinary = "caf\u{e9} \u{5d0}\u{5d1} \u{646}\u{200c}\u{645} \u{1f468}\u{200d}\u{1f469} a\\b";
        assert_eq!(escaped(ordinary), ordinary);
    }
}
