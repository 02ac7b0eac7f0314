//! Pure. Cuts a template into text and the tokens of its actions, with trim markers and comments already applied.
//!
//! Not here: the grammar (`parse.rs`).

use super::unicode::is_word;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text outside actions, trimmed.
    Text,
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// White space inside an action; it separates operands.
    Space,
    /// A word that is no keyword.
    Identifier,
    /// A keyword such as `if`.
    Keyword,
    /// `.`
    Dot,
    /// `.name`
    Field,
    /// `$` or `$name`
    Variable,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A complex or imaginary number.
    Complex,
    /// `'c'`
    Character,
    /// `"text"`
    Quoted,
    /// Text between back quotes.
    Raw,
    /// `|`
    Pipe,
    /// `:=`
    Declare,
    /// `=`
    Assign,
    /// `,`
    Comma,
    /// `(`
    Left,
    /// `)`
    Right,
    /// Another printable character.
    Other,
    /// What cannot be cut, and why. Nothing follows.
    Error(&'static str),
    /// The end of the file.
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// First byte.
    pub(super) start: usize,
    /// First byte after it.
    pub(super) end: usize,
}

const KEYWORDS: [&str; 11] =
    ["block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"];

/// Cuts a whole file. The last token is always an error or the end.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    let last = match lexer.file() {
        Ok(()) => Token { kind: Kind::End, start: text.len(), end: text.len() },
        Err((start, reason)) => Token { kind: Kind::Error(reason), start, end: lexer.at.max(start) },
    };
    lexer.tokens.push(last);
    lexer.tokens
}

