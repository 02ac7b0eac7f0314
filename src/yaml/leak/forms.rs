//! Pure. The spellings in which a text can stand in a file: as it is, escaped, percent-encoded, wrapped or folded over lines, in wide characters.
//!
//! A view is the text behind a spelling. A file that does not use the spelling has no such view, so most files are looked through once.
//! Not here: base64, which is sought as it is written (`search`).

use std::borrow::Cow;

/// A way to read the bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct View(&'static [Spelling]);

/// A spelling that is taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spelling {
    /// `\n`, `\"`, `\u0041`, as in JSON, in quotes of YAML and in programs.
    Escapes,
    /// `%41`, as in addresses.
    Percents,
    /// Line breaks with the indentation behind them, as a long text is wrapped.
    Wraps,
    /// Line breaks and blanks beside each other, which stand for one blank where a text is folded: scalars of YAML, paragraphs.
    Folds,
    /// NUL bytes, which stand beside each ASCII character in UTF-16.
    Wide,
}

/// All views of a file. An escaped text is often escaped once more, where a document stands in a field of another.
pub(super) const VIEWS: [View; 12] = [
    View(&[]),
    View(&[Spelling::Wraps]),
    View(&[Spelling::Escapes]),
    View(&[Spelling::Escapes, Spelling::Wraps]),
    View(&[Spelling::Escapes, Spelling::Escapes]),
    View(&[Spelling::Percents]),
    View(&[Spelling::Escapes, Spelling::Percents]),
    View(&[Spelling::Wide]),
    View(&[Spelling::Folds]),
    View(&[Spelling::Escapes, Spelling::Folds]),
    View(&[Spelling::Escapes, Spelling::Escapes, Spelling::Folds]),
    View(&[Spelling::Wide, Spelling::Folds]),
];

/// Returns a text as it stands in the view of folded texts.
pub(super) fn folded(text: &str) -> String {
    String::from_utf8_lossy(&Spelling::Folds.taken_back(text.trim_ascii().as_bytes())).into_owned()
}

impl View {
    /// Returns whether it shows only what holds blanks otherwise than the view without folds.
    pub(super) fn is_folded(self) -> bool {
        self.0.contains(&Spelling::Folds)
    }

    /// Returns the text behind the spelling; nothing if the file does not use it.
    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let mut text = Cow::Borrowed(bytes);
        for spelling in self.0 {
            spelling.next(&text)?;
            text = Cow::Owned(spelling.taken_back(&text));
        }
        Some(text)
    }

    /// Returns where in the file a byte of the view stands.
    pub(super) fn origin(&self, bytes: &[u8], at: usize) -> usize {
        let (mut texts, mut text) = (Vec::new(), Cow::Borrowed(bytes));
        for spelling in self.0 {
            let next = spelling.taken_back(&text);
            texts.push((spelling, std::mem::replace(&mut text, Cow::Owned(next))));
        }
        texts.into_iter().rev().fold(at, |at, (spelling, text)| spelling.origin(&text, at))
    }
}

/// A part of a text: the bytes that it stands for, and where it begins.
struct Piece {
    start: usize,
    bytes: Few,
}

/// At most four bytes.
type Few = std::iter::Take<std::array::IntoIter<u8, 4>>;

/// Makes a piece of the first `count` of four bytes.
fn few(bytes: [u8; 4], count: usize) -> Few {
    bytes.into_iter().take(count)
}

impl Spelling {
    /// Returns where a text uses the spelling first.
    fn next(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Escapes => memchr::memchr(b'\\', text),
            Self::Percents => memchr::memchr(b'%', text),
            Self::Wraps => memchr::memchr2(b'\n', b'\r', text),
            Self::Folds => fold(text),
            Self::Wide => memchr::memchr(0, text),
        }
    }

    /// Returns the text behind the spelling. What does not use it is copied as a whole.
    fn taken_back(self, text: &[u8]) -> Vec<u8> {
        let (mut taken, mut rest) = (Vec::with_capacity(text.len()), text);
        while let Some((plain, spelled)) = self.next(rest).and_then(|at| rest.split_at_checked(at)) {
            let (bytes, length) = self.read(spelled);
            taken.extend_from_slice(plain);
            taken.extend(bytes);
            rest = spelled.get(length.max(1)..).unwrap_or_default();
        }
        taken.extend_from_slice(rest);
        taken
    }

    /// Reads what a text begins with and returns what that stands for, and its length.
    fn read(self, text: &[u8]) -> (Few, usize) {
        let first = text.first().copied().unwrap_or_default();
        match self {
            Self::Escapes if first == b'\\' => escape(text),
            Self::Percents if first == b'%' => match hex(text.get(1..3)) {
                Some(code) => (few([u8::try_from(code).unwrap_or_default(), 0, 0, 0], 1), 3),
                None => (few([first, 0, 0, 0], 1), 1),
            },
            Self::Wraps if matches!(first, b'\n' | b'\r') => {
                let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                (few([0; 4], 0), blank)
            }
            Self::Folds if matches!(first, b' ' | b'\n' | b'\r') => {
                let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                (few([b' ', 0, 0, 0], 1), blank)
            }
            Self::Wide if first == 0 => (few([0; 4], 0), 1),
            _ => (few([first, 0, 0, 0], 1), 1),
        }
    }

    fn pieces(self, text: &[u8]) -> Pieces<'_> {
        Pieces { spelling: self, text, at: 0 }
    }

    /// Returns where a byte of the view stood before this spelling was taken back.
    fn origin(self, text: &[u8], at: usize) -> usize {
        let mut passed = 0;
        for piece in self.pieces(text) {
            passed += piece.bytes.len();
            if passed > at {
                return piece.start;
            }
        }
        text.len()
    }
}

