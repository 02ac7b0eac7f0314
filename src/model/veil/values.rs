//! Pure. Which values tell nothing although a name says that they are secrets: references, templates, words that turn something on or off, and
//! counts, paths and addresses where the name allows for them.
//!
//! Not here: what names say (`names.rs`).

use super::Hiding;
use crate::model::MASK;

/// Words that turn something on or off.
const SETTINGS: [&str; 15] = [
    "null", "~", "true", "false", "yes", "no", "on", "off", "enabled", "disabled", "required", "optional", "none",
    "strict", "never",
];
/// Most digits of a number that counts something.
const MAX_DIGITS: usize = 6;
/// Most letters of a word that names a way to sign in, such as `basic`.
const MAX_WORD: usize = 16;
/// Longest reference or template; what is longer is a program.
const MAX_REFERENCE: usize = 1024;
/// Signs between references that tell nothing of what they stand for.
const BETWEEN: &str = " \t-_.:/@,;|\"'";
/// Functions of templates that are given a value to use.
const GIVING: [&str; 4] = ["default", "coalesce", "ternary", "or "];

/// What a value may be under a name without being a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Harmless {
    /// An address without the sign-in of anybody, as `proxy_pass` has one.
    Address,
    /// The path of a directory, as `PWD` has one.
    Path,
    /// One word, as `authorization: rbac` has one.
    Word,
    /// One word, an address or a text: a credential of a registry is one run of signs.
    Text,
    /// A small number, as `tokens: 5000` has one.
    Count,
}

impl Harmless {
    fn fits(self, text: &str) -> bool {
        let is_of = |more: &'static str| move |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        match self {
            Self::Address => text.contains("://") || text.starts_with("unix:") || text.starts_with('$'),
            Self::Path => text.starts_with(['/', '~', '.']) && text.chars().all(is_of("/._-~")),
            Self::Word => is_word(text),
            Self::Text => {
                let is_text = text.contains("://") || text.contains([' ', '{', '"', '\n']);
                is_word(text) || is_count(text) || (is_text && !text.starts_with('('))
            }
            Self::Count => is_count(text),
        }
    }
}

fn is_count(text: &str) -> bool {
    text.len() <= MAX_DIGITS && text.chars().all(|c| c.is_ascii_digit())
}

/// Returns whether a text is a word such as `basic`, `RBAC` or `oauth2`.
fn is_word(text: &str) -> bool {
    let letters = text.strip_suffix('2').unwrap_or(text);
    let has_small = letters.contains(|c: char| c.is_ascii_lowercase());
    let is_mixed = has_small && letters.chars().skip(1).any(|c| c.is_ascii_uppercase());
    !letters.is_empty() && text.len() <= MAX_WORD && letters.chars().all(|c| c.is_ascii_alphabetic()) && !is_mixed
}

/// Returns whether a text is hidden at such a place. An empty text, a reference and a ciphertext tell nothing.
pub fn is_hidden(hiding: Hiding, text: &str) -> bool {
    let bare = text.trim();
    let is_nothing = bare.is_empty() || bare.starts_with("ENC[AES256_GCM,") || bare == MASK || is_placeholder(bare);
    let is_setting = || SETTINGS.iter().any(|word| bare.eq_ignore_ascii_case(word));
    match hiding {
        Hiding::Shown | Hiding::Revealed => false,
        Hiding::All => !is_nothing,
        Hiding::Below => !is_nothing && !is_setting(),
        Hiding::Unless(harmless) => !is_nothing && !is_setting() && !harmless.fits(bare),
    }
}

/// Returns whether a text is made of references and templates alone: `$(X)`, `${X}`, `{{ x }}`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let (mut rest, mut is_any) = (text, false);
    while let Some(start) = rest.find(|c: char| !BETWEEN.contains(c)) {
        let Some(len) = rest.get(start..).and_then(reference) else { return false };
        rest = rest.get(start + len..).unwrap_or_default();
        is_any = true;
    }
    is_any
}

/// Returns how long the reference or template is that a text begins with.
pub(super) fn reference(text: &str) -> Option<usize> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
    for (open, close) in [("{{", "}}"), ("${{", "}}"), ("$(", ")"), ("${", "}")] {
        let Some(inner) = text.strip_prefix(open) else { continue };
        let near = inner.get(..inner.floor_char_boundary(MAX_REFERENCE))?;
        let end = near.find(close)?;
        let inner = inner.get(..end)?;
        let gives = GIVING.iter().any(|word| inner.contains(word)) && holds_text(inner);
        let is_pure = if open.ends_with("{{") { !gives } else { is_name(inner) };
        return is_pure.then_some(open.len() + end + close.len());
    }
    None
}

/// Returns whether quotes with something in them stand in a template.
fn holds_text(template: &str) -> bool {
    ['"', '\'', '`'].iter().any(|mark| template.split(*mark).skip(1).step_by(2).any(|inner| !inner.is_empty()))
}
