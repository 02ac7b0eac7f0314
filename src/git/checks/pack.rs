//! Pure. How much of a pack would be in memory at once: every object lies there whole or as a delta on another one, and what a small object is
//! unpacked from may be huge.
//!
//! Not here: reading packs (`packs.rs`), the objects themselves (`objects.rs`).

use std::collections::{BTreeSet, HashMap};

use super::inflate::inflate_head;
use super::{Id, ObjectKind, Rule};

/// Bytes that a base, a delta or a step between them may have: files of 10 MiB are taken, and packed against each other.
pub const MAX_STEP_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a pack from the beginning of an object that are looked at; the codes of a stream take less than 700.
pub const WINDOW_BYTES: usize = 1_024;
/// Most bytes that one byte of a delta can copy: four bytes copy up to 16 MiB.
const MAX_COPY_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes at the beginning of a delta in which both sizes stand.
const SIZES_BYTES: usize = 20;
/// First bytes of an index of the second version.
const INDEX_MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// Bytes of the table at the beginning of an index that says where ids with each first byte end.
const FANOUT_BYTES: usize = 256 * 4;
/// Objects of a pack that are looked at; an index of so many takes 32 MiB.
pub const MAX_INDEX_OBJECTS: usize = 4_000_000;

/// The rule of a pack whose parts do not fit.
const BROKEN: Rule = ("pack/format", "the pack or its index is damaged");
/// The rule of an object that is unpacked from something huge.
pub const HUGE_STEP: Rule = ("pack/delta", "it is unpacked from an object of more than 16 MiB");

/// Where an object lies in its pack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Offset in the pack.
    pub offset: u64,
    /// The object.
    pub id: Id,
}

/// How an object lies in its pack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packed {
    /// As it is.
    Whole(ObjectKind),
    /// As a delta on the object so many bytes before it.
    Before(u64),
    /// As a delta on another object.
    On(Id),
}

/// The beginning of an object in a pack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// How it lies there.
    pub packed: Packed,
    /// Size of what is packed, unpacked: the object or the delta.
    pub bytes: u64,
    /// Bytes before the stream.
    pub length: usize,
}

/// Reads an index and returns where the objects lie, in their order in the pack.
pub fn parse_index(index: &[u8]) -> Result<Vec<Place>, Rule> {
    let mut places = match index.strip_prefix(&INDEX_MAGIC) {
        Some(rest) => second_version(rest),
        None => first_version(index),
    }
    .ok_or(BROKEN)?;
    places.sort_unstable();
    Ok(places)
}

fn first_version(index: &[u8]) -> Option<Vec<Place>> {
    let (fanout, rest) = index.split_at_checked(FANOUT_BYTES)?;
    let table = rest.get(..count(fanout)?.checked_mul(24)?)?;
    let place = |entry: &[u8]| {
        let (offset, id) = entry.split_first_chunk::<4>()?;
        Some(Place { offset: u64::from(u32::from_be_bytes(*offset)), id: *id.first_chunk::<20>()? })
    };
    table.chunks_exact(24).map(place).collect()
}

fn second_version(rest: &[u8]) -> Option<Vec<Place>> {
    let (fanout, rest) = rest.split_at_checked(FANOUT_BYTES)?;
    let count = count(fanout)?;
    let (ids, rest) = rest.split_at_checked(count.checked_mul(20)?)?;
    let (_checksums, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
    let (offsets, large) = rest.split_at_checked(count.checked_mul(4)?)?;
    let place = |(id, offset): (&[u8], &[u8])| {
        let offset = u32::from_be_bytes(*offset.first_chunk::<4>()?);
        let offset = match offset & 0x7fff_ffff {
            at if at == offset => u64::from(offset),
            at => {
                let start = usize::try_from(at).ok()?.checked_mul(8)?;
                u64::from_be_bytes(*large.get(start..)?.first_chunk::<8>()?)
            }
        };
        Some(Place { offset, id: *id.first_chunk::<20>()? })
    };
    ids.chunks_exact(20).zip(offsets.chunks_exact(4)).map(place).collect()
}

/// Returns the number of objects, which is the last entry of the table.
fn count(fanout: &[u8]) -> Option<usize> {
    let count = usize::try_from(u32::from_be_bytes(*fanout.last_chunk::<4>()?)).ok()?;
    (count <= MAX_INDEX_OBJECTS).then_some(count)
}

/// Reads the beginning of an object in a pack.
pub fn parse_head(raw: &[u8]) -> Result<Head, Rule> {
    head(raw).ok_or(BROKEN)
}

fn head(raw: &[u8]) -> Option<Head> {
    let mut bytes = raw.iter();
    let mut byte = *bytes.next()?;
    let kind = (byte >> 4) & 7;
    let (mut size, mut shift) = (u64::from(byte & 0x0f), 4);
    while byte & 0x80 != 0 {
        byte = *bytes.next()?;
        size |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift <= 57)?;
        shift += 7;
    }
    let packed = match kind {
        1 => Packed::Whole(ObjectKind::Commit),
        2 => Packed::Whole(ObjectKind::Tree),
        3 => Packed::Whole(ObjectKind::Blob),
        4 => Packed::Whole(ObjectKind::Tag),
        6 => {
            byte = *bytes.next()?;
            let mut back = u64::from(byte & 0x7f);
            while byte & 0x80 != 0 {
                byte = *bytes.next()?;
                back = back.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
            }
            Packed::Before(back)
        }
        7 => {
            let id = *bytes.as_slice().first_chunk::<20>()?;
            bytes = bytes.as_slice().get(20..)?.iter();
            Packed::On(id)
        }
        _ => return None,
    };
    Some(Head { packed, bytes: size, length: raw.len() - bytes.as_slice().len() })
}

