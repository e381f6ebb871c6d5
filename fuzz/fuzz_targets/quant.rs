//! Decodes any bytes as a row of any format, and encodes any values; what encodes is finite.

#![no_main]

use inferno_tensor::{DType, TensorError, quant};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    let dtype = DType::ALL[usize::from(first) % DType::ALL.len()];

    let header_bytes = dtype.row_bytes(0).expect("an empty row has a size");
    let Some(block_bytes) = bytes.len().checked_sub(header_bytes) else {
        return;
    };
    let num_blocks = block_bytes / dtype.block_bytes();
    let mut values = vec![0.0; num_blocks * dtype.block_len()];
    let row_bytes = dtype.row_bytes(values.len()).expect("whole blocks");
    quant::decode_row(dtype, &bytes[..row_bytes], &mut values).expect("the sizes agree");

    let row: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")))
        .collect();
    let row = &row[..row.len() / dtype.block_len() * dtype.block_len()];
    let mut stored = vec![0; dtype.row_bytes(row.len()).expect("whole blocks")];
    match quant::encode_row(dtype, row, &mut stored) {
        Ok(()) => {
            let mut decoded = vec![0.0; row.len()];
            quant::decode_row(dtype, &stored, &mut decoded).expect("the sizes agree");
            assert!(dtype.is_float() || decoded.iter().all(|value| value.is_finite()));
        }
        Err(TensorError::NonFinite { .. } | TensorError::ScaleOverflow { .. }) => {}
        Err(error) => panic!("{error}"),
    }
});
