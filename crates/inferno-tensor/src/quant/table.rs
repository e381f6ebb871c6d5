//! The table of formats, in the order of [`DType`].

use super::block::{Search, decode_blocks, encode_blocks};
use super::{EncodeBlock, floats, int8};
use crate::quant::{
    Iq1MBlock, Iq1SBlock, Iq2SBlock, Iq2XsBlock, Iq2XxsBlock, Iq3SBlock, Iq3XxsBlock, Iq4NlBlock,
    Iq4XsBlock, Mxfp4Block, Nvfp4Block, Q1_0Block, Q2KBlock, Q3KBlock, Q4_0Block, Q4_1Block,
    Q4KBlock, Q5_0Block, Q5_1Block, Q5KBlock, Q6KBlock, Q8_0Block, Q8KBlock, Tq1_0Block,
    Tq2_0Block,
};
use crate::{DType, TensorError};

/// The properties of one format. `decode` and `encode` require matching lengths.
pub(crate) struct FormatEntry {
    pub(crate) dtype: DType,
    pub(crate) name: &'static str,
    pub(crate) ggml_id: Option<u32>,
    pub(crate) block_len: usize,
    pub(crate) block_bytes: usize,
    pub(crate) row_header_bytes: usize,
    pub(crate) needs_importance: bool,
    pub(crate) decode: fn(&[u8], &mut [f32]),
    pub(crate) encode: EncodeFn,
}

type EncodeFn = fn(&[f32], Search<'_>, &mut [u8]) -> Result<(), TensorError>;

pub(crate) const FORMATS: [FormatEntry; 29] = [
    FormatEntry::float(DType::F32, "F32", 0, 4, floats::decode_f32, floats::encode_f32),
    FormatEntry::float(DType::F16, "F16", 1, 2, floats::decode_f16, floats::encode_f16),
    FormatEntry::float(DType::BF16, "BF16", 30, 2, floats::decode_bf16, floats::encode_bf16),
    FormatEntry::blocks::<Q8_0Block>("Q8_0", 8),
    FormatEntry::blocks::<Q4_0Block>("Q4_0", 2),
    FormatEntry::blocks::<Q4_1Block>("Q4_1", 3),
    FormatEntry::blocks::<Q5_0Block>("Q5_0", 6),
    FormatEntry::blocks::<Q5_1Block>("Q5_1", 7),
    FormatEntry::blocks::<Mxfp4Block>("MXFP4", 39),
    FormatEntry::blocks::<Nvfp4Block>("NVFP4", 40),
    FormatEntry::blocks::<Q1_0Block>("Q1_0", 41),
    FormatEntry::blocks::<Tq1_0Block>("TQ1_0", 34),
    FormatEntry::blocks::<Tq2_0Block>("TQ2_0", 35),
    FormatEntry::blocks::<Q8KBlock>("Q8_K", 15),
    FormatEntry::blocks::<Iq1SBlock>("IQ1_S", 19),
    FormatEntry::blocks::<Iq1MBlock>("IQ1_M", 29),
    FormatEntry::blocks::<Iq2XxsBlock>("IQ2_XXS", 16),
    FormatEntry::blocks::<Iq2XsBlock>("IQ2_XS", 17),
    FormatEntry::blocks::<Iq2SBlock>("IQ2_S", 22),
    FormatEntry::blocks::<Iq3XxsBlock>("IQ3_XXS", 18),
    FormatEntry::blocks::<Iq3SBlock>("IQ3_S", 21),
    FormatEntry::blocks::<Q2KBlock>("Q2_K", 10),
    FormatEntry::blocks::<Q3KBlock>("Q3_K", 11),
    FormatEntry::blocks::<Q4KBlock>("Q4_K", 12),
    FormatEntry::blocks::<Q5KBlock>("Q5_K", 13),
    FormatEntry::blocks::<Q6KBlock>("Q6_K", 14),
    FormatEntry::blocks::<Iq4NlBlock>("IQ4_NL", 20),
    FormatEntry::blocks::<Iq4XsBlock>("IQ4_XS", 23),
    FormatEntry {
        dtype: DType::Int8,
        name: "INT8",
        ggml_id: None,
        block_len: 1,
        block_bytes: 1,
        row_header_bytes: int8::Int8Row::SCALE_BYTES,
        needs_importance: false,
        decode: int8::decode,
        encode: int8::encode,
    },
];

impl FormatEntry {
    const fn float(
        dtype: DType,
        name: &'static str,
        ggml_id: u32,
        bytes: usize,
        decode: fn(&[u8], &mut [f32]),
        encode: EncodeFn,
    ) -> FormatEntry {
        FormatEntry {
            dtype,
            name,
            ggml_id: Some(ggml_id),
            block_len: 1,
            block_bytes: bytes,
            row_header_bytes: 0,
            needs_importance: false,
            decode,
            encode,
        }
    }

    const fn blocks<B: EncodeBlock>(name: &'static str, ggml_id: u32) -> FormatEntry {
        FormatEntry {
            dtype: B::DTYPE,
            name,
            ggml_id: Some(ggml_id),
            block_len: B::LEN,
            block_bytes: size_of::<B>(),
            row_header_bytes: 0,
            needs_importance: B::NEEDS_IMPORTANCE,
            decode: decode_blocks::<B>,
            encode: encode_blocks::<B>,
        }
    }
}
