//! The table of weight formats.
//!
//! **To add a format**: add its line to [`visit`], with a new kind of codes in `codes.rs` or of scales in
//! `scales.rs` if none of the existing ones fits. The tests run over all formats.
//!
//! Size of a packed weight relative to the file, for rows and columns that fill panels and blocks:
//!
//! | format | ratio | | format | ratio |
//! |---|---|---|---|---|
//! | F32, F16, BF16 | 1 | | Q2_K | 1 |
//! | Q8_0 | 67 / 68 | | Q3_K | 116 / 110 |
//! | Q4_0, Q4_1 | 1 | | Q4_K | 148 / 144 |
//! | Q5_0, Q5_1 | 1 | | Q5_K | 180 / 176 |
//! | IQ4_NL | 1 | | Q6_K | 212 / 210 |
//! | INT8 | 65 / 64 | | IQ4_XS | 140 / 136 |
//! | MXFP4 | 18 / 17 | | IQ1_S | 56 / 50 |
//! | NVFP4, Q1_0 | 1 | | IQ1_M | 60 / 56 |
//! | TQ1_0 | 68 / 54 | | IQ2_XXS | 72 / 66 |
//! | TQ2_0 | 68 / 66 | | IQ2_XS | 80 / 74 |
//! | Q8_K | 260 / 292 | | IQ2_S | 84 / 82 |
//! | IQ3_S | 112 / 110 | | IQ3_XXS | 104 / 98 |

use inferno_tensor::DType;
use inferno_tensor::quant::{
    Iq1MBlock, Iq1SBlock, Iq2SBlock, Iq2XsBlock, Iq2XxsBlock, Iq3SBlock, Iq3XxsBlock, Iq4NlBlock,
    Iq4XsBlock, Mxfp4Block, Nvfp4Block, Q1_0Block, Q2KBlock, Q3KBlock, Q4_0Block, Q4_1Block,
    Q4KBlock, Q5_0Block, Q5_1Block, Q5KBlock, Q6KBlock, Tq1_0Block, Tq2_0Block,
};

use super::byte_weights::{ByteWeights, Int8Rows, Q8_0Rows, Q8KRows};
use super::codebook::CodebookWeights;
use super::codes::{
    CHUNK_COLS, CHUNK_GROUPS, CodeLayout, Fp4Levels, GROUP_COLS, Iq4Levels, LevelCodes, SignLevels,
    UnsignedCodes,
};
use super::float::{BF16Weights, F16Weights, F32Weights, FloatFormat};
use super::quantized::{BlockWeights, QuantFormat};
use super::scales::{
    BlockScale, BlockScaleMin, HalfScale, PowerScale, SuperScale, SuperScaleMin,
    SuperScaleMinNibbles,
};
use crate::isa::Level;
use crate::lanes::LANES;
use crate::memory::LINE_BYTES;

/// Something done for a weight format whose type is known at compile time.
pub(crate) trait FormatVisitor {
    /// The result.
    type Output;

    /// Visits a floating-point format.
    fn float<F: FloatFormat>(self) -> Self::Output;
    /// Visits a quantized format, whose weights are multiplied as 16-bit integers.
    fn fixed_point<F: QuantFormat>(self) -> Self::Output;
    /// Visits such a format without a kernel of its own for few rows, because decoding takes most of the time or the
    /// format is rare.
    fn unpacked<F: QuantFormat>(self) -> Self::Output;
}

