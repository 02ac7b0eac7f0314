//! Pure. Texts of elements of XML that are secrets: `<password>x</password>`, and those that an element before or an attribute names.
//!
//! Not here: attributes themselves, which are names with a sign (`line.rs`).

use super::line::{Opened, Seen, is_of_secrets, is_secret, part, tells};
use super::{NAMED, Part, Veil};

/// Bytes before an attribute in which its tag begins; what is longer has its attributes on lines of their own.
const MAX_TAG: usize = 1024;

/// Notes the texts of elements of a line.
pub(super) fn elements(line: &str, label: Option<&str>, veil: &Veil, seen: &mut Seen) {
    let mut label = label.map(str::to_owned);
    let [mut ends, mut ends_of_data] = ["</", "]]>"].map(|mark| line.match_indices(mark).peekable());
    for (at, _) in line.match_indices('<') {
        let rest = line.get(at + 1..).unwrap_or_default();
        // A tag holds no other one.
        let end = rest.find(['<', '>']).unwrap_or(rest.len());
        let (inside, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let Some(text) = behind.strip_prefix('>') else {
            let last = Some(inside).filter(|_| behind.is_empty());
            seen.opened = seen.opened.take().or_else(|| tag_over_lines(last?, veil));
            continue;
        };
        let tag = inside.split(char::is_whitespace).next().unwrap_or_default();
        let local = tag.rsplit(':').next().unwrap_or_default();
        if seen.opened.is_some() {
            break;
        }
        if tag.is_empty() || tag.starts_with(['/', '!', '?']) || inside.ends_with('/') {
            continue;
        }
        let attribute = seen.label.clone();
        let is_value = NAMED.contains(&local) || local == "string";
        let named = || label.clone().filter(|_| is_value);
        let name = is_secret(local, veil).then(|| local.to_owned()).or(attribute).or_else(named);
        if name.is_none() && !is_value && !matches!(local, "name" | "key") {
            continue;
        }

        let start = line.len() - text.len();
        let is_data = text.starts_with("<![CDATA[");
        let ends = if is_data { &mut ends_of_data } else { &mut ends };
        while ends.next_if(|(end, _)| *end < start).is_some() {}
        let end = ends.peek().map(|(end, _)| end - start + if is_data { "]]>".len() } else { 0 });
        match (name, end) {
            (Some(name), Some(end)) => {
                let is_told = tells(&name, text.get(..end).unwrap_or_default(), veil);
                seen.has_value |= is_value;
                seen.parts.extend(is_told.then(|| part(&name, start..start + end)));
            }
            // Who writes about an element goes on with a space.
            (Some(name), None) if line.trim_start().starts_with('<') && !text.starts_with(char::is_whitespace) => {
                seen.parts.push(part(&name, start..line.len()));
                seen.opened = Some(Opened::Until { closing: format!("</{tag}"), name });
            }
            (None, Some(end)) if NAMED.contains(&local) => seen.unnamed.push(start..start + end),
            (None, Some(end)) if matches!(local, "name" | "key") => {
                let called = text.get(..end).unwrap_or_default();
                label = is_secret(called, veil).then(|| called.to_owned());
                seen.is_other |= label.is_none();
                seen.label.clone_from(&label);
            }
            (Some(_) | None, _) => {}
        }
    }
}

/// Returns the tag of a secret that begins in a line and does not end there.
fn tag_over_lines(rest: &str, veil: &Veil) -> Option<Opened> {
    let tag = rest.split(char::is_whitespace).next()?;
    let local = tag.rsplit(':').next()?;
    is_of_secrets(local, veil).then(|| Opened::Tag { name: tag.to_owned() })
}

/// Returns what is hidden of a line in which a tag may end that began before, and whether it ends there.
pub(super) fn behind_tag(line: &str, tag: &str) -> (Option<Part>, Option<Opened>) {
    let opened = Opened::Tag { name: tag.to_owned() };
    let Some((inside, text)) = line.split_once('>') else { return (None, Some(opened)) };
    if inside.ends_with('/') {
        return (None, None);
    }
    let end = text.find("</");
    let start = line.len() - text.len();
    let opened = end.is_none().then(|| Opened::Until { closing: format!("</{tag}"), name: tag.to_owned() });
    (Some(part(tag, start..start + end.unwrap_or(text.len()))), opened)
}

/// Returns the name of the element in whose tag a place of a line stands.
pub(super) fn tag_at(line: &str, place: usize) -> Option<&str> {
    let before = line.get(line.floor_char_boundary(place.saturating_sub(MAX_TAG))..place)?;
    let tag = before.get(before.rfind('<')? + 1..).filter(|tag| !tag.contains('>'))?;
    tag.split(char::is_whitespace).next()?.rsplit(':').next()
}
