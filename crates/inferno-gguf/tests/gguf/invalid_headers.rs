//! Files with an invalid header or metadata: each is a typed error with an offset.

use crate::raw::Raw;
use inferno_gguf::{FileKind, Gguf, GgufError};

const U32: u32 = 4;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const U64: u32 = 10;

fn rejection(raw: Raw) -> GgufError {
    Gguf::from_bytes(raw.0).expect_err("the file is wrong")
}

/// Asserts that a file is rejected with an error of this pattern.
macro_rules! assert_rejected {
    ($raw:expr, $pattern:pat $(if $guard:expr)?) => {
        let error = rejection($raw);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
    };
}

#[test]
fn an_empty_file_is_truncated_at_its_start() {
    assert_rejected!(
        Raw::default(),
        GgufError::Truncated { offset: 0, needed: 4, available: 0, .. }
    );
}

#[test]
fn an_error_names_the_kind_of_another_file() {
    let safetensors = Raw::default().u64(20).bytes(b"{\"__metadata__\":{}}");
    assert_rejected!(
        safetensors,
        GgufError::BadMagic { looks_like: Some(FileKind::Safetensors), found: [20, 0, 0, 0] }
    );
    let html = Raw::default().bytes(b"<!DOCTYPE html><html><body>404");
    assert_eq!(
        rejection(html).to_string(),
        "not a GGUF file: expected the bytes 47 47 55 46 (\"GGUF\") at byte 0, found [3c, 21, 44, 4f]; it looks like \
         a web page, possibly saved instead of the download"
    );
    assert_rejected!(Raw::default().bytes(b"hello"), GgufError::BadMagic { looks_like: None, .. });
}

#[test]
fn versions_other_than_2_and_3_are_rejected() {
    for version in [0, 1, 4, 0x0001_0003] {
        let raw = Raw(b"GGUF".to_vec()).u32(version).u64(0).u64(0);
        assert_rejected!(raw, GgufError::UnsupportedVersion { version: found } if *found == version);
    }
}

#[test]
fn swapped_version_bytes_are_reported_as_big_endian() {
    let raw = Raw(b"GGUF\0\0\0\x02".to_vec()).zeros(16);
    assert_rejected!(raw, GgufError::BigEndian { version: 2 });
}

#[test]
fn counts_that_exceed_the_file_are_rejected_first() {
    assert_rejected!(
        Raw::header(0, u64::MAX).zeros(130),
        GgufError::CountTooLarge { offset: 16, count: u64::MAX, max: 10, available: 130, .. }
    );
    assert_rejected!(
        Raw::header(7, 0).zeros(24 * 7 - 1),
        GgufError::CountTooLarge { offset: 8, count: 7, max: 6, .. }
    );
}

#[test]
fn every_truncation_of_a_valid_file_is_an_error_inside_it() {
    let valid = Raw::header(1, 3)
        .key("a", U32)
        .u32(7)
        .key("b", STRING)
        .string("text")
        .key("c", ARRAY)
        .u32(STRING)
        .u64(2)
        .string("one")
        .string("two")
        .tensor("t", &[4], 0, 0)
        .align(32)
        .zeros(16);
    assert!(Gguf::from_bytes(valid.0.clone()).is_ok());
    for len in 0..valid.0.len() {
        let error = rejection(Raw(valid.0[..len].to_vec()));
        let offset = match error {
            GgufError::Truncated { offset, needed, available, .. } => {
                assert!(needed > available);
                offset
            }
            GgufError::CountTooLarge { offset, count, max, .. } => {
                assert!(count > max);
                offset
            }
            GgufError::TensorOutOfRange { offset: 160, num_bytes: 16, file_size, .. } => file_size,
            error => panic!("{len}: {error:?}"),
        };
        assert!(offset <= len as u64);
    }
}

#[test]
fn a_huge_string_is_an_error_at_its_first_byte() {
    let raw = Raw::header(0, 1).key("k", STRING).u64(1 << 60).zeros(100);
    assert_rejected!(raw, GgufError::Truncated { offset: 45, needed, available: 100, .. } if *needed == 1 << 60);
}

#[test]
fn a_key_above_the_maximum_length_is_rejected() {
    let raw = Raw::header(0, 1).key(&"k".repeat(65_536), U32).u32(0);
    assert_rejected!(raw, GgufError::NameTooLong { offset: 24, length: 65_536, max: 65_535, .. });
}

