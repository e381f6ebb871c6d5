//! Decoding and encoding, compared with the Python package `gguf` (`fixtures/make_fixtures.py`).

use std::path::Path;

use inferno_tensor::{DType, quant};

const NUM_BLOCKS: usize = 8;
const NUM_FLOATS: usize = 64;
const ENCODE_LEN: usize = 512;

fn fixture(folder: &str, dtype: DType) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder)
        .join(format!("{dtype}.bin"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn every_file_format_decodes_bit_identically_to_the_reference_at_any_alignment() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.ggml_id().is_some()) {
        let cols = if dtype.is_float() { NUM_FLOATS } else { NUM_BLOCKS * dtype.block_len() };
        let fixture = fixture("decode", dtype);
        let (stored, expected) = fixture.split_at(dtype.row_bytes(cols).unwrap());
        let expected = floats(expected);
        assert_eq!(expected.len(), cols, "{dtype}");

        let mut shifted = vec![0; stored.len() + 8];
        for offset in 0..8 {
            let stored_again = &mut shifted[offset..][..stored.len()];
            stored_again.copy_from_slice(stored);
            let mut decoded = vec![f32::NAN; cols];
            quant::decode_row(dtype, stored_again, &mut decoded).unwrap();
            assert_eq!(bits(&decoded), bits(&expected), "{dtype} at offset {offset}");
        }
    }
}

#[test]
fn floats_and_simple_formats_encode_bit_identically_to_the_reference() {
    let encoded_by_reference = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::Q8_0,
        DType::Q4_0,
        DType::Q4_1,
        DType::Q5_0,
        DType::Q5_1,
        DType::Mxfp4,
        DType::Tq1_0,
        DType::Tq2_0,
    ];
    for dtype in encoded_by_reference {
        let fixture = fixture("encode", dtype);
        let (values, expected) = fixture.split_at(4 * ENCODE_LEN);
        let mut stored = vec![0xaa; expected.len()];
        quant::encode_row(dtype, &floats(values), &mut stored).unwrap();
        for (i, (stored, expected)) in
            stored.chunks(dtype.block_bytes()).zip(expected.chunks(dtype.block_bytes())).enumerate()
        {
            assert_eq!(stored, expected, "{dtype} block {i}");
        }
    }
}
