//! Weights of signed bytes: codes as in the file, and scales as integers of a unit that 256 columns of a row share
//! (`ops/product/fixed_point.rs`). They are computed when weights are packed, so that products only load them.

use std::marker::PhantomData;
use std::ops::Range;

use inferno_tensor::quant::{self, BlockFormat, Q8_0Block, Q8KBlock};

use super::codes::{CHUNK_GROUPS, CodeLayout, GROUP_COLS, PackedCodes, SignedCodes};
use super::quantized::QuantFormat;
use crate::lanes::{LANES, Lanes};

/// The largest factor: with codes of up to 128, the largest weight as an integer has 16 bits.
const LARGEST_FACTOR: f32 = 254.0;

/// Bytes of the units of 16 rows.
const UNIT_BYTES: usize = LANES * size_of::<f32>();

/// Rows of a file in groups of 32 signed bytes.
pub(crate) trait ByteRows: Copy + Send + Sync + 'static {
    /// Whether all groups of a chunk have the same scale, which is then the unit.
    const ONE_SCALE: bool;

    /// The scale of the group that begins at column `first`, whose columns are copied to `codes`.
    fn group(row: &[u8], first: usize, codes: &mut [i8; GROUP_COLS]) -> f32;
}

/// Weights of signed bytes in rows of form `R`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteWeights<R>(PhantomData<R>);

/// Rows of Q8_0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Q8_0Rows;

impl ByteRows for Q8_0Rows {
    const ONE_SCALE: bool = false;

    fn group(row: &[u8], first: usize, codes: &mut [i8; GROUP_COLS]) -> f32 {
        let block = &blocks::<Q8_0Block>(row)[first / GROUP_COLS];
        block.quants(codes);
        block.scale(0)
    }
}

/// Rows of Q8_K, with one scale per 256 columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Q8KRows;

impl ByteRows for Q8KRows {
    const ONE_SCALE: bool = true;

    fn group(row: &[u8], first: usize, codes: &mut [i8; GROUP_COLS]) -> f32 {
        let block = &blocks::<Q8KBlock>(row)[first / Q8KBlock::LEN];
        let mut quants = [0; Q8KBlock::LEN];
        block.quants(&mut quants);
        codes.copy_from_slice(&quants[first % Q8KBlock::LEN..][..GROUP_COLS]);
        block.scale(0)
    }
}

/// Rows of INT8: one single-precision scale, then any number of columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Int8Rows;

impl ByteRows for Int8Rows {
    const ONE_SCALE: bool = true;

    fn group(row: &[u8], first: usize, codes: &mut [i8; GROUP_COLS]) -> f32 {
        let (scale, columns) = row.split_first_chunk().expect("a row begins with its scale");
        let columns = &bytemuck::cast_slice(columns)[first..];
        let used = GROUP_COLS.min(columns.len());
        codes[..used].copy_from_slice(&columns[..used]);
        f32::from_le_bytes(*scale)
    }
}

fn blocks<B: BlockFormat>(row: &[u8]) -> &[B] {
    quant::blocks(row).expect("a weight's rows are whole blocks")
}

/// The unit of half-precision scales, and its inverse: zero if all scales are zero or one is not finite.
fn common_unit(scales: &[f32]) -> (f32, f32) {
    if scales.iter().any(|scale| !scale.is_finite()) {
        return (f32::NAN, 0.0);
    }
    let unit =
        scales.iter().fold(0.0, |largest: f32, scale| largest.max(scale.abs())) / LARGEST_FACTOR;
    (unit, if unit == 0.0 { 0.0 } else { 1.0 / unit })
}

impl<R: ByteRows> QuantFormat for ByteWeights<R> {
    type Codes = SignedCodes;

    const BYTE_FACTORS: bool = true;

    fn scale_bytes(groups: usize) -> usize {
        UNIT_BYTES + if R::ONE_SCALE { 0 } else { groups * LANES }
    }

    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]) {
        let num_groups = cols.len().div_ceil(GROUP_COLS);
        let (units, factors) = scales.split_at_mut(UNIT_BYTES);
        let mut groups = [[[0; GROUP_COLS]; LANES]; CHUNK_GROUPS];
        for (row, bytes) in rows.iter().enumerate() {
            let mut scales = [0.0; CHUNK_GROUPS];
            let first = cols.clone().step_by(GROUP_COLS);
            for ((first, scale), group) in first.zip(&mut scales).zip(&mut groups) {
                *scale = R::group(bytes, first, &mut group[row]);
            }
            let scales = &scales[..num_groups];
            let (unit, inverse) = if R::ONE_SCALE { (scales[0], 0.0) } else { common_unit(scales) };
            units[4 * row..4 * row + 4].copy_from_slice(&unit.to_le_bytes());
            if R::ONE_SCALE {
                continue;
            }
            for (number, (scale, group)) in scales.iter().zip(&mut groups).enumerate() {
                let factor = (scale * inverse).round_ties_even();
                factors[number * LANES + row] = factor.abs() as u8;
                // Encoders do not write negative scales; -128 becomes 127.
                if factor < 0.0 {
                    group[row] = group[row].map(i8::saturating_neg);
                }
            }
        }
        let codes = codes.chunks_exact_mut(SignedCodes::BYTES);
        for (group, codes) in groups.iter().take(num_groups).zip(codes) {
            SignedCodes::pack(group, codes);
        }
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], _num_groups: usize) -> L::F32 {
        lanes.load_f32(scales.first_chunk().expect("a unit per row"))
    }

    #[inline(always)]
    fn factor<L: Lanes>(
        lanes: L,
        scales: &[u8],
        group: usize,
        _half: usize,
        _inverse: L::F32,
    ) -> L::I32 {
        if R::ONE_SCALE {
            return lanes.splat_i32(1);
        }
        lanes.load_u8(scales[UNIT_BYTES + group * LANES..].first_chunk().expect("a factor per row"))
    }
}