/// Visits the format of weights of type `dtype`; `None` if there is no kernel for it.
pub(crate) fn visit<V: FormatVisitor>(dtype: DType, visitor: V) -> Option<V::Output> {
    type Plain<B, const WIDTH: u32, const ZERO: i32> =
        BlockWeights<B, UnsignedCodes<WIDTH, ZERO>, BlockScale>;
    type WithMin<B, const WIDTH: u32> = BlockWeights<B, UnsignedCodes<WIDTH, 0>, BlockScaleMin>;
    type SuperPlain<B, const WIDTH: u32, const ZERO: i32> =
        BlockWeights<B, UnsignedCodes<WIDTH, ZERO>, SuperScale<16>>;
    type SuperWithMin<B, const WIDTH: u32, S = SuperScaleMin> =
        BlockWeights<B, UnsignedCodes<WIDTH, 0>, S>;
    type Iq4<B, S> = BlockWeights<B, LevelCodes<Iq4Levels>, S>;
    Some(match dtype {
        DType::F32 => visitor.float::<F32Weights>(),
        DType::F16 => visitor.float::<F16Weights>(),
        DType::BF16 => visitor.float::<BF16Weights>(),
        DType::Q8_0 => visitor.fixed_point::<ByteWeights<Q8_0Rows>>(),
        DType::Q4_0 => visitor.fixed_point::<Plain<Q4_0Block, 4, 8>>(),
        DType::Q4_1 => visitor.fixed_point::<WithMin<Q4_1Block, 4>>(),
        DType::Q5_0 => visitor.fixed_point::<Plain<Q5_0Block, 5, 16>>(),
        DType::Q5_1 => visitor.fixed_point::<WithMin<Q5_1Block, 5>>(),
        DType::Q2K => visitor.fixed_point::<SuperWithMin<Q2KBlock, 2, SuperScaleMinNibbles>>(),
        DType::Q3K => visitor.fixed_point::<SuperPlain<Q3KBlock, 3, 4>>(),
        DType::Q4K => visitor.fixed_point::<SuperWithMin<Q4KBlock, 4>>(),
        DType::Q5K => visitor.fixed_point::<SuperWithMin<Q5KBlock, 5>>(),
        DType::Q6K => visitor.fixed_point::<SuperPlain<Q6KBlock, 6, 32>>(),
        DType::Iq4Nl => visitor.fixed_point::<Iq4<Iq4NlBlock, BlockScale>>(),
        DType::Iq4Xs => visitor.fixed_point::<Iq4<Iq4XsBlock, SuperScale<8>>>(),
        DType::Mxfp4 => {
            visitor.fixed_point::<BlockWeights<Mxfp4Block, LevelCodes<Fp4Levels>, PowerScale>>()
        }
        DType::Nvfp4 => {
            visitor.unpacked::<BlockWeights<Nvfp4Block, LevelCodes<Fp4Levels>, HalfScale>>()
        }
        DType::Q1_0 => {
            visitor.unpacked::<BlockWeights<Q1_0Block, LevelCodes<SignLevels, 1>, BlockScale>>()
        }
        DType::Tq1_0 => visitor.unpacked::<Plain<Tq1_0Block, 2, 1>>(),
        DType::Tq2_0 => visitor.unpacked::<Plain<Tq2_0Block, 2, 1>>(),
        DType::Q8K => visitor.fixed_point::<ByteWeights<Q8KRows>>(),
        DType::Iq1S => visitor.unpacked::<CodebookWeights<Iq1SBlock, 8>>(),
        DType::Iq1M => visitor.unpacked::<CodebookWeights<Iq1MBlock, 16>>(),
        DType::Iq2Xxs => visitor.unpacked::<CodebookWeights<Iq2XxsBlock, 8>>(),
        DType::Iq2Xs => visitor.unpacked::<CodebookWeights<Iq2XsBlock, 16>>(),
        DType::Iq2S => visitor.unpacked::<CodebookWeights<Iq2SBlock, 16>>(),
        DType::Iq3Xxs => visitor.unpacked::<CodebookWeights<Iq3XxsBlock, 8>>(),
        DType::Iq3S => visitor.unpacked::<CodebookWeights<Iq3SBlock, 8>>(),
        DType::Int8 => visitor.fixed_point::<ByteWeights<Int8Rows>>(),
        _ => return None,
    })
}

