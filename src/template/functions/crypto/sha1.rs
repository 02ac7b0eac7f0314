//! Pure. SHA-1, which only old formats still ask for.
//!
//! Not here: SHA-2 (`base::sha2`). Nothing of ours depends on this digest, so no crate is worth it.

/// Length of the blocks that it works on, in bytes.
pub(super) const BLOCK_BYTES: usize = 64;

/// Returns the digest of bytes.
pub(super) fn sha1(bytes: &[u8]) -> Vec<u8> {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(BLOCK_BYTES) - 8, 0);
    let bits = u64::try_from(bytes.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    message.extend_from_slice(&bits.to_be_bytes());
    for block in message.chunks_exact(BLOCK_BYTES) {
        state = compress(state, block);
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn compress(state: [u32; 5], block: &[u8]) -> [u32; 5] {
    let mut words: Vec<u32> =
        block.chunks_exact(4).map(|bytes| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect();
    for index in 16..80 {
        let earlier = |back: usize| words.get(index - back).copied().unwrap_or(0);
        words.push((earlier(3) ^ earlier(8) ^ earlier(14) ^ earlier(16)).rotate_left(1));
    }
    let [mut a, mut b, mut c, mut d, mut e] = state;
    for (index, word) in words.iter().enumerate() {
        let (mixed, constant) = match index {
            0..20 => (b & c | !b & d, 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(*word);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    let [v, w, x, y, z] = state;
    [v.wrapping_add(a), w.wrapping_add(b), x.wrapping_add(c), y.wrapping_add(d), z.wrapping_add(e)]
}

#[cfg(test)]
mod tests {
    use super::sha1;

    #[test]
    fn known_digests_come_out() {
        for (text, expected) in [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("The quick brown fox jumps over the lazy dog", "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"),
        ] {
            let digest: String = sha1(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, expected, "{text:?}");
        }
    }
}
