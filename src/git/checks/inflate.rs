//! Pure. The first bytes of a zlib stream, and no more of it: how large a delta's result is stands there.
//!
//! libgit2 and git inflate a stream whole. Not here: what the bytes mean (`pack.rs`).

/// Longest Huffman code.
const MAX_CODE_BITS: usize = 15;
/// Order in which the lengths of the codes for code lengths are stored.
const LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Base and extra bits of each length code from 257.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
/// Symbol that ends a block.
const END: u16 = 256;

/// Returns the first bytes of what a zlib stream unpacks to, at most so many; fewer only where the stream ends. Nothing is returned for a stream
/// that is damaged or cut off before that.
pub(super) fn inflate_head(stream: &[u8], want: usize) -> Option<Vec<u8>> {
    let (header, body) = stream.split_first_chunk::<2>()?;
    let [method, flags] = header.map(u32::from);
    if method & 0x0f != 8 || !(method * 256 + flags).is_multiple_of(31) || flags & 0x20 != 0 {
        return None;
    }
    let mut bits = Bits { bytes: body.iter(), held: 0, count: 0 };
    let mut out = Vec::with_capacity(want);
    loop {
        let is_last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => stored(&mut bits, &mut out, want)?,
            1 => {
                let mut lengths = [8_u8; 288];
                lengths.iter_mut().take(256).skip(144).for_each(|length| *length = 9);
                lengths.iter_mut().take(280).skip(256).for_each(|length| *length = 7);
                compressed(&mut bits, &mut out, want, (&Codes::new(&lengths), &Codes::new(&[5; 30])))?;
            }
            2 => {
                let (symbols, distances) = dynamic_codes(&mut bits)?;
                compressed(&mut bits, &mut out, want, (&symbols, &distances))?;
            }
            _ => return None,
        }
        if is_last || out.len() >= want {
            out.truncate(want);
            return Some(out);
        }
    }
}

/// Bits from the lowest of each byte.
struct Bits<'a> {
    bytes: std::slice::Iter<'a, u8>,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    fn take(&mut self, wanted: u32) -> Option<u32> {
        while self.count < wanted {
            self.held |= u32::from(*self.bytes.next()?) << self.count;
            self.count += 8;
        }
        let taken = self.held & ((1 << wanted) - 1);
        self.held >>= wanted;
        self.count -= wanted;
        Some(taken)
    }

    fn take_small(&mut self, wanted: u8) -> Option<u16> {
        u16::try_from(self.take(u32::from(wanted))?).ok()
    }
}

/// A canonical Huffman code: how many codes of each length there are, and their symbols in order.
struct Codes {
    counts: [u16; MAX_CODE_BITS + 1],
    symbols: Vec<u16>,
}

impl Codes {
    fn new(lengths: &[u8]) -> Self {
        let mut counts = [0; MAX_CODE_BITS + 1];
        let mut symbols = Vec::with_capacity(lengths.len());
        for length in 1..=MAX_CODE_BITS {
            for (symbol, _) in (0_u16..).zip(lengths).filter(|(_, known)| usize::from(**known) == length) {
                symbols.push(symbol);
                if let Some(count) = counts.get_mut(length) {
                    *count += 1;
                }
            }
        }
        Self { counts, symbols }
    }