/// The form in which products read their activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActivationFormat {
    /// Floating point.
    Float,
    /// Sums of two bfloat16 numbers.
    Bf16Pairs,
    /// 8-bit integers with a scale for each 256 columns.
    Integers,
}

/// How weights of one type are packed.
#[derive(Clone, Copy)]
pub(crate) struct PackedFormat {
    /// The type in the file.
    pub(crate) dtype: DType,
    /// How products read their activations on a level.
    pub(crate) activations: fn(Level) -> ActivationFormat,
    /// Bytes of a panel with the given number of columns.
    pub(crate) panel_bytes: fn(usize) -> usize,
    /// Packs up to 16 rows with the given number of columns into a zeroed panel.
    pub(crate) pack: fn(&[&[u8]], usize, &mut [u8]),
}

impl PackedFormat {
    /// The format for weights of type `dtype`; `None` if there is no kernel for it.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        visit(dtype, Describe(dtype))
    }
}

/// How products with weights of format `F` read their activations: the matrix unit multiplies those that are the sum of at
/// most two bfloat16 numbers.
pub(crate) fn float_activations<F: FloatFormat>(level: Level) -> ActivationFormat {
    if level.has_matrix_unit() && F::BF16_PARTS <= 2 {
        ActivationFormat::Bf16Pairs
    } else {
        ActivationFormat::Float
    }
}

/// Describes the packed form of a type.
struct Describe(DType);

impl FormatVisitor for Describe {
    type Output = PackedFormat;

    fn float<F: FloatFormat>(self) -> PackedFormat {
        PackedFormat {
            dtype: self.0,
            activations: float_activations::<F>,
            panel_bytes: |cols| whole_lines(cols * LANES * F::BYTES),
            pack: |rows, _cols, panel| F::pack(rows, panel),
        }
    }

    fn fixed_point<F: QuantFormat>(self) -> PackedFormat {
        PackedFormat {
            dtype: self.0,
            activations: |_| ActivationFormat::Integers,
            panel_bytes: quantized_panel_bytes::<F>,
            pack: pack_quantized::<F>,
        }
    }

    fn unpacked<F: QuantFormat>(self) -> PackedFormat {
        self.fixed_point::<F>()
    }
}

fn quantized_panel_bytes<F: QuantFormat>(cols: usize) -> usize {
    let groups = cols.div_ceil(GROUP_COLS);
    let whole = groups / CHUNK_GROUPS * chunk_bytes::<F>(CHUNK_GROUPS);
    whole_lines(whole + chunk_bytes::<F>(groups % CHUNK_GROUPS))
}

fn pack_quantized<F: QuantFormat>(rows: &[&[u8]], cols: usize, panel: &mut [u8]) {
    let chunks = panel.chunks_mut(chunk_bytes::<F>(CHUNK_GROUPS));
    for (first, chunk) in (0..cols).step_by(CHUNK_COLS).zip(chunks) {
        let cols = first..cols.min(first + CHUNK_COLS);
        let groups = cols.len().div_ceil(GROUP_COLS);
        let (scales, codes) = chunk.split_at_mut(padded_scale_bytes::<F>(groups));
        F::pack(rows, cols, &mut scales[..F::scale_bytes(groups)], codes);
    }
}

/// `bytes` rounded up to whole cache lines, at least one, so that even an empty weight has panels.
fn whole_lines(bytes: usize) -> usize {
    bytes.max(1).next_multiple_of(LINE_BYTES)
}

/// Bytes of a chunk of `groups` groups.
pub(crate) fn chunk_bytes<F: QuantFormat>(groups: usize) -> usize {
    match groups {
        0 => 0,
        _ => padded_scale_bytes::<F>(groups) + groups * F::Codes::BYTES,
    }
}

/// Bytes of the scales of a chunk of `groups` groups, with padding. The codes follow them.
pub(crate) fn padded_scale_bytes<F: QuantFormat>(groups: usize) -> usize {
    F::scale_bytes(groups).next_multiple_of(LINE_BYTES)
}
