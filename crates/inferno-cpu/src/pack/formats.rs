//! The table of weight formats: what the rest of the crate knows of one.
//!
//! **To add a format**: say here how its codes and scales are stored, with a new kind in `codes.rs`
//! or `scales.rs` if none fits, and add its line. The tests run over all lines.
//!
//! Bytes that a packed weight takes, over those in the file, for rows and columns that fill panels
//! and blocks:
//!
//! | format | ratio | | format | ratio |
//! |---|---|---|---|---|
//! | F32, F16, BF16 | 1 | | Q2_K | 1 |
//! | Q8_0 | 1 | | Q3_K | 116 / 110 |
//! | Q4_0, Q4_1 | 1 | | Q4_K | 148 / 144 |
//! | Q5_0, Q5_1 | 1 | | Q5_K | 180 / 176 |
//! | IQ4_NL | 1 | | Q6_K | 212 / 210 |
//! | INT8 | 65 / 64 | | IQ4_XS | 140 / 136 |

use inferno_tensor::DType;
use inferno_tensor::quant::{
    Iq4NlBlock, Iq4XsBlock, Q2KBlock, Q3KBlock, Q4_0Block, Q4_1Block, Q4KBlock, Q5_0Block,
    Q5_1Block, Q5KBlock, Q6KBlock, Q8_0Block,
};

use super::codes::{CHUNK_COLS, CHUNK_GROUPS, Codes, GROUP_COLS, Levels, Signed, Unsigned};
use super::float::{BF16, F16, F32, FloatFormat};
use super::quantized::{FixedPointFormat, Int8, Packed, QuantFormat};
use super::scales::{Half, HalfMin, Super, SuperMin, SuperMin4};
use crate::isa::Level;
use crate::lanes::LANES;
use crate::memory::LINE_BYTES;
use crate::ops::product::{FloatProduct, Product, fixed_point, grouped};

/// How a product takes its activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// As they are.
    Floats,
    /// Quantized, with a scale for each 32 columns.
    Groups,
    /// Quantized, with a scale for each 256 columns.
    Runs,
}

/// How weights of one type are packed and multiplied.
pub(crate) struct Format {
    /// The type in the file.
    pub(crate) dtype: DType,
    /// How products take their activations.
    pub(crate) input: Input,
    /// Bytes of a panel of so many columns.
    pub(crate) panel_bytes: fn(usize) -> usize,
    /// Packs up to 16 rows of so many columns into a zeroed panel.
    pub(crate) pack: fn(&[&[u8]], usize, &mut [u8]),
    /// Multiplies.
    pub(crate) product: fn(Level, Product<'_>),
}

static FORMATS: [Format; DType::ALL.len()] = [
    Format::float::<F32>(DType::F32),
    Format::float::<F16>(DType::F16),
    Format::float::<BF16>(DType::BF16),
    Format::grouped::<Packed<Q8_0Block, Signed, Half>>(DType::Q8_0),
    Format::fixed_point::<Packed<Q4_0Block, Unsigned<4, 8>, Half>>(DType::Q4_0),
    Format::fixed_point::<Packed<Q4_1Block, Unsigned<4, 0>, HalfMin>>(DType::Q4_1),
    Format::fixed_point::<Packed<Q5_0Block, Unsigned<5, 16>, Half>>(DType::Q5_0),
    Format::fixed_point::<Packed<Q5_1Block, Unsigned<5, 0>, HalfMin>>(DType::Q5_1),
    Format::fixed_point::<Packed<Q2KBlock, Unsigned<2, 0>, SuperMin4>>(DType::Q2K),
    Format::fixed_point::<Packed<Q3KBlock, Unsigned<3, 4>, Super<16>>>(DType::Q3K),
    Format::fixed_point::<Packed<Q4KBlock, Unsigned<4, 0>, SuperMin>>(DType::Q4K),
    Format::fixed_point::<Packed<Q5KBlock, Unsigned<5, 0>, SuperMin>>(DType::Q5K),
    Format::fixed_point::<Packed<Q6KBlock, Unsigned<6, 32>, Super<16>>>(DType::Q6K),
    Format::grouped::<Packed<Iq4NlBlock, Levels, Half>>(DType::Iq4Nl),
    Format::grouped::<Packed<Iq4XsBlock, Levels, Super<8>>>(DType::Iq4Xs),
    Format::grouped::<Int8>(DType::Int8),
];

impl Format {
    /// The format for weights of type `dtype`, where there is one.
    pub(crate) fn of(dtype: DType) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.dtype == dtype)
    }

    const fn float<F: FloatFormat>(dtype: DType) -> Self {
        Self {
            dtype,
            input: Input::Floats,
            panel_bytes: |cols| whole_lines(cols * LANES * F::BYTES),
            pack: |rows, _cols, panel| F::pack(rows, panel),
            product: |level, product| level.run(FloatProduct::<F>::new(product)),
        }
    }

    /// Weights that are multiplied as signed bytes.
    const fn grouped<F: QuantFormat>(dtype: DType) -> Self {
        Self::quantized::<F>(dtype, Input::Groups, grouped::<F>)
    }

    /// Weights that are multiplied as 16-bit integers: their codes are so short that they leave their
    /// scales enough bits.
    const fn fixed_point<F: FixedPointFormat>(dtype: DType) -> Self {
        Self::quantized::<F>(dtype, Input::Runs, fixed_point::<F>)
    }

    const fn quantized<F: QuantFormat>(
        dtype: DType,
        input: Input,
        product: fn(Level, Product<'_>),
    ) -> Self {
        Self {
            dtype,
            input,
            panel_bytes: |cols| {
                let groups = cols.div_ceil(GROUP_COLS);
                let whole = groups / CHUNK_GROUPS * chunk_bytes::<F>(CHUNK_GROUPS);
                whole_lines(whole + chunk_bytes::<F>(groups % CHUNK_GROUPS))
            },
            pack: |rows, cols, panel| {
                let chunks = panel.chunks_mut(chunk_bytes::<F>(CHUNK_GROUPS));
                for (first, chunk) in (0..cols).step_by(CHUNK_COLS).zip(chunks) {
                    let cols = first..cols.min(first + CHUNK_COLS);
                    let groups = cols.len().div_ceil(GROUP_COLS);
                    let (scales, codes) = chunk.split_at_mut(padded_scale_bytes::<F>(groups));
                    F::pack(rows, cols, &mut scales[..F::scale_bytes(groups)], codes);
                }
            },
            product,
        }
    }
}

/// `bytes` rounded up to cache lines, at least one, so that even an empty weight has panels.
fn whole_lines(bytes: usize) -> usize {
    bytes.max(1).next_multiple_of(LINE_BYTES)
}

/// Bytes of a chunk of so many groups.
pub(crate) fn chunk_bytes<F: QuantFormat>(groups: usize) -> usize {
    match groups {
        0 => 0,
        _ => padded_scale_bytes::<F>(groups) + groups * F::Codes::BYTES,
    }
}

/// Bytes of the scales of a chunk of so many groups; the codes follow them.
pub(crate) fn padded_scale_bytes<F: QuantFormat>(groups: usize) -> usize {
    F::scale_bytes(groups).next_multiple_of(LINE_BYTES)
}
