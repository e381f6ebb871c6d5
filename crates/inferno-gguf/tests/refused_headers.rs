//! Files whose header or metadata is wrong: each is a typed error that says where.

mod raw;

use inferno_gguf::{FileKind, Gguf, GgufError};
use raw::Raw;

const U32: u32 = 4;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const U64: u32 = 10;

fn refuse(raw: Raw) -> GgufError {
    Gguf::from_bytes(raw.0).expect_err("the file is wrong")
}

/// Asserts that a file is refused with an error of this pattern.
macro_rules! assert_refused {
    ($raw:expr, $pattern:pat $(if $guard:expr)?) => {
        let error = refuse($raw);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
    };
}

#[test]
fn an_empty_file_is_truncated_at_its_beginning() {
    assert_refused!(
        Raw::default(),
        GgufError::Truncated { offset: 0, needed: 4, available: 0, .. }
    );
}

#[test]
fn a_file_of_another_kind_is_refused_by_its_kind() {
    let safetensors = Raw::default().u64(20).bytes(b"{\"__metadata__\":{}}");
    assert_refused!(
        safetensors,
        GgufError::BadMagic { looks_like: Some(FileKind::Safetensors), found: [20, 0, 0, 0] }
    );
    let html = Raw::default().bytes(b"<!DOCTYPE html><html><body>404");
    assert_eq!(
        refuse(html).to_string(),
        "expected a GGUF file, which begins with the bytes 47 47 55 46 (\"GGUF\"), found [3c, 21, 44, 4f] at byte 0: \
         this looks like a web page, perhaps saved in place of the download"
    );
    assert_refused!(Raw::default().bytes(b"hello"), GgufError::BadMagic { looks_like: None, .. });
}

#[test]
fn versions_other_than_2_and_3_are_refused() {
    for version in [0, 1, 4, 0x0001_0003] {
        let raw = Raw(b"GGUF".to_vec()).u32(version).u64(0).u64(0);
        assert_refused!(raw, GgufError::UnsupportedVersion { version: found } if *found == version);
    }
}

#[test]
fn swapped_version_bytes_mean_big_endian() {
    let raw = Raw(b"GGUF\0\0\0\x02".to_vec()).zeros(16);
    assert_refused!(raw, GgufError::BigEndian { version: 2 });
}

#[test]
fn counts_that_the_file_cannot_hold_are_refused_before_anything_else() {
    assert_refused!(
        Raw::header(0, u64::MAX).zeros(130),
        GgufError::CountTooLarge { offset: 16, count: u64::MAX, max: 10, available: 130, .. }
    );
    assert_refused!(
        Raw::header(7, 0).zeros(24 * 7 - 1),
        GgufError::CountTooLarge { offset: 8, count: 7, max: 6, .. }
    );
}

