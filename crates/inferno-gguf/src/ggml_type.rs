//! The element types of tensors and their block sizes.
//!
//! Each type is one line of the table at the end of this file.

use std::fmt;

macro_rules! ggml_types {
    ($($name:ident = $id:literal, $block_len:literal values in $block_bytes:literal bytes, $doc:literal;)*) => {
        /// The element type of a tensor, with ggml's numbering.
        ///
        /// Values are stored in blocks of [`block_len`](Self::block_len) values and
        /// [`block_bytes`](Self::block_bytes) bytes along a row; plain numbers are blocks of one
        /// value.
        ///
        /// **Source**: `ggml.h` (numbers) and `ggml-common.h` (blocks) of ggml.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(non_camel_case_types)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum GgmlType {
            $(#[doc = $doc] $name = $id,)*
        }

        impl GgmlType {
            /// Every type, in ascending order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The type that has this number in files, if there is one.
            pub const fn from_id(id: u32) -> Option<Self> {
                match id {
                    $($id => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The name as in ggml, such as `Q4_K`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Number of values in a block.
            pub const fn block_len(self) -> usize {
                match self {
                    $(Self::$name => $block_len,)*
                }
            }

            /// Size of a block, in bytes.
            pub const fn block_bytes(self) -> usize {
                match self {
                    $(Self::$name => $block_bytes,)*
                }
            }
        }
    };
}

impl GgmlType {
    /// The largest type number.
    pub const MAX_ID: u32 = Self::ALL[Self::ALL.len() - 1].id();

    /// The type's number in files.
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// Size of `num_values` values, in bytes; `None` if they are not whole blocks or the size
    /// overflows.
    pub const fn bytes_for(self, num_values: usize) -> Option<usize> {
        if num_values.is_multiple_of(self.block_len()) {
            (num_values / self.block_len()).checked_mul(self.block_bytes())
        } else {
            None
        }
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

// Types 4 and 5 (Q4_2, Q4_3) were withdrawn before GGUF existed and do not occur in files. The
// interleaved types 31 to 33 and 36 to 38 were withdrawn later: files with them exist, so they are
// listed with the size of the type that they rearrange. Q8_1 has 36 bytes since its two floats became
// halves; gguf-py still has 40.
ggml_types! {
    F32 = 0, 1 values in 4 bytes, "IEEE 754 single precision.";
    F16 = 1, 1 values in 2 bytes, "IEEE 754 half precision.";
    Q4_0 = 2, 32 values in 18 bytes, "4 bits and a scale.";
    Q4_1 = 3, 32 values in 20 bytes, "4 bits, a scale and a minimum.";
    Q5_0 = 6, 32 values in 22 bytes, "5 bits and a scale.";
    Q5_1 = 7, 32 values in 24 bytes, "5 bits, a scale and a minimum.";
    Q8_0 = 8, 32 values in 34 bytes, "8 bits and a scale.";
    Q8_1 = 9, 32 values in 36 bytes, "8 bits, a scale and a sum; an intermediate type that ggml does not store in files.";
    Q2_K = 10, 256 values in 84 bytes, "2 bits, with scales and minima of 16 values.";
    Q3_K = 11, 256 values in 110 bytes, "3 bits, with scales of 16 values.";
    Q4_K = 12, 256 values in 144 bytes, "4 bits, with scales and minima of 32 values.";
    Q5_K = 13, 256 values in 176 bytes, "5 bits, with scales and minima of 32 values.";
    Q6_K = 14, 256 values in 210 bytes, "6 bits, with scales of 16 values.";
    Q8_K = 15, 256 values in 292 bytes, "8 bits, a scale and sums; an intermediate type.";
    IQ2_XXS = 16, 256 values in 66 bytes, "About 2.06 bits, vectors of 8 from a codebook.";
    IQ2_XS = 17, 256 values in 74 bytes, "About 2.31 bits, vectors of 8 from a codebook.";
    IQ3_XXS = 18, 256 values in 98 bytes, "About 3.06 bits, vectors of 4 from a codebook.";
    IQ1_S = 19, 256 values in 50 bytes, "About 1.56 bits, vectors of 8 from a codebook.";
    IQ4_NL = 20, 32 values in 18 bytes, "4 bits through a table of 16 values.";
    IQ3_S = 21, 256 values in 110 bytes, "About 3.44 bits, vectors of 4 from a codebook.";
    IQ2_S = 22, 256 values in 82 bytes, "About 2.56 bits, vectors of 8 from a codebook.";
    IQ4_XS = 23, 256 values in 136 bytes, "4 bits through a table of 16 values, with scales of 32 values.";
    I8 = 24, 1 values in 1 bytes, "Signed 8-bit integer.";
    I16 = 25, 1 values in 2 bytes, "Signed 16-bit integer.";
    I32 = 26, 1 values in 4 bytes, "Signed 32-bit integer.";
    I64 = 27, 1 values in 8 bytes, "Signed 64-bit integer.";
    F64 = 28, 1 values in 8 bytes, "IEEE 754 double precision.";
    IQ1_M = 29, 256 values in 56 bytes, "About 1.75 bits, vectors of 8 from a codebook.";
    BF16 = 30, 1 values in 2 bytes, "The upper half of a single-precision number.";
    Q4_0_4_4 = 31, 32 values in 18 bytes, "Q4_0 with 4 rows interleaved by 4; withdrawn.";
    Q4_0_4_8 = 32, 32 values in 18 bytes, "Q4_0 with 4 rows interleaved by 8; withdrawn.";
    Q4_0_8_8 = 33, 32 values in 18 bytes, "Q4_0 with 8 rows interleaved by 8; withdrawn.";
    TQ1_0 = 34, 256 values in 54 bytes, "Ternary, five values in 8 bits.";
    TQ2_0 = 35, 256 values in 66 bytes, "Ternary, four values in 8 bits.";
    IQ4_NL_4_4 = 36, 32 values in 18 bytes, "IQ4_NL with 4 rows interleaved by 4; withdrawn.";
    IQ4_NL_4_8 = 37, 32 values in 18 bytes, "IQ4_NL with 4 rows interleaved by 8; withdrawn.";
    IQ4_NL_8_8 = 38, 32 values in 18 bytes, "IQ4_NL with 8 rows interleaved by 8; withdrawn.";
    MXFP4 = 39, 32 values in 17 bytes, "4-bit floats with a power of two as the scale.";
    NVFP4 = 40, 64 values in 36 bytes, "4-bit floats with 8-bit float scales of 16 values.";
    Q1_0 = 41, 128 values in 18 bytes, "1 bit and a scale.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_up_to_the_largest_but_those_withdrawn_before_gguf_have_a_type() {
        for id in 0..=GgmlType::MAX_ID {
            let found = GgmlType::from_id(id);
            assert_eq!(found.map(GgmlType::id), (![4, 5].contains(&id)).then_some(id));
        }
        for id in [GgmlType::MAX_ID + 1, u32::MAX] {
            assert_eq!(GgmlType::from_id(id), None);
        }
    }

    #[test]
    fn partial_blocks_have_no_size() {
        assert_eq!(GgmlType::Q4_K.bytes_for(512), Some(288));
        assert_eq!(GgmlType::Q4_K.bytes_for(255), None);
        assert_eq!(GgmlType::F64.bytes_for(usize::MAX), None);
    }
}
