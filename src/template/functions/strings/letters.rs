//! Pure. Words with capitals: title, camel, snake and kebab case.
//!
//! Not here: upper and lower case of a whole text, which the standard library has.

use crate::template::failure::Failure;
use crate::template::unicode::is_word;

/// Returns the text with the first letter of each word in title case and the rest as it was.
pub(super) fn title(text: &str) -> String {
    capitalised(text, Rest::Kept)
}

/// Returns the words of a text with capitals and nothing between them; the first letter stays as it was.
pub(super) fn camel_case(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    let words = capitalised(text, Rest::Lowered);
    Ok(with_first_of(&words, text)?.chars().filter(|c| is_word(*c) && *c != '_').collect())
}

/// Returns the words of a text in lower case with a separator between them; the first letter stays as it was.
pub(super) fn separated(text: &str, separator: &str) -> Result<String, Failure> {
    let text = text.trim();
    let lower = with_first_of(&text.to_lowercase(), text)?;
    let words: Vec<&str> = lower.split(|c| !is_word(c) || c == '_').filter(|word| !word.is_empty()).collect();
    Ok(words.join(separator))
}

/// Replaces the first place of the first byte of `changed` by that of `original`, each read as one character.
fn with_first_of(changed: &str, original: &str) -> Result<String, Failure> {
    match (changed.bytes().next(), original.bytes().next()) {
        (Some(from), Some(to)) => Ok(changed.replacen(char::from(from), char::from(to).encode_utf8(&mut [0; 4]), 1)),
        _ => Err(Failure::call("the text is empty")),
    }
}

/// What happens to the letters after the first of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Kept,
    Lowered,
}

/// A word goes on over digits, underscores and single dots, colons and apostrophes; all else ends it.
fn capitalised(text: &str, rest: Rest) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    let mut after_mark = false;
    for c in text.chars() {
        let mark = matches!(c, '.' | ':' | '\'' | '\u{2018}' | '\u{2019}' | '\u{b7}');
        if mark && after_mark {
            inside = false;
        }
        if c.is_lowercase() || c.is_uppercase() || is_titlecase(c) {
            match (inside, rest) {
                (false, _) => push_title(&mut out, c),
                (true, Rest::Kept) => out.push(c),
                (true, Rest::Lowered) => out.extend(c.to_lowercase()),
            }
            inside = true;
        } else {
            if !mark && !is_word(c) {
                inside = false;
            }
            out.push(c);
        }
        after_mark = mark;
    }
    out
}

fn is_titlecase(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

fn push_title(out: &mut String, c: char) {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => out.push('ǅ'),
        'Ǉ' | 'ǈ' | 'ǉ' => out.push('ǈ'),
        'Ǌ' | 'ǋ' | 'ǌ' => out.push('ǋ'),
        'Ǳ' | 'ǲ' | 'ǳ' => out.push('ǲ'),
        _ => {
            let mut upper = c.to_uppercase();
            out.extend(upper.next());
            out.extend(upper.flat_map(char::to_lowercase));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{camel_case, separated, title};

    #[test]
    fn words_end_where_word_characters_do() {
        assert_eq!(title("foo-bar o'neil a.b c..d x_y 1z"), "Foo-Bar O'neil A.b C..D X_y 1Z");
        assert_eq!(camel_case("foo bar-BAZ").unwrap(), "fooBarBaz");
        assert_eq!(separated(" FOO bar_baz ", "-").unwrap(), "Foo-bar-baz");
        assert!(camel_case("").is_err());
    }
}
