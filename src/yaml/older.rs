//! Pure. Where kubectl and kustomize know an older YAML than our parser: their readers are of version 1.1, it is of 1.2.
//!
//! What only they refuse is refused with their reason. What they read otherwise is a plain text in brackets that ends in a
//! colon or is a lone dash: the parser is shown a letter at that place, and the text gets its own sign back. Tabs that indent
//! lines in brackets, as in JSON, it is shown as blanks, and a single quote behind a backslash as another escape.
//!
//! Not here: the values of plain texts (`scalar.rs`), tags (`build.rs`).

use std::collections::BTreeSet;

/// What the parser is shown in place of a sign that it would take for one of YAML.
pub(super) const STAND_IN: u8 = b'x';
/// What a single quote behind a backslash becomes in the value: the parser is shown `\v`, which nobody writes.
pub(super) const STAND_IN_QUOTE: char = '\u{b}';
/// Bytes around the place of an error in which such a sign is looked for.
const NEAR: usize = 4;

/// Returns the offset of a colon behind a plain text in brackets that belongs to the text: no blank follows it.
pub(super) fn colon_behind(text: &str, end: usize) -> Option<usize> {
    is_sign(text.as_bytes(), end).then_some(end).filter(|at| text.as_bytes().get(*at) == Some(&b':'))
}

/// Returns the offset of a sign near the place where the parser gave up.
pub(super) fn sign_near(text: &str, place: usize, known: &BTreeSet<usize>) -> Option<usize> {
    let around = place.saturating_sub(NEAR)..=place.saturating_add(NEAR);
    around.into_iter().find(|at| !known.contains(at) && is_sign(text.as_bytes(), *at))
}

/// Returns the offsets of single quotes behind a backslash, from the place where the parser gave up at one to the end of that text; none
/// where a file holds the escape that is shown instead.
pub(super) fn quotes_near(text: &str, place: usize, known: &BTreeSet<usize>) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_escaped = |at: &usize| bytes.get(*at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'\'');
    let around = place.saturating_sub(NEAR)..=place.saturating_add(NEAR);
    let Some(mut at) = around.into_iter().find(|at| is_escaped(at) && !known.contains(&(at + 1))) else {
        return Vec::new();
    };
    if ["\\v", "\\x0b", "\\x0B", "\\u000", "\\U000"].iter().any(|escape| text.contains(escape)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
        if is_escaped(&at) {
            found.push(at + 1);
        }
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    found
}

/// Returns the offsets of all tabs that indent lines, if the parser gave up at one: in brackets they are blanks like others.
pub(super) fn tabs_of(text: &str, place: usize, known: &BTreeSet<usize>) -> Vec<usize> {
    let line = text.get(..place).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    if text.as_bytes().get(line) != Some(&b'\t') || known.contains(&line) {
        return Vec::new();
    }
    let mut tabs = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        // A line that begins otherwise may be the content of a block, where a tab is part of the value.
        if line.starts_with('\t') {
            let leading = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).enumerate();
            tabs.extend(leading.filter(|(_, byte)| *byte == b'\t').map(|(at, _)| start + at));
        }
        start += line.len();
    }
    tabs
}

/// Returns whether a colon or dash stands at an offset that ends a text in brackets.
fn is_sign(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let opens = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b'{');
    matches!(bytes.get(at + 1), Some(b',' | b'[' | b']' | b'{' | b'}'))
        && match bytes.get(at) {
            Some(b':') => before.is_some_and(|byte| !opens(byte) && !matches!(byte, b'"' | b'\'' | b']' | b'}')),
            Some(b'-') => before.is_some_and(opens),
            Some(_) | None => false,
        }
}

