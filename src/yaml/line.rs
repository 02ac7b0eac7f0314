//! Pure. The parts of one line of YAML, in the small part of it that people and generators write nearly all files in.
//!
//! Whatever is not known here is nothing, so whoever asks needs another way. Not here: what the lines make together (`quick`,
//! `merge::outline`).

/// Brackets in each other that are followed.
pub const MAX_BRACKETS: usize = 8;
/// Bytes of a key that are followed; readers look back over some more than a thousand signs.
pub const MAX_KEY_BYTES: usize = 512;

/// A value behind its colon or dash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing, or a comment.
    Nothing,
    /// A text, or brackets, of some bytes; whether the next line may go on with it.
    Flat(usize, bool),
    /// A text in quotes that goes on in the next line.
    OpenQuote(u8),
    /// Block text below.
    Block,
}

/// Returns whether all lines of a text are readable because they hold signs of ASCII alone.
pub fn is_plain_text(text: &str) -> bool {
    // Without a way out in between, so that many bytes are looked at in one step.
    text.bytes().fold(true, |is_plain, byte| is_plain & matches!(byte, b' '..=b'~' | b'\n'))
}

/// Returns whether a line holds nothing but signs that every reader of YAML takes for themselves.
pub fn is_readable(line: &str) -> bool {
    is_plain_text(line)
        || line.chars().all(|sign| match sign {
            ' '..='~' => true,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
            sign => sign >= '\u{a0}',
        })
}

/// Returns a text without the blanks before it.
pub fn unindented(text: &str) -> &str {
    let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
    text.get(blanks..).unwrap_or("")
}

/// Returns the length of a key that a colon follows.
pub fn key(text: &str) -> Option<usize> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b'$');
    let bytes = text.as_bytes();
    let length = match bytes.first()? {
        quote @ (b'"' | b'\'') => {
            let inner = bytes.iter().skip(1).take_while(|byte| is_plain(**byte) || **byte == b' ').count();
            (bytes.get(inner + 1)? == quote).then_some(inner + 2)?
        }
        first if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.' | b'/' | b'$') => {
            bytes.iter().take_while(|byte| is_plain(**byte)).count()
        }
        _ => return None,
    };
    let is_key = bytes.get(length) == Some(&b':') && matches!(bytes.get(length + 1), None | Some(b' '));
    (is_key && length <= MAX_KEY_BYTES).then_some(length)
}

/// Reads what stands behind a colon or dash and the blanks there.
pub fn value(text: &str) -> Option<Value> {
    match text.as_bytes().first() {
        None | Some(b'#') => Some(Value::Nothing),
        Some(quote @ (b'"' | b'\'')) => match quoted(text.get(1..)?, *quote, 1)? {
            Some(length) => is_end(text.get(length..)?).then_some(Value::Flat(length, false)),
            None => Some(Value::OpenQuote(*quote)),
        },
        Some(b'[' | b'{') => {
            let length = brackets(text, 0, 0)?;
            is_end(text.get(length..)?).then_some(Value::Flat(length, false))
        }
        Some(b'|' | b'>') => {
            let rest = text.get(1..)?;
            is_end(rest.strip_prefix('-').unwrap_or(rest)).then_some(Value::Block)
        }
        Some(_) => {
            let length = plain(text)?;
            let may_go_on = length == text.trim_end().len();
            (!is_indicator(text)).then_some(Value::Flat(length, may_go_on))
        }
    }
}

/// Returns whether a text without quotes cannot begin like that, or not everywhere.
pub fn is_indicator(text: &str) -> bool {
    let mut bytes = text.bytes();
    match bytes.next() {
        Some(b'-') => !bytes.next().is_some_and(|next| next.is_ascii_alphanumeric() || next == b'-'),
        Some(first) => first.is_ascii_punctuation() && !matches!(first, b'/' | b'.' | b'_' | b'(' | b'$' | b'~' | b'+'),
        None => true,
    }
}

/// Returns the length of a text without quotes up to its comment; nothing if it holds what may be a key.
pub fn plain(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = bytes.len();
    for at in memchr::memchr2_iter(b':', b'#', bytes) {
        if bytes.get(at) == Some(&b':') {
            if matches!(bytes.get(at + 1), None | Some(b' ')) {
                return None;
            }
        } else if at.checked_sub(1).is_some_and(|before| bytes.get(before) == Some(&b' ')) {
            end = at;
            break;
        }
    }
    Some(text.get(..end)?.trim_end_matches(' ').len())
}

/// Returns whether nothing or a comment stands behind a value.
pub fn is_end(text: &str) -> bool {
    let rest = unindented(text);
    rest.is_empty() || rest.starts_with('#') && rest.len() < text.len()
}

/// Looks for the end of a text in quotes and returns what is before it, with what was before the text; the inner nothing stands for a
/// text that goes on, the outer one for an escape that is not known here.
pub fn quoted(text: &str, quote: u8, before: usize) -> Option<Option<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if quote == b'"' => match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'n' | b't' | b'r') => 2,
                _ => return None,
            },
            b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => 2,
            byte if *byte == quote => return Some(Some(before + at + 1)),
            _ => 1,
        };
    }
    Some(None)
}

/// Returns where brackets on one line end, if they hold plain words and texts in quotes.
pub fn brackets(text: &str, from: usize, depth: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_map = bytes.get(from)? == &b'{';
    let close = if is_map { b'}' } else { b']' };
    let blank = |at: usize| at + bytes.iter().skip(at).take_while(|byte| **byte == b' ').count();
    let mut at = blank(from + 1);
    if bytes.get(at) == Some(&close) {
        return Some(at + 1);
    }
    loop {
        if is_map {
            at = word(text, at)?;
            (bytes.get(at) == Some(&b':') && bytes.get(at + 1) == Some(&b' ')).then_some(())?;
            at = blank(at + 1);
        }
        at = match bytes.get(at)? {
            b'[' | b'{' if depth < MAX_BRACKETS => brackets(text, at, depth + 1)?,
            _ => word(text, at)?,
        };
        at = blank(at);
        match bytes.get(at)? {
            b',' => at = blank(at + 1),
            byte if *byte == close => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Returns the end of a word or text in quotes in brackets.
pub fn word(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(from)? {
        quote @ (b'"' | b'\'') => quoted(text.get(from + 1..)?, *quote, from + 1)?,
        first if first.is_ascii_alphanumeric() || matches!(first, b'/' | b'.' | b'_') => {
            let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
            Some(from + bytes.iter().skip(from).take_while(is_part).count())
        }
        _ => None,
    }
}
