//! Weights as kernels read them: repacked, never expanded.
//!
//! A row is divided into units of [`UNIT_COLS`] columns, an even number of them: further columns are zero. A weight has two
//! buffers. `codes` holds, row by row and unit by unit, the low bits of the codes (or the floating-point weights), so that
//! neighboring threads load neighboring words; `side` holds, row by row, the scales and then the remaining bits of the
//! codes. `shaders/formats/` reads them.
//!
//! Size relative to the file, for rows whose scales fill words:
//!
//! | format | ratio | | format | ratio |
//! |---|---|---|---|---|
//! | F32, F16, BF16 | 1 | | Q2_K | 1 |
//! | Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 | 1 | | Q3_K | 114 / 110 |
//! | IQ4_NL, MXFP4, NVFP4, Q1_0 | 1 | | Q4_K | 148 / 144 |
//! | INT8 | 1 | | Q5_K | 180 / 176 |
//! | TQ1_0, TQ2_0 | 1 | | Q6_K | 1 |
//! | Q8_K | 260 / 292 | | IQ4_XS | 138 / 136 |
//! | IQ1_S | 54 / 50 | | IQ2_XS | 78 / 74 |
//! | IQ1_M | 58 / 56 | | IQ2_S, IQ3_S | 1 |
//! | IQ2_XXS | 70 / 66 | | IQ3_XXS | 102 / 98 |

pub(crate) mod codebooks;
mod codes;
mod formats;
mod scales;

pub(crate) use codebooks::codebook_words;
#[cfg(test)]
pub(crate) use formats::FORMATS;
pub(crate) use formats::WeightFormat;

/// Columns of a unit. The weights of a unit have one scale in every format.
pub(crate) const UNIT_COLS: usize = 16;

/// Units of a row of `cols` columns.
pub(crate) fn num_units(cols: usize) -> usize {
    2 * cols.div_ceil(2 * UNIT_COLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferno_tensor::DType;

    #[test]
    fn every_format_has_an_entry() {
        for dtype in DType::ALL {
            assert_eq!(WeightFormat::of(dtype).dtype, dtype);
        }
    }

    #[test]
    fn packed_rows_have_the_documented_size() {
        for dtype in DType::ALL {
            let cols = 4096;
            let format = WeightFormat::of(dtype);
            let packed =
                4 * (format.code_words(num_units(cols)) + format.side_words(num_units(cols)));
            let file = dtype.row_bytes(cols).expect("whole blocks");
            let bound = match dtype {
                DType::Iq1S => 108,
                DType::Iq2Xxs | DType::Iq2Xs => 107,
                DType::Iq1M | DType::Iq3Xxs | DType::Q3K | DType::Iq4Xs => 105,
                DType::Q4K | DType::Q5K => 103,
                _ => 100,
            };
            assert!(packed * 100 <= file * bound, "{dtype}: {packed} for {file}");
        }
    }
}