/// Returns the text as the parser is shown it: with letters for some signs. They are single bytes, so no offset moves.
pub(super) fn shown(text: &str, signs: &BTreeSet<usize>) -> String {
    let byte = |(at, byte): (usize, u8)| match byte {
        _ if !signs.contains(&at) => byte,
        b'\t' => b' ',
        b'\'' => b'v',
        _ => STAND_IN,
    };
    let bytes: Vec<u8> = text.bytes().enumerate().map(byte).collect();
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns why what stands before the first document is refused, and on which line.
pub(super) fn against_begin(text: &str) -> Option<(usize, &'static str)> {
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start_matches([' ', '\t']);
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
        if line.strip_prefix("...").is_some_and(ends) {
            return Some((number + 1, "a document ends before any begins"));
        }
        match line.strip_prefix("%YAML") {
            Some(version) if version.split_whitespace().next() != Some("1.1") => {
                return Some((number + 1, "the version of YAML is 1.1 here"));
            }
            _ if line.starts_with('%') => {}
            _ => return None,
        }
    }
    None
}

/// Returns why a plain text in brackets is refused.
pub(super) fn against_plain(text: &str) -> Option<&'static str> {
    // A mark right before a text says that a key follows.
    let text = match text.strip_prefix('?').filter(|rest| !rest.is_empty()) {
        Some(rest) if rest.starts_with(['"', '\'', '*', '&', '!', '|', '>', '%', '@', '`']) => {
            return Some("a blank is wanted behind a question mark");
        }
        Some(rest) => rest,
        None => text,
    };
    match text.chars().next() {
        Some(':') => Some("a text in brackets cannot begin with a colon"),
        Some(_) | None => text.contains('?').then_some("a text in brackets cannot hold a question mark"),
    }
}

/// Returns why a text in double quotes is refused, as it is written.
pub(super) fn against_double_quoted(written: &str) -> Option<&'static str> {
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            continue;
        }
        match rest.next() {
            Some('/') => return Some("\\/ is no escape"),
            Some('u') => {
                let digits: String = rest.clone().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).unwrap_or(0);
                if (0xd800..=0xdfff).contains(&code) {
                    return Some("\\u is no half of a character");
                }
            }
            Some(_) | None => {}
        }
    }
    None
}

/// Returns why a node with a tag is refused: the tag ends at a blank and nowhere else.
pub(super) fn against_tag(text: &str, start: usize, end: usize) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let ends = blank(start.checked_sub(1).and_then(|at| bytes.get(at))) || start == end && blank(bytes.get(start));
    (!ends).then_some("a blank is wanted behind a tag")
}

/// Returns why an anchor is refused that stands somewhere in the text before a node.
pub(super) fn against_anchor(before: &str) -> Option<&'static str> {
    let name = before.lines().rev().find_map(|line| {
        let (line, _) = line.split_once(" #").unwrap_or((line, ""));
        line.rsplit_once('&').map(|(_, name)| name)
    })?;
    against_name(name)
}

/// Returns why the name of an anchor or alias is refused.
pub(super) fn against_name(text: &str) -> Option<&'static str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).unwrap_or(text.len());
    let ends =
        text.get(end..).and_then(|rest| rest.chars().next()).is_none_or(|c| c.is_whitespace() || ",]}".contains(c));
    (end == 0 || !ends).then_some("a name behind & or * has letters, digits, - and _ only")
}

