//! The table of formats, compared with the constants of the Python package `gguf`
//! (`fixtures/make_fixtures.py`).

use std::collections::BTreeSet;

use inferno_tensor::DType;

#[test]
fn names_ids_and_block_sizes_match_the_file_format() {
    let expected: BTreeSet<_> =
        include_str!("../fixtures/types.txt").lines().map(str::to_owned).collect();
    let described: BTreeSet<String> = DType::ALL
        .into_iter()
        .filter_map(|dtype| {
            let id = dtype.ggml_id()?;
            assert_eq!(DType::from_ggml_id(id), Some(dtype));
            Some(format!("{dtype} {id} {} {}", dtype.block_len(), dtype.block_bytes()))
        })
        .collect();
    assert_eq!(described, expected);
}

#[test]
fn unsupported_ids_have_no_format() {
    for id in [4, 5, 9, 24, 28, 31, 36, 42, u32::MAX] {
        assert_eq!(DType::from_ggml_id(id), None, "{id}");
    }
}

#[test]
fn an_int8_row_has_four_more_bytes_than_values() {
    assert_eq!(DType::Int8.row_bytes(10), Ok(14));
    assert_eq!(DType::Int8.ggml_id(), None);
    assert_eq!(DType::Q4K.row_bytes(512), Ok(288));
}
