//! The formats that rows of weights are stored in: decode and encode.
//!
//! Every quantized format cuts a row into blocks, and a block into groups that share a scale. A
//! stored weight is `scale(group) * quant - min(group)`, computed in single precision in that
//! order; [`BlockFormat`] says so once for all of them. Block structs consist of bytes alone, so a
//! block may lie at any address: [`blocks`] views the bytes of a mapped file without copying.
//!
//! **To add a format**: write one file here (the block struct with its layout and size assertion,
//! and its [`BlockFormat`]), name it in [`DType`], and add its line to the table in `table.rs`. The
//! tests run over [`DType::ALL`]; the script in `tests/fixtures` takes the name of the new format
//! for its independent answers.

mod bits;
mod block;
mod floats;
mod int8;
mod iq4_nl;
mod iq4_xs;
mod k_scales;
mod nearest;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod search;
mod table;

pub use block::{BlockFormat, blocks};
pub use iq4_nl::{IQ4_LEVELS, Iq4NlBlock};
pub use iq4_xs::Iq4XsBlock;
pub use q2_k::Q2KBlock;
pub use q3_k::Q3KBlock;
pub use q4_0::Q4_0Block;
pub use q4_1::Q4_1Block;
pub use q4_k::Q4KBlock;
pub use q5_0::Q5_0Block;
pub use q5_1::Q5_1Block;
pub use q5_k::Q5KBlock;
pub use q6_k::Q6KBlock;
pub use q8_0::Q8_0Block;
pub(crate) use table::FORMATS;

use crate::{DType, TensorError};

/// The weights in a block of the simple formats.
pub const QK: usize = 32;

/// The weights in a super-block of the K formats.
pub const QK_K: usize = 256;

/// Decodes one stored row to single precision.
///
/// **Shapes**: `bytes` is [`DType::row_bytes`]`(out.len())` long, at any alignment. For the block
/// formats several whole rows may be decoded at once; an [`DType::Int8`] row starts with its scale
/// and stands alone.
///
/// **Errors**: [`TensorError::PartialBlock`], [`TensorError::BytesMismatch`].
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), TensorError> {
    check_row_bytes(dtype, out.len(), bytes.len())?;
    (FORMATS[dtype as usize].decode)(bytes, out);
    Ok(())
}

/// Encodes one row of single-precision values.
///
/// The floats and Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 give the same bits as the format's reference; the
/// K and IQ4 formats search for the scales with the least weighted squared error.
///
/// **Shapes**: `out` is [`DType::row_bytes`]`(row.len())` long.
///
/// **Errors**: [`TensorError::PartialBlock`], [`TensorError::BytesMismatch`]; for the quantized
/// formats [`TensorError::NonFinite`] on a NaN or an infinity and [`TensorError::ScaleOverflow`] on
/// values too large. `out` is unspecified then. The float formats keep NaN and infinity, and F16
/// rounds what is too large to infinity.
pub fn encode_row(dtype: DType, row: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
    check_row_bytes(dtype, row.len(), out.len())?;
    if !dtype.is_float() {
        if let Some((index, &value)) = row.iter().enumerate().find(|(_, value)| !value.is_finite())
        {
            return Err(TensorError::NonFinite { dtype, index, value });
        }
    }
    (FORMATS[dtype as usize].encode)(row, out)
}

fn check_row_bytes(dtype: DType, cols: usize, found: usize) -> Result<(), TensorError> {
    let expected = dtype.row_bytes(cols)?;
    if found != expected {
        return Err(TensorError::BytesMismatch { dtype, cols, expected, found });
    }
    Ok(())
}
