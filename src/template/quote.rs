//! Pure. Quoted texts as Go reads and writes them.
//!
//! Not here: quoting for YAML, JSON and shells (`functions`).

use super::unicode::is_printable;

/// Returns the text that a literal with its quotes means, or nothing if it is malformed.
///
/// A literal whose bytes are no UTF-8 is malformed too: files are text.
pub(super) fn unquote(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', ""));
    }
    let body = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match escape(&mut rest, '"')? {
                Escaped::Byte(byte) => bytes.push(byte),
                Escaped::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            },
            '"' | '\n' => return None,
            _ => bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns the number of the character that a literal with its single quotes means.
pub(super) fn unquote_char(literal: &str) -> Option<u32> {
    let mut rest = literal.strip_prefix('\'')?.strip_suffix('\'')?.chars();
    let value = match rest.next()? {
        '\\' => match escape(&mut rest, '\'')? {
            Escaped::Byte(byte) => u32::from(byte),
            Escaped::Char(c) => u32::from(c),
        },
        '\'' => return None,
        next => u32::from(next),
    };
    rest.next().is_none().then_some(value)
}

enum Escaped {
    Byte(u8),
    Char(char),
}

fn escape(rest: &mut std::str::Chars<'_>, quote: char) -> Option<Escaped> {
    let c = match rest.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        'x' => return Some(Escaped::Byte(u8::try_from(digits(rest, 16, 2, 0)?).ok()?)),
        'u' => char::from_u32(digits(rest, 16, 4, 0)?)?,
        'U' => char::from_u32(digits(rest, 16, 8, 0)?)?,
        c @ '0'..='7' => return Some(Escaped::Byte(u8::try_from(digits(rest, 8, 2, c.to_digit(8)?)?).ok()?)),
        c if c == quote => c,
        _ => return None,
    };
    Some(Escaped::Char(c))
}

fn digits(rest: &mut std::str::Chars<'_>, base: u32, count: usize, first: u32) -> Option<u32> {
    (0..count).try_fold(first, |value, _| {
        let digit = rest.next()?.to_digit(base)?;
        value.checked_mul(base)?.checked_add(digit)
    })
}

/// Which characters are written as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Charset {
    /// All that print.
    Unicode,
    /// Only those of ASCII.
    Ascii,
}

/// Writes a text in double quotes.
pub(super) fn quote(text: &str, charset: Charset) -> String {
    quoted(text.chars(), '"', charset)
}

/// Writes a character in single quotes.
pub(super) fn quote_char(c: char, charset: Charset) -> String {
    quoted(std::iter::once(c), '\'', charset)
}

fn quoted(text: impl Iterator<Item = char>, mark: char, charset: Charset) -> String {
    let mut out = String::from(mark);
    for c in text {
        match c {
            '\\' => out.push_str("\\\\"),
            _ if c == mark => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if is_printable(c) && (charset == Charset::Unicode || c.is_ascii()) => out.push(c),
            '\0'..' ' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\0'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push(mark);
    out
}

#[cfg(test)]
mod tests {
    use super::{Charset, quote, unquote, unquote_char};

    #[test]
    fn escapes_are_read() {
        for (literal, expected) in [
            (r#""a\tb""#, Some("a\tb")),
            (r#""\x41\101\u00e9\U0001F600""#, Some("AAé😀")),
            (r#""\xc3\xa9""#, Some("é")),
            (r#""\xff""#, None),
            (r#""\'""#, None),
            (r#""\q""#, None),
            ("`a\\n\r\n`", Some("a\\n\n")),
        ] {
            assert_eq!(unquote(literal).as_deref(), expected, "{literal}");
        }
    }

    #[test]
    fn characters_are_numbers() {
        for (literal, expected) in [
            ("'a'", Some(97)),
            (r"'\n'", Some(10)),
            (r"'\''", Some(39)),
            ("'ab'", None),
            ("''", None),
            (r#"'\"'"#, None),
        ] {
            assert_eq!(unquote_char(literal), expected, "{literal}");
        }
    }

    #[test]
    fn what_does_not_print_is_escaped() {
        assert_eq!(quote("a\"\\\n\u{1}\u{7f}é\u{200b}😀", Charset::Unicode), r#""a\"\\\n\x01\x7fé\u200b😀""#);
        assert_eq!(quote("é😀", Charset::Ascii), r#""\u00e9\U0001f600""#);
    }
}
