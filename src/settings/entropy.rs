//! Entropy from the operating system, handed to pure code as bytes.
//!
//! Not here: what the bytes become (`package::secrets`).

use rand::TryRng;
use rand::rngs::SysRng;

use super::Error;
use crate::model::InstanceId;

/// Characters of an instance id: lower-case base32.
const ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Length of an instance id: 50 bits, enough that two instances of one cluster never meet.
const ID_CHARS: usize = 10;

/// Fills a buffer with bytes that nobody can guess.
pub fn fill(buffer: &mut [u8]) -> Result<(), Error> {
    SysRng.try_fill_bytes(buffer).map_err(Error::Entropy)
}

/// Returns a new instance id.
pub fn instance_id() -> Result<InstanceId, Error> {
    let mut bytes = [0; ID_CHARS];
    fill(&mut bytes)?;
    let text: String =
        bytes.iter().filter_map(|byte| ID_ALPHABET.get(usize::from(byte % 32))).map(|c| char::from(*c)).collect();
    Ok(InstanceId::parse(&text).unwrap_or_else(|_| unreachable!("ten base32 characters are a name")))
}