/// Returns the size of what a delta gives, from the beginning of its stream.
fn result_bytes(stream: &[u8]) -> Option<u64> {
    let head = inflate_head(stream, SIZES_BYTES)?;
    let mut bytes = head.iter();
    size(&mut bytes)?;
    size(&mut bytes)
}

fn size(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut size, mut shift) = (0_u64, 0);
    loop {
        let byte = *bytes.next()?;
        size |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift <= 56)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
}

/// Returns the objects of a pack that are unpacked from something larger than [`MAX_STEP_BYTES`]: a base, a delta, or what a delta on the way gives.
/// What cannot be followed is among them. `read` gives the bytes of the pack from an offset, up to [`WINDOW_BYTES`].
///
/// Objects that are huge by themselves are not meant: their size is known before they are read.
pub fn huge_steps<E>(places: &[Place], mut read: impl FnMut(u64) -> Result<Vec<u8>, E>) -> Result<BTreeSet<Id>, E> {
    let mut steps = Vec::with_capacity(places.len());
    let mut by_id: Option<HashMap<Id, usize>> = None;
    for place in places {
        let window = read(place.offset)?;
        let base = match parse_head(&window) {
            Err(_) => Base::Unknown,
            Ok(Head { packed: Packed::Whole(_), bytes, .. }) => {
                steps.push(Step { base: Base::Itself, delta: 0, bytes: Some(bytes), largest: Some(bytes) });
                continue;
            }
            Ok(Head { packed: Packed::Before(back), .. }) => {
                let at = place.offset.checked_sub(back).filter(|_| back > 0);
                at.and_then(|at| places.binary_search_by_key(&at, |place| place.offset).ok())
                    .map_or(Base::Unknown, Base::Other)
            }
            Ok(Head { packed: Packed::On(id), .. }) => {
                let ids =
                    by_id.get_or_insert_with(|| places.iter().enumerate().map(|(at, place)| (place.id, at)).collect());
                ids.get(&id).copied().map_or(Base::Unknown, Base::Other)
            }
        };
        let delta = parse_head(&window).map_or(u64::MAX, |head| head.bytes);
        steps.push(Step { base, delta, bytes: None, largest: None });
    }
    for at in 0..steps.len() {
        follow(places, &mut steps, at, &mut read)?;
    }
    let is_huge =
        |step: &Step| step.base != Base::Itself && step.largest.is_none_or(|largest| largest > MAX_STEP_BYTES);
    Ok(places.iter().zip(&steps).filter(|(_, step)| is_huge(step)).map(|(place, _)| place.id).collect())
}

/// What an object is unpacked from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// It is whole.
    Itself,
    /// The object at this place.
    Other(usize),
    /// None that is in the pack.
    Unknown,
}

/// One object on the way to others.
struct Step {
    base: Base,
    /// Size of the delta.
    delta: u64,
    /// Size of the object, or a bound of it; nothing where it is not known yet.
    bytes: Option<u64>,
    /// The largest thing on the way to it; nothing where it is not known yet.
    largest: Option<u64>,
}

/// Follows the bases of an object down to one that is known, and then fills in what lies on the way back.
fn follow<E>(
    places: &[Place],
    steps: &mut [Step],
    from: usize,
    read: &mut impl FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<(), E> {
    let (mut chain, mut at) = (Vec::new(), from);
    while let Some(step) = steps.get_mut(at).filter(|step| step.largest.is_none()) {
        chain.push(at);
        // A ring of bases ends where it meets itself, and stays huge.
        (step.bytes, step.largest) = (Some(u64::MAX), Some(u64::MAX));
        match step.base {
            Base::Other(base) => at = base,
            Base::Itself | Base::Unknown => break,
        }
    }
    for at in chain.into_iter().rev() {
        let Some(step) = steps.get(at) else { continue };
        let base = match step.base {
            Base::Other(base) => steps.get(base).and_then(|base| base.bytes.zip(base.largest)),
            Base::Itself | Base::Unknown => None,
        };
        let (bytes, largest) = match base {
            None => (u64::MAX, u64::MAX),
            Some((base_bytes, largest)) => {
                let bound = step.delta.saturating_mul(base_bytes.clamp(1, MAX_COPY_BYTES));
                let bytes = if bound <= MAX_STEP_BYTES { bound } else { exact(places.get(at), read)? };
                (bytes, largest.max(step.delta).max(bytes))
            }
        };
        if let Some(step) = steps.get_mut(at) {
            step.bytes = Some(bytes);
            step.largest = Some(largest);
        }
    }
    Ok(())
}

/// Returns the size of what the delta at a place gives; as large as can be where it cannot be told.
fn exact<E>(place: Option<&Place>, read: &mut impl FnMut(u64) -> Result<Vec<u8>, E>) -> Result<u64, E> {
    let Some(place) = place else { return Ok(u64::MAX) };
    let window = read(place.offset)?;
    let stream = parse_head(&window).ok().and_then(|head| window.get(head.length..));
    Ok(stream.and_then(result_bytes).unwrap_or(u64::MAX))
}
