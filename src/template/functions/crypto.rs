//! Pure. Digests: `crypto.SHA*`.
//!
//! Not here: whatever needs entropy or keys, which is refused by name (`refused.rs`).

use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use super::base64::to_bytes;
use super::{Function, Parameter, at, fixed};
use crate::template::failure::Failure;
use crate::template::limits::Budget;
use crate::template::value::Value;

const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    fixed("SHA1", &[], ANY, hexadecimal::<Sha1>),
    fixed("SHA1Bytes", &[], ANY, bytes::<Sha1>),
    fixed("SHA224", &[], ANY, hexadecimal::<Sha224>),
    fixed("SHA224Bytes", &[], ANY, bytes::<Sha224>),
    fixed("SHA256", &[], ANY, hexadecimal::<Sha256>),
    fixed("SHA256Bytes", &[], ANY, bytes::<Sha256>),
    fixed("SHA384", &[], ANY, hexadecimal::<Sha384>),
    fixed("SHA384Bytes", &[], ANY, bytes::<Sha384>),
    fixed("SHA512", &[], ANY, hexadecimal::<Sha512>),
    fixed("SHA512Bytes", &[], ANY, bytes::<Sha512>),
    fixed("SHA512_224", &[], ANY, hexadecimal::<Sha512_224>),
    fixed("SHA512_224Bytes", &[], ANY, bytes::<Sha512_224>),
    fixed("SHA512_256", &[], ANY, hexadecimal::<Sha512_256>),
    fixed("SHA512_256Bytes", &[], ANY, bytes::<Sha512_256>),
];

fn digest<D: Digest>(values: &[Value], budget: &mut Budget) -> Result<Vec<u8>, Failure> {
    Ok(D::digest(to_bytes(at(values, 0), budget)?).to_vec())
}

fn hexadecimal<D: Digest>(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let digits: String = digest::<D>(values, budget)?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Value::text(digits))
}

fn bytes<D: Digest>(values: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    Ok(Value::Bytes(digest::<D>(values, budget)?.into()))
}
