//! Pure. Texts made shorter, wrapped, or fit for an address.
//!
//! Not here: capitals (`letters.rs`).

use super::super::conv::{to_int, to_text};
use super::cut;
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::Value;

/// Line length without another wish.
const WRAP_WIDTH: usize = 80;

/// Shortens a text to a width in bytes and marks what is left out with dots.
pub(super) fn abbreviate(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (offset, width, text) = match values {
        [width, text] => (0, to_int(width)?, text),
        [offset, width, text] => (to_int(offset)?, to_int(width)?, text),
        _ => return Err(Failure::new("T203", format!("Abbrev wants 2 or 3 arguments and gets {}", values.len()))),
    };
    let text = to_text(text, budget)?;
    let width = usize::try_from(width).unwrap_or(0);
    if text.len() <= width {
        return Ok(Value::Text(text));
    }
    if text.is_empty() {
        return Ok(Value::text(""));
    }
    if width < 4 {
        return Err(Failure::call("the width must be at least 4"));
    }
    let kept = width - 3;
    let offset = usize::try_from(offset).unwrap_or(0).min(text.len()).min(text.len() - kept);
    if offset <= 4 {
        return Ok(Value::text(format!("{}...", cut(&text, 0, kept)?)));
    }
    if width < 7 {
        return Err(Failure::call("the width with an offset must be at least 7"));
    }
    if offset + kept < text.len() {
        let middle = cut(&text, offset, offset + kept - 3)?;
        return Ok(Value::text(format!("...{middle}...")));
    }
    Ok(Value::text(format!("...{}", cut(&text, text.len() - kept, text.len())?)))
}

/// Breaks a text at spaces so that lines are no longer than a width in bytes, unless a word is.
///
/// Takes `text`, `width or line end, text`, or `width, line end, text`.
pub(super) fn wrap(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let (width, line_end, text) = match values {
        [text] => (0, "".into(), text),
        [Value::Text(line_end), text] => (0, line_end.clone(), text),
        [width, text] => (to_int(width)?, "".into(), text),
        [width, line_end, text] => (to_int(width)?, to_text(line_end, budget)?, text),
        _ => return Err(Failure::new("T203", format!("WordWrap wants 1 to 3 arguments and gets {}", values.len()))),
    };
    // The width is an unsigned number of 32 bits; a negative one becomes very long.
    let width = u32::try_from(width.rem_euclid(1 << 32)).unwrap_or(u32::MAX);
    let width = if width == 0 { WRAP_WIDTH } else { usize::try_from(width).unwrap_or(usize::MAX) };
    let line_end = if line_end.is_empty() { "\n" } else { &*line_end };
    let text = to_text(text, budget)?;
    budget.text(
        text.len().saturating_add((text.len() / width + text.matches(' ').count()).saturating_mul(line_end.len())),
    )?;
    let mut out = String::new();
    let mut rest = &*text;
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(' ') {
            rest = after;
            continue;
        }
        let bytes = rest.as_bytes();
        let within = bytes.iter().take(width + 1).rposition(|byte| *byte == b' ');
        let beyond = || bytes.iter().skip(width).position(|byte| *byte == b' ').map(|at| at + width);
        let Some(space) = within.or_else(beyond) else { break };
        out.push_str(cut(rest, 0, space)?);
        out.push_str(line_end);
        rest = cut(rest, space + 1, rest.len())?;
    }
    out.push_str(rest);
    Ok(Value::text(out))
}

/// Returns a text of lower case letters, digits, underscores and single hyphens.
///
/// Letters outside ASCII would have to be spelled in ASCII, which needs a table for all scripts; they are refused.
pub(super) fn slug(text: &str) -> Result<String, Failure> {
    let text = text.replace(['\'', '"', '\u{2019}'], "").replace(['\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}'], "-");
    if !text.is_ascii() {
        return Err(Failure::new("T211", "strings.Slug is not available for letters outside ASCII"));
    }
    let spelled = text.trim().replace('&', "and").replace('@', "at").to_lowercase();
    let mut out = String::with_capacity(spelled.len());
    for c in spelled.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    Ok(out.trim_matches(['-', '_']).to_owned())
}
