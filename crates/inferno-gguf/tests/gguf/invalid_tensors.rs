//! Files with an invalid tensor index: each is a typed error with an offset.

use std::time::Instant;

use crate::raw::Raw;
use bytes::Bytes;
use inferno_gguf::{GgmlType, Gguf, GgufError};

const F32: u32 = 0;
const Q4_K: u32 = 12;

fn rejection(raw: Raw) -> GgufError {
    Gguf::from_bytes(raw.0).expect_err("the file is wrong")
}

/// A file with these index entries and enough data after them.
fn with_tensors(tensors: &[(&str, &[u64], u32, u64)]) -> Raw {
    let raw = Raw::header(tensors.len() as u64, 0);
    let with_index = tensors.iter().fold(raw, |raw, &(name, dims, type_id, data_offset)| {
        raw.tensor(name, dims, type_id, data_offset)
    });
    with_index.align(32).zeros(1024)
}

macro_rules! assert_rejected {
    ($raw:expr, $pattern:pat $(if $guard:expr)?) => {
        let error = rejection($raw);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
    };
}

#[test]
fn an_unknown_type_error_has_the_tensor_and_the_number() {
    for type_id in [4, 5, 42, u32::MAX] {
        assert_rejected!(
            with_tensors(&[("t", &[32], type_id, 0)]),
            GgufError::UnknownTensorType { tensor, type_id: found, offset: 45 }
                if tensor == "t" && *found == type_id
        );
    }
    // IQ4_KS of ik_llama.cpp.
    let message = rejection(with_tensors(&[("t", &[32], 144, 0)])).to_string();
    assert!(message.contains("known types are 0 to 41, except 4 and 5"), "{message}");
    assert!(message.contains("ik_llama.cpp; use another quantization"), "{message}");
    // Q4_2, which is older than GGUF.
    let message = rejection(with_tensors(&[("t", &[32], 4, 0)])).to_string();
    assert!(message.contains("a version of ggml from before GGUF; use another"), "{message}");
}

#[test]
fn more_than_four_dimensions_are_rejected() {
    assert!(Gguf::from_bytes(with_tensors(&[("t", &[1, 2, 3, 4], F32, 0)]).0).is_ok());
    assert_rejected!(
        with_tensors(&[("t", &[1, 1, 1, 1, 1], F32, 0)]),
        GgufError::TooManyDims { num_dims: 5, max: 4, offset: 33, .. }
    );
    let raw = Raw::header(1, 0).string("t").u32(u32::MAX).zeros(64);
    assert_rejected!(raw, GgufError::TooManyDims { num_dims: u32::MAX, .. });
}

#[test]
fn a_dimension_of_zero_is_rejected() {
    assert_rejected!(
        with_tensors(&[("a", &[1], F32, 0), ("t", &[8, 0], F32, 32)]),
        GgufError::ZeroDim { tensor, dims, offset: 57 } if tensor == "t" && dims == &[8, 0]
    );
}

#[test]
fn a_tensor_without_dimensions_is_a_single_value() {
    let gguf = Gguf::from_bytes(with_tensors(&[("t", &[], F32, 0)]).0).unwrap();
    let info = gguf.tensor("t").unwrap();
    assert_eq!((info.dims(), info.num_elements(), info.num_bytes()), (&[][..], 1, 4));
}

#[test]
fn dimensions_with_an_overflowing_product_are_rejected() {
    for dims in [
        &[1 << 32, 1 << 32][..],
        &[u64::MAX, 2],
        &[1 << 62, 1, 1, 1],
        &[1 << 16, 1 << 16, 1 << 16, 1 << 16],
    ] {
        assert_rejected!(
            with_tensors(&[("t", dims, F32, 0)]),
            GgufError::SizeOverflow { dims: found, offset: 24, .. } if found == dims
        );
    }
}

#[test]
fn rows_of_partial_blocks_are_rejected() {
    assert_rejected!(
        with_tensors(&[("t", &[128, 2], Q4_K, 0)]),
        GgufError::PartialBlock { row_len: 128, ggml_type: GgmlType::Q4_K, offset: 24, .. }
    );
}

