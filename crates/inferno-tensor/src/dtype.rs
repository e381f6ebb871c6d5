//! Storage formats of tensor rows.

use std::fmt;

use crate::TensorError;
use crate::quant::FORMATS;

/// The storage format of a tensor's rows.
///
/// **Source**: the type ids and block layouts of the GGUF specification, except [`DType::Int8`],
/// which is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of a single-precision number: 8 exponent bits, 7 fraction bits.
    BF16,
    /// 8-bit weights, one scale per 32.
    Q8_0,
    /// 4-bit weights, one scale per 32.
    Q4_0,
    /// 4-bit weights, one scale and one minimum per 32.
    Q4_1,
    /// 5-bit weights, one scale per 32.
    Q5_0,
    /// 5-bit weights, one scale and one minimum per 32.
    Q5_1,
    /// 4-bit floating-point weights, one power of two per 32.
    Mxfp4,
    /// 4-bit floating-point weights, one 8-bit floating-point scale per 16.
    Nvfp4,
    /// Signs, one scale per 128.
    Q1_0,
    /// Ternary weights, five per byte, one scale per 256.
    Tq1_0,
    /// Ternary weights of 2 bits, one scale per 256.
    Tq2_0,
    /// 8-bit weights, one single-precision scale per 256.
    Q8K,
    /// Vectors of 8 from a ternary codebook, one 3-bit scale per 32, in super-blocks of 256.
    Iq1S,
    /// The codebook of [`DType::Iq1S`], one 3-bit scale per 16.
    Iq1M,
    /// Vectors of 8 from a codebook of 256, one 4-bit scale per 32, in super-blocks of 256.
    Iq2Xxs,
    /// Vectors of 8 from a codebook of 512, one 4-bit scale per 16, in super-blocks of 256.
    Iq2Xs,
    /// Vectors of 8 from a codebook of 1024, one 4-bit scale per 16, in super-blocks of 256.
    Iq2S,
    /// Vectors of 4 from a codebook of 256, one 4-bit scale per 32, in super-blocks of 256.
    Iq3Xxs,
    /// Vectors of 4 from a codebook of 512, one 4-bit scale per 32, in super-blocks of 256.
    Iq3S,
    /// 2-bit weights, one 4-bit scale and minimum per 16, in super-blocks of 256.
    Q2K,
    /// 3-bit weights, one 6-bit scale per 16, in super-blocks of 256.
    Q3K,
    /// 4-bit weights, one 6-bit scale and minimum per 32, in super-blocks of 256.
    Q4K,
    /// 5-bit weights, one 6-bit scale and minimum per 32, in super-blocks of 256.
    Q5K,
    /// 6-bit weights, one 8-bit scale per 16, in super-blocks of 256.
    Q6K,
    /// 4-bit codes of 16 unevenly spaced levels, one scale per 32.
    Iq4Nl,
    /// The codes of [`DType::Iq4Nl`], one 6-bit scale per 32, in super-blocks of 256.
    Iq4Xs,
    /// 8-bit weights with one single-precision scale per row. Files store them as two tensors: weights of type I8, and
    /// the scales.
    Int8,
}

impl DType {
    /// Every format, in the order of the variants.
    pub const ALL: [DType; FORMATS.len()] = {
        let mut all = [DType::F32; FORMATS.len()];
        let mut i = 0;
        while i < all.len() {
            assert!(FORMATS[i].dtype as usize == i, "FORMATS must follow the order of DType");
            all[i] = FORMATS[i].dtype;
            i += 1;
        }
        all
    };

    /// The format's name in GGUF tools, such as `Q4_K`.
    pub const fn name(self) -> &'static str {
        FORMATS[self as usize].name
    }

    /// Returns the format with a type id of GGUF files; `None` if it is not supported.
    pub fn from_ggml_id(id: u32) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.ggml_id() == Some(id))
    }

    /// The type id in GGUF files; `None` for [`DType::Int8`].
    pub const fn ggml_id(self) -> Option<u32> {
        FORMATS[self as usize].ggml_id
    }

    /// Number of values in one block; 1 for the floats and for [`DType::Int8`].
    pub const fn block_len(self) -> usize {
        FORMATS[self as usize].block_len
    }

    /// Size of one block, in bytes. For [`DType::Int8`], this excludes the 4 bytes of the row's
    /// scale.
    pub const fn block_bytes(self) -> usize {
        FORMATS[self as usize].block_bytes
    }

    /// Size of a row of `cols` values, in bytes.
    ///
    /// **Errors**: [`TensorError::PartialBlock`] if `cols` is not a multiple of [`DType::block_len`],
    /// [`TensorError::RowTooLarge`] if the size overflows.
    pub fn row_bytes(self, cols: usize) -> Result<usize, TensorError> {
        let format = &FORMATS[self as usize];
        if cols % format.block_len != 0 {
            return Err(TensorError::PartialBlock {
                dtype: self,
                cols,
                block_len: format.block_len,
            });
        }
        (cols / format.block_len)
            .checked_mul(format.block_bytes)
            .and_then(|bytes| bytes.checked_add(format.row_header_bytes))
            .ok_or(TensorError::RowTooLarge { dtype: self, cols })
    }

    /// Whether the values are plain floating-point numbers rather than quantized.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16)
    }

    /// Whether values can only be [encoded](crate::quant::encode_row_weighted) in this format with the importance of each
    /// column: it has so few levels that the errors of important columns must count more than others.
    pub const fn needs_importance(self) -> bool {
        FORMATS[self as usize].needs_importance
    }

    /// Whether the importance of columns [changes](crate::quant::encode_row_weighted) how values are encoded in this format:
    /// the others have no choice of scales.
    pub const fn uses_importance(self) -> bool {
        !self.is_float()
            && !matches!(
                self,
                DType::Q8_0
                    | DType::Q8K
                    | DType::Mxfp4
                    | DType::Nvfp4
                    | DType::Q1_0
                    | DType::Tq1_0
                    | DType::Tq2_0
                    | DType::Int8
            )
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