#[test]
fn every_truncation_of_a_valid_file_is_refused_inside_it() {
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
        let error = refuse(Raw(valid.0[..len].to_vec()));
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
fn a_huge_string_is_refused_where_its_bytes_begin() {
    let raw = Raw::header(0, 1).key("k", STRING).u64(1 << 60).zeros(100);
    assert_refused!(raw, GgufError::Truncated { offset: 45, needed, available: 100, .. } if *needed == 1 << 60);
}

#[test]
fn a_key_longer_than_the_format_allows_is_refused() {
    let raw = Raw::header(0, 1).key(&"k".repeat(65_536), U32).u32(0);
    assert_refused!(raw, GgufError::NameTooLong { offset: 24, length: 65_536, max: 65_535, .. });
}

#[test]
fn keys_and_strings_that_are_not_utf_8_are_refused_where_they_stand() {
    let key = Raw::header(0, 1).string(b"k\xff").u32(U32).u32(0);
    assert_refused!(key, GgufError::InvalidUtf8 { offset: 24, what: "metadata key" });

    let value = Raw::header(0, 1).key("k", STRING).string(b"\xe2\x82");
    assert_refused!(value, GgufError::InvalidUtf8 { offset: 37, what: "metadata string" });

    let array = Raw::header(0, 1).key("k", ARRAY).u32(STRING).u64(3);
    let start = array.0.len() as u64;
    let array = array.string("good").string(b"\x80").string("good");
    assert_refused!(array, GgufError::InvalidUtf8 { offset, .. } if *offset == start + 12);
}

#[test]
fn a_character_split_over_two_strings_is_not_utf_8() {
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(STRING).u64(2);
    let start = raw.0.len() as u64;
    let raw = raw.string(b"\xc3").string(b"\xa9");
    assert_refused!(raw, GgufError::InvalidUtf8 { offset, .. } if *offset == start);
}

#[test]
fn a_repeated_key_is_refused_where_it_repeats() {
    let raw = Raw::header(0, 2).key("same", U32).u32(1).key("same", U32).u32(2);
    assert_refused!(raw, GgufError::DuplicateKey { key, offset: 44 } if key == "same");
}

#[test]
fn unknown_value_types_are_refused_alone_and_in_arrays() {
    let raw = Raw::header(0, 1).key("k", 13).u64(0);
    assert_refused!(raw, GgufError::UnknownValueType { key, type_id: 13, offset: 33 } if key == "k");
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(99).u64(0);
    assert_refused!(raw, GgufError::UnknownValueType { type_id: 99, offset: 37, .. });
}

#[test]
fn booleans_are_zero_or_one() {
    let raw = Raw::header(0, 1).key("k", BOOL).bytes(&[2]);
    assert_refused!(raw, GgufError::InvalidBool { found: 2, offset: 37 });
    let raw = Raw::header(0, 1).key("k", ARRAY).u32(BOOL).u64(3).bytes(&[0, 1, 255]);
    assert_refused!(raw, GgufError::InvalidBool { found: 255, offset: 51 });
}

#[test]
fn array_counts_that_the_file_cannot_hold_are_refused_for_every_element_type() {
    let sizes = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8];
    for (element_type, size) in sizes.into_iter().enumerate() {
        for count in [96 / size + 1, 1 << 40, u64::MAX] {
            let raw = Raw::header(0, 1).key("k", ARRAY).u32(element_type as u32).u64(count);
            assert_refused!(
                raw.zeros(96),
                GgufError::CountTooLarge { offset: 41, count: found, max, available: 96, .. }
                    if *found == count && *max == 96 / size
            );
        }
    }
}

#[test]
fn arrays_may_nest_32_levels_and_no_deeper() {
    let nested = |depth: usize| {
        let raw = Raw::header(0, 1).key("k", ARRAY);
        (1..depth).fold(raw, |raw, _| raw.u32(ARRAY).u64(1)).u32(U32).u64(0)
    };
    assert!(Gguf::from_bytes(nested(32).0).is_ok());
    assert_refused!(nested(33), GgufError::NestedTooDeep { offset: 421, max: 32, .. });
    assert_refused!(nested(1_000_000), GgufError::NestedTooDeep { max: 32, .. });
}

#[test]
fn the_alignment_is_a_power_of_two() {
    for alignment in [0, 3, 48, (1 << 31) + 1, 1 << 31] {
        let raw = Raw::header(0, 1).key("general.alignment", U32).u32(alignment);
        // After the header of 24 bytes stand the key with its length (25) and the type (4).
        assert_refused!(
            raw,
            GgufError::BadAlignment { found, offset: 53 } if *found == format!("u32 {alignment}")
        );
    }
    let raw = Raw::header(0, 1).key("general.alignment", STRING).string("32");
    assert_refused!(raw, GgufError::BadAlignment { found, offset: 53 } if found == "string \"32\"");
    // The format asks for u32, and other readers refuse anything else.
    let raw = Raw::header(0, 1).key("general.alignment", U64).u64(32);
    assert_refused!(raw, GgufError::BadAlignment { found, offset: 53 } if found == "u64 32");
}