    fn decode(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first, mut index) = (0_usize, 0_usize, 0_usize);
        for count in self.counts.iter().skip(1).map(|count| usize::from(*count)) {
            code |= usize::try_from(bits.take(1)?).ok()?;
            if let Some(offset) = code.checked_sub(first).filter(|offset| *offset < count) {
                return self.symbols.get(index + offset).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut Vec<u8>, want: usize) -> Option<()> {
    bits.held = 0;
    bits.count = 0;
    let (length, check) = (bits.take_small(16)?, bits.take_small(16)?);
    if length != !check {
        return None;
    }
    for _ in 0..length {
        if out.len() >= want {
            break;
        }
        out.push(*bits.bytes.next()?);
    }
    Some(())
}

fn dynamic_codes(bits: &mut Bits<'_>) -> Option<(Codes, Codes)> {
    let (symbols, distances) = (usize::from(bits.take_small(5)?) + 257, usize::from(bits.take_small(5)?) + 1);
    let known = usize::from(bits.take_small(4)?) + 4;
    let mut lengths = [0_u8; 19];
    for place in LENGTH_ORDER.iter().take(known) {
        *lengths.get_mut(*place)? = u8::try_from(bits.take(3)?).ok()?;
    }
    let codes = Codes::new(&lengths);
    let mut lengths: Vec<u8> = Vec::with_capacity(symbols + distances);
    while lengths.len() < symbols + distances {
        let (value, repeat) = match codes.decode(bits)? {
            length @ 0..=15 => (u8::try_from(length).ok()?, 1),
            16 => (*lengths.last()?, 3 + bits.take_small(2)?),
            17 => (0, 3 + bits.take_small(3)?),
            _ => (0, 11 + bits.take_small(7)?),
        };
        lengths.extend(std::iter::repeat_n(value, usize::from(repeat)));
    }
    let (first, rest) = lengths.split_at_checked(symbols)?;
    Some((Codes::new(first), Codes::new(rest.get(..distances)?)))
}

fn compressed(bits: &mut Bits<'_>, out: &mut Vec<u8>, want: usize, codes: (&Codes, &Codes)) -> Option<()> {
    while out.len() < want {
        let symbol = codes.0.decode(bits)?;
        if let Ok(byte) = u8::try_from(symbol) {
            out.push(byte);
            continue;
        }
        if symbol == END {
            break;
        }
        let (base, extra) = *LENGTHS.get(usize::from(symbol - END - 1))?;
        let length = base + bits.take_small(extra)?;
        let code = codes.1.decode(bits)?;
        let distance = match code {
            0..=3 => u32::from(code) + 1,
            4..=29 => {
                let extra = u32::from(code) / 2 - 1;
                ((2 + (u32::from(code) & 1)) << extra) + 1 + bits.take(extra)?
            }
            _ => return None,
        };
        let from = out.len().checked_sub(usize::try_from(distance).ok()?)?;
        for place in from..from + usize::from(length) {
            out.push(*out.get(place)?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_every_kind_of_block_are_read() {
        let stored = [&[0x78, 0x01, 0x01, 5, 0, 250, 255][..], b"hello", &[0; 4]].concat();
        assert_eq!(inflate_head(&stored, 20).unwrap(), b"hello");
        assert_eq!(inflate_head(&stored, 2).unwrap(), b"he");
        // zlib.compress(b"abc" * 20, 9)
        let fixed = [0x78, 0xda, 0x4b, 0x4c, 0x4a, 0x4e, 0x24, 0x17, 0x01, 0x00, 0xbc, 0xbe, 0x16, 0xf9];
        assert_eq!(inflate_head(&fixed, 8).unwrap(), b"abcabcab");
        assert_eq!(inflate_head(&fixed, 100).unwrap(), "abc".repeat(20).as_bytes());
        // The beginning of what zlib made of 300 letters drawn by chance.
        let dynamic = [
            0x78, 0xda, 0x0d, 0x4f, 0xb7, 0x01, 0x00, 0x30, 0x08, 0xda, 0xbd, 0x82, 0xd7, 0xb0, 0x44, 0xf1, 0xff, 0x03,
            0xe2, 0xa6, 0x88, 0x94, 0x58, 0x33, 0x2f, 0x1f, 0x9b, 0x41, 0x5b, 0xfa, 0xb0, 0xfb, 0x20, 0x62, 0x0a, 0x96,
            0xeb, 0x8f, 0x24, 0xc4, 0x46, 0x36, 0xa8, 0x3c,
        ];
        assert_eq!(inflate_head(&dynamic, 20).unwrap(), b"cj\n\nbebh\nhh g\ndbhagg");
        assert_eq!(inflate_head(&dynamic, 250), None, "it is cut off before that");
    }

    #[test]
    fn damaged_and_cut_off_streams_give_nothing() {
        for stream in [
            &b""[..],
            b"\x78",
            b"\x78\x9c",
            b"\x78\x9d\x01",
            b"\x79\x9c\x01",
            b"\x78\x01\x01\x05\x00\x00\x00hello",
            b"\x78\x9c\x07",
        ] {
            assert_eq!(inflate_head(stream, 5), None, "{stream:?}");
        }
    }

    mod laws {
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn no_stream_gives_more_than_was_asked_for(stream in proptest::collection::vec(any::<u8>(), 0..300), want in 0_usize..40) {
                let framed = [&[0x78, 0x9c][..], &stream].concat();
                prop_assert!(super::inflate_head(&framed, want).is_none_or(|head| head.len() <= want));
            }
        }
    }
}
