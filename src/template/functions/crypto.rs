//! Pure. Digests and keys that follow from a password: `crypto.*`.
//!
//! Not here: whatever needs entropy, which is refused by name (`refused.rs`).

use super::base64::to_bytes;
use super::conv::to_int;
use super::{Function, Parameter, at, fixed};
use crate::base::sha2::Sha2;
use crate::template::failure::Failure;
use crate::template::limits::{Budget, MAX_KEY_ROUNDS};
use crate::template::value::Value;

mod sha1;

const ANY: &[Parameter] = &[Parameter::Any];
const FOUR: &[Parameter] = &[Parameter::Any, Parameter::Any, Parameter::Any, Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { rest: Some(Parameter::Text), ..fixed("PBKDF2", &[], FOUR, derive_key) },
    fixed("SHA1", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha1)),
    fixed("SHA1Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha1)),
    fixed("SHA224", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha224))),
    fixed("SHA224Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha224))),
    fixed("SHA256", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha256))),
    fixed("SHA256Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha256))),
    fixed("SHA384", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha384))),
    fixed("SHA384Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha384))),
    fixed("SHA512", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha512))),
    fixed("SHA512Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha512))),
    fixed("SHA512_224", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha512Cut224))),
    fixed("SHA512_224Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha512Cut224))),
    fixed("SHA512_256", &[], ANY, |values, budget| hexadecimal(values, budget, Hash::Sha2(Sha2::Sha512Cut256))),
    fixed("SHA512_256Bytes", &[], ANY, |values, budget| bytes(values, budget, Hash::Sha2(Sha2::Sha512Cut256))),
    fixed("WPAPSK", &[], &[Parameter::Any, Parameter::Any], |values, budget| {
        let (network, password) = (to_bytes(at(values, 0), budget)?, to_bytes(at(values, 1), budget)?);
        let key = key_from(&Password { hash: Hash::Sha1, password, salt: network }, WPA_ROUNDS, WPA_BYTES, budget)?;
        Ok(Value::text(to_hexadecimal(&key)))
    }),
];

/// Rounds that the standard for wireless networks fixes.
const WPA_ROUNDS: usize = 4096;
/// Length of its keys.
const WPA_BYTES: usize = 32;

/// A digest by its name.
#[derive(Clone, Copy)]
enum Hash {
    Sha1,
    Sha2(Sha2),
}

impl Hash {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "SHA-1" | "SHA1" => Self::Sha1,
            "SHA-224" | "SHA224" => Self::Sha2(Sha2::Sha224),
            "SHA-256" | "SHA256" => Self::Sha2(Sha2::Sha256),
            "SHA-384" | "SHA384" => Self::Sha2(Sha2::Sha384),
            "SHA-512" | "SHA512" => Self::Sha2(Sha2::Sha512),
            "SHA-512/224" | "SHA512/224" | "SHA-512_224" | "SHA512_224" => Self::Sha2(Sha2::Sha512Cut224),
            "SHA-512/256" | "SHA512/256" | "SHA-512_256" | "SHA512_256" => Self::Sha2(Sha2::Sha512Cut256),
            _ => return None,
        })
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sha1::sha1(bytes),
            Self::Sha2(hash) => hash.digest(bytes),
        }
    }

    fn block_bytes(self) -> usize {
        match self {
            Self::Sha1 => sha1::BLOCK_BYTES,
            Self::Sha2(hash) => hash.block_bytes(),
        }
    }

    /// Returns the keyed hash of a message.
    fn keyed(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut key = if key.len() > self.block_bytes() { self.digest(key) } else { key.to_vec() };
        key.resize(self.block_bytes(), 0);
        let masked = |mask: u8| key.iter().map(move |byte| byte ^ mask);
        let inner: Vec<u8> = masked(0x36).chain(message.iter().copied()).collect();
        let outer: Vec<u8> = masked(0x5c).chain(self.digest(&inner)).collect();
        self.digest(&outer)
    }
}

fn digest(values: &[Value], budget: &mut Budget, hash: Hash) -> Result<Vec<u8>, Failure> {
    Ok(hash.digest(&to_bytes(at(values, 0), budget)?))
}

fn hexadecimal(values: &[Value], budget: &mut Budget, hash: Hash) -> Result<Value, Failure> {
    Ok(Value::text(to_hexadecimal(&digest(values, budget, hash)?)))
}

fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(values: &[Value], budget: &mut Budget, hash: Hash) -> Result<Value, Failure> {
    Ok(Value::Bytes(digest(values, budget, hash)?.into()))
}

/// What a key is made from.
struct Password {
    hash: Hash,
    password: Vec<u8>,
    salt: Vec<u8>,
}

fn derive_key(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let hash = match values.get(4) {
        Some(Value::Text(name)) => Hash::named(name).ok_or_else(|| Failure::call("there is no digest of this name"))?,
        _ => Hash::Sha1,
    };
    let (password, salt) = (to_bytes(at(values, 0), budget)?, to_bytes(at(values, 1), budget)?);
    let (rounds, length) = (to_int(at(values, 2))?, to_int(at(values, 3))?);
    let rounds = usize::try_from(rounds).unwrap_or(0).max(1);
    let length = usize::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| Failure::call("the length of the key must be above 0"))?;
    let key = key_from(&Password { hash, password, salt }, rounds, length, budget)?;
    Ok(Value::text(to_hexadecimal(&key)))
}

/// Makes a key of a password by many rounds of the keyed hash.
fn key_from(from: &Password, rounds: usize, length: usize, budget: &mut Budget) -> Result<Vec<u8>, Failure> {
    if rounds > MAX_KEY_ROUNDS {
        return Err(Failure::call(format!("a key takes at most {MAX_KEY_ROUNDS} rounds")));
    }
    budget.text(length)?;
    let mut key = Vec::with_capacity(length);
    let mut number = 0_u32;
    while key.len() < length {
        number = number.saturating_add(1);
        budget.steps(rounds.saturating_mul(STEPS_PER_ROUND))?;
        let salt: Vec<u8> = from.salt.iter().copied().chain(number.to_be_bytes()).collect();
        let mut round = from.hash.keyed(&from.password, &salt);
        let mut block = round.clone();
        for _ in 1..rounds {
            round = from.hash.keyed(&from.password, &round);
            for (sum, byte) in block.iter_mut().zip(&round) {
                *sum ^= byte;
            }
        }
        key.extend(block);
    }
    key.truncate(length);
    Ok(key)
}

/// What a round costs: it runs the digest four times over a block.
const STEPS_PER_ROUND: usize = 4;