/// Returns why a node at an offset outside of brackets is refused: a tab indents it.
pub(super) fn against_indent(text: &str, start: usize) -> Option<&'static str> {
    let before = text.as_bytes().get(..start)?;
    let line = before.get(memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)..)?;
    let indents = |byte: &u8| matches!(byte, b' ' | b'\t' | b'-');
    (line.contains(&b'\t') && line.iter().all(indents)).then_some("a tab cannot indent")
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, load};

    /// Reads one document by kubectl's rules: as JSON, or the reason of the refusal behind its place.
    fn check(input: &str, expected: &str) {
        let found = match load("f", input, Dialect::Kube) {
            Ok(loaded) => loaded.documents.first().map(|it| it.value.to_string()).unwrap_or_default(),
            Err(findings) => findings[0].to_string(),
        };
        assert_eq!(found, expected, "{input:?}");
    }

    #[test]
    fn a_colon_or_dash_at_the_end_of_a_text_in_brackets_belongs_to_it() {
        check("[a:]", r#"["a:"]"#);
        check("[a:, b::, c]", r#"["a:","b::","c"]"#);
        check("{k: a:}", r#"{"k":"a:"}"#);
        check("{a:}", r#"{"a:":null}"#);
        check("{a:, b: [c:]}", r#"{"a:":null,"b":["c:"]}"#);
        check("[-]", r#"["-"]"#);
        check("[-, a]", r#"["-","a"]"#);
        check("{k: -}", r#"{"k":"-"}"#);
        check("k: [a:b, {c: d}]\nl: [\"a:\"]\n", r#"{"k":["a:b",{"c":"d"}],"l":["a:"]}"#);
        check(
            "a: b:\nc: '[a:]'\n",
            "f:1:5: Y100: this is no valid YAML: mapping values are not allowed in this context",
        );
    }

    #[test]
    fn a_quoted_key_needs_no_blank_behind_its_colon() {
        check("a: \"don\\'t \\\\ it\\'s\"\nb: 'c\\'\n", r#"{"a":"don't \\ it's","b":"c\\"}"#);
        check("{\"a\":1}", r#"{"a":1}"#);
        check("[\"a\":]", r#"[{"a":null}]"#);
    }

    #[test]
    fn what_only_the_older_readers_refuse_is_refused_with_its_place() {
        let refused = |input: &str, place: &str, why: &str| {
            check(input, &format!("f:{place}: Y100: this is no valid YAML: {why}"));
        };
        refused("[?]", "1:2", "a text in brackets cannot hold a question mark");
        refused("{k: ?a}\n", "1:5", "a text in brackets cannot hold a question mark");
        refused("[??a]\n", "1:2", "a text in brackets cannot hold a question mark");
        refused("x: [http://h/?q]\n", "1:5", "a text in brackets cannot hold a question mark");
        refused("x:\n- \"a\\/b\"\n", "2:3", "\\/ is no escape");
        refused("x: \"\\ud83d\\ude00\"\n", "1:4", "\\u is no half of a character");
        refused("[!]", "1:3", "a blank is wanted behind a tag");
        refused("&: v\n", "1:4", "a name behind & or * has letters, digits, - and _ only");
        refused("a: &b.c d\n", "1:9", "a name behind & or * has letters, digits, - and _ only");
        refused("\ta: b\n", "1:2", "a tab cannot indent");
        refused("- a\n-\tb\n", "2:3", "a tab cannot indent");
        refused("a:\n  \t- b\n", "2:4", "a tab cannot indent");
        refused("a: # c\n  \t\t- on\t\t-", "2:5", "a tab cannot indent");
        refused("%YAML 1.2\n---\na: 1\n", "1:1", "the version of YAML is 1.1 here");
        refused("# c\n\n...\na: 1\n", "3:1", "a document ends before any begins");
    }

    #[test]
    fn what_looks_alike_is_read() {
        check("x: http://h/?q\n", r#"{"x":"http://h/?q"}"#);
        check("[?a, {?b: c, d: e}, ?f: g]\n", r#"[{"a":null},{"b":"c","d":"e"},{"f":"g"}]"#);
        check("x: \"\\\\/ \\u00e9\"\n", r#"{"x":"\\/ é"}"#);
        check("x: '\\/'\n", r#"{"x":"\\/"}"#);
        check("a: &b_1 c # d & e\nf: *b_1\n", r#"{"a":"c","f":"c"}"#);
        check("[&a b, *a]", r#"["b","b"]"#);
        check("k: !!str\nl: !!str 5\n", r#"{"k":"","l":"5"}"#);
        check("k: [\n\ta,\n\tb ]\n", r#"{"k":["a","b"]}"#);
        check("a: \"x\n\ty\"\n", r#"{"a":"x y"}"#);
        check("{\n\t\"a\": [\n\t\t1\n\t]\n}\n", r#"{"a":[1]}"#);
        check("a: |\n  x\n  \ty\nb: {\n\tc: d}\n", r#"{"a":"x\n\ty\n","b":{"c":"d"}}"#);
        check("k:\ta\t# b\n", r#"{"k":"a"}"#);
        check("a: 1\n...\n", r#"{"a":1}"#);
        check("...: v\n", r#"{"...":"v"}"#);
    }
}
