//! Pure. Bytes that come in pieces from somebody who may send without end: taken up to a bound and not a byte further.
//!
//! Every answer of another server goes through it while it is read. Not here: reading (the modules that do), how long that may take (there as
//! well).

/// More came than is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it is larger than {}", size(*.0))]
pub struct TooLarge(pub usize);

/// Bytes up to a bound.
#[derive(Debug)]
pub struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Bounded {
    /// Returns one without bytes; nothing is set aside for what may come.
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    /// Refuses at once what is said to be larger.
    pub fn expect(&self, length: Option<u64>) -> Result<(), TooLarge> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        if length.is_some_and(|length| length > limit) { Err(TooLarge(self.limit)) } else { Ok(()) }
    }

    /// Takes a piece in; refuses it whole if it would be too much.
    pub fn take_in(&mut self, piece: &[u8]) -> Result<(), TooLarge> {
        if piece.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(TooLarge(self.limit));
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Takes in as much of a piece as there is room for; returns whether that was all of it.
    pub fn take_some(&mut self, piece: &[u8]) -> bool {
        let room = self.limit.saturating_sub(self.bytes.len());
        let (taken, rest) = piece.split_at(room.min(piece.len()));
        self.bytes.extend_from_slice(taken);
        rest.is_empty()
    }

    /// Returns what came.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Returns a size as sentences say it.
fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_too_many_is_refused_and_none_before_it_is_lost() {
        let mut bounded = Bounded::new(5);
        assert_eq!(bounded.take_in(b"abc"), Ok(()));
        assert_eq!(bounded.take_in(b"def"), Err(TooLarge(5)));
        assert_eq!(bounded.take_in(b"de"), Ok(()));
        assert_eq!(bounded.take_in(b""), Ok(()));
        assert_eq!(bounded.take_in(b"f"), Err(TooLarge(5)));
        assert_eq!(bounded.into_bytes(), b"abcde");
        let mut quote = Bounded::new(4);
        assert!(quote.take_some(b"abc") && !quote.take_some(b"def") && !quote.take_some(b"g"));
        assert_eq!(quote.into_bytes(), b"abcd");
    }

    #[test]
    fn what_is_said_to_be_too_large_is_refused_before_it_comes() {
        let bounded = Bounded::new(16 << 20);
        assert_eq!((bounded.expect(None), bounded.expect(Some(16 << 20))), (Ok(()), Ok(())));
        let refused = bounded.expect(Some(u64::MAX)).unwrap_err();
        assert_eq!(refused.to_string(), "it is larger than 16 MiB");
        assert_eq!(
            (TooLarge(512).to_string(), TooLarge(2_048).to_string()),
            ("it is larger than 512 bytes".into(), "it is larger than 2 KiB".into())
        );
        assert_eq!(bounded.into_bytes().capacity(), 0);
    }
}