/// The parts of a text.
struct Pieces<'a> {
    spelling: Spelling,
    text: &'a [u8],
    at: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let rest = self.text.get(self.at..)?;
        rest.first()?;
        let start = self.at;
        let (bytes, length) = self.spelling.read(rest);
        self.at += length.max(1);
        Some(Piece { start, bytes })
    }
}

/// Returns where the first line break or the first blanks beside each other stand. A blank alone is what it stands for.
fn fold(text: &[u8]) -> Option<usize> {
    memchr::memchr3_iter(b' ', b'\n', b'\r', text).find(|at| {
        let is_blank_alone = text.get(*at) == Some(&b' ') && !text.get(at + 1).is_some_and(u8::is_ascii_whitespace);
        !is_blank_alone
    })
}

/// Reads an escape and returns what it stands for, and its length.
fn escape(rest: &[u8]) -> (Few, usize) {
    let one = |byte: u8| (few([byte, 0, 0, 0], 1), 2);
    match rest.get(1).copied() {
        Some(b'n') => one(b'\n'),
        Some(b'r') => one(b'\r'),
        Some(b't') => one(b'\t'),
        Some(sign @ (b'"' | b'\\' | b'/' | b'\'' | b' ' | b'\t')) => one(sign),
        Some(b'0') => one(0),
        Some(b'a') => one(0x07),
        Some(b'b') => one(0x08),
        Some(b'v') => one(0x0B),
        Some(b'f') => one(0x0C),
        Some(b'e') => one(0x1B),
        Some(b'N') => code(Some(0x85), 2),
        Some(b'_') => code(Some(0xA0), 2),
        Some(b'L') => code(Some(0x2028), 2),
        Some(b'P') => code(Some(0x2029), 2),
        Some(b'x') => code(hex(rest.get(2..4)), 4),
        Some(b'u') => match (hex(rest.get(2..6)), rest.get(6..8), hex(rest.get(8..12))) {
            // A character beyond 16 bits is two escapes.
            (Some(high @ 0xD800..=0xDBFF), Some(b"\\u"), Some(low @ 0xDC00..=0xDFFF)) => {
                code(Some(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)), 12)
            }
            (single, ..) => code(single, 6),
        },
        Some(b'U') => code(hex(rest.get(2..10)), 10),
        // A line that goes on in the next one.
        Some(b'\n' | b'\r') => {
            let blank = rest.iter().skip(1).take_while(|byte| byte.is_ascii_whitespace()).count();
            (few([0; 4], 0), 1 + blank)
        }
        _ => (few([b'\\', 0, 0, 0], 1), 1),
    }
}

/// Returns a character by its code; what is none stays as it is written.
fn code(code: Option<u32>, length: usize) -> (Few, usize) {
    let Some(character) = code.and_then(char::from_u32) else { return (few([b'\\', 0, 0, 0], 1), 1) };
    let mut bytes = [0; 4];
    let count = character.encode_utf8(&mut bytes).len();
    (few(bytes, count), length)
}

/// Reads a number in hexadecimal.
fn hex(digits: Option<&[u8]>) -> Option<u32> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whether_it_is_taken_back_as_a_whole_or_piece_by_piece() {
        let texts: [&[u8]; 9] = [
            b"",
            b"plain",
            b"\\",
            b"a\\nb\\u00e9\\ud83d\\ude00\\\\\\\"\\x41\\q\\u12",
            b"%41%4%zz%%20",
            b"one\n   two\r\n\tthree\n\n",
            b"\0w\0i\0d\0e",
            b"\\\n  goes on%0A\0",
            b"a b  c\n d\r\n\n e \tf\t \n",
        ];
        for spelling in [Spelling::Escapes, Spelling::Percents, Spelling::Wraps, Spelling::Folds, Spelling::Wide] {
            for text in texts {
                let pieces: Vec<u8> = spelling.pieces(text).flat_map(|piece| piece.bytes).collect();
                assert_eq!(spelling.taken_back(text), pieces, "{spelling:?} of {text:?}");
            }
        }
    }
}
