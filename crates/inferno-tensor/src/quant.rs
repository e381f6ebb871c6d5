//! Encoding and decoding rows of weights in every storage format.
//!
//! Every quantized format divides a row into blocks, and a block into groups that share a scale. A
//! weight is `scale(group) * quant - min(group)`, computed in single precision in that order, as
//! implemented by [`BlockFormat`]. Block structs consist only of bytes and need no alignment:
//! [`blocks`] views the bytes of a mapped file without copying.
//!
//! **To add a format**, write one file here (the block struct with its layout, size assertion,
//! [`BlockFormat`] and [`EncodeBlock`]), add a variant to [`DType`] and a line to `table.rs`. The tests cover
//! [`DType::ALL`]; add the format's name to the script in `tests/fixtures`, which writes the
//! reference results.

mod bits;
mod block;
mod codebook_block;
mod codebook_elements;
mod floats;
mod int8;
mod iq1_m;
mod iq1_s;
mod iq2_s;
mod iq2_xs;
mod iq2_xxs;
mod iq3_s;
mod iq3_xxs;
mod iq4_levels;
mod iq4_nl;
mod iq4_xs;
mod k_scales;
mod mxfp4;
mod nearest;
mod nvfp4;
mod packed_codebooks;
mod q1_0;
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
mod q8_k;
mod search;
mod table;
mod tq1_0;
mod tq2_0;

pub use block::{AffineFactors, BlockFormat, EncodeBlock, SuperBlock, SymmetricFactors, blocks};
pub use codebook_block::CodebookBlock;
pub use int8::Int8Row;
pub use iq1_m::Iq1MBlock;
pub use iq1_s::Iq1SBlock;
pub use iq2_s::Iq2SBlock;
pub use iq2_xs::Iq2XsBlock;
pub use iq2_xxs::Iq2XxsBlock;
pub use iq3_s::Iq3SBlock;
pub use iq3_xxs::Iq3XxsBlock;
pub use iq4_levels::IQ4_LEVELS;
pub use iq4_nl::Iq4NlBlock;
pub use iq4_xs::Iq4XsBlock;
pub use mxfp4::{MXFP4_LEVELS, Mxfp4Block};
pub use nvfp4::Nvfp4Block;
pub use q1_0::Q1_0Block;
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
pub use q8_k::Q8KBlock;
pub(crate) use table::FORMATS;
pub use tq1_0::Tq1_0Block;
pub use tq2_0::Tq2_0Block;

use crate::{DType, TensorError};
use block::Search;

/// Number of weights in a block of the simple formats.
pub const QK: usize = 32;

/// Number of weights in a super-block of the K formats.
pub const QK_K: usize = 256;

/// Decodes one row to single precision.
///
/// **Shapes**: `bytes` is [`DType::row_bytes`]`(out.len())` long, at any alignment. Several rows can
/// be decoded at once, except of [`DType::Int8`], whose rows start with their scale.
///
/// **Errors**: [`TensorError::PartialBlock`], [`TensorError::BytesMismatch`].
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), TensorError> {
    check_row_bytes(dtype, out.len(), bytes.len())?;
    (FORMATS[dtype as usize].decode)(bytes, out);
    Ok(())
}

/// Encodes one row of single-precision values.
///
/// For the floats and Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, TQ1_0 and TQ2_0, the result is bit-identical to that of the format's
/// reference implementation; the K and IQ formats search for the scales with the least weighted squared error. Weights in
/// NVFP4 are divided by a [scale of their matrix](Nvfp4Block::matrix_scale) first.
///
/// **Shapes**: `out` is [`DType::row_bytes`]`(row.len())` long.
///
/// **Errors**: [`TensorError::PartialBlock`], [`TensorError::BytesMismatch`];
/// [`TensorError::NeedsImportance`] for [some formats](DType::needs_importance); for the quantized
/// formats [`TensorError::NonFinite`] for NaN and infinity and [`TensorError::ScaleOverflow`] for
/// values that are too large. The content of `out` is then unspecified. The float formats store NaN
/// and infinity, and F16 and BF16 round values that are too large to infinity; [`check_range`] finds them.
pub fn encode_row(dtype: DType, row: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
    check_values(dtype, row, out)?;
    (FORMATS[dtype as usize].encode)(row, Search::Thorough, out)
}

/// Encodes one row as [`encode_row`] does, but for the least error of a product: `importance` is the mean square of the
/// product's inputs, one per column, in any unit. Its zeros count a little.
///
/// Formats that do not [use](DType::uses_importance) the importance are encoded as without it.
///
/// **Shapes**, **errors**: as [`encode_row`], with any format; [`TensorError::Importance`] unless `importance` has one value
/// per column, each finite and not negative.
pub fn encode_row_weighted(
    dtype: DType,
    row: &[f32],
    importance: &[f32],
    out: &mut [u8],
) -> Result<(), TensorError> {
    check_values(dtype, row, out)?;
    let is_invalid = |value: &f32| !(value.is_finite() && *value >= 0.0);
    let (expected, found) = (row.len(), importance.len());
    let invalid = importance.iter().copied().find(is_invalid);
    if found != expected || invalid.is_some() {
        return Err(TensorError::Importance { expected, found, invalid });
    }
    (FORMATS[dtype as usize].encode)(row, Search::Weighted(importance), out)
}

/// Encodes one row as [`encode_row`] does, except that Q4_K is encoded several times as fast with a
/// slightly larger error: for weights that are quantized at every start of a program.
///
/// **Shapes**, **errors**: as [`encode_row`].
pub fn encode_row_fast(dtype: DType, row: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
    check_values(dtype, row, out)?;
    (FORMATS[dtype as usize].encode)(row, Search::Fast, out)
}

/// Checks that no finite value becomes infinite in a float format.
///
/// Weights are checked before they are encoded. Activations need not be: infinity is what they would overflow to.
///
/// **Errors**: [`TensorError::OutOfRange`]. The quantized formats report values that are too large when they are encoded.
pub fn check_range(dtype: DType, row: &[f32]) -> Result<(), TensorError> {
    let limit = match dtype {
        DType::F16 => floats::F16_OVERFLOW,
        DType::BF16 => floats::BF16_OVERFLOW,
        _ => return Ok(()),
    };
    let overflows = |value: &f32| value.is_finite() && value.abs() >= limit;
    match row.iter().position(overflows) {
        Some(index) => Err(TensorError::OutOfRange { dtype, index, value: row[index] }),
        None => Ok(()),
    }
}

/// Checks what can be encoded.
fn check_values(dtype: DType, row: &[f32], out: &[u8]) -> Result<(), TensorError> {
    check_row_bytes(dtype, row.len(), out.len())?;
    if !dtype.is_float() {
        if let Some((index, &value)) = row.iter().enumerate().find(|(_, value)| !value.is_finite())
        {
            return Err(TensorError::NonFinite { dtype, index, value });
        }
    }
    Ok(())
}

fn check_row_bytes(dtype: DType, cols: usize, found: usize) -> Result<(), TensorError> {
    let expected = dtype.row_bytes(cols)?;
    if found != expected {
        return Err(TensorError::BytesMismatch { dtype, cols, expected, found });
    }
    Ok(())
}
