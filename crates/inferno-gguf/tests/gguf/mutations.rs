//! Randomly mutated files: the reader accepts or rejects them, never panics, and never
//! allocates more than a multiple of the file's size.

use std::fs;
use std::path::Path;

use crate::counting_allocator::{CountingAllocator, peak_bytes};
use inferno_gguf::{Gguf, GgufWriter};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Memory of the shortest entries for their records, names and hash table entries, while
/// the tables grow.
const MAX_PEAK_PER_BYTE: usize = 16;
const MAX_PEAK_BASE: usize = 16 * 1024;

const FIXTURES: [&str; 4] =
    ["metadata.gguf", "tensor-types.gguf", "version-2.gguf", "split-00001-of-00003.gguf"];

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// One mutation of a file.
#[derive(Debug, Clone)]
enum Mutation {
    FlipBit(Index, u8),
    /// Overwrites eight bytes, the size of counts, lengths and offsets.
    Overwrite(Index, u64),
    Truncate(Index),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    /// Copies a part of the file to another position.
    Splice(Index, Index, usize),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::FlipBit(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Self::Overwrite(at, value) => {
                let at = at.index(bytes.len());
                bytes.iter_mut().skip(at).zip(value.to_le_bytes()).for_each(|(b, v)| *b = v);
            }
            Self::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Self::Remove(at, len) => {
                let at = at.index(bytes.len());
                bytes.drain(at..bytes.len().min(at + len));
            }
            Self::Insert(at, inserted) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, inserted.iter().copied());
            }
            Self::Splice(from, to, len) => {
                let from = from.index(bytes.len());
                let part = bytes[from..bytes.len().min(from + len)].to_vec();
                let to = to.index(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    // Small numbers misalign fields; large ones provoke overflows.
    let number = prop_oneof![
        0..64_u64,
        any::<u64>(),
        (0..64_u32).prop_map(|bits| 1 << bits),
        (0..64_u32).prop_map(|bits| u64::MAX >> bits),
    ];
    prop_oneof![
        4 => (at(), 0..8_u8).prop_map(|(at, bit)| Mutation::FlipBit(at, bit)),
        4 => (at(), number).prop_map(|(at, value)| Mutation::Overwrite(at, value)),
        1 => at().prop_map(Mutation::Truncate),
        1 => (at(), 1..64_usize).prop_map(|(at, len)| Mutation::Remove(at, len)),
        1 => (at(), vec(any::<u8>(), 1..64)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (at(), at(), 1..512_usize).prop_map(|(from, to, len)| Mutation::Splice(from, to, len)),
    ]
}

/// Reads a file within bounded memory; a file that is accepted is valid and can be rewritten.
fn check(bytes: Vec<u8>) {
    let max_peak = MAX_PEAK_BASE + MAX_PEAK_PER_BYTE * bytes.len();
    let file_size = bytes.len() as u64;
    let (result, peak) = peak_bytes(|| Gguf::from_bytes(bytes));
    assert!(peak <= max_peak, "{peak} bytes allocated for a file of {file_size}");
    let gguf = match result {
        Ok(gguf) => gguf,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };

    let Ok(mut writer) = GgufWriter::new(gguf.metadata()) else {
        panic!("metadata that was read is refused when written");
    };
    for info in gguf.tensors() {
        assert_eq!(gguf.data(info).len(), info.num_bytes());
        assert!(info.file_offset() + info.num_bytes() as u64 <= file_size);
        if writer.add_tensor(info.name(), info.dims(), info.ggml_type()).is_err() {
            assert!(info.name().len() > 63, "{info}");
            return;
        }
    }
    let mut payloads = writer.in_memory();
    for info in gguf.tensors() {
        payloads.write_tensor(info.name(), &gguf.data(info)).unwrap();
    }
    let copy = Gguf::from_bytes(payloads.finish().unwrap()).unwrap();
    // As text, because NaN is not equal to itself.
    assert_eq!(format!("{:?}", copy.metadata()), format!("{:?}", gguf.metadata()));
    for (copied, info) in copy.tensors().iter().zip(gguf.tensors()) {
        assert_eq!(copied.to_string(), info.to_string());
        assert_eq!(copy.data(copied), gguf.data(info));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn mutated_files_are_accepted_or_rejected_within_bounded_memory(
        name in select(&FIXTURES[..]),
        mutations in vec(mutation(), 0..6),
    ) {
        let mut bytes = fixture(name);
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
        check(bytes);
    }

    #[test]
    fn arbitrary_bytes_after_a_valid_start_are_accepted_or_rejected(
        counts in (0..4_u64, 0..4_u64),
        rest in vec(any::<u8>(), 0..512),
    ) {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(counts.0.to_le_bytes());
        bytes.extend(counts.1.to_le_bytes());
        bytes.extend(rest);
        check(bytes);
    }
}

#[test]
fn flipping_any_bit_of_a_small_file_never_panics() {
    let bytes = fixture("split-00001-of-00003.gguf");
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        check(damaged);
    }
}

/// A file of one key whose value is an array of `count` elements of `element_bytes` each.
fn one_array(element_type: u32, count: u64, element: &[u8]) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.push(b'k');
    bytes.extend(9_u32.to_le_bytes());
    bytes.extend(element_type.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(element.repeat(count as usize));
    bytes
}

#[test]
fn files_of_minimal_entries_stay_within_the_memory_bound() {
    const COUNT: u64 = 50_000;
    // Empty strings, empty nested arrays, single bytes.
    check(one_array(8, COUNT, &0_u64.to_le_bytes()));
    check(one_array(9, COUNT, &[0; 12]));
    check(one_array(0, COUNT, &[0]));

    // The shortest entries of metadata: a short key and one byte.
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(COUNT.to_le_bytes());
    for i in 0..COUNT {
        push_string(&mut bytes, &format!("{i:05}"));
        bytes.extend([0; 5]);
    }
    check(bytes);

    // The shortest tensors: a short name, no dimensions, one byte of I8, no padding.
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(COUNT.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    push_string(&mut bytes, "general.alignment");
    bytes.extend([4_u32, 1].map(u32::to_le_bytes).concat());
    for i in 0..COUNT {
        push_string(&mut bytes, &format!("{i:05}"));
        bytes.extend([0_u32, 24].map(u32::to_le_bytes).concat());
        bytes.extend(i.to_le_bytes());
    }
    bytes.extend(vec![0; COUNT as usize]);
    assert!(Gguf::from_bytes(bytes.clone()).is_ok());
    check(bytes);
}

fn push_string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
