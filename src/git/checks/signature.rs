//! Pure. What a raw commit carries as its signature, and the bytes that it signs.
//!
//! Not here: whose signature it is (`signature`).

/// Header of a signature over a commit whose id is a SHA-1.
const HEADER: &[u8] = b"gpgsig ";
/// Header of the same over the SHA-256 form of the commit: no part of what the other one signs.
const OTHER_HEADER: &[u8] = b"gpgsig-sha256 ";

/// What a raw commit carries as its signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Carried {
    /// Nothing.
    Nothing,
    /// More than one: nobody can say which of them counts.
    Several,
    /// One.
    One(SignedPart),
}

/// A signature and what it signs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedPart {
    /// The signature, as it was written, with its frame of dashes.
    pub signature: Vec<u8>,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// Takes the signature out of a raw commit.
///
/// Headers end at the first empty line; a line that begins with a space belongs to the header above it. What stands in the message, or in a
/// tag that was merged, is no signature of the commit.
pub fn carried(raw: &[u8]) -> Carried {
    let (mut signature, mut payload) = (Vec::new(), Vec::with_capacity(raw.len()));
    let (mut count, mut place) = (0_usize, Place::Payload);
    let mut rest = raw;
    while !rest.is_empty() && !rest.starts_with(b"\n") {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = after;
        let continued = line.strip_prefix(b" ");
        if continued.is_none() {
            place = Place::of(line);
            count += usize::from(place == Place::Signature);
        }
        match place {
            Place::Payload => payload.extend_from_slice(line),
            Place::Signature => {
                signature.extend_from_slice(continued.or(line.strip_prefix(HEADER)).unwrap_or_default());
            }
            Place::Neither => {}
        }
    }
    payload.extend_from_slice(rest);
    match count {
        0 => Carried::Nothing,
        1 => Carried::One(SignedPart { signature, payload }),
        _ => Carried::Several,
    }
}

/// Where a line of a commit goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Payload,
    Signature,
    Neither,
}

impl Place {
    fn of(line: &[u8]) -> Self {
        match line {
            _ if line.starts_with(HEADER) => Self::Signature,
            _ if line.starts_with(OTHER_HEADER) => Self::Neither,
            _ => Self::Payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "tree a\nparent b\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n";

    fn one(raw: &str) -> (String, String) {
        let Carried::One(SignedPart { signature, payload }) = carried(raw.as_bytes()) else { panic!("{raw}") };
        (String::from_utf8(signature).unwrap(), String::from_utf8(payload).unwrap())
    }

    #[test]
    fn the_signature_is_taken_out_and_everything_else_is_signed() {
        let plain = format!("{HEAD}encoding x\n\nmessage\n\ngpgsig none\n");
        let signed = format!("{HEAD}gpgsig -----BEGIN\n \n line\n -----END\nencoding x\n\nmessage\n\ngpgsig none\n");
        assert_eq!(one(&signed), ("-----BEGIN\n\nline\n-----END\n".to_owned(), plain.clone()));
        let both = format!("{HEAD}gpgsig a\ngpgsig-sha256 b\n b\nencoding x\n\nmessage\n\ngpgsig none\n");
        assert_eq!(one(&both), ("a\n".to_owned(), plain.clone()));
        assert_eq!(carried(plain.as_bytes()), Carried::Nothing);
    }

    #[test]
    fn what_only_looks_like_a_signature_is_none() {
        for raw in [
            "",
            "\n",
            " gpgsig a",
            "gpgsig",
            "gpgsigs a\n",
            "tree a\nmergetag object b\n gpgsig a\n\nmessage",
            "tree a\n\ngpgsig a\n",
            "tree a\ngpgsig-sha256 a\n\n",
        ] {
            assert_eq!(carried(raw.as_bytes()), Carried::Nothing, "{raw:?}");
        }
        for raw in ["gpgsig a\ngpgsig b\n\n", "gpgsig a\ntree a\ngpgsig a\n", "gpgsig \ngpgsig \n"] {
            assert_eq!(carried(raw.as_bytes()), Carried::Several, "{raw:?}");
        }
    }
}
