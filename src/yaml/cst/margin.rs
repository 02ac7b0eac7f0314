//! Pure. Texts in quotes whose later lines begin left of their key, which kubectl reads and the parser refuses.
//!
//! The lines of such a text are joined to one of the same length, so that the parser reads it where it stands. Not here: what the text says
//! (`parse`), who tries that (`merge`).

/// Returns a document of the same length whose texts in quotes stand on one line each; nothing where all of them do already.
pub fn joined(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut is_changed = false;
    let mut at = 0;
    // Column of the key whose block text goes on.
    let mut block: Option<usize> = None;
    while at < text.len() {
        let end = text.get(at..)?.find('\n').map_or(text.len(), |newline| at + newline);
        let line = text.get(at..end)?;
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || block.is_some_and(|column| indent > column) {
            at = end + 1;
            continue;
        }
        block = block_text_column(line);
        let next = match opening(line) {
            Some((start, quote)) => {
                let close = closing(text, at + start + 1, quote)?;
                for byte in bytes.iter_mut().take(close).skip(at + start).filter(|byte| **byte == b'\n') {
                    (*byte, is_changed) = (b' ', true);
                }
                text.get(close..)?.find('\n').map_or(text.len(), |newline| close + newline)
            }
            None => end,
        };
        at = next + 1;
    }
    if is_changed { String::from_utf8(bytes).ok() } else { None }
}

/// Returns the column of the key or dash whose block text begins behind a line.
pub fn block_text_column(line: &str) -> Option<usize> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line).trim_end();
    let (before, mark) = line.rsplit_once([' ', '\t'])?;
    let is_header =
        mark.starts_with(['|', '>']) && mark.chars().skip(1).all(|c| matches!(c, '+' | '-') || c.is_ascii_digit());
    // Between colon and mark there may be a tag or an anchor.
    let is_mark = |word: &str| word.starts_with(['!', '&']);
    let ends_key = |before: &str| before.ends_with(':') || before.trim_start_matches([' ', '-']).is_empty();
    let before = before.trim_end();
    let untagged =
        before.rsplit_once(' ').filter(|(_, word)| is_mark(word)).map_or(before, |(rest, _)| rest.trim_end());
    if !is_header || before.is_empty() || !ends_key(untagged) {
        return None;
    }
    let mut column = line.len() - line.trim_start_matches(' ').len();
    while let Some(rest) = line.get(column..).and_then(|rest| rest.strip_prefix('-')) {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let is_last = rest.get(blanks..).is_some_and(|rest| rest == mark || rest.starts_with(['!', '&']));
        if blanks == 0 || is_last {
            break;
        }
        column += 1 + blanks;
    }
    Some(column)
}

/// Returns where a text in quotes begins that does not end on its line, and its quote.
fn opening(line: &str) -> Option<(usize, u8)> {
    let bytes = line.as_bytes();
    let mut at = 0;
    let mut may_begin = true;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' if at == 0 || bytes.get(at - 1) == Some(&b' ') => return None,
            b'"' | b'\'' if may_begin => match closing(line, at + 1, *byte) {
                Some(end) => {
                    (at, may_begin) = (end, false);
                    continue;
                }
                None => return Some((at, *byte)),
            },
            // Behind these and a blank a value begins.
            b':' | b'-' | b',' | b'[' | b'{' => may_begin = true,
            b' ' => {}
            _ => may_begin = false,
        }
        at += 1;
    }
    None
}

/// Returns the byte behind the quote that ends a text.
fn closing(text: &str, from: usize, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            byte if *byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 1,
            byte if *byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn texts_in_quotes_come_to_stand_on_one_line() {
        for (text, expected) in [
            ("a: 'x\n y'\nb: 1\n", Some("a: 'x  y'\nb: 1\n")),
            ("a: \"x \\\" y\nz\"\n", Some("a: \"x \\\" y z\"\n")),
            ("a: 'it''s\nb'\n", Some("a: 'it''s b'\n")),
            ("a: it's\nb: 'c'\n", None),
            ("a: |\n  b: 'c\nd: 1\n", None),
            ("- a: |\n    b\n  c: 'd\n e'\n", Some("- a: |\n    b\n  c: 'd  e'\n")),
            ("# it is 'so\na: 1\n", None),
        ] {
            assert_eq!(joined(text).as_deref(), expected, "{text}");
        }
    }
}
