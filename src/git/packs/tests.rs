//! Packs whose small objects are unpacked from huge ones, written by hand and indexed by the real git program.
//!
//! Not here: packs in a push or a fetch (`intake.rs`).

use std::io::Write;
use std::process::{Command, Stdio};

use git2::ObjectType;

use super::super::Error;
use super::super::fixture::{Instance, run_git};
use super::super::intake::check_objects;
use super::super::network::Scope;
use super::*;
use crate::model::CommitId;

const MIB: usize = 1024 * 1024;

/// Frames bytes as a zlib stream without compressing them.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut chunks = bytes.chunks(65_535).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap();
        stream.push(u8::from(chunks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(chunk);
    }
    let (mut a, mut b) = (1_u64, 0_u64);
    for byte in bytes {
        a = (a + u64::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend(u32::try_from((b << 16) | a).unwrap().to_be_bytes());
    stream
}

/// The beginning of an object in a pack.
fn head(kind: u8, bytes: usize) -> Vec<u8> {
    let mut head = vec![(kind << 4) | u8::try_from(bytes & 15).unwrap()];
    let mut rest = bytes >> 4;
    while rest > 0 {
        *head.last_mut().unwrap() |= 0x80;
        head.push(u8::try_from(rest & 0x7f).unwrap());
        rest >>= 7;
    }
    head
}

fn back(mut offset: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(offset & 0x7f).unwrap()];
    offset >>= 7;
    while offset > 0 {
        offset -= 1;
        bytes.insert(0, 0x80 | u8::try_from(offset & 0x7f).unwrap());
        offset >>= 7;
    }
    bytes
}

fn size(mut size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while size > 0x7f {
        bytes.push(0x80 | u8::try_from(size & 0x7f).unwrap());
        size >>= 7;
    }
    bytes.push(u8::try_from(size).unwrap());
    bytes
}

/// A delta that copies the first bytes of its base, so many times.
fn copies(base: usize, each: usize, times: usize) -> Vec<u8> {
    let mut delta = [size(base), size(each * times)].concat();
    for _ in 0..times {
        let bytes = u32::try_from(each).unwrap().to_le_bytes();
        // Three bytes of size follow and none of the offset.
        delta.extend([0b1111_0000, bytes[0], bytes[1], bytes[2]]);
    }
    delta
}

/// Objects of a pack that is being written.
struct Pack {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Pack {
    fn new() -> Self {
        Self { bytes: Vec::from(*b"PACK\0\0\0\x02\0\0\0\0"), offsets: Vec::new() }
    }

    fn blob(mut self, bytes: &[u8]) -> Self {
        self.offsets.push(self.bytes.len());
        self.bytes.extend(head(3, bytes.len()));
        self.bytes.extend(stored(bytes));
        self
    }

    fn delta_on_last(mut self, delta: &[u8]) -> Self {
        let at = self.bytes.len();
        let base = at - self.offsets.last().unwrap();
        self.offsets.push(at);
        self.bytes.extend(head(6, delta.len()));
        self.bytes.extend(back(base));
        self.bytes.extend(stored(delta));
        self
    }

    fn delta_on(mut self, base: Oid, delta: &[u8]) -> Self {
        self.offsets.push(self.bytes.len());
        self.bytes.extend(head(7, delta.len()));
        self.bytes.extend(base.as_bytes());
        self.bytes.extend(stored(delta));
        self
    }

    /// Writes the pack into a repository and lets git make its index.
    fn put(mut self, instance: &Instance) {
        let count = u32::try_from(self.offsets.len()).unwrap();
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let mut sum = Command::new("sha1sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        sum.stdin.take().unwrap().write_all(&self.bytes).unwrap();
        let digits = String::from_utf8(sum.wait_with_output().unwrap().stdout).unwrap();
        self.bytes.extend(Oid::from_str(digits.split_at(40).0).unwrap().as_bytes());
        let path = instance.repository.git_dir().join("objects/pack/pack-by-hand.pack");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &self.bytes).unwrap();
        run_git(instance.repository.path(), &["index-pack", path.to_str().unwrap()]);
    }
}

fn zeros(bytes: usize) -> Oid {
    Oid::hash_object(ObjectType::Blob, &vec![0; bytes]).unwrap()
}

/// Reads a file of zeros from a pack, and looks at the pack as a push would bring it.
async fn check(pack: Pack, file: usize, expected: Option<&str>) {
    let instance = Instance::bare().await;
    pack.put(&instance);
    let intake = check_objects(&instance.repository.git_dir().join("objects"), Scope::Whole).unwrap();
    let raw = super::super::repository::open(instance.repository.git_dir()).unwrap();
    let tree = [&b"100644 a\0"[..], zeros(file).as_bytes()].concat();
    let tree = raw.odb().unwrap().write(ObjectType::Tree, &tree).unwrap();
    let text = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    let commit = raw.odb().unwrap().write(ObjectType::Commit, text.as_bytes()).unwrap();
    let commit = CommitId::parse(&commit.to_string()).unwrap();
    let read = instance.repository.read_tree(&commit, &[]).await;
    match expected {
        None => assert_eq!((intake, read.unwrap().get("a").unwrap().bytes.len()), (None, file)),
        Some(rule) => {
            assert_eq!(intake.map(|place| place.rule), Some(rule));
            let Err(Error::Hostile { source, .. }) = read else { panic!("{read:?}") };
            assert_eq!(source.rule, rule);
        }
    }
}

#[tokio::test]
async fn a_small_file_on_a_huge_base_is_not_unpacked() {
    let base = vec![0; 17 * MIB];
    check(Pack::new().blob(&base).delta_on_last(&copies(base.len(), 5, 1)), 5, Some("pack/delta")).await;
    let on = Pack::new().delta_on(zeros(base.len()), &copies(base.len(), 5, 1)).blob(&base);
    check(on, 5, Some("pack/delta")).await;
}

#[tokio::test]
async fn a_small_file_over_a_step_that_is_huge_is_not_unpacked() {
    let base = vec![0; MIB];
    let grown = copies(base.len(), base.len(), 400);
    let pack = Pack::new().blob(&base).delta_on_last(&grown).delta_on_last(&copies(400 * MIB, 5, 1));
    // Git needs the memory, so it does not make this index; what is not indexed is not read.
    let places = [12, pack.offsets[1], pack.offsets[2]];
    let at = |number: usize| crate::git::checks::pack::Place {
        offset: u64::try_from(places[number]).unwrap(),
        id: [u8::try_from(number).unwrap(); 20],
    };
    let places = [at(0), at(1), at(2)];
    let read = |offset: u64| {
        let offset = usize::try_from(offset).unwrap();
        Ok::<_, std::io::Error>(pack.bytes[offset..].iter().copied().take(WINDOW_BYTES).collect())
    };
    let huge = huge_steps(&places, read).unwrap();
    assert_eq!(huge, BTreeSet::from([[1; 20], [2; 20]]));
}

#[tokio::test]
async fn files_on_bases_of_an_allowed_size_are_read() {
    let base = vec![0; MIB];
    let pack =
        Pack::new().blob(&base).delta_on_last(&copies(MIB, MIB / 2, 3)).delta_on_last(&copies(3 * MIB / 2, 700, 1));
    check(pack, 700, None).await;
}

#[tokio::test]
async fn a_pack_that_git_made_of_many_versions_is_read_and_looked_through_once() {
    let instance = Instance::bare().await;
    let mut commits = Vec::new();
    for number in 0..60 {
        let text: String =
            (0..400).map(|line| format!("line {line} {}\n", if line == number * 5 { number } else { 0 })).collect();
        commits.push(instance.commit(&[("apps/a/x.yaml", &text)], "next").await);
    }
    instance.git(&["repack", "-adfq", "--depth=50", "--window=50"]);
    for commit in &commits {
        assert_eq!(instance.repository.read_tree(commit, &[]).await.unwrap().len(), 1);
    }
    assert_eq!(check_objects(&instance.repository.git_dir().join("objects"), Scope::Whole).unwrap(), None);
}
