//! Texts as parts of addresses: what a name holds never becomes another part, a query or a way out.
//!
//! Not here: which names an object may have (`schema`), the addresses (`cluster`, `keycloak`).

/// Returns a text as one part of a path, or as a value of a query.
pub(super) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let encoded: String = text.bytes().map(one).collect();
    // A part of dots alone would lead elsewhere.
    if encoded.bytes().all(|byte| byte == b'.') { encoded.replace('.', "%2E") } else { encoded }
}

/// Returns a text as the value of one field of a field selector in a query.
pub(super) fn selected(text: &str) -> String {
    let escape = |c: char| if matches!(c, '\\' | ',' | '=') { vec!['\\', c] } else { vec![c] };
    segment(&text.chars().flat_map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a part of a path as a server does.
    fn decoded(part: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = part.bytes();
        while let Some(byte) = rest.next() {
            let mut digits = || Some(char::from(rest.next()?)).filter(char::is_ascii_hexdigit);
            match byte {
                b'%' => {
                    let pair = [digits().unwrap(), digits().unwrap()].iter().collect::<String>();
                    bytes.push(u8::from_str_radix(&pair, 16).unwrap());
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        #[test]
        fn a_text_comes_back_unchanged_and_is_one_part_of_a_path_whatever_it_holds(
            text in "([a-z./%?#&=:+;\\\\@ ]|\\PC|[\\x00-\\x1f]|\\.\\.|%2[eEfF]){0,12}"
        ) {
            let part = segment(&text);
            prop_assert_eq!(decoded(&part), text);
            prop_assert!(part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte)));
            prop_assert!(part != "." && part != "..");
            let uri: http::Uri = format!("/api/v1/namespaces/a/configmaps/{part}?limit=1").parse().unwrap();
            prop_assert_eq!(uri.path().split('/').count(), 7);
            prop_assert_eq!(uri.query(), Some("limit=1"));
        }
    }

    #[test]
    fn what_has_a_meaning_in_an_address_or_a_selector_is_written_otherwise() {
        for (text, expected) in
            [("system:a", "system%3Aa"), ("..", "%2E%2E"), ("a..", "a.."), ("a b+c", "a%20b%2Bc"), ("\u{e9}", "%C3%A9")]
        {
            assert_eq!(segment(text), expected);
        }
        assert_eq!(selected("a,b=c\\"), "a%5C%2Cb%5C%3Dc%5C%5C");
        assert_eq!(selected("web"), "web");
    }
}