/// Where and why the text cannot be cut.
type Stuck = (usize, &'static str);

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, start, end: self.at });
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }

    fn file(&mut self) -> Result<(), Stuck> {
        // What the closing marker of the action before trims.
        let mut trimmed = false;
        loop {
            if trimmed {
                self.skip_while(is_space);
            }
            let start = self.at;
            let Some(length) = self.rest().find("{{") else {
                self.at = self.text.len();
                self.text_token(start, self.at);
                return Ok(());
            };
            let open = start + length;
            self.at = open + 2;
            let trims = has_left_marker(self.rest());
            let text = self.text.get(start..open).unwrap_or("");
            let kept = if trims { text.trim_end_matches(is_space).len() } else { text.len() };
            self.text_token(start, start + kept);
            let marker = if trims { 2 } else { 0 };
            if self.rest().get(marker..).is_some_and(|rest| rest.starts_with("/*")) {
                self.at += marker;
                trimmed = self.comment()?;
            } else {
                self.push(Kind::Open, open);
                self.at += marker;
                trimmed = self.action()?;
            }
        }
    }

    fn text_token(&mut self, start: usize, end: usize) {
        if end > start {
            self.tokens.push(Token { kind: Kind::Text, start, end });
        }
    }

    /// Skips a comment and tells whether it trims what follows.
    fn comment(&mut self) -> Result<bool, Stuck> {
        let start = self.at;
        let end = self.rest().get(2..).and_then(|rest| rest.find("*/")).ok_or((start, "a comment is not closed"))?;
        self.at += 2 + end + 2;
        let (length, trims) = self.closing().ok_or((start, "a comment must be the only content of its braces"))?;
        self.at += length;
        Ok(trims)
    }

    /// Returns the length of the closing braces that stand here, and whether they trim what follows.
    fn closing(&self) -> Option<(usize, bool)> {
        let rest = self.rest();
        let mut chars = rest.chars();
        if chars.next().is_some_and(is_space) && chars.as_str().starts_with("-}}") {
            return Some((4, true));
        }
        rest.starts_with("}}").then_some((2, false))
    }

    /// Cuts the tokens of an action up to its closing braces and tells whether they trim what follows.
    fn action(&mut self) -> Result<bool, Stuck> {
        let mut parentheses = 0_usize;
        loop {
            let start = self.at;
            if let Some((length, trims)) = self.closing() {
                if parentheses > 0 {
                    return Err((start, "a left parenthesis is not closed"));
                }
                self.at += length;
                self.push(Kind::Close, self.at - 2);
                return Ok(trims);
            }
            let next = self.next().ok_or((start, "an action is not closed"))?;
            match next {
                '(' => {
                    parentheses += 1;
                    self.push(Kind::Left, start);
                }
                ')' => {
                    parentheses = parentheses.checked_sub(1).ok_or((start, "a right parenthesis was never opened"))?;
                    self.push(Kind::Right, start);
                }
                _ => self.token(next, start)?,
            }
        }
    }

    fn token(&mut self, first: char, start: usize) -> Result<(), Stuck> {
        let kind = match first {
            _ if is_space(first) => return self.space(start),
            '=' => Kind::Assign,
            ':' if self.peek() == Some('=') => {
                self.next();
                Kind::Declare
            }
            ':' => return Err((start, "a colon must be followed by =")),
            '|' => Kind::Pipe,
            ',' => Kind::Comma,
            '"' => self.quoted('"', Kind::Quoted, start)?,
            '\'' => self.quoted('\'', Kind::Character, start)?,
            '`' => self.raw(start)?,
            '$' => self.word(Kind::Variable, Kind::Variable)?,
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => self.word(Kind::Dot, Kind::Field)?,
            '.' | '+' | '-' | '0'..='9' => {
                self.at = start;
                self.number(start)?
            }
            _ if is_word(first) => self.identifier(start)?,
            _ if first.is_ascii_graphic() => Kind::Other,
            _ => return Err((start, "an action holds a character that has no meaning there")),
        };
        self.push(kind, start);
        Ok(())
    }

    /// Takes white space, but leaves the one that belongs to a trim marker.
    fn space(&mut self, start: usize) -> Result<(), Stuck> {
        self.skip_while(is_space);
        if self.rest().starts_with("-}}") {
            // White space is one byte wide here.
            self.at -= 1;
        }
        if self.at > start {
            self.push(Kind::Space, start);
        }
        Ok(())
    }

    fn quoted(&mut self, quote: char, kind: Kind, start: usize) -> Result<Kind, Stuck> {
        let open = if quote == '"' { "a quoted text is not closed" } else { "a character constant is not closed" };
        loop {
            match self.next() {
                Some('\\') => match self.next() {
                    None | Some('\n') => return Err((start, open)),
                    Some(_) => {}
                },
                None | Some('\n') => return Err((start, open)),
                Some(next) if next == quote => return Ok(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self, start: usize) -> Result<Kind, Stuck> {
        let length = self.rest().find('`').ok_or((start, "a raw text is not closed"))?;
        self.at += length + 1;
        Ok(Kind::Raw)
    }

    /// Takes the name after a dot or dollar sign, if there is one.
    fn word(&mut self, bare: Kind, named: Kind) -> Result<Kind, Stuck> {
        let start = self.at;
        self.skip_while(is_word);
        self.end_of_word()?;
        Ok(if self.at == start { bare } else { named })
    }

    fn identifier(&mut self, start: usize) -> Result<Kind, Stuck> {
        self.skip_while(is_word);
        self.end_of_word()?;
        Ok(match self.text.get(start..self.at).unwrap_or("") {
            "true" | "false" => Kind::Bool,
            word if KEYWORDS.contains(&word) => Kind::Keyword,
            _ => Kind::Identifier,
        })
    }

    /// Refuses `a-b` and the like, where a name ends but nothing that may follow a name begins.
    fn end_of_word(&self) -> Result<(), Stuck> {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => Ok(()),
            Some(next) if is_space(next) => Ok(()),
            Some(_) if self.rest().starts_with("}}") => Ok(()),
            Some(_) => Err((self.at, "a name is followed by a character that no name may hold")),
        }
    }

    fn number(&mut self, start: usize) -> Result<Kind, Stuck> {
        let mut kind = self.one_number(start)?;
        if matches!(self.peek(), Some('+' | '-')) {
            self.one_number(start)?;
            kind = Kind::Complex;
        }
        Ok(kind)
    }

    fn one_number(&mut self, start: usize) -> Result<Kind, Stuck> {
        self.accept(&['+', '-']);
        let mut base = 10;
        if self.accept(&['0']) {
            for (letters, radix) in [(['x', 'X'], 16), (['o', 'O'], 8), (['b', 'B'], 2)] {
                if base == 10 && self.accept(&letters) {
                    base = radix;
                }
            }
        }
        let digit = move |c: char| c == '_' || c.is_digit(base);
        self.skip_while(digit);
        if self.accept(&['.']) {
            self.skip_while(digit);
        }
        let exponent = match base {
            10 => ['e', 'E'],
            16 => ['p', 'P'],
            _ => ['\0', '\0'],
        };
        if self.accept(&exponent) {
            self.accept(&['+', '-']);
            self.skip_while(|c| c == '_' || c.is_ascii_digit());
        }
        let kind = if self.accept(&['i']) { Kind::Complex } else { Kind::Number };
        if self.peek().is_some_and(is_word) {
            return Err((start, "a number is followed by a letter or digit that does not belong to it"));
        }
        Ok(kind)
    }

    fn accept(&mut self, wanted: &[char]) -> bool {
        let found = self.peek().is_some_and(|next| wanted.contains(&next));
        if found {
            self.next();
        }
        found
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Returns whether a minus sign and white space follow the opening braces.
fn has_left_marker(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('-') && chars.next().is_some_and(is_space)
}

#[cfg(test)]
mod tests {
    use super::{Kind, tokens};

    fn check(text: &str, expected: &str) {
        let found: Vec<String> = tokens(text)
            .into_iter()
            .map(|token| format!("{:?}({})", token.kind, text.get(token.start..token.end).unwrap()))
            .collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    }

    #[test]
    fn text_and_actions_alternate() {
        check("a {{ .b }} c", "Text(a ) Open({{) Space( ) Field(.b) Space( ) Close(}}) Text( c) End()");
    }

    #[test]
    fn markers_trim_the_text_beside_them() {
        check("a \n{{- 1 -}}\n b", "Text(a) Open({{) Number(1) Close(}}) Text(b) End()");
        check("a {{-3}} b", "Text(a ) Open({{) Number(-3) Close(}}) Text( b) End()");
    }

    #[test]
    fn a_comment_leaves_nothing() {
        check("a{{/* {{ */}}b {{- /* x */ -}} c", "Text(a) Text(b) Text(c) End()");
    }

    #[test]
    fn a_comment_must_touch_its_braces() {
        assert!(matches!(tokens("{{/* x */ }}").last().unwrap().kind, Kind::Error(_)));
        assert!(matches!(tokens("{{/* x").last().unwrap().kind, Kind::Error(_)));
    }

    #[test]
    fn a_hyphen_ends_a_name_badly() {
        assert!(matches!(tokens("{{ .open-webui }}").last().unwrap().kind, Kind::Error(_)));
    }

    #[test]
    fn raw_text_may_hold_braces_and_newlines() {
        check("{{`}}\n{{`}}", "Open({{) Raw(`}}\n{{`) Close(}}) End()");
    }
}