#[test]
fn keys_and_strings_that_are_not_utf_8_are_errors_at_their_offset() {
    let key = Raw::header(0, 1).string(b"k\xff").u32(U32).u32(0);
    assert_rejected!(key, GgufError::InvalidUtf8 { offset: 24, what: "metadata key" });

    let value = Raw::header(0, 1).key("k", STRING).string(b"\xe2\x82");
    assert_rejected!(value, GgufError::InvalidString { key, offset: 37 } if key == "k");

    let array = Raw::header(0, 1).key("k", ARRAY).u32(STRING).u64(3);
    let start = array.0.len() as u64;
    let array = array.string("good").string(b"\x80").string("good");
    assert_rejected!(
        array,
        GgufError::InvalidString { key, offset } if key == "k" && *offset == start + 12
    );
}

#[test]
fn a_character_split_between_two_strings_is_not_utf_8() {
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(STRING).u64(2);
    let start = raw.0.len() as u64;
    let raw = raw.string(b"\xc3").string(b"\xa9");
    assert_rejected!(raw, GgufError::InvalidString { offset, .. } if *offset == start);
}

#[test]
fn a_duplicate_key_is_an_error_at_its_second_occurrence() {
    let raw = Raw::header(0, 2).key("same", U32).u32(1).key("same", U32).u32(2);
    assert_rejected!(raw, GgufError::DuplicateKey { key, offset: 44 } if key == "same");
}

#[test]
fn unknown_value_types_are_rejected_alone_and_in_arrays() {
    let raw = Raw::header(0, 1).key("k", 13).u64(0);
    assert_rejected!(raw, GgufError::UnknownValueType { key, type_id: 13, offset: 33 } if key == "k");
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(99).u64(0);
    assert_rejected!(raw, GgufError::UnknownValueType { type_id: 99, offset: 37, .. });
}

#[test]
fn booleans_other_than_zero_and_one_are_rejected() {
    let raw = Raw::header(0, 1).key("k", BOOL).bytes(&[2]);
    assert_rejected!(raw, GgufError::InvalidBool { key, found: 2, offset: 37 } if key == "k");
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(BOOL).u64(3).bytes(&[0, 1, 255]);
    assert_rejected!(raw, GgufError::InvalidBool { key, found: 255, offset: 51 } if key == "k");
}

#[test]
fn array_counts_that_exceed_the_file_are_rejected_for_every_element_type() {
    let sizes = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8];
    for (element_type, size) in sizes.into_iter().enumerate() {
        for count in [96 / size + 1, 1 << 40, u64::MAX] {
            let raw = Raw::header(0, 1).key("k", ARRAY).u32(element_type as u32).u64(count);
            assert_rejected!(
                raw.zeros(96),
                GgufError::CountTooLarge { offset: 41, count: found, max, available: 96, .. }
                    if *found == count && *max == 96 / size
            );
        }
    }
}

#[test]
fn arrays_nest_at_most_32_levels_deep() {
    let nested = |depth: usize| {
        let raw = Raw::header(0, 1).key("k", ARRAY);
        (1..depth).fold(raw, |raw, _| raw.u32(ARRAY).u64(1)).u32(U32).u64(0)
    };
    assert!(Gguf::from_bytes(nested(32).0).is_ok());
    assert_rejected!(nested(33), GgufError::NestedTooDeep { offset: 421, max: 32, .. });
    assert_rejected!(nested(1_000_000), GgufError::NestedTooDeep { max: 32, .. });
}

#[test]
fn alignments_other_than_powers_of_two_are_rejected() {
    for alignment in [0, 3, 48, (1 << 31) + 1, 1 << 31] {
        let raw = Raw::header(0, 1).key("general.alignment", U32).u32(alignment);
        // The header has 24 bytes, the key with its length 25, the type 4.
        assert_rejected!(
            raw,
            GgufError::BadAlignment { found, offset: 53 } if *found == format!("u32 {alignment}")
        );
    }
    let raw = Raw::header(0, 1).key("general.alignment", STRING).string("32");
    assert_rejected!(raw, GgufError::BadAlignment { found, offset: 53 } if found == "string \"32\"");
    // The format requires u32, and other readers reject anything else.
    let raw = Raw::header(0, 1).key("general.alignment", U64).u64(32);
    assert_rejected!(raw, GgufError::BadAlignment { found, offset: 53 } if found == "u64 32");
}