#[test]
fn a_duplicate_tensor_is_an_error_at_its_second_entry() {
    assert_rejected!(
        with_tensors(&[("t", &[4], F32, 0), ("t", &[4], F32, 32)]),
        GgufError::DuplicateTensor { tensor, offset: 57 } if tensor == "t"
    );
}

#[test]
fn misaligned_payloads_are_rejected() {
    assert_rejected!(
        with_tensors(&[("t", &[4], F32, 16)]),
        GgufError::MisalignedTensor { data_offset: 16, alignment: 32, offset: 24, .. }
    );
}

#[test]
fn payloads_past_the_end_of_the_file_are_rejected() {
    // The index has 24 + 33 bytes, the data begin at 64, the file ends at 1088.
    assert!(Gguf::from_bytes(with_tensors(&[("t", &[256], F32, 0)]).0).is_ok());
    assert_rejected!(
        with_tensors(&[("t", &[257], F32, 0)]),
        GgufError::TensorOutOfRange {
            offset: 64,
            num_bytes: 1028,
            file_size: 1088,
            expected_size: 1092,
            ..
        }
    );
    assert_rejected!(
        with_tensors(&[("t", &[1], F32, u64::MAX - 31)]),
        GgufError::TensorOutOfRange { offset: u64::MAX, .. }
    );
}

#[test]
fn an_overlap_error_has_both_names() {
    assert_rejected!(
        with_tensors(&[
            ("last", &[8], F32, 64),
            ("middle", &[9], F32, 32),
            ("first", &[8], F32, 0),
        ]),
        GgufError::OverlappingTensors { first, first_end: 228, second, offset: 224 }
            if first == "middle" && second == "last"
    );
    assert_rejected!(
        with_tensors(&[("one", &[1], F32, 0), ("two", &[1], F32, 0)]),
        GgufError::OverlappingTensors { .. }
    );
}

#[test]
fn payloads_may_be_in_any_order_with_gaps() {
    let gguf =
        Gguf::from_bytes(with_tensors(&[("b", &[2], F32, 512), ("a", &[2], F32, 0)]).0).unwrap();
    assert_eq!(gguf.tensor("b").unwrap().offset(), 512);
    assert_eq!(gguf.tensors()[1].name(), "a");
}

#[test]
fn a_tensor_name_that_is_not_utf_8_is_rejected() {
    let raw = Raw::header(1, 0).string(b"\xff").zeros(24);
    assert_rejected!(raw, GgufError::InvalidUtf8 { what: "tensor name", offset: 24 });
}

/// A file of `count` tensors with payloads in reverse order of their entries.
fn with_many_tensors(count: u64) -> Vec<u8> {
    let raw = (0..count).fold(Raw::header(count, 0), |raw, i| {
        raw.tensor(&format!("{i:06}"), &[1], F32, 32 * (count - 1 - i))
    });
    raw.align(32).zeros(32 * count as usize).0
}

#[test]
fn many_tensors_are_read_in_linear_time() {
    const FEW: u64 = 12_500;
    const GROWTH: u64 = 8;
    let few = Bytes::from(with_many_tensors(FEW));
    let many = Bytes::from(with_many_tensors(GROWTH * FEW));
    let time = |bytes: &Bytes| {
        let started = Instant::now();
        Gguf::from_bytes(bytes.clone()).unwrap();
        started.elapsed()
    };
    // The fastest of several rounds, as other load on the machine only adds time.
    let rounds = (0..7).map(|_| (time(&few), time(&many)));
    let best = rounds.reduce(|best, round| (best.0.min(round.0), best.1.min(round.1)));
    let (few_time, many_time) = best.unwrap();
    // Large tables miss the caches more often, so linear work may grow somewhat faster than the
    // file. Quadratic work grows by the square.
    let most = few_time * 4 * GROWTH as u32;
    assert!(many_time < most, "{few_time:?}, but {many_time:?} for {GROWTH} times as many");
}
